"""Runs of another results version are kept and read, but never used for a new request."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest

from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import SweepPoint
from slide_gui.experiments.runs.splits import divide
from slide_gui.experiments.store.store import RunStore, StoreReport
from slide_gui.experiments.store.stored_run import COLUMNS
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.results_version import RESULTS_VERSION
from tests.experiments.damaged_stores import execute, rewrite
from tests.experiments.tiny import rectangles, same_numbers, spec

ADDED = [column.name for column in COLUMNS if column.added]
DROPPED = [f"ALTER TABLE runs DROP COLUMN {name}" for name in ADDED]
DATA = rectangles(60, 60)
RESULT = run(DATA, spec(DATA, method="raw-svm", widths="median", C=1.0))
POINT = SweepPoint(0.0, 0, 0, 0, RESULT.spec)


def made_by(version):
    return replace(RESULT, versions=tuple((dict(RESULT.versions) | {"numerics": version}).items()))


OLD = made_by("1-0123abcd")


@pytest.fixture
def path(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(OLD)
    return tmp_path / "runs.sqlite"


def test_that_a_run_records_its_results_version():
    assert dict(RESULT.versions)["numerics"] == str(RESULTS_VERSION)
    assert RESULT.is_current
    assert RESULT.hash == RESULT.spec.hash
    assert not OLD.is_current
    assert len({RESULT.hash, OLD.hash, made_by("1-0123abce").hash, made_by(f"{RESULTS_VERSION}+0123").hash}) == 4


def test_that_a_run_of_another_version_is_listed_and_read_but_computed_again(path):
    with RunStore(path) as store:
        (line,) = store.runs()
        assert (line.hash, line.numerics, line.error) == (OLD.hash, "1-0123abcd", OLD.error)
        again = store.load(OLD.hash)
        assert same_numbers(again, OLD)
        assert (again.numerics, again.hash) == (OLD.numerics, OLD.hash)
        assert store.check().faults == {}
        with pytest.raises(KeyError):
            store.take(RESULT.spec)
        assert RESULT.spec.hash not in store
        assert run_sweep(DATA, [POINT], store).faults == ()
        assert [line.is_current for line in store.runs()] == [False, True]
        assert store.take(RESULT.spec).is_current


def test_that_the_words_of_earlier_stores_on_held_out_rows_are_read_as_data(tmp_path):
    path, held_out = tmp_path / "runs.sqlite", HeldOut(0.25, 3)
    data = divide(replace(DATA, test=DATA.test[:0], test_labels=DATA.test_labels[:0]), held_out)
    result = run(data, replace(spec(data, method="raw-svm", widths="median", C=1.0), held_out=held_out))
    with RunStore(path) as store:
        store.save(RESULT)
        store.save(result)
    execute(path, f"UPDATE runs SET held_out = CASE hash WHEN '{result.hash}' THEN '{held_out}' ELSE '' END")
    for read_only in (False, True):
        with RunStore(path, read_only=read_only) as store:
            assert [line.held_out for line in store.runs()] == [None, held_out]
            assert store.check().faults == {}


def test_that_runs_of_both_versions_are_stored_and_saved_with_the_undamaged_ones(path, tmp_path):
    with RunStore(path) as store:
        store.save(RESULT)
        store.save(OLD)
        assert store.save_whole(tmp_path / "new.sqlite") == 2
    with RunStore(tmp_path / "new.sqlite") as store:
        assert {line.hash: line.is_current for line in store.runs()} == {OLD.hash: False, RESULT.hash: True}
        assert store.check().faults == {}


def without(*keys):
    """Return a function that removes an entry from a document."""

    def remove(text):
        document = json.loads(text)
        *outer, last = keys
        del reduce(getitem, outer, document)[last]
        return json.dumps(document)

    return remove


@pytest.fixture
def old(tmp_path):
    """Return a store of an earlier version: without later columns, and with the column that was dropped."""
    path = tmp_path / "runs.sqlite"
    with RunStore(path) as store:
        for split in (0, 1):
            store.save(replace(RESULT, spec=replace(RESULT.spec, training="split", split=split)))
    execute(path, "ALTER TABLE runs ADD COLUMN half REAL NOT NULL DEFAULT 0.1", "PRAGMA user_version = 1", *DROPPED)
    return path


def test_that_the_columns_of_an_earlier_store_are_filled_except_for_damaged_runs(old):
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
        store._db.write(f"UPDATE runs SET {', '.join(f'{name} = NULL' for name in ADDED)}")  # as earlier versions do
        assert [line.n_support for line in store.runs()] == [None, None, None]
        assert same_numbers(store.load(RESULT.spec.hash), RESULT)
    with closing(sqlite3.connect(old)) as database:
        assert [half for (half,) in database.execute("SELECT half FROM runs ORDER BY created")] == [0.1, 0.1, 0.0]


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_that_the_version_of_a_run_from_before_it_was_recorded_is_found(tmp_path, version):
    path, result = tmp_path / "runs.sqlite", made_by(version)
    with RunStore(path) as store:
        store.save(result)
    rewrite(path, "1", without("versions", "numerics"))
    execute(path, *DROPPED)
    with RunStore(path) as store:
        assert [(line.hash, line.numerics) for line in store.runs()] == [(result.hash, version)]
        assert store.load(result.hash).numerics == version
        assert store.check().faults == {}


@pytest.mark.parametrize(
    "change", ["numerics = '1'", f"numerics = '{RESULTS_VERSION}'", f"hash = '{RESULT.hash}'", "numerics = 3"]
)
def test_that_a_run_of_another_version_than_its_row_names_is_damaged(path, change):
    execute(path, f"UPDATE runs SET {change}")
    with RunStore(path) as store:
        assert len(store.check().faults) == 1
        with pytest.raises(DataError):
            store.load(OLD.hash if "hash" not in change else RESULT.hash)


def test_that_a_spec_stored_before_a_parameter_existed_keeps_its_hash(path):
    rewrite(path, "1", without("spec", "svm", "retune"))
    document = OLD.spec.document()
    del document["svm"]["retune"], document["source"]
    key = hashlib.sha256(json.dumps({"format": OLD.numerics, **document}, sort_keys=True).encode()).hexdigest()
    execute(path, f"UPDATE runs SET hash = '{key}'")
    with RunStore(path) as store:
        assert same_numbers(store.load(key), OLD)
        assert store.check().faults == {}


def test_that_a_store_of_an_earlier_version_is_undamaged_and_its_data_lose_their_mark(tmp_path):
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
