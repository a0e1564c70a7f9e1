"""How long runs take, learned from those that were measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["CostModel"]


class CostModel:
    """Median seconds of a run by its depth and by whether it starts from a neighbour.

    A kind of run that was not measured is taken to cost as much a column of its representation as the nearest that was.
    """

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, bool], list[float]] = {}

    def add(self, depth: int, warm: bool, seconds: float) -> None:
        """Take in a measured run."""
        self._seconds.setdefault((depth, warm), []).append(seconds)

    def seconds(self, depth: int, warm: bool) -> float | None:
        """Return what a run will take, or None if nothing was measured."""
        if not self._seconds:
            return None
        nearest = min(self._seconds, key=lambda kind: (abs(kind[0] - depth), kind[1] != warm))
        return float(np.median(self._seconds[nearest])) * (depth + 1) / (nearest[0] + 1)

    def left(self, runs: Sequence[tuple[int, bool]], fraction: float) -> float | None:
        """Return the seconds for runs, of the first of which `fraction` is done; None if nothing was measured."""
        each = [self.seconds(depth, warm) for depth, warm in runs]
        known = [seconds for seconds in each if seconds is not None]
        if len(known) < len(each):
            return None
        return sum(known) - (fraction * known[0] if known else 0.0)
