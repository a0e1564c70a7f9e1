"""How long a fit runs on after it was cancelled."""

from __future__ import annotations

import threading
import time

import numpy as np

from slide_gui.cli.bench.figure import Figure, absolute, digits
from slide_gui.core.parameters import StackParameters
from slide_gui.core.stack import fit_stack
from slide_gui.progress import Cancelled, Progress

__all__ = ["cancel"]

_TRIES = 100


class _Switch(Progress):
    def __init__(self) -> None:
        self.off = threading.Event()

    def report(self, fraction: float, payload: object = None) -> None:
        if self.off.is_set():
            raise Cancelled


def cancel() -> list[Figure]:
    """A fit of four layers on 60 000 rows, and one on 3 000 features, cancelled at random moments."""
    rows, data = digits()
    random = np.random.default_rng(0)
    wide = (random.random((2_000, 3_000)) > 0.7).astype(np.float32)
    waits = []
    for number in range(_TRIES):
        use, longest = (rows, 1.5) if number % 2 else (wide, 2.5)
        switch = _Switch()
        worker = threading.Thread(target=_fit, args=(use, switch))
        worker.start()
        time.sleep(float(random.uniform(0.0, longest)))
        start = time.perf_counter()
        switch.off.set()
        worker.join()
        waits.append(time.perf_counter() - start)
    worst = 1000 * float(np.quantile(waits, 0.99))
    note = f"p99 of {_TRIES} at random moments, 60 000 × 784 ({data}) and 2 000 × 3 000"
    return [absolute("cancel", worst, "ms", 200.0, note)]


def _fit(rows: np.ndarray, switch: _Switch) -> None:
    try:
        fit_stack(rows, StackParameters(depth=4), progress=switch)
    except Cancelled:
        return
