"""Arrays found by their names: the customs of .npz and .mat files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.parts import Part, role_of, square_shape, whole_labels

__all__ = ["known_names", "parts_from_named"]

_ROWS, _LABELS = "x|data|images?|features", "y|labels?|targets?"
_NAME = re.compile(rf"(train|test)?_?(?:({_ROWS})|({_LABELS}))_?(train|test)?", re.IGNORECASE)

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
        shown = ", ".join(sorted(names)[:8]) or "nothing"
        raise DataError(f"holds {shown}; expected arrays named X and y, or X_train, y_train, X_test, y_test", place)
    return {(part, kind): name for (part, kind), name in found.items() if (part, "rows") in found}


def parts_from_named(arrays: Mapping[str, NDArray[np.generic]], place: str, file_name: str) -> list[Part]:
    """Make parts of arrays whose names `known_names` understands.

    Rows are (n, d) features or (n, h, w) images, also with one channel (n, h, w, 1) or (n, 1, h, w); labels
    are vectors of n whole numbers.

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
        labels = None if label_name is None else _labels(arrays[label_name], f"{place}, {label_name}")
        if labels is not None and labels.size != rows.shape[0]:
            raise DataError(
                f"{name} has {rows.shape[0]} rows but {label_name} {labels.size} labels; "
                "expected samples along the first axis and a label for each",
                place,
            )
        parts.append(Part(rows, labels, shape, f"{place}, {name}", part or role_of(file_name)))
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


def _labels(array: NDArray[np.generic], place: str) -> NDArray[np.int64]:
    if array.size == 0 or array.size != max(array.shape, default=0):
        raise DataError(f"has shape {' × '.join(map(str, array.shape)) or '()'}, expected a vector of labels", place)
    return whole_labels(array.ravel(), place)
