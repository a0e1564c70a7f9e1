"""How the table of runs is drawn: chosen and hovered lines, and why it is empty."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._callout import paint_placeholder
from slide_gui.gui.widgets._run_model import Index

__all__ = ["PADDING", "ROW", "TEXT", "RunDelegate", "RunView"]

ROW = 28
PADDING = 8
TEXT = SECONDARY + 1


class RunDelegate(QStyledItemDelegate):
    """Draws a cell: chosen rows on the accent's wash, an accent bar on the line that has the keys."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view = self.parent()
        assert isinstance(view, RunView)
        theme, box = theme_of(view), QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen or index.row() == view.hovered:
            painter.fillRect(box, QColor(theme.accent_wash if chosen else theme.hover))
        current = view.hasFocus() and index.row() == view.currentIndex().row()
        if current and view.columnViewportPosition(index.column()) <= 0:
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), QColor(theme.accent))
        font = figure_font(view, TEXT)
        painter.setFont(font)
        painter.setPen(QColor(theme.accent_text if chosen else theme.text))
        room = box.adjusted(PADDING, 0, -PADDING, 0)
        text = str(index.data())
        if QFontMetricsF(font).horizontalAdvance(text) > room.width():
            text = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, int(index.data(Qt.ItemDataRole.TextAlignmentRole)), text)


class RunView(QTableView):
    """A table that says why it is empty."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._empty = ""
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

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._empty:
            painter = QPainter(self.viewport())
            paint_placeholder(painter, self.viewport(), self._empty)
            painter.end()
