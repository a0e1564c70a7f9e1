"""The window: bar, navigation, panel, pages and status, and the commands of the actions table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSettings, QSize, Qt, QUrl, Slot
from PySide6.QtGui import QCloseEvent, QDesktopServices, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenu,
    QMessageBox,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from slide_gui import __version__
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.source import DataSource
from slide_gui.gui.actions import ACTIONS, make_actions
from slide_gui.gui.faults import FaultReporter, log_folder
from slide_gui.gui.jobs import JobStatus, Lane
from slide_gui.gui.lateness import LatenessMonitor
from slide_gui.gui.pages.weights import ALL_ROWS, PINNED, WeightsPage
from slide_gui.gui.palette import CommandPalette
from slide_gui.gui.panel import ParameterPanel
from slide_gui.gui.theme import apply_theme, icon, theme_of
from slide_gui.gui.widgets.job_bar import JobBar
from slide_gui.gui.widgets.notice import Notice
from slide_gui.gui.workspace import Problem, Workspace

if TYPE_CHECKING:
    from slide_gui.gui.desk import RunDesk
    from slide_gui.gui.export import ExportRequest

__all__ = ["MainWindow"]

_NOTICE_WIDTH = 720
_PAGES = (
    ("page_weights", "Weights", "weights"),
    ("page_curves", "Curves", "curves"),
    ("page_classifier", "Classifier", "classifier"),
    ("page_runs", "Runs", "runs"),
)
_OPEN_FILTER = "Data (*.amat *.zip *.gz *.idx* *-ubyte *.npz *.npy *.csv *.mat);;All files (*)"


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
        self._settings, self._store = settings, store
        self._desk: RunDesk | None = None
        self._later: dict[str, QWidget] = {}
        self.lane = Lane(self)
        self.workspace = Workspace(self.lane, self)
        self.lateness = LatenessMonitor(self)
        self._faults = FaultReporter(self)
        self.actions_by_name = make_actions(self, self._handler)
        self._build()
        self._connect()
        self._update_history()

    def _handler(self, name: str) -> Callable[..., None]:
        method: Callable[..., None] = getattr(self, f"do_{name}")
        return method

    # Building --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.panel = ParameterPanel(self.workspace, self)
        self.weights_page = WeightsPage(self.workspace, self)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.weights_page)
        middle = QHBoxLayout()
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(self._build_navigation())
        middle.addWidget(self.panel)
        middle.addWidget(self.pages, 1)
        central = QWidget(self)
        layout = QVBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._build_bar())
        layout.addLayout(middle, 1)
        self.setCentralWidget(central)
        self.notice = Notice(central)
        self.notice.hide()
        self._build_status()

    def _build_bar(self) -> QFrame:
        bar = QFrame(self)
        bar.setProperty("role", "bar")
        bar.setFixedHeight(40)
        row = QHBoxLayout(bar)
        row.setContentsMargins(8, 0, 16, 0)
        row.setSpacing(12)
        menu_button = QToolButton(bar)
        menu_button.setText("slide-gui")
        menu_button.setProperty("kind", "menu")
        menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu_button.setToolTip("Every command (also by Ctrl+Shift+P)")
        menu_button.setAccessibleName("Menu")
        menu_button.setMenu(self._build_menu(menu_button))
        self._title = QLabel("", bar)
        self._title.setProperty("role", "secondary")
        row.addWidget(menu_button)
        row.addWidget(self._title, 1)
        self._bar_buttons = []
        for name in ("open", "undo", "redo", "export"):
            action = self.actions_by_name[name]
            button = QPushButton(action.text() if name in ("open", "export") else "", bar)
            button.setToolTip(action.toolTip())
            button.setAccessibleName(action.text().rstrip("…"))
            button.clicked.connect(action.trigger)
            if name == "export":
                button.setProperty("kind", "primary")
            self._bar_buttons.append((name, button))
            row.addWidget(button)
        return bar

    def _build_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        groups: dict[str, QMenu] = {}
        for spec in ACTIONS:
            if spec.group not in groups:
                groups[spec.group] = menu.addMenu(spec.group)
            groups[spec.group].addAction(self.actions_by_name[spec.name])
        return menu

    def _build_navigation(self) -> QFrame:
        bar = QFrame(self)
        bar.setProperty("role", "panel")
        bar.setFixedWidth(72)
        column = QVBoxLayout(bar)
        column.setContentsMargins(0, 8, 0, 8)
        column.setSpacing(0)
        self._nav_buttons = []
        for number, (name, text, picture) in enumerate(_PAGES):
            button = QToolButton(bar)
            button.setProperty("kind", "nav")
            button.setText(text)
            button.setCheckable(True)
            button.setChecked(number == 0)
            button.setAutoExclusive(True)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            button.setIconSize(QSize(20, 20))
            button.setFixedSize(72, 56)
            button.setToolTip(self.actions_by_name[name].toolTip())
            button.clicked.connect(self.actions_by_name[name].trigger)
            self._nav_buttons.append((picture, button))
            column.addWidget(button)
        column.addStretch(1)
        return bar

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setFixedHeight(32)
        self.job_bar = JobBar(self)
        self._right_status = QLabel("nothing leaves this computer", self)
        self._right_status.setProperty("role", "secondary")
        self._right_status.setToolTip("No network is used unless you ask for a download")
        status.addWidget(self.job_bar, 1)
        self._right_status.setContentsMargins(0, 0, 16, 0)
        status.addPermanentWidget(self._right_status)

    def _connect(self) -> None:
        self.panel.dataset_chosen.connect(self.open_entry)
        self.panel.open_requested.connect(self.do_open)
        self.panel.download_requested.connect(self._ask_to_download)
        self.lane.status_changed.connect(self._show_job)
        self.job_bar.cancel_requested.connect(self.do_cancel)
        self.workspace.dataset_changed.connect(self._show_title)
        self.workspace.problem.connect(self.show_problem)
        self.workspace.history_changed.connect(self._update_history)
        self.lateness.measured.connect(self._show_lateness)
        self._faults.reported.connect(self._show_fault)
        self.notice.remedy_requested.connect(self.do_show_log)
        self._tint()

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
    def _ask_to_download(self, key: str) -> None:
        from slide_gui.data.catalogue import data_folders, entry

        wanted = entry(key)
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("Download")
        box.setText(f"Download the files of {wanted.title}?")
        box.setInformativeText(
            f"From {wanted.mirrors[0]} into {data_folders()[0] / key}. Each file is checked by its hash.\n"
            f"Licence: {wanted.licence}"
        )
        yes = box.addButton("Download", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(yes)
        box.setProperty("key", key)
        box.accepted.connect(self._download)
        box.open()

    @Slot()
    def _download(self) -> None:
        self.workspace.download(str(self.sender().property("key")))

    @Slot(object)
    def _show_title(self, dataset: Dataset) -> None:
        name = dataset.name.removesuffix(" (generated)")
        files = dataset.source.split("; ")
        origin = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
        self._title.setText(f"{name} · {'generated' if dataset.generated else origin}")
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

    # Commands --------------------------------------------------------------------------------------------------

    @Slot()
    def do_open(self) -> None:
        """Ask for files and open them."""
        names, _ = QFileDialog.getOpenFileNames(self, "Open data", self._folder("open"), _OPEN_FILTER)
        if names:
            self._settings.setValue("folder/open", str(Path(names[0]).parent))
            self.workspace.open_paths([Path(name) for name in names])

    @Slot()
    def do_open_folder(self) -> None:
        """Ask for a folder and open it."""
        name = QFileDialog.getExistingDirectory(self, "Open a folder of images by class", self._folder("open"))
        if name:
            self.workspace.open_paths([Path(name)])

    @Slot()
    def do_export(self) -> None:
        """Ask how and where, and write the figure."""
        from slide_gui.gui.export import ExportDialog

        if self.workspace.model() is None:
            self.show_problem(
                Problem("Nothing to export yet", "The layers are still being fitted; try again in a moment.")
            )
            return
        dialog = ExportDialog(self.weights_page.figure_style(), "weights", self._settings, self)
        dialog.requested.connect(self._export)
        dialog.open()

    @Slot(object)
    def _export(self, request: ExportRequest) -> None:
        model, source = self.workspace.model(), self.workspace.source
        if model is None or source is None:
            return
        self.lane.submit(
            "Writing the figure",
            request.job(model, self.weights_page.figure_pixels(), source),
            channel="export",
            on_result=self._exported,
            on_failure=self._not_exported,
        )

    @Slot(object)
    def _exported(self, path: Path) -> None:
        self._tell("information", "Exported", str(path))

    @Slot(object)
    def _not_exported(self, error: Exception) -> None:
        self.show_problem(Problem("The figure could not be written", f"{error}. Choose another place."))

    @Slot()
    def do_copy_image(self) -> None:
        """Put a picture of the page on the clipboard."""
        QApplication.clipboard().setPixmap(self.pages.grab())

    @Slot()
    def do_copy_table(self) -> None:
        """Put the rows of W shown on the clipboard, tab-separated."""
        QApplication.clipboard().setText(self.weights_page.table())

    @Slot()
    def do_quit(self) -> None:
        """Close the window."""
        self.close()

    @Slot()
    def do_undo(self) -> None:
        """Take the last change back."""
        self.workspace.undo()

    @Slot()
    def do_redo(self) -> None:
        """Make the change that was taken back again."""
        self.workspace.redo()

    @Slot()
    def do_release_pins(self) -> None:
        """Release every pin."""
        self.workspace.select(pins=())

    @Slot()
    def do_cancel(self) -> None:
        """Stop what runs; what is shown stays. Where nothing runs, dismiss the notice."""
        if self.notice.isVisible() and not self.lane.busy:
            self.notice.dismiss()
        if self._desk is not None:
            self._desk.stop()
        self.workspace.cancel()

    @Slot()
    def do_fit_again(self) -> None:
        """Fit where that was cancelled or failed."""
        self.workspace.fit_again()

    @property
    def desk(self) -> RunDesk:
        """The owner of runs, made when it is first needed: what it imports is heavy."""
        if self._desk is None:
            from slide_gui.gui.desk import RunDesk

            self._desk = RunDesk(self.workspace, self._store, self)
            self._desk.refresh()
        return self._desk

    @Slot()
    def do_page_weights(self) -> None:
        """Show the Weights page."""
        self._turn_to("page_weights", self.weights_page)

    @Slot()
    def do_page_curves(self) -> None:
        """Show the Error curves page."""
        if "curves" not in self._later:
            from slide_gui.gui.pages.curves import CurvesPage

            self._later["curves"] = CurvesPage(self.workspace, self.desk, self)
        self._turn_to("page_curves", self._later["curves"])

    @Slot()
    def do_page_classifier(self) -> None:
        """Show the Classifier page."""
        if "classifier" not in self._later:
            from slide_gui.gui.pages.classifier import ClassifierPage

            page = ClassifierPage(self.workspace, self.desk, self)
            page.image_opened.connect(self._show_test_image)
            self._later["classifier"] = page
        self._turn_to("page_classifier", self._later["classifier"])

    @Slot()
    def do_page_runs(self) -> None:
        """Show the Runs page."""
        if "runs" not in self._later:
            from slide_gui.gui.pages.runs import RunsPage

            self._later["runs"] = RunsPage(self.desk, self)
        self._turn_to("page_runs", self._later["runs"])

    def _turn_to(self, name: str, page: QWidget) -> None:
        if self.pages.indexOf(page) < 0:
            self.pages.addWidget(page)
        self.pages.setCurrentWidget(page)
        for (action, _, _), (_, button) in zip(_PAGES, self._nav_buttons, strict=True):
            button.setChecked(action == name)

    @Slot(int)
    def _show_test_image(self, row: int) -> None:
        self.weights_page.show_test_image(row)
        self.do_page_weights()

    @Slot()
    def do_view_pinned(self) -> None:
        """Show the pinned rows."""
        self.weights_page.set_view(PINNED)

    @Slot()
    def do_view_all(self) -> None:
        """Show all rows of a layer."""
        self.weights_page.set_view(ALL_ROWS)

    @Slot()
    def do_next_sample(self) -> None:
        """Show the next image."""
        self.weights_page.next_sample()

    @Slot()
    def do_previous_sample(self) -> None:
        """Show the image before."""
        self.weights_page.previous_sample()

    @Slot()
    def do_mean_image(self) -> None:
        """Show the mean image, or the sample again."""
        self.weights_page.toggle_mean()

    @Slot()
    def do_more_noise(self) -> None:
        """Raise the noise by 0.05."""
        self._step_noise(0.05)

    @Slot()
    def do_less_noise(self) -> None:
        """Lower the noise by 0.05."""
        self._step_noise(-0.05)

    def _step_noise(self, step: float) -> None:
        noise = min(max(self.workspace.state.parameters.noise + step, 0.0), 0.99)
        self.workspace.set_parameters(noise=round(noise, 2))

    @Slot()
    def do_deeper(self) -> None:
        """Add a layer."""
        self._step_depth(1)

    @Slot()
    def do_shallower(self) -> None:
        """Take a layer away."""
        self._step_depth(-1)

    def _step_depth(self, step: int) -> None:
        depth = self.workspace.state.parameters.depth + step
        if 0 <= depth <= 8:
            self.workspace.set_parameters(depth=depth)

    @Slot()
    def do_transpose(self) -> None:
        """Exchange rows and columns of every image shown."""
        self.workspace.select(transposed=self.actions_by_name["transpose"].isChecked())

    @Slot()
    def do_theme_system(self) -> None:
        """Follow the system."""
        self.set_theme("system")

    @Slot()
    def do_theme_light(self) -> None:
        """Dark on light."""
        self.set_theme("light")

    @Slot()
    def do_theme_dark(self) -> None:
        """Light on dark."""
        self.set_theme("dark")

    @Slot()
    def do_developer(self) -> None:
        """Show how late the event loop is, in the status bar."""
        if self.actions_by_name["developer"].isChecked():
            self.lateness.start()
        else:
            self.lateness.stop()
            self._right_status.setText("nothing leaves this computer")

    @Slot()
    def do_palette(self) -> None:
        """Find a command by its name."""
        CommandPalette(self.actions_by_name.values(), self).open()

    @Slot()
    def do_show_log(self) -> None:
        """Open the folder of the log."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))

    @Slot()
    def do_about(self) -> None:
        """Say what this is."""
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("About slide-gui")
        box.setText(f"slide-gui {__version__}")
        box.setInformativeText(
            "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature Learning with Stacked "
            "Linear Denoisers”.\n\nMIT licence. No network is used unless you ask for a download."
        )
        box.open()

    # Showing ---------------------------------------------------------------------------------------------------

    def set_theme(self, name: str) -> None:
        """Apply and remember light, dark or system."""
        self._settings.setValue("theme", name)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            apply_theme(app, name)
        self._tint()

    def _tint(self) -> None:
        theme = theme_of(self)
        for picture, entry in self._nav_buttons:
            entry.setIcon(icon(picture, theme))
        for name, button in self._bar_buttons:
            if name in ("undo", "redo"):
                button.setIcon(icon(name, theme))

    def changeEvent(self, event: Any) -> None:
        """Follow a change of the theme."""
        super().changeEvent(event)
        if event.type() == event.Type.PaletteChange and hasattr(self, "_right_status"):
            self._tint()

    @Slot(object)
    def show_problem(self, problem: Problem) -> None:
        """Show a problem in the panel above the page."""
        self._tell("error", problem.title, problem.sentence, problem.details)

    def _tell(self, kind: str, title: str, text: str, details: str = "", remedy: str = "") -> None:
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

    @Slot(object)
    def _show_fault(self, fault: tuple[str, str]) -> None:
        sentence, details = fault
        self._tell(
            "error",
            "Something went wrong inside the program",
            f"{sentence}. Your data and settings are kept.",
            details,
            remedy="Show the log",
        )

    @Slot(object)
    def _show_lateness(self, worst: float) -> None:
        if self.actions_by_name["developer"].isChecked():
            self._right_status.setText(f"event loop at most {worst * 1000:.0f} ms late")

    @Slot()
    def _update_history(self) -> None:
        for name, possible in (("undo", self.workspace.can_undo), ("redo", self.workspace.can_redo)):
            self.actions_by_name[name].setEnabled(possible)
            for button_name, button in self._bar_buttons:
                if button_name == name:
                    button.setEnabled(possible)
        self.actions_by_name["transpose"].setChecked(self.workspace.state.selection.transposed)

    def _folder(self, use: str) -> str:
        return str(self._settings.value(f"folder/{use}", str(Path.home())))

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
