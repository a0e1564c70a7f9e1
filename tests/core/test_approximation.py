import numpy as np
import pytest

from slide_gui.core import linear_algebra
from slide_gui.core.slide import approximation
from slide_gui.core.slide.approximation import Approximation
from slide_gui.core.slide.denoiser import LEAST_NOISE, approximate_weights, denoiser_weights
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from tests.core.slide_data import blobs, scatter_of


def rows_with_rare_pixels(n=300, side=8):
    random = np.random.default_rng(2)
    rows = blobs(n=n, side=side)
    rows[:, 10:14] *= random.random((n, 4)) < 0.02
    rows[:, 15] = 0.0
    rows[7, 15] = 1 / 255
    rows[:, 20] = 0.0
    return rows.astype(np.float32)


def approximate_layers(rows, parameters):
    steps = Approximation(rows, input_scatter(rows, parameters)).layers(parameters)
    return next(layers for layers in steps if len(layers) == parameters.depth)


def errors(layers, stack, scales=(1.0,) * 4):
    """Return the error of each row, scaled by column, relative to its length, for each layer."""
    found = []
    for approximate, exact, scale in zip(layers, stack.layers, scales, strict=True):
        difference, size = ((weights * scale) for weights in (approximate.weights - exact.weights, exact.weights))
        found.append(np.linalg.norm(difference, axis=1) / np.maximum(np.linalg.norm(size, axis=1), 1e-300))
    return found


@pytest.mark.parametrize("noise", [LEAST_NOISE, 0.1, 0.3, 0.9, 0.99])
def test_that_a_row_in_float32_has_an_error_of_at_most_1e_3_even_for_rarely_lit_pixels(noise):
    scatter = scatter_of(rows_with_rare_pixels())
    exact, found = denoiser_weights(scatter, noise), approximate_weights(scatter, noise)
    assert found.dtype == np.float32
    assert (np.linalg.norm(found - exact, axis=1) <= 1e-3 * np.linalg.norm(exact, axis=1)).all()


def test_that_no_matrix_of_float32_is_inverted_in_float64(monkeypatch):
    used, product = set(), linear_algebra.product
    monkeypatch.setattr(
        linear_algebra, "product", lambda a, b, *more: used.add((a.dtype, b.dtype)) or product(a, b, *more)
    )
    approximate_weights(scatter_of(np.random.default_rng(0).random((400, 200))), 0.3)
    assert used == {(np.dtype(np.float32),) * 2}


def test_that_a_matrix_that_is_singular_in_float32_is_refused():
    rows = rows_with_rare_pixels()
    for wrong in (rows, np.column_stack([rows[:, :5], rows[:, :5]])):
        with pytest.raises(np.linalg.LinAlgError):
            approximate_weights(scatter_of(wrong), 0.0 if wrong is not rows else 0.3, ridge=0.0)


@pytest.mark.parametrize("noise", [LEAST_NOISE, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("changes", [{}, {"squashing": "tanh"}, {"fit_on": "thresholded"}, {"dtype": "float64"}])
def test_that_layers_from_all_rows_have_an_error_of_at_most_1e_2(noise, changes):
    rows, parameters = rows_with_rare_pixels(), StackParameters(depth=4, noise=noise, **changes)
    layers, stack = approximate_layers(rows, parameters), fit_stack(rows, parameters)
    assert max(error.max() for error in errors(layers, stack)) < 1e-2


@pytest.mark.parametrize("changes", [{}, {"fit_on": "thresholded"}, {"squashing": "tanh"}])
def test_that_sampled_rows_give_contributions_to_a_fifth_and_binary_ones_better_than_uniform_rows(monkeypatch, changes):
    rows, parameters = rows_with_rare_pixels(n=8000), StackParameters(depth=4, noise=0.3, **changes)
    stack = fit_stack(rows, parameters)
    rms = [np.sqrt(np.diag(layer.scatter) / len(rows)) for layer in stack.layers]
    monkeypatch.setattr(approximation, "MOST_ROWS", 1000)
    layers = approximate_layers(rows, parameters)
    assert errors(layers, stack)[0].max() < 1e-3
    if parameters.fit_on == "values":
        assert errors(layers, stack)[1].max() < 1e-2  # its scatter is computed from that of all rows
    found = errors(layers, stack, rms)
    assert max(np.median(error) for error in found) < 0.2

    def uniform(rows, scatter, progress):
        chosen = np.random.default_rng(0).choice(len(rows), 1000, replace=False)
        return chosen, np.full(1000, len(rows) / 1000)

    monkeypatch.setattr(approximation, "_by_leverage", uniform)
    worse = errors(approximate_layers(rows, parameters), stack, rms)
    assert not parameters.function.binary or np.linalg.norm(found[-1]) < np.linalg.norm(worse[-1])
