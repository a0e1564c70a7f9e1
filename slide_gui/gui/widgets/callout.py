"""A small note beside what is pointed at, painted inside its widget: the same for mouse and keys, and at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of

__all__ = ["paint_callout", "paint_placeholder"]

PAD_X, PAD_Y, LINE, AWAY = 8, 6, 16, 12


def callout_box(widget: QWidget, anchor: QPointF, lines: Sequence[str]) -> QRectF:
    """Return where the note stands: above right of `anchor`, turned to the side with room, inside the widget."""
    wide = max(
        QFontMetricsF(figure_font(widget, SECONDARY, strong=not number)).horizontalAdvance(text)
        for number, text in enumerate(lines)
    )
    size_x, size_y = wide + 2 * PAD_X, LINE * len(lines) + 2 * PAD_Y
    x = anchor.x() + AWAY
    if x + size_x > widget.width() - 2:
        x = anchor.x() - AWAY - size_x
    y = anchor.y() - AWAY - size_y
    if y < 2:
        y = anchor.y() + AWAY
    x = max(2.0, min(x, widget.width() - 2 - size_x))
    y = max(2.0, min(y, widget.height() - 2 - size_y))
    return QRectF(round(x), round(y), round(size_x), size_y)


def paint_callout(painter: QPainter, widget: QWidget, anchor: QPointF, lines: Sequence[str]) -> None:
    """Draw the note, its first line strong, in the colours of tooltips."""
    theme, box = theme_of(widget), callout_box(widget, anchor, lines)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(QColor(theme.background), 1.0))
    painter.setBrush(QColor(theme.text))
    painter.drawRoundedRect(box.adjusted(-0.5, -0.5, 0.5, 0.5), 4.0, 4.0)
    painter.setPen(QColor(theme.background))
    for number, text in enumerate(lines):
        painter.setFont(figure_font(widget, SECONDARY, strong=not number))
        place = QRectF(box.x() + PAD_X, box.y() + PAD_Y + number * LINE, box.width(), LINE)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)
    painter.restore()


def paint_placeholder(painter: QPainter, widget: QWidget, text: str) -> None:
    """Say in the middle of an empty widget what to do next."""
    painter.setPen(QColor(theme_of(widget).muted))
    painter.setFont(figure_font(widget))
    room = QRectF(widget.rect()).adjusted(16, 8, -16, -8)
    painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), text)
