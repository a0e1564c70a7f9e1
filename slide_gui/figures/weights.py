"""The paper's weight figure: rows of Wᵏ for example pixels, layer by layer, for one or more data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.experiments.weights import WeightRows, nearby_peak
from slide_gui.figures.color_scale import NEUTRAL, ColorScale, signed
from slide_gui.figures.style import Style
from slide_gui.figures.text import fitted, width_mm
from slide_gui.figures.weights_layout import Block, Box, WeightsLayout, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_weights", "tile_limits"]

_MM_PER_INCH = 25.4
_INK, _MUTED, _FRAME = "#1D1F24", "#555B66", "#B4B8C0"
_TITLE_SIZE, _TEXT_SIZE, _SMALL_SIZE = 7.0, 6.0, 5.0
_GENERATED = "generated"
_BESIDE = 1.0  # mm between a name and its mark
_LABEL_ROOM = 6.0  # mm for a tick label of the colour bar
_POINT = 1.8  # mm, an end of the colour bar
_LINE_MM = 2.35  # one line of small type
_ENLARGE = 8  # whole copies of each pixel in a vector file, so that viewers that smooth show none of it


def tile_limits(weights: Sequence[WeightRows], levels: str) -> list[NDArray[np.float64]]:
    """Return the weight that the strongest colours of each tile stand for; what lies beyond takes them too.

    A tile on its own reaches to the largest weight near its pixel (`nearby_peak`).

    Parameters
    ----------
    weights : sequence of WeightRows
    levels : {"tile", "layer", "global"}
        Tiles on their own, those of one layer of one data set together, or all of the figure.

    Returns
    -------
    list of ndarray of shape (k, depth)
        One for each data set; biases do not count.
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

    The figure gets its size from the style. Data sets stand two abreast where there is room; each has its
    pixels as rows and its layers as columns, a thin ring at the pixel that is reconstructed, and a
    colour map whose middle is zero. Features that are no picture are drawn as bars.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    weights : sequence of WeightRows
        One for each data set, each with at least one pixel and one layer.
    style : Style
        Width, colours, levels.

    Raises
    ------
    ValueError
        If there is nothing to draw, or too much for the width.
    """
    if not weights or any(rows.rows.size == 0 for rows in weights):
        raise ValueError("there is nothing to draw: at least one data set, pixel and layer are needed")
    layout = lay_out(weights, style)
    figure.set_size_inches(layout.width / _MM_PER_INCH, layout.height / _MM_PER_INCH)
    canvas = _Canvas(figure, layout, style.scale)
    size = _title_size(weights, layout, style.scale)
    beyond = False
    for rows, block, limits in zip(weights, layout.blocks, tile_limits(weights, style.levels), strict=True):
        beyond = beyond or bool((np.abs(rows.rows).max(axis=2) > limits).any())
        _draw_titles(canvas, rows, block, limits, style, size)
        for i in range(len(rows.pixels)):
            _draw_pixel_label(canvas, rows, block.tiles[i][0], i, style)
            for j in range(rows.depth):
                _draw_tile(canvas, rows, block.tiles[i][j], (i, j), float(limits[i, j]), style)
    _draw_color_bar(canvas, layout.bar, float(tile_limits(weights, "global")[0][0, 0]), style, beyond)


class _Canvas:
    """A figure addressed in mm from its top left corner."""

    def __init__(self, figure: Figure, layout: WeightsLayout, scale: float) -> None:
        self.figure, self.scale = figure, scale
        self._width, self._height = layout.width, layout.height

    def axes(self, box: Box, label: str) -> Axes:
        """Return new axes that fill the box."""
        w, h = self._width, self._height
        return self.figure.add_axes((box.x / w, 1 - (box.y + box.h) / h, box.w / w, box.h / h), label=label)

    def text(self, x: float, y: float, text: str, size: float, **look: Any) -> None:
        """Write text whose baseline is at y, unless `va` says otherwise; `size` in points before scaling."""
        look = {"va": "baseline", "color": _INK, **look}
        # A $ in a data set's name is a $, not mathematics.
        self.figure.text(x / self._width, 1 - y / self._height, text, fontsize=size, parse_math=False, **look)

    def text_within(self, x: float, y: float, text: str, size: float, room: float, **look: Any) -> None:
        """Write text made small or short enough for `room` mm."""
        weight = str(look.get("weight", "normal"))
        text, size = fitted(text, size * self.scale, room, weight, 4.0 * self.scale)
        self.text(x, y, text, size, **look)


def _draw_titles(
    canvas: _Canvas, rows: WeightRows, block: Block, limits: NDArray[np.float64], style: Style, size: float
) -> None:
    s, title = canvas.scale, block.title
    room = title.w - _mark_width(rows, size)
    name, size = fitted(_name(rows), size, room, "bold", size)
    canvas.text(title.x, title.y + 2.6 * s, name, size, weight="bold")
    if rows.generated:
        x = title.x + width_mm(name, size, "bold") + _BESIDE
        canvas.text(x, title.y + 2.6 * s, _GENERATED, size, color=_MUTED)
    noise = rows.parameters.noise
    second = f"noise 1 − p = {_plain(noise)}, p = {_plain(1 - noise)}"
    canvas.text_within(title.x, title.y + 5.4 * s, second, _SMALL_SIZE, title.w, color=_MUTED)
    for j, box in enumerate(block.layers):
        middle, bottom = box.x + box.w / 2, box.y + box.h - 0.8 * s
        if style.levels == "layer":
            text = _limit_text(float(limits[0, j]))
            canvas.text_within(middle, bottom, text, _SMALL_SIZE, box.w, ha="center", color=_MUTED)
            bottom -= 2.4 * s
        canvas.text_within(middle, bottom, f"layer {j + 1}", _TEXT_SIZE, box.w, ha="center")


def _name(rows: WeightRows) -> str:
    """Return the data set's name without the mark of generated data, which is written beside it."""
    return rows.dataset.removesuffix(f" ({_GENERATED})") if rows.generated else rows.dataset


def _mark_width(rows: WeightRows, size: float) -> float:
    return width_mm(_GENERATED, size) + _BESIDE if rows.generated else 0.0


def _title_size(weights: Sequence[WeightRows], layout: WeightsLayout, scale: float) -> float:
    """Return one type size for all data sets' names, so that the longest fits if it can."""
    size = _TITLE_SIZE * scale
    needed = max(
        (width_mm(_name(rows), size, "bold") + _mark_width(rows, size)) / block.title.w
        for rows, block in zip(weights, layout.blocks, strict=True)
    )
    return max(size / max(needed, 1.0), 5.0 * scale)


def _draw_pixel_label(canvas: _Canvas, rows: WeightRows, box: Box, index: int, style: Style) -> None:
    text, size = _pixel_text(rows, rows.pixels[index], style.transposed), _SMALL_SIZE * canvas.scale
    longest = f"feature {max(rows.pixels)}"
    if rows.image_shape is None and width_mm(longest, size) <= box.h:
        text = f"feature {text}"
    text, size = fitted(text, size, box.h, smallest=4.0 * canvas.scale)
    x = box.x - 0.9 * canvas.scale
    y = box.y + box.h / 2
    canvas.text(x, y, text, size, rotation=90, va="center", ha="right", color=_MUTED)


def _draw_tile(canvas: _Canvas, rows: WeightRows, box: Box, at: tuple[int, int], limit: float, style: Style) -> None:
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
    captions = [_limit_text(limit)] if style.levels == "tile" else []
    if style.bias:
        value = signed(float(rows.biases[i, j]))
        fits = width_mm(f"bias {value}", _SMALL_SIZE * canvas.scale) <= box.w
        captions.append(f"bias {value}" if fits else f"b {value}")
    for line, text in enumerate(captions):
        y = box.y + box.h + (2.1 + _LINE_MM * line) * canvas.scale
        canvas.text_within(box.x + box.w / 2, y, text, _SMALL_SIZE, max(box.w, 6.0), ha="center", color=_MUTED)


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
    # Dark on pale maps and pale on dark ones, with a halo of the map's own zero.
    zero = scale.lut()[NEUTRAL] / 255.0
    pen = _INK if zero.mean() > 0.4 else "white"
    for color, line in ((tuple(zero), 0.8), (pen, 0.4)):
        # Not clipped: at the border of the image a part of the ring would be missing.
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
    # Colours of the strong ends: pale bars on paper would not be seen.
    down, up = scale.lut()[40] / 255.0, scale.lut()[215] / 255.0
    colors = np.where(values[:, None] < 0, down, up)
    axes.add_collection(PolyCollection(list(corners), facecolors=list(colors), linewidths=0))
    axes.axhline(0.0, color=_FRAME, linewidth=0.35 * size)
    axes.set_xlim(-1.0, n)
    axes.set_ylim(1.2 * scale.low, 1.2 * scale.high)
    axes.plot(
        [feature], [values[feature]], marker="o", markersize=2.2 * size, markerfacecolor="none",
        markeredgecolor=_INK, markeredgewidth=0.45 * size, linestyle="none", clip_on=False,
    )  # fmt: skip


def _draw_color_bar(canvas: _Canvas, box: Box, highest: float, style: Style, beyond: bool) -> None:
    """Draw the bar: in weights where all tiles share the limits, else relative to each tile's limit.

    Its ends are pointed where weights lie beyond the limits.
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
        labelsize=_SMALL_SIZE * s * shrink, length=1.6 * s, width=0.35 * s, pad=1.2 * s, color=_MUTED, labelcolor=_INK
    )
    for spine in axes.spines.values():
        spine.set(linewidth=0.35 * s, color=_FRAME)
    for side in ("top", "bottom"):
        axes.spines[side].set_visible(not beyond)
    title = "weight" if shared else f"weight / limit of the {style.levels}"
    x = box.x + box.w + widest * shrink + 3.6 * s
    text, size = fitted(title, _SMALL_SIZE * s, box.h, smallest=4.0 * s)
    canvas.text(x, box.y + box.h / 2, text, size, rotation=90, va="center", ha="center", color=_MUTED)


def _pixel_text(rows: WeightRows, pixel: int, transposed: bool) -> str:
    if rows.image_shape is None:
        return f"{pixel}"
    y, x = divmod(pixel, rows.image_shape[1])
    return f"{x}, {y}" if transposed else f"{y}, {x}"


def _plain(value: float) -> str:
    """Return a probability with two decimals, more only where it has more."""
    text = f"{value:.4f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))


def _limit_text(limit: float) -> str:
    return f"±{limit:.2f}" if 0.01 <= limit < 100 else f"±{limit:.0e}".replace("e-0", "e−").replace("e+0", "e")
