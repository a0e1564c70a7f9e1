"""Where everything of the weight figure stands, in mm from the top left corner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slide_gui.experiments.weights import WeightRows
from slide_gui.figures.style import Style

__all__ = ["Block", "Box", "WeightsLayout", "lay_out"]

_MARGIN = 1.5
_BAR_WIDTH = 2.2
_BAR_ROOM = 15.0  # the gap before the bar, the bar, its tick labels and its title
_BAR_LONGEST = 70.0
_BLOCK_GAP = 4.0
_BLOCK_ROW_GAP = 3.5
_PIXEL_LABEL = 3.4
_GAP = 0.9
_CAPTION = 2.3  # a line below a tile
_TITLE = 6.6  # the data set and its noise
_LAYER_TITLE = 3.0
_LIMIT = 2.4  # the line with a layer's limits
_LARGEST_TILE = 26.0
_SMALLEST_BESIDE = 6.0  # smaller tiles than this, and the blocks stand below each other
_TALLEST = 235.0
_BARS_ASPECT = 0.6


@dataclass(frozen=True)
class Box:
    """A rectangle: left, top, width and height in mm."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True)
class Block:
    """One data set: its title box, layer titles and tiles.

    Attributes
    ----------
    title : Box
        Two lines: name, then noise.
    layers : tuple of Box
        One a layer, above its column; one or two lines.
    tiles : tuple of tuple of Box
        ``tiles[i][j]`` is for pixel i and layer j + 1.
    """

    title: Box
    layers: tuple[Box, ...]
    tiles: tuple[tuple[Box, ...], ...]


@dataclass(frozen=True)
class WeightsLayout:
    """The whole figure.

    Attributes
    ----------
    width, height : float
        Of the figure, mm.
    blocks : tuple of Block
        In the order of the data sets.
    bar : Box
        The colour bar.
    """

    width: float
    height: float
    blocks: tuple[Block, ...]
    bar: Box


def lay_out(weights: Sequence[WeightRows], style: Style) -> WeightsLayout:
    """Return the layout: data sets abreast where there is room, all tiles of one size."""
    if style.height_mm is not None:
        # A slide has a fixed height: the arrangement with the largest tiles.
        return max((_Plan(weights, style, n + 1) for n in range(len(weights))), key=_Plan.tile_size).layout()
    plan = _Plan(weights, style, min(2, len(weights)))
    if plan.columns == 2 and plan.tile_by_width < _SMALLEST_BESIDE:
        plan = _Plan(weights, style, 1)
    return plan.layout()


def _aspect(rows: WeightRows, transposed: bool) -> tuple[float, float]:
    """Return width and height of a tile, the larger of them 1."""
    if rows.image_shape is None:
        return 1.0, _BARS_ASPECT
    height, width = rows.image_shape[::-1] if transposed else rows.image_shape
    longest = max(height, width)
    # A strip of a few pixels stays wide enough to be seen.
    return max(width / longest, 0.08), max(height / longest, 0.08)


class _Plan:
    """The arithmetic of one arrangement: `columns` blocks abreast."""

    def __init__(self, weights: Sequence[WeightRows], style: Style, columns: int) -> None:
        self.columns = columns
        self._s = s = style.scale
        self._style = style
        self._sets = weights
        self._aspects = [_aspect(rows, style.transposed) for rows in weights]
        self._depth = max(rows.depth for rows in weights)
        captions = int(style.levels == "tile") + int(style.bias)
        self._row_gap = s * (_GAP + _CAPTION * captions + (0.5 if captions else 0.0))
        self._layer_title = s * (_LAYER_TITLE + (_LIMIT if style.levels == "layer" else 0.0))
        self._head = s * _TITLE + self._layer_title
        room = style.width_mm - s * (2 * _MARGIN + _BAR_ROOM)
        block = (room - (columns - 1) * s * _BLOCK_GAP) / columns
        self.tile_by_width = (block - s * _PIXEL_LABEL - (self._depth - 1) * s * _GAP) / self._depth
        self._tile = min(self.tile_by_width, s * _LARGEST_TILE, self._tile_by_height())

    def _block_rows(self) -> list[list[int]]:
        n = len(self._sets)
        return [
            list(range(start, min(start + self.columns, n)))
            for start in range(0, math.ceil(n / self.columns) * self.columns, self.columns)
            if start < n
        ]

    def _block_height(self, index: int, tile: float) -> float:
        k = len(self._sets[index].pixels)
        return self._head + k * (tile * self._aspects[index][1] + self._row_gap)

    def _height(self, tile: float) -> float:
        rows = self._block_rows()
        inside = sum(max(self._block_height(i, tile) for i in row) for row in rows)
        return inside + self._s * (2 * _MARGIN + _BLOCK_ROW_GAP * (len(rows) - 1))

    def _tile_by_height(self) -> float:
        """Return the largest tile with which the figure is not too tall, by bisection."""
        highest = self._style.height_mm or _TALLEST
        low, high = 0.0, 1000.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._height(middle) <= highest else (low, middle)
        return low

    def tile_size(self) -> float:
        """Return the side of a tile in mm, 0 or less where there is no room for any."""
        return self._tile

    def layout(self) -> WeightsLayout:
        """Return where everything stands.

        Raises
        ------
        ValueError
            If the tiles would be too small to see.
        """
        s, tile = self._s, self._tile
        if tile < 1.5:
            raise ValueError("too many pixels or layers for one figure: choose fewer or a wider figure")
        block_width = s * _PIXEL_LABEL + self._depth * tile + (self._depth - 1) * s * _GAP
        content = self.columns * block_width + (self.columns - 1) * s * _BLOCK_GAP + s * _BAR_ROOM
        height = self._style.height_mm or self._height(tile)
        left = (self._style.width_mm - content) / 2
        top = (height - self._height(tile)) / 2 + s * _MARGIN
        blocks: list[Block] = []
        y = first = top
        bottom = top
        for row in self._block_rows():
            for column, index in enumerate(row):
                x = left + column * (block_width + s * _BLOCK_GAP)
                blocks.append(self._block(index, x, y, block_width))
                bottom = max(bottom, *(b.y + b.h for line in blocks[-1].tiles for b in line))
            y += max(self._block_height(i, tile) for i in row) + s * _BLOCK_ROW_GAP
        start = first + self._head
        length = min(bottom - start, s * _BAR_LONGEST)
        bar_x = left + content - s * _BAR_ROOM + s * 2.5
        bar = Box(bar_x, (start + bottom - length) / 2, s * _BAR_WIDTH, length)
        return WeightsLayout(self._style.width_mm, height, tuple(blocks), bar)

    def _block(self, index: int, x: float, y: float, width: float) -> Block:
        s, tile = self._s, self._tile
        rows = self._sets[index]
        w, h = (tile * part for part in self._aspects[index])
        x0 = x + s * _PIXEL_LABEL
        lefts = [x0 + j * (tile + s * _GAP) for j in range(rows.depth)]
        y_layers, y_tiles = y + s * _TITLE, y + self._head
        tiles = tuple(
            tuple(Box(at + (tile - w) / 2, y_tiles + i * (h + self._row_gap), w, h) for at in lefts)
            for i in range(len(rows.pixels))
        )
        layers = tuple(Box(at, y_layers, tile, self._layer_title) for at in lefts)
        return Block(Box(x0, y, width - s * _PIXEL_LABEL, s * _TITLE), layers, tiles)
