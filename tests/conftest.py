"""Set up Qt for the tests: offscreen, with one application, and with a check that no test leaves anything behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from slide_gui.gui.app import tear_down

if TYPE_CHECKING:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QWidget

    Widget = TypeVar("Widget", bound=QWidget)

# Set before Qt is imported. Tests marked `display` start their own processes, with their own platform.
os.environ["QT_QPA_PLATFORM"] = "offscreen"

# These tests need fork, /proc or X11.
collect_ignore = [] if sys.platform == "linux" else ["end_to_end", "test_faults.py", "test_fuzz.py", "test_kills.py"]

# Hypothesis has no time limit per example, because the speed of the machine is not a property of the program.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def own_log(tmp_path_factory):
    """Write the log of the window into a temporary folder instead of the user's, and use no data of the user."""
    folder = tmp_path_factory.mktemp("log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slide_gui.gui.shell.faults.log_folder", lambda: folder)
        patch.delenv("SLIDE_GUI_DATA", raising=False)
        yield


@pytest.fixture(scope="session")
def app():
    """Return the one QApplication, in the light theme."""
    from PySide6.QtWidgets import QApplication

    from slide_gui.gui.shell.faults import guard_overrides
    from slide_gui.gui.theme import apply_theme

    guard_overrides()
    running = QApplication.instance() or QApplication(["slide-gui-tests"])
    assert isinstance(running, QApplication)
    apply_theme(running, "light")
    yield running
    running.closeAllWindows()


@pytest.fixture
def shown(app):
    """Return a function that shows a widget at a size and waits until it is active; close all at the end."""
    from PySide6.QtTest import QTest

    windows: list[QWidget] = []

    def show(widget: Widget, width: int, height: int) -> Widget:
        windows.append(widget)
        widget.resize(width, height)
        widget.show()
        widget.activateWindow()
        assert QTest.qWaitForWindowActive(widget, 60_000)
        return widget

    yield show
    for window in windows:
        tear_down(window)


@pytest.fixture
def flowers(tmp_path):
    """Return a table of 40 rows of two classes that overlap, without a test set."""
    values = 0.6 * np.random.default_rng(0).random((40, 4))
    values[1::2, 0] += 0.4
    rows = [f"{','.join(f'{v:.3f}' for v in row)},{('rose', 'tulip')[k % 2]}" for k, row in enumerate(values)]
    (tmp_path / "flowers.csv").write_text("\n".join(["stem length,leaf width,petal width,height,kind", *rows]) + "\n")
    return tmp_path / "flowers.csv"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude imported modules from later collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED = pytest.StashKey[bool]()


@pytest.fixture(autouse=True)
def qt_leaves_nothing(request):
    """Fail a test that uses Qt if it makes Qt warn, or leaves threads, windows or timers behind."""
    if "app" not in request.fixturenames:
        yield
        return
    from PySide6.QtCore import QtMsgType, qInstallMessageHandler

    request.getfixturevalue("app")
    messages: list[str] = []
    quiet = (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg)
    # The offscreen platform has no window manager; it is the only one with these warnings.
    harmless = [f"This plugin does not support {name}()" for name in ("propagateSizeHints", "raise")]

    def listen(kind: QtMsgType, _context: object, text: str) -> None:
        if kind not in quiet and text not in harmless:
            messages.append(text)

    before = set(threading.enumerate())
    windows, timers = {id(w) for w in _windows()}, {id(t) for t in _running_timers()}
    previous = qInstallMessageHandler(listen)
    # As in the program: a garbage collection in the thread of the job queue would destroy Qt objects in that thread.
    # Fixtures tear down their windows before this one collects, so that the collection destroys no window.
    gc.disable()
    try:
        yield
        # Dask's thread pools end only with the process.
        threads = [t.name for t in threading.enumerate() if t not in before and not t.name.startswith("Dask-")]
        left = [f"thread still runs: {name}" for name in threads]
        left += [f"window still there: {w!r}" for w in _windows() if id(w) not in windows]
        left += [f"timer still runs: {t!r} of {t.parent()!r}" for t in _running_timers() if id(t) not in timers]
        gc.collect(0)  # the youngest generation holds all objects of the test
    finally:
        gc.enable()
        qInstallMessageHandler(previous)
    if request.node.stash.get(FAILED, False):
        return  # the traceback of the failure keeps objects alive
    left += [f"warning of Qt: {message}" for message in messages]
    assert not left, "\n".join(left)


def _windows() -> list[QWidget]:
    from PySide6.QtWidgets import QApplication

    return list(QApplication.topLevelWidgets())


def _running_timers() -> list[QTimer]:
    from PySide6.QtCore import QTimer
    from shiboken6 import Shiboken

    return [one for one in Shiboken.getAllValidWrappers() if isinstance(one, QTimer) and one.isActive()]
