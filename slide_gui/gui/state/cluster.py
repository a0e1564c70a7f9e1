"""Where runs are made: in this window, by workers of this computer, or by those of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QObject, QSettings, Qt, Signal, Slot

from slide_gui.experiments.cluster import Cluster, ClusterChoice, Worker
from slide_gui.gui.state.jobs import Lane, sentence
from slide_gui.progress import Progress

__all__ = ["ClusterController", "ClusterState"]

_WORKERS, _SCHEDULER = "cluster/workers", "cluster/scheduler"


@dataclass(frozen=True)
class ClusterState:
    """What is known of the place where runs are made.

    Attributes
    ----------
    workers : tuple of Worker
        Those that answered; none before the connection.
    dashboard : str
        Dask's own page of them; empty where there is none.
    problem : str
        Why there is no connection, in a sentence; empty where nobody asked for one.
    connecting : bool
        Whether one is being asked for.
    """

    choice: ClusterChoice = field(default_factory=ClusterChoice)
    workers: tuple[Worker, ...] = ()
    dashboard: str = ""
    problem: str = ""
    connecting: bool = False


class ClusterController(QObject):
    """Holds the choice, and the connection once it is needed.

    Runs on a cluster are waited for in a lane of its own: nothing is computed there, and what is computed in the window
    need not make them give way.

    Parameters
    ----------
    settings : QSettings or None
        Where the choice is kept; None: it is not.

    Signals
    -------
    changed()
        `state` is another one.
    """

    changed = Signal()
    _looked = Signal()  # from the lane's thread; what it knows is in `_known`

    def __init__(self, settings: QSettings | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lane = Lane(self)
        self._settings = settings
        self._cluster: Cluster | None = None  # the lane's thread alone opens and closes it
        self._known = ClusterState()
        self.state = ClusterState(ClusterChoice() if settings is None else _stored(settings))
        self._looked.connect(self._show_known, Qt.ConnectionType.QueuedConnection)

    @property
    def lane_of_runs(self) -> Lane | None:
        """The lane in which runs are waited for; None where they are made in the window."""
        return None if self.state.choice.is_here else self.lane

    def choose(self, choice: ClusterChoice) -> None:
        """Make runs there from now on, and connect at once, so that what is wrong is said now."""
        if self._settings is not None:
            self._settings.setValue(_WORKERS, choice.workers)
            self._settings.setValue(_SCHEDULER, choice.scheduler)
        self._set(ClusterState(choice, connecting=not choice.is_here))
        self.lane.submit(
            f"Connecting to {choice}",
            partial(self._open, choice),
            channel="connect",
            on_failure=self._fail,
            on_stop=self.stop,
        )

    def opener(self) -> Callable[[Progress], Cluster | None]:
        """Return what the work of `lane_of_runs` gets its cluster by: None where runs are made in the window."""
        choice = self.state.choice
        return (lambda _progress: None) if choice.is_here else partial(self._open, choice)

    def _open(self, choice: ClusterChoice, progress: Progress) -> Cluster | None:
        """Return the connection to a place, made if it is not there, in the lane's thread; for this window leave it."""
        if self._cluster is None or self._cluster.choice != choice or not self._cluster.is_alive:
            self._leave()
            if choice.is_here:
                return None
            self._cluster = Cluster(choice, progress=progress)
        self._look(progress)
        return self._cluster

    def _look(self, _progress: Progress) -> None:
        """Ask who is there, in the lane's thread."""
        if self._cluster is not None:
            self._known = ClusterState(self._cluster.choice, self._cluster.workers(), self._cluster.dashboard)
            self._looked.emit()

    def look_again(self) -> None:
        """Ask who is there now, where there is a connection."""
        if not self.state.choice.is_here and not self.state.connecting:
            self.lane.submit("Asking the workers", self._look, channel="connect", on_failure=self._fail)

    def stop(self) -> None:
        """Give up a connection that is not there yet."""
        if self.state.connecting:
            self.lane.cancel(channel="connect")
            problem = "the connection was given up before anybody answered."
            self._set(ClusterState(self.state.choice, problem=problem))

    def close(self) -> None:
        """Stop waiting for runs, and let workers of this computer end."""
        self.lane.close()
        self._leave()

    def _leave(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    @Slot()
    def _show_known(self) -> None:
        if self._known.choice == self.state.choice:
            self._set(self._known)

    @Slot(object)
    def _fail(self, error: Exception) -> None:
        self._set(ClusterState(self.state.choice, problem=sentence(error)))

    def _set(self, state: ClusterState) -> None:
        self.state = state
        self.changed.emit()


def _stored(settings: QSettings) -> ClusterChoice:
    """Return the choice that was kept; this window where that is none any more."""
    try:
        workers, scheduler = int(str(settings.value(_WORKERS, 0))), str(settings.value(_SCHEDULER, ""))
        return ClusterChoice(workers, scheduler).checked()
    except ValueError:
        return ClusterChoice()
