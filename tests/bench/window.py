"""What a user feels in the window: start, hover, drag, pages, clicks, and how late the event loop is."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.bench import window_child
from tests.bench.measurement import Figure, in_child, percentile, run_python, scaled

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
print(json.dumps({"clickable": time.time() - float(os.environ["SLIDE_GUI_BENCH_STARTED"])}))
"""


def _child(work: Callable[..., dict[str, Any]] | None, *arguments: Any, compiled: str = "") -> dict[str, Any]:
    """Run one measurement in a process of its own; None is a window of only Qt and NumPy.

    With a folder for compiled modules they are compiled only once, as in an installed program.
    """
    environment = {"SLIDE_GUI_BENCH_STARTED": repr(time.time())}
    if compiled:
        environment |= {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        environment["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"
    result: dict[str, Any]
    if work is None:
        result = run_python(_BARE, environment=environment)
    else:
        result = in_child(work, *arguments, environment=environment)
    return result


def _milliseconds(name: str, times: list[float], floors: list[float], note: str, most: float) -> Figure:
    """Return the 95th percentile of times against the median of one drawImage of as many pixels."""
    note = f"p95 of {len(times)}, median {1000 * percentile(times, 0.5):.3g} ms, against one drawImage; {note}"
    return Figure(name, 1000 * percentile(times, 0.95), "ms", 1000 * percentile(floors, 0.5), note, most=most)


def start() -> Iterator[Figure]:
    """Process start to a window that answers a click, and to its first layer, warm, against a bare Qt window."""
    with tempfile.TemporaryDirectory() as compiled:
        pairs = [
            (_child(None, compiled=compiled), _child(window_child.start, compiled=compiled))
            for _ in range(scaled(6, 2))
        ][1:]
    bare = float(np.median([reference["clickable"] for reference, _ in pairs]))
    clickable, first = (float(np.median([run[name] for _, run in pairs])) for name in ("clickable", "first"))
    note = f"median of {len(pairs)} warm starts, in turn with a window of only Qt that imports NumPy"
    yield Figure("start", clickable, "s", bare, f"to a window that answers a click; {note}", 2.5)
    yield Figure("start-first-layer", first, "s", bare, f"to its first layer painted; {note}", most=1.0)


def hover() -> Iterator[Figure]:
    """Mouse move to all tiles painted."""
    result = _child(window_child.hover, scaled(200, 10))
    yield _milliseconds("hover", result["times"], result["floors"], "mouse move to all tiles painted", 8.0)


def drag() -> Iterator[Figure]:
    """Noise slider moved to first-layer tiles painted, and to all four layers after it rests."""
    result = _child(window_child.drag, scaled(10, 2))
    note = "generated Rectangles, noise slider moved to"
    yield _milliseconds("drag-first-layer", result["first"], result["floors"], f"{note} layer 1 painted", 22.0)
    yield _milliseconds("drag-all-layers", result["all"], result["floors"], f"{note} four layers painted", 100.0)


def pages() -> Iterator[Figure]:
    """A page's command to that page painted, after each has been open once."""
    result = _child(window_child.pages, scaled(10, 2))
    yield _milliseconds("page-switch", result["times"], result["floors"], "page switched to page painted", 100.0)


def clicks() -> Iterator[Figure]:
    """A click to the start of its job while a sweep runs, against the start on an idle queue."""
    result = _child(window_child.clicks, scaled(20, 3))
    late, idle = (percentile(result[name], 0.95) for name in ("busy", "idle"))
    note = f"p95 of {len(result['busy'])} jobs that a sweep gives way to, against the start on an idle queue"
    yield Figure("click-to-start", 1000 * late, "ms", 1000 * idle, note, most=200.0)


def full_store() -> Iterator[Figure]:
    """Benchmark and Runs opened for the first time, with 10 000 runs in the store."""
    n_runs = scaled(10_000, 3000)
    for page, most, filled_most in (("evaluation", 200.0, 1000.0), ("runs", 200.0, 1000.0)):
        runs = [_child(window_child.full_store, page, n_runs) for _ in range(scaled(3, 1))]
        painted, filled, floor, read = (
            1000 * float(np.median([run[name] for run in runs])) for name in ("painted", "filled", "floor", "read")
        )
        note = f"first opening with {n_runs} runs, median of {len(runs)}"
        yield Figure(f"store-{page}", painted, "ms", floor, f"painted, against one drawImage; {note}", most=most)
        note = f"all rows, against reading them by sqlite3; {note}"
        yield Figure(f"store-{page}-filled", filled, "ms", read, note, most=filled_most)


def lateness() -> Iterator[Figure]:
    """How late a 10 ms tick comes during a minute of a sweep, and while Convex is learned and tested."""
    sweep = _child(window_child.lateness_sweep, scaled(60, 3))
    training = _child(window_child.lateness_training)
    for name, result in (("sweep", sweep), ("training", training)):
        note = (
            f"{len(result['busy'])} ticks with the mouse moving over the plot, against {len(result['idle'])} idle ones"
        )
        late, idle = result["busy"], result["idle"]
        for figure, q, most in (("p99", 0.99, 16.0), ("max", 1.0, 100.0)):
            value, floor = (1000 * percentile(each, q) for each in (late, idle))
            yield Figure(f"lateness-{name}-{figure}", value, "ms", floor, note, most=most)


BENCHMARKS = {
    "start": start,
    "hover": hover,
    "drag": drag,
    "pages": pages,
    "clicks": clicks,
    "full-store": full_store,
    "lateness": lateness,
}
