"""The heat map of errors by noise level and depth, with a value in each coloured cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QMargins, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.pages.curves.points import ErrorPoint, PointPlot, best_words, chosen_of, draw_frame, lines_of
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, ink_on, paint_ramp, sequential, theme_of
from slide_gui.gui.widgets.painted import CENTRE, MIDDLE, washed
from slide_gui.text import fixed

HEAD, FOOT, GAP, TALLEST, RAMP = 36, 44, 2, 52, 96


class HeatMap(PointPlot):
    """Error in per cent, one row per depth, one column per noise level, with rings at the selected points.

    Arrow keys move between cells, Enter clicks.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        ticks = self._noise_ticks, self._depth_ticks
        super().__init__(QMargins(64, HEAD, 8, FOOT), ticks, ruled=False, parent=parent)
        self._cells: dict[tuple[int, int], ErrorPoint] = {}
        self._noises: tuple[float, ...] = ()
        self._depths: tuple[int, ...] = ()
        self._limits = (0.0, 1.0)
        self.setMinimumSize(320, 140)
        self.setAccessibleName("Error by noise and depth: heat map")

    # Contents

    def cell(self, row: int, column: int) -> QRectF:
        """Return the rectangle of a cell without the gaps around it, in pixels."""
        corner, opposite = self.at(column, -row), self.at(column + 1, -row - 1)
        left, top = round(corner.x()), round(corner.y())
        return QRectF(left, top, round(opposite.x()) - left - GAP, round(opposite.y()) - top - GAP)

    def place_of(self, point: ErrorPoint) -> tuple[int, int]:
        """Return row and column of a point."""
        return self._depths.index(point.depth), self._noises.index(_same(point.noise))

    def decimals(self) -> int:
        """Return the number of decimals that fits every cell, 2 or 1."""
        font = figure_font(self, SECONDARY, strong=True)
        widest = QFontMetricsF(font).horizontalAdvance(fixed(self._limits[1], 2))
        return 2 if widest + 8 <= self.cell(0, 0).width() else 1

    def colour(self, point: ErrorPoint) -> QColor:
        """Return the colour of a finished point's cell."""
        low, high = self._limits
        return sequential(theme_of(self), (point.error - low) / (high - low) if high > low else 0.0)

    # Items

    def _renew(self) -> None:
        points = self._points
        self._noises = tuple(sorted({_same(p.noise) for p in points}))
        self._depths = tuple(sorted({p.depth for p in points}))
        self._cells = {self.place_of(p): p for p in points}
        errors = [p.error for p in points if p.is_known and p.state == "done"]
        self._limits = (min(errors, default=0.0), max(errors, default=1.0))
        self._arrange()
        self._set_full_range((0.0, float(max(len(self._noises), 1))), (-float(max(len(self._depths), 1)), 0.0))
        self._set_filled(bool(self._cells))

    def _noise_ticks(self, low: float, high: float, most: int) -> list[tuple[float, str]]:
        first, last = max(math.floor(low), 0), min(math.ceil(high), len(self._noises))
        stride = max(1, math.ceil((last - first) / max(1.4 * most, 1.0)))
        return [(i + 0.5, fixed(self._noises[i], 2)) for i in range(first, last, stride)]

    def _depth_ticks(self, _low: float, _high: float, _most: int) -> list[tuple[float, str]]:
        return [(-i - 0.5, f"depth {depth}") for i, depth in enumerate(self._depths)]

    def _arrange(self) -> None:
        room = self.height() - HEAD - TALLEST * max(len(self._depths), 1)
        self._margins.setBottom(max(FOOT, room))
        super()._arrange()

    # Texts over the cells

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        self._paint_head(painter, theme)
        painter.setClipRect(self.box())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for row in range(len(self._depths)):
            for column in range(len(self._noises)):
                self._paint_cell(painter, theme, self.cell(row, column), self._cells.get((row, column)))

    def _paint_head(self, painter: QPainter, theme: Theme) -> None:
        """Draw the smallest error and the legend of the colours, if there are results."""
        if not any(point.is_known and point.state == "done" for point in self._points):
            return
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(theme.muted))
        low, high = (fixed(limit, 2) for limit in self._limits)
        wide, away = metrics.horizontalAdvance(high), 92 if self.is_zoomed() else 8
        ramp = QRectF(self.width() - away - wide - 6 - RAMP, 8, RAMP, 8)
        paint_ramp(painter, theme, ramp)
        right = int(Qt.AlignmentFlag.AlignRight)
        painter.drawText(QRectF(ramp.right() + 6, 2, wide + 2, 20), MIDDLE, high)
        painter.drawText(QRectF(0, 2, ramp.left() - 6, 20), MIDDLE | right, low)
        start = 8 + metrics.horizontalAdvance(self._titles[1]) + 16
        room = ramp.left() - 30 - metrics.horizontalAdvance(low)
        words = best_words(self._points)
        if words and start + metrics.horizontalAdvance(words) < room:
            painter.drawText(QRectF(start, 2, room, 20), MIDDLE, words)

    def _paint_cell(self, painter: QPainter, theme: Theme, box: QRectF, point: ErrorPoint | None) -> None:
        is_known = point is not None and point.is_known
        if point is None or not is_known or point.state != "done":
            dashed = QPen(QColor(theme.muted), 1.0, Qt.PenStyle.DashLine)
            painter.setPen(dashed if is_known else QPen(QColor(theme.line), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        if point is None or not is_known:
            return
        text = fixed(point.error, self.decimals())
        if point.state == "done":
            painter.fillRect(box, self.colour(point))
            painter.setFont(figure_font(self, SECONDARY, strong=point.is_selected))
            painter.setPen(ink_on(self.colour(point)))
        else:
            painter.setFont(figure_font(self, SECONDARY))
            wide = QFontMetricsF(painter.font()).horizontalAdvance("≈ " + text) + 6
            text = "≈ " + text if wide < box.width() else text
        if QFontMetricsF(painter.font()).horizontalAdvance(text) <= box.width() and box.height() >= 12:
            painter.drawText(box, CENTRE, text)

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        """Draw strips in cells being computed, and rings at the selected and the current ones."""
        painter.save()
        painter.setClipRect(self.box().adjusted(-3, -3, 3, 3))
        for at, point in self._cells.items():
            if point.state == "running":
                box = self.cell(*at)
                strip = QRectF(box.left(), box.bottom() - 3, box.width(), 3)
                painter.fillRect(strip, washed(theme.accent, 0.8))
            if point.is_selected:
                draw_frame(painter, theme, theme.text, self.cell(*at), 3.0)
        current = self.current()
        if current is not None:
            draw_frame(painter, theme, theme.muted, self.cell(*self.place_of(current)), 3.0)
        painter.restore()

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        point = self.current()
        if point is None:
            return None
        box = self.cell(*self.place_of(point))
        return QPointF(box.center().x(), box.top() + 8), lines_of(point)

    # Mouse

    def _at(self, place: QPointF) -> ErrorPoint | None:
        x, y = self.values(place)
        return self._cells.get((math.floor(-y), math.floor(x))) if self.box().contains(place) else None

    # Keys

    def _values_of(self, target: ErrorPoint) -> tuple[float, float]:
        row, column = self.place_of(target)
        return column + 0.5, -row - 0.5

    def _stepped(self, step: tuple[int, int]) -> ErrorPoint | None:
        """Return the next point in a direction, or the current one."""
        current = self.current()
        if current is None:
            ordered = [self._cells[place] for place in sorted(self._cells)]
            return next(iter([*chosen_of(self._points), *ordered]), None)
        row, column = self.place_of(current)
        while 0 <= row < len(self._depths) and 0 <= column < len(self._noises):
            row, column = row + step[0], column + step[1]
            if (row, column) in self._cells:
                return self._cells[row, column]
        return current


def _same(noise: float) -> float:
    """Return a noise level without rounding error (3 · 0.1 ≠ 0.3), so that equal levels share a column."""
    return round(noise, 6)
