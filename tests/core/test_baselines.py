"""Scikit-learn classes by name: only its own, only plain parameters, and the same results as direct use."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from slide_gui.core import baselines
from slide_gui.core.baselines import (
    ESTIMATORS,
    Estimator,
    OtherClassifier,
    Projection,
    Transformer,
    fit_classifier,
    fit_transformer,
)
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter

RANDOM = np.random.default_rng(0)
X = (RANDOM.standard_normal((300, 12)) @ np.diag(np.linspace(3.0, 0.1, 12))).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.intp) + (X[:, 2] > 2)


def test_that_pca_keeps_the_fewest_directions_that_hold_the_variance() -> None:
    found = fit_transformer(X, baselines.PCA.estimator(0.8), 0)
    exact = np.cov(X.T.astype(np.float64))
    shares = np.cumsum(np.linalg.eigvalsh(exact)[::-1]) / np.trace(exact)
    k = int(np.searchsorted(shares, 0.8)) + 1
    Z = found.transform(X)
    assert Z.shape == (300, k)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z.var(axis=0, ddof=1).sum() / np.trace(exact), shares[k - 1], rtol=1e-5)


def test_that_whitened_directions_have_unit_variance_and_no_correlation() -> None:
    Z = fit_transformer(X, baselines.WHITENED_PCA.estimator(0.95), 0).transform(X)
    np.testing.assert_allclose(np.cov(Z.T.astype(np.float64)), np.eye(Z.shape[1]), atol=1e-4)


def test_that_random_directions_are_gaussian_and_seeded() -> None:
    first, again, other = (fit_transformer(X, baselines.RANDOM_PROJECTION.estimator(5), seed) for seed in (1, 1, 2))
    assert first.transform(X).shape == (300, 5)
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.transform(X), other.transform(X))


def test_that_blocks_change_nothing() -> None:
    rows = np.tile(X, (30, 1))
    found = fit_transformer(X, Estimator.of("decomposition.PCA", {"n_components": 3}), 0)
    oracle = PCA(3, random_state=0).fit(X.astype(np.float64))
    np.testing.assert_allclose(found.transform(rows), oracle.transform(rows.astype(np.float64)), atol=1e-5)


def test_that_a_classifier_is_the_one_of_scikit_learn() -> None:
    found = fit_classifier(X, Y, Estimator.of("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 3}), 0)
    codes, decisions = found.answer(X[:50])
    np.testing.assert_array_equal(codes, KNeighborsClassifier(3).fit(X, Y).predict(X[:50]))
    assert decisions.shape == (50, 3)
    two = fit_classifier(X, (Y > 0).astype(np.intp), Estimator.of("linear_model.LogisticRegression"), 0)
    codes, decisions = two.answer(X)
    np.testing.assert_array_equal(codes, decisions[:, 0] > 0)


KNN, FOREST, NETWORK = (
    "neighbors.KNeighborsClassifier", "ensemble.RandomForestClassifier", "neural_network.MLPClassifier"
)  # fmt: skip


def test_that_a_table_names_only_parameters_and_words_that_scikit_learn_has() -> None:
    for kind, classes in ESTIMATORS.items():
        for name, allowed in classes.items():
            assert not {"memory", "n_jobs", "input", "verbose", "warm_start"} & allowed.keys(), name
            for key, rule in allowed.items():
                for value in (None, *(each for each in rule if isinstance(each, str))):
                    made = Estimator.of(name, {key: value}).make(kind, 0)
                    assert made.get_params()[key] == value
                    if value is not None:
                        made._validate_params()


@pytest.mark.parametrize(
    ("name", "parameters", "kind", "message"),
    [
        ("os.path", {}, "classifier", "is not a classifier that can be used; choose one of ensemble.RandomForest"),
        ("utils.fixes.Parallel", {}, "transformer", "is not a transformer that can be used; choose one of decomp"),
        ("svm.SVC", {}, "classifier", "is not a classifier that can be used"),
        ("decomposition.PCA", {}, "classifier", "is not a classifier that can be used"),
        (KNN, {}, "transformer", "is not a transformer that can be used"),
        (KNN, {"n_neighbours": 1}, "classifier", "takes no parameter 'n_neighbours'; it takes metric, n_neighbors"),
        (KNN, {"n_jobs": -1}, "classifier", "takes no parameter 'n_jobs'"),
        (KNN, {"metric": "precomputed"}, "classifier", "expected euclidean or manhattan"),
        (KNN, {"n_neighbors": True}, "classifier", "expected an integer"),
        (KNN, {"n_neighbors": 3.5}, "classifier", "expected an integer"),
        (KNN, {"p": float("nan")}, "classifier", "expected a finite number"),
        (FOREST, {"n_estimators": 10**6}, "classifier", "expected an integer up to 100000"),
        (NETWORK, {"hidden_layer_sizes": [10, 10**7]}, "classifier", "or integers"),
        (NETWORK, {"hidden_layer_sizes": [1] * 17}, "classifier", "or integers"),
        (NETWORK, {"hidden_layer_sizes": ["a"]}, "classifier", "or integers"),
        ("decomposition.PCA", {"memory": "cache"}, "transformer", "takes no parameter 'memory'"),
    ],
)
def test_that_anything_else_is_refused(name: str, parameters: dict[str, object], kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Estimator.of(name, parameters).make(kind, 0)


def test_that_parameters_are_plain_values_only() -> None:
    with pytest.raises(ValueError, match="cannot be a parameter"):
        Estimator.of("decomposition.PCA", {"n_components": {"a": 1}})
    again = Estimator.of("neural_network.MLPClassifier", {"hidden_layer_sizes": [3, 4], "alpha": 0.1})
    assert Estimator.from_document(again.document()) == again
    assert str(again) == "MLPClassifier(alpha=0.1, hidden_layer_sizes=(3, 4))"


def test_that_too_many_components_are_refused_with_the_most_there_can_be() -> None:
    message = "^PCA cannot compute 50 components from 300 rows with 12 features; set n_components to 12 or less$"
    with pytest.raises(ValueError, match=message):
        fit_transformer(X, Estimator.of("decomposition.PCA", {"n_components": 50}), 0)
    fit_transformer(X, Estimator.of("decomposition.PCA", {"n_components": 12}), 0)


def test_that_another_refusal_does_not_speak_of_labels() -> None:
    with pytest.raises(ValueError, match=r"PCA cannot be fitted to these rows .*n_components"):
        fit_transformer(X, Estimator.of("decomposition.PCA", {"n_components": -1}), 0)


@pytest.mark.parametrize(
    ("projection", "kept"),
    [
        (baselines.PCA, None),
        (baselines.PCA, "0.5"),
        (baselines.PCA, 1.0),
        (baselines.WHITENED_PCA, 0.0),
        (baselines.RANDOM_PROJECTION, True),
        (baselines.RANDOM_PROJECTION, 2.5),
        (baselines.RANDOM_PROJECTION, float("inf")),
        (baselines.RANDOM_PROJECTION, float("nan")),
    ],
)
def test_that_what_is_kept_is_in_range(projection: Projection, kept: float | None) -> None:
    with pytest.raises(ValueError, match=r"kept is .*; some-svm needs"):
        projection.checked(kept, "some-svm")


def test_that_the_mathematics_starts_without_scikit_learn() -> None:
    code = "import sys, slide_gui.core.baselines; print([m for m in sys.modules if m.split('.')[0] == 'sklearn'])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


class Predicts:
    """A classifier that predicts the first column and has the given decision values."""

    def __init__(self, **decides: object) -> None:
        for name, values in decides.items():
            setattr(self, name, lambda _rows, values=values: values)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, 0].astype(int)


ROWS = np.array([[0.0], [1.0], [1.0]])
MARGINS = np.array([-0.5, 2.0, 0.1])
SHARES = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("estimator", "n_classes", "expected"),
    [
        (Predicts(decision_function=MARGINS, predict_proba=SHARES), 2, MARGINS[:, None]),
        (Predicts(predict_proba=SHARES), 2, SHARES[:, 1:] - 0.5),
        (Predicts(decision_function=np.eye(3)), 3, np.eye(3)),
        (Predicts(predict_proba=np.full((3, 3), 0.3)), 3, np.full((3, 3), 0.3)),
    ],
)
def test_that_decisions_are_values_else_probabilities(
    estimator: Predicts, n_classes: int, expected: np.ndarray
) -> None:
    codes, decisions = OtherClassifier(estimator, n_classes).answer(ROWS)
    assert codes.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(decisions, expected)


class Gives:
    """A transformer that returns the values given to it."""

    def __init__(self, values: object) -> None:
        self.values = values

    def transform(self, _rows: np.ndarray) -> object:
        return self.values


def test_that_a_representation_is_a_finite_table() -> None:
    table = np.array([[1.0, 0.0], [0.0, 2.0]])
    for values in (np.array([[1.0, np.nan]]), np.array([[1e39]])):
        with pytest.raises(ValueError, match="Gives gave values that are not finite"), np.errstate(over="ignore"):
            Transformer(Gives(values), 12).transform(X[:2])
    for rows in (X[:, :11], X[0]):
        with pytest.raises(ValueError, match="the transformer was fitted on 12 features"):
            Transformer(Gives(table), 12).transform(rows)


def test_that_a_transform_tells_the_share_of_rows_done_and_can_be_cancelled() -> None:
    rows, listener = np.tile(X, (30, 1)), StopAfter()
    found = fit_transformer(X, Estimator.of("decomposition.PCA", {"n_components": 3}), 0, progress=listener)
    assert listener.fractions == [0.0, 1.0]
    listener = StopAfter()
    found.transform(rows, progress=listener)
    assert listener.fractions == [4096 / 9000, 8192 / 9000, 1.0]
    with pytest.raises(Cancelled):
        found.transform(rows, progress=StopAfter(2))
    for fit in (
        lambda progress: fit_transformer(X, Estimator.of("decomposition.PCA"), 0, progress=progress),
        lambda progress: fit_classifier(X, Y, Estimator.of("linear_model.LogisticRegression"), 0, progress=progress),
    ):
        with pytest.raises(Cancelled):
            fit(StopAfter(1))
        listener = StopAfter()
        fit(listener)
        assert listener.fractions == [0.0, 1.0]


def test_that_too_little_memory_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_arguments: object) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr(PCA, "fit", too_large)
    with pytest.raises(MemoryError, match="too large"):
        fit_transformer(X, Estimator.of("decomposition.PCA"), 0)


def test_that_a_seed_is_given_where_there_is_none_and_kept_where_there_is() -> None:
    name = "random_projection.GaussianRandomProjection"
    assert Estimator.of(name).make("transformer", 7).random_state == 7
    assert Estimator.of(name, {"random_state": 3}).make("transformer", 7).random_state == 3
    assert Estimator.of("neighbors.KNeighborsClassifier").make("classifier", 7).n_neighbors == 5


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "decomposition.PCA"}, "a name and an object of parameters"),
        ({"name": 3, "parameters": {}}, "a name and an object of parameters"),
        ({"parameters": {}}, "a name and an object of parameters"),
        ({"name": "../../PCA", "parameters": {}}, "is not the name of a class"),
        ({"name": "svm.SVC", "parameters": {"a b": 1}}, "expected a number, a word"),
        ({"name": "svm.SVC", "parameters": {"kernel": "/tmp/cache"}}, "expected a number, a word"),
        ({"name": "svm.SVC", "parameters": {"C": 10**30}}, "expected a number, a word"),
    ],
)
def test_that_a_document_that_describes_no_class_is_refused(document: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Estimator.from_document(document)


def test_that_what_is_kept_is_returned_as_a_number() -> None:
    assert baselines.RANDOM_PROJECTION.checked(1, "some-svm") == 1.0
    assert baselines.PCA.checked(0.999, "some-svm") == 0.999


def test_that_a_class_of_an_earlier_version_is_read_and_named_but_not_made() -> None:
    earlier = Estimator.from_document({"name": "svm.SVC", "parameters": {"C": 2, "kernel": "rbf", "gamma": None}})
    assert str(earlier) == "SVC(C=2, gamma=None, kernel='rbf')"
    assert Estimator.from_document(earlier.document()) == earlier
    with pytest.raises(ValueError, match=r"'svm\.SVC' is not a classifier that can be used"):
        earlier.make("classifier", 0)
