"""Find the benchmark data sets on disk, download them, or generate similar data as a substitute."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import RemoteFile, entry
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

_MOST_ENTRIES = 20_000
_CHUNK = 1 << 16
_LARGEST = 1 << 28  # largest size of a download in bytes: ten times the largest benchmark file
_TIMEOUT = (10.0, 20.0)  # longest times in seconds: to connect, and between two chunks


def data_folders() -> list[Path]:
    """Return the folders that are searched for data files: those in SLIDE_GUI_DATA, then the user's data folder.

    The environment variable SLIDE_GUI_DATA may contain several folders, separated as in PATH. Downloads are written to
    the first folder.
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
    return find_files(entry(key).sets)


def find_files(sets: Sequence[Sequence[str]]) -> list[Path] | None:
    """Return the files of a data set from a data folder that contains all of them, or None.

    `sets` contains alternative lists of file names. Each data folder is searched up to two levels deep.
    """
    for folder in data_folders():
        files = _find_files(folder, {name for names in sets for name in names})
        for names in sets:
            if all(name in files for name in names):
                return [files[name] for name in names]
    return None


def load(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Read a benchmark data set from its files. If they do not exist, generate its substitute. Nothing is downloaded.

    Parameters
    ----------
    key : str
        Key of the data set, such as ``"rectangles"``.
    progress : Progress
        Reports the finished fraction of the work.
    seed : int
        Seed of the generator. It has no effect if the files exist.

    Raises
    ------
    KeyError
        If the key is unknown.
    DataError
        If the files are damaged, or contain other data with the same file names and sizes, such as Fashion-MNIST.
    """
    files = find(key)
    if not files:
        return generate(key, progress=progress, seed=seed)
    from slide_gui.data.open import open_data  # imported only here, because it imports all readers

    data = open_data(files, progress=progress)
    if data.key != key and len(data.train) == entry(key).n_train:
        message = f"has the name and size of {entry(key).title}, but contains other images; move it elsewhere"
        raise DataError(message, str(files[0]))
    return data


def generate(key: str, *, progress: Progress = NO_PROGRESS, seed: int = 0) -> Dataset:
    """Generate the substitute of a benchmark data set, even if the files of the data set exist.

    Raises
    ------
    KeyError
        If the key is unknown.
    """
    from slide_gui.data import generators

    dataset: Dataset = getattr(generators, entry(key).stand_in)(seed=seed, progress=progress)
    return dataset if dataset.key == key else replace(dataset, key=key)


def download(key: str, *, progress: Progress = NO_PROGRESS) -> list[Path]:
    """Download the files of a data set to a folder named after its key, in the first of `data_folders`.

    Parameters
    ----------
    key : str
        Key of the data set, such as ``"mnist"``.
    progress : Progress
        Reports the downloaded fraction of the files. If the download is cancelled, no incomplete file remains.

    Returns
    -------
    list of Path
        The files for `open_data`.

    Raises
    ------
    KeyError
        If the key is unknown.
    DataError
        If a download fails, if a hash is wrong, or if a different file of the same name exists.
    """
    wanted = entry(key)
    target = data_folders()[0] / key
    for file in wanted.files:
        if (target / file.name).exists() and not matches(target / file.name, file):
            problem = "exists but differs from the file in the catalogue; move it elsewhere"
            raise DataError(problem, str(target / file.name))
    return [fetch(file, wanted.mirrors, target, progress=part) for file, part in progress.each(wanted.files)]


def fetch(file: RemoteFile, mirrors: Sequence[str], folder: Path, *, progress: Progress = NO_PROGRESS) -> Path:
    """Download a file from the first mirror that sends it completely.

    The download has a temporary name until its hash is verified. On failure an older file of the same name remains,
    and the temporary file is removed.

    Parameters
    ----------
    file : RemoteFile
        Name and hashes of the file.
    mirrors : sequence of str
        Addresses that end in a slash, tried in this order.
    folder : Path
        Target folder, created if missing.
    progress : Progress
        Reports the fraction of bytes received if the server declares the size. Can cancel the download.

    Returns
    -------
    Path
        The downloaded file.

    Raises
    ------
    DataError
        If no mirror sent the file with the right hash, or the folder is not writable. The message gives the error of
        each mirror.
    """
    import requests

    target, failures, progress = folder / file.name, [], MonotonicProgress(progress)
    for mirror in mirrors:
        try:
            write_whole(target, partial(_receive, mirror + file.name, file, progress))
            return target
        except requests.HTTPError as error:
            failures.append(f"{mirror}: {str(error)[:80]}")
        except requests.RequestException as error:
            failures.append(f"{mirror}: the connection failed ({type(error).__name__})")
        except OSError as error:
            problem = f"cannot be written ({error.strerror or error})"
            raise DataError(f"{problem}; set SLIDE_GUI_DATA to another folder", str(target)) from error
    reasons = "; ".join(failures) or "no mirror is known"
    raise DataError(f"could not be downloaded ({reasons}); try again, or download the file to {folder}", file.name)


def _receive(url: str, file: RemoteFile, progress: Progress, stream: BinaryIO) -> None:
    """Download a file, write it to the open file `stream`, and check its hash."""
    import requests

    progress.report(0.0)
    # If the server compressed the file for the transfer, its hash would differ.
    with requests.get(url, stream=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        declared = response.headers.get("Content-Length", "")
        size, received = int(declared) if declared.isdecimal() else 0, 0
        for chunk in response.iter_content(_CHUNK):
            received += len(chunk)
            if max(received, size) > _LARGEST:
                raise requests.HTTPError(f"sends more than {_LARGEST >> 20} MiB")
            stream.write(chunk)
            progress.report(min(1.0, received / size) if size else 0.0)
    stream.flush()
    if not matches(Path(stream.name), file):
        raise requests.HTTPError("sent another file (its hash is wrong), which was discarded")


def matches(path: Path, file: RemoteFile) -> bool:
    """Return True if the hash of a file is one of those in the catalogue."""
    with path.open("rb") as stream:
        for algorithm, value in (known.split(":") for known in file.hashes):
            stream.seek(0)
            if hashlib.file_digest(stream, partial(hashlib.new, algorithm, usedforsecurity=False)).hexdigest() == value:
                return True
    return False


def _find_files(folder: Path, names: set[str]) -> dict[str, Path]:
    """Return a dictionary that maps each of the given names to a file in a folder or its subfolders.

    If several files have the same name, the one in the shallowest folder is returned or, at equal depth, the first path
    in alphabetical order.
    """
    files: dict[str, Path] = {}
    for pattern in ("*", "*/*", "*/*/*"):
        for path in sorted(path for path in islice(folder.glob(pattern), _MOST_ENTRIES) if path.name in names):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts[:-1])
            if path.is_file() and not hidden:
                files.setdefault(path.name, path)
    return files
