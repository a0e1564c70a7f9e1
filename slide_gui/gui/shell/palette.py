"""The command palette, in which the user types words to find commands, data sets and recent files."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout

from slide_gui.data.entries import entries
from slide_gui.gui.shell.page_stack import PAGES
from slide_gui.gui.widgets.controls import PlainLabel, keys_text, named
from slide_gui.gui.widgets.layouts import flush, placed

if TYPE_CHECKING:
    from slide_gui.gui.shell.main_window import MainWindow

_MOST_LINES = 200
_HINT_LETTERS = 34
_SIZE = (640, 440)


@dataclass(frozen=True, eq=False)
class PaletteEntry:
    """An entry of the command palette.

    Attributes
    ----------
    text : str
        Name of the action. The palette searches `text`, `hint` and `tip` for the typed words. Entries with a match only
        in their `tip` are listed last.
    hint : str
        Text on the right: the shortcut of a command, "view", "data set", or the folder of a recent file.
    run : callable
        Performs the action.
    tip : str
        Tooltip: one sentence that adds information to `text`.
    """

    text: str
    hint: str
    run: Callable[[], object]
    tip: str = ""


class CommandPalette(QDialog):
    """A list of the available commands, views, data sets and recent files; the Return key runs the selected entry."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self.setWindowTitle("Commands")
        self.resize(*_SIZE)
        self._window = window
        self._entries: list[PaletteEntry] = []
        self._shown: list[PaletteEntry] = []
        layout = flush(QVBoxLayout(self), 8, (12, 12, 12, 12))
        self._filter = placed(layout, QLineEdit(self, placeholderText="Find a command, data set or recent file"))
        self._filter.setAccessibleName("Command")
        self._list = placed(layout, named(QTreeWidget(self, columnCount=2), "Commands"), 1)
        self._list.header().setStretchLastSection(False)
        self._list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self._list.setHeaderHidden(True)
        self._list.setRootIsDecorated(False)
        self._list.setUniformRowHeights(True)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._nothing = placed(layout, PlainLabel("", self, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True), 1)
        self._filter.textChanged.connect(self._narrow)
        self._filter.returnPressed.connect(self._run)
        self._list.itemActivated.connect(self._run)

    def ask(self) -> None:
        """Open the command palette with an empty text field."""
        self._window.follow()
        self._entries = list(self._all_entries())
        self._filter.clear()
        self._filter.setFocus()
        # Apply the style sheet before the list is first laid out, because its first layout determines the row height.
        self._list.ensurePolished()
        self._narrow("")
        self.open()

    def _all_entries(self) -> Iterator[PaletteEntry]:
        window = self._window
        for action in window.actions_by_name.values():
            if action.isEnabled() and action.objectName() != "palette":
                text = action.text().rstrip(" …")
                yield PaletteEntry(text, keys_text(action.command.shortcut), action.trigger, tip=action.toolTip())
        for page in PAGES:
            for number, view in enumerate(page.views):
                show = partial(window.pages.show_view, page.name, number)
                yield PaletteEntry(f"{page.title or page.text}: {view.text}", "view", show, tip=view.tip)
        for each in entries():
            yield PaletteEntry(f"Open {each.title}", "data set", partial(window.open_entry, each.key))
        for opening in window.recent.openings:
            open_again = partial(window.open_files, list(opening.paths))
            yield PaletteEntry(f"Open {opening.name}", str(opening.folder), open_again)

    @Slot(str)
    def _narrow(self, text: str) -> None:
        words = text.lower().split()
        fitting = [each for each in self._entries if _contains(f"{each.text} {each.hint} {each.tip}", words)]
        # Entries that begin with the first typed word come first; entries that match only by their tooltip come last.
        if words:
            fitting.sort(key=lambda each: _contains(f"{each.text} {each.hint}", words), reverse=True)
            fitting.sort(key=lambda each: each.text.lower().startswith(words[0]), reverse=True)
        self._shown = fitting[:_MOST_LINES]
        self._list.clear()
        for entry in self._shown:
            shown = entry.hint if len(entry.hint) <= _HINT_LETTERS else f"…{entry.hint[1 - _HINT_LETTERS :]}"
            item = QTreeWidgetItem(self._list, [entry.text, shown])
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(0, entry.tip or entry.text)
            item.setToolTip(1, entry.hint)
        self._list.setCurrentIndex(self._list.model().index(0, 0))
        self._nothing.setText(f"No entry matches “{text.strip()}”")
        self._nothing.setVisible(not self._shown)
        self._list.setVisible(bool(self._shown))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let the arrow keys move through the list of entries while the text field has the keyboard focus."""
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self._list.keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    @Slot()
    def _run(self) -> None:
        row = self._list.currentIndex().row()
        if row >= 0:
            self.accept()
            self._shown[row].run()


def _contains(text: str, words: Iterable[str]) -> bool:
    return all(word in text.lower() for word in words)
