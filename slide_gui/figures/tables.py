"""Tables of numbers as CSV, of runs too: numbers read back exactly, UTF-8, lines end in CR LF (RFC 4180).

Spreadsheets take a text that begins with ``=``, ``+``, ``-`` or ``@`` for a formula: an apostrophe goes before it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from slide_gui.data.files import write_whole
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.stored_run import READABLE, StoredRun
from slide_gui.text import csv_text

__all__ = ["RATE_HEAD", "rate_cells", "runs_csv", "save_table"]


RATE_HEAD = (
    "error", "low end of 95 % interval", "high end", "rows judged", "runs", "spread between runs", "interval covers",
)  # fmt: skip
"""Names of the columns of an error rate."""


def rate_cells(rate: ErrorRate | None) -> list[object]:
    """Return the cells of these columns; empty where there is no rate."""
    if rate is None:
        return [None] * len(RATE_HEAD)
    return [rate.error, rate.low, rate.high, rate.n, rate.n_splits, rate.spread, rate.covers]


def save_table(
    path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()
) -> None:
    """Write a table whole or not at all.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Texts, whole numbers, floats; None leaves a cell empty. Texts are written as `slide_gui.text.csv_text` returns
        them.
    notes : sequence of str
        Lines below the table, each one cell that begins with ``# ``.

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in (head, *rows):
        writer.writerow([_written(cell) for cell in row])
    writer.writerows([f"# {note}"] for note in notes)
    write_whole(Path(path), lambda file: file.write(text.getvalue().encode()))


def _written(cell: object) -> object:
    if isinstance(cell, str):
        return csv_text(cell)
    return repr(cell) if isinstance(cell, float) else cell


def runs_csv(path: str | os.PathLike[str], lines: Sequence[StoredRun]) -> None:
    """Write the table but for the errors by row; errors and the ends of their 95 % intervals are shares of 1.

    `created` are seconds since 1970, tags have a space between.

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    rows = [[*(_cell(getattr(line, name)) for name in READABLE), line.rate.low, line.rate.high] for line in lines]
    save_table(path, [*READABLE, "low", "high"], rows)


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return int(value) if isinstance(value, bool) else value
