"""The small version of the paper's evaluation, timed whole in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from slide_gui.bench.measurement import Measurement, absolute

__all__ = ["reproduce_quick"]


def reproduce_quick() -> list[Measurement]:
    """Measure `slide-gui reproduce --quick` into an empty folder, from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "slide_gui", "reproduce", "--quick", "--out", folder]
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        seconds = time.perf_counter() - started
    return [absolute("reproduce-quick", seconds, "s", 120.0, "every figure and both tables, from an empty folder")]
