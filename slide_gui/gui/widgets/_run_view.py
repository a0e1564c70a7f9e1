"""How the table of runs is drawn: chosen and hovered lines, and why it is empty."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets._callout import paint_placeholder
from slide_gui.gui.widgets._run_model import COLUMNS, Column, Index, RunModel, RunRow

__all__ = ["PADDING", "ROW", "TEXT", "RunDelegate", "RunView"]

LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
ROW = 28
PADDING = 3
TEXT = SECONDARY + 1


class RunDelegate(QStyledItemDelegate):
    """Draws a cell: chosen rows on the accent's wash, an accent bar on the line that has the keys."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view = self.parent()
        assert isinstance(view, RunView)
        (theme, font, metrics), box = view.look(), QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen or index.row() == view.hovered:
            painter.fillRect(box, QColor(theme.accent_wash if chosen else theme.hover))
        current = view.hasFocus() and index.row() == view.currentIndex().row()
        if current and view.columnViewportPosition(index.column()) <= 0:
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), QColor(theme.accent))
        painter.setFont(font)
        less = bool(view.run(index).note)
        painter.setPen(QColor(theme.accent_text if chosen else theme.muted if less else theme.text))
        room = box.adjusted(PADDING, 0, -PADDING, 0)
        column, text = view.column_and_text(index)
        if metrics.horizontalAdvance(text) > room.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, RIGHT if column.is_number else LEFT, text)


class RunView(QTableView):
    """A table that says why it is empty."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._empty = ""
        self._look: tuple[Theme, QFont, QFontMetricsF] | None = None
        self.hovered = -1
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.indexAt(event.position().toPoint()).row())
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(-1)
        super().leaveEvent(event)

    def _hover(self, line: int) -> None:
        if line != self.hovered:
            for changed in (self.hovered, line):
                self.viewport().update(0, self.rowViewportPosition(changed), self.viewport().width(), ROW)
            self.hovered = line

    def set_empty_text(self, text: str) -> None:
        """Say what to do next; "" while there are rows."""
        if text != self._empty:
            self._empty = text
            self.setAccessibleDescription(text)
            self.viewport().update()

    def run(self, index: Index) -> RunRow:
        """Return the run of a cell; asking the model itself is faster than through Qt."""
        model = self.model()
        assert isinstance(model, RunModel)
        return model.row(index.row())

    def column_and_text(self, index: Index) -> tuple[Column, str]:
        """Return the column of a cell and what it says."""
        column = COLUMNS[index.column()]
        return column, column.text(self.run(index))

    def look(self) -> tuple[Theme, QFont, QFontMetricsF]:
        """Return theme, font and its metrics, asked for once a painting and not once a cell."""
        if self._look is None:
            font = figure_font(self, TEXT)
            self._look = theme_of(self), font, QFontMetricsF(font)
        return self._look

    def paintEvent(self, event: QPaintEvent) -> None:
        self._look = None
        super().paintEvent(event)
        if self._empty:
            painter = QPainter(self.viewport())
            paint_placeholder(painter, self.viewport(), self._empty)
            painter.end()
