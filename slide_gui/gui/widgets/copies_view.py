"""How far W_m is from its limit W, against the number of copies m: both axes logarithmic, with the line c/√m."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._axes import Axis, apart, logarithmic, paint_x_axis, paint_y_axis
from slide_gui.gui.widgets._callout import paint_callout, paint_placeholder
from slide_gui.gui.widgets._numbers import count, fixed, significant
from slide_gui.gui.widgets._paint import focus_ring, washed
from slide_gui.gui.widgets._painted import Pointed

__all__ = ["CopiesPlot", "CopiesSeries"]

HEAD, FOOT, LEFT, LABELS = 26, 44, 60, 112
MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True)
class CopiesSeries:
    """The errors of one part of W.

    Attributes
    ----------
    name : str
        E.g. "all rows".
    color : str
        ``#RRGGBB``.
    points : tuple of (m, mean, least, largest error)
    slope : float or None
        Exponent of m fitted to the means.
    reference : float or None
        c of the line c/√m drawn beside.
    """

    name: str
    color: str
    points: tuple[tuple[int, float, float, float], ...]
    slope: float | None = None
    reference: float | None = None


class CopiesPlot(Pointed):
    """Relative error against copies; a click, or Left and Right, chooses an m.

    Each mark is the mean over the seeds, its whisker reaches from the least to the largest.
    """

    copies_chosen = Signal(int)
    """The m that was clicked or reached by keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: tuple[CopiesSeries, ...] = ()
        self._most = 1024
        self._chosen: int | None = None
        self._hovered: int | None = None
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(320, 180)
        self.setAccessibleName("Error of m corrupted copies against the limit")

    def sizeHint(self) -> QSize:
        return QSize(560, 280)

    # What is shown

    def set_series(self, series: tuple[CopiesSeries, ...], most: int, stale: bool = False) -> None:
        """Show errors; the axis reaches to `most` copies from the start."""
        self._series, self._most, self._stale = series, most, stale
        self._describe()
        self.update()

    def set_chosen(self, copies: int | None) -> None:
        """Mark an m."""
        if copies != self._chosen:
            self._chosen = copies
            self._describe()
            self.update()

    def copies(self) -> list[int]:
        """Return every m with a point."""
        return sorted({point[0] for series in self._series for point in series.points})

    def lines_at(self, copies: int) -> list[str]:
        """Return what is known of an m, line by line."""
        lines = [f"m = {count(copies)}"]
        for series in self._series:
            lines += [
                f"{series.name} {significant(mean, 3)} ({significant(low, 3)} to {significant(high, 3)})"
                for m, mean, low, high in series.points
                if m == copies
            ]
        return lines

    def _describe(self) -> None:
        known = self.copies()
        shown = self._chosen if self._chosen in known else (known[-1] if known else None)
        self.setAccessibleDescription(self._placeholder if shown is None else "; ".join(self.lines_at(shown)))

    # Geometry

    def box(self) -> QRectF:
        """Return where the points are drawn."""
        wide, high = max(self.width() - LEFT - LABELS, 40), max(self.height() - HEAD - FOOT, 40)
        return QRectF(LEFT, HEAD, wide, high)

    def x_axis(self) -> Axis:
        """Return the axis of m, a tick at every second power of two."""
        box, last = self.box(), max(self._most.bit_length() - 1, 1)
        ticks = tuple(float(2**k) for k in range(0, last + 1, 1 if last < 6 else 2))
        return Axis(0.8, 1.25 * 2.0**last, box.left(), box.right(), ticks, tuple(count(round(t)) for t in ticks), True)

    def y_axis(self) -> Axis:
        """Return the axis of the error, with room for where 1/√m will lead."""
        box = self.box()
        values = [v for series in self._series for point in series.points for v in point[1:]]
        values += [s.reference / math.sqrt(self._most) for s in self._series if s.reference]
        low, high = (min(values), max(values)) if values else (0.01, 1.0)
        return logarithmic(0.9 * low, 1.1 * high, box.bottom(), box.top(), max(3, int(box.height() // 24)))

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        if not self.copies():
            paint_placeholder(painter, self, self._placeholder)
        else:
            painter.setOpacity(0.65 if self._stale else 1.0)
            self._paint_axes(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            self._paint_chosen(painter)
            for series in self._series:
                self._paint_reference(painter, series)
            for series in self._series:
                self._paint_points(painter, series)
            self._paint_labels(painter)
            painter.setOpacity(1.0)
            if self._hovered is not None:
                self._paint_hovered(painter, self._hovered)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
        painter.end()

    def _paint_axes(self, painter: QPainter) -> None:
        theme, ratio, box = theme_of(self), self.devicePixelRatioF(), self.box()
        painter.setFont(figure_font(self, SECONDARY))
        paint_y_axis(painter, theme, self.y_axis(), box.left(), box.right(), ratio)
        paint_x_axis(painter, theme, self.x_axis(), box.bottom(), ratio)
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(8, 2, self.width() - 16, 18), MIDDLE, "Relative error ‖Wₘ − W‖ / ‖W‖")
        foot = QRectF(box.left(), box.bottom() + 22, box.width(), 18)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignHCenter), "Corrupted copies m")

    def _paint_chosen(self, painter: QPainter) -> None:
        if self._chosen is None:
            return
        x, box = self.x_axis().at(self._chosen), self.box()
        painter.setPen(QPen(QColor(theme_of(self).accent), 1.0))
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    def _paint_reference(self, painter: QPainter, series: CopiesSeries) -> None:
        if series.reference is None:
            return
        x, y, box = self.x_axis(), self.y_axis(), self.box()
        pen = QPen(washed(series.color, 0.7), 1.25)
        pen.setDashPattern([4.0, 3.0])
        painter.setPen(pen)
        painter.save()
        painter.setClipRect(box)
        ends = [QPointF(x.at(m), y.at(series.reference / math.sqrt(m))) for m in (x.low, x.high)]
        painter.drawLine(ends[0], ends[1])
        painter.restore()

    def _paint_points(self, painter: QPainter, series: CopiesSeries) -> None:
        theme, x, y, colour = theme_of(self), self.x_axis(), self.y_axis(), QColor(series.color)
        painter.setPen(QPen(colour, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([QPointF(x.at(m), y.at(mean)) for m, mean, _, _ in series.points]))
        for m, mean, low, high in series.points:
            at = QPointF(x.at(m), y.at(mean))
            painter.setPen(QPen(colour, 1.5))
            painter.drawLine(QPointF(at.x(), y.at(low)), QPointF(at.x(), y.at(high)))
            painter.setPen(QPen(QColor(theme.background), 1.5))
            painter.setBrush(colour)
            painter.drawEllipse(at, 4.0, 4.0)

    def _paint_labels(self, painter: QPainter) -> None:
        """Name each line at its end, with the slope that its points have."""
        theme, y, box = theme_of(self), self.y_axis(), self.box()
        shown = [s for s in self._series if s.points]
        wanted = [y.at(s.reference / math.sqrt(self._most) if s.reference else s.points[-1][1]) for s in shown]
        places = apart(wanted, 34, box.top() + 8, box.bottom() - 16)
        for series, place in zip(shown, places, strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(series.color))
            painter.drawEllipse(QPointF(box.right() + 13, place), 3.5, 3.5)
            painter.setPen(QColor(theme.text))
            painter.setFont(figure_font(self, SECONDARY, strong=True))
            painter.drawText(QRectF(box.right() + 21, place - 8, LABELS - 21, 16), MIDDLE, series.name)
            painter.setPen(QColor(theme.muted))
            painter.setFont(figure_font(self, SECONDARY))
            text = "dashed: c/√m" if series.slope is None else f"slope {fixed(series.slope, 2)}"
            painter.drawText(QRectF(box.right() + 21, place + 7, LABELS - 21, 16), MIDDLE, text)

    def _paint_hovered(self, painter: QPainter, copies: int) -> None:
        known = [p[1] for s in self._series for p in s.points if p[0] == copies]
        if known:
            at = QPointF(self.x_axis().at(copies), self.y_axis().at(known[0]))
            paint_callout(painter, self, at, self.lines_at(copies))

    # Mouse and keys

    def _at(self, point: QPointF) -> int | None:
        if not self.box().adjusted(-8, 0, 8, 8).contains(point) or not self.copies():
            return None
        x = self.x_axis()
        return min(self.copies(), key=lambda m: abs(x.at(m) - point.x()))

    def _hover(self, copies: int | None) -> None:
        if copies != self._hovered:
            self._hovered = copies
            self.update()

    def _click(self, found: int) -> None:
        self.copies_chosen.emit(found)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        known, key = self.copies(), Qt.Key(event.key())
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key)
        if not known or (step is None and key not in (Qt.Key.Key_Home, Qt.Key.Key_End)):
            super().keyPressEvent(event)
            return
        if step is None:
            index = 0 if key == Qt.Key.Key_Home else len(known) - 1
        else:
            here = known.index(self._chosen) if self._chosen in known else len(known) - 1
            index = min(max(here + step, 0), len(known) - 1)
        self.copies_chosen.emit(known[index])


def _demo() -> QWidget:
    plot, theme = CopiesPlot(), theme_of(QWidget())
    made = []
    for name, colour, scale in (("all rows", theme.accent, 0.9), ("row 14, 9", "#D55E00", 0.55)):
        points = []
        for k in range(9):
            mean = scale * 2.0 ** (-k / 2) * (1.0 + 0.7 / 2**k)
            points.append((2**k, mean, 0.95 * mean, 1.06 * mean))
        made.append(CopiesSeries(name, colour, tuple(points), -0.51, scale))
    plot.set_series(tuple(made), 1024)
    plot.set_chosen(32)
    return plot


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 680, 340)
