"""Runs as rows and columns: in which order rows stand, which of them a filter leaves, and the tag that is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from slide_gui.text import TextColumn

__all__ = ["Index", "RunModel", "RunRow"]

Index = QModelIndex | QPersistentModelIndex
NONE = QModelIndex()
_NAMED = re.compile(r"\b(noise|depth|seed)[ =:]+(\d+\.?\d*)(?![\d.])")


class RunRow(Protocol):
    """What a table asks of a run beside the texts of its columns."""

    @property
    def hash(self) -> str:
        """What the owner of the run calls it; unique."""

    @property
    def words(self) -> str:
        """What the filter searches, in small letters."""

    @property
    def tip(self) -> str:
        """A few lines on it."""

    @property
    def note(self) -> str:
        """Why it counts less than the others; empty where it does not."""

    def with_tags(self, text: str) -> RunRow:
        """Return it with other tags, as a person wrote them."""


class RunModel(QAbstractTableModel):
    """The rows that the filter leaves, in the order of one column.

    Parameters
    ----------
    columns : sequence of TextColumn
        Of the table; the last one is the person's to write.
    parent : QObject, optional
    """

    tag_edited = Signal(str, str)
    """Key and new tag, as the person typed it."""

    def __init__(self, columns: Sequence[TextColumn], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.tag = len(self.columns) - 1
        """The column that is written."""
        self._rows: tuple[RunRow, ...] = ()
        self._shown: list[RunRow] = []
        self._searched: dict[str, str] = {}
        self._words: tuple[str, ...] = ()
        self._order: tuple[int, bool] = (0, True)

    # Content

    @property
    def total(self) -> int:
        """How many rows there are without the filter."""
        return len(self._rows)

    def set_rows(self, rows: Sequence[RunRow]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self._searched.clear()
        self._arrange()
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        """Leave the rows in which every word of `text` occurs, small or capital.

        A number after "noise", "depth" or "seed" stands for just that value.
        """
        words = tuple(_NAMED.sub(_named, text.lower()).split())
        if words != self._words:
            self.beginResetModel()
            self._words = words
            self._arrange()
            self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Put rows in the order of a column; those without a value come last either way."""
        self.beginResetModel()
        self._order = (max(column, 0), order == Qt.SortOrder.DescendingOrder)
        self._arrange()
        self.endResetModel()

    def _arrange(self) -> None:
        column, falling = self._order
        value = self.columns[column].value
        matching = [r for r in self._rows if self._matches(r)] if self._words else list(self._rows)
        missing = [r for r in matching if _is_missing(value(r))]
        there = [r for r in matching if not _is_missing(value(r))] if missing else matching
        there.sort(key=value, reverse=falling)
        self._shown = there + missing

    def _matches(self, row: RunRow) -> bool:
        searched = self._searched.get(row.hash)
        if searched is None:
            searched = self._searched[row.hash] = row.words
        return all(word in searched for word in self._words)

    def row(self, number: int) -> RunRow:
        """Return the run in a line."""
        return self._shown[number]

    def lines_of(self, keys: set[str]) -> list[int]:
        """Return the lines in which these runs stand now."""
        return [i for i, row in enumerate(self._shown) if row.hash in keys] if keys else []

    # Qt's side

    def rowCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, row = self.columns[index.column()], self._shown[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return column.text(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                f"{row.tip}\nEnter or a double click loads it on every page"
                if index.column() != self.tag
                else column.tip
            )
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{column.tip}. Click to sort."
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == self.tag else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != self.tag:
            return False
        old, tag = self._shown[index.row()], str(value).strip()
        if tag != self.columns[self.tag].text(old):
            new = old.with_tags(tag)
            self._shown[index.row()] = new
            self._rows = tuple(new if r is old else r for r in self._rows)
            self._searched.pop(old.hash, None)
            self.dataChanged.emit(index, index)
            self.tag_edited.emit(old.hash, tag)
        return True


def _named(match: re.Match[str]) -> str:
    name, value = match.groups()
    return f" {name}={float(value):.2f}; " if name == "noise" else f" {name}={float(value):.0f}; "


def _is_missing(value: Any) -> bool:
    return value is None or value != value
