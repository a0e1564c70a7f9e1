"""The window: title bar, navigation, panel, the pages in one table, notice and status, tied together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QSettings, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenu,
    QMenuBar,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.source import DataSource
from slide_gui.gui.commands import ACTIONS, Commands, make_actions
from slide_gui.gui.export.controller import ExportController
from slide_gui.gui.export.option import Page
from slide_gui.gui.faults import FaultReporter
from slide_gui.gui.lateness import LatenessMonitor
from slide_gui.gui.layouts import nested
from slide_gui.gui.opening import Opening
from slide_gui.gui.pages.weights.page import FLOW, WeightsPage
from slide_gui.gui.panel import ParameterPanel
from slide_gui.gui.state.jobs import JobStatus, Lane
from slide_gui.gui.state.workspace import Problem, Workspace
from slide_gui.gui.theme import apply_theme, icon, theme_of
from slide_gui.gui.widgets.job_bar import JobBar
from slide_gui.gui.widgets.notice import Notice

if TYPE_CHECKING:
    from slide_gui.gui.pages.runs import RunsPage
    from slide_gui.gui.state.evaluation import EvaluationController
    from slide_gui.gui.state.runs import RunController

__all__ = ["PAGES", "MainWindow"]


class TitleBar(QFrame):
    """The menus of every command, what is open, and the commands used most.

    Where the system has a menu bar of its own, the menus are there.
    """

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setProperty("role", "bar")
        self.setFixedHeight(40)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 16, 0)
        row.setSpacing(12)
        self._title = QLabel("", self)
        self._title.setProperty("role", "secondary")
        row.addWidget(self._build_menus(), 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._title, 1)
        self._buttons = {name: self._build_button(name, row) for name in ("open", "undo", "redo", "export")}

    def _build_menus(self) -> QMenuBar:
        bar = QMenuBar(self)
        groups: dict[str, QMenu] = {}
        for spec in ACTIONS:
            if spec.group not in groups:
                groups[spec.group] = QMenu(f"&{spec.group}", bar)
                bar.addMenu(groups[spec.group])
            groups[spec.group].addAction(self._actions[spec.name])
        return bar

    def _build_button(self, name: str, row: QHBoxLayout) -> QPushButton:
        action = self._actions[name]
        button = QPushButton(action.text() if name in ("open", "export") else "", self)
        button.setToolTip(action.toolTip())
        button.setAccessibleName(action.text().rstrip("…"))
        button.clicked.connect(action.trigger)
        if name == "export":
            button.setProperty("kind", "primary")
        row.addWidget(button)
        return button

    def show_dataset(self, dataset: Dataset) -> None:
        """Say what is open."""
        name = dataset.name.removesuffix(" (generated)")
        files = dataset.source.split("; ")
        origin = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
        self._title.setText(f"{name} · {'generated' if dataset.generated else origin}")

    def follow_actions(self) -> None:
        """Enable the buttons whose commands are enabled."""
        for name, button in self._buttons.items():
            button.setEnabled(self._actions[name].isEnabled())

    def tint(self) -> None:
        """Draw the icons in the colours of the theme."""
        theme = theme_of(self)
        for name in ("undo", "redo"):
            self._buttons[name].setIcon(icon(name, theme))


class Navigation(QFrame):
    """A button for every page."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setFixedWidth(72)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 8)
        column.setSpacing(0)
        self._buttons = {}
        for spec in PAGES:
            action = actions[f"page_{spec.name}"]
            button = QToolButton(self)
            button.setProperty("kind", "nav")
            button.setText(spec.text)
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            button.setIconSize(QSize(20, 20))
            button.setFixedSize(72, 56)
            button.setToolTip(action.toolTip())
            button.clicked.connect(action.trigger)
            self._buttons[spec.name] = button
            column.addWidget(button)
        column.addStretch(1)

    @Slot(object)
    def mark(self, name: str) -> None:
        """Mark the page that is shown."""
        self._buttons[name].setChecked(True)

    def tint(self) -> None:
        """Draw the icons in the colours of the theme."""
        theme = theme_of(self)
        for name, button in self._buttons.items():
            button.setIcon(icon(name, theme))


@dataclass(frozen=True)
class PageSpec:
    """A page.

    Attributes
    ----------
    name : str
        Its command is ``page_<name>``, its icon ``resources/icons/<name>.svg``.
    text : str
        In the navigation.
    make : callable
        Makes the page for a window; imports its module, so that the window need not.
    """

    name: str
    text: str
    make: Callable[[MainWindow], Page]


def _weights(window: MainWindow) -> Page:
    return WeightsPage(window.workspace, window)


def _curves(window: MainWindow) -> Page:
    from slide_gui.gui.pages.curves import CurvesPage

    return CurvesPage(window.workspace, window.runs, window)


def _classifier(window: MainWindow) -> Page:
    from slide_gui.gui.pages.classifier import ClassifierPage

    page = ClassifierPage(window.workspace, window.runs, window)
    page.image_opened.connect(window.show_test_image)
    return page


def _evaluation(window: MainWindow) -> Page:
    from slide_gui.gui.pages.evaluation import EvaluationPage

    page = EvaluationPage(window.workspace, window.evaluation, window)
    page.runs_requested.connect(window.show_runs)
    page.export_requested.connect(window.commands.do_export)
    return page


def _runs(window: MainWindow) -> Page:
    from slide_gui.gui.pages.runs import RunsPage

    page = RunsPage(window.workspace, window.runs, window)
    page.export_requested.connect(window.commands.do_export)
    return page


PAGES = (
    PageSpec("weights", "Weights", _weights),
    PageSpec("curves", "Curves", _curves),
    PageSpec("classifier", "Classifier", _classifier),
    PageSpec("evaluation", "Benchmark", _evaluation),
    PageSpec("runs", "Runs", _runs),
)


class PageStack(QStackedWidget):
    """Shows one page.

    Signals
    -------
    turned(object)
        Name of the page shown now.
    """

    turned = Signal(object)

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._specs = {spec.name: spec for spec in PAGES}
        self._made: dict[str, Page] = {}

    def page(self, name: str) -> Page:
        """Return a page, made now if it was not shown before."""
        if name not in self._made:
            self._made[name] = self._specs[name].make(self._window)
            self.addWidget(self._made[name])
        return self._made[name]

    def shown(self) -> Page:
        """Return the page shown now."""
        page = self.currentWidget()
        assert isinstance(page, Page)
        return page

    def turn_to(self, name: str) -> None:
        """Show a page."""
        self.setCurrentWidget(self.page(name))
        self.turned.emit(name)


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
        self.settings, self._store, self._tinted = settings, store, ""
        self._runs: RunController | None = None
        self._evaluation: EvaluationController | None = None
        self.lane = Lane(self)
        self.workspace = Workspace(self.lane, self)
        self.opening = Opening(self.workspace, settings, self)
        self.exporting = ExportController(self.lane, settings, self)
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
        self.exporting.problem.connect(self.show_problem)
        self.exporting.written.connect(self._show_export)
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
    def runs(self) -> RunController:
        """The owner of runs, made when it is first needed: what it imports is heavy."""
        if self._runs is None:
            from slide_gui.gui.state.runs import RunController

            self._runs = RunController(self.workspace, self._store, self)
            self._runs.library.refresh()
        return self._runs

    @property
    def evaluation(self) -> EvaluationController:
        """The owner of the evaluation, made when it is first needed."""
        if self._evaluation is None:
            from slide_gui.gui.state.evaluation import EvaluationController

            self._evaluation = EvaluationController(self.workspace, self._store, self)
            self._evaluation.ended.connect(self._evaluation_ended)
        return self._evaluation

    @Slot()
    def _evaluation_ended(self) -> None:
        if self._runs is not None:
            self._runs.library.refresh()

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
        if self._runs is not None:
            self._runs.stop()
        self.workspace.cancel()
        if self._evaluation is not None:
            self._evaluation.stop()

    # Showing ---------------------------------------------------------------------------------------------------

    def set_theme(self, name: str) -> None:
        """Apply and remember light, dark or system."""
        self.settings.setValue("theme", name)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            apply_theme(app, name)
        self._tint()

    def _tint(self) -> None:
        theme = theme_of(self).name
        if theme != self._tinted:
            self._tinted = theme
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

    @Slot(object)
    def _show_export(self, path: Path) -> None:
        self.tell("information", "Exported", str(path))

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
