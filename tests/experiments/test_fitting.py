"""Runs share autoencoders and select widths; methods of this program’s own."""

import json
from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from slide_gui import MultiWidthSVC
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.slide.stack import fit_stack
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import adjusted, median_width_search
from slide_gui.core.svm.training import TrainingSet
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.experiments.files.model_file import trained_model
from slide_gui.experiments.inspection.decision import Decider
from slide_gui.experiments.runs import fitting
from slide_gui.experiments.runs import run as run_module
from slide_gui.experiments.runs.fitting import Networks, Reuse, Tuned, pretrained, shared_networks, train_svm
from slide_gui.experiments.runs.run import live_spec, restore, run
from slide_gui.experiments.runs.spec import RunSpec, describe_spec, on_every_fold
from slide_gui.experiments.runs.splits import Classes, RunData, divide, stratified_sample
from slide_gui.experiments.store.store import RunStore, get_or_run
from slide_gui.experiments.store.stored_run import Setting
from slide_gui.figures.run_figures import widths_csv
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import StopAfter, layers
from tests.experiments.tiny import rectangles, same_numbers, spec, with_wrong_labels

DATA = rectangles(60, 30)
DEEP = SdaParameters((8, 5), pretraining_epochs=2, fine_tuning_epochs=3, fine_tuning_rate=0.025).checked()
CODES = DATA.train_labels


@pytest.fixture
def trainings(monkeypatch):
    """Return the parameters of each pre-training, in order."""
    made = []
    monkeypatch.setattr(fitting, "pretrained", lambda rows, each, **_: made.append(each) or pretrained(rows, each))
    return made


def test_that_shallower_autoencoders_are_the_first_layers_of_deeper_ones_and_fine_tuning_needs_no_new_ones(trainings):
    known = Networks()
    both = known.pretrained(DATA, DEEP)
    one = known.pretrained(DATA, replace(DEEP, n_units=(8,)).checked())
    assert len(trainings) == 1
    assert one.seconds == both.seconds[:1]
    assert 0.0 < both.seconds[0] < both.seconds[1]
    assert one.sda.layers == both.sda.layers[:1]
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
    known.pretrained(rectangles(60, 30, seed=1), other)
    assert len(trainings) == 3


def test_that_runs_share_networks_whose_first_layers_are_trained_alike_on_the_same_rows():
    def key(n_units=(8, 5), noise=(0.25, 0.1), **changes):
        sda = replace(DEEP, n_units=n_units, noise=noise)
        return shared_networks(RunSpec("ab" * 32, method="sda", sda=sda, training="split", **changes).checked())

    assert key() == key((8, 4), (0.25, 0.3)) == key((8,), (0.25,)) == key(labels=30) == key(evaluate="validation")
    others = [key(noise=(0.1, 0.1)), key((9, 5)), key(split=1), key(seed=1), key(fit_rows="split")]
    others += [key(labels=labels, fit_rows="labelled") for labels in (30, 40)]
    assert len({key(), *others}) == 8
    assert shared_networks(spec(DATA)) == ""


def test_that_the_last_24_of_each_kind_are_kept(trainings):
    known = Networks()
    quick = replace(DEEP, n_units=(2,), pretraining_epochs=0, fine_tuning_epochs=0)
    for seed in (*range(25), *range(1, 25), 0):
        known.pretrained(DATA, replace(quick, seed=seed))
    assert [parameters.seed for parameters in trainings] == [*range(25), 0]
    features = pretrained(DATA.train, quick)
    of_seed = [_data(np.arange(60), np.arange(0), sda=quick, seed=seed) for seed in (*range(25), *range(1, 25), 0)]
    tuned = [known.fine_tuned(features, data, NO_PROGRESS) for data in of_seed]
    assert [one is other for one, other in zip(tuned[1:25], tuned[25:49], strict=True)] == [True] * 24
    assert tuned[-1] is not tuned[0]


def test_that_values_are_scaled_to_the_unit_range_of_the_training_rows():
    rows = (DATA.train * 4 - 1).astype(np.float32)
    features = pretrained(rows, DEEP)
    assert features.limits == (-1.0, 3.0)
    np.testing.assert_allclose(features.transform(rows), pretrained(DATA.train, DEEP).transform(DATA.train), atol=1e-5)


def _data(rows, validation, **changes):
    spec = RunSpec(DATA.fingerprint, method="sda", training="split", **{"sda": DEEP, **changes}).checked()
    return RunData(DATA, spec, Classes.of(DATA), rows, validation, rows)


def test_that_a_fine_tuned_network_is_shared_by_runs_with_equal_training():
    features, known = pretrained(DATA.train, DEEP), Networks()

    def of(**changes):
        return known.fine_tuned(features, _data(np.arange(48), np.arange(48, 60), **changes), NO_PROGRESS)

    first = of()
    assert of(evaluate="validation") is first
    assert of(test_rows=10) is first
    assert of(seed=1) is not first
    oracle = fine_tune(features.sda, DATA.train[:48], CODES[:48], 2, (DATA.train[48:], CODES[48:]), DEEP)
    np.testing.assert_array_equal(first.network.weights, oracle.weights)
    assert first.network.history.epochs[-1].validation_error is not None
    assert first.seconds > 0.0
    whole = known.fine_tuned(features, _data(np.arange(60), np.arange(0), seed=2), NO_PROGRESS)
    assert whole.network.history.epochs[-1].validation_error is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_decisions_are_log_probabilities_or_for_two_classes_their_difference(n_classes):
    data = rectangles(60, 30, n_classes=n_classes)
    network = fine_tune(pretrain(data.train, DEEP), data.train, data.train_labels, n_classes, parameters=DEEP)
    classes, decisions = Tuned(network, (0.0, 1.0), 1.0).predict(data.test, NO_PROGRESS)
    scores = network.scores(data.test)
    np.testing.assert_array_equal(classes, scores.argmax(axis=1))
    expected = scores[:, 1:].astype(np.float64) - scores[:, :1] if n_classes == 2 else scores
    np.testing.assert_array_equal(decisions, expected)


Z, CLASSES = layers(90)


def test_that_a_grid_is_searched_on_a_stratified_sample(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_ROWS", 50)
    asked = spec(DATA, method="median", seed=3)
    own, whole = replace(asked, svm=replace(asked.svm, retune_rows=50)), TrainingSet(Z, CLASSES, (4, 3, 5))
    found = train_svm(whole, own, None, NO_PROGRESS).trained
    rows = np.sort(stratified_sample(CLASSES, 50, 3))
    grid = median_width_search(TrainingSet(Z[rows], CLASSES[rows], (4, 3, 5)), SvmParameters(seed=3))
    assert found.grid == grid.grid
    assert (found.widths, found.C) == (pytest.approx(grid.widths), grid.C)
    assert found.medians == pytest.approx(median_distances(Z, (4, 3, 5), seed=3))
    own = replace(own, svm=replace(own.svm, retune_rows=90))
    again = train_svm(whole, own, None, NO_PROGRESS).trained
    tuned = adjusted(whole, grid, own.svm)
    assert (again.widths, again.C) == (pytest.approx(tuned.widths), tuned.C)
    assert found.support.max() >= 50


def test_that_a_run_starts_where_its_neighbour_ended_scaled_by_the_medians(monkeypatch):
    def started(rows, near):
        """Return the parameters and the start that are passed to the fit, without fitting."""
        fit = MagicMock(side_effect=Cancelled)
        monkeypatch.setattr(fitting, "fit_svm", fit)
        with pytest.raises(Cancelled):
            train_svm(TrainingSet(rows, CLASSES, (4, 4)), spec(DATA), near, NO_PROGRESS)
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


OWN_DATA = rectangles(90, 200)
BOTH, WITHOUT = {"method": "slide-white-svm", "kept": 0.8}, {"method": "slide-svm-without-input"}
OWN = pytest.mark.parametrize("own", [BOTH, WITHOUT], ids=["white", "without input"])


def columns_of(own, data: Dataset, asked: RunSpec):
    """Return a function from rows to the concatenated columns, and the sizes of the groups."""
    stack, d = fit_stack(data.train, asked.stack), data.n_features
    if own is WITHOUT:
        return lambda rows: stack.transform(rows)[:, d:], (d,) * asked.stack.depth
    white = PCA(0.8, svd_solver="covariance_eigh", whiten=True).fit(data.train.astype(np.float64))

    def both(rows):
        return np.hstack([stack.transform(rows), white.transform(rows.astype(np.float64)).astype(np.float32)])

    return both, (*(d,) * (asked.stack.depth + 1), white.n_components_)


@OWN
@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_learned_widths_are_those_of_a_multi_width_svm_on_the_columns_side_by_side(own, n_classes):
    data = rectangles(90, 200, n_classes=n_classes)
    asked = spec(data, 0.4, 2, **own)
    found = run(data, asked, progress=(listener := StopAfter()))
    assert listener.complete
    columns, sizes = columns_of(own, data, asked)
    oracle = MultiWidthSVC(groups=sizes, starts=1, random_state=0).fit(columns(data.train), data.train_labels)
    np.testing.assert_array_equal(found.classifier.widths, oracle.widths_)
    assert found.classifier.C == oracle.C_
    wrong = np.flatnonzero(oracle.predict(columns(data.test)) != data.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert len(found.spec.group_names) == len(sizes) == len(found.classifier.shares) == found.spec.svm.groups


@OWN
def test_that_median_widths_give_the_ordinary_svm_on_the_columns_divided_by_them(own):
    asked = spec(OWN_DATA, 0.4, 2, widths="median", C=10.0, loss="hinge", **own)
    found = run(OWN_DATA, asked)
    assert len(found.classifier.grid) > 1
    columns, sizes = columns_of(own, OWN_DATA, asked)
    divisor = np.repeat(found.classifier.widths, sizes)
    oracle = SVC(C=10.0, gamma=1.0, tol=1e-5).fit(columns(OWN_DATA.train) / divisor, OWN_DATA.train_labels)
    margins = oracle.decision_function(columns(OWN_DATA.test) / divisor)
    again = restore(OWN_DATA, found)
    np.testing.assert_allclose(again.model.scores(again.representation.transform(OWN_DATA.test)), margins, atol=2e-3)


def test_that_the_groups_are_named_and_depth_0_is_refused_only_without_the_input():
    assert spec(OWN_DATA, depth=2, **BOTH).group_names == ("h⁰", "h¹", "h²", "white")
    assert spec(OWN_DATA, depth=2, **WITHOUT).group_names == ("h¹", "h²")
    assert spec(OWN_DATA, depth=2).group_names == ("h⁰", "h¹", "h²")
    assert spec(OWN_DATA, depth=0, **BOTH).group_names == ("h⁰", "white")
    with pytest.raises(ValueError, match="omits the input h⁰; use at least one layer"):
        spec(OWN_DATA, depth=0, **WITHOUT)
    with pytest.raises(ValueError, match="kept is missing; slide-white-svm needs a fraction"):
        spec(OWN_DATA, method="slide-white-svm")


@OWN
def test_that_each_group_has_its_share_in_a_decision_and_in_the_table_of_widths(own, tmp_path):
    found = run(with_wrong_labels(OWN_DATA), spec(with_wrong_labels(OWN_DATA), 0.4, 2, **own))
    again = restore(with_wrong_labels(OWN_DATA), found)
    decider, names = Decider(again, OWN_DATA), found.spec.group_names
    features = again.representation.transform(OWN_DATA.test)
    for row, predicted in zip(range(0, 200, 20), again.model.predict(features)[::20], strict=True):
        decision = decider.decide(features[row])
        assert decision.first == predicted
        assert len(decision.shares) == len(names)
    widths_csv(tmp_path / "widths.csv", found)
    head = (tmp_path / "widths.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head.endswith(",".join(f"share {name}" for name in names))


@OWN
def test_that_a_live_estimate_takes_the_widths_of_runs_with_the_same_groups_only(own):
    near = run(OWN_DATA, spec(OWN_DATA, 0.4, 1, **own))
    assert live_spec(spec(OWN_DATA, 0.5, 1, **own), near).svm.widths == near.classifier.widths
    assert live_spec(spec(OWN_DATA, 0.5, 1), near).svm.widths == "median"


def five(data, **rows):
    """Return five members of different methods."""
    given = {"C": 1.0, "widths": "median", **rows}
    return [
        spec(data, 0.3, 1, **given), spec(data, 0.6, 2, **given), spec(data, method="raw-svm", **given),
        spec(data, **BOTH, **given), spec(data, 0.5, 2, **WITHOUT, **given),
    ]  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3])
def test_that_the_mean_margin_is_the_mean_of_the_decision_values_of_its_members(n_classes):
    data = with_wrong_labels(rectangles(90, 200)) if n_classes == 2 else rectangles(90, 200, n_classes=3)
    members = five(data, training="split")
    mean, reuse = RunSpec.mean_of(members), Reuse()
    found = run(data, mean, reuse=reuse, progress=(listener := StopAfter()))
    assert listener.complete
    values = []
    for member in members:
        again = restore(data, run(data, member))
        values.append(again.model.scores(again.representation.transform(data.test)))
    expected = np.mean(values, axis=0)
    predicted = (expected > 0).astype(int) if n_classes == 2 else expected.argmax(axis=1)
    wrong = np.flatnonzero(predicted != data.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    np.testing.assert_allclose(found.decisions, expected[wrong].reshape(len(wrong), -1), atol=1e-6)
    assert (found.classifier, found.validation_error is None) == (None, False)
    assert found.validation_loss >= 0.0
    assert (mean.stack, mean.method) == (members[0].stack, "mean-margin")
    assert set(reuse.results) == {each.hash for each in members}
    for name in ("fit", "widths", "train", "transform"):
        assert getattr(found.timings, name) == sum(getattr(reuse.results[each.hash].timings, name) for each in members)


def test_that_a_mean_margin_has_the_rows_of_its_members_in_every_draw_and_fold_and_a_hash_of_them_without_their_place():
    members = five(OWN_DATA, training="split")
    mean = RunSpec.mean_of(members)
    assert mean.drawn(3, 7) == RunSpec.mean_of([each.drawn(3, 7) for each in members])
    assert mean.on(training="whole").checked() == RunSpec.mean_of([replace(each, training="whole") for each in members])
    whole = divide(replace(OWN_DATA, test=OWN_DATA.test[:0], test_labels=None), HeldOut(folds=3))
    folds = on_every_fold(RunSpec.mean_of(five(whole)), whole)
    assert [each.held_out.fold for each in folds] == [0, 1, 2]
    assert {member.fingerprint == each.fingerprint for each in folds for member in each.members} == {True}
    assert Setting.from_text(Setting.of(mean).text).at(mean, 0.3, 1, 0, 0) == mean
    assert Setting.of(mean.drawn(1, 2)).text == Setting.of(mean).text
    assert RunSpec.mean_of([replace(each, source="elsewhere") for each in members]).hash == mean.hash
    assert RunSpec.mean_of(members[::-1]).hash != mean.hash
    assert RunSpec.from_document(json.loads(json.dumps(mean.document()))) == mean
    assert "mean of five, 5 averaged runs, the first with noise 1 − p = 0.30 (p = 0.70), depth 1" in describe_spec(mean)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (five(OWN_DATA)[:1], "averages 2 to 10 runs, not 1"),
        (five(OWN_DATA) * 2 + five(OWN_DATA)[:1], "not 11"),
        ([*five(OWN_DATA), spec(OWN_DATA, training="split")], "training differs between the averaged runs"),
        ([*five(OWN_DATA), spec(rectangles(50))], "fingerprint differs between the averaged runs"),
        ([*five(OWN_DATA), spec(OWN_DATA, method="sda")], "cannot average SdA, which is not a single SVM; leave it"),
        ([*five(OWN_DATA), RunSpec.mean_of(five(OWN_DATA))], "cannot average SLIDE-SVM, mean of five"),
    ],
)
def test_that_members_that_cannot_be_averaged_are_refused_in_one_sentence(members, message):
    with pytest.raises(ValueError, match=message):
        RunSpec.mean_of(members)


def test_that_members_are_refused_without_the_method_and_the_method_by_model_files():
    with pytest.raises(ValueError, match="no runs to average; give at least two runs"):
        RunSpec.mean_of([])
    with pytest.raises(ValueError, match="slide-svm does not average runs; use method mean-margin"):
        spec(OWN_DATA, members=tuple(five(OWN_DATA)))
    with pytest.raises(ValueError, match="store the method SLIDE-SVM, mean of five; use slide-svm, median or raw-svm"):
        trained_model(OWN_DATA, run(OWN_DATA, RunSpec.mean_of(five(OWN_DATA))))


def test_that_a_stored_mean_margin_has_the_place_of_its_first_member_and_trains_no_stored_member(tmp_path, monkeypatch):
    members = five(OWN_DATA)
    alone = run(OWN_DATA, RunSpec.mean_of(members))
    with RunStore(tmp_path / "runs.sqlite") as store:
        for each in members:
            get_or_run(OWN_DATA, each, store, progress=NO_PROGRESS)
        monkeypatch.setattr(run_module, "train_svm", None)
        found = get_or_run(OWN_DATA, RunSpec.mean_of(members), store, progress=NO_PROGRESS)
        row = next(line for line in store.runs() if line.hash == found.hash)
        assert same_numbers(store.load(row.hash), found)
    assert same_numbers(found, alone)
    assert (row.noise, row.depth, row.method_name) == (0.3, 1, "SLIDE-SVM, mean of five")
