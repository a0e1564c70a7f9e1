"""The actions of a window, built from its commands, and the dialogs that list or open things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QMessageBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from slide_gui import __version__
from slide_gui.data.entries import entries
from slide_gui.gui.help.guide import Guide
from slide_gui.gui.shell.commands import COMMANDS, MENUS, Command, Shell
from slide_gui.gui.shell.page_stack import PAGES
from slide_gui.gui.shell.palette import CommandPalette, PaletteEntry
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.widgets.layouts import flush
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.gui.dialogs.workers import ClusterDialog
    from slide_gui.gui.shell.table_window import TableWindow


class Action(QAction):
    """A command of a window."""

    def __init__(self, command: Command, shell: Shell, parent: QWidget) -> None:
        super().__init__(command.text, parent)
        self.command, self._shell = command, shell
        self.setObjectName(command.name)
        self.setShortcut(QKeySequence(command.shortcut))
        self.setCheckable(command.checked is not None)
        self._keys = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self._describe(command.tip or command.text.rstrip(" …"))
        self.triggered.connect(self._run)
        parent.addAction(self)  # makes the shortcut work everywhere in the window

    @Slot()
    def _run(self) -> None:
        self.command.run(self._shell)
        self.follow()

    def _describe(self, text: str) -> None:
        self.setToolTip(f"{text} ({self._keys})")

    def follow(self) -> None:
        """Update the state, the text and the reason for being unavailable."""
        if self.command.checked is not None:
            self.setChecked(self.command.checked(self._shell))
        if self.command.says is not None:
            self.setText(self.command.says(self._shell))
        if self.command.why_not is not None:
            reason = self.command.why_not(self._shell)
            self.setEnabled(not reason)
            self._describe(reason or (self.text() if self.command.says else self.command.tip) or self.text())


class ShortcutList(QDialog):
    """A list of all commands and their shortcuts by menu."""

    def __init__(self, actions: Iterable[Action], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.resize(520, 560)
        self.list = QTreeWidget(self)
        self.list.setAccessibleName("Commands and their shortcuts")
        self.list.setHeaderLabels(["Command", "Shortcut"])
        menus: dict[str, QTreeWidgetItem] = {}
        for action in actions:
            command = action.command
            if command.menu not in menus:
                menus[command.menu] = QTreeWidgetItem(self.list, [MENUS[command.menu]])
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            QTreeWidgetItem(menus[command.menu], [command.text.rstrip(" …"), keys]).setToolTip(0, command.tip)
        self.list.expandAll()
        self.list.setSelectionMode(QTreeWidget.SelectionMode.NoSelection)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        flush(QVBoxLayout(self), 8, (12, 12, 12, 12)).addWidget(self.list)


class Commands(QObject):
    """The actions of a window by name, and the dialogs that list them."""

    def __init__(self, shell: Shell, window: QWidget) -> None:
        super().__init__(window)
        self._shell, self._window = shell, window
        self.actions = {command.name: Action(command, shell, window) for command in COMMANDS}
        self._palette: CommandPalette | None = None
        self._lists_runs = False
        self._guide: Guide | None = None
        self._cluster: ClusterDialog | None = None
        self._shortcuts: ShortcutList | None = None
        self._about: QMessageBox | None = None
        self._table: TableWindow | None = None

    @Slot()
    def follow(self) -> None:
        """Update every action."""
        for action in self.actions.values():
            action.follow()

    def show_palette(self) -> None:
        """Open the palette of commands, data sets, recent files and runs."""
        if self._palette is None:
            self._palette = CommandPalette(list(self.actions.values()), self._window)
        if not self._lists_runs:
            # The runs are imported in the job queue, because that is slow and must not delay typing.
            queue = self._shell.session.queue
            queue.submit("Reading the runs", _import_library, channel="palette", on_result=self._list_runs)
        self._palette.ask(self._further)

    @Slot(object)
    def _list_runs(self, _imported: object) -> None:
        if self._palette is not None and not self._lists_runs:
            self._lists_runs = True
            self._shell.session.library.changed.connect(self._palette.refresh)
            self._palette.refresh()

    def _further(self) -> Iterator[PaletteEntry]:
        """Return entries for data sets, recent files and runs."""
        shell = self._shell
        for page in PAGES:
            for number, view in enumerate(page.views):
                show = partial(shell.pages.show_view, page.name, number)
                yield PaletteEntry(f"{page.title}: {view.text}", "view", show, tip=view.tip)
        for each in entries():
            yield PaletteEntry(f"Open {each.title}", "data set", partial(shell.open_entry, each.key))
        for opening in shell.recent.openings:
            open_again = partial(shell.open_files, list(opening.paths))
            yield PaletteEntry(f"Open {opening.name}", str(opening.folder), open_again, opening.why_not)
        if shell.session.lists_runs:
            for run in reversed(shell.session.library.runs):
                tags = f", {', '.join(run.tags)}" if run.tags else ""
                text = f"Run: {run.data}, {run.method}, noise {run.noise:g}, depth {run.depth}{tags}"
                yield PaletteEntry(text, f"error {100 * run.error:.2f} %", partial(self._open_run, run.hash))

    def _open_run(self, key: str) -> None:
        self._shell.pages.turn_to("classifier")
        self._shell.session.runs.open_run(key)

    def show_cluster(self) -> None:
        """Open the dialog that selects where runs are computed and lists the workers."""
        if self._cluster is None:
            from slide_gui.gui.dialogs.workers import ClusterDialog

            self._cluster = ClusterDialog(self._shell.session.cluster, self._window)
        self._cluster.ask()

    def show_table(self) -> None:
        """Show the numbers of the view as a table in a window that may stay open."""
        if self._table is None:
            from slide_gui.gui.shell.table_window import TableWindow

            self._table = TableWindow(self._shell.pages, self._window)
        self._table.show()
        self._table.activateWindow()

    def show_guide(self, page: str = "") -> None:
        """Show the guide, at a page or where it was, in a window that may stay open."""
        if self._guide is None:
            self._guide = Guide(self._window)
            self._guide.command_requested.connect(self._run)
            self._guide.data_requested.connect(self._open_data)
        if page:
            self._guide.turn_to(page)
        self._guide.show()
        self._guide.activateWindow()

    @Slot(str)
    def _run(self, name: str) -> None:
        action = self.actions[name]
        if action.isEnabled():
            action.trigger()
        elif action.command.why_not is not None:
            self._shell.workspace.problem.emit(
                UserMessage(action.command.text, action.command.why_not(self._shell) + ".")
            )

    @Slot(str)
    def _open_data(self, key: str) -> None:
        self._shell.open_entry(key)

    def show_shortcuts(self) -> None:
        """List all commands and their shortcuts by menu."""
        if self._shortcuts is None:
            self._shortcuts = ShortcutList(self.actions.values(), self._window)
        self._shortcuts.open()

    def show_about(self) -> None:
        """Show the name, the version and the licence of the program."""
        if self._about is None:
            self._about = QMessageBox(self._window)
            self._about.setTextFormat(Qt.TextFormat.PlainText)
            self._about.setWindowTitle("About slide-gui")
            self._about.setText(f"slide-gui {__version__}")
            self._about.setInformativeText(
                "Stacked linear denoisers, after Z. Xu, K. Weinberger and F. Sha, “Rapid Feature "
                "Learning with Stacked Linear Denoisers”.\n\nMIT licence. Help, Licences lists the licences of "
                "components (Qt: LGPL 3). The network is used only for downloads and schedulers that you "
                "request."
            )
        self._about.open()


def _import_library(_progress: Progress) -> object:
    from slide_gui.gui.state import library

    return library
