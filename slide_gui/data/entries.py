"""The benchmark data sets listed in `resources/catalogue.toml`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from slide_gui.resources import toml_resource

_MEAN_TOLERANCE = 0.01


@dataclass(frozen=True)
class RemoteFile:
    """A file to download.

    Attributes
    ----------
    name : str
        File name on the mirrors and on disk.
    hashes : tuple of str
        Hashes of the file, each as ``"algorithm:hex"``; one match is enough.
    """

    name: str
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A benchmark data set.

    Attributes
    ----------
    key, title : str
        Name on the command line, and name shown to the user.
    n_train, n_test : int
        Number of rows of the training set and of the test set.
    label_names : tuple of str
        Names of the labels 0, 1, …
    stand_in : str
        Name of the generator that makes a substitute if the files are missing.
    licence, citation : str
        Licence and citation, as stated by the source of the data.
    sets : tuple of tuple of str
        Alternative tuples of file names; each tuple is a complete data set.
    mirrors : tuple of str
        Addresses of the files, tried in this order; each ends in a slash.
    files : tuple of RemoteFile
        Files to download.
    mean_pixel : float
        Mean pixel value. It distinguishes these files from other data with the same file names; 0 if there are none.
    """

    key: str
    title: str
    n_train: int
    n_test: int
    label_names: tuple[str, ...]
    stand_in: str
    licence: str
    citation: str
    sets: tuple[tuple[str, ...], ...]
    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, ...]
    mean_pixel: float = 0.0


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return all benchmark data sets in the order of the catalogue."""
    return tuple(
        Entry(**{"licence": "not stated", **table, "files": tuple(RemoteFile(**file) for file in table["files"])})
        for table in toml_resource("catalogue.toml")["data"]
    )


def entry(key: str) -> Entry:
    """Return the benchmark data set with a key such as ``"rectangles"``.

    Raises
    ------
    KeyError
        If the key is unknown; the message lists all keys.
    """
    for candidate in entries():
        if candidate.key == key:
            return candidate
    raise KeyError(f"no data set {key!r}; choose one of {', '.join(e.key for e in entries())}")


def is_known(key: str) -> bool:
    """Return True if the catalogue has a data set with this key."""
    return any(each.key == key for each in entries())


def recognise(places: Iterable[str], rows: NDArray[Any], n_test: int) -> Entry | None:
    """Return the benchmark data set with these file names, numbers of rows and mean pixel, or None.

    Parameters
    ----------
    places : iterable of str
        Paths of the files, with the members of archives.
    rows : ndarray of shape (n, d)
        Rows of the training set, or of the only file; the benchmarks have 784 features.
    n_test : int
        Number of test rows; 0 if only one file was opened.
    """
    names = {part for place in places for part in re.split(r"[\\/]|, ", place.lower())}
    for candidate in entries():
        members = {name for names_of_set in candidate.sets for name in names_of_set}
        counts = ((candidate.n_train, candidate.n_test), (candidate.n_train, 0), (candidate.n_test, 0))
        if rows.shape[1] == 784 and (len(rows), n_test) in counts and names & members:
            mean = candidate.mean_pixel  # Fashion-MNIST and KMNIST have the same file names and sizes as MNIST
            return candidate if not mean or abs(rows.mean() - mean) < _MEAN_TOLERANCE else None
    return None
