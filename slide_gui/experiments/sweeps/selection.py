"""Select runs by validation error and evaluate the selected ones on the test set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import splits_rate
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.text import place_name

Place = tuple[float, int]  # noise and depth

_MOST_ROWS = 10**7
_NOTHING_HELD_OUT = "selecting needs validation errors; train on the split"


@dataclass(frozen=True)
class PointResult:
    """A point of a sweep with its result.

    Attributes
    ----------
    rate : ErrorRate
        Error rate on the evaluated rows.
    seconds : float
        Duration of the run.
    chosen_by : str
        Criterion or guard that selected the widths. Empty if they were not learned, or it is unknown.
    row_errors : bytes or None
        Errors by row, packed by `error_rate.row_errors`. None if unknown.
    validation_loss : float or None
        Mean hinge loss on the validation rows. None if unknown.
    best_epoch : int or None
        Epoch of fine-tuning at which a network did best on the validation rows.
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
    def of(cls, point: SweepPoint, run: RunResult | StoredRun) -> PointResult:
        """Return the result of a point."""
        fit = run.chosen_by or "", run.row_errors, run.validation_loss, run.best_epoch
        return cls(point, run.rate, run.validation_error, run.seconds, *fit)


def choose(answers: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Select one point for each fold, split and seed by validation error, in the order of fold, split and seed.

    Small validation sets give many equal errors. Ties are broken by the least mean error over the point and its
    neighbours on its axis: the noise levels of its depth, or the values of `kept`. The next tie-breaks are fewer
    layers, a smaller noise level or `kept`, and the earlier point.

    Raises
    ------
    ValueError
        If an answer has no validation error because it was trained on the whole training set.
    """
    groups: dict[tuple[int, int, int], list[PointResult]] = {}
    for answer in answers:
        if answer.validation_error is None:
            raise ValueError(_NOTHING_HELD_OUT)
        groups.setdefault((answer.point.fold or 0, answer.point.split, answer.point.seed), []).append(answer)
    return tuple(min(groups[key], key=_rank(groups[key])) for key in sorted(groups))


def mean_rate(answers: Sequence[PointResult]) -> ErrorRate:
    """Return the mean error of several results with its interval (`splits_rate`). The folds of one split count as one.

    Raises
    ------
    ValueError
        If there are no results.
    """
    draws: dict[object, list[PointResult]] = {}
    for number, answer in enumerate(answers):
        point = answer.point
        draws.setdefault(number if point.fold is None else (point.split, point.seed), []).append(answer)
    rates = [ErrorRate.of_folds([answer.rate for answer in folds]) for folds in draws.values()]
    return splits_rate(rates, [tuple(answer.row_errors for answer in folds) for folds in draws.values()])


def pooled(answers: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Return the results of the first split and seed, each with the validation error on the rows of all splits.

    The validation rows of one split are few, so the errors of all of them are counted together. Equal counts are equal
    errors.

    Raises
    ------
    ValueError
        As `choose`, or if the splits have different noise levels and depths.
    """
    groups: dict[object, list[PointResult]] = {}
    for answer in answers:
        groups.setdefault((answer.point.noise, answer.point.spec.drawn(0, 0)), []).append(answer)
    if len({tuple((answer.point.split, answer.point.seed) for answer in group) for group in groups.values()}) > 1:
        raise ValueError("the splits have different noise levels and depths; run all of them first")
    return tuple(map(_pooled, groups.values()))


def _pooled(group: Sequence[PointResult]) -> PointResult:
    first = group[0]
    if any(answer.validation_error is None for answer in group):
        raise ValueError(_NOTHING_HELD_OUT)
    if first.point.spec.evaluate != "validation":
        return replace(first, validation_error=float(_exact_mean(group)))
    rate = ErrorRate.of_folds([answer.rate for answer in group])
    losses = [answer.validation_loss * answer.rate.n for answer in group if answer.validation_loss is not None]
    epochs = [answer.best_epoch for answer in group if answer.best_epoch is not None]
    return replace(
        first,
        rate=rate,
        validation_error=rate.error,
        validation_loss=sum(losses) / rate.n if len(losses) == len(group) else None,
        best_epoch=round(sum(epochs) / len(epochs)) if epochs else None,
    )


def chosen_places(answers: Sequence[PointResult]) -> tuple[Place, ...]:
    """Return the distinct noise levels and depths that `choose` selects from the `pooled` results.

    There is one, or several from different folds. The tuple is empty if validation errors are missing or the splits
    have different noise levels and depths so far.
    """
    if not answers or any(answer.validation_error is None for answer in answers):
        return ()
    try:
        chosen = choose(pooled(answers))
    except ValueError:
        return ()
    return tuple(dict.fromkeys((answer.point.noise, answer.point.depth) for answer in chosen))


def best_words(answers: Sequence[PointResult]) -> str:
    """Return a sentence on the best noise and depth on validation rows, or on why none is selected; may be empty."""
    if not answers:
        return ""
    places = chosen_places(answers)
    if places:
        by_fold = ", by fold" if len(places) > 1 else ""
        return f"best on validation{by_fold}: {'; '.join(place_name(noise, depth) for noise, depth in places)}"
    if any(answer.validation_error is None for answer in answers):
        return "no validation rows to select noise and depth by"
    return "the splits have different noise levels and depths so far: none can be selected yet"


def _exact_mean(answers: Sequence[PointResult]) -> Fraction:
    """Return the mean validation error as a ratio of integers: means of floats can differ for equal counts of errors.

    Each error is wrong / rows, rounded to a float. The nearest fraction with a denominator below 10⁷ is that ratio.
    """
    errors = [Fraction(answer.validation_error or 0.0).limit_denominator(_MOST_ROWS) for answer in answers]
    return sum(errors, Fraction()) / len(errors)


def _rank(answers: Sequence[PointResult]) -> Callable[[PointResult], tuple[Fraction, Fraction, int, float]]:
    lines: dict[object, list[PointResult]] = {}
    for answer in sorted(answers, key=lambda answer: _place(answer.point)):
        lines.setdefault(_line(answer.point), []).append(answer)

    def rank(answer: PointResult) -> tuple[Fraction, Fraction, int, float]:
        line = lines[_line(answer.point)]
        here = line.index(answer)
        around = _exact_mean(line[max(here - 1, 0) : here + 2])
        return _exact_mean([answer]), around, answer.point.spec.layers, _place(answer.point)

    return rank


def _line(point: SweepPoint) -> object:
    """Return a key shared by the points of one axis. Each autoencoder has its own: they differ in more ways."""
    spec = point.spec
    return spec.hash if spec.sda is not None else (replace(spec.stack, noise=0.0), spec.kept if spec.stacked else None)


def _place(point: SweepPoint) -> float:
    """Return the coordinate of a point on its axis."""
    if point.spec.sda is not None:
        return max(point.spec.sda.noises, default=0.0)
    return point.noise if point.spec.kept is None or point.spec.stacked else point.spec.kept


def final_points(chosen: Sequence[PointResult]) -> tuple[SweepPoint, ...]:
    """Return the points that train the selected ones on the whole training set and evaluate them on the test set."""
    return tuple(replace(answer.point, spec=final_spec(answer.point.spec)) for answer in chosen)


def final_spec(spec: RunSpec) -> RunSpec:
    """Return the run that evaluates a candidate on the test set, otherwise computed in the same way.

    It has all labels. It learns its widths starting from the same neighbours, which are also trained anew.
    """
    near = None if spec.neighbour is None else final_spec(spec.neighbour)
    return replace(spec, training="whole", evaluate="test", neighbour=near, labels=None, fit_rows="training").checked()
