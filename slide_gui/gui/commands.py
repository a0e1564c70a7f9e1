"""Every command of the window in one table, text, shortcut and icon, and what each does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices, QKeySequence
from PySide6.QtWidgets import QMessageBox, QWidget

from slide_gui import __version__
from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.faults import log_folder
from slide_gui.gui.pages.weights.page import ALL_ROWS, COPIES, EXPLAIN, FLOW, PINNED
from slide_gui.gui.palette import CommandPalette

if TYPE_CHECKING:
    from slide_gui.gui.main_window import MainWindow

__all__ = ["ACTIONS", "Commands", "make_actions"]


@dataclass(frozen=True)
class ActionSpec:
    """One command.

    Attributes
    ----------
    name : str
        The window's method that it calls is ``do_<name>``.
    text : str
        As in the menu.
    group : str
        The menu it stands in.
    shortcut : str
        In Qt's portable notation.
    icon : str
        A name under ``resources/icons``.
    checkable : bool
    """

    name: str
    text: str
    group: str
    shortcut: str
    icon: str = ""
    checkable: bool = False


ACTIONS = (
    ActionSpec("open", "Open…", "File", "Ctrl+O", "open"),
    ActionSpec("open_folder", "Open folder of images…", "File", "Ctrl+Shift+O"),
    ActionSpec("export", "Export…", "File", "Ctrl+E", "export"),
    ActionSpec("copy_image", "Copy page as image", "File", "Ctrl+Shift+C"),
    ActionSpec("copy_table", "Copy numbers as table", "File", "Ctrl+Alt+C"),
    ActionSpec("quit", "Quit", "File", "Ctrl+Q"),
    ActionSpec("undo", "Undo", "Edit", "Ctrl+Z", "undo"),
    ActionSpec("redo", "Redo", "Edit", "Ctrl+Shift+Z", "redo"),
    ActionSpec("release_pins", "Release all pins", "Edit", "Ctrl+Shift+X"),
    ActionSpec("cancel", "Cancel what is running", "Edit", "Esc", "cancel"),
    ActionSpec("fit_again", "Fit the layers again", "Edit", "F5"),
    ActionSpec("page_weights", "Weights", "View", "Ctrl+1", "weights"),
    ActionSpec("page_curves", "Error curves", "View", "Ctrl+2", "curves"),
    ActionSpec("page_classifier", "Classifier", "View", "Ctrl+3", "classifier"),
    ActionSpec("page_evaluation", "Benchmark", "View", "Ctrl+4", "evaluation"),
    ActionSpec("page_runs", "Runs", "View", "Ctrl+5", "runs"),
    ActionSpec("view_pinned", "Pinned pixels", "View", "Alt+1"),
    ActionSpec("view_all", "All rows of a layer", "View", "Alt+2"),
    ActionSpec("view_flow", "Flow of one image", "View", "Alt+3"),
    ActionSpec("view_copies", "Corrupted copies", "View", "Alt+4"),
    ActionSpec("view_explain", "Explain one weight", "View", "Alt+5"),
    ActionSpec("corrupt", "Corrupt the image of the flow, or not", "View", "Ctrl+K"),
    ActionSpec("corrupt_again", "New corruption", "View", "Ctrl+Shift+K"),
    ActionSpec("reset_drawing", "Reset the drawn image", "View", "Ctrl+R"),
    ActionSpec("run_copies", "Stop the copies, or go on", "View", "Ctrl+Shift+M"),
    ActionSpec("next_sample", "Next image", "View", "Ctrl+Right", "next"),
    ActionSpec("previous_sample", "Previous image", "View", "Ctrl+Left", "previous"),
    ActionSpec("mean_image", "Mean image", "View", "Ctrl+M"),
    ActionSpec("more_noise", "More noise", "View", "Ctrl+Up"),
    ActionSpec("less_noise", "Less noise", "View", "Ctrl+Down"),
    ActionSpec("deeper", "One layer more", "View", "Ctrl+PgUp"),
    ActionSpec("shallower", "One layer less", "View", "Ctrl+PgDown"),
    ActionSpec("transpose", "Exchange rows and columns of images", "View", "Ctrl+T", checkable=True),
    ActionSpec("theme_system", "Theme: as the system", "View", "Ctrl+Alt+0"),
    ActionSpec("theme_light", "Theme: light", "View", "Ctrl+Alt+1"),
    ActionSpec("theme_dark", "Theme: dark", "View", "Ctrl+Alt+2"),
    ActionSpec("developer", "Developer mode", "View", "Ctrl+Shift+D", checkable=True),
    ActionSpec("palette", "Command palette…", "Help", "Ctrl+Shift+P"),
    ActionSpec("show_log", "Show the log folder", "Help", "Ctrl+Shift+L"),
    ActionSpec("about", "About slide-gui", "Help", "F1"),
)


def make_actions(window: QWidget, handler: Callable[[str], Callable[..., None]]) -> dict[str, QAction]:
    """Return a QAction for every command, added to the window so that its shortcut works everywhere.

    Parameters
    ----------
    window : QWidget
        Parent of the actions.
    handler : callable
        Gives the slot for a command's name.
    """
    made = {}
    for spec in ACTIONS:
        action = QAction(spec.text, window)
        action.setObjectName(spec.name)
        action.setShortcut(QKeySequence(spec.shortcut))
        action.setCheckable(spec.checkable)
        action.setToolTip(
            f"{spec.text.rstrip('…')} ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})"
        )
        action.triggered.connect(handler(spec.name))
        window.addAction(action)
        made[spec.name] = action
    return made


class Commands(QObject):
    """The slots: ``do_<name>`` for every name in `slide_gui.gui.commands.ACTIONS`."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._palette: CommandPalette | None = None
        self._about: QMessageBox | None = None

    def slot(self, name: str) -> Callable[..., None]:
        """Return the slot of a command."""
        method: Callable[..., None] = getattr(self, f"do_{name}")
        return method

    # File -------------------------------------------------------------------------------------------------------

    @Slot()
    def do_open(self) -> None:
        """Ask for files and open them."""
        self._window.opening.ask_for_files()

    @Slot()
    def do_open_folder(self) -> None:
        """Ask for a folder and open it."""
        self._window.opening.ask_for_folder()

    @Slot()
    def do_export(self) -> None:
        """Ask how and where, and write what the page shows."""
        self._window.exporting.ask(self._window.pages.shown())

    @Slot()
    def do_copy_image(self) -> None:
        """Put a picture of the page on the clipboard."""
        self._window.exporting.copy_image(self._window.pages.shown())

    @Slot()
    def do_copy_table(self) -> None:
        """Put the numbers of the page on the clipboard, tab-separated."""
        self._window.exporting.copy_table(self._window.pages.shown())

    @Slot()
    def do_quit(self) -> None:
        """Close the window."""
        self._window.close()

    # Edit -------------------------------------------------------------------------------------------------------

    @Slot()
    def do_undo(self) -> None:
        """Take the last change back."""
        self._window.workspace.undo()

    @Slot()
    def do_redo(self) -> None:
        """Make the change that was taken back again."""
        self._window.workspace.redo()

    @Slot()
    def do_release_pins(self) -> None:
        """Release every pin."""
        self._window.workspace.select(pins=())

    @Slot()
    def do_cancel(self) -> None:
        """Stop what runs; what is shown stays. Where nothing runs, dismiss the notice."""
        self._window.stop()

    @Slot()
    def do_fit_again(self) -> None:
        """Fit where that was cancelled or failed."""
        self._window.workspace.fit_again()

    # Pages and views --------------------------------------------------------------------------------------------

    @Slot()
    def do_page_weights(self) -> None:
        """Show the Weights page."""
        self._window.pages.turn_to("weights")

    @Slot()
    def do_page_curves(self) -> None:
        """Show the Error curves page."""
        self._window.pages.turn_to("curves")

    @Slot()
    def do_page_classifier(self) -> None:
        """Show the Classifier page."""
        self._window.pages.turn_to("classifier")

    @Slot()
    def do_page_evaluation(self) -> None:
        """Show the Benchmark page."""
        self._window.pages.turn_to("evaluation")

    @Slot()
    def do_page_runs(self) -> None:
        """Show the Runs page."""
        self._window.pages.turn_to("runs")

    @Slot()
    def do_view_pinned(self) -> None:
        """Show the pinned rows."""
        self._window.weights_page.set_view(PINNED)

    @Slot()
    def do_view_all(self) -> None:
        """Show all rows of a layer."""
        self._window.weights_page.set_view(ALL_ROWS)

    @Slot()
    def do_view_flow(self) -> None:
        """Show one image on its way through the layers."""
        self._window.weights_page.set_view(FLOW)

    @Slot()
    def do_view_copies(self) -> None:
        """Show corrupted copies against their limit."""
        self._window.weights_page.set_view(COPIES)

    @Slot()
    def do_view_explain(self) -> None:
        """Show the numbers behind one weight."""
        self._window.weights_page.set_view(EXPLAIN)

    @Slot()
    def do_corrupt(self) -> None:
        """Corrupt the image of the flow, or send it as it is."""
        self._window.weights_page.flow_part().toggle_corruption()

    @Slot()
    def do_corrupt_again(self) -> None:
        """Blank other pixels."""
        self._window.weights_page.flow_part().corrupt_again()

    @Slot()
    def do_reset_drawing(self) -> None:
        """Show the image as it is in the data."""
        self._window.weights_page.flow_part().reset()

    @Slot()
    def do_run_copies(self) -> None:
        """Stop corrupting copies, or go on."""
        self._window.weights_page.copies_part().toggle()

    @Slot()
    def do_next_sample(self) -> None:
        """Show the next image."""
        self._window.weights_page.next_sample()

    @Slot()
    def do_previous_sample(self) -> None:
        """Show the image before."""
        self._window.weights_page.previous_sample()

    @Slot()
    def do_mean_image(self) -> None:
        """Show the mean image, or the sample again."""
        self._window.weights_page.toggle_mean()

    # Parameters and looks ---------------------------------------------------------------------------------------

    @Slot()
    def do_more_noise(self) -> None:
        """Raise the noise by 0.05."""
        self._step_noise(0.05)

    @Slot()
    def do_less_noise(self) -> None:
        """Lower the noise by 0.05."""
        self._step_noise(-0.05)

    def _step_noise(self, step: float) -> None:
        workspace = self._window.workspace
        noise = min(max(workspace.state.parameters.noise + step, 0.0), LARGEST_NOISE)
        workspace.set_parameters(noise=round(noise, 2))

    @Slot()
    def do_deeper(self) -> None:
        """Add a layer."""
        self._step_depth(1)

    @Slot()
    def do_shallower(self) -> None:
        """Take a layer away."""
        self._step_depth(-1)

    def _step_depth(self, step: int) -> None:
        depth = self._window.workspace.state.parameters.depth + step
        if 0 <= depth <= MOST_LAYERS:
            self._window.workspace.set_parameters(depth=depth)

    @Slot()
    def do_transpose(self) -> None:
        """Exchange rows and columns of every image shown."""
        self._window.workspace.select(transposed=self._window.actions_by_name["transpose"].isChecked())

    @Slot()
    def do_theme_system(self) -> None:
        """Follow the system."""
        self._window.set_theme("system")

    @Slot()
    def do_theme_light(self) -> None:
        """Dark on light."""
        self._window.set_theme("light")

    @Slot()
    def do_theme_dark(self) -> None:
        """Light on dark."""
        self._window.set_theme("dark")

    @Slot()
    def do_developer(self) -> None:
        """Show how late the event loop is, in the status bar."""
        self._window.show_lateness(self._window.actions_by_name["developer"].isChecked())

    # Help -------------------------------------------------------------------------------------------------------

    @Slot()
    def do_palette(self) -> None:
        """Find a command by its name."""
        if self._palette is None:
            self._palette = CommandPalette(self._window.actions_by_name.values(), self._window)
        self._palette.ask()

    @Slot()
    def do_show_log(self) -> None:
        """Open the folder of the log."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder())))

    @Slot()
    def do_about(self) -> None:
        """Say what this is."""
        if self._about is None:
            self._about = QMessageBox(self._window)
            self._about.setWindowTitle("About slide-gui")
            self._about.setText(f"slide-gui {__version__}")
            self._about.setInformativeText(
                "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature Learning with Stacked "
                "Linear Denoisers”.\n\nMIT licence. No network is used unless you ask for a download."
            )
        self._about.open()
