"""Run and cancel tasks on the workers of a Dask cluster, report their progress, and detect lost connections."""

import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from slide_gui.progress import NO_PROGRESS, Cancelled, Progress

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

# Dask settings that suppress the warning about large arguments, each of which is sent only once.
LARGE_TASKS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}

_LOOK = 0.05  # seconds between two checks for completed tasks


class ClusterError(OSError):
    """Raised if a Dask cluster cannot be reached or used."""


def dask_setup(_worker: object) -> None:
    """Ignore Ctrl+C on a worker, because the client handles it. Unblock SIGTERM, which Dask uses to end the worker.

    Dask calls this function when a worker preloads this module.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # Windows has no `pthread_sigmask`
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


class TaskProgress(Progress):
    """Progress of a task on a worker. `report` ends the task if the client has cancelled it.

    Create the object in the thread that runs the task.
    """

    def __init__(self) -> None:
        from distributed import get_worker

        self.worker: Any = get_worker()
        self._key = self.worker.get_current_task()

    def report(self, fraction: float, payload: object = None) -> None:
        """Raise `Cancelled` if the client has cancelled the task or is disconnected."""
        task = self.worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise Cancelled


def sent(client: "Client", value: object, key: str) -> "Future":
    """Send a value to the cluster once, as the result of a task. Dask computes it again if a worker is lost."""
    import dask

    with dask.config.set(LARGE_TASKS):
        return client.submit(unchanged, value, key=key)


def unchanged(value: T) -> T:
    """Return the value unchanged.

    If this function is submitted as a task, Dask sends the value to each worker that needs it. Dask also restores the
    value if a worker is lost.
    """
    return value


def check_alive(client: "Client") -> None:
    """Check that the client is connected to its scheduler.

    Raises
    ------
    ClusterError
        If the connection is lost.
    """
    if client.status != "running":
        place = "" if client.scheduler is None else f" at {client.scheduler.address}"
        problem = f"the connection to the scheduler{place} is lost"
        raise ClusterError(f"{problem}; check that the scheduler is running, then try again")


def results_of(client: "Client", futures: "Sequence[Future]", progress: Progress = NO_PROGRESS) -> list[Any]:
    """Wait for tasks and return their results in the order of `futures`. If an error occurs, cancel unfinished tasks.

    Raises
    ------
    ClusterError
        If the connection to the scheduler is lost.
    Cancelled
        If `progress` raises it because the job was cancelled.
    """
    try:
        while True:
            done = sum(future.done() for future in futures)
            progress.report(done / max(len(futures), 1))
            check_alive(client)
            if done == len(futures):
                return list(client.gather(list(futures)))
            time.sleep(_LOOK)
    finally:
        if client.status == "running":
            client.cancel([future for future in futures if not future.done()])
