"""One measured figure, how times are taken, and what is measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.catalogue import find, load

__all__ = ["Measurement", "absolute", "digits", "in_child", "interleaved", "relative"]


@dataclass(frozen=True)
class Measurement:
    """A figure with its bound.

    Attributes
    ----------
    reference : float or None
        The floor or the other program, in the same unit, measured in the same run.
    ratio : float or None
        value / reference.
    bound : float
        At most this, for the ratio where there is one, else for the value.
    note : str
        What the reference is, and on which data.
    """

    name: str
    value: float
    unit: str
    reference: float | None
    ratio: float | None
    bound: float
    met: bool
    note: str = ""

    def line(self) -> str:
        """Return one line for people."""
        if self.ratio is None:
            judged = f"bound {self.bound:g} {self.unit}"
        else:
            judged = f"reference {self.reference:.4g} {self.unit}, ratio {self.ratio:.3f}, bound {self.bound:g}"
        return f"{'met   ' if self.met else 'MISSED'} {self.name}: {self.value:.4g} {self.unit} ({judged}) {self.note}"


def relative(name: str, value: float, unit: str, reference: float, bound: float, note: str) -> Measurement:
    """Return a figure judged by its ratio to a reference."""
    ratio = value / reference
    return Measurement(name, value, unit, reference, ratio, bound, bool(ratio <= bound), note)


def absolute(name: str, value: float, unit: str, bound: float, note: str) -> Measurement:
    """Return a figure judged by itself."""
    return Measurement(name, value, unit, None, None, bound, bool(value <= bound), note)


def interleaved(functions: list[Callable[[], Any]], rounds: int = 5, rest: float = 0.0) -> list[float]:
    """Return the shortest time of each function in seconds, run in turn so that a slow spell hits all of them.

    There and back again, so that none is always the one to take over the memory that another gave back.

    Parameters
    ----------
    functions : list of callable
    rounds : int
    rest : float
        Seconds before each. A virtual machine hands free memory back to its host after some 2 s, and what is taken
        sooner costs less: where functions take much, a rest lets each take it anew.
    """
    best = [np.inf] * len(functions)
    for turn in range(rounds):
        for number, function in list(enumerate(functions))[:: -1 if turn % 2 else 1]:
            time.sleep(rest)
            start = time.perf_counter()
            function()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def digits() -> tuple[NDArray[np.float32], str]:
    """Return 60 000 grey rows of 784 pixels and what they are: MNIST where it is found, else smooth random blobs."""
    if find("mnist"):
        return load("mnist").train, "MNIST"
    random = np.random.default_rng(0)
    rows = np.zeros((60_000, 28, 28), np.float32)
    rows[:, 4:24, 4:24] = random.random((60_000, 20, 20), dtype=np.float32) ** 4
    rows[:, 1:] = np.maximum(rows[:, 1:], rows[:, :-1] * np.float32(0.7))
    rows[:, 2:-2, 2:-2] *= random.random((60_000, 1, 1), dtype=np.float32) > 0.1
    return rows.reshape(60_000, 784), "random blobs (MNIST was not found)"


def in_child(*arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run Python with these arguments in a process of its own, and return the JSON object of its last line.

    Parameters
    ----------
    arguments : str
        As ``"-m"`` and a module, then what it is given.
    environment : mapping, optional
        Variables beside those of this process.

    Raises
    ------
    RuntimeError
        If it fails; with the last line that it said.
    """
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        said = " ".join(done.stderr.strip().splitlines()[-1:])
        raise RuntimeError(f"{' '.join(arguments)[:80]} failed: {said}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
