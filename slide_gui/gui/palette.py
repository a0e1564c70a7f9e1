"""The command palette: every command found by typing a part of its name."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

__all__ = ["CommandPalette"]


class CommandPalette(QDialog):
    """Lists the enabled actions; Return runs the chosen one. Made once and kept with its window."""

    def __init__(self, actions: Iterable[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.resize(460, 380)
        self._filter = QLineEdit(self)
        self._filter.setPlaceholderText("Type a command")
        self._filter.setAccessibleName("Command")
        self._list = QTreeWidget(self)
        self._list.setColumnCount(2)
        self._list.setHeaderHidden(True)
        self._list.setRootIsDecorated(False)
        self._list.header().setStretchLastSection(False)
        self._list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self._list.setAccessibleName("Commands found")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self._filter)
        layout.addWidget(self._list)
        for action in actions:
            if action.objectName() != "palette":
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                item = QTreeWidgetItem(self._list, [action.text().rstrip("…"), keys])
                item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                item.setData(0, Qt.ItemDataRole.UserRole, action)
        self._filter.textChanged.connect(self._narrow)
        self._filter.installEventFilter(self)
        self._filter.returnPressed.connect(self._run)
        self._list.itemActivated.connect(self._run)

    def ask(self) -> None:
        """Open, with every action that is enabled now."""
        self._filter.clear()
        self._narrow("")
        self._filter.setFocus()
        self.open()

    @Slot(str)
    def _narrow(self, text: str) -> None:
        words = text.lower().split()
        for item in self._items():
            fits = all(word in item.text(0).lower() for word in words)
            item.setHidden(not fits or not item.data(0, Qt.ItemDataRole.UserRole).isEnabled())
        shown = [item for item in self._items() if not item.isHidden()]
        if shown:
            self._list.setCurrentItem(shown[0])

    def _items(self) -> list[QTreeWidgetItem]:
        items = (self._list.topLevelItem(row) for row in range(self._list.topLevelItemCount()))
        return [item for item in items if item is not None]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while the text has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None:
                shown = [item for item in self._items() if not item.isHidden()]
                current = self._list.currentItem()
                if current in shown:
                    place = min(max(shown.index(current) + step, 0), len(shown) - 1)
                    self._list.setCurrentItem(shown[place])
                return True
        return super().eventFilter(watched, event)

    @Slot()
    def _run(self) -> None:
        item = self._list.currentItem()
        self.accept()
        if item is not None and not item.isHidden():
            item.data(0, Qt.ItemDataRole.UserRole).trigger()
