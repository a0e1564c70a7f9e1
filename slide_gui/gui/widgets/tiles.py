"""The contents and geometry of weight tiles: immutable rows of immutable tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QImage

from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.widgets.painted import PixelGrid, colour_table, coloured_image, crosshair, integer_scale, snapped


@dataclass(frozen=True, eq=False)
class Tile:
    """One image of weights.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        Read-only; a new picture is a new `Tile`. ``(d,)`` is drawn as bars.
    caption : str
        Text below the tile, broken at " · " if the tile is narrow.
    marker : int or None
        Pixel with a ring: the one that these weights reconstruct.
    quantity : str
        Name of the values if they are not weights.
    stale : bool
        True to grey the tile because a newer one is being computed.
    """

    values: NDArray[np.float32]
    scale: ColorScale
    caption: str = ""
    marker: int | None = None
    quantity: str = ""
    stale: bool = False

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        shape: tuple[int, int] | None,
        scale: ColorScale,
        caption: str,
        marker: int,
        quantity: str = "",
        stale: bool = False,
    ) -> Tile:
        """Return the tile of d values: an image of a shape, or bars without a shape."""
        pixels = values.astype(np.float32)
        return cls(pixels.reshape(shape) if shape else pixels, scale, caption, marker, quantity, stale)

    def value_at(self, index: int) -> tuple[str, str]:
        """Return the value of a pixel or feature and its position as texts."""
        place = "{}, {}".format(*divmod(index, self.values.shape[1])) if self.values.ndim == 2 else str(index)
        return self.scale.label(float(self.values.flat[index]), 4), place

    def equals(self, other: Tile) -> bool:
        """True if another tile looks the same."""
        ours, theirs = ((t.scale, t.caption, t.marker, t.quantity, t.stale) for t in (self, other))
        return ours == theirs and np.array_equal(self.values, other.values, equal_nan=True)


def row_tile(
    row: NDArray[np.float64],
    shape: tuple[int, int] | None,
    scale: ColorScale,
    feature: int,
    quantity: str = "",
    stale: bool = False,
) -> Tile:
    """Return the tile of a row of W with its bias last, captioned with the largest value and the bias.

    Parameters
    ----------
    quantity : str
        Name of the values if they are not weights.
    """
    largest = float(np.abs(row[:-1]).max(initial=0.0))
    caption = f"max {short_size(largest)} · b {signed(float(row[-1]), 2)}"
    return Tile.of(row[:-1], shape, scale, caption, feature, quantity, stale)


def short_size(size: float) -> str:
    """Return a size in at most four characters, from 1e−9 to 9999."""
    if 0 < size < 0.005:
        return f"{size:.0e}".replace("e-0", "e-")  # the short hyphen saves space in captions
    return f"{size:.2f}" if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"


@dataclass(frozen=True)
class TileRow:
    """The tiles of one pixel.

    Attributes
    ----------
    title, subtitle : str
        Texts such as "14, 9" and "pinned".
    removable : bool
        True for a pin with a × button; False for the pixel under the mouse, drawn lighter.
    tiles : tuple of Tile or None
        One tile per column; None leaves an empty position.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]

    def keeping(self, old: TileRow) -> TileRow:
        """Return the row with those tiles of an earlier one that look the same."""
        if len(old.tiles) != len(self.tiles):
            return self
        pairs = zip(old.tiles, self.tiles, strict=True)
        return replace(self, tiles=tuple(a if a is not None and b is not None and a.equals(b) else b for a, b in pairs))


def bar_image(values: NDArray[np.float32], scale: ColorScale, size: tuple[int, int], background: QColor) -> QImage:
    """Return an image of bars along the index, from a zero line in the middle.

    Parameters
    ----------
    values : ndarray of shape (d,), float32
        If a column of the image holds several values, the largest in magnitude is drawn.
    scale : ColorScale
        Sets the colour of each bar, and with its larger limit the height.
    size : tuple of (width, height)
        Size in device pixels.
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


EDGE, LABEL, NARROW_LABEL, NAME_LABEL, HEAD, GAP, NARROW_GAP, BAND_GAP, LINE = 4, 80, 68, 128, 24, 8, 3, 28, 15
NARROW = 420
"""Width in pixels below which labels and gaps shrink in favour of the tiles."""
LARGEST, LARGEST_IN_ROOM, LEGIBLE, SMALLEST = 196, 448, 84, 24
ENLARGED = 336
"""Side of an enlarged tile if no height is given."""
BARS_HEIGHT, BARS_LARGEST = 72, 480
MOST_BANDS = MOST_FOLDS = 4
COMFORTABLE = 48
"""Width of a tile below which the row continues in another line."""
LEAST_PITCH = 40
"""Least distance between rows: the height of a row's label."""


@dataclass(frozen=True)
class ImageLayout:
    """Geometry of equal images and of the values in each.

    Parameters
    ----------
    width, ratio : float
        Available width, and device pixels per logical pixel.
    shape : tuple of (rows, columns) or (d,)
        Shape of one image's values; ``(d,)`` is drawn as bars.
    transposed : bool
        True to exchange rows and columns of the images on the screen.
    """

    width: float
    ratio: float
    shape: tuple[int, ...]
    transposed: bool = False

    @property
    def bars(self) -> bool:
        """True if values are drawn as bars along the index."""
        return len(self.shape) == 1

    @property
    def shown(self) -> tuple[int, int]:
        """Return rows and columns of an image on the screen."""
        rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def scale(self) -> float:
        """Return the side of one pixel of an image."""
        raise NotImplementedError

    @property
    def size(self) -> tuple[float, float]:
        """Return width and height of an image."""
        raise NotImplementedError

    @property
    def device_size(self) -> tuple[int, int]:
        """Return width and height of an image in device pixels."""
        return round(self.size[0] * self.ratio), round(self.size[1] * self.ratio)

    @property
    def needed(self) -> float:
        """Return the smallest width that gives the same layout."""
        raise NotImplementedError

    @property
    def lowest(self) -> float:
        """Return the bottom of the lowest image."""
        raise NotImplementedError

    def grid(self, box: QRectF) -> PixelGrid:
        """Return the positions of an image's pixels."""
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scale, self.transposed)

    def index(self, box: QRectF, point: QPointF) -> int | None:
        """Return the pixel or feature of an image under a point, or None outside the image."""
        if not box.contains(point):
            return None
        if not self.bars:
            return self.grid(box).at(point)
        return min(int((point.x() - box.x()) / box.width() * self.shape[0]), self.shape[0] - 1)

    def spot(self, box: QRectF, index: int) -> QRectF:
        """Return the rectangle of a pixel or feature in an image; a feature takes the full height."""
        if not self.bars:
            return self.grid(box).rect(index)
        width = box.width() / self.shape[0]
        return QRectF(box.x() + index * width, box.y(), width, box.height())

    def crosshair(self, box: QRectF, index: int) -> list[QLineF]:
        """Return lines through one pixel of an image that leave the pixel free, or a line along a bar."""
        spot = self.spot(box, index)
        if not self.bars:
            return crosshair(box, spot)
        x = spot.center().x()
        return [QLineF(x, box.top(), x, box.bottom())]


@dataclass(frozen=True, kw_only=True)
class TileLayout(ImageLayout):
    """Geometry of `rows` × `columns` tiles; groups of rows are placed side by side if that gives larger tiles.

    If the tiles of a row would be too small side by side, they take several lines, each with headings.

    Parameters
    ----------
    caption : tuple of (float, float)
        Widths of the widest usual caption on one and on two lines; captions that fit neither are omitted.
    height_room : float
        Height in which all rows should be visible; it limits the size of tiles down to `LEGIBLE`; 0 for no limit.
    rows, columns : int
        Number of visible rows and columns.
    only : tuple of (row, column) or None
        The one visible tile, which takes all the space.
    """

    rows: int
    columns: int
    caption: tuple[float, float]
    height_room: float = 0.0
    only: tuple[int, int] | None = None

    @cached_property
    def bands(self) -> int:
        """Return the number of groups of rows side by side that gives the largest tiles with all visible."""
        if not self.height_room or self.folds > 1:
            return 1
        return max(range(1, min(self.rows, MOST_BANDS) + 1), key=self._worth, default=1)

    @cached_property
    def folds(self) -> int:
        """Return the number of lines for the tiles of a row."""
        if not self.height_room:
            return 1
        room = self.width - 2 * EDGE - self.label_width + self.gap
        most = max(min(MOST_FOLDS, self.columns), 1)
        wide = (n for n in range(1, most) if room / -(-self.columns // n) - self.gap >= COMFORTABLE)
        return next(wide, most)

    @property
    def _across(self) -> int:
        """Return the number of tiles on one line."""
        return max(-(-self.columns // self.folds), 1)

    def _worth(self, bands: int) -> tuple[float, float, int]:
        size = self._size_in(bands)
        needed = self._around(bands) + self._rows_in(bands) * size[1]
        return size[0], min(self.height_room - needed, 0.0), -bands

    def _rows_in(self, bands: int) -> int:
        return max(-(-self.rows // bands), 1)

    @property
    def gap(self) -> float:
        """Return the horizontal gap between two tiles."""
        return GAP if self.columns <= 6 and self.width >= NARROW else NARROW_GAP

    @property
    def label_width(self) -> int:
        """Return the width of a row's label: coordinates of a pixel, or the longer name of a feature."""
        return NAME_LABEL if self.bars else LABEL if self.width >= NARROW else NARROW_LABEL

    def _room_in(self, bands: int) -> float:
        """Return the width available to one tile."""
        band = (self.width - 2 * EDGE - (bands - 1) * BAND_GAP) / bands
        return max((band - self.label_width - (self._across - 1) * self.gap) / self._across, SMALLEST)

    def _lines_in(self, bands: int) -> int:
        room = self._room_in(bands) + self.gap - 2
        return next((lines for lines, width in enumerate(self.caption, 1) if width <= room), 0)

    def _around(self, bands: int) -> float:
        """Return the height used by headings, captions and gaps."""
        below = self._lines_in(bands) * LINE + GAP
        if self.folds > 1:
            return 2 * EDGE + self._rows_in(1) * self.folds * (HEAD + below)
        return 2 * EDGE + HEAD + self._rows_in(bands) * below

    def _size_in(self, bands: int) -> tuple[float, float]:
        room, rows = self._room_in(bands), self._rows_in(bands)
        tall = float(LARGEST if self.only is None else ENLARGED)
        if self.height_room:
            least = LEGIBLE if not self.bars else BARS_HEIGHT
            tall = max((self.height_room - self._around(bands)) / (rows * self.folds), least)
        most = LARGEST_IN_ROOM if self.height_room else LARGEST
        if self.bars:
            tall = min(tall, 2 * BARS_HEIGHT) if self.height_room and self.only is None else tall
            wide = room if self.only is not None else min(room, BARS_LARGEST)
            height = tall if self.height_room or self.only is not None else BARS_HEIGHT
            return snapped(wide, self.ratio), snapped(height, self.ratio)
        if self.only is None:
            room, tall = min(room, most), min(tall, most)
        down, across = self.shown
        scale = min(integer_scale(across, room, self.ratio), integer_scale(down, tall, self.ratio))
        return across * scale, down * scale

    @cached_property
    def scale(self) -> float:
        """Return the side of one pixel of an image in an integer number of device pixels."""
        return self.size[0] / self.shown[1]

    @cached_property
    def size(self) -> tuple[float, float]:
        """Return width and height of a tile."""
        return self._size_in(self.bands)

    @cached_property
    def lines(self) -> int:
        """Return the lines of a caption: 2 if one line is too wide for a tile, 0 if two are too."""
        return self._lines_in(self.bands)

    @cached_property
    def pitch(self) -> tuple[float, float]:
        """Return the distance between neighbouring tiles, across and down."""
        caption = self.caption[self.lines - 1] if self.lines else 0.0
        wide = max(self.size[0], min(caption, self._room_in(self.bands)))
        high = max(self.size[1] + self.lines * LINE + GAP, LEAST_PITCH)
        return wide + self.gap, high + (HEAD if self.folds > 1 else 0)

    @property
    def height(self) -> int:
        """Return the total height."""
        head = HEAD if self.folds == 1 else 0
        return int(2 * EDGE + head + self._rows_in(self.bands) * self.folds * self.pitch[1] + 0.5)

    @property
    def lowest(self) -> float:
        return max((box.bottom() for box in self.boxes.values()), default=EDGE + HEAD + self.size[1])

    @property
    def _band_width(self) -> float:
        return self.label_width + self._across * self.pitch[0] - self.gap

    @property
    def needed(self) -> float:
        return 2 * EDGE + self.bands * self._band_width + (self.bands - 1) * BAND_GAP

    def shown_rows(self) -> range:
        """Return the visible rows."""
        first = self.only[0] if self.only else 0
        return range(first, first + self.rows)

    def shown_columns(self) -> range:
        """Return the visible columns."""
        first = self.only[1] if self.only else 0
        return range(first, first + self.columns)

    def tile(self, row: int, column: int) -> QRectF:
        """Return the box of a tile."""
        return self.boxes[(row, column) if self.only is None else self.only]

    @cached_property
    def boxes(self) -> dict[tuple[int, int], QRectF]:
        """Return the box of each visible tile by row and column, aligned to device pixels."""
        step, rows, boxes = self._band_width + BAND_GAP, self._rows_in(self.bands), {}
        for (i, row), (j, column) in product(enumerate(self.shown_rows()), enumerate(self.shown_columns())):
            left = EDGE + self.label_width + i // rows * step + j % self._across * self.pitch[0]
            top = EDGE + HEAD + (i % rows * self.folds + j // self._across) * self.pitch[1]
            boxes[row, column] = QRectF(snapped(left, self.ratio), snapped(top, self.ratio), *self.size)
        return boxes

    def captions(self, row: int, column: int) -> QRectF:
        """Return the box of the caption under a tile."""
        box = self.tile(row, column)
        return QRectF(box.x(), box.bottom() + 3, self.pitch[0] - 2, self.lines * LINE)

    @property
    def groups(self) -> int:
        """Return how many times the column headings appear: once per group of rows, or per row of several lines."""
        return self.bands if self.folds == 1 else self.rows

    def heading(self, column: int, group: int = 0) -> QRectF:
        """Return the box of a column heading."""
        box = self.tile(group * self._rows_in(self.bands) if self.folds == 1 else group, column)
        return QRectF(box.x(), box.y() - HEAD, self.pitch[0] - 2, HEAD - 4)

    def label(self, row: int) -> QRectF:
        """Return the box of a row's label, vertically centred."""
        box = self.tile(row, 0)
        return QRectF(box.x() - self.label_width, box.center().y() - 18, self.label_width - 6, 36)

    def remove(self, row: int) -> QRectF:
        """Return the box of a row's × button."""
        box = self.label(row)
        return QRectF(box.right() - 20, box.bottom() - 19, 18, 18)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return row and column of the tile under a point, or None between tiles."""
        return next((place for place, box in self.boxes.items() if box.contains(point)), None)


tile_layout = lru_cache(maxsize=64)(TileLayout)
"""Return the same layout, which stores its positions, for the same arguments."""
