"""How the benchmark's table is drawn: its head, and each cell with its mark, figures and course."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._benchmark_model import BenchmarkCell, BenchmarkHead, BenchmarkModel, BenchmarkRow, Index
from slide_gui.gui.widgets._standing import paint_mark, standing_color

__all__ = ["HEAD", "ROW", "BenchmarkDelegate", "BenchmarkHeader"]

ROW, HEAD = 38, 44
"""Heights of a row and of the head, in pixels."""
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_PAD, _MARK = 6, 9
_GAP = 6  # least room between a cell's figure and what stands right of it


class BenchmarkHeader(QHeaderView):
    """Title and note of each column, and which column gives the order."""

    def __init__(self, model: BenchmarkModel, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._content = model
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setFixedHeight(HEAD)
        self.setStyleSheet("QHeaderView { border: 0; }")  # the frame of the table goes round the head too

    def paintSection(self, painter: QPainter, rect: Any, section: int) -> None:
        theme, box = theme_of(self), QRectF(rect)
        painter.fillRect(box, QColor(theme.panel))
        painter.fillRect(QRectF(box.left(), box.bottom() - 1, box.width(), 1), QColor(theme.line))
        if not section and not self._content.ordered:
            return
        head = self._content.heads[section - 1] if section else BenchmarkHead("Method", "the paper’s order")
        room = box.adjusted(_PAD, 5, -_PAD, -5)
        order = self._content.order
        chosen = self._content.ordered and section == (0 if order is None else order + 1)
        painter.setFont(figure_font(self, BODY, strong=True))
        painter.setPen(QColor(theme.accent_text if chosen else theme.text))
        _line(painter, room, head.title + (" ↓" if chosen else ""), top=True)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        _line(painter, room, head.note, top=False)


class BenchmarkDelegate(QStyledItemDelegate):
    """Draws a cell."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view, model = self.parent(), index.model()
        assert isinstance(view, QTableView)
        assert isinstance(model, BenchmarkModel)
        theme, box, row, cell = theme_of(view), QRectF(option.rect), model.rows[index.row()], model.cell(index)
        last = index.row() + 1 < len(model.rows) and bool(row.key) and not model.rows[index.row() + 1].key
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        if cell is not None and cell.standing in ("better", "worse"):
            wash = QColor(standing_color(cell.standing, theme))
            wash.setAlphaF(0.16)
            painter.fillRect(box.adjusted(0, 0, -1, -1), wash)
        elif cell is not None and cell.keys and bool(option.state & QStyle.StateFlag.State_MouseOver):
            painter.fillRect(box.adjusted(0, 0, -1, -1), QColor(theme.hover))
        painter.fillRect(
            QRectF(box.left(), box.bottom() - 1, box.width(), 1), QColor(theme.muted if last else theme.line)
        )
        room = box.adjusted(_PAD, 3, -_PAD, -3)
        if cell is None:
            self._paint_title(painter, view, room, row)
        else:
            self._paint_cell(painter, view, room, row, cell)
            if cell.fraction is not None:
                done = box.width() * min(max(cell.fraction, 0.0), 1.0)
                painter.fillRect(QRectF(box.left(), box.bottom() - 3, box.width(), 3), QColor(theme.line))
                painter.fillRect(QRectF(box.left(), box.bottom() - 3, done, 3), QColor(theme.accent))
        if view.hasFocus() and view.currentIndex() == index:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(box.adjusted(1, 1, -2, -2))
        painter.restore()

    def _paint_title(self, painter: QPainter, view: QWidget, room: QRectF, row: BenchmarkRow) -> None:
        theme = theme_of(view)
        painter.setFont(figure_font(view, BODY, strong=row.strong))
        painter.setPen(QColor(theme.text))
        if not row.note:
            painter.drawText(room, _LEFT, row.title)
            return
        _line(painter, room, row.title, top=True)
        painter.setFont(figure_font(view, SECONDARY))
        painter.setPen(QColor(theme.muted))
        _line(painter, room, row.note, top=False)

    def _paint_cell(
        self, painter: QPainter, view: QWidget, room: QRectF, row: BenchmarkRow, cell: BenchmarkCell
    ) -> None:
        theme = theme_of(view)
        upper = QRectF(room.left(), room.top(), room.width(), room.height() / 2 + 1)
        model = view.model() if isinstance(view, QTableView) else None
        indent = _MARK + 6 if isinstance(model, BenchmarkModel) and model.ordered else 0
        text = upper.adjusted(indent, 0, 0, 0)
        if cell.standing:
            middle = QRectF(room.left(), upper.center().y() - _MARK / 2, _MARK, _MARK)
            paint_mark(painter, middle, cell.standing, theme)
        painter.setFont(figure_font(view, BODY, strong=row.strong))
        painter.setPen(QColor(theme.text))
        painter.drawText(text, _LEFT, cell.main)
        taken = painter.fontMetrics().horizontalAdvance(cell.main)
        painter.setFont(figure_font(view, SECONDARY))
        painter.setPen(QColor(theme.muted))
        wide = painter.fontMetrics().horizontalAdvance(cell.aside)
        beside = not taken or not wide or taken + _GAP + wide <= text.width()
        lower = upper.translated(0, room.height() / 2)
        painter.drawText(upper if beside else lower, _RIGHT, cell.aside)
        if cell.running:
            painter.setPen(QColor(theme.accent_text))
        _line(painter, room.adjusted(indent, 0, 0 if beside else -wide - _GAP, 0), cell.note, top=False)


def _line(painter: QPainter, room: QRectF, text: str, top: bool) -> None:
    """Write one of two lines, cut with an ellipsis where it is too long."""
    half = room.height() / 2
    box = QRectF(room.left(), room.top() if top else room.top() + half, room.width(), half + 1)
    text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(box.width()))
    painter.drawText(box, _LEFT, text)
