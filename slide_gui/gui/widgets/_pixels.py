"""Where the pixels of an image lie on the screen, and which one lies under a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, qRgb

__all__ = ["ARROWS", "PixelGrid", "colour_table", "indexed_image", "integer_scale", "ring"]

ARROWS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
"""Key → step in (row, column) on the screen."""


@dataclass(frozen=True)
class PixelGrid:
    """An image on the screen.

    Parameters
    ----------
    shape : tuple of (rows, columns)
        Of the data.
    x, y : float
        Top left corner, logical pixels.
    scale : float
        Side of one pixel, logical pixels.
    transposed : bool
        Shown with rows and columns exchanged; indices stay those of the data.
    """

    shape: tuple[int, int]
    x: float
    y: float
    scale: float
    transposed: bool = False

    @property
    def shown(self) -> tuple[int, int]:
        """Rows and columns as they stand on the screen."""
        rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def frame(self) -> QRectF:
        """The whole image."""
        rows, columns = self.shown
        return QRectF(self.x, self.y, columns * self.scale, rows * self.scale)

    def place(self, index: int) -> tuple[int, int]:
        """Return the row and column on the screen of the pixel `index`."""
        row, column = divmod(index, self.shape[1])
        return (column, row) if self.transposed else (row, column)

    def index(self, row: int, column: int) -> int | None:
        """Return the pixel at a row and column on the screen, None outside."""
        rows, columns = self.shown
        if not (0 <= row < rows and 0 <= column < columns):
            return None
        return column * self.shape[1] + row if self.transposed else row * self.shape[1] + column

    def at(self, point: QPointF) -> int | None:
        """Return the pixel under a point, None outside."""
        return self.index(int((point.y() - self.y) // self.scale), int((point.x() - self.x) // self.scale))

    def rect(self, index: int) -> QRectF:
        """Return where the pixel `index` lies."""
        row, column = self.place(index)
        return QRectF(self.x + column * self.scale, self.y + row * self.scale, self.scale, self.scale)

    def moved(self, index: int | None, step: tuple[int, int]) -> int:
        """Return the pixel one step on from `index` on the screen, held at the edges; the middle from None."""
        rows, columns = self.shown
        row, column = (rows // 2, columns // 2) if index is None else self.place(index)
        if index is not None:
            row = min(max(row + step[0], 0), rows - 1)
            column = min(max(column + step[1], 0), columns - 1)
        found = self.index(row, column)
        assert found is not None
        return found


def integer_scale(pixels: int, room: float, ratio: float) -> float:
    """Return the largest side of a pixel, a whole number of device pixels, with which `pixels` fit `room`.

    Where not even one device pixel fits, a whole number of pixels shares one.
    """
    device = room * ratio
    whole = int(device // max(pixels, 1))
    if whole >= 1:
        return whole / ratio
    return 1.0 / (ratio * max(1.0, np.ceil(pixels / max(device, 1.0))))


def colour_table(lut: NDArray[np.uint8], zeroth: QColor | None = None) -> list[int]:
    """Return a QImage colour table of a (256, 3) table, entry 0 replaced if `zeroth` is given."""
    table = [qRgb(*entry) for entry in lut.tolist()]
    if zeroth is not None:
        table[0] = zeroth.rgb()
    return table


def indexed_image(indices: NDArray[np.uint8], table: list[int]) -> QImage:
    """Return an 8-bit image that owns its pixels."""
    height, width = indices.shape
    image = QImage(indices.data, width, height, width, QImage.Format.Format_Indexed8)
    image.setColorTable(table)
    return image.copy()


def ring(painter: QPainter, around: QRectF, colour: QColor, halo: QColor, width: float = 2.0) -> None:
    """Draw a thin ring outside `around` that hides nothing of it, with a halo that parts it from the image."""
    radius = max(0.5 * around.width() * 1.42 + 0.5 * width, 4.5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(halo, width + 2.0), QPen(colour, width)):
        painter.setPen(pen)
        painter.drawEllipse(around.center(), radius, radius)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
