"""A trained model predicts block by block, in agreement with its formula."""

import numpy as np
import pytest

from slide_gui.core.svm import model as svm_model
from slide_gui.core.svm.decomposition import least_memory
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.training import fit_svm
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter, layers, three_classes

SIZES = (4, 3, 5)
WIDTHS = (4.0, 3.0, 5.0)


def _margins(model, Z):
    scaled = Z / np.repeat(WIDTHS, SIZES)
    support = model.vectors.astype(np.float64) + model.embedding.centre / np.repeat(WIDTHS, SIZES)
    kernel = np.exp(-np.square(scaled[:, None] - support[None]).sum(-1))
    return kernel @ model.coefficients.T + model.biases


@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_margins_are_those_of_the_formula_in_blocks_of_any_size(data, monkeypatch):
    Z, codes = data(300)
    model = fit_svm(Z[:150], codes[:150], SvmParameters(SIZES, WIDTHS, C=3.0))
    expected = _margins(model, Z)
    np.testing.assert_allclose(model.margins(Z), expected, atol=1e-4)
    monkeypatch.setattr(svm_model, "_BLOCK_VALUES", 1)  # blocks of 64 rows
    listener = StopAfter()
    np.testing.assert_allclose(model.margins(Z, progress=listener), expected, atol=1e-4)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] > 0.99
    assert len(set(listener.fractions)) >= 5
    with pytest.raises(Cancelled):
        model.margins(Z, progress=StopAfter(3))


def test_that_two_classes_have_one_score_and_more_have_one_each():
    Z, codes = layers(80)
    two = fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=3.0))
    assert two.scores(Z).shape == (80,)
    np.testing.assert_array_equal(two.predict(Z), two.scores(Z) > 0.0)
    Z, codes = three_classes(80)
    three = fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=3.0))
    assert three.scores(Z).shape == (80, 3)
    np.testing.assert_array_equal(three.predict(Z), three.scores(Z).argmax(axis=1))
    assert three.n_classes == 3


def test_that_the_model_keeps_its_support_vectors_in_the_precision_that_they_need():
    Z, codes = layers(1100, noise=1.5)  # up to 1 024 rows are trained in float64
    small = fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, loss="hinge", C=1.0))
    few = fit_svm(Z[:150], codes[:150], SvmParameters(SIZES, WIDTHS, loss="hinge", C=1.0))
    assert few.vectors.dtype == np.float64
    large = fit_svm(Z, codes, SvmParameters(SIZES, (40.0, 30.0, 50.0), loss="hinge", C=1e4))
    assert np.linalg.norm(small.coefficients) < 1000.0 < np.linalg.norm(large.coefficients)
    assert (small.vectors.dtype, large.vectors.dtype) == (np.float32, np.float64)
    for model in (small, large):
        used = model.embedding(Z, model.support, model.vectors.dtype)
        np.testing.assert_array_equal(model.vectors, used)
        assert np.all(np.diff(model.support) > 0)
        assert np.all(model.coefficients.any(axis=0))


def test_that_one_pair_of_classes_with_large_coefficients_is_enough_for_double_precision():
    Z, codes = layers(150, noise=1.5)
    Z, codes = np.vstack([Z, Z[:30] + 100.0]), np.append(codes, np.full(30, 2))  # add a third class far from both
    model = fit_svm(Z, codes, SvmParameters(SIZES, (40.0, 30.0, 50.0), loss="hinge", C=1e4))
    norms = np.linalg.norm(model.coefficients, axis=1)
    assert norms[0] > 1000.0 > norms[1:].max()
    assert model.vectors.dtype == np.float64


def test_that_too_little_memory_is_refused_and_a_working_set_has_512_points_at_least():
    Z, codes = layers(100)
    with pytest.raises(MemoryError, match="training on 100 rows of 12 columns needs at least"):
        fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=1.0, memory=200_000))
    fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=1.0, memory=300_000))
    assert least_memory(1000) == 4 * (512 * 512 + 2 * 512 * 1000)
    assert least_memory(100, 8) == 8 * (100 * 100 + 2 * 100 * 100)


def test_that_steps_biases_and_convergence_are_those_of_all_pairs():
    Z, codes = three_classes(90)
    whole = fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=10.0))
    pairs = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        own = np.flatnonzero((codes == i) | (codes == j))
        pairs.append(fit_svm(Z[own], (codes[own] == j).astype(int), SvmParameters(SIZES, WIDTHS, C=10.0)))
    assert whole.steps == pytest.approx(sum(pair.steps for pair in pairs), rel=0.2)
    assert whole.gap < 1e-3
    assert whole.converged
    np.testing.assert_allclose(whole.biases, [pair.biases[0] for pair in pairs], atol=1e-2)
    assert not fit_svm(Z, codes, SvmParameters(SIZES, WIDTHS, C=10.0, max_iter=3)).converged
