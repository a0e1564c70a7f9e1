"""Inform the window of uncaught errors in all threads and of the signals SIGINT and SIGTERM."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType, FunctionType, TracebackType
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

_log = logging.getLogger("slide_gui")
# Name of the log file, and maximum number of bytes at the end of this file that `last_log_lines` reads.
_LOG, _LOG_BYTES = "slide-gui.log", 8192


def log_folder() -> Path:
    """Return the folder that contains the log file."""
    from platformdirs import user_log_path

    return Path(user_log_path("slide-gui", appauthor=False))


def last_log_lines(count: int = 40) -> list[str]:
    """Return the last lines of the log file, or an empty list if it cannot be read."""
    try:
        with (log_folder() / _LOG).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LOG_BYTES, 0))
            return file.read().decode("utf-8", "replace").splitlines()[-count:]
    except OSError:
        return []


def guard_overrides() -> None:
    """Before Python 3.12, prevent errors in methods that override Qt methods from crashing the program.

    In these versions, an error raised by C code, such as an index out of range, has no exception object until it is
    caught. PySide would mistake the error's text for the exception object and abort. The error is therefore caught and
    raised again. This covers the classes that exist already and those that are defined later.
    """
    if sys.version_info >= (3, 12) or hasattr(QObject, _MARK):
        return

    def make(cls: Any, /, **options: Any) -> None:
        super(QObject, cls).__init_subclass__(**options)
        _wrap_overrides(cls)

    setattr(QObject, _MARK, True)
    QObject.__init_subclass__ = classmethod(make)  # type: ignore[assignment]
    for each in list(_classes_of(QObject)):
        _wrap_overrides(each)


_MARK = "_overrides_are_guarded"


def _classes_of(base: Any) -> Iterator[type]:
    for each in base.__subclasses__():
        if not each.__module__.startswith("PySide6"):
            yield each
        yield from _classes_of(each)


def _wrap_overrides(cls: type) -> None:
    """Wrap the methods of a class that override methods of a PySide class."""
    native = next(base for base in cls.__mro__ if base.__module__.startswith("PySide6"))
    for name, function in list(vars(cls).items()):
        if isinstance(function, FunctionType) and not name.startswith("__") and hasattr(native, name):
            setattr(cls, name, _guarded(function))


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BaseException:  # Catching the error makes Python create the exception object that PySide needs.
            raise

    return call


class FaultReporter(QObject):
    """Logs and reports uncaught errors while it exists.

    Signals
    -------
    reported(str, str)
        An error was not caught. The arguments are one line with its type and message, and its traceback. The signal is
        always delivered on the GUI thread.
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
                folder / _LOG, maxBytes=1_000_000, backupCount=2, delay=True, encoding="utf-8"
            )
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
            _log.addHandler(self._handler)
        except OSError:
            _log.warning("cannot write a log file to %s", log_folder())

    def close(self) -> None:
        """Close the log file, and restore the previous exception hooks unless other hooks have been installed since."""
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


_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_LOOK_MILLISECONDS = 200


class Interruption(QObject):
    """Reports the signals SIGINT and SIGTERM while it exists; meanwhile, SIGINT does not raise KeyboardInterrupt.

    Python can run signal handlers only while it executes Python code, which Qt's waiting event loop does not. A timer
    therefore calls a Python method regularly. Signals that are ignored when the program starts, such as SIGINT in a
    shell's background jobs, remain ignored. A second signal ends the process as usual.

    Attributes
    ----------
    number : int or None
        Number of the first signal, or None before any signal has arrived.

    Signals
    -------
    interrupted()
        The first signal has arrived; `number` identifies it.
    """

    interrupted = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.number: int | None = None
        handled = [number for number in _NUMBERS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        self._previous = {number: signal.signal(number, self._note) for number in handled}
        self._timer = QTimer(self, interval=_LOOK_MILLISECONDS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        for each in self._previous:
            signal.signal(each, signal.SIG_DFL)

    @Slot()
    def _look(self) -> None:
        if self.number is not None:
            self._timer.stop()
            self.interrupted.emit()

    def stop(self) -> int | None:
        """Restore the previous signal handlers. Return the number of the first signal, or None if none arrived."""
        self._timer.stop()
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        return self.number
