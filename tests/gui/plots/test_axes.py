"""All plots have round ticks and labels that do not overlap, zoom and pan, and can show the full range again."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QMargins, QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from slide_gui.gui.plots.axes import Plot, apart, decade_ticks, linear_ticks, nice_ticks
from tests.gui.helpers import press, wheel

WHOLE = ((0.0, 10.0), (-2.0, 2.0))


class Bare(Plot):
    """A plot without content that records where it is clicked."""

    def __init__(self, parent=None):
        super().__init__(QMargins(50, 30, 60, 40), ("across", "upwards"), parent=parent)
        self.clicks = []
        self._set_full_range(*WHOLE)
        self._set_filled(True)

    def show_range(self, x, y):
        self._set_full_range(x, y)

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
        said = float(text.replace("\u202f", "").replace("−", "-"))
        assert said == pytest.approx(10**place, rel=1e-3)


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
    places = apart(wanted, 16.0, 0.0, 400.0)
    ranked = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    assert all(places[b] - places[a] >= 16.0 - 1e-6 for a, b in pairwise(ranked))
    assert min(places) >= -1e-6
    assert max(places) <= 400.0 + 1e-6


def test_that_the_wheel_zooms_about_the_mouse_within_the_full_range_or_along_the_axis_below_it(plot):
    mouse = QPoint(150, 90)
    under = plot.values(QPointF(mouse))
    wheel(plot, mouse, 240)
    (left, right), (low, high) = plot.shown()
    assert plot.values(QPointF(mouse)) == pytest.approx(under)
    assert (right - left, high - low) == pytest.approx((10 / 1.25**2, 4 / 1.25**2))
    wheel(plot, mouse, -600)
    assert flat(plot) == pytest.approx([0, 10, -2, 2])
    assert not plot.is_zoomed()
    for _ in range(6):
        wheel(plot, mouse, 120 * 200)
    (left, right), _ = plot.shown()
    assert right - left == pytest.approx(0.01)
    for mouse, spans in ((QPoint(200, 285), (8.0, 4.0)), (QPoint(20, 100), (10.0, 3.2))):  # below, to the left
        plot.show_full_range()
        wheel(plot, mouse, 120)
        assert [b - a for a, b in plot.shown()] == pytest.approx(spans)


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
    plot.show_range((0.0, 20.0), (-2.0, 2.0))
    assert plot.shown() == ((0.0, 20.0), (-2.0, 2.0))
    wheel(plot, plot.at(10.0, 0.0).toPoint(), 480)
    before = flat(plot)
    plot.show_range((0.0, 40.0), (-3.0, 3.0))
    assert flat(plot) == pytest.approx(before)
    plot.show_range((0.0, 1.0), (-3.0, 3.0))
    assert plot.shown()[0] == pytest.approx((0.0, 1.0))


def test_that_an_error_while_painting_is_raised_and_the_next_painting_is_complete(shown, monkeypatch):
    plot = shown(Bare(), 400, 300)
    before = plot.grab().toImage()

    def broken(*_painter):
        raise ValueError("cannot paint")

    for part in ("paint_still", "paint_moving"):
        with monkeypatch.context() as patch:
            patch.setattr(plot, part, broken)
            wheel(plot, QPoint(200, 150), 120)
            with pytest.raises(ValueError, match="cannot paint"):
                plot.grab()
        plot.show_full_range()
        assert plot.grab().toImage() == before


def test_that_keys_zoom_along_one_axis_and_pan(plot):
    press(plot, Qt.Key.Key_Plus, held=Qt.KeyboardModifier.ControlModifier)
    assert [b - a for a, b in plot.shown()] == pytest.approx((8.0, 4.0))
    press(plot, Qt.Key.Key_Plus, held=Qt.KeyboardModifier.AltModifier)
    assert [b - a for a, b in plot.shown()] == pytest.approx((8.0, 3.2))
    press(plot, Qt.Key.Key_Right, Qt.Key.Key_Up, held=Qt.KeyboardModifier.AltModifier)
    assert flat(plot) == pytest.approx([1.8, 9.8, -1.28, 1.92])
