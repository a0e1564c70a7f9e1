"""What was published, read from `resources/paper.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from slide_gui.resources import resource

__all__ = ["Published", "Sensitivity", "data_key", "published", "published_seconds", "published_splits", "sensitivity"]


@dataclass(frozen=True)
class Published:
    """A published test error, as a share of 1, of a method on a data set, and where it stands."""

    method: str
    error: float
    place: str


@dataclass(frozen=True)
class Sensitivity:
    """The paper's figure of the error against noise and depth: its setting, and what the text states of it.

    The values of its curves are not published.
    """

    data: str
    depths: tuple[int, ...]
    widths: str
    statements: tuple[str, ...]
    place: str


def published(key: str) -> tuple[Published, ...]:
    """Return all published errors on a data set of the catalogue: the paper's Table 1, then those of others."""
    document = _document()
    table = document["table1"]
    found = [Published(name, error / 100, table["place"]) for name, error in table["errors"].get(key, {}).items()]
    for other in document["others"]:
        if key in other["errors"]:
            found.append(Published(other["method"], other["errors"][key] / 100, other["place"]))
    return tuple(found)


def published_seconds(key: str) -> tuple[float | None, float | None, float | None]:
    """Return the paper's Table 2: seconds of feature generation of SLIDE and SdA, and the speed-up; None if absent."""
    table = _document()["table2"]
    seconds = table["seconds"]
    found = (seconds["SLIDE"].get(key), seconds["SdA"].get(key), table["speedup"].get(key))
    slide, sda, speedup = (None if value is None else float(value) for value in found)
    return slide, sda, speedup


def published_splits(key: str) -> int:
    """Return over how many splits the paper averages on a data set; 1 for any that it does not use."""
    return int(_document()["protocol"]["splits"].get(key, 1))


def sensitivity() -> Sensitivity:
    """Return the setting of the paper's figure of the error against noise and depth."""
    table = _document()["sensitivity"]
    statements, depths = tuple(table["statements"]), tuple(table["depths"])
    return Sensitivity(table["data"], depths, table["widths"], statements, table["place"])


def data_key(name: str) -> str:
    """Return the catalogue's key of a data set's name, generated or real; empty if it is none of the catalogue."""
    from slide_gui.data.entries import entries

    plain = name.removesuffix(" (generated)")
    return next((entry.key for entry in entries() if entry.title == plain), "")


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    with resource("paper.toml").open("rb") as stream:
        return tomllib.load(stream)
