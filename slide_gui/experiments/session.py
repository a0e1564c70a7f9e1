"""What a window shows, as a file of its own and inside a picture: data, parameters, selection, page and its choices."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.errors import DataError
from slide_gui.data.files import write_whole
from slide_gui.data.limits import read_small
from slide_gui.experiments.documents import from_document
from slide_gui.experiments.source import DataSource

__all__ = [
    "PICTURES",
    "SUFFIX",
    "MissingData",
    "Selection",
    "SessionRecord",
    "file_content",
    "located",
    "picture_text",
    "read_session",
    "write_session",
]

SUFFIX = ".slide-session"
PICTURES = (".png", ".svg", ".pdf", ".gif", ".apng", ".mp4")
"""Suffixes of files that may hold a session."""

_FORMAT, _VERSION = "slide-gui session", 2
_MOST_BYTES = 1 << 20
_MOST_PICTURE_BYTES = 256 << 20
_MARK, _END = "slide-gui-session:", ";"
_MARKED = re.compile(rb"slide-gui-session:([A-Za-z0-9+/]{8,}={0,2})")
_EXPECTED = "a session of slide-gui"


@dataclass(frozen=True)
class Selection:
    """What is looked at.

    Attributes
    ----------
    pins : tuple of int
        Pinned features, in the order they were pinned.
    sample : int
        Which training row is shown; −1 for the mean.
    levels : {"tile", "layer", "global"}
        Which weights share the limits of the colour scale.
    show : {"auto", "weights", "contribution"}
        What tiles show; "auto" for contributions where a few weights would drown the rest.
    colors : str
        A diverging map, or "auto" for the one that suits the theme.
    transposed : bool
        Show images with rows and columns exchanged.
    """

    pins: tuple[int, ...] = ()
    sample: int = 0
    levels: str = "layer"
    colors: str = "auto"
    transposed: bool = False
    show: str = "auto"


@dataclass(frozen=True)
class SessionRecord:
    """What a window shows.

    Attributes
    ----------
    source : DataSource
        The data; paths of a file are relative to its folder, those of a picture are names alone, so that no picture
        tells where on a computer it was made.
    fingerprint : str
        SHA-256 of the data, as `Dataset.fingerprint` tells it; empty if it is not known.
    parameters : StackParameters
    selection : Selection
    page : str
        The page shown.
    choices : tuple of (page, name, value)
        What was chosen on each page, as the page calls it.
    """

    source: DataSource = field(default_factory=DataSource)
    fingerprint: str = ""
    parameters: StackParameters = field(default_factory=lambda: StackParameters(depth=4))
    selection: Selection = field(default_factory=Selection)
    page: str = "weights"
    choices: tuple[tuple[str, str, str], ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as what JSON can hold; `from_document` reads it."""
        plain = asdict(self) | {"source": self.source.document()}
        return {"format": _FORMAT, "version": _VERSION, "session": plain}


class MissingData(DataError):
    """The files of a session are not where it says, nor in any folder that was looked into."""

    def __init__(self, names: Sequence[str], place: str = "") -> None:
        self.names = tuple(names)
        said = ", ".join(Path(name).name for name in names)
        super().__init__(f"needs the data {said}, which was not found; locate it, or put it beside this file", place)


def write_session(record: SessionRecord, path: Path) -> None:
    """Write a session file, whole or not at all; its data are named relative to its folder.

    Raises
    ------
    OSError
        If it cannot be written; what stood there is untouched.
    """
    folder = path.absolute().parent
    paths = tuple(_relative(Path(name).absolute(), folder) for name in record.source.paths)
    text = _text(_with_paths(record, paths), indent=1)
    write_whole(path, lambda file: file.write(_encoded(text)))


def _relative(path: Path, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # on another drive
        return str(path)


def picture_text(record: SessionRecord) -> str:
    """Return what a picture holds of a session, in letters that every kind of picture can hold."""
    names = tuple(Path(name).name for name in record.source.paths)
    text = _text(_with_paths(record, names), indent=None)
    # The end is marked, for what follows in a file may look like more letters.
    return _MARK + base64.b64encode(_encoded(text)).decode() + _END


def file_content(text: str) -> bytes:
    """Return the content of a session file that says what `picture_text` does."""
    return base64.b64decode(text.removeprefix(_MARK).removesuffix(_END))


def _text(record: SessionRecord, indent: int | None) -> str:
    return json.dumps(record.document(), ensure_ascii=False, sort_keys=True, indent=indent)


def _encoded(text: str) -> bytes:
    """Return JSON as UTF-8; what cannot be encoded, the bytes of a file name that are no UTF-8, as JSON escapes."""
    return text.encode("utf-8", "backslashreplace")


def read_session(path: Path) -> SessionRecord | None:
    """Return the session of a session file, a picture or a bundle; None if it is nothing of that, or holds none.

    A bundle is a folder with a session beside the script of the same name. A picture that holds none is taken to be
    of the one session file beside it, if there is one, as in a bundle.

    Raises
    ------
    DataError
        If there is a session that cannot be read; it names the file.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        scripted = [each for each in sorted(path.glob(f"*{SUFFIX}")) if each.with_suffix(".py").is_file()]
        return read_session(scripted[0]) if len(scripted) == 1 else None
    if suffix == SUFFIX:
        return _read(read_small(path, _MOST_BYTES, _EXPECTED), path)
    if suffix not in PICTURES:
        return None
    content = read_small(path, _MOST_PICTURE_BYTES, "a picture")
    marked = _MARKED.search(_comment(content) if suffix == ".gif" else content)
    if marked is not None:
        if len(marked[1]) > 2 * _MOST_BYTES:
            raise DataError("holds a session of more than 1 MiB", str(path))
        return _read(_decoded(marked[1], path), path)
    beside = sorted(path.parent.glob(f"*{SUFFIX}"))
    return read_session(beside[0]) if len(beside) == 1 else None


def _comment(content: bytes) -> bytes:
    """Return the comment of a GIF that holds a session, its blocks joined; each begins with its length."""
    at, parts = content.find(_MARK.encode()) - 1, []
    most = at + 4 * _MOST_BYTES  # more is no session, in however small blocks it comes
    while 0 <= at < min(len(content), most) and content[at]:
        parts.append(content[at + 1 : at + 1 + content[at]])
        at += 1 + content[at]
    return b"".join(parts)


def _decoded(letters: bytes, path: Path) -> bytes:
    try:
        return base64.b64decode(letters, validate=True)
    except ValueError:
        raise DataError("holds a session that was cut off; take the picture as it was exported", str(path)) from None


def _read(content: bytes, path: Path) -> SessionRecord:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise DataError(f"is damaged, expected {_EXPECTED}; take an earlier one", str(path)) from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise DataError(f"is no session of slide-gui; expected {_EXPECTED}", str(path))
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise DataError(
            f"has no version that is known ({ascii(version)[:40]}), expected {_VERSION}",
            str(path),
        )
    if version > _VERSION:
        raise DataError(f"is of version {version}, written by a later slide-gui; open it with that", str(path))
    try:
        record = from_document(SessionRecord, document.get("session"), "the session")
        source, parameters = record.source, record.parameters.checked()
        held_out = None if source.held_out is None else source.held_out.checked()
        source = replace(source, reading=source.reading.checked(), held_out=held_out)
    except ValueError as error:
        raise DataError(f"cannot be used: {error}", str(path)) from None
    return replace(record, source=source, parameters=parameters)


def located(record: SessionRecord, path: Path | None = None, folders: Iterable[Path] = ()) -> SessionRecord:
    """Return the session with the paths where its data are now.

    Each is looked for where the session says, from the folder of the session's own file, and by its name there and in
    the other folders.

    Parameters
    ----------
    path : Path, optional
        The file that the session was read from, or the bundle, beside which data may be, too.
    folders : iterable of Path
        Where else data may be.

    Raises
    ------
    MissingData
        If some are nowhere.
    """
    beside = [] if path is None else [path.absolute().parent]
    beside = [path.absolute(), *beside] if path is not None and path.is_dir() else beside
    known = [*beside, *folders]
    paths, missing = [], []
    for name in record.source.paths:
        place = _place(Path(name), beside, known)
        if place is None:
            missing.append(name)
        else:
            paths.append(os.path.normpath(place))
    if missing:
        raise MissingData(missing, "" if path is None else str(path))
    return _with_paths(record, tuple(paths))


def _place(said: Path, beside: list[Path], known: list[Path]) -> Path | None:
    """Return where a file is by its name."""
    places = [said] if said.is_absolute() else [folder / said for folder in beside]
    places += [folder / said.name for folder in known]
    return next((place for place in places if _exists(place)), None)


def _with_paths(record: SessionRecord, paths: tuple[str, ...]) -> SessionRecord:
    return replace(record, source=replace(record.source, paths=paths)) if paths else record


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False
