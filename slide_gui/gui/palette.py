"""The command palette: every command found by typing a part of its name."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

__all__ = ["CommandPalette"]


class CommandPalette(QDialog):
    """Lists the enabled actions; Return runs the chosen one."""

    def __init__(self, actions: Iterable[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 380)
        self._filter = QLineEdit(self)
        self._filter.setPlaceholderText("Type a command")
        self._filter.setAccessibleName("Command")
        self._list = QListWidget(self)
        self._list.setAccessibleName("Commands found")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self._filter)
        layout.addWidget(self._list)
        self._chosen: QAction | None = None
        for action in actions:
            if action.isEnabled() and action.objectName() != "palette":
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                item = QListWidgetItem(f"{action.text().rstrip('…')}    {keys}")
                item.setData(Qt.ItemDataRole.UserRole, action)
                self._list.addItem(item)
        self._filter.textChanged.connect(self._narrow)
        self._filter.installEventFilter(self)
        self._filter.returnPressed.connect(self._run)
        self._list.itemActivated.connect(self._run)
        self._list.setCurrentRow(0)

    @Slot(str)
    def _narrow(self, text: str) -> None:
        words = text.lower().split()
        first = None
        for row in range(self._list.count()):
            item = self._list.item(row)
            found = all(word in item.text().lower() for word in words)
            item.setHidden(not found)
            if found and first is None:
                first = row
        self._list.setCurrentRow(-1 if first is None else first)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while the text has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None:
                row = self._list.currentRow() + step
                while 0 <= row < self._list.count() and self._list.item(row).isHidden():
                    row += step
                if 0 <= row < self._list.count():
                    self._list.setCurrentRow(row)
                return True
        return super().eventFilter(watched, event)

    @Slot()
    def _run(self) -> None:
        item = self._list.currentItem()
        self.accept()
        if item is not None and not item.isHidden():
            item.data(Qt.ItemDataRole.UserRole).trigger()
