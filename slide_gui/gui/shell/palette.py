"""The windows and dialogs that commands open, among them the command palette and the list of shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLineEdit,
    QMessageBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from slide_gui import __version__
from slide_gui.data.entries import entries
from slide_gui.gui.help.guide import Guide
from slide_gui.gui.shell.commands import COMMANDS, MENUS, Action
from slide_gui.gui.shell.page_stack import PAGES
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.widgets.controls import PlainLabel
from slide_gui.gui.widgets.layouts import flush
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.gui.dialogs.workers import ClusterDialog
    from slide_gui.gui.shell.main_window import MainWindow
    from slide_gui.gui.shell.table_window import TableWindow

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

    def __init__(self, actions: Iterable[Action], parent: QWidget) -> None:
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
        _set_columns(self._list)
        self._list.setHeaderHidden(True)
        self._list.setRootIsDecorated(False)
        self._list.setUniformRowHeights(True)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
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
            PaletteEntry(action.text().rstrip(" …"), action.keys, action.trigger, tip=action.toolTip())
            for action in self._actions
            if action.isEnabled()
        ]
        self._entries = [*actions, *self._further()]
        self._narrow(self._filter.text())

    @Slot(str)
    def _narrow(self, text: str) -> None:
        words = text.lower().split()
        fitting = [each for each in self._entries if _contains(f"{each.text} {each.hint} {each.tip}", words)]
        if words:  # texts that begin as typed come first, entries that match only in their tip last
            fitting.sort(
                key=lambda each: (
                    not each.text.lower().startswith(words[0]),
                    not _contains(f"{each.text} {each.hint}", words),
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


def _contains(text: str, words: Iterable[str]) -> bool:
    lowered = text.lower()
    return all(word in lowered for word in words)


def _set_columns(lines: QTreeWidget) -> None:
    """Let the first of two columns take the space that the second leaves."""
    lines.setColumnCount(2)
    lines.header().setStretchLastSection(False)
    lines.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    lines.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)


class ShortcutList(QDialog):
    """A list of all commands and their shortcuts by menu."""

    def __init__(self, actions: dict[str, Action], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.resize(520, 560)
        self.list = QTreeWidget(self)
        self.list.setAccessibleName("Commands and their shortcuts")
        self.list.setHeaderLabels(["Command", "Shortcut"])
        for title, commands in MENUS.items():
            menu = QTreeWidgetItem(self.list, [title])
            for command in commands:
                line = QTreeWidgetItem(menu, [command.text.rstrip(" …"), actions[command.name].keys])
                line.setToolTip(0, command.tip)
        self.list.expandAll()
        self.list.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        _set_columns(self.list)
        flush(QVBoxLayout(self), 8, (12, 12, 12, 12)).addWidget(self.list)


class Commands(QObject):
    """The actions of a window by name, and the windows that they open, each made when it is first needed."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.actions = {command.name: Action(command, window) for command in COMMANDS}
        self._lists_runs = False

    @cached_property
    def _palette(self) -> CommandPalette:
        return CommandPalette(self.actions.values(), self._window)

    def show_palette(self) -> None:
        """Search commands, data sets, recent files and runs by name."""
        self._window.follow()
        if not self._lists_runs:
            # The runs are imported in the job queue, because that is slow and must not delay typing.
            queue = self._window.queue
            queue.submit("Reading the runs", _import_library, channel="palette", on_result=self._list_runs)
        self._palette.ask(self._further)

    @Slot(object)
    def _list_runs(self, _imported: object) -> None:
        if not self._lists_runs:
            self._lists_runs = True
            self._window.session.library.changed.connect(self._palette.refresh)
            self._palette.refresh()

    def _further(self) -> Iterator[PaletteEntry]:
        """Return entries for data sets, recent files and runs."""
        window = self._window
        for page in PAGES:
            for number, view in enumerate(page.views):
                show = partial(window.pages.show_view, page.name, number)
                yield PaletteEntry(f"{page.title}: {view.text}", "view", show, tip=view.tip)
        for each in entries():
            yield PaletteEntry(f"Open {each.title}", "data set", partial(window.open_entry, each.key))
        for opening in window.recent.openings:
            open_again = partial(window.open_files, list(opening.paths))
            yield PaletteEntry(f"Open {opening.name}", str(opening.folder), open_again, opening.why_not)
        if window.session.lists_runs:
            for run in reversed(window.session.library.runs):
                tags = f", {', '.join(run.tags)}" if run.tags else ""
                text = f"Run: {run.data}, {run.method}, noise {run.noise:g}, depth {run.depth}{tags}"
                yield PaletteEntry(text, f"error {100 * run.error:.2f} %", partial(self._open_run, run.hash))

    def _open_run(self, key: str) -> None:
        self._window.pages.turn_to("classifier")
        self._window.session.runs.open_run(key)

    @cached_property
    def _cluster(self) -> ClusterDialog:
        from slide_gui.gui.dialogs.workers import ClusterDialog

        return ClusterDialog(self._window.session.cluster, self._window)

    def show_cluster(self) -> None:
        """Choose where runs are computed, and list the workers."""
        self._cluster.ask()

    @cached_property
    def _table(self) -> TableWindow:
        from slide_gui.gui.shell.table_window import TableWindow

        return TableWindow(self._window.pages, self._window)

    def show_table(self) -> None:
        """Show the numbers of the view as a table in a window that may stay open."""
        self._table.show()
        self._table.activateWindow()

    @cached_property
    def _guide(self) -> Guide:
        guide = Guide(self._window)
        guide.command_requested.connect(self._run)
        guide.data_requested.connect(self._window.open_entry)
        return guide

    def show_guide(self, page: str = "") -> None:
        """Show the guide, at a page or where it was, in a window that may stay open."""
        guide = self._guide
        if page:
            guide.turn_to(page)
        guide.show()
        guide.activateWindow()

    @Slot(str)
    def _run(self, name: str) -> None:
        action = self.actions[name]
        action.trigger()
        if not action.isEnabled() and action.command.why_not is not None:
            reason = action.command.why_not(self._window)
            self._window.show_message(UserMessage(action.command.text, f"{reason}."))

    @cached_property
    def _shortcuts(self) -> ShortcutList:
        return ShortcutList(self.actions, self._window)

    def show_shortcuts(self) -> None:
        """List all commands with their shortcuts."""
        self._shortcuts.open()

    @cached_property
    def _about(self) -> QMessageBox:
        about = QMessageBox(self._window)
        about.setTextFormat(Qt.TextFormat.PlainText)
        about.setWindowTitle("About slide-gui")
        about.setText(f"slide-gui {__version__}")
        about.setInformativeText(
            "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature "
            "Learning with Stacked Linear Denoisers”.\n\nMIT licence. Help, Licences lists the licences of "
            "components (Qt: LGPL 3). The network is used only for downloads and schedulers that you "
            "request."
        )
        return about

    def show_about(self) -> None:
        """Show the program's name, version and licence."""
        self._about.open()


def _import_library(_progress: Progress) -> object:
    from slide_gui.gui.state import library

    return library
