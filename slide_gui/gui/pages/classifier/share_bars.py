"""Bars of each layer's fraction of the kernel's exponent, with its width σ."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.motion import Settle
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, STALE, paint_placeholder
from slide_gui.text import fixed, layer_name, per_cent

HEAD, LINE, BAR, EDGE, GAP = 24, 28, 10, 8, 12


class ShareBars(QWidget):
    """One bar per layer on a track of 100 %, with per cent and σ; changes take 150 ms."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.shares: tuple[float, ...] = ()
        self.widths: tuple[float, ...] = ()
        self._settle = Settle(self)
        self._placeholder = "There are no widths yet."
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Share of each layer in the kernel: bars")
        self.setToolTip("Share of each layer in ‖Δh⁰‖²/σ₀² + ‖Δh¹‖²/σ₁² + …")

    def sizeHint(self) -> QSize:
        return QSize(360, HEAD + LINE * max(len(self.shares), 4) + EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, HEAD + LINE * max(len(self.shares), 2) + EDGE)

    def set_placeholder(self, text: str) -> None:
        """Set the text that is shown without shares."""
        self._placeholder = text
        self._changed()

    def set_shares(self, shares: Sequence[float], widths: Sequence[float], stale: bool = False) -> None:
        """Show the layers' fractions of the exponent, 0 to 1, and their widths.

        An infinite width means that the layer is unused; `stale` greys the bars because the parameters have changed.
        """
        same = len(shares) == len(self.shares)
        self.shares, self.widths, self._stale = tuple(shares), tuple(widths), stale
        self._settle.go(self.shares)
        self._changed()
        if not same:
            self.updateGeometry()

    def _changed(self) -> None:
        layers = [
            f"{layer_name(k)}: {per_cent(100 * share, 1)}, σ{_lowered(k)} {self._sigma(k)}"
            for k, share in enumerate(self.shares)
        ]
        self.setAccessibleDescription("; ".join(layers) or self._placeholder)
        self.update()

    def is_moving(self) -> bool:
        """Return True if bars are moving."""
        return self._settle.is_running()

    def _sigma(self, layer: int) -> str:
        """Format a width with the decimals that give the smallest one three digits."""
        if math.isinf(self.widths[layer]):
            return "∞"
        least = min((width for width in self.widths if 0.0 < width < math.inf), default=1.0)
        return fixed(self.widths[layer], min(max(2 - math.floor(math.log10(least)), 0), 4))

    def _columns(self) -> tuple[float, float, float]:
        """Return the left and right ends of the track and the position of σ."""
        metrics = QFontMetricsF(figure_font(self))
        sigma = max(map(metrics.horizontalAdvance, ("000.00", *map(self._sigma, range(len(self.widths))))))
        start = self.width() - EDGE - sigma
        return EDGE + 32, start - GAP - metrics.horizontalAdvance("100.0 %") - GAP, start

    def bar(self, layer: int) -> QRectF:
        """Return the current rectangle of a layer's bar."""
        left, right, _ = self._columns()
        share = min(max(self._settle.values[layer], 0.0), 1.0)
        return QRectF(left, HEAD + layer * LINE + (LINE - BAR) / 2, share * (right - left), BAR)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self.shares:
            paint_placeholder(painter, self, self._placeholder)
        else:
            self._paint_head(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            for layer in range(len(self.shares)):
                self._paint_line(painter, layer)
        painter.end()

    def _paint_head(self, painter: QPainter) -> None:
        _, right, start = self._columns()
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme_of(self).muted))
        painter.drawText(QRectF(EDGE, 0, right, HEAD), MIDDLE, "layer")
        painter.drawText(QRectF(right, 0, start - GAP - right, HEAD), RIGHT, "share")
        painter.drawText(QRectF(start, 0, self.width() - EDGE - start, HEAD), RIGHT, "σ")

    def _paint_line(self, painter: QPainter, layer: int) -> None:
        theme, top, bar = theme_of(self), HEAD + layer * LINE, self.bar(layer)
        left, right, start = self._columns()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(QRectF(left, bar.top(), right - left, BAR), 2.0, 2.0)
        painter.setBrush(theme.pin(layer))
        painter.setOpacity(STALE if self._stale else 1.0)
        if bar.width() > 0:
            painter.drawRoundedRect(QRectF(left, bar.top(), max(bar.width(), 1.5), BAR), 2.0, 2.0)
        painter.setOpacity(1.0)
        painter.setPen(QPen(QColor(theme.muted if self._stale else theme.text)))
        painter.setFont(figure_font(self))
        painter.drawText(QRectF(EDGE, top, 40, LINE), MIDDLE, layer_name(layer))
        now = 100.0 * self._settle.values[layer]
        painter.drawText(QRectF(right, top, start - GAP - right, LINE), RIGHT, per_cent(now, 1))
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(start, top, self.width() - EDGE - start, LINE), RIGHT, self._sigma(layer))


def _lowered(layer: int) -> str:
    return str(layer).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
