"""The estimators: defaults, refused parameters, and inputs and outputs other than arrays."""

import ast
import inspect
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import slide_gui
from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier
from slide_gui.core.estimators import layer_sizes, seed_of
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.progress import Cancelled
from tests.core.slide_data import images
from tests.core.svm_data import StopAfter, layers, not_equivalent_by_weight, three_classes


def _summed_in_float32(estimator):
    """Return the reason why a check fails: rows with weights are summed in float64, others in `dtype`."""
    reason = "without weights, products of float32 rows are summed in float32"
    return {"check_sample_weight_equivalence_on_dense_data": reason} if estimator.dtype == "float32" else {}


@pytest.mark.filterwarnings("ignore:.* of the values are above the threshold")
@parametrize_with_checks(
    [SLIDE(), SLIDE(depth=1, dtype="float64", squashing="tanh")], expected_failed_checks=_summed_in_float32
)
def test_that_slide_keeps_the_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("text", [[["1", "2"], ["3", "4"]], np.array([[0.5, 1.0], [0.0, "1.0"]], dtype=object)])
@pytest.mark.parametrize("estimator", [SLIDE(depth=1), SLIDEClassifier(), MultiWidthSVC()])
def test_that_numbers_given_as_text_are_refused(estimator, text):
    with pytest.raises(ValueError, match=r"X contains text: row \d, feature \d is '1(\.0)?'; convert it to a number"):
        estimator.fit(text, [0, 1])
    slide = SLIDE(depth=1).fit(np.eye(2))
    with pytest.raises(ValueError, match="X contains text"):
        slide.transform(text)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("slide_gui", "numpy"),
        ("slide_gui.core.baselines", "sklearn"),
        ("slide_gui.core.svm.selection", "PySide6 matplotlib scipy sklearn"),
        ("slide_gui.core.slide.estimator", "PySide6 matplotlib pyqtgraph sklearn.svm sklearn.linear_model"),
    ],
)
def test_that_importing_a_part_of_the_package_is_cheap(module, absent):
    code = f"import sys, {module}; print([name for name in {absent.split()!r} if name in sys.modules])"
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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.* of the values are above the threshold")
@parametrize_with_checks(
    [SLIDEClassifier(depth=1, widths="median", C=1.0)], expected_failed_checks=not_equivalent_by_weight
)
def test_that_scikit_learns_contract_is_kept(estimator, check):
    check(estimator)


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
    of_svm = {"criterion": "span", "starts": 1, "subset_size": 80, "retune": False, "tol": 1e-4, "random_state": 3}
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
        SLIDEClassifier(depth=0, include_input=False).fit(X, y)
    with pytest.raises(ValueError, match="include_input is 'no'; it must be True or False"):
        SLIDEClassifier(include_input="no").fit(X, y)


def test_that_a_fit_reports_to_the_end_and_can_be_cancelled_in_both_parts():
    X, y = squares()
    model, listener = SLIDEClassifier(depth=2, widths="median", C=1.0), StopAfter()
    model.fit(X, y, progress=listener)
    assert listener.fractions[-1] == pytest.approx(1.0)
    assert (np.diff(listener.fractions) >= 0).all()
    for reports in (2, len(listener.fractions) - 1):
        with pytest.raises(Cancelled):
            model.fit(X, y, progress=StopAfter(reports))


def test_that_one_class_is_refused_before_anything_is_fitted():
    with pytest.raises(ValueError, match="y has one class, 1; the number of classes has to be greater than one"):
        SLIDEClassifier().fit(images(n=10), np.ones(10, int), progress=StopAfter(1))


PUBLIC = [getattr(slide_gui, name) for name in slide_gui.__all__]
ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]


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


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_that_every_parameter_has_its_documented_default(estimator):
    signature = inspect.signature(estimator).parameters
    documented = _documented(estimator)
    assert {name: parameter.default for name, parameter in signature.items()} == {
        name: documented[name] for name in signature
    }


@pytest.mark.parametrize(
    ("estimator", "parameters"), [("SLIDE", StackParameters()), ("MultiWidthSVC", SvmParameters())]
)
def test_that_estimators_and_runs_have_the_same_defaults(estimator, parameters):
    own = vars(parameters)
    signature = inspect.signature(getattr(slide_gui, estimator)).parameters
    shared = {name: parameter.default for name, parameter in signature.items() if name in own and name != "groups"}
    assert len(shared) >= 6
    assert shared == {name: own[name] for name in shared}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_that_an_invalid_parameter_is_refused_by_its_name(estimator):
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


@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if hasattr(one(), "random_state")])
@pytest.mark.parametrize("seed", [-1, 1.5, "7", [7]])
def test_that_an_invalid_seed_is_refused_with_the_allowed_values(estimator, seed):
    rows, labels = np.random.default_rng(0).random((12, 6)), np.arange(12) % 2
    with pytest.raises(ValueError, match="must be an integer, 0 or more, a NumPy RandomState, or None"):
        estimator(random_state=seed).fit(rows, labels)


CLASSIFIERS = [
    MultiWidthSVC(3, (4.0, 3.0, 5.0), C=2.0),
    SLIDEClassifier(depth=1, widths=(4.0, 4.0), C=2.0),
]


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


def test_that_layers_and_features_are_named_in_the_output():
    frame, y = _frame()
    slide = SLIDE(depth=2).set_output(transform="pandas")
    found = slide.fit_transform(frame)
    assert list(found.columns) == [f"h{k}_pixel {i}" for k in range(3) for i in range(12)]
    assert list(found.columns) == list(slide.get_feature_names_out())
    assert found.index.equals(frame.index)
    numbered = slide.fit(images()[:50]).get_feature_names_out()
    assert list(numbered[[0, 63, 64]]) == ["h0_x0", "h0_x63", "h1_x0"]
    named = slide.get_feature_names_out([f"{i // 8}, {i % 8}" for i in range(64)])
    assert list(named[[0, 64 + 9]]) == ["h0_0, 0", "h1_1, 1"]
    whole = make_pipeline(SLIDE(depth=2), MultiWidthSVC(widths="median", C=1.0)).set_output(transform="pandas")
    whole.fit(frame, y, multiwidthsvc__sample_weight=np.linspace(0.5, 2.0, len(y)))
    assert len(whole[-1].widths_) == 3


def test_that_groups_follow_the_names_that_slide_gives_to_its_features():
    X, y = _frame(60)
    Z = SLIDE(depth=2).set_output(transform="pandas").fit_transform(X)
    for groups, rows, sizes in (
        ("auto", Z, (12, 12, 12)),
        (3, Z, (12, 12, 12)),
        (None, Z, (36,)),
        ("auto", Z.to_numpy(), (36,)),
    ):
        assert MultiWidthSVC(groups, "median", C=1.0).fit(rows, y).model_.embedding.sizes == sizes
    for wrong in (4, (12, 24)):
        with pytest.raises(ValueError, match="belong to 3 layers of 12, 12, 12 columns; leave groups at"):
            MultiWidthSVC(wrong, "median", C=1.0).fit(Z, y)


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (["h0_a", "h0_b", "h1_a", "h1_b"], (2, 2)),
        (["slide__h0_x0", "slide__h0_x1", "slide__h0_x2", "slide__h2_x1"], (3, 1)),
        (["height", "h", "x0", "2h0_"], None),
    ],
)
def test_that_layers_are_counted_by_the_names_of_their_columns(names, sizes):
    assert layer_sizes(names) == sizes


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["h0_a", "h1_a", "h0_b", "h1_b"], "are not ordered by layer"),
        (["h0_a", "h0_b", "age", "h1_b"], "column 'age' belongs to no layer"),
    ],
)
def test_that_columns_of_unknown_layers_are_refused_unless_groups_are_given(names, words):
    Z, y = layers(30)
    rows = pd.DataFrame(Z[:, :4], columns=names)
    with pytest.raises(ValueError, match=words):
        MultiWidthSVC(widths="median", C=1.0).fit(rows, y)
    assert MultiWidthSVC(2, "median", C=1.0).fit(rows, y).model_.embedding.sizes == (2, 2)


def test_that_seeds_are_integers_or_drawn_from_a_generator():
    assert [seed_of(seed) for seed in (None, 0, 7, np.int64(7))] == [0, 0, 7, 7]
    assert type(seed_of(np.int64(7))) is int
    state, expected = np.random.RandomState(3), np.random.RandomState(3)
    assert [seed_of(state) for _ in range(2)] == [expected.randint(2**31 - 1) for _ in range(2)]
