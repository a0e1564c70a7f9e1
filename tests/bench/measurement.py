"""Measure times and memory, in separate processes if necessary; a measured figure with its bound."""

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
from typing import Any, TypeVar

import numpy as np

SMALL = bool(os.environ.get("SLIDE_GUI_BENCH_SMALL"))
Size = TypeVar("Size")
_MIB = 1024.0  # in the kernel's kB of 1 024 bytes


def scaled(full: Size, small: Size) -> Size:
    """Return the full size, or the small one if --small is given."""
    return small if SMALL else full


@dataclass(frozen=True)
class Figure:
    """A measured figure, its floor or reference, and its bound."""

    name: str
    value: float
    unit: str
    floor: float  # or the figure of another program, measured in the same run
    note: str  # what is measured, what it is compared with, and the data
    most_ratio: float | None = None  # the bound on value / floor
    most: float | None = None  # the bound on the value

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


def median(values: Sequence[float]) -> float:
    return float(np.median(values))


def percentile(values: Sequence[float], q: float) -> float:
    return float(sorted(values)[min(len(values) - 1, int(q * len(values)))])


def interleaved(functions: Sequence[Callable[[], Any]], rounds: int = 5) -> list[float]:
    """Return the shortest time of each function in seconds; they run in turn, so that a slow phase affects all.

    The order alternates, so that no function always reuses the memory that the same other one has freed.
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
    """Call a module's function in a separate process, and return its result; arguments and result are sent as JSON."""
    code = (
        f"import json, sys; from {function.__module__} import {function.__name__} as work; "
        "print(json.dumps(work(*json.loads(sys.argv[1]))))"
    )
    return run_python(code, json.dumps(arguments), environment=environment)


def run_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run Python code in a separate process, and return the JSON value in the last line that it prints."""
    variables = {**os.environ, **(environment or {})}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise RuntimeError(f"a child process failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])
