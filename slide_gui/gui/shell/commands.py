"""Define every command of the window; menus, buttons, shortcuts and the palette are built from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices, QIcon, QKeySequence
from PySide6.QtWidgets import QMessageBox

from slide_gui import __version__
from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.pages.weights.page import FLOW, VIEWS, WEIGHTS, WeightsPage
from slide_gui.gui.pages.weights.view import ViewSpec
from slide_gui.gui.pages.weights.why import COPIES, EXPERIMENTS, SHUFFLE
from slide_gui.gui.shell.faults import log_folder
from slide_gui.gui.shell.page_stack import PAGES, PageSpec
from slide_gui.gui.theme import THEMES, stored_theme

if TYPE_CHECKING:
    from slide_gui.gui.pages.classifier.page import ClassifierPage
    from slide_gui.gui.pages.curves.page import CurvesPage
    from slide_gui.gui.shell.main_window import MainWindow

Run = Callable[["MainWindow"], object]


@dataclass(frozen=True)
class Command:
    """A command of the window.

    Attributes
    ----------
    text : str
        Text of the menu item and of the palette's entry.
    shortcut : str
        Keys in Qt's portable notation.
    run : callable
        Function that runs it.
    tip : str
        One sentence that adds to the text.
    why_not : callable
        Return why the command is unavailable now, or "" if it is available.
    checked : callable, optional
        Return the state of the switch; given for commands that toggle something.
    text_now : callable, optional
        Return the text with the effect it would have now.
    starts_group : bool
        True if a line separates it from the menu's commands above.
    submenu : str
        Title of the submenu that contains it; empty for the menu itself.
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
    """A command of a window."""

    def __init__(self, command: Command, window: MainWindow) -> None:
        super().__init__(command.text, window)
        self.command, self._window = command, window
        self.setObjectName(command.name)
        self.setShortcut(QKeySequence(command.shortcut))
        self.setCheckable(command.checked is not None)
        self.keys = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self._describe()
        self.triggered.connect(self._run)
        window.addAction(self)  # makes the shortcut work everywhere in the window

    @Slot()
    def trigger(self) -> None:
        """Run the command if it is available now."""
        self.follow()
        super().trigger()

    @Slot()
    def _run(self) -> None:
        self.command.run(self._window)
        self.follow()

    def _describe(self, why_not: str = "") -> None:
        tip = self._window.workspace.worded(self.command.tip)
        self.setToolTip(f"{why_not or tip or self.text().rstrip(' …')} ({self.keys})")

    def follow(self) -> str:
        """Update the state and the text, and return why the command is unavailable, or ""."""
        command, window = self.command, self._window
        if command.checked is not None:
            self.setChecked(command.checked(window))
        text = command.text if command.text_now is None else command.text_now(window)
        self.setText(window.workspace.worded(text))
        why_not = command.why_not(window)
        self.setEnabled(not why_not)
        self._describe(why_not)
        return why_not


MENUS: dict[str, list[Command]] = {"File": [], "Edit": [], "View": [], "Help": []}
"""The commands of each menu, by its title."""


def _add_command(menu: str, text: str, shortcut: str, tip: str = "", **state: Any) -> Callable[[Run], Run]:
    """Add a function to a menu as the command of its name; `state` contains further fields of `Command`."""

    def add(run: Run) -> Run:
        MENUS[menu].append(Command(run.__name__.strip("_"), text, shortcut, run, tip, **state))
        return run

    return add


_file, _edit, _view, _help = (partial(_add_command, menu) for menu in MENUS)
_image, _experiment = partial(_view, submenu="Image"), partial(_view, submenu="Experiments")


def _not_here(window: MainWindow, needs_image: bool = False) -> str:
    """Return why a command for the image on the Weights page is unavailable."""
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
    return f"No classifier is possible: {dataset.why_no_classes}" if dataset.why_no_classes else ""


@_file("Open…", "Ctrl+O", "Open files as one data set")
def _open(window: MainWindow) -> None:
    window.opening.ask_for_files()


@_file("Open folder…", "Ctrl+Shift+O", "Open a folder of pictures sorted by class, or an exported bundle")
def _open_folder(window: MainWindow) -> None:
    window.opening.ask_for_folder()


@_file("Save session…", "Ctrl+S", "Save the data, parameters, pins and page choices to a file, which Open restores")
def _save_session(window: MainWindow) -> None:
    path = window.opening.ask_where_to_save()
    if path is not None:
        window.keeper.save(path)


@_file("Export…", "Ctrl+E", "Export the contents of the page")
def _export(window: MainWindow) -> None:
    page = window.pages.shown()
    window.exports.ask(page.export_options(), page.why_nothing_to_export(), window.keeper.picture_text)


@_file("Copy page as picture", "Ctrl+Shift+C")
def _copy_image(window: MainWindow) -> None:
    window.exports.copy_image(window.pages.shown())


@_file("Copy numbers as table", "Ctrl+Alt+C", "Copy the numbers of the page as tab-separated text")
def _copy_table(window: MainWindow) -> None:
    page = window.pages.shown()
    window.exports.copy_table(page.numbers(), page.why_nothing_to_export())


@_file("Quit", "Ctrl+Q")
def _quit(window: MainWindow) -> None:
    window.close()


@_edit(
    "Undo",
    "Ctrl+Z",
    why_not=lambda w: "" if w.workspace.history.canUndo() else "There is nothing to undo",
    text_now=lambda w: f"Undo {w.workspace.history.undoText()}".strip(),
)
def _undo(window: MainWindow) -> None:
    window.workspace.history.undo()


@_edit(
    "Redo",
    "Ctrl+Shift+Z",
    why_not=lambda w: "" if w.workspace.history.canRedo() else "There is nothing to redo",
    text_now=lambda w: f"Redo {w.workspace.history.redoText()}".strip(),
)
def _redo(window: MainWindow) -> None:
    window.workspace.history.redo()


@_edit(
    "Release all pins",
    "Ctrl+Shift+X",
    why_not=lambda w: "" if w.workspace.state.selection.pins else "Nothing is pinned",
)
def _release_pins(window: MainWindow) -> None:
    window.workspace.select(pins=())


@_edit(
    "Show more parameters",
    "Ctrl+Shift+B",
    "Show or hide ridge, threshold, colours and the split in the panel",
    checked=lambda w: w.panel.more.isChecked(),
    why_not=lambda w: "" if w.panel.more.isVisible() else "The panel shows no further parameters",
    submenu="Parameters",
)
def _more(window: MainWindow) -> None:
    window.panel.more.toggle()


def _step(name: str, text: str, shortcut: str, parameter: str, step: float, limit: float, at_limit: str) -> Command:
    """Return a command that changes the noise level or the depth by a step up to a limit."""

    def run(window: MainWindow) -> None:
        value = getattr(window.workspace.state.parameters, parameter) + step
        value = min(value, limit) if step > 0 else max(value, limit)
        window.workspace.set_parameters(**{parameter: round(value, 2)})

    def why_not(window: MainWindow) -> str:
        return at_limit if getattr(window.workspace.state.parameters, parameter) == limit else ""

    return Command(name, text, shortcut, run, why_not=why_not, submenu="Parameters")


_MOST_NOISE = f"The noise level is at its maximum, {LARGEST_NOISE:g}"
_MOST_DEPTH = f"The depth is at its maximum, {MOST_LAYERS}"
MENUS["Edit"] += [
    _step("more_noise", "More noise", "Ctrl+Up", "noise", 0.05, LARGEST_NOISE, _MOST_NOISE),
    _step("less_noise", "Less noise", "Ctrl+Down", "noise", -0.05, 0.0, "The noise level is already 0"),
    _step("deeper", "Add a layer", "Ctrl+PgUp", "depth", 1, MOST_LAYERS, _MOST_DEPTH),
    _step("shallower", "Remove a layer", "Ctrl+PgDown", "depth", -1, 0, "The depth is already 0"),
]


@_edit(
    "Try on my data",
    "Ctrl+Shift+T",
    "Compare SLIDE with a plain SVM within the time in the settings, and open the Error curves page",
    starts_group=True,
)
def _try(window: MainWindow) -> None:
    from slide_gui.gui.state.runs import stored_budget

    window.pages.turn_to("curves")
    if not window.session.runs.trial.running:
        window.session.runs.start_trial(stored_budget(window.settings))


@_edit(
    "Train the classifier",
    "Ctrl+Return",
    "Train on the open data set with the current parameters and open the Classifier page",
    why_not=_not_trainable,
)
def _train(window: MainWindow) -> None:
    page = cast("ClassifierPage", window.pages.turn_to("classifier"))
    if not window.session.runs.training.running:
        page.train_button.click()  # reports why training is impossible


@_edit(
    "Sweep noise and depth",
    "Ctrl+Shift+Return",
    "Compute the error at every noise level and depth and open the Error curves page",
    why_not=_not_trainable,
)
def _sweep(window: MainWindow) -> None:
    page = cast("CurvesPage", window.pages.turn_to("curves"))
    if not window.session.runs.sweep.running:
        page.sweep_button.click()


@_edit("Fit the layers again", "F5", "Fit the layers again after a cancelled or failed fit", why_not=_not_fittable)
def _fit_again(window: MainWindow) -> None:
    window.workspace.fitting.fit()


@_edit(
    "Cancel all jobs",
    "Esc",
    "Results so far stay; if no job is running, the notice is dismissed",
    why_not=_not_cancellable,
)
def _cancel(window: MainWindow) -> None:
    if window.is_full:
        window.set_full(False)
        return
    if window.notice.isVisible() and not window.queue.busy:
        window.notice.hide()
    window.session.stop()


@_edit(
    "Where runs are computed…",
    "Ctrl+Alt+R",
    "Choose this window, worker processes on this computer, or a Dask scheduler",
    starts_group=True,
)
def _cluster(window: MainWindow) -> None:
    from slide_gui.gui.dialogs.workers import ClusterDialog

    dialog = window.findChild(ClusterDialog) or ClusterDialog(window.session.cluster, window)
    dialog.ask()


@_edit("Settings…", "Ctrl+,", "Choose the theme, the size, what is remembered and where runs are computed")
def _settings(window: MainWindow) -> None:
    window.ask_for_settings()


def _page(number: int, page: PageSpec) -> Command:
    keys = f"Ctrl+{number}"
    return Command(f"page_{page.name}", page.title, keys, lambda w: w.pages.turn_to(page.name), submenu="Page")


def _weights_view(number: int, view: ViewSpec) -> Command:
    submenu, keys = "" if view in VIEWS else "Experiments", f"Alt+{number}"

    def run(window: MainWindow) -> object:
        return _weights(window).set_view(view.name)

    return Command(f"view_{view.name}", view.title, keys, run, view.tip, submenu=submenu)


MENUS["View"] += [_page(number, page) for number, page in enumerate(PAGES, 1)]
MENUS["View"] += [_weights_view(number, view) for number, view in enumerate((*VIEWS, *EXPERIMENTS), 1)]


def _weights(window: MainWindow) -> WeightsPage:
    """Open the Weights page and return it."""
    return cast(WeightsPage, window.pages.turn_to("weights"))


@_image("Corrupt or restore the image", "Ctrl+K", why_not=_not_here)
def _corrupt(window: MainWindow) -> None:
    window.weights_page.set_view(FLOW).toggle_corruption()


@_image("New corruption", "Ctrl+Shift+K", "Set other pixels of the image in the flow to 0", why_not=_not_here)
def _corrupt_again(window: MainWindow) -> None:
    window.weights_page.set_view(FLOW).corrupt_again()


@_image(
    "Reset the drawn image",
    "Ctrl+R",
    "Show the image as it is in the data set",
    why_not=partial(_not_here, needs_image=True),
)
def _reset_drawing(window: MainWindow) -> None:
    window.weights_page.set_view(FLOW).reset()


@_image(
    "Start from a blank canvas",
    "Ctrl+Shift+R",
    "Set all pixels of the image in the flow to 0",
    why_not=partial(_not_here, needs_image=True),
)
def _blank_canvas(window: MainWindow) -> None:
    window.weights_page.set_view(FLOW).blank()


@_image(
    "Draw or erase",
    "Ctrl+D",
    "Let the left button draw on the image in the flow, or erase",
    why_not=partial(_not_here, needs_image=True),
)
def _draw_or_erase(window: MainWindow) -> None:
    window.weights_page.set_view(FLOW).toggle_erasing()


@_experiment("Start, pause or resume the copies", "Ctrl+Shift+M", why_not=_not_here)
def _run_copies(window: MainWindow) -> None:
    window.weights_page.set_view(COPIES).toggle()


@_image("Next image", "Ctrl+Right", why_not=_not_here)
def _next_sample(window: MainWindow) -> None:
    window.weights_page.shown.next()


@_image("Previous image", "Ctrl+Left", why_not=_not_here)
def _previous_sample(window: MainWindow) -> None:
    window.weights_page.shown.previous()


@_image(
    "Mean image", "Ctrl+M", "Switch between the mean of the training images and the current image", why_not=_not_here
)
def _mean_image(window: MainWindow) -> None:
    window.weights_page.shown.toggle_mean()


@_view(
    "Full screen",
    "F11",
    "Show only the weights, with a slider for the noise level, on the full screen; Esc returns",
    checked=lambda w: w.is_full,
)
def _full_screen(window: MainWindow) -> None:
    if not window.is_full:
        _weights(window).set_view(WEIGHTS)
    window.set_full(not window.is_full)


@_experiment("Shuffle pixels", "Ctrl+J", "Fit the layers to shuffled pixels and compare W", why_not=_no_layer)
def _shuffle(window: MainWindow) -> None:
    _weights(window).set_view(SHUFFLE).start()


@_view(
    "Show panel",
    "Ctrl+B",
    "Show or hide the panel of parameters",
    checked=lambda w: w.shows_panel,
    starts_group=True,
    why_not=lambda w: "" if w.pages.shown().needs() else "This page has no parameters",
)
def _panel(window: MainWindow) -> None:
    window.show_panel(not window.shows_panel)


def _theme(number: int, theme: str) -> Command:
    return Command(
        f"theme_{theme}",
        f"Theme: {theme}",
        f"Ctrl+Alt+{number}",
        lambda w: w.set_theme(theme),
        checked=lambda w: stored_theme(w.settings) == theme,
        submenu="Theme",
    )


MENUS["View"] += [_theme(number, theme) for number, theme in enumerate(THEMES)]


@_help("Guide", "F1", "Open the guide to all pages and commands")
def _guide(window: MainWindow) -> None:
    _open_guide(window)


def _open_guide(window: MainWindow, page: str = "") -> None:
    """Open the guide at a page or where it was, in a window that may stay open."""
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


def _not_now(window: MainWindow) -> str:
    """Return why the tour cannot start: opening its data would cancel requested jobs."""
    runs = window.session.runs if "runs" in vars(window.session) else None
    requested = () if runs is None else (runs.training, runs.sweep, runs.trial)
    return "Wait for the requested job, or cancel it" if any(task.running for task in requested) else ""


@_help(
    "Take the tour",
    "Ctrl+F1",
    "Learn from generated Rectangles what SLIDE does, in eleven cards",
    why_not=lambda w: "" if "tour" in vars(w) and w.tour.is_running else _not_now(w),
)
def _tour(window: MainWindow) -> None:
    window.tour.start()


@_help("Command palette…", "Ctrl+Shift+P", "Search commands, data sets and recent files by name")
def _palette(window: MainWindow) -> None:
    from slide_gui.gui.shell.palette import CommandPalette

    palette = window.findChild(CommandPalette) or CommandPalette(window)
    palette.ask()


@_help("Licences", "Ctrl+Shift+F1", "List the program's components and their licences")
def _licences(window: MainWindow) -> None:
    _open_guide(window, "licences.md")


@_help("Show the log folder", "Ctrl+Shift+L")
def _show_log(_window: MainWindow) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))


@_help("About slide-gui", "Shift+F1")
def _about(window: MainWindow) -> None:
    about = window.findChild(QMessageBox, "about")
    if about is None:
        about = QMessageBox(window)
        about.setObjectName("about")
        about.setTextFormat(Qt.TextFormat.PlainText)
        about.setWindowTitle("About slide-gui")
        about.setText(f"slide-gui {__version__}")
        about.setInformativeText(
            "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature "
            "Learning with Stacked Linear Denoisers”.\n\nMIT licence. Help, Licences lists the licences of "
            "components (Qt: LGPL 3). The network is used only for downloads and schedulers that you "
            "request."
        )
        about.addButton(QMessageBox.StandardButton.Close).setIcon(QIcon())
    about.open()


COMMANDS = tuple(chain(*MENUS.values()))
