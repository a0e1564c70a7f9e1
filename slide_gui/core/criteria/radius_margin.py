"""Radius over margin: J = R²·‖w‖²/n, R² the variance in feature space (smooth; the package says where it fails)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.criteria.evaluation import Evaluation
from slide_gui.core.svm_newton import optimum
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["radius_margin"]

Array = NDArray[np.float64]


def radius_margin(
    kernel: Array, y: Array, ridge: float, *, start: Array | None = None, progress: Progress = NO_PROGRESS
) -> Evaluation:
    """Return J = R² yᵀβ / n, R² = 1 + 1/C − mean(K̃), and G = [‖w‖² (1/n − 11ᵀ/n²) − R² ββᵀ] / n.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K without the ridge.
    y : ndarray of shape (n,)
        −1 or 1.
    ridge : float
        1/C.
    start : ndarray of shape (n,), optional
        Coefficients of a neighbouring kernel.
    progress : Progress
        The cancel point.
    """
    n = len(y)
    svm = optimum(kernel, y, ridge, start=start, progress=progress)
    squared_norm = float(y @ svm.beta)
    squared_radius = 1.0 + svm.ridge - (float(kernel.mean()) + svm.ridge / n)
    progress.report(0.0)
    gradient = np.outer(svm.beta * (-squared_radius / n), svm.beta)
    gradient -= squared_norm / n**3
    gradient.flat[:: n + 1] += squared_norm / n**2
    return Evaluation(squared_radius * squared_norm / n, gradient, svm.beta, len(svm.active))
