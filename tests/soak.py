"""Long use of the window: the kinds of `tests.long_run` other than fuzz and kills.

After the changes of an interleaving, the window must equal, pixel by pixel, a second window that was set to the last
state in one step. A layer that is reported as fresh must be the layer of the current parameters. Runs are offscreen, or
on DISPLAY with QT_QPA_PLATFORM=xcb. They use temporary folders, no network and no other programs.
"""

import ctypes
import faulthandler
import gc
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QMetaObject, QPoint, QSettings, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QDialog, QLineEdit, QMenu, QMessageBox, QWidget
from shiboken6 import Shiboken

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Stack, fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.gui.app import make_application, prepare_interpreter, tear_down
from slide_gui.gui.pages.weights.page import VIEWS
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.state.workspace import State
from tests.gui.helpers import StubSource, dataset, labelled, wait, wheel
from tests.long_run import LongRun

_HARMLESS = ("This plugin does not support", 'Mouse event "')  # of the platform, and of unaccepted events
_STUCK = 100.0  # seconds of one step after which the stacks of all threads are printed
_N_SAMPLES = 30


class WindowRun(LongRun):
    """A run that uses a window; exceptions and warnings of Qt count as failures.

    The counts hold the number of actions of each kind, failures, and samples of memory and objects while idle.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.done_of = Counter(self.counts.get("done", {}))
        self.failures: list[str] = self.counts.setdefault("failures", [])
        self.samples: list[dict[str, float]] = self.counts.setdefault("samples", [])
        self.random = random.Random(f"{self.seed}/{self.done}")
        self._began, self._next_sample = time.monotonic(), 0.0
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.stack.enter_context(mock.patch.dict(os.environ, {"HOME": folder, "XDG_DATA_HOME": folder}))
        self.home = Path(folder) / "program"
        self._watch()
        prepare_interpreter()
        make_application()
        collector = QTimer()
        collector.timeout.connect(gc.collect)
        collector.start(2000)
        self.stack.callback(collector.stop)
        self.open()

    @property
    def done(self) -> float:
        return self.done_of["steps"]

    @property
    def failed(self) -> int:
        return len(self.failures)

    @abstractmethod
    def open(self) -> None:
        """Open the windows."""

    @abstractmethod
    def use(self) -> None:
        """Do one random action, or one series of them."""

    @abstractmethod
    def rest(self) -> None:
        """Cancel and close everything, so that samples can be compared."""

    def step(self) -> None:
        try:
            self.use()
            self.done_of["steps"] += 1
            if self.done >= self._next_sample:
                self.rest()
                self.sample()
                self._next_sample = self.done + self.amount / _N_SAMPLES
        except Exception:
            self.fail(traceback.format_exc())
            raise
        self.counts["done"] = dict(sorted(self.done_of.items()))

    def finish(self) -> None:
        self.rest()
        self.sample()
        faulthandler.cancel_dump_traceback_later()

    def fail(self, text: str) -> None:
        """Record a failure, and print it at once."""
        self.failures.append(text)
        print(text, file=sys.stderr, flush=True)

    def sample(self) -> None:
        """Record memory and number of objects, and the growth of memory over the second half of the samples."""
        for _ in range(3):
            gc.collect()
            QApplication.processEvents()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/statm", encoding="ascii") as stream:
            resident = int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.samples.append(
            {
                "seconds": round(time.monotonic() - self._began, 1),
                "MiB": round(resident / (1 << 20), 1),
                "threads": threading.active_count(),
                "windows": len(QApplication.topLevelWidgets()),
                "objects": len(Shiboken.getAllValidWrappers()),
            }
        )
        half = self.samples[len(self.samples) // 2 :]
        if len(half) > 1:
            slope = np.polyfit(range(len(half)), [each["MiB"] for each in half], 1)[0]
            self.counts["growth_second_half_MiB"] = round(float(slope) * (len(half) - 1), 2)

    def _watch(self) -> None:
        """Record uncaught exceptions and warnings of Qt; prevent access to other programs and the network."""

        def warned(kind: QtMsgType, _context: object, text: str) -> None:
            if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not text.startswith(_HARMLESS):
                self.fail(f"warning of Qt: {text}")

        def raised(kind: Any, error: Any, trace: Any) -> None:
            self.fail("".join(traceback.format_exception(kind, error, trace)))

        self.stack.callback(qInstallMessageHandler, qInstallMessageHandler(warned))
        for patch in (
            mock.patch.object(sys, "excepthook", raised),
            mock.patch.object(threading, "excepthook", lambda arguments: raised(*arguments[:3])),
            mock.patch.object(QDesktopServices, "openUrl", return_value=True),
            mock.patch("urllib.request.OpenerDirector.open", side_effect=OSError("there is no network here")),
            mock.patch("slide_gui.experiments.sweeps.cluster.MOST_WORKERS", 1),
        ):
            self.stack.enter_context(patch)

    def open_window(self, name: str, data: Dataset | None = None) -> MainWindow:
        """Return a window on `data` or the example, with settings, store and sessions in a folder called `name`."""
        folder = self.home / name
        folder.mkdir(parents=True, exist_ok=True)
        settings = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
        window = MainWindow(settings, folder / "runs.sqlite", folder / "session")
        window.faults.reported.connect(lambda *fault: self.fail("\n".join(map(str, fault))))
        window.resize(1280, 720)
        window.show()
        if data is None:
            window.start([])
        else:
            window.workspace.open(StubSource(data))
        wait(lambda: window.workspace.model() is not None)
        return window

    def compare(self, stack: Stack, expected: Stack, where: str, layers: list[int] | None = None) -> None:
        """Record a failure for each layer that differs from the expected one."""
        for k in layers or range(1, len(expected.layers) + 1):
            if k > len(stack.layers) or not np.allclose(
                stack.layers[k - 1].weights, expected.layers[k - 1].weights, atol=1e-6
            ):
                self.fail(f"{where}: layer {k} is not that of {expected.parameters}")
            self.done_of["layers compared"] += 1


def cancel_all(window: MainWindow) -> None:
    """Cancel and close everything, and wait until no job runs."""
    for _ in range(4):
        window.session.stop()
        QTest.qWait(2)
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible():
            dialog.reject()
    wait(lambda: not window.session.busy and not window.queue.busy)


class User(WindowRun):
    """Random actions of a user."""

    def open(self) -> None:
        from tests.fuzz_targets import DATA

        folder = self.home / "data"
        self._files = []
        for target in DATA:
            for name, make in (("sound", target.whole), ("damaged", lambda at, t=target: t.damage(at, self.random))):
                place = folder / target.name / name
                place.mkdir(parents=True)
                self._files.append(make(place))
        self.window = self.open_window("window")
        self.stack.callback(lambda: tear_down(self.window))
        self._popup_timer = QTimer()
        self._popup_timer.timeout.connect(self._close_popups)
        self._popup_timer.start(150)
        self.stack.callback(self._popup_timer.stop)
        self._actions: list[tuple[Callable[[], None], int]] = [
            (self._click, 30), (self._drag, 15), (self._key, 15), (self._wheel, 8), (self._command, 14),
            (self._type, 4), (self._choose, 5), (self._open, 3), (self._resize, 2), (self._cancel, 4),
        ]  # fmt: skip

    @property
    def done(self) -> float:
        return float(self.counts.get("minutes", 0.0))

    def use(self) -> None:
        began = time.monotonic()
        self._open_again()
        faulthandler.dump_traceback_later(_STUCK)
        action = self.random.choices(*zip(*self._actions, strict=True))[0]
        self.done_of[action.__name__.strip("_")] += 1
        action()
        QTest.qWait(self.random.choice((0, 0, 1, 5, 20, 60)))
        self.counts["minutes"] = self.done + (time.monotonic() - began) / 60

    def rest(self) -> None:
        """Cancel everything, and show the same small data on the same page."""
        self._open_again()
        cancel_all(self.window)
        self.window.workspace.open(StubSource(labelled()), State())
        self.window.actions_by_name["page_weights"].trigger()
        wait(lambda: self.window.workspace.model() is not None and not self.window.session.busy)

    def _open_again(self) -> None:
        if not self.window.isVisible():
            self.done_of["closed and opened again"] += 1
            tear_down(self.window)
            self.window = self.open_window("window")

    def _close_popups(self) -> None:
        """Close an open menu or modal dialog, sometimes after choosing an entry of the menu."""
        for popup in (QApplication.activePopupWidget(), QApplication.activeModalWidget()):
            if popup is None:
                continue
            if isinstance(popup, QMenu) and popup.actions() and self.random.random() < 0.5:
                action = self.random.choice(popup.actions())
                if action.isEnabled() and not action.menu() and action is not self.window.actions_by_name["quit"]:
                    self.done_of["entry of a menu"] += 1
                    # A dialog would block the timer that must close it, so the event loop opens it later.
                    QMetaObject.invokeMethod(action, "trigger", Qt.ConnectionType.QueuedConnection)
            if isinstance(popup, QMessageBox) and self.random.random() < 0.3:
                popup.accept()
            QTest.keyClick(popup, Qt.Key.Key_Escape)

    def _widget(self, kind: type[QWidget] = QWidget) -> QWidget | None:
        windows = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each.isEnabled()]
        if not windows:
            return None
        window = self.random.choice(windows)
        usable = [each for each in window.findChildren(kind) if each.isVisible() and each.isEnabled() and each.width()]
        return self.random.choice(usable) if usable else None

    def _place(self, widget: QWidget) -> QPoint:
        return QPoint(self.random.randrange(max(widget.width(), 1)), self.random.randrange(max(widget.height(), 1)))

    def _held(self) -> Qt.KeyboardModifier:
        none, modifiers = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier
        return self.random.choice((none,) * 6 + (modifiers.ControlModifier, modifiers.ShiftModifier))

    def _click(self) -> None:
        if (widget := self._widget()) is not None:
            button = self.random.choice((Qt.MouseButton.LeftButton,) * 5 + (Qt.MouseButton.RightButton,))
            click = QTest.mouseDClick if self.random.random() < 0.1 else QTest.mouseClick
            click(widget, button, self._held(), self._place(widget))

    def _drag(self) -> None:
        if (widget := self._widget()) is None:
            return
        left, held = Qt.MouseButton.LeftButton, self._held()
        QTest.mousePress(widget, left, held, self._place(widget))
        for _ in range(self.random.randrange(1, 8)):
            if Shiboken.isValid(widget):
                QTest.mouseMove(widget, self._place(widget))
                QTest.qWait(self.random.choice((0, 1, 10)))
        if Shiboken.isValid(widget):
            QTest.mouseRelease(widget, left, held, self._place(widget))

    def _wheel(self) -> None:
        if (widget := self._widget()) is not None:
            wheel(widget, self._place(widget), self.random.choice((-360, -120, 120, 360)))

    def _key(self) -> None:
        keys = (
            Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down,
            Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Delete,
            Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_P, Qt.Key.Key_Menu,
        )  # fmt: skip
        QTest.keyClick(QApplication.focusWidget() or self.window, self.random.choice(keys), self._held())

    def _type(self) -> None:
        if (field := self._widget(self.random.choice((QLineEdit, QAbstractSpinBox)))) is not None:
            texts = ("0.5", "1e-3", "-1", "3:4", "nan", "e", "9" * 40, "0.1:0.9:0.2", "x y z", "")
            QTest.keyClicks(field, self.random.choice(texts))
            QTest.keyClick(field, Qt.Key.Key_Return)

    def _choose(self) -> None:
        box = self._widget(QComboBox)
        if isinstance(box, QComboBox) and box.count():
            number = self.random.randrange(box.count())
            box.setCurrentIndex(number)
            box.activated.emit(number)

    def _command(self) -> None:
        name, action = self.random.choice(sorted(self.window.actions_by_name.items()))
        if name not in {"quit", "show_log"} and action.isEnabled():
            action.trigger()

    def _open(self) -> None:
        if self.random.random() < 0.5:
            self.window.open_files([self.random.choice(self._files)])
        else:
            self.window.open_entry(self.random.choice(("rectangles", "convex", "rectangles-images", "mnist-basic")))

    def _resize(self) -> None:
        self.window.resize(self.random.randrange(960, 1921), self.random.randrange(640, 1081))

    def _cancel(self) -> None:
        self.window.session.stop()


@lru_cache(maxsize=300)
def fitted(data: Dataset, parameters: StackParameters) -> Stack:
    """Fit while no job runs, because OpenBLAS before 0.3.33 may give wrong results for simultaneous products."""
    return fit_stack(data.train, parameters)


class Interleavings(WindowRun):
    """Changes while results arrive; then the window is compared with one that was set to the last state at once."""

    def open(self) -> None:
        self._sets = [labelled(seed, 40) for seed in range(3)] + [dataset(seed) for seed in range(2)]
        self.first, self.second = (self.open_window(name, self._sets[0]) for name in ("first", "second"))
        for window in (self.first, self.second):
            self.stack.callback(tear_down, window)
        self._view = f"view_{VIEWS[0].name}"
        workspace, chance = self.first.workspace, self.random
        self._changes: dict[str, Callable[[], object]] = {
            "noise": lambda: workspace.set_parameters(gesture="noise", noise=chance.randrange(1, 9) / 10),
            "depth": lambda: workspace.set_parameters(depth=chance.randrange(5)),
            "ridge": lambda: workspace.set_parameters(ridge=10.0 ** -chance.randrange(1, 6)),
            "threshold": lambda: workspace.set_parameters(threshold=chance.randrange(3, 8) / 10),
            "pin": lambda: workspace.toggle_pin(chance.randrange(workspace.dataset.n_features)),
            "undo": workspace.history.undo,
            "redo": workspace.history.redo,
            "data": lambda: workspace.open(StubSource(chance.choice(self._sets))),
            "cancel": self.first.session.stop,
            "view": self._change_view,
            "again": workspace.fitting.fit,
        }

    def _change_view(self) -> None:
        self._view = f"view_{self.random.choice(VIEWS[:3]).name}"
        self.first.actions_by_name[self._view].trigger()

    def use(self) -> None:
        workspace, where = self.first.workspace, f"interleaving {self.done:g}"
        called_fresh = []
        for _ in range(self.random.randrange(2, 9)):
            name = self.random.choice(sorted(self._changes))
            self._changes[name]()
            self.done_of[f"change of {name}"] += 1
            QTest.qWait(self.random.choice((0, 0, 0, 1, 3)))
            fresh = [k for k in range(1, workspace.state.parameters.depth + 1) if workspace.fitting.is_fresh(k)]
            if fresh:
                called_fresh.append((workspace.fitting.stack, fresh, workspace.dataset, workspace.state.parameters))
        self.rest()
        for stack, fresh, data, parameters in called_fresh:
            self.compare(stack, fitted(data, parameters), f"{where}, meanwhile", fresh)
        expected = fitted(workspace.dataset, workspace.state.parameters)
        self.compare(workspace.model().stack, expected, f"{where}, at rest")
        self.second.workspace.open(StubSource(workspace.dataset), workspace.state)
        self.second.actions_by_name[self._view].trigger()
        wait(self._second_is_the_same)
        QTest.qWait(30)
        pictures = [window.weights_page.grab().toImage() for window in (self.first, self.second)]
        if pictures[0] != pictures[1]:
            for number, picture in enumerate(pictures, start=1):
                self.folder.mkdir(exist_ok=True)
                picture.save(str(self.folder / f"{self.done:g}-{number}.png"))
            self.fail(f"{where}: the window differs from one that took one step")

    def rest(self) -> None:
        workspace = self.first.workspace
        workspace.history.end_gesture()
        if workspace.model() is None:
            workspace.fitting.fit()
        wait(lambda: workspace.model() is not None and not self.first.session.busy)

    def _second_is_the_same(self) -> bool:
        ours, theirs = self.first.workspace, self.second.workspace
        same = theirs.dataset is ours.dataset and theirs.state == ours.state
        return same and theirs.model() is not None and not self.second.session.busy
