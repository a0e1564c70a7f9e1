"""Progress of long computations: reported, watched, and at the same time the point where they can be cancelled."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NO_PROGRESS", "Cancelled", "MonotonicProgress", "Progress", "Stage"]


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
        return _Part(self, start, stop)


class _Part(Progress):
    def __init__(self, whole: Progress, start: float, stop: float) -> None:
        self._whole, self._start, self._stop = whole, start, stop

    def report(self, fraction: float, payload: object = None) -> None:
        self._whole.report(self._start + (self._stop - self._start) * fraction, payload)


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
        return _Pulse(self)


class _Pulse(Progress):
    def __init__(self, steady: MonotonicProgress) -> None:
        self._steady = steady

    def report(self, fraction: float, payload: object = None) -> None:
        self._steady.report(0.0)


@dataclass(frozen=True)
class Stage:
    """A payload of progress: the part begun, in a few words, and where it is counted, how much of it is done."""

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.done + 1} of {self.total}" if self.total else self.name
