"""Axes of a plot: where values lie, ticks outside, a light horizontal grid, labels that keep apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from slide_gui.gui.theme import Theme
from slide_gui.gui.widgets._numbers import count, decimals_of, fixed, nice_ticks, number
from slide_gui.gui.widgets._paint import snapped

__all__ = ["TICK", "Axis", "apart", "linear", "logarithmic", "paint_x_axis", "paint_y_axis"]

TICK = 4
"""Length of a tick, pixels."""


@dataclass(frozen=True)
class Axis:
    """Values along one direction of the screen.

    Parameters
    ----------
    low, high : float
        Values at the ends.
    start, stop : float
        Pixels of the ends.
    ticks : tuple of float
    labels : tuple of str
        One a tick.
    log : bool
        Equal ratios are equally far apart.
    """

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        if self.log:
            share = math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        share = (pixel - self.start) / ((self.stop - self.start) or 1.0)
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)


def linear(low: float, high: float, start: float, stop: float, most: int, tight: bool = False) -> Axis:
    """Return an axis with round ticks, its ends widened to them unless `tight`."""
    ticks = nice_ticks(low, high, most)
    if tight:
        ticks = tuple(t for t in ticks if low <= t <= high)
    else:
        low, high = ticks[0], ticks[-1]
    decimals = decimals_of(ticks)
    return Axis(low, high, start, stop, ticks, tuple(fixed(t, decimals) for t in ticks))


def logarithmic(low: float, high: float, start: float, stop: float, most: int) -> Axis:
    """Return a logarithmic axis with ticks at 1, 2, 5 times or at whole powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors, stride in (((1.0, 2.0, 5.0), 1), ((1.0,), 1), ((1.0,), 2), ((1.0,), 3), ((1.0,), 6), ((1.0,), 12)):
        every = [f * 10.0**power for power in range(first, last + 1) if (power - first) % stride == 0 for f in factors]
        below = [t for t in every if t <= low * (1 + 1e-9)]
        above = [t for t in every if t >= high * (1 - 1e-9)]
        ticks = tuple(t for t in every if below[-1] <= t <= (above[0] if above else every[-1]))
        if len(ticks) <= most + 2:
            break
    return Axis(
        ticks[0],
        max(ticks[-1], high),
        start,
        stop,
        ticks,
        tuple(count(round(t)) if t >= 1.0 else number(t) for t in ticks),
        True,
    )


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places at least `gap` apart between `low` and `high`, in the order of `wanted` and near to it.

    Groups that are too close are spread round their mean; where they do not all fit, they share the room evenly.
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    # Pool adjacent violators on wanted − rank · gap, which must not fall.
    groups: list[list[float]] = []
    for rank, i in enumerate(order):
        groups.append([wanted[i] - rank * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, size = groups.pop()
            before, many = groups[-1]
            groups[-1] = [(before * many + mean * size) / (many + size), many + size]
    base = [mean for mean, size in groups for _ in range(int(size))]
    roof = high - gap * (len(wanted) - 1)
    places = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        places[i] = min(max(base[rank], low), roof) + rank * gap
    return places


def paint_y_axis(painter: QPainter, theme: Theme, axis: Axis, left: float, right: float, ratio: float) -> None:
    """Draw grid lines from `left` to `right` and the ticks' labels left of them; the font is the painter's."""
    lines = [QLineF(left, _crisp(axis.at(t), ratio), right, _crisp(axis.at(t), ratio)) for t in axis.ticks]
    painter.setPen(QPen(QColor(theme.line), 1.0))
    painter.drawLines(lines)
    painter.setPen(QColor(theme.muted))
    flags = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    for line, text in zip(lines, axis.labels, strict=True):
        painter.drawText(QRectF(0, line.y1() - 8, left - TICK - 4, 16), flags, text)


def paint_x_axis(
    painter: QPainter, theme: Theme, axis: Axis, y: float, ratio: float, free: float | None = None
) -> None:
    """Draw the base line at height `y`, ticks below it and their labels; the font is the painter's.

    Labels near the pixel `free` are left out, for something else stands there.
    """
    y = _crisp(y, ratio)
    painter.setPen(QPen(QColor(theme.muted), 1.0))
    painter.drawLine(QPointF(axis.start, y), QPointF(axis.stop, y))
    flags = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
    for value, text in zip(axis.ticks, axis.labels, strict=True):
        x = _crisp(axis.at(value), ratio)
        painter.drawLine(QPointF(x, y), QPointF(x, y + TICK))
        if free is None or abs(x - free) > 32:
            painter.drawText(QRectF(x - 40, y + TICK + 2, 80, 16), flags, text)


def _crisp(value: float, ratio: float) -> float:
    """Return the middle of a device pixel, so that hairlines are not smeared over two."""
    return snapped(value, ratio) + 0.5 / ratio
