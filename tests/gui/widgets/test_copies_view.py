from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from slide_gui.gui.widgets.copies_view import CopiesPlot, CopiesSeries


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
    x, y = plot.x_axis(), plot.y_axis()
    steps = [x.at(2 ** (k + 1)) - x.at(2**k) for k in range(9)]
    assert max(steps) - min(steps) < 1e-6
    heights = [y.at(mean) for _, mean, _, _ in series().points]
    assert max(abs((b - a) - (heights[1] - heights[0])) for a, b in pairwise(heights)) < 1e-6
    assert y.low <= 1 / 1024**0.5
    assert x.at(1024) <= plot.box().right()


def test_that_the_axes_do_not_move_while_points_come(plot: CopiesPlot) -> None:
    plot.set_series((series(4),), 1024)
    first = plot.x_axis(), plot.y_axis()
    plot.set_series((series(11),), 1024)
    assert (plot.x_axis(), plot.y_axis().low) == (first[0], first[1].low)


def test_that_a_new_point_is_painted(plot: CopiesPlot) -> None:
    plot.set_series((series(4),), 1024)
    at = QPoint(round(plot.x_axis().at(16)), round(plot.y_axis().at(0.25)))
    before = plot.grab().toImage().pixelColor(at)
    plot.set_series((series(5),), 1024)
    after = plot.grab().toImage().pixelColor(at)
    assert before != after
    assert after.name().upper() == "#D55E00"


def test_that_a_click_and_keys_choose_an_m_that_is_there(plot: CopiesPlot) -> None:
    plot.set_series((series(6), series(6, "row 3, 4", 0.5)), 1024)
    heard: list[int] = []
    plot.copies_chosen.connect(heard.append)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(round(plot.x_axis().at(8)) + 6, 120))
    plot.set_chosen(heard[-1])
    QTest.keyClick(plot, Qt.Key.Key_Right)
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert heard == [8, 16, 1, 32]
    assert plot.lines_at(8) == ["m = 8", "all rows 0.354 (0.318 to 0.389)", "row 3, 4 0.177 (0.159 to 0.194)"]
    assert "m = 8; all rows 0.354" in plot.accessibleDescription()
