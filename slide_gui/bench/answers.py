"""How fast the error curves answer, and how long a whole sweep and the small reproduction take."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from slide_gui.bench.measurement import Measurement, absolute
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.catalogue import find, load
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.run import Reuse, RunProgress, live_spec, run
from slide_gui.experiments.spec import RunSpec, SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import run_sweep
from slide_gui.progress import Listener

__all__ = ["live", "rectangles", "reproduce_quick", "sweep"]

_ROUNDS = 3


def live() -> list[Measurement]:
    """Measure the first estimate and the whole answer at a new noise, beside a stored run of another noise."""
    dataset, note = rectangles()
    spec = RunSpec(dataset.fingerprint, stack=StackParameters(noise=0.5, depth=2)).checked()
    reuse = Reuse()
    near = run(dataset, replace(spec, test_rows=1000), reuse=reuse)
    firsts, wholes = [], []
    for number in range(_ROUNDS):
        wanted = replace(spec, stack=replace(spec.stack, noise=0.3 + 0.1 * number))
        estimates, start = list[float](), time.perf_counter()

        def watch(_: float, payload: object, estimates: list[float] = estimates) -> None:
            if isinstance(payload, RunProgress) and payload.test is not None:
                estimates.append(time.perf_counter())

        run(dataset, live_spec(wanted, near), progress=Listener(watch), reuse=reuse)
        firsts.append(estimates[0] - start)
        wholes.append(time.perf_counter() - start)
    return [
        absolute("live-first", min(firsts), "s", 1.0, f"first estimate, 500 test rows, {note}, two layers"),
        absolute("live-answer", min(wholes), "s", 8.0, f"all test rows, {note}, {len(dataset.test)} rows"),
    ]


def sweep() -> list[Measurement]:
    """Measure a sweep of 10 noises × 5 depths, widths learned at every point."""
    dataset, note = rectangles()
    asked = SweepSpec(dataset.fingerprint, noises=tuple(i / 10 for i in range(10)), depths=(0, 1, 2, 3, 4))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, RunStore(Path(folder) / "runs.sqlite") as store:
        run_sweep(dataset, asked, store)
    return [absolute("sweep", (time.perf_counter() - start) / 60, "min", 10.0, note)]


def reproduce_quick() -> list[Measurement]:
    """Measure `slide-gui reproduce --quick` into an empty folder, from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [sys.executable, "-m", "slide_gui", "reproduce", "--quick", "--out", folder]
        subprocess.run(command, capture_output=True, check=True)
        seconds = time.perf_counter() - started
    return [absolute("reproduce-quick", seconds, "s", 120.0, "every figure and both tables, from an empty folder")]


def rectangles() -> tuple[Dataset, str]:
    """Return Rectangles and what they are: the real ones where they are found."""
    dataset = load("rectangles")
    _ = dataset.fingerprint  # made once, when data are opened
    return dataset, "Rectangles" if find("rectangles") else "generated Rectangles"
