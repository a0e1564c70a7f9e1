"""Files that are written whole or not at all; what a killed process left half written goes with the next file.

A file being written has a temporary name, and is locked by whoever writes it: one that nobody locks was left behind.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

with suppress(ImportError):
    import fcntl

__all__ = ["write_whole"]

_LOCKABLE = os.name != "nt"  # on Windows nothing is swept: whose a file is cannot be told there
_PART = re.compile(r"\.[0-9a-f]{16}\.part")
_MOST_LISTED = 10_000  # entries of a folder that are looked at


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no reader ever sees half of it.

    What stood at `path` stays as it was if `write` fails or is cancelled. The file gets the permissions that the
    process gives to any new file (its umask), for it is made to be shared. What processes that were killed left half
    written in the folder is removed.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing.
    write : callable
        Gets the open binary file, whose ``name`` is the temporary one.

    Raises
    ------
    OSError
        If it cannot be written; it names `path`, never the temporary file.
    """
    if path.exists() and not path.is_file():  # a folder, or a device, which a rename would put out of the world
        raise OSError(errno.EINVAL, "is there already, and no file; name another", str(path))
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with _new_part(path.parent) as file:
            part = Path(file.name)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if _LOCKABLE:  # while it is locked; elsewhere what is open cannot be renamed
                os.replace(part, path)
        if not _LOCKABLE:
            os.replace(part, path)
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        if isinstance(error, OSError) and error.errno is not None and _is_part(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _is_part(name: object) -> bool:
    """Whether an error is of the temporary file, or of none that it names."""
    return name is None or _PART.fullmatch(os.path.basename(str(name))) is not None


def _new_part(folder: Path) -> BinaryIO:
    """Return a new file under a temporary name, of a length of its own, for the target's may be the longest; locked."""
    while True:
        file = open(folder / f".{secrets.token_hex(8)}.part", "xb")  # noqa: SIM115 - the caller closes it
        if not _LOCKABLE:
            return file
        with suppress(OSError):  # where files cannot be locked none is swept
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # it was swept before it was locked


def _sweep(folder: Path) -> None:
    """Remove the temporary files that nobody writes any more."""
    if not _LOCKABLE:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        parts = [entry.path for entry in islice(entries, _MOST_LISTED) if _PART.fullmatch(entry.name)]
        for part in parts:
            with suppress(OSError), open(part, "rb") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(part)
