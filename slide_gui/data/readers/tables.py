"""Read text tables of numbers in blocks of complete lines: .amat files, and tables with delimiters for module `csv`.

The .amat files of the Montreal benchmark have one line per row, with the pixels and then the label. Each number has 16
characters, and a block of such numbers is decoded at once, which is faster.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory, member_stream, zip_members
from slide_gui.data.readers.encoding import unmarked_stream
from slide_gui.data.readers.parts import DataPart, is_missing, role_of, skipped_guess, square_guess, square_shape
from slide_gui.data.reading import Guess, ParseReport
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import counted

Replacement = Callable[[list[bytes], NDArray[np.int64]], list[bytes]]

_LATE_COMMENT = "begins with #, but comments are allowed only before the first row; remove the line"

CELL = 16
# The smallest and the largest allowed character at each position in a cell.
_LEAST, _GREATEST = b"   0.0000000e+00", b"  -9.9999999e-99"

_DIGIT, _ONE = 3, ord("1")
_MANTISSA = (_DIGIT, *range(5, 12))  # positions of the eight digits in a cell

_POWERS = np.array([10.0**k for k in range(23)])  # exact in float64
_SHIFT = 7  # digits after the point: value = (digits as an integer) · 10^(exponent − 7)


def decode(block: NDArray[np.uint8], columns: int) -> NDArray[np.bool_] | NDArray[np.float64] | None:
    """Decode a block of lines with `columns` cells of 16 characters each.

    Parameters
    ----------
    block : ndarray of shape (k, 16·columns + 1), uint8
        Complete lines.
    columns : int
        Number of cells in each line.

    Returns
    -------
    ndarray of shape (k, columns), or None
        Booleans if every number is exactly 0 or 1, else float64 equal to ``float(text)``. None if the block has
        another layout.
    """
    least, greatest = _bounds(columns)
    ones: NDArray[np.bool_] = block[:, _DIGIT : CELL * columns : CELL] == _ONE
    # Apart from leading digits 1, the block contains only the characters of zeros. All numbers are therefore 0 or 1.
    if np.count_nonzero(block != least) == np.count_nonzero(ones):
        return ones
    if (block < least).any() or (block > greatest).any():
        return None
    return _decode_any(np.ascontiguousarray(block[:, :-1]).reshape(-1, CELL), (block.shape[0], columns))


@lru_cache(maxsize=4)
def _bounds(columns: int) -> list[NDArray[np.uint8]]:
    """Return two lines of cells: one with the smallest characters that a cell may have, one with the largest."""
    return [np.frombuffer(cell * columns + b"\n", np.uint8) for cell in (_LEAST, _GREATEST)]


def _decode_any(cells: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.float64] | None:
    negative, down = (cells[:, place] == ord("-") for place in (2, 13))
    if not (negative | (cells[:, 2] == ord(" "))).all() or (cells[:, 13] == ord(",")).any():
        return None
    exponent = ((cells[:, 14] - np.uint8(48)) * np.uint8(10) + (cells[:, 15] - np.uint8(48))).astype(np.int64)
    exponent[down] *= -1
    digits = np.zeros(len(cells), np.uint32)
    for place in _MANTISSA:
        digits *= np.uint32(10)
        digits += cells[:, place] & np.uint8(0x0F)
    values = _scaled(digits, exponent - _SHIFT, cells)
    values[negative] *= -1.0
    return values.reshape(shape)


def _scaled(digits: NDArray[np.uint32], power: NDArray[np.int64], cells: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return digits · 10^power, correctly rounded.

    For |power| ≤ 22 both factors are exact in float64, so one multiplication or division rounds like ``float(text)``.
    ``float`` converts the few other numbers.
    """
    size = np.abs(power)
    factor = _POWERS[np.minimum(size, _POWERS.size - 1)]
    values: NDArray[np.float64] = np.where(power < 0, digits / factor, digits * factor)
    for index in np.flatnonzero((size >= _POWERS.size) & (digits > 0)):
        values[index] = abs(float(cells[index].tobytes()))
    return values


_BEGINNING = re.compile(rb"(?:#[^\n]*\n|[ \t\r\v\f]*\n)*+")
_BLOCK = 1 << 18  # bytes; the block and the arrays computed from it fit into the processor's cache
LONGEST_LINE = 1 << 24

PACKED = re.compile(rb'(?m)(?<![^,;\t|\n]) *("?)((?:[-+.\deE]+ +){7,}[-+.\deE]+) *\1 *(?=[,;\t|\r]|$)')
_SHOWN = 20  # largest number of characters of a cell in a message
_FLOAT32_BOUND = 2.0**128 - 2.0**103  # a number becomes infinite in float32 if its absolute value is at least this

_IS_BLANK = np.isin(np.arange(256), list(b" \t\n\r\v\f"))


def read_amat(path: Path, *, progress: Progress = NO_PROGRESS) -> DataPart:
    """Read an .amat file, whose lines have d numbers and an integer label, separated by spaces.

    If d is a perfect square, the rows are square images. If instead all d + 1 columns make a square image of at least
    8 × 8, there are no labels.

    Lines before the first row that begin with ``#`` are comments.
    Numbers of 16 characters (``%16.7e``, as in the benchmark files) are decoded in blocks, and all other numbers one by
    one. The results are the same as those of ``float(text)``.

    Raises
    ------
    DataError
        If the file is empty, or a line has the wrong number of cells or a number that is not finite. The message names
        the line.
    """
    with path.open("rb") as stream:
        return _read_numbers(stream, path.stat().st_size, str(path), path.name, progress)


def read_amat_zip(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read all .amat members of a zip file without extracting them to disk.

    Raises
    ------
    DataError
        Same as for `read_amat`. The error is also raised if the archive is damaged or has no .amat member.
    """
    members = [m for m in zip_members(path) if m.filename.lower().endswith(".amat")]
    if not members:
        raise DataError("has no .amat and no .npy file; extract it, and open the folder", str(path))
    parts = []
    for member, step in progress.each(members, [member.file_size for member in members]):
        place, size = f"{path}, {member.filename}", member.file_size
        with member_stream(path, member) as stream:
            parts.append(_read_numbers(cast(BinaryIO, stream), size, place, Path(member.filename).name, step))
            if stream.tell() != size:
                raise DataError(f"declares {size} bytes but has {stream.tell()}; download the archive again", place)
    return parts


def _read_numbers(stream: BinaryIO, size: int, place: str, name: str, progress: Progress) -> DataPart:
    stream, size = unmarked_stream(stream, size, place)
    table = read_table(stream, size, place, progress=progress)
    rows, unlabelled = table.rows, ""
    labels: NDArray[np.floating] | None = table.column
    guesses: tuple[Guess, ...] = ()
    if square_shape(table.columns):
        rows, labels = table.all_columns(), None
        why = f"its {table.columns} columns were read as an image without labels"
        guesses, unlabelled = (Guess("no labels", why),), f"{why}; to choose a label column, save the table as CSV"
    shape = square_shape(rows.shape[1], at_least=1)
    # The format is for images, so the user need not check the shape.
    square = tuple(replace(guess, sure=True) for guess in square_guess(shape))
    skipped = skipped_guess(table.comments, table.blanks)
    opened = ParseReport(guesses=(*skipped, *square, *guesses), unlabelled=unlabelled)
    return DataPart(rows, labels, shape, place, role_of(name), finite=True, opened=opened)


class Table:
    """A table of numbers to which rows are appended in place. One column is stored separately from the other columns.

    Attributes
    ----------
    rows : ndarray of shape (n, columns − 1), float32 or float64
        All columns except the separated one. The type is float32 only if it represents every number exactly; rounded
        numbers, such as time stamps, could become equal.
    column : ndarray of shape (n,), float64
        The separated column, which may contain the labels.
    columns, apart : int
        Number of all columns, and index of the separated column.
    label : int or None
        Index of the label column, which is then the separated column. No cell of it may be missing.
    filled : int
        Number of rows that were appended.
    comments, blanks : int
        Numbers of comment lines and blank lines that were skipped.
    has_codes : bool
        True if the separated column has an integer with leading zeros.
    """

    def __init__(self, columns: int, label: int | None, expected: int, place: str) -> None:
        self.columns, self._place = columns, place
        self.label = None if label is None else label % columns
        self.apart = columns - 1 if self.label is None else self.label
        self.filled = self.comments = self.blanks = 0
        self.has_codes = False
        check_memory(4 * expected * columns, place)
        self.rows: NDArray[np.floating] = np.empty((expected, columns - 1), np.float32)
        self.column = np.empty(expected, np.float64)

    def append(self, block: NDArray[np.bool_] | NDArray[np.float64]) -> None:
        """Append rows. `block` contains all columns, including the separated one."""
        start, stop, k = self.filled, self.filled + block.shape[0], self.apart
        if stop > self.rows.shape[0]:
            self.resize(stop + stop // 4)
        if self.rows.dtype == np.float32 and not fits_float32(block):
            check_memory(8 * self.rows.shape[0] * self.columns, self._place)
            wide = np.empty(self.rows.shape, np.float64)
            wide[:start] = self.rows[:start]
            self.rows = wide
        self.rows[start:stop, :k] = block[:, :k]
        self.rows[start:stop, k:] = block[:, k + 1 :]
        self.column[start:stop] = block[:, k]
        self.filled = stop

    def all_columns(self) -> NDArray[np.floating]:
        """Return the rows together with the separated column, which must be the last column of the table."""
        last = self.column.astype(np.float32) if fits_float32(self.column) else self.column
        return np.column_stack([self.rows, last])

    def resize(self, rows: int) -> None:
        """Change the number of rows for which memory is allocated."""
        check_memory(self.rows.itemsize * rows * self.columns, self._place)
        self.rows.resize((rows, self.columns - 1), refcheck=False)
        self.column.resize(rows, refcheck=False)


@dataclass(frozen=True)
class RowFormat:
    """Format of the rows of a table.

    Attributes
    ----------
    columns : int
        Number of cells in each row, or 0 to count the cells of the first row.
    label : int or None
        Index of the label column, which is stored separately. With None, the last column is stored separately.
    delimiter : bytes
        The character between two numbers; empty if they are separated by spaces.
    first_line : int
        Number of the first line of the text, for error messages.
    replace_texts : callable or None
        Function that replaces strings by numbers. It receives the cells of complete rows, which may be quoted if there
        is a delimiter, and the line number of each row.
    packed : tuple of int
        Number of numbers in each cell if some cells have eight or more, which are separated by spaces; otherwise empty.
    """

    columns: int = 0
    label: int | None = -1
    delimiter: bytes = b""
    first_line: int = 1
    replace_texts: Replacement | None = None
    packed: tuple[int, ...] = ()


_NUMBERS = RowFormat()  # rows of numbers that are separated by spaces, as in .amat files


def read_table(
    stream: BinaryIO, size: int, place: str, rows: RowFormat = _NUMBERS, *, progress: Progress = NO_PROGRESS
) -> Table:
    """Read a table of numbers with one row per line. All rows have the same number of cells.

    Blank lines are skipped. Without a delimiter, lines before the first row that begin with ``#`` are skipped, too.

    Parameters
    ----------
    stream : binary file
        The text, which is read to its end.
    size : int
        Number of bytes of the text, or an estimate. It determines the first allocation and the progress reports.
    place : str
        The file or the member of an archive, for messages.
    rows : RowFormat
    progress : Progress
        Reports the fraction of the text read.

    Raises
    ------
    DataError
        If the table is empty or has fewer than two columns, or a line has the wrong number of cells. The error is also
        raised if a label is missing, a number is not finite as float32, or the rows do not fit into memory. Other
        missing cells become NaN.
    """
    table: Table | None = None
    rest, done, line, step = b"", 0, rows.first_line, _BLOCK
    comments = blanks = 0
    while True:
        # Each block ends at a line end; if a line is longer than a block, the number of bytes to read is doubled.
        chunk = stream.read(max(step - len(rest), len(rest), 1))
        done += len(chunk)
        text, rest = _complete_lines(rest + chunk if rest else chunk, last=not chunk)
        if len(rest) > LONGEST_LINE:
            raise DataError(f"line {line} is longer than 16 MiB; expected one row of numbers per line", place)
        if table is None:
            beginning = b"" if rows.delimiter else cast(re.Match[bytes], _BEGINNING.match(text))[0]
            text = text[len(beginning) :]
            n_comments, n_lines = len(re.findall(rb"^#", beginning, re.MULTILINE)), beginning.count(b"\n")
            comments, blanks, line = comments + n_comments, blanks + n_lines - n_comments, line + n_lines
            if text:
                row = text[: text.index(b"\n") + 1].splitlines(keepends=True)[0]
                columns = rows.columns or len(row.split())
                if columns < 2 and not rows.columns:
                    problem = "its rows have one column, expected features and a label"
                    raise DataError(f"{problem} (785 columns for images of 28 × 28)", place)
                # Limit the estimated number of rows: each number takes two bytes or more (a digit and a separator).
                table = Table(columns, rows.label, min(size // len(row), size // (2 * columns)) + 1, place)
                step = max(1, _BLOCK // len(row)) * len(row)
        if text and table is not None:
            n_rows, n_lines = table.filled, _append(table, text, rows, place, line)
            blanks += n_lines - (table.filled - n_rows)
            line += n_lines
        progress.report(min(1.0, done / size) if size else 1.0)
        if not chunk:
            break
    if table is None or table.filled == 0:
        raise DataError("has no rows of numbers; expected one row per line", place)
    table.resize(table.filled)
    table.comments, table.blanks = comments, blanks
    return table


def unpacked(text: bytes, delimiter: bytes) -> bytes:
    """Return rows in which each cell of eight or more numbers, separated by spaces, is replaced by these numbers."""
    return PACKED.sub(lambda cell: delimiter.join(cell[2].split()), text)


def _complete_lines(text: bytes, last: bool) -> tuple[bytes, bytes]:
    """Split text after its last newline. At the end of the file, add a missing newline and do not split."""
    if last:
        return (text + b"\n" if text and not text.endswith(b"\n") else text), b""
    cut = text.rfind(b"\n") + 1
    return text[:cut], text[cut:]


def fits_float32(values: NDArray[np.generic]) -> bool:
    """Return True if float32 represents every value exactly. Missing cells are ignored."""
    if values.dtype in (bool, np.float32):
        return True
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        equal = values.astype(np.float32) == values
    return bool(equal.all() or (equal | (values != values)).all())


def _append(table: Table, text: bytes, rows: RowFormat, place: str, line: int) -> int:
    """Append the rows of complete lines; return the number of lines."""
    columns, width = table.columns, CELL * table.columns + 1
    if not rows.delimiter and rows.replace_texts is None and len(text) % width == 0:
        block = decode(np.frombuffer(text, np.uint8).reshape(-1, width), columns)
        if block is not None and (block.dtype == bool or np.abs(block).max() < _FLOAT32_BOUND):
            table.append(block)
            return len(block)
    counts, tokens = _split_lines(text, rows, place, line)
    wrong = (counts > 0) & (counts != columns)
    if wrong.any():
        at = int(np.argmax(wrong))
        faulty = text.split(b"\n")[at]
        if faulty.startswith(b"#"):
            raise DataError(f"line {line + at} {_LATE_COMMENT}", place)
        if faulty.count(b'"') % 2:
            raise DataError(f"line {line + at} has an unpaired quotation mark; write each row on one line", place)
        _check_packed(faulty, rows, place, line + at)
        n = counted(counts[at], "cell" if rows.delimiter else "number")
        raise DataError(f"line {line + at} has {n}, expected {columns}; correct the line, or leave it out", place)
    lines = np.flatnonzero(counts) + line
    if rows.replace_texts is not None:
        tokens = rows.replace_texts(tokens, lines)
    # One search in all labels together is faster than one search per label.
    labels = b"\n".join([b"", *tokens[table.apart :: columns], b""])
    table.has_codes |= re.search(rb"\n\s*0\d+\s*\n", labels) is not None
    underscores = b"_" in (text if rows.replace_texts is None else b"".join(tokens))
    table.append(_floats(tokens, table, lines, place, rows, underscores=underscores).reshape(-1, columns))
    return len(counts)


def _check_packed(text: bytes, rows: RowFormat, place: str, line: int) -> None:
    """Raise an error for the first cell of a line that has fewer or more numbers than the same cell of other lines."""
    for column, (cell, n) in enumerate(zip(split_line(text, rows.delimiter, place), rows.packed, strict=False), 1):
        words = [repr(word[:_SHOWN]) for word in cell.split() if not re.fullmatch(r"[-+.\deE]+", word)]
        if n > 1 and (words or len(cell.split()) != n):
            actual = next(iter(words), counted(len(cell.split()), "number"))
            problem = f"found {actual}, expected {n} numbers with spaces between them; correct the cell"
            raise DataError(f"line {line}, column {column}: {problem}, or leave the row out", place)


def _split_lines(text: bytes, rows: RowFormat, place: str, line: int) -> tuple[NDArray[np.int64], list[bytes]]:
    """Return the number of cells of each line (0 for a blank line), and a list of all cells."""
    delimiter = rows.delimiter
    text = unpacked(text, delimiter) if rows.packed else text
    if rows.replace_texts is not None and b'"' in text:
        cells = [
            split_line(each, delimiter, f"{place}, line {line + k}") if delimiter in each or each.strip() else []
            for k, each in enumerate(text.split(b"\n")[:-1])
        ]
        return np.array([len(row) for row in cells]), [cell.encode() for row in cells for cell in row]
    text = text.replace(b'"', b" ")
    codes = np.frombuffer(text, np.uint8)
    begins = np.append(0, np.flatnonzero(codes == ord("\n"))[:-1] + 1)
    if not delimiter:
        starts = ~_IS_BLANK[codes]
        starts[1:] &= _IS_BLANK[codes[:-1]]
        return np.add.reduceat(starts, begins, dtype=np.int64), text.split()
    counts = np.add.reduceat(codes == delimiter[0], begins, dtype=np.int64) + 1
    counts[(counts == 1) & ~np.logical_or.reduceat(~_IS_BLANK[codes], begins)] = 0
    if not counts.all():
        lines = text.split(b"\n")
        text = b"".join(lines[k] + b"\n" for k in np.flatnonzero(counts))
    return counts, text.replace(b"\n", delimiter).split(delimiter)[:-1]


def split_line(line: bytes, delimiter: bytes, place: str) -> list[str]:
    """Return the cells of a line, without quotation marks.

    Raises
    ------
    DataError
        If the line cannot be read as cells of a CSV file.
    """
    try:
        if not delimiter and b"\r" not in line.strip():
            return ["".join(cell) for cell in re.findall(r'"([^"]*)"|(\S+)', line.decode())]
        mark = delimiter.decode() or " "
        return next(csv.reader([line.decode().rstrip("\r\n")], delimiter=mark, skipinitialspace=True))
    # A line that was cut at 16 MiB may end inside a character.
    except (csv.Error, StopIteration, UnicodeDecodeError) as error:
        raise DataError("has a line that is not a row of cells; save it as CSV with usual line ends", place) from error


def is_number(cell: str | bytes) -> bool:
    """Return True if a cell is a number. Unlike ``float``, do not accept 1_0, which may be the name of a class."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in str(cell)


def _floats(
    tokens: list[bytes], table: Table, lines: NDArray[np.int64], place: str, rows: RowFormat, *, underscores: bool
) -> NDArray[np.float64]:
    """Convert all cells to numbers, and missing cells to NaN. Raise an error for the first cell that is neither.

    `underscores` is True if a cell may contain an underscore. ``float`` reads 1_0 as ten, which is an error in a table.
    """
    try:
        numbers = np.fromiter(map(float, tokens), np.float64, len(tokens))
        if not underscores and np.abs(numbers).max(initial=0.0) < _FLOAT32_BOUND:
            return numbers
    except ValueError:
        numbers = np.empty(len(tokens))
    for index, token in enumerate(tokens):
        numbers[index] = float(token) if is_number(token) and b"_" not in token else np.nan
        if not abs(numbers[index]) < _FLOAT32_BOUND:
            row, column = divmod(index, table.columns)
            text = token.strip().decode("utf-8", "backslashreplace")
            shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
            missing = is_missing(shown)
            if missing and column != table.label:
                continue
            if column == 0 and shown.startswith("#") and shown[-1] not in "!?":  # Excel writes cells such as #DIV/0!
                raise DataError(f"line {lines[row]} {_LATE_COMMENT}", place)
            limit = " up to 3.4e38" if np.isfinite(numbers[index]) else ""
            advice = " move this row to the top if it is a class," if column == table.label else " write NA if unknown,"
            is_amat = place.lower().endswith(".amat")
            advice = "" if limit else " save a table with text as CSV," if is_amat else advice
            left = "row" if is_amat or column == table.label else "row or the column"
            problem = f"found {shown!r}, expected a finite number{limit}; correct it,{advice} or leave the {left} out"
            if missing:
                problem = f"the label is missing (found {shown!r}); fill it in, leave the row out, or choose no labels"
            column = int(np.searchsorted(np.cumsum(rows.packed), column, "right")) if rows.packed else column
            raise DataError(f"line {lines[row]}, column {column + 1}: {problem}", place)
    return numbers
