"""Error rates with 95 % confidence intervals, the recall of each class, and records of misclassified rows."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import stdev

import numpy as np
from numpy.typing import NDArray

from slide_gui.text import count, count_range, percentage

# Probability that an interval misses the true value; also the p-value below which a difference is significant.
LEVEL = 0.05

_LISTED = 6  # largest number of classes that a sentence lists
_Z = 1.959963984540054  # the normal quantile at 1 − LEVEL/2
_DIGEST, _COUNT = 16, 8  # bytes
_HEAD = _DIGEST + _COUNT

Errors = NDArray[np.bool_]


@dataclass(frozen=True)
class ErrorRate:
    """The error rate of one run, or the mean error rate of several runs, with its 95 % confidence interval.

    Attributes
    ----------
    error : float
        The error rate, between 0 and 1.
    low, high : float
        Limits of the confidence interval, between 0 and 1.
    n : int
        Number of evaluated rows in each run.
    n_splits : int
        Number of runs. Each run has its own split of the rows.
    spread : float
        Standard deviation of the error rates of k runs (k − 1 degrees of freedom); 0 for one run.
    covers : {"rows", "rows and splits", "splits"}
        Variation that the interval includes. "rows" is Wilson's interval for one run. For "rows and splits", all runs
        have the same test rows. For "splits", the runs have different test rows, and the interval treats the runs as
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
        """Return the error rate of one run on n rows, with Wilson's interval.

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
            raise ValueError(f"cannot compute an error rate for {n} rows; give at least one row")
        shrink = 1.0 + _Z**2 / n
        middle = (error + _Z**2 / (2 * n)) / shrink
        half = _Z / shrink * math.sqrt(error * (1.0 - error) / n + (_Z / (2 * n)) ** 2)
        return cls(error, max(0.0, middle - half) if error > 0 else 0.0, min(1.0, middle + half), n)

    @classmethod
    def of_folds(cls, rates: "Sequence[ErrorRate]") -> "ErrorRate":
        """Return the error rate on the rows of all folds together, with Wilson's interval. Each row is evaluated once.

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
        """Return the mean error rate of runs that have different or unknown test rows.

        For k runs, the interval is Student's with k − 1 degrees of freedom. It is never narrower than Wilson's interval
        for the number of rows of the smallest run. For runs with the same test rows, use `statistics.splits_rate`
        instead.

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
            raise ValueError("cannot average the error rates of 0 runs; give at least one run")
        k, errors = len(rates), [rate.error for rate in rates]
        if k == 1:
            return rates[0]
        from scipy.special import stdtrit  # imported only here because importing SciPy is slow

        spread = float(stdev(errors))
        error = sum(round(rate.error * rate.n) for rate in rates) / sum(rate.n for rate in rates)
        half = float(stdtrit(k - 1, 1.0 - LEVEL / 2)) * spread / math.sqrt(k)
        return cls.of_mean(error, half, min(rate.n for rate in rates), k, spread, "splits")

    @classmethod
    def of_mean(cls, error: float, half: float, n: int, n_splits: int, spread: float, covers: str) -> "ErrorRate":
        """Return a mean error rate with the interval ± `half`, extended to include Wilson's interval for n rows."""
        least = cls.of_run(error, n)
        low, high = max(0.0, min(error - half, least.low)), min(1.0, max(error + half, least.high))
        return cls(error, low, high, n, n_splits, spread, covers)

    @property
    def value(self) -> str:
        """The error rate in per cent, without the per cent sign: ``1.20``."""
        return percentage(100 * self.error)

    @property
    def interval(self) -> str:
        """The interval in per cent: ``0.70–1.70``."""
        return f"{100 * self.low:.2f}–{100 * self.high:.2f}"

    @property
    def cell(self) -> str:
        """The error rate and the interval for a table with per cent in its header: ``1.20 (0.70–1.70)``."""
        return f"{self.value} ({self.interval})"

    def __str__(self) -> str:
        return f"{self.value} % ({self.interval})"


def describe_rows(rates: Collection[ErrorRate]) -> str:
    """Describe the numbers of rows on which several error rates are based, such as "60 to 90" or "at least 60"."""
    numbers = [rate.n for rate in rates]
    if any(rate.covers == "splits" for rate in rates):  # `n` is the smallest number of rows of a split
        return f"at least {count(min(numbers))}"
    return count_range(numbers)


# If the largest class has more than this number times as many rows as the smallest, a sentence reports the recalls.
_UNEVEN = 1.5


@dataclass(frozen=True)
class ClassRates:
    """The recall of each class and the balanced error, which describe a result better if the classes differ in size.

    Attributes
    ----------
    counts : tuple of int
        Number of evaluated rows of each class.
    recall : dict
        Maps each class to the fraction of its rows that are predicted correctly, or to None if it has no rows.
    """

    counts: tuple[int, ...]
    recall: dict[str, float | None]

    @classmethod
    def of(cls, confusion: NDArray[np.int64], names: Sequence[str]) -> "ClassRates":
        """Compute the recalls from a confusion matrix, whose rows are the true classes.

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
        """Mean of the error rates of all classes that have rows, each with the same weight."""
        known = [recall for recall in self.recall.values() if recall is not None]
        return 1.0 - sum(known) / len(known)

    @property
    def sentence(self) -> str:
        """A sentence with the balanced error and the recall of each class; with many classes, only the lowest recalls.

        If some classes have no evaluated rows, the sentence only lists these classes. It is empty if all classes have
        rows and the largest class has at most 1.5 times as many rows as the smallest one.
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


def row_errors(test_set: str, evaluated: NDArray[np.int64], misclassified: NDArray[np.int64]) -> bytes:
    """Return the record of the misclassified rows of a run as bytes, with one bit per evaluated row.

    Parameters
    ----------
    test_set : str
        Identifier of the test set to which the indices refer.
    evaluated, misclassified : ndarray of int
        Indices of all evaluated rows, and of those that were misclassified, in ascending order.

    Returns
    -------
    bytes
        A digest that identifies the evaluated rows (16 bytes), their number (8 bytes), and one bit per row, which is 1
        if the row was misclassified.
    """
    digest = blake2b(test_set.encode(), digest_size=_DIGEST)
    digest.update(np.asarray(evaluated, "<i8").tobytes())
    bits = np.packbits(np.isin(evaluated, misclassified, assume_unique=True))
    return digest.digest() + len(evaluated).to_bytes(_COUNT, "little") + bits.tobytes()


def check_row_errors(packed: bytes, n: int) -> bool:
    """Return True if the bytes have the form that `row_errors` returns for n rows."""
    return len(packed) == _HEAD + -(-n // 8) and int.from_bytes(packed[_DIGEST:_HEAD], "little") == n


def same_rows(packed: Sequence[bytes]) -> bool:
    """Return True if the results of `row_errors` for several runs refer to the same rows."""
    return len({each[:_HEAD] for each in packed}) == 1


def error_matrix(packed: Sequence[bytes]) -> Errors | None:
    """Return a matrix that shows which of n rows each of k runs misclassified, or None if the runs have different rows.

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
