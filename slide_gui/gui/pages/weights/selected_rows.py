"""The selected pixels on the Weights page, and the tiles that show the rows of W for these pixels."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.slide.approximation import ApproximateLayer
from slide_gui.core.slide.stack import Layer
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.rows import drowns, input_rms, nearby_peak, typical_peak
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.tiles import Mosaic, Tile, row_tile, short_size

# The labels of the colour bar if tiles have different colour limits, so that no number applies to all tiles.
SHARES_OF_LIMIT: tuple[str, ...] = ("−limit", "0", "+limit")

# The colour limit of an image tile, as a fraction of its largest weight. It is below 1, because small weights would
# otherwise be hardly visible.
STRENGTH = 0.4


class PixelSelection(QObject):
    """The selected pixel `feature`, and the weight under the cursor.

    The weight is the factor of the pixel `source` in the reconstruction of the pixel `target`.

    Signals
    -------
    moved()
        The selected pixel `feature` has changed.
    crossed()
        The weight under the cursor, which `target` and `source` identify, has changed.
    """

    moved = Signal()
    crossed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.feature: int | None = None
        self._middle = 0
        self._target: int | None = None
        self.source: int | None = None
        workspace.dataset_changed.connect(self._forget)

    @property
    def target(self) -> int:
        """Return the pixel that the weight under the cursor helps to reconstruct, or else the selected pixel."""
        return self.features()[0] if self._target is None else self._target

    def features(self) -> tuple[int, ...]:
        """Return the selected pixel, or the central pixel if none is selected, followed by the pinned pixels."""
        first = self._middle if self.feature is None else self.feature
        return (first, *self._workspace.state.selection.pins)

    def exported(self) -> tuple[int, ...]:
        """Return the pixels whose rows of W are exported: the pinned pixels or, without pins, the selected pixel."""
        return self._workspace.state.selection.pins or self.features()[:1]

    def watch(self) -> None:
        """Request that rows of W for the pixels in `features` be previewed while the user moves the noise slider."""
        self._workspace.fitting.watched = self.features()

    @Slot(object)
    def point_at(self, feature: int | None) -> None:
        """Select a pixel. Ignore None (the mouse has left a view) and pixels that do not exist in the open data."""
        if feature is not None and self._workspace.has_feature(feature):
            self.select(feature)

    def select(self, feature: int | None) -> None:
        """Select a pixel of the open data, or no pixel if the argument is None."""
        if feature != self.feature:
            self.feature = feature
            self._target = self.source = None
            self.watch()
            self.moved.emit()

    def cross(self, target: int | None, source: int | None) -> None:
        """Select the weight with which `source` reconstructs `target`, or no weight if the arguments are None."""
        if not all(each is None or self._workspace.has_feature(each) for each in (target, source)):
            return
        if (target, source) != (self._target, self.source):
            self._target, self.source = target, source
            self.crossed.emit()

    @Slot(object)
    def _forget(self, dataset: Dataset) -> None:
        self.feature = self._target = self.source = None
        self._middle = dataset.central_feature
        self.watch()


@dataclass(frozen=True, eq=False)
class WeightTable:
    """A table of tiles that show rows of W, with one row per feature and one column per layer.

    Attributes
    ----------
    titles : tuple of str
        Headings of the columns.
    tiles : tuple of tuple of Tile or None
        One tuple per feature. A tile is None if its layer is not fitted yet, and grey if the layer is outdated.
    bar : tuple of (ColorScale, str, tuple of str)
        Colour scale and caption of the colour bar, and labels that replace its numbers. The labels are empty if all
        tiles have the same colour limit.
    """

    titles: tuple[str, ...]
    tiles: tuple[tuple[Tile | None, ...], ...]
    bar: tuple[ColorScale, str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class ShownRow:
    """A row of W: the weights that reconstruct one feature.

    Attributes
    ----------
    weights : ndarray of shape (d + 1,)
        The row, with its bias last.
    rms : ndarray of shape (d,), or None
        Root mean square of each feature of the layer's input; None if it is unknown.
    shown : ndarray of shape (d + 1,)
        The values shown in tiles: the weights or the contributions (weights × RMS of the input), with the bias last.
    stale : bool
        True if the row was computed with parameters other than the current ones.
    approximate : bool
        True if the row is an approximation that will be replaced when the layer is fitted.
    """

    weights: NDArray[np.float64]
    rms: NDArray[np.float64] | None
    shown: NDArray[np.float64]
    stale: bool
    approximate: bool = False


_Shown = Layer | ApproximateLayer


class TileSource:
    """The source of the tiles that show rows of W on the Weights page.

    Attributes
    ----------
    color_map : str
        Colour map of the weights, chosen by the user or by the theme.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.color_map = "blue-white-red"
        self._known: dict[tuple[_Shown, bool], tuple[float, NDArray[np.float32]]] = {}
        self._judged: tuple[Dataset | None, tuple[Layer, ...]] = (None, ())
        self._drowned = False
        self._latest: tuple[Dataset | None, tuple[_Shown, ...]] = (None, ())
        self._tiles_of: tuple[Hashable, dict[int, tuple[Tile | None, ...]]] = (None, {})

    def _layers(self) -> tuple[_Shown, ...]:
        """Return the latest weights of each layer for the open data. They may be approximate or outdated."""
        dataset, fitting = self._workspace.dataset, self._workspace.fitting
        before, layers = self._latest
        if fitting.stack is None or dataset is not before:
            layers = ()
        fitted = () if fitting.stack is None else fitting.stack.layers
        approximate = () if fitting.preview is None else fitting.preview.layers
        older, newer = (approximate, fitted) if fitting.n_fresh else (fitted, approximate)
        for newest in (older, newer):
            layers = (*newest, *layers[len(newest) :])
        self._latest = dataset, layers
        return layers[: self._workspace.state.parameters.depth]

    def _is_stale(self, layer: int) -> bool:
        """True if a layer, numbered from 1, is shown with weights that do not match the current parameters."""
        shown, fitting = self._layers()[layer - 1], self._workspace.fitting
        if isinstance(shown, ApproximateLayer):
            return not fitting.is_current(shown.parameters)
        return not fitting.is_fresh(layer)

    def tiles(self, features: tuple[int, ...]) -> WeightTable:
        """Return tiles with the rows of W that reconstruct the given features, from fitted layers or from a preview."""
        state, fitting = self._workspace.state, self._workspace.fitting
        levels, layers = state.selection.levels, range(1, state.parameters.depth + 1)
        quantity, shape = "contribution" if self.shows_contributions() else "", self.shape
        limits, shared, labels = [self._limit(k) for k in layers], state.parameters.sharing != "none", SHARES_OF_LIMIT

        def tile(feature: int, k: int) -> Tile | None:
            row = self.row(feature, k)
            if row is None:
                return None
            limit = limits[k - 1]
            if levels == "tile":
                limit = self.strength * nearby_peak(row.shown[:-1], feature, shape)
            scale = ColorScale.symmetric(self.color_map, limit)
            approximate = f"≈ {quantity}".strip() if row.approximate else quantity
            shown = row_tile(row.shown, shape, scale, feature, approximate, row.stale)
            return replace(shown, part=self._window(feature)) if shared else shown

        # Reuse known tiles: while the mouse moves, only the tiles of the hovered feature change, not the pinned ones.
        key = (
            self._layers(), fitting.stack, fitting.preview, fitting.parameters, state.parameters,
            quantity, levels, tuple(limits), self.color_map,
        )  # fmt: skip
        known = self._tiles_of[1] if key == self._tiles_of[0] else {}
        tiles = {f: known[f] if f in known else tuple(tile(f, k) for k in layers) for f in features}
        self._tiles_of = key, tiles
        drawn = ((k, shown[k - 1]) for shown in tiles.values() for k in layers)
        approximated = {k for k, shown in drawn if shown is not None and shown.quantity.startswith("≈")}
        titles = tuple(f"{'≈ ' * (k in approximated)}layer {k}" for k in layers)
        note = quantity or f"per {levels}"
        if levels == "layer":
            stack = self._workspace.fitting.stack
            n_fitted = 0 if stack is None else len(stack.layers)
            sizes = [f" · ±{short_size(limit)}" for limit in limits[:n_fitted]]
            titles = tuple(map("".join, zip_longest(titles, sizes, fillvalue="")))
        elif levels == "global":
            note, labels = quantity, ()

        most = max(limits, default=1.0) if levels == "global" else 1.0
        return WeightTable(
            titles,
            tuple(tiles[feature] for feature in features),
            (ColorScale.symmetric(self.color_map, most), note, labels),
        )

    def _window(self, feature: int) -> tuple[int, int, int, int] | None:
        """Return the part of the image that a shared kernel around a pixel covers, as (top, left, rows, columns)."""
        if self.shape is None:
            return None
        (y, x), reach = divmod(feature, self.shape[1]), self._workspace.state.parameters.window // 2
        top, left = max(y - reach, 0), max(x - reach, 0)
        return top, left, min(y + reach + 1, self.shape[0]) - top, min(x + reach + 1, self.shape[1]) - left

    def mosaics(self, selected: int) -> tuple[Mosaic | None, ...]:
        """Return one picture per layer that shows all rows of W, or None for layers that are not fitted yet.

        A ring marks the row of the selected pixel.
        """
        layers, mosaics = self._layers(), list[Mosaic | None]()
        for k in range(1, self._workspace.state.parameters.depth + 1):
            if k > len(layers) or selected >= len(layers[k - 1].weights):
                mosaics.append(None)
                continue
            scale = ColorScale.symmetric(self.color_map, self._limit(k))
            key = layers[k - 1], self.shows_contributions()
            mosaics.append(Mosaic(self._peak_and_rows(k)[1], scale, "", selected, stale=self._is_stale(k), key=key))
        return tuple(mosaics)

    def _peak_and_rows(self, layer: int) -> tuple[float, NDArray[np.float32]]:
        """Return the typical peak of the rows of W in a layer, and all rows as images or as a matrix.

        The typical peak is the median, over all rows, of the largest absolute weight in a row. If tiles show
        contributions, both results contain contributions instead of weights.
        """
        layers, contributes = self._layers(), self.shows_contributions()
        key = layers[layer - 1], contributes
        if key not in self._known:
            self._known = {k: known for k, known in self._known.items() if k[0] in layers}
            rows: NDArray[np.float32] = key[0].weights[:, :-1].astype(np.float32)
            if contributes:
                rows *= input_rms(key[0]).astype(np.float32)
            peak = typical_peak(np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0)))
            self._known[key] = peak, rows.reshape(-1, *self.shape) if self.shape else rows
        return self._known[key]

    def _limit(self, layer: int) -> float:
        """Return the colour limit of a layer. With global colour limits, all layers have the same limit."""
        layers = self._layers()
        if self._workspace.state.selection.levels == "global":
            return self.strength * max((self._peak_and_rows(k)[0] for k in range(1, len(layers) + 1)), default=1.0)
        return self.strength * self._peak_and_rows(layer)[0] if layer <= len(layers) else 1.0

    def row(self, feature: int, layer: int) -> ShownRow | None:
        """Return the latest row of W that reconstructs a feature, exact or approximate, or None if there is none."""
        fitting, layers = self._workspace.fitting, self._layers()
        preview, approximate = None if fitting.is_fresh(layer) else fitting.preview, layer > 1
        rms = None if layer > len(layers) else input_rms(layers[layer - 1])
        if preview is not None and layer <= len(preview.rows.get(feature, ())):
            weights, stale = preview.rows[feature][layer - 1], preview.parameters != fitting.parameters
            rms = rms if preview.rms is None else preview.rms[layer - 1]
        elif layer <= len(layers) and feature < len(layers[layer - 1].weights):
            weights = layers[layer - 1].weights[feature].astype(np.float64)
            stale, approximate = self._is_stale(layer), isinstance(layers[layer - 1], ApproximateLayer)
        else:
            return None
        contributes = rms is not None and self.shows_contributions()
        shown = np.append(weights[:-1] * rms, weights[-1]) if contributes else weights
        return ShownRow(weights, rms, shown, stale, approximate)

    def fresh_rows(self, feature: int) -> list[tuple[int, ShownRow]]:
        """Return (layer, row of W) for each layer in which the feature's row is neither approximate nor outdated."""
        rows = [(k, self.row(feature, k)) for k in range(1, self._workspace.state.parameters.depth + 1)]
        return [(k, row) for k, row in rows if row is not None and not (row.stale or row.approximate)]

    def shows_contributions(self) -> bool:
        """True if the tiles show contributions instead of weights.

        Either the user chose contributions, or a few weights are so large that all others would be invisible.
        """
        stack, show = self._workspace.fitting.stack, self._workspace.state.selection.show
        layers = () if stack is None else stack.layers[: self._workspace.state.parameters.depth]
        if show == "weights" or not layers or any(layer.scatter is None for layer in layers):
            return False
        return show == "contribution" or self._are_drowned(layers)

    def _are_drowned(self, layers: tuple[Layer, ...]) -> bool:
        """True if a few large weights would hide all others. To avoid flicker, the result is constant during a fit."""
        dataset, depth = self._workspace.dataset, self._workspace.state.parameters.depth
        before, judged = self._judged
        if dataset is not before or (layers != judged and len(layers) == depth):
            self._judged, self._drowned = (dataset, layers), any(drowns(layer) for layer in layers)
        return self._drowned

    @property
    def strength(self) -> float:
        """Return the colour limit as a fraction of the largest weight. It is 1 for bars, so that no bar is cut off."""
        return 1.0 if self.shape is None else STRENGTH

    @property
    def shape(self) -> tuple[int, int] | None:
        """Return the number of rows and columns of an image, or None for features that are not pixels."""
        dataset = self._workspace.dataset
        return None if dataset is None else dataset.image_shape

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Return the shape of the values that a tile shows: (rows, columns) of an image, or (d,) for other features."""
        return self.shape or (len(self._workspace.feature_names),)
