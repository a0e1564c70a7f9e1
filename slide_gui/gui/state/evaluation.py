"""The evaluation in the window: what of it the store holds, and the background job that fills it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.protocol import CellPlan, plan
from slide_gui.experiments.evaluation.run import run_benchmark
from slide_gui.experiments.evaluation.table import BenchmarkState, Cell, stored_benchmark
from slide_gui.experiments.evaluation.timing import Extrapolated, TimeRow, extrapolated_seconds, time_rows
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.splits import subset
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import Pause
from slide_gui.gui.state.workspace import Problem, Workspace, sentence
from slide_gui.progress import Progress

__all__ = ["EvaluationChoice", "EvaluationController"]


@dataclass(frozen=True)
class EvaluationChoice:
    """What is asked of the evaluation.

    Attributes
    ----------
    extent : {"full", "quick"}
    data, methods : tuple of str
        Keys; none is asked if empty.
    splits : int or None
        None: the protocol's.
    """

    extent: str = "full"
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    splits: int | None = None

    @classmethod
    def everything(cls, extent: str = "full", splits: int | None = None) -> EvaluationChoice:
        """Return the choice of all data sets and methods."""
        cells = plan(extent, splits=splits)
        data, methods = (tuple(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("data", "method"))
        return cls(extent, data, methods, splits)

    def cells(self) -> tuple[CellPlan, ...]:
        """Return the plan of what is asked."""
        if not self.data or not self.methods:
            return ()
        return plan(self.extent, self.data, self.methods, self.splits)

    def table(self) -> tuple[CellPlan, ...]:
        """Return the plan of everything that has a place in the table, asked or not."""
        return plan(self.extent, splits=self.splits)


class EvaluationController(QObject):
    """Asks for the evaluation in the lane and keeps what is known of it; the page reads it.

    Signals
    -------
    changed()
        Anything of it changed.
    ended()
        The evaluation ended or was stopped: the store holds new runs.
    """

    changed = Signal()
    ended = Signal()

    def __init__(self, workspace: Workspace, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._lane, self._path = workspace, workspace.lane, store
        self.choice = EvaluationChoice.everything()
        self.running = self.reading = self.timing = False
        self.live: BenchmarkState | None = None
        """The last that the running evaluation said."""
        self._stored: tuple[tuple[CellPlan, ...], BenchmarkState] | None = None
        self._tutorial: dict[tuple[str, str], Extrapolated] = {}
        self._pause = Pause()

    # What is known ---------------------------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """Whether the store was read for what is chosen."""
        return self._stored is not None and self._stored[0] == self.choice.table()

    def state(self) -> BenchmarkState:
        """Return all cells of the table: those of the store, and over them what the running evaluation says."""
        table = self.choice.table()
        stored = self._stored[1] if self._stored is not None and self.known else None
        if stored is None:
            cells = tuple(Cell(cell.data, cell.method, cell.n_splits) for cell in table)
            stored = BenchmarkState((), tuple(dict.fromkeys(cell.method for cell in cells)), cells)
        return stored if self.live is None else merged(stored, self.live)

    def times(self) -> tuple[TimeRow, ...]:
        """Return the running times of the data sets that are known."""
        return time_rows(self.state(), self.tutorial())

    def tutorial(self) -> Mapping[str, Extrapolated]:
        """Return the extrapolated times of the tutorial's autoencoders, as far as they were measured."""
        return {key: found for (extent, key), found in self._tutorial.items() if extent == self.choice.extent}

    def read(self) -> None:
        """Read the store for what is chosen; not while the evaluation runs, for which it would be an interruption."""
        if self.running:
            return
        table, path = self.choice.table(), self._path

        def work(progress: Progress) -> tuple[tuple[CellPlan, ...], BenchmarkState]:
            with RunStore(path, read_only=path.exists()) as store:
                return table, stored_benchmark(table, store, progress=progress)

        self.reading = True
        self._lane.submit(
            "Reading the runs", work, channel="evaluation-read", on_result=self._was_read, on_failure=self._read_failed
        )

    @Slot(object)
    def _was_read(self, found: tuple[tuple[CellPlan, ...], BenchmarkState]) -> None:
        self._stored, self.reading = found, False
        if not self.running:
            self.live = None
        self.changed.emit()

    @Slot(object)
    def _read_failed(self, error: Exception) -> None:
        self.reading = False
        self._tell("The runs could not be read", error)

    # Running ---------------------------------------------------------------------------------------------------

    def choose(self, choice: EvaluationChoice) -> None:
        """Ask for something else; not while the evaluation runs."""
        if self.running or choice == self.choice:
            return
        self.choice, self.live = choice, None
        if not self.known:
            self.read()
        self.changed.emit()

    def why_not(self) -> str:
        """Return why nothing can be started, or nothing."""
        if not self.choice.data:
            return "No data set is chosen."
        return "" if self.choice.methods else "No method is chosen."

    def start(self) -> None:
        """Run what is chosen and not in the store yet; it gives way to everything else in the lane."""
        cells, path, pause = self.choice.cells(), self._path, self._pause
        if self.running or not cells:
            return
        pause.resume()
        kept: dict[str, Dataset] = {}  # it begins anew after each time it gave way

        def load(key: str, progress: Progress) -> Dataset:
            if key not in kept:
                kept[key] = load_data(key, progress)
            return kept[key]

        def work(progress: Progress) -> BenchmarkState:
            with RunStore(path) as store:
                return run_benchmark(cells, load, store, progress=progress, pause=pause)

        self.running, self.live = True, None
        self._lane.submit(
            "Benchmark",
            work,
            channel="evaluation",
            on_result=self._done,
            on_payload=self._seen,
            on_failure=self._failed,
            background=True,
        )
        self.changed.emit()

    @property
    def paused(self) -> bool:
        """Whether the evaluation is held."""
        return self.running and self._pause.paused

    @Slot()
    def pause(self) -> None:
        """Hold the evaluation, or let it go on."""
        if self._pause.paused:
            self._pause.resume()
        elif self.running:
            self._pause.pause()
        self.changed.emit()

    def stop(self) -> None:
        """Stop what runs here; finished runs are kept."""
        if self.timing:
            self._lane.cancel(channel="evaluation-times")
            self.timing = False
        if self.reading:
            self._lane.cancel(channel="evaluation-read")
            self.reading = False
        if self.running:
            self._pause.resume()
            self._lane.cancel(channel="evaluation")
            self._end()
        self.changed.emit()

    @Slot(object)
    def _seen(self, state: BenchmarkState) -> None:
        self.live = state
        self.changed.emit()

    @Slot(object)
    def _done(self, state: BenchmarkState) -> None:
        self.live = state
        self._end()
        self.changed.emit()

    @Slot(object)
    def _failed(self, error: Exception) -> None:
        self._end()
        self._tell("The benchmark stopped; finished runs are kept", error)

    def _end(self) -> None:
        self.running = False
        if self.live is not None:
            self.live = replace(self.live, current=None, live=None)
        self.read()
        self.ended.emit()

    # The tutorial's autoencoders -------------------------------------------------------------------------------

    @Slot()
    def time_tutorial(self) -> None:
        """Measure one short epoch of the tutorial's autoencoders on each data set chosen, and scale it up."""
        extent = self.choice.extent
        cells = {cell.data: cell for cell in self.choice.cells()}

        def work(progress: Progress) -> dict[tuple[str, str], Extrapolated]:
            found = {}
            for number, (key, cell) in enumerate(cells.items()):
                part = progress.part(number / len(cells), (number + 1) / len(cells))
                whole = load_data(key, part.part(0.0, 0.3))
                rows = subset(whole, cell.train_rows, cell.test_rows)
                found[extent, key] = extrapolated_seconds(rows, progress=part.part(0.3, 1.0))
            return found

        self.timing = True
        self._lane.submit(
            "Timing the tutorial’s SdA",
            work,
            channel="evaluation-times",
            on_result=self._timed,
            on_failure=self._not_timed,
        )
        self.changed.emit()

    @Slot(object)
    def _timed(self, found: dict[tuple[str, str], Extrapolated]) -> None:
        self._tutorial |= found
        self.timing = False
        self.changed.emit()

    @Slot(object)
    def _not_timed(self, error: Exception) -> None:
        self.timing = False
        self._tell("The autoencoders could not be timed", error)

    def _tell(self, title: str, error: Exception) -> None:
        self.changed.emit()
        self._workspace.problem.emit(Problem(title, sentence(error)))


def load_data(key: str, progress: Progress) -> Dataset:
    """Return a benchmark data set: its real files where they are found, else generated."""
    return DataSource(key=key).load(progress=progress)


def merged(stored: BenchmarkState, live: BenchmarkState) -> BenchmarkState:
    """Return the stored table with the cells, data and course of the running evaluation over it.

    Stored answers on other data than those it runs on, such as the real ones that are no longer found, are not shown
    beside them.
    """
    before = {info.key: info.fingerprint for info in stored.data}
    other = {info.key for info in live.data if before.get(info.key, info.fingerprint) != info.fingerprint}
    cells = []
    for cell in stored.cells:
        own = live.cell(cell.data, cell.method)
        if cell.data in other:
            cell = own or Cell(cell.data, cell.method, cell.asked)
        elif own is not None and len(own.answers) >= len(cell.answers):
            cell = own
        cells.append(cell)
    infos = {info.key: info for info in (*stored.data, *live.data)}
    order = dict.fromkeys(cell.data for cell in stored.cells)
    data = tuple(infos[key] for key in order if key in infos)
    return replace(live, data=data, methods=stored.methods, cells=tuple(cells))
