import numpy as np
import pytest

from slide_gui.figures.color_scale import DIVERGING, MAPS, NEUTRAL, ColorScale, signed

# Matrices by Machado, Oliveira and Fernandes (2009) at severity 1 for linear sRGB.
DICHROMATS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def linear(rgb):
    unit = rgb / 255.0
    return np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4)


def luminance(rgb):
    return linear(rgb) @ np.array([0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", MAPS)
def test_that_every_map_has_256_read_only_colours_made_once(name):
    table = ColorScale(name, -1.0, 1.0).lut()
    assert table.shape == (256, 3)
    assert table.dtype == np.uint8
    assert table is ColorScale(name, -2.0, 2.0).lut()
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1


@pytest.mark.parametrize(("name", "neutral"), [("blue-white-red", "F7F7F8"), ("blue-black-red", "24272C")])
def test_that_zero_has_exactly_the_neutral_colour(name, neutral):
    scale = ColorScale.symmetric(name, 0.347)
    assert scale.indices(0.0) == NEUTRAL
    assert scale.lut()[NEUTRAL].tobytes().hex().upper() == neutral
    assert np.all(ColorScale.symmetric(name, 0.0).indices(np.zeros(4)) == NEUTRAL)


@pytest.mark.parametrize("name", DIVERGING)
def test_that_both_arms_leave_the_neutral_steadily_and_equally_in_luminance(name):
    light = luminance(ColorScale.symmetric(name, 1.0).lut())
    direction = 1.0 if name == "blue-black-red" else -1.0
    assert np.all(direction * np.diff(light[128:]) > -1e-4)
    assert np.all(-direction * np.diff(light[1:129]) > -1e-4)
    lightness = np.cbrt(light)
    np.testing.assert_allclose(lightness[1:128], lightness[255:128:-1], atol=0.06)


@pytest.mark.parametrize("name", DIVERGING)
@pytest.mark.parametrize("kind", DICHROMATS)
def test_that_signs_are_distinguishable_without_red_or_green_cones(name, kind):
    seen = np.clip(linear(ColorScale.symmetric(name, 1.0).lut()) @ np.array(DICHROMATS[kind]).T, 0.0, 1.0)
    blueness = np.sqrt(seen[:, 2]) - np.sqrt(seen[:, :2]).mean(axis=1)
    for step in (16, 48, 80, 112):
        assert blueness[128 - step] > blueness[128 + step] + 0.04


def test_that_values_of_opposite_sign_are_symmetric_about_the_neutral():
    values = np.linspace(0.0, 0.6, 301, dtype=np.float32)
    scale = ColorScale.symmetric("blue-white-red", 0.5)
    above, below = scale.indices(values).astype(int), scale.indices(-values).astype(int)
    assert np.max(np.abs(above + below - 256)) <= 1
    assert np.all(np.diff(above) >= 0)


def test_that_values_outside_take_the_end_colours_and_nan_takes_entry_0():
    found = ColorScale("jet", 1.0, 3.0).indices([-9.0, 1.0, 2.0, 3.0, 9.0, np.inf, -np.inf, np.nan])
    assert found.tolist() == [1, 1, 128, 255, 255, 255, 1, 0]


def test_that_indices_are_contiguous_and_leave_the_values_alone():
    values = np.asfortranarray(np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32))
    before = values.copy()
    found = ColorScale.symmetric("jet", 1.0).indices(values.T[:, ::2])
    assert found.flags.c_contiguous
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(values, before)


def test_that_jet_is_the_classic_map():
    table = ColorScale.symmetric("jet", 1.0).lut().astype(int)
    np.testing.assert_allclose(table[[1, 128, 255]], [[0, 0, 128], [128, 255, 128], [128, 0, 0]], atol=1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("rainbow", -1.0, 1.0), "unknown colour map"),
        (("jet", 1.0, 1.0), "ascending"),
        (("jet", 0.0, np.nan), "finite"),
        (("blue-white-red", -1.0, 2.0), "symmetric"),
    ],
)
def test_that_invalid_limits_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        ColorScale(*arguments)


@pytest.mark.parametrize("limit", [0.6, 0.347, 1.0, 7.3, 1234.0, 2e-5])
def test_that_ticks_are_few_symmetric_inside_and_labelled_without_loss(limit):
    scale = ColorScale.symmetric("jet", limit)
    ticks = scale.ticks(7)
    assert 3 <= len(ticks) <= 7
    assert ticks == tuple(-t + 0.0 for t in reversed(ticks))
    assert ticks[-1] <= limit
    for tick in ticks:
        assert float(scale.label(tick).replace("−", "-")) == pytest.approx(tick, rel=1e-9)


def test_that_labels_have_a_sign_and_a_true_minus():
    scale = ColorScale.symmetric("blue-white-red", 0.6)
    assert [scale.label(v) for v in (-0.3, 0.0, 0.3, np.nan)] == ["−0.30", "0", "+0.30", "–"]
    assert scale.label(-0.12345, 4) == "−0.1235"
    assert signed(-0.0004, 2) == "+0.00"
