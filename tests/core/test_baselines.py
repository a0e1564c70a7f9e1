"""Classes of scikit-learn by name: only its own, only plain parameters, and the numbers that it gives itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from slide_gui.core import baselines
from slide_gui.core.baselines import Estimator, Projection, fit_classifier, fit_transformer

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


@pytest.mark.parametrize(
    ("name", "parameters", "kind", "message"),
    [
        ("os.path", {}, "classifier", "is no class of scikit-learn"),
        ("..os.System", {}, "classifier", "is no class of scikit-learn"),
        ("_config.Path", {}, "classifier", "is no class of scikit-learn"),
        ("utils.fixes.Parallel", {}, "transformer", "is no class of scikit-learn"),
        ("neighbors.Nothing", {}, "classifier", "has no estimator"),
        ("absent.PCA", {}, "transformer", "is no class of scikit-learn"),
        ("decomposition.PCA", {}, "classifier", "is no classifier"),
        ("svm.SVC", {}, "transformer", "is no transformer"),
        ("svm.SVC", {"gama": 1}, "classifier", "no parameter 'gama'"),
        ("neighbors.KNeighborsClassifier", {"n_jobs": -1}, "classifier", "only n_jobs=1"),
        ("neighbors.KNeighborsClassifier", {"metric": "a/b"}, "classifier", "one word of letters"),
        ("neighbors.KNeighborsClassifier", {"p": float("nan")}, "classifier", "a finite number"),
        ("multiclass.OneVsOneClassifier", {}, "classifier", "made of other estimators"),
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


def test_that_a_transformer_gets_no_labels() -> None:
    with pytest.raises(ValueError, match="rows without labels"):
        fit_transformer(X, Estimator.of("feature_selection.SelectKBest", {"k": 2}), 0)


def test_that_too_many_components_are_refused_with_the_most_there_can_be() -> None:
    message = "^PCA cannot make 50 components of 300 rows with 12 features; set n_components to 12 or less$"
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
