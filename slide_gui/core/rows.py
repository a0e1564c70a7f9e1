"""Copies of large arrays in pieces, so that they can be cancelled: fresh memory costs up to 2 s a GB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["square", "taken"]

_PIECE_BYTES = 8 << 20


def taken(matrix: NDArray[Any], rows: NDArray[np.intp], progress: Progress = NO_PROGRESS) -> NDArray[Any]:
    """Return a copy of some rows.

    Parameters
    ----------
    matrix : ndarray or memmap of shape (n, d)
    rows : ndarray of int
        Each from 0 to n − 1.
    progress : Progress
        The cancel point.
    """
    out = np.empty((len(rows), *matrix.shape[1:]), matrix.dtype)
    step = max(1, _PIECE_BYTES // max(matrix.itemsize * int(np.prod(matrix.shape[1:])), 1))
    for start in range(0, len(rows), step):
        own = rows[start : start + step]
        np.take(matrix, own, axis=0, out=out[start : start + len(own)], mode="clip")
        progress.report(0.0)
    return out


def square(
    matrix: NDArray[np.floating], rows: NDArray[np.intp], progress: Progress = NO_PROGRESS
) -> NDArray[np.float64]:
    """Return a copy, in float64, of some rows and the same columns of a square matrix; parameters as in `taken`."""
    out = np.empty((len(rows), len(rows)))
    step = max(1, _PIECE_BYTES // (8 * max(len(rows), 1)))
    for start in range(0, len(rows), step):
        own = rows[start : start + step]
        out[start : start + len(own)] = matrix[np.ix_(own, rows)]
        progress.report(0.0)
    return out
