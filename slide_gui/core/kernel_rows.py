"""Kernel rows that a solver asks for again, kept in as much memory as it may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.kernel import KernelRows
from slide_gui.core.svm_smo import single_disturbs
from slide_gui.progress import Progress

__all__ = ["KeptRows", "Room"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TILE = 256  # rows a matrix–vector product, summed in float64


class Room:
    """Memory for the kernel values of one problem after another: memory used before costs nothing to fill."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def floats(self, count: int, dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
        """Return room for so many values; what was returned before is overwritten."""
        size = count * dtype.itemsize
        if size > len(self._bytes):
            self._bytes = np.empty(0, np.uint8)  # not both at a time
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].view(dtype)


class KeptRows:
    """Kernel rows of all points, kept in as much memory as allowed.

    Parameters
    ----------
    source : KernelRows
        The kernel of the n points.
    store : ndarray of shape (capacity, n), of the source's dtype
        Where the rows are kept.
    tol : float
        Of the solver: sums that single precision would disturb by more are made in float64.
    progress : Progress
        The cancel point.
    """

    def __init__(self, source: KernelRows, store: NDArray[np.floating], tol: float, progress: Progress) -> None:
        self._source, self._store, self._tol, self._progress = source, store, tol, progress
        self._slot = np.full(len(source), -1)
        self._used = 0

    def keep_all(self) -> None:
        """Make the rows of all points at once, by halves; there must be room."""
        n = len(self._slot)
        every = np.arange(n)
        self._source.kernel(every, every, out=self._store[:n], progress=self._progress)
        self._slot[:], self._used = every, n

    def square(self, points: Indices, out: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the kernel among some points: from kept rows where there are any, computed where not."""
        kept = self._slot[points] >= 0
        if not kept.any():
            return self._source.kernel(points, points, out=out, progress=self._progress)
        old, new = np.flatnonzero(kept), np.flatnonzero(~kept)
        for top in range(0, len(old), _TILE):
            own = old[top : top + _TILE]
            values = np.take(self._store[self._slot[points[own]]], points, axis=1, mode="clip")
            out[own] = values
            out[np.ix_(new, own)] = values[:, new].T
            self._progress.report(0.0)
        if len(new):
            own_points = points[new]
            made = self._source.kernel(own_points, own_points, progress=self._progress)
            for top in range(0, len(new), _TILE):
                out[np.ix_(new[top : top + _TILE], new)] = made[top : top + _TILE]
                self._progress.report(0.0)
        return out

    def times(self, points: Indices, factors: Array, keep: Indices) -> Array:
        """Return Σ_p factor_p k(p, ·) over all points, keeping new rows while there is room.

        `keep` are the points whose rows stay when room has to be made.
        """
        new = points[self._slot[points] < 0]
        if self._used + len(new) > len(self._store):
            self._compact(np.union1d(keep, points))
        room = len(self._store) - self._used
        fresh, passing = new[:room], new[room:]
        if len(fresh):
            slots = slice(self._used, self._used + len(fresh))
            self._source.kernel(fresh, out=self._store[slots], progress=self._progress)
            self._slot[fresh] = np.arange(slots.start, slots.stop)
            self._used = slots.stop
        slots_of = self._slot[points]
        precision = np.float64 if single_disturbs(factors, self._tol) else self._store.dtype
        weights = np.zeros(self._used, dtype=precision)
        weights[slots_of[slots_of >= 0]] = factors[slots_of >= 0]
        total = np.zeros(len(self._slot))
        for top in range(0, self._used, _TILE):
            stop = min(top + _TILE, self._used)
            if weights[top:stop].any():
                total += weights[top:stop] @ self._store[top:stop].astype(precision, copy=False)
                self._progress.report(0.0)
        left = factors[slots_of < 0].astype(precision)
        for top in range(0, len(passing), _TILE):
            rows = self._source.kernel(passing[top : top + _TILE], progress=self._progress)
            total += left[top : top + _TILE] @ rows.astype(precision, copy=False)
        return total

    def _compact(self, keep: Indices) -> None:
        """Drop the rows of points that are not to be kept."""
        kept = keep[self._slot[keep] >= 0]
        kept = kept[np.argsort(self._slot[kept])]
        for target, point in enumerate(kept):  # in place: a row never moves behind one not yet moved
            self._store[target] = self._store[self._slot[point]]
            if target % _TILE == 0:
                self._progress.report(0.0)
        self._slot[:] = -1
        self._slot[kept] = np.arange(len(kept))
        self._used = len(kept)
