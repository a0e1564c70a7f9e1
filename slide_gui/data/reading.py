"""Options for reading a file, and the report of how it was read."""

from collections.abc import Sequence
from dataclasses import dataclass

from slide_gui.data.errors import DataError
from slide_gui.text import clean_name, counted

# The value of `label_column` for a table without labels.
NO_COLUMN = "none"

# Column names that identify the labels of a table.
LABEL_NAMES = ("label", "labels", "class", "y", "target")

# With this value of `ParseOptions.scaled`, each value of a table is replaced by its quantile in the training set.
QUANTILES = "quantile"

_MOST_BINS = 30


@dataclass(frozen=True)
class ParseOptions:
    """Options for reading a file, which the user may give. None means that the program guesses the value.

    Attributes
    ----------
    label_column : str or None
        For text tables: the name or the number (the first is 1) of the column of labels, or "none".
    header : bool or None
        For text tables: True if the first line names the columns.
    shape : tuple of int, or None
        Number of rows and columns of each image; empty if the features are not pixels.
    transposed : bool
        True if the images are stored column by column.
    left_out : tuple of str
        For text tables: columns that are not features, given by name or by number (the first is 1).
    scaled : bool, "quantile" or None
        True to scale each feature to 0 … 1 by its minimum and maximum in the training set; "quantile" to replace each
        value by its quantile in the training set, from 0 to 1. Neither is allowed for pixels. If rows are held out, the
        training set consists of the other rows. By default, features are scaled by their ranges in two cases: a value
        in the training file lies outside 0 … 1, or all values are smaller than 1e-30. The threshold of the layers could
        not separate such small values.
    bins : int or None
        Number of ranges into which numeric labels are divided. Each range is a class, and all ranges have about the
        same number of training rows. With 0, each number is a class, even if the numbers look like a quantity.
    group : str or None
        For text tables: the name or the number (the first is 1) of the column of groups. Rows with the same text in
        this column are never divided between training and test set. The column is not a feature.
    """

    label_column: str | None = None
    header: bool | None = None
    shape: tuple[int, ...] | None = None
    transposed: bool = False
    left_out: tuple[str, ...] = ()
    scaled: bool | str | None = None
    bins: int | None = None
    group: str | None = None

    def checked(self) -> "ParseOptions":
        """Check and return these options.

        Raises
        ------
        ValueError
            If an option is out of range or contradicts another option.
        """
        if self.shape is not None and (len(self.shape) not in (0, 2) or any(side < 1 for side in self.shape)):
            raise ValueError(f"the shape is {self.shape}; give the rows and columns of an image, each at least 1")
        if self.transposed and self.shape == ():
            raise ValueError("features that are not pixels cannot be transposed; give the shape of the images")
        if self.scaled and self.shape:
            raise ValueError("pixels cannot be scaled one by one; scale only features that are not pixels")
        if isinstance(self.scaled, str) and self.scaled != QUANTILES:
            raise ValueError(f"scaled is {self.scaled!r}; give true, false or {QUANTILES!r}")
        if self.bins is not None and (type(self.bins) is not int or self.bins not in (0, *range(2, _MOST_BINS + 1))):
            raise ValueError(f"bins is {self.bins!r}; give 2 to {_MOST_BINS} ranges, or 0 for none")
        if self.label_column is not None and not self.label_column.strip():
            raise ValueError("the name of the label column is empty; give its name, its number from 1, or none")
        if any(not name.strip() for name in self.left_out):
            raise ValueError("the name of a column to leave out is empty; give its name or its number from 1")
        if self.group is not None and self.group in (self.label_column, "", NO_COLUMN):
            raise ValueError(f"column {self.group!r} cannot contain the groups; choose another column")
        if self.label_column in self.left_out:
            raise ValueError(f"column {self.label_column} cannot be both label column and left out; choose another")
        return self


# Options with which the program guesses all properties of a file.
AS_GUESSED = ParseOptions()


@dataclass(frozen=True)
class Guess:
    """A guess about the contents of a file.

    Attributes
    ----------
    what, why : str
        The guess, and the reason for it or a remedy, as shown to the user.
    sure : bool
        True if the user need not check the guess.
    of_shape : bool
        True for a guess of the shape of images.
    """

    what: str
    why: str
    sure: bool = False
    of_shape: bool = False


@dataclass(frozen=True)
class ParseReport:
    """Report of how a file was read.

    Attributes
    ----------
    columns : tuple of str
        Column names of a text table, or "1", "2", … if it has no names; empty for other files.
    label_column : int or None
        Index of the label column, from 0.
    header : bool or None
        True if the first line names the columns; None for files that are not text tables.
    guesses : tuple of Guess
        All guesses about the contents of the file.
    unlabelled : str
        The reason why there are no labels, as a sentence without a subject; empty if there are labels.
    left_out : tuple of int
        Indices of the columns that are neither features nor labels, from 0.
    scaled : bool or "quantile"
        True if each feature was scaled to 0 … 1 by its range, "quantile" if by its quantiles.
    quantity : bool
        True if the labels look like a quantity, so that there are no classes.
    labels_file : str
        Path of a file that was not opened and contains the labels of these images; empty if there is no such file.
    """

    columns: tuple[str, ...] = ()
    label_column: int | None = None
    header: bool | None = None
    guesses: tuple[Guess, ...] = ()
    unlabelled: str = ""
    left_out: tuple[int, ...] = ()
    scaled: bool | str = False
    quantity: bool = False
    labels_file: str = ""


# Report for a file about which nothing was guessed.
NO_GUESSES = ParseReport()


def likely_labels(columns: Sequence[str]) -> list[int]:
    """Return the indices of columns with a usual name of labels. Column y is omitted if there is a column x."""
    names = [name.lower() for name in columns]
    return [k for k, name in enumerate(names) if name in LABEL_NAMES and not (name == "y" and "x" in names)]


def find_column(requested: str, columns: Sequence[str]) -> int | None:
    """Return the index of a column as `requested_column` does, or None if the table has no such column."""
    folded = [name.lower() for name in columns]
    for name, names in ((clean_name(requested), columns), (requested.lower(), folded)):
        if name in names:
            return names.index(name)
    number = requested.removeprefix("#")  # another column may have the number as its name, but not with #
    return int(number) - 1 if number.isdecimal() and 1 <= int(number) <= len(columns) else None


def requested_column(requested: str, columns: Sequence[str], place: str) -> int:
    """Return the index of a column given by its name, in upper or lower case, or by its number: 1 or #1 is the first.

    Parameters
    ----------
    requested : str
        The name or the number of the column.
    columns : sequence of str
        The names of all columns, or "1", "2", … if they have no names.
    place : str
        The file, for the error message.

    Raises
    ------
    DataError
        If the table has no such column.
    """
    if (column := find_column(requested, columns)) is not None:
        return column
    listed = f"{counted(len(columns), 'column')} ({', '.join(columns[:6])}{', …' if len(columns) > 6 else ''})"
    raise DataError(f"has no column {requested!r}; it has {listed}: give a name, or a number from 1", place)
