"""Runs asked for in the window: training, live estimates and sweeps, over one store."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.run import Reuse, RunProgress, live_spec, run
from slide_gui.experiments.spec import RunSpec, SweepSpec, on_every_fold
from slide_gui.experiments.splits import can_hold_out
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.experiments.sweep import SweepState, run_sweep, stored_or_run
from slide_gui.gui.state.jobs import Problem
from slide_gui.gui.state.library import RunLibrary
from slide_gui.gui.state.task import Task
from slide_gui.gui.state.workspace import Workspace, panel_parameters
from slide_gui.progress import Progress

__all__ = ["RunController"]

SWEEP_NOISES = tuple(round(0.1 * k, 1) for k in range(10))
SWEEP_DEPTHS = (0, 1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class _Trained:
    """A result on the data that are open, and the error over all their folds where they are dealt into folds."""

    result: RunResult
    rate: ErrorRate | None


class RunController(QObject):
    """Asks for runs and holds what came out; pages read it.

    Attributes
    ----------
    training : Task
        What it says is a `RunProgress`.
    sweep : Task
        A `SweepState`.
    estimate : Task
        A `RunProgress` of `estimated`.

    Signals
    -------
    result_changed()
        `result` is another one.
    """

    result_changed = Signal()

    def __init__(self, workspace: Workspace, library: RunLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self.library = workspace, library
        lane = workspace.lane
        self.training = Task(lane, "train", "Training", "The classifier could not be trained", self)
        self.estimate = Task(lane, "estimate", "Estimating", "The error could not be estimated", self)
        self.sweep = Task(lane, "sweep", "Sweep", "The sweep stopped; finished points are kept", self, background=True)
        self.spec: RunSpec | None = None
        """What `training` or `result` answers."""
        self.result: RunResult | None = None
        self.folds_rate: ErrorRate | None = None
        """The error over all folds, where `result` is one of them and all were trained."""
        self.estimated: RunSpec | None = None
        self._reuse = Reuse()
        self._awaited: RunResult | None = None
        self.training.ended.connect(self._trained)
        self.estimate.ended.connect(self._estimated)
        self.sweep.ended.connect(library.refresh)
        workspace.dataset_changed.connect(self._forget)

    # What is asked ---------------------------------------------------------------------------------------------

    def spec_of(self, svm: SvmParameters, method: str = "slide-svm") -> RunSpec | None:
        """Return the run that the parameters of the window stand for, or None without labelled data."""
        dataset, source = self._workspace.dataset, self._workspace.source
        if dataset is None or source is None or self.why_not():
            return None
        stack = self._workspace.state.parameters
        return RunSpec(dataset.fingerprint, source.argument, method, stack, svm, held_out=dataset.held_out)

    def why_not(self) -> str:
        """Return why nothing can be trained on what is open, or nothing."""
        dataset = self._workspace.dataset
        if dataset is None:
            return "The data are still being opened."
        if dataset.why_no_classes:
            return f"{dataset.why_no_classes[:1].upper()}{dataset.why_no_classes[1:]}."
        if len(dataset.test) == 0 and can_hold_out(dataset):
            return "Nothing is held out to test on; hold some rows out, in the panel under Test part."
        if len(dataset.test) == 0 or dataset.test_labels is None:
            return "These data have no test part; open it together with the training part."
        return ""

    # Training --------------------------------------------------------------------------------------------------

    def train(self, spec: RunSpec) -> None:
        """Train and judge, or show the stored result of the same run."""
        dataset, reuse, path = self._workspace.dataset, self._reuse, self.library.path
        if dataset is None:
            return
        spec = spec.checked()
        self.spec, self.result, self.folds_rate = spec, None, None
        folds = on_every_fold(spec, dataset)
        # The fold that is open comes last, so that its reports are what stays on the page.
        ordered = [each for each in folds if each.hash != spec.hash] + [spec]

        def work(progress: Progress) -> _Trained:
            results = []
            with RunStore(path) as store:
                for number, each in enumerate(ordered):
                    part = progress.part(number / len(ordered), (number + 1) / len(ordered))
                    results.append(stored_or_run(dataset, each, store, progress=part, reuse=reuse))
            rate = ErrorRate.of_folds([result.rate for result in results]) if len(results) > 1 else None
            return _Trained(results[-1], rate)

        self.training.start(work, RunProgress(spec.hash))

    @Slot()
    def _trained(self) -> None:
        if isinstance(self.training.latest, _Trained):
            self._show(self.training.latest.result, self.training.latest.rate)
            self.library.refresh()

    def _show(self, result: RunResult | None, folds_rate: ErrorRate | None = None) -> None:
        self.result, self.spec = result, None if result is None else result.spec
        self.folds_rate = folds_rate
        self.result_changed.emit()

    # Live estimates --------------------------------------------------------------------------------------------

    def ask_estimate(self, spec: RunSpec) -> None:
        """Estimate the test error of a point at once: widths of the nearest run, a growing part of the test rows."""
        dataset, reuse, library = self._workspace.dataset, self._reuse, self.library
        if dataset is None or self.estimated == spec:
            return
        same = [r for r in self.current_runs() if r.depth == spec.stack.depth and r.method == spec.method]
        nearest = min(same, key=lambda r: abs(r.noise - spec.stack.noise), default=None)

        def work(progress: Progress) -> None:
            result = None if nearest is None else library.load_results([nearest.hash], progress)[0]
            run(dataset, live_spec(spec, result), progress=progress, reuse=reuse)

        self.estimated = spec
        self.estimate.start(work, RunProgress(spec.hash))

    @Slot()
    def _estimated(self) -> None:
        """Forget an estimate that was broken off."""
        test = None if self.estimate.latest is None else self.estimate.latest.test
        if test is None or test.done < test.total:
            self.estimated = self.estimate.latest = None

    def drop_estimate(self) -> None:
        """Stop and forget the live estimate."""
        self.estimated = None
        self.estimate.stop(forget=True)

    # Sweeps ----------------------------------------------------------------------------------------------------

    def start_sweep(self, svm: SvmParameters) -> None:
        """Answer every noise and depth of the paper's figure; what the store holds is not run again."""
        dataset, spec = self._workspace.dataset, self.spec_of(svm)
        if dataset is None or spec is None:
            self._workspace.problem.emit(Problem("No sweep yet", self.why_not()))
            return
        sweep = SweepSpec(
            spec.fingerprint, spec.source, SWEEP_NOISES, SWEEP_DEPTHS, method=spec.method, stack=spec.stack, svm=svm,
            held_out=spec.held_out,
        )  # fmt: skip
        path, pause = self.library.path, self.sweep.pause

        def work(progress: Progress) -> SweepState:
            with RunStore(path) as store:
                return run_sweep(dataset, sweep, store, progress=progress, pause=pause)

        self.sweep.start(work)

    def stop(self) -> None:
        """Stop training, estimate and sweep; what is finished is kept."""
        self.training.stop()
        self.drop_estimate()
        self.sweep.stop()

    # Stored runs -----------------------------------------------------------------------------------------------

    def current_runs(self) -> list[StoredRun]:
        """Return the stored runs on the data that are open, on all their folds, judged on the test part.

        Those that this program would not repeat are left out.
        """
        dataset = self._workspace.dataset
        if dataset is None:
            return []
        held_out, wanted = dataset.held_out, {dataset.fingerprint}
        if held_out is not None:
            wanted = {each.fingerprint(dataset.whole) for each in held_out.each}
        same = [r for r in self.library.runs if r.fingerprint in wanted and r.evaluate == "test"]
        return [r for r in same if r.is_current]

    @Slot(str)
    def open_run(self, key: str) -> None:
        """Load a stored result and set the window's parameters to its own."""
        self.library.load(key, self._loaded)

    @Slot(object)
    def _loaded(self, result: RunResult) -> None:
        dataset, stack, held_out = self._workspace.dataset, result.spec.stack, result.spec.held_out
        wanted = result.spec.fingerprint
        if (
            dataset is not None
            and held_out is not None
            and dataset.fingerprint != wanted == held_out.fingerprint(dataset.whole or dataset.fingerprint)
        ):
            self._awaited = result  # of the same rows, divided otherwise: shown once they are
            self._workspace.hold_out(held_out)
            return
        if dataset is not None and dataset.fingerprint == result.spec.fingerprint:
            self._workspace.set_parameters(**panel_parameters(stack))
        self._show(result)

    @Slot(object)
    def _forget(self, dataset: Dataset) -> None:
        self._reuse = Reuse()
        self.drop_estimate()
        self.sweep.stop(forget=True)
        self.training.stop(forget=True)
        self._show(None)
        awaited, self._awaited = self._awaited, None
        if awaited is not None and awaited.spec.fingerprint == dataset.fingerprint:
            self._loaded(awaited)
