"""Measure the response times of the window: start, hover, drag, pages, clicks, and delays of the event loop.

Each benchmark runs in a separate process. A start is timed with its imports, so most imports are in functions.
"""

import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from slide_gui.gui.app import tear_down
from tests.bench.measurement import Figure, in_child, median, percentile, run_python, scaled

_LIMIT = 600.0  # most seconds of any wait
_MOUSE_SECONDS = 0.016  # between two moves of a mouse
_TICK = 0.01  # seconds
_BARE = """
import json, os, sys, time
import numpy
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow

app = QApplication(sys.argv[:1])
window = QMainWindow()
window.setCentralWidget(QLabel("slide-gui", window))
window.resize(1280, 800)
window.show()
app.processEvents()
print(json.dumps(time.time() - float(os.environ["SLIDE_GUI_BENCH_STARTED"])))
"""
_folders: list[tempfile.TemporaryDirectory[str]] = []


def wait(
    app: Any,
    done: Callable[[], bool],
    meanwhile: Callable[[], None] = lambda: None,
    pause: float = 0.001,  # seconds
) -> None:
    """Process events until something is done; check after each event, and after each pause, which costs the worker."""
    from PySide6.QtCore import QEventLoop, Qt, QTimer

    end, flags = time.perf_counter() + _LIMIT, QEventLoop.ProcessEventsFlag.AllEvents
    timer = QTimer(interval=round(1000 * pause), timerType=Qt.TimerType.PreciseTimer)
    if pause:
        timer.start()
        flags |= QEventLoop.ProcessEventsFlag.WaitForMoreEvents
    while not done():
        meanwhile()
        app.processEvents(flags)
        if time.perf_counter() > end:
            raise TimeoutError("the window did not get there")


def open_window(prepare: Callable[[Path], object] = lambda store: None) -> tuple[Any, Any]:
    """Return the application and its window, with temporary settings and a temporary store, which `prepare` fills."""
    from slide_gui.gui.app import collect_in_turn, make_application, prepare_interpreter

    prepare_interpreter()
    from PySide6.QtCore import QSettings

    from slide_gui.gui.shell.main_window import MainWindow

    app = make_application()
    folder = tempfile.TemporaryDirectory()
    _folders.append(folder)  # the window keeps no reference to it
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


def _fitted_window(prepare: Callable[[Path], object] = lambda store: None) -> tuple[Any, Any]:
    app, window = open_window(prepare)
    wait_for_fit(app, window)
    wait(app, lambda: "pyqtgraph" in sys.modules)  # loaded when the window has been at rest for 0.1 s
    return app, window


def paint_times(widget: Any) -> list[float]:
    """Return a list to which the time of every paint event of a widget is appended."""
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


def _image_seconds(app: Any, widget: Any) -> float:
    """Return the median of 120 times, in seconds, of painting the pixels of a widget with one drawImage."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QWidget

    image = QImage(widget.size() * widget.devicePixelRatioF(), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(widget.devicePixelRatioF())
    image.fill(0x808080)

    class Picture(QWidget):
        def paintEvent(self, _event: Any) -> None:
            with QPainter(self) as painter:
                painter.drawImage(0, 0, image)

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
    picture.close()  # on a display, it would receive the mouse events
    app.processEvents()
    return median(times)


def _milliseconds(name: str, times: list[float], floor: float, note: str, most: float) -> Figure:
    """Return the 95th percentile of times, with one drawImage of equally many pixels as the floor."""
    note = f"p95 of {len(times)}, median {1000 * median(times):.3g} ms, against one drawImage; {note}"
    return Figure(name, 1000 * percentile(times, 0.95), "ms", 1000 * floor, note, most=most)


def _environment(compiled: str = "") -> dict[str, str]:
    """Return environment variables of a measured process; it writes compiled modules to the folder, if one is given."""
    variables = {"SLIDE_GUI_BENCH_STARTED": repr(time.time())}
    if compiled:
        variables |= {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        variables["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"
    return variables


def _own_process(benchmark: Callable[[], Iterator[Figure]]) -> Callable[[], Iterator[Figure]]:
    """Return a function that runs a benchmark of this module in a separate process."""

    def run() -> Iterator[Figure]:
        for fields in in_child(figures_of, benchmark.__name__, environment=_environment()):
            yield Figure(**fields)

    return run


def figures_of(name: str) -> list[dict[str, Any]]:
    """Return the figures of a benchmark of this module as dictionaries."""
    return [vars(figure) for figure in globals()[name]()]


def start() -> Iterator[Figure]:
    """Compare warm starts, until the window and its first layer are painted, with a bare Qt window."""
    runs = []
    with tempfile.TemporaryDirectory() as compiled:  # modules are compiled once, as in an installed program
        for _ in range(scaled(6, 2)):
            bare = run_python(_BARE, environment=_environment(compiled))
            runs.append((bare, *in_child(started, environment=_environment(compiled))))
    bare, clickable, first = map(median, zip(*runs[1:], strict=True))
    note = f"median of {len(runs) - 1} warm starts, in turn with a window of only Qt that imports NumPy"
    yield Figure("start", clickable, "s", bare, f"to a window that answers a click; {note}", 2.2)
    yield Figure("start-first-layer", first, "s", bare, f"to its first layer painted; {note}", most=0.6)


def started() -> tuple[float, float]:
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
    return clickable, first


def hover() -> Iterator[Figure]:
    """Measure the time from a mouse move until all tiles are painted."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    from tests.gui.helpers import image_and_tiles

    app, window = _fitted_window()
    image, tiles = image_and_tiles(window)
    floor = _image_seconds(app, tiles)
    paints, times = paint_times(tiles), []
    for step in range(scaled(200, 10) + 20):
        column, row = step * 5 % 26 + 1.5, step * 11 % 26 + 1.5
        place = QPoint(int(column * image.width() / 28), int(row * image.height() / 28))
        before, began = len(paints), time.perf_counter()
        QTest.mouseMove(image, place)
        image.setCursor(Qt.CursorShape.CrossCursor)
        wait(app, lambda seen=before: len(paints) > seen, pause=0.0)
        app.processEvents()
        times.append(time.perf_counter() - began)
    tear_down(window)
    yield _milliseconds("hover", times[20:], floor, "mouse move to all tiles painted", 8.0)


def first_layer_shown(workspace: Any) -> bool:
    """Return True if the first layer is fitted, or previewed with the present parameters."""
    preview = workspace.fitting.preview
    return workspace.fitting.is_fresh(1) or (preview is not None and preview.parameters == workspace.state.parameters)


def drag() -> Iterator[Figure]:
    """Measure from a move of the noise slider to the painted first layer, to all layers, and to the exact fit."""
    app, window, slider, tiles = _noise_slider()
    floor = _image_seconds(app, tiles)
    paints, first, all_layers, exact = paint_times(tiles), [], [], []
    workspace = window.workspace

    def all_layers_shown() -> bool:
        fitting = workspace.fitting
        layers = () if fitting.preview is None else fitting.preview.layers
        return workspace.model() is not None or any(fitting.is_current(layer.parameters) for layer in layers)

    for sweep in range(scaled(20, 2)):
        for step in range(20):
            began = time.perf_counter()
            # The last position differs in each sweep, so that no fit of it is cached.
            slider.setValue(95 - sweep if step == 19 else 5 + 3 * step + sweep % 3)
            wait(app, lambda: first_layer_shown(workspace), pause=0.02)
            app.processEvents()  # paints the tiles
            assert paints[-1] > began
            first.append(time.perf_counter() - began)
        for shown, times in ((all_layers_shown, all_layers), (lambda: workspace.model() is not None, exact)):
            wait(app, shown, pause=0.02)
            app.processEvents()
            times.append(time.perf_counter() - began)
        wait_for_fit(app, window)
    tear_down(window)
    note = "generated Rectangles, noise slider moved to"
    yield _milliseconds("drag-first-layer", first, floor, f"{note} layer 1 painted", 22.0)
    yield _milliseconds("drag-all-layers", all_layers, floor, f"{note} four approximate layers painted", 100.0)
    yield _milliseconds("drag-exact", exact, floor, f"{note} four exact layers painted", 400.0)


def follow() -> Iterator[Figure]:
    """Measure the time between two pictures of all four layers while the noise slider moves, on two data sets."""
    from slide_gui.data.catalogue import find
    from slide_gui.gui.state.workspace import DataSource

    app, window, slider, tiles = _noise_slider()
    workspace = window.workspace
    for key in ("rectangles", "mnist") if find("mnist") and scaled(True, False) else ("rectangles",):
        if key != workspace.dataset.key:
            workspace.open(DataSource(key=key))
            wait(app, lambda: workspace.dataset.key == "mnist")
            wait_for_fit(app, window)
            _wait_for_interpolation(app, window)
        floor, times = _image_seconds(app, tiles), _picture_times(app, window, slider)
        note = f"mean of {len(times)} between two pictures of four layers of {key} while the noise slider moves"
        mean = 1000 * sum(times) / len(times) if times else math.inf
        yield Figure(f"follow-{key}", mean, "ms", 1000 * floor, note, most=250.0)
    tear_down(window)


def _picture_times(app: Any, window: Any, slider: Any) -> list[float]:
    """Move the noise slider for some seconds; return the seconds between two pictures of approximate layers."""
    shown: list[tuple[Any, float]] = [((), time.perf_counter())]
    begun, moved = shown[0][1], 0

    def move() -> None:
        nonlocal moved
        preview, now = window.workspace.fitting.preview, time.perf_counter()
        rows = {} if preview is None else preview.rows
        if rows is not shown[-1][0] and min(map(len, rows.values()), default=0) == 4:
            shown.append((rows, now))
        if now - begun > moved * _MOUSE_SECONDS:
            moved += 1
            slider.setValue(20 + abs(moved % 120 - 60))

    wait(app, lambda: time.perf_counter() > begun + scaled(10.0, 1.0), move)
    wait_for_fit(app, window)
    return [b - a for (_, a), (_, b) in pairwise(shown)]


def _wait_for_interpolation(app: Any, window: Any) -> None:
    explorer = window.workspace.fitting.explorer
    wait(app, lambda: explorer.interpolation is not None and explorer.interpolation.is_complete, pause=0.02)


def _noise_slider() -> tuple[Any, Any, Any, Any]:
    """Return the application, a fitted window at rest, its noise slider and its tiles."""
    from PySide6.QtWidgets import QSlider

    from tests.gui.helpers import image_and_tiles

    app, window = _fitted_window()
    _wait_for_interpolation(app, window)
    return app, window, window.panel.sliders["noise"].findChild(QSlider), image_and_tiles(window)[1]


def train() -> Iterator[Figure]:
    """Measure from a click on Train to the start of the training: the first on the Weights page, others during fits."""
    runs = [in_child(clicked_train, environment=_environment()) for _ in range(scaled(5, 1))]
    for number, name in enumerate(("first", "during-fit")):
        times, floor = [1000 * run[number] for run in runs], 1000 * median([run[2] for run in runs])
        note = f"longest of {len(times)}, median {median(times):.3g} ms, against one drawImage of the window"
        yield Figure(f"train-{name}", max(times), "ms", floor, f"click on Train to its start, {note}", most=200.0)


def clicked_train() -> tuple[float, float, float]:
    """Return the seconds from two clicks on Train to the start of its work, and those of one drawImage."""
    app, window, slider, _ = _noise_slider()
    begun: list[float] = []
    submit = window.queue.submit

    def noting(title: str, work: Callable[[Any], Any], **options: Any) -> int:
        def noted(progress: Any) -> Any:
            begun.append(time.perf_counter())
            return work(progress)

        return submit(title, noted if title == "Training" else work, **options)

    def click() -> float:
        begun.clear()
        clicked = time.perf_counter()
        window.actions_by_name["train"].trigger()
        wait(app, lambda: bool(begun))
        return begun[0] - clicked

    floor, window.queue.submit = _image_seconds(app, window.centralWidget()), noting
    first = click()
    window.session.stop()
    window.actions_by_name["page_weights"].trigger()
    slider.setValue(60)
    wait(app, lambda: window.workspace.fitting.is_fresh(1))  # in the middle of the fit
    during = click()
    tear_down(window)
    return first, during, floor


def full_store() -> Iterator[Figure]:
    """Measure opening the Benchmark page for the first time, with every run of the protocol in the store."""
    runs = [in_child(opened_page, environment=_environment()) for _ in range(scaled(3, 1))]
    painted, filled, floor, read = (1000 * median(times) for times in zip(*runs, strict=True))
    note = f"first opening with all runs of the protocol, median of {len(runs)}"
    yield Figure("store-evaluation", painted, "ms", floor, f"painted, against one drawImage; {note}", most=200.0)
    note = f"all rows, against reading them by sqlite3; {note}"
    yield Figure("store-evaluation-filled", filled, "ms", read, note, most=1000.0)


def opened_page() -> tuple[float, float, float, float]:
    """Open the Benchmark page for the first time; return the seconds to its picture and rows, and two references."""
    import sqlite3
    from contextlib import closing

    from slide_gui.gui.state.evaluation import EvaluationChoice
    from tests.bench.full_store import fill

    app, window = _fitted_window(fill)
    floor = _image_seconds(app, window.centralWidget())
    began = time.perf_counter()
    window.session.evaluation.choose(EvaluationChoice.everything("full"))
    window.actions_by_name["page_evaluation"].trigger()
    app.processEvents()
    painted = time.perf_counter() - began
    wait(app, lambda: window.session.evaluation.known)
    assert all(cell.complete for cell in window.session.evaluation.state().cells), "some cells are empty"
    app.processEvents()
    filled = time.perf_counter() - began
    began = time.perf_counter()
    with closing(sqlite3.connect(Path(_folders[-1].name) / "runs.sqlite")) as connection:
        connection.execute("SELECT * FROM runs").fetchall()
    read = time.perf_counter() - began
    tear_down(window)
    return painted, filled, floor, read


def lateness() -> Iterator[Figure]:
    """Measure the delays of a 10 ms timer during a minute of a sweep, and during training and testing on Convex."""
    for part in (lateness_sweep, lateness_training):
        yield from _own_process(part)()


def lateness_sweep() -> Iterator[Figure]:
    """Measure delays during a sweep on Rectangles while the Error curves page is shown."""
    app, window = _fitted_window()
    window.actions_by_name["page_curves"].trigger()
    runs = window.session.runs
    yield from _lateness(app, window, "ErrorPlot", runs.start_sweep, lambda: not runs.sweep.running, scaled(60, 3))


def lateness_training() -> Iterator[Figure]:
    """Measure delays during training and testing on Convex (8 000 and 50 000 rows) while the Classifier is shown."""
    from slide_gui.core.svm.parameters import SvmParameters
    from slide_gui.experiments.files.source import DataSource

    app, window = _fitted_window()
    if scaled(True, False):
        window.workspace.set_parameters(depth=2)
        window.workspace.open(DataSource(key="convex"))
        wait(app, lambda: window.workspace.dataset.name.lower().startswith("convex"))
        wait_for_fit(app, window)
    window.actions_by_name["page_classifier"].trigger()
    runs = window.session.runs
    spec = runs.spec_of(scaled(SvmParameters(), SvmParameters(widths="median", C=10.0)))
    yield from _lateness(
        app, window, "CriterionPlot", lambda: runs.train(spec), lambda: not runs.training.running, _LIMIT
    )


def _lateness(
    app: Any, window: Any, plot: str, begin: Callable[[], object], done: Callable[[], bool], limit: float
) -> Iterator[Figure]:
    """Measure delays while the mouse moves over a plot, first without any job and then until the work is done."""
    from PySide6.QtCore import QPoint, Qt, QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QWidget

    target = next(widget for widget in window.findChildren(QWidget) if type(widget).__name__ == plot)
    assert target.isVisible()
    wait(app, lambda: not window.queue.busy)
    ticks: list[float] = []
    timer, moved = QTimer(window, interval=round(1000 * _TICK), timerType=Qt.TimerType.PreciseTimer), 0.0
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))

    def move() -> None:
        nonlocal moved
        now = time.perf_counter()
        if now > moved + _MOUSE_SECONDS:
            moved, way = now, int(now * 100)
            QTest.mouseMove(target, QPoint(20 + way % (target.width() - 40), 20 + way // 3 % (target.height() - 40)))

    def latenesses(done: Callable[[], bool], limit: float) -> list[float]:
        ticks[:] = [time.perf_counter()]
        end = ticks[0] + limit
        timer.start()
        wait(app, lambda: done() or time.perf_counter() > end, move)
        return [max(b - a - _TICK, 0.0) for a, b in pairwise(ticks)]

    idle = latenesses(lambda: False, 3.0)
    begin()
    busy = latenesses(done, limit)
    tear_down(window)
    name = {"ErrorPlot": "sweep", "CriterionPlot": "training"}[plot]
    note = f"{len(busy)} ticks with the mouse moving over the plot, against {len(idle)} idle ones"
    for figure, q, most in (("p99", 0.99, 16.0), ("max", 1.0, 100.0)):
        late, floor = (1000 * percentile(each, q) for each in (busy, idle))
        yield Figure(f"lateness-{name}-{figure}", late, "ms", floor, note, most=most)


BENCHMARKS = {
    "start": start,
    "full-store": full_store,
    "hover": _own_process(hover),
    "drag": _own_process(drag),
    "follow": _own_process(follow),
    "train": train,
    "lateness": lateness,
}
