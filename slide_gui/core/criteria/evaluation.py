"""What a criterion answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evaluation", "symmetrised"]

Array = NDArray[np.float64]


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


def symmetrised(a: Array, b: Array) -> Array:
    """Return sym(a bᵀ) = (a bᵀ + b aᵀ)/2 for two vectors, or for two matrices of columns."""
    product = np.outer(a, b) if a.ndim == 1 else a @ b.T
    return np.asarray((product + product.T) / 2.0)
