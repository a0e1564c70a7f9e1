import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from slide_gui.blas import loaded_blas
from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.core.slide.noise_path import NoisePath
from tests.core.slide_data import blobs, scatter_of

NOISES = [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]


def relative(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


@pytest.mark.parametrize("noise", NOISES)
def test_that_a_row_at_a_new_noise_equals_a_refit_even_for_rarely_lit_pixels(noise):
    random = np.random.default_rng(2)
    rows = blobs(n=300, side=8)
    rows[:, 10:20] *= random.random((300, 10)) < 0.01
    rows[:, 15] = 0.0
    rows[7, 15] = 1 / 255
    scatter = scatter_of(rows)
    path = NoisePath(scatter)
    exact = denoiser_weights(scatter, noise)
    found = path.rows(np.arange(64), noise)
    for row, expected in zip(found, exact, strict=True):
        assert relative(row, expected) < 1e-6
    assert relative(path.weights(noise), exact) < 1e-7


def test_that_the_uninterruptible_eigendecomposition_uses_one_thread(monkeypatch):
    decompose, used = np.linalg.eigh, []

    def watched(matrix):
        used.append({blas.threads for blas in loaded_blas()})
        return decompose(matrix)

    monkeypatch.setattr(np.linalg, "eigh", watched)
    with threadpool_limits(2, user_api="blas"):
        before = loaded_blas()
        NoisePath(scatter_of(blobs(n=50, side=4)))
        assert loaded_blas() == before
    assert used == [{1}]


def test_that_without_a_ridge_a_dead_pixel_is_left_out_and_the_others_equal_a_refit_of_them_alone():
    rows = np.random.default_rng(0).random((200, 6))
    expected = denoiser_weights(scatter_of(rows), 0.3, ridge=0.0)
    found = NoisePath(scatter_of(np.insert(rows, 2, 0.0, axis=1)), ridge=0.0).weights(0.3)
    assert not found[2].any()
    assert not found[:, 2].any()
    np.testing.assert_allclose(np.delete(np.delete(found, 2, axis=0), 2, axis=1), expected, atol=1e-9)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    noise=st.floats(0.001, 0.95),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    n=st.integers(2, 40),
    d=st.integers(1, 10),
)
def test_that_the_path_equals_a_refit_for_any_scatter(seed, noise, scale, n, d):
    random = np.random.default_rng(seed)
    rows = scale * random.random((n, d)) * (random.random(d) < 0.8)
    scatter = scatter_of(rows)
    assert relative(NoisePath(scatter).weights(noise), denoiser_weights(scatter, noise)) < 1e-6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "the scatter is a NoneType; it must be a square matrix of d \\+ 1 rows"),
        (np.ones(3), r"the scatter is of shape \(3,\)"),
        (np.ones((3, 4)), r"the scatter is of shape \(3, 4\)"),
        (np.ones((1, 1)), r"the scatter is of shape \(1, 1\)"),
        ([["a"]], "the scatter is a list"),
        (np.full((3, 3), np.nan), "the scatter contains NaN or infinity"),
    ],
)
def test_that_an_invalid_scatter_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        NoisePath(wrong)


def test_that_features_and_noise_out_of_range_are_refused():
    path = NoisePath(scatter_of(blobs()))
    for wrong in ([0.5], "a", None):
        with pytest.raises(ValueError, match="it must hold integers from 0 to 35"):
            path.rows(wrong, 0.3)
    assert path.rows([], 0.3).shape == (0, 37)
    with pytest.raises(IndexError, match="0 to 35"):
        path.rows([36], 0.3)
    with pytest.raises(IndexError, match="0 to 35"):
        path.rows([-1], 0.3)
    with pytest.raises(ValueError, match="noise is 1"):
        path.rows([0], 1.0)
