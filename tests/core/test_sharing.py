"""Convolutional stacks against a fit of explicit patches, place by place and row by row."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from slide_gui import SLIDE, Blocks, SLIDEClassifier
from slide_gui.core.slide.approximation import Approximation
from slide_gui.core.slide.denoiser import survival
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import input_scatter
from slide_gui.core.slide.stack import fit_stack
from slide_gui.progress import NO_PROGRESS
from tests.core.slide_data import same_layers

SHAPES = [(5, 6), (5, 6, 3)]
PARAMETERS = StackParameters(noise=0.4, depth=1, dtype="float64", sharing="convolution", window=3)


def images(shape, n=60):
    """Return smooth random images, among them dark pixels, as rows of an array."""
    values = np.random.default_rng(0).random((n, *shape))
    values = (values + np.roll(values, 1, axis=1) + np.roll(values, 1, axis=2)) / 3.0
    values[:, 0, 0] = 0.0
    return values.reshape(n, -1)


def patches(rows, shape, window):
    """Return, for every place and row, the pixels around the place with zeros outside the image, and a constant 1."""
    height, width, channels = (*shape, 1)[:3]
    border = (window // 2, window // 2)
    padded = np.pad(rows.reshape(-1, height, width, channels), ((0, 0), border, border, (0, 0)))
    by_place = np.moveaxis(sliding_window_view(padded, (window, window), axis=(1, 2)), (0, 3), (2, -1))
    found = by_place.reshape(height * width * len(rows), -1)
    return np.column_stack([found, np.ones(len(found))])


def by_patches(rows, shape, noise, ridge=1e-5, window=3):
    """Return the kernel and bias of each channel from the expected system of all patches."""
    height, width, channels = (*shape, 1)[:3]
    clean = patches(rows, shape, window)
    q = survival(noise, clean.shape[1] - 1)
    total = clean.T @ clean / (height * width)
    expected = total * np.outer(q, q)
    np.fill_diagonal(expected, np.diag(total) * q + ridge)
    centre = window * window // 2 * channels + np.arange(channels)
    return np.linalg.solve(expected, (total[centre] * q).T).T


def laid_out(kernels, shape, window=3):
    """Return W with the kernel written around each pixel."""
    height, width, channels = (*shape, 1)[:3]
    weights = np.zeros((height, width, channels, height * width * channels + 1))
    for y in range(height):
        for x in range(width):
            for k, kernel in enumerate(kernels):
                values = kernel[:-1].reshape(window, window, channels)
                weights[y, x, k, -1] = kernel[-1]
                for (i, j, other), value in np.ndenumerate(values):
                    to_y, to_x = y + i - window // 2, x + j - window // 2
                    if 0 <= to_y < height and 0 <= to_x < width:
                        weights[y, x, k, (to_y * width + to_x) * channels + other] = value
    return weights.reshape(-1, weights.shape[-1])


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("noise", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("shape", SHAPES)
def test_that_weights_are_the_kernel_of_the_expected_system_of_all_patches(shape, noise, window):
    rows = images(shape)
    slide = SLIDE(noise, 1, dtype="float64", sharing="convolution", window=window, image_shape=shape).fit(rows)
    expected = laid_out(by_patches(rows, shape, noise, window=window), shape, window)
    np.testing.assert_allclose(slide.weights_[0], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("shape", SHAPES)
def test_that_the_second_layer_is_the_same_fit_to_the_output_of_the_first(shape, fit_on):
    rows = images(shape)
    slide = SLIDE(depth=2, threshold=0.4, fit_on=fit_on, dtype="float64", sharing="convolution", window=3)
    h = slide.set_params(image_shape=shape).fit(rows).layers(rows)
    squashed = (rows > 0.4).astype(float)
    first = squashed if fit_on == "thresholded" else rows
    one = laid_out(by_patches(first, shape, 0.3), shape)
    np.testing.assert_allclose(h[1], squashed @ one[:, :-1].T + one[:, -1], atol=1e-8)
    entered = (h[1] > 0.4).astype(float) if fit_on == "thresholded" else h[1]
    two = laid_out(by_patches(entered, shape, 0.3), shape)
    np.testing.assert_allclose(slide.weights_[1], two, atol=1e-8)


def test_that_the_error_is_the_expected_one_of_the_kernel_at_all_places():
    rows = images((5, 5))  # square images do not need `image_shape`
    stack = fit_stack(rows, PARAMETERS)
    weights, n = stack.layers[0].weights, len(rows)
    clean = np.column_stack([rows, np.ones(n)])
    scatter, q = clean.T @ clean, survival(0.4, 25)
    expected = scatter * np.outer(q, q)
    np.fill_diagonal(expected, np.diag(scatter) * q)
    total = np.trace(scatter[:25, :25] - 2 * weights @ (scatter * q)[:25].T + weights @ expected @ weights.T)
    assert stack.layers[0].error == pytest.approx(total / (25 * n), rel=1e-8)


def test_that_float32_gives_the_same_kernel_on_rows_of_0_and_1():
    rows = images((5, 6))
    shared = {"depth": 1, "sharing": "convolution", "window": 3, "image_shape": (5, 6)}
    both = [SLIDE(dtype=dtype, **shared) for dtype in ("float32", "float64")]
    binary = [each.fit((rows > 0.5).astype("float32")).weights_[0] for each in both]
    np.testing.assert_array_equal(*binary)
    grey = [each.fit(rows).weights_[0] for each in both]
    np.testing.assert_allclose(*grey, atol=4e-5 / 0.3)
    assert not np.array_equal(*grey)


@pytest.mark.parametrize("shape", SHAPES)
def test_that_the_noise_path_equals_a_refit_at_every_noise(shape):
    rows = images(shape)
    path = fit_stack(rows, PARAMETERS, image_shape=shape).noise_path(1)
    for noise in (0.05, 0.3, 0.95):
        (layer,) = fit_stack(rows, StackParameters(**{**vars(PARAMETERS), "noise": noise}), image_shape=shape).layers
        np.testing.assert_allclose(path.weights(noise), layer.weights, atol=1e-8)
        np.testing.assert_allclose(path.rows([7, 0], noise), layer.weights[[7, 0]], atol=1e-8)


def test_that_sparse_rows_blocks_and_repeated_rows_give_the_same_stack():
    rows, twice = np.round(images((5, 6)), 1), np.arange(60) % 2 + 1
    parameters = StackParameters(**{**vars(PARAMETERS), "depth": 3})
    expected = fit_stack(np.repeat(rows, twice, axis=0), parameters, image_shape=(5, 6))
    repeated = np.repeat(rows, twice, axis=0)
    for given, weights in ((rows, twice.astype(float)), (sparse.csr_array(repeated), None), (Blocks([repeated]), None)):
        same_layers(fit_stack(given, parameters, sample_weight=weights, image_shape=(5, 6)), expected, atol=1e-7)


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_approximate_layers_of_a_convolution_are_those_of_the_fit(fit_on):
    rows = images((5, 6)).astype("float32")
    parameters = StackParameters(depth=3, fit_on=fit_on, sharing="convolution", window=3)
    layers = Approximation(rows, input_scatter(rows, parameters), (5, 6), NO_PROGRESS).layers(parameters)
    for approximate, layer in zip(layers, fit_stack(rows, parameters, image_shape=(5, 6)).layers, strict=True):
        np.testing.assert_allclose(approximate.weights, layer.weights, atol=2e-3)


def test_that_a_signal_is_an_image_of_one_row_a_window_ends_at_the_image_and_a_classifier_passes_the_shape_on():
    rows = images((5, 6))[:, :6]
    shared = {"depth": 1, "dtype": "float64", "sharing": "convolution", "image_shape": (1, 6)}
    line, square = (SLIDE(window=window, **shared).fit(rows) for window in (None, 13))
    assert (line.stack_.parameters.window, line.weights_[0][2, :6].all()) == (9, True)
    np.testing.assert_array_equal(line.weights_, square.weights_)
    rows = images((5, 6))
    model = SLIDEClassifier(depth=1, widths="median", C=1.0, sharing="convolution", window=3, image_shape=(5, 6))
    model.fit(rows, rows[:, 9] > np.median(rows[:, 9]))
    assert model.slide_.weights_[0][0, 2] == 0.0 != model.slide_.weights_[0][0, 7]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "30 features do not form a square image; give image_shape for a convolution"),
        ({"image_shape": (5, 5)}, r"image_shape is \(5, 5\); it must be \(rows, columns\) or .*product of 30"),
        ({"image_shape": (2.5, 12)}, "image_shape is"),
        ({"sharing": "none", "image_shape": (4, 6)}, "image_shape is"),
        ({"image_shape": "30"}, "image_shape is '30'"),
        ({"image_shape": 30}, "image_shape is 30"),
        ({"image_shape": (-5, -6)}, "image_shape is"),
        ({"image_shape": ()}, "the features are not pixels"),
        ({"window": 4}, "window is 4; it must be an odd integer, 3 or more"),
    ],
)
def test_that_images_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SLIDE(**{"sharing": "convolution", **changes}).fit(images((5, 6)))
