"""Files and folders of a person become one data set, whatever their kind."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.assemble import assemble
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.readers.amat import read_amat, read_amat_zip
from slide_gui.data.readers.archives import zip_members
from slide_gui.data.readers.arrays import NPY_MAGIC, read_npy, read_npz
from slide_gui.data.readers.csv import DELIMITERS, read_csv
from slide_gui.data.readers.encoding import utf8_start
from slide_gui.data.readers.idx import GZIP_MAGIC, is_idx_start, read_idx, read_start
from slide_gui.data.readers.images import read_image_folder
from slide_gui.data.readers.matlab import MATLAB_73, MATLAB_MAGIC, read_mat
from slide_gui.data.readers.parts import DataPart, role_of
from slide_gui.data.reading import AS_GUESSED, ParseOptions
from slide_gui.progress import NO_PROGRESS, Progress

DATA_SUFFIXES = (".amat", ".zip", ".npz", ".npy", ".csv", ".tsv", ".mat", ".gz", "-ubyte", ".idx")
"""How the names of readable files end, for file dialogs and folders; what a file is, its content decides."""

_KINDS = ".amat (or a .zip of it), IDX (or .gz), .npz, .npy, .csv or .mat (version 5)"
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def open_data(
    paths: Sequence[Path], reading: ParseOptions = AS_GUESSED, *, progress: Progress = NO_PROGRESS
) -> Dataset:
    """Read one or several files, or a folder, as a data set.

    Parameters
    ----------
    paths : sequence of Path
        One file; several files that belong together (a training and a test file by their names, IDX images
        with their labels); or a folder of such files or of pictures by class.
    reading : ParseOptions
        What is known of the files that they do not say.
    progress : Progress
        Reports the share of the bytes read; cancelling it returns nothing.

    Returns
    -------
    Dataset
        A single file without a test part gives all its rows for training, and no test rows. The benchmark's
        own files get their titles, label names, licence and citation.

    Raises
    ------
    DataError
        If nothing, or anything but one data set, can be read from them: one sentence with the place, what was
        found and what was expected.
    """
    if not paths:
        raise DataError("no file was given; choose one")
    paths, reading = [Path(path) for path in paths], reading.checked()
    try:
        if len(paths) == 1 and paths[0].is_dir():
            parts = _read_folder(paths[0], reading, progress.part(0.0, 0.9))
        else:
            parts = _read_files(paths, reading, progress.part(0.0, 0.9))
        return assemble(parts, paths, reading, progress=progress.part(0.9, 1.0))
    except OSError as error:
        place = str(error.filename or paths[0])
        raise DataError(f"cannot be read ({error.strerror or type(error).__name__})", place) from error
    except MemoryError as error:
        raise DataError(
            "does not fit into the memory that is free now; close other data first", str(paths[0])
        ) from error


def _read_folder(folder: Path, reading: ParseOptions, progress: Progress) -> list[DataPart]:
    with os.scandir(folder) as entries:
        files = sorted(Path(e.path) for e in entries if e.is_file() and not e.name.startswith("."))
    files = [file for file in files if file.name.lower().endswith(DATA_SUFFIXES)]
    return _read_files(files, reading, progress) if files else read_image_folder(folder, progress=progress)


def _read_files(paths: Sequence[Path], reading: ParseOptions, progress: Progress) -> list[DataPart]:
    """Read each file on its own, then join IDX images with their labels."""
    paths = sorted(paths, key=lambda path: role_of(path.name) == "test")  # a test set is read like its training set
    sizes = [path.stat().st_size for path in paths]
    parts: list[DataPart] = []
    arrays: list[tuple[Path, NDArray[np.generic]]] = []
    done = 0
    for path, size in zip(paths, sizes, strict=True):
        step = progress.part(done / max(1, sum(sizes)), (done + size) / max(1, sum(sizes)))
        done += size
        if path.is_dir():
            raise DataError("is a folder; open it alone", str(path))
        if size == 0:
            raise DataError(f"is empty (0 bytes), expected {_KINDS}", str(path))
        start = read_start(path, 4096)
        if is_idx_start(start):
            arrays.append((path, read_idx(path, progress=step)))
        else:
            like = next((part for part in parts if role_of(path.name) == "test" and part.role == "train"), None)
            parts += _reader(path, start, reading, like)(path, step)
    return parts + _join_idx(arrays)


def _reader(
    path: Path, start: bytes, reading: ParseOptions, like: DataPart | None
) -> Callable[[Path, Progress], list[DataPart]]:
    """Choose by the first bytes, and only among texts by the name."""
    if start.startswith(_ZIP):
        if any(member.filename.endswith(".npy") for member in zip_members(path)):
            return lambda p, progress: read_npz(p, progress=progress)
        return lambda p, progress: read_amat_zip(p, progress=progress)
    if zipfile.is_zipfile(path):
        raise DataError("is a zip file with something before it; save it again", str(path))
    if start.startswith(NPY_MAGIC):
        return lambda p, progress: read_npy(p, progress=progress)
    if start.startswith((MATLAB_MAGIC, *MATLAB_73)):
        return lambda p, progress: read_mat(p, progress=progress)
    if start.startswith(_PICTURES):
        raise DataError(
            "is a single picture; open the folder that holds a folder of pictures for each class", str(path)
        )
    with path.open("rb") as stream:
        if stream.read(2) == GZIP_MAGIC:
            raise DataError("is a gzip file without IDX data in it, or damaged; unpack or fetch it again", str(path))
    start = utf8_start(start)
    if not _is_text(start):
        raise DataError(
            f"is of no known kind (it begins with {start[:8].hex(' ')}), expected {_KINDS}",
            str(path),
        )
    suffix, lines = path.suffix.lower(), [line for line in start.splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(b"#")), None)
    if first is None:  # all are comments, or rows of a class whose name begins with #
        first = DELIMITERS[0] if suffix in (".csv", ".tsv") else b"".join(lines[-2:])  # the last is cut
    if suffix != ".amat" and any(mark in first for mark in DELIMITERS):
        return lambda p, progress: [read_csv(p, reading, like=like, progress=progress)]
    return lambda p, progress: [read_amat(p, progress=progress)]


def _is_text(start: bytes) -> bool:
    return bool(start) and not any(code < 9 or 13 < code < 32 or code == 127 for code in start)


def _join_idx(arrays: Sequence[tuple[Path, NDArray[np.generic]]]) -> list[DataPart]:
    """Pair rows and labels by the part that the files' names say."""
    parts = []
    for role in ("train", "test"):
        rows = [(path, array) for path, array in arrays if array.ndim > 1 and role_of(path.name) == role]
        labels = [(path, array) for path, array in arrays if array.ndim == 1 and role_of(path.name) == role]
        if len(rows) > 1 or len(labels) > 1:
            first, second = (rows if len(rows) > 1 else labels)[:2]
            raise DataError(
                f"holds the same train part as {first[0].name}; open one of them"
                if role == "train"
                else f"holds the same test part as {first[0].name}; open one of them",
                str(second[0]),
            )
        if not rows and labels:
            raise DataError("holds labels without their images; open the images with it", str(labels[0][0]))
        if rows:
            parts.append(_idx_part(*rows[0], labels[0] if labels else None, role))
    return parts


def _idx_part(
    path: Path, array: NDArray[np.generic], labels: tuple[Path, NDArray[np.generic]] | None, role: str
) -> DataPart:
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[:, :, :, 0]
    if array.ndim > 3:
        raise DataError(f"has {array.ndim} axes, expected n × rows × columns grey images", str(path))
    found = None
    if labels is not None:
        found = labels[1]
        if found.size != array.shape[0]:
            raise DataError(
                f"holds {found.size} labels, but {path.name} {array.shape[0]} images; open files that belong together",
                str(labels[0]),
            )
    shape = (array.shape[1], array.shape[2]) if array.ndim == 3 else None
    return DataPart(array.reshape(array.shape[0], -1), found, shape, str(path), role)
