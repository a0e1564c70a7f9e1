"""The processes that `tests.bench.window` measures. Imports stay in the functions, for a start is timed with them."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slide_gui.gui.app import tear_down

_LIMIT = 600.0  # seconds for anything awaited
_MOUSE_SECONDS = 0.016  # between two moves, as from a mouse
_folders: list[tempfile.TemporaryDirectory[str]] = []


def wait(
    app: Any,
    done: Callable[[], bool],
    meanwhile: Callable[[], None] = lambda: None,
    pause: float = 0.001,  # seconds; shorter would take a core from the worker
) -> None:
    end = time.perf_counter() + _LIMIT
    while not done():
        meanwhile()
        app.processEvents()
        time.sleep(pause)
        if time.perf_counter() > end:
            raise TimeoutError("the window did not get there")


def open_window(prepare: Callable[[Path], object] = lambda store: None) -> tuple[Any, Any]:
    """Return the application and its window, with temporary settings and a temporary store that is prepared first."""
    from slide_gui.gui.app import collect_in_turn, make_application, prepare_interpreter

    prepare_interpreter()
    from PySide6.QtCore import QSettings

    from slide_gui.gui.shell.main_window import MainWindow

    app = make_application()
    folder = tempfile.TemporaryDirectory()
    _folders.append(folder)  # the window does not hold it
    store = Path(folder.name) / "runs.sqlite"
    prepare(store)
    settings = QSettings(f"{folder.name}/settings.ini", QSettings.Format.IniFormat)
    window = MainWindow(settings, store, Path(folder.name) / "session")
    window.start([])
    collect_in_turn(window)
    window.resize(1280, 800)
    window.show()
    return app, window


def wait_for_fit(app: Any, window: Any) -> None:
    wait(app, lambda: window.workspace.model() is not None and not window.queue.busy)


def paint_times(widget: Any) -> list[float]:
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


def _image_seconds(app: Any, widget: Any) -> list[float]:
    """Return the seconds of painting as many pixels as a widget has by one drawImage, 120 times."""
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
    paints, times = paint_times(picture), []
    for _ in range(120):
        before, start = len(paints), time.perf_counter()
        picture.update()
        wait(app, lambda seen=before: len(paints) > seen, pause=0.0)
        times.append(time.perf_counter() - start)
    picture.close()  # on a display it would take the mouse
    app.processEvents()
    return times


def start() -> dict[str, Any]:
    """Open the window, and return the seconds since the process began until it and its first layer were painted."""
    from slide_gui.gui.display import binding_problem, display_problem

    begun = float(os.environ["SLIDE_GUI_BENCH_STARTED"])
    assert (binding_problem() or display_problem()) is None
    app, window = open_window()
    paints = paint_times(window.panel)
    wait(app, lambda: bool(paints), pause=0.0)
    clickable = time.time() - begun
    wait(app, lambda: window.workspace.fitting.is_fresh(1))
    app.processEvents()
    first = time.time() - begun
    tear_down(window)
    return {"clickable": clickable, "first": first}


def hover(count: int) -> dict[str, Any]:
    """Move the mouse over the image."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    app, window = open_window()
    wait_for_fit(app, window)
    image, tiles = window.weights_page.pointer_and_tiles()
    floors = _image_seconds(app, tiles)
    paints, times = paint_times(tiles), []
    for step in range(count + 20):
        place = QPoint(9 * (step * 5 % 26) + 12, 9 * (step * 11 % 26) + 12)
        before, began = len(paints), time.perf_counter()
        QTest.mouseMove(image, place)
        image.setCursor(Qt.CursorShape.CrossCursor)
        wait(app, lambda seen=before: len(paints) > seen, pause=0.0)
        app.processEvents()
        times.append(time.perf_counter() - began)
    tear_down(window)
    return {"times": times[20:], "floors": floors}


def drag(sweeps: int) -> dict[str, Any]:
    """Drag the noise slider through its range, then let it rest."""
    from PySide6.QtWidgets import QSlider

    app, window = open_window()
    wait_for_fit(app, window)
    slider = window.panel.noise_slider.findChild(QSlider)
    _, tiles = window.weights_page.pointer_and_tiles()
    floors = _image_seconds(app, tiles)
    paints, first, rested = paint_times(tiles), [], []
    workspace = window.workspace

    def first_layer_shown() -> bool:
        preview = workspace.fitting.preview
        shown = preview is not None and preview.parameters == workspace.state.parameters
        return shown or workspace.fitting.is_fresh(1)

    for sweep in range(sweeps):
        for step in range(20):
            began = time.perf_counter()
            # It rests where no fit is kept from before.
            slider.setValue(82 + sweep if step == 19 else 5 + 4 * step + sweep % 4)
            wait(app, first_layer_shown)
            app.processEvents()  # paints the update
            assert paints[-1] > began
            first.append(time.perf_counter() - began)
        wait(app, lambda: workspace.model() is not None)
        app.processEvents()
        rested.append(time.perf_counter() - began)
        wait_for_fit(app, window)
    tear_down(window)
    return {"first": first, "all": rested, "floors": floors}


def pages(rounds: int) -> dict[str, Any]:
    """Switch through all pages again and again."""
    app, window = open_window()
    wait_for_fit(app, window)
    floors = _image_seconds(app, window.centralWidget())
    names = [name for name in window.actions_by_name if name.startswith("page_")]
    times = []
    for turn in range(rounds + 1):
        for name in names:
            began = time.perf_counter()
            window.actions_by_name[name].trigger()
            app.processEvents()
            if turn:
                times.append(time.perf_counter() - began)
            wait(app, lambda: not window.queue.busy)
    tear_down(window)
    return {"times": times, "floors": floors}


def clicks(count: int) -> dict[str, Any]:
    """Submit jobs on the idle queue, and at random moments of a sweep."""
    app, window = open_window()
    wait_for_fit(app, window)
    chance = random.Random(0)

    def seconds_to_start() -> float:
        started: list[float] = []
        began = time.perf_counter()
        window.queue.submit("", lambda _: started.append(time.perf_counter()), channel="bench")
        wait(app, lambda: bool(started))
        return started[0] - began

    idle = [seconds_to_start() for _ in range(count)]
    controller = window.session.runs
    controller.start_sweep()
    busy = []
    for _ in range(count):
        end = time.perf_counter() + chance.uniform(0.3, 2.0)
        wait(app, lambda end=end: time.perf_counter() > end)
        assert controller.sweep.running
        busy.append(seconds_to_start())
    tear_down(window)
    return {"idle": idle, "busy": busy}


def full_store(page: str, n_runs: int) -> dict[str, Any]:
    """Open a page for the first time, with that many runs in the store."""
    import sqlite3
    from contextlib import closing

    from tests.bench.full_store import fill

    app, window = open_window(lambda path: fill(path, n_runs))
    wait_for_fit(app, window)
    floors = _image_seconds(app, window.centralWidget())
    began = time.perf_counter()
    window.actions_by_name[f"page_{page}"].trigger()
    app.processEvents()
    painted = time.perf_counter() - began
    if page == "evaluation":
        wait(app, lambda: window.session.evaluation.known)
        cells = window.session.evaluation.state().cells
        assert all(cell.complete for cell in cells), "some cells are empty"
    else:
        wait(app, lambda: len(window.session.runs.library.runs) == n_runs)
    app.processEvents()
    filled = time.perf_counter() - began
    began = time.perf_counter()
    with closing(sqlite3.connect(Path(_folders[-1].name) / "runs.sqlite")) as connection:
        connection.execute("SELECT * FROM runs").fetchall()
    read = time.perf_counter() - began
    tear_down(window)
    return {"painted": painted, "filled": filled, "floor": sorted(floors)[len(floors) // 2], "read": read}


def lateness_sweep(seconds: float) -> dict[str, Any]:
    """Sweep over Rectangles with the Error curves in view, the mouse moving over them."""
    app, window = open_window()
    wait_for_fit(app, window)
    window.actions_by_name["page_curves"].trigger()
    controller = window.session.runs
    return _watched(app, window, "ErrorPlot", controller.start_sweep, lambda: not controller.sweep.running, seconds)


def lateness_training() -> dict[str, Any]:
    """Learn widths, train and test on Convex, 8 000 and 50 000 rows, with the Classifier in view."""
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.experiments.files.source import DataSource

    app, window = open_window()
    wait_for_fit(app, window)
    small = bool(os.environ.get("SLIDE_GUI_BENCH_SMALL"))
    if not small:
        window.workspace.set_parameters(depth=2)
        window.workspace.open(DataSource(key="convex"))
        wait(app, lambda: window.workspace.dataset.name.lower().startswith("convex"))
        wait_for_fit(app, window)
    window.actions_by_name["page_classifier"].trigger()
    controller = window.session.runs
    svm = SvmParameters(widths="median", C=10.0) if small else SvmParameters()
    return _watched(
        app, window, "CriterionPlot", lambda: controller.train(controller.spec_of(svm)),
        lambda: not controller.training.running, _LIMIT,
    )  # fmt: skip


def _watched(
    app: Any, window: Any, plot: str, begin: Callable[[], object], done: Callable[[], bool], limit: float
) -> dict[str, Any]:
    """Move the mouse over a plot, first while nothing runs and then until the work is done; return the latenesses."""
    from PySide6.QtCore import QPoint
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QWidget

    from tests.bench.lateness import LatenessMonitor

    target = next(widget for widget in window.findChildren(QWidget) if type(widget).__name__ == plot)
    assert target.isVisible()
    wait(app, lambda: not window.queue.busy)
    monitor, moved = LatenessMonitor(window), 0.0

    def move() -> None:
        nonlocal moved
        now = time.perf_counter()
        if now > moved + _MOUSE_SECONDS:
            moved, way = now, int(now * 100)
            QTest.mouseMove(target, QPoint(20 + way % (target.width() - 40), 20 + way // 3 % (target.height() - 40)))

    def samples(done: Callable[[], bool], limit: float) -> list[float]:
        end = time.perf_counter() + limit
        monitor.start()
        wait(app, lambda: done() or time.perf_counter() > end, move)
        return list(monitor.samples)

    idle = samples(lambda: False, 3.0)
    begin()
    busy = samples(done, limit)
    tear_down(window)
    return {"idle": idle, "busy": busy}
