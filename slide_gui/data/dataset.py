"""The data set: frozen, checked once, the same for every source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.text import dataset_title

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test rows with their labels.

    Attributes
    ----------
    name : str
        What the person calls it, e.g. ``"Rectangles"``; generated data have the name of what they stand for, or their
        own.
    train, test : ndarray of shape (n, d) and (m, d), float32
        One row a sample; pixels in row-major order, in [0, 1] for images. Read-only; ``m`` may be 0.
    train_labels, test_labels : ndarray of shape (n,) and (m,), int64, or None
        None where the source has no labels.
    image_shape : tuple of (rows, columns), or None
        None for plain features that are no picture.
    label_names : tuple of str
        A name for each label value 0, 1, …; empty when the values speak for themselves.
    generated : bool
        True for data made by a seeded generator, False for data read from files.
    key : str
        Of the catalogue, whichever of its data they are; empty for all others.
    source : str
        The path it was read from, or the generator with its seed.
    licence, citation : str
        As far as the source states them.
    """

    name: str
    train: NDArray[np.float32]
    test: NDArray[np.float32]
    train_labels: NDArray[np.int64] | None = None
    test_labels: NDArray[np.int64] | None = None
    image_shape: tuple[int, int] | None = None
    label_names: tuple[str, ...] = ()
    generated: bool = False
    source: str = ""
    licence: str = "not stated"
    citation: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        _check(self)
        for array in (self.train, self.test, self.train_labels, self.test_labels):
            if array is not None:
                array.flags.writeable = False

    @property
    def title(self) -> str:
        """Name for people, with a mark where the data are generated."""
        return dataset_title(self.name, self.generated)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.train.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the arrays and the image shape: equal data have equal fingerprints."""
        digest = hashlib.sha256(repr(self.image_shape).encode())
        for array in (self.train, self.test, self.train_labels, self.test_labels):
            if array is None:
                digest.update(b"none")
            else:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def _check(data: Dataset) -> None:
    for part, rows, labels in (
        ("training", data.train, data.train_labels),
        ("test", data.test, data.test_labels),
    ):
        if rows.ndim != 2 or rows.dtype != np.float32:
            raise DataError(f"{part} rows must be a 2-D float32 array, found {rows.ndim}-D {rows.dtype}")
        if labels is not None and labels.shape != (rows.shape[0],):
            raise DataError(f"{part} labels: found {labels.shape}, expected one for each of {rows.shape[0]} rows")
    if data.train.shape[0] < 1 or data.train.shape[1] < 1:
        raise DataError(f"{data.name}: the training part is empty {data.train.shape}; at least one row is needed")
    if data.test.shape[1] != data.train.shape[1]:
        raise DataError(
            f"{data.name}: training rows have {data.train.shape[1]} features, test rows {data.test.shape[1]}"
        )
    if data.image_shape is not None and data.image_shape[0] * data.image_shape[1] != data.train.shape[1]:
        raise DataError(f"{data.name}: an image of {data.image_shape} does not have {data.train.shape[1]} pixels")
