"""Exports and copies what the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.page import Page
from slide_gui.gui.state.workspace import Problem, sentence

if TYPE_CHECKING:
    from slide_gui.gui.export.dialog import ExportDialog, ExportRequest
    from slide_gui.gui.main_window import MainWindow

__all__ = ["Exporting"]


class Exporting(QObject):
    """The dialog, the writing in the lane, and the notice of how it ended."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._dialog: ExportDialog | None = None

    def ask(self, page: Page) -> None:
        """Ask what of a page to write where, and write it."""
        offers = page.offers()
        if not offers:
            self._window.show_problem(Problem("Nothing to export yet", page.why_no_offer()))
            return
        from slide_gui.gui.export.dialog import ExportDialog

        if self._dialog is None:
            self._dialog = ExportDialog(self._window.lane, self._window.settings, self._window)
            self._dialog.requested.connect(self._write)
        self._dialog.ask(offers)

    def copy_image(self, page: Page) -> None:
        """Put a picture of a page on the clipboard."""
        QApplication.clipboard().setPixmap(page.grab())

    def copy_table(self, page: Page) -> None:
        """Put the numbers of a page on the clipboard."""
        text = page.table()
        if text:
            QApplication.clipboard().setText(text)
        else:
            self._window.show_problem(Problem("Nothing to copy yet", page.why_no_offer()))

    @Slot(object)
    def _write(self, request: ExportRequest) -> None:
        self._window.lane.submit(
            "Writing the export",
            request.write,
            channel="export",
            on_result=self._written,
            on_failure=self._not_written,
        )

    @Slot(object)
    def _written(self, path: Path) -> None:
        self._window.tell("information", "Exported", str(path))

    @Slot(object)
    def _not_written(self, error: Exception) -> None:
        remedy = " Choose another place." if isinstance(error, OSError) else ""
        self._window.show_problem(Problem("The export could not be written", sentence(error) + remedy))
