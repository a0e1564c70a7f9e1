"""Every command of the window in one table: menus, buttons, shortcuts, palette and the list of shortcuts follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.export.controller import ExportController
from slide_gui.gui.faults import log_folder
from slide_gui.gui.opening import Opening
from slide_gui.gui.pages.stack import PAGES, PageSpec, PageStack
from slide_gui.gui.pages.weights.page import VIEWS, WeightsPage
from slide_gui.gui.pages.weights.view import ViewSpec
from slide_gui.gui.session_keeper import SessionKeeper
from slide_gui.gui.state.history import Step
from slide_gui.gui.state.recent import RecentFiles
from slide_gui.gui.state.session import Session
from slide_gui.gui.state.workspace import Workspace

if TYPE_CHECKING:
    from slide_gui.gui.pages.classifier import ClassifierPage
    from slide_gui.gui.pages.curves import CurvesPage

__all__ = ["COMMANDS", "MENUS", "Command", "Dialogs", "Shell"]


class Dialogs(Protocol):
    """What a command may open beside the pages."""

    def show_palette(self) -> None:
        """Find a command, a data set, a file opened before or a run by its name."""

    def show_cluster(self) -> None:
        """Ask where runs are made."""

    def show_table(self) -> None:
        """Show the numbers of the view as a table."""

    def show_guide(self, page: str = "") -> None:
        """Open the guide, at one of its pages or where it was."""

    def show_shortcuts(self) -> None:
        """List every command with its keys."""

    def show_about(self) -> None:
        """Say what this is."""


class Shell(Protocol):
    """What a command may act on: the parts of a window."""

    workspace: Workspace
    opening: Opening
    exports: ExportController
    pages: PageStack
    keeper: SessionKeeper
    session: Session
    recent: RecentFiles

    @property
    def commands(self) -> Dialogs:
        """What may be opened beside the pages."""

    @property
    def weights_page(self) -> WeightsPage:
        """The page that is there from the start."""

    @property
    def shows_panel(self) -> bool:
        """Whether the panel is not folded."""

    def show_panel(self, shown: bool) -> None:
        """Unfold or fold it."""

    @property
    def shows_notice(self) -> bool:
        """Whether there is a notice that can be dismissed."""

    def open_entry(self, key: str) -> None:
        """Open a benchmark data set."""

    def open_files(self, paths: list[Path]) -> None:
        """Open files or a folder."""

    def save_session(self) -> None:
        """Ask where to, and save what is shown."""

    def set_theme(self, name: str) -> None:
        """Apply and remember a theme."""

    def step_scale(self, step: int) -> None:
        """Let everything be larger or smaller from the next start on."""

    @property
    def less_motion(self) -> bool:
        """Whether nothing is to move."""

    def set_less_motion(self, asked: bool) -> None:
        """Let nothing move, or let it move again."""

    def stop(self) -> None:
        """Stop what runs."""

    def close(self) -> bool:
        """Close the window."""


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes
    ----------
    text : str
        As in the menu and the palette.
    menu : str
        The menu it stands in, of `MENUS`.
    shortcut : str
        In Qt's portable notation.
    run : callable
        What it does.
    tip : str
        What the text does not say.
    why_not : callable, optional
        Why it cannot be run now, as its tooltip says then; empty where it can.
    checked : callable, optional
        Whether what it switches is on, which makes it one that can be ticked.
    says : callable, optional
        The text with what it would do now.
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
"""The menus in their order: name → title."""


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
    """Turn to the Classifier and train, as its button does; it says why where it cannot."""
    page = cast("ClassifierPage", shell.pages.page("classifier"))
    shell.pages.turn_to("classifier")
    if not shell.session.runs.training.running:
        page.train_button.click()


def _sweep(shell: Shell) -> None:
    """Turn to the Error curves and start a sweep, as their button does."""
    page = cast("CurvesPage", shell.pages.page("curves"))
    shell.pages.turn_to("curves")
    if not shell.session.runs.sweep.running:
        page.sweep_button.click()


def _try(shell: Shell) -> None:
    """Turn to the Error curves and try SLIDE on the data that are open."""
    shell.pages.turn_to("curves")
    if not shell.session.runs.trial.running:
        shell.session.runs.start_trial()


def _show_log(_shell: Shell) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))


def _undo(step: Step | None) -> str:
    return "Undo" if step is None else f"Undo {step.text}"


def _redo(step: Step | None) -> str:
    return "Redo" if step is None else f"Redo {step.text}"


def _not_here(shell: Shell, needs_image: bool = False) -> str:
    """Return why a command about the image that the Weights page shows cannot be run."""
    if shell.pages.name != "weights":
        return "Only on the Weights page"
    dataset = shell.workspace.dataset
    if dataset is None:
        return "No data are open yet"
    return "Plain features have no picture" if needs_image and dataset.image_shape is None else ""


def _not_cancellable(shell: Shell) -> str:
    return "" if shell.session.busy or shell.shows_notice else "Nothing is running"


def _not_fittable(shell: Shell) -> str:
    workspace = shell.workspace
    if workspace.dataset is None:
        return "No data are open yet"
    return "The layers are those of the parameters set" if workspace.model() is not None else ""


def _no_layer(shell: Shell) -> str:
    workspace = shell.workspace
    if workspace.state.parameters.depth == 0:
        return "There is no layer"
    return "" if workspace.model() is not None else "The layers are not fitted yet"


def _not_trainable(shell: Shell) -> str:
    dataset = shell.workspace.dataset
    if dataset is None:
        return "No data are open yet"
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
        "Open images by class, or an exported bundle",
    ),
    Command(
        "save_session",
        "Save session…",
        "File",
        "Ctrl+S",
        lambda w: w.save_session(),
        "Data, parameters, pins, page and choices in a file; Open brings them back, also from an exported picture",
    ),
    Command("export", "Export…", "File", "Ctrl+E", _export, "Write what the page shows"),
    Command(
        "copy_image", "Copy page as image", "File", "Ctrl+Shift+C", lambda w: w.exports.copy_image(w.pages.shown())
    ),
    Command(
        "copy_table",
        "Copy numbers as table",
        "File",
        "Ctrl+Alt+C",
        _copy_table,
        "The numbers of the page, tab-separated",
    ),
    Command("quit", "Quit", "File", "Ctrl+Q", lambda w: w.close()),
    Command(
        "undo",
        "Undo",
        "Edit",
        "Ctrl+Z",
        lambda w: w.workspace.history.undo(),
        why_not=lambda w: "" if w.workspace.history.last else "Nothing was changed yet",
        says=lambda w: _undo(w.workspace.history.last),
    ),
    Command(
        "redo",
        "Redo",
        "Edit",
        "Ctrl+Shift+Z",
        lambda w: w.workspace.history.redo(),
        why_not=lambda w: "" if w.workspace.history.next else "Nothing was taken back",
        says=lambda w: _redo(w.workspace.history.next),
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
        "What is shown stays; where nothing runs, the notice is dismissed",
        why_not=_not_cancellable,
    ),
    Command(
        "fit_again",
        "Fit the layers again",
        "Edit",
        "F5",
        lambda w: w.workspace.fit_again(),
        "Where that was cancelled or failed",
        why_not=_not_fittable,
    ),
    Command(
        "try",
        "Try on my data",
        "Edit",
        "Ctrl+Shift+T",
        _try,
        "A quick sweep of about a minute, and one sentence on what came out; opens the Error curves",
    ),
    Command(
        "train",
        "Train the classifier",
        "Edit",
        "Ctrl+Return",
        _train,
        "On the data that are open, with the parameters set; opens the Classifier page",
        why_not=_not_trainable,
    ),
    Command(
        "sweep",
        "Sweep noise and depth",
        "Edit",
        "Ctrl+Shift+Return",
        _sweep,
        "The error at every noise and depth; opens the Error curves",
        why_not=_not_trainable,
    ),
    Command(
        "cluster",
        "Where runs are made…",
        "Edit",
        "Ctrl+Alt+R",
        lambda w: w.commands.show_cluster(),
        "In this window, by workers of this computer, or by a Dask scheduler",
    ),
    *(_page(number, page) for number, page in enumerate(PAGES, 1)),
    *(_view(number, view) for number, view in enumerate(VIEWS, 1)),
    Command(
        "show_table",
        "Show as table",
        "View",
        "F9",
        lambda w: w.commands.show_table(),
        "The numbers of the page in rows and columns with names, to be read aloud, walked by keys and copied",
    ),
    Command(
        "corrupt",
        "Corrupt the image of the flow, or not",
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
        "Blank other pixels of the image of the flow",
        why_not=_not_here,
    ),
    Command(
        "reset_drawing",
        "Reset the drawn image",
        "View",
        "Ctrl+R",
        lambda w: w.weights_page.flow_part().reset(),
        "Show the image as it is in the data",
        why_not=lambda w: _not_here(w, needs_image=True),
    ),
    Command(
        "run_copies",
        "Start the copies, stop them, or go on",
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
        "The mean of the training images, or the image again",
        why_not=_not_here,
    ),
    Command(
        "wall",
        "Wall of layers",
        "View",
        "F11",
        _wall,
        "All rows of all layers on the whole screen, morphing with the noise; Escape leaves",
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
        why_not=lambda w: _no_more(w, "noise", LARGEST_NOISE, f"There is no more than {LARGEST_NOISE:g}"),
    ),
    Command(
        "less_noise",
        "Less noise",
        "View",
        "Ctrl+Down",
        lambda w: _step_noise(w, -0.05),
        why_not=lambda w: _no_more(w, "noise", 0.0, "There is none"),
    ),
    Command(
        "deeper",
        "One layer more",
        "View",
        "Ctrl+PgUp",
        lambda w: _step_depth(w, 1),
        why_not=lambda w: _no_more(w, "depth", MOST_LAYERS, f"There are no more than {MOST_LAYERS}"),
    ),
    Command(
        "shallower",
        "One layer less",
        "View",
        "Ctrl+PgDown",
        lambda w: _step_depth(w, -1),
        why_not=lambda w: _no_more(w, "depth", 0, "There is no layer"),
    ),
    Command(
        "transpose",
        "Exchange rows and columns of images",
        "View",
        "Ctrl+T",
        lambda w: w.workspace.select(transposed=not _transposed(w)),
        checked=_transposed,
        why_not=lambda w: (
            "The data are no images" if w.workspace.dataset is not None and not w.workspace.dataset.image_shape else ""
        ),
    ),
    Command(
        "panel",
        "Panel of parameters",
        "View",
        "Ctrl+B",
        lambda w: w.show_panel(not w.shows_panel),
        "Show it, or fold it away",
        checked=lambda w: w.shows_panel,
        why_not=lambda w: "" if w.pages.shown().needs() else "This page has no parameters",
    ),
    Command("theme_system", "Theme: as the system", "View", "Ctrl+Alt+0", lambda w: w.set_theme("system")),
    Command("theme_light", "Theme: light", "View", "Ctrl+Alt+1", lambda w: w.set_theme("light")),
    Command("theme_dark", "Theme: dark", "View", "Ctrl+Alt+2", lambda w: w.set_theme("dark")),
    Command(
        "larger",
        "Everything larger",
        "View",
        "Ctrl+Alt+PgUp",
        lambda w: w.step_scale(1),
        "Text, images and controls, up to twice as large, from the next start on",
    ),
    Command(
        "smaller",
        "Everything smaller",
        "View",
        "Ctrl+Alt+PgDown",
        lambda w: w.step_scale(-1),
        "Text, images and controls, down to the usual, from the next start on",
    ),
    Command(
        "less_motion",
        "Less motion",
        "View",
        "Ctrl+Alt+M",
        lambda w: w.set_less_motion(not w.less_motion),
        "Show changes at once, without animation",
        checked=lambda w: w.less_motion,
    ),
    Command(
        "guide",
        "Guide",
        "Help",
        "F1",
        lambda w: w.commands.show_guide(),
        "All it does, in five steps and in full",
    ),
    Command(
        "palette",
        "Command palette…",
        "Help",
        "Ctrl+Shift+P",
        lambda w: w.commands.show_palette(),
        "Find a command, a data set, a file opened before or a run by its name",
    ),
    Command(
        "shortcuts",
        "Keyboard shortcuts",
        "Help",
        "?",
        lambda w: w.commands.show_shortcuts(),
        "Every command with its keys",
    ),
    Command(
        "licences",
        "Licences",
        "Help",
        "Ctrl+Shift+F1",
        lambda w: w.commands.show_guide("licences.md"),
        "What the program is made of, and under which licences",
    ),
    Command("show_log", "Show the log folder", "Help", "Ctrl+Shift+L", _show_log),
    Command("about", "About slide-gui", "Help", "Shift+F1", lambda w: w.commands.show_about()),
)
"""In the order of the menus."""
