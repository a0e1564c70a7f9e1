"""Draw the positions of rectangles in images of 28 × 28 pixels, for both rectangle data sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 28
"""Rows and columns of an image."""


LABEL_NAMES = ("wider", "taller")
"""The names of the labels 0 and 1 of `Frames`."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Positions of rectangles: their outermost rows and columns, both included.

    Attributes
    ----------
    top, bottom, left, right : ndarray of shape (n,), int64
    """

    top: NDArray[np.int64]
    bottom: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def labels(self) -> NDArray[np.int64]:
        """1 for a rectangle with more rows than columns, else 0; shape (n,)."""
        return ((self.bottom - self.top) > (self.right - self.left)).astype(np.int64)

    def __getitem__(self, rows: slice) -> Frames:
        return Frames(self.top[rows], self.bottom[rows], self.left[rows], self.right[rows])


def draw_frames(n: int, sizes: NDArray[np.int64], random: np.random.Generator) -> Frames:
    """Draw rectangles with uniform sizes from a list, at uniform positions inside the image.

    Parameters
    ----------
    n : int
        Number of rectangles.
    sizes : ndarray of shape (k, 2), int64
        The allowed (rows, columns). A uniform draw equals drawing both sides independently and rejecting other pairs.
    random : numpy.random.Generator
        Source of the random numbers, advanced by three draws of n.
    """
    rows, columns = sizes[random.integers(len(sizes), size=n)].T
    top = random.integers(SIDE - rows + 1)
    left = random.integers(SIDE - columns + 1)
    return Frames(top, top + rows - 1, left, left + columns - 1)
