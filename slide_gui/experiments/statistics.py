"""How sure an error rate is, and whether two of them differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["McNemar", "MeanError", "half_interval", "mcnemar", "mean_error"]

_Z = 1.96


def half_interval(error: float, n: int) -> float:
    """Return half the 95 % interval of an error rate on n rows, 1.96·sqrt(e(1 − e)/n).

    >>> round(half_interval(0.0138, 50_000), 5)
    0.00102
    """
    return _Z * math.sqrt(error * (1.0 - error) / n) if n else math.nan


@dataclass(frozen=True)
class MeanError:
    """Error over several splits judged on the same rows.

    Attributes
    ----------
    error : float
        Mean.
    spread : float
        Standard deviation between the splits (n − 1); 0 for one split.
    half : float
        Half the 95 % interval of the mean: the rows judged and the splits both vary,
        1.96·sqrt(e(1 − e)/n + spread²/k).
    n_splits : int
    """

    error: float
    spread: float
    half: float
    n_splits: int


def mean_error(errors: Sequence[float], n: int) -> MeanError:
    """Average the error of k splits, each judged on n rows.

    Raises
    ------
    ValueError
        If there are no splits.
    """
    if not errors:
        raise ValueError("there are no errors to average")
    mean = float(np.mean(errors))
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
    half = math.hypot(half_interval(mean, n), _Z * spread / math.sqrt(len(errors)))
    return MeanError(mean, spread, half, len(errors))


@dataclass(frozen=True)
class McNemar:
    """McNemar's test of two classifiers judged on the same rows.

    Attributes
    ----------
    only_first, only_second : int
        Rows that only one of the two gets wrong.
    exact : float
        Two-sided p-value of the exact binomial test.
    mid_p : float
        The same with half the weight of what was seen, which is less conservative.
    """

    only_first: int
    only_second: int
    exact: float
    mid_p: float


def mcnemar(wrong_first: ArrayLike, wrong_second: ArrayLike) -> McNemar:
    """Compare two classifiers by the rows they get wrong.

    Parameters
    ----------
    wrong_first, wrong_second : array_like of int
        Indices of the misclassified rows.
    """
    first, second = _distinct(wrong_first), _distinct(wrong_second)
    common = len(np.intersect1d(first, second, assume_unique=True))
    b, c = len(first) - common, len(second) - common
    n, least = b + c, min(b, c)
    if n == 0:
        return McNemar(0, 0, 1.0, 1.0)
    seen = math.exp(_log_binomial(n, least))
    k = np.arange(least, 0, -1)
    tail = seen * (1.0 + float(np.cumprod(k / (n - k + 1.0)).sum()))  # P(K = k − 1) = P(K = k)·k/(n − k + 1)
    if b == c:
        return McNemar(b, c, 1.0, 1.0 - 0.5 * seen)
    return McNemar(b, c, min(1.0, 2.0 * tail), 2.0 * tail - seen)


def _distinct(rows: ArrayLike) -> NDArray[np.int64]:
    """Return row numbers sorted, each once, as those of a result are already."""
    found = np.asarray(rows, np.int64)
    return found if bool((np.diff(found) > 0).all()) else np.unique(found)


def _log_binomial(n: int, k: int) -> float:
    """Return log P(K = k) for a fair coin thrown n times."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2.0)
