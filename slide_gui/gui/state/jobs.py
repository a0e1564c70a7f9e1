"""One compute lane: a single worker thread, progress as a latest-wins mailbox, cancel, superseding.

Everything that multiplies matrices runs here, one job at a time. A job's callbacks are called on the GUI thread, and
only while the job is wanted: a cancelled or superseded job delivers nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from slide_gui.blas import set_threads
from slide_gui.progress import Cancelled, Progress, TimeLeft

__all__ = ["JobStatus", "Lane", "Problem", "sentence"]

_REDRAW_SECONDS = 0.04  # a job's payloads reach the GUI at most this often, its first one at once
_TITLE_SECONDS = 0.25  # shorter jobs are not announced


@dataclass(frozen=True)
class JobStatus:
    """What the status bar shows of the running job.

    Attributes
    ----------
    number : int
        Of the job, for `Lane.stop`.
    fraction : float
        Share done, 0 to 1.
    seconds_left : float or None
        None while it cannot be told yet.
    """

    title: str
    fraction: float
    seconds_left: float | None
    number: int = 0


@dataclass(frozen=True)
class Problem:
    """Something that went wrong, or that a person is to know, as it should be read.

    Attributes
    ----------
    remedy : str
        What a button says that calls `run`; no button if empty.
    kind : {"error", "information"}
    """

    title: str
    sentence: str
    remedy: str = ""
    run: Callable[[], object] = lambda: None
    kind: str = "error"


def sentence(error: Exception) -> str:
    """Return what an error says as one sentence for a person."""
    if isinstance(error, MemoryError) and not (type(error) is MemoryError and str(error)):  # NumPy's is another
        return "There is not enough memory for this; close other programs, or use fewer rows or features."
    said = error.args[0] if isinstance(error, KeyError) and error.args else error  # a KeyError quotes what it says
    if isinstance(error, OSError) and error.strerror:  # str() begins with "[Errno 28]", or "[Errno None]"
        said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = str(said).strip() or type(error).__name__
    return text if text.endswith((".", "!", "?")) else text + "."


class _Job(Progress):
    """One request, and the progress that its function reports to."""

    def __init__(
        self,
        lane: Lane,
        number: int,
        title: str,
        channel: str,
        function: Callable[[Progress], Any],
        callbacks: tuple[Any, ...],
        failure: str,
        background: bool,
    ) -> None:
        self.lane, self.number, self.title, self.channel, self.function = lane, number, title, channel, function
        self.on_result, self.on_payload, self.on_failure, self.on_stop = callbacks
        self.failure, self.background = failure, background
        self.unwanted = threading.Event()
        self.yielding = threading.Event()
        self.lock = threading.Lock()
        self.fraction = 0.0
        self.payload: object = None
        self.awake = False  # the GUI thread has been told that there is news
        self.seconds_left: float | None = None
        self.time_left = TimeLeft()
        self.started = self.delivered = 0.0
        self.future: Future[Any] | None = None

    def report(self, fraction: float, payload: object = None) -> None:
        if self.unwanted.is_set() or self.yielding.is_set():
            raise Cancelled
        with self.lock:
            self.fraction = max(fraction, self.fraction)
            if payload is not None:
                self.payload = payload
                self.seconds_left = getattr(payload, "seconds_left", None)
        self.lane._wake_up(self)

    def run(self) -> Any:
        self.started = time.monotonic()
        if self.unwanted.is_set() or self.yielding.is_set():
            raise Cancelled
        return self.function(self)

    @property
    def ended(self) -> bool:
        """Whether the function has returned or raised."""
        return self.future is not None and self.future.done()

    def status(self) -> JobStatus:
        spent = time.monotonic() - self.started
        left = self.time_left.seconds(spent, self.fraction, self.seconds_left)
        return JobStatus(self.title, self.fraction, left, self.number)


class Lane(QObject):
    """The one worker thread of the window.

    Signals
    -------
    status_changed(object)
        A `JobStatus` while a job that takes longer than a moment runs, None when there is none.
    idle()
        The last job has ended and delivered.
    busy_changed()
        There is a job where there was none, or none any more.
    problem(object)
        The `Problem` of a job that failed.
    """

    status_changed = Signal(object)
    idle = Signal()
    busy_changed = Signal()
    problem = Signal(object)
    _wake = Signal()  # no payload: a queued Python object would be let go of wherever Qt drops the event

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slide-lane", initializer=set_threads)
        self._jobs: dict[int, _Job] = {}
        self._count = 0
        self._shown = self._was_busy = False
        self._wake.connect(self._drain, Qt.ConnectionType.QueuedConnection)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._drain)

    @property
    def busy(self) -> bool:
        """Whether a wanted job is running or waiting."""
        return bool(self._jobs)

    def wants(self, number: int) -> bool:
        """Whether this job is running or waiting, and was not cancelled."""
        return number in self._jobs

    def submit(
        self,
        title: str,
        function: Callable[[Progress], Any],
        *,
        channel: str,
        on_result: Callable[[Any], None] | None = None,
        on_payload: Callable[[Any], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        on_stop: Callable[[], None] | None = None,
        failure: str = "",
        background: bool = False,
    ) -> int:
        """Run `function(progress)` on the worker thread after the jobs already there.

        Parameters
        ----------
        title : str
            For the status bar.
        function : callable
            Gets a `Progress`; what it returns goes to `on_result`, what it reports as payload to `on_payload`. If
            the payload has an attribute `seconds_left`, that is the time left, not what the share done says.
        channel : str
            A newer request on the same channel supersedes the older ones.
        on_result, on_payload, on_failure, on_stop : callable, optional
            Called on the GUI thread; `on_stop` after the user has stopped the job.
        failure : str
            Title of the `problem` that is told when it fails; without it `on_failure` says what there is to say.
        background : bool
            Give way to every job that comes after, and begin anew once the lane is free: for work that keeps what
            it has finished, such as a sweep.

        Returns
        -------
        int
            The job's number, for `cancel`.
        """
        self._drop(channel=channel)
        self._count += 1
        job = _Job(
            self, self._count, title, channel, function, (on_result, on_payload, on_failure, on_stop), failure,
            background,
        )  # fmt: skip
        for other in self._jobs.values():
            if other.background:
                other.yielding.set()
        self._jobs[job.number] = job
        self._start(job)
        self._tell_whether_busy()
        return job.number

    def _tell_whether_busy(self) -> None:
        if self.busy != self._was_busy:
            self._was_busy = self.busy
            self.busy_changed.emit()

    def _start(self, job: _Job) -> None:
        job.yielding.clear()
        job.future = self._pool.submit(job.run)
        job.future.add_done_callback(lambda _: self._wake_up(job))

    def cancel(self, number: int | None = None, *, channel: str | None = None) -> None:
        """Drop one job, the jobs of one channel, or all; nothing of them is delivered any more."""
        self._drop(number, channel=channel)
        self._tell_whether_busy()

    def stop(self, number: int) -> None:
        """Cancel the one job that the user stopped, and call its `on_stop`."""
        job = self._jobs.get(number)
        if job is not None:
            self.cancel(number)
            if job.on_stop is not None:
                job.on_stop()

    def _drop(self, number: int | None = None, *, channel: str | None = None) -> None:
        for job in list(self._jobs.values()):
            if number in (None, job.number) and channel in (None, job.channel):
                job.unwanted.set()
                if job.future is not None:
                    job.future.cancel()
                del self._jobs[job.number]
        self._announce()

    def close(self, *, finish: bool = False) -> None:
        """Cancel everything, or let the worker `finish` without delivering anything, and wait for it to end."""
        if finish:
            self._pool.shutdown(wait=True)
        self.cancel()
        self._timer.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _wake_up(self, job: _Job) -> None:
        """From the worker: one wake signal at a time for each job."""
        with job.lock:
            if job.awake or job.unwanted.is_set():
                return
            job.awake = True
        self._wake.emit()

    @Slot()
    def _drain(self) -> None:
        """Deliver what the jobs have said; of each at most every `_REDRAW_SECONDS`, its end at once."""
        for job in list(self._jobs.values()):
            if not job.awake or not self.wants(job.number):  # an earlier one's receiver may have dropped it
                continue
            wait = job.delivered + _REDRAW_SECONDS - time.monotonic()
            if wait > 0 and not job.ended:
                if not self._timer.isActive():
                    self._timer.start(max(1, round(wait * 1000)))
                continue
            with job.lock:
                job.awake = False
                payload, job.payload = job.payload, None
            ended = job.ended  # asked again: an end that came before the lines above has woken nobody
            job.delivered = time.monotonic()
            if payload is not None and job.on_payload is not None:
                job.on_payload(payload)
            if ended and self._jobs.get(job.number) is job:  # a payload's receiver may have dropped it
                self._finish(job)
            self._announce()

    def _finish(self, job: _Job) -> None:
        assert job.future is not None
        error = job.future.exception()
        if isinstance(error, Cancelled) and job.background:
            self._jobs[job.number] = self._jobs.pop(job.number)  # behind the jobs it gave way to
            self._start(job)
            return
        del self._jobs[job.number]
        if error is None:
            if job.on_result is not None:
                job.on_result(job.future.result())
        elif not isinstance(error, Cancelled):
            if not isinstance(error, Exception) or not (job.failure or job.on_failure):
                raise error
            if job.on_failure is not None:
                job.on_failure(error)
            if job.failure:
                self.problem.emit(Problem(job.failure, sentence(error)))
        self._tell_whether_busy()
        if not self._jobs:
            self.idle.emit()

    def _announce(self) -> None:
        job = next(iter(self._jobs.values()), None)
        if job is not None and job.started and time.monotonic() - job.started > _TITLE_SECONDS:
            self._shown = True
            self.status_changed.emit(job.status())
        elif self._shown and job is None:
            self._shown = False
            self.status_changed.emit(None)
