"""The Runs page: every run ever made, with filter, comparison of two, reload, delete with undo, and CSV."""

from __future__ import annotations

import time

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from slide_gui.experiments.result import RunResult
from slide_gui.experiments.statistics import mcnemar
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.figures.color_scale import signed
from slide_gui.gui.desk import RunDesk
from slide_gui.gui.pages.header import add_button, header
from slide_gui.gui.widgets.run_table import RunRow, RunTable

__all__ = ["RunsPage"]


class RunsPage(QWidget):
    """The table of the store."""

    def __init__(self, desk: RunDesk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 12, 20, 8)
        layout.setSpacing(8)
        row, self._count, _ = header(self, "Runs", "every run is kept")
        self._undelete = add_button(self, row, "Undo delete", "Bring the runs deleted last back")
        self._undelete.clicked.connect(desk.undelete)
        copy = add_button(self, row, "Copy table", "Copy the lines shown, tab-separated")
        copy.clicked.connect(self._copy)
        layout.addLayout(row)
        self._table = RunTable(self)
        self._table.set_placeholder("No runs yet: train a classifier or start a sweep.")
        self._table.open_requested.connect(desk.open_run)
        self._table.delete_requested.connect(self._delete)
        self._table.compare_requested.connect(self._compare)
        self._table.tag_edited.connect(desk.tag)
        layout.addWidget(self._table, 1)
        self._answer = QLabel("Choose two runs and press Ctrl+D to compare them.", self)
        self._answer.setProperty("role", "secondary")
        self._answer.setWordWrap(True)
        bottom = QHBoxLayout()
        bottom.addWidget(self._answer, 1)
        layout.addLayout(bottom)
        desk.runs_changed.connect(self.refresh)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the desk's list."""
        if self.isVisible():
            self._table.set_rows([_row(run) for run in self._desk.runs])
            self._count.setText(f"{len(self._desk.runs)} kept")
            self._undelete.setEnabled(self._desk.can_undelete)

    @Slot(object)
    def _delete(self, keys: tuple[str, ...]) -> None:
        self._desk.delete(keys)

    @Slot()
    def _copy(self) -> None:
        QApplication.clipboard().setText(self._table.text())

    @Slot(object)
    def _compare(self, keys: tuple[str, str]) -> None:
        self._desk.load_pair(keys, self._compared)

    @Slot(object)
    def _compared(self, pair: tuple[RunResult, RunResult]) -> None:
        first, second = pair
        difference = signed(100 * (first.error - second.error), 2)
        said = f"A {100 * first.error:.2f} %, B {100 * second.error:.2f} %, A − B {difference}"
        same = first.spec.fingerprint == second.spec.fingerprint and first.spec.evaluate == second.spec.evaluate
        if not same or first.judged.tolist() != second.judged.tolist():
            self._answer.setText(f"{said} points, judged on different rows: no test of significance.")
            return
        judged = first.judged.tolist()
        wrong = [set(result.misclassified.tolist()) for result in pair]
        test = mcnemar([row in wrong[0] for row in judged], [row in wrong[1] for row in judged])
        self._answer.setText(
            f"{said} points on the same {len(judged)} rows · McNemar p = {test.exact:.3g}".replace("-", "−")
        )


def _row(run: StoredRun) -> RunRow:
    return RunRow(
        run.hash,
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created)),
        run.data,
        run.method,
        run.noise,
        run.depth,
        str(run.split),
        run.seed,
        100 * run.error,
        100 * max(run.error - run.half, 0.0),
        100 * min(run.error + run.half, 1.0),
        run.n_test,
        seconds=run.seconds,
        tag=", ".join(run.tags),
    )
