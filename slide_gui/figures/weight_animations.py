"""The weight figure in motion, for talks: against the noise, and from layer to layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slide_gui.core.choices import Choice, table_of
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.rows import WeightRows, rows_by_noise
from slide_gui.figures.animation import Frame
from slide_gui.figures.canvas import fitted, width_mm
from slide_gui.figures.export import FigureExport, weights_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import (
    BAR_ROOM,
    INK,
    MUTED,
    Box,
    Canvas,
    as_shown,
    aspect_of,
    draw_color_bar,
    draw_tile,
    draw_weights,
    limit_text,
    noise_text,
    tile_limits,
)
from slide_gui.progress import Progress
from slide_gui.text import dataset_title, pixel_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANIMATIONS = table_of(
    Choice("noise", "the weights against the noise", "one weight figure a noise, 0 to 0.95 in steps of 0.05"),
    Choice("layers", "the layers one by one", "the rows of one layer after the other, in the same place"),
)
"""What can be animated of rows of W."""

NOISES = tuple(round(0.05 * step, 2) for step in range(20))
"""Of the pictures of `noise_animation`."""

_SECONDS, _LAST_SECONDS, _LAYER_SECONDS = 0.25, 1.5, 1.0
_MARGIN, _GAP, _HEAD, _CAPTION, _LARGEST_TILE = 2.0, 2.0, 11.0, 5.0, 44.0
_MOST_ABREAST = 5
_TITLE_SIZE, _LAYER_SIZE, _SMALL_SIZE = 7.0, 9.0, 5.0


def noise_animation(
    datasets: Sequence[Dataset], parameters: StackParameters, pixels: Sequence[Sequence[int]], now: Sequence[WeightRows]
) -> FigureExport:
    """Return the weight figure at one noise of `NOISES` after the other.

    Weights or contributions, what one picture needs all show.

    Parameters
    ----------
    parameters : StackParameters
        All but the noise; the stacks are fitted when the pictures are made.
    pixels : sequence of sequences of int
        For each data set the features that are shown.
    now : sequence of WeightRows
        Of each data set, for a picture that stands still.
    """

    def frames(style: Style, progress: Progress) -> list[Frame]:
        sets = [
            rows_by_noise(
                dataset, parameters, chosen, NOISES, progress.part(n / len(datasets), (n + 1) / len(datasets))
            )
            for n, (dataset, chosen) in enumerate(zip(datasets, pixels, strict=True))
        ]
        weights = [list(each) for each in zip(*sets, strict=True)]
        contributions = any(as_shown(each, style.show)[1] for each in weights)
        show = "contribution" if contributions else "weights"
        seconds = [_SECONDS] * (len(weights) - 1) + [_LAST_SECONDS]
        return [_weights_frame(each, show, time) for each, time in zip(weights, seconds, strict=True)]

    return FigureExport(
        "weights-noise",
        lambda figure, style: draw_weights(figure, now, style),
        lambda path: weights_csv(path, now),
        frames=frames,
    )


def _weights_frame(weights: Sequence[WeightRows], show: str, seconds: float) -> Frame:
    return Frame(lambda figure, style: draw_weights(figure, weights, replace(style, show=show)), seconds)


def layers_animation(rows: WeightRows) -> FigureExport:
    """Return one layer after the other, as `draw_layer` draws it."""

    def frames(_style: Style, _progress: Progress) -> list[Frame]:
        return [_layer_frame(rows, layer) for layer in range(1, rows.depth + 1)]

    return FigureExport(
        "weights-layers",
        lambda figure, style: draw_layer(figure, rows, rows.depth, style),
        lambda path: weights_csv(path, [rows]),
        frames=frames,
    )


def _layer_frame(rows: WeightRows, layer: int) -> Frame:
    return Frame(lambda figure, style: draw_layer(figure, rows, layer, style), _LAYER_SECONDS)


def draw_layer(figure: Figure, rows: WeightRows, layer: int, style: Style) -> None:
    """Draw the rows of one layer, one tile per pixel, with colours and limits as in the weight figure of all layers.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure; gets its size from the style.
    layer : int
        1 to the depth.

    Raises
    ------
    ValueError
        As `slide_gui.figures.weights.as_shown`.
    """
    (shown,), contributions = as_shown([rows], style.show)
    s, n = style.scale, len(rows.pixels)
    abreast = n if n <= _MOST_ABREAST else math.ceil(math.sqrt(1.8 * n))
    lines = math.ceil(n / abreast)
    w, h = aspect_of(shown, style.transposed)
    room = style.width_mm - s * (2 * _MARGIN + BAR_ROOM)
    tile = min((room - (abreast - 1) * s * _GAP) / abreast, s * _LARGEST_TILE)
    below = s * _CAPTION * (1 + style.bias * 0.6)
    if style.height_mm is not None:
        tile = min(tile, ((style.height_mm - s * (_HEAD + 2 * _MARGIN)) / lines - below) / h)
    height = style.height_mm or lines * (tile * h + below) + s * (_HEAD + 2 * _MARGIN)
    canvas = Canvas(figure, style.width_mm, height, s)
    content = abreast * tile + (abreast - 1) * s * _GAP
    left = (style.width_mm - content - s * BAR_ROOM) / 2
    top = (height - lines * (tile * h + below) - s * _HEAD) / 2
    limits = tile_limits([shown], style.levels)[0]
    _draw_head(canvas, shown, layer, float(limits[0, layer - 1]), Box(left, top, content, s * _HEAD), style)
    for i, pixel in enumerate(shown.pixels):
        x = left + (i % abreast) * (tile + s * _GAP) + (tile - tile * w) / 2
        y = top + s * _HEAD + (i // abreast) * (tile * h + below)
        box = Box(x, y, tile * w, tile * h)
        draw_tile(canvas, shown, box, (i, layer - 1), float(limits[i, layer - 1]), style)
        name = pixel_name(pixel, shown.image_shape, shown.feature_names, transposed=style.transposed)
        captions = int(style.levels == "tile") + style.bias
        canvas.text_within(x + box.w / 2, y + box.h + (2.1 + 2.35 * captions) * s, name, _SMALL_SIZE, tile, ha="center")
    tall = lines * (tile * h + below) - below
    bar = Box(left + content + s * 2.5, top + s * _HEAD + tall * 0.1, s * 2.2, tall * 0.8)
    highest = float(tile_limits([shown], "global")[0][0, 0])
    beyond = bool((np.abs(shown.rows).max(axis=2) > limits).any())
    draw_color_bar(canvas, bar, highest, style, beyond, contributions)


def _draw_head(canvas: Canvas, rows: WeightRows, layer: int, limit: float, box: Box, style: Style) -> None:
    s = canvas.scale
    number = f"layer {layer} of {rows.depth}"
    numbered = width_mm(number, _LAYER_SIZE * s, "bold")
    canvas.text(box.x + box.w, box.y + 4.0 * s, number, _LAYER_SIZE * s, ha="right", weight="bold")
    name = dataset_title(rows.dataset, rows.generated)
    name, size = fitted(name, _TITLE_SIZE * s, box.w - numbered - 2 * s, "bold", 5.0 * s)
    canvas.text(box.x, box.y + 4.0 * s, name, size, weight="bold", color=INK)
    said = noise_text(rows)
    if style.levels == "layer":
        said += f", limits {limit_text(limit)}"
    canvas.text_within(box.x, box.y + 7.6 * s, said, _SMALL_SIZE, box.w, color=MUTED)
