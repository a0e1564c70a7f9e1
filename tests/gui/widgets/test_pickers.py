from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.theme import LIGHT, apply_theme
from slide_gui.gui.widgets.image import FeatureBars, ImageView

Shown = Callable[..., Any]


@pytest.fixture
def image() -> np.ndarray:
    values = np.zeros((6, 9), np.float32)
    values[1, 7] = 1.0
    return values


@pytest.fixture
def view(shown: Shown, image: np.ndarray) -> ImageView:
    made: ImageView = shown(ImageView(), 108, 208)
    made.set_image(image)
    return made


def centre(view: ImageView, index: int) -> QPoint:
    grid = view.grid()
    assert grid is not None
    return grid.rect(index).center().toPoint()


def heard(view: ImageView | FeatureBars) -> tuple[list[object], list[object]]:
    hovered: list[object] = []
    clicked: list[object] = []
    view.pixel_hovered.connect(hovered.append)
    view.pixel_clicked.connect(clicked.append)
    return hovered, clicked


def test_that_pixels_are_square_and_whole_device_pixels_wide(view: ImageView) -> None:
    grid = view.grid()
    assert grid is not None
    assert grid.scale == 11.0
    assert (grid.frame.width(), grid.frame.height()) == (99.0, 66.0)


def test_that_one_is_ink_on_paper_in_light_and_white_in_dark(
    app: QApplication, view: ImageView, image: np.ndarray
) -> None:
    found = {}
    try:
        for name in ("light", "dark"):
            apply_theme(app, name)
            shot = view.grab().toImage()
            found[name] = [shot.pixelColor(centre(view, i)).lightness() for i in (16, 40)]
    finally:
        apply_theme(app, "light")
    assert found["light"][0] < 40
    assert found["light"][1] == 255
    assert found["dark"][0] == 255
    assert found["dark"][1] < 40


def test_that_the_mouse_tells_the_pixel_once_and_none_when_it_leaves(view: ImageView) -> None:
    hovered, clicked = heard(view)
    QTest.mouseMove(view, centre(view, 16))
    QTest.mouseMove(view, centre(view, 16) + QPoint(2, 2))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=centre(view, 16))
    QTest.mouseMove(view, centre(view, 53))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert hovered == [16, 53, None]
    assert clicked == [16]


def test_that_keys_move_the_cursor_hold_at_the_edges_and_click(view: ImageView) -> None:
    hovered, clicked = heard(view)
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(view, key)
    QTest.keyClick(view, Qt.Key.Key_End)
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert hovered == [0, 1, 10, 53]
    assert clicked == [10, 53]


def test_that_transposing_changes_the_screen_and_not_the_indices(view: ImageView) -> None:
    hovered, _ = heard(view)
    before = centre(view, 16)
    view.set_transposed(True)
    grid = view.grid()
    assert grid is not None
    assert grid.shown == (9, 6)
    assert centre(view, 16) != before
    assert view.grab().toImage().pixelColor(centre(view, 16)).lightness() < 40
    QTest.mouseMove(view, centre(view, 16))
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert hovered == [16, 17]


def test_that_set_cursor_emits_nothing_and_refuses_what_is_outside(view: ImageView) -> None:
    hovered, _ = heard(view)
    view.set_cursor(12)
    assert view.cursor_index == 12
    view.set_cursor(54)
    assert view.cursor_index is None
    assert hovered == []


def test_that_a_pin_is_a_ring_that_leaves_its_pixel_to_be_seen(view: ImageView) -> None:
    before = view.grab().toImage()
    view.set_pins([(16, QColor("#D55E00")), (99, QColor("#D55E00"))])
    after = view.grab().toImage()
    at = centre(view, 16)
    assert after.pixelColor(at) == before.pixelColor(at)
    around = [after.pixelColor(at + QPoint(dx, 0)) for dx in range(4, 13)]
    assert any(c.red() > 180 and c.blue() < 60 for c in around)


def test_that_an_image_larger_than_its_place_is_still_shown_whole(shown: Shown) -> None:
    view: ImageView = shown(ImageView(), 108, 108)
    view.set_image(np.eye(500, dtype=np.float32))
    grid = view.grid()
    assert grid is not None
    assert grid.frame.width() <= 100.0
    assert grid.at(grid.rect(777).center()) == 777


@pytest.fixture
def bars(shown: Shown) -> FeatureBars:
    made: FeatureBars = shown(FeatureBars(), 208, 120)
    made.set_values(np.array([1.0, -1.0, 0.5, np.nan, 0.0], np.float32))
    return made


def test_that_bars_report_like_an_image(bars: FeatureBars) -> None:
    hovered, clicked = heard(bars)
    QTest.mouseMove(bars, bars.bar(1).center().toPoint())
    QTest.mouseClick(bars, Qt.MouseButton.LeftButton, pos=bars.bar(2).center().toPoint())
    QTest.keyClick(bars, Qt.Key.Key_Right)
    QTest.keyClick(bars, Qt.Key.Key_Return)
    assert hovered == [1, 2, 3]
    assert clicked == [2, 3]


def test_that_bars_stand_on_the_side_of_their_sign(bars: FeatureBars) -> None:
    shot, paper = bars.grab().toImage(), QColor(LIGHT.paper)
    for index, above, below in ((0, True, False), (1, False, True), (3, False, False)):
        box = bars.bar(index)
        high = shot.pixelColor(int(box.center().x()), int(box.y() + 0.3 * box.height()))
        low = shot.pixelColor(int(box.center().x()), int(box.y() + 0.7 * box.height()))
        assert (high != paper, low != paper) == (above, below)
