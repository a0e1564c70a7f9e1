"""The paper's weight figure, alive: one row a pixel, one column a layer, one small image each."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets._paint import focus_ring
from slide_gui.gui.widgets._painted import CLICKS, Painted
from slide_gui.gui.widgets._pixels import ARROWS
from slide_gui.gui.widgets._tile_content import Tile, TileRow
from slide_gui.gui.widgets._tile_images import bar_image, pixel_image
from slide_gui.gui.widgets._tile_layout import TileLayout
from slide_gui.gui.widgets._tile_painter import paint_cells, paint_label, paint_remove

__all__ = ["Tile", "TileRow", "WeightTiles"]

USUAL_CAPTION = "max 0.00 · b +0.00"


class WeightTiles(Painted):
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
        self._room = 0
        self._crosshair: int | None = None
        self._current = (0, 0)
        self._hovered: tuple[int, int, int] | None = None
        self._hot_remove: int | None = None
        self._layout: TileLayout | None = None
        self._images: dict[Tile, QImage] = {}
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
        if len(columns) == len(old_columns) and len(rows) == len(old_rows) and shape == self._shape:
            for column, (before, now) in enumerate(zip(old_columns, columns, strict=True)):
                if before != now:
                    self.update(self.layout_of().heading(column).toAlignedRect())
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
            if old.tile(column) is not new.tile(column) or old.is_stale(column) != new.is_stale(column):
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

    def set_room(self, height: int) -> None:
        """Say how high the place is; tiles are no larger than lets all rows be seen, where that leaves them legible."""
        if height != self._room:
            old = self.sizeHint().height()
            self._room = height
            self._relayout(old)

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
                self._room,
            )
            if width != self.width():
                return made
            self._layout = made
        return self._layout

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self.layout_of(width).height

    def sizeHint(self) -> QSize:
        return QSize(560, self.heightForWidth(max(self.width(), self.minimumSizeHint().width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(88 + 40 * max(len(self._columns), 1), 160)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, layout, dirty = theme_of(self), self.layout_of(), QRectF(event.rect())
        painter = QPainter(self)
        if not self._rows:
            painter.setPen(QColor(theme.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()), int(flags), self._placeholder)
            return
        region = event.region()
        body, small = figure_font(self, BODY), figure_font(self, SECONDARY)
        strong = figure_font(self, BODY, strong=True)
        painter.setFont(body)
        painter.setPen(QColor(theme.muted))
        for column, title in enumerate(self._columns):
            box = layout.heading(column)
            if box.intersects(dirty):
                fits = painter.fontMetrics().horizontalAdvance(title) <= box.width()
                text = title if fits else title.split(" · ")[0]
                painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        for number, row in enumerate(self._rows):
            box = layout.label(number)
            if region.intersects(box.toAlignedRect()):
                paint_label(painter, theme, box, row, (strong if row.removable else body, small))
                if row.removable:
                    paint_remove(painter, theme, layout.remove(number), self._hot_remove == number)
        cells = [
            (number, column, row, row.tile(column))
            for number, row in enumerate(self._rows)
            for column in range(len(self._columns))
            if region.intersects(layout.cell(number, column).toAlignedRect())
        ]
        painter.setFont(small)
        paint_cells(painter, theme, layout, cells, self._image, self._crosshair)
        if self.hasFocus():
            focus_ring(painter, self, layout.tile(*self._current), theme)
        painter.end()

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
        if found is None or self._rows[found[0]].tile(found[1]) is None:
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

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        spot, remove = self._spot(event.position()), self._remove_at(event.position())
        self._set_hot(remove)
        shape = Qt.CursorShape.ArrowCursor
        if spot is not None:
            shape = Qt.CursorShape.CrossCursor
        elif remove is not None:
            shape = Qt.CursorShape.PointingHandCursor
        self.setCursor(shape)
        self._hover(spot)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        remove, spot = self._remove_at(event.position()), self._spot(event.position())
        if remove is not None:
            self.row_removed.emit(remove)
        elif spot is not None:
            self._current = spot[:2]
            self.update()
            self.pixel_clicked.emit(spot)

    def _leave(self) -> None:
        self._set_hot(None)
        self._hover(None)

    def event(self, event: QEvent) -> bool:
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
            labelled = [r for i, r in enumerate(self._rows) if self.layout_of().label(i).contains(point)]
            return " · ".join(f"{r.title}\n{r.subtitle}" for r in labelled)
        row, column, index = spot
        tile = self._rows[row].tile(column)
        assert tile is not None
        value = tile.scale.label(float(tile.values.flat[index]), 4)
        place = f"{index}" if tile.values.ndim == 1 else "{}, {}".format(*divmod(index, tile.values.shape[1]))
        return f"{self._rows[row].title} · {self._columns[column]}\n{value} at {place}"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, (row, column) = Qt.Key(event.key()), self._current
        if not self._rows:
            super().keyPressEvent(event)
        elif key in ARROWS:
            down, right = ARROWS[key]
            self._go(row + down, column + right)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._rows[row].removable:
            self.row_removed.emit(row)
        elif key in CLICKS:
            tile = self._rows[row].tile(column)
            if tile is not None and tile.marker is not None:
                self.pixel_clicked.emit((row, column, tile.marker))
        else:
            super().keyPressEvent(event)

    def _go(self, row: int, column: int) -> None:
        row = min(max(row, 0), len(self._rows) - 1)
        column = min(max(column, 0), len(self._columns) - 1)
        self._current = (row, column)
        tile = self._rows[row].tile(column)
        caption = tile.caption if tile is not None else ""
        self.setAccessibleDescription(f"{self._rows[row].title}, {self._columns[column]}: {caption}")
        if tile is not None and tile.marker is not None:
            self._hover((row, column, tile.marker))
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._images.clear()
            self._layout = None
        super().changeEvent(event)


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
    view.row_removed.connect(lambda row: view.set_content(view._columns, view._rows[:row] + view._rows[row + 1 :]))
    return view


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 600, 720)
