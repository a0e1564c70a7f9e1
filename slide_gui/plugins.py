"""What other installed packages add by entry points: looked up when it is first asked for, never at the start.

A package names its data sets, squashing functions and exporters in the groups ``slide_gui.datasets``,
``slide_gui.squashings`` and ``slide_gui.exporters``. Nothing of it is imported before one of them is used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["DATASETS", "EXPORTERS", "SQUASHINGS", "Plugin", "PluginError", "installed", "is_key", "plugin", "plugins"]

DATASETS, SQUASHINGS, EXPORTERS = "data set", "squashing function", "exporter"

_GROUPS = {DATASETS: "slide_gui.datasets", SQUASHINGS: "slide_gui.squashings", EXPORTERS: "slide_gui.exporters"}
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_KEY = re.compile(_NAME.pattern + r"@[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*")


class PluginError(ValueError):
    """A plug-in that cannot be used, said in one sentence with its package."""


@dataclass(frozen=True)
class Plugin:
    """One addition of another package.

    Attributes
    ----------
    kind : str
        `DATASETS`, `SQUASHINGS` or `EXPORTERS`.
    name : str
        By which it is asked for.
    package, version : str
        Of the distribution that it comes from.
    """

    kind: str
    name: str
    package: str
    version: str
    _entry: EntryPoint = field(compare=False, repr=False)

    @property
    def origin(self) -> str:
        """Package and version, as pip installs them."""
        return f"{self.package}=={self.version}"

    @property
    def key(self) -> str:
        """Name and origin, which say what answers: ``name@package==version``."""
        return f"{self.name}@{self.origin}"

    def load(self) -> Any:
        """Import it.

        Raises
        ------
        PluginError
            If that fails, for whatever reason.
        """
        try:
            return self._entry.load()
        except (Exception, SystemExit) as error:
            raise self.failed(f"{type(error).__name__}: {error}") from error

    def failed(self, reason: str) -> PluginError:
        """Return the one sentence for what is wrong with it."""
        said = " ".join(reason.split())[:200].rstrip(".")
        return PluginError(
            f"{_called(self.kind, self.name)} of the package {self.package} {self.version} cannot be used ({said}); "
            "update or remove that package"
        )


def _called(kind: str, name: str) -> str:
    if kind == DATASETS:
        return f"the data set {name!r}"
    if kind == SQUASHINGS:
        return f"the squashing function {name!r}"
    return f"the exporter {name!r}"


def is_key(text: str) -> bool:
    """Whether a text has the form of a `Plugin.key`, of whatever package."""
    return _KEY.fullmatch(text) is not None


def plugin(kind: str, name: str, built_in: Collection[str]) -> Plugin | None:
    """Return the plug-in of this name; None if none is installed, or the name is one of the program's.

    Raises
    ------
    PluginError
        If several packages have one of this name.
    """
    if name in built_in:
        return None
    candidates = _installed().get((kind, name), ())
    if len(candidates) > 1:
        packages = " and ".join(each.package for each in candidates)
        raise PluginError(f"{_called(kind, name)} is in several packages, {packages}; remove all but one of them")
    return candidates[0] if candidates else None


def plugins(kind: str, built_in: Collection[str]) -> list[Plugin]:
    """Return all of a kind that can be asked for, by name."""
    return [
        each[0] for (of, name), each in _installed().items() if of == kind and name not in built_in and len(each) == 1
    ]


def installed() -> list[Plugin]:
    """Return all there are, also those whose name is taken."""
    return [each for several in _installed().values() for each in several]


@lru_cache(maxsize=1)
def _installed() -> Mapping[tuple[str, str], tuple[Plugin, ...]]:
    """Return (kind, name) → plug-ins, sorted; the first of two installations of one package counts, as in an import."""
    from importlib.metadata import distributions

    there: dict[tuple[str, str], dict[str, Plugin]] = {}
    kinds = {group: kind for kind, group in _GROUPS.items()}
    seen = set()
    for distribution in distributions():
        try:
            package, version = str(distribution.metadata["Name"]), str(distribution.version)
            entries = [each for each in distribution.entry_points if each.group in kinds]
        except Exception:  # a package whose files are damaged has nothing to add
            continue
        identity = re.sub(r"[-_.]+", "-", package).lower()
        if identity in seen:
            continue
        seen.add(identity)
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                kind = kinds[entry.group]
                there.setdefault((kind, entry.name), {})[identity] = Plugin(kind, entry.name, package, version, entry)
    return MappingProxyType({key: tuple(there[key].values()) for key in sorted(there)})
