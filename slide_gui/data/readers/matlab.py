"""Read numeric arrays from MATLAB .mat files of version 5, saved with -v6 or -v7.

SciPy's reader is not used because it crashes the interpreter on some damaged files.
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
from slide_gui.data.readers.arrays import is_label_name, known_names, parts_from_named
from slide_gui.data.readers.parts import DataPart
from slide_gui.progress import NO_PROGRESS, Progress

MATLAB_MAGIC = b"MATLAB 5.0 MAT-file"
MATLAB_73 = (b"MATLAB 7.3 MAT-file", b"\x89HDF\r\n\x1a\n")

_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_PREFIX = 4096  # bytes that must contain an array's flags, dimensions and name
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = (1, 4)  # classes of cells and of letters
_COMPLEX = 0x800
_MOST_DIMENSIONS = 8
_DAMAGED = "is a damaged MATLAB file; save it again with -v7"


@dataclass(frozen=True)
class _Array:
    """The description and position of an array of numbers in the file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    at: int
    n_bytes: int
    packed: bool
    values: int  # offset of the numbers in the body


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels are a row or a column of numbers. Structures, objects, complex numbers and other texts are ignored.

    Raises
    ------
    DataError
        If the file is damaged, has version 7.3, declares more than its size, has labels of text, or has no array with a
        known name.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        order = _check_header(stream, place)
        by_name = {array.name: array for array in _arrays(stream, order, size, place)}
        names = list(known_names(by_name, place).values())
        arrays = {}
        for number, name in enumerate(names, start=1):
            array = by_name[name]
            # A number has at least one byte.
            check_claim(math.prod(array.shape), size, f"{place}, {name}", ratio=DEFLATE_RATIO)
            arrays[name] = _values(stream, array, order, f"{place}, {name}")
            progress.report(number / len(names))
    return parts_from_named(arrays, place, path.name)


def _check_header(stream: BinaryIO, place: str) -> str:
    """Return the byte order, "<" or ">"."""
    header = stream.read(_HEADER)
    if header.startswith(MATLAB_73):
        raise DataError("has MATLAB version 7.3 (HDF5), which is not supported; save it with -v7", place)
    if len(header) < _HEADER or not header.startswith(MATLAB_MAGIC) or header[126:] not in (b"IM", b"MI"):
        raise DataError("has no MATLAB version 5 header; save it with -v7", place)
    return "<" if header[126:] == b"IM" else ">"


def _arrays(stream: BinaryIO, order: str, size: int, place: str) -> Iterator[_Array]:
    """Iterate over the arrays of the file, and check the declared size of each element."""
    at = _HEADER
    while at < size:
        stream.seek(at)
        tag = stream.read(8)
        if len(tag) < 8:
            raise DataError("ends within an element; it is truncated, so save it again", place)
        kind, n_bytes = struct.unpack(f"{order}II", tag)
        if kind not in (_COMPRESSED, _MATRIX):
            raise DataError(f"has an element of unknown type {kind}; it is damaged, so save it again", place)
        check_claim(n_bytes, size - at - 8, place)
        body = stream.read(min(n_bytes, _PREFIX))
        if kind == _COMPRESSED:
            content = _decompressed(body, _PREFIX + 8, place)
            if len(content) < 8:
                raise DataError("has a truncated compressed array; save it again", place)
            inner_kind, inner = struct.unpack(f"{order}II", content[:8])
            check_claim(inner, n_bytes, place, ratio=DEFLATE_RATIO)
            if inner_kind != _MATRIX:
                raise DataError(_DAMAGED, place)
            body = content[8:]
        array = _description(body, order, at + 8, n_bytes, kind == _COMPRESSED, place)
        if array is not None:
            yield array
        at += 8 + n_bytes


def _description(body: bytes, order: str, at: int, n_bytes: int, packed: bool, place: str) -> _Array | None:
    """Return the description of an array, or None if it has no real numbers; refuse labels of text."""
    try:
        flags, position = _element(body, 0, order)
        (word,) = struct.unpack_from(f"{order}I", flags)
        kind = word & 0xFF
        if (kind not in _CLASSES and kind not in _TEXTS) or word & _COMPLEX:
            return None
        dimensions, position = _element(body, position, order)
        name, position = _element(body, position, order)
        shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
        text = name.decode("ascii")
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise DataError(_DAMAGED, place) from error
    if not 1 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0:
        raise DataError(_DAMAGED, place)
    if kind in _TEXTS and is_label_name(text):
        raise DataError("has labels of text; number the classes and save the numbers", f"{place}, {text}")
    return None if kind in _TEXTS else _Array(text, shape, _CLASSES[kind], at, n_bytes, packed, position)


def _element(body: bytes, at: int, order: str) -> tuple[bytes, int]:
    """Return the content of a complete element and the offset of the next one."""
    _, n_bytes, start, end = _tag(body, at, order)
    if start + n_bytes > len(body):
        raise IndexError
    return body[start : start + n_bytes], end


def _tag(body: bytes, at: int, order: str) -> tuple[int, int, int, int]:
    """Return the type, the number of bytes, and the offsets of the content and of the next element."""
    first, second = struct.unpack_from(f"{order}II", body, at)
    if first >> 16:  # a small element has up to four bytes in its tag
        return first & 0xFFFF, min(first >> 16, 4), at + 4, at + 8
    return first, second, at + 8, at + 8 + second + -second % 8


def _decompressed(packed: bytes, most: int, place: str) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, most)
    except zlib.error as error:
        raise DataError("has a damaged compressed array; save it again", place) from error


def _values(stream: BinaryIO, array: _Array, order: str, place: str) -> NDArray[Any]:
    count = math.prod(array.shape)
    check_memory(count * np.dtype(array.dtype).itemsize, place)
    stream.seek(array.at)
    body = stream.read(array.n_bytes)
    if array.packed:
        body = _decompressed(body, array.values + 16 + 8 * count + 16, place)[8:]  # numbers have at most 8 bytes
    try:
        kind, n_bytes, start, _ = _tag(body, array.values, order)
    except struct.error as error:
        raise DataError("ends before its numbers; the file is truncated", place) from error
    if kind not in _STORED or n_bytes != count * np.dtype(_STORED[kind]).itemsize or start + n_bytes > len(body):
        raise DataError(
            f"does not hold the {count} numbers of its shape {array.shape}; the file is damaged",
            place,
        )
    stored = np.frombuffer(body, np.dtype(f"{order}{_STORED[kind]}"), count, start)
    with np.errstate(invalid="ignore", over="ignore"):
        return stored.astype(array.dtype).reshape(array.shape, order="F")
