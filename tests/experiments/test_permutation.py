"""That W un-scrambles: the weights of shuffled pixels, put back, are the weights."""

from __future__ import annotations

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.inspection.closed_form import fit_shuffled, shuffling, unshuffled
from tests.core.test_stack import images


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("squashing", ["threshold", "identity", "tanh"])
@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-12), ("float32", 1e-5)])
def test_that_every_layer_of_scrambled_pixels_is_the_same_but_for_rounding(fit_on, squashing, dtype, rounding):
    rows = images(n=300).astype("float32")
    stack = fit_stack(rows, StackParameters(noise=0.4, depth=3, fit_on=fit_on, squashing=squashing, dtype=dtype))
    fit = fit_shuffled(rows, stack, shuffling(64, 5))
    assert len(fit.differences) == 3
    for difference, largest in zip(fit.differences, fit.largest, strict=True):
        assert difference < rounding * largest
    for layer, there in zip(stack.layers, fit.shuffled.layers, strict=True):
        assert not np.allclose(layer.weights, there.weights, atol=1e-3)
        assert there.error == pytest.approx(layer.error, rel=1e-6)


def test_that_ones_and_zeros_summed_in_single_precision_lose_nothing_at_any_depth():
    rows = images(n=300).astype("float32")
    stack = fit_stack(rows, StackParameters(noise=0.3, depth=4, dtype="float32"))
    assert max(fit_shuffled(rows, stack, shuffling(64, 9)).differences) < 1e-13


def test_that_a_difference_is_measured_and_not_assumed():
    rows = images(n=300).astype("float32")
    stack = fit_stack(rows, StackParameters(noise=0.4, depth=1))
    other = images(n=300, seed=1).astype("float32")
    assert fit_shuffled(other, stack, shuffling(64, 0)).differences[0] > 1e-3


def test_that_each_weight_comes_back_from_where_it_was_put():
    order, weights = shuffling(6, 3), np.random.default_rng(0).random((6, 7))
    there = weights[order][:, np.append(order, 6)]
    assert not np.array_equal(there, weights)
    np.testing.assert_array_equal(unshuffled(there, order), weights)
    assert there[1, 2] == weights[order[1], order[2]]
    assert there[4, 6] == weights[order[4], 6]


def test_that_one_seed_is_one_permutation_and_no_other_order_is_taken():
    np.testing.assert_array_equal(shuffling(50, 2), shuffling(50, 2))
    assert not np.array_equal(shuffling(50, 2), shuffling(50, 3))
    rows = images(n=50).astype("float32")
    stack = fit_stack(rows, StackParameters(depth=1))
    with pytest.raises(ValueError, match="each of 0 to 63 once"):
        fit_shuffled(rows, stack, np.zeros(64, np.int64))
