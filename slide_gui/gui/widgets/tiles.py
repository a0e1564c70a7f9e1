"""Immutable descriptions of weight tiles, of rows of tiles, and of the positions of tiles in a widget."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QImage

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import Theme
from slide_gui.gui.widgets.painted import PixelGrid, colour_table, coloured_image, crosshair, integer_scale, snapped

Shape = tuple[int, int] | None
"""The numbers of rows and columns of an image, or None if the features are not pixels."""


@dataclass(frozen=True, eq=False)
class Tile:
    """One tile: the image of a row of W or of other values.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        Values of the image, read-only; values of shape ``(d,)`` are drawn as bars.
    caption : str
        Text above the tile. A narrow tile shows only the part after " · ".
    marker : int or None
        Pixel that these weights reconstruct, marked with a ring.
    quantity : str
        Name of the values, or "" for weights. The name begins with "≈" if the values are approximate.
    stale : bool
        True to grey the tile because new values are being computed.
    part : tuple of (top, left, rows, columns) or None
        The part of the image shown in the enlarged tile; None for the entire image.
    """

    values: NDArray[np.float32]
    scale: ColorScale
    caption: str = ""
    marker: int | None = None
    quantity: str = ""
    stale: bool = False
    part: tuple[int, int, int, int] | None = None

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        shape: Shape,
        scale: ColorScale,
        caption: str,
        marker: int,
        quantity: str = "",
        stale: bool = False,
    ) -> "Tile":
        """Return a tile of d values, drawn as an image of the given shape, or as bars if the shape is None."""
        pixels = values.astype(np.float32)
        return cls(pixels.reshape(shape) if shape else pixels, scale, caption, marker, quantity, stale)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the image, or (d,) for bars."""
        return self.values.shape

    @property
    def identity(self) -> Hashable:
        """Return the key under which the drawn image is cached."""
        return self

    def place_of(self, index: int) -> str:
        """Return a text with the row and column of a pixel, or with the index of a feature."""
        return "{}, {}".format(*divmod(index, self.shape[1])) if len(self.shape) == 2 else str(index)

    def value_at(self, index: int) -> str:
        """Return a text with the value of a pixel or feature."""
        return self.scale.label(float(self.values.flat[index]), 4)

    def equals(self, other: "Tile") -> bool:
        """True if another tile looks the same."""
        if other is self:
            return True
        ours, theirs = ((t.scale, t.caption, t.marker, t.quantity, t.stale, t.part) for t in (self, other))
        return ours == theirs and np.array_equal(self.values, other.values, equal_nan=True)


def row_tile(
    row: NDArray[np.float64], shape: Shape, scale: ColorScale, feature: int, quantity: str = "", stale: bool = False
) -> Tile:
    """Return the tile of a row of W. The caption shows the bias and the largest magnitude of the weights.

    The bias is the last element of the row and is not drawn.

    Parameters
    ----------
    quantity : str
        Name of the values if they are not weights.

    Examples
    --------
    >>> row_tile(np.array([0.5, -0.004]), None, ColorScale.symmetric("jet", 1.0), 0).caption
    'max 0.50 · b −4e-3'
    """
    largest = float(np.abs(row[:-1]).max(initial=0.0))
    caption = "≈ " * quantity.startswith("≈") + f"max {short_size(largest)} · b {short_signed(float(row[-1]))}"
    return Tile.of(row[:-1], shape, scale, caption, feature, quantity, stale)


def short_size(size: float) -> str:
    """Format a magnitude between 1e−9 and 9999 in at most four characters.

    >>> short_size(12.34), short_size(0.25), short_size(0.0051)
    ('12.3', '0.25', '5e-3')
    """
    if 0 < size < 0.0095:
        return f"{size:.0e}".replace("e-0", "e-")  # A hyphen is shorter than a minus sign and saves space in captions.
    return f"{size:.2f}" if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"


def short_signed(value: float) -> str:
    """Return a number as a short text with its sign."""
    return f"{'−' if value < 0 else '+'}{short_size(abs(value))}"


@dataclass(frozen=True, eq=False)
class Mosaic(Tile):
    """A picture of all rows of a layer's W as small images, or of the matrix W if the features are not pixels.

    The field of a pixel is its row of W, drawn as a small image at the position of the pixel.

    Attributes
    ----------
    values : ndarray of shape (d, rows, columns) or (d, d), float32
        The fields, or the matrix W; read-only.
    marker : int or None
        The pixel or feature whose field is selected.
    key : hashable
        Key for the cache of images; equal for mosaics with the same values.
    """

    key: Hashable = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape[1:]

    @property
    def identity(self) -> Hashable:
        return self.key, self.scale

    def equals(self, other: Tile) -> bool:
        same = isinstance(other, Mosaic) and self.identity == other.identity
        return same and (self.marker, self.stale) == (other.marker, other.stale)


@dataclass(frozen=True)
class TileRow:
    """A row of tiles: the weights of one pixel in each layer.

    Attributes
    ----------
    title, subtitle : str
        Name of the row, such as "14, 9", and a note, such as "pinned".
    removable : bool
        True for a pinned pixel, whose row has a × button. False for the pixel under the mouse.
    tiles : tuple of Tile or None
        One tile per column; None leaves an empty position.
    is_mosaics : bool
        True if the tiles are mosaics, which is possible only in the first row.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]
    is_mosaics: bool = False

    def keeping(self, old: "TileRow") -> "TileRow":
        """Return this row with each tile replaced by the tile of the earlier row `old` if both look the same.

        Both rows must have the same number of tiles.
        """
        pairs = zip(old.tiles, self.tiles, strict=True)
        return replace(self, tiles=tuple(a if a is not None and b is not None and a.equals(b) else b for a, b in pairs))


def bar_image(values: NDArray[np.float32], scale: ColorScale, size: tuple[int, int], background: QColor) -> QImage:
    """Return an image with one bar per value, in the order of the values, from a zero line in the middle.

    Parameters
    ----------
    values : ndarray of shape (d,), float32
        The values. If several values share a column of the image, the largest in magnitude is drawn.
    scale : ColorScale
        Scale with the colour of each bar. A bar has full height if its magnitude equals the larger limit of the scale.
    size : tuple of (width, height)
        Size in device pixels.
    """
    width, height = size
    count = values.size
    columns = np.arange(width) * count // width
    shown = values[columns]
    if count > width:
        high, low = np.maximum.reduceat(values, columns), np.minimum.reduceat(values, columns)
        shown = np.where(high >= -low, high, low)
    limit = max(abs(scale.low), abs(scale.high))
    middle = height // 2
    tips = middle - np.nan_to_num(np.clip(shown / limit, -1.0, 1.0)) * (middle - 2)
    rows = np.arange(height)[:, None]
    inside = (rows >= np.minimum(tips, middle).round()) & (rows < np.maximum(tips, middle + 1).round())
    if width >= 4 * count:
        inside[:, np.flatnonzero(np.diff(columns))] = False
    return coloured_image(
        np.where(inside, scale.indices(shown), np.uint8(0)).astype(np.uint8), colour_table(scale, background)
    )


def strongest(values: NDArray[np.float32], count: int, axis: int) -> NDArray[np.float32]:
    """Shrink or stretch an axis to at most `count` values.

    An axis with more values is divided into intervals, each represented by its value of largest magnitude. On an axis
    with fewer values, each value is repeated the same number of times.
    """
    size = values.shape[axis]
    if size <= count:
        return np.repeat(values, count // size, axis)
    step = -(-size // count)
    # Move the sign bit to the end. Read as integers, the bits of float32 numbers are then ordered by magnitude.
    bits = values.view(np.uint32)
    ordered = (bits << 1) | (bits >> 31)

    def every(first: int) -> NDArray[np.signedinteger]:
        return ordered[(slice(None),) * axis + (slice(first, None, step),)]

    largest = every(0).copy()
    for first in range(1, step):  # This loop is ten times as fast as NumPy's `reduceat`.
        block = every(first)
        part = (slice(None),) * axis + (slice(0, block.shape[axis]),)
        np.maximum(largest[part], block, out=largest[part])
    return ((largest >> 1) | (largest << 31)).view(np.float32)


def mosaic_image(mosaic: Mosaic, size: tuple[int, int], theme: Theme) -> QImage:
    """Return the image of a mosaic. If several weights share a pixel of the screen, the largest in magnitude is drawn.

    Parameters
    ----------
    size : tuple of (width, height)
        Size in device pixels; each weight is drawn as a square of an integer number of device pixels.
    """
    values, (width, height) = mosaic.values, size
    if values.ndim == 2:
        shown = strongest(strongest(values, height, 0), width, 1)
        return coloured_image(mosaic.scale.indices(shown), colour_table(mosaic.scale))
    rows, columns = values.shape[1:]
    down, across = height // rows, width // columns
    gap = 1 if min(down, across) >= 3 else 0
    # Each weight is drawn as a square with this side length in device pixels.
    side = min((down - gap) / rows, (across - gap) / columns)
    fields = strongest(strongest(values, max(int(side * rows), 1), 1), max(int(side * columns), 1), 2)
    high, wide = fields.shape[1:]
    drawn = np.zeros((rows, down, columns, across), np.uint8)
    indices = mosaic.scale.indices(fields).reshape(rows, columns, high, wide).transpose(0, 2, 1, 3)
    top, left = (down - gap - high) // 2, (across - gap - wide) // 2
    drawn[:, top : top + high, :, left : left + wide] = indices
    picture = drawn.reshape(rows * down, columns * across)
    return coloured_image(picture, colour_table(mosaic.scale, QColor(theme.background)))


EDGE, HEAD, LINE, GAP, NARROW_GAP = 4, 20, 18, 8, 3
LABEL, NAME_LABEL, REMOVE = 62, 150, 18
NARROW = 420
"""If the widget is narrower than this number of pixels, the gaps shrink to leave more space for the tiles."""
LARGEST, LARGEST_IN_ROOM, LEGIBLE, SMALLEST = 196, 560, 84, 24
ENLARGED = 336
"""The largest height of an enlarged tile in pixels, if the available height is unlimited."""
BARS_HEIGHT, BARS_LARGEST, MATRIX = 72, 480, 200
IN_ONE_LINE = 5
"""The largest number of tiles in one line. A row with more tiles is drawn in two lines."""


@dataclass(frozen=True)
class ImageLayout:
    """The positions of images of equal size, and of the values in each image.

    Parameters
    ----------
    width, ratio : float
        Available width, and device pixels per logical pixel.
    shape : tuple of (rows, columns) or (d,)
        Shape of the values of one image; values of shape ``(d,)`` are drawn as bars.
    """

    width: float
    ratio: float
    shape: tuple[int, ...]

    @property
    def bars(self) -> bool:
        """True if the values are drawn as bars."""
        return len(self.shape) == 1

    @property
    def scale(self) -> float:
        """Return the side of one pixel of an image."""
        raise NotImplementedError

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and height of an image."""
        raise NotImplementedError

    def grid(self, box: QRectF) -> PixelGrid:
        """Return the positions of the pixels of an image in this box."""
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scale)

    def index(self, box: QRectF, point: QPointF, *, of_field: bool = False) -> int | None:
        """Return the index of the pixel, feature or field at a point, or None if the point is outside the image."""
        if not box.contains(point):
            return None
        if not self.bars:
            return self.grid(box).at(point)
        share = (point.y() - box.y()) / box.height() if of_field else (point.x() - box.x()) / box.width()
        return min(int(share * self.shape[0]), self.shape[0] - 1)

    def spot(self, box: QRectF, index: int, *, of_field: bool = False) -> QRectF:
        """Return the rectangle of a pixel or feature in an image, or of a field in a mosaic.

        The rectangle of a feature is as high as the image. If features are not pixels, the fields are the rows of W.
        """
        if not self.bars:
            return self.grid(box).rect(index)
        wide, high, d = box.width(), box.height(), self.shape[0]
        if of_field:
            return QRectF(box.x(), box.y() + index * high / d, wide, high / d)
        return QRectF(box.x() + index * wide / d, box.y(), wide / d, high)

    def crosshair(self, box: QRectF, index: int) -> list[QLineF]:
        """Return lines that cross at a pixel of an image without covering the pixel, or a line along a bar."""
        spot = self.spot(box, index)
        if not self.bars:
            return crosshair(box, spot)
        x = spot.center().x()
        return [QLineF(x, box.top(), x, box.bottom())]


@dataclass(frozen=True, kw_only=True)
class TileLayout(ImageLayout):
    """The positions of `rows` × `columns` tiles. Above each row is a line with the label of the row and captions.

    A row of more than `IN_ONE_LINE` images is drawn in two lines, with a heading above each image.

    Parameters
    ----------
    height_room : float
        Height in which all rows should be visible; 0 for no limit. Tiles shrink to fit into this height, but not below
        the height `LEGIBLE`, or `SMALLEST` if there are mosaics. Space for two rows (one row if rows need two lines) is
        always reserved below mosaics, so that adding a pin does not change the sizes.
    rows, columns : int
        Number of visible rows and columns.
    only : tuple of (row, column) or None
        The only visible tile, which fills the widget; None if all tiles are visible.
    part : tuple of (top, left, rows, columns) or None
        The part of the image that the only visible tile shows; None for the entire image.
    has_mosaics : bool
        True if the first row contains mosaics, which have no label.
    """

    rows: int
    columns: int
    height_room: float = 0.0
    only: tuple[int, int] | None = None
    part: tuple[int, int, int, int] | None = None
    has_mosaics: bool = False

    @property
    def lines(self) -> int:
        """Return the number of lines (1 or 2) that the tiles of a row need."""
        return 2 if self.columns > IN_ONE_LINE and not self.bars else 1

    @property
    def _across(self) -> int:
        """Return the number of tiles in one line of a row."""
        return max(-(-self.columns // self.lines), 1)

    @property
    def gap(self) -> float:
        """Return the horizontal gap between two tiles."""
        return GAP if self._across <= IN_ONE_LINE and self.width >= NARROW else NARROW_GAP

    @property
    def _head(self) -> int:
        """Return the height of the heading above each tile, or 0 if all rows share headings at the top."""
        return HEAD if self.lines > 1 else 0

    def _around(self, rows: int) -> float:
        """Return the total height of headings, labels and gaps for this number of rows."""
        between = rows * (LINE + GAP + self.lines * self._head) - GAP - LINE * self._is_mosaics(self._first[0])
        return 2 * EDGE + HEAD - self._head + between

    @cached_property
    def size(self) -> tuple[float, float]:
        """Return the width and height of a tile."""
        room = max((self.width - 2 * EDGE - (self._across - 1) * self.gap) / self._across, SMALLEST)
        tall, most = float(LARGEST if self.only is None else ENLARGED), LARGEST
        if self.height_room:
            rows = self.rows
            if self.has_mosaics and self.only is None:
                # The mosaics and the row of the selected pixel must be visible. If rows need only one line, a pinned
                # row must also be visible.
                rows = 4 - self.lines
            least = SMALLEST if self.has_mosaics else LEGIBLE
            tall = max((self.height_room - self._around(rows)) / max(rows * self.lines, 1), least)
            most = LARGEST_IN_ROOM
        if self.bars:
            if self.only is None:
                room, tall = min(room, BARS_LARGEST), min(max(tall, BARS_HEIGHT), 2 * BARS_HEIGHT)
                tall = tall if self.height_room else BARS_HEIGHT
            return snapped(room, self.ratio), snapped(tall, self.ratio)
        if self.only is None:
            room, tall = min(room, most), min(tall, most)
        down, across = self.shape if self.part is None else self.part[2:]
        scale = min(integer_scale(across, room, self.ratio), integer_scale(down, tall, self.ratio))
        return across * scale, down * scale

    @cached_property
    def scale(self) -> float:
        """Return the side of one pixel of an image, an integer number of device pixels."""
        return self.size[0] / (self.shape[1] if self.part is None else self.part[3])

    def grid(self, box: QRectF) -> PixelGrid:
        top, left = (0, 0) if self.part is None else self.part[:2]
        return super().grid(box.translated(-left * self.scale, -top * self.scale))

    @cached_property
    def mosaic_height(self) -> float:
        """Return the height of a mosaic, which shows images, or the matrix W if the features are not pixels."""
        return snapped(min(self.size[0], MATRIX), self.ratio) if self.bars and self.only is None else self.size[1]

    @property
    def height(self) -> int:
        """Return the total height of all rows."""
        higher = self.mosaic_height - self.size[1] if self.has_mosaics else 0.0
        return int(self._around(self.rows) + self.rows * self.lines * self.size[1] + higher + 0.5)

    @property
    def needed(self) -> float:
        """Return the smallest width of the widget at which the tiles keep their current size."""
        return 2 * EDGE + self._across * (self.size[0] + self.gap) - self.gap

    @property
    def _first(self) -> tuple[int, int]:
        """Return the row and column of the first visible tile."""
        return self.only or (0, 0)

    def shown_rows(self) -> range:
        """Return the numbers of the visible rows."""
        return range(self._first[0], self._first[0] + self.rows)

    def shown_columns(self) -> range:
        """Return the numbers of the visible columns."""
        return range(self._first[1], self._first[1] + self.columns)

    def tile(self, row: int, column: int) -> QRectF:
        """Return the rectangle in which a tile is drawn."""
        return self.boxes[(row, column) if self.only is None else self.only]

    @cached_property
    def boxes(self) -> dict[tuple[int, int], QRectF]:
        """Return the box of each visible tile by row and column, aligned to device pixels."""
        boxes, top = {}, float(EDGE + HEAD - self._head)
        for row in self.shown_rows():
            high = self.mosaic_height if self._is_mosaics(row) else self.size[1]
            top += 0 if self._is_mosaics(row) else LINE
            for j, column in enumerate(self.shown_columns()):
                line, place = divmod(j, self._across)
                left, down = EDGE + place * (self.size[0] + self.gap), top + line * (self._head + high) + self._head
                boxes[row, column] = QRectF(snapped(left, self.ratio), snapped(down, self.ratio), self.size[0], high)
            top += self.lines * (self._head + high) + GAP
        return boxes

    def _is_mosaics(self, row: int) -> bool:
        return self.has_mosaics and row == 0

    def captions(self, row: int, column: int) -> QRectF:
        """Return the box of the caption above a tile, to the right of the row's label or of the tile's heading."""
        return self._captions[(row, column) if self.only is None else self.only]

    @cached_property
    def _captions(self) -> dict[tuple[int, int], QRectF]:
        return {place: self._caption(*place) for place in self.boxes}

    def _caption(self, row: int, column: int) -> QRectF:
        box = self.tile(row, column)
        if self.lines > 1:
            return QRectF(box.x() + LABEL, box.y() - HEAD, max(box.width() - LABEL, 0.0), HEAD - 2)
        left = max(box.x(), self.remove(row).right() + 4)
        return QRectF(left, box.y() - LINE, max(box.right() - left, 0.0), LINE - 2)

    def heading(self, column: int, row: int) -> QRectF:
        """Return the box of a column heading, which is above each tile if a row of tiles needs two lines."""
        box = self.tile(row, column)
        if self.lines == 1:
            return QRectF(box.x(), EDGE, box.width() + self.gap - 2, HEAD - 2)
        # A mosaic has no caption, so its heading can use the full width.
        width = box.width() if self._is_mosaics(row) else LABEL - 2
        return QRectF(box.x(), box.y() - HEAD, width, HEAD - 2)

    def label(self, row: int) -> QRectF:
        """Return the box of a row's label above its first tile. For mosaics, the box is empty."""
        box = self.tile(row, self.shown_columns()[0])
        if self._is_mosaics(row):
            return QRectF(box.x(), box.y(), 0.0, 0.0)
        width = float(NAME_LABEL if self.bars else LABEL)
        # Names of features may be long. A label therefore extends to the end of a tile if no caption fits there.
        free = -(width + REMOVE + self.gap) % (self.size[0] + self.gap)
        width += free if self.bars and free < LABEL else 0.0
        return QRectF(box.x(), box.y() - self._head - LINE, width, LINE - 2)

    def remove(self, row: int) -> QRectF:
        """Return the box of a row's × button, next to its label."""
        box = self.label(row)
        return QRectF(box.right(), box.y() - 1, REMOVE if box.width() else 0.0, REMOVE if box.width() else 0.0)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return the row and column of the tile at a point, or None if the point is not in a tile."""
        return next((place for place, box in self.boxes.items() if box.contains(point)), None)


tile_layout = lru_cache(maxsize=64)(TileLayout)
"""Return a `TileLayout` from a cache, so that the positions for the same arguments are computed only once."""
