"""Select points of a sweep by validation error, and specify the runs that evaluate these points on the test set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from slide_gui.core.sda.model import SdaParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import splits_rate
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.text import place_name

Place = tuple[float, int]  # The noise level and the depth of a run.

_MOST_ROWS = 10**7
_NOTHING_HELD_OUT = "a selection needs validation errors; hold out part of the training set for validation (--on-split)"


@dataclass(frozen=True)
class PointResult:
    """A point of a sweep, that is, a combination of noise level, depth, split and seed, with its result.

    Attributes
    ----------
    point : SweepPoint
        Noise level, depth, split and seed of the run, with its specification.
    rate : ErrorRate
        Error rate on the rows that the run is evaluated on.
    validation_error : float or None
        Error on the validation rows of the split. None if there are no validation rows.
    seconds : float
        Duration of the run in seconds.
    chosen_by : str
        Key of the criterion that selected the kernel widths, or `GUARD` if median widths replaced the learned ones.
        Empty if no widths were learned, or the criterion is unknown.
    row_errors : bytes or None
        One bit per evaluated row, 1 if the row is misclassified, packed by `error_rate.row_errors`. None if unknown.
    validation_loss : float or None
        Mean hinge loss on the validation rows. None if unknown.
    best_epoch : int or None
        Epoch of fine-tuning after which the network had the smallest error on the validation rows. None without
        fine-tuning.
    """

    point: SweepPoint
    rate: ErrorRate
    validation_error: float | None
    seconds: float
    chosen_by: str = ""
    row_errors: bytes | None = None
    validation_loss: float | None = None
    best_epoch: int | None = None

    @classmethod
    def of(cls, point: SweepPoint, run: RunResult | StoredRun) -> "PointResult":
        """Return the result of a point of a sweep, given the computed or stored run of this point."""
        fit = run.chosen_by or "", run.row_errors, run.validation_loss, run.best_epoch
        return cls(point, run.rate, run.validation_error, run.seconds, *fit)


def choose(results: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Select one point (noise level and depth) for each combination of fold, split and seed by validation error.

    The point with the smallest error is selected. Several points often have the same error, because validation sets are
    small. Such ties are resolved by the following criteria, the most important one first:

    - the smallest mean error of the point and its two neighbours, which have the same depth and the next lower or next
      higher noise level
    - the fewest layers
    - the smallest noise level
    - the first position in `results`

    For methods that project the input (such as PCA), `RunSpec.kept` is used instead of the noise level. The selected
    points are sorted by fold, split and seed.

    Raises
    ------
    ValueError
        If a result has no validation error because its run was trained on the whole training set.
    """
    groups: dict[tuple[int, int, int], list[PointResult]] = {}
    for result in results:
        if result.validation_error is None:
            raise ValueError(_NOTHING_HELD_OUT)
        groups.setdefault((result.point.fold or 0, result.point.split, result.point.seed), []).append(result)
    return tuple(min(groups[key], key=_rank(groups[key])) for key in sorted(groups))


def mean_rate(results: Sequence[PointResult], *, every_split: bool = False) -> ErrorRate:
    """Return the mean error of several results with its confidence interval (`splits_rate`).

    If the data are divided into folds, the test results on all folds with the same split and seed are treated as one
    result. Validation results on several folds are averaged like other results, because a row can be a validation row
    in several folds.

    Parameters
    ----------
    results : sequence of PointResult
        Results of several splits and seeds. Some of them may share a run.
    every_split : bool
        True to count a run once for every split that selects it. Otherwise, a run is counted only once. Splits and
        seeds that have no effect on a run do not give independent results.

    Raises
    ------
    ValueError
        If there are no results.
    """
    draws: dict[object, list[PointResult]] = {}
    for number, result in enumerate(results):
        point = result.point
        alone = point.fold is None or point.spec.evaluate == "validation"
        draws.setdefault(number if alone else (point.split, point.seed), []).append(result)
    if not every_split:
        draws = {tuple(result.point.spec.hash for result in folds): folds for folds in draws.values()}
    rates = [ErrorRate.of_folds([result.rate for result in folds]) for folds in draws.values()]
    return splits_rate(rates, [tuple(result.row_errors for result in folds) for folds in draws.values()])


def pooled(results: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Combine the results of each candidate on all splits and seeds into one result.

    The `point` of the combined result is that of the first split and seed. The validation error is the error on the
    validation rows of all splits together, because one split has few validation rows. Runs that are evaluated on the
    test set do not record their number of validation rows, so their validation errors are averaged over the splits.

    Raises
    ------
    ValueError
        If a result has no validation error, or if not all splits have results at the same noise levels and depths.
    """
    groups: dict[object, list[PointResult]] = {}
    # Sort the results, because a cluster completes and stores the runs in any order.
    for result in sorted(results, key=lambda result: (result.point.split, result.point.seed)):
        groups.setdefault((result.point.noise, result.point.spec.drawn(0, 0)), []).append(result)
    if len({tuple((result.point.split, result.point.seed) for result in group) for group in groups.values()}) > 1:
        raise ValueError("the splits cover different noise levels and depths; compute the same on every split first")
    return tuple(map(_pooled, groups.values()))


def _pooled(group: Sequence[PointResult]) -> PointResult:
    first = group[0]
    if any(result.validation_error is None for result in group):
        raise ValueError(_NOTHING_HELD_OUT)
    if first.point.spec.evaluate != "validation":
        return replace(first, validation_error=float(_exact_mean(group)))
    rate = ErrorRate.of_folds([result.rate for result in group])
    losses = [result.validation_loss * result.rate.n for result in group if result.validation_loss is not None]
    epochs = [result.best_epoch for result in group if result.best_epoch is not None]
    return replace(
        first,
        rate=rate,
        validation_error=rate.error,
        validation_loss=sum(losses) / rate.n if len(losses) == len(group) else None,
        best_epoch=round(sum(epochs) / len(epochs)) if epochs else None,
    )


def chosen_places(results: Sequence[PointResult]) -> tuple[Place, ...]:
    """Return the distinct pairs of noise level and depth that `choose` selects from the `pooled` results.

    There are several pairs if different folds of the data select different points. The tuple is empty if validation
    errors are missing, or if not all splits have results at the same noise levels and depths.
    """
    try:
        chosen = choose(pooled(results))
    except ValueError:
        return ()
    return tuple(dict.fromkeys((result.point.noise, result.point.depth) for result in chosen))


def best_words(results: Sequence[PointResult]) -> str:
    """Describe the noise level and depth selected by validation error, or explain why no selection is possible.

    The description is empty if there are no results.
    """
    if not results:
        return ""
    places = chosen_places(results)
    if places:
        by_fold = " (differs between folds)" if len(places) > 1 else ""
        return f"best on validation{by_fold}: {'; '.join(place_name(noise, depth) for noise, depth in places)}"
    if any(result.validation_error is None for result in results):
        return "no noise level can be selected without validation rows; use --on-split --choose to select and test one"
    return "no noise level can be selected until all splits have results at the same noise levels and depths"


def _exact_mean(results: Sequence[PointResult]) -> Fraction:
    """Return the mean validation error as an exact fraction, so that rounding cannot make equal means unequal.

    Each error is a ratio of two numbers of rows, rounded to a float. The nearest fraction with a denominator of at most
    10⁷ is the original ratio.
    """
    errors = [Fraction(result.validation_error or 0.0).limit_denominator(_MOST_ROWS) for result in results]
    return sum(errors, Fraction()) / len(errors)


def _rank(results: Sequence[PointResult]) -> Callable[[PointResult], tuple[Fraction, Fraction, int, float]]:
    lines: dict[object, list[PointResult]] = {}
    for result in sorted(results, key=lambda result: _place(result.point)):
        lines.setdefault(_line(result.point), []).append(result)

    def rank(result: PointResult) -> tuple[Fraction, Fraction, int, float]:
        line = lines[_line(result.point)]
        here = line.index(result)
        around = _exact_mean(line[max(here - 1, 0) : here + 2])
        return _exact_mean([result]), around, result.point.spec.layers, _place(result.point)

    return rank


def _line(point: SweepPoint) -> object:
    """Return a key of the error curve that contains a point. Points of one curve differ only in the value of `_place`.

    The points of a method with autoencoders can also differ in other parameters, so each of them has its own key.
    """
    spec = point.spec
    return spec.hash if spec.sda is not None else (replace(spec.stack, noise=0.0), spec.kept if spec.stacked else None)


def _place(point: SweepPoint) -> float:
    """Return the value by which points are sorted: the noise level, or `RunSpec.kept` for a projection such as PCA."""
    if point.spec.sda is not None:
        return max(point.spec.sda.noises, default=0.0)
    return point.noise if point.spec.kept is None or point.spec.stacked else point.spec.kept


def final_points(chosen: Sequence[PointResult]) -> tuple[SweepPoint, ...]:
    """Return the selected points, but with the runs that evaluate them on the test set (`final_spec`)."""
    return tuple(replace(each.point, spec=final_spec(each.point.spec, each.best_epoch)) for each in chosen)


def final_spec(spec: RunSpec, epochs: int | None = None) -> RunSpec:
    """Return the run that trains a candidate on the whole training set, with all labels, and tests it.

    The representation is also fitted on the whole training set. If `spec` starts from the kernel widths of another
    run, the other run is also replaced by one that trains on the whole training set.

    Parameters
    ----------
    epochs : int, optional
        Number of fine-tuning epochs of a network: the epoch after which it had the smallest validation error. The
        whole training set leaves no validation rows for early stopping. Default: the number in `spec`.
    """
    near = None if spec.neighbour is None else final_spec(spec.neighbour)
    if epochs is not None and spec.sda is not None:
        spec = replace(spec, sda=replace(spec.sda, fine_tuning_epochs=epochs, patience=SdaParameters().patience))
    return replace(spec, training="whole", evaluate="test", neighbour=near, labels=None, fit_rows="training").checked()
