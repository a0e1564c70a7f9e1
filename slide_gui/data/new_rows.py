"""Read new rows for a saved model. Columns are matched by name, and values are scaled as in training."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.assemble import OVERSHOOT, far_columns, refuse_columns, scaled_rows, sets_of
from slide_gui.data.errors import DataError
from slide_gui.data.open import read_parts
from slide_gui.data.readers.csv import read_csv
from slide_gui.data.readers.encoding import utf8_stream
from slide_gui.data.readers.parts import DataPart, by_columns, check_labels, label_texts
from slide_gui.data.readers.table_layout import table_layout
from slide_gui.data.reading import AS_GUESSED, NO_COLUMN, ParseOptions, likely_labels, requested_column
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.text import clean_name, counted, listed_columns, listed_names


def read_new_rows(
    paths: Sequence[Path],
    n_features: int,
    *,
    names: tuple[str, ...] = (),
    label_column: str = "",
    image_shape: tuple[int, int] | None = None,
    scaling: NDArray[np.float64] | None = None,
    reading: ParseOptions = AS_GUESSED,
    progress: Progress = NO_PROGRESS,
) -> tuple[NDArray[np.float32], list[str] | None, tuple[str, ...], str]:
    """Return rows with the columns and the scale of a training set, their class names, their pictures, and a warning.

    The class names are None if the file has no labels. The pictures are the file names of the rows, or empty if the
    rows are not from pictures. The warning is empty if the scale of the rows is certain.

    Columns with names are matched by name, and additional columns are ignored. Without names, the columns must have the
    order of the training set. The file may have a label column; if the training set had none, `reading` must name it.
    Pixels are divided as in the training set.

    Parameters
    ----------
    n_features : int
        Number of features d of the training set.
    names : tuple of str
        Names of these features; empty if the training set had no names.
    label_column : str
        Name or number (the first is 1) of the label column of the training set; empty if it had none.
    scaling : ndarray of shape (k, d), or None
        Offset and divisor, or quantiles, of each feature, as in `Dataset.scaling`. With None, values are unchanged.
    reading : ParseOptions
        Options for reading the new table and its labels.

    Raises
    ------
    DataError
        If the file cannot be read, if it lacks a feature, or if a feature contains text or missing cells. The error is
        also raised if there are several training sets or test sets, or if pixels do not have the scale of the training
        set.
    """

    def read_table(path: Path, *, reading: ParseOptions, progress: Progress) -> DataPart:
        with path.open("rb") as file:
            stream, _, _ = utf8_stream(file, path.stat().st_size, str(path))
            layout = table_layout(stream, ParseOptions(NO_COLUMN, reading.header), str(path), known=names)
        columns, label = layout.columns, reading.label_column
        if not (names and layout.named):
            if label is None:
                unused = {requested_column(each, columns, str(path)) for each in reading.left_out}
                unused |= layout.left_out - layout.text
                numbered = label_column.isdecimal() or label_column in columns
                likely = [columns[k] for k in likely_labels(columns) if layout.named and not layout.text]
                texts = [str(k + 1) for k in layout.text] if len(layout.text) == 1 else []
                label = next(iter((*likely, *[label_column] * (numbered and not layout.named), *texts)), None)
                if len(columns) - n_features - len(unused) != 1:
                    label = NO_COLUMN
                elif label is None:
                    raise DataError("has one column more than the model; use --label-column or --leave-out", str(path))
            return read_csv(path, replace(reading, label_column=label), progress=progress)
        known, needed = set(columns), set(names)
        if missing := [name for name in names if name not in known]:
            raise DataError(f"lacks the {listed_columns(missing)} of the model; add the missing data", str(path))
        if texts := [columns[k] for k in sorted(layout.text) if columns[k] in needed]:
            raise DataError(f"column {listed_names(texts[:1])} contains text; the model needs numbers", str(path))
        if label is None:
            filled = {name for k, name in enumerate(columns) if k in layout.text or k not in layout.left_out}
            label = label_column if label_column in filled - needed else NO_COLUMN
        given = [each for each in (label, *reading.left_out) if each != NO_COLUMN]
        chosen = [columns[requested_column(each, columns, str(path))] for each in given]
        if features := [name for name in chosen if name in needed]:
            raise DataError(f"column {listed_names(features[:1])} is a feature of the model; choose another", str(path))
        label = NO_COLUMN if label == NO_COLUMN or chosen[0] in chosen[1:] else chosen[0]
        left_out = tuple(name for name in columns if name not in needed and name != label)
        reading = replace(reading, label_column=label, header=layout.reading.header, left_out=left_out)
        part = read_csv(path, reading, progress=progress)
        position = {name: k for k, name in enumerate(part.feature_names)}
        return replace(part, rows=np.ascontiguousarray(part.rows[:, [position[name] for name in names]]))

    level = 0 if image_shape is None or scaling is None else int(scaling[1].max())
    # `sets_of` returns the training set first. If there is a test set, only its rows are used.
    *others, part = sets_of(read_parts(paths, reading, progress, read_table, level, label_column))
    rows, place, warnings = part.rows, part.place, [f"only the test set {part.place} is used"] if others else []
    if not part.opened.columns:
        refuse_columns(reading, place)
    warnings += [f"{guess.what} ({guess.why})" for guess in part.opened.guesses if part.level and not guess.sure]
    if rows.shape[1] == n_features - 1 and part.labels is not None and part.finite and not part.opened.columns:
        # In a text file without column names, the last number of each row was read as its label.
        rows, part = np.column_stack([rows, part.labels]), replace(part, labels=None)
    if rows.shape[1] != n_features:
        problem = f"has {counted(rows.shape[1], 'feature')}, but the model has {n_features}"
        raise DataError(f"{problem}; give rows with these features", place)
    shape = None if any(each.of_shape for each in part.opened.guesses) else part.image_shape
    if image_shape and shape and shape != (image_shape[::-1] if reading.transposed else image_shape):
        (a, b), (c, d) = shape, image_shape
        raise DataError(f"has images of {a} × {b}, but the model has {c} × {d}; give images of the same shape", place)
    if reading.transposed:
        if image_shape is None:
            raise DataError("has features that are not pixels and cannot be transposed; leave out --transposed", place)
        rows = by_columns(rows, (image_shape[1], image_shape[0]))
    if np.isnan(rows).any():
        row, column = np.argwhere(np.isnan(rows))[0].tolist()
        name = f"“{names[column]}”" if names else f"feature {column + 1}"
        raise DataError(f"row {row + 1}: {name} is missing; fill it in, or fill training and new rows together", place)
    part = replace(part, rows=rows, finite=False)
    if image_shape is not None or part.level:
        scaling, warning = _pixel_scaling(part, scaling, image_shape)
        warnings += [warning] * bool(warning)
    if image_shape is None and scaling is not None and (far := far_columns(part.rows, scaling, names)):
        warnings.append(f"most values of {far} are far beyond the training range; check the units")
    return scaled_rows(part, scaling), _class_texts(part), part.pictures, "; ".join(warnings)


def _pixel_scaling(
    part: DataPart, scaling: NDArray[np.float64] | None, image_shape: tuple[int, int] | None
) -> tuple[NDArray[np.float64] | None, str]:
    """Return the scaling to apply to new images, and a warning, which is empty if their scale is certain.

    Raises
    ------
    DataError
        If the pixels do not fit the scale of the training set.
    """
    low, high = (float(each.reduce(part.rows, axis=None)) for each in (np.fmin, np.fmax))
    span = f"{low:.6g} … {high:.6g}"
    if image_shape is None or (part.level and scaling is not None and scaling[0].any()):
        raise DataError("has pictures, but the model was trained on arrays; save the new rows as arrays", part.place)
    if scaling is None:
        return None, f"the model does not record the scale of training pixels, so values of {span} are not scaled"
    if part.level:
        return None, ""
    first, divisor = float(scaling[0, 0]), float(scaling[1, 0])
    if not first and divisor > 1 and low >= 0 and 0 < high <= 1:
        return None, f"the pixels lie in {span}, so they are not divided by {divisor:g} like the training pixels"
    narrow = divisor > 255 and part.rows.dtype.itemsize == 1
    overshoot = OVERSHOOT * (high if divisor > 1 else 1.0)
    least, most = (first - divisor, first + 2 * divisor) if first else (-overshoot, (1 + OVERSHOOT) * divisor)
    if narrow or low < least or high > most:
        kind = "8-bit pixels" if narrow else f"pixels of {span}"
        problem = f"has {kind}, but the training pixels range from {first:.6g} to {first + divisor:.6g}"
        raise DataError(f"{problem}; save the new rows in the scale of the training set", part.place)
    if first < 0 <= low or (not first and high < divisor / 8):
        limits = f"but the training pixels range from {first:.6g} to {first + divisor:.6g}"
        return scaling, f"the pixels lie in {span}, {limits}; check the scale of the new rows"
    return scaling, ""


def _class_texts(part: DataPart) -> list[str] | None:
    """Return the label of each row as the name of a class."""
    if part.labels is None:
        return None
    if part.label_names:
        return [clean_name(part.label_names[code]) for code in part.labels.tolist()]
    check_labels(part.labels, np.isfinite(part.labels), "a number", part.place)
    return label_texts(part.labels)
