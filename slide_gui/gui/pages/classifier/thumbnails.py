"""A gallery of small images with captions that renders only visible images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import (
    CENTRE,
    STALE,
    Pointed,
    focus_ring,
    frame,
    paint_callout,
    paint_placeholder,
    snapped,
)
from slide_gui.gui.widgets.pixels import INK, coloured_image, ink_table, integer_scale
from slide_gui.text import counted

EDGE, GAP, CAPTION = 8, 8, 18
SIDE = 64
MOST_DRAWN = 2000


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """An image of the gallery.

    Parameters
    ----------
    index : int
        Number that a click reports, such as the number of the sample.
    pixels : ndarray of shape (rows, columns) or (d,), float32
        Values from 0 to 1; d features that are not pixels are drawn as bars.
    caption : str
        Text below it, such as "4 → 9".
    note : str
        Further line of the callout.
    """

    index: int
    pixels: NDArray[np.float32]
    caption: str = ""
    note: str = ""


class Thumbnails(Pointed):
    """Images in rows that fill the width, with scrolling, hovering and clicking.

    Arrow keys, Page Up and Down, Home and End move, Enter clicks.

    Attributes
    ----------
    bar : QScrollBar
        Always visible, so that the number of columns does not change when images arrive.
    """

    image_clicked = Signal(int)
    """Index of the clicked image."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[Thumbnail, ...] = ()
        self._drawn: dict[int, QImage] = {}
        self._shape = (28, 28)
        self._placeholder = "There are no images."
        self._stale = False
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.valueChanged.connect(self.update)
        self.setContentsMargins(0, 0, self.bar.sizeHint().width(), 0)
        self._chosen: int | None = None
        self.setMinimumSize(160, 88)
        self.setAccessibleName("Gallery of images")

    def sizeHint(self) -> QSize:
        return QSize(420, 320)

    # Contents

    def set_images(self, items: Sequence[Thumbnail], stale: bool = False) -> None:
        """Replace the images; `stale` greys them because the parameters have changed."""
        self._items, self._stale, self._current = tuple(items), stale, None
        self._drawn.clear()
        first = self._items[0].pixels if self._items else None
        if first is not None:
            self._shape = (first.shape[0], first.shape[1]) if first.ndim == 2 else (28, 28)
        self._scrolled_range()
        self.bar.setValue(0)
        self._describe()
        self.update()

    def _describe(self) -> None:
        if self._current is None:
            self.setAccessibleDescription(counted(len(self._items), "image") if self._items else self._placeholder)
        else:
            self.setAccessibleDescription("; ".join(self._lines(self._current)))

    def _lines(self, number: int) -> list[str]:
        item = self._items[number]
        return [item.caption or f"image {item.index}", *filter(None, [item.note])]

    def set_chosen(self, index: int | None) -> None:
        """Outline the image of this index, or none."""
        if index != self._chosen:
            self._chosen = index
            self.update()

    @property
    def images(self) -> tuple[Thumbnail, ...]:
        """Return the images."""
        return self._items

    @property
    def stale(self) -> bool:
        """Return True if the images are grey."""
        return self._stale

    @property
    def current(self) -> int | None:
        """Return the position of the image under mouse or cursor."""
        number: int | None = self._current
        return number

    @property
    def n_drawn(self) -> int:
        """Return the number of images rendered so far."""
        return len(self._drawn)

    # Geometry

    def _size(self) -> tuple[float, float]:
        scale = integer_scale(max(self._shape), SIDE, self.devicePixelRatioF())
        return self._shape[1] * scale, self._shape[0] * scale

    def _step(self) -> tuple[float, float]:
        wide, high = self._size()
        return max(wide, 48.0) + GAP, high + CAPTION + GAP

    def columns(self) -> int:
        """Return the number of images per row."""
        return max(1, int((self.contentsRect().width() - 2 * EDGE + GAP) // self._step()[0]))

    def place(self, number: int) -> QRectF:
        """Return the rectangle of an image in the widget, given its position, without its caption."""
        row, column = divmod(number, self.columns())
        (across, down), (wide, high), ratio = self._step(), self._size(), self.devicePixelRatioF()
        left = EDGE + column * across + (across - GAP - wide) / 2
        top = EDGE + row * down - self.bar.value()
        return QRectF(snapped(left, ratio), snapped(top, ratio), wide, high)

    def seen(self) -> range:
        """Return the positions of the visible images."""
        down, top = self._step()[1], self.bar.value() - EDGE
        first = max(int(top // down), 0) * self.columns()
        last = (int((top + self.height()) // down) + 1) * self.columns()
        return range(min(first, len(self._items)), min(last, len(self._items)))

    def _at(self, point: QPointF) -> int | None:
        for number in self.seen():
            if self.place(number).adjusted(-GAP / 2, -GAP / 2, GAP / 2, CAPTION + GAP / 2).contains(point):
                return number
        return None

    def _scrolled_range(self) -> None:
        rows = -(-len(self._items) // self.columns())
        height = round(2 * EDGE + rows * self._step()[1] - GAP) if rows else 0
        bar = self.bar
        bar.setRange(0, max(height - self.height(), 0))
        bar.setEnabled(bar.maximum() > 0)
        bar.setPageStep(self.height())
        bar.setSingleStep(round(self._step()[1] / 2))

    # Painting

    def image(self, number: int) -> QImage:
        """Return the image at a position, rendered when it is first visible."""
        if number not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            pixels = self._items[number].pixels
            indices = INK.indices(pixels if pixels.ndim == 2 else _bars(pixels))
            self._drawn[number] = coloured_image(indices, ink_table(theme_of(self).is_dark))
        return self._drawn[number]

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        if not self._items:
            paint_placeholder(painter, self, self._placeholder)
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
                text = metrics.elidedText(self._items[number].caption, Qt.TextElideMode.ElideMiddle, below.width() - 2)
                painter.setPen(QColor(theme.text if number == self._current else theme.muted))
                painter.drawText(below, CENTRE, text)
        if self._current is not None:
            box = self.place(self._current)
            at = QPointF(box.right() - 8, box.top() + 8)
            if self._items[self._current].note:
                paint_callout(painter, self, at, self._lines(self._current))
        focus_ring(painter, self, QRectF(self.contentsRect()).adjusted(3, 3, -3, -3))
        painter.end()

    def _paint_frame(self, painter: QPainter, number: int, box: QRectF) -> None:
        theme = theme_of(self)
        frame(painter, box, theme.line)
        if self._items[number].index == self._chosen:
            painter.setPen(QPen(QColor(theme.accent), 3.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(-2, -2, 2, 2))
        if number == self._current:
            painter.setPen(QPen(QColor(theme.text), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(-2, -2, 2, 2))

    # Mouse, keys and scrolling

    def _click(self, target: int) -> None:
        self.image_clicked.emit(self._items[target].index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.setAccepted(self.bar.event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        page = max(int(self.height() // self._step()[1]), 1) * self.columns()
        jump = {Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}.get(Qt.Key(event.key()))
        target = None if jump is None else self._moved(jump)
        if target is None:
            super().keyPressEvent(event)
        else:
            self._go(target)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        return self._moved(step[0] * self.columns() + step[1])

    def _end(self, last: bool) -> int | None:
        return self._moved(len(self._items) * (1 if last else -1))

    def _moved(self, step: int) -> int | None:
        """Return the position `step` images further, within the gallery; the first visible one without a cursor."""
        if not self._items:
            return None
        number = self.seen().start if self._current is None else self._current + step
        return min(max(number, 0), len(self._items) - 1)

    def _go(self, target: int) -> None:
        """Move the cursor to an image and scroll there."""
        box, bar = self.place(target), self.bar
        if box.top() < EDGE:
            bar.setValue(round(bar.value() + box.top() - EDGE))
        elif box.bottom() + CAPTION > self.height():
            bar.setValue(round(bar.value() + box.bottom() + CAPTION + EDGE - self.height()))
        self._hover(target)

    def resizeEvent(self, event: QResizeEvent) -> None:
        wide = self.bar.sizeHint().width()
        self.setContentsMargins(0, 0, wide, 0)
        self.bar.setGeometry(self.width() - wide, 0, wide, self.height())
        self._scrolled_range()
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._drawn.clear()
        super().changeEvent(event)


def _bars(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Draw features that are not pixels as bars, shape (28, 28); a shared column shows the largest value."""
    starts = np.arange(28) * values.size // 28
    heights = values[starts] if values.size <= 28 else np.maximum.reduceat(values, starts)
    rows = np.arange(28, 0, -1)[:, None] / 28
    return np.asarray(rows <= np.maximum(heights, 1 / 28), np.float32)
