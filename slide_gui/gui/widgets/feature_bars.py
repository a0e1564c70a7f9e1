"""One sample of data that are no picture: its values as bars, hovered, clicked and pinned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import STALE, Picker, focus_ring, frame, washed

__all__ = ["FeatureBars"]

MARGIN, FOOT = 4, 18


class FeatureBars(Picker):
    """Values along their index, as bars from the zero line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float32] = np.zeros(0, np.float32)
        self._names: tuple[str, ...] = ()
        self._stale = False
        self.setMinimumSize(64, 72)
        self.setAccessibleName("Features")

    def sizeHint(self) -> QSize:
        return QSize(260, 160)

    def set_values(self, values: NDArray[np.float32], names: tuple[str, ...] = (), stale: bool = False) -> None:
        """Show a sample.

        Parameters
        ----------
        values : ndarray of shape (d,), float32
        names : tuple of str
            What each feature is called, for the line under the bars; empty for its number.
        stale : bool
            Greyed, because a newer sample is on its way.
        """
        self._values, self._names, self._stale = values, names, stale
        self._set_count(values.size)

    def plot(self) -> QRectF:
        """Return where the bars stand."""
        return QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN - FOOT)

    def _at(self, point: QPointF) -> int | None:
        box = self.plot()
        if not (self._count and box.contains(point)):
            return None
        return min(int((point.x() - box.x()) / box.width() * self._count), self._count - 1)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        if not self._count:
            return None
        index = self.cursor_index
        return self._count // 2 if index is None else min(max(index + step[1] - step[0], 0), self._count - 1)

    def bar(self, index: int) -> QRectF:
        """Return the full-height column of one value."""
        box, width = self.plot(), self.plot().width() / max(self._count, 1)
        return QRectF(box.x() + index * width, box.y(), width, box.height())

    def _height_of(self, value: float) -> float:
        """Return the vertical place of a value; the limits always contain zero."""
        box = self.plot()
        low = min(0.0, float(np.nanmin(self._values)))
        high = max(0.0, float(np.nanmax(self._values)), low + 1e-12)
        return box.bottom() - (value - low) / (high - low) * box.height()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, box = theme_of(self), self.plot()
        painter = QPainter(self)
        painter.fillRect(box, QColor(theme.paper))
        frame(painter, box, theme.line)
        if self._count and np.isfinite(self._values).any():
            painter.setOpacity(STALE if self._stale else 1.0)
            self._paint_bars(painter)
            painter.setOpacity(1.0)
            self._paint_marks(painter)
        focus_ring(painter, self, box)
        painter.end()

    def _paint_bars(self, painter: QPainter) -> None:
        theme, zero = theme_of(self), self._height_of(0.0)
        gap = 1.0 if self.bar(0).width() >= 4.0 else 0.0
        colour = washed(theme.ink, 0.75)
        for index, value in enumerate(self._values.tolist()):
            if value == value:
                top, column = self._height_of(value), self.bar(index)
                box = QRectF(column.x(), min(top, zero), max(column.width() - gap, 1.0), abs(top - zero))
                painter.fillRect(box, colour)
        painter.setPen(QPen(QColor(theme.muted), 1.0))
        painter.drawLine(QPointF(self.plot().left(), zero), QPointF(self.plot().right(), zero))

    def _paint_marks(self, painter: QPainter) -> None:
        theme, box = theme_of(self), self.plot()
        for index, colour in self._pins:
            if 0 <= index < self._count:
                self._outline(painter, index, colour)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        foot = QRectF(box.x(), box.bottom() + 2, box.width(), FOOT - 2)
        text = f"0 … {self._count - 1}"
        if self._current is not None:
            self._outline(painter, self._current, QColor(theme.accent))
            painter.setPen(QColor(theme.muted))
            name = self._names[self._current] if self._names else str(self._current)
            text = f"{name}: {float(self._values[self._current]):.4g}".replace("-", "−")
        painter.drawText(foot, text)

    def _outline(self, painter: QPainter, index: int, colour: QColor) -> None:
        column = self.bar(index)
        if column.width() < 4.0:
            column = QRectF(column.center().x() - 2.0, column.y(), 4.0, column.height())
        painter.setPen(QPen(colour, 2.0))
        painter.setBrush(QColor(0, 0, 0, 0))
        painter.drawRect(column)
