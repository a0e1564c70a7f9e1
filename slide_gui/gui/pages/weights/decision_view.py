"""A classifier's prediction for one image: margins or votes, nearest support vectors, and changes that flip it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import (
    MIDDLE,
    RIGHT,
    Pointed,
    focus_ring,
    frame,
    paint_callout,
    paint_placeholder,
    snapped,
)
from slide_gui.gui.widgets.pixels import INK, PixelGrid, coloured_image, ink_table, integer_scale
from slide_gui.gui.widgets.tiles import bar_image
from slide_gui.text import fixed, layer_name, per_cent

HEAD, LINE, EDGE, GAP, SIDE = 24, 16, 4, 20, 64
_BARS, _CARD, _FLIP = 216, 80, 190  # widths of the bars, of the card of one support vector, and of the changed image
_MOST_BARS = 5
Values = NDArray[np.float32]


@dataclass(frozen=True)
class ClassBar:
    """A class with the length of its bar, 0 to 1, and the text next to it."""

    name: str
    length: float
    text: str


@dataclass(frozen=True, eq=False)
class NearestPicture:
    """A support vector.

    Attributes
    ----------
    row : int
        Row of the training set, which a click reports.
    values : ndarray of shape (rows, columns) or (d,), float32
    name : str
        Name of its class.
    kernel, pull : float
        As in `experiments.inspection.decision.SupportVector`.
    shares : tuple of float
        One fraction per layer.
    """

    row: int
    values: Values
    name: str
    kernel: float
    pull: float
    shares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FlipPicture:
    """The changed image, the indices of its changed values, and a few lines of text."""

    values: Values
    changed: tuple[int, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DecisionPicture:
    """Everything that the view draws.

    Attributes
    ----------
    title : str
        Title above the bars.
    about : str
        Text below the bars, such as the name of the classifier.
    bars : tuple of ClassBar
        The predicted class comes first.
    rival : str
        Class that support vectors with a positive pull oppose and those with a negative pull favour.
    shares : tuple of float
        One fraction per layer, over all nearest support vectors.
    flip : FlipPicture or None
        None during the search.
    """

    title: str
    about: str
    bars: tuple[ClassBar, ...]
    rival: str
    nearest: tuple[NearestPicture, ...]
    shares: tuple[float, ...]
    flip: FlipPicture | None


class DecisionView(Pointed):
    """A view with bars of the classes, the nearest support vectors that fit, and the changed image.

    Left and Right move between support vectors, Enter or a click selects one.
    """

    row_clicked = Signal(int)
    """Row of the training set."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture: DecisionPicture | None = None
        self._transposed = self._brief = False
        self._images: dict[object, QImage] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Prediction of the classifier: picture")

    def sizeHint(self) -> QSize:
        return QSize(860, HEAD if self._brief else HEAD + SIDE + 3 * LINE + EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(_BARS + _CARD + GAP, self.sizeHint().height())

    def set_brief(self, brief: bool) -> None:
        """Show one line only, or everything."""
        if brief != self._brief:
            self._brief, self._current = brief, None
            self.updateGeometry()
            self.update()

    @property
    def picture(self) -> DecisionPicture | None:
        """Return the picture."""
        return self._picture

    def set_picture(self, picture: DecisionPicture | None, transposed: bool = False) -> None:
        """Show a prediction, or the placeholder."""
        before = self._picture
        if picture is None or before is None or [n.row for n in picture.nearest] != [n.row for n in before.nearest]:
            self._current = None
        self._picture, self._transposed = picture, transposed
        self._images.clear()
        self._describe()
        self.update()

    def _describe(self) -> None:
        picture = self._picture
        if picture is None:
            self.setAccessibleDescription(self._placeholder)
        elif self._current is not None:
            self.setAccessibleDescription("; ".join(self._lines(picture.nearest[self._current])))
        else:
            bars = [f"{bar.name}: {bar.text}" for bar in picture.bars]
            flip = () if picture.flip is None else picture.flip.lines
            self.setAccessibleDescription(
                "; ".join(filter(None, [picture.title, *bars, " ".join(flip), picture.about]))
            )

    def _lines(self, nearest: NearestPicture) -> list[str]:
        assert self._picture is not None
        first = self._picture.bars[0].name
        towards = first if nearest.pull >= 0 else self._picture.rival
        shares = ", ".join(
            f"{layer_name(layer)} {per_cent(100 * share, 0)}" for layer, share in enumerate(nearest.shares)
        )
        return [
            f"training image {nearest.row + 1}, {nearest.name}",
            f"K = {fixed(nearest.kernel, 3)}; contribution to the margin: {fixed(abs(nearest.pull), 2)} for {towards}",
            f"squared distance by layer: {shares}",
        ]

    # Geometry

    def _cards(self) -> int:
        """Return the number of support vectors that fit."""
        if self._picture is None or self._brief:
            return 0
        room = self.width() - 2 * EDGE - _BARS - GAP
        if room >= _FLIP + GAP + _CARD:
            room -= _FLIP + GAP
        return max(1, min(len(self._picture.nearest), int(room // _CARD)))

    def _flip_place(self) -> QRectF | None:
        """Return the rectangle of the changed image, or None if it does not fit."""
        left = EDGE + _BARS + GAP + self._cards() * _CARD + GAP
        left = min(left, self.width() - EDGE - _FLIP) if left + 2 * _FLIP > self.width() else left
        if self.width() - left < _FLIP:
            return None
        return QRectF(left, 0, self.width() - EDGE - left, self.height())

    def place(self, number: int) -> QRectF:
        """Return the rectangle of the image of a support vector."""
        wide, high = self._size()
        left = EDGE + _BARS + GAP + number * _CARD
        return QRectF(left, HEAD + SIDE - high, wide, high)

    def _shape(self) -> tuple[int, ...]:
        assert self._picture is not None
        shape = self._picture.nearest[0].values.shape if self._picture.nearest else (1, 1)
        return shape[::-1] if self._transposed and len(shape) == 2 else shape

    def _size(self) -> tuple[float, float]:
        shape = self._shape()
        if len(shape) == 1:
            return float(_CARD - 12), float(SIDE)
        scale = integer_scale(max(shape), SIDE, self.devicePixelRatioF())
        return shape[1] * scale, shape[0] * scale

    def _at(self, point: QPointF) -> int | None:
        for number in range(self._cards()):
            if self.place(number).adjusted(-4, -4, 4, 3 * LINE + 8).contains(point):
                return number
        return None

    def _stepped(self, step: tuple[int, int]) -> int | None:
        if not step[1] or not self._cards():
            return None
        return 0 if self._current is None else min(max(self._current + step[1], 0), self._cards() - 1)

    def _end(self, last: bool) -> int | None:
        return (self._cards() - 1 if last else 0) if self._cards() else None

    def _click(self, target: int) -> None:
        assert self._picture is not None
        self.row_clicked.emit(self._picture.nearest[target].row)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter, picture = QPainter(self), self._picture
        if picture is None:
            paint_placeholder(painter, self, self._placeholder)
        elif self._brief:
            flip = () if picture.flip is None else picture.flip.lines
            self._title(painter, " · ".join([picture.title, *flip, picture.about]), EDGE, self.width() - 2 * EDGE)
        else:
            theme = theme_of(self)
            self._paint_bars(painter, picture, theme)
            self._paint_nearest(painter, picture, theme)
            place = self._flip_place()
            if place is not None:
                self._paint_flip(painter, picture, place, theme)
            if self._current is not None and self._current < len(picture.nearest):
                box = self.place(self._current)
                paint_callout(
                    painter, self, QPointF(box.right() - 8, box.top() + 8), self._lines(picture.nearest[self._current])
                )
        focus_ring(painter, self)
        painter.end()

    def _title(self, painter: QPainter, text: str, left: float, width: float) -> None:
        painter.setFont(figure_font(self, SECONDARY, strong=True))
        painter.setPen(QColor(theme_of(self).text))
        text = QFontMetricsF(painter.font()).elidedText(text, Qt.TextElideMode.ElideRight, width)
        painter.drawText(QRectF(left, 0, width, HEAD - 4), MIDDLE, text)

    def _paint_bars(self, painter: QPainter, picture: DecisionPicture, theme: Theme) -> None:
        self._title(painter, picture.title, EDGE, _BARS)
        painter.setFont(figure_font(self, SECONDARY))
        metrics, bars = QFontMetricsF(painter.font()), picture.bars[:_MOST_BARS]
        widest = min(max((metrics.horizontalAdvance(bar.name) for bar in bars), default=0.0), 80.0)
        numbers = max((metrics.horizontalAdvance(bar.text) for bar in bars), default=0.0)
        left, right = EDGE + widest + 6, EDGE + _BARS - numbers - 6
        for number, bar in enumerate(bars):
            line = QRectF(EDGE, HEAD + number * LINE, _BARS, LINE)
            painter.setPen(QColor(theme.text if number == 0 else theme.muted))
            painter.drawText(line, MIDDLE, metrics.elidedText(bar.name, Qt.TextElideMode.ElideRight, widest))
            painter.drawText(line, RIGHT, bar.text)
            track = QRectF(left, line.center().y() - 4, max(right - left, 0.0), 8)
            painter.fillRect(track, QColor(theme.line))
            track.setWidth(track.width() * min(max(bar.length, 0.0), 1.0))
            painter.fillRect(track, QColor(theme.accent if number == 0 else theme.muted))
        painter.setPen(QColor(theme.muted))
        below = QRectF(EDGE, HEAD + len(bars) * LINE + 4, _BARS, self.height() - HEAD - len(bars) * LINE - 4)
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop), picture.about)

    def _paint_nearest(self, painter: QPainter, picture: DecisionPicture, theme: Theme) -> None:
        left = EDGE + _BARS + GAP
        count = self._cards()
        self._title(painter, "Nearest support vectors of both", left, max(count * _CARD, 150.0))
        for number, nearest in enumerate(picture.nearest[:count]):
            box = self.place(number)
            painter.drawImage(box, self._image(nearest.values))
            frame(painter, box, theme.accent if number == self._current else theme.line)
            painter.setFont(figure_font(self, SECONDARY))
            metrics = QFontMetricsF(painter.font())
            line = QRectF(box.x(), HEAD + SIDE + 3, _CARD - 8, LINE)
            pull = f"{'+' if nearest.pull >= 0 else '−'}{fixed(abs(nearest.pull), 2)}"
            room = line.width() - metrics.horizontalAdvance(pull) - 4
            painter.setPen(QColor(theme.text))
            painter.drawText(line, MIDDLE, metrics.elidedText(nearest.name, Qt.TextElideMode.ElideMiddle, room))
            painter.setPen(QColor(theme.accent_text if nearest.pull >= 0 else theme.danger))
            painter.drawText(line, RIGHT, pull)
            self._stack(painter, nearest.shares, QRectF(box.x(), line.bottom() + 3, _CARD - 8, 6))
        self._legend(painter, picture, QRectF(left, HEAD + SIDE + 2 * LINE, self.width() - left, LINE), theme)

    def _stack(self, painter: QPainter, shares: Sequence[float], box: QRectF) -> None:
        """Draw a bar divided into one segment per layer."""
        ratio, start = self.devicePixelRatioF(), box.left()
        for layer, share in enumerate(shares):
            stop = start + share * box.width()
            piece = QRectF(snapped(start, ratio), box.top(), snapped(stop, ratio) - snapped(start, ratio), box.height())
            painter.fillRect(piece, theme_of(self).pin(layer))
            start = stop

    def _legend(self, painter: QPainter, picture: DecisionPicture, room: QRectF, theme: Theme) -> None:
        painter.setFont(figure_font(self, SECONDARY))
        metrics, left, stop = QFontMetricsF(painter.font()), room.left(), room.right()
        place = self._flip_place()
        if place is not None:
            stop = place.left() - GAP
        for layer, share in enumerate(picture.shares):
            text = f"{layer_name(layer)} {per_cent(100 * share, 0)}"
            width = 12 + metrics.horizontalAdvance(text)
            if left + width > stop:
                break
            middle = room.top() + room.height() / 2
            painter.fillRect(QRectF(left, middle - 4, 8, 8), theme.pin(layer))
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(left + 12, room.top(), width, room.height()), MIDDLE, text)
            left += width + 12

    def _paint_flip(self, painter: QPainter, picture: DecisionPicture, place: QRectF, theme: Theme) -> None:
        self._title(painter, "Changes that flip it", place.left(), place.width())
        flip, left = picture.flip, place.left()
        painter.setFont(figure_font(self, SECONDARY))
        lines: tuple[str, ...] = ("searching the fewest changes…",)
        if flip is not None:
            lines = flip.lines
            if flip.changed:
                wide, high = self._size()
                box = QRectF(left, HEAD + SIDE - high, wide, high)
                painter.drawImage(box, self._image(flip.values))
                frame(painter, box, theme.line)
                painter.setPen(QPen(QColor(theme.danger), 1.5))
                for index in flip.changed:
                    self._mark(painter, box, index)
                left = box.right() + 10
        painter.setPen(QColor(theme.muted))
        room = QRectF(left, HEAD, place.right() - left, place.height() - HEAD)
        painter.drawText(room, int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop), "\n".join(lines))

    def _mark(self, painter: QPainter, box: QRectF, index: int) -> None:
        """Outline a changed pixel, or draw a line at a changed bar."""
        assert self._picture is not None
        assert self._picture.flip is not None
        shape = self._picture.flip.values.shape
        if len(shape) == 1:
            x = box.left() + (index + 0.5) * box.width() / shape[0]
            painter.drawLine(QLineF(x, box.top(), x, box.bottom()))
            return
        grid = PixelGrid((shape[0], shape[1]), box.x(), box.y(), box.width() / self._shape()[1], self._transposed)
        painter.drawRect(grid.rect(index).adjusted(-1, -1, 1, 1))

    def _image(self, values: Values) -> QImage:
        key = id(values)
        if key not in self._images:
            theme = theme_of(self)
            if values.ndim == 2:
                seen = np.ascontiguousarray(values.T) if self._transposed else values
                self._images[key] = coloured_image(INK.indices(seen), ink_table(theme.is_dark))
            else:
                ratio, (wide, high) = self.devicePixelRatioF(), self._size()
                size = round(wide * ratio), round(high * ratio)
                self._images[key] = bar_image(values, INK, size, QColor(theme.panel))
        return self._images[key]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._images.clear()
        super().changeEvent(event)
