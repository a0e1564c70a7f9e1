"""Read .amat text files of the Montreal benchmark: one line per row, with the pixels and then the label."""

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
    """Read an .amat file, whose lines have d numbers and an integer label, separated by blanks.

    If d is a perfect square, the rows are square images. Lines before the first row that begin with ``#`` are comments.
    Numbers of 16 characters (``%16.7e``, as in the benchmark files) are decoded in blocks, others one by one. Both ways
    return ``float(text)``.

    Raises
    ------
    DataError
        If the file is empty, or a line has the wrong number of cells or a number that is not finite. The message names
        the line.
    """
    with path.open("rb") as stream:
        return _read(stream, path.stat().st_size, str(path), path.name, progress)


def read_amat_zip(path: Path, *, progress: Progress = NO_PROGRESS) -> list[DataPart]:
    """Read all .amat members of a zip file without extracting them to disk.

    Raises
    ------
    DataError
        As `read_amat`, and if the archive is damaged or has no .amat member.
    """
    members = [m for m in zip_members(path) if m.filename.lower().endswith(".amat")]
    if not members:
        raise DataError("contains no .amat file; extract it and open its files", str(path))
    total = max(1, sum(member.file_size for member in members))
    parts, done = [], 0
    for member in members:
        after = done + member.file_size
        parts.append(_read_member(path, member, progress.part(done / total, after / total)))
        done = after
    return parts


def _read_member(path: Path, member: zipfile.ZipInfo, progress: Progress) -> DataPart:
    place = f"{path}, {member.filename}"
    with member_stream(path, member) as stream:
        part = _read(cast(BinaryIO, stream), member.file_size, place, Path(member.filename).name, progress)
        if stream.tell() != member.file_size:
            raise DataError(
                f"declares {member.file_size} bytes but has {stream.tell()}; download the archive again",
                place,
            )
    return part


def _read(stream: BinaryIO, size: int, place: str, name: str, progress: Progress) -> DataPart:
    stream, size = unmarked_stream(stream, size, place)
    table = read_table(stream, size, place, progress=progress)
    shape = square_shape(table.rows.shape[1])
    # The format is for images, so the shape needs no check.
    square = tuple(replace(guess, sure=True) for guess in square_guess(shape))
    opened = ParseReport(guesses=(*skipped_guess(table.comments, table.blanks), *square))
    return DataPart(table.rows, table.column, shape, place, role_of(name), finite=True, opened=opened)
