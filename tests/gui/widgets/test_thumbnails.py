from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.classifier.thumbnails import Thumbnail, Thumbnails
from slide_gui.gui.theme import DARK, LIGHT, apply_theme
from tests.gui.helpers import calls_in, wheel

Shown = Callable[..., Any]


def items(many: int, shape: tuple[int, ...] = (28, 28)) -> list[Thumbnail]:
    rng = np.random.default_rng(0)
    pixels = (rng.integers(0, 2, (many, *shape)) if len(shape) == 2 else rng.random((many, *shape))).astype(np.float32)
    return [Thumbnail(7 * i + 3, pixels[i], f"{i % 10} → {(i + 1) % 10}", f"sample {7 * i + 3}") for i in range(many)]


@pytest.fixture
def view(shown: Shown) -> Thumbnails:
    made: Thumbnails = shown(Thumbnails(), 420, 300)
    made.set_images(items(5000))
    return made


@pytest.fixture
def clicked(view: Thumbnails) -> list[int]:
    indices: list[int] = []
    view.image_clicked.connect(indices.append)
    return indices


def test_that_pixels_are_whole_and_ink_on_paper(app: QApplication, view: Thumbnails) -> None:
    pixels = items(1)[0].pixels
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        apply_theme(app, name)
        shot, box = view.grab().toImage(), view.place(0)
        assert box.width() == box.height() == 56
        for row, column in ((0, 1), (13, 20), (27, 27)):
            found = shot.pixelColor(int(box.left()) + 2 * column, int(box.top()) + 2 * row)
            wanted = QColor(theme.ink if pixels[row, column] else theme.paper)
            assert abs(found.lightness() - wanted.lightness()) <= 8


def test_that_only_what_is_seen_is_made_and_painted_wherever_it_is_scrolled(view: Thumbnails) -> None:
    view.grab()
    assert view.n_drawn == len(view.seen()) < 60
    for step in range(10):
        view.bar.setValue(4000 * (step + 1))
        made = view.n_drawn
        assert calls_in(view.grab) < 200 * len(view.seen())
        assert view.n_drawn == made + len(view.seen())
    assert view.seen().start > 1000


def test_that_setting_thousands_takes_as_many_calls_as_a_few(view: Thumbnails) -> None:
    few, many = items(50), items(5000)
    assert calls_in(lambda: view.set_images(few)) == calls_in(lambda: view.set_images(many)) < 200
    assert view.bar.value() == 0


def test_that_hover_and_click_tell_the_index(view: Thumbnails, clicked: list[int]) -> None:
    view.bar.setValue(700)
    number = view.seen().start + view.columns() + 1
    place = view.place(number).center().toPoint()
    QTest.mouseMove(view, place)
    assert view.accessibleDescription().endswith(f"sample {7 * number + 3}")
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert view.current == number
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert clicked == [7 * number + 3]
    assert view.current is None


def test_that_keys_move_scroll_and_click(view: Thumbnails, clicked: list[int]) -> None:
    keys, wide = Qt.Key, view.columns()
    wanted = [0, 1, 1 + wide, 4999, 4998, 0]
    presses = (keys.Key_Right, keys.Key_Right, keys.Key_Down, keys.Key_End, keys.Key_Left, keys.Key_Home)
    for key, number in zip(presses, wanted, strict=True):
        QTest.keyClick(view, key)
        assert view.current == number
        current = view.place(view.current or 0)
        assert current.top() >= 0
        assert current.bottom() <= view.height()
    QTest.keyClick(view, keys.Key_PageDown)
    QTest.keyClick(view, keys.Key_Return)
    assert clicked[0] > 7 * wide
    assert clicked[0] % 7 == 3


def test_that_the_wheel_scrolls_and_the_bar_covers_no_image(view: Thumbnails) -> None:
    wheel(view, view.rect().center(), -120)
    assert view.bar.value() > 0
    assert view.place(view.columns() - 1).right() < view.bar.geometry().left()


@pytest.mark.parametrize("shape", [(16, 40), (96, 96), (30,), (400,)])
def test_that_images_of_any_shape_and_plain_features_are_shown(shown: Shown, shape: tuple[int, ...]) -> None:
    view: Thumbnails = shown(Thumbnails(), 300, 200)
    view.set_images(items(20, shape))
    box = view.place(0)
    assert 0 < box.width() <= 64
    assert 0 < box.height() <= 64
    shot = view.grab().toImage()
    inside = {shot.pixel(int(box.left()) + x, int(box.top()) + y) for x in range(0, 24, 2) for y in range(0, 14, 2)}
    assert len(inside) > 1


def test_that_nothing_jumps_sideways_when_images_arrive(shown: Shown) -> None:
    view: Thumbnails = shown(Thumbnails(), 420, 300)
    view.set_images(items(3))
    before = [view.place(i) for i in range(3)]
    view.set_images(items(3000))
    assert [view.place(i) for i in range(3)] == before


def test_that_without_images_it_says_so(view: Thumbnails) -> None:
    view.set_placeholder("No mistakes.")
    view.set_images([])
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(view, key)
    assert view.accessibleDescription() == "No mistakes."
    assert view.bar.maximum() == 0
    view.grab()
