"""Criteria that can be minimised to learn the kernel widths, and their gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.linear_algebra import Array, Indices, at, take_submatrix, tiles, weighted_square
from slide_gui.core.svm.newton import bordered_inverse, newton
from slide_gui.progress import NO_PROGRESS, Progress

_TILE = 256


@dataclass(frozen=True)
class Evaluation:
    """Value and gradient of a criterion, computed for one kernel matrix.

    Attributes
    ----------
    value : float
        Criterion J.
    gradient : ndarray of shape (n, n)
        G = ∂J/∂K̃, where K̃ is the kernel matrix K with 1/C added to its diagonal. Every entry of K̃ is treated as an
        independent variable.
    beta : ndarray
        Signed dual coefficients y α. The solver can start from these values if it is called next with a similar kernel.
    n_support : int
        Number of support vectors.
    """

    value: float
    gradient: Array
    beta: Array
    n_support: int


def subtract_symmetrised(matrix: Array, a: Array, b: Array, progress: Progress = NO_PROGRESS) -> None:
    """Subtract (a bᵀ + b aᵀ)/2 from a matrix in place; `a` and `b` are two vectors, or two matrices of equal shape."""
    a, b = a.reshape(len(matrix), -1), b.reshape(len(matrix), -1)
    for tile in tiles(len(matrix), _TILE, progress):
        matrix[tile] -= (a[tile] @ b.T + b[tile] @ a.T) / 2.0


def spread(matrix: Array, places: Indices, n: int, progress: Progress = NO_PROGRESS) -> Array:
    """Return an n × n matrix with the entries of `matrix` in the rows and columns `places`, and 0 elsewhere."""
    whole = np.zeros((n, n))
    for tile in tiles(len(places), _TILE, progress):
        whole[np.ix_(places[tile], places)] = matrix[tile]
    return whole


# Constant s in the smoothed error ½(1 + tanh(−s y f)) of an output f for the label y. Without smoothing, the error is 1
# if y f < 0, and 0 otherwise.
_STEEPNESS = 5.0


def relative(weights: Array | None) -> Array | float:
    """Return the weights, divided by the mean weight, or 1 if `weights` is None."""
    return 1.0 if weights is None else weights / weights.mean()


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """A classification problem on a kernel matrix.

    Attributes
    ----------
    kernel : ndarray of shape (n, n)
        Kernel matrix K, with ones on its diagonal.
    y : ndarray of shape (n,) or (n, k)
        Labels −1 and 1. Criteria for any number of classes need a matrix with one column per one-vs-rest problem.
    ridge : float
        Value 1/C that is added to the diagonal of K.
    weights : ndarray of shape (n,), optional
        Weights of the points. For each point, C is multiplied by its weight.
    held_out : ndarray of bool, shape (n,), optional
        True for held-out points. The points that are not held out must include both classes.
    start : ndarray of shape (n,), optional
        Signed dual coefficients for a similar kernel, from which the solver starts.
    progress : Progress
        Raises `Cancelled` to stop the computation.
    """

    kernel: Array
    y: Array
    ridge: float
    weights: Array | None = None
    held_out: NDArray[np.bool_] | None = None
    start: Array | None = None
    progress: Progress = NO_PROGRESS

    @property
    def ridges(self) -> Array | float:
        """The values 1/(C wᵢ) that are added to the diagonal of K, where wᵢ is the weight of point i."""
        return self.ridge if self.weights is None else self.ridge / self.weights


def hold_out(problem: KernelProblem) -> Evaluation:
    """Return the smoothed error on the held-out points and its gradient G (see `Evaluation`).

    The criterion is J = (1/m) Σ ½(1 + tanh(−s y f)) over the m held-out points, with labels y and the constant s
    (`_STEEPNESS`). The decision function f is trained on the points that are not held out. With weights, J is the
    weighted mean.

    Raises
    ------
    ValueError
        If no point is held out.
    """
    kernel, y, weights, held_out, start = problem.kernel, problem.y, problem.weights, problem.held_out, problem.start
    if held_out is None or not held_out.any():
        raise ValueError("the hold-out criterion needs a held-out row in every pair of classes; use another criterion")
    progress, train, test = problem.progress, np.flatnonzero(~held_out), np.flatnonzero(held_out)
    inner, diagonal = take_submatrix(kernel, train, progress), at(problem.ridges, train)
    svm = newton(inner, y[train], diagonal, start=None if start is None else start[train], progress=progress)
    beta = svm.beta[svm.active]
    active = train[svm.active]
    across = kernel[np.ix_(test, active)]
    labels = y[test]
    tanh = np.tanh(-_STEEPNESS * labels * (across @ beta + svm.bias))
    share = relative(None if weights is None else weights[test])
    by_output = -(_STEEPNESS / (2.0 * len(test))) * labels * (1.0 - tanh**2) * share
    adjoint, _ = svm.system.solve(across.T @ by_output, float(by_output.sum()))
    inside = np.zeros((len(active), len(active)))
    subtract_symmetrised(inside, adjoint, beta, progress)
    gradient = spread(inside, active, len(y), progress)
    gradient[np.ix_(test, active)] = np.outer(by_output, beta)
    coefficients = np.zeros(len(y))
    coefficients[active] = beta
    return Evaluation(float(np.mean(0.5 * (1.0 + tanh) * share)), gradient, coefficients, len(active))


def press(problem: KernelProblem) -> Evaluation:
    """Return the mean squared leave-one-out error of kernel ridge regression and its gradient G (see `Evaluation`).

    In statistics, the sum of these squared errors is called PRESS (predicted residual error sum of squares).

    The labels y are the targets of the regression. The criterion is J = mean r² with the leave-one-out residuals
    r = β / diag A and the coefficients β = A y. A is the top-left n × n block of H⁻¹, where H = [K̃ 1; 1ᵀ 0] with K̃ as
    in `Evaluation`. Weights apply both to the squared errors of the regression and to the mean of r².
    """
    (n, columns), weights, progress = problem.y.shape, problem.weights, problem.progress
    share = relative(None if weights is None else weights[:, None])
    inverse = bordered_inverse(problem.kernel, np.arange(n), problem.ridges, progress)
    diagonal = np.diag(inverse)[:, None]
    beta = inverse @ problem.y
    errors = beta / diagonal
    scale = n * columns
    adjoint = inverse @ (2.0 * errors / (scale * diagonal) * share)
    by_diagonal = np.sum(2.0 * errors**2 / (scale * diagonal) * share, axis=1)
    progress.report(0.0)
    gradient = weighted_square(inverse, by_diagonal, progress)
    subtract_symmetrised(gradient, adjoint, beta, progress)
    return Evaluation(float(np.mean(errors**2 * share)), gradient, beta, n)


def radius_margin(problem: KernelProblem) -> Evaluation:
    """Return the radius-margin criterion and its gradient G (see `Evaluation`).

    The criterion is J = R² ‖w‖² / n, where 1/‖w‖² is the squared margin of an L2-SVM with the weight vector w. The
    squared radius R² = 1 + 1/C − mean(K̃) is the mean squared distance of the points from their mean in the feature
    space of the kernel. For the labels y and the signed dual coefficients β, ‖w‖² = yᵀβ. The gradient is
    G = [‖w‖²(I/n − 11ᵀ/n²) − R²ββᵀ] / n. K̃ is defined in `Evaluation`. The criterion is a bound on the fraction of
    misclassified points and is not defined with weights.

    Raises
    ------
    ValueError
        If weights are given.
    """
    if problem.weights is not None:
        raise ValueError(
            "the radius-margin criterion bounds the number of misclassified points and is not defined with weights; "
            "choose span, hold-out or press, or leave the weights out"
        )
    kernel, y, n = problem.kernel, problem.y, len(problem.y)
    svm = newton(kernel, y, problem.ridge, start=problem.start, progress=problem.progress)
    squared_norm = float(y @ svm.beta)
    squared_radius = 1.0 + float(svm.ridge) - (float(kernel.mean()) + float(svm.ridge) / n)
    problem.progress.report(0.0)
    gradient = np.outer(svm.beta * (-squared_radius / n), svm.beta)
    gradient -= squared_norm / n**3
    gradient.flat[:: n + 1] += squared_norm / n**2
    return Evaluation(squared_radius * squared_norm / n, gradient, svm.beta, len(svm.active))


_SMOOTHING = 0.1  # η in `span`; with η > 0, the criterion changes continuously when a point leaves the active set
_LEAST = 1e-10


def span(problem: KernelProblem) -> Evaluation:
    """Return the smoothed leave-one-out error of an L2-SVM and its gradient G (see `Evaluation`).

    The error is estimated from the span of each support vector. The support vectors are the active set, and G is zero
    outside this set. Let H = [K̃ 1; 1ᵀ 0] for the points of the active set, with K̃ as in `Evaluation`. Let β be the
    signed dual coefficients, y the labels, and Δ = η/|β| with the constant η (`_SMOOTHING`). With the top-left block A
    of (H + diag(Δ, 0))⁻¹, the smoothed squared spans are S = 1/diag A − Δ. The leave-one-out outputs, times the labels,
    are o = 1 − y β S. The criterion is J = (1/n) Σ ½(1 + tanh(−s o)) with the constant s (`_STEEPNESS`). With weights,
    J is the weighted mean. Leaving out a point removes it entirely, whatever its weight.
    """
    kernel, y, n, progress = problem.kernel, problem.y, len(problem.y), problem.progress
    svm = newton(kernel, y, problem.ridges, start=problem.start, progress=progress)
    active = svm.active
    share = at(relative(problem.weights), active)
    beta, labels = svm.beta[active], y[active]
    size = np.maximum(np.abs(beta), _LEAST)
    inverse = bordered_inverse(kernel, active, at(svm.ridge, active) + _SMOOTHING / size, progress)
    diagonal = np.diag(inverse)
    spans = 1.0 / diagonal - _SMOOTHING / size
    outputs = 1.0 - labels * beta * spans
    tanh = np.tanh(-_STEEPNESS * outputs)

    slope = -(_STEEPNESS / (2.0 * n)) * (1.0 - tanh**2) * share
    by_span = -slope * labels * beta
    # `by_span` is the derivative of the criterion with respect to the squared spans. Apart from rounding errors, it is
    # at least 0, because `slope` is negative and each β has the sign of its label. Negative values are therefore
    # replaced by 0.
    weighted = weighted_square(inverse, np.maximum(by_span, 0.0) / diagonal**2, progress)
    by_beta = -slope * labels * spans
    by_beta -= (np.diag(weighted) - by_span) * _SMOOTHING * np.sign(beta) / size**2
    adjoint, _ = svm.system.solve(by_beta)
    subtract_symmetrised(weighted, adjoint, beta, progress)
    gradient = spread(weighted, active, n, progress)
    return Evaluation(float(np.sum(0.5 * (1.0 + tanh) * share) / n), gradient, svm.beta, len(active))


@dataclass(frozen=True)
class Criterion(Choice):
    """A criterion that is minimised to learn the widths.

    Attributes
    ----------
    evaluate : callable
        Function that takes a `KernelProblem` and returns the value and the gradient.
    any_classes : bool
        True if the criterion accepts one column of labels per class. False if it is defined for two classes only.
    holds_out : bool
        True if the criterion uses held-out points. In this case, at least one class must have two or more rows.
    """

    evaluate: Callable[[KernelProblem], Evaluation]
    any_classes: bool = False
    holds_out: bool = False


CRITERIA = table_of(
    Criterion("radius-margin", "radius-margin", "the bound R²‖w‖²/n on the error (radius over margin)", radius_margin),
    Criterion(
        "span",
        "span (leave-one-out error)",
        "the leave-one-out error, estimated from support vector spans (suited to two classes at high noise levels)",
        span,
    ),
    Criterion("hold-out", "hold-out", "the smoothed error on a held-out fifth of the rows", hold_out, holds_out=True),
    Criterion(
        "press",
        "press (regression error)",
        "the squared leave-one-out error of kernel ridge regression (one matrix inverse suffices for all classes)",
        press,
        any_classes=True,
    ),
)

AUTO = "auto"

# The allowed values of the parameter `criterion` of a multi-width SVM.
LEARNED_BY = table_of(
    Choice(AUTO, "automatic", "span for two classes, press for more than two"),
    *CRITERIA.values(),
)


def resolved(criterion: str, n_classes: int) -> str:
    """Return the criterion, with "auto" replaced by "span" for two classes and by "press" for more than two.

    Raises
    ------
    ValueError
        If the criterion is unknown.
    """
    check_choice("criterion", criterion, LEARNED_BY)
    automatic = "span" if n_classes == 2 else "press"
    return automatic if criterion == AUTO else criterion


def evaluate(
    criterion: str,
    kernel: Array,
    codes: Indices,
    ridge: float,
    held_out: NDArray[np.bool_],
    starts: dict[tuple[int, int], Array] | None = None,
    progress: Progress = NO_PROGRESS,
    *,
    weights: Array | None = None,
) -> Evaluation:
    """Return the value and the gradient of a criterion for any number of classes.

    A criterion that accepts any number of classes receives one column of labels per class, or a single column if there
    are two classes. With any other criterion and more than two classes, the result is the mean over the one-vs-one
    problems.

    Parameters
    ----------
    criterion : str
        Key of `CRITERIA`.
    kernel : ndarray of shape (n, n)
        Kernel matrix K, with ones on its diagonal.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1.
    ridge : float
        Value 1/C that is added to the diagonal of K.
    held_out : ndarray of bool, shape (n,)
        True for held-out points. Criteria that do not hold out points ignore it.
    starts : dict, optional
        Signed dual coefficients of each pair of classes for a similar kernel, from which the solver starts. They are
        replaced by the new coefficients.
    progress : Progress
        Raises `Cancelled` to stop the computation.
    weights : ndarray of shape (n,), optional
        Positive weights of the points.

    Raises
    ------
    ValueError
        If the criterion is unknown, if it needs held-out points and a pair of classes has none, or if weights are
        given to a criterion that is not defined with weights.
    """
    chosen = check_choice("criterion", criterion, CRITERIA)
    n_classes = int(codes.max()) + 1
    if chosen.any_classes:
        columns = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        columns = columns[:, 1:] if n_classes == 2 else columns
        return chosen.evaluate(KernelProblem(kernel, columns, ridge, weights, progress=progress))
    starts = {} if starts is None else starts
    pairs = list(combinations(range(n_classes), 2))
    value, support, gradient = 0.0, 0, np.zeros(kernel.shape)
    for pair in pairs:
        members = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
        part = kernel if len(pairs) == 1 else kernel[np.ix_(members, members)]
        y = np.where(codes[members] == pair[1], 1.0, -1.0)
        some = None if weights is None else weights[members]
        evaluation = chosen.evaluate(KernelProblem(part, y, ridge, some, held_out[members], starts.get(pair), progress))
        starts[pair] = evaluation.beta
        if len(pairs) == 1:
            return evaluation
        value += evaluation.value / len(pairs)
        support += evaluation.n_support
        gradient[np.ix_(members, members)] += evaluation.gradient / len(pairs)
    return Evaluation(value, gradient, evaluation.beta, support)
