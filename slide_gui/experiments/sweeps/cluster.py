"""The workers of a Dask cluster: processes that this program starts, or the workers of an existing scheduler.

A worker computes one task at a time, with one BLAS thread and the same library versions as this process. The result of
a run is therefore the same on every worker.
"""

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
from slide_gui.core.validation import check_integer
from slide_gui.core.workers import ClusterError, check_alive
from slide_gui.data.errors import DataError
from slide_gui.data.limits import read_small
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.resources import how_to_get
from slide_gui.results_version import RESULTS_VERSION
from slide_gui.text import counted

if TYPE_CHECKING:
    from distributed import Client

# Maximum number of worker processes that can be started on this computer.
MOST_WORKERS = 64

# Maximum time in seconds to wait for an answer from the scheduler, and then for its first worker.
CONNECTING = 10.0
_ATTEMPT_SECONDS = 0.5  # Time limit in seconds for one connection attempt.
_COUNTING = 1.0  # Minimum time in seconds between two counts of the workers.
_POLL_SECONDS = 0.05  # Interval in seconds between checks for new workers and for cancellation.

# Maximum number of times that a run is repeated after its data, its worker or its result has been lost.
ATTEMPTS = 10

_LOCAL = {
    "distributed.scheduler.allowed-failures": ATTEMPTS,
    # The profiler is switched off, because it takes time to sample the call stack 100 times a second.
    "distributed.worker.profile.enabled": False,
    # By default, the scheduler, the workers and their supervising processes (nannies) monitor themselves 10 to 50 times
    # a second. With two workers, this monitoring took 9 % of the time of one processor core. With the intervals below,
    # it takes 3 %.
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.monitor-interval": "500ms",
    # With Dask's default settings, glibc returns freed memory blocks larger than 64 KB to the operating system.
    # Requesting this memory again caused page faults, which took 40 % of the duration of a run. Higher limits avoid
    # these page faults.
    "distributed.nanny.pre-spawn-environ": {
        "MALLOC_TRIM_THRESHOLD_": 256 << 20,
        "MALLOC_MMAP_THRESHOLD_": 64 << 20,
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
    },
}
_LARGEST_FILE = 1 << 20  # Maximum size of a scheduler file in bytes.

Versions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ClusterChoice:
    """Specifies which processes compute runs. By default, this process computes all runs, one after another.

    Attributes
    ----------
    workers : int
        Number of processes to start on this computer.
    scheduler : str
        Address of a Dask scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``), or the path of the file to which the
        scheduler writes its address.
    """

    workers: int = 0
    scheduler: str = ""

    def checked(self) -> "ClusterChoice":
        """Check `workers` and `scheduler`, and return this object.

        Raises
        ------
        ValueError
            If both `workers` and `scheduler` are given, or one of them is invalid.
        """
        check_integer("workers", self.workers, 0, MOST_WORKERS)
        if self.workers and self.scheduler:
            raise ValueError("--workers and --scheduler cannot be used together; give only one")
        if self.scheduler and not self.scheduler.startswith(("tcp://", "tls://")) and not self.is_file:
            raise ValueError(
                f"the scheduler is {self.scheduler!r}; expected tcp://HOST:PORT, tls://HOST:PORT, or the .json "
                "file with its address"
            )
        return self

    @property
    def is_here(self) -> bool:
        """True if runs are computed in this process."""
        return not self.workers and not self.scheduler

    @property
    def is_file(self) -> bool:
        """True if `scheduler` is the path of a scheduler file."""
        return "://" not in self.scheduler and self.scheduler.endswith(".json")

    def __str__(self) -> str:
        here = f"{counted(self.workers, 'worker')} on this computer" if self.workers else "this process"
        return self.scheduler or here


@lru_cache(maxsize=1)
def versions_here() -> Versions:
    """Return the results version and the library versions, on which the results of this process depend."""
    libraries = tuple((name, version(name)) for name in ("numpy", "scipy", "scikit-learn"))
    # If several BLAS libraries are loaded, the first one is that of NumPy, which computes all matrix products.
    blas = replace(loaded_blas()[0], threads=None)
    return (("results version", str(RESULTS_VERSION)), *libraries, ("BLAS", str(blas)))


def refuse_other(address: str, versions: Versions, expected: Versions) -> None:
    """Raise ClusterError if a worker does not have the expected library versions, on which the results depend."""
    known = dict(versions)
    for name, wanted in expected:
        if known.get(name) != wanted:
            remedy = "install the expected version on the computer of this worker"
            if name == "BLAS":
                remedy = f"{remedy}; if the processor types differ, start all workers with the same OPENBLAS_CORETYPE"
            raise ClusterError(f"worker {address} has {name} {known.get(name, 'unknown')}, expected {wanted}; {remedy}")


class Cluster(AbstractContextManager["Cluster"]):
    """A connection to the workers of a cluster. Leaving a `with` block stops the workers that this object started.

    Parameters
    ----------
    choice : ClusterChoice
        Number of workers to start on this computer, or address of a scheduler.
    progress : Progress
        Receives reports until the connection is established, and can cancel the connection attempt.

    Raises
    ------
    ClusterError
        If Dask is not installed, the scheduler does not answer, or there are no workers. The error is also raised if a
        worker computes several tasks at once, or has other library versions than this process (`versions_here`).
    Cancelled
        If `progress` cancels the attempt to connect.
    """

    def __init__(self, choice: ClusterChoice, *, progress: Progress = NO_PROGRESS) -> None:
        self.choice = choice.checked()
        self._local, self.client = _connect(self.choice, progress)
        self._counted = 0, -_COUNTING
        # Maps the key of runs that share autoencoders (`shared_networks`) to the address of the worker that holds these
        # autoencoders in memory.
        self.places: dict[str, str] = {}
        try:
            self._check_workers(progress)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection, and stop the workers that this object started on this computer."""
        with suppress(Exception):  # If the scheduler is no longer running, closing fails, which does no harm.
            self.client.close(timeout=2.0)
        if self._local is not None:
            # On a busy computer, workers may need more than 5 s to stop. Workers that are still running end with this
            # process.
            with suppress(TimeoutError):
                self._local.close(timeout=5.0)

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def n_slots(self) -> int:
        """Number of tasks that all workers together can compute at once, updated at most once a second."""
        now = time.monotonic()
        if now - self._counted[1] > _COUNTING:
            self._counted = sum(int(facts["nthreads"]) for facts in self._facts().values()), now
        return self._counted[0]

    def workers(self) -> dict[str, Versions]:
        """Map the address of each connected worker to the result of `versions_here` on that worker.

        Raises
        ------
        ClusterError
            If the connection to the scheduler is lost, or a worker cannot run this program.
        """
        check_alive(self.client)
        workers = {}
        for address, versions in self.client.run(versions_here, on_error="return").items():
            if isinstance(versions, OSError):  # Skip a worker that has disconnected since the scheduler listed it.
                continue
            if isinstance(versions, BaseException):
                remedy = f"install slide-gui {version('slide-gui')} on the computer of this worker"
                raise ClusterError(f"worker {address} cannot run this program ({versions}); {remedy}")
            workers[address] = versions
        return workers

    def _facts(self) -> dict[str, dict[str, Any]]:
        check_alive(self.client)
        facts: dict[str, dict[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        return facts

    def _check_workers(self, progress: Progress) -> None:
        deadline = time.monotonic() + CONNECTING
        while not (facts := self._facts()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the scheduler ({self.choice}) has no workers; start some with: dask worker ADDRESS --nthreads 1"
                )
            progress.report(0.0)
            time.sleep(_POLL_SECONDS)
        for address, each in facts.items():
            if each["nthreads"] != 1:
                raise ClusterError(
                    f"worker {address} runs {each['nthreads']} tasks at once, but only one is supported; start "
                    "several workers with --nthreads 1 instead"
                )
        for address, versions in self.workers().items():
            refuse_other(address, versions, versions_here())


def _connect(choice: ClusterChoice, progress: Progress) -> "tuple[Any, Client]":
    """Connect to a cluster. Return the local cluster, or None if a scheduler was given, and the Dask client."""
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.comm.addressing import parse_host_port
    except ImportError as error:
        raise ClusterError(f"{error.name or 'Dask'} is not installed: {how_to_get('cluster')}") from None
    # Dask's own log messages are hidden, because this program reports lost connections and workers itself.
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
            try:
                return local, Client(local, set_as_default=False)
            except BaseException:
                local.close(timeout=5.0)
                raise
        address = _address_in(choice.scheduler) if choice.is_file else choice.scheduler
        _wait_for_port(parse_host_port(address.partition("://")[2]), progress)
        return None, Client(address, timeout=CONNECTING, set_as_default=False)
    except ClusterError:
        raise
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        reason = (getattr(error, "strerror", "") or str(error) or type(error).__name__).splitlines()[0]
        remedy = "check that a scheduler is running at this address" if choice.scheduler else "use fewer workers"
        raise ClusterError(f"cannot connect to {choice} ({reason}); {remedy}") from None


@contextmanager
def _blocked_interrupt() -> Iterator[None]:
    """Block the signals SIGINT and SIGTERM in processes and threads that are started in this context.

    If a signal arrives within the context, this process receives it at the end of the context. An exception while
    workers start would leave a cluster that cannot be closed. Ctrl+C also sends SIGINT to the workers. If SIGINT were
    not blocked, workers that are just starting would print tracebacks. The function `workers.dask_setup` unblocks
    SIGTERM on the workers, because Dask stops workers with this signal.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    from multiprocessing import resource_tracker

    # Starting the resource tracker of multiprocessing unblocks both signals, so it is started before they are blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_port(place: tuple[str, int], progress: Progress) -> None:
    """Wait until a host accepts connections at a port. Unlike a connection attempt by Dask, the wait can be cancelled.

    Raises
    ------
    OSError
        If the host refuses the connection, or does not answer in time.
    """
    deadline = time.monotonic() + CONNECTING
    while True:
        progress.report(0.0)
        try:
            socket.create_connection(place, _ATTEMPT_SECONDS).close()
            return
        except TimeoutError:
            if time.monotonic() > deadline:
                raise


def _address_in(file: str) -> str:
    """Return the address of a scheduler from its scheduler file.

    Raises
    ------
    ClusterError
        If the file does not exist or contains no address.
    """
    with suppress(DataError, ValueError, KeyError, TypeError, RecursionError):
        address = json.loads(read_small(file, _LARGEST_FILE, "a scheduler file"))["address"]
        if isinstance(address, str):
            return address
    remedy = "start a scheduler with: dask scheduler --scheduler-file FILE"
    raise ClusterError(f"{file} does not exist or contains no scheduler address; {remedy}")
