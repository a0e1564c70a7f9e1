"""The .amat text of the Montreal benchmark files: the pixels and then the label, one row a line."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from slide_gui.data.errors import DataError
from slide_gui.data.readers.archives import member_stream, zip_members
from slide_gui.data.readers.encoding import unmarked_stream
from slide_gui.data.readers.parts import DataPart, role_of, skipped_guess, square_guess, square_shape
from slide_gui.data.readers.tables import read_table
from slide_gui.data.reading import ParseReport
from slide_gui.progress import NO_PROGRESS, Progress


def read_amat(path: Path, *, progress: Progress = NO_PROGRESS) -> DataPart:
    """Read an .amat file: d numbers and a whole-numbered label in each line, separated by blanks.

    A d that is a perfect square makes square images. Numbers of sixteen characters (``%16.7e``, as in the
    benchmark files) are read by blocks at once, any others number by number; both give
    ``float(text)``. Lines before the first row that begin with ``#`` are comments.

    Raises
    ------
    DataError
        If the file is empty, a line has the wrong width (the message names the line), a number is not
        finite.
    """
    with path.open("rb") as stream:
        return _read(stream, path.stat().st_size, str(path), path.name, progress)


def read_amat_zip(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read every .amat member of a zip file, streamed; nothing is unpacked to disk.

    Raises
    ------
    DataError
        As `read_amat`, and if the archive is damaged or holds no .amat member.
    """
    members = [m for m in zip_members(path) if m.filename.lower().endswith(".amat")]
    if not members:
        raise DataError("holds no .amat file; unpack it and open the files themselves", str(path))
    whole = max(1, sum(member.file_size for member in members))
    parts, done = [], 0
    for member in members:
        after = done + member.file_size
        parts.append(_read_member(path, member, progress.part(done / whole, after / whole)))
        done = after
    return parts


def _read_member(path: Path, member: zipfile.ZipInfo, progress: Progress) -> DataPart:
    place = f"{path}, {member.filename}"
    with member_stream(path, member) as stream:
        part = _read(cast(BinaryIO, stream), member.file_size, place, Path(member.filename).name, progress)
        if stream.tell() != member.file_size:
            raise DataError(
                f"declares {member.file_size} bytes but holds {stream.tell()}; fetch the archive again",
                place,
            )
    return part


def _read(stream: BinaryIO, size: int, place: str, name: str, progress: Progress) -> DataPart:
    stream, size = unmarked_stream(stream, size, place)
    table = read_table(stream, size, place, progress=progress)
    shape = square_shape(table.rows.shape[1])
    # The format is of images: there is nothing to ask.
    square = tuple(replace(guess, sure=True) for guess in square_guess(shape))
    opened = ParseReport(guesses=(*skipped_guess(table.comments, table.blanks), *square))
    return DataPart(table.rows, table.column, shape, place, role_of(name), finite=True, opened=opened)
