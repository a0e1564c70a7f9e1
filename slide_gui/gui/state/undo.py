"""The history of changes that can be undone."""

from collections.abc import Callable
from typing import Any, cast

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack

_MOST_STEPS = 200


class UndoHistory(QUndoStack):
    """The last 200 steps that can be undone. All changes in one gesture, such as dragging a slider, form one step."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent, undoLimit=_MOST_STEPS)

    def record(self, text: str, apply: Callable[[Any], object], before: Any, after: Any, gesture: str = "") -> None:
        """Record a change that has already been applied.

        Parameters
        ----------
        text : str
            Name of the change, which the menu shows after "Undo".
        apply : callable
            Called with `before` to undo the change, and with `after` to redo it.
        gesture : str
            Name of the gesture that caused the change, or "". Consecutive changes with the same name form one step,
            until `end_gesture` is called or the step is undone.
        """
        last = self._last()
        if last is None or not gesture or last.gesture != gesture or self.canRedo():
            self.push(_Change(text, apply, before, after, gesture))
        elif last.before == after:  # The gesture ended at its initial value, so remove its step.
            last.setObsolete(True)
            self.undo()
        else:
            last.after = after

    @Slot()
    def end_gesture(self) -> None:
        """End the gesture, so that the next change is a separate step."""
        last = self._last()
        if last is not None:
            last.gesture = ""

    def drop(self, apply: Callable[[Any], object] | None = None) -> None:
        """Remove all changes recorded with the function `apply`, and all undone steps, from the history."""
        steps = [cast("_Change", self.command(number)) for number in range(self.index())]
        others = [(step.text(), step.apply, step.before, step.after) for step in steps if step.apply != apply]
        self.clear()
        for each in others:
            self.record(*each)

    def _last(self) -> "_Change | None":
        return cast("_Change | None", self.command(self.index() - 1))


class _Change(QUndoCommand):
    """A change that is already applied when it is pushed on a QUndoStack."""

    def __init__(self, text: str, apply: Callable[[Any], object], before: Any, after: Any, gesture: str) -> None:
        super().__init__(text)
        self.apply, self.before, self.after, self.gesture = apply, before, after, gesture
        self._is_undone = False

    def undo(self) -> None:
        self._is_undone, self.gesture = True, ""
        if not self.isObsolete():
            self.apply(self.before)

    def redo(self) -> None:
        # QUndoStack.push also calls `redo`. In this case, the change is already applied, and `_is_undone` is False.
        if self._is_undone:
            self.apply(self.after)
