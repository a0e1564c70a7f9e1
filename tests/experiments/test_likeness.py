import numpy as np
import pytest
from sklearn.datasets import load_digits

from slide_gui.experiments.inspection import likeness
from slide_gui.experiments.inspection.likeness import Likeness
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter


def digits():
    rows = (load_digits().data / 16).astype("float32")
    return rows[:1400], rows[1400:]


def drawn(side):
    """Return a cross over all of an image, and noise."""
    cross = np.fliplr(np.eye(side)) + np.eye(side) > 0
    noise = np.random.default_rng(0).random((20, side * side)) < 0.4
    return np.concatenate([cross.reshape(1, -1), noise]).astype("float32")


def test_that_about_one_new_digit_in_a_hundred_and_every_cross_or_noise_is_unlike():
    train, test = digits()
    rule = Likeness(train)
    assert np.mean([rule.is_unlike(image) for image in test]) < 0.04
    assert all(rule.is_unlike(image) for image in drawn(8))


def test_that_strokes_on_pixels_that_no_digit_lights_are_unlike():
    train, _ = digits()
    rule, image = Likeness(train), train[3].copy()
    assert not rule.is_unlike(image)
    image[train.max(axis=0) == 0] = 1
    assert rule.is_unlike(image)


def test_that_the_leverage_without_blas_is_that_of_the_equation_and_a_blank_image_is_unlike():
    train, _ = digits()
    ones = np.column_stack([train.astype(float), np.ones(len(train))])
    row = np.append(train[7], 1.0)
    expected = row @ np.linalg.solve(ones.T @ ones + np.eye(65), row)
    assert Likeness(train).leverage(train[7]) == pytest.approx(expected)
    assert Likeness(train).is_unlike(np.zeros(64, np.float32))


def test_that_many_features_are_not_compared_and_the_comparison_can_be_cancelled(monkeypatch):
    train, _ = digits()

    with pytest.raises(Cancelled):
        Likeness(train, StopAfter(1))
    monkeypatch.setattr(likeness, "_MOST_FEATURES", 10)
    assert not any(Likeness(train).is_unlike(image) for image in drawn(8))
