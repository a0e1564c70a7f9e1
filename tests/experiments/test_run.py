"""Runs of every method: correct results, the same bits with and without shared data, and clear refusals."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from slide_gui.core.baselines import Estimator
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.errors import DataError
from slide_gui.error_rate import ErrorRate, error_matrix
from slide_gui.experiments.runs import run as run_module
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import NetworkRecord, RunResult
from slide_gui.experiments.runs.run import ProgressCollector, predict_in_blocks, restore, run
from slide_gui.experiments.runs.spec import METHODS, describe_spec
from slide_gui.experiments.runs.splits import split_rows, stratified_sample
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.progress import Cancelled, Stage
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, same_numbers, spec, with_wrong_labels

DATA = rectangles()
THREE = rectangles(n_classes=3)


def test_that_a_run_is_the_textbook_svm_on_scaled_layers():
    asked = spec(DATA, 0.4, 2, widths=(3.0, 2.0, 1.5), C=10.0, loss="hinge")
    found = run(DATA, asked)
    stack = fit_stack(DATA.train, asked.stack)
    per_column = np.repeat([3.0, 2.0, 1.5], 64)
    oracle = SVC(C=10.0, gamma=1.0).fit(stack.transform(DATA.train) / per_column, DATA.train_labels)
    Z = stack.transform(DATA.test) / per_column
    wrong = np.flatnonzero(oracle.predict(Z) != DATA.test_labels)
    assert len(wrong) > 0
    np.testing.assert_array_equal(found.misclassified, wrong)
    np.testing.assert_allclose(found.decisions[:, 0], oracle.decision_function(Z[wrong]), atol=2e-2)
    assert found.error == len(wrong) / 300
    assert found.rate == ErrorRate.of_run(found.error, 300)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(DATA.test_labels, oracle.predict(Z)))
    np.testing.assert_array_equal(found.predicted, 1 - DATA.test_labels[wrong])


def test_that_the_time_left_uses_the_pace_of_the_phase_and_typical_times_of_later_ones_every_half_second(monkeypatch):
    clock, listener = SimpleNamespace(now=0.0), StopAfter()
    monkeypatch.setattr(run_module, "computing_time", lambda: clock.now)
    collector = ProgressCollector(listener, 4.0, 17.0)
    learning = collector.phase("learn", 10.0)
    learning.report(0.0)
    clock.now = 1.0
    learning.report(0.5, Stage("a"))
    clock.now = 1.4
    learning.report(0.6)
    clock.now = 1.5
    learning.report(0.6)
    # The logged steps took 4 s, and a fifth of the phase is assumed to have taken its typical time.
    # The later phases typically take 7 s, and as much more or less as the fourth root of the pace of this one.
    lefts = [6.0 / 0.2, 7.0 / 0.7 * 0.5, 7.5 / 0.8 * 0.4]
    first, second, fourth = (
        left + 7.0 * min((spent + left) / 10.0, 4.0) ** 0.25 for spent, left in zip((4.0, 5.0, 5.5), lefts, strict=True)
    )
    assert len(listener.fractions) == 4
    assert [state.seconds_left for state in listener.payloads] == pytest.approx([first, second, fourth])
    clock.now = 30.0
    testing = collector.phase("test", 5.0)
    clock.now = 33.0
    testing.report(0.5)
    left = (3.0 + 0.2 * 5.0 * 3.0**0.25) / 0.7 * 0.5
    assert listener.payloads[-1].seconds_left == pytest.approx(left + 2.0 * ((33.0 + left) / 15.0) ** 0.25)
    assert listener.fractions[-1] == pytest.approx(12.5 / 17.0)
    paces = [run_module._pace(*spent) for spent in ((0.05, 1.0), (9.0, 0.0), (0.06, 1.0), (9.0, 2.0), (6.0, 2.0))]
    assert paces == pytest.approx([1.0, 1.0, 0.25**0.25, 4.0**0.25, 3.0**0.25])


def test_that_the_split_determines_the_training_and_validation_rows_and_test_rows_are_a_stratified_sample():
    data = with_wrong_labels(DATA)
    found = run(data, spec(data, widths="median", C=10.0, training="split", evaluate="validation", split=2))
    inside, outside = split_rows(data.train_labels, 2, 0)
    np.testing.assert_array_equal(found.judged, outside)
    assert found.n_train == len(inside)
    assert found.error == found.validation_error > 0.0
    found = run(DATA, spec(DATA, widths="median", C=10.0, test_rows=100, seed=3))
    np.testing.assert_array_equal(found.judged, np.sort(stratified_sample(DATA.test_labels, 100, 3)))


def test_that_sharing_changes_no_bit_and_a_missing_neighbour_is_run_first():
    shared = Reuse(deepest=3)
    for noise in (0.2, 0.5):
        for depth in (0, 1, 2, 3):
            asked = spec(DATA, noise, depth, widths="median", C=10.0)
            assert same_numbers(run(DATA, asked, reuse=shared), run(DATA, asked))
    data = rectangles(40, 20)
    near = spec(data, 0.3)
    asked = spec(data, 0.4, neighbour=near)
    alone = run(data, asked, progress=(listener := StopAfter()))
    assert listener.complete
    shared = Reuse(results={near.hash: run(data, near)})
    assert same_numbers(alone, run(data, asked, reuse=shared))
    assert not same_numbers(alone, run(data, spec(data, 0.4)))
    start, history = alone.classifier.history[0], shared.results[near.hash].classifier
    np.testing.assert_allclose(start.shares, history.shares, atol=1e-6)


def test_that_a_convolution_uses_the_image_shape_of_the_data_on_any_rows():
    stack = {"sharing": "convolution", "window": 5}
    for changes in ({}, {"fit_rows": "labelled", "labels": 30}):
        asked = spec(DATA, widths="median", C=10.0, **changes)
        asked = replace(asked, stack=replace(asked.stack, **stack))
        assert describe_spec(asked).count("one kernel for all pixels, window 5") == 1
        assert same_numbers(run(DATA, asked), run(DATA, asked, reuse=Reuse(deepest=3)))
        (layer,) = restore(DATA, run(DATA, asked)).representation.layers
        np.testing.assert_allclose(layer.weights[27, 18:21], layer.weights[28, 19:22])
        table = replace(DATA, image_shape=None)
        with pytest.raises(ValueError, match="the features are not pixels"):
            run(table, replace(asked, fingerprint=table.fingerprint))


@pytest.mark.parametrize(("fit_rows", "n_rows"), [("labelled", 30), ("split", 96), ("training", 120)])
def test_that_the_stack_is_fitted_on_the_rows_of_the_spec(fit_rows, n_rows):
    asked = spec(DATA, widths="median", C=10.0, training="split", labels=30, fit_rows=fit_rows)
    again = restore(DATA, run(DATA, asked))
    of_split, _ = split_rows(DATA.train_labels, 0, 0)
    rows = {"labelled": again.rows, "split": of_split, "training": np.arange(120)}[fit_rows]
    assert (len(rows), len(again.rows)) == (n_rows, 30)
    (layer,) = fit_stack(DATA.train[rows], asked.stack).layers
    np.testing.assert_array_equal(again.representation.layers[0].weights, layer.weights)


def test_that_progress_rises_each_report_holds_the_earlier_ones_and_the_steps_last_as_long_as_the_run(monkeypatch):
    listener, data, clock = StopAfter(), with_wrong_labels(DATA), itertools.count()
    monkeypatch.setattr(run_module, "computing_time", lambda: float(next(clock)))
    found = run(data, spec(data, depth=2, training="split"), progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert found.timings.total == next(clock) - 1
    last = listener.payloads[-1]
    assert last.history == found.classifier.history
    assert (last.test.wrong, last.test.done) == (len(found.misclassified), 300)
    assert len(last.stack.layers) == 2
    assert last.validation.error == found.validation_error > 0.0
    assert {payload.phase for payload in listener.payloads} >= {"fit", "learn", "train", "validation", "test"}
    assert any(payload.training is not None for payload in listener.payloads)
    network = run(
        data, spec(data, method="sda", training="split", sda=SdaParameters((5,), 0.1, 0.005, 2)), progress=listener
    )
    assert listener.payloads[-1].epochs.epochs == network.network.epochs


def test_that_a_result_keeps_the_criterion_that_selected_its_widths():
    found = run(DATA, spec(DATA))
    chosen = found.classifier.chosen
    assert found.spec.svm.criterion == "auto"
    assert found.chosen_by == chosen.name == "span"
    assert RunResult.from_parts(json.loads(json.dumps(found.document())), found.arrays()).classifier.chosen == chosen
    assert StoredRun.of(found).chosen_by == "span"
    before = found.document()
    del before["classifier"]["chosen"]  # as earlier versions wrote it
    assert RunResult.from_parts(before, found.arrays()).chosen_by == ""
    assert run(DATA, spec(DATA, widths="median", C=10.0)).chosen_by == ""


@pytest.mark.parametrize("changes", [{}, {"method": "median"}])
def test_that_a_cancelled_run_continues_and_gives_the_same_bits(changes):
    wanted, reuse, counter = spec(DATA, **changes), Reuse(), StopAfter()
    whole = run(DATA, wanted, progress=counter)
    n = len(counter.fractions)
    for listener in (StopAfter(int(0.3 * n)), StopAfter(int(0.5 * n)), StopAfter(fraction=1.0 - 1e-9)):
        with pytest.raises(Cancelled):
            run(DATA, wanted, progress=listener, reuse=reuse)
    finished = reuse.logs[wanted.hash].seconds
    assert finished > 0.0
    again = StopAfter()
    continued = run(DATA, wanted, progress=again, reuse=reuse)
    assert same_numbers(continued, whole)
    assert len(again.fractions) < 0.8 * len(counter.fractions)
    assert {payload.seconds_before for payload in again.payloads} == {finished}
    assert continued.timings.widths > finished
    assert reuse.logs == {}


def test_that_test_rows_are_predicted_first_and_500_of_them_give_the_first_estimate():
    data, listener = rectangles(600, 1200), StopAfter()
    run(data, spec(data, training="split", widths="median", C=1.0), progress=listener)
    estimates = [each for each in listener.payloads if each.test is not None]
    assert (estimates[0].test.done, estimates[0].test.total) == (500, 1200)
    assert estimates[0].train is estimates[0].validation is None
    assert next(each for each in listener.payloads if each.train is not None).test.done == 1200


def test_that_wrong_data_are_refused():
    other = rectangles(seed=1)
    with pytest.raises(DataError, match=r"options for reading them \(such as .*differ from those of the run"):
        run(other, spec(DATA))
    no_test = replace(DATA, test=DATA.test[:0], test_labels=None)
    with pytest.raises(DataError, match="no test rows; hold out rows of the training file, or evaluate"):
        run(no_test, spec(no_test))
    unlabelled = replace(DATA, test_labels=None)
    with pytest.raises(DataError, match="the test rows have no labels; open the training set alone, or evaluate"):
        run(unlabelled, spec(unlabelled))
    assert run(no_test, spec(no_test, widths="median", C=1.0, training="split", evaluate="validation")).n_test == 24


@pytest.mark.parametrize("data", [DATA, THREE])
def test_that_a_test_class_never_trained_on_is_always_wrong_and_the_result_is_read_again(data):
    n_classes = len(np.unique(data.train_labels))
    data = replace(data, test_labels=np.where(np.arange(300) < 9, 5, data.test_labels))
    found = run(data, spec(data, widths="median", C=10.0))
    assert found.labels == (*range(n_classes), 5)
    predicted = (codes := np.searchsorted(found.labels, data.test_labels)).copy()
    predicted[found.misclassified] = found.predicted
    np.testing.assert_array_equal(found.confusion, confusion_matrix(codes, predicted, labels=range(n_classes + 1)))
    assert set(range(9)) <= set(found.misclassified.tolist())
    assert found.decisions.shape == (len(found.misclassified), 1 if n_classes == 2 else 3)
    assert same_numbers(RunResult.from_parts(found.document(), found.arrays()), found)


N = 13_000
PART = np.column_stack([np.arange(N), np.ones(N)])
CODES = (np.arange(N) % 3 + (np.arange(N) % 10 == 0)) % 3  # every tenth row is wrong


def test_that_rows_are_predicted_in_growing_blocks_of_the_order_and_returned_by_row():
    order, predicted, listener = np.random.default_rng(0).permutation(N), [], StopAfter()

    def parity(rows, _progress):
        """Return the first column, modulo three, as the class, and decision values that identify the row."""
        predicted.append(rows[:, 0].astype(int).tolist())
        return rows[:, 0].astype(np.intp) % 3, rows * np.array([1.0, 10.0])

    found = predict_in_blocks(parity, PART, CODES, order, progress=listener)
    np.testing.assert_array_equal(found.rows, np.arange(N))
    np.testing.assert_array_equal(found.truth, CODES)
    np.testing.assert_array_equal(found.predicted, found.rows % 3)
    np.testing.assert_array_equal(found.decisions, np.column_stack([found.rows, np.full(N, 10)]))
    np.testing.assert_array_equal(found.rows[found.wrong], found.rows[found.rows % 10 == 0])
    assert found.error == 0.1
    ends = [500, 1500, 3500, 7500, 11_500, N]
    blocks = [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert predicted == [sorted(block.tolist()) for block in blocks]
    assert [e.wrong for e in listener.payloads] == [int(np.sum(order[:end] % 10 == 0)) for end in ends]
    assert listener.payloads[-1].rate == ErrorRate.of_run(0.1, N)
    assert listener.fractions == [end / N for end in ends]


@pytest.mark.parametrize("data", [DATA, THREE])
def test_that_the_hinge_loss_is_the_mean_over_the_validation_rows(data):
    found = run(data, spec(data, widths="median", C=10.0, training="split"))
    again = restore(data, found, progress=(listener := StopAfter()))
    _, validation = split_rows(data.train_labels, 0, 0)
    assert listener.complete
    scores = again.model.scores(again.representation.transform(data.train[validation]))
    losses = []
    for label, score in zip(data.train_labels[validation], scores, strict=True):
        margin = (2 * label - 1) * score if score.ndim == 0 else score[label] - np.delete(score, label).max()
        losses.append(max(0.0, 1.0 - margin))
    assert found.validation_loss == pytest.approx(np.mean(losses), rel=1e-5)
    assert found.validation_loss > 0.0
    assert run(data, spec(data, widths="median", C=10.0)).validation_loss is None
    assert RunResult.from_parts(found.document(), found.arrays()).validation_loss == found.validation_loss


@pytest.mark.parametrize("data", [DATA, THREE])
def test_that_rows_of_a_class_that_is_wholly_held_out_do_not_count_in_the_hinge_loss(data):
    last = data.train_labels.max() + 1
    labels = np.where(np.arange(120) % 10 == 0, last, data.train_labels)
    data = replace(data, train_labels=labels, groups=np.where(labels == last, 0, 1 + np.arange(120) % 8))
    split = next(k for k in range(5) if last in labels[split_rows(labels, k, 0, data.groups)[1]])
    found = run(data, spec(data, widths="median", C=1.0, training="split", split=split))
    assert run(data, replace(found.spec, labels=40)).n_train == 40  # labels of the absent class are not required
    again, (_, validation) = restore(data, found), split_rows(labels, split, 0, data.groups)
    known = validation[labels[validation] < last]
    scores = again.model.scores(again.representation.transform(data.train[known]))
    scores = np.column_stack([-scores, scores]) / 2 if scores.ndim == 1 else scores
    true = np.arange(last) == labels[known][:, None]
    losses = np.maximum(0.0, 1.0 - (scores[true] - np.where(true, -np.inf, scores).max(axis=1)))
    assert found.validation_loss == pytest.approx(losses.mean(), rel=1e-5)


KNN = Estimator.of("neighbors.KNeighborsClassifier", {"n_neighbors": 3})


@pytest.mark.parametrize("method", METHODS)
def test_that_a_stored_run_is_read_to_the_bit_with_its_errors_by_row_and_its_classifier(method, tmp_path):
    given = {"widths": "median", "C": 1.0}
    if METHODS[method].projection is not None:
        given["kept"] = 20 if method == "randproj-svm" else 0.9
    elif METHODS[method].network:
        given["sda"] = SdaParameters((10,), pretraining_epochs=1, fine_tuning_epochs=1)
    elif METHODS[method].takes_parts:
        given |= {"classifier": KNN, "depth": 1}
    found = []
    with RunStore(tmp_path / "runs.sqlite") as store:
        for split in (0, 1):
            rows = {"split": split, "seed": split, "training": "split"}
            if METHODS[method].averages:
                given["members"] = tuple(spec(DATA, noise, widths="median", C=1.0, **rows) for noise in (0.3, 0.5))
            found.append(run(DATA, spec(DATA, method=method, **rows, **given)))
            store.save(found[-1])
        lines = store.runs()
        results = [store.load(line.hash) for line in lines]
    assert all(map(same_numbers, results, found))
    errors = error_matrix([line.row_errors for line in lines if line.row_errors is not None])
    assert errors.shape == (2, len(DATA.test))
    for row, line, result in zip(errors, lines, results, strict=True):
        assert np.array_equal(np.flatnonzero(row), result.misclassified)
        assert row.sum() == round(line.error * line.n_test)
        if result.classifier is not None:
            again = restore(DATA, result)
            predicted = again.model.predict(again.representation.transform(DATA.test))
            assert np.array_equal(np.flatnonzero(predicted != DATA.test_labels), result.misclassified)


def test_that_pca_svm_is_a_plain_svm_on_projections_fitted_on_the_whole_training_set():
    found = run(DATA, spec(DATA, method="pca-svm", kept=0.9, training="split", loss="hinge"))
    own = found.classifier
    assert (len(own.widths), len(own.grid)) == (1, 18)
    projection = PCA(0.9, svd_solver="full").fit(DATA.train)
    inside, _ = split_rows(DATA.train_labels, 0, 0)
    oracle = SVC(C=own.C, gamma=own.widths[0] ** -2).fit(
        projection.transform(DATA.train[inside]), DATA.train_labels[inside]
    )
    predicted = oracle.predict(projection.transform(DATA.test))
    assert abs(np.count_nonzero(predicted != DATA.test_labels) - len(found.misclassified)) <= 1


def test_that_a_classifier_of_scikit_learn_replaces_the_svm():
    asked = spec(DATA, 0.4, 2, method="custom", classifier=KNN)
    found = run(DATA, asked)
    Z = fit_stack(DATA.train, asked.stack)
    oracle = KNeighborsClassifier(3).fit(Z.transform(DATA.train), DATA.train_labels)
    wrong = np.flatnonzero(oracle.predict(Z.transform(DATA.test)) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert found.classifier is None
    with pytest.raises(ValueError, match="is not stored, because it is not a single SVM; choose a run"):
        restore(DATA, found)


def test_that_few_labels_are_a_stratified_sample_and_slide_is_fitted_on_all_rows():
    base = spec(DATA, 0.4, 1, widths="median", C=10.0, labels=30)
    found = run(DATA, base)
    assert found.n_train == 30
    shared = Reuse()
    run(DATA, replace(base, labels=60), reuse=shared)
    assert same_numbers(run(DATA, base, reuse=shared), found)
    with pytest.raises(DataError, match="training rows cannot have 500 labels"):
        run(DATA, replace(base, labels=500))
    with pytest.raises(DataError, match="1 class has no row among the 2 labelled rows"):
        run(rectangles(n_classes=3), replace(spec(rectangles(n_classes=3), labels=2)))


SMALL = SdaParameters(n_units=(20, 10), noise=0.1, pretraining_epochs=3, fine_tuning_epochs=5)


def test_that_sda_svm_learns_a_width_for_each_layer_of_the_autoencoders():
    found = run(DATA, spec(DATA, method="sda-svm", sda=SMALL, training="split"))
    assert len(found.classifier.widths) == 3
    assert found.classifier.history
    features = pretrain(DATA.train, SMALL).transform(DATA.test)
    np.testing.assert_array_equal(restore(DATA, found).representation.transform(DATA.test), features)
    assert (len(found.network.epochs), found.network.best_epoch) == (6, None)


def test_that_sda_is_the_network_stopped_early_on_the_validation_rows():
    found = run(DATA, spec(DATA, method="sda", sda=SMALL, training="split", split=1))
    X, codes = DATA.train, DATA.train_labels
    inside, outside = split_rows(codes, 1, 0)
    oracle = fine_tune(pretrain(X, SMALL), X[inside], codes[inside], 2, (X[outside], codes[outside]))
    wrong = np.flatnonzero(oracle.scores(DATA.test).argmax(axis=1) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert found.classifier is found.validation_loss is None  # only margins have a hinge loss
    assert found.network == NetworkRecord(oracle.history.epochs, oracle.best_epoch)
    assert StoredRun.of(found).best_epoch == oracle.best_epoch in range(1, 6)


def test_that_shared_networks_change_no_bit_and_are_trained_once():
    shared = Reuse()
    deep = spec(DATA, method="sda", sda=SMALL, training="split", evaluate="validation")
    first = run(DATA, deep, reuse=shared)
    shallow = replace(SMALL, n_units=(20,))
    for each in (replace(deep, evaluate="test"), replace(deep, sda=shallow), spec(DATA, method="sda-svm", sda=shallow)):
        again = run(DATA, each, reuse=shared)
        assert same_numbers(again, run(DATA, each))
        assert again.timings.features <= first.timings.features + again.timings.transform
    assert shared.networks.pretrained(DATA, shallow).seconds[0] < first.timings.fit
