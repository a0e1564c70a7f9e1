"""One of several: a box made from the table of a kind of choice, or buttons that look like one control."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QComboBox, QPushButton, QWidget

from slide_gui.core.choices import Choice

__all__ = ["ChoiceButtons", "add_choices"]


def add_choices(box: QComboBox, choices: Iterable[Choice]) -> None:
    """Add choices by their texts, with their tips; the data of an item is the key."""
    for choice in choices:
        box.addItem(choice.text, choice.key)
        box.setItemData(box.count() - 1, choice.tip, Qt.ItemDataRole.ToolTipRole)


class ChoiceButtons(QButtonGroup):
    """A group of numbered buttons that look like one control; `idClicked` says which one a person pressed.

    Parameters
    ----------
    parent : QWidget
        Owner of the group; the buttons belong to the widget in whose layout they are put.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)

    def add(self, number: int, text: str, parent: QWidget) -> QPushButton:
        """Make the button of a number, checked if it is the first, to be put into a layout of `parent`."""
        button = QPushButton(text, parent)
        button.setProperty("kind", "segment")
        button.setCheckable(True)
        button.setChecked(not self.buttons())
        self.addButton(button, number)
        return button

    def choose(self, number: int) -> None:
        """Check a button, as if it had been pressed, without saying so."""
        self.button(number).setChecked(True)
