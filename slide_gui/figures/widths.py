"""Figure of learning the widths: the criterion and each layer's share of the kernel's exponent, by iteration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from slide_gui.core.svm.model import TrainedSvm
from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.experiments.runs.result import RunResult, width_criterion
from slide_gui.figures.canvas import INK, Plot, label_room, line_color
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import dataset_title, layer_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_widths(figure: Figure, result: RunResult, style: Style) -> None:
    """Draw the criterion above the shares. Each new start begins a new line.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    result : RunResult
        Result of a run that learned its widths.

    Raises
    ------
    ValueError
        If the widths were not learned.
    """
    classifier = _learned(result)
    history = classifier.history
    plot = Plot(figure, style, 0.95 * style.width_mm)
    s, spec = plot.scale, result.spec
    shares = ", ".join(f"{share:.2f}" for share in classifier.shares)
    second = f"{width_criterion(result.chosen_by or spec.svm.criterion)}, noise 1 − p = {spec.stack.noise:g}, "
    second += f"depth {spec.stack.depth}; ends at shares {shares}"
    plot.title(f"{dataset_title(result.dataset, result.generated)}: learning the widths", second)
    names = [layer_name(t) for t in range(len(history[0].shares))]
    left, top = 13.0 * s, 10.5 * s
    width = plot.width - left - label_room(names, s)
    height = (plot.height - top - 10.0 * s - 5.0 * s) / 2
    upper, lower = (left, top, width, height), (left, top + height + 5.0 * s, width, height)
    axes = plot.axes(upper, "criterion")
    _draw(axes, history, [step.criterion for step in history], INK, s)
    axes.set_xticklabels([])
    axes.set_ylabel("criterion J", fontsize=6.0 * s, color=INK)
    axes = plot.axes(lower, "shares")
    for layer in range(len(names)):
        _draw(axes, history, [step.shares[layer] for step in history], line_color(layer), s)
    axes.set_ylim(0.0, 1.0)
    plot.axis_titles(axes, "iteration", "share of the exponent")
    last = history[-1].shares
    plot.end_labels(axes, lower, [(last[t], names[t], line_color(t)) for t in range(len(names))])


def widths_csv(path: str | os.PathLike[str], result: RunResult) -> None:
    """Write the history as a table, one line per iteration.

    Raises
    ------
    ValueError
        If the widths were not learned.
    OSError
        If the file cannot be written.
    """
    history = _learned(result).history
    layers = range(len(history[0].widths))
    head = ["iteration", "start", "criterion", "prior", "C", "support vectors"]
    head += [f"width {t}" for t in layers] + [f"share {t}" for t in layers]
    rows = [[h.iteration, h.start, h.criterion, h.prior, h.C, h.n_support, *h.widths, *h.shares] for h in history]
    save_table(path, head, rows)


def _learned(result: RunResult) -> TrainedSvm:
    if result.classifier is None or not result.classifier.history:
        raise ValueError("there is nothing to draw: the widths of this run were not learned")
    return result.classifier


def _draw(axes: Axes, history: Sequence[WidthsStep], values: Sequence[float], color: str, s: float) -> None:
    from matplotlib.ticker import MaxNLocator

    marker = "o" if len(history) < 60 else ""
    for _, group in groupby(range(len(history)), key=lambda i: history[i].start):
        indices = list(group)
        axes.plot(
            [history[i].iteration for i in indices], [values[i] for i in indices], color=color, linewidth=0.9 * s,
            marker=marker, markersize=1.6 * s, markeredgewidth=0,
        )  # fmt: skip
    axes.set_xlim(-0.5, len(history) - 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
