"""Figure of two images of one class that become closer in kernel space (a figure the paper comments out)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from slide_gui.experiments.inspection.closeness import Closeness
from slide_gui.figures.canvas import MUTED, TEXT_SIZE, Plot, draw_bars, draw_image, line_color, marked_line
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import count, dataset_title, layer_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLOT = 42.0  # mm


def draw_closeness(figure: Figure, result: Closeness, style: Style) -> None:
    """Draw both images in each layer, and below them their distance relative to that from other classes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    """
    s, model = style.scale, result.model
    columns = result.layers.shape[1]
    left, right = 12.0 * s, 4.0 * s
    step = (style.width_mm - left - right) / columns
    side = min(step - 2.5 * s, 22.0 * s)
    if model.image_shape is None or style.height_mm is not None:
        side = min(side, 14.0 * s)
    top = 13.0 * s
    plot = Plot(figure, style, top + 2 * (side + 1.5 * s) + (_PLOT + 14.0) * s)
    second = f"two test images “{result.label}” with {result.common} lit pixels in common; noise 1 − p = "
    second += f"{model.stack.parameters.noise:g}, {columns - 1} layers"
    plot.title(f"{dataset_title(model.dataset, model.generated)}: closer in kernel space", second)
    names = ["x", *map(layer_name, range(1, columns))]
    for t, name in enumerate(names):
        x = left + (t + 0.5) * step - 0.5 * side
        plot.text(x, top - 0.9 * s, name, TEXT_SIZE)
        for i in range(2):
            axes = plot.tile((x, top + i * (side + 1.5 * s), side, side), f"{name} of image {i}")
            values = result.layers[i, t]
            if model.image_shape is None:
                draw_bars(axes, values, max(1.0, float(np.abs(values).max())), s)
            elif t == 0:
                draw_image(axes, values.reshape(model.image_shape), ColorScale("grey", 0.0, 1.0), style, ink=True)
            else:
                scale = ColorScale.symmetric(style.colors, 1.0)
                draw_image(axes, values.reshape(model.image_shape), scale, style)
    below = top + 2 * (side + 1.5 * s) + 3.0 * s
    axes = plot.axes((left, below, plot.width - left - right, plot.height - below - 13.0 * s), "distance")
    _draw_lines(axes, result, s)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_xticks(range(columns), names)
    plot.axis_titles(axes, "layer", "distance within the class ⁄\nto other classes")
    keys = (
        "the pair above",
        f"{count(result.n_few)} pairs of one class with equally few pixels in common",
        f"all {count(result.n_all)} pairs of one class (median, 10 to 90 %)",
    )
    for number, name in enumerate(keys):
        at = 2.0 * s + number * (plot.width - 4.0 * s) / 3 if plot.width > 150 * s else 2.0 * s
        down = 2.4 * s if plot.width > 150 * s else (6.6 - 2.4 * number) * s
        plot.key(at, plot.height - down, name, line_color(number))


def _draw_lines(axes: Axes, result: Closeness, s: float) -> None:
    x = np.arange(len(result.pair))
    for number, band in ((2, result.all), (1, result.few)):
        color = line_color(number)
        axes.fill_between(x, band[0], band[2], color=color, alpha=0.15, linewidth=0)
        marked_line(axes, x, band[1], color, s)
    axes.plot(x, result.pair, color=line_color(0), linewidth=1.4 * s, marker="o", markersize=3.0 * s, markeredgewidth=0)
    axes.axhline(1.0, color=MUTED, linewidth=0.6 * s, linestyle=(0, (3, 2)))
    axes.annotate(
        "as far as to other classes", (-0.46, 1.0), (0, -2.0 * s), textcoords="offset points", va="top",
        fontsize=4.5 * s, color=MUTED,
    )  # fmt: skip
    axes.set_ylim(bottom=0.0)


def closeness_csv(path: str | os.PathLike[str], result: Closeness) -> None:
    """Write one line per layer.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    title = dataset_title(result.model.dataset, result.model.generated)
    head = ["dataset", "test rows", "layer", "pair"]
    head += [f"{kind} pairs {level} %" for kind in ("few in common", "all") for level in (10, 50, 90)]
    rows = [
        [
            title, f"{result.rows[0]} {result.rows[1]}", t, float(result.pair[t]),
            *result.few[:, t].tolist(), *result.all[:, t].tolist(),
        ]
        for t in range(len(result.pair))
    ]  # fmt: skip
    save_table(path, head, rows)
