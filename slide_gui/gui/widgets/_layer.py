"""What seldom changes, painted once: the cursor, hovering and pulses then cost little."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import theme_of

__all__ = ["Layer"]


class Layer:
    """A transparent picture of a widget's size, painted anew when its key, the size, theme or font changes."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] | None = None
        self._pixmap = QPixmap()

    def draw(self, painter: QPainter, widget: QWidget, key: Hashable, paint: Callable[[QPainter], None]) -> None:
        """Draw the layer at the top left; `paint` is called only if something is new."""
        ratio = widget.devicePixelRatioF()
        full = (key, widget.width(), widget.height(), ratio, theme_of(widget).name, widget.font().key())
        if full != self._key:
            self._pixmap = QPixmap(round(widget.width() * ratio), round(widget.height() * ratio))
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(Qt.GlobalColor.transparent)
            inner = QPainter(self._pixmap)
            inner.setFont(widget.font())
            paint(inner)
            inner.end()
            self._key = full
        painter.drawPixmap(0, 0, self._pixmap)
