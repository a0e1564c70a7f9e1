"""Rows of W for selected pixels, the default selection, one weight explained, and the rows of two runs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slide_gui.core.slide.denoiser import RIDGE, denoiser_weights
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.inspection import rows as inspection
from slide_gui.experiments.inspection.comparison import compare_errors, compare_rows
from slide_gui.experiments.inspection.rows import (
    default_pixels,
    drowns,
    explain,
    input_rms,
    nearby_peak,
    strongest,
    typical_peak,
    weight_rows,
)
from slide_gui.experiments.runs.run import run
from tests.experiments.tiny import rectangles, spec


def test_that_rows_and_biases_are_those_of_the_layers():
    rows = np.random.default_rng(0).random((30, 12), dtype=np.float32)
    model = fit_model(Dataset("d", rows, rows[:0], image_shape=(3, 4)), StackParameters(depth=2, noise=0.25))
    weights = weight_rows(model, [7, 0, 7])
    assert weights.rows.shape == (3, 2, 12)
    assert weights.depth == 2
    assert (weights.dataset, weights.image_shape, weights.pixels) == ("d", (3, 4), (7, 0, 7))
    for j, layer in enumerate(model.stack.layers):
        np.testing.assert_array_equal(weights.rows[:, j], layer.weights[[7, 0, 7], :-1])
        np.testing.assert_array_equal(weights.biases[:, j], layer.weights[[7, 0, 7], -1])
    for wrong in (-1, 12):
        with pytest.raises(ValueError, match="0 to 11"):
            weight_rows(model, [wrong])


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_the_rms_of_a_layer_is_that_of_the_values_it_was_fitted_on(fit_on):
    rows = np.random.default_rng(0).random((50, 12), dtype=np.float32)
    parameters = StackParameters(depth=2, dtype="float64", fit_on=fit_on)
    model = fit_model(Dataset("d", rows, rows[:0], image_shape=(3, 4)), parameters)
    hidden = model.stack.transform(rows.astype(float))
    known = weight_rows(model, [3]).rms
    for j in range(2):
        entered = hidden[:, 12 * j : 12 * (j + 1)]
        if fit_on == "thresholded":
            entered = (entered > parameters.threshold).astype(float)
        np.testing.assert_allclose(known[j], np.sqrt((entered * entered).mean(axis=0)), rtol=1e-9)
    assert input_rms(replace(model.stack.layers[0], scatter=None)) is None


def test_that_rarely_lit_pixels_drown_the_others_and_equally_lit_pixels_do_not():
    random = np.random.default_rng(0)
    rows = (random.random((400, 30)) < 0.3).astype(np.float32)
    rows[:, 1::2] = rows[:, ::2]
    even = fit_model(Dataset("d", rows, rows[:0]), StackParameters(depth=1))
    rare = rows.copy()
    rare[:, 29] = 0.0
    rare[3, 29] = 0.01  # lit in one sample of 400, and only dimly
    uneven = fit_model(Dataset("d", rare, rows[:0]), StackParameters(depth=1))
    assert (drowns(even.stack.layers[0]), weight_rows(even, [0]).drowned) == (False, False)
    assert (drowns(uneven.stack.layers[0]), weight_rows(uneven, [0]).drowned) == (True, True)


def test_that_a_typical_peak_is_the_median_of_those_that_are_not_zero():
    assert typical_peak(np.array([0.0, 5.0, 0.0, 0.0, 2.0, 900.0])) == 5.0
    assert typical_peak(np.array([4.0, 0.0, 3.0, 900.0, 2.0])) == 3.5
    assert typical_peak(np.zeros(3)) == 1.0


@given(
    light=hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(-1, 1)),
    k=st.integers(1, 50),
    image=st.booleans(),
)
def test_that_default_pixels_are_distinct_features_whatever_the_mean(light, k, image):
    shape = (light.size, 1) if image else None
    pixels = default_pixels(shape, light, k)
    assert len(set(pixels)) == len(pixels) == min(k, light.size)
    assert all(0 <= pixel < light.size for pixel in pixels)
    assert pixels == default_pixels(shape, light, k)


def test_that_the_limit_of_a_row_is_the_largest_weight_within_two_pixels():
    row = np.zeros(49)
    row[24], row[10], row[48] = -0.5, 0.75, 900.0  # pixel (3, 3), a pixel two rows above it, and a distant one
    assert nearby_peak(row, 24, (7, 7)) == 0.75
    assert nearby_peak(row, 24, None) == 900.0
    assert nearby_peak(row, 0, (7, 7)) == 900.0
    assert nearby_peak(np.zeros(49), 0, (7, 7)) == 0.0
    rising = np.arange(1.0, 43.0)  # 6 × 7
    for pixel, nearest in ((0, 2 * 7 + 2), (41, 41), (6, 2 * 7 + 6), (3 * 7 + 3, 5 * 7 + 5)):
        assert nearby_peak(rising, pixel, (6, 7)) == rising[nearest]


@pytest.mark.parametrize("shape", [(6, 9), None])
def test_that_each_default_pixel_has_the_largest_product_of_light_and_distance(shape):
    light = np.random.default_rng(1).random(54) ** 2 - 0.3
    rows, columns = shape or (1, 54)
    places = [(y, x) for y in range(rows) for x in range(columns)]
    chosen = []
    for _ in range(5):
        best, score = -1, -1.0
        for pixel, (y, x) in enumerate(places):
            edges = [x, columns - 1 - x] + ([y, rows - 1 - y] if rows > 1 else [])
            room = min([min(edges) + 1.0, *(np.hypot(y - places[c][0], x - places[c][1]) for c in chosen)])
            if pixel not in chosen and abs(light[pixel]) * room > score:
                best, score = pixel, abs(light[pixel]) * room
        chosen.append(best)
    assert default_pixels(shape, light, 5) == tuple(sorted(chosen))
    assert len(default_pixels(shape, light)) == 4


X = (np.random.default_rng(2).random((80, 6)) > 0.6).astype(float)
CLEAN = np.column_stack([X, np.ones(80)])
SCATTER = CLEAN.T @ CLEAN


@pytest.mark.parametrize(("a", "b"), [(1, 4), (4, 1), (3, 3)])
def test_that_every_number_is_that_of_the_formula(a, b):
    p, weights = 0.7, denoiser_weights(SCATTER, 0.3)
    e = explain(SCATTER, weights[a], 0.3, RIDGE, a, b)
    assert e.n == 80
    assert e.s_row[b] == (X[:, a] * X[:, b]).sum()
    assert e.q_row[a] == pytest.approx(X[:, a].sum() * p)
    assert e.survival == p
    np.testing.assert_array_equal(e.w_row, weights[a, :-1])
    assert e.product == pytest.approx(e.p_row[b], rel=1e-9)
    np.testing.assert_allclose(e.p_row, SCATTER[a, :-1] * p)
    assert e.s_row.shape == e.p_row.shape == e.q_row.shape == e.w_row.shape == (6,)
    np.testing.assert_allclose(e.q_row[np.arange(6) != a], (SCATTER[a, :-1] * p * p)[np.arange(6) != a])


def test_that_the_check_fails_for_weights_that_are_not_the_solution():
    weights = denoiser_weights(SCATTER, 0.5)
    e = explain(SCATTER, weights[1], 0.3, RIDGE, 1, 4)
    assert abs(e.product - e.p_row[4]) > 0.1


def test_that_the_strongest_weight_is_that_of_another_pixel():
    assert strongest(np.array([0.9, -0.5, 0.4, 7.0]), 0) == 1
    assert strongest(np.array([0.9, 7.0]), 0) == 0


DATA = rectangles(60, 100)
A, B = spec(DATA, noise=0.2, depth=2), spec(DATA, noise=0.5, depth=1, widths="median", C=10.0)


def test_that_rows_are_those_of_each_stack_and_their_difference():
    found = compare_rows(DATA, A, B, (9, 30))
    for own, each in ((found.first, A), (found.second, B)):
        layers = fit_stack(DATA.train, each.stack).layers
        assert own.shape == (2, len(layers), 65)
        for j, layer in enumerate(layers):
            np.testing.assert_allclose(own[:, j], layer.weights[[9, 30]], rtol=0, atol=1e-9)
    assert not found.contributions
    assert found.difference.shape == (2, 1, 65)
    np.testing.assert_array_equal(found.difference[:, 0], found.first[:, 0] - found.second[:, 0])


def test_that_rows_are_contributions_where_a_few_weights_would_drown_them(monkeypatch):
    monkeypatch.setattr(inspection, "drowns", lambda layer: layer.weights.shape[0] == 64)
    found = compare_rows(DATA, A, B, (9,))
    assert found.contributions
    for rows, each in ((found.first, A), (found.second, B)):
        for j, layer in enumerate(fit_stack(DATA.train, each.stack).layers):
            expected = layer.weights[9, :-1] * np.sqrt(np.diag(layer.scatter)[:-1] / len(DATA.train))
            np.testing.assert_allclose(rows[0, j, :-1], expected, rtol=0, atol=1e-9)
            assert rows[0, j, -1] == pytest.approx(layer.weights[9, -1], abs=1e-9)


def test_that_other_data_are_refused():
    with pytest.raises(DataError, match="not the data set of both"):
        compare_rows(DATA, A, spec(rectangles(60, 100, seed=1)), (0,))


def test_that_errors_are_tested_on_the_same_rows_only():
    first, second = run(DATA, A), run(DATA, B)
    found = compare_errors(first, second)
    wrong = [set(result.misclassified.tolist()) for result in (first, second)]
    assert (found.only_first, found.only_second) == (len(wrong[0] - wrong[1]), len(wrong[1] - wrong[0]))
    assert compare_errors(first, run(DATA, spec(DATA, test_rows=20, widths="median", C=10.0))) is None
