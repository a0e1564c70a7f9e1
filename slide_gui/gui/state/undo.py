"""The history of changes that can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack

_MOST_STEPS = 200


class UndoHistory(QUndoStack):
    """Finished changes, and the current gesture, which will be one of them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setUndoLimit(_MOST_STEPS)
        self._gesture = ""
        self._pending: _Change | None = None

    def record(self, text: str, apply: Callable[[Any], object], before: Any, after: Any, gesture: str = "") -> None:
        """Record a change that has been made.

        Parameters
        ----------
        text : str
            The change, as it follows "Undo" in a menu.
        apply : callable
            Restores `before` or `after`.
        gesture : str
            Consecutive changes with the same name are one step, which `end_gesture` completes.
        """
        if self._pending is not None and gesture == self._gesture:
            self._pending.after = after
            return
        self.end_gesture()
        change = _Change(text, apply, before, after)
        if gesture:
            self._gesture, self._pending = gesture, change
        else:
            self.push(change)

    @Slot()
    def end_gesture(self) -> None:
        """Complete the changes of a gesture as one step."""
        pending, self._pending = self._pending, None
        if pending is not None and pending.before != pending.after:
            self.push(pending)

    @Slot()
    def undo(self) -> None:
        """Revert the last change."""
        self.end_gesture()
        super().undo()

    @Slot()
    def redo(self) -> None:
        """Make the change again that was undone last."""
        self.end_gesture()
        super().redo()

    @Slot()
    def clear(self) -> None:
        """Forget all changes."""
        self._pending = None
        super().clear()

    def undoText(self) -> str:
        """Return the change that `undo` would revert, or ""."""
        pending = self._pending
        return pending.text() if pending is not None and pending.before != pending.after else super().undoText()


class _Change(QUndoCommand):
    """A change that has been made when it is pushed on a QUndoStack."""

    def __init__(self, text: str, apply: Callable[[Any], object], before: Any, after: Any) -> None:
        super().__init__(text)
        self._apply, self.before, self.after = apply, before, after
        self._is_undone = False

    def undo(self) -> None:
        self._is_undone = True
        self._apply(self.before)

    def redo(self) -> None:
        if self._is_undone:  # QUndoStack.push calls this, too
            self._apply(self.after)
