"""The rows of all layers on the full screen, which change with the noise level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.weights.all_rows import LayerFields, Mosaic
from slide_gui.gui.pages.weights.view import ViewContext
from slide_gui.gui.state.workspace import State
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, PlainLabel, add_button, label
from slide_gui.gui.widgets.image import MARGIN, ImageView
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.text import count, significant

_BETWEEN, _LEAST_FIELD = 24, 120
_STRENGTH = 0.4  # colour limits relative to those of a mosaic; small fields need stronger colours


class WallLayer(QWidget):
    """A layer on the wall: its mosaic, and below it the field of the selected pixel with its value and bias."""

    pixel_hovered = Signal(object)
    """(pixel of the field, pixel inside it), or None."""

    def __init__(self, number: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._number, self._pixel = number, 0
        self.fields = np.zeros((0, 1, 1), np.float32)
        """The fields, shape (d, rows, columns); field i belongs to pixel i."""
        self._biases = np.zeros(0)
        self._scale = ColorScale.symmetric("blue-white-red", 1.0)
        self._title, self._numbers = PlainLabel("", self), label("", self)
        self.mosaic, self.field = Mosaic(self), ImageView(self)
        self.mosaic.setAccessibleName(f"All rows of layer {number}: mosaic of images")
        self.field.setAccessibleName(f"Row of the selected pixel, layer {number}: image")
        self.mosaic.pixel_hovered.connect(self.pixel_hovered)
        self.field.pixel_hovered.connect(self._hover_field)
        column = flush(QVBoxLayout(self), 0)
        for part in (self._title, self.mosaic, self._numbers):
            column.addWidget(part)
        column.addWidget(self.field, 1)
        for text in (self._title, self._numbers):
            text.setIndent(MARGIN)

    @property
    def is_stale(self) -> bool:
        """True if the layer is grey, because newer fields are being computed."""
        return self.mosaic.is_faint

    def set_fields(
        self,
        fields: NDArray[np.float32],
        biases: NDArray[np.float64],
        scale: ColorScale,
        grid: tuple[int, int],
        stale: bool,
    ) -> None:
        """Show the fields of the layer, as in `Mosaic.set_fields`, with their biases, shape (d,)."""
        self.fields, self._biases, self._scale = fields, biases, scale
        self._title.setText(f"layer {self._number}" + ("" if stale else f" · ±{significant(scale.high, 2)}"))
        self.mosaic.set_fields(fields, scale, grid, stale)

    def set_transposed(self, transposed: bool) -> None:
        """Exchange rows and columns of the mosaic and of each field on the screen."""
        self.mosaic.set_transposed(transposed)
        self.field.set_transposed(transposed)

    def select(self, pixel: int, inside: int) -> None:
        """Outline the field of a pixel, and show it below the mosaic with a cross at the pixel inside it."""
        self._pixel, field, theme = pixel, self.fields[pixel], theme_of(self)
        self.mosaic.set_selected(pixel)
        self.field.set_field(field, self._scale, self.is_stale)
        self.field.set_pins([(pixel, QColor(theme.text))])
        self.field.set_cursor(None if inside == pixel else inside)
        text = f"{signed(float(field.flat[inside]), 3)} · b {signed(float(self._biases[pixel]), 3)}"
        self._numbers.setText("" if self.is_stale else text)

    def mosaic_size(self, width: float, height: float) -> int:
        """Return the width of the mosaic in a column of a width and a height."""
        texts = self._title.sizeHint().height() + self._numbers.sizeHint().height()
        return self.mosaic.full_size(width, height - texts - _LEAST_FIELD).width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the field the height that the mosaic does not need."""
        super().resizeEvent(event)
        width = self.mosaic_size(self.width(), self.height())
        self.mosaic.setFixedHeight(self.mosaic.full_size(width, self.height()).height())

    @Slot(object)
    def _hover_field(self, inside: int | None) -> None:
        self.pixel_hovered.emit(None if inside is None else (self._pixel, inside))


class LayerWall(QWidget):
    """A full-screen window; Escape closes it.

    Signals
    -------
    left()
        The window was closed.
    """

    left = Signal()

    def __init__(self, context: ViewContext, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._workspace, self._source, self._pixels = context.workspace, context.tiles, context.pixels
        self._fields = LayerFields(context)
        self._target = (0, 0)
        self._layers: list[WallLayer] = []  # reused; those beyond the depth are hidden
        self.setWindowTitle("Wall of layers")
        self.setObjectName("wall")
        column = flush(QVBoxLayout(self), 12, (24, 16, 24, 16))
        self._area = QWidget(self)
        self._grid = flush(QGridLayout(self._area), _BETWEEN)
        column.addWidget(self._area, 1)
        row = nested(column, QHBoxLayout(), spacing=24)
        # Tab reaches the number of a slider only if another control was built before the slider.
        leave = add_button(self, row, "Leave", "Return to the window (Esc)")
        leave.clicked.connect(self.hide)
        self.noise = NumberSlider(
            *("Noise level", 0.0, LARGEST_NOISE, 0.01, 0.3, 2),
            "The first layer changes at once, deeper ones when they are fitted",
            self,
        )
        self.noise.setFixedWidth(420)
        self.noise.value_changed.connect(self._change)
        self.noise.value_settled.connect(self._workspace.history.end_gesture)
        self._status = ElidedLabel("", self)
        row.insertWidget(0, self.noise)
        row.insertWidget(1, self._status, 1)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self).activated.connect(self.hide)
        self._workspace.state_changed.connect(self._show_state)
        self._workspace.fitting.changed.connect(self.refresh)

    @property
    def layers(self) -> list[WallLayer]:
        """Return the visible layers, the first one first."""
        return [layer for layer in self._layers if not layer.isHidden()]

    @property
    def pixel(self) -> int:
        """Return the selected pixel."""
        return self._target[0]

    def showEvent(self, event: QShowEvent) -> None:
        """Preview all rows of the first layer while the noise slider moves."""
        super().showEvent(event)
        self._pixels.watches_all = True
        self._pixels.watch()
        self.noise.setFocus()
        self._target = (self._pixels.features()[0],) * 2
        self._show_state(self._workspace.state, self._workspace.state)

    def hideEvent(self, event: QHideEvent) -> None:
        """Select the wall's pixel in the window."""
        super().hideEvent(event)
        self._pixels.watches_all = False
        self._pixels.watch()
        self._fields.of(())
        self._pixels.point_at(self.pixel)
        self.left.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot(float)
    def _change(self, noise: float) -> None:
        self._workspace.set_parameters(gesture="noise", noise=noise)

    @Slot(object, object)
    def _show_state(self, state: State, _old: State) -> None:
        if self.isVisible():
            self.noise.set_value(state.parameters.noise)
            self.noise.set_extra(f"p = {1 - state.parameters.noise:.2f}")
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the workspace's current state."""
        workspace, stack = self._workspace, self._workspace.fitting.stack
        if not self.isVisible() or workspace.dataset is None:
            return
        if max(self._target) >= workspace.dataset.n_features:  # it belongs to earlier data
            self._target = (self._pixels.features()[0],) * 2
        depth = 0 if stack is None else min(workspace.state.parameters.depth, len(stack.layers))
        before = len(self.layers)
        for k in range(len(self._layers) + 1, depth + 1):
            layer = WallLayer(k, self._area)
            layer.pixel_hovered.connect(self._select)
            self._layers.append(layer)
        for k, layer in enumerate(self._layers, start=1):
            layer.setVisible(k <= depth)
        for k, (fields, biases) in enumerate(self._fields.of(range(1, depth + 1)), start=1):
            full = self._source.layer_scale(k)
            scale = replace(full, low=_STRENGTH * full.low, high=_STRENGTH * full.high)
            layer = self._layers[k - 1]
            layer.set_transposed(workspace.state.selection.transposed)
            layer.set_fields(fields, biases, scale, self._fields.grid(), self._fields.is_stale(k))
        if depth != before:
            self._arrange()
        self._select(self._target)

    def _arrange(self) -> None:
        """Place the layers in the number of columns that gives the largest mosaics."""
        layers = self.layers
        if not layers:
            return

        def mosaic_size(columns: int) -> tuple[int, int]:
            rows = -(-len(layers) // columns)
            width = (self._area.width() - (columns - 1) * _BETWEEN) / columns
            height = (self._area.height() - (rows - 1) * _BETWEEN) / rows
            return layers[0].mosaic_size(width, height), columns

        columns = max(range(1, len(layers) + 1), key=mosaic_size)
        for number in range(len(self._layers)):
            self._grid.setColumnStretch(number, int(number < columns))
            self._grid.setRowStretch(number, int(number < -(-len(layers) // columns)))
        for number, layer in enumerate(layers):
            self._grid.addWidget(layer, *divmod(number, columns))

    @Slot(object)
    def _select(self, target: tuple[int, int] | None) -> None:
        """Show the fields of a pixel in every layer; None, which means that the mouse has left, changes nothing."""
        workspace = self._workspace
        if target is None or workspace.dataset is None:
            return
        self._target = target
        for layer in self.layers:
            layer.select(*target)
        n, name = count(workspace.dataset.n_features), workspace.feature_name(target[0])
        what = "contribution" if self._source.shows_contributions() else "weight"
        self._status.setText(f"{workspace.dataset.name} · each {what} of {n} fields per layer · {name} in every layer")
