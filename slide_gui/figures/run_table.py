"""The table of runs as CSV: a line a run, a column for each attribute of `StoredRun`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields

from slide_gui.experiments.stored_run import StoredRun
from slide_gui.figures.table import save_table

__all__ = ["runs_csv"]


def runs_csv(path: str | os.PathLike[str], lines: Sequence[StoredRun]) -> None:
    """Write the table; errors are shares of 1, `created` seconds since 1970, tags have a space between.

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    names = [field.name for field in fields(StoredRun)]
    save_table(path, names, [[_cell(getattr(line, name)) for name in names] for line in lines])


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return int(value) if isinstance(value, bool) else value
