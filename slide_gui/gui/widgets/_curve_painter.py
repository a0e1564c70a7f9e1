"""Painting of the error curves: bands, lines, points, labels, cursor."""

from __future__ import annotations

import math
from itertools import groupby, pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets._axes import apart, paint_x_axis, paint_y_axis
from slide_gui.gui.widgets._curve_layout import LABEL_GAP, CurveLayout
from slide_gui.gui.widgets._numbers import fixed
from slide_gui.gui.widgets._paint import washed
from slide_gui.gui.widgets._points import ErrorPoint, depth_pen

__all__ = [
    "paint_axes",
    "paint_bands",
    "paint_cursor",
    "paint_cursor_values",
    "paint_end_labels",
    "paint_lines",
    "paint_marks",
    "paint_noise_axis",
    "paint_point",
    "paint_ring",
]

BAND = 0.2
RADIUS = 3.5
LIGHTER = 0.45
SWATCH = 16
MIDDLE = int(Qt.AlignmentFlag.AlignVCenter)


def paint_axes(painter: QPainter, widget: QWidget, layout: CurveLayout, titles: tuple[str, str], legend: str) -> None:
    """Draw the grid, the axis of errors, titles and the entry for the marks."""
    theme, box, ratio = theme_of(widget), layout.box, widget.devicePixelRatioF()
    painter.setFont(figure_font(widget, SECONDARY))
    paint_y_axis(painter, theme, layout.y, box.left(), box.right(), ratio)
    painter.setPen(QColor(theme.text))
    painter.drawText(QRectF(8, 2, box.right() - 8, 20), MIDDLE, titles[1])
    foot = QRectF(box.left(), box.bottom() + 24, box.width(), 18)
    painter.drawText(foot, int(Qt.AlignmentFlag.AlignHCenter), titles[0])
    if layout.marks and legend:
        wide = QFontMetricsF(painter.font()).horizontalAdvance(legend)
        painter.drawText(QRectF(box.right() - wide, 2, wide + 2, 20), MIDDLE, legend)
        _diamond(painter, theme, QPointF(box.right() - wide - 12, 12.5))


def paint_noise_axis(painter: QPainter, widget: QWidget, layout: CurveLayout, noise: float | None) -> None:
    """Draw the axis of noise; the place of the cursor's number stays free."""
    painter.setFont(figure_font(widget, SECONDARY))
    free = None if noise is None else layout.x.at(noise)
    paint_x_axis(painter, theme_of(widget), layout.x, layout.box.bottom(), widget.devicePixelRatioF(), free)


def paint_bands(painter: QPainter, theme: Theme, layout: CurveLayout) -> None:
    """Draw the 95 % intervals; a point without neighbours shows its own as a thin line."""
    painter.setPen(Qt.PenStyle.NoPen)
    for depth, line in layout.lines.items():
        known = [p for p in line if p.is_known and math.isfinite(p.low + p.high)]
        if len(known) == 1:
            _whisker(painter, theme, layout, known[0])
        for kind, pairs in groupby(pairwise(known), key=_kind):
            run = list(pairs)
            points = [run[0][0], *(b for _, b in run)]
            xs = [layout.x.at(p.noise) for p in points]
            upper = [QPointF(x, layout.y.at(p.high)) for x, p in zip(xs, points, strict=True)]
            lower = [QPointF(x, layout.y.at(p.low)) for x, p in zip(xs, points, strict=True)]
            colour = QColor(theme.muted) if kind == "stale" else theme.pin(depth)
            colour.setAlphaF(BAND if kind == "done" else 0.6 * BAND)
            painter.setBrush(colour)
            painter.drawPolygon(QPolygonF(upper + lower[::-1]))


def _kind(pair: tuple[ErrorPoint, ErrorPoint]) -> str:
    """Return how the stretch between two points is drawn: as the less certain of them."""
    states = {p.state for p in pair}
    return "stale" if "stale" in states else "done" if states == {"done"} else "refining"


def _whisker(painter: QPainter, theme: Theme, layout: CurveLayout, point: ErrorPoint) -> None:
    colour = QColor(theme.muted) if point.state == "stale" else theme.pin(point.depth)
    colour.setAlphaF(0.7 if point.state == "done" else 0.4)
    painter.setPen(QPen(colour, 1.5))
    x = layout.x.at(point.noise)
    painter.drawLine(QPointF(x, layout.y.at(point.low)), QPointF(x, layout.y.at(point.high)))
    painter.setPen(Qt.PenStyle.NoPen)


def paint_lines(painter: QPainter, theme: Theme, layout: CurveLayout) -> None:
    """Draw one line a depth, lighter where a point is not final, grey where one is stale."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for depth, line in layout.lines.items():
        known = [p for p in line if p.is_known]
        for kind, pairs in groupby(pairwise(known), key=_kind):
            run = list(pairs)
            points = [run[0][0], *(b for _, b in run)]
            pen = depth_pen(theme, depth, 2.0)
            if kind != "done":
                colour = QColor(theme.muted) if kind == "stale" else theme.pin(depth)
                colour.setAlphaF(LIGHTER)
                pen.setColor(colour)
            painter.setPen(pen)
            painter.drawPolyline(QPolygonF([layout.position(p) for p in points]))


def paint_point(painter: QPainter, theme: Theme, layout: CurveLayout, point: ErrorPoint, level: float) -> None:
    """Draw one point; `level`, 0 to 1, is where the pulse of those being computed is."""
    place, page = layout.position(point), QColor(theme.background)
    colour = QColor(theme.muted) if point.state == "stale" else theme.pin(point.depth)
    painter.setPen(QPen(page, 1.5))
    painter.setBrush(page)
    painter.drawEllipse(place, RADIUS + 0.75, RADIUS + 0.75)
    painter.setPen(Qt.PenStyle.NoPen)
    if point.state == "running":
        halo = QColor(colour)
        halo.setAlphaF(0.32 * level)
        painter.setBrush(halo)
        painter.drawEllipse(place, RADIUS + 2.0 + 2.5 * level, RADIUS + 2.0 + 2.5 * level)
        colour.setAlphaF(0.45 + 0.55 * level)
        painter.setBrush(colour)
        painter.drawEllipse(place, RADIUS - 0.5, RADIUS - 0.5)
        return
    if point.state != "done":
        colour.setAlphaF(LIGHTER)
    painter.setBrush(colour)
    painter.drawEllipse(place, RADIUS, RADIUS)


def paint_ring(painter: QPainter, theme: Theme, place: QPointF, colour: str) -> None:
    """Draw a ring round what is pointed at or chosen."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen, radius in ((QPen(QColor(theme.background), 4.0), 7.0), (QPen(QColor(colour), 2.0), 7.0)):
        painter.setPen(pen)
        painter.drawEllipse(place, radius, radius)


def paint_marks(painter: QPainter, theme: Theme, layout: CurveLayout) -> None:
    """Draw the published values."""
    for mark in layout.marks:
        _diamond(painter, theme, layout.mark_position(mark))


def _diamond(painter: QPainter, theme: Theme, at: QPointF) -> None:
    r = 5.0
    shape = QPolygonF([at + QPointF(0, -r), at + QPointF(r, 0), at + QPointF(0, r), at + QPointF(-r, 0)])
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(washed(theme.background, 0.8), 3.5), QPen(QColor(theme.text), 1.5)):
        painter.setPen(pen)
        painter.drawPolygon(shape)
    painter.restore()


def paint_end_labels(painter: QPainter, widget: QWidget, layout: CurveLayout) -> None:
    """Name each line at its end, joined to it by a hairline where the label had to move."""
    theme = theme_of(widget)
    painter.setFont(figure_font(widget, SECONDARY))
    left = layout.box.right() + 14
    for depth, end, y in layout.end_labels:
        colour = theme.pin(depth)
        colour.setAlphaF(0.5)
        painter.setPen(QPen(colour, 1.0))
        knee = max(end.x() + RADIUS + 3, layout.box.right() - 2)
        if knee > end.x() + RADIUS + 4:
            painter.drawLine(QPointF(end.x() + RADIUS + 3, end.y()), QPointF(knee, end.y()))
        painter.drawLine(QPointF(knee, end.y()), QPointF(left - 2, y))
        painter.setPen(depth_pen(theme, depth, 2.5))
        painter.drawLine(QPointF(left, y), QPointF(left + SWATCH, y))
        painter.setPen(QColor(theme.text))
        painter.drawText(QRectF(left + SWATCH + 6, y - 8, 80, 16), MIDDLE, f"depth {depth}")


def paint_cursor(painter: QPainter, widget: QWidget, layout: CurveLayout, noise: float, hot: bool) -> None:
    """Draw the cursor's line and its noise on the axis."""
    theme, box, x = theme_of(widget), layout.box, layout.x.at(noise)
    painter.setPen(QPen(QColor(theme.accent), 2.5 if hot else 1.5))
    painter.drawLine(QPointF(x, box.top() - 8), QPointF(x, box.bottom()))
    painter.setFont(figure_font(widget, SECONDARY, strong=True))
    text = fixed(noise, 2)
    wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 12
    pill = QRectF(x - 0.5 * wide, box.bottom() + 4, wide, 18)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.accent))
    painter.drawRoundedRect(pill, 4.0, 4.0)
    painter.setPen(QColor(theme.on_accent))
    painter.drawText(pill, int(Qt.AlignmentFlag.AlignCenter), text)


def paint_cursor_values(painter: QPainter, widget: QWidget, layout: CurveLayout, noise: float) -> None:
    """Draw the value of each line beside the cursor, on the side where points are farther."""
    theme, values, x = theme_of(widget), layout.values_at(noise), layout.x.at(noise)
    if not values:
        return
    painter.setFont(figure_font(widget, SECONDARY))
    texts = [("" if exact else "≈ ") + fixed(error, 2) for _, error, exact in values]
    wide = max(QFontMetricsF(painter.font()).horizontalAdvance(t) for t in texts) + SWATCH + 13
    before = max((layout.x.at(p.noise) for p in layout.points if p.noise < noise - 1e-6), default=layout.box.left())
    after = min((layout.x.at(p.noise) for p in layout.points if p.noise > noise + 1e-6), default=layout.box.right())
    leftwards = after - x < min(x - before, wide + 14) or x + 10 + wide > layout.box.right() + 4
    left = x - 10 - wide if leftwards and x - 10 - wide > layout.box.left() else x + 10
    wanted = [layout.y.at(error) for _, error, _ in values]
    places = apart(wanted, LABEL_GAP, layout.box.top() + 8, layout.box.bottom() - 12)
    near = left if left > x else left + wide
    for (depth, _, _), text, y, at in zip(values, texts, places, wanted, strict=True):
        painter.setPen(QPen(washed(theme.muted, 0.6), 1.0))
        painter.drawLine(QPointF(x, at), QPointF(near, y))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(washed(theme.background, 0.88))
        painter.drawRoundedRect(QRectF(left, y - 8, wide, 16), 3.0, 3.0)
        painter.setPen(depth_pen(theme, depth, 2.5))
        painter.drawLine(QPointF(left + 4, y), QPointF(left + 4 + SWATCH, y))
        painter.setPen(QColor(theme.text))
        place = QRectF(left, y - 8, wide - 5, 16)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
