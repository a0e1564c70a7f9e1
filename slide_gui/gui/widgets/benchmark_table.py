"""Methods × data sets: a figure with its standing, the paper's beside it, and below it how far it is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from slide_gui.gui.widgets._benchmark_model import BenchmarkCell, BenchmarkHead, BenchmarkModel, BenchmarkRow
from slide_gui.gui.widgets._benchmark_view import HEAD, ROW, BenchmarkDelegate, BenchmarkHeader
from slide_gui.gui.widgets._callout import paint_placeholder

__all__ = ["BenchmarkCell", "BenchmarkHead", "BenchmarkRow", "BenchmarkTable"]

_TITLE = 144  # width of the titles of the rows


class BenchmarkTable(QTableView):
    """The table; the arrow keys move, Enter or a click asks for the runs of a cell."""

    runs_requested = Signal(object)
    """Keys of the runs of a cell, a tuple, with row and column as given."""
    order_changed = Signal(object)
    """The column by which rows stand now, from 0, or None."""

    def __init__(self, parent: QWidget | None = None, *, name: str = "Benchmark", ordered: bool = True) -> None:
        super().__init__(parent)
        self._content = BenchmarkModel(self, ordered)
        self._empty = ""
        self.setHorizontalHeader(BenchmarkHeader(self._content, self))
        self.setModel(self._content)
        self.setItemDelegate(BenchmarkDelegate(self))
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(name)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        if ordered:
            self.horizontalHeader().sectionClicked.connect(self._head_clicked)
        self.clicked.connect(self._ask)

    def sizeHint(self) -> QSize:
        return QSize(920, HEAD + 10 * ROW + 2)

    def set_table(self, heads: Sequence[BenchmarkHead], rows: Sequence[BenchmarkRow], empty: str = "") -> None:
        """Show a table; `empty` says what to do next where there are no columns."""
        shape = self._content.columnCount()
        self._content.set_content(heads, rows)
        self._empty = "" if heads else empty
        head = self.horizontalHeader()
        if self._content.columnCount() != shape and heads:
            head.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
            head.resizeSection(0, _TITLE)
        self.viewport().update()
        head.viewport().update()

    def set_order(self, column: int | None) -> None:
        """Put rows in the order of a column, from 0, or as they were given."""
        self._content.sort_by(column)
        self.horizontalHeader().viewport().update()

    @property
    def order(self) -> int | None:
        """The column by which rows stand."""
        return self._content.order

    def rows(self) -> tuple[BenchmarkRow, ...]:
        """Return the rows as they stand."""
        return self._content.rows

    def text(self) -> str:
        """Return the table as it stands, separated by tabs; plain numbers, so that other programs read them."""
        heads, rows = self._content.heads, self._content.rows
        if not heads:
            return ""
        lines = ["\t".join(["", *(part for head in heads for part in (f"{head.title} ({head.note})", "paper"))])]
        for row in rows:
            cells = (part for cell in row.cells for part in (cell.main or cell.note, cell.aside.removeprefix("paper ")))
            lines.append("\t".join([" ".join(filter(None, (row.title, row.note))), *cells]))
        return "\n".join(lines).replace("\u202f", "").replace("−", "-")

    @Slot(int)
    def _head_clicked(self, section: int) -> None:
        self.set_order(None if section == 0 or self.order == section - 1 else section - 1)
        self.order_changed.emit(self.order)

    @Slot(QModelIndex)
    def _ask(self, index: QModelIndex) -> None:
        cell = self._content.cell(index) if index.isValid() else None
        if cell is not None and cell.keys:
            self.runs_requested.emit((cell.keys, self._content.rows[index.row()].key, index.column() - 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._ask(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._empty:
            painter = QPainter(self.viewport())
            paint_placeholder(painter, self.viewport(), self._empty)
            painter.end()
