from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtWidgets import QApplication

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.experiments.inspection.rows import explain
from slide_gui.gui.pages.weights.explained import lines_of
from slide_gui.gui.pages.weights.formula_view import ExplainPanel, math_width, plain_math
from slide_gui.gui.theme import figure_font

ROWS = np.column_stack([np.random.default_rng(0).random((60, 5)) > 0.5, np.ones(60)]).astype(float)
SCATTER = ROWS.T @ ROWS
WEIGHTS = denoiser_weights(SCATTER, 0.3)


def test_that_the_numbers_put_in_give_the_value_shown() -> None:
    lines = {line.name: line for line in lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3))}
    for name in ("E[P]_{ab}", "E[Q]_{ab}", "E[Q]_{aa}"):
        product = np.prod([float(part) for part in lines[name].numbers.split(" · ")])
        assert abs(product - float(lines[name].value)) < 0.006
    assert lines["W_{ab}"].value == f"{WEIGHTS[1, 3]:+.4f}".replace("-", "−")
    assert lines["check"].value == lines["E[P]_{ab}"].value
    assert lines["E[Q]_{ab}"].place == "eq. 10, α ≠ β"


def test_that_the_diagonal_survives_once() -> None:
    lines = {line.name: line for line in lines_of(explain(SCATTER, WEIGHTS[2], 0.3, 1e-5, 2, 2))}
    assert lines["E[Q]_{ab}"].value == lines["E[Q]_{aa}"].value
    assert lines["E[Q]_{ab}"].place == "eq. 10, α = β"


def test_that_the_panel_speaks_and_fits_at_650_pixels(app: QApplication, shown: Callable[..., Any]) -> None:
    panel: ExplainPanel = shown(ExplainPanel(), 650, 300)
    panel.set_lines("Layer 1", "b is chosen.", lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3)))
    assert "E[P]_ab = S_ab q_b = " in panel.accessibleDescription()
    name, formula, numbers, place, value_end = panel.columns()
    assert numbers is not None
    assert place is not None
    assert name < formula < numbers < value_end < place
    font = figure_font(panel, 11)
    assert all(place + math_width(line.place, font) <= 650 for line in panel.lines())
    panel.resize(330, 300)
    _, _, numbers, place, value_end = panel.columns()
    assert place is None
    assert value_end <= 330


def test_that_a_formula_reads_as_plain_text() -> None:
    assert plain_math("Σ_{c} W_{ac} x^{2}") == "Σ_c W_ac x^2"
