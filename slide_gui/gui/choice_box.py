"""A box of choices, made from the table of their kind."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from slide_gui.core.choices import Choice

__all__ = ["add_choices"]


def add_choices(box: QComboBox, choices: Iterable[Choice]) -> None:
    """Add choices by their texts, with their tips; the data of an item is the key."""
    for choice in choices:
        box.addItem(choice.text, choice.key)
        box.setItemData(box.count() - 1, choice.tip, Qt.ItemDataRole.ToolTipRole)
