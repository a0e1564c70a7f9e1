import math

import pytest
from PySide6.QtGui import QColor

from slide_gui.gui.pages.classifier.learning import ShareBars
from slide_gui.gui.theme import LIGHT

NAMES, SHARES, WIDTHS = ("h⁰", "h¹", "white"), (0.5, 0.3, 0.2), (3.18, 12.6, math.inf)


@pytest.fixture
def bars(shown):
    made = shown(ShareBars(), 400, 160)
    made.set_shares(NAMES, SHARES, WIDTHS)
    return made


def test_that_bars_are_as_long_as_their_shares_of_one_track_and_paler_if_stale(bars):
    for stale in (False, True):
        bars.set_shares(NAMES, SHARES, WIDTHS, stale)
        shot, full = bars.grab().toImage(), bars.bar(0).width() / 0.5
        for layer, share in enumerate(SHARES):
            box = bars.bar(layer)
            assert box.width() == pytest.approx(share * full)
            middle = int(box.center().y())
            assert (shot.pixelColor(int(box.right()) - 3, middle) == LIGHT.pin(layer)) != stale
            assert shot.pixelColor(int(box.right()) + 3, middle) == QColor(LIGHT.line)


def test_that_widths_have_the_same_decimals_and_an_unused_layer_is_infinite(bars):
    texts = "h⁰: 50.0\u202f%, σ 3.18; h¹: 30.0\u202f%, σ 12.60; white: 20.0\u202f%, σ ∞"
    assert bars.accessibleDescription() == texts
    bars.set_placeholder("Press Train.")
    bars.set_shares((), (), ())
    assert bars.accessibleDescription() == "Press Train."
