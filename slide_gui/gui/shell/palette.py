"""The command palette: commands, data sets, files and runs, filtered by typed words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from slide_gui.gui.widgets.controls import PlainLabel
from slide_gui.gui.widgets.layouts import flush

_MOST_LINES = 200
_HINT_LETTERS = 34
_SIZE = (640, 440)


@dataclass(frozen=True, eq=False)
class PaletteEntry:
    """A line of the palette.

    Attributes
    ----------
    text : str
        Action; typed words are searched here, in the hint, and last in the tip.
    hint : str
        Shortcut, or kind of the item, on the right.
    run : callable
        Runs the action.
    why_not : str
        Why it is unavailable; such a line is grey and shows the reason. Empty if it is available.
    tip : str
        One sentence that adds to the text.
    """

    text: str
    hint: str
    run: Callable[[], object]
    why_not: str = ""
    tip: str = ""


class CommandPalette(QDialog):
    """The list of enabled actions and further entries; Return runs the selected one. Each window creates it once."""

    def __init__(self, actions: Iterable[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.resize(*_SIZE)
        self._actions = [action for action in actions if action.objectName() != "palette"]
        self._entries: list[PaletteEntry] = []
        self._shown: list[PaletteEntry] = []
        self._further: Callable[[], Iterable[PaletteEntry]] = tuple
        self._filter = QLineEdit(self)
        self._filter.setPlaceholderText("Type a command, a data set, a file or a run")
        self._filter.setAccessibleName("Command")
        self._list = QTreeWidget(self)
        self._list.setColumnCount(2)
        self._list.setHeaderHidden(True)
        self._list.setRootIsDecorated(False)
        self._list.setUniformRowHeights(True)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.header().setStretchLastSection(False)
        self._list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self._list.setAccessibleName("Commands")
        self._nothing = PlainLabel("", self)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setWordWrap(True)
        layout = flush(QVBoxLayout(self), 8, (12, 12, 12, 12))
        layout.addWidget(self._filter)
        layout.addWidget(self._list, 1)
        layout.addWidget(self._nothing, 1)
        self._filter.textChanged.connect(self._narrow)
        self._filter.installEventFilter(self)
        self._filter.returnPressed.connect(self._run)
        self._list.itemActivated.connect(self._run)

    def ask(self, further: Callable[[], Iterable[PaletteEntry]] = tuple) -> None:
        """Open with all enabled actions and the entries that `further` returns, which `refresh` calls again."""
        self._further = further
        self._filter.clear()
        self._read()
        self._filter.setFocus()
        self.open()

    @Slot()
    def refresh(self) -> None:
        """Update the list if the palette is open."""
        if self.isVisible():
            self._read()

    def _read(self) -> None:
        actions = [
            PaletteEntry(action.text().rstrip(" …"), _keys(action), action.trigger, tip=action.toolTip())
            for action in self._actions
            if action.isEnabled()
        ]
        self._entries = [*actions, *self._further()]
        self._narrow(self._filter.text())

    @Slot(str)
    def _narrow(self, text: str) -> None:
        words = text.lower().split()
        fitting = [each for each in self._entries if _says(f"{each.text} {each.hint} {each.tip}", words)]
        if words:  # texts that begin as typed come first, entries that match only in their tip last
            fitting.sort(
                key=lambda each: (
                    not each.text.lower().startswith(words[0]),
                    not _says(f"{each.text} {each.hint}", words),
                )
            )
        self._shown = fitting[:_MOST_LINES]
        self._list.clear()
        for entry in self._shown:
            hint = entry.why_not or entry.hint
            shown = hint if len(hint) <= _HINT_LETTERS else f"…{hint[1 - _HINT_LETTERS :]}"
            item = QTreeWidgetItem(self._list, [entry.text, shown])
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(0, entry.tip or entry.text)
            item.setToolTip(1, hint)
            item.setDisabled(bool(entry.why_not))
        self._nothing.setText(f"No entry matches “{text.strip()}”")
        self._nothing.setVisible(not self._shown)
        self._list.setVisible(bool(self._shown))
        self._choose(0, 1)

    def _choose(self, row: int, step: int) -> None:
        """Select a line, or the next one that is available."""
        while 0 <= row < len(self._shown) and self._shown[row].why_not:
            row += step
        item = self._list.topLevelItem(row)
        if item is not None:
            self._list.setCurrentItem(item)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list with the arrow keys while the text field has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
            if step is not None:
                self._choose(self._row() + step, step)
                return True
        return super().eventFilter(watched, event)

    def _row(self) -> int:
        item = self._list.currentItem()
        return -1 if item is None else self._list.indexOfTopLevelItem(item)

    @Slot()
    def _run(self) -> None:
        row = self._row()
        if 0 <= row < len(self._shown) and not self._shown[row].why_not:
            run = self._shown[row].run
            self.accept()
            run()


def _says(text: str, words: Iterable[str]) -> bool:
    lowered = text.lower()
    return all(word in lowered for word in words)


def _keys(action: QAction) -> str:
    return action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
