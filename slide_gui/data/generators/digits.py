"""scikit-learn's small digits, enlarged: they stand in for MNIST until its files are there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.frames import SIDE
from slide_gui.progress import NO_PROGRESS, Progress

_SMALL, _LEVELS = 8, 16


def digits(n_test: int = 500, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Return the 1 797 handwritten digits of 8 × 8 pixels, enlarged to 28 × 28.

    They are interpolated linearly between pixel centres and scaled to [0, 1]. The test part is drawn at random
    with each digit's share kept; the rest is for training.

    Parameters
    ----------
    n_test : int
        Images of the test part, 0 to 1 787.
    seed : int
        Sets which images are for testing, and the order of both parts.
    progress : Progress
        Reports before and after.
    """
    from sklearn.datasets import load_digits

    progress.report(0.0)
    bunch = load_digits()
    small: NDArray[np.float64] = np.asarray(bunch.images, np.float64) / _LEVELS
    labels: NDArray[np.int64] = np.asarray(bunch.target, np.int64)
    weights = _enlargement()
    # Small whole multiples of 1/16 times float64 weights: einsum adds in a fixed order, unlike BLAS.
    images = np.einsum("ij,njk,lk->nil", weights, small, weights, optimize=False)
    rows = np.clip(images, 0, 1).reshape(-1, SIDE * SIDE).astype(np.float32)
    train, test = _stratified(labels, n_test, np.random.default_rng(seed))
    progress.report(1.0)
    return Dataset(
        name="Digits 8 × 8 enlarged (stand-in for MNIST)",
        train=rows[train],
        test=rows[test],
        train_labels=labels[train],
        test_labels=labels[test],
        image_shape=(SIDE, SIDE),
        label_names=tuple(str(digit) for digit in range(10)),
        generated=True,
        source=f"digits(n_test={n_test}, seed={seed}): scikit-learn's digits, enlarged",
        licence="CC BY 4.0",
        citation="Alpaydin, Kaynak (1998): Optical Recognition of Handwritten Digits. UCI Machine Learning Repository.",
    )


def _enlargement() -> NDArray[np.float64]:
    """Return the (28, 8) weights of linear interpolation between pixel centres, held constant beyond them."""
    centres = np.clip((np.arange(SIDE) + 0.5) * _SMALL / SIDE - 0.5, 0, _SMALL - 1)
    return np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(_SMALL)))


def _stratified(
    labels: NDArray[np.int64], n_test: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return shuffled indices of the training and the test part.

    The shuffled samples are ranked within their class; the smallest relative ranks are for testing, so that
    each class gives its share to within one.
    """
    order = random.permutation(labels.size)
    rank = np.empty(labels.size)
    for label in np.unique(labels):
        members = np.flatnonzero(labels[order] == label)
        rank[members] = (np.arange(members.size) + 0.5) / members.size
    chosen = np.zeros(labels.size, bool)
    chosen[np.argsort(rank, kind="stable")[:n_test]] = True
    return order[~chosen], order[chosen]
