"""Tables of comma-, semicolon- or tab-separated numbers, with a line of column names, with classes named in text."""

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
_LOOKED_AT = 200  # lines, by which a column counts as text or numbers
_LOOKED_AT_BYTES = 1 << 22
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d*),(\d+)([eE][+-]?\d+)?\s*", re.ASCII)
"""A number with a decimal comma, and perhaps points between groups of three digits before it."""


def read_csv(
    path: Path, reading: ParseOptions = AS_GUESSED, *, like: DataPart | None = None, progress: Progress = NO_PROGRESS
) -> DataPart:
    """Read a table of numbers, one sample a line, with or without a line of column names.

    The first line names the columns if some column holds numbers below it and no number in it.

    The labels are, in this order: the column asked for; the column named label, labels, class, y or target, of several
    one of text (next to a column x, y is a coordinate); the one column of text, each different text a class, numbered
    in the order of the alphabet; nothing, if the table has no names and all its columns make a square image of at least
    8 × 8; the last column, if it holds whole numbers, and more than one value; the first column on the same terms, if
    the others make a square image. Otherwise there are none. Features whose number is a perfect square of at least 64
    are taken for square images.

    The text is UTF-8, UTF-16 with a byte order mark, or else Windows-1252. Lines before the first row or the names that
    begin with ``#`` are comments, and blank lines are skipped. Numbers have a decimal point, or all a decimal comma.

    Parameters
    ----------
    path : Path
    reading : ParseOptions
        What is known of the file.
    like : DataPart, optional
        The training set to which this test set belongs. The label column is the one of the same name, or without names
        in the same place; a table that lacks it has no labels.
    progress : Progress
        Reports the fraction of the text read.

    Raises
    ------
    DataError
        If the file is empty, a line has the wrong width or holds what is no finite number (the message names
        the line), a cell is missing, or there is no feature.
    UndecidedColumnsError
        If other columns than that of the labels hold text and are not left out.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as file:
        stream, size, encoding = utf8_stream(file, size, place, progress=progress)
        layout = _layout(stream, reading, like, place)
        stream.seek(layout.start)
        text: BinaryIO = stream
        coded = None
        if layout.label in layout.text or layout.left_out or layout.decimal_commas:
            coded = _CodedLabels(stream, layout, place)
            text = cast(BinaryIO, io.BufferedReader(coded, 1 << 18))
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
    if coded is not None and layout.label in layout.text:
        coded_labels = coded.labels(table.column)
        part = _part(layout, table.rows, coded_labels, coded.names, layout.label, layout.guesses, path)
    else:
        rows, labels, label, guesses, unlabelled = _split(table, layout, layout.reading)
        part = _part(layout, rows, labels, (), label, (*layout.guesses, *guesses), path, unlabelled)
    return part if coded is None or layout.group is None else replace(part, group_names=tuple(coded.groups))


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
            raise DataError("has no feature beside the labels and the columns that are left out", str(path))
    shape = square_shape(rows.shape[1], SMALLEST_SQUARE)
    shown = layout.names or tuple(str(k + 1) for k in range(layout.columns))
    guesses = (*guesses, *square_guess(shape))
    opened = ParseReport(shown, label, bool(layout.names), guesses, unlabelled, tuple(sorted(layout.text)))
    names = tuple(layout.names[k] for k in features) if layout.names else ()
    return DataPart(rows, labels, shape, str(path), role_of(path.name), label_names, True, names, opened, groups)


@dataclass(frozen=True)
class _Layout:
    """What the beginning of a table says.

    Attributes
    ----------
    reading : ParseOptions
        What is known of the table, also by its training set.
    names : tuple of str
        Of the columns; empty without a line of names.
    columns : int
        How many there are.
    label : int or None
        The column of the labels, where the beginning decides it.
    text, left_out : frozenset of int
        The columns that hold text, and those that are no features.
    start, first_line : int
        Where the first row begins, in bytes, and the number of its line.
    comments, blanks : int
        How many lines of each kind come before the first row.
    decimal_commas : bool
        True if the numbers have a comma before their decimals.
    group : int or None
        The column of the groups, which is among those left out.
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
    """Look at the first lines."""
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
            f"line {number} has one column; expected numbers with commas, semicolons or tabs between",
            place,
        )
    header, sure = _has_header(first, below, reading)
    names = _unique_names(first) if header else ()
    if not header and reading.header is None and comments:
        names = _commented_names(comments[-1], delimiter, len(first), place)
    samples = below if header else [first, *below]
    text = _text_columns(samples, len(first))
    reading = _reading_like(reading, like, names, len(first), place)
    left_out = frozenset(_asked_column(each, names, len(first), place) for each in reading.left_out)
    group = None if reading.group is None else _asked_column(reading.group, names, len(first), place)
    if group is not None:
        left_out |= {group}
    label, why = _label_of(names, len(first), text - left_out, reading, place)
    if label in left_out:
        raise DataError(f"column {_said(label, names)} holds the labels; it cannot be left out or hold groups", place)
    marked = sorted(k for k in text - left_out if (k != label or why) and _holds_marked_numbers(samples, k))
    if marked:
        raise DataError(
            f"column {_said(marked[0], names)} holds numbers like {_first_filled(samples, marked[0])!r}; write them "
            "with a decimal point and without marks of thousands",
            place,
        )
    if text - left_out - {label}:
        raise _undecided(names, samples, text - left_out, label, reading, number + header, place)
    if header:
        start, number = start + len(line), number + 1
    guesses = []
    if names and not header:
        guesses.append(Guess("names of columns in the last comment line", "it has one for each column", sure=True))
    if decimal_commas:
        unlike = not all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", cell) for cell in with_commas)
        remedy = "" if unlike else "; if the commas separate thousands, save the table without them"
        because = f"cells hold numbers like {with_commas[0]}{remedy}"
        guesses.append(Guess("commas read as decimal commas", because, sure=unlike))
    if not sure:
        what = f"line {lines[0][1]}: names of columns" if header else f"line {lines[0][1]}: a row of numbers"
        guesses.append(Guess(what, "it counts the columns, as names often do"))
    if why and label is not None:
        guesses.append(Guess(f"labels in column {_said(label, names)}", why, sure=True))
    return _Layout(
        reading, delimiter, names, len(first), label, text, left_out, start, number,
        len(comments) - bool(names and not header), blanks, decimal_commas, group, tuple(guesses),
    )  # fmt: skip


def _commented_names(comment: bytes, delimiter: bytes, columns: int, place: str) -> tuple[str, ...]:
    """Return the names of the columns if a comment holds one for each, as `numpy.savetxt` writes them."""
    if comment.count(delimiter) != columns - 1:
        return ()
    cells = _cells(comment.lstrip(b"# "), delimiter, place)
    return () if len(cells) != columns or any(map(_is_number, cells)) else _unique_names(cells)


def _first_lines(stream: BinaryIO, place: str) -> tuple[list[tuple[bytes, int, int]], list[bytes], int]:
    """Return the first rows, each with its line's number and start, the comments before and how many blank lines.

    A line that begins with ``#`` is a row, not a comment, if it has numbers in the same cells as the rows: the first
    cell may hold the class.
    """
    lines: list[tuple[bytes, int, int]] = []
    comments: list[tuple[bytes, int, int]] = []
    number, at, read = 0, stream.tell(), 0
    while len(lines) < _LOOKED_AT and read < _LOOKED_AT_BYTES and (line := stream.readline(_LONGEST_LINE)):
        number, begins, at = number + 1, at, at + len(line)
        if line.strip():
            (lines if lines or not line.startswith(b"#") else comments).append((line, number, begins))
            read += len(line)
    row = (lines[:2] or comments or [(b"", 0, 0)])[-1][0]
    first_row = next((k for k, (line, _, _) in enumerate(comments) if _has_numbers_like(line, row)), len(comments))
    lines = [*comments[first_row:], *lines]
    if not lines:
        raise DataError("holds no rows of numbers; expected one sample a line", place)
    return lines, [line for line, _, _ in comments[:first_row]], lines[0][1] - first_row - 1


def _has_numbers_like(line: bytes, row: bytes) -> bool:
    """Return True if a line has as many cells as a row, with any separator, and numbers in the same ones."""
    for mark in DELIMITERS:
        cells, others = (each.decode("utf-8", "ignore").split(mark.decode()) for each in (line, row))
        numbers = [_is_number(_with_point(cell)) for cell in cells]
        if any(numbers) and numbers == [_is_number(_with_point(cell)) for cell in others]:
            return True
    return False


def _delimiter(lines: list[bytes], place: str) -> bytes:
    """Return what separates the cells; of several candidates the one that leaves the largest share of numbers."""
    present = [mark for mark in DELIMITERS if mark in lines[0]]
    if len(present) < 2:
        return present[0] if present else DELIMITERS[0]

    def share_of_numbers(mark: bytes) -> float:
        cells = [cell for line in lines for cell in _cells(line, mark, place)]
        return sum(_is_number(_with_point(cell)) for cell in cells) / len(cells)

    return max(present, key=lambda mark: (share_of_numbers(mark), lines[0].count(mark)))


def _cells(line: bytes, delimiter: bytes, place: str) -> list[str]:
    try:
        return next(csv.reader([line.decode().rstrip("\r\n")], delimiter=delimiter.decode()))
    except (csv.Error, StopIteration, UnicodeDecodeError) as error:  # a line of 16 MiB may be cut within a letter
        raise DataError("its first line is no list of numbers or column names", place) from error


def _with_point(cell: str) -> str:
    """Return a number with a decimal comma as one with a decimal point, and anything else as it is."""
    match = _COMMA_NUMBER.fullmatch(cell)
    return cell if match is None else cell.replace(".", "").replace(",", ".")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_header(first: list[str], below: list[list[str]], reading: ParseOptions) -> tuple[bool, bool]:
    """Return whether the first line names the columns, and whether that is sure."""
    if reading.header is not None:
        return reading.header, True
    words = {k for k, cell in enumerate(first) if not _is_number(cell)}
    counts = any(all(cell == str(start + k) for k, cell in enumerate(first) if k not in words) for start in (-1, 0, 1))
    counts = counts and not any(all(row[k] == cell for k, cell in enumerate(first) if k not in words) for row in below)
    if all(is_missing(first[k]) for k in words):
        return bool(words) and counts, bool(words) or not counts
    # a class may be called “y”, too, and then comes again
    known = any(first[k].strip().lower() in LABEL_NAMES and all(row[k] != first[k] for row in below) for k in words)
    classes_alone = len(words) < len(first) and words <= _text_columns(below, len(first))
    return known or counts or not below or not classes_alone, True


def _text_columns(rows: list[list[str]], columns: int) -> frozenset[int]:
    """Return the columns most of whose filled cells are no numbers."""
    text = set()
    for k in range(columns):
        filled = [row[k] for row in rows if k < len(row) and not is_missing(row[k])]
        if sum(not _is_number(cell) for cell in filled) * 2 > len(filled):
            text.add(k)
    return frozenset(text)


def _holds_marked_numbers(rows: list[list[str]], k: int) -> bool:
    """Return True if a column of text holds nothing but numbers with commas and points."""
    cells = [row[k] for row in rows if k < len(row) and not is_missing(row[k])]
    marked = re.compile(r"\s*[+-]?[\d.,' ]*\d([eE][+-]?\d+)?\s*", re.ASCII)
    return any("," in cell for cell in cells) and all(map(marked.fullmatch, cells))


def _first_filled(rows: list[list[str]], k: int) -> str:
    return next(row[k].strip() for row in rows if k < len(row) and not is_missing(row[k]))


def _unique_names(cells: list[str]) -> tuple[str, ...]:
    """Return the names, empty and repeated ones told apart by the number of their column."""
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, start=1):
        name = clean_name(" ".join(cell.split())) or f"column {k}"
        while name in names:
            name = f"{name} ({k})"
        names[name] = None
    return tuple(names)


def _said(column: int, names: tuple[str, ...]) -> str:
    return f"“{names[column]}”" if names else str(column + 1)


def _label_of(
    names: tuple[str, ...], columns: int, text: frozenset[int], reading: ParseOptions, place: str
) -> tuple[int | None, str]:
    """Return the column of the labels as far as it is asked for or its name or its text tells, and why it was taken."""
    label, why = None, ""
    asked = reading.label_column
    if asked is not None and asked.lower() != NO_COLUMN:
        label = _asked_column(asked, names, columns, place)
    elif asked is None:
        lower = [name.lower() for name in names]
        likely = [k for k, name in enumerate(lower) if name in LABEL_NAMES and not (name == "y" and "x" in lower)]
        label = next((k for k in likely if k in text), likely[0] if likely else None)
        if label is None and len(text) == 1:
            (label,), why = text, "it is the only column of text"
    return label, why


def _reading_like(
    reading: ParseOptions, like: DataPart | None, names: tuple[str, ...], columns: int, place: str
) -> ParseOptions:
    """Return how a test set is read, with the label column and the columns left out of its training set."""
    if like is None or not like.opened.columns or like.opened.header != bool(names):
        return reading
    trained_on, here = like.opened.columns, names or tuple(str(k + 1) for k in range(columns))
    left_out = [trained_on[_asked_column(each, trained_on, len(trained_on), place)] for each in reading.left_out]
    label = None if like.opened.label_column is None else trained_on[like.opened.label_column]
    group = reading.group and trained_on[_asked_column(reading.group, trained_on, len(trained_on), place)]
    others = (
        set(here) - {*like.feature_names, *left_out, group} if names else here[len(trained_on) - (label is not None) :]
    )
    label_column = label if label in here else reading.label_column if others else NO_COLUMN
    left_out = [each for each in left_out if each in here]
    group = group if group in here else None
    return replace(reading, label_column=label_column, left_out=tuple(left_out), group=group)


def _undecided(
    names: tuple[str, ...],
    rows: list[list[str]],
    text: frozenset[int],
    label: int | None,
    reading: ParseOptions,
    line: int,
    place: str,
) -> UndecidedColumnsError:
    """Return the refusal of columns of text, with a guess: the one of the fewest different texts holds the classes.

    It must hold two of them at least, and more often than once each; of two alike it is the later one.
    """
    others, guesses = sorted(text - {label}), []
    chosen: int | None = None
    if label is None and reading.label_column is None:
        texts = {k: [row[k].strip() for row in rows if k < len(row) and row[k].strip()] for k in others}
        likely = {k: len(set(cells)) for k, cells in texts.items() if 2 <= len(set(cells)) < len(cells)}
        chosen = min(likely, key=lambda k: (likely[k], -k), default=others[-1])
        why = "of the columns of text it has the fewest different ones"
        guesses.append(Guess(f"labels in column {_said(chosen, names)}", why))
    out = [k for k in others if k != chosen]
    called = {k: names[k] if names else str(k + 1) for k in others}
    said = ", ".join(_said(k, names) for k in out[:4]) + (", …" if len(out) > 4 else "")
    what = plural("column {columns} left out", "columns {columns} left out", len(out) or 1)
    guesses.append(Guess(what.format(columns=said), plural("text is no feature", "text is no features", len(out) or 1)))
    guessed = replace(
        reading,
        label_column=reading.label_column if chosen is None else called[chosen],
        left_out=(*reading.left_out, *(called[k] for k in out)),
    )
    shown = ", ".join(_said(k, names) for k in others[:4]) + (", …" if len(others) > 4 else "")
    words = shlex.join([] if chosen in (label, None) else ["--label-column", called[chosen]])
    words = " ".join(filter(None, [words, *(shlex.join(["--leave-out", called[k]]) for k in out)]))
    if label is None:
        message = plural(
            "line {line}: column {columns} holds text, expected numbers and at most one column of classes; "
            "take the others out, or say so: {words}",
            "line {line}: columns {columns} hold text, expected numbers and at most one column of classes; "
            "take the others out, or say so: {words}",
            len(others),
        )
    else:
        message = plural(
            "line {line}: column {columns} holds text beside the labels in column {label}, expected numbers and at "
            "most one column of classes; take the others out, or say so: {words}",
            "line {line}: columns {columns} hold text beside the labels in column {label}, expected numbers and at "
            "most one column of classes; take the others out, or say so: {words}",
            len(others),
        )
    return UndecidedColumnsError(
        message.format(line=line, columns=shown, words=words, label="" if label is None else _said(label, names)),
        place,
        guessed,
        guesses,
    )


def _asked_column(asked: str, names: tuple[str, ...], columns: int, place: str) -> int:
    if clean_name(asked) in names:
        return names.index(clean_name(asked))
    folded = [name.lower() for name in names]
    if asked.lower() in folded:
        return folded.index(asked.lower())
    if asked.isdecimal() and 1 <= int(asked) <= columns:
        return int(asked) - 1
    first = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    there = f"columns {first}" if names else counted(columns, "column")
    raise DataError(
        f"has no column {asked!r}; it has {there}: give a name, or a number from 1",
        place,
    )


class _CodedLabels(io.RawIOBase):
    """A text in which classes are replaced by their numbers, decimal commas by points, and what is left out by 0."""

    def __init__(self, stream: BinaryIO, layout: _Layout, place: str) -> None:
        super().__init__()
        self._stream, self._layout, self._place = stream, layout, place
        self._line = layout.first_line
        self._codes: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self._rest = b""

    @property
    def names(self) -> tuple[str, ...]:
        """The classes in the order of the alphabet."""
        return tuple(sorted(self._codes))

    def labels(self, codes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of each row's class in the order of the alphabet."""
        place = {name: number for number, name in enumerate(self.names)}
        renumbered = np.array([place[name] for name in self._codes], np.int64)
        return renumbered[codes.astype(np.intp)]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            line = self._stream.readline(_LONGEST_LINE)
            if not line:
                return 0
            self._rest = self._coded(line)
            self._line += 1
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)

    def _coded(self, line: bytes) -> bytes:
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
                f"line {self._line} has {counted(len(cells), 'number')}, expected {layout.columns}",
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
                cells = [cell if k in texts else self._pointed(cell, k) for k, cell in enumerate(cells)]
            else:  # most lines, and five times as fast
                cells = [cell if k in texts else cell.replace(b",", b".") for k, cell in enumerate(cells)]
        if layout.label not in layout.text:
            return mark.join(cells) + b"\n"
        assert layout.label is not None
        try:
            name = cells[layout.label].decode().strip()
        except UnicodeDecodeError:  # a line of 16 MiB may be cut within a letter
            raise DataError(f"line {self._line} is too long; expected one sample a line", self._place) from None
        if is_missing(name):
            raise DataError(
                f"line {self._line}, column {layout.label + 1}: the class is missing (found {name!r}); fill it in, or "
                "leave the row out; if it is the name of a class, write another name",
                self._place,
            )
        code = self._codes.setdefault(name, len(self._codes))
        if code >= MOST_CLASSES:
            raise DataError(
                f"column {_said(layout.label, layout.names)} holds more than {MOST_CLASSES} different texts, "
                "which are no classes; take it out",
                self._place,
            )
        cells[layout.label] = str(code).encode()
        return mark.join(cells) + b"\n"

    def _pointed(self, cell: bytes, column: int) -> bytes:
        """Return a number of a table with decimal commas with a decimal point."""
        if b"," not in cell and b"." not in cell:
            return cell
        text = cell.decode("utf-8", "backslashreplace").strip()
        if not _COMMA_NUMBER.fullmatch(text):
            raise DataError(
                f"line {self._line}, column {column + 1}: found {text[:20]!r} in a table with decimal commas; write "
                "all numbers with decimal commas and without marks of thousands",
                self._place,
            )
        return _with_point(text).encode()


def _split(
    table: Table, layout: _Layout, reading: ParseOptions
) -> tuple[NDArray[np.floating], NDArray[np.generic] | None, int | None, Sequence[Guess], str]:
    """Decide which column holds the labels; return it with rows, labels, what was guessed, and why there are none."""
    rows, last = table.rows, table.column
    if layout.label is not None:
        return rows, last, layout.label, (), ""
    d = rows.shape[1] + 1
    if reading.label_column is not None or (layout.left_out and d - 1 in layout.left_out):
        everything = np.column_stack([rows, last.astype(np.float32) if fits_float32(last) else last])
        return everything, None, None, (), "all columns were taken for features; say which one holds the labels"
    unlabelled_image = not layout.names and square_shape(d, SMALLEST_SQUARE) is not None
    if not unlabelled_image and (reading.bins or _look_like_labels(last)):
        guess = Guess(
            f"labels in column {_said(d - 1, layout.names)}",
            "it is the last one and holds numbers" if reading.bins else "it is the last one and holds whole numbers",
        )
        return rows, last, d - 1, (guess,), ""
    everything = np.column_stack([rows, last.astype(np.float32) if fits_float32(last) else last])
    if not unlabelled_image and square_shape(d - 1, SMALLEST_SQUARE) and _look_like_labels(everything[:, 0]):
        guess = Guess(
            f"labels in column {_said(0, layout.names)}",
            "it holds whole numbers, and the others an image",
        )
        return np.ascontiguousarray(everything[:, 1:]), everything[:, 0], 0, (guess,), ""
    if unlabelled_image:
        why_not = f"its {d} columns were taken for an image, without labels"
    elif last.min() == last.max():
        why_not = f"its last column holds only the value {last[0]:g}, so that all rows would be of one class"
    else:
        why_not = "its last column does not hold whole numbers"
    guess = Guess("no labels", why_not, sure=last.min() < last.max())
    remedy = f"{why_not}; say which column holds labels of two classes or more"
    return everything, None, None, (guess,), remedy


def _look_like_labels(values: NDArray[np.floating]) -> bool:
    whole = np.abs(values).max() < LABEL_BOUND and bool((np.rint(values) == values).all())
    return whole and values.min() < values.max()
