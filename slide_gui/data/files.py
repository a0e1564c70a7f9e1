"""Write files completely or not at all, and never overwrite the user's files.

While a file is written, it has a temporary name and is locked. A temporary file without a lock belongs to a killed
process, and the next write removes it. If several files are written to a folder, a record file lists their hashes. A
file in such a folder is replaced only if the record lists it and its hash is unchanged.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import BinaryIO

from slide_gui.data.errors import DataError

with suppress(ImportError):
    import fcntl

# File name of the record of a folder: the SHA-256 of each file written by the program, for `sha256sum -c`.
RECORD = "slide-gui.sha256"

_UNFINISHED = "0" * 64  # entry in the record, instead of the SHA-256, while a file is written
_SQLITE = b"SQLite format 3\0"

_LOCKABLE = os.name != "nt"  # Windows has no fcntl locks, so abandoned temporary files are not removed there
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.part")
_MOST_LISTED = 10_000  # largest number of entries of a folder that are searched for abandoned temporary files


def write_whole(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file under a temporary name, then rename it, so that other programs never see an incomplete file.

    An existing file remains unchanged if writing fails or is cancelled. A replaced file keeps its permissions and, if
    the system allows it, its owner. A new file has the default permissions of the process (its umask). Temporary
    files of killed processes in the same folder are removed.

    Parameters
    ----------
    path : Path
        Path of the file. Its folder is created if missing. If it is a symbolic link, the target of the link is written.
    content : bytes or callable
        The contents, or a function that writes them. It receives the open binary file, whose ``name`` is the temporary
        name.

    Raises
    ------
    OSError
        If the file cannot be written; the error names `path`, never the temporary file.
    """
    if path.exists() and not path.is_file():  # renaming would replace a folder or a device
        raise OSError(errno.EINVAL, "exists and is not a regular file; choose another name", str(path))
    part: Path | None = None
    try:
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target.parent)
        with _new_temporary_file(target.parent) as file:
            part = Path(file.name)
            if _LOCKABLE and target.exists():
                _copy_permissions(target, file)
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
            if _LOCKABLE:  # rename while locked; Windows cannot rename open files
                os.replace(part, target)
        if not _LOCKABLE:
            os.replace(part, target)
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                part.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            why = read_only(path)
            if why or error.filename is None or _TEMPORARY.fullmatch(os.path.basename(str(error.filename))):
                raise OSError(error.errno, why or error.strerror, str(path)) from error
        raise


def read_only(path: Path) -> str:
    """Return a message if the folder in which `path` would be written is read-only, or else an empty string."""
    target = Path(os.path.realpath(path))
    folder = next(each for each in (target, *target.parents) if each.is_dir())
    return "" if os.access(folder, os.W_OK) else f"the folder {folder} is read-only"


def unused(path: Path) -> Path:
    """Return the path, with a number added to the name if the path exists already."""
    numbered = (path.with_name(f"{path.stem} {number}{path.suffix}") for number in count(2))
    return next(each for each in chain([path], numbered) if not each.exists())


def check_outputs(outputs: Iterable[Path], inputs: Sequence[Path]) -> None:
    """Raise an error if an output would replace an input file or a run store, or if its folder is read-only.

    An output that is a link to an input, or another spelling of its path, is recognised.

    Parameters
    ----------
    outputs : iterable of Path
        The files to be written.
    inputs : sequence of Path
        Files that are read or contain results, and folders that must not change.

    Raises
    ------
    DataError
        If an output is one of the inputs, lies in one of the input folders, is an SQLite database, or cannot be
        written.
    """
    for output in outputs:
        if why := read_only(output):
            raise DataError(f"{why}; choose another path, or change the permissions", str(output))
        for each in inputs:
            # Some file systems do not distinguish upper and lower case.
            by_name = str(output.resolve()).casefold() == str(each.resolve()).casefold()
            if output.samefile(each) if output.exists() and each.exists() else by_name:
                raise DataError("is an input; choose another output file", str(output))
            if each.is_dir() and each.resolve() in output.resolve().parents:
                raise DataError(f"is in the input folder {each}; choose an output outside this folder", str(output))
        if output.is_file():
            with output.open("rb") as file:
                if file.read(len(_SQLITE)) == _SQLITE:
                    raise DataError("is a database; choose another output file", str(output))


def check_folder(folder: Path) -> dict[str, str]:
    """Return the record of a folder as a dictionary from file name to SHA-256. It is empty for a new or empty folder.

    Raises
    ------
    DataError
        If the path is not a folder, or if the folder contains files but no record.
    """
    try:
        with os.scandir(folder) as entries:
            is_used = any(_TEMPORARY.fullmatch(entry.name) is None for entry in entries)
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise DataError("is a file; choose a new folder", str(folder)) from None
    record = folder / RECORD
    if not record.is_file():
        if is_used:
            raise DataError("contains files that slide-gui did not write; choose a new or an empty folder", str(folder))
        return {}
    lines = (line.partition("  ") for line in record.read_text(encoding="utf-8", errors="replace").splitlines())
    return {name: digest for digest, _, name in lines}


@contextmanager
def folder_files(folder: Path, names: Sequence[str] = ()) -> Iterator[None]:
    """Open a context in which the caller writes the given files. At its end, their hashes are added to the record.

    The files are listed in the record before they are written, so that unfinished files of a killed process can be
    replaced.

    Raises
    ------
    DataError
        Same as for `check_folder`. The error is also raised if one of the files exists and was changed, or was not
        written by the program.
    OSError
        If the record cannot be written.
    """
    known = check_folder(folder)
    for name in names:
        path = folder / name
        if (path.exists() or path.is_symlink()) and known.get(name) not in (_UNFINISHED, _digest(path)):
            problem = "was changed since slide-gui wrote it" if name in known else "was not written by slide-gui"
            raise DataError(f"exists and {problem}; choose a new folder", str(path))
    _write_record(folder, known | dict.fromkeys(names, _UNFINISHED))
    yield
    _write_record(folder, known | {name: _digest(folder / name) for name in names})


def _write_record(folder: Path, digests: dict[str, str]) -> None:
    write_whole(folder / RECORD, "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode())


def _digest(path: Path) -> str:
    """Return the SHA-256 of a regular file, or an empty string for all other paths."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy_permissions(target: Path, file: BinaryIO) -> None:
    status = target.stat()
    with suppress(OSError):  # only root may change the owner
        os.fchown(file.fileno(), status.st_uid, status.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))


def _new_temporary_file(folder: Path) -> BinaryIO:
    """Create and lock a temporary file. Its name is short, because the final name may have the maximum length."""
    while True:
        file = open(folder / f".{secrets.token_hex(8)}.part", "xb")  # noqa: SIM115 - the caller closes it
        if not _LOCKABLE:
            return file
        with suppress(OSError):  # without locks, abandoned files are not removed
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another process removed the file before it was locked


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that ended before the files were complete."""
    if not _LOCKABLE:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        parts = [entry.path for entry in islice(entries, _MOST_LISTED) if _TEMPORARY.fullmatch(entry.name)]
        for part in parts:
            with suppress(OSError), open(part, "rb") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(part)
