"""Leave-one-out error by the span of the support vectors, smoothed (Chapelle, Vapnik, Bousquet and Mukherjee)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import weighted_square
from slide_gui.core.criteria.evaluation import Evaluation, spread, subtract_symmetrised
from slide_gui.core.svm_newton import bordered_inverse, optimum
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["span"]

Array = NDArray[np.float64]

_SMOOTHING = 0.1  # η: points about to leave the active set leave it gradually
_STEEPNESS = 5.0  # s of ½(1 + tanh(−s o)), which stands for "o < 0"
_LEAST = 1e-10


def span(
    kernel: Array, y: Array, ridge: float, *, start: Array | None = None, progress: Progress = NO_PROGRESS
) -> Evaluation:
    """Return the smoothed leave-one-out error and its G, zero outside the active set.

    With Δ = η/|β|, A the top-left block of (H + diag(Δ, 0))⁻¹ and S = 1/diag A − Δ, the outputs left out are
    o = 1 − y β S and J = (1/n) Σ ½(1 + tanh(−s o)). Parameters as in `radius_margin`.
    """
    n = len(y)
    svm = optimum(kernel, y, ridge, start=start, progress=progress)
    active = svm.active
    beta, labels = svm.beta[active], y[active]
    size = np.maximum(np.abs(beta), _LEAST)
    inverse = bordered_inverse(kernel, active, svm.ridge + _SMOOTHING / size, progress)
    diagonal = np.diag(inverse)
    spans = 1.0 / diagonal - _SMOOTHING / size
    outputs = 1.0 - labels * beta * spans
    tanh = np.tanh(-_STEEPNESS * outputs)

    slope = -(_STEEPNESS / (2.0 * n)) * (1.0 - tanh**2)
    by_span = -slope * labels * beta
    weighted = weighted_square(inverse, by_span / diagonal**2, progress)
    by_beta = -slope * labels * spans
    by_beta -= (np.diag(weighted) - by_span) * _SMOOTHING * np.sign(beta) / size**2
    adjoint, _ = svm.system.solve(by_beta)
    subtract_symmetrised(weighted, adjoint, beta, progress)
    gradient = spread(weighted, active, n, progress)
    return Evaluation(float(np.sum(0.5 * (1.0 + tanh)) / n), gradient, svm.beta, len(active))
