from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.curves.error_curves import ErrorPlot
from slide_gui.gui.pages.curves.points import ErrorPoint, lines_of
from slide_gui.gui.theme import LIGHT, towards
from tests.gui.helpers import rate, record, spread, wheel

WAITING = [ErrorPoint(0.9, d, None, f"0.9/{d}", "running") for d in (1, 2)]
PAGE = QColor(LIGHT.background)
ERRORS = {0: (2.0, 2.0, 2.0), 1: (2.0, 1.8, 1.9), 2: (2.0, 1.4, 1.6)}


def points(**changes):
    """Return three lines of three points at noise 0, 0.5 and 0.8."""
    return [
        ErrorPoint(x, depth, rate(e), f"{x}/{depth}", **changes)
        for depth, errors in ERRORS.items()
        for x, e in zip((0.0, 0.5, 0.8), errors, strict=True)
    ]


@pytest.fixture
def plot(shown):
    made = shown(ErrorPlot(), 640, 400)
    made.set_points(points())
    return made


@pytest.fixture
def emitted(plot):
    clicked, moved = record(plot.point_clicked, plot.cursor_moved)
    return {"clicked": clicked, "moved": moved}


def at(plot, key):
    """Return the position of a point of `points` in the plot."""
    return plot.position(next(p for p in [*points(), *WAITING] if p.key == key)).toPoint()


def colour(plot, place):
    return plot.grab().toImage().pixelColor(place)


def place(plot, noise, error):
    return plot.at(noise, error).toPoint()


def test_that_points_are_at_their_values_in_the_colour_of_their_depth(plot):
    for depth, key in ((0, "0.5/0"), (1, "0.5/1"), (2, "0.8/2")):
        assert spread(colour(plot, at(plot, key)), LIGHT.pin(depth)) <= 3
    assert plot.values(plot.at(0.8, 1.6)) == pytest.approx((0.8, 1.6))


def test_that_the_interval_of_the_selected_line_or_else_of_the_hovered_one_is_a_band(plot):
    inside = place(plot, 0.3, 1.94)
    assert colour(plot, inside) == PAGE
    plot.set_depth(2)
    assert spread(colour(plot, place(plot, 0.5, 1.335) + QPoint(12, 0)), towards(LIGHT.pin(2), PAGE, 0.2)) <= 4
    QTest.mouseMove(plot, at(plot, "0.5/1"))
    assert plot.banded() == 1
    assert spread(colour(plot, inside), towards(LIGHT.pin(1), PAGE, 0.2)) <= 4
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert plot.banded() == 2
    assert colour(plot, inside) == PAGE


def test_that_unfinished_points_and_the_papers_value_are_hollow_and_have_no_interval(plot):
    plot.set_depth(2)
    plot.set_paper(2.3)
    for state in ("refining", "running"):
        plot.set_points([*(p for p in points() if p.depth < 2), *points(state=state)[6:], *WAITING])
        without_estimate = at(plot, "0.9/1")
        assert plot.box().bottom() - 20 < without_estimate.y() < plot.box().bottom()
        inside = place(plot, 0.5, 1.335) + QPoint(12, 0)
        hollow = (inside, at(plot, "0.5/2"), without_estimate, place(plot, 0.0, 2.3))
        assert [colour(plot, each) for each in hollow] == [PAGE] * 4
    ring = (place(plot, 0.0, 2.3) + QPoint(d, 0) for d in (-6, -5, -4, -3))
    assert min(spread(colour(plot, each), QColor(LIGHT.text)) for each in ring) < 110
    assert "being computed" in lines_of(WAITING[0])


def test_that_the_point_selected_on_validation_is_ringed_and_described(plot):
    chosen = [replace(p, chosen=p.key == "0.5/1", validation=1.7) for p in points()]
    plot.set_points(chosen)
    ring = at(plot, "0.5/1")
    dark = QColor(LIGHT.text)
    assert min(spread(colour(plot, ring + QPoint(d, 0)), dark) for d in (6, 7, 8)) < 60
    assert "best on validation: noise 0.50, depth 1" in plot.accessibleDescription()
    assert "validation error 1.70\u202f%: selected" in lines_of(next(p for p in chosen if p.chosen))


def test_that_the_range_of_errors_starts_at_zero_or_near_the_data(plot):
    (left, right), (low, _) = plot.shown()
    assert low == pytest.approx(1.2)
    assert -0.05 < left < 0.0 < 1.0 < right < 1.05
    before = plot.shown()
    wide = rate(1.4, 0.0, 30.0)  # the interval of an early estimate
    plot.set_points([replace(p, rate=wide, state="running") if p.key == "0.5/2" else p for p in points()])
    assert plot.shown() == before
    plot.set_points([replace(p, rate=rate(10 * (p.error - 1.3), 0.2, 9.0)) for p in points()])
    assert plot.shown()[1][0] == 0.0
    plot.set_points([replace(points()[0], state="refining")])
    plot.set_paper(2.45)
    low, high = plot.shown()[1]
    assert low == 0.0
    assert 3.0 < high < 5.0


def test_that_the_cursor_reads_each_line_and_hides_no_point(plot, emitted):
    plot.set_cursor(0.25)
    over = QPoint(place(plot, 0.25, 2.0).x(), int(plot.box().top()) + 3)
    assert min(spread(colour(plot, over + QPoint(d, 0)), QColor(LIGHT.accent)) for d in (-1, 0)) < 90
    assert plot.values_at(0.25) == [(0, 2.0, False), (1, pytest.approx(1.9), False), (2, pytest.approx(1.7), False)]
    assert plot.values_at(0.5) == [(0, 2.0, True), (1, pytest.approx(1.8), True), (2, pytest.approx(1.4), True)]
    assert plot.values_at(0.9) == []
    plot.set_cursor(0.5)
    assert spread(colour(plot, at(plot, "0.5/1")), LIGHT.pin(1)) <= 3
    assert emitted["moved"] == []


@pytest.mark.parametrize("on_the_axis", [False, True])
def test_that_dragging_the_cursor_reports_noise_in_steps_and_is_not_a_click(plot, emitted, on_the_axis):
    plot.set_cursor(0.5)
    start = at(plot, "0.5/2")
    if on_the_axis:
        start = QPoint(place(plot, 0.2, 0.0).x(), int(plot.box().bottom()) + 12)
    before = plot.shown()
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    for noise in (0.52, 0.6, 0.701):
        QTest.mouseMove(plot, QPoint(place(plot, noise, 0.0).x(), start.y()))
    QTest.mouseMove(plot, QPoint(plot.width() + 50, start.y()))
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=start)
    assert emitted["moved"][-2:] == [pytest.approx(0.7), 0.99]
    assert all(abs(100 * v - round(100 * v)) < 1e-9 for v in emitted["moved"])
    assert emitted["clicked"] == []
    assert plot.shown() == before
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(place(plot, 0.3, 0.0).x(), start.y()))
    assert emitted["moved"][-1] == (pytest.approx(0.3) if on_the_axis else 0.99)


def test_that_the_mouse_describes_a_point_and_a_click_reports_it_as_it_is_then(plot, emitted):
    waiting = [ErrorPoint(0.9, depth, None, "", "running") for depth in (0, 1)]  # without keys
    plot.set_points([*points(), *waiting])
    QTest.mouseMove(plot, plot.position(waiting[1]).toPoint())
    plot.set_points([*points(note="newer"), *waiting])
    assert plot._current == waiting[1]
    there = at(plot, "0.5/2")
    QTest.mouseMove(plot, there + QPoint(3, 2))
    assert plot.accessibleDescription().startswith("1.40 % (1.30–1.50); noise 0.50 · depth 2; n = 50")
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=there)
    plot.set_points([replace(p, note="new") for p in points()])
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=there)
    assert [(p.key, p.note) for p in emitted["clicked"]] == [("0.5/2", "new")]
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=there)
    plot.set_points(points()[:3])
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=there)
    assert len(emitted["clicked"]) == 1
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert plot._current is None
    assert plot.accessibleDescription() == "3 points"


def test_that_keys_go_along_and_across_the_lines_and_enter_clicks(plot, emitted):
    plot.set_cursor(0.5)
    keys, seen = Qt.Key, []
    for key in (keys.Key_Right, keys.Key_End, keys.Key_Right, keys.Key_Up, keys.Key_Down, keys.Key_Home):
        QTest.keyClick(plot, key)
        seen.append(plot._current.key)
    assert seen == ["0.5/2", "0.8/2", "0.8/2", "0.8/1", "0.8/2", "0.0/2"]
    QTest.keyClick(plot, keys.Key_Return)
    assert [p.key for p in emitted["clicked"]] == ["0.0/2"]
    QTest.keyClick(plot, keys.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert emitted["moved"] == [0.51]
    QTest.keyClick(plot, keys.Key_Escape)
    assert plot._current is None


def test_that_lines_and_points_are_painted_once_while_the_cursor_and_the_mouse_move(plot, monkeypatch):
    stills, paint = [], plot.paint_still
    monkeypatch.setattr(plot, "paint_still", lambda painter: (stills.append(painter), paint(painter)))
    for step in range(12):
        plot.set_cursor(0.3 + 0.01 * step)
        QTest.mouseMove(plot, QPoint(100 + 40 * step, 260))
        plot.grab()
    assert len(stills) == 1
    plot.set_points(points()[:6])
    plot.grab()
    assert len(stills) == 2


def test_that_labels_and_values_follow_the_zoomed_range(plot):
    for _ in range(4):
        wheel(plot, place(plot, 0.4, 1.95), 120)
    left, right = plot.shown()[0]
    assert 0.0 < left < 0.4 < right < 0.8
    assert [depth for depth, _, _ in plot.end_labels()] == [0, 1]
    for _, end, _ in plot.end_labels():
        assert end.x() == pytest.approx(plot.box().right())
        assert plot.box().top() <= end.y() <= plot.box().bottom()
    assert spread(colour(plot, place(plot, 0.5, 1.8)), LIGHT.pin(1)) <= 3
    plot.set_points([ErrorPoint(0.4, d, rate(1.95 + 0.001 * d, 1.9, 2.0), str(d)) for d in range(9)])
    heights = [y for _, _, y in plot.end_labels()]
    assert len(heights) == 9
    assert min(abs(b - a) for a, b in pairwise(sorted(heights))) > 15.9
