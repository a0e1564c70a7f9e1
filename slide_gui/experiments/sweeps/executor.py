"""Compute many runs in one loop, either in this process or on a cluster.

The loop takes results from the store, submits the missing runs to an executor, each after the run that it depends on,
and stores every result as it completes. Further runs can be requested at any time, so a selected candidate is submitted
as soon as its candidates are complete. Only this process writes to the store.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Protocol

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.cost import CostModel, RunKind, RunShape
from slide_gui.experiments.runs.fitting import Reuse, shared_networks
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import RunProgress, run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.store.store import DamagedRun, RunStore
from slide_gui.progress import NO_PROGRESS, Listener, Progress

POLL_SECONDS = 0.05  # between two checks for results, cancellation, and the end of a pause


@dataclass(frozen=True, eq=False)
class RunRequest:
    """A run to compute.

    Attributes
    ----------
    spec : RunSpec
        A checked spec.
    dataset : Dataset
        Its data, or the same rows with others held out.
    rank : int
        Runs with a lower rank start first.
    deepest : int or None
        Depth to which this process fits the stack, so that later runs on the same data can share it. With None the run
        shares no fit of a stack, so its time of feature generation is complete.
    """

    spec: RunSpec
    dataset: Dataset
    rank: int = 0
    deepest: int | None = 0


class RunExecutor(Protocol):
    """Computes submitted runs.

    Attributes
    ----------
    parallel : bool
        True if it computes several runs at once. Of equal rank, the longest chain of runs then starts first, otherwise
        the run that was requested first.
    """

    parallel: bool

    @property
    def n_slots(self) -> int:
        """Number of runs that it computes at once."""
        ...

    def accepts(self, request: RunRequest) -> bool:
        """Return True if the run may be submitted now."""
        ...

    def submit(self, request: RunRequest, neighbour: RunResult | None, seconds: float) -> None:
        """Submit a run with the result that it starts from and the typical seconds of the chain that it begins."""
        ...

    def completed(self, progress: Progress) -> RunResult | None:
        """Return a completed result, or None after a short wait. Report the sum of the fractions of active runs."""
        ...

    def close(self) -> None:
        """Cancel the active runs."""
        ...


class InlineExecutor:
    """Computes runs in this process, one after the other.

    Parameters
    ----------
    reuse : Reuse, optional
        Data shared by the runs.
    """

    parallel = False
    n_slots = 1

    def __init__(self, reuse: Reuse | None = None) -> None:
        self._reuse = Reuse() if reuse is None else reuse
        self._submitted: tuple[RunRequest, RunResult | None] | None = None

    def accepts(self, request: RunRequest) -> bool:
        """Return True if no other run is submitted."""
        return self._submitted is None

    def submit(self, request: RunRequest, neighbour: RunResult | None, seconds: float) -> None:
        """Keep the run until `completed` computes it."""
        self._submitted = request, neighbour

    def completed(self, progress: Progress) -> RunResult | None:
        """Compute the submitted run."""
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
        progress.report(0.0, RunProgress(request.spec.hash))
        return run(request.dataset, request.spec, progress=progress, reuse=reuse)

    def close(self) -> None:
        """Do nothing, because no run is active between two calls of `completed`."""


@dataclass(eq=False)
class _Pending:
    """A run that is not complete.

    Attributes
    ----------
    wanted : bool
        True if it was requested itself, not only as the start of another run.
    followers : list of str
        Runs that wait for it.
    chain : float
        Typical seconds of the chain of runs that begins with it.
    order : float
        Of equal rank, the run with the smallest number starts first.
    """

    request: RunRequest
    kind: RunKind
    wanted: bool = False
    followers: list[str] = field(default_factory=list)
    chain: float = 0.0
    order: float = 0.0


class RunLoop(AbstractContextManager["RunLoop"]):
    """Yields the results of requested runs, from the store or as they complete.

    Runs can be requested before and during the iteration. A deleted result is restored. A damaged one is computed again
    and reported in `faults`. As a context manager the loop cancels active runs at the end.

    Parameters
    ----------
    executor : RunExecutor
        Computes the missing runs.
    store : RunStore, optional
        Store opened by this thread.
    progress : Progress
        Receives the sum of the fractions of the active runs; in this process also the `RunProgress` of the active one.
        It is the cancel point.
    pause : threading.Event, optional
        While it is set, the active run of this process waits, and no new run starts. Any thread may set it.

    Attributes
    ----------
    faults : list of str
        Messages about damaged stored runs.
    live : RunProgress or None
        State of the active run of this process.

    Raises
    ------
    DataError, ValueError, MemoryError
        As `run`, while iterating.
    ClusterError
        If the scheduler is lost, or workers are unsuitable.
    Cancelled
        By the progress.
    """

    def __init__(
        self,
        executor: RunExecutor,
        store: RunStore | None = None,
        *,
        progress: Progress = NO_PROGRESS,
        pause: Event | None = None,
    ) -> None:
        self._executor, self._store, self._progress = executor, store, progress
        self._pause = Event() if pause is None else pause
        self.cost = CostModel()
        self.faults: list[str] = []
        self.live: RunProgress | None = None
        self.fraction = 0.0
        self._expected: Sequence[RunKind] = ()
        self._incoming: deque[RunRequest] = deque()
        self._pending: dict[str, _Pending] = {}  # requested runs, and those that they start from
        self._new: list[str] = []  # pending runs that are not yet ordered
        self._n_ordered = 0
        self._active: dict[str, None] = {}
        self._ready: list[tuple[int, float, str]] = []
        self._latest: dict[str, str] = {}  # shared autoencoders → the last run that trains some of their layers
        self._results: dict[str, RunResult] = {}  # all, if there is no store
        self._shapes: dict[str, RunShape] = {}
        self._seconds: float | None = None  # estimated for pending and expected runs
        self._started = time.monotonic()

    def __exit__(self, *_error: object) -> None:
        self._executor.close()

    def request(self, requests: Sequence[RunRequest]) -> None:
        """Request runs. The deepest autoencoders come first, because their first layers are the shallower ones."""
        self._incoming += sorted(requests, key=lambda each: 0 if each.spec.sda is None else -each.spec.layers)

    def __iter__(self) -> Iterator[RunResult]:
        while self._incoming or self._pending:
            result = self._take(self._incoming.popleft()) if self._incoming else self._compute()
            if result is not None:
                yield result

    @property
    def active(self) -> str:
        """Hash of the active run of this process, empty if there is none."""
        return "" if self._executor.parallel else next(iter(self._active), "")

    def expect(self, kinds: Sequence[RunKind]) -> None:
        """Set the kinds of runs to be requested later, for `seconds_left`."""
        self._expected, self._seconds = kinds, None

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until all requested and expected runs are complete. None while the store is searched."""
        if self._incoming:
            return None
        n_left = len(self._pending) + len(self._expected)
        if not n_left:
            return 0.0
        if self._seconds is None:
            self._seconds = self.cost.total([*(each.kind for each in self._pending.values()), *self._expected])
        run = next(iter(self._active or self._pending), None)
        first = self._expected[0] if run is None else self._pending[run].kind
        spent = 0.0 if self._executor.parallel else time.monotonic() - self._started
        seconds = self.cost.left(self._seconds, first, self.fraction, spent)
        return seconds / max(min(self._executor.n_slots, n_left), 1)

    # Requests

    def _take(self, request: RunRequest) -> RunResult | None:
        """Return the stored result of a requested run, or add the run to the pending ones."""
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
        """Add a run to the pending ones, after the run that it starts from, and return it."""
        spec_hash, near = request.spec.hash, request.spec.neighbour
        if spec_hash not in self._pending:
            if near is not None and near.hash not in self._pending and self._stored(near) is None:
                self._add(replace(request, spec=near))
            self._pending[spec_hash] = _Pending(request, self._kind(request))
            self._new.append(spec_hash)
            self._seconds = None
        return self._pending[spec_hash]

    def _kind(self, request: RunRequest) -> RunKind:
        fingerprint = request.dataset.fingerprint
        if fingerprint not in self._shapes:
            self._shapes[fingerprint] = RunShape.of(request.dataset)
        return RunKind.of(request.spec, self._shapes[fingerprint])

    # Order

    def _order_new(self) -> None:
        """Order the new runs, and make those ready that depend on no pending run."""
        new, self._new = self._new, []
        before = {each: self._run_before(self._pending[each].request.spec) for each in new}
        for spec_hash, first in before.items():
            if first is not None:
                self._pending[first].followers.append(spec_hash)
        for spec_hash in reversed(new):  # a run comes before those that start from it
            pending = self._pending[spec_hash]
            after = max((self._pending[each].chain for each in pending.followers), default=0.0)
            pending.chain = pending.kind.typical + after
        for spec_hash, first in before.items():
            pending = self._pending[spec_hash]
            self._n_ordered += 1
            pending.order = -pending.chain if self._executor.parallel else self._n_ordered
            if first is None:
                self._make_ready(spec_hash)

    def _run_before(self, spec: RunSpec) -> str | None:
        """Return the pending run to wait for: the one that it starts from, or one that trains shared autoencoders.

        The worker of that run then has the autoencoders.
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
        """Submit the ready runs, and return a completed result that was requested, or None after a short wait."""
        self._order_new()
        while self._ready and not self._pause.is_set():
            pending = self._pending[self._ready[0][2]]
            if not self._executor.accepts(pending.request):
                break
            self._submit(heapq.heappop(self._ready)[2], pending)
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
        for follower in complete.followers:
            self._make_ready(follower)
        self.cost.add(complete.kind, result.seconds)
        del self._active[spec_hash]
        self.live, self.fraction, self._seconds = None, 0.0, None
        return result if complete.wanted else None

    def _submit(self, spec_hash: str, pending: _Pending) -> None:
        near = pending.request.spec.neighbour
        neighbour = None if near is None else self._stored(near)
        self._executor.submit(pending.request, neighbour, pending.chain)
        self._active[spec_hash] = None
        self._started = time.monotonic()

    def _report(self, fraction: float, payload: object = None) -> None:
        """Forward a report. In this process, wait here while paused."""
        self.fraction = fraction
        if isinstance(payload, RunProgress):
            self.live = payload
        self._progress.report(fraction, payload)
        while self._pause.is_set() and not self._executor.parallel:
            time.sleep(POLL_SECONDS)
            self._progress.report(fraction)
