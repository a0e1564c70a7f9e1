"""Uncaught errors of any thread end in one log file and one signal for the window's panel."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, Signal

__all__ = ["FaultReporter", "log_folder"]

_log = logging.getLogger("slide_gui")


def log_folder() -> Path:
    """Return the folder of the log file."""
    from platformdirs import user_log_path

    return Path(user_log_path("slide-gui", appauthor=False))


class FaultReporter(QObject):
    """Takes over the hooks for uncaught errors while it lives.

    Signals
    -------
    reported(str, str)
        One sentence and the traceback, always delivered on the GUI thread.
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
        """Give the hooks back, unless another has taken them since."""
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
