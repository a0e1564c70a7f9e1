"""A stack fitted block by block, from sparse rows or with blocked products equals the stack fitted at once."""

import math
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from slide_gui import SLIDE, Blocks, LinearImputer, Scatter
from slide_gui.core import linear_algebra as blocked
from slide_gui.core.slide import activations
from slide_gui.core.slide import scatter as scatter_module
from slide_gui.core.slide import stack as stack_module
from slide_gui.core.slide.parameters import SQUASHINGS, StackParameters
from slide_gui.core.slide.scatter import GROUP, ScatterPass, ScatterSum
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import Cancelled
from tests.core.slide_data import blobs, images, same_layers, scatter_of
from tests.core.svm_data import StopAfter

DOUBLE = StackParameters(dtype="float64")
CUTS = st.lists(st.integers(0, 200), max_size=12)


def cut(rows, places):
    return [rows[a:b] for a, b in pairwise([0, *sorted(places), len(rows)]) if b > a]


def same(a, b):
    np.testing.assert_array_equal(a.inner, b.inner)
    np.testing.assert_array_equal(a.sums, b.sums)
    assert a.n == b.n


@given(CUTS)
@settings(max_examples=30)
def test_that_any_division_into_blocks_gives_the_sum_to_1e_12(places):
    rows = np.random.default_rng(1).standard_normal((200, 5))
    (found,) = Blocks(cut(rows, places)).total(ScatterPass(DOUBLE, squashed=False))
    np.testing.assert_allclose(found.matrix, scatter_of(rows), rtol=1e-12, atol=1e-12 * 200)


@given(CUTS, st.sampled_from(["float32", "float64"]))
@settings(max_examples=30)
def test_that_thresholded_sums_are_integers_and_exact_in_any_order(places, dtype):
    rows = np.random.default_rng(2).random((200, 5))
    parameters, weights = StackParameters(dtype=dtype), fit_stack(rows, StackParameters(depth=1)).layers[0].weights
    blocks = cut(rows, places)
    for layers in ((), (weights,)):
        whole = Scatter.squashed(rows, parameters, layers)
        parts = [Scatter.squashed(block, parameters, layers) for block in blocks]
        same(sum(parts[1:], parts[0]), whole)
        same(sum(parts[-2::-1], parts[-1]), whole)
        np.testing.assert_array_equal(whole.inner, np.rint(whole.inner))


@pytest.mark.parametrize("n", [1, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, GROUP**2, GROUP**2 + GROUP + 3])
def test_that_the_tree_gives_the_same_bits_wherever_and_in_whatever_order_its_parts_are_summed(n):
    random = np.random.default_rng(n)
    parts = [Scatter.of(random.standard_normal((3, 4)) * 10.0 ** random.integers(-6, 6), DOUBLE) for _ in range(n)]
    streamed = ScatterSum(4)
    for part in parts:
        streamed.add(part)
    level = parts
    while len(level) > 1:
        groups = {}
        for start in random.permutation(range(0, len(level), GROUP)):  # workers finish in any order
            one = ScatterSum(4)
            for part in level[start : start + GROUP]:
                one.add(part)
            groups[start] = one.total()
        level = [groups[start] for start in sorted(groups)]
    total = streamed.total()
    same(total, level[0])
    np.testing.assert_allclose(total.inner, sum(part.inner for part in parts), rtol=1e-12)  # the parts are unchanged


def test_that_sixteen_scatters_are_added_consecutively_and_more_in_groups():
    parts = [Scatter(np.full((1, 1), value), np.zeros(1), 1) for value in [1.0, *[2.0**-53] * 31]]
    for count, expected in ((16, 1.0), (32, 1.0 + 16 * 2.0**-53)):
        sums = ScatterSum(1)
        for part in parts[:count]:
            sums.add(part)
        assert sums.total().inner[0, 0] == expected


@pytest.mark.parametrize("squashing", ["threshold", "sigmoid", "identity"])
@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_that_a_fit_over_blocks_equals_the_fit_at_once(squashing, fit_on, depth):
    rows = blobs(n=900)
    parameters = StackParameters(depth=depth, squashing=squashing, fit_on=fit_on, dtype="float64")
    found = fit_stack(Blocks(cut(rows, [100, 101, 650])), parameters)
    assert found.n_samples == 900
    same_layers(found, fit_stack(rows, parameters), rtol=1e-9, atol=1e-9)


def test_that_slide_is_fitted_on_blocks_that_a_function_creates_for_each_layer():
    rows, calls = images(n=300), []

    def blocks():
        calls.append(1)
        yield from (rows[:120], sparse.csr_array(rows[120:200]), rows[200:].astype("uint8"))

    slide = SLIDE(depth=4, dtype="float64").fit(Blocks(blocks, (300, 64)))
    assert len(calls) == 3  # one pass each for x with T(x), T(h¹) and T(h²)
    for a, b in zip(slide.weights_, SLIDE(depth=4, dtype="float64").fit(rows).weights_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert slide.n_features_in_ == 64
    assert slide.transform(rows).shape == (300, 320)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [100, 2217])
def test_that_a_value_that_is_not_finite_is_named_with_its_row_among_all_blocks(row, bad, make):
    rows = images(n=3000)
    rows[row:, 5:] = bad
    for each in (make(rows), Blocks([rows[:100], make(rows[100:])])):
        with pytest.raises(ValueError, match=f"row {row}, feature 5 is {bad}; replace the value, or leave"):
            fit_stack(each, StackParameters())


@pytest.mark.parametrize("make", [lambda rows: Blocks(cut(rows, [8500])), sparse.csr_array])
def test_that_progress_over_blocks_or_sparse_rows_never_falls_ends_at_one_and_cancels_within_a_block(monkeypatch, make):
    monkeypatch.setattr(scatter_module, "_SPARSE_PRODUCTS", 1000)
    rows, listener, stopped = make(images(n=9000)), StopAfter(), StopAfter(fraction=0.1)
    fit_stack(rows, StackParameters(depth=4), progress=listener)
    assert listener.complete
    assert [len(stack.layers) for stack in listener.payloads] == [1, 2, 3, 4]
    with pytest.raises(Cancelled):
        fit_stack(rows, StackParameters(depth=4), progress=stopped)
    assert stopped.fractions[-1] < 0.2


def _fitted(*blocks):
    return SLIDE(depth=1).fit(Blocks(blocks))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Scatter.of([1.0, 2.0]), ValueError, "X is a 1-D array of float64; it must be a 2-D array of numbers"),
        (lambda: Scatter.squashed([["a"]]), ValueError, "X is a 2-D array of <U1"),
        (lambda: Scatter.of([[0.0, 1.0], [2.0, np.nan]], start=4), ValueError, "row 5, feature 1 is nan; replace"),
        (lambda: Scatter.of(np.eye(2), StackParameters(noise=2.0)), ValueError, "noise is 2.0"),
        (lambda: Scatter.squashed(np.eye(2), weights=[np.eye(2)]), ValueError, r"layer 1 have shape \(2, 2\); for 2"),
        (lambda: Scatter.of(np.eye(3)) + Scatter.of(np.eye(2)), ValueError, "of 3 and 2 features cannot be added"),
        (lambda: Scatter.of(np.eye(3)) + 1, TypeError, "unsupported operand"),
        (lambda: Scatter.of(np.full((3, 2), 1e200), DOUBLE).matrix, ValueError, "the sum of their squares is infinite"),
        (lambda: Blocks(None), TypeError, "blocks is None; give a list of blocks, or a function"),
        (lambda: Blocks(iter([np.eye(2)])), TypeError, "can be iterated only once.*; give a list of blocks"),
        (lambda: Blocks([np.eye(3)], "ab"), ValueError, "shape is 'ab'; it must be two integers"),
        (lambda: Blocks([np.eye(3)], (3,)), ValueError, r"shape is \(3,\); it must be two integers"),
        (lambda: Blocks([np.eye(3)], (3, 0)), ValueError, "the number of features is 0; it must be an integer, 1"),
        (lambda: Blocks([np.eye(3)], (-1, 3)), ValueError, "the number of rows is -1; it must be an integer, 0"),
        (lambda: SLIDE().fit(Blocks([np.eye(3)], (5, 3))), ValueError, "returned 3 rows, but 5 were expected"),
        (lambda: _fitted(np.eye(3), np.eye(4)), ValueError, "block 1 has 4 features; expected 3, as in block 0"),
        (lambda: LinearImputer().fit(Blocks([np.eye(3)])), TypeError, "X is of type Blocks; give an array"),
        (lambda: _fitted(np.eye(3), np.ones(3)), ValueError, "block 1 is a 1-D array of float64; it must be"),
        (lambda: _fitted(np.ma.masked_equal(np.eye(3), 0.0)), ValueError, "block 0 has masked cells; fill them in"),
        (lambda: _fitted(), ValueError, r"X has shape \(0, 0\); at least 2 samples"),
        (lambda: _fitted(np.ones((1, 2)), np.ones((0, 2))), ValueError, r"X has shape \(1, 2\); at least 2 samples"),
        (lambda: SLIDE().fit(Blocks([np.eye(3)]), sample_weight=[1, 2, 3]), ValueError, "give the rows as one array"),
        (lambda: SLIDE().fit_transform(Blocks([np.eye(3)])), TypeError, "call fit, then transform each block"),
        (lambda: _fitted(np.eye(3)).transform(Blocks([np.eye(3)])), TypeError, "transform does not accept Blocks"),
    ],
)
def test_that_rows_blocks_and_scatters_that_cannot_be_used_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.fixture
def small_pieces(monkeypatch):
    for name, value in {"WHOLE": 50, "_PIECE": 33, "_LEAF": 20}.items():
        monkeypatch.setattr(blocked, name, value)


@pytest.mark.usefixtures("small_pieces")
def test_that_products_inverses_and_solves_in_pieces_equal_numpys():
    random = np.random.default_rng(0)
    rows = random.standard_normal((400, 130))
    a, b, weights, listener = rows.T @ rows, random.standard_normal((130, 70)), random.random(130), StopAfter()
    np.testing.assert_allclose(blocked.product(a, b), a @ b, rtol=1e-12)
    inverse = blocked.inverse_definite(a.copy())
    np.testing.assert_allclose(inverse, np.linalg.inv(a), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)
    solve = blocked.solver(a.copy())  # factorised once for both right-hand sides
    for right in (b[:, 0], b):
        np.testing.assert_allclose(solve(right, listener), np.linalg.solve(a, right), rtol=1e-9)
    assert len(listener.fractions) == 2 * 2 * 36  # per block of 16 × 16 numbers below the diagonal, forwards and back
    np.testing.assert_allclose(blocked.weighted_square(a, weights), a @ np.diag(weights) @ a, rtol=1e-9)


def test_that_the_inverse_of_a_matrix_with_a_small_ridge_is_as_accurate_as_numpys_and_a_singular_one_is_refused():
    rows = np.random.default_rng(0).standard_normal((1300, 5))
    distances = np.square(rows[:, None] - rows[None]).sum(-1)
    matrix = np.exp(-distances / 10.0) + 1e-4 * np.eye(1300)
    expected = np.linalg.inv(matrix)
    found = blocked.inverse_definite(matrix.copy())
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()
    np.testing.assert_array_equal(found, found.T)
    for decompose, n in ((blocked.inverse_definite, 700), (blocked.solver, 1500)):
        with pytest.raises(np.linalg.LinAlgError):
            decompose(np.zeros((n, n)))


def test_that_every_piece_of_a_fit_on_many_features_is_a_cancel_point(request):
    rows = (np.random.default_rng(0).random((300, 200)) > 0.7).astype("float32")
    entire, pieces = StopAfter(), StopAfter()
    expected = fit_stack(rows, StackParameters(depth=2), progress=entire)
    request.getfixturevalue("small_pieces")
    stack = fit_stack(rows, StackParameters(depth=2), progress=pieces)
    assert len(pieces.fractions) > len(entire.fractions) + 2 * 8
    np.testing.assert_allclose(stack.layers[1].weights, expected.layers[1].weights, atol=1e-8)


def test_that_a_product_of_leading_digits_is_exact():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 300)), random.standard_normal((300, 4)) * 10.0 ** random.integers(-9, 9, 4)
    a, b = blocked.leading_digits(a, 300), blocked.leading_digits(b.T, 300).T
    exact = [[math.fsum(left * right) for right in b.T] for left in a]  # products of 26-bit numbers are exact
    np.testing.assert_array_equal(a @ b, exact)
    rest = random.standard_normal((5, 300))
    assert np.abs(rest - blocked.leading_digits(rest, 300)).max() <= 2.0**-21 * np.abs(rest).max()


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_that_thresholded_sums_of_sparse_rows_are_exact_to_the_bit(dtype):
    rows = (words() > 0).astype(dtype)
    parameters = StackParameters(depth=4, dtype=dtype)
    same_layers(fit_stack(sparse.csr_matrix(rows), parameters), fit_stack(rows, parameters))


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


def test_that_values_stored_twice_are_added_before_they_are_squashed_and_one_equal_to_the_threshold_is_0():
    twice = sparse.csr_array((np.array([0.3, 0.3, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    slide = SLIDE(depth=2, dtype="float64").fit(twice)
    same_layers(slide.stack_, fit_stack(twice.toarray(), slide.stack_.parameters))
    assert len(twice.data) == 3
    rows = np.array([[0.1, 0.0], [0.2, 0.1]], "float32")
    parameters = StackParameters(threshold=0.1)
    for made in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(Scatter.squashed(made(rows), parameters).inner, [[1, 0], [0, 0]])


def test_that_sparse_rows_are_never_converted_all_at_once(monkeypatch):
    rows, written = sparse.random_array((20_000, 30), density=0.05, format="csr", random_state=0), []
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


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_array.toarray])
@pytest.mark.parametrize(("depth", "fit_on"), [(1, "values"), (1, "thresholded"), (2, "values")])
def test_that_a_fit_needs_no_more_memory_than_its_check_of_memory_assumes(monkeypatch, depth, fit_on, form):
    sizes = []
    monkeypatch.setattr(stack_module, "empty", lambda shape, *_: sizes.append(shape))
    rows = form(sparse.random_array((200, 1500), density=0.01, format="csr", random_state=0))
    tracemalloc.start()
    fit_stack(rows, StackParameters(depth=depth, fit_on=fit_on))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [(2 * depth + 4, 1501, 1501)]
    assert 0.5 < peak / (8 * np.prod(sizes[0])) <= 1.0
