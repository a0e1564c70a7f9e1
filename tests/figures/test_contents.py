"""Figures of weights, curves, confusion, widths, flow and copies show the right numbers, like their tables."""

import csv
import itertools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.experiments.runs.spec import SweepPoint
from slide_gui.experiments.sweeps.selection import PointResult
from slide_gui.figures.color_scale import DIVERGING, MAPS, NEUTRAL, ColorScale, signed
from slide_gui.figures.copies import copies_csv, draw_copies
from slide_gui.figures.curves import curves_csv, draw_curves, draw_heat_map
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.run_exports import curves_export
from slide_gui.figures.run_figures import confusion_csv, draw_confusion, draw_widths, widths_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import as_shown, draw_weights, tile_limits
from tests.figures.drawings import CURVES, DATA, DRAWINGS, MARKS, copies_of, drawn, flow_of, result, texts, weight_rows


def test_that_each_depth_has_its_line_its_band_and_its_label():
    figure = drawn(DRAWINGS["curves"])
    (axes,) = figure.axes
    lines = [line for line in axes.lines if len(line.get_xdata()) == 10]
    np.testing.assert_allclose(lines[2].get_ydata(), [100 * q.rate.error for q in CURVES.line(2)])
    assert len({line.get_color() for line in lines}) == 5
    assert [band.get_alpha() for band in axes.collections] == [0.2] * 5
    assert {"raw input", "1 layer", "2 layers", "3 layers", "4 layers"} <= set(texts(figure))
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [float(line.get_ydata()[0]) for line in hollow] == pytest.approx([100 * mark.error for mark in MARKS])
    assert any("was not published" in text for text in texts(figure))


def test_that_points_selected_on_validation_rows_are_ringed_and_framed_in_the_heat_map():
    assert any(text.endswith("; 3 points missing") for text in texts(drawn(draw_curves, replace(CURVES, n_missing=3))))
    points = tuple(replace(point, chosen=(point.depth, point.noise) == (2, 0.3)) for point in CURVES.points)
    (axes,) = drawn(draw_curves, replace(CURVES, points=points)).axes
    (ring,) = (line for line in axes.lines if line.get_markerfacecolor() == "none")
    assert ring.get_xdata().tolist() == [0.3]
    (axes,) = drawn(draw_heat_map, replace(CURVES, points=points)).axes
    assert [text.get_text() for text in axes.texts] == [f"{100 * point.rate.error:.2f}" for point in points]
    assert [frame.get_bbox().bounds for frame in axes.patches] == [pytest.approx((2.5, 1.5, 1.0, 1.0))]


def test_that_a_line_of_one_point_also_shows_its_interval_on_an_axis_of_all_noise_levels():
    (axes,) = drawn(draw_curves, replace(CURVES, points=CURVES.points[3::10])).axes
    assert axes.get_xlim() == pytest.approx((-0.04, 1.01))
    points = CURVES.points[:11]
    (axes,) = drawn(draw_curves, replace(CURVES, points=points)).axes
    _, bar = axes.collections
    ((bottom, top),) = (segment[:, 1] for segment in bar.get_segments())
    assert (bottom, top) == pytest.approx((100 * points[10].rate.low, 100 * points[10].rate.high))


def test_that_labels_at_equal_heights_do_not_overlap_and_real_data_have_no_mark():
    flat = replace(CURVES, points=tuple(replace(point, rate=ErrorRate.of_run(0.02, 50_000)) for point in CURVES.points))
    figure = drawn(draw_curves, flat)
    labels = [text for text in figure.texts if "layer" in text.get_text() or text.get_text() == "raw input"]
    boxes = sorted((text.get_window_extent() for text in labels), key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(lower.y1 <= upper.y0 + 2 for lower, upper in pairwise(boxes))
    assert figure.texts[0].get_text() == "Rectangles: test error"
    assert drawn(draw_curves, replace(flat, generated=True)).texts[0].get_text() == "Rectangles (generated): test error"


@pytest.mark.parametrize("width", ["single", "slide"])
def test_that_a_matrix_fills_the_figure_with_every_count_on_sharp_cells_and_the_selection_of_the_widths(width):
    figure = drawn(DRAWINGS["confusion"], style=Style(width=width))
    (axes,) = figure.axes
    assert axes.get_tightbbox().y0 < 0.1 * figure.bbox.height
    assert axes.bbox.x1 > 0.9 * figure.bbox.width
    assert [int(text.get_text()) for text in axes.texts] == result().confusion.ravel().tolist()
    assert min(axes.get_images()[0].get_size()) >= 400
    assert result().widths in {"learned widths (press)", "median widths (guard)"} & set(texts(figure))


def test_that_long_names_of_classes_remain_different_and_column_names_of_many_classes_distinct_and_apart():
    names = [f"a class of a very long name, number {number} of three" for number in (1, 2, 3)]
    (axes,) = drawn(lambda figure, style: draw_confusion(figure, result(), style, names)).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["…1…", "…2…", "…3…"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3"]
    names, run = [f"letter {number}" for number in range(30)], replace(result(), confusion=np.eye(30, dtype=np.int64))
    columns = drawn(lambda figure, style: draw_confusion(figure, run, style, names)).axes[0].get_xticklabels()
    assert [text.get_text() for text in columns] == [str(number) for number in range(30)]
    assert all(one.x1 < other.x0 for one, other in pairwise(text.get_window_extent() for text in columns))


def test_that_the_flow_figure_shows_the_values_and_the_errors_and_marks_a_flow_without_corruption():
    flow = flow_of(DATA)
    figure = drawn(draw_flow, flow)
    assert len(figure.axes) == 6
    second = flow.flow.layers[1]
    assert {f"{second.target_error:.4f} from h¹", f"{second.input_error:.4f} from x"} <= set(texts(figure))
    layers = flow.flow.layers[0], replace(second, target_error=2.07e-8)
    assert "2.1·10⁻⁸ from h¹" in texts(drawn(draw_flow, replace(flow, flow=replace(flow.flow, layers=layers))))
    squashed = next(axes for axes in figure.axes if axes.get_label().startswith("T(h¹)")).images[0].get_array()
    dark = np.asarray(squashed)[::8, ::8].sum(axis=-1) < 200
    np.testing.assert_array_equal(dark.reshape(-1), second.squashed == 1)
    assert "training image 1; noise 1 − p = 0.30 (p = 0.70), corruption seed 1" in texts(figure)
    found = texts(drawn(draw_flow, flow_of(DATA, None)))
    assert "training image 1, not corrupted; fitted with noise 1 − p = 0.30 (p = 0.70)" in found
    assert "corrupt" not in found


@pytest.mark.parametrize(("levels", "limit"), [("layer", 1.0), ("tile", 0.5)])
def test_that_all_tiles_of_t_have_the_colours_of_h_with_limits_of_their_own_if_one_is_negative(levels, limit):
    flow = flow_of(DATA)
    layers = tuple(replace(layer, squashed=layer.squashed / 2 - k / 2) for k, layer in enumerate(flow.flow.layers))
    figure = drawn(draw_flow, replace(flow, flow=replace(flow.flow, layers=layers)), style=Style(levels=levels))
    assert any("colour limits of T, hᵏ and of tiles with negative values: ±" in text for text in texts(figure))
    scale = ColorScale.symmetric(Style().colors, limit)
    for name, layer in zip(("T(x̃)", "T(h¹)"), layers, strict=True):
        shown = colors(next(axes for axes in figure.axes if axes.get_label().startswith(name)))
        np.testing.assert_array_equal(shown, scale.lut()[scale.indices(layer.squashed.reshape(8, 8))])


def test_that_the_copies_figure_has_both_lines_with_references_and_names_row_and_column_of_its_pixel_as_shown():
    copies = copies_of(DATA)
    figure = drawn(draw_copies, copies)
    lines = figure.axes[0].get_lines()
    assert len(lines) == 4
    np.testing.assert_allclose(lines[0].get_ydata(), [mean for _, mean, _, _ in copies.copies.curve()])
    dashed = np.asarray(lines[1].get_ydata())
    np.testing.assert_allclose(dashed[0] / dashed[-1], 4.0)
    assert "Wₘ, m = 8, seed 0" in texts(figure)
    assert "layer 2, noise 1 − p = 0.30 (p = 0.70); 60 rows; geometric mean over 2 seeds" in texts(figure)
    flat = replace(copies, model=replace(copies.model, image_shape=(4, 16)))
    for transposed, name in ((False, "row 1, 3"), (True, "row 3, 1")):
        figure = drawn(draw_copies, flat, style=Style(transposed=transposed))
        assert any(text.startswith(name) for text in texts(figure))


def table(path):
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:]


def test_that_tables_hold_the_numbers_to_the_bit_and_the_names_of_features(tmp_path):
    curves_csv(tmp_path / "c.csv", CURVES)
    assert [float(line[6]) for line in table(tmp_path / "c.csv")] == [point.rate.error for point in CURVES.points]
    points = [replace(point, validation_error=point.rate.error) for point in CURVES.points]
    curves_csv(tmp_path / "v.csv", replace(CURVES, points=(*points[1:], CURVES.points[0])))
    with (tmp_path / "v.csv").open(encoding="utf-8") as file:
        *lines, last = csv.DictReader(file)
    assert all(line["validation error"] == line["error"] for line in lines), "both are fractions"
    assert (last["validation error"], last["best on validation"]) == ("", "")
    widths_csv(tmp_path / "w.csv", result())
    lines, history = table(tmp_path / "w.csv"), result().classifier.history
    assert [float(line[2]) for line in lines] == [step.criterion for step in history]
    assert [float(line[3]) for line in lines] == [step.prior for step in history]
    assert [tuple(map(float, line[9:])) for line in lines] == [step.shares for step in history]
    confusion_csv(tmp_path / "m.csv", result(), ["a", "b", "c"])
    assert [[int(cell) for cell in line[1:]] for line in table(tmp_path / "m.csv")] == result().confusion.tolist()
    named = replace(DATA, image_shape=None, feature_names=tuple(f"length {k}" for k in range(64)))
    copies_csv(tmp_path / "k.csv", copies_of(named))
    assert {line[8] for line in table(tmp_path / "k.csv")} == {"length 19"}
    flow_csv(tmp_path / "f.csv", flow_of(named))
    assert "from x,v_length 0,v_length 1," in (tmp_path / "f.csv").read_text(encoding="utf-8")


def test_that_published_errors_are_drawn_for_the_benchmark_but_not_for_a_stand_in_or_a_file_of_the_same_name():
    answers = [PointResult.of(SweepPoint(0.3, 2, 0, 0, result().spec), result())]
    for name, key, published in (("Convex", "convex", True), ("Convex", "", False), ("A (stand-in)", "mnist", False)):
        figure = drawn(curves_export(replace(DATA, name=name, key=key), answers).draw)
        assert any("published error" in text for text in texts(figure)) == published


def test_that_the_sum_of_criterion_and_prior_is_drawn_and_its_axis_names_the_power_of_ten_of_its_numbers():
    run = result()
    history = tuple(replace(step, criterion=1e-9 * step.criterion, prior=1e-10) for step in run.classifier.history)
    criterion = drawn(draw_widths, replace(run, classifier=replace(run.classifier, history=history))).axes[0]
    assert any(", noise 1 − p = 0.40 (p = 0.60), depth 2; final" in text for text in texts(criterion.figure))
    exponent = criterion.yaxis.get_offset_text()
    assert exponent.get_text()
    assert exponent.get_size() == criterion.get_yticklabels()[0].get_size()
    assert [y for line in criterion.lines for y in line.get_ydata()] == [step.objective for step in history]


def tiles(figure):
    return [axes for axes in figure.axes if "layer" in axes.get_label()]


def colors(axes):
    """Return one colour for each pixel of the tile's image."""
    (image,) = axes.get_images()
    return np.asarray(image.get_array())[4::8, 4::8]


def test_that_there_is_a_tile_for_each_pixel_and_layer_and_one_colour_bar_and_too_many_tiles_are_refused():
    figure = drawn(draw_weights, [weight_rows(), weight_rows("MNIST", depth=4, pixels=(5,), generated=False)])
    assert len(tiles(figure)) == 3 * 2 + 1 * 4
    assert len(figure.axes) == len(tiles(figure)) + 1
    with pytest.raises(ValueError, match="too many"):
        drawn(draw_weights, [weight_rows(depth=60)])


def with_rms(rows, drowned):
    """Return rows with random RMS values of the inputs of the layers."""
    return replace(rows, rms=np.random.default_rng(1).uniform(0.0, 2.0, rows.rows.shape[1:]), drowned=drowned)


def test_that_contributions_are_weights_times_the_rms_named_by_the_colour_bar_and_default_if_one_set_is_drowned():
    rows = with_rms(weight_rows(), False)
    (found,), are_contributions = as_shown([rows], "contribution")
    assert are_contributions
    np.testing.assert_array_equal(found.rows, rows.rows * rows.rms)
    as_weights = drawn(draw_weights, [found])
    figure = drawn(draw_weights, [rows], style=Style(show="contribution"))
    for one, other in zip(tiles(figure), tiles(as_weights), strict=True):
        np.testing.assert_array_equal(colors(one), colors(other))
    assert "contribution (weight × RMS) / limit of the layer" in texts(figure)
    assert "weight / limit of the layer" in texts(as_weights)
    low = with_rms(weight_rows(shape=None, pixels=(9,), depth=3), False)
    assert "contribution / limit" in texts(drawn(draw_weights, [low], style=Style(show="contribution")))
    even, drowned = with_rms(weight_rows(), False), with_rms(weight_rows(), True)
    assert not as_shown([even], "auto")[1]
    assert as_shown([even, drowned], "auto")[1]
    assert not as_shown([drowned], "weights")[1]


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
    figure = drawn(draw_weights, [weights], style=Style(colors=name, levels=levels))
    limits = tile_limits([weights], levels)[0]
    for axes, (i, j) in zip(tiles(figure), itertools.product(range(3), range(2)), strict=True):
        scale = ColorScale.symmetric(name, limits[i, j])
        assert scale.low == -scale.high
        np.testing.assert_array_equal(colors(axes), scale.lut()[scale.indices(weights.rows[i, j].reshape(6, 8))])
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


def test_that_the_ring_is_at_its_pixel_and_does_not_cover_it_and_transposed_images_exchange_rows_and_columns():
    figure = drawn(draw_weights, [weight_rows(pixels=(9, 20, 37))])
    for axes, pixel in zip(tiles(figure), [9, 9, 20, 20, 37, 37], strict=True):
        for ring in axes.patches:
            assert ring.get_center() == (pixel % 8, pixel // 8)
            assert not ring.get_fill()
            assert ring.get_radius() > np.sqrt(0.5)
    weights = weight_rows(pixels=(20,), depth=1)
    plain, turned = drawn(draw_weights, [weights]), drawn(draw_weights, [weights], style=Style(transposed=True))
    np.testing.assert_array_equal(colors(tiles(turned)[0]), colors(tiles(plain)[0]).transpose(1, 0, 2))
    assert tiles(turned)[0].patches[0].get_center() == (2, 4)
    assert "2, 4" in texts(plain)
    assert "4, 2" in texts(turned)


def test_that_titles_name_data_set_layers_noise_and_generated_data():
    found = texts(
        drawn(draw_weights, [weight_rows(), weight_rows("MNIST", generated=False)], style=Style(width="double"))
    )
    assert {"Rectangles (generated)", "MNIST", "layer 1", "layer 2", "noise 1 − p = 0.25, p = 0.75"} <= set(found)
    assert sum("generated" in text for text in found) == 1
    high = replace(weight_rows(), parameters=StackParameters(noise=0.99999, depth=2))
    assert "noise 1 − p = 0.99999, p = 0.00001" in texts(drawn(draw_weights, [high]))


def test_that_a_long_name_is_cut_but_never_the_mark_of_generated_data_or_the_difference_of_features():
    found = texts(drawn(draw_weights, [weight_rows("a very long name " * 20), weight_rows()]))
    assert any(text.startswith("a very long") and text.endswith("… (generated)") for text in found)
    names = tuple(f"concentration in the blood of the patient of salt {k} (mmol/l)" for k in range(48))
    rows = replace(weight_rows(shape=None), feature_names=names)
    assert {"…9…", "…20…", "…37…"} <= set(texts(drawn(draw_weights, [rows])))


def test_that_biases_and_limits_are_below_tiles_on_request():
    weights = weight_rows(pixels=(9,), depth=1)
    weights.biases[0, 0] = -0.125
    weights.rows[0, 0, 10] = 0.75
    assert not any("−0.1" in text for text in texts(drawn(draw_weights, [weights])))
    found = texts(drawn(draw_weights, [weights], style=Style(bias=True, levels="tile")))
    assert "bias −0.12" in found
    assert "±0.75" in found
    for size, text in ((0.0, "±0.00"), (0.0149, "±0.015"), (2.6e-12, "±2.6e−12"), (149.0, "±1.5e2")):
        weights.rows[:] = size
        assert text in texts(drawn(draw_weights, [weights], style=Style(levels="tile", show="weights")))


def test_that_the_colour_bar_has_pointed_ends_only_if_weights_exceed_the_limits():
    weights = weight_rows(pixels=(0,), depth=1, size=0.01)
    weights.rows[0, 0, 0] = 0.5
    inside = drawn(draw_weights, [weights])
    weights.rows[0, 0, 47] = -900.0
    beyond = drawn(draw_weights, [weights])
    assert tile_limits([weights], "tile")[0] == 0.5
    found = [len(next(a for a in f.axes if a.get_label() == "colour bar").patches) for f in (inside, beyond)]
    assert found == [0, 2]


def test_that_weights_of_features_that_are_not_pixels_are_bars():
    weights = weight_rows(shape=None, pixels=(3,), depth=1)
    figure = drawn(draw_weights, [weights])
    (axes,) = tiles(figure)
    assert not axes.get_images()
    (bars,) = axes.collections
    (colors,) = (a.collections[-1].cmap.colors for a in figure.axes if a.get_label() == "colour bar")
    assert {tuple(color) for color in colors} == {tuple(color[:3]) for color in bars.get_facecolor()}
    np.testing.assert_allclose([path.vertices[1, 1] for path in bars.get_paths()], weights.rows[0, 0])
    low, high = axes.get_ylim()
    assert low == -high


@pytest.mark.parametrize(
    ("width", "levels", "count"),
    [
        ("single", "layer", 4),
        ("single", "tile", 1),
        ("double", "global", 2),
        ("double", "tile", 2),
        ("slide", "layer", 4),
        ("single", "layer", 0),
    ],
)
def test_that_no_two_parts_overlap(width, levels, count):
    names = ["Rectangles", "Rectangles-Images", "Convex", "MNIST"]
    weights = [weight_rows(name, shape=(28, 28), pixels=(90, 300, 420, 700), depth=4) for name in names[:count]]
    weights = weights or [weight_rows(shape=None, pixels=(9,), depth=8)]  # low tiles
    figure = drawn(draw_weights, weights, style=Style(width=width, levels=levels, bias=True))
    boxes = [part.get_window_extent() for part in [*figure.axes, *figure.texts]]
    bar = next(axes for axes in figure.axes if axes.get_label() == "colour bar")
    boxes += [label.get_window_extent() for label in bar.get_yticklabels()]
    for one, other in itertools.combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        # The box of a text has a margin of a quarter of a mm around the letters.
        assert min(wide, high) < 2.5, (one, other)


# Matrices by Machado, Oliveira and Fernandes (2009) at severity 1 for linear sRGB.
DICHROMATS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def linear(rgb):
    unit = rgb / 255.0
    return np.where(unit <= 0.04045, unit / 12.92, ((unit + 0.055) / 1.055) ** 2.4)


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
    light = linear(ColorScale.symmetric(name, 1.0).lut()) @ np.array([0.2126, 0.7152, 0.0722])  # luminance
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


def test_that_values_of_opposite_sign_are_symmetric_about_the_neutral_and_those_outside_take_the_end_colours():
    values = np.linspace(0.0, 0.6, 301, dtype=np.float32)
    scale = ColorScale.symmetric("blue-white-red", 0.5)
    above, below = scale.indices(values).astype(int), scale.indices(-values).astype(int)
    assert np.max(np.abs(above + below - 256)) <= 1
    assert np.all(np.diff(above) >= 0)
    found = ColorScale("jet", 1.0, 3.0).indices([-9.0, 1.0, 2.0, 3.0, 9.0, np.inf, -np.inf, np.nan])
    assert found.tolist() == [1, 1, 128, 255, 255, 255, 1, 0]


def test_that_indices_are_contiguous_and_leave_the_values_alone_and_jet_is_the_classic_map():
    values = np.asfortranarray(np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32))
    before = values.copy()
    found = ColorScale.symmetric("jet", 1.0).indices(values.T[:, ::2])
    assert found.flags.c_contiguous
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(values, before)
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
