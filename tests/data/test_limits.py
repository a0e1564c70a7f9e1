"""Sizes that files claim are checked to the byte."""

import os
import zlib

import pytest

from slide_gui.data import limits
from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, GIB, check_claim, check_memory, read_small
from tests.data.writers import write


@pytest.fixture
def fresh():
    limits.memory_limit.cache_clear()
    yield
    limits.memory_limit.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("pages", "limit"), [(1 << 20, 2 * GIB), (1 << 22, 8 * GIB), (1 << 24, 8 * GIB), (-1, 4 * GIB), (None, 4 * GIB)]
)
def test_that_half_the_memory_is_the_limit_and_at_most_8_gib(monkeypatch, pages, limit):
    def sysconf(name):
        if pages is None:
            raise ValueError("unrecognized configuration name")
        return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert limits.memory_limit() == limit


def test_that_claims_are_compared_with_the_file_and_the_memory(monkeypatch):
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


def test_that_the_densest_deflate_stream_is_not_refused():
    n_bytes = 1 << 24
    packed = len(zlib.compress(bytes(n_bytes), level=9, wbits=-15))
    assert n_bytes > 1025 * packed
    check_claim(n_bytes, packed, "a", ratio=DEFLATE_RATIO)


def test_that_a_small_file_is_read_up_to_its_limit(tmp_path):
    content = bytes(range(256)) * 8192
    assert read_small(write(tmp_path / "x", content), 2 << 20, "a picture") == content
    with pytest.raises(DataError, match="x: is larger than 2 MiB, expected a picture"):
        read_small(write(tmp_path / "x", content + b"0"), 2 << 20, "a picture")
    with pytest.raises(DataError, match=r"cannot be read \(No such file"):
        read_small(tmp_path / "absent", 2 << 20, "a picture")
