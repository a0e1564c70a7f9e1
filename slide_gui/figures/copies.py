"""Figure of W_m of m corrupted copies and its limit W: the error by m, and one row of each."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.copies import CopiesResult
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.canvas import (
    INK,
    MUTED,
    SMALL_SIZE,
    TEXT_SIZE,
    Plot,
    fitted,
    label_room,
    line_color,
    marked_line,
)
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.export import FigureExport, all_forms, export_of, fit_words, fitted_call, script_of, style_words
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import count, dataset_title, fixed, pixel_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FRAME = "#B4B8C0"
_ENLARGE = 8
_TILES = 0.3  # height of the row of tiles divided by the figure's width, for square images


def draw_copies(figure: Figure, result: CopiesResult, style: Style) -> None:
    """Draw ‖W_m − W‖ / ‖W‖ against m on logarithmic axes, above one row of W_m, of W and of their difference.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    result : CopiesResult
        A result with at least one point.

    Raises
    ------
    ValueError
        If there is no point.
    """
    copies, model = result.copies, result.model
    if not copies.points:
        raise ValueError("there is nothing to draw: at least one m is needed")
    s, width = style.scale, style.width_mm
    tiles = min(_TILES * width, 0.42 * (style.height_mm or math.inf))
    plot = Plot(figure, style, 0.5 * width + tiles + 21.0 * s)
    row = f"row {pixel_name(result.feature, model.image_shape, model.feature_names)}"
    row, _ = fitted(row, SMALL_SIZE * s, 0.35 * width, smallest=SMALL_SIZE * s)
    if copies.n_rows == copies.n_all:
        rows = f"{count(copies.n_rows)} rows"
    else:
        rows = f"{count(copies.n_rows)} rows of {count(copies.n_all)}, also for W"
    plot.title(
        f"{dataset_title(model.dataset, model.generated)}: m corrupted copies against their limit",
        f"layer {copies.layer}, noise 1 − p = {copies.noise:g}; {rows}; mean of {copies.seeds} seeds",
    )
    names = ["all rows", row]
    left, top = 11.0 * s, 10.5 * s
    high = plot.height - top - tiles - 19.0 * s
    box = (left, top, width - left - label_room([*names, _slope_text(-0.5)], s), high)
    axes = plot.axes(box, "error against copies")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ends = []
    for number, (name, feature) in enumerate(zip(names, (None, result.feature), strict=True)):
        last = _draw_line(axes, result, feature, line_color(5 - number), s)
        slope = copies.slope(feature)
        if last is not None:
            ends.append((math.log(last), name, "" if slope is None else _slope_text(slope), line_color(5 - number)))
    _axes(axes, result)
    plot.axis_titles(axes, "corrupted copies m (dashed: c/√m)", "‖Wₘ − W‖ / ‖W‖")
    _end_labels(plot, axes, box, ends)
    _draw_tiles(plot, result, style, (2.0 * s, plot.height - tiles - 4.5 * s, width - 4.0 * s, tiles))


def _slope_text(slope: float) -> str:
    return "slope {slope}".format(slope=f"{slope:.2f}".replace("-", "−"))


def _draw_line(axes: Axes, result: CopiesResult, feature: int | None, color: str, s: float) -> float | None:
    """Draw one series and return its last mean."""
    curve, reference = result.copies.curve(feature), result.copies.reference(feature)
    if not curve:
        return None
    m, mean, low, high = (np.array(column) for column in zip(*curve, strict=True))
    marked_line(axes, m, mean, color, s)
    axes.vlines(m, low, high, color=color, linewidth=0.7 * s)
    if reference is not None:
        line = reference / np.sqrt(m)
        axes.plot(m, line, color=color, linewidth=0.6 * s, linestyle=(0, (4, 3)))
    return float(mean[-1])


def _axes(axes: Axes, result: CopiesResult) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    counts = [point.copies for point in result.copies.points]
    step = 1 if len(counts) < 7 else 2
    axes.xaxis.set_major_locator(FixedLocator([float(m) for m in counts[::step]]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: fixed(value, 0)))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=30))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)
    axes.set_xlim(0.85 * counts[0], 1.2 * counts[-1])


def _end_labels(
    plot: Plot, axes: Axes, box: tuple[float, float, float, float], ends: list[tuple[float, str, str, str]]
) -> None:
    """Write names and slopes at the line ends, without overlaps."""
    x, y, w, h = box
    low, high = (math.log(limit) for limit in axes.get_ylim())
    gap = 2.6 * plot.scale
    places: list[float] = []
    for value, name, slope, color in sorted(ends, key=lambda end: -end[0]):
        at = y + h * (1 - (value - low) / (high - low))
        at = max(at, places[-1] + gap) if places else at
        places.append(at)
        for line, words in enumerate(filter(None, (name, slope))):
            plot.text(x + w + 3.0 * plot.scale, at + line * 2.3 * plot.scale, words, SMALL_SIZE, va="center")
        plot.text(x + w + 1.2 * plot.scale, at, "●", SMALL_SIZE, color=color, va="center")
        places[-1] += 2.3 * plot.scale if slope else 0.0


def _draw_tiles(plot: Plot, result: CopiesResult, style: Style, box: tuple[float, float, float, float]) -> None:
    s = plot.scale
    limit_row, estimate = result.copies.limit[result.feature], result.point.weights[result.feature].astype(np.float64)
    shape = result.model.image_shape
    peak = nearby_peak(limit_row[:-1], result.feature, shape)
    scale = ColorScale.symmetric(style.colors, peak)
    error = float(result.point.row_errors[0, result.feature])
    titles = (
        (f"Wₘ, m = {result.shown}, seed 0", estimate, ""),
        (f"W, the limit (±{peak:.2g})", limit_row, ""),
        ("Wₘ − W, same limits", estimate - limit_row, f"relative error {error:.3g}"),
    )
    x, y, w, h = box
    gap = 4.0 * s
    wide = (w - 2 * gap) / 3
    for number, (title, values, below) in enumerate(titles):
        at = x + number * (wide + gap)
        text, size = fitted(title, TEXT_SIZE * s, wide, smallest=4.0 * s)
        plot.text(at, y - 1.0 * s, text, size / s)
        axes = plot.tile((at, y, wide, h), title)
        _draw_row(axes, values[:-1], shape, scale, style, s)
        plot.text(at, y + h + 2.2 * s, below, SMALL_SIZE, color=MUTED)


def _draw_row(
    axes: Axes, values: NDArray[Any], shape: tuple[int, int] | None, scale: ColorScale, style: Style, s: float
) -> None:
    if shape is None:
        axes.bar(np.arange(values.size), values, width=0.8, color=INK, linewidth=0)
        axes.axhline(0.0, color=_FRAME, linewidth=0.35 * s)
        axes.set_xlim(-1.0, values.size)
        axes.set_ylim(1.1 * scale.low, 1.1 * scale.high)
        return
    image = values.reshape(shape)
    shown = image.T if style.transposed else image
    pixels = scale.lut()[scale.indices(shown)].repeat(_ENLARGE, axis=0).repeat(_ENLARGE, axis=1)
    axes.imshow(pixels, interpolation="none", aspect="equal")
    axes.set_anchor("NW")


def copies_csv(path: str | os.PathLike[str], result: CopiesResult) -> None:
    """Write the errors as a table: one line per number of copies and seed, over all rows and of the displayed row.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    copies = result.copies
    head = ["dataset", "layer", "noise", "rows", "rows of the data", "m", "seed", "relative error", "feature"]
    same = [
        dataset_title(result.model.dataset, result.model.generated),
        copies.layer,
        copies.noise,
        copies.n_rows,
        copies.n_all,
    ]
    rows = [
        [*same, point.copies, seed, float(error), result.feature, float(point.row_errors[seed, result.feature])]
        for point in copies.points
        for seed, error in enumerate(point.errors)
    ]
    save_table(path, [*head, "relative error of its row"], rows)


def copies_export(result: CopiesResult, source: DataSource) -> FigureExport:
    """Return the export of a study of copies.

    Parameters
    ----------
    result : CopiesResult
        A result whose points all include every seed.
    source : DataSource
        Source of the data of the fit.
    """
    return export_of(
        "copies",
        result,
        draw_copies,
        copies_csv,
        commands=lambda style: _commands(result, source, style),
        script=lambda style: _script(result, source, style),
    )


def _script(result: CopiesResult, source: DataSource, style: Style) -> str:
    copies = result.copies
    most = copies.points[-1].copies
    return script_of(
        "copies",
        style,
        imports="from slide_gui.experiments.inspection.copies import CopiesResult, CopiesStudy\n"
        "from slide_gui.figures.copies import copies_export",
        body=f"dataset, model = {fitted_call(result.model, source)}\n"
        f"study = CopiesStudy(model.stack, dataset.train, {copies.layer}, seeds={copies.seeds}, most={most}, "
        f"most_rows={copies.n_rows})\n"
        f"export = copies_export(CopiesResult(model, study.run(), {result.feature}, {result.shown}), {source!r})",
    )


def _commands(result: CopiesResult, source: DataSource, style: Style) -> str:
    copies, shape = result.copies, result.model.image_shape
    pixel = str(result.feature) if shape is None else "{},{}".format(*divmod(result.feature, shape[1]))
    words: list[object] = ["copies", source.argument, *fit_words(source, result.model.stack.parameters)]
    words += ["--layer", copies.layer, "--most", copies.points[-1].copies, "--shown", result.shown]
    words += ["--seeds", copies.seeds, "--rows", copies.n_rows, "--pixel", pixel]
    return all_forms("copies", [*words, *style_words(style)])
