"""Write tables of numbers as CSV, including the table of runs.

Numbers are written without rounding. Files are UTF-8, and lines end in CR LF (RFC 4180). An apostrophe is added before
strings that begin with ``=``, ``+``, ``-`` or ``@``, because spreadsheets would interpret them as formulas.
"""

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from slide_gui.data.files import write_whole
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.store.stored_run import READABLE, StoredRun
from slide_gui.text import csv_text

# Names of the columns that describe an error rate in a table.
RATE_HEAD = (
    "error", "low end of 95 % interval", "high end", "rows evaluated (smallest run)", "runs", "spread between runs",
    "interval covers",
)  # fmt: skip


def rate_cells(rate: ErrorRate | None) -> list[object]:
    """Return the values of the columns `RATE_HEAD` for an error rate, or None for each column if `rate` is None."""
    if rate is None:
        return [None] * len(RATE_HEAD)
    return [rate.error, rate.low, rate.high, rate.n, rate.n_splits, rate.spread, rate.covers]


def save_table(path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV atomically.

    Parameters
    ----------
    head : sequence of str
        Column names.
    rows : iterable of sequences
        Strings, integers or floats; None for an empty cell. Strings are converted by `slide_gui.text.csv_text`.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file then remains unchanged.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in (head, *rows):
        cells = [csv_text(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow([repr(cell) if isinstance(cell, float) else cell for cell in cells])
    write_whole(Path(path), text.getvalue().encode())


def runs_csv(path: str | os.PathLike[str], lines: Sequence[StoredRun]) -> None:
    """Write the table of runs as CSV, without the errors of individual rows.

    Errors and the limits of their confidence intervals are fractions, from 0 to 1. The column `created` contains the
    time as the number of seconds since 1970. Tags are separated by commas.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file then remains unchanged.
    """
    rows = [[*map(_cell, line.document().values()), line.rate.low, line.rate.high] for line in lines]
    save_table(path, [*READABLE, "low", "high"], rows)


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return (", " if all(isinstance(each, str) for each in value) else " ").join(map(str, value))
    return int(value) if isinstance(value, bool) else value
