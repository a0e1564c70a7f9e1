"""The paper’s weight figure and its animation: rows of Wᵏ for a few pixels and all layers of one or more data sets."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.rows import WeightRows, nearby_peak, rows_by_noise
from slide_gui.figures import canvas
from slide_gui.figures.canvas import INK, MUTED, PALE, SMALL_SIZE, SMALLEST, TEXT_SIZE, TITLE_SIZE, Box, Plot
from slide_gui.figures.color_scale import NEUTRAL, ColorScale, signed
from slide_gui.figures.export import (
    FigureExport,
    all_forms,
    export_of,
    fit_words,
    pixel_argument,
    style_words,
    weights_csv,
)
from slide_gui.figures.style import Style
from slide_gui.progress import Progress
from slide_gui.text import dataset_title, level, pixel_name, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lengths in mm.
_MARGIN = 1.5
_BAR_WIDTH = 2.2
_BAR_SPACE = 15.0  # width of the colour bar including its gap, tick labels and title
_BAR_LONGEST = 70.0
_POINT = 1.8  # length of each pointed end of the colour bar
_LABEL_SPACE = 6.0  # space for the tick labels of the colour bar
_BLOCK_GAP = 4.0
_BLOCK_ROW_GAP = 3.5
_PIXEL_LABEL = 3.4
_GAP = 0.9
_CAPTION = 2.3  # height of a line of text below a tile
_LINE = 2.35  # distance between two lines of text below a tile
_TITLE = 6.6  # height of the two lines with the name and noise level of a data set
_LAYER_TITLE = 3.0
_LIMIT = 2.4  # height of the line with the colour limits of a layer
_LARGEST_TILE = 26.0
_SMALLEST_ABREAST = 6.0  # Data sets are placed side by side only if their tiles have at least this size.
_TALLEST = 235.0
_BARS_ASPECT = 0.6


class _Layout:
    """Positions in mm of all elements of a figure with `columns` data sets side by side. All tiles have equal size."""

    def __init__(self, weights: Sequence[WeightRows], style: Style, columns: int) -> None:
        s, depth = style.scale, max(rows.depth for rows in weights)
        captions = (style.levels == "tile") + style.bias
        self.columns = columns
        self.row_gap = s * (_GAP + _CAPTION * captions + 0.5 * (captions > 0))
        self.head = s * (_TITLE + _LAYER_TITLE + _LIMIT * (style.levels == "layer"))
        lines = [weights[start : start + columns] for start in range(0, len(weights), columns)]
        pixels = [max(len(rows.pixels) for rows in line) for line in lines]
        in_tiles = [max(len(rows.pixels) * _aspect(rows, style)[1] for rows in line) for line in lines]
        gaps = [self.head + n * self.row_gap for n in pixels]
        fixed = sum(gaps) + s * (2 * _MARGIN + _BLOCK_ROW_GAP * (len(lines) - 1))
        space = style.width_mm - s * (2 * _MARGIN + _BAR_SPACE + _BLOCK_GAP * (columns - 1))
        self.tile_by_width = (space / columns - s * (_PIXEL_LABEL + _GAP * (depth - 1))) / depth
        by_height = ((style.height_mm or _TALLEST) - fixed) / sum(in_tiles)
        self.tile = min(self.tile_by_width, s * _LARGEST_TILE, by_height)
        filled = fixed + self.tile * sum(in_tiles)
        self.height = style.height_mm or filled
        self.block_width = depth * self.tile + s * (_PIXEL_LABEL + _GAP * (depth - 1))
        content = columns * self.block_width + s * (_BLOCK_GAP * (columns - 1) + _BAR_SPACE)
        self.left = (style.width_mm - content) / 2
        top = (self.height - filled) / 2 + s * _MARGIN
        heights = [gap + self.tile * n + s * _BLOCK_ROW_GAP for gap, n in zip(gaps, in_tiles, strict=True)]
        self.tops = list(accumulate(heights, initial=top))
        start, bottom = top + self.head, top + filled - 2 * s * _MARGIN - self.row_gap
        length = min(bottom - start, s * _BAR_LONGEST)
        x = self.left + content - s * (_BAR_SPACE - 2.5)
        self.bar = (x, (start + bottom - length) / 2, s * _BAR_WIDTH, length)


def _lay_out(weights: Sequence[WeightRows], style: Style) -> _Layout:
    """Return the layout of the figure. Two data sets are placed side by side if the figure is wide enough.

    Raises
    ------
    ValueError
        If the tiles would be too small to see.
    """
    if style.height_mm is not None:
        # Because the height of a slide is fixed, choose the arrangement with the largest tiles.
        layout = max((_Layout(weights, style, n + 1) for n in range(len(weights))), key=lambda each: each.tile)
    else:
        layout = _Layout(weights, style, min(2, len(weights)))
        if layout.columns == 2 and layout.tile_by_width < _SMALLEST_ABREAST:
            layout = _Layout(weights, style, 1)
    if layout.tile < 1.5:
        raise ValueError("too many pixels or layers for one figure; choose fewer of them, or a wider figure")
    return layout


def _aspect(rows: WeightRows, style: Style) -> tuple[float, float]:
    """Return the width and height of a tile, divided by the larger of the two."""
    if rows.image_shape is None:
        return 1.0, _BARS_ASPECT
    height, width = rows.image_shape[::-1] if style.transposed else rows.image_shape
    longest = max(height, width)
    # The lower bound makes the tile of an image visible even if the image is a narrow strip of pixels.
    return max(width / longest, 0.08), max(height / longest, 0.08)


def as_shown(weights: Sequence[WeightRows], show: str) -> tuple[list[WeightRows], bool]:
    """Return the values to draw in a figure, and True if they are contributions instead of weights.

    A contribution is a weight times the root mean square of its input pixel. A figure shows either weights or
    contributions for all its data sets. With "auto", it shows contributions if, in any data set, a few weights are so
    large that all others would be invisible.

    Parameters
    ----------
    show : {"auto", "weights", "contribution"}
    """
    if show == "weights" or (show == "auto" and not any(rows.drowned for rows in weights)):
        return list(weights), False
    return [replace(rows, rows=rows.rows * rows.rms) for rows in weights], True


def tile_limits(weights: Sequence[WeightRows], levels: str) -> list[NDArray[np.float64]]:
    """Return the colour limit of each tile. Weights of at least this absolute value have the strongest colour.

    If each tile has its own limit, it is the largest absolute weight near the reconstructed pixel (`nearby_peak`). If
    tiles share a limit, it is the maximum of these values over the tiles.

    Parameters
    ----------
    levels : {"tile", "layer", "global"}
        Tiles that share their limits: none, all tiles of one layer of one data set, or all tiles of the figure.

    Returns
    -------
    list of ndarray of shape (k, depth)
        The limits for each data set, with a row per pixel and a column per layer. Biases are ignored.
    """
    peaks = []
    for rows in weights:
        pairs = zip(rows.rows, rows.pixels, strict=True)
        peaks.append(
            np.array([[nearby_peak(row, pixel, rows.image_shape) for row in layers] for layers, pixel in pairs])
        )
    if levels == "tile":
        return peaks
    if levels == "layer":
        return [np.broadcast_to(peak.max(axis=0), peak.shape) for peak in peaks]
    highest = max(float(peak.max()) for peak in peaks)
    return [np.full_like(peak, highest) for peak in peaks]


def draw_weights(figure: "Figure", weights: Sequence[WeightRows], style: Style) -> None:
    """Draw the weight figure (the paper's Figure "Reconstruction weights at different layers").

    The style determines the size of the figure. Two data sets are placed side by side if the figure is wide enough.
    Each data set has one row of tiles per pixel and one column of tiles per layer. A thin ring marks the reconstructed
    pixel, and the middle of the colour map represents zero. Weights of features that are not pixels are drawn as bars.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    weights : sequence of WeightRows
        Rows of W for each data set, for one or more pixels and layers.
    style : Style
        Determines the width, the colours, their limits, and whether weights or contributions are drawn.

    Raises
    ------
    ValueError
        If there is nothing to draw, or if the tiles would be too small to see.
    """
    if not weights or any(rows.rows.size == 0 for rows in weights):
        raise ValueError("there is nothing to draw: at least one data set, pixel and layer are needed")
    weights, contributions = as_shown(weights, style.show)
    layout = _lay_out(weights, style)
    plot, s = Plot(figure, style, layout.height), style.scale
    space = layout.block_width - s * _PIXEL_LABEL
    # The names of all data sets have the same type size, at which even the longest name fits if possible.
    titles = [dataset_title(rows.dataset, rows.generated) for rows in weights]
    size = min(canvas.fitted(title, TITLE_SIZE * s, space, 5.0 * s, "bold")[1] for title in titles) / s
    limits = tile_limits(weights, style.levels)
    for number, (rows, of_tiles) in enumerate(zip(weights, limits, strict=True)):
        line, column = divmod(number, layout.columns)
        x = layout.left + column * (layout.block_width + s * _BLOCK_GAP) + s * _PIXEL_LABEL
        y = layout.tops[line]
        # The mark is never shortened, so that readers always see that the data were generated.
        mark = " (generated)" if rows.generated else ""
        room = space - canvas.width_mm(mark, size * s, "bold")
        name, _ = canvas.fitted(rows.dataset, size * s, room, size * s, "bold")
        plot.text(x, y + 2.6 * s, name + mark, size, weight="bold")
        noise = rows.parameters.noise
        noise_text = f"noise 1 − p = {level(noise)}, p = {level(1 - noise)}"
        plot.text(x, y + 5.4 * s, noise_text, SMALL_SIZE, space, color=MUTED)
        _draw_block(plot, layout, rows, of_tiles, (x, y + layout.head), style)
    _draw_color_bar(plot, layout.bar, weights, limits, contributions, style)


def _draw_block(
    plot: Plot, layout: _Layout, rows: WeightRows, limits: NDArray[np.float64], place: tuple[float, float], style: Style
) -> None:
    """Draw the tiles of a data set, with the top left corner at `place`, and the labels of its layers and pixels."""
    (x, y), s, tile = place, plot.scale, layout.tile
    lefts = [x + j * (tile + s * _GAP) for j in range(rows.depth)]
    for j, left in enumerate(lefts):
        bottom = y - 0.8 * s
        if style.levels == "layer":
            plot.text(left + tile / 2, bottom, _limit_text(limits[0, j]), SMALL_SIZE, tile, ha="center", color=MUTED)
            bottom -= _LIMIT * s
        plot.text(left + tile / 2, bottom, f"layer {j + 1}", TEXT_SIZE, tile, ha="center")
    w, h = (tile * part for part in _aspect(rows, style))
    for i in range(len(rows.pixels)):
        top = y + i * (h + layout.row_gap)
        first = x + (tile - w) / 2 - 0.9 * s
        name = _pixel_label(rows, i, style, h, s)
        plot.text(first, top + h / 2, name, SMALL_SIZE, h, rotation=90, va="center", ha="right", color=MUTED)
        for j, left in enumerate(lefts):
            _draw_tile(plot, rows, (left + (tile - w) / 2, top, w, h), (i, j), limits[i, j], style)


def _pixel_label(rows: WeightRows, index: int, style: Style, space: float, scale: float) -> str:
    """Return the label of a pixel or feature, such as “feature 3” if it has no name, or “3” if space is short."""
    names = [pixel_name(i, rows.image_shape, rows.feature_names, transposed=style.transposed) for i in rows.pixels]
    name = names[index] if canvas.width_mm(names[index], SMALLEST * scale) <= space else told_apart(names)[index]
    is_number = rows.image_shape is None and not rows.feature_names
    if is_number and canvas.width_mm(f"feature {max(rows.pixels)}", SMALL_SIZE * scale) <= space:
        return f"feature {name}"
    return name


def _draw_tile(plot: Plot, rows: WeightRows, box: Box, at: tuple[int, int], limit: float, style: Style) -> None:
    """Draw the tile of one row of W. `at` contains the indices of the pixel and of the layer, counted from 0."""
    (i, j), (x, y, w, h), s = at, box, plot.scale
    axes = plot.tile(box, f"{rows.dataset}, pixel {rows.pixels[i]}, layer {j + 1}")
    scale = ColorScale.symmetric(style.colors, limit)
    if rows.image_shape is None:
        _draw_features(axes, rows.rows[i, j], rows.pixels[i], scale, s)
    else:
        canvas.draw_image(axes, rows.rows[i, j].reshape(rows.image_shape), scale, style, stretch=True)
        _draw_ring(axes, divmod(rows.pixels[i], rows.image_shape[1]), max(rows.image_shape), scale, style)
    captions = [_limit_text(limit)] if style.levels == "tile" else []
    if style.bias:
        value = signed(float(rows.biases[i, j]))
        captions.append(f"bias {value}" if canvas.width_mm(f"bias {value}", SMALL_SIZE * s) <= w else f"b {value}")
    for line, text in enumerate(captions):
        below = y + h + (2.1 + _LINE * line) * s
        plot.text(x + w / 2, below, text, SMALL_SIZE, max(w, 6.0), ha="center", color=MUTED)


def _draw_ring(axes: "Axes", pixel: tuple[int, int], longest: int, scale: ColorScale, style: Style) -> None:
    from matplotlib.patches import Circle

    center = pixel if style.transposed else pixel[::-1]
    # The ring is dark if the colour of zero is pale, and white if that colour is dark. Its halo has the colour of zero.
    zero = scale.lut()[NEUTRAL] / 255.0
    for color, line in ((tuple(zero), 0.8), (INK if zero.mean() > 0.4 else "white", 0.4)):
        # The ring is not clipped, so that it is complete even at the border of the image.
        ring = Circle(
            center, max(0.8, 0.06 * longest), fill=False, edgecolor=color, linewidth=line * style.scale, clip_on=False
        )
        axes.add_patch(ring)


def _draw_features(axes: "Axes", values: NDArray[np.float64], feature: int, scale: ColorScale, size: float) -> None:
    down, up = _bar_colors(scale)
    canvas.draw_bars(axes, values, 1.1 * scale.high, size, np.where(values[:, None] < 0, down, up))
    axes.plot(
        [feature], [values[feature]], marker="o", markersize=2.2 * size, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=0.45 * size, linestyle="none", clip_on=False,
    )  # fmt: skip


def _bar_colors(scale: ColorScale) -> NDArray[np.float64]:
    """Return colours for negative and positive bars that differ clearly from the pale middle of the colour map."""
    return np.asarray(scale.lut()[[40, 215]] / 255.0)


def _draw_color_bar(
    plot: Plot,
    box: Box,
    weights: Sequence[WeightRows],
    limits: Sequence[NDArray[np.float64]],
    contributions: bool,
    style: Style,
) -> None:
    """Draw the colour bar. Its values are relative to the limit of each tile, unless all tiles share their limits.

    The ends of the colour bar are pointed if some values exceed the limits. It has only two colours if all tiles show
    bars.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    (x, y, w, h), s, shared = box, plot.scale, style.levels == "global"
    beyond = any((np.abs(rows.rows).max(axis=2) > each).any() for rows, each in zip(weights, limits, strict=True))
    scale = ColorScale.symmetric(style.colors, limits[0][0, 0] if shared else 1.0)
    shades = _bar_colors(scale) if all(rows.image_shape is None for rows in weights) else scale.lut()[1:] / 255.0
    colors = ScalarMappable(Normalize(scale.low, scale.high), ListedColormap(shades))
    axes = plot.bare_axes(box, "colour bar")
    point = _POINT * s / (h - 2 * _POINT * s)
    bar = plot.figure.colorbar(colors, cax=axes, extend="both" if beyond else "neither", extendfrac=point)
    bar.outline.set(linewidth=0.35 * s, edgecolor=PALE)
    assert bar.solids is not None
    bar.solids.set_edgecolor("face")  # edges hide light lines between the colours in vector files
    ticks = scale.ticks(5 if h > 9.0 * s else 3)  # The labels of more ticks would overlap.
    names = [scale.label(tick) for tick in ticks]
    bar.set_ticks(ticks, labels=names)
    widest = max(canvas.width_mm(name, SMALL_SIZE * s) for name in names)
    shrink = min(1.0, _LABEL_SPACE * s / widest)
    axes.tick_params(
        labelsize=SMALL_SIZE * s * shrink, length=1.6 * s, width=0.35 * s, pad=1.2 * s, color=MUTED, labelcolor=INK
    )
    measured = ("contribution (weight × RMS)", "contribution") if contributions else ("weight",)
    per = "" if shared else f" / limit of the {style.levels}"
    titles = [*(f"{name}{per}" for name in measured), *[f"{measured[-1]} / limit"] * bool(per)]
    title = next((each for each in titles if canvas.width_mm(each, SMALL_SIZE * s) <= h), titles[-1])
    right = x + w + widest * shrink + 3.6 * s
    plot.text(right, y + h / 2, title, SMALL_SIZE, h, rotation=90, va="center", ha="center", color=MUTED)


def _limit_text(limit: float) -> str:
    """Return a colour limit as text, such as ±0.25, with at least two significant digits."""
    if not limit or 0.1 <= limit < 100:
        return f"±{limit:.2f}"
    return f"±{limit:.2g}".replace("e-0", "e−").replace("e-", "e−").replace("e+0", "e")


def weights_export(weights: Sequence[WeightRows], sources: Sequence[DataSource]) -> FigureExport:
    """Return the export of the weight figure.

    Parameters
    ----------
    sources : sequence of DataSource
        Sources of the data sets in `weights`, in the same order.
    """
    fits = "".join(
        f"    weight_rows(fitted({source!r}, {rows.parameters!r}, {rows.fingerprint!r})[1], {rows.pixels!r}),\n"
        for rows, source in zip(weights, sources, strict=True)
    )
    imports = "from slide_gui.experiments.inspection.rows import weight_rows\n"
    imports += "from slide_gui.figures.weights import weights_export"
    script = imports, f"weights = [\n{fits}]\nexport = weights_export(weights, {list(sources)!r})"
    commands = partial(_weights_commands, weights, sources)
    return export_of("weights", weights, draw_weights, weights_csv, commands=commands, script=script)


def _weights_commands(weights: Sequence[WeightRows], sources: Sequence[DataSource], style: Style) -> str:
    """Return the command line that fits the same stacks and writes the same figure.

    The command line contains only the options for the first data set. All data sets must therefore have been read,
    split and fitted with the same options.
    """
    fit = fit_words(sources[0], weights[0].parameters)
    words: list[object] = ["weights", *(source.argument for source in sources), *fit]
    for rows in weights:
        words += ["--pixels", *(pixel_argument(pixel, rows.image_shape, rows.feature_names) for pixel in rows.pixels)]
    words += ["--show", style.show, *style_words(style), *["--bias"] * style.bias]
    return all_forms("weights", words)


# The noise levels of the pictures of `noise_animation`.
NOISES = tuple(round(0.05 * step, 2) for step in range(20))


def noise_animation(datasets: Sequence[Dataset], now: Sequence[WeightRows]) -> FigureExport:
    """Return the export of an animation of the weight figure over the noise levels in `NOISES`.

    If the style's `show` is "auto" and any picture needs contributions, all pictures show contributions. The layers are
    fitted when the animation is drawn.

    Parameters
    ----------
    now : sequence of WeightRows
        Rows of W for each data set at the current noise level, for figures without animation. The animation shows the
        same pixels and has the same parameters, except for the noise level.
    """

    def frames(style: Style, progress: Progress) -> list[partial[None]]:
        sets = []
        for (dataset, rows), part in progress.each(list(zip(datasets, now, strict=True))):
            sets.append(rows_by_noise(dataset, rows.parameters, rows.pixels, NOISES, part))
        weights = list(zip(*sets, strict=True))
        contributions = any(as_shown(each, style.show)[1] for each in weights)
        alike = replace(style, show="contribution" if contributions else "weights")
        return [partial(draw_weights, weights=each, style=alike) for each in weights]

    return export_of("weights-noise", now, draw_weights, weights_csv, frames=frames)
