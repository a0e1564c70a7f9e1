"""What the widgets that paint themselves share: they follow the mouse, take the keyboard, and show their focus."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QFocusEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

__all__ = ["CLICKS", "Painted", "Pointed"]

CLICKS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
"""Keys that stand for a click."""


class Painted(QWidget):
    """Base of the widgets in which something is pointed at by mouse or keys, and which say why they are empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._placeholder = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def set_placeholder(self, text: str) -> None:
        """Say what to do next where there is nothing."""
        self._placeholder = text
        self._describe()
        self.update()

    def _describe(self) -> None:
        """Bring the accessible description up to date."""

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


class Pointed(Painted):
    """Base of those in which the mouse always points at one thing or at nothing.

    Attributes
    ----------
    shape : Qt.CursorShape
        Of the mouse over a thing.
    """

    shape = Qt.CursorShape.PointingHandCursor

    def _at(self, point: QPointF) -> Any:
        """Return what stands at a point, None for nothing."""
        raise NotImplementedError

    def _hover(self, found: Any) -> None:
        """Mark what is pointed at now, None for nothing."""
        raise NotImplementedError

    def _click(self, found: Any) -> None:
        """Tell that something was clicked."""

    def _leave(self) -> None:
        self._hover(None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position())
        self.setCursor(Qt.CursorShape.ArrowCursor if found is None else self.shape)
        self._hover(found)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self._hover(found)
            self._click(found)
