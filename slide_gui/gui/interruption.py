"""SIGINT (Ctrl+C) and SIGTERM, brought into the event loop."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal, Slot

__all__ = ["Interruption"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interruption(QObject):
    """Listens to both while it lasts; nothing raises KeyboardInterrupt meanwhile.

    Python's own handlers run between two instructions of Python, and a loop that waits has none. Its wake-up
    descriptor is written to at once, and the loop watches the other end. Of a signal that was ignored at the start, as
    SIGINT is in a shell's background jobs, nothing is heard. A second signal ends the process as if nobody listened.

    Signals
    -------
    came()
        The first one; `number` says which.
    """

    came = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.number: int | None = None
        """The first signal that came, or None."""
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        heard = [number for number in _NUMBERS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        self._previous = {number: signal.signal(number, _do_nothing) for number in heard}
        self._descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    @Slot()
    def _read(self) -> None:
        numbers = [number for number in self._reader.recv(4096) if number in self._previous]
        if numbers and self.number is None:
            self.number = numbers[0]
            for number in self._previous:
                signal.signal(number, signal.SIG_DFL)
            self.came.emit()

    def stop(self) -> int | None:
        """Give the handlers back; return the signal that came, or None."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._descriptor)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()
        return self.number


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Stand in for what would end the process or raise; the descriptor tells the rest."""
