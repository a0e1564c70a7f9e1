"""Functions that paint images, marks and callouts, and base classes of widgets that paint their contents themselves."""

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

# Opacity with which outdated contents are painted, so that they look grey because the background shows through.
STALE = 0.65

CENTRE = int(Qt.AlignmentFlag.AlignCenter)
MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

# The colour scale of samples: from white to black in the light theme, from near-black to white in the dark theme.
INK = ColorScale("grey", 0.0, 1.0)

# The step (rows, columns) by which each arrow key moves the selection.
ARROWS = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}

# Side length, in logical pixels, from which an image pixel is marked by a ring inside it instead of around it.
LARGE = 16.0


@dataclass(frozen=True)
class PixelGrid:
    """The positions of an image's pixels in a widget.

    Parameters
    ----------
    shape : tuple of (rows, columns)
        Numbers of rows and columns of the image.
    x, y : float
        Top left corner of the image in logical pixels.
    scale : float
        Side of one image pixel in logical pixels.
    """

    shape: tuple[int, int]
    x: float
    y: float
    scale: float

    @property
    def frame(self) -> QRectF:
        """Return the rectangle that the image covers."""
        rows, columns = self.shape
        return QRectF(self.x, self.y, columns * self.scale, rows * self.scale)

    def at(self, point: QPointF) -> int | None:
        """Return the index of the image pixel at a point, or None if the point is outside the image."""
        rows, columns = self.shape
        row, column = int((point.y() - self.y) // self.scale), int((point.x() - self.x) // self.scale)
        return row * columns + column if 0 <= row < rows and 0 <= column < columns else None

    def rect(self, index: int) -> QRectF:
        """Return the rectangle that an image pixel covers."""
        row, column = divmod(index, self.shape[1])
        return QRectF(self.x + column * self.scale, self.y + row * self.scale, self.scale, self.scale)

    def moved(self, index: int | None, step: tuple[int, int]) -> int:
        """Return the index of the pixel one `step` from `index`, or of the central pixel if `index` is None."""
        rows, columns = self.shape
        if index is None:
            return rows // 2 * columns + columns // 2
        row, column = divmod(index, columns)
        return min(max(row + step[0], 0), rows - 1) * columns + min(max(column + step[1], 0), columns - 1)


def integer_scale(pixels: int, extent: float, ratio: float) -> float:
    """Return the largest side length of an image pixel at which a row of `pixels` image pixels fits into `extent`.

    The side length is an integer number of device pixels. If there is too little space, it is one device pixel divided
    by an integer. Lengths are in logical pixels; `ratio` is the number of device pixels per logical pixel.
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


def colour_table(scale: ColorScale, zeroth: QColor | None = None, theme: Theme | None = None) -> NDArray[np.uint32]:
    """Return the 256 colours of a scale as integers 0xFFRRGGBB.

    Entry 0 is the colour of NaN; if the colour `zeroth` is given, it replaces this entry. If `theme` is the light
    theme, the scale `INK` is reversed, so that large values are dark.
    """
    table = _packed(scale.map)
    if scale is INK and theme is not None and not theme.is_dark:
        table = np.concatenate([table[:1], table[:0:-1]])
    if zeroth is not None:
        table = table.copy()
        table[0] = zeroth.rgb()
    return table


def crosshair(box: QRectF, spot: QRectF, gap: float | None = None) -> list[QLineF]:
    """Return the lines of a cross-hair that extends across the rectangle `box` and is centred on the square `spot`.

    The lines stop at the distance `gap` from the centre of `spot`. By default, they stop 2 pixels outside `spot`.
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


def coloured_image(indices: NDArray[np.integer[Any]], table: NDArray[np.uint32]) -> QImage:
    """Return an image, given the index of each pixel's colour in `table`. The image owns a copy of the pixel data.

    The colour table is applied here instead of by Qt. Without smoothing, Qt draws 32-bit images more than ten times as
    fast as indexed images. For example, 28 × 28 pixels, enlarged to 112 × 112, take 9 µs instead of 120 µs.
    """
    pixels = table[indices]
    height, width = indices.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def image_of(values: NDArray[np.float32], scale: ColorScale, theme: Theme, *, zeroth: QColor | None = None) -> QImage:
    """Return an image that shows an array of shape (rows, columns) in the colours of a scale.

    If `zeroth` is given, it is the colour of NaN.
    """
    return coloured_image(scale.indices(values), colour_table(scale, zeroth, theme))


def ring(painter: QPainter, around: QRectF, colour: QColor, halo: QColor, width: float = 2.0) -> None:
    """Mark an image pixel with a thin ring, and with a halo that separates the ring from the image.

    The ring is drawn inside a large pixel, or around a small pixel.
    """
    side, centre = around.width(), around.center()
    radius = 0.5 * side - width - 1.0 if side >= LARGE else max(0.71 * side + 0.5 * width, 4.5)
    image = _ring_image(radius, colour.rgba(), halo.rgba(), width, painter.device().devicePixelRatio())
    half = 0.5 * image.width() / image.devicePixelRatio()
    painter.drawImage(QPointF(centre.x() - half, centre.y() - half), image)


@lru_cache(maxsize=64)
def _ring_image(radius: float, colour: int, halo: int, width: float, ratio: float) -> QImage:
    """Return an image of a ring. Drawing the cached image takes 44 µs; painting the two ellipses takes 113 µs."""
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
    """Draw text in the rectangle `box` with the alignment `at`, such as `MIDDLE`, by default in the painter's font."""
    if font is not None:
        painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(box, at, isolated(text))


def snapped(value: float, ratio: float) -> float:
    """Round a coordinate in logical pixels to the nearest device pixel."""
    return round(value * ratio) / ratio


def frame(painter: QPainter, box: QRectF, colour: str) -> None:
    """Draw a thin frame just outside the rectangle `box`."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), 1.0))
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5))


def focus_ring(painter: QPainter, widget: QWidget, box: QRectF | None = None) -> None:
    """If `widget` has the focus, draw a ring around the rectangle `box`, by default along the widget's edge."""
    if not widget.hasFocus():
        return
    if box is None:
        box = QRectF(widget.rect()).adjusted(3, 3, -3, -3)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme_of(widget).accent), 2.0))
    painter.drawRoundedRect(box.adjusted(-2.0, -2.0, 2.0, 2.0), 3.0, 3.0)


def washed(colour: str, alpha: float) -> QColor:
    """Return a colour with the opacity `alpha`, from 0 (transparent) to 1 (opaque)."""
    tint = QColor(colour)
    tint.setAlphaF(alpha)
    return tint


# Horizontal and vertical margin of a callout, its line height, and its distance from the described item, in pixels.
PAD_X, PAD_Y, LINE, AWAY = 8, 6, 16, 12


def callout_box(widget: QWidget, anchor: QPointF, lines: Sequence[str]) -> QRectF:
    """Return the rectangle of a callout inside the widget, if possible above and to the right of a point."""
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
    """Draw a callout that looks like a tooltip, with its first line in bold."""
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
    """Draw the text that a widget without contents shows in its middle."""
    area = QRectF(widget.contentsRect()).adjusted(16, 8, -16, -8)
    wrapped = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
    write(painter, area, wrapped, text, theme_of(widget).muted, figure_font(widget))


# Keys that have the same effect as a click.
CLICKS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


NOTHING = "There is nothing to show yet."


class PaintedWidget(QWidget):
    """The base class of widgets that paint items such as tiles or bars, or a placeholder text if they have none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, mouseTracking=True, focusPolicy=Qt.FocusPolicy.StrongFocus)
        self._placeholder = ""
        self.setAccessibleDescription(NOTHING)

    def set_placeholder(self, text: str) -> None:
        """Set the text that the widget shows while it is empty, such as a hint on what to do next."""
        self._placeholder = text
        self._contents_changed()

    def _contents_changed(self) -> None:
        """Update the accessible description and repaint the widget after its contents have changed."""
        self._describe()
        self.update()

    def _describe(self) -> None:
        """Update the accessible description, which screen readers use to announce the contents."""

    def setAccessibleDescription(self, description: str) -> None:
        """Set the description for screen readers, and announce it if the widget has the focus."""
        description = description or NOTHING
        if description != self.accessibleDescription():
            super().setAccessibleDescription(description)
            if self.hasFocus() and QAccessible.isActive():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, description))

    def _hover(self, target: Any) -> None:
        """Select the item under the mouse, or clear the selection if `target` is None."""
        raise NotImplementedError

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)


class HoverWidget(PaintedWidget):
    """The base class of widgets in which the user selects at most one item with the mouse or the keyboard.

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
        """Return the item at a point of the widget, or None if there is no item at this point."""
        raise NotImplementedError

    def _stepped(self, step: tuple[int, int]) -> Any:
        """Return the item that an arrow key with this `step` selects, or None if the key has no effect."""

    def _end(self, last: bool) -> Any:
        """Return the first item, or the last if `last` is True. Return None if Home and End have no effect."""

    @Slot(object)
    def _hover(self, target: Any) -> None:
        if target != self._current:
            self._current = target
            self._contents_changed()
            self._report(target)

    def _go(self, target: Any) -> None:
        """Select an item that the user has reached with the keyboard."""
        self._hover(target)

    def _report(self, target: Any) -> None:
        """Emit a signal for the selected item, if the subclass has such a signal."""

    def _click(self, target: Any) -> None:
        """Emit a signal for a click on the selected item, if the subclass has such a signal."""

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
    """The base class of views of one sample, in which the user points at feature values and clicks them.

    Signals
    -------
    pixel_hovered(object)
        The mouse pointer or the keyboard cursor moved to the value with this index (int), or away from all values
        (None).
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
        """Move the cross-hair to the value `index`, or remove it if `index` is None. No signal is emitted."""
        if index is not None and not 0 <= index < self._count:
            index = None
        if index != self._current:
            self._current = index
            self._contents_changed()

    def set_pins(self, pins: Sequence[tuple[int, QColor]]) -> None:
        """Mark the pinned values, given as pairs (index, colour)."""
        self._pins = tuple(pins)
        self._contents_changed()

    def set_missing(self, indices: tuple[int, ...]) -> None:
        """Cross out the values that were missing in the file and that the program has filled in."""
        self._missing = indices
        self._contents_changed()

    def _cross_missing(self, painter: QPainter, box_of: Callable[[int], QRectF]) -> None:
        """Draw a thin cross over each value that was missing in the file. `box_of` returns the rectangle of a value.

        In the tall rectangle of a bar, the cross fills a square at the foot. This square covers the bar.
        """
        painter.setPen(QPen(QColor(theme_of(self).danger), 1.0))
        for box in map(box_of, self._missing):
            if box.height() > box.width():
                box.setTop(box.bottom() - box.width())
                painter.fillRect(box, QColor(theme_of(self).paper))
            painter.drawLine(box.topLeft(), box.bottomRight())
            painter.drawLine(box.topRight(), box.bottomLeft())

    def _missing_notes(self) -> list[str]:
        """Return a list that contains a note if the selected value was missing in the file; otherwise, it is empty."""
        return ["missing in the file; filled in by the program"] if self._current in self._missing else []

    def _set_count(self, count: int) -> None:
        self._count = count
        self.set_cursor(self._current)
        self._contents_changed()

    def _end(self, last: bool) -> int | None:
        return (self._count - 1 if last else 0) if self._count else None

    def _moved(self, by: int) -> int | None:
        """Return the index `by` places after the selected one, or the middle index if no value is selected."""
        if not self._count:
            return None
        return self._count // 2 if self._current is None else min(max(self._current + by, 0), self._count - 1)

    def _report(self, target: int | None) -> None:
        self.pixel_hovered.emit(target)

    def _click(self, target: int) -> None:
        self.pixel_clicked.emit(target)


class CachedPixmap:
    """A cached picture of a widget's contents, with a transparent background.

    The picture is painted again only if its key, or the widget's size, theme or font, has changed.
    """

    def __init__(self) -> None:
        self._key: tuple[object, ...] | None = None
        self._pixmap = QPixmap()

    def draw(self, painter: QPainter, widget: QWidget, key: Hashable, paint: Callable[[QPainter], None]) -> None:
        """Draw the cached picture onto the widget. Call `paint` to update the picture first if it is out of date."""
        ratio = widget.devicePixelRatioF()
        full = (key, widget.width(), widget.height(), ratio, theme_of(widget).name, widget.font().key())
        if full != self._key:
            self._pixmap = QPixmap(round(widget.width() * ratio), round(widget.height() * ratio))
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(Qt.GlobalColor.transparent)
            # `with` ends the painter even after an exception. Qt would crash if the painter remained active.
            with QPainter(self._pixmap) as inner:
                inner.setFont(widget.font())
                paint(inner)
            self._key = full
        painter.drawPixmap(0, 0, self._pixmap)
