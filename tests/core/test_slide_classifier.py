import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier
from slide_gui.progress import Cancelled
from tests.core.slide_data import images
from tests.core.svm_data import StopAfter, not_equivalent_by_weight


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
