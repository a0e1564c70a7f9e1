"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no reader ever sees half of it.

    What stood at `path` stays as it was if `write` fails or is cancelled.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing.
    write : callable
        Gets the open binary file.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        _allow_as_usual(name)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _allow_as_usual(name: str) -> None:
    """Give a temporary file, which only its owner may read, the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
