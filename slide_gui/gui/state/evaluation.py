"""The evaluation that reproduces the paper's tables: its stored results, and the job that computes missing results."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.data_sets import load_data
from slide_gui.experiments.evaluation.protocol import CellPlan, plan
from slide_gui.experiments.evaluation.run import remaining_cost, run_evaluation
from slide_gui.experiments.evaluation.shipped import shipped_extent, shipped_results
from slide_gui.experiments.evaluation.table import Cell, EvaluationState, empty_state, stored_evaluation
from slide_gui.gui.state.cluster import ClusterController
from slide_gui.gui.state.jobs import JobQueue, Task, UserMessage
from slide_gui.gui.state.library import RunLibrary
from slide_gui.progress import Progress
from slide_gui.text import about, counted


@dataclass(frozen=True)
class EvaluationChoice:
    """The evaluation that the user has selected.

    Attributes
    ----------
    extent : {"full", "quick"}
        Protocol: "full" uses all rows and candidates, "quick" uses only some of them.
    data, methods : tuple of str
        Keys of the selected data sets and methods.
    splits : int or None
        Number of splits of each data set; None for the number that the protocol prescribes.
    """

    extent: str = "quick"
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    splits: int | None = None

    @classmethod
    def everything(cls, extent: str = "quick") -> "EvaluationChoice":
        """Return an `EvaluationChoice` with all data sets and methods."""
        cells = plan()
        data, methods = (tuple(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("data", "method"))
        return cls(extent, data, methods)

    @cached_property
    def cells(self) -> tuple[CellPlan, ...]:
        """Return the plans of the selected table cells. A cell is one method on one data set."""
        return plan(self.extent, self.data, self.methods, self.splits) if self.data and self.methods else ()

    @cached_property
    def table(self) -> tuple[CellPlan, ...]:
        """Return the plans of all table cells, selected or not. A cell is one method on one data set."""
        return plan(self.extent, splits=self.splits)


class EvaluationController(QObject):
    """Starts the evaluation, and holds its results for the Benchmark page.

    Attributes
    ----------
    runs : Task
        Task that computes the evaluation; it reports an `EvaluationState`.
    reading : Task
        Task that reads the stored results of the table. Its result is a tuple: the plan of the table, the stored
        results, the expected duration of each missing run, and the list of stored runs. While the durations are
        computed, this list is None, and the durations are the previous ones, or None.

    Signals
    -------
    changed()
        The attribute `choice` or the state of `runs` or `reading` changed.
    """

    changed = Signal()

    def __init__(self, queue: JobQueue, library: RunLibrary, cluster: ClusterController, parent: QObject) -> None:
        super().__init__(parent)
        self._queue, self._library, self._cluster = queue, library, cluster
        self.choice = EvaluationChoice.everything(shipped_extent())
        # True if the stored results of the table must be read as soon as the library has listed the runs.
        self._read_requested = False
        library.changed.connect(self._read_listed)
        stopped = "The benchmark stopped; finished runs are stored"
        self.runs = Task(queue, "evaluation", "Benchmark", stopped, EvaluationState, self, background=True)
        unread = "The runs could not be read"
        self.reading = Task(queue, "evaluation-read", "Reading the runs", unread, tuple, self, automatic=True)
        self.runs.ended.connect(self._read_again)
        self.reading.ended.connect(self._drop_stored_progress)
        for task in (self.runs, self.reading):
            task.changed.connect(self.changed)

    # Results ---------------------------------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """True if the stored results of the table for the current `choice` have been read."""
        return self.reading.latest is not None and self.reading.latest[0] == self.choice.table

    @property
    def _costs(self) -> dict[tuple[str, str], dict[int, float]] | None:
        return self.reading.latest[2] if self.known else None

    def state(self) -> EvaluationState:
        """Return the results of all table cells. A cell is one method on one data set.

        Stored results replace shipped results; results of the running evaluation replace both.
        """
        stored: EvaluationState = self.reading.latest[1] if self.known else empty_state(self.choice.table, ())
        if self.choice.splits is None:
            shipped = shipped_results().tables.get(self.choice.extent)
            has_answers = {cell.data for cell in stored.cells if cell.answers}
            stored = replace(stored, data=tuple(info for info in stored.data if info.key in has_answers))
            stored = stored if shipped is None else merged(merged(stored, shipped), stored)
        return stored if self.runs.latest is None else merged(stored, self.runs.latest)

    def cost(self) -> tuple[str, float]:
        """Describe the maximum number and total duration of the runs that the Start button would compute.

        The evaluation computes fewer runs if it eliminates candidates early.

        Returns
        -------
        tuple of (str, float)
            The description, and the total duration in seconds. The description is empty if no run is missing or the
            stored results have not been read.
        """
        costs, runs = self._costs or {}, dict[int, float]()
        for cell in self.choice.cells:
            runs |= costs.get((cell.data, cell.method), {})
        where, seconds = "this" if self._library.stored_runs else "an ordinary", sum(runs.values())
        return f"up to {counted(len(runs), 'run')}, {about(seconds)} on {where} computer" if runs else "", seconds

    @property
    def is_reading(self) -> bool:
        """True if the stored results of the table are being read or have been requested."""
        return self._read_requested or self.reading.running

    def read(self) -> None:
        """Read the stored results of the table for the current `choice`, unless an evaluation is running."""
        if self.runs.running:
            return
        self._read_requested = True
        if not self._library.reading:
            self._library.refresh()

    @Slot()
    def _read_listed(self) -> None:
        """Read the stored results of the table if they have been requested and the library has listed the runs."""
        if not self._read_requested or self._library.reading:
            return
        self._read_requested = False
        table, rows, costs = self.choice.table, self._library.stored_runs, self._costs
        is_current = self.known and not self.reading.running and self.reading.latest[3] == rows
        if self.runs.running or not self._library.listed or is_current:
            self._drop_stored_progress()
            self.changed.emit()
            return

        def work(progress: Progress) -> tuple[object, ...]:
            state = stored_evaluation(table, rows, progress=progress.part(0.0, 0.1))
            # Compute and cache the comparisons in the worker thread, because they need SciPy, whose import is slow.
            _ = state.comparisons
            # Report the stored results first, because computing the remaining cost takes about a second.
            progress.report(0.1, (table, state, costs, None))
            return table, state, remaining_cost(table, state, rows, progress.part(0.1, 1.0)), rows

        self.reading.start(work)

    @Slot()
    def _drop_stored_progress(self) -> None:
        if self.known and not self.runs.running:
            self.runs.latest = None

    # Running ---------------------------------------------------------------------------------------------------

    def choose(self, choice: EvaluationChoice) -> None:
        """Set `choice`, or emit a message if the evaluation is running."""
        if choice == self.choice:
            return
        if self.runs.running:
            text = "The selection of the opened session is not used while the benchmark runs."
            self._queue.problem.emit(UserMessage("The benchmark selection has not changed", text, kind="information"))
            return
        self.choice, self.runs.latest = choice, None
        if not self.known:
            self.read()
        self.changed.emit()

    def why_not(self) -> str:
        """Return the reason why the selected evaluation cannot start, or "" if it can start."""
        for keys, noun in ((self.choice.data, "data set"), (self.choice.methods, "method")):
            if not keys:
                return f"No {noun} is selected."
        if self.is_reading and self._costs is None:
            return "The cost of the missing runs is being estimated…"
        empty = f"The {self.choice.extent} protocol contains none of the selected methods for the selected data sets."
        return "" if self.choice.cells else empty

    def start(self) -> None:
        """Compute the missing runs of `choice` on a cluster, or in the window's job queue behind all other jobs."""
        if self.runs.running or self.why_not():
            return
        # Data sets that have been loaded, so that an interrupted job need not load them again when it restarts.
        loaded: dict[str, Dataset] = {}

        def load(key: str, progress: Progress) -> Dataset:
            if key not in loaded:
                loaded[key] = load_data(key, progress)
            return loaded[key]

        self.runs.latest = None
        self._cluster.start(self.runs, partial(run_evaluation, self.choice.cells, load, pause=self.runs.pause))

    def stop(self) -> None:
        """Stop the evaluation and the reading of stored results. Runs that are finished remain stored."""
        self._read_requested = False
        for task in (self.reading, self.runs):
            task.stop()

    @Slot()
    def _read_again(self) -> None:
        if self.runs.latest is not None:
            self.runs.latest = replace(self.runs.latest, active=(), live=None)
        self._library.refresh()
        self.read()


def merged(stored: EvaluationState, live: EvaluationState) -> EvaluationState:
    """Return the table `stored` with the cells of `live`, but retain stored cells that have more results.

    `live` is the table of the running evaluation, or a table of shipped or stored results. The two tables may contain
    results on different data with the same key: one on the real files, the other on generated data. The results that
    `stored` contains for this key are then omitted.
    """
    before = {info.key: info.fingerprint for info in stored.data}
    other = {info.key for info in live.data if before.get(info.key, info.fingerprint) != info.fingerprint}
    cells = []
    for cell in stored.cells:
        running = live.cell(cell.data, cell.method)
        if cell.data in other:
            cell = running or Cell(cell.data, cell.method, cell.n_splits)
        elif running is not None and len(running.answers) >= len(cell.answers):
            results = [[(each.spec_hash, each.error) for each in one.answers] for one in (running, cell)]
            # A shipped cell contains an error rate and a comparison with other methods instead of the errors of
            # individual test rows. Retain the error rate and the comparison of the shipped cell if the other cell has
            # the same runs with the same errors.
            if results[0] == results[1] and running.shipped_rate is None:
                running = replace(running, shipped_rate=cell.shipped_rate, shipped_comparison=cell.shipped_comparison)
            cell = running
        cells.append(cell)
    infos = {info.key: info for info in (*stored.data, *live.data)}
    order = dict.fromkeys(cell.data for cell in stored.cells)
    data = tuple(infos[key] for key in order if key in infos)
    return replace(live, data=data, cells=tuple(cells))
