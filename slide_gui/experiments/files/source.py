"""Describe the source of a data set, and write and read images as text."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import is_known
from slide_gui.data.errors import DataError
from slide_gui.data.limits import read_small
from slide_gui.data.reading import AS_GUESSED, QUANTILES, ParseOptions
from slide_gui.progress import NO_PROGRESS, Progress

_LARGEST_IMAGE = 16 << 20  # bytes


def image_text(image: NDArray[Any]) -> str:
    """Return an image as one line of numbers, from which `read_image` restores the exact values."""
    return ",".join(repr(float(value)) for value in image.reshape(-1)) + "\n"


def read_image(path: str | os.PathLike[str]) -> NDArray[np.float32]:
    """Read the values of an image from a text file. The values are separated by commas, spaces or line breaks.

    Raises
    ------
    DataError
        If the file cannot be read, exceeds 16 MiB, or contains anything other than finite numbers.
    """
    place = str(path)
    content = read_small(path, _LARGEST_IMAGE, "the pixel values of one image")
    try:
        numbers = [float(word) for word in content.decode().replace(",", " ").split()]
        with np.errstate(over="ignore"):
            values = np.array(numbers, dtype=np.float32)
    except ValueError:
        raise DataError("the file must contain only numbers: the pixel values of one image", place) from None
    if not values.size or not np.isfinite(values).all():
        raise DataError("the file is empty, or contains NaN or infinity; expected the pixel values of one image", place)
    return values


_GENERATED = "generated:"


@dataclass(frozen=True)
class DataSource:
    """The source of a data set: an entry of the catalogue with a seed, or files.

    Attributes
    ----------
    key : str
        Key of an entry of `slide_gui.data.catalogue`. Empty if the data are read from `paths`.
    paths : tuple of str
        Paths of the files. Empty for an entry of the catalogue.
    seed : int
        Seed of the random numbers if the data are generated.
    generated : bool
        True to generate the data even if the files with the real data are found.
    reading : ParseOptions
        Options for reading the files.
    held_out : HeldOut or None
        Rows to hold out as a test set. If it is None, a quarter of each class is held out, provided that the data have
        classes but no test set.
    """

    key: str = ""
    paths: tuple[str, ...] = ()
    seed: int = 0
    generated: bool = False
    reading: ParseOptions = AS_GUESSED
    held_out: HeldOut | None = None

    def __repr__(self) -> str:
        """Return a Python expression for the source. Default values of `reading` and `held_out` are omitted."""
        arguments = f"key={self.key!r}, paths={self.paths!r}, seed={self.seed!r}, generated={self.generated!r}"
        arguments += "" if self.reading == AS_GUESSED else f", reading={self.reading!r}"
        return f"DataSource({arguments}{'' if self.held_out is None else f', held_out={self.held_out!r}'})"

    def document(self) -> dict[str, Any]:
        """Return the source as JSON-compatible values. Omit `reading` and `held_out` if they have default values."""
        document: dict[str, Any] = {"key": self.key, "paths": list(self.paths)}
        document |= {"seed": self.seed, "generated": self.generated}
        if self.reading != AS_GUESSED:
            # Early versions of the program reject documents that contain a field in `usual`. These fields are therefore
            # written only if their values differ from the defaults.
            reading = asdict(self.reading)
            usual = {"left_out": (), "scaled": None, "bins": None, "group": None}
            document["reading"] = {k: v for k, v in reading.items() if k not in usual or v != usual[k]}
        if self.held_out is not None:
            document["held_out"] = asdict(self.held_out)
        return document

    @property
    def words(self) -> tuple[str, ...]:
        """Command-line options that specify how the files are read and which rows are held out."""
        reading, held_out = self.reading, self.held_out
        shape = None if reading.shape is None else "x".join(map(str, reading.shape)) or "none"
        values = {"label-column": reading.label_column, "shape": shape, "bins": reading.bins, "group": reading.group}
        quantiles = reading.scaled == QUANTILES
        switches = {"header": reading.header, "scale": None if quantiles else reading.scaled}
        words = [word for name, value in values.items() if value is not None for word in option_words(name, value)]
        words += [f"--{'' if on else 'no-'}{name}" for name, on in switches.items() if on is not None]
        words += ["--quantiles"] * quantiles + ["--transposed"] * reading.transposed
        words += [word for name in reading.left_out for word in option_words("leave-out", name)]
        if held_out is not None and held_out.folds:
            words += ["--folds", held_out.folds, "--fold", held_out.fold + 1, "--split-seed", held_out.seed]
        elif held_out is not None:
            words += ["--held-out", repr(held_out.share)]
            words += ["--split-seed", held_out.seed] if held_out.share else []
        return tuple(map(str, words))

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Self:
        """Return the source that a command-line argument names.

        The argument is a key of the catalogue, ``generated:`` followed by a key, or paths joined by `os.pathsep`. If
        the whole argument is an existing path, it is not split.
        """
        key = text.removeprefix(_GENERATED)
        if is_known(key):
            return cls(key=key, seed=seed, generated=key != text)
        # An existing path is not split, because it may contain `os.pathsep`. A key after "generated:" is not split
        # either, even if it is misspelt.
        parts = [text] if os.path.exists(text) or key != text else text.split(os.pathsep)
        return cls(paths=tuple(filter(None, parts)), seed=seed)

    @classmethod
    def of(cls, texts: Sequence[str], seed: int = 0) -> Self:
        """Return the source that command-line arguments describe: a key of the catalogue, or files of a data set."""
        # A path that begins with "-" would be parsed as an option, so "./" is put in front of it.
        texts = [f".{os.sep}{text}" if text.startswith("-") else text for text in texts]
        return cls.parse(texts[0], seed) if len(texts) == 1 else cls(paths=tuple(texts), seed=seed)

    @cached_property
    def argument(self) -> str:
        """String from which `parse` restores the source, except for the seed, reading options and held-out rows."""
        if self.key:
            return f"{_GENERATED if self.generated else ''}{self.key}"
        return os.pathsep.join(self.paths)

    def files(self) -> list[Path]:
        """Return the paths of the files and folders to read. The list is empty for generated data."""
        from slide_gui.data.catalogue import find

        if self.key:
            return [] if self.generated or not is_known(self.key) else find(self.key) or []
        return [Path(path) for path in self.paths]

    def load(self, *, progress: Progress = NO_PROGRESS) -> Dataset:
        """Read or generate the data set. If it has no test set, hold out some of its rows as a test set.

        Raises
        ------
        slide_gui.data.errors.DataError
            If the data are unsuitable, or the rows cannot be held out as requested.
        """
        from slide_gui.experiments.runs.splits import with_test_part

        if self.key:
            from slide_gui.data.catalogue import generate, load

            make = generate if self.generated else load
            return with_test_part(make(self.key, progress=progress, seed=self.seed), self.held_out)
        from slide_gui.data.open import open_data

        dataset = open_data(self.files(), self.reading, progress=progress.part(0.0, 0.8))
        return with_test_part(dataset, self.held_out, progress=progress.part(0.8, 1.0))


def option_words(name: str, value: Any) -> tuple[Any, ...]:
    """Return a command-line option and its value as two words of a command.

    If the value begins with a dash, join the option and the value by "=", and return the result as one word.
    """
    return (f"--{name}={value}",) if str(value).startswith("-") else (f"--{name}", value)
