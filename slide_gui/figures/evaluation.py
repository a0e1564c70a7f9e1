"""The paper’s two tables as figures, Markdown, LaTeX and CSV, with the results of this program and of the paper."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import REFERENCE, is_extra, plan, published, row_title
from slide_gui.experiments.evaluation.table import INCLUDED, Cell, DataInfo, EvaluationState, TimeRow
from slide_gui.experiments.runs.spec import METHODS
from slide_gui.figures.canvas import INK, MUTED, PALE, SMALL_SIZE, SMALLEST, TEXT_SIZE, Box, Plot, fitted, wrapped
from slide_gui.figures.export import FigureExport, export_of
from slide_gui.figures.style import Style
from slide_gui.figures.tables import RATE_HEAD, rate_cells, save_table
from slide_gui.text import count, count_range, dataset_title, duration, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Methods in the order of the paper's Table 1, followed by the methods that this project adds.
COLUMNS = (
    "raw-svm", "sda", "sda-svm", "slide-svm", "randproj-svm", "pca-svm", "white-svm", "median", "learned",
    "mean-margin", "without-input", "convolution", "slide-white",
)  # fmt: skip

# Explanation of the star after the name of a method.
EXTRA = "* method of this project"

# Note below a table of errors that explains how candidates are selected.
SELECTION = (
    "Candidates are compared by their errors on validation rows. The full protocol uses two five-fold "
    "cross-validations, except on MNIST (one validation set) and for autoencoders (one fold). The quick protocol uses "
    "one fold. After each fold, candidates with clearly more errors than the best one are eliminated. The selected "
    "candidate is trained again on the whole training set."
)

# Note below a table of errors that lists the test rows used by earlier versions of the protocol.
SEEN = (
    "Earlier versions of the protocol were evaluated on the test rows of Rectangles, MNIST, generated Convex and "
    "Rectangles-Images, and on a quarter of the training set of Convex. The candidates were changed afterwards. No "
    "earlier version used the data sets with seeds 101 to 103."
)

# Note below a table of errors that explains how the confidence intervals are computed.
INTERVALS = (
    "Mean test error over the splits and its 95 % confidence interval. For several splits, the interval includes the "
    "variation over test rows and splits, and is never narrower than Wilson’s (two-way random effects; Student’s t "
    "with Satterthwaite’s degrees of freedom; below ten splits, the quantile is at least Cochran and Cox’s). For one "
    "split, it is Wilson’s interval over the test rows. All intervals are conditional on the training set."
)

# Explanation of the two marks in a table of errors: the first means more errors, the second fewer errors.
MARKS = (
    "significantly more, or fewer, errors than SLIDE-SVM (p < 0.05 after Holm’s correction over all comparisons of "
    "the table). For several splits, the test is a t-test of the mean difference over test rows and splits, which "
    "assumes that their effects are independent and approximately normal. For one split, or if the methods differ on "
    "the same rows in all splits, it is McNemar’s exact test, which assumes independent rows."
)


def notes_below(marks: str) -> tuple[str, ...]:
    """Return the notes below a table of errors. `marks` contains the two marks of significant differences."""
    return INTERVALS, f"{marks}: {MARKS}", f"{EXTRA}, which is not in the paper.", SELECTION, SEEN


def starred(method: str, title: str = "") -> str:
    """Return the title of a method, with a star if the method is not in the paper."""
    return f"{title or row_title(method)}{' *' if is_extra(method) else ''}"


_MISSING = "–"
_PAPER = "  paper"  # Titles of rows with the paper's results begin with this text.
_ABREAST = 4  # number of columns, each with an error and its interval, that fit on an A4 page
_NAMES = {method.text for method in METHODS.values()}


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are strings, to be written to a file or printed.

    Attributes
    ----------
    groups : tuple of int
        Number of columns in each group of columns after the first column; the remaining columns form the last group. If
        the table is split to fit on a page, each part contains columns of only one group.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]]
    notes: tuple[str, ...]
    groups: tuple[int, ...] = ()

    def blocks(self, escape: Callable[[str], str], bold: str) -> list[list[list[str]]]:
        """Split the table into parts that fit on an A4 page. Return the rows of each part with escaped cells.

        Each part begins with the first column of the table. Rows without values in the part are omitted, unless the
        next row has the paper's results for the same data. The format string `bold` sets a cell in bold.
        """

        def cell(i: int, j: int) -> str:
            text = escape(self.rows[i][j])
            return bold.format(text) if (i, j) in self.bold else text

        blocks, first = [], 1
        for size in (*self.groups, len(self.head) - 1 - sum(self.groups)):
            n = -(-size // _ABREAST)
            for k in range(n):
                places = [0, *range(first + size * k // n, first + size * (k + 1) // n)]
                known = {i for i, row in enumerate(self.rows) if any(row[j] != _MISSING for j in places[1:])}
                known |= {i - 1 for i in known if self.rows[i][0].startswith(_PAPER)}
                rows = [[cell(i, j) for j in places] for i in sorted(known)]
                if rows:
                    blocks.append([[escape(self.head[j]) for j in places], *rows])
            first += size
        return blocks


def error_table(state: EvaluationState) -> TextTable:
    """Return the table of error rates. Each data set has one row, and another row with the paper's results, if any."""
    names = {cell.method: starred(cell.method) for cell in state.cells}
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
        if any(papers):
            title = data_entry(info.key).title
            paper = _PAPER if title == info.title else f"{_PAPER}, {title}"
            rows.append((paper, *(_MISSING if error is None else f"{100 * error:.2f}" for error in papers)))
    head = ("Error in %", *(names[method] for method in methods))
    notes = (
        *notes_below("(+), (−)"),
        "[k/n]: k of n splits are complete. The paper averages over 50 (Rectangles), 10 (Rectangles-Images, Convex) "
        "and 1 (MNIST) splits.",
        *_notes_on(state.data),
        *_other_notes(state),
    )
    groups = (sum(not is_extra(method) for method in methods),)
    return TextTable("Error rates", head, tuple(rows), frozenset(bold), notes, groups)


def _error_text(cell: Cell | None, state: EvaluationState) -> str:
    if cell is None or cell.rate is None:
        return _MISSING
    text = cell.rate.cell + {"worse": " (+)", "better": " (−)"}.get(comparison_result(state, cell), "")
    return text if cell.complete else f"{text} [{len(cell.answers)}/{cell.n_splits}]"


def _notes_on(data: Sequence[DataInfo]) -> list[str]:
    """Return notes on data sets that have fewer rows than in the benchmark, or on which SLIDE-SVM learns no widths."""
    plain = {cell.data for cell in plan(methods=[REFERENCE]) if cell.widths == "median"}
    median = "SLIDE-SVM uses median widths here, because the paper does not learn widths for ten classes."
    notes = [info.reduced for info in data if info.reduced]
    return notes + [f"{info.title}: {median}" for info in data if info.key in plain]


def _other_notes(state: EvaluationState) -> list[str]:
    """Return notes with published errors of methods that are not part of this program."""
    by_place: dict[tuple[str, str], list[str]] = {}
    for info in state.data:
        for result in published(info.key):
            if result.method not in _NAMES:
                text = f"{data_entry(info.key).title} {100 * result.error:.2f}"
                by_place.setdefault((result.method, result.place), []).append(text)
    return [f"{method} ({place}): {', '.join(values)}." for (method, place), values in by_place.items()]


def time_table(rows: Sequence[TimeRow]) -> TextTable:
    """Return the table of running times of feature generation, with the speed-up of SLIDE over SdA."""
    head = ("Time", *(dataset_title(row.data.title, row.data.generated) for row in rows))
    lines = [
        ("SdA, selected by validation", [duration(row.sda) for row in rows]),
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
    """Return a table as Markdown, followed by its notes."""
    lines = [f"**{_md(table.title)}**", ""]
    for head, *rows in table.blocks(_md, "**{}**"):
        lines += [_bar(head), "|" + " --- |" * len(head), *map(_bar, rows), ""]
    return "\n".join([*lines, *(f"{_md(note)}\n" for note in table.notes)])


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    return re.sub(r"[\\`*_~$<>&|\[\]]", r"\\\g<0>", text.strip())


def latex(table: TextTable) -> str:
    """Return a table as a LaTeX float (environment ``table``), with its notes in the caption."""
    lines = [r"\begin{table}[p]", r"\centering\footnotesize"]
    for block in table.blocks(_tex, r"\textbf{{{}}}"):
        head, *rows = (" & ".join(cells) + r" \\" for cells in block)
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(block[0]) - 1)}}}", r"\hline", head, r"\hline"]
        lines += [*rows, r"\hline", r"\end{tabular}\par\medskip"]
    caption = " ".join([f"{table.title}.", *table.notes])
    return "\n".join([*lines, rf"\caption{{\footnotesize {_tex(caption)}}}", r"\end{table}"]) + "\n"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "×": r"$\times$", "−": r"$-$", "–": "--", "’": "'", "<": "$<$", ">": "$>$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "⁰": "$^0$", "\u202f": r"\,",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text.strip())


def errors_csv(path: str | os.PathLike[str], state: EvaluationState) -> None:
    """Write the errors as CSV. Each data set has one line per method and one per published error of other methods.

    The notes on the table are in the last column of its first row, because other programs would read lines below the
    table as data.
    """
    head = [
        "dataset", "generated", "method", "this project’s", *RATE_HEAD, "splits requested", "chosen",
        "feature generation (s)", "difference from SLIDE-SVM",
        "low end of its 95 % interval", "high end of its 95 % interval",
        "p against SLIDE-SVM", "p by Holm", "test", "paper", "published by",
    ]  # fmt: skip
    rows: list[list[object]] = []
    for info in state.data:
        for cell in state.of(info.key):
            test = state.comparison(cell)
            tested = [getattr(test, name, None) for name in ("difference", "low", "high", "p", "adjusted", "test")]
            rows.append([
                info.title, info.generated, cell.title, is_extra(cell.method), *rate_cells(cell.rate), cell.n_splits,
                cell.chosen, cell.features, *tested, cell.paper and cell.paper.error, None,
            ])  # fmt: skip
        for other in published(info.key):
            if other.method not in _NAMES:
                empty = [None] * (len(head) - 6)
                rows.append([data_entry(info.key).title, False, other.method, False, *empty, other.error, other.place])
    notes = " ".join([*notes_below("p by Holm < 0.05"), *_notes_on(state.data)])
    save_table(path, [*head, "notes"], ([*row, None if k else notes] for k, row in enumerate(rows)))


def times_csv(path: str | os.PathLike[str], rows: Sequence[TimeRow]) -> None:
    """Write the running times as CSV, one line per data set, in seconds."""
    head = ["dataset", "generated", "SLIDE (s)", "SdA as selected (s)", "speed-up"]
    head += ["paper SLIDE (s)", "paper SdA (s)", "paper speed-up", "SdA as selected", "notes"]
    names = ("data.title", "data.generated", "slide", "sda", "speedup", "paper_slide", "paper_sda", "paper_speedup")
    save_table(path, head, map(attrgetter(*names, "sda_chosen", "data.reduced"), rows))


# Colour and description of each result of a comparison with SLIDE-SVM.
COMPARED = {
    "reference": ("#1D1F24", "SLIDE-SVM"),
    "better": ("#0072B2", "significantly fewer errors than SLIDE-SVM"),
    "worse": ("#D55E00", "significantly more errors than SLIDE-SVM"),
    "equal": ("#8A8F99", "no significant difference from SLIDE-SVM"),
}

_ROW = 2.8  # height in mm of a row, which shows one method
_HEAD, _FOOT, _GAP = 5.0, 4.5, 1.5  # heights in mm: title of a panel, axis of a panel, gap between two panels
_TOP, _LEGEND = 9.0, 7.5
_VALUES_WIDTH, _NARROW = 26.0, 14.0  # widths in mm: numbers to the right of a panel, narrowest axis of a panel
_PAGE = 240.0  # height in mm of the printed area of an A4 page
_NOTE_SIZE, _NOTE_LINE = 4.0, 1.9  # type size in points and line spacing in mm of notes


def comparison_result(state: EvaluationState, cell: Cell) -> str:
    """Return the result of comparing a method with SLIDE-SVM on one data set: a key of `COMPARED`, or "" if unknown."""
    comparison = state.comparison(cell)
    if comparison is None:
        return "reference" if cell.method == REFERENCE else ""
    return "equal" if not comparison.significant else "worse" if comparison.difference > 0 else "better"


def draw_errors(figure: "Figure", state: EvaluationState, style: Style) -> None:
    """Draw the error rates with their confidence intervals, and the paper's error rates as hollow dots.

    Each data set has one panel. All panels show the same methods in the same order, with their names to the left of
    each row of panels. Panels are placed side by side if the figure would otherwise be taller than an A4 page or a
    slide. The errors are also written as numbers if there is enough space.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure. Its size comes from the style.

    Raises
    ------
    ValueError
        If no cell has a result.
    """
    known = {info.key: [cell for cell in state.of(info.key) if cell.rate is not None] for info in state.data}
    panels = [info for info in state.data if known[info.key]]
    if not panels:
        raise ValueError("there is nothing to draw: no results are available yet")
    titles = {cell.method: starred(cell.method) for cells in known.values() for cell in cells}
    methods = [method for method in COLUMNS if method in titles]
    s, space = style.scale, style.width_mm - 4.0 * style.scale
    notes = [*notes_below("Colours"), *_notes_on(state.data)]
    notes += ["k/n: k of n splits are complete."] * any(not each.complete for row in known.values() for each in row)
    lines = [line for note in notes for line in wrapped(note, _NOTE_SIZE * s, 0.96 * space)]
    foot = _LEGEND + _NOTE_LINE * len(lines)
    names_width = min(42.0, max(27.0, 0.24 * style.width_mm / s))
    least, abreast = _HEAD + _FOOT + _GAP + _ROW * len(methods), 1

    def height() -> float:
        return _TOP + -(-len(panels) // abreast) * least + foot

    def width() -> float:
        return (style.width_mm / s - names_width) / abreast

    while height() * s > (style.height_mm or _PAGE) and abreast < len(panels) and width() > 1.6 * _NARROW:
        abreast += 1
    plot = Plot(figure, style, height())
    plot.title("Test error of all methods, in %", "● measured here with its 95 % interval, ○ from the paper")
    high = (plot.height - (_TOP + foot) * s) / -(-len(panels) // abreast)  # Panels fill a slide, whose height is fixed.
    for number, info in enumerate(panels):
        row, column = divmod(number, abreast)
        box = (names_width + column * width()) * s, _TOP * s + row * high, width() * s, high - _GAP * s
        axes = _draw_panel(plot, state, info, {methods.index(cell.method): cell for cell in known[info.key]}, box)
        axes.set_ylim(len(methods) - 0.4, -0.6)
        axes.axhline(sum(not is_extra(method) for method in methods) - 0.5, color=PALE, linewidth=0.5 * s)
        names = [titles[method] if column == 0 else "" for method in methods]
        size = min(SMALL_SIZE, 2.2 * (high / s - _HEAD - _FOOT - _GAP) / len(methods))
        _name_lines(axes, names, (names_width - 4.0) * s, s, size)
    for number, (color, words) in enumerate(COMPARED.values()):
        row, column = divmod(number, 2)
        y = plot.height - (_NOTE_LINE * len(lines) + 5.2 - 2.8 * row) * s
        plot.key(2.0 * s + column * space / 2, y, words, color, space / 2 - 4.0 * s)
    for number, line in enumerate(reversed(lines)):
        plot.text(2.0 * s, plot.height - (1.4 + _NOTE_LINE * number) * s, line, _NOTE_SIZE, color=MUTED)


def _draw_panel(plot: Plot, state: EvaluationState, info: DataInfo, cells: Mapping[int, Cell], box: Box) -> "Axes":
    """Draw the errors on one data set, each in the row of its method, and return the axes."""
    s, (x, y, w, h) = plot.scale, box
    numbers = count_range([len(cell.answers) for cell in cells.values()])
    splits = f"{numbers} {plural('split', 'splits', 1 if numbers == '1' else 2)}"
    plot.text(x, y + 2.0 * s, dataset_title(info.title, info.generated), SMALL_SIZE, w - 2.0 * s, weight="bold")
    rows = f"{splits}, {count(info.n_train)} / {count(info.n_test)} rows"
    plot.text(x, y + 4.2 * s, rows, 4.0, w - 2.0 * s, 3.0, color=MUTED)
    values = _VALUES_WIDTH if w >= (_VALUES_WIDTH + _NARROW) * s else 3.0
    axes = plot.axes((x, y + _HEAD * s, w - values * s, h - (_HEAD + _FOOT) * s), f"errors {info.key}")
    for place, cell in cells.items():
        _draw_cell(axes, state, cell, place, s, with_value=values == _VALUES_WIDTH)
    low, high = axes.get_xlim()
    axes.set_xlim(max(0.0, low - 0.05 * (high - low)), high + 0.05 * (high - low))
    axes.locator_params(axis="x", nbins=4)
    return axes


def _name_lines(axes: "Axes", names: Sequence[str], space: float, s: float, size: float = SMALL_SIZE) -> None:
    """Write a name to the left of each row of a plot, and replace the horizontal grid lines by vertical ones."""
    pairs = [fitted(name, size * s, space, min(size, SMALLEST) * s) for name in names]
    axes.set_yticks(range(len(names)), [name for name, _ in pairs], parse_math=False)
    axes.tick_params(axis="y", labelsize=min(size for _, size in pairs), length=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color="#E2E3E7", linewidth=0.4 * s)


def _write_right(axes: "Axes", place: float, text: str, s: float) -> None:
    """Write text to the right of the plot, next to the row at y = `place`."""
    axes.annotate(
        text, (1.0, place), (5.0 * s, 0.0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
        va="center", fontsize=4.5 * s, color=INK,
    )  # fmt: skip


def _draw_cell(axes: "Axes", state: EvaluationState, cell: Cell, place: int, s: float, *, with_value: bool) -> None:
    assert cell.rate is not None
    color, _ = COMPARED.get(comparison_result(state, cell), (PALE, ""))
    axes.plot([100 * cell.rate.low, 100 * cell.rate.high], [place, place], color=color, linewidth=1.2 * s)
    axes.plot(
        [100 * cell.rate.error], [place], color=color, marker="o", markersize=3.2 * s, markeredgewidth=0, linestyle=""
    )
    if cell.paper is not None:
        axes.plot([100 * cell.paper.error], [place], markeredgecolor=MUTED, zorder=1.5, **_hollow(s))
    if with_value:
        text = cell.rate.cell if cell.complete else f"{cell.rate.cell}  {len(cell.answers)}/{cell.n_splits}"
        _write_right(axes, place, text, s)


def _hollow(s: float) -> dict[str, Any]:
    """Return the matplotlib properties of a hollow dot, which marks a value from the paper."""
    marker = {"marker": "o", "markersize": 3.4 * s, "markerfacecolor": "white", "markeredgewidth": 0.7 * s}
    return marker | {"linestyle": ""}


def draw_times(figure: "Figure", rows: Sequence[TimeRow], style: Style) -> None:
    """Draw the running times of feature generation on a logarithmic axis.

    Measured times are filled dots, and the paper's times are hollow dots.

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
        raise ValueError("there is nothing to draw: no running time has been measured yet")
    plot = Plot(figure, style, 27.0 + 9.0 * len(rows))
    s = plot.scale
    reduced = ", which used other numbers of rows" if any(row.data.reduced for row in rows) else ""
    plot.title("Running time of feature generation", f"● measured here, ○ from the paper{reduced}")
    left, right, top, bottom = 44.0 * s, 19.0 * s, 11.0 * s, 13.0 * s
    axes = plot.axes((left, top, plot.width - left - right, plot.height - top - bottom), "times")
    axes.set_xscale("log")
    axes.minorticks_off()
    for place, row in enumerate(rows):
        _draw_time(axes, row, place, s)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _name_lines(axes, [dataset_title(row.data.title, row.data.generated) for row in rows], left - 1.5 * s, s)
    axes.set_xlabel("seconds (log)", fontsize=TEXT_SIZE * s, color=INK, labelpad=1.5 * s)
    for number, (name, color) in enumerate((("SLIDE", INK), ("SdA as selected", _SDA))):
        plot.key(2.0 * s + number * (plot.width - 4.0 * s) / 3, plot.height - 2.4 * s, name, color)


_SDA = "#D55E00"


def _draw_time(axes: "Axes", row: TimeRow, place: int, s: float) -> None:
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
