"""Probabilities: a sigmoid of cross-validated margins for each pair of classes, and their coupling."""

import numpy as np
import pytest
from scipy.optimize import minimize

from slide_gui import MultiWidthSVC, SLIDEClassifier
from slide_gui.core.svm.pairs import pairs_of
from slide_gui.core.svm.probability import class_probabilities, fit_sigmoid
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter, layers, three_classes


def _margins(n=400, seed=0):
    random = np.random.default_rng(seed)
    margins = 2.0 * random.standard_normal(n)
    return margins, random.random(n) < 1.0 / (1.0 + np.exp(-1.7 * margins + 0.4))


@pytest.mark.parametrize("weighted", [False, True])
def test_that_the_sigmoid_is_the_likeliest_of_platts_targets(weighted):
    margins, second = _margins()
    weights = np.random.default_rng(1).uniform(0.1, 5.0, 400) if weighted else np.ones(400)
    positive, negative = weights[second].sum(), weights[~second].sum()
    targets = np.where(second, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))

    def loss(ab):
        z = ab[0] * margins + ab[1]
        return weights @ (targets * z + np.logaddexp(0.0, -z))

    found = fit_sigmoid(margins, second, weights if weighted else None)
    best = minimize(loss, (0.0, 0.0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    if not weighted:
        np.testing.assert_allclose(found, (-1.7, 0.4), atol=0.5)


def test_that_margins_that_part_the_classes_or_say_nothing_end_in_numbers():
    second = np.arange(40) % 2 == 0
    a, b = fit_sigmoid(np.where(second, 50.0, -50.0), second)
    assert 1.0 / (1.0 + np.exp(a * 50.0 + b)) == pytest.approx(21.0 / 22.0, abs=1e-3)
    a, b = fit_sigmoid(np.zeros(40), second)
    assert 1.0 / (1.0 + np.exp(b)) == pytest.approx(0.5)


def test_that_whole_weights_say_how_often_a_margin_is_there():
    margins, second = _margins(100)
    weights = np.arange(100) % 4
    repeated = fit_sigmoid(margins.repeat(weights), second.repeat(weights))
    np.testing.assert_allclose(fit_sigmoid(margins, second, weights.astype(float)), repeated, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_that_the_coupled_probabilities_have_the_least_disagreement_of_all_that_add_up_to_one(n_classes):
    random = np.random.default_rng(n_classes)
    n_pairs = len(pairs_of(n_classes))
    margins, slopes, offsets = random.standard_normal((30, n_pairs)), -random.uniform(1, 3, n_pairs), np.zeros(n_pairs)
    found = class_probabilities(margins, slopes, offsets, n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found >= 0.0).all()
    second = 1.0 / (1.0 + np.exp(slopes * margins + offsets))
    for row, p in zip(second, found, strict=True):

        def disagreement(q, row=row):
            return sum(
                (of_j * q[i] - (1.0 - of_j) * q[j]) ** 2 for of_j, (i, j) in zip(row, pairs_of(n_classes), strict=True)
            )

        whole = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
        shares, options = np.full(n_classes, 1.0 / n_classes), {"ftol": 1e-14}
        best = minimize(disagreement, shares, bounds=[(0, 1)] * n_classes, constraints=whole, options=options)
        np.testing.assert_allclose(p, best.x, atol=2e-5)


def test_that_consistent_pairs_are_coupled_to_the_probabilities_they_came_from():
    wanted = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    margins = np.column_stack([np.log(wanted[:, j] / wanted[:, i]) for i, j in pairs_of(4)])
    np.testing.assert_allclose(class_probabilities(margins, -np.ones(6), np.zeros(6), 4), wanted, atol=1e-9)


@pytest.mark.parametrize("data", [layers, three_classes])
@pytest.mark.parametrize("make", [lambda **p: MultiWidthSVC(3, (4.0, 3.0, 5.0), **p),
                                  lambda **p: SLIDEClassifier(depth=1, widths=(4.0, 4.0), **p)])  # fmt: skip
def test_that_probabilities_of_new_rows_are_better_than_the_shares_of_the_classes(data, make):
    (Z, y), (new, truth) = data(300), data(300, seed=1)
    classifier = make(C=2.0, probability=True).fit(Z, np.array(["p", "q", "r"])[y])
    found = classifier.predict_proba(new)
    assert found.shape == (300, len(classifier.classes_))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(classifier.predict_log_proba(new), np.log(found))
    shares = np.bincount(y) / 300.0
    assert -np.log(found[np.arange(300), truth]).mean() < 0.9 * -np.log(shares[truth]).mean()
    assert (classifier.classes_[found.argmax(axis=1)] == classifier.predict(new)).mean() > 0.9
    again = make(C=2.0, probability=True).fit(Z, np.array(["p", "q", "r"])[y])
    np.testing.assert_array_equal(again.predict_proba(new), found)
    np.testing.assert_array_equal(make(C=2.0).fit(Z, y).decision_function(new), classifier.decision_function(new))


@pytest.mark.parametrize("classifier", [MultiWidthSVC(), SLIDEClassifier()])
@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_that_there_are_no_probabilities_unless_they_were_asked_for(classifier, method):
    assert not hasattr(classifier, method)
    with pytest.raises(AttributeError, match=method) as refusal:
        getattr(classifier, method)
    assert "set probability=True before the fit" in str(refusal.value.__cause__)


def test_that_a_class_of_one_row_is_refused_before_the_training():
    Z, _ = layers(30)
    with pytest.raises(ValueError, match="class 1 has 1 rows; cross-validation needs at least 2"):
        MultiWidthSVC(3, (4.0, 3.0, 5.0), C=1.0, probability=True).fit(Z, np.arange(30) == 7)
    with pytest.raises(ValueError, match="probability is 'yes'; it must be True or False"):
        MultiWidthSVC(3, (4.0, 3.0, 5.0), C=1.0, probability="yes").fit(Z, np.arange(30) > 7)


def test_that_the_cross_validation_of_probabilities_can_be_cancelled():
    Z, y = layers(300)
    listener = StopAfter()
    svm = MultiWidthSVC(3, (4.0, 3.0, 5.0), C=2.0, probability=True).fit(Z, y, progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    late = sum(fraction <= 0.5 for fraction in listener.fractions) + 5
    with pytest.raises(Cancelled):
        svm.fit(Z, y, progress=StopAfter(late))
