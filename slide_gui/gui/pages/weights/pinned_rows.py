"""The paper's weight figure, alive: pixels × layers, one image each."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.pages.tile_source import place
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.weight_tiles import TileRow, TileScroll, WeightTiles

__all__ = ["PinnedRows"]


class PinnedRows(View):
    """A row of tiles for the pixel pointed at and one for each pin."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._pointing, self._source = context.workspace, context.pointing, context.tiles
        self.tiles = WeightTiles(self)
        self.tiles.pixel_hovered.connect(self._cross)
        self.tiles.pixel_clicked.connect(self._pin)
        self.tiles.row_removed.connect(self._release)
        self._bar = ColorBar(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(16)
        layout.addWidget(TileScroll(self.tiles, self), 1)
        layout.addWidget(self._bar)
        self._pointing.moved.connect(self._moved)
        self._pointing.crossed.connect(self._crossed)

    @Slot()
    def refresh(self) -> None:
        theme, state, features = theme_of(self), self._workspace.state, self._pointing.features()
        depth = state.parameters.depth
        dataset = self._workspace.dataset
        shape = None if dataset is None else dataset.image_shape
        self.tiles.set_transposed(state.selection.transposed)
        self._source.begin(features)
        rows = []
        for number, feature in enumerate(features):
            tiles = tuple(self._source.tile(feature, k) for k in range(1, depth + 1))
            stale = tuple(self._source.is_stale(feature, k) for k in range(1, depth + 1))
            first = number == 0
            where = "hovered" if self._pointing.feature is not None else "in the middle"
            color = QColor(theme.accent) if first else theme.pin(number - 1)
            rows.append(TileRow(place(feature, shape), where if first else "pinned", color, not first, tiles, stale))
        self.tiles.set_content(tuple(self._source.title(k) for k in range(1, depth + 1)), tuple(rows))
        self._bar.set_scale(*self._source.bar())

    @Slot()
    def _moved(self) -> None:
        self.tiles.set_crosshair(None)
        if self.isVisible():
            self.refresh()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pointing.source)

    @Slot(object)
    def _cross(self, where: tuple[int, int, int] | None) -> None:
        features = self._pointing.features()
        if where is None or where[0] >= len(features):
            self._pointing.cross(None, None)
        else:
            self._pointing.cross(features[where[0]], where[2])

    @Slot(object)
    def _pin(self, where: tuple[int, int, int]) -> None:
        self._workspace.toggle_pin(where[2])

    @Slot(int)
    def _release(self, row: int) -> None:
        pins = self._workspace.state.selection.pins
        if 1 <= row <= len(pins):
            self._workspace.toggle_pin(pins[row - 1])
