"""The state of a window. Its run library and controllers are built on demand, because they are slow to import."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from slide_gui.gui.state.jobs import JobQueue
from slide_gui.gui.state.workspace import Workspace

if TYPE_CHECKING:
    from slide_gui.gui.state.cluster import ClusterController
    from slide_gui.gui.state.evaluation import EvaluationController
    from slide_gui.gui.state.library import RunLibrary
    from slide_gui.gui.state.runs import RunController


class Session(QObject):
    """The job queue and the workspace of a window. Its run library and three controllers are built on first access.

    Parameters
    ----------
    store : Path
        Path of the run store.
    settings : QSettings
        Settings of the program, which determine where runs are computed.

    Signals
    -------
    status_changed(object)
        The status of the running job changed. The argument is the `JobStatus` of a job in the window's queue or, if
        there is none, of a job that waits for a cluster.
    busy_changed()
        The property `busy` may have changed.
    place_changed()
        The user changed where runs are computed, or the state of the connection to workers changed.
    started()
        A training, trial or sweep started.
    """

    status_changed = Signal(object)
    busy_changed = Signal()
    place_changed = Signal()
    started = Signal()

    def __init__(self, store: Path, parent: QObject | None = None, *, settings: QSettings) -> None:
        super().__init__(parent)
        self._store, self._settings = store, settings
        self.queue = JobQueue(self)
        self.workspace = Workspace(self.queue, self)
        self.queue.status_changed.connect(self._report_status)
        self.queue.busy_changed.connect(self.busy_changed)

    @Slot()
    def _report_status(self) -> None:
        of_cluster = self.cluster.queue.status if "cluster" in vars(self) else None
        self.status_changed.emit(self.queue.status or of_cluster)

    @property
    def busy(self) -> bool:
        """True if a job with a title is running or waiting, either in this window or on a cluster."""
        return self.queue.busy or ("cluster" in vars(self) and self.cluster.queue.busy)

    @cached_property
    def cluster(self) -> "ClusterController":
        """Return the controller that determines where runs are computed."""
        from slide_gui.gui.state.cluster import ClusterController

        cluster = ClusterController(self._store, self._settings, self)
        cluster.queue.problem.connect(self.workspace.problem)
        cluster.queue.status_changed.connect(self._report_status)
        cluster.queue.busy_changed.connect(self.busy_changed)
        cluster.changed.connect(self.place_changed)
        return cluster

    @cached_property
    def library(self) -> "RunLibrary":
        """Return the run library. The first access builds it and starts to read the stored runs."""
        from slide_gui.gui.state.library import RunLibrary

        library = RunLibrary(self.workspace, self._store, self)
        library.refresh()
        return library

    @cached_property
    def runs(self) -> "RunController":
        """Return the controller of training, live estimates, sweeps and trials."""
        from slide_gui.gui.state.runs import RunController

        runs = RunController(self.workspace, self.library, self.cluster, self)
        runs.started.connect(self.started)
        return runs

    @property
    def built_runs(self) -> "RunController | None":
        """Return the controller `runs` if it has already been built, else None."""
        return vars(self).get("runs")

    @cached_property
    def evaluation(self) -> "EvaluationController":
        """Return the controller of the evaluation, which computes the paper's tables."""
        from slide_gui.gui.state.evaluation import EvaluationController

        return EvaluationController(self.queue, self.library, self.cluster, self)

    @property
    def scheduler(self) -> str:
        """Return the address of the selected Dask scheduler; "" if there is none or `cluster` is not built yet."""
        return self.cluster.state.choice.scheduler if "cluster" in vars(self) else ""

    def close(self) -> None:
        """Cancel all jobs, finish requested changes to the run store, and wait for the worker threads to end."""
        self.workspace.fitting.close()
        self.queue.close()
        for part in ("cluster", "library"):
            if part in vars(self):
                getattr(self, part).close()

    def stop(self) -> None:
        """Stop all jobs. Results that have been computed remain visible, and finished runs are stored."""
        for part in ("runs", "evaluation", "cluster"):
            if part in vars(self):
                getattr(self, part).stop()
        # Stop the queue last, because the evaluation adds a job that reads stored results when it is stopped.
        self.queue.stop()
