"""The process that `slide_gui.bench.window` measures; run as a module, prints one JSON line."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slide_gui.gui.app import tear_down

_LIMIT = 60.0  # seconds for anything awaited
_TRAINING_LIMIT = 600.0
_SWEEP_SECONDS = 60.0
_MOUSE_SECONDS = 0.016  # between two moves, as from a mouse


_folders: list[tempfile.TemporaryDirectory[str]] = []


def _wait(
    app: Any,
    done: Callable[[], bool],
    limit: float = _LIMIT,
    meanwhile: Callable[[], None] = lambda: None,
    pause: float = 0.001,  # seconds, short beside what is measured; shorter would take a core from the worker
) -> None:
    end = time.perf_counter() + limit
    while not done():
        meanwhile()
        app.processEvents()
        time.sleep(pause)
        if time.perf_counter() > end:
            raise TimeoutError("the window did not get there")


def _open(prepare: Callable[[Path], object] = lambda store: None) -> tuple[Any, Any]:
    """Return the application and its window; the runs go to a store that is prepared before and thrown away after."""
    from slide_gui.gui.app import collect_in_turn, make_application, make_settings, prepare_interpreter

    prepare_interpreter()
    from slide_gui.gui.main_window import MainWindow

    app = make_application()
    folder = tempfile.TemporaryDirectory()
    store = Path(folder.name) / "runs.sqlite"
    prepare(store)
    window = MainWindow(make_settings(), store)
    _folders.append(folder)  # a connection would not keep it
    window.start([])
    collect_in_turn(window)
    window.show()
    return app, window


def _painted(widget: Any) -> list[float]:
    """Return a list that gets the time of every paint event of a widget."""
    from PySide6.QtCore import QEvent, QObject

    times: list[float] = []

    class Watch(QObject):
        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint:
                times.append(time.perf_counter())
            return False

    watch = Watch(widget)
    widget.installEventFilter(watch)
    return times


def _image_seconds(app: Any, widget: Any, count: int) -> list[float]:
    """Return the seconds of painting as many pixels as a widget has by one drawImage, so many times.

    Its window is there meanwhile only: on a display it would take the mouse.
    """
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QWidget

    size = widget.size() * widget.devicePixelRatioF()
    image = QImage(size, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(widget.devicePixelRatioF())
    image.fill(0x808080)

    class Picture(QWidget):
        def paintEvent(self, _event: Any) -> None:
            painter = QPainter(self)
            painter.drawImage(0, 0, image)
            painter.end()

    picture = Picture(widget.window(), Qt.WindowType.Window)
    picture.resize(widget.size())
    picture.show()
    app.processEvents()
    paints, times = _painted(picture), []
    for _ in range(count):
        before, start = len(paints), time.perf_counter()
        picture.update()
        _wait(app, lambda seen=before: len(paints) > seen, pause=0.0)  # type: ignore[misc]
        times.append(time.perf_counter() - start)
    picture.close()
    app.processEvents()
    return times


def _fitted(app: Any, window: Any) -> None:
    _wait(app, lambda: window.workspace.model() is not None and not window.lane.busy)


def _percentile(values: list[float], q: float) -> float:
    return float(sorted(values)[min(len(values) - 1, int(q * len(values)))])


class _InMemory:
    """A source of rows that are there already."""

    key, paths, generated = "digits", (), False

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def load(self, *, progress: Any) -> Any:
        return self._dataset


def _first_layer_shown(workspace: Any) -> bool:
    preview = workspace.preview
    return workspace.layer_is_fresh(1) or (preview is not None and preview.parameters == workspace.state.parameters)


def hover() -> dict[str, Any]:
    """Move the mouse over the image, 200 times."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    app, window = _open()
    _fitted(app, window)
    image, tiles = window.weights_page.pointer_and_tiles()
    images = _image_seconds(app, tiles, 120)
    paints, times = _painted(tiles), []
    for step in range(220):
        place = QPoint(9 * (step * 5 % 26) + 12, 9 * (step * 11 % 26) + 12)
        count, start = len(paints), time.perf_counter()
        QTest.mouseMove(image, place)
        image.setCursor(Qt.CursorShape.CrossCursor)
        _wait(app, lambda seen=count: len(paints) > seen, pause=0.0)  # type: ignore[misc]
        app.processEvents()
        times.append(time.perf_counter() - start)
    images += _image_seconds(app, tiles, 120)
    tear_down(window)
    return {
        "p95": _percentile(times[20:], 0.95),
        "median": _percentile(times[20:], 0.5),
        "image": _percentile(images, 0.5),
        "count": len(times) - 20,
    }


def drag() -> dict[str, Any]:
    """Drag the noise slider through its range, then let it rest, ten times."""
    from PySide6.QtWidgets import QSlider

    app, window = _open()
    _fitted(app, window)
    slider = window.panel.noise_slider.findChild(QSlider)
    _, tiles = window.weights_page.pointer_and_tiles()
    images = _image_seconds(app, tiles, 120)
    paints, times, layers = _painted(tiles), [], []
    workspace = window.workspace
    for sweep in range(10):
        for step in range(20):
            start = time.perf_counter()
            # It rests where no fit is kept from before.
            slider.setValue(82 + sweep if step == 19 else 5 + 4 * step + sweep % 4)
            _wait(app, lambda: _first_layer_shown(workspace))
            app.processEvents()  # the update that was asked for is painted here
            assert paints[-1] > start
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        _wait(app, lambda: workspace.model() is not None)
        app.processEvents()
        layers.append(time.perf_counter() - start)
        _fitted(app, window)
    images += _image_seconds(app, tiles, 120)
    tear_down(window)
    return {
        "p95": _percentile(times, 0.95),
        "median": _percentile(times, 0.5),
        "image": _percentile(images, 0.5),
        "count": len(times),
        "layers": _percentile(layers, 0.95),
    }


def strokes() -> dict[str, Any]:
    """Draw on the image in Flow, one cell after another, and wait each time for the decision that follows."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.gui.widgets.decision_view import DecisionView

    app, window = _open()
    _fitted(app, window)
    runs = window.session.runs
    runs.train(runs.spec_of(SvmParameters(widths="median", C=10.0)))
    _wait(app, lambda: runs.result is not None, _TRAINING_LIMIT)
    flow = window.weights_page.flow_part()
    flow.toggle_corruption()  # a blanked pixel could not be seen
    view, canvas = flow.findChild(DecisionView), flow.view.canvas
    _wait(app, lambda: view.picture is not None)
    paints, whole, times = _painted(view), _painted(flow.view), []
    grid, left = canvas.grid(), Qt.MouseButton.LeftButton
    for cell in (flow.flow().clean == 0).nonzero()[0][::7].tolist():
        before, start = view.picture, time.perf_counter()
        QTest.mouseClick(canvas, left, pos=grid.rect(cell).center().toPoint())
        _wait(app, lambda seen=before: view.picture is not seen, pause=0.0)  # type: ignore[misc]
        app.processEvents()
        assert min(paints[-1], whole[-1]) > start
        times.append(time.perf_counter() - start)
    vectors = len(runs.result.classifier.support)
    tear_down(window)
    return {"p95": _percentile(times, 0.95), "count": len(times), "vectors": vectors}


def start() -> dict[str, Any]:
    """Open the window and say when it, its first layer and all its layers were on screen."""
    from slide_gui.gui.display import binding_problem, display_problem

    begun = float(os.environ["SLIDE_GUI_BENCH_STARTED"])
    assert (binding_problem() or display_problem()) is None
    app, window = _open()
    paints = _painted(window.panel)
    _wait(app, lambda: bool(paints), pause=0.0)
    clickable = time.time() - begun
    _wait(app, lambda: window.workspace.layer_is_fresh(1))
    app.processEvents()
    first = time.time() - begun
    _fitted(app, window)
    fitted = time.time() - begun
    tear_down(window)
    return {"clickable": clickable, "first": first, "fitted": fitted}


def evaluation_page() -> dict[str, Any]:
    """Open the Benchmark page for the first time, with 10 000 runs in the store."""
    from slide_gui.bench.full_store import fill

    app, window = _open(lambda path: fill(path, 10_000))
    _fitted(app, window)
    start = time.perf_counter()
    window.actions_by_name["page_evaluation"].trigger()
    app.processEvents()
    painted = time.perf_counter() - start
    controller = window.session.evaluation
    _wait(app, lambda: controller.known)
    app.processEvents()
    filled = time.perf_counter() - start
    cells = sum(cell.complete for cell in controller.state().cells)
    assert cells == len(controller.state().cells), f"only {cells} cells are filled"
    tear_down(window)
    return {"painted": painted, "filled": filled, "count": cells}


def lateness() -> dict[str, Any]:
    """Fit 60 000 rows five times while the monitor ticks and the mouse moves."""
    from PySide6.QtCore import QPoint
    from PySide6.QtTest import QTest

    from slide_gui.bench.measurement import digits
    from slide_gui.data.dataset import Dataset

    app, window = _open()
    _fitted(app, window)
    rows, data = digits()
    window.workspace.open(_InMemory(Dataset("digits", rows, rows[:0], image_shape=(28, 28))))
    _wait(app, lambda: window.workspace.dataset.name == "digits")
    _fitted(app, window)
    image, _ = window.weights_page.pointer_and_tiles()
    window.lateness.start()
    for number in range(5):
        window.workspace.set_parameters(threshold=0.3 + 0.05 * number)
        end = time.perf_counter() + _LIMIT
        while window.workspace.model() is None and time.perf_counter() < end:
            QTest.mouseMove(image, QPoint(30 + number * 20, 40 + int(time.perf_counter() * 50) % 150))
            app.processEvents()
            time.sleep(0.001)
    samples = list(window.lateness.samples)
    tear_down(window)
    return {"p99": _percentile(samples, 0.99), "max": max(samples), "count": len(samples), "data": data}


def lateness_sweep() -> dict[str, Any]:
    """Sweep over Rectangles for a minute with the Error curves in view, the mouse moving over them."""
    app, window = _open()
    _fitted(app, window)
    window.actions_by_name["page_curves"].trigger()
    controller = window.session.runs
    end = time.perf_counter() + _SWEEP_SECONDS
    controller.start_sweep()
    result = _watched(app, window, "ErrorPlot", lambda: time.perf_counter() > end or not controller.sweep.running)
    result["done"] = 0 if controller.sweep.latest is None else len(controller.sweep.latest.done)
    tear_down(window)
    return result


def lateness_training() -> dict[str, Any]:
    """Learn widths, train and test on Convex, 8 000 and 50 000 rows, with the Classifier in view."""
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.experiments.source import DataSource

    app, window = _open()
    _fitted(app, window)
    window.workspace.set_parameters(depth=2)
    window.workspace.open(DataSource(key="convex"))
    _wait(app, lambda: window.workspace.dataset.name.lower().startswith("convex"), _TRAINING_LIMIT)
    _fitted(app, window)
    window.actions_by_name["page_classifier"].trigger()
    controller = window.session.runs
    controller.train(controller.spec_of(SvmParameters()))
    result = _watched(app, window, "CriterionPlot", lambda: not controller.training.running)
    dataset = window.workspace.dataset
    result["data"] = "generated Convex" if dataset.generated else "Convex"
    result["seconds"] = controller.result.timings.total
    tear_down(window)
    return result


def _watched(app: Any, window: Any, plot: str, done: Callable[[], bool]) -> dict[str, Any]:
    """Move the mouse over a plot until the work is done, and return how late the ticks came."""
    from PySide6.QtCore import QPoint
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QGraphicsView, QWidget

    target = next(widget for widget in window.findChildren(QWidget) if type(widget).__name__ == plot)
    assert target.isVisible()
    paints = _painted(target.findChild(QGraphicsView).viewport())
    window.lateness.start()

    moved = 0.0

    def move() -> None:
        nonlocal moved
        now = time.perf_counter()
        if now < moved + _MOUSE_SECONDS:
            return
        moved, way = now, int(now * 100)
        QTest.mouseMove(target, QPoint(20 + way % (target.width() - 40), 20 + way // 3 % (target.height() - 40)))

    _wait(app, done, _TRAINING_LIMIT, move)
    samples = list(window.lateness.samples)
    window.lateness.stop()
    return {"p99": _percentile(samples, 0.99), "max": max(samples), "count": len(samples), "paints": len(paints)}


def main(name: str) -> None:
    """Measure one thing and print it."""
    measurements = {
        "hover": hover,
        "drag": drag,
        "strokes": strokes,
        "start": start,
        "benchmark-page": evaluation_page,
        "lateness": lateness,
        "lateness-sweep": lateness_sweep,
        "lateness-training": lateness_training,
    }
    result = measurements[name]()
    from PySide6.QtGui import QGuiApplication

    result["platform"] = QGuiApplication.platformName()
    gc.enable()
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
