"""Tables of numbers as CSV: numbers read back exactly, UTF-8, lines end in CR LF (RFC 4180)."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from slide_gui.data.files import write_whole
from slide_gui.error_rate import ErrorRate

__all__ = ["RATE_HEAD", "rate_cells", "save_table"]

RATE_HEAD = ("error", "low end of 95 % interval", "high end", "rows judged", "runs", "spread between runs")
"""Names of the columns of an error rate."""


def rate_cells(rate: ErrorRate | None) -> list[object]:
    """Return the cells of these columns; empty where there is no rate."""
    if rate is None:
        return [None] * len(RATE_HEAD)
    return [rate.error, rate.low, rate.high, rate.n, rate.n_splits, rate.spread]


def save_table(
    path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()
) -> None:
    """Write a table whole or not at all.

    Parameters
    ----------
    path : path-like
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Texts, whole numbers, floats; None leaves a cell empty.
    notes : sequence of str
        Lines below the table, each one cell that begins with ``# ``.

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    for row in rows:
        writer.writerow([repr(cell) if isinstance(cell, float) else cell for cell in row])
    writer.writerows([f"# {note}"] for note in notes)
    write_whole(Path(path), lambda file: file.write(text.getvalue().encode()))
