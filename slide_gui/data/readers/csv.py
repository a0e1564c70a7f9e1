"""Read tables of numbers separated by commas, semicolons or tabs, optionally with column names and class names."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.readers.arrays import SMALLEST_SQUARE
from slide_gui.data.readers.encoding import utf8_stream
from slide_gui.data.readers.parts import (
    LABEL_BOUND,
    MOST_CLASSES,
    DataPart,
    is_missing,
    role_of,
    skipped_guess,
    square_guess,
    square_shape,
)
from slide_gui.data.readers.tables import LATE_COMMENT, Table, fits_float32, read_table
from slide_gui.data.reading import (
    AS_GUESSED,
    LABEL_NAMES,
    NO_COLUMN,
    Guess,
    ParseOptions,
    ParseReport,
    UndecidedColumnsError,
)
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name, counted, plural

DELIMITERS = (b",", b";", b"\t")
_LONGEST_LINE = 1 << 24
_INSPECTED = 200  # lines that decide whether a column is text or numbers
_INSPECTED_BYTES = 1 << 22
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d*),(\d+)([eE][+-]?\d+)?\s*", re.ASCII)
"""A number with a decimal comma and optional points between groups of three digits."""


def read_csv(
    path: Path, reading: ParseOptions = AS_GUESSED, *, like: DataPart | None = None, progress: Progress = NO_PROGRESS
) -> DataPart:
    """Read a table of numbers, one sample per line, with or without a line of column names.

    The first line contains column names if a column has numbers below it but no number in it.

    The first rule that applies decides the labels:

    1. The column of the option `label_column`.
    2. The column named label, labels, class, y or target; a text column first. Next to a column x, y is a coordinate.
    3. The only text column. Each different text is a class, numbered in alphabetical order.
    4. No labels, if the table has no names and its columns make a square image of at least 8 × 8.
    5. The last column, if it has integers of more than one value.
    6. The first column, if it has such integers and the other columns make a square image.

    If the number of features is a perfect square of at least 64, the rows are guessed to be square images.

    The text is UTF-8, UTF-16 with a byte order mark, or else Windows-1252. Lines before the first row or the names that
    begin with ``#`` are comments. Blank lines are skipped. Numbers have a decimal point, or all a decimal comma.

    Parameters
    ----------
    path : Path
    reading : ParseOptions
        Options for reading; the rest is guessed.
    like : DataPart, optional
        The training set of this test set. The label column has the same name or, without names, the same position. A
        table without this column has no labels.
    progress : Progress
        Reports the fraction of the text read.

    Raises
    ------
    DataError
        If the file is empty, a cell is missing, or all columns are left out. Also if a line has the wrong number of
        cells or a number that is not finite; the message names the line.
    UndecidedColumnsError
        If text columns are neither the labels nor left out.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as file:
        stream, size, encoding = utf8_stream(file, size, place, progress=progress)
        layout = _layout(stream, reading, like, place)
        stream.seek(layout.start)
        text: BinaryIO = stream
        encoder = None
        if layout.label in layout.text or layout.left_out or layout.decimal_commas:
            encoder = _CellEncoder(stream, layout, place)
            text = cast(BinaryIO, io.BufferedReader(encoder, 1 << 18))
        table = read_table(
            text,
            size,
            place,
            columns=layout.columns,
            apart=-1 if layout.label is None else layout.label,
            delimiter=layout.delimiter,
            first_line=layout.first_line,
            progress=progress,
        )
    skipped = skipped_guess(layout.comments, layout.blanks + table.blanks)
    layout = replace(layout, guesses=(*encoding, *skipped, *layout.guesses))
    if encoder is not None and layout.label in layout.text:
        labels: NDArray[np.generic] | None = encoder.labels(table.column)
        part = _part(layout, table.rows, labels, encoder.names, layout.label, layout.guesses, path)
    else:
        rows, labels, label, guesses, unlabelled = _split_labels(table, layout, layout.reading)
        part = _part(layout, rows, labels, (), label, (*layout.guesses, *guesses), path, unlabelled)
    return part if encoder is None or layout.group is None else replace(part, group_names=tuple(encoder.groups))


def _part(
    layout: _Layout,
    rows: NDArray[np.floating],
    labels: NDArray[np.generic] | None,
    label_names: tuple[str, ...],
    label: int | None,
    guesses: tuple[Guess, ...],
    path: Path,
    unlabelled: str = "",
) -> DataPart:
    features = [k for k in range(layout.columns) if k != label]
    groups = None if layout.group is None else rows[:, features.index(layout.group)].astype(np.int64)
    if layout.left_out:
        rows = np.ascontiguousarray(rows[:, [k not in layout.left_out for k in features]])
        features = [k for k in features if k not in layout.left_out]
        if not features:
            raise DataError("has only labels and columns left out; keep at least one feature", str(path))
    shape = square_shape(rows.shape[1], SMALLEST_SQUARE)
    shown = layout.names or tuple(str(k + 1) for k in range(layout.columns))
    guesses = (*guesses, *square_guess(shape))
    opened = ParseReport(shown, label, bool(layout.names), guesses, unlabelled, tuple(sorted(layout.text)))
    names = tuple(layout.names[k] for k in features) if layout.names else ()
    return DataPart(rows, labels, shape, str(path), role_of(path.name), label_names, True, names, opened, groups)


@dataclass(frozen=True)
class _Layout:
    """The layout of a table, detected from its first lines.

    Attributes
    ----------
    reading : ParseOptions
        The options, completed from the training set.
    names : tuple of str
        Column names; empty without a line of names.
    columns : int
        Number of columns.
    label : int or None
        Index of the label column; None if the numbers must decide it.
    text, left_out : frozenset of int
        Indices of the text columns, and of the columns that are not features.
    start, first_line : int
        Byte offset and line number of the first row.
    comments, blanks : int
        Numbers of comment lines and blank lines before the first row.
    decimal_commas : bool
        True if the numbers have decimal commas.
    group : int or None
        Index of the group column, which is also in `left_out`.
    """

    reading: ParseOptions
    delimiter: bytes
    names: tuple[str, ...]
    columns: int
    label: int | None
    text: frozenset[int]
    left_out: frozenset[int]
    start: int
    first_line: int
    comments: int
    blanks: int
    decimal_commas: bool
    group: int | None
    guesses: tuple[Guess, ...] = ()


def _layout(stream: BinaryIO, reading: ParseOptions, like: DataPart | None, place: str) -> _Layout:
    """Detect the layout of a table from its first lines."""
    lines, comments, blanks = _first_lines(stream, place)
    line, number, start = lines[0]
    delimiter = _delimiter([line for line, _, _ in lines], place)
    rows = [_cells(line, delimiter, place) for line, _, _ in lines]
    with_commas = [cell.strip() for row in rows for cell in row if _COMMA_NUMBER.fullmatch(cell)]
    decimal_commas = bool(with_commas) and not any("." in cell and _is_number(cell) for row in rows for cell in row)
    if decimal_commas:
        rows = [[_with_point(cell) for cell in row] for row in rows]
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(first) == 1:
        raise DataError(
            f"line {number} has one column; separate the numbers with commas, semicolons or tabs",
            place,
        )
    header, sure = _has_header(first, below, reading)
    names = _unique_names(first) if header else ()
    if not header and reading.header is None and comments:
        names = _commented_names(comments[-1], delimiter, len(first), place)
    samples = below if header else [first, *below]
    text = _text_columns(samples, len(first))
    reading = _options_like(reading, like, names, len(first), place)
    left_out = frozenset(_requested_column(each, names, len(first), place) for each in reading.left_out)
    group = None if reading.group is None else _requested_column(reading.group, names, len(first), place)
    if group is not None:
        left_out |= {group}
    label, why = _label_column(names, len(first), text - left_out, reading, place)
    if label in left_out:
        raise DataError(
            f"column {_shown(label, names)} is the label column; choose another to leave out or for groups", place
        )
    marked = sorted(k for k in text - left_out if (k != label or why) and _has_formatted_numbers(samples, k))
    if marked:
        raise DataError(
            f"column {_shown(marked[0], names)} has numbers like {_first_filled(samples, marked[0])!r}; write them "
            "with a decimal point and without thousands separators",
            place,
        )
    if text - left_out - {label}:
        raise _undecided_error(names, samples, text - left_out, label, reading, number + header, place)
    if header:
        start, number = start + len(line), number + 1
    guesses = []
    if names and not header:
        guesses.append(Guess("column names in the last comment line", "it has one name per column", sure=True))
    if decimal_commas:
        unambiguous = not all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in with_commas)
        remedy = "" if unambiguous else "; if the commas separate thousands, save the table without them"
        reason = f"cells have numbers like {with_commas[0]}{remedy}"
        guesses.append(Guess("commas read as decimal commas", reason, sure=unambiguous))
    if not sure:
        what = f"line {lines[0][1]}: column names" if header else f"line {lines[0][1]}: a row of numbers"
        guesses.append(Guess(what, "its numbers count up, as column names often do"))
    if why and label is not None:
        guesses.append(Guess(f"labels in column {_shown(label, names)}", why, sure=True))
    return _Layout(
        reading, delimiter, names, len(first), label, text, left_out, start, number,
        len(comments) - bool(names and not header), blanks, decimal_commas, group, tuple(guesses),
    )  # fmt: skip


def _commented_names(comment: bytes, delimiter: bytes, columns: int, place: str) -> tuple[str, ...]:
    """Return the column names in a comment, as `numpy.savetxt` writes them, or an empty tuple."""
    if comment.count(delimiter) != columns - 1:
        return ()
    cells = _cells(comment.lstrip(b"# "), delimiter, place)
    return () if len(cells) != columns or any(map(_is_number, cells)) else _unique_names(cells)


def _first_lines(stream: BinaryIO, place: str) -> tuple[list[tuple[bytes, int, int]], list[bytes], int]:
    """Return the first rows with line number and offset, the comments before them, and the number of blank lines.

    A line that begins with ``#`` is a row if it has numbers in the same cells as the rows, because a class name in its
    first cell may begin with ``#``.
    """
    lines: list[tuple[bytes, int, int]] = []
    comments: list[tuple[bytes, int, int]] = []
    number, end, n_read = 0, stream.tell(), 0
    while len(lines) < _INSPECTED and n_read < _INSPECTED_BYTES and (line := stream.readline(_LONGEST_LINE)):
        number, start, end = number + 1, end, end + len(line)
        if line.strip():
            (lines if lines or not line.startswith(b"#") else comments).append((line, number, start))
            n_read += len(line)
    row = (lines[:2] or comments or [(b"", 0, 0)])[-1][0]
    first_row = next((k for k, (line, _, _) in enumerate(comments) if _has_numbers_like(line, row)), len(comments))
    lines = [*comments[first_row:], *lines]
    if not lines:
        raise DataError("has no rows of numbers; expected one sample per line", place)
    return lines, [line for line, _, _ in comments[:first_row]], lines[0][1] - first_row - 1


def _has_numbers_like(line: bytes, row: bytes) -> bool:
    """Return True if a line has the same number of cells as a row, and numbers in the same cells."""
    for mark in DELIMITERS:
        cells, others = (each.decode("utf-8", "ignore").split(mark.decode()) for each in (line, row))
        numbers = [_is_number(_with_point(cell)) for cell in cells]
        if any(numbers) and numbers == [_is_number(_with_point(cell)) for cell in others]:
            return True
    return False


def _delimiter(lines: list[bytes], place: str) -> bytes:
    """Return the separator of the cells: the candidate that gives the largest fraction of numbers."""
    present = [mark for mark in DELIMITERS if mark in lines[0]]
    if len(present) < 2:
        return present[0] if present else DELIMITERS[0]

    def number_fraction(mark: bytes) -> float:
        cells = [cell for line in lines for cell in _cells(line, mark, place)]
        return sum(_is_number(_with_point(cell)) for cell in cells) / len(cells)

    return max(present, key=lambda mark: (number_fraction(mark), lines[0].count(mark)))


def _cells(line: bytes, delimiter: bytes, place: str) -> list[str]:
    try:
        return next(csv.reader([line.decode().rstrip("\r\n")], delimiter=delimiter.decode()))
    except (csv.Error, StopIteration, UnicodeDecodeError) as error:  # a line is cut at 16 MiB, perhaps within a letter
        raise DataError("its first lines are not rows of cells; save it as CSV", place) from error


def _with_point(cell: str) -> str:
    """Replace a decimal comma by a decimal point; return any other text unchanged."""
    match = _COMMA_NUMBER.fullmatch(cell)
    return cell if match is None else cell.replace(".", "").replace(",", ".")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_header(first: list[str], below: list[list[str]], reading: ParseOptions) -> tuple[bool, bool]:
    """Return True if the first line has column names, and True if this is certain."""
    if reading.header is not None:
        return reading.header, True
    words = {k for k, cell in enumerate(first) if not _is_number(cell)}
    counts = any(all(cell == str(start + k) for k, cell in enumerate(first) if k not in words) for start in (-1, 0, 1))
    counts = counts and not any(all(row[k] == cell for k, cell in enumerate(first) if k not in words) for row in below)
    if all(is_missing(first[k]) for k in words):
        return bool(words) and counts, bool(words) or not counts
    # a class may also be named “y”, but then it occurs again below
    known = any(first[k].strip().lower() in LABEL_NAMES and all(row[k] != first[k] for row in below) for k in words)
    classes_alone = len(words) < len(first) and words <= _text_columns(below, len(first))
    return known or counts or not below or not classes_alone, True


def _text_columns(rows: list[list[str]], columns: int) -> frozenset[int]:
    """Return the columns in which most non-empty cells are not numbers."""
    text = set()
    for k in range(columns):
        filled = [row[k] for row in rows if k < len(row) and not is_missing(row[k])]
        if sum(not _is_number(cell) for cell in filled) * 2 > len(filled):
            text.add(k)
    return frozenset(text)


def _has_formatted_numbers(rows: list[list[str]], k: int) -> bool:
    """Return True if all cells of a text column are numbers with commas and points."""
    cells = [row[k] for row in rows if k < len(row) and not is_missing(row[k])]
    marked = re.compile(r"\s*[+-]?[\d.,' ]*\d([eE][+-]?\d+)?\s*", re.ASCII)
    return any("," in cell for cell in cells) and all(map(marked.fullmatch, cells))


def _first_filled(rows: list[list[str]], k: int) -> str:
    return next(row[k].strip() for row in rows if k < len(row) and not is_missing(row[k]))


def _unique_names(cells: list[str]) -> tuple[str, ...]:
    """Return unique names; empty and repeated names get the number of their column."""
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, start=1):
        name = clean_name(" ".join(cell.split())) or f"column {k}"
        while name in names:
            name = f"{name} ({k})"
        names[name] = None
    return tuple(names)


def _shown(column: int, names: tuple[str, ...]) -> str:
    return f"“{names[column]}”" if names else str(column + 1)


def _label_column(
    names: tuple[str, ...], columns: int, text: frozenset[int], reading: ParseOptions, place: str
) -> tuple[int | None, str]:
    """Return the label column given by the options, a name or the only text column, and the reason for a guess."""
    label, why = None, ""
    asked = reading.label_column
    if asked is not None and asked.lower() != NO_COLUMN:
        label = _requested_column(asked, names, columns, place)
    elif asked is None:
        lower = [name.lower() for name in names]
        likely = [k for k, name in enumerate(lower) if name in LABEL_NAMES and not (name == "y" and "x" in lower)]
        label = next((k for k in likely if k in text), likely[0] if likely else None)
        if label is None and len(text) == 1:
            (label,), why = text, "it is the only column of text"
    return label, why


def _options_like(
    reading: ParseOptions, like: DataPart | None, names: tuple[str, ...], columns: int, place: str
) -> ParseOptions:
    """Return the options of a test set, with the label column and the columns left out of the training set."""
    if like is None or not like.opened.columns or like.opened.header != bool(names):
        return reading
    trained_on, present = like.opened.columns, names or tuple(str(k + 1) for k in range(columns))
    left_out = [trained_on[_requested_column(each, trained_on, len(trained_on), place)] for each in reading.left_out]
    label = None if like.opened.label_column is None else trained_on[like.opened.label_column]
    group = reading.group and trained_on[_requested_column(reading.group, trained_on, len(trained_on), place)]
    others = (
        set(present) - {*like.feature_names, *left_out, group}
        if names
        else present[len(trained_on) - (label is not None) :]
    )
    label_column = label if label in present else reading.label_column if others else NO_COLUMN
    left_out = [each for each in left_out if each in present]
    group = group if group in present else None
    return replace(reading, label_column=label_column, left_out=tuple(left_out), group=group)


def _undecided_error(
    names: tuple[str, ...],
    rows: list[list[str]],
    text: frozenset[int],
    label: int | None,
    reading: ParseOptions,
    line: int,
    place: str,
) -> UndecidedColumnsError:
    """Return the error for several text columns, with a guess: the one with the fewest different texts has the classes.

    It must have at least two different texts, one of them repeated. Of equal columns the last one is chosen.
    """
    others, guesses = sorted(text - {label}), []
    chosen: int | None = None
    if label is None and reading.label_column is None:
        texts = {k: [row[k].strip() for row in rows if k < len(row) and row[k].strip()] for k in others}
        likely = {k: len(set(cells)) for k, cells in texts.items() if 2 <= len(set(cells)) < len(cells)}
        chosen = min(likely, key=lambda k: (likely[k], -k), default=others[-1])
        why = "it has the fewest different texts of all text columns"
        guesses.append(Guess(f"labels in column {_shown(chosen, names)}", why))
    out = [k for k in others if k != chosen]
    name_of = {k: names[k] if names else str(k + 1) for k in others}
    if out:
        what = f"{plural('column', 'columns', len(out))} {_listed(out, names)} left out"
        guesses.append(Guess(what, "text cannot be a feature"))
    guessed = replace(
        reading,
        label_column=reading.label_column if chosen is None else name_of[chosen],
        left_out=(*reading.left_out, *(name_of[k] for k in out)),
    )
    words = shlex.join([] if chosen in (label, None) else ["--label-column", name_of[chosen]])
    words = " ".join(filter(None, [words, *(shlex.join(["--leave-out", name_of[k]]) for k in out)]))
    columns = f"{plural('column', 'columns', len(others))} {_listed(others, names)}"
    hold = f"{columns} {plural('has', 'have', len(others))} text"
    besides = "" if label is None else f" besides the labels in column {_shown(label, names)}"
    return UndecidedColumnsError(
        f"line {line}: {hold}{besides}, expected numbers and at most one column of classes; remove the others, or "
        f"add {words}",
        place,
        guessed,
        guesses,
    )


def _listed(columns: Sequence[int], names: tuple[str, ...]) -> str:
    return ", ".join(_shown(k, names) for k in columns[:4]) + (", …" if len(columns) > 4 else "")


def _requested_column(asked: str, names: tuple[str, ...], columns: int, place: str) -> int:
    if clean_name(asked) in names:
        return names.index(clean_name(asked))
    folded = [name.lower() for name in names]
    if asked.lower() in folded:
        return folded.index(asked.lower())
    if asked.isdecimal() and 1 <= int(asked) <= columns:
        return int(asked) - 1
    first = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    listed = f"columns {first}" if names else counted(columns, "column")
    raise DataError(
        f"has no column {asked!r}; it has {listed}: give a name, or a number from 1",
        place,
    )


class _CellEncoder(io.RawIOBase):
    """A stream of a table that has only numbers: codes for classes, decimal points, and 0 in columns left out."""

    def __init__(self, stream: BinaryIO, layout: _Layout, place: str) -> None:
        super().__init__()
        self._stream, self._layout, self._place = stream, layout, place
        self._line = layout.first_line
        self._codes: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self._rest = b""

    @property
    def names(self) -> tuple[str, ...]:
        """The classes in alphabetical order."""
        return tuple(sorted(self._codes))

    def labels(self, codes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of each row's class in alphabetical order."""
        number = {name: k for k, name in enumerate(self.names)}
        renumbered = np.array([number[name] for name in self._codes], np.int64)
        return renumbered[codes.astype(np.intp)]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            line = self._stream.readline(_LONGEST_LINE)
            if not line:
                return 0
            self._rest = self._encoded(line)
            self._line += 1
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)

    def _encoded(self, line: bytes) -> bytes:
        layout = self._layout
        if not line.strip():
            return line
        mark = layout.delimiter
        if b'"' in line:
            place = f"{self._place}, line {self._line}"
            cells = [cell.encode() for cell in _cells(line, mark, place)]
        else:
            cells = line.rstrip(b"\r\n").split(mark)
        if len(cells) != layout.columns:
            if line.startswith(b"#"):
                raise DataError(f"line {self._line} {LATE_COMMENT}", self._place)
            raise DataError(
                f"line {self._line} has {counted(len(cells), 'number')}, expected {layout.columns}; "
                "correct the line, or leave it out",
                self._place,
            )
        group = None if layout.group is None else cells[layout.group].decode("utf-8", "backslashreplace").strip()
        for k in layout.left_out:
            cells[k] = b"0"
        if group is not None and layout.group is not None:
            if is_missing(group):
                raise DataError(
                    f"line {self._line}, column {layout.group + 1}: the group is missing (found {group!r}); "
                    "fill it in, or leave the row out",
                    self._place,
                )
            cells[layout.group] = str(self.groups.setdefault(group, len(self.groups))).encode()
        if layout.decimal_commas:
            texts = layout.text & {layout.label}
            if b"." in line:
                cells = [cell if k in texts else self._cell_with_point(cell, k) for k, cell in enumerate(cells)]
            else:  # most lines; replacing is five times as fast
                cells = [cell if k in texts else cell.replace(b",", b".") for k, cell in enumerate(cells)]
        if layout.label not in layout.text:
            return mark.join(cells) + b"\n"
        assert layout.label is not None
        try:
            name = cells[layout.label].decode().strip()
        except UnicodeDecodeError:  # a line is cut at 16 MiB, perhaps within a letter
            raise DataError(f"line {self._line} is too long; expected one sample per line", self._place) from None
        if is_missing(name):
            raise DataError(
                f"line {self._line}, column {layout.label + 1}: the class is missing (found {name!r}); fill it in, or "
                "leave the row out; if this is a class name, choose another name",
                self._place,
            )
        code = self._codes.setdefault(name, len(self._codes))
        if code >= MOST_CLASSES:
            raise DataError(
                f"column {_shown(layout.label, layout.names)} has more than {MOST_CLASSES} different texts, "
                "too many for classes; leave it out",
                self._place,
            )
        cells[layout.label] = str(code).encode()
        return mark.join(cells) + b"\n"

    def _cell_with_point(self, cell: bytes, column: int) -> bytes:
        """Replace the decimal comma of a number by a decimal point."""
        if b"," not in cell and b"." not in cell:
            return cell
        text = cell.decode("utf-8", "backslashreplace").strip()
        if not _COMMA_NUMBER.fullmatch(text):
            raise DataError(
                f"line {self._line}, column {column + 1}: found {text[:20]!r} in a table with decimal commas; write "
                "all numbers with decimal commas and without thousands separators",
                self._place,
            )
        return _with_point(text).encode()


def _split_labels(
    table: Table, layout: _Layout, reading: ParseOptions
) -> tuple[NDArray[np.floating], NDArray[np.generic] | None, int | None, Sequence[Guess], str]:
    """Choose the label column; return rows, labels, this column, the guesses, and why there are no labels."""
    rows, last = table.rows, table.column
    if layout.label is not None:
        return rows, last, layout.label, (), ""
    d = rows.shape[1] + 1
    if reading.label_column is not None or (layout.left_out and d - 1 in layout.left_out):
        everything = np.column_stack([rows, last.astype(np.float32) if fits_float32(last) else last])
        return everything, None, None, (), "all columns are features; choose the label column"
    unlabelled_image = not layout.names and square_shape(d, SMALLEST_SQUARE) is not None
    if not unlabelled_image and (reading.bins or _look_like_labels(last)):
        guess = Guess(
            f"labels in column {_shown(d - 1, layout.names)}",
            "it is the last one and has numbers" if reading.bins else "it is the last one and has integers",
        )
        return rows, last, d - 1, (guess,), ""
    everything = np.column_stack([rows, last.astype(np.float32) if fits_float32(last) else last])
    if not unlabelled_image and square_shape(d - 1, SMALLEST_SQUARE) and _look_like_labels(everything[:, 0]):
        guess = Guess(f"labels in column {_shown(0, layout.names)}", "it has integers, and the others make an image")
        return np.ascontiguousarray(everything[:, 1:]), everything[:, 0], 0, (guess,), ""
    if unlabelled_image:
        why_not = f"its {d} columns were read as an image without labels"
    elif last.min() == last.max():
        why_not = f"its last column has only the value {last[0]:g}, so all rows would be of one class"
    else:
        why_not = "its last column has other numbers than integers"
    guess = Guess("no labels", why_not, sure=last.min() < last.max())
    remedy = f"{why_not}; choose a label column with two classes or more"
    return everything, None, None, (guess,), remedy


def _look_like_labels(values: NDArray[np.floating]) -> bool:
    integers = np.abs(values).max() < LABEL_BOUND and bool((np.rint(values) == values).all())
    return integers and values.min() < values.max()
