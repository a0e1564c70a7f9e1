import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slide_gui.core.slide.denoiser import CorruptedCopies, denoiser_weights, expected_q, reconstruction_error
from tests.core.listings import lide, solution_error
from tests.core.slide_data import blobs, scatter_of


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 0.5, 0.9, 0.99])
def test_that_the_closed_form_equals_the_papers_listing(noise):
    rows = blobs()
    expected, _ = lide(rows.T, 1 - noise)
    expected += solution_error(expected, np.arange(36), scatter_of(rows), 1 - noise)
    np.testing.assert_allclose(denoiser_weights(scatter_of(rows), noise), expected, atol=1e-9, rtol=0)


def test_that_expected_q_is_the_mean_of_the_corrupted_scatters():
    rows = blobs(n=60, side=3)
    random = np.random.default_rng(5)
    total = np.zeros((10, 10))
    for _ in range(4000):
        corrupted = np.column_stack([rows * (random.random(rows.shape) < 0.7), np.ones(len(rows))])
        total += corrupted.T @ corrupted
    np.testing.assert_allclose(total / 4000, expected_q(scatter_of(rows), 0.3, ridge=0.0), atol=0.15)


@pytest.mark.parametrize("ridge", [1e-5, 0.5])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3, 0.9])
def test_that_the_reconstruction_error_is_the_mean_over_every_corruption(noise, ridge):
    rows = np.add(np.random.default_rng(0).random((9, 5)), [0.0, 0.0, 0.0, 0.2, 3.0])
    scatter = scatter_of(rows)
    weights = denoiser_weights(scatter, noise, ridge)
    expected = 0.0
    for survives in itertools.product([False, True], repeat=5):
        corrupted = np.column_stack([rows * survives, np.ones(9)])
        probability = np.prod(np.where(survives, 1 - noise, noise))
        expected += probability * np.mean((rows - corrupted @ weights.T) ** 2)
    assert reconstruction_error(scatter, weights, noise, ridge) == pytest.approx(expected, rel=1e-8, abs=1e-22)


def test_that_little_noise_gives_a_small_nonzero_error():
    scatter = scatter_of(np.random.default_rng(0).random((300, 200)) @ np.eye(200, 400))
    errors = [reconstruction_error(scatter, denoiser_weights(scatter, noise), noise) for noise in (0, 1e-9, 1e-6, 1e-3)]
    assert errors == sorted(errors)
    assert 0.0 < errors[0] < errors[1]
    assert errors[3] / errors[2] == pytest.approx(1000, rel=0.1)


def test_that_a_clearly_negative_reconstruction_error_is_refused():
    scatter = scatter_of(blobs())
    weights = denoiser_weights(scatter, 0.3)
    with pytest.raises(ValueError, match=r"below 0: the weights do not belong to this scatter at noise 0\.3"):
        reconstruction_error(scatter, -weights, 0.3)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), noise=st.floats(0.0, 0.95), n=st.integers(2, 30), d=st.integers(1, 8))
def test_that_no_other_map_has_a_smaller_expected_error(seed, noise, n, d):
    random = np.random.default_rng(seed)
    scatter = scatter_of(random.random((n, d)))
    weights = denoiser_weights(scatter, noise)
    p = scatter[:-1] * np.append(np.full(d, 1 - noise), 1.0)
    q = expected_q(scatter, noise)

    def penalised(w):
        return np.vdot(w @ q, w) - 2 * np.vdot(w, p)

    other = weights + 1e-3 * random.standard_normal(weights.shape)
    assert penalised(weights) <= penalised(other) + 1e-9


def test_that_bad_parameters_are_refused_by_name():
    dead_feature = r"E\[Q\] is singular because features that are 0 in every row .* need a ridge above 0"
    scatter = scatter_of(blobs(side=3))
    with pytest.raises(ValueError, match=r"noise is 1\.0; it must be at least 0 and below 1"):
        denoiser_weights(scatter, 1.0)
    with pytest.raises(ValueError, match="ridge is nan"):
        denoiser_weights(scatter, 0.5, ridge=float("nan"))
    with pytest.raises(ValueError, match=dead_feature):
        denoiser_weights(scatter, 0.5, ridge=0.0)
    rows = np.random.default_rng(0).random((50, 3))
    with pytest.raises(ValueError, match="some features are linear combinations of others: use a larger ridge"):
        denoiser_weights(scatter_of(np.column_stack([rows, 2.0 * rows[:, 0]])), 0.0, ridge=0.0)
    with pytest.raises(ValueError, match="call add"):
        CorruptedCopies(np.ones((3, 2)), 0.5).weights()
    dead = CorruptedCopies(np.zeros((3, 2)), 0.5, ridge=0.0)
    dead.add()
    with pytest.raises(ValueError, match=dead_feature):
        dead.weights()
