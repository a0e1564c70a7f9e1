"""Figures and CSV tables of one run: the confusion matrix, and the kernel widths while they are learned."""

import os
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from slide_gui.core.svm.model import TrainedSvm
from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.experiments.runs.result import RunResult, width_criterion
from slide_gui.experiments.runs.spec import METHODS, describe_spec
from slide_gui.figures.canvas import INK, MUTED, SMALL_SIZE, TEXT_SIZE, Plot, fitted, label_width, line_color, width_mm
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.text import count, counted, dataset_title, noise_and_keep, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RIGHT, _WRONG = np.array([0x24, 0x68, 0xB0]) / 255, np.array([0xBF, 0x35, 0x40]) / 255
_SHARP = 400  # minimum width of the matrix in pixels, because many viewers blur the edges of enlarged pixels


def draw_confusion(figure: "Figure", result: RunResult, style: Style, names: Sequence[str]) -> None:
    """Draw the confusion matrix, with correct predictions in blue and misclassified rows in red.

    The larger the fraction of a class's rows in a cell, the stronger is the colour of the cell. The cell with the
    largest fraction of misclassified rows has the strongest red.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    names : sequence of str
        Name of each class.
    """
    s, k, width, size = style.scale, len(names), style.width_mm, SMALL_SIZE * style.scale
    columns: Sequence[str] = [name.strip("…") for name in told_apart(names)]
    room = 0.6 * width / k if k < 20 else 0.2 * (style.height_mm or width)
    if len({fitted(name, size, room, size) for name in columns}) < k:
        names = [f"{number} {name}" for number, name in enumerate(names, start=1)]
    around = (22.0 if result.widths else 19.5) * s
    for _ in range(2):  # If many classes need a smaller type size, the second pass measures their names at this size.
        rows = told_apart(names) if _too_wide(names, size, 0.25 * width) else names
        left = min(max(width_mm(name, size) for name in rows), 0.25 * width) + 8.0 * s
        across = width - left - 3.0 * s
        room, below = 0.9 * across / k, 0.0
        columns = [name.strip("…") for name in told_apart(names)] if _too_wide(names, size, room) else names
        # If two column names would be the same after shortening, the names are written vertically.
        if upwards := len({fitted(name, size, room, size) for name in columns}) < k:
            room = min(max(width_mm(name, size) for name in columns), 0.2 * (style.height_mm or width))
            below = room - 2.0 * s
        high = min(across, (style.height_mm or 2.0 * width) - around - below)
        size = min(size, 2.3 * high / k)
    across = min(across, 2.0 * high)  # On a slide, whose height is fixed, cells may be wider than high.
    plot = Plot(figure, style, high + around + below)
    title = f"{dataset_title(result.dataset, result.generated)}: error {result.rate}"
    wrong = f"{count(len(result.misclassified))} of {count(result.n_test)} {result.spec.evaluate} rows misclassified"
    plot.title(title, f"{wrong}; trained on {counted(result.n_train, 'row')}; {describe_spec(result.spec)}")
    if result.widths:
        plot.note(result.widths)
    axes = plot.axes((left, 10.5 * s, across, high), "confusion")
    _draw_cells(axes, result, s, across / k, high / k)
    labels = [fitted(name, size, left - 5.5 * s, size)[0] for name in rows]
    texts = [fitted(name, size, room, size)[0] for name in columns]
    axes.set_xticks(range(k), texts, parse_math=False, rotation=90 if upwards else 0)
    axes.set_yticks(range(k), labels, parse_math=False)
    axes.tick_params(length=0, labelsize=size)
    plot.axis_titles(axes, "predicted as", "class")


def confusion_csv(path: str | os.PathLike[str], result: RunResult, names: Sequence[str]) -> None:
    """Write the confusion matrix as a CSV table, with one line per class and one column per predicted class.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    rows = [[name, *counts] for name, counts in zip(names, result.confusion.tolist(), strict=True)]
    save_table(path, ["class", *(f"predicted as {name}" for name in names)], rows)


def _too_wide(names: Sequence[str], size: float, space: float) -> bool:
    return any(width_mm(name, size) > space for name in names)


def _draw_cells(axes: "Axes", result: RunResult, s: float, width: float, height: float) -> None:
    counts = result.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    off = shares - np.diag(np.diag(shares))
    strength = 0.75 * off / (off.max() or 1.0) + np.diag(0.75 * np.diag(shares))
    tint = np.where(np.eye(len(counts), dtype=bool)[:, :, None], _RIGHT, _WRONG)
    k, times = len(counts), -(-_SHARP // len(counts))
    colors = (1.0 + strength[:, :, None] * (tint - 1.0)).repeat(times, axis=0).repeat(times, axis=1)
    axes.imshow(colors, interpolation="none", extent=(-0.5, k - 0.5, k - 0.5, -0.5), aspect="auto")
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    longest = max(width_mm(count(int(n)), TEXT_SIZE * s) for n in counts.flat)
    size = min(TEXT_SIZE * s * min(1.0, 0.86 * width / longest), 2.3 * height)
    for (i, j), n in np.ndenumerate(counts):
        axes.text(j, i, count(int(n)), ha="center", va="center", fontsize=size, color=INK if n else MUTED)


def draw_widths(figure: "Figure", result: RunResult, style: Style) -> None:
    """Draw how the kernel widths of a run were learned.

    The upper plot shows the sum of criterion and prior, which learning minimises, against the iteration. The lower plot
    shows the share of each layer in the exponent of the kernel. Learning starts from several initial widths; each start
    has its own line.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.
    result : RunResult
        Result of a run whose kernel widths were learned.

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
    second = f"{width_criterion(result.chosen_by or spec.svm.criterion)}, {noise_and_keep(spec.stack.noise)}, "
    second += f"depth {spec.stack.depth}; final shares of the layers {shares}"
    plot.title(f"{dataset_title(result.dataset, result.generated)}: learning the widths", second)
    names = spec.group_names
    left, top = 13.0 * s, 10.5 * s
    width = plot.width - left - label_width(names, s)
    height = (plot.height - top - 10.0 * s - 5.0 * s) / 2
    upper, lower = (left, top, width, height), (left, top + height + 5.0 * s, width, height)
    axes = plot.axes(upper, "criterion")
    _draw_steps(axes, history, [step.objective for step in history], INK, s)
    axes.yaxis.get_offset_text().set_fontsize(SMALL_SIZE * s)
    axes.set_xticklabels([])
    axes.set_ylabel("criterion J + prior", fontsize=6.0 * s, color=INK)
    axes = plot.axes(lower, "shares")
    # If h⁰ is omitted, the colour of h⁰ is skipped, so that each layer has the same colour as in other figures.
    first = METHODS[spec.method].omits_input
    colors = [line_color(first + number) for number in range(len(names))]
    for number, color in enumerate(colors):
        _draw_steps(axes, history, [step.shares[number] for step in history], color, s)
    axes.set_ylim(0.0, 1.0)
    plot.axis_titles(axes, "iteration", "share of the exponent")
    plot.end_labels(axes, lower, list(zip(history[-1].shares, names, colors, strict=True)))


def widths_csv(path: str | os.PathLike[str], result: RunResult) -> None:
    """Write the steps of learning the kernel widths as a CSV table with one line per iteration.

    Raises
    ------
    ValueError
        If the widths were not learned.
    OSError
        If the file cannot be written.
    """
    history, names = _learned(result).history, result.spec.group_names
    layers = names if METHODS[result.spec.method].regroups else range(len(names))
    head = ["iteration", "start", "criterion", "prior", "C", "support vectors"]
    head += [f"width {t}" for t in layers] + [f"share {t}" for t in layers]
    rows = [[h.iteration, h.start, h.criterion, h.prior, h.C, h.n_support, *h.widths, *h.shares] for h in history]
    save_table(path, head, rows)


def _learned(result: RunResult) -> TrainedSvm:
    if result.classifier is None or not result.classifier.history:
        raise ValueError("there is nothing to draw: the widths of this run were not learned")
    return result.classifier


def _draw_steps(axes: "Axes", history: Sequence[WidthsStep], values: Sequence[float], color: str, s: float) -> None:
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
