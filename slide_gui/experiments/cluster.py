"""The processes of a Dask cluster: those of this computer, or those that a scheduler reaches.

A worker does one task at a time, with one thread in BLAS and the same versions as here, so that a result does not
depend on where it was made.
"""

from __future__ import annotations

import json
import logging
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from slide_gui.blas import loaded_blas
from slide_gui.core import workers
from slide_gui.core.validation import check_whole
from slide_gui.core.workers import ClusterError, check_alive
from slide_gui.data.errors import DataError
from slide_gui.data.limits import read_small
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.resources import how_to_get
from slide_gui.results_version import RESULTS_VERSION

if TYPE_CHECKING:
    from distributed import Client

__all__ = [
    "ATTEMPTS",
    "CONNECTING",
    "LOOK",
    "MOST_WORKERS",
    "Cluster",
    "ClusterChoice",
    "ClusterError",
    "Versions",
    "Worker",
    "refuse_other",
    "versions_here",
]

MOST_WORKERS = 64
"""Processes of this computer."""

CONNECTING = 10.0  # seconds until a scheduler that does not answer, or has no worker, is given up
_KNOCKING = 0.5  # of which each try takes at most so many
_COUNTING = 1.0  # seconds that a count of the workers holds
LOOK = 0.05  # seconds between two looks at whether anything came back, or the work is cancelled
ATTEMPTS = 10  # how often a run is asked for again whose data, worker or place were lost
_LOCAL = {
    "distributed.scheduler.allowed-failures": ATTEMPTS,
    "distributed.worker.profile.enabled": False,  # it looks a hundred times a second at what a worker does
    # Scheduler, workers and their nannies look at themselves 10 to 50 times a second unless told otherwise; with two
    # workers that took 9 % of a core, so 3 %.
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.monitor-interval": "500ms",
}
_LARGEST_FILE = 1 << 20  # bytes of a scheduler file

Versions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ClusterChoice:
    """Where runs are made; with neither field they are made here, one after the other.

    Attributes
    ----------
    workers : int
        So many processes of this computer.
    scheduler : str
        The address of a scheduler, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``, or the scheduler file that it wrote.
    """

    workers: int = 0
    scheduler: str = ""

    def checked(self) -> ClusterChoice:
        """Return it.

        Raises
        ------
        ValueError
            If both are given, or one is none.
        """
        check_whole("workers", self.workers, 0, MOST_WORKERS)
        if self.workers and self.scheduler:
            raise ValueError("workers of this computer and a scheduler exclude one another; leave one of them out")
        if self.scheduler and not self.scheduler.startswith(("tcp://", "tls://")) and not self.is_file:
            raise ValueError(
                f"the scheduler is {self.scheduler!r}; expected tcp://HOST:PORT, tls://HOST:PORT, or the .json "
                "file that it wrote"
            )
        return self

    @property
    def is_here(self) -> bool:
        """Whether runs are made in this process."""
        return not self.workers and not self.scheduler

    @property
    def is_file(self) -> bool:
        """Whether the scheduler is named by the file that it wrote."""
        return "://" not in self.scheduler and self.scheduler.endswith(".json")

    def __str__(self) -> str:
        return self.scheduler or (f"{self.workers} workers of this computer" if self.workers else "this process")


@dataclass(frozen=True)
class Worker:
    """A process that makes runs.

    Attributes
    ----------
    address, name : str
    threads : int
        Tasks that it does at once.
    memory : int
        Bytes that it may use; 0 where there is no limit.
    versions : tuple of (str, str)
        What decides its numbers, as `versions_here`.
    """

    address: str
    name: str
    threads: int
    memory: int
    versions: Versions


@lru_cache(maxsize=1)
def versions_here() -> Versions:
    """Return what decides the numbers that this process computes: the program's, its libraries', and BLAS."""
    libraries = tuple((name, version(name)) for name in ("numpy", "scipy", "scikit-learn"))
    blas = replace(loaded_blas()[0], threads=None)  # NumPy's, which multiplies all there is
    return (("numerics", str(RESULTS_VERSION)), *libraries, ("BLAS", str(blas)))


def refuse_other(place: str, theirs: Versions, mine: Versions) -> None:
    """Refuse a worker whose numbers may not be those of here."""
    known = dict(theirs)
    for name, wanted in mine:
        if known.get(name) != wanted:
            remedy = "install the same there"
            if name == "BLAS":
                remedy = (
                    "install the same there, and where processors differ, start all with the same OPENBLAS_CORETYPE"
                )
            raise ClusterError(f"worker {place} has {name} {known.get(name, 'unknown')}, here it is {wanted}; {remedy}")


class Cluster(AbstractContextManager["Cluster"]):
    """A connection to workers; a context manager, which lets those of this computer end.

    Parameters
    ----------
    choice : ClusterChoice
        Of workers of this computer, or a scheduler.
    progress : Progress
        The cancel point while nobody answers.

    Raises
    ------
    ClusterError
        If Dask is not installed, nobody answers, there are no workers, or one of them cannot be used.
    Cancelled
        By the progress.
    """

    def __init__(self, choice: ClusterChoice, *, progress: Progress = NO_PROGRESS) -> None:
        self.choice = choice.checked()
        self._local, self.client = _connected(self.choice, progress)
        self._counted = 0, -_COUNTING
        self.places: dict[str, str] = {}  # of autoencoders that runs share, the address of the worker that has them
        try:
            self._check_workers(progress)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster."""
        with suppress(Exception):  # whatever is gone already
            self.client.close(timeout=2.0)
        if self._local is not None:
            self._local.close(timeout=5.0)

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def dashboard(self) -> str:
        """The page on which Dask shows what its workers do; empty where there is none."""
        with suppress(Exception):  # the scheduler was started without one
            return str(self.client.dashboard_link or "")
        return ""

    @property
    def n_slots(self) -> int:
        """How many tasks the workers do at once, asked for once a second; 0 while there are none."""
        now = time.monotonic()
        if now - self._counted[1] > _COUNTING:
            self._counted = sum(int(facts["nthreads"]) for facts in self._facts().values()), now
        return self._counted[0]

    def workers(self) -> tuple[Worker, ...]:
        """Return the workers that are there now.

        Raises
        ------
        ClusterError
            If the scheduler is gone, or a worker cannot run this program.
        """
        facts = self._facts()
        versions = self.client.run(versions_here, on_error="return")
        workers = []
        for address, each in facts.items():
            theirs = versions.get(address, ())
            if isinstance(theirs, OSError):  # it is gone by now
                continue
            if isinstance(theirs, BaseException):
                remedy = f"install slide-gui {version('slide-gui')} there"
                raise ClusterError(f"worker {address} cannot run this program ({theirs}); {remedy}")
            name, memory = str(each.get("name", address)), int(each.get("memory_limit") or 0)
            workers.append(Worker(address, name, int(each["nthreads"]), memory, theirs))
        return tuple(sorted(workers, key=lambda worker: (len(worker.name), worker.name, worker.address)))

    @property
    def is_alive(self) -> bool:
        """Whether the scheduler still answers."""
        return bool(self.client.status == "running")

    def _facts(self) -> dict[str, dict[str, Any]]:
        check_alive(self.client)
        facts: dict[str, dict[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        return facts

    def _check_workers(self, progress: Progress) -> None:
        deadline = time.monotonic() + CONNECTING
        while not self._facts():
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler of {self.choice} has no workers; start some with: dask worker --nthreads 1 …"
                )
            progress.report(0.0)
            time.sleep(LOOK)
        for worker in self.workers():
            if worker.threads != 1:
                raise ClusterError(
                    f"worker {worker.address} does {worker.threads} tasks at once, which would share one BLAS; start "
                    "several workers with --nthreads 1 instead"
                )
            refuse_other(worker.address, worker.versions, versions_here())


def _connected(choice: ClusterChoice, progress: Progress) -> tuple[Any, Client]:
    """Return the cluster that was started here, or None, and the connection."""
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.comm.addressing import parse_host_port
    except ImportError as error:
        raise ClusterError(f"{error.name or 'Dask'} is not installed: {how_to_get('cluster')}") from None
    if choice.is_here:
        raise ValueError("no workers and no scheduler were asked for; say one of them")
    # Its own words of lost connections and workers come here as one sentence.
    for name in ("distributed", "distributed.client", "distributed.utils", "distributed.comm", "distributed.nanny"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        if choice.workers:
            with dask.config.set(_LOCAL), _blocked_interrupt():
                local = LocalCluster(
                    n_workers=choice.workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                    preload=workers.__name__,
                    silence_logs=logging.CRITICAL,
                )  # fmt: skip
            return local, Client(local, set_as_default=False)
        address = _written(choice.scheduler) if choice.is_file else choice.scheduler
        _knock(parse_host_port(address.partition("://")[2]), progress)
        return None, Client(address, timeout=CONNECTING, set_as_default=False)
    except ClusterError:
        raise
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        said = (getattr(error, "strerror", "") or str(error) or type(error).__name__).splitlines()[0]
        remedy = "see that one runs there and can be reached" if choice.scheduler else "use fewer workers"
        raise ClusterError(f"no scheduler answers at {choice} ({said}); {remedy}") from None


@contextmanager
def _blocked_interrupt() -> Iterator[None]:
    """Let processes and threads that are started meanwhile never get SIGINT; here it waits until the end.

    Ctrl+C reaches a whole process group: workers that are starting would answer it with tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # now: a process of its own, and its start lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _knock(place: tuple[str, int], progress: Progress) -> None:
    """Wait until anybody answers at a host and port; a client of Dask could not be cancelled while it does.

    Raises
    ------
    OSError
        If nobody does.
    """
    deadline = time.monotonic() + CONNECTING
    while True:
        progress.report(0.0)
        try:
            socket.create_connection(place, _KNOCKING).close()
            return
        except TimeoutError:
            if time.monotonic() > deadline:
                raise


def _written(file: str) -> str:
    """Return the address that a scheduler wrote to a file.

    Raises
    ------
    ClusterError
        If there is none.
    """
    with suppress(DataError, ValueError, KeyError, TypeError, RecursionError):
        address = json.loads(read_small(file, _LARGEST_FILE, "what a scheduler wrote"))["address"]
        if isinstance(address, str):
            return address
    remedy = "start one: dask scheduler --scheduler-file FILE"
    raise ClusterError(f"{file} holds no address of a scheduler; {remedy}")
