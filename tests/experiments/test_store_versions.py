"""Runs of another version of the numbers: kept, read and told apart, and never the answer of what is asked now."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import SweepPoint
from slide_gui.experiments.runs.splits import divide
from slide_gui.experiments.store.store import RunStore, StoreReport
from slide_gui.experiments.store.stored_run import COLUMNS
from slide_gui.experiments.sweeps.sweep import run_points
from slide_gui.results_version import RESULTS_VERSION
from tests.experiments.tiny import rectangles, same_numbers, spec

ADDED = [column.name for column in COLUMNS if column.added]
DATA = rectangles(60, 60)
RESULT = run(DATA, spec(DATA, method="raw-svm", widths="median", C=1.0))
POINT = SweepPoint(0.0, 0, 0, 0, RESULT.spec)


def made_by(version: str) -> RunResult:
    versions = [(name, said) for name, said in RESULT.versions if name != "numerics"]
    return replace(RESULT, versions=(*versions, ("numerics", version)))


OLD = made_by("1-0123abcd")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(OLD)
    return tmp_path / "runs.sqlite"


def test_that_a_run_records_the_version_of_its_numbers() -> None:
    assert dict(RESULT.versions)["numerics"] == str(RESULTS_VERSION)
    assert RESULT.is_current
    assert RESULT.hash == RESULT.spec.hash
    assert not OLD.is_current
    assert len({RESULT.hash, OLD.hash, made_by("1-0123abce").hash, made_by(f"{RESULTS_VERSION}+0123").hash}) == 4


def test_that_a_run_of_another_version_is_no_answer(path: Path) -> None:
    with RunStore(path) as store:
        with pytest.raises(KeyError):
            store.take(RESULT.spec)
        assert RESULT.spec.hash not in store
        state = run_points(DATA, [POINT], store)
        assert state.faults == ()
        assert [line.is_current for line in store.runs()] == [False, True]
        assert store.take(RESULT.spec).is_current


def test_that_a_run_of_another_version_is_listed_and_read(path: Path) -> None:
    with RunStore(path) as store:
        (line,) = store.runs()
        assert (line.hash, line.numerics, line.error) == (OLD.hash, "1-0123abcd", OLD.error)
        again = store.load(OLD.hash)
        assert same_numbers(again, OLD)
        assert (again.numerics, again.hash) == (OLD.numerics, OLD.hash)
        assert store.check().faults == {}


def test_that_the_words_of_earlier_stores_on_held_out_rows_are_read_as_data(tmp_path: Path) -> None:
    held_out = HeldOut(0.25, 3)
    data = divide(replace(DATA, test=DATA.test[:0], test_labels=DATA.test_labels[:0]), held_out)
    result = run(data, replace(spec(data, method="raw-svm", widths="median", C=1.0), held_out=held_out))
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(RESULT)
        store.save(result)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database, database:
        assert database.execute("SELECT typeof(held_out) FROM runs ORDER BY created").fetchall() == [
            ("null",),
            ("text",),
        ]
        database.execute("UPDATE runs SET held_out = CASE hash WHEN ? THEN ? ELSE '' END", (result.hash, str(held_out)))
    for read_only in (False, True):
        with RunStore(tmp_path / "runs.sqlite", read_only=read_only) as store:
            assert [line.held_out for line in store.runs()] == [None, held_out]
            assert store.check().faults == {}


def test_that_both_stand_side_by_side_and_are_saved_with_what_is_whole(path: Path, tmp_path: Path) -> None:
    with RunStore(path) as store:
        store.save(RESULT)
        store.save(OLD)
        assert store.save_whole(tmp_path / "new.sqlite") == 2
    with RunStore(tmp_path / "new.sqlite") as store:
        assert {line.hash: line.is_current for line in store.runs()} == {OLD.hash: False, RESULT.hash: True}
        assert store.check().faults == {}


def written_before(path: Path, version: str) -> str:
    """Write a run as the program did before it recorded versions, and return its hash."""
    result = made_by(version)
    with RunStore(path) as store:
        store.save(result)
    with closing(sqlite3.connect(path)) as database, database:
        text, name = database.execute("SELECT document, file FROM runs WHERE hash = ?", (result.hash,)).fetchone()
        document: dict[str, Any] = json.loads(text)
        del document["versions"]["numerics"]
        text = json.dumps(document)
        content = (path.with_name(path.name + ".arrays") / name).read_bytes()
        digest = hashlib.sha256(content + text.encode()).hexdigest()
        database.execute("UPDATE runs SET document = ?, sha256 = ? WHERE hash = ?", (text, digest, result.hash))
        for column in ADDED:
            database.execute(f"ALTER TABLE runs DROP COLUMN {column}")
    return result.hash


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of an earlier version: without the columns added since, with the one dropped since."""
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        for split in (0, 1):
            store.save(replace(RESULT, spec=replace(RESULT.spec, training="split", split=split)))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE runs ADD COLUMN half REAL NOT NULL DEFAULT 0.1")
        database.execute("PRAGMA user_version = 1")
        for name in ADDED:
            database.execute(f"ALTER TABLE runs DROP COLUMN {name}")
    return path


def test_that_the_columns_of_an_earlier_store_are_filled_except_for_damaged_runs(old: Path) -> None:
    before, expected = old.read_bytes(), (RESULT.classifier.C, RESULT.classifier.n_support)
    with RunStore(old, read_only=True) as store:
        assert [line.C for line in store.runs()] == [None, None]
        assert store.check().faults == {}
        damaged = store.runs()[0].hash
    assert old.read_bytes() == before
    next(iter(store.folder.glob(f"{damaged[:16]}-*"))).unlink()
    with RunStore(old) as store:
        assert [(line.C, line.n_support) for line in store.runs()] == [(None, None), expected]
        assert list(store.check().faults) == [damaged]
        store.save(RESULT)
        store._db.write(f"UPDATE runs SET {', '.join(f'{name} = NULL' for name in ADDED)}")  # by the earlier version
        assert [line.n_support for line in store.runs()] == [None, None, None]
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
    with closing(sqlite3.connect(old)) as database:
        assert [half for (half,) in database.execute("SELECT half FROM runs ORDER BY created")] == [0.1, 0.1, 0.0]


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_that_the_version_of_a_run_from_before_it_was_recorded_is_found(tmp_path: Path, version: str) -> None:
    path = tmp_path / "runs.sqlite"
    key = written_before(path, version)
    with RunStore(path) as store:
        assert [(line.hash, line.numerics) for line in store.runs()] == [(key, version)]
        assert store.load(key).numerics == version
        assert store.check().faults == {}


@pytest.mark.parametrize(
    "change", ["numerics = '1'", f"numerics = '{RESULTS_VERSION}'", f"hash = '{RESULT.hash}'", "numerics = 3"]
)
def test_that_a_run_that_says_another_version_than_its_row_is_not_trusted(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE runs SET {change}")
    with RunStore(path) as store:
        assert len(store.check().faults) == 1
        with pytest.raises(DataError):
            store.load(OLD.hash if "hash" not in change else RESULT.hash)


def test_that_a_spec_stored_before_a_parameter_existed_keeps_its_hash(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        text, name = database.execute("SELECT document, file FROM runs").fetchone()
        document: dict[str, Any] = json.loads(text)
        del document["spec"]["svm"]["retune"]
        plain = {key: value for key, value in document["spec"].items() if key != "source"}
        key = hashlib.sha256(json.dumps({"format": OLD.numerics, **plain}, sort_keys=True).encode()).hexdigest()
        text = json.dumps(document)
        content = (path.with_name(path.name + ".arrays") / name).read_bytes()
        digest = hashlib.sha256(content + text.encode()).hexdigest()
        database.execute("UPDATE runs SET document = ?, sha256 = ?, hash = ?", (text, digest, key))
    with RunStore(path) as store:
        assert same_numbers(store.load(key), OLD)
        assert store.check().faults == {}


def test_that_a_store_of_an_earlier_version_is_whole_and_its_data_lose_their_mark(
    tmp_path: Path,
) -> None:
    shutil.copytree(Path(__file__).with_name("earlier_store"), tmp_path, dirs_exist_ok=True)
    with RunStore(tmp_path / "runs.sqlite") as store:
        assert store.check() == StoreReport(3, {}, (), (1, 2, 3))
        lines = store.runs(deleted=True)
        results = [store.load(line.hash) for line in lines]
        assert store.save_whole(tmp_path / "new.sqlite") == 3
    assert [(line.method, line.noise, line.n_support, line.tags, line.deleted) for line in lines] == [
        ("slide-svm", 0.4, 40, ("first", "of all"), False),
        ("raw-svm", 0.0, 40, (), False),
        ("slide-svm", 0.2, 40, (), True),
    ]
    assert {(line.data, line.generated, line.title) for line in lines} == {
        ("Rectangles", True, "Rectangles (generated)")
    }
    assert {(result.dataset, result.generated) for result in results} == {("Rectangles", True)}
    with RunStore(tmp_path / "new.sqlite") as store:
        assert store.runs(deleted=True) == lines
        assert store.check().faults == {}
