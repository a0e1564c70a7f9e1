"""Define every command of the window; menus, buttons, shortcuts and the palette are built from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices, QKeySequence

from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.pages.weights.page import COPIES, FLOW, SHUFFLE, VIEWS, WeightsPage
from slide_gui.gui.pages.weights.view import ViewSpec
from slide_gui.gui.shell.faults import log_folder
from slide_gui.gui.shell.page_stack import PAGES, PageSpec

if TYPE_CHECKING:
    from slide_gui.gui.pages.classifier.page import ClassifierPage
    from slide_gui.gui.pages.curves.page import CurvesPage
    from slide_gui.gui.shell.main_window import MainWindow


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
    why_not : callable, optional
        Return why the command is unavailable now, or "" if it is available.
    checked : callable, optional
        Return the state of the switch; given for commands that toggle something.
    text_now : callable, optional
        Return the text with the effect it would have now.
    """

    name: str
    text: str
    shortcut: str
    run: Callable[[MainWindow], object]
    tip: str = ""
    why_not: Callable[[MainWindow], str] | None = None
    checked: Callable[[MainWindow], bool] | None = None
    text_now: Callable[[MainWindow], str] | None = None


class Action(QAction):
    """A command of a window."""

    def __init__(self, command: Command, window: MainWindow) -> None:
        super().__init__(command.text, window)
        self.command, self._window = command, window
        self.setObjectName(command.name)
        self.setShortcut(QKeySequence(command.shortcut))
        self.setCheckable(command.checked is not None)
        self.keys = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self._describe(command.tip or command.text.rstrip(" …"))
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

    def _describe(self, text: str) -> None:
        self.setToolTip(f"{text} ({self.keys})")

    def follow(self) -> None:
        """Update the state, the text and the reason for being unavailable."""
        command, window = self.command, self._window
        if command.checked is not None:
            self.setChecked(command.checked(window))
        if command.text_now is not None:
            self.setText(command.text_now(window))
        if command.why_not is not None:
            reason = command.why_not(window)
            self.setEnabled(not reason)
            self._describe(reason or (self.text() if command.text_now else command.tip) or self.text())


def _weights(window: MainWindow) -> WeightsPage:
    """Open the Weights page and return it."""
    return cast(WeightsPage, window.pages.turn_to("weights"))


def _page(number: int, page: PageSpec) -> Command:
    return Command(f"page_{page.name}", page.title, f"Ctrl+{number}", lambda w: w.pages.turn_to(page.name))


def _view(number: int, view: ViewSpec) -> Command:
    return Command(
        f"view_{view.name}", view.title, f"Alt+{number}", lambda w: _weights(w).set_view(view.name), view.tip
    )


def _export(window: MainWindow) -> None:
    page = window.pages.shown()
    why, waits_for = page.why_nothing_to_export(), page.export_waits_for()
    window.exports.ask(page.export_options, why, window.keeper.picture_text, waits_for)


def _copy_table(window: MainWindow) -> None:
    page = window.pages.shown()
    window.exports.copy_table(page.table(), page.why_nothing_to_export())


def _step(window: MainWindow, name: str, step: float, most: float) -> None:
    """Change the noise level or the depth by a step within its limits."""
    value = min(max(getattr(window.workspace.state.parameters, name) + step, 0), most)
    window.workspace.set_parameters(**{name: round(value, 2)})


def _train(window: MainWindow) -> None:
    """Open the Classifier page and click Train, which reports why training is impossible."""
    page = cast("ClassifierPage", window.pages.turn_to("classifier"))
    if not window.session.runs.training.running:
        page.train_button.click()


def _sweep(window: MainWindow) -> None:
    """Open the Error curves page and click Sweep."""
    page = cast("CurvesPage", window.pages.turn_to("curves"))
    if not window.session.runs.sweep.running:
        page.sweep_button.click()


def _try(window: MainWindow) -> None:
    """Open the Error curves page and try SLIDE on the open data set."""
    window.pages.turn_to("curves")
    if not window.session.runs.trial.running:
        window.session.runs.start_trial()


def _show_log(_window: MainWindow) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))


def _not_here(window: MainWindow, needs_image: bool = False) -> str:
    """Return why a command for the image on the Weights page is unavailable."""
    if window.pages.name != "weights":
        return "Available only on the Weights page"
    dataset = window.workspace.dataset
    if dataset is None:
        return "No data set is open"
    return "The features of these data are not pixels" if needs_image and dataset.image_shape is None else ""


def _not_cancellable(window: MainWindow) -> str:
    return "" if window.session.busy or window.notice.isVisible() else "No job is running"


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
    return f"{dataset.why_no_classes[:1].upper()}{dataset.why_no_classes[1:]}"


def _no_more(window: MainWindow, name: str, limit: float, what: str) -> str:
    return what if getattr(window.workspace.state.parameters, name) == limit else ""


def _transposed(window: MainWindow) -> bool:
    return window.workspace.state.selection.transposed


_FILE = (
    Command("open", "Open…", "Ctrl+O", lambda w: w.opening.ask_for_files(), "Open files as one data set"),
    Command(
        "open_folder",
        "Open folder…",
        "Ctrl+Shift+O",
        lambda w: w.opening.ask_for_folder(),
        "Open a folder of images sorted by class, or an exported bundle",
    ),
    Command(
        "save_session",
        "Save session…",
        "Ctrl+S",
        lambda w: w.save_session(),
        "Save the data, parameters, pins and page choices to a file, which Open restores",
    ),
    Command("export", "Export…", "Ctrl+E", _export, "Export the contents of the page"),
    Command("copy_image", "Copy page as image", "Ctrl+Shift+C", lambda w: w.exports.copy_image(w.pages.shown())),
    Command(
        "copy_table",
        "Copy numbers as table",
        "Ctrl+Alt+C",
        _copy_table,
        "Copy the numbers of the page as tab-separated text",
    ),
    Command("quit", "Quit", "Ctrl+Q", lambda w: w.close()),
)
_EDIT = (
    Command(
        "undo",
        "Undo",
        "Ctrl+Z",
        lambda w: w.workspace.history.undo(),
        why_not=lambda w: "" if w.workspace.history.undoText() else "There is nothing to undo",
        text_now=lambda w: f"Undo {w.workspace.history.undoText()}".strip(),
    ),
    Command(
        "redo",
        "Redo",
        "Ctrl+Shift+Z",
        lambda w: w.workspace.history.redo(),
        why_not=lambda w: "" if w.workspace.history.canRedo() else "There is nothing to redo",
        text_now=lambda w: f"Redo {w.workspace.history.redoText()}".strip(),
    ),
    Command(
        "release_pins",
        "Release all pins",
        "Ctrl+Shift+X",
        lambda w: w.workspace.select(pins=()),
        why_not=lambda w: "" if w.workspace.state.selection.pins else "No pixel is pinned",
    ),
    Command(
        "cancel",
        "Cancel all jobs",
        "Esc",
        lambda w: w.stop(),
        "Results so far stay; if no job is running, the notice is dismissed",
        why_not=_not_cancellable,
    ),
    Command(
        "fit_again",
        "Fit the layers again",
        "F5",
        lambda w: w.workspace.fitting.fit(),
        "Fit the layers again after a cancelled or failed fit",
        why_not=_not_fittable,
    ),
    Command(
        "try",
        "Try on my data",
        "Ctrl+Shift+T",
        _try,
        "Run a quick sweep of about a minute, summarise it in one sentence and open the Error curves page",
    ),
    Command(
        "train",
        "Train the classifier",
        "Ctrl+Return",
        _train,
        "Train on the open data set with the current parameters and open the Classifier page",
        why_not=_not_trainable,
    ),
    Command(
        "sweep",
        "Sweep noise and depth",
        "Ctrl+Shift+Return",
        _sweep,
        "Compute the error at every noise level and depth and open the Error curves page",
        why_not=_not_trainable,
    ),
    Command(
        "cluster",
        "Where runs are made…",
        "Ctrl+Alt+R",
        lambda w: w.commands.show_cluster(),
        "Choose this window, worker processes on this computer, or a Dask scheduler",
    ),
)
_VIEW = (
    *(_page(number, page) for number, page in enumerate(PAGES, 1)),
    *(_view(number, view) for number, view in enumerate(VIEWS, 1)),
    Command(
        "show_table",
        "Show as table",
        "F9",
        lambda w: w.commands.show_table(),
        "Show the numbers of the page as a table for screen readers, keyboard navigation and copying",
    ),
    Command(
        "corrupt",
        "Corrupt or restore the image",
        "Ctrl+K",
        lambda w: w.weights_page.set_view(FLOW).toggle_corruption(),
        why_not=_not_here,
    ),
    Command(
        "corrupt_again",
        "New corruption",
        "Ctrl+Shift+K",
        lambda w: w.weights_page.set_view(FLOW).corrupt_again(),
        "Set other pixels of the image in the flow to 0",
        why_not=_not_here,
    ),
    Command(
        "reset_drawing",
        "Reset the drawn image",
        "Ctrl+R",
        lambda w: w.weights_page.set_view(FLOW).reset(),
        "Show the image as it is in the data set",
        why_not=lambda w: _not_here(w, needs_image=True),
    ),
    Command(
        "run_copies",
        "Start, pause or resume the copies",
        "Ctrl+Shift+M",
        lambda w: w.weights_page.set_view(COPIES).toggle(),
        why_not=_not_here,
    ),
    Command("next_sample", "Next image", "Ctrl+Right", lambda w: w.weights_page.shown.next(), why_not=_not_here),
    Command(
        "previous_sample", "Previous image", "Ctrl+Left", lambda w: w.weights_page.shown.previous(), why_not=_not_here
    ),
    Command(
        "mean_image",
        "Mean image",
        "Ctrl+M",
        lambda w: w.weights_page.shown.toggle_mean(),
        "Switch between the mean of the training images and the current image",
        why_not=_not_here,
    ),
    Command(
        "wall",
        "Wall of layers",
        "F11",
        lambda w: _weights(w).show_wall(),
        "Show all rows of all layers on the full screen, changing with the noise level",
        why_not=_no_layer,
    ),
    Command(
        "shuffle",
        "Shuffle pixels",
        "Ctrl+J",
        lambda w: _weights(w).set_view(SHUFFLE).start(),
        "Fit the layers to shuffled pixels and compare W",
        why_not=_no_layer,
    ),
    Command(
        "more_noise",
        "More noise",
        "Ctrl+Up",
        lambda w: _step(w, "noise", 0.05, LARGEST_NOISE),
        why_not=lambda w: _no_more(w, "noise", LARGEST_NOISE, f"The noise level is at its maximum, {LARGEST_NOISE:g}"),
    ),
    Command(
        "less_noise",
        "Less noise",
        "Ctrl+Down",
        lambda w: _step(w, "noise", -0.05, LARGEST_NOISE),
        why_not=lambda w: _no_more(w, "noise", 0.0, "The noise level is already 0"),
    ),
    Command(
        "deeper",
        "Add a layer",
        "Ctrl+PgUp",
        lambda w: _step(w, "depth", 1, MOST_LAYERS),
        why_not=lambda w: _no_more(w, "depth", MOST_LAYERS, f"The depth is at its maximum, {MOST_LAYERS}"),
    ),
    Command(
        "shallower",
        "Remove a layer",
        "Ctrl+PgDown",
        lambda w: _step(w, "depth", -1, MOST_LAYERS),
        why_not=lambda w: _no_more(w, "depth", 0, "The depth is already 0"),
    ),
    Command(
        "transpose",
        "Swap rows and columns of images",
        "Ctrl+T",
        lambda w: w.workspace.select(transposed=not _transposed(w)),
        checked=_transposed,
        why_not=lambda w: (
            "The data are not images" if w.workspace.dataset is not None and not w.workspace.dataset.image_shape else ""
        ),
    ),
    Command(
        "panel",
        "Show panel",
        "Ctrl+B",
        lambda w: w.show_panel(not w.shows_panel),
        "Show or hide the panel of parameters",
        checked=lambda w: w.shows_panel,
        why_not=lambda w: "" if w.pages.shown().needs() else "This page has no parameters",
    ),
    Command("theme_system", "Theme: system", "Ctrl+Alt+0", lambda w: w.set_theme("system")),
    Command("theme_light", "Theme: light", "Ctrl+Alt+1", lambda w: w.set_theme("light")),
    Command("theme_dark", "Theme: dark", "Ctrl+Alt+2", lambda w: w.set_theme("dark")),
    Command(
        "larger",
        "Larger",
        "Ctrl+Alt+PgUp",
        lambda w: w.step_scale(1),
        "Enlarge text, images and controls up to twofold from the next start",
    ),
    Command(
        "smaller",
        "Smaller",
        "Ctrl+Alt+PgDown",
        lambda w: w.step_scale(-1),
        "Shrink text, images and controls, at least to normal size, from the next start",
    ),
)
_HELP = (
    Command(
        "guide",
        "Guide",
        "F1",
        lambda w: w.commands.show_guide(),
        "Open the guide, which starts with a tour in five steps",
    ),
    Command(
        "palette",
        "Command palette…",
        "Ctrl+Shift+P",
        lambda w: w.commands.show_palette(),
        "Search commands, data sets, recent files and runs by name",
    ),
    Command(
        "shortcuts",
        "Keyboard shortcuts",
        "?",
        lambda w: w.commands.show_shortcuts(),
        "List all commands with their shortcuts",
    ),
    Command(
        "licences",
        "Licences",
        "Ctrl+Shift+F1",
        lambda w: w.commands.show_guide("licences.md"),
        "List the program's components and their licences",
    ),
    Command("show_log", "Show the log folder", "Ctrl+Shift+L", _show_log),
    Command("about", "About slide-gui", "Shift+F1", lambda w: w.commands.show_about()),
)
MENUS = {"File": _FILE, "Edit": _EDIT, "View": _VIEW, "Help": _HELP}
"""The commands of each menu, by its title."""
COMMANDS = tuple(chain(*MENUS.values()))
