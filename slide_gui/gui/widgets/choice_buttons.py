"""Buttons of which one is chosen.

`QButtonGroup` does not serve: PySide takes it for the parent of its buttons, so that each of them has two owners, and
which of the two goes first decides whether Python's part of a button outlives it.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QPushButton, QWidget

__all__ = ["ChoiceButtons"]


class _Numbered(QPushButton):
    """A button that says its number when it is pressed."""

    pressed_number = Signal(int)

    def __init__(self, number: int, text: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.number = number
        self.setProperty("kind", "segment")
        self.setCheckable(True)
        self.setAutoExclusive(True)  # among the buttons of one parent
        self.clicked.connect(self._tell)

    @Slot()
    def _tell(self) -> None:
        self.pressed_number.emit(self.number)


class ChoiceButtons(QObject):
    """A row of buttons of one parent, numbered; the parent has no other exclusive buttons.

    Parameters
    ----------
    parent : QWidget
        Owner of this object; the buttons belong to the widget in whose layout they are put.

    Signals
    -------
    chosen(int)
        Number of the button that a person pressed.
    """

    chosen = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._buttons: dict[int, _Numbered] = {}

    def add(self, number: int, text: str, parent: QWidget) -> QPushButton:
        """Make the button of a number, checked if it is the first, to be put into a layout of `parent`."""
        button = _Numbered(number, text, parent)
        button.setChecked(not self._buttons)
        button.pressed_number.connect(self.chosen)
        self._buttons[number] = button
        return button

    def buttons(self) -> list[QPushButton]:
        """Return all buttons, in the order in which they were made."""
        return list(self._buttons.values())

    def choose(self, number: int) -> None:
        """Check a button, as if it had been pressed, without saying so."""
        self._buttons[number].setChecked(True)

    def number(self) -> int:
        """Return the number of the button that is checked; that of the first where none is."""
        return next((number for number, button in self._buttons.items() if button.isChecked()), min(self._buttons))
