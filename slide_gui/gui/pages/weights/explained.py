"""The experiment that computes one weight step by step (§3 of the paper).

It shows the scatter matrix S, the weights W, and two expectations over the corruption. E[P] contains products of clean
and corrupted values, and E[Q] contains products of corrupted values.
"""

import math
import re
from dataclasses import dataclass, replace
from html import escape

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QTextEdit, QWidget

from slide_gui.experiments.inspection.rows import Explanation, explain, strongest
from slide_gui.figures.color_scale import signed
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.experiment import Experiment
from slide_gui.gui.pages.weights.view import ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.tiles import Tile
from slide_gui.text import count, fixed, layer_name, number, significant

# Fraction of E[Q]_aa below which the recomputed E[P]_ab is a rounding error and is shown as 0.
_ROUNDING = 1e-10
_COLUMNS = ("S", "E[P]", "E[Q]", "W")
_MEANINGS_FROM = 640  # Minimum width, in pixels, of a table that also shows the meaning of each step.
_TILES_LEAST = 110  # Minimum height, in pixels, that the table leaves for the controls and tiles.
_SCRIPT = re.compile(r"([_^])\{([^}]*)\}")


@dataclass(frozen=True)
class ExplainLine:
    """A step in the computation of a weight: symbol, formula without and with numbers, value and meaning."""

    name: str
    formula: str
    numbers: str
    value: str
    meaning: str


def plain_math(text: str) -> str:
    """Return a formula as plain text for screen readers.

    >>> plain_math("E[Q]_{ab} = S_{ab} p")
    'E[Q]_ab = S_ab p'
    """
    return _SCRIPT.sub(r"\1\2", text)


def html_math(text: str) -> str:
    """Return a formula as HTML, with ``_{…}`` and ``^{…}`` as subscripts and superscripts.

    >>> html_math("x_{<i>}^{2}")
    'x<sub>&lt;i&gt;</sub><sup>2</sup>'
    """
    return _SCRIPT.sub(
        lambda m: "<{0}>{1}</{0}>".format("sub" if m[1] == "_" else "sup", m[2]), escape(text).replace(" ", "\u00a0")
    )


class FormulaTable(QTextEdit):
    """A table of the steps in the computation of a weight. The user can select its text.

    Attributes
    ----------
    title : str
        Heading above the steps.
    lines : tuple of ExplainLine
        The steps.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, readOnly=True, tabChangesFocus=True)
        self.title, self._reason, self._stale, self._most = "", "", False, math.inf
        self.lines: tuple[ExplainLine, ...] = ()
        self._shown_width = 0
        keyboard = Qt.TextInteractionFlag.TextSelectableByKeyboard
        self.setTextInteractionFlags(keyboard | Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Computation of one weight: table of formulas")

    def set_lines(self, title: str, reason: str, lines: tuple[ExplainLine, ...], stale: bool = False) -> None:
        """Show a title, the reason why pixel b was selected, and the steps. Everything is grey if `stale` is True."""
        self.title, self._reason, self.lines, self._stale = title, reason, lines, stale
        steps = [f"{plain_math(line.name)} = {plain_math(line.formula)} = {line.value}" for line in lines]
        self.setAccessibleDescription("; ".join([title, reason, *steps]))
        self._show()

    def _show(self) -> None:
        theme, self._shown_width = theme_of(self), self.width()
        text = theme.muted if self._stale else theme.text
        html = f"<p style='color: {text}'><b>{escape(self.title)}</b><br>{escape(self._reason)}</p>"
        html += f"<table width='100%' cellspacing='0' cellpadding='3' style='color: {text}'>"
        for line in self.lines:
            colour = theme.accent_text if line.name == "W_{ab}" and not self._stale else text
            name, formula, numbers = map(html_math, (line.name, line.formula, line.numbers))
            html += f"<tr><td><b>{name}</b></td><td>= {formula}</td><td style='color: {theme.muted}'>{numbers}</td>"
            html += f"<td align='right' style='color: {colour}'><b>{escape(line.value)}</b></td>"
            if self.width() >= _MEANINGS_FROM:
                html += f"<td style='color: {theme.muted}'>&nbsp;&nbsp;{escape(line.meaning)}</td>"
            html += "</tr>"
        self.setHtml(f"{html}</table>")
        self.limit_height(self._most)

    def limit_height(self, most: float) -> None:
        """Limit the height of the table to this number of pixels. A taller table has a scroll bar."""
        self._most = most
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        height = round(self.document().size().height()) + 2 * self.frameWidth()
        if height > most:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFixedHeight(int(min(height, most)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.width() != self._shown_width:  # The line breaks, and therefore the height, depend only on the width.
            self._show()


def lines_of(e: Explanation) -> tuple[ExplainLine, ...]:
    """Return the steps that compute the weight W_ab of feature b in the reconstruction of feature a."""
    s_ab, s_aa, p_ab = _amount(e.s_row[e.b]), _amount(e.s_row[e.a]), _amount(e.p_row[e.b])
    p, ridge = number(e.survival), significant(e.ridge, 1 if float(f"{e.ridge:.0e}") == e.ridge else 3)
    product, w = e.product if abs(e.product) > _ROUNDING * e.q_row[e.a] else 0.0, float(e.w_row[e.b])
    weight = signed(w, 4) if not w or abs(w) >= 0.001 else f"{'+' * (w > 0)}{significant(w, 2)}"
    lines = [
        ExplainLine(
            "S_{ab}", "Σ_{i} x_{ia} x_{ib}", f"{count(e.n)} samples", s_ab, "Scatter: a times b, summed over samples"
        ),
        ExplainLine("E[P]_{ab}", "S_{ab} p", f"{s_ab} · {p}", p_ab, "Clean a times b; b is kept with probability p"),
        ExplainLine(
            "E[Q]_{ab}", "S_{ab} p^{2}", f"{s_ab} · {p} · {p}", _amount(e.q_row[e.b]),
            "Both a and b are kept with probability p² (eq. 10)",
        ),
        ExplainLine(
            "E[Q]_{aa}", "S_{aa} p", f"{s_aa} · {p}", _amount(e.q_row[e.a]),
            "Pixel a is kept with probability p (eq. 10)",
        ),
        ExplainLine(
            "W_{ab}", "(E[P] (E[Q] + λI)^{−1})_{ab}", f"λ = {ridge}", weight,
            "The weight, which depends on all pixels (eq. 8)",
        ),
        ExplainLine(
            "E[P]_{ab}", "Σ_{c} W_{ac} (E[Q] + λI)_{cb}", "check", _amount(product),
            "Row a of W times column b of E[Q] + λI",
        ),
    ]  # fmt: skip
    return tuple(line for line in lines if e.a != e.b or line.name != "E[Q]_{ab}")


def _amount(value: float) -> str:
    """Format a sum over the samples with two decimals, or with four significant digits if it is between −10 and 10."""
    if abs(value) >= 1e6:
        return number(value)
    return fixed(value, 2) if abs(value) >= 10.0 or not value else significant(value, 4)


class ExplainedWeight(Experiment):
    """The experiment that shows how to compute the weight of pixel b in the reconstruction of the selected pixel a.

    Pixel b is the pixel under the mouse or, if there is none, the pixel with the largest weight apart from a itself.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent, "Input, and row a of S, E[P], E[Q] and W")
        self.table = FormulaTable(self)
        self.column.insertWidget(1, self.table)
        self.setTabOrder(self.table, self.tiles)
        self._pixels.crossed.connect(self._refresh_if_seen)

    @Slot()
    def refresh(self) -> None:
        stack, dataset, fitting = self._workspace.fitting.stack, self._workspace.dataset, self._workspace.fitting
        self._list_layers()
        layer, a = self.layer, self._pixels.target
        if dataset is None:
            return
        if not self._workspace.state.parameters.depth:
            self._show_none(
                self._workspace.worded("Depth 0: no pixel is reconstructed"), "Increase the depth to obtain weights."
            )
            return
        row = self._row(a)
        scatter = stack.layers[layer - 1].scatter if stack is not None and len(stack.layers) >= layer else None
        if row is None or stack is None or scatter is None:
            self._show_none(f"Layer {layer} is being fitted", "The values appear when the fit is complete.")
            return
        if self._workspace.state.parameters.sharing != "none":
            self._show_none(
                "All pixels share one kernel",
                "The table needs one row of W per pixel. Select “one row of W per pixel” under More ▸ Weights.",
            )
            return
        b, why = strongest(row.weights, a), "Apart from a itself, b has the largest weight."
        why = "Here, b is a itself, the only feature." if b == a else why
        if self._pixels.source is not None:
            b, why = self._pixels.source, self._workspace.worded("b is the pixel under the mouse.")
        preview, stale = fitting.preview if layer == 1 else None, row.stale or row.approximate
        parameters = stack.parameters if preview is None or a not in preview.rows else preview.parameters
        explanation = explain(scatter, row.weights, parameters.noise, parameters.ridge, a, b)
        name_a, name_b = self._workspace.feature_name(a), self._workspace.feature_name(b)
        lines = tuple(replace(x, meaning=self._workspace.worded(x.meaning)) for x in lines_of(explanation))
        if stale:
            lines = tuple(replace(line, numbers="", value="") for line in lines)
        entered = "x" if layer == 1 else layer_name(layer - 1)
        fitted_to = f"The layer is fitted to {f'T({entered})' if parameters.fit_on == 'thresholded' else entered}."
        title = f"Layer {layer}: weight of b = {name_b} in the reconstruction of a = {name_a}"
        self.table.set_lines(title, f"{why} {fitted_to}", lines, stale)
        self._show_rows(explanation, stale)
        self.tiles.set_crosshair(b)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.table.limit_height(max(self.height() - _TILES_LEAST, 0))

    def numbers(self) -> str:
        lines = self.table.lines
        if not lines or not lines[-1].value:  # Without steps, or without the value of the last step, there is no text.
            return ""
        names = [(plain_math(line.name),) for line in lines]
        cells = [tuple(map(plain_math, (x.formula, x.numbers, x.value, x.meaning))) for x in lines]
        return table_text(("quantity",), names, ("formula", "numbers", "value", "meaning"), cells)

    def _show_none(self, title: str, reason: str) -> None:
        self.table.set_lines(title, reason, ())
        self._set_tiles((), ())
        self.tiles.set_crosshair(None)

    def _show_rows(self, e: Explanation, stale: bool) -> None:
        tiles, heads = [], []
        for column, values in zip(_COLUMNS, (e.s_row, e.p_row, e.q_row, e.w_row), strict=True):
            scale = self._scale(values, e.a)
            heads.append(column if stale else f"{column} · ±{significant(scale.high, 3)}")
            tiles.append(Tile.of(values, self._source.shape, scale, "", e.a, stale=stale))
        self._set_tiles(heads, tiles)

    def _feature_of(self, row: int) -> int | None:
        return self._pixels.target
