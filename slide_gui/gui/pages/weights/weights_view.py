"""The view “Weights”: an image, a table with the selected weight of each layer, and tiles that show rows of W."""

import math

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.selected_rows import ShownRow
from slide_gui.gui.pages.weights.view import NO_LAYER, ImageRow, View, ViewContext
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.controls import label, wrapped
from slide_gui.gui.widgets.image import MARGIN, DrawingCanvas, FeatureBars
from slide_gui.gui.widgets.layouts import flush, placed
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, integer_scale, write
from slide_gui.gui.widgets.tiles import TileRow, short_signed
from slide_gui.gui.widgets.weight_tiles import TileScroll
from slide_gui.text import layer_name, level

_NO_COLOR = QColor(Qt.GlobalColor.transparent)
_BETWEEN = 12
_LEAST_WIDTH = 204  # Minimum width, in pixels, of the column with the image and the table of weights.
_LEAST_SIDE, _MOST_SIDE = 140, 504  # Smallest and largest side length of the image in pixels.
_LINE = 16
_HEADS = ("", "weight", "× RMS", "rank", "bias", "share")
# Right edges of the table's columns, as fractions of its width.
_ENDS = (0.1, 0.295, 0.5, 0.635, 0.82, 1.0)


class Readout(QWidget):
    """A table with one line per layer: the selected weight, its contribution, and its rank and share in the row of W.

    The widget paints the table itself, because the values change as the mouse moves. A `QLabel` with an HTML table
    would take 1.7 ms longer per mouse move.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, accessibleName="Table of the values under the cursor")
        self._title = ""
        self._lines: list[tuple[str, ...]] = []
        text = (
            "Each line shows, for one layer, the weight, the contribution (weight times RMS, the root mean square of "
            "the input feature) and the bias. Rank and share compare the value that the tile shows with its row of W"
        )
        self.setToolTip(wrapped(text))

    def set_lines(self, title: str, lines: list[tuple[str, ...]]) -> None:
        """Show a title, and the name and values of each layer. The sign ≈ before a name marks approximate values."""
        self._title, self._lines = title, lines
        self.setAccessibleDescription("; ".join([title, *map(" ".join, lines)]))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, (len(self._lines) + 2) * _LINE)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, width, font = theme_of(self), self.width(), figure_font(self, SECONDARY)
        title = QFontMetricsF(font).elidedText(self._title, Qt.TextElideMode.ElideMiddle, width)
        with QPainter(self) as painter:
            write(painter, QRectF(0, 0, width, _LINE), MIDDLE, title, theme.muted, font)
            painter.setPen(QColor(theme.text))
            for number, line in enumerate([_HEADS, *self._lines], 1):
                for end, text in zip(_ENDS, line, strict=True):
                    painter.drawText(QRectF(0, number * _LINE, end * width, _LINE), RIGHT, text)


class WeightsView(View):
    """The image with marks at pinned pixels, next to tiles with one column per layer.

    The top row of tiles shows all rows of W. The rows below show the rows of W of the selected and the pinned pixels.
    Below the image are the table with the selected weight of each layer, the colour bar, and a hint that names the
    actions of the mouse, if there is space.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        row = flush(QHBoxLayout(self), _BETWEEN)
        self._left = placed(row, QWidget(self), 0, Qt.AlignmentFlag.AlignTop)
        self._left.hide()  # The column with the image is hidden until there is an image.
        self.image, self.bars = DrawingCanvas(self, pins=True), FeatureBars(self)
        self.image.stroked.connect(self._shown.keep_stroke)
        self._pointer = QStackedWidget(self)
        for view in (self.image, self.bars):
            view.pixel_hovered.connect(self._pixels.point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        image_row = ImageRow(self._shown, self._workspace.worded, self)
        self.readout, self._bar, self.hint = Readout(self), ColorBar(self), label("", self, wraps=True)
        tip = "While you drag, layer 1 is exact; the other layers are approximate until they are fitted"
        self._noise = NumberSlider("Noise level", (0.0, LARGEST_NOISE, 0.01, 0.3), tip, self)
        self._noise.hide()
        self._noise.value_changed.connect(self._workspace.drag_noise)
        self._noise.value_settled.connect(self._workspace.history.end_gesture)
        self.tiles = self._add_tiles("All rows of W, and rows that reconstruct the selected and pinned features")
        self.tiles.row_removed.connect(self._release)
        self._scroll = placed(row, TileScroll(self.tiles, self), 1)
        column = flush(QVBoxLayout(self._left))
        for part in (self._pointer, image_row, self.readout, self._bar, self._noise, self.hint):
            column.addWidget(part)
        self._arranged: object = None  # The contents for which the widgets were last arranged.
        # Maps the size of the window to the largest height of this view at this size. The tiles are arranged for this
        # height, so that the image does not grow when a notice reduces the height of the view.
        self._heights: dict[object, int] = {}
        self._shown.changed.connect(self._show_image)
        self._workspace.dataset_changed.connect(self._show_first_rows)
        self._pixels.moved.connect(self._moved)
        self._pixels.crossed.connect(self._crossed)

    def show_noise(self, shown: bool) -> None:
        """Show or hide a slider for the noise level. In full-screen mode, this slider replaces the panel."""
        self._noise.setVisible(shown)
        self.refresh()

    # Sizes -----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Give the tiles as much width as they can use, and the image the remaining width."""
        bar, ratio = self._scroll.verticalScrollBar().sizeHint().width(), self.devicePixelRatioF()
        room, window = self.width() - _LEAST_WIDTH - _BETWEEN, self.window().size().toTuple()
        self._heights = {window: max(self.height(), self._heights.get(window, 0))}
        used = min(math.ceil(self.tiles.layout_of(room - bar, self._heights[window]).needed) + bar, room)
        wide = max(min(self.width() - used - _BETWEEN - 2 * MARGIN, _MOST_SIDE), _LEAST_SIDE)
        numbers, left = self.readout.sizeHint().height(), self.height() - 2 * MARGIN - 36
        if not self._noise.isHidden():
            left -= self._noise.sizeHint().height() + 8
        for part, high in ((self.readout, numbers), (self._bar, self._bar.sizeHint().height())):
            part.setVisible(left >= high + 8 + _LEAST_SIDE)
            left -= 0 if part.isHidden() else high + 8
        tall = max(min(left, _MOST_SIDE), _LEAST_SIDE)
        dataset = self._workspace.dataset
        if dataset is not None and dataset.image_shape:
            rows, columns = dataset.image_shape
            scale = min(integer_scale(rows, tall, ratio), integer_scale(columns, wide, ratio))
            tall, wide = math.ceil(rows * scale), math.ceil(columns * scale)
        else:
            tall = wide = min(tall, wide)
        self._pointer.setFixedSize(wide + 2 * MARGIN, tall + 2 * MARGIN)
        width = max(wide + 2 * MARGIN, _LEAST_WIDTH)
        self._left.setFixedWidth(width)
        # With a fixed size, the table does not move other widgets when its numbers change.
        self.readout.setFixedSize(width, numbers)
        self.hint.setVisible(left >= tall + self.hint.heightForWidth(width) + 8)

    # Contents --------------------------------------------------------------------------------------------------

    @Slot()
    def _show_image(self) -> None:
        dataset, values = self._workspace.dataset, self._shown.values
        if dataset is None or values is None:
            return
        if dataset.image_shape:
            self._shown.show_on(self.image)
        else:
            self.bars.set_values(values, dataset.feature_names)
            self.bars.set_missing(self._shown.missing)
        self._pointer.setCurrentWidget(self.image if dataset.image_shape else self.bars)
        action = "click to pin it, or drag to draw" if dataset.image_shape else "or click to pin it"
        self.hint.setText(self._workspace.worded(f"Point at a pixel to see its weights, {action}."))
        self._left.show()

    @Slot()
    def _show_first_rows(self) -> None:
        """After other data have been opened, scroll up to the tiles of all rows of W and of the selected feature."""
        self._scroll.verticalScrollBar().setValue(0)

    @Slot()
    def refresh(self) -> None:
        state, features, theme = self._workspace.state, self._pixels.features(), theme_of(self)
        colors = QColor(theme.accent), *(theme.pin(number) for number in range(len(features) - 1))
        if not self._noise.isHidden():
            self._noise.set_value(state.parameters.noise)
            self._noise.set_extra(f"p = {level(1 - state.parameters.noise)}")
        table = self._source.tiles(features)
        selected = "in the middle" if self._pixels.feature is None else "hovered"
        mosaics = self._source.mosaics(features[0])
        rows = [TileRow("All rows", "one per pixel", _NO_COLOR, False, mosaics, is_mosaics=True)]
        for i, (feature, color, tiles) in enumerate(zip(features, colors, table.tiles, strict=True)):
            name = self._workspace.feature_name(feature)
            rows.append(TileRow(name, "pinned" if i else selected, color, i > 0, tiles))
        self.tiles.set_content(table.titles, tuple(rows) if table.titles else (), self._source.tile_shape)
        self._show_numbers()
        pins, depth = list(zip(features[1:], colors[1:], strict=True)), len(table.titles)
        contents = self._source.tile_shape, depth, pins, table.bar, self._noise.isHidden()
        if contents != self._arranged:
            self._arranged = contents
            self._bar.set_scale(*table.bar)
            self.tiles.set_placeholder("" if depth else NO_LAYER)
            for view in (self.image, self.bars):
                view.set_pins(pins)
            self._arrange()

    def _show_numbers(self) -> None:
        """Show the weight under the cursor in each layer, with its contribution, rank, share and bias.

        If no weight is under the cursor, show the weight of the selected pixel in its own reconstruction.
        """
        if self._workspace.dataset is None:
            return
        target = self._pixels.target
        source = target if self._pixels.source is None else self._pixels.source
        title = "weight from itself" if source == target else f"weight from {self._workspace.feature_name(source)}"
        lines: list[tuple[str, ...]] = []
        for k in range(1, self._workspace.state.parameters.depth + 1):
            row = self._source.row(target, k)
            mark, numbers = "", ("–", "–", "–", "–", "–")
            if row is not None and not row.stale:
                mark, numbers = "≈" * row.approximate, _numbers(row, source)
            lines.append((mark + layer_name(k), *numbers))
        self.readout.set_lines(title, lines)

    @Slot()
    def _moved(self) -> None:
        self.tiles.set_crosshair(None)
        self._refresh_if_seen()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pixels.source)
        for view in (self.image, self.bars):
            view.set_cursor(self._pixels.source)
        self._show_numbers()

    def numbers(self) -> str:
        """Return a text table of the rows of W that reconstruct the exported pixels, or "" if no row is up to date."""
        rows = [(feature, *fresh) for feature in self._pixels.exported() for fresh in self._source.fresh_rows(feature)]
        names = [(self._workspace.feature_name(feature), str(k)) for feature, k, _ in rows]
        cells = [np.roll(row.weights, 1) for *_, row in rows]  # In the text table, the bias comes before the weights.
        heads = ("bias", *self._workspace.feature_names)
        return table_text((self._workspace.worded("weights of pixel"), "layer"), names, heads, cells) if cells else ""

    def _feature_of(self, row: int) -> int | None:
        features = self._pixels.features()
        return features[row - 1] if 1 <= row <= len(features) else None

    @Slot(object)
    def _point_at(self, spot: tuple[int, int, int] | None) -> None:
        if spot is not None and spot[0] == 0:
            self._pixels.point_at(spot[2])
        else:
            super()._point_at(spot)

    @Slot(int)
    def _release(self, row: int) -> None:
        pins = self._workspace.state.selection.pins
        if 2 <= row < len(pins) + 2:
            self._workspace.toggle_pin(pins[row - 2])


def _numbers(row: ShownRow, source: int) -> tuple[str, str, str, str, str]:
    """Format a weight, its contribution and rank, the bias of its row, and its share of the row's summed magnitudes."""
    size, weight = np.abs(row.shown[:-1]), float(row.weights[source])
    rank, total = int(np.count_nonzero(size > size[source])) + 1, float(size.sum())
    contribution = "–" if row.rms is None else short_signed(weight * float(row.rms[source]))
    share = 100 * float(size[source]) / total if total > 0 else 0.0
    part = f"{share:.{0 if share >= 9.95 else 1}f}\u00a0%"
    return short_signed(weight), contribution, str(rank), short_signed(float(row.weights[-1])), part
