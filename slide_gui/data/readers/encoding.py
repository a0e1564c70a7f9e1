"""Read text files in any of three encodings as UTF-8: UTF-8 itself, UTF-16 with a byte order mark, or Windows-1252."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO

from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.reading import Guess
from slide_gui.progress import NO_PROGRESS, Progress

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 20  # bytes


def utf8_start(start: bytes) -> bytes:
    """Return the beginning of a text file, in UTF-8 if it has the byte order mark of UTF-16."""
    if not start.startswith(_UTF16_MARKS):
        return start
    return start[: len(start) // 2 * 2].decode("utf-16", "ignore").encode()  # the last letter may be cut in two


def unmarked_stream(stream: BinaryIO, size: int, place: str) -> tuple[BinaryIO, int]:
    """Return a text at its first letter and its size from there on, in UTF-8 if it has a byte order mark.

    Parameters
    ----------
    stream : binary file
        At its beginning.
    size : int
        Its number of bytes.
    place : str
        The file, for messages.

    Raises
    ------
    DataError
        If it has the mark of UTF-16 and is in another encoding.
    """
    start = stream.read(len(codecs.BOM_UTF8))
    begins = len(codecs.BOM_UTF8) if start == codecs.BOM_UTF8 else 0
    stream.seek(begins)
    if start.startswith(_UTF16_MARKS):
        return _converted(stream, size, "utf-16", "is marked as UTF-16 but is not; save it as UTF-8", place)
    return stream, size - begins


def utf8_stream(
    stream: BinaryIO, size: int, place: str, *, progress: Progress = NO_PROGRESS
) -> tuple[BinaryIO, int, tuple[Guess, ...]]:
    """Return a text in UTF-8 at its first letter, its size from there on, and its encoding if that is a guess.

    Parameters
    ----------
    stream, size, place
        As for `unmarked_stream`.
    progress : Progress
        The point at which reading can be cancelled.

    Raises
    ------
    DataError
        If the text is neither UTF-8 nor Windows-1252, nor UTF-16 with a byte order mark.
    """
    text, size = unmarked_stream(stream, size, place)
    begins = text.tell()
    line = _first_line_not_utf8(text, progress)
    text.seek(begins)
    if line is None:
        return text, size, ()
    refusal = f"line {line} is neither UTF-8 nor Windows-1252; save the file as UTF-8"
    why = f"line {line} is not UTF-8; if letters are wrong, save the file as UTF-8"
    return *_converted(text, size, "cp1252", refusal, place), (Guess("text read as Windows-1252", why),)


def _first_line_not_utf8(stream: BinaryIO, progress: Progress) -> int | None:
    """Return the number of the first line that is not UTF-8; None if all are."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    while True:
        block = stream.read(_BLOCK)
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            return line + error.object[: error.start].count(b"\n")
        if not block:
            return None
        line += block.count(b"\n")
        progress.report(0.0)


def _converted(stream: BinaryIO, size: int, encoding: str, refusal: str, place: str) -> tuple[BinaryIO, int]:
    check_memory(6 * size, place)  # the bytes, the text (two bytes a letter at least), and up to three in UTF-8
    try:
        text = stream.read().decode(encoding).encode()
    except UnicodeDecodeError:
        raise DataError(refusal, place) from None
    return io.BytesIO(text), len(text)
