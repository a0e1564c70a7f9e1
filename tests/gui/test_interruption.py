"""SIGINT and SIGTERM in the event loop; tests/end_to_end/test_runs.py sends them to whole programs."""

import os
import signal

import pytest
from PySide6.QtCore import QObject, QSettings
from shiboken6 import Shiboken

from slide_gui.gui import app as app_module
from slide_gui.gui.shell.faults import Interruption
from slide_gui.gui.shell.main_window import MainWindow
from tests.gui.helpers import settle, wait


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request):
    """Return a signal that is handled, although shells ignore SIGINT in background jobs; restore its handler."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


@pytest.fixture
def owner(app):
    owner = QObject()
    yield owner
    Shiboken.delete(owner)


def test_that_the_first_signal_is_reported_a_second_would_end_the_process_and_stop_restores_the_handler(owner, number):
    heard = []
    signal.signal(number, lambda *_: heard.append("before"))
    handler = signal.getsignal(number)
    interruption, came = Interruption(owner), []
    interruption.interrupted.connect(lambda: came.append(interruption.number))
    os.kill(os.getpid(), number)
    wait(lambda: came)
    assert came == [number]
    assert heard == []
    assert signal.getsignal(number) is signal.SIG_DFL
    assert interruption.stop() == number
    assert signal.getsignal(number) is handler
    os.kill(os.getpid(), number)
    assert heard == ["before"]


def test_that_a_signal_ignored_before_stays_ignored(owner, number):
    signal.signal(number, signal.SIG_IGN)
    interruption, came = Interruption(owner), []
    interruption.interrupted.connect(lambda: came.append(1))
    os.kill(os.getpid(), number)
    settle(0.05)
    assert interruption.stop() is None
    assert came == []
    assert signal.getsignal(number) is signal.SIG_IGN


def test_that_a_signal_ends_the_wait_for_a_screenshot(app, number, tmp_path, monkeypatch):
    monkeypatch.setattr(app_module, "make_settings", lambda: QSettings(str(tmp_path / "x"), QSettings.Format.IniFormat))
    monkeypatch.setattr(app_module, "store_path", lambda: tmp_path / "runs.sqlite")
    monkeypatch.setattr(MainWindow, "start", lambda *_: None)
    monkeypatch.setattr(MainWindow, "show", lambda _: os.kill(os.getpid(), number))
    with pytest.raises(KeyboardInterrupt):
        app_module.take_screenshot(tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()
