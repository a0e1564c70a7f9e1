"""Outlines of rectangles: the benchmark's Rectangles, made anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.frames import LABEL_NAMES, SIDE, draw_frames
from slide_gui.data.generators.parts import generated
from slide_gui.progress import NO_PROGRESS, Progress

_SHORTEST, _LEAST_DIFFERENCE = 4, 3
_BLOCK = 1024  # images, at once in the processor's cache


def rectangles(n_train: int = 1200, n_test: int = 50_000, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Draw outlines of one pixel, 1 on 0, in images of 28 × 28.

    Rows and columns of a rectangle are uniform and independent in 4, …, 28, rejected where they differ by less
    than 3; the top-left corner is uniform among those that fit. Label 1 is a rectangle with more rows than
    columns. The sizes are those found in the benchmark's 51 200 images.

    Parameters
    ----------
    n_train, n_test : int
        Images of each part; the training images do not depend on `n_test`.
    seed : int
        The same seed gives the same images.
    progress : Progress
        Reports the share of the images drawn.
    """
    return generated(
        _draw,
        (n_train, n_test),
        seed,
        progress,
        name="Rectangles",
        label_names=LABEL_NAMES,
        source=f"rectangles(n_train={n_train}, n_test={n_test}, seed={seed})",
        citation="After the Rectangles data of Larochelle et al. (2007), ICML.",
    )


def _sizes() -> NDArray[np.int64]:
    sides = np.arange(_SHORTEST, SIDE + 1)
    rows, columns = (grid.ravel() for grid in np.meshgrid(sides, sides, indexing="ij"))
    sizes: NDArray[np.int64] = np.stack([rows, columns], axis=1)
    kept: NDArray[np.int64] = sizes[np.abs(rows - columns) >= _LEAST_DIFFERENCE]
    return kept


def _draw(n: int, random: np.random.Generator, progress: Progress) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    frames = draw_frames(n, _sizes(), random)
    images = np.empty((n, SIDE, SIDE), np.float32)
    lines, at = _lines(), np.arange(SIDE)
    for start in range(0, n, _BLOCK):
        part = frames[start : start + _BLOCK]
        top, bottom = part.top[:, None], part.bottom[:, None]
        kind = ((at >= top) & (at <= bottom)).astype(np.int64) + ((at == top) | (at == bottom))
        index = (kind * SIDE + part.left[:, None]) * SIDE + part.right[:, None]
        np.take(lines, index, axis=0, out=images[start : start + _BLOCK], mode="clip")  # any other mode takes a copy
        progress.report(min(1.0, (start + _BLOCK) / n))
    return images.reshape(n, SIDE * SIDE), frames.labels


def _lines() -> NDArray[np.float32]:
    """Return every row of pixels there can be, (3 · SIDE · SIDE, SIDE): outside, beside and on the top or bottom side.

    The index is (kind · SIDE + left) · SIDE + right.
    """
    at = np.arange(SIDE)
    left, right = at[:, None, None], at[None, :, None]
    ends, whole = (at == left) | (at == right), (at >= left) & (at <= right)
    lines: NDArray[np.float32] = np.stack([np.zeros_like(ends), ends, whole]).astype(np.float32)
    return lines.reshape(-1, SIDE)
