"""The controller that exports and copies the contents of a page."""

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
from slide_gui.gui.dialogs.export.option import ANIMATION, ExportOption
from slide_gui.gui.state.jobs import JobQueue, UserMessage, sentence
from slide_gui.progress import Progress
from slide_gui.text import spreadsheet_text

if TYPE_CHECKING:
    from slide_gui.gui.dialogs.export.dialog import ExportDialog, ExportRequest

_WITHOUT_DESKTOP = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")  # Qt platforms


def shows_folders() -> bool:
    """Return True if a desktop can show folders."""
    if QGuiApplication.platformName() in _WITHOUT_DESKTOP:
        return False
    return not sys.platform.startswith("linux") or shutil.which("xdg-open") is not None


class ExportController(QObject):
    """Opens the dialog, writes exports in the job queue, and reports the outcome.

    Parameters
    ----------
    inputs : callable
        Called when an export is requested. Returns a function, called in the job queue, that lists the files
        that exports must not replace.

    Signals
    -------
    written(object)
        Path of the export.
    problem(object)
        A `UserMessage`: there is nothing to export, or writing failed.
    waits(str)
        Condition that a requested export waits for; empty when the wait ends.
    """

    written = Signal(object)
    problem = Signal(object)
    waits = Signal(str)

    def __init__(
        self,
        queue: JobQueue,
        settings: QSettings,
        parent: QWidget,
        inputs: Callable[[], Callable[[], Sequence[Path]]] = lambda: list,
    ) -> None:
        super().__init__(parent)
        self._inputs = inputs
        self._queue, self._settings, self._parent = queue, settings, parent
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
        """Ask for option and path and write the export; without options, wait or report why.

        Parameters
        ----------
        options : callable
            Returns the options that are available now.
        why_nothing : str
            Sentence that explains a lack of options.
        session : callable
            Text of the session in a picture, as in `slide_gui.experiments.files.session.picture_text`.
        waits_for : str
            Condition that opens the dialog once it holds, such as "the layers are fitted".
        """
        offered = options()
        if offered:
            self._open(offered, session())
        elif waits_for:
            self._waiting = options, session
            self.waits.emit(waits_for)
        else:
            self.problem.emit(UserMessage("Nothing to export yet", why_nothing))

    @Slot()
    def go_on(self) -> None:
        """Open the waiting dialog if there is something to export."""
        if self._waiting is None:
            return
        options, session = self._waiting
        offered = options()
        if offered:
            self.give_up()
            self._open(offered, session())

    @Slot()
    def give_up(self) -> None:
        """Cancel the wait after a change of the page or at the user's request."""
        if self._waiting is not None:
            self._waiting = None
            self.waits.emit("")

    def _open(self, options: Sequence[ExportOption], session: str) -> None:
        from slide_gui.gui.dialogs.export.dialog import ExportDialog

        if self._dialog is None:
            self._dialog = ExportDialog(self._queue, self._settings, self._parent)
            self._dialog.requested.connect(self._write)
        self._session = session
        self._dialog.ask(options)

    def show_in_folder(self, path: Path) -> None:
        """Show a file's folder, or a folder's contents, in the system's file manager."""
        folder = path if path.is_dir() else path.parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.problem.emit(UserMessage("The folder could not be shown", f"No program opened it: {folder}"))

    def copy_image(self, shown: QWidget) -> None:
        """Copy a picture of a widget to the clipboard."""
        QApplication.clipboard().setPixmap(shown.grab())

    def copy_table(self, text: str, why_nothing: str) -> None:
        """Copy numbers to the clipboard, or report why there are none."""
        if text:
            QApplication.clipboard().setText(spreadsheet_text(text))
        else:
            self.problem.emit(UserMessage("Nothing to copy yet", why_nothing))

    @Slot(object)
    def _write(self, request: ExportRequest) -> None:
        session, inputs = self._session, self._inputs()

        def work(progress: Progress) -> Path:
            check_outputs([request.path], inputs())
            return request.write(session, progress)

        self._queue.submit(
            "Rendering the animation" if request.kind in ANIMATION else "Writing the export",
            work,
            channel="export",
            on_result=self.written.emit,
            on_failure=self._not_written,
        )

    @Slot(object)
    def _not_written(self, error: Exception) -> None:
        reason = sentence(error)
        reason = f"{reason} Choose another path." if isinstance(error, OSError) else reason
        self.problem.emit(UserMessage("The export could not be written", reason))
