"""Inject disk faults at the k-th operation: writes, fsyncs, renames, new files and folders, statements of SQLite.

for number in count(1):
    with faults("write", number, errno.ENOSPC) as injected:
        save(path)
    if not injected.happened:
        break  # fewer operations than `number` took place
"""

import builtins
import errno
import io
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

KINDS = ("open", "write", "fsync", "rename", "mkdir", "statement")
"""Operations that can fail."""

_SQLITE = {
    errno.ENOSPC: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EDQUOT: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EIO: (sqlite3.SQLITE_IOERR, "disk I/O error"),
    errno.EROFS: (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    errno.EACCES: (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
}


class Injected:
    """Counts operations of one kind, and makes one of them, or it and all later ones, fail.

    Parameters
    ----------
    number : int
        Number of the operation that fails, from 1.
    code : int
        The error number, from `errno`.
    lasting : bool
        True if all later operations also fail, as on a full disk.
    """

    def __init__(self, number: int, code: int, lasting: bool) -> None:
        self._number, self._code, self._lasting = number, code, lasting
        self.count = 0

    @property
    def happened(self) -> bool:
        """True if the failing operation was reached."""
        return self.count >= self._number

    def fails(self) -> bool:
        """Count one operation, and return True if it fails."""
        self.count += 1
        return self.count >= self._number if self._lasting else self.count == self._number

    def check(self, name: object = None) -> None:
        """Count one operation, and raise an error if it fails."""
        if self.fails():
            raise OSError(self._code, os.strerror(self._code), *([] if name is None else [str(name)]))

    def check_statement(self) -> None:
        """Count one SQL statement, and raise an error if it fails."""
        if self.fails():
            code, message = _SQLITE[self._code]
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = code
            raise error


class _File(io.FileIO):
    """A file in which a failing write first writes half of its content."""

    injected: Injected

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        try:
            self.injected.check()
        except OSError:
            super().write(view[: len(view) // 2])
            raise
        return super().write(content)


def _writer(name: Any, mode: str, injected: Injected) -> io.BufferedWriter:
    file = _File(name, mode.replace("b", ""))
    file.injected = injected
    return io.BufferedWriter(file)


def _failing(function: Callable[..., Any], injected: Injected) -> Callable[..., Any]:
    def instead(first: Any, *further: Any, **words: Any) -> Any:
        injected.check(None if isinstance(first, int) else first)
        return function(first, *further, **words)

    return instead


@contextmanager
def faults(kind: str, number: int, code: int = errno.ENOSPC, *, lasting: bool = False) -> Iterator[Injected]:
    """Make the operation of this number among those of its kind fail; opening a file only to read does not count."""
    injected = Injected(number, code, lasting)
    usual_open, os_open, fdopen = builtins.open, os.open, os.fdopen

    class Connection(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            injected.check_statement()
            return super().execute(*arguments)

    def open_file(name: Any, mode: str = "r", *further: Any, **words: Any) -> Any:
        writes = isinstance(name, (str, Path)) and bool(set(mode) & set("wxa"))
        if writes and kind == "open":
            injected.check(name)
        if writes and kind == "write" and "b" in mode:
            return _writer(name, mode, injected)
        return usual_open(name, mode, *further, **words)

    def open_descriptor(name: Any, flags: int, *further: Any, **words: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            injected.check(name)
        return os_open(name, flags, *further, **words)

    def open_handle(handle: int, mode: str = "r", *further: Any) -> Any:
        return _writer(handle, mode, injected) if "w" in mode else fdopen(handle, mode, *further)

    replacements: dict[str, list[tuple[Any, str, Any]]] = {
        "open": [(builtins, "open", open_file), (os, "open", open_descriptor)],
        "write": [(builtins, "open", open_file), (os, "fdopen", open_handle)],
        "fsync": [(os, "fsync", _failing(os.fsync, injected))],
        "rename": [(os, name, _failing(getattr(os, name), injected)) for name in ("rename", "replace")],
        "mkdir": [(os, "mkdir", _failing(os.mkdir, injected))],
        "statement": [(sqlite3, "connect", partial(sqlite3.connect, factory=Connection))],
    }
    with ExitStack() as stack:
        for home, name, instead in replacements[kind]:
            stack.enter_context(mock.patch.object(home, name, instead))
        yield injected
