"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no reader ever sees half of it.

    What stood at `path` stays as it was if `write` fails or is cancelled. The file gets the permissions that the
    process gives to any new file (its umask), for it is made to be shared.

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
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # of a length of its own: the target's may be the longest
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, part, str(part)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
