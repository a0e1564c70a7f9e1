"""How long runs take, learned from those that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slide_gui.experiments.spec import RunSpec

__all__ = ["CostModel", "RunKind"]


@dataclass(frozen=True)
class RunKind:
    """What the time of a run depends on.

    Attributes
    ----------
    data, method : str
        Fingerprint of the data, and the method.
    rows : int
        Trained on, about.
    warm : bool
        Whether it starts from a neighbour.
    """

    data: str
    method: str
    layers: int
    rows: int
    warm: bool = False

    @classmethod
    def of(cls, spec: RunSpec, n_train: int) -> RunKind:
        """Return the kind of a run on data with so many training rows."""
        rows = n_train if spec.labels is None else min(spec.labels, n_train)
        return cls(spec.fingerprint, spec.method, spec.layers, rows, spec.neighbour is not None)


class CostModel:
    """Median seconds of each kind of run.

    A kind that was not measured is taken to cost as the nearest that was, times the ratio of their columns and the
    square of the ratio of their rows: of the same method and data if possible, else of the same data.
    """

    def __init__(self) -> None:
        self._seconds: dict[RunKind, list[float]] = {}

    def add(self, kind: RunKind, seconds: float) -> None:
        """Take in a measured run."""
        self._seconds.setdefault(kind, []).append(seconds)

    def seconds(self, kind: RunKind) -> float | None:
        """Return what a run will take, or None if nothing was measured."""
        if not self._seconds:
            return None

        def distance(other: RunKind) -> tuple[bool, bool, float, int, bool]:
            rows = abs(math.log(max(other.rows, 1) / max(kind.rows, 1)))
            differs = other.method != kind.method, other.data != kind.data
            return (*differs, rows, abs(other.layers - kind.layers), other.warm != kind.warm)

        near = min(self._seconds, key=distance)
        scale = (kind.layers + 1) / (near.layers + 1) * (max(kind.rows, 1) / max(near.rows, 1)) ** 2
        return float(np.median(self._seconds[near])) * scale

    def left(self, runs: Sequence[RunKind], fraction: float) -> float | None:
        """Return the seconds for runs, of the first of which `fraction` is done; None if nothing was measured."""
        if not self._seconds:
            return None if runs else 0.0
        each = {kind: self.seconds(kind) or 0.0 for kind in set(runs)}
        return sum(each[kind] for kind in runs) - (fraction * each[runs[0]] if runs else 0.0)
