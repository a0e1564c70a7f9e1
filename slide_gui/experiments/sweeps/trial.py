"""Try SLIDE on the user's data within a time budget: compute a quick sweep, then test the best setting."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

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
from slide_gui.experiments.runs.splits import Classes, different_splits, split_rows
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_spec, pooled
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress
from slide_gui.text import about, count, counted, label_names, number, p_value_text, percentage, significant

# Default time budget of a trial, in seconds.
BUDGET = 60.0
LEAST_BUDGET, MOST_BUDGET = 5, 86_400

# Noise levels (in the order in which they are computed), depths and number of splits of a trial's sweep.
_GRID = (0.3, 0.1, 0.5, 0.7), (0, 1, 2, 3), 5
_FEWEST_LABELS, _MOST_TEST_ROWS = 500, 10_000
_FEWER = 0.7  # The number of labelled rows is multiplied by this factor until the trial fits into its time budget.

# The time reserved for the runs on the test set is their estimated duration multiplied by this factor.
_MARGIN = 1.2
_UNTESTED = "The time ran out before the test on held-out rows; this error is on the rows used to select the setting."
_GROUPED = "Rows of one group can be similar, so the uncertainty can be larger than stated."
_NUMBERS = ("no layers", "one layer", "two layers", "three layers")


class _OutOfTime(Exception):
    """Error that ends the comparison of settings or the test when the time budget is used up."""


@dataclass(frozen=True, eq=False)
class TrialState:
    """The state of a running trial.

    Attributes
    ----------
    points : tuple of SweepPoint
        All planned points of the sweep, those with the shortest runs first.
    done : tuple of PointResult
        Results on validation rows available so far.
    title : str
        Name of the current stage, for display.
    seconds_left : float
        Estimated seconds until the end of the trial. The estimate is at most the rest of the budget. While settings are
        compared, it can be longer if the time reserved for the test is longer.
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
    dataset : Dataset
        The data set.
    sweep : SweepSpec
        The planned sweep. Runs for which there was not enough time are missing from `done`.
    done : tuple of PointResult
        The results on validation rows by which the best setting is selected. They comprise all complete splits or, if
        the time ran out before any split was complete, the available results of the first split.
    result : RunResult
        Result of the selected setting, trained on the training set and evaluated once, on the held-out rows. If the
        time ran out before this evaluation, it is the result on the validation rows of the first split.
    other : RunResult or None
        Result on the same rows with which `result` is compared. Usually, this is the result of an SVM on the raw input.
        If the raw input was selected, it is the result of the best setting with layers. None if there was not enough
        time.
    budget : float
        Time budget in seconds. The budget also determines the number of labelled rows to train on.
    budget_ended : bool
        True if the time ran out before the comparison and the test were complete.
    """

    dataset: Dataset
    sweep: SweepSpec
    done: tuple[PointResult, ...]
    result: RunResult
    other: RunResult | None
    budget: float
    budget_ended: bool

    @property
    def n_missing(self) -> int:
        """Number of planned points of the sweep that are missing from `done`."""
        return len(self.sweep.points()) - len(self.done)

    @property
    def layers_help(self) -> bool | None:
        """True if the best setting has layers and fewer errors than an SVM on raw input. None if `other` is None."""
        return None if self.other is None else self.result.spec.stack.depth > 0 and self.result.error < self.other.error

    @cached_property
    def p_value(self) -> float | None:
        """P-value of McNemar's exact test, which compares `result` with `other`. None if `other` is None."""
        test = None if self.other is None else compare_errors(self.result, self.other)
        return None if test is None else test.exact

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the confusion matrix."""
        return label_names(self.result.labels, self.dataset.label_names)

    @cached_property
    def largest_class(self) -> tuple[str, float]:
        """Name of the largest class of the training set, and the error of always predicting it.

        If several classes are equally large, the one with the most evaluated rows is used.
        """
        counts = np.bincount(Classes.of(self.dataset).train)
        evaluated = self.result.confusion.sum(axis=1)[: len(counts)]
        largest = int(np.lexsort((evaluated, counts))[-1])
        n_others = self.result.n_test - int(self.result.confusion[largest].sum())
        return self.class_names[largest], n_others / self.result.n_test

    @cached_property
    def sentence(self) -> str:
        """The result in sentences, with the error, the error of always predicting one class, and the best setting."""
        result, rate, other, depth = self.result, self.result.rate, self.other, self.result.spec.stack.depth
        rows = "held-out row" if result.spec.evaluate == "test" else "validation row"
        plain = f"plain SVM on your {'columns' if self.dataset.image_shape is None else 'pixels'}"
        error, low, high, correct = (percentage(100 * x, 1) for x in (rate.error, rate.low, rate.high, 1 - rate.error))
        guess, guessing = self.largest_class[1], f"{significant(100 * self.largest_class[1], 2)} % of the rows"
        trained = f"{count(result.n_train)} of {count(len(self.dataset.train))} rows"
        if other is None:
            missing = "a plain SVM" if depth else "a setting with layers"
            first, compared = "", f"The time ran out before {missing} was tested; increase the time limit."
        else:
            first = "" if self.layers_help else "Layers do not reduce the error on these data."
            if not depth and other.error < result.error:
                first = "On validation rows, a plain SVM had the smallest error."
            rival = f"A {plain}" if depth else f"SLIDE with {_setting(other, ' and ')}"
            better = "better" if (result.error < other.error) == (depth > 0) else "worse"
            p = self.p_value or 0.0
            verdict = f"SLIDE is significantly {better}" if p <= LEVEL else "no significant difference"
            compared = f"{rival} misclassifies {percentage(100 * other.error, 1)} %: {verdict} ({p_value_text(p)})."
        parts = (
            first,
            f"{'SLIDE' if depth else f'A {plain}'} classifies {correct} % of {counted(rate.n, rows)} correctly "
            f"(error {error} %, 95 % interval {low}–{high} %).",
            f"Always predicting the largest class would misclassify {guessing}."
            if rate.high < guess
            else "This is not significantly better than always predicting the largest class, which would misclassify "
            f"{guessing}.",
            f"Best setting: {_setting(result, ', ')}." if depth else "",
            compared,
            _GROUPED if self.dataset.groups is not None else "",
            _UNTESTED if result.spec.evaluate != "test" else "",
            ClassRates.of(result.confusion, self.class_names).sentence,
            f"Trained on {trained}." if result.n_train < len(self.dataset.train) else "",
        )
        return " ".join(filter(None, parts))

    @property
    def details(self) -> str:
        """One sentence that describes how the trial was carried out."""
        points, sizes = [each.point for each in self.done], sorted({each.rate.n for each in self.done})
        places, planned = ({point.spec.drawn(0, 0) for point in each} for each in (points, self.sweep.points()))
        n_splits = len({point.split for point in points})
        fewest = "" if len(sizes) == 1 else f"{count(sizes[0])} to "
        rows = f"{fewest}{counted(sizes[-1], 'row')}, with median kernel widths and tuned C"
        on = f"{counted(n_splits, 'validation set')} of {rows}"
        parts = [f"The trial compared {counted(len(places), 'setting')} of noise and depth on {on}"]
        if self.budget_ended:
            most = f"{len(planned)} settings and {counted(len(self.sweep.splits), 'split')}"
            parts.append(f"{most} were planned, but the time limit of {self.budget:g} s was used up")
        rival = "the plain SVM" if self.result.spec.stack.depth else "the best setting with layers"
        tested = "the selected setting" if self.other is None else f"the selected setting and {rival}"
        if self.result.spec.evaluate == "test":
            parts.append(f"the trial trained {tested} again for a single test on the held-out rows")
        return "; ".join(parts) + "."

    def document(self) -> dict[str, object]:
        """Return the trial as JSON-compatible values."""
        rate, other = self.result.rate, self.other

        def described(result: RunResult) -> dict[str, object]:
            return {"noise": result.spec.stack.noise, "depth": result.spec.stack.depth, "error": result.error}

        return {
            **{name: getattr(self, name) for name in ("sentence", "details", "layers_help")},
            **described(self.result),
            **{name: getattr(rate, name) for name in ("low", "high")},
            **{name: getattr(self.result, name) for name in ("n_test", "n_train")},
            **ClassRates.of(self.result.confusion, self.class_names).document,
            "largest_class": dict(zip(("name", "error"), self.largest_class, strict=True)),
            "budget_ended": self.budget_ended,
            "evaluated_on": self.result.spec.evaluate,
            "compared_with": [] if other is None else [{**described(other), "p_value": self.p_value}],
            "points": [
                {
                    **{name: getattr(each.point, name) for name in ("noise", "depth", "split")},
                    "validation_error": each.validation_error,
                }
                for each in self.done
            ],
        }


def _setting(result: RunResult, link: str) -> str:
    return f"noise {number(result.spec.stack.noise)}{link}{_NUMBERS[result.spec.stack.depth]}"


def checked_budget(seconds: str | float) -> float:
    """Convert a time budget to a number of seconds.

    Raises
    ------
    ValueError
        If the value is not a number of seconds in the permitted range.
    """
    with suppress(ValueError):
        if LEAST_BUDGET <= float(seconds) <= MOST_BUDGET:
            return float(seconds)
    raise ValueError(f"the time limit is {seconds} s; give {LEAST_BUDGET} to {MOST_BUDGET} seconds")


def plan_trial(dataset: Dataset, source: str = "", budget: float = BUDGET) -> SweepSpec:
    """Plan a quick sweep over a data set.

    The number of labelled training rows is reduced until the runs with depths 0 and 1 on the first split probably fit
    into the budget. It is not reduced below 500, unless a split has fewer training rows. The plan is the same on every
    computer, because `typical_seconds` estimates the durations on a typical computer, not on this one.

    Raises
    ------
    DataError
        If the data have no classes, no rows to test on, or too many classes for the budget.
    ValueError
        If the budget is out of range.
    """
    budget = checked_budget(budget)
    dataset.check_classes()
    if dataset.n_test == 0 or dataset.test_labels is None:
        problem = "there are no labelled test rows; open only the training file, and hold out some of its rows"
        raise DataError(problem, dataset.name)
    shape, (noises, depths, n_splits) = RunShape.of(dataset), _GRID
    splits, classes = different_splits(dataset, range(n_splits)), Classes.of(dataset)
    # If the groups have different sizes, the training sets of the splits can also have different sizes. The smallest of
    # them limits the number of labels.
    fewest = min(len(split_rows(classes.train, split, 0, classes.groups)[0]) for split in splits)
    labels = most = round(0.8 * shape.rows)
    while True:
        base = RunSpec(
            dataset.fingerprint, source, svm=SvmParameters(widths="median"), training="split", evaluate="validation",
            labels=None if labels >= most else min(labels, fewest), held_out=dataset.held_out,
        )  # fmt: skip
        sweep = SweepSpec(base, tuple(sorted(noises)), depths, splits, warm=False)
        first = replace(sweep, splits=(0,), depths=depths[:2])
        if labels <= _FEWEST_LABELS or trial_seconds(first, dataset) <= budget:
            break
        labels = max(round(_FEWER * labels), _FEWEST_LABELS)
    seconds = typical_seconds(first.points()[0].spec, shape)
    if seconds > 2 * budget:
        problem = f"the data set has {shape.classes} classes, so one setting takes {about(seconds)}"
        remedy = f"increase the time limit to {seconds:.0f} s or more, or use fewer classes"
        raise DataError(f"{problem}; {remedy}", dataset.name)
    return sweep


def trial_seconds(sweep: SweepSpec, dataset: Dataset) -> float:
    """Estimate how many seconds the runs of a sweep and two test runs would take together without a time limit."""
    shape, specs = RunShape.of(dataset), list({point.spec.hash: point.spec for point in sweep.points()}.values())
    return sum(typical_seconds(spec, shape) for spec in (*specs, *(_final(spec, dataset) for spec in specs[-2:])))


def try_data(
    dataset: Dataset,
    source: DataSource,
    *,
    budget: float = BUDGET,
    store: RunStore | None = None,
    progress: Progress = NO_PROGRESS,
    cluster: Cluster | None = None,
    started: float | None = None,
) -> Trial:
    """Compare noise levels and depths on validation rows, and evaluate the best setting once on the held-out rows.

    The shortest runs are computed first. The comparison stops early to leave enough time for the test, and the test
    stops when the budget is used up. If the selected setting has not been tested by then, its error on validation rows
    is reported.

    Parameters
    ----------
    dataset : Dataset
        Data with classes and a test set, which can be held-out rows.
    source : DataSource
        The files or the generator from which the data come.
    budget : float
        Time budget in seconds. The first run is always completed, even if it takes longer.
    store : RunStore, optional
        Store from which known results are read, and to which new results are written.
    progress : Progress
        Receives a `TrialState` at every change.
    cluster : Cluster, optional
        Computes the runs instead of this process.
    started : float, optional
        Value of `time.monotonic` at the start of the time budget. Default: the current value.

    Raises
    ------
    DataError
        If the data are unsuitable (see `plan_trial`), or a class has too few rows.
    ValueError
        If the budget is out of range.
    """
    sweep = plan_trial(dataset, source.argument, budget)
    start = time.monotonic() if started is None else started
    return _TrialRun(dataset, sweep, budget, start, progress).run(store, cluster)


class _TrialRun:
    """Computes as many points of the trial's sweep as the budget allows, then the runs on the test set."""

    def __init__(self, dataset: Dataset, sweep: SweepSpec, budget: float, started: float, progress: Progress) -> None:
        self._dataset, self._sweep, self._budget, self._started = dataset, sweep, budget, started
        self._progress, shape = MonotonicProgress(progress), RunShape.of(dataset)
        self._points = sorted(sweep.points(), key=lambda p: (p.split, p.depth, _GRID[0].index(p.noise)))
        self._results: dict[str, RunResult] = {}
        self._finals = {p.depth: RunKind.of(_final(p.spec, dataset), shape) for p in self._points}

    def run(self, store: RunStore | None, cluster: Cluster | None) -> Trial:
        ended = False
        try:
            self._compute([point.spec for point in self._points], store, cluster, comparing=True)
        except _OutOfTime:
            ended = True
        incomplete = {point.split for point in self._points if point.spec.hash not in self._results}
        first = next(point.split for point in self._points if point.spec.hash in self._results)
        complete = set(self._sweep.splits) - incomplete or {first}
        done = tuple(each for each in self._done() if each.point.split in complete)
        means = pooled(done)
        (chosen,) = choose(means)
        others = [each for each in means if (each.point.depth > 0) != (chosen.point.depth > 0)]
        selected = (chosen, *(choose(others) if others else ()))
        finals = [_final(each.point.spec, self._dataset) for each in selected]
        try:
            self._compute(finals, store, cluster)
        except _OutOfTime:
            ended = True
            if finals[0].hash not in self._results:
                finals = [each.point.spec for each in selected]
        result, other, *_ = (*(self._results.get(spec.hash) for spec in finals), None)
        assert result is not None
        return Trial(self._dataset, self._sweep, done, result, other, self._budget, ended)

    def _compute(
        self, specs: Sequence[RunSpec], store: RunStore | None, cluster: Cluster | None, *, comparing: bool = False
    ) -> None:
        """Compute runs and store their results in `_results`. Raise `_OutOfTime` when the available time is used up.

        For the comparison of settings (`comparing`), the available time is the budget minus the time reserved for the
        test. For the test, it is the whole budget. At least one result is always computed.
        """

        def report(_fraction: float, _payload: object, *, news: bool = False) -> None:
            spent, reserve = time.monotonic() - self._started, self._reserve(loop) if comparing else 0.0
            is_complete = requests.keys() <= self._results.keys()
            if self._results and not is_complete and spent > self._budget - reserve:
                raise _OutOfTime
            most, left = max(self._budget - spent, reserve), loop.seconds_left
            left = most if left is None else min(left + reserve, most)
            title = "comparing settings" if comparing else "testing on the held-out rows"
            state = TrialState(tuple(self._points), self._done(), title, left) if news else None
            self._progress.report(min(spent / max(spent + left, 1e-9), 1.0), state)

        requests = {spec.hash: RunRequest(spec, self._dataset, rank=number) for number, spec in enumerate(specs)}
        with RunLoop(store, cluster, progress=Listener(report)) as loop:
            loop.request(list(requests.values()))
            report(0.0, None, news=True)
            for result in loop:
                self._results[result.spec.hash] = result
                report(0.0, None, news=True)

    def _reserve(self, loop: RunLoop) -> float:
        """Return the seconds to reserve for the runs on the test set, estimated from the durations of completed runs.

        The estimate includes one run on the raw input, and one run with the greatest depth of all runs that are
        complete or active.
        """
        known = (p.depth for p in self._points if p.spec.hash in self._results or p.spec.hash == loop.active)
        return _MARGIN * loop.cost.total(self._finals[depth] for depth in {0, max(known, default=0)})

    def _done(self) -> tuple[PointResult, ...]:
        known = self._results
        return tuple(PointResult.of(p, known[p.spec.hash]) for p in self._points if p.spec.hash in known)


def _final(spec: RunSpec, dataset: Dataset) -> RunSpec:
    """Return the run that tests a candidate on at most 10 000 test rows.

    The run is trained on the same number of labelled rows as the runs of the sweep. If the sweep does not limit this
    number, the run is trained on all training rows.
    """
    many = dataset.n_test > _MOST_TEST_ROWS
    return replace(final_spec(spec), labels=spec.labels, test_rows=_MOST_TEST_ROWS if many else None).checked()
