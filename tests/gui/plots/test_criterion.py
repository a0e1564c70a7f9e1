from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from slide_gui.gui.pages.classifier.criterion_plot import Column, CriterionPlot, CriterionStep
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import calls_in, wheel

Shown = Callable[..., Any]


def history(many: int = 20, start: int = 0, last: float = 3.0) -> list[CriterionStep]:
    return [CriterionStep(i, last + 2.0 * math.exp(-0.2 * i), 1.0 + i, 900 - 10 * i, start) for i in range(many)]


@pytest.fixture
def plot(shown: Shown) -> CriterionPlot:
    made: CriterionPlot = shown(CriterionPlot(), 560, 340)
    made.set_steps(history())
    return made


def near(plot: CriterionPlot, place: QPointF, colour: str) -> bool:
    """Return whether a colour, or nearly, stands at a place."""
    shot, wanted, at = plot.grab().toImage(), QColor(colour), place.toPoint()
    around = [shot.pixelColor(at.x() + a, at.y() + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return any(max(abs(c.red() - wanted.red()), abs(c.blue() - wanted.blue())) < 40 for c in around)


def test_that_the_curve_goes_through_its_values_and_all_rows_share_the_iterations(plot: CriterionPlot) -> None:
    for step in history()[::6]:
        assert near(plot, plot.position(step), LIGHT.accent)
    criterion, (penalty, support) = plot.box(), plot.spark_boxes()
    assert {criterion.left(), penalty.left(), support.left()} == {criterion.left()}
    assert criterion.bottom() < penalty.top() < penalty.bottom() < support.top() < support.bottom() < plot.height()
    last = plot.position(history()[-1]).x()
    assert near(plot, QPointF(last, penalty.top() + 5), LIGHT.text)
    assert near(plot, QPointF(last, support.bottom() - 5), LIGHT.text)


def test_that_all_rows_are_zoomed_along_the_iterations_together(plot: CriterionPlot) -> None:
    for _ in range(4):
        wheel(plot, plot.spark_boxes()[0].center().toPoint(), 120)
    left, right = plot.shown()[0]
    assert 5 < left < 10 < right < 15
    step = history()[12]
    assert near(plot, plot.position(step), LIGHT.accent)
    rise = plot.spark_boxes()[0].height() - 10  # C rises by one an iteration
    height = plot.spark_boxes()[0].bottom() - 5 - rise * 12 / 19
    assert near(plot, QPointF(plot.position(step).x(), height), LIGHT.text)


def test_that_the_start_that_is_best_now_is_the_one_in_the_accent(plot: CriterionPlot) -> None:
    assert plot.best_start() == 0
    plot.extend(history(6, start=1, last=2.5))
    assert plot.best_start() == 0
    plot.extend(history(30, start=1, last=2.5)[6:])
    assert plot.best_start() == 1
    assert near(plot, plot.position(history(30, 1, 2.5)[-1]), LIGHT.accent)
    assert near(plot, plot.position(history()[-1]), LIGHT.muted)


def test_that_what_is_said_is_the_step_with_the_least_criterion_as_it_is_the_one_kept(plot: CriterionPlot) -> None:
    steps = [CriterionStep(i, value, 10.0 + i, 50 + i) for i, value in enumerate((5.0, 3.0, 4.0))]
    plot.set_steps([*steps, CriterionStep(3, 3.5, 20.0, 60, 1)])
    assert plot.best_start() == 0
    assert "iteration 1 · start 1; C = 11.0; 51 support vectors" in plot.accessibleDescription()
    assert near(plot, plot.position(steps[1]) + QPointF(0, 3), LIGHT.accent)
    assert not near(plot, plot.position(steps[2]) + QPointF(3, 0), LIGHT.accent)


def test_that_starts_may_begin_in_any_order(plot: CriterionPlot) -> None:
    plot.set_steps(history(5, start=2))
    plot.grab()
    assert plot.best_start() == 2
    QTest.keyClick(plot, Qt.Key.Key_Right)
    current = plot.current()
    assert current is not None
    assert (current.start, current.iteration) == (2, 4)


def test_that_iterations_cost_the_same_however_long_the_history_and_long_ones_are_thinned(plot: CriterionPlot) -> None:
    def steps(first: int, many: int) -> list[CriterionStep]:
        return [CriterionStep(i, 3.0 + 1.0 / (i + 1), 1.0, 100) for i in range(first, first + many)]

    plot.set_steps(steps(0, 2000))
    image = QImage(plot.size(), QImage.Format.Format_RGB32)
    early = calls_in(lambda: plot.extend(steps(2000, 100)))
    painted = calls_in(lambda: plot.render(image))
    plot.extend(steps(2100, 20_000))
    plot.render(image)
    assert calls_in(lambda: plot.extend(steps(22_100, 100))) < 1.2 * early
    assert calls_in(lambda: plot.render(image)) < 1.2 * painted
    spike = CriterionStep(30_000, 9.0, 1.0, 100)
    plot.extend([*steps(22_200, 7800), spike, *steps(30_001, 20_000)])
    assert near(plot, plot.position(spike) + QPointF(0, 2), LIGHT.accent)


def test_that_a_number_that_is_missing_never_becomes_a_limit() -> None:
    column = Column()
    for value in (3.0, 2.0, math.nan, 1.0, 1.5):
        column.append(value)
    assert (column.low, column.high) == (1.0, 3.0)


def test_that_hover_and_keys_read_an_iteration(plot: CriterionPlot) -> None:
    QTest.mouseMove(plot, plot.at(7, 4.0).toPoint() + QPoint(2, 0))
    assert plot.current() == history()[7]
    assert "iteration 7; C = 8.00; 830 support vectors" in plot.accessibleDescription()
    keys = Qt.Key
    for key, iteration in ((keys.Key_Right, 8), (keys.Key_Home, 0), (keys.Key_Left, 0), (keys.Key_End, 19)):
        QTest.keyClick(plot, key)
        assert plot.current().iteration == iteration
    QTest.keyClick(plot, keys.Key_Escape)
    assert plot.current() is None


def test_that_orders_of_magnitude_get_a_logarithmic_axis_and_the_rest_not(plot: CriterionPlot) -> None:
    assert not plot.is_logarithmic()
    plot.set_steps([CriterionStep(i, 10.0 ** (4 - i / 3), 1.0, 10) for i in range(12)])
    assert plot.is_logarithmic()
    assert near(plot, plot.position(CriterionStep(6, 100.0, 1.0, 10)), LIGHT.accent)


def test_that_a_criterion_that_is_no_number_breaks_nothing(plot: CriterionPlot) -> None:
    for steps in (
        [CriterionStep(0, math.nan, 1.0, 0)],
        [CriterionStep(0, 5.0, 1.0, 7)],
        [CriterionStep(i, math.inf if i == 1 else 2.0, 1.0, 7) for i in range(4)],
        [CriterionStep(i, 0.0, 0.0, 0) for i in range(4)],
    ):
        plot.set_steps(steps)
        plot.grab()
        QTest.mouseMove(plot, QPoint(200 + len(steps), 80))
        plot.grab()


def test_that_a_stale_history_is_greyed_and_nothing_moves(plot: CriterionPlot) -> None:
    step = history()[-1]
    place = plot.position(step).toPoint()
    fresh = plot.grab().toImage().pixelColor(place)
    plot.set_stale(True)
    stale = plot.grab().toImage().pixelColor(place)
    assert fresh.saturation() > stale.saturation()
    assert stale.lightness() > fresh.lightness()


def test_that_the_empty_plot_says_what_to_do(shown: Shown) -> None:
    plot: CriterionPlot = shown(CriterionPlot(), 400, 260)
    plot.set_placeholder("Press Train.")
    QTest.keyClick(plot, Qt.Key.Key_Left)
    assert plot.accessibleDescription() == "Press Train."
    plot.grab()


def test_that_a_double_click_leads_back_to_the_whole(plot: CriterionPlot) -> None:
    before = plot.shown()
    wheel(plot, plot.at(7, 4.0).toPoint(), 240)
    QTest.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=plot.at(7, 4.0).toPoint())
    assert plot.shown() == before
