"""The weight figure has the right tiles, colours, rings and texts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import NEUTRAL, ColorScale
from slide_gui.figures.style import Style
from slide_gui.figures.weights import as_shown, draw_weights, tile_limits
from tests.figures import drawings
from tests.figures.drawings import texts, weight_rows


def drawn(weights, style=None):
    return drawings.drawn(lambda figure, style: draw_weights(figure, weights, style), style)


def tiles(figure):
    return [axes for axes in figure.axes if "layer" in axes.get_label()]


def colors(axes):
    """Return one colour for each pixel of the tile's image."""
    (image,) = axes.get_images()
    return np.asarray(image.get_array())[4::8, 4::8]


def test_that_there_is_a_tile_for_each_pixel_and_layer_and_one_colour_bar():
    figure = drawn([weight_rows(), weight_rows("MNIST", depth=4, pixels=(5,), generated=False)])
    assert len(tiles(figure)) == 3 * 2 + 1 * 4
    assert len(figure.axes) == len(tiles(figure)) + 1


def with_rms(rows, drowned):
    """Return rows with random RMS values of the inputs of the layers."""
    rms = np.random.default_rng(1).uniform(0.0, 2.0, rows.rows.shape[1:])
    return replace(rows, rms=rms, drowned=drowned)


def test_that_contributions_are_weights_times_the_rms_of_their_pixel_and_the_colour_bar_names_them():
    rows = with_rms(weight_rows(), False)
    (found,), are_contributions = as_shown([rows], "contribution")
    assert are_contributions
    np.testing.assert_array_equal(found.rows, rows.rows * rows.rms)
    as_weights = drawn([replace(found, rms=None)])
    figure = drawn([rows], Style(show="contribution"))
    for one, other in zip(tiles(figure), tiles(as_weights), strict=True):
        np.testing.assert_array_equal(colors(one), colors(other))
    assert "contribution (weight × RMS) / limit of the layer" in texts(figure)
    assert "weight / limit of the layer" in texts(as_weights)


def test_that_contributions_are_shown_by_default_if_one_set_is_drowned_and_all_have_an_rms():
    even, drowned, saved = with_rms(weight_rows(), False), with_rms(weight_rows(), True), weight_rows()
    assert not as_shown([even], "auto")[1]
    assert as_shown([even, drowned], "auto")[1]
    assert not as_shown([drowned, saved], "auto")[1]
    assert not as_shown([drowned], "weights")[1]
    with pytest.raises(ValueError, match="a saved model does not contain"):
        as_shown([even, saved], "contribution")


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("blue-white-red", "tile"),
        ("blue-white-red", "layer"),
        ("blue-white-red", "global"),
        ("blue-black-red", "layer"),
        ("jet", "layer"),
    ],
)
def test_that_each_weight_has_its_colour_on_a_scale_symmetric_about_zero(name, levels):
    weights = weight_rows()
    weights.rows[:, :, 0] = 0.0
    figure = drawn([weights], Style(colors=name, levels=levels))
    limits = tile_limits([weights], levels)[0]
    places = itertools.product(range(3), range(2))
    for axes, (i, j) in zip(tiles(figure), places, strict=True):
        scale = ColorScale.symmetric(name, limits[i, j])
        assert scale.low == -scale.high
        expected = scale.lut()[scale.indices(weights.rows[i, j].reshape(6, 8))]
        np.testing.assert_array_equal(colors(axes), expected)
        np.testing.assert_array_equal(colors(axes)[0, 0], scale.lut()[NEUTRAL])


def test_that_tiles_of_a_level_share_their_limits():
    weights = [weight_rows(), weight_rows("larger", size=3.0, seed=1)]
    tiles, layers, figure = (tile_limits(weights, levels) for levels in ("tile", "layer", "global"))
    for rows, own, shared in zip(weights, tiles, layers, strict=True):
        for (i, j), limit in np.ndenumerate(own):
            assert limit == nearby_peak(rows.rows[i, j], rows.pixels[i], (6, 8))
        np.testing.assert_array_equal(shared, np.tile(own.max(axis=0), (3, 1)))
    for limits in figure:
        np.testing.assert_array_equal(limits, np.full((3, 2), max(own.max() for own in tiles)))


def test_that_the_ring_is_at_the_reconstructed_pixel_and_does_not_cover_it():
    figure = drawn([weight_rows(pixels=(9, 20, 37))])
    for axes, pixel in zip(tiles(figure), [9, 9, 20, 20, 37, 37], strict=True):
        for ring in axes.patches:
            assert ring.get_center() == (pixel % 8, pixel // 8)
            assert not ring.get_fill()
            assert ring.get_radius() > np.sqrt(0.5)


def test_that_transposed_images_exchange_rows_and_columns_of_image_ring_and_label():
    weights = weight_rows(pixels=(20,), depth=1)
    plain, turned = drawn([weights]), drawn([weights], Style(transposed=True))
    np.testing.assert_array_equal(colors(tiles(turned)[0]), colors(tiles(plain)[0]).transpose(1, 0, 2))
    assert tiles(turned)[0].patches[0].get_center() == (2, 4)
    assert "2, 4" in texts(plain)
    assert "4, 2" in texts(turned)


def test_that_titles_name_data_set_layers_noise_and_generated_data():
    found = texts(drawn([weight_rows(), weight_rows("MNIST", generated=False)], Style(width="double")))
    assert {"Rectangles (generated)", "MNIST", "layer 1", "layer 2", "noise 1 − p = 0.25, p = 0.75"} <= set(found)
    assert sum("generated" in text for text in found) == 1


def test_that_a_long_name_is_cut_but_never_the_mark_of_generated_data():
    found = texts(drawn([weight_rows("a very long name " * 20), weight_rows()]))
    assert any(text.startswith("a very long") and text.endswith("… (generated)") for text in found)


def test_that_biases_and_limits_are_below_tiles_on_request():
    weights = weight_rows(pixels=(9,), depth=1)
    weights.biases[0, 0] = -0.125
    weights.rows[0, 0, 10] = 0.75
    assert not any("−0.1" in text for text in texts(drawn([weights])))
    found = texts(drawn([weights], Style(bias=True, levels="tile")))
    assert "bias −0.12" in found
    assert "±0.75" in found


def test_that_the_colour_bar_has_pointed_ends_only_if_weights_exceed_the_limits():
    weights = weight_rows(pixels=(0,), depth=1, size=0.01)
    weights.rows[0, 0, 0] = 0.5
    inside = drawn([weights])
    weights.rows[0, 0, 47] = -900.0
    beyond = drawn([weights])
    assert tile_limits([weights], "tile")[0] == 0.5
    found = [len(next(a for a in f.axes if a.get_label() == "colour bar").patches) for f in (inside, beyond)]
    assert found == [0, 2]


def test_that_weights_of_features_that_are_not_pixels_are_bars():
    weights = weight_rows(shape=None, pixels=(3,), depth=1)
    (axes,) = tiles(drawn([weights]))
    assert not axes.get_images()
    (bars,) = axes.collections
    heights = [path.vertices[1, 1] for path in bars.get_paths()]
    np.testing.assert_allclose(heights, weights.rows[0, 0])
    low, high = axes.get_ylim()
    assert low == -high


@pytest.mark.parametrize(
    ("width", "levels", "count"),
    [
        ("single", "layer", 4),
        ("single", "tile", 1),
        ("one-and-a-half", "global", 2),
        ("double", "tile", 2),
        ("slide", "layer", 4),
    ],
)
def test_that_no_two_parts_overlap(width, levels, count):
    names = ["Rectangles", "Rectangles-Images", "Convex", "MNIST"]
    weights = [weight_rows(name, shape=(28, 28), pixels=(90, 300, 420, 700), depth=4) for name in names[:count]]
    figure = drawn(weights, Style(width=width, levels=levels, bias=True))
    parts = [*figure.axes, *figure.texts]
    boxes = [part.get_window_extent() for part in parts]
    bar = next(axes for axes in figure.axes if axes.get_label() == "colour bar")
    boxes += [label.get_window_extent() for label in bar.get_yticklabels()]
    for one, other in itertools.combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        # The box of a text has a margin of a quarter of a mm around the letters.
        assert min(wide, high) < 2.5, (one, other)


def test_that_too_many_tiles_are_refused():
    with pytest.raises(ValueError, match="too many"):
        drawn([weight_rows(depth=60)])
