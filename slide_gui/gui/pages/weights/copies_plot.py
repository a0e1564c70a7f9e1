"""The plot of the distance of W_m from its limit W against the number of copies m, with the line c/√m."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from slide_gui.gui.plots.axes import Margins, Plot, apart, decade_ticks
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE, washed
from slide_gui.text import count, fixed, significant

LABELS = 112


@dataclass(frozen=True)
class CopiesSeries:
    """Relative errors of all rows or of one row of W.

    Attributes
    ----------
    name : str
        Name such as "all rows".
    color : str
        ``#RRGGBB``.
    points : tuple of (m, mean, least, largest error)
    slope : float or None
        Exponent of m, fitted to the means.
    reference : float or None
        Constant c of the dashed line c/√m.
    """

    name: str
    color: str
    points: tuple[tuple[int, float, float, float], ...]
    slope: float | None = None
    reference: float | None = None


def _powers(low: float, high: float, _most: int) -> list[tuple[float, str]]:
    """Return ticks of a binary logarithmic axis: every second power of two, or every power if few are visible."""
    first, last = math.ceil(max(low, 0.0)), math.floor(high)
    stride = 1 if last - first < 6 else 2
    return [(float(k), count(2**k)) for k in range(first, last + 1) if k % stride == 0]


class CopiesPlot(Plot):
    """Relative error against the number of copies; a click, or Left and Right, selects an m.

    Each mark is the mean over the seeds, with a whisker from the smallest to the largest error.
    """

    copies_chosen = Signal(int)
    """The m that was clicked or reached by keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._series: tuple[CopiesSeries, ...] = ()
        self._most = 1024
        self._chosen: int | None = None
        self._current: int | None = None
        self._dots: Any = None  # until the axes exist
        super().__init__(
            Margins(head=26, foot=44, left=60, right=LABELS),
            ("Corrupted copies m", "Relative error ‖Wₘ − W‖ / ‖W‖"),
            (_powers, decade_ticks),
            parent=parent,
        )
        self._dots = self._scatter(3, size=9)
        self._chosen_line = pg.InfiniteLine(angle=90)
        self._box.addItem(self._chosen_line, ignoreBounds=True)
        self.setMinimumSize(320, 180)
        self.setAccessibleName("Error of m corrupted copies relative to the limit: plot")
        self._set_filled(False)

    def sizeHint(self) -> QSize:
        return QSize(560, 280)

    # Contents

    def set_series(self, series: tuple[CopiesSeries, ...], most: int, stale: bool = False) -> None:
        """Show errors; the axis extends to `most` copies from the start."""
        if (series, most) != (self._series, self._most):
            self._series, self._most = series, most
            values = [v for s in series for point in s.points for v in point[1:]]
            values += [s.reference / math.sqrt(most) for s in series if s.reference]
            low, high = (0.9 * min(values), 1.1 * max(values)) if values else (0.01, 1.0)
            self._set_whole((-0.32, math.log2(most) + 0.32), _enclosed(low, high))
            self._draw(theme_of(self))
            self._set_filled(bool(self.copies()))
        self._set_faint(stale)
        self._describe()

    def set_chosen(self, copies: int | None) -> None:
        """Mark an m."""
        if copies != self._chosen:
            self._chosen = copies
            self._draw(theme_of(self))
            self._describe()
            self._changed()

    def chosen(self) -> int | None:
        """Return the marked m."""
        return self._chosen

    def copies(self) -> list[int]:
        """Return every m with a point."""
        return sorted({point[0] for series in self._series for point in series.points})

    def position(self, copies: int, error: float) -> QPointF:
        """Return the position of the error of m copies in pixels."""
        return self.at(math.log2(copies), math.log10(error))

    def lines_at(self, copies: int) -> list[str]:
        """Return the lines of text about an m."""
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

    # Items

    def _draw(self, theme: Theme) -> None:
        if self._dots is None:
            return
        self._chosen_line.setVisible(self._chosen is not None)
        self._chosen_line.setPen(self._pen(theme.accent))
        self._chosen_line.setPos(math.log2(self._chosen or 1))
        drawn: set[Any] = set()
        for number, series in enumerate(self._series):
            pen = self._pen(series.color, 1.5)
            points = np.log10([point[1:] for point in series.points] or np.ones((0, 3)))
            copies = np.log2([float(point[0]) for point in series.points])
            self._curve((number, "line"), 1).setData(copies, points[:, 0], pen=pen)
            whiskers = self._curve((number, "whiskers"), 1)
            whiskers.setData(np.repeat(copies, 2), points[:, 1:].ravel(), pen=pen, connect="pairs")
            drawn |= {(number, "line"), (number, "whiskers")}
            if series.reference is not None:
                ends = np.array(self._whole[0])
                dashed = self._pen(washed(series.color, 0.7), 1.25, (4.0, 3.0))
                errors = math.log10(series.reference) - 0.5 * math.log10(2.0) * ends
                self._curve((number, "law"), 0).setData(ends, errors, pen=dashed)
                drawn.add((number, "law"))
        self._empty_others(drawn)
        dots = [(math.log2(m), math.log10(mean), s.color) for s in self._series for m, mean, _, _ in s.points]
        self._dots.setData(
            x=[x for x, _, _ in dots],
            y=[y for _, y, _ in dots],
            pen=self._pen(theme.background, 1.5),
            brush=[self._brush(colour) for _, _, colour in dots],
        )

    # Texts next to the axes

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        """Label each line at its end, with its fitted slope."""
        box, shown = self.box(), [s for s in self._series if s.points]
        ends = [s.reference / math.sqrt(self._most) if s.reference else s.points[-1][1] for s in shown]
        wanted = [self.position(self._most, end).y() for end in ends]
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
            slope = series.slope
            text = "dashed: c/√m" if slope is None else f"slope {fixed(slope, 2)}"
            painter.drawText(QRectF(box.right() + 21, place + 7, LABELS - 21, 16), MIDDLE, text)

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        known = [p[1] for s in self._series for p in s.points if p[0] == self._current]
        if self._current is None or not known:
            return None
        return self.position(self._current, known[0]), self.lines_at(self._current)

    # Mouse and keys

    def _at(self, place: QPointF) -> int | None:
        if not self.box().adjusted(-8, 0, 8, 8).contains(place):
            return None
        near = self.values(place)[0]
        (left, right), known = self.shown()[0], self.copies()
        return min(
            (m for m in known if left <= math.log2(m) <= right), key=lambda m: abs(math.log2(m) - near), default=None
        )

    def _click(self, target: int) -> None:
        self.copies_chosen.emit(target)

    def _go(self, target: int) -> None:
        self._reveal(*self._where(target))
        self.copies_chosen.emit(target)

    def _where(self, target: int) -> tuple[float, float]:
        errors = [math.log10(p[1]) for s in self._series for p in s.points if p[0] == target]
        return math.log2(target), sum(errors) / len(errors)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        known = self.copies()
        if not step[1] or not known:
            return None
        here = known.index(self._chosen) if self._chosen in known else len(known) - 1
        return known[min(max(here + step[1], 0), len(known) - 1)]

    def _end(self, last: bool) -> int | None:
        known = self.copies()
        return known[-1 if last else 0] if known else None


def _enclosed(low: float, high: float) -> tuple[float, float]:
    """Return the logarithms of the nearest 1, 2 or 5 times a power of ten below and above."""

    def steps(value: float) -> list[float]:
        power = math.floor(math.log10(value))
        return [k + math.log10(f) for k in (power, power + 1) for f in (1.0, 2.0, 5.0)]

    below = max(s for s in steps(low) if s <= math.log10(low) + 1e-9)
    return below, min(s for s in steps(high) if s >= math.log10(high) - 1e-9)
