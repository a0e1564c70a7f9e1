"""The dialog for changing or resetting the settings of the program, and for clearing the list of recent files."""

from collections.abc import Iterable

from PySide6.QtCore import QSettings, Qt, Signal, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QMessageBox, QPushButton, QWidget

from slide_gui.experiments.sweeps.trial import LEAST_BUDGET, MOST_BUDGET
from slide_gui.gui.state.cluster import ClusterController
from slide_gui.gui.state.files import REOPEN, FileChoices, RecentFiles
from slide_gui.gui.state.runs import TRY_SECONDS, stored_budget
from slide_gui.gui.theme import SCALES, THEMES, stored_scale, stored_theme
from slide_gui.gui.widgets.controls import ElidedLabel, FormDialog, IntegerBox, PlainLabel, add_button, label
from slide_gui.gui.widgets.layouts import nested, placed
from slide_gui.text import counted

_RESET = (
    "All settings return to their defaults, including theme, display size and where runs are computed. The list of "
    "recent files and the settings for reading these files are deleted. Data, runs and sessions are kept."
)


class SettingsDialog(FormDialog):
    """The dialog that shows and changes the settings of the program.

    Parameters
    ----------
    settings : QSettings
        Storage of the program's settings.
    cluster : ClusterController
        Controller that stores where runs are computed.

    Signals
    -------
    theme_chosen(str), scale_chosen(float)
        The user chose a theme or a display size.
    place_requested()
        The user pressed the button for changing where runs are computed.
    reset_requested()
        The user confirmed that all settings are to be reset to their defaults.
    """

    theme_chosen = Signal(str)
    scale_chosen = Signal(float)
    place_requested = Signal()
    reset_requested = Signal()

    def __init__(self, settings: QSettings, cluster: ClusterController, parent: QWidget) -> None:
        super().__init__("Settings", parent)
        self._settings, self._recent, self._choices = settings, RecentFiles(settings), FileChoices(settings)
        self._cluster = cluster
        self._heading("APPEARANCE")
        self.theme = self._box("Theme", THEMES)
        self.scale = self._box("Display size (after a restart)", [f"{100 * scale:.0f} %" for scale in SCALES])
        self._heading("REMEMBERED")
        self.reopen = QCheckBox("Reopen the last session when the program starts", self)
        self.grid.addWidget(self.reopen, self.grid.rowCount(), 0, 1, 3)
        self.recent, self.forget = self._line("Recent files and how they are read", "Forget")
        self._heading("COMPUTING")
        self.place, self.change_place = self._line("Runs are computed", "Change…")
        name = "Time limit of “Try on my data”"
        self.budget = self.add_row(name, IntegerBox(name, LEAST_BUDGET, MOST_BUDGET, self, suffix=" s"))
        self.question = self._build_question()
        self.column.addStretch(1)
        row = nested(self.column, QHBoxLayout())
        tip = "Restore the default of every setting"
        self.reset = add_button(self, row, "Reset all settings…", tip, clicked=self._ask_to_reset)
        row.addStretch(1)
        self.close_button = add_button(self, row, "Close", kind="primary", clicked=self.accept)
        self.close_button.setDefault(True)
        self.theme.textActivated.connect(self.theme_chosen)
        self.scale.activated.connect(self._choose_scale)
        self.budget.valueChanged.connect(self._store)
        self.reopen.clicked.connect(self._store)
        self.forget.clicked.connect(self._forget)
        self.change_place.clicked.connect(self.place_requested)
        cluster.changed.connect(self._show_place)
        self.resize(560, 400)

    def _heading(self, text: str) -> None:
        row = self.grid.rowCount()
        self.grid.addWidget(label(text, self, "heading"), row, 0, 1, 3, Qt.AlignmentFlag.AlignBottom)
        self.grid.setRowMinimumHeight(row, 28 if row > 1 else 0)

    def _box(self, name: str, texts: Iterable[str]) -> QComboBox:
        box = QComboBox(self)
        box.addItems(list(texts))
        return self.add_row(name, box)

    def _line(self, name: str, verb: str) -> tuple[ElidedLabel, QPushButton]:
        """Add a row with a caption, an empty label for a value, and a button. Return the label and the button."""
        row = self.grid.rowCount()
        self.grid.addWidget(PlainLabel(name, self), row, 0)
        text = placed(self.grid, ElidedLabel("", self), row, 1)
        button = placed(self.grid, QPushButton(verb, self, autoDefault=False), row, 2)
        button.setAccessibleName(f"{name}: {verb.rstrip('…')}")
        return text, button

    def _build_question(self) -> QMessageBox:
        box = QMessageBox(QMessageBox.Icon.Question, "Reset all settings", "Reset all settings?", parent=self)
        box.setInformativeText(_RESET)
        box.addButton("Reset", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel).setIcon(QIcon())
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.accepted.connect(self._reset)
        return box

    def ask(self) -> None:
        """Show the stored settings in the controls, and open the dialog."""
        self._show_place()
        self.show_settings()
        self.open()
        self.theme.setFocus()

    def show_settings(self) -> None:
        """Show the stored settings in the controls."""
        self.theme.setCurrentIndex(THEMES.index(stored_theme(self._settings)))
        self.scale.setCurrentIndex(SCALES.index(stored_scale(self._settings)))
        self.reopen.setChecked(bool(self._settings.value(REOPEN, True, bool)))
        self.budget.setValue(round(stored_budget(self._settings)))
        recent = len(self._recent.openings)
        self.recent.setText(counted(recent, "file") if recent else "none")

    @Slot()
    def _show_place(self) -> None:
        choice = self._cluster.state.choice
        self.place.setText("in this window" if choice.is_here else str(choice))

    @Slot(int)
    def _choose_scale(self, index: int) -> None:
        self.scale_chosen.emit(SCALES[index])

    @Slot()
    def _store(self) -> None:
        self._settings.setValue(REOPEN, self.reopen.isChecked())
        self._settings.setValue(TRY_SECONDS, self.budget.value())

    @Slot()
    def _forget(self) -> None:
        self._recent.forget()
        self._choices.forget()
        self.show_settings()

    @Slot()
    def _ask_to_reset(self) -> None:
        self.question.open()

    @Slot()
    def _reset(self) -> None:
        self.reset_requested.emit()
        self.show_settings()
