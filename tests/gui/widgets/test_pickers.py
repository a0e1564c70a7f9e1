import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.image import FeatureBars, ImageView
from tests.gui.helpers import press, record


@pytest.fixture
def view(shown):
    made = shown(ImageView(), 108, 208)
    made.set_image(np.zeros((6, 9), np.float32))
    return made


def centre(view, index):
    grid = view.grid()
    return grid.rect(index).center().toPoint()


def test_that_pixels_are_square_and_an_image_larger_than_its_widget_is_shown_in_full(view):
    for values, scale in ((np.zeros((6, 9), np.float32), 11.0), (np.eye(500, dtype=np.float32), 0.2)):
        view.set_image(values)
        grid = view.grid()
        assert grid.scale == scale
        assert grid.at(grid.rect(23).center()) == 23


def test_that_mouse_and_keys_report_each_pixel_once_and_none_when_the_mouse_leaves(view):
    hovered, clicked = record(view.pixel_hovered, view.pixel_clicked)
    QTest.mouseMove(view, centre(view, 16))
    QTest.mouseMove(view, centre(view, 16) + QPoint(2, 2))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=centre(view, 16))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    keys = Qt.Key
    press(view, keys.Key_Home, keys.Key_Left, keys.Key_Right, keys.Key_Down, keys.Key_Return, keys.Key_End)
    press(view, keys.Key_Space)
    assert hovered == [16, None, 0, 1, 10, 53]
    assert clicked == [16, 10, 53]
    view.set_cursor(12)
    assert view.cursor_index == 12
    view.set_cursor(54)
    assert view.cursor_index is None
    assert len(hovered) == 6  # only the user's moves are reported


def test_that_a_pin_is_a_ring_that_does_not_cover_its_pixel(view):
    before = view.grab().toImage()
    view.set_pins([(16, QColor("#D55E00")), (99, QColor("#D55E00"))])
    after = view.grab().toImage()
    at = centre(view, 16)
    assert after.pixelColor(at) == before.pixelColor(at)
    around = [after.pixelColor(at + QPoint(dx, 0)) for dx in range(4, 13)]
    assert any(c.red() > 180 and c.blue() < 60 for c in around)


@pytest.fixture
def bars(shown):
    made = shown(FeatureBars(), 208, 120)
    made.set_values(np.array([1.0, -1.0, 0.5, np.nan, 0.0], np.float32))
    return made


def test_that_bars_report_like_an_image(bars):
    hovered, clicked = record(bars.pixel_hovered, bars.pixel_clicked)
    QTest.mouseMove(bars, bars.bar(1).center().toPoint())
    QTest.mouseClick(bars, Qt.MouseButton.LeftButton, pos=bars.bar(2).center().toPoint())
    press(bars, Qt.Key.Key_Right, Qt.Key.Key_Return)
    assert hovered == [1, 2, 3]
    assert clicked == [2, 3]


def test_that_positive_bars_point_up_and_negative_bars_point_down(bars):
    shot, paper = bars.grab().toImage(), QColor(LIGHT.paper)
    for index, above, below in ((0, True, False), (1, False, True), (3, False, False)):
        box = bars.bar(index)
        high = shot.pixelColor(int(box.center().x()), int(box.y() + 0.3 * box.height()))
        low = shot.pixelColor(int(box.center().x()), int(box.y() + 0.7 * box.height()))
        assert (high != paper, low != paper) == (above, below)


def test_that_missing_values_are_crossed_out_and_described(view, bars):
    for pointer in (view, bars):
        before = pointer.grab().toImage()
        pointer.set_missing((2, 4))
        assert pointer.grab().toImage() != before
        pointer.set_cursor(2)
        assert "missing in the file, filled" in pointer.accessibleDescription()
        pointer.set_cursor(3)
        assert "filled" not in pointer.accessibleDescription()
