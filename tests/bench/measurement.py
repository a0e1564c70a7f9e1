"""One measured figure; how times and memory are measured, on which data, and in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.data.catalogue import data_folders, find, load
from slide_gui.data.dataset import Dataset
from slide_gui.data.open import open_data

SMALL = bool(os.environ.get("SLIDE_GUI_BENCH_SMALL"))
_MIB = 1024.0  # kB as the kernel counts them


def scaled(full: int, small: int) -> int:
    """Return a size: the full one, or with --small the small one."""
    return small if SMALL else full


@dataclass(frozen=True)
class Figure:
    """A measured figure, its floor or reference, and its bound.

    Attributes
    ----------
    floor : float
        The floor or the other program, in the same unit, measured in the same run.
    note : str
        What is measured, against what, and on which data.
    most_ratio, most : float or None
        The bound on value / floor, or on the value.
    """

    name: str
    value: float
    unit: str
    floor: float
    note: str
    most_ratio: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        return self.value / self.floor if self.floor else float("inf")

    @property
    def met(self) -> bool:
        ratio_met = self.most_ratio is None or self.ratio <= self.most_ratio
        return ratio_met and (self.most is None or self.value <= self.most)

    def line(self) -> str:
        bound = f"at most {self.most:g} {self.unit}" if self.most_ratio is None else f"at most {self.most_ratio:.3g} ×"
        return (
            f"{'met   ' if self.met else 'MISSED'} {self.name}: {self.value:.4g} {self.unit} = {self.ratio:.3f} × "
            f"{self.floor:.4g} {self.unit} ({bound}) {self.note}"
        )


def percentile(values: Sequence[float], q: float) -> float:
    return float(sorted(values)[min(len(values) - 1, int(q * len(values)))])


def interleaved(functions: Sequence[Callable[[], Any]], rounds: int = 5) -> list[float]:
    """Return the shortest time of each function in seconds, run in turn so that a slow spell hits all of them.

    There and back again, so that none always takes over the memory that another gave back.
    """
    best = [np.inf] * len(functions)
    for turn in range(scaled(rounds, 1)):
        for number, function in list(enumerate(functions))[:: -1 if turn % 2 else 1]:
            start = time.perf_counter()
            function()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


class PeakMemory:
    """Measures the largest private memory of this process while the context is open, in MiB above the start."""

    def __enter__(self) -> PeakMemory:
        self._start = self._peak = _private()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._peak = max(self._peak, _private())

    @property
    def above(self) -> float:
        return (self._peak - self._start) / _MIB

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self._peak = max(self._peak, _private())


def _private() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1])
    raise OSError("this system does not report the private memory of a process")


def in_child(function: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """Call a function of a module in a process of its own, and return its result; both pass through JSON."""
    code = (
        f"import json, sys; from {function.__module__} import {function.__name__} as work; "
        "print(json.dumps(work(*json.loads(sys.argv[1]))))"
    )
    return run_python(code, json.dumps(arguments), environment=environment)


def run_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run Python code in a process of its own, and return the JSON of the last line that it prints."""
    variables = {**os.environ, **(environment or {})}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise RuntimeError(f"a child process failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


# Data ----------------------------------------------------------------------------------------------------------------


def digits() -> tuple[NDArray[np.float32], str]:
    """Return 60 000 grey rows of 784 pixels and their name: MNIST, or smooth random blobs if it is not there."""
    n = scaled(60_000, 2000)
    if find("mnist"):
        return load("mnist").train[:n], "MNIST"
    random = np.random.default_rng(0)
    rows = np.zeros((n, 28, 28), np.float32)
    rows[:, 4:24, 4:24] = random.random((n, 20, 20), dtype=np.float32) ** 4
    rows[:, 1:] = np.maximum(rows[:, 1:], rows[:, :-1] * np.float32(0.7))
    rows[:, 2:-2, 2:-2] *= random.random((n, 1, 1), dtype=np.float32) > 0.1
    return rows.reshape(n, 784), "random blobs"


def labelled_digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], str]:
    """Return rows and labels to train and to test on, and their name: MNIST, or blobs in ten classes by brightness."""
    if find("mnist"):
        data, n = load("mnist"), scaled(60_000, 2000)
        assert data.train_labels is not None
        assert data.test_labels is not None
        return data.train[:n], data.train_labels[:n], data.test, data.test_labels, "MNIST"
    rows, name = digits()
    sums = rows[:, :392].sum(axis=1)
    labels = np.digitize(sums, np.quantile(sums, np.arange(0.1, 1.0, 0.1)))
    n = len(rows) * 5 // 6
    return rows[:n], labels[:n], rows[n:], labels[n:], name


def rectangles() -> tuple[Dataset, str]:
    """Return Rectangles and their name: the original ones if they are there."""
    dataset = load("rectangles")
    _ = dataset.fingerprint  # computed once, when data are opened
    return dataset, "Rectangles" if find("rectangles") else "generated Rectangles"


def convex(depth: int) -> tuple[NDArray[Any], NDArray[np.intp], str]:
    """Return layers and classes of the 8 000 training rows of Convex: the original ones if they are there."""
    files = [path for folder in data_folders() for path in sorted(folder.glob("**/convex_train*"))]
    data = open_data(files[:1]) if files and not find("convex") else load("convex")
    assert data.train_labels is not None
    n = scaled(8000, 600)
    rows, codes = data.train[:n], data.train_labels[:n].astype(np.intp)
    return layers(rows, depth, noise=0.5), codes, "generated Convex" if data.generated else "Convex"


def layers(rows: NDArray[Any], depth: int, fit_rows: NDArray[Any] | None = None, noise: float = 0.3) -> NDArray[Any]:
    """Return [h⁰ | h¹ | …] of rows."""
    return fit_stack(rows if fit_rows is None else fit_rows, StackParameters(noise=noise, depth=depth)).transform(rows)
