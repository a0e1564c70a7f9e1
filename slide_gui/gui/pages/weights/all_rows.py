"""The view of all rows of one layer's W, each drawn at the position of its pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from slide_gui.core.slide.stack import Layer
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.weights.mosaic import Mosaic
from slide_gui.gui.pages.weights.view import NO_LAYER, LayerChoice, View, ViewContext
from slide_gui.gui.widgets.color_bar import FOOT, HEAD, ColorBar
from slide_gui.gui.widgets.controls import add_button
from slide_gui.gui.widgets.layouts import flush


class AllRows(View):
    """The mosaic of a layer, with buttons that select the layer."""

    wall_requested = Signal()
    """The user asks for all layers on the full screen."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._shows: tuple[Any, ...] = ()
        self._layer = 0  # layer in the mosaic; 0 until one of the open data set is drawn
        self.mosaic = Mosaic(self)
        self.mosaic.setToolTip("Scroll to zoom, drag to move, double-click to fit, click to pin a pixel")
        self.mosaic.pixel_hovered.connect(self._hover)
        self.mosaic.pixel_clicked.connect(self._pin_field)
        self._choice = LayerChoice(self)
        self._choice.chosen.connect(self.refresh)
        self._choice.chosen.connect(self.numbers_changed)
        self._bar = ColorBar(self)
        self.mosaic.looked.connect(self._place_bar)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        tools = QWidget(self)
        grid.addWidget(tools, 0, 0, Qt.AlignmentFlag.AlignLeft)
        above = flush(QHBoxLayout(tools))
        above.addWidget(self._choice)
        wall = add_button(
            tools, above, "Wall", "Show all layers on the full screen, changing with the noise (F11)", "flat"
        )
        wall.clicked.connect(self.wall_requested)
        self._nothing = self._in_place_of_layers()
        grid.addWidget(self._nothing, 1, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.mosaic, 1, 0)
        grid.addWidget(self._bar, 0, 1, 2, 1, Qt.AlignmentFlag.AlignTop)
        grid.setRowStretch(1, 1)
        grid.setColumnStretch(0, 1000)  # the picture takes all the width it can use, and the rest follows the bar
        grid.setColumnStretch(2, 1)
        self._pixels.moved.connect(self._moved)
        self._workspace.dataset_changed.connect(self._forget)

    def width_for(self, width: int, height: int) -> int:
        if not self._workspace.state.parameters.depth:
            return min(self._nothing.sizeHint().width(), width)
        beside = self._bar.sizeHint().width() + 12
        above = self._choice.sizeHint().height() + 8
        return min(self.mosaic.width_of_whole(height - above) + beside, width)

    @Slot()
    def _place_bar(self) -> None:
        """Align the ends of the colour bar with the picture."""
        picture = self.mosaic.picture()
        top = self.mosaic.y() + picture.y()
        self._bar.set_head(max(round(top), HEAD))
        self._bar.setFixedHeight(max(round(top + picture.height()) + FOOT, self._bar.minimumSizeHint().height()))

    @Slot()
    def refresh(self) -> None:
        state, stack, dataset = self._workspace.state, self._workspace.fitting.stack, self._workspace.dataset
        self.mosaic.set_transposed(state.selection.transposed)
        self._choice.set_depth(state.parameters.depth)
        number, depth = self._choice.layer, state.parameters.depth
        fitted = depth > 0 and stack is not None and len(stack.layers) >= number
        shown = fitted or (depth > 0 and self._layer == number)  # the previous picture stays, in grey, during a fit
        self._nothing.setText(f"Layer {number} is being fitted." if depth else NO_LAYER)
        self._nothing.setVisible(not shown)
        for part in (self.mosaic, self._bar):
            part.setVisible(shown)
        if dataset is None or stack is None or not fitted:
            self._shows = ()
            self.mosaic.set_stale(True)
            return
        layer, self._layer = stack.layers[number - 1], number
        scale, stale = self._source.layer_scale(number), not self._workspace.fitting.is_fresh(number)
        rms = self._source.rms(number) if self._source.shows_contributions() else None
        shows = (layer, scale, stale, rms is None)
        if shows != self._shows:
            shape = dataset.image_shape or (1, stack.n_features)
            grid = (
                None if dataset.image_shape else (stack.n_features, 1)
            )  # features that are not pixels show the matrix W
            self.mosaic.set_fields(_fields(layer, shape, rms), scale, grid, stale)
            self._shows = shows
        self.mosaic.set_selected(self._pixels.feature)
        self._bar.set_scale(scale, self._source.quantity())

    def tables(self) -> tuple[NumberTable, ...]:
        stack, number = self._workspace.fitting.stack, self._choice.layer
        if stack is None or not self._workspace.state.parameters.depth or not self._workspace.fitting.is_fresh(number):
            return ()
        names, layer = self._source.names(), stack.layers[number - 1]
        rms = self._source.rms(number) if self._source.shows_contributions() else None
        weights = layer.weights if rms is None else layer.weights * np.append(rms, 1.0)
        title = (
            f"Weights of every row of W, layer {number}"
            if rms is None
            else f"Contributions of every row of W, layer {number}"
        )
        rows, heads = [(name,) for name in names], (*names, "bias")
        return (NumberTable(title, ("row of",), rows, heads, weights),)

    @Slot()
    def _moved(self) -> None:
        self.mosaic.set_selected(self._pixels.feature)

    @Slot(object)
    def _hover(self, where: tuple[int, int] | None) -> None:
        if where is not None:
            self._pixels.feature = where[0]
            self._pixels.cross(*where)

    @Slot(object)
    def _pin_field(self, where: tuple[int, int]) -> None:
        self._workspace.toggle_pin(where[0])

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self._shows, self._layer = (), 0


def _fields(layer: Layer, shape: tuple[int, int], rms: NDArray[np.float64] | None) -> NDArray[np.float32]:
    d = len(layer.weights)
    values = layer.weights[:, :d].astype(np.float32)
    if rms is not None:
        values *= rms.astype(np.float32)
    return values.reshape(d, *shape)
