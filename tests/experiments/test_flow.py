from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Layer, Stack, fit_stack
from slide_gui.data.errors import DataError
from slide_gui.experiments.files import source as image_file
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.source import image_text, read_image
from slide_gui.experiments.inspection.flow import Forward, flow_result, survivors
from tests.experiments.tiny import rectangles


def by_hand(squashing="threshold"):
    first = np.array([[1.0, 0.5, 0.0, 0.1], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.2, 0.25]])
    second = np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.25, 0.25, 0.25, 0.0]])
    parameters = StackParameters(noise=0.5, depth=2, squashing=squashing, dtype="float64")
    return Stack(parameters, (Layer(first, 0.0), Layer(second, 0.0)), 3, 2)


def test_that_a_flow_has_the_numbers_computed_by_hand():
    x = np.array([0.6, 0.4, 0.9])
    kept = np.array([True, True, False])
    flow = Forward().flow(by_hand(), x, kept)
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


@pytest.mark.parametrize("squashing", ["threshold", "sigmoid", "tanh", "identity"])
def test_that_the_layers_are_those_of_the_transform(squashing):
    rows = rectangles().train
    stack = fit_stack(rows, StackParameters(noise=0.4, depth=3, squashing=squashing))
    flow = Forward().flow(stack, rows[5])
    expected = stack.representations(rows[5:6])
    for layer, values in zip(flow.layers, expected[1:], strict=True):
        assert layer.output.dtype == np.float32
        np.testing.assert_allclose(layer.output, values[0], atol=2e-6)


def test_that_a_forward_follows_another_stack():
    forward, rows = Forward(), rectangles().train
    for noise in (0.2, 0.6):
        stack = fit_stack(rows, StackParameters(noise=noise, depth=2))
        output = forward.flow(stack, rows[0]).layers[-1].output
        np.testing.assert_allclose(output, stack.transform(rows[:1])[0, -64:], atol=2e-6)


def test_that_survivors_match_the_noise_and_are_among_those_of_less_noise():
    kept = {noise: survivors(10_000, noise, seed=3) for noise in (0.0, 0.2, 0.5, 0.9)}
    assert kept[0.0].all()
    for noise, mask in kept.items():
        assert abs((~mask).mean() - noise) < 0.02
    assert (kept[0.9] <= kept[0.5]).all()
    assert (kept[0.5] <= kept[0.2]).all()
    assert (survivors(10_000, 0.5, seed=4) != kept[0.5]).any()


def test_that_an_image_of_another_size_is_refused_with_both_sizes():
    with pytest.raises(ValueError, match=r"shape \(4,\).*3 features"):
        Forward().flow(by_hand(), np.zeros(4))


def test_that_a_result_is_corrupted_by_the_noise_of_its_model():
    data = rectangles()
    model = fit_model(data, StackParameters(noise=0.4, depth=1))
    result = flow_result(model, data.train[0], "training image 1", 7)
    np.testing.assert_array_equal(result.flow.survivors, survivors(64, 0.4, 7))
    assert flow_result(model, data.train[0], "x", None).flow.survivors.all()
    assert replace(result, seed=None).flow is result.flow


def test_that_a_drawn_image_reads_back_exactly(tmp_path):
    image = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    path = tmp_path / "image.csv"
    path.write_text(image_text(image), encoding="utf-8")
    np.testing.assert_array_equal(read_image(path), image.reshape(-1))


@pytest.mark.parametrize("content", [b"", b"1,2,x", b"1,nan", b"\xff\xfe"])
def test_that_a_file_that_is_not_an_image_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "image.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"image\.csv: contains"):
        read_image(path)
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_image(tmp_path / "none.csv")


def test_that_a_text_larger_than_any_image_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "image.csv"
    path.write_text("0.5," * 250, encoding="utf-8")
    monkeypatch.setattr(image_file, "_LARGEST_IMAGE", 1000)
    assert read_image(path).shape == (250,)
    path.write_text("0.5," * 250 + "1", encoding="utf-8")
    with pytest.raises(DataError, match="is larger than"):
        read_image(path)
