"""Files that are written whole or not at all, and never over what belongs to the user.

A file being written has a temporary name, and is locked by whoever writes it: one that nobody locks was left behind by
a killed process, and is removed with the next file. A folder that gets several files has a record of them, so that
only files that the program wrote, and nobody changed since, are ever replaced there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from slide_gui.data.errors import DataError

with suppress(ImportError):
    import fcntl

RECORD = "slide-gui.sha256"
"""Name of the record of a folder: the SHA-256 of each file that the program wrote there, as `sha256sum -c` reads it."""

_UNFINISHED = "0" * 64  # in place of the SHA-256 of a file that is being written
_SQLITE = b"SQLite format 3\0"

_LOCKABLE = os.name != "nt"  # on Windows nothing is swept: whose a file is cannot be told there
_PART = re.compile(r"\.[0-9a-f]{16}\.part")
_MOST_LISTED = 10_000  # entries of a folder that are looked at


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then rename it, so that no reader ever sees half of it.

    What stood at `path` stays as it was if `write` fails or is cancelled. A file that is replaced keeps its permissions
    and, where the system allows it, its owner; a new one gets those that the process gives to any new file (its umask).
    What processes that were killed left half written in the folder is removed.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing. A symbolic link stays; the file that it names is written.
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
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        with _new_part(target.parent) as file:
            part = Path(file.name)
            if _LOCKABLE and target.exists():
                _copy_permissions(target, file)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if _LOCKABLE:  # while it is locked; elsewhere what is open cannot be renamed
                os.replace(part, target)
        if not _LOCKABLE:
            os.replace(part, target)
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        if isinstance(error, OSError) and error.errno is not None and _is_part(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def check_outputs(outputs: Iterable[Path], inputs: Sequence[Path]) -> None:
    """Refuse to write over what is read, or over any store of runs.

    Files are compared by what they are, not by their names: links and other spellings are found.

    Parameters
    ----------
    outputs : iterable of Path
        The files that are going to be written.
    inputs : sequence of Path
        Files that are read or hold results, and folders that nothing may be written into.

    Raises
    ------
    DataError
        If an output is one of the inputs, lies in a folder among them, or is an SQLite database.
    """
    for output in outputs:
        for each in inputs:
            if _is_same(output, each):
                raise DataError("is an input; choose another output", str(output))
            if each.is_dir() and each.resolve() in output.resolve().parents:
                raise DataError(f"lies in {each}, which is read; choose an output outside it", str(output))
        if output.is_file():
            with output.open("rb") as file:
                if file.read(len(_SQLITE)) == _SQLITE:
                    raise DataError("is a database; choose another output", str(output))


def _is_same(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return str(first.resolve()).casefold() == str(second.resolve()).casefold()  # some systems ignore the case


def check_folder(folder: Path) -> dict[str, str]:
    """Return what the record of a folder says: name → SHA-256; nothing for a folder that is new or empty.

    Raises
    ------
    DataError
        If it is not a folder, or holds files but no record.
    """
    try:
        with os.scandir(folder) as entries:
            is_used = any(_PART.fullmatch(entry.name) is None for entry in entries)
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise DataError("is a file; name a new folder", str(folder)) from None
    record = folder / RECORD
    if not record.is_file():
        if is_used:
            raise DataError("holds files that slide-gui did not write; name a new or an empty folder", str(folder))
        return {}
    lines = (line.partition("  ") for line in record.read_text(encoding="utf-8", errors="replace").splitlines())
    return {name: digest for digest, _, name in lines}


@contextmanager
def folder_files(folder: Path, names: Sequence[str] = ()) -> Iterator[None]:
    """Give a context in which these files may be written into a folder; the record then has their SHA-256.

    The record names them before they are written, so that what a killed process left is replaced the next time.

    Raises
    ------
    DataError
        As `check_folder`, and if one of the files is there that the program did not write, or that was changed since.
    OSError
        If the record cannot be written.
    """
    known = check_folder(folder)
    for name in names:
        path = folder / name
        if (path.exists() or path.is_symlink()) and known.get(name) not in (_UNFINISHED, _digest(path)):
            what = "was changed since slide-gui wrote it" if name in known else "was not written by slide-gui"
            raise DataError(f"is there already and {what}; name a new folder", str(path))
    _write_record(folder, known | dict.fromkeys(names, _UNFINISHED))
    yield
    _write_record(folder, known | {name: _digest(folder / name) for name in names})


def _write_record(folder: Path, digests: dict[str, str]) -> None:
    text = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    write_whole(folder / RECORD, lambda file: file.write(text.encode()))


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; of what is not a file, an empty text."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy_permissions(target: Path, file: BinaryIO) -> None:
    status = target.stat()
    with suppress(OSError):  # only the owner of the system may give a file away
        os.fchown(file.fileno(), status.st_uid, status.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))


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
