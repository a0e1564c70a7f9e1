"""Figure of weights W_m fitted to m corrupted copies, and of their limit W for infinitely many copies.

The figure shows the error of W_m against m, and one row of W_m and W.
"""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.closed_form import CopiesResult
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures import canvas
from slide_gui.figures.canvas import MUTED, SMALL_SIZE, TEXT_SIZE, Box, Plot
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.export import FigureExport, export_of, pixel_argument, reproducible
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import count, counted, dataset_title, fixed, noise_and_keep, pixel_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TILES = 0.3  # height of the tiles of square images, divided by the width of the figure


def draw_copies(figure: "Figure", result: CopiesResult, style: Style) -> None:
    """Draw ‖W_m − W‖ / ‖W‖ against m on logarithmic axes, above one row of W_m, of W and of their difference.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    result : CopiesResult
        A result for at least one number of copies.
    """
    copies, model = result.copies, result.model
    s, width = style.scale, style.width_mm
    tiles = min(_TILES * width, 0.42 * (style.height_mm or math.inf))
    plot = Plot(figure, style, 0.5 * width + tiles + 21.0 * s)
    pixel = pixel_name(result.feature, model.image_shape, model.feature_names, transposed=style.transposed)
    row, _ = canvas.fitted(f"row {pixel}", SMALL_SIZE * s, 0.35 * width, SMALL_SIZE * s)
    sample = f" of {count(copies.n_all)}, also for W" if copies.n_rows < copies.n_all else ""
    plot.title(
        f"{dataset_title(model.dataset, model.generated)}: weights fitted to m corrupted copies",
        f"layer {copies.layer}, {noise_and_keep(copies.noise)}; {count(copies.n_rows)} rows{sample}; "
        f"geometric mean over {counted(copies.seeds, 'seed')}",
    )
    names = ["all rows", row]
    left, top = 11.0 * s, 10.5 * s
    height = plot.height - top - tiles - 19.0 * s
    box = (left, top, width - left - canvas.label_width([*names, "slope −0.50"], s), height)
    axes = plot.axes(box, "error against copies")
    ends = []
    colors = canvas.line_color(5), canvas.line_color(4)
    for name, feature, color in zip(names, (None, result.feature), colors, strict=True):
        curve, slope = copies.curve(feature), copies.slope(feature)
        reference = copies.reference(feature)
        if curve:
            m, mean, low, high = (np.array(column) for column in zip(*curve, strict=True))
            canvas.marked_line(axes, m, mean, color, s)
            axes.vlines(m, low, high, color=color, linewidth=0.7 * s)
            if reference is not None:
                axes.plot(m, reference / np.sqrt(m), color=color, linewidth=0.6 * s, linestyle=(0, (4, 3)))
            ends.append((curve[-1][1], name if slope is None else f"{name}\nslope {fixed(slope, 2)}", color))
    _set_scales(axes, [point.copies for point in copies.points])
    plot.axis_titles(axes, "corrupted copies m (dashed: c/√m)", "‖Wₘ − W‖ / ‖W‖")
    plot.end_labels(axes, box, ends)
    _draw_tiles(plot, result, style, (2.0 * s, plot.height - tiles - 4.5 * s, width - 4.0 * s, tiles))


def _set_scales(axes: "Axes", counts: Sequence[int]) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    shown = counts[:: 1 if len(counts) < 7 else 2]
    axes.set_xticks(shown, [count(m) for m in shown])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=30))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.minorticks_off()
    axes.set_xlim(0.85 * counts[0], 1.2 * counts[-1])


def _draw_tiles(plot: Plot, result: CopiesResult, style: Style, box: Box) -> None:
    s, shape = plot.scale, result.model.image_shape
    limit_row, estimate = result.copies.limit[result.feature], result.point.weights[result.feature].astype(np.float64)
    peak = nearby_peak(limit_row[:-1], result.feature, shape)
    scale = ColorScale.symmetric(style.colors, peak)
    error = float(result.point.row_errors[0, result.feature])
    x, y, w, h = box
    gap = 4.0 * s
    wide = (w - 2 * gap) / 3
    for number, (title, values, below) in enumerate(
        (
            (f"Wₘ, m = {result.shown}, seed 0", estimate, ""),
            (f"W, the limit (±{peak:.2g})", limit_row, ""),
            ("Wₘ − W, same limits", estimate - limit_row, f"relative error {error:.3g}"),
        )
    ):
        at = x + number * (wide + gap)
        plot.text(at, y - 1.0 * s, title, TEXT_SIZE, wide)
        axes = plot.tile((at, y, wide, h), title)
        plot.text(at, y + h + 2.2 * s, below, SMALL_SIZE, color=MUTED)
        if shape is None:
            canvas.draw_bars(axes, values[:-1], scale.high, s)
        else:
            canvas.draw_image(axes, values[:-1].reshape(shape), scale, style)


def copies_csv(path: str | os.PathLike[str], result: CopiesResult) -> None:
    """Write the errors of W_m as a CSV table: one line for each seed and number of corrupted copies.

    The columns contain the error of the whole matrix, the name or index of the feature whose row is displayed, and the
    error of this row.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    copies, model = result.copies, result.model
    feature = model.feature_names[result.feature] if model.feature_names else result.feature
    head = ["dataset", "layer", "noise", "rows", "rows of the data", "m", "seed", "relative error", "feature"]
    same = [dataset_title(model.dataset, model.generated), copies.layer, copies.noise, copies.n_rows, copies.n_all]
    rows = [
        [*same, point.copies, seed, float(error), feature, float(point.row_errors[seed, result.feature])]
        for point in copies.points
        for seed, error in enumerate(point.errors)
    ]
    save_table(path, [*head, "relative error of its row"], rows)


def copies_export(result: CopiesResult, source: DataSource) -> FigureExport:
    """Return the export of a study of corrupted copies.

    Parameters
    ----------
    result : CopiesResult
        A result that contains the errors of all seeds for each number of copies.
    source : DataSource
        Source of the data to which the layers were fitted.
    """
    copies, model, most = result.copies, result.model, result.copies.points[-1].copies
    imports = "from slide_gui.experiments.inspection.closed_form import CopiesResult, CopiesStudy\n"
    imports += "from slide_gui.figures.copies import copies_export"
    body = f"study = CopiesStudy(model.stack, dataset.train, {copies.layer}, seeds={copies.seeds}, most={most}, "
    body += f"most_rows={copies.n_rows})\n"
    body += f"export = copies_export(CopiesResult(model, study.run(), {result.feature}, {result.shown}), {source!r})"
    words = ["--layer", copies.layer, "--most", most, "--shown", result.shown, "--seeds", copies.seeds]
    pixel = pixel_argument(result.feature, model.image_shape, model.feature_names)
    words += ["--rows", copies.n_rows, "--pixel", pixel]
    return reproducible(export_of("copies", result, draw_copies, copies_csv), model, source, words, (imports, body))
