"""What names, shapes and numbers are taken for."""

from __future__ import annotations

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from slide_gui.data.readers.arrays import known_names, parts_from_named
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
        ("test.csv", "test"),
        ("convex_TEST.amat", "test"),
        ("t10k-images-idx3-ubyte.gz", "test"),
        ("testing_1.npy", "test"),
        ("train.csv", "train"),
        ("latest.csv", "train"),
        ("contest-data.npz", "train"),
        ("", "train"),
    ],
)
def test_that_a_test_part_is_told_by_a_word_of_its_name(name: str, role: str) -> None:
    assert role_of(name) == role


def test_that_squares_are_images_from_a_size_on() -> None:
    assert square_shape(784) == (28, 28)
    assert square_shape(785) is None
    assert square_shape(783) is None
    assert square_shape(1) == (1, 1)
    assert (square_shape(64, 64), square_shape(49, 64)) == ((8, 8), None)


def test_that_labels_are_whole_numbers_of_any_type_and_the_first_that_is_not_is_named() -> None:
    for values in (np.array([3, -2], np.int8), np.array([3.0, -2.0]), np.array([3, -2], np.float32)):
        found = integer_labels(values, "here")
        assert found.dtype == np.int64
        assert found.tolist() == [3, -2]
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
        np.repeat([65, 70, *range(97, 130)], 4),  # letters by their codes
        np.repeat(np.arange(1, 103), np.arange(40, 142)),  # from 1 and of unequal size
        np.arange(8),
        np.repeat(np.arange(10), 2),
        np.array([0.5, 1.5]),
    ],
)
def test_that_class_numbers_are_not_taken_for_a_quantity(classes: np.ndarray) -> None:
    assert not looks_like_quantity(np.random.default_rng(0).permutation(classes))


DRAWN = np.random.default_rng(0)


@pytest.mark.parametrize(
    "quantity",
    [
        np.rint(DRAWN.gamma(3, 50, 442)),
        np.rint(DRAWN.normal(45, 12, 20_000)),  # ages: most values in many rows
        DRAWN.random(500),
        np.round(DRAWN.random(5_000), 2),
        DRAWN.permutation(500),
        np.rint(DRAWN.normal(50, 20, 30)),
        np.repeat(np.arange(40), 20) / 4,
    ],
)
def test_that_many_measured_numbers_look_like_a_quantity(quantity: np.ndarray) -> None:
    assert looks_like_quantity(quantity)


def test_that_ranges_hold_equally_many_values_and_are_named_by_their_limits() -> None:
    limits, names = quantile_ranges(np.arange(1, 301), 3, "here")
    assert limits.tolist() == [100, 200]
    assert names == ("up to 100", "above 100 to 200", "above 200")
    with pytest.raises(DataError, match="here: has too few different labels for 3 ranges"):
        quantile_ranges(np.array([0, 0, 0, 0, 1]), 3, "here")


def test_that_ten_thousand_different_texts_are_classes_and_more_are_not() -> None:
    texts = [f"class {k:05}" for k in range(10_001)]
    labels, names = named_labels(texts[:-1], "here")
    assert (labels[-1], len(names)) == (9_999, 10_000)
    with pytest.raises(DataError, match="here: has more than 10000 different class names"):
        named_labels(texts, "here")


def test_that_names_say_part_and_kind_before_or_behind() -> None:
    names = ["X_train", "labels_train", "test_images", "TEST_Y", "other", "train_X_test"]
    assert known_names(names, "f") == {
        ("train", "rows"): "X_train",
        ("train", "labels"): "labels_train",
        ("test", "rows"): "test_images",
        ("test", "labels"): "TEST_Y",
    }
    assert known_names(["whatever"], "f") == {("", "rows"): "whatever"}
    assert known_names(["X", "y_test"], "f") == {("", "rows"): "X"}  # labels of rows that are not there
    with pytest.raises(DataError, match="contains both 'X' and 'data'; remove one of them"):
        known_names(["X", "data"], "f")
    for names, shown in (
        (["a", "y"], "a, y"),
        ([], "no arrays"),
        ([f"n{k}" for k in range(12)], "n0, n1, n10, n11, n2"),
    ):
        with pytest.raises(DataError, match=f"contains {shown}.*; name the arrays"):
            known_names(names, "f")


@pytest.mark.parametrize(("shape", "image"), [((5, 3, 4, 1), (3, 4)), ((5, 1, 3, 4), (3, 4)), ((5, 3, 4), (3, 4))])
def test_that_one_channel_is_none(shape: tuple[int, ...], image: tuple[int, int]) -> None:
    array = np.arange(60.0).reshape(shape)
    (part,) = parts_from_named({"X": array}, "f", "f.npz")
    assert part.image_shape == image
    np.testing.assert_array_equal(part.rows, np.arange(60.0).reshape(5, 12))


def test_that_plain_tables_of_a_square_number_of_features_are_images_from_64_on() -> None:
    for d, shape in ((64, (8, 8)), (49, None), (65, None)):
        (part,) = parts_from_named({"X": np.ones((2, d))}, "f", "f_test.npz")
        assert part.image_shape == shape
        assert part.role == "test"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": np.array([["a"]]), "y": np.ones(1)}, "has type <U1, expected real numbers"),
        ({"X": np.ones((2, 3, 4, 5))}, "has shape 2 × 3 × 4 × 5, expected"),
        ({"X": np.float64(1.0)}, r"has shape \(\), expected"),
        ({"X": np.ones((2, 9)), "y": np.ones((2, 2))}, "has shape 2 × 2, expected a vector of labels"),
        ({"X": np.ones((2, 9)), "y": np.ones(0)}, "has shape 0, expected a vector of labels"),
        ({"X": np.ones((2, 9)), "y": np.ones(3)}, "X has 2 rows but y 3 labels"),
    ],
)
def test_that_arrays_of_other_shapes_are_refused(arrays: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(DataError, match=said):
        parts_from_named(arrays, "f", "f.npz")


def test_that_labels_may_be_a_row_or_a_column() -> None:
    for shape in ((3,), (1, 3), (3, 1)):
        (part,) = parts_from_named({"X": np.ones((3, 9)), "y": np.arange(3.0).reshape(shape)}, "f", "f.npz")
        assert part.labels is not None
        assert part.labels.tolist() == [0, 1, 2]
