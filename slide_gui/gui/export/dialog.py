"""The export dialog: which figure, as what, how wide, in which colours, with a preview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS, WIDTHS, Style
from slide_gui.gui.choice_box import add_choices
from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.layouts import nested
from slide_gui.gui.state.jobs import Lane, sentence
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

__all__ = ["ExportDialog", "ExportRequest"]

_FORMATS = {
    "pdf": "PDF, for print",
    "svg": "SVG, to edit",
    "png": "PNG, 300 dots per inch",
    "csv": "CSV, the numbers",
    "tex": "LaTeX, the table",
    "md": "Markdown, the table",
    "bundle": "Folder: figure, numbers, command line and script",
}
_NOTES = {
    "csv": "Numbers read back exactly.",
    "tex": "A table float, its notes in the caption.",
    "md": "A table, its notes below it.",
}
_WIDTH_TITLES = {
    "single": "single column",
    "one-and-a-half": "one and a half columns",
    "double": "double column",
    "slide": "slide, 16:9",
}
_PREVIEW = (400, 320)
_REST_MILLISECONDS = 120  # choices that rest this long are previewed


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """What to write where.

    Attributes
    ----------
    path : Path
        A file, or the folder of a bundle.
    kind : {"pdf", "svg", "png", "csv", "tex", "md", "bundle"}
    style : Style
    export : callable
        As in `ExportOption`.
    """

    path: Path
    kind: str
    style: Style
    export: Callable[[Progress], FigureExport]

    def write(self, progress: Progress) -> Path:
        """Write it; for the lane."""
        from slide_gui.figures.export import save_bundle, save_export

        export = self.export(progress.part(0.0, 0.5))
        progress.report(0.5)
        if self.kind == "bundle":
            save_bundle(self.path, export, self.style)
        else:
            save_export(self.path, export, self.style)
        progress.report(1.0)
        return self.path


class ExportDialog(QDialog):
    """Asks how and where; made once and kept with its window.

    Signals
    -------
    requested(object)
        An `ExportRequest`, once the person has chosen a place.
    """

    requested = Signal(object)

    def __init__(self, lane: Lane, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._offers: tuple[ExportOption, ...] = ()
        self._export: FigureExport | None = None
        self._lane, self._settings = lane, settings
        self._preview = QLabel("", self)
        self._preview.setProperty("role", "preview")
        self._preview.setFixedSize(*_PREVIEW)
        self._preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._preview.setWordWrap(True)
        self._preview.setAccessibleName("Preview")
        self._note = QLabel("", self)
        self._note.setProperty("role", "secondary")
        self._note.setWordWrap(True)
        self._arrange()
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MILLISECONDS)
        self._rest.timeout.connect(self._ask_preview)
        self._figure.currentIndexChanged.connect(self._choose_figure)
        for box in (self._kind, self._width, self._levels, self._colors):
            box.currentIndexChanged.connect(self._changed)
        self._bias.toggled.connect(self._changed)
        self.finished.connect(self._end)

    def _arrange(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(20, 20, 20, 16)
        layout.setSpacing(20)
        layout.addWidget(self._preview)
        left = nested(layout, QVBoxLayout(), 1)
        left.setSpacing(16)
        self._form = nested(left, QFormLayout())
        self._form.setHorizontalSpacing(16)
        self._form.setVerticalSpacing(8)
        self._figure = self._choices("Figure", {})
        self._kind = self._choices("Format", {})
        widths = {key: f"{_WIDTH_TITLES[key]} ({mm:.0f} mm)" for key, mm in WIDTHS.items()}
        self._width = self._choices("Width", widths)
        self._levels = self._choices("Levels", {})
        add_choices(self._levels, LEVELS.values())
        self._colors = self._choices("Colours", {key: MAPS[key] for key in (*DIVERGING, "jet")})
        self._bias = QCheckBox("Write each bias below its tile", self)
        self._form.addRow("", self._bias)
        buttons = QDialogButtonBox(self)
        save = buttons.addButton("Choose a place…", QDialogButtonBox.ButtonRole.AcceptRole)
        save.setProperty("kind", "primary")
        save.style().polish(save)  # the button was polished when it was added
        save.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel).setIcon(QIcon())
        buttons.accepted.connect(self._choose_place)
        buttons.rejected.connect(self.reject)
        left.addStretch(1)
        left.addWidget(self._note)
        left.addWidget(buttons)

    def _choices(self, label: str, choices: dict[str, str]) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(label)
        for key, title in choices.items():
            box.addItem(title, key)
        self._form.addRow(label, box)
        return box

    def ask(self, offers: Sequence[ExportOption]) -> None:
        """Open, to ask about these offers; there is at least one."""
        self._offers = tuple(offers)
        self._figure.blockSignals(True)
        self._figure.clear()
        for number, offer in enumerate(self._offers):
            self._figure.addItem(offer.title.capitalize(), str(number))
        self._figure.blockSignals(False)
        self._form.setRowVisible(self._figure, len(self._offers) > 1)
        self._width.setCurrentIndex(max(self._width.findData(str(self._settings.value("export/width", "double"))), 0))
        self._bias.setChecked(False)
        self._choose_figure()
        (self._figure if len(self._offers) > 1 else self._kind).setFocus()
        self.open()

    # Choices ----------------------------------------------------------------------------------------------------

    def _offer(self) -> ExportOption:
        return self._offers[self._figure.currentIndex()]

    @Slot()
    def _choose_figure(self) -> None:
        """Show what can be chosen for the figure."""
        offer = self._offer()
        self.setWindowTitle(f"Export {offer.title}")
        self._export = None
        self._kind.blockSignals(True)
        self._kind.clear()
        for kind in offer.kinds:
            self._kind.addItem(_FORMATS[kind], kind)
        self._kind.setCurrentIndex(max(self._kind.findData(str(self._settings.value("export/format", "pdf"))), 0))
        self._kind.blockSignals(False)
        for box, value in ((self._levels, offer.style.levels), (self._colors, offer.style.colors)):
            box.setCurrentIndex(max(box.findData(value), 0))
        for row in (self._levels, self._colors, self._bias):
            self._form.setRowVisible(row, offer.of_weights)
        self._preview.setVisible(len(offer.kinds) > 1)
        self._show_preview(None, "drawing…")
        self._changed()

    @Slot()
    def _changed(self) -> None:
        kind = self._kind.currentData()
        self._form.setRowVisible(self._width, kind not in _NOTES)
        self._note.setText(_NOTES.get(kind, "Text stays text; the same figure gives the same bytes."))
        if self._preview.isVisibleTo(self):
            self._rest.start()
        self.adjustSize()

    def style_chosen(self) -> Style:
        """Return the style as it is set."""
        offer = self._offer()
        style = replace(offer.style, width=self._width.currentData())
        if offer.of_weights:
            style = replace(
                style,
                colors=self._colors.currentData(),
                levels=self._levels.currentData(),
                bias=self._bias.isChecked(),
            )
        return style

    # Preview ----------------------------------------------------------------------------------------------------

    @Slot()
    def _ask_preview(self) -> None:
        offer, ready, style = self._offer(), self._export, self.style_chosen()
        ratio = self.devicePixelRatioF()
        # Twice as fine as it is shown: small type is legible only where it is drawn large and made small.
        dots = min(max(round(2 * _PREVIEW[0] * ratio * 25.4 / style.width_mm), 50), 1200)

        def work(progress: Progress) -> tuple[ExportOption, FigureExport, bytes]:
            from slide_gui.figures.export import figure_bytes

            export = offer.export(progress) if ready is None else ready
            draw, small = export.draw, replace(style, dpi=dots)
            assert draw is not None
            progress.report(0.5)  # drawing cannot be broken off
            return offer, export, figure_bytes(lambda figure: draw(figure, small), ".png", small)

        self._lane.submit(
            "Drawing a preview", work, channel="preview", on_result=self._previewed, on_failure=self._not_previewed
        )

    @Slot(object)
    def _previewed(self, drawn: tuple[ExportOption, FigureExport, bytes]) -> None:
        offer, export, content = drawn
        if offer is self._offer():
            self._export = export
            pixels = QPixmap()
            pixels.loadFromData(content, "PNG")
            self._show_preview(pixels, "")

    @Slot(object)
    def _not_previewed(self, error: Exception) -> None:
        self._show_preview(None, sentence(error))

    def _show_preview(self, pixels: QPixmap | None, text: str) -> None:
        if pixels is None:
            self._preview.setText(text)
            return
        ratio = self.devicePixelRatioF()
        room = self._preview.size() * ratio
        if pixels.width() > room.width() or pixels.height() > room.height():
            smooth = Qt.TransformationMode.SmoothTransformation
            pixels = pixels.scaled(room, Qt.AspectRatioMode.KeepAspectRatio, smooth)
        pixels.setDevicePixelRatio(ratio)
        self._preview.setPixmap(pixels)

    @Slot()
    def _end(self) -> None:
        """Stop the preview, and let go of what was offered."""
        self._rest.stop()
        self._lane.cancel(channel="preview")
        self._offers, self._export = (), None

    # Place ------------------------------------------------------------------------------------------------------

    @Slot()
    def _choose_place(self) -> None:
        kind, offer = self._kind.currentData(), self._offer()
        folder = Path(str(self._settings.value("folder/export", str(Path.home()))))
        if kind == "bundle":
            name = QFileDialog.getExistingDirectory(self, "Folder for the figure and its data", str(folder))
        else:
            suggestion = str(folder / f"{offer.name}.{kind}")
            name, _ = QFileDialog.getSaveFileName(self, "Export as", suggestion, f"{kind.upper()} (*.{kind})")
            if name and Path(name).suffix.lower() != f".{kind}":
                name += f".{kind}"
        if not name:
            return
        self._settings.setValue("folder/export", str(Path(name) if kind == "bundle" else Path(name).parent))
        if len(offer.kinds) > 1:
            self._settings.setValue("export/format", kind)
        self._settings.setValue("export/width", self._width.currentData())
        ready = self._export
        export = offer.export if ready is None else lambda _progress: ready
        self.requested.emit(ExportRequest(Path(name), kind, self.style_chosen(), export))
        self.accept()
