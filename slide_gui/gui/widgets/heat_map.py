"""Noise × depth at a glance: the error of every model as a coloured cell with its value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.plots.points import ErrorPoint, best_of, lines_of, spoken
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._callout import paint_callout, paint_placeholder
from slide_gui.gui.widgets._motion import Pulse
from slide_gui.gui.widgets._numbers import fixed, per_cent
from slide_gui.gui.widgets._paint import focus_ring, washed
from slide_gui.gui.widgets._painted import CLICKS, Pointed
from slide_gui.gui.widgets._pixels import ARROWS
from slide_gui.gui.widgets._sequential import ink_on, paint_ramp, sequential

__all__ = ["ErrorPoint", "HeatMap"]

HEAD, FOOT, LEFT, EDGE, GAP = 36, 44, 64, 8, 2
TALLEST = 52
RAMP = 96
CENTRE = int(Qt.AlignmentFlag.AlignCenter)


class HeatMap(Pointed):
    """Error in per cent, one row a depth, one column a noise; the best finished cell is ringed.

    Arrow keys move between cells, Enter clicks.
    """

    point_clicked = Signal(object)
    """The ErrorPoint clicked."""
    point_hovered = Signal(object)
    """The ErrorPoint under mouse or keys, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cells: dict[tuple[int, int], ErrorPoint] = {}
        self._noises: tuple[float, ...] = ()
        self._depths: tuple[int, ...] = ()
        self._limits = (0.0, 1.0)
        self._best: ErrorPoint | None = None
        self._selected, self._measure = "", "Test error"
        self._placeholder = "No points yet."
        self._current: tuple[int, int] | None = None
        self._pulse = Pulse(self, self._update_running)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(320, 160)
        self.setAccessibleName("Error by noise and depth")

    def sizeHint(self) -> QSize:
        return QSize(760, HEAD + FOOT + TALLEST * max(len(self._depths), 5))

    def set_points(self, points: Sequence[ErrorPoint]) -> None:
        """Show points in place of those before, at most one a noise and depth."""
        hint, before = self.sizeHint(), self.current()
        self._noises = tuple(sorted({_same(p.noise) for p in points}))
        self._depths = tuple(sorted({p.depth for p in points}))
        rows = {d: i for i, d in enumerate(self._depths)}
        columns = {n: i for i, n in enumerate(self._noises)}
        self._cells = {(rows[p.depth], columns[_same(p.noise)]): p for p in points}
        errors = [p.error for p in points if p.is_known]
        self._limits = (min(errors, default=0.0), max(errors, default=1.0))
        self._best = best_of(points)
        key = None if before is None else before.key
        self._current = next((at for at, p in self._cells.items() if p.key == key), None)
        self._pulse.set_wanted(any(p.state == "running" for p in points))
        self._describe()
        if hint != self.sizeHint():
            self.updateGeometry()
        self.update()

    def set_measure(self, name: str) -> None:
        """Say what the error is, e.g. "Test error" or "Validation error"."""
        self._measure = name
        self.update()

    def set_selected(self, key: str) -> None:
        """Frame the cell whose model is the one shown on the other pages; "" for none."""
        self._selected = key
        self.update()

    def current(self) -> ErrorPoint | None:
        """Return the point under mouse or keys."""
        return None if self._current is None else self._cells.get(self._current)

    def is_pulsing(self) -> bool:
        """Return whether the timer of the pulse runs."""
        return self._pulse.is_running()

    def _describe(self) -> None:
        point = self.current()
        text = f"{len(self._cells)} points" if self._cells else self._placeholder
        if self._best is not None:
            text += f"; {self._best_text()}"
        self.setAccessibleDescription(spoken(point) if point is not None else text)

    def _best_text(self) -> str:
        assert self._best is not None
        best = self._best
        return f"best {per_cent(best.error)} at noise {fixed(best.noise, 2)}, depth {best.depth}"

    # Geometry

    def cell(self, row: int, column: int) -> QRectF:
        """Return where a cell is, without the gaps round it."""
        wide = (self.width() - LEFT - EDGE) / max(len(self._noises), 1)
        high = min((self.height() - HEAD - FOOT) / max(len(self._depths), 1), TALLEST)
        left, top = LEFT + round(column * wide), HEAD + round(row * high)
        return QRectF(
            left, top, LEFT + round((column + 1) * wide) - left - GAP, HEAD + round((row + 1) * high) - top - GAP
        )

    def place_of(self, point: ErrorPoint) -> tuple[int, int]:
        """Return row and column of a point."""
        return self._depths.index(point.depth), self._noises.index(_same(point.noise))

    def _at(self, place: QPointF) -> tuple[int, int] | None:
        return next((at for at in self._cells if self.cell(*at).adjusted(0, 0, GAP, GAP).contains(place)), None)

    def decimals(self) -> int:
        """Return how many decimals fit every cell, 2 or 1."""
        font = figure_font(self, SECONDARY, strong=True)
        widest = QFontMetricsF(font).horizontalAdvance(fixed(self._limits[1], 2))
        return 2 if widest + 8 <= self.cell(0, 0).width() else 1

    # Painting

    def _update_running(self) -> None:
        for at, point in self._cells.items():
            if point.state == "running":
                self.update(self.cell(*at).toAlignedRect())

    def colour(self, point: ErrorPoint) -> QColor:
        """Return the colour of a finished point's cell."""
        low, high = self._limits
        return sequential(theme_of(self), (point.error - low) / (high - low) if high > low else 0.0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        if not self._cells:
            paint_placeholder(painter, self, self._placeholder)
            focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
            return
        self._paint_titles(painter)
        for row in range(len(self._depths)):
            for column in range(len(self._noises)):
                self._paint_cell(painter, self.cell(row, column), self._cells.get((row, column)))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        for at, point in self._cells.items():
            if self._best is not None and point.key == self._best.key:
                self._ring(painter, self.cell(*at), theme.text)
            if point.key == self._selected:
                # Inside the ring of the best, where there is room for both.
                inset = 3 if self.cell(*at).width() > 48 else 0
                self._ring(painter, self.cell(*at).adjusted(inset, inset, -inset, -inset), theme.accent)
        current = self.current()
        if current is not None and self._current is not None:
            box = self.cell(*self._current)
            self._ring(painter, box, theme.muted)
            paint_callout(painter, self, QPointF(box.center().x(), box.top() + 8), lines_of(current))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
        painter.end()

    def _ring(self, painter: QPainter, box: QRectF, colour: str) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for pen in (QPen(QColor(theme_of(self).background), 4.0), QPen(QColor(colour), 2.0)):
            painter.setPen(pen)
            painter.drawRoundedRect(box, 3.0, 3.0)

    def _paint_titles(self, painter: QPainter) -> None:
        theme = theme_of(self)
        small = figure_font(self, SECONDARY)
        metrics = QFontMetricsF(small)
        painter.setFont(small)
        painter.setPen(QColor(theme.text))
        middle, right = int(Qt.AlignmentFlag.AlignVCenter), int(Qt.AlignmentFlag.AlignRight)
        title = f"{self._measure} (%)"
        painter.drawText(QRectF(8, 2, self.width(), 20), middle, title)
        painter.setPen(QColor(theme.muted))
        high = fixed(self._limits[1], 2)
        wide = metrics.horizontalAdvance(high)
        ramp = QRectF(self.width() - EDGE - wide - 6 - RAMP, 8, RAMP, 8)
        room = ramp.left() - 6 - metrics.horizontalAdvance(fixed(self._limits[0], 2)) - 24
        if self._best is not None:
            start = 8 + metrics.horizontalAdvance(title) + 16
            if start + metrics.horizontalAdvance(self._best_text()) < room:
                painter.drawText(QRectF(start, 2, room, 20), middle, self._best_text())
        paint_ramp(painter, theme, ramp)
        painter.drawText(QRectF(ramp.right() + 6, 2, wide + 2, 20), middle, high)
        painter.drawText(QRectF(0, 2, ramp.left() - 6, 20), middle | right, fixed(self._limits[0], 2))
        for row, depth in enumerate(self._depths):
            box = self.cell(row, 0)
            painter.drawText(QRectF(0, box.top(), LEFT - 8, box.height()), middle | right, f"depth {depth}")
        bottom = self.cell(len(self._depths) - 1, 0).bottom()
        stride = max(1, math.ceil(34 / max(self.cell(0, 0).width(), 1)))
        for column in range(0, len(self._noises), stride):
            middle_x = self.cell(0, column).center().x()
            painter.drawText(QRectF(middle_x - 40, bottom + 4, 80, 16), CENTRE, fixed(self._noises[column], 2))
        painter.setPen(QColor(theme.text))
        foot = QRectF(LEFT, bottom + 22, self.width() - LEFT - EDGE, 18)
        painter.drawText(foot, CENTRE, "Noise 1 − p")

    def _paint_cell(self, painter: QPainter, box: QRectF, point: ErrorPoint | None) -> None:
        theme = theme_of(self)
        if point is None or not point.is_known:
            painter.setPen(QPen(QColor(theme.line), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
            if point is not None and point.state == "running":
                painter.fillRect(box, washed(theme.accent, 0.08 + 0.22 * self._pulse.level))
            return
        colour = QColor(theme.hover) if point.state == "stale" else self.colour(point)
        ink = QColor(theme.muted) if point.state == "stale" else ink_on(colour)
        painter.fillRect(box, colour)
        if point.state in ("running", "refining"):
            self._paint_unsettled(painter, box, ink, point.state == "running")
        painter.setFont(figure_font(self, SECONDARY, strong=point == self._best))
        painter.setPen(ink)
        metrics, text = QFontMetricsF(painter.font()), fixed(point.error, self.decimals())
        if point.state in ("running", "refining") and metrics.horizontalAdvance("≈ " + text) + 6 < box.width():
            text = "≈ " + text
        if metrics.horizontalAdvance(text) <= box.width() and box.height() >= 12:
            painter.drawText(box, CENTRE, text)

    def _paint_unsettled(self, painter: QPainter, box: QRectF, ink: QColor, running: bool) -> None:
        """Underline a value that is not final, pulsing while it is computed."""
        line = QColor(ink)
        line.setAlphaF(0.2 + 0.6 * self._pulse.level if running else 0.35)
        painter.fillRect(QRectF(box.left(), box.bottom() - 3, box.width(), 3), line)

    # Mouse and keys

    def _hover(self, at: tuple[int, int] | None) -> None:
        if at != self._current:
            self._current = at
            self._describe()
            self.point_hovered.emit(self.current())
            self.update()

    def _click(self, found: tuple[int, int]) -> None:
        self.point_clicked.emit(self._cells[found])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, point = Qt.Key(event.key()), self.current()
        if not self._cells:
            super().keyPressEvent(event)
        elif key in ARROWS:
            self._hover(self._moved(ARROWS[key]))
        elif key in CLICKS and point is not None:
            self.point_clicked.emit(point)
        elif key == Qt.Key.Key_Escape and point is not None:
            self._hover(None)
        else:
            super().keyPressEvent(event)

    def _moved(self, step: tuple[int, int]) -> tuple[int, int]:
        """Return the next cell that has a point in a direction, the present one if there is none."""
        if self._current is None:
            return self.place_of(self._best) if self._best is not None else min(self._cells)
        row, column = self._current
        while 0 <= row < len(self._depths) and 0 <= column < len(self._noises):
            row, column = row + step[0], column + step[1]
            if (row, column) in self._cells:
                return row, column
        return self._current


def _same(noise: float) -> float:
    """Return a noise without the binary dust of 3 · 0.1, so that equal ones share a column."""
    return round(noise, 6)


def _demo() -> QWidget:
    from slide_gui.gui.widgets._demo_points import points

    view = HeatMap()
    view.set_points(points())
    view.set_selected("0.4/2")
    view.point_clicked.connect(lambda point: view.set_selected(point.key))
    return view


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 820, 400)
