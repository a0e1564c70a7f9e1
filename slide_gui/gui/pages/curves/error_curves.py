"""A plot of the error against the noise level with one line per depth, as in the paper's sensitivity figure."""

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from PySide6.QtCore import QLineF, QMargins, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.gui.pages.curves.points import BEST, ErrorPoint, best_words, lines_of
from slide_gui.gui.plots.axes import Plot, evenly_apart, nice_ticks
from slide_gui.gui.theme import PINS, SECONDARY, Theme, figure_font
from slide_gui.gui.widgets.painted import CENTRE, MIDDLE, RIGHT, snapped, washed, write
from slide_gui.text import counted, fixed, level, per_cent

# The largest distance, in pixels, from the mouse pointer to a point that the mouse selects.
REACH = 12

NOISE_STEP = 0.01
LABEL_GAP = 16
BAND = 0.2
_MARGIN = 0.03  # Margin above and below the points, as a fraction of the range of the errors.
RADIUS, SWATCH = 3.5, 16
SIZE = 2 * RADIUS + 1.5  # Diameter in pixels of a point, including its edge.
# The margin of the noise axis beyond 0 and 1. It is large enough to draw points at these noise levels completely.
SIDE = 0.02


class ErrorPlot(Plot):
    """A plot of the error in per cent against the noise level, with one line per depth and a movable cursor.

    The cursor is a vertical line at a noise level. The plot also shows the paper's error for raw input and the
    confidence intervals for one of the lines.

    The Left and Right keys select a neighbouring point on the same line. Up and Down select a point on the line above
    or below. Enter has the same effect as a click on the selected point. Shift+Left and Shift+Right move the cursor.
    With the mouse, the user can drag the cursor itself or drag along the horizontal axis.

    A point has a final error if its state is "done". The errors of all other points can still change.

    Signals
    -------
    point_clicked(object)
        The user clicked this ErrorPoint.
    cursor_moved(float)
        The user dragged the cursor to this noise level, a multiple of 0.01.
    """

    point_clicked = Signal(object)
    cursor_moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        titles = "Noise level 1 − p", "Test error (%)"
        super().__init__(QMargins(44, 36, 144, 48), titles, parent)
        self._points: tuple[ErrorPoint, ...] = ()
        self._mark = BEST
        self._current: ErrorPoint | None = None
        self._placeholder = "There are no points yet."
        self._lines: dict[int, list[ErrorPoint]] = {}
        self._paper: float | None = None
        self._noise: float | None = None
        self._depth: int | None = None
        self._dots, self._open, self._hollow = self._scatter(2), self._scatter(2), self._scatter(3, symbol="d")
        self.setMinimumSize(320, 140)
        self.setAccessibleName("Plot of error against noise level, one line per depth")

    # Contents

    def set_points(self, points: Sequence[ErrorPoint], part: str = "test", mark: str = BEST) -> None:
        """Replace the points. There may be at most one point for each noise level and depth.

        `part` names the rows on which errors are counted ("test" or "validation"). It appears in the title of the
        error axis. `mark` is the legend of the ring around selected points.
        """
        titles = (self._titles[0], f"{part.capitalize()} error (%)")
        if titles != self._titles:
            self._titles = titles
            self._changed()
        if (tuple(points), mark) != (self._points, self._mark):
            self._points, self._mark, current = tuple(points), mark, self._current
            if current is not None:
                # Identify the selected point by its noise level and depth, because a point without a final error has no
                # key.
                place = current.noise, current.depth
                self._current = next((p for p in points if (p.noise, p.depth) == place), None)
            self._renew()
            self._describe()

    def set_paper(self, error: float | None) -> None:
        """Show a mark at the paper's error for raw input (in per cent), or no mark if `error` is None."""
        if error != self._paper:
            self._paper = error
            self._renew()

    def set_depth(self, depth: int | None) -> None:
        """Set the depth whose line shows confidence intervals while no point is selected with the mouse or keyboard."""
        if depth != self._depth:
            self._depth = depth
            self._redraw()

    def banded(self) -> int | None:
        """Return the depth of the line whose confidence intervals are shown."""
        return self._depth if self._current is None else self._current.depth

    def set_cursor(self, noise: float | None) -> None:
        """Move the cursor to a noise level, or hide it if `noise` is None. No signal is emitted."""
        if noise != self._noise:
            self._noise = noise
            self.update()

    def position(self, point: ErrorPoint) -> QPointF:
        """Return the position of a point in pixels."""
        return self.at(*self._values_of(point))

    def values_at(self, noise: float) -> list[tuple[int, float, bool]]:
        """Return (depth, error, is_computed) for each line at a noise level.

        If the line has no point at this noise level, the error is interpolated linearly. `is_computed` is True only if
        the line has a point with a final error at this noise level. Lines that do not reach this level are left out.
        """
        read = [(depth, *_read(line, noise)) for depth, line in self._lines.items()]
        return [(depth, error, exact) for depth, error, exact in read if math.isfinite(error)]

    # Items

    def _renew(self) -> None:
        by_depth = groupby(sorted(self._points, key=lambda p: (p.depth, p.noise)), key=lambda p: p.depth)
        self._lines = {depth: list(line) for depth, line in by_depth}
        low, high = _limits(self._points, self._paper)
        ticks = nice_ticks(low, high, 7 if self.box().height() > 200 else 4)
        self._set_full_range((-SIDE, 1.0 + SIDE), (ticks[0], ticks[-1]))
        self._set_filled(bool(self._points or self._paper))

    def _draw(self, theme: Theme) -> None:
        for depth, line in self._lines.items():
            known = [p for p in line if p.rate]
            if depth == self.banded():
                self._draw_intervals(theme, depth, known)
            self._draw_lines(theme, depth, known)
        finished = [p for p in self._points if p.rate and p.state == "done"]
        others = [p for p in self._points if p.state != "done"]
        colours = [self._brush(theme.pin(p.depth)) for p in finished]
        sizes = [SIZE + 3 * (p.state == "running") for p in others]
        for item, shown, size, edge, fill in (
            (self._dots, finished, SIZE, theme.background, colours),
            (self._open, others, sizes, theme.muted, self._brush(theme.background)),
        ):
            x, y = zip(*map(self._values_of, shown), strict=True) if shown else ((), ())
            item.setData(x=x, y=y, size=size, pen=self._pen(edge, 1.5), brush=fill)
        paper = [] if self._paper is None else [self._paper]
        self._hollow.setData(x=[0.0] * len(paper), y=paper, size=12, pen=self._pen(theme.text, 1.5), brush=None)

    def _draw_intervals(self, theme: Theme, depth: int, known: list[ErrorPoint]) -> None:
        """Draw the 95 % confidence intervals of all final errors on one line as a band."""
        measured = [p for p in known if p.state == "done" and math.isfinite(p.low + p.high)]
        if not measured:
            return
        noises, lows, highs = np.array([(p.noise, p.low, p.high) for p in measured]).T
        xs, ys = np.append(noises, noises[::-1]), np.clip(np.append(highs, lows[::-1]), *self._full_range[1])
        colour = theme.pin(depth).name()
        pen = self._pen(washed(colour, 0.7), 1.5) if len(measured) == 1 else None
        brush = self._brush(washed(colour, BAND))
        self._curve(("band", depth), 0).setData(xs, ys, pen=pen, fillLevel="enclosed", brush=brush)

    def _draw_lines(self, theme: Theme, depth: int, known: list[ErrorPoint]) -> None:
        """Draw the line for a depth. A segment is dashed and grey if the error at either end is not final."""
        xs, ys = np.array([p.noise for p in known]), np.array([p.error for p in known])
        done = np.array([p.state == "done" for p in known], bool)
        finished = done & np.roll(done, -1)  # True for each segment that joins two points with final errors.
        solid, dashed = self._depth_pen(theme, depth, 2.0), self._pen(theme.muted, 1.5, (2.0, 3.0))
        for name, pen, is_joined in (("line", solid, finished), ("rest", dashed, ~finished)):
            self._curve((name, depth), 1).setData(xs, ys, pen=pen, connect=is_joined)

    def _depth_pen(self, theme: Theme, depth: int, width: float) -> QPen:
        """Return a pen in the colour of this depth. The pen is dashed if a smaller depth has the same colour."""
        return self._pen(theme.pin(depth), width, (1.8, 1.2) if depth >= len(PINS[theme.name]) else ())

    # Methods that draw the labels, the cursor, and the rings around points

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        box = self.box()
        if self._paper is not None:
            text = f"◇ Raw-SVM in the paper: {per_cent(self._paper)}"
            painter.drawText(QRectF(box.left(), 2, self.width() - box.left() - 92, 20), RIGHT, text)
        if any(point.chosen for point in self._points):
            left = QFontMetricsF(painter.font()).horizontalAdvance(self._titles[1]) + 32
            _draw_ring(painter, theme, QPointF(left, 12.0), RADIUS + 2.0)
            write(painter, QRectF(left + 12, 2, box.right() - left, 20), MIDDLE, self._mark, theme.muted)

    def _is_cursor_shown(self) -> bool:
        left, right = self.shown()[0]
        return self._noise is not None and left <= self._noise <= right

    def _paint_below(self, painter: QPainter, theme: Theme) -> None:
        if self._noise is not None and self._is_cursor_shown():
            box, x = self.box(), snapped(self.at(self._noise, 0.0).x(), self.devicePixelRatioF())
            painter.setPen(QPen(QColor(theme.accent), 3.0 if self._dragging and self._grabbed else 2.0))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        box, current = self.box(), self._current
        painter.save()
        painter.setClipRect(box)
        for point in self._points:
            if point.chosen:
                _draw_ring(painter, theme, self.position(point), RADIUS + 3.0)
            if point == current:
                _draw_ring(painter, theme, self.position(point), 10.0 if point.chosen else 7.0)
        painter.restore()
        self._paint_ends(painter, theme, box)
        if self._noise is not None and self._is_cursor_shown():
            text, x = level(self._noise), self.at(self._noise, 0.0).x()
            pill = QRectF(x - 20, box.top() - 16, 40, 16)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent))
            painter.drawRoundedRect(pill, 4.0, 4.0)
            write(painter, pill, CENTRE, text, theme.on_accent, figure_font(self, SECONDARY, strong=True))

    def end_labels(self) -> list[tuple[int, QPointF, float]]:
        """Return (depth, end point of the line, vertical position of the label) for each visible line.

        Positions are in pixels. Labels that would overlap are moved apart.
        """
        (left, right), (low, high) = self.shown()
        ends = []
        for depth, line in self._lines.items():
            known = [p for p in line if p.rate]
            noise = min(right, known[-1].noise) if known else math.nan
            error, _ = _read(line, noise)
            if noise >= left and low <= error <= high:
                ends.append((depth, self.at(noise, error)))
        box = self.box()
        heights = evenly_apart([end.y() for _, end in ends], LABEL_GAP, box.top(), box.bottom() - 4)
        return [(depth, end, y) for (depth, end), y in zip(ends, heights, strict=True)]

    def _paint_ends(self, painter: QPainter, theme: Theme, box: QRectF) -> None:
        """Label the end of each line with its depth and, if the cursor is shown, with its error at the cursor."""
        left, values = box.right() + 14, {}
        if self._noise is not None and self._is_cursor_shown():
            values = {depth: ("" if exact else "≈ ") + fixed(e, 2) for depth, e, exact in self.values_at(self._noise)}
            place = QRectF(left + SWATCH + 6, box.top() - 20, 100, 16)
            write(painter, place, RIGHT, f"at {level(self._noise)}", theme.muted)
        for depth, end, y in self.end_labels():
            colour = theme.pin(depth)
            colour.setAlphaF(0.5)
            painter.setPen(QPen(colour, 1.0))
            start = QPointF(end.x() + RADIUS + 3, end.y())
            knee = QPointF(max(start.x(), box.right() - 2), end.y())
            painter.drawPolyline([start, knee, QPointF(left - 2, y)])
            painter.setPen(self._depth_pen(theme, depth, 2.5))
            painter.drawLine(QPointF(left, y), QPointF(left + SWATCH, y))
            place = QRectF(left + SWATCH + 6, y - 8, 100, 16)
            write(painter, place, MIDDLE, f"depth {depth}", theme.muted if values else theme.text)
            write(painter, place, RIGHT, values.get(depth, ""), theme.text)

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        return None if self._current is None else (self.position(self._current), lines_of(self._current))

    def _describe(self) -> None:
        if self._current is not None:
            self.setAccessibleDescription("; ".join(lines_of(self._current)))
            return
        text = counted(len(self._points), "point") if self._points else self._placeholder
        self.setAccessibleDescription("; ".join(filter(None, [text, best_words(self._points, self._mark)])))

    # Mouse

    def _at(self, place: QPointF) -> ErrorPoint | None:
        if not self.box().adjusted(-REACH, -REACH, REACH, REACH).contains(place):
            return None

        def distance(target: ErrorPoint) -> float:
            return QLineF(self.position(target), place).length()

        # The search runs in reverse order, because the last of several points at one position is drawn on top.
        return min((p for p in reversed(self._points) if distance(p) <= REACH), key=distance, default=None)

    def _hover(self, target: ErrorPoint | None) -> None:
        line = self.banded()
        super()._hover(target)
        if self.banded() != line:
            self._redraw()

    def _pointer(self, target: ErrorPoint | None, place: QPointF) -> Qt.CursorShape:
        if target is not None:
            return Qt.CursorShape.PointingHandCursor
        return Qt.CursorShape.SizeHorCursor if self._grab(place) else Qt.CursorShape.ArrowCursor

    def _grab(self, place: QPointF) -> bool:
        box = self.box()
        if self._noise is None or not box.adjusted(0, -16, 0, 24).contains(place):
            return False
        return place.y() > box.bottom() or abs(self.at(self._noise, 0.0).x() - place.x()) <= 6

    def _drag(self, place: QPointF) -> None:
        self._put_cursor(self.values(place)[0])

    def _put_cursor(self, noise: float) -> None:
        noise = min(max(round(round(noise / NOISE_STEP) * NOISE_STEP, 10), 0.0), LARGEST_NOISE)
        if noise != self._noise:
            self.set_cursor(noise)
            self.cursor_moved.emit(noise)

    def _click_at(self, target: ErrorPoint | None, place: QPointF) -> None:
        if target is not None:
            super()._click_at(target, place)
        elif self._grabbed:
            self._drag(place)

    def _click(self, target: ErrorPoint) -> None:
        self.point_clicked.emit(target)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        sideways = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        shifted = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if sideways and shifted and self._points and self._noise is not None:
            self._put_cursor(self._noise + sideways * NOISE_STEP)
        else:
            super().keyPressEvent(event)

    def _values_of(self, target: ErrorPoint) -> tuple[float, float]:
        """Return a point's noise level and error. A point without an error is drawn just above the horizontal axis."""
        low, high = self._full_range[1]
        return target.noise, low + 0.02 * (high - low) if math.isnan(target.error) else target.error

    def _first(self) -> ErrorPoint | None:
        """Return the point that the first press of an arrow key selects.

        This is the point with the lowest error at the noise level nearest to the cursor.
        """
        noise = 0.0 if self._noise is None else self._noise
        return min(self._points, key=lambda p: (abs(p.noise - noise), p.error if p.rate else math.inf), default=None)

    def _end(self, last: bool) -> ErrorPoint | None:
        current = self._current
        return self._first() if current is None else self._lines[current.depth][-1 if last else 0]

    def _stepped(self, step: tuple[int, int]) -> ErrorPoint | None:
        """Return the point that an arrow key selects.

        Left and Right select a neighbouring point on the same line. Up and Down go to the line above or below, and
        select the point there whose noise level is nearest.
        """
        now, (down, right) = self._current, step
        if now is None:
            return self._first()
        line = self._lines[now.depth]
        if right:
            return line[min(max(line.index(now) + right, 0), len(line) - 1)]
        column = [min(other, key=lambda p: abs(p.noise - now.noise)) for other in self._lines.values()]
        column.sort(key=lambda p: (self.position(p).y(), -p.depth))
        at = next(i for i, p in enumerate(column) if p.depth == now.depth)
        return column[min(max(at + down, 0), len(column) - 1)]


def _read(line: Sequence[ErrorPoint], noise: float) -> tuple[float, bool]:
    """Return the error at a noise level on the line for one depth, and True if it is the final error of a point.

    Between points, the error is interpolated. Beyond the ends of the line, it is nan.
    """
    known = [p for p in line if p.rate]
    exact = next((p for p in known if abs(p.noise - noise) < 1e-6), None)
    if exact is not None:
        return exact.error, exact.state == "done"
    if not known:
        return math.nan, False
    noises, errors = [p.noise for p in known], [p.error for p in known]
    return float(np.interp(noise, noises, errors, math.nan, math.nan)), False


def _limits(points: Sequence[ErrorPoint], paper: float | None) -> tuple[float, float]:
    """Return the range of the error axis, which starts at 0 if the smallest error is below 0.4 times the largest."""
    values = [p.error for p in points if p.rate] + ([] if paper is None else [paper])
    settled = [p for p in points if p.state == "done" and math.isfinite(p.low + p.high)]
    values += [limit for p in settled for limit in (p.low, p.high)]
    # The confidence interval of a point shrinks while its error is being computed. To keep the range of the axis
    # constant, every such point is treated as if it had the widest of the final intervals.
    usual = max((0.5 * (p.high - p.low) for p in settled), default=0.0)
    values += [p.error + sign * usual for p in points if p.rate and p.state != "done" for sign in (-1, 1)]
    if not values:
        return 0.0, 10.0
    if not settled:  # Leave space for the confidence intervals, whose widths are not known yet.
        return 0.0, max(1.5 * max(values), 0.1)
    low, high = max(min(values), 0.0), max(values)
    if low < 0.4 * high or high == 0.0:
        low = 0.0
    high = max(high, low + 0.1)
    margin = _MARGIN * (high - low)  # With this margin, the outermost points and their rings are drawn completely.
    return max(low - margin, 0.0) if low else 0.0, high + margin


def _draw_ring(painter: QPainter, theme: Theme, centre: QPointF, radius: float) -> None:
    """Draw a ring around `centre`, with a halo in the background colour."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(QColor(theme.background), 4.0), QPen(QColor(theme.text), 2.0)):
        painter.setPen(pen)
        painter.drawEllipse(centre, radius, radius)
