"""Finding things in a picture of the window, as an eye does: by frames and colours."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from slide_gui.gui.theme import Theme

Picture = NDArray[np.uint8]
"""Red, green, blue of every pixel, shape (height, width, 3)."""

CONTENT = 312  # where the page starts: navigation of 72 and panel of 240 pixels
_TOP = 60
_LEAST = 40  # no smaller frame is a tile


@dataclass(frozen=True)
class Box:
    """The inside of a frame."""

    left: int
    top: int
    width: int
    height: int

    @property
    def center(self) -> tuple[int, int]:
        return self.left + self.width // 2, self.top + self.height // 2

    def pixel(self, row: int, column: int, shape: tuple[int, int] = (28, 28)) -> tuple[int, int]:
        """Return the middle of one pixel of the image shown here."""
        x = self.left + (2 * column + 1) * self.width // (2 * shape[1])
        return x, self.top + (2 * row + 1) * self.height // (2 * shape[0])

    def of(self, picture: Picture) -> Picture:
        """Cut it out."""
        return picture[self.top : self.top + self.height, self.left : self.left + self.width]

    def values(self, picture: Picture, shape: tuple[int, int] = (28, 28)) -> NDArray[np.int64]:
        """Return the weights as their colours say: red above zero, blue below, white at zero."""
        cells = np.array([[picture[self.pixel(i, j, shape)[::-1]] for j in range(shape[1])] for i in range(shape[0])])
        red, _, blue = np.moveaxis(cells.astype(np.int64), -1, 0)
        return np.sign(red - blue) * (255 - cells.min(axis=-1).astype(np.int64))


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def of_colour(picture: Picture, colour: str) -> NDArray[np.bool_]:
    """Return where a picture has exactly this colour, shape (height, width)."""
    return np.asarray((picture == np.array(rgb(colour), np.uint8)).all(axis=-1))


def extent(mask: NDArray[np.bool_]) -> Box | None:
    """Return the smallest box around what is true."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return None
    return Box(int(columns[0]), int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)


def frames(picture: Picture, theme: Theme) -> list[Box]:
    """Return the framed images of the page, from the top left."""
    mask = of_colour(picture, theme.line)
    mask[:_TOP] = mask[:, : CONTENT + 4] = False
    runs: dict[tuple[int, int], list[int]] = {}
    for y in np.flatnonzero(mask.sum(axis=1) >= _LEAST):
        for run in _runs(mask[y]):
            runs.setdefault(run, []).append(int(y))
    boxes = []
    for (left, right), rows in runs.items():
        for top, bottom in pairwise(rows):
            sides = mask[top : bottom + 1, left].mean(), mask[top : bottom + 1, right].mean()
            if bottom - top > _LEAST and min(sides) > 0.9:
                boxes.append(Box(left + 1, top + 1, right - left - 1, bottom - top - 1))
    return sorted(boxes, key=lambda box: (box.top, box.left))


def _runs(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last of each long run; a cross-hair may interrupt it."""
    places = np.flatnonzero(line)
    parts = np.split(places, np.flatnonzero(np.diff(places) > 3) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts if part[-1] - part[0] > _LEAST]


@dataclass(frozen=True)
class Page:
    """The Weights page in a picture."""

    picture: Picture
    theme: Theme
    image: Box
    rows: tuple[tuple[Box, ...], ...]

    def tile(self, row: int, layer: int) -> Picture:
        """Return the pixels of the tile of a row, from 0, and a layer, from 1."""
        return self.rows[row][layer - 1].of(self.picture)

    def tiles(self, layer: int) -> list[Picture]:
        return [self.tile(row, layer) for row in range(len(self.rows))]

    def ring(self, number: int) -> int:
        """Return how many pixels of the image have the colour of a pin, from 0."""
        return int(self._ring(number).sum())

    def pinned(self, number: int, shape: tuple[int, int] = (28, 28)) -> tuple[int, int]:
        """Return row and column of the pixel with the ring of a pin."""
        ring = extent(self._ring(number))
        assert ring is not None, f"no ring of pin {number}"
        x, y = ring.center
        return y * shape[0] // self.image.height, x * shape[1] // self.image.width

    def _ring(self, number: int) -> NDArray[np.bool_]:
        return of_colour(self.image.of(self.picture), self.theme.pin(number).name())


def read_page(picture: Picture, theme: Theme, image: Box | None = None) -> Page | None:
    """Find the image and the tiles, None where there are none.

    The ring of the keyboard's focus covers the image's frame; it stays where it was then, at `image`.
    """
    boxes = sorted(frames(picture, theme), key=lambda box: (box.left, box.top))
    if boxes and boxes[0].left < CONTENT + 40:
        image = boxes[0]
    if image is None:
        return None
    tiles = [box for box in boxes if box.left > image.left + image.width]
    tops = sorted({box.top for box in tiles})
    rows = tuple(tuple(sorted((b for b in tiles if b.top == top), key=lambda b: b.left)) for top in tops)
    if not rows or len({len(row) for row in rows}) != 1:
        return None
    return Page(picture, theme, image, rows)


def sliders(picture: Picture, theme: Theme) -> list[Box]:
    """Return the filled parts, with their handles, of the panel's sliders, from the top."""
    mask = of_colour(picture, theme.accent)
    mask[:, :76] = mask[:, CONTENT:] = False
    lines = np.flatnonzero(mask.any(axis=1))
    groups = np.split(lines, np.flatnonzero(np.diff(lines) > 6) + 1)
    boxes = []
    for group in groups:
        part = np.zeros_like(mask)
        part[group] = mask[group]
        box = extent(part)
        if box is not None and box.height >= 8:
            boxes.append(box)
    return boxes
