"""Select the rows for training and evaluation by seeded, stratified random draws, not by their order in the files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sampling import N_FOLDS, Indices, deal_groups, stratified_folds
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.errors import DataError
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import counted, plural

if TYPE_CHECKING:
    from slide_gui.experiments.runs.spec import RunSpec


@dataclass(frozen=True, eq=False)
class Classes:
    """The labels of a data set, coded as integers from 0.

    Attributes
    ----------
    labels : tuple of int
        Label of each code. The labels that occur in the training set come first.
    train, test : ndarray of int
        Code of the label of each row of the training set and of the test set.
    groups : ndarray of int, or None
        Group of each training row, as in `Dataset.groups`. None if the data have no groups.
    """

    labels: tuple[int, ...]
    train: Indices
    test: Indices
    groups: Indices | None = None

    @classmethod
    def of(cls, dataset: Dataset, *, tested: bool = False) -> "Classes":
        """Assign an integer code to each label of a data set.

        Raises
        ------
        DataError
            If the training rows have no labels, or all have the same label. If `tested` is True, the error is also
            raised if no test rows have labels.
        """
        dataset.check_classes()
        assert dataset.train_labels is not None
        known = np.unique(dataset.train_labels)
        judged = np.empty(0, np.int64) if dataset.test_labels is None else dataset.test_labels
        labels = np.concatenate([known, np.setdiff1d(judged, known)])
        if tested and len(judged) == 0:
            what = "the test rows have no labels; open the training set alone"
            if dataset.n_test == 0:
                what = "there are no test rows; hold out rows of the training file"
            raise DataError(f"{what}, or evaluate on validation rows", dataset.name)
        by_label = np.argsort(labels)
        test = by_label[np.searchsorted(labels, judged, sorter=by_label)]
        train = np.searchsorted(known, dataset.train_labels)
        return cls(tuple(labels.tolist()), train.astype(np.intp), test.astype(np.intp), dataset.groups)


# Largest number of validation rows of a split.
MOST_VALIDATION = 10_000


def split_rows(codes: Indices, split: int, seed: int, groups: Indices | None = None) -> tuple[Indices, Indices]:
    """Return the training and the validation rows of one split, each sorted.

    Splits 0 to 4 are the folds of one five-fold cross-validation, splits 5 to 9 the folds of another, and so on.
    The validation rows are all rows of one fold, or 10 000 of them if the fold is larger.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each row of the training set.
    split, seed : int
        Index of the split, from 0, and seed of the random draw.
    groups : ndarray of int, shape (n,), optional
        Group of each row. Groups are never divided, so the sizes of the folds are only approximately equal. With fewer
        than five groups, there are fewer than five folds.

    Raises
    ------
    ValueError
        If no class has two rows, or if the groups cannot be divided into two folds, for example if each class is one
        group.
    """
    repetition, fold = divmod(split, N_FOLDS)
    seed = int(np.random.SeedSequence((repetition, seed)).generate_state(1, np.uint64)[0])
    if groups is None:
        counts = np.bincount(codes)
        n_folds = min(N_FOLDS, int(counts[counts > 1].sum()))
        folds = stratified_folds(codes, seed, n_folds=n_folds) if n_folds else np.full(len(codes), -1)
    else:
        n_folds = min(N_FOLDS, len(np.unique(groups)))
        dealt = deal_groups(codes, groups, (1.0 / n_folds,) * n_folds, seed)
        # Folds can be empty if every group contains a single class. In this case, the other folds are renumbered.
        folds = np.unique(dealt, return_inverse=True)[1]
        n_folds = int(folds.max()) + 1
    held_out = np.flatnonzero(folds == fold % max(n_folds, 1))
    if groups is None:
        held_out = np.sort(held_out[stratified_sample(codes[held_out], MOST_VALIDATION, seed)])
    if not len(held_out):
        raise ValueError("no row can be held out, because no class has two training rows; add rows")
    if len(held_out) == len(codes):
        raise ValueError("the training rows have too few groups to be split; do not group the rows")
    return np.setdiff1d(np.arange(len(codes)), held_out, assume_unique=True), held_out


def different_splits(dataset: Dataset, splits: Sequence[int], seeds: Sequence[int] = (0,)) -> tuple[int, ...]:
    """Return the given splits, except those that repeat an earlier split.

    A split repeats another split if both have the same validation rows for every seed. This can occur if the data have
    few groups.

    Raises
    ------
    DataError
        If the rows cannot be split.
    """
    classes = Classes.of(dataset)
    try:
        folds = [
            [split_rows(classes.train, split, seed, classes.groups)[1].tolist() for seed in seeds] for split in splits
        ]
    except ValueError as error:
        raise DataError(str(error), dataset.name) from None
    return tuple(split for number, split in enumerate(splits) if folds.index(folds[number]) == number)


def stratified_order(codes: Indices, seed: int) -> Indices:
    """Return all row indices in random order.

    For every m, the class proportions among the first m rows are approximately those among all rows. With two classes,
    the number of rows of each class differs by at most one from the exactly proportional number.
    """
    rng = np.random.default_rng(seed)
    place = np.empty(len(codes))
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(place, kind="stable")


def stratified_sample(codes: Indices, size: int | None, seed: int) -> Indices:
    """Return the first `size` row indices of `stratified_order`, or all of them if `size` is None."""
    return stratified_order(codes, seed)[:size]


def can_hold_out(dataset: Dataset) -> bool:
    """Return True if rows can be held out as a test set.

    This is possible if the data have no test set of their own, at least two classes, and at least two rows of one
    class. Data whose test set already consists of held-out rows need only labels.
    """
    if dataset.held_out is not None:
        return dataset.train_labels is not None
    if dataset.train_labels is None or dataset.n_test:
        return False
    counts = np.unique(dataset.train_labels, return_counts=True)[1]
    return len(counts) > 1 and int(counts.max()) > 1


def with_filled(dataset: Dataset, progress: Progress = NO_PROGRESS) -> Dataset:
    """Fill all missing cells with the predictions of a `LinearImputer` that is fitted on the training rows.

    Raises
    ------
    DataError
        If the missing cells form too many different patterns.
    """
    if dataset.missing is None:
        return dataset
    from slide_gui.core.imputation import LinearImputer  # The import is slow, because it loads scikit-learn.

    try:
        train, test = dataset.known_cells
        imputer = LinearImputer().fit(train, progress=progress.part(0.0, 0.8))
        train = imputer.transform(train, progress=progress.part(0.8, 0.9))
        test = imputer.transform(test, progress=progress.part(0.9, 1.0)) if len(test) else test
    except ValueError as error:
        raise DataError(str(error), dataset.name) from error
    return replace(dataset, train=train, test=test)


def with_test_part(dataset: Dataset, held_out: HeldOut | None = None, *, progress: Progress = NO_PROGRESS) -> Dataset:
    """Fill all missing cells, and hold out a test set if the data have none and rows can be held out.

    Parameters
    ----------
    held_out : HeldOut, optional
        Rule that selects the held-out rows. By default, if `can_hold_out` returns True, a quarter of each class is
        held out with seed 0.

    Raises
    ------
    DataError
        If `divide` cannot divide the rows, or missing cells cannot be filled.
    """
    if held_out is not None:
        return divide(dataset, held_out, progress=progress)
    return divide(dataset, HeldOut(), progress=progress) if can_hold_out(dataset) else with_filled(dataset, progress)


def divide(dataset: Dataset, held_out: HeldOut, *, progress: Progress = NO_PROGRESS) -> Dataset:
    """Hold out some rows of the data as a test set, and fill missing cells. The rows of both sets keep their order.

    In both sets, the number of rows of each class is proportional to the size of the class, up to rounding. If a
    fraction of the rows is held out rather than a fold, every class keeps at least one training row. Rows without
    labels are treated as one class. If the data have groups, each group is held out as a whole or not at all. In this
    case, the class proportions are only approximate, and a class can lack training rows. If the features of a table are
    scaled to 0 … 1, they are rescaled according to their ranges or quantiles in the training rows.

    Parameters
    ----------
    dataset : Dataset
        Data without a test set, or with held-out rows. Held-out rows are first returned to the training set.

    Raises
    ------
    DataError
        If the data have their own test set or too few rows. The error is also raised if a scaled value of a held-out
        row exceeds the range of float32.
    ValueError
        If a value in `held_out` is out of range.
    """
    held_out, whole = held_out.checked(), undivided(dataset)
    if not held_out.folds and not held_out.share:
        return with_filled(whole, progress)
    if whole.n_test:
        raise DataError(f"the data already have a test set of {whole.n_test} rows; do not hold out rows", whole.name)
    n = len(whole.train)
    codes = np.zeros(n, np.intp)
    if whole.train_labels is not None:
        codes = np.unique(whole.train_labels, return_inverse=True)[1].astype(np.intp)
    n_units, unit = (n, "row") if whole.groups is None else (len(np.unique(whole.groups)), "group")
    if held_out.folds > n_units:
        problem = f"the data have {counted(n_units, unit)}, fewer than the {held_out.folds} folds"
        raise DataError(f"{problem}; request fewer folds", whole.name)
    if whole.groups is not None:
        test = _whole_groups(codes, whole.groups, held_out)
    else:
        test = _fold(codes, held_out) if held_out.folds else _share(codes, held_out)
    if not 0 < len(test) < n:
        remedy = "add rows, or hold out fewer rows"
        if whole.groups is not None:
            remedy = "use fewer folds, another fraction or another seed, or do not group the rows"
        raise DataError(f"the training set or the test set would be empty ({held_out}); {remedy}", whole.name)
    train = np.setdiff1d(np.arange(n), test)
    order = np.concatenate([train, test]).astype(np.int64)
    rows, scaling = _scaled_by(train, whole, whole.train, progress.part(0.0, 0.5))
    divided = replace(
        whole,
        train=rows[train],
        test=rows[test],
        train_labels=_chosen_rows(whole.train_labels, train),
        test_labels=_chosen_rows(whole.train_labels, test),
        held_out=held_out,
        order=order,
        whole=whole.fingerprint,
        groups=_chosen_rows(whole.groups, train),
        test_groups=_chosen_rows(whole.groups, test),
        missing=_chosen_rows(whole.missing, order),
        scaling=scaling,
    )
    return with_filled(divided, progress.part(0.5, 1.0))


def _scaled_by(
    training: Indices | slice, dataset: Dataset, rows: NDArray[np.float32], progress: Progress = NO_PROGRESS
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Return all rows and their scaling. If a table is scaled, its training rows alone define the scaling."""
    if dataset.unscaled is None:
        return rows, dataset.scaling
    from slide_gui.data.assemble import rescaled  # The import is deferred, so that the window opens sooner.

    return rescaled(dataset, training, progress)


def undivided(dataset: Dataset) -> Dataset:
    """Move the held-out rows, if there are any, back to their original positions in the training set."""
    if dataset.held_out is None or dataset.order is None:
        return dataset
    order = dataset.order

    def joined(train: Any, test: Any) -> Any:
        if train is None or test is None:
            return None
        both = np.concatenate([train, test])
        rows = np.empty_like(both)
        rows[order] = both
        return rows

    labels = joined(dataset.train_labels, dataset.test_labels)
    rows, scaling = _scaled_by(slice(None), dataset, joined(dataset.train, dataset.test))
    whole = replace(
        dataset,
        missing=None if dataset.missing is None else joined(dataset.missing, dataset.missing[:0]),
        groups=joined(dataset.groups, dataset.test_groups),
        test_groups=None,
        train=rows,
        test=np.empty((0, dataset.n_features), np.float32),
        train_labels=labels,
        test_labels=None if labels is None else np.empty(0, np.int64),
        held_out=None,
        order=None,
        whole="",
        scaling=scaling,
    )
    whole.__dict__["fingerprint"] = dataset.whole  # The known hash is stored, because hashing all rows is slow.
    return whole


def divided_as(dataset: Dataset, fingerprint: str, held_out: HeldOut | None) -> Dataset:
    """Divide the data into a training and a test set as a run requires.

    If the data are not those of the run, they are returned unchanged. `fingerprint` and `held_out` are fields of the
    run's spec.
    """
    if dataset.fingerprint == fingerprint or dataset.fingerprint_as(held_out) != fingerprint:
        return dataset
    return with_filled(undivided(dataset)) if held_out is None else divide(dataset, held_out)


@dataclass(frozen=True, eq=False)
class RunData:
    """The training, validation and test rows of a run.

    Attributes
    ----------
    dataset : Dataset
        The data, divided into training and test set as the spec requires.
    spec : RunSpec
        Spec of the run, as `RunSpec.checked` returns it.
    classes : Classes
        Class of each row.
    rows, validation, fit_rows : ndarray of int
        Indices, in the training set, of the rows for training the classifier, for validating it, and for fitting the
        representation.
    """

    dataset: Dataset
    spec: "RunSpec"
    classes: Classes
    rows: Indices
    validation: Indices
    fit_rows: Indices

    @classmethod
    def of(cls, dataset: Dataset, spec: "RunSpec") -> "RunData":
        """Divide the data and select the rows for a run, given its spec as `RunSpec.checked` returns it.

        Raises
        ------
        DataError
            If the data are not those that the spec names, lack labels or rows that the run needs, or have a single
            class.
        """
        dataset = divided_as(dataset, spec.fingerprint, spec.held_out)
        if dataset.fingerprint != spec.fingerprint:
            raise DataError(
                f"the data, or the options for reading them (such as --quantiles or --group), differ from those of the "
                f"run (SHA-256 {dataset.fingerprint[:12]}…, expected {spec.fingerprint[:12]}…); use those of the run",
                dataset.name,
            )
        classes = Classes.of(dataset, tested=spec.evaluate == "test")
        return cls(dataset, spec, classes, *_rows(classes, spec, dataset.name))

    def take(self, rows: Indices) -> NDArray[np.float32]:
        """Return the given rows of the training set. If all rows are requested, the array is not copied."""
        train = self.dataset.train
        return train if len(rows) == len(train) else train[rows]


def _rows(classes: Classes, spec: "RunSpec", place: str) -> tuple[Indices, Indices, Indices]:
    """Return the values of the fields `rows`, `validation` and `fit_rows` of `RunData`."""
    codes = classes.train
    rows = fit_rows = np.arange(len(codes))
    validation = np.empty(0, np.intp)
    if spec.training == "split":
        try:
            rows, validation = split_rows(codes, spec.split, spec.seed, classes.groups)
        except ValueError as error:
            raise DataError(str(error), place) from None
    # All rows of the other classes can be validation rows, for example if each class is one group.
    if (codes[rows] == codes[rows[0]]).all():
        raise DataError("all training rows have the same class; use another split, or do not group the rows", place)
    if spec.fit_rows == "split":  # `training` is then "split" as well, as `RunSpec.checked` ensures.
        fit_rows = rows
    if spec.labels is None:
        return rows, validation, fit_rows
    if spec.labels > len(rows):
        raise DataError(f"{len(rows)} training rows cannot have {spec.labels} labels; request fewer labels", place)
    labelled = np.sort(rows[stratified_sample(codes[rows], spec.labels, spec.seed)])
    absent = np.setdiff1d(codes[rows], codes[labelled])
    if len(absent):
        have = plural("class has", "classes have", len(absent))
        remedy = "use more labelled rows (in a trial, increase the time limit), or leave out the rows of rare classes"
        raise DataError(f"{len(absent)} {have} no row among the {spec.labels} labelled rows; {remedy}", place)
    return labelled, validation, labelled if spec.fit_rows == "labelled" else fit_rows


def _whole_groups(codes: Indices, groups: Indices, held_out: HeldOut) -> Indices:
    """Select rows to hold out, and return their sorted indices. Each group is held out as a whole or not at all."""
    if held_out.folds:
        shares, part = [1.0 / held_out.folds] * held_out.folds, held_out.fold
    else:
        shares, part = [1.0 - held_out.share, held_out.share], 1
    return np.flatnonzero(deal_groups(codes, groups, shares, held_out.seed) == part)


def _share(codes: Indices, held_out: HeldOut) -> Indices:
    """Select a fraction of the rows to hold out, and return their sorted indices.

    The first rows in the order of `stratified_order` are held out. The last row of each class in this order is never
    held out, so that each class keeps a training row.
    """
    order = stratified_order(codes, held_out.seed)
    last = len(codes) - 1 - np.unique(codes[order][::-1], return_index=True)[1]
    return np.sort(np.delete(order, last)[: round(held_out.share * len(codes))])


def _fold(codes: Indices, held_out: HeldOut) -> Indices:
    """Return the sorted indices of the rows in one fold.

    The rows of each class are shuffled and assigned to the folds in turn.
    """
    rng = np.random.default_rng(held_out.seed)
    order = np.concatenate([rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)])
    return np.sort(order[held_out.fold :: held_out.folds])


def subset(dataset: Dataset, n_train: int | None, n_test: int | None) -> Dataset:
    """Draw a stratified subsample of a data set. If all rows are requested, return the data set itself.

    Parameters
    ----------
    n_train, n_test : int or None
        Largest numbers of training and test rows. None means all.
    """
    train = _chosen(dataset.train_labels, len(dataset.train), n_train)
    test = _chosen(dataset.test_labels, dataset.n_test, n_test)
    if train is None and test is None:
        return dataset
    counts = f"{n_train if train is not None else len(dataset.train)} of {len(dataset.train)} training and "
    counts += f"{n_test if test is not None else dataset.n_test} of {dataset.n_test} test rows"
    missing, n = dataset.missing, len(dataset.train)
    if missing is not None:
        missing = np.concatenate([_chosen_rows(missing[:n], train), _chosen_rows(missing[n:], test)])
    return replace(
        dataset,
        train=_chosen_rows(dataset.train, train),
        train_labels=_chosen_rows(dataset.train_labels, train),
        test=_chosen_rows(dataset.test, test),
        test_labels=_chosen_rows(dataset.test_labels, test),
        held_out=None,
        order=None,
        whole="",
        groups=_chosen_rows(dataset.groups, train),
        test_groups=None,
        missing=missing,
        unscaled=None,
        source=f"{dataset.source} ({counts})",
    )


def _chosen(labels: NDArray[np.int64] | None, n: int, wanted: int | None) -> NDArray[np.intp] | None:
    if wanted is None or wanted >= n:
        return None
    codes = np.zeros(n, np.intp) if labels is None else np.unique(labels, return_inverse=True)[1]
    return np.sort(stratified_sample(codes, wanted, seed=0))


def _chosen_rows(array: Any, rows: NDArray[np.intp] | None) -> Any:
    return array if array is None or rows is None else array[rows]
