"""Runs in the window: training, live estimates, sweeps and the table of all runs, over one store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.svm import SvmParameters
from slide_gui.experiments.comparison import Comparison, compare_rows
from slide_gui.experiments.result import RunResult
from slide_gui.experiments.run import Reuse, live_spec, run
from slide_gui.experiments.run_progress import RunProgress
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.stored_run import StoredRun
from slide_gui.experiments.sweep import Pause, SweepState, run_sweep
from slide_gui.experiments.sweep_spec import SweepSpec
from slide_gui.gui.workspace import Problem, Workspace, sentence
from slide_gui.progress import Progress

__all__ = ["RunDesk"]

SWEEP_NOISES = tuple(round(0.1 * k, 1) for k in range(10))
SWEEP_DEPTHS = (0, 1, 2, 3, 4)


class RunDesk(QObject):
    """Asks for runs in the lane and keeps what came out; pages read it.

    Signals
    -------
    runs_changed()
        `runs` is another list.
    training_changed()
        `training`, `result` or `spec` changed.
    sweep_changed()
        `sweep` changed.
    estimate_changed()
        `estimate` changed.
    """

    runs_changed = Signal()
    training_changed = Signal()
    sweep_changed = Signal()
    estimate_changed = Signal()

    def __init__(self, workspace: Workspace, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._lane, self._path = workspace, workspace.lane, store
        self.runs: tuple[StoredRun, ...] = ()
        self.spec: RunSpec | None = None
        self.training: RunProgress | None = None
        self.result: RunResult | None = None
        self.sweep: SweepState | None = None
        self.sweeping = False
        self.estimate: tuple[RunSpec, RunProgress] | None = None
        self._pause = Pause()
        self._reuse = Reuse()
        self._deleted: list[tuple[str, ...]] = []
        self._count = 0
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
        self.refresh()

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
                with RunStore(path) as store:
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
        self.refresh()

    @Slot(object)
    def _sweep_seen(self, state: SweepState) -> None:
        more = self.sweep is None or len(state.done) != len(self.sweep.done)
        self.sweep = state
        self.sweep_changed.emit()
        if more:
            self.runs_changed.emit()

    @Slot(object)
    def _sweep_done(self, state: SweepState) -> None:
        self.sweeping = False
        self._sweep_seen(state)
        self.refresh()

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

    # The table of runs -----------------------------------------------------------------------------------------

    def own_runs(self) -> list[StoredRun]:
        """Return the stored runs on the data that are open, judged on the test part."""
        dataset = self._workspace.dataset
        if dataset is None:
            return []
        return [r for r in self.runs if r.fingerprint == dataset.fingerprint and r.evaluate == "test"]

    @Slot()
    def refresh(self) -> None:
        """Read the table of runs again."""
        self._store_job(lambda store: None)

    @Slot(str)
    def open_run(self, key: str) -> None:
        """Load a stored result and set the window's parameters to its own."""
        path = self._path

        def work(_progress: Progress) -> RunResult:
            with RunStore(path) as store:
                return store.load(key)

        self._submit("Loading a run", work, "load", self._loaded, None, self._failed)

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

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the table; `undelete` brings them back."""
        self._deleted.append(tuple(keys))
        self._store_job(lambda store: store.delete(list(keys)))

    @Slot()
    def undelete(self) -> None:
        """Bring the runs that were deleted last back."""
        if self._deleted:
            keys = self._deleted.pop()
            self._store_job(lambda store: store.delete(list(keys), undo=True))

    @property
    def can_undelete(self) -> bool:
        """Whether runs were deleted that can come back."""
        return bool(self._deleted)

    @Slot(str, str)
    def tag(self, key: str, text: str) -> None:
        """Give a run other tags, separated by commas."""
        tags = [part.strip() for part in text.split(",") if part.strip()]
        self._store_job(lambda store: store.tag(key, tags))

    def load_results(self, keys: Sequence[str], progress: Progress) -> list[RunResult]:
        """Return stored results; for the lane.

        Raises
        ------
        KeyError, DataError
            If one is no longer there, or cannot be trusted.
        """
        found = []
        with RunStore(self._path) as store:
            for number, key in enumerate(keys):
                progress.report(number / len(keys))
                found.append(store.load(key))
        return found

    def compare(self, keys: tuple[str, str], pixels: tuple[int, ...], deliver: Callable[[Comparison], None]) -> None:
        """Load two results, and fit their stacks again for the rows of W of some pixels."""
        path, dataset = self._path, self._workspace.dataset

        def work(progress: Progress) -> Comparison:
            with RunStore(path) as store:
                first, second = store.load(keys[0]), store.load(keys[1])
            rows, shape, why_not = None, None, ""
            own = dataset is not None and {first.spec.fingerprint, second.spec.fingerprint} == {dataset.fingerprint}
            if dataset is None or not own:
                why_not = (
                    "These runs were made with other data than those that are open; open those to see their weights."
                )
            elif not max(first.spec.stack.depth, second.spec.stack.depth):
                why_not = "Neither run has a layer."
            else:
                shape = dataset.image_shape
                rows = compare_rows(dataset, first.spec, second.spec, pixels, progress=progress)
            names = dataset.label_names if dataset is not None and own else ()
            return Comparison(first, second, rows, why_not, shape, names)

        self._submit("Comparing two runs", work, "load", deliver, None, self._failed)

    def _store_job(self, change: Callable[[RunStore], object]) -> None:
        path = self._path

        def work(_progress: Progress) -> tuple[StoredRun, ...]:
            with RunStore(path) as store:
                change(store)
                return tuple(store.runs())

        self._count += 1  # every change counts: none may supersede the one before
        self._submit("Reading the runs", work, f"store-{self._count}", self._listed, None, self._failed)

    @Slot(object)
    def _listed(self, runs: tuple[StoredRun, ...]) -> None:
        self.runs = runs
        self.runs_changed.emit()

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

    @Slot(object)
    def _failed(self, error: Exception) -> None:
        self._tell("The runs could not be read", error)

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
        self.runs_changed.emit()
