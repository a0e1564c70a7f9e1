"""Accuracy of W for many numbers of features, noise levels and kinds of rows."""

import numpy as np
import pytest

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from tests.core.listings import solution_error
from tests.core.slide_data import scatter_of

BOUND = 1e-8
NOISES = (0.0, 1e-4, 0.01, 0.1, 0.3, 0.9)


def grey(kind, n, d):
    random = np.random.default_rng(0)
    if kind == "rank-deficient":
        return random.random((n, 20)) @ random.random((20, d)) / 20
    if kind == "smooth":  # a sum of waves whose amplitude grows with the wavelength
        waves = np.arange(1, 31)[:, None]
        rows = random.standard_normal((n, 30)) @ (np.cos(np.pi * waves * np.linspace(0, 1, d)) / waves)
        return (rows - rows.min()) / np.ptp(rows)
    rows = random.random((n, d))
    for _ in range(4):  # make each pixel similar to its neighbours
        rows[:, 1:] = 0.5 * rows[:, 1:] + 0.5 * rows[:, :-1]
    return rows


@pytest.mark.parametrize(
    ("n", "d", "kind", "noises"),
    [
        (200, 300, "correlated", NOISES),
        (200, 300, "rank-deficient", NOISES),
        (500, 900, "smooth", (0.0,)),
        (500, 900, "correlated", (0.0, 0.01, 0.9)),
        (500, 900, "rank-deficient", (0.0, 1e-4, 0.3)),
        (300, 1500, "correlated", (0.0, 0.1)),
        (300, 3000, "rank-deficient", (1e-4,)),
    ],
)
def test_that_weights_are_exact_to_1e_8_for_any_noise_and_number_of_features(n, d, kind, noises):
    scatter = scatter_of(grey(kind, n, d))
    some = np.linspace(0, d - 1, 5).astype(int)
    path = NoisePath(scatter) if d < 1500 else None
    deviations = []
    for noise in noises:
        found = [denoiser_weights(scatter, noise, features=some)]
        if d < 1500:
            found += [denoiser_weights(scatter, noise)[some], path.rows(some, noise)]
        weights = np.vstack(found)
        error = solution_error(weights, np.tile(some, len(found)), scatter, 1 - noise)
        relative = np.linalg.norm(error, axis=1) / np.linalg.norm(weights + error, axis=1)
        deviations.append(relative.max())
    assert max(deviations) <= BOUND


@pytest.mark.parametrize("kind", ["correlated", "rank-deficient"])
def test_that_float32_rows_give_the_listings_weights_in_float64_within_the_stated_bounds(kind):
    rows = grey(kind, 6000, 300).astype("float32")
    exact, some = scatter_of(rows), np.arange(0, 300, 10)
    for noise in (0.0, 0.05, 0.09, 0.1, 0.3, 0.5, 0.9):
        weights = fit_stack(rows, StackParameters(noise=noise, depth=1)).layers[0].weights[some]
        error = solution_error(weights, some, exact, 1 - noise)
        deviation = (np.linalg.norm(error, axis=1) / np.linalg.norm(weights + error, axis=1)).max()
        assert deviation < (4e-5 / noise if noise >= 0.1 else 1e-9 if noise else 1e-5)


def test_that_float32_sums_are_settled_into_float64_after_4096_rows():
    rows = np.ones((12_288, 3), "float32")
    rows[:4096] = 4096.0  # the sum of their squares is so large that float32 would lose all other rows
    scatter = input_scatter(rows, StackParameters()).values
    np.testing.assert_array_equal(scatter[:3, :3], 2.0**36 + 8192)
