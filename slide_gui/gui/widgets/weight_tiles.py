"""The paper’s weight figure as a widget: a table of small images with one row per pixel and one column per layer."""

import math
from collections.abc import Callable, Hashable

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolTip, QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.controls import named
from slide_gui.gui.widgets.layouts import VerticalScroll
from slide_gui.gui.widgets.painted import (
    ARROWS,
    CLICKS,
    MIDDLE,
    RIGHT,
    STALE,
    PaintedWidget,
    PixelGrid,
    focus_ring,
    frame,
    image_of,
    paint_placeholder,
    ring,
    washed,
)
from slide_gui.gui.widgets.tiles import (
    EDGE,
    HEAD,
    LINE,
    Mosaic,
    Tile,
    TileLayout,
    TileRow,
    bar_image,
    mosaic_image,
    tile_layout,
)
from slide_gui.text import told_apart


def _paint_marks(painter: QPainter, theme: Theme, layout: TileLayout, marked: list[tuple[QColor, QRectF]]) -> None:
    """Draw a ring around each marked pixel of the tiles, or a short coloured line at the bottom of each marked bar.

    For each marked pixel or bar, `marked` contains the colour of the line and the rectangle of the pixel or bar.
    """
    if layout.bars:
        for color, spot in marked:
            painter.setPen(QPen(color, 3.0))
            middle = spot.center().x()
            painter.drawLine(QLineF(middle, spot.bottom() - 6.0, middle, spot.bottom()))
        return
    for _, spot in marked:
        ring(painter, spot, QColor(theme.text), washed(theme.background, 0.6), 1.0)


def _paint_field_mark(painter: QPainter, theme: Theme, layout: TileLayout, spot: QRectF) -> None:
    """Draw a ring around the selected small image of a mosaic, or a frame around the selected row of a matrix."""
    if layout.bars:
        frame(painter, spot, theme.accent)
    else:
        ring(painter, spot, QColor(theme.accent), washed(theme.background, 0.6), 1.5)


def _paint_label(
    painter: QPainter, theme: Theme, box: QRectF, row: TileRow, fonts: tuple[QFont, ...], short: dict[str, str]
) -> float:
    """Paint the coloured dot and the title of a row, and return the x coordinate of the end of the title.

    `fonts` contains the fonts for unpinned and for pinned rows.

    `short` maps full titles to shorter titles, which are painted if the full titles are too wide.
    """
    painter.setPen(QPen(row.color, 2.0))
    painter.setBrush(row.color if row.removable else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(QRectF(box.x() + 2, box.y() + 5, 6, 6))
    painter.setFont(fonts[row.removable])
    painter.setPen(QColor(theme.text))
    area = box.adjusted(13 if row.color.alpha() else 1, 0, 0, 0)
    metrics, width = painter.fontMetrics(), int(area.width())
    title = row.title if metrics.horizontalAdvance(row.title) <= width else short.get(row.title, row.title)
    title = metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, width)
    painter.drawText(area, MIDDLE, title)
    return area.x() + metrics.horizontalAdvance(title)


def _paint_remove(painter: QPainter, theme: Theme, box: QRectF) -> None:
    """Paint the × button of a row."""
    painter.setPen(QPen(QColor(theme.muted), 1.25))
    mark = box.adjusted(5.5, 5.5, -5.5, -5.5)
    painter.drawLine(mark.topLeft(), mark.bottomRight())
    painter.drawLine(mark.topRight(), mark.bottomLeft())


_BACK, _BACK_WIDTH = "‹ Back", 64
_TAB = Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason


class WeightTiles(PaintedWidget):
    """A table of weight images with a cross-hair at the same pixel of every image.

    A click or Enter enlarges a tile; a second click, Escape or the Back button shows all tiles again. Arrow keys move
    between tiles; with Shift, they move between the pixels of a tile. Ctrl+Enter has the same effect as a click with
    Ctrl on the selected pixel. Delete removes the row of the selected tile.

    Attributes
    ----------
    hint : str
        Additional hint for the tooltips of tiles, such as "Ctrl+click to pin"; may be empty.
    name_feature : callable or None
        Function that returns the name of the pixel or feature with a given index. If it is None, tooltips show the
        position in the tile instead.
    rows : tuple of TileRow
        The displayed rows.
    enlarged : tuple of (row, column) or None
        Position of the enlarged tile; None if all tiles are shown.

    Signals
    -------
    pixel_hovered(object)
        The mouse moved to a pixel or away from all pixels. The argument is (row of the tile, column of the tile, index
        of the pixel) or None.
    pixel_clicked(object)
        The user clicked a pixel while holding Ctrl, or selected a pixel and pressed Ctrl+Enter. The argument is (row of
        the tile, column of the tile, index of the pixel).
    row_removed(int)
        The user removed the row with this index, with its × button or the Delete key.
    arranged()
        The positions or sizes of the tiles have changed.
    reached(object)
        The user selected a tile with the keyboard; the argument is its rectangle (QRectF).
    """

    pixel_hovered = Signal(object)
    pixel_clicked = Signal(object)
    row_removed = Signal(int)
    arranged = Signal()
    reached = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[str, ...] = ()
        self.rows: tuple[TileRow, ...] = ()
        self._shape: tuple[int, ...] = (28, 28)
        self._room = 0
        self._crosshair: int | None = None
        self._current = (0, 0)
        self.enlarged: tuple[int, int] | None = None
        self._hovered: tuple[int, int, int] | None = None
        # Cached images by the key `Tile.identity`, each with the size and theme for which it was drawn.
        self._images: dict[Hashable, tuple[object, QImage]] = {}
        self.hint = ""
        self.name_feature: Callable[[int], str] | None = None
        self._back = named(QPushButton(_BACK, self), "Back to all tiles", "Show all tiles again (Esc)")
        self._back.setProperty("kind", "flat")
        self._back.clicked.connect(self.step_back)
        self._back.hide()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Tiles of weights")

    # Contents

    def set_content(
        self, columns: tuple[str, ...], rows: tuple[TileRow, ...], shape: tuple[int, ...] | None = None
    ) -> None:
        """Show rows of tiles. Only rows that have changed are painted again; the images of unchanged tiles are reused.

        Parameters
        ----------
        shape : tuple of int, optional
            Shape of the values of each tile; by default, that of the first tile. If there are no tiles yet, the shape
            determines the size of the empty frames.
        """
        before, old_rows, had_mosaics = self._columns, self.rows, self._has_mosaics()
        same = len(columns) == len(before) and len(rows) == len(old_rows)
        if same:
            rows = tuple(row.reusing(old) for row, old in zip(rows, old_rows, strict=True))
        self._columns, self.rows = columns, rows
        shape = shape or next((t.shape for r in rows for t in r.tiles if t is not None), self._shape)
        shown = {t.identity for r in rows for t in r.tiles if t is not None}
        self._images = {t: i for t, i in self._images.items() if t in shown}
        if not same or shape != self._shape or self._has_mosaics() != had_mosaics:
            self._shape = shape
            self._relayout()
        elif columns != before or not columns or self.enlarged:
            self.update()
        else:
            layout = self.layout_of()
            for number in layout.shown_rows():
                if rows[number] != old_rows[number]:
                    ends = layout.shown_columns()[0], layout.shown_columns()[-1]
                    area = layout.tile(number, ends[0]) | layout.tile(number, ends[1])
                    self.update(area.adjusted(-3, -LINE - HEAD, 3, 3).toAlignedRect())
        self._describe()

    def _relayout(self) -> None:
        row, column = self._current
        self._current = min(row, max(len(self.rows) - 1, 0)), min(column, max(len(self._columns) - 1, 0))
        if self.enlarged and (self.enlarged[0] >= len(self.rows) or self.enlarged[1] >= len(self._columns)):
            self.enlarged = None
        self._back.setVisible(self.enlarged is not None)
        self._back.setGeometry(self.width() - _BACK_WIDTH - EDGE, 0, _BACK_WIDTH, HEAD)
        self.updateGeometry()
        self._contents_changed()
        self.arranged.emit()

    def enlarge(self, row: int, column: int) -> None:
        """Enlarge one tile until it fills the widget."""
        self.enlarged = self._current = row, column
        self._relayout()

    @Slot()
    def step_back(self) -> None:
        """Show all tiles again."""
        if self.enlarged is not None:
            self.enlarged = None
            self.setFocus()
            self._relayout()

    def set_crosshair(self, index: int | None) -> None:
        """Draw a cross-hair at this pixel of every tile, or remove the cross-hair if the argument is None."""
        if index != self._crosshair:
            self._crosshair = index
            self.update()

    def set_height(self, height: int) -> None:
        """Set the available height. Tiles shrink to fit into it, but not below a minimum size."""
        if height != self._room:
            self._room = height
            self._relayout()

    # Geometry

    def layout_of(self, width: int | None = None, room: int | None = None) -> TileLayout:
        """Return the layout of the tiles for a given width and available height.

        By default, these are the width of the widget and the height given to `set_height`.
        """
        tile = self.rows[self.enlarged[0]].tiles[self.enlarged[1]] if self.enlarged else None
        return tile_layout(
            self.width() if width is None else width,
            self.devicePixelRatioF(),
            self._shape,
            rows=1 if self.enlarged else len(self.rows),
            columns=1 if self.enlarged else len(self._columns),
            height_room=self._room if room is None else room,
            only=self.enlarged,
            part=None if tile is None else tile.part,
            has_mosaics=self._has_mosaics(),
        )

    def _has_mosaics(self) -> bool:
        return bool(self.rows) and self.rows[0].is_mosaics

    def heightForWidth(self, width: int) -> int:
        return self.layout_of(width).height

    def sizeHint(self) -> QSize:
        return QSize(560, self.heightForWidth(max(self.width(), self.minimumSizeHint().width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(28 * min(max(len(self._columns), 1), 4) + 24, 120)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, layout = theme_of(self), self.layout_of()
        with QPainter(self) as painter:
            if not self.rows:
                paint_placeholder(painter, self, self._placeholder)
                focus_ring(painter, self)
                return
            fonts = figure_font(self, SECONDARY), figure_font(self, SECONDARY, strong=True)
            # Also paint the tiles just below the area that must be repainted, because their labels may extend into it.
            area = QRectF(event.rect()).adjusted(0, 0, 0, LINE + HEAD)
            visible = {place: box for place, box in layout.boxes.items() if box.intersects(area)}
            painter.setFont(fonts[0])
            painter.setPen(QColor(theme.muted))
            metrics = painter.fontMetrics()
            for row in layout.shown_rows() if layout.lines > 1 else layout.shown_rows()[:1]:
                for column in layout.shown_columns():
                    box = layout.heading(column, row)
                    painter.drawText(box, MIDDLE, _fitting(self._columns[column], metrics, box.width()))
            pins = [row.title for row in self.rows if row.removable]
            short = {pin: name.strip("…") for pin, name in zip(pins, told_apart(pins), strict=True)}
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            starts = {}
            for number in dict.fromkeys(row for row, _ in visible):
                area, title = layout.label(number), self.rows[number]
                end = _paint_label(painter, theme, area, title, fonts, short) if area.width() else 0.0
                if title.removable:
                    _paint_remove(painter, theme, layout.remove(number))
                elif layout.lines == 1:
                    starts[number] = end + 8.0
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setFont(fonts[0])
            self._paint_tiles(painter, layout, visible, starts)
            focus_ring(painter, self, layout.tile(*self._current))

    def _paint_tiles(
        self, painter: QPainter, layout: TileLayout, visible: dict[tuple[int, int], QRectF], starts: dict[int, float]
    ) -> None:
        """Paint the visible tiles with captions, marks and cross-hair. `visible` maps (row, column) to rectangles.

        `starts` maps rows to the x coordinates at which their captions may start if their labels end earlier than
        `TileLayout.captions` assumes.
        """
        theme, boxes, metrics = theme_of(self), list(visible.values()), painter.fontMetrics()
        tiles = [(self.rows[i], self.rows[i].tiles[j], box) for (i, j), box in visible.items()]
        for _, tile, box in tiles:
            if tile is None:
                painter.fillRect(box, washed(theme.line, 0.25))
            else:
                painter.setOpacity(STALE if tile.stale else 1.0)
                image, part = self._image(tile, box, theme), layout.part
                top, left, rows, columns = part or (0, 0, image.height(), image.width())
                painter.drawImage(box, image, QRectF(left, top, columns, rows))
                painter.setOpacity(1.0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.line), 1.0))
        painter.drawRects([box.adjusted(-0.5, -0.5, 0.5, 0.5) for box in boxes])
        painter.setPen(QColor(theme.muted))
        for place, (_, tile, box) in zip(visible, tiles, strict=True):
            # Captions of stale tiles are not drawn, because they contain outdated numbers.
            if tile is not None and tile.caption and not tile.stale:
                area, (first, _, last) = layout.captions(*place), tile.caption.partition(" · ")
                room = box.right() - max(box.x(), starts.get(place[0], area.x()))
                texts = (text for text in (tile.caption, last, first) if metrics.horizontalAdvance(text) <= room)
                painter.drawText(QRectF(box.right() - room, area.y(), room, area.height()), RIGHT, next(texts, ""))
        drawn = [(row, tile, box) for row, tile, box in tiles if tile is not None and not isinstance(tile, Mosaic)]
        if layout.bars:
            painter.drawLines(
                [QLineF(box.left(), box.center().y(), box.right(), box.center().y()) for *_, box in drawn]
            )
        marked = [(row.color, layout.spot(box, tile.marker)) for row, tile, box in drawn if tile.marker is not None]
        _paint_marks(painter, theme, layout, marked)
        for _, tile, box in tiles:
            if isinstance(tile, Mosaic) and tile.marker is not None:
                _paint_field_mark(painter, theme, layout, layout.spot(box, tile.marker, of_field=True))
        if self._crosshair is not None:
            painter.setPen(QPen(washed(theme.accent, 0.6), 1.0))
            crossed = [box for _, tile, box in drawn if 0 <= self._crosshair < tile.values.size]
            crossed = [box for box in crossed if box.contains(layout.spot(box, self._crosshair))]
            painter.drawLines([line for box in crossed for line in layout.crosshair(box, self._crosshair)])

    def _image(self, tile: Tile, box: QRectF, theme: Theme) -> QImage:
        ratio, is_bars = self.devicePixelRatioF(), self.layout_of().bars
        size = 0, 0  # Only mosaics and bars are drawn at their final size; Qt scales all other images.
        if isinstance(tile, Mosaic) or is_bars:
            size = round(box.width() * ratio), round(box.height() * ratio)
        drawn_for, image = self._images.get(tile.identity, (None, None))
        if image is None or drawn_for != (size, theme):
            if isinstance(tile, Mosaic):
                image = mosaic_image(tile, size, theme)
            elif is_bars:
                image = bar_image(tile.values, tile.scale, size, theme, theme.background)
            else:
                image = image_of(tile.values, tile.scale, theme)
            self._images[tile.identity] = (size, theme), image
        return image

    # Mouse and keyboard events

    def _hover(self, spot: tuple[int, int, int] | None) -> None:
        if spot != self._hovered:
            self._hovered = spot
            self.set_crosshair(None if spot is None or self.rows[spot[0]].is_mosaics else spot[2])
            self.pixel_hovered.emit(spot)

    def _spot(self, point: QPointF) -> tuple[int, int, int] | None:
        layout = self.layout_of()
        cell = layout.at(point)
        if cell is None or self.rows[cell[0]].tiles[cell[1]] is None:
            return None
        index = layout.index(layout.tile(*cell), point, of_field=self.rows[cell[0]].is_mosaics)
        return None if index is None else (*cell, index)

    def _remove_at(self, point: QPointF) -> int | None:
        layout = self.layout_of()
        removable = (number for number in layout.shown_rows() if self.rows[number].removable)
        return next((number for number in removable if layout.remove(number).contains(point)), None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        spot, remove = self._spot(event.position()), self._remove_at(event.position())
        outside = Qt.CursorShape.ArrowCursor if remove is None else Qt.CursorShape.PointingHandCursor
        self.setCursor(outside if spot is None else Qt.CursorShape.CrossCursor)
        self._hover(spot)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        remove, spot = self._remove_at(event.position()), self._spot(event.position())
        if remove is not None:
            self.row_removed.emit(remove)
        elif spot is not None:
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._current = spot[:2]
                self.update()
                self.pixel_clicked.emit(spot)
            else:
                self._toggle(*spot[:2])

    def _toggle(self, row: int, column: int) -> None:
        if self.enlarged is None:
            self.enlarge(row, column)
        else:
            self.step_back()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(QPointF(event.pos())), self)
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            escapes = event.key() == Qt.Key.Key_Escape and self.enlarged is not None
            pins = event.key() in CLICKS and bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            # Accept the event, because otherwise Esc would also cancel jobs and Ctrl+Enter would also start training.
            if escapes or (pins and self.rows):
                event.accept()
                return True
        return super().event(event)

    def tip_at(self, point: QPointF) -> str:
        """Return the tooltip for a point, or an empty string for no tooltip."""
        remove, spot = self._remove_at(point), self._spot(point)
        if remove is not None:
            return f"Remove {self.rows[remove].title} (Delete)"
        if spot is None:
            layout = self.layout_of()
            labelled = [self.rows[i] for i in layout.shown_rows() if layout.label(i).contains(point)]
            return " · ".join(f"{r.title}\n{r.subtitle}" for r in labelled)
        row, column, index = spot
        tile = self.rows[row].tiles[column]
        assert tile is not None
        if isinstance(tile, Mosaic):
            text = f"the row of {self._name(tile, index)}"
        else:
            text = f"{tile.quantity} {tile.value_at(index)} at {self._name(tile, index)}".strip()
        click = "Click to enlarge" if self.enlarged is None else "Click to show all tiles"
        hint = " · ".join(filter(None, (click, self.hint)))
        return f"{self.rows[row].title} · {self._columns[column]}\n{text}\n{hint}"

    def _name(self, tile: Tile, index: int) -> str:
        return tile.place_of(index) if self.name_feature is None else self.name_feature(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, (row, column) = Qt.Key(event.key()), self._current
        if not self.rows:
            super().keyPressEvent(event)
        elif key in ARROWS and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._point(ARROWS[key])
        elif key in ARROWS:
            down, right = ARROWS[key]
            self._go(row + down, column + right)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.rows[row].removable:
            self.row_removed.emit(row)
        elif key == Qt.Key.Key_Escape and self.enlarged is not None:
            self.step_back()
        elif key in CLICKS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            spot = self._pointed()
            if spot is not None:
                self.pixel_clicked.emit(spot)
        elif key in CLICKS:
            self._toggle(row, column)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        row, column = self._current
        if event.reason() in _TAB and row < len(self.rows) and column < len(self._columns):
            self.reached.emit(self.layout_of().tile(row, column))

    def _pointed(self) -> tuple[int, int, int] | None:
        """Return the selected pixel of the current tile, or else its marked pixel, as (row, column, index)."""
        (row, column), hovered = self._current, self._hovered
        tile = self.rows[row].tiles[column]
        if tile is None:
            return None
        if hovered is not None and hovered[:2] == self._current and hovered[2] < math.prod(tile.shape):
            return hovered
        return None if tile.marker is None else (row, column, tile.marker)

    def _point(self, step: tuple[int, int]) -> None:
        """Select the pixel of the current tile that is one `step` (rows, columns) from the selected pixel."""
        (row, column), spot = self._current, self._pointed()
        tile = self.rows[row].tiles[column]
        if tile is None:
            return
        is_mosaic, n = isinstance(tile, Mosaic), tile.shape[0]
        rows, columns = tile.shape if len(tile.shape) == 2 else (n, 1) if is_mosaic else (1, n)
        index = PixelGrid((rows, columns), 0.0, 0.0, 1.0).moved(None if spot is None else spot[2], step)
        self._hover((row, column, index))
        name = self._name(tile, index)
        text = f"row of {name}" if is_mosaic else f"{name}: {tile.value_at(index)}"
        self.setAccessibleDescription(f"{text}; {self.rows[row].title}, {self._columns[column]}")

    def _go(self, row: int, column: int) -> None:
        row = min(max(row, 0), len(self.rows) - 1)
        column = min(max(column, 0), len(self._columns) - 1)
        self._current = (row, column)
        if self.enlarged not in (None, self._current):
            self.enlarge(row, column)
        self._contents_changed()
        tile = self.rows[row].tiles[column]
        if tile is not None and tile.marker is not None:
            self._hover((row, column, tile.marker))
        self.reached.emit(self.layout_of().tile(row, column))

    def _describe(self) -> None:
        row, column = self._current
        if row < len(self.rows) and column < len(self._columns):
            tile = self.rows[row].tiles[column]
            caption = "" if tile is None else tile.caption or tile.quantity
            name = ": ".join(filter(None, (f"{self.rows[row].title}, {self._columns[column]}", caption)))
            self.setAccessibleDescription(name if self.enlarged is None else f"{name}, enlarged")
        else:
            self.setAccessibleDescription(self._placeholder)


def _fitting(title: str, metrics: QFontMetrics, width: float) -> str:
    """Return the longest form of a column heading that fits into `width`; if none fits, return the shortest form.

    The forms are the full heading, the part before " · ", and the last word of that part.
    """
    name = title.split(" · ")[0]
    texts = (title, name, "≈" * name.startswith("≈") + name.split(" ")[-1])
    return next((text for text in texts if metrics.horizontalAdvance(text) <= width), texts[-1])


class TileScroll(VerticalScroll):
    """A scroll area in which tiles are as large as the available height permits.

    The scroll bar is shown only if the tiles do not fit into the area without a scroll bar. Qt's automatic scroll bar
    is not used, because it can make the tiles so small that it is no longer needed. Qt would then remove and add it
    recursively until the stack overflows.
    """

    def __init__(self, tiles: WeightTiles, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiles = tiles
        self.setWidget(tiles)
        tiles.arranged.connect(self._arranged)
        tiles.reached.connect(self._bring_into_sight)

    @Slot(object)
    def _bring_into_sight(self, tile: QRectF) -> None:
        """Scroll to a tile that the user selected with the keyboard."""
        place = tile.center().toPoint()
        self.ensureVisible(place.x(), place.y(), 0, math.ceil(0.5 * tile.height()) + HEAD)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus without scrolling. Qt would scroll to the middle of the tiles when they lose the focus."""
        bar, before = self.verticalScrollBar(), self.verticalScrollBar().value()
        moved = super().focusNextPrevChild(forward)
        bar.setValue(before)
        return moved

    @Slot()
    def _arranged(self) -> None:
        self._choose_bar()
        self.updateGeometry()

    def _choose_bar(self) -> None:
        fits = self._tiles.layout_of(self.width(), self.height()).height <= self.height()
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if fits else Qt.ScrollBarPolicy.ScrollBarAlwaysOn
        self.setVerticalScrollBarPolicy(policy)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._choose_bar()
        super().resizeEvent(event)
        self._tiles.set_height(self.height())
