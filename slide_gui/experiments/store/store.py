"""Store all runs in an SQLite file and a folder of array files. Both stay consistent even after a crash.

The store contains each run as one row of a table and one .npz file of arrays. The key of the row is the hash of the
run's specification and results version. Runs with older results versions are kept, but not reused. The .npz file is
written under a temporary name, flushed to the disk and renamed. Then the row is committed. The row contains a JSON
document with the other values of the result, and one SHA-256 of this document and the .npz file. The write lock is held
from the writing of the .npz file to the commit. An .npz file is never overwritten: if a run is computed again, its
arrays are written to a new file. Only the owner may access the SQLite file and the folder. All values that are read are
checked before use.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.data.limits import memory_limit
from slide_gui.experiments.runs.result import RunResult, pack_arrays, unpack_arrays
from slide_gui.experiments.runs.spec import RunSpec, document_hash
from slide_gui.experiments.store.database import Database, StoreReplaced, check_hint
from slide_gui.experiments.store.stored_run import COLUMNS, StoredRun, is_time, tags_of
from slide_gui.progress import Progress
from slide_gui.results_version import RESULTS_VERSION, version_in_hashes
from slide_gui.text import counted, unmarked

if TYPE_CHECKING:
    from slide_gui.experiments.runs.fitting import Reuse

# Version of the file format. The database stores it as SQLite's user_version.
FORMAT = 2

_APPLICATION = 0x534C4944  # This number encodes the letters "SLID". The database stores it as SQLite's application_id.
_FILE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.npz")
# Columns that only earlier versions of the program use. Their values can be computed from other columns.
_DROPPED = ("half",)
# If a stored run does not record its results version, it has one of these versions. The newest version comes first.
_UNRECORDED = ("3", "2", "1")
_REMEDY = "compute the run again"

_NAMES = tuple(column.name for column in COLUMNS)
# SQL expression for the column held_out. Earlier versions of the program stored descriptions in this column, such as
# "fold 2 of 5, seed 0" or "25 % held out, seed 0". The value in the run's JSON document replaces them.
_HELD_OUT = """CASE WHEN held_out LIKE 'fold % of %, seed %' OR held_out LIKE '% held out, seed %' THEN
    CASE WHEN json_valid(document) THEN json_extract(document, '$.spec.held_out') END
    WHEN held_out <> '' THEN held_out END AS held_out"""
_ADDED = tuple(column for column in COLUMNS if column.added)
_FILES = ("document", "file", "sha256")
_TABLE = f"""
CREATE TABLE runs (
    hash TEXT PRIMARY KEY, {", ".join(f"{column.name} {column.sql}" for column in COLUMNS[1:])},
    document TEXT NOT NULL, file TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL
)
"""


class DamagedRun(DataError):
    """Error that is raised if a run in a store is damaged. Other runs in the store may be intact."""


@dataclass(frozen=True)
class StoreReport:
    """The faults that `RunStore.check` found in a store.

    Attributes
    ----------
    n_runs : int
        Number of rows of the table, including the rows of deleted runs.
    faults : dict of str to str
        Maps the hash of each damaged run to a description of its fault. If the hash is unreadable, the key is the row
        number, for example "row 5".
    damage : tuple of str
        Faults that SQLite's integrity check found in the database file.
    intact : tuple of int
        Row numbers of the runs whose results are intact, even if other values in the same rows are damaged.
    """

    n_runs: int
    faults: dict[str, str]
    damage: tuple[str, ...]
    intact: tuple[int, ...]


class RunStore(AbstractContextManager["RunStore"]):
    """An open store of runs. If the store does not exist, it is created, unless `read_only` is True.

    Use each object in one thread only. Several threads or processes can open the same file, each with its own object.

    Parameters
    ----------
    path : path-like
        The SQLite file, or a symbolic link to it. The name of the array folder is the file's name plus ``.arrays``.
    read_only : bool
        True to open the store without changing it. In this case, the store can be on a read-only medium.

    Raises
    ------
    DataError
        If the file is not a store, is damaged, or has a newer format than this program can read.
    OSError
        If the file cannot be opened or created.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        given = Path(path)
        self.path = given.resolve() if given.is_symlink() else given
        self.folder = _array_folder(self.path)
        # If the path is a symbolic link, earlier versions of the program created the array folder next to the link
        # instead of its target. Arrays in such a folder can still be read.
        self._folders = (self.folder, *(folder for folder in [_array_folder(given)] if folder != self.folder))
        self._saved: list[str] = []
        if not read_only:
            _make_folders(self.path.parent)
        self._db = Database(self.path, read_only=read_only)
        try:
            self._check_kind(read_only)
            if not read_only:
                self._prepare()
            self._columns = self._check_columns(all_required=not read_only)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self._db.close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    # Reading

    def __contains__(self, spec_hash: object) -> bool:
        return bool(self._db.rows("SELECT 1 FROM runs WHERE hash = ?", (spec_hash,)))

    def runs(self, *, deleted: bool = False) -> list[StoredRun]:
        """Return all rows of the table of runs, oldest first. Deleted runs are included if `deleted` is True.

        Raises
        ------
        DataError
            If a row is damaged.
        """
        wanted = "" if deleted else "WHERE deleted = 0"
        query = f"SELECT {self._named(_NAMES)} FROM runs {wanted} ORDER BY created, hash"
        return [self._run_of(row) for row in self._db.rows(query)]

    def hashes(self, beginning: str) -> list[str]:
        """Return all hashes that begin with the given string, including the hashes of deleted and damaged runs."""
        query = "SELECT hash FROM runs WHERE substr(hash, 1, ?) = ? ORDER BY hash"
        return [spec_hash for (spec_hash,) in self._db.rows(query, (len(beginning), beginning))]

    def stored(self, spec_hash: str) -> StoredRun:
        """Return the row of a run in the table, even if the run is deleted.

        Raises
        ------
        KeyError
            If the run does not exist.
        DataError
            If the row is damaged.
        """
        return self._run_of(tuple(self._row_of(spec_hash).values()))

    def load(self, spec_hash: str) -> RunResult:
        """Return the complete result of a run, after checking that the result agrees with the run's row in the table.

        Raises
        ------
        KeyError
            If the run does not exist.
        DamagedRun
            If the arrays of the run are missing or altered, or its row is damaged.
        DataError
            If the store itself is damaged.
        """
        return self._checked_result(self._row_of(spec_hash))

    def take(self, spec: RunSpec) -> RunResult:
        """Return the stored result of a spec, and restore the run if it is deleted.

        The method raises the same exceptions as `load`.
        """
        row = self._row_of(spec.hash)
        result = self._checked_result(row)
        if row["deleted"]:
            self.delete([spec.hash], undo=True)
        return result

    def check(self) -> StoreReport:
        """Check the database file and all runs. The check continues after a damaged row."""
        damage = self._db.damage()
        faults: dict[str, str] = {}
        intact = []
        rows = self._numbers()
        for number, known in rows.items():
            name = known or f"row {number}"
            try:
                row = self._row("rowid = ?", number)
                if row is None:
                    raise DamagedRun(f"row {number} is in an index, but not in the table; {_REMEDY}", str(self.path))
                name = row["hash"] if isinstance(row["hash"], str) else name
                result = self._result(row)
                intact.append(number)
                self._check_row(row, result)
                self._run_of(tuple(row.values()))
            except DataError as error:
                faults[name if name not in faults else f"row {number}"] = str(error)
        return StoreReport(len(rows), faults, damage, tuple(intact))

    def save_intact(self, path: str | os.PathLike[str]) -> int:
        """Copy all undamaged runs to a new store.

        The dates, tags and deletion marks of these runs are also copied, unless they are unreadable.

        Parameters
        ----------
        path : path-like
            Path of the new store. Neither this file nor the store's array folder may exist yet.

        Returns
        -------
        int
            Number of copied runs.

        Raises
        ------
        FileExistsError
            If the file or the store's array folder already exists.
        """
        target = Path(path)
        if target.exists() or _array_folder(target).exists():
            raise FileExistsError(None, "this store or its array folder already exists; use another name", str(target))
        numbers = self.check().intact
        with RunStore(target) as new:
            for number in numbers:
                row = self._row("rowid = ?", number)
                assert row is not None
                created = row["created"] if is_time(row["created"]) else time.time()
                tags = tags_of(row["tags"]) if isinstance(row["tags"], str) else ()
                result = self._result(row)
                new._keep(result, StoredRun.of(result, created, tags, deleted=row["deleted"] == 1))
        return len(numbers)

    # Writing

    def save(self, result: RunResult) -> None:
        """Save a result and flush it to the disk.

        If the store already contains the run, the stored run is kept, and its deletion mark, if any, is removed. If the
        stored run is damaged, it is replaced by the new result.

        Raises
        ------
        ValueError
            If the run uses an estimator that this program refuses to read from files.
        DataError
            If the store is damaged. In this case, nothing is written.
        OSError
            If the disk is full or not writable, or the store has been removed or replaced since it was opened. If the
            store is gone, all results saved through this object are written to a new store, which the message names.
        """
        line = StoredRun.of(result, time.time())
        try:
            self._keep(result, line)
        except StoreReplaced as error:
            raise StoreReplaced(None, f"{error.strerror}; {self._rescue(result, line)}", str(self.path)) from None
        self._saved.append(line.hash)

    def _rescue(self, result: RunResult, line: StoredRun) -> str:
        """Save `result`, and all results that this object saved earlier, to a new store.

        Return the end of an error message that names the new store.
        """
        names = (self.path.with_stem(f"{self.path.stem}-rescued{number}") for number in ("", *range(2, 1000)))
        try:
            target = next(name for name in names if not (name.exists() or _array_folder(name).exists()))
            with RunStore(target) as new:
                for spec_hash in self._saved:
                    with suppress(DataError, KeyError):  # Leave out runs whose arrays were deleted.
                        new._keep(self.load(spec_hash), self.stored(spec_hash))
                new._keep(result, line)
                n = len(new.runs())
        except (OSError, StopIteration, DataError):
            return "the runs computed since the store was opened could not be saved to another store"
        return f"{counted(n, 'run')} computed since the store was opened can be found in {target}"

    def _keep(self, result: RunResult, line: StoredRun) -> None:
        """Save a result and its row in the table in one transaction."""
        spec_hash = line.hash
        document = json.dumps(result.document(), allow_nan=False)
        content = pack_arrays(result.arrays())
        values = {**line.row(), "document": document, "sha256": _sha256(content, document)}
        values |= {name: 0.0 for name in _DROPPED if name in self._columns}
        with self._db.writing():
            if spec_hash in self:
                with suppress(DamagedRun):
                    self.load(spec_hash)
                    self._db.write("UPDATE runs SET deleted = 0 WHERE hash = ?", (spec_hash,))
                    return
                self._db.write("DELETE FROM runs WHERE hash = ?", (spec_hash,))
            values["file"] = self._write(spec_hash, content)
            marks = ", ".join("?" for _ in values)
            try:
                self._db.write(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
            except BaseException:
                with suppress(OSError):
                    (self.folder / str(values["file"])).unlink()
                raise

    def delete(self, hashes: Sequence[str], *, undo: bool = False) -> list[str]:
        """Mark runs as deleted, or remove the marks if `undo` is True. Return the hashes of the changed runs.

        Deleted runs are hidden from the user, but their data stay in the store, so that a sweep can reuse them. To undo
        a deletion, pass the hashes that this method returned, which exclude runs that had already been deleted.
        """
        change = "UPDATE runs SET deleted = ? WHERE hash = ? AND deleted IS NOT ?"
        with self._db.writing():
            return [each for each in hashes if self._db.write(change, (int(not undo), each, int(not undo)))]

    def tag(self, spec_hash: str, tags: Sequence[str], seen: Sequence[str] | None = None) -> None:
        """Change the tags of a run.

        Parameters
        ----------
        spec_hash : str
            Hash of the run.
        tags : sequence of str
            New tags, as `tags_of` returns them.
        seen : sequence of str, optional
            Tags of the run before the user edited them. If another process has since added or removed tags, the changes
            of both are combined. Without `seen`, the new tags replace all existing tags.
        """
        with self._db.writing():
            if seen is not None:
                rows = self._db.rows("SELECT tags FROM runs WHERE hash = ?", (spec_hash,))
                now = tags_of(rows[0][0]) if rows and isinstance(rows[0][0], str) else ()
                if now != tuple(seen):
                    left = [tag for tag in now if tag in tags or tag not in seen]
                    tags = [*left, *(tag for tag in tags if tag not in seen and tag not in left)]
            self._db.write("UPDATE runs SET tags = ? WHERE hash = ?", (",".join(tags), spec_hash))

    # Methods that check whether the file is a run store

    def _check_kind(self, read_only: bool) -> None:
        """Raise DataError if the file is not a run store, or contains views, triggers or virtual tables."""
        # Another thread or process may be creating the store at this moment. It writes the table and the application ID
        # in one transaction, and the array files afterwards. Reading must therefore follow the opposite order: first
        # the folder of array files, then the table, then the ID.
        has_arrays = self.folder.is_dir() and any(_FILE.fullmatch(file.name) for file in self.folder.iterdir())
        schema = self._db.rows("SELECT type, name, sql FROM sqlite_master")
        (application,), (version,) = (self._db.rows(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
        # SQLite would treat a file of one byte as an empty database and overwrite the byte.
        if not schema and self.path.exists() and self.path.stat().st_size == 1:
            raise DataError("this is not a run store; give another name", str(self.path))
        if not schema and not read_only and not has_arrays:
            return
        if not schema:
            message = "this file is empty, so it is not a run store; restore a backup"
            if has_arrays:
                message = f"{message}, or move its array folder elsewhere ({self.folder})"
            raise DataError(message, str(self.path))
        if application != _APPLICATION:
            raise DataError("this is a database of another program; give another name", str(self.path))
        if version > FORMAT:
            raise DataError(
                f"the store has format {version}, but this program reads formats up to {FORMAT}; update slide-gui",
                str(self.path),
            )
        virtual = re.compile(r"\s*CREATE\s+VIRTUAL", re.IGNORECASE)
        plain = all(kind in ("table", "index") and not virtual.match(str(sql)) for kind, _, sql in schema)
        if not plain or ("table", "runs") not in {(kind, name) for kind, name, _ in schema}:
            raise DataError("the store has views or triggers, or no table of runs; restore a backup", str(self.path))

    def _prepare(self) -> None:
        self._db.keep_write_ahead_log()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not self._db.rows("SELECT 1 FROM sqlite_master"):
            with self._db.writing():
                if not self._db.rows("SELECT 1 FROM sqlite_master"):
                    self._db.write(_TABLE)
                    self._db.write("CREATE INDEX by_date ON runs (created, hash)")
                    self._db.write(f"PRAGMA application_id = {_APPLICATION}")
                    self._db.write(f"PRAGMA user_version = {FORMAT}")
        if not set(_NAMES) <= self._check_columns(all_required=False):
            self._add_columns()

    def _check_columns(self, *, all_required: bool) -> set[str]:
        """Return the names of the table's columns. Raise DataError if a required column is missing.

        Columns that earlier versions of the program did not create are required only if `all_required` is True.
        """
        columns = {row[1] for row in self._db.rows("PRAGMA table_info(runs)")}
        needed = {*_NAMES, *_FILES} - (set() if all_required else {column.name for column in _ADDED})
        if not needed <= columns:
            missing = min(needed - columns)
            raise DataError(f"the store is damaged (the column {missing} is missing); restore a backup", str(self.path))
        return columns

    def _add_columns(self) -> None:
        """Add the columns that a store written by an earlier version lacks. That version can still use the store."""
        with self._db.writing():
            before = self._check_columns(all_required=False)
            for column in _ADDED:
                if column.name not in before:
                    self._db.write(f"ALTER TABLE runs ADD COLUMN {column.name} {column.sql}")
            self._columns = self._check_columns(all_required=True)
            values = ", ".join(f"{column.name} = ?" for column in _ADDED)
            for (spec_hash,) in self._db.rows("SELECT hash FROM runs"):
                with suppress(DamagedRun, KeyError):
                    row = StoredRun.of(self.load(spec_hash)).row()
                    filled = (*(row[column.name] for column in _ADDED), spec_hash)
                    self._db.write(f"UPDATE runs SET {values} WHERE hash = ?", filled)

    # Rows

    def _named(self, names: Sequence[str]) -> str:
        """Return column names for a SELECT query, with NULL for columns that the store lacks."""
        read = {"held_out": _HELD_OUT}
        return ", ".join(read.get(name, name) if name in self._columns else f"NULL AS {name}" for name in names)

    def _row(self, condition: str, value: str | int) -> dict[str, Any] | None:
        """Return the unchecked values of the first row that meets an SQL condition, or None if no row meets it."""
        names = (*_NAMES, *_FILES)
        rows = self._db.rows(f"SELECT {self._named(names)} FROM runs WHERE {condition}", (value,))
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def _row_of(self, spec_hash: str) -> dict[str, Any]:
        row = self._row("hash = ?", spec_hash)
        if row is None:
            raise KeyError(f"no run {spec_hash[:12]} in {self.path}")
        return row

    def _run_of(self, values: tuple[Any, ...]) -> StoredRun:
        """Convert a row to a `StoredRun`. The values of the columns `_NAMES` come first, and others are ignored."""
        try:
            return _stored_run(values[: len(_NAMES)])
        except ValueError as error:
            raise self._damaged_row(values[0], str(error)) from None

    def _damaged_row(self, spec_hash: object, what: str) -> DamagedRun:
        run = f"run {spec_hash[:12]}" if isinstance(spec_hash, str) else "a run"
        return DamagedRun(f"the row of {run} is damaged ({what}); {check_hint(self.path)}", str(self.path))

    def _checked_result(self, row: dict[str, Any]) -> RunResult:
        result = self._result(row)
        self._check_row(row, result)
        return result

    def _check_row(self, row: dict[str, Any], result: RunResult) -> None:
        """Raise DamagedRun if a row contradicts its result, which was read from the row's document and array file."""
        expected = StoredRun.of(result).row() | {"hash": _hash_of(row, result.numerics)}
        if row["generated"] and isinstance(row["data"], str):
            row = row | {"data": unmarked(row["data"], generated=True)}
        known = [c.name for c in COLUMNS if c.of_result is not None and not (c.added and row[c.name] is None)]
        if any(row[name] != expected[name] for name in known):
            place = str(self.folder / row["file"])
            remedy = f"restore the row with: slide-gui runs check {shlex.quote(str(self.path))} --save-whole NEW"
            what = "the result is intact, but does not match its row in the table of runs"
            raise DamagedRun(f"{what}; {remedy}", place)

    def _result(self, row: dict[str, Any]) -> RunResult:
        """Check the SHA-256 of a row's JSON document and array file, and read the result from them."""
        document, name, recorded = row["document"], row["file"], row["sha256"]
        for column in _FILES:
            if not isinstance(row[column], str) or (column == "file" and not _FILE.fullmatch(name)):
                raise self._damaged_row(row["hash"], f"{column} is {ascii(row[column])[:40]}")
        file = next((each / name for each in self._folders if (each / name).exists()), self.folder / name)
        place = str(file)
        content = _content(file)
        if _sha256(content, document) != recorded:
            raise DamagedRun(f"this file has been altered; {_REMEDY}", place)
        try:
            result = RunResult.from_parts(json.loads(document), unpack_arrays(content, place))
            result.spec.checked()
            if "numerics" not in dict(result.versions):
                known = [str(RESULTS_VERSION), *_UNRECORDED]
                version = next((each for each in known if _hash_of(row, each) == row["hash"]), known[0])
                result = replace(result, versions=(*result.versions, ("numerics", version)))
            return result
        except (ValueError, RecursionError) as error:
            reason = str(error).removeprefix(f"{place}: ")
            raise DamagedRun(f"this file is damaged ({reason}); {_REMEDY}", place) from None

    def _numbers(self) -> dict[int, str]:
        """Return a dictionary that maps the row number of each run to its hash, or to "" if the hash is unreadable.

        The table and its index are read forwards and backwards to find the rows both before and after a damaged row.
        """
        hashes: dict[int, str] = {}
        for query in ("rowid, '' FROM runs NOT INDEXED ORDER BY rowid", "rowid, hash FROM runs ORDER BY hash"):
            for order in ("", "DESC"):
                for number, spec_hash in self._db.rows_before_damage(f"SELECT {query} {order}"):
                    hashes[number] = spec_hash if isinstance(spec_hash, str) else ""
        return dict(sorted(hashes.items()))

    # Array files

    def _write(self, spec_hash: str, content: bytes) -> str:
        """Write the arrays to a new file with a random name, flush it to the disk, and return its name.

        Array files of earlier runs are never removed, even if no row of the table names them. After the user has
        restored an older backup of the SQLite file, such files may belong to runs in the newer SQLite file.
        """
        name = f"{spec_hash[:16]}-{secrets.token_hex(8)}.npz"

        def write(file: BinaryIO) -> None:
            os.chmod(file.name, 0o600)
            file.write(content)

        try:
            write_whole(self.folder / name, write)
            _sync_folder(self.folder)
        except OSError as error:
            raise OSError(error.errno, f"the run cannot be saved ({error.strerror})", str(self.path)) from None
        return name


def get_or_run(
    dataset: Dataset, spec: RunSpec, store: RunStore | None, *, progress: Progress, reuse: Reuse | None = None
) -> RunResult:
    """Return the result of a run from the store, or compute it in this process and store it.

    Other runs from whose widths the run starts (`RunSpec.neighbour`), or which it averages (`RunSpec.members`), are
    loaded or computed first. A deleted result is restored, and a damaged result is computed again. A stored result is
    returned with the name and the source of the given data. The data file may have been renamed since the run.

    Parameters
    ----------
    spec : RunSpec
        Spec of the run, as `RunSpec.checked` returns it.
    store : RunStore or None
        Store that this thread has opened. Without a store, the run is computed but not stored.
    progress : Progress
        Receives the progress reports of `run`. For each computed run, the reported fraction rises again from 0 to 1.
    reuse : Reuse, optional
        Intermediate results shared with other runs on the same data set.

    Raises
    ------
    DataError
        If the data are unsuitable, if they are not the data that the spec names, or if the store is damaged.
    Cancelled
        If `progress` cancels the computation.
    """
    from slide_gui.experiments.runs.fitting import Reuse  # The import is slow, and reading a store does not need it.
    from slide_gui.experiments.runs.run import RunProgress, run

    if store is not None:
        with suppress(KeyError, DamagedRun):
            return replace(store.take(spec), spec=spec, dataset=dataset.name)
    reuse, needed = Reuse() if reuse is None else reuse, spec.members or tuple(filter(None, [spec.neighbour]))
    if needed:
        reuse.results = {each.hash: get_or_run(dataset, each, store, progress=progress, reuse=reuse) for each in needed}
    progress.report(0.0, RunProgress())
    result = run(dataset, spec, progress=progress, reuse=reuse)
    if store is not None:
        store.save(result)
    return result


def _hash_of(row: dict[str, Any], version: str) -> str:
    """Compute the hash of a run from a results version and the JSON document in the row of the run."""
    return document_hash(json.loads(row["document"])["spec"], version_in_hashes(version))


@lru_cache(maxsize=1 << 17)
def _stored_run(values: tuple[Any, ...]) -> StoredRun:
    """Convert the values of the columns `_NAMES` in one row to a `StoredRun`.

    The objects are cached, because the window reads all rows after every possible change, although few rows change.
    """
    return StoredRun.from_row(dict(zip(_NAMES, values, strict=True)))


def _array_folder(path: Path) -> Path:
    return Path(f"{path}.arrays")


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that the new name of a file in it survives a crash. Do nothing on Windows."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_folders(folder: Path) -> None:
    """Create a folder and its missing parents. Only the owner may access them."""
    if not folder.exists():
        _make_folders(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _content(file: Path) -> bytes:
    """Return the content of an array file. Raise DamagedRun if it is not a regular file of acceptable size."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DamagedRun(f"this is not a file; {_REMEDY}", str(file))
        if status.st_size > memory_limit():
            raise DamagedRun(f"this file has {status.st_size} bytes, too many for a run; {_REMEDY}", str(file))
        return file.read_bytes()
    except FileNotFoundError:
        remedy = f"if you moved the store, move its arrays to {file.parent}; otherwise, {_REMEDY}"
        raise DamagedRun(f"this file is missing; {remedy}", str(file)) from None
    except OSError as error:
        raise DamagedRun(f"this file cannot be read ({error.strerror}); {_REMEDY}", str(file)) from None


def _sha256(content: bytes, document: str) -> str:
    """Return the hexadecimal SHA-256 of a run's array file and JSON document."""
    return hashlib.sha256(content + document.encode()).hexdigest()
