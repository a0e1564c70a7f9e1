"""The evaluation's two tables as what can be exported: drawn, as numbers, as LaTeX and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from slide_gui.experiments.benchmark_state import BenchmarkState
from slide_gui.experiments.timing import TimeRow
from slide_gui.figures.benchmark import draw_errors, draw_times
from slide_gui.figures.benchmark_text import TextTable, error_table, errors_csv, latex, markdown, time_table, times_csv
from slide_gui.figures.sheet import Sheet, sheet_of

__all__ = ["errors_sheet", "times_sheet"]


def errors_sheet(state: BenchmarkState) -> Sheet:
    """Return the table of error rates."""
    return sheet_of("errors", state, draw_errors, errors_csv, texts=_texts(error_table(state)))


def times_sheet(rows: Sequence[TimeRow]) -> Sheet:
    """Return the table of running times."""
    return sheet_of("times", rows, draw_times, times_csv, texts=_texts(time_table(rows)))


def _texts(table: TextTable) -> dict[str, str]:
    return {".md": markdown(table), ".tex": latex(table)}
