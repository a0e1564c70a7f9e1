"""A repeatable job on one channel of the queue, with its state, its last report and a pause."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.gui.state.jobs import JobQueue
from slide_gui.progress import Progress


class Task(QObject):
    """One kind of job of a controller, of which at most one runs at a time.

    Parameters
    ----------
    queue : JobQueue
        Job queue.
    channel : str
        Channel of the queue.
    title : str
        Title for the status bar.
    failure : str
        Title of the problem if the job fails.
    shows : type or tuple of type
        Types of its own reports; reports of its parts are ignored.
    parent : QObject
        Owner.
    background : bool
        As in `JobQueue.submit`.

    Signals
    -------
    ended()
        The job finished, failed or was stopped; emitted before `changed`.
    changed()
        `running`, `latest` or `paused` changed.
    """

    ended = Signal()
    changed = Signal()

    def __init__(
        self,
        queue: JobQueue,
        channel: str,
        title: str,
        failure: str,
        shows: type | tuple[type, ...],
        parent: QObject,
        background: bool = False,
    ) -> None:
        super().__init__(parent)
        self._queue, self._channel, self._title, self._failure = queue, channel, title, failure
        self._shows = shows
        self._background, self._used = background, queue
        self.running = False
        self.latest: Any = None
        """Last report of the last job, in the end its result; at first the value given at its start."""
        self.pause = Event()

    def start(self, work: Callable[[Progress], Any], latest: Any = None, *, queue: JobQueue | None = None) -> None:
        """Run `work` in the window's queue or another; `latest`, else the previous report, stays until a new one."""
        self.running, self.latest = True, self.latest if latest is None else latest
        self.pause.clear()
        self._used = queue or self._queue
        self._used.submit(
            self._title,
            work,
            channel=self._channel,
            on_payload=self._tell,
            on_result=self._finish,
            on_failure=self._end,
            on_stop=self._end,
            failure=self._failure,
            background=self._background and queue is None,
        )
        self.changed.emit()

    def stop(self, *, forget: bool = False) -> None:
        """Stop the job; `latest` stays unless it is to be dropped."""
        known, self.latest = self.latest, None if forget else self.latest
        if self.running:
            self._used.cancel(channel=self._channel)
            self._end()
        elif self.latest is not known:
            self.changed.emit()

    @property
    def paused(self) -> bool:
        """True if the job is paused."""
        return self.running and self.pause.is_set()

    @Slot()
    def toggle_pause(self) -> None:
        """Pause the job at its next report, or resume it."""
        if self.pause.is_set():
            self.pause.clear()
        elif self.running:
            self.pause.set()
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

    def _end(self, _error: Exception | None = None) -> None:
        self.running = False
        self.pause.clear()
        self.ended.emit()
        self.changed.emit()
