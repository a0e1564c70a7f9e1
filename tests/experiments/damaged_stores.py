"""Run stores that are damaged in the file, its pages or log, rows, documents, arrays or the schema."""

import hashlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import COLUMNS
from tests.damage import changed_json, mutant
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 60)
FIRST = run(DATA, spec(DATA, widths="median", C=1.0, training="split", evaluate="validation"))
RESULTS = [replace(FIRST, spec=replace(FIRST.spec, split=split)) for split in range(6)]
BY_HASH = {result.spec.hash: result for result in RESULTS}
VALUES = (
    "NULL", "X'fffe'", "CAST(X'ff41' AS TEXT)", "''", "'é'", "-1", "9223372036854775807", "9e999", "-9e999", "0.5",
    "'../../../etc/passwd'", "'/dev/zero'", "'a' || char(0) || 'b'", "char(27) || '[2J'", "zeroblob(100)", "1e300",
)  # fmt: skip
TEXTS = ("", "null", "[]", "{}", "{", "[" * 3000, '"\\ud800"', "\ufeff{}", "1e999", "1" * 5000)
SCHEMAS = (
    "ALTER TABLE runs DROP COLUMN seconds",
    "ALTER TABLE runs RENAME COLUMN file TO place",
    "ALTER TABLE runs RENAME TO other",
    "DROP INDEX by_date",
    "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    "CREATE VIEW v AS SELECT * FROM runs",
    "CREATE TABLE other (x)",
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 7",
    "DELETE FROM runs",
    "DROP TABLE runs",
)


def make_stores(folder: Path) -> Path:
    """Create two stores of five runs: one closed, and one as a killed process leaves it, with two runs in its log."""
    for name, n_runs in (("closed", 5), ("open", 3)):
        with RunStore(folder / f"{name}.sqlite") as store:
            for result in RESULTS[:n_runs]:
                store.save(result)
    store = RunStore(folder / "open.sqlite")
    for result in RESULTS[3:5]:
        store.save(result)
    (folder / "killed.sqlite.arrays").mkdir()
    for source in [*folder.glob("open.sqlite*"), *store.folder.iterdir()]:
        if source.is_file():
            shutil.copy(source, str(source).replace("open.sqlite", "killed.sqlite"))
    store.close()
    assert (folder / "killed.sqlite-wal").stat().st_size > 0
    return folder


def copied(whole: Path, name: str, folder: Path) -> Path:
    """Copy a store to a new folder, and return the path of the copy."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for source in whole.glob(f"{name}.sqlite*"):
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / source.name.replace(name, "runs"))
    return folder / "runs.sqlite"


def damaged_bytes(path: Path, chance: random.Random) -> None:
    path.write_bytes(mutant(path.read_bytes(), chance))


def damaged_page(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = 4096 * chance.randrange(len(content) // 4096)
    content[start : start + 4096] = chance.choice((bytes(4096), chance.randbytes(4096), content[:4096]))
    path.write_bytes(bytes(content[: chance.choice((len(content), start + 4096, start))]))


def damaged_log(path: Path, chance: random.Random) -> None:
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    log.write_bytes(mutant(log.read_bytes(), chance))
    how = chance.randrange(3)
    if how == 0:
        index.unlink()
    elif how == 1:
        index.write_bytes(mutant(index.read_bytes(), chance))


def damaged_value(path: Path, chance: random.Random) -> None:
    column = chance.choice(("document", "file", "sha256", *(column.name for column in COLUMNS)))
    value, rows = chance.choice(VALUES), "1" if chance.random() < 0.1 else f"split = {chance.randrange(5)}"
    execute(path, f"UPDATE OR IGNORE runs SET {column} = {value} WHERE {rows}")


def damaged_document(path: Path, chance: random.Random) -> None:
    """Change the content of a document, and update the checksum."""

    def change(text: str) -> str:
        if chance.random() < 0.3:
            return chance.choice(TEXTS)
        return changed_json(text.encode(), chance).decode(errors="replace")

    rewrite(path, f"split = {chance.randrange(5)}", change)


def damaged_arrays(path: Path, chance: random.Random) -> None:
    """Change the arrays of a run, with or without updating the checksum."""
    if chance.random() < 0.5:
        rewrite(path, f"split = {chance.randrange(5)}", lambda text: text, lambda content: mutant(content, chance))
        return
    file = chance.choice(sorted(Path(f"{path}.arrays").iterdir()))
    content = file.read_bytes()
    file.unlink()
    how = chance.randrange(5)
    if how == 0:
        file.mkdir()
    elif how == 1:
        file.symlink_to("/dev/zero")
    elif how == 2:
        os.mkfifo(file)
    elif how == 3:
        file.write_bytes(mutant(content, chance))


def execute(path: Path, *statements: str) -> None:
    """Execute SQL statements on a store; undo all of them if one violates a constraint."""
    with closing(sqlite3.connect(path)) as database, database, suppress(sqlite3.IntegrityError):
        for statement in statements:
            database.execute(statement)


def rewrite(
    path: Path, where: str, text: Callable[[str], str], arrays: Callable[[bytes], bytes] = lambda content: content
) -> None:
    """Change the document and the arrays of one run, and update the checksum."""
    with closing(sqlite3.connect(path)) as database:
        ((document, name),) = database.execute(f"SELECT document, file FROM runs WHERE {where}").fetchall()
    file = Path(f"{path}.arrays", name)
    changed, content = text(document), arrays(file.read_bytes())
    file.write_bytes(content)
    recorded = hashlib.sha256(content + changed.encode()).hexdigest()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE runs SET document = ?, sha256 = ? WHERE {where}", (changed, recorded))


KINDS: dict[str, tuple[str, Callable[[Path, random.Random], None]]] = {
    "bytes": ("closed", damaged_bytes),
    "bytes under a log": ("killed", damaged_bytes),
    "page": ("closed", damaged_page),
    "log": ("killed", damaged_log),
    "value": ("closed", damaged_value),
    "document": ("closed", damaged_document),
    "arrays": ("closed", damaged_arrays),
    "schema": ("closed", lambda path, chance: execute(path, chance.choice(SCHEMAS))),
}


def reading(path: Path) -> Iterator[Callable[[], object]]:
    """Yield functions that read the store as the window and the commands do."""
    with RunStore(path, read_only=True) as store:
        yield lambda: store.runs()
        yield lambda: store.runs(deleted=True)
        yield lambda: store.check()
        for spec_hash in BY_HASH:
            yield lambda: store.stored(spec_hash)  # noqa: B023 - called before the next
            yield lambda: store.load(spec_hash)  # noqa: B023


def whole_runs(path: Path) -> set[str]:
    """Return the hashes of the runs that can be loaded from a read-only store."""
    found = set()
    with suppress(DataError), RunStore(path, read_only=True) as store:
        for spec_hash in BY_HASH:
            with suppress(DataError, KeyError):
                store.load(spec_hash)
                found.add(spec_hash)
    return found
