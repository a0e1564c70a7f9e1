"""Every run ever made: SQLite beside a folder of arrays, safe against a crash at any instant.

A run is one row, keyed by the hash of its spec, and one .npz. The file is written under a temporary name, fsynced and
renamed, then the row is committed with the file's SHA-256, all under the write lock: whoever holds that lock knows
that a file without a row belongs to nobody. Nothing is overwritten: a run made again gets a file of its own name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slide_gui.data.errors import DataError
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.run_file import pack_arrays, unpack_arrays
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.stored_run import ADDED, COLUMNS, StoredRun, columns_of

__all__ = ["FORMAT", "RunStore", "check_kept"]

FORMAT = 1
"""Version of the tables, kept as SQLite's user_version."""

_APPLICATION = 0x534C4944  # "SLID", kept as SQLite's application_id
_OURS = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.npz(\.part)?")
_RESULTS = tuple(name for name in COLUMNS if name not in ("created", "tags", "deleted"))
_WAIT = 60.0  # seconds for another process's lock

_TABLE = f"""
CREATE TABLE runs (
    hash TEXT PRIMARY KEY, {", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())},
    document TEXT NOT NULL, file TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL
)
"""


class RunStore:
    """A store of runs, opened or made.

    One object belongs to one thread; several threads or processes each open their own on the same file.

    Parameters
    ----------
    path : path-like
        The SQLite file; the arrays go to a folder beside it, with ``.arrays`` after its name.

    Raises
    ------
    DataError
        If the file is no store, or of a newer format.
    OSError
        If it cannot be opened or made.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.folder = self.path.with_name(self.path.name + ".arrays")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise OSError(None, f"cannot be opened as a store of runs ({error})", str(self.path)) from None
        try:
            self._prepare()
            self.swept = self._sweep_orphans()
            """How many files of interrupted saves were removed."""
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Reading

    def __contains__(self, spec_hash: object) -> bool:
        return self._db.execute("SELECT 1 FROM runs WHERE hash = ?", (spec_hash,)).fetchone() is not None

    def runs(self, *, deleted: bool = False) -> list[StoredRun]:
        """Return the table of runs, oldest first; with the deleted ones if asked for."""
        wanted = "" if deleted else "WHERE deleted = 0"
        query = f"SELECT hash, {', '.join(COLUMNS)} FROM runs {wanted} ORDER BY created, hash"
        return [_stored(row) for row in self._db.execute(query)]

    def stored(self, spec_hash: str) -> StoredRun:
        """Return one line of the table, deleted or not.

        Raises
        ------
        KeyError
            If there is none.
        """
        row = self._db.execute(f"SELECT hash, {', '.join(COLUMNS)} FROM runs WHERE hash = ?", (spec_hash,)).fetchone()
        if row is None:
            raise KeyError(f"no run {spec_hash[:12]} in {self.path}")
        return _stored(row)

    def load(self, spec_hash: str) -> RunResult:
        """Return a whole result, checked against what was recorded of it.

        Raises
        ------
        KeyError
            If there is no such run.
        DataError
            If its arrays are missing or altered, or the row is damaged.
        """
        names = ("document", "file", "sha256", *_RESULTS)
        found = self._db.execute(f"SELECT {', '.join(names)} FROM runs WHERE hash = ?", (spec_hash,)).fetchone()
        if found is None:
            raise KeyError(f"no run {spec_hash[:12]} in {self.path}")
        row = dict(zip(names, found, strict=True))
        document, name, recorded = row["document"], row["file"], row["sha256"]
        place = str(self.folder / name)
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror}); the run has to be made again", place) from None
        if _sha256(content, document) != recorded:
            raise DataError("altered since it was written; the run has to be made again", place)
        try:
            result = RunResult.from_parts(json.loads(document), unpack_arrays(content, place))
        except DataError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"damaged ({error}); the run has to be made again", place) from None
        expected = columns_of(result, 0.0)
        known = [name for name in _RESULTS if name not in ADDED or row[name] is not None]
        if result.spec.hash != spec_hash or any(row[name] != expected[name] for name in known):
            raise DataError("does not agree with its row in the table; the run has to be made again", place)
        return result

    def find(self, spec: RunSpec) -> RunResult | None:
        """Return the result of a spec, or None if there is none that can be trusted (`faults` says why)."""
        try:
            return self.load(spec.hash)
        except (KeyError, DataError):
            return None

    def faults(self) -> dict[str, str]:
        """Check every run, and return hash → what is wrong with it."""
        found = {}
        for (spec_hash,) in self._db.execute("SELECT hash FROM runs").fetchall():
            try:
                self.load(spec_hash)
            except DataError as error:
                found[spec_hash] = str(error)
        return found

    # Writing

    def save(self, result: RunResult) -> None:
        """Keep a result, durably once this returns.

        A run that is there already stays as it is, but is no longer deleted; one that is damaged is replaced.

        Raises
        ------
        ValueError
            If the run has an estimator that no file may name, so that it could not be read again.
        OSError
            If the disk is full or cannot be written to.
        """
        check_kept(result.spec)
        spec_hash = result.spec.hash
        document = json.dumps(result.document(), allow_nan=False)
        content = pack_arrays(result.arrays())
        with self._writing():
            if spec_hash in self:
                if self.find(result.spec) is not None:
                    self._db.execute("UPDATE runs SET deleted = 0 WHERE hash = ?", (spec_hash,))
                    return
                self._db.execute("DELETE FROM runs WHERE hash = ?", (spec_hash,))
            values = {"hash": spec_hash, **columns_of(result, time.time()), "document": document}
            values |= {"file": self._write(spec_hash, content), "sha256": _sha256(content, document)}
            marks = ", ".join("?" for _ in values)
            self._db.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def delete(self, hashes: Sequence[str], *, undo: bool = False) -> int:
        """Hide runs from the table, or with `undo` show them again; return how many were meant.

        Their data stay, so that a sweep that needs one takes it back.
        """
        with self._writing():
            changed = [
                self._db.execute("UPDATE runs SET deleted = ? WHERE hash = ?", (int(not undo), each)).rowcount
                for each in hashes
            ]
        return sum(changed)

    def tag(self, spec_hash: str, tags: Sequence[str]) -> None:
        """Replace the tags of a run.

        Raises
        ------
        ValueError
            If a tag is empty or holds a comma.
        """
        if any(not tag.strip() or "," in tag for tag in tags):
            raise ValueError(f"tags are {tags!r}; each must be a word or more without a comma")
        with self._writing():
            self._db.execute("UPDATE runs SET tags = ? WHERE hash = ?", (",".join(tags), spec_hash))

    # Inside

    def _prepare(self) -> None:
        try:
            application, found = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise OSError(None, f"cannot be opened as a store of runs ({error})", str(self.path)) from None
            raise DataError("is no store of runs; give another name", str(self.path)) from None
        if not empty and application != _APPLICATION:
            raise DataError("is a database of another program; give another name", str(self.path))
        if found > FORMAT:
            raise DataError(
                f"a store of format {found}, this slide-gui reads {FORMAT}; open it with the version that wrote it",
                str(self.path),
            )
        self._write_ahead()
        self._db.execute("PRAGMA synchronous = FULL")
        self.folder.mkdir(exist_ok=True)
        if empty:
            with self._writing():
                if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    self._db.execute(_TABLE)
                    self._db.execute("CREATE INDEX by_date ON runs (created, hash)")
                    self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._db.execute(f"PRAGMA user_version = {FORMAT}")
        self._add_columns()

    def _write_ahead(self) -> None:
        """Keep a write-ahead log; SQLite itself does not wait where another process is just switching to it."""
        until = time.monotonic() + _WAIT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if time.monotonic() > until:
                    raise OSError(None, f"cannot be opened as a store of runs ({error})", str(self.path)) from None
                time.sleep(0.02)

    def _add_columns(self) -> None:
        """Add what a store made by an earlier version lacks; that version still reads and writes it afterwards."""
        if set(COLUMNS) <= self._columns():
            return
        with self._writing():
            for name in [name for name in ADDED if name not in self._columns()]:
                self._db.execute(f"ALTER TABLE runs ADD COLUMN {name} {COLUMNS[name]}")
            values = ", ".join(f"{name} = ?" for name in ADDED)
            for (spec_hash,) in self._db.execute("SELECT hash FROM runs").fetchall():
                with suppress(DataError):
                    found = columns_of(self.load(spec_hash), 0.0)
                    row = (*(found[name] for name in ADDED), spec_hash)
                    self._db.execute(f"UPDATE runs SET {values} WHERE hash = ?", row)

    def _columns(self) -> set[str]:
        return {row[1] for row in self._db.execute("PRAGMA table_info(runs)")}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock; commit at the end, or roll back."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise OSError(None, f"the store cannot be written to ({error})", str(self.path)) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _sweep_orphans(self) -> int:
        with self._writing():
            known = {name for (name,) in self._db.execute("SELECT file FROM runs")}
            there = [entry.name for entry in os.scandir(self.folder) if _OURS.fullmatch(entry.name)]
            orphans = [name for name in there if name not in known]
            for name in orphans:
                os.unlink(self.folder / name)
        return len(orphans)

    def _write(self, spec_hash: str, content: bytes) -> str:
        """Write the arrays durably, under the write lock, and return the file's name."""
        name = f"{spec_hash[:16]}-{secrets.token_hex(8)}.npz"
        part = self.folder / f"{name}.part"
        try:
            with open(part, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, self.folder / name)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
        _sync_folder(self.folder)
        return name


def check_kept(spec: RunSpec) -> None:
    """Refuse a run that a store could not give back.

    Raises
    ------
    ValueError
        If it has an estimator that no file may name.
    """
    try:
        RunSpec.from_document(spec.document())
    except ValueError as error:
        raise ValueError(f"this run cannot be kept in a store: {error}") from None


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where the system lets folders be synced."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sha256(content: bytes, document: str) -> str:
    """Return the SHA-256 of a run's arrays and document together."""
    return hashlib.sha256(content + document.encode()).hexdigest()


def _stored(row: tuple[Any, ...]) -> StoredRun:
    # By position: a table of ten thousand runs is made in a tenth of a second.
    spec_hash, data, generated, *rest, tags, deleted, C, n_support = row
    words = tuple(tags.split(",")) if tags else ()
    values: list[Any] = [spec_hash, data, bool(generated), *rest, words, bool(deleted), C, n_support]
    return StoredRun(*values)
