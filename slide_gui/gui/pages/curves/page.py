"""The Error curves page, which plots the error against the noise level, with one curve per depth."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from slide_gui.error_rate import ErrorRate, describe_rows
from slide_gui.experiments.evaluation.protocol import published, sensitivity
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.runs.result import describe_widths
from slide_gui.experiments.runs.run import Estimate, RunProgress
from slide_gui.experiments.runs.spec import SweepPoint, SweepSpec
from slide_gui.experiments.store.stored_run import Setting
from slide_gui.experiments.sweeps.curves import CurvePoint, best_mark, known_results
from slide_gui.experiments.sweeps.selection import Place, PointResult, choose, chosen_places, final_points, pooled
from slide_gui.experiments.sweeps.sweep import SweepState
from slide_gui.experiments.sweeps.trial import Trial, TrialState
from slide_gui.figures.export import FigureExport
from slide_gui.figures.run_exports import CURVES, HEAT_MAP, curves_bundle, trial_export
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.curves.error_curves import ErrorPlot
from slide_gui.gui.pages.curves.heat_map import HeatMap
from slide_gui.gui.pages.curves.points import ErrorPoint, PointState
from slide_gui.gui.pages.page import Page, PageView, table_text
from slide_gui.gui.state.session import Session
from slide_gui.gui.state.workspace import State
from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import ElidedBox, StartPause, add_button, label, name_box
from slide_gui.gui.widgets.layouts import nested, placed
from slide_gui.progress import Progress
from slide_gui.text import THIN, count_range, counted, place_name

if TYPE_CHECKING:
    from slide_gui.gui.pages.curves.sweep_dialog import SweepDialog

_REST_MILLISECONDS = 250  # Delay between the last movement of a slider and the start of an estimate.
_GLOSSARY = "The glossary in the guide (F1) explains terms such as criterion, width and guard"
_NEAR = 0.004  # Difference below which two noise levels are treated as equal.


class CurvesPage(Page):
    """The page that plots the errors of stored runs, the errors that a sweep is computing, and an estimated error.

    The error is estimated at the noise level and depth that are set in the panel.
    """

    def __init__(self, session: Session, views: Sequence[PageView], parent: QWidget) -> None:
        super().__init__("Error curves", views[0].about, views, parent)
        workspace, controller = self._workspace, self._controller = session.workspace, session.runs
        self._chosen: str | None = None
        self._sweep = ""  # The sweep that was requested last, as JSON.
        self._setting: Setting | None = None
        self._known_of: tuple[object, dict[Place, dict[str, PointResult]]] = (None, {})
        self._places: tuple[object, tuple[Place, ...]] = (None, ())
        self._finals: tuple[str, ...] = ()
        self._trial_points: tuple[SweepPoint, ...] = ()
        self._dialog: SweepDialog | None = None
        self._build_controls(nested(self.column, QHBoxLayout(), spacing=8))
        self._plot, self._map = ErrorPlot(self), HeatMap(self)
        for view in (self._plot, self._map):
            view.point_clicked.connect(self._open)
        self._plot.cursor_moved.connect(workspace.drag_noise)
        self.add_stack(self._plot, self._map)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rest.timeout.connect(self._estimate)
        workspace.state_changed.connect(self._state_changed)
        workspace.dataset_changed.connect(self._refresh_soon)
        controller.trial.changed.connect(self._follow_trial)
        sources = controller.library.changed, controller.sweep.changed, controller.estimate.changed
        for changed in (*sources, controller.result_changed):
            changed.connect(self.refresh)
        # No estimate is computed during a sweep or trial, so start an estimate when the sweep or trial has ended.
        for task in (controller.sweep, controller.trial):
            task.ended.connect(self._refresh_soon)

    def _build_controls(self, row: QHBoxLayout) -> None:
        tip = "Train and evaluate on a grid of noise levels and depths; an interrupted sweep resumes where it stopped"
        self._buttons = placed(row, StartPause(("Sweep…", "Stop"), tip, "sweep", self))
        self.sweep_button, self.pause_button = self._buttons.start, self._buttons.pause
        self.sweep_button.clicked.connect(self._toggle_sweep)
        self.pause_button.clicked.connect(self._controller.sweep.toggle_pause)
        self.shown = placed(row, ElidedBox(self, tip="Select the settings of the plotted runs", least=20))
        name_box(self.shown, "Curves shown")
        self.shown.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.shown.activated.connect(self._choose_shown)
        tip = "Estimate the error at the current noise level and depth without learning the kernel widths"
        self.estimate_button = add_button(self, row, "Estimate this point", tip, clicked=self._estimate_offered)
        row.addStretch(1)
        self.sentence = placed(self.column, label("", self, "", wraps=True, accessibleName="Result of the trial"))
        self.sentence.setFont(figure_font(self, strong=True))
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.status = placed(self.column, label("", self, wraps=True, height=32))

    # Settings ---------------------------------------------------------------------------------------------------

    def setting(self) -> Setting | None:
        """Return the settings shared by the runs whose errors are plotted, or None if the data have no labels.

        The settings are those that the user has selected. Without a selection, they are those of the requested sweep
        or, without a sweep, those with which most runs were stored.
        """
        controller, spec = self._controller, self._controller.spec_of(self._controller.svm)
        if spec is None:
            return None
        chosen, counts = Setting.from_text(self._chosen), self._n_runs()
        # Ignore the selected settings if no run on the open data has them: they were selected for other data.
        if chosen is not None and (self._trial_points or not counts or chosen.text in counts):
            return chosen
        if controller.requested_sweep is not None:
            return Setting.of(controller.requested_sweep.points()[-1].spec)
        usual = Setting.of(spec).text
        return Setting.from_text(max(counts, key=lambda text: (counts[text], text == usual), default=usual))

    def _n_runs(self) -> dict[str, int]:
        """Return the number of SLIDE-SVM runs on the open data for each choice of settings.

        The curves for settings with layers include the runs of depth 0. Settings of depth 0 are therefore left out if
        they differ from settings with layers only in the parameters of the stack.
        """
        counts = Counter(run.setting for run in self._controller.current_runs() if run.method == "slide-svm")
        settings = [each for each in map(Setting.from_text, counts) if each is not None and not each.warm]
        deep = [each for each in settings if each.spec.stack.depth]
        flat = [each for each in settings if not (each.spec.stack.depth or any(one.covers(each) for one in deep))]
        return {each.text: counts[each.text] for each in sorted([*deep, *flat], key=lambda each: each.text)}

    @Slot(int)
    def _choose_shown(self, place: int) -> None:
        self._chosen = self.shown.itemData(place)
        self.refresh()
        self.chosen.emit()

    def choices(self) -> dict[str, str]:
        return super().choices() | {"shown": self._chosen or "", "sweep": self._sweep}

    def choose(self, choices: Mapping[str, str]) -> None:
        super().choose(choices)
        self._chosen = choices.get("shown", self._chosen or "") or None
        self._sweep = choices.get("sweep", self._sweep)
        self.refresh()

    @Slot()
    def _follow_trial(self) -> None:
        """Show a heat map of the noise levels and depths that a trial ("Try on my data") compares."""
        trial = self._controller.trial.latest
        if isinstance(trial, TrialState) and self._trial_points != trial.points:
            self._trial_points, self._chosen = trial.points, Setting.of(trial.points[-1].spec).text
            self._show_view(1)
        # The user has opened another data set, so the points of the trial are discarded.
        elif trial is None and self._trial_points:
            of_trial = Setting.of(self._trial_points[-1].spec).text
            self._trial_points, self._chosen = (), None if self._chosen == of_trial else self._chosen
        if isinstance(trial, TrialState) and not (trial.done or self._controller.trial.running):
            self._chosen = None  # The trial was stopped before it had a result to plot.
        self.refresh()

    def _show_trial(self) -> None:
        task, trial, text = self._controller.trial, self._controller.trial.latest, ""
        # At depth 0, all noise levels share one run.
        done = trial.done if isinstance(trial, TrialState) else ()
        results = counted(len({each.point.spec.hash for each in done}), "result")
        if isinstance(trial, Trial):
            text = trial.sentence.replace(" %", f"{THIN}%")
        elif task.running:
            doing = f"{trial.title}, {results}" if isinstance(trial, TrialState) else "starting"
            text = f"Trying these data: {doing}…"
        elif task.stopped:
            text = f"The trial was cancelled after {results}. To start it again, press “Try on my data”."
        self.sentence.setText(text)
        self.sentence.setToolTip(trial.details if isinstance(trial, Trial) else "")
        self.sentence.setVisible(bool(text))

    @Slot()
    def _toggle_sweep(self) -> None:
        if self._controller.sweep.running:
            self._controller.sweep.stop()
            return
        dataset, usual = self._workspace.dataset, self._controller.requested_sweep or self._controller.usual_sweep()
        if dataset is None or usual is None:
            self._controller.start_sweep()  # `start_sweep` shows a message that explains why no sweep can start.
            return
        if self._dialog is None:
            from slide_gui.gui.pages.curves.sweep_dialog import SweepDialog

            self._dialog = SweepDialog(self)
            self._dialog.requested.connect(self._start_sweep)
        svm = replace(usual.base.svm, loss=self._controller.svm.loss)
        base = replace(usual.base, stack=self._workspace.state.parameters, svm=svm)
        self._dialog.ask(replace(usual, base=base), len(dataset.train), self._controller.plan)

    @Slot(object)
    def _start_sweep(self, sweep: SweepSpec) -> None:
        # The source of the data is left out, because it may contain paths, which exported pictures must not reveal.
        document = asdict(sweep) | {"base": sweep.base.on(source="").document()}
        self._chosen, self._sweep = None, json.dumps(document)
        self._controller.start_sweep(sweep)
        self.chosen.emit()

    @Slot(object)
    def _open(self, point: ErrorPoint) -> None:
        if point.key:
            self._controller.open_run(point.key)

    @Slot(object, object)
    def _state_changed(self, state: State, old: State) -> None:
        if state.parameters != old.parameters and self.isVisible():
            self._controller.drop_estimate()
            self._rest.start()
            self.refresh()

    @Slot()
    def _estimate(self) -> None:
        """Estimate the error at the noise level and depth that are set in the panel.

        No estimate is started if this error is already known, or if a sweep or trial is running.
        """
        self._workspace.history.end_gesture()
        parameters, setting, bases = self._workspace.state.parameters, self.setting(), self._controller.bases()
        busy = self._controller.sweep.running or self._controller.trial.running
        if setting is None or not bases or busy or not self.isVisible():
            return
        noise, depth = parameters.noise, parameters.depth
        # Without layers, the error does not depend on the noise level.
        if any(each[1] == depth and (not depth or abs(each[0] - noise) < _NEAR) for each in self._known(setting)):
            return
        base = self._controller.spec_of(self._controller.svm)
        if base is not None:
            self._controller.request_estimate(setting.at(base, noise, depth, split=0, seed=0))

    @Slot()
    def _estimate_offered(self) -> None:
        offered = self._controller.offered
        if offered is not None:
            self._controller.request_estimate(offered, requested=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._rest.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._rest.stop()

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        dataset, source, load = self._workspace.dataset, self._workspace.source, self._controller.library.load_results
        setting = self.setting()
        places = {} if setting is None else self._known(setting)
        shown = [(answer, key) for place in sorted(places) for key, answer in places[place].items()]
        complete = [key for _, key in shown if self._controller.library.without_result(key) is None]
        if dataset is None or source is None or setting is None or not shown:
            return ()
        n_missing = self._n_missing(setting)

        def export(figure: str, progress: Progress) -> FigureExport:
            specs = dict(zip(complete, (result.spec for result in load(complete, progress)), strict=True))
            points = tuple(replace(each.point, spec=specs.get(key, each.point.spec)) for each, key in shown)
            answers = [replace(each, point=point) for (each, _), point in zip(shown, points, strict=True)]
            return curves_bundle(FigureProvenance(figure, source, points, n_missing), dataset, answers)

        titles = {CURVES: "the error curves", HEAT_MAP: "the heat map of errors"}
        options = [ExportOption(name, title, partial(export, name)) for name, title in titles.items()]
        # The visible figure comes first in the list of exports.
        options.sort(key=lambda option: (option.name == HEAT_MAP) != self.tabs.checkedId())
        trial = self._controller.trial.latest
        if isinstance(trial, Trial):
            options.insert(0, ExportOption("try", "the trial result", lambda _: trial_export(trial, dataset, source)))
        return tuple(options)

    def why_nothing_to_export(self) -> str:
        remedy = "Press Sweep, or train a classifier on the Classifier page."
        return self._controller.why_not() or f"No run is complete yet, and estimates are not exported. {remedy}"

    def numbers(self) -> str:
        names, cells = [], []
        for p in self.points():
            if p.rate is not None and p.state == "done":
                names.append((f"{p.noise:g}", str(p.depth)))
                errors = (f"{number:.3f}" for number in (p.error, p.low, p.high))
                validation = "" if p.validation is None else f"{p.validation:.3f}"
                cells.append((*errors, p.rate.n, validation, "yes" if p.chosen else ""))
        heads = ("error %", "low %", "high %", "n", "validation %", "best on validation")
        return table_text(("noise", "depth"), names, heads, cells) if cells else ""

    # Display ----------------------------------------------------------------------------------------------------

    @Slot()
    def _refresh_soon(self) -> None:
        if self.isVisible():
            self._rest.start()
        self.refresh()

    def _renew(self) -> None:
        """Update the plots, the settings and the status line."""
        self._controller.restore_sweep(self._sweep)
        setting = self.setting()
        if setting != self._setting:
            self._setting = setting
            self._controller.drop_estimate()  # Discard the estimate, which is valid only for the previous settings.
            self._rest.start()
        self._show_trial()
        self._show_settings(setting)
        points, part = self._points(setting), "test" if setting is None else setting.spec.evaluate
        mark = best_mark(0 if setting is None else self._n_missing(setting))
        for view in (self._plot, self._map):
            view.set_points(points, part, mark)
            view.set_placeholder(self._why_empty())
        parameters = self._workspace.state.parameters
        self._plot.set_cursor(parameters.noise)
        self._plot.set_depth(parameters.depth)
        self._map.set_current(parameters.noise, parameters.depth)
        has_all_labels = setting is None or setting.spec.labels is None
        paper, dataset = self._paper_error(part) if has_all_labels else None, self._workspace.dataset
        self._plot.set_paper(paper)
        key, statements = sensitivity()
        is_paper_figure = paper is not None and dataset is not None and dataset.key == key
        # The plot itself has no tooltip, which would cover the label of the point under the mouse.
        self.status.setToolTip(f"{_GLOSSARY}\n{statements}" if is_paper_figure else _GLOSSARY)
        self._show_status(points, setting, part)
        # A plot that shows only the paper's error has no placeholder, so the status line explains why there are no
        # points.
        if not points and paper is not None and not self.status.text():
            self.status.setText(self._why_empty())

    def _why_empty(self) -> str:
        """Explain why there are no points, and what the user can do."""
        other = "move the noise slider and wait" if self._controller.offered is None else "press “Estimate this point”"
        waits = "The sweep has no result to plot yet." if self._controller.sweep.running else ""
        return self._controller.why_not() or waits or f"There are no points yet. Press Sweep, or {other}."

    def _show_settings(self, shown: Setting | None) -> None:
        texts = dict.fromkeys([*self._n_runs(), *([] if shown is None else [shown.text])])
        settings = filter(None, map(Setting.from_text, texts))
        items = [(each.text, each.words(self._controller.n_classes)) for each in settings]
        if items != [(self.shown.itemData(i), self.shown.itemText(i)) for i in range(self.shown.count())]:
            self.shown.clear()
            for text, words in items:
                self.shown.addItem(words, text)
        self.shown.setVisible(bool(items))
        self.shown.setEnabled(len(items) > 1)
        self.shown.setCurrentIndex(-1 if shown is None else self.shown.findData(shown.text))

    def points(self) -> list[ErrorPoint]:
        """Return the points to plot: those of stored runs, those that are being computed, and the estimate."""
        return self._points(self.setting())

    def _points(self, setting: Setting | None) -> list[ErrorPoint]:
        controller = self._controller
        if setting is None:
            return []
        known = self._known(setting)
        chosen = self._chosen_places(known)
        points = {place: self._point(place, answers, chosen) for place, answers in known.items()}
        sweep: SweepState | None = controller.sweep.latest
        if sweep is not None and sweep.current is not None and controller.sweep.running:
            place = sweep.current.noise, sweep.current.depth
            if place not in points and setting.covers(Setting.of(sweep.current.spec)):
                points[place] = _live_point(place, sweep.live, setting.spec.evaluate, "running")
        trial = controller.trial.latest
        if controller.trial.running and isinstance(trial, TrialState) and self._trial_points == trial.points:
            for place in {(point.noise, point.depth) for point in trial.points} - set(points):
                points[place] = ErrorPoint(*place, None, "", "running")
        if controller.estimated is not None:
            place = controller.estimated.stack.noise, controller.estimated.stack.depth
            estimate = _live_point(place, controller.estimate.latest, setting.spec.evaluate, "refining")
            points.setdefault(place, estimate)
        return [points[place] for place in sorted(points)]

    def _known(self, setting: Setting) -> dict[Place, dict[str, PointResult]]:
        sweep: SweepState | None = self._controller.sweep.latest
        trial: TrialState | Trial | None = self._controller.trial.latest
        done = (() if sweep is None else sweep.done) + (() if trial is None else trial.done)
        # Results of deleted runs are left out, except during a sweep, which may have computed these runs again.
        deleted = frozenset[str]() if self._controller.sweep.running else self._controller.library.gone
        done = tuple(each for each in done if each.point.spec.hash not in deleted)
        runs = self._controller.library.runs
        if isinstance(trial, Trial) and setting.covers(Setting.of(trial.done[0].point.spec)):
            # Leave out the runs of a split that the trial could not compare, because its time ran out during this
            # split.
            compared = {each.point.split for each in trial.done}
            runs = tuple(run for run in runs if run.split in compared)
        arguments = setting, self._controller.bases(), runs, done
        # Reuse the previous results if possible, because this method is called often while the noise slider moves.
        if arguments != self._known_of[0]:
            self._known_of = arguments, known_results(*arguments)
        return self._known_of[1]

    def _n_missing(self, setting: Setting) -> int:
        """Return how many points of the last sweep or trial, or of the plotted grid, have no result."""
        known, trial = self._known(setting), self._controller.trial.latest
        n_gaps = math.prod(len(set(axis)) for axis in zip(*known, strict=True)) - len(known)
        sweep: SweepState | None = self._controller.sweep.latest
        requested = [] if sweep is None else [sweep.points]
        requested += [trial.sweep.points()] if isinstance(trial, Trial) else []
        return max([n_gaps, *(self._n_unknown(setting, points) for points in requested)])

    def _n_unknown(self, setting: Setting, points: Sequence[SweepPoint]) -> int:
        """Return how many of these points have no result, or 0 if the curves show other settings."""
        if not setting.covers(Setting.of(points[-1].spec)):
            return 0
        hashes = {key for answers in self._known(setting).values() for key in answers}
        return sum(point.spec.hash not in hashes for point in points)

    def _chosen_places(self, known: dict[Place, dict[str, PointResult]]) -> tuple[Place, ...]:
        """Return the pairs (noise level, depth) selected on validation rows, or () while a sweep or trial runs."""
        keys = tuple((place, tuple(answers)) for place, answers in known.items())
        if self._controller.sweep.running or self._controller.trial.running:
            return ()
        if keys != self._places[0]:
            answers = [answer for place in known.values() for answer in place.values()]
            places = chosen_places(answers) if len({*map(frozenset, known.values())}) > 1 else ()
            finals = final_points(choose(pooled(answers))) if places else ()
            self._places = keys, places
            self._finals = tuple(point.spec.hash for point in finals)
        return self._places[1]

    def _point(self, place: Place, known: dict[str, PointResult], chosen: tuple[Place, ...]) -> ErrorPoint:
        """Return a point with the mean error over splits and seeds or, in cross-validation, over all folds."""
        dataset = self._workspace.dataset
        held_out = None if dataset is None else dataset.held_out
        fingerprint = "" if dataset is None else dataset.fingerprint
        answers = list(known.values())
        of_open = (key for key, each in known.items() if each.point.spec.fingerprint == fingerprint)
        key = next(of_open, next(iter(known)))
        mean, draws = CurvePoint.of(place, answers, chosen), {(each.point.split, each.point.seed) for each in answers}
        note = f"computed in {sum(each.seconds for each in answers):.1f} s"
        if held_out is not None and held_out.folds:
            folds = {each.point.spec.fingerprint for each in answers}
            note = f"{f'{len(folds)} of {held_out.folds} folds'} · {note}"
        if len(draws) > 1:
            note = f"mean over {len(draws)} splits and seeds, 95 % confidence interval over {mean.rate.covers} · {note}"
            note += f"\na click opens the run with split {known[key].point.split} and seed {known[key].point.seed}"
        validation = None if mean.validation_error is None else 100 * mean.validation_error
        by = " and ".join(dict.fromkeys(filter(None, (describe_widths(each.chosen_by) for each in answers))))
        return ErrorPoint(*place, mean.rate, key, "done", note, by, validation, mean.chosen)

    def _paper_error(self, part: str) -> float | None:
        """Return the published test error of an SVM on the raw input, in per cent.

        Return None if no error was published for these data, or if the curves show validation errors.
        """
        dataset = self._workspace.dataset
        items = published(dataset.key, dataset.name) if dataset is not None and part == "test" else ()
        return next((100 * item.error for item in items if item.method == "Raw-SVM"), None)

    def _show_status(self, points: list[ErrorPoint], setting: Setting | None, part: str) -> None:
        """Show the progress of the sweep, the criterion for the widths, and the selected point.

        `part` is the kind of rows on which the plotted errors are counted: "test" or "validation".
        """
        controller, running = self._controller, self._controller.sweep.running
        sweep: SweepState | None = controller.sweep.latest
        self._buttons.follow(running, controller.sweep.paused, not controller.why_not())
        self.estimate_button.setVisible(controller.offered is not None and not running)
        shipped = {run.hash for run in controller.library.runs if run.is_shipped}
        n_shipped = sum(point.key in shipped for point in points)
        parts = [f"{counted(n_shipped, 'point')} shipped with the program" if n_shipped else ""]
        parts += [_describe_criteria(points), _rows(points, part), self._best(points, setting)]
        if running and sweep is None:
            parts.insert(0, "searching for stored runs…")
        elif running and sweep is not None:
            held = "paused" if controller.sweep.paused else ""
            last = "testing the selected noise level and depth" if sweep.chosen else ""
            parts[:0] = f"{len(sweep.done)} of {len(sweep.points)} points", last, held
        elif isinstance(controller.trial.latest, Trial):
            parts.insert(0, controller.trial.latest.details.removesuffix("."))
        elif controller.estimate.running:
            parts.insert(0, "estimating the error at the current noise level and depth…")
        now = self._workspace.state.parameters
        plotted = now if setting is None else replace(setting.spec.stack, noise=now.noise, depth=now.depth)
        if setting and len({replace(setting.spec, stack=each).checked().stack for each in (plotted, now)}) > 1:
            parts.append("the curves and the estimate do not use the panel’s parameters; to use these, press Sweep")
        elif setting and sweep and not (running or controller.library.reading):
            n, n_missing = len(sweep.points), self._n_unknown(setting, sweep.points)
            parts[:0] = [f"{n - n_missing} of {n} points; press Sweep to continue the sweep"] * bool(n_missing)
        self.status.setText(" · ".join(filter(None, parts)))

    def _best(self, shown: list[ErrorPoint], setting: Setting | None) -> str:
        """Describe the selected noise level and depth and their test error, or explain why none are selected."""
        # The points at depth 0 have the same key, because they share a run, which is compared with no other run.
        if self._controller.sweep.running or setting is None or len({p.key for p in shown if p.state == "done"}) < 2:
            return ""
        if setting.spec.training != "split":
            return "no best point is selected: there are no validation rows, and selection must not use test errors"
        chosen = [point for point in shown if point.chosen]
        if not chosen:
            why = "no best point is selected until all splits have results at the same noise levels and depths"
            return "" if self._controller.trial.running else why
        points = "; ".join(place_name(point.noise, point.depth) for point in chosen)
        stored = {run.hash: run.rate for run in self._controller.library.runs if run.hash in self._finals}
        # `rate` is the test error of the classifiers that were retrained on all training rows with the selected noise
        # level and depth.
        rate = ErrorRate.of_folds(list(stored.values())) if stored and len(stored) == len(self._finals) else None
        best = f"{best_mark(self._n_missing(setting))}{' (differs between folds)' if len(chosen) > 1 else ''}: {points}"
        trained = f"retrained on all training rows{'' if setting.spec.labels is None else ' with all labels'}"
        return best if rate is None else f"{best}, {trained}: test error {rate} on {counted(rate.n, 'row')}"


def _rows(points: Iterable[ErrorPoint], part: str) -> str:
    """Describe the number of rows on which the errors are counted.

    The curves, the point that a sweep is computing, and the estimate are described separately.
    """
    texts = []
    names = {"done": "curves", "running": "current point", "refining": "estimate"}
    for state, name in names.items():
        rates = [point.rate for point in points if point.state == state and point.rate is not None]
        if rates:
            runs = count_range([rate.n_splits for rate in rates])
            each = f" in each of {runs} splits" if runs != "1" else ""
            texts.append(f"{name}: error on {describe_rows(rates)} {part} rows{each}")
    return "; ".join(texts)


def _describe_criteria(points: Iterable[ErrorPoint]) -> str:
    """Name the criteria by which the widths were learned, starting with the most frequent criterion.

    If there are several criteria, each one is followed by the number of points for which it was used.
    """
    counts = Counter(point.by for point in points if point.by).most_common()
    return ", ".join(by if len(counts) == 1 else f"{by} at {counted(many, 'point')}" for by, many in counts)


def _live_point(place: Place, seen: RunProgress | None, part: str, state: PointState) -> ErrorPoint:
    """Return a point for the error that a running sweep or estimate is currently computing.

    An estimate does not learn kernel widths, so its point has a note that describes which widths are used.
    """
    estimate: Estimate | None = None if seen is None else getattr(seen, part)
    rate = None if estimate is None or estimate.done == 0 else estimate.rate
    note = "estimate with widths from the nearest noise level, or with median widths" if state == "refining" else ""
    return ErrorPoint(*place, rate, "", state, note)
