"""Figures of curves, confusion and widths: they show the numbers, fit, and are the same bytes each time."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation.protocol import published
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import SweepSpec
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.curves import (
    CurvePoint,
    ErrorCurves,
    LabelCurves,
    LabelLine,
    LabelPoint,
    error_curves,
)
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.figures.confusion import confusion_csv, draw_confusion
from slide_gui.figures.curves import curves_csv, draw_curves, draw_labels
from slide_gui.figures.export import save_figure
from slide_gui.figures.style import Style
from slide_gui.figures.widths import draw_widths, widths_csv
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 60, n_classes=3)
RESULT = run(DATA, spec(DATA, depth=2, criterion="press"))
CURVES = ErrorCurves(
    "Rectangles", False, "SLIDE-SVM", "test",
    tuple(
        CurvePoint(i / 10, d, ErrorRate.of_run(0.02 + 0.001 * i * d, 50_000), None, False)
        for d in range(5) for i in range(10)
    ),
)  # fmt: skip
LABELS = LabelCurves(
    "Rectangles", False, "test", 0.5, 2,
    (
        LabelLine(
            "SLIDE fitted on all rows",
            tuple(LabelPoint(n, ErrorRate(2 / n, 1.8 / n, 2.2 / n, 2000, 3)) for n in (50, 100)),
        ),
        LabelLine("raw input", (LabelPoint(100, ErrorRate(0.05, 0.04, 0.06, 2000, 3)),)),
    ),
)  # fmt: skip
MEDIAN = SvmParameters(widths="median", C=10.0)
MARKS = tuple(mark for mark in published("rectangles") if mark.method in ("SLIDE-SVM", "Raw-SVM"))[:2]

Draw = Callable[[Figure], None]
DRAWINGS = {
    "curves": lambda style: lambda figure: draw_curves(figure, CURVES, style, MARKS),
    "confusion": lambda style: lambda figure: draw_confusion(figure, RESULT, style, ["wide", "tall", "other things"]),
    "labels": lambda style: lambda figure: draw_labels(figure, LABELS, style),
    "widths": lambda style: lambda figure: draw_widths(figure, RESULT, style),
}


def drawn(draw: Draw) -> Figure:
    figure = Figure()
    FigureCanvasAgg(figure)
    draw(figure)
    figure.draw_without_rendering()  # puts the axes' titles in their places
    return figure


@pytest.mark.parametrize(
    ("name", "suffix"), [("curves", "pdf"), ("curves", "png"), *((name, "svg") for name in DRAWINGS)]
)
def test_that_two_exports_are_the_same_bytes(tmp_path: Path, name: str, suffix: str) -> None:
    for number in (1, 2):
        save_figure(DRAWINGS[name](Style()), tmp_path / f"{number}.{suffix}", Style())
    assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"2.{suffix}").read_bytes()


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("width", ["single", "one-and-a-half", "double", "slide"])
def test_that_all_text_lies_within_the_figure(name: str, width: str) -> None:
    style = Style(width=width)
    figure = drawn(DRAWINGS[name](style))
    drawn_box = figure.get_tightbbox()  # inches
    width_in, height_in = figure.get_size_inches()
    assert drawn_box.x0 >= -0.01
    assert drawn_box.x1 <= width_in + 0.01
    assert drawn_box.y0 >= -0.01
    assert drawn_box.y1 <= height_in + 0.01


def test_that_each_depth_has_its_line_its_band_and_its_label() -> None:
    figure = drawn(DRAWINGS["curves"](Style()))
    (axes,) = figure.axes
    lines = [line for line in axes.lines if len(line.get_xdata()) == 10]
    np.testing.assert_allclose(lines[2].get_ydata(), [100 * q.rate.error for q in CURVES.line(2)])
    assert len({line.get_color() for line in lines}) == 5
    assert [band.get_alpha() for band in axes.collections] == [0.2] * 5
    texts = [text.get_text() for text in figure.texts]
    assert {"raw input", "1 layer", "2 layers", "3 layers", "4 layers"} <= set(texts)
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [float(line.get_ydata()[0]) for line in hollow] == pytest.approx([100 * mark.error for mark in MARKS])
    assert any("unpublished" in text for text in texts)


def test_that_a_line_of_one_point_shows_its_interval_too() -> None:
    (axes,) = drawn(DRAWINGS["labels"](Style())).axes
    whole, lone = axes.collections
    assert whole.get_alpha() == 0.2
    ((bottom, top),) = (segment[:, 1] for segment in lone.get_segments())
    assert (bottom, top) == pytest.approx((4.0, 6.0))


def test_that_labels_at_equal_heights_do_not_overlap() -> None:
    flat = replace(CURVES, points=tuple(replace(point, rate=ErrorRate.of_run(0.02, 50_000)) for point in CURVES.points))
    figure = drawn(lambda figure: draw_curves(figure, flat, Style()))
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    boxes = [
        t.get_window_extent(renderer) for t in figure.texts if "layer" in t.get_text() or t.get_text() == "raw input"
    ]
    boxes.sort(key=lambda box: box.y0)
    assert len(boxes) == 5
    assert all(lower.y1 <= upper.y0 + 0.5 for lower, upper in pairwise(boxes))


def test_that_generated_data_are_marked() -> None:
    for generated, title in ((True, "Rectangles (generated)"), (False, "Rectangles")):
        curves = replace(CURVES, dataset="Rectangles", generated=generated)
        figure = drawn(lambda figure, curves=curves: draw_curves(figure, curves, Style()))
        assert figure.texts[0].get_text() == f"{title}: test error"


def test_that_a_matrix_shows_every_count() -> None:
    (axes,) = drawn(lambda figure: draw_confusion(figure, RESULT, Style())).axes
    assert [int(text.get_text()) for text in axes.texts] == RESULT.confusion.ravel().tolist()
    with pytest.raises(ValueError, match="2 names for 3 classes"):
        draw_confusion(Figure(), RESULT, Style(), ["a", "b"])


def test_that_long_names_of_classes_are_told_apart_beside_and_below_a_matrix() -> None:
    names = [f"a class of a very long name, number {number} of three" for number in (1, 2, 3)]
    (axes,) = drawn(lambda figure: draw_confusion(figure, RESULT, Style(), names)).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["…1…", "…2…", "…3…"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "3"]


def test_that_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_curves(Figure(), replace(CURVES, points=()), Style())
    given = run(DATA, spec(DATA, widths="median", C=1.0))
    with pytest.raises(ValueError, match="not learned"):
        draw_widths(Figure(), given, Style())


def table(path: Path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_that_tables_hold_the_numbers_to_the_bit(tmp_path: Path) -> None:
    curves_csv(tmp_path / "c.csv", CURVES)
    lines = table(tmp_path / "c.csv")
    assert [float(line[6]) for line in lines[1:]] == [point.rate.error for point in CURVES.points]
    widths_csv(tmp_path / "w.csv", RESULT)
    lines = table(tmp_path / "w.csv")
    assert [float(line[2]) for line in lines[1:]] == [step.criterion for step in RESULT.classifier.history]
    assert [float(line[3]) for line in lines[1:]] == [step.prior for step in RESULT.classifier.history]
    assert [tuple(map(float, line[9:])) for line in lines[1:]] == [step.shares for step in RESULT.classifier.history]
    confusion_csv(tmp_path / "m.csv", RESULT, ["a", "b", "c"])
    lines = table(tmp_path / "m.csv")
    assert [[int(cell) for cell in line[1:]] for line in lines[1:]] == RESULT.confusion.tolist()


def test_that_curves_average_splits_and_count_a_shared_run_once(tmp_path: Path) -> None:
    data = rectangles(60, 100)
    base = SweepSpec(data.fingerprint, noises=(0.2, 0.5), depths=(0, 1), splits=(0, 1, 2), svm=MEDIAN)
    with RunStore(tmp_path / "r.sqlite") as store:
        split = run_sweep(data, replace(base, training="split"), store).done
        whole = run_sweep(data, base, store).done
    points = error_curves(data, split).points
    assert [(point.depth, point.noise, point.rate.n_splits) for point in points] == [
        (0, 0.2, 3),
        (0, 0.5, 3),
        (1, 0.2, 3),
        (1, 0.5, 3),
    ]
    own = [a.rate.error for a in split if (a.point.depth, a.point.noise) == (1, 0.5)]
    assert points[3].rate.error == pytest.approx(np.mean(own))
    assert [point.rate.n_splits for point in error_curves(data, whole).points] == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="one method"):
        error_curves(data, [])
