from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.criterion_plot import CriterionPlot, CriterionStep
from tests.gui.given import calls_in

Shown = Callable[..., Any]


def history(many: int = 20, start: int = 0, last: float = 3.0) -> list[CriterionStep]:
    return [CriterionStep(i, last + 2.0 * math.exp(-0.2 * i), 1.0 + i, 900 - 10 * i, start) for i in range(many)]


@pytest.fixture
def plot(shown: Shown) -> CriterionPlot:
    made: CriterionPlot = shown(CriterionPlot(), 560, 340)
    made.set_steps(history())
    return made


def near(plot: CriterionPlot, x: float, y: float, colour: str) -> bool:
    shot, wanted = plot.grab().toImage(), QColor(colour)
    around = [shot.pixelColor(round(x) + a, round(y) + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return any(max(abs(c.red() - wanted.red()), abs(c.blue() - wanted.blue())) < 40 for c in around)


def test_that_the_curve_goes_through_its_values_and_all_rows_share_the_iterations(plot: CriterionPlot) -> None:
    x, y = plot.x_axis(), plot.y_axis()
    for step in history()[::6]:
        assert near(plot, x.at(step.iteration), y.at(step.criterion), LIGHT.accent)
    criterion, penalty, support = plot.boxes()
    assert {criterion.left(), penalty.left(), support.left()} == {x.start}
    assert criterion.bottom() < penalty.top() < penalty.bottom() < support.top() < support.bottom() < plot.height()
    assert near(plot, x.at(19), penalty.top(), LIGHT.text)
    assert near(plot, x.at(19), support.bottom(), LIGHT.text)


def test_that_the_start_that_is_best_now_is_the_one_in_the_accent(plot: CriterionPlot) -> None:
    assert plot.best_start() == 0
    for step in history(6, start=1, last=2.5):
        plot.append(step)
    assert plot.best_start() == 0
    for step in history(30, start=1, last=2.5)[6:]:
        plot.append(step)
    assert plot.best_start() == 1
    x, y = plot.x_axis(), plot.y_axis()
    assert near(plot, x.at(29), y.at(history(30, 1, 2.5)[-1].criterion), LIGHT.accent)
    assert near(plot, x.at(19), y.at(history()[-1].criterion), LIGHT.muted)


def test_that_what_is_said_is_the_step_with_the_least_criterion_as_it_is_the_one_kept(plot: CriterionPlot) -> None:
    steps = [CriterionStep(i, value, 10.0 + i, 50 + i) for i, value in enumerate((5.0, 3.0, 4.0))]
    plot.set_steps([*steps, CriterionStep(3, 3.5, 20.0, 60, 1)])
    assert plot.best_start() == 0
    assert "iteration 1 · start 1; C = 11.0; 51 support vectors" in plot.accessibleDescription()
    x, y = plot.x_axis(), plot.y_axis()
    assert near(plot, x.at(1), y.at(3.0) + 3, LIGHT.accent)
    assert not near(plot, x.at(2), y.at(4.0) + 3, LIGHT.accent)


def test_that_starts_may_begin_in_any_order(plot: CriterionPlot) -> None:
    plot.set_steps(history(5, start=2))
    plot.grab()
    assert plot.best_start() == 2
    QTest.keyClick(plot, Qt.Key.Key_Right)
    current = plot.current()
    assert current is not None
    assert (current.start, current.iteration) == (2, 4)


def test_that_appending_costs_the_same_however_long_the_history(plot: CriterionPlot) -> None:
    def cost(first: int, many: int) -> int:
        steps = [CriterionStep(i, 3.0 + 1.0 / (i + 1), 1.0, 100) for i in range(first, first + many)]
        return calls_in(lambda: [plot.append(step) for step in steps])

    plot.set_steps([])
    image = QImage(plot.size(), QImage.Format.Format_RGB32)
    cost(0, 2000)
    early, painted = cost(2000, 2000), calls_in(lambda: plot.render(image))
    cost(4000, 20_000)
    assert cost(24_000, 2000) == early < 2000 * 40
    assert calls_in(lambda: plot.render(image)) < 1.2 * painted


def test_that_hover_and_keys_read_an_iteration(plot: CriterionPlot) -> None:
    hovered: list[Any] = []
    plot.step_hovered.connect(hovered.append)
    x, y = plot.x_axis(), plot.y_axis()
    QTest.mouseMove(plot, QPoint(round(x.at(7)) + 2, round(y.at(4.0))))
    assert hovered[-1] == history()[7]
    assert "iteration 7; C = 8.00; 830 support vectors" in plot.accessibleDescription()
    QTest.keyClick(plot, Qt.Key.Key_Right)
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_Left)
    QTest.keyClick(plot, Qt.Key.Key_End)
    QTest.keyClick(plot, Qt.Key.Key_Escape)
    assert [s and s.iteration for s in hovered] == [7, 8, 0, 19, None]


def test_that_orders_of_magnitude_get_a_logarithmic_axis_and_the_rest_not(plot: CriterionPlot) -> None:
    assert not plot.y_axis().log
    plot.set_steps([CriterionStep(i, 10.0 ** (4 - i / 3), 1.0, 10) for i in range(12)])
    assert plot.y_axis().log
    plot.grab()


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
    place = QPoint(round(plot.x_axis().at(step.iteration)), round(plot.y_axis().at(step.criterion)))
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
