"""Data with missing cells open, and their cells are filled by an imputer fitted on the training rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from slide_gui import LinearImputer
from slide_gui.core import imputation
from slide_gui.data.dataset import HeldOut
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.splits import divide, divided_as, subset, undivided
from slide_gui.progress import Cancelled, Listener
from tests.experiments.tiny import spec


def _table(path, share=0.1, n=120, seed=0):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:n, :8], y[:n]
    missing = np.random.default_rng(seed).random(X.shape) < share
    lines = [",".join([*("NA" if gone else f"{v:.9g}" for v, gone in zip(x, mask, strict=True)), f"c{label}"])
             for x, mask, label in zip(X, missing, y, strict=True)]  # fmt: skip
    path.write_text("\n".join([",".join([*(f"f{k}" for k in range(8)), "class"]), *lines]) + "\n")
    return missing


def test_that_held_out_rows_are_filled_by_an_imputer_of_the_training_rows(tmp_path):
    missing = _table(tmp_path / "t.csv")
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    assert data.held_out is not None
    assert (data.missing == missing[data.order]).all()
    train, test = data.known_cells
    imputer = LinearImputer().fit(train)
    np.testing.assert_array_equal(data.train, imputer.transform(train))
    np.testing.assert_array_equal(data.test, imputer.transform(test))
    whole = LinearImputer().fit(np.concatenate([train, test]))
    assert (data.test != whole.transform(test)).any()
    assert np.isfinite(data.train).all()


def test_that_each_fold_is_filled_by_its_own_training_rows(tmp_path):
    _table(tmp_path / "t.csv")
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    for fold in range(2):
        part = divide(data, HeldOut(folds=2, fold=fold))
        train, test = part.known_cells
        np.testing.assert_array_equal(part.test, LinearImputer().fit(train).transform(test))
        assert np.isnan(test).any()


def test_that_fingerprints_follow_the_file_and_not_the_filled_values(tmp_path):
    _table(tmp_path / "t.csv")
    opened = open_data([tmp_path / "t.csv"])
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    whole = divide(data, HeldOut(0.0))
    assert opened.fingerprint == data.whole == whole.fingerprint == undivided(data).fingerprint
    assert data.fingerprint == divide(whole, HeldOut()).fingerprint
    again = replace(whole, train=whole.train + np.where(whole.missing, np.float32(1e-6), np.float32(0)))
    assert again.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(divided_as(data, whole.fingerprint, None).train, whole.train)
    np.testing.assert_array_equal(divide(divide(data, HeldOut(0.5)), HeldOut()).test, data.test)
    _table(tmp_path / "t.csv", seed=1)
    assert open_data([tmp_path / "t.csv"]).fingerprint != opened.fingerprint


def test_that_data_without_missing_cells_are_unchanged(tmp_path):
    _table(tmp_path / "t.csv", share=0.0)
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    assert data.missing is None
    assert data.known_cells[0] is data.train
    assert not any("missing" in guess.what for guess in data.checks)


def test_that_the_report_names_the_number_and_the_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,class\n.1,,?,x\n.2,.3,,y\n.1,NaN,,y\n.3,.2,,x\n")
    (guess,) = (guess for guess in open_data([tmp_path / "t.csv"]).checks if "missing" in guess.what)
    assert guess.what == "6 of 12 cells are missing"
    assert guess.why.startswith("in columns “c” (4), “b” (2); a column without known cells is set to 0; filled from")
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
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
    _table(tmp_path / "x_train.csv", share=0.0)
    missing = _table(tmp_path / "x_test.csv", share=0.3, n=30)
    data = DataSource(paths=(str(tmp_path / "x_train.csv"), str(tmp_path / "x_test.csv"))).load()
    assert not data.missing[:120].any()
    assert (data.missing[120:] == missing).all()
    np.testing.assert_array_equal(data.test, LinearImputer().fit(data.train).transform(data.known_cells[1]))
    some = subset(data, 20, 10)
    assert some.missing.shape == (30, 8)
    assert (np.isnan(some.known_cells[1]) == some.missing[20:]).all()


def test_that_a_run_on_filled_data_is_repeatable(tmp_path):
    _table(tmp_path / "t.csv")
    data = DataSource(paths=(str(tmp_path / "t.csv"),)).load()
    first = run(data, spec(data, method="raw-svm"))
    second = run(divide(data, HeldOut(0.0)), spec(data, method="raw-svm", held_out=data.held_out))
    assert first.rate == second.rate


def test_that_too_many_patterns_are_refused_and_filling_can_be_cancelled(tmp_path, monkeypatch):
    _table(tmp_path / "t.csv")
    source = DataSource(paths=(str(tmp_path / "t.csv"),))

    def cancel(fraction, _payload):
        if fraction > 0.85:
            raise Cancelled

    with pytest.raises(Cancelled):
        source.load(progress=Listener(cancel))
    monkeypatch.setattr(imputation, "MOST_WORK", 1000)
    with pytest.raises(DataError, match=r"t: the missing cells make \d+ different patterns in 8 columns"):
        source.load()
