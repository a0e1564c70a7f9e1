import math

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.gui.pages.classifier.learning import CriterionPlot
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import wheel


def step(iteration, criterion, C=1.0, support=10, start=0):
    return WidthsStep(iteration, start, criterion, (), (), C, support)


def history(n=20, start=0, last=3.0):
    return [step(i, last + 2.0 * math.exp(-0.2 * i), 1.0 + i, 900 - 10 * i, start) for i in range(n)]


@pytest.fixture
def plot(shown):
    made = shown(CriterionPlot(), 560, 340)
    made.set_history(history())
    return made


def near(plot, place, colour):
    """Return True if a pixel near a position has nearly this colour."""
    shot, wanted, at = plot.grab().toImage(), QColor(colour), place.toPoint()
    around = [shot.pixelColor(at.x() + a, at.y() + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return any(max(abs(c.red() - wanted.red()), abs(c.blue() - wanted.blue())) < 40 for c in around)


def test_that_all_curves_go_through_their_values_and_zoom_together(plot):
    penalty = plot.spark_boxes()[0]
    for _ in range(4):
        assert near(plot, plot.position(history()[12]), LIGHT.accent)
        height = penalty.bottom() - 5 - (penalty.height() - 10) * 12 / 19  # C rises by 1 per iteration
        assert near(plot, QPointF(plot.position(history()[12]).x(), height), LIGHT.text)
        wheel(plot, penalty.center().toPoint(), 120)
    left, right = plot.shown()[0]
    assert 5 < left < 10 < right < 15


def test_that_the_best_start_so_far_is_in_the_accent_colour(plot):
    plot.set_history(history() + history(6, start=2, last=2.5))
    assert plot.best() == history()[-1]
    other = history(30, start=2, last=2.5)
    plot.set_history(history() + other)
    assert plot.best() == other[-1]
    assert near(plot, plot.position(other[-1]), LIGHT.accent)
    assert near(plot, plot.position(history()[-1]), LIGHT.muted)


def test_that_the_step_with_the_smallest_criterion_is_described_and_marked(plot):
    steps = [step(i, value, 10.0 + i, 50 + i) for i, value in enumerate((5.0, 3.0, 4.0))]
    plot.set_history([*steps, step(3, 3.5, 20.0, 60, 1)])
    assert "iteration 1 · start 1; C = 11.0; 51 support vectors" in plot.accessibleDescription()
    assert near(plot, plot.position(steps[1]) + QPointF(0, 3), LIGHT.accent)
    assert not near(plot, plot.position(steps[2]) + QPointF(3, 0), LIGHT.accent)


def test_that_mouse_and_keys_select_an_iteration(plot):
    QTest.mouseMove(plot, plot.at(7, 4.0).toPoint() + QPoint(2, 0))
    assert plot.current() == history()[7]
    assert "iteration 7; C = 8.00; 830 support vectors" in plot.accessibleDescription()
    keys = Qt.Key
    for key, iteration in ((keys.Key_Right, 8), (keys.Key_Home, 0), (keys.Key_Left, 0), (keys.Key_End, 19)):
        QTest.keyClick(plot, key)
        assert plot.current().iteration == iteration
    plot.set_history([])
    assert plot.current() is None


def test_that_only_values_over_orders_of_magnitude_have_a_logarithmic_axis(plot):
    assert not plot._log
    plot.set_history([step(i, 10.0 ** (4 - i / 3)) for i in range(12)])
    assert plot._log
    assert near(plot, plot.position(step(6, 100.0)), LIGHT.accent)


@pytest.mark.parametrize(
    "values", [[math.nan], [5.0], [2.0, math.inf, 2.0, 2.0], [0.0] * 4], ids=["nan", "one", "infinite", "zero"]
)
def test_that_any_criterion_can_be_drawn_and_selected(plot, values):
    plot.set_history([step(i, value, C=0.0) for i, value in enumerate(values)])
    plot.grab()
    QTest.keyClick(plot, Qt.Key.Key_Home)
    plot.grab()
    assert plot.current() is not None


def test_that_a_stale_history_is_paler(plot):
    place = plot.position(history()[-1]).toPoint()
    fresh = plot.grab().toImage().pixelColor(place)
    plot.set_stale(True)
    stale = plot.grab().toImage().pixelColor(place)
    assert fresh.saturation() > stale.saturation()
    assert stale.lightness() > fresh.lightness()
