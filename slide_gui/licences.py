"""List the third-party components of the program and their licences.

The list is read from the metadata of the installed packages or, in the desktop bundle, from its bill of materials.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from slide_gui.resources import is_bundle, resource

# The packages that the program requires.
PACKAGES = (
    "numpy", "scipy", "scikit-learn", "matplotlib", "pillow", "requests", "platformdirs", "threadpoolctl",
    "PySide6-Essentials", "pyqtgraph",
)  # fmt: skip


def installed_version(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    # On conda-forge, PySide6-Essentials is called PySide6.
    for each in (name, name.removesuffix("-Essentials")):
        try:
            return metadata.version(each)
        except metadata.PackageNotFoundError:
            continue
    return None


# Name of the file in the resource folder `licences` that contains the bill of materials of the desktop bundle.
BILL = "bill.cdx.json"

# Property in the bill of materials whose value is the name of the folder with the licence texts of a component.
TEXTS = "slide-gui:licences"

_LONGEST = 60  # largest number of characters of a licence name; some packages give the full licence text instead


@dataclass(frozen=True)
class Component:
    """A third-party component of the program.

    Attributes
    ----------
    name, version : str
    licence : str
        SPDX expression if the component declares one, otherwise the name of the licence.
    texts : Path or None
        Folder that contains the licence texts; None if they are in the installed package.
    """

    name: str
    version: str
    licence: str
    texts: Path | None = None


def components() -> tuple[Component, ...]:
    """Return the components of the desktop bundle or, in other installations, all direct and indirect dependencies.

    The components are sorted by name.
    """
    known = _bundled(resource("licences")) if is_bundle() else _installed("slide-gui", set())
    return tuple(sorted(known, key=lambda component: component.name.lower()))


def _bundled(folder: Path) -> Iterator[Component]:
    for each in json.loads((folder / BILL).read_text(encoding="utf-8"))["components"]:
        (licence,) = each["licenses"]
        name = licence.get("expression") or licence["license"]["name"]
        (place,) = (item["value"] for item in each["properties"] if item["name"] == TEXTS)
        yield Component(each["name"], each["version"], name, folder / place)


def _installed(name: str, seen: set[str]) -> Iterator[Component]:
    for requirement in metadata.requires(name) or ():
        needed = re.split(r"[\s<>=!~;\[(]", requirement)[0]
        if needed.lower() in seen or ("extra ==" in requirement and "cluster" not in requirement):
            continue
        seen.add(needed.lower())
        try:
            described = metadata.metadata(needed)
        except metadata.PackageNotFoundError:  # the package is required only on other operating systems
            continue
        yield Component(described["Name"], described["Version"], licence_of(described))
        yield from _installed(needed, seen)


def licence_of(package: metadata.PackageMetadata) -> str:
    """Return the licence that a package declares: an SPDX expression, a name, or the names in its classifiers."""
    name: str = [*package.get_all("License-Expression", []), *package.get_all("License", []), ""][0]
    if name and len(name) <= _LONGEST:
        return name
    kinds = [each.rpartition(" :: ")[2] for each in package.get_all("Classifier", []) if each.startswith("License ::")]
    return ", ".join(kinds) or name.partition("\n")[0][:_LONGEST] or "see the package's files"


def as_markdown() -> str:
    """Return a Markdown table of all components."""
    rows = [f"| {each.name} | {each.version} | {each.licence} |" for each in components()]
    return "\n".join(["", "| component | version | licence |", "|---|---|---|", *rows, ""])
