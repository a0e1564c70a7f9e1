"""Files fetched from the benchmark's mirrors: checked by hash, and only then put in place."""

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
_LARGEST = 1 << 28  # bytes; the largest benchmark file has a tenth of it
_TIMEOUT = (10.0, 20.0)  # seconds to connect, and between two pieces


def fetch(file: RemoteFile, mirrors: Sequence[str], folder: Path, *, progress: Progress = NO_PROGRESS) -> Path:
    """Download one file from the first mirror that has it whole.

    It is written under a temporary name and renamed once its hash is right; whatever goes wrong, an older file of
    the same name is kept and nothing else is left behind.

    Parameters
    ----------
    file : RemoteFile
        Name and hashes.
    mirrors : sequence of str
        Addresses that end in a slash, tried in this order.
    folder : Path
        Where it is put; made if it is absent.
    progress : Progress
        Reports the share of bytes received, if the server says how many there are; cancels between two pieces.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    DataError
        If no mirror gave the file whole and with the right hash, or the folder cannot be written to; the
        message says what happened at each mirror.
    """
    failures = []
    for mirror in mirrors:
        try:
            return _fetch_from(mirror + file.name, file, folder, progress)
        except _Refused as error:
            failures.append(f"{mirror}: {error}")
    reasons = "; ".join(failures) or "no mirror is known"
    raise DataError(f"could not be downloaded ({reasons})", file.name)


def matches(path: Path, file: RemoteFile) -> bool:
    """Say whether a file's content, packed or unpacked, has a hash of the catalogue."""
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


class _Refused(Exception):
    """One mirror did not give the file."""


class _Received:
    """What pooch takes for a progress bar: reports, cancels, and stops what is too large."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress, self._received, self._share = progress, 0, 0.0

    def update(self, n_bytes: int) -> None:
        self._received += n_bytes
        if max(self._received, self.total) > _LARGEST + _CHUNK:
            raise _Refused(f"sends more than {_LARGEST >> 20} MiB")
        if self.total:
            self._share = max(self._share, min(1.0, self._received / self.total))
        self._progress.report(self._share)

    def reset(self) -> None:
        self._received = 0

    def close(self) -> None:
        pass


def _fetch_from(url: str, file: RemoteFile, folder: Path, progress: Progress) -> Path:
    import pooch
    import requests

    # The bytes as they are: a server that offers to pack on the way would change the hash.
    get = pooch.HTTPDownloader(
        progressbar=_Received(progress),
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
            raise _Refused("sent something else (its hash is wrong), which was thrown away")

    try:
        write_whole(target, receive)
    except requests.HTTPError as error:
        raise _Refused(str(error)[:80]) from error
    except requests.RequestException as error:
        raise _Refused(f"the connection failed ({type(error).__name__})") from error
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror or error}); name another folder by SLIDE_GUI_DATA",
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
