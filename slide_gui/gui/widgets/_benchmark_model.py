"""The benchmark's table as rows and columns: what a cell says, and in which order rows stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

__all__ = ["BenchmarkCell", "BenchmarkHead", "BenchmarkModel", "BenchmarkRow", "Index"]

Index = QModelIndex | QPersistentModelIndex
NONE = QModelIndex()
_WORDS = {
    "reference": "",
    "better": "significantly fewer errors than SLIDE-SVM",
    "worse": "significantly more errors than SLIDE-SVM",
    "equal": "no significant difference from SLIDE-SVM",
}


@dataclass(frozen=True)
class BenchmarkCell:
    """One cell.

    Attributes
    ----------
    main, aside, note : str
        The figure; what stands right of it; what stands below, such as why there is no figure.
    standing : {"", "reference", "better", "worse", "equal"}
        To the reference; its mark and colour.
    running : bool
        Whether it is being worked on.
    fraction : float or None
        Share done, drawn as a bar.
    tip : str
    rank : tuple of float or None
        Cells of a column are put in this order; None comes last.
    keys : tuple of str
        What a click asks for; nothing if empty.
    """

    main: str = ""
    aside: str = ""
    note: str = ""
    standing: str = ""
    running: bool = False
    fraction: float | None = None
    tip: str = ""
    rank: tuple[float, ...] | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkHead:
    """A column: its title, a note below it, and a tooltip."""

    title: str
    note: str = ""
    tip: str = ""


@dataclass(frozen=True)
class BenchmarkRow:
    """A row; those without a key keep their place at the end, whatever the order."""

    key: str
    title: str
    cells: tuple[BenchmarkCell, ...]
    note: str = ""
    strong: bool = False


class BenchmarkModel(QAbstractTableModel):
    """The rows in the order of one column."""

    def __init__(self, parent: QObject, ordered: bool) -> None:
        super().__init__(parent)
        self.heads: tuple[BenchmarkHead, ...] = ()
        self.rows: tuple[BenchmarkRow, ...] = ()
        self.order: int | None = None
        self.ordered = ordered
        self._given: tuple[BenchmarkRow, ...] = ()

    def set_content(self, heads: Sequence[BenchmarkHead], rows: Sequence[BenchmarkRow]) -> None:
        """Replace everything; a table of the same shape is only told that its cells changed."""
        same = len(heads) == len(self.heads) and len(rows) == len(self._given)
        if not same:
            self.beginResetModel()
        self.heads, self._given = tuple(heads), tuple(rows)
        self._arrange()
        if not same:
            self.endResetModel()
        elif rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(heads)))
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(heads))

    def sort_by(self, column: int | None) -> None:
        """Put rows in the order of a data set's column, or as they were given."""
        self.order = column
        self._arrange()
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(self.heads)))

    def _arrange(self) -> None:
        rows, order = self._given, self.order
        if order is None or order >= len(self.heads):
            self.rows = rows
            return

        def rank(row: BenchmarkRow) -> tuple[bool, bool, tuple[float, ...]]:
            found = row.cells[order].rank
            return not row.key, found is None, found or ()

        self.rows = tuple(sorted(rows, key=rank))

    # Qt's side

    def rowCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() or not self.heads else len(self.heads) + 1

    def cell(self, index: Index) -> BenchmarkCell | None:
        """Return a cell, None in the column of titles."""
        return self.rows[index.row()].cells[index.column() - 1] if index.column() else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, cell = self.rows[index.row()], self.cell(index)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            parts = (
                (row.title, row.note)
                if cell is None
                else (cell.main, _WORDS.get(cell.standing, ""), cell.aside, cell.note)
            )
            return ", ".join(part for part in parts if part)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{row.title} {row.note}".strip() if cell is None else cell.tip
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section <= len(self.heads):
            return None
        head = self.heads[section - 1] if section else BenchmarkHead("Method")
        if role == Qt.ItemDataRole.DisplayRole:
            return head.title
        return head.tip if role == Qt.ItemDataRole.ToolTipRole else None
