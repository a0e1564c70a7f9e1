"""The view of all rows of one layer's W as one zoomable image; field (r, c) belongs to pixel (r, c)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QMargins, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QPainter, QPixmap, QTransform
from PySide6.QtWidgets import QGraphicsPixmapItem, QWidget

from slide_gui.core.slide.stack import Layer
from slide_gui.experiments.inspection.rows import Preview
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.weights.view import ViewContext
from slide_gui.gui.plots.axes import Plot
from slide_gui.gui.theme import Theme
from slide_gui.gui.widgets.painted import ARROWS, CLICKS, PixelGrid, colour_table, frame
from slide_gui.text import counted

_GAP = 1
_UNLIMITED = (1 << 24) - 1  # largest width of a QWidget
STEPS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
"""Zoom in device pixels per weight; below it the full mosaic fits."""


class Mosaic(Plot):
    """One image of d fields; the wheel zooms about the mouse, a drag pans, a double-click fits.

    Arrow keys select the neighbouring field, + and − zoom, 0 fits, Enter clicks.
    """

    pixel_hovered = Signal(object)
    """(pixel of the field, pixel inside it) under the mouse, or None."""
    pixel_clicked = Signal(object)
    """(pixel of the field, pixel inside it)."""

    view_changed = Signal()
    """The visible part or its size changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(QMargins(4, 4, 4, 4), ("", ""), ruled=False, parent=parent)
        self._fields: NDArray[np.float32] | None = None
        self._scale: ColorScale | None = None
        self._shape, self._grid = (1, 1), (1, 1)
        self._transposed = False
        self._selected: int | None = None
        self._current: tuple[int, int] | None = None
        self._picture = QImage()  # a pixel per weight
        self._image = QGraphicsPixmapItem()
        for axis in (self._x_axis, self._y_axis):
            axis.hide()
        self._box.addItem(self._image, ignoreBounds=True)
        self.setMinimumSize(160, 160)
        self.setAccessibleName("All rows of the weights: mosaic of images")

    def sizeHint(self) -> QSize:
        return QSize(560, 560)

    # Contents

    def set_fields(
        self, fields: NDArray[np.float32], scale: ColorScale, grid: tuple[int, int], stale: bool = False
    ) -> None:
        """Show the fields of a layer.

        Parameters
        ----------
        fields : ndarray of shape (d, h, w), float32
            Read-only.
        grid : tuple of (rows, columns)
            Arrangement of the d fields.
        stale : bool
            True to grey the fields because newer ones are being computed.
        """
        self._set_faint(stale)
        _, rows, columns = fields.shape
        other = (rows, columns) != self._shape or grid != self._grid
        if other:
            self._current = self._selected = None  # pixels of earlier data
        if other or fields is not self._fields or scale != self._scale:
            self._fields, self._scale = fields, scale
            self._shape, self._grid = (rows, columns), grid
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
        if target is not None and max(target) < self._fields.shape[0] and not self.is_faint:
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
        corner = self.at(column * (columns + _GAP), -row * (rows + _GAP))
        return QRectF(corner.x(), corner.y(), columns * self.zoom(), rows * self.zoom())

    def pixel_at(self, place: QPointF) -> tuple[int, int] | None:
        """Return (pixel of the field, pixel inside) at a position, or None outside and in gaps."""
        if self._fields is None:
            return None
        (rows, columns), (x, y) = self._one(), self.values(place)
        pixel = self._fields_grid().index(int(-y // (rows + _GAP)), int(x // (columns + _GAP)))
        if pixel is None:
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
        if other:
            self._fit()
            self.show_full_range()
        self._redraw()

    def _draw(self, theme: Theme) -> None:
        if self._fields is None or self._scale is None:
            return
        mosaic = mosaic_of(self._scale.indices(self._fields), self._grid, self._transposed)
        high, wide = mosaic.shape
        picture = QImage(mosaic.data, wide, high, wide, QImage.Format.Format_Indexed8)  # a quarter of the memory
        picture.setColorTable(colour_table(self._scale, QColor(theme.line)).tolist())
        self._picture = picture.copy()
        self._place(self._placed_size())

    def _placed_size(self) -> QSize:
        """Return the size of the image: a pixel per weight, or per pixel of the screen if those are fewer."""
        dots = min(self.zoom() * self.devicePixelRatioF(), 1.0)
        return QSize(max(round(self._picture.width() * dots), 1), max(round(self._picture.height() * dots), 1))

    def _place(self, size: QSize) -> None:
        shown = self._picture
        if size != shown.size():  # weights share a pixel of the screen: Qt averages colours, but not indexed ones
            smooth, ignore = Qt.TransformationMode.SmoothTransformation, Qt.AspectRatioMode.IgnoreAspectRatio
            shown = shown.convertToFormat(QImage.Format.Format_RGB32).scaled(size, ignore, smooth)
        self._image.setPixmap(QPixmap.fromImage(shown))
        across, down = self._picture.width() / size.width(), self._picture.height() / size.height()
        self._image.setTransform(QTransform.fromScale(across, -down))  # the first row is at the top

    def _size(self) -> tuple[int, int]:
        """Return rows and columns of the image in weights, with the gaps."""
        rows, columns = self._one()
        down, across = self._fields_grid().shown
        return across * (columns + _GAP) - _GAP, down * (rows + _GAP) - _GAP

    def full_size(self, width: float, height: float) -> QSize:
        """Return the size of the plot that shows the full mosaic as large as a width and a height allow."""
        margins, (wide, high) = self._margins, self._size()
        left, top = margins.left() + margins.right(), margins.top() + margins.bottom()
        zoom = fitting_zoom(min((width - left) / wide, (height - top) / high), self.devicePixelRatioF())
        return QSize(math.ceil(wide * zoom) + left, math.ceil(high * zoom) + top)

    def picture(self) -> QRectF:
        """Return the rectangle of the visible fields."""
        wide, high = self._size()
        return QRectF(self.at(0, 0), self.at(wide, -high)) & self.box()

    def _fit(self) -> None:
        """Fit the mosaic into the plot with square weights, an integer number of device pixels wide if possible."""
        box, ratio, (wide, high) = self.box(), self.devicePixelRatioF(), self._size()
        zoom = fitting_zoom(min(box.width() / wide, box.height() / high), ratio)
        self._set_full_range((0.0, box.width() / zoom), (-box.height() / zoom, 0.0))

    def _arrange(self) -> None:
        before, (left, _), (_, top) = self.zoom(), *self.shown()
        super()._arrange()
        if self._fields is not None:
            zoomed = self.is_zoomed()
            self._fit()
            if zoomed:
                self._show_part(left, top, before)

    def _show_part(self, left: float, top: float, zoom: float) -> None:
        """Move a position to the top left corner at a zoom."""
        box = self.box()
        self._box.setRange(xRange=(left, left + box.width() / zoom), yRange=(top - box.height() / zoom, top), padding=0)

    def _view_changed(self) -> None:
        if not self._picture.isNull() and self._placed_size() != self._image.pixmap().size():
            self._place(self._placed_size())
        self.view_changed.emit()

    def _zoom(self, factor: float, about: QPointF, **_axes: bool) -> None:
        ratio, now = self.devicePixelRatioF(), self.zoom()
        steps = [s / ratio for s in STEPS]
        if factor > 1.0:
            zoom = next((s for s in steps if s > now * 1.001), now)
        else:
            zoom = next((s for s in reversed(steps) if s < now * 0.999), 0.0)
        (left, right), _ = self._full_range
        if zoom <= self.box().width() / (right - left):
            self.show_full_range()
            return
        (x, y), offset = self.values(about), about - self.box().topLeft()
        self._show_part(x - offset.x() / zoom, y + offset.y() / zoom, zoom)

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

    def _report(self, target: tuple[int, int] | None) -> None:
        self.pixel_hovered.emit(target)

    def _click(self, target: tuple[int, int]) -> None:
        self.set_selected(target[0])
        self.pixel_clicked.emit(target)

    # Keys

    def _values_of(self, target: tuple[int, int]) -> tuple[float, float]:
        return self.values(self.field(target[0]).center())

    def _stepped(self, step: tuple[int, int]) -> tuple[int, int] | None:
        if self._fields is None:
            return None
        return (self._fields_grid().moved(self._selected, step),) * 2

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
    (_, rows, columns), (down, across) = indices.shape, grid
    drawn = np.zeros((down, rows + _GAP, across, columns + _GAP), np.uint8)
    drawn[:, :rows, :, :columns] = indices.reshape(down, across, rows, columns).transpose(0, 2, 1, 3)
    mosaic = drawn.reshape(down * (rows + _GAP), across * (columns + _GAP))[:-_GAP, :-_GAP]
    return np.ascontiguousarray(mosaic.T if transposed else mosaic)


def fitting_zoom(extent: float, ratio: float) -> float:
    """Return logical pixels per weight for an available width, in integer device pixels if at least one fits."""
    device = extent * ratio
    return max(math.floor(device) if device >= 1.0 else device, 0.01) / ratio


class LayerFields:
    """All rows of W of some layers as mosaics show them: the same array as long as a layer does not change."""

    def __init__(self, context: ViewContext) -> None:
        self._workspace, self._source = context.workspace, context.tiles
        self._known: dict[tuple[Any, ...], tuple[NDArray[np.float32], NDArray[np.float64]]] = {}

    def of(self, layers: Iterable[int]) -> list[tuple[NDArray[np.float32], NDArray[np.float64]]]:
        """Return the fields of each layer, shape (d, h, w), and its biases; those of other layers are dropped."""
        stack, contributions = self._workspace.fitting.stack, self._source.shows_contributions()
        keys = [] if stack is None else [(k, stack.layers[k - 1], self._preview(k), contributions) for k in layers]
        self._known = {key: self._known.get(key) or self._computed(*key) for key in keys}
        return list(self._known.values())

    def grid(self) -> tuple[int, int]:
        """Return the arrangement of the fields: that of the pixels, or the matrix W for other features."""
        dataset = self._workspace.dataset
        assert dataset is not None
        return dataset.image_shape or (dataset.n_features, 1)

    def is_stale(self, k: int) -> bool:
        """True if the fields of a layer were fitted with other parameters than the current ones."""
        preview = self._preview(k)
        if preview is not None:
            return preview.parameters != self._workspace.state.parameters
        return not self._workspace.fitting.is_fresh(k)

    def _preview(self, k: int) -> Preview | None:
        """Return the preview of the first layer if it contains every row."""
        preview, stack = self._workspace.fitting.preview, self._workspace.fitting.stack
        is_complete = k == 1 and preview is not None and stack is not None and len(preview.rows) >= stack.n_features
        return preview if is_complete else None

    def _computed(
        self, k: int, layer: Layer, preview: Preview | None, contributions: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        dataset, weights = self._workspace.dataset, layer.weights
        assert dataset is not None
        if preview is not None:
            weights = np.array([preview.rows[i] for i in range(len(weights))])
        fields = weights[:, :-1].astype(np.float32)
        rms = self._source.rms(k) if contributions else None
        if rms is not None:
            fields *= rms.astype(np.float32)
        return fields.reshape(-1, *(dataset.image_shape or (1, len(weights)))), weights[:, -1]
