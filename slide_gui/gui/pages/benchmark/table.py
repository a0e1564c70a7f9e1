"""The table of results by method and data set, with significance marks, the paper’s values and progress bars."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidgetItem,
    QWidget,
)

from slide_gui.gui.theme import BODY, SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.color_table import ResultTable
from slide_gui.gui.widgets.controls import wrapped
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, washed, write
from slide_gui.text import plain


@dataclass(frozen=True)
class SignificanceMark:
    """The mark that shows whether the errors of a method differ significantly from those of SLIDE-SVM.

    Attributes
    ----------
    symbol, legend, spoken : str
        The character that is drawn, its explanation in the legend, and the explanation that screen readers speak.
    """

    symbol: str
    legend: str
    spoken: str


SIGNIFICANCE_MARKS = {
    "reference": SignificanceMark("◆", "SLIDE-SVM", ""),
    "better": SignificanceMark("▼", "significantly fewer errors", "significantly fewer errors than SLIDE-SVM"),
    "equal": SignificanceMark("○", "no significant difference", "no significant difference from SLIDE-SVM"),
    "worse": SignificanceMark("▲", "significantly more errors", "significantly more errors than SLIDE-SVM"),
}
_INDENT = 15  # Width in pixels of the space for the significance mark in a cell.


def mark_color(standing: str, theme: Theme) -> str:
    """Return the colour of the significance mark for `standing`, a key of `SIGNIFICANCE_MARKS`."""
    return {"reference": theme.text, "better": theme.better, "worse": theme.worse}.get(standing, theme.muted)


Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class EvaluationCell:
    """The contents of one cell of the table: value, notes, significance mark and progress.

    Attributes
    ----------
    main, aside, note : str
        The value, the text to the right of it, and the text below it, such as the reason why the value is missing.
    standing : {"", "reference", "better", "worse", "equal"}
        Result of the comparison with SLIDE-SVM, which determines the mark and its colour. The cells of SLIDE-SVM
        itself have the value "reference". A cell with the value "" has no mark.
    fraction : float or None
        Finished fraction of the computation, drawn as a bar; None if the cell is not being computed.
    tip : str
        Tooltip.
    rank : tuple of float or None
        Sort key within a column. Cells whose rank is None are sorted last.
    keys : tuple of str
        Keys of the stored runs that a click on the cell shows. Empty if there are none.
    """

    main: str = ""
    aside: str = ""
    note: str = ""
    standing: str = ""
    fraction: float | None = None
    tip: str = ""
    rank: tuple[float, ...] | None = None
    keys: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The significance mark in words, or "" if there is none."""
        return SIGNIFICANCE_MARKS[self.standing].spoken if self.standing else ""


@dataclass(frozen=True)
class EvaluationRow:
    """The title and the cells of one row of the table.

    `key` is the name of the method. It is empty for rows that stay at the end when the table is sorted, such as
    published results of other methods. A darker line separates rows with different values of `group`.
    """

    key: str
    title: str
    cells: tuple[EvaluationCell, ...]
    note: str = ""
    strong: bool = False
    group: str = ""


# The height of a row of the table in pixels.
ROW = 38

_PAD = 5
_GAP = 6  # Smallest distance in pixels between a cell's value and the text to its right.


class EvaluationDelegate(QStyledItemDelegate):
    """The delegate that draws the cells of the table."""

    def __init__(self, table: "EvaluationTable") -> None:
        super().__init__(table)
        self._table = table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view, row = self._table, self._table.rows[index.row()]
        theme, box, cell = theme_of(view), QRectF(option.rect), row.cells[index.column()]
        painter.save()
        if cell.standing in ("better", "worse"):
            painter.fillRect(box.adjusted(0, 0, -1, -1), washed(mark_color(cell.standing, theme), 0.16))
        elif cell.keys and bool(option.state & QStyle.StateFlag.State_MouseOver):
            painter.fillRect(box.adjusted(0, 0, -1, -1), QColor(theme.hover))
        _paint_rule(painter, view, box, index.row())
        _paint_texts(painter, view, box.adjusted(_PAD, 3, -_PAD, -3), cell, row.strong, _INDENT * view.ordered)
        bar = box.adjusted(0, box.height() - 3, 0, 0)
        if cell.fraction is not None:
            painter.fillRect(bar, QColor(theme.line))
            bar.setWidth(bar.width() * min(max(cell.fraction, 0.0), 1.0))
            painter.fillRect(bar, QColor(theme.accent))
        if view.hasFocus() and view.currentIndex() == index:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(box.adjusted(1, 1, -2, -2))
        painter.restore()


def _paint_rule(painter: QPainter, view: "EvaluationTable", box: QRectF, line: int) -> None:
    """Draw the line below a row. It is darker between rows of different groups, unless sorting has mixed the groups."""
    theme, below = theme_of(view), view.rows[line + 1 : line + 2]
    ends = any(row.group != view.rows[line].group and (view.order is None or not row.key) for row in below)
    painter.fillRect(box.adjusted(0, box.height() - 1, 0, 0), QColor(theme.muted if ends else theme.line))


def _paint_texts(
    painter: QPainter, view: "EvaluationTable", inner: QRectF, cell: EvaluationCell, strong: bool, indent: int
) -> None:
    """Draw the contents of a cell: the mark, the value, the text to the right of the value, and the note below.

    The value and the note are indented by `indent` pixels to leave space for the mark.
    """
    theme, half = theme_of(view), inner.height() / 2
    upper, lower = inner.adjusted(0, 0, 0, -half if cell.note else 0), inner.adjusted(indent, half, 0, 0)
    painter.setFont(figure_font(view, BODY, strong=strong))
    if cell.standing:
        write(painter, upper, MIDDLE, SIGNIFICANCE_MARKS[cell.standing].symbol, mark_color(cell.standing, theme))
    painter.setPen(QColor(theme.text))
    value = upper.adjusted(indent, 0, 0, 0)
    _paint_line(painter, value, cell.main)
    value_width = painter.fontMetrics().horizontalAdvance(cell.main)
    painter.setFont(figure_font(view, SECONDARY))
    painter.setPen(QColor(theme.muted))
    wide = painter.fontMetrics().horizontalAdvance(cell.aside)
    fits = not value_width or not wide or value_width + _GAP + wide <= value.width()
    painter.drawText(upper if fits else lower, RIGHT, cell.aside)
    if cell.fraction is not None:
        painter.setPen(QColor(theme.accent_text))
    _paint_line(painter, lower.adjusted(0, 0, 0 if fits else -wide - _GAP, 0), cell.note)


class _RowTitles(QHeaderView):
    """A header with the names of the rows, which remains visible when the user scrolls horizontally."""

    def __init__(self, table: "EvaluationTable") -> None:
        super().__init__(Qt.Orientation.Vertical, table)
        self._table = table
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setDefaultSectionSize(ROW)
        self.setFixedWidth(_TITLE)

    def paintSection(self, painter: QPainter, rect: QRect, line: int) -> None:
        view, box = self._table, QRectF(rect)
        row = view.rows[line]
        painter.save()
        painter.fillRect(box, view.palette().base())
        _paint_rule(painter, view, box, line)
        name = EvaluationCell(row.title, note=row.note)
        _paint_texts(painter, view, box.adjusted(_PAD, 3, -_PAD, -3), name, row.strong, 0)
        painter.restore()


def _paint_line(painter: QPainter, box: QRectF, text: str) -> None:
    """Draw a line of text. Text that is too long is cut off and ends in “…”."""
    text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
    painter.drawText(box.adjusted(0, 0, 0, 1), MIDDLE, text)


_TITLE = 164  # Width in pixels of the header that shows the names of the rows.
_NARROWEST = 180  # Smallest width of a column in pixels.


class EvaluationTable(ResultTable):
    """The table of results by method (rows) and data set (columns).

    The arrow keys move the cursor. Enter or a click shows the runs of a cell. Alt+Down sorts by the current column.

    Attributes
    ----------
    heads : tuple of (title, note)
        Column headings: the name of a data set, and a note with the numbers of training and test rows, such as
        "generated, 1 200 / 50 000".
    rows : tuple of EvaluationRow
        Rows in their current order.
    ordered : bool
        True if the user can sort the rows.
    order : int or None
        Index of the column by which rows are sorted, or None for the original order of the rows.
    """

    # The user clicked a cell or pressed Enter on it. The argument is (keys of runs, name of method, column index).
    runs_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None, *, name: str = "Benchmark", ordered: bool = True) -> None:
        super().__init__(parent, name)
        self.heads: tuple[tuple[str, str], ...] = ()
        self.rows: tuple[EvaluationRow, ...] = ()
        self.ordered = ordered
        self.order: int | None = None
        self._given: tuple[EvaluationRow, ...] = ()
        self.setItemDelegate(EvaluationDelegate(self))
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalHeader(_RowTitles(self))
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        head.setMinimumSectionSize(_NARROWEST)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        head.setHighlightSections(False)
        head.setSectionsClickable(ordered)
        head.setSortIndicatorShown(ordered)
        head.sectionClicked.connect(self._head_clicked)
        head.sectionResized.connect(self._set_head)
        self.cell_clicked.connect(self._request_runs)

    def set_table(self, heads: Sequence[tuple[str, str]], rows: Sequence[EvaluationRow]) -> None:
        """Replace the column headings and rows. The rows are sorted by the same column as before."""
        self.heads, self._given = tuple(heads), tuple(rows)
        self.setColumnCount(len(heads))
        self.setRowCount(len(rows))
        for section, (title, _) in enumerate(heads):
            item = QTableWidgetItem()
            tips = (f"{title}: numbers of training and test rows", "Click to sort; click again for the paper’s order")
            item.setToolTip("\n".join(tips[: 1 + self.ordered]))
            self.setHorizontalHeaderItem(section, item)
            self._set_head(section, 0, self.horizontalHeader().sectionSize(section))
        self.set_order(self.order)

    @Slot(int, int, int)
    def _set_head(self, section: int, _before: int, width: int) -> None:
        """Show the two lines of a column heading. A line that is too long is cut off and ends in “…”."""
        item, metrics = self.horizontalHeaderItem(section), self.horizontalHeader().fontMetrics()
        if item is not None:
            available, end = width - 2 * _PAD - 2, Qt.TextElideMode.ElideRight
            item.setText("\n".join(metrics.elidedText(line, end, available) for line in self.heads[section]))

    def set_order(self, column: int | None) -> None:
        """Sort the rows by the column with index `column`, or restore their original order if it is None."""
        self.order, self.rows = column, self._given
        self.horizontalHeader().setSortIndicator(-1 if column is None else column, Qt.SortOrder.AscendingOrder)
        if column is not None and column < len(self.heads):

            def rank(row: EvaluationRow) -> tuple[bool, bool, tuple[float, ...]]:
                value = row.cells[column].rank
                return not row.key, value is None, value or ()

            self.rows = tuple(sorted(self.rows, key=rank))
        for line, row in enumerate(self.rows):
            title = QTableWidgetItem(", ".join(filter(None, (row.title, row.note))))
            title.setToolTip(title.text())
            self.setVerticalHeaderItem(line, title)
            for number, cell in enumerate(row.cells):
                # The text of the item is only for screen readers; the delegate draws the cell.
                item = QTableWidgetItem(", ".join(filter(None, (cell.main, cell.spoken, cell.aside, cell.note))))
                item.setToolTip(wrapped(cell.tip))
                self.setItem(line, number, item)

    def text(self) -> str:
        """Return the table as tab-separated text, with numbers in a format that other programs can read."""
        if not self.heads:
            return ""
        marks = ["significance"] * self.ordered
        lines = [["", *(part for head in self.heads for part in ("{} ({})".format(*head), *marks, "paper"))]]
        paper = "paper "  # The column has the title "paper", so its cells do not repeat this word.
        for row in self.rows:
            lines.append([" ".join(filter(None, (row.title, row.note)))])
            for cell in row.cells:
                lines[-1] += [cell.main or cell.note, *[cell.spoken] * len(marks), cell.aside.removeprefix(paper)]
        return plain("\n".join(map("\t".join, lines)))

    @Slot(int)
    def _head_clicked(self, section: int) -> None:
        self.set_order(None if self.order == section else section)

    @Slot(object)
    def _request_runs(self, place: tuple[int, int]) -> None:
        row, column = self.rows[place[0]], place[1]
        keys = row.cells[column].keys
        if keys:
            self.runs_requested.emit((keys, row.key, column))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.ordered and event.key() == Qt.Key.Key_Down and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._head_clicked(max(self.currentColumn(), 0))
        else:
            super().keyPressEvent(event)
