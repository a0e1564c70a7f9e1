"""Convert text files in UTF-8, UTF-16, or Windows-1252 to UTF-8, and unpack gzip files."""

import codecs
import gzip
import io
import re
import zlib
from functools import partial
from typing import BinaryIO

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory, damage_as
from slide_gui.data.reading import Guess
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import counted

# Characters of a line in which all cells are empty. Programs for DOS wrote the last one at the end of a file.
EMPTY_CELLS = b',;\t|" \r\n\x1a'

GZIP_MAGIC = b"\x1f\x8b"
DAMAGED_GZIP = "is a damaged or truncated gzip file; download it again"

_QUOTED = re.compile(rb'(?m)(?<![^,;\t|\n]) *"(?:[^"]|"")*+"(?= *(?:[,;\t|\r]|$))')
# A cell in single quotes
_SINGLE = re.compile(rb"(?m)(?<![^,;\t|\n]) *'([^'\n]*)'(?= *(?:[,;\t|\r]|$))")
# A byte order mark, or a letter of English; a text in another encoding has no zero byte.
_UTF16 = {"utf-16-le": rb"\xff\xfe|[\t -~]\0[^\0]", "utf-16-be": rb"\xfe\xff|\0[\t -~]\0"}
START, _BLOCK = 1 << 12, 1 << 20  # bytes that show the format of a file, and bytes that are converted at a time


def unpacked_start(start: bytes, place: str) -> bytes:
    """Return the first bytes of a file, unpacked if it is a gzip file."""
    if not start.startswith(GZIP_MAGIC):
        return start
    with damage_as(DAMAGED_GZIP, place):
        unpacked = zlib.decompressobj(wbits=31).decompress(start, START)
    if not unpacked:
        raise DataError("is an empty or truncated gzip file; download it again", place)
    return unpacked


def utf16_coding(start: bytes) -> str:
    """Return the encoding of a text that begins like UTF-16, or an empty string."""
    return next((coding for coding, pattern in _UTF16.items() if re.match(pattern, start)), "")


def utf8_start(start: bytes) -> bytes:
    """Return the beginning of a text file, converted to UTF-8 if it begins like UTF-16."""
    if not (coding := utf16_coding(start)):
        return start.rstrip(b"\x1a")
    # The last character may be incomplete, and is then ignored.
    return start.decode(coding, "ignore").lstrip("\ufeff").encode()


def unmarked_stream(stream: BinaryIO, size: int, place: str) -> tuple[BinaryIO, int]:
    """Skip a byte order mark and convert UTF-16 to UTF-8. Return the stream and its remaining size in bytes.

    Parameters
    ----------
    stream : binary file
        A text file positioned at its start.
    size : int
        Number of bytes of the file.
    place : str
        The file, for messages.

    Raises
    ------
    DataError
        If the file begins like UTF-16, but is not UTF-16.
    """
    first = 0
    while (start := stream.read(len(codecs.BOM_UTF8))) == codecs.BOM_UTF8:  # some programs write the mark twice
        first += len(start)
    stream.seek(first)
    if coding := utf16_coding(start):
        return _converted(stream, size, coding, "begins like UTF-16, but is not UTF-16; save it as UTF-8", place)
    return stream, size - first


def utf8_stream(
    stream: BinaryIO, size: int, place: str, *, progress: Progress = NO_PROGRESS
) -> tuple[BinaryIO, int, tuple[Guess, ...]]:
    """Unpack a table, convert it to UTF-8, and leave out the rows of empty cells that spreadsheets write at its end.

    Return the stream, its remaining size in bytes, and a note for the user about each of the last two changes.

    Parameters
    ----------
    stream, size, place
        Same as for `unmarked_stream`.
    progress : Progress
        Raises `Cancelled` to stop the conversion.

    Raises
    ------
    DataError
        If the text is not UTF-8, UTF-16 or Windows-1252. The error is also raised if a gzip file is damaged or its
        contents do not fit into memory.
    """
    if stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
        stream, size = _unpacked(stream, place, progress)
    stream.seek(0)
    text, size = unmarked_stream(stream, size, place)
    first = text.tell()
    line, notes = _first_line_not_utf8(text, progress), []
    text.seek(first)
    if line is not None:
        refusal = f"line {line} is neither UTF-8 nor Windows-1252; save the file as UTF-8"
        why = f"line {line} is not UTF-8; if letters are wrong, save the file as UTF-8"
        text, size = _converted(text, size, "cp1252", refusal, place)
        notes.append(Guess("text read as Windows-1252", why))
    first = text.tell()
    if any(line.count(b'"') % 2 or b"\r" in line[:-2] or (b"'" in line and _SINGLE.search(line)) for line in text):
        check_memory(3 * size, place)
        text.seek(first)
        joined = with_row_lines(content := text.read(size))
        text, size, first = io.BytesIO(joined), len(joined), 0
        if joined.count(b"\n") < content.count(b"\n"):
            notes.append(Guess("line breaks in cells read as spaces", "lines are counted as rows", sure=True))
    text.seek(max(first, first + size - 16 * _BLOCK))  # spreadsheets may write thousands of empty rows
    end = text.read()
    empty = end[len(end.rstrip(EMPTY_CELLS)) :].partition(b"\n")[2]
    text.seek(first)
    if empty.strip(b"\r\n "):
        check_memory(size, place)
        text, size = io.BytesIO(text.read(size - len(empty))), size - len(empty)
        what = f"{counted(len(empty.splitlines()), 'line')} at the end left out"
        notes.append(Guess(what, "all cells are empty", sure=True))
    return text, size, tuple(notes)


def with_row_lines(text: bytes) -> bytes:
    """Return a table with one row per line and double quotes. Line breaks in quoted cells become spaces."""
    text = text if b"\n" in text else text.replace(b"\r", b"\n")
    quoted = text if b'"' in text else _SINGLE.sub(rb'"\1"', text)
    # The apostrophes of 'tis,dogs' belong to two cells. As quotes, they would change the number of cells in a line.
    text = min(quoted, text, key=_n_lengths)
    return _QUOTED.sub(lambda cell: re.sub(rb"\r?\n", b" ", cell[0]), text)


def _n_lengths(text: bytes) -> int:
    """Return the number of distinct row lengths (in cells) at the beginning of a table."""
    lines = _QUOTED.sub(b"", text[:_BLOCK]).splitlines()
    return len({tuple(map(line.count, (b",", b";", b"\t", b"|"))) for line in lines})


def _unpacked(stream: BinaryIO, place: str, progress: Progress) -> tuple[BinaryIO, int]:
    """Return the contents of a gzip file in memory, and their size."""
    stream.seek(0)
    text = io.BytesIO()
    with damage_as(DAMAGED_GZIP, place), gzip.GzipFile(fileobj=stream) as unpacked:
        while block := unpacked.read(_BLOCK):
            check_memory(text.tell() + len(block), place)
            text.write(block)
            progress.report(0.0)
    return text, text.tell()


def _first_line_not_utf8(stream: BinaryIO, progress: Progress) -> int | None:
    """Return the number of the first line that is not UTF-8, or None."""
    line = 1
    try:
        for text in codecs.iterdecode(iter(partial(stream.read, _BLOCK), b""), "utf-8"):
            line += text.count("\n")
            progress.report(0.0)
    except UnicodeDecodeError as error:
        return line + error.object[: error.start].count(b"\n")
    return None


def _converted(stream: BinaryIO, size: int, encoding: str, refusal: str, place: str) -> tuple[BinaryIO, int]:
    # The bytes, the text (two or more bytes per character) and UTF-8 (up to three) are in memory at the same time.
    check_memory(6 * size, place)
    with damage_as(refusal, place):
        text = stream.read().decode(encoding).lstrip("\ufeff").encode()
    return io.BytesIO(text), len(text)
