"""Names, shapes and numbers are recognised as roles, images, classes or quantities."""

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from slide_gui.data.readers.parts import (
    integer_labels,
    looks_like_quantity,
    named_labels,
    quantile_ranges,
    role_of,
    square_shape,
)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("test.csv", "test"), ("convex_TEST.amat", "test"), ("t10k-images-idx3-ubyte.gz", "test"),
        ("testing_1.npy", "test"), ("train.csv", "train"), ("latest.csv", "train"), ("contest-data.npz", "train"),
        ("", "train"),
    ],
)  # fmt: skip
def test_that_a_test_set_is_recognised_by_a_word_of_its_name(name, role):
    assert role_of(name) == role


def test_that_squares_are_images_from_a_size_on():
    assert [square_shape(d) for d in (1, 783, 784, 785)] == [(1, 1), None, (28, 28), None]
    assert (square_shape(64, 64), square_shape(49, 64)) == ((8, 8), None)


def test_that_labels_are_integers_of_any_type_and_the_first_other_one_is_named():
    for values in (np.array([3, -2], np.int8), np.array([3.0, -2.0]), np.array([3, -2], np.float32)):
        labels = integer_labels(values, "here")
        assert labels.dtype == np.int64
        assert labels.tolist() == [3, -2]
    assert integer_labels(np.array([True, False]), "here").tolist() == [1, 0]
    assert integer_labels(np.array([2.0**31 - 1, 1 - 2.0**31]), "here").tolist() == [2**31 - 1, 1 - 2**31]
    for wrong in (0.5, np.nan, np.inf, 2.0**31, -(2.0**31)):
        with pytest.raises(DataError, match="label of row 3 is"):
            integer_labels(np.array([0.0, 1.0, wrong, wrong]), "here")
    with pytest.raises(DataError, match="labels are complex128, expected integers"):
        integer_labels(np.array([1j]), "here")


@pytest.mark.parametrize(
    "classes",
    [
        np.repeat(np.arange(50), 20),
        np.repeat(np.arange(40), 10),  # Olivetti faces
        np.repeat(np.arange(40), 3),
        np.repeat([65, 70, *range(97, 130)], 4),  # character codes of letters
        np.repeat(np.arange(1, 103), np.arange(40, 142)),  # numbered from 1, with unequal sizes
        np.arange(8),
        np.repeat(np.arange(10), 2),
        np.array([0.5, 1.5]),
    ],
)
def test_that_class_numbers_do_not_look_like_a_quantity(classes):
    assert not looks_like_quantity(np.random.default_rng(0).permutation(classes))


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    "quantity",
    [
        np.rint(RANDOM.gamma(3, 50, 442)),
        np.rint(RANDOM.normal(45, 12, 20_000)),  # ages: most values occur in many rows
        RANDOM.random(500),
        np.round(RANDOM.random(5_000), 2),
        RANDOM.permutation(500),
        np.rint(RANDOM.normal(50, 20, 30)),
        np.repeat(np.arange(40), 20) / 4,
    ],
)
def test_that_many_measured_numbers_look_like_a_quantity(quantity):
    assert looks_like_quantity(quantity)


def test_that_ranges_have_equally_many_values_and_are_named_by_their_limits():
    limits, names = quantile_ranges(np.arange(1, 301), 3, "here")
    assert limits.tolist() == [100, 200]
    assert names == ("up to 100", "above 100 to 200", "above 200")
    with pytest.raises(DataError, match="here: has too few different labels for 3 ranges"):
        quantile_ranges(np.array([0, 0, 0, 0, 1]), 3, "here")


def test_that_at_most_ten_thousand_texts_are_classes():
    texts = [f"class {k:05}" for k in range(10_001)]
    labels, names = named_labels(texts[:-1], "here")
    assert (labels[-1], len(names)) == (9_999, 10_000)
    with pytest.raises(DataError, match="here: has more than 10000 different class names"):
        named_labels(texts, "here")
