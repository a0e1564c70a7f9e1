"""The paper's weight figure, alive: one row a pixel, one column a layer, one small image each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import BODY, SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets._paint import focus_ring, frame, washed
from slide_gui.gui.widgets._pixels import ARROWS, ring
from slide_gui.gui.widgets._tile_images import bar_image, pixel_image
from slide_gui.gui.widgets._tile_layout import TileLayout

__all__ = ["Tile", "TileRow", "WeightTiles"]

USUAL_CAPTION = "max 0.00 · bias +0.00"


@dataclass(frozen=True, eq=False)
class Tile:
    """One image of weights.

    Attributes
    ----------
    values : ndarray of shape (rows, columns) or (d,), float32
        Never changed after it was given: a new picture is a new `Tile`. ``(d,)`` is drawn as bars.
    scale : ColorScale
    caption : str
        Under the tile; breaks at " · " where the tile is narrow.
    marker : int or None
        Pixel with a ring: the one these weights reconstruct.
    """

    values: NDArray[np.float32]
    scale: ColorScale
    caption: str = ""
    marker: int | None = None


@dataclass(frozen=True, eq=False)
class TileRow:
    """The tiles of one pixel.

    Attributes
    ----------
    title, subtitle : str
        E.g. "14, 9" and "pinned".
    color : QColor
    removable : bool
        A pin, with a × button; otherwise the pixel under the mouse, drawn lighter.
    tiles : tuple of Tile or None
        One a column; None is shown as an empty place.
    stale : tuple of bool
        Which tiles are greyed because newer ones are on their way; empty for none.
    """

    title: str
    subtitle: str
    color: QColor
    removable: bool
    tiles: tuple[Tile | None, ...]
    stale: tuple[bool, ...] = ()

    def is_stale(self, column: int) -> bool:
        """Whether the tile of a column is greyed."""
        return column < len(self.stale) and self.stale[column]

    def same_label(self, other: TileRow) -> bool:
        """Whether the row's title looks the same as another's."""
        return (self.title, self.subtitle, self.color, self.removable) == (
            other.title,
            other.subtitle,
            other.color,
            other.removable,
        )


class WeightTiles(QWidget):
    """Rows of weight images that share their columns, their crosshair and their place.

    Arrow keys move between tiles, Enter clicks the marked pixel, Delete removes the row.
    """

    pixel_hovered = Signal(object)
    """(row, column, index) under the mouse, or None."""
    pixel_clicked = Signal(object)
    """(row, column, index) clicked."""
    row_removed = Signal(int)
    """The row whose × was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[str, ...] = ()
        self._rows: tuple[TileRow, ...] = ()
        self._shape: tuple[int, ...] = (28, 28)
        self._transposed = False
        self._crosshair: int | None = None
        self._placeholder = ""
        self._current = (0, 0)
        self._hovered: tuple[int, int, int] | None = None
        self._hot_remove: int | None = None
        self._layout: TileLayout | None = None
        self._images: dict[Tile, QImage] = {}
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Weights of the pinned pixels, layer by layer")

    # What is shown

    def set_content(self, columns: tuple[str, ...], rows: tuple[TileRow, ...]) -> None:
        """Show rows of tiles; only what differs from before is made and painted anew."""
        old_columns, old_rows, old_height = self._columns, self._rows, self.sizeHint().height()
        self._columns, self._rows = columns, rows
        shape = next((t.values.shape for r in rows for t in r.tiles if t is not None), self._shape)
        tiles = {t for r in rows for t in r.tiles if t is not None}
        self._images = {t: i for t, i in self._images.items() if t in tiles}
        if columns == old_columns and len(rows) == len(old_rows) and shape == self._shape:
            for number, (old, new) in enumerate(zip(old_rows, rows, strict=True)):
                self._update_row(number, old, new)
            return
        self._shape = shape
        self._relayout(old_height)

    def _update_row(self, number: int, old: TileRow, new: TileRow) -> None:
        layout = self.layout_of()
        if not old.same_label(new):
            self.update(layout.label(number).toAlignedRect())
        for column in range(len(self._columns)):
            if _tile(old, column) is not _tile(new, column) or old.is_stale(column) != new.is_stale(column):
                self.update(layout.cell(number, column).toAlignedRect())

    def _relayout(self, old_height: int) -> None:
        self._layout = None
        row, column = self._current
        self._current = (
            min(row, max(len(self._rows) - 1, 0)),
            min(column, max(len(self._columns) - 1, 0)),
        )
        if self.sizeHint().height() != old_height:
            self.updateGeometry()
        self.update()

    def set_crosshair(self, index: int | None) -> None:
        """Put thin lines on one pixel of every tile."""
        if index != self._crosshair:
            self._crosshair = index
            self.update()

    def set_transposed(self, transposed: bool) -> None:
        """Exchange rows and columns on the screen; indices stay those of the data."""
        if transposed != self._transposed:
            height = self.sizeHint().height()
            self._transposed = transposed
            self._images.clear()
            self._relayout(height)

    def set_placeholder(self, text: str) -> None:
        """Say what to do next where there are no rows."""
        self._placeholder = text
        self.update()

    # Geometry

    def layout_of(self, width: int | None = None) -> TileLayout:
        """Return the geometry for a width, by default the widget's own."""
        width = self.width() if width is None else width
        ratio = self.devicePixelRatioF()
        if self._layout is None or self._layout.width != width or self._layout.ratio != ratio:
            caption = QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance(USUAL_CAPTION)
            made = TileLayout(
                width,
                ratio,
                len(self._rows),
                len(self._columns),
                self._shape,
                self._transposed,
                caption,
            )
            if width != self.width():
                return made
            self._layout = made
        return self._layout

    def hasHeightForWidth(self) -> bool:  # noqa: D102
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: D102
        return self.layout_of(width).height

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(560, self.heightForWidth(max(self.width(), self.minimumSizeHint().width())))

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        return QSize(88 + 40 * max(len(self._columns), 1), 160)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        theme, layout, dirty = theme_of(self), self.layout_of(), QRectF(event.rect())
        painter = QPainter(self)
        if not self._rows:
            painter.setPen(QColor(theme.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()), int(flags), self._placeholder)
            return
        region = event.region()
        painter.setFont(figure_font(self, BODY))
        painter.setPen(QColor(theme.muted))
        for column, title in enumerate(self._columns):
            if layout.heading(column).intersects(dirty):
                painter.drawText(layout.heading(column), Qt.AlignmentFlag.AlignCenter, title)
        for number, row in enumerate(self._rows):
            if region.intersects(layout.label(number).toAlignedRect()):
                self._paint_label(painter, theme, number, row)
        painter.setFont(figure_font(self, SECONDARY))
        for number, row in enumerate(self._rows):
            for column in range(len(self._columns)):
                if region.intersects(layout.cell(number, column).toAlignedRect()):
                    self._paint_tile(painter, theme, number, column, row)
        if self.hasFocus():
            focus_ring(painter, self, layout.tile(*self._current), theme)
        painter.end()

    def _paint_tile(
        self, painter: QPainter, theme: Theme, number: int, column: int, row: TileRow
    ) -> None:
        layout, tile = self.layout_of(), _tile(row, column)
        box = layout.tile(number, column)
        if tile is None:
            painter.fillRect(box, washed(theme.line, 0.25))
            frame(painter, box, theme.line)
            return
        painter.setOpacity(0.65 if row.is_stale(column) else 1.0)
        painter.drawImage(box, self._image(tile))
        frame(painter, box, theme.line)
        if tile.marker is not None and not layout.bars:
            spot = layout.spot(number, column, tile.marker)
            ring(painter, spot, QColor(theme.text), washed(theme.background, 0.6), 1.0)
        painter.setPen(QColor(theme.muted))
        text = tile.caption if layout.lines == 1 else tile.caption.replace(" · ", "\n")
        painter.drawText(layout.captions(number, column), int(Qt.AlignmentFlag.AlignTop), text)
        painter.setOpacity(1.0)
        if layout.bars:
            painter.setPen(QPen(QColor(theme.muted), 1.0))
            painter.drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()))
            if tile.marker is not None:
                self._paint_foot(painter, layout.spot(number, column, tile.marker), row.color)
        if self._crosshair is not None and 0 <= self._crosshair < tile.values.size:
            self._paint_crosshair(painter, theme, box, layout.spot(number, column, self._crosshair))

    def _paint_foot(self, painter: QPainter, spot: QRectF, colour: QColor) -> None:
        """Mark a feature by a short line at the foot of its bar."""
        painter.setPen(QPen(colour, 3.0))
        painter.drawLine(
            QPointF(spot.center().x(), spot.bottom() - 6), QPointF(spot.center().x(), spot.bottom())
        )

    def _paint_crosshair(self, painter: QPainter, theme: Theme, box: QRectF, spot: QRectF) -> None:
        middle, gap = spot.center(), spot.width() * 0.5 + 2.0
        painter.setPen(QPen(washed(theme.accent, 0.6), 1.0))
        painter.drawLine(QPointF(middle.x(), box.top()), QPointF(middle.x(), middle.y() - gap))
        painter.drawLine(QPointF(middle.x(), middle.y() + gap), QPointF(middle.x(), box.bottom()))
        if not self.layout_of().bars:
            painter.drawLine(QPointF(box.left(), middle.y()), QPointF(middle.x() - gap, middle.y()))
            painter.drawLine(QPointF(middle.x() + gap, middle.y()), QPointF(box.right(), middle.y()))

    def _paint_label(self, painter: QPainter, theme: Theme, number: int, row: TileRow) -> None:
        box = self.layout_of().label(number)
        dot = QRectF(box.x() + 1, box.y() + 5, 8, 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(row.color, 2.0))
        painter.setBrush(row.color if row.removable else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(dot.adjusted(1, 1, -1, -1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        text = box.adjusted(15, 0, 0, -18)
        painter.setFont(figure_font(self, BODY, strong=row.removable))
        painter.setPen(QColor(theme.text if row.removable else theme.muted))
        title = painter.fontMetrics().elidedText(row.title, Qt.TextElideMode.ElideRight, int(text.width()))
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), title)
        painter.setFont(figure_font(self, SECONDARY))
        painter.setPen(QColor(theme.muted))
        painter.drawText(box.adjusted(0, 18, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), row.subtitle)
        if row.removable:
            self._paint_remove(painter, theme, number)

    def _paint_remove(self, painter: QPainter, theme: Theme, number: int) -> None:
        box, hot = self.layout_of().remove(number), self._hot_remove == number
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

    def _image(self, tile: Tile) -> QImage:
        found = self._images.get(tile)
        layout = self.layout_of()
        if layout.bars:
            size = round(layout.size[0] * layout.ratio), round(layout.size[1] * layout.ratio)
            if found is None or (found.width(), found.height()) != size:
                background = QColor(theme_of(self).background)
                found = self._images[tile] = bar_image(tile.values, tile.scale, size, background)
        elif found is None:
            found = self._images[tile] = pixel_image(tile.values, tile.scale, self._transposed)
        return found

    # Mouse and keys

    def _hover(self, spot: tuple[int, int, int] | None) -> None:
        if spot != self._hovered:
            self._hovered = spot
            self.set_crosshair(None if spot is None else spot[2])
            self.pixel_hovered.emit(spot)

    def _spot(self, point: QPointF) -> tuple[int, int, int] | None:
        found = self.layout_of().at(point)
        if found is None or _tile(self._rows[found[0]], found[1]) is None:
            return None
        index = self.layout_of().index(*found, point)
        return None if index is None else (*found, index)

    def _remove_at(self, point: QPointF) -> int | None:
        for number, row in enumerate(self._rows):
            if row.removable and self.layout_of().remove(number).contains(point):
                return number
        return None

    def _set_hot(self, number: int | None) -> None:
        if number != self._hot_remove:
            for each in (number, self._hot_remove):
                if each is not None and each < len(self._rows):
                    self.update(self.layout_of().label(each).toAlignedRect())
            self._hot_remove = number

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        spot, remove = self._spot(event.position()), self._remove_at(event.position())
        self._set_hot(remove)
        shape = Qt.CursorShape.ArrowCursor
        if spot is not None:
            shape = Qt.CursorShape.CrossCursor
        elif remove is not None:
            shape = Qt.CursorShape.PointingHandCursor
        self.setCursor(shape)
        self._hover(spot)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        if event.button() != Qt.MouseButton.LeftButton:
            return
        remove, spot = self._remove_at(event.position()), self._spot(event.position())
        if remove is not None:
            self.row_removed.emit(remove)
        elif spot is not None:
            self._current = spot[:2]
            self.update()
            self.pixel_clicked.emit(spot)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: D102
        self._set_hot(None)
        self._hover(None)
        super().leaveEvent(event)

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = self._tip(QPointF(event.pos()))
            if text:
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _tip(self, point: QPointF) -> str:
        remove, spot = self._remove_at(point), self._spot(point)
        if remove is not None:
            return f"Remove {self._rows[remove].title} (Delete)"
        if spot is None:
            return ""
        row, column, index = spot
        tile = _tile(self._rows[row], column)
        assert tile is not None
        value = tile.scale.label(float(tile.values.flat[index]))
        place = f"{index}" if tile.values.ndim == 1 else "{}, {}".format(*divmod(index, tile.values.shape[1]))
        return f"{self._rows[row].title} · {self._columns[column]}\n{value} at {place}"

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        key, (row, column) = Qt.Key(event.key()), self._current
        if not self._rows:
            super().keyPressEvent(event)
        elif key in ARROWS:
            down, right = ARROWS[key]
            self._go(row + down, column + right)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._rows[row].removable:
            self.row_removed.emit(row)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            tile = _tile(self._rows[row], column)
            if tile is not None and tile.marker is not None:
                self.pixel_clicked.emit((row, column, tile.marker))
        else:
            super().keyPressEvent(event)

    def _go(self, row: int, column: int) -> None:
        row = min(max(row, 0), len(self._rows) - 1)
        column = min(max(column, 0), len(self._columns) - 1)
        self._current = (row, column)
        tile = _tile(self._rows[row], column)
        caption = tile.caption if tile is not None else ""
        self.setAccessibleDescription(f"{self._rows[row].title}, {self._columns[column]}: {caption}")
        if tile is not None and tile.marker is not None:
            self._hover((row, column, tile.marker))
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: D102
        self.update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: D102
        self.update()
        super().focusOutEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._images.clear()
            self._layout = None
        super().changeEvent(event)


def _tile(row: TileRow, column: int) -> Tile | None:
    """Return the tile of a column, None where the row has none (yet)."""
    return row.tiles[column] if column < len(row.tiles) else None


def _demo() -> QWidget:
    from slide_gui.figures.color_scale import signed
    from slide_gui.gui.widgets._demo import cross

    view, theme = WeightTiles(), theme_of(QWidget())
    rows = []
    for number, (row, column) in enumerate(((14, 9), (6, 20), (20, 14), (10, 24))):
        tiles: list[Tile | None] = []
        for layer in (1, 2, 3, 4):
            values = cross(row, column, layer)
            scale = ColorScale.symmetric(theme.diverging, 0.6 / layer**0.5)
            caption = f"max {values.max():.2f} · bias {signed(0.04 - 0.015 * number)}"
            tiles.append(Tile(values, scale, caption, 28 * row + column))
        if number == 3:
            tiles[3] = None
        stale = (False, False, number == 2, number == 2)
        rows.append(TileRow(f"{row}, {column}", "pinned", theme.pin(number), True, tuple(tiles), stale))
    view.set_content(("layer 1", "layer 2", "layer 3", "layer 4"), tuple(rows))
    view.set_crosshair(28 * 12 + 5)
    view.row_removed.connect(
        lambda row: view.set_content(view._columns, view._rows[:row] + view._rows[row + 1 :])
    )
    return view


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 600, 720)
