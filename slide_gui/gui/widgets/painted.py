"""Helpers for widgets that paint their contents: images, marks, callouts, and base classes for user input."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.text import isolated

STALE = 0.65
"""The opacity of greyed contents, which are blended with the colour of the page."""
CENTRE = int(Qt.AlignmentFlag.AlignCenter)
MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

INK = ColorScale("grey", 0.0, 1.0)
"""The colour scale from white to black in the light theme, and from near black to white in the dark theme."""

ARROWS = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
"""The step of each arrow key on the screen, as (rows, columns)."""

LARGE = 16.0
"""A ring is drawn inside an image pixel if the side of this pixel is at least this number of logical pixels long."""


@dataclass(frozen=True)
class PixelGrid:
    """The pixels of an image on the screen.

    Parameters
    ----------
    shape : tuple of (rows, columns)
        Shape of the data.
    x, y : float
        Top left corner in logical pixels.
    scale : float
        Side of one pixel in logical pixels.
    """

    shape: tuple[int, int]
    x: float
    y: float
    scale: float

    @property
    def frame(self) -> QRectF:
        """Return the rectangle of the image."""
        rows, columns = self.shape
        return QRectF(self.x, self.y, columns * self.scale, rows * self.scale)

    def at(self, point: QPointF) -> int | None:
        """Return the pixel under a point, or None if the point is outside the image."""
        rows, columns = self.shape
        row, column = int((point.y() - self.y) // self.scale), int((point.x() - self.x) // self.scale)
        return row * columns + column if 0 <= row < rows and 0 <= column < columns else None

    def rect(self, index: int) -> QRectF:
        """Return the rectangle of a pixel."""
        row, column = divmod(index, self.shape[1])
        return QRectF(self.x + column * self.scale, self.y + row * self.scale, self.scale, self.scale)

    def moved(self, index: int | None, step: tuple[int, int]) -> int:
        """Return the pixel that is one `step` from `index` in the image, or the central pixel if `index` is None."""
        rows, columns = self.shape
        if index is None:
            return rows // 2 * columns + columns // 2
        row, column = divmod(index, columns)
        return min(max(row + step[0], 0), rows - 1) * columns + min(max(column + step[1], 0), columns - 1)


def integer_scale(pixels: int, extent: float, ratio: float) -> float:
    """Return the largest side length of an image pixel with which `pixels` pixels fit into the length `extent`.

    The side length is an integer number of device pixels, or a device pixel divided by an integer if space is short.
    """
    device = extent * ratio
    pixels_per = int(device // max(pixels, 1))
    if pixels_per >= 1:
        return pixels_per / ratio
    return 1.0 / (ratio * max(1.0, -(-pixels // max(device, 1.0))))


@cache
def _packed(scale_map: str) -> NDArray[np.uint32]:
    lut = ColorScale(scale_map, -1.0, 1.0).lut().astype(np.uint32)
    return np.asarray(0xFF000000 | lut[:, 0] << 16 | lut[:, 1] << 8 | lut[:, 2], np.uint32)


def colour_table(scale: ColorScale, zeroth: QColor | None = None) -> NDArray[np.uint32]:
    """Return the colours of a scale as 0xFFRRGGBB, shape (256,), with entry 0 replaced by `zeroth` if given."""
    table = _packed(scale.map)
    if zeroth is not None:
        table = table.copy()
        table[0] = zeroth.rgb()
    return table


def crosshair(box: QRectF, spot: QRectF, gap: float | None = None) -> list[QLineF]:
    """Return the lines of a cross-hair across `box`, centred on `spot`.

    The lines end at the distance `gap` from the centre of `spot`, by default 2 pixels outside `spot`.
    """
    x, y = spot.center().x(), spot.center().y()
    gap = 0.5 * spot.width() + 2.0 if gap is None else gap
    lines = (
        QLineF(x, box.top(), x, y - gap),
        QLineF(x, y + gap, x, box.bottom()),
        QLineF(box.left(), y, x - gap, y),
        QLineF(x + gap, y, box.right(), y),
    )
    return [line for line in lines if line.dx() > 0.0 or line.dy() > 0.0]


def coloured_image(indices: NDArray[np.uint8], table: NDArray[np.uint32]) -> QImage:
    """Return the image of colour indices, with its own copy of the pixels.

    The colour table is applied here, not by Qt. Without smoothing, Qt's raster engine draws 32-bit images ten times as
    fast as indexed images (9 and 120 µs for an image of 28 × 28 pixels enlarged to 112 × 112).
    """
    pixels = table[indices]
    height, width = indices.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def image_of(values: NDArray[np.float32], scale: ColorScale, theme: Theme, *, zeroth: QColor | None = None) -> QImage:
    """Return the image of values, shape (rows, columns), in the colours of a scale.

    If `zeroth` is given, it is the colour of NaN.
    """
    table = colour_table(scale, zeroth)
    if scale is INK and not theme.is_dark:
        table = np.concatenate([table[:1], table[:0:-1]])
    return coloured_image(scale.indices(values), table)


def ring(painter: QPainter, around: QRectF, colour: QColor, halo: QColor, width: float = 2.0) -> None:
    """Draw a thin ring around a pixel, with a halo that separates it from the image.

    The ring is inside a large pixel, or completely outside a small pixel.
    """
    side, centre = around.width(), around.center()
    radius = 0.5 * side - width - 1.0 if side >= LARGE else max(0.71 * side + 0.5 * width, 4.5)
    image = _ring_image(radius, colour.rgba(), halo.rgba(), width, painter.device().devicePixelRatio())
    half = 0.5 * image.width() / image.devicePixelRatio()
    painter.drawImage(QPointF(centre.x() - half, centre.y() - half), image)


@lru_cache(maxsize=64)
def _ring_image(radius: float, colour: int, halo: int, width: float, ratio: float) -> QImage:
    """Return a ring on a transparent image. Painting this image takes a tenth of the time of painting two ellipses."""
    half = radius + 0.5 * width + 2.0
    side = round(2.0 * half * ratio)
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        for rgba, wide in ((halo, width + 2.0), (colour, width)):
            painter.setPen(QPen(QColor.fromRgba(rgba), wide))
            painter.drawEllipse(QPointF(0.5 * side / ratio, 0.5 * side / ratio), radius, radius)
    return image


def write(painter: QPainter, box: QRectF, at: int, text: str, colour: QColor | str, font: QFont | None = None) -> None:
    """Draw a text in a box with the alignment `at`, such as `MIDDLE`, in `font` or else in the painter's font."""
    if font is not None:
        painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(box, at, isolated(text))


def snapped(value: float, ratio: float) -> float:
    """Return a coordinate rounded to an integer number of device pixels."""
    return round(value * ratio) / ratio


def frame(painter: QPainter, box: QRectF, colour: str) -> None:
    """Draw a thin line just outside `box`."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), 1.0))
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5))


def focus_ring(painter: QPainter, widget: QWidget, box: QRectF | None = None) -> None:
    """Draw the focus ring around `box`, by default just inside the widget, if `widget` has the focus."""
    if not widget.hasFocus():
        return
    if box is None:
        box = QRectF(widget.rect()).adjusted(3, 3, -3, -3)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme_of(widget).accent), 2.0))
    painter.drawRoundedRect(box.adjusted(-2.0, -2.0, 2.0, 2.0), 3.0, 3.0)


def washed(colour: str, alpha: float) -> QColor:
    """Return a colour of the theme with the opacity `alpha`."""
    tint = QColor(colour)
    tint.setAlphaF(alpha)
    return tint


# These are the margins of a callout, its line height and its distance from the item, in pixels.
PAD_X, PAD_Y, LINE, AWAY = 8, 6, 16, 12


def callout_box(widget: QWidget, anchor: QPointF, lines: Sequence[str]) -> QRectF:
    """Return the box of a callout: above and to the right of `anchor` if it fits there, always inside the widget."""
    wide = max(
        QFontMetricsF(figure_font(widget, SECONDARY, strong=not number)).horizontalAdvance(text)
        for number, text in enumerate(lines)
    )
    size_x, size_y = wide + 2 * PAD_X, LINE * len(lines) + 2 * PAD_Y
    x, most = anchor.x() + AWAY, widget.contentsRect().right() - 1 - size_x
    if x > most:
        x = anchor.x() - AWAY - size_x
    y = anchor.y() - AWAY - size_y
    if y < 2:
        y = anchor.y() + AWAY
    x = max(2.0, min(x, most))
    return QRectF(round(x), round(max(2.0, min(y, widget.height() - 2 - size_y))), round(size_x), size_y)


def paint_callout(painter: QPainter, widget: QWidget, anchor: QPointF, lines: Sequence[str]) -> None:
    """Draw a callout in the colours of tooltips, with its first line in bold."""
    room, end = widget.width() - 2 * PAD_X - 2, Qt.TextElideMode.ElideMiddle
    metrics = QFontMetricsF(figure_font(widget, SECONDARY, strong=True))
    lines = [metrics.elidedText(text, end, room) for text in lines]
    theme, box = theme_of(widget), callout_box(widget, anchor, lines)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(QColor(theme.background), 1.0))
    painter.setBrush(QColor(theme.text))
    painter.drawRoundedRect(box.adjusted(-0.5, -0.5, 0.5, 0.5), 4.0, 4.0)
    for number, text in enumerate(lines):
        place = QRectF(box.x() + PAD_X, box.y() + PAD_Y + number * LINE, box.width(), LINE)
        write(painter, place, MIDDLE, text, theme.background, figure_font(widget, SECONDARY, strong=not number))
    painter.restore()


def paint_placeholder(painter: QPainter, widget: QWidget, text: str) -> None:
    """Draw a text in the middle of an empty widget."""
    area = QRectF(widget.contentsRect()).adjusted(16, 8, -16, -8)
    wrapped = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
    write(painter, area, wrapped, text, theme_of(widget).muted, figure_font(widget))


CLICKS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
"""These keys have the same effect as a click."""


NOTHING = "There is nothing to show yet."


class PaintedWidget(QWidget):
    """The base class of widgets that draw items, or a text that explains why there are no items."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, mouseTracking=True, focusPolicy=Qt.FocusPolicy.StrongFocus)
        self._placeholder = ""
        self.setAccessibleDescription(NOTHING)

    def set_placeholder(self, text: str) -> None:
        """Set the text that an empty widget shows to tell the user what to do next."""
        self._placeholder = text
        self._contents_changed()

    def _contents_changed(self) -> None:
        """Update the description and repaint the widget after a change of its contents."""
        self._describe()
        self.update()

    def _describe(self) -> None:
        """Update the description of the contents for screen readers."""

    def setAccessibleDescription(self, description: str) -> None:
        """Set the description for screen readers, and announce it if the widget has the focus."""
        description = description or NOTHING
        if description != self.accessibleDescription():
            super().setAccessibleDescription(description)
            if self.hasFocus() and QAccessible.isActive():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, description))

    def _hover(self, target: Any) -> None:
        """Select the item under the mouse, or no item if the argument is None."""
        raise NotImplementedError

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)


class HoverWidget(PaintedWidget):
    """The base class of widgets in which the mouse or keys select at most one item.

    Arrow keys move between items; Home and End select the first and last item; Enter and Space click the selected
    item; Escape clears the selection.

    Attributes
    ----------
    shape : Qt.CursorShape
        Shape of the mouse pointer over an item.
    """

    shape = Qt.CursorShape.PointingHandCursor

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._current: Any = None

    def _at(self, point: QPointF) -> Any:
        """Return the item at a point, or None if there is no item."""
        raise NotImplementedError

    def _stepped(self, step: tuple[int, int]) -> Any:
        """Return the item one step from the current item, or None if arrow keys in this direction do nothing."""

    def _end(self, last: bool) -> Any:
        """Return the last item if `last`, or else the first. Return None if the keys Home and End do nothing."""

    @Slot(object)
    def _hover(self, target: Any) -> None:
        if target != self._current:
            self._current = target
            self._contents_changed()
            self._report(target)

    def _go(self, target: Any) -> None:
        """Select an item with the keyboard."""
        self._hover(target)

    def _report(self, target: Any) -> None:
        """Emit the signal that reports the selected item."""

    def _click(self, target: Any) -> None:
        """Emit the signal that reports a click on the selected item."""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        target = self._at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if target is None else self.shape)
        self._hover(target)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        target = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and target is not None:
            self._hover(target)
            self._click(target)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, target = Qt.Key(event.key()), None
        if key in ARROWS:
            target = self._stepped(ARROWS[key])
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            target = self._end(key == Qt.Key.Key_End)
        if target is not None:
            self._go(target)
        elif key in CLICKS and self._current is not None:
            self._click(self._current)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self._hover(None)
        else:
            super().keyPressEvent(event)


class Picker(HoverWidget):
    """The base class of views of one sample, in which the user points at values and clicks them.

    Signals
    -------
    pixel_hovered(object)
        The mouse or the cursor moved to the value with this index (int), or away from all values (None).
    pixel_clicked(object)
        The user clicked the value with this index (int).
    """

    shape = Qt.CursorShape.CrossCursor

    pixel_hovered = Signal(object)
    pixel_clicked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._count = 0
        self._pins: tuple[tuple[int, QColor], ...] = ()
        self._missing: tuple[int, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def set_cursor(self, index: int | None) -> None:
        """Move the cross-hair to a value without emitting a signal."""
        if index is not None and not 0 <= index < self._count:
            index = None
        if index != self._current:
            self._current = index
            self._contents_changed()

    def set_pins(self, pins: Sequence[tuple[int, QColor]]) -> None:
        """Mark the pinned values, which are given as tuples (index, colour)."""
        self._pins = tuple(pins)
        self._contents_changed()

    def set_missing(self, indices: tuple[int, ...]) -> None:
        """Cross out the values that were missing in the file and have been filled."""
        self._missing = indices
        self._contents_changed()

    def _cross_missing(self, painter: QPainter, box_of: Callable[[int], QRectF]) -> None:
        """Draw a thin cross over the box of each missing value."""
        painter.setPen(QPen(QColor(theme_of(self).danger), 1.0))
        for box in map(box_of, self._missing):
            painter.drawLine(box.topLeft(), box.bottomRight())
            painter.drawLine(box.topRight(), box.bottomLeft())

    def _was_missing(self) -> list[str]:
        """Return a list with one text if the current value was missing in the file; otherwise return an empty list."""
        return ["missing in the file; filled by the program"] if self._current in self._missing else []

    def _set_count(self, count: int) -> None:
        self._count = count
        self.set_cursor(self._current)
        self._contents_changed()

    def _end(self, last: bool) -> int | None:
        return (self._count - 1 if last else 0) if self._count else None

    def _report(self, target: int | None) -> None:
        self.pixel_hovered.emit(target)

    def _click(self, target: int) -> None:
        self.pixel_clicked.emit(target)


class CachedPixmap:
    """A transparent picture as large as a widget, repainted only if its key, size, theme or font has changed."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] | None = None
        self._pixmap = QPixmap()

    def draw(self, painter: QPainter, widget: QWidget, key: Hashable, paint: Callable[[QPainter], None]) -> None:
        """Draw the picture at the top left of the widget. Call `paint` only if the picture is out of date."""
        ratio = widget.devicePixelRatioF()
        full = (key, widget.width(), widget.height(), ratio, theme_of(widget).name, widget.font().key())
        if full != self._key:
            self._pixmap = QPixmap(round(widget.width() * ratio), round(widget.height() * ratio))
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(Qt.GlobalColor.transparent)
            # `with` ends the painter even after an exception, because Qt would crash if the painter stayed active.
            with QPainter(self._pixmap) as inner:
                inner.setFont(widget.font())
                paint(inner)
            self._key = full
        painter.drawPixmap(0, 0, self._pixmap)
