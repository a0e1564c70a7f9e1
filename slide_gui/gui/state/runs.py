"""Training, live error estimates, sweeps and trials of SLIDE on new data, as requested by the user in the window."""

import json
import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import is_known
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.documents import from_document
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.cost import RunShape, peak_bytes, typical_seconds
from slide_gui.experiments.runs.fitting import Reuse
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import RunProgress, live_spec, run
from slide_gui.experiments.runs.spec import METHODS, RunSpec, SweepSpec, on_every_fold
from slide_gui.experiments.runs.splits import can_hold_out
from slide_gui.experiments.store.store import RunStore, get_or_run
from slide_gui.experiments.store.stored_run import Setting, StoredRun
from slide_gui.experiments.sweeps.sweep import SweepPlan, SweepState, plan_sweep, points_and_choice, run_sweep
from slide_gui.experiments.sweeps.trial import BUDGET, TrialState, checked_budget, try_data
from slide_gui.gui.state.cluster import ClusterController
from slide_gui.gui.state.jobs import Task, UserMessage
from slide_gui.gui.state.library import RunLibrary
from slide_gui.gui.state.workspace import Workspace, panel_parameters
from slide_gui.progress import Listener, Progress
from slide_gui.text import about, dataset_title

SWEEP_NOISES = tuple(round(0.1 * k, 1) for k in range(10))
SWEEP_DEPTHS = (0, 1, 2, 3, 4)
MOST_POINTS = 2000  # Largest number of points of a sweep.

# The key of the setting for the time limit of “Try on my data”.
TRY_SECONDS = "try/seconds"

_MOST_SECONDS, _MOST_BYTES = 5.0, 500e6  # Estimates that need more start only at the user's request.


class _TooLong(Exception):
    """Raised to end an estimate that has exceeded its time limit."""


def stored_budget(settings: QSettings) -> float:
    """Return the user's time limit for “Try on my data” in seconds, or the default if this setting is invalid."""
    try:
        return checked_budget(str(settings.value(TRY_SECONDS, BUDGET)))
    except ValueError:
        return BUDGET


def n_points(sweep: SweepSpec) -> int:
    """Return the number of points of a sweep, in which repeated values are counted repeatedly."""
    return math.prod(map(len, (sweep.noises, sweep.depths, sweep.splits, sweep.seeds)))


def _without_time_left(progress: Progress) -> Progress:
    """Return a `Progress` that forwards all reports to `progress` without their remaining time.

    Each run reports only its own remaining time, which is too short if more runs follow.
    """

    def report(fraction: float, payload: object) -> None:
        progress.report(fraction, replace(payload, seconds_left=None) if isinstance(payload, RunProgress) else payload)

    return Listener(report)


def _is_light(spec: RunSpec, dataset: Dataset) -> bool:
    """Return True if a run is expected to need at most 5 seconds and 500 MB, so that it may start automatically."""
    shape = RunShape.of(dataset)
    return typical_seconds(spec, shape) <= _MOST_SECONDS and peak_bytes(spec, shape) <= _MOST_BYTES


@dataclass(frozen=True, eq=False)
class _Trained:
    """The outcome of training: the result on the open fold or split, the error over all folds, and the stored runs."""

    result: RunResult
    rate: ErrorRate | None
    stored: list[StoredRun]


class RunController(QObject):
    """Starts training, estimates, sweeps and trials, and holds their results for the pages.

    Attributes
    ----------
    training : Task
        Task that trains a classifier. It reports `RunProgress` objects.
    sweep : Task
        Task that computes a sweep. It reports `SweepState` objects.
    estimate : Task
        Task that estimates the error of the run `estimated` before it is trained. It reports `RunProgress` objects.
    trial : Task
        Task that compares SLIDE with raw features on the open data. It reports `TrialState` objects and returns a
        `Trial`.
    spec : RunSpec or None
        The run that is being trained; if none is being trained, the run to which `result` belongs.
    cancelled : RunSpec or None
        Run on the open data set whose training was cancelled but can be resumed. Its last progress report is
        `training.latest`.
    folds_rate : ErrorRate or None
        Error over all folds of a cross-validation if `result` is the result on one of these folds, else None.
    offered : RunSpec or None
        Run whose error will be estimated only at the user's request, because the estimate is costly, failed or was
        stopped.
    svm : SvmParameters
        Parameters of the SVM for new runs, which are set on the Classifier page.
    requested_sweep : SweepSpec or None
        The last sweep that was requested on the open data set.

    Signals
    -------
    started()
        A training, trial or sweep started.
    result_changed()
        The attribute `result` changed.
    """

    started = Signal()
    result_changed = Signal()

    def __init__(self, workspace: Workspace, library: RunLibrary, cluster: ClusterController, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace, self.library, self._cluster = workspace, library, cluster
        queue = workspace.queue
        self.training = Task(queue, "train", "Training", "The classifier could not be trained", RunProgress, self)
        text = "The error could not be estimated"
        self.estimate = Task(queue, "estimate", "Estimating", text, RunProgress, self, background=True, automatic=True)
        failure = "The sweep stopped; finished runs are stored"
        self.sweep = Task(queue, "sweep", "Sweep", failure, SweepState, self, background=True)
        self.trial = Task(queue, "try", "Trying your data", "The trial could not be completed", TrialState, self)
        self.spec: RunSpec | None = None
        self.result: RunResult | None = None
        self.cancelled: RunSpec | None = None
        self.folds_rate: ErrorRate | None = None
        self.estimated: RunSpec | None = None
        self.offered: RunSpec | None = None
        self.svm = SvmParameters()
        self.requested_sweep: SweepSpec | None = None
        self._reuse = Reuse()
        self._shown_next: RunResult | None = None  # Result that is shown once the data of its run are open.
        # The previous `result` and `folds_rate`, which are shown again if the current training is cancelled or fails.
        self._earlier: tuple[RunResult | None, ErrorRate | None] = None, None
        self.training.ended.connect(self._show_trained)
        self.estimate.ended.connect(self._end_estimate)
        self.sweep.ended.connect(library.refresh)
        self.trial.ended.connect(library.refresh)
        workspace.dataset_changed.connect(self._follow_dataset)

    def _base(self) -> RunSpec | None:
        dataset, source = self._workspace.dataset, self._workspace.source
        if dataset is None or source is None:
            return None
        return RunSpec(dataset.fingerprint, source.argument, held_out=dataset.held_out)

    # Requests --------------------------------------------------------------------------------------------------

    def spec_of(self, svm: SvmParameters, method: str = "slide-svm", variance: float | None = None) -> RunSpec | None:
        """Return a run with the layer parameters in the panel, or None if it cannot be trained on the open data."""
        base = self._base()
        if base is None or self.why_not(method):
            return None
        return replace(base, method=method, stack=self._workspace.state.parameters, svm=svm, kept=variance)

    def training_time(self, svm: SvmParameters, method: str, variance: float | None = None) -> str:
        """Return a sentence with the estimated duration of training, or "" if training is impossible."""
        spec, dataset = self.spec_of(svm, method, variance), self._workspace.dataset
        if spec is None or dataset is None:
            return ""
        seconds = sum(typical_seconds(each, RunShape.of(dataset)) for each in on_every_fold(spec.checked(), dataset))
        return f"Training takes {about(seconds)} on an ordinary computer."

    def bases(self) -> tuple[RunSpec, ...]:
        """Return runs with default parameters: one for each fold of the open data set, or one for its only split."""
        base, dataset = self._base(), self._workspace.dataset
        return () if base is None or dataset is None else on_every_fold(base, dataset)

    @property
    def shows_open_data(self) -> bool:
        """True if `result` was computed on the open data set."""
        dataset = self._workspace.dataset
        return dataset is not None and self.result is not None and self.result.spec.fingerprint == dataset.fingerprint

    @property
    def n_classes(self) -> int:
        """Return the number of classes of the open data set, or 0 if it has no labels."""
        dataset = self._workspace.dataset
        return 0 if dataset is None else dataset.n_classes

    def why_not(self, method: str = "slide-svm") -> str:
        """Return the reason why no run with this method is possible on the open data set, or "" if it is possible."""
        dataset = self._workspace.dataset
        if dataset is None:
            return "The data are still being opened."
        if dataset.why_no_classes:
            return f"A classifier cannot be trained: {dataset.why_no_classes}."
        if dataset.n_test == 0 and can_hold_out(dataset):
            return "There are no test rows. Hold out some rows in the panel, under Test set."
        if dataset.n_test == 0 or dataset.test_labels is None:
            return "These data have no labelled test set. Open the training set and a labelled test set together."
        if METHODS[method].omits_input and self._workspace.state.parameters.depth == 0:
            return f"{METHODS[method].text} needs at least one layer. Set the depth to 1 or more in the panel."
        return ""

    # Training --------------------------------------------------------------------------------------------------

    def train(self, spec: RunSpec) -> None:
        """Train and test the classifier of a run, or show the stored result of the run.

        If training of the same run was cancelled before, it resumes where it stopped. The result is the same as without
        the interruption. If training is cancelled or fails this time, the previous result is shown again.
        """
        dataset, reuse, path = self._workspace.dataset, self._reuse, self.library.path
        if dataset is None:
            return
        self.drop_estimate()
        if self.result is not None:
            self._earlier = self.result, self.folds_rate
        self.spec, self.result, self.folds_rate, self.cancelled = spec, None, None, None

        def work(progress: Progress) -> _Trained:
            # The run on the fold that is open in the window comes last, so that the page shows its last progress
            # report.
            ordered = [each for each in on_every_fold(spec, dataset) if each.hash != spec.hash] + [spec.checked()]
            results = []
            with RunStore(path) as store:
                for each, part in progress.each(ordered):
                    shown = part if len(ordered) == 1 else _without_time_left(part)
                    results.append(get_or_run(dataset, each, store, progress=shown, reuse=reuse))
                rows = [store.stored(each.hash) for each in ordered]
            rate = ErrorRate.of_folds([result.rate for result in results]) if len(results) > 1 else None
            return _Trained(results[-1], rate, rows)

        self.training.start(work, RunProgress())
        self.started.emit()

    @Slot()
    def _show_trained(self) -> None:
        trained = self.training.latest
        if isinstance(trained, _Trained):
            self.show(trained.result, trained.rate)
            self.library.add(trained.stored)
            return
        self.cancelled = self.spec if self.training.stopped and trained is not None else None
        if self._earlier[0] is not None:
            self.show(*self._earlier)

    def show(self, result: RunResult | None, folds_rate: ErrorRate | None = None) -> None:
        """Show a result, or none if `result` is None; `folds_rate` is the error over all folds of a cross-validation.

        While a classifier is being trained, the attribute `spec` remains the run that is being trained.
        """
        self.result, self.folds_rate = result, folds_rate
        if self.training.running:
            self._earlier = result, folds_rate
        else:
            self.spec = None if result is None else result.spec
        self.result_changed.emit()

    # Live estimates --------------------------------------------------------------------------------------------

    def request_estimate(self, spec: RunSpec, *, requested: bool = False) -> None:
        """Estimate the error that a run would have, using more and more rows.

        The estimate does not learn kernel widths. It uses those of the stored run with the same settings and the most
        similar noise level, if there is one. An estimate that needs more than 5 seconds or 500 MB is computed only if
        `requested` is True; otherwise, `offered` is set to its run. Any new job interrupts the estimate; training, a
        sweep or a trial ends it.
        """
        dataset, reuse, library = self._workspace.dataset, self._reuse, self.library
        if dataset is None or self.estimated == spec or (self.offered == spec and not requested):
            return
        self.offered = None
        if not requested and not _is_light(live_spec(spec), dataset):
            self.drop_estimate()
            self.offered = spec
            self.estimate.changed.emit()
            return
        setting = Setting.of(spec)
        stored = [run for run in self.current_runs() if run.depth == spec.stack.depth and not run.is_shipped]
        same = [run for run in stored if (its := Setting.from_text(run.setting)) and setting.covers(its)]
        nearest = min(same, key=lambda run: abs(run.noise - spec.stack.noise), default=None)

        def work(progress: Progress) -> None:
            end = math.inf if requested else time.monotonic() + _MOST_SECONDS

            def report(fraction: float, payload: object) -> None:
                progress.report(fraction, payload)
                if time.monotonic() > end:
                    raise _TooLong

            with suppress(_TooLong):
                result = None if nearest is None else library.load_results([nearest.hash], progress)[0]
                run(dataset, live_spec(spec, result), progress=Listener(report), reuse=reuse)

        self.estimated = spec
        self.estimate.start(work, RunProgress())

    @Slot()
    def _end_estimate(self) -> None:
        """If the estimate has ended before it was complete, discard it and set `offered` to its run."""
        spec, seen = self.estimated, self.estimate.latest
        estimate = None if spec is None or seen is None else getattr(seen, spec.evaluate)
        if estimate is None or estimate.done < estimate.total:
            self.offered, self.estimated, self.estimate.latest = spec, None, None

    def drop_estimate(self) -> None:
        """Stop the live estimate and discard its results."""
        self.estimated = None
        self.estimate.stop(forget=True)
        self.offered = None

    # Sweeps ----------------------------------------------------------------------------------------------------

    def usual_sweep(self) -> SweepSpec | None:
        """Return the sweep over the paper's noise levels and depths, or None if no classifier can be trained.

        Noise level and depth are selected on validation rows. No run starts from the kernel widths of another run, so
        the results equal those on the Classifier page.
        """
        spec = self.spec_of(self.svm)
        if spec is None:
            return None
        return SweepSpec(replace(spec, training="split"), SWEEP_NOISES, SWEEP_DEPTHS, warm=False, choose="pooled")

    def plan(self, sweep: SweepSpec) -> SweepPlan | None:
        """Return the cost of a sweep on the open data set, or None if no classifier can be trained on it.

        Raises
        ------
        ValueError
            If the sweep contains no noise level or no depth, or if one of them is out of range.
        """
        dataset = self._workspace.dataset
        return None if dataset is None or self.why_not() else plan_sweep(sweep, dataset, self.library.stored_runs)

    def start_sweep(self, sweep: SweepSpec | None = None) -> None:
        """Compute the runs of a sweep that are not stored yet. By default, the sweep is `usual_sweep()`."""
        dataset, sweep = self._workspace.dataset, sweep or self.usual_sweep()
        if dataset is None or sweep is None:
            self._workspace.problem.emit(UserMessage("The sweep cannot start", self.why_not()))
            return
        self.requested_sweep, self.sweep.latest = sweep, None
        self.drop_estimate()
        self._cluster.start(self.sweep, partial(run_sweep, dataset, sweep, pause=self.sweep.pause))
        self.started.emit()

    def restore_sweep(self, text: str) -> None:
        """Set `requested_sweep` to the sweep of a session, given as JSON, unless it was requested on other data.

        The state of this sweep contains its points but no results, because its finished runs are in the run store.
        """
        dataset, base = self._workspace.dataset, self._base()
        if not text or dataset is None or base is None or self.requested_sweep is not None:
            return
        with suppress(ValueError, RecursionError):
            sweep = from_document(SweepSpec, json.loads(text))
            if sweep.base.fingerprint == base.fingerprint and n_points(sweep) <= MOST_POINTS:
                sweep = replace(sweep, base=sweep.base.on(source=base.source))
                self.sweep.latest = SweepState(points_and_choice(sweep, dataset)[0])
                # The Classifier page, which restores the loss for new runs, may not be built yet.
                self.requested_sweep, self.svm = sweep, replace(self.svm, loss=sweep.base.svm.loss)

    def start_trial(self, budget: float = BUDGET) -> None:
        """Within `budget` seconds, compare noise levels and depths on validation rows, and test the best pair."""
        dataset, source = self._workspace.dataset, self._workspace.source
        if dataset is None or source is None or self.why_not():
            self._workspace.problem.emit(UserMessage("The trial cannot start", self.why_not()))
            return
        self.trial.stop(forget=True)
        self.drop_estimate()
        self._cluster.start(self.trial, partial(try_data, dataset, source, budget=budget, started=time.monotonic()))
        self.started.emit()

    def stop(self) -> None:
        """Stop training, the estimate, the trial and the sweep if they are running. Finished runs remain stored."""
        self.drop_estimate()
        for task in (self.training, self.trial, self.sweep):
            task.stop()

    # Stored runs -----------------------------------------------------------------------------------------------

    def current_runs(self) -> list[StoredRun]:
        """Return the stored and shipped runs on all folds of the open data set.

        Stored runs with a different results version are omitted, because this version of the program may compute
        different results for them.
        """
        wanted = {base.fingerprint for base in self.bases()}
        runs = [run for run in self.library.runs if run.fingerprint in wanted]
        return [run for run in runs if run.is_current or run.is_shipped]

    @Slot(str)
    def open_run(self, key: str) -> None:
        """Load and show the result of a run, and set the parameters in the panel to those of the run.

        If the run was shipped with the program without its result, compute the result.
        """
        shipped, base = self.library.without_result(key), self._base()
        if shipped is None:
            self.library.load(key, self._show_stored)
            return
        setting = Setting.from_text(shipped.setting)
        if base is None or setting is None or base.fingerprint != shipped.fingerprint:
            text = f"The classifier of this run is not included. To train it, open {shipped.title} and then the run."
            self._workspace.problem.emit(UserMessage("The run was shipped with the program", text, kind="information"))
            return
        spec = setting.at(base, shipped.noise, shipped.depth, shipped.split, shipped.seed)
        if spec.stacked:
            self._workspace.set_parameters(**panel_parameters(spec.stack))
        self.train(spec)

    def show_known(self, spec: RunSpec | None, requested: str = "") -> None:
        """If no result is shown, show a stored result.

        The candidates are, in this order, the run with the hash `requested`, the run of `spec`, and the shipped run.
        """
        opening = self.library.opening_key
        known = {run.hash for run in self.current_runs() if run.hash == opening or not run.is_shipped}
        wanted = requested, "" if spec is None else spec.hash, opening
        key = next((key for key in wanted if key in known), None)
        if self.spec is None and key is not None:
            self.library.load(key, self._show_known)

    def _show_known(self, result: RunResult) -> None:
        if self.spec is None and result.spec.fingerprint in {base.fingerprint for base in self.bases()}:
            self.show(result)

    def _show_stored(self, result: RunResult) -> None:
        dataset, stack, held_out = self._workspace.dataset, result.spec.stack, result.spec.held_out
        wanted = result.spec.fingerprint
        if (
            dataset is not None
            and held_out is not None
            and dataset.fingerprint != wanted == dataset.fingerprint_as(held_out)
        ):
            self._shown_next = result  # Show the result once the data are split as in the run.
            self._workspace.hold_out(held_out)
            return
        if dataset is not None and dataset.fingerprint == result.spec.fingerprint:
            if result.spec.stacked:
                self._workspace.set_parameters(**panel_parameters(stack))
        elif result.spec.source:
            self._offer_data(result)
        self.show(result)

    def _offer_data(self, result: RunResult) -> None:
        """Tell the user that a run used data that are not open, and offer to open them if this is possible."""
        title, base, source = dataset_title(result.dataset, result.generated), self._base(), result.spec.source
        rows = "different rows or a different scaling of " if base is not None and base.source == source else ""
        key = source.removeprefix("generated:")
        # Data sets whose rows were selected by the protocol of an evaluation cannot be opened.
        can_open = not rows and (key == source or is_known(key))

        def open_data() -> None:
            self._shown_next = result
            self._workspace.open(replace(DataSource.parse(source), held_out=result.spec.held_out))

        text = f"The run used {rows}{title}, not the open data set, so the run’s rows and weights cannot be shown."
        remedy = f"Open {result.dataset}" if can_open else ""
        self._workspace.problem.emit(UserMessage("The run used different data", text, remedy, open_data, "information"))

    @Slot(object)
    def _follow_dataset(self, dataset: Dataset) -> None:
        self._reuse, self.requested_sweep = Reuse(), None
        self.cancelled, self._earlier = None, (None, None)
        self.drop_estimate()
        for task, name in ((self.training, "training"), (self.trial, "trial"), (self.sweep, "sweep")):
            if task.running:
                text = f"You opened other data or changed the split. To start the {name} again, restore them."
                self._workspace.problem.emit(UserMessage(f"The {name} was stopped", text, kind="information"))
            task.stop(forget=True)
        self.show(None)
        waiting, self._shown_next, base = self._shown_next, None, self._base()
        if waiting is not None and waiting.spec.fingerprint == dataset.fingerprint:
            self._show_stored(waiting)
        elif waiting is not None and base is not None and waiting.spec.source == base.source:
            text = f"{dataset.source} is open, but its contents have changed since the run"
            text = f"{text}, or the run used different rows or a different scaling."
            self._workspace.problem.emit(UserMessage("The data differ from those of the run", text))
