"""What a criterion answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Evaluation", "spread", "subtract_symmetrised"]

Array = NDArray[np.float64]

_TILE = 256


@dataclass(frozen=True)
class Evaluation:
    """A criterion at one kernel.

    Attributes
    ----------
    value : float
        J.
    gradient : ndarray of shape (n, n)
        G = ∂J/∂K̃, every entry of K̃ = K + 1/C taken as a variable of its own.
    beta : ndarray
        Signed dual coefficients, a start for a neighbouring kernel.
    n_support : int
        Support vectors.
    """

    value: float
    gradient: Array
    beta: Array
    n_support: int


def subtract_symmetrised(matrix: Array, a: Array, b: Array, progress: Progress = NO_PROGRESS) -> None:
    """Take sym(a bᵀ) = (a bᵀ + b aᵀ)/2 off a matrix in place, for two vectors or two matrices of columns."""
    a, b = a.reshape(len(matrix), -1), b.reshape(len(matrix), -1)
    for top in range(0, len(matrix), _TILE):
        own = slice(top, top + _TILE)
        matrix[own] -= (a[own] @ b.T + b[own] @ a.T) / 2.0
        progress.report(0.0)


def spread(matrix: Array, places: NDArray[np.intp], n: int, progress: Progress = NO_PROGRESS) -> Array:
    """Return an (n, n) matrix with the given one in these rows and columns, and 0 elsewhere."""
    whole = np.zeros((n, n))
    for top in range(0, len(places), _TILE):
        whole[np.ix_(places[top : top + _TILE], places)] = matrix[top : top + _TILE]
        progress.report(0.0)
    return whole
