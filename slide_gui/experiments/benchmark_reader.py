"""What the store holds of the evaluation: which candidates are there, which is the best, and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slide_gui.core.widths_guard import GUARD
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.benchmark_state import BenchmarkState, Cell, DataInfo, SplitAnswer
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.describe import describe_choice
from slide_gui.experiments.protocol import CellPlan
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.store import DamagedRun, RunStore
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.experiments.sweep_spec import SweepPoint
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "Reader",
    "Task",
    "empty_state",
    "info_of",
    "read_benchmark",
    "split_answer",
    "tasks",
    "with_answer",
]


@dataclass(frozen=True)
class Task:
    """One split of one cell."""

    plan: CellPlan
    split: int


def read_benchmark(
    cells: Sequence[CellPlan],
    data: Sequence[DataInfo],
    store: RunStore,
    *,
    rows: Sequence[StoredRun] | None = None,
    progress: Progress = NO_PROGRESS,
) -> BenchmarkState:
    """Return what the store holds of the evaluation; nothing is run.

    Parameters
    ----------
    cells : sequence of CellPlan
    data : sequence of DataInfo
        The data sets that are known; cells of others stay empty.
    store : RunStore
    rows : sequence of StoredRun, optional
        The table of the store, where it was read already.
    progress : Progress
    """
    reader = Reader(store, {info.key: info for info in data}, rows)
    state, all_tasks = empty_state(cells, data), list(tasks(cells))
    for number, task in enumerate(all_tasks):
        progress.report(number / len(all_tasks))
        if task.plan.data in reader.infos:
            state = with_answer(state, task, reader.look(task))
    return state


def info_of(key: str, dataset: Dataset) -> DataInfo:
    """Return what the evaluation says of a data set."""
    title, sizes = dataset.name.removesuffix(" (generated)"), (len(dataset.train), len(dataset.test))
    return DataInfo(key, title, dataset.generated, dataset.fingerprint, *sizes)


def tasks(cells: Sequence[CellPlan]) -> Iterator[Task]:
    """Yield the first split of all cells, then the second, and so on."""
    for split in range(max((cell.n_splits for cell in cells), default=0)):
        for cell in cells:
            if split < cell.n_splits:
                yield Task(cell, split)


def empty_state(cells: Sequence[CellPlan], data: Sequence[DataInfo]) -> BenchmarkState:
    """Return the state before anything is known."""
    methods = tuple(dict.fromkeys(cell.method for cell in cells))
    own = tuple(Cell(cell.data, cell.method, cell.n_splits) for cell in cells)
    return BenchmarkState(tuple(data), methods, own)


def with_answer(state: BenchmarkState, task: Task, answer: SplitAnswer | None) -> BenchmarkState:
    """Return the state with one more answer."""
    if answer is None:
        return state
    cells = []
    for cell in state.cells:
        if (cell.data, cell.method) == (task.plan.data, task.plan.method):
            others = [old for old in cell.answers if old.split != answer.split]
            cell = replace(cell, answers=tuple(sorted([*others, answer], key=lambda one: one.split)))
        cells.append(cell)
    return replace(state, cells=tuple(cells))


class Reader:
    """Looks up what the store holds of each task."""

    def __init__(self, store: RunStore, infos: Mapping[str, DataInfo], rows: Sequence[StoredRun] | None = None) -> None:
        self.infos = dict(infos)
        self._store = store
        self.rows = {stored.hash: stored for stored in (store.runs() if rows is None else rows)}

    def candidates(self, task: Task) -> tuple[SweepPoint, ...]:
        """Return the runs to choose from."""
        info = self.infos[task.plan.data]
        source = f"generated:{info.key}" if info.generated else info.key
        return task.plan.candidates(info.fingerprint, source, task.split)

    def missing(self, task: Task) -> list[SweepPoint]:
        """Return the candidates that have to be run before the choice; none where there is one only."""
        points = self.candidates(task)
        return [] if len(points) == 1 else [point for point in points if point.spec.hash not in self.rows]

    def choose(self, task: Task) -> PointResult | SweepPoint | None:
        """Return the candidate to judge, or None while candidates are missing."""
        points = self.candidates(task)
        if len(points) == 1:
            return points[0]
        rows = [self.rows.get(point.spec.hash) for point in points]
        answers = [_answer(point, row) for point, row in zip(points, rows, strict=True) if row is not None]
        return task.plan.best(answers) if len(answers) == len(points) else None

    def look(self, task: Task) -> SplitAnswer | None:
        """Return the answer of a task, or None if the store does not hold it whole."""
        chosen = self.choose(task)
        if chosen is None:
            return None
        final = task.plan.final(chosen.point if isinstance(chosen, PointResult) else chosen)
        if final.spec.hash not in self.rows:
            return None
        try:
            result = self._store.load(final.spec.hash)
        except (KeyError, DamagedRun):
            return None
        return split_answer(task.split, chosen, result)


def split_answer(split: int, chosen: PointResult | SweepPoint, result: RunResult) -> SplitAnswer:
    """Return the answer that a run on test rows gives for a split."""
    return SplitAnswer(
        split,
        result.hash,
        ", ".join(filter(None, [describe_choice(result.spec), GUARD if result.chosen_by == GUARD else ""])),
        result.error,
        result.n_train,
        result.n_test,
        result.misclassified,
        chosen.validation_error if isinstance(chosen, PointResult) else None,
        result.timings.features,
        result.timings.total,
    )


def _answer(point: SweepPoint, row: StoredRun) -> PointResult:
    return PointResult(point, row.rate, row.validation_error, row.seconds)
