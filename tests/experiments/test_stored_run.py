"""Rows of the table of runs, their settings, and runs of another results version, which are kept but not used."""

import hashlib
import json
import math
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.error_rate import error_matrix, row_errors
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepPoint
from slide_gui.experiments.runs.splits import divide
from slide_gui.experiments.store.store import RunStore, StoreReport
from slide_gui.experiments.store.stored_run import COLUMNS, SHOWN, Setting, StoredRun, tags_of
from slide_gui.experiments.sweeps.curves import known_results
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.results_version import RESULTS_VERSION
from tests.experiments.damaged_stores import execute, rewrite
from tests.experiments.tiny import rectangles, same_numbers, spec

DATA = rectangles(60, 40)
RESULT = run(DATA, spec(DATA, widths="median", C=1.0))
LINE = StoredRun.of(RESULT, 1.0, ("first", "of all"))


def test_that_a_stored_run_is_read_back_from_its_row_and_the_mark_of_generated_data_is_not_part_of_their_name():
    least = replace(LINE, error=0.0, n_test=1, row_errors=None, created=0.0, n_support=None)
    for line in (LINE, least, replace(least, error=1.0, deleted=True, tags=(), C=None, numerics=None, chosen_by=None)):
        assert list(line.row()) == [column.name for column in COLUMNS]
        assert StoredRun.from_row(line.row()) == line
    row = LINE.row() | {"data": "Convex (generated)"}
    assert StoredRun.from_row(row).title == "Convex (generated)"
    assert StoredRun.from_row(row).data == "Convex"
    assert StoredRun.from_row(row | {"generated": 0}).data == "Convex (generated)"


def test_that_a_stored_run_has_the_values_of_its_result():
    assert np.flatnonzero(error_matrix([LINE.row_errors])[0]).tolist() == RESULT.misclassified.tolist() != []
    assert (LINE.hash, LINE.data, LINE.generated, LINE.is_shipped) == (RESULT.hash, "tiny", True, False)
    assert (LINE.method, LINE.noise, LINE.depth) == ("slide-svm", 0.4, 1)
    assert (LINE.error, LINE.n_test, LINE.seconds) == (RESULT.error, 40, RESULT.timings.total)
    assert (LINE.C, LINE.n_support) == (1.0, RESULT.classifier.n_support)
    assert (LINE.n_train, LINE.features) == (60, RESULT.timings.features)
    assert (LINE.validation_loss, LINE.best_epoch) == (None, None)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("held_out", "{"), ("held_out", '{"folds":2,"fold":9}'),
        ("error", 1.1), ("error", -0.1), ("error", math.nan), ("n_test", 0), ("n_test", 1 << 63), ("seconds", math.inf),
        ("noise", "much"), ("depth", None),
        ("created", -1.0), ("deleted", 2), ("data", b"\xff"), ("C", "large"), ("hash", None),
        ("row_errors", "text"), ("row_errors", b""), ("row_errors", RESULT.row_errors[:-1]),
        ("row_errors", row_errors("", np.arange(39), np.arange(3))),
    ],
)  # fmt: skip
def test_that_an_impossible_value_is_refused_by_name(column, value):
    with pytest.raises(ValueError, match=f"^{column} is "):
        StoredRun.from_row(LINE.row() | {column: value})


def test_that_every_shown_column_has_a_text_for_any_run_and_commas_separate_tags():
    assert not [column.title for column in SHOWN if column.tip.endswith(".")], "a sentence follows in the tooltip"
    for text, tags in (("", ()), (" a , b c,, a", ("a", "b c")), (",", ())):
        assert tags_of(text) == LINE.with_tags(text).tags == tags
    unknown = replace(LINE, method="of tomorrow", depth=0, C=None, n_support=None, tags=())
    expected = {
        "Date": (LINE.date,) * 2, "Data": ("tiny gen.",) * 2, "Method": ("SLIDE-SVM", "of tomorrow"),
        "Noise": ("0.40", "–"), "Depth": ("1", "0"), "Split": ("whole",) * 2, "Seed": ("0",) * 2,
        "Error %": (LINE.rate.value,) * 2, "95 %": (LINE.rate.interval,) * 2, "n test": ("40",) * 2, "C": ("1", "–"),
        "n SV": (str(LINE.n_support), "–"), "Time s": (f"{LINE.seconds:.1f}",) * 2, "Tag": ("first, of all", ""),
    }  # fmt: skip
    assert {column.title: (column.text(LINE), column.text(unknown)) for column in SHOWN} == expected
    penalty = next(column.text for column in SHOWN if column.title == "C")
    assert [penalty(replace(LINE, C=C)) for C in (0.002345, 0.02345)] == ["0.0023", "0.0234"]
    assert LINE.words == (
        f"{LINE.date} tiny (generated) gen. slide-svm whole noise=0.40; depth=1; seed=0; {100 * LINE.error:.2f} first "
        "of all  median widths test error · trained on all rows · median widths · c = 1 "
    )


@pytest.mark.parametrize(
    ("held_out", "training", "name"),
    [
        (None, "whole", "whole"),
        (None, "split", "3"),
        (HeldOut(0.25, 1), "whole", "25 %"),
        (HeldOut(0.0, 0, 5, 1), "whole", "fold 2/5"),
        (HeldOut(0.0, 0, 5, 1), "split", "3, fold 2/5"),
    ],
)
def test_that_the_split_names_the_rule_that_held_out_the_test_set(held_out, training, name):
    line = replace(LINE, held_out=held_out, training=training, split=3, evaluate="test")
    assert line.split_name == name
    assert replace(line, evaluate="validation").split_name == f"{name}, val."
    assert str(held_out or "") in line.tip
    assert str(held_out or "").lower() in line.words
    assert StoredRun.from_row(line.row()) == line


BASE = RunSpec("ab" * 32, "tiny.npz", stack=StackParameters(noise=0.3, depth=2)).checked()
SPLIT = replace(BASE, training="split", split=2, seed=1).checked()


def test_that_noise_depth_data_split_and_seed_are_not_part_of_a_setting_and_other_texts_are_not_settings():
    held_out = HeldOut(0.0, 0, 5, 1)
    moved = replace(SPLIT, stack=replace(SPLIT.stack, noise=0.7, depth=1), split=0, seed=5, held_out=held_out)
    assert Setting.of(moved.checked()) == Setting.of(SPLIT)
    assert Setting.of(SPLIT) != Setting.of(BASE)
    for text in (None, "", "[]", "{", json.dumps({"method": 3}), json.dumps({"labels": "many"})):
        assert Setting.from_text(text) is None
    for unknown in ({"method": "later"}, {"svm": {"criterion": "later"}}, {"fit_rows": "later"}):
        assert Setting.from_text(json.dumps(unknown)) is None


@pytest.mark.parametrize(
    "change",
    [
        {}, {"labels": 20}, {"evaluate": "validation", "training": "split"}, {"svm": SvmParameters(criterion="press")},
        {"stack": StackParameters(0.3, 2, threshold=0.4)}, {"svm": SvmParameters(widths=(1.0, 2.0, 3.0), C=2.0)},
        {"method": "raw-svm"}, {"test_rows": 50},
    ],
)  # fmt: skip
def test_that_a_setting_is_read_from_its_text_and_gives_the_run(change):
    spec = replace(BASE, **change).checked()
    setting = Setting.of(spec)
    assert Setting.from_text(setting.text) == setting
    assert setting.at(BASE, spec.stack.noise, spec.stack.depth, spec.split, spec.seed).hash == spec.hash


def test_that_a_run_without_layers_is_on_the_curves_of_every_stack_and_a_method_without_widths_is_named_instead():
    raw = Setting.of(replace(BASE, stack=StackParameters(depth=0)).checked())
    other = Setting.of(replace(BASE, stack=replace(BASE.stack, threshold=0.4)).checked())
    assert other.covers(raw)
    assert raw.covers(other)
    assert Setting.of(BASE).covers(raw)
    assert not other.covers(Setting.of(BASE))
    assert not Setting.of(SPLIT).covers(raw)
    learned = [Setting.of(BASE).words(n_classes).rpartition(" · learned widths ")[2] for n_classes in (1, 2, 3)]
    assert learned == ["(automatic)", "(span, auto)", "(press, auto)"]
    raw, text = Setting.of(replace(BASE, method="raw-svm").checked()), METHODS["raw-svm"].text
    assert raw.words() == f"test error · trained on all rows · {text}"
    given = replace(raw.spec, evaluate="validation", labels=1, test_rows=9, svm=replace(raw.spec.svm, C=2.5))
    expected = f"validation error · trained on all rows · 1 label · {text} · C = 2.5 · evaluated on 9 rows"
    assert Setting.of(given).words() == expected


def test_that_runs_of_a_setting_are_found_by_noise_and_depth_and_cold_starts_are_preferred():
    data = rectangles(40, 30)
    base = RunSpec(data.fingerprint, svm=SvmParameters(widths="median", C=1.0))

    def line(noise, depth, **change):
        return StoredRun.of(run(data, replace(base, stack=StackParameters(noise=noise, depth=depth), **change)))

    lines = [line(0.2, 1), line(0.4, 1), line(0.2, 0), line(0.2, 1, training="split"), line(0.2, 1, labels=20)]
    warm = replace(lines[0], hash="warm", setting=json.dumps({**json.loads(lines[0].setting or ""), "warm": True}))
    setting = Setting.of(replace(base, stack=StackParameters(noise=0.2, depth=1)).checked())
    known = known_results(setting, [base], [lines[0], warm, *lines[1:]])
    assert {place: tuple(runs) for place, runs in known.items()} == {
        (0.2, 1): (lines[0].hash,),
        (0.4, 1): (lines[1].hash,),
        (0.2, 0): (lines[2].hash,),
        (0.4, 0): (lines[2].hash,),
    }
    assert known[0.2, 1][lines[0].hash].row_errors == lines[0].row_errors is not None
    assert known_results(setting, [replace(base, fingerprint="cd" * 32)], lines) == {}
    assert known_results(setting, [base], [replace(lines[0], noise=2.0), replace(lines[0], depth=99)]) == {}


ADDED = [column.name for column in COLUMNS if column.added]
DROPPED = [f"ALTER TABLE runs DROP COLUMN {name}" for name in ADDED]
STORED_DATA = rectangles(60, 60)
STORED_RESULT = run(STORED_DATA, spec(STORED_DATA, method="raw-svm", widths="median", C=1.0))


def made_by(version):
    return replace(STORED_RESULT, versions=tuple((dict(STORED_RESULT.versions) | {"numerics": version}).items()))


OLD = made_by("1-0123abcd")


@pytest.fixture
def path(tmp_path):
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(OLD)
    return tmp_path / "runs.sqlite"


def test_that_a_run_records_its_results_version():
    assert dict(STORED_RESULT.versions)["numerics"] == str(RESULTS_VERSION)
    assert STORED_RESULT.is_current
    assert STORED_RESULT.hash == STORED_RESULT.spec.hash
    assert len({STORED_RESULT.hash, OLD.hash, made_by("1-0123abce").hash, made_by(f"{RESULTS_VERSION}+0123").hash}) == 4


def test_that_a_run_of_another_version_is_listed_and_read_but_computed_again(path):
    with RunStore(path) as store:
        (line,) = store.runs()
        assert (line.hash, line.numerics, line.error) == (OLD.hash, "1-0123abcd", OLD.error)
        again = store.load(OLD.hash)
        assert same_numbers(again, OLD)
        assert (again.numerics, again.hash) == (OLD.numerics, OLD.hash)
        assert store.check().faults == {}
        with pytest.raises(KeyError):
            store.take(STORED_RESULT.spec)
        assert STORED_RESULT.spec.hash not in store
        assert run_sweep(STORED_DATA, [SweepPoint(0.0, 0, 0, 0, STORED_RESULT.spec)], store).faults == ()
        assert sorted(line.is_current for line in store.runs()) == [False, True]
        assert store.take(STORED_RESULT.spec).is_current


def test_that_the_words_of_earlier_stores_on_held_out_rows_are_read_as_data(tmp_path):
    path, held_out = tmp_path / "runs.sqlite", HeldOut(0.25, 3)
    data = divide(replace(STORED_DATA, test=STORED_DATA.test[:0], test_labels=STORED_DATA.test_labels[:0]), held_out)
    result = run(data, replace(spec(data, method="raw-svm", widths="median", C=1.0), held_out=held_out))
    with RunStore(path) as store:
        store.save(STORED_RESULT)
        store.save(result)
    execute(path, f"UPDATE runs SET held_out = CASE hash WHEN '{result.hash}' THEN '{held_out}' ELSE '' END")
    for read_only in (False, True):
        with RunStore(path, read_only=read_only) as store:
            assert {line.held_out for line in store.runs()} == {None, held_out}
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
            store.save(replace(STORED_RESULT, spec=replace(STORED_RESULT.spec, training="split", split=split)))
    execute(path, "ALTER TABLE runs ADD COLUMN half REAL NOT NULL DEFAULT 0.1", "PRAGMA user_version = 1", *DROPPED)
    return path


def test_that_the_columns_of_an_earlier_store_are_filled_except_for_damaged_runs(old):
    before, expected = old.read_bytes(), (STORED_RESULT.classifier.C, STORED_RESULT.classifier.n_support)
    with RunStore(old, read_only=True) as store:
        assert [line.C for line in store.runs()] == [None, None]
        assert store.check().faults == {}
        damaged = store.runs()[0].hash
    assert old.read_bytes() == before
    next(iter(store.folder.glob(f"{damaged[:16]}-*"))).unlink()
    with RunStore(old) as store:
        assert [(line.C, line.n_support) for line in store.runs()] == [(None, None), expected]
        assert list(store.check().faults) == [damaged]
        store.save(STORED_RESULT)
        store._db.write(f"UPDATE runs SET {', '.join(f'{name} = NULL' for name in ADDED)}")  # as earlier versions do
        assert [line.n_support for line in store.runs()] == [None, None, None]
        assert same_numbers(store.load(STORED_RESULT.spec.hash), STORED_RESULT)
    with closing(sqlite3.connect(old)) as database:
        assert [half for (half,) in database.execute("SELECT half FROM runs ORDER BY half")] == [0.0, 0.1, 0.1]


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
    "change", ["numerics = '1'", f"numerics = '{RESULTS_VERSION}'", f"hash = '{STORED_RESULT.hash}'", "numerics = 3"]
)
def test_that_a_run_of_another_version_than_its_row_names_is_damaged(path, change):
    execute(path, f"UPDATE runs SET {change}")
    with RunStore(path) as store:
        assert len(store.check().faults) == 1
        with pytest.raises(DataError):
            store.load(OLD.hash if "hash" not in change else STORED_RESULT.hash)


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
        assert store.save_intact(tmp_path / "new.sqlite") == 3
    assert [(line.method, line.noise, line.n_support, line.tags, line.deleted) for line in lines] == [
        ("slide-svm", 0.4, 40, ("first", "of all"), False),
        ("raw-svm", 0.0, 40, (), False),
        ("slide-svm", 0.2, 40, (), True),
    ]
    assert {(run.data, run.generated, run.title) for run in lines} == {("Rectangles", True, "Rectangles (generated)")}
    assert {(result.dataset, result.generated) for result in results} == {("Rectangles", True)}
    with RunStore(tmp_path / "new.sqlite") as store:
        assert store.runs(deleted=True) == lines
        assert store.check().faults == {}
