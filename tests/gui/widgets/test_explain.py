import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.experiments.inspection.rows import explain
from slide_gui.gui.pages.weights.explained import FormulaTable, lines_of
from tests.gui.helpers import settle

ROWS = np.column_stack([np.random.default_rng(0).random((60, 5)) > 0.5, np.ones(60)]).astype(float)
SCATTER = ROWS.T @ ROWS
WEIGHTS = denoiser_weights(SCATTER, 0.3)


def test_that_the_numbers_put_in_give_the_value_shown():
    lines = {line.name: line for line in lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3))}
    for name in ("E[P]_{ab}", "E[Q]_{ab}", "E[Q]_{aa}"):
        product = np.prod([float(part) for part in lines[name].numbers.split(" · ")])
        assert abs(product - float(lines[name].value)) < 0.006
    assert lines["W_{ab}"].value == f"{WEIGHTS[1, 3]:+.4f}".replace("-", "−")
    assert lines["check"].value == lines["E[P]_{ab}"].value
    assert lines["E[Q]_{ab}"].place == "eq. 10, α ≠ β"


def test_that_the_table_reads_formulas_aloud_and_omits_columns_that_do_not_fit(shown):
    window = QWidget()
    table = FormulaTable(window)
    QVBoxLayout(window).addWidget(table)
    shown(window, 680, 300)
    table.set_lines("Layer 1", lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3)))
    assert "E[P]_ab = S_ab q_b = " in table.accessibleDescription()
    assert table.item(3, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "S_ab q_b"
    assert not any(table.isColumnHidden(column) for column in range(5))
    window.resize(360, 300)
    settle()
    assert [table.isColumnHidden(column) for column in range(5)] == [False, False, True, False, True]
    assert table.columnViewportPosition(3) + table.columnWidth(3) <= table.width()
