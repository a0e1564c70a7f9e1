"""Handling of SIGINT (Ctrl+C) and SIGTERM in the event loop."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal, Slot

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interruption(QObject):
    """Reports both signals while it exists; they do not raise KeyboardInterrupt meanwhile.

    Python runs its signal handlers between two bytecode instructions, and a waiting event loop executes none.
    Python therefore writes to a wake-up descriptor, which the loop watches. Signals ignored at the start,
    such as SIGINT in a shell's background jobs, remain ignored. A second signal ends the process as usual.

    Signals
    -------
    came()
        The first signal; `number` identifies it.
    """

    came = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.number: int | None = None
        """Number of the first signal, or None."""
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
        """Restore the handlers and return the number of the signal, or None."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._descriptor)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()
        return self.number


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Ignore a signal, because the wake-up descriptor reports it."""
