"""Choosing one global scale of the widths, and C, by the error on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.pulse import Steady
from slide_gui.core.rows import taken
from slide_gui.core.stage import Stage
from slide_gui.core.stratified import held_out_mask, stratified_subset
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from slide_gui.core.svm import SvmParameters

__all__ = ["C_GRID", "GLOBAL_SCALES", "NEAR_CS", "NEAR_SCALES", "enough_fresh", "tune"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

C_GRID = (1.0, 10.0, 100.0, 1000.0)
GLOBAL_SCALES = (1.0, 0.3**0.5, 0.1**0.5, 3.0**0.5)
NEAR_SCALES = (1.0, 0.5**0.5, 2.0**0.5)
NEAR_CS = (1.0, 0.3, 3.0)
MOST_ROWS = 10_000


def enough_fresh(n_learned_on: int, n_rows: int) -> bool:
    """Tell whether a fifth of the rows, as many as are judged, were not learned on."""
    return 5 * (n_rows - n_learned_on) >= n_rows


def tune(
    Z: NDArray[np.floating],
    codes: Indices,
    sizes: tuple[int, ...],
    widths: Array,
    scales: Sequence[float],
    Cs: Sequence[float],
    parameters: SvmParameters,
    progress: Progress = NO_PROGRESS,
    *,
    learned_on: Indices | None = None,
) -> tuple[float, float]:
    """Return the scale and the C with the fewest errors on a stratified fifth; the first of equals.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        At most 10 000 rows are used, stratified.
    codes : ndarray of int, shape (n,)
    sizes : tuple of int
    widths : ndarray of shape (L,)
        Multiplied by each scale.
    scales, Cs : sequence of float
        The grid.
    parameters : SvmParameters
        Loss, tolerance, memory and seed.
    progress : Progress
        The cancel point.
    learned_on : ndarray of int, optional
        Rows that the widths were learned on, and so fit better than others would: none of them is judged.
    """
    from slide_gui.core.svm import train

    points = [(scale, C) for scale in scales for C in Cs]
    rows = stratified_subset(codes, MOST_ROWS, parameters.seed)
    fresh = np.ones(len(rows), bool) if learned_on is None else ~np.isin(rows, learned_on)
    if len(points) == 1 or np.bincount(codes[rows][fresh]).max(initial=0) < 2:
        return points[0]
    held_out = held_out_mask(codes[rows], parameters.seed, fresh)
    inside, outside = rows[~held_out], rows[held_out]
    steady = Steady(progress)
    fitted, judged = taken(Z, inside, steady.pulse), taken(Z, outside, steady.pulse)
    best, fewest = points[0], len(outside) + 1
    medians = np.ones(len(sizes))
    for number, (scale, C) in enumerate(points):
        steady.report(number / len(points), Stage("trying scales and C", number, len(points)))
        model = train(
            fitted, codes[inside], sizes, widths * scale, C, parameters, medians=medians, progress=steady.pulse
        )
        wrong = int(np.count_nonzero(model.predict(judged, progress=steady.pulse) != codes[outside]))
        if wrong < fewest:
            best, fewest = (scale, C), wrong
    return best
