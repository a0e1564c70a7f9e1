"""Define every command of the window; menus, buttons, shortcuts and the palette are built from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.dialogs.export import ExportController
from slide_gui.gui.dialogs.opening import Opening
from slide_gui.gui.pages.weights.page import VIEWS, WeightsPage
from slide_gui.gui.pages.weights.view import ViewSpec
from slide_gui.gui.shell.faults import log_folder
from slide_gui.gui.shell.page_stack import PAGES, PageSpec, PageStack
from slide_gui.gui.shell.session_keeper import SessionKeeper
from slide_gui.gui.state.recent import RecentFiles
from slide_gui.gui.state.session import Session
from slide_gui.gui.state.workspace import Workspace

if TYPE_CHECKING:
    from slide_gui.gui.pages.classifier.page import ClassifierPage
    from slide_gui.gui.pages.curves.page import CurvesPage


class Dialogs(Protocol):
    """Dialogs and windows that commands open."""

    def show_palette(self) -> None:
        """Search commands, data sets, recent files and runs by name."""

    def show_cluster(self) -> None:
        """Choose where runs are computed."""

    def show_table(self) -> None:
        """Show the numbers of the view as a table."""

    def show_guide(self, page: str = "") -> None:
        """Open the guide at a page, or at the page read last."""

    def show_shortcuts(self) -> None:
        """List all commands with their shortcuts."""

    def show_about(self) -> None:
        """Show the program's name, version and licence."""


class Shell(Protocol):
    """The parts of the window that commands act on."""

    workspace: Workspace
    opening: Opening
    exports: ExportController
    pages: PageStack
    keeper: SessionKeeper
    session: Session
    recent: RecentFiles

    @property
    def commands(self) -> Dialogs:
        """Return the dialogs that commands open."""

    @property
    def weights_page(self) -> WeightsPage:
        """Return the Weights page, the only page that exists from the start."""

    @property
    def shows_panel(self) -> bool:
        """True if the panel is shown."""

    def show_panel(self, shown: bool) -> None:
        """Show or hide the panel."""

    @property
    def shows_notice(self) -> bool:
        """True if a notice is shown that can be dismissed."""

    def open_entry(self, key: str) -> None:
        """Open a benchmark data set."""

    def open_files(self, paths: list[Path]) -> None:
        """Open files or a folder."""

    def save_session(self) -> None:
        """Ask for a file and save the session there."""

    def set_theme(self, name: str) -> None:
        """Apply and remember a theme."""

    def step_scale(self, step: int) -> None:
        """Enlarge or shrink the window's contents from the next start."""

    @property
    def less_motion(self) -> bool:
        """True if animations are switched off."""

    def set_less_motion(self, asked: bool) -> None:
        """Switch animations off or on."""

    def stop(self) -> None:
        """Cancel all running jobs."""

    def close(self) -> bool:
        """Close the window."""


@dataclass(frozen=True)
class Command:
    """A command of the window.

    Attributes
    ----------
    text : str
        Text of the menu item and of the palette's entry.
    menu : str
        The menu that lists it, a key of `MENUS`.
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
    says : callable, optional
        Return the text with the effect it would have now.
    """

    name: str
    text: str
    menu: str
    shortcut: str
    run: Callable[[Shell], object]
    tip: str = ""
    why_not: Callable[[Shell], str] | None = None
    checked: Callable[[Shell], bool] | None = None
    says: Callable[[Shell], str] | None = None


MENUS = {"File": "File", "Edit": "Edit", "View": "View", "Help": "Help"}
"""Titles of the menus by name, in their order."""


def _page(number: int, page: PageSpec) -> Command:
    return Command(f"page_{page.name}", page.title, "View", f"Ctrl+{number}", lambda w: w.pages.turn_to(page.name))


def _view(number: int, view: ViewSpec) -> Command:
    def run(shell: Shell) -> None:
        shell.pages.turn_to("weights")
        shell.weights_page.set_view(view.name)

    return Command(f"view_{view.name}", view.title, "View", f"Alt+{number}", run, view.tip)


def _export(shell: Shell) -> None:
    page = shell.pages.shown()
    why, waits_for = page.why_nothing_to_export(), page.export_waits_for()
    shell.exports.ask(page.export_options, why, shell.keeper.picture_text, waits_for)


def _copy_table(shell: Shell) -> None:
    page = shell.pages.shown()
    shell.exports.copy_table(page.table(), page.why_nothing_to_export())


def _shuffle(shell: Shell) -> None:
    shell.pages.turn_to("weights")
    shell.weights_page.shuffle_view().start()


def _wall(shell: Shell) -> None:
    shell.pages.turn_to("weights")
    shell.weights_page.show_wall()


def _step_noise(shell: Shell, step: float) -> None:
    workspace = shell.workspace
    noise = min(max(workspace.state.parameters.noise + step, 0.0), LARGEST_NOISE)
    workspace.set_parameters(noise=round(noise, 2))


def _step_depth(shell: Shell, step: int) -> None:
    depth = shell.workspace.state.parameters.depth + step
    if 0 <= depth <= MOST_LAYERS:
        shell.workspace.set_parameters(depth=depth)


def _train(shell: Shell) -> None:
    """Open the Classifier page and click Train, which reports why training is impossible."""
    page = cast("ClassifierPage", shell.pages.page("classifier"))
    shell.pages.turn_to("classifier")
    if not shell.session.runs.training.running:
        page.train_button.click()


def _sweep(shell: Shell) -> None:
    """Open the Error curves page and click Sweep."""
    page = cast("CurvesPage", shell.pages.page("curves"))
    shell.pages.turn_to("curves")
    if not shell.session.runs.sweep.running:
        page.sweep_button.click()


def _try(shell: Shell) -> None:
    """Open the Error curves page and try SLIDE on the open data set."""
    shell.pages.turn_to("curves")
    if not shell.session.runs.trial.running:
        shell.session.runs.start_trial()


def _show_log(_shell: Shell) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))


def _not_here(shell: Shell, needs_image: bool = False) -> str:
    """Return why a command for the image on the Weights page is unavailable."""
    if shell.pages.name != "weights":
        return "Available only on the Weights page"
    dataset = shell.workspace.dataset
    if dataset is None:
        return "No data set is open"
    return "The features of these data are not pixels" if needs_image and dataset.image_shape is None else ""


def _not_cancellable(shell: Shell) -> str:
    return "" if shell.session.busy or shell.shows_notice else "No job is running"


def _not_fittable(shell: Shell) -> str:
    workspace = shell.workspace
    if workspace.dataset is None:
        return "No data set is open"
    return "The layers already match the parameters" if workspace.model() is not None else ""


def _no_layer(shell: Shell) -> str:
    workspace = shell.workspace
    if workspace.state.parameters.depth == 0:
        return "The depth is 0"
    return "" if workspace.model() is not None else "The layers are not fitted yet"


def _not_trainable(shell: Shell) -> str:
    dataset = shell.workspace.dataset
    if dataset is None:
        return "No data set is open"
    return f"{dataset.why_no_classes[:1].upper()}{dataset.why_no_classes[1:]}"


def _no_more(shell: Shell, name: str, limit: float, what: str) -> str:
    return what if getattr(shell.workspace.state.parameters, name) == limit else ""


def _transposed(shell: Shell) -> bool:
    return shell.workspace.state.selection.transposed


COMMANDS = (
    Command("open", "Open…", "File", "Ctrl+O", lambda w: w.opening.ask_for_files(), "Open files as one data set"),
    Command(
        "open_folder",
        "Open folder…",
        "File",
        "Ctrl+Shift+O",
        lambda w: w.opening.ask_for_folder(),
        "Open a folder of images sorted by class, or an exported bundle",
    ),
    Command(
        "save_session",
        "Save session…",
        "File",
        "Ctrl+S",
        lambda w: w.save_session(),
        "Save the data, parameters, pins and page choices to a file, which Open restores",
    ),
    Command("export", "Export…", "File", "Ctrl+E", _export, "Export the contents of the page"),
    Command(
        "copy_image", "Copy page as image", "File", "Ctrl+Shift+C", lambda w: w.exports.copy_image(w.pages.shown())
    ),
    Command(
        "copy_table",
        "Copy numbers as table",
        "File",
        "Ctrl+Alt+C",
        _copy_table,
        "Copy the numbers of the page as tab-separated text",
    ),
    Command("quit", "Quit", "File", "Ctrl+Q", lambda w: w.close()),
    Command(
        "undo",
        "Undo",
        "Edit",
        "Ctrl+Z",
        lambda w: w.workspace.history.undo(),
        why_not=lambda w: "" if w.workspace.history.undoText() else "There is nothing to undo",
        says=lambda w: f"Undo {w.workspace.history.undoText()}".strip(),
    ),
    Command(
        "redo",
        "Redo",
        "Edit",
        "Ctrl+Shift+Z",
        lambda w: w.workspace.history.redo(),
        why_not=lambda w: "" if w.workspace.history.canRedo() else "There is nothing to redo",
        says=lambda w: f"Redo {w.workspace.history.redoText()}".strip(),
    ),
    Command(
        "release_pins",
        "Release all pins",
        "Edit",
        "Ctrl+Shift+X",
        lambda w: w.workspace.select(pins=()),
        why_not=lambda w: "" if w.workspace.state.selection.pins else "No pixel is pinned",
    ),
    Command(
        "cancel",
        "Cancel all jobs",
        "Edit",
        "Esc",
        lambda w: w.stop(),
        "Results so far stay; if no job is running, the notice is dismissed",
        why_not=_not_cancellable,
    ),
    Command(
        "fit_again",
        "Fit the layers again",
        "Edit",
        "F5",
        lambda w: w.workspace.fitting.fit(),
        "Fit the layers again after a cancelled or failed fit",
        why_not=_not_fittable,
    ),
    Command(
        "try",
        "Try on my data",
        "Edit",
        "Ctrl+Shift+T",
        _try,
        "Run a quick sweep of about a minute, summarise it in one sentence and open the Error curves page",
    ),
    Command(
        "train",
        "Train the classifier",
        "Edit",
        "Ctrl+Return",
        _train,
        "Train on the open data set with the current parameters and open the Classifier page",
        why_not=_not_trainable,
    ),
    Command(
        "sweep",
        "Sweep noise and depth",
        "Edit",
        "Ctrl+Shift+Return",
        _sweep,
        "Compute the error at every noise level and depth and open the Error curves page",
        why_not=_not_trainable,
    ),
    Command(
        "cluster",
        "Where runs are made…",
        "Edit",
        "Ctrl+Alt+R",
        lambda w: w.commands.show_cluster(),
        "Choose this window, worker processes on this computer, or a Dask scheduler",
    ),
    *(_page(number, page) for number, page in enumerate(PAGES, 1)),
    *(_view(number, view) for number, view in enumerate(VIEWS, 1)),
    Command(
        "show_table",
        "Show as table",
        "View",
        "F9",
        lambda w: w.commands.show_table(),
        "Show the numbers of the page as a table for screen readers, keyboard navigation and copying",
    ),
    Command(
        "corrupt",
        "Corrupt or restore the image",
        "View",
        "Ctrl+K",
        lambda w: w.weights_page.flow_part().toggle_corruption(),
        why_not=_not_here,
    ),
    Command(
        "corrupt_again",
        "New corruption",
        "View",
        "Ctrl+Shift+K",
        lambda w: w.weights_page.flow_part().corrupt_again(),
        "Set other pixels of the image in the flow to 0",
        why_not=_not_here,
    ),
    Command(
        "reset_drawing",
        "Reset the drawn image",
        "View",
        "Ctrl+R",
        lambda w: w.weights_page.flow_part().reset(),
        "Show the image as it is in the data set",
        why_not=lambda w: _not_here(w, needs_image=True),
    ),
    Command(
        "run_copies",
        "Start, pause or resume the copies",
        "View",
        "Ctrl+Shift+M",
        lambda w: w.weights_page.copies_part().toggle(),
        why_not=_not_here,
    ),
    Command(
        "next_sample",
        "Next image",
        "View",
        "Ctrl+Right",
        lambda w: w.weights_page.shown.next(),
        why_not=_not_here,
    ),
    Command(
        "previous_sample",
        "Previous image",
        "View",
        "Ctrl+Left",
        lambda w: w.weights_page.shown.previous(),
        why_not=_not_here,
    ),
    Command(
        "mean_image",
        "Mean image",
        "View",
        "Ctrl+M",
        lambda w: w.weights_page.shown.toggle_mean(),
        "Switch between the mean of the training images and the current image",
        why_not=_not_here,
    ),
    Command(
        "wall",
        "Wall of layers",
        "View",
        "F11",
        _wall,
        "Show all rows of all layers on the full screen, changing with the noise level",
        why_not=_no_layer,
    ),
    Command(
        "shuffle",
        "Shuffle pixels",
        "View",
        "Ctrl+J",
        _shuffle,
        "Fit the layers to shuffled pixels and compare W",
        why_not=lambda w: (
            "" if w.workspace.model() and w.workspace.state.parameters.depth else "No layer is fitted yet"
        ),
    ),
    Command(
        "more_noise",
        "More noise",
        "View",
        "Ctrl+Up",
        lambda w: _step_noise(w, 0.05),
        why_not=lambda w: _no_more(w, "noise", LARGEST_NOISE, f"The noise level is at its maximum, {LARGEST_NOISE:g}"),
    ),
    Command(
        "less_noise",
        "Less noise",
        "View",
        "Ctrl+Down",
        lambda w: _step_noise(w, -0.05),
        why_not=lambda w: _no_more(w, "noise", 0.0, "The noise level is already 0"),
    ),
    Command(
        "deeper",
        "Add a layer",
        "View",
        "Ctrl+PgUp",
        lambda w: _step_depth(w, 1),
        why_not=lambda w: _no_more(w, "depth", MOST_LAYERS, f"The depth is at its maximum, {MOST_LAYERS}"),
    ),
    Command(
        "shallower",
        "Remove a layer",
        "View",
        "Ctrl+PgDown",
        lambda w: _step_depth(w, -1),
        why_not=lambda w: _no_more(w, "depth", 0, "The depth is already 0"),
    ),
    Command(
        "transpose",
        "Swap rows and columns of images",
        "View",
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
        "View",
        "Ctrl+B",
        lambda w: w.show_panel(not w.shows_panel),
        "Show or hide the panel of parameters",
        checked=lambda w: w.shows_panel,
        why_not=lambda w: "" if w.pages.shown().needs() else "This page has no parameters",
    ),
    Command("theme_system", "Theme: system", "View", "Ctrl+Alt+0", lambda w: w.set_theme("system")),
    Command("theme_light", "Theme: light", "View", "Ctrl+Alt+1", lambda w: w.set_theme("light")),
    Command("theme_dark", "Theme: dark", "View", "Ctrl+Alt+2", lambda w: w.set_theme("dark")),
    Command(
        "larger",
        "Larger",
        "View",
        "Ctrl+Alt+PgUp",
        lambda w: w.step_scale(1),
        "Enlarge text, images and controls up to twofold from the next start",
    ),
    Command(
        "smaller",
        "Smaller",
        "View",
        "Ctrl+Alt+PgDown",
        lambda w: w.step_scale(-1),
        "Shrink text, images and controls, at least to normal size, from the next start",
    ),
    Command(
        "less_motion",
        "Less motion",
        "View",
        "Ctrl+Alt+M",
        lambda w: w.set_less_motion(not w.less_motion),
        "Switch off all animations",
        checked=lambda w: w.less_motion,
    ),
    Command(
        "guide",
        "Guide",
        "Help",
        "F1",
        lambda w: w.commands.show_guide(),
        "Open the guide, which starts with a tour in five steps",
    ),
    Command(
        "palette",
        "Command palette…",
        "Help",
        "Ctrl+Shift+P",
        lambda w: w.commands.show_palette(),
        "Search commands, data sets, recent files and runs by name",
    ),
    Command(
        "shortcuts",
        "Keyboard shortcuts",
        "Help",
        "?",
        lambda w: w.commands.show_shortcuts(),
        "List all commands with their shortcuts",
    ),
    Command(
        "licences",
        "Licences",
        "Help",
        "Ctrl+Shift+F1",
        lambda w: w.commands.show_guide("licences.md"),
        "List the program's components and their licences",
    ),
    Command("show_log", "Show the log folder", "Help", "Ctrl+Shift+L", _show_log),
    Command("about", "About slide-gui", "Help", "Shift+F1", lambda w: w.commands.show_about()),
)
"""All commands, in the order of the menus."""
