"""What may be named of scikit-learn, by a person and by a file: nothing that opens, unpickles or starts anything."""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.cluster import FeatureAgglomeration
from sklearn.utils import all_estimators
from sklearn.utils.fixes import parse_version

from slide_gui.core.allowed_estimators import IN_FILES, MODULES, check_in_file
from slide_gui.core.baselines import Estimator, fit_classifier, fit_transformer
from tests.poisoned_cache import poisoned_cache

X = np.random.default_rng(0).random((12, 4))
Y = (np.arange(12) % 2).astype(np.intp)


def test_that_the_poisoned_cache_runs_code_in_scikit_learn_itself(tmp_path: Path) -> None:
    cache, marker = poisoned_cache(tmp_path, X, n_clusters=2)
    with suppress(TypeError):  # what it gives back is no answer
        FeatureAgglomeration(n_clusters=2, memory=str(cache)).fit(X)
    assert marker.exists()


@pytest.mark.parametrize("value", ["absolute", "one word", "true"])
def test_that_a_cache_is_refused_whoever_names_it_and_nothing_of_it_runs(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, marker = poisoned_cache(tmp_path, X, n_clusters=2)
    monkeypatch.chdir(cache.parent)
    memory = {"absolute": str(cache), "one word": cache.name, "true": True}[value]
    named = {"name": "cluster.FeatureAgglomeration", "parameters": {"n_clusters": 2, "memory": memory}}
    with pytest.raises(ValueError, match="read and run Python objects from such a cache; leave memory out"):
        fit_transformer(X, Estimator.of(named["name"], named["parameters"]), 0)
    with pytest.raises(ValueError, match="leave memory out"):
        Estimator.from_document(named)
    assert not marker.exists()


def test_that_a_file_names_only_classes_and_parameters_that_scikit_learn_has() -> None:
    for name, allowed in IN_FILES.items():
        module, _, own = name.rpartition(".")
        found = getattr(import_module(f"sklearn.{module}"), own)()
        assert set(allowed) <= set(found.get_params()), name
        assert not {"memory", "n_jobs", "input", "verbose", "warm_start"} & set(allowed), name
        assert module in MODULES


# by a slip of a letter TruncatedSVD refused the word that it documents
_REFUSES_QR = parse_version(sklearn.__version__) < parse_version("1.9")


def test_that_a_class_of_a_file_can_be_made_with_every_word_that_it_allows() -> None:
    for name, allowed in IN_FILES.items():
        for key, rule in allowed.items():
            for value in (each for each in rule if isinstance(each, str)):
                if (key, value) == ("power_iteration_normalizer", "QR") and _REFUSES_QR:
                    continue
                found = Estimator.from_document({"name": name, "parameters": {key: value}})
                made = found.make("classifier" if "Classifier" in str(_kinds(name)) else "transformer", 0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made._validate_params()


def _kinds(name: str) -> list[str]:
    module, _, own = name.rpartition(".")
    return [base.__name__ for base in getattr(import_module(f"sklearn.{module}"), own).__mro__]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("decomposition.DictionaryLearning", {}),
        ("feature_extraction.text.CountVectorizer", {}),
        ("preprocessing.FunctionTransformer", {"func": "print"}),
        ("experimental.enable_iterative_imputer.X", {}),
        ("utils._testing.MinimalClassifier", {}),
        ("conftest.X", {}),
        ("neighbors.KNeighborsClassifier", {"metric": "pyfunc"}),
        ("neighbors.KNeighborsClassifier", {"metric": "precomputed"}),
        ("neighbors.KNeighborsClassifier", {"n_jobs": -1}),
        ("neighbors.KNeighborsClassifier", {"n_jobs": 1.0}),
        ("neighbors.KNeighborsClassifier", {"n_neighbors": True}),
        ("neighbors.KNeighborsClassifier", {"n_neighbors": 3.5}),
        ("neighbors.KNeighborsClassifier", {"p": float("inf")}),
        ("neighbors.KNeighborsClassifier", {"metric_params": 1}),
        ("ensemble.RandomForestClassifier", {"n_estimators": 10**6}),
        ("ensemble.AdaBoostClassifier", {"estimator": "deprecated"}),
        ("neural_network.MLPClassifier", {"hidden_layer_sizes": [10, 10**7]}),
        ("neural_network.MLPClassifier", {"hidden_layer_sizes": [1] * 17}),
        ("neural_network.MLPClassifier", {"hidden_layer_sizes": ["a"]}),
        ("svm.SVC", {"cache_size": 1e9}),
        ("svm.SVC", {"kernel": "os"}),
        ("svm.SVC", {"kernel__x": 1}),
    ],
)
def test_that_a_file_may_name_nothing_else(name: str, parameters: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=name.rpartition(".")[2]):
        Estimator.from_document({"name": name, "parameters": parameters})


@pytest.mark.parametrize(
    "document",
    [{"name": 1, "parameters": {}}, {"name": "svm.SVC", "parameters": []}, {"name": ["svm.SVC"], "parameters": {}}],
)
def test_that_what_is_no_estimator_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a name and an object of parameters"):
        Estimator.from_document(document)


def test_that_a_file_may_give_what_people_use() -> None:
    for name, parameters in (
        ("neighbors.KNeighborsClassifier", {"n_neighbors": 3, "weights": "distance", "n_jobs": 1, "p": 1}),
        ("neural_network.MLPClassifier", {"hidden_layer_sizes": [30, 20], "random_state": 4, "alpha": 1e-3}),
        ("tree.DecisionTreeClassifier", {"max_depth": None, "max_features": "sqrt"}),
        ("preprocessing.RobustScaler", {"quantile_range": [5.0, 95.0]}),
    ):
        document = {"name": name, "parameters": parameters}
        found = Estimator.from_document(document)
        check_in_file(found.name, dict(found.parameters))
        assert Estimator.from_document(found.document()) == found


def test_that_one_word_given_to_any_parameter_of_any_class_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, marker = poisoned_cache(tmp_path, X, n_clusters=2)
    monkeypatch.chdir(cache.parent)
    before = sorted(tmp_path.rglob("*"))
    tried = 0
    for kind, fit in (("classifier", fit_classifier), ("transformer", fit_transformer)):
        for own, found in all_estimators(kind):
            module = found.__module__.split(".")[1]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    known = Estimator.of(f"{module}.{own}").make(kind, 0).get_params()
            except ValueError:
                continue
            for name in (name for name, value in known.items() if value is None or isinstance(value, str)):
                asked = Estimator.of(f"{module}.{own}", {name: cache.name})
                tried += 1
                with suppress(ValueError), warnings.catch_warnings():  # most refuse the word
                    warnings.simplefilter("ignore")
                    fit(*((X, Y) if kind == "classifier" else (X,)), asked, 0)
    assert tried > 200
    assert sorted(tmp_path.rglob("*")) == before
    assert not marker.exists()
