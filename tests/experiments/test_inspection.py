"""Rows of W, one weight explained, an image in its flow, how alike drawings are, and the explorer of stacks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits

from slide_gui.core.slide.denoiser import RIDGE, denoiser_weights
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Layer, Stack, fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.files import source as image_file
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.source import image_text, read_image
from slide_gui.experiments.inspection import likeness
from slide_gui.experiments.inspection import rows as inspection
from slide_gui.experiments.inspection.comparison import compare_errors, compare_rows
from slide_gui.experiments.inspection.flow import Forward, flow_result, survivors
from slide_gui.experiments.inspection.likeness import Likeness
from slide_gui.experiments.inspection.rows import Explorer, Preview
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.splits import RunData
from slide_gui.progress import Cancelled
from tests.core.slide_data import images, same_layers
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, spec


def test_that_rows_and_biases_are_those_of_the_layers():
    rows = np.random.default_rng(0).random((30, 12), dtype=np.float32)
    model = fit_model(Dataset("d", rows, rows[:0], image_shape=(3, 4)), StackParameters(depth=2, noise=0.25))
    weights = inspection.weight_rows(model, [7, 0, 7])
    assert (weights.dataset, weights.image_shape, weights.pixels, weights.depth) == ("d", (3, 4), (7, 0, 7), 2)
    for j, layer in enumerate(model.stack.layers):
        np.testing.assert_array_equal(weights.rows[:, j], layer.weights[[7, 0, 7], :-1])
        np.testing.assert_array_equal(weights.biases[:, j], layer.weights[[7, 0, 7], -1])
    for wrong in (-1, 12):
        with pytest.raises(ValueError, match="0 to 11"):
            inspection.weight_rows(model, [wrong])


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_the_rms_of_a_layer_is_that_of_the_values_it_was_fitted_on(fit_on):
    rows = np.random.default_rng(0).random((50, 12), dtype=np.float32)
    parameters = StackParameters(depth=2, dtype="float64", fit_on=fit_on)
    model = fit_model(Dataset("d", rows, rows[:0], image_shape=(3, 4)), parameters)
    hidden = model.stack.transform(rows.astype(float))
    known = inspection.weight_rows(model, [3]).rms
    for j in range(2):
        entered = hidden[:, 12 * j : 12 * (j + 1)]
        if fit_on == "thresholded":
            entered = (entered > parameters.threshold).astype(float)
        np.testing.assert_allclose(known[j], np.sqrt((entered * entered).mean(axis=0)), rtol=1e-9)


def test_that_rarely_lit_pixels_drown_the_others_and_equally_lit_pixels_do_not():
    rows = (np.random.default_rng(0).random((400, 30)) < 0.3).astype(np.float32)
    rows[:, 1::2] = rows[:, ::2]
    even = fit_model(Dataset("d", rows, rows[:0]), StackParameters(depth=1))
    rare = rows.copy()
    rare[:, 29] = 0.0
    rare[3, 29] = 0.01  # lit in one sample of 400, and only dimly
    uneven = fit_model(Dataset("d", rare, rows[:0]), StackParameters(depth=1))
    assert (inspection.drowns(even.stack.layers[0]), inspection.weight_rows(even, [0]).drowned) == (False, False)
    assert (inspection.drowns(uneven.stack.layers[0]), inspection.weight_rows(uneven, [0]).drowned) == (True, True)


def test_that_a_typical_peak_is_the_median_of_those_not_zero_and_the_strongest_weight_that_of_another_pixel():
    assert inspection.typical_peak(np.array([0.0, 5.0, 0.0, 0.0, 2.0, 900.0])) == 5.0
    assert inspection.typical_peak(np.array([4.0, 0.0, 3.0, 900.0, 2.0])) == 3.5
    assert inspection.typical_peak(np.zeros(3)) == 1.0
    layers = [Layer(np.array([[1.0, -2.0, 3.0, peak, 900.0]]), 0.0) for peak in (-25.0, -25.1)]
    assert [inspection.drowns(layer) for layer in layers] == [False, True]  # more than ten times the median of 2.5
    assert inspection.strongest(np.array([0.9, -0.5, 0.4, 7.0]), 0) == 1
    assert inspection.strongest(np.array([0.9, 7.0]), 0) == 0


def test_that_the_limit_of_a_row_is_the_largest_weight_within_two_pixels():
    row = np.zeros(49)
    row[24], row[10], row[48] = -0.5, 0.75, 900.0  # pixel (3, 3), a pixel two rows above it, and a distant one
    assert inspection.nearby_peak(row, 24, (7, 7)) == 0.75
    assert inspection.nearby_peak(row, 24, None) == 900.0
    assert inspection.nearby_peak(row, 0, (7, 7)) == 900.0
    assert inspection.nearby_peak(np.zeros(49), 0, (7, 7)) == 0.0
    rising = np.arange(1.0, 43.0)  # 6 × 7
    for pixel, nearest in ((0, 2 * 7 + 2), (41, 41), (6, 2 * 7 + 6), (3 * 7 + 3, 5 * 7 + 5)):
        assert inspection.nearby_peak(rising, pixel, (6, 7)) == rising[nearest]


@given(
    light=hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1)),
    k=st.integers(1, 40),
    columns=st.integers(0, 6),
)
def test_that_each_default_pixel_has_the_largest_product_of_light_and_distance(light, k, columns):
    shape = (light.size // columns, columns) if columns and light.size >= columns else None
    light = light if shape is None else light[: shape[0] * shape[1]]
    rows, columns = shape or (1, light.size)
    bright = np.abs(light) if light.any() else np.ones(light.size)
    places = [(y, x) for y in range(rows) for x in range(columns)]
    chosen = []
    for _ in range(min(k, light.size)):
        best, score = -1, -1.0
        for pixel, (y, x) in enumerate(places):
            edges = [x, columns - 1 - x] + ([y, rows - 1 - y] if rows > 1 else [])
            space = min([min(edges) + 1.0, *(np.hypot(y - places[c][0], x - places[c][1]) for c in chosen)])
            if pixel not in chosen and bright[pixel] * space > score:
                best, score = pixel, bright[pixel] * space
        chosen.append(best)
    assert inspection.default_pixels(shape, light, k) == tuple(sorted(chosen))


X = (np.random.default_rng(2).random((80, 6)) > 0.6).astype(float)
CLEAN = np.column_stack([X, np.ones(80)])
SCATTER = CLEAN.T @ CLEAN


@pytest.mark.parametrize(("a", "b"), [(1, 4), (4, 1), (3, 3)])
def test_that_every_number_is_that_of_the_formula(a, b):
    p, weights = 0.7, denoiser_weights(SCATTER, 0.3)
    e = inspection.explain(SCATTER, weights[a], 0.3, RIDGE, a, b)
    assert e.n == 80
    assert e.s_row[b] == (X[:, a] * X[:, b]).sum()
    assert e.q_row[a] == pytest.approx(X[:, a].sum() * p)
    assert e.survival == p
    np.testing.assert_array_equal(e.w_row, weights[a, :-1])
    assert e.product == pytest.approx(e.p_row[b], rel=1e-9)
    assert inspection.explain(SCATTER, 3 * weights[a], 0.3, RIDGE, a, b).product == pytest.approx(3 * e.product)
    np.testing.assert_allclose(e.p_row, SCATTER[a, :-1] * p)
    assert e.s_row.shape == e.p_row.shape == e.q_row.shape == e.w_row.shape == (6,)
    np.testing.assert_allclose(e.q_row[np.arange(6) != a], (SCATTER[a, :-1] * p * p)[np.arange(6) != a])


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


def test_that_rows_are_those_of_a_stack_fitted_on_the_rows_of_its_run_and_other_data_are_refused():
    for changes in ({"labels": 30, "fit_rows": "labelled"}, {"training": "split", "fit_rows": "split"}):
        asked = spec(DATA, noise=0.2, **changes)
        fitted = fit_stack(DATA.train[RunData.of(DATA, asked).fit_rows], asked.stack)
        found = compare_rows(DATA, asked, B, (9,))
        np.testing.assert_allclose(found.first[:, 0], fitted.layers[0].weights[[9]], rtol=0, atol=1e-9)
    with pytest.raises(DataError, match="differ from those of the run"):
        compare_rows(DATA, A, spec(rectangles(60, 100, seed=1)), (0,))


def test_that_rows_are_contributions_where_a_few_weights_would_drown_them(monkeypatch):
    monkeypatch.setattr(inspection, "drowns", lambda layer: layer.weights.shape[0] == 64)
    found = compare_rows(DATA, A, B, (9,))
    assert found.contributions
    for rows, each in ((found.first, A), (found.second, B)):
        for j, layer in enumerate(fit_stack(DATA.train, each.stack).layers):
            expected = layer.weights[9, :-1] * np.sqrt(np.diag(layer.scatter)[:-1] / len(DATA.train))
            np.testing.assert_allclose(rows[0, j, :-1], expected, rtol=0, atol=1e-9)
            assert rows[0, j, -1] == pytest.approx(layer.weights[9, -1], abs=1e-9)


def test_that_errors_are_tested_on_the_same_rows_only():
    first, second = run(DATA, A), run(DATA, B)
    found = compare_errors(first, second)
    wrong = [set(result.misclassified.tolist()) for result in (first, second)]
    assert (found.only_first, found.only_second) == (len(wrong[0] - wrong[1]), len(wrong[1] - wrong[0]))
    assert compare_errors(first, run(DATA, spec(DATA, test_rows=20, widths="median", C=10.0))) is None


def by_hand(squashing="threshold"):
    first = np.array([[1.0, 0.5, 0.0, 0.1], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.2, 0.25]])
    second = np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.25, 0.25, 0.25, 0.0]])
    parameters = StackParameters(noise=0.5, depth=2, squashing=squashing, dtype="float64")
    return Stack(parameters, (Layer(first, 0.0), Layer(second, 0.0)), 3, 2)


def test_that_a_flow_has_the_numbers_computed_by_hand_and_an_image_of_another_size_is_refused_with_both_sizes():
    x = np.array([0.6, 0.4, 0.9])
    flow = Forward().flow(by_hand(), x, np.array([True, True, False]))
    first, second = flow.layers
    np.testing.assert_array_equal(flow.corrupted, [0.6, 0.4, 0.0])
    assert flow.corruption_error == pytest.approx(0.81 / 3)
    np.testing.assert_array_equal(first.squashed, [1, 0, 0])
    np.testing.assert_allclose(first.output, [1.1, 0.0, 0.25])
    np.testing.assert_array_equal(second.squashed, [1, 0, 0])
    np.testing.assert_allclose(second.output, [0.5, 0.5, 0.25])
    # The target of the first layer is the clean x, that of the second the first one's output.
    assert first.target_error == first.input_error == pytest.approx((0.5**2 + 0.4**2 + 0.65**2) / 3)
    assert second.target_error == pytest.approx((0.6**2 + 0.5**2 + 0.0) / 3)
    assert second.input_error == pytest.approx((0.1**2 + 0.1**2 + 0.65**2) / 3)
    clean = Forward().flow(by_hand(), x)
    assert clean.survivors.all()
    assert clean.corruption_error == 0.0
    np.testing.assert_array_equal(clean.layers[0].squashed, [1, 0, 1])
    with pytest.raises(ValueError, match=r"shape \(4,\).*3 features"):
        Forward().flow(by_hand(), np.zeros(4))


@pytest.mark.parametrize("squashing", ["threshold", "sigmoid", "tanh", "identity"])
def test_that_the_layers_are_those_of_the_transform_also_of_another_stack(squashing):
    forward, rows = Forward(), rectangles().train
    for noise in (0.4, 0.6):
        stack = fit_stack(rows, StackParameters(noise=noise, depth=3, squashing=squashing))
        expected = stack.representations(rows[5:6])
        for layer, values in zip(forward.flow(stack, rows[5]).layers, expected[1:], strict=True):
            assert layer.output.dtype == np.float32
            np.testing.assert_allclose(layer.output, values[0], atol=2e-6)


def test_that_survivors_match_the_noise_are_among_those_of_less_noise_and_corrupt_a_result_by_its_model():
    numbers = np.random.default_rng(3).random(10_000)
    for noise in (0.0, 0.2, 0.5, 0.9):
        np.testing.assert_array_equal(survivors(10_000, noise, seed=3), numbers >= noise)
    data = rectangles()
    model = fit_model(data, StackParameters(noise=0.4, depth=1))
    result = flow_result(model, data.train[0], "training image 1", 7)
    np.testing.assert_array_equal(result.flow.survivors, survivors(64, 0.4, 7))
    assert flow_result(model, data.train[0], "x", None).flow.survivors.all()
    assert (result.model, result.image, result.seed) == (model, "training image 1", 7)


def test_that_a_drawn_image_reads_back_exactly_and_a_text_larger_than_any_image_is_refused(tmp_path, monkeypatch):
    image = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    path = tmp_path / "image.csv"
    path.write_text(image_text(image), encoding="utf-8")
    np.testing.assert_array_equal(read_image(path), image.reshape(-1))
    path.write_text("0.5," * 250, encoding="utf-8")
    monkeypatch.setattr(image_file, "_LARGEST_IMAGE", 1000)
    assert read_image(path).shape == (250,)
    path.write_text("0.5," * 250 + "1", encoding="utf-8")
    with pytest.raises(DataError, match="is larger than"):
        read_image(path)


@pytest.mark.parametrize("content", [b"", b"1,2,x", b"1,nan", b"0 1e300", b"\xff\xfe"])
def test_that_a_file_that_is_not_an_image_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "image.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"image\.csv: the file"):
        read_image(path)
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_image(tmp_path / "none.csv")


DIGITS = (load_digits().data / 16).astype("float32")
CROSS = np.fliplr(np.eye(8)) + np.eye(8) > 0
NOISE = np.random.default_rng(0).random((20, 64)) < 0.4
DRAWN = np.concatenate([CROSS.reshape(1, -1), NOISE]).astype("float32")


def test_that_about_one_new_digit_in_a_hundred_and_every_cross_noise_or_stroke_on_dark_pixels_is_unlike():
    rule = Likeness(DIGITS[:1400])
    assert np.mean([rule.is_unlike(image) for image in DIGITS[1400:]]) < 0.04
    assert all(rule.is_unlike(image) for image in DRAWN)
    rule, image = Likeness(DIGITS), DIGITS[3].copy()
    assert not rule.is_unlike(image)
    image[DIGITS.max(axis=0) == 0] = 1
    assert rule.is_unlike(image)


def test_that_the_leverage_without_blas_is_that_of_the_equation_and_a_blank_image_is_unlike():
    ones = np.column_stack([DIGITS.astype(float), np.ones(len(DIGITS))])
    row = np.append(DIGITS[7], 1.0)
    expected = row @ np.linalg.solve(ones.T @ ones + np.eye(65), row)
    rule, every = Likeness(DIGITS), np.diag(ones @ np.linalg.solve(ones.T @ ones + np.eye(65), ones.T))
    assert (rule.leverage(DIGITS[7]), rule.limit) == pytest.approx((expected, np.quantile(every / (1 - every), 0.99)))
    assert rule.is_unlike(np.zeros(64, np.float32))


def test_that_many_features_are_not_compared_and_the_comparison_can_be_cancelled(monkeypatch):
    with pytest.raises(Cancelled):
        Likeness(DIGITS, StopAfter(2))
    for most in (63, 64):
        monkeypatch.setattr(likeness, "_MOST_FEATURES", most)
        assert all(Likeness(DIGITS).is_unlike(image) == (most == 64) for image in DRAWN)


@pytest.fixture
def used():
    explorer = Explorer(images().astype("float32"))
    explorer.update(StackParameters(depth=3))
    return explorer


@pytest.mark.parametrize("changes", [{"noise": 0.6}, {"threshold": 0.2}, {"fit_on": "thresholded"}, {"depth": 0}])
def test_that_an_update_equals_a_fresh_fit_after_any_change(used, changes):
    parameters = StackParameters(**{"depth": 3, **changes})
    same_layers(used.update(parameters, (3, 9)), fit_stack(images().astype("float32"), parameters))


def test_that_there_is_no_preview_without_scatter_layer_or_feature_or_with_too_many_features(monkeypatch):
    used, recorder = Explorer(images().astype("float32")), StopAfter()
    used.update(StackParameters(depth=1), (3,), progress=recorder)
    assert (recorder.fractions[0], recorder.complete) == (0.0, True)
    used.update(StackParameters(depth=0), (3,), progress=recorder)
    used.update(StackParameters(depth=1), (), progress=recorder)
    monkeypatch.setattr(inspection, "WHOLE", 10)
    used.update(StackParameters(depth=1, noise=0.6), (3,), progress=recorder)
    assert not any(isinstance(payload, Preview) for payload in recorder.payloads)


def test_that_a_request_may_be_superseded_while_it_settles(used):
    with pytest.raises(Cancelled):
        used.update(StackParameters(depth=1, noise=0.9), settle=1000.0, progress=StopAfter(1))


@pytest.mark.parametrize("squashing", ["threshold", "tanh"])
def test_that_grey_rows_are_summed_in_the_precision_that_the_noise_needs(squashing):
    rows = np.random.default_rng(0).random((500, 60)).astype("float32")
    used, recorder = Explorer(rows), StopAfter()
    for noise in (0.3, 0.02, 0.3, 0.02):
        parameters = StackParameters(noise=noise, depth=2, squashing=squashing)
        same_layers(stack := used.update(parameters, (7,), progress=recorder), fit_stack(rows, parameters))
    previews = [payload for payload in recorder.payloads if isinstance(payload, Preview) and not payload.layers]
    assert [preview.parameters.noise for preview in previews] == [0.3, 0.02]
    np.testing.assert_allclose(previews[1].rows[7][0], stack.layers[0].weights[7], atol=1e-8)


def noises_of_layers(recorder):
    previews = [payload for payload in recorder.payloads if isinstance(payload, Preview) and payload.layers]
    return [{layer.parameters.noise for layer in preview.layers} for preview in previews]


def test_that_all_layers_of_few_rows_are_approximated_instead_of_reported_one_by_one_except_near_noise_0(used):
    recorder = StopAfter()
    stack = used.update(StackParameters(depth=3, noise=0.6), (3,), progress=recorder)
    rows_only, complete = recorder.payloads
    assert not rows_only.layers
    for approximate, exact in zip(complete.layers, stack.layers, strict=True):
        difference = np.linalg.norm(approximate.weights - exact.weights, axis=1)
        assert (difference <= 1e-2 * np.linalg.norm(exact.weights, axis=1)).all()
    used.update(StackParameters(depth=3, noise=0.0))
    used.update(StackParameters(depth=3, noise=0.0), (3,), progress=(near := StopAfter()))
    assert not noises_of_layers(near)
    assert [len(stack.layers) for stack in near.payloads[1:]] == [1, 2, 3]


def test_that_an_interpolation_previews_rows_of_all_layers_at_once_and_all_weights_when_the_slider_rests(used):
    parameters = StackParameters(depth=3, noise=0.6)
    used.prepare_interpolation(parameters)
    used.approximation = None  # not needed any more
    stack = used.update(parameters, (3,), progress=(recorder := StopAfter()))
    rows_only, complete = recorder.payloads
    for k, (row, layer) in enumerate(zip(rows_only.rows[3], stack.layers, strict=True)):
        assert np.linalg.norm(row - layer.weights[3]) <= (0.05 if k else 1e-8) * np.linalg.norm(row)
        assert rows_only.rms[k] == pytest.approx(inspection.input_rms(layer), abs=0.03)
    assert (rows_only.layers, noises_of_layers(recorder)) == ((), [{0.6}])
    assert complete.rows is rows_only.rows


def test_that_layers_are_not_interpolated_if_they_change_abruptly_or_need_too_much_memory(used, monkeypatch):
    abrupt = {"fit_on": "thresholded"}, {"squashing": "sigmoid"}, {"squashing": "identity"}
    for changes, most in (*((each, 1 << 30) for each in abrupt), ({}, 1000)):
        used.prepare_interpolation(StackParameters(depth=3))
        assert used.interpolation.is_complete
        monkeypatch.setattr(inspection, "_MOST_BYTES", most)
        used.update(StackParameters(depth=3, **changes))
        used.prepare_interpolation(StackParameters(depth=3, **changes))
        assert used.interpolation is None
        used.update(StackParameters(depth=3))


def test_that_passes_and_the_noise_path_are_computed_once_for_all_noise_levels(monkeypatch):
    made, steps = [], ["input_scatter", "NoisePath", "Approximation"]
    for name in steps:
        real = getattr(inspection, name)
        monkeypatch.setattr(inspection, name, lambda *a, name=name, real=real, **k: made.append(name) or real(*a, **k))
    used = Explorer(images().astype("float32"))
    used.noise_path(StackParameters(depth=1))
    assert made == []  # there is no scatter yet
    for noise in (0.3, 0.5, 0.7):
        used.update(StackParameters(depth=1, noise=noise), (3,))
    assert made == steps
    for noise in (0.05, 0.3, 0.02, 0.4):  # little noise needs sums in another precision
        used.update(StackParameters(depth=1, noise=noise), (3,))
    assert made == 2 * steps
    del made[3:]
    used.update(StackParameters(depth=1, noise=0.7, threshold=0.2), (3,))
    assert made[3:] == ["input_scatter"]  # the first layer ignores the threshold
    used.update(StackParameters(depth=1, noise=0.6, threshold=0.2, ridge=1.0), (3,))
    assert made[4:] == ["NoisePath", "Approximation"]
    used.noise_path(StackParameters(depth=1, noise=0.1, threshold=0.2, ridge=2.0))
    assert made[6:] == ["NoisePath"]


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
def test_that_a_preview_follows_the_threshold_it_is_fitted_on(fit_on):
    used = Explorer(images().astype("float32") * np.float32(0.8))
    for threshold in (0.5, 0.9):
        parameters = StackParameters(depth=1, noise=0.4, threshold=threshold, fit_on=fit_on)
        used.update(parameters)
        recorder = StopAfter()
        stack = used.update(parameters, (27,), progress=recorder)
        np.testing.assert_allclose(recorder.payloads[0].rows[27][0], stack.layers[0].weights[27], atol=1e-8)


def test_that_an_earlier_fit_is_returned_also_for_fewer_layers(used):
    first = used.stored_fit(StackParameters(depth=3)).stack
    used.update(StackParameters(depth=3, noise=0.6))
    assert used.stored_fit(StackParameters(depth=3)).stack is first
    assert used.stored_fit(StackParameters(depth=2)).stack is first
    assert used.stored_fit(StackParameters(depth=4)) is None
    assert used.stored_fit(StackParameters(depth=3, noise=0.7)) is None


def test_that_fits_are_kept_within_a_bound_and_the_newest_in_any_case(monkeypatch):
    used = Explorer(images().astype("float32"))
    one = StackParameters(depth=2)
    used.update(one)
    monkeypatch.setattr(inspection, "_MOST_BYTES", 3 * inspection._bytes_of(*used._fits))
    others = [StackParameters(depth=2, noise=noise) for noise in (0.4, 0.5, 0.6)]
    for parameters in others:
        used.update(parameters)
    assert sum(map(inspection._bytes_of, used._fits)) == inspection._MOST_BYTES
    assert used.stored_fit(one) is None
    assert all(used.stored_fit(parameters) is not None for parameters in others)
    monkeypatch.setattr(inspection, "_MOST_BYTES", 1)
    used.update(StackParameters(depth=3))
    assert used.stored_fit(others[-1]) is None
    assert used.stored_fit(StackParameters(depth=3)) is not None
    monkeypatch.undo()
    for number in range(inspection._MOST_FITS + 1):
        used.update(StackParameters(depth=1, noise=0.01 * number))
    assert used.stored_fit(StackParameters(depth=1, noise=0.0)) is None
    assert len(used._fits) == inspection._MOST_FITS
