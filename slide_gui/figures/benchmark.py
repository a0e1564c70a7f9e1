"""The paper's tables as figures: methods ordered by error and coloured by significance; times on a log axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slide_gui.experiments.benchmark_state import REFERENCE, BenchmarkState, Cell, DataInfo
from slide_gui.experiments.timing import TimeRow
from slide_gui.figures.benchmark_text import INTERVALS, MARKS, seconds_text, unlearned
from slide_gui.figures.plot import INK, MUTED, SMALL_SIZE, TEXT_SIZE, Plot, counted, per_cent, titled
from slide_gui.figures.style import Style
from slide_gui.figures.text import fitted, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLORS", "draw_errors", "draw_times", "standing"]

COLORS = {"reference": "#1D1F24", "better": "#0072B2", "worse": "#D55E00", "equal": "#8A8F99"}
"""How a method stands to SLIDE-SVM → its colour."""

_WORDS = {
    "reference": "SLIDE-SVM",
    "better": "significantly fewer errors",
    "worse": "significantly more errors",
    "equal": "no significant difference",
}
_ROW = 3.6  # mm, one method
_HEAD, _FOOT, _GAP = 6.0, 7.5, 3.0  # mm of a panel: its title, its axis; between panels
_LEGEND = 7.5
_NOTE_SIZE, _NOTE_LINE = 4.0, 1.9  # points; mm from line to line
_NOTES = (INTERVALS, f"Colours: {MARKS}")


def standing(state: BenchmarkState, cell: Cell) -> str:
    """Return how a method stands to SLIDE-SVM: a key of `COLORS`."""
    if cell.method == REFERENCE:
        return "reference"
    comparison = state.comparison(cell)
    if comparison is None or not comparison.significant:
        return "equal"
    return "worse" if comparison.difference > 0 else "better"


def draw_errors(figure: Figure, state: BenchmarkState, style: Style) -> None:
    """Draw the error rates: a panel a data set, its methods by rising error, ours with intervals, the paper's hollow.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure; gets its size from the style.
    state : BenchmarkState
    style : Style

    Raises
    ------
    ValueError
        If no cell has an answer.
    """
    panels = [(info, _ordered(state, info)) for info in state.data]
    panels = [(info, cells) for info, cells in panels if any(cell.rate for cell in cells)]
    if not panels:
        raise ValueError("there is nothing to draw: no cell has an answer yet")
    abreast = 2 if style.width_mm > 150 and len(panels) > 1 else 1
    lines = -(-len(panels) // abreast)
    s = style.scale
    tallest = max(len(cells) for _, cells in panels)
    height = _HEAD + _FOOT + _ROW * tallest
    notes = [
        line
        for note in (*_NOTES, *unlearned(state.data))
        for line in wrapped(note, _NOTE_SIZE * s, style.width_mm - 4.0 * s)
    ]
    foot = _LEGEND + _NOTE_LINE * len(notes)
    plot = Plot(figure, style, 9.0 + lines * (height + _GAP) + foot)
    plot.title("Test error of all methods", "● ours with its 95 % interval, ○ the paper’s; ordered by ours")
    width = plot.width / abreast
    room = (plot.height - 9.0 * s - foot * s) / lines  # a slide has a height of its own
    for number, (info, cells) in enumerate(panels):
        row, column = divmod(number, abreast)
        _draw_panel(plot, state, info, cells, (column * width, 9.0 * s + row * room, width, room - _GAP * s))
    _draw_legend(plot, plot.height - _NOTE_LINE * len(notes) * s)
    for number, line in enumerate(reversed(notes)):
        plot.text(2.0 * s, plot.height - (1.4 + _NOTE_LINE * number) * s, line, _NOTE_SIZE, color=MUTED)


def _ordered(state: BenchmarkState, info: DataInfo) -> list[Cell]:
    known = [cell for cell in state.of(info.key) if cell.rate is not None]
    return sorted(known, key=lambda cell: cell.rate.error if cell.rate else 0.0)


def _draw_panel(
    plot: Plot, state: BenchmarkState, info: DataInfo, cells: Sequence[Cell], box: tuple[float, float, float, float]
) -> None:
    s, (x, y, w, h) = plot.scale, box
    asked = max(cell.asked for cell in cells)
    least, n_test = min(len(cell.answers) for cell in cells), cells[0].answers[0].n_test
    splits = f"{asked} split{'s' if asked > 1 else ''}" if least == asked else f"{least} to {asked} splits"
    title, size = fitted(f"{titled(info.title, info.generated)}", TEXT_SIZE * s, w - 6.0 * s, "bold")
    plot.text(x + 2.0 * s, y + 3.0 * s, title, size / s, weight="bold")
    counts = " / ".join(counted(n) for n in (info.n_train, n_test))
    plot.text(x + w - 3.0 * s, y + 3.0 * s, f"{splits}, {counts} rows", 4.5, color=MUTED, ha="right")
    left, right = 19.0 * s, 25.0 * s
    axes = plot.axes((x + left, y + 5.0 * s, w - left - right, h - (5.0 + _FOOT) * s), f"errors {info.key}")
    for place, cell in enumerate(cells):
        _draw_cell(axes, state, cell, place, s)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    _name_lines(axes, [fitted(cell.name, SMALL_SIZE * s, left - 2.0 * s)[0] for cell in cells], s)
    low, high = axes.get_xlim()
    axes.set_xlim(max(0.0, low - 0.05 * (high - low)), high + 0.05 * (high - low))
    axes.set_xlabel("test error (%)", fontsize=SMALL_SIZE * s, color=INK, labelpad=1.5 * s)
    inner = (h - (5.0 + _FOOT) * s) / len(cells)
    for place, cell in enumerate(cells):
        assert cell.rate is not None
        text = cell.rate.cell
        if not cell.complete:
            text += f"  {len(cell.answers)}/{cell.asked}"
        at = y + 5.0 * s + (place + 0.6) * _row_height(inner, len(cells))
        plot.text(x + w - right + 2.0 * s, at, text, 4.5, va="center")


def _name_lines(axes: Axes, names: Sequence[str], s: float) -> None:
    """Name the lines of a plot that is read from the left to the right, and turn its grid."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#E2E3E7", linewidth=0.4 * s)


def _row_height(inner: float, rows: int) -> float:
    """Return the mm of one row of a panel whose axis reaches from −0.6 to rows − 0.4."""
    return inner * rows / (rows + 0.2)


def _draw_cell(axes: Axes, state: BenchmarkState, cell: Cell, place: int, s: float) -> None:
    assert cell.rate is not None
    color = COLORS[standing(state, cell)]
    (low,), (error,), (high,) = per_cent([cell.rate])
    axes.plot([low, high], [place, place], color=color, linewidth=1.2 * s)
    axes.plot([error], [place], color=color, marker="o", markersize=3.2 * s, markeredgewidth=0, linestyle="")
    if cell.paper is not None:
        axes.plot(
            [100 * cell.paper.error], [place], marker="o", markersize=3.4 * s, markerfacecolor="white",
            markeredgecolor=MUTED, markeredgewidth=0.7 * s, linestyle="", zorder=1.5,
        )  # fmt: skip


def _draw_legend(plot: Plot, bottom: float) -> None:
    s = plot.scale
    step = (plot.width - 4.0 * s) / 2
    for number, (key, words) in enumerate(_WORDS.items()):
        row, column = divmod(number, 2)
        x, y = 2.0 * s + column * step, bottom - (5.2 - 2.8 * row) * s
        text = (
            words if key == "reference" else f"{words} than SLIDE-SVM" if key != "equal" else f"{words} from SLIDE-SVM"
        )
        text, size = fitted(text, SMALL_SIZE * s, step - 4.0 * s)
        plot.key(x, y, text, COLORS[key], size / s)


def draw_times(figure: Figure, rows: Sequence[TimeRow], style: Style) -> None:
    """Draw the seconds of feature generation on a log axis: SLIDE and SdA, ours filled, the paper's hollow.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure; gets its size from the style.
    rows : sequence of TimeRow
    style : Style

    Raises
    ------
    ValueError
        If there is nothing to draw.
    """
    if not any(row.slide or row.sda or row.tutorial for row in rows):
        raise ValueError("there is nothing to draw: no time was measured yet")
    plot = Plot(figure, style, 27.0 + 9.0 * len(rows))
    s = plot.scale
    plot.title(
        "Running time of feature generation", "● measured here, ◆ extrapolated from one short epoch, ○ the paper’s"
    )
    left, right, top, bottom = 21.0 * s, 19.0 * s, 11.0 * s, 13.0 * s
    axes = plot.axes((left, top, plot.width - left - right, plot.height - top - bottom), "times")
    axes.set_xscale("log")
    axes.minorticks_off()
    for place, row in enumerate(rows):
        _draw_time(axes, row, place, s)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _name_lines(axes, [fitted(row.data.title, SMALL_SIZE * s, left - 3.0 * s)[0] for row in rows], s)
    axes.set_xlabel("seconds (log)", fontsize=TEXT_SIZE * s, color=INK, labelpad=1.5 * s)
    each = (plot.height - top - bottom) / len(rows)
    for place, row in enumerate(rows):
        for shift, text in ((-1.2, _faster(row.speedup, "SdA")), (1.2, _faster(row.tutorial_speedup, "tutorial"))):
            plot.text(plot.width - right + 1.5 * s, top + (place + 0.5) * each + shift * s, text, 4.2, va="center")
    for number, (name, color) in enumerate(
        (("SLIDE", INK), ("SdA as chosen", _SDA), ("SdA, tutorial’s recipe", _TUTORIAL))
    ):
        x = 2.0 * s + number * (plot.width - 4.0 * s) / 3
        plot.key(x, plot.height - 2.4 * s, name, color)


_SDA, _TUTORIAL = "#D55E00", "#E69F00"


def _faster(ratio: float | None, over: str) -> str:
    return "" if ratio is None else f"× {ratio:.0f} over {over}" if ratio >= 10 else f"× {ratio:.1f} over {over}"


def _draw_time(axes: Axes, row: TimeRow, place: int, s: float) -> None:
    both = [seconds for seconds in (row.slide, row.sda) if seconds]
    if len(both) == 2:
        axes.plot(both, [place, place], color="#B4B8C0", linewidth=0.8 * s, zorder=1)
    tutorial = row.tutorial.seconds if row.tutorial else None
    for seconds, color, marker, side in (
        (row.slide, INK, "o", "right"),
        (row.sda, _SDA, "o", "left"),
        (tutorial, _TUTORIAL, "D", "left"),
    ):
        if seconds:
            axes.plot(
                [seconds], [place], color=color, marker=marker, markersize=3.0 * s, markeredgewidth=0, linestyle=""
            )
            axes.annotate(
                seconds_text(seconds), (seconds, place), (0, 3.2 * s), textcoords="offset points", ha=side,
                fontsize=4.0 * s, color=INK,
            )  # fmt: skip
    for seconds, color in ((row.paper_slide, INK), (row.paper_sda, _SDA)):
        if seconds:
            axes.plot(
                [seconds], [place + 0.24], marker="o", markersize=3.0 * s, markerfacecolor="white",
                markeredgecolor=color, markeredgewidth=0.7 * s, linestyle="",
            )  # fmt: skip
