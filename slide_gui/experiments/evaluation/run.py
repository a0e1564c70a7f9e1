"""Run the evaluation: load stored results, compute missing results, and store each new result at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from threading import Event

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation import table
from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import REFERENCE, CellPlan
from slide_gui.experiments.evaluation.records import RecordFolder
from slide_gui.experiments.evaluation.table import DataInfo, EvaluationState, SplitAnswer, SplitProgress, Task
from slide_gui.experiments.runs.cost import RunKind, RunShape
from slide_gui.experiments.runs.fitting import feature_seconds
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.runs.splits import subset
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.experiments.sweeps.cluster import Cluster
from slide_gui.experiments.sweeps.executor import RunLoop, RunRequest
from slide_gui.experiments.sweeps.sweep import measured_cost
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress

# Type of a function that loads the data set with a given key.
Load = Callable[[str, Progress], Dataset]

# Number of features of every data set of the benchmark.
_COLUMNS = 784


def remaining_cost(
    cells: Sequence[CellPlan], state: EvaluationState, rows: Sequence[StoredRun], progress: Progress = NO_PROGRESS
) -> Mapping[tuple[str, str], Mapping[int, float]]:
    """Estimate the duration of each run that the evaluation may still need.

    The result maps the key (data, method) of each cell of the tables to a dictionary. This dictionary has one entry for
    each run that may still be needed. Each entry maps a number that identifies the run to the estimated duration in
    seconds. If several cells need the same run, the run has the same number in all of them.

    Parameters
    ----------
    state : EvaluationState
        State of the evaluation according to the stored runs, as returned by `stored_evaluation`.
    rows : sequence of StoredRun
        Runs in the store. Their durations are used to estimate the durations of other runs.
    progress : Progress
        Can cancel the estimation, which takes about a second for the full protocol.
    """
    infos = {info.key: info for info in state.data}
    classes = {cell.data: len(data_entry(cell.data).label_names) for cell in cells}
    shapes = {cell.data: RunShape(*table.plan_sizes(cell), _COLUMNS, classes[cell.data]) for cell in cells}
    cost = measured_cost(rows, {info.fingerprint: shapes[info.key] for info in state.data})
    stored, seeds = {row.hash for row in rows}, {(row.fingerprint, row.seed) for row in rows}
    costs: dict[tuple[str, str], dict[int, float]] = {(cell.data, cell.method): {} for cell in cells}
    numbers: dict[tuple[str, RunSpec], int] = {}
    for task, part in progress.each(list(table.tasks(cells))):
        part.report(0.0)
        key, info = (task.plan.data, task.plan.method), infos.get(task.plan.data)
        cell = state.cell(*key)
        if cell is not None and any(answer.split == task.split for answer in cell.answers):
            continue
        fingerprint, shape = "" if info is None else info.fingerprint, shapes[task.plan.data]
        points = task.plan.candidates(fingerprint, "", task.split)
        # The duration of a run does not depend on its validation set, so it is estimated only once for each candidate.
        seconds = [cost.seconds(RunKind.of(point.spec, shape)) for point in points[: task.plan.n_candidates]]
        runs = list(zip([point.spec for point in points], cycle(seconds))) if task.plan.selects else []
        # Computing hashes is slow, so they are not computed if the store cannot contain a run of this split.
        if (fingerprint, points[0].seed) in seeds:
            runs = [run for run in runs if run[0].hash not in stored]
        final = task.plan.final(points[-1]).spec
        for spec, expected in (*runs, (final, cost.seconds(RunKind.of(final, shape)))):
            costs[key][numbers.setdefault((task.plan.data, spec), len(numbers))] = expected
    return costs


def run_evaluation(
    cells: Sequence[CellPlan],
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Event | None = None,
    cluster: Cluster | None = None,
    records: RecordFolder | None = None,
) -> EvaluationState:
    """Compute the cells of the evaluation: the first split of all cells, then the second split of all cells, and so on.

    On each split, the candidates of a cell are evaluated on validation rows, and the best candidate on the test set.
    Each run is stored as soon as it is complete. The same call resumes an interrupted evaluation.

    Parameters
    ----------
    cells : sequence of CellPlan
        Cells of the tables to compute, as returned by `plan`.
    load : callable
        Returns a data set, given its key and a `Progress`.
    store : RunStore
        Store that was opened in the calling thread.
    progress : Progress
        Receives an `EvaluationState` at every change.
    pause : threading.Event, optional
        While the event is set, the evaluation is paused, with a delay of at most 0.1 s. On a cluster, active runs
        continue.
    cluster : Cluster, optional
        Computes the runs instead of this process.
    records : RecordFolder, optional
        Folder with results. The runs in this folder are used like runs in the store. All runs of the evaluation are
        added to the folder.

    Raises
    ------
    DataError
        If a data set is unsuitable.
    Cancelled
        If `progress` cancels the evaluation.
    """
    return _Evaluation(tuple(cells), load, progress, records).run(store, pause, cluster)


class _SplitRuns:
    """The runs of one split of one cell: all candidates, then the selected candidate on the test set."""

    def __init__(self, task: Task, dataset: Dataset, points: Sequence[SweepPoint], rank: int) -> None:
        self.task, self.rank, self._points, self._dataset = task, rank, points, dataset
        self.kind_of_final = self.kind_of(task.plan.final(points[-1]).spec)
        self.runs: dict[str, StoredRun] = {}  # Completed candidate runs by hash.
        self.waiting: set[str] = set()
        """Hashes of the requested runs that have no result yet."""
        self.selected = task.plan.select(points, {})

    def requests(self) -> list[RunRequest]:
        """Return the next runs to compute: candidates on one validation set, or the run on the test set."""
        if self.selected is None:
            points = self.task.plan.next_points(self._points, self.runs)
            deepest = max(point.depth for point in points)
            requests = [RunRequest(point.spec, self._dataset, self.rank, deepest) for point in points]
        else:
            # With deepest=None, the run does not reuse a representation that another run has fitted, so its whole
            # feature generation is timed.
            requests = [RunRequest(self.selected.final.spec, self._dataset, self.rank, None)]
        self.waiting = {request.spec.hash for request in requests}
        return requests

    @property
    def progress(self) -> SplitProgress:
        """Progress of this split, for display in the user interface."""
        place = self.task.plan.data, self.task.plan.method, self.task.split
        return SplitProgress(*place, *((len(self.runs), len(self._points)) if self.selected is None else (0, 1)))

    @property
    def n_runs(self) -> int:
        """Number of runs that the split needs if no candidate is excluded early."""
        return len(self._points) * self.task.plan.selects + 1

    def kind_of(self, spec: RunSpec) -> RunKind:
        """Return the kind of a run on the data of this split. The duration of the run is estimated from its kind."""
        return RunKind.of(spec, RunShape.of(self._dataset))

    def add(self, spec: RunSpec, row: StoredRun) -> SplitAnswer | None:
        """Add a completed run. Return the result of the split if this run is the one on test rows, otherwise None."""
        self.waiting.discard(row.hash)
        if self.selected is not None:
            return table.split_answer(self.task.split, self.selected, spec, row)
        self.runs[row.hash] = row
        self.selected = None if self.waiting else self.task.plan.select(self._points, self.runs)
        return None


class _Evaluation:
    def __init__(self, cells: Sequence[CellPlan], load: Load, progress: Progress, records: RecordFolder | None) -> None:
        self._cells, self._load, self._records = cells, load, records
        self._progress = MonotonicProgress(progress)
        self._datasets: dict[str, Dataset] = {}
        self._state = table.empty_state(cells, ())
        self._splits: list[_SplitRuns] = []  # All splits that have no result yet.
        self._waiting: dict[str, list[_SplitRuns]] = {}  # Maps the hash of a run to the splits that wait for it.
        self._finals: dict[str, RunSpec] = {}  # Maps the hash of each run on a test set to its specification.

    def run(self, store: RunStore, pause: Event | None, cluster: Cluster | None) -> EvaluationState:
        records = () if self._records is None else self._records.rows.values()
        self._parallel = cluster is not None
        self._loop = RunLoop(store, cluster, progress=Listener(self._note_progress), pause=pause)
        self._rows = table.readable([*records, *store.runs()])
        for cell in self._cells:
            if cell.data not in self._datasets:
                whole = self._load(cell.data, self._progress.pulse)
                self._datasets[cell.data] = subset(whole, cell.train_rows, cell.test_rows)
        infos = {key: table.info_of(key, dataset) for key, dataset in self._datasets.items()}
        self._state = replace(self._state, data=tuple(infos.values()))
        with self._loop as loop:
            self._start(infos)
            self._update()
            for result in loop:
                row = self._rows[result.hash] = StoredRun.of(result, time.time())
                for split in self._waiting.pop(row.hash, ()):
                    self._add(split, result.spec, row)
                self._update()
        self._measure_features()
        self._state = replace(self._state, active=(), live=None, seconds_left=0.0)
        self._progress.report(1.0, self._state)
        return self._state

    def _start(self, infos: Mapping[str, DataInfo]) -> None:
        """Request the first runs of all splits.

        Each run has a rank, and runs with a lower rank start first. If this process computes the runs, each split of
        each method on each data set has its own rank. On a cluster, all methods on one split of a data set have the
        same rank. When all runs of a rank have started, idle workers start runs of the next rank.
        """
        ranks: dict[object, int] = {}
        for task in table.tasks(self._cells):
            self._progress.report(0.0)
            data, points = task.plan.data, table.candidates(task, infos[task.plan.data])
            rank = ranks.setdefault((data, task.split) if self._parallel else task, len(ranks))
            split = _SplitRuns(task, self._datasets[data], points, rank)
            self._splits.append(split)
            self._state = replace(self._state, total=self._state.total + split.n_runs)
            self._advance(split)

    def _advance(self, split: _SplitRuns) -> None:
        """Determine the next runs of a split. Use those runs that are stored, and request the remaining ones."""
        requests = split.requests()
        missing = [request for request in requests if request.spec.hash not in self._rows]
        stored = [request.spec for request in requests if request.spec.hash in self._rows]
        self._loop.request(missing)
        for request in missing:
            self._waiting.setdefault(request.spec.hash, []).append(split)
        for spec in stored:
            row = self._rows[spec.hash]
            self._loop.cost.add(split.kind_of(spec), row.seconds)
            self._add(split, spec, row)

    def _add(self, split: _SplitRuns, spec: RunSpec, row: StoredRun) -> None:
        """Add a completed run to a split and to the folder of results.

        If all requested runs of the split are complete, determine the next runs of the split.
        """
        if self._records is not None:
            self._records.add(split.task.plan.data, row)
        answer = split.add(spec, row)
        # When a split is complete, the runs of candidates that were excluded early are also counted as complete,
        # although they were not computed.
        done = 1 if answer is None else split.n_runs - len(split.runs)
        self._state = replace(table.with_answer(self._state, split.task.plan, answer), done=self._state.done + done)
        if answer is not None:
            self._finals[row.hash] = spec
            self._splits.remove(split)
        elif not split.waiting:
            self._advance(split)

    def _update(self) -> None:
        """Update the list of active splits and report the state.

        Each split without a selected candidate will still need a run on test rows. These runs are announced to the
        `RunLoop`, so that its estimate of the remaining time includes them.
        """
        first = min((split.rank for split in self._splits), default=0)
        active = (each for each in self._splits if each.rank == first or (self._parallel and each.runs))
        self._state = replace(self._state, active=tuple(split.progress for split in active))
        self._loop.expect([each.kind_of_final for each in self._splits if each.selected is None])
        self._report()

    def _measure_features(self) -> None:
        """Measure the duration of SLIDE's feature generation on each data set whose runs do not contain this duration.

        A data set is left out if the candidate that was selected in the last split has no layers.
        """
        for cell in self._state.cells:
            if cell.method == REFERENCE and cell.answers and cell.features is None:
                last = cell.answers[-1]
                spec = self._finals[last.spec_hash]
                if spec.layers:
                    seconds = feature_seconds(self._datasets[cell.data], spec, progress=self._progress.pulse)
                    self._state = table.with_answer(self._state, cell, replace(last, features=seconds))

    def _note_progress(self, fraction: float, payload: object) -> None:
        """Report the overall progress and the `EvaluationState` each time an active run reports its progress.

        The `EvaluationState` is omitted if this process computes the runs and the active run reports only its completed
        fraction (`payload` is None).
        """
        if payload is None and not self._parallel:
            self._progress.report(0.0)
        else:
            self._report(fraction)

    def _report(self, running: float = 0.0) -> None:
        loop, total = self._loop, max(self._state.total, 1)
        self._state = replace(self._state, live=loop.live, seconds_left=loop.seconds_left)
        self._progress.report(min((self._state.done + running) / total, 1.0), self._state)
