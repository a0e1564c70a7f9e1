"""The Runs page: every run ever made, with filter, comparison of two, reload, delete with undo, and CSV."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget

from slide_gui.experiments.comparison import Comparison
from slide_gui.experiments.stored_run import SHOWN, StoredRun
from slide_gui.figures.export import FigureExport
from slide_gui.gui.export.option import TABLE, ExportOption
from slide_gui.gui.pages.comparison import ComparisonView
from slide_gui.gui.pages.page import Page, add_button
from slide_gui.gui.state.library import RunSelection
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.run_table import RunTable
from slide_gui.progress import Progress

__all__ = ["RunsPage"]

_MOST_PIXELS = 8  # pins whose rows are compared


class RunsPage(Page):
    """The table of the store, and the comparison of two of its runs."""

    def __init__(self, workspace: Workspace, controller: RunController, parent: QWidget | None = None) -> None:
        tabs = ("Table", "Every run, to filter and sort"), ("Comparison", "Two runs, A and B, and their difference")
        super().__init__("Runs", "every run is kept", tabs, parent=parent)
        self._workspace, self._library = workspace, controller.library
        self.tabs.idClicked.connect(self._show_view)
        self._undelete = add_button(self, self.head, "Undo delete", "Bring the runs deleted last back")
        self._undelete.clicked.connect(self._library.undelete)
        copy = add_button(self, self.head, "Copy table", "Copy the chosen lines, or all that are shown, tab-separated")
        copy.clicked.connect(self._copy)
        export = add_button(
            self, self.head, "Export CSV…", "Write the chosen lines, or all that are shown, as CSV (Ctrl+E)"
        )
        export.clicked.connect(self.export_requested)
        self.run_table = RunTable(SHOWN, self)
        self.run_table.set_placeholder("No runs yet: train a classifier or start a sweep.")
        self.run_table.open_requested.connect(controller.open_run)
        self.run_table.delete_requested.connect(self._delete)
        self.run_table.compare_requested.connect(self._compare)
        self.run_table.tag_edited.connect(self._library.tag)
        self.comparison = ComparisonView(self)
        self._wanted: tuple[str, ...] = ()
        self._views = QStackedWidget(self)
        self._views.addWidget(self.run_table)
        self._views.addWidget(self.comparison)
        self.column.addWidget(self._views, 1)
        self._library.changed.connect(self.refresh)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the controller's list."""
        if self.isVisible():
            self.run_table.set_rows(self._library.runs)
            subtitle, empty = self._words()
            self.subtitle.setText(subtitle)
            self.run_table.set_placeholder(empty)
            self._undelete.setEnabled(self._library.can_undelete)
            self._choose_wanted()

    def _words(self) -> tuple[str, str]:
        """Return how many runs there are, and what an empty table says; what was not read is not called empty."""
        library = self._library
        others = sum(not run.is_current for run in library.runs)
        of_others = f", {others} of them (grey) by another version of the numbers" if others else ""
        if library.reading and not library.runs:
            return "reading…", "The runs are being read."
        if not library.listed:
            return "could not be read", "The runs could not be read."
        return f"{len(library.runs)} kept{of_others}", "No runs yet: train a classifier or start a sweep."

    def show_item(self, item: object) -> None:
        """Show some runs, a `RunSelection`, and choose them once they are listed."""
        assert isinstance(item, RunSelection)
        keys, words = item.keys, item.words
        self._show_view(0)
        self.run_table.set_filter(words)
        self._wanted = keys
        if set(keys) - {run.hash for run in self._library.runs}:
            self._library.refresh()
        self._choose_wanted()

    def _choose_wanted(self) -> None:
        listed = {run.hash for run in self._library.runs}
        if self._wanted and listed.issuperset(self._wanted):
            self.run_table.select(self._wanted)
            self._wanted = ()

    @Slot(int)
    def _show_view(self, view: int) -> None:
        self.tabs.choose(view)
        self._views.setCurrentIndex(view)

    @Slot(object)
    def _delete(self, keys: tuple[str, ...]) -> None:
        self._library.delete(keys)

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        place = {run.hash: run for run in self._library.runs}
        lines = [place[key] for key in self.run_table.shown() if key in place]
        if not lines:
            return ()
        return (ExportOption("runs", "the table of runs", partial(_export, lines), kinds=TABLE),)

    def why_nothing_to_export(self) -> str:
        return "No run is shown; train a classifier, start a sweep, or clear the filter."

    def table(self) -> str:
        return self.run_table.text() if self.run_table.shown() else ""

    @Slot()
    def _copy(self) -> None:
        QApplication.clipboard().setText(self.run_table.text())

    # Comparison -------------------------------------------------------------------------------------------------

    @Slot(object)
    def _compare(self, keys: tuple[str, str]) -> None:
        pixels = self._workspace.state.selection.pins[:_MOST_PIXELS]
        dataset = self._workspace.dataset
        middle = (0 if dataset is None else dataset.n_features // 2,)
        self.comparison.show_waiting()
        self._show_view(1)
        self._library.compare(keys, pixels or middle, self._compared)

    @Slot(object)
    def _compared(self, comparison: Comparison) -> None:
        self.comparison.show_comparison(comparison)


def _export(lines: list[StoredRun], _progress: Progress) -> FigureExport:
    def write(path: Path) -> None:
        from slide_gui.figures.tables import runs_csv

        runs_csv(path, lines)

    return FigureExport("runs", None, write)
