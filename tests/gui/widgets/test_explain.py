import numpy as np
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.experiments.inspection.rows import explain
from slide_gui.gui.pages.weights.explained import FormulaTable, lines_of
from tests.gui.helpers import settle

ROWS = np.column_stack([np.random.default_rng(0).random((60, 5)) > 0.5, np.ones(60)]).astype(float)
SCATTER = ROWS.T @ ROWS
WEIGHTS = denoiser_weights(SCATTER, 0.3)


def test_that_the_inserted_numbers_give_the_value_shown():
    lines = lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3))
    for line in lines[1:4]:
        product = np.prod([float(part) for part in line.numbers.split(" · ")])
        assert abs(product - float(line.value)) < 0.006
    assert lines[4].value == f"{WEIGHTS[1, 3]:+.4f}".replace("-", "−")
    assert lines[-1].value == lines[1].value
    same = lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 1))
    assert "E[Q]_{ab}" not in {line.name for line in same}


def test_that_the_table_reads_formulas_aloud_escapes_names_and_omits_meanings_that_do_not_fit(shown):
    window = QWidget()
    table = FormulaTable(window)
    QVBoxLayout(window).addWidget(table)
    shown(window, 800, 300)
    table.set_lines("<img src='x.png'>", "", lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3)))
    assert "E[P]_ab = S_ab q = " in table.accessibleDescription()
    assert "<img src='x.png'>" in table.toPlainText()
    assert "both must survive" in table.toPlainText()
    window.resize(480, 300)
    settle()
    assert "both must survive" not in table.toPlainText()
    assert table.document().idealWidth() <= table.width()
    assert table.document().size().height() <= table.height()
