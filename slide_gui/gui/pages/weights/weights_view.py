"""The view Weights: the rows of W of the selected pixel and of each pin, below all rows of every layer."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.gui.pages.weights.view import NO_LAYER, View, ViewContext
from slide_gui.gui.widgets.controls import label
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.tiles import TileRow
from slide_gui.gui.widgets.weight_tiles import TileScroll

_NO_COLOR = QColor(Qt.GlobalColor.transparent)


class WeightsView(View):
    """A mosaic of all rows for each layer, a row of tiles for the selected pixel, and one for each pin.

    Signals
    -------
    scale_changed(object)
        The colour bar's scale, note and labels, as in `ColorBar.set_scale`.
    """

    scale_changed = Signal(object)

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.tiles = self._add_tiles("All rows of W, and the rows of the selected and of the pinned features")
        self.tiles.row_removed.connect(self._release)
        self._scroll = TileScroll(self.tiles, self)
        self._bar: object = None
        self._nothing = label(NO_LAYER, self)
        self._nothing.hide()
        column = flush(QVBoxLayout(self))
        column.addWidget(self._nothing, 0, Qt.AlignmentFlag.AlignTop)
        column.addWidget(self._scroll, 1)
        self._pixels.moved.connect(self._moved)
        self._pixels.crossed.connect(self._crossed)

    def width_for(self, width: int, height: int) -> int:
        if not self._workspace.state.parameters.depth:
            return min(self._nothing.sizeHint().width(), width)
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        return min(math.ceil(self.tiles.layout_of(width - bar, height).needed) + bar, width)

    @Slot()
    def refresh(self) -> None:
        state, features = self._workspace.state, self._pixels.features()
        depth = state.parameters.depth
        self._nothing.setVisible(depth == 0)
        self._scroll.setVisible(depth > 0)
        table = self._source.tiles(features)
        selected = "in the middle" if self._pixels.feature is None else "hovered"
        mosaics = TileRow("All rows", "each at its pixel", _NO_COLOR, False, self._source.mosaics(features[0]))
        rows = tuple(
            TileRow(self._workspace.feature_name(feature), "pinned" if i else selected, color, i > 0, tiles)
            for i, (feature, color, tiles) in enumerate(zip(features, self._pixels.colors, table.tiles, strict=True))
        )
        self.tiles.set_content(table.titles, (mosaics, *rows))
        if table.bar != self._bar:
            self._bar = table.bar
            self.scale_changed.emit(table.bar)

    @Slot()
    def _moved(self) -> None:
        self.tiles.set_crosshair(None)
        self._refresh_if_seen()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pixels.source)

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
