"""Figures of curves, confusion, widths, flow and copies show the right numbers, and so do their tables."""

import csv
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from slide_gui.error_rate import ErrorRate
from slide_gui.figures.copies import draw_copies
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.flow import draw_flow
from slide_gui.figures.run_figures import confusion_csv, draw_confusion, widths_csv
from tests.figures.drawings import CURVES, DATA, DRAWINGS, MARKS, copies_of, drawn, flow_of, result, texts


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
    assert any("unpublished" in text for text in texts(figure))


def test_that_points_selected_on_validation_rows_are_ringed():
    points = tuple(replace(point, chosen=(point.depth, point.noise) == (2, 0.3)) for point in CURVES.points)
    (axes,) = drawn(lambda figure, style: draw_curves(figure, replace(CURVES, points=points), style)).axes
    (ring,) = (line for line in axes.lines if line.get_markerfacecolor() == "none")
    assert ring.get_xdata().tolist() == [0.3]


def test_that_a_line_of_one_point_shows_its_interval_too():
    points = CURVES.points[:11]
    (axes,) = drawn(lambda figure, style: draw_curves(figure, replace(CURVES, points=points), style)).axes
    band, bar = axes.collections
    assert band.get_alpha() == 0.2
    ((bottom, top),) = (segment[:, 1] for segment in bar.get_segments())
    assert (bottom, top) == pytest.approx((100 * points[10].rate.low, 100 * points[10].rate.high))


def test_that_labels_at_equal_heights_do_not_overlap_and_real_data_have_no_mark():
    flat = replace(CURVES, points=tuple(replace(point, rate=ErrorRate.of_run(0.02, 50_000)) for point in CURVES.points))
    figure = drawn(lambda figure, style: draw_curves(figure, flat, style))
    labels = [text for text in figure.texts if "layer" in text.get_text() or text.get_text() == "raw input"]
    boxes = sorted((text.get_window_extent() for text in labels), key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(lower.y1 <= upper.y0 + 2 for lower, upper in pairwise(boxes))
    assert figure.texts[0].get_text() == "Rectangles: test error"
    generated = drawn(lambda figure, style: draw_curves(figure, replace(flat, generated=True), style))
    assert generated.texts[0].get_text() == "Rectangles (generated): test error"


def test_that_a_matrix_shows_every_count():
    (axes,) = drawn(DRAWINGS["confusion"]).axes
    assert [int(text.get_text()) for text in axes.texts] == result().confusion.ravel().tolist()


def test_that_long_names_of_classes_remain_different():
    names = [f"a class of a very long name, number {number} of three" for number in (1, 2, 3)]
    (axes,) = drawn(lambda figure, style: draw_confusion(figure, result(), style, names)).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["…1…", "…2…", "…3…"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3"]


def test_that_the_flow_figure_shows_the_values_and_the_errors():
    flow = flow_of(DATA)
    figure = drawn(lambda figure, style: draw_flow(figure, flow, style))
    assert len(figure.axes) == 6
    second = flow.flow.layers[1]
    assert {f"{second.target_error:.4f} from h¹", f"{second.input_error:.4f} from x"} <= set(texts(figure))
    squashed = next(axes for axes in figure.axes if axes.get_label().startswith("T(h¹)")).images[0].get_array()
    dark = np.asarray(squashed)[::8, ::8].sum(axis=-1) < 200
    np.testing.assert_array_equal(dark.reshape(-1), second.squashed == 1)


def test_that_a_flow_without_corruption_is_marked():
    found = texts(drawn(lambda figure, style: draw_flow(figure, flow_of(DATA, None), style)))
    assert any("not corrupted" in text for text in found)
    assert "corrupt" not in found


def test_that_the_copies_figure_has_both_lines_and_their_references():
    copies = copies_of(DATA)
    figure = drawn(lambda figure, style: draw_copies(figure, copies, style))
    lines = figure.axes[0].get_lines()
    assert len(lines) == 4
    np.testing.assert_allclose(lines[0].get_ydata(), [mean for _, mean, _, _ in copies.copies.curve()])
    dashed = np.asarray(lines[1].get_ydata())
    np.testing.assert_allclose(dashed[0] / dashed[-1], 4.0)
    assert "Wₘ, m = 8, seed 0" in texts(figure)


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def test_that_tables_hold_the_numbers_to_the_bit(tmp_path):
    curves_csv(tmp_path / "c.csv", CURVES)
    assert [float(line[6]) for line in table(tmp_path / "c.csv")] == [point.rate.error for point in CURVES.points]
    widths_csv(tmp_path / "w.csv", result())
    lines, history = table(tmp_path / "w.csv"), result().classifier.history
    assert [float(line[2]) for line in lines] == [step.criterion for step in history]
    assert [float(line[3]) for line in lines] == [step.prior for step in history]
    assert [tuple(map(float, line[9:])) for line in lines] == [step.shares for step in history]
    confusion_csv(tmp_path / "m.csv", result(), ["a", "b", "c"])
    assert [[int(cell) for cell in line[1:]] for line in table(tmp_path / "m.csv")] == result().confusion.tolist()
