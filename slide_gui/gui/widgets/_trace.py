"""A curve that grows while it is watched: appending costs the same however long it is."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPolygonF

from slide_gui.gui.widgets._axes import Axis

__all__ = ["Column", "Trace", "curve"]


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


def curve(x: Axis, y: Axis, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> list[QPolygonF]:
    """Return the lines through the values, at most a few points for each pixel, broken where values are missing."""
    good = np.isfinite(ys) & ((ys > 0) | (not y.log))
    with np.errstate(invalid="ignore", divide="ignore"):
        heights = np.log(ys / y.low) / math.log(y.high / y.low) if y.log else (ys - y.low) / (y.high - y.low)
    across = x.start + (xs - x.low) / (x.high - x.low) * (x.stop - x.start)
    down = y.start + heights * (y.stop - y.start)
    found = []
    for run in np.split(np.arange(xs.size), np.flatnonzero(np.diff(good)) + 1):
        if run.size and good[run[0]]:
            points = _thinned(across[run], down[run])
            found.append(QPolygonF([QPointF(a, b) for a, b in points]))
    return found


def _thinned(across: NDArray[np.float64], down: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the points, or of each pixel's column of many its first, extreme and last ones."""
    if across.size <= 4 * max(across[-1] - across[0], 100):
        return list(zip(across.tolist(), down.tolist(), strict=True))
    starts = np.flatnonzero(np.diff(np.floor(across), prepend=-1.0))
    ends = np.append(starts[1:], across.size) - 1
    least, most = np.minimum.reduceat(down, starts), np.maximum.reduceat(down, starts)
    columns = zip(across[starts], down[starts], least, most, down[ends], strict=True)
    return [(float(a), float(v)) for a, *values in columns for v in values]
