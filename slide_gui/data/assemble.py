"""Parts of files become one data set: paired, scaled and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import recognise
from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.readers.parts import DataPart, looks_like_quantity, quantile_ranges, whole_labels
from slide_gui.data.readers.tables import fits_float32
from slide_gui.data.reading import AS_GUESSED, Guess, ParseOptions, ParseReport
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import count, counted, label_names, plural

_BLOCK = 1 << 20  # numbers
_COMPARED = 2_000_000  # numbers whose rounding to float32 is looked at
_SMALLEST = 1e-30  # below it float32 cannot hold inverses, squares and differences of numbers

Scale = tuple[NDArray[np.float64], NDArray[np.float64]]  # of each feature, its smallest value and the size of its range


def assemble(
    parts: Sequence[DataPart],
    paths: Sequence[Path],
    reading: ParseOptions = AS_GUESSED,
    *,
    progress: Progress = NO_PROGRESS,
) -> Dataset:
    """Make a data set of a training part and, if there is one, a test part.

    A test part alone becomes the training part. Where both name their columns, these are matched by name, else by
    position. Images of whole numbers are scaled to [0, 1] by the smallest of 1, 16 and 255 that holds both parts (16
    are the levels of scikit-learn's digits). Features that are no picture are brought to [0, 1] one by one, as
    `ParseOptions.scaled` says; all other numbers stay as they are, except that those smaller than 1e-30 become 0.

    Parameters
    ----------
    parts : sequence of DataPart
        At most one of each role.
    paths : sequence of Path
        What was opened, for the name and the source.
    reading : ParseOptions
        Whether the features are images, of what shape, and how they are stored.
    progress : Progress
        Reports the share of the numbers converted.

    Raises
    ------
    DataError
        If there are several parts of one role, the parts do not agree in their features or have no class in
        common, or a number is not finite as float32; or what was asked for does not fit them.
    """
    if not parts or not all(part.opened.columns for part in parts):
        _refuse_columns(reading, parts[0].place if parts else "")
    by_role = {role: [part for part in parts if part.role == role] for role in ("train", "test")}
    for role, found in by_role.items():
        if len(found) > 1:
            both = {"first": found[0].place, "second": found[1].place}
            raise DataError(
                "{first} and {second} are both a training part; open one of them".format(**both)
                if role == "train"
                else "{first} and {second} are both a test part; open one of them".format(**both)
            )
    train = (by_role["train"] or by_role["test"])[0]
    test = by_role["test"][0] if by_role["train"] and by_role["test"] else None
    if test is not None:
        test = _shaped(_with_columns_of(train, test), reading)
    train = _shaped(train, reading)
    if test is not None and (test.rows.shape[1], test.image_shape) != (train.rows.shape[1], train.image_shape):
        raise DataError(
            f"has {_shape(test)}, expected {_shape(train)} as in the training part {train.place}",
            test.place,
        )
    check_memory(sum(4 * part.rows.size for part in parts), train.place)
    scaled = _is_scaled(train, reading)
    scale = _ranges(train) if scaled else _full_scale([train] if test is None else [train, test])
    share = train.rows.shape[0] / (train.rows.shape[0] + (test.rows.shape[0] if test else 0))
    merged = _merged(train, scale)  # before rows that are float32 already are scaled in place
    rows = _float32(train, scale, progress.part(0.0, share))
    empty = np.empty((0, rows.shape[1]), np.float32)
    test_rows = _float32(test, scale, progress.part(share, 1.0)) if test else empty
    if scaled and test is not None and not np.isfinite(test_rows).all():
        raise DataError(
            (
                f"holds values more than {np.finfo(np.float32).max:.1g} times as far from those of the "
                f"training part {train.place} "
                "as those are from one another; correct them, or leave the scaling out"
            ),
            test.place,
        )
    tiny = _without_tiny(rows, train.feature_names)
    _without_tiny(test_rows, ())
    known = recognise([part.place for part in parts], rows.shape[0], test_rows.shape[0], rows.shape[1])
    train, test = _with_classes(train, test, reading)
    names = _label_names(train, test)
    if test is not None and test.label_names != names:
        test = _renamed(test, names)
    if train.label_names != names:
        train = _renamed(train, names)
    opened = _said(train.opened, scaled, reading)
    opened = replace(opened, guesses=(*opened.guesses, *merged, *tiny))
    if test is not None:
        guesses = (*_of_test_set(test, opened.guesses), *_unseen_classes(train, test, names))
        opened = replace(opened, guesses=(*opened.guesses, *guesses, *_shared_groups(train, test)))
    return Dataset(
        name=known.title if known else _name(paths),
        train=rows,
        test=test_rows,
        train_labels=train.labels,
        test_labels=_test_labels(train, test),
        image_shape=train.image_shape,
        label_names=known.label_names if known else names,
        source="; ".join(str(path) for path in paths),
        licence=known.licence if known else "not stated",
        citation=known.citation if known else "",
        key=known.key if known else "",
        feature_names=() if train.image_shape else train.feature_names,
        opened=_sure(opened) if known else opened,
        groups=train.groups,
    )


def _with_columns_of(train: DataPart, test: DataPart) -> DataPart:
    """Return a test set with its columns in the order of the training set, by their names.

    Raises
    ------
    DataError
        If both name their columns and one has a column that the other lacks.
    """
    if not (train.feature_names and test.feature_names):
        if (train.feature_names or test.feature_names) and test.rows.shape[1] == train.rows.shape[1]:
            what = "columns of the training set and the test set matched by position"
            why = f"{test.place if train.feature_names else train.place} has no column names"
            return replace(test, opened=replace(test.opened, guesses=(*test.opened.guesses, Guess(what, why))))
        return test
    missing = [name for name in train.feature_names if name not in set(test.feature_names)]
    extra = [name for name in test.feature_names if name not in set(train.feature_names)]
    if missing or extra:
        differences = [
            f"{word} {plural('column', 'columns', len(names))} {_listed(names)}"
            for word, names in (("lacks", missing), ("has the additional", extra))
            if names
        ]
        raise DataError(
            f"{' and '.join(differences)}, compared with the training set {train.place}; give both files the same "
            "column names",
            test.place,
        )
    if test.feature_names == train.feature_names:
        return test
    place = {name: column for column, name in enumerate(test.feature_names)}
    rows = np.ascontiguousarray(test.rows[:, [place[name] for name in train.feature_names]])
    return replace(test, rows=rows, feature_names=train.feature_names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names[:6]) + (", …" if len(names) > 6 else "")


def _of_test_set(test: DataPart, known: tuple[Guess, ...]) -> tuple[Guess, ...]:
    """Return what was guessed of the test set alone."""
    others = (guess for guess in test.opened.guesses if guess not in known)
    return tuple(replace(guess, what=f"{Path(test.place).name}: {guess.what}") for guess in others)


def _unseen_classes(train: DataPart, test: DataPart, names: tuple[str, ...]) -> tuple[Guess, ...]:
    """Return a warning if test rows are of classes that no training row has.

    Raises
    ------
    DataError
        If that is so for all of them.
    """
    if train.labels is None or test.labels is None or not len(test.labels):
        return ()
    trained_on = np.unique(train.labels)
    classes, counts = np.unique(test.labels, return_counts=True)
    unseen = ~np.isin(classes, trained_on)
    if not unseen.any():
        return ()
    lacking = label_names(classes[unseen].tolist(), names)
    if unseen.all():
        raise DataError(
            f"none of its classes ({_listed(lacking)}) occurs in the training set {train.place}, which has "
            f"{_listed(label_names(trained_on.tolist(), names))}; write the same classes in both",
            test.place,
        )
    n = int(counts[unseen].sum())
    said = ", ".join(f"{name}: {counted(int(k), 'row')}" for name, k in zip(lacking[:6], counts[unseen], strict=False))
    what = f"{counted(n, 'test row')} of {len(test.labels)} in classes that the training set lacks"
    return (Guess(what, f"{said}{', …' if len(lacking) > 6 else ''}; a classifier errs on each of them"),)


def _shared_groups(train: DataPart, test: DataPart) -> tuple[Guess, ...]:
    """Return a warning if groups have rows in both sets."""
    shared = sorted(set(train.group_names) & set(test.group_names))
    if not shared:
        return ()
    what = f"{counted(len(shared), 'group')} in both the training set and the test set"
    return (Guess(what, f"{_listed(shared)}; the test error may be too low"),)


def _is_scaled(train: DataPart, reading: ParseOptions) -> bool:
    """Return whether each feature is to be brought to 0 … 1."""
    if train.image_shape is not None:
        if reading.scaled:
            raise DataError("holds images, whose pixels are on one scale; leave the scaling out", train.place)
        return False
    if reading.scaled is not None:
        return reading.scaled
    with np.errstate(over="ignore", under="ignore"):  # 1 + 1e-16 is a rounding error, not another scale
        low, high = float(train.rows.min()), float(train.rows.max())
        return bool(np.float32(low) < 0.0 or np.float32(high) > 1.0 or 0.0 < max(-low, high) < _SMALLEST)


def _ranges(train: DataPart) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest value of each feature and the size of its range; 1 for a feature that does not vary."""
    low, high = (each(train.rows, axis=0).astype(np.float64) for each in (np.min, np.max))
    with np.errstate(invalid="ignore"):  # a value that is not finite is refused when its row is converted
        return low, np.where(high > low, high - low, 1.0)


def _to_float32(values: NDArray[Any], scale: Scale | int) -> NDArray[np.float32]:
    """Return values scaled to the ranges of features in float64, or divided by a number, and rounded once."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if isinstance(scale, int):
            single = values.astype(np.float32)
            return single if scale == 1 else single / np.float32(scale)
        return ((values - scale[0]) / scale[1]).astype(np.float32)


def _merged(train: DataPart, scale: Scale | int) -> tuple[Guess, ...]:
    """Return a warning if different values of a feature become equal in float32.

    Among many values of fifteen digits a few always do, and nothing is lost. A feature counts if more than one in a
    hundred of its different values do, on at most `_COMPARED` numbers.
    """
    n, d = train.rows.shape
    values = train.rows[:: -(-n * d // _COMPARED)]
    if isinstance(scale, int) and fits_float32(values):
        return ()
    before, after = _distinct(values), _distinct(_to_float32(values, scale))
    columns = np.flatnonzero(before - after > 0.01 * before)
    if not len(columns):
        return ()
    worst = int(columns[np.argmin((after / before)[columns])])
    name = f"“{train.feature_names[worst]}”" if train.feature_names else str(worst + 1)
    more = f" and of {counted(len(columns) - 1, 'more feature')}" if len(columns) > 1 else ""
    remedy = "scale the features, or subtract a constant" if isinstance(scale, int) else "look for outliers"
    why = f"{count(before[worst])} become {count(after[worst])} in float32, which holds seven digits; {remedy}"
    return (Guess(f"different values of feature {name}{more} become equal", why),)


def _distinct(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many different values each column has."""
    ranked = np.sort(values, axis=0)
    return np.asarray(1 + np.count_nonzero(ranked[1:] != ranked[:-1], axis=0), np.int64)


def _without_tiny(rows: NDArray[np.float32], names: tuple[str, ...]) -> tuple[Guess, ...]:
    """Set values smaller than `_SMALLEST` to 0; return a warning if features had no other values."""
    lost = np.zeros(rows.shape[1], bool)
    step = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        tiny = (np.abs(block) < _SMALLEST) & (block != 0)
        if tiny.any():
            lost |= tiny.any(axis=0)
            block[tiny] = 0
    if lost.any():
        lost &= ~rows.any(axis=0)
    if not lost.any():
        return ()
    columns = [names[k] if names else str(k + 1) for k in np.flatnonzero(lost)]
    what = f"{plural('feature', 'features', len(columns))} {_listed(columns)} set to 0"
    return (Guess(what, f"all values are smaller than {_SMALLEST:g}; multiply them, or scale the features"),)


def _said(opened: ParseReport, scaled: bool, reading: ParseOptions) -> ParseReport:
    """Return how a file was read, with what became of the scale of its features."""
    guess = Guess("each feature is brought to 0 … 1", "their values lie outside of it, or all are tiny", sure=True)
    guesses = (*opened.guesses, guess) if scaled and reading.scaled is None else opened.guesses
    return replace(opened, guesses=guesses, scaled=scaled)


def _refuse_columns(reading: ParseOptions, place: str) -> None:
    if reading.label_column is not None:
        raise DataError("is no table of text, which alone has a label column; leave that out", place)
    if reading.group is not None:
        raise DataError("is not a table of text, so it has no column of groups; leave that out", place)
    if reading.header is not None:
        raise DataError("is no table of text, which alone has a line of column names; leave that out", place)


def _shaped(part: DataPart, reading: ParseOptions) -> DataPart:
    """Return a part with the shape that its images are said to have, their pixels row by row."""
    d, shape, opened = part.rows.shape[1], part.image_shape, part.opened
    if reading.shape is not None:
        shape = (reading.shape[0], reading.shape[1]) if reading.shape else None
        if shape is not None and shape[0] * shape[1] != d:
            raise DataError(
                f"has {d} features, which make no images of {shape[0]} × {shape[1]}",
                part.place,
            )
        opened = replace(opened, guesses=tuple(guess for guess in opened.guesses if not guess.of_shape))
    elif reading.transposed and shape is not None:
        shape = shape[1], shape[0]
    if not reading.transposed:
        return replace(part, image_shape=shape, opened=opened)
    if shape is None:
        raise DataError(f"has {d} features that are no picture; say the shape of the images, too", part.place)
    rows = np.ascontiguousarray(part.rows.reshape(-1, shape[1], shape[0]).swapaxes(1, 2).reshape(-1, d))
    return replace(part, rows=rows, image_shape=shape, opened=opened)


def _sure(opened: ParseReport) -> ParseReport:
    """Return how known data were read: there is nothing to ask."""
    return replace(opened, guesses=tuple(replace(guess, sure=True) for guess in opened.guesses))


def _with_classes(train: DataPart, test: DataPart | None, reading: ParseOptions) -> tuple[DataPart, DataPart | None]:
    """Return parts whose labels are numbers of classes: cut into ranges as requested, and none if it is a quantity."""
    parts = [train] if test is None else [train, test]
    numbers = None if train.label_names else train.labels
    if reading.bins:
        if numbers is None or any(part.labels is None or part.label_names for part in parts):
            raise DataError(
                "has no labels that are numbers to cut into ranges; choose a column of numbers", train.place
            )
        limits, names = quantile_ranges(numbers, reading.bins, train.place)
        parts = [replace(part, labels=_ranged(part, limits), label_names=names) for part in parts]
    elif reading.bins is None and numbers is not None and looks_like_quantity(numbers):
        opened, said = train.opened, _quantity(train, len(np.unique(numbers)))
        guesses = (Guess("no classes", said), *opened.guesses)
        parts = [replace(part, labels=None) for part in parts]
        parts[0] = replace(parts[0], opened=replace(opened, guesses=guesses, unlabelled=said, quantity=True))
    else:
        parts = [
            part if part.labels is None or part.label_names
            else replace(part, labels=whole_labels(part.labels, part.place))
            for part in parts
        ]  # fmt: skip
    return parts[0], parts[1] if len(parts) > 1 else None


def _ranged(part: DataPart, limits: NDArray[Any]) -> NDArray[np.intp]:
    """Return the number of the range that each label is in."""
    assert part.labels is not None
    wrong = np.flatnonzero(~np.isfinite(part.labels))
    if len(wrong):
        raise DataError(f"the label of row {wrong[0] + 1} is {part.labels[wrong[0]]}, expected a number", part.place)
    return np.searchsorted(limits, part.labels)


def _quantity(train: DataPart, n_numbers: int) -> str:
    """Return why labels that look like a quantity are no classes, with the remedies."""
    column, names = train.opened.label_column, train.opened.columns
    where = "The label" if column is None else f"The column '{names[column]}'"
    return (
        f"{where} has {count(n_numbers)} different numbers. It looks like a quantity, and slide-gui classifies. "
        "Choose another label column, or cut it into three ranges"
    )


def _label_names(train: DataPart, test: DataPart | None) -> tuple[str, ...]:
    """Return the names of the classes of both parts, those of the training part first."""
    others = () if test is None else test.label_names
    if bool(train.label_names) != bool(others) and test is not None and test.labels is not None:
        raise DataError("names its classes otherwise than the training part; use the same names in both", test.place)
    return (*train.label_names, *(name for name in others if name not in train.label_names))


def _renamed(part: DataPart, names: tuple[str, ...]) -> DataPart:
    """Return a part whose labels are numbers of these names."""
    if part.labels is None or not part.label_names:
        return part
    place = np.array([names.index(name) for name in part.label_names], np.int64)
    return replace(part, labels=place[part.labels])


def _test_labels(train: DataPart, test: DataPart | None) -> NDArray[Any] | None:
    if test is not None:
        return test.labels
    return None if train.labels is None else np.empty(0, np.int64)


def _shape(part: DataPart) -> str:
    if part.image_shape:
        return f"images of {part.image_shape[0]} × {part.image_shape[1]}"
    return f"{part.rows.shape[1]} features"


def _name(paths: Sequence[Path]) -> str:
    name = paths[0].name if len(paths) == 1 else paths[0].parent.name or paths[0].name
    return name if paths[0].is_dir() else name.split(".")[0] or name


def _full_scale(parts: Sequence[DataPart]) -> int:
    """Return what the brightest value is to become 1: 1, 16 or 255, and 1 for what is no picture of counts."""
    if any(part.image_shape is None or part.rows.dtype.kind == "b" for part in parts):
        return 1
    low = min(float(part.rows.min()) for part in parts)
    high = max(float(part.rows.max()) for part in parts)
    if not (low >= 0 and 1 < high <= 255):
        return 1
    for part in parts:
        flat = part.rows.reshape(-1)
        for start in range(0, flat.size if flat.dtype.kind == "f" else 0, _BLOCK):
            block = flat[start : start + _BLOCK]
            if (np.rint(block) != block).any():
                return 1
    return 16 if high <= 16 else 255


def _float32(part: DataPart, scale: Scale | int, progress: Progress) -> NDArray[np.float32]:
    """Check, scale and convert by blocks; rows that are float32 already are changed in place."""
    found: NDArray[Any] = part.rows
    n, d = found.shape
    rows = found if found.dtype == np.float32 and found.flags.c_contiguous else np.empty((n, d), np.float32)
    if rows is found and part.finite and scale == 1:
        return rows
    step = max(1, _BLOCK // d)
    for start in range(0, n, step):
        block = found[start : start + step]
        if not part.finite and not np.isfinite(single := _to_float32(block, 1)).all():
            row, column = np.argwhere(~np.isfinite(single))[0]
            raise DataError(
                f"row {start + row + 1}, feature {column + 1} is {block[row, column]}, expected a finite number",
                part.place,
            )
        rows[start : start + step] = _to_float32(block, scale)
        progress.report(min(1.0, (start + step) / n))
    return rows
