"""What widgets that paint themselves share: they follow the mouse, take the keyboard, show focus and pins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import Theme, theme_of
from slide_gui.gui.widgets.pixels import ARROWS

__all__ = ["CLICKS", "Layer", "Painted", "Picker", "Pointed", "focus_ring", "frame", "snapped", "washed"]


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


CLICKS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
"""Keys that stand for a click."""


class Painted(QWidget):
    """Base of the widgets in which something is pointed at by mouse or keys, and which say why they are empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._placeholder = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def set_placeholder(self, text: str) -> None:
        """Say what to do next where there is nothing."""
        self._placeholder = text
        self._describe()
        self.update()

    def _describe(self) -> None:
        """Bring the accessible description up to date."""

    def _leave(self) -> None:
        """Point at nothing: the mouse has left."""
        raise NotImplementedError

    def leaveEvent(self, event: QEvent) -> None:
        self._leave()
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusOutEvent(event)


class Pointed(Painted):
    """Base of those in which the mouse always points at one thing or at nothing.

    Attributes
    ----------
    shape : Qt.CursorShape
        Of the mouse over a thing.
    """

    shape = Qt.CursorShape.PointingHandCursor

    def _at(self, point: QPointF) -> Any:
        """Return what stands at a point, None for nothing."""
        raise NotImplementedError

    def _hover(self, found: Any) -> None:
        """Mark what is pointed at now, None for nothing."""
        raise NotImplementedError

    def _click(self, found: Any) -> None:
        """Tell that something was clicked."""

    def _leave(self) -> None:
        self._hover(None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if found is None else self.shape)
        self._hover(found)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self._hover(found)
            self._click(found)


class Picker(Pointed):
    """Base of the views in which one of `count` values is hovered and clicked.

    Arrow keys move the cursor, Home and End go to the first and last value, Enter and Space click.
    """

    shape = Qt.CursorShape.CrossCursor

    pixel_hovered = Signal(object)
    """Index under mouse or cursor (int), or None."""
    pixel_clicked = Signal(object)
    """Index clicked (int)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._count = 0
        self._cursor: int | None = None
        self._pins: tuple[tuple[int, QColor], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def cursor_index(self) -> int | None:
        """The value with the crosshair, None if there is none."""
        return self._cursor

    def set_cursor(self, index: int | None) -> None:
        """Put the crosshair on a value without emitting anything."""
        if index is not None and not 0 <= index < self._count:
            index = None
        if index != self._cursor:
            self._cursor = index
            self.update()

    def set_pins(self, pins: Sequence[tuple[int, QColor]]) -> None:
        """Put a thin ring of its colour on each pinned value."""
        self._pins = tuple(pins)
        self.update()

    def _set_count(self, count: int) -> None:
        self._count = count
        self.set_cursor(self._cursor)
        self.update()

    def _moved(self, step: tuple[int, int]) -> int:
        """Return the value one step on from the cursor."""
        raise NotImplementedError

    def _hover(self, index: int | None) -> None:
        if index != self._cursor:
            self.set_cursor(index)
            self.pixel_hovered.emit(self._cursor)

    def _click(self, found: int) -> None:
        self.pixel_clicked.emit(found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._count:
            super().keyPressEvent(event)
        elif key in ARROWS:
            self._hover(self._moved(ARROWS[key]))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._hover(0 if key == Qt.Key.Key_Home else self._count - 1)
        elif key in CLICKS and self._cursor is not None:
            self.pixel_clicked.emit(self._cursor)
        else:
            super().keyPressEvent(event)


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
