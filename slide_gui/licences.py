"""What the program is made of, and under which licences: as the bill of a bundle says, else as it is installed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from slide_gui.resources import is_bundle, resource

BILL = "bill.cdx.json"
"""The bill of materials of a bundle, in the folder `licences` of its resources."""

TEXTS = "slide-gui:licences"
"""The property of a component of the bill that names the folder of its licences beside it."""

_LONGEST = 60  # of a licence's name; some distributions give its whole text


@dataclass(frozen=True)
class Part:
    """Something that others made.

    Attributes
    ----------
    name, version : str
    licence : str
        An SPDX expression where its makers say one, else a name.
    texts : Path or None
        The folder that holds the text; None where it lies with the installed package.
    """

    name: str
    version: str
    licence: str
    texts: Path | None = None


def parts() -> tuple[Part, ...]:
    """Return all parts by name: of a bundle what is inside, else what slide-gui needs, with what that needs."""
    known = _listed(resource("licences")) if is_bundle() else _installed("slide-gui", set())
    return tuple(sorted(known, key=lambda part: part.name.lower()))


def _listed(folder: Path) -> Iterator[Part]:
    for each in json.loads((folder / BILL).read_text(encoding="utf-8"))["components"]:
        (licence,) = each["licenses"]
        said = licence.get("expression") or licence["license"]["name"]
        (place,) = (item["value"] for item in each["properties"] if item["name"] == TEXTS)
        yield Part(each["name"], each["version"], said, folder / place)


def _installed(name: str, seen: set[str]) -> Iterator[Part]:
    for requirement in metadata.requires(name) or ():
        needed = re.split(r"[\s<>=!~;\[(]", requirement)[0]
        if needed.lower() in seen or "extra ==" in requirement:
            continue
        seen.add(needed.lower())
        try:
            said = metadata.metadata(needed)
        except metadata.PackageNotFoundError:  # needed on other systems
            continue
        yield Part(said["Name"], said["Version"], licence_of(said))
        yield from _installed(needed, seen)


def licence_of(said: metadata.PackageMetadata) -> str:
    """Return the licence that the metadata of a distribution name: an expression, a name, or those of its kind."""
    name: str = [*said.get_all("License-Expression", []), *said.get_all("License", []), ""][0]
    if name and len(name) <= _LONGEST:
        return name
    kinds = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    return ", ".join(kinds) or name.partition("\n")[0][:_LONGEST] or "see its files"


def as_markdown() -> str:
    """Return a table of all parts."""
    rows = [f"| {part.name} | {part.version} | {part.licence} |" for part in parts()]
    return "\n".join(["", "| part | version | licence |", "|---|---|---|", *rows, ""])
