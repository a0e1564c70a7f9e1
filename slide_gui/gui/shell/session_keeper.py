"""Store the window's state, and restore it at the next start, or from a session file or an exported picture."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, QTimer, Signal, Slot

from slide_gui.core.choices import check_choice
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.data.files import check_outputs, unused
from slide_gui.experiments.files.session import (
    SUFFIX,
    MissingData,
    Selection,
    SessionRecord,
    located,
    picture_text,
    read_session,
    write_session,
)
from slide_gui.experiments.files.source import DataSource
from slide_gui.figures.style import LEVELS, SHOWN
from slide_gui.gui.shell.page_stack import PageStack
from slide_gui.gui.shell.panel import COLORS
from slide_gui.gui.state.jobs import UserMessage, sentence
from slide_gui.gui.state.workspace import State, Workspace

_REST_MILLISECONDS = 2000  # The session is stored when the window has not changed for this number of milliseconds.
_MOST_RECOVERED = 5  # Maximum number of sessions of crashed windows that are kept.
_TITLE = "The session could not be opened"


class SessionKeeper(QObject):
    """Saves and restores sessions of a window. If `folder` is given, it also stores the state automatically.

    Parameters
    ----------
    workspace : Workspace
        Holds the open data with their parameters and selection.
    pages : PageStack
        The pages of the window. A session contains their settings.
    folder : Path or None
        Folder for the last session and for the lock file of the open window. If None, no session is stored
        automatically.

    Attributes
    ----------
    known_folders : callable
        Returns the folders in which to search for the data files of a session if these have been moved.
    ask_where_data_are : callable
        Asks the user for the folder to which a session's data were moved. Returns the folder, or None after Cancel.
    inputs : callable
        Returns a function that lists files that must not be overwritten when a session is saved.
    snapshot : SessionRecord or None
        State to store instead of the current state, such as the state before the tour; None for the current state.

    Signals
    -------
    message(object)
        A `UserMessage` to show.
    """

    message = Signal(object)

    def __init__(self, workspace: Workspace, pages: PageStack, folder: Path | None, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace, self._pages = workspace, pages
        self._path = None if folder is None else folder / f"last{SUFFIX}"
        self.known_folders: Callable[[], Iterable[Path]] = tuple
        self.ask_where_data_are: Callable[[], Path | None] = lambda: None
        self.inputs: Callable[[], Callable[[], Sequence[Path]]] = lambda: list
        self.snapshot: SessionRecord | None = None
        self._pending: SessionRecord | None = None
        self._resumes = False
        # If the data of the last session are unavailable, this attribute holds the example data that are open instead,
        # and their state. The last session is not overwritten until the user changes the data or the state, because the
        # session's data may be available again later.
        self._example: tuple[DataSource | None, State] | None = None
        self._lock: QLockFile | None = None
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rest.timeout.connect(self._store_session)
        workspace.rested.connect(self._store_soon)
        pages.changed.connect(self._store_soon)

    # Current state -------------------------------------------------------------------------------------------------

    def record(self) -> SessionRecord | None:
        """Return the current state of the window, or None if no data are open."""
        source, dataset, state = self._workspace.source, self._workspace.dataset, self._workspace.state
        if source is None or dataset is None:
            return None
        page, choices = self._pages.name, self._pages.choices()
        return SessionRecord(source, dataset.fingerprint, state.parameters, state.selection, page, choices)

    def picture_text(self) -> str:
        """Return the window's state as text to embed in an exported picture, or "" if no data are open."""
        record = self.record()
        return "" if record is None else picture_text(record)

    def save(self, path: Path) -> None:
        """Write the window's state to a session file. If `path` lacks the suffix, add it and choose an unused name."""
        record = self.record()
        if record is None:
            self.message.emit(UserMessage("The session could not be saved", "No data set is open. Open one first."))
            return
        if path.suffix.lower() != SUFFIX:
            # The user confirmed the name without the suffix, and has not agreed to overwrite a file with the suffix.
            path = unused(path.with_name(path.name + SUFFIX))
        try:
            check_outputs([path], self.inputs()())
            write_session(record, path)
        except (OSError, DataError) as error:
            remedy = " Choose another path." if isinstance(error, OSError) else ""
            self.message.emit(UserMessage("The session could not be saved", f"{sentence(error)}{remedy}"))
        else:
            self.message.emit(UserMessage("Session saved", str(path), kind="information"))

    # Restoring -----------------------------------------------------------------------------------------------------

    def open(self, path: Path, folders: Iterable[Path] = ()) -> bool | None:
        """Restore the session that a session file or an exported picture contains.

        Return None if the file contains no session, and False if the session is invalid.

        Parameters
        ----------
        folders : iterable of Path
            Folders in which to search for the data files first if they have been moved.
        """
        try:
            record = read_session(path)
            if record is None:
                return None
            _check(record.selection, path)
            self._restore(record, path, folders)
        except DataError as error:
            self.message.emit(UserMessage(_TITLE, sentence(error)))
            return False
        return True

    def _restore(self, record: SessionRecord, path: Path, folders: Iterable[Path]) -> None:
        """Open the data of a session that was read from `path`. If the data are missing, let the user locate them."""
        try:
            self._pending = located(record, path, [*folders, *self.known_folders()])
            self._workspace.open(self._pending.source, State(record.parameters, record.selection))
        except MissingData as error:
            title = "The data of the session were not found"
            self.message.emit(UserMessage(title, sentence(error), "Locate…", partial(self._locate, record, path)))
            self._workspace.fall_back()

    def _locate(self, record: SessionRecord, path: Path) -> None:
        folder = self.ask_where_data_are()
        if folder is not None:
            self._restore(record, path, [folder])

    @Slot(object)
    def restore_choices(self, dataset: Dataset) -> None:
        """Restore the page settings of a session after the pages have shown the data of this session."""
        record, self._pending = self._pending, None
        # If the example data replace unavailable data of the last session, `_store_session` needs their initial state.
        if self._resumes and self._workspace.fallback is None:
            self._example = self._workspace.source, self._workspace.state
        self._resumes = False
        if record is not None and record.source == self._workspace.source:
            self._pages.choose(record.page, record.choices)
            if record.fingerprint not in ("", dataset.fingerprint):
                text = f"{dataset.title} or the scaling of its features has changed since the session was saved"
                text = f"{text}, so the results were computed again."
                self.message.emit(UserMessage("The data have changed", text, kind="information"))
        self._store_soon()

    @property
    def stores(self) -> bool:
        """True if the window's state is stored automatically."""
        return self._lock is not None

    # Automatic sessions --------------------------------------------------------------------------------------------

    def start(self, resume: bool) -> None:
        """Store the window's state automatically from now on. If `resume` is True, also restore the last session.

        If the window of the last session crashed, ask the user first, because the session may have caused the crash.
        While another window is open, this window neither restores nor stores a session.
        """
        path = self._path
        if path is None:
            return
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        mark = path.with_name("open")
        has_crashed = mark.exists()
        # A window that crashes while Qt removes the lock file "open" may leave Qt's temporary file "open.rmlock".
        for name in ("open", "open.rmlock"):
            _remove_if_empty(path.with_name(name))
        self._lock = QLockFile(str(mark))
        self._lock.setStaleLockTime(0)
        if not self._lock.tryLock(0):
            self._lock, self._path = None, None
            return
        if has_crashed and path.is_file():
            with suppress(OSError):
                restore = partial(self.open, self._keep_recovered(path))
                title = "slide-gui did not close properly last time"
                text = "The last session was saved but not restored. The example data are open instead."
                self.message.emit(UserMessage(title, text, "Restore it", restore, "information"))
        elif resume and path.is_file():
            self._resumes = True
            self.open(path)

    def _keep_recovered(self, path: Path) -> Path:
        """Add the session of a crashed window to the recovered sessions; if there are too many, delete the oldest."""
        names = [path.with_name(f"recovered{number}{SUFFIX}") for number in ("", *range(2, _MOST_RECOVERED + 1))]
        if not names[0].is_file() or names[0].read_bytes() != path.read_bytes():
            for older, newer in pairwise(reversed(names)):
                if newer.is_file():
                    os.replace(newer, older)
        os.replace(path, names[0])
        return names[0]

    def close(self) -> None:
        """Store the window's state and remove the lock file."""
        self._rest.stop()
        self._store_session()
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None

    @Slot()
    def _store_soon(self) -> None:
        if self._lock is not None:
            self._rest.start()

    @Slot()
    def _store_session(self) -> None:
        record, shown = self.snapshot or self.record(), (self._workspace.source, self._workspace.state)
        if record is not None and shown != self._example and self._lock is not None and self._path is not None:
            # If automatic storage fails, for example because the disk is full, show no message, because it would appear
            # after every change. The error is reported when the user saves a session.
            with suppress(OSError):
                write_session(record, self._path)


def _remove_if_empty(mark: Path) -> None:
    """Remove an empty lock file left by a window that crashed, because Qt would regard it as still in use."""
    with suppress(OSError):
        with mark.open("rb") as file:
            is_empty = not file.read(1)
            if is_empty and sys.platform != "win32":
                import fcntl

                # If an open window uses the lock file, `flock` raises an OSError, and the file is not removed.
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                mark.unlink()
        if is_empty and sys.platform == "win32":  # Windows cannot remove the file before it is closed.
            mark.unlink()


def _check(selection: Selection, path: Path) -> None:
    """Raise an error if a session selects unknown colour limits, displayed values or colours for the tiles.

    Raises
    ------
    DataError
        If a selection is unknown; the message contains the name of the session file.
    """
    try:
        for name, choices in (("levels", LEVELS), ("show", SHOWN), ("colors", COLORS)):
            check_choice(name, getattr(selection, name), choices)
    except ValueError as error:
        raise DataError(f"cannot be used: {error}", str(path)) from None
