"""How a file is read where it does not say so itself: what a person asks for, and what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slide_gui.data.errors import DataError

NO_COLUMN = "none"
"""In place of a label column: all columns are features."""

LABEL_NAMES = ("label", "labels", "class", "y", "target")
"""A column of a table with one of these names is taken to hold the labels."""

_MOST_BINS = 30


@dataclass(frozen=True)
class ParseOptions:
    """What a person says of a file; what is None is guessed.

    Attributes
    ----------
    label_column : str or None
        Of a table of text: the name of the column, or its number from 1, or "none".
    header : bool or None
        Whether the first line of a table of text names the columns.
    shape : tuple of int, or None
        Rows and columns of the images; empty: the features are no picture.
    transposed : bool
        The images are stored column by column.
    left_out : tuple of str
        Columns of a table of text that are no features, by their names or numbers from 1.
    scaled : bool or None
        Whether each feature that is no pixel is brought to 0 … 1, its smallest and largest value in the training part;
        guessed: where values lie outside of 0 … 1, or all are smaller than 1e-30, which the threshold of the layers
        could not tell apart.
    bins : int or None
        Into how many ranges with about equally many training rows a quantity is cut, each a class; 0: each number is a
        class, even if the numbers look like a quantity.
    group : str or None
        Of a table of text: the name of a column, or its number from 1. Rows with the same text there stay on the same
        side of every split; the column is not a feature.
    """

    label_column: str | None = None
    header: bool | None = None
    shape: tuple[int, ...] | None = None
    transposed: bool = False
    left_out: tuple[str, ...] = ()
    scaled: bool | None = None
    bins: int | None = None
    group: str | None = None

    def checked(self) -> ParseOptions:
        """Return itself.

        Raises
        ------
        ValueError
            Names what is out of range.
        """
        if self.shape is not None and (len(self.shape) not in (0, 2) or any(side < 1 for side in self.shape)):
            raise ValueError(f"the shape is {self.shape}; it must be rows and columns of an image, 1 or more each")
        if self.transposed and self.shape == ():
            raise ValueError("features that are no picture cannot be transposed; give the shape of the images")
        if self.scaled and self.shape:
            raise ValueError("pixels are on one scale already; scale features that are no picture")
        if self.bins is not None and (
            type(self.bins) is not int or not (self.bins == 0 or 2 <= self.bins <= _MOST_BINS)
        ):
            raise ValueError(f"bins is {self.bins!r}; it must be 2 to {_MOST_BINS} ranges, or 0 for none")
        if self.label_column is not None and not self.label_column.strip():
            raise ValueError("the label column has no name; give its name, its number from 1, or none")
        if any(not name.strip() for name in self.left_out):
            raise ValueError("a column that is left out has no name; give its name or its number from 1")
        if self.group is not None and self.group in (self.label_column, "", NO_COLUMN):
            raise ValueError(
                f"column {self.group!r} cannot hold the groups; name a column that does not hold the labels"
            )
        if self.label_column in self.left_out:
            raise ValueError(f"column {self.label_column} cannot hold the labels and be left out")
        return self


AS_GUESSED = ParseOptions()
"""Nothing is known but what the files say."""


@dataclass(frozen=True)
class Guess:
    """Something that a file does not say.

    Attributes
    ----------
    what, why : str
        What it was taken for, and the reason, in words.
    sure : bool
        Whether hardly anybody would want it otherwise.
    of_shape : bool
        Whether it is of the shape of images.
    """

    what: str
    why: str
    sure: bool = False
    of_shape: bool = False


@dataclass(frozen=True)
class ParseReport:
    """How a file was read.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns of a table of text, numbers from 1 where it has none; empty for other files.
    label_column : int or None
        Which of them holds the labels, from 0.
    header : bool or None
        Whether its first line names the columns; None where that cannot be asked.
    guesses : tuple of Guess
        What had to be guessed.
    unlabelled : str
        Why there are no labels, in a sentence without a subject; empty where there are.
    text : tuple of int
        Which of the columns hold text, from 0.
    scaled : bool
        Whether each feature was brought to 0 … 1.
    quantity : bool
        Whether the labels looked like a quantity, so that there are no classes.
    """

    columns: tuple[str, ...] = ()
    label_column: int | None = None
    header: bool | None = None
    guesses: tuple[Guess, ...] = ()
    unlabelled: str = ""
    text: tuple[int, ...] = ()
    scaled: bool = False
    quantity: bool = False

    @property
    def sure(self) -> bool:
        """Whether a person need not be shown what was guessed."""
        return all(guess.sure for guess in self.guesses)


NOT_SAID = ParseReport()
"""Of files that leave nothing to guess."""


class UndecidedColumnsError(DataError):
    """A table has columns of text that are neither features nor said to hold the classes.

    Parameters
    ----------
    message, place : str
        As of every `DataError`.
    reading : ParseOptions
        A guess with which the table can be read.
    guesses : sequence of Guess
        What it takes the columns for.
    """

    def __init__(self, message: str, place: str, reading: ParseOptions, guesses: Sequence[Guess]) -> None:
        super().__init__(message, place)
        self.reading, self.guesses = reading, tuple(guesses)
