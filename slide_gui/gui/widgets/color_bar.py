"""A colour bar with the values of a colour scale."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen, QResizeEvent, QTransform
from PySide6.QtWidgets import QAbstractScrollArea, QSizePolicy, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE, colour_table, frame, write
from slide_gui.gui.widgets.tiles import ImageLayout

BAR, TICK, FOOT, BESIDE = 12, 4, 8, 12
LINE = 16
_HORIZONTAL_HEIGHT = LINE + BAR + TICK + LINE + 2
HEAD = 28
"""Height of the note of an upright bar in pixels."""


class ColorBar(QWidget):
    """A bar with signed ticks, and a note above it if the limits differ between tiles.

    Parameters
    ----------
    horizontal : bool
        True for a horizontal bar, with its ticks below it.

    Attributes
    ----------
    scale : ColorScale or None
        The colour scale shown.
    """

    def __init__(self, parent: QWidget | None = None, *, horizontal: bool = False) -> None:
        super().__init__(parent)
        self._horizontal = horizontal
        self.scale: ColorScale | None = None
        self._note = ""
        self._labels: tuple[str, ...] = ()
        policies = QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding
        self.setSizePolicy(*(policies[::-1] if horizontal else policies))
        self.setAccessibleName("Colour scale")

    def set_scale(self, scale: ColorScale | None, note: str = "", labels: tuple[str, ...] = ()) -> None:
        """Show a colour scale.

        Parameters
        ----------
        scale : ColorScale or None
            None leaves an empty frame with the note.
        note : str
            Note above the bar, at most two short lines such as "per layer".
        labels : tuple of str
            Labels that replace the values, evenly spaced from the lower to the upper limit, such as
            ``("−max", "0", "+max")`` if every tile has its own limits.
        """
        width = self.sizeHint().width()
        self.scale, self._note, self._labels = scale, note, labels
        if self.sizeHint().width() != width:
            self.updateGeometry()
        ends = "" if scale is None else f"{scale.label(scale.low)} to {scale.label(scale.high)}"
        self.setAccessibleDescription(" ".join(filter(None, (note, " ".join(labels) or ends))))
        self.update()

    def sizeHint(self) -> QSize:
        advance = QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance
        if self._horizontal:
            return QSize(200, _HORIZONTAL_HEIGHT)
        widest = max(map(advance, self._labels), default=0.0)
        return QSize(max(68, math.ceil(self.bar().right() + TICK + 5 + widest)), 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, _HORIZONTAL_HEIGHT) if self._horizontal else QSize(self.sizeHint().width(), 120)

    def bar(self) -> QRectF:
        """Return the rectangle of the colours; the space of the note is always reserved."""
        if self._horizontal:
            return QRectF(2, LINE, max(self.width() - 4, 1), BAR)
        return QRectF(2, HEAD, BAR, max(self.height() - HEAD - FOOT, 1))

    def position_of(self, value: float) -> float:
        """Return the position of a value along the bar: its height, or its distance from the left."""
        box = self.bar()
        share = 0.5 if self.scale is None else (value - self.scale.low) / (self.scale.high - self.scale.low)
        return box.left() + share * box.width() if self._horizontal else box.bottom() - share * box.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, box = theme_of(self), self.bar()
        note = QRectF(2, 0, self.width() - 2, LINE if self._horizontal else HEAD)
        wrapped = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap)
        with QPainter(self) as painter:
            write(painter, note, wrapped, self._note, theme.muted, figure_font(self, SECONDARY))
            if self.scale is not None:
                ramp = _ramp(self.scale)
                painter.drawImage(box, ramp.transformed(QTransform().rotate(90)) if self._horizontal else ramp)
                self._paint_ticks(painter)
            frame(painter, box, theme.line)

    def _paint_ticks(self, painter: QPainter) -> None:
        theme, box, scale = theme_of(self), self.bar(), self.scale
        assert scale is not None
        if self._labels:
            step = (scale.high - scale.low) / max(len(self._labels) - 1, 1)
            ticks = [(scale.low + i * step, text) for i, text in enumerate(self._labels)]
        else:
            ticks = [(value, scale.label(value)) for value in scale.ticks(7)]
        metrics = painter.fontMetrics()
        for value, text in ticks:
            place = round(self.position_of(value)) + 0.5
            painter.setPen(QPen(QColor(theme.muted), 1.0))
            if self._horizontal:
                wide, low = metrics.horizontalAdvance(text), box.bottom() + 1
                painter.drawLine(QPointF(place, low), QPointF(place, low + TICK))
                left = min(max(place - wide / 2, 2), self.width() - wide - 2)
                painter.drawText(QRectF(left, low + TICK, wide + 1, LINE), MIDDLE, text)
            else:
                painter.drawLine(QPointF(box.right() + 1, place), QPointF(box.right() + 1 + TICK, place))
                painter.drawText(QRectF(box.right() + TICK + 5, place - 8, self.width(), 16), MIDDLE, text)


class BesideColorBar(QWidget):
    """Images with a colour bar to their right, which are placed here because their width depends on their height.

    Parameters
    ----------
    content : QWidget
        Images, or the scroll area that contains them.
    layout_of : callable
        Return the geometry of the images for a width.
    """

    def __init__(self, content: QWidget, layout_of: Callable[[int], ImageLayout], parent: QWidget) -> None:
        super().__init__(parent)
        self._content, self._layout_of, self._bar = content, layout_of, ColorBar(self)
        content.setParent(self)
        self.setSizePolicy(content.sizePolicy())

    def set_scale(self, scale: ColorScale, note: str = "", labels: tuple[str, ...] = ()) -> None:
        """Show the scale of the images, as in `ColorBar.set_scale`."""
        self._bar.set_scale(scale, note, labels)
        self._arrange()

    def sizeHint(self) -> QSize:
        return self._content.sizeHint() + QSize(self._outer_width, 0)

    def minimumSizeHint(self) -> QSize:
        return self._content.minimumSizeHint() + QSize(self._outer_width, 0)

    @property
    def _outer_width(self) -> int:
        return self._bar.sizeHint().width() + BESIDE

    def _arrange(self) -> None:
        content = self._content
        scrolled = content.verticalScrollBar().sizeHint().width() if isinstance(content, QAbstractScrollArea) else 0
        content.resize(content.width(), self.height())
        most = max(self.width() - self._outer_width, 1)
        layout = self._layout_of(max(most - scrolled, 1))
        width = min(math.ceil(layout.needed) + scrolled, most)
        content.resize(width, self.height())
        length = max(min(math.ceil(layout.lowest) + FOOT, self.height()), self._bar.minimumSizeHint().height())
        self._bar.setGeometry(width + BESIDE, 0, self._bar.sizeHint().width(), length)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # the images were rearranged
            self._arrange()
        return super().event(event)


def _ramp(scale: ColorScale) -> QImage:
    """Return the colours from the upper limit down, one pixel each; entry 0 is reserved for missing values."""
    table = colour_table(scale)[:0:-1].copy()
    return QImage(table.data, 1, table.size, 4, QImage.Format.Format_RGB32).copy()
