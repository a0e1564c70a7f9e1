"""The benchmark data sets by name: what `resources/catalogue.toml` says of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from slide_gui.resources import resource


@dataclass(frozen=True)
class RemoteFile:
    """A file to download.

    Attributes
    ----------
    name : str
        Its name on the mirrors and on disk.
    hashes : tuple of str
        ``"algorithm:hex"``, each of which identifies the file.
    unpacked : str
        The same for its content once gunzipped, by which a file packed again is known; may be empty.
    """

    name: str
    hashes: tuple[str, ...]
    unpacked: str = ""


@dataclass(frozen=True)
class Entry:
    """A benchmark data set.

    Attributes
    ----------
    key, title : str
        For the command line and for people.
    n_train, n_test : int
        Rows of the two parts.
    label_names : tuple of str
        What the labels 0, 1, … mean.
    stand_in : str
        The generator used while the files are absent.
    licence, citation : str
        As far as the source states them.
    sets : tuple of tuple of str
        File names, any one tuple of which makes the data set whole.
    mirrors : tuple of str
        Where the files are, tried in this order; each ends in a slash.
    files : tuple of RemoteFile
        What is downloaded.
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


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return all benchmark data sets, in the catalogue's order."""
    with resource("catalogue.toml").open("rb") as stream:
        tables = tomllib.load(stream)["data"]
    return tuple(
        Entry(
            **{
                "licence": "not stated",
                **table,
                "label_names": tuple(table["label_names"]),
                "sets": tuple(tuple(names) for names in table["sets"]),
                "mirrors": tuple(table["mirrors"]),
                "files": tuple(
                    RemoteFile(file["name"], tuple(file["hashes"]), file.get("unpacked", "")) for file in table["files"]
                ),
            }
        )
        for table in tables
    )


def entry(key: str) -> Entry:
    """Return the entry of a key such as ``"rectangles"``.

    Raises
    ------
    KeyError
        If there is none; the message lists the keys.
    """
    for candidate in entries():
        if candidate.key == key:
            return candidate
    raise KeyError(f"no data set {key!r}; there are {', '.join(e.key for e in entries())}")


def is_known(key: str) -> bool:
    """Return whether the catalogue has a data set of this name."""
    return any(each.key == key for each in entries())


def recognise(places: Iterable[str], n_train: int, n_test: int, n_features: int) -> Entry | None:
    """Return the benchmark that the files are, by their names and by the counts of rows.

    Parameters
    ----------
    places : iterable of str
        Paths, or paths and members, that were read.
    n_train, n_test : int
        Rows found; one of them may be 0 where only one of the files was opened.
    n_features : int
        The benchmarks have 784.
    """
    names = {part for place in places for part in re.split(r"[\\/]|, ", place.lower())}
    for candidate in entries():
        members = {name for names_of_set in candidate.sets for name in names_of_set}
        counts = ((candidate.n_train, candidate.n_test), (candidate.n_train, 0), (candidate.n_test, 0))
        if n_features == 784 and (n_train, n_test) in counts and names & members:
            return candidate
    return None
