"""Run the evaluation: take results from the store, compute the missing ones, and store each as it completes."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import closing
from dataclasses import replace

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.table import (
    REFERENCE,
    Course,
    EvaluationState,
    Reader,
    SplitAnswer,
    Task,
    empty_state,
    info_of,
    split_answer,
    tasks,
    with_answer,
)
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape
from slide_gui.experiments.runs.networks import Networks
from slide_gui.experiments.runs.representation import Reuse, feature_seconds
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.runs.splits import subset
from slide_gui.experiments.store.store import DamagedRun, RunStore
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.cluster_runs import Order, run_orders
from slide_gui.experiments.sweeps.selection import PointResult
from slide_gui.experiments.sweeps.sweep import Pause, SweepState, run_points
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress

Load = Callable[[str, Progress], Dataset]
"""A function that loads a data set by its key."""


def run_evaluation(
    cells: Sequence[CellPlan],
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Pause | None = None,
    cluster: Cluster | None = None,
) -> EvaluationState:
    """Compute the cells of the evaluation, the first split of all cells, then the second, and so on.

    For each split of a cell the candidates are evaluated on the validation rows of the split, and the best on the test
    set. Each run is stored before the next starts, so after a crash, a kill or a cancellation the same call resumes.

    Parameters
    ----------
    cells : sequence of CellPlan
        Cells of `plan`.
    load : callable
        Returns the data set of a key, given the key and a progress.
    store : RunStore
        Store opened by this thread.
    progress : Progress
        Receives an `EvaluationState`.
    pause : Pause, optional
        Pauses the evaluation within about 0.1 s. On a cluster, it only prevents new runs from starting.
    cluster : Cluster, optional
        Computes the runs in place of this process, those of a split on the same data together.

    Raises
    ------
    DataError
        If a data set is unsuitable.
    Cancelled
        By the progress.
    """
    return _Evaluation(tuple(cells), load, store, progress, Pause() if pause is None else pause, cluster).run()


class _Awaited:
    """One split of one cell in progress on a cluster.

    Parameters
    ----------
    rank : int
        Rank of its runs, as in `Order`.
    points : sequence of SweepPoint
        Its candidates.
    stored : container of str
        Hashes of runs that the store already has.
    """

    def __init__(
        self, task: Task, dataset: Dataset, rank: int, points: Sequence[SweepPoint], stored: Container[str]
    ) -> None:
        self.task, self.dataset, self.rank = task, dataset, rank
        self.answer: SplitAnswer | None = None
        self._points, self._stored = points, stored
        self._answers: dict[str, PointResult] = {}
        self._chosen: PointResult | SweepPoint | None = points[0] if len(points) == 1 else None
        self._final = task.plan.final(points[-1]).spec  # placeholder of equal size until the selection

    @property
    def next(self) -> list[RunSpec]:
        """Runs to compute next: all candidates, or once they are evaluated, the run of the selected one."""
        return [point.spec for point in self._points] if self._chosen is None else [self._final]

    @property
    def left(self) -> list[RunSpec]:
        """Runs still to compute, including that of the candidate to be selected."""
        if self.answer is not None:
            return []
        if self._chosen is not None:
            return [self._final]
        to_come = [spec for spec in self.next if spec.hash not in self._answers and spec.hash not in self._stored]
        return [*to_come, self._final]

    @property
    def is_begun(self) -> bool:
        """True if a candidate is evaluated."""
        return bool(self._answers)

    @property
    def course(self) -> Course:
        """Progress of this split."""
        place = self.task.plan.data, self.task.plan.method, self.task.split
        return Course(*place, *((len(self._answers), len(self._points)) if self._chosen is None else (0, 1)))

    def waits_for(self, spec_hash: str) -> bool:
        """Return True if a run is among the next ones and its result is missing."""
        return any(spec.hash == spec_hash for spec in self.next) and spec_hash not in self._answers

    def take(self, result: RunResult) -> list[RunSpec]:
        """Add an awaited result, and return the runs that it makes possible."""
        if self._chosen is not None:
            self.answer = split_answer(self.task.split, self._chosen, result)
            return []
        (point,) = (point for point in self._points if point.spec.hash == result.hash)
        self._answers[result.hash] = PointResult.of(point, result)
        if len(self._answers) < len(self._points):
            return []
        chosen = self.task.plan.best([self._answers[point.spec.hash] for point in self._points])
        self._chosen, self._final = chosen, self.task.plan.final(chosen.point).spec
        return [self._final]


class _Evaluation:
    def __init__(
        self,
        cells: tuple[CellPlan, ...],
        load: Load,
        store: RunStore,
        progress: Progress,
        pause: Pause,
        cluster: Cluster | None,
    ) -> None:
        self._cells, self._load, self._store, self._cluster = cells, load, store, cluster
        self._progress, self._pause = MonotonicProgress(progress), pause
        self._cost = CostModel()
        self._networks = Networks()
        self._datasets: dict[str, Dataset] = {}
        self._shapes: dict[str, RunShape] = {}
        self._state = empty_state(cells, ())
        self._todo: list[tuple[Task, list[RunKind]]] = []
        self._awaited: list[_Awaited] = []  # on a cluster
        self._left_on_one: float | None = None  # seconds that the remaining runs would take on one worker

    def run(self) -> EvaluationState:
        for cell in self._cells:
            if cell.data not in self._datasets:
                whole = self._load(cell.data, self._progress.pulse)
                self._datasets[cell.data] = subset(whole, cell.train_rows, cell.test_rows)
        self._shapes = {key: RunShape.of(dataset) for key, dataset in self._datasets.items()}
        infos = {key: info_of(key, dataset) for key, dataset in self._datasets.items()}
        self._reader = Reader(self._store, infos)
        self._state = replace(self._state, data=tuple(infos.values()))
        self._take_stored()
        if self._cluster is not None:
            self._spread(self._cluster)
        else:
            for task, _ in list(self._todo):
                course = Course(task.plan.data, task.plan.method, task.split)
                self._state = replace(self._state, courses=(course,), live=None)
                self._do(task)
                self._todo.pop(0)
        self._measure_features()
        seconds = self._run_seconds()
        self._state = replace(self._state, courses=(), live=None, seconds_left=0.0, run_seconds=seconds)
        self._report()
        return self._state

    def _run_seconds(self) -> float:
        """Return the total duration of all runs of the evaluation when they were computed."""
        seconds = {stored.hash: stored.seconds for stored in self._store.runs()}
        hashes = {answer.spec_hash for cell in self._state.cells for answer in cell.answers}
        for task in tasks(self._cells):
            for point in self._reader.candidates(task):
                hashes |= {point.spec.hash, task.plan.final(point).spec.hash}  # final runs have other neighbours
        return sum(seconds.get(each, 0.0) for each in hashes)

    def _measure_features(self) -> None:
        """Measure SLIDE's feature generation if no stored run includes all of it."""
        for cell in self._state.of_method(REFERENCE):
            if cell.answers and cell.features is None:
                last = cell.answers[-1]
                spec = self._store.load(last.spec_hash).spec
                seconds = feature_seconds(self._datasets[cell.data], spec, progress=self._progress.pulse)
                task = Task(CellPlan(cell.data, cell.method, cell.asked), last.split)
                self._state = with_answer(self._state, task, replace(last, features=seconds))

    def _take_stored(self) -> None:
        """Take the stored results, and count the missing runs."""
        for task in tasks(self._cells):
            self._progress.report(0.0)
            shape = self._shapes[task.plan.data]
            points = self._reader.candidates(task)
            runs = len(points) + 1 if len(points) > 1 else 1
            self._state = replace(self._state, total=self._state.total + runs)
            for point in points:
                if point.spec.hash in self._reader.rows:
                    seconds = self._reader.rows[point.spec.hash].seconds
                    self._cost.add(RunKind.of(point.spec, shape), seconds)
            answer = self._reader.look(task)
            if answer is not None:
                self._state = replace(with_answer(self._state, task, answer), done=self._state.done + runs)
                self._cost.add(RunKind.of(task.plan.final(points[0]).spec, shape), answer.seconds)
                continue
            missing = self._reader.missing(task)
            self._state = replace(self._state, done=self._state.done + runs - 1 - len(missing))
            left = [*(point.spec for point in missing), task.plan.final(points[-1]).spec]
            self._todo.append((task, [RunKind.of(spec, shape) for spec in left]))
        self._report()

    def _spread(self, cluster: Cluster) -> None:
        """Compute all runs on a cluster. The selected candidate of a split starts once all its candidates are
        evaluated.

        Splits and data sets follow the order of the protocol. Idle workers start on the next ones.
        """
        ranks: dict[tuple[str, int], int] = {}
        for task, _ in self._todo:
            rank = ranks.setdefault((task.plan.data, task.split), len(ranks))
            dataset, points = self._datasets[task.plan.data], self._reader.candidates(task)
            self._awaited.append(_Awaited(task, dataset, rank, points, self._reader.rows))
        self._look()

        def heard(fraction: float, _payload: object) -> None:
            n_left = self._state.total - self._state.done
            if self._left_on_one is not None and n_left:
                seconds = self._left_on_one * max(1.0 - fraction / n_left, 0.0)
                self._state = replace(self._state, seconds_left=seconds / max(min(cluster.n_slots, n_left), 1))
            self._report(fraction)

        results = run_orders(
            cluster,
            [self._order(one, spec) for one in self._awaited for spec in one.next],
            self._store,
            progress=Listener(heard),
            may_begin=lambda: not self._pause.paused,
            further=self._came,
        )
        with closing(results):
            for _ in results:
                self._report()

    def _came(self, result: RunResult) -> list[Order]:
        """Record a result from the cluster, and return the runs that it makes possible."""
        orders = []
        for one in self._awaited:
            if one.waits_for(result.hash):
                self._cost.add(RunKind.of(result.spec, self._shapes[one.task.plan.data]), result.timings.total)
                orders += [self._order(one, spec) for spec in one.take(result)]
                self._state = with_answer(self._state, one.task, one.answer)
        self._look()
        return orders

    def _look(self) -> None:
        """Update the active splits and the remaining runs."""
        still = [one for one in self._awaited if one.answer is None]
        first = min((one.rank for one in still), default=0)
        courses = tuple(one.course for one in still if one.rank == first or one.is_begun)
        left = [RunKind.of(spec, self._shapes[one.task.plan.data]) for one in still for spec in one.left]
        self._left_on_one = self._cost.left(left, 0.0)
        self._state = replace(self._state, courses=courses, done=self._state.total - len(left))

    def _order(self, one: _Awaited, spec: RunSpec) -> Order:
        """Return the request for a run, and record a fault if its stored result is damaged."""
        if spec.hash in self._reader.rows:
            try:
                self._store.take(spec)
            except KeyError:
                pass
            except DamagedRun as error:
                self._state = replace(self._state, faults=(*self._state.faults, str(error)))
        return Order(spec, one.dataset, one.rank)

    def _do(self, task: Task) -> None:
        """Compute the missing candidates of a split, select one, and evaluate it on the test set."""
        dataset = self._datasets[task.plan.data]
        points = self._reader.candidates(task)
        chosen: PointResult | SweepPoint = points[0]
        if len(points) > 1:
            deepest = max(point.depth for point in points)
            reuse = Reuse(deepest=deepest, networks=self._networks)
            done = self._run(dataset, self._deepest_first(points), reuse).done
            by_hash = {answer.point.spec.hash: answer for answer in done}
            chosen = task.plan.best([by_hash[point.spec.hash] for point in points])  # in the order of the protocol
        final = task.plan.final(chosen.point if isinstance(chosen, PointResult) else chosen)
        # Only networks are reused here, so that the time of feature generation covers the whole computation.
        self._run(dataset, (final,), Reuse(networks=self._networks))
        answer = split_answer(task.split, chosen, self._store.load(final.spec.hash))
        self._state = with_answer(self._state, task, answer)
        self._report()

    @staticmethod
    def _deepest_first(points: Sequence[SweepPoint]) -> tuple[SweepPoint, ...]:
        """Put the deepest autoencoders first, because their first layers are the shallower ones."""
        if points[0].spec.sda is None:
            return tuple(points)
        return tuple(sorted(points, key=lambda point: -point.spec.layers))

    def _run(self, dataset: Dataset, points: tuple[SweepPoint, ...], reuse: Reuse) -> SweepState:
        before = len([point for point in points if point.spec.hash in self._reader.rows])
        state = run_points(
            dataset,
            points,
            self._store,
            progress=Listener(lambda _, payload: self._seen(payload, before)),
            pause=self._pause,
            reuse=reuse,
            cost=self._cost,
        )
        self._state = replace(
            self._state,
            done=self._state.done + len(points) - before,
            faults=(*self._state.faults, *state.faults),
            live=None,
        )
        task, kinds = self._todo[0]
        self._todo[0] = task, kinds[-1:]
        return state

    def _seen(self, inner: object, before: int) -> None:
        """Update the state with the progress of the current runs."""
        if not isinstance(inner, SweepState):
            self._progress.report(0.0)
            return
        (course,) = self._state.courses
        course = replace(course, answered=len(inner.done), candidates=len(inner.points))
        self._state = replace(self._state, live=inner.live, courses=(course,))
        here = inner.seconds_left
        after = [kind for _, kinds in self._todo[1:] for kind in kinds]
        if len(self._todo[0][1]) > 1:
            after = [self._todo[0][1][-1], *after]
        left = None if here is None else here + self._cost.left(after, 0.0)
        self._state = replace(self._state, seconds_left=left)
        self._report(max(len(inner.done) - before, 0))

    def _report(self, running: float = 0.0) -> None:
        total = max(self._state.total, 1)
        self._progress.report(min((self._state.done + running) / total, 1.0), replace(self._state))
