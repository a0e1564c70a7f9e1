"""Paths of the read-only resource files, in a checkout, a wheel or a frozen bundle."""

import sys
from functools import cache
from pathlib import Path
from typing import Any


def is_bundle() -> bool:
    """Return True in the desktop bundle, a frozen program without pip and Dask."""
    return hasattr(sys, "_MEIPASS")


def how_to_get(extra: str) -> str:
    """Return how to install an optional extra of the package."""
    command = f"run pip install '.[{extra}]' in the folder of its sources"
    return f"the desktop bundle does not contain it; install the Python package: {command}" if is_bundle() else command


def resource(name: str) -> Path:
    """Return the path of a file or folder under ``resources/``.

    Raises
    ------
    FileNotFoundError
        If the installation does not contain it.
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
    """Return the content of a TOML file under ``resources/``, with tuples instead of lists."""
    import tomllib

    with resource(name).open("rb") as stream:
        return _frozen(tomllib.load(stream))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
