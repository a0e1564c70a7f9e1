"""The export dialog: figure, format, width and colours, with a preview."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
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
    QVBoxLayout,
    QWidget,
)

from slide_gui.figures.animation import ANIMATION_DPI
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS, WIDTHS, Style
from slide_gui.gui.dialogs.export.option import ANIMATION, TABLE, ExportOption
from slide_gui.gui.dialogs.export.preview import FigurePreview
from slide_gui.gui.state.jobs import JobQueue, sentence
from slide_gui.gui.widgets.controls import add_choices, label
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

_FORMATS = {
    "pdf": "PDF, for print",
    "svg": "SVG, to edit",
    "png": "PNG, 300 dots per inch",
    "csv": "CSV, the numbers",
    "gif": "GIF, 256 colours",
    "tex": "LaTeX, the table",
    "md": "Markdown, the table",
    "bundle": "Folder: figure, numbers, command line and script",
}
_NOTES = {
    "csv": "Numbers with all digits.",
    "tex": "A table float with notes in its caption.",
    "md": "A table with notes below it.",
    "gif": "Supported by all programs; colours are rounded to 256 per picture.",
    "bundle": (
        "Creates a new folder at the path you choose and overwrites nothing. Open it in this program to restore "
        "the current view."
    ),
}
_TEXTS = ("csv", "tex", "md")
_WIDTH_TITLES = {
    "single": "single column",
    "one-and-a-half": "one and a half columns",
    "double": "double column",
    "slide": "slide, 16:9",
}
_NOTE = "Text remains text; equal figures give identical files."
_SIZE, _SHARE, _CHOICES_WIDTH = (1400, 920), 0.94, 300  # size of the dialog, and its largest fraction of the window
_ENTRY_MARGINS = 24
_FINE = 100  # dots per inch below which a figure is drawn at twice the size and reduced, so that type stays legible
_REST_MILLISECONDS = 120  # a preview starts when the choices have not changed for this long


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """An export with its path.

    Attributes
    ----------
    path : Path
        File, or folder of a bundle.
    kind : str
        A format of the `ExportOption`.
    export : callable
        Draws it, as in `ExportOption`.
    """

    path: Path
    kind: str
    style: Style
    export: Callable[[Progress], FigureExport]

    def write(self, session: str, progress: Progress) -> Path:
        """Write the file with its session; runs in the job queue."""
        from slide_gui.figures.export import save_bundle, save_export

        starts = 0.5 if self.kind not in ANIMATION else 0.0
        export = self.export(progress.part(0.0, starts))
        progress.report(starts)
        if self.kind == "bundle":
            save_bundle(self.path, export, self.style, session)
        else:
            save_export(self.path, export, self.style, session, progress.part(starts, 1.0))
        progress.report(1.0)
        return self.path


class ExportDialog(QDialog):
    """The dialog of an export, which each window creates once.

    Signals
    -------
    requested(object)
        An `ExportRequest`, after the user chose a path.
    """

    requested = Signal(object)

    def __init__(self, queue: JobQueue, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.options: tuple[ExportOption, ...] = ()
        self._export: FigureExport | None = None
        self._queue, self._settings = queue, settings
        self._paper = FigurePreview(self)
        self.preview = self._paper.picture
        self._note = label("", self, wraps=True)
        self._arrange()
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MILLISECONDS)
        self._rest.timeout.connect(self._ask_preview)
        self.figure_box.currentIndexChanged.connect(self._choose_figure)
        for box in (self.format_box, self.width_box, self._levels, self._colors):
            box.currentIndexChanged.connect(self._changed)
        self.bias_box.toggled.connect(self._changed)
        self._paper.zoomed.connect(self._drawn_anew)
        self.finished.connect(self._end)

    def _arrange(self) -> None:
        layout = flush(QHBoxLayout(self), 20, (20, 20, 20, 16))
        layout.addWidget(self._paper, 1)
        side = QWidget(self)
        side.setFixedWidth(_CHOICES_WIDTH)
        layout.addWidget(side)
        left = flush(QVBoxLayout(side), 16)
        self._form = nested(left, QFormLayout())
        self._form.setHorizontalSpacing(16)
        self._form.setVerticalSpacing(8)
        self.figure_box = self._choices("Figure", {})
        self.format_box = self._choices("Format", {})
        widths = {key: f"{_WIDTH_TITLES[key]} ({mm:.0f} mm)" for key, mm in WIDTHS.items()}
        self.width_box = self._choices("Width", widths)
        self._levels = self._choices("Colour limits", {})
        add_choices(self._levels, LEVELS.values())
        self._colors = self._choices("Colour map", {key: MAPS[key] for key in (*DIVERGING, "jet")})
        self.bias_box = QCheckBox("Write each bias below its tile", self)
        self._form.addRow("", self.bias_box)
        buttons = QDialogButtonBox(self)
        self.save_button = save = buttons.addButton("Choose path…", QDialogButtonBox.ButtonRole.AcceptRole)
        save.setProperty("kind", "primary")
        save.style().polish(save)  # needed because the role changed after the button was polished
        save.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel).setIcon(QIcon())
        buttons.accepted.connect(self._choose_place)
        buttons.rejected.connect(self.reject)
        left.addStretch(1)
        left.addWidget(self._note)
        left.addWidget(buttons)

    def _choices(self, name: str, choices: dict[str, str]) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(8)  # long entries must not squeeze the labels
        for key, title in choices.items():
            box.addItem(title, key)
        self._form.addRow(name, box)
        return box

    def ask(self, options: Sequence[ExportOption]) -> None:
        """Open the dialog for these options, of which there is at least one."""
        self.options = tuple(options)
        self.figure_box.blockSignals(True)
        self.figure_box.clear()
        for number, option in enumerate(self.options):
            self.figure_box.addItem(f"{option.title[:1].upper()}{option.title[1:]}", str(number))
        self.figure_box.blockSignals(False)
        self._form.setRowVisible(self.figure_box, len(self.options) > 1)
        self._choose(self.width_box, str(self._settings.value("export/width", "double")))
        self.bias_box.setChecked(False)
        self._choose_figure()
        self._take_room()
        (self.figure_box if len(self.options) > 1 else self.format_box).setFocus()
        self.open()

    def _take_room(self) -> None:
        """Enlarge the dialog for the preview, within the window."""
        window = self.parentWidget()
        if self._paper.isHidden() or window is None:
            self.adjustSize()
        else:
            self.resize(*(min(most, round(_SHARE * n)) for most, n in zip(_SIZE, window.size().toTuple(), strict=True)))

    @staticmethod
    def _choose(box: QComboBox, key: str) -> None:
        """Select the entry of a key, or the first one."""
        box.setCurrentIndex(max(box.findData(key), 0))

    # Choices ----------------------------------------------------------------------------------------------------

    def _option(self) -> ExportOption:
        return self.options[self.figure_box.currentIndex()]

    @Slot()
    def _choose_figure(self) -> None:
        """Show the choices of the selected figure."""
        if not self.options:  # the dialog was closed while a combo box was open
            return
        option = self._option()
        self.setWindowTitle(f"Export {option.title}")
        self._export = None
        self.format_box.blockSignals(True)
        self.format_box.clear()
        for kind in option.kinds:
            self.format_box.addItem(_FORMATS[kind], kind)
        entries = self.format_box.view()
        entries.setMinimumWidth(entries.sizeHintForColumn(0) + _ENTRY_MARGINS)  # the box may be narrower
        self._choose(self.format_box, str(self._settings.value("export/format", "pdf")))
        self.format_box.blockSignals(False)
        for box, value in ((self._levels, option.style.levels), (self._colors, option.style.colors)):
            self._choose(box, value)
        for row in (self._levels, self._colors, self.bias_box):
            self._form.setRowVisible(row, option.of_weights)
        self._paper.setVisible(option.kinds != TABLE)
        self._paper.start()
        self._paper.show_text("drawing…")
        self._changed()

    @Slot()
    def _changed(self) -> None:
        if not self.options:
            return
        kind = self.format_box.currentData()
        self._form.setRowVisible(self.width_box, kind not in _TEXTS)
        note = _NOTES.get(kind, _NOTE if kind in _FORMATS else "")  # the notes do not apply to files of plug-ins
        self._note.setText(" ".join(filter(None, [self._option().about, note])))
        self._drawn_anew()

    @Slot()
    def _drawn_anew(self) -> None:
        if self.options and not self._paper.isHidden():
            self._rest.start()

    def style_chosen(self) -> Style:
        """Return the selected style."""
        option = self._option()
        moves = option.kinds == ANIMATION
        style = replace(option.style, width=self.width_box.currentData())
        style = replace(style, dpi=ANIMATION_DPI) if moves else style
        if option.of_weights:
            style = replace(
                style,
                colors=self._colors.currentData(),
                levels=self._levels.currentData(),
                bias=self.bias_box.isChecked(),
            )
        return style

    # Preview ----------------------------------------------------------------------------------------------------

    @Slot()
    def _ask_preview(self) -> None:
        option, ready, style = self._option(), self._export, self.style_chosen()
        self._paper.set_style(style)
        wanted = self._paper.dots() * self.devicePixelRatioF()
        dots = min(max(round(wanted if wanted > _FINE else 2 * wanted), 50), 1200)

        def work(progress: Progress) -> tuple[ExportOption, FigureExport, bytes, float]:
            from slide_gui.figures.export import figure_bytes

            export = option.export(progress) if ready is None else ready
            draw, small = export.draw, replace(style, dpi=dots)
            assert draw is not None
            progress.report(0.5)  # drawing cannot be interrupted
            return option, export, figure_bytes(lambda figure: draw(figure, small), ".png", small), wanted / dots

        self._queue.submit(
            "Drawing a preview", work, channel="preview", on_result=self._previewed, on_failure=self._not_previewed
        )

    @Slot(object)
    def _previewed(self, drawn: tuple[ExportOption, FigureExport, bytes, float]) -> None:
        option, export, content, share = drawn
        if self.options and option is self._option():
            self._export = export
            pixels = QPixmap()
            pixels.loadFromData(content, "PNG")
            if share < 1:
                smooth = Qt.TransformationMode.SmoothTransformation
                pixels = pixels.scaled(pixels.size() * share, Qt.AspectRatioMode.KeepAspectRatio, smooth)
            self._paper.show_picture(pixels, self.devicePixelRatioF())

    @Slot(object)
    def _not_previewed(self, error: Exception) -> None:
        self._paper.show_text(sentence(error))

    @Slot()
    def _end(self) -> None:
        """Stop the preview and release the figure."""
        self._rest.stop()
        self._queue.cancel(channel="preview")
        self.options, self._export = (), None

    # Path -------------------------------------------------------------------------------------------------------

    @Slot()
    def _choose_place(self) -> None:
        if not self.options:  # the dialog was closed while its button was pressed
            return
        kind, option = self.format_box.currentData(), self._option()
        folder = Path(str(self._settings.value("folder/export", "")))
        folder = folder if folder.is_absolute() and folder.is_dir() else Path.home()
        path = self._ask_for_folder(folder) if kind == "bundle" else self._ask_for_file(folder, kind)
        if path is None or not self.options:  # or closed meanwhile
            return
        self._settings.setValue("folder/export", str(path.parent))
        if len(option.kinds) > 1:
            self._settings.setValue("export/format", kind)
        self._settings.setValue("export/width", self.width_box.currentData())
        ready = self._export
        export = option.export if ready is None else lambda _progress: ready
        self.requested.emit(ExportRequest(path, kind, self.style_chosen(), export))
        self.accept()

    def _ask_for_folder(self, folder: Path) -> Path | None:
        """Return a new or empty folder: the chosen one, or else a new one inside it."""
        title = f"Where to create the folder “{self._option().name}”"
        name = QFileDialog.getExistingDirectory(self, title, str(folder))
        if not name:
            return None
        chosen = Path(name)
        is_used = chosen.exists() and (not chosen.is_dir() or any(chosen.iterdir()))
        return unused(chosen / self._option().name) if is_used else chosen

    def _ask_for_file(self, folder: Path, kind: str) -> Path | None:
        """Return a new file, or one that the user agreed to overwrite."""
        suggestion = unused(folder / f"{self._option().name}.{kind}")
        name, _ = QFileDialog.getSaveFileName(self, "Export as", str(suggestion), f"{kind.upper()} (*.{kind})")
        if not name or Path(name).suffix.lower() == f".{kind}":
            return Path(name) if name else None
        return unused(Path(f"{name}.{kind}"))  # the file dialog did not check the name with its suffix


def unused(path: Path) -> Path:
    """Return the path, with a number added if it exists already."""
    numbered = (path.with_name(f"{path.stem} {number}{path.suffix}") for number in count(2))
    return next(each for each in chain([path], numbered) if not each.exists())
