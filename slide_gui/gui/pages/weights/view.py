"""What a view of the Weights page is, and what all share: the pixel looked at, tiles, the choice of a layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.figures.style import Style
from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.layouts import flush
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.tile_source import TileSource
from slide_gui.gui.pages.weights.shown_image import ShownImage
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.controls import ChoiceButtons, PlainLabel, label
from slide_gui.gui.widgets.weight_tiles import WeightTiles

if TYPE_CHECKING:
    from slide_gui.gui.state.runs import RunController

__all__ = ["NO_LAYER", "LayerChoice", "PixelSelection", "View", "ViewContext", "ViewSpec"]

NO_LAYER = "There is no layer: the depth is 0"


@dataclass(frozen=True, eq=False)
class ViewContext:
    """What every view reads: the state of the window, the image and the pixel looked at, the rows of W as tiles.

    The runs are asked for, since what makes them is heavy and most views need none.
    """

    workspace: Workspace
    shown: ShownImage
    pixels: PixelSelection
    tiles: TileSource
    runs: Callable[[], RunController]


class View(QWidget):
    """A view of the page, made when it is first shown.

    Attributes
    ----------
    shows_rows : bool
        Whether rows of W are what it shows, which are tables of the page.

    Signals
    -------
    numbers_changed()
        What `tables` returns changed, or may have.
    """

    numbers_changed = Signal()
    shows_rows = True

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._shown = context.workspace, context.shown
        self._pixels, self._source = context.pixels, context.tiles

    @Slot()
    def refresh(self) -> None:
        """Show what the workspace holds now; called on every change of it while this is shown."""
        raise NotImplementedError

    def width_for(self, width: int, height: int) -> int:
        """Return how much of a width it uses when it is so high; the image beside it takes what is left."""
        return max(width - 56, min(width, 600))  # enough for an image of the usual size, where there is room

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        """Return what can be exported of this view now; `style` is as the page is set."""
        return ()

    def tables(self) -> tuple[NumberTable, ...]:
        """Return the numbers shown beside rows of W of the pixels looked at; none if there are none."""
        return ()

    def _in_place_of_layers(self) -> PlainLabel:
        """Make what stands where layers would, and is shown while the depth is 0."""
        return label(NO_LAYER, self)

    def _add_tiles(self, name: str) -> WeightTiles:
        """Make tiles: what is hovered in them is the weight looked at, what is clicked with Ctrl is pinned."""
        tiles = WeightTiles(self)
        tiles.setAccessibleName(f"{name}: tiles")
        tiles.pixel_hovered.connect(self._look_at)
        tiles.pixel_clicked.connect(self._pin)
        tiles.hint = "Ctrl+click: pin the pixel"
        return tiles

    def _feature_of(self, row: int) -> int | None:
        """Return whose row of W stands in a row of tiles."""
        return self._pixels.features()[0]

    @Slot(object)
    def _look_at(self, spot: tuple[int, int, int] | None) -> None:
        feature = None if spot is None else self._feature_of(spot[0])
        self._pixels.cross(feature, None if spot is None or feature is None else spot[2])

    @Slot(object)
    def _pin(self, spot: tuple[int, ...]) -> None:
        self._workspace.toggle_pin(spot[-1])

    @Slot()
    def _refresh_if_seen(self) -> None:
        if self.isVisible():
            self.refresh()


@dataclass(frozen=True)
class ViewSpec:
    """An entry of the switch.

    Attributes
    ----------
    name : str
        As in `WeightsPage.set_view`.
    text, tip : str
        Of its button.
    title : str
        In menu and palette.
    make : callable
        Makes it; imports its module, so that the window need not.
    about : str
        What the view shows, beside the page's title; empty for what the page says itself.
    needs : frozenset of str
        Which choices of the panel about tiles have an effect on it, as in `Page.needs`.
    whole : bool
        Takes the place of the image at the left, too.
    """

    name: str
    text: str
    tip: str
    title: str
    make: Callable[[ViewContext, QWidget], View]
    about: str = ""
    needs: frozenset[str] = frozenset({"colors"})
    whole: bool = False


class PixelSelection(QObject):
    """The pixel whose rows lead the views, and the weight under the cursor.

    Signals
    -------
    moved()
        `feature` is another one.
    crossed()
        `target` or `source` changed.
    """

    moved = Signal()
    crossed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.feature: int | None = None
        self._target: int | None = None
        self.source: int | None = None
        self.watches_all = False
        """Whether the rows of all pixels are wanted while the noise moves, not of those looked at only."""
        workspace.dataset_changed.connect(self._forget)

    @property
    def target(self) -> int:
        """The pixel whose rows the numbers are of."""
        return self.features()[0] if self._target is None else self._target

    def features(self) -> tuple[int, ...]:
        """Return the pixel pointed at, or the one in the middle, and the pins."""
        first = _center(self._workspace.dataset) if self.feature is None else self.feature
        return (first, *self._workspace.state.selection.pins)

    def watch(self) -> None:
        """Say to the workspace whose rows are wanted while the noise moves."""
        dataset = self._workspace.dataset
        if self.watches_all and dataset is not None:
            self._workspace.watch(tuple(range(dataset.n_features)))
        else:
            self._workspace.watch(self.features())

    @Slot(object)
    def point_at(self, feature: int | None) -> None:
        """Let the rows of a pixel lead; None, where the mouse left, or a pixel of data before changes nothing."""
        if feature is None or feature == self.feature or not self._workspace.has_feature(feature):
            return
        self.feature = feature
        self._target = self.source = None
        self.watch()
        self.moved.emit()

    def cross(self, target: int | None, source: int | None) -> None:
        """Look at the weight with which `target` is made from `source`, or at none."""
        if not all(each is None or self._workspace.has_feature(each) for each in (target, source)):
            return
        if (target, source) != (self._target, self.source):
            self._target, self.source = target, source
            self.crossed.emit()

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self.feature = self._target = self.source = None


class LayerChoice(QWidget):
    """Which layer a view shows."""

    chosen = Signal(int)
    """The layer that was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layer = 1
        self._buttons = ChoiceButtons(self)
        self._buttons.idClicked.connect(self._choose)
        self._row = flush(QHBoxLayout(self), 4)
        self._row.addWidget(label("layer", self))

    def set_depth(self, depth: int) -> None:
        """Offer layers 1 to `depth`; one that is no longer there gives way to the last."""
        self.layer = max(1, min(self.layer, depth))
        for k in range(len(self._buttons.buttons()) + 1, depth + 1):
            button = self._buttons.add(k, str(k), self)
            button.setAccessibleName(f"layer {k}")
            self._row.addWidget(button)
        for k, each in enumerate(self._buttons.buttons(), start=1):
            each.setVisible(k <= depth)
        if depth:
            self._buttons.choose(self.layer)

    @Slot(int)
    def _choose(self, layer: int) -> None:
        self.layer = layer
        self.chosen.emit(layer)


def _center(dataset: Dataset | None) -> int:
    if dataset is None:
        return 0
    if dataset.image_shape is None:
        return dataset.n_features // 2
    rows, columns = dataset.image_shape
    return (rows // 2) * columns + columns // 2
