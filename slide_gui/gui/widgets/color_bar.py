"""A colour bar with the values of a colour scale."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QHBoxLayout, QSizePolicy, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.painted import colour_table, frame
from slide_gui.gui.widgets.tiles import ImageLayout

BAR, TICK, FOOT, BESIDE = 12, 4, 8, 12
HEAD = 28
"""Height of the note in pixels; the bar is aligned with the first row of `WeightTiles`."""


class ColorBar(QWidget):
    """A vertical bar with signed ticks, and a note above it if the limits differ between tiles."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scale: ColorScale | None = None
        """The colour scale shown."""
        self._note, self._head = "", HEAD
        self._labels: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
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
        widest = max(map(advance, self._labels), default=0.0)
        return QSize(max(68, math.ceil(self.bar().right() + TICK + 5 + widest)), 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.sizeHint().width(), 120)

    def set_head(self, height: int) -> None:
        """Set the height at which the bar begins, below the note."""
        if height != self._head:
            self._head = height
            self.update()

    def bar(self) -> QRectF:
        """Return the rectangle of the colours; the space of the note is always reserved."""
        return QRectF(2, self._head, BAR, max(self.height() - self._head - FOOT, 1))

    def y_of(self, value: float) -> float:
        """Return the vertical position of a value."""
        box = self.bar()
        if self.scale is None:
            return box.center().y()
        share = (value - self.scale.low) / (self.scale.high - self.scale.low)
        return box.bottom() - share * box.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, box = theme_of(self), self.bar()
        painter = QPainter(self)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        note = QRectF(2, self._head - HEAD, self.width() - 2, HEAD)
        painter.drawText(note, int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap), self._note)
        if self.scale is not None:
            painter.drawImage(box, _ramp(self.scale))
            self._paint_ticks(painter)
        frame(painter, box, theme.line)
        painter.end()

    def _paint_ticks(self, painter: QPainter) -> None:
        theme, box, scale = theme_of(self), self.bar(), self.scale
        assert scale is not None
        if self._labels:
            step = (scale.high - scale.low) / max(len(self._labels) - 1, 1)
            ticks = [(scale.low + i * step, text) for i, text in enumerate(self._labels)]
        else:
            ticks = [(value, scale.label(value)) for value in scale.ticks(7)]
        for value, text in ticks:
            y = round(self.y_of(value)) + 0.5
            painter.setPen(QPen(QColor(theme.muted), 1.0))
            painter.drawLine(QPointF(box.right() + 1, y), QPointF(box.right() + 1 + TICK, y))
            place = QRectF(box.right() + TICK + 5, y - 8, self.width(), 16)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)


class BesideColorBar(QWidget):
    """Images with a colour bar to their right.

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
        row = flush(QHBoxLayout(self), BESIDE)
        row.addWidget(content, 1000)  # the images take all the width they can use, and the rest follows the bar
        row.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignTop)
        row.addStretch(1)

    def set_scale(self, scale: ColorScale, note: str = "", labels: tuple[str, ...] = ()) -> None:
        """Show the scale of the images, as in `ColorBar.set_scale`."""
        self._bar.set_scale(scale, note, labels)
        self._limit_width()

    @property
    def outer_width(self) -> int:
        """Return the width outside the images: the bar, the gap and the scroll bar."""
        return self._bar.sizeHint().width() + BESIDE + self._scroll_bar()

    def _scroll_bar(self) -> int:
        content = self._content
        return content.verticalScrollBar().sizeHint().width() if isinstance(content, QAbstractScrollArea) else 0

    def _limit_width(self) -> None:
        layout = self._layout_of(max(self.width() - self.outer_width, 1))
        self._content.setMaximumWidth(math.ceil(layout.needed) + self._scroll_bar())
        lowest = math.ceil(layout.lowest) + FOOT
        self._bar.setFixedHeight(max(min(lowest, self.height()), self._bar.minimumSizeHint().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._limit_width()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # the images were rearranged
            self._limit_width()
        return super().event(event)


def _ramp(scale: ColorScale) -> QImage:
    """Return the colours from the upper limit down, one pixel each; entry 0 is reserved for missing values."""
    table = colour_table(scale)[:0:-1].copy()
    return QImage(table.data, 1, table.size, 4, QImage.Format.Format_RGB32).copy()
