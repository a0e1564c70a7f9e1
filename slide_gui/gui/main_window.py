"""The window: title bar, navigation, panel, pages, notice and status, tied together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QSettings, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QMainWindow, QVBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.source import DataSource
from slide_gui.gui.actions import make_actions
from slide_gui.gui.bars import Navigation, TitleBar
from slide_gui.gui.commands import Commands
from slide_gui.gui.exporting import Exporting
from slide_gui.gui.faults import FaultReporter
from slide_gui.gui.jobs import JobStatus, Lane
from slide_gui.gui.lateness import LatenessMonitor
from slide_gui.gui.layouts import nested
from slide_gui.gui.opening import Opening
from slide_gui.gui.page_stack import PageStack
from slide_gui.gui.pages.weights import FLOW, WeightsPage
from slide_gui.gui.panel import ParameterPanel
from slide_gui.gui.theme import apply_theme
from slide_gui.gui.widgets.job_bar import JobBar
from slide_gui.gui.widgets.notice import Notice
from slide_gui.gui.workspace import Problem, Workspace

if TYPE_CHECKING:
    from slide_gui.gui.benchmark_desk import BenchmarkDesk
    from slide_gui.gui.desk import RunDesk
    from slide_gui.gui.pages.runs import RunsPage

__all__ = ["MainWindow"]

_NOTICE_WIDTH = 720
_PRIVATE = "nothing leaves this computer"


class MainWindow(QMainWindow):
    """Everything a person sees.

    Parameters
    ----------
    settings : QSettings
        Where the theme and the last folder are kept.
    store : Path
        The store of runs.
    """

    def __init__(self, settings: QSettings, store: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("main")
        self.setWindowTitle("slide-gui")
        self.resize(1280, 800)
        self.setMinimumSize(960, 640)
        self.setAcceptDrops(True)
        self.settings, self._store = settings, store
        self._desk: RunDesk | None = None
        self._benchmark: BenchmarkDesk | None = None
        self.lane = Lane(self)
        self.workspace = Workspace(self.lane, self)
        self.opening = Opening(self.workspace, settings, self)
        self.exporting = Exporting(self)
        self.lateness = LatenessMonitor(self)
        self._faults = FaultReporter(self)
        self.commands = Commands(self)
        self.actions_by_name = make_actions(self, self.commands.slot)
        self._build()
        self._connect()
        self._update_history()

    # Building --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._title_bar = TitleBar(self.actions_by_name, self)
        self._navigation = Navigation(self.actions_by_name, self)
        self.panel = ParameterPanel(self.workspace, self)
        self.pages = PageStack(self)
        central = QWidget(self)
        layout = QVBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._title_bar)
        middle = nested(layout, QHBoxLayout(), 1)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(self._navigation)
        middle.addWidget(self.panel)
        middle.addWidget(self.pages, 1)
        self.setCentralWidget(central)
        central.setFocus()  # the keyboard is nowhere until it is used
        self.notice = Notice(central)
        self.notice.hide()
        self._build_status()

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setFixedHeight(32)
        self.job_bar = JobBar(self)
        self._right_status = QLabel(_PRIVATE, self)
        self._right_status.setProperty("role", "secondary")
        self._right_status.setToolTip("No network is used unless you ask for a download")
        status.addWidget(self.job_bar, 1)
        self._right_status.setContentsMargins(0, 0, 16, 0)
        status.addPermanentWidget(self._right_status)

    def _connect(self) -> None:
        self.panel.dataset_chosen.connect(self.open_entry)
        self.panel.open_requested.connect(self.commands.do_open)
        self.panel.download_requested.connect(self.opening.ask_to_download)
        self.lane.status_changed.connect(self._show_job)
        self.job_bar.cancel_requested.connect(self.commands.do_cancel)
        self.workspace.dataset_changed.connect(self._show_title)
        self.workspace.problem.connect(self.show_problem)
        self.workspace.history_changed.connect(self._update_history)
        self.lateness.measured.connect(self._show_lateness)
        self._faults.reported.connect(self._show_fault)
        self.notice.remedy_requested.connect(self.commands.do_show_log)
        self.pages.turned.connect(self._navigation.mark)
        self.pages.turn_to("weights")
        self._tint()

    @property
    def weights_page(self) -> WeightsPage:
        """The page that is there from the start."""
        return cast(WeightsPage, self.pages.page("weights"))

    @property
    def desk(self) -> RunDesk:
        """The owner of runs, made when it is first needed: what it imports is heavy."""
        if self._desk is None:
            from slide_gui.gui.desk import RunDesk

            self._desk = RunDesk(self.workspace, self._store, self)
            self._desk.kept.refresh()
        return self._desk

    @property
    def benchmark(self) -> BenchmarkDesk:
        """The owner of the evaluation, made when it is first needed."""
        if self._benchmark is None:
            from slide_gui.gui.benchmark_desk import BenchmarkDesk

            self._benchmark = BenchmarkDesk(self.workspace, self._store, self)
            self._benchmark.ended.connect(self._benchmark_ended)
        return self._benchmark

    @Slot()
    def _benchmark_ended(self) -> None:
        if self._desk is not None:
            self._desk.kept.refresh()

    # Data ------------------------------------------------------------------------------------------------------

    def start(self, files: list[Path]) -> None:
        """Open the given files, or the generated Rectangles."""
        if files:
            self.workspace.open_paths(files)
            return
        self.workspace.open(DataSource(key="rectangles", generated=True))

    @Slot(object)
    def open_entry(self, key: str) -> None:
        """Open a benchmark data set: its real files where they are found, else generated."""
        self.workspace.open(DataSource(key=key))

    @Slot(object)
    def _show_title(self, dataset: Dataset) -> None:
        self._title_bar.show_dataset(dataset)
        self.setWindowTitle(f"{dataset.name} – slide-gui")
        self.notice.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if event.mimeData().hasUrls() and all(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the files dropped."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.workspace.open_paths(paths)

    @Slot(int)
    def show_test_image(self, row: int) -> None:
        """Show an image of the test part on its way through the layers."""
        self.weights_page.show_test_image(row)
        self.weights_page.set_view(FLOW)
        self.pages.turn_to("weights")

    @Slot(object)
    def show_runs(self, asked: tuple[tuple[str, ...], str]) -> None:
        """Show some runs, by their hashes and words that find them, in the table of all."""
        self.pages.turn_to("runs")
        cast("RunsPage", self.pages.page("runs")).show_runs(*asked)

    def stop(self) -> None:
        """Stop what runs; what is shown stays. Where nothing runs, dismiss the notice."""
        if self.notice.isVisible() and not self.lane.busy:
            self.notice.dismiss()
        if self._desk is not None:
            self._desk.stop()
        self.workspace.cancel()
        if self._benchmark is not None:
            self._benchmark.stop()

    # Showing ---------------------------------------------------------------------------------------------------

    def set_theme(self, name: str) -> None:
        """Apply and remember light, dark or system."""
        self.settings.setValue("theme", name)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            apply_theme(app, name)
        self._tint()

    def _tint(self) -> None:
        self._navigation.tint()
        self._title_bar.tint()

    def changeEvent(self, event: Any) -> None:
        """Follow a change of the theme."""
        super().changeEvent(event)
        if event.type() == event.Type.PaletteChange and hasattr(self, "_right_status"):
            self._tint()

    @Slot(object)
    def show_problem(self, problem: Problem) -> None:
        """Show a problem in the panel above the page."""
        self.tell("error", problem.title, problem.sentence, problem.details)

    def tell(self, kind: str, title: str, text: str, details: str = "", remedy: str = "") -> None:
        """Show a notice: `kind` is "error" or "information", `remedy` the text of a button."""
        self.notice.show_message(kind, title, text, details, remedy)
        self._place_notice()

    def _place_notice(self) -> None:
        """Lay the notice over the top of the page, so that nothing below it moves."""
        pages = self.pages.geometry()
        width = min(pages.width() - 24, _NOTICE_WIDTH)
        self.notice.setFixedWidth(width)
        self.notice.adjustSize()
        self.notice.move(pages.right() - width - 11, pages.top() + 8)
        self.notice.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_notice()

    @Slot(object)
    def _show_job(self, status: JobStatus | None) -> None:
        if status is None:
            self.job_bar.clear()
        else:
            self.job_bar.set_job(status.title, status.fraction, _time_left(status.seconds_left))

    @Slot(str, str)
    def _show_fault(self, sentence: str, details: str) -> None:
        self.tell(
            "error",
            "Something went wrong inside the program",
            f"{sentence}. Your data and settings are kept.",
            details,
            remedy="Show the log",
        )

    def show_lateness(self, shown: bool) -> None:
        """Measure and show how late the event loop is, or stop it."""
        if shown:
            self.lateness.start()
        else:
            self.lateness.stop()
            self._right_status.setText(_PRIVATE)

    @Slot(object)
    def _show_lateness(self, worst: float) -> None:
        if self.actions_by_name["developer"].isChecked():
            self._right_status.setText(f"event loop at most {worst * 1000:.0f} ms late")

    @Slot()
    def _update_history(self) -> None:
        self.actions_by_name["undo"].setEnabled(self.workspace.can_undo)
        self.actions_by_name["redo"].setEnabled(self.workspace.can_redo)
        self.actions_by_name["transpose"].setChecked(self.workspace.state.selection.transposed)
        self._title_bar.follow_actions()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Cancel, wait for the worker, and go."""
        self.lateness.stop()
        self.lane.close()
        self._faults.close()
        super().closeEvent(event)


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{max(1, round(seconds))} s left"
    return f"{round(seconds / 60)} min left"
