"""The trained classifier's prediction for the image in the flow, with the reasons for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.source import describe_spec
from slide_gui.experiments.inspection.decision import MOST_CHANGES, Decision, Flip
from slide_gui.gui.pages.weights.decision_view import (
    ClassBar,
    DecisionPicture,
    DecisionView,
    FlipPicture,
    NearestPicture,
)
from slide_gui.gui.state.decision import DecisionController
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.controls import add_button, label
from slide_gui.gui.widgets.layouts import flush
from slide_gui.text import counted, fixed, label_names, number


class DecidedPart(QWidget):
    """The prediction, or one line that names what is missing and a button that trains."""

    def __init__(self, workspace: Workspace, runs: RunController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._runs = workspace, runs
        self.controller = DecisionController(workspace, runs, self)
        self._entered = "x"
        self.view = DecisionView(self)
        self.view.row_clicked.connect(self._show_sample)
        self._hint = QWidget(self)
        row = flush(QHBoxLayout(self._hint), 12)
        self._why = label("", self._hint, wraps=True)
        row.addWidget(self._why, 1)
        self._train = add_button(
            self,
            row,
            "Train",
            "Learn the widths and C with the panel’s parameters and train on the training set",
        )
        self._train.clicked.connect(self.controller.train_as_default)
        layout = flush(QVBoxLayout(self))
        layout.addWidget(self.view)
        layout.addWidget(self._hint)
        self.controller.changed.connect(self._show)
        runs.training.changed.connect(self._show)
        self._workspace.dataset_changed.connect(self._show)
        self._show()

    def follow(self, image: NDArray[Any], entered: str) -> None:
        """Classify the input of the stack, named x or x̃."""
        self._entered = entered
        self.controller.follow(image)

    def lines(self) -> list[tuple[str, str, str | float]]:
        """Return the prediction as lines of a table: quantity, class and value."""
        picture = self.view.picture
        if picture is None:
            return []
        bars = [("decision", bar.name, bar.text) for bar in picture.bars]
        nearest = [(f"support vector {each.row + 1}", each.name, each.pull) for each in picture.nearest]
        return [*bars, *nearest]

    @Slot(int)
    def _show_sample(self, row: int) -> None:
        self._workspace.select(sample=row)

    @Slot()
    def _show(self) -> None:
        dataset, controller = self._workspace.dataset, self.controller
        picture = None
        if dataset is not None and controller.decision is not None and controller.decides_here:
            picture = self._picture(dataset, controller.decision, controller.flip)
        self.view.set_picture(picture, self._workspace.state.selection.transposed)
        waits = controller.result is not None
        self.view.set_placeholder("Preparing the classifier…" if waits else "")
        self.view.setVisible(waits)
        self._hint.setVisible(not waits)
        why = self._runs.why_not()
        running = self._runs.training.running
        self._train.setVisible(not why)
        self._train.setEnabled(not running)
        if running:
            why = "The classifier is being trained and will predict the class of this sample."
        self._why.setText(why or "Train the classifier to see its prediction for this sample, and why.")

    def _picture(self, dataset: Dataset, decision: Decision, flip: Flip | None) -> DecisionPicture:
        names = label_names(self.controller.labels, dataset.label_names)
        shape = dataset.image_shape

        def seen(values: NDArray[Any]) -> NDArray[np.float32]:
            values = values.astype(np.float32)
            return values.reshape(shape) if shape else values

        first, second = names[decision.first], names[decision.second]
        nearest = tuple(
            NearestPicture(
                each.row, seen(dataset.train[each.row]), names[each.code], each.kernel, each.pull, each.shares
            )
            for each in decision.nearest
        )
        changed = None
        if flip is not None:
            lines = _flip_lines(flip, shape is not None, names[flip.code])
            changed = FlipPicture(seen(flip.image), flip.features, lines)
        return DecisionPicture(
            f"{first}, by {fixed(decision.margin, 2)} over {second}",
            self._about(),
            _bars(decision, names),
            second,
            nearest,
            decision.shares,
            changed,
        )

    def _about(self) -> str:
        result = self.controller.result
        if result is None:
            return ""
        stack = result.spec.stack
        if not result.spec.stacked:
            return f"input {self._entered}, {describe_spec(result.spec)}"
        features = f"noise {number(stack.noise)}, {counted(stack.depth, 'layer')}"
        return f"input {self._entered}, SVM trained at {features}"


def _bars(decision: Decision, names: tuple[str, ...]) -> tuple[ClassBar, ...]:
    """Return a bar per class, the predicted one first, with its votes and its margin against that class."""
    order = [decision.first, decision.second]
    order += sorted(set(range(len(names))) - set(order), key=lambda c: (-decision.votes[c], decision.margins[c]))
    most = max(len(names) - 1, 1)
    bars = []
    for code in order:
        if len(names) == 2:
            margin = decision.margin if code == decision.first else -decision.margin
            text, length = f"{'+' if margin > 0 else '−'}{fixed(abs(margin), 2)}", max(margin, 0.0) / 2.0
        else:
            text, length = counted(decision.votes[code], "vote"), decision.votes[code] / most
        bars.append(ClassBar(names[code], length, text))
    return tuple(bars)


def _flip_lines(flip: Flip, are_pixels: bool, name: str) -> tuple[str, ...]:
    n = len(flip.features)
    if n == 0 and are_pixels:
        return (f"The search found no change of up to {MOST_CHANGES} pixels that flips the prediction.",)
    if n == 0:
        return (f"The search found no change of up to {MOST_CHANGES} features that flips the prediction.",)
    which = "the fewest" if flip.fewest else "fewer may suffice"
    changed = counted(n, "pixel") if are_pixels else counted(n, "feature")
    return (f"{changed} changed: {name}", which)
