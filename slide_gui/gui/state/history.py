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
        self._back = False  # which way the last move went
        self.waiting = False
        """Whether the last move is still under way."""

    def push(self, step: Step) -> None:
        """Take in a change that is being made now."""
        if self._moving:
            return
        self.fail()  # what is changed is what was there before the move
        if step.gesture and step.gesture == self._gesture and self._done:
            first, *others = self._done[-1]
            self._done[-1] = (replace(first, after=step.after), *others)
        else:
            self._done = [*self._done[1 - MOST_STEPS :], (step,)]
        self._undone, self._gesture = [], step.gesture
        self.changed.emit()

    def join(self, step: Step) -> None:
        """Take in what the change that was just pushed brought with it; it is applied after that, both ways."""
        if self._moving or self.waiting or not self._done:
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
        return self._done[-1][0] if self._done and not self.waiting else None

    @property
    def next(self) -> Step | None:
        """The change that redo would make again."""
        return self._undone[-1][0] if self._undone and not self.waiting else None

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

    def wait(self) -> None:
        """Let what is being applied take its time; until `arrive` or `fail` is called nothing else is taken back."""
        self.waiting = True

    def arrive(self, finish: Callable[[], object]) -> None:
        """End a move that was waited for, by what there is to do; without effect where it is no longer waited for."""
        if not self.waiting:
            return
        self.waiting = False
        joined = (self._undone if self._back else self._done)[-1]
        arriving = Step(joined[0].text, lambda _value: finish(), None, None)
        self._apply((arriving, *joined[1:]))
        self.changed.emit()

    def fail(self) -> None:
        """End a move that was waited for, as if it had never begun."""
        if self.waiting:
            self.waiting = False
            self._shift(back=not self._back)
            self.changed.emit()

    def _move(self, back: bool) -> None:
        self._gesture, self._back = "", back
        joined = self._shift(back)
        self._apply(joined[:1])
        if not self.waiting:
            self._apply(joined[1:])
        self.changed.emit()

    def _shift(self, back: bool) -> _Joined:
        source, target = (self._done, self._undone) if back else (self._undone, self._done)
        target.append(source.pop())
        return target[-1]

    def _apply(self, steps: _Joined) -> None:
        self._moving = True
        try:
            for step in steps:
                step.apply(step.before if self._back else step.after)
        finally:
            self._moving = False
