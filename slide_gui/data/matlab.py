"""MATLAB's .mat files of version 5 (saved with -v6 or -v7)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, check_claim, check_memory
from slide_gui.data.named import known_names, parts_from_named
from slide_gui.data.parts import Part
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["MATLAB_73", "MATLAB_MAGIC", "read_mat"]

MATLAB_MAGIC = b"MATLAB 5.0 MAT-file"
MATLAB_73 = (b"MATLAB 7.3 MAT-file", b"\x89HDF\r\n\x1a\n")

_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_BYTES = {"double": 8, "int64": 8, "uint64": 8, "single": 4, "int32": 4, "uint32": 4, "int16": 2, "uint16": 2}
_BYTES |= {"int8": 1, "uint8": 1, "logical": 1}


def read_mat(path: Path, *, progress: Progress = NO_PROGRESS) -> list[Part]:
    """Read the numeric arrays of a MATLAB file by their names, as `read_npz` does.

    Labels may stand in a row or in a column. Cells, structures and objects are not read.

    Raises
    ------
    DataError
        If the file is damaged, claims more than it holds, is of version 7.3, or has no arrays of known names.
    """
    from scipy.io import loadmat, whosmat

    place = str(path)
    _check_elements(path)
    progress.report(0.1)
    try:
        sizes = {name: (shape, kind) for name, shape, kind in whosmat(str(path)) if kind in _BYTES}
        names = list(known_names(sizes, place).values())
        for name in names:
            _check_shape(*sizes[name], f"{place}, {name}", path.stat().st_size)
        progress.report(0.2)
        arrays = loadmat(str(path), variable_names=names, chars_as_strings=False)
    except DataError:
        raise
    except Exception as error:  # SciPy raises a dozen types on damaged files, MemoryError among them
        raise DataError("is a damaged MATLAB file; save it again with -v7", place) from error
    progress.report(1.0)
    return parts_from_named({name: arrays[name] for name in names}, place, path.name)


def _check_shape(shape: tuple[int, ...], kind: str, place: str, packed: int) -> None:
    count = 1
    for size in shape:
        count *= max(0, int(size))
    check_claim(count, packed, place, ratio=DEFLATE_RATIO)  # numbers may be stored in as little as a byte each
    check_memory(count * _BYTES[kind], place)


def _check_elements(path: Path) -> None:
    """Walk over the file's elements and compare what each claims with what is there."""
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        header = stream.read(_HEADER)
        if header.startswith(MATLAB_73):
            raise DataError("is of MATLAB version 7.3 (HDF5), which is not read; save it with -v7", place)
        if len(header) < _HEADER or not header.startswith(MATLAB_MAGIC) or header[126:] not in (b"IM", b"MI"):
            raise DataError("has no MATLAB version 5 header; save it with -v7", place)
        order = "<" if header[126:] == b"IM" else ">"
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
            if kind == _COMPRESSED:
                _check_packed(stream.read(min(n_bytes, 4096)), n_bytes, order, place)
            at += 8 + n_bytes


def _check_packed(start: bytes, n_bytes: int, order: str, place: str) -> None:
    try:
        tag = zlib.decompressobj().decompress(start, 8)
    except zlib.error as error:
        raise DataError("holds a damaged compressed array; save it again", place) from error
    if len(tag) < 8:
        raise DataError("holds a truncated compressed array; save it again", place)
    check_claim(struct.unpack(f"{order}II", tag)[1], n_bytes, place, ratio=DEFLATE_RATIO)
