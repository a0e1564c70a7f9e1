"""What weight tiles show, frozen rows of frozen tiles: as images, and where each lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QImage

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.widgets.painted import snapped
from slide_gui.gui.widgets.pixels import PixelGrid, colour_table, coloured_image, crosshair, integer_scale

__all__ = ["ImageLayout", "Tile", "TileLayout", "TileRow", "bar_image"]


@dataclass(frozen=True, eq=False)
class Tile:
    """One image of weights.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        Never changed after it was given: a new picture is a new `Tile`. ``(d,)`` is drawn as bars.
    caption : str
        Under the tile; breaks at " · " where the tile is narrow.
    marker : int or None
        Pixel with a ring: the one these weights reconstruct.
    quantity : str
        What the values are, where they are no weights.
    """

    values: NDArray[np.float32]
    scale: ColorScale
    caption: str = ""
    marker: int | None = None
    quantity: str = ""

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        shape: tuple[int, int] | None,
        scale: ColorScale,
        caption: str,
        marker: int,
        quantity: str = "",
    ) -> Tile:
        """Return the tile of d values: an image of a shape, or bars without one."""
        pixels = values.astype(np.float32)
        return cls(pixels.reshape(shape) if shape else pixels, scale, caption, marker, quantity)


@dataclass(frozen=True, eq=False)
class TileRow:
    """The tiles of one pixel.

    Attributes
    ----------
    title, subtitle : str
        E.g. "14, 9" and "pinned".
    removable : bool
        A pin, with a × button; otherwise the pixel under the mouse, drawn lighter.
    tiles : tuple of Tile or None
        One a column; None is shown as an empty place.
    stale : tuple of bool
        Which tiles are greyed because newer ones are on their way; empty for none.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]
    stale: tuple[bool, ...] = ()

    def is_stale(self, column: int) -> bool:
        """Whether the tile of a column is greyed."""
        return column < len(self.stale) and self.stale[column]

    def tile(self, column: int) -> Tile | None:
        """Return the tile of a column, None where the row has none (yet)."""
        return self.tiles[column] if column < len(self.tiles) else None

    def same_label(self, other: TileRow) -> bool:
        """Whether the row's title looks the same as another's."""
        return (self.title, self.subtitle, self.color, self.removable) == (
            other.title,
            other.subtitle,
            other.color,
            other.removable,
        )


def bar_image(values: NDArray[np.float32], scale: ColorScale, size: tuple[int, int], background: QColor) -> QImage:
    """Return bars along the index about a zero line in the middle.

    Parameters
    ----------
    values : ndarray of shape (d,), float32
        Where a column of the image holds several, the largest in magnitude stands for them.
    scale : ColorScale
        Gives each bar its colour, and its larger limit the height.
    size : tuple of (width, height)
        In device pixels.
    """
    width, height = size
    count = values.size
    if count <= width:
        shown = values[np.arange(width) * count // width]
    else:
        starts = np.arange(width) * count // width
        high, low = np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)
        shown = np.where(high >= -low, high, low)
    limit = max(abs(scale.low), abs(scale.high))
    middle = height // 2
    tips = middle - np.nan_to_num(np.clip(shown / limit, -1.0, 1.0)) * (middle - 2)
    rows = np.arange(height)[:, None]
    inside = (rows >= np.minimum(tips, middle).round()) & (rows < np.maximum(tips, middle + 1).round())
    if width >= 4 * count:
        edges = np.arange(width) * count // width
        inside[:, np.flatnonzero(np.diff(edges))] = False
    return coloured_image(
        np.where(inside, scale.indices(shown), np.uint8(0)).astype(np.uint8),
        colour_table(scale, background),
    )


EDGE, LABEL, NAME_LABEL, HEAD, GAP, NARROW_GAP, LINE = 4, 80, 128, 24, 8, 3, 15
LARGEST, LEGIBLE, SMALLEST = 196, 84, 24
BARS_HEIGHT, BARS_LARGEST = 72, 320


@dataclass(frozen=True)
class ImageLayout:
    """The room of equal images, and where the values of one lie in its box.

    Parameters
    ----------
    width, ratio : float
        Room, and device pixels a logical pixel.
    shape : tuple of (rows, columns) or (d,)
        Of one image's values; ``(d,)`` is drawn as bars.
    transposed : bool
        Rows and columns of the images exchanged on the screen.
    """

    width: float
    ratio: float
    shape: tuple[int, ...]
    transposed: bool = False

    @property
    def bars(self) -> bool:
        """Whether values are drawn as bars along the index."""
        return len(self.shape) == 1

    @property
    def shown(self) -> tuple[int, int]:
        """Rows and columns of an image as they stand on the screen."""
        rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def scale(self) -> float:
        """Side of one pixel of an image."""
        raise NotImplementedError

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of an image."""
        raise NotImplementedError

    @property
    def device_size(self) -> tuple[int, int]:
        """Width and height of an image, device pixels."""
        return round(self.size[0] * self.ratio), round(self.size[1] * self.ratio)

    @property
    def needed(self) -> float:
        """Width that everything of this size needs: with no more, it is laid out just so."""
        raise NotImplementedError

    def grid(self, box: QRectF) -> PixelGrid:
        """Return where the pixels of an image lie."""
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scale, self.transposed)

    def index(self, box: QRectF, point: QPointF) -> int | None:
        """Return the pixel or feature of an image under a point, None outside."""
        if not box.contains(point):
            return None
        if not self.bars:
            return self.grid(box).at(point)
        return min(int((point.x() - box.x()) / box.width() * self.shape[0]), self.shape[0] - 1)

    def spot(self, box: QRectF, index: int) -> QRectF:
        """Return where a pixel or feature lies in an image; a feature takes the full height."""
        if not self.bars:
            return self.grid(box).rect(index)
        width = box.width() / self.shape[0]
        return QRectF(box.x() + index * width, box.y(), width, box.height())

    def crosshair(self, box: QRectF, index: int) -> list[QLineF]:
        """Return lines through one pixel of an image that leave the pixel itself free; of bars, along one of them."""
        spot = self.spot(box, index)
        if not self.bars:
            return crosshair(box, spot)
        x = spot.center().x()
        return [QLineF(x, box.top(), x, box.bottom())]


@dataclass(frozen=True, kw_only=True)
class TileLayout(ImageLayout):
    """Geometry of `rows` × `columns` tiles.

    Parameters
    ----------
    caption : float
        Width of the widest usual caption; where it does not fit a tile, captions take two lines.
    height_room : float
        Tiles are made no larger than lets all rows stand in this height, as long as they keep `LEGIBLE`; 0 for any.
    """

    rows: int
    columns: int
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
    def label_width(self) -> int:
        """Room for a row's title: coordinates of a pixel, or the longer name of a feature."""
        return NAME_LABEL if self.bars else LABEL

    @cached_property
    def scale(self) -> float:
        """Side of one pixel of an image, a whole number of device pixels."""
        down, across = self.shown
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
        down, across = self.shown
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

    @property
    def needed(self) -> float:
        return 2 * EDGE + self.label_width + max(self.columns, 1) * self.pitch[0] - self.gap

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
