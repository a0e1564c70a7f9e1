"""Tables of comma-, semicolon- or tab-separated numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.readers.arrays import SMALLEST_SQUARE
from slide_gui.data.readers.parts import LABEL_BOUND, Part, role_of, square_shape, whole_labels
from slide_gui.data.readers.tables import Table, read_table
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["DELIMITERS", "read_csv"]

DELIMITERS = (b",", b";", b"\t")
_LABEL_NAMES = ("label", "labels", "class", "y", "target")
_LONGEST_LINE = 1 << 24
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark


def read_csv(path: Path, *, progress: Progress = NO_PROGRESS) -> Part:
    """Read a table of numbers, one sample a line, with or without a line of column names.

    The labels are, in this order: the column named label, labels, class, y or target; nothing, if the table
    has no names and all its columns make a square image of at least 8 × 8; the last column, if it holds whole
    numbers, and more than one value; the first column on the same terms, if the others make a square image.
    Otherwise there are none. Features whose number is a perfect square of at least 64 are taken for square
    images.

    Raises
    ------
    DataError
        If the file is empty, a line has the wrong width or holds what is no finite number (the message names
        the line), named labels are not whole, or there are fewer than four features.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        line, number = _first_line(stream, place)
        delimiter = max(DELIMITERS, key=line.count)
        cells = _cells(line, delimiter, place)
        names = [] if all(_is_number(cell) for cell in cells) else cells
        named = next((i for i, name in enumerate(names) if name.strip().lower() in _LABEL_NAMES), None)
        table = read_table(
            stream,
            size,
            place,
            columns=len(cells),
            apart=-1 if named is None else named,
            delimiter=delimiter,
            head=b"" if names else line,
            first_line=number + bool(names),
            progress=progress,
        )
    rows, labels = _split(table, named is not None, bool(names), place)
    return Part(rows, labels, square_shape(rows.shape[1], SMALLEST_SQUARE), place, role_of(path.name), finite=True)


def _first_line(stream: BinaryIO, place: str) -> tuple[bytes, int]:
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        line = line.removeprefix(_MARK) if number == 1 else line
        if line.strip() and not line.startswith(b"#"):
            return (line if line.endswith(b"\n") else line + b"\n"), number
    raise DataError("holds no rows of numbers; expected one sample a line", place)


def _cells(line: bytes, delimiter: bytes, place: str) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace").rstrip("\r\n")], delimiter=delimiter.decode()))
    except (csv.Error, StopIteration) as error:
        raise DataError("its first line is no list of numbers or column names", place) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _split(
    table: Table, named: bool, has_names: bool, place: str
) -> tuple[NDArray[np.float32], NDArray[np.int64] | None]:
    """Decide which column holds the labels."""
    rows, last = table.rows, table.column
    if named:
        return rows, whole_labels(last, place)
    d = rows.shape[1] + 1
    unlabelled_image = not has_names and square_shape(d, SMALLEST_SQUARE) is not None
    if not unlabelled_image and _look_like_labels(last):
        return rows, whole_labels(last, place)
    everything = np.column_stack([rows, last.astype(np.float32)])
    if not unlabelled_image and square_shape(d - 1, SMALLEST_SQUARE) and _look_like_labels(everything[:, 0]):
        return np.ascontiguousarray(everything[:, 1:]), whole_labels(everything[:, 0], place)
    return everything, None


def _look_like_labels(values: NDArray[np.floating]) -> bool:
    whole = np.abs(values).max() < LABEL_BOUND and bool((np.rint(values) == values).all())
    return whole and values.min() < values.max()
