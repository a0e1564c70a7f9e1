"""The Benchmark page, which computes and shows the paper’s two tables: error rates and running times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget, QWidgetAction

from slide_gui.experiments.evaluation.data_sets import data_entry
from slide_gui.experiments.evaluation.protocol import row_title
from slide_gui.experiments.evaluation.shipped import shipped_results
from slide_gui.experiments.evaluation.table import INCLUDED, EvaluationState, time_rows
from slide_gui.figures.evaluation import EXTRA, errors_export, notes_below, times_export
from slide_gui.gui.dialogs.export import TABLES, ExportOption
from slide_gui.gui.pages.benchmark.cells import all_times, error_rows, heads_of, time_rows_of
from slide_gui.gui.pages.benchmark.table import SIGNIFICANCE_MARKS, EvaluationTable
from slide_gui.gui.pages.page import Page, PageView
from slide_gui.gui.state.evaluation import EvaluationChoice
from slide_gui.gui.state.library import RunSelection
from slide_gui.gui.state.session import Session
from slide_gui.gui.widgets.controls import ElidedLabel, IntegerBox, StartPause, label, name_box, named
from slide_gui.gui.widgets.layouts import flush, nested, placed

_MOST_SPLITS = 50  # The largest number of splits that the paper uses for a data set.
_LONG = 3600.0  # If the missing runs take longer than this number of seconds, Start asks for confirmation.


class _CheckMenu(QPushButton):
    """A button with a menu of check boxes. The menu stays open while the user ticks boxes."""

    # The user ticked or cleared a box.
    ticked = Signal()

    def __init__(self, title: str, choices: Mapping[str, str], parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        menu = QMenu(self)
        self.boxes: dict[str, QCheckBox] = {}
        for key, text in choices.items():
            box = self.boxes[key] = QCheckBox(text, menu)
            action = QWidgetAction(menu)
            action.setDefaultWidget(box)
            menu.addAction(action)
            box.toggled.connect(self.ticked)
        self.setMenu(menu)
        named(self, "", f"Select the {title.lower()} to evaluate; for all others, the tables show stored results")
        self.choose(tuple(choices))

    def chosen(self) -> tuple[str, ...]:
        """Return the keys of all ticked boxes."""
        return tuple(key for key, box in self.boxes.items() if box.isChecked())

    def choose(self, keys: tuple[str, ...]) -> None:
        """Tick the boxes with the given keys and clear all other boxes."""
        for key, box in self.boxes.items():
            with QSignalBlocker(box):
                box.setChecked(key in keys)
        names = [box.text() for key, box in self.boxes.items() if key in keys]
        summary = "all" if len(names) == len(self.boxes) else names[0] if len(names) == 1 else f"{len(names)}"
        self.setText(f"{self._title}: {summary if names else 'none'}")


_NOTES = (
    "Brackets contain 95 % confidence intervals, which include the variation over test rows and over several splits. "
    "Marks show significant differences (p < 0.05 after Holm’s correction; t-test, or McNemar’s test for one split)."
)
_UNMARKED = (
    "A result has no mark if it was shipped and that of SLIDE-SVM is your own, or vice versa: shipped results lack the "
    "errors of individual test rows."
)
_QUICK = "quick protocol: 600 training rows; errors are not comparable with those in the paper"


class EvaluationPage(Page):
    """The page with the tables of error rates and of running times, and the controls of the evaluation."""

    def __init__(self, session: Session, views: Sequence[PageView], parent: QWidget) -> None:
        super().__init__("Benchmark", "", views, parent)
        controller = self._controller = session.evaluation
        self._build_controls(nested(self.column, QHBoxLayout(), spacing=8))
        self.status = placed(self.column, ElidedLabel("", self))
        self.errors = EvaluationTable(self, name="Error rates")
        self.errors.runs_requested.connect(self._show_runs)
        self.add_stack(self.errors, self._build_times())
        legend = [*(f"{each.symbol} {each.legend}" for each in SIGNIFICANCE_MARKS.values()), EXTRA]
        self._legend = placed(self.column, label("    ".join(legend), self, wraps=True))
        self._notes = placed(self.column, label("", self, wraps=True))
        notes = notes_below("Marks")
        self._notes.setToolTip("\n\n".join(notes))
        self._notes.setAccessibleDescription(" ".join(notes))
        controller.changed.connect(self.refresh)

    def _build_controls(self, row: QHBoxLayout) -> None:
        controller = self._controller
        tip = "Compute the missing runs for the selected data sets and methods; each run is stored when it is finished"
        self._buttons = placed(row, StartPause(("Start", "Cancel"), tip, "benchmark", self))
        self.start_button, self.pause_button = self._buttons.start, self._buttons.pause
        self.start_button.clicked.connect(self._toggle)
        # The menu that asks for confirmation before more than an hour of computation.
        self.question = QMenu(self)
        self.question.addAction("Select the quick protocol (a few minutes)").triggered.connect(self._choose_quick)
        self.question.addAction("").triggered.connect(self._start_long)
        self.pause_button.clicked.connect(controller.runs.toggle_pause)
        row.addSpacing(8)
        self._extent = placed(row, QComboBox(self))
        for key, title in (("quick", "Quick protocol"), ("full", "Full protocol")):
            self._extent.addItem(title, key)
        tip = (
            "Quick: uses 600 training rows, 2\u202f000 test rows and few candidates, and takes a few minutes; errors "
            "are not comparable with the paper’s. Full: uses all rows and all candidates, and takes hours"
        )
        name_box(named(self._extent, "", tip), "Protocol")
        self._extent.currentIndexChanged.connect(self._chosen)
        row.addWidget(label("Splits", self))
        self._splits = placed(row, IntegerBox("Splits", 0, _MOST_SPLITS, self, specialValueText="by protocol"))
        self._splits.setFixedWidth(120)
        tip = (
            "Number of splits of each data set; selection and training are repeated on each split. With 0, the "
            "protocol decides. The paper uses 50 splits of Rectangles, 10 of Convex and Rectangles-Images, 1 of MNIST"
        )
        named(self._splits, "Splits", tip).valueChanged.connect(self._chosen)
        data = {key: data_entry(key).title for key in controller.choice.data}
        methods = {key: row_title(key) for key in controller.choice.methods}
        self.data_sets, self.methods = _CheckMenu("Data sets", data, self), _CheckMenu("Methods", methods, self)
        for button in (self.data_sets, self.methods):
            button.ticked.connect(self._chosen)
            row.addWidget(button)
        row.addStretch(1)

    def _build_times(self) -> QWidget:
        view = QWidget(self)
        self.running_times = EvaluationTable(view, name="Running time of feature generation", ordered=False)
        column = flush(QVBoxLayout(view))
        column.addWidget(self.running_times, 1)
        column.addWidget(label(INCLUDED, view, wraps=True))
        return view

    # Requests ---------------------------------------------------------------------------------------------------

    @Slot()
    def _toggle(self) -> None:
        cost, seconds = self._controller.cost()
        if self._controller.runs.running:
            self._controller.runs.stop()
        elif seconds <= _LONG:
            self._controller.start()
        else:
            self.question.actions()[1].setText(f"Start ({cost})")
            self.question.popup(self.start_button.mapToGlobal(self.start_button.rect().bottomLeft()))

    @Slot()
    def _start_long(self) -> None:
        self._controller.start()

    @Slot()
    def _choose_quick(self) -> None:
        self._extent.setCurrentIndex(self._extent.findData("quick"))
        self._splits.setValue(0)

    @Slot()
    def _chosen(self) -> None:
        choice = EvaluationChoice(
            self._extent.currentData(), self.data_sets.chosen(), self.methods.chosen(), self._splits.value() or None
        )
        self._controller.choose(choice)
        self.chosen.emit()

    def choices(self) -> dict[str, str]:
        choice = self._controller.choice
        return super().choices() | {
            "protocol": choice.extent,
            "splits": str(choice.splits or 0),
            "data sets": ",".join(choice.data),
            "methods": ",".join(choice.methods),
        }

    def choose(self, choices: Mapping[str, str]) -> None:
        super().choose(choices)
        choice = self._controller.choice
        extent, splits = choices.get("protocol", choice.extent), choices.get("splits", "")
        if extent in ("full", "quick"):
            choice = replace(choice, extent=extent)
        if splits.isdecimal() and len(splits) < 4 and int(splits) <= _MOST_SPLITS:
            choice = replace(choice, splits=int(splits) or None)
        everything = EvaluationChoice.everything()
        data = choices.get("data sets", ",".join(choice.data)).split(",")
        methods = choices.get("methods", ",".join(choice.methods)).split(",")
        choice = replace(choice, data=tuple(key for key in everything.data if key in data))
        choice = replace(choice, methods=tuple(key for key in everything.methods if key in methods))
        self._controller.choose(choice)
        self.refresh()

    @Slot(int)
    def _show_view(self, view: int) -> None:
        super()._show_view(view)
        for explanation in (self._legend, self._notes):
            explanation.setVisible(view == 0)
        self._show_subtitle(self._controller.state())

    def _show_subtitle(self, state: EvaluationState) -> None:
        quick = self._controller.choice.extent == "quick"
        text = _QUICK if quick else self._page_views[self.stack.currentIndex()].about
        is_shipped = any(cell.shipped_rate is not None for cell in state.cells)
        self.subtitle.setText(f"{text} · {shipped_results()}" if is_shipped else text)

    @Slot(object)
    def _show_runs(self, requested: tuple[tuple[str, ...], str, int]) -> None:
        (keys, method, column), state = requested, self._controller.state()
        data = tuple(dict.fromkeys(cell.data for cell in self._controller.choice.table))[column]
        cell = state.cell(data, method)
        info = next((info for info in state.data if info.key == data), None)
        if cell is not None and info is not None:
            self.page_requested.emit("runs", RunSelection(keys, f"{info.title} {cell.title}"))

    def showEvent(self, event: QShowEvent) -> None:
        self._controller.read()
        super().showEvent(event)

    # Export -----------------------------------------------------------------------------------------------------

    def needs(self) -> frozenset[str]:
        return frozenset()

    def export_options(self) -> tuple[ExportOption, ...]:
        state, options = self._controller.state(), []
        times = time_rows(state)
        if any(cell.answers for cell in state.cells):
            options.append(ExportOption("errors", "the error rates", lambda _: errors_export(state), kinds=TABLES))
        if any(row.slide or row.sda for row in times):
            options.append(ExportOption("times", "the running times", lambda _: times_export(times), kinds=TABLES))
        return tuple(options if self.stack.currentIndex() == 0 else reversed(options))

    def why_nothing_to_export(self) -> str:
        return "There are no results yet. Press Start."

    def numbers(self) -> str:
        shown = self.errors if self.stack.currentIndex() == 0 else self.running_times
        return shown.text() if self.export_options() else ""

    # Display ----------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Show the current state of the evaluation in the tables and controls."""
        controller, state = self._controller, self._controller.state()
        self._show_subtitle(state)
        rows = error_rows(state, controller.choice, controller.runs.running, controller.runs.paused)
        heads = heads_of(state, controller.choice)
        self.errors.set_table(heads, rows)
        self.running_times.set_table(heads, time_rows_of(all_times(time_rows(state), controller.choice)))
        kinds = {(cell.data, cell.shipped_rate is None) for cell in state.cells if cell.answers}
        is_mixed = len(kinds) > len({data for data, _ in kinds})
        self._notes.setText(f"{_NOTES} {_UNMARKED}" if is_mixed else _NOTES)
        self._show_choice()
        self._show_status()

    def _show_choice(self) -> None:
        controller, choice = self._controller, self._controller.choice
        self._buttons.follow(controller.runs.running, controller.runs.paused, ready=not controller.why_not())
        for control in (self._extent, self._splits, self.data_sets, self.methods):
            control.setEnabled(not controller.runs.running)
        with QSignalBlocker(self._extent), QSignalBlocker(self._splits):
            self._extent.setCurrentIndex(self._extent.findData(choice.extent))
            if not self._splits.hasFocus():  # Do not replace a number that the user is typing.
                self._splits.setValue(choice.splits or 0)
        self.data_sets.choose(choice.data)
        self.methods.choose(choice.methods)

    def _show_status(self) -> None:
        controller, live = self._controller, self._controller.runs.latest
        if controller.runs.running and live is not None and live.total:
            paused = " · paused" if controller.runs.paused else ""
            self.status.setText(f"{live.done} of {live.total} runs{paused}")
        elif controller.runs.running:
            self.status.setText("paused" if controller.runs.paused else "opening the data…")
        elif not controller.known:
            self.status.setText("reading the runs…" if controller.is_reading else "")
        else:
            cells = [controller.reading.latest[1].cell(each.data, each.method) for each in controller.choice.cells]
            done, requested = sum(min(len(c.answers), c.n_splits) for c in cells), sum(c.n_splits for c in cells)
            cost, _ = controller.cost()
            finished = f"all {requested}" if done == requested else f"{done} of {requested}"
            start = f"Start computes {cost}" if cost else ""
            quick = "the quick protocol takes a few minutes" if cost and controller.choice.extent == "full" else ""
            text = "; ".join(filter(None, (f"{finished} splits are in the run store", start, quick)))
            self.status.setText(controller.why_not() or text)
