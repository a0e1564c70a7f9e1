"""Read a text table with missing cells, and write it with these cells filled. All other bytes remain unchanged."""

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.encoding import START, utf8_start, utf8_stream, utf16_coding, with_row_lines
from slide_gui.data.readers.table_layout import TableLayout, table_layout
from slide_gui.data.reading import AS_GUESSED, NO_COLUMN, ParseOptions
from slide_gui.progress import NO_PROGRESS, Progress

_DIGITS = 4  # a filled cell has this number of digits after the leading digit of its column's standard deviation


@dataclass(frozen=True, eq=False)
class IncompleteTable:
    """A text table with missing cells.

    Attributes
    ----------
    rows : ndarray of shape (n, d), float64
        The columns of numbers. Missing cells are NaN.
    columns : tuple of int
        Indices of the columns of `rows` in the file. Other columns contain labels, groups, text, or the words
        True and False, or were left out.
    layout : TableLayout
        The layout of the table, with the names of all columns.
    raw : bytes
        Contents of the file.
    """

    rows: NDArray[np.float64]
    columns: tuple[int, ...]
    layout: TableLayout
    raw: bytes

    def with_filled(self, filled: NDArray[np.floating], scale: NDArray[np.float64]) -> bytes:
        """Return the contents of the file with missing cells filled.

        Parameters
        ----------
        filled : ndarray of shape (n, d)
            Values of all cells. A missing cell whose value is NaN stays missing.
        scale : ndarray of shape (d,)
            The standard deviation of each column, which determines the number of decimals.
        """
        # Text that is decoded and encoded as Latin-1 keeps all its bytes, whether it is UTF-8 or Windows-1252.
        encoding = utf16_coding(self.raw) or "latin-1"
        text, mark = self.raw.decode(encoding), self.layout.delimiter.decode()
        bom = next(each for each in ("\ufeff", codecs.BOM_UTF8.decode("latin-1"), "") if text.startswith(each))
        lines, escaped = text[len(bom) :].split("\n"), re.escape(mark)
        cell = re.compile(rf'( *(?:"(?:[^"]|"")*"?)?[^{escaped}]*)(?:{escaped}|$)')
        of_rows = [k for k in range(self.layout.first_line - 1, len(lines)) if mark in lines[k]]
        decimals = _DIGITS - np.floor(np.log10(scale)).astype(int)
        missing = np.isnan(self.rows) & ~np.isnan(filled)
        for row in np.flatnonzero(missing.any(axis=1)).tolist():
            content = lines[of_rows[row]].rstrip("\r")
            cells, end = cell.findall(content), lines[of_rows[row]][len(content) :]
            for k in np.flatnonzero(missing[row]).tolist():
                number = f"{round(float(filled[row, k]), int(decimals[k])):.15g}"
                number = number.replace(".", ",") if self.layout.decimal_commas else number
                cells[self.columns[k]] = f'"{number}"' if mark in number else number
            lines[of_rows[row]] = mark.join(cells[: len(self.layout.columns)]) + end
        return (bom + "\n".join(lines)).encode(encoding)


def read_incomplete(
    path: Path, reading: ParseOptions = AS_GUESSED, *, progress: Progress = NO_PROGRESS
) -> IncompleteTable:
    """Read the columns of numbers of a table with commas, semicolons, tabs or vertical bars.

    A column of numbers is the label column only if the options select it or if it has a name for labels, such as class.

    Raises
    ------
    DataError
        If the file is not a table with one of these separators, or if it has no columns of numbers.
    """
    place, size = str(path), path.stat().st_size
    check_memory(10 * size, place)
    raw = b"\0" if path.is_dir() else path.read_bytes()
    if b"\0" in utf8_start(raw[:START]):
        raise DataError("is not a text file; give a table (.csv), extracted if it is compressed", place)
    with path.open("rb") as file:
        layout = table_layout(utf8_stream(file, size, place, progress=progress)[0], reading, place)
    text = raw.decode(utf16_coding(raw) or "latin-1").encode()
    if not layout.delimiter or layout.packed or with_row_lines(text) != text:
        problem = "has spaces between numbers, single quotes, line breaks in cells, or Mac line ends; save plain CSV"
        raise DataError(problem, place)
    apart = [layout.columns[k] for k in (layout.label, layout.group, *layout.truth_values) if k is not None]
    reading = replace(reading, label_column=NO_COLUMN, group=None, left_out=(*reading.left_out, *apart))
    part = read_csv(path, reading, progress=progress)
    columns = tuple(k for k in range(len(layout.columns)) if k not in part.opened.left_out)
    return IncompleteTable(part.rows.astype(np.float64), columns, layout, raw)
