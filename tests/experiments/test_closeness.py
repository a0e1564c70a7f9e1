"""Distances within a class relative to those between classes, against their definition pair by pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import FittedModel, fit_model
from slide_gui.experiments.inspection.closeness import closeness
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles

DATA = rectangles(60, 30)
LABELS = DATA.test_labels


@pytest.fixture(scope="module")
def model() -> FittedModel:
    return fit_model(DATA, StackParameters(noise=0.4, depth=2))


def relative(layer: np.ndarray) -> dict[tuple[int, int], float]:
    """The relative distance of each pair of one class, rising, in one layer."""
    n = len(layer)
    squared = {(i, j): float(((layer[i] - layer[j]) ** 2).sum()) for i, j in combinations(range(n), 2)}
    width = np.median(list(squared.values()))
    distance = {pair: np.sqrt(2 - 2 * np.exp(-D / width)) for pair, D in squared.items()}

    def away(i: int) -> float:
        return float(np.mean([distance[min(i, j), max(i, j)] for j in range(n) if LABELS[j] != LABELS[i]]))

    return {(i, j): distance[i, j] / ((away(i) + away(j)) / 2) for i, j in squared if LABELS[i] == LABELS[j]}


def test_that_every_figure_is_that_of_the_pairs(model: FittedModel) -> None:
    data = replace(DATA, test=np.where(DATA.test > 0.5, np.float32(0.9), np.float32(0.3)))
    found = closeness(data, model)
    layers = model.stack.representations(data.test)
    expected = [relative(h.astype(np.float64)) for h in layers]
    lit = data.test > 0.5
    common = {(i, j): int((lit[i] & lit[j]).sum()) for i, j in expected[0]}
    few = [pair for pair in expected[0] if common[pair] <= max(2, min(common.values()))]
    best = min(few, key=lambda pair: expected[2][pair] / expected[0][pair])
    assert found.rows == best
    assert found.common == common[best]
    assert found.label == str(LABELS[best[0]])
    assert (found.n_few, found.n_all, found.n_rows) == (len(few), len(expected[0]), 30)
    assert 0 < len(few) < len(expected[0])
    np.testing.assert_allclose(found.pair, [each[best] for each in expected], rtol=1e-5)
    for t, each in enumerate(expected):
        np.testing.assert_allclose(found.all[:, t], np.percentile(list(each.values()), [10, 50, 90]), rtol=1e-5)
        np.testing.assert_allclose(found.few[:, t], np.percentile([each[p] for p in few], [10, 50, 90]), rtol=1e-5)
        np.testing.assert_allclose(found.layers[:, t], layers[t][list(best)], atol=1e-5)


def test_that_classes_have_their_names(model: FittedModel) -> None:
    found = closeness(replace(DATA, label_names=("wide", "tall")), model)
    assert found.label == ("wide", "tall")[int(LABELS[found.rows[0]])]


def test_that_400_of_many_rows_are_sampled_by_the_seed() -> None:
    many = rectangles(60, 450)
    fitted = fit_model(many, StackParameters(depth=1))

    first, again, other = (closeness(many, fitted, seed=seed) for seed in (0, 0, 1))
    assert first.n_rows == 400
    assert first.rows == again.rows
    np.testing.assert_array_equal(first.all, again.all)
    assert not np.array_equal(first.all, other.all)


def test_that_progress_rises_to_one_and_can_cancel(model: FittedModel) -> None:
    listener = StopAfter()
    closeness(DATA, model, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == 1.0
    with pytest.raises(Cancelled):
        closeness(DATA, model, progress=StopAfter(3))


def test_that_data_without_such_pairs_are_refused(model: FittedModel) -> None:
    for labels in (np.full(30, LABELS[0]), np.arange(30)):
        with pytest.raises(DataError, match="needs two test images of one class and one of another"):
            closeness(replace(DATA, test_labels=labels), model)
    with pytest.raises(DataError, match="no labels"):
        closeness(replace(DATA, test_labels=None), model)
