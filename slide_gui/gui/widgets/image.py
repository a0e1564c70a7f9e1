"""Views of one sample in which the user selects and pins feature values: an image to draw on, and a bar chart."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QHideEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import (
    CLICKS,
    INK,
    CachedPixmap,
    Picker,
    PixelGrid,
    crosshair,
    focus_ring,
    frame,
    image_of,
    integer_scale,
    ring,
    snapped,
    washed,
)
from slide_gui.text import counted, fixed, isolated

MARGIN = 4
Image = NDArray[np.float32]


class DrawingCanvas(Picker):
    """An image on which the user draws with the mouse.

    The left button sets pixels to 1; the right button, or Shift with either button, sets them to 0. Arrow keys move the
    cursor from pixel to pixel; Space or Enter toggles the pixel under the cursor between 0 and 1.

    The image is drawn in shades of grey without smoothing. Each pixel is a square whose side is an integer number of
    device pixels. The value 1 is black on white in the light theme, and white on near-black in the dark theme.

    Parameters
    ----------
    pins : bool
        If True, a left click, Space and Enter emit `pixel_clicked` instead of drawing. The left button then starts to
        draw only when the mouse is moved to a second pixel.

    Attributes
    ----------
    image : ndarray of shape (rows, columns), float32, or None
        The image including the user's strokes, read-only.
    erases : bool
        True if the left button erases instead of drawing.

    Signals
    -------
    drawn(object)
        The image changed. The argument is the new image, a read-only ndarray of shape (rows, columns).
    stroked(object)
        A stroke that changed at least one pixel has ended. The argument is the image after the stroke.
    """

    drawn = Signal(object)
    stroked = Signal(object)

    def __init__(self, parent: QWidget | None = None, pins: bool = False) -> None:
        super().__init__(parent)
        self.image: Image | None = None
        self._drawn: tuple[Theme, QImage] | None = None
        self._pins_pixels = pins
        self._is_click = False  # True after a mouse press until the mouse leaves the pressed pixel.
        self._given: Image | None = None
        self._before: Image | None = None  # The image before the current stroke.
        self._brush = 1
        self.erases = False
        self._ink: float | None = None  # The value drawn by the pressed mouse button; None if no button is pressed.
        self._last = 0
        self.setMinimumSize(64, 64)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setAccessibleName("Image for selecting pixels" if pins else "Input image for drawing")
        if not pins:
            self.setToolTip("Draw with the left button; erase with the right button or Shift.\nSpace toggles a pixel.")

    def sizeHint(self) -> QSize:
        return QSize(196 + 2 * MARGIN, 196 + 2 * MARGIN)

    @property
    def is_drawn_on(self) -> bool:
        """True if the user's strokes have changed the image."""
        return self.image is not None and self._given is not None and not np.array_equal(self.image, self._given)

    def set_image(self, values: Image, drawn: Image | None = None) -> None:
        """Show a new image instead of the current one.

        Parameters
        ----------
        values : ndarray of shape (rows, columns), float32
            Values from 0 to 1; smaller and larger values are clipped.
        drawn : ndarray, optional
            Copy of `values` with the user's earlier strokes. It is shown instead of `values` if both have the same
            shape.
        """
        self._given, self._ink = values, None
        self._show(values if drawn is None or drawn.shape != values.shape else drawn)

    def _describe(self) -> None:
        if self.image is None:
            return
        texts, columns = self._contents(self.image), self.image.shape[1]
        if self._current is not None:
            (row, column), value = divmod(self._current, columns), float(self.image.flat[self._current])
            texts[:0] = [f"row {row}, column {column}: {fixed(value, 2)}", *self._missing_notes()]
        self.setAccessibleDescription("; ".join(texts))

    def _contents(self, values: Image) -> list[str]:
        """Return a description of the image for screen readers.

        It contains the number of pixels above 0.5. If pixels can be pinned, it instead contains the size of the image
        and the number of pinned pixels.
        """
        if not self._pins_pixels:
            return [f"{int(np.count_nonzero(values > 0.5))} of {values.size} pixels above 0.5"]
        pins, (rows, columns) = [index for index, _ in self._pins], values.shape
        here = ["this pixel is pinned"] if self._current in pins else []
        return [f"image of {rows} × {columns} pixels", *here, *([f"{len(pins)} pinned"] if pins else [])]

    def grid(self) -> PixelGrid | None:
        """Return the positions of the pixels in the widget's coordinates, or None if there is no image."""
        if self.image is None:
            return None
        rows, columns = self.image.shape
        ratio = self.devicePixelRatioF()
        area = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        scale = min(integer_scale(rows, area.height(), ratio), integer_scale(columns, area.width(), ratio))
        # The image is aligned to the left, because the widgets above and below it are also aligned to the left.
        return PixelGrid((rows, columns), snapped(MARGIN, ratio), snapped(MARGIN, ratio), scale)

    def _at(self, point: QPointF) -> int | None:
        grid = self.grid()
        return None if grid is None else grid.at(point)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        grid = self.grid()
        return None if grid is None else grid.moved(self._current, step)

    def _image(self) -> QImage:
        theme = theme_of(self)
        if self._drawn is None or self._drawn[0] is not theme:
            assert self.image is not None
            self._drawn = theme, image_of(self.image, INK, theme)
        return self._drawn[1]

    def paintEvent(self, _event: QPaintEvent) -> None:
        grid, theme = self.grid(), theme_of(self)
        with QPainter(self) as painter:
            if grid is None:
                frame(painter, QRectF(self.rect()).adjusted(4, 4, -4, -4), theme.line)
                return
            painter.drawImage(grid.frame, self._image())
            frame(painter, grid.frame, theme.line)
            self._cross_missing(painter, grid.rect)
            if self._current is not None:
                self._paint_cursor(painter, grid, self._current)
            halo = washed(theme.paper, 0.8)
            for index, colour in self._pins:  # Above the cursor, so that a click on a pixel shows its effect.
                if 0 <= index < self._count:
                    ring(painter, grid.rect(index), colour, halo)
            focus_ring(painter, self, grid.frame)

    def _paint_cursor(self, painter: QPainter, grid: PixelGrid, index: int) -> None:
        theme, box = theme_of(self), grid.rect(index)
        if self._brush == 1:
            painter.setPen(QPen(washed(theme.accent, 0.55), 1.0))
            painter.drawLines(crosshair(grid.frame, box, 0.71 * box.width() + 3.0))
            ring(painter, box, QColor(theme.accent), washed(theme.paper, 0.8), 1.5)
            return
        rows, columns = self._covered(index)
        last = min(rows.stop, grid.shape[0]) - 1, min(columns.stop, grid.shape[1]) - 1
        box = grid.rect(rows.start * grid.shape[1] + columns.start).united(grid.rect(last[0] * grid.shape[1] + last[1]))
        for colour, width in ((washed(theme.paper, 0.8), 3.5), (QColor(theme.accent), 1.5)):
            painter.setPen(QPen(colour, width))
            painter.drawRect(box)

    # Tools

    def set_brush(self, side: int) -> None:
        """Set the width of the brush in image pixels."""
        self._brush = side
        self.update()

    @Slot()
    def blank(self) -> None:
        """Set all pixels to 0, and report this change as one stroke."""
        if self.image is not None and self.image.any():
            self._show(np.zeros_like(self.image))
            self.stroked.emit(self.image)

    # Strokes

    def _show(self, values: Image) -> None:
        if self.image is None or not np.array_equal(values, self.image):
            self.image, self._drawn = values, None
            self._set_count(values.size)
            self.drawn.emit(values)

    def _covered(self, index: int) -> tuple[slice, slice]:
        """Return the rows and columns of the image that the brush covers when it is centred on this pixel."""
        assert self.image is not None
        row, column = divmod(index, self.image.shape[1])
        before, after = (self._brush - 1) // 2, self._brush // 2 + 1
        return slice(max(row - before, 0), row + after), slice(max(column - before, 0), column + after)

    def _stroke(self, index: int, ink: float) -> None:
        """Extend the stroke in a straight line to the pixel `index`, and set all pixels under the brush to `ink`."""
        if self.image is None:
            return
        values, columns = self.image.copy(), self.image.shape[1]
        (r0, c0), (r1, c1) = divmod(self._last, columns), divmod(index, columns)
        steps = max(abs(r1 - r0), abs(c1 - c0), 1)
        for k in range(steps + 1):
            row, column = round(r0 + (r1 - r0) * k / steps), round(c0 + (c1 - c0) * k / steps)
            values[self._covered(row * columns + column)] = ink
        self._last = index
        self._show(values)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position())
        if index is None or event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
            return
        erase = self.erases or event.button() == Qt.MouseButton.RightButton
        erase = erase or bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._hover(index)
        self._before, self._ink, self._last = self.image, 0.0 if erase else 1.0, index
        self._is_click = self._pins_pixels and not erase
        if not self._is_click:
            self._stroke(index, self._ink)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self._at(event.position())
        self._is_click &= index == self._last
        if self._ink is not None and index is not None and not self._is_click:
            self._stroke(index, self._ink)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._end_stroke()
        if self._is_click:
            self._is_click = False
            self._click(self._last)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # End the stroke, because a hidden widget is not notified when the mouse button is released.
        self._end_stroke()

    def _end_stroke(self) -> None:
        if self._ink is not None:
            before, self._before, self._ink = self._before, None, None
            if self.image is not before:
                self.stroked.emit(self.image)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in CLICKS and self.image is not None and not self._pins_pixels:
            index = self._stepped((0, 0)) if self._current is None else self._current
            assert index is not None
            self._hover(index)
            self._last = index
            self._stroke(index, 0.0 if self.image.flat[index] > 0.5 else 1.0)
            self.stroked.emit(self.image)
        else:
            super().keyPressEvent(event)


FOOT = 18


class FeatureBars(Picker):
    """A bar chart of the feature values of one sample."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float32] = np.zeros(0, np.float32)
        self._names: tuple[str, ...] = ()
        self._range = 0.0, 1.0
        self._still = CachedPixmap()
        self.setMinimumSize(64, 72)
        self.setAccessibleName("Bars for selecting features")

    def sizeHint(self) -> QSize:
        return QSize(260, 160)

    def set_values(self, values: NDArray[np.float32], names: tuple[str, ...] = ()) -> None:
        """Show a sample, given as an array of shape (d,), optionally with the names of its d features."""
        self._values, self._names, self._still = values, names, CachedPixmap()
        # The argument `initial` includes 0 in the range of the vertical axis, because the bars begin at 0.
        finite = values[np.isfinite(values)]
        self._range = float(finite.min(initial=0.0)), float(finite.max(initial=0.0)) + 1e-12
        self._set_count(values.size)

    def _describe(self) -> None:
        texts = [counted(self._count, "feature")]
        if self._current is not None:
            name = self._names[self._current] if self._names else f"feature {self._current}"
            pinned = ["pinned"] if self._current in [index for index, _ in self._pins] else []
            value = f"{name}: {float(self._values[self._current]):.4g}".replace("-", "−")
            texts = [value, *self._missing_notes(), *pinned, *texts]
        self.setAccessibleDescription("; ".join(texts))

    def plot(self) -> QRectF:
        """Return the rectangle in which the bars are drawn."""
        return QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN - FOOT)

    def _at(self, point: QPointF) -> int | None:
        box = self.plot()
        if not (self._count and box.contains(point)):
            return None
        return min(int((point.x() - box.x()) / box.width() * self._count), self._count - 1)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        return self._moved(step[1] - step[0])

    def bar(self, index: int) -> QRectF:
        """Return the rectangle reserved for the bar of one value, with the full height of the plot."""
        box, width = self.plot(), self.plot().width() / max(self._count, 1)
        return QRectF(box.x() + index * width, box.y(), width, box.height())

    def _height_of(self, value: float) -> float:
        """Return the y coordinate at which a value is drawn."""
        box, (low, high) = self.plot(), self._range
        return box.bottom() - (value - low) / (high - low) * box.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, box = theme_of(self), self.plot()
        with QPainter(self) as painter:
            painter.fillRect(box, QColor(theme.paper))
            frame(painter, box, theme.line)
            if self._count and np.isfinite(self._values).any():
                self._still.draw(painter, self, None, self._paint_bars)
                self._cross_missing(painter, self.bar)
                self._paint_marks(painter)
            focus_ring(painter, self, box)

    def _paint_bars(self, painter: QPainter) -> None:
        theme, box, zero = theme_of(self), self.plot(), self._height_of(0.0)
        step, ink = box.width() / self._count, washed(theme.ink, 0.75)
        width = step - 1.0 if step >= 4.0 else max(step, 1.0)
        for index in np.flatnonzero(np.isfinite(self._values)).tolist():
            height = zero - self._height_of(float(self._values[index]))
            painter.fillRect(QRectF(box.x() + index * step, zero, width, -height), ink)
        painter.setPen(QPen(QColor(theme.muted), 1.0))
        painter.drawLine(QPointF(box.left(), zero), QPointF(box.right(), zero))

    def _paint_marks(self, painter: QPainter) -> None:
        theme, box = theme_of(self), self.plot()
        cursor = [] if self._current is None else [(self._current, QColor(theme.accent), 4.0)]
        for index, colour, width in [*cursor, *((*pin, 2.0) for pin in self._pins)]:
            if 0 <= index < self._count:
                self._outline(painter, index, colour, width)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        foot = QRectF(box.x(), box.bottom() + 2, box.width(), FOOT - 2)
        first, last = (self._names[0], self._names[-1]) if self._names else ("0", str(self._count - 1))
        text = f"{first} … {last}"
        if self._current is not None:
            name = self._names[self._current] if self._names else str(self._current)
            text = f"{name}: {float(self._values[self._current]):.4g}".replace("-", "−")
        metrics, width = painter.fontMetrics(), int(box.width())
        if self._current is None and metrics.horizontalAdvance(text) > width:
            half = width // 2 - 9  # width available for each of the two names
            text = " … ".join(metrics.elidedText(name, Qt.TextElideMode.ElideRight, half) for name in (first, last))
        text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, width)
        painter.drawText(foot, isolated(text))

    def _outline(self, painter: QPainter, index: int, colour: QColor, line: float) -> None:
        column = self.bar(index)
        if column.width() < 4.0:
            column = QRectF(column.center().x() - 2.0, column.y(), 4.0, column.height())
        painter.setPen(QPen(colour, line))
        painter.drawRect(column)
