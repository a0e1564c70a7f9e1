"""Immutable descriptions of tiles (small images of rows of W), of rows of tiles, and of their layout in a widget."""

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

# Numbers of rows and columns of an image, or None if the features are not pixels.
Shape = tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile: a small image of a row of W, of a sample, or of values computed from them.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        The displayed values, read-only. Values of shape ``(d,)`` are drawn as bars.
    caption : str
        Text above the tile, in two parts separated by " · ". If the tile is too narrow, only one of the parts is shown.
    marker : int or None
        Index of the pixel that the weights reconstruct, which is marked with a ring; None for no mark.
    quantity : str
        Name of the displayed quantity, or "" for weights. The name begins with "≈" if the values are approximate.
    stale : bool
        If True, the tile is greyed, because new values are being computed.
    part : tuple of (top, left, rows, columns) or None
        The part of the image that is visible if the tile is enlarged; None for the entire image.
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
        """Return a tile that shows d values as an image of the given shape, or as bars if the shape is None."""
        pixels = values.astype(np.float32)
        return cls(pixels.reshape(shape) if shape else pixels, scale, caption, marker, quantity, stale)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the image, or (d,) if the d features are shown as bars."""
        return self.values.shape

    @property
    def identity(self) -> Hashable:
        """Return the key under which the image of the tile is cached."""
        return self

    def place_of(self, index: int) -> str:
        """Return the row and column of a pixel, or the index of a feature that is not a pixel, as text."""
        return "{}, {}".format(*divmod(index, self.shape[1])) if len(self.shape) == 2 else str(index)

    def value_at(self, index: int) -> str:
        """Return the value of a pixel or feature as text."""
        return self.scale.label(float(self.values.flat[index]), 4)

    def equals(self, other: "Tile") -> bool:
        """Return True if the tile `other` looks the same as this tile."""
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
        Name of the displayed quantity if the values are not weights.

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
        return f"{size:.0e}".replace("e-0", "e-")  # To save space, the exponent has a hyphen instead of a minus sign.
    return f"{size:.2f}" if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"


def short_signed(value: float) -> str:
    """Format a number with its sign and a magnitude of at most four characters."""
    return f"{'−' if value < 0 else '+'}{short_size(abs(value))}"


@dataclass(frozen=True, eq=False)
class Mosaic(Tile):
    """A tile that shows every row of a layer's W as a small image, or W as a matrix if the features are not pixels.

    The small image of the weights that reconstruct a pixel is called the pixel's field. In the mosaic, it has the
    position that its pixel has in the original image.

    Attributes
    ----------
    values : ndarray of shape (d, rows, columns) or (d, d), float32
        The fields, or the matrix W; read-only.
    marker : int or None
        Index of the pixel or feature whose field is selected; None if no field is selected.
    key : hashable
        Key of the drawn image in the cache; equal for mosaics with the same values.
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
    """A row of tiles, which show the weights of one pixel in each layer.

    Attributes
    ----------
    title, subtitle : str
        Name of the row, such as "14, 9", and a note, such as "pinned".
    removable : bool
        True for a pinned pixel, whose row has a × button; False for the pixel under the mouse.
    tiles : tuple of Tile or None
        One tile per column; None leaves the position empty.
    is_mosaics : bool
        True if the tiles are mosaics, which is possible only in the first row.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]
    is_mosaics: bool = False

    def reusing(self, old: "TileRow") -> "TileRow":
        """Return a copy of this row that reuses those tiles of the previous row `old` that look the same.

        The images of the previous tiles are cached, so they need not be drawn again. Both rows must have the same
        number of tiles.
        """
        pairs = zip(old.tiles, self.tiles, strict=True)
        return replace(self, tiles=tuple(a if a is not None and b is not None and a.equals(b) else b for a, b in pairs))


def bar_image(
    values: NDArray[np.float32], scale: ColorScale, size: tuple[int, int], theme: Theme, background: str
) -> QImage:
    """Return an image with one bar per value. The bars extend up or down from a zero line in the middle.

    Parameters
    ----------
    values : ndarray of shape (d,), float32
        The values from left to right. If several values share a pixel column, the largest in magnitude is drawn.
        Columns whose values are NaN have the colour of NaN in images.
    scale : ColorScale
        Scale that defines the colour of each bar. A bar has full height if its magnitude equals the larger of the
        magnitudes of the two limits.
    size : tuple of (width, height)
        Size of the image in device pixels.
    """
    width, height = size
    count = values.size
    columns = np.arange(width) * count // width
    shown = values[columns]
    if count > width:
        high, low = np.fmax.reduceat(values, columns), np.fmin.reduceat(values, columns)
        shown = np.where(high >= -low, high, low)
    limit = max(abs(scale.low), abs(scale.high))
    middle = height // 2
    tips = middle - np.nan_to_num(np.clip(shown / limit, -1.0, 1.0)) * (middle - 2)
    rows = np.arange(height)[:, None]
    inside = (rows >= np.minimum(tips, middle).round()) & (rows < np.maximum(tips, middle + 1).round())
    if width >= 4 * count:
        inside[:, np.flatnonzero(np.diff(columns))] = False
    indices = np.where(np.isnan(shown), np.uint16(256), np.where(inside, scale.indices(shown), np.uint16(0)))
    return coloured_image(indices, np.append(colour_table(scale, QColor(background), theme), colour_table(scale)[0]))


def strongest(values: NDArray[np.float32], count: int, axis: int) -> NDArray[np.float32]:
    """Shrink or stretch an array along an axis to at most `count` values.

    An axis with more values is divided into intervals, each represented by its value of largest magnitude. On an axis
    with fewer values, every value is repeated the same number of times.
    """
    size = values.shape[axis]
    if size <= count:
        return np.repeat(values, count // size, axis)
    step = -(-size // count)
    # Move the sign bit of each float32 number to the end. Then the bits, read as integers, have the same order as the
    # magnitudes of the numbers.
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
    """Return the image of a mosaic. If several weights share a device pixel, the largest in magnitude is drawn.

    Parameters
    ----------
    size : tuple of (width, height)
        Size of the image in device pixels. If there is enough space, each weight covers an integer number of device
        pixels in both directions.
    """
    values, (width, height) = mosaic.values, size
    if values.ndim == 2:
        shown = strongest(strongest(values, height, 0), width, 1)
        return coloured_image(mosaic.scale.indices(shown), colour_table(mosaic.scale))
    rows, columns = values.shape[1:]
    down, across = height // rows, width // columns
    gap = 1 if min(down, across) >= 3 else 0
    # Side length in device pixels of the square that is available for each weight. It may be less than 1.
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
# In widgets narrower than this number of pixels, the gaps between tiles are smaller, so that tiles have more space.
NARROW = 420
LARGEST, LARGEST_IN_ROOM, LEGIBLE, SMALLEST = 196, 560, 84, 24
# The largest height in pixels of an enlarged tile if the available height is not limited.
ENLARGED = 336
BARS_HEIGHT, BARS_LARGEST, MATRIX = 72, 480, 200
# The largest number of tiles side by side. A row of the table with more tiles is drawn in two lines.
IN_ONE_LINE = 5


@dataclass(frozen=True)
class ImageLayout:
    """The positions of images of equal size, and the positions of the values inside each image.

    Parameters
    ----------
    width, ratio : float
        Available width in logical pixels, and number of device pixels per logical pixel.
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
        """Return the side of one image pixel in logical pixels."""
        raise NotImplementedError

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and height of each image."""
        raise NotImplementedError

    def grid(self, box: QRectF) -> PixelGrid:
        """Return the positions of the pixels of an image that is drawn in the rectangle `box`."""
        return PixelGrid((self.shape[0], self.shape[1]), box.x(), box.y(), self.scale)

    def index(self, box: QRectF, point: QPointF, *, of_field: bool = False) -> int | None:
        """Return the index of the pixel or feature at a point, or None if the point is outside the rectangle `box`.

        If `of_field` is True, the rectangle contains a mosaic, and the index of one of its small images is returned.
        """
        if not box.contains(point):
            return None
        if not self.bars:
            return self.grid(box).at(point)
        share = (point.y() - box.y()) / box.height() if of_field else (point.x() - box.x()) / box.width()
        return min(int(share * self.shape[0]), self.shape[0] - 1)

    def spot(self, box: QRectF, index: int, *, of_field: bool = False) -> QRectF:
        """Return the rectangle of a pixel or feature in an image, or of a small image (field) in a mosaic.

        If the features are not pixels, the rectangle of a feature is as high as the image. The field of a feature is
        then its row in the drawn matrix W.
        """
        if not self.bars:
            return self.grid(box).rect(index)
        wide, high, d = box.width(), box.height(), self.shape[0]
        if of_field:
            return QRectF(box.x(), box.y() + index * high / d, wide, high / d)
        return QRectF(box.x() + index * wide / d, box.y(), wide / d, high)

    def crosshair(self, box: QRectF, index: int) -> list[QLineF]:
        """Return the lines of a cross-hair that leaves its central pixel visible, or a vertical line through a bar."""
        spot = self.spot(box, index)
        if not self.bars:
            return crosshair(box, spot)
        x = spot.center().x()
        return [QLineF(x, box.top(), x, box.bottom())]


@dataclass(frozen=True, kw_only=True)
class TileLayout(ImageLayout):
    """The positions of `rows` × `columns` tiles, with a label and captions above each row.

    A row with more than `IN_ONE_LINE` images is drawn in two lines, with a heading above each image.

    Parameters
    ----------
    height_room : float
        Available height in pixels for all rows; 0 for no limit. Tiles shrink to fit into this height, but are at least
        `LEGIBLE` pixels high, or `SMALLEST` pixels if there are mosaics. Below mosaics, space is always reserved for
        two rows, or for one row of two lines. Pinning a pixel therefore does not change the size of the tiles.
    rows, columns : int
        Numbers of visible rows and columns.
    only : tuple of (row, column) or None
        Position of the only visible tile, which fills the widget; None if all tiles are visible.
    part : tuple of (top, left, rows, columns) or None
        The part of the image that is visible in the tile `only`; None for the entire image.
    has_mosaics : bool
        True if the first row contains mosaics. Such a row has no label.
    """

    rows: int
    columns: int
    height_room: float = 0.0
    only: tuple[int, int] | None = None
    part: tuple[int, int, int, int] | None = None
    has_mosaics: bool = False

    @property
    def lines(self) -> int:
        """Return the number of lines (1 or 2) in which the tiles of each row are drawn."""
        return 2 if self.columns > IN_ONE_LINE and not self.bars else 1

    @property
    def _across(self) -> int:
        """Return the number of tiles that are side by side in one line."""
        return max(-(-self.columns // self.lines), 1)

    @property
    def gap(self) -> float:
        """Return the horizontal gap between neighbouring tiles in pixels."""
        return GAP if self._across <= IN_ONE_LINE and self.width >= NARROW else NARROW_GAP

    @property
    def _head(self) -> int:
        """Return the height of the heading above each tile, or 0 if each column has a single heading at the top."""
        return HEAD if self.lines > 1 else 0

    def _around(self, rows: int) -> float:
        """Return the height that the headings, labels and gaps of a given number of rows need in total."""
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
                # Reserve space for the mosaics and the tiles of the selected pixel. If the tiles of a pixel fit in one
                # line, also reserve space for those of a pinned pixel.
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
        """Return the side length of one image pixel in logical pixels, as computed by `integer_scale`."""
        return self.size[0] / (self.shape[1] if self.part is None else self.part[3])

    def grid(self, box: QRectF) -> PixelGrid:
        top, left = (0, 0) if self.part is None else self.part[:2]
        return super().grid(box.translated(-left * self.scale, -top * self.scale))

    @cached_property
    def mosaic_height(self) -> float:
        """Return the height of a mosaic. It differs from that of all other tiles if the mosaic shows W as a matrix."""
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
        """Return the indices of the visible rows."""
        return range(self._first[0], self._first[0] + self.rows)

    def shown_columns(self) -> range:
        """Return the indices of the visible columns."""
        return range(self._first[1], self._first[1] + self.columns)

    def tile(self, row: int, column: int) -> QRectF:
        """Return the rectangle in which a tile is drawn."""
        return self.boxes[(row, column) if self.only is None else self.only]

    @cached_property
    def boxes(self) -> dict[tuple[int, int], QRectF]:
        """Return the rectangles of the visible tiles, aligned to device pixels, as a mapping from (row, column)."""
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
        """Return the rectangle of the caption above a tile, to the right of the row's label or the tile's heading."""
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
        """Return the rectangle of a column's heading. If rows have two lines, it is directly above the given tile."""
        box = self.tile(row, column)
        if self.lines == 1:
            return QRectF(box.x(), EDGE, box.width() + self.gap - 2, HEAD - 2)
        # A mosaic has no caption, so its heading can use the full width.
        width = box.width() if self._is_mosaics(row) else LABEL - 2
        return QRectF(box.x(), box.y() - HEAD, width, HEAD - 2)

    def label(self, row: int) -> QRectF:
        """Return the rectangle of a row's label above its first tile. It is empty for a row of mosaics."""
        box = self.tile(row, self.shown_columns()[0])
        if self._is_mosaics(row):
            return QRectF(box.x(), box.y(), 0.0, 0.0)
        width = float(NAME_LABEL if self.bars else LABEL)
        # Feature names may be long. If a caption does not fit between a label and the right edge of a tile, the label
        # therefore extends to this edge.
        free = -(width + REMOVE + self.gap) % (self.size[0] + self.gap)
        width += free if self.bars and free < LABEL else 0.0
        return QRectF(box.x(), box.y() - self._head - LINE, width, LINE - 2)

    def remove(self, row: int) -> QRectF:
        """Return the rectangle of a row's × button, next to the row's label."""
        box = self.label(row)
        return QRectF(box.right(), box.y() - 1, REMOVE if box.width() else 0.0, REMOVE if box.width() else 0.0)

    def at(self, point: QPointF) -> tuple[int, int] | None:
        """Return the row and column of the tile at a point, or None if the point is outside all tiles."""
        return next((place for place, box in self.boxes.items() if box.contains(point)), None)


# A function that returns a `TileLayout` from a cache, so that equal arguments do not compute its positions again.
tile_layout = lru_cache(maxsize=64)(TileLayout)
