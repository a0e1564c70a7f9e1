"""The table of runs, which the user can filter, sort, select, tag and copy. For other actions, it emits signals."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, cast

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QCursor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from slide_gui.experiments.store.stored_run import SHOWN, StoredRun
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.controls import UndoOfWindow, add_button, keys_text, label, named, with_keys, wrapped
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.painted import ARROWS, MIDDLE, RIGHT, paint_placeholder
from slide_gui.text import count, counted, level, plain, spreadsheet_text

Index = QModelIndex | QPersistentModelIndex
NONE = QModelIndex()
# `_LAYOUT` selects the overload of layoutAboutToBeChanged and layoutChanged that has a layout hint. With the hint
# VerticalSortHint, Qt tracks one index per selected row instead of one per cell (0.07 s instead of 1.7 s).
_LAYOUT = "QList<QPersistentModelIndex>", "QAbstractItemModel::LayoutChangeHint"


# The index of the column that shows tags. The user can edit only this column.
TAG = len(SHOWN) - 1
# If a column of right-aligned numbers is followed by a column of text, an em space before the text separates them.
_LEADS = ("", *("\u2003" if a.is_number and not b.is_number else "" for a, b in pairwise(SHOWN)))


class RunModel(QAbstractTableModel):
    """The Qt model of the table: the runs that match the filter, sorted by one column. Only tags can be edited.

    Attributes
    ----------
    runs : tuple of StoredRun
        All runs, including those hidden by the filter.
    rows : list of StoredRun
        The runs that match the filter, in sorted order.

    Signals
    -------
    tag_edited(str, str)
        The user changed the tag of a run; the arguments are the key of the run and the new tag.
    """

    tag_edited = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: tuple[StoredRun, ...] = ()
        self.rows: list[StoredRun] = []
        self._words: list[tuple[str, bool]] = []
        self._order: tuple[int, bool] = (0, True)

    # Content

    def set_rows(self, rows: Sequence[StoredRun]) -> None:
        """Replace all runs, then filter and sort them."""
        self.runs = tuple(rows)
        self._arrange()

    def set_filter(self, text: str) -> None:
        """Show only the runs that match every word of `text`, regardless of upper and lower case.

        A word with a minus sign in front matches the runs that do not contain this word. A number after "noise",
        "depth" or "seed" matches only runs with exactly this value.
        """
        words = _words_of(text)
        if words != self._words:
            self._words = words
            self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort the rows by a column. Rows without a value come last in both sort orders."""
        self._order = (max(column, 0), order == Qt.SortOrder.DescendingOrder)
        self._arrange()

    def _arrange(self) -> None:
        """Filter and sort the rows. The selection, the cursor and an open editor remain on the same runs."""
        self.layoutAboutToBeChanged[_LAYOUT].emit([], QAbstractTableModel.LayoutChangeHint.VerticalSortHint)  # type: ignore[index]
        followed = self.persistentIndexList()
        keys = [self.rows[index.row()].hash for index in followed]
        column, falling = self._order
        value = SHOWN[column].value
        matching: Sequence[StoredRun] = self.runs
        for word, is_wanted in self._words:
            matching = [run for run in matching if (word in run.words) == is_wanted]
        missing = [run for run in matching if _is_missing(value(run))]
        known = [run for run in matching if not _is_missing(value(run))] if missing else matching
        self.rows = sorted(known, key=value, reverse=falling) + missing
        lines = {run.hash: line for line, run in enumerate(self.rows)} if keys else {}
        moved = [self.index(lines.get(key, -1), i.column()) for key, i in zip(keys, followed, strict=True)]
        self.changePersistentIndexList(followed, moved)
        self.layoutChanged[_LAYOUT].emit([], QAbstractTableModel.LayoutChangeHint.VerticalSortHint)  # type: ignore[index]

    # Methods that override methods of QAbstractTableModel

    def rowCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NONE) -> int:
        return 0 if parent.isValid() else len(SHOWN)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, row = SHOWN[index.column()], self.rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return column.text(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column.is_number else MIDDLE
        if role == Qt.ItemDataRole.ToolTipRole:
            text = column.text(row)  # The tooltip contains the full text, because the cell may cut it off.
            if index.column() == TAG:
                return f"{text}\n{column.tip}".lstrip()
            return "\n".join([f"{column.title}: {text}", row.tip, "Press Enter or double-click to load the run"])
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(SHOWN):
            return None
        column = SHOWN[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return _LEADS[section] + column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return wrapped(f"{column.tip}. Click to sort.")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column.is_number else MIDDLE
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_editable = index.column() == TAG and not self.rows[index.row()].is_shipped
        return flags | Qt.ItemFlag.ItemIsEditable if is_editable else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or index.column() != TAG:
            return False
        old, tag = self.rows[index.row()], str(value).strip()
        if tag != SHOWN[TAG].text(old):
            new = self.rows[index.row()] = old.with_tags(tag)
            self.runs = tuple(new if run is old else run for run in self.runs)
            self.dataChanged.emit(index, index)
            self.tag_edited.emit(old.hash, tag)
        return True


def _words_of(text: str) -> list[tuple[str, bool]]:
    """Return the words of a filter in the format of `StoredRun.words`, such as "noise=0.30;".

    Each word is paired with True if a run must contain it, or with False if a run must not contain it.
    """

    def exact(match: re.Match[str]) -> str:
        sign, name, value = match[1], match[2], float(match[3])
        return f" {sign}{name}={level(value)}; " if name == "noise" else f" {sign}{name}={value:.0f}; "

    named = r"((?<!\S)-|\b)(noise|depth|seed)[ =:]+(\d+\.?\d*|\.\d+)(?![\d.])"
    words = re.sub(named, exact, text.lower()).split()
    return [(word[1:], False) if word[0] == "-" and len(word) > 1 else (word, True) for word in words]


def _is_missing(value: Any) -> bool:
    return value is None or value != value


ROW = 28
PADDING = 3  # Padding of a cell in pixels. The style sheet sets the same padding for the column titles.
TEXT = SECONDARY + 1
_SAMPLE = 500  # Approximate number of rows that are measured to determine the widths of the columns.
_WIDEST, _NARROWEST_TAG = 320, 80
# Smallest widths in pixels of column 1 (data sets) and column 2 (methods).
_LEAST_WIDTHS = {1: 104, 2: 80}
_WIDTH_STEP = 10  # Number of pixels by which each key press changes the width of a column.


class RunDelegate(QStyledItemDelegate):
    """The delegate that draws the cells of the table of runs.

    Selected rows have a tinted background. A bar in the accent colour marks the left end of the current row.
    """

    def __init__(self, view: "RunView", model: RunModel) -> None:
        super().__init__(view)
        self._view, self._model = view, model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view, (theme, font, metrics), box = self._view, self._view.painted_style, QRectF(option.rect)
        # This method reads the run directly, because the model's method `data` is slower.
        line, number, run = index.row(), index.column(), self._model.rows[index.row()]
        column, lead = SHOWN[number], _LEADS[number]
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected or line == view.hovered:
            painter.fillRect(box, QColor(theme.accent_wash if selected else theme.hover))
        has_cursor = view.hasFocus() and line == view.currentIndex().row()
        if has_cursor and view.columnViewportPosition(number) <= 0:
            painter.fillRect(QRectF(0, box.top(), 3, box.height()), QColor(theme.accent))
        if has_cursor and number == view.currentIndex().column():
            painter.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), QColor(theme.accent))
        painter.setFont(font)
        painter.setPen(QColor(theme.accent_text if selected else theme.muted if run.note else theme.text))
        inner, text = box.adjusted(PADDING, 0, -PADDING, 0), lead + column.text(run)
        if metrics.horizontalAdvance(text) > inner.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, RIGHT if column.is_number else MIDDLE, text)


class RunView(QTableView):
    """A table view that shows a message while it has no rows."""

    resized = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, showGrid=False, wordWrap=False)
        self._empty = ""
        # Theme, font and font metrics, which are updated at the start of each repaint.
        self.painted_style: tuple[Theme, QFont, QFontMetricsF]
        self.hovered = -1
        self.setMouseTracking(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Sort by the current column with Alt+Up or Alt+Down, or move this column with Alt+Left or Alt+Right.

        Shift+Alt+Left and Shift+Alt+Right change the width of the column.
        """
        key, held, head = Qt.Key(event.key()), event.modifiers(), self.horizontalHeader()
        column = max(self.currentIndex().column(), 0)
        if key not in ARROWS or not held & Qt.KeyboardModifier.AltModifier:
            super().keyPressEvent(event)
            return
        down, right = ARROWS[key]
        if down:
            self.sortByColumn(column, Qt.SortOrder.DescendingOrder if down > 0 else Qt.SortOrder.AscendingOrder)
        elif held & Qt.KeyboardModifier.ShiftModifier:
            head.resizeSection(column, max(head.sectionSize(column) + right * _WIDTH_STEP, head.minimumSectionSize()))
        else:
            at = head.visualIndex(column)
            head.moveSection(at, min(max(at + right, 0), head.count() - 1))

    def set_empty_text(self, text: str) -> None:
        """Set the message of the empty table. It must be "" if the table has rows."""
        if text != self._empty:
            self._empty = text
            self.setAccessibleDescription(text)
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        font = figure_font(self, TEXT)
        self.painted_style = theme_of(self), font, QFontMetricsF(font)
        place = self.viewport().mapFromGlobal(QCursor.pos())
        self.hovered = self.indexAt(place).row() if self.viewport().underMouse() else -1
        super().paintEvent(event)
        if self._empty:
            with QPainter(self.viewport()) as painter:
                paint_placeholder(painter, self.viewport(), self._empty)


class RunTable(QWidget):
    """A table of runs with a filter above it.

    Enter or a double-click opens a run, Ctrl+D compares two runs, Delete deletes the selected runs, and F2 edits the
    tag. Ctrl+C copies the selected rows as tab-separated text. Ctrl+F moves the focus to the filter, and Escape clears
    the filter. Alt+Up and Alt+Down sort by the current column. Alt+Left and Alt+Right move this column. If Shift is
    also pressed, they change the width of the column.

    Attributes
    ----------
    view : RunView
        The table itself, without the filter.

    Signals
    -------
    open_requested(str)
        The user wants to load the run with this key.
    compare_requested(object)
        The user wants to compare these two runs; the argument is a tuple of keys in the order of the table.
    delete_requested(object)
        The user wants to delete these runs; the argument is a tuple of keys.
    tag_edited(str, str)
        The user changed the tag of a run; the arguments are the key of the run and the new tag.
    filtered()
        The text of the filter changed.
    """

    open_requested = Signal(str)
    compare_requested = Signal(object)
    delete_requested = Signal(object)
    tag_edited = Signal(str, str)
    filtered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._placeholder = "There are no runs yet."
        self._needed: dict[int, int] = {}  # Width in pixels that the contents of each column need.
        self._dragged: dict[int, int] = {}  # Widths of the columns that the user has resized.
        self._filling = False
        self._selected: tuple[str, ...] = ()
        self._model = RunModel(self)
        self._filter = QLineEdit(self, placeholderText="Filter: rectangles depth 2", clearButtonEnabled=True)
        self.view = named(RunView(self), "Runs")
        UndoOfWindow(self._filter, always=True)
        tip = (
            "Show runs that contain every word; “depth 2”, “noise 0.3” and “seed 1” match exactly, “-shipped” hides "
            f"shipped runs ({keys_text('Ctrl+F')}; Esc clears the filter)"
        )
        named(self._filter, "Filter runs", tip)
        self._filter.setMaximumWidth(240)
        self._actions = self._make_actions()
        self._arrange()
        self._prepare_view()
        self._filter.textChanged.connect(self._filter_changed)
        self._model.tag_edited.connect(self.tag_edited)
        self._show_counts()

    # Contents

    def set_rows(self, rows: Sequence[StoredRun]) -> None:
        """Replace the runs without changing the selection or the scroll position.

        If the run at the cursor was deleted, the cursor moves to the next run.
        """
        line, keep = self.view.currentIndex().row(), QItemSelectionModel.SelectionFlag.NoUpdate
        self._model.set_rows(rows)
        if not self.view.currentIndex().isValid():
            self.view.selectionModel().setCurrentIndex(self._model.index(min(line, len(rows) - 1), 0), keep)
        self._fit_columns(rows)
        self._show_counts()

    def set_placeholder(self, text: str) -> None:
        """Set the message that is shown if there are no runs."""
        self._placeholder = text
        self._show_counts()

    @property
    def filter(self) -> str:
        """Return the text of the filter."""
        return self._filter.text()

    def set_filter(self, text: str) -> None:
        """Set the text of the filter."""
        self._filter.setText(text)

    def selected(self) -> tuple[str, ...]:
        """Return the keys of the selected runs in the order of the table."""
        return tuple(run.hash for run in self._selected_runs())

    def _selected_runs(self) -> list[StoredRun]:
        ranges = list(cast("Iterable[QItemSelectionRange]", self.view.selectionModel().selection()))
        lines = sorted({line for r in ranges for line in range(r.top(), r.bottom() + 1)})
        return [self._model.rows[line] for line in lines]

    def shown(self) -> tuple[str, ...]:
        """Return the keys of the selected runs, or of all visible runs if none is selected, in table order."""
        return self.selected() or tuple(run.hash for run in self._model.rows)

    def select(self, keys: Sequence[str]) -> None:
        """Select the runs with the given keys and move the cursor to the first one."""
        self._selected = tuple(keys)
        self._restore_selection()
        rows = self.view.selectionModel().selectedRows()
        if rows:
            self.view.selectionModel().setCurrentIndex(min(rows), QItemSelectionModel.SelectionFlag.NoUpdate)

    @Slot()
    def _restore_selection(self) -> None:
        """Select the same runs as before the rows changed.

        Without this method, Qt would extend the selection to new rows if all rows had been selected before.
        """
        keys, selection = set(self._selected), QItemSelection()
        lines = [line for line, run in enumerate(self._model.rows) if run.hash in keys]
        # Adjacent rows form one range. Qt compares all pairs of ranges, so one range per row would be slow.
        for _, group in groupby(enumerate(lines), key=lambda pair: pair[1] - pair[0]):
            stretch = [line for _, line in group]
            selection.select(self._model.index(stretch[0], 0), self._model.index(stretch[-1], TAG))
        self.view.selectionModel().select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def text(self) -> str:
        """Return the selected rows, or all visible rows if none is selected, as tab-separated text with a header."""
        keys = set(self.shown())
        lines = [[column.title for column in SHOWN]]
        lines += [[column.text(run) for column in SHOWN] for run in self._model.rows if run.hash in keys]
        return plain("\n".join("\t".join(line) for line in lines))

    # Construction

    def _make_actions(self) -> dict[str, QAction]:
        actions = {}
        for name, text, keys, tip, slot in (
            ("open", "Open", "Return", "Load the parameters and the result of this run", self._open),
            ("compare", "Compare", "Ctrl+D", "Compare the two selected runs", self._compare),
            ("delete", "Delete", "Delete", "Delete selected runs except shipped ones; you can undo this", self._delete),
            ("tag", "Edit tag", "F2", "Add or change the tag of the selected run", self._edit_tag),
            ("copy", "Copy", "Ctrl+C", "Copy the selected rows as tab-separated text", self._copy),
        ):
            action = QAction(text, self.view, shortcut=QKeySequence(keys), toolTip=with_keys(tip, keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(slot)
            self.view.addAction(action)
            actions[name] = action
        find = QAction("Filter", self, shortcut=QKeySequence("Ctrl+F"))
        find.triggered.connect(self._filter.setFocus)
        self.addAction(find)
        return actions

    def _arrange(self) -> None:
        layout = flush(QVBoxLayout(self))
        bar = nested(layout, QHBoxLayout(), spacing=8)
        bar.addWidget(self._filter, 1)
        self._count = placed(bar, label("", self))
        bar.addStretch()
        for name in ("open", "compare", "delete"):
            action = self._actions[name]
            button = add_button(self, bar, action.text(), action.toolTip(), clicked=action.trigger)
            # With the focus policy TabFocus, a click on the button leaves the keyboard focus in the table.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            action.enabledChanged.connect(button.setEnabled)
        layout.addWidget(self.view)

    def _prepare_view(self) -> None:
        view, head = self.view, self.view.horizontalHeader()
        view.setModel(self._model)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setTabKeyNavigation(False)
        view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(ROW)
        # The header has its own, empty selection model. With the table's selection model, painting the header would be
        # slow, because the header would check whether each cell is selected.
        head.setSelectionModel(QItemSelectionModel(self._model, head))
        view.setItemDelegate(RunDelegate(view, self._model))
        self._fit_columns(())
        head.sectionResized.connect(self._resized)
        view.resized.connect(self._fill)
        head.setHighlightSections(False)
        head.setSectionsMovable(True)
        view.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        view.setSortingEnabled(True)
        head.sortIndicatorChanged.connect(self._show_counts)
        view.doubleClicked.connect(self._double_clicked)
        view.selectionModel().selectionChanged.connect(self._show_counts)
        self._model.layoutChanged.connect(self._restore_selection)

    # Widths

    def _fit_columns(self, rows: Sequence[StoredRun]) -> None:
        """Fit the width of each column to the text `column.widest`, or to the column's contents if this text is empty.

        Columns that the user has resized keep their widths. If there are many rows, only a sample of the rows is
        measured. Contents that do not fit are shown in tooltips.
        """
        metrics = QFontMetricsF(figure_font(self, TEXT))
        sample = rows[:: max(1, len(rows) // _SAMPLE)]
        for number, column in enumerate(SHOWN):
            texts = {column.widest} if column.widest else {column.text(row) for row in sample}
            lead = metrics.horizontalAdvance(_LEADS[number])
            wide = lead + max(map(metrics.horizontalAdvance, (column.title, *texts)))
            self._needed[number] = math.ceil(min(wide, _WIDEST)) + 1 + 2 * PADDING
        self._needed[TAG] = max(self._needed[TAG], _NARROWEST_TAG)
        self._fill()

    @Slot()
    def _fill(self) -> None:
        """Set the widths of all columns.

        If there is too little space, the columns that show data sets and methods become narrower. If there is space
        left, the column that shows tags becomes wider.
        """
        widths = self._needed | self._dragged
        lack = sum(widths.values()) - self.view.viewport().width()
        for number, least in _LEAST_WIDTHS.items():
            cut = 0 if number in self._dragged else min(max(lack, 0), max(widths[number] - least, 0))
            widths[number], lack = widths[number] - cut, lack - cut
        rest = self.view.viewport().width() - sum(widths.values()) + widths[TAG]
        widths[TAG] = max(widths[TAG], rest)
        self._filling = True
        for number, width in widths.items():
            self.view.setColumnWidth(number, width)
        self._filling = False

    @Slot(int, int, int)
    def _resized(self, number: int, _before: int, width: int) -> None:
        if not self._filling:
            self._dragged[number] = width
            self._fill()

    @Slot()
    def _show_counts(self) -> None:
        """Update the number of visible and selected runs, the buttons, and the message of the empty table."""
        runs = self._selected_runs()
        self._selected = tuple(run.hash for run in runs)
        chosen, shown, total = len(self._selected), len(self._model.rows), len(self._model.runs)
        text = counted(total, "run") if total else ""  # If there are no runs, the placeholder explains why.
        text = f"{count(shown)} of {text}" if shown != total else text
        self._count.setText(f"{text} · {count(chosen)} selected" if chosen else text)
        n_stored = sum(not run.is_shipped for run in runs)
        possible = {
            "open": chosen == 1,
            "compare": chosen == 2,
            "delete": n_stored > 0,
            "tag": chosen == n_stored == 1,
        }
        for name, enabled in (possible | {"copy": shown > 0}).items():
            self._actions[name].setEnabled(enabled)
        empty = "" if shown else self._placeholder
        if total and not shown:
            empty = f"No run matches “{self._filter.text().strip()}”. Clear the filter with Esc."
        self.view.set_empty_text(empty)

    @Slot(str)
    def _filter_changed(self, text: str) -> None:
        self._model.set_filter(text)
        self._show_counts()
        self.filtered.emit()

    # Requests

    @Slot()
    def _open(self) -> None:
        self.open_requested.emit(self.selected()[0])

    @Slot()
    def _compare(self) -> None:
        self.compare_requested.emit(self.selected())

    @Slot()
    def _delete(self) -> None:
        self.delete_requested.emit(self.selected())

    @Slot()
    def _edit_tag(self) -> None:
        index = self.view.selectionModel().selectedRows(TAG)[0]
        self.view.scrollTo(index)
        self.view.edit(index)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(spreadsheet_text(self.text()))

    @Slot(QModelIndex)
    def _double_clicked(self, index: QModelIndex) -> None:
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            self.view.edit(index)
        else:
            self.open_requested.emit(self._model.rows[index.row()].hash)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._filter.hasFocus() and event.key() == Qt.Key.Key_Escape:
            self._filter.clear()
        elif self._filter.hasFocus() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.view.setFocus()
            if not self.selected() and self._model.rowCount():
                self.view.selectRow(0)
        else:
            super().keyPressEvent(event)
