"""Train L2-SVMs to float64 accuracy by Newton's method on the primal objective; learning widths requires this accuracy.

For the kernel matrix K, labels y and f = Kβ + b, the objective is ½ βᵀKβ + (C/2) Σ max(0, 1 − y f)². If the active set
A = {y f < 1} is known, the minimum is the solution of [K_A + I/C, 1; 1ᵀ, 0] [β_A; b] = [y_A; 0], with β = 0 outside A.
Without a line search, the iteration may cycle endlessly between active sets. With an exact line search along each step,
it converges.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from slide_gui.core.linear_algebra import Array, Indices, at, factorised, inverse_definite, take_submatrix, tiles
from slide_gui.progress import NO_PROGRESS, Progress

_MOST_STEPS = 60
_PART_FROM = 1000  # smallest number of points for which the SVM is first trained on a quarter of the points
_SOFTER = 10.0
# A factorised matrix is reused for another set of points if few points are in only one of the two sets. This value is
# the largest number of such points, divided by the size of the matrix.
_FEW = 0.125
_MARGIN = 1e-10  # largest |1 − y f| of a point on the margin, for the label y and the SVM output f
_TILE = 256


class NotConverged(ArithmeticError):
    """Raised if an SVM does not converge. Criteria that are defined only for the optimal SVM are then unavailable."""


@dataclass(frozen=True)
class NewtonSolution:
    """Result of `newton`: an L2-SVM, which is optimal if the iteration converged.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        Signed dual coefficients y α, which are 0 outside `active`.
    bias : float
        Bias b of the decision function f = Kβ + b.
    active : ndarray of int
        Indices of the support vectors: the points with y f < 1.
    ridge : float or ndarray of shape (n,)
        Value 1/C that is added to the diagonal of the kernel matrix. If a linear system was singular, this value is
        larger than the requested one.
    system : Bordered
        The last linear system that was solved. If the iteration converged, it is the system of the points `active`.
    """

    beta: Array
    bias: float
    active: Indices
    ridge: Array | float
    system: "Bordered"


class Bordered:
    """The bordered system [K_A + r I, 1; 1ᵀ, 0] [x; b] = [v; total], where K_A is the kernel matrix of the points A.

    Only the matrix M = K_F + r I of some points F is factorised. Usually F = A. If F and A differ in a few points, the
    system is written as [M, U; Uᵀ, D] instead. U has one column of kernel values for each point that is only in A, and
    one unit vector for each point that is only in F. Its last column contains ones. The rows of Uᵀ that are unit
    vectors set the coefficients of the points that are only in F to 0. The system is then solved with the Schur
    complement D − UᵀM⁻¹U of M, which is small.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Kernel matrix K.
    points : ndarray of int, shape (m,)
        Sorted indices of the points A.
    ridge : float or ndarray of shape (n,)
        Ridge r on the diagonal. It is increased step by step while the system is singular.
    near : Bordered, optional
        Another system with the same kernel. If its factorised points F differ from A in few points, its factorisation
        and its ridge are used.
    progress : Progress
        Raises `Cancelled` to stop the computation.

    Attributes
    ----------
    ridge : float or ndarray of shape (n,)
        Ridge r that is used, including any increase.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the system is singular with the factorisation of `near`.
    """

    ridge: Array | float
    _factorised: Indices
    _solve: Callable[[Array, Progress], Array]

    def __init__(
        self,
        kernel: Array,
        points: Indices,
        ridge: Array | float,
        near: "Bordered | None" = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._progress = progress
        if near is not None and len(np.setxor1d(points, near._factorised)) <= _FEW * len(near._factorised):
            self._factorised, self._solve, self.ridge = near._factorised, near._solve, near.ridge
        else:
            self._factorised, ones = points, np.ones((len(points), 1))

            def factorise(system: Array) -> Array:
                self._solve = factorised(system, progress)
                return self._solve(ones, progress)

            _, added = _softly(kernel, points, at(ridge, points), factorise, progress)
            self.ridge = ridge + added
        new = np.setdiff1d(points, self._factorised)
        gone = np.flatnonzero(~np.isin(self._factorised, points))
        self._new, m, size = len(new), len(self._factorised), len(new) + len(gone) + 1
        self._border, corner = np.ones((m, size)), np.zeros((size, size))
        self._border[:, : len(new)] = kernel[np.ix_(self._factorised, new)]
        self._border[:, len(new) : -1] = np.arange(m)[:, None] == gone
        corner[: len(new), : len(new)] = kernel[np.ix_(new, new)] + np.diag(np.full(len(new), at(self.ridge, new)))
        corner[: len(new), -1] = corner[-1, : len(new)] = 1.0
        self._solved = self._solve(self._border, progress)
        self._schur = corner - self._border.T @ self._solved
        # Positions of the points A in a list that contains first the points F and then the points that are only in A.
        self._places = np.argsort(np.concatenate([self._factorised, new]), kind="stable")
        self._places = self._places[~np.isin(self._places, gone)]

    def solve(self, right: Array, total: float = 0.0) -> tuple[Array, float]:
        """Return the solution (x, b) of the system for the right-hand side [v; total], where v is `right`.

        Both x and v have the shape (m,).
        """
        m = len(self._factorised)
        values = np.zeros(m + self._new)
        values[self._places] = right
        small = np.zeros(len(self._schur))
        small[: self._new], small[-1] = values[m:], total
        x = self._solve(values[:m], self._progress)
        others = np.linalg.solve(self._schur, small - self._border.T @ x)
        x = np.concatenate([x - self._solved @ others, others[: self._new]])
        return x[self._places], float(others[-1])


def _softly(
    kernel: Array, points: Indices, diagonal: Array | float, solve: Callable[[Array], Array], progress: Progress
) -> tuple[Array, float]:
    """Call `solve` with the matrix K_A + diag(diagonal). If the matrix is singular, increase its diagonal and retry.

    Return the solution and the value by which the diagonal was increased.
    """
    added = 0.0
    while True:
        system = take_submatrix(kernel, points, progress)
        system.flat[:: len(points) + 1] += diagonal + added
        progress.report(0.0)
        try:
            solution = solve(system)
            if np.isfinite(solution).all():
                return solution, added
        except np.linalg.LinAlgError:
            pass
        if added > 1e6:
            raise FloatingPointError("the kernel matrix contains NaN or infinity; check the widths")
        added = max(added * _SOFTER, 1e-10)


def bordered_inverse(
    kernel: Array, points: Indices, diagonal: Array | float, progress: Progress = NO_PROGRESS
) -> Array:
    """Return the top-left m × m block of [M 1; 1ᵀ 0]⁻¹, where M = K_A + diag(diagonal).

    This block is M⁻¹ − M⁻¹11ᵀM⁻¹ / 1ᵀM⁻¹1.

    Parameters
    ----------
    kernel, points, progress
        Kernel matrix K, indices of the m points A, and progress, as in `Bordered`.
    diagonal : float or ndarray of shape (m,)
        Positive values that are added to the diagonal of K_A.
    """
    inverse, _ = _softly(kernel, points, diagonal, lambda system: inverse_definite(system, progress), progress)
    ones = inverse.sum(axis=1)
    scaled = ones / np.sqrt(ones.sum())
    for block in tiles(len(inverse), _TILE, progress):
        rest = slice(block.start, None)
        tile = inverse[block, rest]
        tile -= np.outer(scaled[block], scaled[rest])
        inverse[rest, block] = tile.T
    return inverse


def newton(
    kernel: Array,
    y: Array,
    ridge: Array | float,
    *,
    start: Array | None = None,
    optimal: bool = True,
    progress: Progress = NO_PROGRESS,
) -> NewtonSolution:
    """Train an L2-SVM to float64 accuracy.

    Parameters
    ----------
    kernel : ndarray of shape (n, n), float64
        Kernel matrix K, with ones on its diagonal.
    y : ndarray of shape (n,)
        Labels −1 or 1, both present.
    ridge : float or ndarray of shape (n,)
        1/C, as one value for all points or one value per point.
    start : ndarray of shape (n,), optional
        Signed dual coefficients of a similar problem. The iteration starts with its support vectors as the active set.
    optimal : bool
        True to raise an error if the iteration does not converge, False to return the last iterate instead.
    progress : Progress
        Raises `Cancelled` to stop the computation.

    Raises
    ------
    NotConverged
        If the iteration does not converge and `optimal` is True.
    """
    n = len(y)
    if start is not None and np.any(start):
        active = np.flatnonzero(start)
    elif n >= _PART_FROM:
        part = np.sort(np.concatenate([np.flatnonzero(y > 0)[::4], np.flatnonzero(y < 0)[::4]]))
        inner = take_submatrix(kernel, part, progress)
        first = newton(inner, y[part], at(ridge, part), optimal=False, progress=progress)
        active = np.flatnonzero(y * (kernel[:, part[first.active]] @ first.beta[first.active] + first.bias) < 1.0)
    else:
        active = np.arange(n)
    now: _Point | None = None
    near: Bordered | None = None
    for _ in range(_MOST_STEPS):
        progress.report(0.0)
        if not len(active):  # start with all points, because the starting solution has no active points
            now, active = None, np.arange(n)
        system, target = _solved(kernel, active, y, ridge, near, progress)
        near, ridge = system, system.ridge
        short = y * target.output < 1.0
        if _settled(y * target.output - 1.0, active, np.flatnonzero(short)):
            return NewtonSolution(target.beta, target.bias, active, ridge, system)
        now = target if now is None else now.towards(target, y, ridge)
        active = np.flatnonzero(y * now.output < 1.0)
    if optimal:
        raise NotConverged(f"an SVM of {n} points did not converge in {_MOST_STEPS} Newton steps")
    assert now is not None
    return NewtonSolution(now.beta, now.bias, active, ridge, system)


@dataclass(frozen=True)
class _Point:
    """An iterate of `newton`: coefficients β and bias b of an SVM, and its outputs Kβ + b at all points."""

    beta: Array
    bias: float
    output: Array

    @classmethod
    def of(cls, kernel: Array, active: Indices, coefficients: Array, bias: float) -> "_Point":
        beta = np.zeros(len(kernel))
        beta[active] = coefficients
        return cls(beta, bias, kernel @ beta + bias)

    def towards(self, target: "_Point", y: Array, ridge: Array | float) -> "_Point":
        """Return the iterate with the smallest objective on the line segment from this iterate to the target."""
        step = _line_search(self, target, y, ridge)
        return _Point(
            self.beta + step * (target.beta - self.beta),
            self.bias + step * (target.bias - self.bias),
            self.output + step * (target.output - self.output),
        )


def _solved(
    kernel: Array, active: Indices, y: Array, ridge: Array | float, near: Bordered | None, progress: Progress
) -> tuple[Bordered, _Point]:
    """Build and solve the linear system of the active points. Return the system and its solution, a Newton iterate.

    The factorisation of an earlier system, `near`, is reused if it gives an accurate solution.
    """
    if near is not None:
        try:
            system = Bordered(kernel, active, ridge, near, progress)
            point = _Point.of(kernel, active, *system.solve(y[active]))
        except np.linalg.LinAlgError:
            pass
        else:
            errors = point.output[active] + at(ridge, active) * point.beta[active] - y[active]
            rounding = 10.0 * float(np.finfo(np.float64).eps * np.abs(point.beta).sum())
            if np.abs(np.append(errors, point.beta.sum())).max() < _MARGIN + rounding:
                return system, point
    system = Bordered(kernel, active, ridge, progress=progress)
    return system, _Point.of(kernel, active, *system.solve(y[active]))


def _settled(margin: Array, active: Indices, now: Indices) -> bool:
    """Return True if `active` and `now`, two active sets, differ only in points on the margin (β ≈ 0)."""
    return bool(np.all(np.abs(margin[np.setxor1d(active, now)]) < _MARGIN))


def _line_search(now: _Point, target: _Point, y: Array, ridge: Array | float) -> float:
    """Return the step in (0, 1] from `now` to `target` that minimises the objective, by bisection on its slope."""
    largest = np.max(ridge)
    # The penalty for errors of point i is 1 / ridge[i]: the product of C and the relative weight max(ridge) / ridge[i].
    C, loss = 1.0 / largest, y * (largest / ridge)
    change, rise = target.beta - now.beta, target.output - now.output
    flat, flat_rise = now.output - now.bias, rise - (target.bias - now.bias)
    slope_0, slope_1 = float(change @ flat), float(change @ flat_rise)

    def slope(t: float) -> float:
        short = np.maximum(0.0, 1.0 - y * (now.output + t * rise))
        return slope_0 + t * slope_1 - C * float((short * loss) @ rise)

    if slope(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
        if high - low < 1e-6:
            break
    return high
