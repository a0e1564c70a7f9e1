"""Logging of uncaught errors of all threads, reported to the window by one signal."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any

from PySide6.QtCore import QObject, Signal

_log = logging.getLogger("slide_gui")


def log_folder() -> Path:
    """Return the folder of the log file."""
    from platformdirs import user_log_path

    return Path(user_log_path("slide-gui", appauthor=False))


def keep_errors_whole() -> None:
    """Preserve errors raised inside overrides of Qt methods, for all present and future classes.

    Before Python 3.12, an error raised by C code, such as an index out of range, is a type and a text until it is
    caught. The binding takes the text for the error and aborts. Catching and raising it again prevents that.
    """
    if sys.version_info >= (3, 12) or hasattr(QObject, _MARK):
        return

    def make(cls: Any, /, **given: Any) -> None:
        super(QObject, cls).__init_subclass__(**given)
        _catch_in(cls)

    setattr(QObject, _MARK, True)
    QObject.__init_subclass__ = classmethod(make)  # type: ignore[assignment]
    for each in list(_classes_of(QObject)):
        _catch_in(each)


_MARK = "_errors_are_whole"


def _classes_of(base: Any) -> Iterator[type]:
    for each in base.__subclasses__():
        if not each.__module__.startswith("PySide6"):
            yield each
        yield from _classes_of(each)


def _catch_in(cls: type) -> None:
    """Wrap the methods of a class that override those of the binding."""
    native = next(base for base in cls.__mro__ if base.__module__.startswith("PySide6"))
    for name, function in list(vars(cls).items()):
        if isinstance(function, FunctionType) and not name.startswith("__") and hasattr(native, name):
            setattr(cls, name, _caught(function))


def _caught(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **given: Any) -> Any:
        try:
            return function(*arguments, **given)
        except BaseException:  # catching it creates the exception object
            raise

    return call


class FaultReporter(QObject):
    """Handles uncaught errors while it exists.

    Signals
    -------
    reported(str, str)
        A sentence and the traceback, always delivered on the GUI thread.
    """

    reported = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._previous = (sys.excepthook, threading.excepthook)
        sys.excepthook = self._on_error
        threading.excepthook = self._on_thread_error
        self._handler: logging.Handler | None = None
        try:
            folder = log_folder()
            folder.mkdir(parents=True, exist_ok=True)
            self._handler = RotatingFileHandler(
                folder / "slide-gui.log", maxBytes=1_000_000, backupCount=2, delay=True, encoding="utf-8"
            )
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
            _log.addHandler(self._handler)
        except OSError:
            _log.warning("no log file: %s cannot be written", log_folder())

    def close(self) -> None:
        """Restore the previous hooks unless others have been installed since."""
        if sys.excepthook == self._on_error:
            sys.excepthook, threading.excepthook = self._previous
        if self._handler is not None:
            _log.removeHandler(self._handler)
            self._handler.close()

    def _on_error(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        _log.error("uncaught error\n%s", text)
        sys.__excepthook__(kind, error, trace)
        self.reported.emit(f"{kind.__name__}: {error}", text)

    def _on_thread_error(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_error(args.exc_type, args.exc_value, args.exc_traceback)
