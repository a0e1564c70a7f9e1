"""How late the event loop is: the one figure that shows whether the window freezes."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer, Slot

_PERIOD = 0.01  # seconds between two ticks


class LatenessMonitor(QObject):
    """Ticks every 10 ms and records by how much each tick was late, in seconds."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.samples: list[float] = []
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(round(_PERIOD * 1000))
        self._timer.timeout.connect(self._tick)
        self._last = 0.0

    def start(self) -> None:
        """Begin to measure, without samples."""
        self.samples.clear()
        self._last = time.perf_counter()
        self._timer.start()

    @Slot()
    def _tick(self) -> None:
        now = time.perf_counter()
        self.samples.append(max(now - self._last - _PERIOD, 0.0))
        self._last = now
