"""The paper’s diagram of the layers for a real image: x, x̃, T(hᵏ⁻¹) and hᵏ, connected by arrows, with errors."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.experiments.files.source import DataSource, image_text
from slide_gui.experiments.inspection.flow import FlowResult
from slide_gui.figures.canvas import MUTED, SMALL_SIZE, TEXT_SIZE, Plot, draw_bars, draw_image
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.export import FigureExport, export_of, reproducible
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import counted, dataset_title, layer_name, mean_square, noise_and_keep, power

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Sizes in mm: gap between columns, gap between rows, height of a title, and height of a line of a caption.
_GAP, _DOWN, _HEAD, _LINE = 6.0, 9.0, 3.0, 2.4
_FLATTEST, _BARS = 2.0, 0.5  # height-to-width ratios of tiles: maximum for images, and value for bars


def draw_flow(figure: "Figure", result: FlowResult, style: Style) -> None:
    """Draw one image and its representations in all layers.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    result : FlowResult
        The representations of one image in one or more layers.
    style : Style
        If `levels` is "tile", each hᵏ has its own colour limits. Otherwise, the limits of all hᵏ are ±1, or wider if
        values of the input exceed ±1.
    """
    flow, model, seed = result.flow, result.model, result.seed
    s, columns = style.scale, len(flow.layers) + 1
    wide = (style.width_mm - 4.0 * s - (columns - 0.4) * _GAP * s) / columns
    high = wide * _height(model.image_shape, style.transposed)
    top = 12.5 * s
    second = top + high + _LINE * s + _DOWN * s + _HEAD * s
    plot = Plot(figure, style, second + high + (2 * _LINE + 4.5) * s)
    if style.height_mm is not None and second + high + 9.5 * s > style.height_mm:
        shrink = (style.height_mm - top - (_DOWN + _HEAD + _LINE + 10.0) * s) / (2 * high)
        wide, high = wide * shrink, high * shrink
        second = top + high + (_LINE + _DOWN + _HEAD) * s
    noise = noise_and_keep(model.stack.parameters.noise)
    words = f", not corrupted; fitted with {noise}" if seed is None else f"; {noise}, corruption seed {seed}"
    data = dataset_title(model.dataset, model.generated)
    noun, limited = ("row", "axis") if model.image_shape is None else ("image", "colour")
    plot.title(f"{data}: one {noun} through {counted(columns - 1, 'layer')}", result.image + words)
    painter = _Painter(plot, result, style, wide, high)
    for column in range(columns):
        painter.column(column, (2.0 + column * _GAP) * s + column * wide, top, second)
    limits = "± largest value" if style.levels == "tile" else f"±{painter.limit:g}"
    plot.note(
        "below hᵏ: mean squared difference from hᵏ⁻¹ and from x; "
        f"{limited} limits of {'T, ' * painter.is_signed}hᵏ and of tiles with negative values: {limits}"
    )


def _height(shape: tuple[int, int] | None, transposed: bool) -> float:
    """Return the height-to-width ratio of a tile for an image of this shape, or for bars if `shape` is None."""
    if shape is None:
        return _BARS
    rows, columns = shape[::-1] if transposed else shape
    return min(rows / columns, _FLATTEST)


class _Painter:
    """Draws the two rows of tiles and the arrows between them. All tiles have the same size."""

    def __init__(self, plot: Plot, result: FlowResult, style: Style, wide: float, high: float) -> None:
        self._plot, self._result, self._style = plot, result, style
        self._wide, self._high = wide, high
        self.limit = max(1.0, float(np.abs(result.flow.clean).max(initial=0.0)))
        # If T has negative values in any layer, the tiles of T have the colours of hᵏ in all layers, as in the window.
        self.is_signed = any(layer.squashed.min() < 0.0 for layer in result.flow.layers)

    def column(self, k: int, x: float, top: float, second: float) -> None:
        """Draw the two tiles of the input (k = 0) or of layer k, and the arrows that begin at these tiles."""
        flow, s = self._result.flow, self._plot.scale
        corrupted = self._result.seed is not None
        entered = "x̃" if corrupted else "x"
        # Negative values need limits that are symmetric about zero. A scale of greys from 0 to 1 would hide them.
        limit = self._limit_of(flow.clean) if flow.clean.min() < 0.0 else None
        if k == 0:
            self._tile(x, top, "x", flow.clean, limit)
            line = f"{mean_square(flow.corruption_error)} from x" if corrupted else "not corrupted"
            self._tile(x, second, entered, np.where(flow.survivors, flow.corrupted, np.nan), limit, line)
            down = "corrupt" if corrupted else ""
        else:
            layer, below = flow.layers[k - 1], layer_name(k - 1) if k > 1 else entered
            lines = [f"{mean_square(layer.target_error)} from {below}"] if k > 1 else []
            limit = self._limit_of(layer.squashed) if self.is_signed else None
            # Without a limit, the bars of T would be drawn on the axis of x, whose values may be much larger.
            if limit is None and self._result.model.image_shape is None:
                limit = float(np.abs(layer.squashed).max(initial=1.0))
            self._tile(x, top, f"T({below})", layer.squashed, limit)
            lines.append(f"{mean_square(layer.input_error)} from x")
            self._tile(x, second, layer_name(k), layer.output, self._limit_of(layer.output), *lines)
            down = power("W", k)
        middle, between = x + 0.5 * self._wide, 0.5 * (top + self._high + second) - 0.8 * s
        self._arrow((middle, top + self._high + 1.4 * s), (middle, second - _HEAD * s - 0.6 * s))
        self._plot.text(middle + 1.2 * s, between, down, SMALL_SIZE, 0.5 * self._wide + (0.5 * _GAP - 1.5) * s)
        if k < len(flow.layers):
            half, right = 0.5 * self._high, x + self._wide
            turn, stop = right + 0.5 * _GAP * s, right + (_GAP - 0.5) * s
            self._arrow((right + 0.6 * s, second + half), (turn, second + half), (turn, top + half), (stop, top + half))
            self._plot.text(turn + 0.7 * s, between, "T", SMALL_SIZE)

    def _limit_of(self, values: NDArray[Any]) -> float:
        """Return the colour limit of a tile with these values: their largest magnitude, or the shared limit."""
        return float(np.abs(values).max(initial=0.0)) if self._style.levels == "tile" else self.limit

    def _tile(
        self, x: float, y: float, title: str, values: NDArray[Any], limit: float | None = None, *lines: str
    ) -> None:
        """Draw a tile with lines of text below it.

        If `limit` is given, the colour map is that of the style. Otherwise it is grey, and high values are dark.
        """
        plot, style, s = self._plot, self._style, self._plot.scale
        plot.text(x, y - 0.9 * s, title, TEXT_SIZE)
        axes = plot.tile((x, y, self._wide, self._high), f"{title} at {x:.1f}")
        shape = self._result.model.image_shape
        if shape is None:
            draw_bars(axes, np.nan_to_num(values), self.limit if limit is None else limit, s)
        elif limit is None:
            draw_image(axes, values.reshape(shape), ColorScale("grey", 0.0, 1.0), style, ink=True)
        else:
            draw_image(axes, values.reshape(shape), ColorScale.symmetric(style.colors, limit), style)
        for line, text in enumerate(lines):
            at = y + self._high + (2.1 + _LINE * line) * s
            space = min(self._wide + 0.8 * _GAP * s, plot.width - x - 0.5 * s)
            plot.text(x, at, text, SMALL_SIZE, space, 3.5, color=MUTED)

    def _arrow(self, *points: tuple[float, float]) -> None:
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        plot = self._plot
        path = Path([(x / plot.width, 1 - y / plot.height) for x, y in points])
        plot.figure.add_artist(
            FancyArrowPatch(
                path=path, arrowstyle="-|>", mutation_scale=4.5 * plot.scale, linewidth=0.5 * plot.scale, color=MUTED,
                transform=plot.figure.transFigure, joinstyle="miter", capstyle="butt",
            )
        )  # fmt: skip


def flow_csv(path: str | os.PathLike[str], result: FlowResult) -> None:
    """Write the values as a CSV table, with one line for each of x, x̃, T(hᵏ⁻¹) and hᵏ, including the errors.

    The values are in the columns v_0, v_1, … or v_ followed by a feature name.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    flow = result.flow
    head = ["dataset", "image", "corruption seed", "stage", "error from the layer below", "error from x"]
    same: list[object] = [dataset_title(result.model.dataset, result.model.generated), result.image, result.seed]
    rows: list[list[object]] = [
        [*same, "x", None, 0.0, *flow.clean.tolist()],
        [*same, "entered", None, flow.corruption_error, *flow.corrupted.tolist()],
    ]
    for k, layer in enumerate(flow.layers, start=1):
        rows.append([*same, f"T(h{k - 1})", None, None, *layer.squashed.tolist()])
        rows.append([*same, f"h{k}", layer.target_error, layer.input_error, *layer.output.tolist()])
    names = result.model.feature_names or range(flow.clean.size)
    save_table(path, head + [f"v_{name}" for name in names], rows)


_IMAGE = "flow-image.csv"


def flow_export(result: FlowResult, source: DataSource) -> FigureExport:
    """Return the export of the figure that shows one image in all layers.

    Parameters
    ----------
    source : DataSource
        Source of the data to which the layers were fitted.
    """
    imports = "from slide_gui.experiments.inspection.flow import flow_result\n"
    imports += "from slide_gui.experiments.files.source import read_image\n"
    imports += "from slide_gui.figures.flow import flow_export"
    body = f"image = read_image(HERE / {_IMAGE!r})\n"
    body += f"export = flow_export(flow_result(model, image, {result.image!r}, {result.seed!r}), {source!r})"
    corruption = ["--clean"] if result.seed is None else ["--corruption", result.seed]
    words = ["--image", _IMAGE, f"--name={result.image}", *corruption]
    export = export_of("flow", result, draw_flow, flow_csv, extra={_IMAGE: image_text(result.flow.clean)})
    return reproducible(export, result.model, source, words, (imports, body))
