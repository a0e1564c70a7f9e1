"""Learning the widths, live: the criterion by iteration, with C and the number of support vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._axes import Axis, apart, linear, logarithmic, paint_x_axis, paint_y_axis
from slide_gui.gui.widgets._callout import paint_callout, paint_placeholder
from slide_gui.gui.widgets._numbers import count, significant
from slide_gui.gui.widgets._paint import focus_ring
from slide_gui.gui.widgets._painted import Pointed
from slide_gui.gui.widgets._trace import Column, Trace, curve

__all__ = ["CriterionPlot", "CriterionStep"]

HEAD, FOOT, LEFT, LABELS, SPARK, GAP = 32, 46, 60, 124, 32, 16
FEWEST = 10
"""The axis has room for so many iterations from the start."""
DECADES = 30.0
"""A criterion whose greatest value is so many times its least is shown on a logarithmic axis."""
MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True)
class CriterionStep:
    """One iteration of the search for the widths.

    Parameters
    ----------
    iteration : int
        0, 1, …; rises within a start.
    criterion : float
    C : float
        Penalty of the SVM.
    support : int
        Number of support vectors.
    start : int
        Which of several starts, 0, 1, …
    """

    iteration: int
    criterion: float
    C: float
    support: int
    start: int = 0


class CriterionPlot(Pointed):
    """The criterion of each start; the start that is best now is in the accent, with its C and support vectors.

    Left and Right move along the iterations.
    """

    shape = Qt.CursorShape.ArrowCursor  # nothing is clicked

    step_hovered = Signal(object)
    """The CriterionStep under mouse or keys, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._traces: list[Trace] = []
        self._name = "Criterion"
        self._placeholder = "Nothing learned yet."
        self._stale = False
        self._current: tuple[int, int] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(320, 240)
        self.setAccessibleName("Criterion, by iteration")

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    # What is shown

    def append(self, step: CriterionStep) -> None:
        """Add an iteration; its cost does not depend on how many there are."""
        while len(self._traces) <= step.start:
            self._traces.append(Trace())
        self._traces[step.start].append(step.iteration, step.criterion, step.C, step.support)
        self.update()

    def set_steps(self, steps: Iterable[CriterionStep]) -> None:
        """Show a whole history in place of what was there."""
        self._traces, self._current = [], None
        for step in steps:
            self.append(step)
        self._describe()
        self.update()

    def set_name(self, name: str) -> None:
        """Say what the criterion is, e.g. "Radius-margin bound"."""
        self._name = name
        self.setAccessibleName(f"{name}, by iteration")
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Grey what is shown, because parameters have moved on."""
        self._stale = stale
        self.update()

    def best_start(self) -> int:
        """Return the start with the least criterion so far; one that is no number is worse than any."""
        begun = (i for i, t in enumerate(self._traces) if len(t.criterion))
        return min(begun, key=lambda start: self._traces[start].criterion.low, default=0)

    def current(self) -> CriterionStep | None:
        """Return the iteration under mouse or keys."""
        if self._current is None:
            return None
        start, index = self._current
        t = self._traces[start]
        return CriterionStep(round(t.iteration[index]), t.criterion[index], t.C[index], round(t.support[index]), start)

    def _describe(self) -> None:
        step = self.current()
        if step is None and any(len(t.criterion) for t in self._traces):
            best = self._traces[self.best_start()]
            at = best.kept
            step = CriterionStep(round(best.iteration[at]), best.criterion[at], best.C[at], round(best.support[at]))
        self.setAccessibleDescription(self._placeholder if step is None else "; ".join(self._lines(step)))

    def _lines(self, step: CriterionStep) -> list[str]:
        start = f" · start {step.start + 1}" if len(self._traces) > 1 else ""
        return [
            f"{self._name} {significant(step.criterion)}",
            f"iteration {count(step.iteration)}{start}",
            f"C = {significant(step.C, 3)}",
            f"{count(step.support)} support vectors",
        ]

    # Geometry

    def boxes(self) -> tuple[QRectF, QRectF, QRectF]:
        """Return where the criterion, C and the support vectors are drawn."""
        wide, bottom = max(self.width() - LEFT - LABELS, 40), self.height() - FOOT
        support = QRectF(LEFT, bottom - SPARK - 8, wide, SPARK)
        penalty = support.translated(0, -SPARK - GAP)
        return QRectF(LEFT, HEAD, wide, max(penalty.top() - 1.5 * GAP - HEAD, 40)), penalty, support

    def x_axis(self) -> Axis:
        """Return the axis of iterations, with room for some more."""
        last = max((t.iteration.high for t in self._traces), default=0.0)
        box = self.boxes()[0]
        return linear(0.0, max(last, FEWEST), box.left(), box.right(), 6 if box.width() > 300 else 4)

    def y_axis(self) -> Axis:
        """Return the axis of the criterion, logarithmic where it falls by orders of magnitude."""
        box = self.boxes()[0]
        return _axis([t.criterion for t in self._traces], box.bottom(), box.top(), 5)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        if not any(len(t.criterion) for t in self._traces):
            paint_placeholder(painter, self, self._placeholder)
        else:
            painter.setOpacity(0.65 if self._stale else 1.0)
            self._paint_axes(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            self._paint_criterion(painter)
            self._paint_spark(painter, 1, "C", lambda v: significant(v, 3))
            self._paint_spark(painter, 2, "n SV", lambda v: count(round(v)))
            painter.setOpacity(1.0)
            self._paint_current(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
        painter.end()

    def _paint_axes(self, painter: QPainter) -> None:
        theme, ratio = theme_of(self), self.devicePixelRatioF()
        box, bottom = self.boxes()[0], self.height() - FOOT
        x = self.x_axis()
        painter.setFont(figure_font(self, SECONDARY))
        paint_y_axis(painter, theme, self.y_axis(), box.left(), box.right(), ratio)
        paint_x_axis(painter, theme, x, bottom, ratio)
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(8, 2, self.width() - 16, 20), MIDDLE, self._name)
        foot = QRectF(box.left(), bottom + 22, box.width(), 18)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignHCenter), "Iteration")

    def _paint_criterion(self, painter: QPainter) -> None:
        theme, x, y, best = theme_of(self), self.x_axis(), self.y_axis(), self.best_start()
        order = [i for i in range(len(self._traces)) if i != best and len(self._traces[i].criterion)] + [best]
        ends, box = [], self.boxes()[0]
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for number in order:
            trace = self._traces[number]
            colour = QColor(theme.accent if number == best else theme.muted)
            painter.setPen(QPen(colour, 2.0 if number == best else 1.25))
            for line in curve(x, y, trace.iteration.values(), trace.criterion.values()):
                painter.drawPolyline(line)
            least = trace.criterion[trace.kept]
            place = y.at(least) if math.isfinite(least) else box.top()
            ends.append(QPointF(x.at(trace.iteration[trace.kept]), min(max(place, box.top()), box.bottom())))
            self._dot(painter, ends[-1], colour)
        places = apart([e.y() for e in ends], 16, box.top(), box.bottom())
        for number, end, place in zip(order, ends, places, strict=True):
            value = significant(self._traces[number].criterion[self._traces[number].kept])
            text = value if len(self._traces) == 1 else f"start {number + 1}  {value}"
            painter.setPen(QPen(QColor(theme.line), 1.0))
            knee = box.right() + 2
            painter.drawLine(QPointF(end.x() + 5, end.y()), QPointF(knee, end.y()))
            painter.drawLine(QPointF(knee, end.y()), QPointF(box.right() + 12, place))
            painter.setFont(figure_font(self, SECONDARY, strong=number == best))
            painter.setPen(QColor(theme.accent_text if number == best else theme.muted))
            painter.drawText(QRectF(box.right() + 16, place - 8, LABELS - 16, 16), MIDDLE, text)

    def _dot(self, painter: QPainter, at: QPointF, colour: QColor) -> None:
        painter.save()
        painter.setPen(QPen(QColor(theme_of(self).background), 1.5))
        painter.setBrush(colour)
        painter.drawEllipse(at, 4.0, 4.0)
        painter.restore()

    def _column(self, which: int) -> Column:
        trace = self._traces[self.best_start()]
        return trace.C if which == 1 else trace.support

    def _paint_spark(self, painter: QPainter, which: int, title: str, text: Callable[[float], str]) -> None:
        theme, box, trace = theme_of(self), self.boxes()[which], self._traces[self.best_start()]
        column = self._column(which)
        y = _spark_axis(column, box.bottom(), box.top())
        painter.setPen(QPen(QColor(theme.text), 1.25))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        x = self.x_axis()
        for line in curve(x, y, trace.iteration.values(), column.values()):
            painter.drawPolyline(line)
        kept = column[trace.kept]
        height = y.at(kept) if math.isfinite(kept) else box.bottom()
        end = QPointF(x.at(trace.iteration[trace.kept]), min(max(height, box.top()), box.bottom()))
        self._dot(painter, end, QColor(theme.text))
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(QRectF(0, box.top(), LEFT - 8, box.height()), right, title)
        painter.setFont(figure_font(self, SECONDARY, strong=True))
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(box.right() + 16, end.y() - 8, LABELS - 16, 16), MIDDLE, text(kept))

    def _paint_current(self, painter: QPainter) -> None:
        step, theme = self.current(), theme_of(self)
        if step is None:
            return
        x, (box, _, low) = self.x_axis().at(step.iteration), self.boxes()
        painter.setPen(QPen(QColor(theme.muted), 1.0))
        painter.drawLine(QPointF(x, box.top()), QPointF(x, low.bottom() + 4))
        height = self.y_axis().at(step.criterion) if math.isfinite(step.criterion) else box.top()
        at = QPointF(x, min(max(height, box.top()), box.bottom()))
        self._dot(painter, at, QColor(theme.text))
        paint_callout(painter, self, at, self._lines(step))

    # Mouse and keys

    def _hover(self, found: tuple[int, int] | None) -> None:
        if found != self._current:
            self._current = found
            self._describe()
            self.step_hovered.emit(self.current())
            self.update()

    def _at(self, place: QPointF) -> tuple[int, int] | None:
        box, _, low = self.boxes()
        if not QRectF(box.left() - 4, box.top(), box.width() + 8, low.bottom() - box.top()).contains(place):
            return None
        x, y = self.x_axis(), self.y_axis()
        near = [(i, t.iteration.index_near(x.value(place.x()))) for i, t in enumerate(self._traces) if len(t.iteration)]

        def away(found: tuple[int, int]) -> float:
            value = self._traces[found[0]].criterion[found[1]]
            return abs(y.at(value) - place.y()) if math.isfinite(value) else math.inf

        return min(near, key=away, default=None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key)
        start, index = self._current or (self.best_start(), -1)
        many = len(self._traces[start].iteration) if self._traces else 0
        if many and key == Qt.Key.Key_Escape and self._current is not None:
            self._hover(None)
        elif many and (step or key in (Qt.Key.Key_Home, Qt.Key.Key_End)):
            if key == Qt.Key.Key_Home:
                index = 0
            elif key == Qt.Key.Key_End or self._current is None:
                index = many - 1
            else:
                index = min(max(index + (step or 0), 0), many - 1)
            self._hover((start, index))
        else:
            super().keyPressEvent(event)


def _axis(columns: list[Column], start: float, stop: float, most: int) -> Axis:
    low = min((c.low for c in columns), default=0.0)
    high = max((c.high for c in columns), default=1.0)
    if low > high:
        low, high = 0.0, 1.0
    if low > 0.0 and high / low >= DECADES:
        return logarithmic(low, high, start, stop, most)
    room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    low = max(low - room, 0.0) if low >= 0.0 else low - room
    return linear(low, high + room, start, stop, most)


def _spark_axis(column: Column, start: float, stop: float) -> Axis:
    """Return an axis from the least value to the greatest; where all are equal they lie in the middle."""
    low, high = column.low, column.high
    if not low < high:
        low, high = (low - 1.0, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
    return Axis(low, high, start, stop, (), (), log=low > 0.0 and high / low >= DECADES)


def _demo() -> QWidget:
    plot = CriterionPlot()
    plot.set_name("Radius-margin bound, R²‖w‖²")
    for start, (first, last, speed) in enumerate(((9.1, 3.05, 0.12), (5.2, 3.3, 0.2), (3.9, 3.2, 0.08))):
        for i in range(46 - 8 * start):
            criterion = last + (first - last) * math.exp(-speed * i) + 0.02 * math.sin(2.1 * i) * math.exp(-0.1 * i)
            penalty = 10.0 ** (1.6 - 0.9 * math.exp(-0.15 * i) * (1 - start))
            plot.append(CriterionStep(i, criterion, penalty, 1890 - round(1200 * (1 - math.exp(-0.1 * i))), start))
    return plot


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 680, 420)
