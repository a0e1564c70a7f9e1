"""Train two-class SVMs on a small, precomputed kernel matrix.

The solver takes steps of sequential minimal optimisation (SMO). Near the optimum it tries an active-set method.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices, at, solver, take_submatrix, tiles
from slide_gui.progress import NO_PROGRESS, Progress

_STRIDE = 1000  # number of SMO steps between two progress reports; these steps take 15–30 ms
_GAP_STRIDE = 16
_MOST_RATES = 1024
_TILE = 256
# Value that is added to the curvature (K_ii + K_jj)/2 − K_ij of a step on points i and j, for each data type of the
# kernel matrix K. Without this value, the curvature would be 0 for two equal points.
_CURVATURE = {"f": 1e-6, "d": 1e-10}


@dataclass(frozen=True)
class Box:
    """Bounds of the signed dual coefficients β_i = y_i α_i, and the ridge on the diagonal of the kernel matrix.

    The loss and C determine the bounds and the ridge.

    Attributes
    ----------
    lower, upper : ndarray of shape (n,)
        Bounds of β: 0 ≤ y β ≤ C w for the hinge loss, where w is the weight of the point, and 0 ≤ y β for the squared
        hinge loss.
    ridge : float or ndarray of shape (n,)
        Values that are added to the diagonal of the kernel matrix: 1/(C w) for the squared hinge loss, and 0 for the
        hinge loss.
    """

    lower: Array
    upper: Array
    ridge: Array | float = 0.0

    @classmethod
    def of(cls, y: Array, limit: Array | float, ridge: Array | float = 0.0) -> "Box":
        """Return a `Box` with the bounds 0 ≤ y β ≤ limit and the given ridge."""
        return cls(np.where(y > 0, 0.0, -limit), np.where(y > 0, limit, 0.0), ridge)

    def take(self, rows: Indices) -> "Box":
        """Return a `Box` with the bounds and the ridge of the points `rows` only."""
        return Box(self.lower[rows], self.upper[rows], at(self.ridge, rows))


def kkt_gap(residual: Array, beta: Array, box: Box) -> tuple[float, float]:
    """Return the largest violation of the optimality conditions, and the bias.

    Parameters
    ----------
    residual : ndarray of shape (n,)
        Residuals r = y − K̃β, with labels y and the kernel matrix K̃, which includes the ridge.
    beta : ndarray of shape (n,)
        Signed dual coefficients.
    box : Box

    Returns
    -------
    gap : float
        Largest r of the points whose β can increase, minus the smallest r of the points whose β can decrease. It is
        −inf if no β can change.
    bias : float
        Mean of r over the points whose β is strictly inside its bounds. If there are none, it is the mean of the two
        values of r that define the gap.
    """
    up, down = beta < box.upper, beta > box.lower
    highest = float(residual[up].max()) if up.any() else -np.inf
    lowest = float(residual[down].min()) if down.any() else np.inf
    free = up & down
    if free.any():
        return highest - lowest, float(residual[free].mean())
    if up.any() and down.any():
        return highest - lowest, 0.5 * (highest + lowest)
    return -np.inf, highest if up.any() else lowest


def kernel_product(kernel: NDArray[np.floating], change: Array, tol: float, progress: Progress = NO_PROGRESS) -> Array:
    """Return kernel @ change, computed in float64 if float32 is too inaccurate for the tolerance `tol`."""
    moved = np.flatnonzero(change)
    if kernel.dtype == np.float64 or not single_disturbs(change, tol):
        return np.asarray(kernel @ change.astype(kernel.dtype), dtype=np.float64)
    total = np.zeros(len(change))
    for tile in tiles(len(moved), _TILE, progress):
        rows = moved[tile]
        total += change[rows] @ kernel[rows].astype(np.float64)
    return total


def single_disturbs(factors: Array, tol: float) -> bool:
    """Return True if float32 is too inaccurate, at the tolerance `tol`, for a sum of kernel values times `factors`."""
    return bool(3e-7 * np.linalg.norm(factors) > 0.1 * tol)


def single_error(beta: Array) -> float:
    """Return the approximate error of the SVM outputs if each kernel value has a rounding error of 1e-7 (float32)."""
    return float(1.5e-7 * np.linalg.norm(beta))


def pair_steps(
    kernel: NDArray[np.floating], residual: Array, beta: Array, box: Box, tol: float, max_steps: int, progress: Progress
) -> tuple[Array, int]:
    """Take SMO steps, each of which changes the coefficients β of two points. Return the new β and the number of steps.

    The residuals are stored in two arrays. In `up`, they are replaced by −inf for points whose β cannot increase. In
    `down`, they are replaced by +inf for points whose β cannot decrease. All NumPy calls work in place on arrays with
    one value per point, so a step takes about 5 µs for 500 points.
    """
    both = np.where([beta < box.upper, beta > box.lower], residual, [[-np.inf], [np.inf]]).astype(kernel.dtype)
    up, down = both
    values, lower, upper = beta.tolist(), box.lower.tolist(), box.upper.tolist()
    gain, scratch = np.empty_like(up), np.empty_like(up)
    subtract, multiply, sqrt = np.subtract, np.multiply, np.sqrt
    # A step on points i and j decreases the objective by (up_i − down_j)²/4c, where c is the curvature. For each i, the
    # values 1/√c of all j are computed only once.
    rates: dict[int, NDArray[np.floating]] = {}
    half = np.full(len(beta), 0.5 * (1.0 + np.asarray(box.ridge) + _CURVATURE[kernel.dtype.char]), kernel.dtype)
    step = 0
    while step < max_steps:
        i = int(up.argmax())
        highest = up.item(i)
        if step % _GAP_STRIDE == 0:
            if highest - down.min() < tol:
                break
            if step % _STRIDE == 0:
                progress.report(0.0)
        row = kernel[i]
        if i not in rates:
            if len(rates) == _MOST_RATES:
                rates.clear()
            rates[i] = rate = half + half[i]
            subtract(rate, row, out=rate)
            # Rounding errors may make the computed curvature for j = i zero or negative, so it is not used.
            rate[i] = 1.0
            np.reciprocal(sqrt(rate, out=rate), out=rate)
        rate = rates[i]
        subtract(highest, down, out=gain)
        multiply(gain, rate, out=gain)
        j = int(gain.argmax())
        lowest = down.item(j)
        if not highest > lowest:
            break
        length = 0.5 * (highest - lowest) * rate.item(j) ** 2
        room_i, room_j = upper[i] - values[i], values[j] - lower[j]
        length = min(length, room_i, room_j)
        values[i] = upper[i] if length >= room_i else values[i] + length
        values[j] = lower[j] if length >= room_j else values[j] - length
        subtract(row, kernel[j], out=scratch)
        multiply(scratch, length, out=scratch)
        subtract(both, scratch, out=both)
        down[i] = highest - scratch.item(i)
        up[j] = lowest - scratch.item(j)
        if values[i] >= upper[i]:
            up[i] = -np.inf
        if values[j] <= lower[j]:
            down[j] = np.inf
        step += 1
    return np.asarray(values), step


Values = NDArray[np.floating]

# The active-set method is tried only after enough SMO steps, and only if the optimality gap is below this value. The
# unit of the gap is the margin.
_NEAR = 2.0
# The active-set method is tried only after enough SMO steps. If the optimality gap is below this value, SMO steps on
# earlier working sets count too.
_VERY_NEAR = 0.3
# After the active-set method has failed, the optimality gap must shrink by this factor before the next attempt.
_NEARER = 0.25
# A round is one call of `pair_steps`. It has at most this number of SMO steps, plus the number of SMO steps that take
# as long as the active-set method.
_LEAST_STEPS = 100
# Time of the active-set method for n points with β strictly inside its bounds, divided by the time of n² SMO steps.
_STEPS_PER_SYSTEM = 0.008
_MOST_STALLED_SETS = 20  # number of consecutive rounds without a smaller optimality gap after which the solver stops
_MOST_SYSTEMS = 30
# The number of points that enter or leave the active set must reach a new minimum within this number of consecutive
# linear systems. Otherwise the active-set method fails.
_MOST_WORSE = 8
# Value that is added to the diagonal of each linear system, for each data type of its matrix. Without this value,
# rounding errors may make the smallest eigenvalue negative.
_ROUNDING = {"f": 1e-7, "d": 1e-12}


def minimise(
    kernel: Values,
    residual: Array,
    beta: Array,
    box: Box,
    tol: float,
    max_steps: int,
    progress: Progress = NO_PROGRESS,
    *,
    before: int = 0,
) -> tuple[Array, Array, int]:
    """Minimise ½ βᵀK̃β − yᵀβ within the bounds of β and with fixed Σβ, starting from a feasible β.

    Parameters
    ----------
    kernel : ndarray of shape (q, q), float32 or float64
        K̃ = K + diag(ridge), where the diagonal of K is 1.
    residual : ndarray of shape (q,)
        Initial residuals r = y − K̃β for labels y, including the contribution of points outside the working set.
    beta : ndarray of shape (q,)
        Initial coefficients; this array is not changed.
    box : Box
        Bounds of β. Its ridge is the diagonal of `kernel` minus 1.
    tol : float
        The iteration stops if the largest violation of the optimality conditions is below this value.
    max_steps : int
        Largest number of SMO steps. Solving a linear system counts as one step.
    progress : Progress
        Raises `Cancelled` to stop the computation.
    before : int
        Number of SMO steps in earlier working sets of the same problem.

    Returns
    -------
    beta : ndarray of shape (q,)
        Final coefficients.
    residual : ndarray of shape (q,)
        Final residuals.
    steps : int
        Number of SMO steps plus number of linear systems that were solved.
    """
    steps, waited, stalled, best, near = 0, 0, 0, np.inf, _NEAR
    while steps < max_steps:
        gap, _ = kkt_gap(residual, beta, box)
        stalled = 0 if gap < 0.99 * best else stalled + 1
        best = min(best, gap)
        if gap < tol or stalled > _MOST_STALLED_SETS:
            break
        free = int(np.count_nonzero((beta > box.lower) & (beta < box.upper)))
        patience = int(_STEPS_PER_SYSTEM * free * free)
        if gap < near and (waited >= patience or (waited + before >= patience and gap < _VERY_NEAR)):
            solution, systems = _active_sets(kernel, residual, beta, box, tol, max_steps - steps, progress)
            steps += systems
            near = _NEARER * gap
            if solution is not None:
                (beta, residual), near = solution, -np.inf
                continue  # check the gap again: because of rounding errors, it may still exceed the tolerance
        most = min(_LEAST_STEPS + patience, max_steps - steps)
        moved, moves = pair_steps(kernel, residual, beta, box, 0.8 * tol, most, progress)
        steps, waited = steps + moves, waited + moves
        # SMO steps accumulate rounding errors in float32 residuals, so the residuals are recomputed after each round.
        change = moved - beta
        new_residual = residual - kernel_product(kernel, change, tol, progress)
        gained = 0.5 * float(change @ (residual + new_residual))
        if gained <= 0.0:  # stop, because rounding errors of the kernel values prevent further progress
            break
        beta, residual = moved, new_residual
    return beta, residual, steps


def _active_sets(
    kernel: Values, residual: Array, beta: Array, box: Box, tol: float, max_systems: int, progress: Progress
) -> tuple[tuple[Array, Array] | None, int]:
    """Minimise by an active-set method: solve linear systems for the coefficients strictly inside their bounds.

    Return β and its residuals as a pair, or None if the method does not converge. Also return the number of linear
    systems that were solved.
    """
    linear = residual + kernel_product(kernel, beta, tol, progress)  # the residuals at β = 0
    total = float(beta.sum())
    free = (beta > box.lower) & (beta < box.upper)
    fewest, worse, systems = len(beta) + 1, 0, 0
    while free.any() and worse < _MOST_WORSE and systems < min(_MOST_SYSTEMS, max_systems):
        inside = np.flatnonzero(free)
        beta = np.where(free, 0.0, beta)
        right = linear - kernel_product(kernel, beta, tol, progress)
        system = take_submatrix(kernel, inside, progress)
        system.flat[:: len(inside) + 1] += _ROUNDING[kernel.dtype.char]
        columns = np.column_stack([right[inside], np.ones(len(inside))])
        try:
            solved = solver(system, progress)(columns, progress)
        except np.linalg.LinAlgError:
            return None, systems
        systems += 1
        bias = float((solved[:, 0].sum() - total + beta.sum()) / solved[:, 1].sum())
        beta[inside] = solved[:, 0] - bias * solved[:, 1]
        if not np.isfinite(beta).all():
            return None, systems
        residual = linear - kernel_product(kernel, beta, tol, progress)
        below, above = free & (beta < box.lower), free & (beta > box.upper)
        excess = residual - bias
        enter = ((excess > 0.4 * tol) & (beta == box.lower)) | ((excess < -0.4 * tol) & (beta == box.upper))
        changes = int(np.count_nonzero(below | above | enter))
        if not changes:
            return (beta, residual), systems
        worse = 0 if changes < fewest else worse + 1
        fewest = min(fewest, changes)
        beta = np.where(below, box.lower, np.where(above, box.upper, beta))
        free = (free & ~below & ~above) | enter
    return None, systems
