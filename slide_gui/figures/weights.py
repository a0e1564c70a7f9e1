"""The paper’s weight figure: rows of Wᵏ for example pixels in all layers, for one or more data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.rows import WeightRows, nearby_peak
from slide_gui.figures.canvas import fitted, width_mm
from slide_gui.figures.color_scale import NEUTRAL, ColorScale, signed
from slide_gui.figures.export import (
    FigureExport,
    all_forms,
    export_of,
    fit_words,
    script_of,
    style_words,
    weights_csv,
)
from slide_gui.figures.style import Style
from slide_gui.text import pixel_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 1.5
_BAR_WIDTH = 2.2
BAR_ROOM = 15.0
"""Width of the colour bar with its gap, tick labels and title, in mm."""
_BAR_LONGEST = 70.0
_BLOCK_GAP = 4.0
_BLOCK_ROW_GAP = 3.5
_PIXEL_LABEL = 3.4
_GAP = 0.9
_CAPTION = 2.3  # height of a line below a tile
_TITLE = 6.6  # height of the data set's name and noise
_LAYER_TITLE = 3.0
_LIMIT = 2.4  # height of the line with a layer's limits
_LARGEST_TILE = 26.0
_SMALLEST_BESIDE = 6.0  # with smaller tiles, blocks are placed below each other
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
    """The layout of one data set: its title, layer titles and tiles.

    Attributes
    ----------
    title : Box
        Two lines: name, then noise.
    layers : tuple of Box
        One or two lines above the column of each layer.
    tiles : tuple of tuple of Box
        ``tiles[i][j]`` is for pixel i and layer j + 1.
    """

    title: Box
    layers: tuple[Box, ...]
    tiles: tuple[tuple[Box, ...], ...]


@dataclass(frozen=True)
class WeightsLayout:
    """The layout of the whole figure.

    Attributes
    ----------
    width, height : float
        Size of the figure in mm.
    blocks : tuple of Block
        Blocks in the order of the data sets.
    bar : Box
        The colour bar.
    """

    width: float
    height: float
    blocks: tuple[Block, ...]
    bar: Box


def lay_out(weights: Sequence[WeightRows], style: Style) -> WeightsLayout:
    """Return the layout, with data sets side by side if there is enough width, and all tiles of one size."""
    if style.height_mm is not None:
        # A slide has a fixed height, so the arrangement with the largest tiles is used.
        return max((_Plan(weights, style, n + 1) for n in range(len(weights))), key=_Plan.tile_size).layout()
    plan = _Plan(weights, style, min(2, len(weights)))
    if plan.columns == 2 and plan.tile_by_width < _SMALLEST_BESIDE:
        plan = _Plan(weights, style, 1)
    return plan.layout()


def aspect_of(rows: WeightRows, transposed: bool) -> tuple[float, float]:
    """Return the relative width and height of a tile, the larger of them 1."""
    if rows.image_shape is None:
        return 1.0, _BARS_ASPECT
    height, width = rows.image_shape[::-1] if transposed else rows.image_shape
    longest = max(height, width)
    # The tile of a strip of a few pixels stays wide enough to be visible.
    return max(width / longest, 0.08), max(height / longest, 0.08)


class _Plan:
    """Computes the layout with `columns` blocks side by side."""

    def __init__(self, weights: Sequence[WeightRows], style: Style, columns: int) -> None:
        self.columns = columns
        self._s = s = style.scale
        self._style = style
        self._sets = weights
        self._aspects = [aspect_of(rows, style.transposed) for rows in weights]
        self._depth = max(rows.depth for rows in weights)
        captions = int(style.levels == "tile") + int(style.bias)
        self._row_gap = s * (_GAP + _CAPTION * captions + (0.5 if captions else 0.0))
        self._layer_title = s * (_LAYER_TITLE + (_LIMIT if style.levels == "layer" else 0.0))
        self._head = s * _TITLE + self._layer_title
        room = style.width_mm - s * (2 * _MARGIN + BAR_ROOM)
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
        """Return the largest tile for which the figure is not too high, by bisection."""
        highest = self._style.height_mm or _TALLEST
        low, high = 0.0, 1000.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._height(middle) <= highest else (low, middle)
        return low

    def tile_size(self) -> float:
        """Return the side of a tile in mm, 0 or less if none fits."""
        return self._tile

    def layout(self) -> WeightsLayout:
        """Return the positions of all parts.

        Raises
        ------
        ValueError
            If the tiles would be too small to see.
        """
        s, tile = self._s, self._tile
        if tile < 1.5:
            raise ValueError("too many pixels or layers for one figure; choose fewer or a wider figure")
        block_width = s * _PIXEL_LABEL + self._depth * tile + (self._depth - 1) * s * _GAP
        content = self.columns * block_width + (self.columns - 1) * s * _BLOCK_GAP + s * BAR_ROOM
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
        bar_x = left + content - s * BAR_ROOM + s * 2.5
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


_MM_PER_INCH = 25.4
INK, MUTED, _FRAME = "#1D1F24", "#555B66", "#B4B8C0"
_TITLE_SIZE, _TEXT_SIZE, _SMALL_SIZE = 7.0, 6.0, 5.0
_GENERATED = "generated"
_BESIDE = 1.0  # mm between a name and its mark
_LABEL_ROOM = 6.0  # mm for a tick label of the colour bar
_POINT = 1.8  # mm, length of a pointed end of the colour bar
_LINE_MM = 2.35  # height of a line of small type
_ENLARGE = 8  # integer enlargement of each pixel in vector files, so that smoothing by viewers is invisible


def as_shown(weights: Sequence[WeightRows], show: str) -> tuple[list[WeightRows], bool]:
    """Return the rows for a figure, and True if they are contributions in place of weights.

    A contribution is a weight times the root mean square of the pixel it is taken from. All data sets of a figure share
    its colours, so "auto" uses contributions for all if a few weights of one data set would hide the others.

    Parameters
    ----------
    show : {"auto", "weights", "contribution"}

    Raises
    ------
    ValueError
        If contributions are requested, but a model does not contain them.
    """
    spreads = [rows.rms for rows in weights if rows.rms is not None]
    known = len(spreads) == len(weights)
    if show == "contribution" and not known:
        raise ValueError("contributions need the data, which a saved model does not contain; name the data instead")
    if show == "weights" or not known or (show == "auto" and not any(rows.drowned for rows in weights)):
        return list(weights), False
    return [replace(rows, rows=rows.rows * spread) for rows, spread in zip(weights, spreads, strict=True)], True


def tile_limits(weights: Sequence[WeightRows], levels: str) -> list[NDArray[np.float64]]:
    """Return the weight of the strongest colours of each tile. Larger weights have these colours, too.

    With limits per tile, the limit is the largest weight near the tile's pixel (`nearby_peak`).

    Parameters
    ----------
    levels : {"tile", "layer", "global"}
        Tiles that share their limits: none, those of one layer of one data set, or all of the figure.

    Returns
    -------
    list of ndarray of shape (k, depth)
        Limits of each data set. Biases are ignored.
    """
    peaks = [_peaks(rows) for rows in weights]
    if levels == "tile":
        return peaks
    if levels == "layer":
        return [np.broadcast_to(peak.max(axis=0), peak.shape) for peak in peaks]
    highest = max(float(peak.max()) for peak in peaks)
    return [np.full_like(peak, highest) for peak in peaks]


def _peaks(rows: WeightRows) -> NDArray[np.float64]:
    return np.array(
        [
            [nearby_peak(row, pixel, rows.image_shape) for row in layers]
            for layers, pixel in zip(rows.rows, rows.pixels, strict=True)
        ]
    )


def draw_weights(figure: Figure, weights: Sequence[WeightRows], style: Style) -> None:
    """Draw the weight figure (the paper's Figure "Reconstruction weights at different layers").

    The style determines the size of the figure. Two data sets are side by side if there is enough width. Each has its
    pixels as rows and its layers as columns. A thin ring marks the reconstructed pixel, and the middle of the colour
    map is zero. Features that are not pixels are drawn as bars.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    weights : sequence of WeightRows
        Rows of each data set, with at least one pixel and one layer.
    style : Style
        Width, colours, colour limits, weights or contributions.

    Raises
    ------
    ValueError
        If there is nothing to draw, or too much for the width, or as `as_shown`.
    """
    if not weights or any(rows.rows.size == 0 for rows in weights):
        raise ValueError("there is nothing to draw: at least one data set, pixel and layer are needed")
    weights, contributions = as_shown(weights, style.show)
    layout = lay_out(weights, style)
    canvas = Canvas(figure, layout.width, layout.height, style.scale)
    size = _title_size(weights, layout, style.scale)
    beyond = False
    for rows, block, limits in zip(weights, layout.blocks, tile_limits(weights, style.levels), strict=True):
        beyond = beyond or bool((np.abs(rows.rows).max(axis=2) > limits).any())
        _draw_titles(canvas, rows, block, limits, style, size)
        for i in range(len(rows.pixels)):
            _draw_pixel_label(canvas, rows, block.tiles[i][0], i, style)
            for j in range(rows.depth):
                draw_tile(canvas, rows, block.tiles[i][j], (i, j), float(limits[i, j]), style)
    highest = float(tile_limits(weights, "global")[0][0, 0])
    draw_color_bar(canvas, layout.bar, highest, style, beyond, contributions)


class Canvas:
    """A figure with coordinates in mm from its top left corner."""

    def __init__(self, figure: Figure, width: float, height: float, scale: float) -> None:
        self.figure, self.scale = figure, scale
        self._width, self._height = width, height
        figure.set_size_inches(width / _MM_PER_INCH, height / _MM_PER_INCH)

    def axes(self, box: Box, label: str) -> Axes:
        """Return new axes that fill the box."""
        w, h = self._width, self._height
        return self.figure.add_axes((box.x / w, 1 - (box.y + box.h) / h, box.w / w, box.h / h), label=label)

    def text(self, x: float, y: float, text: str, size: float, **look: Any) -> None:
        """Write text with its baseline at y, unless `va` is given. The size is in points before scaling."""
        look = {"va": "baseline", "color": INK, **look}
        # A $ in the name of a data set does not start a formula.
        self.figure.text(x / self._width, 1 - y / self._height, text, fontsize=size, parse_math=False, **look)

    def text_within(self, x: float, y: float, text: str, size: float, room: float, **look: Any) -> None:
        """Write text, reduced or cut to fit `room` mm."""
        weight = str(look.get("weight", "normal"))
        text, size = fitted(text, size * self.scale, room, weight, 4.0 * self.scale)
        self.text(x, y, text, size, **look)


def _draw_titles(
    canvas: Canvas, rows: WeightRows, block: Block, limits: NDArray[np.float64], style: Style, size: float
) -> None:
    s, title = canvas.scale, block.title
    room = title.w - _mark_width(rows, size)
    name, size = fitted(rows.dataset, size, room, "bold", size)
    canvas.text(title.x, title.y + 2.6 * s, name, size, weight="bold")
    if rows.generated:
        x = title.x + width_mm(name, size, "bold") + _BESIDE
        canvas.text(x, title.y + 2.6 * s, _GENERATED, size, color=MUTED)
    canvas.text_within(title.x, title.y + 5.4 * s, noise_text(rows), _SMALL_SIZE, title.w, color=MUTED)
    for j, box in enumerate(block.layers):
        middle, bottom = box.x + box.w / 2, box.y + box.h - 0.8 * s
        if style.levels == "layer":
            text = limit_text(float(limits[0, j]))
            canvas.text_within(middle, bottom, text, _SMALL_SIZE, box.w, ha="center", color=MUTED)
            bottom -= 2.4 * s
        canvas.text_within(middle, bottom, f"layer {j + 1}", _TEXT_SIZE, box.w, ha="center")


def _mark_width(rows: WeightRows, size: float) -> float:
    return width_mm(_GENERATED, size) + _BESIDE if rows.generated else 0.0


def _title_size(weights: Sequence[WeightRows], layout: WeightsLayout, scale: float) -> float:
    """Return one type size for the names of all data sets, so that the longest fits if possible."""
    size = _TITLE_SIZE * scale
    needed = max(
        (width_mm(rows.dataset, size, "bold") + _mark_width(rows, size)) / block.title.w
        for rows, block in zip(weights, layout.blocks, strict=True)
    )
    return max(size / max(needed, 1.0), 5.0 * scale)


def _draw_pixel_label(canvas: Canvas, rows: WeightRows, box: Box, index: int, style: Style) -> None:
    text, size = (
        pixel_name(rows.pixels[index], rows.image_shape, rows.feature_names, transposed=style.transposed),
        _SMALL_SIZE * canvas.scale,
    )
    longest = f"feature {max(rows.pixels)}"
    if rows.image_shape is None and not rows.feature_names and width_mm(longest, size) <= box.h:
        text = f"feature {text}"
    text, size = fitted(text, size, box.h, smallest=4.0 * canvas.scale)
    x = box.x - 0.9 * canvas.scale
    y = box.y + box.h / 2
    canvas.text(x, y, text, size, rotation=90, va="center", ha="right", color=MUTED)


def draw_tile(canvas: Canvas, rows: WeightRows, box: Box, at: tuple[int, int], limit: float, style: Style) -> None:
    """Draw one row of W. `at` contains the indices of its pixel and layer, from 0."""
    i, j = at
    axes = canvas.axes(box, f"{rows.dataset}, pixel {rows.pixels[i]}, layer {j + 1}")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(linewidth=0.35 * canvas.scale, color=_FRAME)
    scale = ColorScale.symmetric(style.colors, limit)
    if rows.image_shape is None:
        _draw_bars(axes, rows.rows[i, j], rows.pixels[i], scale, canvas.scale)
    else:
        _draw_image(axes, rows, at, scale, style)
    captions = [limit_text(limit)] if style.levels == "tile" else []
    if style.bias:
        value = signed(float(rows.biases[i, j]))
        bias = f"bias {value}"
        captions.append(bias if width_mm(bias, _SMALL_SIZE * canvas.scale) <= box.w else f"b {value}")
    for line, text in enumerate(captions):
        y = box.y + box.h + (2.1 + _LINE_MM * line) * canvas.scale
        canvas.text_within(box.x + box.w / 2, y, text, _SMALL_SIZE, max(box.w, 6.0), ha="center", color=MUTED)


def _draw_image(axes: Axes, rows: WeightRows, at: tuple[int, int], scale: ColorScale, style: Style) -> None:
    from matplotlib.patches import Circle

    assert rows.image_shape is not None
    i, j = at
    values = rows.rows[i, j].reshape(rows.image_shape)
    y, x = divmod(rows.pixels[i], rows.image_shape[1])
    if style.transposed:
        values, x, y = values.T, y, x
    height, width = values.shape
    colors = scale.lut()[scale.indices(values)]
    enlarged = colors.repeat(_ENLARGE, axis=0).repeat(_ENLARGE, axis=1)
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    axes.imshow(enlarged, interpolation="none", extent=extent, aspect="auto")
    radius = max(0.8, 0.06 * max(height, width))
    # The ring is dark on pale maps and pale on dark ones, with a halo in the map's colour of zero.
    zero = scale.lut()[NEUTRAL] / 255.0
    pen = INK if zero.mean() > 0.4 else "white"
    for color, line in ((tuple(zero), 0.8), (pen, 0.4)):
        # Without clipping, so that the ring is complete at the border of the image.
        ring = Circle((x, y), radius, fill=False, edgecolor=color, linewidth=line * style.scale, clip_on=False)
        axes.add_patch(ring)


def _draw_bars(axes: Axes, values: NDArray[np.float64], feature: int, scale: ColorScale, size: float) -> None:
    from matplotlib.collections import PolyCollection

    n = len(values)
    left, right = np.arange(n) - 0.4, np.arange(n) + 0.4
    zero = np.zeros(n)
    corners = np.stack(
        [np.column_stack(c) for c in ((left, zero), (left, values), (right, values), (right, zero))], axis=1
    )
    # Use the colours of the strong ends, because pale bars would be invisible on paper.
    down, up = scale.lut()[40] / 255.0, scale.lut()[215] / 255.0
    colors = np.where(values[:, None] < 0, down, up)
    axes.add_collection(PolyCollection(list(corners), facecolors=list(colors), linewidths=0))
    axes.axhline(0.0, color=_FRAME, linewidth=0.35 * size)
    axes.set_xlim(-1.0, n)
    axes.set_ylim(1.2 * scale.low, 1.2 * scale.high)
    axes.plot(
        [feature], [values[feature]], marker="o", markersize=2.2 * size, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=0.45 * size, linestyle="none", clip_on=False,
    )  # fmt: skip


def draw_color_bar(canvas: Canvas, box: Box, highest: float, style: Style, beyond: bool, contributions: bool) -> None:
    """Draw the colour bar, in weights or contributions if all tiles share the limits, otherwise relative to the limit.

    Its ends are pointed if weights lie beyond the limits.
    """
    shared = style.levels == "global"
    scale = ColorScale.symmetric(style.colors, highest if shared else 1.0)
    s = canvas.scale
    lut = scale.lut()[1:]
    if beyond:
        box = replace(box, y=box.y + _POINT * s, h=box.h - 2 * _POINT * s)
    axes = canvas.axes(box, "colour bar")
    if beyond:
        point = _POINT * s / box.h
        for edge, tip, color in ((0.0, -point, lut[0]), (1.0, 1.0 + point, lut[-1])):
            axes.fill(
                [0.0, 1.0, 0.5], [edge, edge, tip], color=tuple(color / 255.0), linewidth=0,
                transform=axes.transAxes, clip_on=False,
            )  # fmt: skip
    extent = (0.0, 1.0, scale.low, scale.high)
    axes.imshow(
        lut[:, None].repeat(_ENLARGE, axis=0), origin="lower", extent=extent, aspect="auto",
        interpolation="none",
    )  # fmt: skip
    axes.set_xticks([])
    ticks = scale.ticks() if shared else (-1.0, -0.5, 0.0, 0.5, 1.0)
    axes.set_yticks(ticks, [scale.label(tick) for tick in ticks])
    axes.yaxis.tick_right()
    widest = max(width_mm(scale.label(tick), _SMALL_SIZE * s) for tick in ticks)
    shrink = min(1.0, _LABEL_ROOM * s / widest)
    axes.tick_params(
        labelsize=_SMALL_SIZE * s * shrink, length=1.6 * s, width=0.35 * s, pad=1.2 * s, color=MUTED, labelcolor=INK
    )
    for spine in axes.spines.values():
        spine.set(linewidth=0.35 * s, color=_FRAME)
    for side in ("top", "bottom"):
        axes.spines[side].set_visible(not beyond)
    names = ("contribution (weight × RMS)", "contribution") if contributions else ("weight",)
    titles = [_bar_title(name, style.levels) for name in names]
    title = next((each for each in titles if width_mm(each, _SMALL_SIZE * s) <= box.h), titles[-1])
    x = box.x + box.w + widest * shrink + 3.6 * s
    text, size = fitted(title, _SMALL_SIZE * s, box.h, smallest=4.0 * s)
    canvas.text(x, box.y + box.h / 2, text, size, rotation=90, va="center", ha="center", color=MUTED)


def _bar_title(name: str, levels: str) -> str:
    if levels == "layer":
        return f"{name} / limit of the layer"
    return f"{name} / limit of the tile" if levels == "tile" else name


def noise_text(rows: WeightRows) -> str:
    """Return the noise level 1 − p of the fit, and p."""
    noise = rows.parameters.noise
    return f"noise 1 − p = {_plain(noise)}, p = {_plain(1 - noise)}"


def _plain(value: float) -> str:
    """Return a probability with two decimals, or more if it has more."""
    text = f"{value:.4f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))


def limit_text(limit: float) -> str:
    """Return the colour limit on both sides of zero."""
    return f"±{limit:.2f}" if 0.01 <= limit < 100 else f"±{limit:.0e}".replace("e-0", "e−").replace("e+0", "e")


def weights_export(weights: Sequence[WeightRows], sources: Sequence[DataSource]) -> FigureExport:
    """Return the export of the weight figure.

    Parameters
    ----------
    sources : sequence of DataSource
        Source of the data of each of `weights`.
    """
    return export_of(
        "weights",
        weights,
        draw_weights,
        weights_csv,
        commands=lambda style: weights_commands(weights, sources, style),
        script=lambda style: weights_script(weights, sources, style),
    )


def weights_script(weights: Sequence[WeightRows], sources: Sequence[DataSource], style: Style) -> str:
    """Return a Python script that fits the same stacks and writes the same bytes."""
    sets = "".join(
        f"    weight_rows(fitted({source!r}, {rows.parameters!r}, {rows.fingerprint!r})[1], {rows.pixels!r}),\n"
        for rows, source in zip(weights, sources, strict=True)
    )
    return script_of(
        "weights",
        style,
        imports="from slide_gui.experiments.inspection.rows import weight_rows\n"
        "from slide_gui.figures.weights import weights_export",
        body=f"weights = [\n{sets}]\nexport = weights_export(weights, {list(sources)!r})",
    )


def weights_commands(weights: Sequence[WeightRows], sources: Sequence[DataSource], style: Style) -> str:
    """Return the command line that fits the same stacks and writes the same figure.

    Raises
    ------
    ValueError
        If the data sets were read, divided or fitted in different ways, for which there is no single command.
    """
    fits = [fit_words(source, rows.parameters) for rows, source in zip(weights, sources, strict=True)]
    if any(fit != fits[0] for fit in fits):
        raise ValueError("one command fits all data sets alike; export data sets with other parameters separately")
    figure: list[object] = ["weights", *(source.argument for source in sources), *fits[0]]
    for rows in weights:
        figure += ["--pixels", *(_pixel_argument(rows, pixel) for pixel in rows.pixels)]
    figure += ["--show", style.show, *style_words(style)] + ["--bias"] * style.bias
    return all_forms("weights", figure)


def _pixel_argument(rows: WeightRows, pixel: int) -> str:
    if rows.image_shape is None:
        return str(pixel)
    y, x = divmod(pixel, rows.image_shape[1])
    return f"{y},{x}"
