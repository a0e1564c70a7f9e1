"""Where the tiles and arrows of the flow lie: x over x̃, then T(hᵏ⁻¹) over hᵏ, one column a layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import QLineF, QPointF, QRectF

from slide_gui.gui.widgets._paint import snapped
from slide_gui.gui.widgets._pixels import PixelGrid

__all__ = ["ARROW", "HEAD", "LINE", "FlowLayout"]

EDGE, HEAD, LINE, ARROW, DOWN = 4, 20, 15, 40, 30
BARS_HEIGHT = 72
_CANVAS, _LARGEST = 252, 336  # sides of the drawn image where there is room, and of any image, logical pixels
_DRAWABLE = 6  # device-independent side of a cell that a mouse hits without care
_LINES = 2  # below the lower tiles
_WORDS = 96  # width of a line of captions


@dataclass(frozen=True)
class FlowLayout:
    """Geometry of the input column and `depth` layers.

    Parameters
    ----------
    width, height, ratio : float
        Room, and device pixels a logical pixel.
    depth : int
    shape : tuple of (rows, columns) or (d,)
        ``(d,)`` is drawn as bars.
    transposed : bool
        Rows and columns of the images exchanged on the screen.
    """

    width: float
    height: float
    ratio: float
    depth: int
    shape: tuple[int, ...]
    transposed: bool = False

    @property
    def bars(self) -> bool:
        """Whether values are drawn as bars."""
        return len(self.shape) == 1

    @property
    def shown(self) -> tuple[int, int]:
        """Rows and columns as they stand on the screen."""
        rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @cached_property
    def scales(self) -> tuple[float, float]:
        """Sides of a pixel of the drawn image and of the tiles, whole device pixels where one fits."""
        steps = [k / self.ratio for k in range(32, 0, -1)] + [1 / (self.ratio * k) for k in range(2, 64)]
        longest = max(self.shown)
        small = [s for s in steps if s * longest <= _LARGEST] or steps[-1:]
        tile = next((s for s in small if self._fits(self._least(s), s)), small[-1])
        drawn = [s for s in small if s * longest <= max(_CANVAS, tile * longest)]
        canvas = next((s for s in drawn if self._fits(s, tile)), self._least(tile))
        return canvas, tile

    def _least(self, tile: float) -> float:
        """Return the smallest cell to draw on beside tiles of this scale."""
        wanted = min(_DRAWABLE, 1.5 * tile) if max(self.shown) * _DRAWABLE <= _CANVAS else tile
        return max(tile, snapped(wanted, self.ratio))

    def _fits(self, canvas: float, tile: float) -> bool:
        rows, columns = self.shown
        across = 2 * EDGE + canvas * columns + self.depth * (ARROW + tile * columns) + _beyond(tile * columns)
        down = EDGE + 2 * HEAD + canvas * rows + LINE + DOWN + tile * rows + _LINES * LINE + EDGE
        return across <= self.width and down <= self.height

    @cached_property
    def canvas(self) -> QRectF:
        """The image x."""
        if self.bars:
            return QRectF(EDGE, EDGE + HEAD, self._bar_width, BARS_HEIGHT)
        rows, columns = self.shown
        scale = self.scales[0]
        return QRectF(EDGE, EDGE + HEAD, columns * scale, rows * scale)

    @property
    def _bar_width(self) -> float:
        return min(320.0, (self.width - 2 * EDGE - self.depth * ARROW) / (self.depth + 1))

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height of a tile."""
        if self.bars:
            return self._bar_width, BARS_HEIGHT
        rows, columns = self.shown
        return columns * self.scales[1], rows * self.scales[1]

    def upper(self, column: int) -> QRectF:
        """Return the box of T(hᵏ⁻¹), k = column from 1; of column 0 that of x."""
        if column == 0:
            return self.canvas
        w, h = self.size
        return QRectF(self._left(column), self.canvas.bottom() - h, w, h)

    def lower(self, column: int) -> QRectF:
        """Return the box of hᵏ, k = column from 1; of column 0 that of x̃."""
        w, h = self.size
        return QRectF(self._left(column), self.canvas.bottom() + LINE + DOWN + HEAD, w, h)

    def _left(self, column: int) -> float:
        w, _ = self.size
        first = snapped(self.canvas.right() + ARROW, self.ratio)
        return EDGE if column == 0 else first + (column - 1) * (w + ARROW)

    def head(self, box: QRectF) -> QRectF:
        """Return the box of the title above a tile."""
        return QRectF(box.x(), box.y() - HEAD, box.width() + 0.5 * _beyond(box.width()), HEAD - 3)

    def captions(self, box: QRectF) -> QRectF:
        """Return the box of the lines below a tile."""
        room = self.canvas.width() + ARROW - 10.0 if box.x() == EDGE else box.width()
        return QRectF(box.x(), box.bottom() + 3, max(room, box.width() + _beyond(box.width())), _LINES * LINE)

    def down(self, column: int) -> QLineF:
        """Return the arrow from the upper tile of a column to the lower one."""
        above, below = self.upper(column), self.lower(column)
        x = below.center().x() if column else below.x() + 0.5 * self.size[0]
        return QLineF(x, above.bottom() + LINE + 4, x, below.top() - HEAD - 1)

    def across(self, column: int) -> tuple[QPointF, QPointF, QPointF, QPointF]:
        """Return the corners of the arrow from the lower tile of a column to the upper one of the next."""
        start, stop = self.lower(column), self.upper(column + 1)
        middle = stop.left() - 0.5 * ARROW
        return (
            QPointF(start.right() + 4, start.center().y()),
            QPointF(middle, start.center().y()),
            QPointF(middle, stop.center().y()),
            QPointF(stop.left() - 4, stop.center().y()),
        )

    @property
    def bottom(self) -> float:
        """Height that everything takes."""
        return self.lower(0).bottom() + 3 + _LINES * LINE + EDGE

    def grid(self, box: QRectF) -> PixelGrid:
        """Return where the pixels of an image tile lie."""
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scales[1], self.transposed)

    def index(self, box: QRectF, point: QPointF) -> int | None:
        """Return the pixel or feature of a tile under a point."""
        if not box.contains(point):
            return None
        if not self.bars:
            return self.grid(box).at(point)
        return min(int((point.x() - box.x()) / box.width() * self.shape[0]), self.shape[0] - 1)


def _beyond(width: float) -> float:
    """Return how far the words of a tile may reach beyond it: the narrower it is, the farther into the gap."""
    return min(max(_WORDS - width, 0.0), ARROW - 10.0)
