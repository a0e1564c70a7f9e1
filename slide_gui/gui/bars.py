"""The bar on top of the window and the one of its pages on the left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QToolButton, QVBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.gui.actions import ACTIONS
from slide_gui.gui.page_stack import PAGES
from slide_gui.gui.theme import icon, theme_of

__all__ = ["Navigation", "TitleBar"]


class TitleBar(QFrame):
    """The menu of every command, what is open, and the commands used most."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setProperty("role", "bar")
        self.setFixedHeight(40)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 16, 0)
        row.setSpacing(12)
        menu_button = QToolButton(self)
        menu_button.setText("slide-gui")
        menu_button.setProperty("kind", "menu")
        menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu_button.setToolTip("Every command (also by Ctrl+Shift+P)")
        menu_button.setAccessibleName("Menu")
        menu_button.setMenu(self._build_menu(menu_button))
        self._title = QLabel("", self)
        self._title.setProperty("role", "secondary")
        row.addWidget(menu_button)
        row.addWidget(self._title, 1)
        self._buttons = {name: self._build_button(name, row) for name in ("open", "undo", "redo", "export")}

    def _build_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        groups: dict[str, QMenu] = {}
        for spec in ACTIONS:
            if spec.group not in groups:
                groups[spec.group] = QMenu(spec.group, menu)
                menu.addMenu(groups[spec.group])
            groups[spec.group].addAction(self._actions[spec.name])
        return menu

    def _build_button(self, name: str, row: QHBoxLayout) -> QPushButton:
        action = self._actions[name]
        button = QPushButton(action.text() if name in ("open", "export") else "", self)
        button.setToolTip(action.toolTip())
        button.setAccessibleName(action.text().rstrip("…"))
        button.clicked.connect(action.trigger)
        if name == "export":
            button.setProperty("kind", "primary")
        row.addWidget(button)
        return button

    def show_dataset(self, dataset: Dataset) -> None:
        """Say what is open."""
        name = dataset.name.removesuffix(" (generated)")
        files = dataset.source.split("; ")
        origin = Path(files[0]).name if len(files) == 1 else f"{len(files)} files"
        self._title.setText(f"{name} · {'generated' if dataset.generated else origin}")

    def follow_actions(self) -> None:
        """Enable the buttons whose commands are enabled."""
        for name, button in self._buttons.items():
            button.setEnabled(self._actions[name].isEnabled())

    def tint(self) -> None:
        """Draw the icons in the colours of the theme."""
        theme = theme_of(self)
        for name in ("undo", "redo"):
            self._buttons[name].setIcon(icon(name, theme))


class Navigation(QFrame):
    """A button for every page."""

    def __init__(self, actions: Mapping[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setFixedWidth(72)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 8)
        column.setSpacing(0)
        self._buttons = {}
        for spec in PAGES:
            action = actions[f"page_{spec.name}"]
            button = QToolButton(self)
            button.setProperty("kind", "nav")
            button.setText(spec.text)
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            button.setIconSize(QSize(20, 20))
            button.setFixedSize(72, 56)
            button.setToolTip(action.toolTip())
            button.clicked.connect(action.trigger)
            self._buttons[spec.name] = button
            column.addWidget(button)
        column.addStretch(1)

    @Slot(object)
    def mark(self, name: str) -> None:
        """Mark the page that is shown."""
        self._buttons[name].setChecked(True)

    def tint(self) -> None:
        """Draw the icons in the colours of the theme."""
        theme = theme_of(self)
        for name, button in self._buttons.items():
            button.setIcon(icon(name, theme))
