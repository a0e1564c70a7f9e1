"""Progress whose fraction never falls, and whose cancel point can be passed to inner loops."""

from __future__ import annotations

from slide_gui.progress import Progress

__all__ = ["Steady"]


class Steady(Progress):
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
    def __init__(self, steady: Steady) -> None:
        self._steady = steady

    def report(self, fraction: float, payload: object = None) -> None:
        self._steady.report(0.0)
