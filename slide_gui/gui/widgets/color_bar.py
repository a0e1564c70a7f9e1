"""A colour bar: the colours of a colour scale, with labelled ticks."""

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE, colour_table, frame, write

_BAR, _TICK, _LINE, _EDGE = 12, 4, 16, 2
_WIDTH = 200  # Preferred width of a colour bar in pixels.


class ColorBar(QWidget):
    """A horizontal colour bar with labelled ticks below it and a short note, such as "per tile", to its left.

    Attributes
    ----------
    scale : ColorScale or None
        The displayed colour scale; None if the bar is empty.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, accessibleName="Colour scale")
        self.scale: ColorScale | None = None
        self._note = ""
        self._labels: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_scale(self, scale: ColorScale | None, note: str = "", labels: tuple[str, ...] = ()) -> None:
        """Show a colour scale.

        Parameters
        ----------
        scale : ColorScale or None
            The colour scale to show, or None to show an empty frame with the note.
        note : str
            Text to the left of the bar. It says to which images the colour limits apply, such as "per tile", or names
            the displayed quantity.
        labels : tuple of str
            Labels of the ticks, evenly spaced from the lower to the upper limit. An example is ``("−limit", "0",
            "+limit")`` for tiles with different colour limits, to which no single set of numbers applies. By default,
            the ticks are labelled with values.
        """
        self.scale, self._note, self._labels = scale, note, labels
        ends = "" if scale is None else f"{scale.label(scale.low)} to {scale.label(scale.high)}"
        self.setAccessibleDescription(" ".join(filter(None, (note, " ".join(labels) or ends))))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, _BAR + _TICK + _LINE + _EDGE)

    def bar(self) -> QRectF:
        """Return the rectangle in which the colours are drawn."""
        note = QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance(self._note)
        left = _EDGE + (note + 8 if note else 0)
        return QRectF(left, _EDGE, max(self.width() - left - _EDGE, 1), _BAR)

    def position_of(self, value: float) -> float:
        """Return the x coordinate of a value on the bar."""
        box = self.bar()
        share = 0.5 if self.scale is None else (value - self.scale.low) / (self.scale.high - self.scale.low)
        return box.left() + share * box.width()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, box = theme_of(self), self.bar()
        with QPainter(self) as painter:
            note = QRectF(_EDGE, 0, box.left(), _BAR + 2 * _EDGE)
            write(painter, note, MIDDLE, self._note, theme.muted, figure_font(self, SECONDARY))
            if self.scale is not None:
                # Entry 0 of the colour table is the colour of missing values, which the bar does not show.
                colours = colour_table(self.scale)[1:].copy()
                picture = QImage(colours.data, colours.size, 1, 4 * colours.size, QImage.Format.Format_RGB32)
                painter.drawImage(box, picture)
                self._paint_ticks(painter, self.scale)
            frame(painter, box, theme.line)

    def _paint_ticks(self, painter: QPainter, scale: ColorScale) -> None:
        step = (scale.high - scale.low) / max(len(self._labels) - 1, 1)
        ticks = [(scale.low + i * step, text) for i, text in enumerate(self._labels)]
        metrics, low = painter.fontMetrics(), self.bar().bottom() + 1
        painter.setPen(QPen(QColor(theme_of(self).muted), 1.0))
        for value, text in ticks or [(value, scale.label(value)) for value in scale.ticks(3)]:
            place, wide = round(self.position_of(value)) + 0.5, metrics.horizontalAdvance(text)
            painter.drawLine(QPointF(place, low), QPointF(place, low + _TICK))
            left = min(max(place - wide / 2, 0), self.width() - wide - _EDGE)
            painter.drawText(QRectF(left, low + _TICK, wide + 1, _LINE), MIDDLE, text)
