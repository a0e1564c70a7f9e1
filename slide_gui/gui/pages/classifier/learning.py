"""Plots of learning the widths: the criterion by iteration, and the share of each layer in the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QMargins, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.gui.plots.axes import Plot, apart, decade_ticks, linear_ticks, nice_ticks
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, STALE, paint_placeholder, write
from slide_gui.text import count, fixed, layer_name, per_cent, significant

SPARK, GAP, FOOT, LABELS = 32, 16, 46, 124
FEWEST = 10
"""Number of iterations for which the axis has space from the start."""
DECADES = 30.0
"""Ratio of the largest to the smallest criterion from which the axis is logarithmic."""
SIDE = 0.015
"""Fraction of the axis beyond the first and last iterations, for the dots there."""


class _Start:
    """The steps of one start with their numbers; values that are not finite are nan.

    `best` is the step with the smallest criterion, whose widths and C are selected. `least` is that criterion, or
    infinity if none is finite.
    """

    def __init__(self, number: int, steps: list[WidthsStep]) -> None:
        rows = np.array([(s.iteration, s.objective, s.C, s.n_support) for s in steps], np.float64)
        self.number, self.steps = number, steps
        self.iteration, self.criterion, self.C, self.support = np.where(np.isfinite(rows), rows, np.nan).T
        finite = np.where(np.isnan(self.criterion), np.inf, self.criterion)
        self.best = int(np.argmin(finite))
        self.least = float(finite[self.best])


class CriterionPlot(Plot):
    """The criterion of each start; the best start so far is in the accent colour, with its C and support vectors.

    Left and Right move along the iterations.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        margins = QMargins(60, 32, LABELS, FOOT + 2 * (SPARK + GAP) + 16)
        super().__init__(margins, ("Iteration", "Criterion"), parent=parent)
        self.history: Sequence[WidthsStep] = ()
        self._starts: list[_Start] = []
        self._best: _Start | None = None
        self._log = False
        self._current: WidthsStep | None = None
        self._sparks: list[Any] = []
        self._placeholder = "No width has been learned yet."
        self._ends = self._scatter(3, size=9)
        for _ in range(2):
            spark = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
            spark.disableAutoRange()
            self._view.addItem(spark)
            line, dot = pg.PlotCurveItem(connect="finite"), pg.ScatterPlotItem(size=9)
            spark.addItem(line, ignoreBounds=True)
            spark.addItem(dot, ignoreBounds=True)
            self._faded.append(spark)
            self._sparks.append((spark, line, dot))
        self.setMinimumSize(320, 240)
        self.setAccessibleName(f"{self.name()}: plot")

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    # Contents

    def set_history(self, history: Sequence[WidthsStep]) -> None:
        """Show the iterations of all starts; new data begin with an empty history."""
        if len(history) < len(self.history):
            self._current = None
            self.show_full_range()
        self.history = history
        by_start = sorted(history, key=lambda step: step.start)
        self._starts = [_Start(n, list(steps)) for n, steps in groupby(by_start, key=lambda step: step.start)]
        self._best = min(self._starts, key=lambda start: start.least, default=None)
        self._renew()

    def set_name(self, name: str) -> None:
        """Set the name of the criterion, such as "Radius-margin bound"."""
        if name != self._titles[1]:
            self._titles = (self._titles[0], name)
            self.setAccessibleName(f"{self.name()}: plot")
            self._changed()

    def name(self) -> str:
        """Return the title of the plot."""
        return f"{self._titles[1]}, by iteration"

    def set_stale(self, stale: bool) -> None:
        """Grey the plot because the parameters have changed, or restore it."""
        self._set_faint(stale)

    def best(self) -> WidthsStep | None:
        """Return the step with the smallest criterion so far; nan counts as the largest."""
        return None if self._best is None else self._best.steps[self._best.best]

    def current(self) -> WidthsStep | None:
        """Return the iteration under mouse or cursor."""
        return self._current

    def position(self, step: WidthsStep) -> QPointF:
        """Return the position of an iteration in pixels; at the top if its criterion is not finite."""
        height = self._height(step.objective)
        place = self.at(step.iteration, height if math.isfinite(height) else self.shown()[1][1])
        return QPointF(place.x(), min(max(place.y(), self.box().top()), self.box().bottom()))

    def spark_boxes(self) -> tuple[QRectF, QRectF]:
        """Return the boxes of the curves of C and of the support vectors."""
        box, bottom = self.box(), self.height() - FOOT
        support = QRectF(box.left(), bottom - SPARK - 8, box.width(), SPARK)
        return support.translated(0, -SPARK - GAP), support

    def _describe(self) -> None:
        step = self._current or self.best()
        self.setAccessibleDescription(self._placeholder if step is None else "; ".join(self._lines(step)))

    def _lines(self, step: WidthsStep) -> list[str]:
        iteration = f"iteration {count(step.iteration)}"
        start = f"start {step.start + 1}" if len(self._starts) > 1 else ""
        return [
            f"{self._titles[1]} {significant(step.objective)}",
            " · ".join(filter(None, [iteration, start])),
            f"C = {significant(step.C, 3)}",
            f"{count(step.n_support)} support vectors during learning",
        ]

    # Items

    def _renew(self) -> None:
        values = np.concatenate([[], *(start.criterion for start in self._starts)])
        low, high = _ends(values)
        last = nice_ticks(0.0, max([FEWEST, *(step.iteration for step in self.history)]), 6)[-1]
        self._log = _is_logarithmic(low, high)
        self._ticks[1] = decade_ticks if self._log else linear_ticks
        self._set_full_range((-SIDE * last, (1.0 + SIDE) * last), _range(low, high, self._log))
        self._set_filled(bool(self._starts))
        self._describe()

    def _height(self, criterion: float) -> float:
        """Return the position of a criterion on the axis, or nan."""
        return float(_heights(np.array(criterion), self._log))

    def _draw(self, theme: Theme) -> None:
        best = self._best
        for start in self._starts:
            pen = self._pen(self._colour(start, theme), 2.0 if start is best else 1.25)
            curve = self._curve(start.number, 1)
            curve.setZValue(2 if start is best else 1)
            curve.setData(start.iteration, _heights(start.criterion, self._log), pen=pen)
        known = [start for start in self._starts if math.isfinite(self._height(start.least))]
        self._ends.setData(
            x=[start.iteration[start.best] for start in known],
            y=[self._height(start.least) for start in known],
            pen=self._pen(theme.background, 1.5),
            brush=[self._brush(self._colour(start, theme)) for start in known],
        )
        if best is not None:
            for parts, values in zip(self._sparks, (best.C, best.support), strict=True):
                self._draw_spark(theme, parts, best, values)

    def _colour(self, start: _Start, theme: Theme) -> str:
        return theme.accent if start is self._best else theme.muted

    def _draw_spark(
        self, theme: Theme, parts: tuple[Any, Any, Any], start: _Start, values: NDArray[np.float64]
    ) -> None:
        """Draw a column from its smallest to its largest value; constant values lie in the middle."""
        spark, line, dot = parts
        heights = _heights(values, _is_logarithmic(*_ends(values)))
        low, high = _ends(heights)
        if not low < high:
            low, high = low - 1.0, low + 1.0
        room = 5.0 / SPARK * (high - low)  # margin for the dot
        spark.setYRange(low - room, high + room, padding=0)
        line.setData(start.iteration, heights, pen=self._pen(theme.text, 1.25))
        shown = [start.best] if math.isfinite(heights[start.best]) else []
        dot.setData(
            x=start.iteration[shown],
            y=heights[shown],
            pen=self._pen(theme.background, 1.5),
            brush=self._brush(theme.text),
        )

    def _arrange(self) -> None:
        super()._arrange()
        box = self.box()
        self._x_axis.setGeometry(QRectF(box.left(), self.height() - FOOT, box.width(), 24))
        for (spark, _, _), place in zip(self._sparks, self.spark_boxes(), strict=True):
            spark.setGeometry(place)

    def _view_changed(self) -> None:
        for spark, _, _ in self._sparks:
            spark.setXRange(*self.shown()[0], padding=0)

    # Texts next to the axes, and moving marks

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        box, best = self.box(), self._best
        if best is None:
            return
        ends = [self.position(start.steps[start.best]) for start in self._starts]
        heights = apart([end.y() for end in ends], 16, box.top(), box.bottom())
        for start, end, place in zip(self._starts, ends, heights, strict=True):
            if box.left() <= end.x() <= box.right():
                painter.setPen(QPen(QColor(theme.line), 1.0))
                knee = box.right() + 2
                painter.drawLine(QPointF(end.x() + 5, end.y()), QPointF(knee, end.y()))
                painter.drawLine(QPointF(knee, end.y()), QPointF(box.right() + 12, place))
            name = "" if len(ends) == 1 else f"start {start.number + 1}  "
            texts = [name + significant(start.least, digits) for digits in (4, 3, 2)]
            colour = theme.accent_text if start is best else theme.muted
            self._write(painter, place, texts, colour, start is best)
        step = best.steps[best.best]
        values = significant(step.C, 3), f"{count(step.n_support)} in learning"
        for spark, title, text in zip(self.spark_boxes(), ("C", "n SV"), values, strict=True):
            left = QRectF(0, spark.top(), box.left() - 8, spark.height())
            write(painter, left, RIGHT, title, theme.muted, figure_font(self, SECONDARY))
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

    def _at(self, place: QPointF) -> WidthsStep | None:
        """Return the iteration nearest to a position, on the curve that passes closest to it."""
        box, low = self.box(), self.spark_boxes()[1]
        if not QRectF(box.left() - 4, box.top(), box.width() + 8, low.bottom() - box.top()).contains(place):
            return None
        x = self.values(place)[0]
        near = [start.steps[int(np.argmin(np.abs(start.iteration - x)))] for start in self._starts]

        def distance(step: WidthsStep) -> float:
            return abs(self.position(step).y() - place.y()) if math.isfinite(step.objective) else math.inf

        return min(near, key=distance, default=None)

    def _values_of(self, target: WidthsStep) -> tuple[float, float]:
        height = self._height(target.objective)
        return target.iteration, height if math.isfinite(height) else sum(self.shown()[1]) / 2

    def _steps_of_current(self) -> list[WidthsStep]:
        """Return the steps of the start with the cursor, else of the best start."""
        if self._current is None:
            return [] if self._best is None else self._best.steps
        return next(start.steps for start in self._starts if start.number == self._current.start)

    def _stepped(self, step: tuple[int, int]) -> WidthsStep | None:
        if self._current is None:
            return self._end(True) if step[1] else None
        steps = self._steps_of_current()
        return steps[min(max(steps.index(self._current) + step[1], 0), len(steps) - 1)] if step[1] else None

    def _end(self, last: bool) -> WidthsStep | None:
        steps = self._steps_of_current()
        return steps[-1 if last else 0] if steps else None


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the smallest and the largest finite value; 0 and 1 without one."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _is_logarithmic(low: float, high: float) -> bool:
    return low > 0.0 and high / low >= DECADES


def _heights(values: NDArray[np.float64], log: bool) -> NDArray[np.float64]:
    """Return values on a linear or logarithmic axis; nan if there is no place for them."""
    if not log:
        return np.where(np.isfinite(values), values, np.nan)
    return np.log10(values, out=np.full(values.shape, np.nan), where=np.isfinite(values) & (values > 0.0))


def _range(low: float, high: float, log: bool) -> tuple[float, float]:
    """Return the ends of an axis that shows values from `low` to `high` with a margin."""
    if log:
        low, high = math.log10(low), math.log10(high)
        return low - 0.04 * (high - low), high + 0.04 * (high - low)
    room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    low = max(low - room, 0.0) if low >= 0.0 else low - room
    ticks = nice_ticks(low, high + room, 5)
    return ticks[0], ticks[-1]


_HEAD, _LINE, _BAR, _EDGE, _GAP = 24, 28, 10, 8, 12  # sizes of the bars in pixels


class ShareBars(QWidget):
    """One bar per layer on a track of 100 %, with per cent and σ."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shares: tuple[float, ...] = ()
        self._texts: list[tuple[str, str, str]] = []  # name, share and σ of each layer
        self._placeholder = "There are no widths yet."
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Share of each layer in the kernel: bars")
        self.setToolTip("Share of each layer in ‖Δh⁰‖²/σ₀² + ‖Δh¹‖²/σ₁² + …")

    def sizeHint(self) -> QSize:
        return QSize(360, _HEAD + _LINE * max(len(self.shares), 4) + _EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, _HEAD + _LINE * max(len(self.shares), 2) + _EDGE)

    def set_placeholder(self, text: str) -> None:
        """Set the text that is shown without shares."""
        self._placeholder = text
        self._changed()

    def set_shares(
        self, names: Sequence[str], shares: Sequence[float], widths: Sequence[float], stale: bool = False
    ) -> None:
        """Show the names of the layers, their fractions of the exponent, 0 to 1, and their widths.

        An infinite width means that the layer is unused; `stale` greys the bars because the parameters have changed.
        """
        same = len(shares) == len(self.shares)
        self.shares, self._stale = tuple(shares), stale
        least = min((width for width in widths if 0.0 < width < math.inf), default=1.0)
        decimals = min(max(2 - math.floor(math.log10(least)), 0), 4)  # three digits of the smallest width
        sigmas = ["∞" if math.isinf(width) else fixed(width, decimals) for width in widths]
        self._texts = list(zip(names, [per_cent(100 * share, 1) for share in shares], sigmas, strict=True))
        self._changed()
        if not same:
            self.updateGeometry()

    def _changed(self) -> None:
        layers = [f"{name}: {share}, σ {sigma}" for name, share, sigma in self._texts]
        self.setAccessibleDescription("; ".join(layers) or self._placeholder)
        self.update()

    def _columns(self) -> tuple[float, float, float]:
        """Return the left and right ends of the track and the position of σ."""
        advance = QFontMetricsF(figure_font(self)).horizontalAdvance
        start = self.width() - _EDGE - max(map(advance, ("000.00", *(sigma for _, _, sigma in self._texts))))
        return _EDGE + 40, start - _GAP - advance("100.0 %") - _GAP, start

    def bar(self, layer: int) -> QRectF:
        """Return the current rectangle of a layer's bar."""
        left, right, _ = self._columns()
        share = min(max(self.shares[layer], 0.0), 1.0)
        return QRectF(left, _HEAD + layer * _LINE + (_LINE - _BAR) / 2, share * (right - left), _BAR)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, font = theme_of(self), figure_font(self)
        with QPainter(self) as painter:
            if not self.shares:
                paint_placeholder(painter, self, self._placeholder)
                return
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            self._write(painter, 0, _HEAD, ("layer", "share", "σ"), theme.muted, figure_font(self, SECONDARY))
            for layer, texts in enumerate(self._texts):
                self._paint_bar(painter, theme, layer)
                colour = theme.muted if self._stale else theme.text
                self._write(painter, _HEAD + layer * _LINE, _LINE, texts, colour, font)

    def _paint_bar(self, painter: QPainter, theme: Theme, layer: int) -> None:
        bar, (left, right, _) = self.bar(layer), self._columns()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(QRectF(left, bar.top(), right - left, _BAR), 2.0, 2.0)
        painter.setBrush(theme.pin(layer + (self._texts[0][0] != layer_name(0))))  # each layer has its colour
        painter.setOpacity(STALE if self._stale else 1.0)
        if bar.width() > 0:
            painter.drawRoundedRect(QRectF(left, bar.top(), max(bar.width(), 1.5), _BAR), 2.0, 2.0)
        painter.setOpacity(1.0)

    def _write(
        self, painter: QPainter, top: int, height: int, texts: tuple[str, str, str], colour: str, font: QFont
    ) -> None:
        left, right, start = self._columns()
        write(painter, QRectF(_EDGE, top, left - _EDGE, height), MIDDLE, texts[0], colour, font)
        painter.drawText(QRectF(right, top, start - _GAP - right, height), RIGHT, texts[1])
        sigma = QRectF(start, top, self.width() - _EDGE - start, height)
        write(painter, sigma, RIGHT, texts[2], theme_of(self).muted, font)
