"""Find the benchmark data sets on disk, download them, or generate stand-ins."""

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
    """Return the folders searched for data files: those in SLIDE_GUI_DATA, then the user's data folder.

    SLIDE_GUI_DATA may name several folders, separated as in PATH. Downloads go to the first folder.
    """
    import platformdirs

    named = [Path(name) for name in os.environ.get("SLIDE_GUI_DATA", "").split(os.pathsep) if name]
    return [*named, platformdirs.user_data_path("slide-gui", appauthor=False) / "data"]


def find(key: str) -> list[Path] | None:
    """Return the files of a data set, up to two levels deep in the data folders, or None if any is missing.

    Raises
    ------
    KeyError
        If the key is unknown.
    """
    wanted = entry(key)
    for folder in data_folders():
        files = _files_by_name(folder)
        for names in wanted.sets:
            if all(name in files for name in names):
                return [files[name] for name in names]
    return None


def load(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Read a data set from its files if they exist, else generate its stand-in, without downloading.

    Parameters
    ----------
    key : str
        Such as ``"rectangles"``.
    progress : Progress
        Reports the fraction of the work.
    seed : int
        Seed of the generator; ignored for real files.

    Raises
    ------
    KeyError
        If the key is unknown.
    DataError
        If its files are damaged.
    """
    files = find(key)
    return open_data(files, progress=progress) if files else generate(key, progress=progress, seed=seed)


def generate(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Generate the stand-in of a data set, even if its files exist.

    Raises
    ------
    KeyError
        If the key is unknown.
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
    """Download the files of a data set to a folder named after its key, in the first of `data_folders`.

    Parameters
    ----------
    key : str
        Such as ``"mnist"``.
    progress : Progress
        Reports the fraction of the files; cancelling leaves no partial file.
    mirrors : sequence of str, optional
        Addresses that end in a slash, instead of those in the catalogue.

    Returns
    -------
    list of Path
        The files for `open_data`.

    Raises
    ------
    KeyError
        If the key is unknown.
    DataError
        If a download fails, a hash is wrong, or another file has the same name.
    """
    wanted = entry(key)
    target = data_folders()[0] / key
    for file in wanted.files:
        if (target / file.name).exists() and not matches(target / file.name, file):
            raise DataError(
                "exists but differs from the file in the catalogue; move it elsewhere", str(target / file.name)
            )
    fraction = 1 / len(wanted.files)
    return [
        fetch(
            file,
            wanted.mirrors if mirrors is None else mirrors,
            target,
            progress=progress.part(i * fraction, (i + 1) * fraction),
        )
        for i, file in enumerate(wanted.files)
    ]


def _files_by_name(folder: Path) -> dict[str, Path]:
    """Return files in a folder and its subfolders by name; the shallowest, then alphabetically first folder wins."""
    files: dict[str, Path] = {}
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
                return files
            for child in children:
                if child.is_file():
                    files.setdefault(child.name, Path(child.path))
                elif child.is_dir() and not child.name.startswith("."):
                    below.append(Path(child.path))
        level = below
    return files
