"""An interactive version of the paper’s schematic: an image to draw on, its corrupted copy, and all layers."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QWidget

from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.image import MARGIN, DrawingCanvas
from slide_gui.gui.widgets.painted import (
    INK,
    MIDDLE,
    RIGHT,
    STALE,
    Picker,
    focus_ring,
    frame,
    image_of,
    snapped,
    washed,
    write,
)
from slide_gui.gui.widgets.tiles import ImageLayout, bar_image
from slide_gui.text import fixed

EDGE, HEAD, LINE, ARROW, DOWN = 4, 20, 15, 40, 30
BARS_HEIGHT = 144
# Preferred side length of the canvas, and largest side length of any image, in logical pixels.
_CANVAS, _LARGEST = 252, 336
_DRAWABLE = 6  # Side length, in logical pixels, of an image pixel that is easy to hit with the mouse.
_LINES = 2  # Number of lines of text below a lower tile.
# Width of a caption below a tile, and smallest gap between the captions of two columns, in pixels.
_WORDS, _MARGIN = 96, 10
# A tile and the gap to its right are together at least `_SYMBOLS` pixels wide, so that the label of an arrow fits.
# If possible, they are at least `_RANGE` pixels wide, so that a caption such as "−0.50 to +0.73" fits.
_SYMBOLS, _RANGE = 80, 96
# Largest number of layers that always form one row, and gap in pixels between two rows of layers.
_IN_ONE_LINE, _BETWEEN = 5, 12


@dataclass(frozen=True, kw_only=True)
class FlowLayout(ImageLayout):
    """The positions of the input and of `depth` layers in the Flow view.

    Six or more layers form two rows if two rows fit and make the tiles wider. If the tiles have the same width in one
    and in two rows, the arrangement with the wider canvas is chosen. If `lines` is 1 or 2, it is the number of rows.
    """

    height: float
    depth: int
    lines: int = 0

    @cached_property
    def per_line(self) -> int:
        """Return the number of layers in the first row. The second row, if any, has the same number or one fewer."""
        return (self.depth + 1) // 2 if self.wraps else self.depth

    @cached_property
    def wraps(self) -> bool:
        """True if the layers form two rows, both to the right of the input."""
        if self.lines or self.depth <= _IN_ONE_LINE:
            return self.lines > 1
        return replace(self, lines=2)._quality > replace(self, lines=1)._quality

    @property
    def _quality(self) -> tuple[bool, float, float]:
        """Return values that rank layouts: True if the last layer fits, the width of the tiles, that of the canvas."""
        fits = QRectF(0.0, 0.0, self.width, self.height).contains(self.captions(self.lower(self.depth)))
        return fits, self.size[0], self.canvas.width()

    @property
    def n_lines(self) -> int:
        """Return the number of lines of text below the lower tile of each layer."""
        return 1 if self.wraps else _LINES

    @cached_property
    def scales(self) -> tuple[float, float]:
        """Return the side lengths of an image pixel on the canvas and in the tiles, in logical pixels.

        If possible, both are an integer number of device pixels.
        """
        steps = [k / self.ratio for k in range(32, 0, -1)] + [1 / (self.ratio * k) for k in range(2, 64)]
        longest = max(self.shape)
        small = [s for s in steps if s * longest <= _LARGEST] or steps[-1:]
        tile = next((s for s in small if self._fits(self._least(s), s)), small[-1])
        drawn = [s for s in small if s * longest <= max(_CANVAS, tile * longest)]
        least = self._least(tile)
        # If the captions below the tiles need more width, the canvas shrinks, but to no less than half its preferred
        # size.
        passes = (_RANGE, max(least, 0.5 * _CANVAS / longest)), (_SYMBOLS, least)
        fitting = (s for wide, smallest in passes for s in drawn if s >= smallest and self._fits(s, tile, wide))
        return next(fitting, least), tile

    def _least(self, tile: float) -> float:
        """Return the smallest side length of an image pixel on the canvas, given its side length in the tiles."""
        wanted = min(_DRAWABLE, 1.5 * tile) if max(self.shape) * _DRAWABLE <= _CANVAS else tile
        return max(tile, snapped(wanted, self.ratio))

    @property
    def scale(self) -> float:
        return self.scales[1]

    @cached_property
    def gap(self) -> float:
        """Return the gap between two columns, which is wider if the tiles are narrower than their captions."""
        canvas, tile = self.canvas.width(), self.size[0]
        spare = (self.width - self._across(canvas, tile, _least_gap(tile))) / (self.per_line + 1)
        wide = max(ARROW, _WORDS + _MARGIN - tile)
        return snapped(min(_least_gap(tile) + max(spare, 0.0), wide), self.ratio)

    def _across(self, canvas: float, tile: float, gap: float) -> float:
        return 2 * EDGE + canvas + self.per_line * (gap + tile) + (gap if self.wraps else _beyond(tile, gap))

    def _fits(self, canvas: float, tile: float, wide: float = _SYMBOLS) -> bool:
        rows, columns = self.shape
        down = 2 * EDGE + HEAD + canvas * rows + self._below(tile * rows) + (_LINES - self.n_lines) * LINE
        lines = 2 * EDGE + 2 * (HEAD + tile * rows + self._below(tile * rows)) + _BETWEEN if self.wraps else 0.0
        across = self._across(canvas * columns, tile * columns, _least_gap(tile * columns, wide))
        return across <= self.width and max(down, lines) <= self.height

    @property
    def _arrow(self) -> float:
        """Return the height of the arrow from an upper to a lower tile."""
        return DOWN - 8 if self.wraps else DOWN

    def _below(self, height: float) -> float:
        """Return the height of everything below an upper tile: captions, an arrow, and a lower tile with its texts."""
        return LINE + self._arrow + HEAD + height + self.n_lines * LINE

    @cached_property
    def canvas(self) -> QRectF:
        """Return the rectangle in which the input image x is drawn."""
        width, height = self.size
        if not self.bars:
            width, height = self.scales[0] * self.shape[1], self.scales[0] * self.shape[0]
        return QRectF(EDGE, EDGE + HEAD, width, height)

    @cached_property
    def size(self) -> tuple[float, float]:
        if self.bars:
            spare = self.width - 2 * EDGE - ARROW * (self.per_line + self.wraps)
            width = spare / (self.per_line + 1)
            if width < _WORDS:  # The captions of the last column need a margin to their right.
                width -= (ARROW - _MARGIN) / (self.per_line + 1)
            texts = 2 * EDGE + (1 + self.wraps) * (HEAD + self._below(0.0)) + _BETWEEN * self.wraps
            height = (self.height - texts) / (2 + 2 * self.wraps)
            # The height is even, so that the zero line lies between two pixels and bars end exactly at it.
            return min(320.0, width), min(max(2 * (height // 2), 24.0), BARS_HEIGHT)
        rows, columns = self.shape
        return columns * self.scales[1], rows * self.scales[1]

    def upper(self, column: int) -> QRectF:
        """Return the rectangle of the upper tile in a column. The tile shows x in column 0, or T(hᵏ⁻¹) in column k."""
        if column == 0:
            return self.canvas
        w, h = self.size
        return QRectF(self._left(column), self._base(column) - h, w, h)

    def lower(self, column: int) -> QRectF:
        """Return the rectangle of the lower tile of a column: x̃ in column 0, hᵏ in column k ≥ 1."""
        w, h = self.size
        return QRectF(self._left(column), self._base(column) + LINE + self._arrow + HEAD, w, h)

    def _base(self, column: int) -> float:
        """Return the y coordinate of the bottom edge of a column's upper tile."""
        height = self.size[1]
        if column == 0 or not self.wraps:
            return self.canvas.bottom()
        return EDGE + HEAD + height + (self._below(height) + _BETWEEN + HEAD + height) * (column > self.per_line)

    def _left(self, column: int) -> float:
        position = column - self.per_line * (column > self.per_line)
        first = snapped(self.canvas.right() + self.gap, self.ratio)
        return EDGE if position == 0 else first + (position - 1) * (self.size[0] + self.gap)

    def head(self, box: QRectF) -> QRectF:
        """Return the rectangle of the title above the tile that occupies `box`."""
        beyond = min(_beyond(box.width(), self.gap), self.gap - 0.5 * ARROW)
        return QRectF(box.x(), box.y() - HEAD - self._apart(box), box.width() + beyond, HEAD - 3)

    def captions(self, box: QRectF) -> QRectF:
        """Return the rectangle of the captions below the tile that occupies `box`."""
        width = self.canvas.width() + self.gap - _MARGIN if box.x() == EDGE else 0.0
        width = max(width, box.width() + _beyond(box.width(), self.gap))
        n_lines = _LINES if box.x() == EDGE else self.n_lines
        return QRectF(box.x(), box.bottom() + 3 + self._apart(box), width, n_lines * LINE)

    def _apart(self, box: QRectF) -> float:
        """Return the distance between a tile and its title and captions.

        The title and captions of the canvas leave space for its focus ring.
        """
        return 0.0 if self.bars or box != self.canvas else MARGIN

    def down(self, column: int) -> QLineF:
        """Return the straight arrow that points from a column's upper tile to its lower tile."""
        above, below = self.upper(column), self.lower(column)
        x = below.center().x() if column else below.x() + 0.5 * self.size[0]
        return QLineF(x, above.bottom() + LINE + 4 + self._apart(above), x, below.top() - HEAD - 1)

    def across(self, column: int) -> list[QPointF]:
        """Return the start, corners and end of the arrow from a column's lower tile to the next column's upper tile."""
        start, stop = self.lower(column), self.upper(column + 1)
        # The arrow has a vertical segment just to the left of the tile at which it ends.
        middle = stop.left() - 0.35 * ARROW
        turns = [QPointF(middle, start.center().y())]
        if self.wraps and column == self.per_line:  # The next column starts the second row of layers.
            middle += 0.1 * ARROW  # This shift to the right prevents two arrows from overlapping.
            right, between = start.right() + self.gap - 4, stop.top() - HEAD - 0.5 * _BETWEEN
            turns = [QPointF(right, start.center().y()), QPointF(right, between), QPointF(middle, between)]
        ends = QPointF(start.right() + 4, start.center().y()), QPointF(stop.left() - 4, stop.center().y())
        return [ends[0], *turns, QPointF(middle, stop.center().y()), ends[1]]


def _least_gap(width: float, wide: float = _SYMBOLS) -> float:
    """Return the smallest gap to the right of a tile of this width.

    An arrow fits into the gap, and so does the part of a caption of width `wide` that extends beyond the tile.
    """
    return max(ARROW, wide - width)


def _beyond(width: float, gap: float) -> float:
    """Return how many pixels the captions of a tile of this width may extend into the gap to its right."""
    return min(max(_WORDS - width, 0.0), gap - _MARGIN)


_layout = lru_cache(4)(FlowLayout)


@dataclass(frozen=True, eq=False)
class FlowTile:
    """A tile of the Flow view, which shows an image, or bars for features that are not pixels.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32, or None
        The values shown, in a read-only array. NaN marks a feature that was set to 0; None leaves the tile empty.
    scale : ColorScale
        Colour scale. The scale `INK` is drawn as dark ink on white paper in the light theme.
    lines : tuple of str
        Lines of text below the tile.
    """

    title: str
    values: NDArray[np.float32] | None = None
    scale: ColorScale = INK
    lines: tuple[str, ...] = ()
    tip: str = ""


@dataclass(frozen=True, eq=False)
class FlowColumn:
    """A column of two tiles with the labels of its arrows.

    Attributes
    ----------
    upper, lower : FlowTile
        x and x̃ in the first column, then T(hᵏ⁻¹) and hᵏ.
    down : str
        Label of the arrow from the upper to the lower tile, such as "W¹".
    across : str
        Label of the arrow to the next column, such as "T".
    stale : bool
        True if the column is drawn in grey, because newer weights are being computed.
    """

    upper: FlowTile
    lower: FlowTile
    down: str = ""
    across: str = ""
    stale: bool = False


class FlowView(Picker):
    """The tiles of the Flow view, joined by arrows. The tile of an input image is a `DrawingCanvas`.

    Features that are not pixels are shown as bars, on which the user cannot draw.

    Attributes
    ----------
    columns : tuple of FlowColumn
        The columns shown.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns: tuple[FlowColumn, ...] = ()
        self._shape: tuple[int, ...] = (28, 28)
        self._images: dict[tuple[FlowTile, str], QImage] = {}
        self.canvas = DrawingCanvas(self)
        self.canvas.pixel_hovered.connect(self._hover)
        self.setAccessibleName("Pictures of one sample in each layer")

    def sizeHint(self) -> QSize:
        return QSize(860, 500)

    def minimumSizeHint(self) -> QSize:
        return QSize(320, 200)

    # Contents

    def set_columns(self, columns: tuple[FlowColumn, ...]) -> None:
        """Show the given columns. If the canvas is visible, it replaces the tile of x and keeps its image."""
        same = len(columns) == len(self.columns)
        self.columns = columns
        first = columns[0].lower.values if columns else None
        shape = self._shape if first is None else first.shape
        self._images = {}
        if not same or shape != self._shape:
            self._shape = shape
            self._place()
            self.updateGeometry()
        self._set_count(int(np.prod(shape)))

    def set_cursor(self, index: int | None) -> None:
        super().set_cursor(index)
        self.canvas.set_cursor(self._current)

    def layout_of(self) -> FlowLayout:
        """Return the positions of the tiles and labels for the current size of the widget."""
        depth = max(len(self.columns) - 1, 0)
        return _layout(self.width(), self.devicePixelRatioF(), self._shape, height=self.height(), depth=depth)

    def _place(self) -> None:
        layout, has_focus = self.layout_of(), self.window().focusWidget() in (self, self.canvas)
        self.canvas.setVisible(not layout.bars)
        # The canvas receives the keyboard focus. If the canvas is hidden, the view itself receives it.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if layout.bars else Qt.FocusPolicy.NoFocus)
        if has_focus:
            (self if layout.bars else self.canvas).setFocus()
        self.canvas.setGeometry(layout.canvas.toAlignedRect().adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN))

    def _describe(self) -> None:
        tiles = [tile for column in self.columns for tile in (column.upper, column.lower)]
        parts = [f"{tile.title}: {'; '.join(tile.lines)}" for tile in tiles if tile.lines]
        if self._current is not None:
            parts = [f"{tile.title} {self.value_text(tile)}" for tile in tiles] + parts
        self.setAccessibleDescription(". ".join(parts))

    # Painting

    def _tiles(self) -> list[tuple[FlowTile, QRectF, bool]]:
        """Return each tile that this widget paints, with its rectangle and True if the tile is outdated."""
        layout, tiles = self.layout_of(), []
        for number, column in enumerate(self.columns):
            if number or layout.bars:
                tiles.append((column.upper, layout.upper(number), column.stale))
            tiles.append((column.lower, layout.lower(number), column.stale))
        return tiles

    def paintEvent(self, _event: QPaintEvent) -> None:
        if not self.columns:
            return
        theme, layout = theme_of(self), self.layout_of()
        with QPainter(self) as painter:
            for tile, box, stale in self._tiles():
                painter.setOpacity(STALE if stale else 1.0)
                if tile.values is None:
                    painter.fillRect(box, washed(theme.line, 0.25))
                else:
                    painter.drawImage(box, self._image(tile, tile.values))
                painter.setOpacity(1.0)
                frame(painter, box, theme.line)
            if layout.bars:
                painter.setPen(QPen(QColor(theme.muted), 1.0))
                for _, box, _ in self._tiles():
                    painter.drawLine(QLineF(box.left(), box.center().y(), box.right(), box.center().y()))
            self._paint_texts(painter, layout)
            self._paint_arrows(painter, layout)
            if self._current is not None:
                painter.setPen(QPen(washed(theme.accent, 0.6), 1.0))
                for _, box, _ in self._tiles():
                    painter.drawLines(layout.crosshair(box, self._current))
            focus_ring(painter, self)

    def _paint_texts(self, painter: QPainter, layout: FlowLayout) -> None:
        theme = theme_of(self)
        small, body = figure_font(self, SECONDARY), figure_font(self, BODY, strong=True)
        for number, column in enumerate(self.columns):
            for tile, box in ((column.upper, layout.upper(number)), (column.lower, layout.lower(number))):
                head = layout.head(box)
                write(painter, head, MIDDLE, tile.title, theme.text, body)
                write(painter, head, RIGHT, self.value_text(tile), theme.accent_text, small)
                painter.setPen(QColor(theme.muted))
                area = layout.captions(box)
                shown = round(area.height() / LINE)
                for line, text in enumerate(tile.lines[-shown:]):
                    if painter.fontMetrics().horizontalAdvance(text) > area.width():
                        text = text.split(" from ")[0]
                    text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(area.width()))
                    painter.drawText(QRectF(area.x(), area.y() + line * LINE, area.width(), LINE), MIDDLE, text)

    def value_text(self, tile: FlowTile) -> str:
        """Return, as text, a tile's value at the pixel under the cursor, or "" if there is no such value."""
        values = tile.values
        if self._current is None or values is None:
            return ""
        value = float(values.flat[self._current])
        if np.isnan(value):
            return "set to 0"
        return fixed(value, 2) if tile.scale is INK else signed(value)

    def _paint_arrows(self, painter: QPainter, layout: FlowLayout) -> None:
        theme = theme_of(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setFont(figure_font(self, SECONDARY, strong=True))
        for number, column in enumerate(self.columns):
            line = layout.down(number)
            _arrow(painter, theme.muted, [line.p1(), line.p2()])
            write(painter, QRectF(line.x1() + 8, line.y1() - 2, 160, line.length()), MIDDLE, column.down, theme.text)
            if number + 1 < len(self.columns):
                corners = layout.across(number)
                _arrow(painter, theme.muted, corners)
                y = corners[1].y() if len(corners) > 4 else corners[2].y() + 2
                write(painter, QRectF(corners[1].x() - 16, y, 13, 16), RIGHT, column.across, theme.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _image(self, tile: FlowTile, values: NDArray[np.float32]) -> QImage:
        layout, theme = self.layout_of(), theme_of(self)
        image = self._images.get((tile, theme.name))
        if image is None:
            if layout.bars:
                scale = ColorScale.symmetric(theme.diverging, max(abs(tile.scale.low), abs(tile.scale.high)))
                size = round(layout.size[0] * layout.ratio), round(layout.size[1] * layout.ratio)
                image = bar_image(values, scale, size, theme, theme.background)
            else:
                image = image_of(values, tile.scale, theme, zeroth=QColor(theme.accent_wash))
            self._images[tile, theme.name] = image
        return image

    # Methods that respond to the mouse and the keyboard

    def _at(self, point: QPointF) -> int | None:
        indices = (self.layout_of().index(box, point) for _, box, _ in self._tiles())
        return next((index for index in indices if index is not None), None)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        return self._moved(step[1]) if step[1] and self.columns else None

    def _report(self, target: int | None) -> None:
        self.canvas.set_cursor(target)
        super()._report(target)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        tips = ("\n".join([tile.tip, *tile.lines]) for tile, box, _ in self._tiles() if box.contains(event.position()))
        self.setToolTip(next(tips, ""))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._images = {}
        self._place()


def _arrow(painter: QPainter, colour: str, points: list[QPointF]) -> None:
    """Draw an arrow that passes through the given points and ends at the last one."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), 1.25))
    painter.drawPolyline(QPolygonF(points))
    tip, away = points[-1], points[-1] - points[-2]
    upright = abs(away.y()) > abs(away.x())
    x, y = (0.0, 1.0 if away.y() > 0 else -1.0) if upright else (1.0 if away.x() > 0 else -1.0, 0.0)
    # Corners of the arrow head, given by their distances from its tip along and across the arrow.
    corners = [(1.0, 0.0), (-6.0, 3.5), (-6.0, -3.5)]
    head = [QPointF(tip.x() + a * x - b * y, tip.y() + a * y + b * x) for a, b in corners]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawPolygon(QPolygonF(head))
