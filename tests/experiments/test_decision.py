"""Decisions on one image agree with the predictions of the model, and flips change the predicted class."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection import decision
from slide_gui.experiments.inspection.decision import Decider
from slide_gui.experiments.runs.run import restore, run
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, spec


@cache
def ready(n_classes):
    dataset = rectangles(n_classes=n_classes)
    restored = restore(dataset, run(dataset, spec(dataset, 0.4, 2, widths="median", C=10.0, training="split")))
    return dataset, restored, Decider(restored, dataset)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_each_decision_is_what_the_model_predicts(n_classes):
    dataset, restored, decider = ready(n_classes)
    features = restored.representation.transform(dataset.test)
    predicted, margins = restored.model.predict(features), restored.model.margins(features)
    pairs = list(combinations(range(n_classes), 2))
    for row in range(0, 300, 7):
        decision = decider.decide(features[row])
        assert decision.first == predicted[row]
        assert sum(decision.votes) == len(pairs)
        if n_classes == 3:  # with two classes a single vote decides
            assert [decision.votes[decision.first], decision.votes[decision.second]] == sorted(decision.votes)[:0:-1]
        for other in set(range(n_classes)) - {decision.first}:
            pair = min(decision.first, other), max(decision.first, other)
            towards = margins[row, pairs.index(pair)] * (1 if pair[1] == decision.first else -1)
            assert decision.margins[other] == pytest.approx(towards, abs=1e-4)
        assert (decision.margin, decision.margins[decision.first]) == (decision.margins[decision.second], 0.0)
        assert {each.code for each in decision.nearest} == {decision.first, decision.second}


def test_that_a_support_vector_pulls_by_its_signed_coefficient_times_its_kernel_value():
    dataset, restored, decider = ready(2)
    features = restored.representation.transform(dataset.test[:1])[0].astype(np.float64)
    trained = restored.representation.transform(dataset.train[decider.rows]).astype(np.float64)
    widths = np.array(restored.model.trained.widths)
    squares = ((trained - features) ** 2).reshape(len(trained), 3, 64).sum(axis=2) / np.square(widths)
    kernel = np.exp(-squares.sum(axis=1))
    decision = decider.decide(features)
    assert len(decision.nearest) == 6
    for side, code in enumerate((decision.first, decision.second)):
        of_class = np.sort(kernel[dataset.train_labels[decider.rows] == code])[::-1]
        assert [each.kernel for each in decision.nearest[side::2]] == pytest.approx(of_class[:3], rel=1e-4)
    for each in decision.nearest:
        place = int(np.flatnonzero(decider.rows == each.row)[0])
        assert each.code == dataset.train_labels[each.row]
        assert each.shares == pytest.approx(squares[place] / squares[place].sum(), abs=1e-4)
        assert (each.pull > 0) == (each.code == decision.first)
        signed = restored.model.trained.coefficients[0, place] * (1 if decision.first == 1 else -1)
        assert each.pull == pytest.approx(signed * kernel[place], rel=1e-3)
    assert sum(decision.shares) == pytest.approx(1.0)


def class_of(restored, image):
    return int(restored.model.predict(restored.representation.transform(image[None]))[0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_a_flip_changes_the_class_and_needs_all_of_its_changes(n_classes):
    dataset, restored, decider = ready(n_classes)
    counts = []
    for image in dataset.test[:12]:
        before, flip = class_of(restored, image), decider.flip(image)
        counts.append(len(flip.features))
        assert flip.code == class_of(restored, flip.image) != before
        changed = np.flatnonzero(flip.image != image)
        assert sorted(flip.features) == changed.tolist()
        assert (1 - image[changed]).tolist() == flip.image[changed].tolist()
        for feature in flip.features:
            assert class_of(restored, np.where(np.arange(64) == feature, image, flip.image)) == before
    assert max(counts) > 1


def test_that_one_change_is_found_if_one_is_enough_and_reported_as_the_fewest_and_the_search_can_be_cancelled():
    dataset, restored, decider = ready(2)
    for image in dataset.test[:25]:
        before, flip = class_of(restored, image), decider.flip(image)
        singles = [class_of(restored, np.where(one, 1 - image, image)) for one in np.eye(64, dtype=bool)]
        assert (len(flip.features) == 1) == (set(singles) != {before})
        assert flip.fewest == (len(flip.features) <= 2)
    with pytest.raises(Cancelled):
        decider.flip(dataset.test[0], StopAfter(1))


def test_that_later_changes_are_promising_or_towards_the_nearest_support_vector_of_the_other_class(monkeypatch):
    monkeypatch.setattr(decision, "_PROMISING", 0)
    dataset, restored, decider = ready(2)
    changes = []
    for image in dataset.test[:25]:
        flip = decider.flip(image)
        others = dataset.train[decider.rows[dataset.train_labels[decider.rows] != class_of(restored, image)]]
        nearest = others[np.square(others - image).sum(axis=1).argmin()]
        changed = list(flip.features)
        assert np.count_nonzero(flip.image[changed] != nearest[changed]) <= 1  # the first change is any pixel
        changes.append(len(changed))
    assert max(changes) > 2
    monkeypatch.setattr(decision, "MOST_CHANGES", 2)
    assert [len(decider.flip(image).features) for image in dataset.test[:25]] == [n if n <= 2 else 0 for n in changes]


def test_that_plain_features_are_changed_to_the_ends_of_their_own_ranges():
    dataset = rectangles()
    scaled = (dataset.train * np.linspace(1, 3, 64, dtype=np.float32) + 1, dataset.test)
    plain = Dataset("plain", *scaled, dataset.train_labels, dataset.test_labels, None)
    decider = Decider(restore(plain, run(plain, spec(plain, 0.4, 1, widths="median", C=10.0))), plain)
    low, high = plain.train.min(axis=0), plain.train.max(axis=0)
    for image in plain.train[:8]:
        flip = decider.flip(image)
        changed = list(flip.features)
        assert changed
        np.testing.assert_array_equal(flip.image[changed], np.where(image > (low + high) / 2, low, high)[changed])
