"""Read numeric arrays from MATLAB .mat files of version 5, saved with -v6 or -v7.

SciPy's reader is not used because it crashes the interpreter on some damaged files.
"""

import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, check_claim, check_memory, damage_as
from slide_gui.data.readers.arrays import ARRAY_NAME, parts_from_named
from slide_gui.data.readers.parts import DataPart
from slide_gui.progress import NO_PROGRESS, Progress

MATLAB_MAGIC = b"MATLAB 5.0 MAT-file"
MATLAB_73 = (b"MATLAB 7.3 MAT-file", b"\x89HDF\r\n\x1a\n")

_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_OTHERS = (1, 4, 5)  # MATLAB's classes of cell arrays, characters and sparse matrices
_COMPLEX = 0x800
_MOST_DIMENSIONS = 8
_DAMAGED = "is a damaged MATLAB file; save it again with -v7"


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels are a row or a column of numbers. A note reports structures, objects and arrays with other names.

    Raises
    ------
    DataError
        If the file is damaged, has version 7.3 or big-endian numbers, or declares more data than it can hold. The error
        is also raised if rows or labels are text, sparse or complex, or no array has a known name.
    """
    place, size = str(path), path.stat().st_size
    named: dict[str, NDArray[Any] | None] = {}
    total = 0
    with path.open("rb") as stream:
        header = stream.read(_HEADER)
        if header.startswith(MATLAB_73):
            raise DataError("is an HDF5 file (MATLAB 7.3), which is not supported; save it with -v7, or as .npz", place)
        if len(header) < _HEADER or not header.startswith(MATLAB_MAGIC) or header[126:] != b"IM":
            raise DataError("has no MATLAB version 5 header for little-endian numbers; save it with -v7", place)
        while tag := stream.read(8):
            kind, n_bytes = struct.unpack("<II", tag.ljust(8, b"\0"))
            if kind not in (_COMPRESSED, _MATRIX):
                raise DataError(f"has an element of unknown type {kind}; it is damaged, so save it again", place)
            check_claim(n_bytes, size - stream.tell(), place)
            body = stream.read(n_bytes)
            body = _decompressed(body, place) if kind == _COMPRESSED else body
            total += len(body)
            check_memory(total, place)
            named |= _named_array(body, size, place)
            progress.report(stream.tell() / size)
    arrays = {name: array for name, array in named.items() if array is not None}
    return parts_from_named(arrays, place, path.name, [name for name in named if name])


def _decompressed(packed: bytes, place: str) -> bytes:
    """Return the contents of a compressed array. The declared size is checked first."""
    stream = zlib.decompressobj()
    with damage_as("has a damaged compressed array; save it again", place):
        kind, n_bytes = struct.unpack("<II", stream.decompress(packed, 8).ljust(8, b"\0"))
        check_claim(n_bytes, len(packed), place, ratio=DEFLATE_RATIO)
        if kind != _MATRIX:
            raise DataError(_DAMAGED, place)
        return stream.decompress(stream.unconsumed_tail, max(n_bytes, 1))


def _named_array(body: bytes, size: int, place: str) -> dict[str, NDArray[Any] | None]:
    """Return {name: array}, or {name: None} if it has no real numbers and its name means neither rows nor labels."""
    with damage_as(_DAMAGED, place):
        flags, position = _element(body, 0)
        (word,) = struct.unpack_from("<I", flags)
        kind = word & 0xFF
        if kind not in (2, 3, *_CLASSES, *_OTHERS):  # neither a structure nor an object nor an array
            return {}
        dimensions, position = _element(body, position)
        letters, position = _element(body, position)
        shape = struct.unpack(f"<{len(dimensions) // 4}i", dimensions)
        name = letters.decode("ascii")
    if not 1 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0:
        raise DataError(_DAMAGED, place)
    place = f"{place}, {name}"
    if ARRAY_NAME.fullmatch(name) and (kind in _OTHERS or word & _COMPLEX):
        raise DataError("is text, sparse or complex; save a full array of real numbers", place)
    if kind not in _CLASSES or word & _COMPLEX:
        return {name: None}
    count, dtype = math.prod(shape), np.dtype(_CLASSES[kind])
    check_claim(count, size, place, ratio=DEFLATE_RATIO)  # each number takes at least one byte
    check_memory(count * dtype.itemsize, place)
    with damage_as("ends before its numbers begin; the file is truncated", place):
        kind, n_bytes, start, _ = _tag(body, position)
    if kind not in _STORED or n_bytes != count * np.dtype(_STORED[kind]).itemsize or start + n_bytes > len(body):
        raise DataError(f"does not have the {count} numbers of its shape {shape}; the file is damaged", place)
    stored = np.frombuffer(body, f"<{_STORED[kind]}", count, start)
    with np.errstate(invalid="ignore", over="ignore"):
        return {name: stored.astype(dtype).reshape(shape, order="F")}


def _element(body: bytes, at: int) -> tuple[bytes, int]:
    """Return the contents of the element at offset `at`, and the offset of the next element."""
    _, n_bytes, start, end = _tag(body, at)
    if start + n_bytes > len(body):
        raise IndexError
    return body[start : start + n_bytes], end


def _tag(body: bytes, at: int) -> tuple[int, int, int, int]:
    """Return type and number of bytes of an element, and the offsets of its contents and of the next element."""
    first, second = struct.unpack_from("<II", body, at)
    if first >> 16:  # the tag of a small element contains its contents, up to four bytes
        return first & 0xFFFF, min(first >> 16, 4), at + 4, at + 8
    return first, second, at + 8, at + 8 + second + -second % 8
