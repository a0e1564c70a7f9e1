"""Peak memory of a fit above its input, measured in a process of its own."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from slide_gui.bench.measurement import Measurement, absolute, digits, in_child, relative

__all__ = ["PeakMemory", "fit_memory"]

_MIB = 1024.0  # kB as the kernel counts them
_MILLION = 1_000_000
_CHILD = ("-m", "slide_gui.bench.memory")


class PeakMemory:
    """Largest private memory of this process while the context is open, in MiB above what it was at the start."""

    def __enter__(self) -> PeakMemory:
        self._start = self._peak = _private()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def above(self) -> float:
        """MiB above the start."""
        return (self._peak - self._start) / _MIB

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self._peak = max(self._peak, _private())


def _private() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1])
    raise OSError("this system does not say how much private memory a process holds")


def fit_memory() -> list[Measurement]:
    """60 000 rows in memory, and 1 000 000 from a memmap."""
    rows, data = digits()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.npy", Path(folder) / "large.npy"
        np.save(small, rows)
        target = np.lib.format.open_memmap(large, "w+", np.uint8, (_MILLION, 784))
        grey = np.round(rows * 255).astype(np.uint8)
        for start in range(0, _MILLION, len(grey)):
            target[start : start + len(grey)] = grey[: min(len(grey), _MILLION - start)]
        target.flush()
        del target, rows, grey
        sixty, million = in_child(*_CHILD, str(small)), in_child(*_CHILD, str(large))
    per_row = million["seconds"] / _MILLION, sixty["seconds"] / 60_000
    return [
        absolute("fit-memory", sixty["mebibytes"], "MiB", 400.0, f"above the input, 60 000 × 784, 4 layers, {data}"),
        absolute("fit-memory-million", million["mebibytes"], "MiB", 400.0, "1 000 000 rows from a uint8 memmap"),
        relative(
            "fit-time-million", per_row[0] * 1e6, "µs/row", per_row[1] * 1e6, 1.3, "against the 60 000 rows, a row each"
        ),
    ]


def _measure(path: Path) -> None:
    from slide_gui.core.slide.parameters import StackParameters
    from slide_gui.core.slide.stack import fit_stack

    rows = np.load(path, mmap_mode="r" if "large" in path.name else None)
    warm = np.ones((2048, 784), np.float32)
    warm.T @ warm  # the products' own buffers are there before anything is counted
    with PeakMemory() as memory:
        start = time.perf_counter()
        fit_stack(rows, StackParameters(depth=4))
        seconds = time.perf_counter() - start
    print(json.dumps({"mebibytes": memory.above, "seconds": seconds}))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
