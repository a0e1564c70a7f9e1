"""What `WeightTiles` shows: frozen rows of frozen tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from slide_gui.figures.color_scale import ColorScale

__all__ = ["Tile", "TileRow"]


@dataclass(frozen=True, eq=False)
class Tile:
    """One image of weights.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        Never changed after it was given: a new picture is a new `Tile`. ``(d,)`` is drawn as bars.
    scale : ColorScale
    caption : str
        Under the tile; breaks at " · " where the tile is narrow.
    marker : int or None
        Pixel with a ring: the one these weights reconstruct.
    """

    values: NDArray[np.float32]
    scale: ColorScale
    caption: str = ""
    marker: int | None = None


@dataclass(frozen=True, eq=False)
class TileRow:
    """The tiles of one pixel.

    Attributes
    ----------
    title, subtitle : str
        E.g. "14, 9" and "pinned".
    color : QColor
    removable : bool
        A pin, with a × button; otherwise the pixel under the mouse, drawn lighter.
    tiles : tuple of Tile or None
        One a column; None is shown as an empty place.
    stale : tuple of bool
        Which tiles are greyed because newer ones are on their way; empty for none.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]
    stale: tuple[bool, ...] = ()

    def is_stale(self, column: int) -> bool:
        """Whether the tile of a column is greyed."""
        return column < len(self.stale) and self.stale[column]

    def tile(self, column: int) -> Tile | None:
        """Return the tile of a column, None where the row has none (yet)."""
        return self.tiles[column] if column < len(self.tiles) else None

    def same_label(self, other: TileRow) -> bool:
        """Whether the row's title looks the same as another's."""
        return (self.title, self.subtitle, self.color, self.removable) == (
            other.title,
            other.subtitle,
            other.color,
            other.removable,
        )
