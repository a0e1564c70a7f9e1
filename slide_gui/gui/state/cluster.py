"""The place where runs are computed: this window, worker processes on this computer, or a Dask scheduler."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Qt, Signal, Slot

from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.cluster import Cluster, ClusterChoice
from slide_gui.gui.state.jobs import JobQueue, Task, sentence
from slide_gui.progress import Progress

_WORKERS, _SCHEDULER = "cluster/workers", "cluster/scheduler"


@dataclass(frozen=True)
class ClusterState:
    """The state of the connection to worker processes.

    Attributes
    ----------
    n_workers : int
        Number of connected workers; 0 if there is no connection.
    problem : str
        Sentence that explains why the connection failed; empty if it has not failed.
    connecting : bool
        True while a connection is being made.
    """

    choice: ClusterChoice = field(default_factory=ClusterChoice)
    n_workers: int = 0
    problem: str = ""
    connecting: bool = False


class ClusterController(QObject):
    """Stores where the user wants runs to be computed, and connects to workers when they are needed.

    Jobs that only wait for runs on a cluster are in a separate queue, so that computations in this window do not
    interrupt them.

    Parameters
    ----------
    path : Path
        Path of the run store.
    settings : QSettings
        Settings of the program, in which the user's choice is stored.

    Signals
    -------
    changed()
        The attribute `state` changed.
    """

    changed = Signal()
    # The worker thread of `queue` emits `_workers_counted` after it has stored the new state in `_known`.
    _workers_counted = Signal()

    def __init__(self, path: Path, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self.queue = JobQueue(self)
        self._settings = settings
        self._cluster: Cluster | None = None  # Only the worker thread of `queue` opens and closes the connection.
        self._known = ClusterState()
        self.state = ClusterState(_stored(settings))
        self._workers_counted.connect(self._show_known, Qt.ConnectionType.QueuedConnection)

    def choose(self, choice: ClusterChoice) -> None:
        """Compute future runs at the place that `choice` specifies: in this window, on workers or through a scheduler.

        Connect to workers immediately, so that connection problems are reported before the first run.
        """
        self._settings.setValue(_WORKERS, choice.workers)
        self._settings.setValue(_SCHEDULER, choice.scheduler)
        self._set(ClusterState(choice, connecting=not choice.is_here))
        self.queue.submit(
            f"Connecting to {choice}",
            partial(self._open, choice),
            channel="connect",
            on_failure=lambda error: self._set(ClusterState(choice, problem=sentence(error))),
            on_stop=self.stop,
        )

    def compute_here(self) -> None:
        """Compute future runs in this window instead of on workers."""
        if not self.state.choice.is_here:
            self.choose(ClusterChoice())

    def start(self, task: Task, compute: Callable[..., object]) -> None:
        """Start a task that computes and stores runs at the place that the user chose: on workers or in this window.

        Parameters
        ----------
        task : Task
            The task to start.
        compute : callable
            Called with the keyword arguments `store`, `progress` and `cluster`. If runs are computed in this window,
            `cluster` is None.
        """
        choice = self.state.choice

        def work(progress: Progress) -> object:
            cluster = None if choice.is_here else self._open(choice, progress)
            with RunStore(self._path) as store:
                return compute(store=store, progress=progress, cluster=cluster)

        task.start(work, queue=None if choice.is_here else self.queue)

    def _open(self, choice: ClusterChoice, progress: Progress) -> Cluster | None:
        """Return a connection to the workers. If `choice` specifies this window, end any connection and return None.

        This method is called in the worker thread of `queue`.
        """
        if self._cluster is None or self._cluster.choice != choice or self._cluster.client.status != "running":
            self._leave()
            if choice.is_here:
                return None
            self._cluster = Cluster(choice, progress=progress)
        self._known = ClusterState(choice, len(self._cluster.workers()))
        self._workers_counted.emit()
        return self._cluster

    def stop(self) -> None:
        """If a connection to workers is being made, cancel it."""
        if self.state.connecting:
            self.queue.cancel(channel="connect")
            self._set(ClusterState(self.state.choice, problem="the connection was cancelled before a worker answered."))

    def close(self) -> None:
        """Stop waiting for runs, and end the worker processes on this computer."""
        self.queue.close()
        self._leave()

    def _leave(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    @Slot()
    def _show_known(self) -> None:
        if self._known.choice == self.state.choice:
            self._set(self._known)

    def _set(self, state: ClusterState) -> None:
        self.state = state
        self.changed.emit()


def _stored(settings: QSettings) -> ClusterChoice:
    """Return where runs are computed according to the settings, or "in this window" if the setting is invalid."""
    try:
        workers, scheduler = int(str(settings.value(_WORKERS, 0))), str(settings.value(_SCHEDULER, ""))
        return ClusterChoice(workers, scheduler).checked()
    except ValueError:
        return ClusterChoice()
