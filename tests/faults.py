"""Faults of disks, let in at the k-th operation: writes, fsyncs, renames, files and folders made, statements of SQLite.

for number in count(1):
    with faults("write", number, errno.ENOSPC) as injected:
        save(path)
    if not injected.happened:
        break  # there were no more
"""

from __future__ import annotations

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

__all__ = ["KINDS", "Injected", "faults"]

KINDS = ("open", "write", "fsync", "rename", "mkdir", "statement")
"""What can fail."""

_SQLITE = {
    errno.ENOSPC: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EDQUOT: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EIO: (sqlite3.SQLITE_IOERR, "disk I/O error"),
    errno.EROFS: (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    errno.EACCES: (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
}


class Injected:
    """Counts operations of a kind, and lets one of them fail, or that and all that follow.

    Parameters
    ----------
    number : int
        Which one, from 1.
    code : int
        Of `errno`: why.
    lasting : bool
        Whether all later ones fail, too, as on a disk that is full.
    """

    def __init__(self, number: int, code: int, lasting: bool) -> None:
        self._number, self._code, self._lasting = number, code, lasting
        self.count = 0

    @property
    def happened(self) -> bool:
        """Whether the operation that fails was come to."""
        return self.count >= self._number

    def fails(self) -> bool:
        """Count one operation; say whether it fails."""
        self.count += 1
        return self.count >= self._number if self._lasting else self.count == self._number

    def error(self, name: object = None) -> OSError:
        """Return what the system says."""
        return OSError(self._code, os.strerror(self._code), *([] if name is None else [str(name)]))

    def check(self, name: object = None) -> None:
        """Count one operation, which may fail."""
        if self.fails():
            raise self.error(name)

    def check_statement(self) -> None:
        """Count one statement, which may fail."""
        if self.fails():
            code, said = _SQLITE[self._code]
            error = sqlite3.OperationalError(said)
            error.sqlite_errorcode = code
            raise error


class _Raw(io.FileIO):
    """A file of which the write that fails writes half."""

    injected: Injected

    def write(self, content: Any) -> int:
        if self.injected.fails():
            view = memoryview(content).cast("B")
            super().write(view[: len(view) // 2])
            raise self.injected.error()
        return super().write(content)


def _writer(name: Any, injected: Injected, mode: str) -> io.BufferedWriter:
    raw = _Raw(name, mode.replace("b", ""))
    raw.injected = injected
    return io.BufferedWriter(raw)


def _connection(injected: Injected) -> type[sqlite3.Connection]:
    class Failing(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            injected.check_statement()
            return super().execute(*arguments)

    return Failing


@contextmanager
def faults(kind: str, number: int, code: int = errno.ENOSPC, *, lasting: bool = False) -> Iterator[Injected]:
    """Let the operation of that number fail, among those of its kind that the program does meanwhile.

    Only what is written counts: files that are opened for reading are left alone.
    """
    injected = Injected(number, code, lasting)
    with ExitStack() as stack:
        for home, functions in ((os, _of_os(kind, injected)), (builtins, _opening(kind, injected))):
            for name, instead in functions.items():
                stack.enter_context(mock.patch.object(home, name, instead))
        if kind == "statement":
            connect = partial(sqlite3.connect, factory=_connection(injected))
            stack.enter_context(mock.patch.object(sqlite3, "connect", connect))
        yield injected


def _of_os(kind: str, injected: Injected) -> dict[str, Callable[..., Any]]:
    """Return what stands in the place of functions of `os`."""
    names = {"fsync": ("fsync",), "rename": ("rename", "replace"), "mkdir": ("mkdir",)}.get(kind, ())
    instead: dict[str, Callable[..., Any]] = {name: _failing(name, injected) for name in names}
    os_open, fdopen = os.open, os.fdopen
    if kind == "open":

        def open_file(name: Any, flags: int, *further: Any, **words: Any) -> int:
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                injected.check(name)
            return os_open(name, flags, *further, **words)

        instead["open"] = open_file
    if kind == "write":
        instead["fdopen"] = lambda handle, mode="r", *further: (
            _writer(handle, injected, mode) if "w" in mode else fdopen(handle, mode, *further)
        )
    return instead


def _opening(kind: str, injected: Injected) -> dict[str, Callable[..., Any]]:
    usual = builtins.open

    def opened(name: Any, mode: str = "r", *further: Any, **words: Any) -> Any:
        writes = isinstance(name, (str, Path)) and bool(set(mode) & set("wxa"))
        if writes and kind == "open":
            injected.check(name)
        if writes and kind == "write" and "b" in mode:
            return _writer(name, injected, mode)
        return usual(name, mode, *further, **words)

    return {"open": opened} if kind in ("open", "write") else {}


def _failing(name: str, injected: Injected) -> Callable[..., Any]:
    function = getattr(os, name)

    def instead(*arguments: Any, **words: Any) -> Any:
        injected.check(None if name == "fsync" else arguments[0])
        return function(*arguments, **words)

    return instead
