"""Running the evaluation: what the store holds is taken, what is missing is run and kept at once, run by run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.cost import CostModel, RunKind
from slide_gui.experiments.evaluation.protocol import CellPlan
from slide_gui.experiments.evaluation.table import (
    REFERENCE,
    EvaluationState,
    Reader,
    Task,
    empty_state,
    info_of,
    split_answer,
    tasks,
    with_answer,
)
from slide_gui.experiments.networks import Networks
from slide_gui.experiments.representation import Reuse, feature_seconds
from slide_gui.experiments.spec import SweepPoint
from slide_gui.experiments.splits import subset
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import Pause, SweepState, run_points
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress

if TYPE_CHECKING:
    from slide_gui.experiments.cluster import Cluster

__all__ = ["Load", "run_evaluation"]

Load = Callable[[str, Progress], Dataset]
"""Loads a data set by its key."""


def run_evaluation(
    cells: Sequence[CellPlan],
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Pause | None = None,
    cluster: Cluster | None = None,
) -> EvaluationState:
    """Fill the cells of the evaluation, the first split of all, then the second, and so on.

    For each split of a cell the candidates are judged on the split's validation rows, the best is judged on the test
    part. Each run is kept before the next begins, so that after a crash, a kill or a cancellation the same call goes
    on where it was.

    Parameters
    ----------
    cells : sequence of CellPlan
        As `plan` gives them.
    load : callable
        From the key of a data set and a progress to the data set.
    store : RunStore
        Opened by this thread.
    progress : Progress
        Told a `EvaluationState`.
    pause : Pause, optional
        Holds it within about 0.1 s; on a cluster, no further run is begun.
    cluster : Cluster, optional
        Makes the runs in place of this process, those of a split on the same data together.

    Raises
    ------
    DataError
        If a data set cannot be used.
    Cancelled
        By the progress.
    """
    return _Evaluation(tuple(cells), load, store, progress, Pause() if pause is None else pause, cluster).run()


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
        self._state = empty_state(cells, ())
        self._todo: list[tuple[Task, list[RunKind]]] = []

    def run(self) -> EvaluationState:
        for cell in self._cells:
            if cell.data not in self._datasets:
                whole = self._load(cell.data, self._progress.pulse)
                self._datasets[cell.data] = subset(whole, cell.train_rows, cell.test_rows)
        infos = {key: info_of(key, dataset) for key, dataset in self._datasets.items()}
        self._reader = Reader(self._store, infos)
        self._state = replace(self._state, data=tuple(infos.values()))
        self._take_stored()
        spread: set[tuple[str, int]] = set()
        for task, _ in list(self._todo):
            if self._cluster is not None and (task.plan.data, task.split) not in spread:
                spread.add((task.plan.data, task.split))
                self._spread(task.plan.data, task.split)
            place = (task.plan.data, task.plan.method, task.split)
            self._state = replace(self._state, current=place, live=None, stage=(0, 0))
            self._do(task)
            self._todo.pop(0)
        self._measure_features()
        seconds = self._run_seconds()
        self._state = replace(self._state, current=None, live=None, seconds_left=0.0, run_seconds=seconds)
        self._report()
        return self._state

    def _run_seconds(self) -> float:
        """Return what all runs of the evaluation took when they were made."""
        seconds = {stored.hash: stored.seconds for stored in self._store.runs()}
        hashes = {answer.spec_hash for cell in self._state.cells for answer in cell.answers}
        for task in tasks(self._cells):
            for point in self._reader.candidates(task):
                hashes |= {point.spec.hash, task.plan.final(point).spec.hash}  # a final run has others as neighbours
        return sum(seconds.get(each, 0.0) for each in hashes)

    def _measure_features(self) -> None:
        """Time SLIDE's feature generation where no stored run did all of it."""
        for cell in self._state.of_method(REFERENCE):
            if cell.answers and cell.features is None:
                last = cell.answers[-1]
                spec = self._store.load(last.spec_hash).spec
                seconds = feature_seconds(self._datasets[cell.data], spec, progress=self._progress.pulse)
                task = Task(CellPlan(cell.data, cell.method, cell.asked), last.split)
                self._state = with_answer(self._state, task, replace(last, features=seconds))

    def _take_stored(self) -> None:
        """Take the answers that are there, and count what is missing."""
        for task in tasks(self._cells):
            self._progress.report(0.0)
            n_train = self._reader.infos[task.plan.data].n_train
            points = self._reader.candidates(task)
            runs = len(points) + 1 if len(points) > 1 else 1
            self._state = replace(self._state, total=self._state.total + runs)
            for point in points:
                if point.spec.hash in self._reader.rows:
                    seconds = self._reader.rows[point.spec.hash].seconds
                    self._cost.add(RunKind.of(point.spec, n_train), seconds)
            answer = self._reader.look(task)
            if answer is not None:
                self._state = replace(with_answer(self._state, task, answer), done=self._state.done + runs)
                self._cost.add(RunKind.of(task.plan.final(points[0]).spec, n_train), answer.seconds)
                continue
            missing = self._reader.missing(task)
            self._state = replace(self._state, done=self._state.done + runs - 1 - len(missing))
            left = [*(point.spec for point in missing), task.plan.final(points[-1]).spec]
            self._todo.append((task, [RunKind.of(spec, n_train) for spec in left]))
        self._report()

    def _spread(self, data: str, split: int) -> None:
        """Let the cluster make all runs of a split on the same data, which are then found in the store."""
        same = [task for task, _ in self._todo if (task.plan.data, task.split) == (data, split)]
        self._state = replace(self._state, current=(data, "", split), live=None)
        several = {task: self._reader.candidates(task) for task in same}
        done = self._there(data, [point for each in several.values() if len(each) > 1 for point in each])
        finals = []
        for task, each in several.items():
            chosen = each[0] if len(each) == 1 else task.plan.best([done[point.spec.hash] for point in each]).point
            finals.append(task.plan.final(chosen))
        self._there(data, finals)

    def _there(self, data: str, points: Sequence[SweepPoint]) -> dict[str, PointResult]:
        """Answer points on the cluster; return the answers by the hashes of their runs."""

        def heard(_fraction: float, payload: object) -> None:
            if not isinstance(payload, SweepState):
                self._progress.report(0.0)
                return
            self._state = replace(self._state, stage=(len(payload.done), len(payload.points)))
            self._report()

        state = run_points(
            self._datasets[data],
            points,
            self._store,
            progress=Listener(heard),
            pause=self._pause,
            cost=self._cost,
            cluster=self._cluster,
        )
        self._state = replace(self._state, faults=(*self._state.faults, *state.faults))
        return {answer.point.spec.hash: answer for answer in state.done}

    def _do(self, task: Task) -> None:
        """Run the candidates that are missing, choose, and judge what was chosen."""
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
        # Nothing but networks is shared here, so that the time of feature generation is that of the whole.
        self._run(dataset, (final,), Reuse(networks=self._networks))
        answer = split_answer(task.split, chosen, self._store.load(final.spec.hash))
        self._state = with_answer(self._state, task, answer)
        self._report()

    @staticmethod
    def _deepest_first(points: Sequence[SweepPoint]) -> tuple[SweepPoint, ...]:
        """Put deep autoencoders first: shallower ones are then their first layers."""
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
        """Take in what the runs of the current task report."""
        if not isinstance(inner, SweepState):
            self._progress.report(0.0)
            return
        self._state = replace(self._state, live=inner.live, stage=(len(inner.done), len(inner.points)))
        here = inner.seconds_left
        after = [kind for _, kinds in self._todo[1:] for kind in kinds]
        if len(self._todo[0][1]) > 1:
            after = [self._todo[0][1][-1], *after]
        rest = self._cost.left(after, 0.0)
        left = None if here is None or rest is None else here + rest
        self._state = replace(self._state, seconds_left=left)
        self._report(max(len(inner.done) - before, 0))

    def _report(self, running: int = 0) -> None:
        total = max(self._state.total, 1)
        self._progress.report(min((self._state.done + running) / total, 1.0), replace(self._state))
