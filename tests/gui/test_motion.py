"""Where less motion is asked for, nothing moves by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractAnimation, QSettings
from PySide6.QtWidgets import QApplication, QProgressBar, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.gui import app as program
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.theme import apply_theme
from slide_gui.gui.widgets.motion import Pulse, Settle, ask_for_less_motion, motion_allowed
from tests.gui.helpers import labelled, settle, show_page, wait


@pytest.fixture
def data() -> Dataset:
    return labelled()


@pytest.fixture(autouse=True)
def as_before(app: QApplication) -> Iterator[None]:
    yield
    ask_for_less_motion(False)
    apply_theme(app, "light")


def moving(window: MainWindow) -> list[str]:
    """Return what moves by itself."""
    running = QAbstractAnimation.State.Running
    moves = [type(x.parent()).__name__ for x in window.findChildren(QAbstractAnimation) if x.state() == running]
    for kind in (Pulse, Settle):
        moves += [type(x.parent()).__name__ for x in window.findChildren(kind) if x.is_running()]
    return moves + ["progress" for x in window.findChildren(QProgressBar) if x.isVisible() and x.maximum() == 0]


def test_that_nothing_moves_while_everything_that_could_is_done(window: MainWindow) -> None:
    window.job_bar.set_job("a job of unknown length", None)
    assert moving(window)
    less = window.actions_by_name["less_motion"]
    less.trigger()
    assert less.isChecked()
    assert not motion_allowed(window)
    seen: list[str] = []
    runs = window.session.runs
    window.job_bar.set_job("a job of unknown length", None)
    seen += moving(window)
    window.actions_by_name["train"].trigger()
    wait(lambda: seen.extend(moving(window)) or (runs.result is not None and not window.queue.busy), 60)
    show_page(window, "curves")
    window.workspace.set_parameters(noise=0.4)  # an estimate pulses
    wait(lambda: seen.extend(moving(window)) or (runs.estimated is not None and not window.queue.busy), 60)
    window.actions_by_name["wall"].trigger()
    window.workspace.set_parameters(noise=0.5)
    wait(lambda: seen.extend(moving(window)) or (window.workspace.model() is not None and not window.queue.busy))
    settle()
    assert not seen + moving(window)
    window.weights_page.wall.hide()


@pytest.mark.parametrize(("said", "kept", "still"), [("1", False, True), ("0", False, False), ("", True, True)])
def test_that_the_environment_or_the_settings_ask_for_less_motion(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, app: QApplication, said: str, kept: bool, still: bool
) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    settings.setValue("less_motion", kept)
    monkeypatch.setattr(program, "make_settings", lambda: settings)
    monkeypatch.setenv("SLIDE_GUI_LESS_MOTION", said)
    assert program.make_application() is app
    assert bool(app.property("reducedMotion")) == still


@pytest.mark.parametrize("less", [False, True])
def test_that_a_pulse_runs_while_wanted_and_visible_and_numbers_settle_unless_less_motion_is_requested(
    shown: Callable[..., Any], less: bool
) -> None:
    widget: QWidget = shown(QWidget(), 100, 100)
    ask_for_less_motion(less)
    steps: list[float] = []
    pulse, numbers = Pulse(widget, lambda: steps.append(pulse.level)), Settle(widget)
    numbers.go((0.0, 1.0))
    assert numbers.values == (0.0, 1.0)
    numbers.go((0.5, 0.25))
    assert numbers.values == ((0.5, 0.25) if less else (0.0, 1.0))
    assert numbers.is_running() is not less
    wait(lambda: not numbers.is_running())
    assert numbers.values == (0.5, 0.25)
    pulse.set_wanted(True)
    assert pulse.is_running() is not less
    if less:
        assert pulse.level == 1.0
        return
    wait(lambda: len(steps) >= 2)
    assert all(0.0 <= level <= 1.0 for level in steps)
    widget.hide()
    wait(lambda: not pulse.is_running())
    widget.show()
    wait(pulse.is_running)
    pulse.set_wanted(False)
    assert not pulse.is_running()
