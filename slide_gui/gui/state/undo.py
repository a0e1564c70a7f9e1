"""Changes that can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QUndoCommand


class Change(QUndoCommand):
    """A change that has been made when it is pushed on a QUndoStack.

    Parameters
    ----------
    text : str
        The change, as it follows "Undo" in a menu.
    apply : callable
        Restores `before` or `after`.
    """

    def __init__(self, text: str, apply: Callable[[Any], object], before: Any, after: Any) -> None:
        super().__init__(text)
        self._apply, self._before, self._after = apply, before, after
        self._is_undone = False

    def undo(self) -> None:
        self._is_undone = True
        self._apply(self._before)

    def redo(self) -> None:
        if self._is_undone:  # QUndoStack.push calls this, too
            self._apply(self._after)
