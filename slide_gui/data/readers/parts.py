"""What every reader returns: rows with their labels, not yet a data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.reading import NOT_SAID, Guess, ParseReport
from slide_gui.text import counted

_MISSING = frozenset(("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"))

LABEL_BOUND = 2**31
"""Labels are smaller than this in size: whatever holds them next, they fit, and sums of them do."""


@dataclass(frozen=True, eq=False)
class DataPart:
    """Rows of one file, as found.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Any real dtype.
    labels : ndarray of shape (n,), or None
        Numbers of any real dtype, numbers of the `label_names` if there are any; None if the file has no labels.
    image_shape : tuple of (rows, columns), or None
        None for plain features.
    place : str
        The file or the archive's member.
    role : {"train", "test"}
        What the file's name says; ``"train"`` where it says nothing.
    label_names : tuple of str
        Names of the labels 0, 1, … where the source has them.
    finite : bool
        True if the reader has seen to it that all rows are finite.
    feature_names : tuple of str
        Names of the features where the source has them.
    opened : ParseReport
        How it was read.
    groups : ndarray of shape (n,), int64, or None
        Which of the `group_names` each row belongs to.
    """

    rows: NDArray[np.generic]
    labels: NDArray[Any] | None
    image_shape: tuple[int, int] | None
    place: str
    role: str = "train"
    label_names: tuple[str, ...] = ()
    finite: bool = False
    feature_names: tuple[str, ...] = ()
    opened: ParseReport = NOT_SAID
    groups: NDArray[np.int64] | None = None
    group_names: tuple[str, ...] = ()


def role_of(name: str) -> str:
    """Return ``"test"`` if a file or array is named so (test, testing, t10k), else ``"train"``."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return "test" if any(word in ("test", "t10k", "testing") for word in words) else "train"


def square_shape(n_features: int, at_least: int = 1) -> tuple[int, int] | None:
    """Return (side, side) if so many features make a square image, else None."""
    side = isqrt(n_features)
    return (side, side) if side * side == n_features and n_features >= at_least else None


def square_guess(image_shape: tuple[int, int] | None) -> tuple[Guess, ...]:
    """Return what is to be said where `square_shape` made an image of features."""
    if image_shape is None:
        return ()
    side, d = image_shape[0], image_shape[0] * image_shape[1]
    return (Guess(f"images of {side} × {side} pixels", f"{d} features make a square", of_shape=True),)


def skipped_guess(comments: int, blanks: int) -> tuple[Guess, ...]:
    """Return a note on the lines of a table that are not rows, if there are any."""
    lines = [counted(n, f"{kind} line") for n, kind in ((comments, "comment"), (blanks, "blank")) if n]
    why = "lines before the first row that begin with # are comments" if comments else "they hold no cells"
    return (Guess(f"{' and '.join(lines)} skipped", why, sure=True),) if lines else ()


def is_missing(cell: str) -> bool:
    """Return True if a cell is empty or holds a usual mark of a missing value, such as NA or ?."""
    return cell.strip().lower() in _MISSING


MOST_CLASSES = 10_000
"""More different texts than this are no classes."""


def named_labels(texts: Sequence[str], place: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return labels of classes told by their names, numbered in the order of the alphabet, and the names.

    Raises
    ------
    DataError
        If a name is missing (empty, NA, ?, …), or there are too many to be classes.
    """
    names = [text.strip() for text in texts]
    missing = next((row for row, name in enumerate(names, start=1) if is_missing(name)), None)
    if missing is not None:
        raise DataError(
            f"the label of row {missing} is missing (found {names[missing - 1]!r}); fill it in, or leave the row out",
            place,
        )
    known = tuple(sorted(set(names)))
    if len(known) > MOST_CLASSES:
        raise DataError(f"holds more than {MOST_CLASSES} different texts, which are no classes", place)
    number = {name: code for code, name in enumerate(known)}
    return np.array([number[name] for name in names], np.int64), known


_MANY, _SEVERAL, _RARE = 30, 10, 5


def looks_like_quantity(values: NDArray[Any]) -> bool:
    """Return True if labels are many different numbers that look measured rather than assigned to classes.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers of any real dtype.
    """
    numbers, counts = np.unique(values, return_counts=True)
    rare = bool(np.median(counts) < _RARE)  # most of the numbers belong to fewer than five rows
    # A few rows of each of ten classes are a small data set.
    if len(numbers) <= (_SEVERAL if rare else _MANY):
        return False
    if (np.rint(numbers) != numbers).any():
        return True
    # Class numbers are names, so people assign them without gaps from 0 or 1, or collect about as many rows for each.
    # Measured numbers have gaps, begin anywhere, and some of them occur once.
    consecutive = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    even = counts.min() >= 2 and counts.max() <= 3 * counts.min()
    return not (even or (consecutive and not rare))


def quantile_ranges(values: NDArray[Any], n_ranges: int, place: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the limits between ranges that hold about equally many of the values, and the names of the ranges.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite numbers.
    n_ranges : int
        2 or more.
    place : str
        The file, for the message.

    Returns
    -------
    limits : ndarray of shape (n_ranges − 1,)
        A value belongs to the range before the first limit that is not less.
    names : tuple of str

    Raises
    ------
    DataError
        If the values have too few different numbers.
    """
    shares = np.arange(1, n_ranges) / n_ranges
    limits = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    limits = limits[limits < values.max()]
    if len(limits) < n_ranges - 1:
        raise DataError(f"has labels that fall into fewer than {n_ranges} ranges; ask for fewer ranges", place)
    shown = [f"{limit:.10g}" for limit in limits]
    between = (f"above {low} to {high}" for low, high in pairwise(shown))
    return limits, (f"up to {shown[0]}", *between, f"above {shown[-1]}")


def whole_labels(values: NDArray[np.generic], place: str) -> NDArray[np.int64]:
    """Return labels as int64.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Whole numbers of any real dtype.
    place : str
        The file, for the message.

    Raises
    ------
    DataError
        If a label is not a whole number within ± `LABEL_BOUND`; the message names its row.
    """
    if values.dtype.kind not in "biuf":
        raise DataError(f"labels are {values.dtype}, expected whole numbers", place)
    numbers = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        wrong = ~((np.rint(numbers) == numbers) & (np.abs(numbers) < LABEL_BOUND))
    if wrong.any():
        row = int(np.argmax(wrong))
        if np.isnan(numbers[row]):
            raise DataError(f"the label of row {row + 1} is missing (nan); fill it in, or leave the row out", place)
        raise DataError(
            f"the label of row {row + 1} is {numbers[row]:.10g}, expected a whole number within ±{LABEL_BOUND}",
            place,
        )
    return numbers.astype(np.int64)
