"""All plots have round ticks and labels that do not overlap, and zoom; copies, criterion and heat map."""

import math
from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QMargins, QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.experiments.inspection.closed_form import Copies, CopiesPoint
from slide_gui.gui.pages.classifier.learning import CriterionPlot
from slide_gui.gui.pages.weights.copies import CopiesPlot
from slide_gui.gui.plots.axes import Plot, decade_ticks, evenly_apart, linear_ticks, nice_ticks
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import press, record, wheel

WHOLE = ((0.0, 10.0), (-2.0, 2.0))


class Bare(Plot):
    """A plot without content that records where it is clicked."""

    def __init__(self, parent=None):
        super().__init__(QMargins(50, 30, 60, 40), ("across", "upwards"), parent=parent)
        self.clicks = []
        self._set_full_range(*WHOLE)
        self._set_filled(True)

    def _click_at(self, target, place):
        self.clicks.append(place)


@pytest.fixture
def plot(shown):
    return shown(Bare(), 500, 300)


def flat(plot):
    return [value for pair in plot.shown() for value in pair]


def back(plot):
    (button,) = plot.findChildren(QPushButton)
    return button


@pytest.mark.parametrize(("low", "high"), [(0.9, 40.0), (1.3, 2100.0), (1e-7, 1e5), (100.0, 5000.0), (2.1, 3.9)])
def test_that_a_logarithmic_axis_has_few_round_ticks_between_its_ends(low, high):
    ticks = decade_ticks(math.log10(low), math.log10(high), 6)
    assert 2 <= len(ticks) <= 8
    for place, text in ticks:
        assert low <= 10**place * (1 + 1e-6)
        assert 10**place <= high * (1 + 1e-6)
        assert float(text.replace("\u202f", "").replace("−", "-")) == pytest.approx(10**place, rel=1e-3)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e4))
def test_that_linear_ticks_are_round_and_inside_and_those_of_a_full_range_enclose_it(low, span):
    ticks = [value for value, _ in linear_ticks(low, low + span, 6)]
    assert 2 <= len(ticks) <= 8
    assert low - 1e-5 * span <= min(ticks) < max(ticks) <= low + span + 1e-5 * span
    enclosing = nice_ticks(low, low + span, 6)
    assert enclosing[0] <= low + 1e-6 * span < low + span - 1e-6 * span <= enclosing[-1]
    steps = [b - a for a, b in pairwise(enclosing)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-3)
    assert f"{steps[0]:.0e}"[0] in "125"


@given(st.lists(st.floats(-50, 450), min_size=1, max_size=9))
def test_that_labels_are_apart_in_order_and_inside(wanted):
    places = evenly_apart(wanted, 16.0, 0.0, 400.0)
    ranked = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    assert all(places[b] - places[a] >= 16.0 - 1e-6 for a, b in pairwise(ranked))
    assert min(places) >= -1e-6
    assert max(places) <= 400.0 + 1e-6


def test_that_the_wheel_zooms_about_the_mouse_and_keys_zoom_and_pan_within_the_full_range(plot):
    mouse = QPoint(150, 90)
    under = plot.values(QPointF(mouse))
    wheel(plot, mouse, 240)
    (left, right), (low, high) = plot.shown()
    assert plot.values(QPointF(mouse)) == pytest.approx(under)
    assert (right - left, high - low) == pytest.approx((10 / 1.25**2, 4 / 1.25**2))
    wheel(plot, mouse, -600)
    assert flat(plot) == pytest.approx([0, 10, -2, 2])
    assert not plot.is_zoomed()
    press(plot, Qt.Key.Key_Plus)
    assert [b - a for a, b in plot.shown()] == pytest.approx((8.0, 3.2))
    press(plot, Qt.Key.Key_Right, Qt.Key.Key_Up, held=Qt.KeyboardModifier.AltModifier)
    assert flat(plot) == pytest.approx([1.8, 9.8, -1.28, 1.92])
    for _ in range(6):
        wheel(plot, mouse, 120 * 200)
    (left, right), _ = plot.shown()
    assert right - left == pytest.approx(0.01)


def test_that_a_drag_pans_within_the_full_range_and_is_not_a_click(plot):
    wheel(plot, plot.box().center().toPoint(), 480)
    start, stop = QPoint(200, 150), QPoint(240, 130)
    under, spans = plot.values(QPointF(start)), [b - a for a, b in plot.shown()]
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(plot, QPoint(220, 140))
    QTest.mouseMove(plot, stop)
    assert plot.values(QPointF(stop)) == pytest.approx(under)
    QTest.mouseMove(plot, QPoint(3000, 3000))
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=QPoint(3000, 3000))
    (left, _), (_, high) = plot.shown()
    assert (left, high) == pytest.approx((0.0, 2.0))
    assert [b - a for a, b in plot.shown()] == pytest.approx(spans)
    assert plot.clicks == []
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    before = plot.shown()
    plot.hide()  # another widget receives the release
    plot.show()
    for place in (QPoint(260, 180), QPoint(280, 190)):
        QTest.mouseMove(plot, place)
    assert plot.shown() == before
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=start)
    assert plot.clicks == [QPointF(start)]


def test_that_a_button_a_key_and_a_double_click_show_the_full_range_again(plot):
    for way in (
        back(plot).click,
        lambda: QTest.keyClick(plot, Qt.Key.Key_0),
        lambda: QTest.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(200, 150)),
    ):
        press(plot, Qt.Key.Key_Plus, Qt.Key.Key_Plus, Qt.Key.Key_Minus)
        assert plot.is_zoomed()
        assert back(plot).isVisible()
        way()
        assert plot.shown() == WHOLE
        assert not back(plot).isVisible()
        assert plot.hasFocus()


def test_that_new_data_keep_a_zoomed_range_and_otherwise_show_the_full_range(plot):
    plot._set_full_range((0.0, 20.0), (-2.0, 2.0))
    assert plot.shown() == ((0.0, 20.0), (-2.0, 2.0))
    wheel(plot, plot.at(10.0, 0.0).toPoint(), 480)
    before = flat(plot)
    plot._set_full_range((0.0, 40.0), (-3.0, 3.0))
    assert flat(plot) == pytest.approx(before)
    plot._set_full_range((0.0, 1.0), (-3.0, 3.0))
    assert plot.shown()[0] == pytest.approx((0.0, 1.0))


def test_that_an_error_while_painting_is_raised_and_the_next_painting_is_complete(shown, monkeypatch):
    plot = shown(Bare(), 400, 300)
    before = plot.grab().toImage()
    for part in ("paint_still", "paint_moving"):
        with monkeypatch.context() as patch:
            patch.setattr(plot, part, Mock(side_effect=ValueError("cannot paint")))
            wheel(plot, QPoint(200, 150), 120)
            with pytest.raises(ValueError, match="cannot paint"):
                plot.grab()
        plot.show_full_range()
        assert plot.grab().toImage() == before


WEIGHTS = np.zeros((4, 5))


def copies_of(n):
    """Return n points with errors that fall as 1/√m; the errors of single rows are half as large."""
    points = []
    for m in (2**k for k in range(n)):
        errors = np.array([0.9, 1.0, 1 / 0.9]) / np.sqrt(m)
        points.append(CopiesPoint(m, errors, 0.5 * np.tile(errors[:, None], 4), WEIGHTS.astype(np.float32)))
    return Copies(0.3, 1, WEIGHTS, 50, 50, 3, tuple(points))


@pytest.fixture
def copies_plot(shown):
    made = shown(CopiesPlot(), 600, 280)
    made.set_placeholder("Nothing yet.")
    return made


def test_that_errors_that_fall_as_1_by_root_m_are_on_a_straight_line_which_a_new_point_extends(copies_plot):
    copies_plot.set_copies(copies_of(4), 3, "0, 3")
    seen, places = copies_plot.shown(), [copies_plot.position(2**k, 2 ** (-k / 2)) for k in range(6)]
    steps = np.array([(b - a).toTuple() for a, b in pairwise(places)])
    np.testing.assert_allclose(steps, steps[[0] * 5], atol=1e-6)
    assert copies_plot.box().contains(copies_plot.position(1024, 1 / 1024**0.5))
    shot, at = copies_plot.grab().toImage(), copies_plot.position(16, 0.125).toPoint()
    page, there = shot.pixel(copies_plot.width() - 4, 4), copies_plot.position(512, 512**-0.5).toPoint()
    assert any(shot.pixel(there + QPoint(a, b)) != page for a in range(-6, 7) for b in range(-4, 5)), "dashed"
    copies_plot.set_copies(copies_of(5), 3, "0, 3")
    assert shot.pixelColor(at) != copies_plot.grab().toImage().pixelColor(at) == QColor(LIGHT.accent)
    assert copies_plot.shown() == seen


def test_that_a_click_and_keys_select_a_computed_m(copies_plot):
    copies_plot.set_copies(copies_of(6), 3, "0, 3")
    (chosen,) = record(copies_plot.copies_chosen)
    place = QPoint(round(copies_plot.position(8, 1.0).x()) + 6, 120)
    QTest.mouseClick(copies_plot, Qt.MouseButton.LeftButton, pos=place)
    copies_plot.set_chosen(chosen[-1])
    press(copies_plot, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)
    assert chosen == [8, 16, 1, 32]
    assert copies_plot.lines_at(8) == ["m = 8", "all rows 0.354 (0.318 to 0.393)", "row 0, 3 0.177 (0.159 to 0.196)"]
    assert "m = 8; all rows 0.354" in copies_plot.accessibleDescription()


def step(iteration, criterion, C=1.0, support=10, start=0):
    return WidthsStep(iteration, start, criterion, (), (), C, support)


def history(n=20, start=0, last=3.0):
    return [step(i, last + 2.0 * math.exp(-0.2 * i), 1.0 + i, 900 - 10 * i, start) for i in range(n)]


@pytest.fixture
def criterion_plot(shown):
    made = shown(CriterionPlot(), 560, 340)
    made.set_history(history())
    return made


def near(criterion_plot, place, colour):
    """Return True if a pixel near a position has nearly this colour."""
    shot, wanted, at = criterion_plot.grab().toImage(), QColor(colour), place.toPoint()
    around = [shot.pixelColor(at.x() + a, at.y() + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return any(max(abs(c.red() - wanted.red()), abs(c.blue() - wanted.blue())) < 40 for c in around)


def test_that_the_best_start_so_far_is_in_the_accent_colour_with_its_least_value_marked_and_paler_if_stale(
    criterion_plot,
):
    criterion_plot.set_history(history() + history(6, start=2, last=2.5))
    assert criterion_plot.best() == history()[-1]
    assert near(criterion_plot, criterion_plot.position(history()[12]), LIGHT.accent)
    steps = [step(i, value, 10.0 + i, 50 + i, 2) for i, value in enumerate((5.0, 2.0, 4.0))]
    criterion_plot.set_history(history() + steps)
    assert "iteration 1 · start 3; C = 11.0" in criterion_plot.accessibleDescription()
    assert near(criterion_plot, criterion_plot.position(steps[1]) - QPointF(0, 3), LIGHT.accent)
    assert not near(criterion_plot, criterion_plot.position(steps[2]) + QPointF(3, 0), LIGHT.accent)
    assert near(criterion_plot, criterion_plot.position(history()[-1]), LIGHT.muted)
    on_the_line = criterion_plot.position(step(0.5, 3.5))
    for stale in (False, True):
        criterion_plot.set_stale(stale)
        assert near(criterion_plot, on_the_line, LIGHT.accent) != stale


def test_that_long_numbers_on_the_vertical_axis_are_shown(criterion_plot):
    criterion_plot.set_history([step(i, 2.31e-4 + 4e-7 * i) for i in range(9)])
    shot, left = criterion_plot.grab().toImage(), int(criterion_plot.box().left())
    for value, text in linear_ticks(*criterion_plot.shown()[1], 6):
        y = int(criterion_plot.at(0.0, value).y())
        ink = [x for x in range(left) for row in (y - 2, y, y + 2) if shot.pixelColor(x, row).lightness() < 160]
        assert max(ink) - min(ink) > 4 * len(text)


def test_that_mouse_and_keys_select_an_iteration(criterion_plot):
    QTest.mouseMove(criterion_plot, criterion_plot.at(7, 4.0).toPoint() + QPoint(2, 0))
    assert criterion_plot._current == history()[7]
    assert "iteration 7; C = 8.00" in criterion_plot.accessibleDescription()
    keys = Qt.Key
    for key, iteration in ((keys.Key_Right, 8), (keys.Key_Home, 0), (keys.Key_Left, 0), (keys.Key_End, 19)):
        QTest.keyClick(criterion_plot, key)
        assert criterion_plot._current.iteration == iteration
    criterion_plot.set_history(history(last=5.0))
    assert criterion_plot._current is None, "it belongs to another history of the same length"
    QTest.keyClick(criterion_plot, keys.Key_Right)


def test_that_only_values_over_orders_of_magnitude_have_a_logarithmic_axis(criterion_plot):
    assert not criterion_plot._log
    criterion_plot.set_history([step(i, 10.0 ** (4 - i / 3)) for i in range(12)])
    assert criterion_plot._log
    assert near(criterion_plot, criterion_plot.position(step(6, 100.0)), LIGHT.accent)


@pytest.mark.parametrize(
    "values", [[math.nan], [5.0], [2.0, math.inf, 2.0, 2.0], [0.0] * 4], ids=["nan", "one", "infinite", "zero"]
)
def test_that_any_criterion_can_be_drawn_and_selected(criterion_plot, values):
    criterion_plot.set_history([step(i, value, C=0.0) for i, value in enumerate(values)])
    criterion_plot.grab()
    QTest.keyClick(criterion_plot, Qt.Key.Key_Home)
    criterion_plot.grab()
    assert criterion_plot._current is not None
