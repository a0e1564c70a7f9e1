"""A trial of SLIDE on the user's data in about a minute: a quick sweep, a selected setting, one sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.error_rate import LEVEL, ErrorRate
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.comparison import compare_errors
from slide_gui.experiments.runs.cost import RunShape, typical_seconds
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.runs.splits import Classes
from slide_gui.experiments.statistics import holm
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_spec, pooled
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress, Stage
from slide_gui.text import count, counted, fixed, label_names, significant

_SECONDS = 60.0
_GRIDS = (
    ((0.1, 0.3, 0.5, 0.7), (0, 1, 2, 3), 5),
    ((0.1, 0.3, 0.5, 0.7), (0, 1, 2, 3), 1),
    ((0.2, 0.5), (0, 1, 2), 1),
    ((0.3,), (0, 1), 1),
)
"""Noise levels, depths and numbers of splits. Smaller grids are used for data with many rows or columns."""
_FEWEST_LABELS, _MOST_TEST_ROWS = 500, 10_000


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """A simpler model on the same rows, with its own noise level selected on validation rows.

    Attributes
    ----------
    p_value : float
        McNemar's exact test against the selected model, corrected by Holm's method for all baselines.
    """

    result: RunResult
    p_value: float

    @property
    def name(self) -> str:
        """Name in the sentence."""
        depth = self.result.spec.stack.depth
        return f"depth {depth}" if depth else "the raw input"


@dataclass(frozen=True, eq=False)
class Trial:
    """The result of a trial.

    Attributes
    ----------
    sweep : SweepSpec
        The points compared on validation rows.
    answers : tuple of PointResult
        Their results on validation rows.
    result : RunResult
        The selected noise and depth, trained on the training set and evaluated once, on the held-out rows.
    baselines : tuple of BaselineResult
        Models with fewer layers. They include the raw input unless it was selected.
    majority_error : float
        Error of always predicting the largest class.
    majority_class : str
        Name of that class.
    """

    sweep: SweepSpec
    answers: tuple[PointResult, ...]
    result: RunResult
    baselines: tuple[BaselineResult, ...]
    majority_error: float
    majority_class: str
    n_rows: int

    @property
    def sentence(self) -> str:
        """The selected setting, its error with the 95 % interval, and its comparison with simpler models."""
        stack, rate = self.result.spec.stack, self.result.rate
        chosen = f"noise {stack.noise:g}, depth {stack.depth}" if stack.depth else "the raw input, no layer"
        parts = [f"{chosen}: {_error_text(rate)} on {counted(rate.n, 'held-out row')}"]
        parts += [_difference_text(baseline, self.result) for baseline in self.baselines]
        if rate.low <= self.majority_error <= rate.high or rate.error > self.majority_error:
            parts.append(
                f"no better than always predicting {self.majority_class} ({fixed(100 * self.majority_error, 1)} %)"
            )
        if self.result.n_train < self.n_rows:
            parts.append(f"trained on {count(self.result.n_train)} of {count(self.n_rows)} rows")
        return "; ".join(parts)

    @property
    def details(self) -> str:
        """The procedure of the trial, in one line."""
        rows = counted(self.answers[0].rate.n, "validation row")
        splits = f"{len(self.sweep.splits)} times {rows}" if len(self.sweep.splits) > 1 else rows
        noises, depths = counted(len(self.sweep.noises), "noise"), counted(len(self.sweep.depths), "depth")
        procedure = f"{noises} and {depths} compared on {splits} of the training set, median widths, C tuned"
        if self.baselines:
            return procedure + "; the selected model and those it is compared with were trained again and tested once"
        return procedure + "; the selected model was trained again and tested once"

    def document(self) -> dict[str, object]:
        """Return the trial as values for JSON."""
        rate = self.result.rate
        return {
            "sentence": self.sentence,
            "details": self.details,
            "noise": self.result.spec.stack.noise,
            "depth": self.result.spec.stack.depth,
            "error": rate.error,
            "low": rate.low,
            "high": rate.high,
            "n_test": rate.n,
            "n_train": self.result.n_train,
            "largest_class": {"name": self.majority_class, "error": self.majority_error},
            "compared_with": [
                {
                    "noise": baseline.result.spec.stack.noise,
                    "depth": baseline.result.spec.stack.depth,
                    "error": baseline.result.error,
                    "p_value": baseline.p_value,
                }
                for baseline in self.baselines
            ],
            "points": [
                {
                    "noise": each.point.noise,
                    "depth": each.point.depth,
                    "split": each.point.split,
                    "validation_error": each.validation_error,
                }
                for each in self.answers
            ],
        }


def _error_text(rate: ErrorRate) -> str:
    """Return an error with its interval, as ± if both ends are equally distant."""
    error, below, above = (fixed(100 * x, 1) for x in (rate.error, rate.error - rate.low, rate.high - rate.error))
    if below == above:
        return f"{error} % ± {above}"
    return f"{error} % ({fixed(100 * rate.low, 1)} to {fixed(100 * rate.high, 1)})"


def _difference_text(baseline: BaselineResult, chosen: RunResult) -> str:
    p = f"p = {significant(baseline.p_value, 1)}" if baseline.p_value >= 0.001 else "p < 0.001"
    if baseline.p_value > LEVEL:
        return f"not significantly different from {baseline.name} ({p})"
    if chosen.error < baseline.result.error:
        return f"significantly better than {baseline.name} ({p})"
    return f"significantly worse than {baseline.name} ({p})"


def plan_trial(dataset: Dataset, source: str = "") -> SweepSpec:
    """Return the quick sweep over a data set, with as many noise levels, depths and labelled rows as take about a
    minute.

    It depends only on the size of the data and typical durations, so that it is the same on every computer.

    Raises
    ------
    DataError
        If the data have no classes, or no rows to test on.
    """
    dataset.check_classes()
    if len(dataset.test) == 0 or dataset.test_labels is None:
        raise DataError("has no test set, and no rows are held out; hold some rows out", dataset.name)
    shape = RunShape.of(dataset)
    labels = most = round(0.8 * shape.rows)
    while True:
        base = RunSpec(
            dataset.fingerprint, source, svm=SvmParameters(widths="median"), training="split", evaluate="validation",
            labels=None if labels >= most else labels, held_out=dataset.held_out,
        )  # fmt: skip
        for noises, depths, n_splits in _GRIDS:
            sweep = SweepSpec(base, noises, depths, tuple(range(n_splits)), warm=False)
            specs = {point.spec.hash: point.spec for point in sweep.points()}.values()
            if sum(typical_seconds(spec, shape) for spec in specs) <= _SECONDS:
                return sweep
        if labels <= _FEWEST_LABELS:
            return sweep
        labels = max(labels // 2, _FEWEST_LABELS)


def trial_seconds(sweep: SweepSpec, dataset: Dataset) -> float:
    """Return the typical duration of a trial: the runs of its sweep, then up to three runs on the test set."""
    shape, specs = RunShape.of(dataset), {point.spec.hash: point.spec for point in sweep.points()}
    last = [_final(spec, dataset) for spec in list(specs.values())[-3:]]
    return sum(typical_seconds(spec, shape) for spec in (*specs.values(), *last))


def try_data(
    dataset: Dataset,
    source: DataSource,
    *,
    store: RunStore | None = None,
    progress: Progress = NO_PROGRESS,
    cluster: Cluster | None = None,
) -> Trial:
    """Compare a few noise levels and depths on validation rows, and evaluate the best once on the held-out rows.

    Parameters
    ----------
    dataset : Dataset
        Data with classes and a test set, their own or held out.
    store : RunStore, optional
        Runs are taken from it and saved to it.
    progress : Progress
        Receives a `Stage`.
    cluster : Cluster, optional
        Computes the runs in place of this process.

    Raises
    ------
    DataError
        As `plan_trial`, or if a class has too few rows.
    """
    sweep = plan_trial(dataset, source.argument)
    points = sweep.points()
    specs = {point.spec.hash: point.spec for point in points}
    shape, results = RunShape.of(dataset), dict[str, RunResult]()
    seconds = {spec_hash: typical_seconds(spec, shape) for spec_hash, spec in specs.items()}
    last = max(typical_seconds(_final(spec, dataset), shape) for spec in specs.values())
    finals: list[RunSpec] = []
    steady = MonotonicProgress(progress)

    def report(fraction: float, _payload: object, stage: Stage | None = None) -> None:
        done = sum(seconds.get(each, last) for each in results)
        total = sum(seconds.values()) + last * (len(finals) or 2)  # one to three runs end a trial
        mean = last if finals else sum(seconds.values()) / len(seconds)
        steady.report(min((done + fraction * mean) / total, 1.0), stage)

    with RunLoop(store, cluster, progress=Listener(report)) as loop:
        report(0.0, None, Stage("comparing noise levels and depths", 0, len(specs)))
        loop.request([RunRequest(spec, dataset) for spec in specs.values()])
        for result in loop:
            results[result.spec.hash] = result
            if len(results) < len(specs):
                report(0.0, None, Stage("comparing noise levels and depths", len(results), len(specs)))
            elif not finals:
                answers = tuple(PointResult.of(point, results[point.spec.hash]) for point in points)
                finals = [_final(answer.point.spec, dataset) for answer in _selected(answers)]
                report(0.0, None, Stage("evaluating on the held-out rows"))
                loop.request([RunRequest(spec, dataset) for spec in finals])
    return _trial(dataset, sweep, answers, [results[spec.hash] for spec in finals])


def _selected(answers: tuple[PointResult, ...]) -> list[PointResult]:
    """Return the selected point, and if it has several layers, the best points with one layer and with none."""
    (chosen,) = choose(pooled(answers))
    depths = [depth for depth in (1, 0) if depth < chosen.point.depth]
    return [chosen, *(choose(pooled([a for a in answers if a.point.depth == depth]))[0] for depth in depths)]


def _final(spec: RunSpec, dataset: Dataset) -> RunSpec:
    """Return the run that tests a candidate: on all training rows, unless the sweep had to reduce them."""
    many = len(dataset.test) > _MOST_TEST_ROWS
    return replace(final_spec(spec), labels=spec.labels, test_rows=_MOST_TEST_ROWS if many else None).checked()


def _trial(dataset: Dataset, sweep: SweepSpec, answers: tuple[PointResult, ...], finals: list[RunResult]) -> Trial:
    result, others = finals[0], finals[1:]
    p_values = []
    for other in others:
        test = compare_errors(result, other)
        assert test is not None  # both are evaluated on the same rows
        p_values.append(test.exact)
    baselines = tuple(BaselineResult(other, p) for other, p in zip(others, holm(p_values), strict=True))
    classes = Classes.of(dataset)
    largest = int(np.bincount(classes.train).argmax())
    majority_error = float(np.mean(classes.test[result.judged] != largest))
    (name,) = label_names([classes.labels[largest]], dataset.label_names)
    return Trial(sweep, answers, result, baselines, majority_error, name, len(dataset.train))
