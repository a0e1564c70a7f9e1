"""Run a sweep: take results from the store, compute the missing ones, and store each as it completes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape
from slide_gui.experiments.runs.representation import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import RunProgress, run
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint, SweepSpec, on_every_fold
from slide_gui.experiments.store.setting import Setting
from slide_gui.experiments.store.store import DamagedRun, RunStore
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.cluster_runs import Order, run_orders
from slide_gui.experiments.sweeps.selection import PointResult, choose, final_points, pooled
from slide_gui.progress import NO_PROGRESS, Listener, Progress
from slide_gui.text import about, count, counted

_LOOK = 0.05  # seconds between two checks whether a paused sweep is resumed or cancelled


def stored_or_run(
    dataset: Dataset, spec: RunSpec, store: RunStore, *, progress: Progress = NO_PROGRESS, reuse: Reuse | None = None
) -> RunResult:
    """Return the result of a run from the store, or compute and store it.

    The runs that it starts from are treated in the same way before it. A deleted result is restored.

    Parameters
    ----------
    spec : RunSpec
        A checked spec.
    store : RunStore
        Store opened by this thread.
    progress : Progress
        Receives the reports of `run`, with each run from 0 to 1.
    reuse : Reuse, optional
        Data shared with other runs on the same data set.

    Raises
    ------
    DataError
        If the data are not those of the spec, or are unsuitable, or the store is damaged.
    Cancelled
        By the progress.
    """
    with suppress(KeyError, DamagedRun):
        return store.take(spec)
    reuse = Reuse(deepest=spec.stack.depth) if reuse is None else reuse
    neighbours = {}
    if spec.neighbour is not None:
        near = stored_or_run(dataset, spec.neighbour, store, progress=progress, reuse=reuse)
        neighbours[spec.neighbour.hash] = near
    reuse.results = neighbours
    result = run(dataset, spec, progress=progress, reuse=reuse)
    store.save(result)
    return result


def answers_of(
    dataset: Dataset,
    specs: Sequence[RunSpec],
    store: RunStore | None = None,
    *,
    progress: Progress = NO_PROGRESS,
    reuse: Reuse | None = None,
    cluster: Cluster | None = None,
    may_begin: Callable[[], bool] = lambda: True,
) -> Generator[RunResult, None, None]:
    """Yield the result of each run, one after the other in this process, or as they complete on a cluster.

    Parameters
    ----------
    specs : sequence of RunSpec
        Checked specs with different hashes.
    store : RunStore, optional
        Store opened by this thread. Its results are reused, and new ones saved.
    progress : Progress
        Receives the sum of the fractions of the active runs. In this process it also receives the reports of `run`.
    reuse : Reuse, optional
        Data shared by the runs of this process.
    may_begin : callable
        Returns True if further runs on a cluster may start now.

    Raises
    ------
    DataError, ClusterError, Cancelled
        As `stored_or_run` and `run_orders`.
    """
    if cluster is not None:
        orders = [Order(spec, dataset) for spec in specs]
        yield from run_orders(cluster, orders, store, progress=progress, may_begin=may_begin)
        return
    for spec in specs:
        if store is None:
            yield run(dataset, spec, progress=progress, reuse=reuse)
        else:
            yield stored_or_run(dataset, spec, store, progress=progress, reuse=reuse)


class Pause:
    """Pauses a sweep at its next progress report. Any thread may set it."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()

    @property
    def paused(self) -> bool:
        """True if the sweep is paused."""
        return not self._running.is_set()

    def pause(self) -> None:
        """Pause the sweep."""
        self._running.clear()

    def resume(self) -> None:
        """Resume the sweep."""
        self._running.set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`, and return True if the sweep may continue."""
        return self._running.wait(seconds)


@dataclass(frozen=True, eq=False)
class SweepState:
    """The state of a sweep.

    Attributes
    ----------
    points : tuple of SweepPoint
        All points, in order.
    done : tuple of PointResult
        Results so far, in order.
    current : SweepPoint or None
        The active point.
    live : RunProgress or None
        State of its run. None on a cluster, where several runs are active.
    seconds_left : float or None
        Estimated remaining seconds. None until a run was measured.
    faults : tuple of str
        Messages about damaged stored runs that were repeated.
    chosen : tuple of PointResult
        Results selected by validation error.
    final : tuple of PointResult
        Their results on the test set after training again on the whole training set, as far as completed.
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
    """The size of a sweep.

    Attributes
    ----------
    n_runs, n_stored : int
        Number of all its runs, and of those in the store.
    seconds : float
        Estimated seconds for the others.
    measured : bool
        True if runs on the same data were measured on this computer.
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
        guessed = "" if self.measured else "estimated without measured runs on these data"
        return ", ".join(filter(None, (runs, there, about(self.seconds), guessed)))


def plan_sweep(sweep: SweepSpec, dataset: Dataset, stored: Sequence[StoredRun]) -> SweepPlan:
    """Return the size of a sweep, including its final runs on the test set.

    Parameters
    ----------
    dataset : Dataset
        Data set of the sweep.
    stored : sequence of StoredRun
        Runs in the store.

    Raises
    ------
    ValueError
        If the sweep is empty or out of range.
    """
    points = _points(sweep, dataset)
    known = {line.hash for line in stored if line.is_current}
    shape = RunShape.of(dataset)
    cost, same = CostModel(), {point.spec.fingerprint for point in points}
    for line in stored:
        kind = None if line.fingerprint not in same else kind_of(line, shape)
        if kind is not None:
            cost.add(kind, line.seconds)
    wanted = {point.spec.hash: point.spec for point in points}
    left = [spec for spec_hash, spec in wanted.items() if spec_hash not in known]
    last = [replace(points[-1].spec, training="whole", evaluate="test", labels=None, neighbour=None)]
    last *= _n_last(sweep, points)

    kinds = [RunKind.of(spec, shape) for spec in [*left, *last]]
    return SweepPlan(
        len(wanted) + len(last), len(wanted) - len(left), cost.left(kinds, 0.0), all(map(cost.measured, kinds))
    )


def _points(sweep: SweepSpec, dataset: Dataset) -> tuple[SweepPoint, ...]:
    return tuple(point for each in on_every_fold(sweep, dataset) for point in each.points())


def _n_last(sweep: SweepSpec, points: Sequence[SweepPoint]) -> int:
    """Return the number of final runs on the test set: one per fold, or one per fold, split and seed."""
    if sweep.choose == "none":
        return 0
    many = {(point.fold, *((point.split, point.seed) if sweep.choose == "each" else ())) for point in points}
    return len(many)


def run_sweep(
    dataset: Dataset,
    sweep: SweepSpec,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Pause | None = None,
    cluster: Cluster | None = None,
) -> SweepState:
    """Compute all points of a sweep, on every fold if the data are divided into folds, and test the selected ones.

    Each result is stored before the next point starts, so after a crash, a kill or a cancellation the same call
    resumes. Interruptions do not change any bit of the results.

    Parameters
    ----------
    store : RunStore
        Store opened by this thread.
    progress : Progress
        Receives a `SweepState`.
    pause : Pause, optional
        Pauses the sweep within about 0.1 s. On a cluster, it only prevents new runs from starting.
    cluster : Cluster, optional
        Computes the runs in place of this process.

    Raises
    ------
    DataError
        If the data are not those of the sweep, or are unsuitable.
    ValueError
        If the sweep is empty or out of range.
    ClusterError
        If the cluster is lost. Completed results are stored.
    Cancelled
        By the progress.
    """
    points = _points(sweep, dataset)
    reuse, cost = Reuse(deepest=max(point.depth for point in points)), CostModel()
    n_last = _n_last(sweep, points)
    whole = replace(points[-1].spec, training="whole", evaluate="test", neighbour=None)
    kind = RunKind.of(whole, RunShape.of(dataset))
    share = len(points) / (len(points) + n_last)

    def first(fraction: float, payload: object) -> None:
        if isinstance(payload, SweepState) and payload.seconds_left is not None:
            payload = replace(payload, seconds_left=payload.seconds_left + cost.left([kind] * n_last, 0.0))
        progress.report(share * fraction, payload)

    answer = partial(run_points, dataset, store=store, pause=pause, reuse=reuse, cost=cost, cluster=cluster)
    state = answer(points, progress=Listener(first))
    if sweep.choose == "none":
        return state
    state = replace(state, chosen=choose(pooled(state.done) if sweep.choose == "pooled" else state.done))

    def last(fraction: float, payload: object) -> None:
        if isinstance(payload, SweepState):
            payload = replace(payload, points=state.points, done=state.done, chosen=state.chosen, final=payload.done)
        progress.report(share + (1.0 - share) * fraction, payload)

    finals = final_points(state.chosen)
    end = answer(finals, progress=Listener(last))
    faults = state.faults + end.faults
    return replace(state, final=end.done, seconds_left=0.0, faults=faults)


def run_points(
    dataset: Dataset,
    points: Sequence[SweepPoint],
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Pause | None = None,
    reuse: Reuse | None = None,
    cost: CostModel | None = None,
    cluster: Cluster | None = None,
) -> SweepState:
    """Compute points as `run_sweep` does. Missing neighbours are computed and stored, too.

    Runs of this process share data through `reuse`. The durations of all runs are added to `cost`.
    """
    reuse = Reuse(deepest=max((point.depth for point in points), default=0)) if reuse is None else reuse
    pause, cost = Pause() if pause is None else pause, CostModel() if cost is None else cost
    return _Sweep(dataset, tuple(points), store, progress, pause, reuse, cost, cluster).run()


class _Sweep:
    def __init__(
        self,
        dataset: Dataset,
        points: tuple[SweepPoint, ...],
        store: RunStore,
        progress: Progress,
        pause: Pause,
        reuse: Reuse,
        cost: CostModel,
        cluster: Cluster | None,
    ) -> None:
        self._dataset, self._store, self._cluster = dataset, store, cluster
        self._progress, self._pause = progress, pause
        self._reuse, self._cost = reuse, cost
        self._state = SweepState(points)
        self._n_runs = len({point.spec.hash for point in points})
        self._n_answered = 0
        self._left: list[SweepPoint] = []
        self._kinds: dict[str, RunKind] = {}
        self._shape = RunShape.of(dataset)
        self._begun = time.monotonic()  # start of the active run

    def run(self) -> SweepState:
        self._take_stored()
        results = answers_of(
            self._dataset,
            [point.spec for point in self._left],
            self._store,
            progress=Listener(self._seen),
            reuse=self._reuse,
            cluster=self._cluster,
            may_begin=lambda: not self._pause.paused,
        )
        self._begin()
        with closing(results):
            for result in results:
                (point,) = (point for point in self._left if point.spec.hash == result.spec.hash)
                self._cost.add(self._kind(point), result.timings.total)
                self._left.remove(point)
                self._answer(result)
                self._begin()
        self._state = replace(self._state, current=None, live=None, seconds_left=0.0)
        self._report(0.0)
        return self._state

    def _begin(self) -> None:
        """Report the next point. On a cluster, several are active."""
        if self._left:
            self._begun = time.monotonic()
            current = self._left[0] if self._cluster is None else None
            self._state = replace(self._state, current=current, live=None)
            self._report(0.0)

    def _take_stored(self) -> None:
        """Take the stored results. Damaged ones count as missing and are reported."""
        asked: set[str] = set()
        for point in self._state.points:
            spec_hash = point.spec.hash
            if spec_hash in asked:
                continue
            asked.add(spec_hash)
            self._report(0.0, news=False)
            try:
                result = self._store.take(point.spec)
            except KeyError:
                self._left.append(point)
            except DamagedRun as error:
                self._left.append(point)
                self._state = replace(self._state, faults=(*self._state.faults, str(error)))
            else:
                self._cost.add(self._kind(point), result.timings.total)
                self._answer(result)

    def _answer(self, result: RunResult) -> None:
        """Assign a result to all points of its run, in the order of the points."""
        self._n_answered += 1
        answers = [PointResult.of(point, result) for point in self._state.points if point.spec.hash == result.spec.hash]
        place = {id(point): number for number, point in enumerate(self._state.points)}
        done = sorted([*self._state.done, *answers], key=lambda answer: place[id(answer.point)])
        self._state = replace(self._state, done=tuple(done))

    def _kind(self, point: SweepPoint) -> RunKind:
        spec_hash = point.spec.hash
        if spec_hash not in self._kinds:
            self._kinds[spec_hash] = RunKind.of(point.spec, self._shape)
        return self._kinds[spec_hash]

    def _seen(self, fraction: float, payload: object) -> None:
        """Record a report of the active run."""
        if isinstance(payload, RunProgress):
            self._state = replace(self._state, live=payload)
        self._report(fraction, payload is not None)

    def _report(self, fraction: float, news: bool = True) -> None:
        """Report the fraction of completed runs with the estimated remaining seconds, and wait while paused."""
        spent = time.monotonic() - self._begun if self._cluster is None else 0.0
        seconds = self._cost.left([self._kind(point) for point in self._left], fraction, spent)
        if self._cluster is not None:
            seconds /= max(min(self._cluster.n_slots, len(self._left)), 1)
        whole = min((self._n_answered + fraction) / max(self._n_runs, 1), 1.0)
        payload = None
        if news:
            self._state = replace(self._state, seconds_left=seconds)
            payload = self._state
        self._progress.report(whole, payload)
        while self._cluster is None and not self._pause.wait(_LOOK):
            self._progress.report(whole)


def kind_of(run: StoredRun, shape: RunShape) -> RunKind | None:
    """Return the kind of a stored run on data of this shape, or None if it is unknown."""
    setting = Setting.from_text(run.setting)
    if setting is None:
        return None
    stack = replace(setting.spec.stack, noise=run.noise, depth=run.depth)
    spec = replace(setting.spec, fingerprint=run.fingerprint, method=run.method, stack=stack)
    return replace(RunKind.of(spec, shape), warm=setting.warm)
