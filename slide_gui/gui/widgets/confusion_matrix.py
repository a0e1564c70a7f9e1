"""The confusion matrix: counts of predictions, coloured by their fraction of the true class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import BLUE, ORANGE, SECONDARY, figure_font, ink_on, paint_ramp, sequential, theme_of, towards
from slide_gui.gui.widgets.painted import (
    CENTRE,
    MIDDLE,
    RIGHT,
    STALE,
    CachedPixmap,
    HoverWidget,
    focus_ring,
    paint_callout,
    paint_placeholder,
    write,
)
from slide_gui.text import count, per_cent, told_apart

HEAD, FOOT, EDGE, GAP = 44, 28, 8, 1
LARGEST, FEW, ERRORS, RAMP = 56, 320, 64, 72
_READABLE, _SHORT = 36, 24  # least width of a column in pixels for the ends of a long name, and width of a short name


class ConfusionMatrix(HoverWidget):
    """A confusion matrix with true classes in rows, predictions in columns and the errors of the classes on the right.

    Correct predictions are blue. Errors are orange, on a separate scale that ends at the most frequent error,
    so that even rare ones are visible. Arrow keys move between cells, Enter clicks.

    Attributes
    ----------
    chosen : tuple of (row, column) or None
        The outlined cell.

    Signals
    -------
    cell_clicked(object)
        (true, predicted), the indices of the two classes.
    """

    cell_clicked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._shares: NDArray[np.float64] = np.zeros((0, 0))
        self._worst = 1.0
        self._labels: tuple[str, ...] = ()
        self._stale = False
        self._placeholder = "There are no predictions yet."
        self._still, self._version = CachedPixmap(), 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.chosen: tuple[int, int] | None = None
        self.setMinimumSize(280, 168)
        self.setAccessibleName("Confusion matrix")

    def sizeHint(self) -> QSize:
        side = max(len(self._labels), 6) * 40
        return QSize(side + 48 + ERRORS, side + HEAD + FOOT)

    def set_counts(
        self,
        counts: ArrayLike,
        labels: Sequence[str],
        stale: bool = False,
        worst: float | None = None,
    ) -> None:
        """Show a matrix.

        Parameters
        ----------
        counts : array_like of shape (k, k), integers
            Row i, column j: samples of class i predicted as class j. Empty without predictions.
        labels : sequence of str
            Names of the k classes.
        stale : bool
            True to grey the matrix because the parameters have changed.
        worst : float, optional
            End of the scale of errors as a fraction of the true class, to give several matrices the same
            colours; by default the most frequent error of this matrix.

        Raises
        ------
        ValueError
            If the shape of the counts does not match the number of labels.
        """
        matrix = np.asarray(counts, dtype=np.int64)
        if matrix.size and matrix.shape != (len(labels), len(labels)):
            raise ValueError(f"{len(labels)} labels need counts of shape {(len(labels),) * 2}, not {matrix.shape}")
        same = matrix.shape == self._counts.shape
        self._counts, self._labels = matrix, tuple(labels) if matrix.size else ()
        self._stale = stale
        self._version += 1
        self._shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1) if matrix.size else np.zeros((0, 0))
        self._worst = worst_mistake(matrix) if worst is None else worst
        if not same:
            self._current = self.chosen = None
            self.updateGeometry()
        self._describe()
        self.update()

    def set_chosen(self, cell: tuple[int, int] | None) -> None:
        """Outline the cell whose samples are listed elsewhere, or none."""
        if cell != self.chosen:
            self.chosen = cell
            self.update()

    def text_of(self, true: int, predicted: int) -> str:
        """Describe a cell in words, such as "true 3, predicted 5: 12 of 1 010 (1.2 %)"."""
        return "{}, {}: {}".format(*self._lines_of(true, predicted))

    def _lines_of(self, true: int, predicted: int) -> tuple[str, str, str]:
        many, total = int(self._counts[true, predicted]), int(self._counts[true].sum())
        share = per_cent(100.0 * many / total, 1) if total else "no samples"
        counts = f"{count(many)} of {count(total)} ({share})"
        return f"true {self._labels[true]}", f"predicted {self._labels[predicted]}", counts

    def _describe(self) -> None:
        if self._current is not None:
            self.setAccessibleDescription(self.text_of(*self._current))
            return
        total = int(self._counts.sum())
        wrong = total - int(np.trace(self._counts)) if total else 0
        text = self._placeholder
        if total:
            text = f"{count(wrong)} of {count(total)} misclassified ({per_cent(100.0 * wrong / total)})"
        self.setAccessibleDescription(text)

    # Geometry

    def _left(self) -> float:
        metrics = QFontMetricsF(figure_font(self, SECONDARY))
        widest = max((metrics.horizontalAdvance(t) for t in self._labels), default=0.0)
        return 16 + min(max(widest, metrics.horizontalAdvance("true")), 120, 0.3 * self.width())

    def _step(self) -> QSize:
        """Return the width and the height of a cell, including its gap. Long class names widen the cells."""
        many, metrics = max(len(self._labels), 1), QFontMetricsF(figure_font(self, SECONDARY))
        wide, high = (self.width() - self._left() - ERRORS - EDGE) / many, (self.height() - HEAD - FOOT) / many
        side = max(min(int(min(wide, high)), max(LARGEST, FEW // many)), 6)
        longest = max(map(metrics.horizontalAdvance, self._labels), default=0.0)
        widened = min(int(wide), math.ceil(longest) + 8, 3 * side)
        return QSize(max(side, widened) if widened >= _READABLE else side, side)

    def cell(self, true: int, predicted: int) -> QRectF:
        """Return the rectangle of a cell."""
        step = self._step()
        left, top = self._left() + predicted * step.width(), HEAD + true * step.height()
        return QRectF(left, top, step.width() - GAP, step.height() - GAP)

    def _at(self, place: QPointF) -> tuple[int, int] | None:
        step, many = self._step(), len(self._labels)
        column, row = (place.x() - self._left()) // step.width(), (place.y() - HEAD) // step.height()
        return (int(row), int(column)) if 0 <= row < many and 0 <= column < many else None

    # Painting

    def colour(self, true: int, predicted: int) -> QColor:
        """Return the colour of a cell; a count of 0 errors has the page's colour."""
        theme, share = theme_of(self), float(self._shares[true, predicted])
        if true == predicted:
            return sequential(theme, 0.15 + 0.45 * share, BLUE)
        return sequential(theme, 0.12 + 0.88 * share / self._worst, ORANGE) if share else QColor(theme.background)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        with QPainter(self) as painter:
            if not self._labels:
                paint_placeholder(painter, self, self._placeholder)
                focus_ring(painter, self)
                return
            self._still.draw(painter, self, self._version, self._paint_still)
            if self.chosen is not None:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                for pen in (QPen(QColor(theme.background), 5.0), QPen(QColor(theme.accent), 3.0)):
                    painter.setPen(pen)
                    painter.drawRect(self.cell(*self.chosen))
            if self._current is not None:
                box = self.cell(*self._current)
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(QColor(theme.text), 2.0))
                painter.drawRect(box)
                paint_callout(painter, self, box.center(), self._lines_of(*self._current))
            focus_ring(painter, self)

    def _paint_still(self, painter: QPainter) -> None:
        """Draw everything that hovering does not change."""
        self._paint_cells(painter)
        self._paint_margins(painter)
        self._paint_legend(painter)

    def _paint_cells(self, painter: QPainter) -> None:
        theme, many = theme_of(self), len(self._labels)
        font = figure_font(self, SECONDARY if self._step().height() >= 26 else 9)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        box_of_all = self.cell(0, 0).united(self.cell(many - 1, many - 1))
        painter.fillRect(box_of_all.adjusted(-GAP, -GAP, GAP, GAP), QColor(theme.line))
        for true in range(many):
            for predicted, value in enumerate(self._counts[true].tolist()):
                box = self.cell(true, predicted)
                colour = self.colour(true, predicted)
                if self._stale:
                    colour = towards(colour, QColor(theme.background), STALE)
                painter.fillRect(box, colour)
                text = count(value)
                if value and metrics.horizontalAdvance(text) <= box.width() - 2 and box.height() >= 11:
                    write(painter, box, CENTRE, text, ink_on(colour))

    def _paint_margins(self, painter: QPainter) -> None:
        theme, many, left, step = theme_of(self), len(self._labels), self._left(), self._step()
        small = figure_font(self, SECONDARY)
        right = self.cell(0, many - 1).right() + EDGE
        write(painter, QRectF(left, 2, self.width(), 18), MIDDLE, "predicted", theme.muted, small)
        painter.drawText(QRectF(0, HEAD - 22, left - 8, 18), RIGHT, "true")
        painter.drawText(QRectF(right, HEAD - 22, ERRORS - EDGE, 18), RIGHT, "error")
        metrics, rows = QFontMetricsF(small), self._counts.sum(axis=1)
        longest = max(map(metrics.horizontalAdvance, self._labels))
        widest = max(step.width() - 2, min(longest, _SHORT) + 4)
        side = self._labels if longest <= left - 8 else told_apart(self._labels)
        top = self._labels
        if longest > widest:  # names without their shared beginning; in narrow columns none, as rows have them too
            top = tuple(name.strip("…") for name in told_apart(top)) if step.width() >= _READABLE else ("",) * many
        for i, name in enumerate(side):
            row, column = self.cell(i, 0), self.cell(0, i)
            # Narrow cells leave space for only some of the names.
            if i % math.ceil(14 / step.height()) == 0:
                elided = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, left - 8)
                colour = theme.muted if self._stale else theme.text
                write(painter, QRectF(0, row.center().y() - 8, left - 8, 16), RIGHT, elided, colour)
                error = per_cent(100.0 * (1.0 - self._shares[i, i]), 1) if rows[i] else "–"
                place = QRectF(right, row.center().y() - 8, ERRORS - EDGE, 16)
                write(painter, place, RIGHT, error, theme.muted)
            if i % math.ceil(widest / step.width()) == 0:
                elided = metrics.elidedText(top[i], Qt.TextElideMode.ElideMiddle, widest)
                middle = max(column.center().x(), left + metrics.horizontalAdvance(elided) / 2)
                write(painter, QRectF(middle - 60, HEAD - 22, 120, 18), CENTRE, elided, theme.text)

    def _paint_legend(self, painter: QPainter) -> None:
        theme, left = theme_of(self), self._left()
        y = self.cell(len(self._labels) - 1, 0).bottom() + EDGE
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        most = per_cent(100.0 * self._worst, 1)
        texts = f"errors, 0 to {most} of the true class", f"errors, 0 to {most}"
        room, advance = self.width() - left - RAMP - 8, painter.fontMetrics().horizontalAdvance
        text = texts[advance(texts[0]) > room]
        left = min(left, max(left + room - advance(text), 0.0))
        paint_ramp(painter, theme, QRectF(left, y + 5, RAMP, 8), ORANGE)
        painter.drawText(QRectF(left + RAMP + 8, y, self.width(), 18), MIDDLE, text)

    # Mouse and keys

    def _click(self, target: tuple[int, int]) -> None:
        self.cell_clicked.emit(target)

    def _stepped(self, step: tuple[int, int]) -> tuple[int, int] | None:
        if not self._labels:
            return None
        last, (row, column) = len(self._labels) - 1, self._current or (0, 0)
        down, right = step if self._current is not None else (0, 0)
        return min(max(row + down, 0), last), min(max(column + right, 0), last)


def worst_mistake(counts: NDArray[np.int64]) -> float:
    """Return the largest fraction of a true class predicted as one other class; always above 0."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) if counts.size else np.zeros((0, 0))
    return max(float((shares * (1.0 - np.eye(len(shares)))).max(initial=0.0)), 1e-12)
