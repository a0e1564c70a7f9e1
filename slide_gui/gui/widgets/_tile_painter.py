"""Painting of `WeightTiles`: pass by pass over all tiles, because changing a painter's state costs most."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPen

from slide_gui.gui.theme import Theme
from slide_gui.gui.widgets._paint import washed
from slide_gui.gui.widgets._pixels import ring_radius
from slide_gui.gui.widgets._tile_content import Tile, TileRow
from slide_gui.gui.widgets._tile_layout import TileLayout

__all__ = ["Cell", "paint_cells", "paint_label", "paint_remove"]

Cell = tuple[int, int, TileRow, Tile | None]
"""Row, column, the row and its tile."""

STALE = 0.65
"""Opacity of what is greyed: 35 % towards the page."""


def paint_cells(
    painter: QPainter,
    theme: Theme,
    layout: TileLayout,
    cells: Sequence[Cell],
    image_of: Callable[[Tile], QImage],
    crosshair: int | None,
) -> None:
    """Paint tiles, captions, markers and crosshair in the painter's font."""
    boxes = [layout.tile(row, column) for row, column, _, _ in cells]
    for (_, column, row, tile), box in zip(cells, boxes, strict=True):
        if tile is None:
            painter.fillRect(box, washed(theme.line, 0.25))
        elif row.is_stale(column):
            painter.setOpacity(STALE)
            painter.drawImage(box, image_of(tile))
            painter.setOpacity(1.0)
        else:
            painter.drawImage(box, image_of(tile))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.line), 1.0))
    painter.drawRects([box.adjusted(-0.5, -0.5, 0.5, 0.5) for box in boxes])
    _captions(painter, theme, layout, cells)
    _markers(painter, theme, layout, cells)
    if crosshair is not None:
        painter.setPen(QPen(washed(theme.accent, 0.6), 1.0))
        painter.drawLines(_crosshair(layout, cells, crosshair))


def _captions(painter: QPainter, theme: Theme, layout: TileLayout, cells: Sequence[Cell]) -> None:
    top = int(Qt.AlignmentFlag.AlignTop)
    for old, colour in ((False, QColor(theme.muted)), (True, washed(theme.muted, STALE))):
        painter.setPen(colour)
        for number, column, row, tile in cells:
            if tile is not None and row.is_stale(column) == old:
                text = tile.caption if layout.lines == 1 else tile.caption.replace(" · ", "\n")
                painter.drawText(layout.captions(number, column), top, text)


def _markers(painter: QPainter, theme: Theme, layout: TileLayout, cells: Sequence[Cell]) -> None:
    """Ring the marked pixel; of bars, underline the marked feature."""
    spots = [(row, layout.spot(i, j, tile.marker)) for i, j, row, tile in cells if tile and tile.marker is not None]
    if layout.bars:
        zeros = [layout.tile(i, j).adjusted(0, 0.5 * layout.size[1], 0, 0) for i, j, _, _ in cells]
        painter.setPen(QPen(QColor(theme.muted), 1.0))
        painter.drawLines([QLineF(box.topLeft(), box.topRight()) for box in zeros])
        for row, spot in spots:
            painter.setPen(QPen(row.color, 3.0))
            middle = spot.center().x()
            painter.drawLine(QLineF(middle, spot.bottom() - 6.0, middle, spot.bottom()))
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    radius = ring_radius(layout.scale, 1.0)
    for pen in (QPen(washed(theme.background, 0.6), 2.5), QPen(QColor(theme.text), 1.0)):
        painter.setPen(pen)
        for _, spot in spots:
            painter.drawEllipse(spot.center(), radius, radius)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _crosshair(layout: TileLayout, cells: Sequence[Cell], index: int) -> list[QLineF]:
    """Return lines through one pixel of every tile that leave the pixel itself free."""
    lines = []
    for row, column, _, tile in cells:
        if tile is None or not 0 <= index < tile.values.size:
            continue
        box, spot = layout.tile(row, column), layout.spot(row, column, index)
        x, y = spot.center().x(), spot.center().y()
        gap = 0.5 * spot.width() + 2.0
        if layout.bars:
            lines.append(QLineF(x, box.top(), x, box.bottom()))
            continue
        for line in (
            QLineF(x, box.top(), x, y - gap),
            QLineF(x, y + gap, x, box.bottom()),
            QLineF(box.left(), y, x - gap, y),
            QLineF(x + gap, y, box.right(), y),
        ):
            if line.dx() > 0.0 or line.dy() > 0.0:
                lines.append(line)
    return lines


def paint_label(painter: QPainter, theme: Theme, box: QRectF, row: TileRow, fonts: tuple[QFont, QFont]) -> None:
    """Paint a row's dot, title and subtitle, the title's font first in `fonts`."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(row.color, 2.0))
    painter.setBrush(row.color if row.removable else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(QRectF(box.x() + 2, box.y() + 6, 6, 6))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    above = box.adjusted(15, 0, 0, -18)
    painter.setFont(fonts[0])
    painter.setPen(QColor(theme.text if row.removable else theme.muted))
    title = painter.fontMetrics().elidedText(row.title, Qt.TextElideMode.ElideRight, int(above.width()))
    painter.drawText(above, int(Qt.AlignmentFlag.AlignVCenter), title)
    painter.setFont(fonts[1])
    painter.setPen(QColor(theme.muted))
    below = box.adjusted(0, 18, -20 if row.removable else 0, 0)
    text = painter.fontMetrics().elidedText(row.subtitle, Qt.TextElideMode.ElideRight, int(below.width()))
    painter.drawText(below, int(Qt.AlignmentFlag.AlignVCenter), text)


def paint_remove(painter: QPainter, theme: Theme, box: QRectF, hot: bool) -> None:
    """Paint the × of a row, with a ground while the mouse is on it."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if hot:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(box, 4, 4)
    painter.setPen(QPen(QColor(theme.text if hot else theme.muted), 1.25))
    mark = box.adjusted(5.5, 5.5, -5.5, -5.5)
    painter.drawLine(mark.topLeft(), mark.bottomRight())
    painter.drawLine(mark.topRight(), mark.bottomLeft())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
