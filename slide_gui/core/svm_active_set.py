"""A small two-class problem on a ready kernel matrix: pair steps until it is nearly solved, then active sets.

Where the set F of points strictly inside the box is known, and the others stay at their bounds, the optimum is one
linear system, [K̃_F 1; 1ᵀ 0] [β_F; b] = [c_F − K̃_FU β_U; s − Σ β_U]. Points of F that it takes out of the box go to
the bound they crossed, points at a bound that should move come into F, and the system is solved again. From a gap
below the margin a few systems end it, where pair steps, whose number grows with the condition of the kernel, may be
a hundred thousand; from afar pair steps are better, and where active sets come to no end they go on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import solve_symmetric
from slide_gui.core.rows import square
from slide_gui.core.svm_smo import Box, kernel_product, kkt_gap, pair_steps
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["minimise"]

Array = NDArray[np.float64]
Values = NDArray[np.floating]

_NEAR = 2.0  # gap, in margins, below which the active sets are tried, once pair steps have taken their time
_VERY_NEAR = 0.3  # gap below which the time they took in earlier working sets counts too
_NEARER = 0.25  # of the gap at which they came to no end, before they are tried again
_LEAST_STEPS = 500  # pair steps of a round, at least
_STEPS_PER_SYSTEM = 0.008  # pair steps that cost as much as active sets do, per squared number of free points
_MOST_STALLED = 20  # rounds without a smaller gap
_MOST_SYSTEMS = 30
_MOST_WORSE = 8  # systems without fewer changes than ever before
_ROUNDING = {"f": 1e-7, "d": 0.0}  # put on the diagonal: what rounding may take from the smallest eigenvalue


def minimise(
    kernel: Values,
    residual: Array,
    beta: Array,
    box: Box,
    ridge: float,
    tol: float,
    max_steps: int,
    progress: Progress = NO_PROGRESS,
    *,
    before: int = 0,
) -> tuple[Array, Array, int]:
    """Minimise ½ βᵀK̃β − yᵀβ over the box, Σβ fixed, starting from a feasible β.

    Parameters
    ----------
    kernel : ndarray of shape (q, q), float32 or float64
        K̃ = K + ridge · 1, K with a diagonal of 1.
    residual : ndarray of shape (q,)
        r = y − K̃β at the start, points outside the set included.
    beta : ndarray of shape (q,)
        The start; left as it is.
    box : Box
    ridge : float
        What the diagonal of `kernel` has above 1.
    tol : float
        Stop when the gap of the optimality conditions is below.
    max_steps : int
        Most pair steps in all; a system counts as one.
    progress : Progress
        The cancel point.
    before : int
        Pair steps that earlier working sets of the same problem took.

    Returns
    -------
    beta : ndarray of shape (q,)
    residual : ndarray of shape (q,)
    steps : int
        Pair steps and systems.
    """
    steps, waited, stalled, best, near = 0, 0, 0, np.inf, _NEAR
    while steps < max_steps:
        gap, _ = kkt_gap(residual, beta, box)
        stalled = 0 if gap < 0.99 * best else stalled + 1
        best = min(best, gap)
        if gap < tol or stalled > _MOST_STALLED:
            break
        free = int(np.count_nonzero((beta > box.lower) & (beta < box.upper)))
        patience = int(_STEPS_PER_SYSTEM * free * free)
        if gap < near and (waited >= patience or (waited + before >= patience and gap < _VERY_NEAR)):
            found, systems = _active_sets(kernel, residual, beta, box, tol, max_steps - steps, progress)
            steps += systems
            near = _NEARER * gap
            if found is not None:
                (beta, residual), near = found, -np.inf
                continue  # to the gap, which the rounding of the kernel may have left too large
        most = min(_LEAST_STEPS + patience, max_steps - steps)
        moved, taken = pair_steps(kernel, residual, beta, box, ridge, 0.8 * tol, most, progress)
        steps, waited = steps + taken, waited + taken
        # the residuals of single precision drift: they are made anew after each round
        change = moved - beta
        made_anew = residual - kernel_product(kernel, change, tol, progress)
        gained = 0.5 * float(change @ (residual + made_anew))
        if gained <= 0.0:  # the precision of the kernel allows no more
            break
        beta, residual = moved, made_anew
    return beta, residual, steps


def _active_sets(
    kernel: Values,
    residual: Array,
    beta: Array,
    box: Box,
    tol: float,
    max_systems: int,
    progress: Progress,
) -> tuple[tuple[Array, Array] | None, int]:
    """Return the solution and its residuals, or None if it is not found; and the number of systems solved."""
    linear = residual + kernel_product(kernel, beta, tol, progress)  # what the residual would be at β = 0
    total = float(beta.sum())
    free = (beta > box.lower) & (beta < box.upper)
    fewest, worse, systems = len(beta) + 1, 0, 0
    while free.any() and worse < _MOST_WORSE and systems < min(_MOST_SYSTEMS, max_systems):
        inside = np.flatnonzero(free)
        beta = np.where(free, 0.0, beta)
        right = linear - kernel_product(kernel, beta, tol, progress)
        system = square(kernel, inside, progress)
        system.flat[:: len(inside) + 1] += _ROUNDING[kernel.dtype.char]
        columns = np.column_stack([right[inside], np.ones(len(inside))])
        try:
            solved = solve_symmetric(system, columns, progress)
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
