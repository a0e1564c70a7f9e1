"""Animations that explain: a soft pulse during computations, and numbers that move to new values.

Both stop if reduced motion is requested. Their timers run only while something moves on a visible
widget.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle, QWidget

REDUCED_MOTION = "reducedMotion"
"""Property of the application; True stops all animations, whatever the system requests."""

_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
)

STEP_MS = 100
STEPS = 14
FRAME_MS, FRAMES = 16, 9
"""A value reaches its end within 144 ms."""


def ask_for_less_motion(asked: bool) -> None:
    """Stop all animations, including those of Qt's menus, or allow them if the system does."""
    app = QApplication.instance()
    if isinstance(app, QApplication):
        app.setProperty(REDUCED_MOTION, asked)
        for effect in _EFFECTS if asked else ():
            app.setEffectEnabled(effect, False)


def motion_allowed(widget: QWidget) -> bool:
    """Return True unless the application, the style or the system requests reduced motion."""
    app = QApplication.instance()
    if app is not None and app.property(REDUCED_MOTION):
        return False
    if widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget) <= 0:
        return False
    # Qt reports the system's setting since version 6.12.
    hints = QGuiApplication.styleHints()
    asked = getattr(getattr(hints, "accessibility", lambda: None)(), "motionPreference", None)
    return asked is None or "Reduce" not in asked().name


class Pulse(QObject):
    """A slow oscillation between 0 and 1 during a computation.

    Parameters
    ----------
    widget : QWidget
        The oscillation stops while it is hidden.
    moved : callable
        Called after each step to redraw the widget.
    """

    def __init__(self, widget: QWidget, moved: Callable[[], None]) -> None:
        super().__init__(widget)
        self._widget, self._moved, self._wanted, self._step = widget, moved, False, 0
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.timeout.connect(self._tick)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._seen_changed)
        widget.installEventFilter(self)

    @property
    def level(self) -> float:
        """Return the current value, 0 to 1; 1 if animations are off."""
        if not self._timer.isActive():
            return 1.0
        return 0.5 + 0.5 * math.cos(2.0 * math.pi * self._step / STEPS)

    def is_running(self) -> bool:
        """Return True if the timer is running."""
        return self._timer.isActive()

    def set_wanted(self, wanted: bool) -> None:
        """Start or stop the oscillation."""
        self._wanted = wanted
        run = wanted and self._widget.isVisible() and motion_allowed(self._widget)
        if run and not self._timer.isActive():
            self._timer.start()
        elif not run and self._timer.isActive():
            self._timer.stop()
            self._moved()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._widget and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._soon.start()
        return False

    @Slot()
    def _seen_changed(self) -> None:
        self.set_wanted(self._wanted)

    @Slot()
    def _tick(self) -> None:
        self._step = (self._step + 1) % STEPS
        if not motion_allowed(self._widget):
            self._timer.stop()
        self._moved()


class Settle(QObject):
    """Numbers that move to new values within 144 ms and slow down at the end.

    Parameters
    ----------
    widget : QWidget
        Updated after each frame.
    """

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget, self._frame = widget, FRAMES
        self._from: tuple[float, ...] = ()
        self._to: tuple[float, ...] = ()
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def values(self) -> tuple[float, ...]:
        """Return the current numbers."""
        if self._frame >= FRAMES:
            return self._to
        eased = 1.0 - (1.0 - self._frame / FRAMES) ** 3
        return tuple(a + eased * (b - a) for a, b in zip(self._from, self._to, strict=True))

    def is_running(self) -> bool:
        """Return True if the numbers are moving."""
        return self._timer.isActive()

    def go(self, values: tuple[float, ...]) -> None:
        """Move to new numbers, at once if their count differs or animations are off."""
        now = self.values
        still = len(now) != len(values) or not self._widget.isVisible() or not motion_allowed(self._widget)
        self._from, self._to, self._frame = now, values, FRAMES if still else 0
        if still or now == values:
            self._frame = FRAMES
            self._timer.stop()
        else:
            self._timer.start()
        self._widget.update()

    @Slot()
    def _tick(self) -> None:
        self._frame += 1
        if self._frame >= FRAMES or not self._widget.isVisible():
            self._frame = FRAMES
            self._timer.stop()
        self._widget.update()
