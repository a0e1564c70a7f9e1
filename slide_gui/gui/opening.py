"""Asks which data to open: files, a folder, or files to download."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from slide_gui.gui.state.workspace import Workspace

__all__ = ["Opening"]

_FILTER = "Data (*.amat *.zip *.gz *.idx* *-ubyte *.npz *.npy *.csv *.mat);;All files (*)"


class Opening(QObject):
    """The dialogs, over one window."""

    def __init__(self, workspace: Workspace, settings: QSettings, window: QWidget) -> None:
        super().__init__(window)
        self._workspace, self._settings, self._window = workspace, settings, window
        self._box: QMessageBox | None = None
        self._wanted = ""

    def ask_for_files(self) -> None:
        """Ask for files and open them as one data set."""
        names, _ = QFileDialog.getOpenFileNames(self._window, "Open data", self._folder(), _FILTER)
        if names:
            self._settings.setValue("folder/open", str(Path(names[0]).parent))
            self._workspace.open_paths([Path(name) for name in names])

    def ask_for_folder(self) -> None:
        """Ask for a folder and open it."""
        name = QFileDialog.getExistingDirectory(self._window, "Open a folder of images by class", self._folder())
        if name:
            self._workspace.open_paths([Path(name)])

    @Slot(object)
    def ask_to_download(self, key: str) -> None:
        """Say what would be fetched from where, and fetch it if that is wanted."""
        from slide_gui.data.catalogue import data_folders, entry

        wanted = entry(key)
        box = self._download_box()
        box.setText(f"Download the files of {wanted.title}?")
        box.setInformativeText(
            f"From {wanted.mirrors[0]} into {data_folders()[0] / key}. Each file is checked by its hash.\n"
            f"Licence: {wanted.licence}"
        )
        self._wanted = key
        box.open()

    def _download_box(self) -> QMessageBox:
        if self._box is None:
            self._box = QMessageBox(self._window)
            self._box.setWindowTitle("Download")
            yes = self._box.addButton("Download", QMessageBox.ButtonRole.AcceptRole)
            self._box.addButton(QMessageBox.StandardButton.Cancel).setIcon(QIcon())
            self._box.setDefaultButton(yes)
            self._box.accepted.connect(self._download)
        return self._box

    @Slot()
    def _download(self) -> None:
        self._workspace.download(self._wanted)

    def _folder(self) -> str:
        return str(self._settings.value("folder/open", str(Path.home())))
