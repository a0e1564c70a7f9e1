"""The Error curves page: test error against noise and depth, points appearing as they are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QStackedWidget, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.choice import Place, PointResult, choose, chosen_places, final_points, mean_rate, pooled
from slide_gui.experiments.curves import known_answers
from slide_gui.experiments.evaluation.protocol import data_key, published, sensitivity
from slide_gui.experiments.run import Estimate, RunProgress
from slide_gui.experiments.setting import Setting
from slide_gui.experiments.source import DataSource, describe_widths
from slide_gui.experiments.spec import SweepSpec
from slide_gui.experiments.sweep import SweepState
from slide_gui.experiments.trial import Trial
from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.layouts import nested
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.page import Page, PageView
from slide_gui.gui.plots.error_curves import ErrorPlot
from slide_gui.gui.plots.heat_map import HeatMap
from slide_gui.gui.plots.points import ErrorMark, ErrorPoint, chosen_of
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import PlainLabel, StartPause, add_button, label, name_box
from slide_gui.progress import Progress, Stage
from slide_gui.text import counted, place_name

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport
    from slide_gui.gui.pages.sweep_dialog import SweepDialog

__all__ = ["CurvesPage"]

_REST_MILLISECONDS = 250  # a slider that rests this long asks for an estimate
_NEAR = 0.004  # noises closer than this are the same point


class CurvesPage(Page):
    """Stored runs as curves, the sweep's points as they come, and a live estimate where the sliders stand."""

    def __init__(
        self,
        workspace: Workspace,
        controller: RunController,
        views: Sequence[PageView],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Error curves", views[0].about, views, parent=parent)
        self._subtitles = [view.about for view in views]
        self._workspace, self._controller = workspace, controller
        self._chosen: str | None = None
        self._setting: Setting | None = None
        self._counts: Counter[str] = Counter()
        self._places: tuple[object, tuple[Place, ...]] = (None, ())
        self._finals: tuple[str, ...] = ()
        self._dialog: SweepDialog | None = None
        self.tabs.idClicked.connect(self._show_view)
        self._build_controls(nested(self.column, QHBoxLayout(), spacing=8))
        self._plot, self._map = ErrorPlot(self), HeatMap(self)
        self._views = QStackedWidget(self)
        for view in (self._plot, self._map):
            view.point_clicked.connect(self._open)
            self._views.addWidget(view)
        self._plot.cursor_moved.connect(self._cursor_moved)
        self.column.addWidget(self._views, 1)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MILLISECONDS)
        self._rest.timeout.connect(self._estimate)
        workspace.state_changed.connect(self._state_changed)
        workspace.dataset_changed.connect(self._refresh_soon)
        controller.trial.ended.connect(self._tried)
        for source in (controller.library, controller.sweep, controller.estimate, controller.trial):
            source.changed.connect(self.refresh)
        controller.result_changed.connect(self.refresh)

    def _build_controls(self, row: QHBoxLayout) -> None:
        tip = "Learn and judge at every noise and depth asked for; goes on where it was, also after a crash"
        self._buttons = StartPause(("Sweep…", "Stop"), tip, "sweep", self)
        self.sweep_button, self.pause_button = self._buttons.start, self._buttons.pause
        self.sweep_button.clicked.connect(self._toggle_sweep)
        self.pause_button.clicked.connect(self._controller.sweep.toggle_pause)
        self.shown = QComboBox(self)
        name_box(self.shown, "What is shown")
        self.shown.setToolTip(
            "Runs that were made in the same way are points of the same curves; which of them to show"
        )
        self.shown.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.shown.setMinimumContentsLength(20)
        self.shown.activated.connect(self._choose_shown)
        row.addWidget(self._buttons)
        row.addWidget(self.shown)
        tip = "Train at the noise and depth that are set, with median widths, and judge"
        self.estimate_button = add_button(self, row, "Estimate this point", tip)
        self.estimate_button.clicked.connect(self._estimate_offered)
        row.addStretch(1)
        self.course = label("", self, wraps=True)
        self.course.setMinimumHeight(32)
        self.course.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._trial = nested(self.column, QHBoxLayout(), spacing=12)
        self.sentence, self.bundle_button = PlainLabel("", self), QPushButton("Export…", self)
        self.sentence.setFont(figure_font(self, strong=True))
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.sentence.setAccessibleName("What came out on these data")
        self.bundle_button.setToolTip("The figure, its numbers, the command and the script that make them again")
        self.bundle_button.clicked.connect(self.export_requested)
        self._trial.addWidget(self.sentence, 1)
        self._trial.addWidget(self.bundle_button, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addWidget(self.course)

    # What is asked ---------------------------------------------------------------------------------------------

    def setting(self) -> Setting | None:
        """Return how the runs were made whose errors are shown; None without labelled data.

        That is what a person chose, else what is asked of the sweep, else what most runs have.
        """
        controller, spec = self._controller, self._controller.spec_of(self._controller.svm)
        if spec is None:
            return None
        asked = Setting.from_text(self._chosen)
        if asked is None and controller.asked is not None:
            asked = Setting.of(controller.asked.points()[-1].spec)
        if asked is None:
            usual = Setting.of(spec)
            asked = max(self._settings(), key=lambda each: (self._counts[each.text], each == usual), default=usual)
        return asked

    def _settings(self) -> list[Setting]:
        """Return the settings of the runs on the data that are open, those that others cover left out."""
        counts = Counter(run.setting for run in self._controller.current_runs() if run.method == "slide-svm")
        settings = [each for each in map(Setting.from_text, counts) if each is not None and not each.warm]
        cold = [each for each in settings if each.spec.stack.depth]
        cold += [each for each in settings if not each.spec.stack.depth and not any(map(each.covers, cold))]
        self._counts = Counter({each.text: counts[each.text] for each in cold})
        return sorted(cold, key=lambda each: each.text)

    @Slot(int)
    def _choose_shown(self, place: int) -> None:
        self._chosen = self.shown.itemData(place)
        self.refresh()
        self.chosen.emit()

    def choices(self) -> dict[str, str]:
        return super().choices() | {"shown": self._chosen or ""}

    def choose(self, choices: Mapping[str, str]) -> None:
        super().choose(choices)
        self._chosen = choices.get("shown", self._chosen or "") or None
        self.refresh()

    @Slot()
    def _tried(self) -> None:
        """Show the points that a trial compared."""
        if isinstance(self._controller.trial.latest, Trial):
            self._chosen = Setting.of(self._controller.trial.latest.sweep.points()[-1].spec).text

    def _show_trial(self) -> None:
        trial, running = self._controller.trial.latest, self._controller.trial.running
        shown = isinstance(trial, Trial)
        doing = str(trial) if isinstance(trial, Stage) else "beginning"
        trying = f"Trying these data: {doing}…" if running else ""
        self.sentence.setText(trial.sentence if shown else trying)
        self.sentence.setToolTip(trial.details if shown else "")
        self.sentence.setVisible(shown or running)
        self.bundle_button.setVisible(shown)

    @Slot()
    def _toggle_sweep(self) -> None:
        if self._controller.sweep.running:
            self._controller.sweep.stop()
            return
        dataset, usual = self._workspace.dataset, self._controller.asked or self._controller.usual_sweep()
        if dataset is None or usual is None:
            self._controller.start_sweep()  # says why not
            return
        if self._dialog is None:
            from slide_gui.gui.pages.sweep_dialog import SweepDialog

            self._dialog = SweepDialog(self)
            self._dialog.requested.connect(self._start_sweep)
        stack = self._workspace.state.parameters
        self._dialog.ask(replace(usual, stack=stack), len(dataset.train), self._controller.plan)

    @Slot(object)
    def _start_sweep(self, sweep: SweepSpec) -> None:
        self._chosen = None
        self._controller.start_sweep(sweep)

    @Slot(int)
    def _show_view(self, view: int) -> None:
        self._views.setCurrentIndex(view)
        self.subtitle.setText(self._subtitles[view])

    @Slot(float)
    def _cursor_moved(self, noise: float) -> None:
        self._workspace.set_parameters(gesture="noise", noise=min(round(noise, 2), LARGEST_NOISE))

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
        """Compute the point under the sliders, unless it is there already or the sweep is at work."""
        parameters, setting, bases = self._workspace.state.parameters, self.setting(), self._controller.bases()
        if setting is None or not bases or self._controller.sweep.running or not self.isVisible():
            return
        known = self._known(setting)
        if any(depth == parameters.depth and abs(noise - parameters.noise) < _NEAR for noise, depth in known):
            return
        base = self._controller.spec_of(self._controller.svm)
        if base is not None:
            self._controller.ask_estimate(setting.at(base, parameters.noise, parameters.depth, split=0, seed=0))

    @Slot()
    def _estimate_offered(self) -> None:
        offered = self._controller.offered
        if offered is not None:
            self._controller.ask_estimate(offered, requested=True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()
        self._rest.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._rest.stop()

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        dataset, source, load = self._workspace.dataset, self._workspace.source, self._controller.library.load_results
        setting = self.setting()
        places = {} if setting is None else self._known(setting)
        shown = [(answer.point, key) for place in sorted(places) for key, answer in places[place].items()]
        if dataset is None or source is None or not shown:
            return ()

        def export(progress: Progress) -> FigureExport:
            from slide_gui.experiments.provenance import FigureProvenance
            from slide_gui.figures.run_exports import run_export

            results = load([key for _, key in shown], progress)
            points = [replace(point, spec=result.spec) for (point, _), result in zip(shown, results, strict=True)]
            return run_export(FigureProvenance("curves", source, tuple(points)), dataset, results)

        options = [ExportOption("curves", "the error curves", export)]
        trial = self._controller.trial.latest
        if isinstance(trial, Trial):
            tried = partial(_trial, trial, dataset, source)
            options.insert(0, ExportOption("try", "what was tried on these data", tried))
        return tuple(options)

    def why_nothing_to_export(self) -> str:
        return self._controller.why_not() or "There is no finished point; press Sweep, or train on the Classifier page."

    def tables(self) -> tuple[NumberTable, ...]:
        points = [(p, p.rate) for p in self.points() if p.rate is not None and p.state == "done"]
        if not points:
            return ()
        cells: list[tuple[object, ...]] = []
        for p, rate in points:
            validation = "" if p.validation is None else f"{p.validation:.3f}"
            errors = (f"{p.error:.3f}", f"{p.low:.3f}", f"{p.high:.3f}", rate.n, validation)
            cells.append((*errors, "yes" if p.chosen else ""))
        names = [(f"{p.noise:g}", str(p.depth)) for p, _ in points]
        heads = ("error %", "low %", "high %", "n", "validation %", "best on validation")
        at = {(p.noise, p.depth): f"{p.error:.3f}" for p, _ in points}
        noises, depths = sorted({noise for noise, _ in at}), sorted({depth for _, depth in at})
        across = tuple("noise {noise}".format(noise=f"{noise:g}") for noise in noises)
        grid = [[at.get((noise, depth), "") for noise in noises] for depth in depths]
        down = [(str(depth),) for depth in depths]
        tables = (
            NumberTable("Error with its 95 % interval", ("noise", "depth"), names, heads, cells),
            NumberTable("Error in %, by noise and depth", ("depth",), down, across, grid),
        )
        marks = self._marks() if self._part() == "test" else []
        places, values = [(mark.label, f"{mark.noise:g}") for mark in marks], [(f"{mark.error:.3f}",) for mark in marks]
        keys = ("what", "noise")
        read = NumberTable("Published errors", keys, places, ("error %",), values)
        shown = tables if self.tabs.checkedId() == 0 else tables[::-1]
        return (*shown, read) if marks else shown

    # What is shown ---------------------------------------------------------------------------------------------

    @Slot()
    def _refresh_soon(self) -> None:
        if self.isVisible():
            self._rest.start()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what the controller holds now."""
        if not self.isVisible():
            return
        setting = self.setting()
        if setting != self._setting:
            self._setting = setting
            self._controller.drop_estimate()  # it was of another error
            self._rest.start()
        self._show_trial()
        self._show_settings(setting)
        points = self.points()
        part = self._part()
        for view in (self._plot, self._map):
            view.set_part(part)
            view.set_points(points)
            view.set_placeholder(
                self._controller.why_not() or "No point yet: press Sweep, or let the noise slider rest."
            )
        parameters = self._workspace.state.parameters
        self._plot.set_cursor(parameters.noise)
        self._plot.set_depth(parameters.depth)
        self._plot.set_marks(self._marks() if part == "test" else [])
        self._show_course(points, setting)
        self.numbers_changed.emit()

    def _show_settings(self, shown: Setting | None) -> None:
        settings = self._settings()
        if shown is not None and shown.text not in {each.text for each in settings}:
            settings.append(shown)
        items = [(each.text, each.words(self._controller.n_classes)) for each in settings]
        if items != [(self.shown.itemData(i), self.shown.itemText(i)) for i in range(self.shown.count())]:
            self.shown.clear()
            for text, words in items:
                self.shown.addItem(words, text)
        self.shown.setVisible(bool(items))
        self.shown.setEnabled(len(items) > 1)
        self.shown.setCurrentIndex(-1 if shown is None else self.shown.findData(shown.text))

    def _part(self) -> str:
        """Return on which rows the errors shown are."""
        setting = self.setting()
        return "test" if setting is None else setting.spec.evaluate

    def points(self) -> list[ErrorPoint]:
        """Return the points shown: stored, running, and estimated."""
        setting, controller = self.setting(), self._controller
        if setting is None:
            return []
        known = self._known(setting)
        chosen = self._chosen_places(known)
        points = {place: self._point(place, answers, chosen) for place, answers in known.items()}
        sweep: SweepState | None = controller.sweep.latest
        if sweep is not None and sweep.current is not None and controller.sweep.running:
            place = sweep.current.noise, sweep.current.depth
            if place not in points and setting.covers(Setting.of(sweep.current.spec)):
                points[place] = _running(*place, sweep.live, setting.spec.evaluate)
        if controller.estimated is not None:
            stack = controller.estimated.stack
            if (stack.noise, stack.depth) not in points:
                seen = controller.estimate.latest
                points[stack.noise, stack.depth] = _estimated(stack.noise, stack.depth, seen, setting.spec.evaluate)
        return [points[place] for place in sorted(points)]

    def _known(self, setting: Setting) -> dict[Place, dict[str, PointResult]]:
        sweep: SweepState | None = self._controller.sweep.latest
        done = () if sweep is None else sweep.done
        return known_answers(setting, self._controller.bases(), self._controller.library.runs, done)

    def _chosen_places(self, known: dict[Place, dict[str, PointResult]]) -> tuple[Place, ...]:
        """Return what is chosen on validation among all points there are; nothing while the sweep goes on."""
        keys = tuple((place, tuple(answers)) for place, answers in known.items())
        if self._controller.sweep.running:
            return ()
        if keys != self._places[0]:
            answers = [answer for place in known.values() for answer in place.values()]
            places = chosen_places(answers)
            finals = final_points(choose(pooled(answers))) if places else ()
            self._places = keys, places
            self._finals = tuple(point.spec.hash for point in finals)
        return self._places[1]

    def _point(self, place: Place, known: dict[str, PointResult], chosen: tuple[Place, ...]) -> ErrorPoint:
        """Return a point: the mean of its splits and seeds; of data dealt into folds the error on all rows judged."""
        dataset = self._workspace.dataset
        held_out = None if dataset is None else dataset.held_out
        fingerprint = "" if dataset is None else dataset.fingerprint
        answers = list(known.values())
        of_open = (key for key, each in known.items() if each.point.spec.fingerprint == fingerprint)
        key = next(of_open, next(iter(known)))
        rate, draws = mean_rate(answers), {(each.point.split, each.point.seed) for each in answers}
        note = f"{sum(each.seconds for each in answers):.1f} s"
        if held_out is not None and held_out.folds:
            folds = {each.point.spec.fingerprint for each in answers}
            note = f"{f'{len(folds)} of {held_out.folds} folds'} · {note}"
        if len(draws) > 1:
            note = f"mean of {len(draws)} splits and seeds, 95 % interval over {rate.covers} · {note}"
        errors = [each.validation_error for each in answers if each.validation_error is not None]
        validation = 100 * sum(errors) / len(errors) if len(errors) == len(answers) else None
        by = describe_widths(known[key].chosen_by)
        return ErrorPoint(*place, rate, key, "done", note, by, validation, place in chosen)

    def _marks(self) -> list[ErrorMark]:
        dataset = self._workspace.dataset
        key = "" if dataset is None else dataset.key
        marks = [
            ErrorMark(0.0, 100 * item.error, f"{item.method}, {item.place}")
            for item in published(key)
            if item.method == "Raw-SVM"
        ]
        if marks and key == data_key(sensitivity().data):
            self._plot.setToolTip(" ".join(sensitivity().statements))
        return marks

    def _show_course(self, points: list[ErrorPoint], setting: Setting | None) -> None:
        """Say how far the sweep is, what is chosen, what chose the widths, and what another page says otherwise."""
        controller, running = self._controller, self._controller.sweep.running
        sweep: SweepState | None = controller.sweep.latest
        self._buttons.follow(running, controller.sweep.paused)
        self.estimate_button.setVisible(controller.offered is not None and not running)
        parts = [_decided(points), _rows(points, self._part())]
        parts += [self._best(points, setting), self._elsewhere(points, setting)]
        if running and sweep is None:
            parts.insert(0, "looking for what is there already…")
        elif running and sweep is not None:
            held = "paused" if controller.sweep.paused else ""
            last = "testing what was chosen" if sweep.chosen else ""
            parts[:0] = f"{len(sweep.done)} of {len(sweep.points)} points", last, held
        elif controller.estimate.running:
            parts.insert(0, "estimating the point under the sliders…")
        self.course.setText(" · ".join(filter(None, parts)))

    def _best(self, shown: list[ErrorPoint], setting: Setting | None) -> str:
        """Say what is chosen on validation and what it has on the test part, or why nothing is chosen."""
        if self._controller.sweep.running or setting is None or sum(p.state == "done" for p in shown) < 2:
            return ""
        if setting.spec.training != "split":
            return "nothing is chosen: every row was trained on, and the least test error is no choice"
        chosen = chosen_of(shown)
        if not chosen:
            return ""
        points = "; ".join(place_name(point.noise, point.depth) for point in chosen)
        rate = self._final_rate()
        best = f"best on validation, by fold: {points}" if len(chosen) > 1 else f"best on validation: {points}"
        return (
            best
            if rate is None
            else f"{best}, trained again on all rows: test error {rate} on {counted(rate.n, 'row')}"
        )

    def _final_rate(self) -> ErrorRate | None:
        """Return the test error of what was chosen, trained again on the whole training part, where it is known."""
        stored = {run.hash: run.rate for run in self._controller.library.runs if run.hash in self._finals}
        rates = [stored[key] for key in self._finals if key in stored]
        return ErrorRate.of_folds(rates) if rates and len(rates) == len(self._finals) else None

    def _elsewhere(self, points: list[ErrorPoint], setting: Setting | None) -> str:
        """Say why the Classifier page shows another error of a model that stands here."""
        result = self._controller.result
        if result is None or setting is None or result.spec.method != setting.spec.method:
            return ""
        stack, dataset = result.spec.stack, self._workspace.dataset
        here = [p for p in points if p.depth == stack.depth and (not p.depth or p.noise == stack.noise)]
        if dataset is None or result.spec.fingerprint != dataset.fingerprint or not here or here[0].rate is None:
            return ""
        rate = result.rate if self._controller.folds_rate is None else self._controller.folds_rate
        if here[0].state != "done" or here[0].rate.value == rate.value:
            return ""
        why = setting.difference(Setting.of(result.spec), self._controller.n_classes)
        place = place_name(stack.noise, stack.depth)
        said = f"the Classifier page has {rate.value} % at {place}"
        return f"{said}: {why}" if why else said


def _trial(trial: Trial, dataset: Dataset, source: DataSource, _progress: Progress) -> FigureExport:
    from slide_gui.figures.run_exports import trial_export

    return trial_export(trial, dataset, source)


def _rows(points: Iterable[ErrorPoint], part: str) -> str:
    """Return on which rows the errors are; an estimate may be on fewer than the points of the curves."""
    texts = []
    for state, name in (("done", "curves"), ("running", "point under way"), ("refining", "estimate")):
        rates = [point.rate for point in points if point.state == state and point.rate is not None]
        if rates:
            most = max(rates, key=lambda rate: (rate.n_splits, rate.n))
            each = f" in each of {most.n_splits} splits" if most.n_splits > 1 else ""
            texts.append(f"{name}: error on {counted(most.n, f'{part} row')}{each}")
    return "; ".join(texts)


def _decided(points: Iterable[ErrorPoint]) -> str:
    """Return what chose the widths of all points, the most frequent first, each with how many it chose."""
    counts = Counter(point.by for point in points if point.by).most_common()
    if len(counts) < 2:
        return "".join(by for by, _ in counts)
    return ", ".join(f"{by} at {counted(many, 'point')}" for by, many in counts)


def _running(noise: float, depth: int, seen: RunProgress | None, part: str) -> ErrorPoint:
    """Return the point that a sweep is at."""
    estimate: Estimate | None = None if seen is None else getattr(seen, part)
    rate = None if estimate is None or estimate.done == 0 else estimate.rate
    return ErrorPoint(noise, depth, rate, "", "running")


def _estimated(noise: float, depth: int, seen: RunProgress | None, part: str) -> ErrorPoint:
    """Return the point under the sliders, which is not learned like the others."""
    point = _running(noise, depth, seen, part)
    note = "live estimate: median widths, or those of the nearest run"
    return replace(point, state="refining", note=note) if point.is_known else point
