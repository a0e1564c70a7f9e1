"""A log of the finished steps of a training, with which a cancelled training can continue."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class StepLog:
    """The results of the slow steps of a training, in their order.

    Training the same rows with the same parameters takes the same steps. A training that receives the log of a
    cancelled one reads the first results from it, computes the others, and gives the same result to the bit.

    Attributes
    ----------
    results : list
        Results of the finished steps.
    seconds : float
        Time that these steps took, in seconds.
    """

    def __init__(self) -> None:
        self.results: list[Any] = []
        self._state: dict[Any, Any] = {}
        self._next = 0
        self.seconds = 0.0

    def rewind(self) -> float:
        """Start again with the first step, and return the seconds that the logged steps took."""
        self._next = 0
        return self.seconds

    def step(self, compute: Callable[[], T], state: dict[Any, Any] | None = None) -> T:
        """Return the result of the next step. It is read from the log if it is there, otherwise computed and logged.

        Parameters
        ----------
        compute : callable
            Returns the result of the step.
        state : dict, optional
            Values that the step changes and the next step uses, such as the starts of a solver. Only the state after
            the last logged step is stored and restored, so steps with one state must follow each other directly.
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
