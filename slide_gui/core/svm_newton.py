"""L2-SVM by Newton's method with a line search on the primal objective, exact to float64: for learning widths.

With f = Kβ + b the objective is ½ βᵀKβ + (C/2) Σ max(0, 1 − y f)². On the active set A = {y f < 1} its minimum is
the solution of [K_A + 1/C, 1; 1ᵀ, 0] [β_A; b] = [y_A; 0], β = 0 elsewhere. The plain iteration can cycle between
active sets; an exact line search along the step makes it converge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import inverse_definite, solve_symmetric
from slide_gui.core.rows import square, taken
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "NewtonSolution",
    "NotConverged",
    "bordered",
    "bordered_inverse",
    "leave_one_out_outputs",
    "newton",
    "optimum",
]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MOST_STEPS = 60
_PART_FROM = 1000  # points from which a quarter is solved first
_SOFTER = 10.0
_TILE = 256


class NotConverged(ArithmeticError):
    """An SVM was not solved, so that nothing that follows from its optimum holds."""


@dataclass(frozen=True)
class NewtonSolution:
    """An L2-SVM at its optimum, if it converged.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        Signed dual coefficients y α, 0 outside `active`.
    bias : float
    active : ndarray of int
        The support vectors, y f < 1.
    ridge : float
        1/C as used on the diagonal: more than was asked if the system was singular.
    converged : bool
        Whether `beta` solves the system of its own active set; if not, it is the best point reached.
    """

    beta: Array
    bias: float
    active: Indices
    ridge: float
    converged: bool


def _softly(matrix: Array, solve: Callable[[Array], Array], progress: Progress) -> tuple[Array, float]:
    """Solve, raising the diagonal softly where the matrix is singular; return the solution and what was added."""
    added = 0.0
    while True:
        system = taken(matrix, np.arange(len(matrix)), progress)
        system.flat[:: len(matrix) + 1] += added
        progress.report(0.0)
        try:
            solution = solve(system)
            if np.isfinite(solution).all():
                return solution, added
        except np.linalg.LinAlgError:
            pass
        if added > 1e6:
            raise FloatingPointError("the kernel matrix is not finite; check the widths")
        added = max(added * _SOFTER, 1e-10)


def bordered(
    matrix: Array, right: Array, total: float = 0.0, progress: Progress = NO_PROGRESS
) -> tuple[Array, float, float]:
    """Solve [M 1; 1ᵀ 0] [x; b] = [right; total] for a symmetric positive definite M.

    Returns
    -------
    x : ndarray of shape (m,)
    b : float
    added : float
        What had to be added to the diagonal of a singular M; 0 as a rule.
    """
    columns = np.column_stack([right, np.ones(len(right))])
    both, added = _softly(matrix, lambda system: solve_symmetric(system, columns, progress), progress)
    b = float((both[:, 0].sum() - total) / both[:, 1].sum())
    return both[:, 0] - b * both[:, 1], b, added


def bordered_inverse(matrix: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the top-left block of [M 1; 1ᵀ 0]⁻¹, = M⁻¹ − M⁻¹11ᵀM⁻¹ / 1ᵀM⁻¹1, for symmetric positive definite M."""
    inverse, _ = _softly(matrix, lambda system: inverse_definite(system, progress), progress)
    ones = inverse.sum(axis=1)
    share = ones / ones.sum()
    for top in range(0, len(inverse), _TILE):
        own, rest = slice(top, top + _TILE), slice(top, None)
        tile = (inverse[own, rest] + inverse[rest, own].T) / 2.0 - np.outer(ones[own], share[rest])
        inverse[own, rest] = tile
        inverse[rest, own] = tile.T
        progress.report(0.0)
    return inverse


def newton(
    kernel: Array,
    y: Array,
    ridge: float,
    *,
    start: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> NewtonSolution:
    """Train an L2-SVM to float64 accuracy.

    Parameters
    ----------
    kernel : ndarray of shape (n, n), float64
        K without the ridge.
    y : ndarray of shape (n,)
        −1 or 1, both present.
    ridge : float
        1/C.
    start : ndarray of shape (n,), optional
        Signed dual coefficients of a neighbouring problem.
    progress : Progress
        The cancel point.
    """
    n = len(y)
    beta, bias = np.zeros(n), 0.0
    output = np.zeros(n)
    if start is not None and np.any(start):
        beta = np.array(start, dtype=np.float64)
        output = kernel @ beta
        inside = np.flatnonzero(beta)
        bias = float(np.mean((y - output - ridge * beta)[inside]))
        output += bias
    elif n >= _PART_FROM:
        part = np.sort(np.concatenate([np.flatnonzero(y > 0)[::4], np.flatnonzero(y < 0)[::4]]))
        first = newton(square(kernel, part, progress), y[part], ridge, progress=progress)
        beta[part], bias = first.beta, first.bias
        output = kernel @ beta + bias
    active = np.flatnonzero(y * output < 1.0)
    extra = 0.0
    for _ in range(_MOST_STEPS):
        progress.report(0.0)
        if not len(active):  # a start beyond every margin says nothing
            beta, bias, output, active = np.zeros(n), 0.0, np.zeros(n), np.arange(n)
        system = square(kernel, active, progress)
        system.flat[:: len(active) + 1] += ridge + extra
        part_beta, new_bias, added = bordered(system, y[active], progress=progress)
        extra += added
        target = np.zeros(n)
        target[active] = part_beta
        target_output = kernel @ target + new_bias
        now = np.flatnonzero(y * target_output < 1.0)
        if np.array_equal(now, active) or _settled(y * target_output - 1.0, active, now):
            return NewtonSolution(target, new_bias, active, ridge + extra, True)
        step = _line_search(beta, output, bias, target, target_output, new_bias, y, 1.0 / (ridge + extra))
        beta = beta + step * (target - beta)
        bias += step * (new_bias - bias)
        output = output + step * (target_output - output)
        active = np.flatnonzero(y * output < 1.0)
    return NewtonSolution(beta, bias, active, ridge + extra, False)


def optimum(
    kernel: Array,
    y: Array,
    ridge: float,
    *,
    start: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> NewtonSolution:
    """Train as `newton` does, for whoever needs the optimum itself, such as the derivative of a criterion there.

    Raises
    ------
    NotConverged
        If it was not reached.
    """
    found = newton(kernel, y, ridge, start=start, progress=progress)
    if not found.converged:
        raise NotConverged(f"an SVM of {len(y)} points did not converge in {_MOST_STEPS} Newton steps")
    return found


def _settled(margin: Array, active: Indices, now: Indices) -> bool:
    """Tell whether the two sets differ by points on the margin itself only, which have β = 0 to rounding."""
    changed = np.setxor1d(active, now, assume_unique=True)
    return bool(np.all(np.abs(margin[changed]) < 1e-10))


def _line_search(
    beta: Array, output: Array, bias: float, target: Array, target_output: Array, new_bias: float, y: Array, C: float
) -> float:
    """Return the step in (0, 1] that minimises the objective, whose slope along the line is piecewise linear."""
    change, rise = target - beta, target_output - output
    flat, flat_rise = output - bias, rise - (new_bias - bias)
    slope_0, slope_1 = float(change @ flat), float(change @ flat_rise)

    def slope(t: float) -> float:
        short = np.maximum(0.0, 1.0 - y * (output + t * rise))
        return slope_0 + t * slope_1 - C * float((short * y) @ rise)

    if slope(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        if high - low < 1e-6:
            break
    return high


def leave_one_out_outputs(kernel: Array, y: Array, solution: NewtonSolution) -> Array:
    """Return y_p f^(−p)(x_p) for every support vector, exact while the others remain the support vectors.

    It is 1 − y_p β_p / [H⁻¹]_pp, H the bordered matrix of the active set.
    """
    active = solution.active
    system = kernel[np.ix_(active, active)] + solution.ridge * np.eye(len(active))
    return np.asarray(1.0 - y[active] * solution.beta[active] / np.diag(bordered_inverse(system)))
