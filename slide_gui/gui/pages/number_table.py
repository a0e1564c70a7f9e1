"""The numbers that a view shows, as a table with a name for every row and column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NumberTable"]

Cells = Sequence[Sequence[object]] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """What is shown elsewhere as a picture.

    Attributes
    ----------
    title : str
        What the numbers are.
    keys : tuple of str
        What it is that names a row, e.g. ("noise", "depth").
    names : sequence of tuple of str
        Of each row, one text a key.
    heads : tuple of str
        Of the columns, after the keys.
    cells : sequence of rows, or ndarray of shape (rows, columns)
        Numbers, texts, or None where there is nothing.
    """

    title: str
    keys: tuple[str, ...]
    names: Sequence[tuple[str, ...]]
    heads: tuple[str, ...]
    cells: Cells

    @classmethod
    def of_text(cls, title: str, text: str, keys: int = 1) -> NumberTable:
        """Return what is written as lines separated by tabs, the first with titles; the first `keys` name a row."""
        heads, *lines = [tuple(line.split("\t")) for line in text.split("\n")]
        lines = [(*line, *[""] * (len(heads) - len(line))) for line in lines]  # some end early
        names = [line[:keys] for line in lines]
        return cls(title, heads[:keys], names, heads[keys:], [line[keys:] for line in lines])

    def shown(self, row: int, column: int) -> str:
        """Return a cell to be read: four digits of a number, a dash for what is none."""
        value = self.cells[row][column]
        if isinstance(value, float | np.floating):
            return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"
        return "" if value is None else str(value)

    def exact(self, row: int, column: int) -> str:
        """Return a cell to be read back: every digit of a number, nothing for what is none."""
        value = self.cells[row][column]
        if isinstance(value, float | np.floating):
            return repr(value.item() if isinstance(value, np.floating) else value) if math.isfinite(value) else ""
        return "" if value is None else str(value)

    def row_name(self, row: int) -> str:
        """Return in words which row it is; a text says what it is itself, a number by its key."""
        texts = zip(self.keys, self.names[row], strict=True)
        return ", ".join(f"{key} {text}" if text[:1].isdecimal() else text for key, text in texts)

    def text(self, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> str:
        """Return it separated by tabs, with a line of titles, or only some of its rows and columns."""
        rows = range(len(self.names)) if rows is None else rows
        columns = range(len(self.heads)) if columns is None else columns
        lines = [(*self.keys, *(self.heads[k] for k in columns))]
        lines += [(*self.names[i], *(self.exact(i, k) for k in columns)) for i in rows]
        return "\n".join("\t".join(line) for line in lines)
