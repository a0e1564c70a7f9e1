"""The left of the Weights page: an image to point at, and the numbers of the weight under the cursor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.figures.color_scale import signed
from slide_gui.gui.panel import thousands
from slide_gui.gui.theme import theme_of
from slide_gui.gui.tiles import place
from slide_gui.gui.weights.view import ViewContext
from slide_gui.gui.widgets.feature_bars import FeatureBars
from slide_gui.gui.widgets.image_view import MARGIN, ImageView
from slide_gui.gui.widgets.readout import Readout

__all__ = ["SamplePanel"]

_IMAGE_SIDE = 252  # nine screen pixels for each of 28
_WIDTH = _IMAGE_SIDE + 2 * MARGIN
_READOUT_ROWS = ("weight", "rank", "bias", "share")


class SamplePanel(QWidget):
    """A training image or the mean, with the pins, and below it the numbers."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._pointing, self._source = context.workspace, context.pointing, context.tiles
        self._mean_values: NDArray[Any] | None = None
        self.image, self.bars = ImageView(self), FeatureBars(self)
        self._pointer = QStackedWidget(self)
        self._pointer.setFixedSize(_WIDTH, _WIDTH)
        for view in (self.image, self.bars):
            view.pixel_hovered.connect(self._pointing.point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        self._readout = Readout(self)
        self.setFixedWidth(_WIDTH)
        left = QVBoxLayout(self)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self._pointer)
        left.addLayout(self._build_row())
        left.addWidget(self._readout)
        left.addStretch(1)
        self._pointing.moved.connect(self._refresh_readout)
        self._pointing.crossed.connect(self._crossed)

    def _build_row(self) -> QHBoxLayout:
        self._caption = QLabel(self)
        self._caption.setProperty("role", "secondary")
        self._mean = QPushButton("mean", self)
        self._mean.setCheckable(True)
        self._mean.setProperty("kind", "flat")
        self._mean.setToolTip("Show the mean of the training images (Ctrl+M)")
        self._mean.clicked.connect(self.toggle_mean)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self._caption, 1)
        for text, tip, slot in (
            ("◀", "Previous image (Ctrl+Left)", self.previous),
            ("▶", "Next image (Ctrl+Right)", self.next),
        ):
            button = QPushButton(text, self)
            button.setProperty("kind", "flat")
            button.setFixedWidth(28)
            button.setToolTip(tip)
            button.setAccessibleName(tip.split(" (")[0])
            button.clicked.connect(slot)
            row.addWidget(button)
        row.addWidget(self._mean)
        return row

    # Which image ------------------------------------------------------------------------------------------------

    @Slot()
    def next(self) -> None:
        """Show the next training image."""
        self._step(1)

    @Slot()
    def previous(self) -> None:
        """Show the training image before."""
        self._step(-1)

    @Slot()
    def toggle_mean(self) -> None:
        """Show the mean image, or the sample again."""
        sample = self._workspace.state.selection.sample
        self._workspace.select(sample=~sample)  # ~k keeps the sample while the mean is shown

    def _step(self, step: int) -> None:
        dataset = self._workspace.dataset
        if dataset is not None:
            sample = self._workspace.state.selection.sample
            shown = ~sample if sample < 0 else sample
            self._workspace.select(gesture="sample", sample=(shown + step) % len(dataset.train))

    def show_test_image(self, row: int) -> None:
        """Show an image of the test part until another sample is chosen."""
        dataset = self._workspace.dataset
        if dataset is None or not 0 <= row < len(dataset.test):
            return
        self._caption.setText(f"test image {thousands(row + 1)}")
        self._mean.setChecked(False)
        self._show_values(dataset, dataset.test[row])

    def show_dataset(self, dataset: Dataset) -> None:
        """Show the sample chosen of other data."""
        self._mean_values = None
        self._pointer.setCurrentWidget(self.image if dataset.image_shape else self.bars)
        self.show_sample()

    def show_sample(self) -> None:
        """Show the sample chosen, or the mean."""
        dataset, sample = self._workspace.dataset, self._workspace.state.selection.sample
        if dataset is None:
            return
        self._mean.setChecked(sample < 0)
        if sample >= 0:
            self._caption.setText(_sample_caption(dataset, sample))
            self._show_values(dataset, dataset.train[sample])
            return
        if self._mean_values is None:
            some = dataset.train[:: max(1, len(dataset.train) // 2000)]
            self._mean_values = some.mean(axis=0, dtype=np.float64).astype(np.float32)
        self._caption.setText(f"mean of {thousands(len(dataset.train))}")
        self._show_values(dataset, self._mean_values)

    def _show_values(self, dataset: Dataset, values: NDArray[Any]) -> None:
        if dataset.image_shape:
            self.image.set_image(values.reshape(dataset.image_shape))
        else:
            self.bars.set_values(values)

    # Pins and numbers -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the pins and the numbers as they are now."""
        theme, selection = theme_of(self), self._workspace.state.selection
        pins = [(pin, theme.pin(number)) for number, pin in enumerate(selection.pins)]
        self.image.set_transposed(selection.transposed)
        for view in (self.image, self.bars):
            view.set_pins(pins)
        self._refresh_readout()

    @Slot()
    def _crossed(self) -> None:
        for view in (self.image, self.bars):
            view.set_cursor(self._pointing.source)
        self._refresh_readout()

    @Slot()
    def _refresh_readout(self) -> None:
        dataset = self._workspace.dataset
        if dataset is None:
            return
        target = self._pointing.target
        source = target if self._pointing.source is None else self._pointing.source
        columns, cells = [], []
        for k in range(1, self._workspace.state.parameters.depth + 1):
            columns.append("h" + "⁰¹²³⁴⁵⁶⁷⁸"[k])
            row = self._source.row(target, k)
            cells.append(("–",) * 4 if row is None else _numbers(row, source))
        title = "from itself" if source == target else f"from {place(source, dataset.image_shape)}"
        rows = [(name, tuple(cell[i] for cell in cells)) for i, name in enumerate(_READOUT_ROWS)]
        self._readout.set_values(title, tuple(columns), tuple(rows))


def _sample_caption(dataset: Dataset, sample: int) -> str:
    text = f"{thousands(sample + 1)} of {thousands(len(dataset.train))}"
    if dataset.train_labels is None:
        return text
    label = int(dataset.train_labels[sample])
    name = dataset.label_names[label] if 0 <= label < len(dataset.label_names) else str(label)
    return f"{text} · label {label}" if name == str(label) else f"{text} · {name}"


def _numbers(row: NDArray[Any], source: int) -> tuple[str, str, str, str]:
    """Return the weight, its rank by size, the bias, and its share of the absolute weights, as text."""
    weights, bias = row[:-1], row[-1]
    size = np.abs(weights)
    rank = int(np.count_nonzero(size > size[source])) + 1
    total = float(size.sum())
    share = 100 * float(size[source]) / total if total > 0 else np.nan
    shown = "–" if np.isnan(share) else f"{share:.1f} %" if share < 99.95 else "100 %"
    return signed(float(weights[source]), 3), str(rank), signed(float(bias), 3), shown
