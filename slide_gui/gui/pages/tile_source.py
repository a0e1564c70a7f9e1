"""Rows of W as tiles: cached, with the limits of their colours, fresh or stale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Layer
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.widgets.weight_tiles import Tile

__all__ = ["TileSource", "row_tile"]


class TileSource:
    """Makes the tiles of the Weights page from the workspace; equal tiles stay the same object.

    Attributes
    ----------
    color_map : str
        In which weights are shown: the one chosen, or that of the theme.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.color_map = "blue-white-red"
        self._limits: list[float] = []
        self._layer_limits: dict[Layer, float] = {}
        self._cache: dict[tuple[object, int, ColorScale], Tile] = {}
        self._used: dict[tuple[object, int, ColorScale], Tile] = {}

    def begin(self, features: tuple[int, ...]) -> None:
        """Start a new picture of these rows; tiles that were not part of the last one are forgotten."""
        self._features = features
        self._cache, self._used = self._used, {}
        # Pins set the limits, so that pointing elsewhere does not change the colours of what is pinned.
        setting = self._workspace.state.selection.pins or features[:1]
        depth = self._workspace.state.parameters.depth
        self._limits = [max((self._peak(f, k) for f in setting), default=1.0) for k in range(1, depth + 1)]

    def row(self, feature: int, layer: int) -> NDArray[np.float64] | None:
        """Return a row of W, previewed where a preview is newer; None while there is none."""
        preview, stack = self._workspace.preview, self._workspace.stack
        if layer == 1 and preview is not None and feature in preview.rows:
            return preview.rows[feature]
        if stack is not None and layer <= len(stack.layers):
            row: NDArray[np.float64] = stack.layers[layer - 1].weights[feature]
            return row
        return None

    def is_stale(self, feature: int, layer: int) -> bool:
        """Whether the row shown was made by other parameters than those set now."""
        preview = self._workspace.preview
        if layer == 1 and preview is not None and feature in preview.rows:
            return preview.parameters != self._workspace.state.parameters
        return not self._workspace.layer_is_fresh(layer)

    def tile(self, feature: int, layer: int) -> Tile | None:
        """Return the tile of one row, or None while there is none."""
        row = self.row(feature, layer)
        if row is None:
            return None
        preview = self._workspace.preview
        previewed = layer == 1 and preview is not None and feature in preview.rows
        stack = self._workspace.stack
        origin: object = preview if previewed or stack is None else stack.layers[layer - 1]
        scale = self._scale_of(row, feature, layer)
        key = (origin, feature, scale)
        tile = self._used.get(key) or self._cache.get(key)
        if tile is None:
            tile = row_tile(row, self._shape, scale, feature)
        self._used[key] = tile
        return tile

    def title(self, layer: int) -> str:
        """Return the heading of a layer's column."""
        if self._workspace.state.selection.levels != "layer":
            return f"layer {layer}"
        return f"layer {layer} · ±{self._limit_of(layer):.2f}"

    def layer_scale(self, layer: int) -> ColorScale:
        """Return the scale of a whole layer, as in the mosaic."""
        stack = self._workspace.stack
        if stack is None or layer > len(stack.layers):
            return ColorScale.symmetric(self.color_map, 1.0)
        fitted = stack.layers[layer - 1]
        if fitted not in self._layer_limits:
            self._layer_limits = {fitted: _typical_limit(fitted)}
        return ColorScale.symmetric(self.color_map, self._layer_limits[fitted])

    def bar(self) -> tuple[ColorScale, str, tuple[str, ...]]:
        """Return what the colour bar shows: a scale, a note, and labels in place of values where limits differ."""
        level = self._workspace.state.selection.levels
        if level == "global":
            return ColorScale.symmetric(self.color_map, self._global_limit()), "", ()
        labels = ("−limit", "−½", "0", "+½", "+limit")
        return ColorScale.symmetric(self.color_map, 1.0), f"per {level}", labels

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
        row = self.row(feature, layer)
        return 0.0 if row is None else nearby_peak(row[:-1], feature, self._shape)

    @property
    def _shape(self) -> tuple[int, int] | None:
        dataset = self._workspace.dataset
        return None if dataset is None else dataset.image_shape


def row_tile(row: NDArray[np.float64], shape: tuple[int, int] | None, scale: ColorScale, feature: int) -> Tile:
    """Return the tile of a row of W, its bias last; below it the largest weight and the bias."""
    largest = float(np.abs(row[:-1]).max(initial=0.0))
    caption = f"max {_short(largest)} · b {signed(float(row[-1]), 2)}"
    return Tile.of(row[:-1], shape, scale, caption, feature)


def _short(size: float) -> str:
    """Return a size in at most four characters, up to 9999."""
    return f"{size:.2f}" if size < 10 else f"{size:.1f}" if size < 100 else f"{size:.0f}"


def _typical_limit(layer: Layer) -> float:
    """Return the median, over the rows of a layer that are not zero, of the largest weight."""
    largest = np.abs(layer.weights[:, :-1]).max(axis=1, initial=0.0)
    lit = largest[largest > 0]
    return float(np.median(lit)) if lit.size else 1.0
