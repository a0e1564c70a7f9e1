"""A data set is immutable, checked, and identified by the fingerprint of its arrays."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError


def rows(n, d=6):
    return np.arange(n * d, dtype=np.float32).reshape(n, d)


def test_that_fingerprints_differ_exactly_if_the_data_differ():
    original = Dataset("a", rows(4), rows(2), np.arange(4), np.arange(2), (2, 3))
    others = [
        replace(original, train=rows(4) + 1),
        replace(original, test=rows(3), test_labels=np.arange(3)),
        replace(original, train_labels=np.arange(4)[::-1].copy()),
        replace(original, train_labels=None),
        replace(original, image_shape=(3, 2)),
        replace(original, image_shape=None),
        *(Dataset("a", np.ones((n, d), np.float32), np.ones((0, d), np.float32)) for n, d in ((2, 6), (3, 4), (4, 3))),
    ]
    assert replace(original, name="b", source="elsewhere").fingerprint == original.fingerprint
    assert len({each.fingerprint for each in (original, *others)}) == 1 + len(others)


def test_that_the_fingerprint_of_rows_without_labels_is_the_same_in_every_version():
    made = hashlib.sha256(b"None")
    for n in (4, 2):
        made.update(f"<f4({n}, 6)".encode() + rows(n).tobytes())
    made.update(b"nonenone")
    assert Dataset("a", rows(4), rows(2)).fingerprint == made.hexdigest()


def test_that_arrays_are_read_only():
    data = Dataset("a", rows(4), rows(2), np.arange(4), np.arange(2))
    for array in (data.train, data.test, data.train_labels, data.test_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"train": rows(0)}, "empty"),
        ({"train": rows(4).astype(np.float64)}, "float32"),
        ({"test": rows(2, 5)}, "5"),
        ({"train_labels": np.arange(3)}, "one for each of 4 rows"),
        ({"train": np.ones((4, 0), np.float32), "test": np.ones((2, 0), np.float32)}, "empty"),
        ({"train": rows(4).reshape(4, 2, 3)}, "found 3-D float32"),
        ({"test_labels": np.arange(3)}, "test labels: found .* one for each of 2 rows"),
        ({"feature_names": ("a", "b")}, "2 names for 6 features"),
        ({"image_shape": (2, 4)}, "6 pixels"),
    ],
)
def test_that_arrays_that_do_not_agree_are_refused(given, sentence):
    with pytest.raises(DataError, match=sentence):
        Dataset(**{"name": "a", "train": rows(4), "test": rows(2), **given})


@pytest.mark.parametrize(
    "split", [HeldOut(0.9), HeldOut(0.0), HeldOut(seed=2**32 - 1), HeldOut(folds=2, fold=1), HeldOut(folds=5, fold=0)]
)
def test_that_a_split_within_its_bounds_is_accepted(split):
    checked = split.checked()
    assert checked == replace(split, share=0.0 if split.folds else split.share)
    assert checked.checked() == checked


@pytest.mark.parametrize(
    ("split", "sentence"),
    [
        (HeldOut(0.91), "fraction held out is 0.91; give 0 to 0.9"),
        (HeldOut(-0.01), "fraction held out is -0.01"),
        (HeldOut(float("nan")), "fraction held out is nan"),
        (HeldOut(seed=2**32), "seed is 4294967296; give an integer"),
        (HeldOut(seed=-1), "seed is -1"),
        (HeldOut(seed=True), "seed is True"),
        (HeldOut(folds=1), "fold 1 of 1 does not exist; give 2 folds"),
        (HeldOut(folds=3, fold=3), "fold 4 of 3 does not exist; give 2 folds or more"),
    ],
)
def test_that_a_split_out_of_its_bounds_is_refused(split, sentence):
    with pytest.raises(ValueError, match=sentence):
        split.checked()


def test_that_rows_of_both_sets_and_repeated_training_rows_are_counted():
    train = np.array([[0, 1], [2, 3], [0, 1], [4, 5], [0, 1]], np.float32)
    test = np.array([[-0.0, 1], [4, 5], [1, 0]], np.float32)
    labels = np.array([0, 1, 0, 1, 0]), np.array([0, 1, 1])
    data = Dataset("d", train, test, *labels)
    assert data.n_repeated == (2, 2)
    assert [check.what for check in data.checks] == [
        "2 of 3 test rows also in the training set",
        "2 of 5 training rows equal to an earlier one",
    ]
    assert [check.sure for check in data.checks] == [False, True]
    assert Dataset("d", train, test, *labels, generated=True).checks == ()
    assert Dataset("d", train, test).checks == ()
    many = np.arange(42, dtype=np.float32).reshape(21, 2)
    few_shared = Dataset("d", train, np.vstack([train[:1], many + 10]), labels[0], np.zeros(22, np.int64))
    assert [check.sure for check in few_shared.checks] == [True, True]
    assert Dataset("d", train[1:4], test[2:]).checks == ()
