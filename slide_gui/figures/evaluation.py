"""The paper’s two tables, with our results next to the paper’s, as figures, Markdown, LaTeX and CSV."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slide_gui.experiments.evaluation.protocol import REFERENCE, data_entry, plan, published
from slide_gui.experiments.evaluation.table import INCLUDED, Cell, DataInfo, EvaluationState, TimeRow
from slide_gui.experiments.runs.spec import METHODS
from slide_gui.figures.canvas import INK, MUTED, PALE, SMALL_SIZE, TEXT_SIZE, Box, Plot, fitted, wrapped
from slide_gui.figures.export import FigureExport, export_of
from slide_gui.figures.style import Style
from slide_gui.figures.tables import RATE_HEAD, rate_cells, save_table
from slide_gui.text import count, counted, dataset_title, duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    "raw-svm", "sda", "sda-svm", "slide-svm", "median", "randproj-svm", "pca-svm", "white-svm", "learned",
    "mean-margin", "without-input", "convolution", "slide-white",
)  # fmt: skip
"""Methods in the order of the paper's Table 1, with median widths after SLIDE-SVM; then this project's own."""


INTERVALS = (
    "Mean test error over the splits and its 95 % confidence interval, both in %. Over several splits the interval "
    "includes the variation over test rows and splits (two-way random effects; Student’s t with Satterthwaite’s "
    "degrees of freedom, below ten splits at least Cochran and Cox’s point), and is never narrower than Wilson’s. For "
    "one split it is Wilson’s, over test rows only. All intervals are conditional on the training set. Parameters are "
    "selected on validation rows only."
)
"""Note below a table of errors."""

MARKS = (
    "significantly more, significantly fewer errors than SLIDE-SVM: p < 0.05 after Holm’s correction over all "
    "comparisons of the table. Over several splits the test is a t-test of the mean difference over test rows and "
    "splits. For one split, or splits that all differ on the same rows, it is McNemar’s exact test."
)
"""Meaning of the marks in the table, in this order."""

_MISSING = "–"
_NAMES = {method.text for method in METHODS.values()}


@dataclass(frozen=True)
class TextTable:
    """A table of texts for files and the terminal."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]]
    notes: tuple[str, ...]

    def marked_rows(self, escape: Callable[[str], str], bold: str) -> list[list[str]]:
        """Return the rows with escaped cells. The format string `bold` sets a cell in bold."""
        return [
            [bold.format(escape(cell)) if (i, j) in self.bold else escape(cell) for j, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]


def error_table(state: EvaluationState) -> TextTable:
    """Return the table of error rates, with one row of our results and one of the paper's for each data set."""
    names = {cell.method: cell.title for cell in state.cells}
    methods = [name for name in COLUMNS if name in names]
    rows: list[tuple[str, ...]] = []
    bold = set()
    for info in state.data:
        cells = [state.cell(info.key, method) for method in methods]
        means = [None if cell is None or cell.rate is None else cell.rate.error for cell in cells]
        known = [mean for mean in means if mean is not None]
        bold |= {(len(rows), k + 1) for k, mean in enumerate(means) if known and mean == min(known)}
        rows.append((dataset_title(info.title, info.generated), *(_error_text(cell, state) for cell in cells)))
        papers = [None if cell is None or cell.paper is None else cell.paper.error for cell in cells]
        rows.append((_paper_row(info), *(_MISSING if error is None else f"{100 * error:.2f}" for error in papers)))
    head = ("Error in %", *(names[method] for method in methods))
    notes = (
        INTERVALS,
        f"(+), (−): {MARKS}",
        "[k/n]: k of n splits are complete. The paper averages over 50 (Rectangles), 10 (Rectangles-Images, Convex) "
        "and 1 (MNIST) splits.",
        *(info.reduced for info in state.data if info.reduced),
        *unlearned(state.data),
        *_other_notes(state),
    )
    return TextTable("Error rates", head, tuple(rows), frozenset(bold), notes)


def _paper_row(info: DataInfo) -> str:
    """Return the head of the paper's row. It names the data set if ours has another name."""
    title = data_entry(info.key).title
    return "  paper" if title == info.title else f"  paper, {title}"


def _error_text(cell: Cell | None, state: EvaluationState) -> str:
    if cell is None or cell.rate is None:
        return _MISSING
    text, comparison = cell.rate.cell, state.comparison(cell)
    if comparison is not None and comparison.significant:
        text += " (+)" if comparison.difference > 0 else " (−)"
    return text if cell.complete else f"{text} [{len(cell.answers)}/{cell.n_splits}]"


def unlearned(data: Sequence[DataInfo]) -> list[str]:
    """Return a sentence for each data set on which SLIDE-SVM learns no widths."""
    plain = {cell.data for cell in plan(methods=[REFERENCE]) if cell.widths == "median"}
    return [
        (f"{info.title}: SLIDE-SVM uses median widths here, because the paper, too, learns no widths for ten classes.")
        for info in data
        if info.key in plain
    ]


def _other_notes(state: EvaluationState) -> list[str]:
    """Return the published errors of other methods as sentences."""
    by_place: dict[tuple[str, str], list[str]] = {}
    for info in state.data:
        for result in published(info.key):
            if result.method not in _NAMES:
                text = f"{data_entry(info.key).title} {100 * result.error:.2f}"
                by_place.setdefault((result.method, result.place), []).append(text)
    return [f"{method} ({place}): {', '.join(values)}." for (method, place), values in by_place.items()]


def time_table(rows: Sequence[TimeRow]) -> TextTable:
    """Return the table of running times of feature generation, with the speed-ups of SLIDE."""
    head = ("Time", *(dataset_title(row.data.title, row.data.generated) for row in rows))
    lines = [
        ("SdA, selected on validation", [duration(row.sda) for row in rows]),
        ("SLIDE", [duration(row.slide) for row in rows]),
        ("× speed-up", [_times(row.speedup) for row in rows]),
        ("paper: SdA (GPU)", [duration(row.paper_sda) for row in rows]),
        ("paper: SLIDE", [duration(row.paper_slide) for row in rows]),
        ("paper: × speed-up", [_times(row.paper_speedup) for row in rows]),
    ]
    notes = [INCLUDED, *(row.data.reduced for row in rows if row.data.reduced)]
    notes += [f"SdA on {row.data.title}: {row.sda_chosen}." for row in rows if row.sda_chosen]
    texts = tuple((name, *values) for name, values in lines)
    return TextTable("Running time of feature generation", head, texts, frozenset(), tuple(notes))


def _times(ratio: float | None) -> str:
    return _MISSING if ratio is None else f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def markdown(table: TextTable) -> str:
    """Return a table as Markdown, with its notes below."""
    lines = [f"**{_md(table.title)}**", "", _bar(map(_md, table.head)), "|" + " --- |" * len(table.head)]
    lines += map(_bar, table.marked_rows(_md, "**{}**"))
    return "\n".join([*lines, "", *(f"{_md(note)}\n" for note in table.notes)])


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    return re.sub(r"[\\`*_~$<>&|\[\]]", r"\\\g<0>", text.strip())


def latex(table: TextTable) -> str:
    """Return a table as a LaTeX float, with its notes in the caption."""
    lines = [
        r"\begin{table}[t]",
        r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
        r"\hline",
    ]
    lines += [" & ".join(map(_tex, table.head)) + r" \\", r"\hline"]
    lines += [" & ".join(cells) + r" \\" for cells in table.marked_rows(_tex, r"\textbf{{{}}}")]
    caption = " ".join([f"{table.title}.", *table.notes])
    lines += [r"\hline", r"\end{tabular}", rf"\caption{{{_tex(caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "×": r"$\times$", "−": r"$-$", "–": "--", "’": "'", "<": "$<$", ">": "$>$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "\u202f": r"\,",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text.strip())


def errors_csv(path: str | os.PathLike[str], state: EvaluationState) -> None:
    """Write one line per cell with all its results, then one line for each published error of another method."""
    head = [
        "dataset", "generated", "method", *RATE_HEAD, "splits asked", "chosen", "feature generation (s)",
        "difference from SLIDE-SVM", "low end of its 95 % interval", "high end of it",
        "p against SLIDE-SVM", "p by Holm", "test", "paper", "published by",
    ]  # fmt: skip
    rows: list[list[object]] = []
    for info in state.data:
        for cell in state.of(info.key):
            other = state.comparison(cell)
            tested = [getattr(other, name, None) for name in ("difference", "low", "high", "p", "adjusted", "test")]
            rows.append([
                info.title, info.generated, cell.title, *rate_cells(cell.rate), cell.n_splits, cell.chosen,
                cell.features, *tested, cell.paper and cell.paper.error, None,
            ])  # fmt: skip
        rows += [
            [data_entry(info.key).title, False, result.method, *[None] * (len(head) - 5), result.error, result.place]
            for result in published(info.key)
            if result.method not in _NAMES
        ]
    save_table(path, head, rows, notes=[INTERVALS, f"p by Holm < 0.05: {MARKS}", *unlearned(state.data)])


def times_csv(path: str | os.PathLike[str], rows: Sequence[TimeRow]) -> None:
    """Write one line per data set, in seconds."""
    head = ["dataset", "generated", "SLIDE (s)", "SdA as chosen (s)", "speed-up"]
    head += ["paper SLIDE (s)", "paper SdA (s)", "paper speed-up", "SdA as chosen"]
    names = ("slide", "sda", "speedup", "paper_slide", "paper_sda", "paper_speedup", "sda_chosen")
    lines = [[row.data.title, row.data.generated, *(getattr(row, name) for name in names)] for row in rows]
    save_table(path, head, lines)


COMPARED = {
    "reference": ("#1D1F24", "SLIDE-SVM"),
    "better": ("#0072B2", "significantly fewer errors than SLIDE-SVM"),
    "worse": ("#D55E00", "significantly more errors than SLIDE-SVM"),
    "equal": ("#8A8F99", "no significant difference from SLIDE-SVM"),
}
"""Result of the comparison with SLIDE-SVM → its colour and its description."""

_ROW = 3.6  # mm, one method
_HEAD, _FOOT, _GAP = 6.0, 7.5, 3.0  # mm: title of a panel, its axis, gap between panels
_LEGEND = 7.5
_NOTE_SIZE, _NOTE_LINE = 4.0, 1.9  # type size in points, line distance in mm
_NOTES = (INTERVALS, f"Colours: {MARKS}")


def comparison_result(state: EvaluationState, cell: Cell) -> str:
    """Return the result of a method's comparison with SLIDE-SVM, a key of `COMPARED`."""
    if cell.method == REFERENCE:
        return "reference"
    comparison = state.comparison(cell)
    if comparison is None or not comparison.significant:
        return "equal"
    return "worse" if comparison.difference > 0 else "better"


def draw_errors(figure: Figure, state: EvaluationState, style: Style) -> None:
    """Draw the error rates, one panel per data set with its methods by increasing error.

    Our errors have intervals, and the paper's are hollow.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.

    Raises
    ------
    ValueError
        If no cell has a result.
    """
    panels = [(info, cells) for info in state.data if (cells := _ordered(state, info))]
    if not panels:
        raise ValueError("there is nothing to draw: no results are available yet")
    abreast = 2 if style.width_mm > 150 and len(panels) > 1 else 1
    lines = -(-len(panels) // abreast)
    s, space = style.scale, style.width_mm - 4.0 * style.scale
    tallest = max(len(cells) for _, cells in panels)
    notes = [line for note in (*_NOTES, *unlearned(state.data)) for line in wrapped(note, _NOTE_SIZE * s, space)]
    foot = _LEGEND + _NOTE_LINE * len(notes)
    plot = Plot(figure, style, 9.0 + lines * (_HEAD + _FOOT + _ROW * tallest + _GAP) + foot)
    plot.title("Test error of all methods", "● ours with its 95 % interval, ○ the paper’s; ordered by ours")
    width, high = plot.width / abreast, (plot.height - (9.0 + foot) * s) / lines  # slides have a fixed height
    for number, (info, cells) in enumerate(panels):
        row, column = divmod(number, abreast)
        _draw_panel(plot, state, info, cells, (column * width, 9.0 * s + row * high, width, high - _GAP * s))
    for number, (color, words) in enumerate(COMPARED.values()):
        row, column = divmod(number, 2)
        y = plot.height - (_NOTE_LINE * len(notes) + 5.2 - 2.8 * row) * s
        plot.key(2.0 * s + column * space / 2, y, words, color, space / 2 - 4.0 * s)
    for number, line in enumerate(reversed(notes)):
        plot.text(2.0 * s, plot.height - (1.4 + _NOTE_LINE * number) * s, line, _NOTE_SIZE, color=MUTED)


def _ordered(state: EvaluationState, info: DataInfo) -> list[Cell]:
    known = [(cell.rate.error, number, cell) for number, cell in enumerate(state.of(info.key)) if cell.rate is not None]
    return [cell for _, _, cell in sorted(known)]


def _draw_panel(plot: Plot, state: EvaluationState, info: DataInfo, cells: Sequence[Cell], box: Box) -> None:
    s, (x, y, w, h) = plot.scale, box
    most, fewest = max(cell.n_splits for cell in cells), min(len(cell.answers) for cell in cells)
    splits = counted(most, "split") if fewest == most else f"{fewest} to {most} splits"
    title = dataset_title(info.title, info.generated)
    plot.text(x + 2.0 * s, y + 3.0 * s, title, TEXT_SIZE, w - 6.0 * s, weight="bold")
    rows = f"{count(info.n_train)} / {count(cells[0].answers[0].n_test)} rows"
    plot.text(x + w - 3.0 * s, y + 3.0 * s, f"{splits}, {rows}", 4.5, color=MUTED, ha="right")
    left, right = 19.0 * s, 25.0 * s
    axes = plot.axes((x + left, y + 5.0 * s, w - left - right, h - (5.0 + _FOOT) * s), f"errors {info.key}")
    for place, cell in enumerate(cells):
        _draw_cell(axes, state, cell, place, s)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    _name_lines(axes, [cell.title for cell in cells], left - 0.5 * s, s)
    low, high = axes.get_xlim()
    axes.set_xlim(max(0.0, low - 0.05 * (high - low)), high + 0.05 * (high - low))
    axes.set_xlabel("test error (%)", fontsize=SMALL_SIZE * s, color=INK, labelpad=1.5 * s)


def _name_lines(axes: Axes, names: Sequence[str], space: float, s: float) -> None:
    """Label the rows of a horizontal plot, and make its grid vertical."""
    shown = [fitted(name, SMALL_SIZE * s, space, smallest=SMALL_SIZE * s)[0] for name in names]
    axes.set_yticks(range(len(names)), shown, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#E2E3E7", linewidth=0.4 * s)


def _write_right(axes: Axes, place: float, text: str, s: float) -> None:
    """Write a text to the right of a row of a horizontal plot."""
    axes.annotate(
        text, (1.0, place), (5.0 * s, 0.0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
        va="center", fontsize=4.5 * s, color=INK,
    )  # fmt: skip


def _draw_cell(axes: Axes, state: EvaluationState, cell: Cell, place: int, s: float) -> None:
    assert cell.rate is not None
    color, _ = COMPARED[comparison_result(state, cell)]
    axes.plot([100 * cell.rate.low, 100 * cell.rate.high], [place, place], color=color, linewidth=1.2 * s)
    axes.plot(
        [100 * cell.rate.error], [place], color=color, marker="o", markersize=3.2 * s, markeredgewidth=0, linestyle=""
    )
    if cell.paper is not None:
        axes.plot([100 * cell.paper.error], [place], markeredgecolor=MUTED, zorder=1.5, **_hollow(s))
    text = cell.rate.cell if cell.complete else f"{cell.rate.cell}  {len(cell.answers)}/{cell.n_splits}"
    _write_right(axes, place, text, s)


def _hollow(s: float) -> dict[str, Any]:
    """Return the marker of a value from the paper."""
    marker = {"marker": "o", "markersize": 3.4 * s, "markerfacecolor": "white", "markeredgewidth": 0.7 * s}
    return marker | {"linestyle": ""}


def draw_times(figure: Figure, rows: Sequence[TimeRow], style: Style) -> None:
    """Draw the seconds of feature generation on a logarithmic axis, ours filled, the paper's hollow.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.

    Raises
    ------
    ValueError
        If there are no times.
    """
    if not any(row.slide or row.sda for row in rows):
        raise ValueError("there is nothing to draw: no time was measured yet")
    plot = Plot(figure, style, 27.0 + 9.0 * len(rows))
    s = plot.scale
    plot.title("Running time of feature generation", "● measured here, ○ the paper’s")
    left, right, top, bottom = 21.0 * s, 19.0 * s, 11.0 * s, 13.0 * s
    axes = plot.axes((left, top, plot.width - left - right, plot.height - top - bottom), "times")
    axes.set_xscale("log")
    axes.minorticks_off()
    for place, row in enumerate(rows):
        _draw_time(axes, row, place, s)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _name_lines(axes, [row.data.title for row in rows], left - 1.5 * s, s)
    axes.set_xlabel("seconds (log)", fontsize=TEXT_SIZE * s, color=INK, labelpad=1.5 * s)
    keys = (("SLIDE", INK), ("SdA as selected", _SDA))
    for number, (name, color) in enumerate(keys):
        plot.key(2.0 * s + number * (plot.width - 4.0 * s) / 3, plot.height - 2.4 * s, name, color)


_SDA = "#D55E00"


def _draw_time(axes: Axes, row: TimeRow, place: int, s: float) -> None:
    both = [seconds for seconds in (row.slide, row.sda) if seconds]
    if len(both) == 2:
        axes.plot(both, [place, place], color=PALE, linewidth=0.8 * s, zorder=1)
    for seconds, color, side in ((row.slide, INK, "right"), (row.sda, _SDA, "left")):
        if seconds:
            axes.plot([seconds], [place], color=color, marker="o", markersize=3.0 * s, markeredgewidth=0, linestyle="")
            axes.annotate(
                duration(seconds), (seconds, place), (0, 3.2 * s), textcoords="offset points", ha=side,
                fontsize=4.0 * s, color=INK,
            )  # fmt: skip
    for seconds, color in ((row.paper_slide, INK), (row.paper_sda, _SDA)):
        if seconds:
            axes.plot([seconds], [place + 0.24], markeredgecolor=color, **_hollow(s))
    if row.speedup is not None:
        _write_right(axes, place, f"× {_times(row.speedup)}", s)


def errors_export(state: EvaluationState) -> FigureExport:
    """Return the export of the table of error rates."""
    return export_of("errors", state, draw_errors, errors_csv, texts=_texts(error_table(state)))


def times_export(rows: Sequence[TimeRow]) -> FigureExport:
    """Return the export of the table of running times."""
    return export_of("times", rows, draw_times, times_csv, texts=_texts(time_table(rows)))


def _texts(table: TextTable) -> dict[str, str]:
    return {".md": markdown(table), ".tex": latex(table)}
