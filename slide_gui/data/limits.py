"""How much a file may ask for: claims are checked against its real size and the machine's memory."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from slide_gui.data.errors import DataError
from slide_gui.memory import check_free

GIB = 1 << 30
_BLOCK = 1 << 20

DEFLATE_RATIO = 1032
"""No deflate stream (zip, gzip, zlib) unpacks to more than 1032 times its size."""


@lru_cache(maxsize=1)
def memory_limit() -> int:
    """Return the most bytes one data set may take: half of the physical memory, at most 8 GiB."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 4 * GIB
    return min(8 * GIB, physical // 2) if physical > 0 else 4 * GIB


def check_memory(n_bytes: int, place: str) -> None:
    """Refuse what would not fit, before anything is allocated.

    Parameters
    ----------
    n_bytes : int
        What the arrays would take.
    place : str
        The file, for the message.

    Raises
    ------
    DataError
        If it is more than `memory_limit`, or than is free now.
    """
    try:
        check_free(n_bytes, "holding its rows", "close other data first, or take fewer rows")
    except MemoryError as error:
        raise DataError(str(error), place) from None
    if n_bytes > memory_limit():
        raise DataError(
            (
                f"claims {n_bytes / GIB:.1f} GiB of data, more than the {memory_limit() / GIB:.1f} GiB this "
                "machine can "
                "spare; take fewer rows"
            ),
            place,
        )


def check_claim(claimed: int, packed: int, place: str, *, ratio: int = 1) -> None:
    """Refuse a header that claims more bytes than the file can hold.

    Parameters
    ----------
    claimed : int
        Bytes the header says will follow.
    packed : int
        Bytes that are really there, packed or not.
    place : str
        The file, for the message.
    ratio : int
        The most that one packed byte can unpack to.

    Raises
    ------
    DataError
        If the claim cannot be true, or is true and too large for the memory.
    """
    if claimed > packed * ratio + (64 if ratio > 1 else 0):
        raise DataError(
            f"its header claims {claimed} bytes, but the file holds only {packed}{' packed' if ratio > 1 else ''}; "
            "it is truncated or damaged",
            place,
        )
    check_memory(claimed, place)


def read_small(path: str | os.PathLike[str], most: int, expected: str) -> bytes:
    """Return the contents of a file that has no reason to be large.

    Parameters
    ----------
    path : path
    most : int
        Bytes it may have.
    expected : str
        What it is to be, for the refusal.

    Raises
    ------
    DataError
        If it cannot be read or has more.
    """
    try:
        with Path(path).open("rb") as file:
            parts, left = [], most + 1
            while left > 0 and (part := file.read(min(left, _BLOCK))):  # which asks for that much memory
                parts.append(part)
                left -= len(part)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", str(path)) from None
    if left <= 0:
        raise DataError(f"is larger than {most >> 20} MiB, expected {expected}", str(path))
    return b"".join(parts)
