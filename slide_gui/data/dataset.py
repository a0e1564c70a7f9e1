"""The data set: frozen, checked once, the same for every source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.reading import NOT_SAID, Guess, ParseReport
from slide_gui.text import clean_name, count, counted, dataset_title, label_names

_MOST = 0.9  # of the rows: the rest has to be learned from


@dataclass(frozen=True)
class HeldOut:
    """Which rows take the place of a test part that data do not have: a share of each class, or one fold of several.

    Attributes
    ----------
    share : float
        Of the rows, 0 to 0.9; 0 holds nothing out. Without effect where there are folds.
    seed : int
        Of the draw.
    folds : int
        Into how many the rows are dealt, each of which is the test part once; 0: a share is held out instead.
    fold : int
        Which of them, from 0.
    """

    share: float = 0.25
    seed: int = 0
    folds: int = 0
    fold: int = 0

    def checked(self) -> HeldOut:
        """Return the normal form: what cannot change the rows has one value only.

        Raises
        ------
        ValueError
            Names what is out of range.
        """
        for name in ("seed", "folds", "fold"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < 1 << 32:
                raise ValueError(f"the split's {name} is {value!r}; it must be a whole number, 0 or more")
        if self.folds:
            if self.folds < 2 or self.fold >= self.folds:
                raise ValueError(f"fold {self.fold + 1} of {self.folds}; there must be at least 2, this one among them")
            return replace(self, share=0.0)
        if not (isinstance(self.share, (int, float)) and 0.0 <= self.share <= _MOST):
            raise ValueError(f"the share held out is {self.share!r}; it must be 0 to {_MOST:g}")
        return HeldOut(float(self.share), self.seed if self.share else 0)

    @property
    def each(self) -> tuple[HeldOut, ...]:
        """All folds of the same draw; itself where a share is held out."""
        return tuple(replace(self, fold=fold) for fold in range(self.folds)) or (self,)

    def __str__(self) -> str:
        if self.folds:
            return f"fold {self.fold + 1} of {self.folds}, seed {self.seed}"
        if not self.share:
            return "nothing held out"
        return f"{100 * self.share:g} % held out, seed {self.seed}"

    def fingerprint(self, whole: str) -> str:
        """Return the fingerprint of data divided so, from that of all their rows."""
        words = (whole, *(repr(getattr(self, name)) for name in ("share", "seed", "folds", "fold")))
        return hashlib.sha256(" ".join(words).encode()).hexdigest()


_FEW_SHARED = 0.05  # of the test rows: listed, but not worth a question


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test rows with their labels.

    Attributes
    ----------
    name : str
        What the person calls it, e.g. ``"Rectangles"``; generated data have the name of what they stand for, or their
        own. This and all names below are kept as `slide_gui.text.clean_name` returns them.
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
    feature_names : tuple of str
        Of features that are no picture, where the source names them; else empty.
    held_out : HeldOut or None
        How the test part was taken from rows that had none; None where it came with the data, or there is none.
    opened : ParseReport
        How its files were read.
    order : ndarray of shape (n + m,), int64, or None
        Of each row of the training part, then of the test part, its place among all rows; where some were held out.
    whole : str
        The fingerprint of all the rows together, where some were held out; else empty.
    groups : ndarray of shape (n,), int64, or None
        The group of each training row, if there are groups that no split may divide.
    test_groups : ndarray of shape (m,), int64, or None
        The same of rows that were held out.
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
    feature_names: tuple[str, ...] = ()
    opened: ParseReport = NOT_SAID
    held_out: HeldOut | None = None
    order: NDArray[np.int64] | None = None
    whole: str = ""
    groups: NDArray[np.int64] | None = None
    test_groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))
        for each in ("label_names", "feature_names"):
            object.__setattr__(self, each, _cleaned(getattr(self, each), self.name))
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
    def n_repeated(self) -> tuple[int, int]:
        """How many training rows equal an earlier one, and how many test rows equal a training row."""
        # The sum makes 0 of −0, which is another byte.
        train, test = (
            np.fromiter((hash((row + np.float32(0)).tobytes()) for row in rows), np.int64, len(rows))
            for rows in (self.train, self.test)
        )
        return len(train) - len(np.unique(train)), int(np.isin(test, train).sum())

    @cached_property
    def checks(self) -> tuple[Guess, ...]:
        """What was guessed of the files, and rows that occur more than once; the latter not of generated data."""
        if self.generated or self.train_labels is None:
            return self.opened.guesses
        (repeated, shared), found = self.n_repeated, []
        if shared:
            what = f"{count(shared)} of {counted(len(self.test), 'test row')} also in the training set"
            why = "the test error may be too low; leave repeated rows out, or name a column of groups"
            few = shared < _FEW_SHARED * len(self.test)
            found.append(Guess(what, why, sure=bool(self.key) or few))
        if repeated:
            what = f"{count(repeated)} of {counted(len(self.train), 'training row')} equal to an earlier one"
            found.append(Guess(what, "the validation error may be too low", sure=True))
        return (*self.opened.guesses, *found)

    @cached_property
    def why_no_classes(self) -> str:
        """Why no classifier can be trained on them, in a sentence with the remedy; empty where one can."""
        if self.train_labels is None:
            return self.opened.unlabelled or "the rows have no labels; a classifier needs one for each, so add them"
        known = np.unique(self.train_labels)
        if len(known) > 1:
            return ""
        (name,) = label_names(known.tolist(), self.label_names)
        return f"all rows to train on are of the class {name}; a classifier needs two, so add rows of another"

    def check_classes(self) -> None:
        """Refuse data that no classifier can be trained on.

        Raises
        ------
        DataError
            Says why, with the remedy.
        """
        if self.why_no_classes:
            options = " (--label-column NAME, or --bins 3)" if self.opened.quantity else ""
            raise DataError(f"{self.why_no_classes}{options}", self.name)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the arrays, the image shape and the groups: equal data have equal fingerprints.

        Where rows were held out, it is of all rows together and of how they were divided.
        """
        if self.held_out is not None:
            return self.held_out.fingerprint(self.whole)
        digest = hashlib.sha256(repr(self.image_shape).encode())
        for array in (self.train, self.test, self.train_labels, self.test_labels):
            if array is None:
                digest.update(b"none")
            else:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        if self.groups is not None:
            digest.update(np.ascontiguousarray(self.groups).data)
        return digest.hexdigest()


def _cleaned(names: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the names as `clean_name` does; no two that differ may become one."""
    clean = tuple(map(clean_name, names))
    if len(set(clean)) < len(set(names)):
        again = next(name for k, name in enumerate(clean) if name in clean[:k])
        raise DataError(f"two different names are both shown as {again}; rename one of them", place)
    return clean


def _check(data: Dataset) -> None:
    for rows_said, labels_said, rows, labels in (
        ("training rows", "training labels", data.train, data.train_labels),
        ("test rows", "test labels", data.test, data.test_labels),
    ):
        if rows.ndim != 2 or rows.dtype != np.float32:
            raise DataError(f"{rows_said} must be a 2-D float32 array, found {rows.ndim}-D {rows.dtype}")
        if labels is not None and labels.shape != (rows.shape[0],):
            raise DataError(f"{labels_said}: found {labels.shape}, expected one for each of {rows.shape[0]} rows")
    if data.groups is not None and data.groups.shape != (data.train.shape[0],):
        raise DataError(f"{data.name}: found {data.groups.shape} groups, expected one for each of the training rows")
    if data.train.shape[0] < 1 or data.train.shape[1] < 1:
        raise DataError(f"{data.name}: the training part is empty {data.train.shape}; at least one row is needed")
    if data.test.shape[1] != data.train.shape[1]:
        raise DataError(
            f"{data.name}: training rows have {data.train.shape[1]} features, test rows {data.test.shape[1]}"
        )
    if data.feature_names and len(data.feature_names) != data.train.shape[1]:
        raise DataError(f"{data.name}: {len(data.feature_names)} names for {data.train.shape[1]} features")
    if data.image_shape is not None and data.image_shape[0] * data.image_shape[1] != data.train.shape[1]:
        raise DataError(f"{data.name}: an image of {data.image_shape} does not have {data.train.shape[1]} pixels")
