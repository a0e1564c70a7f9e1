from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from slide_gui import SLIDE
from slide_gui.core.sampling import held_out_mask, stratified_folds, stratified_subset
from slide_gui.core.svm import selection
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.model import class_scores
from slide_gui.core.svm.parameters import ChosenBy, SelectedWidths, SvmParameters, WidthsStep
from slide_gui.core.svm.selection import C_GRID, adjusted, fit_svm, median_width_search
from slide_gui.core.svm.smo import Box, kkt_gap
from slide_gui.core.svm.training import TrainingSet, TrainingStep
from slide_gui.progress import Cancelled, Stage
from tests.core.svm_data import SIZES, WIDTHS, StopAfter, layers, not_equivalent_by_weight, three_classes

_checked = partial(parametrize_with_checks, expected_failed_checks=not_equivalent_by_weight)


def _needs_learned_widths(parameter):
    """Return True if a check needs learned widths; rows are converted before any width is learned."""
    check = getattr(parameter, "values", parameter)[1]
    forms = ("estimator_sparse_array", "estimator_sparse_matrix", "dtype_object", "estimators_dtypes")
    return check.func.__name__.removeprefix("check_") not in forms and not check.keywords.get("readonly_memmap", False)


def _contract():
    given = _checked([MultiWidthSVC(loss="hinge", widths="median", C=1.0), MultiWidthSVC(widths=[2.0], C=1.0)])
    learned = filter(_needs_learned_widths, _checked([MultiWidthSVC()]).args[1])
    return pytest.mark.parametrize(given.args[0], [*learned, *given.args[1]], **given.kwargs)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@_contract()
def test_that_scikit_learns_contract_is_kept(estimator, check):
    check(estimator)


def _scaled(Z):
    return Z / np.repeat(WIDTHS, SIZES)


@pytest.mark.parametrize("n", [200, 2300])
@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("constant", [[], [2, 5]])  # columns that are constant in training but not in new rows
def test_that_decision_values_equal_those_of_SVC_on_scaled_layers(n, C, constant):
    Z, y = layers(n + 200)
    Z[:n, constant] = 0.3
    svm = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=C, tol=1e-4).fit(Z[:n], y[:n])
    svc = SVC(gamma=1.0, C=C, tol=1e-5).fit(_scaled(Z[:n]), y[:n])
    np.testing.assert_allclose(svm.decision_function(Z[n:]), svc.decision_function(_scaled(Z[n:])), atol=1e-3)
    assert svm.score(Z[n:], y[n:]) == svc.score(_scaled(Z[n:]), y[n:])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_pairs_that_share_their_rows_are_trained_as_each_would_be_alone(loss):
    Z, y = three_classes(1500)
    shared = fit_svm(Z, y, SvmParameters(SIZES, WIDTHS, loss=loss, C=3.0, tol=1e-4))
    alone = fit_svm(Z, y, SvmParameters(SIZES, WIDTHS, loss=loss, C=3.0, tol=1e-4, memory=7_000_000))
    np.testing.assert_allclose(shared.margins(Z), alone.margins(Z), atol=1e-3)
    svc = [SVC(gamma=1.0, C=3.0, tol=1e-5).fit(_scaled(Z)[y != code], y[y != code]) for code in (2, 1, 0)]
    if loss == "hinge":
        expected = np.column_stack([one.decision_function(_scaled(Z)) for one in svc])
        np.testing.assert_allclose(shared.margins(Z), expected, atol=1e-3)


def test_that_one_vs_one_predicts_and_scores_as_SVC_does_by_votes_and_then_margins():
    scores = class_scores(np.array([[0.1, -5.0, 0.2], [0.1, 100.0, 0.1]]), 3)
    assert scores.argmax(axis=1).tolist() == [0, 2]  # first one vote for each class, then two votes for class 2
    assert np.all(np.abs(scores - np.round(scores)) < 1 / 3)
    assert class_scores(np.zeros((1, 3)), 3).tolist() == [
        [0.0, 1.0, 2.0]
    ]  # a margin of 0 is a vote for the second class
    Z, y = three_classes(450)
    svm = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=3.0, tol=1e-5).fit(Z[:300], y[:300])
    svc = SVC(gamma=1.0, C=3.0, tol=1e-6).fit(_scaled(Z[:300]), y[:300])
    np.testing.assert_allclose(svm.decision_function(Z[300:]), svc.decision_function(_scaled(Z[300:])), atol=1e-3)
    same = svm.predict(Z[300:]) == svc.predict(_scaled(Z[300:]))
    assert np.mean(same) >= 0.98  # SVC breaks ties by the order of the classes
    assert svm.dual_coef_.shape == (3, len(svm.support_))
    assert svm.n_support_.sum() == len(svm.support_)


def test_that_widths_of_a_subset_are_rescaled_on_other_rows():
    Z, y = layers(300)
    svm = MultiWidthSVC(SIZES, subset_size=100, starts=1, random_state=0).fit(Z, y)
    plain = MultiWidthSVC(SIZES, subset_size=100, starts=1, random_state=0, retune=False).fit(Z, y)
    ratio = svm.widths_ / plain.widths_
    assert np.ptp(ratio) < 1e-9
    assert float(np.round(ratio[0] ** 2, 6)) in (0.5, 1.0, 2.0)


def test_that_payloads_contain_widths_then_training_and_any_report_can_cancel():
    Z, y = three_classes(60)
    Z[:, 0] += 20.0 * y  # no kernel makes an error, so the learned widths win the tie
    parameters = SvmParameters(SIZES, starts=1)
    listener = StopAfter()
    model = fit_svm(Z, y, parameters, progress=listener)
    kinds = [type(payload) for payload in listener.payloads]
    assert list(dict.fromkeys(kinds)) == [Stage, WidthsStep, ChosenBy, TrainingStep]
    assert listener.payloads[kinds.index(ChosenBy)] == model.trained.chosen
    names = [payload.name for payload in listener.payloads if isinstance(payload, Stage)]
    assert list(dict.fromkeys(names)) == [
        "computing distances between 60 rows",
        "learning widths on four fifths of the rows to compare them",
        "comparing with median widths",
    ]
    assert {step.pair for step in listener.payloads if isinstance(step, TrainingStep)} == {0, 1, 2}
    assert np.all(np.diff(listener.fractions) >= 0)
    assert model.trained.history
    for reports in range(1, len(listener.fractions), 211):
        with pytest.raises(Cancelled):
            fit_svm(Z, y, parameters, progress=StopAfter(reports))


def _degenerate(name):
    Z, y = layers(30)
    match name:
        case "two rows":
            return Z[:2], np.array([0, 1])
        case "all rows equal":
            return np.ones((20, 12)), np.arange(20) % 2
        case "duplicates with both labels":
            return np.vstack([Z, Z]), np.r_[y, 1 - y]
        case "a constant layer":
            Z[:, 4:7] = 3.0
            return Z, y
        case _:
            return Z, np.r_[1, np.zeros(29, int)]  # a class of one row


@pytest.mark.parametrize(
    ("criterion", "loss"),
    [("radius-margin", "squared_hinge"), ("span", "squared_hinge"), ("press", "squared_hinge"), ("span", "hinge")],
)
@pytest.mark.parametrize(
    "name", ["two rows", "all rows equal", "duplicates with both labels", "a constant layer", "a class of one row"]
)
def test_that_degenerate_rows_end_in_a_finite_model(name, loss, criterion):
    Z, y = _degenerate(name)
    svm = MultiWidthSVC(SIZES, loss=loss, criterion=criterion).fit(Z, y)
    assert np.isfinite(svm.decision_function(Z)).all()
    assert np.isfinite(svm.widths_).all()
    assert svm.shares_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"widths": (1.0, 2.0)}, "3 positive numbers"),
        ({"widths": (1.0, 0.0, 2.0)}, "one positive number per layer"),
        ({"groups": 5}, "groups is 5, which does not divide the 12 columns"),
        ({"groups": "4"}, "groups is '4'; it must be \"auto\""),
        ({"starts": 0}, "starts is 0; it must be an integer, 1 or more"),
    ],
)
def test_that_wrong_parameters_are_refused_by_name(changes, words):
    Z, y = layers(30)
    with pytest.raises(ValueError, match=words):
        MultiWidthSVC(**({"groups": SIZES} | changes)).fit(Z, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("case", ["one row far away", "two groups far apart", "little memory"])
def test_that_the_reported_gap_holds_in_float64(loss, case):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1100, 10))
    y = (Z[:, 0] * Z[:, 1] + 0.3 * rng.standard_normal(1100) > 0).astype(int)
    width, C, memory = 3.0, 100.0, 2 << 30
    if case == "one row far away":
        Z[7] = 1e6
    elif case == "two groups far apart":
        Z[::2] += 3e3
    else:
        width, C, memory = 100.0, 1000.0, 8 << 20
    svm = MultiWidthSVC(1, [width], C=C, loss=loss, memory=memory).fit(Z, y)
    kernel = np.exp(-np.square((Z[:, None] - Z[None]) / width).sum(-1))
    beta, squared = np.zeros(1100), loss == "squared_hinge"
    beta[svm.support_] = svm.dual_coef_[0]
    residual = np.where(y == 1, 1.0, -1.0) - kernel @ beta - (beta / C if squared else 0.0)
    box = Box.of(np.where(y == 1, 1.0, -1.0), np.inf if squared else C)
    gap, _ = kkt_gap(residual, beta, box)
    assert gap < 1e-3
    assert svm.model_.trained.gap == pytest.approx(gap, abs=2e-4)
    np.testing.assert_allclose(svm.decision_function(Z), kernel @ beta + svm.intercept_, atol=1e-2)


def test_that_a_gap_beyond_the_precision_of_float64_is_not_reported_as_reached():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((200, 3)), np.arange(200) % 2
    Z[::4] += 1e9
    with pytest.warns(ConvergenceWarning, match="has not converged: its optimality gap is .* scale the features"):
        MultiWidthSVC(1, [1.0], C=10.0, max_iter=20_000).fit(Z, y)


def test_that_a_value_whose_squares_overflow_is_refused_with_its_place():
    Z, y = layers(60)
    svm = MultiWidthSVC(SIZES, WIDTHS, C=1.0).fit(Z, y)
    Z[3, 2] = -1e200
    for attempt in (lambda: MultiWidthSVC(SIZES, WIDTHS, C=1.0).fit(Z, y), lambda: svm.predict(Z)):
        with pytest.raises(ValueError, match=r"Z contains -1e\+200 in row 3, column 2; .* scale the features"):
            attempt()


def test_that_training_the_layers_of_an_array_with_one_width_causes_a_warning():
    rng = np.random.default_rng(0)
    X = rng.random((60, 6)).astype(np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    svm = MultiWidthSVC(widths="median", C=1.0)
    with pytest.warns(UserWarning, match=r"3 layers without column names.*groups=.*SLIDEClassifier"):
        make_pipeline(SLIDE(depth=2), svm).fit(X, y)
    Z = SLIDE(depth=2).fit(X).transform(X)
    with pytest.warns(UserWarning, match="3 layers without column names"):
        svm.fit(Z, y)
    svm.fit(Z.copy(), y)  # no warning for arrays without layers or with given groups
    svm.fit(X, y)
    clone(svm).set_params(groups=None).fit(Z, y)
    clone(svm).set_params(groups=[6, Z.shape[1] - 6]).fit(Z, y)
    make_pipeline(SLIDE(depth=0), svm).fit(X, y)


def test_that_scale_and_C_are_adjusted_on_up_to_retune_rows_rows(monkeypatch):
    Z, y = layers(150)
    monkeypatch.setattr(selection, "MOST_ROWS", 60)
    monkeypatch.setattr(selection, "_MOST_HELD_OUT", 20)
    data = TrainingSet(Z, y, (12,))
    chosen = SelectedWidths(np.array([2.0]), 3.0)
    found = adjusted(data, chosen, SvmParameters(loss="hinge", retune_rows=150))
    mask = held_out_mask(y, 0)
    some = np.flatnonzero(mask)
    held_out = some[stratified_subset(y[some], 20, 0)]
    rest = np.setdiff1d(np.arange(150), held_out)
    errors = {}
    for scale in (1.0, 0.5**0.5, 2.0**0.5):
        for factor in (1.0, 0.3, 3.0):
            svc = SVC(gamma=1.0 / (2.0 * scale) ** 2, C=3.0 * factor).fit(Z[rest], y[rest])
            errors[scale, factor] = int(np.sum(svc.predict(Z[held_out]) != y[held_out]))
    scale, factor = min(errors, key=errors.get)
    assert (found.widths[0], found.C) == pytest.approx((2.0 * scale, 3.0 * factor))


def test_that_the_grid_equals_cross_validation_with_SVC():
    Z, y = layers(120)
    found = median_width_search(TrainingSet(Z, y, (12,)), SvmParameters(loss="hinge", seed=1))
    folds = stratified_folds(y, 1)
    assert np.bincount(folds).tolist() == [24] * 5
    median = np.median(np.square(Z[:, None] - Z[None]).sum(-1)[np.triu_indices(120, 1)])
    assert [(point.sigma, point.C) for point in found.grid[:16]] == [
        (pytest.approx(factor**0.5), C) for factor in (0.1, 0.3, 1.0, 3.0) for C in C_GRID
    ]
    for point in found.grid:
        gamma = 1.0 / (point.sigma**2 * median)
        wrong = 0
        for fold in range(5):
            svc = SVC(gamma=gamma, C=point.C).fit(Z[folds != fold], y[folds != fold])
            wrong += int(np.sum(svc.predict(Z[folds == fold]) != y[folds == fold]))
        assert abs(point.error - wrong / 120) <= 1 / 120  # one row may lie on the boundary
    coarse, best = (min(points, key=lambda point: point.error) for points in (found.grid[:16], found.grid))
    assert [point.sigma / coarse.sigma for point in found.grid[16:]] == pytest.approx([(2 / 3) ** 0.5, 1.5**0.5])
    assert found.widths[0] == pytest.approx(best.sigma * np.sqrt(median))
    assert best.C == found.C


def test_that_the_distances_of_a_grid_leave_half_of_the_memory_to_its_trainings():
    data, enough = TrainingSet(*layers(100), (12,)), 2 * least_memory(80)  # for four fifths of the rows
    found = median_width_search(data, SvmParameters(loss="hinge", C=1.0, memory=enough))
    assert [point.C for point in found.grid] == [1.0] * 6
    with pytest.raises(MemoryError, match="training on 80 points needs at least"):
        median_width_search(data, SvmParameters(loss="hinge", C=1.0, memory=enough - 2))


def test_that_median_widths_are_searched_for_several_classes_and_can_be_cancelled():
    data = TrainingSet(*three_classes(90), SIZES)
    found = median_width_search(data, SvmParameters())
    assert len(found.widths) == 3
    assert min(point.error for point in found.grid) < 0.4
    with pytest.raises(Cancelled):
        median_width_search(data, SvmParameters(), progress=StopAfter(20))
