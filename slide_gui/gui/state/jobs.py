"""A job queue with one worker thread. Each job has a channel, and a new job replaces older jobs on its channel.

A channel is a name such as "fit" for jobs of which only the latest matters. The window's queue computes all
matrix products except very small ones, one job at a time. Callbacks run on the GUI thread; they are not called for
cancelled or replaced jobs. A `Task` runs jobs of one kind and holds their state.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from slide_gui.blas import set_threads
from slide_gui.progress import Cancelled, Progress, TimeLeft

_REDRAW_SECONDS = 0.04  # A job's `on_payload` is called at most once in this number of seconds.
_TITLE_SECONDS = 0.25  # The status bar shows a job only after it has run for this number of seconds.
_REST_MILLISECONDS = 100
# After an automatic job has interrupted a sweep or training, no other automatic job may interrupt it for at least this
# number of milliseconds.
_TURN_MILLISECONDS = 1000


@dataclass(frozen=True)
class JobStatus:
    """State of the running job, to be shown in the status bar.

    Attributes
    ----------
    fraction : float
        Finished fraction of the job, from 0 to 1.
    seconds_left : float or None
        Estimated remaining time; None if it is unknown.
    stop : callable
        Stops the job; called when the user clicks Cancel.
    """

    title: str
    fraction: float
    seconds_left: float | None
    stop: Callable[[], None]


@dataclass(frozen=True)
class UserMessage:
    """A message to the user about an error or an event.

    Attributes
    ----------
    remedy : str
        Text of the button that calls `run`; if it is empty, the message has no button.
    kind : {"error", "information"}
    details : str
        Details, such as a traceback, that the user can copy into a problem report.
    path : str
        Path of the file that the message is about, which the user can copy; empty for other messages.
    """

    title: str
    sentence: str
    remedy: str = ""
    run: Callable[[], object] = lambda: None
    kind: str = "error"
    details: str = ""
    path: str = ""


def sentence(error: Exception) -> str:
    """Return the message of an error as one sentence to show to the user."""
    # This program raises MemoryError itself, with a message for the user. NumPy raises a subclass with a technical
    # message, which is replaced.
    if isinstance(error, MemoryError) and not (type(error) is MemoryError and str(error)):
        return "There is not enough memory. Close other programs, or use fewer rows or features."
    # `str(error)` would add quotes to the message of a KeyError.
    message = error.args[0] if isinstance(error, KeyError) and error.args else error
    # `str(error)` would add a number such as "[Errno 28]" to the message of an OSError.
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = str(message).strip() or type(error).__name__
    return text if text.endswith((".", "!", "?")) else text + "."


@dataclass(eq=False)
class _Job(Progress):
    """A submitted job. It is also the `Progress` object that is passed to the function of the job."""

    queue: "JobQueue"
    number: int
    title: str
    channel: str
    function: Callable[[Progress], Any]
    on_result: Callable[[Any], None] | None
    on_payload: Callable[[Any], None] | None
    on_failure: Callable[[Exception], None] | None
    on_stop: Callable[[], None] | None
    failure: str
    background: bool
    automatic: bool
    restarts: bool
    fraction: float = 0.0
    payload: object = None
    awake: bool = False  # True while the GUI thread has not yet processed a signal of this job.
    seconds_left: float | None = None
    seconds_before: float = 0.0
    started: float = 0.0
    delivered: float = 0.0  # Time at which the GUI thread received the last payload.
    drained: float = 0.0
    future: Future[Any] | None = None
    unwanted: threading.Event = field(default_factory=threading.Event)
    yielding: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    time_left: TimeLeft = field(default_factory=TimeLeft)

    def report(self, fraction: float, payload: object = None) -> None:
        if self.unwanted.is_set() or self.yielding.is_set():
            raise Cancelled
        with self.lock:
            self.fraction = max(fraction, self.fraction)
            if payload is not None:
                self.payload = payload
                self.seconds_left = getattr(payload, "seconds_left", None)
                self.seconds_before = getattr(payload, "seconds_before", 0.0)
        self.queue._wake_up(self, urgent=payload is not None)

    def run(self) -> Any:
        self.started = time.monotonic()
        if self.unwanted.is_set() or self.yielding.is_set():
            raise Cancelled
        return self.function(self)

    @property
    def ended(self) -> bool:
        """True if the function of the job has returned a result or raised an exception."""
        return self.future is not None and self.future.done()

    def status(self) -> JobStatus:
        spent = time.monotonic() - self.started + self.seconds_before
        left = self.time_left.seconds(spent, self.fraction, self.seconds_left)
        return JobStatus(self.title, self.fraction, left, partial(self.queue.stop, self.number))


class JobQueue(QObject):
    """A job queue with one worker thread.

    Attributes
    ----------
    status : JobStatus or None
        The status that the signal `status_changed` reported last.

    Signals
    -------
    status_changed(object)
        The `JobStatus` of a job that has run for more than 0.25 s; None when no job is left.
    busy_changed()
        The property `busy` may have changed. The signal is emitted when `busy` has been stable for 100 ms.
    problem(object)
        The `UserMessage` about a job that failed.
    """

    status_changed = Signal(object)
    busy_changed = Signal()
    problem = Signal(object)
    # The signal has no Python object as an argument. Qt could release such an object in the wrong thread when it
    # discards a queued event.
    _wake = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slide-queue", initializer=set_threads)
        self._jobs: dict[int, _Job] = {}
        self._count = 0
        self._was_busy = False
        self.status: JobStatus | None = None
        self._wake.connect(self._drain, Qt.ConnectionType.QueuedConnection)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._drain)
        self._turn = QTimer(self, singleShot=True, interval=_TURN_MILLISECONDS)
        self._turn.timeout.connect(self._interrupt_requested)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._title = QTimer(self, singleShot=True, interval=round(1000 * _TITLE_SECONDS))
        self._title.timeout.connect(self._announce)
        self._rest.timeout.connect(self.busy_changed)

    @property
    def busy(self) -> bool:
        """True if a job with a title is running or waiting. Cancelled jobs do not count."""
        return any(job.title for job in self._jobs.values())

    def wants(self, channel: str) -> bool:
        """Return True if a job on this channel is running or waiting. Cancelled jobs do not count."""
        return any(job.channel == channel for job in self._jobs.values())

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
        automatic: bool = False,
        restarts: bool = False,
    ) -> int:
        """Run `function(progress)` on the worker thread after all jobs that are already in the queue.

        Every new job interrupts `background` jobs. A job that the user requested also interrupts `automatic` jobs. A
        job that is not a background job interrupts jobs for which `restarts` is True. Interrupted jobs start again
        after the new job, unless they are cancelled or replaced in the meantime.

        Parameters
        ----------
        title : str
            Title for the status bar. A job without a title is not shown, and does not make the queue `busy`.
        function : callable
            Called with a `Progress`. Its return value is passed to `on_result`. The payloads (intermediate results)
            that it reports are passed to `on_payload`. If a payload has an attribute `seconds_left`, this replaces the
            remaining time estimated from the finished fraction. The attribute `seconds_before` of a payload is the time
            for which a resumed job ran before its interruption.
        channel : str
            Name of the job's channel; the new job replaces older jobs on the same channel.
        on_result, on_payload, on_failure, on_stop : callable, optional
            Called on the GUI thread; `on_stop` is called after the user has stopped the job.
        failure : str
            Title of the message that `problem` emits if the job fails; if empty, `on_failure` must report the error.
        background : bool
            True if any new job may interrupt this job. The job must store its finished results itself, as a sweep does,
            because an interruption would discard them.
        automatic : bool
            True if the user did not request the job, for example the fit after a change of the noise level.
        restarts : bool
            True if little time is lost when the job is interrupted and started again, as in training.

        Returns
        -------
        int
            Number that identifies the job, for example as an argument of `cancel`.
        """
        self.cancel(channel=channel)
        self._count += 1
        callbacks = on_result, on_payload, on_failure, on_stop
        job = _Job(self, self._count, title, channel, function, *callbacks, failure, background, automatic, restarts)
        for other in self._jobs.values():
            if other.background or (other.automatic and not automatic) or (other.restarts and not background):
                other.yielding.set()
        self._jobs[job.number] = job
        self._start(job)
        self._announce()
        self._report_busy()
        return job.number

    def _report_busy(self) -> None:
        if self.busy != self._was_busy:
            self._was_busy = self.busy
            self._rest.start()

    def _start(self, job: _Job) -> None:
        job.yielding.clear()
        job.future = self._pool.submit(job.run)
        job.future.add_done_callback(lambda _: self._wake_up(job, urgent=True))

    def cancel(self, number: int | None = None, *, channel: str | None = None) -> None:
        """Cancel one job, the jobs on one channel, or all jobs. The callbacks of cancelled jobs are not called."""
        for job in list(self._jobs.values()):
            if number in (None, job.number) and channel in (None, job.channel):
                job.unwanted.set()
                if job.future is not None:
                    job.future.cancel()
                del self._jobs[job.number]
        self._announce()
        self._report_busy()

    def stop(self, number: int | None = None) -> None:
        """Cancel one job or all jobs at the user's request, and call the callback `on_stop` of each cancelled job."""
        jobs = [job for job in self._jobs.values() if number in (None, job.number)]
        self.cancel(number)  # Cancel the jobs first, so that jobs submitted by `on_stop` are not cancelled.
        for job in jobs:
            if job.on_stop is not None:
                job.on_stop()

    def close(self, *, finish: bool = False) -> None:
        """End the worker thread. Cancel all jobs, or if `finish` is True, complete them without calling callbacks."""
        if finish:
            self._pool.shutdown(wait=True)
        self.cancel()
        for timer in (self._timer, self._turn, self._rest, self._title):
            timer.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _wake_up(self, job: _Job, *, urgent: bool = False) -> None:
        """Emit a signal to the GUI thread, because a job has reported progress or ended.

        While an earlier signal of this job is waiting, emit another one only if `urgent` is True.
        """
        with job.lock:
            if (job.awake and not urgent) or job.unwanted.is_set():
                return
            job.awake = True
        self._wake.emit()

    @Slot()
    def _drain(self) -> None:
        """Deliver each job's latest payload, at most once in `_REDRAW_SECONDS`; finish ended jobs immediately."""
        for job in list(self._jobs.values()):
            if not job.awake or job.number not in self._jobs:  # A callback of another job may have cancelled this job.
                continue
            latest = job.drained if job.payload is None else job.delivered
            wait = latest + _REDRAW_SECONDS - time.monotonic()
            if wait > 0 and not job.ended:
                if not self._timer.isActive():
                    self._timer.start(max(1, round(wait * 1000)))
                continue
            with job.lock:
                job.awake = False
                payload, job.payload = job.payload, None
            # Read `ended` after setting `awake` to False. In the opposite order, the end of the job could be missed.
            ended = job.ended
            job.drained = time.monotonic()
            job.delivered = job.delivered if payload is None else job.drained
            if payload is not None and job.on_payload is not None:
                job.on_payload(payload)
            # The callback `on_payload` may have cancelled the job.
            if ended and self._jobs.get(job.number) is job:
                self._finish(job)
            self._announce()

    def _finish(self, job: _Job) -> None:
        assert job.future is not None
        error = job.future.exception()
        if isinstance(error, Cancelled) and (job.background or job.automatic or job.restarts):
            # The job starts again after the jobs that interrupted it.
            self._jobs[job.number] = self._jobs.pop(job.number)
            job.fraction, job.seconds_left, job.time_left = 0.0, None, TimeLeft()
            self._start(job)
            if not job.background:
                self._turn.start()
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
                self.problem.emit(UserMessage(job.failure, sentence(error)))
        self._report_busy()

    @Slot()
    def _interrupt_requested(self) -> None:
        """Interrupt restartable jobs that the user requested, such as training, if automatic jobs are in the queue."""
        if any(job.automatic and not job.background for job in self._jobs.values()):
            for job in self._jobs.values():
                if job.restarts:
                    job.yielding.set()

    @Slot()
    def _announce(self) -> None:
        job = next((job for job in self._jobs.values() if job.title), None)
        if job is not None and job.started and time.monotonic() - job.started > _TITLE_SECONDS:
            self.status = job.status()
            self.status_changed.emit(self.status)
        elif job is not None and not self._title.isActive():
            self._title.start()  # Check again later, because some jobs do not report progress for several seconds.
        elif self.status is not None and job is None:
            self.status = None
            self.status_changed.emit(None)


class Task(QObject):
    """Runs jobs of one kind for a controller, at most one at a time, and holds their state.

    Parameters
    ----------
    queue : JobQueue
        The queue that runs the jobs, unless another queue is given to `start`.
    channel : str
        Channel of the jobs, as in `JobQueue.submit`.
    title : str
        Title of the jobs for the status bar.
    failure : str
        Title of the error message if a job fails.
    shows : type
        Type of the payloads (intermediate results) that are stored in `latest`; payloads of any other type are ignored.
    parent : QObject
        Qt parent, which owns the task.
    background, automatic : bool
        As in `JobQueue.submit`.

    Attributes
    ----------
    latest : object
        First the value given to `start`, then the latest payload of the job, and finally the job's result if it is not
        None.
    stopped : bool
        True if the last job was stopped.

    Signals
    -------
    ended()
        The job finished, failed or was stopped; emitted before `changed`.
    changed()
        One of the attributes `running`, `latest` and `paused` changed.
    """

    ended = Signal()
    changed = Signal()

    def __init__(
        self,
        queue: JobQueue,
        channel: str,
        title: str,
        failure: str,
        shows: type,
        parent: QObject,
        background: bool = False,
        automatic: bool = False,
    ) -> None:
        super().__init__(parent)
        self._queue, self._channel, self._title, self._failure = queue, channel, title, failure
        self._shows = shows
        self._background, self._automatic, self._used = background, automatic, queue
        self.running = self.stopped = False
        self.latest: Any = None
        self.pause = threading.Event()

    def start(self, work: Callable[[Progress], Any], latest: Any = None, *, queue: JobQueue | None = None) -> None:
        """Start a job that runs `work`.

        Parameters
        ----------
        latest : object, optional
            Value of the attribute `latest` until the first payload arrives. By default, the previous value is retained.
        queue : JobQueue, optional
            The queue that runs the job; by default, the queue given to the constructor.
        """
        self.running, self.stopped, self.latest = True, False, self.latest if latest is None else latest
        self.pause.clear()
        self._used = queue or self._queue
        self._used.submit(
            self._title,
            work,
            channel=self._channel,
            on_payload=self._take_payload,
            on_result=self._finish,
            on_failure=self._end,
            on_stop=self.stop,
            failure=self._failure,
            background=self._background and queue is None,
            automatic=self._automatic,
            restarts=not self._automatic,
        )
        self.changed.emit()

    def stop(self, *, forget: bool = False) -> None:
        """Stop the job. If `forget` is True, also set `latest` to None and `stopped` to False."""
        known, self.latest = self.latest, None if forget else self.latest
        self.stopped = (self.running or self.stopped) and not forget
        if self.running:
            self._used.cancel(channel=self._channel)
            self._end()
        elif self.latest is not known:
            self.changed.emit()

    @property
    def paused(self) -> bool:
        """True if the running job has been asked to pause."""
        return self.running and self.pause.is_set()

    @Slot()
    def toggle_pause(self) -> None:
        """Set the event `pause`, which asks the running job to pause, or clear it, which lets the job resume."""
        if self.pause.is_set():
            self.pause.clear()
        elif self.running:
            self.pause.set()
        self.changed.emit()

    def _take_payload(self, payload: object) -> None:
        if isinstance(payload, self._shows):
            self.latest = payload
            self.changed.emit()

    def _finish(self, result: object) -> None:
        if result is not None:
            self.latest = result
        self._end()

    def _end(self, _error: Exception | None = None) -> None:
        self.running = False
        self.pause.clear()
        self.ended.emit()
        self.changed.emit()
