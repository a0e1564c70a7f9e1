"""Scikit-learn classes are created by name with plain parameters, and give the same results as direct use."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from slide_gui.core import baselines
from slide_gui.core.baselines import ESTIMATORS, Estimator, OtherClassifier, Transformer
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter

RANDOM = np.random.default_rng(0)
X = (RANDOM.standard_normal((300, 12)) @ np.diag(np.linspace(3.0, 0.1, 12))).astype(np.float32)
DOUBLE = X.astype(np.float64)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.intp) + (X[:, 2] > 2)
KNN, FOREST, NETWORK, REGRESSION, PROJECTION = (
    "neighbors.KNeighborsClassifier", "ensemble.RandomForestClassifier", "neural_network.MLPClassifier",
    "linear_model.LogisticRegression", "random_projection.GaussianRandomProjection",
)  # fmt: skip


def _pca(**parameters):
    return Estimator.of("decomposition.PCA", parameters)


def test_that_pca_keeps_the_fewest_directions_that_contain_the_variance_and_whitening_equalises_them():
    exact = np.cov(X.T.astype(np.float64))
    shares = np.cumsum(np.linalg.eigvalsh(exact)[::-1]) / np.trace(exact)
    k = int(np.searchsorted(shares, 0.8)) + 1
    Z = Transformer(baselines.PCA.estimator(0.8).fit("transformer", 0, DOUBLE)).transform(X)
    assert (Z.shape, Z.dtype) == ((300, k), np.float32)
    np.testing.assert_allclose(Z.var(axis=0, ddof=1).sum() / np.trace(exact), shares[k - 1], rtol=1e-5)
    Z = Transformer(baselines.WHITENED_PCA.estimator(0.95).fit("transformer", 0, DOUBLE)).transform(X)
    np.testing.assert_allclose(np.cov(Z.T.astype(np.float64)), np.eye(Z.shape[1]), atol=1e-4)


def test_that_random_directions_are_seeded_unless_the_seed_is_given():
    first, again, other = (
        Transformer(baselines.RANDOM_PROJECTION.estimator(5).fit("transformer", seed, DOUBLE)) for seed in (1, 1, 2)
    )
    assert first.transform(X).shape == (300, 5)
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.transform(X), other.transform(X))
    assert Estimator.of(PROJECTION).make("transformer", 7).random_state == 7
    assert Estimator.of(PROJECTION, {"random_state": 3}).make("transformer", 7).random_state == 3
    assert Estimator.of(KNN).make("classifier", 7).n_neighbors == 5


def test_that_a_transform_equals_scikit_learns_reports_the_fraction_of_rows_and_can_be_cancelled():
    rows, fitting, listener = np.tile(X, (30, 1)), StopAfter(), StopAfter()
    found = Transformer(_pca(n_components=3).fit("transformer", 0, DOUBLE, progress=fitting))
    assert fitting.fractions == [0.0, 1.0]
    expected = PCA(3, random_state=0).fit(X.astype(np.float64)).transform(rows.astype(np.float64))
    np.testing.assert_allclose(found.transform(rows, progress=listener), expected, atol=1e-5)
    assert listener.fractions == [4096 / 9000, 8192 / 9000, 1.0]
    with pytest.raises(Cancelled):
        found.transform(rows, progress=StopAfter(2))


def test_that_a_classifier_equals_scikit_learns_and_can_be_cancelled_before_its_fit():
    found = OtherClassifier(Estimator.of(f"sklearn.{KNN}", {"n_neighbors": 3}).fit("classifier", 0, X, Y))
    codes, decisions = found.answer(X[:50])
    np.testing.assert_array_equal(codes, KNeighborsClassifier(3).fit(X, Y).predict(X[:50]))
    assert decisions.shape == (50, 3)
    two = (Y > 0).astype(np.intp)
    codes, decisions = OtherClassifier(Estimator.of(REGRESSION).fit("classifier", 0, X, two)).answer(X)
    np.testing.assert_array_equal(codes, decisions[:, 0] > 0)
    with pytest.raises(Cancelled):
        OtherClassifier(Estimator.of(REGRESSION).fit("classifier", 0, X, two, progress=StopAfter(1)))


def test_that_the_tables_contain_only_parameters_and_words_of_scikit_learn():
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
        ("decomposition.PCA", {"n_components": {"a": 1}}, "transformer", "cannot be a parameter"),
    ],
)
def test_that_other_classes_and_parameters_are_refused(name, parameters, kind, message):
    with pytest.raises(ValueError, match=message):
        Estimator.of(name, parameters).make(kind, 0)


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
def test_that_a_document_that_describes_no_class_is_refused(document, message):
    with pytest.raises(ValueError, match=message):
        Estimator.from_document(document)


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        (NETWORK, {"hidden_layer_sizes": [3, 4], "alpha": 0.1}, "MLPClassifier(alpha=0.1, hidden_layer_sizes=(3, 4))"),
        ("svm.SVC", {"C": 2, "kernel": "rbf", "gamma": None}, "SVC(C=2, gamma=None, kernel='rbf')"),  # earlier versions
    ],
)
def test_that_a_document_is_read_and_named(name, parameters, text):
    estimator = Estimator.of(name, parameters)
    assert Estimator.from_document(estimator.document()) == estimator
    assert str(estimator) == text


def test_that_components_that_cannot_be_computed_are_refused_with_the_largest_number():
    message = "^PCA cannot compute 50 components from 300 rows with 12 features; set n_components to 12 or less$"
    with pytest.raises(ValueError, match=message):
        Transformer(_pca(n_components=50).fit("transformer", 0, DOUBLE))
    with pytest.raises(ValueError, match=r"PCA cannot be fitted to these rows .*n_components"):
        Transformer(_pca(n_components=-1).fit("transformer", 0, DOUBLE))
    Transformer(_pca(n_components=12).fit("transformer", 0, DOUBLE))


@pytest.mark.parametrize(
    ("projection", "amounts"),
    [
        (baselines.PCA, (None, "0.5", 1.0)),
        (baselines.WHITENED_PCA, (0.0,)),
        (baselines.RANDOM_PROJECTION, (True, 2.5, float("inf"), float("nan"))),
    ],
)
def test_that_an_amount_out_of_range_is_refused(projection, amounts):
    for amount in amounts:
        with pytest.raises(ValueError, match=r"kept is .*; some-svm needs"):
            projection.checked(amount, "some-svm")
    assert projection.checked(1 if projection.keeps == "directions" else 0.999, "some-svm") in (1.0, 0.999)


MARGINS, SHARES = np.array([-0.5, 2.0, 0.1]), np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        ({"decision_function": MARGINS, "predict_proba": SHARES}, MARGINS[:, None]),
        ({"predict_proba": SHARES}, SHARES[:, 1:] - 0.5),
        ({"decision_function": np.eye(3)}, np.eye(3)),
        ({"predict_proba": np.full((3, 3), 0.3)}, np.full((3, 3), 0.3)),
    ],
)
def test_that_decisions_are_values_or_else_probabilities(functions, expected):
    functions = {"predict": np.array([0.0, 1.0, 1.0]), **functions}
    estimator = SimpleNamespace(**{name: lambda _, values=values: values for name, values in functions.items()})
    codes, decisions = OtherClassifier(estimator).answer(X[:3])
    assert codes.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(decisions, expected)


def test_that_a_representation_is_a_table_of_finite_numbers():
    for values in (np.array([[1.0, np.nan]]), np.array([[1e39]])):
        estimator = SimpleNamespace(transform=lambda _, values=values: values)
        with pytest.raises(ValueError, match="gave values that are not finite"), np.errstate(over="ignore"):
            Transformer(estimator).transform(X[:2])
    with pytest.raises(ValueError, match="X has 11 features, but PCA is expecting 12 features"):
        Transformer(_pca(n_components=3).fit("transformer", 0, DOUBLE)).transform(X[:, :11])
