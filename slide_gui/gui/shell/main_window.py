"""The main window: title bar, navigation buttons, parameter panel, pages, messages and status bar."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, Slot
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QMenuBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.session import SUFFIX
from slide_gui.experiments.files.source import DataSource
from slide_gui.gui.dialogs.export import ExportController
from slide_gui.gui.dialogs.opening import Opening, ReadingPreview
from slide_gui.gui.pages.weights.page import WeightsPage
from slide_gui.gui.shell.commands import COMMANDS, MENUS, Action, CommandUpdates
from slide_gui.gui.shell.faults import FaultReporter
from slide_gui.gui.shell.job_bar import JobBar
from slide_gui.gui.shell.notice import Notice
from slide_gui.gui.shell.page_stack import PAGES, PageStack
from slide_gui.gui.shell.panel import ParameterPanel
from slide_gui.gui.shell.session_keeper import SessionKeeper
from slide_gui.gui.state.files import REOPEN, FileChoices, RecentFiles
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.state.session import Session
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.theme import SCALES, apply_theme, icon, stored_scale, theme_changed, theme_of
from slide_gui.gui.widgets.controls import add_button, label, named, stop_at_checked
from slide_gui.gui.widgets.layouts import flush, nested, placed

if TYPE_CHECKING:
    from slide_gui.gui.shell.tour import Tour


class TitleBar(QFrame):
    """The bar with the menus and the most frequently used commands.

    On systems with a global menu bar, such as macOS, the menus are shown in the global menu bar instead.
    """

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setProperty("role", "bar")
        self.setFixedHeight(40)
        row = flush(QHBoxLayout(self), 12, (8, 0, 16, 0))
        row.addWidget(self._build_menus(), 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)
        for name, kind in (("open", ""), ("export", "primary")):
            action = actions[name]
            button = add_button(self, row, action.text(), action.toolTip(), kind, clicked=action.trigger)
            button.setAccessibleName(action.text().rstrip(" …"))
            # As in a tool bar, the button does not take the keyboard focus, because its command also has a shortcut.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def _build_menus(self) -> QMenuBar:
        bar = QMenuBar(self)
        for title, commands in MENUS.items():
            menu = QMenu(f"&{title}", bar, toolTipsVisible=True)
            submenus: dict[str, QMenu] = {"": menu}
            for command in commands:
                if command.starts_group:
                    menu.addSeparator()
                if command.submenu not in submenus:
                    submenus[command.submenu] = menu.addMenu(command.submenu)
                    submenus[command.submenu].setToolTipsVisible(True)
                submenus[command.submenu].addAction(self._actions[command.name])
            bar.addMenu(menu)
        return bar


# Minimum width of a navigation button, and total space to the left and right of its longest word, in pixels.
_LEAST_WIDTH, _MARGINS = 72, 8


class Navigation(QFrame):
    """A column with a button for every page, and a button that shows or hides the panel."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        column = flush(QVBoxLayout(self), 0, (0, 8, 0, 8))
        self._buttons: dict[str, QToolButton] = {}
        for spec in PAGES:
            button = self._build_button(actions[f"page_{spec.name}"], 56)
            self._buttons[spec.name] = placed(column, button)
            button.setText(spec.text)
            button.setCheckable(True)
            button.setAutoExclusive(True)
        column.addStretch(1)
        self._panel_action = actions["panel"]
        self._panel_action.changed.connect(self._follow_panel)
        self._panel = placed(column, self._build_button(self._panel_action, 48))
        self._panel.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._follow_panel()
        self._panel.ensurePolished()
        words = [*(spec.text for spec in PAGES), "Hide", "Show"]
        width = max(_LEAST_WIDTH, _MARGINS + max(self._panel.fontMetrics().horizontalAdvance(word) for word in words))
        for each in (self, *self._buttons.values(), self._panel):
            each.setFixedWidth(width)
        self._tint()
        theme_changed().connect(self._tint)

    def _build_button(self, action: QAction, height: int) -> QToolButton:
        button = QToolButton(self, toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setProperty("kind", "nav")
        button.setIconSize(QSize(20, 20))
        button.setFixedHeight(height)
        button.setToolTip(action.toolTip())
        button.clicked.connect(action.trigger)
        return button

    @Slot()
    def _follow_panel(self) -> None:
        action = self._panel_action
        self._panel.setText("Hide" if action.isChecked() else "Show")
        named(self._panel, "Hide panel" if action.isChecked() else "Show panel", action.toolTip())
        self._panel.setEnabled(action.isEnabled())

    @Slot(object)
    def mark(self, name: str) -> None:
        """Check the button of the page `name`, and uncheck the buttons of all other pages."""
        self._buttons[name].setChecked(True)
        for button in self._buttons.values():
            stop_at_checked(button, button.isChecked())

    @Slot()
    def _tint(self) -> None:
        """Draw the icons of the buttons in the colours of the current theme."""
        theme = theme_of(self)
        for spec in PAGES:
            self._buttons[spec.name].setIcon(icon(spec.name, theme))
        self._panel.setIcon(icon("panel", theme))


_INITIAL_SIZE, _SMALLEST_SIZE = QSize(1280, 800), QSize(848, 472)
# If the window is narrower than this number of pixels, for example on a small screen, the panel is hidden by default.
_NARROW = 900
_GEOMETRY = "window/geometry"
_SENT_TO_SCHEDULER = "Data and parameters of sweeps, benchmarks and trials are sent to the scheduler"


class MainWindow(QMainWindow):
    """The main window, which builds the pages, the panel and the commands, and connects them.

    Parameters
    ----------
    settings : QSettings
        Settings of the program, such as the theme, the folder used last and the geometry of the window.
    store : Path
        Path of the run store.
    sessions : Path, optional
        Folder in which the session is stored automatically; if None, no session is stored.

    Attributes
    ----------
    is_full : bool
        True while the Weights page fills the screen.
    """

    def __init__(self, settings: QSettings, store: Path, sessions: Path | None = None) -> None:
        super().__init__()
        self.setObjectName("main")
        self.setWindowTitle("slide-gui")
        # The usual initial size may be too large for a small screen.
        self.resize(_INITIAL_SIZE.boundedTo(self.screen().availableSize() - QSize(16, 48)))
        self.setMinimumSize(_SMALLEST_SIZE)
        self.setAcceptDrops(True)
        self._example: DataSource | None = None
        self.is_full: bool = False
        self.settings = settings
        # Visibility of the panel in narrow windows (key True) and in wide windows (key False).
        self._panel_is_shown = {False: not settings.value("panel_folded", False, bool), True: False}
        self.session = Session(store, self, settings=settings)
        self.queue = self.session.queue
        self.workspace: Workspace = self.session.workspace
        self.workspace.choices = FileChoices(settings)
        self.recent = RecentFiles(settings)
        self.opening: Opening = Opening(self.workspace, settings, self)
        self.exports: ExportController = ExportController(self.queue, settings, self, self._inputs)
        self.faults = FaultReporter(self)
        self.actions_by_name = {command.name: Action(command, self) for command in COMMANDS}
        self._build(sessions)
        self._connect()
        self.follow()

    # Building --------------------------------------------------------------------------------------------------

    def _build(self, sessions: Path | None) -> None:
        central = QWidget(self)
        layout = flush(QVBoxLayout(central), 0)
        self._title_bar = placed(layout, TitleBar(self.actions_by_name, central))
        middle = nested(layout, QHBoxLayout(), 1, spacing=0)
        self._navigation = placed(middle, Navigation(self.actions_by_name, central))
        self.side = placed(middle, QWidget(central))
        self.side.setProperty("role", "panel")
        side = flush(QVBoxLayout(self.side), 0)
        panel = ParameterPanel(self.workspace, self.actions_by_name, self.recent, self.side)
        self.panel: ParameterPanel = placed(side, panel, 1)
        self.panel.more.setChecked(bool(self.settings.value("panel_more", False, bool)))
        self.pages: PageStack = PageStack(self.session, central)
        # `_show_title` hides the notice. It is connected before the slots of the session keeper, which may show a
        # message in response to the same signal. In the opposite order, `_show_title` would hide this message.
        self.workspace.dataset_changed.connect(self._show_title)
        self.keeper = SessionKeeper(self.workspace, self.pages, sessions, self)
        self.keeper.known_folders = lambda: [*self.opening.folders(), *self.recent.folders]
        self.keeper.ask_where_data_are = self.opening.ask_where_data_are
        self.keeper.inputs = self._inputs
        right = nested(middle, QVBoxLayout(), 1, spacing=0)
        self.reading_preview = placed(right, ReadingPreview(self.workspace, central))
        right.addWidget(self.pages, 1)
        self.foot = nested(right, QVBoxLayout())
        below = nested(right, QHBoxLayout())
        below.setContentsMargins(20, 0, 12, 8)
        self.notice = placed(below, Notice(central))
        self.setCentralWidget(central)
        central.setFocus()  # Otherwise, a button would have the keyboard focus when the window opens.
        self._build_status()

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setFixedHeight(32)
        self.job_bar = JobBar(self)
        self._right_status = label("", self)
        self._show_where_runs_are_computed()
        # Temporary messages would hide a widget that is not permanent.
        status.addPermanentWidget(self.job_bar, 1)
        status.messageChanged.connect(self.job_bar.show_message)
        self._right_status.setContentsMargins(0, 0, 16, 0)
        status.addPermanentWidget(self._right_status)

    def _connect(self) -> None:
        self.panel.files_chosen.connect(self.open_files)
        self.panel.reading_requested.connect(self.reading_preview.show_reading)
        self.panel.more.toggled.connect(self._store_more)
        self.panel.download_requested.connect(self.opening.ask_to_download)
        self.session.status_changed.connect(self.job_bar.show_status)
        self.workspace.problem.connect(self.notice.show_message)
        self.exports.message.connect(self.notice.show_message)
        self.workspace.rested.connect(self.follow)
        CommandUpdates(self)
        self.notice.shown_changed.connect(self.follow)
        self.session.started.connect(self._hide_event)
        self.session.place_changed.connect(self._show_where_runs_are_computed)
        self.faults.reported.connect(self._show_fault)
        self.opening.files_chosen.connect(self.open_files)
        self.keeper.message.connect(self.notice.show_message)
        self.pages.turned.connect(self._navigation.mark)
        self.pages.turned.connect(self._leave_page)
        self.pages.changed.connect(self._show_panel)
        self.pages.turn_to("weights")
        # `dataset_changed` calls the slots of the Weights page first, because they were connected earlier. The page
        # must show the new data before its settings are restored.
        self.workspace.dataset_changed.connect(self.keeper.restore_choices)

    @property
    def weights_page(self) -> WeightsPage:
        """Return the Weights page, which is built together with the window; other pages are built when first shown."""
        return cast(WeightsPage, self.pages.page("weights"))

    @cached_property
    def tour(self) -> "Tour":
        """Return the tour, which is built on first access."""
        from slide_gui.gui.shell.tour import Tour

        return Tour(self)

    @property
    def is_touring(self) -> bool:
        """True while the tour is running, but not while the user is only asked whether to start it."""
        return "tour" in vars(self) and self.tour.is_running

    # Data ------------------------------------------------------------------------------------------------------

    def start(self, files: list[Path], source: DataSource | None = None) -> None:
        """Open `source` or the files. If neither is given, restore the last session, or else open the example data."""
        self.workspace.fallback = self._example = DataSource(key="rectangles", generated=True)
        self.keeper.start(resume=not files and bool(self.settings.value(REOPEN, True, bool)))
        if source is not None:
            self.workspace.open(source)
        elif files:
            self.open_files(files)
        if not self.queue.busy:
            self.workspace.fall_back()
        if self.keeper.stores and not files and not self.settings.value("tour_offered", False, bool):
            self.settings.setValue("tour_offered", True)
            self.workspace.dataset_changed.connect(self._offer_tour, Qt.ConnectionType.SingleShotConnection)

    @Slot()
    def _offer_tour(self) -> None:
        if not self.tour.is_running:
            self.tour.offer()

    @Slot(object)
    def open_files(self, paths: list[Path]) -> None:
        """Open files or a folder as one data set, or restore the session in a session file or an exported picture."""
        sessions = [path for path in paths if path.suffix.lower() == SUFFIX]
        # If one of the files is a session file, as in a bundle, open only the session file.
        paths = sessions if len(sessions) == 1 else paths
        is_valid = self.keeper.open(paths[0]) if len(paths) == 1 else None
        if is_valid is None:
            # The Benchmark page does not depend on the open data. Show the Weights page instead.
            if not self.pages.shown().needs():
                self.pages.turn_to("weights")
            self.workspace.open(DataSource(paths=tuple(map(str, paths))))
        elif is_valid:
            self.recent.add(paths)
        else:
            self.recent.remove(paths)

    def restore_place(self) -> None:
        """Restore the position and size of the window closed last. Qt moves a window that would be off the screen."""
        geometry = self.settings.value(_GEOMETRY)
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)

    def _inputs(self) -> Callable[[], list[Path]]:
        """Return a function that lists the files that must not be overwritten.

        These are the files of the open data and of the run store.
        """
        # The module `database` is imported only when needed, because it imports SQLite, which would delay the start.
        from slide_gui.experiments.store.database import store_files

        source, store = self.workspace.source, self.session.library.path
        return lambda: [*([] if source is None else source.files()), *store_files(store)]

    @Slot(object)
    def open_entry(self, key: str) -> None:
        """Open a benchmark data set from its original files, or as generated data if the files are not available."""
        self.workspace.open(DataSource(key=key))

    @Slot(object)
    def _show_title(self, dataset: Dataset) -> None:
        self.recent.add(() if self.workspace.source is None else self.workspace.source.paths)
        # In a window title, [*] is a placeholder that Qt does not show. To show [*], the title must contain [*][*].
        self.setWindowTitle(dataset.title.replace("[*]", "[*][*]") + " – slide-gui")
        # If the example data have replaced data that could not be opened, keep the error message visible.
        if self.workspace.source is not self._example:
            self.notice.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept local files that are dragged into the window."""
        if event.mimeData().hasUrls() and all(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the dropped local files as one data set or session."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.open_files(paths)

    # Display ---------------------------------------------------------------------------------------------------

    def ask_for_settings(self) -> None:
        """Open the settings dialog."""
        from slide_gui.gui.dialogs.settings import SettingsDialog

        dialog = self.findChild(SettingsDialog)
        if dialog is None:
            dialog = SettingsDialog(self.settings, self.session.cluster, self)
            dialog.theme_chosen.connect(self.set_theme)
            dialog.scale_chosen.connect(self.set_scale)
            dialog.place_requested.connect(self.actions_by_name["cluster"].trigger)
            dialog.reset_requested.connect(self.reset_settings)
        dialog.ask()

    @Slot()
    def reset_settings(self) -> None:
        """Set all settings to their defaults."""
        has_size = stored_scale(self.settings) != SCALES[0]
        self.settings.clear()
        if has_size:
            self.set_scale(SCALES[0])
        self.set_theme("system")
        self.panel.more.setChecked(False)
        self._panel_is_shown = {False: True, True: False}
        self.show_panel(self.width() >= _NARROW)
        self.session.cluster.compute_here()

    @Slot(bool)
    def _store_more(self, shown: bool) -> None:
        self.settings.setValue("panel_more", shown)
        self.follow()

    @Slot(str)
    def set_theme(self, name: str) -> None:
        """Apply and store the theme: light, dark or system."""
        self.settings.setValue("theme", name)
        # A window cannot exist without an application, so the method `instance` does not return None.
        apply_theme(cast(QApplication, QApplication.instance()), name)
        self.follow()

    @Slot(float)
    def set_scale(self, scale: float) -> None:
        """Store the display size, which is applied at the next start of the program."""
        self.settings.setValue("scale", str(scale))
        title = f"Display size {100 * scale:.0f} % after a restart"
        text = "The new size applies to text, images and controls."
        self.notice.show_message(UserMessage(title, text, kind="information"))

    @Slot(str, str)
    def _show_fault(self, sentence: str, details: str) -> None:
        title, text = "An internal error occurred", f"{sentence}. Your data and settings are safe."
        show_log = self.actions_by_name["show_log"].trigger
        self.notice.show_message(UserMessage(title, text, "Show the log", show_log, details=details))

    @property
    def shows_panel(self) -> bool:
        """True if the panel is to be shown at the current width of the window."""
        return self._panel_is_shown[self.width() < _NARROW]

    def show_panel(self, shown: bool) -> None:
        """Show or hide the panel, and store this choice unless the window is narrow."""
        is_narrow = self.width() < _NARROW
        self._panel_is_shown[is_narrow] = shown
        if not is_narrow:
            self.settings.setValue("panel_folded", not shown)
        self._show_panel()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the panel if the window is too narrow, and the preview of the first rows if it is too short."""
        super().resizeEvent(event)
        self.reading_preview.fit()
        if (event.oldSize().width() < _NARROW) != (self.width() < _NARROW):
            self._panel_is_shown[True] = False
            self._show_panel()

    def set_full(self, full: bool) -> None:
        """Enter or leave full-screen mode, in which only the Weights page is shown."""
        if full == self.is_full:
            return
        self.is_full = full
        for each in (self._title_bar, self._navigation, self.statusBar()):
            each.setVisible(not full)
        self.reading_preview.setVisible(not full and not self.workspace.confirmed)
        self.weights_page.set_full_screen(full)
        self._show_panel()
        if full:
            self._before_full = self.geometry(), self.windowState()
            self.showFullScreen()
            # Set the size, because `showFullScreen` does not resize the window if there is no window manager.
            self.setGeometry(self.screen().geometry())
            return
        geometry, state = self._before_full
        self.setWindowState(state)
        if state == Qt.WindowState.WindowNoState:
            self.setGeometry(geometry)

    @Slot(object)
    def _leave_page(self, page: str) -> None:
        """Show the new page without the full screen and without a notice about a file exported from the old page."""
        self.set_full(self.is_full and page == "weights")
        if self.notice.message.path:
            self.notice.hide()

    @Slot()
    def _hide_event(self) -> None:
        """Hide a notice about an event, such as the end of an earlier training, unless it offers a remedy."""
        if self.notice.message.kind == "information" and not self.notice.message.remedy:
            self.notice.hide()

    @Slot()
    def _show_panel(self) -> None:
        """Show the sections of the panel that the visible page needs, unless the panel is hidden."""
        needed = self.pages.shown().needs()
        self.panel.show_parts(needed)
        self.panel.setVisible(bool(needed) and self.shows_panel and not self.is_full)
        # During the tour, the side column shows cards even on pages without a panel. The card that offers the tour is
        # shown only together with the panel.
        self.side.setVisible(self.is_touring or (bool(needed) and not self.is_full))
        self.follow()

    @Slot()
    def _show_where_runs_are_computed(self) -> None:
        """Show in the status bar whether data are sent to a Dask scheduler."""
        scheduler = self.session.scheduler
        self._right_status.setText(f"runs are computed at {scheduler}" if scheduler else "no data leave this computer")
        self._right_status.setToolTip(
            _SENT_TO_SCHEDULER if scheduler else "The network is used only for downloads that you request"
        )

    def focusNextPrevChild(self, forward: bool) -> bool:
        """If the focused control is hidden, focus the page area. Qt would otherwise focus the Cancel button."""
        focus, central = self.focusWidget(), self.centralWidget()
        if focus is None or central is None or focus.isVisible():
            return super().focusNextPrevChild(forward)
        central.setFocus()
        return True

    @Slot(str)
    def run_command(self, name: str) -> None:
        """Run the command `name`, or show why it is unavailable."""
        action = self.actions_by_name[name]
        why_not = action.follow()
        if why_not:
            self.notice.show_message(UserMessage(action.command.text, f"{why_not}."))
        else:
            action.trigger()

    @Slot()
    def follow(self) -> None:
        """Update the texts, check marks and availability of all commands."""
        for action in self.actions_by_name.values():
            action.follow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Store the session, cancel the jobs, wait for the worker threads, and close the window."""
        # Take the focus from number fields, because they apply a typed number when they lose the focus.
        self.setFocus()
        self.set_full(False)
        if "tour" in vars(self):
            self.tour.leave()
        self.settings.setValue(_GEOMETRY, self.saveGeometry())
        self.keeper.close()
        self.session.close()
        # Clear the undo history before Qt destroys it. Otherwise, its destructor would emit signals, and the connected
        # slots would use the destroyed history.
        self.workspace.history.clear()
        self.faults.close()
        super().closeEvent(event)
