"""Bars of each layer's fraction of the kernel's exponent, with its width σ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.motion import Settle
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, STALE, Pointed, focus_ring, paint_callout, paint_placeholder
from slide_gui.text import fixed, layer_name, per_cent

HEAD, LINE, BAR, EDGE, GAP = 24, 28, 10, 8, 12
WHAT = "share of ‖Δh⁰‖²/σ₀² + ‖Δh¹‖²/σ₁² + …"


@dataclass(frozen=True)
class LayerShare:
    """A layer's fraction of the kernel's exponent, 0 to 1, and its width; an infinite width means unused."""

    layer: int
    share: float
    sigma: float


class ShareBars(Pointed):
    """One bar per layer on a track of 100 %, with per cent and σ; changes take 150 ms.

    Up and Down move between layers.
    """

    shape = Qt.CursorShape.ArrowCursor  # clicks do nothing

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: tuple[LayerShare, ...] = ()
        self._settle = Settle(self)
        self._placeholder = "There are no widths yet."
        self._stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self.setAccessibleName("Share of each layer in the kernel: bars")

    def sizeHint(self) -> QSize:
        return QSize(360, HEAD + LINE * max(len(self._shares), 4) + EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, HEAD + LINE * max(len(self._shares), 2) + EDGE)

    def set_shares(self, shares: Sequence[LayerShare], stale: bool = False) -> None:
        """Show the layers' fractions; `stale` greys them because the parameters have changed."""
        same = len(shares) == len(self._shares)
        self._shares, self._stale = tuple(shares), stale
        if self._current is not None and self._current >= len(shares):
            self._current = None
        self._settle.go(tuple(s.share for s in shares))
        self._describe()
        if not same:
            self.updateGeometry()

    @property
    def shares(self) -> tuple[LayerShare, ...]:
        """Return the fractions."""
        return self._shares

    def is_moving(self) -> bool:
        """Return True if bars are moving."""
        return self._settle.is_running()

    def _sigma(self, share: LayerShare) -> str:
        """Format a width with the decimals that give the smallest one three digits."""
        if math.isinf(share.sigma):
            return "∞"
        least = min((s.sigma for s in self._shares if 0.0 < s.sigma < math.inf), default=1.0)
        return fixed(share.sigma, min(max(2 - math.floor(math.log10(least)), 0), 4))

    def _text(self, share: LayerShare) -> str:
        sigma = f"σ{_lowered(share.layer)} {self._sigma(share)}"
        return f"{layer_name(share.layer)}: {per_cent(100 * share.share, 1)}, {sigma}"

    def _describe(self) -> None:
        shown = self._shares if self._current is None else (self._shares[self._current],)
        self.setAccessibleDescription("; ".join(map(self._text, shown)) or self._placeholder)

    # Geometry

    def _columns(self) -> tuple[float, float, float]:
        """Return the left and right ends of the track and the position of σ."""
        metrics = QFontMetricsF(figure_font(self))
        sigma = max(map(metrics.horizontalAdvance, ("000.00", *map(self._sigma, self._shares))))
        start = self.width() - EDGE - sigma
        return EDGE + 32, start - GAP - metrics.horizontalAdvance("100.0 %") - GAP, start

    def line(self, row: int) -> QRectF:
        """Return the rectangle of a layer's line."""
        return QRectF(0, HEAD + row * LINE, self.width(), LINE)

    def bar(self, row: int) -> QRectF:
        """Return the current rectangle of a layer's bar."""
        left, right, _ = self._columns()
        share = min(max(self._settle.values[row], 0.0), 1.0)
        return QRectF(left, self.line(row).center().y() - BAR / 2, share * (right - left), BAR)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self._shares:
            paint_placeholder(painter, self, self._placeholder)
        else:
            self._paint_head(painter)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            for row, share in enumerate(self._shares):
                self._paint_line(painter, row, share)
            if self._current is not None:
                at = QPointF(self.bar(self._current).right(), self.line(self._current).center().y())
                paint_callout(painter, self, at, [self._text(self._shares[self._current]), WHAT])
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        focus_ring(painter, self)
        painter.end()

    def _paint_head(self, painter: QPainter) -> None:
        _, right, start = self._columns()
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme_of(self).muted))
        painter.drawText(QRectF(EDGE, 0, right, HEAD), MIDDLE, "layer")
        painter.drawText(QRectF(right, 0, start - GAP - right, HEAD), RIGHT, "share")
        painter.drawText(QRectF(start, 0, self.width() - EDGE - start, HEAD), RIGHT, "σ")

    def _paint_line(self, painter: QPainter, row: int, share: LayerShare) -> None:
        theme, box, bar = theme_of(self), self.line(row), self.bar(row)
        left, right, start = self._columns()
        painter.setPen(Qt.PenStyle.NoPen)
        if row == self._current:
            painter.setBrush(QColor(theme.hover))
            painter.drawRoundedRect(box.adjusted(4, 2, -4, -2), 4.0, 4.0)
        track = QRectF(left, bar.top(), right - left, BAR)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(track, 2.0, 2.0)
        painter.setBrush(theme.pin(share.layer))
        painter.setOpacity(STALE if self._stale else 1.0)
        if bar.width() > 0:
            painter.drawRoundedRect(QRectF(left, bar.top(), max(bar.width(), 1.5), BAR), 2.0, 2.0)
        painter.setOpacity(1.0)
        painter.setPen(QPen(QColor(theme.muted if self._stale else theme.text)))
        painter.setFont(figure_font(self))
        painter.drawText(QRectF(EDGE, box.top(), 40, LINE), MIDDLE, layer_name(share.layer))
        now = 100.0 * self._settle.values[row]
        painter.drawText(QRectF(right, box.top(), start - GAP - right, LINE), RIGHT, per_cent(now, 1))
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(start, box.top(), self.width() - EDGE - start, LINE), RIGHT, self._sigma(share))

    # Mouse and keys

    def _at(self, point: QPointF) -> int | None:
        row = int((point.y() - HEAD) // LINE)
        return row if 0 <= row < len(self._shares) else None

    def _stepped(self, step: tuple[int, int]) -> int | None:
        if not step[0] or not self._shares:
            return None
        return 0 if self._current is None else min(max(self._current + step[0], 0), len(self._shares) - 1)


def _lowered(layer: int) -> str:
    return str(layer).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
