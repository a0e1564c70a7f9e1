"""The immutable, checked data set that every reader and generator returns."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.reading import NO_GUESSES, Guess, ParseReport
from slide_gui.text import clean_name, count, counted, dataset_title, label_names

_SEPARATED = 10  # a feature that separates all classes is suspicious if each class has at least this number of rows
_MOST = 0.9  # largest fraction of held-out rows; the other rows are needed for training


@dataclass(frozen=True)
class HeldOut:
    """Choice of held-out rows for data without a test set: a fraction of each class, or one of several folds.

    Attributes
    ----------
    share : float
        Fraction of the rows, 0 to 0.9; 0 holds no rows out. Ignored if there are folds.
    seed : int
        Seed of the random draw.
    folds : int
        Number of folds, of which one is the test set; 0 to hold out the fraction `share` instead.
    fold : int
        Index, from 0, of the fold that is the test set.
    """

    share: float = 0.25
    seed: int = 0
    folds: int = 0
    fold: int = 0

    def checked(self) -> "HeldOut":
        """Return a checked choice in which fields without effect are reset, so that equal choices compare equal.

        Raises
        ------
        ValueError
            If a field is out of range.
        """
        for name in ("seed", "folds", "fold"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < 1 << 32:
                raise ValueError(f"the split's {name} is {value!r}; give an integer of 0 or more")
        if self.folds:
            if self.folds < 2 or self.fold >= self.folds:
                problem = f"fold {self.fold + 1} of {self.folds} does not exist"
                raise ValueError(f"{problem}; give at least 2 folds and an existing fold")
            return replace(self, share=0.0)
        if not (isinstance(self.share, (int, float)) and 0.0 <= self.share <= _MOST):
            raise ValueError(f"the fraction held out is {self.share!r}; give 0 to {_MOST:g}")
        return HeldOut(float(self.share), self.seed if self.share else 0)

    @property
    def each(self) -> "tuple[HeldOut, ...]":
        """One choice for each fold of the same random division, or only this choice if a fraction is held out."""
        return tuple(replace(self, fold=fold) for fold in range(self.folds)) or (self,)

    def __str__(self) -> str:
        if self.folds:
            return f"fold {self.fold + 1} of {self.folds}, seed {self.seed}"
        return f"{100 * self.share:g} % held out, seed {self.seed}" if self.share else "nothing held out"

    def fingerprint(self, whole: str) -> str:
        """Return the fingerprint of the divided data set. `whole` is the fingerprint of all its rows."""
        words = (whole, *(repr(getattr(self, name)) for name in ("share", "seed", "folds", "fold")))
        return hashlib.sha256(" ".join(words).encode()).hexdigest()


# If a smaller fraction of the test rows is also in the training set, the user need not check these rows.
_FEW_SHARED = 0.05


_drawing = Lock()


class _Rows:
    """A field for rows: an array, or a function that returns the array and is called when the rows are first used."""

    def __get__(self, dataset: "Dataset | None", _kind: type) -> NDArray[np.float32]:
        if dataset is None:
            raise AttributeError("the field has no default value")
        with _drawing:
            if callable(dataset.__dict__["test"]):
                self.__set__(dataset, dataset.__dict__["test"]())
        rows: NDArray[np.float32] = dataset.__dict__["test"]
        return rows

    def __set__(self, dataset: "Dataset", rows: NDArray[np.float32] | Callable[[], NDArray[np.float32]]) -> None:
        if isinstance(rows, np.ndarray):
            rows.flags.writeable = False
        dataset.__dict__["test"] = rows


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test rows with their labels.

    Attributes
    ----------
    name : str
        The name shown to the user, e.g. ``"Rectangles"``. This and all names below are cleaned by
        `slide_gui.text.clean_name`.
    train, test : ndarray of shape (n, d) and (m, d), float32
        One row per sample. Images have pixels in row-major order, in [0, 1]. Read-only; ``m`` may be 0. The test rows
        may be given as a function that returns them. It is called when they are first used; `test_labels` is required.
    train_labels, test_labels : ndarray of shape (n,) and (m,), int64, or None
        None if the source has no labels.
    image_shape : tuple of (rows, columns), or None
        None for features that are not pixels.
    label_names : tuple of str
        A name for each label value 0, 1, …; empty if the numbers themselves are shown as names.
    generated : bool
        True for data made by a seeded generator, False for data read from files.
    key : str
        Key of a catalogue data set; empty for all other data.
    source : str
        Path of the file, or the generator with its seed.
    licence, citation : str
        Licence and citation, as stated by the source of the data.
    feature_names : tuple of str
        Names of features that are not pixels, if the source has names; else empty.
    held_out : HeldOut or None
        Choice of the held-out rows that are the test set; None if the data have a separate test set or no test set.
    opened : ParseReport
        Report of how the files were read.
    order : ndarray of shape (n + m,), int64, or None
        If rows were held out: the index that each training row, and then each test row, had before the division.
    whole : str
        If rows were held out: the fingerprint of all rows before the division. Otherwise empty.
    groups : ndarray of shape (n,), int64, or None
        Group of each training row, if there are groups; a split never divides a group.
    test_groups : ndarray of shape (m,), int64, or None
        Group of each held-out row, if there are groups.
    missing : ndarray of shape (n + m, d), bool, or None
        True for each missing cell of the training rows, then of the test rows; None if no cell is missing. Missing
        cells are NaN until they are filled.
    scaling : ndarray of shape (2, d) or (k, d), or None
        Offset and divisor of each feature: the scaled value is (value − offset) / divisor. If the features are scaled
        by quantiles: k quantiles of each feature, at equally spaced probabilities from 0 to 1. None if the values of a
        table are unchanged, or if the original scale of images is unknown.
    unscaled : ndarray of shape (n + m, d), or None
        If each feature of a table without a separate test set was scaled to 0 … 1: the rows before scaling, of any real
        dtype and in the order of the file. If rows are held out, the training rows alone determine `scaling`.
    """

    name: str
    train: NDArray[np.float32]
    test: _Rows = _Rows()
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
    opened: ParseReport = NO_GUESSES
    held_out: HeldOut | None = None
    order: NDArray[np.int64] | None = None
    whole: str = ""
    groups: NDArray[np.int64] | None = None
    test_groups: NDArray[np.int64] | None = None
    missing: NDArray[np.bool_] | None = None
    scaling: NDArray[np.float64] | None = None
    unscaled: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))
        for each in ("label_names", "feature_names"):
            object.__setattr__(self, each, _clean_names(getattr(self, each), self.name))
        if self.train.size == 0:
            raise DataError(f"{self.name}: the training set {self.train.shape} is empty; give rows and features")
        for array in (self.train, self.train_labels, self.test_labels):
            if array is not None:
                array.flags.writeable = False

    @property
    def title(self) -> str:
        """The name shown to the user. The name of generated data ends in "(generated)"."""
        return dataset_title(self.name, self.generated)

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells in the training and the test set together."""
        return 0 if self.missing is None else int(np.count_nonzero(self.missing))

    @property
    def known_cells(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The training rows and the test rows, with NaN in each missing cell even if the cell was filled."""
        if self.missing is None:
            return self.train, self.test
        train, test = np.split(self.missing, [len(self.train)])
        nan = np.float32(np.nan)
        return np.where(train, nan, self.train), np.where(test, nan, self.test)

    @property
    def n_test(self) -> int:
        """Number of test rows m."""
        return len(self.test if self.test_labels is None else self.test_labels)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return int(self.train.shape[1])

    @property
    def central_feature(self) -> int:
        """Index of the pixel in the middle of the images, or of the middle feature if the features are not pixels."""
        if self.image_shape is None:
            return self.n_features // 2
        rows, columns = self.image_shape
        return rows // 2 * columns + columns // 2

    @cached_property
    def n_classes(self) -> int:
        """Number of classes in the training set, or 0 if it has no labels."""
        return 0 if self.train_labels is None else len(np.unique(self.train_labels))

    @cached_property
    def n_repeated(self) -> tuple[int, int]:
        """Number of training rows that equal an earlier training row, and of test rows that equal a training row."""
        # Adding 0 turns −0 into 0. Without it, equal rows could have different bytes.
        train, test = (
            np.fromiter((hash((row + np.float32(0)).tobytes()) for row in rows), np.int64, len(rows))
            for rows in (self.train, self.test)
        )
        return len(train) - len(np.unique(train)), int(np.isin(test, train).sum())

    def _separating(self) -> Iterator[str]:
        """Yield each feature of a table that alone separates all classes, if each class has ten training rows."""
        assert self.train_labels is not None
        order = np.argsort(self.train_labels, kind="stable")
        _, starts, counts = np.unique(self.train_labels[order], return_index=True, return_counts=True)
        if self.image_shape is not None or len(starts) < 2 or counts.min() < _SEPARATED:
            return
        for k in range(self.n_features):
            column = self.train[order, k]
            low, high = (np.sort(each.reduceat(column, starts)) for each in (np.minimum, np.maximum))
            if (high[:-1] < low[1:]).all():
                yield f"“{self.feature_names[k]}”" if self.feature_names else str(k + 1)

    @cached_property
    def checks(self) -> tuple[Guess, ...]:
        """All guesses made in reading the files and, with labels, warnings of repeated rows and suspicious features."""
        if self.generated or self.train_labels is None:
            return self.opened.guesses
        (repeated, shared), warnings = self.n_repeated, []
        if shared:
            what = f"the training set also contains {count(shared)} of {counted(self.n_test, 'test row')}"
            remedy = ", or choose groups (Groups in, or --group)" if self.opened.columns else ""
            why = f"the test error may be too low; leave repeated rows out{remedy}"
            few = shared < _FEW_SHARED * self.n_test
            warnings.append(Guess(what, why, sure=bool(self.key) or few))
        if repeated:
            what = f"{count(repeated)} of {counted(len(self.train), 'training row')} are equal to an earlier row"
            warnings.append(Guess(what, "the validation error may be too low", sure=True))
        for name in islice(self._separating(), 3):
            remedy = "leave it out (Left out, or --leave-out)" if self.opened.columns else "delete it in the file"
            why = f"if it numbers the rows or repeats the label, {remedy}"
            warnings.append(Guess(f"feature {name} separates all classes", why))
        return (*self.opened.guesses, *warnings)

    @cached_property
    def why_no_classes(self) -> str:
        """The reason why no classifier can be trained, with the remedy. Empty if a classifier can be trained."""
        if self.train_labels is None:
            return self.opened.unlabelled or "the rows have no labels; add a label to each row to train a classifier"
        first = self.train_labels[0]
        if (self.train_labels != first).any():  # np.unique would import numpy.ma, which is slow
            alone = self.n_test == 0 and len(set(self.train_labels.tolist())) == len(self.train_labels)
            return "no class has two rows, so no row can be held out for a test; add rows" if alone else ""
        (name,) = label_names([first.item()], self.label_names)
        return f"all training rows are of the class {name}; add rows of another class to train a classifier"

    def check_classes(self) -> None:
        """Raise an error if no classifier can be trained on the data.

        Raises
        ------
        DataError
            If no classifier can be trained. The message gives the reason and the remedy.
        """
        if self.why_no_classes:
            options = " (--label-column NAME, or --bins 3)" if self.opened.quantity else ""
            raise DataError(f"{self.why_no_classes}{options}", self.name)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the arrays before missing cells were filled, the image shape and the groups.

        If rows were held out, it is computed by `fingerprint_as`.
        """
        if self.held_out is not None:
            return self.fingerprint_as(self.held_out)
        digest = hashlib.sha256(repr(self.image_shape).encode())
        for array in (*self.known_cells, self.train_labels, self.test_labels):
            if array is None:
                digest.update(b"none")
            else:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
        if self.groups is not None:
            digest.update(np.ascontiguousarray(self.groups).data)
        return digest.hexdigest()

    def fingerprint_as(self, held_out: HeldOut | None) -> str:
        """Return the fingerprint of the same rows with another choice of held-out rows, or with none held out.

        If a scaled table is divided, only its training rows determine the scale. In earlier versions, all rows did, so
        the run stores of these versions contain other fingerprints.
        """
        whole = self.whole or self.fingerprint
        if held_out is None:
            return whole
        return held_out.fingerprint(whole if self.unscaled is None else f"scaled by training rows {whole}")


def _clean_names(names: tuple[str, ...], place: str) -> tuple[str, ...]:
    """Return the names cleaned by `clean_name`. Raise DataError if different names become equal."""
    clean = tuple(map(clean_name, names))
    if len(set(clean)) < len(set(names)):
        repeated = next(name for k, name in enumerate(clean) if name in clean[:k])
        raise DataError(f"two different names are both shown as {repeated}; rename one of them", place)
    return clean
