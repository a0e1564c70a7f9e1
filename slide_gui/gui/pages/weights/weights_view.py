"""The view Weights: an image with the numbers of the selected weight, and tiles of all rows and of selected rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.gui.pages.weights.selected_rows import ShownRow
from slide_gui.gui.pages.weights.view import NO_LAYER, ImageRow, View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.controls import ElidedLabel, label
from slide_gui.gui.widgets.image import MARGIN, FeatureBars, ImageView
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.gui.widgets.painted import integer_scale
from slide_gui.gui.widgets.tiles import TileRow, short_size
from slide_gui.gui.widgets.weight_tiles import TileScroll
from slide_gui.text import layer_name

_NO_COLOR = QColor(Qt.GlobalColor.transparent)
_BETWEEN = 12
_LEAST_WIDTH = 204  # of the left column, for the numbers
_LEAST_SIDE, _MOST_SIDE = 140, 504  # of the image
_NUMBERS = ("weight", "×\u00a0RMS", "rank", "bias", "share")


class WeightsView(View):
    """The image with its pins, and a mosaic of all rows for each layer above tiles of the selected and pinned pixels.

    Below the image are the numbers of the selected weight and the colour bar, if there is room for them.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._left = QWidget(self)
        self._left.hide()  # until there is an image
        self.image, self.bars = ImageView(self), FeatureBars(self)
        self._pointer = QStackedWidget(self)
        for view in (self.image, self.bars):
            view.pixel_hovered.connect(self._pixels.point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        self._source_name, self.readout = ElidedLabel("", self), label("", self, wraps=True)
        self.readout.setTextFormat(Qt.TextFormat.RichText)  # it contains no names from the data
        self.readout.setAccessibleName("Values under the cursor: table")
        self._bar = ColorBar(self)
        self._noise = NumberSlider(
            *("Noise level", 0.0, LARGEST_NOISE, 0.01, 0.3, 2),
            "The first layer changes at once, deeper ones when they are fitted",
            self,
        )
        self._noise.hide()
        self._noise.value_changed.connect(self._change_noise)
        self._noise.value_settled.connect(self._workspace.history.end_gesture)
        self.tiles = self._add_tiles("All rows of W, and the rows of the selected and of the pinned features")
        self.tiles.row_removed.connect(self._release)
        self._scroll = TileScroll(self.tiles, self)
        column, row = flush(QVBoxLayout(self._left)), flush(QHBoxLayout(self), _BETWEEN)
        image_row = ImageRow(self._shown, self._workspace.worded, self)
        for part in (self._pointer, image_row, self._source_name, self.readout, self._bar, self._noise):
            column.addWidget(part)
        row.addWidget(self._left, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._scroll, 1)
        self._arranged: object = None  # the contents for which the sizes were computed
        self._shown.changed.connect(self._show_image)
        self._pixels.moved.connect(self._moved)
        self._pixels.crossed.connect(self._crossed)

    def show_noise(self, shown: bool) -> None:
        """Show or hide a slider of the noise level, for a window without the panel."""
        self._noise.setVisible(shown)
        self.refresh()

    @Slot(float)
    def _change_noise(self, noise: float) -> None:
        self._workspace.set_parameters(gesture="noise", noise=noise)

    # Sizes -----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Give the tiles the width they can use, and the image the rest."""
        bar, ratio = self._scroll.verticalScrollBar().sizeHint().width(), self.devicePixelRatioF()
        room = self.width() - _LEAST_WIDTH - _BETWEEN
        used = min(math.ceil(self.tiles.layout_of(room - bar, self.height()).needed) + bar, room)
        wide = max(min(self.width() - used - _BETWEEN - 2 * MARGIN, _MOST_SIDE), _LEAST_SIDE)
        line, left = self.readout.fontMetrics().lineSpacing() + 2, self.height() - 2 * MARGIN - 36
        numbers = (self._workspace.state.parameters.depth + 1) * line
        if not self._noise.isHidden():
            left -= self._noise.sizeHint().height() + 8
        for part, high in ((self.readout, numbers + line + 8), (self._bar, self._bar.sizeHint().height())):
            part.setVisible(left >= high + 8 + _LEAST_SIDE)
            left -= 0 if part.isHidden() else high + 8
        tall = max(min(left, _MOST_SIDE), _LEAST_SIDE)
        dataset = self._workspace.dataset
        if dataset is not None and dataset.image_shape:
            rows, columns = dataset.image_shape
            scale = min(integer_scale(rows, tall, ratio), integer_scale(columns, wide, ratio))
            tall, wide = math.ceil(rows * scale), math.ceil(columns * scale)
        else:
            tall = wide = min(tall, wide)
        self._pointer.setFixedSize(wide + 2 * MARGIN, tall + 2 * MARGIN)
        width = max(wide + 2 * MARGIN, _LEAST_WIDTH)
        self._left.setFixedWidth(width)
        self.readout.setFixedSize(width, numbers)  # a new text then moves nothing
        self._source_name.setFixedSize(width, line)
        self._source_name.setVisible(self.readout.isVisibleTo(self))

    # Contents --------------------------------------------------------------------------------------------------

    @Slot()
    def _show_image(self) -> None:
        dataset, values = self._workspace.dataset, self._shown.values
        if dataset is None or values is None:
            return
        if dataset.image_shape:
            self.image.set_image(values.reshape(dataset.image_shape))
        else:
            self.bars.set_values(values, dataset.feature_names)
        for view in (self.image, self.bars):
            view.set_missing(self._shown.missing)
        self._pointer.setCurrentWidget(self.image if dataset.image_shape else self.bars)
        self._left.show()

    @Slot()
    def refresh(self) -> None:
        state, features, colors = self._workspace.state, self._pixels.features(), self._pixels.colors
        self._noise.set_value(state.parameters.noise)
        self._noise.set_extra(f"p = {1 - state.parameters.noise:.2f}")
        self.tiles.set_placeholder("" if state.parameters.depth else NO_LAYER)
        table = self._source.tiles(features)
        selected = "in the middle" if self._pixels.feature is None else "hovered"
        mosaics = self._source.mosaics(features[0])
        rows = [TileRow("All rows", "each at its pixel", _NO_COLOR, False, mosaics, is_mosaics=True)]
        for i, (feature, color, tiles) in enumerate(zip(features, colors, table.tiles, strict=True)):
            name = self._workspace.feature_name(feature)
            rows.append(TileRow(name, "pinned" if i else selected, color, i > 0, tiles))
        self.tiles.set_content(table.titles, tuple(rows) if table.titles else (), self._source.tile_shape)
        self._show_numbers()
        pins, depth = list(zip(features[1:], colors[1:], strict=True)), len(table.titles)
        contents = self._source.tile_shape, depth, pins, table.bar, self._noise.isHidden()
        if contents != self._arranged:
            self._arranged = contents
            self._bar.set_scale(*table.bar)
            for view in (self.image, self.bars):
                view.set_pins(pins)
            self._arrange()

    @Slot()
    def _show_numbers(self) -> None:
        """Show the numbers of the selected weight in each layer."""
        if self._workspace.dataset is None:
            return
        target, theme = self._pixels.target, theme_of(self)
        source = target if self._pixels.source is None else self._pixels.source
        title = "from itself" if source == target else f"from {self._workspace.feature_name(source)}"
        lines: list[tuple[str, ...]] = [("", *_NUMBERS)]
        for k in range(1, self._workspace.state.parameters.depth + 1):
            row = self._source.row(target, k)
            numbers = ("–", "–", "–", "–", "–")
            if row is not None and not row.stale:
                numbers = _numbers(row, self._source.rms(k), source)
            lines.append((layer_name(k), *numbers))
        self.readout.setAccessibleDescription("; ".join([title, *map(" ".join, lines[1:])]))
        self._source_name.setText(title)
        html = f"<table width='100%' cellspacing='0' cellpadding='1' style='color: {theme.text}'>"
        for line in lines:
            html += "<tr><td>" + "</td><td align='right'>".join(line) + "</td></tr>"
        self.readout.setText(f"{html}</table>")

    @Slot()
    def _moved(self) -> None:
        self.tiles.set_crosshair(None)
        self._refresh_if_seen()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pixels.source)
        for view in (self.image, self.bars):
            view.set_cursor(self._pixels.source)
        self._show_numbers()

    def _feature_of(self, row: int) -> int | None:
        features = self._pixels.features()
        return features[row - 1] if 1 <= row <= len(features) else None

    @Slot(object)
    def _point_at(self, spot: tuple[int, int, int] | None) -> None:
        if spot is not None and spot[0] == 0:
            self._pixels.point_at(spot[2])
        else:
            super()._point_at(spot)

    @Slot(int)
    def _release(self, row: int) -> None:
        pins = self._workspace.state.selection.pins
        if 2 <= row < len(pins) + 2:
            self._workspace.toggle_pin(pins[row - 2])


def _numbers(row: ShownRow, rms: NDArray[Any] | None, source: int) -> tuple[str, str, str, str, str]:
    """Return weight, contribution, rank by size, bias and per cent of the row as texts."""
    size, weight = np.abs(row.shown[:-1]), float(row.weights[source])
    rank, total = int(np.count_nonzero(size > size[source])) + 1, float(size.sum())
    contribution = "–" if rms is None else _short(weight * float(rms[source]))
    share = 100 * float(size[source]) / total if total > 0 else 0.0
    part = f"{share:.{0 if share >= 9.95 else 1}f}\u00a0%"
    return _short(weight), contribution, str(rank), _short(float(row.weights[-1])), part


def _short(value: float) -> str:
    """Format a number with its sign in few characters."""
    return f"{'−' if value < 0 else '+'}{short_size(abs(value))}"
