"""Runs as rows and columns: what a cell says, in which order rows stand, which of them a filter leaves."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from slide_gui.error_rate import ErrorRate
from slide_gui.gui.widgets.numbers import count, fixed, number

__all__ = ["COLUMNS", "TAG", "Index", "RunModel", "RunRow"]

Index = QModelIndex | QPersistentModelIndex
NONE = QModelIndex()
_NAMED = re.compile(r"\b(noise|depth|seed)[ =:]+(\d+\.?\d*)(?![\d.])")


@dataclass(frozen=True)
class RunRow:
    """One run.

    Parameters
    ----------
    key : str
        What the owner of the run calls it; unique.
    finished : str
        When, as "2026-11-21 03:05", so that it sorts as text.
    noise : float
        1 − p; NaN where there is none.
    rate : ErrorRate or None
        On the test samples.
    support : int or None
        Number of support vectors.
    seconds : float
        Time it took.
    note : str
        Why it counts less than the others; empty where it does not.
    widths : str
        What chose the widths, in words; empty where there is nothing to say.
    """

    key: str
    finished: str
    data: str
    method: str
    noise: float = math.nan
    depth: int | None = None
    split: str = ""
    seed: int | None = None
    rate: ErrorRate | None = None
    C: float = math.nan
    support: int | None = None
    seconds: float = math.nan
    tag: str = ""
    note: str = ""
    widths: str = ""


@dataclass(frozen=True)
class Column:
    """One column: its title, what it means, a row's value for sorting, its text, and the widest usual text."""

    title: str
    tip: str
    value: Callable[[RunRow], Any]
    text: Callable[[RunRow], str]
    widest: str
    is_number: bool = True


def _whole(value: int | None) -> str:
    return "–" if value is None else count(value)


def _data(name: str) -> str:
    return name.replace("(generated)", "gen.")


def _error(row: RunRow) -> float | None:
    return None if row.rate is None else row.rate.error


def _value(row: RunRow) -> str:
    return "–" if row.rate is None else row.rate.value


def _length(row: RunRow) -> float | None:
    return None if row.rate is None else row.rate.high - row.rate.low


def _interval(row: RunRow) -> str:
    return "–" if row.rate is None else row.rate.interval


def _rows(row: RunRow) -> int | None:
    return None if row.rate is None else row.rate.n


def _penalty(value: float) -> str:
    return "–" if math.isnan(value) else number(float(f"{value:.3g}"))


def _seconds(value: float) -> str:
    return "–" if not math.isfinite(value) else f"{value:,.1f}".replace(",", "\u202f")


_SPLIT = "Which random 80 % was trained on; whole: all training samples; val.: judged on the other 20 %"
COLUMNS = (
    Column("Made", "When the run was finished", lambda r: r.finished, lambda r: r.finished, "2026-11-21 03:05", False),
    Column("Data", "The data set", lambda r: r.data, lambda r: _data(r.data), "Rectangles-Images gen.", False),
    Column("Method", "What was trained", lambda r: r.method, lambda r: r.method, "Rand Proj-SVM", False),
    Column("Noise", "1 − p, 0 to 1", lambda r: r.noise, lambda r: fixed(r.noise, 2), "0.00"),
    Column("Depth", "Layers of the stack", lambda r: r.depth, lambda r: _whole(r.depth), "00"),
    Column("Split", _SPLIT, lambda r: r.split, lambda r: r.split, "00, val.", False),
    Column("Seed", "Of split and solver", lambda r: r.seed, lambda r: _whole(r.seed), "0\u202f000"),
    Column("Error %", "Test error in per cent", _error, _value, "00.00"),
    Column("95 %", "Interval of the error, per cent", _length, _interval, "00.00–00.00"),
    Column("n test", "Test samples", _rows, lambda r: _whole(_rows(r)), "50\u202f000"),
    Column("C", "Penalty of the SVM", lambda r: r.C, lambda r: _penalty(r.C), "1\u202f000"),
    Column("n SV", "Support vectors", lambda r: r.support, lambda r: _whole(r.support), "50\u202f000"),
    Column("Time s", "Seconds it took", lambda r: r.seconds, lambda r: _seconds(r.seconds), "0\u202f000.0"),
    Column("Tag", "Your own words (F2 edits)", lambda r: r.tag, lambda r: r.tag, "figure 3", False),
)
TAG = len(COLUMNS) - 1


class RunModel(QAbstractTableModel):
    """The rows that the filter leaves, in the order of one column."""

    tag_edited = Signal(str, str)
    """Key and new tag, as the person typed it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[RunRow, ...] = ()
        self._shown: list[RunRow] = []
        self._words: tuple[str, ...] = ()
        self._order: tuple[int, bool] = (0, True)
        self._said: dict[str, str] = {}

    # Content

    @property
    def total(self) -> int:
        """How many rows there are without the filter."""
        return len(self._rows)

    def set_rows(self, rows: Sequence[RunRow]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self._rows, self._said = tuple(rows), {}
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
        value = COLUMNS[column].value
        matching = [r for r in self._rows if self._matches(r)] if self._words else list(self._rows)
        missing = [r for r in matching if _is_missing(value(r))]
        present = [r for r in matching if not _is_missing(value(r))] if missing else matching
        present.sort(key=value, reverse=falling)
        self._shown = present + missing

    def _matches(self, row: RunRow) -> bool:
        said = self._said.get(row.key)
        if said is None:
            numbers = f"noise={row.noise:.2f}; depth={row.depth}; seed={row.seed}; {_value(row)}"
            words = (row.finished, row.data, row.method, row.split, numbers, row.tag, row.note, row.widths)
            said = " ".join(words).lower()
            self._said[row.key] = said
        return all(word in said for word in self._words)

    def row(self, number: int) -> RunRow:
        """Return the run in a line."""
        return self._shown[number]

    def lines_of(self, keys: set[str]) -> list[int]:
        """Return the lines in which these runs stand now."""
        return [i for i, row in enumerate(self._shown) if row.key in keys] if keys else []

    # Qt's side

    def rowCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, row = COLUMNS[index.column()], self._shown[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return column.text(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(row) if index.column() != TAG else column.tip
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        column = COLUMNS[section]
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
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == TAG else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != TAG:
            return False
        old, tag = self._shown[index.row()], str(value).strip()
        if tag != old.tag:
            new = replace(old, tag=tag)
            self._shown[index.row()] = new
            self._rows = tuple(new if r is old else r for r in self._rows)
            self._said.pop(old.key, None)
            self.dataChanged.emit(index, index)
            self.tag_edited.emit(old.key, tag)
        return True


def _named(match: re.Match[str]) -> str:
    name, value = match.groups()
    return f" {name}={float(value):.2f}; " if name == "noise" else f" {name}={float(value):.0f}; "


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _tip(row: RunRow) -> str:
    lines = [f"{row.method} on {row.data}, {row.finished}"]
    if row.rate is not None:
        lines.append(str(row.rate))
    if row.widths:
        lines.append(row.widths[0].upper() + row.widths[1:])
    if row.note:
        lines.append(row.note)
    return "\n".join([*lines, "Enter or a double click loads it on every page"])
