"""Save and open sessions: the data, parameters, selection and page of a window, in a file or inside a picture."""

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
from slide_gui.experiments.files.source import DataSource

SUFFIX = ".slide-session"
# Suffixes of the picture files that may contain a session.
PICTURES = (".png", ".svg", ".pdf", ".gif", ".apng", ".mp4")

_FORMAT, _VERSION = "slide-gui session", 2
_MOST_BYTES = 1 << 20
_MOST_PICTURE_BYTES = 256 << 20
_MARK, _END = "slide-gui-session:", ";"
_MARKED = re.compile(rb"slide-gui-session:([A-Za-z0-9+/]{8,}={0,2})")
_EXPECTED = "a session of slide-gui"


@dataclass(frozen=True)
class Selection:
    """The selected features and sample, and settings for the display of the features as tiles.

    Attributes
    ----------
    pins : tuple of int
        Pinned features, in the order of pinning.
    sample : int
        Index of the displayed training row. The index −1 means the mean of all rows.
    levels : {"tile", "layer", "global"}
        The weights that share colour limits: all weights of one tile, of one layer, or of all layers.
    show : {"auto", "weights", "contribution"}
        Content of the tiles: weights, or contributions (weights times the RMS of their input). "auto" shows
        contributions if a few large weights would make all other weights invisible.
    colors : str
        Name of a diverging colour map, or "auto" for the colour map that matches the theme.
    transposed : bool
        True if the rows and columns of images are exchanged for display.
    """

    pins: tuple[int, ...] = ()
    sample: int = 0
    levels: str = "layer"
    colors: str = "auto"
    transposed: bool = False
    show: str = "auto"


@dataclass(frozen=True)
class SessionRecord:
    """The state of a window.

    Attributes
    ----------
    source : DataSource
        The source of the data. In a session file, the paths of the data are relative to the folder of the session file.
        A session in an exported picture contains only the names of the data files. Full paths would reveal the folder
        names on the user's computer.
    fingerprint : str
        SHA-256 of the data, as in `Dataset.fingerprint`. Empty if unknown.
    parameters : StackParameters
        Parameters of the stack.
    selection : Selection
        The selected features and sample, and settings for the display of the features.
    page : str
        Name of the page that the window displays.
    choices : tuple of (page, name, value)
        Settings of the pages. Each page defines the names of its settings.
    """

    source: DataSource = field(default_factory=DataSource)
    fingerprint: str = ""
    parameters: StackParameters = field(default_factory=lambda: StackParameters(depth=4))
    selection: Selection = field(default_factory=Selection)
    page: str = "weights"
    choices: tuple[tuple[str, str, str], ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the record as JSON-compatible values, which `from_document` reads."""
        plain = asdict(self) | {"source": self.source.document(), "parameters": self.parameters.document()}
        return {"format": _FORMAT, "version": _VERSION, "session": plain}


class MissingData(DataError):
    """Error that is raised if a session's data files are not found in any of the searched folders."""

    def __init__(self, names: Sequence[str], place: str = "") -> None:
        files = ", ".join(Path(name).name for name in names)
        super().__init__(f"data files not found: {files}; locate them, or put them in the session folder", place)


def write_session(record: SessionRecord, path: Path) -> None:
    """Write a session file. The paths of the data are written relative to the folder of the session file.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file stays unchanged.
    """
    folder = path.absolute().parent
    paths = tuple(_relative(Path(name).absolute(), folder) for name in record.source.paths)
    write_whole(path, _content(_with_paths(record, paths), indent=1))


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # On Windows, no relative path leads to another drive, so the path stays absolute.
        return str(path)


def picture_text(record: SessionRecord) -> str:
    """Return a session as a string to embed in a picture. Every picture format allows all characters of this string."""
    names = tuple(Path(name).name for name in record.source.paths)
    content = _content(_with_paths(record, names), indent=None)
    # An end mark is needed, because the bytes after the session in the picture file may look like base64.
    return _MARK + base64.b64encode(content).decode() + _END


def file_content(text: str) -> bytes:
    """Convert a string that `picture_text` returned to the content of a session file."""
    return base64.b64decode(text.removeprefix(_MARK).removesuffix(_END))


def _content(record: SessionRecord, indent: int | None) -> bytes:
    """Return a session as JSON in UTF-8. Bytes of file names that are not valid UTF-8 are written as JSON escapes."""
    text = json.dumps(record.document(), ensure_ascii=False, sort_keys=True, indent=indent)
    return text.encode("utf-8", "backslashreplace")


def read_session(path: Path) -> SessionRecord | None:
    """Return the session that a session file, a picture or a bundle contains, or None if there is none.

    A bundle is a folder that contains a session file and a script with the same name. If a picture contains no session,
    the session file with the same name in its folder is read, if there is one.

    Raises
    ------
    DataError
        If a session is found but cannot be read. The error names the file.
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
            raise DataError("the session in this picture exceeds 1 MiB; export the picture again", str(path))
        return _read(_decoded(marked[1], path), path)
    session = path.with_suffix(SUFFIX)
    return read_session(session) if session.is_file() else None


def _comment(content: bytes) -> bytes:
    """Return the comment in a GIF file that contains the session, or b"" if there is no such comment.

    GIF files divide a comment into blocks, each of which starts with its length. This function joins the blocks.
    """
    at, parts = content.find(_MARK.encode()) - 1, []
    # A session has at most 1 MiB, which is less than 2 MiB in base64. A limit of 4 MiB is therefore sufficient.
    most = at + 4 * _MOST_BYTES
    while 0 <= at < min(len(content), most) and content[at]:
        parts.append(content[at + 1 : at + 1 + content[at]])
        at += 1 + content[at]
    return b"".join(parts)


def _decoded(letters: bytes, path: Path) -> bytes:
    try:
        return base64.b64decode(letters, validate=True)
    except ValueError:
        raise DataError("the session in this picture is incomplete; export the picture again", str(path)) from None


def _read(content: bytes, path: Path) -> SessionRecord:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise DataError(f"{_EXPECTED} was expected, but the file is damaged; use an earlier copy", str(path)) from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise DataError("this is not a session of slide-gui; open a file that was saved with Save session", str(path))
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise DataError(f"the session has the unknown format {ascii(version)[:40]}; use an earlier copy", str(path))
    if version > _VERSION:
        raise DataError(f"the session has format {version}; update slide-gui to a version that can read it", str(path))
    try:
        record = from_document(SessionRecord, document.get("session"), "the session")
        source, parameters = record.source, record.parameters.checked()
        held_out = None if source.held_out is None else source.held_out.checked()
        source = replace(source, reading=source.reading.checked(), held_out=held_out)
    except ValueError as error:
        raise DataError(f"the session cannot be used: {error}", str(path)) from None
    return replace(record, source=source, parameters=parameters)


def located(record: SessionRecord, path: Path, folders: Iterable[Path] = ()) -> SessionRecord:
    """Find the data files of a session, and return the session with the current paths of these files.

    Each data file is first looked up at its path relative to the session file. If it does not exist there, a file with
    the same name is searched for in the folder of the session file and in `folders`.

    Parameters
    ----------
    path : Path
        The file or bundle that contains the session. Its folder is searched before `folders`.
    folders : iterable of Path
        Other folders to search.

    Raises
    ------
    MissingData
        If a data file is not found.
    """
    session_folders = [path.absolute()] * path.is_dir() + [path.absolute().parent]
    all_folders = [*session_folders, *folders]
    names = record.source.paths
    places = [_current_path(Path(name), session_folders, all_folders) for name in names]
    if None in places:
        raise MissingData([name for name, place in zip(names, places, strict=True) if place is None], str(path))
    return _with_paths(record, tuple(os.path.normpath(place) for place in places if place is not None))


def _current_path(name: Path, session_folders: list[Path], all_folders: list[Path]) -> Path | None:
    """Return the path at which a data file of a session exists now, or None if the file is not found."""
    places = [name] if name.is_absolute() else [folder / name for folder in session_folders]
    places += [folder / name.name for folder in all_folders]
    return next((place for place in places if os.path.exists(place)), None)


def _with_paths(record: SessionRecord, paths: tuple[str, ...]) -> SessionRecord:
    return replace(record, source=replace(record.source, paths=paths)) if paths else record
