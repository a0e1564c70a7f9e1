"""A package that adds to the program, put into a folder as pip would, and others that fail in one way each."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

_HERE = Path(__file__).parent
_PROJECT = tomllib.loads((_HERE / "pyproject.toml").read_text("utf-8"))["project"]


def install(folder: Path, version: str = _PROJECT["version"]) -> None:
    """Put the example into a folder of packages."""
    shutil.copy(_HERE / "slide_example.py", folder)
    write_metadata(folder, _PROJECT["name"], version, _PROJECT["entry-points"])


def write_metadata(folder: Path, name: str, version: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Write what an installer writes of a package."""
    there = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    groups = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in each.items()) for group, each in entry_points.items())
    (there / "entry_points.txt").write_text("\n".join(groups), "utf-8")


def forget() -> None:
    """Let the program look for packages anew."""
    from slide_gui import plugins
    from slide_gui.core.slide import squashing

    plugins._installed.cache_clear()
    squashing._added.cache_clear()
    sys.modules.pop("slide_example", None)
