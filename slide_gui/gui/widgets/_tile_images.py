"""Values of a tile as an image: pixels as they are, plain features as bars."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.widgets._pixels import colour_table, coloured_image

__all__ = ["bar_image", "pixel_image"]


def pixel_image(values: NDArray[np.float32], scale: ColorScale, transposed: bool) -> QImage:
    """Return an image of one dot a value, shape (rows, columns), rows and columns exchanged if transposed."""
    return coloured_image(scale.indices(values.T if transposed else values), colour_table(scale))


def bar_image(values: NDArray[np.float32], scale: ColorScale, size: tuple[int, int], background: QColor) -> QImage:
    """Return bars along the index about a zero line in the middle.

    Parameters
    ----------
    values : ndarray of shape (d,), float32
        Where a column of the image holds several, the largest in magnitude stands for them.
    scale : ColorScale
        Gives each bar its colour, and its larger limit the height.
    size : tuple of (width, height)
        In device pixels.
    background : QColor
    """
    width, height = size
    count = values.size
    if count <= width:
        shown = values[np.arange(width) * count // width]
    else:
        starts = np.arange(width) * count // width
        high, low = np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)
        shown = np.where(high >= -low, high, low)
    limit = max(abs(scale.low), abs(scale.high))
    middle = height // 2
    tips = middle - np.nan_to_num(np.clip(shown / limit, -1.0, 1.0)) * (middle - 2)
    rows = np.arange(height)[:, None]
    inside = (rows >= np.minimum(tips, middle).round()) & (rows < np.maximum(tips, middle + 1).round())
    if width >= 4 * count:
        edges = np.arange(width) * count // width
        inside[:, np.flatnonzero(np.diff(edges))] = False
    return coloured_image(
        np.where(inside, scale.indices(shown), np.uint8(0)).astype(np.uint8),
        colour_table(scale, background),
    )
