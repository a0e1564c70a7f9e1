from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from slide_gui.gui.pages.weights.copies_plot import CopiesPlot, CopiesSeries
from tests.gui.helpers import wheel


def series(n: int = 6, name: str = "all rows", scale: float = 1.0) -> CopiesSeries:
    points = tuple(
        (2**k, scale * 2 ** (-k / 2), 0.9 * scale * 2 ** (-k / 2), 1.1 * scale * 2 ** (-k / 2)) for k in range(n)
    )
    return CopiesSeries(name, "#D55E00", points, -0.5, scale)


@pytest.fixture
def plot(shown: Callable[..., Any]) -> CopiesPlot:
    made: CopiesPlot = shown(CopiesPlot(), 600, 280)
    made.set_placeholder("Nothing yet.")
    return made


def test_that_an_empty_plot_says_what_will_come(plot: CopiesPlot) -> None:
    assert plot.copies() == []
    assert plot.accessibleDescription() == "Nothing yet."


def test_that_m_and_error_are_logarithmic_and_the_line_of_the_law_is_straight_through_the_points(
    plot: CopiesPlot,
) -> None:
    plot.set_series((series(),), 1024)
    places = [plot.position(m, mean) for m, mean, _, _ in series().points]
    steps = [b - a for a, b in pairwise(places)]
    assert max(step.x() for step in steps) - min(step.x() for step in steps) < 1e-6
    assert max(step.y() for step in steps) - min(step.y() for step in steps) < 1e-6
    assert plot.box().contains(plot.position(1024, 1 / 1024**0.5))


def test_that_the_dashed_line_leads_on_where_the_points_will_come(plot: CopiesPlot) -> None:
    plot.set_series((series(),), 1024)
    shot = plot.grab().toImage()
    page, there = shot.pixel(plot.width() - 4, 4), plot.position(512, 512**-0.5).toPoint()
    assert any(shot.pixel(there + QPoint(a, b)) != page for a in range(-6, 7) for b in range(-4, 5))


def test_that_the_axes_do_not_move_while_points_come(plot: CopiesPlot) -> None:
    plot.set_series((series(4),), 1024)
    first = plot.shown()
    plot.set_series((series(11),), 1024)
    assert plot.shown()[0] == first[0]
    assert plot.shown()[1][0] == first[1][0]


def test_that_a_new_point_is_painted(plot: CopiesPlot) -> None:
    plot.set_series((series(4),), 1024)
    at = plot.position(16, 0.25).toPoint()
    before = plot.grab().toImage().pixelColor(at)
    plot.set_series((series(5),), 1024)
    after = plot.grab().toImage().pixelColor(at)
    assert before != after
    assert after.name().upper() == "#D55E00"


def test_that_a_click_and_keys_choose_an_m_that_is_there(plot: CopiesPlot) -> None:
    plot.set_series((series(6), series(6, "row 3, 4", 0.5)), 1024)
    heard: list[int] = []
    plot.copies_chosen.connect(heard.append)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(round(plot.position(8, 1.0).x()) + 6, 120))
    plot.set_chosen(heard[-1])
    QTest.keyClick(plot, Qt.Key.Key_Right)
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert heard == [8, 16, 1, 32]
    assert plot.lines_at(8) == ["m = 8", "all rows 0.354 (0.318 to 0.389)", "row 3, 4 0.177 (0.159 to 0.194)"]
    assert "m = 8; all rows 0.354" in plot.accessibleDescription()


def test_that_a_zoomed_plot_chooses_of_what_is_seen_and_follows_the_keys(plot: CopiesPlot) -> None:
    plot.set_series((series(11),), 1024)
    heard: list[int] = []
    plot.copies_chosen.connect(heard.append)
    plot.copies_chosen.connect(plot.set_chosen)
    for _ in range(6):
        wheel(plot, plot.position(4, 0.5).toPoint(), 120)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=plot.position(8, 8**-0.5).toPoint())
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert heard == [8, 1024]
    assert plot.box().contains(plot.position(1024, 1024**-0.5))


def test_that_the_same_points_again_are_not_painted_anew(plot: CopiesPlot, monkeypatch: pytest.MonkeyPatch) -> None:
    plot.set_series((series(),), 1024, True)
    plot.grab()
    stills: list[object] = []
    monkeypatch.setattr(plot, "paint_still", stills.append)
    plot.set_series((series(),), 1024, True)
    plot.grab()
    assert stills == []
    plot.set_series((series(),), 1024, False)
    plot.grab()
    assert len(stills) == 1
