"""Recent files, stored in the settings: the user's data, sessions, pictures and bundles."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

from slide_gui.text import printable

MOST_RECENT = 10
_KEY = "recent/files"


@dataclass(frozen=True)
class RecentOpening:
    """Files that were opened together.

    Attributes
    ----------
    paths : tuple of Path
        At least one.
    """

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Return the name for menus."""
        others = len(self.paths) - 1
        name = printable(self.paths[0].name)
        return f"{name} and {others} more" if others else name

    @property
    def folder(self) -> Path:
        """Return the folder of the first file."""
        return self.paths[0].parent

    @property
    def why_not(self) -> str:
        """Return why the files cannot be opened, in a few words, or ""."""
        missing = next((path for path in self.paths if not os.path.lexists(path)), None)
        if missing is None:
            return ""
        if not missing.parent.is_dir():
            return f"no folder {missing.parent}"
        alone = len(self.paths) == 1
        return "file is missing" if alone else f"{missing.name} is missing"


class RecentFiles(QObject):
    """Recent files in the program's settings; invalid entries are ignored.

    Signals
    -------
    changed()
        `openings` changed.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def openings(self) -> tuple[RecentOpening, ...]:
        """Return the recent files, latest first."""
        try:
            entries = json.loads(str(self._settings.value(_KEY, "[]")))
        except (ValueError, RecursionError):
            return ()
        lists = [entry for entry in entries if isinstance(entry, list) and entry] if isinstance(entries, list) else []
        named = [entry for entry in lists if all(isinstance(name, str) and name and "\0" not in name for name in entry)]
        return tuple(RecentOpening(tuple(map(Path, entry))) for entry in named[:MOST_RECENT])

    @property
    def folders(self) -> list[Path]:
        """Return the folders of the recent files, which may be missing."""
        return list(dict.fromkeys(opening.folder for opening in self.openings))

    def add(self, paths: Sequence[Path | str]) -> None:
        """Add files as the latest entry."""
        if not paths:
            return
        opening = RecentOpening(tuple(Path(path).absolute() for path in paths))
        others = [each for each in self.openings if each != opening]
        listed = [list(map(str, each.paths)) for each in (opening, *others)][:MOST_RECENT]
        self._settings.setValue(_KEY, json.dumps(listed))
        self.changed.emit()
