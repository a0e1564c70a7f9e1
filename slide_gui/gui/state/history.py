"""What can be taken back and made again, in the order it was done; whoever changes something says how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

__all__ = ["MOST_STEPS", "History", "Step"]

MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Step:
    """One change.

    Attributes
    ----------
    text : str
        What was done, as it follows "Undo" in a menu.
    apply : callable
        Brings about `before` or `after`.
    gesture : str
        Changes of the same gesture that follow each other are one step; empty: it is one by itself.
    """

    text: str
    apply: Callable[[Any], object]
    before: Any
    after: Any
    gesture: str = ""


_Joined = tuple[Step, ...]  # a change, which is applied first both ways, and what it brought with it


class History(QObject):
    """At most `MOST_STEPS` changes; what is pushed while one is taken back or made again is part of that.

    Signals
    -------
    changed()
        What undo and redo would do changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._done: list[_Joined] = []
        self._undone: list[_Joined] = []
        self._gesture = ""
        self._moving = False

    def push(self, step: Step) -> None:
        """Take in a change that is being made now."""
        if self._moving:
            return
        if step.gesture and step.gesture == self._gesture and self._done:
            first, *others = self._done[-1]
            self._done[-1] = (replace(first, after=step.after), *others)
        else:
            self._done = [*self._done[1 - MOST_STEPS :], (step,)]
        self._undone, self._gesture = [], step.gesture
        self.changed.emit()

    def join(self, step: Step) -> None:
        """Take in what the change that was just pushed brought with it; it is applied after that, both ways."""
        if self._moving or not self._done:
            return
        first, *others = self._done[-1]
        for number, other in enumerate(others):
            if other.apply == step.apply:
                others[number] = replace(other, after=step.after)
                break
        else:
            others.append(step)
        self._done[-1] = (first, *others)

    @Slot()
    def end_gesture(self) -> None:
        """The next change is a step of its own."""
        self._gesture = ""

    @property
    def last(self) -> Step | None:
        """The change that undo would take back."""
        return self._done[-1][0] if self._done else None

    @property
    def next(self) -> Step | None:
        """The change that redo would make again."""
        return self._undone[-1][0] if self._undone else None

    @Slot()
    def undo(self) -> None:
        """Take the last change back."""
        if self.last is not None:
            self._move(back=True)

    @Slot()
    def redo(self) -> None:
        """Make the last change that was taken back again."""
        if self.next is not None:
            self._move(back=False)

    def clear(self) -> None:
        """Forget all changes."""
        self._done, self._undone, self._gesture = [], [], ""
        self.changed.emit()

    def _move(self, back: bool) -> None:
        self._gesture, self._moving = "", True
        source, target = (self._done, self._undone) if back else (self._undone, self._done)
        target.append(source.pop())
        try:
            for step in target[-1]:
                step.apply(step.before if back else step.after)
        finally:
            self._moving = False
        self.changed.emit()
