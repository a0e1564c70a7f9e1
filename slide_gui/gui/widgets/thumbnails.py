"""A gallery of small images with captions: only those that are seen are made and painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import (
    CENTRE,
    CLICKS,
    STALE,
    focus_ring,
    frame,
    paint_callout,
    paint_placeholder,
    snapped,
)
from slide_gui.gui.widgets.pixels import ARROWS, INK, coloured_image, ink_table, integer_scale

__all__ = ["Thumbnail", "Thumbnails"]

EDGE, GAP, CAPTION = 8, 8, 18
SIDE = 64
MOST_DRAWN = 2000


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """One image.

    Parameters
    ----------
    index : int
        What a click tells, e.g. the sample's number.
    pixels : ndarray of shape (rows, columns) or (d,), float32
        0 to 1; d plain features are drawn as bars.
    caption : str
        Under it, e.g. "4 → 9".
    note : str
        A further line beside it while it is pointed at.
    """

    index: int
    pixels: NDArray[np.float32]
    caption: str = ""
    note: str = ""


class Thumbnails(QAbstractScrollArea):
    """Images in rows that fill the width, scrolled, hovered and clicked.

    Arrow keys, Page Up and Down, Home and End move, Enter clicks.
    """

    image_clicked = Signal(int)
    """Index of the image clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[Thumbnail, ...] = ()
        self._drawn: dict[int, QImage] = {}
        self._shape = (28, 28)
        self._placeholder = "No images."
        self._stale = False
        self._current: int | None = None
        self._selected: int | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, so that columns do not change when images arrive.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)
        self.setAccessibleName("Images")

    def sizeHint(self) -> QSize:
        return QSize(420, 320)

    # What is shown

    def set_images(self, items: Sequence[Thumbnail], stale: bool = False) -> None:
        """Show images in place of those before; `stale` greys them because parameters have moved on."""
        self._items, self._stale, self._current = tuple(items), stale, None
        self._drawn.clear()
        first = self._items[0].pixels if self._items else None
        if first is not None:
            self._shape = (first.shape[0], first.shape[1]) if first.ndim == 2 else (28, 28)
        self._scrolled_range()
        self.verticalScrollBar().setValue(0)
        self._describe()
        self.viewport().update()

    def set_selected(self, index: int | None) -> None:
        """Ring the image that is shown on the other pages."""
        self._selected = index
        self.viewport().update()

    def set_placeholder(self, text: str) -> None:
        """Say what to do next where there are no images."""
        self._placeholder = text
        self._describe()
        self.viewport().update()

    def _describe(self) -> None:
        if self._current is None:
            self.setAccessibleDescription(f"{len(self._items)} images" if self._items else self._placeholder)
        else:
            self.setAccessibleDescription("; ".join(self._lines(self._current)))

    def _lines(self, number: int) -> list[str]:
        item = self._items[number]
        return [item.caption or f"image {item.index}", *filter(None, [item.note])]

    @property
    def images(self) -> tuple[Thumbnail, ...]:
        """What is shown."""
        return self._items

    @property
    def stale(self) -> bool:
        """Whether it is greyed."""
        return self._stale

    @property
    def current(self) -> int | None:
        """Position of the image under mouse or keys."""
        return self._current

    @property
    def n_drawn(self) -> int:
        """How many images are drawn and remembered."""
        return len(self._drawn)

    # Geometry

    def _scale(self) -> float:
        ratio = self.devicePixelRatioF()
        return integer_scale(max(self._shape), SIDE, ratio)

    def _size(self) -> tuple[float, float]:
        """Return width and height of one image on the screen."""
        return self._shape[1] * self._scale(), self._shape[0] * self._scale()

    def _step(self) -> tuple[float, float]:
        wide, high = self._size()
        return max(wide, 48.0) + GAP, high + CAPTION + GAP

    def columns(self) -> int:
        """Return how many images stand side by side."""
        return max(1, int((self.viewport().width() - 2 * EDGE + GAP) // self._step()[0]))

    def place(self, number: int) -> QRectF:
        """Return where the image at position `number` is in the viewport, without its caption."""
        row, column = divmod(number, self.columns())
        (across, down), (wide, high), ratio = self._step(), self._size(), self.devicePixelRatioF()
        left = EDGE + column * across + (across - GAP - wide) / 2
        top = EDGE + row * down - self.verticalScrollBar().value()
        return QRectF(snapped(left, ratio), snapped(top, ratio), wide, high)

    def seen(self) -> range:
        """Return the positions of the images that are in view."""
        down, top = self._step()[1], self.verticalScrollBar().value() - EDGE
        first = max(int(top // down), 0) * self.columns()
        last = (int((top + self.viewport().height()) // down) + 1) * self.columns()
        return range(min(first, len(self._items)), min(last, len(self._items)))

    def _at(self, point: QPointF) -> int | None:
        for number in self.seen():
            if self.place(number).adjusted(-GAP / 2, -GAP / 2, GAP / 2, CAPTION + GAP / 2).contains(point):
                return number
        return None

    def _scrolled_range(self) -> None:
        rows = -(-len(self._items) // self.columns())
        whole = round(2 * EDGE + rows * self._step()[1] - GAP) if rows else 0
        bar = self.verticalScrollBar()
        bar.setRange(0, max(whole - self.viewport().height(), 0))
        bar.setEnabled(bar.maximum() > 0)
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(round(self._step()[1] / 2))

    # Painting

    def image(self, number: int) -> QImage:
        """Return the image at a position, made when it is first seen."""
        if number not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            pixels = self._items[number].pixels
            indices = INK.indices(pixels if pixels.ndim == 2 else _bars(pixels))
            self._drawn[number] = coloured_image(indices, ink_table(theme_of(self).is_dark))
        return self._drawn[number]

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self.viewport())
        if not self._items:
            paint_placeholder(painter, self.viewport(), self._placeholder)
        painter.setFont(figure_font(self, SECONDARY))
        metrics, dirty = QFontMetricsF(painter.font()), QRectF(event.rect())
        for number in self.seen():
            box = self.place(number)
            if box.adjusted(-GAP, -GAP, GAP, CAPTION + GAP).intersects(dirty):
                painter.setOpacity(STALE if self._stale else 1.0)
                painter.drawImage(box, self.image(number))
                painter.setOpacity(1.0)
                self._paint_frame(painter, number, box)
                below = QRectF(box.center().x() - self._step()[0] / 2, box.bottom(), self._step()[0], CAPTION)
                text = metrics.elidedText(self._items[number].caption, Qt.TextElideMode.ElideRight, below.width() - 2)
                painter.setPen(QColor(theme.text if number == self._current else theme.muted))
                painter.drawText(below, CENTRE, text)
        if self._current is not None:
            box = self.place(self._current)
            at = QPointF(box.right() - 8, box.top() + 8)
            if self._items[self._current].note:
                paint_callout(painter, self.viewport(), at, self._lines(self._current))
        focus_ring(painter, self, QRectF(self.viewport().rect()).adjusted(3, 3, -3, -3))
        painter.end()

    def _paint_frame(self, painter: QPainter, number: int, box: QRectF) -> None:
        theme = theme_of(self)
        frame(painter, box, theme.line)
        colour = theme.text if number == self._current else None
        if self._selected is not None and self._items[number].index == self._selected:
            colour = theme.accent
        if colour is not None:
            painter.setPen(QPen(QColor(colour), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(-2, -2, 2, 2))

    # Mouse, keys and scrolling

    def _show(self, number: int | None) -> None:
        if number != self._current:
            self._current = number
            self._describe()
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        number = self._at(event.position())
        shape = Qt.CursorShape.ArrowCursor if number is None else Qt.CursorShape.PointingHandCursor
        self.viewport().setCursor(shape)
        self._show(number)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and number is not None:
            self._show(number)
            self.image_clicked.emit(self._items[number].index)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._show(None)
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        page = max(int(self.viewport().height() // self._step()[1]), 1) * self.columns()
        jumps = {Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        if not self._items:
            super().keyPressEvent(event)
        elif key in ARROWS:
            down, right = ARROWS[key]
            self._go(down * self.columns() + right)
        elif key in jumps:
            self._go(jumps[key])
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go(len(self._items) * (1 if key == Qt.Key.Key_End else -1))
        elif key in CLICKS and self._current is not None:
            self.image_clicked.emit(self._items[self._current].index)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self._show(None)
        else:
            super().keyPressEvent(event)

    def _go(self, step: int) -> None:
        """Move by so many images, held at the ends, and scroll there."""
        number = self.seen().start if self._current is None else self._current + step
        number = min(max(number, 0), len(self._items) - 1)
        box, bar = self.place(number), self.verticalScrollBar()
        if box.top() < EDGE:
            bar.setValue(round(bar.value() + box.top() - EDGE))
        elif box.bottom() + CAPTION > self.viewport().height():
            bar.setValue(round(bar.value() + box.bottom() + CAPTION + EDGE - self.viewport().height()))
        self._show(number)

    def scrollContentsBy(self, _dx: int, _dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._scrolled_range()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._drawn.clear()
        super().changeEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.viewport().update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.viewport().update()
        super().focusOutEvent(event)


def _bars(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return plain features as bars, shape (28, 28); of several in one column the greatest counts."""
    starts = np.arange(28) * values.size // 28
    heights = values[starts] if values.size <= 28 else np.maximum.reduceat(values, starts)
    rows = np.arange(28, 0, -1)[:, None] / 28
    return np.asarray(rows <= np.maximum(heights, 1 / 28), np.float32)
