"""Progress that is also the cancel point, spoken by core, data and experiments alike."""

from __future__ import annotations

__all__ = ["NO_PROGRESS", "Cancelled", "Progress"]


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
