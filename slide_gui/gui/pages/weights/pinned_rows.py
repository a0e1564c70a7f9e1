"""The view of the paper's weight figure, interactive: one image per pixel and layer."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.widgets.color_bar import BesideColorBar
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.tiles import TileRow
from slide_gui.gui.widgets.weight_tiles import TileScroll


class PinnedRows(View):
    """A row of tiles for the selected pixel and for each pin."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self.tiles = self._add_tiles("Weights of the pinned pixels, layer by layer")
        self.tiles.row_removed.connect(self._release)
        self._with_bar = BesideColorBar(TileScroll(self.tiles, self), self.tiles.layout_of, self)
        self._bar: tuple[ColorScale, str, tuple[str, ...]] | None = None
        self._nothing = self._in_place_of_layers()
        column = flush(QVBoxLayout(self))
        column.addWidget(self._nothing, 0, Qt.AlignmentFlag.AlignTop)
        column.addWidget(self._with_bar, 1)
        self._pixels.moved.connect(self._moved)
        self._pixels.crossed.connect(self._crossed)

    def width_for(self, width: int, height: int) -> int:
        if not self._workspace.state.parameters.depth:
            return min(self._nothing.sizeHint().width(), width)
        outer = self._with_bar.outer_width
        return min(math.ceil(self.tiles.layout_of(width - outer, height).needed) + outer, width)

    @Slot()
    def refresh(self) -> None:
        state, features = self._workspace.state, self._pixels.features()
        depth = state.parameters.depth
        self._nothing.setVisible(depth == 0)
        self._with_bar.setVisible(depth > 0)
        self.tiles.set_transposed(state.selection.transposed)
        table = self._source.tiles(features)
        selected = "in the middle" if self._pixels.feature is None else "hovered"
        rows = tuple(
            TileRow(self._workspace.feature_name(feature), "pinned" if i else selected, color, i > 0, tiles)
            for i, (feature, color, tiles) in enumerate(zip(features, self._pixels.colors, table.tiles, strict=True))
        )
        self.tiles.set_content(table.titles, rows)
        if table.bar != self._bar:
            self._bar = table.bar
            self._with_bar.set_scale(*table.bar)

    @Slot()
    def _moved(self) -> None:
        self.tiles.set_crosshair(None)
        self._refresh_if_seen()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pixels.source)

    def _feature_of(self, row: int) -> int | None:
        features = self._pixels.features()
        return features[row] if row < len(features) else None

    @Slot(int)
    def _release(self, row: int) -> None:
        pins = self._workspace.state.selection.pins
        if 1 <= row <= len(pins):
            self._workspace.toggle_pin(pins[row - 1])
