"""The benchmark data sets at hand: found on disk, downloaded when asked for, or generated."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from slide_gui.data.dataset import Dataset
from slide_gui.data.download import fetch, matches
from slide_gui.data.entries import entry
from slide_gui.data.errors import DataError
from slide_gui.data.open import open_data
from slide_gui.progress import NO_PROGRESS, Progress

_DEPTH = 2
_MOST_ENTRIES = 20_000


def data_folders() -> list[Path]:
    """Return where data files are looked for, and put (in the first): SLIDE_GUI_DATA, then the user's data folder.

    The variable may name several folders, separated as in PATH.
    """
    import platformdirs

    named = [Path(name) for name in os.environ.get("SLIDE_GUI_DATA", "").split(os.pathsep) if name]
    return [*named, platformdirs.user_data_path("slide-gui", appauthor=False) / "data"]


def find(key: str) -> list[Path] | None:
    """Return the files of a data set in the data folders or two folders deep in them, or None if they are not whole.

    Raises
    ------
    KeyError
        If there is no such data set.
    """
    wanted = entry(key)
    for folder in data_folders():
        there = _files_by_name(folder)
        for names in wanted.sets:
            if all(name in there for name in names):
                return [there[name] for name in names]
    return None


def load(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Return a data set: its real files where they are, else the generated stand-in. Nothing is downloaded.

    Parameters
    ----------
    key : str
        Such as ``"rectangles"``.
    progress : Progress
        Reports the share of the work.
    seed : int
        Of the generator; without effect on real files.

    Raises
    ------
    KeyError
        If there is no such data set.
    DataError
        If its files are there but damaged.
    """
    files = find(key)
    return open_data(files, progress=progress) if files else generate(key, progress=progress, seed=seed)


def generate(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Return the generated stand-in of a data set, whether or not its files are there.

    Raises
    ------
    KeyError
        If there is no such data set.
    """
    from slide_gui.data import generators

    makers: dict[str, Callable[..., Dataset]] = {
        "rectangles": generators.rectangles,
        "rectangles-images": generators.rectangles_images,
        "convex": generators.convex,
        "digits": generators.digits,
    }
    return replace(makers[entry(key).stand_in](seed=seed, progress=progress), key=key)


def download(
    key: str,
    *,
    progress: Progress = NO_PROGRESS,
    mirrors: Sequence[str] | None = None,
) -> list[Path]:
    """Fetch the files of a data set from its mirrors into a folder of its own in the first of `data_folders`.

    Parameters
    ----------
    key : str
        Such as ``"mnist"``.
    progress : Progress
        Reports the share of the files; cancelling leaves no half file behind.
    mirrors : sequence of str, optional
        Addresses that end in a slash, instead of the catalogue's.

    Returns
    -------
    list of Path
        What `open_data` reads.

    Raises
    ------
    KeyError
        If there is no such data set.
    DataError
        If a file could not be fetched whole, or its hash is wrong, or another file of its name is there.
    """
    wanted = entry(key)
    target = data_folders()[0] / key
    for file in wanted.files:
        if (target / file.name).exists() and not matches(target / file.name, file):
            raise DataError("is there, but is not the file of the catalogue; move it away", str(target / file.name))
    share = 1 / len(wanted.files)
    return [
        fetch(
            file,
            wanted.mirrors if mirrors is None else mirrors,
            target,
            progress=progress.part(i * share, (i + 1) * share),
        )
        for i, file in enumerate(wanted.files)
    ]


def _files_by_name(folder: Path) -> dict[str, Path]:
    """Return the files of a folder and those below it, the shallower and earlier first, to a bounded count."""
    found: dict[str, Path] = {}
    level, seen = [folder], 0
    for _ in range(_DEPTH + 1):
        below: list[Path] = []
        for place in level:
            try:
                children = sorted(os.scandir(place), key=lambda child: child.name)
            except OSError:
                continue
            seen += len(children)
            if seen > _MOST_ENTRIES:
                return found
            for child in children:
                if child.is_file():
                    found.setdefault(child.name, Path(child.path))
                elif child.is_dir() and not child.name.startswith("."):
                    below.append(Path(child.path))
        level = below
    return found
