"""Geometry and colours of images on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from slide_gui.figures.color_scale import ColorScale

INK = ColorScale("grey", 0.0, 1.0)
"""Scale drawn as ink on paper in the light theme and as white on near black in the dark one (see `ink_table`)."""

ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
"""Key → step in (row, column) on the screen."""

LARGE = 16.0
"""Side in logical pixels from which a ring fits inside a pixel."""


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
    transposed : bool
        True to exchange rows and columns on the screen; indices remain those of the data.
    """

    shape: tuple[int, int]
    x: float
    y: float
    scale: float
    transposed: bool = False

    @property
    def shown(self) -> tuple[int, int]:
        """Return the number of rows and columns on the screen."""
        rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def frame(self) -> QRectF:
        """Return the rectangle of the image."""
        rows, columns = self.shown
        return QRectF(self.x, self.y, columns * self.scale, rows * self.scale)

    def place(self, index: int) -> tuple[int, int]:
        """Return the row and column on the screen of a pixel, given its index."""
        row, column = divmod(index, self.shape[1])
        return (column, row) if self.transposed else (row, column)

    def index(self, row: int, column: int) -> int | None:
        """Return the pixel at a row and column on the screen, or None outside the image."""
        rows, columns = self.shown
        if not (0 <= row < rows and 0 <= column < columns):
            return None
        return column * self.shape[1] + row if self.transposed else row * self.shape[1] + column

    def at(self, point: QPointF) -> int | None:
        """Return the pixel under a point, or None outside the image."""
        return self.index(int((point.y() - self.y) // self.scale), int((point.x() - self.x) // self.scale))

    def rect(self, index: int) -> QRectF:
        """Return the rectangle of a pixel."""
        row, column = self.place(index)
        return QRectF(self.x + column * self.scale, self.y + row * self.scale, self.scale, self.scale)

    def moved(self, index: int | None, step: tuple[int, int]) -> int:
        """Return the pixel one step further on the screen, within the image; the central pixel for None."""
        rows, columns = self.shown
        row, column = (rows // 2, columns // 2) if index is None else self.place(index)
        if index is not None:
            row = min(max(row + step[0], 0), rows - 1)
            column = min(max(column + step[1], 0), columns - 1)
        moved = self.index(row, column)
        assert moved is not None
        return moved


def integer_scale(pixels: int, extent: float, ratio: float) -> float:
    """Return the largest side of a pixel in an integer number of device pixels with which `pixels` fit in `extent`.

    If not even one device pixel fits, an integer number of pixels shares one.
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


def ink_table(dark: bool, zeroth: QColor | None = None) -> NDArray[np.uint32]:
    """Return the colours of `INK` in a theme, as `colour_table` does."""
    table = colour_table(INK, zeroth)
    return table if dark else np.concatenate([table[:1], table[:0:-1]])


def crosshair(box: QRectF, spot: QRectF, gap: float | None = None) -> list[QLineF]:
    """Return lines across `box` through the centre of `spot` with a gap around it, by default 2 pixels outside it."""
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
    """Return an image that owns its pixels.

    The table is applied here, not by Qt: without smoothing, Qt's raster engine draws 32-bit
    images ten times as fast as indexed ones (9 and 120 µs for 28 × 28 shown at 112 × 112).
    """
    pixels = table[indices]
    height, width = indices.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()


def ring_radius(side: float, width: float) -> float:
    """Return the radius of a ring that covers nothing of a pixel, or lies inside a large pixel."""
    if side >= LARGE:
        return 0.5 * side - width - 1.0
    return max(0.71 * side + 0.5 * width, 4.5)


def ring(painter: QPainter, around: QRectF, colour: QColor, halo: QColor, width: float = 2.0) -> None:
    """Draw a thin ring around a pixel, with a halo that separates it from the image."""
    radius = ring_radius(around.width(), width)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(halo, width + 2.0), QPen(colour, width)):
        painter.setPen(pen)
        painter.drawEllipse(around.center(), radius, radius)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
