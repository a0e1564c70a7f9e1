"""How a method stands to the reference, by colour and by shape, and the legend of both."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of

__all__ = ["StandingLegend", "paint_mark", "standing_color"]

_LIGHT = {"better": "#0072B2", "worse": "#D55E00"}
_DARK = {"better": "#56B4E9", "worse": "#E69F00"}
_WORDS = (
    ("reference", "SLIDE-SVM"),
    ("better", "significantly fewer errors"),
    ("equal", "no significant difference"),
    ("worse", "significantly more errors"),
)
_MARK, _GAP = 9, 20


def standing_color(standing: str, theme: Theme) -> str:
    """Return the colour of a standing: two that every kind of colour vision tells apart, else text or muted."""
    colors = _DARK if theme.is_dark else _LIGHT
    return colors.get(standing, theme.text if standing == "reference" else theme.muted)


def paint_mark(painter: QPainter, box: QRectF, standing: str, theme: Theme) -> None:
    """Draw the mark: a diamond for the reference, a triangle down or up for fewer or more errors, else a ring."""
    color, x, y = QColor(standing_color(standing, theme)), box.center().x(), box.center().y()
    r = box.width() / 2
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if standing == "equal":
        painter.setPen(QPen(color, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(box.center(), r - 1, r - 1)
    else:
        corners = {
            "reference": ((x, y - r), (x + r, y), (x, y + r), (x - r, y)),
            "better": ((x - r, y - r + 1), (x + r, y - r + 1), (x, y + r - 1)),
            "worse": ((x - r, y + r - 1), (x + r, y + r - 1), (x, y - r + 1)),
        }[standing]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
    painter.restore()


class StandingLegend(QWidget):
    """One line that explains the marks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(20)
        self.setAccessibleName("Legend")
        self.setAccessibleDescription(", ".join(words for _, words in _WORDS))

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(figure_font(self, SECONDARY))
        wide = sum(_MARK + 5 + metrics.horizontalAdvance(words) + _GAP for _, words in _WORDS)
        return QSize(round(wide), 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter, theme, x = QPainter(self), theme_of(self), 0.0
        font = figure_font(self, SECONDARY)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for standing, words in _WORDS:
            paint_mark(painter, QRectF(x, (self.height() - _MARK) / 2, _MARK, _MARK), standing, theme)
            x += _MARK + 5
            painter.setPen(QColor(theme.muted))
            wide = metrics.horizontalAdvance(words)
            painter.drawText(
                QRectF(x, 0, wide + 2, self.height()),
                Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
                words,
            )
            x += wide + _GAP
        painter.end()
