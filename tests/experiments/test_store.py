"""The run store keeps its saved runs, whatever happens to the process or the files."""

import errno
import os
import re
import shutil
import sqlite3
import stat
import struct
import tempfile
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from slide_gui.cli import main
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.result import pack_arrays
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.store.database import Database
from slide_gui.experiments.store.store import FORMAT, DamagedRun, RunStore
from tests.experiments.damaged_stores import execute
from tests.experiments.tiny import rectangles, same_numbers, spec, with_wrong_labels
from tests.faults import faults

DATA = with_wrong_labels(rectangles(60, 60))
RESULT = run(DATA, spec(DATA, criterion="press", training="split"))
OTHER = replace(run(DATA, spec(DATA, method="raw-svm")), dataset="Own (generated)", generated=False)


@pytest.fixture
def path(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(RESULT)
        store.save(OTHER)
    return tmp_path / "runs.sqlite"


def on_split(split):
    return replace(RESULT, spec=replace(RESULT.spec, split=split))


@pytest.fixture
def large(path):
    """Return a store of 31 runs on many pages."""
    with RunStore(path) as store:
        for split in range(1, 30):
            store.save(on_split(split))
    return path


def array_file(path, result=RESULT):
    (file,) = path.with_name(path.name + ".arrays").glob(f"{result.spec.hash[:16]}-*")
    return file


def test_that_results_are_read_back_to_the_bit_and_a_saved_run_is_never_overwritten(path):
    before = array_file(path).read_bytes(), array_file(path).stat().st_mtime_ns
    with RunStore(path) as store:
        for result in (RESULT, OTHER):
            again = store.load(result.spec.hash)
            assert same_numbers(again, result)
            assert again.document() == result.document()
        assert {line.hash for line in store.runs()} == {RESULT.spec.hash, OTHER.spec.hash}
        assert store.stored(RESULT.spec.hash).validation_error == RESULT.validation_error > 0.0
        assert store.check().faults == {}
        assert store._db.rows("PRAGMA user_version") == [(FORMAT,)]
        assert store._db.rows("PRAGMA journal_mode") == [("wal",)]
        assert store._db.rows("PRAGMA synchronous") == [(2,)]
        store.save(replace(RESULT, timings=replace(RESULT.timings, fit=99.0)))
        assert store.load(RESULT.spec.hash).timings == RESULT.timings
    assert (array_file(path).read_bytes(), array_file(path).stat().st_mtime_ns) == before


def test_that_a_file_and_its_name_are_on_the_disk_before_its_row(path, monkeypatch):
    synced = []

    def note(handle):
        found = os.fstat(handle)
        last = max(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns).suffix
        synced.append((stat.S_ISDIR(found.st_mode), found.st_size, last))

    few = rectangles(20, 4)
    small = run(few, spec(few, method="raw-svm"))  # smaller than the write buffer of a file
    with RunStore(path) as store:
        folder = store.folder
        monkeypatch.setattr(os, "fsync", note)
        store.save(small)
    size = array_file(path, small).stat().st_size
    assert [(is_folder, last) for is_folder, _, last in synced] == [(False, ".part"), (True, ".npz")]
    assert synced[0][1] == size


DAMAGES = {
    "missing": ("this file is missing; if you moved the store, move its arrays to {}; otherwise,", lambda file: None),
    "of another run": ("this file has been altered;", lambda file: file.write_bytes(pack_arrays(OTHER.arrays()))),
    "a pipe": ("this is not a file;", lambda file: os.mkfifo(file)),
    "a device": ("this is not a file;", lambda file: file.symlink_to("/dev/zero")),
    "a folder": ("this is not a file;", lambda file: file.mkdir()),
}


@pytest.mark.skipif(os.name == "nt", reason="files of POSIX")
@pytest.mark.parametrize("damage", DAMAGES)
def test_that_a_missing_or_altered_file_is_reported_and_computed_again(path, damage):
    file, (reason, change) = array_file(path), DAMAGES[damage]
    file.unlink()
    change(file)
    fault = f"{file}: {reason.format(file.parent)} compute the run again"
    with RunStore(path) as store:
        assert store.check().faults == {RESULT.spec.hash: fault}
        for read in (lambda: store.load(RESULT.spec.hash), lambda: store.take(RESULT.spec)):
            with pytest.raises(DamagedRun, match=re.escape(fault)):
                read()
        store.save(RESULT)
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
        assert store.check().faults == {}
        assert len(list(store.folder.iterdir())) == (2 if damage == "missing" else 3), "the damaged file is not deleted"


@pytest.mark.parametrize("how", ["written", "read", "immutable", "copied"])
def test_that_nothing_in_a_schema_is_trusted(path, how, monkeypatch):
    """A schema may call a function of the program only if SQLite trusts it."""
    chosen = killed(path) if how == "copied" else path
    execute(chosen, "CREATE VIEW harmless AS SELECT called()")
    if how in ("immutable", "copied"):
        monkeypatch.setattr(os, "access", lambda *_: False)
    database = Database(chosen, read_only=how != "written")
    assert database.rows("PRAGMA trusted_schema") == [(0,)]
    database._db.create_function("called", 0, lambda: 1)
    with pytest.raises(DataError, match="unsafe use of called"):
        database.rows("SELECT * FROM harmless")
    database.close()


@pytest.mark.parametrize(
    "change", ["error = 0.0", "noise = 0.5", "n_test = 1", "document = replace(document, '96', '97')", "hash = 'ab'"]
)
def test_that_an_altered_row_is_not_trusted(path, change):
    execute(path, f"UPDATE runs SET {change} WHERE hash = '{RESULT.spec.hash}'")
    with RunStore(path) as store:
        assert len(store.check().faults) == 1


def test_that_an_older_copy_in_place_of_the_store_for_a_while_loses_no_newer_run(path):
    shutil.copy(path, path.with_name("older"))
    third = on_split(5)
    with RunStore(path) as store:
        store.save(third)
    path.rename(path.with_name("newer"))
    shutil.copy(path.with_name("older"), path)
    with RunStore(path) as store:
        assert len(store.runs()) == 2
        store.save(replace(third, timings=replace(third.timings, fit=99.0)))  # with the same hash and other contents
        assert store.load(third.spec.hash).timings.fit == 99.0
        assert store.check().faults == {}
    path.with_name("newer").rename(path)
    with RunStore(path) as store:
        assert store.check().faults == {}
        assert store.load(third.spec.hash).timings == third.timings
        assert len(store.runs()) == 3


@pytest.mark.skipif(os.name == "nt", reason="symbolic links of POSIX")
def test_that_a_store_is_used_through_a_link_and_arrays_next_to_the_link_are_read(path):
    link, arrays = path.with_name("link.sqlite"), path.with_name("runs.sqlite.arrays")
    link.symlink_to(path)
    arrays.rename(path.with_name("link.sqlite.arrays"))
    with RunStore(link) as store:
        store.save(on_split(5))
        assert store.check().faults == {}
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
    with RunStore(path, read_only=True) as store:
        assert same_numbers(store.load(on_split(5).spec.hash), on_split(5))
    assert [file.name[:16] for file in arrays.iterdir()] == [on_split(5).spec.hash[:16]]


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed on Windows")
@pytest.mark.parametrize("how", ["removed", "replaced", "moved with its arrays", "removed with its arrays"])
def test_that_a_store_whose_file_was_removed_reports_it_and_saves_the_computed_runs(path, how):
    shutil.copy(path, path.with_name("older"))
    third, fourth = on_split(5), on_split(6)
    with RunStore(path) as store:
        store.save(third)
        arrays = store.folder
        if how == "moved with its arrays":
            path.rename(path.with_name("moved.sqlite"))
            arrays.rename(path.with_name("moved.sqlite.arrays"))
        else:
            path.unlink()
        if how == "replaced":
            path.with_name("older").rename(path)
        if how == "removed with its arrays":
            shutil.rmtree(arrays)
        for name in (r"runs-rescued\.sqlite", r"runs-rescued2\.sqlite"):
            with pytest.raises(OSError, match=rf"was removed or replaced while .* found in .*/{name}: ") as seen:
                store.save(fourth)
            assert seen.value.filename == str(path)
        with pytest.raises(OSError, match="was removed or replaced"):
            store.tag(RESULT.spec.hash, ["lost"])
    rescued = {fourth.spec.hash} | ({third.spec.hash} if how in ("removed", "replaced") else set())
    with RunStore(path.with_name("runs-rescued.sqlite"), read_only=True) as store:
        assert {line.hash for line in store.runs()} == rescued
        assert store.check().faults == {}
    if how == "replaced":
        with RunStore(path) as store:
            assert {line.hash for line in store.runs()} >= {RESULT.spec.hash, OTHER.spec.hash}
            assert store.check().faults == {}


def test_that_opening_a_store_again_keeps_the_locks_of_this_process(path):
    """POSIX locks end once the process closes any descriptor of the file."""
    if not Path("/proc/locks").exists():
        pytest.skip("locks cannot be listed here")

    def locks():
        mark = f":{path.stat().st_ino} "
        return sum(mark in line and f" {os.getpid()} " in line for line in Path("/proc/locks").read_text().splitlines())

    with RunStore(path) as store:
        store.runs()
        held = locks()
        RunStore(path).close()
        assert held > 0
        assert locks() == held


def test_that_opening_a_store_on_a_full_disk_names_file_and_cause(path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    message = "the disk is full: No space left on device; free some space"
    with faults("statement", 1, errno.EIO), pytest.raises(OSError, match=message) as caught:
        RunStore(path)
    assert caught.value.filename == str(path)


def test_that_deleting_a_run_can_be_undone(path):
    with RunStore(path) as store:
        assert store.delete([RESULT.spec.hash]) == [RESULT.spec.hash]
        assert store.delete([RESULT.spec.hash, OTHER.spec.hash * 2]) == [], "it is deleted already"
        assert [line.hash for line in store.runs()] == [OTHER.spec.hash]
        assert [line.deleted for line in store.runs(deleted=True)] == [True, False]
        assert store.delete([RESULT.spec.hash], undo=True) == [RESULT.spec.hash]
        store.delete([RESULT.spec.hash])
        store.save(RESULT)
        assert len(store.runs()) == 2


@pytest.mark.parametrize(
    ("seen", "tags", "expected"),
    [
        (("good",), ("good", "mine"), ("other", "mine")),
        (("good",), (), ("other",)),
        (("other",), ("mine", "other"), ("mine", "other")),
        (("other",), ("mine",), ("mine",)),
        ((), ("other",), ("other",)),
    ],
)
def test_that_an_edit_of_tags_keeps_the_changes_of_another_process(path, seen, tags, expected):
    with RunStore(path) as store:
        store.tag(RESULT.spec.hash, ["other"])  # another process removed "good" and added "other"
        store.tag(RESULT.spec.hash, tags, seen)
        assert store.stored(RESULT.spec.hash).tags == expected


def test_that_a_store_of_a_newer_format_and_other_files_are_refused_and_unchanged(tmp_path, path):
    for text in ("x", "no database at all, though it is long enough to be one" * 100):
        (tmp_path / "text").write_text(text)
        with pytest.raises(DataError, match="is not a run store"):
            RunStore(tmp_path / "text")
        assert (tmp_path / "text").read_text() == text
    execute(tmp_path / "bookmarks", "CREATE TABLE places (url TEXT)")
    with pytest.raises(DataError, match="another program"):
        RunStore(tmp_path / "bookmarks")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="cannot be a run store"):
        RunStore(tmp_path / "folder")
    with pytest.raises(DataError, match="this run store does not exist"):
        RunStore(tmp_path / "absent", read_only=True)
    assert not (tmp_path / "absent").exists()
    execute(path, "PRAGMA user_version = 3")
    (path.with_name(path.name + ".arrays") / f"{'0' * 16}-{'a' * 16}.npz").write_bytes(b"x")
    with pytest.raises(DataError, match="format 3, but this program reads formats up to 2; update slide-gui"):
        RunStore(path)
    assert len(list(path.with_name(path.name + ".arrays").iterdir())) == 3


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_that_only_the_owner_can_access_store_and_arrays(tmp_path):
    before = os.umask(0)
    try:
        with RunStore(tmp_path / "new" / "deep" / "runs.sqlite") as store:
            store.save(RESULT)
            folders = [tmp_path / "new", tmp_path / "new" / "deep", store.folder]
            files = [*store.path.parent.glob("runs.sqlite*"), *store.folder.iterdir()]
            assert {path.name for path in files} >= {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
            assert {stat.S_IMODE(path.stat().st_mode) for path in files if path.is_file()} == {0o600}
            assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    finally:
        os.umask(before)


def state(path):
    """Return the modes of all files and folders next to a store, and the contents of the files."""
    found = [path.parent, *path.parent.rglob("*")]
    return {each: (each.stat().st_mode, each.read_bytes() if each.is_file() else b"") for each in found}


def killed(path):
    """Return a copy of a store as a killed process leaves it: with two runs in its log, none in the file."""
    folder = path.parent / "killed"
    folder.mkdir()
    with RunStore(path.parent / "alive.sqlite") as store:
        store.save(RESULT)
        store.save(OTHER)
        for name in ("alive.sqlite", "alive.sqlite-wal"):
            shutil.copy(path.parent / name, folder / name)
        shutil.copytree(store.folder, folder / store.folder.name)
    return folder / "alive.sqlite"


@pytest.mark.parametrize("log", [False, True])
def test_that_reading_changes_no_file(path, log, tmp_path_factory, monkeypatch, capsys):
    chosen = killed(path) if log else path
    if log:  # as on a read-only medium; otherwise the last connection that closes moves the log into the file
        monkeypatch.setattr(os, "access", lambda place, _mode: place not in (chosen, chosen.parent))
    before, table = state(chosen), tmp_path_factory.mktemp("tables") / "runs.csv"
    with RunStore(chosen, read_only=True) as store:
        assert {line.hash for line in store.runs()} == {RESULT.spec.hash, OTHER.spec.hash}
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
        report = store.check()
        assert (report.n_runs, report.faults, report.damage) == (2, {}, ())
    for words in (["list"], ["show", OTHER.spec.hash], ["check"], ["export", "-o", str(table)]):
        assert main(["runs", words[0], str(chosen), *words[1:]]) == 0
    assert RESULT.spec.hash[:12] in capsys.readouterr().out
    assert state(chosen) == before


def test_that_a_check_lists_damaged_rows_and_saves_the_undamaged_runs(path, capsys):
    third = on_split(5)
    with RunStore(path) as store:
        store.save(third)
        store.tag(OTHER.spec.hash, ["good"])
        store.delete([OTHER.spec.hash])
        (created,) = (line.created for line in store.runs(deleted=True) if line.hash == OTHER.spec.hash)
    execute(
        path,
        f"UPDATE runs SET document = CAST(X'ff' AS TEXT) WHERE hash = '{third.spec.hash}'",
        f"UPDATE runs SET noise = 'much', created = X'00', tags = X'00' WHERE hash = '{RESULT.spec.hash}'",
    )
    with RunStore(path, read_only=True) as store:
        with pytest.raises(DataError, match=r"noise is 'much'\); list the undamaged runs with: slide-gui runs check"):
            store.runs()
        report = store.check()
        assert (report.n_runs, set(report.faults), len(report.intact)) == (3, {third.spec.hash, RESULT.spec.hash}, 2)
    assert main(["runs", "show", str(path), RESULT.spec.hash[:9]]) == 1
    assert f"; restore the row with: slide-gui runs check {path} --save-whole NEW" in capsys.readouterr().err
    assert main(["runs", "check", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert {line[:12] for line in lines[:2]} == {third.spec.hash[:12], RESULT.spec.hash[:12]}
    assert lines[2:] == [
        "3 runs: 2 damaged, the results of 2 intact",
        f"save the undamaged runs with: slide-gui runs check {path} --save-whole NEW",
    ]
    new = path.parent / "new.sqlite"
    assert main(["runs", "check", str(path), "--save-whole", str(new)]) == 1
    assert f"saved 2 runs to {new}" in capsys.readouterr().out
    with RunStore(new, read_only=True) as store:
        assert store.check().faults == {}
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
        line = store.stored(OTHER.spec.hash)
        assert (line.tags, line.deleted, line.created) == (("good",), True, created)
        assert store.stored(RESULT.spec.hash).tags == ()
    assert main(["runs", "check", str(path), "--save-whole", str(new)]) == 2
    assert f"{new}: is a database; choose another output" in capsys.readouterr().err


def test_that_a_lost_page_loses_only_its_own_rows(large):
    content = bytearray(large.read_bytes())
    at = content.rindex(b'"fingerprint"') // 4096 * 4096
    content[at : at + 4096] = bytes(4096)
    large.write_bytes(bytes(content))
    with RunStore(large, read_only=True) as store:
        report = store.check()
    assert report.damage
    assert 0 < len(report.faults) < 31
    assert len(report.intact) == report.n_runs - len(report.faults)
    assert len(report.intact) > 15


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"],
        ["CREATE VIEW v AS SELECT load_extension('x') FROM runs"],
        ["ALTER TABLE runs RENAME TO other", "CREATE VIEW runs AS SELECT * FROM other"],
        ["DROP TABLE runs", "CREATE VIRTUAL TABLE runs USING fts5(hash, document)"],
        ["DROP TABLE runs", "CREATE TABLE runs (hash TEXT, document TEXT)"],
        ["ALTER TABLE runs DROP COLUMN error"],
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_that_a_database_with_more_than_the_table_of_runs_is_refused(path, statements, read_only):
    execute(path, *statements)
    before = path.read_bytes()
    with pytest.raises(DataError, match="restore a backup"):
        RunStore(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["../outside.npz", "/dev/zero", "a.npz", f"{'0' * 16}-{'a' * 16}.npz.part", ""])
def test_that_a_row_cannot_name_a_file_elsewhere(path, name):
    execute(path, f"UPDATE runs SET file = '{name}' WHERE hash = '{RESULT.spec.hash}'")
    with RunStore(path, read_only=True) as store, pytest.raises(DataError, match="file is '"):
        store.load(RESULT.spec.hash)


def test_that_no_array_is_removed_while_the_store_may_be_damaged(path):
    arrays = sorted(path.with_name(path.name + ".arrays").iterdir())
    execute(path, f"UPDATE runs SET file = '{'0' * 16}-{'a' * 16}.npz' WHERE hash = '{RESULT.spec.hash}'")
    RunStore(path).close()
    assert sorted(arrays[0].parent.iterdir()) == arrays
    os.truncate(path, 0)
    with pytest.raises(
        DataError, match="is empty, so it is not a run store; restore a backup, or move its array folder elsewhere"
    ):
        RunStore(path)
    assert sorted(arrays[0].parent.iterdir()) == arrays


def test_that_a_store_that_would_overwrite_its_own_runs_is_not_written_to(large):
    content = bytearray(large.read_bytes())
    own = content.index(b'"fingerprint"') // 4096 + 1
    trunk = len(content) // 4096 + 1
    # A valid list of free pages that contains the page of a document, which SQLite would overwrite.
    content += struct.pack(">III", 0, 1, own).ljust(4096, b"\0")
    content[28:40] = struct.pack(">III", trunk, trunk, 2)
    large.write_bytes(bytes(content))
    third = on_split(50)
    for change in (lambda store: store.save(third), lambda store: store.tag(RESULT.spec.hash, ["x" * 5000])):
        with RunStore(large) as store, pytest.raises(DataError, match=r"is damaged .*; list the undamaged runs with:"):
            change(store)
    assert len(list(large.with_name(large.name + ".arrays").iterdir())) == 31
    with RunStore(large, read_only=True) as store:
        report = store.check()
    assert report.damage
    assert (report.n_runs, report.faults, len(report.intact)) == (31, {}, 31)


@pytest.mark.parametrize("read_only", [False, True])
def test_that_a_store_that_cannot_be_opened_is_not_referred_to_the_check(path, read_only):
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE runs", b"CREATE \xff\xfe\xfdLE runs", 1))
    with pytest.raises(DataError, match=r"is damaged .*; restore a backup") as caught:
        RunStore(path, read_only=read_only)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("step", range(4))
def test_that_a_store_created_by_another_process_meanwhile_is_opened(tmp_path, monkeypatch, step):
    path, rows, queries = tmp_path / "runs.sqlite", Database.rows, []

    def counted(database, query, values=()):
        queries.append(query)
        if len(queries) == step + 1:
            monkeypatch.setattr(Database, "rows", rows)
            RunStore(path).close()
        return rows(database, query, values)

    monkeypatch.setattr(Database, "rows", counted)
    with RunStore(path) as store:
        assert store.runs() == []
    assert len(queries) == step + 1


@pytest.mark.parametrize(("code", "is_repeated"), [(sqlite3.SQLITE_BUSY, True), (sqlite3.SQLITE_FULL, False)])
def test_that_the_log_is_switched_on_again_only_if_another_process_holds_a_lock(path, code, is_repeated, monkeypatch):
    database, error = Database(path), sqlite3.OperationalError("refused")
    error.sqlite_errorcode = code
    database.close()
    database._db = Mock(**{"execute.side_effect": [error, None, None]})
    monkeypatch.setattr(os, "access", lambda *_: False)
    with nullcontext() if is_repeated else pytest.raises(OSError, match="is read-only; change its permissions"):
        database.keep_write_ahead_log()
    assert database._db.execute.call_count == (3 if is_repeated else 1)


def test_that_a_refused_change_is_rolled_back_and_the_next_one_succeeds(path):
    database = Database(path)
    with pytest.raises(DataError, match="no such table: nowhere"), database.writing():  # noqa: PT012 - the second
        database.write("UPDATE runs SET tags = 'lost'")
        database.write("INSERT INTO nowhere VALUES (1)")
    assert database.rows("SELECT tags FROM runs WHERE tags = 'lost'") == []
    database.damage = None  # an intact file is not checked again
    with database.writing():
        assert database.write("UPDATE runs SET tags = 'kept'") == 2
    database.close()


def test_that_nothing_is_written_through_a_damaged_index(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        roots = dict(database.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'index'"))
        first, second = [root for name, root in roots.items() if name.startswith("sqlite_autoindex")][:2]
    content = bytearray(path.read_bytes())
    content[4096 * (first - 1) : 4096 * first] = content[4096 * (second - 1) : 4096 * second]
    path.write_bytes(content)
    before = path.read_bytes()
    for change in (lambda store: store.save(on_split(5)), lambda store: store.delete([RESULT.spec.hash])):
        damaged = pytest.raises(DataError, match=r"is damaged \(.*; list the undamaged runs with: slide-gui runs check")
        with damaged, RunStore(path) as store:
            change(store)
    assert path.read_bytes() == before


def test_that_a_header_that_forbids_writing_is_damage(path):
    content = bytearray(path.read_bytes())
    content[18] = 13
    path.write_bytes(content)
    with RunStore(path, read_only=True) as store:
        assert len(store.check().intact) == 2
    with pytest.raises(DataError, match="requires a newer format than SQLite can write"), RunStore(path) as store:
        store.save(on_split(5))
