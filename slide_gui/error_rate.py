"""Error rates with 95 % confidence intervals, the recall of each class, and the rows that a run misclassified."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import stdev

import numpy as np
from numpy.typing import NDArray

from slide_gui.text import count, count_range, percentage

LEVEL = 0.05
"""The probability that an interval misses the true value, and the p-value below which a difference is significant."""

_LISTED = 6  # largest number of classes listed in a sentence
_Z = 1.959963984540054  # the normal quantile at 1 − LEVEL/2
_DIGEST, _COUNT = 16, 8  # bytes
_HEAD = _DIGEST + _COUNT

Errors = NDArray[np.bool_]


@dataclass(frozen=True)
class ErrorRate:
    """The error rate of one run, or the mean of several, with its 95 % confidence interval; all between 0 and 1.

    Attributes
    ----------
    low, high : float
        Ends of the interval, between 0 and 1.
    n : int
        Rows evaluated in each run.
    n_splits : int
        Number of runs averaged.
    spread : float
        Standard deviation between the runs (k − 1 degrees of freedom); 0 for one run.
    covers : {"rows", "rows and splits", "splits"}
        The variation that the interval includes. "rows": Wilson's interval for one run. "rows and splits": all runs
        share their test rows. "splits": the test rows differ between the runs, and the interval treats these as
        independent.
    """

    error: float
    low: float
    high: float
    n: int
    n_splits: int = 1
    spread: float = 0.0
    covers: str = "rows"

    @classmethod
    def of_run(cls, error: float, n: int) -> "ErrorRate":
        """Return the error of one run on n rows with Wilson's interval.

        Raises
        ------
        ValueError
            If there are no rows.

        Examples
        --------
        >>> print(ErrorRate.of_run(0.0, 100))
        0.00 % (0.00–3.70)
        """
        if n < 1:
            raise ValueError(f"cannot compute an error rate of {n} rows; give at least one")
        shrink = 1.0 + _Z**2 / n
        middle = (error + _Z**2 / (2 * n)) / shrink
        half = _Z / shrink * math.sqrt(error * (1.0 - error) / n + (_Z / (2 * n)) ** 2)
        return cls(error, max(0.0, middle - half) if error > 0 else 0.0, min(1.0, middle + half), n)

    @classmethod
    def of_folds(cls, rates: "Sequence[ErrorRate]") -> "ErrorRate":
        """Return the error on the rows of all folds together, each evaluated once, with Wilson's interval.

        Raises
        ------
        ValueError
            If there are no rows.

        Examples
        --------
        >>> ErrorRate.of_folds([ErrorRate.of_run(0.0, 20), ErrorRate.of_run(0.1, 20)]).error
        0.05
        """
        n = sum(rate.n for rate in rates)
        return cls.of_run(sum(round(rate.error * rate.n) for rate in rates) / n if n else 0.0, n)

    @classmethod
    def of_splits(cls, rates: "Sequence[ErrorRate]") -> "ErrorRate":
        """Return the mean error of runs whose test rows differ or are unknown.

        For k runs, the interval is Student's with k − 1 degrees of freedom. It is never narrower than Wilson's interval
        for the rows of the smallest run. Runs that share their test rows need `statistics.splits_rate` instead.

        Raises
        ------
        ValueError
            If there are no runs.

        Examples
        --------
        >>> print(ErrorRate.of_splits([ErrorRate.of_run(wrong / 50_000, 50_000) for wrong in (500, 600, 700)]))
        1.20 % (0.70–1.70)
        """
        if not rates:
            raise ValueError("cannot average the errors of 0 runs; give at least one")
        k, errors = len(rates), [rate.error for rate in rates]
        if k == 1:
            return rates[0]
        from scipy.special import stdtrit  # imported late because scipy imports slowly

        spread = float(stdev(errors))
        error = sum(round(rate.error * rate.n) for rate in rates) / sum(rate.n for rate in rates)
        half = float(stdtrit(k - 1, 1.0 - LEVEL / 2)) * spread / math.sqrt(k)
        return cls.of_mean(error, half, min(rate.n for rate in rates), k, spread, "splits")

    @classmethod
    def of_mean(cls, error: float, half: float, n: int, n_splits: int, spread: float, covers: str) -> "ErrorRate":
        """Return a mean with the interval ± `half`, widened if Wilson's interval for n rows is wider."""
        least = cls.of_run(error, n)
        low, high = max(0.0, min(error - half, least.low)), min(1.0, max(error + half, least.high))
        return cls(error, low, high, n, n_splits, spread, covers)

    @property
    def value(self) -> str:
        """The error in per cent, without the per cent sign: ``1.20``."""
        return percentage(100 * self.error)

    @property
    def interval(self) -> str:
        """The interval in per cent: ``0.70–1.70``."""
        return f"{100 * self.low:.2f}–{100 * self.high:.2f}"

    @property
    def cell(self) -> str:
        """Error and interval for a table whose header states per cent: ``1.20 (0.70–1.70)``."""
        return f"{self.value} ({self.interval})"

    def __str__(self) -> str:
        return f"{self.value} % ({self.interval})"


def describe_rows(rates: Collection[ErrorRate]) -> str:
    """Return in words how many rows several error rates are based on, such as "60 to 90" or "at least 60"."""
    numbers = [rate.n for rate in rates]
    if any(rate.covers == "splits" for rate in rates):  # splits may have different numbers of rows
        return f"at least {count(min(numbers))}"
    return count_range(numbers)


_UNEVEN = 1.5  # ratio of the largest class to the smallest


@dataclass(frozen=True)
class ClassRates:
    """The recall of each class, and the balanced error, for classes of unequal size.

    Attributes
    ----------
    counts : tuple of int
        Evaluated rows of each class.
    recall : dict
        Class → fraction of its rows predicted correctly, or None if the class has no rows.
    """

    counts: tuple[int, ...]
    recall: dict[str, float | None]

    @classmethod
    def of(cls, confusion: NDArray[np.int64], names: Sequence[str]) -> "ClassRates":
        """Return the rates in a confusion matrix, whose rows are the true classes.

        Examples
        --------
        >>> rates = ClassRates.of(np.array([[90, 10], [10, 10]]), ("wide", "tall"))
        >>> rates.recall, round(rates.balanced_error, 3)
        ({'wide': 0.9, 'tall': 0.5}, 0.3)
        """
        counts, correct = confusion.sum(axis=1).tolist(), confusion.diagonal().tolist()
        triples = zip(names, correct, counts, strict=True)
        return cls(tuple(counts), {name: c / n if n else None for name, c, n in triples})

    @property
    def balanced_error(self) -> float:
        """Mean of the error rates of all classes with rows, equally weighted."""
        known = [recall for recall in self.recall.values() if recall is not None]
        return 1.0 - sum(known) / len(known)

    @property
    def sentence(self) -> str:
        """A sentence with the balanced error and each class's recall, or the lowest recalls if there are many classes.

        If some classes have no evaluated rows, it names only these classes. It is empty if all classes have rows and
        the largest class has at most 1.5 times the rows of the smallest one.
        """
        if untested := [name for name, recall in self.recall.items() if recall is None]:
            return f"No evaluated row belongs to class {', '.join(untested[:_LISTED])}."
        if max(self.counts) <= _UNEVEN * min(filter(None, self.counts)):
            return ""
        pairs = [(recall, name) for name, recall in self.recall.items() if recall is not None]
        few = len(pairs) <= _LISTED
        shown = pairs if few else sorted(pairs)[:_LISTED]
        listed = ", ".join(f"{name}: {percentage(100 * r, 1)} %" for r, name in shown)
        text = f"The classes differ in size: the balanced error is {percentage(100 * self.balanced_error, 1)} %, "
        return f"{text}the {'recall by class is' if few else 'lowest recalls are'} {listed}."

    @property
    def document(self) -> dict[str, object]:
        """The balanced error and the recall of each class, for JSON."""
        return {"balanced_error": self.balanced_error, "recall": self.recall}


def row_errors(test_set: str, judged: NDArray[np.int64], misclassified: NDArray[np.int64]) -> bytes:
    """Pack the errors of a run into bytes, with one bit for each evaluated row.

    Parameters
    ----------
    test_set : str
        Identifier of the test set whose rows the indices refer to.
    judged, misclassified : ndarray of int
        Indices of all evaluated rows, and of the misclassified ones among them, in ascending order.

    Returns
    -------
    bytes
        A digest of the rows (16 bytes), their number (8 bytes), and the bits, 1 for a misclassified row.
    """
    digest = blake2b(test_set.encode(), digest_size=_DIGEST)
    digest.update(np.asarray(judged, "<i8").tobytes())
    bits = np.packbits(np.isin(judged, misclassified, assume_unique=True))
    return digest.digest() + len(judged).to_bytes(_COUNT, "little") + bits.tobytes()


def check_row_errors(packed: bytes, n: int) -> bool:
    """Return True if the bytes are a possible result of `row_errors` for n rows."""
    return len(packed) == _HEAD + -(-n // 8) and int.from_bytes(packed[_DIGEST:_HEAD], "little") == n


def same_rows(packed: Sequence[bytes]) -> bool:
    """Return True if the `row_errors` of several runs belong to the same rows."""
    return len({each[:_HEAD] for each in packed}) == 1


def error_matrix(packed: Sequence[bytes]) -> Errors | None:
    """Return the errors of k runs on the same n rows, or None if their rows differ.

    Parameters
    ----------
    packed : sequence of bytes, length k
        Results of `row_errors`, one per run.

    Returns
    -------
    ndarray of bool, shape (k, n), or None
    """
    if not same_rows(packed):
        return None
    n = int.from_bytes(packed[0][_DIGEST:_HEAD], "little")
    bits = np.array([np.frombuffer(each, np.uint8, offset=_HEAD) for each in packed])
    return np.unpackbits(bits, axis=1, count=n).astype(bool)
