"""Long use of the window: what the kinds of `tests.long_run` other than fuzz and kills do.

At rest of an interleaving, what is shown must be, pixel by pixel, what a second window shows that took the last state
in one step; and no layer may ever be called fresh that is not that of the parameters set. All runs offscreen, or where
DISPLAY says with QT_QPA_PLATFORM=xcb, in folders of its own, without a network and without other programs.
"""

from __future__ import annotations

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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QPoint, QSettings, Qt, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QAction, QDesktopServices
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
from tests.gui.helpers import StubSource, dataset, labelled, wheel

_OF_THE_TOOLS = ("This plugin does not support", 'Mouse event "')  # of the platform, and of events that nobody takes
_REST = 120.0  # seconds within which everything must have come to rest
_STUCK = 100.0  # seconds after which an act is told where it stands
_NEVER = {"quit", "show_log"}


@dataclass
class Account:
    """What was done, and what went wrong.

    Attributes
    ----------
    done : Counter
        How often each kind of thing was done.
    wrong : list of str
        Exceptions, warnings of Qt, stale displays.
    samples : list of dict
        At rest, in the order of time: MiB of memory, threads, top-level windows, objects of Qt.
    """

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    samples: list[dict[str, float]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def note(self, text: str) -> None:
        """Note what went wrong, and tell it at once."""
        self.wrong.append(text)
        print(text, file=sys.stderr, flush=True)

    def sample(self) -> None:
        """Note memory and objects, once all that can go is gone."""
        for _ in range(3):
            gc.collect()
            QApplication.processEvents()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
        self.samples.append(
            {
                "seconds": round(time.monotonic() - self.began, 1),
                "MiB": round(_resident() / (1 << 20), 1),
                "threads": threading.active_count(),
                "windows": len(QApplication.topLevelWidgets()),
                "objects": len(Shiboken.getAllValidWrappers()),
            }
        )

    @property
    def growth(self) -> float:
        """MiB by which memory grew over the second half, as the line through its samples says."""
        half = self.samples[len(self.samples) // 2 :]
        if len(half) < 2:
            return 0.0
        seconds, memory = ([each[name] for each in half] for name in ("seconds", "MiB"))
        return float(np.polyfit(seconds, memory, 1)[0]) * (seconds[-1] - seconds[0])


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _watched(account: Account) -> Iterator[None]:
    """Hear of every exception nobody caught and every warning of Qt; keep out of other programs and the network."""

    def qt(kind: QtMsgType, _context: object, text: str) -> None:
        if kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) and not text.startswith(_OF_THE_TOOLS):
            account.note(f"Qt said: {text}")

    def raised(kind: Any, error: Any, trace: Any) -> None:
        account.note("".join(traceback.format_exception(kind, error, trace)))

    previous = qInstallMessageHandler(qt)
    refused = OSError("there is no network here")
    try:
        with (
            mock.patch.object(sys, "excepthook", raised),
            mock.patch.object(threading, "excepthook", lambda told: raised(*told[:3])),
            mock.patch.object(QDesktopServices, "openUrl", return_value=True),
            mock.patch("urllib.request.OpenerDirector.open", side_effect=refused),
            mock.patch("slide_gui.experiments.sweeps.cluster.MOST_WORKERS", 1),
        ):
            yield
    finally:
        qInstallMessageHandler(previous)


def _opened(folder: Path, account: Account, data: Dataset | None = None) -> MainWindow:
    """Return a shown window with settings, store and sessions in a folder, on some data."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
    window = MainWindow(settings, folder / "runs.sqlite", folder / "session")
    window.faults.reported.connect(lambda *told: account.note("\n".join(map(str, told))))
    window.resize(1280, 720)
    window.show()
    if data is None:
        window.start([])
    else:
        window.workspace.open(StubSource(data))
    _until(lambda: window.workspace.model() is not None)
    return window


def _until(done: Callable[[], object]) -> None:
    end = time.monotonic() + _REST
    while not done():
        QTest.qWait(2)
        if time.monotonic() > end:
            raise TimeoutError("it does not come to rest")


def _rest(window: MainWindow) -> None:
    """Cancel and close everything, and wait until nothing works."""
    for _ in range(4):
        window.stop()
        QTest.qWait(2)
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible():
            dialog.reject()
    _until(lambda: not window.session.busy and not window.queue.busy)


class _Person:
    """Somebody without a plan, in front of a window."""

    def __init__(self, folder: Path, files: list[Path], account: Account, chance: random.Random) -> None:
        self._folder, self._files, self._account, self._chance = folder, files, account, chance
        self.window = _opened(folder, account)
        self._impatience = QTimer()
        self._impatience.timeout.connect(self._leave_what_waits)
        self._impatience.start(150)
        self._entry: QAction | None = None
        self._soon = QTimer()
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._trigger)
        self._acts: list[tuple[Callable[[], None], int]] = [
            (self._click, 30), (self._drag, 15), (self._key, 15), (self._wheel, 8), (self._command, 14),
            (self._type, 4), (self._choose, 5), (self._open, 3), (self._resize, 2), (self._cancel, 4),
        ]  # fmt: skip

    def act(self) -> None:
        """Do one thing, and look at what happens for a moment."""
        if not self.window.isVisible():
            self._open_again()
        faulthandler.dump_traceback_later(_STUCK)
        act = self._chance.choices(*zip(*self._acts, strict=True))[0]
        self._account.done[act.__name__.strip("_")] += 1
        act()
        QTest.qWait(self._chance.choice((0, 0, 1, 5, 20, 60)))

    def rest(self) -> None:
        """Stop everything and turn to the same small data on the same page."""
        if not self.window.isVisible():
            self._open_again()
        _rest(self.window)
        window = self.window
        window.workspace.open(StubSource(labelled()), State())
        window.actions_by_name["page_weights"].trigger()
        _until(lambda: window.workspace.model() is not None and not window.session.busy)

    def end(self) -> None:
        """Close the window."""
        faulthandler.cancel_dump_traceback_later()
        self._impatience.stop()
        self._soon.stop()
        tear_down(self.window)

    def _open_again(self) -> None:
        """It was closed: begin again where it was left."""
        self._account.done["closed and opened again"] += 1
        tear_down(self.window)
        self.window = _opened(self._folder, self._account)

    def _leave_what_waits(self) -> None:
        """Leave a menu or a box that waits for an answer, one way or the other."""
        for waits in (QApplication.activePopupWidget(), QApplication.activeModalWidget()):
            if waits is None:
                continue
            if isinstance(waits, QMenu) and waits.actions() and self._chance.random() < 0.5:
                action = self._chance.choice(waits.actions())
                if action.isEnabled() and not action.menu() and action is not self.window.actions_by_name["quit"]:
                    self._account.done["entry of a menu"] += 1
                    self._entry = action
                    self._soon.start()  # what it opens waits, and this timer would not be called meanwhile
            if isinstance(waits, QMessageBox) and self._chance.random() < 0.3:
                waits.accept()
            QTest.keyClick(waits, Qt.Key.Key_Escape)

    def _trigger(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None and Shiboken.isValid(entry) and entry.isEnabled():
            entry.trigger()

    def _widget(self, kind: type[QWidget] = QWidget) -> QWidget | None:
        windows = [each for each in QApplication.topLevelWidgets() if each.isVisible() and each.isEnabled()]
        if not windows:
            return None
        window = self._chance.choice(windows)
        there = [each for each in window.findChildren(kind) if each.isVisible() and each.isEnabled() and each.width()]
        return self._chance.choice(there) if there else None

    def _place(self, widget: QWidget) -> QPoint:
        return QPoint(self._chance.randrange(max(widget.width(), 1)), self._chance.randrange(max(widget.height(), 1)))

    def _held(self) -> Qt.KeyboardModifier:
        usual = Qt.KeyboardModifier.NoModifier
        return self._chance.choice(
            (usual,) * 6 + (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier)
        )

    def _click(self) -> None:
        widget = self._widget()
        if widget is None:
            return
        button = self._chance.choice((Qt.MouseButton.LeftButton,) * 5 + (Qt.MouseButton.RightButton,))
        click = QTest.mouseDClick if self._chance.random() < 0.1 else QTest.mouseClick
        click(widget, button, self._held(), self._place(widget))

    def _drag(self) -> None:
        widget = self._widget()
        if widget is None:
            return
        left, held = Qt.MouseButton.LeftButton, self._held()
        QTest.mousePress(widget, left, held, self._place(widget))
        for _ in range(self._chance.randrange(1, 8)):
            if not Shiboken.isValid(widget):
                return
            QTest.mouseMove(widget, self._place(widget))
            QTest.qWait(self._chance.choice((0, 1, 10)))
        if Shiboken.isValid(widget):
            QTest.mouseRelease(widget, left, held, self._place(widget))

    def _wheel(self) -> None:
        widget = self._widget()
        if widget is not None:
            wheel(widget, self._place(widget), self._chance.choice((-360, -120, 120, 360)))

    def _key(self) -> None:
        keys = (
            Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down,
            Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Delete,
            Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_P, Qt.Key.Key_Menu,
        )  # fmt: skip
        target = QApplication.focusWidget() or self.window
        QTest.keyClick(target, self._chance.choice(keys), self._held())

    def _type(self) -> None:
        field_ = self._widget(self._chance.choice((QLineEdit, QAbstractSpinBox)))
        if field_ is not None:
            texts = ("0.5", "1e-3", "-1", "3:4", "nan", "e", "9" * 40, "0.1:0.9:0.2", "x y z", "")
            QTest.keyClicks(field_, self._chance.choice(texts))
            QTest.keyClick(field_, Qt.Key.Key_Return)

    def _choose(self) -> None:
        box = self._widget(QComboBox)
        if isinstance(box, QComboBox) and box.count():
            number = self._chance.randrange(box.count())
            box.setCurrentIndex(number)
            box.activated.emit(number)

    def _command(self) -> None:
        name, action = self._chance.choice(sorted(self.window.actions_by_name.items()))
        if name not in _NEVER and action.isEnabled():
            action.trigger()

    def _open(self) -> None:
        if self._chance.random() < 0.5:
            self.window.open_files([self._chance.choice(self._files)])
        else:
            self.window.open_entry(self._chance.choice(("rectangles", "convex", "rectangles-images", "mnist-basic")))

    def _resize(self) -> None:
        self.window.resize(self._chance.randrange(960, 1921), self._chance.randrange(640, 1081))

    def _cancel(self) -> None:
        self.window.stop()


def _files_in(folder: Path) -> list[Path]:
    """Return small files of every kind, some broken."""
    folder.mkdir(parents=True)
    bars, chance = labelled(), np.random.default_rng(0)
    np.savez(
        folder / "bars.npz", x_train=bars.train, y_train=bars.train_labels, x_test=bars.test, y_test=bars.test_labels
    )
    features = np.column_stack([chance.normal(size=(60, 5)), chance.integers(0, 3, 60)])
    np.savetxt(folder / "features.csv", features, delimiter=",", header="a,b,c,d,e,class", comments="")
    np.savetxt(folder / "images.amat", np.column_stack([chance.random((40, 16)), chance.integers(0, 2, 40)]))
    (folder / "broken.npz").write_bytes((folder / "bars.npz").read_bytes()[:900])
    (folder / "broken.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8")
    (folder / "one.csv").write_text("1,2,0\n", encoding="utf-8")
    return sorted(folder.iterdir())


def user(account: Account, folder: Path, chance: random.Random, minutes: float) -> None:
    """Let somebody use the window; sample at rest every 30th part of the time, at least twice a minute at first."""
    person = _Person(folder, _files_in(folder / "data"), account, chance)
    end, every = time.monotonic() + 60 * minutes, max(60 * minutes / 30, 2.0)
    following = time.monotonic() + every
    while time.monotonic() < end:
        person.act()
        if time.monotonic() > following:
            person.rest()
            account.sample()
            following += every
    person.rest()
    account.sample()
    person.end()


def cycles(account: Account, folder: Path, chance: random.Random, times: int) -> None:
    """Begin and cancel; in the end the window fits as if nothing had been."""
    window = _opened(folder, account, labelled(n=400))
    runs, page = window.session.runs, window.weights_page

    def train() -> None:
        window.actions_by_name["train"].trigger()

    begin: dict[str, Callable[[], None]] = {
        "fit": lambda: window.workspace.set_parameters(
            noise=chance.choice((0.1, 0.2, 0.4, 0.6)) + chance.random() / 10
        ),
        "training": train,
        "sweep": runs.start_sweep,
        "trial": runs.start_trial,
        "copies": lambda: page.copies_part().toggle(),
        "data": lambda: window.workspace.open(StubSource(labelled(chance.randrange(5), 400))),
    }
    for number in range(times):
        name = chance.choice(sorted(begin))
        begin[name]()
        QTest.qWait(chance.choice((0, 0, 1, 2, 5, 15)))
        window.stop()
        account.done[name] += 1
        if number % max(times // 30, 1) == 0:
            _rest(window)
            account.sample()
    _rest(window)
    window.workspace.set_parameters(noise=0.35)
    window.workspace.fitting.fit()
    _until(lambda: window.workspace.model() is not None)
    expected = fit_stack(window.workspace.dataset.train, window.workspace.state.parameters)
    _compare(account, window.workspace.model().stack, expected, "after all")
    account.sample()
    tear_down(window)


def openings(account: Account, folder: Path, chance: random.Random, times: int) -> None:
    """Open and close every dialog and page in turn, and the window itself."""
    window = _opened(folder, account, labelled())
    names = ["export", "cluster", "guide", "palette", "shortcuts", "about", "wall", "sweep"]
    names += sorted(name for name in window.actions_by_name if name.startswith(("page_", "view_")))
    for number in range(times):
        chance.shuffle(names)
        for name in names:
            window.actions_by_name[name].trigger()
            QTest.qWait(1)
            for dialog in QApplication.topLevelWidgets():
                if isinstance(dialog, QDialog) and dialog.isVisible():
                    account.done[f"{type(dialog).__name__} closed"] += 1
                    dialog.reject()
            if name == "wall":
                QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Escape)
            account.done[name] += 1
        other = _opened(folder / "other", account, dataset())
        other.close()
        tear_down(other)
        account.done["window"] += 1
        if number % max(times // 30, 1) == 0:
            _rest(window)
            account.sample()
    tear_down(window)


def interleavings(account: Account, folder: Path, chance: random.Random, times: int) -> None:
    """Change things between results, and compare what is shown at rest with a window that took one step."""
    sets = [labelled(seed, 40) for seed in range(3)] + [dataset(seed) for seed in range(2)]
    first, second = _opened(folder / "first", account, sets[0]), _opened(folder / "second", account, sets[0])
    oracle: dict[tuple[str, StackParameters], Stack] = {}

    def expected(data: Dataset, parameters: StackParameters) -> Stack:
        """Fit, while nothing else does: OpenBLAS before 0.3.33 may go wrong with two products at once."""
        key = data.fingerprint, parameters
        if key not in oracle:
            if len(oracle) > 300:
                oracle.clear()
            oracle[key] = fit_stack(data.train, parameters)
        return oracle[key]

    views = [f"view_{view.name}" for view in VIEWS[:3]]
    shown = [views[0]]

    def turn() -> None:
        shown[0] = chance.choice(views)
        first.actions_by_name[shown[0]].trigger()

    changes: dict[str, Callable[[], object]] = {
        "noise": lambda: first.workspace.set_parameters(gesture="noise", noise=chance.randrange(1, 9) / 10),
        "depth": lambda: first.workspace.set_parameters(depth=chance.randrange(5)),
        "ridge": lambda: first.workspace.set_parameters(ridge=10.0 ** -chance.randrange(1, 6)),
        "threshold": lambda: first.workspace.set_parameters(threshold=chance.randrange(3, 8) / 10),
        "pin": lambda: first.workspace.toggle_pin(chance.randrange(first.workspace.dataset.n_features)),
        "undo": lambda: first.workspace.history.undo(),
        "redo": lambda: first.workspace.history.redo(),
        "data": lambda: first.workspace.open(StubSource(chance.choice(sets))),
        "cancel": first.stop,
        "view": turn,
        "again": lambda: first.workspace.fitting.fit(),
    }
    for number in range(times):
        called_fresh = []
        for _ in range(chance.randrange(2, 9)):
            name = chance.choice(sorted(changes))
            changes[name]()
            account.done[f"change of {name}"] += 1
            QTest.qWait(chance.choice((0, 0, 0, 1, 3)))
            workspace = first.workspace
            fresh = [k for k in range(1, workspace.state.parameters.depth + 1) if workspace.fitting.is_fresh(k)]
            if fresh:
                called_fresh.append((workspace.fitting.stack, fresh, workspace.dataset, workspace.state.parameters))
        first.workspace.history.end_gesture()
        if first.workspace.model() is None:
            first.workspace.fitting.fit()
        _until(lambda: first.workspace.model() is not None and not first.session.busy)
        for stack, fresh, data, parameters in called_fresh:
            _compare(account, stack, expected(data, parameters), f"interleaving {number}, under way", fresh)
        there = expected(first.workspace.dataset, first.workspace.state.parameters)
        _compare(account, first.workspace.model().stack, there, f"interleaving {number}, at rest")
        second.workspace.open(StubSource(first.workspace.dataset), first.workspace.state)
        second.actions_by_name[shown[0]].trigger()
        _until(lambda: _same_place(second, first))
        ours, theirs = (_picture(window) for window in (first, second))
        if ours != theirs:
            ours.save(str(Path(tempfile.gettempdir()) / f"stale-{number}-first.png"))
            theirs.save(str(Path(tempfile.gettempdir()) / f"stale-{number}-second.png"))
            account.note(f"interleaving {number}: what is shown differs from a window that took one step")
        account.done["interleavings"] += 1
        if number % max(times // 30, 1) == 0:
            account.sample()
    for window in (first, second):
        tear_down(window)


def _same_place(second: MainWindow, first: MainWindow) -> bool:
    theirs, ours = first.workspace, second.workspace
    arrived = ours.dataset is theirs.dataset and ours.state == theirs.state
    return arrived and ours.model() is not None and not second.session.busy


def _picture(window: MainWindow) -> Any:
    QTest.qWait(30)
    return window.weights_page.grab().toImage()


def _compare(account: Account, stack: Stack, expected: Stack, where: str, layers: list[int] | None = None) -> None:
    """Note layers that are not those of the parameters."""
    for k in layers or range(1, len(expected.layers) + 1):
        if k > len(stack.layers) or not np.allclose(
            stack.layers[k - 1].weights, expected.layers[k - 1].weights, atol=1e-6
        ):
            account.note(f"{where}: layer {k} is not that of {expected.parameters}")
    account.done["layers compared"] += len(layers or expected.layers)


def soak(kind: str, amount: float, seed: int, folder: Path) -> Account:
    """Do one kind of thing in an empty folder, and return the account of it."""
    account, chance = Account(), random.Random(seed)
    prepare_interpreter()
    make_application()
    collector = QTimer()
    collector.timeout.connect(gc.collect)
    collector.start(2000)
    try:
        with _watched(account):
            if kind == "user":
                user(account, folder, chance, amount)
            else:
                work = {"cycles": cycles, "openings": openings, "interleavings": interleavings}[kind]
                work(account, folder, chance, int(amount))
    except Exception:
        account.note(traceback.format_exc())
    finally:
        collector.stop()
        gc.enable()
    return account


def run(
    kind: str,
    amount: float,
    seed: int,
    _counts: dict[str, Any],
    say: Callable[[dict[str, Any], int, str], object],
    _: Path,
) -> int:
    """Use the window for that amount, and return how many things went wrong."""
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {"HOME": name, "XDG_DATA_HOME": name}):
        account = soak(kind, amount, seed, Path(name) / "program")
    counts = {
        "done": dict(sorted(account.done.items())),
        "total": sum(account.done.values()),
        "wrong": account.wrong[:100],
        "growth_second_half_MiB": round(account.growth, 2),
        "samples": account.samples,
    }
    say(
        counts,
        len(account.wrong),
        f"{counts['total']} in all, {len(account.wrong)} wrong, {account.growth:.2f} MiB more",
    )
    return len(account.wrong)
