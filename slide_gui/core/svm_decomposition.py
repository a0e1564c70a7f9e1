"""Two-class SVM training at size: working sets of the points that matter, kernel rows only for them.

The dual in signed coefficients β_i = y_i α_i is: minimise ½ βᵀK̃β − yᵀβ with Σβ = 0 and β in a box, where K̃ = K for
the hinge loss (0 ≤ yβ ≤ C) and K̃ = K + 1/C for the squared hinge (0 ≤ yβ). Each outer step solves the problem of the
free support vectors and the worst violators exactly, then updates the residuals of all points by one matrix–vector
product over the kernel rows of the points that moved. A quarter of the points is solved first, for a start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.kernel import KernelRows
from slide_gui.core.kernel_rows import KeptRows
from slide_gui.core.pulse import Steady
from slide_gui.core.svm_smo import Box, kkt_gap, minimise
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Solution", "SolverOptions", "SolverStep", "least_memory", "solve"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

WHOLE = 2048  # points up to which the whole kernel matrix is made
LARGEST_SET = 4096
SMALLEST_SET = 512
_MOST_STALLED = 8  # outer steps without a smaller gap
_NEW_LEAST = 256  # violators that join the support vectors in one outer step, at least


@dataclass(frozen=True)
class SolverOptions:
    """How a two-class problem is solved.

    Attributes
    ----------
    squared : bool
        Squared hinge loss (L2-SVM); otherwise the hinge (C-SVC).
    C : float
    tol : float
        Largest gap of the optimality conditions at the end, in units of the margin.
    max_iter : int or None
        Most pair steps in all.
    memory : int
        Bytes for kernel values.
    seed : int
        Of the quarter of points solved first.
    """

    squared: bool
    C: float
    tol: float = 1e-3
    max_iter: int | None = None
    memory: int = 1 << 30
    seed: int = 0

    @property
    def ridge(self) -> float:
        """What is added to the kernel's diagonal."""
        return 1.0 / self.C if self.squared else 0.0


@dataclass(frozen=True)
class SolverStep:
    """What one outer step reports."""

    iteration: int
    gap: float
    n_support: int


@dataclass(frozen=True)
class Solution:
    """A trained two-class SVM, f(x) = Σ_i β_i k(x, x_i) + bias.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        Signed dual coefficients y α.
    bias : float
    gap : float
        Of the optimality conditions.
    steps : int
        Pair steps taken.
    converged : bool
        Whether the gap is below the tolerance.
    """

    beta: Array
    bias: float
    gap: float
    steps: int
    converged: bool


def least_memory(n: int, itemsize: int = 4) -> int:
    """Return the least bytes of kernel values, each of `itemsize` bytes, with which n points can be trained."""
    small = min(n, SMALLEST_SET)
    return itemsize * (small * small + 2 * small * n)


def solve(
    source: KernelRows,
    y: Array,
    options: SolverOptions,
    *,
    start: Array | None = None,
    progress: Progress = NO_PROGRESS,
) -> Solution:
    """Train a two-class SVM.

    Parameters
    ----------
    source : KernelRows
        The kernel of the n points.
    y : ndarray of shape (n,)
        −1 or 1, both present.
    options : SolverOptions
    start : ndarray of shape (n,), optional
        Signed dual coefficients to start from (of a neighbouring problem, say); made feasible first.
    progress : Progress
        Told a `SolverStep` at every outer step.

    Raises
    ------
    Cancelled
        By the progress.
    MemoryError
        If the stated memory cannot hold the smallest working set.
    """
    n = len(y)
    least = least_memory(n, source.dtype.itemsize)
    if options.memory < least:
        raise MemoryError(
            f"training on {n} points needs at least {least / 1e6:.0f} MB for kernel values, "
            f"more than the {options.memory / 1e6:.0f} MB it may use; raise the memory or use fewer points"
        )
    box = Box.of(y, np.inf if options.squared else options.C)
    steady = Steady(progress)
    if start is not None:
        beta = _feasible(start, box)
    elif n > WHOLE:
        part = _stratified(y, n // 4, options.seed)
        first = solve(source.take(part), y[part], options, progress=steady.pulse)
        beta = np.zeros(n)
        beta[part] = first.beta
    else:
        beta = np.zeros(n)
    return _Outer(source, y, box, options, steady).run(beta)


def _stratified(y: Array, size: int, seed: int) -> Indices:
    """Return `size` points or a few more, sorted, with the classes in proportion and none left out."""
    rng = np.random.default_rng(seed)
    parts = []
    for label in (-1.0, 1.0):
        members = np.flatnonzero(y == label)
        parts.append(rng.choice(members, max(1, round(size * len(members) / len(y))), replace=False))
    return np.sort(np.concatenate(parts))


def _feasible(beta: Array, box: Box) -> Array:
    """Return the coefficients clipped to the box, the heavier side scaled down until they add up to 0."""
    beta = np.clip(np.asarray(beta, dtype=np.float64), box.lower, box.upper)
    positive, negative = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if min(positive, negative) == 0.0:
        return np.zeros_like(beta)
    if abs(positive - negative) <= 1e-9 * positive:  # feasible to rounding: coefficients at C stay at C
        return beta
    least = min(positive, negative)
    return np.asarray(np.where(beta > 0, beta * (least / positive), beta * (least / negative)))


class _Outer:
    """The outer loop over working sets."""

    def __init__(
        self,
        source: KernelRows,
        y: Array,
        box: Box,
        options: SolverOptions,
        progress: Steady,
    ) -> None:
        n = len(y)
        self._y, self._box, self._options = y, box, options
        self._progress = progress
        size = source.dtype.itemsize
        whole = n <= WHOLE and size * 2 * n * n <= options.memory
        floats = options.memory // size
        self._largest = n if whole else max(SMALLEST_SET, min(LARGEST_SET, n, int(np.sqrt(floats / 4))))
        capacity = min(n, (floats - self._largest**2) // n - SMALLEST_SET)
        self._rows = KeptRows(source, max(capacity, 0), options.tol, progress.pulse)
        self._square = np.empty(self._largest**2, dtype=source.dtype)
        self._whole = whole

    def run(self, beta: Array) -> Solution:
        options, box = self._options, self._box
        beta = beta.copy()
        residual = self._y.copy()
        support = np.flatnonzero(beta)
        self._shift(residual, support, beta[support], support)
        limit = options.max_iter if options.max_iter is not None else 2**62
        steps, iteration, stalled, best, first = 0, 0, 0, np.inf, None
        while True:
            gap, bias = kkt_gap(residual, beta, box)
            n_support = int(np.count_nonzero(beta))
            first = max(gap, options.tol * 10.0) if first is None else first
            done = 1.0 - np.log(max(gap, options.tol) / options.tol) / np.log(first / options.tol)
            self._progress.report(float(np.clip(done, 0.0, 1.0)), SolverStep(iteration, gap, n_support))
            stalled = 0 if gap < 0.99 * best else stalled + 1
            best = min(best, gap)
            if gap < options.tol or steps >= limit or stalled > _MOST_STALLED:
                return Solution(beta, bias, gap, steps, gap < options.tol)
            points = self._working_set(residual, beta, bias)
            size = len(points)
            kernel = self._square[: size * size].reshape(size, size)
            self._rows.square(points, kernel)
            kernel.flat[:: size + 1] = 1.0 + options.ridge
            target = max(0.5 * options.tol, 0.0 if self._whole else 0.05 * gap)
            moved, _, taken = minimise(
                kernel,
                residual[points],
                beta[points],
                box.take(points),
                options.ridge,
                target,
                limit - steps,
                self._progress.pulse,
            )
            change = moved - beta[points]
            changed = np.flatnonzero(change)
            beta[points] = moved
            self._shift(residual, points[changed], change[changed], points)
            steps += taken
            iteration += 1
            if not len(changed):
                return Solution(beta, bias, gap, steps, gap < options.tol)

    def _shift(self, residual: Array, points: Indices, change: Array, keep: Indices) -> None:
        """Take K̃·change off the residuals."""
        if len(points):
            residual -= self._rows.times(points, change, keep)
            residual[points] -= self._options.ridge * change

    def _working_set(self, residual: Array, beta: Array, bias: float) -> Indices:
        """Return the free support vectors and the worst violators, sorted; all points of a small problem."""
        if self._whole:
            return np.arange(len(beta))
        box = self._box
        up, down = beta < box.upper, beta > box.lower
        excess = residual - bias
        violation = np.maximum(np.where(up, excess, 0.0), np.where(down, -excess, 0.0))
        free = up & down
        outside = np.flatnonzero((violation > 0.5 * self._options.tol) & ~free)
        most = max(int(np.count_nonzero(beta)), _NEW_LEAST)
        most = min(most, max(self._largest - int(free.sum()), self._largest // 2))
        outside = _worst(outside, violation, most)
        inside = _worst(np.flatnonzero(free), violation, self._largest - len(outside))
        return np.sort(np.concatenate([outside, inside]))


def _worst(points: Indices, violation: Array, most: int) -> Indices:
    if len(points) <= most:
        return points
    return points[np.argpartition(-violation[points], most)[:most]]
