"""Set the number of threads of the BLAS library, which multiplies matrices, and describe this library.

The order in which the terms of a product are added depends on the library, on its code for the processor (the kernel)
and on the number of threads. The last bits of a result therefore depend on all three.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from slide_gui.text import counted

_VARIABLES = (
    "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "FLEXIBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
)  # fmt: skip
_TOPOLOGY = Path("/sys/devices/system/cpu")
_STATISTICS = Path("/proc/stat")

# A lock to hold while multiplying matrices: OpenBLAS before 0.3.33 can compute simultaneous products wrongly.
PRODUCTS = threading.Lock()


@dataclass(frozen=True)
class Blas:
    """A loaded BLAS library.

    Attributes
    ----------
    library : str
        Name and version of the library.
    kernel : str
        Name of the processor type for which the code in use is optimised; empty if unknown.
    threads : int or None
        Largest number of threads that the library uses; None if unknown.
    """

    library: str
    kernel: str = ""
    threads: int | None = None

    def __str__(self) -> str:
        threads = None if self.threads is None else counted(self.threads, "thread")
        details = ", ".join(filter(None, (self.kernel, threads)))
        return f"{self.library} ({details})" if details else self.library


def cores() -> int:
    """Return the number of physical cores that this process may run on.

    If the operating system does not report which logical processors share a core, each of them counts as a core.
    """
    try:
        processors = os.sched_getaffinity(0)
    except AttributeError:  # Python has no `sched_getaffinity` on macOS and Windows
        return os.cpu_count() or 1
    return len({_processors_of_core(processor) for processor in processors})


def _processors_of_core(processor: int) -> str:
    try:
        return (_TOPOLOGY / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def set_threads() -> None:
    """Let BLAS use one thread per physical core, but not more threads than by default.

    Call this function once, before any computation, in the thread that will compute. If an environment variable such as
    ``OPENBLAS_NUM_THREADS`` or ``OMP_NUM_THREADS`` is set, this function does nothing.
    """
    if _is_set_by_user():
        return
    threads = [blas.threads for blas in loaded_blas() if blas.threads is not None]
    if threads:
        limit_threads(min(cores(), *threads))


def _is_set_by_user() -> bool:
    return any(os.environ.get(name) for name in _VARIABLES)


@lru_cache(maxsize=1)
def limit_threads(count: int) -> None:
    """Limit BLAS to `count` threads in this process. Repeating the call with the same number takes no time."""
    import numpy  # noqa: F401  # loads the library
    from threadpoolctl import threadpool_limits

    threadpool_limits(count, user_api="blas")


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread.

    During an eigendecomposition, the threads of BLAS often wait for each other. If three other processes are busy on
    two cores, an eigendecomposition for 784 features takes 0.38 s with two threads and 0.14 s with one thread. An
    eigendecomposition cannot be cancelled.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


@contextmanager
def one_thread_if_busy() -> Iterator[None]:
    """Let BLAS use only one thread inside the context if other processes are using the cores.

    The threads that compute a matrix product wait for each other, so one thread that waits for a core delays all of
    them. On two free cores, learning the widths on 900 rows takes 6.2 s with two threads and 6.8 s with one thread. If
    ten other processes are running, learning takes 350 s with two threads and 70 s with one thread.
    """
    with one_thread() if _is_busy(int(time.monotonic() / 30)) else nullcontext():
        yield


@lru_cache(maxsize=1)
def _is_busy(_period: int) -> bool:
    """Return True if, throughout 50 ms, the threads of BLAS and all other running threads need more cores than exist.

    Return False if the operating system does not report the number of running threads, or if the user has set the
    number of BLAS threads.
    """
    # The number is read five times, because idle threads of BLAS keep running for about 20 ms after a product.
    threads, running = 1 if _is_set_by_user() else loaded_blas()[0].threads or 1, []
    for _ in range(5 if threads > 1 else 0):
        time.sleep(0.01)
        running.append(_n_running())
    return threads > 1 and min(running) - 1 + threads > (os.cpu_count() or 1)


def _n_running() -> int:
    """Return the number of threads on this computer that are running or waiting for a core, or 0 if it is unknown."""
    try:
        lines = _STATISTICS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("procs_running")), 0)


def loaded_blas() -> tuple[Blas, ...]:
    """Return the loaded BLAS libraries, starting with the one that NumPy uses.

    A library that cannot be inspected, such as macOS's Accelerate, is described by NumPy's build information.
    """
    import numpy
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    pools.sort(key=lambda pool: not {"numpy", "numpy.libs"} & set(Path(pool["filepath"]).parts))
    libraries = [
        Blas(
            f"{pool['internal_api']} {pool['version'] or ''}".rstrip(),
            str(pool.get("architecture") or ""),
            pool["num_threads"],
        )
        for pool in pools
    ]
    if not libraries:
        built = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        libraries = [Blas(f"{built.get('name', 'unknown')} {built.get('version', '')}".rstrip())]
    return tuple(dict.fromkeys(libraries))
