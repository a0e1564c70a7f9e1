"""Runs asked for in the window: training, live estimates and sweeps, over one store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.experiments.result import RunResult, StoredRun
from slide_gui.experiments.run import Reuse, RunProgress, live_spec, run
from slide_gui.experiments.spec import RunSpec, SweepSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.sweep import Pause, SweepState, run_sweep
from slide_gui.gui.state.library import RunLibrary
from slide_gui.gui.state.workspace import Problem, Workspace, sentence
from slide_gui.progress import Progress

__all__ = ["RunController"]

SWEEP_NOISES = tuple(round(0.1 * k, 1) for k in range(10))
SWEEP_DEPTHS = (0, 1, 2, 3, 4)


class RunController(QObject):
    """Asks for runs in the lane and keeps what came out; pages read it.

    Signals
    -------
    training_changed()
        `training`, `result` or `spec` changed.
    sweep_changed()
        `sweep` changed.
    estimate_changed()
        `estimate` changed.
    """

    training_changed = Signal()
    sweep_changed = Signal()
    estimate_changed = Signal()

    def __init__(self, workspace: Workspace, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._lane, self._path = workspace, workspace.lane, store
        self.library = RunLibrary(workspace, store, self)
        self.spec: RunSpec | None = None
        self.training: RunProgress | None = None
        self.result: RunResult | None = None
        self.sweep: SweepState | None = None
        self.sweeping = False
        self.estimate: tuple[RunSpec, RunProgress] | None = None
        self._pause = Pause()
        self._reuse = Reuse()
        workspace.dataset_changed.connect(self._forget)

    # What is asked ---------------------------------------------------------------------------------------------

    def spec_of(self, svm: SvmParameters, method: str = "slide-svm") -> RunSpec | None:
        """Return the run that the parameters of the window stand for, or None without labelled data."""
        dataset, source = self._workspace.dataset, self._workspace.source
        if dataset is None or source is None or dataset.train_labels is None or dataset.test_labels is None:
            return None
        if len(dataset.test) == 0:
            return None
        stack = self._workspace.state.parameters
        return RunSpec(dataset.fingerprint, source.argument, method, stack, svm)

    def why_not(self) -> str:
        """Return why nothing can be trained on what is open, or nothing."""
        dataset = self._workspace.dataset
        if dataset is None:
            return "The data are still being opened."
        if dataset.train_labels is None:
            return "These data have no labels; open a file that has them."
        if len(dataset.test) == 0 or dataset.test_labels is None:
            return "These data have no test part; open it together with the training part."
        return ""

    # Training --------------------------------------------------------------------------------------------------

    def train(self, spec: RunSpec) -> None:
        """Train and judge, or show the stored result of the same run."""
        dataset, reuse = self._workspace.dataset, self._reuse
        if dataset is None:
            return
        spec = spec.checked()
        self.spec, self.training, self.result = spec, RunProgress(spec.hash), None
        self.training_changed.emit()

        def work(progress: Progress) -> RunResult:
            with RunStore(self._path) as store:
                found = store.find(spec)
                if found is None:
                    found = run(dataset, spec, progress=progress, reuse=reuse)
                    store.save(found)
                return found

        self._submit("Training", work, "train", self._trained, self._training_seen, self._training_failed)

    def cancel_training(self) -> None:
        """Stop training; nothing is kept of it."""
        self._lane.cancel(channel="train")
        self.training = None
        self.training_changed.emit()

    @Slot(object)
    def _training_seen(self, seen: RunProgress) -> None:
        self.training = seen
        self.training_changed.emit()

    @Slot(object)
    def _trained(self, result: RunResult) -> None:
        self.training, self.result, self.spec = None, result, result.spec
        self.training_changed.emit()
        self.library.refresh()

    @Slot(object)
    def _training_failed(self, error: Exception) -> None:
        self.training = None
        self.training_changed.emit()
        self._tell("The classifier could not be trained", error)

    # Live estimates --------------------------------------------------------------------------------------------

    def ask_estimate(self, spec: RunSpec) -> None:
        """Estimate the test error of a point at once: widths of the nearest run, a growing part of the test rows."""
        dataset, reuse = self._workspace.dataset, self._reuse
        if dataset is None or (self.estimate is not None and self.estimate[0] == spec):
            return
        near = self._nearest(spec)
        path = self._path
        self.estimate = (spec, RunProgress(spec.hash))
        self.estimate_changed.emit()

        def work(progress: Progress) -> None:
            found = None
            if near is not None:
                with RunStore(path, read_only=True) as store:
                    found = store.load(near)
            run(dataset, live_spec(spec, found), progress=progress, reuse=reuse)

        def seen(payload: RunProgress) -> None:
            self.estimate = (spec, payload)
            self.estimate_changed.emit()

        self._submit("Estimating", work, "estimate", None, seen, self._estimate_failed)

    def drop_estimate(self) -> None:
        """Stop and forget the live estimate."""
        self._lane.cancel(channel="estimate")
        self.estimate = None
        self.estimate_changed.emit()

    def _nearest(self, spec: RunSpec) -> str | None:
        same = [r for r in self.own_runs() if r.depth == spec.stack.depth and r.method == spec.method]
        return min(same, key=lambda r: abs(r.noise - spec.stack.noise)).hash if same else None

    @Slot(object)
    def _estimate_failed(self, error: Exception) -> None:
        self.estimate = None
        self.estimate_changed.emit()
        self._tell("The error could not be estimated", error)

    # Sweeps ----------------------------------------------------------------------------------------------------

    def start_sweep(self, svm: SvmParameters) -> None:
        """Answer every noise and depth of the paper's figure; what the store holds is not run again."""
        dataset, spec = self._workspace.dataset, self.spec_of(svm)
        if dataset is None or spec is None:
            self._workspace.problem.emit(Problem("No sweep yet", self.why_not()))
            return
        sweep = SweepSpec(
            spec.fingerprint, spec.source, SWEEP_NOISES, SWEEP_DEPTHS, method=spec.method, stack=spec.stack, svm=svm
        )
        self._pause.resume()
        pause, path = self._pause, self._path

        def work(progress: Progress) -> SweepState:
            with RunStore(path) as store:
                return run_sweep(dataset, sweep, store, progress=progress, pause=pause)

        self.sweeping = True
        self._submit("Sweep", work, "sweep", self._sweep_done, self._sweep_seen, self._sweep_failed, background=True)
        self.sweep_changed.emit()

    @property
    def paused(self) -> bool:
        """Whether the sweep is held."""
        return self._pause.paused

    @Slot()
    def pause_sweep(self) -> None:
        """Hold the sweep, or let it go on."""
        if self._pause.paused:
            self._pause.resume()
        else:
            self._pause.pause()
        self.sweep_changed.emit()

    def cancel_sweep(self) -> None:
        """Stop the sweep; finished points are kept."""
        self._pause.resume()
        self._lane.cancel(channel="sweep")
        self.sweeping = False
        self.sweep_changed.emit()
        self.library.refresh()

    @Slot(object)
    def _sweep_seen(self, state: SweepState) -> None:
        self.sweep = state
        self.sweep_changed.emit()

    @Slot(object)
    def _sweep_done(self, state: SweepState) -> None:
        self.sweeping = False
        self._sweep_seen(state)
        self.library.refresh()

    @Slot(object)
    def _sweep_failed(self, error: Exception) -> None:
        self.sweeping = False
        self.sweep_changed.emit()
        self._tell("The sweep stopped; finished points are kept", error)

    def stop(self) -> None:
        """Stop training, estimate and sweep; what is finished is kept."""
        if self.training is not None:
            self.cancel_training()
        if self.estimate is not None:
            self.drop_estimate()
        if self.sweeping:
            self.cancel_sweep()

    # Kept runs -------------------------------------------------------------------------------------------------

    def own_runs(self) -> list[StoredRun]:
        """Return the stored runs on the data that are open, judged on the test part, that this program would repeat."""
        dataset = self._workspace.dataset
        if dataset is None:
            return []
        own = [r for r in self.library.runs if r.fingerprint == dataset.fingerprint and r.evaluate == "test"]
        return [r for r in own if r.is_current]

    @Slot(str)
    def open_run(self, key: str) -> None:
        """Load a stored result and set the window's parameters to its own."""
        self.library.load(key, self._loaded)

    @Slot(object)
    def _loaded(self, result: RunResult) -> None:
        self.result, self.spec, self.training = result, result.spec, None
        stack, own = result.spec.stack, self._workspace.state.parameters
        dataset = self._workspace.dataset
        if dataset is not None and dataset.fingerprint == result.spec.fingerprint:
            wanted = replace(stack, batch_size=own.batch_size)
            self._workspace.set_parameters(
                noise=wanted.noise,
                depth=wanted.depth,
                threshold=wanted.threshold,
                squashing=wanted.squashing,
                fit_on=wanted.fit_on,
            )
        self.training_changed.emit()

    # Common ----------------------------------------------------------------------------------------------------

    def _submit(
        self,
        title: str,
        work: Callable[[Progress], Any],
        channel: str,
        result: Callable[[Any], None] | None,
        payload: Callable[[Any], None] | None,
        failure: Callable[[Exception], None],
        background: bool = False,
    ) -> None:
        self._lane.submit(
            title,
            work,
            channel=channel,
            on_result=result,
            on_payload=payload,
            on_failure=failure,
            background=background,
        )

    def _tell(self, title: str, error: Exception) -> None:
        self._workspace.problem.emit(Problem(title, sentence(error)))

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        for channel in ("train", "estimate", "sweep"):
            self._lane.cancel(channel=channel)
        self._reuse = Reuse()
        self.spec = self.training = self.result = self.sweep = self.estimate = None
        self.sweeping = False
        self.training_changed.emit()
        self.sweep_changed.emit()
        self.estimate_changed.emit()
        self.library.changed.emit()  # other runs are those of the data
