"""Work that is asked for again and again on one channel of the lane: whether it runs, what it said last, its pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.experiments.sweep import Pause
from slide_gui.gui.state.jobs import Lane
from slide_gui.progress import Progress

__all__ = ["Task"]


class Task(QObject):
    """One kind of work of a controller; at most one job of it is wanted at a time.

    Parameters
    ----------
    lane : Lane
        Where it runs.
    channel : str
        Its own in the lane.
    title : str
        For the status bar.
    failure : str
        Title of the problem that is told when it fails.
    shows : type or tuple of type
        What it may report of itself; reports of the parts that it is made of are passed over.
    parent : QObject
        Its owner.
    background : bool
        As in `Lane.submit`.

    Signals
    -------
    ended()
        Finished, failed or stopped; emitted before `changed`.
    changed()
        `running`, `latest` or `paused` changed.
    """

    ended = Signal()
    changed = Signal()

    def __init__(
        self,
        lane: Lane,
        channel: str,
        title: str,
        failure: str,
        shows: type | tuple[type, ...],
        parent: QObject,
        background: bool = False,
    ) -> None:
        super().__init__(parent)
        self._lane, self._channel, self._title, self._failure = lane, channel, title, failure
        self._shows = shows
        self._background, self._used = background, lane
        self.running = False
        self.latest: Any = None
        """What the last job reported last, in the end its result; what it began with until then."""
        self.pause = Pause()

    def start(self, work: Callable[[Progress], Any], latest: Any = None, *, lane: Lane | None = None) -> None:
        """Run `work` in the lane, or in another; `latest` is shown until it says more, else what was there before."""
        self.running, self.latest = True, self.latest if latest is None else latest
        self.pause.resume()
        self._used = lane or self._lane
        self._used.submit(
            self._title,
            work,
            channel=self._channel,
            on_payload=self._tell,
            on_result=self._finish,
            on_failure=self._fail,
            on_stop=self._end,
            failure=self._failure,
            background=self._background and lane is None,
        )
        self.changed.emit()

    def stop(self, *, forget: bool = False) -> None:
        """Stop what runs; `latest` stays, unless it is to be forgotten."""
        known, self.latest = self.latest, None if forget else self.latest
        if self.running:
            self._used.cancel(channel=self._channel)
            self._end()
        elif self.latest is not known:
            self.changed.emit()

    @property
    def paused(self) -> bool:
        """Whether the work is held."""
        return self.running and self.pause.paused

    @Slot()
    def toggle_pause(self) -> None:
        """Hold the work at its next report, or let it go on."""
        if self.pause.paused:
            self.pause.resume()
        elif self.running:
            self.pause.pause()
        self.changed.emit()

    @Slot(object)
    def _tell(self, payload: object) -> None:
        if isinstance(payload, self._shows):
            self.latest = payload
            self.changed.emit()

    @Slot(object)
    def _finish(self, result: object) -> None:
        if result is not None:
            self.latest = result
        self._end()

    @Slot(object)
    def _fail(self, _error: Exception) -> None:
        self._end()

    def _end(self) -> None:
        self.running = False
        self.pause.resume()
        self.ended.emit()
        self.changed.emit()
