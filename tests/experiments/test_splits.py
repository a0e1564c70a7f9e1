"""Splits and samples: stratified, seeded, never the first rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.data.errors import DataError
from slide_gui.experiments.splits import Classes, split_rows, stratified_order, stratified_sample
from tests.experiments.tiny import rectangles

SORTED = np.repeat([0, 1, 2], [600, 300, 100])  # as a test part sorted by label


def test_that_a_split_is_80_20_in_every_class_and_loses_no_row() -> None:
    inside, outside = split_rows(SORTED, 0, 0)
    assert np.bincount(SORTED[outside]).tolist() == [120, 60, 20]
    np.testing.assert_array_equal(np.sort(np.concatenate([inside, outside])), np.arange(1000))


def test_that_splits_differ_by_number_and_by_seed_and_come_again() -> None:
    parts = {(split, seed): tuple(split_rows(SORTED, split, seed)[1]) for split in range(3) for seed in range(3)}
    assert len(set(parts.values())) == 9
    assert parts[2, 1] == tuple(split_rows(SORTED, 2, 1)[1])


def test_that_every_beginning_of_the_order_has_the_classes_in_proportion() -> None:
    order = stratified_order(SORTED, 5)
    assert sorted(order) == list(range(1000))
    for size in (10, 50, 137, 500):
        counts = np.bincount(SORTED[order[:size]], minlength=3)
        np.testing.assert_allclose(counts, size * np.array([0.6, 0.3, 0.1]), atol=2.0)


def test_that_a_sample_is_not_the_first_rows_and_is_seeded() -> None:
    sample = stratified_sample(SORTED, 100, 0)
    assert sample.max() > 900
    assert not np.array_equal(sample, stratified_sample(SORTED, 100, 1))
    assert len(stratified_sample(SORTED, None, 0)) == 1000


def test_that_labels_are_numbered_those_only_in_the_test_part_last() -> None:
    data = rectangles(6, 4)
    labels, judged = np.array([7, -2, 7, 7, -2, -2]), np.array([5, 7, -2, 5])
    classes = Classes.of(replace(data, train_labels=labels, test_labels=judged))
    assert classes.labels == (-2, 7, 5)
    assert classes.train.tolist() == [1, 0, 1, 1, 0, 0]
    assert classes.test.tolist() == [2, 1, 0, 2]
    assert classes.n_train_classes == 2


def test_that_data_without_two_classes_are_refused() -> None:
    data = rectangles(6, 4)
    with pytest.raises(DataError, match="no labels"):
        Classes.of(replace(data, train_labels=None))
    with pytest.raises(DataError, match="label 3; a classifier needs two classes"):
        Classes.of(replace(data, train_labels=np.full(6, 3)))
