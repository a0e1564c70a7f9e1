import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from slide_gui.core.sda.model import Masks, log_softmax, multiply, sigmoid, sigmoid_cross_entropy
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter

ACTIVATIONS = arrays(np.float64, (70, 3), elements=st.floats(-30, 30))
TARGETS = arrays(np.float64, (70, 3), elements=st.floats(0, 1))


@given(ACTIVATIONS, TARGETS)
def test_that_the_cross_entropy_is_the_sum_of_its_terms(a, x):
    terms = x * np.logaddexp(0.0, -a) + (1 - x) * np.logaddexp(0.0, a)
    z = a.copy()
    loss = sigmoid_cross_entropy(z, x, np.empty_like(a))
    assert loss == pytest.approx(terms.sum(), rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(z, expit(a), rtol=0, atol=1e-15)


def test_that_float32_losses_of_sure_units_are_finite_and_right():
    a = np.array([[200.0, -200.0, 40.0, -1e30]], np.float32)
    x = np.array([[1.0, 0.0, 0.5, 1.0]], np.float32)
    exact = 0.0 + 0.0 + 20.0 + 1e30
    assert sigmoid_cross_entropy(a.copy(), x, np.empty_like(a)) == pytest.approx(exact, rel=1e-6)
    sigmoid(a)
    np.testing.assert_array_equal(a, [[1.0, 0.0, 1.0, 0.0]])


def test_that_the_log_softmax_has_the_right_differences_and_adds_up_to_one():
    a = np.array([[1000.0, 1001.0, 999.0], [-2.0, -2.0, -2.0]])
    values = a.copy()
    log_softmax(values)
    np.testing.assert_allclose(np.exp(values).sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.diff(values, axis=1), np.diff(a, axis=1), rtol=1e-12)


@pytest.mark.parametrize("noise", [0.1, 0.25, 0.7])
def test_that_masks_keep_the_stated_share_and_are_fresh_each_time(noise):
    rows = np.full((200, 501), 0.5, np.float32)
    masks = Masks(noise, np.random.default_rng(1), rows.shape)
    one, other = np.empty_like(rows), np.empty_like(rows)
    masks.apply(rows, one)
    masks.apply(rows, other)
    deviation = np.sqrt(noise * (1 - noise))
    for drawn in (one, other):
        assert set(np.unique(drawn)) == {0.0, 0.5}
        assert abs((drawn == 0).mean() - noise) < 4 * deviation / np.sqrt(rows.size)
        assert abs((drawn == 0).mean(axis=0) - noise).max() < 5 * deviation / np.sqrt(len(rows))
        assert abs((drawn == 0).mean(axis=1) - noise).max() < 5 * deviation / np.sqrt(rows.shape[1])
    both = ((one == 0) & (other == 0)).mean()
    assert both == pytest.approx(noise**2, abs=0.01)


def test_that_no_noise_changes_nothing_and_almost_full_noise_is_allowed():
    rows = np.random.default_rng(0).random((3, 7))
    out = np.empty_like(rows)
    Masks(0.0, np.random.default_rng(0), rows.shape).apply(rows, out)
    np.testing.assert_array_equal(out, rows)
    Masks(1 - 1e-9, np.random.default_rng(0), rows.shape).apply(rows, out)
    np.testing.assert_array_equal(out, 0.0)


def test_that_a_large_product_can_be_stopped_between_pieces_and_is_right():
    random = np.random.default_rng(0)
    a, b = random.random((40, 2000), dtype=np.float32), random.random((2000, 16000), dtype=np.float32)
    out = np.empty((40, 16000), np.float32)
    listener = StopAfter()
    multiply(a, b, out, listener)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    assert len(listener.fractions) == 2
    with pytest.raises(Cancelled):
        multiply(a, b, out, StopAfter(1))
