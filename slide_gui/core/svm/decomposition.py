"""Train two-class SVMs on many points.

The coefficients of small sets of points, called working sets, are optimised one set at a time. Kernel rows are computed
only for points in these sets. If there are few points, one set contains all of them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices, at, tiles
from slide_gui.core.svm.kernel import KernelRows, VectorRows, kernel_tiles, set_self_kernel, squared_norms
from slide_gui.core.svm.smo import Box, kernel_product, kkt_gap, minimise, single_disturbs, single_error
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

_TILE = 256  # number of kernel rows per matrix–vector product; the products are summed in float64
_EXACT_ROWS = 512


class ScratchBuffer:
    """Memory for kernel values. Consecutive problems reuse it, because writing to new memory would be slower."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def floats(self, count: int, dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
        """Return an uninitialised array of `count` values. It overwrites the previously returned array."""
        size = count * dtype.itemsize
        if size > len(self._bytes):
            self._bytes = np.empty(0, np.uint8)  # free the old memory before new memory is allocated
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].view(dtype)


class CachedRows:
    """Cache for a limited number of kernel rows.

    The kernel row of a point contains the kernel values between this point and all n points.

    Parameters
    ----------
    source : KernelRows
        Source of the kernel values between the n points.
    store : ndarray of shape (capacity, n), of the source's dtype
        Memory for the cached rows.
    tol : float
        Tolerance of the solver. If float32 sums are too inaccurate for this tolerance, float32 rows are summed in
        float64.
    progress : Progress
        Raises `Cancelled` to stop the computation.
    """

    def __init__(self, source: KernelRows, store: NDArray[np.floating], tol: float, progress: Progress) -> None:
        self._source, self._store, self._tol, self._progress = source, store, tol, progress
        self._slot = np.full(len(source), -1)
        self._used = 0

    def keep_all(self) -> None:
        """Compute and cache the kernel rows of all points at once; the cache must have a capacity of n rows."""
        n = len(self._slot)
        every = np.arange(n)
        self._source.kernel(every, every, out=self._store[:n], progress=self._progress)
        self._slot[:], self._used = every, n

    def cached_first(self, points: Indices) -> Indices:
        """Return the points in the order that `square` expects: points with cached rows come first."""
        return points[np.argsort(self._slot[points] < 0, kind="stable")]

    def square(self, points: Indices, out: NDArray[np.floating]) -> None:
        """Fill `out` with the kernel matrix of the given points. Values from cached rows are not computed again."""
        slots = self._slot[points]
        cached = int(np.count_nonzero(slots >= 0))
        for tile in tiles(cached, _TILE, self._progress):
            places = slots[tile, None] * len(self._slot) + points
            np.take(self._store.reshape(-1), places, out=out[tile], mode="clip")
        if cached < len(points):
            out[cached:, :cached] = out[:cached, cached:].T
            absent = points[cached:]
            self._source.kernel(absent, absent, out=out[cached:, cached:], progress=self._progress)

    def times(self, points: Indices, factors: Array, keep: Indices) -> Array:
        """Return the sum of the kernel rows of `points`, each multiplied by its element of `factors`. Cache new rows.

        If the new rows do not fit into the cache, all cached rows except those of `points` and `keep` are removed
        first. Rows that still do not fit are computed but not cached.
        """
        new = points[self._slot[points] < 0]
        if self._used + len(new) > len(self._store):
            self._compact(np.union1d(keep, points))
        free = len(self._store) - self._used
        fresh, passing = new[:free], new[free:]
        if len(fresh):
            slots = slice(self._used, self._used + len(fresh))
            self._source.kernel(fresh, out=self._store[slots], progress=self._progress)
            self._slot[fresh] = np.arange(slots.start, slots.stop)
            self._used = slots.stop
        slots_of = self._slot[points]
        precision = np.float64 if single_disturbs(factors, self._tol) else self._store.dtype
        weights = np.zeros(self._used, dtype=precision)
        weights[slots_of[slots_of >= 0]] = factors[slots_of >= 0]
        total = np.zeros(len(self._slot))
        for tile in tiles(self._used, _TILE, self._progress):
            if weights[tile].any():
                total += weights[tile] @ self._store[tile].astype(precision, copy=False)
        left = factors[slots_of < 0].astype(precision)
        for tile in tiles(len(passing), _TILE, self._progress):
            rows = self._source.kernel(passing[tile], progress=self._progress)
            total += left[tile] @ rows.astype(precision, copy=False)
        return total

    def _compact(self, keep: Indices) -> None:
        """Remove all rows from the cache, except for the rows of the points `keep`."""
        stay = keep[self._slot[keep] >= 0]
        stay = stay[np.argsort(self._slot[stay])]
        # The rows are moved in the order of their positions, so that no row is overwritten before it is moved.
        for tile in tiles(len(stay), _TILE, self._progress):
            self._store[tile] = self._store[self._slot[stay[tile]]]
        self._slot[:] = -1
        self._slot[stay] = np.arange(len(stay))
        self._used = len(stay)


WHOLE = 1000  # largest number of points for which the entire kernel matrix is computed
LARGEST_SET = 4096
SMALLEST_SET = 512
# An outer step optimises one working set. The solver stops if more than this number of consecutive outer steps make no
# progress.
_MOST_STALLED = 8
# An outer step counts as progress if it decreases the objective by more than this factor × gap², where gap is the
# optimality gap. A single SMO step without rounding errors decreases the objective by about 0.25 × gap².
_LEAST_GAIN = 0.02
# Largest number of new points in a working set. If there are more support vectors, the limit is the number of support
# vectors.
_NEW_LEAST = 256
_LOOSE = 0.05  # tolerance for solving a working set, relative to the optimality gap of all points
# A working set also includes points that satisfy an optimality condition by less than this value, because the next step
# may cause them to violate it.
_CLOSE = 0.1
_START_TOL = 0.1  # tolerance for training on a quarter of the points; training on all points starts from its solution
_MANY = 0.4  # fraction of support vectors among the points above which computing the entire matrix at once is faster
_ERROR = 0.5  # largest acceptable rounding error of the SVM outputs, relative to the tolerance of the solver


@dataclass(frozen=True)
class SolverOptions:
    """Options of the solver for a two-class problem.

    Attributes
    ----------
    squared : bool
        True for the squared hinge loss (L2-SVM), False for the hinge loss (C-SVC).
    C : float
        Penalty for errors.
    tol : float
        Largest allowed violation of the optimality conditions, in units of the margin.
    max_iter : int or None
        Largest number of SMO steps; None sets no limit.
    memory : int
        Largest number of bytes that kernel values may take.
    seed : int
        Seed for drawing a quarter of the points, on which the SVM is trained first.
    shuffled : bool
        True if the points of each class are in random order, so that the first points are a random sample.
    exact : bool
        True to recompute the optimality gap of the solution in float64 if the kernel values are float32.
    """

    squared: bool
    C: float
    tol: float = 1e-3
    max_iter: int | None = None
    memory: int = 1 << 30
    seed: int = 0
    shuffled: bool = False
    exact: bool = True

    @property
    def limit(self) -> int:
        """Largest number of SMO steps."""
        return 2**62 if self.max_iter is None else self.max_iter


@dataclass(frozen=True)
class SolverStep:
    """Solver state after one working set has been optimised: the optimality gap and the number of support vectors."""

    gap: float
    n_support: int


@dataclass(frozen=True)
class Solution:
    """A trained two-class SVM, f(x) = Σ_i β_i k(x, x_i) + bias.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        Signed dual coefficients y α.
    gap : float
        Largest violation of the optimality conditions. It is computed in float64 if float32 could be too inaccurate.
    steps : int
        Number of SMO steps.
    converged : bool
        True if the gap is below the tolerance.
    residual : ndarray of shape (n,)
        Residuals y − K̃β, where K̃ is the kernel matrix with the ridge added to its diagonal.
    """

    beta: Array
    bias: float
    gap: float
    steps: int
    converged: bool
    residual: Array


def largest_store(n: int, memory: int) -> int:
    """Return the number of bytes, at most `memory`, that the solver uses for the float32 kernel values of n points."""
    _, largest, capacity = _division(n, memory // 4)
    return 4 * (largest**2 + capacity * n)


def _division(n: int, floats: int) -> tuple[bool, int, int]:
    """Divide memory for `floats` kernel values between the working set and the cache, for a problem with n points.

    Returns
    -------
    entire : bool
        True if the entire kernel matrix is computed.
    largest : int
        Number of points in the largest working set.
    capacity : int
        Number of rows in the cache.
    """
    if n <= WHOLE and 2 * n * n <= floats:
        return True, n, 0
    largest = max(SMALLEST_SET, min(LARGEST_SET, n, int(np.sqrt(floats / 4))))
    return False, largest, max(min(n, (floats - largest**2) // n - SMALLEST_SET), 0)


def least_memory(n: int, itemsize: int = 4) -> int:
    """Return the minimum memory, in bytes, that training on n points needs for kernel values.

    One kernel value takes `itemsize` bytes.
    """
    small = min(n, SMALLEST_SET)
    return itemsize * (small * small + 2 * small * n)


def solve(
    source: KernelRows,
    y: Array,
    options: SolverOptions,
    *,
    weights: Array | None = None,
    start: Array | None = None,
    scratch: ScratchBuffer | None = None,
    progress: Progress = NO_PROGRESS,
) -> Solution:
    """Train a two-class SVM.

    Parameters
    ----------
    source : KernelRows
        Source of the kernel values between the n points.
    y : ndarray of shape (n,)
        Labels −1 or 1, both present.
    options : SolverOptions
    weights : ndarray of shape (n,), optional
        Positive weights of the points. For each point, C is multiplied by its weight.
    start : ndarray of shape (n,), optional
        Signed dual coefficients to start from, such as the solution of a similar problem. They may be out of bounds.
    scratch : ScratchBuffer, optional
        Memory of an earlier problem, whose contents are overwritten.
    progress : Progress
        Receives a `SolverStep` after every working set.

    Raises
    ------
    Cancelled
        If `progress` raises it because the job was cancelled.
    MemoryError
        If `options.memory` is smaller than `least_memory`.
    """
    n = len(y)
    least = least_memory(n, source.dtype.itemsize)
    if options.memory < least:
        raise MemoryError(
            f"training on {n} points needs at least {least / 1e9:.6g} GB for kernel values, more than the "
            f"limit of {options.memory / 1e9:.6g} GB; raise the limit or use fewer points"
        )
    limit = np.inf if options.squared else options.C if weights is None else options.C * weights
    ridge = 1.0 / options.C if options.squared else 0.0
    box = Box.of(y, limit, ridge if weights is None else ridge / weights)
    steady = MonotonicProgress(progress)
    scratch = ScratchBuffer() if scratch is None else scratch
    considered = n  # number of points whose initial coefficients may differ from 0
    if start is not None:
        beta = _feasible(start, box)
    elif n > WHOLE:
        part = _quarter(y, options)
        near = replace(options, tol=max(options.tol, _START_TOL))
        some = None if weights is None else weights[part]
        first = solve(source.take(part), y[part], near, weights=some, scratch=scratch, progress=steady.pulse)
        beta, considered = np.zeros(n), len(part)
        beta[part] = first.beta
    else:
        beta = np.zeros(n)
    many = bool(np.count_nonzero(beta) > _MANY * considered)
    inexact = source if isinstance(source, VectorRows) and source.dtype == np.float32 else None
    left = -1 if inexact is None else options.memory - inexact.refined_bytes
    refinable = left >= least_memory(n, 8)
    solver = _WorkingSetSolver(source, y, box, options, scratch, many, refinable, steady)
    solution = solver.run(beta)
    if inexact is None:
        return _certain(solution, source.rounding, options.tol)
    settled = single_error(solution.beta) < _ERROR * options.tol
    if options.exact and (settled or not refinable):
        error = inexact.rounding * float(np.abs(solution.beta).sum())
        if error >= _ERROR * options.tol:
            solution = solver.corrected(inexact, solution, error)
            settled = solution.converged
    if settled or not refinable:
        return solution
    del solver
    many = bool(np.count_nonzero(solution.beta) > _MANY * n)
    refined = VectorRows.of(inexact.exact_rows(np.arange(n), steady.pulse))
    solver = _WorkingSetSolver(refined, y, box, replace(options, memory=left), scratch, many, False, steady)
    return _certain(solver.run(solution.beta, solution.steps), refined.rounding, options.tol)


def _certain(solution: Solution, rounding: float, tol: float) -> Solution:
    """Return the solution. Increase its optimality gap if rounding errors of the kernel values are not negligible.

    If each kernel value has an error of at most `rounding`, the error of an SVM output is at most `rounding` · Σ|β|.
    This bound is added to the gap, unless it is below half the tolerance. If the sum exceeds the tolerance, the
    solution is no longer marked as converged.
    """
    error = rounding * float(np.abs(solution.beta).sum())
    if error < _ERROR * tol:
        return solution
    return replace(solution, gap=solution.gap + error, converged=solution.gap + error < tol)


def exact_product(source: VectorRows, beta: Array, points: Indices, progress: Progress = NO_PROGRESS) -> Array:
    """Return K β in float64 at the given points; β must be 0 at all other points. K is computed in small tiles."""
    values, total = beta[points], np.zeros(len(points))
    for here in tiles(len(points), _EXACT_ROWS, progress):
        rows = source.exact_rows(points[here], progress)
        left = rows, squared_norms(rows)
        tile = kernel_tiles(left, left, None, progress)
        set_self_kernel(tile)
        total[here] += tile @ values[here]
        for start in range(here.stop, len(points), _EXACT_ROWS):
            there = slice(start, start + _EXACT_ROWS)
            columns = source.exact_rows(points[there], progress)
            tile = kernel_tiles(left, (columns, squared_norms(columns)), None, progress)
            total[here] += tile @ values[there]
            total[there] += values[here] @ tile
    return total


def _quarter(y: Array, options: SolverOptions) -> Indices:
    """Return the sorted indices of about a quarter of the points of each class, at least one point per class.

    The points are drawn at random. If they already have a random order (`options.shuffled`), the first points of each
    class are returned instead.
    """
    random, parts = np.random.default_rng(options.seed), []
    for label in (-1.0, 1.0):
        members = np.flatnonzero(y == label)
        size = len(members) // 4 if options.shuffled else round((len(y) // 4) * len(members) / len(y))
        size = max(1, size)
        parts.append(members[:size] if options.shuffled else random.choice(members, size, replace=False))
    return np.sort(np.concatenate(parts))


def _feasible(beta: Array, box: Box) -> Array:
    """Clip coefficients to their bounds. Then scale down the positive or the negative ones so that all sum to 0."""
    beta = np.clip(np.asarray(beta, dtype=np.float64), box.lower, box.upper)
    positive, negative = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if min(positive, negative) == 0.0:
        return np.zeros_like(beta)
    # If the sum is 0 up to rounding, do not scale: scaling would move coefficients slightly away from the bound C.
    if abs(positive - negative) <= 1e-9 * positive:
        return beta
    least = min(positive, negative)
    return np.asarray(np.where(beta > 0, beta * (least / positive), beta * (least / negative)))


class _WorkingSetSolver:
    """Solver that optimises one working set after another, or all points at once if there are few."""

    def __init__(
        self,
        source: KernelRows,
        y: Array,
        box: Box,
        options: SolverOptions,
        scratch: ScratchBuffer,
        many: bool,
        refinable: bool,
        progress: MonotonicProgress,
    ) -> None:
        n = len(y)
        self._y, self._box, self._options = y, box, options
        self._progress, self._refinable = progress, refinable
        self._entire, self._largest, capacity = _division(n, options.memory // source.dtype.itemsize)
        values = scratch.floats(self._largest**2 + capacity * n, source.dtype)
        self._square, store = values[: self._largest**2], values[self._largest**2 :].reshape(capacity, n)
        self._rows = CachedRows(source, store, options.tol, progress.pulse)
        if many and capacity == n:
            self._rows.keep_all()
        self._matrix: NDArray[np.floating] = np.empty((0, 0))

    def corrected(self, source: VectorRows, solution: Solution, error: float) -> Solution:
        """Recompute the optimality gap of a solution in float64, and resume the solver if it has not converged.

        Both operations are repeated until the solution has converged, until a repetition does not halve the gap, or
        until the largest number of SMO steps is reached.

        Parameters
        ----------
        source : VectorRows
            Source of the float32 kernel values of this solver.
        solution : Solution
            Solution that was computed with float32 kernel values.
        error : float
            Bound on the rounding error of the residuals. Residuals are recomputed only for some points. A residual is
            kept if β is 0 and the point satisfies the optimality conditions by more than twice this bound plus the
            tolerance.
        """
        best = np.inf
        while True:
            beta = solution.beta
            up, down = beta < self._box.upper, beta > self._box.lower
            excess = solution.residual - solution.bias
            margin = np.where(up, np.where(down, 0.0, -excess), excess)
            points = np.flatnonzero((beta != 0.0) | (margin < 2.0 * error + self._options.tol))
            residual = solution.residual.copy()
            product = exact_product(source, beta, points, self._progress.pulse)
            residual[points] = self._y[points] - product - at(self._box.ridge, points) * beta[points]
            gap, bias = kkt_gap(residual, beta, self._box)
            converged = gap < self._options.tol
            solution = replace(solution, gap=gap, bias=bias, converged=converged, residual=residual)
            self._progress.report(0.0, SolverStep(gap, int(np.count_nonzero(beta))))
            if converged or gap > 0.5 * best or solution.steps >= self._options.limit:
                return solution
            best = gap
            solution = self.run(beta, solution.steps, residual)

    def run(self, beta: Array, steps: int = 0, residual: Array | None = None) -> Solution:
        """Return the solution, starting from a feasible β after `steps` earlier SMO steps.

        `residual` contains the residuals at this β, as in `Solution`, or is None if they are unknown.
        """
        self._steps = steps
        options, box = self._options, self._box
        beta = beta.copy()
        if self._entire and not len(self._matrix):
            self._matrix = self._kernel(np.arange(len(beta)))
        if residual is not None:
            residual = residual.copy()
        elif self._entire:
            residual = self._y - kernel_product(self._matrix, beta, options.tol, self._progress.pulse)
        else:
            residual, support = self._y.copy(), np.flatnonzero(beta)
            self._shift(residual, support, beta[support], support)
        stalled, best, first, objective = 0, np.inf, None, np.inf
        while True:
            gap, bias = kkt_gap(residual, beta, box)
            first = max(gap, options.tol * 10.0) if first is None else first
            done = 1.0 - np.log(max(gap, options.tol) / options.tol) / np.log(first / options.tol)
            self._progress.report(float(np.clip(done, 0.0, 1.0)), SolverStep(gap, int(np.count_nonzero(beta))))
            # A decrease of either the optimality gap or the objective counts as progress. If the support vectors do not
            # all fit in the working set, a step reduces the objective, but often not the gap.
            earlier, objective = objective, -0.5 * float(beta @ (self._y + residual))
            # If C is small, the bounds or the ridge make SMO steps short, so a smaller decrease of the objective
            # suffices. It must exceed the rounding error of the objective, which is large if C or weights are huge.
            length = min(gap / (1.0 + float(np.max(box.ridge))), float((box.upper - box.lower).min()))
            least_gain = max(_LEAST_GAIN * gap * length, float(np.finfo(np.float64).eps * np.abs(beta).sum() ** 2))
            stalled = 0 if gap < 0.99 * best or earlier - objective > least_gain else stalled + 1
            best = min(best, gap)
            enough = max(options.tol, single_error(beta)) if self._refinable else options.tol
            if gap < enough or self._steps >= options.limit or stalled > _MOST_STALLED:
                return Solution(beta, bias, gap, self._steps, gap < options.tol, residual)
            before = beta
            if self._entire:
                beta, residual = self._minimise(self._matrix, residual, beta, box, 0.0)
            else:
                beta = self._step(residual, beta, bias, gap)
            if np.array_equal(beta, before):
                return Solution(beta, bias, gap, self._steps, gap < options.tol, residual)

    def _step(self, residual: Array, beta: Array, bias: float, gap: float) -> Array:
        """Optimise one working set, update the residuals of all points in place, and return the new β."""
        points = self._rows.cached_first(self._working_set(residual, beta, bias, gap))
        kernel, box = self._kernel(points), self._box.take(points)
        moved, _ = self._minimise(kernel, residual[points], beta[points], box, _LOOSE * gap)
        change = moved - beta[points]
        beta = beta.copy()
        beta[points] = moved
        order = np.argsort(points)
        changed = order[change[order] != 0.0]
        self._shift(residual, points[changed], change[changed], points)
        return beta

    def _kernel(self, points: Indices) -> NDArray[np.floating]:
        """Return the matrix K̃, as in `Solution`, for the given points. The next call overwrites this matrix."""
        size = len(points)
        kernel = self._square[: size * size].reshape(size, size)
        self._rows.square(points, kernel)
        kernel.flat[:: size + 1] = 1.0 + at(self._box.ridge, points)
        return kernel

    def _minimise(
        self, kernel: NDArray[np.floating], residual: Array, beta: Array, box: Box, loose: float
    ) -> tuple[Array, Array]:
        before, target, pulse = self._steps, max(0.5 * self._options.tol, loose), self._progress.pulse
        left = self._options.limit - before
        beta, residual, steps = minimise(kernel, residual, beta, box, target, left, pulse, before=before)
        self._steps += steps
        return beta, residual

    def _shift(self, residual: Array, points: Indices, change: Array, keep: Indices) -> None:
        """Update `residual` after the coefficients β of `points` have changed by `change`: subtract K̃·change.

        `Solution` defines β and K̃.
        """
        if len(points):
            residual -= self._rows.times(points, change, keep)
            residual[points] -= at(self._box.ridge, points) * change

    def _working_set(self, residual: Array, beta: Array, bias: float, gap: float) -> Indices:
        """Return the sorted indices of the points in the next working set.

        The set contains points with β strictly inside its bounds, and points that violate, or almost violate, an
        optimality condition. `gap` is the optimality gap of all points.
        """
        up, down = beta < self._box.upper, beta > self._box.lower
        free = up & down
        # If β is strictly inside its bounds at only one point, the bias is the residual of this point. This residual
        # may be one of the two extremes that define the optimality gap. All violations relative to an extreme would
        # have the same sign. The midpoint of the two extremes is therefore used instead of the bias.
        middle = bias if free.sum() > 1 else 0.5 * (residual[up].max() + residual[down].min())
        excess = residual - middle
        violation = np.maximum(np.where(up, excess, -np.inf), np.where(down, -excess, -np.inf))
        wanted = violation > 0.5 * self._options.tol
        least = max(int(np.count_nonzero(beta)), _NEW_LEAST)
        most = min(least, max(self._largest - int(free.sum()), self._largest // 2))
        outside = _worst(np.flatnonzero(wanted & ~free), violation, most)
        inside = _worst(np.flatnonzero(free), violation, self._largest - len(outside))
        left = min(least - len(outside), self._largest - len(outside) - len(inside))
        close = _worst(np.flatnonzero((violation > -_CLOSE) & ~wanted & ~free), violation, max(left, 0))
        points = np.sort(np.concatenate([outside, inside, close]))
        rising, falling = points[up[points]], points[down[points]]
        spread = residual[rising].max(initial=-np.inf) - residual[falling].min(initial=np.inf)
        if spread >= max(0.5 * self._options.tol, _LOOSE * gap):
            return points
        # No SMO step on two of the selected points would change β, for example because all of them have the same label.
        # Points with extreme residuals are therefore selected instead.
        most = min(_NEW_LEAST, self._largest // 2)
        return np.union1d(_worst(np.flatnonzero(up), residual, most), _worst(np.flatnonzero(down), -residual, most))


def _worst(points: Indices, violation: Array, most: int) -> Indices:
    if len(points) <= most:
        return points
    return points[np.argpartition(-violation[points], most)[:most]]
