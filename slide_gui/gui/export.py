"""The export dialog: what to write, how wide, in which colours, alone or with all that makes it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from slide_gui.experiments.fit import FittedModel
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.weights import weight_rows
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS, WIDTHS, Style
from slide_gui.progress import Progress

__all__ = ["ExportDialog", "ExportRequest"]

_FORMATS = {
    "pdf": "PDF, for print",
    "svg": "SVG, to edit",
    "png": "PNG, 300 dots per inch",
    "csv": "CSV, the numbers",
    "bundle": "Folder: figure, numbers, command line and script",
}
_WIDTH_TITLES = {
    "single": "single column",
    "one-and-a-half": "one and a half columns",
    "double": "double column",
    "slide": "slide, 16:9",
}


@dataclass(frozen=True)
class ExportRequest:
    """What to write where.

    Attributes
    ----------
    path : Path
        A file, or the folder of a bundle.
    kind : {"pdf", "svg", "png", "csv", "bundle"}
    style : Style
    """

    path: Path
    kind: str
    style: Style

    def job(self, model: FittedModel, pixels: tuple[int, ...], source: DataSource) -> Callable[[Progress], Path]:
        """Return the function that writes it, for the lane."""

        def write(progress: Progress) -> Path:
            from slide_gui.figures.bundle import save_bundle
            from slide_gui.figures.export import save_figure, weights_csv
            from slide_gui.figures.weights import draw_weights

            progress.report(0.05)
            rows = [weight_rows(model, pixels)]
            if self.kind == "bundle":
                save_bundle(self.path, rows, [source], self.style)
            elif self.kind == "csv":
                weights_csv(self.path, rows)
            else:
                save_figure(lambda figure: draw_weights(figure, rows, self.style), self.path, self.style)
            progress.report(1.0)
            return self.path

        return write


class ExportDialog(QDialog):
    """Asks how and where.

    Signals
    -------
    requested(object)
        An `ExportRequest`, once the person has chosen a place.
    """

    requested = Signal(object)

    def __init__(self, style: Style, name: str, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Export the weight figure")
        self._settings, self._name, self._transposed = settings, name, style.transposed
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(8)
        self._kind = self._choices(form, "Format", _FORMATS, str(settings.value("export/format", "pdf")))
        widths = {key: f"{_WIDTH_TITLES[key]} ({mm:.0f} mm)" for key, mm in WIDTHS.items()}
        self._width = self._choices(form, "Width", widths, str(settings.value("export/width", "double")))
        self._levels = self._choices(form, "Levels", LEVELS, style.levels)
        self._colors = self._choices(form, "Colours", {key: MAPS[key] for key in (*DIVERGING, "jet")}, style.colors)
        self._bias = QCheckBox("Write each bias below its tile", self)
        form.addRow("", self._bias)
        note = QLabel("Text stays text; the same figure gives the same bytes.", self)
        note.setProperty("role", "secondary")
        buttons = QDialogButtonBox(self)
        save = buttons.addButton("Choose a place…", QDialogButtonBox.ButtonRole.AcceptRole)
        save.setProperty("kind", "primary")
        save.style().polish(save)  # the button was polished when it was added
        save.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self._choose_place)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 20, 20, 16)
        layout.setSpacing(16)
        layout.addLayout(form)
        layout.addWidget(note)
        layout.addWidget(buttons)

    def _choices(self, form: QFormLayout, label: str, choices: dict[str, str], chosen: str) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(label)
        for key, title in choices.items():
            box.addItem(title, key)
        box.setCurrentIndex(max(box.findData(chosen), 0))
        form.addRow(label, box)
        return box

    @Slot()
    def _choose_place(self) -> None:
        kind = self._kind.currentData()
        folder = Path(str(self._settings.value("folder/export", str(Path.home()))))
        if kind == "bundle":
            name = QFileDialog.getExistingDirectory(self, "Folder for the figure and its data", str(folder))
        else:
            suggestion = str(folder / f"{self._name}.{kind}")
            name, _ = QFileDialog.getSaveFileName(self, "Export as", suggestion, f"{kind.upper()} (*.{kind})")
            if name and Path(name).suffix.lower() != f".{kind}":
                name += f".{kind}"
        if not name:
            return
        self._settings.setValue("folder/export", str(Path(name) if kind == "bundle" else Path(name).parent))
        self._settings.setValue("export/format", kind)
        self._settings.setValue("export/width", self._width.currentData())
        style = Style(
            width=self._width.currentData(),
            colors=self._colors.currentData(),
            levels=self._levels.currentData(),
            bias=self._bias.isChecked(),
            transposed=self._transposed,
        )
        self.requested.emit(ExportRequest(Path(name), kind, style))
        self.accept()
