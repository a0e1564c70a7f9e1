"""Sparse rows give the same fit as dense rows, and are never converted to dense rows all at once."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from slide_gui import SLIDE, Scatter
from slide_gui.core.slide import activations
from slide_gui.core.slide import scatter as scatter_module
from slide_gui.core.slide import stack as stack_module
from slide_gui.core.slide.parameters import SQUASHINGS, StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import Cancelled
from tests.core.slide_data import same_layers
from tests.core.svm_data import StopAfter


def words(n=700, d=40, dtype="float64", seed=0):
    """Return rows with few nonzero values, such as counts of words."""
    random = np.random.default_rng(seed)
    return (random.random((n, d)) * (random.random((n, d)) > 0.85)).astype(dtype)


@pytest.mark.parametrize("squashing", SQUASHINGS)
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("threshold", [0.5, -0.25])
def test_that_sparse_rows_are_fitted_as_dense_ones_are(squashing, fit_on, threshold):
    rows = words()
    parameters = StackParameters(0.3, 3, threshold, squashing, fit_on, ridge=1.0, dtype="float64")
    found, expected = fit_stack(sparse.csr_array(rows), parameters), fit_stack(rows, parameters)
    same_layers(found, expected, rtol=1e-12, atol=1e-10)
    for one, other in zip(found.layers, expected.layers, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_that_thresholded_sums_of_sparse_rows_are_exact_to_the_bit(dtype):
    rows = (words() > 0).astype(dtype)
    parameters = StackParameters(depth=4, dtype=dtype)
    same_layers(fit_stack(sparse.csr_matrix(rows), parameters), fit_stack(rows, parameters))


def test_that_a_value_equal_to_the_threshold_in_float32_is_0_in_sparse_rows_too():
    rows = np.array([[0.1, 0.0], [0.2, 0.1]], "float32")
    parameters = StackParameters(threshold=0.1)
    for made in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(Scatter.squashed(made(rows), parameters).inner, [[1, 0], [0, 0]])


def test_that_the_estimator_accepts_any_sparse_format_and_returns_dense_features():
    rows = words(n=300)
    dense = SLIDE(depth=2, dtype="float64").fit(rows)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix):
        slide = SLIDE(depth=2, dtype="float64").fit(kind(rows))
        found = slide.transform(kind(rows))
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, dense.transform(rows), atol=1e-10)
        np.testing.assert_allclose(SLIDE(depth=2, dtype="float64").fit_transform(kind(rows)), found, atol=1e-10)
        np.testing.assert_array_equal(np.hstack(slide.layers(kind(rows))), found)


def test_that_values_stored_twice_are_added_before_they_are_squashed():
    twice = sparse.csr_array((np.array([0.3, 0.3, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    parameters = StackParameters(depth=2, dtype="float64")
    same_layers(fit_stack(twice, parameters), fit_stack(twice.toarray(), parameters))
    slide = SLIDE(depth=2, dtype="float64").fit(twice)
    same_layers(slide.stack_, fit_stack(twice.toarray(), parameters))
    assert len(twice.data) == 3


def test_that_sparse_rows_are_never_converted_all_at_once(monkeypatch):
    rows, written = sparse.random_array((20_000, 30), density=0.05, format="csr", rng=np.random.default_rng(0)), []
    dense_rows = activations.dense_rows
    monkeypatch.setattr(activations, "dense_rows", lambda *a: written.append(dense_rows(*a).shape) or dense_rows(*a))
    monkeypatch.setattr(sparse.csr_array, "todense", None)
    fit_stack(rows, StackParameters(depth=1))
    assert written == []
    fit_stack(rows, StackParameters(depth=3))
    assert max(n for n, _ in written) <= 1024


@pytest.mark.parametrize("products", [1, 50, 10**9])
def test_that_pieces_of_any_length_give_the_same_scatter(monkeypatch, products):
    monkeypatch.setattr(scatter_module, "_SPARSE_PRODUCTS", products)
    rows = words(n=60)
    rows[::7] = 0.0
    found = Scatter.of(sparse.csr_array(rows), StackParameters(dtype="float64"))
    np.testing.assert_allclose(found.inner, rows.T @ rows, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(found.inner, found.inner.T)


def test_that_a_value_of_sparse_rows_that_is_not_finite_is_named_with_its_place():
    rows = words(n=30)
    rows[17, 5] = np.nan
    with pytest.raises(ValueError, match="row 17, feature 5 is nan"):
        SLIDE().fit(sparse.csr_array(rows))
    slide = SLIDE(depth=1).fit(sparse.csr_array(words(n=30)))
    with pytest.raises(ValueError, match="NaN"):
        slide.transform(sparse.csr_array(rows))


def test_that_a_fit_of_sparse_rows_reports_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(scatter_module, "_SPARSE_PRODUCTS", 1000)
    rows, listener = sparse.csr_array(words(n=3000)), StopAfter()
    fit_stack(rows, StackParameters(depth=3), progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == pytest.approx(1.0)
    with pytest.raises(Cancelled):
        fit_stack(rows, StackParameters(depth=3), progress=StopAfter(fraction=0.2))


@pytest.mark.parametrize(("depth", "fit_on"), [(1, "values"), (1, "thresholded"), (2, "values")])
def test_that_a_fit_needs_no_more_memory_than_its_check_of_memory_assumes(monkeypatch, depth, fit_on):
    sizes = []
    monkeypatch.setattr(stack_module, "empty", lambda shape, *_: sizes.append(shape))
    rows = sparse.random_array((200, 1500), density=0.01, format="csr", rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        fit_stack(rows, StackParameters(depth=depth, fit_on=fit_on))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (matrices, height, width) = sizes[0]
    assert 0.5 < peak / (8 * matrices * height * width) <= 1.0
