"""One image of the data set, in which a pixel is hovered, clicked and pinned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.painted import STALE, Picker, focus_ring, frame, snapped, washed
from slide_gui.gui.widgets.pixels import INK, PixelGrid, coloured_image, crosshair, ink_table, integer_scale, ring

__all__ = ["ImageView"]

MARGIN = 4


class ImageView(Picker):
    """A grey image of square pixels, whole device pixels wide, without smoothing.

    The light theme shows 1 as ink on paper, the dark theme as white on near black.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float32] | None = None
        self._transposed = False
        self._stale = False
        self._drawn: tuple[bool, QImage] | None = None
        self.setMinimumSize(64, 64)
        self.setAccessibleName("Image")

    def sizeHint(self) -> QSize:
        return QSize(252 + 2 * MARGIN, 252 + 2 * MARGIN)

    def set_image(self, values: NDArray[np.float32], stale: bool = False) -> None:
        """Show an image.

        Parameters
        ----------
        values : ndarray of shape (rows, columns), float32
            0 to 1; what lies outside is clipped.
        stale : bool
            Greyed, because a newer image is on its way.
        """
        self._values, self._stale, self._drawn = values, stale, None
        self._set_count(values.size)

    def set_transposed(self, transposed: bool) -> None:
        """Exchange rows and columns on the screen; indices stay those of the data."""
        self._transposed, self._drawn = transposed, None
        self.update()

    def grid(self) -> PixelGrid | None:
        """Return where the pixels lie, in the widget's coordinates; None without an image."""
        if self._values is None:
            return None
        rows, columns = self._values.shape
        shown = (columns, rows) if self._transposed else (rows, columns)
        ratio = self.devicePixelRatioF()
        room = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        scale = min(integer_scale(shown[0], room.height(), ratio), integer_scale(shown[1], room.width(), ratio))
        # At the top left, so that it stands in line with what is above and below it.
        return PixelGrid((rows, columns), snapped(MARGIN, ratio), snapped(MARGIN, ratio), scale, self._transposed)

    def _at(self, point: QPointF) -> int | None:
        grid = self.grid()
        return None if grid is None else grid.at(point)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        grid = self.grid()
        return None if grid is None else grid.moved(self._current, step)

    def _image(self) -> QImage:
        dark = theme_of(self).is_dark
        if self._drawn is None or self._drawn[0] != dark:
            assert self._values is not None
            shown = self._values.T if self._transposed else self._values
            self._drawn = dark, coloured_image(INK.indices(shown), ink_table(dark))
        return self._drawn[1]

    def paintEvent(self, _event: QPaintEvent) -> None:
        grid, theme = self.grid(), theme_of(self)
        painter = QPainter(self)
        if grid is None:
            frame(painter, QRectF(self.rect()).adjusted(4, 4, -4, -4), theme.line)
            return
        painter.setOpacity(STALE if self._stale else 1.0)
        painter.drawImage(grid.frame, self._image())
        painter.setOpacity(1.0)
        frame(painter, grid.frame, theme.line)
        halo = washed(theme.paper, 0.8)
        for index, colour in self._pins:
            if 0 <= index < self._count:
                ring(painter, grid.rect(index), colour, halo)
        if self._current is not None:
            self._paint_cursor(painter, grid, self._current)
        focus_ring(painter, self, grid.frame)
        painter.end()

    def _paint_cursor(self, painter: QPainter, grid: PixelGrid, index: int) -> None:
        theme, box = theme_of(self), grid.rect(index)
        painter.setPen(QPen(washed(theme.accent, 0.55), 1.0))
        painter.drawLines(crosshair(grid.frame, box, 0.71 * box.width() + 3.0))
        ring(painter, box, QColor(theme.accent), washed(theme.paper, 0.8), 1.5)
