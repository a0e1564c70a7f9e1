"""All rows of a layer's W as one zoomable image; field (r, c) belongs to pixel (r, c)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QWidget

from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.plots.axes import Margins, Plot
from slide_gui.gui.theme import Theme, theme_of
from slide_gui.gui.widgets.painted import CLICKS, frame
from slide_gui.gui.widgets.pixels import ARROWS, PixelGrid
from slide_gui.text import counted

GAP = 1
_UNLIMITED = (1 << 24) - 1  # largest width of a QWidget
STEPS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
"""Zoom in device pixels per weight; below it the whole mosaic fits."""


class Mosaic(Plot):
    """One image of d fields; the wheel zooms about the mouse, a drag pans, a double-click fits.

    Arrow keys select the neighbouring field, + and − zoom, 0 fits, Enter clicks.
    """

    pixel_hovered = Signal(object)
    """(pixel of the field, pixel inside it) under the mouse, or None."""
    pixel_clicked = Signal(object)
    """(pixel of the field, pixel inside it)."""

    looked = Signal()
    """The visible part or its size changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._fields: NDArray[np.float32] | None = None
        self._scale: ColorScale | None = None
        self._shape, self._grid = (1, 1), (1, 1)
        self._transposed = False
        self._selected: int | None = None
        self._current: tuple[int, int] | None = None
        self._image: Any = None
        self._colours: NDArray[np.uint8] | None = None  # of all weights, from the top row down
        self._placed: tuple[int, int] | None = None
        super().__init__(Margins(4, 4, 4, 4), ("", ""), ruled=False, parent=parent)
        for axis in (self._x_axis, self._y_axis):
            self._parts.remove(axis)
            axis.hide()
        self._image = pg.ImageItem(levels=(0, 255), autoDownsample=False)
        self._box.addItem(self._image, ignoreBounds=True)
        self.setMinimumSize(160, 160)
        self.setAccessibleName("All rows of the weights: mosaic of images")
        self._set_filled(False)

    def sizeHint(self) -> QSize:
        return QSize(560, 560)

    # Contents

    def set_fields(
        self,
        fields: NDArray[np.float32],
        scale: ColorScale,
        grid: tuple[int, int] | None = None,
        stale: bool = False,
    ) -> None:
        """Show the fields of a layer.

        Parameters
        ----------
        fields : ndarray of shape (d, h, w), float32
            Read-only.
        grid : tuple of (rows, columns), optional
            Arrangement of the d fields; by default (h, w) if d = h·w, else nearly square.
        stale : bool
            True to grey the fields because newer ones are being computed.
        """
        many, rows, columns = fields.shape
        if grid is None:
            side = int(np.ceil(np.sqrt(many)))
            grid = (rows, columns) if many == rows * columns else (-(-many // side), side)
        other = (rows, columns) != self._shape or grid != self._grid
        self._fields, self._scale = fields, scale
        self._shape, self._grid = (rows, columns), grid
        self._set_faint(stale)
        self._set_filled(True)
        self._build(other)
        self._describe()

    def set_stale(self, stale: bool) -> None:
        """Grey the fields because newer ones are being fitted, or restore them."""
        self._set_faint(stale)
        self._describe()

    def set_selected(self, pixel: int | None) -> None:
        """Outline the field of one pixel without emitting a signal."""
        self._selected = pixel
        self._describe()
        self.update()

    def _describe(self) -> None:
        if self._fields is None:
            self.setAccessibleDescription(self._placeholder)
            return
        rows, columns = self._shape
        texts = [f"{counted(len(self._fields), 'row')} of W, each an image of {rows} × {columns}"]
        target = self._current or (None if self._selected is None else (self._selected, self._selected))
        if target is not None and max(target) < self._fields.shape[0] and not self._faint:
            value = float(self._fields[target[0]].flat[target[1]])
            row, source = self._place_of(target[0]), self._place_of(target[1])
            texts.insert(0, f"row of W of {row}, from {source}: {signed(value, 3)}")
        self.setAccessibleDescription("; ".join(texts))

    def _place_of(self, pixel: int) -> str:
        """Return the position of a pixel, or the number of a feature, in words."""
        rows, columns = self._shape
        if rows > 1:
            return f"pixel {pixel // columns}, {pixel % columns}"
        return f"feature {pixel}"

    def set_transposed(self, transposed: bool) -> None:
        """Exchange rows and columns of the mosaic and of each field on the screen; indices remain those of the data."""
        if transposed != self._transposed:
            self._transposed = transposed
            self._build(True)

    def zoom(self) -> float:
        """Return logical pixels per weight."""
        (left, right), _ = self.shown()
        return self.box().width() / (right - left)

    def field(self, pixel: int) -> QRectF:
        """Return the rectangle of a pixel's field."""
        row, column = self._fields_grid().place(pixel)
        rows, columns = self._one()
        corner = self.at(column * (columns + GAP), -row * (rows + GAP))
        return QRectF(corner.x(), corner.y(), columns * self.zoom(), rows * self.zoom())

    def pixel_at(self, place: QPointF) -> tuple[int, int] | None:
        """Return (pixel of the field, pixel inside) at a position, or None outside and in gaps."""
        if self._fields is None:
            return None
        (rows, columns), (x, y) = self._one(), self.values(place)
        pixel = self._fields_grid().index(int(-y // (rows + GAP)), int(x // (columns + GAP)))
        if pixel is None or pixel >= self._fields.shape[0]:
            return None
        box = self.field(pixel)
        within = PixelGrid(self._shape, box.x(), box.y(), self.zoom(), self._transposed).at(place)
        return None if within is None else (pixel, within)

    def _one(self) -> tuple[int, int]:
        """Return the number of rows and columns of a field on the screen."""
        return self._shape[::-1] if self._transposed else self._shape

    def _fields_grid(self) -> PixelGrid:
        """Return the grid of fields; one step is a field with its gap, square only for square fields."""
        return PixelGrid(self._grid, 0.0, 0.0, 1.0, self._transposed)

    # The image

    def _build(self, other: bool) -> None:
        """Render the image; one of another size is shown in full."""
        if self._fields is None:
            return
        self._draw(theme_of(self))
        if other:
            self._fit()
            self.show_whole()
        self._changed()

    def _draw(self, theme: Theme) -> None:
        if self._fields is None or self._scale is None:
            return
        mosaic = mosaic_of(self._scale.indices(self._fields), self._grid, self._transposed)
        table = self._scale.lut().copy()
        gap = QColor(theme.line)
        table[0] = gap.red(), gap.green(), gap.blue()
        # Colours and not indices: if weights share a pixel of the screen, their colours are averaged.
        self._colours = np.take(table, mosaic, axis=0)
        self._place(self._placed_size())

    def _placed_size(self) -> tuple[int, int]:
        """Return the size of the image: a pixel per weight, or per pixel of the screen if those are fewer."""
        assert self._colours is not None
        high, wide = self._colours.shape[:2]
        dots = min(self.zoom() * self.devicePixelRatioF(), 1.0)
        return max(round(high * dots), 1), max(round(wide * dots), 1)

    def _place(self, size: tuple[int, int]) -> None:
        assert self._colours is not None
        self._placed = size
        high, wide = self._colours.shape[:2]
        colours = self._colours if size == (high, wide) else _averaged(self._colours, size)
        # The first row is at the top. pyqtgraph passes the array to Qt in its memory order.
        self._image.setImage(np.ascontiguousarray(colours[::-1]), autoLevels=False)
        self._image.setRect(QRectF(0, -high, wide, high))

    def _size(self) -> tuple[int, int]:
        """Return rows and columns of the image in weights, with the gaps."""
        rows, columns = self._one()
        down, across = self._fields_grid().shown
        return across * (columns + GAP) - GAP, down * (rows + GAP) - GAP

    def width_of_whole(self, height: float) -> int:
        """Return the width of the plot that shows the full mosaic as large as a height allows."""
        ratio, margins, (wide, high) = self.devicePixelRatioF(), self._margins, self._size()
        zoom = whole_zoom((height - margins.head - margins.foot) / high, ratio)
        return math.ceil(wide * zoom) + margins.left + margins.right

    def picture(self) -> QRectF:
        """Return the rectangle of the visible fields."""
        wide, high = self._size()
        return QRectF(self.at(0, 0), self.at(wide, -high)) & self.box()

    def _fit(self) -> None:
        """Fit the mosaic into the plot with square weights, an integer number of device pixels wide if possible."""
        box, ratio, (wide, high) = self.box(), self.devicePixelRatioF(), self._size()
        zoom = whole_zoom(min(box.width() / wide, box.height() / high), ratio)
        self._set_whole((0.0, box.width() / zoom), (-box.height() / zoom, 0.0))

    def _arrange(self) -> None:
        before, (left, _), (_, top) = self.zoom(), *self.shown()
        super()._arrange()
        if self._fields is not None:
            zoomed = self.is_zoomed()
            self._fit()
            if zoomed:
                self._look(left, top, before)

    def _look(self, left: float, top: float, zoom: float) -> None:
        """Move a position to the top left corner at a zoom."""
        box = self.box()
        self._box.setRange(xRange=(left, left + box.width() / zoom), yRange=(top - box.height() / zoom, top), padding=0)
        self._seen_changed()

    def _looked(self) -> None:
        # No wider than the full mosaic, so that the colour bar is next to it; a zoomed mosaic takes all the width.
        most = self.width_of_whole(self.height()) if self._fields is not None and not self.is_zoomed() else _UNLIMITED
        if most != self.maximumWidth():
            self.setMaximumWidth(max(most, self.minimumWidth()))
        if self._colours is not None and self._placed_size() != self._placed:
            self._place(self._placed_size())
        self.looked.emit()

    def _zoom(self, factor: float, about: QPointF) -> None:
        ratio, now = self.devicePixelRatioF(), self.zoom()
        steps = [s / ratio for s in STEPS]
        if factor > 1.0:
            zoom = next((s for s in steps if s > now * 1.001), now)
        else:
            zoom = next((s for s in reversed(steps) if s < now * 0.999), 0.0)
        (left, right), _ = self._whole
        if zoom <= self.box().width() / (right - left):
            self.show_whole()
            return
        (x, y), offset = self.values(about), about - self.box().topLeft()
        self._look(x - offset.x() / zoom, y + offset.y() / zoom, zoom)

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for pixel, colour in (
            (self._current[0] if self._current else None, theme.muted),
            (self._selected, theme.accent),
        ):
            if pixel is not None:
                box = self.field(pixel)
                frame(painter, box, colour)
                frame(painter, box.adjusted(-1, -1, 1, 1), colour)

    # Mouse

    def _at(self, place: QPointF) -> tuple[int, int] | None:
        return self.pixel_at(place)

    def _pointer(self, target: Any, place: QPointF) -> Qt.CursorShape:
        return Qt.CursorShape.ArrowCursor if target is None else Qt.CursorShape.CrossCursor

    def _tell(self, target: tuple[int, int] | None) -> None:
        self.pixel_hovered.emit(target)

    def _click(self, target: tuple[int, int]) -> None:
        self.set_selected(target[0])
        self.pixel_clicked.emit(target)

    # Keys

    def _where(self, target: tuple[int, int]) -> tuple[float, float]:
        return self.values(self.field(target[0]).center())

    def _stepped(self, step: tuple[int, int]) -> tuple[int, int] | None:
        if self._fields is None:
            return None
        pixel = min(self._fields_grid().moved(self._selected, step), self._fields.shape[0] - 1)
        return pixel, pixel

    def _go(self, target: tuple[int, int]) -> None:
        self.set_selected(target[0])
        super()._go(target)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in ARROWS and event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._selected is not None:
            inside = self._current[1] if self._current and self._current[0] == self._selected else self._selected
            field = PixelGrid(self._shape, 0.0, 0.0, 1.0, self._transposed)
            self._hover((self._selected, field.moved(inside, ARROWS[key])))
        elif event.key() in CLICKS and self._selected is not None:
            self.pixel_clicked.emit((self._selected, self._selected))
        else:
            super().keyPressEvent(event)


def mosaic_of(indices: NDArray[np.uint8], grid: tuple[int, int], transposed: bool) -> NDArray[np.uint8]:
    """Arrange fields side by side with 0 in the gaps, shape (rows, columns) as on the screen.

    Parameters
    ----------
    indices : ndarray of shape (d, h, w)
        Indices of the colours, from 1.
    grid : tuple of (rows, columns)
        Arrangement of the d fields.
    transposed : bool
        True to exchange rows and columns of the mosaic and of each field.
    """
    (many, rows, columns), (down, across) = indices.shape, grid
    drawn = np.zeros((down, rows + GAP, across, columns + GAP), np.uint8)
    if down * across > many:
        indices = np.concatenate([indices, np.zeros((down * across - many, rows, columns), np.uint8)])
    drawn[:, :rows, :, :columns] = indices.reshape(down, across, rows, columns).transpose(0, 2, 1, 3)
    mosaic = drawn.reshape(down * (rows + GAP), across * (columns + GAP))[:-GAP, :-GAP]
    return np.ascontiguousarray(mosaic.T if transposed else mosaic)


def _averaged(colours: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Reduce an image; each of its pixels is the mean of the area it covers.

    Parameters
    ----------
    colours : ndarray of shape (rows, columns, 3)
    size : tuple of (rows, columns)
        At most the size of the image.
    """
    image: NDArray[Any] = colours
    for wanted in size:  # each axis becomes the first one, whose blocks are contiguous
        many = len(image)
        edges = np.linspace(0, many, wanted + 1)
        first = edges[:-1].astype(np.intp)
        total = np.zeros((wanted, *image.shape[1:]), np.float32)
        for step in range(math.ceil(many / wanted) + 1):
            covered = np.minimum(edges[1:], first + step + 1) - np.maximum(edges[:-1], first + step)
            weight = (np.maximum(covered, 0.0) * wanted / many).astype(np.float32)
            total += image[np.minimum(first + step, many - 1)] * weight[:, None, None]
        image = np.ascontiguousarray(total.swapaxes(0, 1))
    return np.asarray(np.rint(image), np.uint8)


def whole_zoom(room: float, ratio: float) -> float:
    """Return logical pixels per weight for an available width, in integer device pixels if at least one fits."""
    device = room * ratio
    return max(math.floor(device) if device >= 1.0 else device, 0.01) / ratio
