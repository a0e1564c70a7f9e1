"""Read tables whose cells are separated by commas, semicolons, tabs, vertical bars or spaces.

A table contains numbers, and may have column names and class names.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.readers.encoding import utf8_stream
from slide_gui.data.readers.parts import (
    LABEL_BOUND,
    DataPart,
    look_like_labels,
    looks_like_quantity,
    role_of,
    skipped_guess,
    square_guess,
    square_shape,
)
from slide_gui.data.readers.table_layout import FEW_LEVELS, TableLayout, shown_column, table_layout
from slide_gui.data.readers.tables import RowFormat, Table, read_table
from slide_gui.data.reading import Guess, ParseOptions, ParseReport
from slide_gui.progress import Progress


def read_csv(
    path: Path,
    reading: ParseOptions,
    *,
    like: DataPart | None = None,
    before_test: bool = False,
    allow_no_features: bool = False,
    progress: Progress,
) -> DataPart:
    """Read a table of numbers, one sample per line, with or without a line of column names.

    The first line contains column names if a column has no number in this line, but has numbers below it.

    The first rule that applies decides the labels:

    1. The column of the option `label_column`.
    2. A column named label, labels, class, y or target; if there are several, a text column comes first. If there is
       also a column x, column y is a coordinate and not the labels.
    3. The only text column. Each distinct string is a class, numbered in alphabetical order.
    4. The text column with the fewest distinct strings: at least two, of which one is repeated. Columns without missing
       cells come first. If several columns qualify, the last one. Rules 3 and 4 exclude a column with ten or more
       distinct strings if each of these occurs less than twice on average, or if the column has a name such as id or
       patient. They also exclude columns that are empty in most of the first lines, and columns that only divide the
       rows into sets such as train and test.
    5. No labels, if the columns form a square image of at least 8 × 8, and have no names or only names that end in a
       digit.
    6. The last column, if it has integers of more than one value and no missing cells. If these integers look like a
       quantity, rules 7 and 8 come first.
    7. The first column, if it has integers of more than one value and the other columns form a square image. This rule
       comes before rule 6 if the integers of the first column are consecutive from 0 or 1, and the last column looks
       like a pixel. The last column looks like a pixel in three cases:

       - It has gaps between its integers and a value above 16.
       - It has consecutive integers from 0 or 1 to 16 or more, its largest value is also the largest value of the
         columns before it, and the values of the first column are smaller.
       - Most of its distinct values occur in the column before it, and the first column has values that the second
         column lacks. In addition, the last column has gaps and its smallest value is 0, or (in a table without names)
         it has fewer distinct values than the first column.

    8. The first column, if the table has no names, the last column has fractions or looks like a quantity, and the
       first column has only −1 and 1, or consecutive integers from 0 or 1. On average, each of them must occur at least
       twice.

    A column of integers contains codes if some of them have leading zeros, such as 01. In a label column, codes are
    class names unless the option `bins` is given. A last column of codes counts as a text column if there is no other
    text column and the column before it contains no codes.

    All other text columns are left out. If all known cells of a column are True or False, they are features with the
    values 1 and 0. The words may be German (WAHR and FALSCH) or French (VRAI and FAUX). By rules 3 and 4, such a column
    has the labels only in two cases. It is the last column, or all text columns are of this kind, the last column has
    no class numbers, and the column is the only one of this kind, the first column, or follows a first column with a
    name such as id or without a name. A column of True and False with a name such as train, is_test or split marks the
    rows of a set and is left out. Different spellings of True are one class. A first column without a name is also left
    out if it numbers the rows.

    If the number of features is a perfect square of at least 64, the rows are guessed to be square images. This guess
    is not made if the features have names that do not end in a digit.

    If the first line has two sizes and class names, as in scikit-learn's iris.csv, the last column has the labels 0, 1,
    … of these classes. The columns then have no names.

    If the first line has numbers that pandas wrote as names of columns, such as 0, 0.1, 0.2, …, it is not a row. The
    columns then have no names, either.

    The file may be compressed by gzip. The text is UTF-8, UTF-16, or else Windows-1252. Before the column names or the
    first row, lines that begin with ``#`` or ``|1x3``, or only state the separator (``sep=;``), are comments. Blank
    lines, and lines of empty cells above the table, are skipped. Rows of empty cells at the end are left out. Line
    breaks in quoted cells become spaces. If no cell is in double quotes, cells may be in single quotes. If most rows
    have a cell with the same number of values (eight or more), separated by spaces, this cell becomes several cells.
    Rows without such a cell are refused. No pixel is then guessed to be the label, and a text column with names of sets
    divides the rows into these sets. Either all numbers have decimal points, or all have decimal commas. Missing cells
    become NaN.

    Parameters
    ----------
    path : Path
    reading : ParseOptions
        Options for reading. All properties that the options do not give are guessed.
    like : DataPart, optional
        The training set, if the table is a test set. The label column then has the same name as in the training set or,
        without names, the same position. If the table does not have this column, or if it is empty, the test set has no
        labels.
    before_test : bool
        True if a test set is read afterwards. A column that is to be left out may then be in the test set only.
    allow_no_features : bool
        True to accept a table that has only labels and groups.
    progress : Progress
        Reports the fraction of the text read.

    Raises
    ------
    DataError
        If the file is empty, if a label is missing, or if all columns are left out. The error is also raised if a line
        has the wrong number of cells or a number that is not finite; the message then names the line.
    """
    place, size = str(path), path.stat().st_size
    with path.open("rb") as file:
        stream, size, encoding = utf8_stream(file, size, place, progress=progress)
        layout = table_layout(stream, reading, place, like, before_test=before_test)
        d = len(layout.columns)
        has_texts = layout.label in layout.text or layout.left_out or layout.decimal_commas or layout.truth_values
        stream.seek(layout.start)
        replace_texts = layout.replace_texts if has_texts else None
        row_format = RowFormat(d, layout.label, layout.delimiter, layout.first_line, replace_texts, layout.packed)
        table = read_table(stream, size, place, row_format, progress=progress)
    label, guesses, unlabelled = layout.label, layout.guesses, ""
    rows: NDArray[np.floating]
    labels: NDArray[np.generic] | None
    if label is None:
        label, guess, unlabelled = _guessed_label(table, layout)
        guesses = (*guesses, *guess)
    if label is not None and label in (layout.label, d - 1):
        columns = [k for k in range(d) if k != label]
        rows, labels = table.rows, layout.labels(table.column) if label in layout.text else table.column
    else:
        columns, rows = list(range(d)), table.all_columns()
        labels = None if label is None else rows[:, label]
    groups = None if layout.group is None else rows[:, columns.index(layout.group)].astype(np.int64)
    features = [k for k in columns if k != label and k not in layout.left_out]
    if not features and not allow_no_features:
        raise DataError("has only labels and left-out columns; keep a feature, and write categories as numbers", place)
    if features != columns:
        rows = np.ascontiguousarray(rows[:, np.isin(columns, features)])
    are_pixels = layout.could_be_pixels([layout.columns[k] for k in features])
    shape = square_shape(len(features)) if are_pixels else None
    guesses = (*guesses, *layout.suspicious_columns(rows, labels if label == d - 1 else None, features))
    is_whole = labels is not None and bool((np.rint(labels) == labels).all())
    if table.has_codes and label == table.apart and is_whole and reading.bins is None:
        why = "01 and 1 are one class; if they differ, choose the label column and move a row with 01 to the top"
        guesses = (*guesses, Guess("labels with leading zeros are read as numbers", why))
    skipped = skipped_guess(layout.comments, layout.blanks + table.blanks)
    return DataPart(
        rows=rows,
        labels=labels,
        image_shape=shape,
        place=place,
        role=role_of(path.name),
        label_names=tuple(sorted(layout.classes)),
        finite=True,
        feature_names=tuple(layout.columns[k] for k in features) if layout.named else (),
        opened=ParseReport(
            columns=layout.columns,
            label_column=label,
            header=layout.named,
            guesses=(*encoding, *skipped, *guesses, *square_guess(shape)),
            unlabelled=unlabelled,
            left_out=tuple(sorted(layout.left_out)),
        ),
        groups=groups,
        group_names=tuple(layout.groups),
    )


def _count_up(values: NDArray[np.floating]) -> bool:
    """Return True if the sorted, distinct values are consecutive integers from 0 or 1, as class numbers often are."""
    return len(values) > 1 and values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1


def _guessed_label(table: Table, layout: TableLayout) -> tuple[int | None, tuple[Guess, ...], str]:
    """Choose a label column of numbers. Return its index or None, the guess, and the reason if there are no labels."""
    d = layout.last + 1
    column = table.column if d == len(layout.columns) else table.rows[:, -1]
    known = ~np.isnan(column)
    values = np.unique(column[known])
    if layout.reading.label_column is not None or d - 1 in layout.left_out:
        why = "the last column is left out" if layout.reading.label_column is None else "all columns are features"
        return None, (), f"{why}; choose the label column"
    others = [name for k, name in enumerate(layout.columns) if k not in layout.left_out]
    unlabelled_image = layout.could_be_pixels(others) and square_shape(len(others)) is not None
    first = table.rows[:, 0]
    classes = np.unique(first)
    is_first = bool(square_shape(d - 1)) and look_like_labels(classes)
    # In tables without names, a class number in the first column is more common than a quantity in the last one.
    is_quantity = (np.rint(values) != values).any() or looks_like_quantity(column)
    is_alone = not layout.named and is_quantity and 2 * len(classes) <= len(first)
    is_alone &= (_count_up(classes) or classes.tolist() == [-1, 1]) and not looks_like_quantity(first)
    is_feature = (is_first and looks_like_quantity(column) and not looks_like_quantity(first, images=True)) or is_alone
    if is_first and not is_feature and len(values) and _count_up(classes):
        counts, few = _count_up(values), not layout.named and len(values) < len(classes)
        # The last column resembles the column of pixels before it, but the first column differs from the second.
        alike = np.isin(values, table.rows[:, -1]).mean() > 0.5 and not np.isin(classes, table.rows[:, 1]).all()
        last, largest = values[-1], table.rows[:, 1:].max()
        wide = last > FEW_LEVELS if not counts else FEW_LEVELS <= last == largest > classes[-1]
        is_feature = wide or (alike and (few or (not counts and values[0] == 0)))
    if not unlabelled_image and (layout.reading.bins or (look_like_labels(values) and known.all() and not is_feature)):
        why = "it is the last one and has numbers" if layout.reading.bins else "it is the last one and has integers"
        return d - 1, (Guess(f"labels in column {shown_column(d - 1, layout.columns)}", why),), ""
    if not unlabelled_image and (is_first or is_alone):
        why = f"it has integers, and {'the others form an image' if is_first else 'the last column is a quantity'}"
        return 0, (Guess(f"labels in column {shown_column(0, layout.columns)}", why),), ""
    if unlabelled_image:
        why = f"its {len(others)} columns were read as an image without labels"
    elif not len(values):
        why = "all cells of the last column are missing"
    elif look_like_labels(values):
        why = f"the last column has no value in row {1 + int(known.argmin())}, but labels must be complete"
    elif len(values) == 1:
        why = f"the last column has only the value {values[0]:g}, so all rows would be of one class"
    elif (np.rint(values) == values).all():
        why = f"the last column has integers beyond ±{LABEL_BOUND}"
    else:
        why = "the last column has numbers other than integers"
    guess = Guess("no labels", why, sure=len(values) > 1 and not layout.truth_values)
    return None, (guess,), f"{why}; choose a label column with two classes or more"
