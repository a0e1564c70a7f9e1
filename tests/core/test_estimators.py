"""The estimators: defaults, refusals, inputs and outputs other than arrays; and scikit-learn classes by name."""

import ast
import inspect
import re
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import slide_gui
from slide_gui import SLIDE, Blocks, LinearImputer, MultiWidthSVC, SLIDEClassifier
from slide_gui.core import baselines
from slide_gui.core.baselines import ESTIMATORS, Estimator, Transformer, predicted_by
from slide_gui.core.estimators import layer_sizes, seed_of
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.progress import Cancelled
from tests.core.slide_data import images
from tests.core.svm_data import StopAfter, layers, not_equivalent_by_weight, three_classes

CHECKED = [
    SLIDE(),
    SLIDE(depth=1, dtype="float64", squashing="tanh"),
    SLIDE(depth=1, dtype="float64", scale="range"),
    SLIDE(depth=1, scale="quantile"),
    SLIDEClassifier(depth=1, widths="median", C=1.0),
    LinearImputer(),
]


def _not_equivalent(estimator):
    """Return the checks that cannot pass, and the reason."""
    if isinstance(estimator, SLIDE) and estimator.dtype == "float32":
        return {"check_sample_weight_equivalence_on_dense_data": "rows with weights are summed in float64, others not"}
    return not_equivalent_by_weight(estimator) if isinstance(estimator, SLIDEClassifier) else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.* of the values are above the threshold")
@parametrize_with_checks(CHECKED, expected_failed_checks=_not_equivalent)
def test_that_scikit_learns_contract_is_kept(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([["1", "2"], ["3", "4"]], "X contains text: row 0, feature 0 is '1'; convert it to a number"),
        (np.array([[0.5, 1.0], [0.0, "1.0"]], object), "X contains text: row 1, feature 1 is '1.0'; convert it"),
        (np.ma.masked_equal(np.eye(2), 0.0), r"X has masked cells; call np\.ma\.array\(X, float\)\.filled\("),
        (list(np.ma.masked_equal(np.eye(2), 0.0)), "X has masked cells"),
        (np.array([[0.5, np.datetime64("2026-11-27").item()]] * 2, object), "X contains dates: row 0, feature 1 is"),
        (np.array([["2026-11-27"], ["2026-11-28"]], "datetime64[D]"), "X contains dates; convert them to numbers"),
    ],
)
@pytest.mark.parametrize("estimator", [SLIDE(depth=1), SLIDEClassifier(), MultiWidthSVC(), LinearImputer()])
def test_that_text_masked_cells_and_dates_are_refused(estimator, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(rows, [0, 1])
    with pytest.raises(ValueError, match=sentence):
        SLIDE(depth=1).fit(np.eye(2)).transform(rows)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import slide_gui", "numpy"),
        ("import slide_gui.core.baselines", "sklearn"),
        ("import slide_gui.core.svm.selection", "PySide6 matplotlib scipy sklearn"),
        ("import slide_gui.core.slide.estimator", "PySide6 matplotlib pyqtgraph sklearn.svm sklearn.linear_model"),
        ("from slide_gui.error_rate import ErrorRate; ErrorRate.of_run(0.1, 10)", "scipy"),
    ],
)
def test_that_a_part_of_the_package_imports_only_what_it_needs(code, absent):
    code = f"import sys; {code}; print([name for name in {absent.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("scale", [0.01, 1e-4])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_that_features_that_are_constant_after_the_threshold_cause_a_warning(scale, as_rows):
    X = np.random.default_rng(0).random((300, 12)).astype(np.float32)
    with pytest.warns(UserWarning, match=r"0\.00% of the values are above the threshold 0\.5: only 0 of 12 features"):
        SLIDE(depth=1).fit(as_rows(scale * X))
    with pytest.warns(UserWarning, match=r"100\.00% of the values are above"):
        SLIDE(depth=1).fit_transform(as_rows(X + 1.0))
    for fine in (SLIDE(depth=1), SLIDE(threshold=0.5 * scale), SLIDE(squashing="tanh"), SLIDE(depth=0)):
        fine.fit(as_rows(X if fine.depth == 1 else scale * X))  # pytest turns a warning into an error
    lit = np.zeros((300, 300), np.float32)
    np.fill_diagonal(lit, 1.0)  # few values are above the threshold, but no feature is constant
    SLIDE(depth=1).fit(as_rows(lit))


def skewed():
    """Return positive features with a long tail, all far below the threshold 0.5."""
    return np.exp(np.random.default_rng(0).normal(size=(301, 6))) * 1e-3


@pytest.mark.parametrize("squashing", ["threshold", "tanh"])
def test_that_quantile_scaling_maps_the_median_to_the_threshold(squashing):
    X = skewed()
    slide = SLIDE(depth=2, threshold=0.3, squashing=squashing, scale="quantile").fit(X)
    scaled = slide.layers(X)[0]
    middle = 0.3 if squashing == "threshold" else 0.5
    assert np.median(scaled, axis=0) == pytest.approx(middle, abs=1e-6)
    assert (scaled.min(axis=0).tolist(), scaled.max(axis=0).tolist()) == ([0.0] * 6, [1.0] * 6)
    assert np.array_equal(slide.transform(X), slide.fit_transform(X))


def test_that_quantiles_are_those_of_scikit_learn_from_a_sample_of_the_rows_in_groups_of_columns(monkeypatch):
    X = np.random.default_rng(0).integers(0, 256, (11_000, 200), np.uint8)
    tracemalloc.start()
    slide = SLIDE(depth=0, scale="quantile").fit(X)
    assert tracemalloc.get_traced_memory()[1] < 8 * X.size, "all rows were converted to float64"
    tracemalloc.stop()
    expected = QuantileTransformer(n_quantiles=1000, random_state=0).fit(X).transform(X[:99])
    np.testing.assert_array_equal(slide.transform(X[:99]), np.float32(expected))
    monkeypatch.setattr(QuantileTransformer, "transform", None)
    with pytest.raises(Cancelled):
        slide.fit(X, progress=StopAfter(1))


@pytest.mark.parametrize(
    "convert",
    [lambda X: 1e-18 * X, lambda X: np.float32(1e7 + 1e3 * X), lambda X: (1e5 * X).astype(np.uint16), pd.DataFrame],
)
def test_that_range_scaling_equals_scaling_before_the_fit(convert):
    X = convert(skewed())
    values = np.asarray(X, float)
    by_hand = (values - values.min(axis=0)) / np.ptp(values, axis=0)
    with config_context(transform_output="pandas"):
        features = SLIDE(depth=2, dtype="float64", scale="range").fit(X).transform(X)
    assert np.asarray(features) == pytest.approx(SLIDE(depth=2, dtype="float64").fit_transform(by_hand), abs=1e-9)


def test_that_a_scaled_fit_is_not_warned_about_and_ignores_rows_of_weight_zero():
    X, weights = skewed(), np.arange(301) % 2
    for scale in ("range", "quantile"):
        weighted = SLIDE(depth=1, scale=scale, dtype="float64").fit(X, sample_weight=weights).transform(X)
        kept = SLIDE(depth=1, scale=scale, dtype="float64").fit(X[weights > 0]).transform(X)
        assert weighted == pytest.approx(kept, abs=1e-9)
    classifier = SLIDEClassifier(depth=1, scale="quantile", widths="median", C=10.0)
    assert classifier.fit(X, X[:, 0] > np.median(X[:, 0])).score(X, X[:, 0] > np.median(X[:, 0])) > 0.9
    with pytest.warns(UserWarning, match="scale='range' or scale='quantile' scales features"):
        SLIDE(depth=1).fit(X)


@pytest.mark.parametrize(
    ("parameters", "X", "sentence"),
    [
        ({"scale": "range"}, sparse.csr_matrix(np.eye(4)), "sparse rows, Blocks and Dask arrays cannot be scaled"),
        ({"scale": "quantile"}, Blocks([np.eye(4)]), "Blocks and Dask arrays cannot be scaled; fit with"),
        ({"scale": "median"}, np.eye(4), "scale is 'median'; it must be one of none, range, quantile"),
        ({"scale": "quantile", "threshold": 1.0}, np.eye(4), "threshold is 1; with scale='quantile', it must be"),
        ({"scale": "range"}, np.where(np.eye(4), -np.inf, 1.0), "X contains NaN or infinity: row 0, feature 0 is -inf"),
    ],
)
def test_that_features_that_cannot_be_scaled_are_refused(parameters, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        SLIDE(**parameters).fit(X)
    with pytest.raises(ValueError, match="cannot be scaled"):
        SLIDE(scale="range").fit(np.eye(4)).set_params(scale="none").transform(sparse.csr_matrix(np.eye(4)))


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_that_a_value_beyond_float32_is_named_and_not_mistaken_for_infinity(as_rows):
    X = np.random.default_rng(0).random((50, 4))
    fitted = SLIDE(depth=1).fit(X)
    X[3, 2] = 1e200
    wanted = r"X contains 1e\+200 in row 3, feature 2, which is too large for float32; scale"
    for attempt in (lambda: SLIDE().fit(as_rows(X)), lambda: SLIDE().fit_transform(as_rows(X))):
        with pytest.raises(ValueError, match=wanted):
            attempt()
    with pytest.raises(ValueError, match="which is too large for float32"):
        fitted.transform(as_rows(X))
    with pytest.raises(ValueError, match="sum of their squares is infinite"):
        SLIDE(dtype="float64").fit(as_rows(X))


def squares():
    rows = images(n=160).astype("float32")
    return rows, np.where(rows.reshape(-1, 8, 8).any(axis=1).sum(axis=1) > 3, "wide", "narrow")


def test_that_a_grid_over_depth_equals_the_composition_by_hand():
    X, y = squares()
    folds = StratifiedKFold(3)
    search = GridSearchCV(SLIDEClassifier(0.4, widths="median", C=10.0), {"depth": [0, 1, 3]}, cv=folds).fit(X, y)
    assert search.best_estimator_.score(X, y) > 0.9
    for depth, *scores in zip([0, 1, 3], *(search.cv_results_[f"split{i}_test_score"] for i in range(3)), strict=True):
        for (train, test), score in zip(folds.split(X, y), scores, strict=True):
            slide = SLIDE(0.4, depth).fit(X[train])
            svm = MultiWidthSVC((64,) * (depth + 1), "median", C=10.0).fit(slide.transform(X[train]), y[train])
            assert svm.score(slide.transform(X[test]), y[test]) == score


def test_that_one_width_per_layer_is_learned_and_every_parameter_is_passed_on():
    X, y = squares()
    own = {"noise": 0.6, "depth": 2, "threshold": 0.4, "ridge": 1e-3, "dtype": "float64", "batch_size": 77}
    of_svm = {"criterion": "span", "starts": 1, "subset_size": 80, "retune_rows": 70, "tol": 1e-4, "random_state": 3}
    model = SLIDEClassifier(**own, **of_svm).fit(X, y)
    slide = SLIDE(**own).fit(X)
    svm = MultiWidthSVC(3, **of_svm).fit(slide.transform(X), y)
    assert model.slide_.get_params() == slide.get_params()
    assert model.svm_.get_params() == svm.get_params()
    np.testing.assert_allclose(model.svm_.widths_, svm.widths_, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(slide.transform(X)), atol=1e-4)
    assert model.predict(X).tolist() == model.classes_[(model.decision_function(X) > 0).astype(int)].tolist()


def test_that_the_svm_sees_only_the_layers_above_the_input_if_it_is_left_out_and_depth_0_is_refused():
    X, y = squares()
    model = SLIDEClassifier(0.4, 2, widths="median", C=10.0, include_input=False).fit(X, y)
    slide = SLIDE(0.4, 2).fit(X)
    svm = MultiWidthSVC(2, "median", C=10.0).fit(slide.transform(X)[:, 64:], y)
    np.testing.assert_array_equal(model.svm_.widths_, svm.widths_)
    np.testing.assert_array_equal(model.decision_function(X), svm.decision_function(slide.transform(X)[:, 64:]))
    with pytest.raises(ValueError, match="include_input is False, but depth is 0; use at least one layer"):
        SLIDEClassifier(depth=0, include_input=False).fit(X, y, progress=StopAfter(1))
    with pytest.raises(ValueError, match="include_input is 'no'; it must be True or False"):
        SLIDEClassifier(include_input="no").fit(X, y, progress=StopAfter(1))


@pytest.mark.parametrize("base", [SLIDE, MultiWidthSVC, SLIDEClassifier])
def test_that_a_subclass_can_set_parameters_that_its_own_init_does_not_have(base):
    fixed = {"depth": 1} if base is SLIDE else {"widths": "median", "loss": "hinge", "C": 1.0}

    class Fixed(base):
        def __init__(self):
            super().__init__(**fixed)

    X, y = squares()
    method = "transform" if base is SLIDE else "decision_function"
    np.testing.assert_array_equal(*(getattr(each.fit(X, y), method)(X) for each in (Fixed(), base(**fixed))))


def test_that_a_fit_reports_to_the_end_and_can_be_cancelled_in_both_parts():
    X, y = squares()
    model, listener = SLIDEClassifier(depth=2, widths="median", C=1.0), StopAfter()
    model.fit(X, y, progress=listener)
    assert listener.complete
    for reports in (2, len(listener.fractions) - 1):
        with pytest.raises(Cancelled):
            model.fit(X, y, progress=StopAfter(reports))


def test_that_one_class_missing_labels_and_svm_parameters_are_refused_before_anything_is_fitted():
    for name, wrong in (("C", -1.0), ("C", 1e-40), ("widths", "mean")):
        with pytest.raises(ValueError, match=f"{name} is .*{wrong}.*; it must be"):
            SLIDEClassifier(**{name: wrong}).fit(images(n=10), np.arange(10) % 2, progress=StopAfter(1))
    with pytest.raises(ValueError, match="y has one class, 1; the number of classes has to be greater than one"):
        SLIDEClassifier().fit(images(n=10), np.ones(10, int), progress=StopAfter(1))
    with pytest.raises(ValueError, match="y has masked labels; fill them in, or leave their rows out"):
        SLIDEClassifier().fit(images(n=10), np.ma.masked_equal(np.arange(10) % 3, 2), progress=StopAfter(1))
    for labels in (["a", None, "b"], pd.Series(["a", pd.NA, "b"]), np.array(["2026", "NaT", "2027"], "M8[D]")):
        with pytest.raises(ValueError, match="y has no label in row 1; fill it in, or leave the row out"):
            SLIDEClassifier().fit(images(n=3), labels, progress=StopAfter(1))


PUBLIC = [getattr(slide_gui, name) for name in slide_gui.__all__]
PUBLIC_ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]


def _documented(estimator):
    """Return the documented default of each parameter; docstrings may refer to those of another estimator."""
    documented = {}
    docstring = inspect.getdoc(estimator)
    for names, other in re.findall(r"^(\w+(?:, \w+)*)\n    (?:As|Same as) (?:for|in) `(\w+)`", docstring, re.MULTILINE):
        theirs = _documented(getattr(slide_gui, other))
        documented |= {name: theirs[name] for name in names.split(", ")}
    for name, value in re.findall(r"^(\w+) : .*\bdefault=(.+)$", docstring, re.MULTILINE):
        gib = value.removesuffix(" GiB")
        documented[name] = ast.literal_eval(gib) if gib == value else int(gib) << 30
    return documented


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_that_every_parameter_has_its_documented_default(estimator):
    documented = _documented(estimator)
    defaults = {name: parameter.default for name, parameter in inspect.signature(estimator).parameters.items()}
    assert defaults == {name: documented[name] for name in defaults}


@pytest.mark.parametrize(("name", "parameters"), [("SLIDE", StackParameters()), ("MultiWidthSVC", SvmParameters())])
def test_that_estimators_and_runs_have_the_same_defaults(name, parameters):
    own = vars(parameters) | {"window": None}  # None means the default of the run
    signature = inspect.signature(getattr(slide_gui, name)).parameters
    shared = {name: parameter.default for name, parameter in signature.items() if name in own and name != "groups"}
    assert len(shared) >= 6
    assert shared == {name: own[name] for name in shared}


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_that_an_invalid_parameter_is_refused_by_its_name_and_a_seed_with_the_allowed_values(estimator):
    rows, labels = np.random.default_rng(0).random((12, 6)), np.arange(12) % 2
    number = {slide_gui.MultiWidthSVC: "C", slide_gui.LinearImputer: "ridge"}.get(estimator, "noise")
    with pytest.raises(ValueError, match=rf"{number} is -1\.5; it must be"):  # not np.float64(-1.5)
        estimator(**{number: np.float64(-1.5)}).fit(rows, labels)
    for name in inspect.signature(estimator).parameters:
        for wrong in (object(), {1: 2}, np.array([-1.0, np.nan]), "such and such"):
            if name == "class_weight" and isinstance(wrong, dict):  # scikit-learn only warns about this value
                continue
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                estimator(**{name: wrong}).fit(rows, labels)
    for seed in (-1, 1.5, "7", [7]) if hasattr(estimator(), "random_state") else ():
        with pytest.raises(ValueError, match="must be an integer, 0 or more, a NumPy RandomState, or None"):
            estimator(random_state=seed).fit(rows, labels)


CLASSIFIERS = [MultiWidthSVC(3, (4.0, 3.0, 5.0), C=2.0), SLIDEClassifier(depth=1, widths=(4.0, 4.0), C=2.0)]


def _frame(n=120, names=None):
    Z, y = layers(n)
    return pd.DataFrame(Z, columns=names or [f"pixel {i}" for i in range(12)]), y


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_that_sparse_rows_are_classified_as_the_same_dense_rows(classifier, kind):
    Z, y = three_classes(150)
    Z[np.abs(Z) < 0.7] = 0.0
    dense = classifier.fit(Z, y).decision_function(Z)
    found = classifier.fit(kind(Z), y)
    np.testing.assert_allclose(found.decision_function(kind(Z)), dense, atol=1e-6)
    np.testing.assert_allclose(found.decision_function(Z), found.decision_function(kind(Z)), atol=1e-6)
    assert found.score(kind(Z), y) > 0.5


@pytest.mark.parametrize("estimator", [SLIDE(depth=1), *CLASSIFIERS])
def test_that_the_columns_of_a_data_frame_have_to_be_those_of_the_fit(estimator):
    frame, y = _frame()
    estimator.fit(frame, y)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    ask = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    with pytest.raises(ValueError, match="feature names should match"):
        ask(frame.rename(columns={"pixel 3": "another"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        ask(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ask(frame.to_numpy())


@pytest.mark.parametrize("estimator", [SLIDE(depth=1), *CLASSIFIERS, LinearImputer()])
def test_that_a_cancelled_refit_leaves_the_earlier_model_unchanged(estimator):
    frame, y = _frame()
    before = dict(vars(estimator.fit(frame, y)))
    with pytest.raises(Cancelled):
        estimator.fit(frame.to_numpy()[:, 3:], y, progress=StopAfter(1))
    assert vars(estimator) == before


def test_that_layers_and_features_are_named_in_the_output():
    frame, y = _frame()
    slide = SLIDE(depth=2).set_output(transform="pandas")
    assert np.array_equal(slide.fit(frame).layers(frame)[0], frame.astype(np.float32))
    with config_context(transform_output="pandas"):
        SLIDEClassifier(depth=1, widths="median", C=1.0).fit(frame, y).predict(frame)
    found = slide.fit_transform(frame)
    assert list(found.columns) == [f"h{k}_pixel {i}" for k in range(3) for i in range(12)]
    assert list(found.columns) == list(slide.get_feature_names_out())
    assert found.index.equals(frame.index)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        slide.get_feature_names_out(list(frame.columns)[::-1])
    assert list(slide.fit(images()[:50]).get_feature_names_out()[[0, 63, 64]]) == ["h0_x0", "h0_x63", "h1_x0"]
    named = slide.get_feature_names_out([f"{i // 8}, {i % 8}" for i in range(64)])
    assert list(named[[0, 64 + 9]]) == ["h0_0, 0", "h1_1, 1"]
    whole = make_pipeline(SLIDE(depth=2), MultiWidthSVC(widths="median", C=1.0)).set_output(transform="pandas")
    whole.fit(frame, y, multiwidthsvc__sample_weight=np.linspace(0.5, 2.0, len(y)))
    assert len(whole[-1].widths_) == 3


def test_that_groups_follow_the_names_that_slide_gives_to_its_features():
    X, y = _frame(60)
    Z = SLIDE(depth=2).set_output(transform="pandas").fit_transform(X)
    layers, one = (12, 12, 12), (36,)
    for groups, rows, sizes in (("auto", Z, layers), (3, Z, layers), (None, Z, one), ("auto", Z.to_numpy(), one)):
        assert MultiWidthSVC(groups, "median", C=1.0).fit(rows, y).model_.embedding.sizes == sizes
    for wrong in (4, (12, 24)):
        with pytest.raises(ValueError, match="define 3 layers of 12, 12, 12 columns; leave groups at"):
            MultiWidthSVC(wrong, "median", C=1.0).fit(Z, y)
    for wrong in (np.array(3), iter(layers)):  # a second fit could not read the iterator again
        with pytest.raises(ValueError, match=r"groups is .*; it must be an integer, 1 or more"):
            MultiWidthSVC(wrong, "median", C=1.0).fit(Z, y)


def test_that_layers_are_counted_by_the_names_of_their_columns():
    assert layer_sizes(["h0_a", "h0_b", "h1_a", "h1_b"]) == (2, 2)
    assert layer_sizes(["slide__h0_x0", "slide__h0_x1", "slide__h0_x2", "slide__h2_x1"]) == (3, 1)
    assert layer_sizes(["h1__h0_x0", "h1__h0_x1", "h1__h1_x0"]) == (2, 1)
    assert layer_sizes(["height", "h", "x0", "2h0_"]) is None


def test_that_columns_of_unknown_layers_are_refused_unless_groups_are_given():
    Z, y = layers(30)
    for third, words in (("h0_b", "are not ordered by layer"), ("age", "column 'age' has no layer prefix")):
        rows = pd.DataFrame(Z[:, :4], columns=["h0_a", "h1_a", third, "h1_b"])
        with pytest.raises(ValueError, match=words):
            MultiWidthSVC(widths="median", C=1.0).fit(rows, y)
        assert MultiWidthSVC(2, "median", C=1.0).fit(rows, y).model_.embedding.sizes == (2, 2)


X = (np.random.default_rng(0).standard_normal((300, 12)) @ np.diag(np.linspace(3.0, 0.1, 12))).astype(np.float32)
DOUBLE = X.astype(np.float64)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.intp) + (X[:, 2] > 2)
KNN, FOREST, NETWORK, REGRESSION, PROJECTION = (
    "neighbors.KNeighborsClassifier", "ensemble.RandomForestClassifier", "neural_network.MLPClassifier",
    "linear_model.LogisticRegression", "random_projection.GaussianRandomProjection",
)  # fmt: skip


def _pca(**parameters):
    return Estimator.of("decomposition.PCA", parameters)


def test_that_pca_keeps_the_fewest_directions_with_the_variance_whitening_equalises_them_and_equal_rows_are_fitted():
    exact = np.cov(X.T.astype(np.float64))
    shares = np.cumsum(np.linalg.eigvalsh(exact)[::-1]) / np.trace(exact)
    k = int(np.searchsorted(shares, 0.8)) + 1
    Z = Transformer(baselines.PCA.estimator(0.8).fit("transformer", 0, DOUBLE)).transform(X)
    assert (Z.shape, Z.dtype) == ((300, k), np.float32)
    np.testing.assert_allclose(Z.var(axis=0, ddof=1).sum() / np.trace(exact), shares[k - 1], rtol=1e-5)
    Z = Transformer(baselines.WHITENED_PCA.estimator(0.95).fit("transformer", 0, DOUBLE)).transform(X)
    np.testing.assert_allclose(np.cov(Z.T.astype(np.float64)), np.eye(Z.shape[1]), atol=1e-4)
    for projection in (baselines.PCA, baselines.WHITENED_PCA):
        fitted = Transformer(projection.estimator(0.9).fit("transformer", 0, np.ones((9, 4))))
        np.testing.assert_array_equal(fitted.transform(np.ones((2, 4))), 0)


def test_that_random_directions_are_seeded_unless_the_seed_is_given_as_an_integer_or_drawn_from_a_generator():
    first, again, other = (
        Transformer(baselines.RANDOM_PROJECTION.estimator(5).fit("transformer", seed, DOUBLE)) for seed in (1, 1, 2)
    )
    assert first.transform(X).shape == (300, 5)
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.transform(X), other.transform(X))
    assert Estimator.of(PROJECTION).make("transformer", 7).random_state == 7
    assert Estimator.of(PROJECTION, {"random_state": None}).make("transformer", 7).random_state == 7
    assert Estimator.of(PROJECTION, {"random_state": 3}).make("transformer", 7).random_state == 3
    assert Estimator.of(NETWORK, {"hidden_layer_sizes": [100_000] * 16}).make("classifier", 7).random_state == 7
    assert [seed_of(seed) for seed in (None, 0, 7, np.int64(7))] == [0, 0, 7, 7]
    assert type(seed_of(np.int64(7))) is int
    state, expected = np.random.RandomState(3), np.random.RandomState(3)
    assert [seed_of(state) for _ in range(2)] == [expected.randint(2**31 - 1) for _ in range(2)]


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
    found = Estimator.of(f"sklearn.{KNN}", {"n_neighbors": 3}).fit("classifier", 0, X, Y)
    codes, decisions = predicted_by(found, X[:50])
    np.testing.assert_array_equal(codes, KNeighborsClassifier(3).fit(X, Y).predict(X[:50]))
    assert decisions.shape == (50, 3)
    two = (Y > 0).astype(np.intp)
    codes, decisions = predicted_by(Estimator.of(REGRESSION).fit("classifier", 0, X, two), X)
    np.testing.assert_array_equal(codes, decisions[:, 0] > 0)
    with pytest.raises(Cancelled):
        Estimator.of(REGRESSION).fit("classifier", 0, X, two, progress=StopAfter(1))


def test_that_the_tables_contain_only_parameters_and_words_of_scikit_learn():
    for kind, classes in ESTIMATORS.items():
        for name, allowed in classes.items():
            assert not {"memory", "n_jobs", "input", "verbose", "warm_start"} & allowed.keys(), name
            for key, rule in allowed.items():
                for value in (None, *(each for each in rule if isinstance(each, str))):
                    made = Estimator.of(name, {key: value}).make(kind, 0)
                    assert made.get_params()[key] == (0 if key == "random_state" else value)
                    if value is not None:
                        made._validate_params()


@pytest.mark.parametrize(
    ("name", "parameters", "kind", "message"),
    [
        ("os.path", {}, "classifier", "is not an allowed classifier; choose one of ensemble.RandomForest"),
        ("utils.fixes.Parallel", {}, "transformer", "is not an allowed transformer; choose one of decomp"),
        (KNN, {}, "transformer", "is not an allowed transformer"),
        (KNN, {"n_neighbours": 1}, "classifier", "has no parameter 'n_neighbours'; it accepts metric, n_neighbors"),
        (KNN, {"metric": "precomputed"}, "classifier", "expected euclidean or manhattan"),
        (KNN, {"n_neighbors": 3.5}, "classifier", "expected an integer"),
        (KNN, {"p": float("nan")}, "classifier", "expected a finite number"),
        (FOREST, {"n_estimators": 100_001}, "classifier", "expected an integer up to 100000"),
        (NETWORK, {"hidden_layer_sizes": [10, 100_001]}, "classifier", "or integers"),
        (NETWORK, {"hidden_layer_sizes": [1] * 17}, "classifier", "or integers"),
        (NETWORK, {"hidden_layer_sizes": ["a"]}, "classifier", "or integers"),
        ("decomposition.PCA", {"n_components": {"a": 1}}, "transformer", "is not a valid value"),
    ],
)
def test_that_other_classes_and_parameters_are_refused(name, parameters, kind, message):
    with pytest.raises(ValueError, match=message):
        Estimator.of(name, parameters).make(kind, 0)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "decomposition.PCA"}, 'must have a "name" and'),
        ({"name": 3, "parameters": {}}, 'must have a "name" and'),
        ({"name": "../../PCA", "parameters": {}}, "is not the name of a class"),
        ({"name": "svm.SVC", "parameters": {"a b": 1}}, "expected a number, a word"),
        ({"name": "svm.SVC", "parameters": {"kernel": "/tmp/cache"}}, "expected a number, a word"),
        ({"name": "svm.SVC", "parameters": {"C": 10**18}}, "expected a number, a word"),
    ],
)
def test_that_a_document_that_describes_no_class_is_refused(document, message):
    with pytest.raises(ValueError, match=message):
        Estimator.from_document(document)


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        (NETWORK, {"hidden_layer_sizes": [3] * 16, "p": 1}, f"MLPClassifier(hidden_layer_sizes={(3,) * 16}, p=1)"),
        ("svm.SVC", {"C": 2, "kernel": "rbf", "gamma": None}, "SVC(C=2, gamma=None, kernel='rbf')"),  # earlier versions
    ],
)
def test_that_a_document_is_read_and_named(name, parameters, text):
    estimator = Estimator.of(name, parameters)
    assert Estimator.from_document(estimator.document()) == estimator
    assert str(estimator) == text


def test_that_components_that_cannot_be_computed_and_representations_that_are_not_finite_are_refused():
    message = "^PCA cannot compute 50 components from 300 rows with 12 features; set n_components to 12 or less$"
    with pytest.raises(ValueError, match=message):
        Transformer(_pca(n_components=50).fit("transformer", 0, DOUBLE))
    with pytest.raises(ValueError, match=r"PCA cannot be fitted to these rows .*n_components"):
        Transformer(_pca(n_components=-1).fit("transformer", 0, DOUBLE))
    Transformer(_pca(n_components=12).fit("transformer", 0, DOUBLE))
    for values in (np.array([[1.0, np.nan]]), np.array([[1e39]])):
        estimator = SimpleNamespace(transform=lambda _, values=values: values)
        with pytest.raises(ValueError, match="returned values that are not finite"), np.errstate(over="ignore"):
            Transformer(estimator).transform(X[:2])
    with pytest.raises(ValueError, match="X has 11 features, but PCA is expecting 12 features"):
        Transformer(_pca(n_components=3).fit("transformer", 0, DOUBLE)).transform(X[:, :11])


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
    assert projection.checked(1 if projection.amount_kind == "directions" else 0.999, "some-svm") in (1.0, 0.999)


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
    codes, decisions = predicted_by(estimator, X[:3])
    assert codes.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(decisions, expected)
