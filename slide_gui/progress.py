"""Progress reports of long computations. A computation can be cancelled whenever it reports its progress."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """Raised by `Progress.report` if the job was cancelled."""


class Progress:
    """Receiver of the progress reports of a long computation.

    This base class ignores reports and never cancels. The window's job queue and the progress bar on the command line
    override `report`.
    """

    def report(self, fraction: float, payload: object = None) -> None:
        """Report the completed fraction of the work. If the job was cancelled, an exception ends the computation.

        Long computations call this method about every 100 ms or more often.

        Parameters
        ----------
        fraction : float
            Completed fraction of the work, from 0 to 1. It never decreases.
        payload : object, optional
            An immutable partial result, which replaces all earlier payloads of the same job.

        Raises
        ------
        Cancelled
            If the job was cancelled, or replaced by a newer job.
        """

    def part(self, start: float, stop: float) -> "Progress":
        """Return a `Progress` for a part of the work, which extends from `start` to `stop` as fractions of all work."""
        return Listener(lambda fraction, payload: self.report(start + (stop - start) * fraction, payload))

    def each(self, items: Sequence[T], sizes: Sequence[float] | None = None) -> Iterator[tuple[T, "Progress"]]:
        """Yield each item with a `Progress` for its part of the work. Parts are equal, or proportional to `sizes`."""
        reached = [0.0, *accumulate(sizes or [1.0] * len(items))]
        for item, (start, stop) in zip(items, pairwise(reached), strict=True):
            yield item, self.part(start / max(1.0, reached[-1]), stop / max(1.0, reached[-1]))


class Listener(Progress):
    """A `Progress` that passes every report to a function.

    Parameters
    ----------
    receive : callable
        Function of the fraction and the payload. If it raises an exception such as `Cancelled`, the computation ends.
    """

    def __init__(self, receive: Callable[[float, object], None]) -> None:
        self._receive = receive

    def report(self, fraction: float, payload: object = None) -> None:
        """Pass the report to the function."""
        self._receive(fraction, payload)


NO_PROGRESS = Progress()

_paused = threading.local()


def computing_time() -> float:
    """Return the seconds since an arbitrary time, without the periods in which jobs of this thread were paused."""
    return time.perf_counter() - getattr(_paused, "seconds", 0.0)


def leave_out(seconds: float) -> None:
    """Exclude a pause that has just ended, and that lasted `seconds`, from the result of `computing_time`."""
    _paused.seconds = getattr(_paused, "seconds", 0.0) + seconds


class MonotonicProgress(Progress):
    """A `Progress` that forwards reports so that the fraction never decreases.

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
        """A `Progress` for inner loops. Its reports can cancel the job, but only repeat the largest fraction so far."""
        return Listener(lambda fraction, payload: self.report(0.0))


@dataclass(frozen=True)
class Stage:
    """A payload that names the current stage of a job.

    If the stage consists of items, the payload also contains the number of finished items and the total number.
    """

    name: str
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.name}, {self.done + 1} of {self.total}" if self.total else self.name


# Longest time, in seconds, after which a running job gives a new estimate of the remaining time.
REFRESH = 0.5


@dataclass
class TimeLeft:
    """Estimates the remaining time of a job, for the window and the command line."""

    _known: float | None = None
    _since: float = 0.0

    def seconds(self, spent: float, fraction: float, known: float | None) -> float | None:
        """Return the remaining seconds, or None if they cannot be estimated yet.

        Parameters
        ----------
        spent : float
            Seconds since the start of the job.
        fraction : float
            Completed fraction of the job.
        known : float or None
            An estimate by the job itself, or None to extrapolate from the completed fraction. Until the job gives a new
            estimate, the result decreases with time, but by at most `REFRESH` seconds.
        """
        if known != self._known:
            self._known, self._since = known, spent
        if known is not None:
            return max(known - min(spent - self._since, REFRESH), 0.0)
        return spent * (1 - fraction) / fraction if fraction > 0.02 and spent > 0.5 else None
