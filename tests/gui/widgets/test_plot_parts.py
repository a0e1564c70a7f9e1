"""Numbers, axes, labels that keep apart, colours and motion, which several plots share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.gui.plots.axes import decimals_of, nice_ticks
from slide_gui.gui.theme import DARK, LIGHT, Theme
from slide_gui.gui.widgets.motion import REDUCED_MOTION, Pulse, Settle, motion_allowed
from slide_gui.gui.widgets.sequential import BLUE, ORANGE, contrast, ink_on, sequential
from tests.gui.helpers import wait

Shown = Callable[..., Any]


@pytest.fixture
def still(app: QApplication) -> Iterator[None]:
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


@given(st.floats(0, 1e4), st.floats(1e-3, 1e4))
def test_that_ticks_enclose_the_limits_evenly_and_are_few(low: float, span: float) -> None:
    ticks = nice_ticks(low, low + span, 6)
    assert ticks[0] <= low + 1e-6 * span
    assert ticks[-1] >= low + span - 1e-6 * span
    assert 2 <= len(ticks) <= 8
    steps = {round((b - a) / (ticks[1] - ticks[0]), 3) for a, b in pairwise(ticks)}
    assert steps == {1.0}
    digits = f"{ticks[1] - ticks[0]:.0e}"[0]
    assert digits in "125"


def test_that_ticks_show_no_digit_too_many() -> None:
    assert decimals_of((0.0, 0.5, 1.0)) == 1
    assert decimals_of((0.0, 0.25, 0.5)) == 2


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("hue", [BLUE, ORANGE])
def test_that_magnitudes_differ_in_lightness_only_one_way_and_ink_on_them_can_be_read(theme: Theme, hue: str) -> None:
    page = QColor(theme.background)
    colours = [sequential(theme, i / 40, hue) for i in range(41)]
    against = [contrast(c, page) for c in colours]
    assert all(b > a for a, b in pairwise(against))
    assert against[0] < 1.5
    assert against[-1] > 7.0
    assert min(contrast(c, ink_on(c)) for c in colours) >= 4.3


def test_that_a_pulse_runs_only_while_wanted_and_seen(shown: Shown) -> None:
    widget: QWidget = shown(QWidget(), 100, 100)
    steps: list[float] = []
    pulse = Pulse(widget, lambda: steps.append(pulse.level))
    assert (pulse.is_running(), pulse.level) == (False, 1.0)
    pulse.set_wanted(True)
    wait(lambda: len(steps) >= 2)
    assert all(0.0 <= level <= 1.0 for level in steps)
    widget.hide()
    wait(lambda: not pulse.is_running())
    widget.show()
    wait(pulse.is_running)
    pulse.set_wanted(False)
    assert not pulse.is_running()


def test_that_numbers_settle_within_150_ms_and_end_exactly(shown: Shown) -> None:
    settle = Settle(shown(QWidget(), 100, 100))
    settle.go((0.0, 1.0))
    assert settle.values == (0.0, 1.0)
    settle.go((0.5, 0.25))
    assert settle.is_running()
    assert settle.values == (0.0, 1.0)
    wait(lambda: not settle.is_running())
    assert settle.values == (0.5, 0.25)


def test_that_nothing_moves_where_less_motion_is_asked_for(shown: Shown, still: None) -> None:
    widget: QWidget = shown(QWidget(), 100, 100)
    assert not motion_allowed(widget)
    pulse, settle = Pulse(widget, lambda: None), Settle(widget)
    pulse.set_wanted(True)
    settle.go((0.0,))
    settle.go((1.0,))
    assert not pulse.is_running()
    assert not settle.is_running()
    assert (pulse.level, settle.values) == (1.0, (1.0,))
