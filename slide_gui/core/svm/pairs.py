"""One-vs-one classification: pairs of classes, shared kernel values, and one score per class from all margins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import take_rows
from slide_gui.core.svm.kernel import Values, Vectors, kernel_rounding, kernel_tiles, set_self_kernel, squared_norms
from slide_gui.progress import NO_PROGRESS, Progress


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return all pairs (i, j) of class codes with i < j; a margin is positive for class j."""
    return list(combinations(range(n_classes), 2))


def class_scores(margins: NDArray[np.floating], n_classes: int) -> NDArray[np.float64]:
    """Return one score per class: its votes, plus its summed margins scaled to (−1/3, 1/3), which only break ties.

    Parameters
    ----------
    margins : ndarray of shape (n, n_classes · (n_classes − 1) / 2)
        Margins in the order of `pairs_of`.

    Returns
    -------
    ndarray of shape (n, n_classes)
        The predicted class has the highest score.
    """
    votes = np.zeros((len(margins), n_classes))
    sums = np.zeros((len(margins), n_classes))
    for column, (i, j) in enumerate(pairs_of(n_classes)):
        margin = margins[:, column]
        second = margin >= 0.0
        votes[:, j] += second
        votes[:, i] += ~second
        sums[:, j] += margin
        sums[:, i] -= margin
    return np.asarray(votes + sums / (3.0 * (np.abs(sums) + 1.0)))


Indices = NDArray[np.intp]


class ClassRows:
    """Embedded rows of each class, and a cache of kernel rows within the classes.

    Parameters
    ----------
    embed : function
        Function of row indices, a data type and a progress that returns embedded rows.
    members : sequence of ndarray of int
        Row indices of each class, in the order of its points.
    dtype : dtype
        float32 or float64.
    memory : int
        Number of bytes for cached kernel rows.
    progress : Progress
        Can cancel the embedding.
    """

    def __init__(
        self,
        embed: Callable[[Indices, np.dtype[np.floating], Progress], Values],
        members: Sequence[Indices],
        dtype: np.dtype[np.floating],
        memory: int,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._embed, self.members, self.dtype = embed, members, dtype
        self.data = [embed(rows, dtype, progress) for rows in members]
        self.squares = [squared_norms(data) for data in self.data]
        n = max(sum(len(rows) for rows in members), 1)
        self._caches = [_RowCache(len(rows), memory * len(rows) // n, dtype) for rows in members]

    def pair(self, first: int, second: int) -> PairRows:
        """Return the kernel source for two classes; the points of the first class come first."""
        return PairRows(self, (first, second), (len(self.members[first]), len(self.members[second])))

    def exact_rows(self, rows: Indices, progress: Progress) -> NDArray[np.float64]:
        """Return some rows embedded in float64."""
        return np.asarray(self._embed(rows, np.dtype(np.float64), progress), np.float64)

    def within(self, number: int, points: Indices, out: Values, progress: Progress) -> None:
        """Fill `out` with the kernel between some points of a class (rows) and its first points (columns)."""
        cache = self._caches[number]
        whole = self.data[number], self.squares[number]
        new = cache.room_for(points)
        if len(new):
            some = whole if len(new) == len(whole[0]) else self._some(number, new, progress)
            kernel_tiles(some, whole, cache.add(new), progress)
        slots = cache.slot[points]
        for position in np.flatnonzero(slots >= 0):
            out[position] = cache.store[slots[position], : out.shape[1]]
        progress.report(0.0)
        rest = np.flatnonzero(slots < 0)
        if len(rest):
            narrow = whole[0][: out.shape[1]], whole[1][: out.shape[1]]
            some = narrow if len(rest) == len(narrow[0]) else self._some(number, points[rest], progress)
            out[rest] = kernel_tiles(some, narrow, None, progress)
        set_self_kernel(out, points)

    def across(self, number: int, points: Indices, other: int, out: Values, progress: Progress) -> None:
        """Fill `out` with the kernel between some points of a class (rows) and the first of another (columns)."""
        width = out.shape[1]
        columns = self.data[other][:width], self.squares[other][:width]
        kernel_tiles(self._some(number, points, progress), columns, out, progress)

    def _some(self, number: int, points: Indices, progress: Progress) -> tuple[Values, Values]:
        return take_rows(self.data[number], points, progress), self.squares[number][points]


class _RowCache:
    """Cache of kernel rows within one class, with a limited capacity."""

    def __init__(self, n: int, memory: int, dtype: np.dtype[np.floating]) -> None:
        capacity = min(n, memory // max(dtype.itemsize * n, 1))
        self.store: Values = np.empty((capacity, n), dtype=dtype)
        self.slot = np.full(n, -1)
        self.used = 0

    def room_for(self, points: Indices) -> Indices:
        """Return the points that are not cached and still fit in the cache."""
        return points[self.slot[points] < 0][: len(self.store) - self.used]

    def add(self, points: Indices) -> Values:
        """Reserve cache rows for some points and return them for writing."""
        slots = slice(self.used, self.used + len(points))
        self.slot[points] = np.arange(slots.start, slots.stop)
        self.used = slots.stop
        return self.store[slots]


class PairRows:
    """Kernel source for the first points of two classes.

    Parameters
    ----------
    shared : ClassRows
    pair : (int, int)
        Class codes.
    sizes : (int, int)
        Number of points of each class.
    """

    def __init__(self, shared: ClassRows, pair: tuple[int, int], sizes: tuple[int, int]) -> None:
        self._shared, self._pair, self._sizes = shared, pair, sizes

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Data type of the kernel values."""
        return self._shared.dtype

    def __len__(self) -> int:
        return sum(self._sizes)

    def take(self, rows: Indices) -> PairRows | Vectors:
        """Return the source for some points; nothing is copied if they are the first of each class."""
        first = int(np.searchsorted(rows, self._sizes[0]))
        leading = np.concatenate([np.arange(first), self._sizes[0] + np.arange(len(rows) - first)])
        if np.array_equal(rows, leading):
            return PairRows(self._shared, self._pair, (first, len(rows) - first))
        return Vectors(self._rows(rows, NO_PROGRESS))

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of a kernel value."""
        squares = [self._shared.squares[number][:size] for number, size in zip(self._pair, self._sizes, strict=True)]
        return kernel_rounding(np.concatenate(squares))

    def exact_rows(self, points: Indices, progress: Progress = NO_PROGRESS) -> NDArray[np.float64]:
        """Return some points, embedded in float64."""
        pairs = zip(self._pair, self._sizes, strict=True)
        rows = np.concatenate([self._shared.members[number][:size] for number, size in pairs])
        return self._shared.exact_rows(rows[points], progress)

    @property
    def refined_bytes(self) -> int:
        """Size of all points embedded in float64, in bytes."""
        return 8 * len(self) * int(self._shared.data[0].shape[1])

    def kernel(
        self,
        rows: Indices,
        columns: Indices | None = None,
        out: Values | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> Values:
        """Return the kernel between some rows, in rising order, and some columns, by default all."""
        if columns is rows and len(rows) == len(self):
            return self._whole(out, progress)
        if columns is not None:
            points = self._rows(rows, progress)
            left = points, squared_norms(points)
            if columns is rows:
                values = kernel_tiles(left, left, out, progress)
                set_self_kernel(values)
                return values
            other = self._rows(columns, progress)
            return kernel_tiles(left, (other, squared_norms(other)), out, progress)
        if out is None:
            out = np.empty((len(rows), len(self)), dtype=self.dtype)
        size = self._sizes[0]
        split = int(np.searchsorted(rows, size))
        first, second = self._pair
        self._shared.within(first, rows[:split], out[:split, :size], progress)
        self._shared.across(first, rows[:split], second, out[:split, size:], progress)
        self._shared.across(second, rows[split:] - size, first, out[split:, :size], progress)
        self._shared.within(second, rows[split:] - size, out[split:, size:], progress)
        return out

    def _whole(self, out: Values | None, progress: Progress) -> Values:
        """Return the kernel between all points; the kernel between the two classes is computed only once."""
        n, size = len(self), self._sizes[0]
        if out is None:
            out = np.empty((n, n), dtype=self.dtype)
        first, second = self._pair
        self._shared.within(first, np.arange(size), out[:size, :size], progress)
        self._shared.within(second, np.arange(n - size), out[size:, size:], progress)
        self._shared.across(first, np.arange(size), second, out[:size, size:], progress)
        out[size:, :size] = out[:size, size:].T
        progress.report(0.0)
        return out

    def _rows(self, rows: Indices, progress: Progress) -> Values:
        size = self._sizes[0]
        split = int(np.searchsorted(rows, size))
        first, second = (self._shared.data[number] for number in self._pair)
        parts = take_rows(first, rows[:split], progress), take_rows(second, rows[split:] - size, progress)
        return np.concatenate(parts)
