"""Tables of comma-, semicolon- or tab-separated numbers, with a line of column names, with classes named in text."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.readers.arrays import SMALLEST_SQUARE
from slide_gui.data.readers.parts import (
    LABEL_BOUND,
    MOST_CLASSES,
    Part,
    role_of,
    square_guess,
    square_shape,
    whole_labels,
)
from slide_gui.data.readers.tables import Table, read_table
from slide_gui.data.reading import AS_GUESSED, LABEL_NAMES, NO_COLUMN, Guess, Opened, Reading, UndecidedColumnsError
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name, counted, plural

__all__ = ["DELIMITERS", "read_csv"]

DELIMITERS = (b",", b";", b"\t")
_LONGEST_LINE = 1 << 24
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark
_LOOKED_AT = 200  # lines, by which a column counts as text or numbers
_LOOKED_AT_BYTES = 1 << 22


def read_csv(path: Path, reading: Reading = AS_GUESSED, *, progress: Progress = NO_PROGRESS) -> Part:
    """Read a table of numbers, one sample a line, with or without a line of column names.

    The first line names the columns if some column holds numbers below it and no number in it.

    The labels are, in this order: the column asked for; the column named label, labels, class, y or target; the one
    column of text, each different text a class, numbered in the order of the alphabet; nothing, if the table has no
    names and all its columns make a square image of at least 8 × 8; the last column, if it holds whole numbers, and
    more than one value; the first column on the same terms, if the others make a square image. Otherwise there are
    none. Features whose number is a perfect square of at least 64 are taken for square images.

    Raises
    ------
    DataError
        If the file is empty, a line has the wrong width or holds what is no finite number (the message names
        the line), named labels are not whole, or there is no feature.
    UndecidedColumnsError
        If other columns than that of the labels hold text and are not left out.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as stream:
        layout = _layout(stream, reading, place)
        stream.seek(layout.start)
        text: BinaryIO = stream
        coded = None
        if layout.label in layout.text or layout.left_out:
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
    if coded is not None and layout.label in layout.text:
        coded_labels = coded.labels(table.column)
        return _part(layout, table.rows, coded_labels, coded.names, layout.label, layout.guesses, path)
    rows, labels, label, guesses, unlabelled = _split(table, layout, reading, place)
    return _part(layout, rows, labels, (), label, (*layout.guesses, *guesses), path, unlabelled)


def _part(
    layout: _Layout,
    rows: NDArray[np.float32],
    labels: NDArray[np.int64] | None,
    label_names: tuple[str, ...],
    label: int | None,
    guesses: tuple[Guess, ...],
    path: Path,
    unlabelled: str = "",
) -> Part:
    features = [k for k in range(layout.columns) if k != label]
    if layout.left_out:
        rows = np.ascontiguousarray(rows[:, [k not in layout.left_out for k in features]])
        features = [k for k in features if k not in layout.left_out]
        if not features:
            raise DataError("has no feature beside the labels and the columns that are left out", str(path))
    shape = square_shape(rows.shape[1], SMALLEST_SQUARE)
    shown = layout.names or tuple(str(k + 1) for k in range(layout.columns))
    guesses = (*guesses, *square_guess(shape))
    opened = Opened(shown, label, bool(layout.names), guesses, unlabelled, tuple(sorted(layout.text)))
    names = tuple(layout.names[k] for k in features) if layout.names else ()
    return Part(rows, labels, shape, str(path), role_of(path.name), label_names, True, names, opened)


@dataclass(frozen=True)
class _Layout:
    """What the beginning of a table says.

    Attributes
    ----------
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
    """

    delimiter: bytes
    names: tuple[str, ...]
    columns: int
    label: int | None
    text: frozenset[int]
    left_out: frozenset[int]
    start: int
    first_line: int
    guesses: tuple[Guess, ...] = ()


def _layout(stream: BinaryIO, reading: Reading, place: str) -> _Layout:
    """Look at the first lines."""
    lines = _first_lines(stream, place)
    line, number, start = lines[0]
    delimiter = max(DELIMITERS, key=line.count)
    rows = [_cells(line, delimiter, place) for line, _, _ in lines]
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(first) == 1:
        raise DataError(
            f"line {number} has one column; expected numbers with commas, semicolons or tabs between",
            place,
        )
    header, sure = _has_header(first, below, reading)
    names = _unique_names(first) if header else ()
    samples = below if header else [first, *below]
    text = _text_columns(samples, len(first))
    left_out = frozenset(_asked_column(each, names, len(first), place) for each in reading.left_out)
    label, why = _label_of(names, len(first), text - left_out, reading, place)
    if label in left_out:
        raise DataError(f"column {_said(label, names)} holds the labels; it cannot be left out", place)
    if text - left_out - {label}:
        raise _undecided(names, samples, text - left_out, label, reading, number + header, place)
    if header:
        start, number = start + len(line), number + 1
    guesses = []
    if not sure:
        what = f"line {lines[0][1]}: names of columns" if header else f"line {lines[0][1]}: a row of numbers"
        guesses.append(Guess(what, "it counts the columns, as names often do"))
    if why and label is not None:
        guesses.append(Guess(f"labels in column {_said(label, names)}", why, sure=True))
    return _Layout(delimiter, names, len(first), label, text, left_out, start, number, tuple(guesses))


def _first_lines(stream: BinaryIO, place: str) -> list[tuple[bytes, int, int]]:
    """Return the first lines that hold something, each with its number and where it begins."""
    lines: list[tuple[bytes, int, int]] = []
    number, at, read = 0, 0, 0
    while len(lines) < _LOOKED_AT and read < _LOOKED_AT_BYTES and (line := stream.readline(_LONGEST_LINE)):
        number, begins, at = number + 1, at, at + len(line)
        if number == 1 and line.startswith(_MARK):
            line, begins = line[len(_MARK) :], len(_MARK)
        if line.strip() and not line.startswith(b"#"):
            lines.append((line, number, begins))
            read += len(line)
    if not lines:
        raise DataError("holds no rows of numbers; expected one sample a line", place)
    return lines


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


def _has_header(first: list[str], below: list[list[str]], reading: Reading) -> tuple[bool, bool]:
    """Return whether the first line names the columns, and whether that is sure."""
    if reading.header is not None:
        return reading.header, True
    words = {k for k, cell in enumerate(first) if not _is_number(cell)}
    counts = any(all(cell == str(start + k) for k, cell in enumerate(first) if k not in words) for start in (0, 1))
    counts = counts and not any(all(row[k] == cell for k, cell in enumerate(first) if k not in words) for row in below)
    if not words:
        return False, not counts
    # a class may be called “y”, too, and then comes again
    known = any(first[k].strip().lower() in LABEL_NAMES and all(row[k] != first[k] for row in below) for k in words)
    classes_alone = len(words) < len(first) and words <= _text_columns(below, len(first))
    return known or counts or not below or not classes_alone, True


def _text_columns(rows: list[list[str]], columns: int) -> frozenset[int]:
    """Return the columns most of whose filled cells are no numbers."""
    text = set()
    for k in range(columns):
        filled = [row[k] for row in rows if k < len(row) and row[k].strip()]
        if sum(not _is_number(cell) for cell in filled) * 2 > len(filled):
            text.add(k)
    return frozenset(text)


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
    names: tuple[str, ...], columns: int, text: frozenset[int], reading: Reading, place: str
) -> tuple[int | None, str]:
    """Return the column of the labels as far as it is asked for or its name or its text tells, and why it was taken."""
    label, why = None, ""
    asked = reading.label_column
    if asked is not None and asked.lower() != NO_COLUMN:
        label = _asked_column(asked, names, columns, place)
    elif asked is None:
        label = next((k for k, name in enumerate(names) if name.lower() in LABEL_NAMES), None)
        if label is None and len(text) == 1:
            (label,), why = text, "it is the only column of text"
    return label, why


def _undecided(
    names: tuple[str, ...],
    rows: list[list[str]],
    text: frozenset[int],
    label: int | None,
    reading: Reading,
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
        f"has no label column {asked!r}; it has {there}: give a name, or a number from 1",
        place,
    )


class _CodedLabels(io.RawIOBase):
    """A text whose one column of classes is replaced by their numbers, and what is left out by 0, as it is read."""

    def __init__(self, stream: BinaryIO, layout: _Layout, place: str) -> None:
        super().__init__()
        self._stream, self._layout, self._place = stream, layout, place
        self._line = layout.first_line
        self._codes: dict[str, int] = {}
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
        if not line.strip() or line.startswith(b"#"):
            return line
        mark = layout.delimiter
        if b'"' in line:
            place = f"{self._place}, line {self._line}"
            cells = [cell.encode() for cell in _cells(line, mark, place)]
        else:
            cells = line.rstrip(b"\r\n").split(mark)
        if len(cells) != layout.columns:
            raise DataError(
                f"line {self._line} has {counted(len(cells), 'number')}, expected {layout.columns}",
                self._place,
            )
        for k in layout.left_out:
            cells[k] = b"0"
        if layout.label not in layout.text:
            return mark.join(cells) + b"\n"
        assert layout.label is not None
        name = cells[layout.label].decode("utf-8", "replace").strip()
        if not name:
            raise DataError(
                f"line {self._line}, column {layout.label + 1}: the class is missing; fill it in or take the line out",
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


def _split(
    table: Table, layout: _Layout, reading: Reading, place: str
) -> tuple[NDArray[np.float32], NDArray[np.int64] | None, int | None, Sequence[Guess], str]:
    """Decide which column holds the labels; return it with rows, labels, what was guessed, and why there are none."""
    rows, last = table.rows, table.column
    if layout.label is not None:
        return rows, whole_labels(last, place), layout.label, (), ""
    d = rows.shape[1] + 1
    if reading.label_column is not None or (layout.left_out and d - 1 in layout.left_out):
        everything = np.column_stack([rows, last.astype(np.float32)])
        return everything, None, None, (), "all columns were taken for features; say which one holds the labels"
    unlabelled_image = not layout.names and square_shape(d, SMALLEST_SQUARE) is not None
    if not unlabelled_image and _look_like_labels(last):
        guess = Guess(
            f"labels in column {_said(d - 1, layout.names)}",
            "it is the last one and holds whole numbers",
        )
        return rows, whole_labels(last, place), d - 1, (guess,), ""
    everything = np.column_stack([rows, last.astype(np.float32)])
    if not unlabelled_image and square_shape(d - 1, SMALLEST_SQUARE) and _look_like_labels(everything[:, 0]):
        guess = Guess(
            f"labels in column {_said(0, layout.names)}",
            "it holds whole numbers, and the others an image",
        )
        return np.ascontiguousarray(everything[:, 1:]), whole_labels(everything[:, 0], place), 0, (guess,), ""
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
