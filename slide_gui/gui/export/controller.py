"""Exports and copies what the page shows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.data.files import check_outputs
from slide_gui.gui.export.option import ANIMATION, ExportOption
from slide_gui.gui.state.jobs import Lane, Problem, sentence
from slide_gui.progress import Progress
from slide_gui.text import spreadsheet_text

if TYPE_CHECKING:
    from slide_gui.gui.export.dialog import ExportDialog, ExportRequest

__all__ = ["ExportController", "shows_folders"]

_WITHOUT_DESKTOP = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")  # platforms of Qt


def shows_folders() -> bool:
    """Whether there is a desktop that can show a folder."""
    if QGuiApplication.platformName() in _WITHOUT_DESKTOP:
        return False
    return not sys.platform.startswith("linux") or shutil.which("xdg-open") is not None


class ExportController(QObject):
    """The dialog, the writing in the lane, and how it ended.

    Parameters
    ----------
    inputs : callable
        Returns what is open when an export is requested: a function, called in the lane, that returns the files that no
        export may replace.

    Signals
    -------
    written(object)
        Path of what was exported.
    problem(object)
        A `Problem`: there is nothing to export, or it could not be written.
    waits(str)
        What an export that was asked for waits for; empty once it does no longer.
    """

    written = Signal(object)
    problem = Signal(object)
    waits = Signal(str)

    def __init__(
        self,
        lane: Lane,
        settings: QSettings,
        parent: QWidget,
        inputs: Callable[[], Callable[[], Sequence[Path]]] = lambda: list,
    ) -> None:
        super().__init__(parent)
        self._inputs = inputs
        self._lane, self._settings, self._parent = lane, settings, parent
        self._dialog: ExportDialog | None = None
        self._session = ""
        self._waiting: tuple[Callable[[], Sequence[ExportOption]], Callable[[], str]] | None = None

    def ask(
        self,
        options: Callable[[], Sequence[ExportOption]],
        why_nothing: str,
        session: Callable[[], str],
        waits_for: str = "",
    ) -> None:
        """Ask which of the options to write where, and write it; without any, say why there is nothing, or wait.

        Parameters
        ----------
        options : callable
            What can be exported now.
        why_nothing : str
            A sentence, where there is nothing.
        session : callable
            What a picture holds, as `slide_gui.experiments.session.picture_text` gives it.
        waits_for : str
            What has to be so first, e.g. "the layers are fitted": the dialog opens once it is.
        """
        offered = options()
        if offered:
            self._open(offered, session())
        elif waits_for:
            self._waiting = options, session
            self.waits.emit(waits_for)
        else:
            self.problem.emit(Problem("Nothing to export yet", why_nothing))

    @Slot()
    def go_on(self) -> None:
        """Open the dialog that waits, if there is something to export by now."""
        if self._waiting is None:
            return
        options, session = self._waiting
        offered = options()
        if offered:
            self.give_up()
            self._open(offered, session())

    @Slot()
    def give_up(self) -> None:
        """Wait no longer: another page is shown, or a person does not want it any more."""
        if self._waiting is not None:
            self._waiting = None
            self.waits.emit("")

    def _open(self, options: Sequence[ExportOption], session: str) -> None:
        from slide_gui.gui.export.dialog import ExportDialog

        if self._dialog is None:
            self._dialog = ExportDialog(self._lane, self._settings, self._parent)
            self._dialog.requested.connect(self._write)
        self._session = session
        self._dialog.ask(options)

    def show_in_folder(self, path: Path) -> None:
        """Show the folder of a file, or what a folder holds, in the system's file manager."""
        folder = path if path.is_dir() else path.parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.problem.emit(Problem("The folder could not be shown", f"No program opened it: {folder}"))

    def copy_image(self, shown: QWidget) -> None:
        """Put a picture of a widget on the clipboard."""
        QApplication.clipboard().setPixmap(shown.grab())

    def copy_table(self, text: str, why_nothing: str) -> None:
        """Put numbers on the clipboard; without any, say why there is nothing."""
        if text:
            QApplication.clipboard().setText(spreadsheet_text(text))
        else:
            self.problem.emit(Problem("Nothing to copy yet", why_nothing))

    @Slot(object)
    def _write(self, request: ExportRequest) -> None:
        session, inputs = self._session, self._inputs()

        def work(progress: Progress) -> Path:
            check_outputs([request.path], inputs())
            return request.write(session, progress)

        self._lane.submit(
            "Making the animation" if request.kind in ANIMATION else "Writing the export",
            work,
            channel="export",
            on_result=self.written.emit,
            on_failure=self._not_written,
        )

    @Slot(object)
    def _not_written(self, error: Exception) -> None:
        said = sentence(error)
        said = f"{said} Choose another place." if isinstance(error, OSError) else said
        self.problem.emit(Problem("The export could not be written", said))
