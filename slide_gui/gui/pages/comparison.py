"""Two runs, A and B: rows of W and their difference with one colour scale, both confusion matrices, and the test."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.experiments.comparison import Comparison, compare_errors
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.experiments.methods import METHODS
from slide_gui.experiments.result import RunResult
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.layouts import nested
from slide_gui.gui.pages.tile_source import row_tile
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.choices import ChoiceButtons
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix, worst_mistake
from slide_gui.gui.widgets.weight_tiles import TileRow, TileScroll, WeightTiles
from slide_gui.text import count, counted, label_names, pixel_name, significant

__all__ = ["ComparisonView"]

_EMPTY = "Choose two runs in the table and press Compare (Ctrl+D)."


class ComparisonView(QWidget):
    """Shows one `Comparison`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: Comparison | None = None
        self._pixel = 0
        self.answer = QLabel(_EMPTY, self)
        self.answer.setWordWrap(True)
        self.tiles, self._bar = WeightTiles(self), ColorBar(self)
        self.tiles.set_placeholder("")
        self.why_not = QLabel("", self)
        self.why_not.setProperty("role", "secondary")
        self.why_not.setWordWrap(True)
        self.why_not.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._pixels = ChoiceButtons(self)
        self._pixels.idClicked.connect(self._choose_pixel)
        self._weights_title = QLabel("", self)
        self._weights_title.setProperty("role", "secondary")
        self.matrices = (ConfusionMatrix(self), ConfusionMatrix(self))
        self._captions = (QLabel("", self), QLabel("", self))
        self._weights = QStackedWidget(self)
        self._weights.addWidget(self.why_not)
        self._weights.addWidget(self._build_weights())
        self._body = self._build_body()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.answer)
        layout.addWidget(self._body, 1)
        layout.addStretch(0)
        self._body.hide()

    def _build_weights(self) -> QWidget:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        row.addWidget(TileScroll(self.tiles, self), 1)
        row.addWidget(self._bar)
        return holder

    def _build_body(self) -> QWidget:
        body = QWidget(self)
        row = QHBoxLayout(body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(20)
        left, right = nested(row, QVBoxLayout(), 3), nested(row, QVBoxLayout(), 2)
        for column in (left, right):
            column.setSpacing(8)
        pixels = nested(left, QHBoxLayout())
        pixels.setSpacing(4)
        pixels.addWidget(self._weights_title)
        self._pixel_row = nested(pixels, QHBoxLayout())
        self._pixel_row.setSpacing(4)
        pixels.addStretch(1)
        left.addWidget(self._weights, 1)
        for caption, matrix in zip(self._captions, self.matrices, strict=True):
            caption.setProperty("role", "secondary")
            right.addWidget(caption)
            right.addWidget(matrix, 1)
        return body

    def show_waiting(self) -> None:
        """Say that the comparison is being made; what was shown stays until it is there."""
        self.answer.setText("Comparing…")

    def show_comparison(self, shown: Comparison) -> None:
        """Show two runs."""
        self._shown, self._pixel = shown, 0
        self.answer.setText(_sentence(shown))
        worst = max(worst_mistake(result.confusion) for result in (shown.first, shown.second))
        for name, result, caption, matrix in zip(
            "AB", (shown.first, shown.second), self._captions, self.matrices, strict=True
        ):
            caption.setText(f"{name} · {_describe(result)}")
            matrix.set_counts(result.confusion, label_names(result.labels, shown.label_names), worst=worst)
        self._show_pixel_buttons()
        self._show_weights()
        self._body.show()

    def changeEvent(self, event: Any) -> None:
        """Follow a change of the theme."""
        super().changeEvent(event)
        if event.type() == event.Type.PaletteChange and hasattr(self, "_body"):
            self._show_weights()

    @Slot(int)
    def _choose_pixel(self, number: int) -> None:
        self._pixel = number
        self._show_weights()

    def _show_pixel_buttons(self) -> None:
        shown = self._shown
        rows = None if shown is None else shown.rows
        self._weights_title.setText("" if rows is None else "rows of W for")
        names = [] if shown is None or rows is None else [pixel_name(pixel, shown.image_shape) for pixel in rows.pixels]
        for number in range(len(self._pixels.buttons()), len(names)):
            self._pixel_row.addWidget(self._pixels.add(number, "", self._body))
        for number, each in enumerate(self._pixels.buttons()):
            each.setVisible(number < len(names))
            if number < len(names):
                each.setText(names[number])
                each.setAccessibleName(f"pixel {names[number]}")
                each.setChecked(number == self._pixel)

    def _show_weights(self) -> None:
        shown = self._shown
        if shown is None or shown.rows is None:
            self.why_not.setText("" if shown is None else shown.why_not)
            self._weights.setCurrentIndex(0)
            return
        rows, number, shape = shown.rows, self._pixel, shown.image_shape
        pixel = rows.pixels[number]
        both = [*rows.first[number], *rows.second[number]]
        limit = max((nearby_peak(row[:-1], pixel, shape) for row in both), default=1.0)
        scale = ColorScale.symmetric(theme_of(self).diverging, limit)
        depth = max(rows.first.shape[1], rows.second.shape[1])
        theme = theme_of(self)
        lines = []
        for title, said, color, weights in (
            ("A", _brief(shown.first), theme.pin(0), rows.first[number]),
            ("B", _brief(shown.second), theme.pin(3), rows.second[number]),
            ("A − B", "difference", QColor(theme.accent), rows.difference[number]),
        ):
            tiles = tuple(row_tile(weights[k], shape, scale, pixel) if k < len(weights) else None for k in range(depth))
            lines.append(TileRow(title, said, color, False, tiles))
        self.tiles.set_content(tuple(f"layer {k + 1}" for k in range(depth)), tuple(lines))
        self._bar.set_scale(scale)
        self._weights.setCurrentIndex(1)


def _short(result: RunResult) -> str:
    stack = result.spec.stack
    if stack.depth == 0:
        return "no layer"
    return f"noise {stack.noise:.2f}, {counted(stack.depth, 'layer')}"


def _brief(result: RunResult) -> str:
    return _short(result).split(",")[0]  # the tiles show how many layers there are


def _describe(result: RunResult) -> str:
    name = METHODS[result.spec.method].text
    by = "" if result.is_current else f" · by version {result.numerics} of the numbers"
    return f"{name}, {_short(result)} · {result.rate}{by}"


def _sentence(shown: Comparison) -> str:
    first, second = shown.first, shown.second
    difference = signed(100 * (first.error - second.error), 2)
    said = f"A {100 * first.error:.2f} %, B {100 * second.error:.2f} %, A − B {difference}"
    test = compare_errors(first, second)
    if test is None:
        return f"{said} points, judged on different rows: no test of significance."
    p = significant(test.exact, 3)
    return f"{said} points on the same {count(len(first.judged))} rows · McNemar p = {p}"
