"""How a method stands to the reference, by colour and by shape, and the legend of both."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of

__all__ = ["STANDINGS", "Standing", "StandingLegend", "paint_mark", "standing_color"]


@dataclass(frozen=True)
class Standing:
    """One way of standing to the reference.

    Attributes
    ----------
    legend, spoken : str
        In the legend; beside a figure, for screen readers.
    light, dark : str
        Colour in each theme: two that every kind of colour vision tells apart; else text or muted.
    corners : tuple of (x, y)
        Of its mark, from −1 to 1; a ring without any.
    """

    legend: str
    spoken: str
    light: str = ""
    dark: str = ""
    corners: tuple[tuple[float, float], ...] = ()


STANDINGS = {
    "reference": Standing("SLIDE-SVM", "", corners=((0, -1), (1, 0), (0, 1), (-1, 0))),
    "better": Standing(
        "significantly fewer errors", "significantly fewer errors than SLIDE-SVM",
        "#0072B2", "#56B4E9", ((-1, -0.8), (1, -0.8), (0, 0.8)),
    ),
    "equal": Standing("no significant difference", "no significant difference from SLIDE-SVM"),
    "worse": Standing(
        "significantly more errors", "significantly more errors than SLIDE-SVM",
        "#D55E00", "#E69F00", ((-1, 0.8), (1, 0.8), (0, -0.8)),
    ),
}  # fmt: skip
_MARK, _GAP = 9, 20


def standing_color(standing: str, theme: Theme) -> str:
    """Return the colour of a standing; of none, muted."""
    record = STANDINGS.get(standing)
    color = "" if record is None else record.dark if theme.is_dark else record.light
    return color or (theme.text if standing == "reference" else theme.muted)


def paint_mark(painter: QPainter, box: QRectF, standing: str, theme: Theme) -> None:
    """Draw the mark: a diamond for the reference, a triangle down or up for fewer or more errors, else a ring."""
    color, middle, radius = QColor(standing_color(standing, theme)), box.center(), box.width() / 2
    corners = STANDINGS[standing].corners
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if corners:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([middle + QPointF(radius * x, radius * y) for x, y in corners]))
    else:
        painter.setPen(QPen(color, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(middle, radius - 1, radius - 1)
    painter.restore()


class StandingLegend(QWidget):
    """One line that explains the marks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(20)
        self.setAccessibleName("Legend")
        self.setAccessibleDescription(", ".join(standing.legend for standing in STANDINGS.values()))

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(figure_font(self, SECONDARY))
        wide = sum(_MARK + 5 + metrics.horizontalAdvance(standing.legend) + _GAP for standing in STANDINGS.values())
        return QSize(round(wide), 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter, theme, x = QPainter(self), theme_of(self), 0.0
        font = figure_font(self, SECONDARY)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        for key, standing in STANDINGS.items():
            paint_mark(painter, QRectF(x, (self.height() - _MARK) / 2, _MARK, _MARK), key, theme)
            x += _MARK + 5
            painter.setPen(QColor(theme.muted))
            wide = metrics.horizontalAdvance(standing.legend)
            painter.drawText(
                QRectF(x, 0, wide + 2, self.height()),
                Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
                standing.legend,
            )
            x += wide + _GAP
        painter.end()
