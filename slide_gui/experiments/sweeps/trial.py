"""A trial of SLIDE on the user's data within a time budget: a quick sweep, one tested setting, an answer in words."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.error_rate import LEVEL, ClassRates
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.comparison import compare_errors
from slide_gui.experiments.runs.cost import RunKind, RunShape, typical_seconds
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint, SweepSpec
from slide_gui.experiments.runs.splits import Classes
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_spec, pooled
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress
from slide_gui.text import count, counted, fixed, label_names, number, significant

BUDGET = 60.0
"""Seconds of a trial."""
LEAST_BUDGET, MOST_BUDGET = 5, 86_400

_GRID = (0.3, 0.1, 0.5, 0.7), (0, 1, 2, 3), 5
"""Noise levels, the first ones first, depths, and number of splits."""
_FEWEST_LABELS, _MOST_TEST_ROWS = 500, 10_000
_FEWER = 0.7  # factor between two numbers of labels
_MOST_RESERVED = 0.6  # of the budget, for the runs on the test set
_NUMBERS = ("no layers", "one layer", "two layers", "three layers")


class _OutOfTime(Exception):
    """Ends the comparison when the budget is used up."""


@dataclass(frozen=True, eq=False)
class TrialState:
    """The state of a running trial.

    Attributes
    ----------
    points : tuple of SweepPoint
        All points of the plan, cheap ones first.
    done : tuple of PointResult
        Results on validation rows so far.
    title : str
        Name of the stage.
    seconds_left : float
        Time until the end, at most the rest of the budget while settings are compared.
    """

    points: tuple[SweepPoint, ...]
    done: tuple[PointResult, ...]
    title: str
    seconds_left: float


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of a trial.

    Attributes
    ----------
    sweep : SweepSpec
        The planned points.
    done : tuple of PointResult
        The results on validation rows from which one setting is selected: those of all complete splits, or the
        first results if the budget ended before one split was complete.
    result : RunResult
        The selected setting, trained on the training set and evaluated once, on the held-out rows.
    other : RunResult or None
        The raw input or, if this was selected, the best setting with layers, on the same rows. None if no setting
        with layers was compared.
    p_value : float or None
        McNemar's exact test of both.
    majority_error : float
        Error of always predicting the largest class.
    majority_class : str
        Name of that class.
    inputs : str
        "columns" or "pixels".
    ended_by : float or None
        Budget in seconds if it ended the comparison.
    class_names : tuple of str
        Names of the classes, in the order of the confusion matrix.
    """

    sweep: SweepSpec
    done: tuple[PointResult, ...]
    result: RunResult
    other: RunResult | None
    p_value: float | None
    majority_error: float
    majority_class: str
    n_rows: int
    inputs: str = "columns"
    ended_by: float | None = None
    class_names: tuple[str, ...] = ()

    @property
    def layers_help(self) -> bool:
        """True if the selected setting has layers and fewer errors on the held-out rows than the raw input."""
        return self.result.spec.stack.depth > 0 and (self.other is None or self.result.error < self.other.error)

    @property
    def sentence(self) -> str:
        """The answer in whole sentences: the error, what guessing would give, the setting, and the comparison."""
        stack, rate, other = self.result.spec.stack, self.result.rate, self.other
        plain = f"plain SVM on your {self.inputs}"
        name = "SLIDE" if stack.depth else f"A {plain}"
        error, low, high, correct = (fixed(100 * x, 1) for x in (rate.error, rate.low, rate.high, 1 - rate.error))
        parts = []
        if other is not None and not stack.depth and other.error < rate.error:
            parts.append("The validation rows selected no layers on these data.")
        elif other is not None and not self.layers_help:
            parts.append("The layers do not help on these data.")
        parts.append(
            f"{name} classifies {correct} % of {counted(rate.n, 'held-out row')} correctly (error {error} %, "
            f"95 % interval {low}–{high} %)."
        )
        guessing = f"{significant(100 * self.majority_error, 2)} %"
        if rate.high < self.majority_error:
            parts.append(f"Always guessing the largest class would be wrong for {guessing}.")
        else:
            parts.append(
                f"This is no better than always guessing the largest class, which would be wrong for {guessing}."
            )
        if stack.depth:
            parts.append(f"Best setting: noise {number(stack.noise)}, {_NUMBERS[stack.depth]}.")
        if other is not None and stack.depth:
            parts.append(f"A {plain} errs on {fixed(100 * other.error, 1)} %: {self._difference}.")
        elif other is not None:
            best = f"noise {number(other.spec.stack.noise)} and {_NUMBERS[other.spec.stack.depth]}"
            parts.append(f"SLIDE with {best} errs on {fixed(100 * other.error, 1)} %: {self._difference}.")
        else:
            parts.append("The budget ended before a setting with layers was compared; give more time.")
        classes = ClassRates.of(self.result.confusion)
        if classes.uneven:
            parts.append(classes.words(self.class_names))
        if self.result.n_train < self.n_rows:
            parts.append(f"Trained on {count(self.result.n_train)} of {count(self.n_rows)} rows.")
        return " ".join(parts)

    @property
    def _difference(self) -> str:
        assert self.other is not None
        assert self.p_value is not None
        p = f"p = {significant(self.p_value, 2)}" if self.p_value >= 0.001 else "p < 0.001"
        if self.p_value > LEVEL:
            return f"no significant difference ({p})"
        layered, raw = sorted((self.result, self.other), key=lambda each: -each.spec.stack.depth)
        return f"SLIDE is significantly {'better' if layered.error < raw.error else 'worse'} ({p})"

    @property
    def details(self) -> str:
        """The procedure of the trial, in one line."""
        places = dict.fromkeys(answer.point.spec.drawn(0, 0) for answer in self.done)
        splits = {answer.point.split for answer in self.done}
        rows = counted(self.done[0].rate.n, "validation row")
        on = f"{len(splits)} times {rows}" if len(splits) > 1 else rows
        parts = [f"{counted(len(places), 'setting')} of noise and depth compared on {on}, median widths, C tuned"]
        if self.ended_by is not None:
            n_all = len({point.spec.drawn(0, 0) for point in self.sweep.points()})
            most = f"{n_all} settings and {counted(len(self.sweep.splits), 'split')}"
            parts.append(f"the budget of {self.ended_by:g} s ended the comparison, which had {most} planned")
        tested = "the selected setting" if self.other is None else "the selected setting and the other one"
        return "; ".join([*parts, f"{tested} trained again and tested once"]) + "."

    def document(self) -> dict[str, object]:
        """Return the trial as values for JSON."""
        rate, other = self.result.rate, self.other
        compared = [] if other is None else [(other, self.p_value)]
        return {
            "sentence": self.sentence,
            "details": self.details,
            "layers_help": self.layers_help,
            "noise": self.result.spec.stack.noise,
            "depth": self.result.spec.stack.depth,
            "error": rate.error,
            "low": rate.low,
            "high": rate.high,
            "n_test": rate.n,
            "n_train": self.result.n_train,
            **ClassRates.of(self.result.confusion).document(self.class_names),
            "largest_class": {"name": self.majority_class, "error": self.majority_error},
            "budget_ended": self.ended_by is not None,
            "compared_with": [
                {
                    "noise": each.spec.stack.noise,
                    "depth": each.spec.stack.depth,
                    "error": each.error,
                    "p_value": p_value,
                }
                for each, p_value in compared
            ],
            "points": [
                {
                    "noise": each.point.noise,
                    "depth": each.point.depth,
                    "split": each.point.split,
                    "validation_error": each.validation_error,
                }
                for each in self.done
            ],
        }


def checked_budget(seconds: str | float) -> float:
    """Return a budget as a number.

    Raises
    ------
    ValueError
        If it is not a number of seconds in the permitted range.
    """
    with suppress(ValueError):
        if LEAST_BUDGET <= float(seconds) <= MOST_BUDGET:
            return float(seconds)
    raise ValueError(f"the budget is {seconds} s; give {LEAST_BUDGET} to {MOST_BUDGET} seconds")


def plan_trial(dataset: Dataset, source: str = "", budget: float = BUDGET) -> SweepSpec:
    """Return the quick sweep over a data set, with as many labelled rows as let the budget compare one layer.

    It depends only on the size of the data, the budget and typical durations, so that it is the same on every computer.

    Raises
    ------
    DataError
        If the data have no classes, or no rows to test on.
    ValueError
        As `checked_budget`.
    """
    budget = checked_budget(budget)
    dataset.check_classes()
    if len(dataset.test) == 0 or dataset.test_labels is None:
        raise DataError("has no test set, and no rows are held out; hold some rows out", dataset.name)
    shape, (noises, depths, n_splits) = RunShape.of(dataset), _GRID
    labels = most = round(0.8 * shape.rows)
    while True:
        base = RunSpec(
            dataset.fingerprint, source, svm=SvmParameters(widths="median"), training="split", evaluate="validation",
            labels=None if labels >= most else labels, held_out=dataset.held_out,
        )  # fmt: skip
        sweep = SweepSpec(base, tuple(sorted(noises)), depths, tuple(range(n_splits)), warm=False)
        first = replace(sweep, splits=(0,), depths=depths[:2])
        if labels <= _FEWEST_LABELS or _seconds(first, dataset) <= budget:
            return sweep
        labels = max(round(_FEWER * labels), _FEWEST_LABELS)


def _seconds(sweep: SweepSpec, dataset: Dataset) -> float:
    shape, specs = RunShape.of(dataset), list({point.spec.hash: point.spec for point in sweep.points()}.values())
    return sum(typical_seconds(spec, shape) for spec in (*specs, *(_final(spec, dataset) for spec in specs[-2:])))


def trial_seconds(sweep: SweepSpec, dataset: Dataset, budget: float = BUDGET) -> float:
    """Return the typical duration of a trial: the runs of its sweep and two on the test set, at most the budget."""
    return min(_seconds(sweep, dataset), budget)


def try_data(
    dataset: Dataset,
    source: DataSource,
    *,
    budget: float = BUDGET,
    store: RunStore | None = None,
    progress: Progress = NO_PROGRESS,
    cluster: Cluster | None = None,
) -> Trial:
    """Compare noise levels and depths on validation rows, and evaluate the best once on the held-out rows.

    Cheap runs come first. The clock ends the comparison when the rest of the budget is needed for the test.

    Parameters
    ----------
    dataset : Dataset
        Data with classes and a test set, their own or held out.
    budget : float
        Seconds from the start to the answer. The first comparison and the test are always completed.
    store : RunStore, optional
        Runs are taken from it and saved to it.
    progress : Progress
        Receives a `TrialState`.
    cluster : Cluster, optional
        Computes the runs in place of this process.

    Raises
    ------
    DataError
        As `plan_trial`, or if a class has too few rows.
    ValueError
        As `plan_trial`.
    """
    sweep = plan_trial(dataset, source.argument, budget)
    return _Trying(dataset, sweep, budget, store, progress, cluster).run()


class _Trying:
    """Requests the points of a trial until the clock ends it, then the runs on the test set."""

    def __init__(
        self,
        dataset: Dataset,
        sweep: SweepSpec,
        budget: float,
        store: RunStore | None,
        progress: Progress,
        cluster: Cluster | None,
    ) -> None:
        self._dataset, self._sweep, self._budget, self._store = dataset, sweep, budget, store
        self._progress, self._cluster = MonotonicProgress(progress), cluster
        self._started, self._shape = time.monotonic(), RunShape.of(dataset)
        order = {noise: k for k, noise in enumerate(_GRID[0])}
        self._points = tuple(sorted(sweep.points(), key=lambda p: (p.split, p.depth, order[p.noise])))
        self._results: dict[str, RunResult] = {}

    def run(self) -> Trial:
        requests = {
            point.spec.hash: RunRequest(
                point.spec, self._dataset, rank=point.split * len(self._sweep.depths) + point.depth
            )
            for point in self._points
        }
        ended_by = None
        try:
            self._compute(list(requests.values()), "comparing settings", ends=True)
        except _OutOfTime:
            ended_by = self._budget
        answers = self._answers()
        finals = [_final(answer.point.spec, self._dataset) for answer in _selected(answers)]
        self._compute([RunRequest(spec, self._dataset) for spec in finals], "testing on the held-out rows")
        return _trial(self._dataset, self._sweep, answers, [self._results[spec.hash] for spec in finals], ended_by)

    def _compute(self, requests: list[RunRequest], title: str, *, ends: bool = False) -> None:
        """Add the results of some runs. If the budget `ends` them, raise `_OutOfTime` after at least one result."""
        n_before = len(self._results)

        def report(_fraction: float, _payload: object, *, news: bool = False) -> None:
            spent, left = time.monotonic() - self._started, loop.seconds_left
            if ends:
                reserve = self._reserve(loop)
                if len(self._results) > n_before and spent > self._budget - reserve:
                    raise _OutOfTime
                rest = max(self._budget - spent, reserve)
                left = rest if left is None else min(left + reserve, rest)
            left = left or 0.0
            state = TrialState(self._points, self._done(), title, left) if news else None
            self._progress.report(min(spent / max(spent + left, 1e-9), 1.0), state)

        with RunLoop(self._store, self._cluster, progress=Listener(report)) as loop:
            loop.request(requests)
            report(0.0, None, news=True)
            for result in loop:
                self._results[result.spec.hash] = result
                report(0.0, None, news=True)

    def _reserve(self, loop: RunLoop) -> float:
        """Return the expected seconds of the runs on the test set, measured by the runs so far."""
        wanted = [point.spec for point in self._points if point.spec.hash in self._results][-1:]
        kinds = [RunKind.of(_final(spec, self._dataset), self._shape) for spec in wanted]
        return min(2 * loop.cost.total(kinds), _MOST_RESERVED * self._budget)

    def _done(self) -> tuple[PointResult, ...]:
        known = self._results
        return tuple(PointResult.of(p, known[p.spec.hash]) for p in self._points if p.spec.hash in known)

    def _answers(self) -> tuple[PointResult, ...]:
        """Return the results to select from: those of the complete splits, else of the first split."""
        lacking = {point.split for point in self._points if point.spec.hash not in self._results}
        complete = set(self._sweep.splits) - lacking or {0}
        return tuple(answer for answer in self._done() if answer.point.split in complete)


def _selected(answers: tuple[PointResult, ...]) -> list[PointResult]:
    """Return the selected point and the best one of the others: those with layers, or the raw input."""
    means = pooled(answers)
    (chosen,) = choose(means)
    others = [each for each in means if (each.point.depth > 0) != (chosen.point.depth > 0)]
    return [chosen, *(choose(others) if others else ())]


def _final(spec: RunSpec, dataset: Dataset) -> RunSpec:
    """Return the run that tests a candidate: on all training rows, unless the sweep had to reduce them."""
    many = len(dataset.test) > _MOST_TEST_ROWS
    return replace(final_spec(spec), labels=spec.labels, test_rows=_MOST_TEST_ROWS if many else None).checked()


def _trial(
    dataset: Dataset,
    sweep: SweepSpec,
    answers: tuple[PointResult, ...],
    finals: list[RunResult],
    ended_by: float | None = None,
) -> Trial:
    result, other = finals[0], next(iter(finals[1:]), None)
    p_value = None
    if other is not None:
        test = compare_errors(result, other)
        assert test is not None  # both are evaluated on the same rows
        p_value = test.exact
    classes = Classes.of(dataset)
    largest = int(np.bincount(classes.train).argmax())
    majority_error = float(np.mean(classes.test[result.judged] != largest))
    names = tuple(label_names(classes.labels, dataset.label_names))
    inputs = "columns" if dataset.image_shape is None else "pixels"
    n_rows = len(dataset.train)
    return Trial(
        sweep, answers, result, other, p_value, majority_error, names[largest], n_rows, inputs, ended_by, names
    )
