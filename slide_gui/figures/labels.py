"""Semi-supervised use: error against the number of labels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slide_gui.experiments.curves import LabelCurves
from slide_gui.figures.canvas import MUTED, Plot, band, in_per_cent, line_color, marked_line
from slide_gui.figures.style import Style
from slide_gui.figures.tables import RATE_HEAD, rate_cells, save_table
from slide_gui.text import dataset_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_labels", "labels_csv"]

_LEGEND_LINE = 2.6  # mm


def draw_labels(figure: Figure, curves: LabelCurves, style: Style) -> None:
    """Draw error against the number of labels, with 95 % intervals as bands.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure; gets its size from the style.
    curves : LabelCurves
        With at least one line.

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    if not curves.lines:
        raise ValueError("there is nothing to draw: at least one line is needed")
    plot = Plot(figure, style, 0.85 * style.width_mm)
    s = plot.scale
    runs = max(point.rate.n_splits for line in curves.lines for point in line.points)
    second = f"noise 1 − p = {curves.noise:g}, depth {curves.depth}; "
    second += f"mean of {runs} samples of labels, 95 % intervals" if runs > 1 else "95 % intervals"
    plot.title(f"{dataset_title(curves.dataset, curves.generated)}: {curves.evaluate} error by labels", second)
    left, top = 11.0 * s, 10.5 * s
    legend = (len(curves.lines) * _LEGEND_LINE + 1.0) * s
    box = (left, top, plot.width - left - 4.0 * s, plot.height - top - 8.5 * s - legend)
    axes = plot.axes(box, "error against labels")
    axes.set_xscale("log")
    for number, line in enumerate(curves.lines):
        color = line_color(number)
        x = [point.labels for point in line.points]
        low, y, high = in_per_cent([point.rate for point in line.points])
        band(axes, x, low, high, color, s)
        marked_line(axes, x, y, color, s)
        plot.key(left, plot.height - legend + (number + 0.5) * _LEGEND_LINE * s, line.name, color)
    counts = sorted({point.labels for line in curves.lines for point in line.points})
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.0)
    plot.axis_titles(axes, "labelled rows (log)", f"{curves.evaluate} error (%)")
    axes.xaxis.label.set_color(MUTED)


def labels_csv(path: str | os.PathLike[str], curves: LabelCurves) -> None:
    """Write the curves as a table: one line a point.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    head = ["dataset", "part", "noise", "depth", "method", "labels", *RATE_HEAD]
    same = [dataset_title(curves.dataset, curves.generated), curves.evaluate, curves.noise, curves.depth]
    rows = [[*same, line.name, q.labels, *rate_cells(q.rate)] for line in curves.lines for q in line.points]
    save_table(path, head, rows)
