"""The Benchmark page: what is asked of the evaluation, and the paper’s two tables, filling in as runs finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from slide_gui.data.entries import entry
from slide_gui.experiments.evaluation.table import EvaluationState
from slide_gui.experiments.evaluation.timing import TimeRow
from slide_gui.experiments.methods import METHODS
from slide_gui.figures.evaluation import INTERVALS, MARKS
from slide_gui.figures.export import FigureExport
from slide_gui.gui.export.option import TABLES, ExportOption
from slide_gui.gui.layouts import nested
from slide_gui.gui.pages.evaluation_cells import all_times, error_heads, error_rows, time_heads, time_rows_of
from slide_gui.gui.pages.page import Page, add_button
from slide_gui.gui.state.evaluation import EvaluationChoice, EvaluationController
from slide_gui.gui.state.library import RunSelection
from slide_gui.gui.widgets.evaluation_table import EvaluationTable
from slide_gui.gui.widgets.standing import StandingLegend
from slide_gui.progress import Progress
from slide_gui.text import time_left

__all__ = ["EvaluationPage"]


_MOST_SPLITS = 50  # as many as the paper has


class EvaluationControls(QWidget):
    """One row of controls over the controller of the benchmark."""

    def __init__(self, controller: EvaluationController, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller = controller
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.start_button = add_button(self, row, "Start", "", kind="primary")
        self.start_button.setToolTip("Run what is chosen and not done yet; finished runs are kept, also after a crash")
        self.start_button.setMinimumWidth(80)
        self.start_button.clicked.connect(self._toggle)
        self.pause_button = add_button(self, row, "Pause", "Hold the benchmark, or let it go on")
        self.pause_button.setMinimumWidth(72)
        self.pause_button.clicked.connect(controller.runs.toggle_pause)
        row.addSpacing(8)
        self._extent = QComboBox(self)
        for key, title in (("full", "Full protocol"), ("quick", "Quick protocol")):
            self._extent.addItem(title, key)
        self._extent.setToolTip(
            "Full: all rows, the candidates of the protocol, hours. Quick: 600 training and 2\u202f000 test rows, few "
            "candidates, about a minute; not the paper’s figures"
        )
        self._extent.setAccessibleName("Protocol")
        self._extent.currentIndexChanged.connect(self._chosen)
        row.addWidget(self._extent)
        label = QLabel("Splits", self)
        label.setProperty("role", "secondary")
        row.addWidget(label)
        self._splits = QSpinBox(self)
        self._splits.setRange(0, _MOST_SPLITS)
        self._splits.setSpecialValueText("protocol’s")
        self._splits.setFixedWidth(120)
        self._splits.setToolTip(
            "80/20 splits of each data set; 0: the protocol’s (10 on Rectangles, 3 on Convex and Rectangles-Images, "
            "1 on MNIST). The paper has 50, 10, 10 and 1"
        )
        self._splits.setAccessibleName("Splits")
        self._splits.valueChanged.connect(self._chosen)
        row.addWidget(self._splits)
        data = {key: entry(key).title for key in controller.choice.data}
        methods = {key: METHODS[key].text for key in controller.choice.methods}
        self.data_sets = _Several("Data sets", data, self._chosen, self)
        self.methods = _Several("Methods", methods, self._chosen, self)
        for button in (self.data_sets, self.methods):
            row.addWidget(button)
        row.addStretch(1)

    @Slot()
    def _toggle(self) -> None:
        if self._controller.runs.running:
            self._controller.runs.stop()
        else:
            self._controller.start()

    @Slot()
    def _chosen(self) -> None:
        choice = EvaluationChoice(
            self._extent.currentData(), self.data_sets.chosen(), self.methods.chosen(), self._splits.value() or None
        )
        self._controller.choose(choice)

    @Slot()
    def refresh(self) -> None:
        """Show what the controller is asked, and what can be done now."""
        controller, choice = self._controller, self._controller.choice
        self.start_button.setText("Cancel" if controller.runs.running else "Start")
        self.start_button.setEnabled(controller.runs.running or not controller.why_not())
        self.pause_button.setEnabled(controller.runs.running)
        self.pause_button.setText("Go on" if controller.runs.paused else "Pause")
        controls = (self._extent, self._splits, self.data_sets, self.methods)
        for control in controls:
            control.setEnabled(not controller.runs.running)
            control.blockSignals(True)
        self._extent.setCurrentIndex(self._extent.findData(choice.extent))
        self._splits.setValue(choice.splits or 0)
        for control in controls:
            control.blockSignals(False)
        self.data_sets.choose(choice.data)
        self.methods.choose(choice.methods)


class _Several(QPushButton):
    """A button with a menu of check boxes, which stays open while they are ticked."""

    def __init__(self, title: str, choices: Mapping[str, str], changed: Callable[[], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        menu = QMenu(self)
        self.boxes: dict[str, QCheckBox] = {}
        for key, text in choices.items():
            box = QCheckBox(text, menu)
            box.setChecked(True)
            box.setStyleSheet("QCheckBox { padding: 5px 12px; }")
            action = QWidgetAction(menu)
            action.setDefaultWidget(box)
            menu.addAction(action)
            box.toggled.connect(changed)
            self.boxes[key] = box
        self.setMenu(menu)
        self.setToolTip(f"Which {title.lower()} are run; the others show what is in the store")
        self.choose(tuple(choices))

    def chosen(self) -> tuple[str, ...]:
        """Return the keys that are ticked."""
        return tuple(key for key, box in self.boxes.items() if box.isChecked())

    def choose(self, keys: tuple[str, ...]) -> None:
        """Tick these."""
        for key, box in self.boxes.items():
            box.blockSignals(True)
            box.setChecked(key in keys)
            box.blockSignals(False)
        names = [box.text() for key, box in self.boxes.items() if key in keys]
        said = "all" if len(names) == len(self.boxes) else names[0] if len(names) == 1 else f"{len(names)}"
        self.setText(f"{self._title}: {said if names else 'none'}")


_SUBTITLES = ("test error in % and its 95 % interval", "time to generate the features, on this computer")
_NOTES = (
    "In brackets 95 %: Student’s t over splits, Wilson’s of one split. Marks: p < 0.05 by Holm’s correction over the "
    "table; the corrected resampled t-test over splits, McNemar’s on one."
)
_QUICK = "quick: 600 training rows, not the paper’s figures"


class EvaluationPage(Page):
    """Both tables, and what is asked of them."""

    def __init__(self, controller: EvaluationController, parent: QWidget | None = None) -> None:
        tabs = (
            ("Error rates", "The paper’s Table 1: every method on every data set"),
            ("Running time", "The paper’s Table 2: feature generation, SLIDE against autoencoders"),
        )
        super().__init__("Benchmark", "", tabs, parent=parent)
        self._controller = controller
        self.tabs.idClicked.connect(self._show_view)
        export = add_button(self, self.head, "Export tables…", "As figure, LaTeX, CSV or Markdown (Ctrl+E)")
        export.clicked.connect(self.export_requested)
        self.controls = EvaluationControls(controller, self)
        self.column.addWidget(self.controls)
        self._build_course(nested(self.column, QHBoxLayout()))
        self.errors = EvaluationTable(self, name="Error rates")
        self.errors.set_order(0)
        self.errors.runs_requested.connect(self._ask_runs)
        self._views = QStackedWidget(self)
        self._views.addWidget(self.errors)
        self._views.addWidget(self._build_times())
        self.column.addWidget(self._views, 1)
        self._legend = StandingLegend(self)
        self.column.addWidget(self._legend)
        self._notes = QLabel(_NOTES, self)
        self._notes.setProperty("role", "secondary")
        self._notes.setWordWrap(True)
        self._notes.setToolTip(f"{INTERVALS}\n\nMarks: {MARKS}")
        self._notes.setAccessibleDescription(f"{INTERVALS} Marks: {MARKS}")
        self.column.addWidget(self._notes)
        controller.changed.connect(self.refresh)

    def _build_course(self, row: QHBoxLayout) -> None:
        row.setSpacing(12)
        self._bar = QProgressBar(self)
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(160, 4)
        self._bar.setAccessibleName("Share of the runs done")
        self.course = QLabel(self)
        self.course.setProperty("role", "secondary")
        row.addStrut(16)
        row.addWidget(self._bar)
        row.addWidget(self.course, 1)

    def _build_times(self) -> QWidget:
        view = QWidget(self)
        self.running_times = EvaluationTable(view, name="Running time of feature generation", ordered=False)
        column = QVBoxLayout(view)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.running_times, 1)
        self._measure = nested(column, QHBoxLayout())
        self._time = add_button(
            view,
            self._measure,
            "Time the tutorial’s SdA",
            "Measure one short epoch of 3 × 1000 units on each data set chosen, and scale it to the whole recipe",
        )
        self._time.clicked.connect(self._controller.time_tutorial)
        note = QLabel(
            "Fit of the representation and features of the training rows; no classifier, no choice of parameters. "
            "SLIDE and SdA as chosen are measured whole, by the runs of the benchmark; the tutorial’s recipe "
            "(3 × 1000 units, 15 epochs a layer) is extrapolated from one short epoch, not measured whole.",
            view,
        )
        note.setProperty("role", "secondary")
        note.setWordWrap(True)
        self._measure.setSpacing(12)
        self._measure.addWidget(note, 1)
        return view

    # What is asked ---------------------------------------------------------------------------------------------

    @Slot(int)
    def _show_view(self, view: int) -> None:
        self.tabs.choose(view)
        self._views.setCurrentIndex(view)
        for explained in (self._legend, self._notes):
            explained.setVisible(view == 0)
        self._show_subtitle()

    def _show_subtitle(self) -> None:
        quick = self._controller.choice.extent == "quick"
        self.subtitle.setText(_QUICK if quick else _SUBTITLES[self._views.currentIndex()])

    @Slot(object)
    def _ask_runs(self, asked: tuple[tuple[str, ...], str, int]) -> None:
        keys, method, column = asked
        data = tuple(dict.fromkeys(cell.data for cell in self._controller.choice.table()))[column]
        cell = self._controller.state().cell(data, method)
        info = next((info for info in self._controller.state().data if info.key == data), None)
        if cell is not None and info is not None:
            self.page_requested.emit("runs", RunSelection(keys, f"{info.title} {cell.name}"))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._controller.read()
        self.refresh()

    # Export -----------------------------------------------------------------------------------------------------

    def export_options(self) -> tuple[ExportOption, ...]:
        state, times = self._controller.state(), self._controller.times()
        options = []
        if any(cell.answers for cell in state.cells):
            options.append(ExportOption("errors", "the table of error rates", partial(_errors, state), kinds=TABLES))
        if any(_timed(row) for row in times):
            options.append(ExportOption("times", "the table of running times", partial(_times, times), kinds=TABLES))
        return tuple(options if self._views.currentIndex() == 0 else reversed(options))

    def why_nothing_to_export(self) -> str:
        return "No cell has a result yet; press Start."

    def table(self) -> str:
        if not self.export_options():
            return ""
        return (self.errors if self._views.currentIndex() == 0 else self.running_times).text()

    # What is shown ---------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show what the controller holds now."""
        if not self.isVisible():
            return
        controller, state = self._controller, self._controller.state()
        self._show_subtitle()
        rows = error_rows(state, controller.choice, controller.runs.running, controller.runs.paused)
        self.errors.set_table(error_heads(state, controller.choice), rows)
        times = all_times(controller.times(), controller.choice)
        self.running_times.set_table(time_heads(times), time_rows_of(times))
        self._time.setEnabled(not controller.timing.running and bool(controller.choice.data))
        self.controls.refresh()
        self._show_course()

    def _show_course(self) -> None:
        controller, live = self._controller, self._controller.runs.latest
        self._bar.setVisible(controller.runs.running)
        if controller.runs.running and live is not None and live.total:
            self._bar.setValue(round(1000 * live.done / live.total))
            left = "" if live.seconds_left is None else f" · about {time_left(live.seconds_left)}"
            held = " · paused" if controller.runs.paused else ""
            faults = f" · {len(live.faults)} damaged runs made again" if live.faults else ""
            self.course.setText(f"{live.done} of {live.total} runs{left}{held}{faults}")
        elif controller.runs.running:
            self._bar.setValue(0)
            self.course.setText("opening the data…")
        elif controller.timing.running:
            self.course.setText("timing the tutorial’s autoencoders…")
        elif not controller.known:
            self.course.setText("reading the runs…" if controller.reading.running else "")
        else:
            cells = [cell for cell in controller.state().cells if cell.data in controller.choice.data]
            cells = [cell for cell in cells if cell.method in controller.choice.methods]
            done, asked = sum(min(len(c.answers), c.asked) for c in cells), sum(c.asked for c in cells)
            self.course.setText(
                controller.why_not()
                or (f"all {asked} splits are done" if done == asked else f"{done} of {asked} splits are done")
                + (": Start goes on where it was" if 0 < done < asked else "")
            )


def _errors(state: EvaluationState, _progress: Progress) -> FigureExport:
    from slide_gui.figures.evaluation import errors_export

    return errors_export(state)


def _times(rows: tuple[TimeRow, ...], _progress: Progress) -> FigureExport:
    from slide_gui.figures.evaluation import times_export

    return times_export(rows)


def _timed(row: TimeRow) -> bool:
    return bool(row.slide or row.sda or row.tutorial)
