"""Compute runs on a cluster.

A run is a task with the hash of its spec as key, so a cluster never computes it twice at once. Data are sent once per
fingerprint.
"""

from __future__ import annotations

import time
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
from slide_gui.experiments.runs.fitting import Networks, Reuse, shared_networks
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.runs.splits import divided_as
from slide_gui.experiments.sweeps.cluster import ATTEMPTS, CONNECTING, Cluster, Versions, refuse_other, versions_here
from slide_gui.experiments.sweeps.executor import POLL_SECONDS, InlineExecutor, RunExecutor, RunRequest
from slide_gui.progress import Cancelled, Progress

if TYPE_CHECKING:
    from distributed import Future

_BETWEEN_REPORTS = 0.5  # seconds between two progress reports of a task
_DATA_SETS = 2  # on workers at once: while the last runs on one finish, the first on the next start
_RANK = 1e9  # seconds, more than any chain of runs takes: rank outweighs duration in the priority
_TOPIC = "slide-gui"
_AGAIN = "completed results are stored, and the same request resumes there"


def executor_of(cluster: Cluster | None, reuse: Reuse | None = None) -> RunExecutor:
    """Return an executor on a cluster, or without one in this process, whose runs share `reuse`."""
    return InlineExecutor(reuse) if cluster is None else ClusterExecutor(cluster)


@dataclass(eq=False)
class _Task:
    """A run on the cluster, with the number of times that it was lost."""

    request: RunRequest
    neighbour: RunResult | None
    priority: float
    future: Future | None = None
    fraction: float = 0.0
    n_lost: int = 0


class ClusterExecutor:
    """Computes runs on the workers of a cluster. A lost run is repeated."""

    parallel = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._client = cluster, cluster.client
        self._tasks: dict[str, _Task] = {}
        self._done: SimpleQueue[tuple[str, Future]] = SimpleQueue()
        self._data: dict[str, Future] = {}
        self._reading: set[str] = set()
        self._client.subscribe_topic(_TOPIC, self._note_fraction)

    @property
    def n_slots(self) -> int:
        """Number of tasks that the workers do at the same time."""
        return self._cluster.n_slots

    def accepts(self, request: RunRequest) -> bool:
        """Return True if there are less than two runs per task slot, and the data of the run are on the workers.

        With two per slot no worker waits. There are at least two, because a cluster may grow.
        """
        return len(self._tasks) < 2 * max(self.n_slots, 1) and self._data_of(request) is not None

    def submit(self, request: RunRequest, neighbour: RunResult | None, seconds: float) -> None:
        """Submit a run. Of equal rank, those that begin a longer chain have priority."""
        self._tasks[request.spec.hash] = task = _Task(request, neighbour, seconds - request.rank * _RANK)
        self._start(task)

    def _start(self, task: _Task) -> None:
        spec = task.request.spec
        # Dask still has the key of a lost task.
        key = f"slide-run-{spec.hash}" + (f"-again-{task.n_lost}" if task.n_lost else "")
        place = self._cluster.places.get(shared_networks(spec))
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        data = self._data_of(task.request) or self._send(task.request.dataset)
        versions = versions_here()
        task.fraction = 0.0
        task.future = future = self._client.submit(
            _run_there, data, spec, task.neighbour, versions, key=key, priority=task.priority, **where
        )
        future.add_done_callback(lambda future: self._done.put((spec.hash, future)))

    def completed(self, progress: Progress) -> RunResult | None:
        """Return a completed result, or None after a short wait or if the run was lost."""
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
            with suppress(Exception):  # the scheduler may be gone
                self._cluster.places[shared] = next(iter(self._client.who_has([future]).values()))[0]
        del self._tasks[spec_hash]
        return result

    def _result(self, task: _Task, future: Future) -> RunResult | None:
        """Return the result of a completed run, or None if it was lost."""
        from distributed import CancelledError, KilledWorker

        name = f"run {task.request.spec.hash[:12]}"
        try:
            result: RunResult = future.result(timeout=CONNECTING)
        except ClusterError:
            raise
        except KilledWorker:
            raise ClusterError(
                f"{name} terminated several workers in turn, probably by lack of memory; give them "
                f"more memory, or use less data; {_AGAIN}"
            ) from None
        except (Cancelled, CancelledError, OSError) as error:
            check_alive(self._client)
            task.n_lost += 1
            if task.n_lost > ATTEMPTS:
                raise ClusterError(f"{name} was lost {ATTEMPTS} times ({error}); {_AGAIN}") from None
            return None
        dataset = task.request.dataset  # a worker may hold the same rows under another name
        return replace(result, dataset=dataset.name, generated=dataset.generated)

    def close(self) -> None:
        """Cancel the active runs and release the data."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.unsubscribe_topic(_TOPIC)
            self._client.cancel([task.future for task in self._tasks.values()])
        self._tasks.clear()
        self._data.clear()

    def _data_of(self, request: RunRequest) -> Future | None:
        """Return the data of a run as a future on the workers, or None while a worker reads them.

        Workers read the same files if they find them; otherwise the data are sent. Both are tasks, so the scheduler
        repeats them if the workers that hold the data are lost. Data released here stay on the workers until the runs
        that use them are completed.
        """
        dataset, source = request.dataset, request.spec.source
        fingerprint = dataset.fingerprint
        if fingerprint not in self._data:
            while len(self._data) >= _DATA_SETS:
                del self._data[next(iter(self._data))]
            if not source or dataset.generated:
                return self._send(dataset)
            self._reading.add(fingerprint)
            key = f"slide-data-{fingerprint}"
            self._data[fingerprint] = self._client.submit(
                _read_there, source, fingerprint, dataset.held_out, key=key, priority=_RANK
            )
        if fingerprint in self._reading:
            if not self._data[fingerprint].done():
                return None
            self._reading.discard(fingerprint)
            if self._data[fingerprint].status != "finished":
                return self._send(dataset)
        return self._data[fingerprint]

    def _send(self, dataset: Dataset) -> Future:
        fingerprint = dataset.fingerprint
        self._data[fingerprint] = sent(self._client, dataset, f"slide-data-{fingerprint}-sent")
        return self._data[fingerprint]

    def _note_fraction(self, event: Any) -> None:
        """Record the progress of a run. Called in a thread of the client."""
        spec_hash, fraction = event[1]
        task = self._tasks.get(spec_hash)
        if task is not None:
            task.fraction = fraction


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
        self._hash, self._reported = spec_hash, time.monotonic()

    def report(self, fraction: float, payload: object = None) -> None:
        """Stop the run if it is cancelled, and report its progress."""
        super().report(fraction)
        now = time.monotonic()
        if now - self._reported > _BETWEEN_REPORTS:
            self._reported = now
            self.worker.log_event(_TOPIC, (self._hash, float(fraction)))  # Dask cannot serialise NumPy's floats here
