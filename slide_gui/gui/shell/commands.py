"""Define all commands of the window, from which its menus, buttons, shortcuts and command palette are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QIcon, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QMessageBox

from slide_gui import __version__
from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.pages.weights.page import FLOW, VIEWS, WEIGHTS, WeightsPage
from slide_gui.gui.pages.weights.view import ViewSpec
from slide_gui.gui.pages.weights.why import COPIES, EXPERIMENTS, SHUFFLE
from slide_gui.gui.shell.faults import log_folder
from slide_gui.gui.shell.page_stack import PAGES, PageSpec
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.theme import THEMES, stored_theme
from slide_gui.gui.widgets.controls import with_keys
from slide_gui.text import spreadsheet_text

if TYPE_CHECKING:
    from slide_gui.gui.pages.classifier.page import ClassifierPage
    from slide_gui.gui.pages.curves.page import CurvesPage
    from slide_gui.gui.shell.main_window import MainWindow

Run = Callable[["MainWindow"], object]
_CONFIRMED_MS = 4000  # Time for which the status bar confirms that something was copied.


@dataclass(frozen=True)
class Command:
    """A command of the window.

    Attributes
    ----------
    text : str
        Text of the menu item and of the entry in the command palette.
    shortcut : str
        Keyboard shortcut in Qt's portable notation, such as "Ctrl+Shift+O".
    run : callable
        Runs the command. Like the functions below, it is called with the window as its argument.
    tip : str
        Tooltip: one sentence that adds information to `text`.
    why_not : callable
        Returns the reason why the command is unavailable now, or "" if it is available.
    checked : callable, optional
        Returns True if the menu item is checked; None for commands that cannot be checked.
    text_now : callable, optional
        Returns a more specific text for the current state of the window, such as "Undo stroke"; None to show `text`.
    starts_group : bool
        True if the menu has a separator line above the command.
    submenu : str
        Title of the submenu that contains the command; empty if the command is not in a submenu.
    """

    name: str
    text: str
    shortcut: str
    run: Run
    tip: str = ""
    why_not: Callable[[MainWindow], str] = lambda _window: ""
    checked: Callable[[MainWindow], bool] | None = None
    text_now: Callable[[MainWindow], str] | None = None
    starts_group: bool = False
    submenu: str = ""


class Action(QAction):
    """A Qt action that runs a command of a window."""

    def __init__(self, command: Command, window: MainWindow) -> None:
        super().__init__(command.text, window)
        self.command, self._window = command, window
        self.setObjectName(command.name)
        self.setShortcut(QKeySequence(command.shortcut))
        self.setCheckable(command.checked is not None)
        self._describe()
        self.triggered.connect(self._run)
        window.addAction(self)  # Qt ignores the shortcut of an action that has not been added to a widget.

    @Slot()
    def trigger(self) -> None:
        """Run the command if it is available in the current state of the window."""
        self.follow()
        super().trigger()

    @Slot()
    def _run(self) -> None:
        self.command.run(self._window)
        self.follow()

    def _describe(self, why_not: str = "") -> None:
        tip = self._window.workspace.worded(self.command.tip)
        self.setToolTip(with_keys(why_not or tip or self.text().rstrip(" …"), self.command.shortcut))

    def follow(self) -> str:
        """Update the action's text, tooltip and availability. Return why it is unavailable, or "" if available."""
        command, window = self.command, self._window
        if command.checked is not None:
            self.setChecked(command.checked(window))
        text = command.text if command.text_now is None else command.text_now(window)
        self.setText(window.workspace.worded(text))
        why_not = command.why_not(window)
        self.setEnabled(not why_not)
        self._describe(why_not)
        return why_not


class CommandUpdates(QObject):
    """Updates the state of a window's commands when the user presses a shortcut, before Qt runs the command.

    Otherwise, a shortcut could run a command that is no longer available. The window itself updates its commands only
    after its state has not changed for 100 ms. The command Cancel is also updated when a job has started or ended.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.installEventFilter(self)
        window.session.busy_changed.connect(self._follow_jobs)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Update the commands when a shortcut is pressed, except for Escape in a text field that is being edited."""
        if event.type() != QEvent.Type.ShortcutOverride:
            return False
        window = self._window
        line = window.focusWidget()
        is_edited = isinstance(line, QLineEdit) and line.isModified()
        if is_edited and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # Escape must revert the edited text instead of cancelling a job.
            return True
        # Update the command Cancel now, because `busy_changed` is emitted with a delay after a job has started.
        self._follow_jobs()
        if not window.workspace.is_at_rest:
            window.follow()
        return False

    @Slot()
    def _follow_jobs(self) -> None:
        self._window.actions_by_name["cancel"].follow()


def _not_here(window: MainWindow, needs_image: bool = False) -> str:
    """Return why the commands for the image on the Weights page are unavailable now, or "" if they are available."""
    if window.pages.name != "weights":
        return "Available only on the Weights page"
    dataset = window.workspace.dataset
    if dataset is None:
        return "No data set is open"
    return "The features of these data are not pixels" if needs_image and dataset.image_shape is None else ""


def _not_cancellable(window: MainWindow) -> str:
    return "" if window.session.busy or window.notice.isVisible() or window.is_full else "No job is running"


def _not_fittable(window: MainWindow) -> str:
    workspace = window.workspace
    if workspace.dataset is None:
        return "No data set is open"
    return "The layers already match the parameters" if workspace.model() is not None else ""


def _no_layer(window: MainWindow) -> str:
    workspace = window.workspace
    if workspace.state.parameters.depth == 0:
        return "The depth is 0"
    return "" if workspace.model() is not None else "The layers are not fitted yet"


def _not_trainable(window: MainWindow) -> str:
    dataset = window.workspace.dataset
    if dataset is None:
        return "No data set is open"
    return f"A classifier cannot be trained: {dataset.why_no_classes}" if dataset.why_no_classes else ""


def _no_tour(window: MainWindow) -> str:
    """Return the reason why the tour cannot start, or "" if it can start.

    The tour opens example data. Opening them would cancel training, a sweep or a trial that the user has started.
    """
    runs = window.session.built_runs
    requested = () if runs is None else (runs.training, runs.sweep, runs.trial)
    is_busy = any(task.running for task in requested) and not window.is_touring
    return "Wait until the running job has ended, or cancel it" if is_busy else ""


def _save_session(window: MainWindow) -> None:
    path = window.opening.ask_where_to_save()
    if path is not None:
        window.keeper.save(path)


def _export(window: MainWindow) -> None:
    page = window.pages.shown()
    window.exports.ask(page.export_options(), page.why_nothing_to_export(), window.keeper.picture_text)


def _try(window: MainWindow) -> None:
    from slide_gui.gui.state.runs import stored_budget

    window.pages.turn_to("curves")
    if not window.session.runs.trial.running:
        window.session.runs.start_trial(stored_budget(window.settings))


def _train(window: MainWindow) -> None:
    page = cast("ClassifierPage", window.pages.turn_to("classifier"))
    if not window.session.runs.training.running:
        page.train_button.click()  # If training is impossible, the page responds to the click with the reason.


def _sweep(window: MainWindow) -> None:
    page = cast("CurvesPage", window.pages.turn_to("curves"))
    if not window.session.runs.sweep.running:
        page.sweep_button.click()


def _cancel(window: MainWindow) -> None:
    if window.is_full:
        window.set_full(False)
        return
    if window.notice.isVisible() and not window.queue.busy:
        window.notice.hide()
    window.session.stop()


def _cluster(window: MainWindow) -> None:
    from slide_gui.gui.dialogs.workers import ClusterDialog

    (window.findChild(ClusterDialog) or ClusterDialog(window.session.cluster, window)).ask()


def _weights(window: MainWindow) -> WeightsPage:
    """Show the Weights page and return it."""
    return cast(WeightsPage, window.pages.turn_to("weights"))


def _full_screen(window: MainWindow) -> None:
    if not window.is_full:
        _weights(window).set_view(WEIGHTS)
    window.set_full(not window.is_full)


def _guide(window: MainWindow, page: str = "") -> None:
    """Open the guide in a separate window at the page `page`, or at the page shown last if `page` is empty."""
    from slide_gui.gui.help.guide import Guide

    guide = window.findChild(Guide)
    if guide is None:
        guide = Guide(window)
        guide.command_requested.connect(window.run_command)
        guide.data_requested.connect(window.open_entry)
    if page:
        guide.turn_to(page)
    guide.show()
    guide.activateWindow()


def _palette(window: MainWindow) -> None:
    from slide_gui.gui.shell.palette import CommandPalette

    (window.findChild(CommandPalette) or CommandPalette(window)).ask()


def _copy_picture(window: MainWindow) -> None:
    QGuiApplication.clipboard().setPixmap(window.pages.shown().grab())
    window.statusBar().showMessage("The picture of this page was copied.", _CONFIRMED_MS)


def _copy_table(window: MainWindow) -> None:
    page = window.pages.shown()
    table = page.numbers()
    if table:
        QGuiApplication.clipboard().setText(spreadsheet_text(table))
        window.statusBar().showMessage("The numbers on this page were copied.", _CONFIRMED_MS)
    else:
        window.notice.show_message(UserMessage("Nothing to copy yet", page.why_nothing_to_export()))


def _copy_report(window: MainWindow) -> None:
    from slide_gui.gui.shell.report import report

    text = report(window)
    QGuiApplication.clipboard().setText(text)
    sentence = "The report lists software versions, settings and the last lines of the log; click Details to read it."
    window.notice.show_message(UserMessage("The report was copied", sentence, kind="information", details=text))


def _about(window: MainWindow) -> None:
    about = window.findChild(QMessageBox, "about")
    if about is None:
        about = QMessageBox(window, textFormat=Qt.TextFormat.PlainText, text=f"slide-gui {__version__}")
        about.setObjectName("about")
        about.setWindowTitle("About slide-gui")
        about.setInformativeText(
            "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature "
            "Learning with Stacked Linear Denoisers”.\n\nMIT licence. The licences of the components (Qt: LGPL 3) are "
            "listed under Help ▸ Licences. The network is used only for downloads that you request and for a "
            "scheduler that you choose."
        )
        about.addButton(QMessageBox.StandardButton.Close).setIcon(QIcon())
    about.open()


def _step(name: str, text: str, shortcut: str, parameter: str, step: float, limit: float, at_limit: str) -> Command:
    """Return a command that changes the noise level or the depth by `step`, but not beyond the value `limit`."""

    def run(window: MainWindow) -> None:
        value = getattr(window.workspace.state.parameters, parameter) + step
        value = min(value, limit) if step > 0 else max(value, limit)
        window.workspace.set_parameters(**{parameter: round(value, 2)})

    def why_not(window: MainWindow) -> str:
        return at_limit if getattr(window.workspace.state.parameters, parameter) == limit else ""

    return Command(name, text, shortcut, run, why_not=why_not, submenu="Parameters")


def _page(number: int, page: PageSpec) -> Command:
    keys, title = f"Ctrl+{number}", page.title or page.text
    return Command(f"page_{page.name}", title, keys, lambda w: w.pages.turn_to(page.name), submenu="Page")


def _weights_view(number: int, view: ViewSpec) -> Command:
    name, text, keys = f"view_{view.name}", view.title or view.text, f"Alt+{number}"
    submenu = "" if view in VIEWS else "Experiments"
    return Command(name, text, keys, lambda w: _weights(w).set_view(view.name), view.tip, submenu=submenu)


def _theme(number: int, theme: str) -> Command:
    name, text, keys = f"theme_{theme}", f"Theme: {theme}", f"Ctrl+Alt+{number}"

    def is_current(window: MainWindow) -> bool:
        return stored_theme(window.settings) == theme

    return Command(name, text, keys, lambda w: w.set_theme(theme), checked=is_current, submenu="Theme")


_MOST_NOISE = f"The noise level is at its maximum, {LARGEST_NOISE:g}"
_MOST_DEPTH = f"The depth is at its maximum, {MOST_LAYERS}"
_image = partial(Command, submenu="Image", why_not=_not_here)
_drawing = partial(Command, submenu="Image", why_not=partial(_not_here, needs_image=True))
_experiment = partial(Command, submenu="Experiments")

# The commands of each menu. The keys are the titles of the menus.
MENUS: dict[str, tuple[Command, ...]] = {
    "File": (
        Command("open", "Open…", "Ctrl+O", lambda w: w.opening.ask_for_files(), "Open files as one data set"),
        Command(
            "open_folder", "Open folder…", "Ctrl+Shift+O", lambda w: w.opening.ask_for_folder(),
            "Open a folder that contains one folder of pictures per class, or an exported bundle",
        ),
        Command(
            "save_session", "Save session…", "Ctrl+S", _save_session,
            "Save the parameters, pins, page settings and paths of the data files to a session file",
        ),
        Command("export", "Export…", "Ctrl+E", _export, "Save the figure or table on this page to files"),
        Command("copy_image", "Copy page as picture", "Ctrl+Shift+C", _copy_picture),
        Command(
            "copy_table", "Copy numbers as table", "Ctrl+Alt+C", _copy_table,
            "Copy the numbers on this page as tab-separated text",
        ),
        Command("quit", "Quit", "Ctrl+Q", lambda w: w.close()),
    ),
    "Edit": (
        Command(
            "undo", "Undo", "Ctrl+Z", lambda w: w.workspace.history.undo(),
            why_not=lambda w: "" if w.workspace.history.canUndo() else "There is nothing to undo",
            text_now=lambda w: f"Undo {w.workspace.history.undoText()}".strip(),
        ),
        Command(
            "redo", "Redo", "Ctrl+Shift+Z", lambda w: w.workspace.history.redo(),
            why_not=lambda w: "" if w.workspace.history.canRedo() else "There is nothing to redo",
            text_now=lambda w: f"Redo {w.workspace.history.redoText()}".strip(),
        ),
        Command(
            "release_pins", "Release all pins", "Ctrl+Shift+X", lambda w: w.workspace.select(pins=()),
            why_not=lambda w: "" if w.workspace.state.selection.pins else "Nothing is pinned",
        ),
        Command(
            "more", "Show more parameters", "Ctrl+Shift+B", lambda w: w.panel.more.toggle(),
            "Show or hide the ridge, threshold, colour and split settings in the panel", submenu="Parameters",
            why_not=lambda w: "" if w.panel.more.isVisible() else "The panel has no further parameters on this page",
            checked=lambda w: w.panel.more.isChecked(),
        ),
        _step("more_noise", "More noise", "Ctrl+Up", "noise", 0.05, LARGEST_NOISE, _MOST_NOISE),
        _step("less_noise", "Less noise", "Ctrl+Down", "noise", -0.05, 0.0, "The noise level is already 0"),
        _step("deeper", "Add a layer", "Ctrl+PgUp", "depth", 1, MOST_LAYERS, _MOST_DEPTH),
        _step("shallower", "Remove a layer", "Ctrl+PgDown", "depth", -1, 0, "The depth is already 0"),
        Command(
            "try", "Try on my data", "Ctrl+Shift+T", _try,
            "Compare SLIDE with an SVM on raw features within the time limit in Settings; show the Error curves page",
            starts_group=True,
        ),
        Command(
            "train", "Train the classifier", "Ctrl+Return", _train,
            "Train on the open data set with the current parameters, and show the Classifier page", _not_trainable,
        ),
        Command(
            "sweep", "Sweep noise level and depth", "Ctrl+Shift+Return", _sweep,
            "Compute the error at every noise level and depth, and show the Error curves page", _not_trainable,
        ),
        Command(
            "fit_again", "Fit the layers again", "F5", lambda w: w.workspace.fitting.fit(),
            "Fit the layers again after a fit was cancelled or failed", _not_fittable,
        ),
        Command(
            "cancel", "Cancel all jobs", "Esc", _cancel,
            "Cancel all jobs but keep finished results; if no job is running, hide any message", _not_cancellable,
        ),
        Command(
            "cluster", "Choose where runs are computed…", "Ctrl+Alt+R", _cluster,
            "Compute runs in this window, in local worker processes or through a Dask scheduler", starts_group=True,
        ),
        Command(
            "settings", "Settings…", "Ctrl+,", lambda w: w.ask_for_settings(),
            "Choose the theme, the display size and where runs are computed; reset all settings",
        ),
    ),
    "View": (
        *(_page(number, page) for number, page in enumerate(PAGES, 1)),
        *(_weights_view(number, view) for number, view in enumerate((*VIEWS, *EXPERIMENTS), 1)),
        _image(
            "corrupt", "Corrupt or restore the image", "Ctrl+K",
            lambda w: w.weights_page.set_view(FLOW).corrupt.click(),
        ),
        _image(
            "corrupt_again", "New corruption", "Ctrl+Shift+K",
            lambda w: w.weights_page.set_view(FLOW).corrupt_again(), "Corrupt a new random selection of pixels",
        ),
        _drawing(
            "reset_drawing", "Reset the drawn image", "Ctrl+R", lambda w: w.workspace.draw(None),
            "Remove your changes and show the image from the data set",
        ),
        _drawing(
            "blank_canvas", "Start from a blank canvas", "Ctrl+Shift+R",
            lambda w: w.weights_page.set_view(FLOW).view.canvas.blank(), "Set all pixels to 0 in the Flow view",
        ),
        _drawing(
            "draw_or_erase", "Draw or erase", "Ctrl+D", lambda w: w.weights_page.set_view(FLOW).toggle_erasing(),
            "Switch the left mouse button between drawing and erasing in the Flow view",
        ),
        _experiment(
            "run_copies", "Start, pause or resume the fit to corrupted copies", "Ctrl+Shift+M",
            lambda w: w.weights_page.set_view(COPIES).toggle(), why_not=_not_here,
        ),
        _image("next_sample", "Next image", "Ctrl+Right", lambda w: w.weights_page.shown.next()),
        _image("previous_sample", "Previous image", "Ctrl+Left", lambda w: w.weights_page.shown.previous()),
        _image(
            "mean_image", "Mean image", "Ctrl+M", lambda w: w.weights_page.shown.toggle_mean(),
            "Show the mean of the training images instead of the current image, or return to the current image",
        ),
        Command(
            "full_screen", "Full screen", "F11", _full_screen,
            "Show only the weights and a slider for the noise level in full screen; press Esc to leave",
            checked=lambda w: w.is_full,
        ),
        _experiment(
            "shuffle", "Shuffle pixels", "Ctrl+J", lambda w: _weights(w).set_view(SHUFFLE).start(),
            "Fit the layers to images with shuffled pixels and compare W with the original weights", _no_layer,
        ),
        Command(
            "panel", "Show panel", "Ctrl+B", lambda w: w.show_panel(not w.shows_panel),
            "Show or hide the parameter panel", starts_group=True,
            why_not=lambda w: "" if w.pages.shown().needs() else "This page has no parameters",
            checked=lambda w: w.shows_panel,
        ),
        *(_theme(number, theme) for number, theme in enumerate(THEMES)),
    ),
    "Help": (
        Command("guide", "Guide", "F1", _guide, "Open the guide, which describes all pages and commands"),
        Command(
            "tour", "Take the tour", "Ctrl+F1", lambda w: w.tour.start(),
            "Learn in eleven steps how SLIDE works, using the generated data set Rectangles", _no_tour,
        ),
        Command("palette", "Command palette…", "Ctrl+Shift+P", _palette, "Search commands, data sets and recent files"),
        Command(
            "licences", "Licences", "Ctrl+Shift+F1", lambda w: _guide(w, "licences.md"),
            "List the program's components and their licences",
        ),
        Command(
            "show_log", "Show the log folder", "Ctrl+Shift+L",
            lambda _: QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder()))),
        ),
        Command(
            "copy_report", "Copy report", "Ctrl+Alt+L", _copy_report,
            "Copy software versions, settings and the last lines of the log, for reporting a problem",
        ),
        Command("about", "About slide-gui", "Shift+F1", _about),
    ),
}  # fmt: skip
COMMANDS = tuple(chain(*MENUS.values()))
