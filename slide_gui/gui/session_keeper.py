"""Keeps what the window shows in a file, and brings it back: at the next start, from a session file, from a picture."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, QTimer, Signal, Slot

from slide_gui.core.choices import check_choice
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.files import check_outputs
from slide_gui.experiments.session import (
    SUFFIX,
    MissingData,
    Selection,
    SessionRecord,
    located,
    picture_text,
    read_session,
    write_session,
)
from slide_gui.figures.color_scale import DIVERGING
from slide_gui.figures.style import LEVELS, SHOWN
from slide_gui.gui.pages.stack import PageStack
from slide_gui.gui.state.jobs import Problem, sentence
from slide_gui.gui.state.workspace import State, Workspace

__all__ = ["SessionKeeper"]

_REST_MILLISECONDS = 2000  # changes that rest this long are written
_MOST_RECOVERED = 5  # sessions of windows that did not close
_TITLE = "The session could not be opened"


class SessionKeeper(QObject):
    """Over one window; where it has no folder, it opens and saves sessions but keeps none by itself.

    Parameters
    ----------
    workspace : Workspace
    pages : PageStack
    folder : Path or None
        Where the last session is kept, and a mark while a window is open.

    Signals
    -------
    problem(object)
        A `Problem`.
    missing(object)
        Path of a session whose data were not found, and what was said of it: (Path, str).
    told(str, str)
        A title and a sentence: something to know of a session.
    crashed(object)
        Path of the session of a window that did not close.
    """

    problem = Signal(object)
    missing = Signal(object)
    told = Signal(str, str)
    crashed = Signal(object)

    def __init__(
        self, workspace: Workspace, pages: PageStack, folder: Path | None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace, self._pages, self._folder = workspace, pages, folder
        self.known_folders: Callable[[], Iterable[Path]] = tuple
        """Return further folders that may contain the data of a session."""
        self.inputs: Callable[[], Callable[[], Sequence[Path]]] = lambda: list
        """Returns what lists the files that no session may replace."""
        self._pending: SessionRecord | None = None
        self._lock: QLockFile | None = None
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MILLISECONDS)
        self._rest.timeout.connect(self._keep)
        workspace.dataset_changed.connect(self._opened)
        workspace.history.changed.connect(self._changed)
        pages.turned.connect(self._changed)

    # What is shown -------------------------------------------------------------------------------------------------

    def record(self) -> SessionRecord | None:
        """Return what is shown now; None while no data are open."""
        workspace = self._workspace
        if workspace.source is None or workspace.dataset is None:
            return None
        return SessionRecord(
            workspace.source,
            workspace.dataset.fingerprint,
            workspace.state.parameters,
            workspace.state.selection,
            self._pages.name,
            self._pages.choices(),
        )

    def picture_text(self) -> str:
        """Return what an exported picture holds of it; empty while no data are open."""
        record = self.record()
        return "" if record is None else picture_text(record)

    def save(self, path: Path) -> None:
        """Write what is shown into a session file; its suffix is added where it is missing."""
        record = self.record()
        if record is None:
            self.problem.emit(Problem("The session could not be saved", "No data are open yet; try again in a moment."))
            return
        if path.suffix.lower() != SUFFIX:
            path = path.with_name(path.name + SUFFIX)
        try:
            check_outputs([path], self.inputs()())
            write_session(record, path)
        except (OSError, DataError) as error:
            self.problem.emit(Problem("The session could not be saved", f"{sentence(error)} Choose another place."))
        else:
            self.told.emit("Session saved", str(path))

    # Bringing it back ----------------------------------------------------------------------------------------------

    def open(self, path: Path, folders: Iterable[Path] = ()) -> bool:
        """Bring the session of a file back, also of a picture; return False if it holds none.

        Parameters
        ----------
        folders : iterable of Path
            Where its data may be, if they are not where it says.
        """
        try:
            record = read_session(path)
            if record is None:
                return False
            _check(record.selection, path)
            self._restore(located(record, path, [*folders, *self.known_folders()]))
        except MissingData as error:
            self.missing.emit((self._put_aside(path), sentence(error)))
            self._workspace.fall_back()
        except DataError as error:
            self.problem.emit(Problem(_TITLE, sentence(error)))
        return True

    def _put_aside(self, path: Path) -> Path:
        """Copy the last session, in whose place what is shown meanwhile is about to be kept; return where it is."""
        if self._folder is None or path != self._path():
            return path
        aside = path.with_name(f"missing{SUFFIX}")
        try:
            shutil.copyfile(path, aside)
        except OSError:
            return path
        return aside

    def _restore(self, record: SessionRecord) -> None:
        self._pending = record
        self._workspace.open(record.source, State(record.parameters, record.selection))

    @Slot(object)
    def _opened(self, dataset: Dataset) -> None:
        record, self._pending = self._pending, None
        if record is not None and record.source == self._workspace.source:
            self._pages.choose(record.page, record.choices)
            if record.fingerprint not in ("", dataset.fingerprint):
                self.told.emit(
                    "The data have changed",
                    f"{dataset.title} is not what it was when the session was saved; what it shows was made anew.",
                )
        self._changed()

    # By itself -----------------------------------------------------------------------------------------------------

    def start(self, resume: bool) -> None:
        """Keep what is shown from now on; bring the last session back, if that is wanted and its window was closed.

        After a window that ended otherwise nothing is brought back unasked, for it may be what ended it. A second
        window beside one that is open brings nothing back and keeps nothing.
        """
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
        mark = self._folder / "open"
        left = mark.exists()
        for each in (mark, mark.with_name(f"{mark.name}.rmlock")):  # the latter by Qt, while it removes the former
            _forget_empty(each)
        self._lock = QLockFile(str(mark))
        self._lock.setStaleLockTime(0)
        if not self._lock.tryLock(0):
            self._lock, self._folder = None, None
            return
        path = self._path()
        if left and path.is_file():
            with suppress(OSError):
                self.crashed.emit(self._recovered(path))
        elif resume and path.is_file():
            self.open(path)

    def _recovered(self, path: Path) -> Path:
        """Put the session of a window that did not close beside those before it, the oldest of which gives way."""
        names = [path.with_name(f"recovered{number}{SUFFIX}") for number in ("", *range(2, _MOST_RECOVERED + 1))]
        if not names[0].is_file() or names[0].read_bytes() != path.read_bytes():
            for older, newer in pairwise(reversed(names)):
                if newer.is_file():
                    os.replace(newer, older)
        os.replace(path, names[0])
        return names[0]

    def close(self) -> None:
        """Keep what is shown, and take the mark away."""
        self._rest.stop()
        self._keep()
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / f"last{SUFFIX}"

    @Slot()
    @Slot(object)
    def _changed(self, _page: object = None) -> None:
        if self._lock is not None:
            self._rest.start()

    @Slot()
    def _keep(self) -> None:
        record = self.record()
        if record is not None and self._lock is not None:
            with suppress(OSError):  # a full disk must not disturb what a person does; they are told when they save
                write_session(record, self._path())


def _forget_empty(mark: Path) -> None:
    """Remove the mark of a window that ended before it had written whose it is, for Qt waits for that for ever."""
    with suppress(OSError, ImportError), mark.open("rb") as file:
        if not file.read(1):
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # which Qt holds, too, while the window is open
            mark.unlink()


def _check(selection: Selection, path: Path) -> None:
    """Refuse a selection that names what no window has.

    Raises
    ------
    DataError
        With the name of the session's file.
    """
    try:
        check_choice("levels", selection.levels, LEVELS)
        check_choice("show", selection.show, SHOWN)
        if selection.colors not in ("auto", *DIVERGING, "jet"):
            known, colors = ", ".join(("auto", *DIVERGING, "jet")), selection.colors
            raise ValueError(f"colors is {colors!r}; it must be one of {known}")
    except ValueError as error:
        raise DataError(f"cannot be used: {error}", str(path)) from None
