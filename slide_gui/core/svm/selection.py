"""Widths times one scale, and C, chosen by held-out rows or cross-validation; the guard of learned widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import at, take_rows
from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm.criteria import relative
from slide_gui.core.svm.decomposition import SolverOptions, largest_store, solve
from slide_gui.core.svm.kernel import Embedding, Gram, Vectors, block_sizes, median_distances, widths_from
from slide_gui.core.svm.model import train
from slide_gui.core.svm.pairs import class_scores, pairs_of
from slide_gui.core.svm.parameters import ChosenBy
from slide_gui.core.svm.widths import LearnedWidths, WidthsSample
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress, Stage

if TYPE_CHECKING:
    from slide_gui.core.svm.parameters import SvmParameters

__all__ = [
    "C_GRID",
    "GLOBAL_SCALES",
    "NEAR_CS",
    "NEAR_SCALES",
    "GridPoint",
    "enough_fresh",
    "grid_bytes",
    "guarded",
    "median_width_search",
    "stratified_folds",
    "tune",
]


Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SIGMA_FACTORS = (0.1, 0.3, 1.0, 3.0)  # σ² as multiples of the typical Σ_t D_t/σ_t²
CS = (1.0, 10.0, 100.0)
FINER = (2.0 / 3.0, 1.5)  # of σ², beside the best of them at its C


@dataclass(frozen=True)
class GridPoint:
    """Error of cross-validation at one σ and C."""

    sigma: float
    C: float
    error: float


@dataclass(frozen=True)
class GridResult:
    """What a grid search found.

    Attributes
    ----------
    sigma, C : float
        Of the least error; of equals the first in the order of the grid.
    widths : tuple of float
        σ · σ_t: what `MultiWidthSVC(widths=…)` takes.
    points : tuple of GridPoint
        The whole grid.
    """

    sigma: float
    C: float
    widths: tuple[float, ...]
    points: tuple[GridPoint, ...]


def stratified_folds(codes: Indices, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row, every class spread evenly over the folds.

    Raises
    ------
    ValueError
        If there are fewer than two folds, or some class has fewer than two rows.
    """
    if n_folds < 2:
        raise ValueError(f"n_folds is {n_folds}; cross-validation needs at least 2")
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(f"class {int(counts.argmin())} has {counts.min()} rows; cross-validation needs at least 2")
    rng = np.random.default_rng(seed)
    folds = np.empty(len(codes), dtype=np.intp)
    dealt = 0
    for code in range(len(counts)):
        members = rng.permutation(np.flatnonzero(codes == code))
        folds[members] = (dealt + np.arange(len(members))) % n_folds
        dealt += len(members)
    return folds


class CrossValidation:
    """Which rows an SVM gets wrong that was trained without their fold, at kernels exp(−factor · D) of one matrix D.

    A training starts from the answer of the same fold at the last C of the same kernel.

    Parameters
    ----------
    distances : ndarray of shape (n, n), float32 or float64
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    folds : ndarray of int, shape (n,)
        As `stratified_folds` returns them.
    options : SolverOptions
        Its C is that of each call.
    weights : ndarray of shape (n,), optional
        Of the rows trained on.
    """

    def __init__(
        self,
        distances: NDArray[np.floating],
        codes: Indices,
        folds: Indices,
        options: SolverOptions,
        weights: Array | None = None,
    ) -> None:
        self._distances, self._codes, self._folds = distances, codes, folds
        self._options, self._weights = options, weights
        self._factor = np.nan
        self._starts: dict[tuple[int, int, int], Array] = {}

    def wrong(
        self, factor: float, C: float, folds: Sequence[int], progress: Progress = NO_PROGRESS
    ) -> NDArray[np.bool_]:
        """Return whether each row of these folds is wrong, in the order of the rows."""
        if factor != self._factor:
            self._factor, self._starts = factor, {}
        source = Gram(self._distances, np.arange(len(self._codes)), factor)
        wrong = np.zeros(len(self._codes), bool)
        for fold in folds:
            wrong[self._folds == fold] = self._judged(source, C, fold, progress)
        return wrong[np.isin(self._folds, folds)]

    def _judged(self, source: Gram, C: float, fold: int, progress: Progress) -> NDArray[np.bool_]:
        """Return which rows of one fold are wrong."""
        codes, inside = self._codes, self._folds != fold
        n_classes = int(codes.max()) + 1
        outside = np.flatnonzero(~inside)
        margins = np.empty((len(outside), len(pairs_of(n_classes))))
        for column, pair in enumerate(pairs_of(n_classes)):
            members = np.flatnonzero(inside & ((codes == pair[0]) | (codes == pair[1])))
            y = np.where(codes[members] == pair[1], 1.0, -1.0)
            options, start = replace(self._options, C=C), self._starts.get((fold, *pair))
            weights = None if self._weights is None else self._weights[members]
            solution = solve(source.take(members), y, options, weights=weights, start=start, progress=progress)
            self._starts[fold, pair[0], pair[1]] = solution.beta
            support = np.flatnonzero(solution.beta)
            values = source.between(outside, members[support], progress=progress)
            margins[:, column] = values @ solution.beta[support] + solution.bias
        if n_classes == 2:
            predicted = (margins[:, 0] > 0.0).astype(np.intp)
        else:
            predicted = np.argmax(class_scores(margins, n_classes), axis=1)
        return np.asarray(predicted != codes[outside])


def median_width_search(
    Z: NDArray[np.floating],
    codes: Indices,
    groups: int | tuple[int, ...] | None = None,
    *,
    factors: Sequence[float] = SIGMA_FACTORS,
    Cs: Sequence[float] = CS,
    n_folds: int = 5,
    squared: bool = False,
    memory: int = 2 << 30,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> GridResult:
    """Fix σ_t² to the median D_t and cross-validate k = exp(−(1/σ²) Σ_t D_t/σ_t²) over σ × C, then around the best σ.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    groups : int, tuple of int, or None
        Blocks of columns; None is one block of all: Raw-SVM, where Z are the inputs.
    factors, Cs : sequence of float
        The grid: σ² = factor · (number of blocks), and C.
    n_folds : int
        Stratified, seeded.
    squared : bool
        Squared hinge loss; otherwise the hinge.
    memory : int
        Bytes for distances and kernel values.
    progress : Progress
        Told a `GridPoint` after each point.

    Raises
    ------
    ValueError
        If a class has fewer than two rows.
    MemoryError
        If the matrix of distances does not fit in half the memory; says how much it needs.
    """
    n = len(codes)
    if 4 * n * n > memory // 2:
        raise MemoryError(
            f"a grid on {n} rows shares {4 * n * n / 1e6:.0f} MB of distances, more than half of the "
            f"{memory / 1e6:.0f} MB it may use; raise the memory or search on fewer rows"
        )
    steady = MonotonicProgress(progress)
    pulse = steady.pulse
    folds = stratified_folds(codes, n_folds, seed)
    sizes = block_sizes(Z.shape[1], groups)
    widths = widths_from(median_distances(Z, sizes, seed=seed, progress=pulse))
    distances = Vectors(Embedding.of(Z, sizes, widths, pulse)(Z, progress=pulse)).distances(pulse)
    options = SolverOptions(squared, 1.0, memory=memory // 2, seed=seed)
    judged = CrossValidation(distances, codes, folds, options)
    points: list[GridPoint] = []
    total = len(factors) * len(Cs) + len(FINER)

    def judge(sigma: float, Cs: Sequence[float]) -> None:
        for C in Cs:
            wrong = judged.wrong(1.0 / sigma**2, C, range(n_folds), pulse)
            points.append(GridPoint(sigma, C, float(np.mean(wrong))))
            steady.report(len(points) / total, points[-1])

    for factor in factors:
        judge(float(np.sqrt(factor * len(sizes))), Cs)
    coarse = min(points, key=_error)
    for factor in FINER:
        judge(coarse.sigma * factor**0.5, (coarse.C,))
    best = min(points, key=_error)
    return GridResult(best.sigma, best.C, tuple((best.sigma * widths).tolist()), tuple(points))


def grid_bytes(n: int, columns: int, memory: int, n_folds: int = 5) -> int:
    """Return about how many bytes `median_width_search` takes at its peak, above its input."""
    return 4 * n * n + 4 * n * columns + largest_store(n - n // n_folds, memory // 2)


def _error(point: GridPoint) -> float:
    return point.error


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
    weights: Array | None = None,
) -> tuple[float, float]:
    """Return the scale and the C with the fewest errors, by weight, on a stratified fifth; the first of equals.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        At most 10 000 rows are used, stratified.
    codes : ndarray of int, shape (n,)
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
    weights : ndarray of shape (n,), optional
        Of the rows.
    """
    points = [(scale, C) for scale in scales for C in Cs]
    rows = stratified_subset(codes, MOST_ROWS, parameters.seed)
    fresh = np.ones(len(rows), bool) if learned_on is None else ~np.isin(rows, learned_on)
    if len(points) == 1 or np.bincount(codes[rows][fresh]).max(initial=0) < 2:
        return points[0]
    held_out = held_out_mask(codes[rows], parameters.seed, fresh)
    inside, outside = rows[~held_out], rows[held_out]
    steady = MonotonicProgress(progress)
    fitted, judged = take_rows(Z, inside, steady.pulse), take_rows(Z, outside, steady.pulse)
    best, fewest = points[0], np.inf
    medians, counting = np.ones(len(sizes)), at(relative(weights), outside)
    some = None if weights is None else weights[inside]
    for number, (scale, C) in enumerate(points):
        steady.report(number / len(points), Stage("trying scales and C", number, len(points)))
        at_point = sizes, widths * scale, C, parameters
        model = train(fitted, codes[inside], *at_point, medians=medians, weights=some, progress=steady.pulse)
        wrong = float(np.sum(counting * (model.predict(judged, progress=steady.pulse) != codes[outside])))
        if wrong < fewest:
            best, fewest = (scale, C), wrong
    return best


Point = tuple[float, float]  # rate 1/scale², C


_FACTORS = (0.1, 0.3, 1.0, 3.0)  # σ_t² = factor · L · median D_t
_CS = (1.0, 10.0, 100.0)
_HINGE_CS = (*_CS, 1000.0)
_HARDER = (1.0, 3.0, 10.0)  # of the learned C: what is smooth or squared likes a softer margin than the error does
_FOLDS = 5
_FEW = 250  # rows whose errors tell which points of a grid are worth all folds
_BEST = 3
_MARGIN = 2.0  # standard errors of the difference
_STEPS_A_ROW = 100  # pair steps of one training: what is not solved by then is judged as it is


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
    as not; a criterion that collapses is found out by 2.3 and more on 500 rows, and by far more on 2 000. Rows with
    weights count by them.

    Parameters
    ----------
    sample : WidthsSample
        The rows learned on.
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
    n, steady = len(sample.codes), MonotonicProgress(progress)
    folds = stratified_folds(sample.codes, _FOLDS, seed)
    options = SolverOptions(squared, 1.0, max_iter=_STEPS_A_ROW * n, memory=memory // 2, seed=seed)
    learned_Cs = (tuple(learned.C * factor for factor in _HARDER) if squared else _HINGE_CS) if C is None else (C,)
    Cs = (_CS if squared else _HINGE_CS) if C is None else (C,)
    weights = np.broadcast_to(relative(sample.weights), n)

    def best(widths: Array, points: list[Point], done: float) -> tuple[Point, NDArray[np.bool_]]:
        """Return the point with the fewest errors over all folds, of the best few on the first folds."""
        judge = CrossValidation(sample.exponents(widths, steady.pulse), sample.codes, folds, options, sample.weights)
        first = min(_FOLDS, -(-_FEW * _FOLDS // n)) if len(points) > _BEST else _FOLDS
        wrong: dict[Point, NDArray[np.bool_]] = {}
        early = folds < first
        rows = np.concatenate([np.flatnonzero(early), np.flatnonzero(~early)])

        def errors(point: Point) -> float:
            return float(weights[rows[: len(wrong[point])]] @ wrong[point])

        for number, point in enumerate(points):
            steady.report(done + 0.3 * number / len(points), Stage("comparing with median widths"))
            wrong[point] = judge.wrong(*point, range(first), steady.pulse)
        if first < _FOLDS:
            points = sorted(sorted(points, key=errors)[:_BEST])
            for number, point in enumerate(points):
                steady.report(done + 0.3 + 0.2 * number / len(points))
                rest = judge.wrong(*point, range(first, _FOLDS), steady.pulse)
                wrong[point] = np.concatenate([wrong[point], rest])
        least = min(points, key=errors)
        judged = np.empty(n, bool)
        judged[rows] = wrong[least]  # they were judged fold by fold
        return least, judged

    medians = widths_from(sample.medians, float(len(sample.medians)))
    (_, learned_C), ours = best(np.asarray(learned.widths), [(1.0, each) for each in learned_Cs], 0.0)
    grid = [(1.0 / factor, each) for factor in _FACTORS for each in Cs]
    (rate, median_C), theirs = best(medians, grid, 0.5)
    only_ours, only_theirs = weights[ours & ~theirs], weights[theirs & ~ours]
    deviation = np.sqrt(np.square(only_ours).sum() + np.square(only_theirs).sum())
    better = only_ours.sum() - only_theirs.sum() > _MARGIN * deviation
    errors_by_weight = (float((weights * each).sum() / n) for each in (ours, theirs))
    chosen = ChosenBy(learned.criterion, bool(better), *errors_by_weight)
    progress.report(1.0, chosen)
    if better:
        return medians / np.sqrt(rate), median_C, chosen
    return np.asarray(learned.widths), learned_C, chosen
