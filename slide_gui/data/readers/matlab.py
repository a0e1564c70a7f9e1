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
_CELLS, _LETTERS, _TEXT = 1, 4, "U"  # classes of text arrays, and their `_Array.dtype`
_LETTERS_STORED = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
_COMPLEX = 0x800
_MOST_DIMENSIONS = 8
_MOST_TEXT = 16 << 20  # bytes
_DAMAGED = "is a damaged MATLAB file; save it again with -v7"


@dataclass(frozen=True)
class _Array:
    """The description and position of an array of numbers or texts in the file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    at: int
    n_bytes: int
    packed: bool
    values: int  # offset in the body of the numbers, letters or first cell
    cells: bool = False


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels may be a row or a column of numbers, the rows of a character matrix, or text cells. Structures, objects,
    complex numbers and other cells are ignored.

    Raises
    ------
    DataError
        If the file is damaged, has version 7.3, declares more than its size, or has no array with a known name.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        order = _check_header(stream, place)
        by_name = {array.name: array for array in _arrays(stream, order, size, place)}
        numeric = [name for name, array in by_name.items() if array.dtype != _TEXT]
        texts = [name for name, array in by_name.items() if array.dtype == _TEXT and is_label_name(name)]
        names = list(known_names([*numeric, *texts], place).values())
        arrays = {}
        for number, name in enumerate(names, start=1):
            array = by_name[name]
            # A number or letter has at least one byte.
            check_claim(math.prod(array.shape), size, f"{place}, {name}", ratio=DEFLATE_RATIO)
            read = _texts if array.dtype == _TEXT else _values
            arrays[name] = read(stream, array, order, f"{place}, {name}")
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
    """Return the description of an array, or None if it has neither real numbers nor texts."""
    try:
        flags, position = _element(body, 0, order)
        (word,) = struct.unpack_from(f"{order}I", flags)
        kind = word & 0xFF
        if (kind not in _CLASSES and kind not in (_CELLS, _LETTERS)) or word & _COMPLEX:
            return None
        dimensions, position = _element(body, position, order)
        name, position = _element(body, position, order)
        shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
        text = name.decode("ascii")
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise DataError(_DAMAGED, place) from error
    if not 1 <= len(shape) <= _MOST_DIMENSIONS or min(shape) < 0:
        raise DataError(_DAMAGED, place)
    return _Array(text, shape, _CLASSES.get(kind, _TEXT), at, n_bytes, packed, position, kind == _CELLS)


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


def _body(stream: BinaryIO, array: _Array, most: int, place: str) -> bytes:
    """Return at most `most` bytes of a compressed array, or all bytes of another."""
    stream.seek(array.at)
    body = stream.read(array.n_bytes)
    return _decompressed(body, most + 8, place)[8:] if array.packed else body


def _texts(stream: BinaryIO, array: _Array, order: str, place: str) -> NDArray[np.str_]:
    """Return the texts in the rows of a character matrix, or in cells."""
    count = math.prod(array.shape)
    body = _body(stream, array, _MOST_TEXT + 1, place)
    if array.packed and len(body) > _MOST_TEXT:
        raise DataError(
            f"has more than {_MOST_TEXT >> 20} MiB of text, too much for class names; save numbers instead", place
        )
    try:
        if not array.cells:
            return _text_array(_rows_of_letters(body, array.values, array.shape, order), place)
        if count != max(array.shape, default=0):
            raise DataError(f"has shape {' × '.join(map(str, array.shape))}, expected a vector of labels", place)
        texts, at = [], array.values
        for _ in range(count):
            kind, n_bytes, start, end = _tag(body, at, order)
            cell = _description(body[start : start + n_bytes], order, 0, n_bytes, False, place)
            if kind != _MATRIX or cell is None or cell.dtype != _TEXT or cell.cells:
                raise DataError("has cells that are not text, expected the class of each row", place)
            rows = _rows_of_letters(body[start : start + n_bytes], cell.values, cell.shape, order)
            texts.append(rows[0] if len(rows) == 1 else "")
            at = end
    except (struct.error, IndexError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(_DAMAGED, place) from error
    return _text_array(texts, place)


def _text_array(texts: list[str], place: str) -> NDArray[np.str_]:
    """Return texts as an array, whose items all have the size of the longest text."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > _MOST_TEXT:
        raise DataError(f"has a text of {longest} letters among {len(texts)}, too long for class names", place)
    return np.array(texts)


def _rows_of_letters(body: bytes, at: int, shape: tuple[int, ...], order: str) -> list[str]:
    """Return the rows of a character matrix, which is stored column by column."""
    kind, n_bytes, start, _ = _tag(body, at, order)
    if len(shape) != 2 or kind not in _LETTERS_STORED or start + n_bytes > len(body):
        raise IndexError
    coding = _LETTERS_STORED[kind]
    coding += {"<": "-le", ">": "-be"}[order] if coding == "utf-16" else ""
    letters = np.frombuffer(body[start : start + n_bytes].decode(coding).encode("utf-32-le"), "<u4")
    return [row.tobytes().decode("utf-32-le") for row in np.ascontiguousarray(letters.reshape(shape, order="F"))]


def _values(stream: BinaryIO, array: _Array, order: str, place: str) -> NDArray[Any]:
    count = math.prod(array.shape)
    check_memory(count * np.dtype(array.dtype).itemsize, place)
    body = _body(stream, array, array.values + 16 + 8 * count + 8, place)  # numbers have at most 8 bytes
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
