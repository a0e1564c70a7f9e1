"""Progress of long computations: reported, watched, and at the same time the point where they can be cancelled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


class Cancelled(Exception):
    """Raised by `Progress.report` when the person no longer wants the result."""


class Progress:
    """Listener of a long computation.

    The base class listens to nothing and never cancels; the GUI's lane and the command
    line's progress bar override `report`.
    """

    def report(self, fraction: float, payload: object = None) -> None:
        """Say how far the work is, and stop it here if it is no longer wanted.

        Long computations call this at most about 100 ms apart.

        Parameters
        ----------
        fraction : float
            Share of the work done, 0 to 1, never decreasing.
        payload : object, optional
            A frozen partial result that makes all earlier payloads of the same work redundant.

        Raises
        ------
        Cancelled
            If the work was cancelled or superseded.
        """

    def part(self, start: float, stop: float) -> Progress:
        """Return a progress whose 0 to 1 is this one's `start` to `stop`."""
        return Listener(lambda fraction, payload: self.report(start + (stop - start) * fraction, payload))


class Listener(Progress):
    """Hand every report to a function.

    Parameters
    ----------
    hear : callable
        Takes the fraction and the payload; what it raises ends the work, as `Cancelled` does.
    """

    def __init__(self, hear: Callable[[float, object], None]) -> None:
        self._hear = hear

    def report(self, fraction: float, payload: object = None) -> None:
        """Hand it on."""
        self._hear(fraction, payload)


NO_PROGRESS = Progress()


class MonotonicProgress(Progress):
    """Forward reports with the largest fraction so far.

    Parameters
    ----------
    whole : Progress
        Who is told.
    """

    def __init__(self, whole: Progress) -> None:
        self._whole = whole
        self._reached = 0.0

    def report(self, fraction: float, payload: object = None) -> None:
        """Report the larger of this fraction and all before."""
        self._reached = max(self._reached, fraction)
        self._whole.report(self._reached, payload)

    @property
    def pulse(self) -> Progress:
        """A progress for inner loops: a report of it repeats the fraction reached, without payload, and may cancel."""
        return Listener(lambda fraction, payload: self.report(0.0))


@dataclass(frozen=True)
class Stage:
    """A payload of progress: the part begun, in a few words, and where it is counted, how much of it is done."""

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        if not self.total:
            return self.name
        return f"{self.name}, {self.done + 1} of {self.total}"


_RISE = 1.2
"""From the middle on, no time left is more than this times the least before it."""


class TimeLeft:
    """The time that a job will still take, as window and command line show it."""

    def __init__(self) -> None:
        self._least = math.inf

    def seconds(self, spent: float, fraction: float, known: float | None) -> float | None:
        """Return the seconds left; None while they are not known.

        Parameters
        ----------
        spent : float
            Seconds since it began.
        fraction : float
            Share done.
        known : float or None
            The job's own forecast; None: that of the share done so far.
        """
        left = known
        if left is None and fraction > 0.02 and spent > 0.5:
            left = spent * (1 - fraction) / fraction
        if left is None or fraction < 0.5:
            return left
        left = min(left, _RISE * self._least)
        self._least = min(self._least, left)
        return left
