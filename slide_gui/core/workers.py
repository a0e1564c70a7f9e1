"""Tasks on the workers of a Dask cluster: waited for with progress, cancelled there too, never lost without a word."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from slide_gui.progress import NO_PROGRESS, Cancelled, Progress

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["ClusterError", "TaskProgress", "check_alive", "results_of", "sent"]

T = TypeVar("T")

_LOOK = 0.05  # seconds between two looks at what came back


class ClusterError(OSError):
    """A cluster that cannot be reached or used, said in one sentence with the remedy."""


def dask_setup(_worker: object) -> None:
    """Leave Ctrl+C to the client: Dask calls this where a worker preloads this module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class TaskProgress(Progress):
    """The progress of a task on its worker: it ends the task once nobody wants it any more.

    Made in the thread of the task.
    """

    def __init__(self) -> None:
        from distributed import get_worker

        self.worker: Any = get_worker()
        self._key = self.worker.get_current_task()

    def report(self, fraction: float, payload: object = None) -> None:
        """Raise `Cancelled` where the client cancelled the task, or is gone."""
        task = self.worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise Cancelled


def sent(client: Client, value: object, key: str) -> Future:
    """Send a value to the workers once: as a task, which the scheduler repeats where it is lost with a worker."""
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(_as_sent, value, key=key)


def _as_sent(value: T) -> T:
    return value


def check_alive(client: Client) -> None:
    """Refuse to wait for a scheduler that is gone.

    Raises
    ------
    ClusterError
        If it is.
    """
    if client.status != "running":
        if client.scheduler is None:
            raise ClusterError("the connection to the scheduler is lost; see that it runs, and repeat what was asked")
        raise ClusterError(
            f"the connection to the scheduler at {client.scheduler.address} is lost; see that it runs, and repeat "
            "what was asked"
        )


def results_of(client: Client, futures: Sequence[Future], progress: Progress = NO_PROGRESS) -> list[Any]:
    """Wait for tasks and return their results, in their order; on the way out cancel those that are left.

    Raises
    ------
    ClusterError
        If the scheduler is lost.
    Cancelled
        By the progress.
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
