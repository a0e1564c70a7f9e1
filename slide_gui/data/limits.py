"""Read untrusted files. Declared sizes are compared with the file and the free memory before memory is allocated."""

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.memory import check_free
from slide_gui.progress import Progress

GIB = 1 << 30
_BLOCK = 1 << 20

# Largest ratio of the unpacked to the packed size of a deflate stream (zip, gzip, zlib).
DEFLATE_RATIO = 1032


# Exceptions that Python's zip and gzip readers raise on damaged streams, and those of truncated MATLAB files.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, IndexError)

_MOST_MEMBERS = 10_000


@lru_cache(maxsize=1)
def memory_limit() -> int:
    """Return the largest number of bytes that a data set may use: half of the physical memory, at most 8 GiB."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 4 * GIB
    return min(8 * GIB, physical // 2) if physical > 0 else 4 * GIB


def check_memory(n_bytes: int, place: str) -> None:
    """Refuse arrays that do not fit into memory, before they are allocated.

    Parameters
    ----------
    n_bytes : int
        Total size of the arrays in bytes.
    place : str
        The file, for the error message.

    Raises
    ------
    DataError
        If the arrays exceed `memory_limit` or the free memory.
    """
    try:
        check_free(n_bytes, "loading its rows", "close other data first, or use fewer rows")
    except MemoryError as error:
        raise DataError(str(error), place) from None
    if n_bytes > memory_limit():
        limit = f"the limit of {memory_limit() / GIB:.1f} GiB on this computer"
        raise DataError(f"has {n_bytes / GIB:.1f} GiB of data, more than {limit}; use fewer rows", place)


def check_claim(claimed: int, packed: int, place: str, *, ratio: int = 1) -> None:
    """Refuse a header that claims more bytes than the file can hold.

    Parameters
    ----------
    claimed : int
        Number of bytes that the header declares.
    packed : int
        Number of bytes in the file, compressed or not.
    place : str
        The file, for the error message.
    ratio : int
        Largest number of unpacked bytes for each byte in the file; 1 if the file is not compressed.

    Raises
    ------
    DataError
        If the file cannot hold the declared number of bytes, or if not enough memory is available.
    """
    if claimed > packed * ratio + (64 if ratio > 1 else 0):
        size = f"{packed}{' compressed' if ratio > 1 else ''} bytes"
        problem = f"its header claims {claimed} bytes, but the file has only {size}"
        raise DataError(f"{problem}; it is truncated or damaged", place)
    check_memory(claimed, place)


def read_values(
    stream: IO[bytes], shape: Sequence[int], dtype: np.dtype[Any], place: str, progress: Progress
) -> NDArray[Any]:
    """Read the numbers of an array. The stream must end after the last number.

    Parameters
    ----------
    stream : binary file
        A stream positioned at the first number.
    shape, dtype
        The declared shape and type. The caller must have checked that an array of this size fits into memory.
    place : str
        The file, for the error message.
    progress : Progress
        Reports the fraction of the bytes read.

    Returns
    -------
    ndarray of n numbers, in their stored byte order

    Raises
    ------
    DataError
        If the stream has fewer or more bytes than declared.
    """
    n_bytes, filled = math.prod(shape) * dtype.itemsize, 0
    buffer = np.empty(n_bytes, np.uint8)
    while filled < n_bytes:
        n_read = stream.readinto(buffer.data[filled : filled + _BLOCK])  # type: ignore[attr-defined]
        if not n_read:
            break
        filled += n_read
        progress.report(filled / n_bytes)
    declared = f"its header declares {n_bytes} bytes ({' × '.join(map(str, shape))} {dtype})"
    if filled < n_bytes:
        raise DataError(f"{declared}, but {filled} follow; it is truncated", place)
    if stream.read(1):  # reading to the end makes zipfile verify the checksum
        raise DataError(f"{declared}, but more follow; it is damaged", place)
    return buffer.view(dtype)


def read_small(path: str | os.PathLike[str], most: int, expected: str) -> bytes:
    """Return the contents of a file of limited size.

    Parameters
    ----------
    path : path
    most : int
        The largest size accepted, in bytes.
    expected : str
        Description of the expected contents, for the error message.

    Raises
    ------
    DataError
        If the file cannot be read, or is larger than `most`.
    """
    try:
        with Path(path).open("rb") as file:
            parts, left = [], most + 1
            # Read in blocks, because read() allocates memory for all bytes that it is asked for.
            while left > 0 and (part := file.read(min(left, _BLOCK))):
                parts.append(part)
                left -= len(part)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", str(path)) from None
    if left <= 0:
        raise DataError(f"is larger than {most >> 20} MiB, expected {expected}", str(path))
    return b"".join(parts)


@contextmanager
def damage_as(problem: str, place: str) -> Iterator[None]:
    """Open a context in which exceptions of damaged streams become a `DataError` with `problem` as its message.

    The message of the exception replaces {} in `problem`.
    """
    try:
        yield
    except DataError:
        raise
    except BROKEN as error:
        reason = (str(error).splitlines() or [""])[0][:120] or type(error).__name__
        raise DataError(problem.format(reason), place) from error


def zip_members(path: Path) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive, without folders and hidden files.

    Raises
    ------
    DataError
        If the archive is damaged or lists more than 10 000 members.
    """
    with damage_as("is a damaged .zip or .npz file ({}); save it again", str(path)), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise DataError(f"has {len(members)} members, expected at most {_MOST_MEMBERS}; split the archive", str(path))
    return [m for m in members if not m.filename.endswith("/") and not Path(m.filename).name.startswith((".", "_"))]


@contextmanager
def member_stream(path: Path, member: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member of a zip archive for reading, after checking its declared size.

    Raises
    ------
    DataError
        If the declared size is impossible or exceeds the memory limit, or if the checksum or the size is wrong. The
        error is also raised if the member is encrypted, or compressed by a method other than deflate.
    """
    place = f"{path}, {member.filename}"
    if member.flag_bits & 1:
        raise DataError("is encrypted; extract it first", place)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError("uses an unsupported compression; compress it again with deflate", place)
    ratio = DEFLATE_RATIO if member.compress_type == zipfile.ZIP_DEFLATED else 1
    check_claim(member.file_size, min(member.compress_size, path.stat().st_size), place, ratio=ratio)
    damaged = damage_as("is damaged ({}); download the archive again", place)
    with damaged, zipfile.ZipFile(path) as archive, archive.open(member) as stream:
        yield stream
