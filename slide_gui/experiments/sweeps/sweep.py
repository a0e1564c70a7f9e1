"""Compute sweeps over noise levels, depths, splits and seeds, and select the best points by validation error."""

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Event

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import RunProgress
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepPoint, SweepSpec, on_every_fold
from slide_gui.experiments.runs.splits import different_splits
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import Setting, StoredRun
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_points, pooled
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress
from slide_gui.text import about, count, counted


@dataclass(frozen=True, eq=False)
class SweepState:
    """The state of a sweep.

    Attributes
    ----------
    points : tuple of SweepPoint
        All points of the sweep, in the order in which their runs are requested.
    done : tuple of PointResult
        Results available so far, in the order of `points`.
    current : SweepPoint or None
        The point whose run is being computed. None if no run is active, or if a cluster computes the runs.
    live : RunProgress or None
        Progress of the run that computes the point `current`. None on a cluster, where several runs can be active.
    seconds_left : float or None
        Estimated remaining seconds. None until all runs of the sweep have been looked up in the store.
    faults : tuple of str
        Messages about damaged stored runs, which were computed again.
    chosen : tuple of PointResult
        The points selected by validation error so far, with their results on validation rows.
    final : tuple of PointResult
        The selected points with their test results available so far. For the test, the model is trained on the whole
        training set.
    """

    points: tuple[SweepPoint, ...]
    done: tuple[PointResult, ...] = ()
    current: SweepPoint | None = None
    live: RunProgress | None = None
    seconds_left: float | None = None
    faults: tuple[str, ...] = ()
    chosen: tuple[PointResult, ...] = ()
    final: tuple[PointResult, ...] = ()


@dataclass(frozen=True)
class SweepPlan:
    """The number of runs of a sweep and their estimated duration.

    Attributes
    ----------
    n_runs, n_stored : int
        Number of runs of the sweep, and number of those that are already stored.
    seconds : float
        Estimated seconds to compute the runs that are not in the store.
    measured : bool
        True if similar runs on the same data are stored, so that the estimate is based on their durations.
    """

    n_runs: int
    n_stored: int
    seconds: float
    measured: bool

    def __str__(self) -> str:
        runs = counted(self.n_runs, "run")
        if self.n_stored == self.n_runs:
            return f"{runs}, all already stored"
        there = f"{count(self.n_stored)} already stored" if self.n_stored else ""
        guessed = "" if self.measured else " (rough estimate: no similar run on these data is stored)"
        return ", ".join(filter(None, (runs, there, about(self.seconds)))) + guessed


def plan_sweep(sweep: SweepSpec | Sequence[SweepPoint], dataset: Dataset, stored: Sequence[StoredRun]) -> SweepPlan:
    """Return the number of runs of a sweep and their estimated duration, including the final runs on the test set.

    Parameters
    ----------
    sweep : SweepSpec or sequence of SweepPoint
        A sweep, or points to compute without a selection.
    dataset : Dataset
        Data set of the sweep.
    stored : sequence of StoredRun
        Runs in the store.

    Raises
    ------
    ValueError
        If the sweep has no points, or a parameter is out of range.
    """
    points, rule = points_and_choice(sweep, dataset)
    known = {line.hash: line for line in stored if line.is_current}
    shape = RunShape.of(dataset)
    cost = measured_cost(stored, {point.spec.fingerprint: shape for point in points})
    wanted, n_final = _with_neighbours((point.spec for point in points), known), 0
    # Splits that select the same noise level and depth share one run on the whole training set, but networks can stop
    # after different epochs. As long as results are missing, the selection is unknown, so the largest possible number
    # of such runs is counted.
    if rule != "none" and wanted.keys() - known.keys():
        splits = [point.split * METHODS[point.spec.method].fine_tunes for point in points]
        places = {(p.fold, p.spec.stack.noise, p.depth, p.seed, n) for p, n in zip(points, splits, strict=True)}
        n_final = min(len({_group(point, rule) for point in points}), len(places))
    elif rule != "none":
        results = [PointResult.of(point, known[point.spec.hash]) for point in points]
        selected = final_points(choose(pooled(results) if rule == "pooled" else results))
        wanted |= _with_neighbours((point.spec for point in selected), known)
    kinds = [RunKind.of(spec, shape) for spec_hash, spec in wanted.items() if spec_hash not in known]
    kinds += [_kind_of_final(points, shape)] * n_final
    n_runs = len(wanted) + n_final
    return SweepPlan(n_runs, n_runs - len(kinds), cost.total(kinds), all(map(cost.measured, kinds)))


def _with_neighbours(specs: Iterable[RunSpec], known: Container[str]) -> dict[str, RunSpec]:
    """Return runs by hash, together with the runs that must be computed first, because others start from their widths.

    `known` contains the hashes of the stored runs.
    """
    runs: dict[str, RunSpec] = {}
    for spec in specs:
        near: RunSpec | None = spec
        while near is not None and near.hash not in runs:
            runs[near.hash] = near
            near = None if near.hash in known else near.neighbour
    return runs


def points_and_choice(sweep: SweepSpec | Sequence[SweepPoint], dataset: Dataset) -> tuple[tuple[SweepPoint, ...], str]:
    """Return a sweep's points on every fold of the data, and the selection rule of the sweep (`SweepSpec.choose`)."""
    if not isinstance(sweep, SweepSpec):
        return tuple(sweep), "none"
    if dataset.groups is not None and sweep.base.training == "split":
        sweep = replace(sweep, splits=different_splits(dataset, sweep.splits, sweep.seeds))
    bases = on_every_fold(sweep.base, dataset)
    return tuple(point for base in bases for point in replace(sweep, base=base).points()), sweep.choose


def _group(point: SweepPoint, choose: str) -> tuple[int, ...]:
    """Return the key of the group that a point of a sweep belongs to. One point is selected from each group."""
    fold = point.fold or 0
    return (fold, point.split, point.seed) if choose == "each" else (fold,)


def _kind_of_final(points: Sequence[SweepPoint], shape: RunShape) -> RunKind:
    """Return the `RunKind` of a run that tests a selected point, to estimate the duration of this run."""
    return RunKind.of(replace(points[-1].spec, training="whole", evaluate="test", labels=None, neighbour=None), shape)


def run_sweep(
    dataset: Dataset,
    sweep: SweepSpec | Sequence[SweepPoint],
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Event | None = None,
    cluster: Cluster | None = None,
) -> SweepState:
    """Compute all points of a sweep, on every fold if the data are divided into folds, and test the selected ones.

    As soon as all points of a group (`_group`) are complete, one of these points is selected, trained again and tested.
    Each result is stored at once, so the same call resumes the sweep after a crash or a cancellation. The results of a
    resumed sweep are bit for bit the same as those of an uninterrupted sweep.

    Parameters
    ----------
    sweep : SweepSpec or sequence of SweepPoint
        A sweep, or single points of a sweep to compute without a selection. If the run of a point starts from the
        kernel widths of another run, the other run is also computed and stored.
    store : RunStore
        Store that was opened in the calling thread.
    progress : Progress
        Receives a `SweepState` at every change.
    pause : threading.Event, optional
        While the event is set, the sweep is paused, with a delay of at most 0.1 s. On a cluster, active runs continue.
    cluster : Cluster, optional
        Computes the runs instead of this process.

    Raises
    ------
    DataError
        If `dataset` is not the data set for which the sweep was specified, or is unsuitable for its runs.
    ValueError
        If the sweep has no points, or a parameter is out of range.
    ClusterError
        If the connection to the cluster is lost. Completed results are stored.
    Cancelled
        If `progress` cancels the sweep.
    """
    points, rule = points_and_choice(sweep, dataset)
    return _Sweep(dataset, points, rule, progress).run(store, pause, cluster)


class _Sweep:
    """Requests the runs of all points of a sweep, then the test runs of the selected points. Reports the progress."""

    def __init__(self, dataset: Dataset, points: tuple[SweepPoint, ...], choose: str, progress: Progress) -> None:
        self._dataset, self._points, self._pools = dataset, points, choose == "pooled"
        self._progress = MonotonicProgress(progress)
        self._state = SweepState(points)
        # Maps the hash of each run that has no result yet to the indices of the points with this run.
        self._numbers: dict[str, list[int]] = {}
        for number, point in enumerate(points):
            self._numbers.setdefault(point.spec.hash, []).append(number)
        self._n_points = len(self._numbers)  # A run that several points have in common is counted once.
        self._done: dict[int, PointResult] = {}
        # Maps each group of points, as `_group` names it, to the indices of its points.
        self._groups: dict[tuple[int, ...], list[int]] = {}
        for number, point in enumerate(points if choose != "none" else ()):
            self._groups.setdefault(_group(point, choose), []).append(number)
        self._kinds_of_final = [_kind_of_final(points, RunShape.of(dataset))] * len(self._groups)
        self._chosen: dict[tuple[int, ...], PointResult] = {}
        self._final_points: dict[tuple[int, ...], SweepPoint] = {}
        self._final: dict[tuple[int, ...], PointResult] = {}

    def run(self, store: RunStore, pause: Event | None, cluster: Cluster | None) -> SweepState:
        def note_progress(fraction: float, payload: object) -> None:
            # A report without a payload contains no new state to display, so only the completed fraction is reported.
            if payload is None:
                self._progress.report(self._fraction(fraction))
            else:
                self._report(loop, fraction)

        deepest = max((point.depth for point in self._points), default=0)
        requests = {point.spec.hash: RunRequest(point.spec, self._dataset, deepest=deepest) for point in self._points}
        with RunLoop(store, cluster, progress=Listener(note_progress), pause=pause) as loop:
            loop.request(list(requests.values()))
            loop.expect(self._kinds_of_final)
            for result in loop:
                finals = self._add(result)
                if finals:
                    loop.request([RunRequest(final.spec, self._dataset, deepest=deepest) for final in finals])
                    loop.expect(self._kinds_of_final[len(self._final_points) :])
                self._report(loop)
        self._state = replace(self._state, current=None, live=None, seconds_left=0.0)
        self._progress.report(1.0, self._state)
        return self._state

    def _add(self, result: RunResult) -> list[SweepPoint]:
        """Assign the result of a run to all points with this run. Return newly selected points with their test runs."""
        for number in self._numbers.pop(result.spec.hash, ()):
            self._done[number] = PointResult.of(self._points[number], result)
        for group, point in self._final_points.items():
            if point.spec.hash == result.spec.hash:
                self._final[group] = PointResult.of(point, result)
        done = tuple(self._done[number] for number in sorted(self._done))
        finals = []
        for group, numbers in self._groups.items():
            if group not in self._chosen and all(number in self._done for number in numbers):
                results = [self._done[number] for number in numbers]
                (self._chosen[group],) = choose(pooled(results) if self._pools else results)
                (self._final_points[group],) = final_points([self._chosen[group]])
                finals.append(self._final_points[group])
        chosen, final = (tuple(each[group] for group in sorted(each)) for each in (self._chosen, self._final))
        self._state = replace(self._state, done=done, chosen=chosen, final=final)
        return finals

    def _fraction(self, running: float) -> float:
        n_done = self._n_points - len(self._numbers) + len(self._final)
        return min((n_done + running) / max(self._n_points + len(self._groups), 1), 1.0)

    def _report(self, loop: RunLoop, running: float = 0.0) -> None:
        if loop.active in self._numbers:
            current: SweepPoint | None = self._points[self._numbers[loop.active][0]]
        else:
            current = next((each for each in self._final_points.values() if each.spec.hash == loop.active), None)
        self._state = replace(
            self._state, current=current, live=loop.live, seconds_left=loop.seconds_left, faults=tuple(loop.faults)
        )
        self._progress.report(self._fraction(running), self._state)


def measured_cost(stored: Sequence[StoredRun], shapes: Mapping[str, RunShape]) -> CostModel:
    """Return a model of run durations that is fitted to the durations of stored runs.

    `shapes` maps the fingerprints of data sets to their shapes. Runs on other data sets are not used.
    """
    cost = CostModel()
    for run in stored:
        if run.fingerprint in shapes:
            shape = shapes[run.fingerprint]
            # Runs with parameters that are damaged, or that another program version wrote, are left out.
            with suppress(ValueError):
                cost.add(_kind(run.setting, run.noise, run.depth, run.fingerprint, shape), run.seconds)
    return cost


@lru_cache(maxsize=4096)  # The 23 000 runs of the full protocol need 1 577 cache entries.
def _kind(text: str | None, noise: float, depth: int, fingerprint: str, shape: RunShape) -> RunKind:
    """Return the `RunKind` of a stored run. Raise ValueError if `text`, its `Setting` as JSON, is None or invalid."""
    setting = Setting.from_text(text)
    if setting is None:
        raise ValueError("the stored setting cannot be read")
    stack = replace(setting.spec.stack, noise=noise, depth=depth).checked()
    spec = replace(setting.spec, fingerprint=fingerprint, stack=stack)
    return replace(RunKind.of(spec, shape), warm=setting.warm)
