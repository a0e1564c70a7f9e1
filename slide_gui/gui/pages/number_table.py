"""Tables of the numbers that a view draws, with names for rows and columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = Sequence[Sequence[object]] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """The numbers of a picture as a table.

    Attributes
    ----------
    title : str
        Name of the quantity.
    keys : tuple of str
        Names of the columns that identify a row, such as ("noise", "depth").
    names : sequence of tuple of str
        Name of each row, with one text per key.
    heads : tuple of str
        Headings of the columns after the keys.
    cells : sequence of rows, or ndarray of shape (rows, columns)
        Numbers or texts; None for an empty cell.
    """

    title: str
    keys: tuple[str, ...]
    names: Sequence[tuple[str, ...]]
    heads: tuple[str, ...]
    cells: Cells

    @classmethod
    def of_text(cls, title: str, text: str, keys: int = 1) -> NumberTable:
        """Return a table from tab-separated lines, whose first line has titles; the first `keys` columns name a row."""
        heads, *lines = [tuple(line.split("\t")) for line in text.split("\n")]
        lines = [(*line, *[""] * (len(heads) - len(line))) for line in lines]  # short lines get empty cells
        names = [line[:keys] for line in lines]
        return cls(title, heads[:keys], names, heads[keys:], [line[keys:] for line in lines])

    @classmethod
    def of_confusion(cls, title: str, names: Sequence[str], counts: NDArray[Any]) -> NumberTable:
        """Return a confusion matrix with true classes in rows."""
        heads = tuple(f"predicted as {name}" for name in names)
        return cls(title, ("class",), [(name,) for name in names], heads, counts.tolist())

    def shown(self, row: int, column: int) -> str:
        """Return the text of a cell for display: numbers with four digits, a dash for an empty cell."""
        value = self.cells[row][column]
        if isinstance(value, float | np.floating):
            return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"
        return "" if value is None else str(value)

    def exact(self, row: int, column: int) -> str:
        """Return the text of a cell without loss: numbers with all digits, "" for an empty cell."""
        value = self.cells[row][column]
        if isinstance(value, float | np.floating):
            return repr(value.item() if isinstance(value, np.floating) else value) if math.isfinite(value) else ""
        return "" if value is None else str(value)

    def row_name(self, row: int) -> str:
        """Return the name of a row in words; a number is preceded by its key."""
        texts = zip(self.keys, self.names[row], strict=True)
        return ", ".join(f"{key} {text}" if text[:1].isdecimal() else text for key, text in texts)

    def text(self, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> str:
        """Return selected or all rows and columns as tab-separated text with a line of titles."""
        rows = range(len(self.names)) if rows is None else rows
        columns = range(len(self.heads)) if columns is None else columns
        lines = [(*self.keys, *(self.heads[k] for k in columns))]
        lines += [(*self.names[i], *(self.exact(i, k) for k in columns)) for i in rows]
        return "\n".join("\t".join(line) for line in lines)
