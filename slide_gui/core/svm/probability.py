"""Probabilities of classes from margins: a sigmoid for each pair of classes, and their coupling for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import take_rows
from slide_gui.core.svm.model import SvmModel, train
from slide_gui.core.svm.pairs import pairs_of
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import stratified_folds
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress, Stage

__all__ = ["class_probabilities", "fit_sigmoid", "fit_sigmoids", "folds_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FOLDS = 5
_MOST_STEPS = 100
_SMALLEST_STEP = 1e-10
_FLAT = 1e-5  # gradient at which the sigmoid is the best
_CERTAIN = 1e-7  # no pair of classes is told apart with more than this certainty
_BLOCK_VALUES = 4_000_000  # of the systems solved at a time


def folds_of(codes: Indices, seed: int) -> Indices:
    """Return the fold of each row, of five; ValueError where a class has fewer than two rows."""
    return stratified_folds(codes, _FOLDS, seed)


def fit_sigmoids(
    Z: NDArray[np.floating],
    codes: Indices,
    folds: Indices,
    model: SvmModel,
    parameters: SvmParameters,
    *,
    weights: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> tuple[Array, Array]:
    """Return A and B of 1 / (1 + exp(A f + B)) for each pair of classes, fitted to margins f of cross-validation.

    The widths and C are those of the model; each fold gets its margins from an SVM trained on the others.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    codes, folds : ndarray of int, shape (n,)
    model : SvmModel
        Trained on all of them.
    weights : ndarray of shape (n,), optional
        Positive, of the rows.

    Returns
    -------
    A, B : ndarray of shape (n_pairs,)
        In the order of `pairs_of`; the probability is that of the second class.
    """
    steady = MonotonicProgress(progress)
    pairs = pairs_of(model.n_classes)
    margins = np.empty((len(codes), len(pairs)))
    ones, widths = np.ones(len(model.widths)), np.asarray(model.widths)
    for fold in range(_FOLDS):
        steady.report(fold / _FOLDS, Stage("margins of held-out rows", fold, _FOLDS))
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(outside):
            continue
        fitted = take_rows(Z, inside, steady.pulse), codes[inside], model.embedding.sizes, widths, model.C, parameters
        some = None if weights is None else weights[inside]
        trained = train(*fitted, medians=ones, weights=some, exact=False, progress=steady.pulse)
        margins[outside] = trained.margins(take_rows(Z, outside, steady.pulse), progress=steady.pulse)
    sigmoids = []
    for column, pair in enumerate(pairs):
        members = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
        some = None if weights is None else weights[members]
        sigmoids.append(fit_sigmoid(margins[members, column], codes[members] == pair[1], some))
        steady.pulse.report(0.0)
    slopes, offsets = np.array(sigmoids).T
    return slopes, offsets


def fit_sigmoid(margins: Array, second: NDArray[np.bool_], weights: Array | None = None) -> tuple[float, float]:
    """Return A and B that make 1 / (1 + exp(A f + B)) most likely, by Newton's method with a line search.

    Platt's targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) take the place of 1 and 0, with sums of weights for the n. The loss
    is convex; it is computed as Lin, Lin and Weng (2007) do, without cancellation.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        f.
    second : ndarray of bool, shape (n,)
        Whether a row is of the class on the positive side.
    weights : ndarray of shape (n,), optional
        Of the rows.
    """
    w = np.ones(len(margins)) if weights is None else weights
    positive, negative = float(w[second].sum()), float(w[~second].sum())
    targets = np.where(second, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))

    def loss(a: float, b: float) -> float:
        z = a * margins + b
        return float(w @ (targets * z + np.logaddexp(0.0, -z)))

    a, b = 0.0, float(np.log((negative + 1.0) / (positive + 1.0)))
    value = loss(a, b)
    for _ in range(_MOST_STEPS):
        probability = 0.5 * (1.0 - np.tanh(0.5 * (a * margins + b)))
        error, curvature = w * (targets - probability), w * probability * (1.0 - probability)
        gradient = np.array([error @ margins, error.sum()])
        if np.abs(gradient).max() < _FLAT:
            break
        mixed = float(curvature @ margins)
        hessian = np.array([[float(curvature @ margins**2), mixed], [mixed, float(curvature.sum())]])
        hessian.flat[::3] += 1e-12
        direction = -np.linalg.solve(hessian, gradient)
        slope, step = float(gradient @ direction), 1.0
        while step >= _SMALLEST_STEP:
            trial = loss(a + step * direction[0], b + step * direction[1])
            if trial < value + 1e-4 * step * slope:
                a, b, value = a + step * float(direction[0]), b + step * float(direction[1]), trial
                break
            step /= 2.0
        else:
            break
    return a, b


def class_probabilities(margins: Array, slopes: Array, offsets: Array, n_classes: int) -> Array:
    """Return the probability of each class from the margins of all pairs.

    Of more than two classes it is p with the least Σ_{i≠j} (r_ji p_i − r_ij p_j)² that adds up to 1, with r_ij the
    probability of i against j (Wu, Lin and Weng 2004, their second method): one linear system a row.

    Parameters
    ----------
    margins : ndarray of shape (n, n_pairs)
        In the order of `pairs_of`.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows add up to 1.
    """
    second = np.clip(0.5 * (1.0 - np.tanh(0.5 * (margins * slopes + offsets))), _CERTAIN, 1.0 - _CERTAIN)
    if n_classes == 2:
        return np.column_stack([1.0 - second[:, 0], second[:, 0]])
    probabilities = np.empty((len(margins), n_classes))
    step = max(1, _BLOCK_VALUES // (n_classes + 1) ** 2)
    for top in range(0, len(margins), step):
        some = second[top : top + step]
        system = np.zeros((len(some), n_classes + 1, n_classes + 1))
        system[:, :-1, -1] = system[:, -1, :-1] = 1.0
        for column, (i, j) in enumerate(pairs_of(n_classes)):
            of_j, of_i = some[:, column], 1.0 - some[:, column]
            system[:, i, j] = system[:, j, i] = -of_i * of_j
            system[:, i, i] += of_j**2
            system[:, j, j] += of_i**2
        right = np.zeros((len(some), n_classes + 1, 1))
        right[:, -1] = 1.0
        solved = np.linalg.solve(system, right)[:, :-1, 0]
        probabilities[top : top + step] = np.maximum(solved, 0.0)
    return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))
