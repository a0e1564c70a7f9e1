"""Read NumPy's .npy and .npz files without pickle. Headers are checked first, and arrays are chosen by name."""

import io
import re
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory, damage_as, member_stream, read_values, zip_members
from slide_gui.data.readers.parts import DataPart, named_labels, role_of, square_guess, square_shape
from slide_gui.data.reading import Guess, ParseReport
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name

_ROWS, _LABELS = "x|data|images?|imgs?|features|fea", "y|labels?|targets?|gnd"
# Pattern of the names of arrays that contain rows or labels.
ARRAY_NAME = re.compile(rf"(train|test)?_?(?:({_ROWS})|({_LABELS}))_?(train|test)?", re.IGNORECASE)

_LAST_LETTER, _SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # largest code point of Unicode, and its surrogates

_UNLABELLED = "all columns are features; save X and y, or X_train and y_train, in one file, or save the table as CSV"


def known_names(names: Iterable[str], place: str, stored: Iterable[str] = ()) -> dict[tuple[str, str], str]:
    """Choose the arrays of a data set by their names.

    Parameters
    ----------
    names : iterable of str
        Names of the arrays in the file.
    stored : iterable of str
        All names in the file. They are shown if there are no arrays.
    place : str
        The file, for messages.

    Returns
    -------
    dict
        Maps (role, kind) to an array name. The role is ``"train"``, ``"test"``, or ``""`` if the name contains neither
        word. The kind is ``"rows"``, ``"labels"``, or ``"copy"`` for a second name of rows. If the file has only one
        array, it contains the rows.

    Raises
    ------
    DataError
        If no array has a name for rows, or if two names mean the same labels, or three names the same rows.
    """
    names = list(names)
    known: dict[tuple[str, str], str] = {}
    for name in names:
        match = ARRAY_NAME.fullmatch(name)
        if match is None or (match[1] and match[4]):
            continue
        key = ((match[1] or match[4] or "").lower(), "rows" if match[2] else "labels")
        key = (key[0], "copy") if match[2] and key in known else key
        if key in known:
            raise DataError(f"contains both {known[key]!r} and {name!r}; remove one of them", place)
        known[key] = name
    if len(names) == 1:
        return {("", "rows"): names[0]}
    if not any(kind == "rows" for _, kind in known):
        shown = ", ".join(sorted(names or stored)[:8])
        problem = f"contains {shown or 'no numbers'}; name the arrays X and y, or X_train, y_train, X_test and y_test"
        raise DataError(problem, place)
    return {(role, kind): name for (role, kind), name in known.items() if (role, "rows") in known}


def parts_from_named(
    arrays: Mapping[str, NDArray[np.generic]], place: str, file_name: str, stored: Iterable[str] = ()
) -> list[DataPart]:
    """Make data parts from arrays with names that `known_names` recognises. A note reports the other `stored` names.

    Arrays of rows have the shape (n, d) for features, or (n, h, w), (n, h, w, 1) or (n, 1, h, w) for grey images.
    Labels are vectors of n numbers or strings.

    Raises
    ------
    DataError
        If an array of rows is not numeric, if an array has another shape, or if the numbers of labels and rows differ.
        The error is also raised if two arrays for the same rows, such as data and images, differ in their values.
    """
    known = known_names(arrays, place, stored)
    unused, notes = [clean_name(name) for name in stored if name not in known.values()], []
    if unused:
        what = f"left out: {', '.join(unused[:6])}"
        is_sure = not re.search("val|dev|hold|group|patient|subject", what, re.IGNORECASE)
        notes.append(Guess(what, "these are not names of training or test rows", sure=is_sure))
    parts = []
    for role, name in [(role, name) for (role, kind), name in known.items() if kind == "rows"]:
        rows, shape = real_rows(arrays[name], f"{place}, {name}")
        copy = known.get((role, "copy"))
        if copy is not None and not np.array_equal(real_rows(arrays[copy], place)[0], rows, equal_nan=True):
            raise DataError(f"contains both {name!r} and {copy!r}; remove one of them", place)
        guessed = None if shape else square_shape(rows.shape[1])
        label_name = known.get((role, "labels"))
        labels, names = (None, ()) if label_name is None else _labels(arrays[label_name], f"{place}, {label_name}")
        if labels is not None and labels.size != rows.shape[0]:
            problem = f"{name} has {rows.shape[0]} rows but {label_name} has {labels.size} labels"
            raise DataError(f"{problem}; save one label per sample, and samples along the first axis (permute)", place)
        n, d = rows.shape
        guesses = square_guess(guessed)
        if not (label_name or shape or guesses) and d > n and square_shape(n):
            why = f"if its {d} columns are the samples instead, save the transposed array"
            guesses = (Guess(f"{n} rows of {d} features", why),)
        h, w = shape or (0, 0)
        if shape and not label_name and (n == h != w or w > max(n, h) or max(h, w) > 4 * min(h, w)):
            guesses = (Guess(f"{n} images of {h} × {w}", "the first axis counts the images"),)
        opened = ParseReport(guesses=(*guesses, *notes), unlabelled="" if label_name else _UNLABELLED)
        role = role or role_of(file_name)
        parts.append(DataPart(rows, labels, shape or guessed, f"{place}, {name}", role, names, opened=opened))
    return parts


def real_rows(array: NDArray[np.generic], place: str) -> tuple[NDArray[np.generic], tuple[int, int] | None]:
    """Return an array of features or grey images as rows, and the shape of the images or None.

    Raises
    ------
    DataError
        If the array is empty or not numeric, or if its shape is not that of features or grey images.
    """
    if array.dtype.kind not in "biuf":
        raise DataError(f"has type {array.dtype}, expected real numbers; save it as numbers", place)
    if array.ndim == 4 and 1 in (array.shape[1], array.shape[3]):
        array = array.squeeze(3 if array.shape[3] == 1 else 1)
    if array.ndim not in (2, 3) or array.size == 0:
        remedies = {1: "; save dense rows and labels as X and y in one .npz file", 4: "; make colour images grey"}
        expected, remedy = "expected features n × d or grey images n × h × w", remedies.get(array.ndim, "")
        raise DataError(f"has shape {_sizes(array)}, {expected}{remedy}", place)
    shape = (array.shape[1], array.shape[2]) if array.ndim == 3 else None
    return array.reshape(array.shape[0], -1), shape


def _sizes(array: NDArray[np.generic]) -> str:
    return " × ".join(map(str, array.shape)) or "()"


def _labels(array: NDArray[np.generic], place: str) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Return the labels and, if they are strings, the class names."""
    if array.size == 0 or array.size != max(array.shape, default=0):
        remedy = "save one class per row instead of one column per class"
        raise DataError(f"has shape {_sizes(array)}, expected a vector of labels; {remedy}", place)
    if array.dtype.kind not in "US":
        return array.ravel(), ()
    flat = np.ascontiguousarray(array.ravel())
    codes = flat.view(np.uint32) if array.dtype.kind == "U" else np.empty(0, np.uint32)
    with damage_as("has labels that are not UTF-8 text; save them as str", place):
        if ((codes > _LAST_LETTER) | ((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1]))).any():
            raise ValueError  # NumPy's conversion to text would raise SystemError
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in flat.tolist()]
    return named_labels(texts, place)


NPY_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_MOST_ROWS = 1 << 63  # NumPy cannot represent axes of this length or more


def read_npy(*paths: Path, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read an array of rows without labels: features (n, d) or images (n, h, w).

    The arrays of several files, such as X_train.npy and y_train.npy, are chosen by the names of the files, as in
    `read_npz`. If d is a perfect square of at least 64, the rows are guessed to be square images.

    Raises
    ------
    DataError
        If the header is damaged or contradicts the file size, or the array is not numeric. For several files, the error
        is also raised if no file has a name for rows.
    """
    arrays, place = {}, str(paths[0].parent if paths[1:] else paths[0])
    check_memory(sum(path.stat().st_size for path in paths), place)
    for path, step in progress.each(paths):
        with path.open("rb") as stream:
            arrays[path.stem] = read_array(stream, path.stat().st_size, str(path), progress=step)
    return parts_from_named(arrays, place, paths[0].name, arrays)


def read_npz(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read an archive of arrays, chosen by name.

    Rows are named X, data, images, imgs, features or fea. Labels are named y, labels, targets or gnd; they are numbers
    or strings. Names may be in the plural, and in upper or lower case. The names of training and test arrays start or
    end with ``train`` or ``test``, as in ``X_train`` or ``test_labels``. All other arrays are ignored. If the number of
    features is a perfect square of at least 64, the rows are guessed to be square images.

    Raises
    ------
    DataError
        Same as for `read_npy`. The error is also raised if no array has a name for rows, or if the arrays are those of
        a sparse matrix.
    """
    members = {m.filename.removesuffix(".npy"): m for m in zip_members(path) if m.filename.endswith(".npy")}
    if {"data", "format", "shape"} <= members.keys():
        raise DataError("is a sparse matrix of SciPy; save its toarray() as X, and the labels as y", str(path))
    used = [members[name] for name in known_names(members, str(path)).values()]
    check_memory(sum(member.file_size for member in used), str(path))
    arrays = {}
    for member, step in progress.each(used):
        with member_stream(path, member) as stream:
            place = f"{path}, {member.filename}"
            arrays[member.filename.removesuffix(".npy")] = read_array(stream, member.file_size, place, progress=step)
    return parts_from_named(arrays, str(path), path.name, members)


def read_array(stream: IO[bytes], size: int, place: str, *, progress: Progress = NO_PROGRESS) -> NDArray[np.generic]:
    """Read one array of exactly `size` bytes, header included.

    Parameters
    ----------
    stream : binary file
        A stream positioned at the start of the array.
    size : int
        Size of header and array in bytes. The caller must have checked that this much memory is available.
    place : str
        The file, for messages.
    progress : Progress
        Reports the fraction of the bytes read.

    Raises
    ------
    DataError
        If the header is damaged or contradicts the size, or the array has neither numbers nor strings.
    """
    shape, fortran, dtype = _header(stream, place)
    n_bytes, n_left = prod(shape) * dtype.itemsize, size - stream.tell()
    if n_bytes != n_left:
        problem = f"its header declares {n_bytes} bytes ({' × '.join(map(str, shape))} {dtype}), but {n_left} follow"
        raise DataError(f"{problem}; it is truncated or damaged", place)
    array = read_values(stream, shape, dtype, place, progress).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(stream: IO[bytes], place: str) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    try:
        version = npy.read_magic(stream)
        length_bytes = stream.read(2 if version == (1, 0) else 4)
        # A longer header is cut, which NumPy reports as an error. It would allocate memory for the declared length.
        length = min(int.from_bytes(length_bytes, "little"), _LONGEST_HEADER)
        header = io.BytesIO(length_bytes + stream.read(length))
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(header, max_header_size=_LONGEST_HEADER)
        # A damaged header may give a bool, or a number that is too large, as the length of an axis.
        if not all(type(size) is int and abs(size) < _MOST_ROWS for size in shape):
            raise ValueError
    except Exception as error:  # NumPy parses the header as Python code and raises many types of errors
        raise DataError("has no readable NumPy header; save it again", place) from error
    if dtype.kind not in "biufUS" or not dtype.itemsize or any(size < 0 for size in shape):
        problem = f"has type {dtype} and shape {shape}; expected real numbers"
        if dtype.hasobject:
            problem = "contains Python objects, which are never read; save real numbers or str"
        raise DataError(problem, place)
    return shape, fortran, dtype
