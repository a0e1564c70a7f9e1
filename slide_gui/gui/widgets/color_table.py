"""A table of numbers on coloured cells, with a legend of the colours below it."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from slide_gui.gui.theme import BLUE, SECONDARY, figure_font, ink_on, paint_ramp, sequential, theme_of, towards
from slide_gui.gui.widgets.painted import CENTRE, NOTHING, STALE, paint_placeholder, write
from slide_gui.text import isolated

# Sizes in pixels: preferred side and largest height of a cell, heights of the header and of the legend, and width of
# the legend's colour strip. The last value is the smallest height of cells at which row headings are shown.
_CELL, _TALLEST, _HEAD, _FOOT, _RAMP, _LEAST_HEADING = 52, 104, 24, 50, 72, 11
# In tables narrower than this number of pixels, the legend's text is below the colour strip instead of to its right.
_WIDE = 280


class ColorCell(NamedTuple):
    """A cell with text, a tooltip and a colour. If `intensity` (0 to 1) is None, the cell has no colour."""

    text: str
    tip: str
    intensity: float | None = None
    hue: str = BLUE


class _Cells(QStyledItemDelegate):
    """The Qt delegate that paints a table's cells, with frames around the outlined cells and the current cell."""

    def __init__(self, table: "ColorTable") -> None:
        super().__init__(table)
        self._table = table

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        table, box, place = self._table, QRectF(option.rect), (index.row(), index.column())
        theme, colour, text = theme_of(table), table.color(*place), str(index.data() or "")
        painter.fillRect(box, colour)
        painter.setFont(figure_font(table, SECONDARY, strong=place in table.outlined))
        metrics = painter.fontMetrics()
        if metrics.horizontalAdvance(text) <= box.width() - 2 and metrics.ascent() <= box.height():
            write(painter, box, CENTRE, text, ink_on(colour))
        frames = [theme.text] if place in table.outlined else []
        if table.hasFocus() and index == table.currentIndex():
            frames.append(theme.accent)
        for number, frame in enumerate(frames):
            for width, edge in ((4.0, theme.background), (2.0, frame)):
                inside = 1.0 + 3.0 * number
                painter.setPen(QPen(QColor(edge), width))
                painter.drawRect(box.adjusted(inside, inside, -inside, -inside))


class ResultTable(QTableWidget):
    """A read-only table. Arrow keys move the cursor from cell to cell. A click or Enter emits `cell_clicked`.

    Signals
    -------
    cell_clicked(object)
        The user clicked the cell at (row, column), or moved the cursor to this cell and pressed Enter.
    """

    cell_clicked = Signal(object)

    def __init__(self, parent: QWidget | None, name: str) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.clicked.connect(self._report)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Emit `cell_clicked` for the current cell if the user presses Enter.

        Qt's signal `activated` is not used, because a click also emits it in some of Qt's styles.
        """
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._report(self.currentIndex())
        else:
            super().keyPressEvent(event)

    @Slot(QModelIndex)
    def _report(self, index: QModelIndex) -> None:
        if index.isValid():
            self.cell_clicked.emit((index.row(), index.column()))


class ColorTable(ResultTable):
    """A table of coloured cells whose sizes change with the size of the table.

    Attributes
    ----------
    outlined : tuple of (row, column)
        Positions of the cells that have a frame.
    """

    def __init__(self, parent: QWidget | None = None, name: str = "") -> None:
        super().__init__(parent, name)
        self._cells: dict[tuple[int, int], ColorCell] = {}
        self._legend, self._stale = ("", BLUE), False
        self._placeholder = self._description = ""
        self.outlined: tuple[tuple[int, int], ...] = ()
        self.setItemDelegate(_Cells(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for head in (self.horizontalHeader(), self.verticalHeader()):
            head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            head.setMinimumSectionSize(4)
            head.setTextElideMode(Qt.TextElideMode.ElideMiddle)
            head.setFont(figure_font(self, SECONDARY))
        self.horizontalHeader().setFixedHeight(_HEAD)
        # Shorten long row headings at their end, because numbers at their beginning must remain visible.
        self.verticalHeader().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumSize(280, 140)
        self._describe()

    def sizeHint(self) -> QSize:
        return QSize(420, _HEAD + _CELL * max(self.rowCount(), 4) + _FOOT)

    def set_cells(
        self,
        rows: Sequence[tuple[str, str]],
        columns: Sequence[tuple[str, str]],
        cells: Mapping[tuple[int, int], ColorCell],
        legend: tuple[str, str],
        description: str,
        stale: bool = False,
    ) -> None:
        """Replace the contents of the table.

        Parameters
        ----------
        rows, columns : sequence of (str, str)
            Headings of the rows and columns with their tooltips.
        cells : mapping of (row, column) to ColorCell
            The cells. Positions that are not in the mapping remain empty.
        legend : tuple of (str, str)
            Text of the legend and hue of its colour strip.
        description : str
            Description of the table for screen readers.
        stale : bool
            If True, the cells are greyed to show that the parameters have changed since the cells were computed.
        """
        self._cells, self._legend, self._description, self._stale = dict(cells), legend, description, stale
        self.setRowCount(len(rows))
        self.setColumnCount(len(columns))
        for headings, show in ((rows, self.setVerticalHeaderItem), (columns, self.setHorizontalHeaderItem)):
            for number, heading in enumerate(headings):
                show(number, _item(*heading))
        for place in product(range(len(rows)), range(len(columns))):
            cell = self._cells.get(place, ColorCell("", ""))
            self.setItem(*place, _item(cell.text, cell.tip))
        self._fit()
        self._describe()

    def set_outlined(self, cells: Sequence[tuple[int, int]]) -> None:
        """Draw frames around the cells at these positions (row, column), and around no others."""
        self.outlined = tuple(cells)
        self.viewport().update()

    def set_placeholder(self, text: str) -> None:
        """Set the text that the table shows while it is empty, such as a hint on what to do next."""
        self._placeholder = text
        self._describe()

    def _describe(self) -> None:
        self.setAccessibleDescription((self._description if self._cells else self._placeholder) or NOTHING)
        self.viewport().update()

    def color(self, row: int, column: int) -> QColor:
        """Return the colour in which a cell is drawn."""
        theme, cell = theme_of(self), self._cells.get((row, column))
        page = QColor(theme.background)
        if cell is None or cell.intensity is None:
            return page
        colour = sequential(theme, cell.intensity, cell.hue)
        return towards(colour, page, STALE) if self._stale else colour

    def _fit(self) -> None:
        """Set the widths and heights of the cells so that all cells fit into the table.

        The width of a cell is at most `_CELL` or twice its height, whichever is larger.
        """
        self.verticalHeader().setMaximumWidth(2 * self.width() // 5)
        height = min((self.viewport().height() - _FOOT) // max(self.rowCount(), 1), _TALLEST)
        self.verticalHeader().setVisible(height >= _LEAST_HEADING)
        self.updateGeometries()
        width = min(self.viewport().width() // max(self.columnCount(), 1), max(2 * height, _CELL))
        self.verticalHeader().setDefaultSectionSize(height)
        self.horizontalHeader().setDefaultSectionSize(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        theme, view = theme_of(self), self.viewport()
        with QPainter(view) as painter:
            if not self._cells:
                paint_placeholder(painter, view, self._placeholder)
                return
            text, hue = self._legend
            paint_ramp(painter, theme, QRectF(0, self.verticalHeader().length() + 12, _RAMP, 8), hue)
            wrapped = int(Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
            write(painter, self.legend_box(), wrapped, text, theme.muted, figure_font(self, SECONDARY))

    def legend_box(self) -> QRectF:
        """Return the rectangle of the legend's text: right of the colour strip, or below it in a narrow table."""
        top, width, left = self.verticalHeader().length() + 8, self.viewport().width(), _RAMP + 8
        if width < _WIDE:
            return QRectF(0, top + 14, width, _FOOT - 14)
        return QRectF(left, top, width - left, _FOOT)


def _item(text: str, tip: str) -> QTableWidgetItem:
    item = QTableWidgetItem(isolated(text))
    item.setToolTip(isolated(tip))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, tip)
    return item
