"""What every page begins with: its margins, its title, what it shows, and the tabs of its views."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from slide_gui.gui.layouts import nested
from slide_gui.gui.widgets.choice_buttons import ChoiceButtons

__all__ = ["add_button", "column", "header"]


def column(page: QWidget, right: int = 20) -> QVBoxLayout:
    """Give a page the layout that all pages have, and return it."""
    layout = QVBoxLayout(page)
    layout.setContentsMargins(20, 12, right, 8)
    layout.setSpacing(8)
    return layout


def header(
    page: QWidget, layout: QVBoxLayout, title: str, subtitle: str, tabs: Sequence[tuple[str, str]] = ()
) -> tuple[QHBoxLayout, QLabel, ChoiceButtons]:
    """Add the first row of a page: return it, the label of the subtitle, and the tabs, the first one chosen.

    Parameters
    ----------
    page : QWidget
    layout : QVBoxLayout
        That of the page, from `column`.
    title, subtitle : str
    tabs : sequence of (text, tooltip)
    """
    heading = QLabel(title, page)
    heading.setProperty("role", "title")
    secondary = QLabel(subtitle, page)
    secondary.setProperty("role", "secondary")
    row = nested(layout, QHBoxLayout())
    row.setSpacing(12)
    row.addStrut(28)  # as high with tabs as without
    row.addWidget(heading)
    row.addWidget(secondary, 1)
    choice = ChoiceButtons(page)
    for number, (text, tip) in enumerate(tabs):
        button = choice.add(number, text, page)
        button.setToolTip(tip)
        row.addWidget(button)
    return row, secondary, choice


def add_button(page: QWidget, row: QHBoxLayout, text: str, tip: str, kind: str = "") -> QPushButton:
    """Add a button to a row of a page."""
    button = QPushButton(text, page)
    if kind:
        button.setProperty("kind", kind)
    button.setToolTip(tip)
    row.addWidget(button)
    return button
