"""An image to draw on: strokes of a square brush, a cell toggled by the keyboard, undo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.image_view import MARGIN, ImageView
from slide_gui.gui.widgets.painted import CLICKS, washed
from slide_gui.gui.widgets.pixels import PixelGrid

__all__ = ["LARGEST_BRUSH", "DrawingCanvas"]

LARGEST_BRUSH = 5
_HISTORY = 100
Image = NDArray[np.float32]


class DrawingCanvas(ImageView):
    """The left button draws ones, the right one, or Shift with the left, erases to zero.

    Arrow keys move the cell cursor, Space or Enter toggles the cell, Ctrl+Z takes the last stroke back.
    """

    drawn = Signal(object)
    """The image as it is now, ndarray of shape (rows, columns), never changed afterwards."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._given: Image | None = None
        self._history: list[Image] = []
        self._brush = 1
        self._ink: float | None = None  # while a button is down
        self._last = 0
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setAccessibleName("Input image, to draw on")
        self.setToolTip("Draw with the left button, erase with the right one or Shift; Space toggles the cell (Ctrl+Z)")

    def sizeHint(self) -> QSize:
        return QSize(196 + 2 * MARGIN, 196 + 2 * MARGIN)

    @property
    def image(self) -> Image | None:
        """The image as drawn."""
        return self._values

    @property
    def is_drawn_on(self) -> bool:
        """Whether the image is another than was given."""
        return self._values is not None and self._given is not None and not np.array_equal(self._values, self._given)

    @property
    def can_undo(self) -> bool:
        """Whether there is a stroke to take back."""
        return bool(self._history)

    def set_image(self, values: Image, stale: bool = False) -> None:
        self._given, self._history, self._ink = values, [], None
        super().set_image(values, stale)
        self._describe()

    @Slot(int)
    def set_brush(self, side: int) -> None:
        """Choose how many cells wide strokes are, 1 to `LARGEST_BRUSH`."""
        self._brush = min(max(side, 1), LARGEST_BRUSH)
        self.update()

    @Slot()
    def undo(self) -> None:
        """Take the last stroke back."""
        if self._history:
            self._show(self._history.pop())

    @Slot()
    def reset(self) -> None:
        """Go back to the image that was given, as one stroke that can be taken back."""
        if self.is_drawn_on:
            assert self._given is not None
            self._remember()
            self._show(self._given)

    # Strokes

    def _remember(self) -> None:
        assert self._values is not None
        self._history = [*self._history[1 - _HISTORY :], self._values]

    def _show(self, values: Image) -> None:
        super().set_image(values)
        self._describe()
        self.drawn.emit(values)

    def _covered(self, index: int) -> tuple[slice, slice]:
        """Return the rows and columns under the brush."""
        assert self._values is not None
        row, column = divmod(index, self._values.shape[1])
        before, after = (self._brush - 1) // 2, self._brush // 2 + 1
        return slice(max(row - before, 0), row + after), slice(max(column - before, 0), column + after)

    def _stroke(self, index: int, ink: float) -> None:
        """Draw from the last cell to this one."""
        if self._values is None:
            return
        values, columns = self._values.copy(), self._values.shape[1]
        (r0, c0), (r1, c1) = divmod(self._last, columns), divmod(index, columns)
        steps = max(abs(r1 - r0), abs(c1 - c0), 1)
        for k in range(steps + 1):
            row, column = round(r0 + (r1 - r0) * k / steps), round(c0 + (c1 - c0) * k / steps)
            values[self._covered(row * columns + column)] = ink
        self._last = index
        if not np.array_equal(values, self._values):
            self._show(values)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position())
        if index is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
            return
        erase = event.button() == Qt.MouseButton.RightButton
        erase = erase or bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._hover(index)
        self._remember()
        self._ink, self._last = 0.0 if erase else 1.0, index
        self._stroke(index, self._ink)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self._at(event.position())
        if self._ink is not None and index is not None:
            self._stroke(index, self._ink)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        if self._ink is not None:
            self._ink = None
            if self._history and self._values is not None and np.array_equal(self._history[-1], self._values):
                self._history.pop()  # nothing was changed

    # Keys

    def event(self, event: QEvent) -> bool:
        # While strokes can be taken back, they are, before what the window would undo.
        overrides = event.type() == QEvent.Type.ShortcutOverride and self.can_undo
        if overrides and isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Undo) and self.can_undo:
            self.undo()
        elif event.key() in CLICKS and self._values is not None:
            index = self._stepped((0, 0)) if self._current is None else self._current
            assert index is not None
            self._hover(index)
            self._remember()
            self._last = index
            self._stroke(index, 0.0 if self._values.flat[index] > 0.5 else 1.0)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._describe()

    def _describe(self) -> None:
        if self._values is None:
            return
        lit = int(np.count_nonzero(self._values > 0.5))
        text = f"{lit} of {self._values.size} cells above one half"
        if self._current is not None:
            row, column = divmod(self._current, self._values.shape[1])
            text = f"row {row}, column {column}: {float(self._values[row, column]):.2f}; {text}"
        self.setAccessibleDescription(text)

    def _paint_cursor(self, painter: QPainter, grid: PixelGrid, index: int) -> None:
        if self._brush == 1:
            super()._paint_cursor(painter, grid, index)
            return
        rows, columns = self._covered(index)
        last = min(rows.stop, grid.shape[0]) - 1, min(columns.stop, grid.shape[1]) - 1
        box = grid.rect(rows.start * grid.shape[1] + columns.start).united(grid.rect(last[0] * grid.shape[1] + last[1]))
        theme = theme_of(self)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for colour, width in ((washed(theme.paper, 0.8), 3.5), (QColor(theme.accent), 1.5)):
            painter.setPen(QPen(colour, width))
            painter.drawRect(box)
