"""Smoothed error on points held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.criteria.evaluation import Evaluation, spread, subtract_symmetrised
from slide_gui.core.rows import square
from slide_gui.core.svm_newton import optimum
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["hold_out"]

Array = NDArray[np.float64]

_STEEPNESS = 5.0  # s of ½(1 + tanh(−s y f)), which stands for "y f < 0"


def hold_out(
    kernel: Array,
    y: Array,
    ridge: float,
    held_out: NDArray[np.bool_],
    *,
    start: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> Evaluation:
    """Return J = (1/m) Σ ½(1 + tanh(−s y f)) over the m points held out, f trained on the others, and its G.

    Parameters as in `radius_margin`, and

    held_out : ndarray of shape (n,), bool
        The points not trained on; both classes must remain among the others.
    """
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    inner = square(kernel, train, progress)
    svm = optimum(inner, y[train], ridge, start=None if start is None else start[train], progress=progress)
    beta = svm.beta[svm.active]
    active = train[svm.active]
    across = kernel[np.ix_(test, active)]
    labels = y[test]
    tanh = np.tanh(-_STEEPNESS * labels * (across @ beta + svm.bias))
    by_output = -(_STEEPNESS / (2.0 * len(test))) * labels * (1.0 - tanh**2)
    adjoint, _ = svm.system.solve(across.T @ by_output, float(by_output.sum()))
    inside = np.zeros((len(active), len(active)))
    subtract_symmetrised(inside, adjoint, beta, progress)
    gradient = spread(inside, active, len(y), progress)
    gradient[np.ix_(test, active)] = np.outer(by_output, beta)
    coefficients = np.zeros(len(y))
    coefficients[active] = beta
    return Evaluation(float(np.mean(0.5 * (1.0 + tanh))), gradient, coefficients, len(active))
