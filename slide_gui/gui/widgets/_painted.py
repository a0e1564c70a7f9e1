"""What the widgets that paint themselves share: they follow the mouse, take the keyboard, and show their focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget

__all__ = ["CLICKS", "Painted"]

CLICKS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
"""Keys that stand for a click."""


class Painted(QWidget):
    """Base of the widgets in which something is pointed at by mouse or keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _leave(self) -> None:
        """Point at nothing: the mouse has left."""
        raise NotImplementedError

    def leaveEvent(self, event: QEvent) -> None:
        self._leave()
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusOutEvent(event)
