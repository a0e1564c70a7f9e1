"""The left of the Weights page: an image to point at, and the numbers of the weight under the cursor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from slide_gui.figures.color_scale import signed
from slide_gui.gui.pages.weights.shown_image import ImageRow
from slide_gui.gui.pages.weights.view import ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.feature_bars import FeatureBars
from slide_gui.gui.widgets.image_view import MARGIN, ImageView
from slide_gui.gui.widgets.readout import Readout
from slide_gui.text import layer_name, pixel_name

__all__ = ["SamplePanel"]

_IMAGE_SIDE = 252  # nine screen pixels for each of 28
_WIDTH = _IMAGE_SIDE + 2 * MARGIN
_READOUT_ROWS = ("weight", "rank", "bias", "share")


class SamplePanel(QWidget):
    """The image with the pins, and below it the numbers."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._pixels, self._source = context.workspace, context.pixels, context.tiles
        self._shown = context.shown
        self.image, self.bars = ImageView(self), FeatureBars(self)
        self._pointer = QStackedWidget(self)
        self._pointer.setFixedSize(_WIDTH, _WIDTH)
        for view in (self.image, self.bars):
            view.pixel_hovered.connect(self._pixels.point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        self._readout = Readout(self)
        self.setFixedWidth(_WIDTH)
        left = QVBoxLayout(self)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self._pointer)
        left.addWidget(ImageRow(self._shown, self))
        left.addWidget(self._readout)
        left.addStretch(1)
        self._shown.changed.connect(self._show_image)
        self._pixels.moved.connect(self._refresh_readout)
        self._pixels.crossed.connect(self._crossed)

    @Slot()
    def _show_image(self) -> None:
        dataset, values = self._workspace.dataset, self._shown.values
        if dataset is None or values is None:
            return
        if dataset.image_shape:
            self.image.set_image(values.reshape(dataset.image_shape))
        else:
            self.bars.set_values(values)
        self._pointer.setCurrentWidget(self.image if dataset.image_shape else self.bars)

    # Pins and numbers -------------------------------------------------------------------------------------------

    @Slot()
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
            view.set_cursor(self._pixels.source)
        self._refresh_readout()

    @Slot()
    def _refresh_readout(self) -> None:
        dataset = self._workspace.dataset
        if dataset is None:
            return
        target = self._pixels.target
        source = target if self._pixels.source is None else self._pixels.source
        columns, cells = [], []
        for k in range(1, self._workspace.state.parameters.depth + 1):
            columns.append(layer_name(k))
            row = self._source.row(target, k)
            cells.append(("–",) * 4 if row is None else _numbers(row, source))
        title = "from itself" if source == target else f"from {pixel_name(source, dataset.image_shape)}"
        rows = [(name, tuple(cell[i] for cell in cells)) for i, name in enumerate(_READOUT_ROWS)]
        self._readout.set_values(title, tuple(columns), tuple(rows))


def _numbers(row: NDArray[Any], source: int) -> tuple[str, str, str, str]:
    """Return the weight, its rank by size, the bias, and its share of the absolute weights, as text."""
    weights, bias = row[:-1], row[-1]
    size = np.abs(weights)
    rank = int(np.count_nonzero(size > size[source])) + 1
    total = float(size.sum())
    share = 100 * float(size[source]) / total if total > 0 else np.nan
    shown = "–" if np.isnan(share) else f"{share:.1f} %" if share < 99.95 else "100 %"
    return signed(float(weights[source]), 3), str(rank), signed(float(bias), 3), shown
