"""Qt for the tests: offscreen, one application, and nothing left behind."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget

    Widget = TypeVar("Widget", bound=QWidget)

# Before Qt is imported anywhere. Tests marked `display` start their own processes, with their own platform.
os.environ["QT_QPA_PLATFORM"] = "offscreen"


@pytest.fixture(scope="session")
def app() -> Iterator[QApplication]:
    """Return the one QApplication, in the light theme."""
    from PySide6.QtWidgets import QApplication

    from slide_gui.gui.theme import apply_theme

    running = QApplication.instance() or QApplication(["slide-gui-tests"])
    assert isinstance(running, QApplication)
    apply_theme(running, "light")
    yield running
    running.closeAllWindows()


@pytest.fixture
def shown(app: QApplication) -> Iterator[Callable[[Widget, int, int], Widget]]:
    """Return a function that shows a widget at a size and waits until it is active; all are closed at the end."""
    from PySide6.QtTest import QTest

    windows: list[QWidget] = []

    def show(widget: Widget, width: int, height: int) -> Widget:
        windows.append(widget)
        widget.resize(width, height)
        widget.show()
        widget.activateWindow()
        assert QTest.qWaitForWindowActive(widget, 2000)
        return widget

    yield show
    for window in windows:
        window.close()
        window.deleteLater()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


FAILED = pytest.StashKey[bool]()


@pytest.fixture(autouse=True)
def qt_leaves_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that uses Qt if it makes Qt warn, or leaves threads, windows or timers behind."""
    if "app" not in request.fixturenames:
        yield
        return
    from PySide6.QtCore import QtMsgType, qInstallMessageHandler

    request.getfixturevalue("app")
    messages: list[str] = []
    quiet = (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg)
    # The offscreen platform has no window manager to tell; no other platform says this.
    of_the_platform = "This plugin does not support propagateSizeHints()"

    def listen(kind: QtMsgType, _context: object, text: str) -> None:
        if kind not in quiet and text != of_the_platform:
            messages.append(text)

    before = set(threading.enumerate())
    windows = {id(w) for w in _windows()}
    timers = {id(t) for t in _timers()}
    previous = qInstallMessageHandler(listen)
    # As in the window: a collection that happens to start in the compute lane would destroy widgets off the GUI thread.
    gc.disable()
    try:
        yield
        rebuilt = _rebuilt()
        _collect()
    finally:
        gc.enable()
        qInstallMessageHandler(previous)
    if request.node.stash.get(FAILED, False):
        return  # Its traceback keeps what the test had.
    left = [f"Qt said: {m}" for m in messages]
    left += [f"thread still runs: {t.name}" for t in threading.enumerate() if t not in before]
    left += [f"slot connected without @Slot: {name}" for name in rebuilt]
    left += [f"window still there: {w!r}" for w in _windows() if id(w) not in windows]
    left += [f"timer still runs: {t!r} of {t.parent()!r}" for t in _timers() if id(t) not in timers]
    assert not left, "\n".join(left)


def _collect() -> None:
    """Let go of what only posted deletions and cycles still hold.

    In this order: Qt takes a window apart while its Python parts are whole, and only then are these collected.
    """
    from PySide6.QtCore import QCoreApplication, QEvent

    for _ in range(2):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()


def _windows() -> list[object]:
    from PySide6.QtWidgets import QApplication

    return list(QApplication.topLevelWidgets())


def _rebuilt() -> list[str]:
    """Return the classes whose description by Qt was made anew after they were.

    PySide does so where a signal is connected to a method that is no `Slot`. It frees the old description, but Python
    keeps a handle on it; a widget that comes to lie there later takes the program down when it is destroyed.
    """
    from PySide6.QtCore import QObject
    from shiboken6 import Shiboken

    found = set()
    for one in gc.get_objects():
        kind = type(one)
        known = kind.__dict__.get("staticMetaObject") if issubclass(kind, QObject) else None
        if known is None or not kind.__module__.startswith(("slide_gui", "tests")) or not Shiboken.isValid(one):
            continue
        if Shiboken.getCppPointer(known) != Shiboken.getCppPointer(one.metaObject()):
            last = one.metaObject().method(one.metaObject().methodCount() - 1)
            found.add(f"{kind.__qualname__}.{last.methodSignature().data().decode()}")
    return sorted(found)


def _timers() -> list[object]:
    from PySide6.QtCore import QTimer
    from shiboken6 import isValid

    return [o for o in gc.get_objects() if issubclass(type(o), QTimer) and isValid(o) and o.isActive()]


@pytest.fixture(scope="session")
def xvfb_display() -> Iterator[str]:
    """Start a virtual X server, 1280 × 800 × 24, and return its display, e.g. ``":99"``.

    For tests marked `display`, which start the program as a subprocess with
    ``{**os.environ, "DISPLAY": xvfb_display, "QT_QPA_PLATFORM": "xcb"}``.
    """
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("Xvfb is not installed (Debian and Ubuntu: apt-get install xvfb)")
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [server, "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        if not number:
            pytest.skip("Xvfb did not start")
        yield f":{number}"
    finally:
        process.terminate()
        process.wait(timeout=10)
