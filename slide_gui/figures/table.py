"""Tables of numbers as CSV: numbers read back exactly, UTF-8, lines end in CR LF (RFC 4180)."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from slide_gui.data.files import write_whole

__all__ = ["save_table"]


def save_table(path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table whole or not at all.

    Parameters
    ----------
    path : path-like
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Texts, whole numbers, floats; None leaves a cell empty.

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
    write_whole(Path(path), lambda file: file.write(text.getvalue().encode()))
