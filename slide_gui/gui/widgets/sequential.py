"""Colour scales for magnitudes: one hue whose lightness shows the value, and a readable text colour."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QLinearGradient, QPainter

from slide_gui.gui.theme import Theme

BLUE, ORANGE = "blue", "orange"

# From zero to the maximum; zero is close to the page's colour, and lightness is monotonic.
_ANCHORS = {
    (BLUE, "light"): ("#ECF2FB", "#BBD4F3", "#7FADE4", "#4580CB", "#1F5299", "#0B2A5C"),
    (BLUE, "dark"): ("#262D39", "#2C4567", "#38669D", "#518ECF", "#8ABAEC", "#D3E8FF"),
    (ORANGE, "light"): ("#FFF2E6", "#FBD0A8", "#F2A262", "#D8701F", "#A1480A", "#6B2A02"),
    (ORANGE, "dark"): ("#32291F", "#59391D", "#8D521B", "#C6742B", "#EFA566", "#FFE1C4"),
}
_INKS = ("#000000", "#FFFFFF")  # one of the two is readable on any colour


@cache
def _table(hue: str, theme: str) -> tuple[str, ...]:
    anchors = [QColor(a) for a in _ANCHORS[hue, theme]]
    colours = []
    for entry in range(256):
        place = entry / 255 * (len(anchors) - 1)
        left = min(int(place), len(anchors) - 2)
        share = place - left
        pairs = zip(_rgb(anchors[left]), _rgb(anchors[left + 1]), strict=True)
        colours.append(QColor(*(round(a + share * (b - a)) for a, b in pairs)).name())
    return tuple(colours)


def _rgb(colour: QColor) -> tuple[int, int, int]:
    return colour.red(), colour.green(), colour.blue()


def sequential(theme: Theme, share: float, hue: str = BLUE) -> QColor:
    """Return the colour of a magnitude from 0 to 1; larger is darker in the light theme, lighter in the dark one."""
    return QColor(_table(hue, theme.name)[round(255 * min(max(share, 0.0), 1.0))])


def towards(colour: QColor, page: QColor, share: float) -> QColor:
    """Return a colour mixed into the page's colour with the fraction `share`."""
    return QColor(*(round(share * a + (1 - share) * b) for a, b in zip(_rgb(colour), _rgb(page), strict=True)))


def contrast(a: QColor, b: QColor) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2)."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: QColor) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@cache
def _ink(name: str) -> str:
    return max(_INKS, key=lambda ink: contrast(QColor(ink), QColor(name)))


def ink_on(colour: QColor) -> QColor:
    """Return black or white, whichever is more readable on a colour; the contrast is at least 4.5."""
    return QColor(_ink(colour.name()))


def paint_ramp(painter: QPainter, theme: Theme, box: QRectF, hue: str = BLUE) -> None:
    """Draw the colours from zero to the maximum."""
    ramp = QLinearGradient(QPointF(box.left(), 0), QPointF(box.right(), 0))
    for stop in range(11):
        ramp.setColorAt(stop / 10, sequential(theme, stop / 10, hue))
    painter.fillRect(box, ramp)
