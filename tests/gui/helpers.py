"""Small data sets for tests of the window, and functions that simulate input or wait for the job queue."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QPushButton, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.files.source import DataSource
from slide_gui.progress import NO_PROGRESS, Progress
from tests.core.slide_data import images

if TYPE_CHECKING:
    from slide_gui.gui.shell.main_window import MainWindow
    from slide_gui.gui.state.workspace import Workspace


looked = threading.Event()
"""Set whenever `wait` has found that its condition does not hold."""


class StubSource(DataSource):
    """A data source that returns the given data set, or raises the given error."""

    result: Dataset | Exception

    def __init__(self, result: Dataset | Exception) -> None:
        super().__init__(key="rectangles")
        object.__setattr__(self, "result", result)

    def load(self, *, progress: Progress = NO_PROGRESS) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def dataset(seed: int = 0, name: str = "given") -> Dataset:
    """Return 8 × 8 images without labels."""
    rows = images(n=300, seed=seed).astype("float32")
    return Dataset(name, rows[:250], rows[250:], image_shape=(8, 8))


def labelled(seed: int = 0, n: int = 60) -> Dataset:
    """Return 6 × 6 images of two classes, horizontal and vertical bars, with noise."""
    random = np.random.default_rng(seed)
    drawn = (random.random((2 * n, 6, 6)) < 0.1).astype("float32")
    labels = random.integers(0, 2, 2 * n).astype("int64")
    for image, label in zip(drawn, labels, strict=True):
        if label:
            image[:, random.integers(6)] = 1
        else:
            image[random.integers(6)] = 1
    rows, names = drawn.reshape(2 * n, 36), ("across", "down")
    return Dataset("bars", rows[:n], rows[n:], labels[:n], labels[n:], image_shape=(6, 6), label_names=names)


def rate(error: float, low: float | None = None, high: float | None = None, n: int = 50_000) -> ErrorRate:
    """Return an error in per cent with an interval, by default ±0.1."""
    low, high = error - 0.1 if low is None else low, error + 0.1 if high is None else high
    return ErrorRate(error / 100, low / 100, high / 100, n)


def button(widget: QWidget, text: str) -> QPushButton:
    """Return the button of a widget that has this text."""
    return next(each for each in widget.findChildren(QPushButton) if each.text() == text)


def record(*signals: Any) -> list[list[Any]]:
    """Return a list for each signal, to which every emitted value is appended."""
    lists: list[list[Any]] = [[] for _ in signals]
    for signal, values in zip(signals, lists, strict=True):
        signal.connect(values.append)
    return lists


def choose(box: QComboBox, key: object) -> None:
    """Choose an item of a box by its data, as a click does."""
    assert box.findData(key) >= 0
    box.setCurrentIndex(box.findData(key))
    box.activated.emit(box.currentIndex())


def centre(image: Any, cell: int) -> QPoint:
    """Return the centre of a pixel of a drawn image."""
    point: QPoint = image.grid().rect(cell).center().toPoint()
    return point


def draw(part: Any, cell: int) -> None:
    """Click on a pixel of the canvas of the Flow view."""
    QTest.mouseClick(part.view.canvas, Qt.MouseButton.LeftButton, pos=centre(part.view.canvas, cell))


def spread(a: QColor, b: QColor) -> int:
    """Return the largest difference between two colours in any channel."""
    return max(abs(x - y) for x, y in zip(a.getRgb()[:3], b.getRgb()[:3], strict=True))


def press(widget: QWidget, *keys: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press keys one after another."""
    for key in keys:
        QTest.keyClick(widget, key, held)


def wheel(widget: QWidget, at: QPoint, turn: int) -> None:
    """Turn the wheel over a position; one notch is 120."""
    event = QWheelEvent(
        QPointF(at),
        widget.mapToGlobal(QPointF(at)),
        QPoint(),
        QPoint(0, turn),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QCoreApplication.sendEvent(widget, event)


def wait(done: Callable[[], object]) -> None:
    """Process Qt events until a condition holds; it may take long on a busy machine."""
    end = time.monotonic() + 200.0
    while not done():
        looked.set()
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 10)
        time.sleep(0.001)
        assert time.monotonic() < end, "the condition did not become true"


def settle(seconds: float = 0.02) -> None:
    """Process Qt events for the given time, and at least five times."""
    end, rounds = time.monotonic() + seconds, 5
    while time.monotonic() < end or rounds > 0:
        rounds -= 1
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 10)
        time.sleep(0.001)


def all_fitted(workspace: Workspace) -> None:
    """Wait until all layers are fitted and the window has no jobs."""
    wait(lambda: workspace.model() is not None and not workspace.queue.busy)


def at_rest(window: MainWindow) -> None:
    """Wait until all layers are fitted and the queue has no jobs."""
    wait(lambda: window.workspace.model() is not None and not window.queue.busy)


def refit(window: MainWindow, **parameters: Any) -> None:
    """Set parameters of the layers, and wait until all layers are fitted."""
    window.workspace.set_parameters(**parameters)
    at_rest(window)


def open_data(window: MainWindow, data: Dataset) -> None:
    """Open a data set and wait until its layers are fitted."""
    window.workspace.open(StubSource(data))
    wait(lambda: window.workspace.dataset is data)
    at_rest(window)


def open_file(window: MainWindow, path: Path) -> None:
    """Open a file and wait until its layers are fitted."""
    window.open_files([path])
    wait(lambda: window.workspace.dataset is not None and window.workspace.dataset.name == path.stem)
    at_rest(window)


def train(window: MainWindow) -> Any:
    """Train on the open data with the button of the Classifier page, wait for the result, and return the page."""
    page = show_page(window, "classifier")
    page.train_button.click()
    wait(lambda: window.session.runs.result is not None and not window.queue.busy)
    return page


def image_and_tiles(window: MainWindow) -> tuple[Any, Any]:
    """Return the image of the Weights page, or the bars of features that are not pixels, and the tiles next to it."""
    from slide_gui.gui.pages.weights.weights_view import WeightsView

    view, dataset = window.weights_page.findChild(WeightsView), window.workspace.dataset
    is_plain = dataset is not None and dataset.image_shape is None
    return view.bars if is_plain else view.image, view.tiles


def dialogs(window: MainWindow) -> list[QWidget]:
    """Return the visible dialogs and other windows."""
    return [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not window]


def every_view(window: MainWindow) -> Iterator[str]:
    """Show every view of every page in turn, and yield its name."""
    from slide_gui.gui.pages.weights.page import VIEWS
    from slide_gui.gui.pages.weights.why import EXPERIMENTS
    from slide_gui.gui.shell.page_stack import PAGES

    for view in (*VIEWS, *EXPERIMENTS):
        window.actions_by_name[f"view_{view.name}"].trigger()
        settle()
        yield f"weights, {view.name}"
    for page in PAGES[1:]:
        show_page(window, page.name)
        for number, view in enumerate(page.views):
            window.pages.show_view(page.name, number)
            settle()
            yield f"{page.name}, {view.text}"
        if not page.views:
            yield page.name


def show_page(window: MainWindow, name: str) -> Any:
    """Open a page, paint it and return it."""
    window.actions_by_name[f"page_{name}"].trigger()
    settle()
    return window.pages.page(name)


def calls_in(action: Callable[[], object]) -> int:
    """Return the number of functions that Python calls in an action, as a measure of its cost without a clock."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count
