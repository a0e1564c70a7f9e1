"""The rows of all layers on the full screen, which change with the noise level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QVariantAnimation, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QHideEvent,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.experiments.inspection.explorer import Preview
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.weights.mosaic import GAP, mosaic_of, whole_zoom
from slide_gui.gui.pages.weights.view import ViewContext
from slide_gui.gui.state.workspace import State
from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, add_button
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.gui.widgets.motion import motion_allowed
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.gui.widgets.painted import STALE, Pointed, focus_ring, frame, snapped
from slide_gui.gui.widgets.pixels import ARROWS, PixelGrid, colour_table, coloured_image, integer_scale, ring
from slide_gui.text import count, counted, significant

_BETWEEN, _LINE, _LEAST_FIELD = 24, 20, 112
_STRENGTH = 0.4  # colour limits relative to those of a mosaic; small fields need stronger colours
_MORPH = 140  # milliseconds from one picture to the next


@dataclass(frozen=True, eq=False)
class WallLayer:
    """A layer on the wall.

    Attributes
    ----------
    fields : ndarray of shape (d, d), float32
        Row i is the field of pixel i.
    biases : ndarray of shape (d,)
    stale : bool
        True to grey the layer because newer fields are being computed.
    """

    title: str
    fields: NDArray[np.float32]
    biases: NDArray[np.float64]
    scale: ColorScale
    stale: bool = False


@dataclass(frozen=True)
class _Place:
    """The boxes of a layer: its mosaic, and below it the field of the selected pixel."""

    mosaic: QRectF
    zoom: float
    field: QRectF
    cell: float


class WallView(Pointed):
    """Mosaics side by side; the selected pixel is outlined in all, and its fields are shown below."""

    shape = Qt.CursorShape.CrossCursor
    pixel_hovered = Signal(object)
    """(pixel of the field, pixel inside it), or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers: tuple[WallLayer, ...] = ()
        self._grid, self._shape, self._transposed = (1, 1), (1, 1), False
        self._images: dict[int, tuple[NDArray[np.float32], ColorScale, QSize, QImage]] = {}  # by the fields' identity
        self._places: tuple[_Place, ...] = ()
        self._placed: tuple[Any, ...] = ()
        self._before: tuple[QImage | None, ...] = ()
        self._morph = QVariantAnimation(self)
        self._morph.setStartValue(0.0)
        self._morph.setEndValue(1.0)
        self._morph.setDuration(_MORPH)
        self._morph.valueChanged.connect(self._morphed)
        self._share = 1.0  # weight of the new pictures in the transition
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("All rows of all layers: mosaics of images")

    def set_layers(
        self, layers: tuple[WallLayer, ...], grid: tuple[int, int], shape: tuple[int, int], transposed: bool
    ) -> None:
        """Show layers.

        Parameters
        ----------
        layers : tuple of WallLayer
            Images of unchanged layers are reused.
        grid, shape : tuple of (rows, columns)
            Arrangement of the fields in a mosaic, and of the pixels in a field.
        transposed : bool
            True to exchange rows and columns of the mosaics and of each field on the screen.
        """
        same = (self._grid, self._shape, self._transposed) == (grid, shape, transposed)
        wanted = {id(layer.fields) for layer in layers} if same else set()
        if same and motion_allowed(self) and any(id(layer.fields) not in self._images for layer in layers):
            self._before = tuple(self._drawn(layer) for layer in self._layers)
            self._morph.stop()
            self._morph.start()
        elif not same:
            self._before = ()
        self._images = {key: image for key, image in self._images.items() if key in wanted}
        self._layers, self._grid, self._shape, self._transposed = layers, grid, shape, transposed
        if not self._points_at_something():  # the selected pixel belongs to earlier data
            self._current = None
        self._describe()
        self.update()

    def _drawn(self, layer: WallLayer) -> QImage | None:
        drawn = self._images.get(id(layer.fields))
        return None if drawn is None else drawn[3]

    @Slot(object)
    def _morphed(self, share: float) -> None:
        self._share = float(share)
        self.update()

    @property
    def layers(self) -> tuple[WallLayer, ...]:
        """Return the layers, the first one first."""
        return self._layers

    @property
    def pixel(self) -> int | None:
        """Return the selected pixel."""
        return None if self._current is None else int(self._current[0])

    def show_pixel(self, pixel: int) -> None:
        """Show the fields of a pixel."""
        self._hover((pixel, pixel))

    # Geometry

    def places(self) -> tuple[_Place, ...]:
        """Return the boxes of the layers, in the number of columns that gives the largest mosaics."""
        key = (self.size(), len(self._layers), self._grid, self._shape, self._transposed, self.devicePixelRatioF())
        if key != self._placed:
            self._placed, self._places = key, self._arranged()
        return self._places

    def _arranged(self) -> tuple[_Place, ...]:
        many, ratio = len(self._layers), self.devicePixelRatioF()
        if not many:
            return ()
        wide, high = self._mosaic_size()

        def room(columns: int) -> tuple[float, float]:
            rows = -(-many // columns)
            return (
                (self.width() - (columns - 1) * _BETWEEN) / columns,
                (self.height() - (rows - 1) * _BETWEEN) / rows,
            )

        def zoom(columns: int) -> float:
            across, down = room(columns)
            return whole_zoom(min(across / wide, (down - 2 * _LINE - _LEAST_FIELD) / high), ratio)

        columns = max(range(1, many + 1), key=lambda c: (zoom(c), c))
        across, down = room(columns)
        scale = zoom(columns)
        width, height = snapped(wide * scale, ratio), snapped(high * scale, ratio)
        rows, cells = self._one()
        left = down - 2 * _LINE - height
        cell = min(integer_scale(cells, min(width, across), ratio), integer_scale(rows, max(left, 1.0), ratio))
        places = []
        for number in range(many):
            row, column = divmod(number, columns)
            x, y = snapped(column * (across + _BETWEEN), ratio), snapped(row * (down + _BETWEEN) + _LINE, ratio)
            mosaic = QRectF(x, y, width, height)
            places.append(_Place(mosaic, scale, QRectF(x, mosaic.bottom() + _LINE, cells * cell, rows * cell), cell))
        return tuple(places)

    def _one(self) -> tuple[int, int]:
        """Return rows and columns of a field on the screen."""
        return self._shape[::-1] if self._transposed else self._shape

    def _mosaic_size(self) -> tuple[int, int]:
        """Return rows and columns of a mosaic in weights, with the gaps."""
        rows, columns = self._one()
        down, across = self._grid[::-1] if self._transposed else self._grid
        return across * (columns + GAP) - GAP, down * (rows + GAP) - GAP

    def field_box(self, place: _Place, pixel: int) -> QRectF:
        """Return the box of a pixel's field in a mosaic."""
        row, column = PixelGrid(self._grid, 0.0, 0.0, 1.0, self._transposed).place(pixel)
        (rows, columns), zoom, corner = self._one(), place.zoom, place.mosaic.topLeft()
        return QRectF(
            corner.x() + column * (columns + GAP) * zoom,
            corner.y() + row * (rows + GAP) * zoom,
            columns * zoom,
            rows * zoom,
        )

    # Selection

    def _at(self, point: QPointF) -> tuple[int, int] | None:
        rows, columns = self._one()
        for place in self.places():
            if place.mosaic.contains(point):
                x, y = (point - place.mosaic.topLeft()).toTuple()
                fields = PixelGrid(self._grid, 0.0, 0.0, 1.0, self._transposed)
                across, down = (columns + GAP) * place.zoom, (rows + GAP) * place.zoom
                pixel = fields.index(int(y // down), int(x // across))
                if pixel is None or pixel >= self._features():
                    return None
                box = self.field_box(place, pixel)
                inside = PixelGrid(self._shape, box.x(), box.y(), place.zoom, self._transposed).at(point)
                return pixel, pixel if inside is None else inside
            if self.pixel is not None and place.field.contains(point):
                inside = PixelGrid(self._shape, place.field.x(), place.field.y(), place.cell, self._transposed).at(
                    point
                )
                return None if inside is None else (self.pixel, inside)
        return None

    def _features(self) -> int:
        return len(self._layers[0].fields) if self._layers else 0

    def _points_at_something(self) -> bool:
        """True if all layers have the selected pixel, which may belong to other data until they are replaced."""
        return self._current is not None and max(self._current) < self._features()

    def _stepped(self, step: tuple[int, int]) -> tuple[int, int] | None:
        if not self._layers:
            return None
        grid = PixelGrid(self._grid, 0.0, 0.0, 1.0, self._transposed)
        pixel = min(grid.moved(self.pixel, step), self._features() - 1)
        return pixel, pixel

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in ARROWS and event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._current is not None:
            pixel, inside = self._current  # with Shift, keys move inside the field
            self._hover((pixel, PixelGrid(self._shape, 0.0, 0.0, 1.0, self._transposed).moved(inside, ARROWS[key])))
        else:
            super().keyPressEvent(event)

    def _hover(self, target: tuple[int, int] | None) -> None:
        if target is not None:  # the last selection stays
            super()._hover(target)

    def _tell(self, target: tuple[int, int] | None) -> None:
        self._describe()
        self.pixel_hovered.emit(target)

    def _describe(self) -> None:
        texts = [counted(len(self._layers), "layer")]
        if self._points_at_something():
            pixel, inside = self._current
            places = [
                f"{each // self._shape[1]}, {each % self._shape[1]}" if self._shape[0] > 1 else str(each)
                for each in (pixel, inside)
            ]
            weights = [
                f"layer {k} {signed(float(x.fields[pixel, inside]), 3)}"
                for k, x in enumerate(self._layers, 1)
                if not x.stale
            ]
            texts = [f"row of W of {places[0]}, from {places[1]}", *weights, *texts]
        self.setAccessibleDescription("; ".join(texts))

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        words = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for number, (layer, place) in enumerate(zip(self._layers, self.places(), strict=True)):
            painter.setFont(figure_font(self, BODY))
            painter.setPen(QColor(theme.muted))
            above = QRectF(place.mosaic.x(), place.mosaic.y() - _LINE, place.mosaic.width(), _LINE)
            painter.drawText(above, words, layer.title)
            image, opacity = self._image(layer, place), STALE if layer.stale else 1.0
            before = self._before[number] if number < len(self._before) else None
            if before is not None and before is not image and self._share < 1.0:
                painter.setOpacity(opacity)
                painter.drawImage(place.mosaic, before)
                opacity *= self._share
            painter.setOpacity(opacity)
            painter.drawImage(place.mosaic, image)
            painter.setOpacity(1.0)
            if self._points_at_something():
                self._paint_pixel(painter, layer, place, *self._current)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(1, 1, -1, -1))
        painter.end()

    def _paint_pixel(self, painter: QPainter, layer: WallLayer, place: _Place, pixel: int, inside: int) -> None:
        """Outline the field of a pixel, and draw it below the mosaic."""
        theme, box = theme_of(self), self.field_box(place, pixel)
        for grow in (0, 1):
            frame(painter, box.adjusted(-grow, -grow, grow, grow), theme.accent)
        field = layer.fields[pixel].reshape(self._shape)
        shown = coloured_image(layer.scale.indices(field.T if self._transposed else field), colour_table(layer.scale))
        painter.setOpacity(STALE if layer.stale else 1.0)
        painter.drawImage(place.field, shown)
        painter.setOpacity(1.0)
        frame(painter, place.field, theme.line)
        cells = PixelGrid(self._shape, place.field.x(), place.field.y(), place.cell, self._transposed)
        if place.cell >= 3.0:
            ring(painter, cells.rect(pixel), QColor(theme.text), QColor(theme.background))
            if inside != pixel:
                ring(painter, cells.rect(inside), QColor(theme.accent), QColor(theme.background), 1.5)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        between = QRectF(place.field.x(), place.field.y() - _LINE, place.mosaic.width(), _LINE)
        text = f"{signed(float(layer.fields[pixel, inside]), 3)} · b {signed(float(layer.biases[pixel]), 3)}"
        if not layer.stale:
            painter.drawText(between, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)

    def _image(self, layer: WallLayer, place: _Place) -> QImage:
        """Return a mosaic in pixels of the screen, each the mean of the weights that it covers."""
        ratio = self.devicePixelRatioF()
        size = QSize(round(place.mosaic.width() * ratio), round(place.mosaic.height() * ratio))
        drawn = self._images.get(id(layer.fields))
        if drawn is None or drawn[1:3] != (layer.scale, size):
            indices = layer.scale.indices(layer.fields).reshape(-1, *self._shape)
            whole = mosaic_of(indices, self._grid, self._transposed)
            image = coloured_image(whole, colour_table(layer.scale, QColor(theme_of(self).line)))
            if image.width() > size.width():
                smooth = Qt.TransformationMode.SmoothTransformation
                image = image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)
            drawn = self._images[id(layer.fields)] = layer.fields, layer.scale, size, image
        return drawn[3]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._images = {}
        super().changeEvent(event)


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
        self._fields: dict[tuple[Any, ...], tuple[NDArray[np.float32], NDArray[np.float64]]] = {}
        self.setWindowTitle("Wall of layers")
        self.setObjectName("wall")
        self.view = WallView(self)
        self.view.pixel_hovered.connect(self._hover)
        self.noise = NumberSlider(
            *("Noise level", 0.0, LARGEST_NOISE, 0.01, 0.3, 2),
            "The first layer changes at once, deeper ones when they are fitted",
            self,
        )
        self.noise.setFixedWidth(420)
        self.noise.value_changed.connect(self._change)
        self.noise.value_settled.connect(self._workspace.history.end_gesture)
        self._said = ElidedLabel("", self)
        column = flush(QVBoxLayout(self), 12, (24, 16, 24, 16))
        column.addWidget(self.view, 1)
        row = nested(column, QHBoxLayout(), spacing=24)
        row.addWidget(self.noise)
        row.addWidget(self._said, 1)
        leave = add_button(self, row, "Leave", "Return to the window (Esc)")
        leave.clicked.connect(self.hide)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self).activated.connect(self.hide)
        self._workspace.state_changed.connect(self._show_state)
        self._workspace.fitting.changed.connect(self.refresh)

    def showEvent(self, event: QShowEvent) -> None:
        """Preview all rows of the first layer while the noise slider moves."""
        super().showEvent(event)
        self._pixels.watches_all = True
        self._pixels.watch()
        self.noise.setFocus()
        self.view.show_pixel(self._pixels.features()[0])
        self._show_state(self._workspace.state, self._workspace.state)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Select the wall's pixel in the window."""
        super().hideEvent(event)
        self._pixels.watches_all = False
        self._pixels.watch()
        self._fields = {}
        self._pixels.point_at(self.view.pixel)
        self.left.emit()

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
        workspace = self._workspace
        dataset, stack = workspace.dataset, workspace.fitting.stack
        if not self.isVisible() or dataset is None:
            return
        if stack is None:
            self.view.set_layers((), (1, 1), (1, 1), workspace.state.selection.transposed)
            self._say()
            return
        d, depth = stack.n_features, min(workspace.state.parameters.depth, len(stack.layers))
        shape = dataset.image_shape or (1, d)
        grid = dataset.image_shape or (d, 1)
        keys = [self._key(k) for k in range(1, depth + 1)]
        self._fields = {key: self._fields.get(key) or self._fields_of(key[0]) for key in keys}
        layers = tuple(self._layer(key[0], *self._fields[key]) for key in keys)
        self.view.set_layers(layers, grid, shape, workspace.state.selection.transposed)
        self._say()

    def _key(self, k: int) -> tuple[Any, ...]:
        """Return everything that determines the fields of a layer."""
        assert self._workspace.fitting.stack is not None
        return k, self._workspace.fitting.stack.layers[k - 1], self._previewed(k), self._source.shows_contributions()

    def _previewed(self, k: int) -> Preview | None:
        """Return the preview of the first layer if it contains every row."""
        preview, stack = self._workspace.fitting.preview, self._workspace.fitting.stack
        is_complete = k == 1 and preview is not None and stack is not None and len(preview.rows) >= stack.n_features
        return preview if is_complete else None

    def _fields_of(self, k: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the displayed fields of a layer, and the biases."""
        assert self._workspace.fitting.stack is not None
        preview, weights = self._previewed(k), self._workspace.fitting.stack.layers[k - 1].weights
        if preview is not None:
            weights = np.array([preview.rows[i] for i in range(len(weights))])
        fields = weights[:, :-1].astype(np.float32)
        rms = self._source.rms(k) if self._source.shows_contributions() else None
        if rms is not None:
            fields *= rms.astype(np.float32)
        return fields, weights[:, -1]

    def _layer(self, k: int, fields: NDArray[np.float32], biases: NDArray[np.float64]) -> WallLayer:
        whole, preview = self._source.layer_scale(k), self._previewed(k)
        scale = replace(whole, low=_STRENGTH * whole.low, high=_STRENGTH * whole.high)
        parameters = self._workspace.state.parameters
        stale = not self._workspace.fitting.is_fresh(k) if preview is None else preview.parameters != parameters
        title = f"layer {k}" if stale else f"layer {k} · ±{significant(scale.high, 2)}"
        return WallLayer(title, fields, biases, scale, stale)

    @Slot(object)
    def _hover(self, _target: tuple[int, int] | None) -> None:
        self._say()

    def _say(self) -> None:
        workspace, pixel = self._workspace, self.view.pixel
        dataset = workspace.dataset
        if dataset is None:
            return
        n = count(dataset.n_features)
        fields = (
            f"each contribution of {n} fields per layer"
            if self._source.shows_contributions()
            else f"each weight of {n} fields per layer"
        )
        pointed = "point at a field" if pixel is None else f"{workspace.feature_name(pixel)} in every layer"
        self._said.setText(f"{dataset.name} · {fields} · {pointed}")
