"""What can be seen of a run while it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from slide_gui.core.sda_history import SdaHistory
from slide_gui.core.stack import Stack
from slide_gui.core.stage import Stage
from slide_gui.core.svm import TrainingStep
from slide_gui.core.svm_grid import GridPoint
from slide_gui.core.widths import WidthsStep
from slide_gui.core.widths_guard import ChosenBy
from slide_gui.error_rate import ErrorRate
from slide_gui.progress import Progress

__all__ = ["Estimate", "RunProgress", "Watch"]


@dataclass(frozen=True)
class Estimate:
    """Errors so far on a growing stratified subsample of the rows to be judged.

    Attributes
    ----------
    wrong, done, total : int
        Rows.
    """

    wrong: int
    done: int
    total: int

    @property
    def error(self) -> float:
        """Share of the rows so far that were wrong."""
        return self.wrong / self.done

    @property
    def rate(self) -> ErrorRate:
        """The error so far with its 95 % interval."""
        return ErrorRate.of_run(self.error, self.done)


@dataclass(frozen=True, eq=False)
class RunProgress:
    """Everything known of a run so far, so that a later one makes all earlier ones redundant.

    Attributes
    ----------
    spec_hash : str
        Of the run.
    phase : {"fit", "learn", "train", "validation", "test"}
        Fitting the stack; widths and training; predicting training, validation and test rows.
    stack : Stack or None
        The layers so far.
    history : tuple of WidthsStep
        The widths' iterations so far.
    grid : tuple of GridPoint
        The points of cross-validation so far.
    chosen : ChosenBy or None
        What chose the widths, once it is known.
    training : TrainingStep or None
        The solver's last step.
    stage : Stage or None
        What it is doing within its phase, where that has a name.
    epochs : SdaHistory or None
        The epochs of autoencoders so far.
    train, validation, test : Estimate or None
    """

    spec_hash: str
    phase: str = "fit"
    stack: Stack | None = None
    history: tuple[WidthsStep, ...] = ()
    grid: tuple[GridPoint, ...] = ()
    chosen: ChosenBy | None = None
    training: TrainingStep | None = None
    stage: Stage | None = None
    epochs: SdaHistory | None = None
    train: Estimate | None = None
    validation: Estimate | None = None
    test: Estimate | None = None


class Watch:
    """Gathers what the parts of a run report into one `RunProgress`."""

    def __init__(self, spec_hash: str, progress: Progress) -> None:
        self._progress = progress
        self._state = RunProgress(spec_hash)
        self.started = time.perf_counter()
        self.learned = self.started
        """When the last that there is of learning widths, or of the grid, was seen."""

    def phase(self, name: str, start: float, stop: float) -> Progress:
        """Return the progress of one part of the run, from `start` to `stop` of the whole."""
        return _Phase(self, name, self._progress.part(start, stop))

    def seen(self, phase: str, payload: object) -> RunProgress | None:
        """Take a payload of some part in, and return the new state if there is one."""
        change: dict[str, object] = {}
        match payload:
            case Stack():
                change = {"stack": payload}
            case WidthsStep():
                change = {"history": (*self._state.history, payload)}
                self.learned = time.perf_counter()
            case GridPoint():
                change = {"grid": (*self._state.grid, payload)}
                self.learned = time.perf_counter()
            case ChosenBy():
                change = {"chosen": payload}
                self.learned = time.perf_counter()
            case Stage():
                change = {"stage": payload}
            case SdaHistory():
                change = {"epochs": payload}
            case TrainingStep():
                change = {"training": payload}
            case Estimate():
                change = {phase: payload}
        if not change and phase == self._state.phase:
            return None
        self._state = replace(self._state, **{"phase": phase, "stage": None, **change})  # type: ignore[arg-type]
        return self._state


class _Phase(Progress):
    def __init__(self, watch: Watch, name: str, own: Progress) -> None:
        self._watch, self._name, self._own = watch, name, own

    def report(self, fraction: float, payload: object = None) -> None:
        self._own.report(fraction, self._watch.seen(self._name, payload))
