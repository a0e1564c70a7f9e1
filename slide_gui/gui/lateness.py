"""How late the event loop is: the one figure that says whether the window freezes."""

from __future__ import annotations

import time
from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

__all__ = ["LatenessMonitor"]

_PERIOD = 0.01  # seconds between two ticks
_MOST = 60_000  # ten minutes


class LatenessMonitor(QObject):
    """Ticks every 10 ms and keeps by how much each tick came late.

    Signals
    -------
    measured(object)
        About once a second: the largest lateness of that second, in seconds.
    """

    measured = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.samples: deque[float] = deque(maxlen=_MOST)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(_PERIOD * 1000))
        self._timer.timeout.connect(self._tick)
        self._last = self._told = 0.0
        self._worst = 0.0

    @property
    def measuring(self) -> bool:
        """Whether it ticks."""
        return self._timer.isActive()

    def start(self) -> None:
        """Begin to measure, from nothing."""
        self.samples.clear()
        self._last = self._told = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        """Stop the ticks; the samples stay."""
        self._timer.stop()

    @Slot()
    def _tick(self) -> None:
        now = time.perf_counter()
        late = max(now - self._last - _PERIOD, 0.0)
        self._last = now
        self.samples.append(late)
        self._worst = max(self._worst, late)
        if now - self._told > 1.0:
            self.measured.emit(self._worst)
            self._told, self._worst = now, 0.0
