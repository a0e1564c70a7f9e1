"""Small pieces of painting that several widgets share."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import Theme

__all__ = ["focus_ring", "frame", "snapped", "washed"]


def snapped(value: float, ratio: float) -> float:
    """Return a coordinate moved to the next device pixel."""
    return round(value * ratio) / ratio


def frame(painter: QPainter, box: QRectF, colour: str, radius: float = 0.0) -> None:
    """Draw a hairline just outside `box`."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), 1.0))
    outside = box.adjusted(-0.5, -0.5, 0.5, 0.5)
    if radius:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.drawRoundedRect(outside, radius, radius)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    else:
        painter.drawRect(outside)


def focus_ring(painter: QPainter, widget: QWidget, box: QRectF, theme: Theme) -> None:
    """Draw the focus ring round `box` if `widget` has the focus."""
    if not widget.hasFocus():
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.accent), 2.0))
    painter.drawRoundedRect(box.adjusted(-2.0, -2.0, 2.0, 2.0), 3.0, 3.0)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def washed(colour: str, alpha: float) -> QColor:
    """Return a token with an opacity."""
    found = QColor(colour)
    found.setAlphaF(alpha)
    return found
