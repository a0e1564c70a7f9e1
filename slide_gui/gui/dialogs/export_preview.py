"""The preview of an export, at a legible size, with zoom and scrolling."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPixmap, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.widgets.controls import add_button, label
from slide_gui.gui.widgets.layouts import flush, nested

_LEGIBLE = 116  # dots per inch at which type of 5 points, the smallest of a printed column, is 8 pixels high
_LARGEST = 3.0  # largest zoom relative to the legible size
_SMALLEST_DOTS = 25
_STEP = 1.25
_MM_PER_INCH = 25.4


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
        whole = add_button(self, row, "Whole figure", "Fit the figure into the window")
        legible = add_button(self, row, "Legible", "Enlarge until the smallest type is legible")
        self._smaller = add_button(self, row, "−", "Zoom out (Ctrl+wheel)")
        self._larger = add_button(self, row, "+", "Zoom in (Ctrl+wheel)")
        self._smaller.setAccessibleName("Smaller")
        self._larger.setAccessibleName("Larger")
        self._shown_size = (0.0, 0.0)  # size of the figure in mm; the height is known after drawing
        self._type = 1.0
        self._zoom: float | None = None  # dots per inch chosen by the user; 0 fits the figure into the window
        whole.clicked.connect(self._fit)
        legible.clicked.connect(self._make_legible)
        self._smaller.clicked.connect(self._shrink)
        self._larger.clicked.connect(self._enlarge)
        self._area.turned.connect(self._turn)

    def set_style(self, style: Style) -> None:
        """Set the style of the next figure."""
        height = style.height_mm or self._shown_size[1]
        self._shown_size, self._type = (style.width_mm, height), style.scale

    def start(self) -> None:
        """Prepare for a new figure."""
        self._zoom, self._shown_size = None, (self._shown_size[0], 0.0)

    def dots(self) -> float:
        """Return the dots per inch of the screen for drawing the figure."""
        width, height = self._shown_size
        room = self._area.maximumViewportSize()
        by_width = (room.width() - 2) * _MM_PER_INCH / max(width, 1.0)
        by_height = (room.height() - 2) * _MM_PER_INCH / height if height else by_width
        legible = _LEGIBLE / self._type
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
        dots = width * _MM_PER_INCH / max(self._shown_size[0], 1.0)
        self._shown_size = (self._shown_size[0], height * _MM_PER_INCH / dots)
        self.picture.setPixmap(pixels)
        self.picture.setMinimumSize(round(width), round(height))
        across, high = self._shown_size
        text = f"{across:.0f} × {high:.0f} mm, shown at {dots / 96:.0%}"
        self._scale.setText(text)
        legible = _LEGIBLE / self._type
        self._smaller.setEnabled(dots > _SMALLEST_DOTS + 1)
        self._larger.setEnabled(dots < _LARGEST * legible - 1)

    def show_text(self, text: str) -> None:
        """Show a text instead of a picture."""
        self.picture.setMinimumSize(0, 0)
        self.picture.setText(text)
        self._scale.clear()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._zoom:
            self.zoomed.emit()

    @Slot()
    def _fit(self) -> None:
        self._zoom = 0.0
        self.zoomed.emit()

    @Slot()
    def _make_legible(self) -> None:
        self._zoom = _LEGIBLE / self._type
        self.zoomed.emit()

    @Slot()
    def _enlarge(self) -> None:
        self._turn(1)

    @Slot()
    def _shrink(self) -> None:
        self._turn(-1)

    @Slot(int)
    def _turn(self, steps: int) -> None:
        self._zoom = min(max(self.dots() * _STEP**steps, _SMALLEST_DOTS), _LARGEST * _LEGIBLE / self._type)
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
