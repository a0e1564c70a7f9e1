"""Whether two methods differ: on the rows of one split, over several splits, and where a table holds many tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["McNemar", "holm", "mcnemar", "resampled_t"]


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


def resampled_t(differences: Sequence[float], n_train: int, n_test: int) -> float:
    """Return the two-sided p-value of the corrected resampled t-test of two methods over k splits.

    The splits share rows, so their differences vary less than those of independent samples would; Nadeau and Bengio
    (2003, "Inference for the Generalization Error", Machine Learning 52) multiply their variance by
    1/k + n_test/n_train in place of 1/k. Student's t has k − 1 degrees of freedom.

    Parameters
    ----------
    differences : sequence of float
        Error of one method less that of the other, on each split.
    n_train, n_test : int
        Rows trained on and judged, in each split.

    Raises
    ------
    ValueError
        If there are fewer than two splits, or they all differ by the same: then there is nothing to estimate the
        variance from.
    """
    k = len(differences)
    if k < 2 or max(differences) - min(differences) < 0.5 / n_test:  # less than a row: the same but for rounding
        raise ValueError(f"a t-test needs differences that vary; there are {k}: {[*map(float, differences)]}")
    from scipy.special import stdtr  # late: scipy takes a while to import

    variance = float(np.var(differences, ddof=1))
    t = float(np.mean(differences)) / math.sqrt(variance * (1.0 / k + n_test / n_train))
    return float(2.0 * stdtr(k - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values, in the order given.

    Of m p-values, the i-th smallest is multiplied by m − i + 1, and is no smaller than those before it: to call
    significant what falls below a level is wrong for any of them at most as often as the level says.
    """
    m, largest = len(p_values), 0.0
    adjusted = [0.0] * m
    for rank, place in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (m - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def _distinct(rows: ArrayLike) -> NDArray[np.int64]:
    """Return row numbers sorted, each once, as those of a result are already."""
    indices = np.asarray(rows, np.int64)
    return indices if bool((np.diff(indices) > 0).all()) else np.unique(indices)


def _log_binomial(n: int, k: int) -> float:
    """Return log P(K = k) for a fair coin thrown n times."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2.0)
