"""The Weights page: which pixels each layer reconstructs the chosen pixel from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from slide_gui.core.stack import Layer
from slide_gui.data.dataset import Dataset
from slide_gui.figures.color_scale import signed
from slide_gui.figures.style import Style
from slide_gui.gui.pages.header import header
from slide_gui.gui.panel import thousands
from slide_gui.gui.theme import theme_of
from slide_gui.gui.tiles import TileSource, place
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.feature_bars import FeatureBars
from slide_gui.gui.widgets.image_view import MARGIN, ImageView
from slide_gui.gui.widgets.mosaic import Mosaic
from slide_gui.gui.widgets.readout import Readout
from slide_gui.gui.widgets.weight_tiles import TileRow, WeightTiles
from slide_gui.gui.workspace import State, Workspace

__all__ = ["WeightsPage"]

PINNED, ALL_ROWS = 0, 1
_IMAGE_SIDE = 252  # nine screen pixels for each of 28
_LEFT = _IMAGE_SIDE + 2 * MARGIN
_READOUT_ROWS = ("weight", "rank", "bias", "share")


class WeightsPage(QWidget):
    """Left: an image to point at. Right: pinned pixels × layers, or all rows of one layer."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._source = TileSource(workspace)
        self._hovered: int | None = None  # the feature whose rows lead the tiles
        self._crosshair: int | None = None  # the feature under the cursor inside a tile
        self._mosaic_shows: tuple[Any, ...] = ()
        self._layer = 1
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 12, 12, 8)
        layout.setSpacing(8)
        layout.addLayout(self._build_header())
        body = QHBoxLayout()
        body.setSpacing(16)
        body.addWidget(self._build_left())
        body.addWidget(self._build_right(), 1)
        body.addWidget(self._build_bar())
        layout.addLayout(body, 1)
        workspace.dataset_changed.connect(self._show_dataset)
        workspace.state_changed.connect(self._show_state)
        workspace.stack_changed.connect(self.refresh)

    # Building --------------------------------------------------------------------------------------------------

    def _build_header(self) -> QHBoxLayout:
        row, self._subtitle, self._tabs = header(
            self,
            "Weights",
            "which pixels each layer reconstructs the chosen pixel from",
            (
                ("Pinned", "Rows of W for the pinned pixels, one image a layer: the paper’s weight figure"),
                ("All rows", "Every row of one layer’s W, each at the place of its pixel"),
            ),
        )
        self._tabs.idClicked.connect(self.set_view)
        return row

    def _build_left(self) -> QWidget:
        self._image, self._bars = ImageView(self), FeatureBars(self)
        self._pointer = QStackedWidget(self)
        self._pointer.setFixedSize(_LEFT, _LEFT)
        for view in (self._image, self._bars):
            view.pixel_hovered.connect(self._point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        self._caption = QLabel(self)
        self._caption.setProperty("role", "secondary")
        self._mean = QPushButton("mean", self)
        self._mean.setCheckable(True)
        self._mean.setToolTip("Show the mean of the training images (Ctrl+M)")
        self._mean.clicked.connect(self.toggle_mean)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self._caption, 1)
        for text, tip, slot in (
            ("◀", "Previous image (Ctrl+Left)", self.previous_sample),
            ("▶", "Next image (Ctrl+Right)", self.next_sample),
        ):
            button = QPushButton(text, self)
            button.setProperty("kind", "flat")
            button.setFixedWidth(28)
            button.setToolTip(tip)
            button.setAccessibleName(tip.split(" (")[0])
            button.clicked.connect(slot)
            row.addWidget(button)
        self._mean.setProperty("kind", "flat")
        row.addWidget(self._mean)
        self._readout = Readout(self)
        holder = QWidget(self)
        holder.setFixedWidth(_LEFT)
        left = QVBoxLayout(holder)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self._pointer)
        left.addLayout(row)
        left.addWidget(self._readout)
        left.addStretch(1)
        return holder

    def _build_right(self) -> QStackedWidget:
        self._tiles = WeightTiles(self)
        self._tiles.pixel_hovered.connect(self._cross)
        self._tiles.pixel_clicked.connect(self._pin_from_tile)
        self._tiles.row_removed.connect(self._release_row)
        scroll = _TileScroll(self)
        scroll.resized.connect(self._tiles.set_room)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._tiles)
        self._mosaic = Mosaic(self)
        self._mosaic.pixel_hovered.connect(self._mosaic_hovered)
        self._mosaic.pixel_clicked.connect(self._mosaic_clicked)
        self._layer_buttons = QButtonGroup(self)
        self._layer_row = QHBoxLayout()
        self._layer_row.setSpacing(4)
        self._layer_buttons.idClicked.connect(self._choose_layer)
        caption = QLabel("layer", self)
        caption.setProperty("role", "secondary")
        self._layer_row.addWidget(caption)
        self._mosaic.setToolTip("Wheel zooms, drag moves, double-click fits, a click pins the pixel")
        holder = QWidget(self)
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(8)
        grid.addLayout(self._layer_row, 0, 0, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._mosaic, 1, 0)
        grid.setRowStretch(1, 1)
        self._views = QStackedWidget(self)
        self._views.addWidget(scroll)
        self._views.addWidget(holder)
        return self._views

    def _build_bar(self) -> ColorBar:
        self._bar = ColorBar(self)
        return self._bar

    # From the window -------------------------------------------------------------------------------------------

    @Slot(int)
    def set_view(self, view: int) -> None:
        """Show the pinned rows (0) or all rows of a layer (1)."""
        self._tabs.button(view).setChecked(True)
        self._views.setCurrentIndex(view)
        self.refresh()

    @Slot()
    def next_sample(self) -> None:
        """Show the next training image."""
        self._step_sample(1)

    @Slot()
    def previous_sample(self) -> None:
        """Show the training image before."""
        self._step_sample(-1)

    @Slot()
    def toggle_mean(self) -> None:
        """Show the mean image, or the sample again."""
        sample = self._workspace.state.selection.sample
        self._workspace.select(sample=~sample)  # ~k keeps the sample while the mean is shown

    def show_test_image(self, row: int) -> None:
        """Show an image of the test part until another sample is chosen."""
        dataset = self._workspace.dataset
        if dataset is None or not 0 <= row < len(dataset.test):
            return
        self._caption.setText(f"test image {thousands(row + 1)}")
        self._mean.setChecked(False)
        if dataset.image_shape:
            self._image.set_image(dataset.test[row].reshape(dataset.image_shape))
        else:
            self._bars.set_values(dataset.test[row])

    def _step_sample(self, step: int) -> None:
        dataset = self._workspace.dataset
        if dataset is not None:
            sample = self._workspace.state.selection.sample
            shown = ~sample if sample < 0 else sample
            self._workspace.select(gesture="sample", sample=(shown + step) % len(dataset.train))

    def pointer_and_tiles(self) -> tuple[ImageView | FeatureBars, WeightTiles]:
        """Return the image that is pointed at and the tiles beside it."""
        dataset = self._workspace.dataset
        return (self._bars if dataset is not None and dataset.image_shape is None else self._image), self._tiles

    def mosaic(self) -> Mosaic:
        """Return the picture of all rows."""
        return self._mosaic

    def figure_pixels(self) -> tuple[int, ...]:
        """Return the features whose rows an export shows: the pins, or the one pointed at."""
        return self._workspace.state.selection.pins or self._shown_features()[:1]

    def figure_style(self) -> Style:
        """Return how an export looks, as the page is set now; on paper zero is white."""
        selection = self._workspace.state.selection
        colors = "blue-white-red" if selection.colors == "auto" else selection.colors
        return Style(width="double", colors=colors, levels=selection.levels, transposed=selection.transposed)

    def table(self) -> str:
        """Return the rows shown, tab-separated: pixel, layer, bias, weights."""
        lines = []
        for feature in self.figure_pixels():
            for k in range(1, self._workspace.state.parameters.depth + 1):
                row = self._source.row(feature, k)
                if row is not None:
                    cells = [place(feature, self._shape()), str(k), repr(float(row[-1])), *map(repr, row[:-1].tolist())]
                    lines.append("\t".join(cells))
        return "\n".join(lines)

    # From the workspace ----------------------------------------------------------------------------------------

    @Slot(object)
    def _show_dataset(self, dataset: Dataset) -> None:
        self._hovered = self._crosshair = None
        self._mean_values: NDArray[Any] | None = None
        self._mosaic_shows = ()
        self._pointer.setCurrentWidget(self._image if dataset.image_shape else self._bars)
        noun = "pixels" if dataset.image_shape else "features"
        self._subtitle.setText(f"which {noun} each layer reconstructs the chosen {noun[:-1]} from")
        self._show_sample()

    @Slot(object, object)
    def _show_state(self, state: State, old: State) -> None:
        selection = state.selection
        if selection.transposed != old.selection.transposed:
            for view in (self._image, self._tiles, self._mosaic):
                view.set_transposed(selection.transposed)
        if selection.sample != old.selection.sample:
            self._show_sample()
        if selection != old.selection or state.parameters.depth != old.parameters.depth:
            self.refresh()

    def _show_sample(self) -> None:
        dataset, sample = self._workspace.dataset, self._workspace.state.selection.sample
        if dataset is None:
            return
        self._mean.setChecked(sample < 0)
        if sample < 0:
            if self._mean_values is None:
                some = dataset.train[:: max(1, len(dataset.train) // 2000)]
                self._mean_values = some.mean(axis=0, dtype=np.float64).astype(np.float32)
            values = self._mean_values
            self._caption.setText(f"mean of {thousands(len(dataset.train))}")
        else:
            values = dataset.train[sample]
            self._caption.setText(_sample_caption(dataset, sample))
        if dataset.image_shape:
            self._image.set_image(values.reshape(dataset.image_shape))
        else:
            self._bars.set_values(values)

    @Slot()
    def refresh(self) -> None:
        """Show what the workspace holds now."""
        dataset, state = self._workspace.dataset, self._workspace.state
        if dataset is None:
            return
        theme = theme_of(self)
        pins = state.selection.pins
        self._source.set_map(theme.diverging if state.selection.colors == "auto" else state.selection.colors)
        pin_colors = [(pin, theme.pin(number)) for number, pin in enumerate(pins)]
        self._image.set_pins(pin_colors)
        self._bars.set_pins(pin_colors)
        if self._views.currentIndex() == PINNED:
            self._refresh_tiles()
        else:
            self._refresh_mosaic()
        self._refresh_readout()
        self._workspace.watch(self._shown_features())

    def changeEvent(self, event: Any) -> None:
        """Follow a change of the theme."""
        super().changeEvent(event)
        if event.type() == event.Type.PaletteChange and hasattr(self, "_readout"):
            self.refresh()

    def _shown_features(self) -> tuple[int, ...]:
        pins = self._workspace.state.selection.pins
        first = self._hovered if self._hovered is not None else self._source.center()
        return (first, *pins)

    def _refresh_tiles(self) -> None:
        theme, depth = theme_of(self), self._workspace.state.parameters.depth
        features = self._shown_features()
        self._source.begin(features)
        rows = []
        for number, feature in enumerate(features):
            tiles = tuple(self._source.tile(feature, k) for k in range(1, depth + 1))
            stale = tuple(self._source.is_stale(feature, k) for k in range(1, depth + 1))
            first = number == 0
            subtitle = ("hovered" if self._hovered is not None else "in the middle") if first else "pinned"
            color = QColor(theme.accent) if first else theme.pin(number - 1)
            rows.append(TileRow(place(feature, self._shape()), subtitle, color, not first, tiles, stale))
        self._tiles.set_content(tuple(self._source.title(k) for k in range(1, depth + 1)), tuple(rows))
        self._bar.set_scale(*self._source.bar())

    def _refresh_mosaic(self) -> None:
        stack, depth = self._workspace.stack, self._workspace.state.parameters.depth
        self._layer = max(1, min(self._layer, depth))
        self._refresh_layer_buttons(depth)
        if stack is None or len(stack.layers) < self._layer:
            return
        layer = stack.layers[self._layer - 1]
        scale, stale = self._source.layer_scale(self._layer), not self._workspace.layer_is_fresh(self._layer)
        shows = (layer, scale, stale)
        if shows != self._mosaic_shows:
            shape = self._shape() or (1, stack.n_features)
            grid = None if self._shape() else (stack.n_features, 1)  # no picture: the matrix W itself
            self._mosaic.set_fields(_fields(layer, shape), scale, grid, stale)
            self._mosaic_shows = shows
        self._mosaic.set_selected(self._hovered)
        self._bar.set_scale(scale)

    def _refresh_layer_buttons(self, depth: int) -> None:
        while len(self._layer_buttons.buttons()) > depth:
            button = self._layer_buttons.buttons()[-1]
            self._layer_buttons.removeButton(button)
            self._layer_row.removeWidget(button)
            button.deleteLater()
        for k in range(len(self._layer_buttons.buttons()) + 1, depth + 1):
            button = QPushButton(str(k), self)
            button.setProperty("kind", "segment")
            button.setCheckable(True)
            button.setAccessibleName(f"layer {k}")
            self._layer_buttons.addButton(button, k)
            self._layer_row.addWidget(button)
        if depth:
            self._layer_buttons.button(self._layer).setChecked(True)

    def _refresh_readout(self) -> None:
        depth = self._workspace.state.parameters.depth
        target = self._shown_features()[0]
        source = target if self._crosshair is None else self._crosshair
        columns, cells = [], []
        for k in range(1, depth + 1):
            columns.append("h" + "⁰¹²³⁴⁵⁶⁷⁸"[k])
            row = self._source.row(target, k)
            cells.append(("–",) * 4 if row is None else _numbers(row, source))
        title = "from itself" if source == target else f"from {place(source, self._shape())}"
        rows = [(name, tuple(cell[i] for cell in cells)) for i, name in enumerate(_READOUT_ROWS)]
        self._readout.set_values(title, tuple(columns), tuple(rows))

    # From the widgets ------------------------------------------------------------------------------------------

    @Slot(object)
    def _point_at(self, feature: int | None) -> None:
        if feature is None or feature == self._hovered:
            return
        self._hovered = feature
        self._crosshair = None
        self._workspace.watch(self._shown_features())
        self._tiles.set_crosshair(None)
        if self._views.currentIndex() == PINNED:
            self._refresh_tiles()
        else:
            self._mosaic.set_selected(feature)
        self._refresh_readout()

    @Slot(object)
    def _cross(self, where: tuple[int, int, int] | None) -> None:
        self._crosshair = None if where is None else where[2]
        self._tiles.set_crosshair(self._crosshair)
        for view in (self._image, self._bars):
            view.set_cursor(self._crosshair)
        if where is not None:
            features = self._shown_features()
            if where[0] < len(features):
                self._hovered = features[where[0]] if where[0] else self._hovered
        self._refresh_readout()

    @Slot(object)
    def _pin_from_tile(self, where: tuple[int, int, int]) -> None:
        self._workspace.toggle_pin(where[2])

    @Slot(int)
    def _release_row(self, row: int) -> None:
        pins = self._workspace.state.selection.pins
        if 1 <= row <= len(pins):
            self._workspace.toggle_pin(pins[row - 1])

    @Slot(object)
    def _mosaic_hovered(self, where: tuple[int, int] | None) -> None:
        if where is not None:
            self._hovered, self._crosshair = where
            self._image.set_cursor(self._crosshair)
            self._refresh_readout()

    @Slot(object)
    def _mosaic_clicked(self, where: tuple[int, int]) -> None:
        self._workspace.toggle_pin(where[0])

    @Slot(int)
    def _choose_layer(self, layer: int) -> None:
        self._layer = layer
        self.refresh()

    def _shape(self) -> tuple[int, int] | None:
        dataset = self._workspace.dataset
        return None if dataset is None else dataset.image_shape


class _TileScroll(QScrollArea):
    """Tells how high its view is."""

    resized = Signal(int)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit(self.viewport().height())


def _fields(layer: Layer, shape: tuple[int, int]) -> NDArray[np.float32]:
    d = len(layer.weights)
    return layer.weights[:, :d].astype(np.float32).reshape(d, *shape)


def _sample_caption(dataset: Dataset, sample: int) -> str:
    text = f"{thousands(sample + 1)} of {thousands(len(dataset.train))}"
    if dataset.train_labels is None:
        return text
    label = int(dataset.train_labels[sample])
    name = dataset.label_names[label] if 0 <= label < len(dataset.label_names) else str(label)
    return f"{text} · label {label}" if name == str(label) else f"{text} · {name}"


def _numbers(row: NDArray[Any], source: int) -> tuple[str, str, str, str]:
    """Return the weight, its rank by size, the bias, and its share of the absolute weights, as text."""
    weights, bias = row[:-1], row[-1]
    size = np.abs(weights)
    rank = int(np.count_nonzero(size > size[source])) + 1
    total = float(size.sum())
    share = 100 * float(size[source]) / total if total > 0 else np.nan
    shown = "–" if np.isnan(share) else f"{share:.1f} %" if share < 99.95 else "100 %"
    return signed(float(weights[source]), 3), str(rank), signed(float(bias), 3), shown
