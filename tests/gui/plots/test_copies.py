from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from slide_gui.experiments.inspection.closed_form import Copies, CopiesPoint
from slide_gui.gui.pages.weights.copies import CopiesPlot
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import press, record

WEIGHTS = np.zeros((4, 5))


def copies_of(n):
    """Return n points with errors that fall as 1/√m; the errors of single rows are half as large."""
    points = []
    for m in (2**k for k in range(n)):
        errors = np.array([0.9, 1.0, 1 / 0.9]) / np.sqrt(m)
        points.append(CopiesPoint(m, errors, 0.5 * np.tile(errors[:, None], 4), WEIGHTS.astype(np.float32)))
    return Copies(0.3, 1e-5, 1, WEIGHTS, 50, 50, 3, tuple(points))


@pytest.fixture
def plot(shown):
    made = shown(CopiesPlot(), 600, 280)
    made.set_placeholder("Nothing yet.")
    return made


def test_that_errors_that_fall_as_1_by_root_m_are_on_a_straight_line_that_a_dashed_line_extends(plot):
    plot.set_copies(copies_of(6), 3, "0, 3")
    places = [plot.position(2**k, 2 ** (-k / 2)) for k in range(6)]
    steps = [b - a for a, b in pairwise(places)]
    assert max(step.x() for step in steps) - min(step.x() for step in steps) < 1e-6
    assert max(step.y() for step in steps) - min(step.y() for step in steps) < 1e-6
    assert plot.box().contains(plot.position(1024, 1 / 1024**0.5))
    shot = plot.grab().toImage()
    page, there = shot.pixel(plot.width() - 4, 4), plot.position(512, 512**-0.5).toPoint()
    assert any(shot.pixel(there + QPoint(a, b)) != page for a in range(-6, 7) for b in range(-4, 5))


def test_that_a_new_point_is_painted_and_the_axes_stay(plot):
    plot.set_copies(copies_of(4), 3, "0, 3")
    seen, at = plot.shown(), plot.position(16, 0.125).toPoint()
    before = plot.grab().toImage().pixelColor(at)
    plot.set_copies(copies_of(5), 3, "0, 3")
    after = plot.grab().toImage().pixelColor(at)
    assert before != after == QColor(LIGHT.accent)
    assert plot.shown() == seen


def test_that_a_click_and_keys_select_a_computed_m(plot):
    plot.set_copies(copies_of(6), 3, "0, 3")
    (chosen,) = record(plot.copies_chosen)
    QTest.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(round(plot.position(8, 1.0).x()) + 6, 120))
    plot.set_chosen(chosen[-1])
    press(plot, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)
    assert chosen == [8, 16, 1, 32]
    assert plot.lines_at(8) == ["m = 8", "all rows 0.354 (0.318 to 0.393)", "row 0, 3 0.177 (0.159 to 0.196)"]
    assert "m = 8; all rows 0.354" in plot.accessibleDescription()
