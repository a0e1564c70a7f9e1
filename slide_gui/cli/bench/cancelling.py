"""How long a fit runs on after it was cancelled."""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from slide_gui.cli.bench.figure import Figure, absolute, digits
from slide_gui.core.parameters import StackParameters
from slide_gui.core.stack import fit_stack
from slide_gui.progress import Cancelled, Progress

__all__ = ["cancel"]

_TRIES = 50


class _Switch(Progress):
    def __init__(self) -> None:
        self.off = threading.Event()

    def report(self, fraction: float, payload: object = None) -> None:
        if self.off.is_set():
            raise Cancelled


def cancel() -> list[Figure]:
    """A fit of four layers on 60 000 rows, and one on 3 000 features, cancelled at random moments."""
    rows, data = digits()
    wide = (np.random.default_rng(0).random((2_000, 3_000)) > 0.7).astype(np.float32)
    return [
        absolute("cancel", _wait(rows, 1.5), "ms", 200.0, f"p99 of {_TRIES} at random moments, 60 000 × 784, {data}"),
        absolute("cancel-wide", _wait(wide, 2.5), "ms", 200.0, f"p99 of {_TRIES} at random moments, 2 000 × 3 000"),
    ]


def _wait(rows: NDArray[np.float32], longest: float) -> float:
    """Return the 99th percentile, in ms, of the time from the cancel to the worker's end."""
    random, waits = np.random.default_rng(1), []
    for _ in range(_TRIES):
        switch = _Switch()
        worker = threading.Thread(target=_fit, args=(rows, switch))
        worker.start()
        time.sleep(float(random.uniform(0.0, longest)))
        start = time.perf_counter()
        switch.off.set()
        worker.join()
        waits.append(time.perf_counter() - start)
    return 1000 * float(np.quantile(waits, 0.99))


def _fit(rows: NDArray[np.float32], switch: _Switch) -> None:
    try:
        fit_stack(rows, StackParameters(depth=4), progress=switch)
    except Cancelled:
        return
