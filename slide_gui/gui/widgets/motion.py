"""Animations that explain: a soft pulse during computations, and numbers that move to new values.

Both stop if reduced motion is requested. Their timers run only while something moves on a visible
widget.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QEvent, QObject, Qt, QTimer, QVariantAnimation, Slot
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
SETTLE_MS = 144
"""Time in which a value reaches its end."""


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


class Settle(QVariantAnimation):
    """Numbers that move to new values within 144 ms and slow down at the end.

    Parameters
    ----------
    widget : QWidget
        Updated after each step.
    """

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._from: tuple[float, ...] = ()
        self._to: tuple[float, ...] = ()
        self.setStartValue(0.0)
        self.setEndValue(1.0)
        self.setDuration(SETTLE_MS)
        self.setEasingCurve(QEasingCurve.Type.OutCubic)
        self.valueChanged.connect(self._step)

    @property
    def values(self) -> tuple[float, ...]:
        """Return the current numbers."""
        if not self.is_running():
            return self._to
        return tuple(a + self.currentValue() * (b - a) for a, b in zip(self._from, self._to, strict=True))

    def is_running(self) -> bool:
        """Return True if the numbers are moving."""
        return self.state() == QVariantAnimation.State.Running

    def go(self, values: tuple[float, ...]) -> None:
        """Move to new numbers, at once if their count differs or animations are off."""
        now = self.values
        self.stop()
        self._from, self._to = now, values
        if len(now) == len(values) and now != values and self._widget.isVisible() and motion_allowed(self._widget):
            self.start()
        self._widget.update()

    @Slot(object)
    def _step(self, _share: float) -> None:
        if not self._widget.isVisible():
            self.stop()
        self._widget.update()
