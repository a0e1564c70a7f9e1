"""Which rows are trained on and judged: stratified, seeded, and never simply the first ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sampling import held_out_mask
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError

__all__ = ["Classes", "split_rows", "stratified_order", "stratified_sample", "subset"]


Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Classes:
    """The labels of a data set as codes.

    Attributes
    ----------
    labels : tuple of int
        The label of each code; those of the training part first.
    train, test : ndarray of int
        The code of each row.
    n_train_classes : int
        How many of the codes occur in the training part.
    """

    labels: tuple[int, ...]
    train: Indices
    test: Indices
    n_train_classes: int

    @classmethod
    def of(cls, dataset: Dataset) -> Classes:
        """Number the labels of a data set.

        Raises
        ------
        DataError
            If the training rows have no labels, or all of them the same.
        """
        if dataset.train_labels is None:
            raise DataError("the training rows have no labels; a classifier needs one for each", dataset.name)
        known = np.unique(dataset.train_labels)
        if len(known) < 2:
            raise DataError(
                f"all training rows have the label {known[0]}; a classifier needs two classes", dataset.name
            )
        judged = np.empty(0, np.int64) if dataset.test_labels is None else dataset.test_labels
        labels = np.concatenate([known, np.setdiff1d(judged, known)])
        by_label = np.argsort(labels)
        test = by_label[np.searchsorted(labels, judged, sorter=by_label)]
        train = np.searchsorted(known, dataset.train_labels)
        return cls(tuple(labels.tolist()), train.astype(np.intp), test.astype(np.intp), len(known))


def split_rows(codes: Indices, split: int, seed: int) -> tuple[Indices, Indices]:
    """Return the training and the validation rows of one 80/20 split, each sorted.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        The class of each row of the training part.
    split, seed : int
        Two splits differ in either.

    Raises
    ------
    ValueError
        If no class has two rows.
    """
    mask = held_out_mask(codes, _seed(split, seed))
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def stratified_order(codes: Indices, seed: int) -> Indices:
    """Return all rows in a random order whose every beginning has the classes in proportion, to a row a class."""
    rng = np.random.default_rng(seed)
    place = np.empty(len(codes))
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(place, kind="stable")


def stratified_sample(codes: Indices, size: int | None, seed: int) -> Indices:
    """Return the first `size` rows of `stratified_order`: all of them for None."""
    return stratified_order(codes, seed)[:size]


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def subset(dataset: Dataset, n_train: int | None, n_test: int | None, seed: int = 0) -> Dataset:
    """Return a data set of at most so many rows, the classes in proportion; itself if it has no more.

    Parameters
    ----------
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
        train=_chosen_rows(dataset.train, train),
        train_labels=_chosen_rows(dataset.train_labels, train),
        test=_chosen_rows(dataset.test, test),
        test_labels=_chosen_rows(dataset.test_labels, test),
        source=f"{dataset.source} ({counts})",
    )


def _chosen(labels: NDArray[np.int64] | None, n: int, wanted: int | None, seed: int) -> NDArray[np.intp] | None:
    if wanted is None or wanted >= n:
        return None
    codes = np.zeros(n, np.intp) if labels is None else np.unique(labels, return_inverse=True)[1]
    return np.sort(stratified_sample(codes, wanted, seed))


def _chosen_rows(array: Any, rows: NDArray[np.intp] | None) -> Any:
    return array if array is None or rows is None else array[rows]
