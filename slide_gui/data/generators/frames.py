"""Where rectangles lie in an image of 28 × 28 pixels, for both data sets of rectangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 28
"""Rows and columns of an image."""


LABEL_NAMES = ("wider", "taller")
"""Of the labels 0 and 1 of `Frames`."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Rectangles by their outermost rows and columns, both ends included.

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
        """1 where a rectangle has more rows than columns, else 0; shape (n,)."""
        return ((self.bottom - self.top) > (self.right - self.left)).astype(np.int64)

    def __getitem__(self, rows: slice) -> Frames:
        return Frames(self.top[rows], self.bottom[rows], self.left[rows], self.right[rows])


def draw_frames(n: int, sizes: NDArray[np.int64], random: np.random.Generator) -> Frames:
    """Draw rectangles with uniform sizes among those given, each uniform among the places where it fits.

    Parameters
    ----------
    n : int
        How many.
    sizes : ndarray of shape (k, 2), int64
        The admissible (rows, columns). Drawing from these is drawing both sides independently and
        rejecting the pairs that are not among them.
    random : numpy.random.Generator
        Advanced by three draws of n.
    """
    rows, columns = sizes[random.integers(len(sizes), size=n)].T
    top = random.integers(SIDE - rows + 1)
    left = random.integers(SIDE - columns + 1)
    return Frames(top, top + rows - 1, left, left + columns - 1)
