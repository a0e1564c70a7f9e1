"""Tables of numbers as text, streamed by blocks of whole lines; numbers of sixteen characters without a parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.readers.parts import is_missing
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import counted

LATE_COMMENT = "begins with #, but comments may stand only before the first row; leave the line out"

CELL = 16
_ZERO = np.frombuffer(b"   0.0000000e+00", np.uint8)
_DIGIT, _ONE = 3, ord("1")

# The same cell as two little-endian words, masked to what is fixed in it.
_LOW_FIXED, _LOW_MASK = 0x0000_002E_0000_2020, 0x0000_00FF_0000_FFFF
_HIGH_FIXED, _HIGH_MASK = 0x0000_0065_0000_0000, 0x0000_00FF_0000_0000

_POWERS = np.array([10.0**k for k in range(23)])  # these are exact in float64
_SHIFT = 7  # digits behind the point: value = (digits as a whole number) · 10^(exponent − 7)


def decode(block: NDArray[np.uint8], columns: int) -> NDArray[np.bool_] | NDArray[np.float64] | None:
    """Read a block of lines of `columns` cells of sixteen characters.

    Parameters
    ----------
    block : ndarray of shape (k, 16·columns + 1), uint8
        Whole lines.
    columns : int
        Numbers in a line.

    Returns
    -------
    ndarray of shape (k, columns), or None
        Booleans where every number is exactly 0 or 1, else float64, each equal to ``float(text)``;
        None if the block is not laid out so.
    """
    template = _template(columns)
    ones: NDArray[np.bool_] = block[:, _DIGIT : CELL * columns : CELL] == _ONE
    # Every byte is the template's, or a 1 in the place of the leading digit: then nothing else is to be read.
    if np.count_nonzero(block != template) == np.count_nonzero(ones):
        return ones
    if (block[:, -1] != ord("\n")).any():
        return None
    return _decode_any(np.ascontiguousarray(block[:, :-1]).reshape(-1, CELL), (block.shape[0], columns))


@lru_cache(maxsize=4)
def _template(columns: int) -> NDArray[np.uint8]:
    return np.append(np.tile(_ZERO, columns), np.uint8(ord("\n")))


def _decode_any(cells: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.float64] | None:
    words = cells.view("<u8")
    low, high = words[:, 0], words[:, 1]
    sign = cells[:, 2]
    negative = sign == ord("-")
    down = cells[:, 13] == ord("-")
    if (
        ((low & np.uint64(_LOW_MASK)) != np.uint64(_LOW_FIXED)).any()
        or ((high & np.uint64(_HIGH_MASK)) != np.uint64(_HIGH_FIXED)).any()
        or not (negative | (sign == ord(" "))).all()
        or not (down | (cells[:, 13] == ord("+"))).all()
    ):
        return None
    tens, units = cells[:, 14] - np.uint8(48), cells[:, 15] - np.uint8(48)
    digits = (low >> np.uint64(24)) & np.uint64(0xFF)
    digits |= (low >> np.uint64(32)) & np.uint64(0xFFFF_FF00)
    digits |= high << np.uint64(32)
    if not _all_digits(digits) or (tens > 9).any() or (units > 9).any():
        return None
    exponent = (tens * np.uint8(10) + units).astype(np.int64)
    exponent[down] *= -1
    values = _scaled(_eight_digits(digits), exponent - _SHIFT, cells)
    values[negative] *= -1.0
    return values.reshape(shape)


def _all_digits(word: NDArray[np.uint64]) -> bool:
    """Say whether all eight bytes of every word are ASCII digits."""
    high_nibble = np.uint64(0xF0F0_F0F0_F0F0_F0F0)
    carried = ((word + np.uint64(0x0606_0606_0606_0606)) & high_nibble) >> np.uint64(4)
    return bool((((word & high_nibble) | carried) == np.uint64(0x3333_3333_3333_3333)).all())


def _eight_digits(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the whole number that eight ASCII digits spell, first digit in the lowest byte.

    Neighbours are joined in parallel within the word: digits to pairs, pairs to fours, fours to eight.
    """
    word = word - np.uint64(0x3030_3030_3030_3030)
    word = word * np.uint64(10) + (word >> np.uint64(8))
    mask = np.uint64(0x0000_00FF_0000_00FF)
    fours = (word & mask) * np.uint64(100 + (1_000_000 << 32))
    fours += ((word >> np.uint64(16)) & mask) * np.uint64(1 + (10_000 << 32))
    result: NDArray[np.uint64] = fours >> np.uint64(32)
    return result


def _scaled(digits: NDArray[np.uint64], power: NDArray[np.int64], cells: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return digits · 10^power, correctly rounded.

    Both factors are exact in float64 for |power| ≤ 22, so one multiplication or division rounds as
    ``float(text)`` does; the few numbers beyond are given to ``float`` itself.
    """
    size = np.abs(power)
    factor = _POWERS[np.minimum(size, _POWERS.size - 1)]
    values: NDArray[np.float64] = digits.astype(np.float64)
    np.divide(values, factor, out=values, where=power < 0)
    np.multiply(values, factor, out=values, where=power > 0)
    for index in np.flatnonzero((size >= _POWERS.size) & (digits > 0)):
        values[index] = abs(float(cells[index].tobytes()))
    return values


_BLANK_LINES = re.compile(rb"(?:[ \t\r\v\f]*\n)*+")
_BEGINNING = re.compile(rb"(?:#[^\n]*\n|[ \t\r\v\f]*\n)*+")
_BLOCK = 1 << 18  # bytes: the block and what is computed from it stay in the processor's cache
_LONGEST_LINE = 1 << 24

_FLOAT32_BOUND = 2.0**128 - 2.0**103  # from here on float32 rounds to infinity

_IS_BLANK = np.zeros(256, bool)
_IS_BLANK[[ord(c) for c in " \t\n\r\v\f"]] = True


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers with one column kept apart.

    Attributes
    ----------
    rows : ndarray of shape (n, columns − 1), float32 or float64
        All columns but one; float32 if that holds every number exactly.
    column : ndarray of shape (n,), float64
        The column kept apart, which may hold labels.
    comments, blanks : int
        How many lines of each kind were skipped.
    """

    rows: NDArray[np.floating]
    column: NDArray[np.float64]
    comments: int = 0
    blanks: int = 0


def read_table(
    stream: BinaryIO,
    size: int,
    place: str,
    *,
    columns: int = 0,
    apart: int = -1,
    delimiter: bytes = b"",
    first_line: int = 1,
    progress: Progress = NO_PROGRESS,
) -> Table:
    """Read numbers, one row a line, all rows of the same width.

    Blank lines are skipped. So are, unless there is a delimiter, lines before the first row that begin with ``#``.

    Parameters
    ----------
    stream : binary file
        Read to its end.
    size : int
        Bytes that the whole text has, or is said to have; sets the first allocation and the progress.
    place : str
        The file or member, for messages.
    columns : int
        Numbers in a row; 0 leaves it to the first row.
    apart : int
        The column to keep apart, within the columns.
    delimiter : bytes
        One character between numbers; empty for blanks.
    first_line : int
        The number of the first line, for messages.
    progress : Progress
        Reports the share of the text read.

    Raises
    ------
    DataError
        For an empty table, a line of the wrong width, what is no finite number (float32), fewer than
        two columns, or more rows than the memory holds.
    """
    sink: _Sink | None = None
    rest, done, line, step = b"", 0, first_line, _BLOCK
    comments = blanks = 0
    while True:
        # Up to the end of a line, so that the next block begins with one; a very long line by doubling.
        chunk = stream.read(max(step - len(rest), len(rest), 1))
        done += len(chunk)
        text, rest = _whole_lines(rest + chunk if rest else chunk, last=not chunk)
        if len(rest) > _LONGEST_LINE:
            raise DataError(f"line {line} is longer than 16 MiB; expected one row of numbers a line", place)
        if sink is None:
            text, begins, before = _without_beginning(text, _BLANK_LINES if delimiter else _BEGINNING)
            comments, blanks, line = comments + begins, blanks + before, line + begins + before
        if text and sink is None:
            sink = _start(text, size, place, columns, apart)
            step = max(1, _BLOCK // sink.line_bytes) * sink.line_bytes
        if text and sink is not None:
            rows = sink.filled
            after = _take(sink, text, delimiter, place, line)
            blanks += after - line - (sink.filled - rows)
            line = after
        progress.report(min(1.0, done / size) if size else 1.0)
        if not chunk:
            break
    if sink is None or sink.filled == 0:
        raise DataError("holds no rows of numbers; expected one row a line", place)
    return sink.table(comments, blanks)


def _without_beginning(text: bytes, pattern: re.Pattern[bytes]) -> tuple[bytes, int, int]:
    """Return whole lines from the first row on, and how many comments and blank lines come before it."""
    beginning = cast(re.Match[bytes], pattern.match(text))[0]  # it matches nothing, too
    comments = len(re.findall(rb"^#", beginning, re.MULTILINE))
    return text[len(beginning) :], comments, beginning.count(b"\n") - comments


def _whole_lines(text: bytes, last: bool) -> tuple[bytes, bytes]:
    """Split after the last newline; the last text of all ends in one."""
    if last:
        return (text + b"\n" if text and not text.endswith(b"\n") else text), b""
    cut = text.rfind(b"\n") + 1
    return text[:cut], text[cut:]


def fits_float32(values: NDArray[np.generic]) -> bool:
    """Return True if float32 holds every value exactly."""
    with np.errstate(over="ignore", under="ignore"):
        return values.dtype in (bool, np.float32) or bool((values.astype(np.float32) == values).all())


class _Sink:
    """Rows collected in place: the array grows by moving its memory, never by a second copy.

    The rows are float32 until a number comes that float32 does not hold exactly. Rounding a column of time stamps
    before it is scaled would make equal what lies seconds apart.
    """

    def __init__(self, columns: int, apart: int, expected: int, line_bytes: int, place: str) -> None:
        self.columns, self.line_bytes, self.filled = columns, line_bytes, 0
        self.apart, self._place = apart % columns, place
        check_memory(4 * expected * columns, place)
        self._rows: NDArray[np.floating] = np.empty((expected, columns - 1), np.float32)
        self._column = np.empty(expected, np.float64)

    def append(self, block: NDArray[np.bool_] | NDArray[np.float64]) -> None:
        start, stop = self.filled, self.filled + block.shape[0]
        if stop > self._rows.shape[0]:
            self._resize(stop + stop // 4)
        k = self.apart
        if self._rows.dtype == np.float32 and not fits_float32(block):
            self._widen()
        self._rows[start:stop, :k] = block[:, :k]
        self._rows[start:stop, k:] = block[:, k + 1 :]
        self._column[start:stop] = block[:, k]
        self.filled = stop

    def table(self, comments: int, blanks: int) -> Table:
        self._resize(self.filled)
        return Table(self._rows, self._column, comments, blanks)

    def _widen(self) -> None:
        check_memory(8 * self._rows.shape[0] * self.columns, self._place)
        rows = np.empty(self._rows.shape, np.float64)
        rows[: self.filled] = self._rows[: self.filled]
        self._rows = rows

    def _resize(self, rows: int) -> None:
        check_memory(self._rows.itemsize * rows * self.columns, self._place)
        self._rows.resize((rows, self.columns - 1), refcheck=False)
        self._column.resize(rows, refcheck=False)


def _start(text: bytes, size: int, place: str, columns: int, apart: int) -> _Sink:
    """Learn the width from the first row, with which the text begins."""
    row = text[: text.index(b"\n") + 1].splitlines(keepends=True)[0]
    columns = columns or len(row.split())
    if columns < 2:
        raise DataError(
            "its rows have one column, expected a feature or more and a label (785 columns for images of 28 × 28)",
            place,
        )
    # A number takes at least a digit and a separator; one row more for a last line without newline.
    expected = min(size // len(row), size // (2 * columns)) + 1
    return _Sink(columns, apart, expected, len(row), place)


def _take(sink: _Sink, text: bytes, delimiter: bytes, place: str, line: int) -> int:
    """Append the rows of whole lines; return the number of the next line."""
    width = CELL * sink.columns + 1
    if not delimiter and len(text) % width == 0:
        block = decode(np.frombuffer(text, np.uint8).reshape(-1, width), sink.columns)
        if block is not None and (block.dtype == bool or np.abs(block).max() < _FLOAT32_BOUND):
            sink.append(block)
            return line + len(block)
    numbers, lines = _parse(text, sink.columns, delimiter, sink.apart, place, line)
    sink.append(numbers)
    return line + lines


def _parse(
    text: bytes, columns: int, delimiter: bytes, apart: int, place: str, line: int
) -> tuple[NDArray[np.float64], int]:
    """Read any whitespace- or delimiter-separated numbers; return them and the count of lines."""
    if delimiter:
        text = text.replace(b'"', b" ")
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(codes == ord("\n"))
    begins = np.append(0, ends[:-1] + 1)
    if delimiter:
        between = codes == delimiter[0]
        counts = np.add.reduceat(between, begins, dtype=np.int64) + 1
        filled = (counts > 1) | np.logical_or.reduceat(~_IS_BLANK[codes], begins)
        tokens = _between(text, delimiter, every_line_filled=bool(filled.all()))
    else:
        starts = ~_IS_BLANK[codes]
        starts[1:] &= _IS_BLANK[codes[:-1]]
        counts = np.add.reduceat(starts, begins, dtype=np.int64)
        filled, tokens = counts > 0, text.split()
    wrong = filled & (counts != columns)
    if wrong.any():
        at = int(np.argmax(wrong))
        if text[begins[at] : begins[at] + 1] == b"#":
            raise DataError(f"line {line + at} {LATE_COMMENT}", place)
        raise DataError(
            f"line {line + at} has {counted(counts[at], 'number')}, expected {columns}",
            place,
        )
    numbers = _floats(tokens, columns, np.flatnonzero(filled) + line, apart, place, underscores=b"_" in text)
    return numbers.reshape(-1, columns), ends.size


def _between(text: bytes, delimiter: bytes, *, every_line_filled: bool) -> list[bytes]:
    """Return what stands between delimiters and line ends, empty cells too, but not blank lines."""
    if not every_line_filled:
        lines = text.split(b"\n")
        text = b"".join(line + b"\n" for line in lines if delimiter in line or line.strip())
    return text.replace(b"\n", delimiter).split(delimiter)[:-1]


def _floats(
    tokens: list[bytes], columns: int, lines: NDArray[np.int64], apart: int, place: str, *, underscores: bool
) -> NDArray[np.float64]:
    """Convert all tokens, or say which line holds the one that is no finite number.

    `underscores` says that some token holds one: ``float`` reads 1_0 as ten, a table must not.
    """
    try:
        numbers = np.fromiter(map(float, tokens), np.float64, len(tokens))
        with np.errstate(over="ignore"):
            fits = bool(np.isfinite(numbers.astype(np.float32)).all())
        if fits and not underscores:
            return numbers
    except ValueError:
        pass
    for index, token in enumerate(tokens):
        try:
            good = abs(float(token)) < _FLOAT32_BOUND and b"_" not in token
        except ValueError:
            good = False
        if not good:
            row, column = divmod(index, columns)
            shown = token.strip()[:20].decode("utf-8", "backslashreplace")
            if column == 0 and shown.startswith("#"):
                raise DataError(f"line {lines[row]} {LATE_COMMENT}", place)
            if not is_missing(shown):
                problem = f"found {shown!r}, expected a finite number"
            elif column == apart:
                problem = f"the label is missing (found {shown!r}); fill it in, or leave the row out"
            else:
                problem = f"the value is missing (found {shown!r}); fill it in, or leave out the row or the column"
            raise DataError(f"line {lines[row]}, column {column + 1}: {problem}", place)
    raise AssertionError("one of the tokens is no finite number")
