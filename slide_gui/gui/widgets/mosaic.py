"""All receptive fields of a layer as one zoomable image: field (r, c) belongs to pixel (r, c)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets._paint import focus_ring, frame
from slide_gui.gui.widgets._painted import CLICKS, Painted
from slide_gui.gui.widgets._pixels import ARROWS, PixelGrid, colour_table, coloured_image

__all__ = ["Mosaic"]

GAP = 1
STEPS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
"""Zoom in device pixels a weight; below, the whole fits."""


class Mosaic(Painted):
    """One image of d fields; the wheel zooms about the mouse, a drag pans, a double click fits.

    Arrow keys select the neighbouring field, + and − zoom, 0 fits, Enter clicks.
    """

    pixel_hovered = Signal(object)
    """(pixel whose field it is, pixel inside it) under the mouse, or None."""
    pixel_clicked = Signal(object)
    """(pixel whose field it is, pixel inside it)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fields: NDArray[np.float32] | None = None
        self._scale: ColorScale | None = None
        self._shape: tuple[int, int] = (1, 1)
        self._grid: tuple[int, int] = (1, 1)
        self._transposed, self._stale = False, False
        self._image: QImage | None = None
        self._small: QImage | None = None
        self._zoom: float | None = None
        self._origin = QPointF()
        self._selected: int | None = None
        self._hovered: tuple[int, int] | None = None
        self._pressed: QPointF | None = None
        self._dragged = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 160)
        self.setAccessibleName("All rows of the weights")

    def sizeHint(self) -> QSize:
        return QSize(560, 560)

    def set_fields(
        self,
        fields: NDArray[np.float32],
        scale: ColorScale,
        grid: tuple[int, int] | None = None,
        stale: bool = False,
    ) -> None:
        """Show every field of a layer.

        Parameters
        ----------
        fields : ndarray of shape (d, h, w), float32
            Never changed after it was given.
        scale : ColorScale
        grid : tuple of (rows, columns), optional
            How the d fields stand; by default (h, w) where d = h·w, else as square as they go.
        stale : bool
            Greyed, because newer fields are on their way.
        """
        count, rows, columns = fields.shape
        if grid is None:
            side = int(np.ceil(np.sqrt(count)))
            grid = (rows, columns) if count == rows * columns else (-(-count // side), side)
        if (rows, columns) != self._shape or grid != self._grid:
            self._zoom = None
        self._fields, self._scale, self._stale = fields, scale, stale
        self._shape, self._grid = (rows, columns), grid
        self._build()

    def set_selected(self, pixel: int | None) -> None:
        """Put a ring round the field of one pixel, without emitting anything."""
        self._selected = pixel
        self.update()

    def set_transposed(self, transposed: bool) -> None:
        """Exchange rows and columns on the screen, of the fields and of each; indices stay those of the data."""
        if transposed != self._transposed:
            self._transposed = transposed
            self._build()

    def fit(self) -> None:
        """Show the whole."""
        self._zoom = None
        self.update()

    # The image

    def _build(self) -> None:
        self._small = None
        if self._fields is None or self._scale is None:
            return
        (rows, columns), (down, across) = self._shape, self._grid
        drawn = np.zeros((down, rows + GAP, across, columns + GAP), np.uint8)
        indices = self._scale.indices(self._fields)
        missing = down * across - indices.shape[0]
        if missing:
            indices = np.concatenate([indices, np.zeros((missing, rows, columns), np.uint8)])
        drawn[:, :rows, :, :columns] = indices.reshape(down, across, rows, columns).transpose(0, 2, 1, 3)
        whole = drawn.reshape(down * (rows + GAP), across * (columns + GAP))[:-GAP, :-GAP]
        table = colour_table(self._scale, QColor(theme_of(self).line))
        self._image = coloured_image(np.ascontiguousarray(whole.T if self._transposed else whole), table)
        self.update()

    # Geometry

    def _fields_grid(self) -> PixelGrid:
        """Return the grid of fields; one step is a field with its gap, square only if fields are."""
        return PixelGrid(self._grid, 0.0, 0.0, 1.0, self._transposed)

    def zoom(self) -> float:
        """Return logical pixels a weight."""
        if self._zoom is not None:
            return self._zoom
        assert self._image is not None
        ratio = self.devicePixelRatioF()
        room = min((self.width() - 8) * ratio / self._image.width(), (self.height() - 8) * ratio / self._image.height())
        return max(np.floor(room) if room >= 1.0 else room, 0.01) / ratio

    def corner(self) -> QPointF:
        """Return where the image's top left corner lies."""
        return QPointF(4.0, 4.0) if self._zoom is None else self._origin

    def _step(self) -> tuple[float, float]:
        """Return from one field to the next, across and down, in logical pixels."""
        rows, columns = self._shape[::-1] if self._transposed else self._shape
        return (columns + GAP) * self.zoom(), (rows + GAP) * self.zoom()

    def field(self, pixel: int) -> QRectF:
        """Return where the field of a pixel lies."""
        row, column = self._fields_grid().place(pixel)
        across, down = self._step()
        gap = GAP * self.zoom()
        at = self.corner() + QPointF(column * across, row * down)
        return QRectF(at.x(), at.y(), across - gap, down - gap)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return (pixel whose field it is, pixel inside) under a point, None outside and on gaps."""
        if self._fields is None:
            return None
        inside = point - self.corner()
        across, down = self._step()
        pixel = self._fields_grid().index(int(inside.y() // down), int(inside.x() // across))
        if pixel is None or pixel >= self._fields.shape[0]:
            return None
        box = self.field(pixel)
        within = PixelGrid(self._shape, box.x(), box.y(), self.zoom(), self._transposed).at(point)
        return None if within is None else (pixel, within)

    def _zoom_to(self, zoom: float, about: QPointF) -> None:
        old, corner = self.zoom(), self.corner()
        self._zoom = zoom
        self._move_to(about - (about - corner) * (zoom / old))

    def _move_to(self, origin: QPointF) -> None:
        """Put the corner at `origin`, held so that some of the image always stays in sight."""
        assert self._image is not None
        zoom, ratio = self.zoom(), self.devicePixelRatioF()
        x = min(max(origin.x(), 60.0 - self._image.width() * zoom), self.width() - 60.0)
        y = min(max(origin.y(), 60.0 - self._image.height() * zoom), self.height() - 60.0)
        self._origin = QPointF(round(x * ratio) / ratio, round(y * ratio) / ratio)
        self.update()

    def _zoom_by(self, direction: int, about: QPointF) -> None:
        if self._image is None:
            return
        ratio, now = self.devicePixelRatioF(), self.zoom()
        steps = [s / ratio for s in STEPS]
        if direction > 0:
            wider = [s for s in steps if s > now * 1.001]
            if wider:
                self._zoom_to(wider[0], about)
            return
        narrower = [s for s in steps if s < now * 0.999]
        self._zoom = None
        fitted = self.zoom()
        if narrower and narrower[-1] > fitted:
            self._zoom = now
            self._zoom_to(narrower[-1], about)
        self.update()

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        if self._image is None:
            frame(painter, QRectF(self.rect()).adjusted(4, 4, -4, -4), theme.line)
            return
        painter.setOpacity(0.65 if self._stale else 1.0)
        zoom, ratio, corner = self.zoom(), self.devicePixelRatioF(), self.corner()
        if zoom * ratio < 1.0:
            painter.drawImage(corner, self._reduced(zoom * ratio, ratio))
        else:
            self._paint_part(painter, zoom, corner)
        painter.setOpacity(1.0)
        for pixel, colour in (
            (self._hovered[0] if self._hovered else None, theme.muted),
            (self._selected, theme.accent),
        ):
            if pixel is not None:
                box = self.field(pixel)
                frame(painter, box, colour)
                frame(painter, box.adjusted(-1, -1, 1, 1), colour)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
        painter.end()

    def _paint_part(self, painter: QPainter, zoom: float, corner: QPointF) -> None:
        """Draw only the weights in sight."""
        assert self._image is not None
        left, top = max(int(-corner.x() / zoom), 0), max(int(-corner.y() / zoom), 0)
        columns = min(int(self.width() / zoom) + 2, self._image.width() - left)
        rows = min(int(self.height() / zoom) + 2, self._image.height() - top)
        if columns > 0 and rows > 0:
            at = corner + QPointF(left * zoom, top * zoom)
            target = QRectF(at.x(), at.y(), columns * zoom, rows * zoom)
            painter.drawImage(target, self._image, QRectF(left, top, columns, rows))

    def _reduced(self, factor: float, ratio: float) -> QImage:
        """Return the whole, averaged down to fewer device pixels than weights; kept until it changes."""
        assert self._image is not None
        size = QSize(max(int(self._image.width() * factor), 1), max(int(self._image.height() * factor), 1))
        if self._small is None or self._small.size() != size:
            self._small = self._image.scaled(
                size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
            )
            self._small.setDevicePixelRatio(ratio)
        return self._small

    # Mouse and keys

    def _hover(self, spot: tuple[int, int] | None) -> None:
        if spot != self._hovered:
            self._hovered = spot
            self.update()
            self.pixel_hovered.emit(spot)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._image is not None:
            self._pressed, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None:
            moved = event.position() - self._pressed
            if self._dragged or moved.manhattanLength() > 4.0:
                self._dragged = True
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
                corner, zoom = self.corner(), self.zoom()
                self._zoom, self._pressed = zoom, event.position()
                self._move_to(corner + moved)
            return
        spot = self.at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if spot is None else Qt.CursorShape.CrossCursor)
        self._hover(spot)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        spot = self.at(event.position())
        if not self._dragged and spot is not None:
            self.set_selected(spot[0])
            self.pixel_clicked.emit(spot)

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        self._pressed = None
        self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = event.angleDelta().y()
        if turn:
            self._zoom_by(1 if turn > 0 else -1, event.position())
        event.accept()

    def _leave(self) -> None:
        self._hover(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        middle = QPointF(self.width() / 2, self.height() / 2)
        if self._fields is None:
            super().keyPressEvent(event)
        elif key in ARROWS:
            pixel = self._fields_grid().moved(self._selected, ARROWS[key])
            self.set_selected(min(pixel, self._fields.shape[0] - 1))
            self._hover((self._selected or 0, self._selected or 0))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom_by(1, middle)
        elif key == Qt.Key.Key_Minus:
            self._zoom_by(-1, middle)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key in CLICKS and self._selected is not None:
            self.pixel_clicked.emit((self._selected, self._selected))
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._zoom is not None and self._image is not None:
            self._move_to(self._origin)
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._build()
        super().changeEvent(event)


def _demo() -> QWidget:
    from slide_gui.gui.widgets._demo import cross

    view = Mosaic()
    fields = np.stack([cross(r, c, 3) for r in range(28) for c in range(28)])
    view.set_fields(fields, ColorScale.symmetric(theme_of(view).diverging, 0.3))
    view.set_selected(14 * 28 + 9)
    return view


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 640, 640)
