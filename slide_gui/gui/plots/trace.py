"""Numbers that grow in count while they are watched: appending costs the same however many there are."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "Trace"]


class Column:
    """Numbers that only grow in count, and their limits."""

    def __init__(self) -> None:
        self._values = array("d")
        self.low, self.high = math.inf, -math.inf

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: float) -> None:
        """Add a number; one that is not finite leaves a gap in the curve."""
        self._values.append(value)
        if math.isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)

    def __getitem__(self, index: int) -> float:
        return self._values[index]

    def values(self) -> NDArray[np.float64]:
        """Return a copy."""
        return np.array(self._values, np.float64)

    def index_near(self, value: float) -> int:
        """Return the index of the number nearest to `value`, if they rise."""
        after = bisect_left(self._values, value)
        if after == 0:
            return 0
        if after == len(self._values):
            return after - 1
        return after if self._values[after] - value < value - self._values[after - 1] else after - 1


class Trace:
    """One start of the search for the widths: iteration, criterion, C and number of support vectors.

    Attributes
    ----------
    kept : int
        Index of the least criterion, whose widths and C are those kept; 0 where none is a number.
    """

    def __init__(self) -> None:
        self.iteration, self.criterion, self.C, self.support = Column(), Column(), Column(), Column()
        self.kept = 0

    def append(self, iteration: float, criterion: float, C: float, support: float) -> None:
        """Add one iteration; iterations rise."""
        if criterion < self.criterion.low:
            self.kept = len(self.criterion)
        columns = (self.iteration, self.criterion, self.C, self.support)
        for column, value in zip(columns, (iteration, criterion, C, support), strict=True):
            column.append(value)
