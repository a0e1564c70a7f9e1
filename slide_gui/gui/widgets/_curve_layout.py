"""Where points, labels and the cursor of the error curves lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import QPointF, QRectF

from slide_gui.gui.widgets._axes import Axis, apart, linear
from slide_gui.gui.widgets._points import ErrorMark, ErrorPoint

__all__ = ["LABEL_GAP", "CurveLayout"]

HEAD, FOOT, LEFT, LABELS = 36, 48, 44, 84
LABEL_GAP = 16
"""Least distance of two labels, pixels."""
WAITING = 10

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class CurveLayout:
    """Geometry of the plot for one size and one set of points.

    Parameters
    ----------
    width, height : int
    points : tuple of ErrorPoint
    marks : tuple of ErrorMark
    """

    width: int
    height: int
    points: tuple[ErrorPoint, ...]
    marks: tuple[ErrorMark, ...]

    @cached_property
    def box(self) -> QRectF:
        """The place between the axes."""
        return QRectF(LEFT, HEAD, max(self.width - LEFT - LABELS, 40), max(self.height - HEAD - FOOT, 40))

    @cached_property
    def x(self) -> Axis:
        """Noise, 0 to 1."""
        most = 10 if self.box.width() > 360 else 5
        return linear(0.0, 1.0, self.box.left(), self.box.right(), most)

    @cached_property
    def y(self) -> Axis:
        """Error, from 0 or from near the least one where all are far from 0."""
        low, high = _limits(self.points, self.marks)
        return linear(low, high, self.box.bottom(), self.box.top(), 7 if self.box.height() > 200 else 4)

    @cached_property
    def lines(self) -> dict[int, list[ErrorPoint]]:
        """Depth → its points by rising noise; depths rise."""
        found: dict[int, list[ErrorPoint]] = {}
        for point in sorted(self.points, key=lambda p: (p.depth, p.noise)):
            found.setdefault(point.depth, []).append(point)
        return found

    @cached_property
    def _waiting(self) -> dict[str, int]:
        """Key of each point without an estimate → how many stand below it at its noise."""
        found, seen = {}, dict[float, int]()
        for point in sorted(self.points, key=lambda p: p.depth):
            if not point.is_known:
                found[point.key] = seen.get(point.noise, 0)
                seen[point.noise] = found[point.key] + 1
        return found

    def position(self, point: ErrorPoint) -> QPointF:
        """Return where a point stands; without an estimate it waits just above the axis."""
        if point.is_known:
            return QPointF(self.x.at(point.noise), self.y.at(point.error))
        return QPointF(self.x.at(point.noise), self.box.bottom() - WAITING * (1 + self._waiting[point.key]))

    def mark_position(self, mark: ErrorMark) -> QPointF:
        """Return where a published value stands."""
        return QPointF(self.x.at(mark.noise), self.y.at(mark.error))

    @cached_property
    def end_labels(self) -> list[tuple[int, QPointF, float]]:
        """Depth, end of its line and height of its label, none overlapping."""
        ends = [(depth, known[-1]) for depth, line in self.lines.items() if (known := [p for p in line if p.is_known])]
        wanted = [self.position(point).y() for _, point in ends]
        places = apart(wanted, LABEL_GAP, self.box.top(), self.box.bottom() - 4)
        return [(d, self.position(p), y) for (d, p), y in zip(ends, places, strict=True)]

    def values_at(self, noise: float) -> list[tuple[int, float, bool]]:
        """Return depth, error and whether it was computed just there; between points straight lines are read."""
        found = []
        for depth, line in self.lines.items():
            known = [p for p in line if p.is_known]
            exact = next((p for p in known if abs(p.noise - noise) < 1e-6), None)
            before = next((p for p in reversed(known) if p.noise < noise), None)
            after = next((p for p in known if p.noise > noise), None)
            if exact is not None:
                found.append((depth, exact.error, True))
            elif before is not None and after is not None:
                share = (noise - before.noise) / (after.noise - before.noise)
                found.append((depth, before.error + share * (after.error - before.error), False))
        return found

    def nearest(self, place: QPointF, reach: float) -> ErrorPoint | None:
        """Return the point within `reach` pixels of a place, None if there is none."""
        return _nearest(self.points, [self.position(p) for p in self.points], place, reach)

    def nearest_mark(self, place: QPointF, reach: float) -> ErrorMark | None:
        """Return the published value within `reach` pixels of a place."""
        return _nearest(self.marks, [self.mark_position(m) for m in self.marks], place, reach)

    def beside(self, point: ErrorPoint, step: int) -> ErrorPoint:
        """Return the next point of the same line, held at its ends."""
        line = self.lines[point.depth]
        return line[min(max(line.index(point) + step, 0), len(line) - 1)]

    def above(self, point: ErrorPoint, step: int) -> ErrorPoint:
        """Return, of the other lines' points at the nearest noise, the next one higher on the screen."""
        column = [min(line, key=lambda p: abs(p.noise - point.noise)) for line in self.lines.values()]
        column.sort(key=lambda p: (-self.position(p).y(), p.depth))
        at = next(i for i, p in enumerate(column) if p.depth == point.depth)
        to = min(max(at + step, 0), len(column) - 1)
        return point if to == at else column[to]


def _nearest(things: Sequence[Thing], places: Sequence[QPointF], to: QPointF, reach: float) -> Thing | None:
    best, found = reach, None
    for thing, place in zip(things, places, strict=True):
        away = math.hypot(place.x() - to.x(), place.y() - to.y())
        if away <= best:
            best, found = away, thing
    return found


def _limits(points: Sequence[ErrorPoint], marks: Sequence[ErrorMark]) -> tuple[float, float]:
    values = [p.error for p in points if p.is_known] + [m.error for m in marks]
    settled = [p for p in points if p.state in ("done", "stale") and math.isfinite(p.low + p.high)]
    for point in settled:
        values += [point.low, point.high]
    # Wide first intervals would make the axis jump while they shrink: they get the room of the settled ones.
    usual = max((0.5 * (p.high - p.low) for p in settled), default=0.0)
    for point in points:
        if point.is_known and point.state in ("running", "refining"):
            values += [point.error - usual, point.error + usual]
    if not values:
        return 0.0, 10.0
    if not settled:  # nothing says yet how far apart errors lie
        return 0.0, max(1.5 * max(values), 0.1)
    low, high = max(min(values), 0.0), max(values)
    if low < 0.4 * high or high == 0.0:
        low = 0.0
    return low, max(high, low + 0.1)
