"""Sizes that files claim are checked to the byte."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from slide_gui.data import limits
from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, GIB, check_claim, check_memory, read_small
from tests.data.writers import write


@pytest.fixture
def fresh() -> Iterator[None]:
    limits.memory_limit.cache_clear()
    yield
    limits.memory_limit.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("pages", "limit"), [(1 << 20, 2 * GIB), (1 << 22, 8 * GIB), (1 << 24, 8 * GIB), (-1, 4 * GIB), (None, 4 * GIB)]
)
def test_that_half_the_memory_is_the_limit_and_at_most_8_gib(
    monkeypatch: pytest.MonkeyPatch, pages: int | None, limit: int
) -> None:
    def sysconf(name: str) -> int:
        if pages is None:
            raise ValueError("unrecognized configuration name")
        return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert limits.memory_limit() == limit


def test_that_claims_are_compared_with_the_file_and_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: 5000)
    check_memory(5000, "a")
    check_claim(100, 100, "a")
    check_claim(10 * 100 + 64, 100, "a", ratio=10)
    with pytest.raises(DataError, match="more than the"):
        check_memory(5001, "a")
    with pytest.raises(DataError, match="claims 101 bytes, but the file holds only 100;"):
        check_claim(101, 100, "a")
    with pytest.raises(DataError, match="claims 1065 bytes, but the file holds only 100 compressed"):
        check_claim(1065, 100, "a", ratio=10)
    with pytest.raises(DataError, match="more than the"):
        check_claim(5001, 10_000, "a")


def test_that_the_densest_deflate_stream_is_not_refused() -> None:
    """A zero, then copies of 258 zeros in two bits each: codes of 1, 2 and 2 bits for a copy, the zero and the end."""
    sizes = [(1, 1), (2, 2), (29, 5), (0, 5), (14, 4), *((n, 3) for n in (0, 0, 1, *[0] * 12, 2, 0, 2))]
    head = "".join(f"{value:0{width}b}"[::-1] for value, width in sizes)
    codes = "11" + "0" + "1111111" + "0" + "0101011" + "11" + "0" + "1000100" + "10" + "10"
    bits = head + codes + "10" + "00" * 200_000 + "11"
    packed = int(bits[::-1], 2).to_bytes(-(-len(bits) // 8), "little")
    n_bytes = len(zlib.decompress(packed, wbits=-15, bufsize=1 << 26))
    assert n_bytes == 1 + 200_000 * 258
    check_claim(n_bytes, len(packed), "a", ratio=DEFLATE_RATIO)


def test_that_a_small_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    content = bytes(range(256)) * 8192
    assert read_small(write(tmp_path / "x", content), 2 << 20, "a picture") == content
    with pytest.raises(DataError, match="x: is larger than 2 MiB, expected a picture"):
        read_small(write(tmp_path / "x", content + b"0"), 2 << 20, "a picture")
    with pytest.raises(DataError, match=r"cannot be read \(No such file"):
        read_small(tmp_path / "absent", 2 << 20, "a picture")
