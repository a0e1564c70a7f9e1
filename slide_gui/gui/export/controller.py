"""Exports and copies what the page shows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.gui.export.option import ANIMATION, ExportOption
from slide_gui.gui.state.jobs import Lane, Problem, sentence

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

    Signals
    -------
    written(object)
        Path of what was exported.
    problem(object)
        A `Problem`: there is nothing to export, or it could not be written.
    """

    written = Signal(object)
    problem = Signal(object)

    def __init__(self, lane: Lane, settings: QSettings, parent: QWidget) -> None:
        super().__init__(parent)
        self._lane, self._settings, self._parent = lane, settings, parent
        self._dialog: ExportDialog | None = None
        self._session = ""

    def ask(self, options: Sequence[ExportOption], why_nothing: str, session: str) -> None:
        """Ask which of the options to write where, and write it; without any, say why there is nothing.

        A picture holds the session, as `slide_gui.experiments.session.picture_text` gives it.
        """
        if not options:
            self.problem.emit(Problem("Nothing to export yet", why_nothing))
            return
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
            QApplication.clipboard().setText(text)
        else:
            self.problem.emit(Problem("Nothing to copy yet", why_nothing))

    @Slot(object)
    def _write(self, request: ExportRequest) -> None:
        session = self._session
        self._lane.submit(
            "Making the animation" if request.kind in ANIMATION else "Writing the export",
            lambda progress: request.write(session, progress),
            channel="export",
            on_result=self.written.emit,
            on_failure=self._not_written,
        )

    @Slot(object)
    def _not_written(self, error: Exception) -> None:
        remedy = " Choose another place." if isinstance(error, OSError) else ""
        self.problem.emit(Problem("The export could not be written", sentence(error) + remedy))
