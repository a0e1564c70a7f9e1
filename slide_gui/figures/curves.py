"""Error curves against noise level, one line per depth (the paper's sensitivity figure)."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from slide_gui.error_rate import ErrorRate, describe_rows
from slide_gui.experiments.evaluation.protocol import Published
from slide_gui.experiments.runs.spec import METHODS
from slide_gui.experiments.sweeps.curves import ErrorCurves, best_mark
from slide_gui.figures.canvas import INK, MUTED, SMALL_SIZE, Plot, fitted, label_width, line_color, marked_line
from slide_gui.figures.style import Style
from slide_gui.figures.tables import RATE_HEAD, rate_cells, save_table
from slide_gui.text import count_range, counted, dataset_title, fixed, level

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ASPECT = 0.78


def draw_curves(figure: "Figure", curves: ErrorCurves, style: Style, marks: Sequence[Published] = ()) -> None:
    """Draw the error against the noise level, with 95 % confidence intervals as bands and labels at the line ends.

    Published errors are drawn as hollow dots at the left edge, because their noise levels were not published.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    curves : ErrorCurves
        Curves with at least one point.
    marks : sequence of Published
        Published errors to draw for comparison.
    """
    plot = Plot(figure, style, _ASPECT * style.width_mm)
    s = plot.scale
    names = ["raw input" if depth == 0 else counted(depth, "layer") for depth in curves.depths]
    names = [curves.method] if any(m.text == curves.method and not m.stacked for m in METHODS.values()) else names
    covered = " or ".join(dict.fromkeys(q.rate.covers for q in curves.points))
    _write_title(plot, curves, f"95 % intervals over {covered}", "ringed")
    left, top = 11.0 * s, 10.5 * s
    box = (left, top, plot.width - left - label_width(names, s), plot.height - top - (8.5 if not marks else 11.5) * s)
    axes = plot.axes(box, "error against noise")
    for depth in curves.depths:
        line, color = curves.line(depth), line_color(depth)
        _draw_rates(axes, [q.noise for q in line], [q.rate for q in line], color, s)
    if chosen := [point for point in curves.points if point.chosen]:
        errors = [100 * q.rate.error for q in chosen]
        _draw_rings(axes, [q.noise for q in chosen], errors, 6.4 * s, markeredgewidth=0.8 * s, zorder=6)
    _set_limits(axes, curves, marks)
    plot.axis_titles(axes, "noise 1 − p", f"{curves.evaluate} error (%)")
    ends = [(100 * curves.line(d)[-1].rate.error, n, line_color(d)) for d, n in zip(curves.depths, names, strict=True)]
    plot.end_labels(axes, box, ends)
    if marks:
        _draw_marks(axes, marks, s)
        plot.note(f"○ published error ({marks[0].place}); its noise level was not published")


def draw_heat_map(figure: "Figure", curves: ErrorCurves, style: Style) -> None:
    """Draw a table of the errors at each noise level (columns) and depth (rows). Cells with larger errors are darker.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    curves : ErrorCurves
        Curves with at least one point.
    """
    n, noises = len(curves.depths), sorted({q.noise for q in curves.points})
    plot = Plot(figure, style, max(0.5 * style.width_mm, 19.0 + 2.4 * n))
    s, errors = plot.scale, np.full((n, len(noises)), np.nan)
    _write_title(plot, curves, "errors in %", "framed")
    axes = plot.axes((9.0 * s, 10.5 * s, plot.width - 12.0 * s, plot.height - 19.0 * s), "errors")
    size = fitted("99.99", SMALL_SIZE * s, 0.9 * (plot.width - 12.0 * s) / len(noises), 0.1)[1]
    for q in curves.points:
        y, x, error = curves.depths.index(q.depth), noises.index(q.noise), 100 * q.rate.error
        errors[y, x] = error
        axes.text(x, y, fixed(error, 2), ha="center", va="center", fontsize=size, color=INK)
        if q.chosen:
            axes.bar(x, 1.0, 1.0, y - 0.5, fill=False, edgecolor=INK, linewidth=0.8 * s, zorder=3, clip_on=False)
    low, high = np.nanmin(errors), np.nanmax(errors)
    # Only the light half of the colour map is used, because the numbers would be hard to read on dark cells.
    axes.imshow(errors, cmap="Blues", vmin=low, vmax=2 * high - low + 1e-9, aspect="auto", interpolation="none")
    axes.grid(False)
    axes.set_xticks(range(len(noises)), [level(noise) for noise in noises], fontsize=size)
    axes.set_yticks(range(len(curves.depths)), [str(depth) for depth in curves.depths])
    plot.axis_titles(axes, "noise 1 − p", "depth")


def curves_csv(path: str | os.PathLike[str], curves: ErrorCurves) -> None:
    """Write the curves as a CSV table with one line per noise level and depth. All errors are fractions.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    head = ["dataset", "method", "part", "depth", "noise", "p", *RATE_HEAD]
    same = [dataset_title(curves.dataset, curves.generated), curves.method, curves.evaluate]
    rows = [[*same, q.depth, q.noise, 1 - q.noise, *rate_cells(q.rate)] for q in curves.points]
    if any(q.validation_error is not None for q in curves.points):
        head += ["validation error", "best on validation"]
        for row, q in zip(rows, curves.points, strict=True):
            row += [q.validation_error, "yes" if q.chosen else ""]
    save_table(path, head, rows)


def _draw_rates(axes: "Axes", x: Sequence[float], rates: Sequence[ErrorRate], color: str, s: float) -> None:
    """Draw error rates in per cent as a line with a band of confidence intervals, or a single rate with a bar."""
    low, high = [100 * rate.low for rate in rates], [100 * rate.high for rate in rates]
    if len(rates) > 1:
        axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
    else:
        axes.vlines(x, low, high, color=color, alpha=0.4, linewidth=1.6 * s)
    marked_line(axes, x, [100 * rate.error for rate in rates], color, s)


def _draw_rings(axes: "Axes", x: Sequence[float], y: Sequence[float], size: float, **properties: Any) -> None:
    ring = {"marker": "o", "markersize": size, "markerfacecolor": "none", "markeredgecolor": INK, **properties}
    axes.plot(x, y, linestyle="none", clip_on=False, **ring)


def _write_title(plot: Plot, curves: ErrorCurves, numbers: str, mark: str) -> None:
    """Write the title. `numbers` describes the errors, and `mark` describes how selected points are marked."""
    rates = [q.rate for q in curves.points]
    runs = count_range([rate.n_splits for rate in rates])
    what = f"{curves.method}, {describe_rows(rates)} {curves.evaluate} rows"
    what += f", mean of {runs} runs; {numbers}" if runs != "1" else f"; {numbers}"
    missing = f"; {counted(curves.n_missing, 'point')} missing" if curves.n_missing else ""
    what += f"; {mark}: {best_mark(curves.n_missing)}" if any(q.chosen for q in curves.points) else missing
    plot.title(f"{dataset_title(curves.dataset, curves.generated)}: {curves.evaluate} error", what)


def _set_limits(axes: "Axes", curves: ErrorCurves, marks: Sequence[Published]) -> None:
    noises = {q.noise for q in curves.points}
    # For a single noise level, the axis extends from 0 to 1, as in the window. Otherwise it would be so short that its
    # ticks would be numbers such as 0.297.
    noises = noises if len(noises) > 1 else {0.0, 1.0}
    reach = max(noises) - min(noises)
    axes.set_xlim(min(noises) - 0.04 * reach, max(noises) + 0.01 * reach)
    highest = max([100 * q.rate.high for q in curves.points] + [100 * mark.error for mark in marks])
    axes.set_ylim(0.0, 1.05 * highest or 1.0)


def _draw_marks(axes: "Axes", marks: Sequence[Published], s: float) -> None:
    left = axes.get_xlim()[0]
    for mark in marks:
        error = 100 * mark.error
        _draw_rings(axes, [left], [error], 3.4 * s, markerfacecolor="white", markeredgewidth=0.6 * s, zorder=5)
        axes.annotate(
            f"{mark.method} {error:.2f}", (left, error), xytext=(3.2 * s, 1.6 * s),
            textcoords="offset points", fontsize=SMALL_SIZE * s, color=MUTED, va="bottom", parse_math=False, zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4 * s},
        )  # fmt: skip
