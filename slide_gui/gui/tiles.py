"""Rows of W as tiles: cached, with the limits of their colours, fresh or stale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.stack import Layer
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.widgets.weight_tiles import Tile
from slide_gui.gui.workspace import Workspace

__all__ = ["TileSource", "place"]


def place(feature: int, shape: tuple[int, int] | None) -> str:
    """Return "row, column" of a pixel, or the number of a plain feature."""
    if shape is None:
        return f"x{feature}"
    return f"{feature // shape[1]}, {feature % shape[1]}"


class TileSource:
    """Makes the tiles of the Weights page from the workspace; equal tiles stay the same object."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._map = "blue-white-red"
        self._limits: dict[Layer, float] = {}
        self._cache: dict[tuple[object, int, ColorScale], Tile] = {}
        self._used: dict[tuple[object, int, ColorScale], Tile] = {}

    def set_map(self, name: str) -> None:
        """Choose the colour map."""
        self._map = name

    def begin(self, features: tuple[int, ...]) -> None:
        """Start a new picture of these rows; tiles that were not part of the last one are forgotten."""
        self._features = features
        self._cache, self._used = self._used, {}
        stack = self._workspace.stack
        layers = stack.layers if stack is not None else ()
        self._limits = {layer: self._limits.get(layer) or _limit(layer) for layer in layers}

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
        scale = self._scale_of(row, layer)
        key = (origin, feature, scale)
        tile = self._used.get(key) or self._cache.get(key)
        if tile is None:
            shape = self._workspace.dataset.image_shape if self._workspace.dataset else None
            values = row[:-1].astype(np.float32)
            largest = float(np.abs(values).max(initial=0.0))
            caption = f"max {largest:.2f} · bias {signed(float(row[-1]), 2)}"
            tile = Tile(values.reshape(shape) if shape else values, scale, caption, feature)
        self._used[key] = tile
        return tile

    def title(self, layer: int) -> str:
        """Return the heading of a layer's column."""
        return f"layer {layer}"

    def layer_scale(self, layer: int) -> ColorScale:
        """Return the scale of a whole layer, as in the mosaic."""
        return ColorScale.symmetric(self._map, self._limit_of(layer))

    def shared_scale(self) -> ColorScale | None:
        """Return the one scale of all tiles, where there is one."""
        return ColorScale.symmetric(self._map, self._global_limit())

    def scale_note(self) -> str:
        """Return what the colour bar says about its limits."""
        level = self._workspace.state.selection.levels
        return {"tile": "each tile its own", "layer": "each layer its own", "global": ""}[level]

    def center(self) -> int:
        """Return the pixel in the middle, shown while none was pointed at."""
        dataset = self._workspace.dataset
        if dataset is None:
            return 0
        if dataset.image_shape is None:
            return dataset.n_features // 2
        rows, columns = dataset.image_shape
        return (rows // 2) * columns + columns // 2

    def _scale_of(self, row: NDArray[np.float64], layer: int) -> ColorScale:
        level = self._workspace.state.selection.levels
        if level == "tile":
            limit = float(np.abs(row[:-1]).max(initial=0.0))
        elif level == "layer":
            limit = self._limit_of(layer)
        else:
            limit = self._global_limit()
        return ColorScale.symmetric(self._map, limit)

    def _limit_of(self, layer: int) -> float:
        stack = self._workspace.stack
        if stack is None or layer > len(stack.layers):
            return 1.0
        return self._limits.get(stack.layers[layer - 1]) or _limit(stack.layers[layer - 1])

    def _global_limit(self) -> float:
        stack = self._workspace.stack
        depth = self._workspace.state.parameters.depth
        layers = stack.layers[:depth] if stack is not None else ()
        return max((self._limit_of(k + 1) for k in range(len(layers))), default=1.0)


def _limit(layer: Layer) -> float:
    """Return a limit that the rows of a layer reach: the median over its lit rows of the largest weight."""
    largest = np.abs(layer.weights[:, :-1]).max(axis=1, initial=0.0)
    lit = largest[largest > 0]
    return float(np.median(lit)) if lit.size else 1.0
