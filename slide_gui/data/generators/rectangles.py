"""Generate the Rectangles data set of the benchmark: outlines of rectangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.frames import LABEL_NAMES, SIDE, draw_frames
from slide_gui.data.generators.parts import generated
from slide_gui.progress import NO_PROGRESS, Progress

_SHORTEST, _LEAST_DIFFERENCE = 4, 3
_BLOCK = 1024  # images that fit into the processor's cache


def rectangles(n_train: int = 1200, n_test: int = 50_000, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Draw white outlines of rectangles, one pixel wide, in images of 28 × 28.

    The numbers of rows and columns are uniform and independent in 4, …, 28; pairs that differ by less than 3 are
    rejected. The position is uniform among all that fit. Label 1 is a rectangle with more rows than columns. The
    benchmark's 51 200 images have the same sizes.

    Parameters
    ----------
    n_train, n_test : int
        Number of images in each set; the training images do not depend on `n_test`.
    seed : int
        Equal seeds give equal images.
    progress : Progress
        Reports the fraction of the images drawn.
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
    allowed: NDArray[np.int64] = sizes[np.abs(rows - columns) >= _LEAST_DIFFERENCE]
    return allowed


def _draw(n: int, random: np.random.Generator, progress: Progress) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    frames = draw_frames(n, _sizes(), random)
    images = np.empty((n, SIDE, SIDE), np.float32)
    lines, at = _lines(), np.arange(SIDE)
    for start in range(0, n, _BLOCK):
        part = frames[start : start + _BLOCK]
        top, bottom = part.top[:, None], part.bottom[:, None]
        kind = ((at >= top) & (at <= bottom)).astype(np.int64) + ((at == top) | (at == bottom))
        index = (kind * SIDE + part.left[:, None]) * SIDE + part.right[:, None]
        np.take(lines, index, axis=0, out=images[start : start + _BLOCK], mode="clip")  # other modes copy the output
        progress.report(min(1.0, (start + _BLOCK) / n))
    return images.reshape(n, SIDE * SIDE), frames.labels


def _lines() -> NDArray[np.float32]:
    """Return all possible rows of pixels, (3 · SIDE · SIDE, SIDE), by kind: outside, with two sides, or an edge.

    The index is (kind · SIDE + left) · SIDE + right.
    """
    at = np.arange(SIDE)
    left, right = at[:, None, None], at[None, :, None]
    ends, edge = (at == left) | (at == right), (at >= left) & (at <= right)
    lines: NDArray[np.float32] = np.stack([np.zeros_like(ends), ends, edge]).astype(np.float32)
    return lines.reshape(-1, SIDE)
