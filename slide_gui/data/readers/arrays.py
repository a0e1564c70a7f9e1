"""NumPy’s .npy and .npz files, read without pickle, their headers checked first; arrays found by their names."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.readers.archives import member_stream, zip_members
from slide_gui.data.readers.parts import DataPart, named_labels, role_of, square_guess, square_shape
from slide_gui.data.reading import ParseReport
from slide_gui.progress import NO_PROGRESS, Progress

_ROWS, _LABELS = "x|data|images?|features", "y|labels?|targets?"
_NAME = re.compile(rf"(train|test)?_?(?:({_ROWS})|({_LABELS}))_?(train|test)?", re.IGNORECASE)

_LAST_LETTER, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # of Unicode

SMALLEST_SQUARE = 64
"""The fewest features of an unknown table that are taken for a square image, 8 × 8."""


def known_names(names: Iterable[str], place: str) -> dict[tuple[str, str], str]:
    """Find the arrays that make a data set.

    Parameters
    ----------
    names : iterable of str
        All names in the file.
    place : str
        The file, for messages.

    Returns
    -------
    dict
        From (part, kind) to the name; the part is ``"train"``, ``"test"`` or, where the name says neither,
        ``""``, the kind ``"rows"`` or ``"labels"``. A single array of any name is the rows.

    Raises
    ------
    DataError
        If no rows are found, or two names mean the same.
    """
    names = list(names)
    found: dict[tuple[str, str], str] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or (match[1] and match[4]):
            continue
        key = ((match[1] or match[4] or "").lower(), "rows" if match[2] else "labels")
        if key in found:
            raise DataError(f"holds both {found[key]!r} and {name!r}; leave one of them out", place)
        found[key] = name
    if len(names) == 1:
        return {("", "rows"): names[0]}
    if not any(kind == "rows" for _, kind in found):
        shown = ", ".join(sorted(names)[:8])
        raise DataError(
            f"holds {shown}; expected arrays named X and y, or X_train, y_train, X_test, y_test"
            if shown
            else "holds nothing; expected arrays named X and y, or X_train, y_train, X_test, y_test",
            place,
        )
    return {(part, kind): name for (part, kind), name in found.items() if (part, "rows") in found}


def is_label_name(name: str) -> bool:
    """Whether an array of this name holds labels, where there are rows, too."""
    match = _NAME.fullmatch(name)
    return match is not None and match[3] is not None


def parts_from_named(arrays: Mapping[str, NDArray[np.generic]], place: str, file_name: str) -> list[DataPart]:
    """Make parts of arrays whose names `known_names` understands.

    Rows are (n, d) features or (n, h, w) images, also with one channel (n, h, w, 1) or (n, 1, h, w); labels
    are vectors of n numbers, or of n texts.

    Raises
    ------
    DataError
        If an array is not numeric or has another shape, or the labels are not one for each row.
    """
    found = known_names(arrays, place)
    parts = []
    for (part, kind), name in found.items():
        if kind == "labels":
            continue
        rows, shape = _rows(arrays[name], f"{place}, {name}")
        label_name = found.get((part, "labels"))
        labels, names = (None, ()) if label_name is None else _labels(arrays[label_name], f"{place}, {label_name}")
        if labels is not None and labels.size != rows.shape[0]:
            raise DataError(
                (
                    f"{name} has {rows.shape[0]} rows but {label_name} {labels.size} labels; expected samples "
                    "along the "
                    "first axis and a label for each"
                ),
                place,
            )
        guessed = square_guess(shape) if arrays[name].ndim == 2 else ()
        role, opened = part or role_of(file_name), ParseReport(guesses=guessed)
        parts.append(DataPart(rows, labels, shape, f"{place}, {name}", role, names, opened=opened))
    return parts


def _rows(array: NDArray[np.generic], place: str) -> tuple[NDArray[np.generic], tuple[int, int] | None]:
    if array.dtype.kind not in "biuf":
        raise DataError(f"is of type {array.dtype}, expected real numbers", place)
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[:, :, :, 0]
    elif array.ndim == 4 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (2, 3) or array.size == 0:
        raise DataError(
            f"has shape {' × '.join(map(str, array.shape)) or '()'}, expected n × d features or n × h × w grey images",
            place,
        )
    if array.ndim == 3:
        return array.reshape(array.shape[0], -1), (array.shape[1], array.shape[2])
    return array, square_shape(array.shape[1], SMALLEST_SQUARE)


def _labels(array: NDArray[np.generic], place: str) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Return labels and, where they are texts, the names of the classes."""
    if array.size == 0 or array.size != max(array.shape, default=0):
        raise DataError(
            f"has shape {' × '.join(map(str, array.shape)) or '()'}, expected a vector of labels",
            place,
        )
    if array.dtype.kind not in "US":
        return array.ravel(), ()
    flat = np.ascontiguousarray(array.ravel())
    codes = flat.view(np.uint32) if array.dtype.kind == "U" else np.empty(0, np.uint32)
    try:
        if ((codes > _LAST_LETTER) | ((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1]))).any():
            raise ValueError  # before NumPy makes text of it, which ends in a SystemError
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in flat.tolist()]
    except ValueError:
        raise DataError("holds labels that are not text in UTF-8; save them as str", place) from None
    return named_labels(texts, place)


NPY_MAGIC = b"\x93NUMPY"
_BLOCK = 1 << 20
_LONGEST_HEADER = 10_000
_MOST_ROWS = 1 << 63  # along any axis


def read_npy(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read one array as rows without labels: (n, d) features or (n, h, w) images.

    A d that is a perfect square of at least 64 is taken for square images.

    Raises
    ------
    DataError
        If the header is damaged or does not agree with the file's size, or the array is not numeric.
    """
    size = path.stat().st_size
    check_memory(size, str(path))
    with path.open("rb") as stream:
        array = read_array(stream, size, str(path), progress=progress)
    return parts_from_named({"x": array}, str(path), path.name)


def read_npz(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read an archive of arrays, by their names.

    Rows are named X, data, images or features, labels, numbers or texts, y, labels or targets (upper or lower case,
    singular or plural); the two parts have ``train`` and ``test`` before or behind, as in ``X_train`` or
    ``test_labels``.
    Arrays of other names are not read. A d that is a perfect square of at least 64 is taken for square images.

    Raises
    ------
    DataError
        As `read_npy`, and if the names are not among these.
    """
    members = {m.filename.removesuffix(".npy"): m for m in zip_members(path) if m.filename.endswith(".npy")}
    known = known_names(members, str(path))
    names = list(known.values())
    texts = {name for (_, kind), name in known.items() if kind == "labels"}
    check_memory(sum(members[name].file_size for name in names), str(path))
    arrays = {}
    for index, name in enumerate(names):
        step = progress.part(index / len(names), (index + 1) / len(names))
        arrays[name] = _read_member(path, members[name], name in texts, step)
    return parts_from_named(arrays, str(path), path.name)


def _read_member(path: Path, member: zipfile.ZipInfo, texts: bool, progress: Progress) -> NDArray[np.generic]:
    with member_stream(path, member) as stream:
        return read_array(stream, member.file_size, f"{path}, {member.filename}", texts=texts, progress=progress)


def read_array(
    stream: IO[bytes], size: int, place: str, *, texts: bool = False, progress: Progress = NO_PROGRESS
) -> NDArray[np.generic]:
    """Read one array of numbers whose header and numbers take exactly `size` bytes.

    Parameters
    ----------
    stream : binary file
        At the array's beginning.
    size : int
        Which was found possible: so much may be allocated.
    place : str
        For the message.
    texts : bool
        It may hold texts, too.
    progress : Progress

    Raises
    ------
    DataError
        If the header is damaged or does not agree with the size, or the array is not numeric.
    """
    shape, fortran, dtype = _header(stream, place, texts)
    n_bytes, there = prod(shape) * dtype.itemsize, size - stream.tell()
    if n_bytes != there:
        raise DataError(
            f"its header says {n_bytes} bytes ({' × '.join(map(str, shape))} {dtype}), but {there} follow; it is "
            "truncated or damaged",
            place,
        )
    buffer = np.empty(n_bytes, np.uint8)
    view, filled = buffer.data, 0
    while filled < n_bytes:
        got = stream.readinto(view[filled : filled + _BLOCK])  # type: ignore[attr-defined]
        if not got:
            raise DataError(f"ends after {filled} of {n_bytes} bytes; it is truncated", place)
        filled += got
        progress.report(filled / n_bytes)
    if stream.read(1):  # also lets the archive compare its checksum
        raise DataError("holds more than its header says; it is damaged", place)
    array = buffer.view(dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(stream: IO[bytes], place: str, texts: bool) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    try:
        version = npy.read_magic(stream)
        said = stream.read(2 if version == (1, 0) else 4)
        length = int.from_bytes(said, "little")
        if length > _LONGEST_HEADER:  # for which NumPy would ask for memory
            raise ValueError
        header = io.BytesIO(said + stream.read(length))
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(header, max_header_size=_LONGEST_HEADER)
        if not all(type(size) is int and abs(size) < _MOST_ROWS for size in shape):  # a bool, or too long to be said
            raise ValueError
    except Exception as error:  # the header is parsed as Python text, which fails in a dozen ways
        raise DataError("has no readable NumPy header; it is damaged", place) from error
    kinds = "biufUS" if texts and dtype.itemsize else "biuf"
    if dtype.kind not in kinds or any(size < 0 for size in shape):
        raise DataError(
            "holds Python objects, which are never read; expected real numbers"
            if dtype.hasobject
            else f"holds {dtype} of shape {shape}; expected real numbers",
            place,
        )
    return shape, fortran, dtype
