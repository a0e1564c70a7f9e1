"""Open members of a zip file without extracting them to disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, check_claim

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError)
"""Exceptions that Python's zip and gzip readers raise on damaged streams."""

_MOST_MEMBERS = 10_000


def zip_members(path: Path) -> list[zipfile.ZipInfo]:
    """Return the files of a zip archive, without folders and hidden files.

    Raises
    ------
    DataError
        If the archive is damaged or lists more than 10 000 members.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except BROKEN as error:
        raise DataError(f"is not a readable zip file ({_short(error)}); download it again", str(path)) from error
    if len(members) > _MOST_MEMBERS:
        raise DataError(f"has {len(members)} members, expected at most {_MOST_MEMBERS}; split the archive", str(path))
    return [m for m in members if not m.filename.endswith("/") and not Path(m.filename).name.startswith((".", "_"))]


@contextmanager
def member_stream(path: Path, member: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member for reading, after checking its declared size.

    Raises
    ------
    DataError
        If the declared size is impossible or exceeds the memory limit. Also if the member is encrypted, has a
        compression other than deflate, or is damaged (checksum, size).
    """
    place = f"{path}, {member.filename}"
    if member.flag_bits & 1:
        raise DataError("is encrypted; extract it first", place)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError("has an unsupported compression; compress it again with deflate", place)
    ratio = DEFLATE_RATIO if member.compress_type == zipfile.ZIP_DEFLATED else 1
    check_claim(member.file_size, min(member.compress_size, path.stat().st_size), place, ratio=ratio)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream
    except DataError:
        raise
    except BROKEN as error:
        raise DataError(f"is damaged ({_short(error)}); download the archive again", place) from error


def _short(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120] or type(error).__name__
