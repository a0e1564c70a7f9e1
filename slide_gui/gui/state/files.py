"""Stored settings for data files: how files are read and split, and which files were opened most recently."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QSettings

from slide_gui.experiments.documents import checked_value
from slide_gui.experiments.files.source import DataSource
from slide_gui.text import printable

_GROUP = "files"
MOST_RECENT = 10
_KEY = "recent/files"
# The key of the setting that determines whether the program restores the last session when it starts.
REOPEN = "session/reopen"


class FileChoices:
    """Stored settings for reading and splitting data files.

    Every method creates a new QSettings object, so that the methods can be called in any thread.

    Parameters
    ----------
    settings : QSettings
        The settings of the program; this object retains only their file name and format.
    """

    def __init__(self, settings: QSettings) -> None:
        self._place, self._format = settings.fileName(), settings.format()

    def remember(self, source: DataSource) -> None:
        """Store the settings with which the files of a source are read and split."""
        if not source.paths:
            return
        document = {key: value for key, value in source.document().items() if key in ("reading", "held_out")}
        settings = QSettings(self._place, self._format)
        settings.setValue(f"{_GROUP}/{_size(source)}-{_digest(source)}", json.dumps(document))
        settings.sync()

    def forget(self) -> None:
        """Remove the stored settings of all data files."""
        settings = QSettings(self._place, self._format)
        settings.remove(_GROUP)
        settings.sync()

    def recall(self, source: DataSource) -> DataSource | None:
        """Return `source` with the settings for reading and splitting that are stored for its files.

        A split specified in `source` takes precedence over the stored split. Return None if `source` already contains
        settings for reading its files, or if no valid settings are stored for these files.
        """
        if not source.paths or source != DataSource(paths=source.paths, seed=source.seed, held_out=source.held_out):
            return None
        settings = QSettings(self._place, self._format)
        settings.beginGroup(_GROUP)
        try:
            start = f"{_size(source)}-"
            if not any(name.startswith(start) for name in settings.childKeys()):
                return None  # The slow hashing is unnecessary, because no settings are stored for files of this size.
            text = settings.value(start + _digest(source), "")
            document = source.document() | json.loads(str(text))
            known: DataSource = checked_value(DataSource, document, "source")
            held_out = source.held_out or known.held_out
            return replace(known, reading=known.reading.checked(), held_out=held_out and held_out.checked())
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
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


@dataclass(frozen=True)
class RecentOpening:
    """Files that were opened together.

    Attributes
    ----------
    paths : tuple of Path
        Paths of the files; at least one.
    """

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Return a label for these files in menus, such as "train.csv and 1 more"."""
        others = len(self.paths) - 1
        name = printable(self.paths[0].name)
        return f"{name} and {others} more" if others else name

    @property
    def folder(self) -> Path:
        """Return the folder of the first file."""
        return self.paths[0].parent


class RecentFiles:
    """The list of recent files, which is stored in the program's settings."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    @property
    def openings(self) -> tuple[RecentOpening, ...]:
        """Return the recently opened data whose files still exist, starting with the latest."""
        return tuple(each for each in self._stored() if all(map(os.path.lexists, each.paths)))

    def _stored(self) -> tuple[RecentOpening, ...]:
        try:
            entries = json.loads(str(self._settings.value(_KEY, "[]")))
        except (ValueError, RecursionError):
            return ()
        lists = [entry for entry in entries if isinstance(entry, list) and entry] if isinstance(entries, list) else []
        named = [entry for entry in lists if all(isinstance(name, str) and name and "\0" not in name for name in entry)]
        return tuple(RecentOpening(tuple(map(Path, entry))) for entry in named[:MOST_RECENT])

    @property
    def folders(self) -> list[Path]:
        """Return the folders of all recent files, including folders and files that no longer exist."""
        return list(dict.fromkeys(opening.folder for opening in self._stored()))

    def add(self, paths: Sequence[Path | str]) -> None:
        """Add files that were opened together to the beginning of the list."""
        if paths:
            self.remove(paths)
            self._store([RecentOpening(_absolute(paths)), *self._stored()])

    def remove(self, paths: Sequence[Path | str]) -> None:
        """Remove files that were opened together from the list."""
        self._store([each for each in self._stored() if each.paths != _absolute(paths)])

    def _store(self, openings: Sequence[RecentOpening]) -> None:
        self._settings.setValue(_KEY, json.dumps([list(map(str, each.paths)) for each in openings[:MOST_RECENT]]))

    def forget(self) -> None:
        """Remove all entries from the list."""
        self._settings.remove(_KEY)


def _absolute(paths: Sequence[Path | str]) -> tuple[Path, ...]:
    return tuple(Path(path).absolute() for path in paths)
