"""One SQLite file: opened as its owner's alone or for reading only, every failure told in one way.

What the world refuses (locks, disks, permissions) is an OSError; whatever else SQLite says is damage, a DataError with
the remedy. The file is taken as hostile: no value is larger than it may be, texts that are no UTF-8 come as bytes, and
nothing in its schema is trusted.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slide_gui.data.errors import DataError

__all__ = ["Database", "StoreReplaced", "checked_by", "store_files"]

_WAIT = 60.0  # seconds for another process's lock
_LARGEST = 64 << 20  # bytes of one value
_WORLD = {
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
_FAILURES = (sqlite3.Error, UnicodeDecodeError)  # the latter where SQLite quotes what is no UTF-8
_PROBE = 64 << 10  # bytes; SQLite needs half of it beside the file to open it


def store_files(path: Path) -> list[Path]:
    """Return all places of a store of runs: the file, what SQLite keeps beside it, and the folder of its arrays."""
    paths = {path, Path(os.path.realpath(path))}  # for a symbolic link both
    return [each.with_name(f"{each.name}{end}") for each in paths for end in ("", "-wal", "-shm", ".arrays")]


class StoreReplaced(OSError):
    """The file that is open is no longer the one at its path."""


class Database:
    """A connection.

    Parameters
    ----------
    read_only : bool
        Nothing is written, beside the file neither, so that it may stand on a medium that cannot be written to.

    Raises
    ------
    DataError
        If the file is no database.
    OSError
        If it cannot be opened, or made.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._proved = False
        try:
            self._db = self._open_for_reading() if read_only else self._open()
            self._identity = _identity(self.path)
        except BaseException:
            self._forget_copy()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with suppress(*_FAILURES):  # what is damaged is closed all the same
            self._db.close()
        self._forget_copy()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a query gives.

        Raises
        ------
        DataError
            If the database is damaged.
        OSError
            If it cannot be read now.
        """
        try:
            return self._db.execute(query, values).fetchall()
        except _FAILURES as error:
            raise self._failure(error, "read") from None

    def rows_before_damage(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives until it fails, if it does."""
        rows = []
        with suppress(*_FAILURES):
            for row in self._db.execute(query):
                rows.append(row)
        return rows

    def damage(self) -> tuple[str, ...]:
        """Return what SQLite finds wrong with the file and its indexes; nothing if it is whole."""
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
        """Hold the write lock; commit at the end, or roll back.

        Raises
        ------
        DataError
            If the database is damaged; nothing is written then, for that could overwrite what is whole.
        StoreReplaced
            If the file was removed, moved or replaced since it was opened. Changes to it would be lost.
        OSError
            If it cannot be written to.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._check_identity()
            if not self._proved:
                damage = self.damage()  # a wrong index would lead a change to another row
                if damage:
                    raise self._damaged(damage[0], checked_by(self.path))
                self._proved = True
            yield
            self._check_identity()
            self._db.execute("COMMIT")
        except _FAILURES as error:
            self._roll_back()
            raise self._failure(error, "written to") from error
        except BaseException:
            self._roll_back()
            raise

    def write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Carry a statement out, within `writing`, and return how many rows it changed."""
        return self._db.execute(statement, values).rowcount

    def keep_write_ahead_log(self) -> None:
        """Let readers go on while something is written, and make every commit durable."""
        # SQLite itself does not wait where another process is just switching to it.
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

    # Inside

    def _open(self) -> sqlite3.Connection:
        if self.path.exists() and not self.path.is_file():
            raise OSError(None, "is no file; it cannot be opened as a store of runs", str(self.path))
        # Only a new file is opened here. To close an existing one would drop the locks that other connections of this
        # process hold on it (POSIX locks belong to the process, not to the descriptor).
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return self._connected("mode=rw", self.path)

    def _open_for_reading(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise DataError("there is no such store of runs", str(self.path))
        if os.access(self.path, os.W_OK) and os.access(self.path.absolute().parent, os.W_OK):
            try:
                return self._connected("mode=rw", self.path, "PRAGMA query_only = ON")
            except OSError:  # it cannot be written to after all
                pass
        # The index of a write-ahead log would be made beside it, so a file without one is declared not to change, and
        # one with a log is read from a copy.
        log = self.path.with_name(self.path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            return self._connected("immutable=1", self.path)
        self._copy = tempfile.TemporaryDirectory(prefix="slide-gui-")
        copy = Path(self._copy.name, "runs.sqlite")
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
                    "is no store of runs, or its beginning is damaged; give another name, or put a copy back",
                    str(self.path),
                ) from None
            raise self._failure(error, "opened") from None

    def _check_identity(self) -> None:
        """Refuse to write to a file that lost its name: SQLite would report success for rows that nobody can read."""
        if _identity(self.path) != self._identity:
            raise StoreReplaced(None, "the store was removed or replaced while it was open", str(self.path))

    def _roll_back(self) -> None:
        with suppress(*_FAILURES):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _forget_copy(self) -> None:
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _failure(self, error: Exception, done: str) -> OSError | DataError:
        """Return what an error of SQLite means for a person."""
        if isinstance(error, sqlite3.ProgrammingError):
            raise error  # a mistake here, none of the file
        if _code(error) == sqlite3.SQLITE_READONLY and _forbids_writing(self.path):
            return self._damaged("its header names a format that SQLite does not write", checked_by(self.path))
        if _code(error) in _WORLD:
            reason = _full_disk(self.path.parent) or str(error)
            return OSError(None, f"the store cannot be {done} ({reason})", str(self.path))
        return self._damaged(str(error), "put a copy back" if done == "opened" else checked_by(self.path))

    def _damaged(self, what: str, remedy: str) -> DataError:
        return DataError(f"is damaged ({what}); {remedy}", str(self.path))


def checked_by(path: Path) -> str:
    """Return the remedy that every refusal of a damaged store ends with."""
    return f"see what is whole: slide-gui runs check {shlex.quote(str(path))}"


def _forbids_writing(path: Path) -> bool:
    """Whether the header of a database names a later version of its format for writers, which SQLite only reads."""
    with suppress(OSError), path.open("rb") as stream:
        return stream.read(19)[18:] > b"\2"
    return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the inode of a file, None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _full_disk(folder: Path) -> str:
    """Return a sentence if nothing more can be written to a folder, else an empty text.

    SQLite reports a disk that is full while it opens a file as "disk I/O error". A quota is found only by writing.
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
    """Return SQLite's code of an error, without what it says in detail; 0 if there is none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
