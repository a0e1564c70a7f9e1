"""Cached tiles of rows of W with their colour limits and whether they match the parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Layer
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.rows import drowns, input_rms, nearby_peak, typical_peak
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.tiles import Tile


class TileSource:
    """Build the tiles of the Weights page; equal tiles are the same object.

    Attributes
    ----------
    color_map : str
        Colour map of the weights, chosen by the user or by the theme.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.color_map = "blue-white-red"
        self._limits: list[float] = []
        self._layer_limits: dict[tuple[Layer, bool], float] = {}
        self._cache: dict[tuple[object, int, ColorScale, str], Tile] = {}
        self._used: dict[tuple[object, int, ColorScale, str], Tile] = {}
        self._judged: tuple[Dataset | None, tuple[Layer, ...]] = (None, ())
        self._drowned = False

    def begin(self, features: tuple[int, ...]) -> None:
        """Start a new picture of these rows and drop cached tiles of other rows."""
        self._features = features
        self._cache, self._used = self._used, {}
        # Pinned rows set the colour limits, so that their colours stay when the pointer moves.
        setting = self._workspace.state.selection.pins or features[:1]
        depth = self._workspace.state.parameters.depth
        self._limits = [max((self._peak(f, k) for f in setting), default=1.0) for k in range(1, depth + 1)]

    def row(self, feature: int, layer: int) -> NDArray[np.float64] | None:
        """Return a row of W, from the preview if that is newer, or None if these data have none yet."""
        preview, stack = self._workspace.fitting.preview, self._workspace.fitting.stack
        if layer == 1 and preview is not None and feature in preview.rows:
            return preview.rows[feature]
        if stack is not None and layer <= len(stack.layers) and feature < stack.n_features:
            row: NDArray[np.float64] = stack.layers[layer - 1].weights[feature]
            return row
        return None

    def names(self) -> list[str]:
        """Return the names of all features."""
        dataset = self._workspace.dataset
        return [self._workspace.feature_name(i) for i in range(0 if dataset is None else dataset.n_features)]

    def by_layer(self, feature: int) -> NumberTable | None:
        """Return the row of W of a feature as tiles show it, one column per layer, or None if there is none."""
        depth = self._workspace.state.parameters.depth
        rows = [(k, self.shown(feature, k)) for k in range(1, depth + 1) if not self.is_stale(feature, k)]
        known = [(k, row) for k, row in rows if row is not None]
        if not known:
            return None
        pixel = self._workspace.feature_name(feature)
        title = f"Contributions to {pixel}, by layer" if self.shows_contributions() else f"Weights of {pixel}, by layer"
        heads = tuple(f"layer {k}" for k, _ in known)
        names = [(name,) for name in [*self.names(), "bias"]]
        return NumberTable(title, ("from",), names, heads, np.array([row for _, row in known]).T)

    def pictures(self, feature: int) -> list[NumberTable]:
        """Return the values of each tile arranged as its image; empty if the features are not pixels."""
        shape, tables = self._shape, []
        for k in range(1, self._workspace.state.parameters.depth + 1):
            row = self.shown(feature, k)
            if shape is not None and row is not None and not self.is_stale(feature, k):
                title = f"The same as an image, layer {k}"
                names = [(str(i),) for i in range(shape[0])]
                heads = tuple(f"column {j}" for j in range(shape[1]))
                tables.append(NumberTable(title, ("row",), names, heads, row[:-1].reshape(shape)))
        return tables

    def shows_contributions(self) -> bool:
        """True if tiles show contributions, by the user's choice or because of the weights."""
        stack, show = self._workspace.fitting.stack, self._workspace.state.selection.show
        layers = () if stack is None else stack.layers[: self._workspace.state.parameters.depth]
        if show == "weights" or not layers or any(layer.scatter is None for layer in layers):
            return False
        return show == "contribution" or self._are_drowned(layers)

    def _are_drowned(self, layers: tuple[Layer, ...]) -> bool:
        """True if few weights hide all others; unchanged while some layers are still being fitted."""
        dataset, depth = self._workspace.dataset, self._workspace.state.parameters.depth
        before, judged = self._judged
        if dataset is not before or (layers != judged and len(layers) == depth):
            self._judged, self._drowned = (dataset, layers), any(drowns(layer) for layer in layers)
        return self._drowned

    def rms(self, layer: int) -> NDArray[np.float64] | None:
        """Return the root mean square of each feature of a layer's input, or None if it is unknown."""
        stack = self._workspace.fitting.stack
        return None if stack is None or layer > len(stack.layers) else input_rms(stack.layers[layer - 1])

    def shown(self, feature: int, layer: int) -> NDArray[np.float64] | None:
        """Return a row of weights or contributions with its bias last, or None if there is none."""
        row, rms = self.row(feature, layer), self.rms(layer) if self.shows_contributions() else None
        return row if row is None or rms is None else np.append(row[:-1] * rms, row[-1])

    def is_stale(self, feature: int, layer: int) -> bool:
        """True if the row was fitted with other parameters than the current ones."""
        preview = self._workspace.fitting.preview
        if layer == 1 and preview is not None and feature in preview.rows:
            return preview.parameters != self._workspace.state.parameters
        return not self._workspace.fitting.is_fresh(layer)

    def tile(self, feature: int, layer: int) -> Tile | None:
        """Return the tile of one row, or None if there is none."""
        row = self.shown(feature, layer)
        if row is None:
            return None
        quantity = self.quantity()
        preview = self._workspace.fitting.preview
        previewed = layer == 1 and preview is not None and feature in preview.rows
        stack = self._workspace.fitting.stack
        origin: object = preview if previewed or stack is None else stack.layers[layer - 1]
        scale = self._scale_of(row, feature, layer)
        key = (origin, feature, scale, quantity)
        tile = self._used.get(key) or self._cache.get(key)
        if tile is None:
            tile = row_tile(row, self._shape, scale, feature, quantity)
        self._used[key] = tile
        return tile

    def title(self, layer: int) -> str:
        """Return the heading of a layer's column."""
        stack = self._workspace.fitting.stack
        pending = stack is None or layer > len(stack.layers)
        if pending or self._workspace.state.selection.levels != "layer":
            return f"layer {layer}"
        return f"layer {layer} · ±{short_size(self._limit_of(layer))}"

    def layer_scale(self, layer: int) -> ColorScale:
        """Return the colour scale of all rows of a layer, as in the mosaic."""
        stack = self._workspace.fitting.stack
        if stack is None or layer > len(stack.layers):
            return ColorScale.symmetric(self.color_map, 1.0)
        rms = self.rms(layer) if self.shows_contributions() else None
        key = stack.layers[layer - 1], rms is not None
        if key not in self._layer_limits:
            size = np.abs(key[0].weights[:, :-1])
            largest = (size if rms is None else size * rms).max(axis=1, initial=0.0)
            self._layer_limits = {k: limit for k, limit in self._layer_limits.items() if k[0] in stack.layers}
            self._layer_limits[key] = typical_peak(largest)
        return ColorScale.symmetric(self.color_map, self._layer_limits[key])

    def bar(self) -> tuple[ColorScale, str, tuple[str, ...]]:
        """Return the colour bar's scale, its note, and labels that replace values if limits differ."""
        level = self._workspace.state.selection.levels
        if level == "global":
            return ColorScale.symmetric(self.color_map, self._global_limit()), self.quantity(), ()
        labels = ("−limit", "−½", "0", "+½", "+limit")
        per = "per tile" if level == "tile" else "per layer"
        return ColorScale.symmetric(self.color_map, 1.0), self.quantity() or per, labels

    def quantity(self) -> str:
        """Return the name of the quantity shown instead of weights, or ""."""
        return "contribution" if self.shows_contributions() else ""

    def _scale_of(self, row: NDArray[np.float64], feature: int, layer: int) -> ColorScale:
        level = self._workspace.state.selection.levels
        if level == "tile":
            limit = nearby_peak(row[:-1], feature, self._shape)
        elif level == "layer":
            limit = self._limit_of(layer)
        else:
            limit = self._global_limit()
        return ColorScale.symmetric(self.color_map, limit)

    def _limit_of(self, layer: int) -> float:
        return self._limits[layer - 1] if layer <= len(self._limits) else 1.0

    def _global_limit(self) -> float:
        return max(self._limits, default=1.0)

    def _peak(self, feature: int, layer: int) -> float:
        row = self.shown(feature, layer)
        return 0.0 if row is None else nearby_peak(row[:-1], feature, self._shape)

    @property
    def _shape(self) -> tuple[int, int] | None:
        dataset = self._workspace.dataset
        return None if dataset is None else dataset.image_shape


def row_tile(
    row: NDArray[np.float64], shape: tuple[int, int] | None, scale: ColorScale, feature: int, quantity: str = ""
) -> Tile:
    """Return the tile of a row of W with its bias last, captioned with the largest value and the bias.

    Parameters
    ----------
    quantity : str
        Name of the values if they are not weights.
    """
    largest = float(np.abs(row[:-1]).max(initial=0.0))
    caption = f"max {short_size(largest)} · b {signed(float(row[-1]), 2)}"
    return Tile.of(row[:-1], shape, scale, caption, feature, quantity)


def short_size(size: float) -> str:
    """Return a size in at most four characters, from 1e−9 to 9999."""
    if 0 < size < 0.005:
        return f"{size:.0e}".replace("e-0", "e-")  # the short hyphen saves space in captions
    return f"{size:.2f}" if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"
