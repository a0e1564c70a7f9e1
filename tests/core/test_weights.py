"""Effects of row and class weights on a stack, on an SVM, and on the selection of its widths and C."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from slide_gui import SLIDE, Blocks, MultiWidthSVC, SLIDEClassifier
from slide_gui.core.sampling import held_out_mask
from slide_gui.core.slide.squashing import SQUASHINGS
from slide_gui.core.svm import selection
from slide_gui.core.svm.criteria import CRITERIA, evaluate, press, span
from slide_gui.core.svm.kernel import layer_distances
from slide_gui.core.svm.newton import newton
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.widths import LearnedWidths, Objective, WidthOptions, WidthsSample, WidthsStep
from slide_gui.progress import NO_PROGRESS
from tests.core.svm_data import layers, three_classes
from tests.core.test_stack import images

SIZES = (4, 3, 5)
WIDTHS = (4.0, 3.0, 5.0)
DEFINED = [key for key in CRITERIA if key != "radius-margin"]


def _weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.05, 4.0, n)


def _whole(n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n)


def _kernel(n, data=layers):
    Z, codes = data(n)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 20.0), codes


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_that_a_row_of_weight_two_is_that_row_twice_and_one_of_weight_zero_is_not_there(squashing, fit_on, kind):
    random = np.random.default_rng(0)
    rows = random.random((300, 12)) * (random.random((300, 12)) > 0.4)
    weights = _whole(300)
    slide = SLIDE(0.4, 3, squashing=squashing, fit_on=fit_on, ridge=1.0, dtype="float64")
    weighted = SLIDE(**slide.get_params()).fit(kind(rows), sample_weight=weights)
    repeated = slide.fit(kind(rows.repeat(weights, axis=0)))
    for one, other in zip(weighted.weights_, repeated.weights_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)
    np.testing.assert_allclose(weighted.errors_, repeated.errors_, rtol=1e-10)
    plain = SLIDE(**slide.get_params()).fit(kind(rows))
    assert np.abs(weighted.weights_[0] - plain.weights_[0]).max() > 1e-3


def test_that_rows_of_0_and_1_with_whole_weights_are_summed_exactly():
    rows, weights = images(n=5000).astype("float32"), _whole(5000)
    slide = SLIDE(0.5, 1).fit(rows, sample_weight=weights)
    repeated = SLIDE(0.5, 1).fit(rows.repeat(weights, axis=0))
    np.testing.assert_array_equal(slide.weights_[0], repeated.weights_[0])
    features = SLIDE(0.5, 3).fit_transform(rows, sample_weight=weights)
    np.testing.assert_array_equal(features, SLIDE(0.5, 3).fit(rows, sample_weight=weights).transform(rows))


@pytest.mark.parametrize("given", [1.0, 1])
def test_that_weights_of_one_change_no_bit(given):
    Z, y = layers(60)
    ones = np.full(60, given)
    np.testing.assert_array_equal(SLIDE().fit(Z, sample_weight=ones).weights_[2], SLIDE().fit(Z).weights_[2])
    one, other = (MultiWidthSVC(3, starts=1).fit(Z, y, sample_weight=each) for each in (ones, None))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.widths_, other.widths_)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones(9), r"shape \(9,\); it must be \(10,\)"),
        (np.ones((10, 1)), r"shape \(10, 1\)"),
        ([1.0] * 9 + [-1.0], "of row 9 is -1.0"),
        ([1.0, np.nan] + [1.0] * 8, "of row 1 is nan"),
        (np.zeros(10), "are zero"),
        (["a"] * 10, "not numbers"),
    ],
)
@pytest.mark.parametrize("estimator", [SLIDE(depth=1), MultiWidthSVC(widths="median", C=1.0), SLIDEClassifier(depth=1)])
def test_that_what_are_no_weights_is_refused(weights, said, estimator):
    rows = np.random.default_rng(0).random((10, 3))
    with pytest.raises(ValueError, match=said):
        estimator.fit(rows, np.arange(10) % 2, sample_weight=weights)


def test_that_rows_in_blocks_take_no_weights():
    rows = np.random.default_rng(0).random((10, 3))
    with pytest.raises(ValueError, match="give the rows as one array"):
        SLIDE().fit(Blocks([rows]), sample_weight=_weights(10))


@pytest.mark.parametrize(
    ("n", "data", "C"), [(200, layers, 1.0), (200, layers, 10.0), (240, three_classes, 10.0), (2300, layers, 1.0)]
)
def test_that_an_svm_of_weighted_rows_is_that_of_SVC_on_the_same_kernel(n, data, C):
    (Z, y), weights = data(n), _weights(n)
    ours = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=C, tol=1e-5).fit(Z, y, sample_weight=weights)
    scaled = Z / np.repeat(WIDTHS, SIZES)
    theirs = SVC(C=C, gamma=1.0, tol=1e-6, decision_function_shape="ovo").fit(scaled, y, sample_weight=weights)
    margins = theirs.decision_function(scaled).reshape(n, -1)
    sign = (
        1.0 if margins.shape[1] == 1 else -1.0
    )  # SVC's sign differs: for two classes positive for the second, otherwise for the first
    np.testing.assert_allclose(ours.model_.margins(Z), sign * margins, atol=2e-4)
    np.testing.assert_array_equal(ours.predict(Z)[:50], theirs.predict(scaled)[:50])
    plain = MultiWidthSVC(SIZES, WIDTHS, loss="hinge", C=C).fit(Z, y)
    assert np.abs(plain.model_.margins(Z) - ours.model_.margins(Z)).max() > 0.05


@pytest.mark.parametrize("n", [200, 2300])
def test_that_the_squared_hinge_has_one_over_C_and_weight_on_the_diagonal(n):
    (Z, y), weights = layers(n), _weights(n)
    ours = MultiWidthSVC(SIZES, WIDTHS, C=3.0, tol=1e-5).fit(Z, y, sample_weight=weights)
    scaled = Z / np.repeat(WIDTHS, SIZES)
    kernel = np.exp(
        -np.maximum(np.square(scaled).sum(1)[:, None] + np.square(scaled).sum(1) - 2 * scaled @ scaled.T, 0)
    )
    theirs = SVC(C=1e8, kernel="precomputed", tol=1e-6).fit(kernel + np.diag(1.0 / (3.0 * weights)), y)
    np.testing.assert_allclose(
        ours.decision_function(Z), kernel[:, theirs.support_] @ theirs.dual_coef_[0] + theirs.intercept_, atol=2e-4
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("estimator", [MultiWidthSVC(3, WIDTHS), SLIDEClassifier(depth=1, widths=(4.0, 4.0))])
def test_that_weights_say_how_often_a_row_is_there(loss, estimator):
    (Z, y), weights = three_classes(160), _whole(160)
    estimator.set_params(
        loss=loss, C=2.0, tol=1e-8, **({"dtype": "float64"} if "dtype" in estimator.get_params() else {})
    )
    margins = [
        estimator.fit(*fitted).decision_function(Z)
        for fitted in ((Z, y, weights), (Z.repeat(weights, axis=0), y.repeat(weights)))
    ]
    np.testing.assert_allclose(*margins, atol=1e-5)


def test_that_rows_of_weight_zero_take_no_part_and_support_counts_the_rows_given():
    (Z, y), weights = layers(120), _weights(120)
    weights[::3] = 0.0
    used = np.flatnonzero(weights)
    svm = MultiWidthSVC(3, starts=1).fit(Z, y, weights)
    alone = MultiWidthSVC(3, starts=1).fit(Z[used], y[used], weights[used])
    np.testing.assert_array_equal(svm.decision_function(Z), alone.decision_function(Z))
    np.testing.assert_array_equal(svm.support_, used[alone.support_])
    np.testing.assert_array_equal(svm.support_, svm.model_.support)
    assert svm.n_support_.sum() == len(svm.support_)
    with pytest.raises(ValueError, match="every row of class 1 has weight 0"):
        svm.fit(Z, y, np.where(y == 1, 0.0, 1.0))


def test_that_a_class_weight_is_that_weight_of_each_of_its_rows():
    Z, y = three_classes(150)
    keep = np.flatnonzero((y != 2) | (np.arange(150) < 40))
    Z, y, weights = Z[keep], y[keep], _weights(len(keep))
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
    with pytest.raises(ValueError, match=r"class_weight is .*must be finite numbers"):
        svm.set_params(class_weight={0: -1.0}).fit(Z, y)


@pytest.mark.parametrize("criterion", DEFINED)
@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_G_with_weights_is_the_derivative_by_every_entry_of_the_kernel_and_by_the_ridge(criterion, data):
    kernel, codes = _kernel(40, data)
    held_out, weights = held_out_mask(codes, 0), _weights(40)
    direction = np.random.default_rng(0).standard_normal(kernel.shape)
    direction = (direction + direction.T) / 40
    np.fill_diagonal(direction, 0.0)

    def evaluated(step=0.0, ridge=0.2):
        return evaluate(criterion, kernel + step * direction, codes, ridge, held_out, weights=weights)

    gradient = evaluated().gradient
    slope = (evaluated(1e-5).value - evaluated(-1e-5).value) / 2e-5
    assert slope == pytest.approx(np.vdot(gradient, direction), abs=1e-7)
    assert abs(slope) > 1e-4
    by_ridge = (evaluated(ridge=0.2 + 1e-5).value - evaluated(ridge=0.2 - 1e-5).value) / 2e-5
    assert by_ridge == pytest.approx(np.sum(np.diag(gradient) / weights), abs=1e-7)
    equal = evaluate(criterion, kernel, codes, 0.6, held_out, weights=np.full(40, 3.0))
    plain = evaluate(criterion, kernel, codes, 0.2, held_out)
    assert equal.value == pytest.approx(plain.value, abs=1e-12)
    assert evaluated().value != pytest.approx(plain.value, abs=1e-3)


@pytest.mark.parametrize("criterion", DEFINED)
def test_that_the_gradient_by_widths_and_C_is_right_with_weights(criterion):
    Z, codes = layers(60)
    distances, weights = layer_distances(Z, SIZES), _weights(60)
    objective = Objective(distances, codes, WidthOptions(criterion), NO_PROGRESS, weights)
    theta = np.log([4.0, 3.0, 5.0, 2.0])
    _, slope = objective(theta)
    for number in range(4):
        step = np.zeros(4)
        step[number] = 1e-5
        objective.starts.clear()
        assert (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5 == pytest.approx(
            slope[number], abs=1e-7
        )


def test_that_span_and_press_leave_a_weighted_row_out_as_a_whole_and_count_it_by_its_weight():
    kernel, codes = _kernel(30)
    y, weights, ridge = 2.0 * codes - 1.0, _weights(30), 0.2
    diagonal = ridge / weights
    squares = []
    for left_out in range(30):
        others = np.delete(np.arange(30), left_out)
        system = np.block([[kernel[np.ix_(others, others)] + np.diag(diagonal[others]), np.ones((29, 1))],
                           [np.ones((1, 29)), np.zeros((1, 1))]])  # fmt: skip
        solved = np.linalg.solve(system, np.append(y[others], 0.0))
        squares.append((y[left_out] - kernel[left_out, others] @ solved[:-1] - solved[-1]) ** 2)
    found = press(kernel, y[:, None], ridge, weights=weights)
    assert found.value == pytest.approx(np.average(squares, weights=weights), abs=1e-10)
    active = newton(kernel, y, diagonal).active
    inner = kernel[np.ix_(active, active)] + np.diag(diagonal[active])
    beta = newton(kernel, y, diagonal).beta[active]
    loosened = 0.1 / np.abs(beta)
    ones = np.ones((len(active), 1))
    system = np.block([[inner + np.diag(loosened), ones], [ones.T, np.zeros((1, 1))]])
    outputs = 1.0 - y[active] * beta * (1.0 / np.diag(np.linalg.inv(system))[:-1] - loosened)
    errors = 0.5 * (1.0 + np.tanh(-5.0 * outputs))
    assert span(kernel, y, ridge, weights=weights).value == pytest.approx(weights[active] @ errors / weights.sum())


def test_that_hold_out_with_weights_is_that_of_repeated_rows():
    kernel, codes = _kernel(60)
    held_out, weights = held_out_mask(codes, 3), 1 + _whole(60)
    rows = np.arange(60).repeat(weights)
    repeated = evaluate("hold-out", kernel[np.ix_(rows, rows)], codes[rows], 0.2, held_out[rows])
    weighted = evaluate("hold-out", kernel, codes, 0.2, held_out, weights=weights.astype(float))
    assert weighted.value == pytest.approx(repeated.value, abs=1e-9)


def test_that_radius_margin_refuses_weights_in_one_sentence():
    Z, y = layers(60)
    with pytest.raises(ValueError, match=r"radius-margin criterion .* not defined with weights; choose span, hold-out"):
        MultiWidthSVC(3, criterion="radius-margin").fit(Z, y, _weights(60))


class _Model:
    """A model that misclassifies rows below a border, which depends on C."""

    def __init__(self, C, codes):
        self._C, self._codes = C, codes

    def predict(self, Z, **_):
        wrong = Z[:, 0] < 8.0 if self._C == 1.0 else Z[:, 0] >= 15.0
        return np.where(wrong, 1 - Z[:, 1], Z[:, 1]).astype(int)


def test_that_errors_count_by_weight_where_a_scale_and_C_are_chosen(monkeypatch):
    codes = np.arange(100) % 2
    Z = np.column_stack([np.arange(100) % 20, codes]).astype(float)
    monkeypatch.setattr(selection, "train", lambda *given, **_: _Model(given[4], codes))
    given = Z, codes, (2,), np.ones(1), (1.0,), (1.0, 10.0), SvmParameters()
    weights = np.where(Z[:, 0] >= 15.0, 50.0, 1.0)
    assert selection.tune(*given) == (1.0, 10.0)  # misclassifies fewer rows
    assert selection.tune(*given, weights=weights) == (1.0, 1.0)  # misclassifies rows of less weight


@pytest.mark.parametrize(("heavy_weight", "guarded"), [(100.0, True), (0.01, False)])
def test_that_learned_and_median_widths_are_compared_by_the_weights_of_the_rows_they_err_on(
    heavy_weight, guarded, monkeypatch
):
    n, codes = 400, np.arange(400) % 2
    heavy = np.arange(n) % 20 < 2
    Z = np.column_stack([heavy, codes, np.random.default_rng(0).random((n, 10))])
    weights = np.where(heavy, heavy_weight, 1.0)

    class Model:
        """A model that misclassifies heavy rows with learned widths, and half of the others with median widths."""

        converged = True

        def __init__(self, learned):
            self._learned = learned

        def predict(self, rows, **_):
            wrong = rows[:, 0] == 1 if self._learned else (rows[:, 0] == 0) & (rows[:, 2] > 0.5)
            return np.where(wrong, 1 - rows[:, 1], rows[:, 1]).astype(int)

    def learn_on(sample, *_, **__):
        step = WidthsStep(0, 0, 0.0, (1.0, 1.0, 1.0), (0.2, 0.3, 0.5), 1.0, 0)
        return LearnedWidths("span", step, (step,), sample.rows)

    monkeypatch.setattr(selection, "learn_on", learn_on)
    monkeypatch.setattr(selection, "train", lambda *given, **_: Model(given[3][0] == 1.0))
    sample = WidthsSample.of(Z, codes, SIZES, WidthOptions(subset_size=100), weights=weights)
    chosen = selection.choose_widths(
        Z, codes, SIZES, sample, WidthOptions(), SvmParameters(SIZES), weights=weights
    ).chosen
    outside = np.setdiff1d(np.arange(n), sample.rows)
    assert chosen.guarded == guarded
    assert chosen.learned_error == pytest.approx(np.average(heavy[outside], weights=weights[outside]))
