"""The methods beside SLIDE-SVM, and runs with few labels: what each is fitted on, and what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from slide_gui.core.baselines import Estimator
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.errors import DataError
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import NetworkRecord
from slide_gui.experiments.runs.run import restore, run
from slide_gui.experiments.runs.spec import METHODS
from slide_gui.experiments.runs.splits import split_rows
from slide_gui.experiments.statistics import error_matrix
from slide_gui.experiments.store.store import RunStore
from tests.experiments.tiny import rectangles, same_numbers, spec

DATA = rectangles()
KNN = Estimator.of("neighbors.KNeighborsClassifier", {"n_neighbors": 3})


@pytest.mark.parametrize("method", METHODS)
def test_that_every_stored_run_keeps_its_errors_on_the_test_rows_that_all_splits_share(
    method: str, tmp_path: Path
) -> None:
    given: dict[str, object] = {"widths": "median", "C": 1.0}
    if METHODS[method].projection is not None:
        given["kept"] = 20 if method == "randproj-svm" else 0.9
    elif METHODS[method].network:
        given["sda"] = SdaParameters((10,), pretraining_epochs=1, fine_tuning_epochs=1)
    elif METHODS[method].takes_parts:
        given |= {"classifier": KNN, "depth": 1}
    with RunStore(tmp_path / "runs.sqlite") as store:
        for split in (0, 1):
            store.save(run(DATA, spec(DATA, method=method, split=split, seed=split, training="split", **given)))
        lines = store.runs()
        results = [store.load(line.hash) for line in lines]
    errors = error_matrix([line.row_errors for line in lines if line.row_errors is not None])
    assert errors is not None
    assert errors.shape == (2, len(DATA.test))
    for row, line, result in zip(errors, lines, results, strict=True):
        assert np.array_equal(np.flatnonzero(row), result.misclassified)
        assert row.sum() == round(line.error * line.n_test)


def test_that_pca_svm_is_a_plain_svm_on_projections_fitted_on_the_whole_training_part() -> None:
    found = run(DATA, spec(DATA, method="pca-svm", kept=0.9, training="split", loss="hinge"))
    own = found.classifier
    assert own is not None
    assert (len(own.widths), len(own.grid)) == (1, 14)
    projection = PCA(0.9, svd_solver="full").fit(DATA.train)
    inside, _ = split_rows(DATA.train_labels, 0, 0)
    oracle = SVC(C=own.C, gamma=own.widths[0] ** -2).fit(
        projection.transform(DATA.train[inside]), DATA.train_labels[inside]
    )
    predicted = oracle.predict(projection.transform(DATA.test))
    assert abs(np.count_nonzero(predicted != DATA.test_labels) - len(found.misclassified)) <= 1


@pytest.mark.parametrize(("method", "kept"), [("white-svm", 0.9), ("randproj-svm", 20)])
def test_that_a_projection_gives_its_svm_back(method: str, kept: float) -> None:
    found = run(DATA, spec(DATA, method=method, kept=kept))
    again = restore(DATA, found)
    wrong = np.flatnonzero(again.model.predict(again.representation.transform(DATA.test)) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)


def test_that_a_classifier_of_scikit_learn_takes_the_svms_place_on_slides_features(tmp_path: Path) -> None:
    asked = spec(DATA, 0.4, 2, method="custom", classifier=KNN)
    found = run(DATA, asked)
    Z = fit_stack(DATA.train, asked.stack)
    oracle = KNeighborsClassifier(3).fit(Z.transform(DATA.train), DATA.train_labels)
    wrong = np.flatnonzero(oracle.predict(Z.transform(DATA.test)) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert found.classifier is None
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(found)
        again = store.load(asked.hash)
    assert same_numbers(again, found)
    with pytest.raises(ValueError, match="is not stored"):
        restore(DATA, again)


def test_that_a_transformer_of_scikit_learn_takes_slides_place() -> None:
    pca = Estimator.of("decomposition.PCA", {"n_components": 20})
    with_svm = run(DATA, spec(DATA, method="custom", transformer=pca))
    assert with_svm.classifier is not None
    both = run(DATA, spec(DATA, method="custom", transformer=pca, classifier=KNN))
    projection = PCA(20, svd_solver="full").fit(DATA.train)
    oracle = KNeighborsClassifier(3).fit(projection.transform(DATA.train), DATA.train_labels)
    predicted = oracle.predict(projection.transform(DATA.test))
    assert abs(np.count_nonzero(predicted != DATA.test_labels) - len(both.misclassified)) <= 1


def test_that_few_labels_are_a_stratified_sample_and_slide_sees_the_other_rows() -> None:
    base = spec(DATA, 0.4, 1, widths="median", C=10.0, labels=30)
    found = run(DATA, base)
    assert found.n_train == 30
    plain = run(DATA, spec(DATA, 0.4, 1, widths="median", C=10.0))
    alone = run(DATA, replace(base, fit_rows="labelled"))
    assert not same_numbers(found, alone)
    assert plain.n_train == 120
    shared = Reuse()
    run(DATA, replace(base, labels=60), reuse=shared)
    assert same_numbers(run(DATA, base, reuse=shared), found)
    on_split = replace(base, training="split")
    held_back = run(DATA, replace(on_split, fit_rows="split"))
    assert held_back.n_train == 30
    assert not same_numbers(held_back, run(DATA, on_split))
    with pytest.raises(DataError, match="fewer than the 500 requested labels"):
        run(DATA, replace(base, labels=500))
    with pytest.raises(DataError, match="have no row among 2 labels"):
        run(rectangles(n_classes=3), replace(spec(rectangles(n_classes=3), labels=2)))


SMALL = SdaParameters(n_units=(20, 10), noise=0.1, pretraining_rate=0.1, pretraining_epochs=3, fine_tuning_epochs=5)


def test_that_sda_svm_learns_a_width_for_each_layer_of_the_autoencoders() -> None:
    found = run(DATA, spec(DATA, method="sda-svm", sda=SMALL, training="split"))
    assert found.classifier is not None
    assert len(found.classifier.widths) == 3
    assert found.classifier.history
    features = pretrain(DATA.train, SMALL).transform(DATA.test)
    again = restore(DATA, found)
    np.testing.assert_array_equal(again.representation.transform(DATA.test), features)
    wrong = np.flatnonzero(again.model.predict(features) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert found.network is not None
    assert (len(found.network.epochs), found.network.best_epoch) == (6, None)


def test_that_sda_is_the_network_that_stopped_early_on_the_splits_validation_rows(tmp_path: Path) -> None:
    asked = spec(DATA, method="sda", sda=SMALL, training="split", split=1)
    found = run(DATA, asked)
    inside, outside = split_rows(DATA.train_labels, 1, 0)
    codes = DATA.train_labels
    oracle = fine_tune(
        pretrain(DATA.train, SMALL), DATA.train[inside], codes[inside], 2, DATA.train[outside], codes[outside]
    )
    wrong = np.flatnonzero(oracle.scores(DATA.test).argmax(axis=1) != DATA.test_labels)
    np.testing.assert_array_equal(found.misclassified, wrong)
    assert found.classifier is None
    assert found.network == NetworkRecord(oracle.history.epochs, oracle.best_epoch)
    with RunStore(tmp_path / "runs.sqlite") as store:
        store.save(found)
        assert same_numbers(store.load(asked.hash), found)
    whole = run(DATA, replace(asked, training="whole"))
    assert whole.network is not None
    assert len(whole.network.epochs) == 11


def test_that_shared_networks_change_no_bit_and_are_trained_once() -> None:
    shared = Reuse()
    deep = spec(DATA, method="sda", sda=SMALL, training="split", evaluate="validation")
    first = run(DATA, deep, reuse=shared)
    shallow = replace(SMALL, n_units=(20,))
    for asked in (
        replace(deep, evaluate="test"),
        replace(deep, sda=shallow),
        spec(DATA, method="sda-svm", sda=shallow),
    ):
        again = run(DATA, asked, reuse=shared)
        assert same_numbers(again, run(DATA, asked))
        assert again.timings.features is not None
        assert first.timings.features is not None
        assert again.timings.features <= first.timings.features + again.timings.transform
    assert shared.networks.pretrained(DATA, shallow).seconds[0] < first.timings.fit
