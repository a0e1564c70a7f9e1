"""Scatters add up, and a stack fitted block by block equals the stack fitted at once."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from slide_gui import SLIDE, Blocks, Scatter
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import GROUP, ScatterPass, ScatterSum
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import Cancelled
from tests.core.slide_data import blobs, images, same_layers, scatter_of
from tests.core.svm_data import StopAfter

DOUBLE = StackParameters(dtype="float64")
CUTS = st.lists(st.integers(0, 200), max_size=12)


def cut(rows, places):
    ends = [0, *sorted(places), len(rows)]
    return [rows[a:b] for a, b in pairwise(ends) if b > a]


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
    expected = SLIDE(depth=4, dtype="float64").fit(rows)
    for a, b in zip(slide.weights_, expected.weights_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert slide.n_features_in_ == 64
    assert slide.transform(rows).shape == (300, 320)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_that_a_value_that_is_not_finite_is_named_with_its_row_among_all_blocks(make):
    rows = images(n=300)
    rows[217, 5] = np.nan
    for place, bad in (("row 217, feature 5 is nan", rows), ("row 100, feature 0 is inf", np.full((200, 3), np.inf))):
        with pytest.raises(ValueError, match=place):
            fit_stack(Blocks([images(n=100)[:, : bad.shape[1]], make(bad[100:])]), StackParameters())


def test_that_progress_over_blocks_never_falls_ends_at_one_and_cancels_within_a_block():
    blocks = Blocks(cut(images(n=9000), [8500]))
    listener, stopped = StopAfter(), StopAfter(fraction=0.1)
    fit_stack(blocks, StackParameters(depth=4), progress=listener)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] == pytest.approx(1.0)
    assert [len(stack.layers) for stack in listener.payloads] == [1, 2, 3, 4]
    with pytest.raises(Cancelled):
        fit_stack(blocks, StackParameters(depth=4), progress=stopped)
    assert stopped.fractions[-1] < 0.2


def _fitted(*blocks):
    return SLIDE(depth=1).fit(Blocks(blocks))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Scatter.of([1.0, 2.0]), ValueError, "X is a 1-D array of float64; it must be a 2-D array of numbers"),
        (lambda: Scatter.squashed([["a"]]), ValueError, "X is a 2-D array of <U1"),
        (lambda: Scatter.of(np.eye(2), StackParameters(noise=2.0)), ValueError, "noise is 2.0"),
        (lambda: Scatter.squashed(np.eye(2), weights=[np.eye(2)]), ValueError, r"layer 1 have shape \(2, 2\); for 2"),
        (lambda: Scatter.of(np.eye(3)) + Scatter.of(np.eye(2)), ValueError, "of 3 features cannot be added to"),
        (lambda: Scatter.of(np.eye(3)) + 1, TypeError, "unsupported operand"),
        (lambda: Scatter.of(np.full((3, 2), 1e200), DOUBLE).matrix, ValueError, "the sum of their squares is infinite"),
        (lambda: Blocks(None), TypeError, "blocks is None; give a list of blocks, or a function"),
        (lambda: Blocks(iter([np.eye(2)])), TypeError, "can be iterated only once.*; give a list of blocks"),
        (lambda: Blocks([np.eye(3)], "ab"), ValueError, "shape is 'ab'; it must be two integers"),
        (lambda: Blocks([np.eye(3)], (3,)), ValueError, r"shape is \(3,\); it must be two integers"),
        (lambda: Blocks([np.eye(3)], (3, 2.5)), ValueError, "the number of features is 2.5; it must be an integer"),
        (lambda: SLIDE().fit(Blocks([np.eye(3)], (5, 3))), ValueError, "have 3 rows this time, but 5 are expected"),
        (lambda: _fitted(np.eye(3), np.eye(4)), ValueError, "block 1 has 4 features; it must have 3"),
        (lambda: _fitted(np.eye(3), np.ones(3)), ValueError, "block 1 is a 1-D array of float64; it must be"),
        (lambda: _fitted(), ValueError, r"X has shape \(0, 0\); at least 2 samples"),
        (lambda: _fitted(np.ones((1, 2)), np.ones((0, 2))), ValueError, r"X has shape \(1, 2\); at least 2 samples"),
        (lambda: SLIDE().fit_transform(Blocks([np.eye(3)])), TypeError, "call fit, then transform each block"),
        (lambda: _fitted(np.eye(3)).transform(Blocks([np.eye(3)])), TypeError, "transform does not accept Blocks"),
    ],
)
def test_that_rows_blocks_and_scatters_that_cannot_be_used_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()
