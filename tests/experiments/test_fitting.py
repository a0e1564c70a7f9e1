"""Runs with equal pre-training share autoencoders, and widths are selected by a grid or from a neighbour."""

from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import adjusted, median_width_search
from slide_gui.core.svm.training import TrainingSet
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs.fitting import Networks, Tuned, pretrained, train_svm
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.runs.splits import stratified_sample
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import layers
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 30)
DEEP = SdaParameters((8, 5), pretraining_epochs=2, fine_tuning_epochs=3, fine_tuning_rate=0.025).checked()
CODES = DATA.train_labels


@pytest.fixture
def trainings(monkeypatch):
    """Return the parameters of each pre-training, in order."""
    made = []

    def counted(rows, parameters, *, progress=NO_PROGRESS):
        made.append(parameters)
        return pretrained(rows, parameters)

    monkeypatch.setattr(fitting, "pretrained", counted)
    return made


def test_that_shallower_autoencoders_are_the_first_layers_of_deeper_ones(trainings):
    known = Networks()
    both = known.pretrained(DATA, DEEP)
    one = known.pretrained(DATA, replace(DEEP, n_units=(8,)).checked())
    assert len(trainings) == 1
    assert one.seconds == both.seconds[:1]
    assert 0.0 < both.seconds[0] < both.seconds[1]
    assert one.sda.layers == both.sda.layers[:1]


def test_that_parameters_of_fine_tuning_need_no_new_pretraining(trainings):
    known = Networks()
    known.pretrained(DATA, DEEP)
    for change in ({"fine_tuning_rate": 0.01}, {"fine_tuning_epochs": 9}, {"patience": 3}, {"noise": (0.25, 0.25)}):
        known.pretrained(DATA, replace(DEEP, **change).checked())
    assert len(trainings) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"n_units": (8, 6)},
        {"n_units": (8, 5, 4)},
        {"noise": (0.25, 0.3)},
        {"pretraining_rate": 0.01},
        {"pretraining_epochs": 3},
        {"batch_size": 10},
        {"seed": 1},
    ],
)
def test_that_other_parameters_need_a_new_pretraining(trainings, change):
    known, other = Networks(), replace(DEEP, **change).checked()
    known.pretrained(DATA, DEEP)
    found = known.pretrained(DATA, other)
    assert len(trainings) == 2
    assert len(found.sda.layers) == len(other.n_units)
    assert found.sda.parameters.pretraining_rate == other.pretraining_rate
    known.pretrained(rectangles(60, 30, seed=1), other)
    assert len(trainings) == 3


def test_that_the_last_24_of_each_kind_are_kept(trainings):
    known = Networks()
    quick = replace(DEEP, n_units=(2,), pretraining_epochs=0, fine_tuning_epochs=0)
    for seed in (*range(25), *range(1, 25), 0):
        known.pretrained(DATA, replace(quick, seed=seed))
    assert [parameters.seed for parameters in trainings] == [*range(25), 0]
    features, rows = pretrained(DATA.train, quick), np.arange(60)
    tuned = [
        known.fine_tuned(features, DATA, CODES, rows, rows[:0], _spec(sda=quick, seed=seed), NO_PROGRESS)
        for seed in (*range(25), *range(1, 25), 0)
    ]
    assert [one is other for one, other in zip(tuned[1:25], tuned[25:49], strict=True)] == [True] * 24
    assert tuned[-1] is not tuned[0]


def test_that_values_are_scaled_to_the_unit_range_of_the_training_rows():
    rows = (DATA.train * 4 - 1).astype(np.float32)
    features = pretrained(rows, DEEP)
    assert features.limits == (-1.0, 3.0)
    np.testing.assert_allclose(features.transform(rows)[:, :64], DATA.train, atol=1e-6)
    np.testing.assert_allclose(features.transform(rows), pretrained(DATA.train, DEEP).transform(DATA.train), atol=1e-5)


def _spec(**changes):
    return RunSpec(DATA.fingerprint, method="sda", training="split", **{"sda": DEEP, **changes}).checked()


def test_that_a_fine_tuned_network_is_shared_by_runs_with_equal_training():
    features, known = pretrained(DATA.train, DEEP), Networks()
    rows, held_out = np.arange(48), np.arange(48, 60)

    def of(spec):
        return known.fine_tuned(features, DATA, CODES, rows, held_out, spec, NO_PROGRESS)

    first = of(_spec())
    assert of(_spec(evaluate="validation")) is first
    assert of(_spec(test_rows=10)) is first
    assert of(_spec(seed=1)) is not first
    oracle = fine_tune(features.sda, DATA.train[:48], CODES[:48], 2, DATA.train[48:], CODES[48:], DEEP)
    np.testing.assert_array_equal(first.network.weights, oracle.weights)
    assert first.network.history.epochs[-1].validation_error is not None
    assert first.seconds > 0.0
    whole = known.fine_tuned(features, DATA, CODES, np.arange(60), held_out[:0], _spec(seed=2), NO_PROGRESS)
    assert whole.network.history.epochs[-1].validation_error is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_decisions_are_log_probabilities_or_for_two_classes_their_difference(n_classes):
    data = rectangles(60, 30, n_classes=n_classes)
    codes = data.train_labels
    network = fine_tune(pretrain(data.train, DEEP), data.train, codes, n_classes, parameters=DEEP)
    found = Tuned(network, (0.0, 1.0), 1.0)
    classes, decisions = found.answer(data.test, NO_PROGRESS)
    scores = network.scores(data.test)
    np.testing.assert_array_equal(classes, scores.argmax(axis=1))
    if n_classes == 2:
        np.testing.assert_allclose(decisions[:, 0], scores[:, 1] - scores[:, 0], rtol=1e-6)
        np.testing.assert_array_equal(classes, decisions[:, 0] > 0)
    else:
        np.testing.assert_array_equal(decisions, scores)


Z, CLASSES = layers(90)


def test_that_a_grid_is_searched_on_a_stratified_sample(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_ROWS", 50)
    asked = spec(DATA, method="median", seed=3)
    own = replace(asked, svm=replace(asked.svm, retune_rows=50))
    found = train_svm(Z, CLASSES, (4, 3, 5), own, None, NO_PROGRESS).trained
    rows = np.sort(stratified_sample(CLASSES, 50, 3))
    grid = median_width_search(TrainingSet(Z[rows], CLASSES[rows], (4, 3, 5)), SvmParameters(seed=3))
    assert found.grid == grid.grid
    assert (found.widths, found.C) == (pytest.approx(grid.widths), grid.C)
    assert found.medians == pytest.approx(median_distances(Z, (4, 3, 5), seed=3))
    own = replace(own, svm=replace(own.svm, retune_rows=90))
    again = train_svm(Z, CLASSES, (4, 3, 5), own, None, NO_PROGRESS).trained
    tuned = adjusted(TrainingSet(Z, CLASSES, (4, 3, 5)), grid, own.svm)
    assert (again.widths, again.C) == (pytest.approx(tuned.widths), tuned.C)
    assert found.support.max() >= 50
    assert found.history == ()


def test_that_a_run_starts_where_its_neighbour_ended_scaled_by_the_medians(monkeypatch):
    def started(rows, near):
        """Return the parameters and the start that are passed to the fit, without fitting."""
        fit = MagicMock(side_effect=Cancelled)
        monkeypatch.setattr(fitting, "fit_svm", fit)
        with pytest.raises(Cancelled):
            train_svm(rows, CLASSES, (4, 4), spec(DATA), near, NO_PROGRESS)
        return fit.call_args.args[2], fit.call_args.kwargs["start"]

    near = run(DATA, spec(DATA, noise=0.3))
    own = near.classifier
    rows = np.hstack((Z[:, :4], 2.0 * Z[:, 4:8]))  # squared distances of the second layer become four times as large
    medians = median_distances(rows, (4, 4))
    for first in (float(medians[0]), 0.0):
        known = replace(own, medians=(first, float(medians[1]) / 4.0), widths=(3.0, 5.0))
        parameters, start = started(rows, replace(near, classifier=known))
        assert parameters.near == (pytest.approx((3.0, 10.0)), own.C)
        np.testing.assert_array_equal(start.coefficients, own.coefficients)
        np.testing.assert_array_equal(start.support, own.support)
    parameters, start = started(rows, None)
    assert (parameters.near, start) == (None, None)
