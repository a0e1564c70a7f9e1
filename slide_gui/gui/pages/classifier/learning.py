"""A plot that shows how the kernel widths are learned, and bars for each layer's share of the kernel exponent."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QMargins, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QSizePolicy, QWidget

from slide_gui.core.svm.parameters import WidthsStep
from slide_gui.gui.plots.axes import Plot, decade_ticks, evenly_apart, linear_ticks, nice_ticks
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_changed, theme_of, towards
from slide_gui.gui.widgets.controls import label
from slide_gui.gui.widgets.layouts import flush, placed
from slide_gui.gui.widgets.painted import MIDDLE, STALE, write
from slide_gui.text import count, fixed, layer_name, per_cent, significant

LABELS = 124  # Width in pixels of the labels to the right of the plot.
# The smallest number of iterations that the horizontal axis spans, even if fewer have been computed.
FEWEST = 10
# The smallest ratio of the criterion's largest to its smallest value for which the vertical axis is logarithmic.
DECADES = 30.0
# The margin at both ends of an axis, as a fraction of its length. It keeps the outermost dots visible.
SIDE = 0.015


class CriterionPlot(Plot):
    """A plot of the criterion that gradient descent minimises over the kernel widths and C.

    The horizontal axis is the iteration. There is one curve for each starting point of the gradient descent. The curve
    that reaches the smallest criterion has the accent colour. The title of the horizontal axis shows the value of C at
    this minimum. The Left and Right keys move a marker along a curve.
    """

    shape = Qt.CursorShape.ArrowCursor  # The mouse pointer stays an arrow, because clicks have no effect.

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(QMargins(60, 32, LABELS, 44), ("Iteration", "Criterion"), parent)
        self.history: Sequence[WidthsStep] = ()
        self._name = "Criterion"
        self._starts: dict[int, list[WidthsStep]] = {}
        self._log = False
        self._current: WidthsStep | None = None
        self._placeholder = "No widths have been learned yet."
        self._ends = self._scatter(3, size=9)
        self.setMinimumSize(320, 160)
        self.set_name("Criterion")

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    # Contents

    def set_history(self, history: Sequence[WidthsStep]) -> None:
        """Show the iterations of the gradient descents from all starting points.

        If `history` is shorter than the one shown before, a new run has started, and the zoom is reset.
        """
        if len(history) < len(self.history):
            self.show_full_range()
        if self._current not in history:
            self._current = None
        self.history, self._starts = history, {}
        for step in history:
            self._starts.setdefault(step.start, []).append(step)
        self._renew()

    def set_name(self, name: str) -> None:
        """Set the name of the criterion, which is the title of the vertical axis."""
        self._name = name
        self.setAccessibleName(f"{name}, by iteration: plot")
        self._renew()

    def best(self) -> WidthsStep | None:
        """Return the iteration with the smallest criterion so far. Infinite and nan values are ranked last."""
        return _least(self.history)

    def position(self, step: WidthsStep) -> QPointF:
        """Return the position of an iteration on its curve, in pixels. Infinite and nan values are at the top edge."""
        place, box = self.at(*self._values_of(step)), self.box()
        return QPointF(place.x(), min(max(place.y(), box.top()), box.bottom()))

    def _describe(self) -> None:
        step = self._current or self.best()
        self.setAccessibleDescription(self._placeholder if step is None else "; ".join(self._lines(step)))

    def _lines(self, step: WidthsStep) -> list[str]:
        start = f" · start {step.start + 1}" if len(self._starts) > 1 else ""
        return [
            f"{self._name} {significant(step.objective)}",
            f"iteration {count(step.iteration)}{start}",
            f"C = {significant(step.C, 3)}",
        ]

    # Items

    def _renew(self) -> None:
        best, values = self.best(), [step.objective for step in self.history if math.isfinite(step.objective)]
        at_best = "" if best is None else f" · best C = {significant(best.C, 3)}"
        self._titles = f"Iteration{at_best}", self._name
        low, high = min(values, default=0.0), max(values, default=1.0)
        self._log = 0.0 < low <= high / DECADES
        self._ticks[1] = decade_ticks if self._log else linear_ticks
        if self._log:
            low, high = math.log10(low), math.log10(high)
        margin = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        last = nice_ticks(0.0, max([FEWEST, *(step.iteration for step in self.history)]), 6)[-1]
        self._set_full_range((-SIDE * last, (1.0 + SIDE) * last), (low - margin, high + margin))
        self._set_filled(bool(self.history))
        self._describe()

    def _height(self, step: WidthsStep) -> float:
        """Return the criterion, or its logarithm if the axis is logarithmic. Return nan if it cannot be drawn."""
        if not math.isfinite(step.objective) or (self._log and step.objective <= 0.0):
            return math.nan
        return math.log10(step.objective) if self._log else step.objective

    def _values_of(self, target: WidthsStep) -> tuple[float, float]:
        height = self._height(target)
        return target.iteration, height if math.isfinite(height) else self._full_range[1][1]

    def _draw(self, theme: Theme) -> None:
        best = self.best()
        dots = []
        for start, steps in self._starts.items():
            is_best, least = best is not None and start == best.start, _least(steps)
            colour = theme.accent if is_best else theme.muted
            curve = self._curve(start, 1)
            curve.setZValue(1 + is_best)
            heights = list(map(self._height, steps))
            curve.setData([s.iteration for s in steps], heights, pen=self._pen(colour, 2.0 if is_best else 1.25))
            if least is not None and math.isfinite(self._height(least)):
                dots.append((least.iteration, self._height(least), self._brush(colour)))
        x, y, brushes = map(list, zip(*dots, strict=True)) if dots else ([], [], [])
        self._ends.setData(x=x, y=y, pen=self._pen(theme.background, 1.5), brush=brushes)

    # Methods that draw the labels and the marks; the marks move with the mouse or the arrow keys

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        """To the right of the plot, write the smallest criterion that each gradient descent has reached."""
        box, best = self.box(), self.best()
        ends = [least for steps in self._starts.values() if (least := _least(steps)) is not None]
        heights = evenly_apart([self.position(end).y() for end in ends], 16, box.top(), box.bottom())
        for end, height in zip(ends, heights, strict=True):
            at = self.position(end)
            if box.left() <= at.x() <= box.right():
                painter.setPen(QPen(QColor(theme.line), 1.0))
                painter.drawLine(at + QPointF(5, 0), QPointF(box.right() + 12, height))
            name = f"start {end.start + 1}  " if len(ends) > 1 else ""
            font = figure_font(self, SECONDARY, strong=end is best)
            place = QRectF(box.right() + 16, height - 8, LABELS - 16, 16)
            colour = theme.accent_text if end is best else theme.muted
            write(painter, place, MIDDLE, name + significant(end.objective, 4), colour, font)

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        if self._current is not None:
            at, box = self.position(self._current), self.box()
            painter.setPen(QPen(QColor(theme.muted), 1.0))
            painter.drawLine(QPointF(at.x(), box.top()), QPointF(at.x(), box.bottom()))
            painter.setPen(QPen(QColor(theme.background), 1.5))
            painter.setBrush(QColor(theme.text))
            painter.drawEllipse(at, 4.0, 4.0)

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        step = self._current
        return None if step is None else (self.position(step), self._lines(step))

    # Methods that respond to the mouse and the keyboard

    def _at(self, place: QPointF) -> WidthsStep | None:
        """Return the iteration that is horizontally closest to a position, on the curve that is vertically closest."""
        if not self.box().adjusted(-4, 0, 4, 0).contains(place):
            return None
        x = self.values(place)[0]
        near = [min(steps, key=lambda step: abs(step.iteration - x)) for steps in self._starts.values()]
        return min(near, key=lambda step: abs(self.position(step).y() - place.y()), default=None)

    def _stepped(self, step: tuple[int, int]) -> WidthsStep | None:
        if self._current is None or not step[1]:
            return self.best() if step[1] else None
        steps = self._starts[self._current.start]
        return steps[min(max(steps.index(self._current) + step[1], 0), len(steps) - 1)]

    def _end(self, last: bool) -> WidthsStep | None:
        step = self._current or self.best()
        return None if step is None else self._starts[step.start][-1 if last else 0]


def _least(steps: Sequence[WidthsStep]) -> WidthsStep | None:
    """Return the iteration with the smallest criterion, or None if there are no iterations."""
    return min(steps, key=lambda s: s.objective if math.isfinite(s.objective) else math.inf, default=None)


_PLACEHOLDER_ROW = 99  # Row of the placeholder in the grid, below the rows of all layers.


class ShareBars(QWidget):
    """A widget that shows each layer's share of the kernel exponent (bar and percentage) and its kernel width σ."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, toolTip="Share of each layer in the kernel exponent ‖Δh⁰‖²/σ₀² + ‖Δh¹‖²/σ₁² + …")
        # The labels of each layer: its name, its share of the kernel exponent, and its width σ.
        self._texts: list[tuple[str, str, str]] = []
        self._stale = False
        self.bars: list[QProgressBar] = []
        # Rows of three labels: first the headings of the columns, then one row per layer.
        self._lines: list[Sequence[QLabel]] = []
        self._grid = flush(QGridLayout(self), 10, (8, 4, 8, 8))
        self._grid.setColumnStretch(1, 1)
        self._add_labels("secondary")
        self._empty = placed(self._grid, label("There are no widths yet.", self, wraps=True), _PLACEHOLDER_ROW, 0, 1, 4)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._grid.setRowStretch(_PLACEHOLDER_ROW, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Bars that show the share of each layer in the kernel exponent")
        self.set_shares((), (), ())
        theme_changed().connect(self._show)

    def _add_labels(self, role: str) -> None:
        """Add three labels: the headings of the columns, or the name, share and kernel width of one layer."""
        labels = [label("", self, role) for _ in range(3)]
        for column, part in zip((0, 2, 3), labels, strict=True):
            self._grid.addWidget(part, len(self._lines), column)
        for part in labels[1:]:
            part.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._lines.append(labels)

    def set_placeholder(self, text: str) -> None:
        """Set the text that is shown while there are no bars."""
        self._empty.setText(text)
        self._show()

    def set_shares(
        self, names: Sequence[str], shares: Sequence[float], widths: Sequence[float], stale: bool = False
    ) -> None:
        """Show each layer's name, its share of the kernel exponent (a fraction from 0 to 1), and its kernel width.

        A layer with an infinite width does not affect the kernel. If `stale` is True, the bars and labels are pale,
        because the result was computed with parameters other than the current ones.
        """
        while len(self.bars) < len(shares):
            self._add_labels("")
            self.bars.append(QProgressBar(self, textVisible=False, maximum=1000))
            self._grid.addWidget(self.bars[-1], len(self.bars), 1)
        for bar, share in zip(self.bars, shares, strict=False):
            bar.setValue(round(1000 * min(share, 1.0)))
        least = min((width for width in widths if 0.0 < width < math.inf), default=1.0)
        # All widths have the same number of decimals: as many as the smallest width needs for three significant digits,
        # but at most 4. A width that would then be rounded to 0 is written with three significant digits instead.
        decimals = min(max(2 - math.floor(math.log10(least)), 0), 4)
        sigmas = [fixed(width, decimals) if round(width, decimals) else significant(width, 3) for width in widths]
        sigmas = ["∞" if math.isinf(width) else text for width, text in zip(widths, sigmas, strict=True)]
        self._texts = list(zip(names, [per_cent(100 * share, 1) for share in shares], sigmas, strict=True))
        self._stale = stale
        self._show()

    @Slot()
    def _show(self) -> None:
        theme, texts = theme_of(self), [("layer", "share", "σ"), *self._texts]
        for line, labels in enumerate(self._lines):
            for column, part in enumerate(labels):
                part.setVisible(bool(self._texts) and line < len(texts))
                part.setEnabled(not self._stale)
                part.setText(texts[line][column] if line < len(texts) else "")
        for number, bar in enumerate(self.bars):
            bar.setVisible(number < len(self._texts))
            # A layer has the same colour with and without a bar for the raw input h⁰, so that results can be compared.
            colour = theme.pin(number + (self._lines[1][0].text() != layer_name(0)))
            shown = towards(colour, QColor(theme.background), STALE) if self._stale else colour
            style = f"QProgressBar {{ min-height: 10px; max-height: 10px }} ::chunk {{ background: {shown.name()} }}"
            if bar.styleSheet() != style:
                bar.setStyleSheet(style)
        self._empty.setVisible(not self._texts)
        layers = [f"{name}: {share}, σ {sigma}" for name, share, sigma in self._texts]
        self.setAccessibleDescription("; ".join(layers) or self._empty.text())
