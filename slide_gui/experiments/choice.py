"""Choosing among runs by validation error, and judging what was chosen on the test part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import splits_rate
from slide_gui.text import place_name

__all__ = [
    "Place",
    "PointResult",
    "best_words",
    "choose",
    "chosen_places",
    "final_points",
    "final_spec",
    "mean_rate",
    "pooled",
]

Place = tuple[float, int]  # noise and depth

_MOST_ROWS = 10**7
_NOTHING_HELD_OUT = "there is no validation error to choose by; train on the split"


@dataclass(frozen=True)
class PointResult:
    """A point with its answer.

    Attributes
    ----------
    rate : ErrorRate
        On the rows judged.
    seconds : float
        That the run took.
    chosen_by : str
        What chose the widths; empty where they were not learned, or it is not known.
    row_errors : bytes or None
        The errors by row, as `statistics.row_errors` packs them; None where they are not known.
    """

    point: SweepPoint
    rate: ErrorRate
    validation_error: float | None
    seconds: float
    chosen_by: str = ""
    row_errors: bytes | None = None

    @classmethod
    def of(cls, point: SweepPoint, result: RunResult) -> PointResult:
        """Return the answer of a point."""
        return cls(
            point, result.rate, result.validation_error, result.timings.total, result.chosen_by, result.row_errors
        )


def choose(answers: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Choose by validation error what the runs differ in: one point for each fold, split and seed, in their order.

    Of equals, which a small validation part makes many, the one is taken whose error is least on average with those of
    its neighbours on the axis it lies on, the noises of its depth or what is kept; of equals again the one with fewer
    layers, then the one with less noise or less kept, then the first.

    Raises
    ------
    ValueError
        If an answer has no validation error, because it was trained on the whole training part.
    """
    groups: dict[tuple[int, int, int], list[PointResult]] = {}
    for answer in answers:
        if answer.validation_error is None:
            raise ValueError(_NOTHING_HELD_OUT)
        groups.setdefault((answer.point.fold or 0, answer.point.split, answer.point.seed), []).append(answer)
    return tuple(min(groups[key], key=_rank(groups[key])) for key in sorted(groups))


def mean_rate(answers: Sequence[PointResult]) -> ErrorRate:
    """Return the mean error of some answers with its interval (`splits_rate`); the folds of one split count as one.

    Raises
    ------
    ValueError
        If there are none.
    """
    draws: dict[object, list[PointResult]] = {}
    for number, answer in enumerate(answers):
        point = answer.point
        draws.setdefault(number if point.fold is None else (point.split, point.seed), []).append(answer)
    rates = [ErrorRate.of_folds([answer.rate for answer in folds]) for folds in draws.values()]
    return splits_rate(rates, [tuple(answer.row_errors for answer in folds) for folds in draws.values()])


def pooled(answers: Sequence[PointResult]) -> tuple[PointResult, ...]:
    """Return the answers of the first split and seed, with the mean validation error over all at each of their places.

    The validation rows of one split are few; what is chosen by this mean is chosen once, by all of them. All splits
    have as many validation rows, so that equal means are equal counts of errors; they are computed as such.

    Raises
    ------
    ValueError
        As `choose`, or if the splits do not have the same places.
    """
    groups: dict[object, list[PointResult]] = {}
    for answer in answers:
        groups.setdefault((answer.point.noise, answer.point.spec.drawn(0, 0)), []).append(answer)
    if len({tuple((answer.point.split, answer.point.seed) for answer in group) for group in groups.values()}) > 1:
        raise ValueError("the splits do not have the same noises and depths; run all of them first")
    means = []
    for group in groups.values():
        if any(answer.validation_error is None for answer in group):
            raise ValueError(_NOTHING_HELD_OUT)
        means.append(replace(group[0], validation_error=float(_exact_mean(group))))
    return tuple(means)


def chosen_places(answers: Sequence[PointResult]) -> tuple[Place, ...]:
    """Return noise and depth of what `choose` takes of the `pooled` answers, each once: one, or some of the folds'.

    There are none where nothing was held out to choose by, or where not all splits have the same places yet.
    """
    if not answers or any(answer.validation_error is None for answer in answers):
        return ()
    try:
        chosen = choose(pooled(answers))
    except ValueError:
        return ()
    return tuple(dict.fromkeys((answer.point.noise, answer.point.depth) for answer in chosen))


def best_words(answers: Sequence[PointResult]) -> str:
    """Say which place is best on validation rows, or why none can be chosen; nothing where there are no answers."""
    places = chosen_places(answers)
    if places:
        said = "; ".join(place_name(noise, depth) for noise, depth in places)
        if len(places) > 1:
            return f"best on validation, by fold: {said}"
        return f"best on validation: {said}"
    if not answers:
        return ""
    if any(answer.validation_error is None for answer in answers):
        return "nothing was held out to choose noise and depth by"
    return "not all splits have the same noises and depths: nothing can be chosen yet"


def _exact_mean(answers: Sequence[PointResult]) -> Fraction:
    """Return the mean validation error as a ratio of integers: means of floats differ where counts of errors do not.

    Each error is wrong / rows, rounded to a float; the nearest fraction with a denominator below 10⁷ is that ratio.
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
    """Return what the points of one axis have in common; autoencoders differ in too much to lie on one."""
    return point.spec.hash if point.spec.sda is not None else (point.depth, point.spec.stack.ridge)


def _place(point: SweepPoint) -> float:
    """Return where a point lies on its axis."""
    if point.spec.sda is not None:
        return max(point.spec.sda.noises, default=0.0)
    return point.noise if point.spec.kept is None else point.spec.kept


def final_points(chosen: Sequence[PointResult]) -> tuple[SweepPoint, ...]:
    """Return the points that judge what was chosen on the test part, trained on the whole training part again."""
    return tuple(replace(answer.point, spec=final_spec(answer.point.spec)) for answer in chosen)


def final_spec(spec: RunSpec, training: str = "whole") -> RunSpec:
    """Return the run that judges a candidate on the test part, made in the same way.

    It has all labels, and learns its widths from the same neighbours, themselves trained anew.
    """
    near = None if spec.neighbour is None else final_spec(spec.neighbour, training)
    return replace(spec, training=training, evaluate="test", neighbour=near, labels=None, fit_rows="training").checked()
