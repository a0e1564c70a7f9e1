"""Enlarge scikit-learn's small digits as a substitute for missing MNIST files."""

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.generators.images import SIDE
from slide_gui.progress import NO_PROGRESS, Progress

_SMALL, _LEVELS = 8, 16


def digits(n_test: int = 500, seed: int = 0, progress: Progress = NO_PROGRESS) -> Dataset:
    """Return the 1 797 handwritten digits of 8 × 8 pixels, enlarged to 28 × 28.

    The images are interpolated linearly between pixel centres and scaled to [0, 1]. The test set is a random sample,
    stratified by digit; the other images are the training set.

    Parameters
    ----------
    n_test : int
        Number of test images, 0 to 1 787.
    seed : int
        Seed of the test sample and of the order of both sets.
    progress : Progress
        Reports the start and the end.
    """
    from sklearn.datasets import load_digits

    progress.report(0.0)
    bunch = load_digits()
    small: NDArray[np.float64] = np.asarray(bunch.images, np.float64) / _LEVELS
    labels: NDArray[np.int64] = np.asarray(bunch.target, np.int64)
    # Linear interpolation, which is constant beyond the outer pixel centres; shape (28, 8).
    centres = np.clip((np.arange(SIDE) + 0.5) * _SMALL / SIDE - 0.5, 0, _SMALL - 1)
    weights = np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(_SMALL)))
    # Unlike BLAS, einsum adds in a fixed order, so that the result has the same bits everywhere.
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


def _stratified(
    labels: NDArray[np.int64], n_test: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return shuffled indices of the training and the test set.

    The samples are ranked within their class in random order. Those with the smallest relative ranks form the test
    set. Its number of samples of each class is therefore proportional to the size of the class, to within one sample.
    """
    order = random.permutation(labels.size)
    rank = np.empty(labels.size)
    for label in np.unique(labels):
        members = np.flatnonzero(labels[order] == label)
        rank[members] = (np.arange(members.size) + 0.5) / members.size
    is_test = np.zeros(labels.size, bool)
    is_test[np.argsort(rank, kind="stable")[:n_test]] = True
    return order[~is_test], order[is_test]
