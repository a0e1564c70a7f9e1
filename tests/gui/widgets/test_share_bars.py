from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.classifier.share_bars import LayerShare, ShareBars
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.motion import REDUCED_MOTION
from tests.gui.helpers import wait

Shown = Callable[..., Any]
SHARES = [LayerShare(0, 0.5, 3.18), LayerShare(1, 0.3, 12.6), LayerShare(2, 0.2, math.inf)]


@pytest.fixture
def bars(shown: Shown) -> ShareBars:
    made: ShareBars = shown(ShareBars(), 400, 160)
    made.set_shares(SHARES)
    return made


@pytest.fixture
def still(app: QApplication) -> Iterator[None]:
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


def test_that_bars_are_as_long_as_their_shares_of_one_track(bars: ShareBars) -> None:
    shot = bars.grab().toImage()
    whole = bars.bar(0).width() / 0.5
    for row, share in enumerate(SHARES):
        box = bars.bar(row)
        assert box.width() == pytest.approx(share.share * whole)
        middle = int(box.center().y())
        assert shot.pixelColor(int(box.right()) - 3, middle) == LIGHT.pin(row)
        assert shot.pixelColor(int(box.right()) + 3, middle) == QColor(LIGHT.line)


def test_that_bars_go_to_new_values_and_end_there(bars: ShareBars) -> None:
    before = bars.bar(0).width()
    bars.set_shares([LayerShare(0, 0.1, 9.0), LayerShare(1, 0.1, 9.0), LayerShare(2, 0.8, 1.0)])
    assert bars.is_moving()
    assert bars.bar(0).width() == before
    wait(lambda: not bars.is_moving())
    assert bars.bar(0).width() == pytest.approx(before / 5)


def test_that_they_jump_where_less_motion_is_asked_for(bars: ShareBars, still: None) -> None:
    before = bars.bar(0).width()
    bars.set_shares([LayerShare(0, 0.1, 9.0), LayerShare(1, 0.1, 9.0), LayerShare(2, 0.8, 1.0)])
    assert not bars.is_moving()
    assert bars.bar(0).width() == pytest.approx(before / 5)


def test_that_another_number_of_layers_is_shown_at_once(bars: ShareBars) -> None:
    QTest.keyClick(bars, Qt.Key.Key_Down)
    QTest.keyClick(bars, Qt.Key.Key_Down)
    QTest.keyClick(bars, Qt.Key.Key_Down)
    bars.set_shares(SHARES[:1])
    assert not bars.is_moving()
    assert bars.accessibleDescription() == "h⁰: 50.0\u202f%, σ₀ 3.18"
    bars.grab()


def test_that_widths_carry_the_same_decimals_and_an_unused_layer_is_infinite(bars: ShareBars) -> None:
    assert bars.accessibleDescription() == (
        "h⁰: 50.0\u202f%, σ₀ 3.18; h¹: 30.0\u202f%, σ₁ 12.60; h²: 20.0\u202f%, σ₂ ∞"
    )


def test_that_hover_and_keys_point_at_a_layer(bars: ShareBars) -> None:
    plain = bars.grab().toImage()
    QTest.mouseMove(bars, bars.line(1).center().toPoint())
    assert bars.accessibleDescription() == "h¹: 30.0\u202f%, σ₁ 12.60"
    assert bars.grab().toImage() != plain
    QTest.keyClick(bars, Qt.Key.Key_Down)
    QTest.keyClick(bars, Qt.Key.Key_Down)
    assert bars.accessibleDescription() == "h²: 20.0\u202f%, σ₂ ∞"
    QTest.keyClick(bars, Qt.Key.Key_Escape)
    assert bars.accessibleDescription().startswith("h⁰")


def test_that_stale_shares_are_greyed_where_they_are(bars: ShareBars) -> None:
    box = bars.bar(0)
    bars.set_shares(SHARES, stale=True)
    assert bars.bar(0) == box
    found = bars.grab().toImage().pixelColor(box.center().toPoint())
    assert found.lightness() > LIGHT.pin(0).lightness() + 20


def test_that_without_shares_it_says_what_to_do(shown: Shown) -> None:
    bars: ShareBars = shown(ShareBars(), 300, 120)
    bars.set_placeholder("Press Train.")
    QTest.keyClick(bars, Qt.Key.Key_Down)
    assert bars.accessibleDescription() == "Press Train."
    bars.grab()
