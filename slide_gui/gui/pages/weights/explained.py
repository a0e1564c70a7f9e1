"""The view that computes one weight step by step (§3): formulas of S, q, E[P], E[Q] and W with numbers inserted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QPainter, QResizeEvent, QStaticText, QTextOption, QTransform
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from slide_gui.experiments.inspection.rows import Explanation, explain, nearby_peak, strongest
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, LowScroll
from slide_gui.gui.widgets.layouts import flush
from slide_gui.gui.widgets.tiles import Tile, TileRow
from slide_gui.text import count, fixed, layer_name, number, significant

_TILES = 150  # least height of the tiles in pixels
_ROUNDING = 1e-10  # relative to E[Q]_aa; rounding error of a sum that is exactly 0
_COLUMNS = ("S", "E[P]", "E[Q]", "W")
_ROW, _GAP = 27, 28  # height of a line and space after a column in pixels
_NUMBERS_HEIGHT = 9 * _ROW + 44  # of the table with its title
_NUMBERS, _VALUE, _PLACE = 2, 3, 4  # columns of the table
_ONE_LINE = QTextOption()
_ONE_LINE.setWrapMode(QTextOption.WrapMode.NoWrap)


@dataclass(frozen=True)
class ExplainLine:
    """A step with its name, formula, inserted numbers, result, reference to the paper, and meaning."""

    name: str
    formula: str
    numbers: str
    value: str
    place: str
    tip: str


def plain_math(text: str) -> str:
    """Return a formula as plain text for screen readers.

    >>> plain_math("E[Q]_{ab} = S_{ab} q_{a}")
    'E[Q]_ab = S_ab q_a'
    """
    return re.sub(r"([_^])\{([^}]*)\}", r"\1\2", text)


class _FormulaDelegate(QStyledItemDelegate):
    """Draws text in which ``_{…}`` and ``^{…}`` are subscripts and superscripts, below a line."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._formula = lru_cache(256)(_formula)  # most formulas stay when the pixel changes

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Any) -> None:
        self.initStyleOption(option, index)
        formula, option.text = self._formula(option.text, option.font.toString()), ""
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        box, size = option.rect, formula.size()
        left = box.right() - size.width() - _GAP if index.column() == _VALUE else box.left()
        painter.save()
        painter.setPen(QColor(theme_of(option.widget).line))
        painter.drawLine(box.topLeft(), box.topRight())
        painter.setPen(option.palette.text().color())
        painter.setFont(option.font)
        painter.drawStaticText(QPointF(left, box.center().y() - 0.5 * size.height()), formula)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Any) -> QSize:
        self.initStyleOption(option, index)
        return QSize(round(self._formula(option.text, option.font.toString()).size().width()) + _GAP, _ROW)


def _formula(text: str, font: str) -> QStaticText:
    html = re.sub(r"_\{([^}]*)\}", r"<sub style='font-size: 15px'>\1</sub>", escape(text))
    formula = QStaticText(re.sub(r"\^\{([^}]*)\}", r"<sup style='font-size: 15px'>\1</sup>", html))
    formula.setTextFormat(Qt.TextFormat.RichText)
    formula.setTextOption(_ONE_LINE)
    used = QFont()
    used.fromString(font)
    formula.prepare(QTransform(), used)
    return formula


class FormulaTable(QTableWidget):
    """A table of formulas; Up and Down move between lines and report the meaning of each.

    Attributes
    ----------
    lines : tuple of ExplainLine
        The steps.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(0, _PLACE + 1, parent)
        self.lines: tuple[ExplainLine, ...] = ()
        self.setItemDelegate(_FormulaDelegate(self))
        self.setStyleSheet("QTableView { background: transparent; border: 0; border-radius: 0; }")
        self.setShowGrid(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setStretchLastSection(True)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW)
        self.setFixedHeight(9 * _ROW)
        self.setAccessibleName("The numbers behind one weight: table of formulas")
        self.currentCellChanged.connect(self._show_tip)

    def set_lines(self, about: str, lines: tuple[ExplainLine, ...], stale: bool = False) -> None:
        """Show the steps, in grey if the numbers are stale; screen readers also get a description of a and b."""
        self.lines = lines
        steps = [f"{plain_math(line.name)} = {plain_math(line.formula)} = {line.value}" for line in lines]
        self.setAccessibleDescription("; ".join([about, *steps]))
        theme, body, strong = theme_of(self), figure_font(self, BODY), figure_font(self, BODY, strong=True)
        fonts = (strong, body, body, strong, figure_font(self, SECONDARY))
        self.setRowCount(len(lines))
        for row, line in enumerate(lines):
            plain = theme.muted if stale else theme.text
            result = theme.accent_text if line.name.startswith("W_{ab") and not stale else plain
            colours = (plain, plain, theme.muted, result, theme.muted)
            texts = (line.name, line.formula, line.numbers, line.value, line.place)
            for column, (text, colour, font) in enumerate(zip(texts, colours, fonts, strict=True)):
                self._set_cell(row, column, text, colour, font, line.tip)
        self._fit_columns()

    def _set_cell(self, row: int, column: int, text: str, colour: str, font: QFont, tip: str) -> None:
        cell = self.item(row, column)
        if cell is None:
            cell = QTableWidgetItem()
            self.setItem(row, column, cell)
        cell.setText(text)
        cell.setForeground(QColor(colour))
        cell.setFont(font)
        cell.setToolTip(tip)
        cell.setData(Qt.ItemDataRole.AccessibleTextRole, plain_math(text))
        cell.setData(Qt.ItemDataRole.AccessibleDescriptionRole, tip)

    def _fit_columns(self) -> None:
        """Show the references, and the numbers, only if the table is wide enough for them."""
        widths = [self.sizeHintForColumn(column) for column in range(_PLACE + 1)]
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)
        for column in (_PLACE, _NUMBERS):
            hidden = sum(widths) > self.width()
            self.setColumnHidden(column, hidden)
            widths[column] *= not hidden

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    @Slot(int, int)
    def _show_tip(self, row: int, column: int) -> None:
        cell = self.item(row, column)
        if self.hasFocus() and cell is not None:
            QToolTip.showText(self.mapToGlobal(self.visualItemRect(cell).bottomLeft()), cell.toolTip(), self)


def lines_of(e: Explanation) -> tuple[ExplainLine, ...]:
    """Return the steps from S to W for one pair of features."""
    s_ab, s_aa, p_ab = _amount(e.s_row[e.b]), _amount(e.s_row[e.a]), _amount(e.p_row[e.b])
    p, ridge = fixed(e.survival, 2), significant(e.ridge, 1)
    same = e.a == e.b
    product = e.product if abs(e.product) > _ROUNDING * e.q_row[e.a] else 0.0
    over, one_pixel, two_pixels = f"over {count(e.n)} samples", "eq. 10, α = β", "eq. 10, α ≠ β"
    return (
        ExplainLine(
            "S_{ab}", "Σ_{i} x_{ia} x_{ib}", over, s_ab, "§3",
            "Scatter S = XXᵀ of the layer’s input: how often a and b are 1 together; not divided by n",
        ),
        ExplainLine("S_{aa}", "Σ_{i} x_{ia}^{2}", over, s_aa, "§3", "How often a is 1"),
        ExplainLine(
            "q_{a}", "p = 1 − noise", f"1 − {fixed(e.noise, 2)}", p, "§3",
            ("Probability that a feature is not set to 0, the same for a and b; 1 for the constant of the "
                "bias"),
        ),
        ExplainLine(
            "E[P]_{ab}", "S_{ab} q_{b}", f"{s_ab} · {p}", p_ab, "§3, below eq. 10",
            "Expected product of the clean a with the corrupted b: only b may be set to 0",
        ),
        ExplainLine(
            "E[Q]_{ab}",
            "S_{aa} q_{a}" if same else "S_{ab} q_{a} q_{b}",
            f"{s_aa} · {p}" if same else f"{s_ab} · {p} · {p}",
            _amount(e.q_row[e.b]),
            one_pixel if same else two_pixels,
            "Expected product of a and b, both corrupted: neither may be set to 0",
        ),
        ExplainLine(
            "E[Q]_{aa}", "S_{aa} q_{a}", f"{s_aa} · {p}", _amount(e.q_row[e.a]), one_pixel,
            "The square of one pixel is kept with probability p, not p²: the difference from ordinary least squares"
        ),
        ExplainLine(
            "W_{ab}", "(E[P] (E[Q] + λI)^{−1})_{ab}", f"λ = {ridge}", signed(e.w_row[e.b], 4), "eq. 8, Algorithm 1",
            "Weight of b in the reconstruction of a, from the joint solution of all equations",
        ),
        ExplainLine(
            "W_{a,d+1}", "bias", "of the constant 1", signed(e.bias, 4), "§3",
            "Constant in the reconstruction of a: the weight of an input 1 that is never corrupted",
        ),
        ExplainLine(
            "check", "Σ_{c} W_{ac} (E[Q] + λI)_{cb}", f"E[P]_{{ab}} = {p_ab}", _amount(product), "eq. 8",
            "Check: row a of W times column b of E[Q] + λI must equal E[P] at a, b",
        ),
    )  # fmt: skip


def _amount(value: float) -> str:
    """Format a sum over the samples with two decimals, or with four digits if it is small."""
    if abs(value) >= 1e6:
        return number(value)
    return fixed(value, 2) if abs(value) >= 10.0 or not value else significant(value, 4)


class ExplainedWeight(View):
    """The view of one weight: a is the selected pixel, b the one under the cursor or else the most important for a."""

    shows_rows = False

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._choice = self._add_choice()
        self._title, self._reason, self.table = ElidedLabel("", self, ""), ElidedLabel("", self), FormulaTable(self)
        self._title.setFont(figure_font(self, strong=True))
        self.tiles = self._add_tiles("Row a of S, E[P], E[Q] and W")
        layout = flush(QVBoxLayout(self))
        layout.addWidget(self._choice, 0, Qt.AlignmentFlag.AlignLeft)
        self._body = LowScroll(_NUMBERS_HEIGHT + _TILES, self)
        below = flush(QVBoxLayout(self._body.inner), 4)
        for part in (self._title, self._reason, self.table):
            below.addWidget(part)
        below.addSpacing(4)
        below.addWidget(self.tiles, 1)
        layout.addWidget(self._body, 1)
        self._pixels.moved.connect(self._refresh_if_seen)
        self._pixels.crossed.connect(self._refresh_if_seen)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the tiles the height that the numbers leave."""
        super().resizeEvent(event)
        self.tiles.set_height(max(self._body.height() - _NUMBERS_HEIGHT, _TILES))

    @Slot()
    def refresh(self) -> None:
        state, stack, dataset = self._workspace.state, self._workspace.fitting.stack, self._workspace.dataset
        depth = state.parameters.depth
        self._choice.set_depth(depth)
        self.tiles.set_transposed(state.selection.transposed)
        layer, a = self._choice.layer, self._pixels.target
        if dataset is None:
            return
        shape = dataset.image_shape
        if depth == 0:
            noun = "pixel" if shape else "feature"
            self._show_none(f"Depth 0: no {noun} is reconstructed", "Raise the depth to explain a weight.")
            return
        row = self._source.row(a, layer)
        scatter = stack.layers[layer - 1].scatter if stack is not None and len(stack.layers) >= layer else None
        if row is None or stack is None or scatter is None:
            self._show_none(f"Layer {layer} is being fitted", "The numbers appear when the fit ends.")
            self.numbers_changed.emit()
            return
        b, why = self._other(row.shown, a, shape is not None)
        preview = self._workspace.fitting.preview
        previewed = layer == 1 and preview is not None and a in preview.rows
        parameters = preview.parameters if previewed and preview is not None else stack.parameters
        explanation = explain(scatter, row.weights, parameters.noise, parameters.ridge, a, b)
        stale = row.stale
        name_a, name_b = self._workspace.feature_name(a), self._workspace.feature_name(b)
        title = f"Layer {layer}: a = {name_a} from b = {name_b}"
        fitted_on = f"The layer is fitted on {'x' if layer == 1 else layer_name(layer - 1)}."
        lines = lines_of(explanation)
        if stale:
            lines = tuple(replace(line, numbers="", value="") for line in lines)
        self._show_lines(title, f"{why} {fitted_on}", lines, stale)
        self._show_rows(explanation, shape, stale)
        self.tiles.set_crosshair(b)
        self.numbers_changed.emit()

    def tables(self) -> tuple[NumberTable, ...]:
        lines = [(line.name, line.formula, line.numbers, line.value, line.place) for line in self.table.lines]
        plain = [tuple(map(plain_math, cells)) for cells in lines]
        if not plain or not plain[-1][3]:  # empty, or of a stack that is being replaced
            return ()
        title, heads = plain_math(self._title.text()), ("formula", "numbers", "value", "in the paper")
        return (NumberTable(title, ("quantity",), [x[:1] for x in plain], heads, [x[1:] for x in plain]),)

    def _other(self, row: NDArray[np.float64], a: int, are_pixels: bool) -> tuple[int, str]:
        """Return b, and the reason: the largest weight or contribution in the row, as other views show it."""
        source, noun = self._pixels.source, "pixel" if are_pixels else "feature"
        if source is not None:
            return source, f"b is the {noun} under the cursor."
        contributes = self._source.shows_contributions()
        what = "contributes most, weight × RMS, except a" if contributes else "has the largest weight except a’s own"
        return strongest(row, a), f"b {what}; move over an image below for another {noun}."

    def _show_lines(self, title: str, reason: str, lines: tuple[ExplainLine, ...], stale: bool = False) -> None:
        self._title.setText(title)
        self._reason.setText(reason)
        self.table.set_lines(f"{title}; {reason}", lines, stale)

    def _show_none(self, title: str, reason: str) -> None:
        self._show_lines(title, reason, ())
        self.tiles.set_content((), ())

    def _show_rows(self, explanation: Explanation, shape: tuple[int, int] | None, stale: bool) -> None:
        tiles, heads = [], []
        rows = (explanation.s_row, explanation.p_row, explanation.q_row, explanation.w_row)
        for column, values in zip(_COLUMNS, rows, strict=True):
            limit = nearby_peak(values, explanation.a, shape)
            at_b = float(values[explanation.b])
            shown = signed(at_b, 4) if values is explanation.w_row else significant(at_b, 4)
            heads.append(column if stale else f"{column} · ±{significant(limit, 3)}")
            scale = ColorScale.symmetric(self._source.color_map, limit)
            tiles.append(Tile.of(values, shape, scale, f"at b {shown}", explanation.a, stale=stale))
        name, color = self._workspace.feature_name(explanation.a), QColor(theme_of(self).accent)
        row = TileRow(name, "row a", color, False, tuple(tiles))
        self.tiles.set_content(tuple(heads), (row,))

    def _feature_of(self, row: int) -> int | None:
        return self._pixels.target
