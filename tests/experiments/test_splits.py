"""Splits are stratified and seeded; the training rows alone determine how cells are filled and tables are scaled."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

from slide_gui import LinearImputer
from slide_gui.core import imputation
from slide_gui.core.svm.selection import fit_svm
from slide_gui.data.assemble import assemble, scaled_rows
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.readers.parts import DataPart
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.model_file import trained_model
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import on_every_fold
from slide_gui.experiments.runs.splits import (
    Classes,
    can_hold_out,
    divide,
    divided_as,
    split_rows,
    stratified_order,
    stratified_sample,
    subset,
    undivided,
    with_test_part,
)
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, spec

SORTED = np.repeat([0, 1, 2], [600, 300, 100])  # labels in order, as in a sorted file


def test_that_a_split_is_80_20_in_every_class_and_large_data_sets_have_10_000_validation_rows_and_train_on_all_others():
    _, outside = split_rows(SORTED, 0, 0)
    assert np.bincount(SORTED[outside]).tolist() == [120, 60, 20]
    inside, outside = split_rows(np.repeat([0, 1], [40_000, 20_000]), 3, 0)
    assert (len(inside), len(outside)) == (50_000, 10_000)


@pytest.mark.parametrize(
    ("groups", "n_folds"),
    [(None, 5), (np.arange(1000) % 30, 5), (np.arange(1000) % 3, 3), (2 * SORTED + np.arange(1000) % 2, 2)],
)
def test_that_five_splits_are_the_folds_of_one_cross_validation_and_the_next_five_those_of_another(groups, n_folds):
    folds = [split_rows(SORTED, split, 0, groups)[1] for split in range(10)]
    for first in (0, 5):
        assert np.sort(np.concatenate(folds[first : first + n_folds])).tolist() == list(range(1000))
    if n_folds == 5:  # few groups can be divided in one way only
        assert {tuple(fold) for fold in folds[:5]}.isdisjoint(tuple(fold) for fold in folds[5:])


@pytest.mark.parametrize("codes", [[0, 0], [0, 0, 1], [0, 0, 1, 1, 2]])
def test_that_a_handful_of_rows_has_validation_rows_in_every_split_which_loses_no_row(codes):
    for split in range(10):
        inside, outside = split_rows(np.array(codes), split, 0)
        assert len(outside) == 1
        assert sorted([*inside, *outside]) == list(range(len(codes)))


def test_that_each_split_number_and_seed_has_its_own_reproducible_split():
    parts = {(split, seed): tuple(split_rows(SORTED, split, seed)[1]) for split in range(3) for seed in range(3)}
    assert len(set(parts.values())) == 9
    assert parts[2, 1] == tuple(split_rows(SORTED, 2, 1)[1])


def test_that_every_beginning_of_the_order_has_the_classes_in_proportion_and_a_sample_is_seeded():
    order = stratified_order(SORTED, 5)
    assert sorted(order) == list(range(1000))
    for size in (10, 50, 137, 500):
        counts = np.bincount(SORTED[order[:size]], minlength=3)
        np.testing.assert_allclose(counts, size * np.array([0.6, 0.3, 0.1]), atol=2.0)
    for size in (100, None):
        np.testing.assert_array_equal(stratified_sample(SORTED, size, 5), order[:size])
    assert not np.array_equal(order, stratified_order(SORTED, 6))


def test_that_labels_are_numbered_with_those_of_the_test_set_alone_last_and_data_without_two_classes_refused():
    data = rectangles(6, 4)
    labels, judged = np.array([7, -2, 7, 7, -2, -2]), np.array([5, 7, -2, 5])
    classes = Classes.of(replace(data, train_labels=labels, test_labels=judged))
    assert classes.labels == (-2, 7, 5)
    assert classes.train.tolist() == [1, 0, 1, 1, 0, 0]
    assert classes.test.tolist() == [2, 1, 0, 2]
    with pytest.raises(DataError, match="no labels"):
        Classes.of(replace(data, train_labels=None))
    with pytest.raises(DataError, match="class 3; add rows of another class"):
        Classes.of(replace(data, train_labels=np.full(6, 3)))


def numbered(labels, n=0):
    """Return rows that contain their indices, without a test set."""
    n = n if labels is None else len(labels)
    rows = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
    known = None if labels is None else np.array(labels, np.int64)
    return Dataset("numbered", rows, rows[:0], known, None if known is None else known[:0])


def indices(rows):
    return (rows[:, 0] / 4).astype(int).tolist()


LABELS = st.lists(st.integers(-2, 3), min_size=2, max_size=60)


@settings(max_examples=60)
@given(LABELS, st.floats(0.05, 0.9), st.integers(0, 9))
def test_that_a_held_out_fraction_is_stratified_seeded_and_loses_no_row(labels, share, seed):
    whole, held_out = numbered(labels), HeldOut(share, seed)
    counts = {label: labels.count(label) for label in set(labels)}
    if round(share * len(labels)) == 0 or max(counts.values()) == 1:
        with pytest.raises(DataError, match="the training set or the test set would be empty"):
            divide(whole, held_out)
        return
    data = divide(whole, held_out)
    train, test = indices(data.train), indices(data.test)
    assert sorted(train + test) == list(range(len(labels)))
    assert train == sorted(train)
    assert test == sorted(test)
    assert data.train_labels.tolist() == [labels[place] for place in train]
    assert data.test_labels.tolist() == [labels[place] for place in test]
    assert len(test) == min(round(share * len(labels)), len(labels) - len(counts))
    for label, count in counts.items():
        assert data.train_labels.tolist().count(label) >= 1
        assert abs(data.test_labels.tolist().count(label) - share * count) <= len(counts) + 1
    assert np.array_equal(divide(numbered(labels), held_out).test, data.test)


@settings(max_examples=60)
@given(LABELS, st.integers(2, 8), st.integers(0, 9))
def test_that_folds_are_disjoint_cover_all_rows_and_are_stratified(labels, folds, seed):
    whole = numbered(labels)
    if folds > len(labels):
        with pytest.raises(DataError, match="fewer than the"):
            divide(whole, HeldOut(folds=folds, seed=seed))
        return
    parts = [divide(whole, each) for each in HeldOut(folds=folds, seed=seed).checked().each]
    tests = [indices(part.test) for part in parts]
    assert sorted(itertools.chain(*tests)) == list(range(len(labels)))
    assert max(map(len, tests)) - min(map(len, tests)) <= 1
    for label in set(labels):
        counts = [part.test_labels.tolist().count(label) for part in parts]
        assert max(counts) - min(counts) <= 1
    assert len({part.fingerprint for part in parts}) == folds
    assert {part.whole for part in parts} == {whole.fingerprint}


@settings(max_examples=30)
@given(LABELS, st.integers(0, 9))
def test_that_divided_data_can_be_joined_and_divided_differently(labels, seed):
    whole = numbered([*labels, 0, 0, 0, 0])
    one, other = HeldOut(0.5, seed), HeldOut(folds=3, fold=1, seed=seed)
    data = divide(whole, one)
    back = undivided(data)
    assert np.array_equal(back.train, whole.train)
    assert np.array_equal(back.train_labels, whole.train_labels)
    assert back.fingerprint == whole.fingerprint == replace(back).fingerprint
    assert np.array_equal(divide(data, other).test, divide(whole, other).test)
    expected = divide(whole, other).fingerprint
    assert divided_as(data, expected, other.checked()).fingerprint == expected
    assert divided_as(data, whole.fingerprint, None).held_out is None
    assert divided_as(data, "ab" * 32, other) is data


def test_that_data_with_a_test_set_or_without_classes_are_not_divided():
    for data in (rectangles(6, 4), numbered(None, 9), numbered([3] * 9), numbered([0, 1, 2])):
        assert not can_hold_out(data)
        assert with_test_part(data) is data
    with pytest.raises(DataError, match="already have a test set of 4 rows"):
        divide(rectangles(6, 4), HeldOut())
    assert divide(numbered([0, 1, 0, 1]), HeldOut(0.0)).held_out is None
    assert can_hold_out(numbered([0, 1, 0]))
    assert can_hold_out(divide(numbered([0, 1, 0]), HeldOut(0.4)))


def test_that_a_run_on_a_fold_equals_a_run_on_data_with_these_sets():
    whole = replace(rectangles(90, 0), test_labels=np.empty(0, np.int64))
    folds = [divide(whole, each) for each in HeldOut(folds=3).checked().each]
    for fold in folds:
        asked = replace(spec(fold, widths="median", C=1.0), held_out=fold.held_out).checked()
        here = run(folds[0], asked)  # with another fold of the same rows open
        parts = replace(fold, held_out=None, order=None, whole="")
        there = run(parts, spec(parts, widths="median", C=1.0))
        assert np.array_equal(here.confusion, there.confusion)
        assert np.array_equal(here.decisions, there.decisions)
        assert here.spec.held_out == fold.held_out
    with pytest.raises(DataError, match="differ from those of the run"):
        run(folds[0], replace(asked, fingerprint="ab" * 32))


def grouped(n_groups=60):
    """Return rows in groups of 1 to 9, two thirds of the groups of class 1; the first column is the group."""
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(n_groups), random.integers(1, 10, n_groups))
    groups = random.permutation(groups)
    rows = np.column_stack([groups, random.random(len(groups))]).astype(np.float32)
    return Dataset("grouped", rows, rows[:0], (groups % 3 > 0).astype(np.int64), np.empty(0, np.int64), groups=groups)


@pytest.mark.parametrize("held_out", [HeldOut(), HeldOut(0.4, 7), HeldOut(folds=5, fold=2), HeldOut(folds=12, fold=11)])
def test_that_no_held_out_group_has_a_training_row(held_out):
    whole = grouped()
    data = divide(whole, held_out)
    assert not set(data.train[:, 0]) & set(data.test[:, 0])
    assert data.groups.tolist() == data.train[:, 0].tolist()
    assert data.test_groups.tolist() == data.test[:, 0].tolist()
    share = 1 / held_out.folds if held_out.folds else held_out.share
    assert abs(len(data.test) / len(whole.train) - share) < 0.04
    if held_out.folds < 12:
        assert abs(data.test_labels.mean() - whole.train_labels.mean()) < 0.1
    back = undivided(data)
    assert back.groups.tolist() == whole.groups.tolist()
    assert back.train.tolist() == whole.train.tolist()


def test_that_folds_of_groups_hold_every_row_once_seeds_differ_and_a_single_group_cannot_be_divided():
    whole = grouped()
    tests = [divide(whole, each).test[:, 1] for each in HeldOut(folds=4).each]
    assert sorted(np.concatenate(tests)) == sorted(whole.train[:, 1])
    assert len({tuple(divide(whole, HeldOut(seed=seed)).test[:, 1]) for seed in range(5)}) == 5
    whole = replace(whole, groups=np.zeros(len(whole.train), np.int64))
    for share in (25, 75):
        with pytest.raises(DataError, match=rf"set would be empty \({share} % held out, seed 0\); use fewer folds"):
            divide(whole, HeldOut(share / 100))
    with pytest.raises(ValueError, match="too few groups to be split"):
        split_rows(whole.train_labels, 0, 0, whole.groups)


def test_that_validation_rows_of_a_run_are_of_other_groups_than_its_training_rows():
    data = divide(grouped(), HeldOut())
    for split in range(3):
        rows = {"training": "split", "evaluate": "validation", "split": split, "held_out": data.held_out}
        validation = run(data, spec(data, widths="median", C=1.0, **rows)).judged
        rest = np.setdiff1d(np.arange(len(data.train)), validation)
        assert not set(data.groups[validation]) & set(data.groups[rest])
        assert 0.1 < len(validation) / len(data.train) < 0.3


def test_that_a_run_selects_widths_and_C_on_other_groups(monkeypatch):
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(30), 5)
    rows = (random.normal(size=(30, 4))[groups] + 1e-3 * random.normal(size=(150, 4))).astype(np.float32)
    labels = random.permutation(np.arange(30) % 2)[groups].astype(np.int64)
    data = divide(Dataset("repeated", rows, rows[:0], labels, np.empty(0, np.int64), groups=groups), HeldOut())
    grid = run(data, replace(spec(data, method="raw-svm"), held_out=data.held_out)).classifier
    assert min(point.error for point in grid.grid) > 0.2  # each row has four nearly equal rows of its class
    passed = []
    monkeypatch.setattr(fitting, "fit_svm", lambda *a, **k: passed.append(k["row_groups"]) or fit_svm(*a, **k))
    run(data, replace(spec(data, training="split"), held_out=data.held_out))
    assert passed[0].tolist() == data.groups[split_rows(data.train_labels, 0, 0, data.groups)[0]].tolist()


DATA = rectangles(100, 60)


def test_that_a_subset_is_a_sorted_stratified_sample_of_each_set_and_its_source_reports_it():
    cut = subset(DATA, 40, 20)
    for name, n in (("train", 40), ("test", 20)):
        sample = np.sort(stratified_sample(getattr(DATA, f"{name}_labels"), n, 0))
        for field in (name, f"{name}_labels"):
            np.testing.assert_array_equal(getattr(cut, field), getattr(DATA, field)[sample])
    assert cut.source == f"{DATA.source} (40 of 100 training and 20 of 60 test rows)"
    assert (cut.name, cut.image_shape, cut.generated) == (DATA.name, DATA.image_shape, DATA.generated)
    for n_train, n_test in ((None, None), (100, 60), (200, 61)):
        assert subset(DATA, n_train, n_test) is DATA
    assert subset(DATA, 99, None).test is DATA.test
    assert subset(DATA, 100, 59).train is DATA.train


def incomplete_table(path, share=0.1, n=120, seed=0):
    """Write a table of 8 columns with missing cells and a class, and return the mask of these cells."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:n, :8], y[:n]
    missing = np.random.default_rng(seed).random(X.shape) < share
    lines = [",".join([*("NA" if gone else f"{v:.9g}" for v, gone in zip(x, mask, strict=True)), f"c{label}"])
             for x, mask, label in zip(X, missing, y, strict=True)]  # fmt: skip
    path.write_text("\n".join([",".join([*(f"f{k}" for k in range(8)), "class"]), *lines]) + "\n")
    return missing


@pytest.mark.parametrize("held_out", [None, HeldOut(folds=2, fold=1)])
def test_that_held_out_rows_are_filled_by_an_imputer_of_the_training_rows(tmp_path, held_out):
    missing = incomplete_table(tmp_path / "t.csv")
    data = DataSource(paths=(str(tmp_path / "t.csv"),), held_out=held_out).load()
    assert data.held_out is not None
    assert (data.missing == missing[data.order]).all()
    train, test = data.known_cells
    imputer = LinearImputer().fit(train)
    np.testing.assert_array_equal(data.train, imputer.transform(train))
    np.testing.assert_array_equal(data.test, imputer.transform(test))
    assert (data.test != LinearImputer().fit(np.concatenate([train, test])).transform(test)).any()
    assert np.isfinite(data.train).all()


def test_that_fingerprints_follow_the_file_and_not_the_filled_values(tmp_path):
    incomplete_table(tmp_path / "t.csv")
    opened = open_data([tmp_path / "t.csv"])
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    whole = divide(data, HeldOut(0.0))
    assert opened.fingerprint == data.whole == whole.fingerprint == undivided(data).fingerprint
    assert data.fingerprint == divide(whole, HeldOut()).fingerprint
    again = replace(whole, train=whole.train + np.where(whole.missing, np.float32(1e-6), np.float32(0)))
    assert again.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(divided_as(data, whole.fingerprint, None).train, whole.train)
    np.testing.assert_array_equal(divide(divide(data, HeldOut(0.5)), HeldOut()).test, data.test)
    incomplete_table(tmp_path / "t.csv", seed=1)
    assert open_data([tmp_path / "t.csv"]).fingerprint != opened.fingerprint


def test_that_the_report_names_the_number_and_the_columns_and_data_without_missing_cells_are_unchanged(tmp_path):
    incomplete_table(tmp_path / "t.csv", share=0.0)
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    assert data.missing is None
    assert data.known_cells[0] is data.train
    assert not any("missing" in guess.what for guess in data.checks)
    (tmp_path / "t.csv").write_text("a,b,c,class\n.1,,?,x\n.2,.3,,y\n.1,NaN,,y\n.3,.2,,x\n")
    data = DataSource(paths=(str(tmp_path / "t.csv"),), reading=ParseOptions(header=True)).load()
    (guess,) = (guess for guess in data.checks if "missing" in guess.what)
    assert guess.what == "6 of 12 cells are missing"
    assert guess.why.startswith("in columns “c” (4), “b” (2); a column without known cells is set to 0; filled from")
    assert (data.train[:, 2] == 0).all()


def test_that_images_of_integers_keep_their_divisor_and_scaled_columns_their_range(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8)).astype(np.float64)
    images[3, 2, 5], images[7, 0, 0] = np.nan, 255.0
    np.savez(tmp_path / "i.npz", X=images, y=np.arange(40) % 2)
    data = open_data([tmp_path / "i.npz"])
    assert np.nanmax(data.train) == 1.0
    assert np.argwhere(data.missing).tolist() == [[3, 21]]
    assert "in 1 pixel; " in next(guess.why for guess in data.checks if "missing" in guess.what)
    np.save(tmp_path / "n.npy", np.array([[1.0, 5.0], [np.nan, 7.0], [3.0, np.nan]]))
    data = open_data([tmp_path / "n.npy"], ParseOptions(scaled=True))
    np.testing.assert_array_equal(data.train, [[0, 0], [np.nan, 1], [1, np.nan]])


def test_that_a_test_file_is_filled_by_the_training_file(tmp_path):
    incomplete_table(tmp_path / "x_train.csv", share=0.0)
    missing = incomplete_table(tmp_path / "x_test.csv", share=0.3, n=30)
    data = DataSource(paths=(str(tmp_path / "x_train.csv"), str(tmp_path / "x_test.csv"))).load()
    assert not data.missing[:120].any()
    assert (data.missing[120:] == missing).all()
    np.testing.assert_array_equal(data.test, LinearImputer().fit(data.train).transform(data.known_cells[1]))
    some = subset(data, 20, 10)
    assert some.missing.shape == (30, 8)
    assert (np.isnan(some.known_cells[1]) == some.missing[20:]).all()


def test_that_too_many_patterns_are_refused_and_filling_can_be_cancelled(tmp_path, monkeypatch):
    incomplete_table(tmp_path / "t.csv")
    source = DataSource(paths=(str(tmp_path / "t.csv"),))

    with pytest.raises(Cancelled):
        source.load(progress=StopAfter(fraction=0.85))
    monkeypatch.setattr(imputation, "MOST_WORK", 1000)
    with pytest.raises(DataError, match=r"t: the missing cells form \d+ different patterns in 8 columns"):
        source.load()


def table(rows, scaled=True):
    """Assemble a table of rows with alternating classes."""
    part = DataPart(np.array(rows), np.arange(len(rows)) % 2, None, "table")
    return assemble([part], [Path("table.npy")], ParseOptions(scaled=scaled))


CELLS = st.integers(-9, 9) | st.sampled_from([np.nan, 1e6 + 0.25, -(2.0**70)])  # large values are often held out


@pytest.mark.parametrize("scale", [True, "quantile"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@given(
    npst.arrays(np.float64, st.tuples(st.integers(4, 14), st.integers(1, 4)), elements=CELLS),
    st.sampled_from([HeldOut(0.4, 3), *HeldOut(folds=3, seed=1).each]),
)
def test_that_a_divided_table_is_scaled_by_its_training_rows_alone(dtype, scale, rows, held_out):
    rows = (np.nan_to_num(rows) % 128 if dtype == np.int16 else rows).astype(dtype)
    assume(scale is True or len(rows) > 5)  # quantiles need three training rows
    whole = table(rows, scale)
    data = divide(divide(whole, HeldOut(0.5)), held_out)
    training = rows[data.order[: len(data.train)]]
    assume(not np.isnan(training).all(axis=0).any())
    method = MinMaxScaler() if scale is True else QuantileTransformer(n_quantiles=len(training))
    expected = method.fit(training.astype(np.float64)).transform(rows[data.order].astype(np.float64))
    scaled = np.concatenate(data.known_cells)
    np.testing.assert_allclose(scaled, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(scaled_rows(DataPart(rows[data.order], None, None, "new"), data.scaling), scaled)
    assert np.isfinite([*data.train, *data.test]).all()
    back = undivided(data)
    np.testing.assert_array_equal(back.known_cells[0], whole.train)
    np.testing.assert_array_equal(back.scaling, whole.scaling)
    assert replace(back).fingerprint == replace(whole).fingerprint == back.fingerprint


def test_that_dividing_a_table_by_quantiles_can_be_cancelled():
    with pytest.raises(Cancelled):
        divide(table([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], "quantile"), HeldOut(0.3), progress=StopAfter(1))


def test_that_only_divided_scaled_tables_have_other_fingerprints_than_in_earlier_versions():
    rows = np.random.default_rng(0).normal(size=(30, 3))
    for whole, differs in ((table(rows), True), (table(rows, scaled=False), False)):
        folds = [divide(whole, each) for each in HeldOut(folds=3).checked().each]
        for fold, asked in zip(folds, on_every_fold(spec(folds[0]), folds[0]), strict=True):
            assert fold.fingerprint == asked.fingerprint
            earlier = fold.held_out.fingerprint(whole.fingerprint)
            assert (fold.fingerprint != earlier) == differs
            assert (divided_as(folds[0], earlier, fold.held_out).fingerprint != earlier) == differs
            np.testing.assert_array_equal(divided_as(folds[0], fold.fingerprint, fold.held_out).test, fold.test)


def test_that_a_saved_model_has_the_scaling_of_its_run_whatever_rows_are_held_out():
    folds = [divide(table(np.random.default_rng(0).normal(size=(30, 3))), each) for each in HeldOut(folds=3).each]
    model = trained_model(folds[0], run(folds[1], spec(folds[1], widths="median", C=1.0, held_out=folds[1].held_out)))
    np.testing.assert_array_equal(model.scaling, folds[1].scaling)
    assert model.fingerprint == folds[1].fingerprint


def test_that_a_held_out_value_beyond_float32_after_scaling_is_refused():
    rows = np.array([[0.0], [1e-35], [0.0], [1e-35]])
    rows[divide(table(rows), HeldOut()).order[-1]] = 37587.0
    with pytest.raises(DataError, match="table: has values far beyond those of the training set; correct them"):
        divide(table(rows), HeldOut())
