"""Dialogs for opening files and folders and for downloading data, and the bar that shows how the files were read."""

import math
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, QSettings, Qt, Signal, Slot
from PySide6.QtGui import QIcon, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from slide_gui.data.dataset import Dataset
from slide_gui.data.files import unused
from slide_gui.data.readers.parts import SMALLEST_SQUARE, by_columns
from slide_gui.data.reading import NO_COLUMN, QUANTILES, ParseOptions, ParseReport, requested_column
from slide_gui.data.scaling import span, unscaled
from slide_gui.experiments.files.session import SUFFIX
from slide_gui.experiments.files.source import DataSource
from slide_gui.gui.state.workspace import Workspace
from slide_gui.gui.theme import DARK
from slide_gui.gui.widgets.controls import ElidedBox, ElidedLabel, PlainLabel, add_button, literal, named, wrapped
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.painted import INK, image_of
from slide_gui.text import count, label_names, printable, told_apart

_FILTER = (
    "Data and sessions (*.amat *.zip *.gz *.idx* *-ubyte *.npz *.npy *.csv *.tsv *.mat *.slide-session);;"
    "Exported pictures (*.png *.svg *.pdf *.gif *.apng *.mp4);;All files (*)"
)


class Opening(QObject):
    """A window's dialogs for opening and downloading data, and for choosing the file of a session.

    Signals
    -------
    files_chosen(object)
        Paths to open together: files of one data set, a folder, or one file that contains a session.
    """

    files_chosen = Signal(object)

    def __init__(self, workspace: Workspace, settings: QSettings, window: QWidget) -> None:
        super().__init__(window)
        self._workspace, self._settings, self._window = workspace, settings, window
        self._wanted = ""

    def ask_for_files(self) -> None:
        """Ask for files to open together as one data set."""
        names, _ = QFileDialog.getOpenFileNames(self._window, "Open data", self._folder(), _FILTER)
        if names:
            self._settings.setValue("folder/open", str(Path(names[0]).parent))
            self.files_chosen.emit([Path(name) for name in names])

    def ask_for_folder(self) -> None:
        """Ask for a folder to open."""
        title = "Open a folder with images sorted by class, or an exported bundle"
        name = QFileDialog.getExistingDirectory(self._window, title, self._folder())
        if name:
            self.files_chosen.emit([Path(name)])

    def ask_where_to_save(self) -> Path | None:
        """Ask for the path of a new session file. Return the path, or None if the user cancels."""
        place, kinds = unused(Path(self._folder()) / f"session{SUFFIX}"), f"Sessions (*{SUFFIX})"
        name, _ = QFileDialog.getSaveFileName(self._window, "Save session", str(place), kinds)
        return Path(name) if name else None

    def ask_where_data_are(self) -> Path | None:
        """Ask for the folder to which the data files of a session were moved. Return None if the user cancels."""
        name = QFileDialog.getExistingDirectory(self._window, "Folder with the data files", self._folder())
        return Path(name) if name else None

    def folders(self) -> list[Path]:
        """Return the folders to search for a session's data files: the last opened folder and the download folders."""
        from slide_gui.data.catalogue import data_folders

        return [Path(self._folder()), *data_folders()]

    @Slot(object)
    def ask_to_download(self, key: str) -> None:
        """Show the source, target folder and licence of a data set, and download it if the user agrees."""
        from slide_gui.data.catalogue import data_folders
        from slide_gui.data.entries import entry

        wanted = entry(key)
        self._box.setText(f"Download the files of {wanted.title}?")
        self._box.setInformativeText(
            f"Source: {wanted.mirrors[0]}\nFolder: {data_folders()[0] / key}\nLicence: {wanted.licence}\n"
            "The program verifies each file by its hash."
        )
        self._wanted = key
        self._box.open()

    @cached_property
    def _box(self) -> QMessageBox:
        box = QMessageBox(self._window, textFormat=Qt.TextFormat.PlainText)
        box.setWindowTitle("Download")
        yes = box.addButton("Download", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel).setIcon(QIcon())
        box.setDefaultButton(yes)
        box.accepted.connect(self._download)
        return box

    @Slot()
    def _download(self) -> None:
        self._workspace.open(DataSource(key=self._wanted), download=True)

    def _folder(self) -> str:
        return str(self._settings.value("folder/open", str(Path.home())))


# Maximum number of characters shown of a class or column name, and maximum number of columns in the menu.
_LONGEST, _MOST_IN_MENU = 12, 100
_LOWEST_WINDOW = 700  # Minimum height, in pixels, of a window in which the first rows are previewed.
_SHOWN_ROWS, _SHOWN_COLUMNS, _SHOWN_IMAGES, _SIDE = 3, 6, 8, 48


class _WrappedLabel(PlainLabel):
    """A label that wraps its text and always shows all of it. A QLabel cuts its text off if space is short."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text, parent, wordWrap=True)
        self.setProperty("role", "secondary")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Reset the minimum, because `heightForWidth` never returns less than the minimum height.
        self.setMinimumHeight(0)
        # If the text is empty, `heightForWidth` returns −1, which is not a valid height.
        self.setMinimumHeight(max(0, self.heightForWidth(self.width())))


class ReadingPreview(QFrame):
    """A bar that shows how the open files were read, with controls for reading them differently.

    The bar is shown above the page. It does not block the page, because the data are already open. It appears
    automatically if a guessed setting may be wrong.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setProperty("role", "panel")
        self.setAccessibleName("How the files were read")
        column = flush(QVBoxLayout(self), 6, (20, 10, 20, 10))
        top = nested(column, QHBoxLayout(), spacing=8)
        self._title = placed(top, ElidedLabel("", self, "heading"), 1)
        self.choose_button = add_button(self, top, "Choose label column", clicked=self._choose)
        tip = "Replace the numeric labels with three classes, each with about a third of the training rows"
        self.cut_button = add_button(self, top, "Cut into three ranges", tip, clicked=self._cut)
        tip = "Reopen the images with the labels from the file in the same folder"
        self.labels_button = add_button(self, top, "Use these labels", tip, clicked=self._use_labels)
        tip = "Omit columns that are neither features nor classes, such as IDs"
        self.left_out = add_button(self, top, "", tip, clicked=self._show_columns)
        self._columns = QMenu(self)
        self._columns.triggered.connect(self._count_left_out)
        tip = "Use these settings now and whenever the file is opened again"
        self.open_button = add_button(self, top, "Open like this", tip, "primary", clicked=self._open)
        self._table = placed(column, QWidget(self))
        size = range(_SHOWN_ROWS + 1), range(_SHOWN_IMAGES + 1)
        self._cells = [[PlainLabel("", self._table) for _ in size[1]] for _ in size[0]]
        grid = flush(QGridLayout(self._table))
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(_SHOWN_IMAGES + 1, 1)
        for y, labels in enumerate(self._cells):
            for x, cell in enumerate(labels):
                grid.addWidget(cell, y, x)
        self._why = placed(column, _WrappedLabel("", self))
        row = nested(column, QHBoxLayout(), spacing=8)
        self._captions: dict[QComboBox, PlainLabel] = {}
        self.label_column = self._box(row, "Classes in", "Column of the class labels")
        self.groups = self._box(row, "Groups in", "Splits never separate rows that have the same value in this column")
        self.shape = self._box(row, "Shape", "Rows × columns of each image; “not images” if features are not pixels")
        self.header = self._check(row, "Header line", "The first line contains the names of the columns")
        tip = "The file stores the pixels of each image column by column"
        self.transposed = self._check(row, "By columns", tip)
        tip = "Scale each feature to 0…1 by its range in the training rows, or by its quantiles (median at 0.5)"
        self.scaled = self._box(row, "Scale", tip)
        for text, method in (("unchanged", False), ("range", True), ("quantiles", QUANTILES)):
            self.scaled.addItem(text, method)
        row.addStretch(2)
        self.shape.activated.connect(self._show_images)
        self.transposed.toggled.connect(self._show_images)
        workspace.dataset_changed.connect(self._show_dataset)
        workspace.confirmed_changed.connect(self.hide)
        self.hide()

    def _box(self, row: QHBoxLayout, name: str, tip: str) -> QComboBox:
        box = ElidedBox(self, name, tip)
        caption = self._captions[box] = placed(row, PlainLabel(name, self))
        caption.setBuddy(box)
        row.addWidget(box, 1)
        return box

    def _check(self, row: QHBoxLayout, text: str, tip: str) -> QCheckBox:
        return named(placed(row, QCheckBox(text, self)), text, tip)

    # Display ----------------------------------------------------------------------------------------------------

    @Slot(object)
    def _show_dataset(self, dataset: Dataset) -> None:
        if self._workspace.confirmed:
            self.hide()
        else:
            self._show(dataset)

    @Slot()
    def show_reading(self) -> None:
        """Show the bar with the settings of the open files, or hide the bar if it is already visible."""
        dataset = self._workspace.dataset
        if self.isVisible():
            self.hide()
        elif dataset is not None:
            self._show(dataset)

    def _show(self, dataset: Dataset) -> None:
        opened, n = dataset.opened, len(dataset.train) + dataset.n_test
        n_columns, noun = (len(opened.columns), "columns") if opened.columns else (dataset.n_features, "features")
        self._title.setText(f"{dataset.name}: {count(n)} rows, {count(n_columns)} {noun}")
        guesses = [f"{guess.what}: {guess.why}" for guess in dataset.checks if guess.why != opened.unlabelled]
        why = f"Please check: {' · '.join(guesses)}" if guesses else "No setting had to be guessed."
        if len(guesses) < len(dataset.checks):
            why = f"{opened.unlabelled}.\n{why}"
        if opened.labels_file:
            why = f"{printable(Path(opened.labels_file).name)} is in the same folder. Use its labels?"
        self._why.setText(why)
        self._why.resizeEvent(QResizeEvent(self._why.size(), self._why.size()))
        self._fill_choices(dataset)
        self._show_images()
        self.show()

    def _fill_choices(self, dataset: Dataset) -> None:
        opened, reading, d = dataset.opened, self._source_options(), dataset.n_features
        self.label_column.clear()
        columns = [name if opened.header else f"column {name}" for name in opened.columns]
        self.label_column.addItems([*columns, "no column"])
        self.label_column.setCurrentIndex(_label_index(opened))
        self.header.setChecked(bool(opened.header))
        self.groups.clear()
        self.groups.addItems(["no column", *columns])
        self.groups.setCurrentIndex(_group_index(reading, opened))
        for widget in (self.label_column, self._captions[self.label_column], self.header):
            widget.setVisible(bool(opened.columns))
        for widget in (self.shape, self._captions[self.shape]):
            widget.setVisible(d >= SMALLEST_SQUARE or not opened.columns or dataset.image_shape is not None)
        self.choose_button.setVisible(bool(opened.unlabelled and opened.columns))
        self._columns.clear()
        for k, name in enumerate(opened.columns[:_MOST_IN_MENU]):
            action = self._columns.addAction(literal(name))
            action.setCheckable(True)
            action.setChecked(k in opened.left_out)
            action.setVisible(k != opened.label_column)
        self._count_left_out()
        self.cut_button.setVisible(opened.quantity)
        self.labels_button.setVisible(bool(opened.labels_file))
        self.shape.clear()
        shapes = [(), *((rows, d // rows) for rows in range(1, d + 1) if d % rows == 0)]
        for shape in shapes:
            self.shape.addItem(" × ".join(map(str, shape)) or "not images", shape)
        self.shape.setCurrentIndex(shapes.index(dataset.image_shape or ()))
        self.transposed.setChecked(reading.transposed)
        self.scaled.setCurrentIndex(self.scaled.findData(opened.scaled))

    def _source_options(self) -> ParseOptions:
        source = self._workspace.source
        return ParseOptions() if source is None else source.reading

    @Slot()
    def _show_images(self) -> None:
        """Show the first rows as read with the current settings, either as images or as a table."""
        dataset = self._workspace.dataset
        self.fit()
        for cell in chain(*self._cells):
            cell.clear()
            cell.hide()
        shape = tuple(self.shape.currentData() or ())
        if dataset is None or (shape and shape[0] * shape[1] != dataset.n_features):
            # Show nothing without data, or while the controls still contain the image shape of the previous data.
            return
        self.transposed.setVisible(bool(shape))
        self.scaled.setVisible(not shape)
        self._captions[self.scaled].setVisible(not shape)
        for widget in (self.left_out, self.groups, self._captions[self.groups]):
            widget.setVisible(not shape and bool(dataset.opened.columns))
        if shape:
            self._show_pictures(dataset, (shape[0], shape[1]))
        else:
            self._show_table(dataset)

    def fit(self) -> None:
        """Show the first rows only if the window is tall enough for them and for the page below the bar."""
        self._table.setVisible(self.window().height() >= _LOWEST_WINDOW)

    def _show_pictures(self, dataset: Dataset, shape: tuple[int, int]) -> None:
        rows = dataset.train[:_SHOWN_IMAGES]
        if self._source_options().transposed and dataset.image_shape:
            rows = by_columns(rows, dataset.image_shape)
        if self.transposed.isChecked():
            rows = by_columns(rows, (shape[1], shape[0]))
        for column, image in enumerate(rows.reshape(-1, *shape)):
            picture = QPixmap.fromImage(image_of(image, INK, DARK))
            self._cells[0][column].setPixmap(picture.scaled(_SIDE, _SIDE, Qt.AspectRatioMode.KeepAspectRatio))
            self._cells[0][column].show()
            self._set_cell(1, column, _class_of(dataset, column))

    def _show_table(self, dataset: Dataset) -> None:
        names = dataset.feature_names or tuple(f"x{k}" for k in range(dataset.n_features))
        shown = min(_SHOWN_COLUMNS, dataset.n_features)
        scaling = np.repeat([[0.0], [1.0]], shown, axis=1) if dataset.scaling is None else dataset.scaling[:, :shown]
        # Show the original values from the file, because users do not know the values scaled to 0–1.
        rows = unscaled(dataset.train[:_SHOWN_ROWS, :shown], scaling)
        if dataset.missing is not None:
            rows[dataset.missing[: len(rows), :shown]] = np.nan
        # Restoring the original values causes rounding errors. Round to the number of digits that float32 can store.
        digits = 6 - np.ceil(np.log10(np.maximum(span(scaling), 1e-30))).astype(int)
        for feature in range(shown):
            self._set_cell(0, feature, _shortened(names[feature]), names[feature])
            for row, value in enumerate(rows[:, feature].tolist(), start=1):
                text = "missing" if math.isnan(value) else f"{round(value, int(digits[feature])):.6g}"
                self._set_cell(row, feature, text)
        if dataset.n_features > shown:
            self._set_cell(0, shown, f"… {dataset.n_features - shown} more")
        if dataset.train_labels is not None:
            self._set_cell(0, shown + 1, "class")
            for row in range(min(_SHOWN_ROWS, len(dataset.train))):
                self._set_cell(row + 1, shown + 1, _class_of(dataset, row))

    def _set_cell(self, row: int, column: int, text: str, tip: str = "") -> None:
        self._cells[row][column].setText(text)
        self._cells[row][column].setToolTip(wrapped(tip))
        self._cells[row][column].setVisible(bool(text))

    # Requests ---------------------------------------------------------------------------------------------------

    def reading(self) -> ParseOptions:
        """Return the settings for reading the files, as set in the controls.

        Settings that were guessed and that the user has not changed remain unset. The program guesses them again when
        it reads the files.
        """
        dataset, before = self._workspace.dataset, self._source_options()
        if dataset is None:
            return before
        opened, k = dataset.opened, self.label_column.currentIndex()
        names = [str(n) if name.lower() == NO_COLUMN else name for n, name in enumerate(opened.columns, start=1)]
        label = [*names, NO_COLUMN][k] if opened.columns and k != _label_index(opened) else before.label_column
        header = before.header if self.header.isChecked() == bool(opened.header) else self.header.isChecked()
        wanted = tuple(self.shape.currentData() or ())
        sides = before.shape if wanted == (dataset.image_shape or ()) else wanted
        transposed = self.transposed.isChecked() and bool(wanted)
        if transposed != before.transposed and sides is None:
            sides = wanted
        chosen = self._chosen_columns(opened)
        left_out = before.left_out if chosen == {*opened.left_out} else tuple(opened.columns[n] for n in sorted(chosen))
        if label not in (None, NO_COLUMN, before.label_column):
            left_out = tuple(each for each in left_out if each not in (str(k + 1), opened.columns[k]))
        method = self.scaled.currentData()
        scaled = before.scaled if method == opened.scaled else method
        g = self.groups.currentIndex()
        group = before.group if g == _group_index(before, opened) else names[g - 1] if g else None
        # If the user has changed whether the file has a header line, the column names are unknown until the file is
        # read again. Columns are therefore identified by number.
        if header != before.header:
            label = label if label in (None, NO_COLUMN) else f"#{k + 1}"
            group = group and f"#{g}"
            left_out = left_out and tuple(f"#{n + 1}" for n in sorted(chosen - {k, g - 1}))
        bins = before.bins if label == before.label_column else None
        return ParseOptions(label, header, sides, transposed, left_out, None if wanted else scaled, bins, group)

    @Slot()
    def _open(self) -> None:
        self._workspace.read_as(self.reading())

    @Slot()
    def _choose(self) -> None:
        self.label_column.showPopup()

    def _chosen_columns(self, opened: ParseReport) -> set[int]:
        """Return the indices of the omitted columns, including omitted columns that the menu is too short to list."""
        more = {n for n in opened.left_out if n >= _MOST_IN_MENU}
        return more | {n for n, action in enumerate(self._columns.actions()) if action.isChecked()}

    @Slot()
    def _count_left_out(self) -> None:
        dataset = self._workspace.dataset
        if dataset is not None:
            self.left_out.setText(f"Left out: {len(self._chosen_columns(dataset.opened))} ▾")

    @Slot()
    def _show_columns(self) -> None:
        # `QPushButton.setMenu` is not used, because it opens the menu as soon as the mouse button is pressed. In a long
        # menu, releasing the mouse button would then select a column.
        self._columns.popup(self.left_out.mapToGlobal(self.left_out.rect().bottomLeft()))

    @Slot()
    def _use_labels(self) -> None:
        source, dataset = self._workspace.source, self._workspace.dataset
        if source is not None and dataset is not None:
            self._workspace.open(replace(source, paths=(*source.paths, dataset.opened.labels_file)))

    @Slot()
    def _cut(self) -> None:
        self._workspace.read_as(replace(self.reading(), bins=3))


def _label_index(opened: ParseReport) -> int:
    """Return the index of the label column, or the number of columns if there is no label column."""
    return len(opened.columns) if opened.label_column is None else opened.label_column


def _class_of(dataset: Dataset, row: int) -> str:
    if dataset.train_labels is None:
        return ""
    is_long = max(map(len, dataset.label_names), default=0) > _LONGEST
    known = told_apart(dataset.label_names) if is_long else dataset.label_names
    (name,) = label_names([int(dataset.train_labels[row])], known)
    return _shortened(name)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _group_index(reading: ParseOptions, opened: ParseReport) -> int:
    """Return 1 plus the index of the column that assigns rows to groups, or 0 if there is no such column."""
    return 0 if reading.group is None else 1 + requested_column(reading.group, opened.columns, "")
