"""The base class of the experiments in the view “Why it works”."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.selected_rows import ShownRow
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import add_button, label, name_box
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Tile, TileRow
from slide_gui.gui.widgets.weight_tiles import TileScroll
from slide_gui.progress import Progress


class Experiment(View):
    """The base class of the experiments: a row of controls above tiles. The first tile shows the image.

    Attributes
    ----------
    layers : QComboBox
        The box that selects the layer.
    status : QLabel
        Message about the progress or the result of the experiment.
    tiles : WeightTiles
        The image and rows of W. Hovering over the image selects a pixel.
    column : QVBoxLayout
        The layout that contains the controls and the tiles.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None, tiles: str) -> None:
        super().__init__(context, parent)
        self.status = label("", self, wraps=True)
        self.column = flush(QVBoxLayout(self))
        self.controls = nested(self.column, QHBoxLayout(), spacing=12)
        self.layers = placed(self.controls, QComboBox(self, placeholderText="No layer"))
        name_box(self.layers, "Layer")
        self.layers.activated.connect(self._choose_layer)
        self.controls.addWidget(self.status, 1)
        self.tiles = self._add_tiles(tiles)
        self.column.addWidget(TileScroll(self.tiles, self), 1)
        for changed in (self._pixels.moved, self._shown.changed, self._settings.changed):
            changed.connect(self._refresh_if_seen)

    @property
    def layer(self) -> int:
        """Return the number of the selected layer, counted from 1, or the last layer if it exceeds the depth."""
        return max(min(self._settings.values["layer"], self._workspace.state.parameters.depth), 1)

    @Slot(int)
    def _choose_layer(self, position: int) -> None:
        self._settings.set(layer=position + 1)

    def _list_layers(self) -> None:
        """List the layers up to the current depth, and select the current layer."""
        depth = self._workspace.state.parameters.depth
        if self.layers.count() != depth:
            self.layers.clear()
            self.layers.addItems([f"Layer {k}" for k in range(1, depth + 1)])
        self.layers.setCurrentIndex(min(self.layer, depth) - 1)
        self.layers.setEnabled(depth > 0)

    def _add_action(self, text: str, tip: str, act: Callable[[], None]) -> QPushButton:
        button = add_button(self, self.controls, text, tip, "primary", clicked=act)
        self.setTabOrder(button, self.tiles)
        return button

    def _compute(self, title: str, work: Callable[[Progress], Any], channel: str, **options: Any) -> None:
        """Submit a job with `options` as in `JobQueue.submit`. Refresh the view if the job fails or is stopped."""
        refresh: dict[str, Any] = {"on_failure": lambda _error: self.refresh(), "on_stop": self.refresh}
        self._workspace.queue.submit(title, work, channel=channel, **refresh, **options)

    def _scale(self, row: NDArray[np.float64], a: int) -> ColorScale:
        """Return a colour scale for `row`, the weights (without the bias) that reconstruct pixel `a`."""
        peak = nearby_peak(row, a, self._source.shape)
        return ColorScale.symmetric(self._source.color_map, self._source.strength * peak)

    def _row(self, a: int) -> ShownRow | None:
        """Return the row of W that reconstructs pixel `a` in the selected layer, or None if it is not computed yet."""
        return self._source.row(a, self.layer) if self._workspace.state.parameters.depth else None

    def _image(self, a: int) -> Tile | None:
        values = self._shown.values
        return None if values is None else Tile.of(values, self._source.shape, INK, "", a)

    def _tile_row(self, title: str, subtitle: str, tiles: Sequence[Tile | None]) -> TileRow:
        return TileRow(title, subtitle, QColor(theme_of(self).accent), False, tuple(tiles))

    def _set_tiles(self, heads: Sequence[str], tiles: Sequence[Tile | None]) -> None:
        """Show the image and then `tiles` in one row, titled with the name of the selected pixel."""
        a = self._pixels.target
        row = self._tile_row(self._workspace.feature_name(a), "", (self._image(a), *tiles))
        self.tiles.set_content((self._workspace.worded("image"), *heads), (row,))

    def _image_pixel(self, spot: tuple[int, int, int]) -> int | None:
        """Return the pixel at `spot` = (tile row, tile column, pixel), or None if this tile does not show the image."""
        return spot[2] if spot[1] == 0 else None

    @Slot(object)
    def _point_at(self, spot: tuple[int, int, int] | None) -> None:
        pixel = None if spot is None else self._image_pixel(spot)
        super()._point_at(spot if pixel is None else None)
        self._pixels.point_at(pixel)
