"""Weight tiles in a place of their own, scrolled where they are too many."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from slide_gui.gui.widgets.weight_tiles import WeightTiles

__all__ = ["TileScroll"]


class TileScroll(QScrollArea):
    """Tells the tiles how high their place is, so that they are as large as fits."""

    def __init__(self, tiles: WeightTiles, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiles = tiles
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(tiles)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tiles.set_room(self.viewport().height())
