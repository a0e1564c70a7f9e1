"""The plot of the criterion during training, by iteration, with C and the number of support vectors."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from slide_gui.gui.plots.axes import Margins, Plot, apart, decade_ticks, linear_ticks, nice_ticks
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE
from slide_gui.text import count, significant

SPARK, GAP, FOOT, LABELS = 32, 16, 46, 124
FEWEST = 10
"""Number of iterations for which the axis has space from the start."""
DECADES = 30.0
"""Ratio of the largest to the smallest criterion from which the axis is logarithmic."""
SIDE = 0.015
"""Fraction of the axis beyond the first and last iterations, for the dots there."""


@dataclass(frozen=True)
class CriterionStep:
    """One iteration of the search for the widths.

    Parameters
    ----------
    iteration : int
        0, 1, …; increases within a start.
    C : float
        Penalty of the SVM.
    support : int
        Number of support vectors.
    start : int
        Number of the start, 0, 1, …
    """

    iteration: int
    criterion: float
    C: float
    support: int
    start: int = 0


class Column:
    """A growing array of numbers with its limits."""

    def __init__(self) -> None:
        self._values = array("d")
        self.low, self.high = math.inf, -math.inf

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: float) -> None:
        """Append a number; one that is not finite leaves a gap in the curve."""
        self._values.append(value)
        if math.isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)

    def __getitem__(self, index: int) -> float:
        return self._values[index]

    def values(self) -> NDArray[np.float64]:
        """Return a copy of the numbers."""
        return np.array(self._values, np.float64)

    def index_near(self, value: float) -> int:
        """Return the index of the number nearest to `value` in increasing numbers."""
        after = bisect_left(self._values, value)
        if after == 0:
            return 0
        if after == len(self._values):
            return after - 1
        return after if self._values[after] - value < value - self._values[after - 1] else after - 1


class Trace:
    """One start of the search for the widths: iteration, criterion, C and number of support vectors.

    Attributes
    ----------
    best : int
        Index of the smallest criterion, whose widths and C are selected; 0 if all are nan.
    """

    def __init__(self) -> None:
        self.iteration, self.criterion, self.C, self.support = Column(), Column(), Column(), Column()
        self.best = 0

    def append(self, iteration: float, criterion: float, C: float, support: float) -> None:
        """Append an iteration; iterations increase."""
        if criterion < self.criterion.low:
            self.best = len(self.criterion)
        columns = (self.iteration, self.criterion, self.C, self.support)
        for column, value in zip(columns, (iteration, criterion, C, support), strict=True):
            column.append(value)


class CriterionPlot(Plot):
    """The criterion of each start; the best start so far is in the accent colour, with its C and support vectors.

    Left and Right move along the iterations.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self._traces: list[Trace] = []
        self._log = False
        self._current: tuple[int, int] | None = None
        self._sparks: list[Any] = []
        margins = Margins(head=32, foot=FOOT + 2 * (SPARK + GAP) + 16, left=60, right=LABELS)
        super().__init__(margins, ("Iteration", "Criterion"), parent=parent)
        self._placeholder = "No width has been learned yet."
        self._ends = self._scatter(3, size=9)
        for _ in range(2):
            spark = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
            spark.disableAutoRange()
            self._view.addItem(spark)
            line, dot = _line(), pg.ScatterPlotItem(size=9)
            spark.addItem(line, ignoreBounds=True)
            spark.addItem(dot, ignoreBounds=True)
            self._parts.append(spark)
            self._sparks.append((spark, line, dot))
        self.setMinimumSize(320, 240)
        self._set_spoken_name()
        self._set_filled(False)

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    # Contents

    def extend(self, steps: Iterable[CriterionStep]) -> None:
        """Append iterations."""
        for step in steps:
            while len(self._traces) <= step.start:
                self._traces.append(Trace())
            self._traces[step.start].append(step.iteration, step.criterion, step.C, step.support)
        self._renew()

    def set_steps(self, steps: Iterable[CriterionStep]) -> None:
        """Replace all iterations."""
        self._traces, self._current = [], None
        self.show_whole()
        self.extend(steps)

    def set_name(self, name: str) -> None:
        """Set the name of the criterion, such as "Radius-margin bound"."""
        if name != self._titles[1]:
            self._titles = (self._titles[0], name)
            self._set_spoken_name()
            self._changed()

    def name(self) -> str:
        """Return the title of the plot."""
        return f"{self._titles[1]}, by iteration"

    def _set_spoken_name(self) -> None:
        self.setAccessibleName(f"{self._titles[1]}, by iteration: plot")

    def set_stale(self, stale: bool) -> None:
        """Grey the plot because the parameters have changed, or restore it."""
        self._set_faint(stale)

    def best_start(self) -> int:
        """Return the start with the smallest criterion so far; nan counts as the largest."""
        begun = (i for i, t in enumerate(self._traces) if len(t.criterion))
        return min(begun, key=lambda start: self._traces[start].criterion.low, default=0)

    def steps(self) -> list[CriterionStep]:
        """Return all iterations, start by start."""
        return [self._step(start, i) for start, trace in enumerate(self._traces) for i in range(len(trace.iteration))]

    def current(self) -> CriterionStep | None:
        """Return the iteration under mouse or cursor."""
        return None if self._current is None else self._step(*self._current)

    def is_logarithmic(self) -> bool:
        """Return True if the criterion falls by orders of magnitude."""
        return self._log

    def position(self, step: CriterionStep) -> QPointF:
        """Return the position of an iteration in pixels; at the top if its criterion is not finite."""
        height = self._height(step.criterion)
        place = self.at(step.iteration, height if math.isfinite(height) else self.shown()[1][1])
        return QPointF(place.x(), min(max(place.y(), self.box().top()), self.box().bottom()))

    def spark_boxes(self) -> tuple[QRectF, QRectF]:
        """Return the boxes of the curves of C and of the support vectors."""
        box, bottom = self.box(), self.height() - FOOT
        support = QRectF(box.left(), bottom - SPARK - 8, box.width(), SPARK)
        return support.translated(0, -SPARK - GAP), support

    def _step(self, start: int, index: int) -> CriterionStep:
        t = self._traces[start]
        return CriterionStep(round(t.iteration[index]), t.criterion[index], t.C[index], round(t.support[index]), start)

    def _describe(self) -> None:
        step = self.current()
        if step is None and self._begun():
            best = self.best_start()
            step = self._step(best, self._traces[best].best)
        self.setAccessibleDescription(self._placeholder if step is None else "; ".join(self._lines(step)))

    def _begun(self) -> bool:
        return any(len(t.criterion) for t in self._traces)

    def _lines(self, step: CriterionStep) -> list[str]:
        iteration = f"iteration {count(step.iteration)}"
        start = f"start {step.start + 1}" if len(self._traces) > 1 else ""
        return [
            f"{self._titles[1]} {significant(step.criterion)}",
            " · ".join(filter(None, [iteration, start])),
            f"C = {significant(step.C, 3)}",
            f"{count(step.support)} support vectors during learning",
        ]

    # Items

    def _renew(self) -> None:
        low = min((t.criterion.low for t in self._traces), default=0.0)
        high = max((t.criterion.high for t in self._traces), default=1.0)
        last = nice_ticks(0.0, max([FEWEST, *(t.iteration.high for t in self._traces)]), 6)[-1]
        self._log = 0.0 < low < math.inf and high / low >= DECADES
        self._y_axis.set_ticks(decade_ticks if self._log else linear_ticks)
        self._set_whole((-SIDE * last, (1.0 + SIDE) * last), _range(low, high, self._log))
        self._draw(theme_of(self))
        self._set_filled(self._begun())
        self._describe()

    def _height(self, criterion: float) -> float:
        """Return the position of a criterion on the axis, or nan."""
        if not self._log:
            return criterion
        return math.log10(criterion) if criterion > 0.0 else math.nan

    def _draw(self, theme: Theme) -> None:
        if not self._sparks:
            return
        best, begun = self.best_start(), [i for i, t in enumerate(self._traces) if len(t.criterion)]
        colours = {i: theme.accent if i == best else theme.muted for i in begun}
        for number in begun:
            trace, pen = self._traces[number], self._pen(colours[number], 2.0 if number == best else 1.25)
            heights = _logarithms(trace.criterion) if self._log else _finite(trace.criterion)
            curve = self._curve(number, 1, _line)
            curve.setZValue(2 if number == best else 1)
            curve.setData(trace.iteration.values(), heights, pen=pen)
        self._empty_others(set(begun))
        ends = [(t.iteration[t.best], self._height(t.criterion[t.best])) for t in map(self._traces.__getitem__, begun)]
        seen = [(*end, colours[i]) for i, end in zip(begun, ends, strict=True) if math.isfinite(end[1])]
        self._ends.setData(
            x=[x for x, _, _ in seen],
            y=[y for _, y, _ in seen],
            pen=self._pen(theme.background, 1.5),
            brush=[self._brush(colour) for _, _, colour in seen],
        )
        if begun:
            trace = self._traces[best]
            for (spark, line, dot), column in zip(self._sparks, (trace.C, trace.support), strict=True):
                self._draw_spark(theme, spark, line, dot, trace, column)

    def _draw_spark(self, theme: Theme, spark: Any, line: Any, dot: Any, trace: Trace, column: Column) -> None:
        """Draw a column from its smallest to its largest value; constant values lie in the middle."""
        log = column.low > 0.0 and column.high / column.low >= DECADES
        heights = _logarithms(column) if log else _finite(column)
        low, high = (math.log10(column.low), math.log10(column.high)) if log else (column.low, column.high)
        if not low < high:
            low, high = (low - 1.0, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
        room = 5.0 / SPARK * (high - low)  # margin for the dot
        spark.setYRange(low - room, high + room, padding=0)
        line.setData(trace.iteration.values(), heights, pen=self._pen(theme.text, 1.25))
        height = heights[trace.best]
        seen = [height] if math.isfinite(height) else []
        dot.setData(
            x=[trace.iteration[trace.best]] * len(seen),
            y=seen,
            pen=self._pen(theme.background, 1.5),
            brush=self._brush(theme.text),
        )

    def _arrange(self) -> None:
        super()._arrange()
        box = self.box()
        self._x_axis.setGeometry(QRectF(box.left(), self.height() - FOOT, box.width(), 24))
        for (spark, _, _), place in zip(self._sparks, self.spark_boxes(), strict=False):
            spark.setGeometry(place)

    def _looked(self) -> None:
        for spark, _, _ in self._sparks:
            spark.setXRange(*self.shown()[0], padding=0)

    # Texts next to the axes, and moving marks

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        if not self._begun():
            return
        box, best = self.box(), self.best_start()
        begun = [i for i, t in enumerate(self._traces) if len(t.criterion)]
        ends = [self.position(self._step(i, self._traces[i].best)) for i in begun]
        heights = apart([end.y() for end in ends], 16, box.top(), box.bottom())
        for number, end, place in zip(begun, ends, heights, strict=True):
            least = self._traces[number].criterion[self._traces[number].best]
            if box.left() <= end.x() <= box.right():
                painter.setPen(QPen(QColor(theme.line), 1.0))
                knee = box.right() + 2
                painter.drawLine(QPointF(end.x() + 5, end.y()), QPointF(knee, end.y()))
                painter.drawLine(QPointF(knee, end.y()), QPointF(box.right() + 12, place))
            name = "" if len(begun) == 1 else f"{f'start {number + 1}'}  "
            texts = [name + significant(least, digits) for digits in (4, 3, 2)]
            colour = theme.accent_text if number == best else theme.muted
            self._write(painter, place, texts, colour, number == best)
        trace = self._traces[best]
        values = significant(trace.C[trace.best], 3), f"{_counted(trace.support[trace.best])} in learning"
        for spark, title, text in zip(self.spark_boxes(), ("C", "n SV"), values, strict=True):
            painter.setFont(figure_font(self, SECONDARY))
            painter.setPen(QColor(theme.muted))
            right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(QRectF(0, spark.top(), box.left() - 8, spark.height()), right, title)
            self._write(painter, spark.center().y(), [text], theme.text, True)

    def _write(self, painter: QPainter, height: float, texts: Sequence[str], colour: str, strong: bool) -> None:
        """Draw the first of the texts that fits."""
        painter.setFont(figure_font(self, SECONDARY, strong=strong))
        painter.setPen(QColor(colour))
        room = QRectF(self.box().right() + 16, height - 8, LABELS - 16, 16)
        advance = painter.fontMetrics().horizontalAdvance
        painter.drawText(room, MIDDLE, next((text for text in texts if advance(text) <= room.width()), texts[-1]))

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        step = self.current()
        if step is None:
            return
        at = self.position(step)
        painter.setPen(QPen(QColor(theme.muted), 1.0))
        painter.drawLine(QPointF(at.x(), self.box().top()), QPointF(at.x(), self.spark_boxes()[1].bottom() + 4))
        painter.setPen(QPen(QColor(theme.background), 1.5))
        painter.setBrush(QColor(theme.text))
        painter.drawEllipse(at, 4.0, 4.0)

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        step = self.current()
        return None if step is None else (self.position(step), self._lines(step))

    # Mouse and keys

    def _pointer(self, target: Any, place: QPointF) -> Qt.CursorShape:
        return Qt.CursorShape.ArrowCursor  # clicks do nothing

    def _at(self, place: QPointF) -> tuple[int, int] | None:
        box, low = self.box(), self.spark_boxes()[1]
        if not QRectF(box.left() - 4, box.top(), box.width() + 8, low.bottom() - box.top()).contains(place):
            return None
        x = self.values(place)[0]
        near = [(i, t.iteration.index_near(x)) for i, t in enumerate(self._traces) if len(t.iteration)]

        def away(at: tuple[int, int]) -> float:
            step = self._step(*at)
            return abs(self.position(step).y() - place.y()) if math.isfinite(step.criterion) else math.inf

        return min(near, key=away, default=None)

    def _where(self, target: tuple[int, int]) -> tuple[float, float]:
        step = self._step(*target)
        height = self._height(step.criterion)
        return step.iteration, height if math.isfinite(height) else sum(self.shown()[1]) / 2

    def _stepped(self, step: tuple[int, int]) -> tuple[int, int] | None:
        if not step[1] or not self._begun():
            return None
        if self._current is None:
            return self._end(True)
        start, index = self._current
        return start, min(max(index + step[1], 0), len(self._traces[start].iteration) - 1)

    def _end(self, last: bool) -> tuple[int, int] | None:
        if not self._begun():
            return None
        start = self.best_start() if self._current is None else self._current[0]
        return start, len(self._traces[start].iteration) - 1 if last else 0


def _line() -> Any:
    """Return a curve that draws only the extremes of points at the same pixel, with gaps at missing values."""
    return pg.PlotDataItem(connect="finite", autoDownsample=True, downsampleMethod="peak", clipToView=True)


def _finite(column: Column) -> NDArray[np.float64]:
    values = column.values()
    return np.where(np.isfinite(values), values, np.nan)


def _logarithms(column: Column) -> NDArray[np.float64]:
    values = _finite(column)
    return np.log10(values, out=np.full(values.size, np.nan), where=values > 0.0)


def _counted(value: float) -> str:
    return count(round(value)) if math.isfinite(value) else significant(value)


def _range(low: float, high: float, log: bool) -> tuple[float, float]:
    """Return the ends of an axis that shows values from `low` to `high` with a margin."""
    if low > high:
        low, high = 0.0, 1.0
    if log:
        low, high = math.log10(low), math.log10(high)
        return low - 0.04 * (high - low), high + 0.04 * (high - low)
    room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    low = max(low - room, 0.0) if low >= 0.0 else low - room
    ticks = nice_ticks(low, high + room, 5)
    return ticks[0], ticks[-1]
