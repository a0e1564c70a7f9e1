"""The guard: learned widths against median widths times one scale, by cross-validation on the rows learned on.

A criterion is not the error. Its optimum may lie where nothing is told apart (radius over margin goes there on data
that are far from separable), or in a poor valley; median widths are what anyone would begin with, and what is learned
must not do worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.distances import widths_from
from slide_gui.core.pulse import Steady
from slide_gui.core.stage import Stage
from slide_gui.core.svm_decomposition import SolverOptions
from slide_gui.core.svm_grid import CrossValidation, stratified_folds
from slide_gui.core.widths import LearnedWidths, WidthsSample
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["GUARD", "ChosenBy", "guarded"]

Array = NDArray[np.float64]
Point = tuple[float, float]  # rate 1/scale², C

GUARD = "median widths (guard)"
"""What chose the widths where learned ones were overruled."""

_FACTORS = (0.1, 0.3, 1.0, 3.0)  # σ_t² = factor · L · median D_t
_CS = (1.0, 10.0, 100.0)
_HINGE_CS = (*_CS, 1000.0)
_HARDER = (1.0, 3.0, 10.0)  # of the learned C: what is smooth or squared likes a softer margin than the error does
_FOLDS = 5
_FEW = 250  # rows whose errors tell which points of a grid are worth all folds
_BEST = 3
_MARGIN = 2.0  # standard errors of the difference
_STEPS_A_ROW = 100  # pair steps of one training: what is not solved by then is judged as it is


@dataclass(frozen=True)
class ChosenBy:
    """What chose the widths.

    Attributes
    ----------
    criterion : str
        By which they were learned.
    guarded : bool
        Whether the guard put median widths in their place.
    learned_error, median_error : float or None
        Share of the rows learned on that cross-validation gets wrong, with the learned widths and with the median
        widths at the best scale, each at its best C. None where a class has too few rows for it.
    """

    criterion: str
    guarded: bool = False
    learned_error: float | None = None
    median_error: float | None = None

    @property
    def name(self) -> str:
        """The criterion, or that the guard decided."""
        return GUARD if self.guarded else self.criterion


def guarded(
    sample: WidthsSample,
    learned: LearnedWidths,
    *,
    squared: bool,
    C: float | None = None,
    memory: int = 2 << 30,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> tuple[Array, float, ChosenBy]:
    """Return the learned widths or the median widths times a scale, whichever cross-validation prefers, with C.

    Both are judged on the same folds, so that the rows that only one of them gets wrong decide: the median widths
    replace the learned ones if they are better by more than two standard errors of that difference, 2 √(b + c) where
    b and c rows are wrong with one only. Learned widths have seen the rows they are judged on, but they are few numbers
    for many rows; the best point of a grid has been chosen by these very errors, which makes it look better by about
    one standard error. On images, median widths that were better by less than two had more errors on new rows as often
    as not; a criterion that collapses is found out by 2.3 and more on 500 rows, and by far more on 2 000.

    Parameters
    ----------
    sample : WidthsSample
        The rows learned on.
    learned : LearnedWidths
    squared : bool
        Squared hinge, whose C was learned with the widths; with the hinge, C is chosen here for the learned widths too.
    C : float or None
        Given; None: chosen.
    memory : int
        Bytes for kernel values.
    seed : int
        Of the folds.
    progress : Progress
        Told a `Stage`, and at the end the `ChosenBy`.
    """
    if np.bincount(sample.codes).min() < 2:
        return np.asarray(learned.widths), learned.C if C is None else C, ChosenBy(learned.criterion)
    n, steady = len(sample.codes), Steady(progress)
    folds = stratified_folds(sample.codes, _FOLDS, seed)
    options = SolverOptions(squared, 1.0, max_iter=_STEPS_A_ROW * n, memory=memory // 2, seed=seed)
    own_Cs = (tuple(learned.C * factor for factor in _HARDER) if squared else _HINGE_CS) if C is None else (C,)
    Cs = (_CS if squared else _HINGE_CS) if C is None else (C,)

    def best(widths: Array, points: list[Point], done: float) -> tuple[Point, NDArray[np.bool_]]:
        """Return the point with the fewest errors over all folds, of the best few on the first folds."""
        judge = CrossValidation(sample.exponents(widths, steady.pulse), sample.codes, folds, options)
        first = min(_FOLDS, -(-_FEW * _FOLDS // n)) if len(points) > _BEST else _FOLDS
        wrong = {}
        for number, point in enumerate(points):
            steady.report(done + 0.3 * number / len(points), Stage("comparing with median widths"))
            wrong[point] = judge.wrong(*point, range(first), steady.pulse)
        if first < _FOLDS:
            points = sorted(sorted(points, key=lambda point: wrong[point].sum())[:_BEST])
            for number, point in enumerate(points):
                steady.report(done + 0.3 + 0.2 * number / len(points))
                rest = judge.wrong(*point, range(first, _FOLDS), steady.pulse)
                wrong[point] = np.concatenate([wrong[point], rest])
        found = min(points, key=lambda point: wrong[point].sum())
        return found, wrong[found]

    medians = widths_from(sample.medians, float(len(sample.medians)))
    (_, own_C), ours = best(np.asarray(learned.widths), [(1.0, each) for each in own_Cs], 0.0)
    grid = [(1.0 / factor, each) for factor in _FACTORS for each in Cs]
    (rate, median_C), theirs = best(medians, grid, 0.5)
    only_ours, only_theirs = np.count_nonzero(ours & ~theirs), np.count_nonzero(theirs & ~ours)
    better = only_ours - only_theirs > _MARGIN * np.sqrt(only_ours + only_theirs)
    found = ChosenBy(learned.criterion, bool(better), float(ours.mean()), float(theirs.mean()))
    progress.report(1.0, found)
    if better:
        return medians / np.sqrt(rate), median_C, found
    return np.asarray(learned.widths), own_C, found
