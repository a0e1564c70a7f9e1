from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.theme import DARK, LIGHT, apply_theme
from slide_gui.gui.widgets._demo_points import points as many_points
from slide_gui.gui.widgets._motion import REDUCED_MOTION
from slide_gui.gui.widgets._points import lines_of
from slide_gui.gui.widgets.error_plot import ErrorMark, ErrorPlot, ErrorPoint
from tests.gui.given import rate, wait

Shown = Callable[..., Any]
ERRORS = {0: (2.0, 2.0, 2.0), 1: (2.0, 1.8, 1.9), 2: (2.0, 1.4, 1.6)}


def points(**changes: Any) -> list[ErrorPoint]:
    """Return three lines of three points at noise 0, 0.5 and 0.8."""
    return [
        ErrorPoint(x, depth, rate(e), f"{x}/{depth}", **changes)
        for depth, errors in ERRORS.items()
        for x, e in zip((0.0, 0.5, 0.8), errors, strict=True)
    ]


@pytest.fixture
def plot(shown: Shown) -> ErrorPlot:
    made: ErrorPlot = shown(ErrorPlot(), 640, 400)
    made.set_points(points())
    return made


@pytest.fixture
def heard(plot: ErrorPlot) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"clicked": [], "hovered": [], "moved": []}
    plot.point_clicked.connect(found["clicked"].append)
    plot.point_hovered.connect(found["hovered"].append)
    plot.cursor_moved.connect(found["moved"].append)
    return found


def at(plot: ErrorPlot, key: str) -> QPoint:
    layout = plot.layout_of()
    return layout.position(next(p for p in layout.points if p.key == key)).toPoint()


def colour(plot: ErrorPlot, place: QPoint) -> QColor:
    return plot.grab().toImage().pixelColor(place)


def far(a: QColor, b: QColor) -> int:
    return max(abs(x - y) for x, y in zip(a.getRgb()[:3], b.getRgb()[:3], strict=True))


def mixed(top: str, alpha: float, page: str) -> QColor:
    pairs = zip(QColor(top).getRgb()[:3], QColor(page).getRgb()[:3], strict=True)
    return QColor(*(round(alpha * a + (1 - alpha) * b) for a, b in pairs))


def test_that_points_stand_at_their_values_in_the_colour_of_their_depth(plot: ErrorPlot) -> None:
    for depth, key in ((0, "0.5/0"), (1, "0.5/1"), (2, "0.8/2")):
        assert far(colour(plot, at(plot, key)), LIGHT.pin(depth)) <= 3
    layout = plot.layout_of()
    assert layout.y.value(layout.position(plot.layout_of().points[-1]).y()) == pytest.approx(1.6)


def test_that_the_interval_is_a_band_of_20_percent(plot: ErrorPlot) -> None:
    layout = plot.layout_of()
    place = QPoint(round(layout.x.at(0.5)) + 12, round(layout.y.at(1.335)))
    assert far(colour(plot, place), mixed(LIGHT.pin(2).name(), 0.2, LIGHT.background)) <= 4


def test_that_a_band_that_still_shrinks_is_lighter_and_a_stale_one_grey(plot: ErrorPlot) -> None:
    for state, pin, alpha in (("refining", LIGHT.pin(2).name(), 0.12), ("stale", LIGHT.muted, 0.12)):
        plot.set_points([*(p for p in points() if p.depth < 2), *points(state=state)[6:]])
        layout = plot.layout_of()
        place = QPoint(round(layout.x.at(0.5)) + 12, round(layout.y.at(1.47)))
        assert far(colour(plot, place), mixed(pin, alpha, LIGHT.background)) <= 5


def test_that_there_is_no_frame_and_the_grid_is_horizontal(plot: ErrorPlot) -> None:
    shot, box = plot.grab().toImage(), plot.layout_of().box
    page = QColor(LIGHT.background)
    last, tick = plot.layout_of().y.ticks[-2:]
    row = math.floor(plot.layout_of().y.at(tick))
    assert QColor(LIGHT.line).rgb() in {shot.pixel(int(box.right()) - 20, row + d) for d in (-1, 0, 1)}
    between = round(plot.layout_of().y.at(0.3 * last + 0.7 * tick))
    assert all(shot.pixelColor(x, between) == page for x in range(int(box.left()) + 2, int(box.right()) + 6))


def test_that_the_range_starts_at_zero_or_near_the_data(plot: ErrorPlot) -> None:
    assert plot.layout_of().y.low == 1.2
    plot.set_points([replace(p, rate=rate(10 * (p.error - 1.3), 0.2, 9.0)) for p in points()])
    assert plot.layout_of().y.low == 0.0
    assert plot.layout_of().x.low == 0.0
    assert plot.layout_of().x.high == 1.0


def test_that_a_first_estimate_alone_stands_well_inside_a_range_from_zero(plot: ErrorPlot) -> None:
    for alone in ([replace(points()[0], state="refining")], []):
        plot.set_points(alone)
        plot.set_marks([ErrorMark(0.0, 2.45, "Raw-SVM")])
        y = plot.layout_of().y
        assert y.low == 0.0
        assert 3.0 < y.high < 5.0


def test_that_first_intervals_as_wide_as_the_plot_do_not_move_its_axis(plot: ErrorPlot) -> None:
    before = plot.layout_of().y
    wide = [replace(p, rate=rate(p.error, 0.0, 30.0), state="running") if p.key == "0.5/2" else p for p in points()]
    plot.set_points(wide)
    assert plot.layout_of().y == before


@pytest.mark.parametrize("height", [220, 300, 520])
@pytest.mark.parametrize("depths", [1, 5, 9])
def test_that_labels_at_the_ends_never_overlap(shown: Shown, depths: int, height: int) -> None:
    plot: ErrorPlot = shown(ErrorPlot(), 480, height)
    plot.set_points([ErrorPoint(0.5, d, rate(1.5 + 0.001 * d, 1.4, 1.6), str(d)) for d in range(depths)])
    layout = plot.layout_of()
    places = sorted(y for _, _, y in layout.end_labels)
    least = 15.9 if depths * 16 <= layout.box.height() - 4 else 12.0
    assert all(b - a >= least for a, b in pairwise(places))
    assert places[0] >= layout.box.top()
    assert places[-1] <= layout.box.bottom()


def test_that_the_cursor_is_in_the_accent_and_reads_each_line(plot: ErrorPlot) -> None:
    layout = plot.layout_of()
    place = QPoint(round(layout.x.at(0.25)), round(layout.box.top()) + 3)
    before = colour(plot, place)
    plot.set_cursor(0.25)
    assert before == QColor(LIGHT.background)
    near = [colour(plot, place + QPoint(d, 0)) for d in (-1, 0)]
    assert min(far(c, QColor(LIGHT.accent)) for c in near) < 90
    assert layout.values_at(0.25) == [(0, 2.0, False), (1, pytest.approx(1.9), False), (2, pytest.approx(1.7), False)]
    assert layout.values_at(0.5) == [(0, 2.0, True), (1, pytest.approx(1.8), True), (2, pytest.approx(1.4), True)]
    assert layout.values_at(0.9) == []


def test_that_dragging_the_cursor_tells_noise_in_steps_and_clicks_nothing(
    plot: ErrorPlot, heard: dict[str, list[Any]]
) -> None:
    plot.set_cursor(0.5)
    layout = plot.layout_of()
    start = at(plot, "0.5/2")
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    for noise in (0.52, 0.6, 0.701):
        QTest.mouseMove(plot, QPoint(round(layout.x.at(noise)), start.y()))
    QTest.mouseMove(plot, QPoint(plot.width() + 50, start.y()))
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=start)
    assert heard["moved"][-2:] == [pytest.approx(0.7), 1.0]
    assert all(abs(100 * v - round(100 * v)) < 1e-9 for v in heard["moved"])
    assert heard["clicked"] == []


def test_that_a_press_on_the_empty_plot_fetches_the_cursor_only_where_there_is_one(
    plot: ErrorPlot, heard: dict[str, list[Any]]
) -> None:
    layout = plot.layout_of()
    empty = QPoint(round(layout.x.at(0.3)), round(layout.box.bottom()) - 10)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=empty)
    assert heard["moved"] == []
    plot.set_cursor(0.5)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=empty)
    assert heard["moved"] == [0.3]


def test_that_setting_the_cursor_emits_nothing(plot: ErrorPlot, heard: dict[str, list[Any]]) -> None:
    plot.set_cursor(0.4)
    plot.set_cursor(None)
    assert heard["moved"] == []


def test_that_hover_tells_the_point_and_shows_it_and_click_emits_it(
    plot: ErrorPlot, heard: dict[str, list[Any]]
) -> None:
    before = plot.grab().toImage()
    QTest.mouseMove(plot, at(plot, "0.5/2") + QPoint(3, 2))
    assert plot.accessibleDescription().startswith("1.40 % (1.30–1.50); noise 0.50 · depth 2; n = 50")
    assert plot.grab().toImage() != before
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=at(plot, "0.5/2"))
    assert [p.key for p in heard["clicked"]] == ["0.5/2"]
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert [p and p.key for p in heard["hovered"]] == ["0.5/2", None]
    assert plot.accessibleDescription() == "9 points; best 1.40\u202f% at noise 0.50, depth 2"


def test_that_the_tooltip_says_what_is_known_and_how_sure_it_is() -> None:
    point = ErrorPoint(0.3, 2, rate(1.414, 1.31, 1.52), "k", "refining", "σ 2.1, 3.4", "widths by span")
    assert lines_of(point) == [
        "1.41 % (1.31–1.52)",
        "noise 0.30 · depth 2",
        "first estimate, so far n = 50\u202f000",
        "widths by span",
        "σ 2.1, 3.4",
    ]
    unknown = ErrorPoint(0.3, 2, None, "k", "running")
    assert lines_of(unknown) == ["noise 0.30 · depth 2", "being computed"]


def test_that_keys_go_along_and_across_the_lines_and_enter_clicks(plot: ErrorPlot, heard: dict[str, list[Any]]) -> None:
    plot.set_cursor(0.5)
    keys = Qt.Key
    for key, wanted in (
        (keys.Key_Right, "0.5/2"),
        (keys.Key_Right, "0.8/2"),
        (keys.Key_Right, "0.8/2"),
        (keys.Key_Up, "0.8/1"),
        (keys.Key_Up, "0.8/0"),
        (keys.Key_Home, "0.0/0"),
        (keys.Key_Left, "0.0/0"),
        (keys.Key_End, "0.8/0"),
        (keys.Key_Down, "0.8/1"),
    ):
        QTest.keyClick(plot, key)
        current = plot.current()
        assert current is not None
        assert current.key == wanted
    QTest.keyClick(plot, keys.Key_Return)
    assert [p.key for p in heard["clicked"]] == ["0.8/1"]
    QTest.keyClick(plot, keys.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert heard["moved"] == [0.51]
    QTest.keyClick(plot, keys.Key_Escape)
    assert plot.current() is None


def test_that_a_point_refined_under_the_mouse_is_clicked_as_it_is_now(
    plot: ErrorPlot, heard: dict[str, list[Any]]
) -> None:
    place = at(plot, "0.5/2")
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=place)
    plot.set_points([replace(p, note="new") for p in points()])
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=place)
    assert heard["clicked"][0].note == "new"
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=place)
    plot.set_points(points()[:3])
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=place)
    assert len(heard["clicked"]) == 1


def test_that_only_points_being_computed_pulse_and_the_timer_stops_with_them(plot: ErrorPlot) -> None:
    assert not plot.is_pulsing()
    plot.set_points([*points()[:-1], replace(points()[-1], state="running")])
    assert plot.is_pulsing()
    plot.hide()
    wait(lambda: not plot.is_pulsing())
    plot.show()
    wait(plot.is_pulsing)
    seen: set[int] = set()
    wait(lambda: seen.add(colour(plot, at(plot, "0.8/2") + QPoint(5, 0)).rgb()) or len(seen) >= 2)
    plot.set_points(points())
    assert not plot.is_pulsing()


@pytest.fixture
def still(app: QApplication) -> Iterator[None]:
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


def test_that_nothing_pulses_where_less_motion_is_asked_for(plot: ErrorPlot, still: None) -> None:
    plot.set_points(points(state="running"))
    assert not plot.is_pulsing()


def test_that_points_waiting_for_an_estimate_stand_above_the_axis_one_over_the_other(plot: ErrorPlot) -> None:
    waiting = [ErrorPoint(0.9, d, None, f"0.9/{d}", "running") for d in (1, 2)]
    plot.set_points([*points(), *waiting])
    low, high = at(plot, "0.9/1"), at(plot, "0.9/2")
    assert low.x() == high.x() == round(plot.layout_of().x.at(0.9))
    assert plot.layout_of().box.bottom() - 30 < high.y() < low.y() < plot.layout_of().box.bottom()
    plot.set_points(points())


def test_that_published_values_are_hollow_with_one_entry(plot: ErrorPlot) -> None:
    plain = plot.grab().toImage()
    mark = ErrorMark(0.65, 2.3, "SLIDE-SVM")
    plot.set_marks([mark, ErrorMark(0.3, 1.2, "other")], "paper")
    shot = plot.grab().toImage()
    place = plot.layout_of().mark_position(mark).toPoint()
    assert shot.pixelColor(place) == plain.pixelColor(place)
    edge = [shot.pixelColor(place + QPoint(-5 + d, 0)) for d in (-1, 0, 1, 2)]
    assert min(far(c, QColor(LIGHT.text)) for c in edge) < 110
    assert differs(plain, shot, 0, 24)
    QTest.mouseMove(plot, place)
    assert plot.current() is None
    assert differs(shot, plot.grab().toImage(), 0, plot.height())


def differs(a: QImage, b: QImage, top: int, bottom: int) -> bool:
    return a.copy(0, top, a.width(), bottom - top) != b.copy(0, top, b.width(), bottom - top)


def test_that_the_chosen_model_is_ringed_in_the_accent(plot: ErrorPlot) -> None:
    place = at(plot, "0.5/1") + QPoint(7, 0)
    plot.set_selected("0.5/1")
    near = [colour(plot, place + QPoint(d, 0)) for d in (-1, 0)]
    assert min(far(c, QColor(LIGHT.accent)) for c in near) < 60


def test_that_the_empty_plot_says_what_to_do_and_takes_no_click(shown: Shown) -> None:
    plot: ErrorPlot = shown(ErrorPlot(), 400, 300)
    plot.set_placeholder("Start a sweep.")
    clicked: list[Any] = []
    plot.point_clicked.connect(clicked.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Return):
        QTest.keyClick(plot, key)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(200, 150))
    assert clicked == []
    assert plot.accessibleDescription() == "Start a sweep."
    shot = plot.grab().toImage()
    assert any(shot.pixelColor(x, 150) != QColor(LIGHT.background) for x in range(120, 280))


def test_that_the_dark_theme_has_its_own_page_and_line(app: QApplication, plot: ErrorPlot) -> None:
    try:
        apply_theme(app, "dark")
        shot = plot.grab().toImage()
        assert shot.pixelColor(plot.width() - 8, plot.height() - 8) == QColor(DARK.background)
        assert far(shot.pixelColor(at(plot, "0.5/2")), DARK.pin(2)) <= 3
    finally:
        apply_theme(app, "light")


def test_that_lines_and_points_are_painted_once_while_the_cursor_moves(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot: ErrorPlot = shown(ErrorPlot(), 900, 520)
    plot.set_points([p for p in many_points(9) if p.state != "running"])
    stills: list[object] = []
    paint = plot._paint_still
    monkeypatch.setattr(plot, "_paint_still", lambda painter: (stills.append(painter), paint(painter)))
    for step in range(12):
        plot.set_cursor(0.3 + 0.01 * step)
        plot.grab()
    assert len(stills) == 1
    plot.set_points([p for p in many_points(8) if p.state != "running"])
    plot.grab()
    assert len(stills) == 2
