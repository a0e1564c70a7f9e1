"""Fewer rows of a data set, for what has to be quick."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.splits import stratified_sample

__all__ = ["subset"]


def subset(dataset: Dataset, n_train: int | None, n_test: int | None, seed: int = 0) -> Dataset:
    """Return a data set of at most so many rows, the classes in proportion; itself if it has no more.

    Parameters
    ----------
    dataset : Dataset
    n_train, n_test : int or None
        Rows of each part; None: all.
    seed : int
        Of the choice.
    """
    train = _chosen(dataset.train_labels, len(dataset.train), n_train, seed)
    test = _chosen(dataset.test_labels, len(dataset.test), n_test, seed)
    if train is None and test is None:
        return dataset
    counts = f"{n_train if train is not None else len(dataset.train)} of {len(dataset.train)} training and "
    counts += f"{n_test if test is not None else len(dataset.test)} of {len(dataset.test)} test rows"
    return replace(
        dataset,
        train=_taken(dataset.train, train),
        train_labels=_taken(dataset.train_labels, train),
        test=_taken(dataset.test, test),
        test_labels=_taken(dataset.test_labels, test),
        source=f"{dataset.source} ({counts})",
    )


def _chosen(labels: NDArray[np.int64] | None, n: int, wanted: int | None, seed: int) -> NDArray[np.intp] | None:
    if wanted is None or wanted >= n:
        return None
    codes = np.zeros(n, np.intp) if labels is None else np.unique(labels, return_inverse=True)[1]
    return np.sort(stratified_sample(codes, wanted, seed))


def _taken(array: Any, rows: NDArray[np.intp] | None) -> Any:
    return array if array is None or rows is None else array[rows]
