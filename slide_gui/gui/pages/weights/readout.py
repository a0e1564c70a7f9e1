"""A table of the numbers under the cursor with fixed position and size."""

from __future__ import annotations

from itertools import accumulate

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, figure_font, theme_of

LINE, HEAD, EDGE = 22, 24, 4
USUAL = "+0.0000"


class Readout(QWidget):
    """A table with rows such as weight, rank, bias and per cent, and one column per layer.

    If the columns do not fit the width, the table is transposed.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ""
        self._columns: tuple[str, ...] = ()
        self._rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Values under the cursor: table")

    def set_values(
        self,
        title: str,
        columns: tuple[str, ...],
        rows: tuple[tuple[str, tuple[str, ...]], ...],
    ) -> None:
        """Show a table.

        Parameters
        ----------
        title : str
            Text at the top left, such as "at 14, 12".
        columns : tuple of str
            One title per layer.
        rows : tuple of (str, tuple of str)
            A name and one text per column; texts of a row have the same number of decimals.
            Missing texts are left empty.
        """
        height = self.sizeHint().height()
        self._title, self._columns, self._rows = title, columns, rows
        lines = [f"{name} {', '.join(texts)}" for name, texts in rows]
        self.setAccessibleDescription("; ".join([title, *lines]))
        if self.sizeHint().height() != height:
            self.updateGeometry()
        self.update()

    def is_turned(self, width: int | None = None) -> bool:
        """True if the layers are in rows because their columns do not fit."""
        room = (self.width() if width is None else width) - self._first_column() - EDGE
        advance = QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance(USUAL) + 8
        return len(self._columns) * advance > room and len(self._columns) > len(self._rows)

    def holds(self, columns: int, text: str) -> bool:
        """Return True if a text fits into this number of columns."""
        advance = QFontMetricsF(figure_font(self, SECONDARY + 1)).horizontalAdvance(text) + 6
        return columns * advance <= self.width() - self._first_column(self.is_turned()) - EDGE

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = len(self._columns) if self.is_turned(width) else len(self._rows)
        return HEAD + max(lines, 4) * LINE

    def sizeHint(self) -> QSize:
        return QSize(252, self.heightForWidth(max(self.width(), 252)))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, HEAD + 4 * LINE)

    def _first_column(self, turned: bool = False) -> float:
        if turned:  # the title of the table shares a line with the column titles
            return QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance(self._title) + 2 * EDGE
        return QFontMetricsF(figure_font(self, SECONDARY + 1)).horizontalAdvance("weight") + 2 + EDGE

    def _cells(self, turned: bool) -> tuple[tuple[str, ...], list[tuple[str, tuple[str, ...]]]]:
        """Return the column titles and the lines as displayed."""
        if not turned:
            return self._columns, list(self._rows)
        names = tuple(name for name, _ in self._rows)
        lines = [
            (title, tuple(texts[i] if i < len(texts) else "" for _, texts in self._rows))
            for i, title in enumerate(self._columns)
        ]
        return names, lines

    def _ends(
        self, titles: tuple[str, ...], lines: list[tuple[str, tuple[str, ...]]], metrics: QFontMetricsF
    ) -> list[float]:
        """Return the right edges of the columns: equal widths for layers, widths of the texts for others."""
        turned = self.is_turned()
        widths = [0.0] * len(titles)
        if turned:
            columns = zip(titles, *(texts for _, texts in lines), strict=True)
            widths = [max(map(metrics.horizontalAdvance, column)) for column in columns]
        first = self._first_column(turned)
        gap = (self.width() - EDGE - first - sum(widths)) / max(len(titles), 1)
        return [first + total + (i + 1) * gap for i, total in enumerate(accumulate(widths))]

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, turned = theme_of(self), self.is_turned()
        titles, lines = self._cells(turned)
        painter = QPainter(self)
        first = self._first_column(turned)
        small = figure_font(self, SECONDARY)
        body = figure_font(self, SECONDARY + self.holds(len(titles), "+0.00"))  # smaller type in narrow columns
        ends = self._ends(titles, lines, QFontMetricsF(body))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(small)
        painter.setPen(QColor(theme.muted))
        metrics = QFontMetricsF(small)
        room = ends[0] - 2 * EDGE - metrics.horizontalAdvance(titles[0]) if titles else self.width() - 2.0 * EDGE
        title = metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRectF(EDGE, 0, self.width(), HEAD), middle, title)
        for title, end in zip(titles, ends, strict=True):
            painter.drawText(QRectF(0, 0, end, HEAD), right, title)
        for line, (name, texts) in enumerate(lines):
            top = HEAD + line * LINE
            painter.setPen(QPen(QColor(theme.line), 1.0))
            painter.drawLine(EDGE, top, self.width() - EDGE, top)
            painter.setFont(body)
            painter.setPen(QColor(theme.text))
            painter.drawText(QRectF(EDGE, top, first, LINE), middle, name)
            for text, end in zip(texts, ends, strict=False):
                painter.drawText(QRectF(0, top, end, LINE), right, text)
        painter.end()
