"""Leave-one-out squared error of kernel ridge regression on the labels: smooth, and one inverse for all classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import weighted_square
from slide_gui.core.criteria.evaluation import Evaluation, subtract_symmetrised
from slide_gui.core.svm_newton import bordered_inverse
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["press"]

Array = NDArray[np.float64]


def press(kernel: Array, targets: Array, ridge: float, *, progress: Progress = NO_PROGRESS) -> Evaluation:
    """Return J = mean r², r = β / diag A, A the top-left block of H⁻¹ over all points, β = A y; and its G.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K without the ridge.
    targets : ndarray of shape (n, k)
        One column of −1 and 1 for each one-vs-rest problem.
    ridge : float
        1/C.
    progress : Progress
        The cancel point.
    """
    n, columns = targets.shape
    inverse = bordered_inverse(kernel, np.arange(n), ridge, progress)
    diagonal = np.diag(inverse)[:, None]
    beta = inverse @ targets
    errors = beta / diagonal
    scale = n * columns
    adjoint = inverse @ (2.0 * errors / (scale * diagonal))
    weights = np.sum(2.0 * errors**2 / (scale * diagonal), axis=1)
    progress.report(0.0)
    gradient = weighted_square(inverse, weights, progress)
    subtract_symmetrised(gradient, adjoint, beta, progress)
    return Evaluation(float(np.mean(errors**2)), gradient, beta, n)
