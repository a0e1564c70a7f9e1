"""Open an SQLite file for reading or writing, and convert SQLite's errors to OSError and DataError.

Locks, full disks and missing permissions raise an OSError. Any other SQLite error means that the file is damaged, and
raises a DataError whose message contains a remedy. A new file is accessible only to its owner. The content of a file is
not trusted. Therefore, the sizes of values are limited, text that is not UTF-8 is returned as bytes, and SQLite's
option `trusted_schema` is off.
"""

import errno
import os
import shlex
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from slide_gui.data.errors import DataError
from slide_gui.data.files import read_only

_WAIT = 60.0  # Maximum time in seconds to wait for another process to release its lock.
_LARGEST = 64 << 20  # Largest accepted size, in bytes, of one value in the database.
_ENVIRONMENT = {  # These errors do not mean that the file is damaged, but, for example, that it is locked.
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_AUTH,
}
# UnicodeDecodeError is raised if an error message of SQLite quotes text that is not UTF-8.
_FAILURES = (sqlite3.Error, UnicodeDecodeError)
# Number of bytes that are written to test whether the disk is full. It is twice the size of the files that SQLite
# creates when it opens a database.
_PROBE = 64 << 10


def store_files(path: Path) -> list[Path]:
    """Return all paths of a run store: the database, SQLite's -wal and -shm files, and the folder of array files."""
    paths = {path, Path(os.path.realpath(path))}  # If `path` is a symbolic link, its target is included.
    return [Path(f"{each}{end}") for each in paths for end in ("", "-wal", "-shm", ".arrays")]


class StoreReplaced(OSError):
    """Error that is raised if the database file was removed or replaced while it was open."""


class Database:
    """A connection to an SQLite file.

    Parameters
    ----------
    path : Path
        Path of the file.
    read_only : bool
        True to open the file without changing its data. In this case, the file can be on a read-only medium.

    Raises
    ------
    DataError
        If the file is not a database.
    OSError
        If the file cannot be opened or created.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        # When this ExitStack is closed, it deletes the copy of the file that `_open_for_reading` may create, and a file
        # created by `_open` that is still empty, for example because the disk is full.
        self._closing = ExitStack()
        self._is_intact = False
        try:
            self._db = self._open_for_reading() if read_only else self._open()
            self._identity = _identity(self.path)
        except BaseException:
            self._closing.close()
            raise

    def close(self) -> None:
        """Close the connection to the file."""
        with suppress(*_FAILURES):  # Closing a damaged file can raise an error, but the file is closed anyway.
            self._db.close()
        self._closing.close()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Execute an SQL query and return all rows of its result.

        Raises
        ------
        DataError
            If the database is damaged.
        OSError
            If the file cannot be read at present, for example because it is locked.
        """
        try:
            return self._db.execute(query, values).fetchall()
        except _FAILURES as error:
            raise self._failure(error, "read") from None

    def rows_before_damage(self, query: str) -> list[tuple[Any, ...]]:
        """Execute a query on a damaged database, and return the rows that can be read before the first error."""
        rows: list[tuple[Any, ...]] = []
        with suppress(*_FAILURES):
            rows.extend(self._db.execute(query))
        return rows

    def damage(self) -> tuple[str, ...]:
        """Return the faults that SQLite's integrity check finds in the file. The tuple is empty for an intact file."""
        try:
            lines = self._db.execute("PRAGMA integrity_check(20)").fetchall()
        except _FAILURES as error:
            failure = self._failure(error, "read")
            if isinstance(failure, OSError):
                raise failure from None
            return (str(error),)
        return tuple(str(text) for (text,) in lines if text != "ok")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock during the `with` block. Commit at its end, or roll back after an exception.

        Raises
        ------
        DataError
            If the database is damaged. Nothing is written in this case, because writing could overwrite undamaged data.
        StoreReplaced
            If the file has been removed, moved or replaced since it was opened, so that changes would be lost.
        OSError
            If the file cannot be written to.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._check_identity()
            if not self._is_intact:
                damage = self.damage()  # If an index is damaged, an SQL statement could change the wrong row.
                if damage:
                    raise self._damaged(damage[0], check_hint(self.path))
                self._is_intact = True
            yield
            self._check_identity()
            self._db.execute("COMMIT")
        except BaseException as error:
            with suppress(*_FAILURES):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            if isinstance(error, _FAILURES):
                raise self._failure(error, "written to") from error
            raise

    def write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute an SQL statement within a `with` block of `writing`. Return the number of changed rows."""
        return self._db.execute(statement, values).rowcount

    def keep_write_ahead_log(self) -> None:
        """Switch to a write-ahead log, so that other processes can read while this one writes. Make commits durable."""
        # If another process is switching the same file, SQLite reports an error at once. The switch is therefore tried
        # repeatedly.
        until = time.monotonic() + _WAIT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")
                return
            except _FAILURES as error:
                if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > until:
                    raise self._failure(error, "written to") from None
                time.sleep(0.02)

    # Methods that open the file and report failures

    def _open(self) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise OSError(None, "this is not a file, so it cannot be a run store; give another name", str(self.path))
        # The file is opened here only if it is new. POSIX locks belong to the process, not to the file descriptor.
        # Opening and closing an existing file would therefore drop the locks that other connections of this process
        # hold on the file.
        if not self.path.exists() and (why := read_only(self.path)):
            raise OSError(errno.EACCES, why, str(self.path))
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._closing.callback(_remove_empty, self.path)
        return self._connected("mode=rw", self.path)

    def _open_for_reading(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise DataError("this run store does not exist; check the name", str(self.path))
        if os.access(self.path, os.W_OK) and os.access(self.path.absolute().parent, os.W_OK):
            try:
                return self._connected("mode=rw", self.path, "PRAGMA query_only = ON")
            except OSError:  # Opening a file for writing can fail even if its permissions allow it.
                pass
        # Without write access, SQLite cannot create the index of the write-ahead log next to the file. A file without
        # a log is therefore opened as immutable. Otherwise, the file and its log are copied, and the copy is read.
        log = self.path.with_name(self.path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            return self._connected("immutable=1", self.path)
        folder = self._closing.enter_context(tempfile.TemporaryDirectory(prefix="slide-gui-"))
        copy = Path(folder, "runs.sqlite")
        shutil.copyfile(self.path, copy)
        shutil.copyfile(log, copy.with_name("runs.sqlite-wal"))
        return self._connected("mode=rw", copy, "PRAGMA query_only = ON")

    def _connected(self, how: str, path: Path, *settings: str) -> sqlite3.Connection:
        db = None
        try:
            db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_WAIT, isolation_level=None)
            db.text_factory = _text
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
            for setting in ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", *settings):
                db.execute(setting)
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except _FAILURES as error:
            if db is not None:
                db.close()
            if _code(error) == sqlite3.SQLITE_NOTADB:
                raise DataError(
                    "this is not a run store, or its file header is damaged; give another name, or restore a backup",
                    str(self.path),
                ) from None
            raise self._failure(error, "opened") from None

    def _check_identity(self) -> None:
        """Raise StoreReplaced if the open file is no longer at its path, because changes to it would be lost."""
        if _identity(self.path) != self._identity:
            raise StoreReplaced(None, "the store was removed or replaced while it was open", str(self.path))

    def _failure(self, error: Exception, done: str) -> OSError | DataError:
        """Convert an error of SQLite to an exception whose message is meant for the user."""
        if isinstance(error, sqlite3.ProgrammingError):
            raise error  # A bug in this program, not a damaged file, causes this error.
        if _code(error) == sqlite3.SQLITE_READONLY and _forbids_writing(self.path):
            return self._damaged("the file header requires a newer format than SQLite can write", check_hint(self.path))
        if _code(error) in _ENVIRONMENT:
            forbidden = read_only(self.path) or ("" if os.access(self.path, os.W_OK) else "the file is read-only")
            remedy = "change its permissions, or name another store"
            reason = f"{forbidden}; {remedy}" if forbidden else _full_disk(self.path.parent) or str(error)
            return OSError(None, f"the store cannot be {done} ({reason})", str(self.path))
        return self._damaged(str(error), "restore a backup" if done == "opened" else check_hint(self.path))

    def _damaged(self, what: str, remedy: str) -> DataError:
        return DataError(f"the store is damaged ({what}); {remedy}", str(self.path))


def check_hint(path: Path) -> str:
    """Return the end of an error message, with the command that lists the undamaged runs of a store."""
    return f"list the undamaged runs with: slide-gui runs check {shlex.quote(str(path))}"


def _forbids_writing(path: Path) -> bool:
    """Return True if, according to the file's header, only newer versions of SQLite may write to the file."""
    with suppress(OSError), path.open("rb") as stream:
        return stream.read(19)[18:] > b"\2"
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device number and the inode number of a file, or None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _remove_empty(path: Path) -> None:
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


def _full_disk(folder: Path) -> str:
    """Return an error message if the disk that contains a folder is full, otherwise an empty string.

    If the disk is full while SQLite opens a file, SQLite reports only "disk I/O error". This function writes a
    temporary file, because an exceeded disk quota is detected only by writing.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE))
            probe.flush()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"the disk is full: {error.strerror}; free some space"
    return ""


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _code(error: Exception) -> int:
    """Return SQLite's primary result code of an error, or 0 if the error has no code."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
