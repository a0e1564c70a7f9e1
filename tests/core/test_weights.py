"""Effects of row and class weights on a stack, on an SVM, and on the selection of its widths and C."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from slide_gui import SLIDE, Blocks, MultiWidthSVC, SLIDEClassifier
from slide_gui.core.slide.parameters import SQUASHINGS
from tests.core.slide_data import images
from tests.core.svm_data import SIZES, WIDTHS, layers, three_classes


def _weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.05, 4.0, n)


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


def test_that_rows_of_0_and_1_with_integer_weights_are_summed_exactly():
    rows, weights = images(n=5000).astype("float32"), _integers(5000)
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
    ("weights", "words"),
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
def test_that_invalid_weights_are_refused(weights, words, estimator):
    rows = np.random.default_rng(0).random((10, 3))
    with pytest.raises(ValueError, match=words):
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


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("estimator", [MultiWidthSVC(3, WIDTHS), SLIDEClassifier(depth=1, widths=(4.0, 4.0))])
def test_that_an_svm_counts_a_row_as_often_as_its_integer_weight(loss, estimator):
    (Z, y), weights = three_classes(160), _integers(160)
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
    np.testing.assert_array_equal(svm.support_, svm.model_.trained.support)
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
