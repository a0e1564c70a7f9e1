"""The store: what it says it holds, it holds, whatever happens to the process or the files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slide_gui.cli.bench.killing import kill_sweep
from slide_gui.data.errors import DataError
from slide_gui.experiments.result import RunResult, same_numbers
from slide_gui.experiments.run import run
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.stored_run import ADDED
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(n_classes=3)
RESULT = run(DATA, spec(DATA, criterion="press", training="split"))
OTHER = run(DATA, spec(DATA, method="raw-svm"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(RESULT)
        store.save(OTHER)
    return tmp_path / "runs.sqlite"


def array_file(path: Path, result: RunResult = RESULT) -> Path:
    (file,) = path.with_name(path.name + ".arrays").glob(f"{result.spec.hash[:16]}-*")
    return file


def test_that_results_come_back_to_the_bit(path: Path) -> None:
    with RunStore(path) as store:
        for result in (RESULT, OTHER):
            again = store.load(result.spec.hash)
            assert same_numbers(again, result)
            assert again.timings == result.timings
            assert again.versions == result.versions
            assert again.spec == result.spec
        assert [line.hash for line in store.runs()] == [RESULT.spec.hash, OTHER.spec.hash]
        line = store.runs()[0]
        assert (line.noise, line.depth, line.error, line.n_test) == (0.4, 1, RESULT.error, 300)
        assert line.validation_error == RESULT.validation_error
        assert store.faults() == {}


def test_that_it_is_written_durably(path: Path) -> None:
    with RunStore(path) as store:
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_that_nothing_is_overwritten(path: Path) -> None:
    before = array_file(path).read_bytes(), array_file(path).stat().st_mtime_ns
    with RunStore(path) as store:
        store.save(replace(RESULT, timings=replace(RESULT.timings, fit=99.0)))
        assert store.load(RESULT.spec.hash).timings == RESULT.timings
    assert (array_file(path).read_bytes(), array_file(path).stat().st_mtime_ns) == before


@pytest.mark.parametrize("how", ["missing", "altered", "truncated", "other"])
def test_that_a_missing_or_altered_file_is_reported_and_made_again(path: Path, how: str) -> None:
    file = array_file(path)
    if how == "missing":
        file.unlink()
    elif how == "altered":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(bytes(content))
    elif how == "truncated":
        os.truncate(file, 100)
    else:
        file.write_bytes(array_file(path, OTHER).read_bytes())
    with RunStore(path) as store:
        assert list(store.faults()) == [RESULT.spec.hash]
        assert str(file) in store.faults()[RESULT.spec.hash]
        with pytest.raises(DataError, match="made again"):
            store.load(RESULT.spec.hash)
        assert store.find(RESULT.spec) is None
        store.save(RESULT)
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
    with RunStore(path) as store:
        assert store.faults() == {}
        assert len(list(store.folder.iterdir())) == 2


@pytest.mark.parametrize(
    "change", ["error = 0.0", "noise = 0.5", "n_test = 1", "document = replace(document, '96', '97')", "hash = 'ab'"]
)
def test_that_an_altered_row_is_not_trusted(path: Path, change: str) -> None:
    database = sqlite3.connect(path)
    database.execute(f"UPDATE runs SET {change} WHERE hash = ?", (RESULT.spec.hash,))
    database.commit()
    database.close()
    with RunStore(path) as store:
        assert len(store.faults()) == 1


def test_that_orphans_are_swept_and_nothing_else(path: Path) -> None:
    folder = path.with_name(path.name + ".arrays")
    orphans = [f"{'0' * 16}-{'a' * 16}.npz", f"{'0' * 16}-{'b' * 16}.npz.part"]
    for name in [*orphans, "notes.txt", "mine.npz"]:
        (folder / name).write_bytes(b"x")
    with RunStore(path) as store:
        assert store.swept == 2
        assert not any((folder / name).exists() for name in orphans)
        assert (folder / "notes.txt").exists()
        assert (folder / "mine.npz").exists()
        assert len(store.runs()) == 2


def test_that_a_file_is_not_swept_while_another_process_saves_it(path: Path) -> None:
    with RunStore(path) as store, store._writing():
        name = store._write("0" * 64, b"x")
        code = f"from slide_gui.experiments.store import RunStore; print(RunStore({str(path)!r}).swept)"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1.5)
        assert (store.folder / name).exists()
        (store.folder / name).unlink()
    assert child.communicate(timeout=20)[0].strip() == b"0"


def test_that_a_deleted_run_can_be_taken_back(path: Path) -> None:
    with RunStore(path) as store:
        assert store.delete([RESULT.spec.hash]) == 1
        assert [line.hash for line in store.runs()] == [OTHER.spec.hash]
        assert [line.deleted for line in store.runs(deleted=True)] == [True, False]
        assert store.delete([RESULT.spec.hash], undo=True) == 1
        assert len(store.runs()) == 2
        store.delete([RESULT.spec.hash])
        store.save(RESULT)
        assert len(store.runs()) == 2


def test_that_tags_are_kept(path: Path) -> None:
    with RunStore(path) as store:
        store.tag(RESULT.spec.hash, ["good", "for the talk"])
        with pytest.raises(ValueError, match="comma"):
            store.tag(RESULT.spec.hash, ["a,b"])
    with RunStore(path) as store:
        assert store.stored(RESULT.spec.hash).tags == ("good", "for the talk")
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)


def test_that_a_store_of_a_newer_format_is_refused_and_left_alone(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 2")
    database.commit()
    database.close()
    (path.with_name(path.name + ".arrays") / f"{'0' * 16}-{'a' * 16}.npz").write_bytes(b"x")
    with pytest.raises(DataError, match="format 2, this slide-gui reads 1; open it with the version"):
        RunStore(path)
    assert len(list(path.with_name(path.name + ".arrays").iterdir())) == 3


def test_that_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database at all, though it is long enough to be one" * 100)
    with pytest.raises(DataError, match="is no store of runs"):
        RunStore(tmp_path / "text")
    database = sqlite3.connect(tmp_path / "bookmarks")
    database.execute("CREATE TABLE places (url TEXT)")
    database.close()
    with pytest.raises(DataError, match="another program"):
        RunStore(tmp_path / "bookmarks")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="cannot be opened"):
        RunStore(tmp_path / "folder")


def test_that_a_failed_write_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    third = replace(RESULT, spec=replace(RESULT.spec, split=5))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with RunStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                store.save(third)
        assert len(list(store.folder.iterdir())) == 2
        assert len(store.runs()) == 2
        store.save(third)
        assert len(store.runs()) == 3


def test_that_only_numbers_are_read(path: Path) -> None:
    with np.load(array_file(path), allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "if" for name in arrays.files)


def test_that_a_killed_sweep_loses_nothing() -> None:
    counts = kill_sweep(15)
    assert (counts["lost"], counts["corrupt"], counts["orphans"], counts["faults"]) == (0, 0, 0, 0)
    assert counts["kills"] == 15
    assert counts["swept"] >= 2  # two kills were made in the middle of a save


def as_written_before(path: Path) -> None:
    """Take the columns out that earlier versions did not have."""
    connection = sqlite3.connect(path)
    for name in ADDED:
        connection.execute(f"ALTER TABLE runs DROP COLUMN {name}")
    connection.commit()
    connection.close()


def test_that_the_table_tells_c_and_support_vectors_of_old_stores_too(path: Path) -> None:
    expected = [(result.classifier.C, result.classifier.n_support) for result in (RESULT, OTHER)]
    with RunStore(path) as store:
        assert [(line.C, line.n_support) for line in store.runs()] == expected
    as_written_before(path)
    with RunStore(path) as store:
        assert [(line.C, line.n_support) for line in store.runs()] == expected
        assert store.faults() == {}


def test_that_a_damaged_run_of_an_old_store_does_not_keep_it_from_opening(path: Path) -> None:
    as_written_before(path)
    array_file(path).unlink()
    with RunStore(path) as store:
        assert [line.n_support for line in store.runs()] == [None, OTHER.classifier.n_support]
        assert list(store.faults()) == [RESULT.spec.hash]


def test_that_a_row_written_by_an_earlier_version_afterwards_is_read(path: Path) -> None:
    with RunStore(path) as store:
        store._db.execute(f"UPDATE runs SET {', '.join(f'{name} = NULL' for name in ADDED)}")
        assert [line.n_support for line in store.runs()] == [None, None]
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
