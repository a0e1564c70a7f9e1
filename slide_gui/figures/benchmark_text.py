"""The paper's two tables, ours beside the paper's, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slide_gui.data.entries import entry
from slide_gui.data.files import write_whole
from slide_gui.experiments.benchmark_state import REFERENCE, BenchmarkState, Cell, DataInfo
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.paper import published
from slide_gui.experiments.protocol import plan
from slide_gui.experiments.timing import INCLUDED, TimeRow
from slide_gui.figures.table import RATE_HEAD, rate_cells, save_table

__all__ = [
    "COLUMNS",
    "INTERVALS",
    "MARKS",
    "TextTable",
    "error_table",
    "errors_csv",
    "latex",
    "markdown",
    "save_text",
    "seconds_text",
    "time_table",
    "times_csv",
    "unlearned",
]

COLUMNS = ("raw-svm", "sda", "sda-svm", "slide-svm", "median", "randproj-svm", "pca-svm", "white-svm")
"""Methods in the order of the paper's Table 1, SLIDE-SVM with median widths beside SLIDE-SVM."""

INTERVALS = (
    "Mean test error over the splits and its 95 % interval, both in %: Student’s t with k − 1 degrees of freedom for k "
    "splits, Wilson’s interval for one. Parameters are chosen on validation rows only."
)
"""What stands beside an error."""

MARKS = (
    "significantly more, significantly fewer errors than SLIDE-SVM: p < 0.05 after Holm’s correction over all "
    "comparisons of the table. Over several splits it is the corrected resampled t-test (Nadeau and Bengio 2003: "
    "variance × (1/k + n_test/n_train)); on one split, or where all splits differ by the same, McNemar’s exact test "
    "on the same test rows."
)
"""What the marks of the table mean, in this order."""

_MISSING = "–"
_NAMES = {method.text for method in METHODS.values()}


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    title : str
    head : tuple of str
    rows : tuple of tuple of str
    bold : frozenset of (row, column)
    notes : tuple of str
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]]
    notes: tuple[str, ...]


def error_table(state: BenchmarkState) -> TextTable:
    """Return the error rates: for each data set a row of ours and one of the paper's."""
    methods = [name for name in COLUMNS if name in state.methods]
    rows: list[tuple[str, ...]] = []
    bold = set()
    for info in state.data:
        cells = [state.cell(info.key, method) for method in methods]
        means = [None if cell is None or cell.rate is None else cell.rate.error for cell in cells]
        known = [mean for mean in means if mean is not None]
        bold |= {(len(rows), k + 1) for k, mean in enumerate(means) if known and mean == min(known)}
        rows.append(
            (info.title + (" (generated)" if info.generated else ""), *(_error_text(cell, state) for cell in cells))
        )
        papers = [None if cell is None or cell.paper is None else cell.paper.error for cell in cells]
        rows.append((_paper_row(info), *(_MISSING if error is None else f"{100 * error:.2f}" for error in papers)))
    names = {cell.method: cell.name for cell in state.cells}
    head = ("Error in %", *(names[method] for method in methods))
    notes = (
        INTERVALS,
        f"(+), (−): {MARKS}",
        "[k/n]: k of n splits are done. The paper averages over 50 (Rectangles), 10 (Rectangles-Images, Convex) and 1 "
        "(MNIST) splits.",
        *(info.reduced for info in state.data if info.reduced),
        *unlearned(state.data),
        *_other_notes(state),
    )
    return TextTable("Error rates", head, tuple(rows), frozenset(bold), notes)


def _paper_row(info: DataInfo) -> str:
    """Return the head of the paper's row; it names the data where ours are a stand-in of another name."""
    title = entry(info.key).title
    return "  paper" if title == info.title else f"  paper, {title}"


def _error_text(cell: Cell | None, state: BenchmarkState) -> str:
    if cell is None or cell.rate is None:
        return _MISSING
    text, comparison = cell.rate.cell, state.comparison(cell)
    if comparison is not None and comparison.significant:
        text += " (+)" if comparison.difference > 0 else " (−)"
    return text if cell.complete else f"{text} [{len(cell.answers)}/{cell.asked}]"


def unlearned(data: Sequence[DataInfo]) -> list[str]:
    """Return a sentence for each data set where SLIDE-SVM learns no widths."""
    plain = {cell.data for cell in plan(methods=[REFERENCE]) if cell.widths == "median"}
    return [
        f"{info.title}: no widths are learned there, as in the paper for its ten classes; SLIDE-SVM is SLIDE-SVM with "
        "median widths."
        for info in data
        if info.key in plain
    ]


def _other_notes(state: BenchmarkState) -> list[str]:
    """Return what others published for the data sets, in sentences."""
    by_place: dict[tuple[str, str], list[str]] = {}
    for info in state.data:
        for one in published(info.key):
            if one.method not in _NAMES:
                by_place.setdefault((one.method, one.place), []).append(
                    f"{entry(info.key).title} {100 * one.error:.2f}"
                )
    return [f"{method} ({place}): {', '.join(values)}." for (method, place), values in by_place.items()]


def seconds_text(seconds: float | None) -> str:
    """Return a duration for people."""
    if seconds is None:
        return _MISSING
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def time_table(rows: Sequence[TimeRow]) -> TextTable:
    """Return the running times of feature generation, and how many times faster SLIDE is."""
    head = ("Time", *(row.data.title + (" (generated)" if row.data.generated else "") for row in rows))
    lines = [
        ("SdA, as chosen on validation", [seconds_text(row.sda) for row in rows]),
        ("SdA, tutorial’s recipe*", [seconds_text(row.tutorial.seconds if row.tutorial else None) for row in rows]),
        ("SLIDE", [seconds_text(row.slide) for row in rows]),
        ("× speed-up over SdA as chosen", [_times(row.speedup) for row in rows]),
        ("× speed-up over the tutorial’s*", [_times(row.tutorial_speedup) for row in rows]),
        ("paper: SdA (GPU)", [seconds_text(row.paper_sda) for row in rows]),
        ("paper: SLIDE", [seconds_text(row.paper_slide) for row in rows]),
        ("paper: × speed-up", [_times(row.paper_speedup) for row in rows]),
    ]
    notes = [INCLUDED, *(row.data.reduced for row in rows if row.data.reduced)]
    first = next((row.tutorial for row in rows if row.tutorial is not None), None)
    if first is not None:
        units, epochs = first.parameters.n_units, first.parameters.pretraining_epochs
        notes.append(
            f"* {len(units)} × {units[0]} units, {epochs} epochs a layer, one row a step: EXTRAPOLATED from one epoch "
            f"of {first.rows} rows a layer, not measured whole."
        )
    notes += [f"SdA on {row.data.title}: {row.sda_chosen}." for row in rows if row.sda_chosen]
    return TextTable(
        "Running time of feature generation",
        head,
        tuple((name, *values) for name, values in lines),
        frozenset(),
        tuple(notes),
    )


def _times(ratio: float | None) -> str:
    return _MISSING if ratio is None else f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def markdown(table: TextTable) -> str:
    """Return a table as Markdown, with its notes below."""
    lines = [f"**{table.title}**", "", _bar(table.head), "|" + " --- |" * len(table.head)]
    for i, row in enumerate(table.rows):
        lines.append(_bar([f"**{cell}**" if (i, j) in table.bold else cell for j, cell in enumerate(row)]))
    return "\n".join([*lines, "", *(f"{note}\n" for note in table.notes)])


def _bar(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in cells) + " |"


def latex(table: TextTable) -> str:
    """Return a table as a LaTeX float, with its notes as the caption."""
    lines = [
        r"\begin{table}[t]",
        r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
        r"\hline",
    ]
    lines += [" & ".join(map(_tex, table.head)) + r" \\", r"\hline"]
    for i, row in enumerate(table.rows):
        cells = [rf"\textbf{{{_tex(cell)}}}" if (i, j) in table.bold else _tex(cell) for j, cell in enumerate(row)]
        lines.append(" & ".join(cells) + r" \\")
    caption = " ".join([f"{table.title}.", *table.notes])
    lines += [r"\hline", r"\end{tabular}", rf"\caption{{{_tex(caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "×": r"$\times$", "−": r"$-$", "–": "--", "’": "'", "~": r"\textasciitilde{}", "<": "$<$",
    "\u202f": r"\,",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text.strip())


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text whole or not at all, as UTF-8."""
    write_whole(Path(path), lambda file: file.write(text.encode()))


def errors_csv(path: str | os.PathLike[str], state: BenchmarkState) -> None:
    """Write one line a cell, with all that is known of it; then one line for each error that others published."""
    head = [
        "dataset", "generated", "method", *RATE_HEAD, "splits asked", "chosen", "feature generation (s)",
        "difference from SLIDE-SVM", "p against SLIDE-SVM", "p by Holm", "test", "paper", "published by",
    ]  # fmt: skip
    rows: list[list[object]] = []
    for info in state.data:
        for cell in state.of(info.key):
            other = state.comparison(cell)
            tested = [None] * 4 if other is None else [other.difference, other.p, other.adjusted, other.test]
            rows.append([
                info.title, info.generated, cell.name, *rate_cells(cell.rate), cell.asked, cell.chosen, cell.features,
                *tested, cell.paper and cell.paper.error, None,
            ])  # fmt: skip
        rows += [
            [entry(info.key).title, False, one.method, *[None] * (len(head) - 5), one.error, one.place]
            for one in published(info.key)
            if one.method not in _NAMES
        ]
    save_table(path, head, rows, notes=[INTERVALS, f"p by Holm < 0.05: {MARKS}", *unlearned(state.data)])


def times_csv(path: str | os.PathLike[str], rows: Sequence[TimeRow]) -> None:
    """Write one line a data set, in seconds."""
    head = ["dataset", "generated", "SLIDE (s)", "SdA as chosen (s)", "SdA tutorial, extrapolated (s)", "speed-up"]
    head += ["speed-up over tutorial", "paper SLIDE (s)", "paper SdA (s)", "paper speed-up", "SdA as chosen"]
    lines = [
        [
            row.data.title, row.data.generated, row.slide, row.sda, row.tutorial and row.tutorial.seconds, row.speedup,
            row.tutorial_speedup, row.paper_slide, row.paper_sda, row.paper_speedup, row.sda_chosen,
        ]
        for row in rows
    ]  # fmt: skip
    save_table(path, head, lines)
