"""One global width and C by cross-validation over a grid: the alternatives to learning (paper, "SVM Training").

Raw-SVM is one width on the raw input; the other variant fixes σ_t² to the median squared distance in layer t and
chooses the global σ of k = exp(−(1/σ²) Σ_t D_t/σ_t²). The distances are made once and shared by the whole grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.distances import block_sizes, median_distances, widths_from
from slide_gui.core.kernel import Embedding, Gram, Vectors
from slide_gui.core.pulse import Steady
from slide_gui.core.svm_decomposition import SolverOptions, solve
from slide_gui.core.svm_multiclass import class_scores, pairs_of
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["CrossValidation", "GridPoint", "GridResult", "median_width_search", "stratified_folds"]

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
    """

    def __init__(self, distances: NDArray[np.floating], codes: Indices, folds: Indices, options: SolverOptions) -> None:
        self._distances, self._codes, self._folds, self._options = distances, codes, folds, options
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
            found = solve(source.take(members), y, options, start=start, progress=progress)
            self._starts[fold, pair[0], pair[1]] = found.beta
            support = np.flatnonzero(found.beta)
            values = source.between(outside, members[support], progress=progress)
            margins[:, column] = values @ found.beta[support] + found.bias
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
    seed : int
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
    steady = Steady(progress)
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


def _error(point: GridPoint) -> float:
    return point.error
