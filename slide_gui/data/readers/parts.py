"""Rows and labels of one file, as all readers return them. They are later combined into a data set."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.reading import NO_GUESSES, Guess, ParseReport
from slide_gui.text import counted

_MISSING = frozenset(("", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"))

# Smallest number of features of a table that may be guessed to be the pixels of a square image (8 × 8).
SMALLEST_SQUARE = 64

# Pattern of the names of tables with sample predictions, such as Kaggle's sample_submission.csv.
SUBMISSION = re.compile(r"submission.*\.csv(\.gz)?$", re.IGNORECASE)

# Absolute values of labels must be smaller than this. Labels and their sums then fit into all integer types used.
LABEL_BOUND = 2**31


@dataclass(frozen=True, eq=False)
class DataPart:
    """Rows of one file, before they are scaled and checked.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        The rows, of any real dtype.
    labels : ndarray of shape (n,), or None
        Numbers of any real dtype, or indices into `label_names`; None if the file has no labels.
    image_shape : tuple of (rows, columns), or None
        None if the features are not pixels.
    place : str
        The file, or the member of an archive, for error messages.
    role : {"train", "test"}
        The set to which the rows belong, according to the file name; ``"train"`` by default.
    label_names : tuple of str
        Names of the labels 0, 1, …, if the source has names.
    finite : bool
        True if the reader has checked that all rows are finite.
    feature_names : tuple of str
        Names of the features, if the source has names.
    opened : ParseReport
        Report of how the file was read.
    groups : ndarray of shape (n,), int64, or None
        Index of each row's group in `group_names`.
    level : int
        Number by which the reader has divided the pixels; 0 if it has not divided them.
    pictures : tuple of str
        File name of each row's picture, with the folders below the opened folder; empty if the rows are not pictures.
    """

    rows: NDArray[np.generic]
    labels: NDArray[Any] | None
    image_shape: tuple[int, int] | None
    place: str
    role: str = "train"
    label_names: tuple[str, ...] = ()
    finite: bool = False
    feature_names: tuple[str, ...] = ()
    opened: ParseReport = NO_GUESSES
    groups: NDArray[np.int64] | None = None
    group_names: tuple[str, ...] = ()
    level: int = 0
    pictures: tuple[str, ...] = ()

    def has_fractions(self, *, rare: bool) -> bool:
        """Return True if there are labels other than integers. Unless `rare`, each must occur in five rows or more."""
        if self.labels is None or self.label_names or self.labels.dtype.kind != "f":
            return False
        numbers, counts = np.unique(self.labels, return_counts=True)
        counts = counts[(np.rint(numbers) != numbers) & (numbers == numbers)]
        return bool(counts.size and (rare or counts.min() >= _RARE))

    def with_label_names(self) -> Self:
        """Return a copy in which numeric labels are replaced by class names. Without such labels, return self."""
        if self.labels is None or self.label_names:
            return self
        codes, names = named_labels(label_texts(self.labels), self.place)
        return replace(self, labels=codes, label_names=names)


def role_of(name: str) -> str:
    """Return "test" if a file name contains a usual word for a test set, such as test or t10k, and "train" otherwise.

    Except in t10k, words consist of letters only. A capital letter after a small one begins a new word.
    """
    words = {word.lower() for word in re.findall(r"(?i:t10k)|[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return "test" if words & {"test", "testset", "testing", "tst", "tes", "t10k"} else "train"


def square_shape(n_features: int, at_least: int = SMALLEST_SQUARE) -> tuple[int, int] | None:
    """Return (side, side) if `n_features` is at least `at_least` and is side², or else None."""
    side = isqrt(n_features)
    return (side, side) if side * side == n_features and n_features >= at_least else None


def by_columns(rows: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Reorder the pixels of each image, which has the given shape, from row-major to column-major order."""
    return rows.reshape(-1, *shape).swapaxes(1, 2).reshape(len(rows), -1)


def square_guess(image_shape: tuple[int, int] | None) -> tuple[Guess, ...]:
    """Return the guess that the rows are square images, or no guess if `image_shape` is None."""
    if image_shape is None:
        return ()
    side, d = image_shape[0], image_shape[0] * image_shape[1]
    return (Guess(f"images of {side} × {side} pixels", f"{d} features make a square", of_shape=True),)


def skipped_guess(comments: int, blanks: int) -> tuple[Guess, ...]:
    """Return a note for the user if comment lines or blank lines of a table were skipped."""
    lines = [counted(n, f"{kind} line") for n, kind in ((comments, "comment"), (blanks, "blank")) if n]
    why = "lines with #, sep= or |1x3 before the rows are comments" if comments else "blank lines have no values"
    return (Guess(f"{' and '.join(lines)} skipped", why, sure=True),) if lines else ()


def is_missing(cell: str) -> bool:
    """Return True if a cell is empty or contains a usual mark of a missing value, such as NA or ?."""
    return cell.strip().lower() in _MISSING


# Largest number of class names that a label column of text may have.
MOST_CLASSES = 10_000


def named_labels(texts: Sequence[str], place: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return an integer label for each string, and the class names. Classes are numbered in alphabetical order.

    Raises
    ------
    DataError
        If a name is missing (empty, NA, ?, …), or there are too many different names.
    """
    names = [text.strip() for text in texts]
    missing = next((row for row, name in enumerate(names, start=1) if is_missing(name)), None)
    if missing is not None:
        problem = f"the label of row {missing} is missing (found {names[missing - 1]!r})"
        raise DataError(f"{problem}; fill it in, or leave the row out", place)
    known = tuple(sorted(set(names)))
    if len(known) > MOST_CLASSES:
        raise DataError(f"has more than {MOST_CLASSES} different class names; choose labels with fewer classes", place)
    codes = {name: code for code, name in enumerate(known)}
    return np.array([codes[name] for name in names], np.int64), known


def label_texts(labels: NDArray[Any]) -> list[str]:
    """Return numeric labels as short strings. The float32 value 0.1 becomes "0.1", and True becomes "1"."""
    numbers = map(float, map(str, labels)) if labels.dtype.kind == "f" else labels.tolist()
    return [f"{number:.10g}" for number in numbers]


def look_like_labels(values: NDArray[np.floating]) -> bool:
    """Return True if `values`, which must be distinct, are two or more integers with |value| < `LABEL_BOUND`."""
    return len(values) > 1 and np.abs(values).max() < LABEL_BOUND and bool((np.rint(values) == values).all())


_MANY, _SEVERAL, _RARE = 30, 10, 5


def looks_like_quantity(values: NDArray[Any], *, images: bool = False) -> bool:
    """Return True if the labels look like measured numbers (a quantity) and not like class numbers.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers of any real dtype.
    images : bool
        True if they are labels of images. Integers of a range from 0 or 1, drawn at random with equal probabilities and
        three or more per integer on average, are then class numbers.
    """
    numbers, counts = np.unique(values, return_counts=True)
    fractions = counts[(np.rint(numbers) != numbers) & (numbers == numbers)]
    # True if most distinct numbers are rare (in fewer than five rows), or if most are fractions and one of them is rare
    rare = bool(np.median(counts) < _RARE or (2 * len(fractions) > len(numbers) and fractions.min() < _RARE))
    # Ten classes of few rows each are plausible in a small data set.
    if len(numbers) <= (_SEVERAL if rare else _MANY):
        return False
    if (np.rint(numbers) != numbers).any():
        return True
    # Class numbers are usually consecutive from 0 or 1, or the classes have similar numbers of rows. Measured numbers
    # usually have gaps between them and start at any value, and some of them occur only once.
    consecutive = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    even = counts.min() >= 2 and counts.max() <= 3 * counts.min()
    mean = len(values) / (float(numbers[-1]) - float(numbers[0]) + 1.0)
    # Pearson's chi-squared statistic of equal probabilities, divided by the number of integers, is about 1.
    is_random = images and numbers[0] in (0, 1) and mean >= 3.0 and counts @ counts / len(values) - mean < 2.0
    return not (even or is_random or (consecutive and not rare))


def quantile_ranges(values: NDArray[Any], n_ranges: int, place: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the limits and names of ranges that contain about equally many values each.

    The limits are quantiles. If a frequent value equals several quantiles, further limits are added one by one. Each
    further limit divides a range, so that the smaller of the two parts is as large as possible.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite numbers.
    n_ranges : int
        Number of ranges, at least 2.
    place : str
        The file, for the message.

    Returns
    -------
    limits : ndarray of shape (n_ranges − 1,)
        Upper limit of each range except the last. A limit belongs to the range below it.
    names : tuple of str
        Names of the ranges, such as "above 1 to 2".

    Raises
    ------
    DataError
        If there are fewer than `n_ranges` different values.
    """
    numbers, counts = np.unique(values, return_counts=True)
    if len(numbers) < n_ranges:
        raise DataError(f"has fewer than {n_ranges} different labels; choose a smaller number of ranges", place)
    limits = np.unique(np.quantile(values, np.arange(1, n_ranges) / n_ranges, method="inverted_cdf"))
    limits, ends = limits[limits < numbers[-1]], np.cumsum(counts)
    while len(limits) < n_ranges - 1:
        range_ends = np.append(ends[np.isin(numbers, limits)], len(values))
        k = np.searchsorted(range_ends, ends)
        smaller_part = np.minimum(ends - np.append(0, range_ends)[k], range_ends[k] - ends)
        limits = np.sort(np.append(limits, numbers[smaller_part.argmax()]))
    shown = [f"{limit:.10g}" for limit in limits]
    between = (f"above {low} to {high}" for low, high in pairwise(shown))
    return limits, (f"up to {shown[0]}", *between, f"above {shown[-1]}")


def integer_labels(values: NDArray[np.generic], place: str) -> NDArray[np.int64]:
    """Return labels as int64.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Integers of any real dtype.
    place : str
        The file, for the message.

    Raises
    ------
    DataError
        If a label is not an integer within ± `LABEL_BOUND`. The message names the row of the label.
    """
    if values.dtype.kind not in "biuf":
        raise DataError(f"labels are {values.dtype}, expected integers; save them as integers", place)
    numbers = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        valid = (np.rint(numbers) == numbers) & (np.abs(numbers) < LABEL_BOUND)
    check_labels(numbers, valid, f"an integer within ±{LABEL_BOUND}", place)
    return numbers.astype(np.int64)


def check_labels(values: NDArray[Any], valid: NDArray[np.bool_], expected: str, place: str) -> None:
    """Raise an error for the first label that is not valid. The message names the row of the label."""
    if not valid.all():
        row = int(np.argmin(valid))
        problem = f"{values[row]:.10g}, expected {expected}; correct it"
        if np.isnan(values[row]):
            problem = "missing (nan); fill it in"
        raise DataError(f"the label of row {row + 1} is {problem}, or leave the row out", place)
