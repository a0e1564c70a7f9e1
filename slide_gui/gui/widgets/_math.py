"""Formulas in one line: text with _{…} lowered and ^{…} raised, in smaller type."""

from __future__ import annotations

import re

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

__all__ = ["math_width", "paint_math", "plain_math"]

_PARTS = re.compile(r"([_^])\{([^}]*)\}|([^_^]+|[_^](?!\{))")
_SMALLER = 0.78
_LOWER, _RAISE = 0.22, -0.38  # of the type's size


def plain_math(text: str) -> str:
    """Return a formula as plain text, for screen readers.

    >>> plain_math("E[Q]_{ab} = S_{ab} q_{a}")
    'E[Q]_ab = S_ab q_a'
    """
    return re.sub(r"([_^])\{([^}]*)\}", r"\1\2", text)


def math_width(text: str, font: QFont) -> float:
    """Return how wide a formula is, in pixels."""
    return sum(QFontMetricsF(each).horizontalAdvance(part) for part, each, _ in _pieces(text, font))


def paint_math(painter: QPainter, left: float, baseline: float, text: str, font: QFont) -> float:
    """Draw a formula in the painter's pen and return where it ends."""
    for part, each, shift in _pieces(text, font):
        painter.setFont(each)
        painter.drawText(QPointF(left, baseline + shift * font.pixelSize()), part)
        left += QFontMetricsF(each).horizontalAdvance(part)
    return left


def _pieces(text: str, font: QFont) -> list[tuple[str, QFont, float]]:
    small = QFont(font)
    small.setPixelSize(max(9, round(_SMALLER * font.pixelSize())))
    found = []
    for match in _PARTS.finditer(text):
        mark, inside, plain = match.groups()
        if mark is None:
            found.append((plain, font, 0.0))
        else:
            found.append((inside, small, _LOWER if mark == "_" else _RAISE))
    return found
