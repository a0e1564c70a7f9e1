"""The image on the Weights page (a training image, the mean or a test image), and its controls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.widgets.controls import ElidedLabel, add_button
from slide_gui.gui.widgets.layouts import flush
from slide_gui.text import count, label_names


class ShownImage(QObject):
    """The image that the Weights page shows.

    Signals
    -------
    changed()
        `values` and `caption` changed.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._mean: NDArray[np.float32] | None = None
        self.values: NDArray[np.float32] | None = None
        self._said: Callable[[], str] = str
        self.is_mean = False
        workspace.dataset_changed.connect(self._forget)
        workspace.state_changed.connect(self._follow)

    @property
    def caption(self) -> str:
        """Return the name of the image."""
        return self._said()

    @Slot()
    def next(self) -> None:
        """Show the next training image."""
        self._step(1)

    @Slot()
    def previous(self) -> None:
        """Show the previous training image."""
        self._step(-1)

    @Slot()
    def toggle_mean(self) -> None:
        """Show the mean image, or return to the training image."""
        sample = self._workspace.state.selection.sample
        self._workspace.select(sample=~sample)  # ~k selects the mean and remembers sample k

    def show_test(self, row: int) -> None:
        """Show a test image until the user selects a training image."""
        dataset = self._workspace.dataset
        if dataset is not None and 0 <= row < len(dataset.test):
            self._workspace.show_test(row)

    def _step(self, step: int) -> None:
        dataset = self._workspace.dataset
        if dataset is not None:
            sample = self._workspace.state.selection.sample
            shown = ~sample if sample < 0 else sample
            self._workspace.select(gesture="sample", sample=(shown + step) % len(dataset.train))

    def _show(self, values: NDArray[np.float32], said: Callable[[], str], is_mean: bool = False) -> None:
        self.values, self._said, self.is_mean = values, said, is_mean
        self.changed.emit()

    def _show_selected(self) -> None:
        dataset, row = self._workspace.dataset, self._workspace.state.test_row
        sample = self._workspace.state.selection.sample
        if dataset is None:
            return
        if row is not None:
            self._show(dataset.test[row], partial(_test_caption, dataset, row))
            return
        if sample >= 0:
            self._show(dataset.train[sample], partial(_sample_caption, dataset, sample))
            return
        if self._mean is None:
            some = dataset.train[:: max(1, len(dataset.train) // 2000)]
            self._mean = some.mean(axis=0, dtype=np.float64).astype(np.float32)
        self._show(self._mean, partial(_mean_caption, dataset), True)

    @Slot(object)
    def _forget(self, _dataset: Dataset) -> None:
        self._mean = None
        self._show_selected()

    @Slot(object, object)
    def _follow(self, state: State, old: State) -> None:
        if (state.selection.sample, state.test_row) != (old.selection.sample, old.test_row):
            self._show_selected()


class ImageRow(QWidget):
    """The name of the image, and the buttons ◀, ▶ and mean."""

    def __init__(self, shown: ShownImage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = shown
        self._caption = ElidedLabel("", self)
        row = flush(QHBoxLayout(self), 4)
        row.addWidget(self._caption, 1)
        for text, tip, slot in (
            ("◀", "Previous image (Ctrl+Left)", shown.previous),
            ("▶", "Next image (Ctrl+Right)", shown.next),
        ):
            button = add_button(self, row, text, tip, "flat")
            button.setFixedWidth(28)
            button.setAccessibleName(tip.split(" (")[0])
            button.clicked.connect(slot)
        self._mean = add_button(self, row, "mean", "Show the mean of the training images (Ctrl+M)", "flat")
        self._mean.setCheckable(True)
        self._mean.clicked.connect(shown.toggle_mean)
        shown.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self._caption.setText(self._shown.caption)
        self._mean.setChecked(self._shown.is_mean)


def _sample_caption(dataset: Dataset, sample: int) -> str:
    text = f"{count(sample + 1)} of {count(len(dataset.train))}"
    labels = dataset.train_labels
    return text if labels is None else text + _class_caption(dataset, int(labels[sample]))


def _test_caption(dataset: Dataset, row: int) -> str:
    text, labels = f"test {count(row + 1)}", dataset.test_labels
    return text if labels is None else text + _class_caption(dataset, int(labels[row]))


def _mean_caption(dataset: Dataset) -> str:
    return f"mean of {count(len(dataset.train))}"


def _class_caption(dataset: Dataset, label: int) -> str:
    (name,) = label_names((label,), dataset.label_names)
    return f" · {f'label {label}'}" if name == str(label) else f" · {name}"
