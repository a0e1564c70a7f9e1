"""One measured figure, and how times are taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.catalogue import find, load

__all__ = ["Measurement", "absolute", "digits", "interleaved", "relative"]


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


def interleaved(functions: list[Callable[[], Any]], rounds: int = 5) -> list[float]:
    """Return the shortest time of each function in seconds, run in turn so that a slow spell hits all of them."""
    best = [np.inf] * len(functions)
    for _ in range(rounds):
        for number, function in enumerate(functions):
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
