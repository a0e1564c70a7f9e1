"""The view Why it works: three experiments, of which one is visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.pages.weights.view import View, ViewContext, ViewSpec
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, add_button, label, name_box
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Tile, TileRow
from slide_gui.gui.widgets.weight_tiles import TileScroll

_STRENGTH = 0.4  # colour limits relative to the largest weight nearby, so that small weights are visible


def _explained(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.explained import ExplainedWeight

    return ExplainedWeight(context, parent)


def _copies(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.copies import CopiesPart

    return CopiesPart(context, parent)


def _shuffle(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.shuffle import ShuffleView

    return ShuffleView(context, parent)


EXPLAIN, COPIES, SHUFFLE = "explain", "copies", "shuffle"
EXPERIMENTS = (
    ViewSpec(
        "Formula",
        "Point at a pixel a of the image, then at a pixel b of the other pictures: the table computes the weight of b, "
        "one number of W = E[P] E[Q]⁻¹.",
        name=EXPLAIN,
        title="Formula of one weight",
        make=_explained,
        about="one weight, computed from the data",
        covers_image=True,
    ),
    ViewSpec(
        "Copies",
        "Press Start: Wₘ, fitted to m corrupted copies, approaches the W of the formula as 1/√m, so no copy is needed.",
        name=COPIES,
        title="Corrupted copies",
        make=_copies,
        about="m corrupted copies and their limit",
        covers_image=True,
    ),
    ViewSpec(
        "Shuffle",
        "Press Shuffle pixels: W of shuffled pixels, put back in their places, is the same W, because the formula "
        "ignores the positions of pixels.",
        name=SHUFFLE,
        title="Shuffled pixels",
        make=_shuffle,
        about="W does not depend on the positions of pixels",
        covers_image=True,
    ),
)
"""The experiments in the order of their tabs; the tip is the sentence above the experiment."""


class Experiment(View):
    """An experiment with one layer: a row of controls, and tiles below it, one of them the image.

    Attributes
    ----------
    layers : QComboBox
        Selects the layer.
    status : ElidedLabel
        The state of the experiment.
    tiles : WeightTiles
        The image, where hovering selects a pixel, and rows of W.
    column : QVBoxLayout
        Holds the controls and the tiles.
    """

    shows_rows = False

    def __init__(self, context: ViewContext, parent: QWidget | None, tiles: str) -> None:
        super().__init__(context, parent)
        self.status, self.tiles = ElidedLabel("", self), self._add_tiles(tiles)
        self.column = flush(QVBoxLayout(self))
        self.controls = nested(self.column, QHBoxLayout(), spacing=12)
        self.layers = QComboBox(self)
        name_box(self.layers, "Layer")
        self.layers.activated.connect(self.refresh)
        self.controls.addWidget(self.layers)
        self.controls.addWidget(self.status, 1)
        self.column.addWidget(TileScroll(self.tiles, self), 1)
        for changed in (self._pixels.moved, self._shown.changed):
            changed.connect(self._refresh_if_seen)

    @property
    def layer(self) -> int:
        """The selected layer, 1, 2, …"""
        return max(self.layers.currentIndex(), 0) + 1

    def set_layer(self, layer: int) -> None:
        """Offer the layers of the current depth, and select one of them."""
        depth = self._workspace.state.parameters.depth
        if self.layers.count() != depth:
            self.layers.clear()
            self.layers.addItems([f"Layer {k}" for k in range(1, depth + 1)])
        self.layers.setCurrentIndex(min(layer, depth) - 1)
        self.layers.setEnabled(depth > 0)

    @property
    def _shape(self) -> tuple[int, int] | None:
        dataset = self._workspace.dataset
        return None if dataset is None else dataset.image_shape

    @property
    def _noun(self) -> str:
        return "feature" if self._shape is None else "pixel"

    def _add_action(self, text: str, tip: str, act: Callable[[], None]) -> QPushButton:
        button = add_button(self, self.controls, text, tip, "primary")
        button.clicked.connect(act)
        return button

    def _scale(self, row: NDArray[np.float64], a: int) -> ColorScale:
        """Return the colours of the row of a, without its bias."""
        return ColorScale.symmetric(self._source.color_map, _STRENGTH * nearby_peak(row, a, self._shape))

    def _image(self, a: int) -> Tile | None:
        values = self._shown.values
        return None if values is None else Tile.of(values, self._shape, INK, "", a)

    def _tile_row(self, title: str, subtitle: str, tiles: Sequence[Tile | None]) -> TileRow:
        return TileRow(title, subtitle, QColor(theme_of(self).accent), False, tuple(tiles))

    def _set_tiles(self, heads: Sequence[str], tiles: Sequence[Tile | None]) -> None:
        """Show the image followed by tiles of the selected pixel."""
        a = self._pixels.target
        row = self._tile_row(self._workspace.feature_name(a), "", (self._image(a), *tiles))
        self.tiles.set_content(("sample" if self._shape is None else "image", *heads), (row,))

    def _image_pixel(self, spot: tuple[int, int, int]) -> int | None:
        """Return the pixel at a spot of the image, or None in another tile."""
        return spot[2] if spot[1] == 0 else None

    @Slot(object)
    def _point_at(self, spot: tuple[int, int, int] | None) -> None:
        pixel = None if spot is None else self._image_pixel(spot)
        super()._point_at(spot if pixel is None else None)
        self._pixels.point_at(pixel)


class WhyView(View):
    """Three experiments with tabs that select one; an experiment is built when it is first shown.

    Attributes
    ----------
    experiment : ViewSpec
        The visible experiment.
    tabs : QTabBar
        Its tabs.

    Signals
    -------
    experiment_chosen(str)
        The user selected the experiment of this name.
    """

    experiment_chosen = Signal(str)
    shows_rows = False

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._context = context
        self._parts: dict[str, View] = {}
        self._stack = QStackedWidget(self)
        self.tabs = QTabBar(self)
        self.tabs.setAccessibleName("Experiments")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        for number, spec in enumerate(EXPERIMENTS, 1):
            self.tabs.setTabToolTip(self.tabs.addTab(f"{number}  {spec.text}"), spec.tip)
        self._sentence = label("", self, "body", wraps=True)
        column = flush(QVBoxLayout(self))
        column.addWidget(self.tabs)
        column.addWidget(self._sentence)
        column.addWidget(self._stack, 1)
        self.show_experiment(EXPLAIN)
        self.tabs.currentChanged.connect(self._choose)

    def show_experiment(self, name: str) -> View:
        """Show the experiment of a name, with the layer of the one before, and return it."""
        before = self._stack.currentWidget()
        number = [spec.name for spec in EXPERIMENTS].index(name)
        self.experiment = EXPERIMENTS[number]
        if name not in self._parts:
            part = self._parts[name] = self.experiment.make(self._context, self)
            part.numbers_changed.connect(self.numbers_changed)
            self._stack.addWidget(part)
        part = self._part
        if isinstance(before, Experiment) and isinstance(part, Experiment):
            part.set_layer(before.layer)
        self.tabs.setCurrentIndex(number)
        self._sentence.setText(self.experiment.tip)
        self._stack.setCurrentWidget(part)
        return part

    @property
    def _part(self) -> View:
        return self._parts[self.experiment.name]

    @Slot(int)
    def _choose(self, number: int) -> None:
        if EXPERIMENTS[number] is not self.experiment:
            self.experiment_chosen.emit(EXPERIMENTS[number].name)

    @Slot()
    def refresh(self) -> None:
        self._part.refresh()

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        return self._part.export_options(style)

    def tables(self) -> tuple[NumberTable, ...]:
        return self._part.tables()
