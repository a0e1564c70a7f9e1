"""MATLAB's .mat files of version 5 (saved with -v6 or -v7): their numeric arrays.

Parsed here, for SciPy's reader crashes the interpreter on some damaged files.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, check_claim, check_memory
from slide_gui.data.readers.arrays import known_names, parts_from_named
from slide_gui.data.readers.parts import Part
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["MATLAB_73", "MATLAB_MAGIC", "read_mat"]

MATLAB_MAGIC = b"MATLAB 5.0 MAT-file"
MATLAB_73 = (b"MATLAB 7.3 MAT-file", b"\x89HDF\r\n\x1a\n")

_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_PREFIX = 4096  # bytes in which an array's flags, dimensions and name must stand
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_COMPLEX = 0x800
_MOST_DIMENSIONS = 8
_DAMAGED = "is a damaged MATLAB file; save it again with -v7"


@dataclass(frozen=True)
class _Array:
    """A numeric array of the file: what it is, and where its element's body stands."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    at: int
    n_bytes: int
    packed: bool
    values: int  # where in the body the numbers' own element begins


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[Part]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels may stand in a row or in a column. Cells, structures, objects, text and complex numbers are not read.

    Raises
    ------
    DataError
        If the file is damaged, claims more than it holds, is of version 7.3, or has no arrays of known names.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        order = _check_header(stream, place)
        found = {array.name: array for array in _arrays(stream, order, size, place)}
        names = list(known_names(found, place).values())
        arrays = {}
        for number, name in enumerate(names, start=1):
            own = found[name]
            count = math.prod(own.shape)
            check_claim(count, size, f"{place}, {name}", ratio=DEFLATE_RATIO)  # a number may be packed into a byte
            check_memory(count * np.dtype(own.dtype).itemsize, f"{place}, {name}")
            arrays[name] = _values(stream, own, order, place)
            progress.report(number / len(names))
    return parts_from_named(arrays, place, path.name)


def _check_header(stream: BinaryIO, place: str) -> str:
    """Return "<" or ">", the order of bytes."""
    header = stream.read(_HEADER)
    if header.startswith(MATLAB_73):
        raise DataError("is of MATLAB version 7.3 (HDF5), which is not read; save it with -v7", place)
    if len(header) < _HEADER or not header.startswith(MATLAB_MAGIC) or header[126:] not in (b"IM", b"MI"):
        raise DataError("has no MATLAB version 5 header; save it with -v7", place)
    return "<" if header[126:] == b"IM" else ">"


def _arrays(stream: BinaryIO, order: str, size: int, place: str) -> Iterator[_Array]:
    """Walk over the file's elements, comparing what each claims with what is there."""
    at = _HEADER
    while at < size:
        stream.seek(at)
        tag = stream.read(8)
        if len(tag) < 8:
            raise DataError("ends within an element; it is truncated", place)
        kind, n_bytes = struct.unpack(f"{order}II", tag)
        if kind not in (_COMPRESSED, _MATRIX):
            raise DataError(f"holds an element of unknown type {kind}; it is damaged", place)
        check_claim(n_bytes, size - at - 8, place)
        start = stream.read(min(n_bytes, _PREFIX))
        packed = kind == _COMPRESSED
        inner, body = _unpacked_start(start, n_bytes, order, place) if packed else (n_bytes, start)
        array = _head(body, order, at + 8, n_bytes if packed else inner, packed, place)
        if array is not None:
            yield array
        at += 8 + n_bytes


def _unpacked_start(start: bytes, n_bytes: int, order: str, place: str) -> tuple[int, bytes]:
    """Return the size of the packed array and the beginning of its body."""
    try:
        content = zlib.decompressobj().decompress(start, _PREFIX + 8)
    except zlib.error as error:
        raise DataError("holds a damaged compressed array; save it again", place) from error
    if len(content) < 8:
        raise DataError("holds a truncated compressed array; save it again", place)
    kind, inner = struct.unpack(f"{order}II", content[:8])
    check_claim(inner, n_bytes, place, ratio=DEFLATE_RATIO)
    if kind != _MATRIX:
        raise DataError(_DAMAGED, place)
    return inner, content[8:]


def _head(body: bytes, order: str, at: int, n_bytes: int, packed: bool, place: str) -> _Array | None:
    """Return what an array's body says of it, or None if it is not of real numbers."""
    try:
        flags, position = _element(body, 0, order)
        (word,) = struct.unpack_from(f"{order}I", flags)
        if (word & 0xFF) not in _CLASSES or word & _COMPLEX:
            return None
        dimensions, position = _element(body, position, order)
        name, position = _element(body, position, order)
        shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
        text = name.decode("ascii")
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise DataError(_DAMAGED, place) from error
    if not 1 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0:
        raise DataError(_DAMAGED, place)
    return _Array(text, shape, _CLASSES[word & 0xFF], at, n_bytes, packed, position)


def _element(body: bytes, at: int, order: str) -> tuple[bytes, int]:
    """Return the content of a small or ordinary element that must be whole, and where the next one begins."""
    _, n_bytes, start, end = _tag(body, at, order)
    if start + n_bytes > len(body):
        raise IndexError
    return body[start : start + n_bytes], end


def _tag(body: bytes, at: int, order: str) -> tuple[int, int, int, int]:
    """Return type, number of bytes, where the content begins, and where the next element does."""
    first, second = struct.unpack_from(f"{order}II", body, at)
    if first >> 16:  # at most four bytes, in the tag itself
        return first & 0xFFFF, min(first >> 16, 4), at + 4, at + 8
    return first, second, at + 8, at + 8 + second + -second % 8


def _values(stream: BinaryIO, own: _Array, order: str, place: str) -> NDArray[Any]:
    stream.seek(own.at)
    body = stream.read(own.n_bytes)
    place = f"{place}, {own.name}"
    if own.packed:
        most = own.values + 16 + 8 * math.prod(own.shape) + 8  # the widest numbers there are
        try:
            body = zlib.decompressobj().decompress(body, most + 8)[8:]
        except zlib.error as error:
            raise DataError("is a damaged compressed array; save the file again", place) from error
    try:
        kind, n_bytes, start, _ = _tag(body, own.values, order)
    except struct.error as error:
        raise DataError("ends before its numbers; the file is truncated", place) from error
    count = math.prod(own.shape)
    if kind not in _STORED or n_bytes != count * np.dtype(_STORED[kind]).itemsize or start + n_bytes > len(body):
        raise DataError(f"does not hold the {count} numbers of its shape {own.shape}; the file is damaged", place)
    stored = np.frombuffer(body, np.dtype(f"{order}{_STORED[kind]}"), count, start)
    with np.errstate(invalid="ignore", over="ignore"):
        return stored.astype(own.dtype).reshape(own.shape, order="F")
