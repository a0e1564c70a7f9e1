"""One weight, step by step (§3): formulas with the numbers of two pixels, and the rows they stand in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.experiments.inspection.explain import Explanation, explain, strongest
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.gui.layouts import flush
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.weights.view import LayerChoice, View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import LowScroll
from slide_gui.gui.widgets.explain import ExplainLine, ExplainPanel, plain_math
from slide_gui.gui.widgets.weight_tiles import Tile, TileRow
from slide_gui.text import count, fixed, layer_name, number, significant

__all__ = ["ExplainedWeight", "lines_of"]

_TILES = 150  # least height of the tiles
_COLUMNS = ("S", "E[P]", "E[Q]", "W")


def lines_of(e: Explanation) -> tuple[ExplainLine, ...]:
    """Return the steps from S to W of one pair of features."""
    s_ab, s_aa, p_ab = _amount(e.s_ab), _amount(e.s_aa), _amount(e.p_ab)
    q_a, q_b, ridge = fixed(e.q_a, 2), fixed(e.q_b, 2), significant(e.ridge, 1)
    same = e.a == e.b
    return (
        ExplainLine(
            "S_{ab}", "Σ_{i} x_{ia} x_{ib}", f"over {count(e.n)} samples", s_ab, "§3",
            "Scatter S = XXᵀ of what the layer is fitted on: how much a and b are lit together; not divided by n",
        ),
        ExplainLine("S_{aa}", "Σ_{i} x_{ia}^{2}", f"over {count(e.n)} samples", s_aa, "§3", "How much a is lit"),
        ExplainLine(
            "q_{a}", "p = 1 − noise", f"1 − {fixed(e.noise, 2)}", q_a, "§3",
            "Probability that a feature survives the corruption, the same for a and b; 1 for the constant of the bias",
        ),
        ExplainLine(
            "E[P]_{ab}", "S_{ab} q_{b}", f"{s_ab} · {q_b}", p_ab, "§3, below eq. 10",
            "Expected product of the clean a with the corrupted b: only b may be blanked",
        ),
        ExplainLine(
            "E[Q]_{ab}",
            "S_{aa} q_{a}" if same else "S_{ab} q_{a} q_{b}",
            f"{s_aa} · {q_a}" if same else f"{s_ab} · {q_a} · {q_b}",
            _amount(e.q_ab),
            "eq. 10, α = β" if same else "eq. 10, α ≠ β",
            "Expected product of a and b, both corrupted: both must survive",
        ),
        ExplainLine(
            "E[Q]_{aa}", "S_{aa} q_{a}", f"{s_aa} · {q_a}", _amount(e.q_aa), "eq. 10, α = β",
            "A pixel survives with itself: p once, not twice. This is what corruption adds to plain least squares",
        ),
        ExplainLine(
            "W_{ab}", "(E[P] (E[Q] + λI)^{−1})_{ab}", f"λ = {ridge}", signed(e.w_ab, 4), "eq. 8, Algorithm 1",
            "Weight with which a is reconstructed from b: the solution of all equations at once",
        ),
        ExplainLine(
            "W_{a,d+1}", "bias", "of the constant 1", signed(e.bias, 4), "§3",
            "What the reconstruction of a starts from: the weight of the constant that is never corrupted",
        ),
        ExplainLine(
            "check", "Σ_{c} W_{ac} (E[Q] + λI)_{cb}", f"E[P]_{{ab}} = {p_ab}", _amount(e.product), "eq. 8",
            "Row a of W times column b of E[Q] + λI must give E[P] at a, b: then W is the solution",
        ),
    )  # fmt: skip


def _amount(value: float) -> str:
    return fixed(value, 2) if abs(value) < 1e6 else number(value)


class ExplainedWeight(View):
    """Pixel a is the one pointed at; b the one under the cursor in a tile, else the one with the strongest weight."""

    shows_rows = False

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._choice = LayerChoice(self)
        self._choice.chosen.connect(self.refresh)
        self.panel = ExplainPanel(self)
        self.tiles = self._add_tiles("Row a of S, E[P], E[Q] and W")
        layout = flush(QVBoxLayout(self))
        layout.addWidget(self._choice, 0, Qt.AlignmentFlag.AlignLeft)
        body = LowScroll(self.panel.sizeHint().height() + _TILES, self)
        below = flush(QVBoxLayout(body.inner))
        below.addWidget(self.panel)
        below.addWidget(self.tiles, 1)
        layout.addWidget(body, 1)
        self._pixels.moved.connect(self._refresh_if_seen)
        self._pixels.crossed.connect(self._refresh_if_seen)

    @Slot()
    def refresh(self) -> None:
        state, stack, dataset = self._workspace.state, self._workspace.stack, self._workspace.dataset
        depth = state.parameters.depth
        self._choice.set_depth(depth)
        self.tiles.set_transposed(state.selection.transposed)
        layer, a = self._choice.layer, self._pixels.target
        if dataset is None:
            return
        shape = dataset.image_shape
        noun = "pixel" if shape else "feature"
        if depth == 0:
            self._say(f"Depth 0: no {noun} is reconstructed", "Raise the depth to explain a weight.")
            return
        row = self._source.row(a, layer)
        if row is None or stack is None or len(stack.layers) < layer or stack.layers[layer - 1].scatter is None:
            return
        scatter = stack.layers[layer - 1].scatter
        assert scatter is not None
        b, why = self._other(row, a, noun)
        preview = self._workspace.preview
        previewed = layer == 1 and preview is not None and a in preview.rows
        parameters = preview.parameters if previewed and preview is not None else stack.parameters
        explanation = explain(scatter, row, parameters.noise, parameters.ridge, a, b)
        stale = self._source.is_stale(a, layer)
        title = f"Layer {layer}: a = {self._workspace.feature_name(a)} from b = {self._workspace.feature_name(b)}"
        fitted_on = "x" if layer == 1 else layer_name(layer - 1)
        self.panel.set_lines(title, f"{why} The layer is fitted on {fitted_on}.", lines_of(explanation), stale)
        self._show_rows(explanation, shape, stale)
        self.tiles.set_crosshair(b)
        self.numbers_changed.emit()

    def tables(self) -> tuple[NumberTable, ...]:
        lines = [(line.name, line.formula, line.numbers, line.value, line.place) for line in self.panel.lines()]
        plain = [tuple(map(plain_math, cells)) for cells in lines]
        heads = ("formula", "numbers", "value", "in the paper")
        title = plain_math(self.panel.title)
        return (NumberTable(title, ("what",), [x[:1] for x in plain], heads, [x[1:] for x in plain]),) if plain else ()

    def _other(self, row: NDArray[np.float64], a: int, noun: str) -> tuple[int, str]:
        source = self._pixels.source
        if source is None:
            return strongest(
                row, a
            ), f"b has the strongest weight but a’s own; move over an image below for another {noun}."
        return source, f"b is the {noun} under the cursor."

    def _say(self, title: str, second: str) -> None:
        self.panel.set_lines(title, second, ())
        self.tiles.set_content((), ())

    def _show_rows(self, explanation: Explanation, shape: tuple[int, int] | None, stale: bool) -> None:
        tiles, heads = [], []
        rows = (explanation.s_row, explanation.p_row, explanation.q_row, explanation.w_row)
        for column, values in zip(_COLUMNS, rows, strict=True):
            limit = nearby_peak(values, explanation.a, shape)
            at_b = float(values[explanation.b])
            shown = signed(at_b, 4) if values is explanation.w_row else significant(at_b, 4)
            heads.append(f"{column} · ±{significant(limit, 3)}")
            scale = ColorScale.symmetric(self._source.color_map, limit)
            tiles.append(Tile.of(values, shape, scale, f"at b {shown}", explanation.a))
        row = TileRow(
            self._workspace.feature_name(explanation.a),
            "row a",
            QColor(theme_of(self).accent),
            False,
            tuple(tiles),
            (stale,) * 4,
        )
        self.tiles.set_content(tuple(heads), (row,))

    def _feature_of(self, row: int) -> int | None:
        return self._pixels.target
