"""The figures and tables that pages offer for export, the export dialog, and the job that writes the files."""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, QSignalBlocker, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QIcon, QPixmap
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

from slide_gui.data.files import check_outputs, unused
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import ANIMATION_DPI, LEVELS, WIDTHS, Style
from slide_gui.gui.dialogs.export_preview import FigurePreview
from slide_gui.gui.state.jobs import JobQueue, UserMessage, sentence
from slide_gui.gui.widgets.controls import ElidedBox, add_choices, label, set_look
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

FIGURE = ("pdf", "svg", "png", "csv", "bundle")
TABLE = ("csv",)
TABLES = ("pdf", "svg", "png", "csv", "tex", "md")
ANIMATION = ("gif",)


@dataclass(frozen=True, eq=False)
class ExportOption:
    """A figure, table or animation that can be exported.

    Attributes
    ----------
    name : str
        Base name of the exported files.
    title : str
        Title for use within a sentence, such as “the weight figure” in “Export the weight figure”.
    export : callable
        Function that computes the figure or table for export. It runs in the job queue, so it must contain all data
        that it needs, and must not access the window.
    style : Style
        Initial style of the figure, which the user can change in the dialog.
    kinds : tuple of str
        Formats that the dialog offers: one of the tuples `FIGURE`, `TABLE`, `TABLES` and `ANIMATION`.
    about : str
        Sentence that the dialog shows about the figure or table, or "".
    of_weights : bool
        True if the user can choose the colour limits, the colour map, and whether biases are shown.
    """

    name: str
    title: str
    export: "Callable[[Progress], FigureExport]"
    style: Style = field(default_factory=lambda: Style(width="double"))
    kinds: tuple[str, ...] = FIGURE
    of_weights: bool = False
    about: str = ""


# With these Qt platform plugins, there is no desktop and therefore no file manager.
_WITHOUT_DESKTOP = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")


def shows_folders() -> bool:
    """Return True if the program can open a folder in the desktop's file manager."""
    if QGuiApplication.platformName() in _WITHOUT_DESKTOP:
        return False
    return not sys.platform.startswith("linux") or shutil.which("xdg-open") is not None


class ExportController(QObject):
    """The controller that opens the export dialog, writes exports in the job queue, and reports the outcome.

    Parameters
    ----------
    inputs : callable
        Function that is called when the user has confirmed an export. It returns another function, which the job calls
        to list the files that the export must not replace.

    Signals
    -------
    message(object)
        A `UserMessage` about the outcome of the export.
    """

    message = Signal(object)

    def __init__(
        self, queue: JobQueue, settings: QSettings, parent: QWidget, inputs: Callable[[], Callable[[], Sequence[Path]]]
    ) -> None:
        super().__init__(parent)
        self._inputs = inputs
        self._queue, self._settings, self._parent = queue, settings, parent
        self._dialog: ExportDialog | None = None
        self._session = ""

    def ask(self, options: Sequence[ExportOption], why_nothing: str, session: Callable[[], str]) -> None:
        """Ask the user what to export and to which path, and then write the file or folder.

        Parameters
        ----------
        options : sequence of ExportOption
            The figures and tables that can be exported at present.
        why_nothing : str
            Explanation for the user if `options` is empty.
        session : callable
            Function that returns the session as text to embed in exported pictures (see
            `slide_gui.experiments.files.session.picture_text`).
        """
        if not options:
            self.message.emit(UserMessage("Nothing to export yet", why_nothing))
            return
        if self._dialog is None:
            self._dialog = ExportDialog(self._queue, self._settings, self._parent)
            self._dialog.accepted.connect(self._write)
        self._session = session()
        self._dialog.ask(options)

    def show_in_folder(self, path: Path) -> None:
        """Show a folder, or the folder of a file, in the desktop's file manager."""
        folder = path if path.is_dir() else path.parent
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.message.emit(UserMessage("The folder could not be shown", f"No program could open {folder}."))

    @Slot()
    def _write(self) -> None:
        dialog, session, inputs = self._dialog, self._session, self._inputs()
        assert dialog is not None
        path, kind, style, draw = dialog.path, dialog.kind(), dialog.style_chosen(), dialog.drawing()
        starts = 0.0 if kind in ANIMATION else 0.5

        def work(progress: Progress) -> Path:
            from slide_gui.figures.export import save_bundle, save_export

            check_outputs([path], inputs())
            export = draw(progress.part(0.0, starts))
            progress.report(starts)
            if kind == "bundle":
                save_bundle(path, export, style, session)
            else:
                save_export(path, export, style, session, progress.part(starts, 1.0))
            progress.report(1.0)
            return path

        self._queue.submit(
            "Rendering the animation" if kind in ANIMATION else "Writing the export",
            work,
            channel="export",
            on_result=self._report_path,
            on_failure=self._not_written,
        )

    def _report_path(self, path: Path) -> None:
        remedy, show = "Show in folder" if shows_folders() else "", partial(self.show_in_folder, path)
        self.message.emit(UserMessage("Exported", str(path), remedy, show, "information", path=str(path)))

    def _not_written(self, error: Exception) -> None:
        remedy = " Choose another path." if isinstance(error, OSError) else ""
        self.message.emit(UserMessage("The export could not be written", sentence(error) + remedy))


_SAME = "Exporting the same figure again creates an identical file."
_TEXT = f"Text in the figure is stored as text, not as outlines. {_SAME}"
# The title of each format in the dialog's list of formats, and a note that describes the format.
_FORMATS = {
    "pdf": ("PDF (for printing)", _TEXT),
    "svg": ("SVG (for editing)", _TEXT),
    "png": ("PNG (300 dots per inch)", _SAME),
    "csv": ("CSV (numbers only)", "Numbers are written with full precision."),
    "gif": ("GIF (256 colours)", "Most programs can display this format. Each frame has at most 256 colours."),
    "tex": ("LaTeX (table)", "The table is a LaTeX float with notes in its caption."),
    "md": ("Markdown (table)", "Notes are written below the table."),
    "bundle": (
        "Bundle (figure and script)",
        "The bundle is the chosen folder if it is empty, or else a new folder inside it. It contains the figure, its "
        "numbers, the command line and a script. Open the bundle to restore the data, parameters and view.",
    ),
}
_TEXTS = ("csv", "tex", "md")
# Maximum size of the dialog, in pixels and as a fraction of the window's size, and width in pixels of the column with
# the controls.
_SIZE, _SHARE, _CHOICES_WIDTH = (1400, 920), 0.94, 308
# Largest resolution, in dots per inch, at which small text would be illegible. The preview is then drawn at twice its
# size and scaled down.
_FINE = 100
_REST_MILLISECONDS = 120  # Time without a change of the settings after which the preview is redrawn.


class ExportDialog(QDialog):
    """The dialog for exports, created once per window. The dialog is accepted when the user has chosen a path.

    Attributes
    ----------
    options : tuple of ExportOption
        The figures and tables from which the user can choose. Empty while the dialog is closed.
    path : Path
        Path of the file to write or, for a bundle of figure and script, of the folder to write.
    """

    def __init__(self, queue: JobQueue, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.options: tuple[ExportOption, ...] = ()
        self.path = Path()
        self._export: FigureExport | None = None
        self._queue, self._settings = queue, settings
        self._arrange()
        self.preview = self._paper.picture
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rest.timeout.connect(self._request_preview)
        self.figure_box.currentIndexChanged.connect(self._choose_figure)
        for box in (self.format_box, self.width_box, self._levels, self._colors):
            box.currentIndexChanged.connect(self._changed)
        self.bias_box.toggled.connect(self._changed)
        self._paper.resized.connect(self._drawn_anew)
        self.finished.connect(self._end)

    def _arrange(self) -> None:
        layout = flush(QHBoxLayout(self), 12, (16, 16, 16, 16))
        self._paper = placed(layout, FigurePreview(self), 1)
        side = placed(layout, QWidget(self))
        side.setFixedWidth(_CHOICES_WIDTH)
        left = flush(QVBoxLayout(side), 16)
        self._form = nested(left, QFormLayout(), spacing=8)
        self.figure_box, self.format_box = self._add_box("Figure"), self._add_box("Format")
        self.width_box, self._levels = self._add_box("Width"), self._add_box("Colour limits")
        self._colors = self._add_box("Colour map")
        names = {"one-and-a-half": "1½ columns", "slide": "slide, 16:9"}
        _fill(self.width_box, {key: f"{names.get(key, f'{key} column')} ({mm:.0f} mm)" for key, mm in WIDTHS.items()})
        add_choices(self._levels, LEVELS.values())
        _fill(self._colors, {key: MAPS[key] for key in (*DIVERGING, "jet")})
        self.bias_box = QCheckBox("Show biases below tiles", self)
        self._form.addRow("", self.bias_box)
        buttons = QDialogButtonBox(self)
        self.save_button = save = buttons.addButton("Choose path…", QDialogButtonBox.ButtonRole.AcceptRole)
        set_look(save, "kind", "primary")
        save.setDefault(True)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel).setIcon(QIcon())
        buttons.accepted.connect(self._choose_path)
        buttons.rejected.connect(self.reject)
        left.addStretch(1)
        self._note = placed(left, label("", self, wraps=True))
        left.addWidget(buttons)

    def _add_box(self, name: str) -> QComboBox:
        # An `ElidedBox` shortens long entries. Without it, a long entry would leave too little space for the form's
        # labels.
        box = ElidedBox(self, name, least=8)
        self._form.addRow(name, box)
        return box

    def ask(self, options: Sequence[ExportOption]) -> None:
        """Open the dialog to export one of `options`, of which there must be at least one."""
        self.options = tuple(options)
        titles = [option.title for option in self.options]
        _fill(self.figure_box, {str(number): f"{text[:1].upper()}{text[1:]}" for number, text in enumerate(titles)})
        self._form.setRowVisible(self.figure_box, len(self.options) > 1)
        self._choose_figure()
        _choose(self.width_box, self._settings.value("export/width", "double"))
        self.bias_box.setChecked(False)
        self._enlarge()
        (self.figure_box if len(self.options) > 1 else self.format_box).setFocus()
        self.open()

    def _enlarge(self) -> None:
        """Enlarge the dialog so that the preview has more space, but keep it smaller than the window."""
        window = self.parentWidget()
        if self._paper.isHidden() or window is None:
            self.adjustSize()
        else:
            self.resize(*(min(most, round(_SHARE * n)) for most, n in zip(_SIZE, window.size().toTuple(), strict=True)))

    # Choices ----------------------------------------------------------------------------------------------------

    def _option(self) -> ExportOption:
        return self.options[self.figure_box.currentIndex()]

    @Slot()
    def _choose_figure(self) -> None:
        """Show the formats, the initial style and the preview of the selected figure."""
        if not self.options:  # The dialog was closed while a combo box was open, so there is nothing to show.
            return
        option = self._option()
        self.setWindowTitle(f"Export {option.title}")
        self._export = None
        kind = self._settings.value("export/format", "pdf")
        _fill(self.format_box, {kind: _FORMATS[kind][0] for kind in option.kinds}, kind)
        _choose(self._levels, option.style.levels)
        _choose(self._colors, option.style.colors)
        for row in (self._levels, self._colors, self.bias_box):
            self._form.setRowVisible(row, option.of_weights)
        self._paper.setVisible(option.kinds != TABLE)
        self._paper.show_text("drawing…")
        self._changed()

    @Slot()
    def _changed(self) -> None:
        if not self.options:
            return
        kind = self.kind()
        self._form.setRowVisible(self.width_box, kind not in _TEXTS)
        self._note.setText(" ".join(filter(None, [self._option().about, _FORMATS[kind][1]])))
        self._drawn_anew()

    @Slot()
    def _drawn_anew(self) -> None:
        if self.options and not self._paper.isHidden():
            self._rest.start()

    def kind(self) -> str:
        """Return the selected export format, such as "pdf"."""
        return str(self.format_box.currentData())

    def drawing(self) -> "Callable[[Progress], FigureExport]":
        """Return a function that returns the selected figure.

        The function computes the figure only if it was not computed for the preview.
        """
        ready = self._export
        return self._option().export if ready is None else lambda _progress: ready

    def style_chosen(self) -> Style:
        """Return the style that the user has selected for the figure."""
        option, changes = self._option(), {"width": self.width_box.currentData()}
        if option.kinds == ANIMATION:
            changes["dpi"] = ANIMATION_DPI
        if option.of_weights:
            colors, levels = self._colors.currentData(), self._levels.currentData()
            changes |= {"colors": colors, "levels": levels, "bias": self.bias_box.isChecked()}
        return replace(option.style, **changes)

    # Preview ----------------------------------------------------------------------------------------------------

    @Slot()
    def _request_preview(self) -> None:
        option, ready, style = self._option(), self._export, self.style_chosen()
        wanted = self._paper.dots(style) * self.devicePixelRatioF()
        dots = min(max(round(wanted if wanted > _FINE else 2 * wanted), 50), 1200)

        def work(progress: Progress) -> tuple[ExportOption, "FigureExport", bytes, float]:
            from slide_gui.figures.export import figure_bytes

            export = option.export(progress) if ready is None else ready
            draw, small = export.draw, replace(style, dpi=dots)
            assert draw is not None
            # Reporting progress allows the job to be cancelled. No cancellation is possible during the drawing.
            progress.report(0.5)
            return option, export, figure_bytes(lambda figure: draw(figure, small), ".png", small), wanted / dots

        self._queue.submit(
            "Drawing a preview", work, channel="preview", on_result=self._previewed, on_failure=self._not_previewed
        )

    def _previewed(self, drawn: "tuple[ExportOption, FigureExport, bytes, float]") -> None:
        option, export, content, share = drawn
        if self.options and option is self._option():
            self._export = export
            pixels = QPixmap()
            pixels.loadFromData(content, "PNG")
            if share < 1:
                smooth = Qt.TransformationMode.SmoothTransformation
                pixels = pixels.scaled(pixels.size() * share, Qt.AspectRatioMode.KeepAspectRatio, smooth)
            self._paper.show_picture(pixels, self.devicePixelRatioF(), self.style_chosen().width_mm)

    def _not_previewed(self, error: Exception) -> None:
        self._paper.show_text(sentence(error))

    @Slot()
    def _end(self) -> None:
        """Cancel the job that draws the preview, and release the memory of the figure."""
        self._rest.stop()
        self._queue.cancel(channel="preview")
        self.options, self._export = (), None

    # Path -------------------------------------------------------------------------------------------------------

    @Slot()
    def _choose_path(self) -> None:
        if not self.options:  # The dialog was closed while this button was being pressed, so nothing is exported.
            return
        kind, option = self.kind(), self._option()
        folder = Path(str(self._settings.value("folder/export", "")))
        folder = folder if folder.is_absolute() and folder.is_dir() else Path.home()
        path = self._ask_for_folder(folder) if kind == "bundle" else self._ask_for_file(folder, kind)
        if path is None or not self.options:  # The user cancelled, or the export dialog was closed in the meantime.
            return
        self._settings.setValue("folder/export", str(path.parent))
        if len(option.kinds) > 1:
            self._settings.setValue("export/format", kind)
        self._settings.setValue("export/width", self.width_box.currentData())
        self.path = path
        self.accept()

    def _ask_for_folder(self, folder: Path) -> Path | None:
        """Ask for a folder. Return it if it is new or empty; otherwise return the path of a new folder inside it."""
        name = QFileDialog.getExistingDirectory(self, f"Folder in which to create “{self._option().name}”", str(folder))
        if not name:
            return None
        chosen = Path(name)
        is_used = chosen.exists() and (not chosen.is_dir() or any(chosen.iterdir()))
        return unused(chosen / self._option().name) if is_used else chosen

    def _ask_for_file(self, folder: Path, kind: str) -> Path | None:
        """Ask for a path. Return the path of a new file, or of an existing file that the user agreed to overwrite."""
        suggestion = unused(folder / f"{self._option().name}.{kind}")
        name, _ = QFileDialog.getSaveFileName(self, "Export as", str(suggestion), f"{kind.upper()} (*.{kind})")
        if not name or Path(name).suffix.lower() == f".{kind}":
            return Path(name) if name else None
        # The user typed the name without the suffix, so the file dialog did not ask whether to overwrite this file.
        return unused(Path(f"{name}.{kind}"))


def _fill(box: QComboBox, choices: dict[str, str], chosen: object = None) -> None:
    """Replace the entries of a combo box with `choices` (key → text), and select `chosen` without emitting a signal."""
    with QSignalBlocker(box):
        box.clear()
        for key, title in choices.items():
            box.addItem(title, key)
        _choose(box, chosen)


def _choose(box: QComboBox, key: object) -> None:
    """Select the combo box entry with this key, or the first entry if no entry has this key."""
    box.setCurrentIndex(max(box.findData(key), 0))
