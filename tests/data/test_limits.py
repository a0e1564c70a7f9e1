"""What a file may claim, to the byte."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from slide_gui.data import limits
from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_claim, check_memory

GIB = 1 << 30


@pytest.fixture
def fresh() -> Iterator[None]:
    limits.memory_limit.cache_clear()
    yield
    limits.memory_limit.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("pages", "limit"), [(1 << 20, 2 * GIB), (1 << 22, 8 * GIB), (1 << 24, 8 * GIB), (-1, 4 * GIB)]
)
def test_that_half_the_memory_is_the_bound_and_at_most_8_gib(
    monkeypatch: pytest.MonkeyPatch, pages: int, limit: int
) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}.__getitem__)
    assert limits.memory_limit() == limit


@pytest.mark.usefixtures("fresh")
def test_that_a_system_that_does_not_tell_its_memory_gets_4_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert limits.memory_limit() == 4 * GIB


def test_that_claims_are_held_against_the_bytes_there_and_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: 5000)
    check_memory(5000, "a")
    with pytest.raises(DataError, match="more than the"):
        check_memory(5001, "a")
    check_claim(100, 100, "a")
    with pytest.raises(DataError, match="claims 101 bytes, but the file holds only 100;"):
        check_claim(101, 100, "a")
    check_claim(10 * 100 + 64, 100, "a", ratio=10)
    with pytest.raises(DataError, match="claims 1065 bytes, but the file holds only 100 packed"):
        check_claim(1065, 100, "a", ratio=10)
    with pytest.raises(DataError, match="more than the"):
        check_claim(5001, 10_000, "a")
