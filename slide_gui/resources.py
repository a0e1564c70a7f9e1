"""Find the program's resource files in a checkout of the sources, an installed wheel or the desktop bundle."""

import sys
from functools import cache
from pathlib import Path
from typing import Any


def is_bundle() -> bool:
    """Return True if the program runs from the desktop bundle, which does not contain pip and Dask."""
    return hasattr(sys, "_MEIPASS")


def how_to_get(extra: str) -> str:
    """Return instructions for installing an optional extra of the package."""
    command = f"run pip install '.[{extra}]' in the source folder of slide-gui"
    return f"the desktop bundle lacks this feature; install the Python package: {command}" if is_bundle() else command


def resource(name: str) -> Path:
    """Return the path of a file or folder under ``resources/``.

    Raises
    ------
    FileNotFoundError
        If this installation does not contain the file or folder.
    """
    package = Path(__file__).resolve().parent
    bundle = getattr(sys, "_MEIPASS", None)
    roots = [package / "_resources", package.parent / "resources"]
    if bundle is not None:
        roots.insert(0, Path(bundle) / "resources")
    for root in roots:
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"resource {name!r} is missing from this installation of slide-gui")


@cache
def toml_resource(name: str) -> Any:
    """Return the content of a TOML file under ``resources/``. Lists are converted to tuples."""
    import tomllib

    with resource(name).open("rb") as stream:
        return _frozen(tomllib.load(stream))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
