"""The preview of an export, at a legible size, with zoom and scrolling."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPixmap, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.widgets.controls import add_button, label
from slide_gui.gui.widgets.layouts import flush, nested

_LEGIBLE = 116  # dots per inch at which type of 5 points, the smallest of a printed column, is 8 pixels high
_LARGEST = 3.0  # largest zoom relative to the legible size
_SMALLEST_DOTS = 25
_STEP = 1.25
_MM_PER_INCH = 25.4
_ZOOMS = (
    ("Whole figure", "Fit the figure into the window", ""),
    ("Legible", "Enlarge until the smallest type is legible", ""),
    ("−", "Zoom out (Ctrl+wheel)", "Smaller"),
    ("+", "Zoom in (Ctrl+wheel)", "Larger"),
)
_SMALLER, _LARGER = 2, 3  # numbers of the buttons


class FigurePreview(QWidget):
    """The picture of a figure; it determines the dots per inch for drawing it.

    At first the figure fills the available width, or is larger if its type would not be legible.

    Signals
    -------
    zoomed()
        Other `dots` are needed.
    """

    zoomed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.picture = label("", self, "preview", wraps=True)
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture.setAccessibleName("Preview")
        self._area = _ZoomArea(self)
        self._area.setWidget(self.picture)
        self._area.setWidgetResizable(True)
        self._area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._area.setAccessibleName("Preview, to be scrolled")
        column = flush(QVBoxLayout(self), 8)
        column.addWidget(self._area, 1)
        row = nested(column, QHBoxLayout(), spacing=8)
        self._scale = label("", self)
        row.addWidget(self._scale, 1)
        self._style = Style()
        self._height = 0.0  # in mm, known after drawing
        self._zoom: float | None = None  # dots per inch chosen by the user; 0 fits the figure into the window
        zooms = QButtonGroup(self)
        for number, (text, tip, name) in enumerate(_ZOOMS):
            button = add_button(self, row, text, tip)
            button.setAccessibleName(name)
            zooms.addButton(button, number)
        self._smaller, self._larger = zooms.button(_SMALLER), zooms.button(_LARGER)
        zooms.idClicked.connect(self._choose_zoom)
        self._area.turned.connect(self._turn)

    def set_style(self, style: Style) -> None:
        """Set the style of the next figure."""
        self._style = style

    def start(self) -> None:
        """Prepare for a new figure."""
        self._zoom, self._height = None, 0.0

    def _legible(self) -> float:
        return _LEGIBLE / self._style.scale

    def dots(self) -> float:
        """Return the dots per inch of the screen for drawing the figure."""
        height, legible = self._style.height_mm or self._height, self._legible()
        room = self._area.maximumViewportSize()
        by_width = (room.width() - 2) * _MM_PER_INCH / self._style.width_mm
        by_height = (room.height() - 2) * _MM_PER_INCH / height if height else by_width
        if self._zoom is None:
            bar = self._area.verticalScrollBar().sizeHint().width()
            wanted = max(min(by_width * (1 - bar / max(room.width(), 1)), 2 * legible), legible)
        else:
            wanted = self._zoom or min(by_width, by_height)
        return min(max(wanted, _SMALLEST_DOTS), _LARGEST * legible)

    def show_picture(self, pixels: QPixmap, ratio: float) -> None:
        """Show a drawn figure, which has `ratio` pixels per logical pixel."""
        pixels.setDevicePixelRatio(ratio)
        width, height = pixels.width() / ratio, pixels.height() / ratio
        dots = width * _MM_PER_INCH / self._style.width_mm
        self._height = height * _MM_PER_INCH / dots
        self.picture.setPixmap(pixels)
        self.picture.setMinimumSize(round(width), round(height))
        self._scale.setText(f"{self._style.width_mm:.0f} × {self._height:.0f} mm, shown at {dots / 96:.0%}")
        self._smaller.setEnabled(dots > _SMALLEST_DOTS + 1)
        self._larger.setEnabled(dots < _LARGEST * self._legible() - 1)

    def show_text(self, text: str) -> None:
        """Show a text instead of a picture."""
        self.picture.setMinimumSize(0, 0)
        self.picture.setText(text)
        self._scale.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._zoom:
            self.zoomed.emit()

    @Slot(int)
    def _choose_zoom(self, button: int) -> None:
        if button in (_SMALLER, _LARGER):
            self._turn(1 if button == _LARGER else -1)
        else:
            self._zoom = self._legible() if button else 0.0
            self.zoomed.emit()

    @Slot(int)
    def _turn(self, steps: int) -> None:
        self._zoom = min(max(self.dots() * _STEP**steps, _SMALLEST_DOTS), _LARGEST * self._legible())
        self.zoomed.emit()


class _ZoomArea(QScrollArea):
    """A scroll area that a drag scrolls too; the wheel with Ctrl zooms.

    Signals
    -------
    turned(int)
        Steps of the wheel with Ctrl, positive away from the user.
    """

    turned = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._grip: QPoint | None = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.turned.emit(1 if event.angleDelta().y() > 0 else -1)
            event.accept()
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grip = event.position().toPoint()
        self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is not None:
            moved, self._grip = event.position().toPoint() - self._grip, event.position().toPoint()
            self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() - moved.x())
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() - moved.y())

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._grip = None
        self.viewport().unsetCursor()
