"""An error rate with its 95 % interval, and how the two are put into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

__all__ = ["LEVEL", "ErrorRate"]

LEVEL = 0.05
"""What an interval leaves outside, and below which a p-value counts as significant."""

_Z = 1.959963984540054  # the normal quantile at 1 − LEVEL/2


@dataclass(frozen=True)
class ErrorRate:
    """An error rate, of one run or the mean of several, with its 95 % interval; all are shares of 1.

    Attributes
    ----------
    low, high : float
        Ends of the interval, within 0 and 1. It lies symmetrically about a mean, but not about the error of one run.
    n : int
        Rows judged, in each run.
    n_splits : int
        Runs averaged.
    spread : float
        Standard deviation between the runs (k − 1); 0 for one.
    """

    error: float
    low: float
    high: float
    n: int
    n_splits: int = 1
    spread: float = 0.0

    @classmethod
    def of_run(cls, error: float, n: int) -> ErrorRate:
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
            raise ValueError(f"an error rate needs rows; there are {n}")
        shrink = 1.0 + _Z**2 / n
        middle = (error + _Z**2 / (2 * n)) / shrink
        half = _Z / shrink * math.sqrt(error * (1.0 - error) / n + (_Z / (2 * n)) ** 2)
        return cls(error, max(0.0, middle - half) if error > 0 else 0.0, min(1.0, middle + half), n)

    @classmethod
    def of_folds(cls, rates: Sequence[ErrorRate]) -> ErrorRate:
        """Return the error on the rows of several folds together, each judged once, with Wilson's interval.

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
    def of_splits(cls, errors: Sequence[float], n: int) -> ErrorRate:
        """Return the mean error of k runs, each on n rows, with Student's interval on k − 1 degrees of freedom.

        Runs that all have the same error say no more than one of them: the interval is Wilson's then.

        Raises
        ------
        ValueError
            If there are no errors, or no rows.

        Examples
        --------
        >>> print(ErrorRate.of_splits([0.010, 0.012, 0.014], 50_000))
        1.20 % (0.70–1.70)
        """
        if not errors:
            raise ValueError("there are no errors to average")
        k, error = len(errors), float(fmean(errors))
        spread = float(stdev(errors)) if k > 1 else 0.0
        if spread == 0.0:
            one = cls.of_run(error, n)
            return cls(error, one.low, one.high, n, k)
        from scipy.special import stdtrit  # late: scipy takes a while to import

        half = float(stdtrit(k - 1, 1.0 - LEVEL / 2)) * spread / math.sqrt(k)
        return cls(error, max(0.0, error - half), min(1.0, error + half), n, k, spread)

    @property
    def value(self) -> str:
        """The error in per cent, without the sign: ``1.20``."""
        return f"{100 * self.error:.2f}"

    @property
    def interval(self) -> str:
        """The interval in per cent: ``0.70–1.70``."""
        return f"{100 * self.low:.2f}–{100 * self.high:.2f}"

    @property
    def cell(self) -> str:
        """Both, for a table whose head says that it is in per cent: ``1.20 (0.70–1.70)``."""
        return f"{self.value} ({self.interval})"

    def __str__(self) -> str:
        return f"{self.value} % ({self.interval})"
