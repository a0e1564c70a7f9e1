"""Compute many runs in one loop, either in this process or on a cluster.

The loop takes known results from the store and submits all other requested runs to an executor. If a run depends on
another run, it is submitted after the other run is complete. The loop stores every result as soon as it is available.
Further runs can be requested at any time. For example, once all candidates are complete, one is selected, and its run
on the test set is requested. Only this process writes to the store.

On a cluster, a run is a task whose key contains the hash of the run. The cluster therefore never computes the same run
twice at the same time. Each data set is sent to the cluster once.
"""

import heapq
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

from slide_gui.blas import limit_threads
from slide_gui.core.workers import ClusterError, TaskProgress, check_alive, sent
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape
from slide_gui.experiments.runs.fitting import Networks, Reuse, shared_networks
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import RunProgress, run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import DamagedRun, RunStore
from slide_gui.experiments.sweeps.cluster import ATTEMPTS, CONNECTING, Cluster, Versions, refuse_other, versions_here
from slide_gui.progress import NO_PROGRESS, Cancelled, Listener, Progress, leave_out

if TYPE_CHECKING:
    from distributed import Future

POLL_SECONDS = 0.05  # Interval in seconds between checks for results, cancellation and the end of a pause.
_BETWEEN_REPORTS = 0.5  # Interval in seconds between progress reports of a task.

# Maximum number of data sets that the workers hold in memory. Two are needed, because the last runs on one data set may
# still be active when the first runs on the next data set start.
_DATA_SETS = 2
# On a cluster, the priority of a run is `_Pending.chain_seconds` minus `_RANK` times the rank of the run. As all
# durations are shorter than `_RANK` seconds, the rank takes precedence over the duration.
_RANK = 1e9
_TOPIC = "slide-gui"
_AGAIN = "completed results are stored; start the same computation again to continue"


@dataclass(frozen=True, eq=False)
class RunRequest:
    """A run to compute.

    Attributes
    ----------
    spec : RunSpec
        The specification of the run, as `RunSpec.checked` returns it.
    dataset : Dataset
        Data set of the run. If this data set holds out other rows than `spec` requires, the required rows are held out
        before the run.
    rank : int
        Runs with a lower rank start first.
    deepest : int or None
        If this process computes the run, it fits at least this number of layers, so that later runs on the same data
        can reuse them. If None, the run neither reuses layers nor shares its own, so that its whole feature generation
        is timed.
    """

    spec: RunSpec
    dataset: Dataset
    rank: int = 0
    deepest: int | None = 0


class InlineExecutor:
    """Computes runs in this process, one after another.

    Attributes
    ----------
    parallel : bool
        True if the executor computes several runs at once, as `ClusterExecutor` does. In this case, runs with the same
        `RunRequest.rank` start in descending order of `_Pending.chain_seconds`. Otherwise, they start in the order in
        which they were requested.
    n_slots : int
        Number of runs that the executor can compute at once.
    """

    parallel = False
    n_slots = 1

    def __init__(self) -> None:
        self._reuse = Reuse()
        self._submitted: tuple[RunRequest, RunResult | None] | None = None

    @property
    def is_free(self) -> bool:
        """True if no submitted run is waiting to be computed."""
        return self._submitted is None

    def submit(self, request: RunRequest, neighbour: RunResult | None, seconds: float) -> None:
        """Submit a run.

        If the submitted run starts from the kernel widths of another run, `neighbour` is the result of that other run,
        otherwise None. `seconds` is the `_Pending.chain_seconds` of the submitted run. Only `ClusterExecutor` uses this
        argument.
        """
        self._submitted = request, neighbour

    def completed(self, progress: Progress) -> RunResult | None:
        """Compute the submitted run, report its progress and return its result. Return None if no run was submitted."""
        if self._submitted is None:
            return None
        request, neighbour = self._submitted
        self._submitted = None
        reuse = self._reuse
        if request.deepest is None:
            reuse = Reuse(networks=reuse.networks)
        else:
            reuse.deepest = request.deepest
        reuse.results = {} if neighbour is None else {neighbour.hash: neighbour}
        progress.report(0.0, RunProgress())
        return run(request.dataset, request.spec, progress=progress, reuse=reuse)

    def close(self) -> None:
        """Do nothing, because no run is active between two calls of `completed`."""


@dataclass(eq=False)
class _Task:
    """A run on the cluster, with its progress and the number of times that it was lost."""

    request: RunRequest
    neighbour: RunResult | None
    priority: float
    future: "Future | None" = None
    fraction: float = 0.0
    n_lost: int = 0


class ClusterExecutor:
    """Computes runs on the workers of a cluster. If a worker fails, its runs are computed again."""

    parallel = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._client = cluster, cluster.client
        self._tasks: dict[str, _Task] = {}
        self._done: SimpleQueue[tuple[str, Future]] = SimpleQueue()
        self._data: dict[str, Future] = {}
        self._client.subscribe_topic(_TOPIC, self._note_fraction)

    @property
    def n_slots(self) -> int:
        """Number of tasks that the workers compute at the same time."""
        return self._cluster.n_slots

    @property
    def is_free(self) -> bool:
        """True if another run can be submitted, that is, if fewer than two runs per task slot are submitted.

        With two runs per slot, a worker that completes a run can start its next run at once. Even while there are no
        workers, up to two runs are submitted, because workers may join later.
        """
        return len(self._tasks) < 2 * max(self.n_slots, 1)

    def submit(self, request: RunRequest, neighbour: RunResult | None, seconds: float) -> None:
        """Submit a run. Among runs with the same `RunRequest.rank`, the run with the largest `seconds` has priority.

        The arguments are those of `InlineExecutor.submit`.
        """
        self._tasks[request.spec.hash] = task = _Task(request, neighbour, seconds - request.rank * _RANK)
        self._start(task)

    def _start(self, task: _Task) -> None:
        spec = task.request.spec
        # Dask remembers the key of a lost task, so the repeated task needs a new key.
        key = f"slide-run-{spec.hash}" + (f"-again-{task.n_lost}" if task.n_lost else "")
        place = self._cluster.places.get(shared_networks(spec))
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        data, versions = self._data_of(task.request.dataset), versions_here()
        task.fraction = 0.0
        task.future = future = self._client.submit(
            _run_there, data, spec, task.neighbour, versions, key=key, priority=task.priority, **where
        )
        future.add_done_callback(lambda future: self._done.put((spec.hash, future)))

    def completed(self, progress: Progress) -> RunResult | None:
        """Return the result of the next run, or None if it was lost or no run ends within `POLL_SECONDS`."""
        spec_hash, future = "", None
        with suppress(Empty):
            spec_hash, future = self._done.get(timeout=POLL_SECONDS)
        progress.report(sum(each.fraction for each in self._tasks.values()))
        task = self._tasks.get(spec_hash)
        if task is None or future is None or future is not task.future:
            check_alive(self._client)
            return None
        result = self._result(task, future)
        if result is None:
            self._start(task)
            return None
        shared = shared_networks(task.request.spec)
        if shared:
            with suppress(Exception):  # The method `who_has` fails if the scheduler is no longer running.
                self._cluster.places[shared] = next(iter(self._client.who_has([future]).values()))[0]
        del self._tasks[spec_hash]
        return result

    def _result(self, task: _Task, future: "Future") -> RunResult | None:
        """Return the result of a task that has ended, or None if the run was lost and must be repeated."""
        from distributed import CancelledError, KilledWorker

        name = f"run {task.request.spec.hash[:12]}"
        try:
            result: RunResult = future.result(timeout=CONNECTING)
        except ClusterError:
            raise
        except KilledWorker:
            raise ClusterError(
                f"several workers terminated while computing {name}, probably because they ran out of memory; "
                f"give the workers more memory, or use less data; {_AGAIN}"
            ) from None
        except (Cancelled, CancelledError, OSError) as error:
            check_alive(self._client)
            task.n_lost += 1
            if task.n_lost > ATTEMPTS:
                raise ClusterError(f"{name} was lost {task.n_lost} times ({error}); {_AGAIN}") from None
            return None
        # The workers may have received the same rows under a different name, so the result gets the name of the
        # requested data set.
        dataset = task.request.dataset
        return replace(result, dataset=dataset.name, generated=dataset.generated)

    def close(self) -> None:
        """Cancel the active runs, and release the data sets on the workers."""
        with suppress(Exception):  # If the scheduler is no longer running, there is nothing to cancel.
            self._client.unsubscribe_topic(_TOPIC)
            self._client.cancel([task.future for task in self._tasks.values()])
        self._tasks.clear()
        self._data.clear()

    def _data_of(self, dataset: Dataset) -> "Future":
        """Return a Dask future for a data set. Send the data set to the cluster if the workers do not have it.

        For Dask, the data set is the result of a task. If all workers that hold the data set are lost, the scheduler
        repeats this task. If this process releases the future, the data set stays on the workers until the runs that
        use it are complete.
        """
        fingerprint = dataset.fingerprint
        if fingerprint not in self._data:
            while len(self._data) >= _DATA_SETS:
                del self._data[next(iter(self._data))]
            self._data[fingerprint] = sent(self._client, dataset, f"slide-data-{fingerprint}")
        return self._data[fingerprint]

    def _note_fraction(self, event: Any) -> None:
        """Record the progress of a run. The Dask client calls this method in a separate thread."""
        spec_hash, fraction = event[1]
        task = self._tasks.get(spec_hash)
        if task is not None:
            task.fraction = fraction


@lru_cache(maxsize=_DATA_SETS)
def networks_here(_fingerprint: str) -> Networks:
    """Return this process's cache of autoencoders for a data set. Only the two most recently used caches are kept."""
    return Networks()


def _run_there(dataset: Dataset, spec: RunSpec, near: RunResult | None, versions: Versions) -> RunResult:
    """Compute a run on a worker."""
    progress = _RunProgress(spec.hash)
    limit_threads(1)
    refuse_other(progress.worker.address, versions_here(), versions)
    reuse = Reuse(results={} if near is None else {near.hash: near}, networks=networks_here(spec.fingerprint))
    return run(dataset, spec, progress=progress, reuse=reuse)


class _RunProgress(TaskProgress):
    """Progress of a run on a worker. It sends the completed fraction to the Dask client about every 0.5 s."""

    def __init__(self, spec_hash: str) -> None:
        super().__init__()
        self._hash, self._reported = spec_hash, time.monotonic()

    def report(self, fraction: float, payload: object = None) -> None:
        """Raise `Cancelled` if the run was cancelled. Otherwise, send its progress to the Dask client."""
        super().report(fraction)
        now = time.monotonic()
        if now - self._reported > _BETWEEN_REPORTS:
            self._reported = now
            # The function log_event cannot send NumPy numbers, so the fraction is converted to a Python float.
            self.worker.log_event(_TOPIC, (self._hash, float(fraction)))


@dataclass(eq=False)
class _Pending:
    """A run without a result yet: a requested run, or a run whose kernel widths a requested run needs as a start.

    Attributes
    ----------
    request : RunRequest
        The request with the specification and the data of the run.
    kind : RunKind
        Properties of the run from which its duration is estimated.
    wanted : bool
        True if the run was requested. False if the run is computed only because another run starts from its kernel
        widths.
    dependents : list of str
        Hashes of the pending runs that cannot start until this run is complete, as determined by `RunLoop._run_before`.
    chain_seconds : float
        Estimated duration, in seconds, of the longest chain of runs that begins with this run. In a chain, each run
        waits for the previous run.
    order : float
        Among runs with the same `RunRequest.rank`, the run with the smallest `order` starts first.
    """

    request: RunRequest
    kind: RunKind
    wanted: bool = False
    dependents: list[str] = field(default_factory=list)
    chain_seconds: float = 0.0
    order: float = 0.0


class RunLoop(AbstractContextManager["RunLoop"]):
    """Yields the results of requested runs: first the stored results, then each remaining result once it is computed.

    Runs can be requested before and during the iteration. If a requested run was deleted from the store, the deletion
    is undone. If the stored result of a run is damaged, the run is computed again and the damage is reported in
    `faults`. At the end of a `with` block, the loop cancels the runs that are still active.

    Parameters
    ----------
    store : RunStore, optional
        Store that was opened in the thread of the loop.
    cluster : Cluster, optional
        Computes the missing runs instead of this process.
    progress : Progress
        Receives the sum of the completed fractions of the active runs and, if this process computes the runs, the
        `RunProgress` of the active run. The receiver can cancel the loop at every report.
    pause : threading.Event, optional
        While the event is set, the active run of this process waits, and no new run starts. Any thread may set the
        event.

    Attributes
    ----------
    faults : list of str
        Messages about damaged stored runs.
    live : RunProgress or None
        Progress of the run that this process is computing. None if no run is active, or if a cluster computes the runs.

    Raises
    ------
    DataError, ValueError, MemoryError
        If the function `run` raises such an error during the iteration.
    ClusterError
        If the connection to the scheduler is lost, if a worker has other library versions than this process, or if a
        run is lost repeatedly.
    Cancelled
        If `progress` cancels the loop.
    """

    def __init__(
        self,
        store: RunStore | None = None,
        cluster: Cluster | None = None,
        *,
        progress: Progress = NO_PROGRESS,
        pause: Event | None = None,
    ) -> None:
        self._executor = InlineExecutor() if cluster is None else ClusterExecutor(cluster)
        self._store, self._progress = store, progress
        self._pause = Event() if pause is None else pause
        self.cost = CostModel()
        self.faults: list[str] = []
        self.live: RunProgress | None = None
        self.fraction = self._reported = 0.0
        self._expected: Sequence[RunKind] = ()
        self._incoming: deque[RunRequest] = deque()
        # Maps the hash of each run without a result to its `_Pending` object.
        self._pending: dict[str, _Pending] = {}
        self._new: list[str] = []  # Hashes of pending runs to which `_order_new` has not assigned an `order` yet.
        self._n_ordered = 0
        self._active: dict[str, None] = {}
        self._ready: list[tuple[int, float, str]] = []
        # Maps each key of `shared_networks` to the hash of the last run that was added with this key. Runs with the
        # same key share autoencoders.
        self._latest: dict[str, str] = {}
        # Results by run hash. They are kept in this dictionary only if there is no store.
        self._results: dict[str, RunResult] = {}
        # Number of pending and expected runs of each `RunKind`. `seconds_left` counts the runs again if this counter is
        # empty.
        self._kinds: Counter[RunKind] = Counter()
        self._seconds_left: float | None = None
        self._started = time.monotonic()

    def __exit__(self, *_error: object) -> None:
        self._executor.close()

    def request(self, requests: Sequence[RunRequest]) -> None:
        """Request runs.

        Runs with the most layers of autoencoders come first, because runs with fewer layers reuse the lowest of these
        layers.
        """
        self._incoming += sorted(requests, key=lambda each: 0 if each.spec.sda is None else -each.spec.layers)

    def __iter__(self) -> Iterator[RunResult]:
        while self._incoming or self._pending:
            result = self._take(self._incoming.popleft()) if self._incoming else self._compute()
            if result is not None:
                yield result

    @property
    def active(self) -> str:
        """Hash of the run that this process is computing. Empty if there is none, or if a cluster computes the runs."""
        return "" if self._executor.parallel else next(iter(self._active), "")

    def expect(self, kinds: Sequence[RunKind]) -> None:
        """Announce the kinds of runs that will be requested later, so that `seconds_left` includes these runs."""
        self._expected, self._kinds = kinds, Counter()

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until all requested and expected runs are complete.

        None until the first requested runs have been looked up in the store.
        """
        if self._incoming:
            return self._seconds_left
        n_left = len(self._pending) + len(self._expected)
        if not n_left:
            return 0.0
        if not self._kinds:
            self._kinds = Counter([*(each.kind for each in self._pending.values()), *self._expected])
        run = next(iter(self._active or self._pending), None)
        first = self._expected[0] if run is None else self._pending[run].kind
        reported = None if self.live is None else self.live.seconds_left
        seconds = self.cost.left(self._kinds, first, self.fraction, time.monotonic() - self._started, reported)
        self._seconds_left = seconds / max(min(self._executor.n_slots, n_left), 1)
        return self._seconds_left

    # Requests

    def _take(self, request: RunRequest) -> RunResult | None:
        """Return the stored result of a requested run. If there is none, add the run to the pending runs."""
        self._report(self.fraction)
        spec = request.spec
        result = None if spec.hash in self._pending else self._stored(spec)
        if result is None:
            self._add(request).wanted = True
        else:
            self.cost.add(self._kind(request), result.seconds)
        return result

    def _stored(self, spec: RunSpec) -> RunResult | None:
        if self._store is None:
            return self._results.get(spec.hash)
        try:
            return self._store.take(spec)
        except KeyError:
            return None
        except DamagedRun as error:
            self.faults.append(str(error))
            return None

    def _add(self, request: RunRequest) -> _Pending:
        """Add a run to the pending runs, and return its `_Pending` object.

        If the run starts from the kernel widths of another run that has no result yet, the other run is added first.
        """
        spec_hash, near = request.spec.hash, request.spec.neighbour
        if spec_hash not in self._pending:
            if near is not None and near.hash not in self._pending and self._stored(near) is None:
                self._add(replace(request, spec=near))
            self._pending[spec_hash] = _Pending(request, self._kind(request))
            self._new.append(spec_hash)
            self._kinds.clear()
        return self._pending[spec_hash]

    def _kind(self, request: RunRequest) -> RunKind:
        return RunKind.of(request.spec, RunShape.of(request.dataset))

    # Order

    def _order_new(self) -> None:
        """Set the `order` of all new pending runs, and mark those that wait for no other run as ready to start."""
        new, self._new = self._new, []
        before = {each: self._run_before(self._pending[each].request.spec) for each in new}
        for spec_hash, first in before.items():
            if first is not None:
                self._pending[first].dependents.append(spec_hash)
        # In `new`, each run comes before its dependents. The `chain_seconds` of a run are computed from those of its
        # dependents, so the runs are visited in reverse order.
        for spec_hash in reversed(new):
            pending = self._pending[spec_hash]
            after = max((self._pending[each].chain_seconds for each in pending.dependents), default=0.0)
            pending.chain_seconds = pending.kind.typical + after
        for spec_hash, first in before.items():
            pending = self._pending[spec_hash]
            self._n_ordered += 1
            pending.order = -pending.chain_seconds if self._executor.parallel else self._n_ordered
            if first is None:
                self._make_ready(spec_hash)

    def _run_before(self, spec: RunSpec) -> str | None:
        """Return the hash of the pending run for which the given run must wait, or None if there is none.

        A run waits for the run from whose kernel widths it starts. Otherwise, it waits for the most recently added run
        that shares its autoencoders. The worker of that run then has these autoencoders in its cache.
        """
        shared, first = shared_networks(spec), None
        if spec.neighbour is not None and spec.neighbour.hash in self._pending:
            first = spec.neighbour.hash
        elif self._latest.get(shared, "") in self._pending:
            first = self._latest[shared]
        if shared:
            self._latest[shared] = spec.hash
        return first

    def _make_ready(self, spec_hash: str) -> None:
        pending = self._pending[spec_hash]
        heapq.heappush(self._ready, (pending.request.rank, pending.order, spec_hash))

    # Computation

    def _compute(self) -> RunResult | None:
        """Submit ready runs. Return the next result of a requested run, or None if there is none yet."""
        self._order_new()
        while self._ready and self._executor.is_free and not self._pause.is_set():
            self._submit(heapq.heappop(self._ready)[2])
        if self._pause.is_set() and not self._active:
            time.sleep(POLL_SECONDS)
            self._report(0.0)
            return None
        result = self._executor.completed(Listener(self._report))
        if result is None:
            return None
        spec_hash = result.spec.hash
        if self._store is not None:
            self._store.save(result)
        else:
            self._results[spec_hash] = result
        complete = self._pending.pop(spec_hash)
        for dependent in complete.dependents:
            self._make_ready(dependent)
        self.cost.add(complete.kind, result.seconds)
        del self._active[spec_hash]
        self.live, self.fraction, self._kinds = None, 0.0, Counter()
        return result if complete.wanted else None

    def _submit(self, spec_hash: str) -> None:
        pending = self._pending[spec_hash]
        near = pending.request.spec.neighbour
        neighbour = None if near is None else self._stored(near)
        self._executor.submit(pending.request, neighbour, pending.chain_seconds)
        self._active[spec_hash] = None
        self._started = time.monotonic()

    def _report(self, fraction: float, payload: object = None) -> None:
        """Forward the progress report of a run. If runs are computed in this process, wait while they are paused.

        Reports that contain only a fraction are forwarded at most once per `POLL_SECONDS`. The receivers compute the
        remaining time at each report, and short runs report thousands of times. Without the limit, computing
        the remaining time would take a third of the duration of short runs.
        """
        self.fraction = fraction
        if isinstance(payload, RunProgress):
            self.live = payload
        if payload is None and time.monotonic() < self._reported + POLL_SECONDS:
            return
        self._progress.report(fraction, payload)
        self._reported = time.monotonic()
        while self._pause.is_set() and not self._executor.parallel:
            time.sleep(POLL_SECONDS)
            self._progress.report(fraction)
        leave_out(paused := time.monotonic() - self._reported)
        self._started += paused
