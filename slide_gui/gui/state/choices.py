"""Settings for reading and splitting files, stored by the hash of their contents and reused at the next opening."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSettings

from slide_gui.experiments.documents import checked_value
from slide_gui.experiments.files.source import DataSource

_GROUP = "files"
_BLOCK = 1 << 20


class FileChoices:
    """Stored settings for files; each method opens the program's settings anew, so that any thread may call it.

    Parameters
    ----------
    settings : QSettings
        Only its file and format are used.
    """

    def __init__(self, settings: QSettings) -> None:
        self._place, self._format = settings.fileName(), settings.format()

    def remember(self, source: DataSource) -> None:
        """Store how the files of a source are read and split."""
        if not source.paths:
            return
        document = {key: value for key, value in source.document().items() if key in ("reading", "held_out")}
        settings = QSettings(self._place, self._format)
        settings.setValue(f"{_GROUP}/{_size(source)}-{_digest(source)}", json.dumps(document))
        settings.sync()

    def recall(self, source: DataSource) -> DataSource | None:
        """Return the source with the settings stored for its files, or None if there are none."""
        if not source.paths or source != DataSource(paths=source.paths, seed=source.seed):
            return None
        settings = QSettings(self._place, self._format)
        settings.beginGroup(_GROUP)
        try:
            start = f"{_size(source)}-"
            if not any(name.startswith(start) for name in settings.childKeys()):
                return None  # no stored file has this size, so the files need not be hashed
            text = settings.value(start + _digest(source), "")
            document = source.document() | json.loads(str(text))
            known: DataSource = checked_value(DataSource, document, "source")
            checked = replace(known, reading=known.reading.checked())
            return checked if known.held_out is None else replace(checked, held_out=known.held_out.checked())
        except (TypeError, ValueError, OSError, RecursionError):
            return None


def _files(source: DataSource) -> Iterator[Path]:
    for path in map(Path, source.paths):
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders.sort()
                yield from (Path(folder, name) for name in sorted(names))
        else:
            yield path


def _size(source: DataSource) -> int:
    return sum(path.stat().st_size for path in _files(source) if path.is_file())


def _digest(source: DataSource) -> str:
    """Return the SHA-256 (hex) of the concatenated contents of the files."""
    digest = hashlib.sha256()
    for path in _files(source):
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()
