"""The finished steps of a training, so that a cancelled training continues where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class StepLog:
    """Results of the slow steps of a training, in their order.

    A training is a function of its rows and parameters alone. With the log of a cancelled training on the same rows and
    with the same parameters, it takes the first steps from the log and gives the same result to the bit.

    Attributes
    ----------
    results : list
        Results of the finished steps.
    seconds : float
        Time that the logged steps took.
    """

    def __init__(self) -> None:
        self.results: list[Any] = []
        self._state: dict[Any, Any] = {}
        self._next = 0
        self.seconds = 0.0

    def rewind(self) -> float:
        """Begin again with the first step, and return the seconds that the logged steps took."""
        self._next = 0
        return self.seconds

    def step(self, compute: Callable[[], T], state: dict[Any, Any] | None = None) -> T:
        """Return the result of the next step from the log, or compute and log it.

        Parameters
        ----------
        compute : callable
            Computes the step.
        state : dict, optional
            Values that the step changes and the next one uses, such as starts of a solver. It is restored after the
            last logged step only, so steps with one state must follow each other directly.
        """
        number, state = self._next, {} if state is None else state
        if number == len(self.results):
            started = time.perf_counter()
            self.results.append(compute())
            self._state = dict(state)
            self.seconds += time.perf_counter() - started
        elif number == len(self.results) - 1:
            state.clear()
            state.update(self._state)
        self._next += 1
        result: T = self.results[number]
        return result
