"""What every view of one sample shares: a cursor moved by mouse or keys, pins, and two signals."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.widgets._painted import CLICKS, Pointed
from slide_gui.gui.widgets._pixels import ARROWS

__all__ = ["Picker"]


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
