from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.curves.heat_map import HeatMap
from slide_gui.gui.pages.curves.points import ErrorPoint
from slide_gui.gui.theme import LIGHT
from tests.gui.helpers import rate, record

ERRORS = {(0.0, 0): 2.2, (0.5, 0): 2.2, (0.0, 1): 2.2, (0.5, 1): 1.5, (0.9, 1): 3.0}


def points():
    return [ErrorPoint(x, d, rate(e), f"{x}/{d}", chosen=(x, d) == (0.5, 1)) for (x, d), e in ERRORS.items()]


@pytest.fixture
def view(shown):
    made = shown(HeatMap(), 600, 240)
    made.set_points(points())
    return made


def corner(view, key):
    point = next(p for p in points() if p.key == key)
    return view.cell(*view.place_of(point)).topLeft().toPoint() + QPoint(8, 8)


def test_that_a_cell_has_the_colour_of_its_error_and_more_error_is_darker(view):
    shot = view.grab().toImage()
    lightness = []
    for point in sorted(points(), key=lambda p: p.error):
        found = shot.pixelColor(corner(view, point.key))
        assert found == view.colour(point)
        lightness.append(found.lightness())
    assert lightness == sorted(lightness, reverse=True)


def test_that_the_cell_chosen_on_validation_is_ringed_and_a_lesser_error_is_not(view):
    shot = view.grab().toImage()
    box = view.cell(1, 1)
    assert QColor(LIGHT.text).rgb() in {shot.pixel(int(box.left()) + d, int(box.center().y())) for d in (-1, 0)}
    first = [replace(p, rate=rate(1.0), state="refining") if p.key == "0.0/0" else p for p in points()]
    view.set_points(first)
    assert "best on validation: noise 0.50, depth 1: 1.50\u202f%" in view.accessibleDescription()
    assert view.grab().toImage().pixelColor(corner(view, "0.0/0")) == QColor(LIGHT.background)
    view.set_points([replace(point, chosen=point.key == "0.0/0") for point in points()])
    assert "best on validation: the raw input: 2.20\u202f%" in view.accessibleDescription()


def test_that_mouse_and_keys_select_points_and_skip_holes(view):
    (clicked,) = record(view.point_clicked)
    keys, seen = Qt.Key, []
    for key in (keys.Key_Right, keys.Key_Right, keys.Key_Up, keys.Key_Left, keys.Key_Up):
        QTest.keyClick(view, key)
        seen.append(view.current().key)
    assert seen == ["0.5/1", "0.9/1", "0.9/1", "0.5/1", "0.5/0"]
    QTest.keyClick(view, Qt.Key.Key_Space)
    QTest.mouseMove(view, corner(view, "0.9/1"))
    assert view.accessibleDescription().startswith("3.00 % (2.90–3.10)")
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.cell(0, 2).center().toPoint())
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=corner(view, "0.0/0"))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert view.current() is None
    assert [p.key for p in clicked] == ["0.5/0", "0.0/0"]


def test_that_noise_levels_that_differ_only_by_rounding_share_a_column(view):
    view.set_points([ErrorPoint(x, d, rate(2.0), f"{x}/{d}") for d, x in ((0, 0.3), (1, 0.1 * 3))])
    assert view.cell(0, 0).width() > 400
    assert [view.place_of(ErrorPoint(0.1 * 3, depth, None, "")) for depth in (0, 1)] == [(0, 0), (1, 0)]


@pytest.mark.parametrize(("width", "decimals"), [(340, 1), (900, 2)])
def test_that_all_cells_carry_the_same_decimals(shown, width, decimals):
    view = shown(HeatMap(), width, 240)
    view.set_points([ErrorPoint(i / 10, 1, rate(10.0 + i, 9.0, 21.0), str(i)) for i in range(10)])
    assert view.decimals() == decimals
