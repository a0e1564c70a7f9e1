"""The table of runs as CSV: a line a run, a column for each attribute of `StoredRun` and the ends of its interval."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields

from slide_gui.experiments.stored_run import StoredRun
from slide_gui.figures.table import save_table

__all__ = ["runs_csv"]


def runs_csv(path: str | os.PathLike[str], lines: Sequence[StoredRun]) -> None:
    """Write the table; errors and the ends of their 95 % intervals are shares of 1.

    `created` are seconds since 1970, tags have a space between.

    Raises
    ------
    OSError
        If the file cannot be written; what stood there is untouched.
    """
    names = [field.name for field in fields(StoredRun)]
    rows = [[*(_cell(getattr(line, name)) for name in names), line.rate.low, line.rate.high] for line in lines]
    save_table(path, [*names, "low", "high"], rows)


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return int(value) if isinstance(value, bool) else value
