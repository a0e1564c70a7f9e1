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
from slide_gui.data.readers.arrays import is_label_name, known_names, parts_from_named
from slide_gui.data.readers.parts import DataPart
from slide_gui.progress import NO_PROGRESS, Progress

MATLAB_MAGIC = b"MATLAB 5.0 MAT-file"
MATLAB_73 = (b"MATLAB 7.3 MAT-file", b"\x89HDF\r\n\x1a\n")

_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_PREFIX = 4096  # bytes in which an array's flags, dimensions and name must stand
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CELLS, _LETTERS, _TEXT = 1, 4, "U"  # classes of arrays of texts; what `_Array.dtype` says of both
_LETTERS_STORED = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
_COMPLEX = 0x800
_MOST_DIMENSIONS = 8
_MOST_TEXT = 16 << 20  # bytes
_DAMAGED = "is a damaged MATLAB file; save it again with -v7"


@dataclass(frozen=True)
class _Array:
    """An array of numbers or texts of the file: what it is, and where its element's body stands."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    at: int
    n_bytes: int
    packed: bool
    values: int  # where in the body the element of the numbers or letters begins, or the first cell
    cells: bool = False


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels may stand in a row or in a column, as numbers, as the rows of a matrix of letters or in cells of text.
    Structures, objects, complex numbers and other cells are not read.

    Raises
    ------
    DataError
        If the file is damaged, claims more than it holds, is of version 7.3, or has no arrays of known names.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        order = _check_header(stream, place)
        found = {array.name: array for array in _arrays(stream, order, size, place)}
        numeric = [name for name, own in found.items() if own.dtype != _TEXT]
        texts = [name for name, own in found.items() if own.dtype == _TEXT and is_label_name(name)]
        names = list(known_names([*numeric, *texts], place).values())
        arrays = {}
        for number, name in enumerate(names, start=1):
            own = found[name]
            count = math.prod(own.shape)
            if own.dtype == _TEXT:
                arrays[name] = _texts(stream, own, order, size, place)
                continue
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
    """Return what an array's body says of it, or None if it is neither of real numbers nor of texts."""
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


def _texts(stream: BinaryIO, own: _Array, order: str, size: int, place: str) -> NDArray[np.str_]:
    """Return the texts of a matrix of letters, one a row, or of cells."""
    place = f"{place}, {own.name}"
    count = math.prod(own.shape)
    check_claim(count, size, place, ratio=DEFLATE_RATIO)
    most = own.n_bytes * (DEFLATE_RATIO if own.packed else 1)
    check_memory(min(most, _MOST_TEXT), place)
    stream.seek(own.at)
    body = stream.read(own.n_bytes)
    if own.packed:
        unpacking = zlib.decompressobj()
        try:
            body = unpacking.decompress(body, _MOST_TEXT)[8:]
        except zlib.error as error:
            raise DataError("is a damaged compressed array; save the file again", place) from error
        if unpacking.unconsumed_tail:
            raise DataError(f"holds more than {_MOST_TEXT >> 20} MiB of text, which are no classes", place)
    try:
        if not own.cells:
            return _array_of(_rows_of_letters(body, own.values, own.shape, order), place)
        if count != max(own.shape, default=0):
            raise DataError(f"has shape {' × '.join(map(str, own.shape))}, expected a vector of labels", place)
        texts, at = [], own.values
        for _ in range(count):
            kind, n_bytes, start, end = _tag(body, at, order)
            cell = _head(body[start : start + n_bytes], order, 0, n_bytes, False, place)
            if kind != _MATRIX or cell is None or cell.dtype != _TEXT or cell.cells:
                raise DataError("holds cells that are no text, expected the class of each row", place)
            rows = _rows_of_letters(body[start : start + n_bytes], cell.values, cell.shape, order)
            texts.append(rows[0] if len(rows) == 1 else "")
            at = end
    except (struct.error, IndexError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(_DAMAGED, place) from error
    return _array_of(texts, place)


def _array_of(texts: list[str], place: str) -> NDArray[np.str_]:
    """Return texts as an array, in which each takes as much as the longest."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > _MOST_TEXT:
        raise DataError(
            f"holds a text of {longest} letters among {len(texts)}, which are no classes",
            place,
        )
    return np.array(texts)


def _rows_of_letters(body: bytes, at: int, shape: tuple[int, ...], order: str) -> list[str]:
    """Return the rows of a matrix of letters, which are stored column by column."""
    kind, n_bytes, start, _ = _tag(body, at, order)
    if len(shape) != 2 or kind not in _LETTERS_STORED or start + n_bytes > len(body):
        raise IndexError
    coding = _LETTERS_STORED[kind]
    coding += {"<": "-le", ">": "-be"}[order] if coding == "utf-16" else ""
    letters = np.frombuffer(body[start : start + n_bytes].decode(coding).encode("utf-32-le"), "<u4")
    return [row.tobytes().decode("utf-32-le") for row in np.ascontiguousarray(letters.reshape(shape, order="F"))]


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
        raise DataError(
            f"does not hold the {count} numbers of its shape {own.shape}; the file is damaged",
            place,
        )
    stored = np.frombuffer(body, np.dtype(f"{order}{_STORED[kind]}"), count, start)
    with np.errstate(invalid="ignore", over="ignore"):
        return stored.astype(own.dtype).reshape(own.shape, order="F")
