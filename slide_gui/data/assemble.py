"""Combine the training set and the test set that were read from files into one checked and scaled data set."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import recognise
from slide_gui.data.errors import DataError
from slide_gui.data.limits import check_memory
from slide_gui.data.readers.parts import DataPart, check_labels, integer_labels, looks_like_quantity, quantile_ranges
from slide_gui.data.reading import QUANTILES, Guess, ParseOptions
from slide_gui.data.scaling import Scaling, quantiles, ranges, scaled, span
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import count, counted, label_names, listed_columns, listed_names, plural

_BLOCK = 1 << 20  # number of values that are converted at a time
# Pixels of a resized image may lie outside 0 … 1 because of interpolation, but by less than this value.
OVERSHOOT = 0.1

_SMALLEST = 1e-30  # smaller values become 0, because their inverses and squares are outside the range of float32


def assemble(
    parts: Sequence[DataPart], paths: Sequence[Path], reading: ParseOptions, *, progress: Progress = NO_PROGRESS
) -> Dataset:
    """Make a data set from a training set and an optional test set.

    If there is only a test set, it becomes the training set. Columns are matched by name if both sets have column
    names, or else by position. Numbers are scaled by these rules:

    - Images of integers are divided by the smallest of 1, 16 and 255 that no pixel of either set exceeds. (The pixels
      of scikit-learn's digits are 0 to 16.)
    - If the shape of the images is known and not guessed, integers up to 65535 are divided by the largest value of
      their bit depth. Fractions up to 255 are divided by 255.
    - Other images with pixels below 0 or above 255 are scaled to [0, 1]. The original range is −1 … 1 if all pixels are
      in this range, or else the range of the training set.
    - `ParseOptions.scaled` determines whether each feature that is not a pixel is scaled to [0, 1].
    - All other numbers are unchanged, except that numbers smaller than 1e-30 become 0.

    Parameters
    ----------
    parts : sequence of DataPart
        At most one training set and one test set.
    paths : sequence of Path
        The opened files. They give the name and the source of the data set.
    reading : ParseOptions
        Options for reading the features, labels and groups.
    progress : Progress
        Reports the fraction of the values that are converted.

    Raises
    ------
    DataError
        If there are several training or test sets, or if the two sets differ in their features or have no class in
        common. The error is also raised if a number is not finite as float32, or if an option does not fit the data.
    """
    if not all(part.opened.columns for part in parts):
        refuse_columns(reading, parts[0].place)
    sets = sets_of(parts)
    if len(sets) > 1:
        sets[1] = _with_columns_of(*sets)
    sets = [_with_image_shape(part, reading) for part in sets]
    train, *tests = sets
    for test in tests:
        if (test.rows.shape[1], test.image_shape) != (train.rows.shape[1], train.image_shape):
            problem = f"has {_shape_text(test)}, expected {_shape_text(train)} as in the training set {train.place}"
            raise DataError(f"{problem}; open files with the same features", test.place)
    check_memory(sum(4 * part.rows.size for part in sets), train.place)
    method = _scaling_method(train, reading)
    start = 0.5 if method == QUANTILES else 0.0  # computing the quantiles takes long
    scale = _scaling(train, method, progress.part(0.0, start)) if method else _pixel_scale(sets, reading)
    unscaled = train.rows if method and not tests else None
    if unscaled is not None:
        unscaled.flags.writeable = False  # `_float32_rows` does not change read-only rows
    fraction = len(train.rows) / sum(len(part.rows) for part in sets)
    progress = progress.part(start, 1.0)
    rows = _float32_rows(train, scale, progress.part(0.0, fraction))
    test_rows = np.empty((0, rows.shape[1]), np.float32)
    far = ""
    for test in tests:
        if train.image_shape is None and reading.scaled is not False:
            far = far_columns(test.rows, None if isinstance(scale, int) else scale, train.feature_names)
        test_rows = _float32_rows(test, scale, progress.part(fraction, 1.0))
        if method and np.isinf(test_rows).any():
            problem = f"has values beyond the range of float32 when scaled like the training set {train.place}"
            raise DataError(f"{problem}; correct them, or open the data without scaling", test.place)
    warnings = _without_tiny(rows, train.feature_names)
    if far:
        warnings = (*warnings, Guess(f"most test values of {far} are far beyond the training range", "check the units"))
    _without_tiny(test_rows, ())
    known = recognise([part.place for part in sets], rows, len(test_rows))
    train, *tests = _with_classes(sets, reading)
    scaling = _known_scaling(scale, train, rows)
    missing, of_missing = _missing_cells(rows, test_rows, train)
    guesses = [*train.opened.guesses, *_scale_guesses(train, rows, scale, scaling, reading), *warnings, *of_missing]
    if len({name.casefold().lstrip("0") for name in train.label_names}) < len(train.label_names):
        guesses.append(Guess("classes differ only in letter case or leading zeros", "spell each class consistently"))
    guesses += _classes_of_one_row(train)
    turned = Guess("EMNIST stores images column by column", "turn them with By columns (--transposed)")
    guesses += [turned] * ("emnist" in Path(train.place).name.lower() and not (reading.transposed or train.level))
    test_labels = None if train.labels is None else np.empty(0, np.int64)
    for test in tests:
        name, test_labels = Path(test.place).name, test.labels
        guesses += [replace(each, what=f"{name}: {each.what}") for each in test.opened.guesses if each not in guesses]
        guesses += [*_unseen_classes(train, test), *_shared_groups(train, test)]
    if known:  # the user need not check guesses about a known data set, unless its labels are missing
        guesses = [replace(guess, sure=guess.why != train.opened.unlabelled) for guess in guesses]
    of_entry = {each: getattr(known, each) for each in ("label_names", "licence", "citation", "key") if known}
    name = paths[0].name if len(paths) == 1 else paths[0].parent.name or paths[0].name
    return Dataset(
        name=known.title if known else name if paths[0].is_dir() else name.split(".")[0] or name,
        train=rows,
        test=test_rows,
        train_labels=train.labels,
        test_labels=test_labels,
        image_shape=train.image_shape,
        source="; ".join(str(path) for path in paths),
        feature_names=() if train.image_shape else train.feature_names,
        opened=replace(train.opened, guesses=tuple(guesses), scaled=method),
        groups=train.groups,
        missing=missing,
        scaling=scaling,
        unscaled=unscaled,
        **{"label_names": train.label_names, **of_entry},
    )


def sets_of(parts: Sequence[DataPart]) -> list[DataPart]:
    """Return the training set and the test set, or only one of them if the other does not exist.

    Raises
    ------
    DataError
        If there are several training sets or several test sets.
    """
    sets = [part for role in ("train", "test") for part in parts if part.role == role]
    for first, second in pairwise(sets):
        if first.role == second.role:
            name = "training" if first.role == "train" else "test"
            remedy = "write “test” as a separate word into the name of the test set, such as x_test.csv"
            if len(first.rows) == len(second.rows) and first.rows.shape != second.rows.shape:
                remedy = "add the labels as a column to the table of features"
            remedy = f", or {remedy}" if first.role == "train" else ""
            remedy = ", extracted from the archive" if ".zip, " in first.place.lower() else remedy
            raise DataError(f"{first.place} and {second.place} are both {name} sets; open only one of them{remedy}")
    return sets


def _scaling(train: DataPart, method: bool | str, progress: Progress) -> Scaling:
    """Return the scaling of a table, which the quantiles or the ranges of its training rows define."""
    return quantiles(train.rows, train.place, progress) if method == QUANTILES else ranges(train.rows)


def _known_scaling(scale: Scaling | int, train: DataPart, rows: NDArray[np.float32]) -> Scaling | None:
    """Return the scaling of all features, or None if a table is not scaled or the scale of images is unknown."""
    if not isinstance(scale, int):
        return scale
    low, high = (each.reduce(rows, axis=None) for each in (np.fmin, np.fmax))
    if train.image_shape is None or low < -OVERSHOOT or high > 1 + OVERSHOOT:
        return None
    return np.repeat([[0.0], [float(train.level or scale)]], rows.shape[1], axis=1)


def _scale_guesses(
    train: DataPart,
    rows: NDArray[np.float32],
    scale: Scaling | int,
    scaling: Scaling | None,
    reading: ParseOptions,
) -> Iterator[Guess]:
    """Yield the guesses about the scale of the features."""
    if train.image_shape is None:
        if not isinstance(scale, int) and reading.scaled is None:
            yield Guess("each feature is scaled to 0 … 1", "values lie outside this range, or all are tiny", sure=True)
    elif not isinstance(scale, int):
        low, high = float(scale[0][0]), float(scale[0][0] + scale[1][0])
        yield Guess(f"pixels of {low:.6g} … {high:.6g} are scaled to 0 … 1", "layers and pictures need this range")
    elif scaling is None and reading.scaled is None:
        most = float(np.fmax.reduce(rows, axis=None))
        remedy = "give the shape of the images to divide them by 255" if most > 16 else "divide them by their maximum"
        yield Guess(f"pixels up to {most:.6g} are not scaled", f"the layers need values of 0 … 1; {remedy}")


def scaled_rows(part: DataPart, scaling: Scaling | None, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
    """Return the rows of a data set, scaled in the same way as an earlier training set.

    Raises
    ------
    DataError
        If a number is not finite before or after scaling.
    """
    rows = _float32_rows(part, 1 if scaling is None else scaling, progress)
    if np.isinf(rows).any():
        raise DataError("has values far beyond those of the training set; correct them", part.place)
    _without_tiny(rows, ())
    return rows


def rescaled(
    dataset: Dataset, training: NDArray[np.intp] | slice, progress: Progress
) -> tuple[NDArray[np.float32], Scaling]:
    """Return all rows of a table, scaled by the ranges or quantiles of the given training rows, and the scaling.

    Raises
    ------
    DataError
        If a scaled value exceeds the range of float32, or if there are too few training rows for quantiles.
    """
    assert dataset.unscaled is not None
    whole = DataPart(dataset.unscaled, None, None, dataset.name, finite=True)
    rows = dataset.unscaled[training]
    scaling = _scaling(replace(whole, rows=rows), dataset.opened.scaled, progress.part(0.0, 0.5))
    return scaled_rows(whole, scaling, progress.part(0.5, 1.0)), scaling


def _missing_cells(
    rows: NDArray[np.float32], test_rows: NDArray[np.float32], train: DataPart
) -> tuple[NDArray[np.bool_] | None, tuple[Guess, ...]]:
    """Return the mask of missing cells of both sets, or None if there are none, and a report of their number."""
    if not any(len(each) and np.isnan(each.min()) for each in (rows, test_rows)):
        return None, ()
    missing = np.concatenate([np.isnan(rows), np.isnan(test_rows)])
    counts = missing.sum(axis=0)
    most = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    why = f"in {counted(len(most), 'pixel')}"
    if train.image_shape is None:
        names = train.feature_names or range(1, len(counts) + 1)
        listed = ", ".join(f"“{names[k]}” ({count(counts[k])})" for k in most[:6]) + (", …" if len(most) > 6 else "")
        why = f"in {plural('column', 'columns', len(most))} {listed}"
    if np.isnan(rows).all(axis=0).any():
        why += "; a column without known cells is set to 0"
    what = f"{count(missing.sum())} of {count(missing.size)} cells are missing"
    return missing, (Guess(what, f"{why}; filled from the known cells of each row"),)


def _with_columns_of(train: DataPart, test: DataPart) -> DataPart:
    """Return a test set with its named columns in the order of the training set.

    Raises
    ------
    DataError
        If both sets have column names, and one set has a column that the other set lacks.
    """
    if not (train.feature_names and test.feature_names):
        if (train.feature_names or test.feature_names) and test.rows.shape[1] == train.rows.shape[1]:
            what = "columns of the training set and the test set are matched by position"
            why = f"{test.place if train.feature_names else train.place} has no column names"
            return replace(test, opened=replace(test.opened, guesses=(*test.opened.guesses, Guess(what, why))))
        return test
    train_names, test_names = set(train.feature_names), set(test.feature_names)
    missing = [name for name in train.feature_names if name not in test_names]
    extra = [name for name in test.feature_names if name not in train_names]
    if missing or extra:
        lists = (("lacks", missing), ("has the additional", extra))
        differences = " and ".join(f"{word} {listed_columns(names)}" for word, names in lists if names)
        problem = f"{differences}, compared with the training set {train.place}"
        is_guessed = train.labels is None or any(each.what.startswith("labels in") for each in train.opened.guesses)
        alone = f", or open the training set alone and choose its label column, such as {listed_names(missing)}"
        remedy = f", leave out the others{alone}" if is_guessed and missing else ", or leave out the others"
        raise DataError(f"{problem}; give both files the same column names{remedy}", test.place)
    if test.feature_names == train.feature_names:
        return test
    position = {name: column for column, name in enumerate(test.feature_names)}
    rows = np.ascontiguousarray(test.rows[:, [position[name] for name in train.feature_names]])
    return replace(test, rows=rows, feature_names=train.feature_names)


def far_columns(rows: NDArray[Any], scaling: Scaling | None, names: tuple[str, ...]) -> str:
    """Return the names of columns in which most values are far outside the range of the training set.

    Without a scaling, this range is 0 … 1.
    """
    low, size = (0.0, 1.0) if scaling is None else (scaling[0], span(scaling))
    far = ((rows < low - size) | (rows > low + 2 * size)).sum(axis=0) > len(rows) / 2
    return listed_names([names[k] if names else str(k + 1) for k in np.flatnonzero(far).tolist()])


def _unseen_classes(train: DataPart, test: DataPart) -> tuple[Guess, ...]:
    """Return a warning if test rows belong to classes without training rows.

    Raises
    ------
    DataError
        If all test rows belong to such classes.
    """
    if train.labels is None or test.labels is None or not len(test.labels):
        return ()
    trained_on = np.unique(train.labels)
    classes, counts = np.unique(test.labels, return_counts=True)
    unseen = ~np.isin(classes, trained_on)
    if not unseen.any():
        return ()
    lacking = label_names(classes[unseen].tolist(), train.label_names)
    if unseen.all():
        raise DataError(
            f"none of its classes ({listed_names(lacking)}) occurs in the training set {train.place}, which has "
            f"{listed_names(label_names(trained_on.tolist(), train.label_names))}; write the same classes in both",
            test.place,
        )
    n = int(counts[unseen].sum())
    rows = zip(lacking[:6], counts[unseen].tolist(), strict=False)
    listed = ", ".join(f"{name}: {counted(k, 'row')}" for name, k in rows)
    what = f"the training set lacks the classes of {counted(n, 'test row')} (of {len(test.labels)})"
    return (Guess(what, f"{listed}{', …' if len(lacking) > 6 else ''}; a classifier misclassifies all of them"),)


def _classes_of_one_row(train: DataPart) -> tuple[Guess, ...]:
    """Return a warning if some classes, but fewer than half, have only one row. Such a row may contain totals."""
    classes, counts = np.unique([] if train.labels is None else train.labels, return_counts=True)
    rare = label_names(classes[counts == 1].tolist(), train.label_names)
    is_few = 0 < 2 * len(rare) < len(classes)
    what = f"only one training row in {plural('class', 'each of the classes', len(rare))} {listed_names(rare)}"
    return (Guess(what, "if it contains totals or a typing error, leave it out"),) * is_few


def _shared_groups(train: DataPart, test: DataPart) -> tuple[Guess, ...]:
    """Return a warning if a group has rows in both the training set and the test set."""
    shared = sorted(set(train.group_names) & set(test.group_names))
    what = f"{counted(len(shared), 'group')} in both the training set and the test set"
    return (Guess(what, f"{listed_names(shared)}; the test error may be too low"),) * bool(shared)


def _scaling_method(train: DataPart, reading: ParseOptions) -> bool | str:
    """Return True to scale each feature by its range, "quantile" by its quantiles, and False to leave it unchanged."""
    if train.image_shape is not None:
        if reading.scaled:
            raise DataError("contains images, whose pixels share one scale; open them without scaling", train.place)
        return False
    if reading.scaled is not None:
        return reading.scaled
    # The limits are compared in float32, because a maximum of 1 + 1e-16 exceeds 1 only by a rounding error.
    with np.errstate(over="ignore", under="ignore"):
        low, high = (float(each.reduce(train.rows, axis=None)) for each in (np.fmin, np.fmax))
        return bool(np.float32(low) < 0.0 or np.float32(high) > 1.0 or 0.0 < max(-low, high) < _SMALLEST)


def _to_float32(values: NDArray[Any], scale: Scaling | int) -> NDArray[np.float32]:
    """Return float32 values. Scale each feature in float64, or divide all values by `scale` if it is an integer."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if isinstance(scale, int):
            single = values.astype(np.float32)
            return single if scale == 1 else single / np.float32(scale)
        return scaled(values, scale).astype(np.float32)


def _without_tiny(rows: NDArray[np.float32], names: tuple[str, ...]) -> tuple[Guess, ...]:
    """Set values smaller than `_SMALLEST` to 0 in place. Return a warning if a feature has only such values."""
    lost = np.zeros(rows.shape[1], bool)
    for block in (rows[each] for each in _blocks(rows)):
        tiny = (np.abs(block) < _SMALLEST) & (block != 0)
        if tiny.any():
            lost |= tiny.any(axis=0)
            block[tiny] = 0
    if lost.any():
        lost &= ~rows.any(axis=0)
    columns = [names[k] if names else str(k + 1) for k in np.flatnonzero(lost)]
    what = f"{plural('feature', 'features', len(columns))} {listed_names(columns)} set to 0"
    return (Guess(what, f"all values are below {_SMALLEST:g}; multiply them, or scale the features"),) * bool(columns)


def refuse_columns(reading: ParseOptions, place: str) -> None:
    """Raise an error if an option selects columns or a header line, because the file is not a table with columns."""
    options = {"label column": reading.label_column, "group column": reading.group, "header line": reading.header}
    options["column to leave out"] = reading.left_out[0] if reading.left_out else None
    for name, value in options.items():
        if value is not None:
            problem = f"is not a table with commas, semicolons or tabs, so it has no {name}"
            raise DataError(f"{problem}; open it without this option", place)


def _with_image_shape(part: DataPart, reading: ParseOptions) -> DataPart:
    """Return a data set whose images have the shape that `reading` requests and are stored row by row."""
    d, shape, opened = part.rows.shape[1], part.image_shape, part.opened
    if reading.shape is not None:
        shape = (reading.shape[0], reading.shape[1]) if reading.shape else None
        if shape is not None and shape[0] * shape[1] != d:
            raise DataError(f"has {d} features, not {shape[0]} × {shape[1]} pixels; give another shape", part.place)
        opened = replace(opened, guesses=tuple(guess for guess in opened.guesses if not guess.of_shape))
    elif reading.transposed and shape is not None:
        shape = shape[1], shape[0]
    if not reading.transposed:
        return replace(part, image_shape=shape, opened=opened)
    if shape is None:
        raise DataError(f"has {d} features that are not pixels; give the shape of the images", part.place)
    rows = np.ascontiguousarray(part.rows.reshape(-1, shape[1], shape[0]).swapaxes(1, 2).reshape(-1, d))
    return replace(part, rows=rows, image_shape=shape, opened=opened)


def _with_classes(parts: list[DataPart], reading: ParseOptions) -> list[DataPart]:
    """Return the training and test set with integer labels and the same class names.

    If `reading.bins` is given, numeric labels are divided into ranges. Otherwise, numeric labels that look like a
    quantity are removed.
    """
    train = parts[0]
    numbers = None if train.label_names else train.labels
    if reading.bins:
        limits, names = quantile_ranges(_label_numbers(train), reading.bins, train.place)
        for k, part in enumerate(parts):
            if part.labels is not None:
                parts[k] = replace(part, labels=np.searchsorted(limits, _label_numbers(part)), label_names=names)
        return parts
    if reading.bins is None and numbers is not None and looks_like_quantity(numbers, images=bool(train.image_shape)):
        column, columns = train.opened.label_column, train.opened.columns
        subject = "The label" if column is None else f"The column “{columns[column]}”"
        reason = (
            f"{subject} has {count(len(np.unique(numbers)))} different numbers. It looks like a quantity, but "
            "slide-gui predicts classes. Choose another label column, or cut this one into three ranges"
        )
        guesses = (Guess("no classes", reason), *train.opened.guesses)
        opened = replace(train.opened, guesses=guesses, unlabelled=reason, quantity=True)
        return [replace(train, labels=None, opened=opened), *(replace(part, labels=None) for part in parts[1:])]
    if train.has_fractions(rare=reading.bins == 0):
        parts = [part.with_label_names() for part in parts]
    for part in parts:
        if part.labels is not None and bool(part.label_names) != bool(parts[0].label_names):
            problem = "its classes must be written as in the training set: in both files as names, or as numbers"
            raise DataError(problem, part.place)
    names = tuple(dict.fromkeys(name for part in parts for name in part.label_names))
    return [replace(part, labels=_codes(part, names), label_names=names) for part in parts]


def _label_numbers(part: DataPart) -> NDArray[Any]:
    if part.labels is None or part.label_names:
        raise DataError("has no numeric labels to cut into ranges; choose a label column of numbers", part.place)
    check_labels(part.labels, np.isfinite(part.labels), "a number", part.place)
    return part.labels


def _codes(part: DataPart, names: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return each label as its index in `names`, or as an integer if `names` is empty."""
    if part.labels is None:
        return None
    if not names:
        return integer_labels(part.labels, part.place)
    codes: NDArray[np.int64] = np.array([names.index(name) for name in part.label_names], np.int64)[part.labels]
    return codes


def _shape_text(part: DataPart) -> str:
    if part.image_shape:
        return f"images of {part.image_shape[0]} × {part.image_shape[1]}"
    return f"{part.rows.shape[1]} features"


def _pixel_scale(parts: Sequence[DataPart], reading: ParseOptions) -> Scaling | int:
    """Return the divisor that scales pixels to 0 … 1. For pixels below 0 or above 255, return their minimum and range.

    Raises
    ------
    DataError
        If the pixels of one set are in 0 … 1 and some pixels of the other set exceed 16.
    """
    train = parts[0]
    if train.image_shape is None:
        return 1
    limits = [[float(each.reduce(part.rows, axis=None)) for each in (np.fmin, np.fmax)] for part in parts]
    low, high = min(each[0] for each in limits), max(each[1] for each in limits)
    divisor = _pixel_divisor(parts, low, high)
    for part, (_, most) in zip(parts, limits, strict=True):
        if 0 < most <= 1 and high > 16:
            problem = f"has pixels up to {most:.6g}, but the other set has pixels up to {high:.6g}"
            raise DataError(f"{problem}; write both in the same scale", part.place)
    outside = low < -OVERSHOOT or high > 255 or (low < 0 and high > 1 + OVERSHOOT)
    if divisor > 1 or reading.scaled is False or not outside:
        return divisor
    low, high = (-1.0, 1.0) if low >= -1 and high <= 1 else (min(limits[0][0], 0.0), limits[0][1])
    return np.repeat([[low], [high - low or 1.0]], train.rows.shape[1], axis=1)


def _pixel_divisor(parts: Sequence[DataPart], low: float, high: float) -> int:
    """Return the divisor of the pixels: 16 or the largest value of their bit depth; 1 if this is uncertain."""
    certain = all(guess.sure or not guess.of_shape for part in parts for guess in part.opened.guesses)
    if not (low >= 0 and 1 < high <= (65535 if certain else 255)):
        return 1
    for part in parts:
        for block in _blocks(part.rows) if part.rows.dtype.kind == "f" else ():
            if (np.rint(part.rows[block]) != part.rows[block])[~np.isnan(part.rows[block])].any():
                return 255 if certain and 16 < high <= 255 else 1
    return next(level for level in (16, 255, 1023, 4095, 16383, 65535) if high <= level)


def _float32_rows(part: DataPart, scale: Scaling | int, progress: Progress) -> NDArray[np.float32]:
    """Check rows, scale them and convert them to float32, in blocks. Writeable float32 rows are changed in place."""
    source: NDArray[Any] = part.rows
    in_place = source.dtype == np.float32 and source.flags.c_contiguous
    if in_place and part.finite and isinstance(scale, int) and scale == 1:
        return source
    rows = source if in_place and source.flags.writeable else np.empty(source.shape, np.float32)
    for block in _blocks(source):
        if not part.finite and np.isinf(single := _to_float32(source[block], 1)).any():
            row, column = np.argwhere(np.isinf(single))[0]
            place, value = f"row {block.start + row + 1}, feature {column + 1}", source[block][row, column]
            problem = f"{place} is {value}, expected a finite number; correct it, or leave the row out"
            raise DataError(problem, part.place)
        rows[block] = _to_float32(source[block], scale)
        progress.report(block.stop / len(rows))
    return rows


def _blocks(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of consecutive rows that contain about `_BLOCK` values each."""
    step = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(rows), step):
        yield slice(start, min(start + step, len(rows)))
