"""What each command of the actions table does to the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from slide_gui import __version__
from slide_gui.core.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.gui.faults import log_folder
from slide_gui.gui.pages.weights import ALL_ROWS, COPIES, EXPLAIN, FLOW, PINNED
from slide_gui.gui.palette import CommandPalette

if TYPE_CHECKING:
    from slide_gui.gui.main_window import MainWindow

__all__ = ["Commands"]


class Commands(QObject):
    """The slots: ``do_<name>`` for every name in `slide_gui.gui.actions.ACTIONS`."""

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
    def do_page_benchmark(self) -> None:
        """Show the Benchmark page."""
        self._window.pages.turn_to("benchmark")

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
