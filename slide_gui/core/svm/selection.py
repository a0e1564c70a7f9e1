"""Select widths and C by cross-validation and on held-out rows, and train a multi-width SVM with these values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices, take_rows
from slide_gui.core.sampling import N_FOLDS, deal_folds, held_out_mask, stratified_folds, stratified_subset
from slide_gui.core.svm import kernel
from slide_gui.core.svm.decomposition import SolverOptions, largest_store, solve
from slide_gui.core.svm.kernel import DistanceRows, Embedding
from slide_gui.core.svm.model import SvmModel, TrainedSvm, pairs_of, predicted_codes
from slide_gui.core.svm.parameters import LOSSES, Candidate, ChosenBy, GridPoint, SelectedWidths, SvmParameters
from slide_gui.core.svm.training import StepLog, TrainingSet, rows_of, train
from slide_gui.core.svm.widths import WidthsSample, learn_widths
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress, Stage

if TYPE_CHECKING:
    from distributed import Client

SIGMA_FACTORS = (0.1, 0.3, 1.0, 3.0)  # values of σ² in the grid, divided by the number of layers
C_GRID = (1.0, 10.0, 100.0, 1000.0)
FINER = (2.0 / 3.0, 1.5)  # after the grid search, the best σ² is multiplied by each factor and evaluated again


def _folds(codes: Indices, seed: int, row_groups: Indices | None) -> Indices:
    """Return the fold of each row. If the rows have groups, all rows of a group are in the same fold.

    Raises
    ------
    ValueError
        If a class has fewer than two rows.
    """
    counts = np.bincount(codes)
    if counts.min() < 2:
        problem = f"a class has only {counts.min()} of the {len(codes)} training rows, but cross-validation needs two"
        raise ValueError(f"{problem}; use another split, add rows of this class, or leave the class out")
    return stratified_folds(codes, seed) if row_groups is None else deal_folds(codes, row_groups, seed)


@dataclass
class CrossValidation:
    """Cross-validation of SVMs with kernels exp(−factor · D), where D is a fixed matrix of squared distances.

    For each fold, SVMs are trained on the rows outside the fold and evaluated on the rows of the fold. If `wrong` is
    called again with the same kernel, training for each fold starts from the solution at the previous C.

    Parameters
    ----------
    distances : ndarray of shape (n, n), float32 or float64
        Matrix D.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1.
    folds : ndarray of int, shape (n,)
        Fold of each row, as `stratified_folds` returns it.
    options : SolverOptions
        Options of the solver. Their C is replaced by the argument `C` of `wrong`.
    weights : ndarray of shape (n,), optional
        Weights of the rows in training.
    log : StepLog
        Log of finished steps, from which cancelled training resumes. Each call of `wrong` is one step.
    """

    distances: NDArray[np.floating]
    codes: Indices
    folds: Indices
    options: SolverOptions
    weights: Array | None = None
    log: StepLog = field(default_factory=StepLog)
    _factor: float = np.nan
    _starts: dict[tuple[int, int, int], Array] = field(default_factory=dict)

    def wrong(
        self, factor: float, C: float, folds: Sequence[int], progress: Progress = NO_PROGRESS
    ) -> tuple[NDArray[np.bool_], bool]:
        """Return a mask of the misclassified rows in the given folds, and whether the solver converged.

        The second value is True only if the solver converged for every fold and every pair of classes.
        """
        if factor != self._factor:
            self._factor, self._starts = factor, {}
        return self.log.step(lambda: self._evaluated(factor, C, folds, progress), self._starts)

    def _evaluated(
        self, factor: float, C: float, folds: Sequence[int], progress: Progress
    ) -> tuple[NDArray[np.bool_], bool]:
        source = DistanceRows(self.distances, np.arange(len(self.codes)), factor)
        wrong, converged = np.zeros(len(self.codes), bool), True
        for fold in folds:
            wrong[self.folds == fold], solved = self._misclassified(source, C, fold, progress)
            converged = converged and solved
        return wrong[np.isin(self.folds, folds)], converged

    def _misclassified(
        self, source: DistanceRows, C: float, fold: int, progress: Progress
    ) -> tuple[NDArray[np.bool_], bool]:
        """Return a mask of the misclassified rows in one fold, and whether the solver converged for every pair."""
        codes, inside = self.codes, self.folds != fold
        n_classes = int(codes.max()) + 1
        outside = np.flatnonzero(~inside)
        trained: list[tuple[Indices, Array, float]] = []  # per pair of classes: indices of the support vectors, β, bias
        converged = True
        for pair in pairs_of(n_classes):
            members = np.flatnonzero(inside & ((codes == pair[0]) | (codes == pair[1])))
            y = np.where(codes[members] == pair[1], 1.0, -1.0)
            options, start = replace(self.options, C=C), self._starts.get((fold, *pair))
            weights = rows_of(self.weights, members)
            solution = solve(source.take(members), y, options, weights=weights, start=start, progress=progress)
            self._starts[fold, pair[0], pair[1]] = solution.beta
            converged = converged and solution.converged
            support = np.flatnonzero(solution.beta)
            trained.append((members[support], solution.beta[support], solution.bias))
        # A row can be a support vector of several pairs. To save time, its kernel values are computed only once.
        support = np.unique(np.concatenate([members for members, _, _ in trained]))
        values = source.kernel(outside, support, progress=progress)
        margins = np.empty((len(outside), len(trained)))
        for column, (members, beta, bias) in enumerate(trained):
            margins[:, column] = np.take(values, np.searchsorted(support, members), axis=1) @ beta + bias
        return predicted_codes(margins, n_classes) != codes[outside], converged


def median_width_search(
    data: TrainingSet, parameters: SvmParameters, *, progress: Progress = NO_PROGRESS
) -> SelectedWidths:
    """Select σ and C of the kernel exp(−(1/σ²) Σ_t D_t/σ_t²) by cross-validation, with σ_t² fixed at the median of D_t.

    D_t are the squared distances in layer t. A grid of σ and C is evaluated first, then two more values of σ near the
    best σ. If C is given, it is used at all values of σ. In a tie, the point that was evaluated first is selected. All
    rows of a group are in the same fold.

    Parameters
    ----------
    data : TrainingSet
        Rows without weights. If their columns are the raw features as a single layer, the result is the Raw-SVM.
    parameters : SvmParameters
        Loss, C, memory and seed are used. Distances between n rows take 4 n² bytes. Training may use half of `memory`.
    progress : Progress
        Receives a `GridPoint` after each evaluation of σ and C.

    Raises
    ------
    ValueError
        If a class has fewer than two rows.
    MemoryError
        If the distances need more memory than is free, or if half of `parameters.memory` is not enough for training.
    """
    Z, sizes, n, memory, seed = data.Z, data.sizes, len(data.codes), parameters.memory, parameters.seed
    check_free(4 * n * n, f"a grid search on {n} rows", "use fewer rows")
    steady = MonotonicProgress(progress)
    pulse = steady.pulse
    folds = _folds(data.codes, seed, data.row_groups)
    n_held_out = max(int(np.count_nonzero(folds >= 0)), 1)
    widths = kernel.widths_from(kernel.median_distances(Z, sizes, seed=seed, progress=pulse))
    embedding = Embedding.of(Z, sizes, widths, pulse)
    vectors = embedding(Z, progress=pulse)
    if kernel.kernel_rounding(kernel.squared_norms(vectors)) > kernel.COARSE:
        vectors = embedding(Z, dtype=np.float64, progress=pulse)
    distances = kernel.vector_distances(vectors, np.float32, pulse)
    del vectors
    options = SolverOptions(LOSSES[parameters.loss].squared, 1.0, memory=memory // 2, seed=seed)
    validation = CrossValidation(distances, data.codes, folds, options, log=data.log)
    Cs = C_GRID if parameters.C is None else (parameters.C,)
    points: list[GridPoint] = []
    total = len(SIGMA_FACTORS) * len(Cs) + len(FINER)

    def evaluate(sigma: float, C: float) -> None:
        wrong, converged = validation.wrong(1.0 / sigma**2, C, range(N_FOLDS), pulse)
        points.append(GridPoint(sigma, C, np.count_nonzero(wrong) / n_held_out, converged))
        steady.report(_spent(len(points) / total), points[-1])

    for factor in SIGMA_FACTORS:
        for C in Cs:
            evaluate(float(np.sqrt(factor * len(sizes))), C)
    coarse = min(points, key=lambda point: point.error)
    for factor in FINER:
        evaluate(coarse.sigma * factor**0.5, coarse.C)
    best = min(points, key=lambda point: point.error)
    return SelectedWidths(best.sigma * widths, best.C, grid=tuple(points))


GLOBAL_SCALES = (1.0, 0.3**0.5, 0.1**0.5, 3.0**0.5)
NEAR_SCALES = (1.0, 0.5**0.5, 2.0**0.5)
NEAR_CS = (1.0, 0.3, 3.0)
# Default for the largest number of rows that `tune` uses.
MOST_ROWS = 10_000

_MOST_HELD_OUT = 10_000


def _spent(done: float) -> float:
    """Return the fraction of the search's duration that has passed, given the fraction of grid points evaluated so far.

    The two fractions differ because the largest widths are evaluated last. With two classes, these widths take up to
    three times as long as the other widths.
    """
    return (2 * done + done**2) / 3


def enough_fresh(n_learned_on: int, n_rows: int) -> bool:
    """Return True if at least a fifth of all rows were not used for learning.

    These rows suffice to evaluate the learned widths.
    """
    return 5 * (n_rows - n_learned_on) >= n_rows


def few_rows(n_rows: int) -> bool:
    """Return True if one fold has too few rows to compare widths. Two folds are then held out, one at a time."""
    return n_rows < N_FOLDS * _EVALUATED


def tune(
    data: TrainingSet,
    widths: Array,
    scales: Sequence[float],
    Cs: Sequence[float],
    parameters: SvmParameters,
    progress: Progress = NO_PROGRESS,
    *,
    learned_on: Indices | None = None,
    most_rows: int = MOST_ROWS,
) -> tuple[float, float]:
    """Return the scale of the widths and the value of C for which the SVM misclassifies the fewest held-out rows.

    The held-out rows are a stratified fifth of the rows, at most about 10 000 rows. If the rows have weights, the total
    weight of the misclassified rows is compared. In a tie, or if no row can be held out, the first point of the grid is
    returned.

    Parameters
    ----------
    data : TrainingSet
        Rows, of which a stratified subset of at most `most_rows` is used. A row is not held out if another row
        of its group is used for training or for learning the widths.
    widths : ndarray of shape (L,)
        Widths, which are multiplied by each scale.
    scales, Cs : sequence of float
        The grid contains every combination of a scale and a C.
    parameters : SvmParameters
        Loss, tolerance, memory and seed are used.
    progress : Progress
        Receives progress reports; raises `Cancelled` to stop the search.
    learned_on : ndarray of int, optional
        Indices of the rows that the widths were learned on. They are not held out, because an SVM with these widths
        misclassifies fewer of them than of other rows.
    """
    points = [(scale, C) for scale in scales for C in Cs]
    rows = stratified_subset(data.codes, most_rows, parameters.seed)
    codes, fresh = data.codes[rows], np.ones(len(rows), bool) if learned_on is None else ~np.isin(rows, learned_on)
    if len(points) == 1 or np.bincount(codes[fresh]).max(initial=0) < 2:
        return points[0]
    held_out = held_out_mask(codes, parameters.seed, fresh, rows_of(data.row_groups, rows))
    if not held_out.any():
        return points[0]
    if data.row_groups is None and np.count_nonzero(held_out) > _MOST_HELD_OUT:
        some = np.flatnonzero(held_out)
        held_out[:] = False
        held_out[some[stratified_subset(codes[some], _MOST_HELD_OUT, parameters.seed)]] = True
    steady = MonotonicProgress(progress)
    fitted, held_out_rows = (data.take(some, steady.pulse) for some in (rows[~held_out], rows[held_out]))
    best, fewest, medians = points[0], np.inf, np.ones(len(data.sizes))

    def errors(scale: float, C: float) -> float:
        point = SelectedWidths(widths * scale, C)
        model = train(fitted, point, parameters, medians=medians, exact=False, progress=steady.pulse)
        wrong = model.predict(held_out_rows.Z, progress=steady.pulse) != held_out_rows.codes
        return _total(wrong, held_out_rows.weights)

    for number, (scale, C) in enumerate(points):
        steady.report(_spent(number / len(points)), Stage("trying scales and C", number, len(points)))
        total = data.log.step(partial(errors, scale, C))
        if total < fewest:
            best, fewest = (scale, C), total
    return best


_SCALES = tuple(np.sqrt(SIGMA_FACTORS).tolist())  # factors by which the median widths are multiplied
# Factors by which the learned C is multiplied. The learned C is often too small, because learning uses a smoothed
# error.
_C_FACTORS = (1.0, 3.0, 10.0)
_FEW = 250  # number of rows on which all candidates are evaluated; only the best candidates are evaluated on more rows
_BEST = 3  # largest number of candidates that are evaluated on more rows
_EVALUATED = 200  # smallest number of rows in a fold for which one held-out fold suffices to compare widths
_MOST_EVALUATED = 5000
_BLOCK = 500
# Largest number of SMO steps for one two-class problem, divided by the number of training rows. If the solver reaches
# this number, `converged` of the candidate is False.
_STEPS_PER_ROW = 100


def choose_widths(
    data: TrainingSet, sample: WidthsSample, parameters: SvmParameters, progress: Progress = NO_PROGRESS
) -> SelectedWidths:
    """Learn widths, compare them with median widths on held-out rows, and return the widths with fewer errors.

    If at least a fifth of all rows are outside the sample, up to 5 000 rows outside the sample are held out. Learned
    and median widths are then fitted to the sample and evaluated on the held-out rows.

    Otherwise a fifth of the sample is held out, or two fifths, one at a time, if a fifth has fewer than 200 rows.
    Learned and median widths are fitted to the remaining rows and evaluated on the held-out fifth. The widths with
    fewer errors on all held-out rows, or the learned widths in a tie, are fitted again to the entire sample.

    In each fit, cross-validation on the fitted rows selects C and the scale of the median widths. If the rows have
    groups, held-out rows always belong to the sample, and all rows of a group are held out together.

    Parameters
    ----------
    data : TrainingSet
        All rows.
    sample : WidthsSample
        Rows that the widths are learned on.
    parameters : SvmParameters
        While a fifth of the sample is held out, learning on the other rows does not start from the widths in `near`.
    progress : Progress
        Receives each `WidthsStep` of learning on the entire sample, and finally a `ChosenBy`.
    """
    comparison = _Comparison(parameters, progress)
    if sample.row_groups is None and enough_fresh(len(sample.rows), len(data.codes)):
        selected = comparison.on_fresh_rows(sample, data)
    else:
        selected = comparison.on_folds(sample)
    progress.report(1.0, selected.chosen)
    return selected


class _Comparison:
    """A comparison of learned widths and median widths, which records all evaluated candidates."""

    def __init__(self, parameters: SvmParameters, progress: Progress) -> None:
        self._parameters, self._progress = parameters, progress
        self._near = () if parameters.near is None else (parameters.near,)
        self._squared = LOSSES[parameters.loss].squared
        self._tried: list[Candidate] = []
        self._held_out: list[Candidate] = []

    def on_fresh_rows(self, sample: WidthsSample, data: TrainingSet) -> SelectedWidths:
        """Compare the errors of learned and median widths on rows outside the sample on which widths are learned."""
        learned = learn_widths(sample, self._parameters, self._near, progress=self._progress.part(0.0, 0.5))
        if np.bincount(sample.codes).min() < 2:
            return learned  # a class has only one row, which cannot be held out
        steady = MonotonicProgress(self._progress.part(0.5, 1.0))
        both = self._selected(sample, learned, steady.part(0.0, 0.8))
        outside = np.setdiff1d(np.arange(len(data.codes)), sample.rows)
        outside = outside[stratified_subset(data.codes[outside], _MOST_EVALUATED, self._parameters.seed)]
        fitted = data.take(sample.rows, steady.pulse)
        limited = replace(self._parameters, max_iter=_STEPS_PER_ROW * len(sample.rows))

        def errors(point: SelectedWidths) -> tuple[NDArray[np.bool_], bool]:
            model = train(fitted, point, limited, medians=sample.medians, exact=False, progress=steady.pulse)
            blocks = [outside[top : top + _BLOCK] for top in range(0, len(outside), _BLOCK)]
            predicted = [model.predict(take_rows(data.Z, rows, steady.pulse), progress=steady.pulse) for rows in blocks]
            return np.concatenate(predicted) != data.codes[outside], model.trained.converged

        for widths, best in both:
            wrong, converged = sample.log.step(partial(errors, SelectedWidths(widths, best.C)))
            self._held_out.append(_counted(best, wrong, rows_of(data.weights, outside), converged))
        chosen = self._decision(learned)
        widths, best = both[chosen.guarded]
        return SelectedWidths(widths, best.C, learned.history, chosen)

    def on_folds(self, sample: WidthsSample) -> SelectedWidths:
        """Compare learned and median widths on folds of the sample, and fit the better widths to the entire sample."""
        learned, codes = None, sample.codes
        if np.bincount(codes).min() > 2:
            folds = _folds(codes, self._parameters.seed, sample.row_groups)
            n_held_out, more_pairs = 2 if few_rows(len(codes)) else 1, len(pairs_of(int(codes.max()) + 1)) - 1
            # Estimated fraction of the time per fold that is spent on learning widths. Comparing the widths takes
            # the rest.
            learning = 1.0 / (1.5 + 100 * more_pairs / len(codes))
            # Estimated fraction of the total time that the folds take. The fit to the entire sample takes the rest.
            held_out_time = 0.9 if n_held_out == 2 else 0.75
            # A fold is not held out if fewer than two rows of a class would remain, because cross-validation needs two.
            usable = [f for f in np.unique(folds[folds >= 0]).tolist() if np.bincount(codes[folds != f]).min() > 1]
            for number, fold in enumerate(usable[:n_held_out]):
                share = held_out_time / n_held_out
                steady = MonotonicProgress(self._progress.part(number * share, (number + 1) * share))
                steady.report(0.0, Stage("learning widths to compare with median widths", number, n_held_out))
                inside = sample.on(np.flatnonzero(folds != fold), steady.pulse)
                try:
                    learned = learn_widths(inside, self._parameters, progress=_without_steps(steady, learning))
                except ValueError:
                    # The criterion is not finite on these rows, but it may be finite on the entire sample.
                    continue
                both = self._selected(inside, learned, steady.part(learning, 1.0))
                C, learned_C = both[0][1].C, learned.C
                for widths, best in both:
                    validation = self._cross_validation(sample, widths, folds, steady.pulse)
                    wrong, converged = validation.wrong(1.0, best.C, [fold], steady.pulse)
                    self._held_out.append(_counted(best, wrong, rows_of(sample.weights, folds == fold), converged))
        if learned is None:
            return learn_widths(sample, self._parameters, self._near, progress=self._progress)
        chosen = self._decision(learned)
        steady = MonotonicProgress(self._progress.part(held_out_time, 1.0))
        if chosen.guarded:
            widths, best, _ = self._best(sample, None, steady)
            return SelectedWidths(widths, best.C, learned.history, chosen)
        near, only_near = (*self._near, (learned.widths, learned.C)), replace(self._parameters, starts=0)
        learned = learn_widths(sample, only_near, near, progress=steady)
        if self._squared:
            C *= learned.C / learned_C
        return SelectedWidths(learned.widths, C, learned.history, chosen)

    def _selected(
        self, sample: WidthsSample, learned: SelectedWidths, progress: Progress
    ) -> list[tuple[Array, Candidate]]:
        progress.report(0.0, Stage("comparing learned and median widths"))
        widths, best, wrong = self._best(sample, learned, progress.part(0.0, 0.25))
        median_widths, median, _ = self._best(sample, None, progress.part(0.25, 1.0), wrong)
        return [(widths, best), (median_widths, median)]

    def _best(
        self,
        sample: WidthsSample,
        learned: SelectedWidths | None,
        progress: Progress,
        baseline: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, Candidate, NDArray[np.bool_]]:
        """Find the candidate with the fewest errors in cross-validation.

        Return its widths, the candidate, and a mask of the rows that it misclassifies. The candidates have the widths
        `learned`, or multiples of the median widths if `learned` is None. Only the best candidates on the first folds
        are evaluated on more folds. The search ends as soon as one candidate is clearly better than the others, or all
        candidates are clearly worse than `baseline`.

        Parameters
        ----------
        baseline : ndarray of bool, optional
            Mask of the rows that the best candidate with learned widths misclassified in the same cross-validation.
        """
        if learned is None:
            kind, widths, scales = "median", kernel.widths_from(sample.medians, float(len(sample.medians))), _SCALES
        else:
            kind, widths, scales = "learned", learned.widths, (1.0,)
        if self._parameters.C is not None:
            Cs: Sequence[float] = (self._parameters.C,)
        elif self._squared and learned is not None:
            Cs = [learned.C * factor for factor in _C_FACTORS]
        else:
            Cs = C_GRID
        steady = MonotonicProgress(progress)
        folds = _folds(sample.codes, self._parameters.seed, sample.row_groups)
        validation = self._cross_validation(sample, widths, folds, steady.pulse)
        points = [Candidate(kind, scale, C) for scale in scales for C in Cs]
        wrong, left, best = np.zeros((len(points), len(folds)), bool), list(range(len(points))), 0
        seen = [int(np.count_nonzero((folds >= 0) & (folds <= fold))) for fold in range(N_FOLDS)]
        # Largest number of candidates that are evaluated on each fold.
        evaluated = [_BEST if n >= _FEW else len(points) for n in (0, *seen[:-1])]
        for fold in range(N_FOLDS):
            now = (folds >= 0) & (folds <= fold)
            for place, number in enumerate(left):
                steady.report((sum(evaluated[:fold]) + place) / sum(evaluated))
                point = points[number]
                wrong[number, folds == fold], converged = validation.wrong(
                    point.scale**-2.0, point.C, [fold], steady.pulse
                )
                some = wrong[number, now], rows_of(sample.weights, now)
                points[number] = _counted(point, *some, converged and point.converged)
            best = min(left, key=lambda number: points[number].wrong)
            if seen[fold] >= _FEW:
                left = sorted(sorted(left, key=lambda number: points[number].wrong)[:_BEST])
                left = [n for n in left if not _clearly_worse(wrong[n], wrong[best], sample.weights)]
                worse = baseline is not None and _clearly_worse(wrong[best], baseline & now, sample.weights)
                if worse or len(left) == 1:
                    break
                # The search for the best learned widths may have stopped after this fold. In this case, `baseline` has
                # no results for the following folds. It is therefore not used for these folds.
                baseline = None
        self._tried += points
        return widths * points[best].scale, points[best], wrong[best]

    def _cross_validation(
        self, sample: WidthsSample, widths: Array, folds: Indices, progress: Progress
    ) -> CrossValidation:
        given, limit = self._parameters, _STEPS_PER_ROW * len(folds)
        options = SolverOptions(self._squared, 1.0, max_iter=limit, memory=given.memory // 2, seed=given.seed)
        distances = sample.exponents(widths, progress)
        return CrossValidation(distances, sample.codes, folds, options, sample.weights, sample.log)

    def _decision(self, learned_widths: SelectedWidths) -> ChosenBy:
        """Select learned or median widths by their errors on all held-out rows. Return a record of the selection."""
        assert learned_widths.chosen is not None
        by_kind = [[each for each in self._held_out if each.kind == kind] for kind in ("learned", "median")]
        learned, median = (math.fsum(each.wrong for each in some) for some in by_kind)
        total = math.fsum(each.total for each in by_kind[0])
        n_rows = sum(each.n_rows for each in by_kind[0])
        candidates = (*self._tried, *self._held_out)
        criterion = learned_widths.chosen.criterion
        return ChosenBy(criterion, median < learned, learned / total, median / total, n_rows, candidates)


def _clearly_worse(wrong: NDArray[np.bool_], other: NDArray[np.bool_], weights: Array | None) -> bool:
    """Return True if `wrong` has more errors than `other`, by more than two standard errors of the difference."""
    difference = (wrong.astype(np.float64) - other) * (1.0 if weights is None else weights)
    return bool(difference.sum() > 2.0 * np.sqrt(np.square(difference).sum()))


def _without_steps(progress: Progress, end: float) -> Progress:
    """Return a `Progress` that multiplies each fraction by `end`, forwards it to `progress`, and drops the payload.

    The payloads are iterations of learning widths. They are not reported if these widths are only learned to compare
    them with median widths.
    """
    return Listener(lambda fraction, _: progress.report(end * fraction))


def _total(counts: NDArray[np.bool_], weights: Array | None) -> float:
    """Return the number of True entries in a mask.

    If weights are given, return the exactly rounded sum of the weights of these entries instead.
    """
    return int(np.count_nonzero(counts)) if weights is None else math.fsum(weights[counts])


def _counted(point: Candidate, wrong: NDArray[np.bool_], weights: Array | None, converged: bool) -> Candidate:
    total = _total(np.ones(len(wrong), bool), weights)
    return replace(point, wrong=_total(wrong, weights), total=total, n_rows=len(wrong), converged=converged)


_MEDIAN_ROWS = 1000
# If widths are given, the median distances affect only `shares`, so fewer rows suffice to compute them.
_SHARES_ROWS = 500


def fit_svm(
    Z: NDArray[np.floating],
    codes: Indices,
    parameters: SvmParameters,
    *,
    weights: Array | None = None,
    row_groups: Indices | None = None,
    start: TrainedSvm | None = None,
    progress: Progress = NO_PROGRESS,
    client: "Client | None" = None,
    log: StepLog | None = None,
) -> SvmModel:
    """Select widths and C as `parameters` specify, then train a multi-width SVM on all rows.

    Parameters
    ----------
    Z : ndarray or memmap of shape (n, d), float32 or float64
        Rows [h⁰, h¹, …], which are read in blocks.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1, each present, with k ≥ 2.
    weights : ndarray of shape (n,), optional
        Positive weights of the rows. In the final training, C is multiplied for each row by its weight. If widths or C
        are selected, errors are weighted. The subset, the held-out rows and the median distances ignore weights.
    row_groups : ndarray of int, shape (n,), optional
        Group of each row, such as the patient. When rows are split to select widths and C, the rows of a group stay
        together.
    start : TrainedSvm, optional
        SVM trained on a similar representation of the same rows; the solver starts from its coefficients.
    progress : Progress
        Receives a `WidthsStep` at each step of learning the widths, then a `TrainingStep` at each step of the solver.
    client : distributed.Client, optional
        Client of a Dask cluster, whose workers train the pairs of classes at the selected widths and C in parallel.
    log : StepLog, optional
        Log of the same training if it was cancelled earlier. Its finished steps are not repeated.

    Raises
    ------
    ValueError
        If a parameter has an invalid value, if there are fewer than two classes, or if weights are given and the
        criterion is not defined with weights.
    MemoryError
        If `parameters.memory` is too small, or if too little memory is free. The message gives the required memory.
    Cancelled
        If `progress` raises it because the job was cancelled.
    """
    parameters = parameters.checked()
    codes = np.asarray(codes)
    n_classes = int(codes.max()) + 1
    if n_classes < 2:
        raise ValueError("all rows belong to one class; training needs at least two classes")
    sizes = kernel.block_sizes(Z.shape[1], parameters.groups)
    most = _SHARES_ROWS if not isinstance(parameters.widths, str) else _MEDIAN_ROWS
    needed, rows = training_bytes(np.bincount(codes).tolist(), Z.shape[1], parameters), len(codes)
    check_free(needed, f"training on {rows} rows of {Z.shape[1]} columns", "use fewer rows or lower the memory limit")
    pulse = progress.part(0.0, 0.0)
    kernel.refuse_large(Z, pulse)
    medians = kernel.median_distances(Z, sizes, max_rows=most, seed=parameters.seed, progress=pulse)
    learned, selected_by = _shares(rows, n_classes, parameters)
    data = TrainingSet(Z, codes, sizes, weights, row_groups, StepLog() if log is None else log)
    selected = _selected_widths(data, medians, parameters, learned, progress.part(0.0, selected_by))
    rest = progress.part(selected_by, 1.0)
    return train(data, selected, parameters, medians=medians, start=start, progress=rest, client=client)


# Time for learning the widths, divided by the time for one training on the same n rows. Both times grow as n².
# The measured ratio was 31 on Convex, 47 on Rectangles and, with ten classes, 117 on MNIST.
_LEARNING = 20
_TRAINING = 0.4  # time of the final training, divided by the time of training in `tune`; measured on MNIST


def _shares(n: int, n_classes: int, parameters: SvmParameters) -> tuple[float, float]:
    """Return the estimated progress at the end of learning the widths and at the start of the final training.

    The first value is a fraction of the time for selecting widths and C, the second a fraction of the total time. After
    learning and before the final training, `tune` selects the scale of the widths and C.
    """
    subset, learns = min(n, parameters.subset_size), parameters.widths == "learn"
    learning = _LEARNING * math.sqrt(n_classes / 2) * subset**2 if learns else 0
    points = len(GLOBAL_SCALES if parameters.widths == "median" else NEAR_SCALES if learns else (1.0,))
    if not (parameters.retune and enough_fresh(subset, n) if learns else parameters.C is None):
        points = 0
    elif parameters.C is None:
        points *= len(NEAR_CS if learns else C_GRID)
    # For each point of the grid, an SVM is trained on four fifths of the rows and evaluated on the other fifth.
    tuning = points * 0.8 * min(n, parameters.retune_rows) ** 2
    return learning / max(learning + tuning, 1), (learning + tuning) / (learning + tuning + _TRAINING * n**2)


def training_bytes(counts: Sequence[int], columns: int, parameters: SvmParameters) -> int:
    """Return the approximate peak memory, in bytes, of `tune` and of the final training, in addition to the input.

    The memory for learning the widths is not included. `tune` copies up to `retune_rows` rows and trains on four fifths
    of them. The estimate assumes that all rows are support vectors.

    Parameters
    ----------
    counts : sequence of int
        Number of rows in each class.
    """
    n, learns = sum(counts), parameters.widths == "learn"
    needed = _solving_bytes(counts, columns, parameters.memory)
    if parameters.retune and enough_fresh(min(n, parameters.subset_size), n) if learns else parameters.C is None:
        copied = min(n, parameters.retune_rows)
        fitted = [math.ceil(0.8 * copied / n * count) for count in counts]
        needed = max(needed, 4 * copied * columns + _solving_bytes(fitted, columns, parameters.memory))
    return needed


def _solving_bytes(counts: Sequence[int], columns: int, memory: int) -> int:
    """Return the number of bytes that training at given widths and C needs in addition to the input.

    This memory contains scaled rows, support vectors, and either kernel values or the coefficients of all pairs of
    classes, which are stored after the training.
    """
    rows = 4 * sum(counts) * columns
    left = max(memory - rows, 0)
    shared = min(left // 3, 4 * sum(count**2 for count in counts)) if len(counts) > 2 else 0
    kernel_values = shared + largest_store(sum(sorted(counts)[-2:]), left - shared)
    return 2 * rows + max(kernel_values, 4 * len(counts) * (len(counts) - 1) * sum(counts))


def _selected_widths(
    data: TrainingSet, medians: Array, parameters: SvmParameters, learned: float, progress: Progress
) -> SelectedWidths:
    """Return the widths and C for the final training.

    `learned` is the fraction of this function's duration that is spent on learning the widths.
    """
    given, layers = parameters.C, len(data.sizes)
    if parameters.widths == "learn":
        return _learned_widths(data, parameters, learned, progress)
    if isinstance(parameters.widths, str):
        scales: tuple[float, ...] = GLOBAL_SCALES
        widths = kernel.widths_from(medians, float(layers))
    else:
        widths, scales = np.asarray(parameters.widths, dtype=np.float64), (1.0,)
        if len(widths) != layers:
            raise ValueError(f"widths is {parameters.widths!r}; give {layers} positive numbers, one for each layer")
    if given is not None:
        return SelectedWidths(widths, given)
    again = min(parameters.retune_rows, len(data.codes)) > MOST_ROWS
    scale, C = tune(data, widths, scales, C_GRID, parameters, progress.part(0.0, 0.5 if again else 1.0))
    selected = SelectedWidths(widths * scale, C)
    return adjusted(data, selected, parameters, progress.part(0.5, 1.0)) if again else selected


def _learned_widths(data: TrainingSet, parameters: SvmParameters, learned: float, progress: Progress) -> SelectedWidths:
    sample = WidthsSample.of(data, parameters, progress.part(0.0, 0.05 * learned))
    selected = choose_widths(data, sample, parameters, progress.part(0.05 * learned, learned))
    rows = sample.rows
    del sample
    if not (parameters.retune and enough_fresh(len(rows), len(data.codes))):
        return selected
    return adjusted(data, selected, parameters, progress.part(learned, 1.0), learned_on=rows)


def adjusted(
    data: TrainingSet,
    selected: SelectedWidths,
    parameters: SvmParameters,
    progress: Progress = NO_PROGRESS,
    *,
    learned_on: Indices | None = None,
) -> SelectedWidths:
    """Return a copy of `selected` with all widths multiplied by one scale and, unless C is given, C by one factor.

    `tune` selects the scale and the factor on held-out rows.
    """
    Cs = tuple(selected.C * factor for factor in (NEAR_CS if parameters.C is None else (1.0,)))
    most = parameters.retune_rows
    scale, C = tune(data, selected.widths, NEAR_SCALES, Cs, parameters, progress, learned_on=learned_on, most_rows=most)
    return replace(selected, widths=selected.widths * scale, C=C)
