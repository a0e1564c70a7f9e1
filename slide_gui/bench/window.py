"""What a person feels in the window: hover, drag, start, and how late the event loop is during a fit."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

import numpy as np

from slide_gui.bench.measurement import Measurement, absolute, in_child, relative

__all__ = ["drag", "evaluation_page", "hover", "lateness", "lateness_runs", "start", "strokes"]


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


def _child(name: str, compiled: str = "") -> dict[str, Any]:
    """Run one measurement in a process of its own; `bare` is a window of nothing but Qt and NumPy.

    With a folder for compiled modules, they are compiled but once, as they are where the program is installed.
    """
    environment = {"SLIDE_GUI_BENCH_STARTED": repr(time.time())}
    if compiled:
        environment |= {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        environment["QT_QPA_PLATFORM"] = os.environ.get("QT_QPA_PLATFORM") or "offscreen"
    arguments = ("-c", _BARE) if name == "bare" else ("-m", "slide_gui.bench.window_child", name)
    return in_child(*arguments, environment=environment)


def hover() -> list[Measurement]:
    """Mouse move to all tiles painted, four pins and the hovered pixel by four layers."""
    result = _child("hover")
    note = f"p95 of {result['count']} moves, 5 rows × 4 layers, {result['platform']}"
    return [absolute("hover", 1000 * result["p95"], "ms", 16.0, note), _painting("hover", result, 15.0)]


def drag() -> list[Measurement]:
    """Noise slider moved to first-layer tiles painted, and to all four layers after it rests."""
    result = _child("drag")
    note = f"generated Rectangles, {result['platform']}"
    return [
        absolute(
            "drag", 1000 * result["p95"], "ms", 33.0, f"p95 of {result['count']} steps to layer 1 painted, {note}"
        ),
        absolute("four-layers", 1000 * result["layers"], "ms", 500.0, f"p95 to all four layers painted, {note}"),
        _painting("drag", result, 40.0),
    ]


def strokes() -> list[Measurement]:
    """A stroke in Flow to the image, all layers and the classifier's decision painted."""
    result = _child("strokes")
    note = f"p95 of {result['count']} strokes, {result['vectors']} support vectors, {result['platform']}"
    return [absolute("strokes", 1000 * result["p95"], "ms", 33.0, note)]


def _painting(name: str, result: dict[str, Any], bound: float) -> Measurement:
    """Return how long it takes to the tiles painted, against painting as many pixels."""
    note = f"medians; reference: one drawImage of the size of all tiles, in turn with them, {result['platform']}"
    return relative(f"{name}-painting", 1000 * result["median"], "ms", 1000 * result["image"], bound, note)


def start() -> list[Measurement]:
    """Process start to a window that answers a click, and to its first layer; the second and later starts."""
    with tempfile.TemporaryDirectory() as compiled:
        pairs = [(_child("bare", compiled), _child("start", compiled)) for _ in range(6)][1:]
    bare = float(np.median([reference["clickable"] for reference, _ in pairs]))
    clickable, first, whole = (
        float(np.median([run[name] for _, run in pairs])) for name in ("clickable", "first", "fitted")
    )
    note = f"median of {len(pairs)} warm starts, {pairs[0][1]['platform']}"
    against = f"{note}, in turn with those of a window of nothing but Qt that imports NumPy"
    return [
        relative("start", clickable, "s", bare, 2.5, f"to a window that answers a click, {against}"),
        absolute("first-window", first, "s", 1.0, f"to its first layer, {note}; all four layers after {whole:.2f} s"),
    ]


def evaluation_page() -> list[Measurement]:
    """Click to Benchmark page painted, and to all its cells filled, with 10 000 runs in the store."""
    runs = [_child("benchmark-page") for _ in range(3)]
    painted, filled = (1000 * float(np.median([run[name] for run in runs])) for name in ("painted", "filled"))
    note = f"median of {len(runs)} first openings, {runs[0]['platform']}"
    return [
        absolute("benchmark-page", painted, "ms", 200.0, f"to the page painted and answering, {note}"),
        absolute("benchmark-filled", filled, "ms", 1000.0, f"to all {runs[0]['count']} cells filled, {note}"),
    ]


def lateness() -> list[Measurement]:
    """How late a 10 ms tick comes while 60 000 rows are fitted."""
    result = _child("lateness")
    note = f"{result['count']} ticks during fits of 60 000 × 784, {result['data']}, {result['platform']}"
    return [
        absolute("lateness-p99", 1000 * result["p99"], "ms", 16.0, note),
        absolute("lateness-max", 1000 * result["max"], "ms", 100.0, note),
    ]


def lateness_runs() -> list[Measurement]:
    """How late a 10 ms tick comes during a minute of a sweep, and while Convex is learned and tested."""
    sweep, training = _child("lateness-sweep"), _child("lateness-training")
    swept = f"a minute of the Rectangles sweep, {sweep['done']} points, Error curves painted {sweep['paints']} times"
    trained = (
        f"{training['data']}, 8 000 × 2 352 and 50 000 test rows, widths learned, {training['seconds']:.0f} s, "
        f"Classifier painted {training['paints']} times"
    )
    return [*_late("lateness-sweep", sweep, swept), *_late("lateness-training", training, trained)]


def _late(name: str, result: dict[str, Any], what: str) -> list[Measurement]:
    note = f"{result['count']} ticks, {what}, {result['platform']}"
    return [
        absolute(f"{name}-p99", 1000 * result["p99"], "ms", 16.0, note),
        absolute(f"{name}-max", 1000 * result["max"], "ms", 100.0, note),
    ]
