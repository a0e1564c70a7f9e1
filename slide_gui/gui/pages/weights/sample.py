"""The left of the Weights page: the image with its pins, and the numbers of the selected weight."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import LARGEST_NOISE, MOST_LAYERS
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.weights.selected_rows import ShownRow
from slide_gui.gui.pages.weights.view import ImageRow, ViewContext
from slide_gui.gui.theme import SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.image import MARGIN, FeatureBars, ImageView
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.gui.widgets.painted import MIDDLE, RIGHT, integer_scale, write
from slide_gui.text import layer_name

_USUAL_SIDE = 252  # nine screen pixels for each of 28 image pixels
_LEAST_SIDE, _MOST_SIDE = 140, 504
_LEAST_WIDTH, _TURNED_WIDTH = 204, 260  # widths that the numbers below the image need, in columns or in one line
_READOUT_ROWS = ("weight", "× RMS", "rank", "bias", "share")
LINE, HEAD, EDGE = 22, 24, 4
USUAL = "+0.0000"
_LAYERS = tuple(map(layer_name, range(MOST_LAYERS + 1)))


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

    def _ends(self, table: list[tuple[str, ...]], metrics: QFontMetricsF) -> list[float]:
        """Return the right edges of the columns: equal widths for layers, widths of the texts for others."""
        turned, count = self.is_turned(), len(table[0]) - 1
        columns = list(zip(*table, strict=True))[1:]
        widths = [max(map(metrics.horizontalAdvance, column)) if turned else 0.0 for column in columns]
        first = self._first_column(turned)
        gap = (self.width() - EDGE - first - sum(widths)) / max(count, 1)
        return [first + total + (i + 1) * gap for i, total in enumerate(accumulate(widths))]

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, turned = theme_of(self), self.is_turned()
        empty = ("",) * len(self._columns)
        table = [("", *self._columns), *((name, *(texts or empty)) for name, texts in self._rows)]
        table = list(zip(*table, strict=True)) if turned else table
        (_, *titles), *lines = table
        small = figure_font(self, SECONDARY)
        body = figure_font(self, SECONDARY + self.holds(len(titles), "+0.00"))  # smaller type in narrow columns
        ends, metrics = self._ends(table, QFontMetricsF(body)), QFontMetricsF(small)
        room = ends[0] - 2 * EDGE - metrics.horizontalAdvance(titles[0]) if titles else self.width() - 2.0 * EDGE
        title = metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, room)
        with QPainter(self) as painter:
            write(painter, QRectF(EDGE, 0, self.width(), HEAD), MIDDLE, title, theme.muted, small)
            for text, end in zip(titles, ends, strict=True):
                painter.drawText(QRectF(0, 0, end, HEAD), RIGHT, text)
            for number, (name, *texts) in enumerate(lines):
                top = HEAD + number * LINE
                painter.setPen(QPen(QColor(theme.line), 1.0))
                painter.drawLine(EDGE, top, self.width() - EDGE, top)
                write(painter, QRectF(EDGE, top, self.width(), LINE), MIDDLE, name, theme.text, body)
                for text, end in zip(texts, ends, strict=True):
                    painter.drawText(QRectF(0, top, end, LINE), RIGHT, text)


class SamplePanel(QWidget):
    """The image with its pins, the numbers of the selected weight, and the colour bar if there is room for it."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._pixels, self._source = context.workspace, context.pixels, context.tiles
        self._shown = context.shown
        self.image, self.bars = ImageView(self), FeatureBars(self)
        self._pointer = QStackedWidget(self)
        for view in (self.image, self.bars):
            view.pixel_hovered.connect(self._pixels.point_at)
            view.pixel_clicked.connect(self._workspace.toggle_pin)
            self._pointer.addWidget(view)
        self._readout = Readout(self)
        left = flush(QVBoxLayout(self))
        left.addWidget(self._pointer)
        left.addWidget(ImageRow(self._shown, self._workspace.worded, self))
        left.addWidget(self._readout)
        self._bar = ColorBar(self, horizontal=True)
        left.addWidget(self._bar)
        self._noise = NumberSlider(
            *("Noise level", 0.0, LARGEST_NOISE, 0.01, 0.3, 2),
            "The first layer changes at once, deeper ones when they are fitted",
            self,
        )
        self._noise.hide()
        self._noise.value_changed.connect(self._change_noise)
        self._noise.value_settled.connect(self._workspace.history.end_gesture)
        left.addWidget(self._noise)
        left.addStretch(1)
        self.fit_into(_USUAL_SIDE + 2 * MARGIN, 0)
        self._shown.changed.connect(self._show_image)
        self._pixels.moved.connect(self.refresh_numbers)
        self._pixels.crossed.connect(self._crossed)

    @Slot(object)
    def show_scale(self, bar: tuple[ColorScale, str, tuple[str, ...]]) -> None:
        """Show the colour bar of the tiles."""
        self._bar.set_scale(*bar)

    def show_noise(self, shown: bool) -> None:
        """Show or hide a slider of the noise level, for a window without the panel."""
        self._noise.setVisible(shown)
        self.refresh()

    @Slot(float)
    def _change_noise(self, noise: float) -> None:
        self._workspace.set_parameters(gesture="noise", noise=noise)

    @Slot()
    def _show_image(self) -> None:
        dataset, values = self._workspace.dataset, self._shown.values
        if dataset is None or values is None:
            return
        if dataset.image_shape:
            self.image.set_image(values.reshape(dataset.image_shape))
        else:
            self.bars.set_values(values, dataset.feature_names)
        for view in (self.image, self.bars):
            view.set_missing(self._shown.missing)
        self._pointer.setCurrentWidget(self.image if dataset.image_shape else self.bars)

    def least_width(self) -> int:
        """Return the width that the numbers need."""
        return _LEAST_WIDTH if self._workspace.state.parameters.depth <= len(_READOUT_ROWS) else _TURNED_WIDTH

    def fit_into(self, width: int, height: int) -> None:
        """Fit the image into a width and a height (0: any height), without numbers if the height is small."""
        below, numbers = 8 * 3 + 28 + 2 * MARGIN, self._readout.heightForWidth(width)
        below += 0 if self._noise.isHidden() else self._noise.sizeHint().height() + 8
        bar = self._bar.sizeHint().height() + 8
        has_room = not height or height >= below + numbers + bar + _LEAST_SIDE
        self._bar.setVisible(has_room)
        below += bar if self._bar.isVisibleTo(self) else 0
        self._readout.setVisible(not height or height >= below + numbers + _LEAST_SIDE)
        below += numbers if self._readout.isVisibleTo(self) else 0
        tall = max(min(height - below if height else width - 2 * MARGIN, _MOST_SIDE), _LEAST_SIDE)
        wide = max(min(width - 2 * MARGIN, _MOST_SIDE), _LEAST_SIDE)
        dataset = self._workspace.dataset
        if dataset is not None and dataset.image_shape:
            rows, columns = dataset.image_shape
            ratio = self.devicePixelRatioF()
            scale = min(integer_scale(rows, tall, ratio), integer_scale(columns, wide, ratio))
            tall, wide = math.ceil(rows * scale), math.ceil(columns * scale)
        else:
            tall = wide = min(tall, wide)
        self._pointer.setFixedSize(wide + 2 * MARGIN, tall + 2 * MARGIN)
        self.setFixedWidth(max(wide + 2 * MARGIN, self.least_width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose the number of decimals that fits the width."""
        super().resizeEvent(event)
        self.refresh_numbers()

    # Pins and numbers -------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show the current pins."""
        noise, selection = self._workspace.state.parameters.noise, self._workspace.state.selection
        self._noise.set_value(noise)
        self._noise.set_extra(f"p = {1 - noise:.2f}")
        pins = list(zip(selection.pins, self._pixels.colors[1:], strict=True))
        for view in (self.image, self.bars):
            view.set_pins(pins)

    @Slot()
    def _crossed(self) -> None:
        for view in (self.image, self.bars):
            view.set_cursor(self._pixels.source)
        self.refresh_numbers()

    @Slot()
    def refresh_numbers(self) -> None:
        """Show the numbers of the selected weight in each layer."""
        dataset = self._workspace.dataset
        if dataset is None:
            return
        target = self._pixels.target
        source = target if self._pixels.source is None else self._pixels.source
        columns, cells = [], []
        depth = self._workspace.state.parameters.depth
        across = len(_READOUT_ROWS) if self._readout.is_turned() else depth
        decimals = 3 if self._readout.holds(across, "+0.000") else 2
        for k in range(1, depth + 1):
            columns.append(_LAYERS[k])
            row = self._source.row(target, k)
            if row is None or row.stale:
                cells.append(("–",) * len(_READOUT_ROWS))
            else:
                cells.append(_numbers(row, self._source.rms(k), source, decimals))
        title = "from itself" if source == target else f"from {self._workspace.feature_name(source)}"
        rows = [(name, tuple(cell[i] for cell in cells)) for i, name in enumerate(_READOUT_ROWS)]
        self._readout.set_values(title, tuple(columns), tuple(rows))


def _numbers(row: ShownRow, rms: NDArray[Any] | None, source: int, decimals: int) -> tuple[str, ...]:
    """Return weight, contribution, rank by size, per cent of the row and bias as texts."""
    size, bias = np.abs(row.shown[:-1]), row.weights[-1]
    rank = int(np.count_nonzero(size > size[source])) + 1
    total = float(size.sum())
    share = 100 * float(size[source]) / total if total > 0 else np.nan
    share_decimals = 0 if share >= 99.95 or (share >= 9.95 and decimals < 3) else 1  # fewer in narrow columns
    part = "–" if np.isnan(share) else f"{share:.{share_decimals}f} %"
    weight = float(row.weights[source])
    contribution = "–" if rms is None else signed(weight * float(rms[source]), decimals)
    return signed(weight, decimals), contribution, str(rank), signed(float(bias), decimals), part
