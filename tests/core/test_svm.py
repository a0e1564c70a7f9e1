"""The SVM estimator, and the effects of row and class weights on a stack, on an SVM and on its widths and C."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier
from slide_gui.core.sampling import held_out_mask, stratified_folds, stratified_subset
from slide_gui.core.slide.parameters import SQUASHINGS
from slide_gui.core.svm import selection, training
from slide_gui.core.svm.model import class_scores
from slide_gui.core.svm.parameters import ChosenBy, SelectedWidths, SvmParameters, WidthsStep
from slide_gui.core.svm.selection import C_GRID, adjusted, fit_svm, median_width_search
from slide_gui.core.svm.smo import Box, kkt_gap
from slide_gui.core.svm.training import TrainingSet, TrainingStep
from slide_gui.progress import Cancelled, Stage
from tests.core.slide_data import images
from tests.core.svm_data import SIZES, WIDTHS, StopAfter, layers, not_equivalent_by_weight, row_weights, three_classes

_checked = partial(parametrize_with_checks, expected_failed_checks=not_equivalent_by_weight)


def _needs_learned_widths(parameter):
    """Return True if a check needs learned widths; rows are converted before any width is learned."""
    check = getattr(parameter, "values", parameter)[1]
    forms = ("estimator_sparse_array", "estimator_sparse_matrix", "dtype_object", "estimators_dtypes")
    return check.func.__name__.removeprefix("check_") not in forms and not check.keywords.get("readonly_memmap", False)


_GIVEN = _checked([MultiWidthSVC(loss="hinge", widths="median", C=1.0), MultiWidthSVC(widths=[2.0], C=1.0)])
_LEARNED = filter(_needs_learned_widths, _checked([MultiWidthSVC(C=1.0)]).args[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(_GIVEN.args[0], [*_LEARNED, *_GIVEN.args[1]], **_GIVEN.kwargs)
def test_that_scikit_learns_contract_is_kept(estimator, check):
    check(estimator)


def _scaled(Z):
    return Z / np.repeat(WIDTHS, SIZES)


@pytest.mark.parametrize("n", [200, 2300])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("constant", [[], [2, 5]])  # columns that are constant in training but not in new rows
@pytest.mark.parametrize("weighted", [False, True])
def test_that_decision_values_equal_those_of_SVC_on_scaled_layers(n, C, constant, weighted):
    Z, y = layers(n + 200)
    Z[:n, constant] = 0.3
    weights = row_weights(n) if weighted else None
    svm = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=C, tol=1e-4).fit(Z[:n], y[:n], weights)
    svc = SVC(gamma=1.0, C=C, tol=1e-5).fit(_scaled(Z[:n]), y[:n], weights)
    np.testing.assert_allclose(svm.decision_function(Z[n:]), svc.decision_function(_scaled(Z[n:])), atol=1e-3)
    assert svm.score(Z[n:], y[n:]) == svc.score(_scaled(Z[n:]), y[n:])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_pairs_that_share_their_rows_are_trained_as_each_would_be_alone(loss, monkeypatch):
    monkeypatch.setattr(training, "solve", solve := Mock(wraps=training.solve))
    Z, y = three_classes(1500)
    shared = fit_svm(Z, y, SvmParameters(SIZES, WIDTHS, loss=loss, C=3.0, tol=1e-4))
    alone = fit_svm(Z, y, SvmParameters(SIZES, WIDTHS, loss=loss, C=3.0, tol=1e-4, memory=7_000_000))
    np.testing.assert_allclose(shared.margins(Z), alone.margins(Z), atol=1e-3)
    left = (2 << 30) - 4 * 12 * 1500  # two thirds for the solver, as the pairs share the vectors and a third for values
    memory = [left - left // 3] * 3 + [7_000_000 - 4 * 12 * 1000] * 3
    assert [call.args[2].memory for call in solve.call_args_list] == memory


@pytest.mark.parametrize("weights", [None, row_weights(300)], ids=["equal", "weighted"])
def test_that_one_vs_one_predicts_and_scores_as_SVC_does_by_votes_and_then_margins(weights):
    scores = class_scores(np.array([[0.1, -5.0, 0.2], [0.1, 100.0, 0.1]]), 3)
    assert scores.argmax(axis=1).tolist() == [0, 2]  # first one vote for each class, then two votes for class 2
    assert np.all(np.abs(scores - np.round(scores)) < 1 / 3)
    assert class_scores(np.zeros((1, 3)), 3).tolist() == [[0.0, 1.0, 2.0]]  # a margin of 0 votes for the second class
    Z, y = three_classes(450)
    svm = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=3.0, tol=1e-5).fit(Z[:300], y[:300], weights)
    svc = SVC(gamma=1.0, C=3.0, tol=1e-6).fit(_scaled(Z[:300]), y[:300], weights)
    np.testing.assert_allclose(svm.decision_function(Z[300:]), svc.decision_function(_scaled(Z[300:])), atol=1e-3)
    np.testing.assert_array_equal(svm.predict(Z[300:]), svm.decision_function(Z[300:]).argmax(axis=1))
    assert np.mean(svm.predict(Z[300:]) == svc.predict(_scaled(Z[300:]))) >= 0.98  # SVC breaks ties by class order


def test_that_payloads_contain_widths_then_training_and_any_report_can_cancel():
    Z, y = three_classes(30)
    Z[:, 0] += 20.0 * y  # no kernel makes an error, so the learned widths win the tie
    parameters = SvmParameters(SIZES, starts=1)
    listener = StopAfter()
    model = fit_svm(Z, y, parameters, progress=listener)
    kinds = [type(payload) for payload in listener.payloads]
    assert list(dict.fromkeys(kinds)) == [Stage, WidthsStep, ChosenBy, TrainingStep]
    assert listener.payloads[kinds.index(ChosenBy)] == model.trained.chosen
    assert [str(payload) for payload in listener.payloads if isinstance(payload, Stage)] == [
        "computing distances between 30 rows",
        "learning widths to compare with median widths, 1 of 2",
        "comparing learned and median widths",
        "learning widths to compare with median widths, 2 of 2",
        "comparing learned and median widths",
    ]
    assert {step.pair for step in listener.payloads if isinstance(step, TrainingStep)} == {0, 1, 2}
    assert [step for step in listener.payloads if isinstance(step, WidthsStep)] == list(model.trained.history)
    for reports in range(1, len(listener.fractions), 421):
        with pytest.raises(Cancelled):
            fit_svm(Z, y, parameters, progress=StopAfter(reports))


ROWS, CODES = layers(30)
DEGENERATE = {
    "two rows": (ROWS[:2], np.array([0, 1])),
    "all rows equal": (np.ones((20, 12)), np.arange(20) % 2),
    "duplicates with both labels": (np.vstack([ROWS, ROWS]), np.r_[CODES, 1 - CODES]),
    "a constant layer": (np.where(np.repeat([False, True, False], SIZES), 3.0, ROWS), CODES),
    "a class of one row": (ROWS, np.r_[1, np.zeros(29, int)]),
}


@pytest.mark.parametrize(
    ("criterion", "loss"),
    [("radius-margin", "squared_hinge"), ("span", "squared_hinge"), ("press", "squared_hinge"), ("span", "hinge")],
)
@pytest.mark.parametrize("name", DEGENERATE)
def test_that_degenerate_rows_end_in_a_finite_model(name, loss, criterion):
    Z, y = DEGENERATE[name]
    svm = MultiWidthSVC(SIZES, loss=loss, criterion=criterion).fit(Z, y)
    assert np.isfinite(svm.decision_function(Z)).all()
    assert np.isfinite(svm.widths_).all()
    assert svm.shares_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"widths": (1.0, 2.0)}, "3 positive numbers"),
        ({"widths": (1.0, 1e-160, 2.0)}, "numbers from 1e-100 to 1e100 for the input and each layer"),
        ({"groups": 5}, "groups is 5, which does not divide the 12 columns"),
        ({"groups": "4"}, "groups is '4'; it must be \"auto\""),
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


def test_that_a_gap_beyond_float64_is_not_reported_as_reached_and_a_value_whose_squares_overflow_is_refused():
    Z, y = np.random.default_rng(0).standard_normal((200, 3)), np.arange(200) % 2
    Z[::4] += 1e9
    with pytest.warns(ConvergenceWarning, match="has not converged: its optimality gap is .* scale the features"):
        MultiWidthSVC(1, [1.0], C=10.0, max_iter=20_000).fit(Z, y)
    Z, y = layers(2052)
    svm = MultiWidthSVC(SIZES, WIDTHS, C=1.0).fit(Z[:60], y[:60])
    Z[2049:2051, 2] = 1e15, -1e200
    svm.predict(Z[:2050])
    words = r"Z contains -1e\+200 in row 2050, column 2; .* values above 1e\+15 may overflow; scale the features, or"
    for attempt in (lambda: MultiWidthSVC(SIZES, WIDTHS, C=1.0).fit(Z, y), lambda: svm.predict(Z)):
        with pytest.raises(ValueError, match=words):
            attempt()


def test_that_layers_with_a_common_width_and_labels_like_a_quantity_cause_a_warning():
    X = np.random.default_rng(0).random((60, 6)).astype(np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    svm = MultiWidthSVC(widths="median", C=1.0)
    with pytest.warns(UserWarning, match=r"3 layers but no column names.*; give groups=3, or use SLIDEClassifier"):
        make_pipeline(SLIDE(depth=2), svm).fit(X, y)
    Z = SLIDE(depth=2).fit(X).transform(X)
    svm.fit(Z.copy(), y)  # no warning for arrays without layers or with given groups
    svm.fit(X, y)
    clone(svm).set_params(groups=None).fit(Z, y)
    clone(svm).set_params(groups=[6, Z.shape[1] - 6]).fit(Z, y)
    make_pipeline(SLIDE(depth=0), svm).fit(X, y)
    for model in (svm, SLIDEClassifier()):
        with pytest.warns(UserWarning, match="y has 150 classes with 2 rows each on average"), pytest.raises(Cancelled):
            model.fit(np.tile(X, (5, 1)), np.arange(300) % 150, progress=StopAfter(fraction=0.301))


def test_that_scale_and_C_are_adjusted_on_up_to_retune_rows_rows(monkeypatch):
    Z, y = layers(150)
    monkeypatch.setattr(selection, "MOST_ROWS", 60)
    monkeypatch.setattr(selection, "_MOST_HELD_OUT", 20)
    data = TrainingSet(Z, y, (12,))
    found = adjusted(data, SelectedWidths(np.array([2.0]), 3.0), SvmParameters(loss="hinge", retune_rows=150))
    some = np.flatnonzero(held_out_mask(y, 0))
    held_out = some[stratified_subset(y[some], 20, 0)]
    rest = np.setdiff1d(np.arange(150), held_out)
    errors = {}
    for scale in (1.0, 0.5**0.5, 2.0**0.5):
        for factor in (1.0, 0.3, 3.0):
            svc = SVC(gamma=1.0 / (2.0 * scale) ** 2, C=3.0 * factor).fit(Z[rest], y[rest])
            errors[scale, factor] = int(np.sum(svc.predict(Z[held_out]) != y[held_out]))
    scale, factor = min(errors, key=errors.get)
    assert (found.widths[0], found.C) == pytest.approx((2.0 * scale, 3.0 * factor))


@pytest.mark.parametrize("make", [layers, three_classes])
def test_that_the_grid_equals_cross_validation_with_SVC(make):
    Z, y = make(120)
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


def _integers(n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n)


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_that_a_stack_counts_a_row_as_often_as_its_integer_weight(squashing, fit_on, kind):
    random = np.random.default_rng(0)
    rows = random.random((300, 12)) * (random.random((300, 12)) > 0.4)
    weights = _integers(300)
    slide = SLIDE(0.4, 3, squashing=squashing, fit_on=fit_on, ridge=1.0, dtype="float64")
    weighted = SLIDE(**slide.get_params()).fit(kind(rows), sample_weight=weights)
    repeated = slide.fit(kind(rows.repeat(weights, axis=0)))
    for one, other in zip(weighted.weights_, repeated.weights_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)
    np.testing.assert_allclose(weighted.errors_, repeated.errors_, rtol=1e-10)
    plain = SLIDE(**slide.get_params()).fit(kind(rows))
    assert np.abs(weighted.weights_[0] - plain.weights_[0]).max() > 1e-3


def test_that_integer_weights_of_rows_of_0_and_1_are_summed_exactly_and_a_unit_has_no_effect_if_C_is_selected():
    rows, weights = images(n=5000).astype("float32"), _integers(5000)
    slide = SLIDE(0.5, 1).fit(rows, sample_weight=weights)
    np.testing.assert_array_equal(slide.weights_[0], SLIDE(0.5, 1).fit(rows.repeat(weights, axis=0)).weights_[0])
    features = SLIDE(0.5, 3).fit_transform(rows, sample_weight=weights)
    np.testing.assert_array_equal(features, SLIDE(0.5, 3).fit(rows, sample_weight=weights).transform(rows))
    (Z, y), weights = layers(60), row_weights(60)
    small, *others = (MultiWidthSVC(3, "median").fit(Z, y, unit * weights) for unit in (1 / 60, 1.0, 1e6))
    for other in others:
        assert other.C_ == small.C_
        np.testing.assert_allclose(other.decision_function(Z), small.decision_function(Z), atol=1e-12)


@pytest.mark.parametrize("given", [1.0, 1])
def test_that_weights_of_one_change_no_bit(given):
    Z, y = layers(60)
    ones = np.full(60, given)
    np.testing.assert_array_equal(SLIDE().fit(Z, sample_weight=ones).weights_[2], SLIDE().fit(Z).weights_[2])
    one, other = (MultiWidthSVC(3, starts=1).fit(Z, y, sample_weight=each) for each in (ones, None))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.widths_, other.widths_)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(9), r"shape \(9,\); it must be \(10,\)"),
        ([1.0] * 9 + [-1.0], "of row 9 is -1.0"),
        ([1.0, np.nan] + [1.0] * 8, "of row 1 is nan"),
        (np.zeros(10), "are zero"),
        (["a"] * 10, "not numbers"),
        (np.ma.masked_equal(np.arange(10), 3), "sample_weight has masked weights"),
    ],
)
@pytest.mark.parametrize("estimator", [SLIDE(depth=1), MultiWidthSVC(widths="median", C=1.0), SLIDEClassifier(depth=1)])
def test_that_invalid_weights_are_refused(weights, words, estimator):
    rows = np.random.default_rng(0).random((10, 3))
    with pytest.raises(ValueError, match=words):
        estimator.fit(rows, np.arange(10) % 2, sample_weight=weights)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("estimator", [MultiWidthSVC(3, WIDTHS), SLIDEClassifier(widths=[4] * 4, dtype="float64")])
def test_that_an_svm_counts_a_row_as_often_as_its_integer_weight(loss, estimator):
    (Z, y), weights = three_classes(160), _integers(160)
    estimator.set_params(loss=loss, C=2.0, tol=1e-8)
    weighted = estimator.fit(Z, y, weights).decision_function(Z)
    repeated = estimator.fit(Z.repeat(weights, axis=0), y.repeat(weights)).decision_function(Z)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_that_rows_of_zero_or_negligible_weight_take_no_part_and_support_counts_the_rows_given():
    (Z, y), weights = layers(120), row_weights(120)
    weights[::3] = 0.0
    used = np.flatnonzero(weights)
    svm = MultiWidthSVC(3, starts=1).fit(Z, y, weights)
    alone = MultiWidthSVC(3, starts=1).fit(Z[used], y[used], weights[used])
    np.testing.assert_array_equal(svm.decision_function(Z), alone.decision_function(Z))
    np.testing.assert_array_equal(svm.support_, used[alone.support_])
    np.testing.assert_array_equal(svm.support_, svm.model_.trained.support)
    np.testing.assert_array_equal(svm.n_support_, np.bincount(y[svm.support_]))
    bound = MultiWidthSVC(3, criterion="radius-margin", starts=1)  # this criterion is not defined with weights
    np.testing.assert_array_equal(bound.fit(Z, y, weights > 0.0).widths_, bound.fit(Z[used], y[used]).widths_)
    both = (MultiWidthSVC(3, WIDTHS, C=1.0).fit(Z, y, np.maximum(weights, w)).decision_function(Z) for w in (0, 5e-324))
    np.testing.assert_allclose(*both, atol=1e-3)
    uneven = MultiWidthSVC(3, WIDTHS, C=1e-3).fit(*layers(1100), 10.0 ** (np.arange(1100) % 12 - 9))
    assert uneven.model_.trained.converged
    with pytest.raises(ValueError, match="every row of class 1 has weight 0"):
        svm.fit(Z, y, np.where(y == 1, 0.0, 1.0))


@pytest.mark.filterwarnings("ignore:.*converge")  # whether it converges depends on rounding
def test_that_training_with_huge_weights_on_contradictory_rows_ends():
    random = np.random.default_rng(0)
    Z, y = np.repeat(random.normal(size=(60, 3)), 5, 0), random.integers(0, 2, 300)
    assert MultiWidthSVC(loss="hinge", C=1000.0, widths=[1.0]).fit(Z, y, random.lognormal(13, 1, 300)).n_iter_ < 10**6


def test_that_a_class_weight_is_that_weight_of_each_of_its_rows():
    Z, y = three_classes(150)
    keep = np.flatnonzero((y != 2) | (np.arange(150) < 40))
    Z, y, weights = Z[keep], y[keep], row_weights(len(keep))
    of_class = {0: 0.5, 1: 1.0, 2: 7.0}
    svm = MultiWidthSVC(3, WIDTHS, C=1.0)
    direct = svm.fit(Z, y, np.vectorize(of_class.get)(y)).decision_function(Z)
    svm.set_params(class_weight=of_class)
    np.testing.assert_array_equal(svm.fit(Z, y).decision_function(Z), direct)
    both = svm.fit(Z, y, weights).decision_function(Z)
    svm.set_params(class_weight=None)
    np.testing.assert_allclose(svm.fit(Z, y, np.vectorize(of_class.get)(y) * weights).decision_function(Z), both)
    balanced = MultiWidthSVC(3, WIDTHS, C=1.0, class_weight="balanced").fit(Z, y).decision_function(Z)
    shares = len(y) / (3.0 * np.bincount(y))
    np.testing.assert_array_equal(svm.fit(Z, y, shares[y]).decision_function(Z), balanced)
    whole = SLIDEClassifier(depth=1, widths=[4.0, 4.0], C=1.0, class_weight={0: 1.0, 1: 1.0, 2: 9.0}).fit(Z, y)
    plain = SLIDEClassifier(depth=1, widths=[4.0, 4.0], C=1.0).fit(Z, y)
    assert (whole.predict(Z) == 2).sum() > (plain.predict(Z) == 2).sum()
    refusals = {-1.0: "must be finite numbers, 0 or more", np.inf: "must be finite", 0.0: "row of class 0 has weight 0"}
    for weight, words in refusals.items():
        with pytest.raises(ValueError, match=words):
            svm.set_params(class_weight={0: weight}).fit(Z, y)
