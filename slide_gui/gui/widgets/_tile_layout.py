"""Where rows, tiles and captions of `WeightTiles` lie: worked out once for a width, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import QPointF, QRectF

from slide_gui.gui.widgets._paint import snapped
from slide_gui.gui.widgets._pixels import PixelGrid, integer_scale

__all__ = ["TileLayout"]

EDGE, LABEL, NAME_LABEL, HEAD, GAP, NARROW_GAP, LINE = 4, 80, 128, 24, 8, 3, 15
LARGEST, LEGIBLE, SMALLEST = 196, 84, 24
BARS_HEIGHT, BARS_LARGEST = 72, 320


@dataclass(frozen=True)
class TileLayout:
    """Geometry of `rows` × `columns` tiles in `width` logical pixels.

    Parameters
    ----------
    width, ratio : float
        Room, and device pixels a logical pixel.
    rows, columns : int
    shape : tuple of (rows, columns) or (d,)
        Of one tile's values; ``(d,)`` is drawn as bars.
    transposed : bool
        Rows and columns of the images exchanged on the screen.
    caption : float
        Width of the widest usual caption; where it does not fit a tile, captions take two lines.
    height_room : float
        Tiles are made no larger than lets all rows stand in this height, as long as they keep `LEGIBLE`; 0 for any.
    """

    width: float
    ratio: float
    rows: int
    columns: int
    shape: tuple[int, ...]
    transposed: bool
    caption: float
    height_room: float = 0.0

    @property
    def gap(self) -> float:
        """Between two tiles across."""
        return GAP if self.columns <= 6 else NARROW_GAP

    @cached_property
    def room(self) -> float:
        """Width that one tile may take."""
        columns = max(self.columns, 1)
        return max((self.width - 2 * EDGE - self.label_width - (columns - 1) * self.gap) / columns, SMALLEST)

    @property
    def bars(self) -> bool:
        """Whether tiles are bars along the index."""
        return len(self.shape) == 1

    @property
    def label_width(self) -> int:
        """Room for a row's title: coordinates of a pixel, or the longer name of a feature."""
        return NAME_LABEL if self.bars else LABEL

    @cached_property
    def scale(self) -> float:
        """Side of one pixel of an image, a whole number of device pixels."""
        across, down = (self.shape[0], self.shape[1]) if self.transposed else (self.shape[1], self.shape[0])
        tall = float(LARGEST)
        if self.height_room:
            around = (2 * EDGE + HEAD) / max(self.rows, 1) + LINE + GAP
            tall = min(tall, max(self.height_room / max(self.rows, 1) - around, LEGIBLE))
        return min(integer_scale(across, min(self.room, LARGEST), self.ratio), integer_scale(down, tall, self.ratio))

    @cached_property
    def size(self) -> tuple[float, float]:
        """Width and height of a tile."""
        if self.bars:
            return snapped(min(self.room, BARS_LARGEST), self.ratio), float(BARS_HEIGHT)
        down, across = self.shape[::-1] if self.transposed else self.shape
        return across * self.scale, down * self.scale

    @cached_property
    def lines(self) -> int:
        """Lines of a caption: 2 where one would be wider than the room of a tile."""
        return 1 if self.caption <= self.room + self.gap - 2 else 2

    @cached_property
    def pitch(self) -> tuple[float, float]:
        """From one tile to the next, across and down."""
        # The longer line of a caption that is broken in two takes a little more than half of it.
        wide = max(self.size[0], min(self.caption if self.lines == 1 else 0.55 * self.caption, self.room))
        return wide + self.gap, self.size[1] + self.lines * LINE + GAP

    @property
    def height(self) -> int:
        """Height of everything."""
        return int(2 * EDGE + HEAD + self.rows * self.pitch[1] + 0.5)

    def tile(self, row: int, column: int) -> QRectF:
        """Return the box of a tile, on whole device pixels."""
        return QRectF(self._lefts[column], self._tops[row], *self.size)

    @cached_property
    def _lefts(self) -> tuple[float, ...]:
        return tuple(
            snapped(EDGE + self.label_width + i * self.pitch[0], self.ratio) for i in range(max(self.columns, 1))
        )

    @cached_property
    def _tops(self) -> tuple[float, ...]:
        return tuple(snapped(EDGE + HEAD + i * self.pitch[1], self.ratio) for i in range(max(self.rows, 1)))

    def captions(self, row: int, column: int) -> QRectF:
        """Return the box of the caption under a tile."""
        box = self.tile(row, column)
        return QRectF(box.x(), box.bottom() + 3, self.pitch[0] - 2, self.lines * LINE)

    def cell(self, row: int, column: int) -> QRectF:
        """Return tile and caption with the marks around them: what changes when the tile does."""
        return self.tile(row, column).united(self.captions(row, column)).adjusted(-3, -3, 3, 1)

    def heading(self, column: int) -> QRectF:
        """Return the box of a column's title."""
        return QRectF(self.tile(0, column).x(), EDGE, self.pitch[0] - 2, HEAD - 4)

    def label(self, row: int) -> QRectF:
        """Return the box of a row's title, in the middle of the row's height."""
        box = self.tile(row, 0)
        return QRectF(EDGE, box.center().y() - 18, self.label_width - 6, 36)

    def remove(self, row: int) -> QRectF:
        """Return the box of a row's × button."""
        box = self.label(row)
        return QRectF(box.right() - 20, box.bottom() - 19, 18, 18)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return row and column of the tile under a point, None between tiles."""
        column = int((point.x() - EDGE - self.label_width) // self.pitch[0])
        row = int((point.y() - EDGE - HEAD) // self.pitch[1])
        if 0 <= row < self.rows and 0 <= column < self.columns and self.tile(row, column).contains(point):
            return row, column
        return None

    def grid(self, row: int, column: int) -> PixelGrid:
        """Return where the pixels of an image tile lie."""
        box = self.tile(row, column)
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scale, self.transposed)

    def index(self, row: int, column: int, point: QPointF) -> int | None:
        """Return the pixel or feature of a tile under a point."""
        if not self.bars:
            return self.grid(row, column).at(point)
        box = self.tile(row, column)
        return min(int((point.x() - box.x()) / box.width() * self.shape[0]), self.shape[0] - 1)

    def spot(self, row: int, column: int, index: int) -> QRectF:
        """Return where a pixel or feature lies in a tile; a feature takes the full height."""
        if not self.bars:
            return self.grid(row, column).rect(index)
        box = self.tile(row, column)
        width = box.width() / self.shape[0]
        return QRectF(box.x() + index * width, box.y(), width, box.height())
