"""Generate the Convex data set of the benchmark: convex and non-convex white regions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.convexity import intersections, is_convex, pixels
from slide_gui.data.generators.frames import SIDE
from slide_gui.data.generators.parts import generated
from slide_gui.progress import NO_PROGRESS, Listener, Progress

Bits = NDArray[np.uint32]

_CONVEX_RATE, _CONVEX_LEAST = 0.195, 20
_PIECE_RATE, _PIECE_LEAST = 0.07, 11
_PIECES = (2, 4)
_BLOCK = 4096  # candidates per draw


def convex(n_train: int = 8000, n_test: int = 50_000, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Draw white regions on black, half of them convex, in images of 28 × 28.

    A convex region is the intersection of g half-planes, where g is geometric with parameter 0.195. A non-convex region
    is the union of 2 to 4 such sets with parameter 0.07. It is accepted only if a pixel on the segment between two of
    its pixels is missing. `intersections` draws the half-planes one after the other. It stops after g half-planes, or
    before fewer than 20 pixels would remain (11 in the sets of a union). Label 1 is convex.

    The benchmark's description does not state where the half-planes lie. The table compares its 8 000 training images
    with generated ones:

    ===================================  ============================  ============================
    .                                    benchmark                     generated
    ===================================  ============================  ============================
    convex: mean area                    299                           298
    area, 5/25/50/75/95th percentile     23 75 249 496 728             23 71 242 497 725
    boundary length, same percentiles    17 28 39 52 74                18 30 40 53 73
    touches no border of the image       15 %                          16 %
    not convex: mean area                304                           298
    area, 5/25/50/75/95th percentile     30 90 251 495 721             31 86 247 486 715
    boundary length, same percentiles    27 45 63 80 104               29 49 67 85 110
    in 1, 2, 3, 4 pieces                 43 39 15 3 %                  44 40 13 3 %
    Raw-SVM, 500 training images         38.6 %                        37.9 %
    Raw-SVM, 2 000                       28.3 %                        27.6 %
    Raw-SVM, 6 400                       20.5 %                        20.4 %
    Raw-SVM, 8 000                       18.7, 19.1 % (published)      19.4 %
    PCA-SVM, 8 000                       11.9 % (published)            12.1 %
    ===================================  ============================  ============================

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
        name="Convex",
        label_names=("not convex", "convex"),
        source=f"convex(n_train={n_train}, n_test={n_test}, seed={seed})",
        citation="After the Convex data of Larochelle et al. (2007), ICML.",
    )


def _draw(n: int, random: np.random.Generator, progress: Progress) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw n images in random order, half of them (rounded down) convex."""
    labels = random.permutation((np.arange(n) < n // 2).astype(np.int64))
    images = np.empty((n, SIDE * SIDE), np.float32)
    for label, candidates, span in ((1, _convex_regions, (0.0, 0.05)), (0, _other_regions, (0.05, 1.0))):
        sets = _collect(int((labels == label).sum()), candidates, random, progress.part(*span))
        for start in range(0, len(sets), _BLOCK):
            places = np.flatnonzero(labels == label)[start : start + _BLOCK]
            images[places] = pixels(sets[start : start + _BLOCK]).reshape(-1, SIDE * SIDE)
    return images, labels


def _collect(
    n: int, candidates: Callable[[np.random.Generator, Progress], Bits], random: np.random.Generator, progress: Progress
) -> Bits:
    """Draw blocks of accepted regions until there are n."""
    blocks = [np.empty((0, SIDE), np.uint32)]
    n_accepted = 0
    cancel_point = Listener(lambda *_: progress.report(min(1.0, n_accepted / n)))
    while n_accepted < n:
        blocks.append(candidates(random, cancel_point))
        n_accepted += len(blocks[-1])
        progress.report(min(1.0, n_accepted / n))
    return np.concatenate(blocks)[:n]


def _convex_regions(random: np.random.Generator, progress: Progress) -> Bits:
    return intersections(random.geometric(_CONVEX_RATE, _BLOCK), _CONVEX_LEAST, random, progress)


def _other_regions(random: np.random.Generator, progress: Progress) -> Bits:
    pieces = intersections(random.geometric(_PIECE_RATE, 3 * _BLOCK), _PIECE_LEAST, random, progress)
    counts = random.integers(_PIECES[0], _PIECES[1] + 1, size=_BLOCK)
    ends = np.cumsum(counts)
    ends = ends[ends <= len(pieces)]
    regions = np.bitwise_or.reduceat(pieces[: ends[-1]], np.append(0, ends[:-1]), axis=0)
    hollow: Bits = regions[~is_convex(regions)]
    return hollow
