"""Progress of long computations. A computation can be cancelled whenever it reports its progress."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """Raised by `Progress.report` when the job was cancelled."""


class Progress:
    """Receiver of the progress of a long computation.

    The base class ignores reports and never cancels. The job queue of the window and the progress bar of the command
    line override `report`.
    """

    def report(self, fraction: float, payload: object = None) -> None:
        """Report the fraction done, and stop the computation here if it was cancelled.

        Long computations call this at least about every 100 ms.

        Parameters
        ----------
        fraction : float
            Fraction of the work done, 0 to 1, never decreasing.
        payload : object, optional
            A frozen partial result that replaces all earlier payloads of the same job.

        Raises
        ------
        Cancelled
            If the job was cancelled or superseded.
        """

    def part(self, start: float, stop: float) -> "Progress":
        """Return a progress for a part of the work. Its fractions 0 … 1 become `start` … `stop` of this progress."""
        return Listener(lambda fraction, payload: self.report(start + (stop - start) * fraction, payload))

    def each(self, items: Sequence[T], sizes: Sequence[float] | None = None) -> Iterator[tuple[T, "Progress"]]:
        """Yield each item with its part of this progress; the parts are proportional to `sizes`, or equal."""
        reached = [0.0, *accumulate(sizes or [1.0] * len(items))]
        for item, (start, stop) in zip(items, pairwise(reached), strict=True):
            yield item, self.part(start / max(1.0, reached[-1]), stop / max(1.0, reached[-1]))


class Listener(Progress):
    """A progress that passes every report to a function.

    Parameters
    ----------
    receive : callable
        Takes the fraction and the payload. If it raises an exception such as `Cancelled`, the computation ends.
    """

    def __init__(self, receive: Callable[[float, object], None]) -> None:
        self._receive = receive

    def report(self, fraction: float, payload: object = None) -> None:
        """Pass the report to the function."""
        self._receive(fraction, payload)


NO_PROGRESS = Progress()

_paused = threading.local()


def computing_time() -> float:
    """Return the seconds since an arbitrary start, without the time for which jobs of this thread were paused."""
    return time.perf_counter() - getattr(_paused, "seconds", 0.0)


def leave_out(seconds: float) -> None:
    """Exclude a pause of this duration, which has just ended, from `computing_time`."""
    _paused.seconds = getattr(_paused, "seconds", 0.0) + seconds


class MonotonicProgress(Progress):
    """A progress whose fraction never decreases.

    Parameters
    ----------
    target : Progress
        Receives the largest fraction so far, with the payload of each report.
    """

    def __init__(self, target: Progress) -> None:
        self._target = target
        self._reached = 0.0

    def report(self, fraction: float, payload: object = None) -> None:
        """Report the largest fraction so far."""
        self._reached = max(self._reached, fraction)
        self._target.report(self._reached, payload)

    @property
    def pulse(self) -> Progress:
        """A progress for inner loops, whose reports can cancel the job but only repeat the largest fraction so far."""
        return Listener(lambda fraction, payload: self.report(0.0))


@dataclass(frozen=True)
class Stage:
    """A payload that names the current stage of a job.

    If known, it also contains the number of finished items and the number of all items.
    """

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        if not self.total:
            return self.name
        return f"{self.name}, {self.done + 1} of {self.total}"


REFRESH = 0.5
"""Longest interval, in seconds, between two estimates of a job's remaining time while it is not paused."""


@dataclass
class TimeLeft:
    """Estimator of the remaining time of a job, for the window and the command line."""

    _known: float | None = None
    _since: float = 0.0

    def seconds(self, spent: float, fraction: float, known: float | None) -> float | None:
        """Return the seconds left; None while unknown.

        Parameters
        ----------
        spent : float
            Seconds since the start.
        fraction : float
            Fraction done.
        known : float or None
            The job's own estimate, or None to extrapolate from the fraction done. As time passes after an estimate, the
            result falls by at most `REFRESH`.
        """
        if known != self._known:
            self._known, self._since = known, spent
        if known is not None:
            return max(known - min(spent - self._since, REFRESH), 0.0)
        return spent * (1 - fraction) / fraction if fraction > 0.02 and spent > 0.5 else None
