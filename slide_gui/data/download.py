"""Download files of the benchmark, and check their hashes before they are stored."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from slide_gui.data.entries import RemoteFile
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.data.readers.archives import BROKEN
from slide_gui.progress import NO_PROGRESS, Progress

_CHUNK = 1 << 16
_LARGEST = 1 << 28  # bytes; ten times the largest benchmark file
_TIMEOUT = (10.0, 20.0)  # seconds to connect, and between two chunks


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
        Reports the fraction of bytes received if the server declares the size; cancels between two chunks.

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
    failures = []
    for mirror in mirrors:
        try:
            return _fetch_from(mirror + file.name, file, folder, progress)
        except _MirrorError as error:
            failures.append(f"{mirror}: {error}")
    reasons = "; ".join(failures) or "no mirror is known"
    raise DataError(f"could not be downloaded ({reasons}); try again later, or download the file yourself", file.name)


def matches(path: Path, file: RemoteFile) -> bool:
    """Return True if a file, or its gunzipped content, has a hash from the catalogue."""
    with path.open("rb") as stream:
        digests = {
            known.split(":")[0]: hashlib.new(known.split(":")[0], usedforsecurity=False) for known in file.hashes
        }
        while chunk := stream.read(1 << 20):
            for digest in digests.values():
                digest.update(chunk)
    if any(digests[algorithm].hexdigest() == value for algorithm, value in (h.split(":") for h in file.hashes)):
        return True
    return bool(file.unpacked) and _unpacked_matches(path, *file.unpacked.split(":"))


class _MirrorError(Exception):
    """A mirror failed to send the file."""


class _DownloadProgress:
    """A progress bar for pooch that reports, cancels, and stops downloads that are too large."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress, self._received, self._fraction = progress, 0, 0.0

    def update(self, n_bytes: int) -> None:
        self._received += n_bytes
        if max(self._received, self.total) > _LARGEST + _CHUNK:
            raise _MirrorError(f"sends more than {_LARGEST >> 20} MiB")
        if self.total:
            self._fraction = max(self._fraction, min(1.0, self._received / self.total))
        self._progress.report(self._fraction)

    def reset(self) -> None:
        self._received = 0

    def close(self) -> None:
        pass


def _fetch_from(url: str, file: RemoteFile, folder: Path, progress: Progress) -> Path:
    import pooch
    import requests

    # Content compressed in transit would have another hash.
    get = pooch.HTTPDownloader(
        progressbar=_DownloadProgress(progress),
        chunk_size=_CHUNK,
        timeout=_TIMEOUT,
        headers={"Accept-Encoding": "identity"},
    )
    target = folder / file.name

    def receive(stream: BinaryIO) -> None:
        progress.report(0.0)
        get(url, stream, None)
        stream.flush()
        if not matches(Path(stream.name), file):
            raise _MirrorError("sent another file (its hash is wrong), which was discarded")

    try:
        write_whole(target, receive)
    except requests.HTTPError as error:
        raise _MirrorError(str(error)[:80]) from error
    except requests.RequestException as error:
        raise _MirrorError(f"the connection failed ({type(error).__name__})") from error
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror or error}); set SLIDE_GUI_DATA to another folder",
            str(target),
        ) from error
    return target


def _unpacked_matches(path: Path, algorithm: str, value: str) -> bool:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    n_bytes = 0
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
                n_bytes += len(chunk)
                if n_bytes > _LARGEST:
                    return False
    except BROKEN:
        return False
    return digest.hexdigest() == value
