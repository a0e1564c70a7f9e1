"""The dialog that sets up a sweep and shows an estimate of its cost."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from slide_gui.core.svm.criteria import LEARNED_BY
from slide_gui.experiments.runs.spec import EVALUATE, RunSpec, SweepSpec, axis_text, depth_axis, noise_axis
from slide_gui.experiments.sweeps.sweep import SweepPlan
from slide_gui.gui.state.runs import MOST_POINTS, n_points
from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import FormDialog, IntegerBox, add_choices, label, named
from slide_gui.text import counted

_MOST_SPLITS = 100
_PAUSE_MILLISECONDS = 150  # Delay between the last change of a field and the computation of the cost.


class SweepDialog(FormDialog):
    """The dialog in which the user sets up a sweep: its noise levels, depths, splits, seeds and other settings.

    Signals
    -------
    requested(object)
        The user wants to start the sweep that this `SweepSpec` describes.
    """

    requested = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__("Sweep", parent)
        self._sweep = SweepSpec(RunSpec(""))
        self._plan: Callable[[SweepSpec], SweepPlan | None] = lambda _sweep: None
        self.grid.setColumnMinimumWidth(1, 150)
        # Create the fields in the order in which they are shown, because Tab moves between them in this order.
        noises, depths, splits = QLineEdit(self), QLineEdit(self), IntegerBox("Splits", 1, _MOST_SPLITS, self)
        seeds, labels = QLineEdit(self), IntegerBox("Labels", 1, 1, self, specialValueText="all")
        self.noises = self.add_row("Noise level 1 − p", noises, "from:to:step, or values separated by commas")
        self.depths = self.add_row("Depth", depths, "from:to, or values separated by commas; 0 is the raw input")
        self.splits = self.add_row("Splits", splits, "training/validation splits; five splits form a cross-validation")
        self.seeds = self.add_row("Seeds", seeds, "random seeds for splits and classifiers, separated by commas")
        self.labels = self.add_row("Labels", labels, "number of labelled rows that each run uses for training")
        self.criterion = self.add_row("Criterion", QComboBox(self), "criterion that the learned widths minimise")
        self.part = self.add_row("Evaluate on", QComboBox(self), "rows on which the plotted errors are counted")
        tip = (
            "Every run is trained on 80 % of the training set and also evaluated on the other 20 %. With the "
            "best noise level and depth on these 20 %, a classifier is retrained on all training rows and tested"
        )
        self.choice = named(QCheckBox("Select the best noise level and depth on validation rows", self), "", tip)
        self.grid.addWidget(self.choice, self.grid.rowCount(), 1, 1, 2)
        add_choices(self.criterion, LEARNED_BY.values())
        add_choices(self.part, EVALUATE.values())
        self.cost = label("", self, "", wraps=True, height=36, accessibleName="Cost")
        self.cost.setFont(figure_font(self, strong=True))
        self.grid.addWidget(self.cost, self.grid.rowCount(), 1, 1, 2)
        self.start = self.add_buttons("Cancel", "Start", "", self._request)
        self._wait = QTimer(self, singleShot=True, interval=_PAUSE_MILLISECONDS)
        self._wait.timeout.connect(self.count)
        lines = self.noises, self.depths, self.seeds, self.splits.lineEdit(), self.labels.lineEdit()
        boxes = self.criterion.currentIndexChanged, self.part.currentIndexChanged, self.choice.toggled
        for changed in (*(line.textChanged for line in lines), *boxes):
            changed.connect(self._changed)

    def ask(self, sweep: SweepSpec, n_rows: int, plan: Callable[[SweepSpec], SweepPlan | None]) -> None:
        """Open the dialog, and fill its fields with the settings of a sweep.

        Parameters
        ----------
        n_rows : int
            Number of training rows, which is the largest possible number of labelled rows.
        plan : callable
            Function that estimates the cost of a sweep, or returns None if the sweep is impossible.
        """
        self._sweep, self._plan = sweep, plan
        self.noises.setText(axis_text(sweep.noises))
        self.depths.setText(axis_text(sweep.depths))
        self.seeds.setText(axis_text(sweep.seeds))
        self.splits.setValue(len(sweep.splits))
        self.labels.setRange(1, n_rows)
        self.labels.setValue(sweep.base.labels or 1)
        self.criterion.setCurrentIndex(self.criterion.findData(sweep.base.svm.criterion))
        self.part.setCurrentIndex(self.part.findData(sweep.base.evaluate))
        self.choice.setChecked(sweep.choose != "none")
        self._changed()
        self.count()
        self.open()
        self.start.setFocus()

    def sweep(self) -> SweepSpec:
        """Return the sweep described by the fields of the dialog.

        Raises
        ------
        ValueError
            If a field is invalid. The message explains the problem.
        """
        for box in (self.splits, self.labels):
            if not box.hasAcceptableInput():
                raise ValueError(box.expected())
        split = self.splits.isEnabled()
        base = replace(
            self._sweep.base,
            svm=replace(self._sweep.base.svm, criterion=str(self.criterion.currentData())),
            training="split" if split else "whole",
            evaluate=str(self.part.currentData()),
            labels=self.labels.value() if self.labels.value() > 1 else None,
        )
        chosen = replace(
            self._sweep,
            base=base,
            noises=noise_axis(self.noises.text()),
            depths=depth_axis(self.depths.text()),
            seeds=depth_axis(self.seeds.text(), "seeds"),
            splits=tuple(range(self.splits.value() if split else 1)),
            choose="pooled" if self.choice.isChecked() else "none",
        )
        if n_points(chosen) > MOST_POINTS:
            raise ValueError(f"the sweep has {counted(n_points(chosen), 'point')}; request at most {MOST_POINTS}")
        return chosen

    @Slot()
    def _changed(self) -> None:
        self.splits.setEnabled(self.choice.isChecked() or self.part.currentData() == "validation")
        self._wait.start()

    @Slot()
    def count(self) -> None:
        """Show the estimated cost of the sweep, or explain which field is invalid."""
        self._wait.stop()
        try:
            plan = self._plan(self.sweep())
        except ValueError as error:
            self.cost.setText(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            self.start.setEnabled(False)
            return
        self.cost.setText("" if plan is None else str(plan))
        self.start.setEnabled(plan is not None)

    @Slot()
    def _request(self) -> None:
        self.count()
        if self.start.isEnabled():
            self.accept()
            self.requested.emit(self.sweep())
