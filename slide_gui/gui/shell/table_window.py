"""A window with the numbers of the current view as a table, for screen readers, keyboard navigation and copying."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPersistentModelIndex, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.shell.page_stack import PageStack
from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import ElidedLabel, add_button, name_box
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.text import count, counted, plain, spreadsheet_text

_REFRESH_MILLISECONDS = 100
_COLUMN, _WIDEST = 104, 320  # pixels
_MEASURED_COLUMNS, _MEASURED_ROWS = 24, 40  # for the widths of columns; more takes too long
_MOST_COPIED = 2_000_000  # cells; more block the clipboard for seconds
_NOTHING = NumberTable("", (), (), (), ())
Index = QModelIndex | QPersistentModelIndex


class _Model(QAbstractTableModel):
    """A model that formats only visible cells."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.table = _NOTHING

    def show(self, table: NumberTable) -> bool:
        """Show another table; return False and keep the selection if only numbers changed."""
        same = (list(self.table.names), self.table.heads) == (list(table.names), table.heads)
        last = self.index(len(table.names) - 1, len(table.heads) - 1)
        if same and last.isValid():
            self.table = table
            self.dataChanged.emit(self.index(0, 0), last)
        else:
            self.beginResetModel()
            self.table = table
            self.endResetModel()
        return not same

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.table.names)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.table.heads)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.table.shown(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.table.exact(index.row(), index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            text = isinstance(self.table.cells[index.row()][index.column()], str)
            side = Qt.AlignmentFlag.AlignLeft if text else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | None:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        across = orientation == Qt.Orientation.Horizontal
        return self.table.heads[section] if across else self.table.row_name(section)


class TableWindow(QDialog):
    """The tables of the current view in a window that stays open during work and follows changes."""

    def __init__(self, pages: PageStack, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Numbers as a table")
        self.resize(760, 560)
        self._pages = pages
        self._tables: tuple[NumberTable, ...] = ()
        self.choice = QComboBox(self)
        name_box(self.choice, "Table")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.activated.connect(self._choose)
        self._model = _Model(self)
        self.view = QTableView(self)
        self.view.setModel(self._model)
        self.view.setTabKeyNavigation(False)
        self.view.setFont(figure_font(self))
        self.view.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.view.horizontalHeader().setDefaultSectionSize(_COLUMN)
        self.view.horizontalHeader().setResizeContentsPrecision(_MEASURED_ROWS)
        self.view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.view.verticalHeader().setDefaultSectionSize(26)
        copy = QAction("Copy", self.view)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy)
        self.view.addAction(copy)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._status = ElidedLabel("", self)
        column = flush(QVBoxLayout(self), 8, (12, 12, 12, 12))
        column.addWidget(self.choice)
        column.addWidget(self.view, 1)
        row = nested(column, QHBoxLayout())
        row.addWidget(self._status, 1)
        button = add_button(
            self, row, "Copy", "Copy the selection or everything with all digits, tab-separated (Ctrl+C)"
        )
        button.setAutoDefault(False)
        button.clicked.connect(self.copy)
        self._refresh_timer = QTimer(self, singleShot=True, interval=_REFRESH_MILLISECONDS)
        self._refresh_timer.timeout.connect(self.refresh)
        pages.numbers_changed.connect(self._follow)
        pages.changed.connect(self._show_first_table)

    def showEvent(self, event: QShowEvent) -> None:
        """Show the tables of the current view."""
        super().showEvent(event)
        self.refresh()
        self.view.setFocus()

    def changeEvent(self, event: QEvent) -> None:
        """Update the tables when the window becomes active, because some changes emit no signal."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._follow()

    @Slot()
    def _follow(self) -> None:
        if self.isVisible() and not self._refresh_timer.isActive():
            self._refresh_timer.start()

    @Slot()
    def _show_first_table(self) -> None:
        self.choice.setCurrentIndex(0)
        self._follow()

    @Slot()
    def refresh(self) -> None:
        """Show the current numbers."""
        page = self._pages.shown()
        self._tables = page.tables()
        titles, chosen = [each.title for each in self._tables], max(self.choice.currentIndex(), 0)
        if titles != [self.choice.itemText(i) for i in range(self.choice.count())]:
            self.choice.clear()
            self.choice.addItems(titles)
            self.choice.setCurrentIndex(min(chosen, len(titles) - 1))
        self.choice.setEnabled(len(titles) > 1)
        self._choose(self.choice.currentIndex())

    @Slot(int)
    def _choose(self, number: int) -> None:
        table = self._tables[number] if 0 <= number < len(self._tables) else _NOTHING
        if self._model.show(table) and len(table.heads) <= _MEASURED_COLUMNS:
            self.view.resizeColumnsToContents()
            for column in range(len(table.heads)):
                self.view.setColumnWidth(column, min(max(self.view.columnWidth(column), _COLUMN), _WIDEST))
        self.view.setAccessibleName(table.title or "Numbers")
        text = f"{counted(len(table.names), 'row')}, {counted(len(table.heads), 'column')}"
        self._status.setText(text if self._tables else self._pages.shown().why_nothing_to_export())
        self.view.setAccessibleDescription(self._status.text())

    @Slot()
    def copy(self) -> None:
        """Copy the selected cells, or all, with the names of rows and columns."""
        table, chosen = self._model.table, self.view.selectionModel().selectedIndexes()
        rows, columns = (sorted({place(index) for index in chosen}) for place in (QModelIndex.row, QModelIndex.column))
        many = len(rows) * len(columns) or len(table.names) * len(table.heads)
        if many > _MOST_COPIED:
            self._status.setText(f"{count(many)} cells are too many to copy at once. Select rows first.")
        elif self._tables:
            QApplication.clipboard().setText(spreadsheet_text(plain(table.text(rows or None, columns or None))))
            self._status.setText(f"{counted(many, 'cell')} copied")
