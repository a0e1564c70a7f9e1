"""Runs on a cluster.

A run is a task with the hash of its spec as key, so a cluster never computes it twice at once. It depends on the run
whose widths it starts from. Data are sent once per fingerprint. Completed results return to this process, which alone
writes to the store.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from slide_gui.blas import limit_threads
from slide_gui.core.workers import ClusterError, TaskProgress, check_alive, sent
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.cost import RunShape, typical_seconds
from slide_gui.experiments.runs.networks import Networks, shared_networks
from slide_gui.experiments.runs.representation import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.runs.splits import divided_as
from slide_gui.experiments.store.store import DamagedRun, RunStore
from slide_gui.experiments.sweeps.cluster import (
    ATTEMPTS,
    CONNECTING,
    LOOK,
    Cluster,
    Versions,
    refuse_other,
    versions_here,
)
from slide_gui.progress import NO_PROGRESS, Cancelled, Progress

if TYPE_CHECKING:
    from distributed import Future

_BETWEEN_REPORTS = 0.5  # seconds between two progress reports of a task
_DATA_SETS = 2  # on workers at once: while the last runs on one finish, the first on the next start
_RANK = 1e9  # seconds, more than any chain of runs takes: rank outweighs duration in the priority
_TOPIC = "slide-gui"
_AGAIN = "completed results are stored, and the same request resumes there"


@dataclass(frozen=True, eq=False)
class Order:
    """A run requested from a cluster.

    Attributes
    ----------
    spec : RunSpec
        A checked spec.
    dataset : Dataset
        Its data, or the same rows with others held out.
    rank : int
        Runs with a lower rank start first.
    """

    spec: RunSpec
    dataset: Dataset
    rank: int = 0


def run_orders(
    cluster: Cluster,
    orders: Sequence[Order],
    store: RunStore | None = None,
    *,
    progress: Progress = NO_PROGRESS,
    may_begin: Callable[[], bool] = lambda: True,
    further: Callable[[RunResult], Sequence[Order]] = lambda _: (),
) -> Generator[RunResult, None, None]:
    """Compute the requested runs and yield each result as it completes. Close the iterator to stop early.

    Parameters
    ----------
    cluster : Cluster
        Workers to use.
    orders : sequence of Order
        Requested runs. The runs that they start from are taken from the store, or also computed.
    store : RunStore, optional
        Store opened by this thread. Each result is saved before it is yielded.
    progress : Progress
        Receives the sum of the fractions of all active runs. It is the cancel point.
    may_begin : callable
        Returns True if further runs may start now.
    further : callable
        Maps a yielded result to the runs to request next.

    Raises
    ------
    DataError, ValueError, MemoryError
        As `run`.
    ClusterError
        If the scheduler is lost, or workers are unsuitable.
    Cancelled
        By the progress.
    """
    work = _Work(cluster, store, progress, may_begin, further)
    try:
        yield from work.results(orders)
    finally:
        work.leave()


class _Work:
    """Active and waiting runs of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        store: RunStore | None,
        progress: Progress,
        may_begin: Callable[[], bool],
        further: Callable[[RunResult], Sequence[Order]],
    ) -> None:
        self._cluster, self._client = cluster, cluster.client
        self._store, self._progress, self._may_begin, self._further = store, progress, may_begin, further
        self._asked: set[str] = set()
        self._orders: dict[str, Order] = {}  # runs to compute
        self._back: set[str] = set()  # completed runs of these
        self._there: dict[str, RunResult] = {}  # results that others start from; without a store, all results
        self._to_yield: deque[RunResult] = deque()
        self._followers: dict[str, list[str]] = {}
        self._latest: dict[str, str] = {}  # shared autoencoders → the last run that trains some of their layers
        self._weights: dict[str, float] = {}
        self._ready: list[tuple[int, float, str]] = []
        self._running: dict[str, Future] = {}
        self._fractions: dict[str, float] = {}
        self._attempts: dict[str, int] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._data: dict[str, Future] = {}
        self._reading: set[str] = set()
        self._shapes: dict[str, RunShape] = {}
        self._client.subscribe_topic(_TOPIC, self._heard)

    def _take_in(self, orders: Sequence[Order]) -> None:
        """Take results from the store, or add runs to compute, each after the run that it depends on."""
        new: list[str] = []
        for order in sorted(orders, key=lambda order: 0 if order.spec.sda is None else -order.spec.layers):
            if order.spec.hash in self._asked:
                continue
            self._asked.add(order.spec.hash)
            stored = self._stored(order.spec)
            if stored is None:
                self._add(order, new)
            else:
                self._to_yield.append(stored)
        self._followers |= {spec_hash: [] for spec_hash in new}
        before = {spec_hash: self._before(self._orders[spec_hash].spec) for spec_hash in new}
        for spec_hash, first in before.items():
            if first is not None:
                self._followers[first].append(spec_hash)
        for spec_hash in reversed(new):  # followers are listed after the runs that they start from
            self._weigh(spec_hash)
        for spec_hash, first in before.items():
            if first is None:
                self._make_ready(spec_hash)

    def _stored(self, spec: RunSpec) -> RunResult | None:
        """Return the stored or already computed result of a run, or None."""
        if spec.hash in self._there:
            return self._there[spec.hash]
        if self._store is not None:
            with suppress(KeyError, DamagedRun):
                return self._store.take(spec)
        return None

    def _add(self, order: Order, new: list[str]) -> None:
        """Add a run to compute, after the run that it starts from."""
        spec = order.spec
        if self._is_awaited(spec.hash):
            return
        near = spec.neighbour
        if near is not None and near.hash not in self._there:
            stored = self._stored(near)
            if stored is None:
                self._add(replace(order, spec=near), new)
            else:
                self._there[near.hash] = stored
        self._orders[spec.hash] = order
        self._back.discard(spec.hash)
        new.append(spec.hash)

    def _before(self, spec: RunSpec) -> str | None:
        """Return the run to wait for: the one whose widths it starts from, or one that trains its shared autoencoders.

        The worker of that run then has the autoencoders. The deepest run comes first.
        """
        shared, first = shared_networks(spec), None
        if spec.neighbour is not None and self._is_awaited(spec.neighbour.hash):
            first = spec.neighbour.hash
        elif self._is_awaited(self._latest.get(shared, "")):
            first = self._latest[shared]
        if shared:
            self._latest[shared] = spec.hash
        return first

    def _is_awaited(self, spec_hash: str) -> bool:
        return spec_hash in self._orders and spec_hash not in self._back

    def _weigh(self, spec_hash: str) -> None:
        """Set the weight of a run, the duration of the chain of runs from it. Within a rank the longest start first."""
        order = self._orders[spec_hash]
        fingerprint = order.dataset.fingerprint
        if fingerprint not in self._shapes:
            self._shapes[fingerprint] = RunShape.of(order.dataset)
        after = max((self._weights[each] for each in self._followers[spec_hash]), default=0.0)
        self._weights[spec_hash] = typical_seconds(order.spec, self._shapes[fingerprint]) + after

    def _make_ready(self, spec_hash: str) -> None:
        heapq.heappush(self._ready, (self._orders[spec_hash].rank, -self._weights[spec_hash], spec_hash))

    def results(self, orders: Sequence[Order]) -> Generator[RunResult, None, None]:
        """Yield the results of the requested runs, those in the store first."""
        self._take_in(orders)
        while True:
            while self._to_yield:
                result = self._to_yield.popleft()
                yield result
                self._take_in(self._further(result))
            if not self._running and not self._ready:
                return
            self._begin()
            future = self._next()
            if future is not None:
                self._come_back(future)

    def _come_back(self, future: Future) -> None:
        """Store the result of a completed run, and make its followers ready."""
        spec_hash = next(key for key, running in self._running.items() if running is future)
        result = self._result(spec_hash, future)
        if result is None:
            return
        if self._store is not None:
            self._store.save(result)
        self._note_place(spec_hash, future)
        self._back.add(spec_hash)
        if self._followers[spec_hash] or self._store is None:
            self._there[spec_hash] = result
        for follower in self._followers[spec_hash]:
            self._make_ready(follower)
        if spec_hash in self._asked:
            self._to_yield.append(result)

    def _note_place(self, spec_hash: str, future: Future) -> None:
        """Record the worker that has the shared autoencoders of a run."""
        shared = shared_networks(self._orders[spec_hash].spec)
        if shared:
            with suppress(Exception):  # the scheduler may be gone
                self._cluster.places[shared] = self._client.who_has([future])[future.key][0]

    def leave(self) -> None:
        """Cancel the active runs and release the data."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.unsubscribe_topic(_TOPIC)
            self._client.cancel(list(self._running.values()))
        self._running.clear()
        self._data.clear()

    def _begin(self) -> None:
        """Start ready runs: up to two per task slot, so that no worker waits, at least two, for growing clusters."""
        most = 2 * max(self._cluster.n_slots, 1)
        while self._ready and len(self._running) < most and self._may_begin():
            rank, _, spec_hash = self._ready[0]
            data = self._data_there(self._orders[spec_hash])
            if data is None:
                return
            heapq.heappop(self._ready)
            self._submit(spec_hash, data, rank)

    def _submit(self, spec_hash: str, data: Future, rank: int) -> None:
        spec = self._orders[spec_hash].spec
        near = None if spec.neighbour is None else self._there[spec.neighbour.hash]
        attempt = self._attempts.get(spec_hash, 0)
        key = f"slide-run-{spec_hash}" + (f"-again-{attempt}" if attempt else "")  # Dask still has the lost task's key
        place = self._cluster.places.get(shared_networks(spec))
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        future = self._client.submit(
            _run_there,
            data,
            spec,
            near,
            versions_here(),
            key=key,
            priority=self._weights[spec_hash] - rank * _RANK,
            **where,
        )
        self._running[spec_hash] = future
        future.add_done_callback(self._done.put)

    def _next(self) -> Future | None:
        """Return a completed run, or None after a short wait. Report the progress of all runs."""
        try:
            future = self._done.get(timeout=LOOK)
        except Empty:
            future = None
        self._progress.report(sum(self._fractions.get(key, 0.0) for key in self._running))
        if future is not None and any(future is running for running in self._running.values()):
            return future
        check_alive(self._client)
        return None

    def _result(self, spec_hash: str, future: Future) -> RunResult | None:
        """Return the result of a completed run. If it was lost, queue the run again and return None."""
        from distributed import CancelledError, KilledWorker

        del self._running[spec_hash]
        self._fractions.pop(spec_hash, None)
        try:
            result: RunResult = future.result(timeout=CONNECTING)
        except ClusterError:
            raise
        except KilledWorker:
            raise ClusterError(
                f"run {spec_hash[:12]} terminated several workers in turn, probably by lack of memory; give them "
                f"more memory, or use less data; {_AGAIN}"
            ) from None
        except (Cancelled, CancelledError, OSError) as error:
            check_alive(self._client)
            self._attempts[spec_hash] = self._attempts.get(spec_hash, 0) + 1
            if self._attempts[spec_hash] > ATTEMPTS:
                raise ClusterError(f"run {spec_hash[:12]} was lost {ATTEMPTS} times ({error}); {_AGAIN}") from None
            self._make_ready(spec_hash)
            return None
        return result

    def _data_there(self, order: Order) -> Future | None:
        """Return the data of a run as a future on the workers, or None while a worker reads them.

        Workers read the same files if they find them; otherwise the data are sent. Both are tasks, so the scheduler
        repeats them if the workers that hold the data are lost. Data released here stay on the workers until the runs
        that use them are completed.
        """
        dataset, source = order.dataset, order.spec.source
        fingerprint = dataset.fingerprint
        key = f"slide-data-{fingerprint}"
        if fingerprint not in self._data:
            while len(self._data) >= _DATA_SETS:
                del self._data[next(iter(self._data))]
            if source and not dataset.generated:
                self._reading.add(fingerprint)
                self._data[fingerprint] = self._client.submit(
                    _read_there, source, fingerprint, dataset.held_out, key=key, priority=_RANK
                )
            else:
                self._data[fingerprint] = sent(self._client, dataset, f"{key}-sent")
        if fingerprint in self._reading:
            if not self._data[fingerprint].done():
                return None
            self._reading.discard(fingerprint)
            if self._data[fingerprint].status != "finished":
                self._data[fingerprint] = sent(self._client, dataset, f"{key}-sent")
        return self._data[fingerprint]

    def _heard(self, event: Any) -> None:
        """Record the progress of a run. Called in a thread of the client."""
        spec_hash, fraction = event[1]
        if spec_hash in self._running:
            self._fractions[spec_hash] = fraction


def _read_there(source: str, fingerprint: str, held_out: HeldOut | None) -> Dataset:
    """Read the data on a worker.

    Raises
    ------
    DataError
        If the files are missing or contain other data.
    """
    dataset = divided_as(DataSource.parse(source).load(), fingerprint, held_out)
    if dataset.fingerprint != fingerprint:
        raise DataError("contains other data than the run was requested for", source)
    return dataset


@lru_cache(maxsize=_DATA_SETS)
def networks_here(_fingerprint: str) -> Networks:
    """Return the autoencoders shared by runs on the same data in this process. Those of earlier data are dropped."""
    return Networks()


def _run_there(dataset: Dataset, spec: RunSpec, near: RunResult | None, versions: Versions) -> RunResult:
    """Compute a run on a worker."""
    progress = _RunProgress(spec.hash)
    limit_threads(1)
    refuse_other(progress.worker.address, versions_here(), versions)
    reuse = Reuse(results={} if near is None else {near.hash: near}, networks=networks_here(spec.fingerprint))
    return run(dataset, spec, progress=progress, reuse=reuse)


class _RunProgress(TaskProgress):
    """Progress that reports the fraction of a run to the client at intervals."""

    def __init__(self, spec_hash: str) -> None:
        super().__init__()
        self._hash, self._said = spec_hash, time.monotonic()

    def report(self, fraction: float, payload: object = None) -> None:
        """Stop the run if it is cancelled, and report its progress."""
        super().report(fraction)
        now = time.monotonic()
        if now - self._said > _BETWEEN_REPORTS:
            self._said = now
            self.worker.log_event(_TOPIC, (self._hash, float(fraction)))  # Dask cannot serialise NumPy's floats here
