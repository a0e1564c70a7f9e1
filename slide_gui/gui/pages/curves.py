"""The Error curves page: test error against noise and depth, points appearing as they are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.evaluation.protocol import data_key, published, sensitivity
from slide_gui.experiments.run import Estimate, RunProgress
from slide_gui.experiments.source import describe_widths
from slide_gui.experiments.sweep import SweepState
from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.layouts import nested
from slide_gui.gui.pages.page import Page
from slide_gui.gui.plots.error_curves import ErrorPlot
from slide_gui.gui.plots.heat_map import HeatMap
from slide_gui.gui.plots.points import ErrorMark, ErrorPoint
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.widgets.controls import StartPause, label
from slide_gui.progress import Progress
from slide_gui.text import time_left

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

__all__ = ["CurvesPage"]

_SUBTITLES = ("test error against noise, one line a depth", "test error of every noise and depth")
_REST_MILLISECONDS = 250  # a slider that rests this long asks for an estimate
_NEAR = 0.004  # noises closer than this are the same point


@dataclass(frozen=True)
class _Answer:
    """What one run says at a place of the curves."""

    rate: ErrorRate
    key: str
    by: str
    seconds: float


class CurvesPage(Page):
    """Stored runs as curves, the sweep's points as they come, and a live estimate where the sliders stand."""

    def __init__(self, workspace: Workspace, controller: RunController, parent: QWidget | None = None) -> None:
        tabs = ("Curves", "Error against noise with 95 % intervals"), ("Heat map", "The same points, noise × depth")
        super().__init__("Error curves", _SUBTITLES[0], tabs, parent=parent)
        self._workspace, self._controller = workspace, controller
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
        for source in (controller.library, controller.sweep, controller.estimate):
            source.changed.connect(self.refresh)

    def _build_controls(self, row: QHBoxLayout) -> None:
        tip = "Learn and judge at every noise 0 … 0.9 by 0.1 and depth 0 … 4; goes on where it was, also after a crash"
        self._buttons = StartPause(("Sweep", "Stop"), tip, "sweep", self)
        self.sweep_button, self.pause_button = self._buttons.start, self._buttons.pause
        self.sweep_button.clicked.connect(self._toggle_sweep)
        self.pause_button.clicked.connect(self._controller.sweep.toggle_pause)
        self.course = label("", self)
        row.addWidget(self._buttons)
        row.addWidget(self.course, 1)

    # What is asked ---------------------------------------------------------------------------------------------

    def svm(self) -> SvmParameters:
        """Return how the points of this page are classified: widths and C learned."""
        return SvmParameters()

    @Slot()
    def _toggle_sweep(self) -> None:
        if self._controller.sweep.running:
            self._controller.sweep.stop()
        else:
            self._controller.start_sweep(self.svm())

    @Slot(int)
    def _show_view(self, view: int) -> None:
        self._views.setCurrentIndex(view)
        self.subtitle.setText(_SUBTITLES[view])

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
        parameters = self._workspace.state.parameters
        spec = self._controller.spec_of(self.svm())
        known = [
            run
            for run in self._controller.current_runs()
            if run.depth == parameters.depth and abs(run.noise - parameters.noise) < _NEAR
        ]
        if spec is not None and not known and not self._controller.sweep.running and self.isVisible():
            self._controller.ask_estimate(spec)

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
        answers = sorted(self._answers().items())
        shown = [(noise, depth, each.key) for (noise, depth), folds in answers for each in folds.values()]
        if dataset is None or source is None or not shown:
            return ()

        def export(progress: Progress) -> FigureExport:
            from slide_gui.experiments.provenance import FigureProvenance
            from slide_gui.experiments.spec import SweepPoint
            from slide_gui.figures.run_exports import run_export

            results = load([key for _, _, key in shown], progress)
            points = [
                SweepPoint(noise, depth, result.spec.split, result.spec.seed, result.spec)
                for (noise, depth, _), result in zip(shown, results, strict=True)
            ]
            return run_export(FigureProvenance("curves", source, tuple(points)), dataset, results)

        return (ExportOption("curves", "the error curves", export),)

    def why_nothing_to_export(self) -> str:
        return self._controller.why_not() or "There is no finished point; press Sweep, or train on the Classifier page."

    def table(self) -> str:
        points = [(point, point.rate) for point in self.points() if point.rate is not None]
        lines = ["\t".join(("noise", "depth", "error %", "low %", "high %", "n"))]
        lines += [f"{p.noise:g}\t{p.depth}\t{p.error:.3f}\t{p.low:.3f}\t{p.high:.3f}\t{rate.n}" for p, rate in points]
        return "\n".join(lines) if points else ""

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
        points = self.points()
        for view in (self._plot, self._map):
            view.set_points(points)
            view.set_placeholder(
                self._controller.why_not() or "No point yet: press Sweep, or let the noise slider rest."
            )
        self._plot.set_cursor(self._workspace.state.parameters.noise)
        self._plot.set_marks(self._marks())
        self._show_sweep(_decided(points))

    def points(self) -> list[ErrorPoint]:
        """Return the points shown: stored, running, and estimated."""
        points = {place: self._point(place, folds) for place, folds in self._answers().items()}
        sweep: SweepState | None = self._controller.sweep.latest
        if sweep is not None and sweep.current is not None and self._controller.sweep.running:
            place = sweep.current.noise, sweep.current.depth
            points[place] = _running(*place, sweep.live)
        if self._controller.estimated is not None:
            stack = self._controller.estimated.stack
            points[stack.noise, stack.depth] = _running(stack.noise, stack.depth, self._controller.estimate.latest)
        return [points[place] for place in sorted(points)]

    def _answers(self) -> dict[tuple[float, int], dict[str, _Answer]]:
        """Return what is known at each noise and depth, one answer for each fold of the data, by its fingerprint."""
        answers: dict[tuple[float, int], dict[str, _Answer]] = {}
        stored = [run for run in self._controller.current_runs() if run.method == "slide-svm"]
        noises = sorted({run.noise for run in stored if run.depth})
        for run in stored:
            # Without layers there is no noise: one run answers them all.
            for noise in (run.noise,) if run.depth else noises or [run.noise]:
                answer = _Answer(run.rate, run.hash, run.chosen_by or "", run.seconds)
                answers.setdefault((noise, run.depth), {})[run.fingerprint] = answer
        sweep: SweepState | None = self._controller.sweep.latest
        for done in () if sweep is None else sweep.done:
            spec, place = done.point.spec, (done.point.noise, done.point.depth)
            answers.setdefault(place, {})[spec.fingerprint] = _Answer(
                done.rate, spec.hash, done.chosen_by, done.seconds
            )
        return answers

    def _point(self, place: tuple[float, int], folds: dict[str, _Answer]) -> ErrorPoint:
        """Return a point: of data dealt into folds the error on all the rows that were judged."""
        dataset = self._workspace.dataset
        held_out = None if dataset is None else dataset.held_out
        shown = folds.get("" if dataset is None else dataset.fingerprint) or next(iter(folds.values()))
        note = f"{sum(answer.seconds for answer in folds.values()):.1f} s"
        rate = shown.rate
        if held_out is not None and held_out.folds:
            rate = ErrorRate.of_folds([answer.rate for answer in folds.values()])
            note = f"{len(folds)} of {held_out.folds} folds · {note}"
        return ErrorPoint(*place, rate, shown.key, "done", note, describe_widths(shown.by))

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

    def _show_sweep(self, decided: str) -> None:
        """Say how far the sweep is, or what is being estimated, and what chose the widths of the points there are."""
        controller, running = self._controller, self._controller.sweep.running
        sweep: SweepState | None = controller.sweep.latest
        self._buttons.follow(running, controller.sweep.paused)
        if running and sweep is not None:
            left = "" if sweep.seconds_left is None else f" · about {time_left(sweep.seconds_left)}"
            held = " · paused" if controller.sweep.paused else ""
            course = f"{len(sweep.done)} of {len(sweep.points)} points{left}{held}"
        else:
            course = "estimating the point under the sliders…" if controller.estimate.running else ""
        self.course.setText(" · ".join(filter(None, [course, decided])))


def _decided(points: Iterable[ErrorPoint]) -> str:
    """Return what chose the widths of all points, the most frequent first, each with how many it chose."""
    counts = Counter(point.by for point in points if point.by).most_common()
    if len(counts) < 2:
        return "".join(by for by, _ in counts)
    return ", ".join(f"{by} at {many} point{'s' if many > 1 else ''}" for by, many in counts)


def _running(noise: float, depth: int, seen: RunProgress | None) -> ErrorPoint:
    estimate: Estimate | None = None if seen is None else seen.test
    if estimate is None or estimate.done == 0:
        return ErrorPoint(noise, depth, None, "", "running")
    note = "live estimate: median widths, or those of the nearest run"
    return ErrorPoint(noise, depth, estimate.rate, "", "refining" if estimate.done < estimate.total else "done", note)
