"""Generate the Rectangles and Rectangles-Images data sets of the benchmark: outlines and patches of photographs."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.images import SIDE, Drawn, generated
from slide_gui.progress import NO_PROGRESS, Progress

_LABEL_NAMES = ("wider", "taller")
_BLOCK, _PHOTOGRAPH_BLOCK = 1024, 2048  # images per block; a block of outlines fits into the processor's cache
_AREAS = (SIDE * SIDE // 4, 3 * SIDE * SIDE // 4)
_LEAST_DEVIATION = 0.05  # smallest standard deviation of grey levels in [0, 1]; less contrast hides the rectangle
_SCALES = (1, 2, 4)
_NEAR = 140  # largest distance in rows and in columns between the two patches of an image, in pixels


def rectangles(n_train: int = 1200, n_test: int = 50_000, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Draw white outlines of rectangles, one pixel wide, in images of 28 × 28 pixels.

    The numbers of rows and columns are uniform and independent in 4, …, 28; pairs that differ by less than 3 are
    rejected. The position is uniform among all positions inside the image. Label 1 is a rectangle with more rows than
    columns. The rectangles in the benchmark's 51 200 images have the same sizes.

    Parameters
    ----------
    n_train, n_test : int
        Number of images in each set; the training images do not depend on `n_test`.
    seed : int
        Equal seeds give equal images.
    progress : Progress
        Reports the fraction of the images drawn.
    """
    return generated("Rectangles", _draw_outlines, (n_train, n_test), seed, progress, _LABEL_NAMES)


def rectangles_images(
    n_train: int = 12_000, n_test: int = 50_000, seed: int = 0, progress: Progress = NO_PROGRESS
) -> Dataset:
    """Draw rectangles of one natural image patch on another patch, in images of 28 × 28 pixels.

    The rectangle is from one patch, and its surroundings are from another. Its sides have at least 10 pixels and differ
    by at least 5, and its area is 25 to 75 % of the image. Sizes and positions are uniform under these conditions.

    The first patch is drawn uniformly from scikit-learn's two photographs, in grey at full, half and quarter size. The
    second is drawn uniformly within 140 pixels of the first, because distant patches differ too clearly. Both are
    flipped at random in both directions. A pair is rejected if the standard deviation of a patch is below 0.05. Label 1
    is a rectangle with more rows than columns.

    An SVM on 12 000 raw images has an error of 22.7 % (published for the benchmark: 23.3 and 24.0 %).

    Parameters
    ----------
    n_train, n_test : int
        Number of images in each set; the training images do not depend on `n_test`.
    seed : int
        Equal seeds give equal images.
    progress : Progress
        Reports the fraction of the images drawn.
    """
    draw = partial(_draw_photographs, _grey_layers())
    return generated("Rectangles-Images", draw, (n_train, n_test), seed, progress, _LABEL_NAMES, photographs=True)


def _draw_frames(
    n: int, random: np.random.Generator, shortest: int, least_difference: int, areas: tuple[int, int] = (0, SIDE * SIDE)
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the size of each rectangle uniformly from the allowed sizes, and its position uniformly inside the image.

    Return an array (n, 4) with the first row, last row, first column and last column of each, and the labels.
    """
    sides = np.mgrid[shortest : SIDE + 1, shortest : SIDE + 1].reshape(2, -1)
    area = sides.prod(axis=0)
    allowed = (np.abs(sides[0] - sides[1]) >= least_difference) & (area >= areas[0]) & (area <= areas[1])
    sides = sides[:, allowed]
    rows, columns = sides[:, random.integers(sides.shape[1], size=n)]
    top, left = random.integers(SIDE - rows + 1), random.integers(SIDE - columns + 1)
    return np.stack([top, top + rows - 1, left, left + columns - 1], axis=1), (rows > columns).astype(np.int64)


def _draw_outlines(n: int, random: np.random.Generator, _progress: Progress) -> Drawn:
    frames, labels = _draw_frames(n, random, 4, 3)
    return partial(_outlines, frames), labels


def _outlines(frames: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the images of rectangles, given their first and last rows and columns (n, 4)."""
    n = len(frames)
    images = np.empty((n, SIDE, SIDE), np.float32)
    lines, at = _lines(), np.arange(SIDE)
    for start in range(0, n, _BLOCK):
        top, bottom, left, right = frames[start : start + _BLOCK].T[:, :, None]
        kind = ((at >= top) & (at <= bottom)).astype(np.int64) + ((at == top) | (at == bottom))
        # In any mode except "clip", `np.take` would first write to a buffer.
        np.take(lines, (kind * SIDE + left) * SIDE + right, axis=0, out=images[start : start + _BLOCK], mode="clip")
    return images.reshape(n, SIDE * SIDE)


def _lines() -> NDArray[np.float32]:
    """Return all possible rows of pixels of an image, as an array of shape (3 · SIDE · SIDE, SIDE).

    The index is (kind · SIDE + left) · SIDE + right. The row has kind 0 outside the rectangle, 1 where it crosses the
    left and the right side, and 2 on the upper or lower side.
    """
    at = np.arange(SIDE)
    left, right = at[:, None, None], at[None, :, None]
    ends, edge = (at == left) | (at == right), (at >= left) & (at <= right)
    lines: NDArray[np.float32] = np.stack([np.zeros_like(ends), ends, edge]).astype(np.float32)
    return lines.reshape(-1, SIDE)


def _grey_layers() -> list[NDArray[np.float32]]:
    """Return the grey photographs at all scales."""
    from sklearn.datasets import load_sample_images

    weights = np.array([0.299, 0.587, 0.114])  # ITU-R 601 luma
    grey = [((image * weights).sum(axis=2) / 255).astype(np.float32) for image in load_sample_images().images]
    return [_reduced(image, scale) for image in grey for scale in _SCALES]


def _reduced(image: NDArray[np.float32], scale: int) -> NDArray[np.float32]:
    """Average squares of scale × scale pixels."""
    rows, columns = image.shape[0] // scale, image.shape[1] // scale
    blocks = image[: rows * scale, : columns * scale].reshape(rows, scale, columns, scale)
    means: NDArray[np.float64] = blocks.mean(axis=(1, 3), dtype=np.float64)
    return np.minimum(means, 1.0).astype(np.float32)


def _draw_photographs(
    layers: list[NDArray[np.float32]], n: int, random: np.random.Generator, progress: Progress
) -> Drawn:
    frames, labels = _draw_frames(n, random, 10, 5, _AREAS)
    images = np.empty((n, SIDE, SIDE), np.float32)
    at = np.arange(SIDE)
    for start in range(0, n, _PHOTOGRAPH_BLOCK):
        top, bottom, left, right = frames[start : start + _PHOTOGRAPH_BLOCK].T[:, :, None]
        inner, outer = _draw_pairs(len(top), layers, random)
        inside = ((at >= top) & (at <= bottom))[:, :, None] & ((at >= left) & (at <= right))[:, None, :]
        images[start : start + len(top)] = np.where(inside, inner, outer)
        progress.report((start + len(top)) / n)
    return images.reshape(n, SIDE * SIDE), labels


def _draw_pairs(n: int, layers: list[NDArray[np.float32]], random: np.random.Generator) -> NDArray[np.float32]:
    """Draw n pairs of patches (2, n, 28, 28): the first uniformly from all layers, the second near the first."""
    places = np.array([(layer.shape[0] - SIDE + 1) * (layer.shape[1] - SIDE + 1) for layer in layers])
    ends = np.cumsum(places)
    pairs = np.empty((2, n, SIDE, SIDE), np.float32)
    n_pairs = 0
    while n_pairs < n:
        at = random.integers(int(ends[-1]), size=n)
        drawn = np.empty((2, n, SIDE, SIDE), np.float32)
        of_layer = np.searchsorted(ends, at, side="right")
        for index, layer in enumerate(layers):
            members = np.flatnonzero(of_layer == index)
            windows = np.lib.stride_tricks.sliding_window_view(layer, (SIDE, SIDE))
            row, column = np.divmod(at[members] - (ends[index] - places[index]), windows.shape[1])
            drawn[0, members] = windows[row, column]
            drawn[1, members] = windows[
                _random_positions_near(row, windows.shape[0], random),
                _random_positions_near(column, windows.shape[1], random),
            ]
        flips = random.integers(4, size=(2, n))
        drawn[flips & 1 == 1] = drawn[flips & 1 == 1, ::-1]
        drawn[flips & 2 == 2] = drawn[flips & 2 == 2, :, ::-1]
        accepted = drawn[:, (drawn.std(axis=(2, 3)) >= _LEAST_DEVIATION).all(axis=0)][:, : n - n_pairs]
        pairs[:, n_pairs : n_pairs + accepted.shape[1]] = accepted
        n_pairs += accepted.shape[1]
    return pairs


def _random_positions_near(place: NDArray[np.int64], size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw positions from 0 to size − 1 uniformly from those near the given positions."""
    return random.integers(np.maximum(place - _NEAR, 0), np.minimum(place + _NEAR, size - 1), endpoint=True)
