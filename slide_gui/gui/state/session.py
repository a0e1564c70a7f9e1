"""Everything that one window holds, its parts made when they are first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from slide_gui.gui.state.jobs import Lane
from slide_gui.gui.state.workspace import Workspace

if TYPE_CHECKING:
    from slide_gui.gui.state.evaluation import EvaluationController
    from slide_gui.gui.state.library import RunLibrary
    from slide_gui.gui.state.runs import RunController

__all__ = ["Session"]


class Session(QObject):
    """The lane, the workspace, and over the store of runs the library and two controllers.

    Parameters
    ----------
    store : Path
        The store of runs. What reads it is imported late: it is heavy.
    """

    def __init__(self, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.lane = Lane(self)
        self.workspace = Workspace(self.lane, self)

    @cached_property
    def library(self) -> RunLibrary:
        """The stored runs, being read from the first time on that they are asked for."""
        from slide_gui.gui.state.library import RunLibrary

        library = RunLibrary(self.workspace, self._store, self)
        library.refresh()
        return library

    @property
    def lists_runs(self) -> bool:
        """Whether `library` was asked for already."""
        return "library" in vars(self)

    @cached_property
    def runs(self) -> RunController:
        """Training, live estimates and sweeps."""
        from slide_gui.gui.state.runs import RunController

        return RunController(self.workspace, self.library, self)

    @cached_property
    def evaluation(self) -> EvaluationController:
        """The paper's tables."""
        from slide_gui.gui.state.evaluation import EvaluationController

        return EvaluationController(self.lane, self.library, self)

    def close(self) -> None:
        """Cancel everything and wait for the workers to end."""
        self.lane.close()
        if "library" in vars(self):
            self.library.close()

    def stop(self) -> None:
        """Stop what runs; what is shown stays, and what is finished is stored."""
        parts = vars(self)
        self.workspace.cancel()
        if "runs" in parts:
            self.runs.stop()
        if "evaluation" in parts:
            self.evaluation.stop()
