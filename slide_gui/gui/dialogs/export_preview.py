"""A scrollable preview of an export at a legible size."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPixmap, QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.widgets.controls import label

# Resolution, in dots per inch, at which the smallest text in a figure for print (5 points) is 8 pixels high.
_LEGIBLE = 116
_MM_PER_INCH = 25.4


class FigurePreview(QScrollArea):
    """A scroll area with the picture of a figure.

    The picture fills the available width, or is wider if its text would otherwise be illegible.

    Signals
    -------
    resized()
        The size of the scroll area changed. If this changes the result of `dots`, the figure must be redrawn.
    """

    resized = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, widgetResizable=True)
        self.picture = label("", self, "preview", wraps=True, accessibleName="Preview")
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWidget(self.picture)
        self.setAccessibleName("Scrollable preview")

    def dots(self, style: Style) -> float:
        """Return the resolution, in dots per inch, at which to draw a figure of this style for the screen."""
        room = self.maximumViewportSize().width() - self.verticalScrollBar().sizeHint().width() - 2
        legible = _LEGIBLE / style.scale
        return max(min(room * _MM_PER_INCH / style.width_mm, 2 * legible), legible)

    def show_picture(self, pixels: QPixmap, ratio: float, width_mm: float) -> None:
        """Show a drawn figure, with its size in print as the tooltip. `ratio` is the screen's device pixel ratio."""
        pixels.setDevicePixelRatio(ratio)
        self.picture.setPixmap(pixels)
        self.picture.setMinimumSize(pixels.deviceIndependentSize().toSize())
        size = f"{width_mm:.0f} × {width_mm * pixels.height() / pixels.width():.0f} mm"
        self.picture.setToolTip(size)
        self.picture.setAccessibleDescription(size)

    def show_text(self, text: str) -> None:
        """Show a message instead of the picture."""
        self.picture.setMinimumSize(0, 0)
        self.picture.setText(text)
        # Resize the picture here, because Qt does so only while the dialog is visible.
        self.picture.resize(self.viewport().size())
        self.picture.setToolTip("")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()
