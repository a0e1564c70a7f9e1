"""The steps that lead to one weight: formulas of S, q, E[P], E[Q] and W with the numbers of two pixels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, Painted, focus_ring
from slide_gui.gui.widgets.pixels import ARROWS

_PARTS = re.compile(r"([_^])\{([^}]*)\}|([^_^]+|[_^](?!\{))")
_SMALLER = 0.78
_LOWER, _RAISE = 0.22, -0.38  # shifts of subscripts and superscripts relative to the font size


def plain_math(text: str) -> str:
    """Return a formula as plain text for screen readers.

    >>> plain_math("E[Q]_{ab} = S_{ab} q_{a}")
    'E[Q]_ab = S_ab q_a'
    """
    return re.sub(r"([_^])\{([^}]*)\}", r"\1\2", text)


def math_width(text: str, font: QFont) -> float:
    """Return the width of a formula in pixels."""
    return sum(QFontMetricsF(each).horizontalAdvance(part) for part, each, _ in _pieces(text, font))


def paint_math(painter: QPainter, left: float, baseline: float, text: str, font: QFont) -> float:
    """Draw a formula with the painter's pen and return the position of its end."""
    for part, each, shift in _pieces(text, font):
        painter.setFont(each)
        painter.drawText(QPointF(left, baseline + shift * font.pixelSize()), part)
        left += QFontMetricsF(each).horizontalAdvance(part)
    return left


def _pieces(text: str, font: QFont) -> list[tuple[str, QFont, float]]:
    small = QFont(font)
    small.setPixelSize(max(9, round(_SMALLER * font.pixelSize())))
    pieces = []
    for match in _PARTS.finditer(text):
        mark, inside, plain = match.groups()
        if mark is None:
            pieces.append((plain, font, 0.0))
        else:
            pieces.append((inside, small, _LOWER if mark == "_" else _RAISE))
    return pieces


HEAD, ROW, EDGE, GAP, NARROW = 44, 27, 4, 16, 12


@dataclass(frozen=True)
class ExplainLine:
    """A step with its name, formula, inserted numbers, result, reference to the paper, and meaning."""

    name: str
    formula: str
    numbers: str
    value: str
    place: str
    tip: str


class ExplainPanel(Painted):
    """A table of formulas whose layout does not depend on the numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = self._second = ""
        self._line = -1  # selected by keys
        self._lines: tuple[ExplainLine, ...] = ()
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("The numbers behind one weight: table of formulas")

    def sizeHint(self) -> QSize:
        return QSize(640, HEAD + ROW * max(len(self._lines), 9) + EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, self.sizeHint().height())

    def set_lines(self, title: str, second: str, lines: tuple[ExplainLine, ...], stale: bool = False) -> None:
        """Show the numbers of one pair of features.

        Parameters
        ----------
        title, second : str
            Description of a, b and the layer.
        lines : tuple of ExplainLine
            Steps; without any only the titles are shown.
        stale : bool
            True to grey the numbers because newer weights are being computed.
        """
        self._title, self._second, self._stale = title, second, stale
        self._lines = lines
        spoken = [f"{plain_math(line.name)} = {plain_math(line.formula)} = {line.value}" for line in self._lines]
        self.setAccessibleDescription("; ".join(filter(None, [title, second, *spoken])))
        self.update()

    @property
    def title(self) -> str:
        """Return the description of a, b and the layer."""
        return self._title

    def lines(self) -> tuple[ExplainLine, ...]:
        """Return the steps."""
        return self._lines

    def columns(self) -> tuple[float, float, float | None, float | None, float]:
        """Return the positions of name, formula, numbers and reference, and the right edge of the values.

        The references, then the numbers, are None if the panel is too narrow for them.
        """
        font = figure_font(self, BODY)
        texts = [[getattr(line, part) for line in self._lines] for part in ("name", "formula", "numbers", "value")]
        name, formula, numbers, value = (max((math_width(t, font) for t in each), default=0.0) for each in texts)
        small = figure_font(self, SECONDARY)
        place = max((math_width(line.place, small) for line in self._lines), default=0.0)
        room = self.width() - 2 * EDGE - name - formula - value
        shown = 4 if room >= numbers + place + 4 * NARROW else 3 if room >= numbers + 3 * NARROW else 2
        room -= numbers * (shown > 2) + place * (shown > 3)
        gap = min(max(room / shown, NARROW), 2.0 * GAP)
        at_formula = EDGE + name + gap
        at_numbers = at_formula + formula + gap
        value_end = at_numbers + (numbers + gap) * (shown > 2) + value
        return (
            EDGE,
            at_formula,
            at_numbers if shown > 2 else None,
            value_end + gap if shown > 3 else None,
            value_end,
        )

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        painter = QPainter(self)
        painter.setPen(QColor(theme.text))
        painter.setFont(figure_font(self, BODY, strong=True))
        self._paint_heading(painter, 0, self._title)
        painter.setPen(QColor(theme.muted))
        painter.setFont(figure_font(self, SECONDARY))
        self._paint_heading(painter, 19, self._second)
        plain, strongest = (theme.muted,) * 2 if self._stale else (theme.text, theme.accent_text)
        small, body = figure_font(self, SECONDARY), figure_font(self, BODY)
        strong = figure_font(self, BODY, strong=True)
        name, formula, numbers, place, value_end = self.columns()
        for row, line in enumerate(self._lines):
            top = HEAD + row * ROW
            baseline = top + 18
            painter.setPen(QPen(QColor(theme.line), 1.0))
            painter.drawLine(EDGE, top, self.width() - EDGE, top)
            painter.setPen(QColor(plain))
            paint_math(painter, name, baseline, line.name, strong)
            paint_math(painter, formula, baseline, line.formula, body)
            painter.setPen(QColor(theme.muted))
            if numbers is not None:
                paint_math(painter, numbers, baseline, line.numbers, body)
            if place is not None:
                painter.setFont(small)
                painter.drawText(QRectF(place, top, self.width() - place, ROW), MIDDLE, line.place)
            painter.setPen(QColor(strongest if line.name.startswith("W_{ab") else plain))
            painter.setFont(strong)
            painter.drawText(QRectF(value_end - 160, top, 160, ROW), RIGHT, line.value)
        focus_ring(painter, self)
        painter.end()

    def _paint_heading(self, painter: QPainter, top: float, text: str) -> None:
        room = self.width() - 2 * EDGE
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRectF(EDGE, top, room, 19), MIDDLE, shown)

    def _leave(self) -> None:
        """Ignore the mouse, because nothing can be selected with it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between lines with Up and Down and report the meaning of each."""
        down = ARROWS.get(Qt.Key(event.key()), (0, 0))[0]
        if not down or not self._lines:
            super().keyPressEvent(event)
            return
        self._line = min(max(self._line + down, 0), len(self._lines) - 1)
        line = self._lines[self._line]
        self.setAccessibleDescription(
            f"{plain_math(line.name)} = {plain_math(line.formula)} = {line.value}; {line.tip}"
        )
        place = QPoint(int(self.columns()[1]), HEAD + (self._line + 1) * ROW)
        QToolTip.showText(self.mapToGlobal(place), line.tip, self)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = (event.pos().y() - HEAD) // ROW
            if 0 <= row < len(self._lines):
                QToolTip.showText(event.globalPos(), self._lines[row].tip, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)
