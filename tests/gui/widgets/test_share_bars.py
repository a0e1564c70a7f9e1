from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.classifier.learning import ShareBars
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.motion import REDUCED_MOTION
from tests.gui.helpers import wait

Shown = Callable[..., Any]
SHARES, WIDTHS = (0.5, 0.3, 0.2), (3.18, 12.6, math.inf)


@pytest.fixture
def bars(shown: Shown) -> ShareBars:
    made: ShareBars = shown(ShareBars(), 400, 160)
    made.set_shares(SHARES, WIDTHS)
    return made


@pytest.fixture
def still(app: QApplication) -> Iterator[None]:
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


def test_that_bars_are_as_long_as_their_shares_of_one_track_and_paler_if_stale(bars: ShareBars) -> None:
    for stale in (False, True):
        bars.set_shares(SHARES, WIDTHS, stale)
        shot, full = bars.grab().toImage(), bars.bar(0).width() / 0.5
        for layer, share in enumerate(SHARES):
            box = bars.bar(layer)
            assert box.width() == pytest.approx(share * full)
            middle = int(box.center().y())
            assert (shot.pixelColor(int(box.right()) - 3, middle) == LIGHT.pin(layer)) != stale
            assert shot.pixelColor(int(box.right()) + 3, middle) == QColor(LIGHT.line)


def test_that_bars_move_to_new_values_unless_less_motion_is_requested(bars: ShareBars) -> None:
    before = bars.bar(0).width()
    bars.set_shares((0.1, 0.1, 0.8), (9.0, 9.0, 1.0))
    assert bars.is_moving()
    assert bars.bar(0).width() == before
    wait(lambda: not bars.is_moving())
    assert bars.bar(0).width() == pytest.approx(before / 5)
    bars.set_shares(SHARES[:1], WIDTHS[:1])
    assert not bars.is_moving()


def test_that_bars_jump_if_less_motion_is_requested(bars: ShareBars, still: None) -> None:
    before = bars.bar(0).width()
    bars.set_shares((0.1, 0.1, 0.8), (9.0, 9.0, 1.0))
    assert bars.bar(0).width() == pytest.approx(before / 5)


def test_that_widths_have_the_same_decimals_and_an_unused_layer_is_infinite(bars: ShareBars) -> None:
    texts = "h⁰: 50.0\u202f%, σ₀ 3.18; h¹: 30.0\u202f%, σ₁ 12.60; h²: 20.0\u202f%, σ₂ ∞"
    assert bars.accessibleDescription() == texts
    bars.set_placeholder("Press Train.")
    bars.set_shares((), ())
    assert bars.accessibleDescription() == "Press Train."
