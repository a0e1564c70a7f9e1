"""The table of the benchmark can be ordered, its cells describe and request runs, and colours have marks."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from slide_gui.gui.pages.benchmark.table import (
    SIGNIFICANCE_MARKS,
    EvaluationCell,
    EvaluationRow,
    EvaluationTable,
    mark_color,
)
from slide_gui.gui.theme import DARK, LIGHT
from tests.gui.helpers import record, settle

HEADS = (("Rectangles", "generated"), ("MNIST", "no runs yet"))
EMPTY = EvaluationCell(aside="paper 1.40", note="not asked", tip="No result: not asked")


def cell(error, standing, group):
    keys = (f"run {error}",)
    return EvaluationCell(f"{error:.2f} ± 0.10", "paper 1.00", "1 split", standing, rank=(group, error), keys=keys)


ROWS = (
    EvaluationRow("raw-svm", "Raw-SVM", (cell(3.0, "worse", 2.0), EMPTY)),
    EvaluationRow("sda", "SdA", (EvaluationCell(note="waiting"), EMPTY)),
    EvaluationRow("slide-svm", "SLIDE-SVM", (cell(2.0, "reference", 1.0), EMPTY), strong=True),
    EvaluationRow("pca-svm", "PCA-SVM", (cell(1.9, "equal", 1.0), EMPTY)),
    EvaluationRow("white-svm", "White-SVM", (cell(2.5, "better", 0.0), EMPTY)),
    EvaluationRow("", "SdA-3", (EvaluationCell(aside="1.99"), EMPTY), note="Vincent et al. 2010"),
)


@pytest.fixture
def table(shown):
    found = EvaluationTable()
    found.set_table(HEADS, ROWS)
    return shown(found, 900, 400)


def titles(table):
    return [row.title for row in table.rows]


def test_that_rows_keep_their_order_until_a_data_set_orders_them_by_significance_then_error(table):
    assert titles(table) == [row.title for row in ROWS]
    head = table.horizontalHeader()
    place = QPoint(head.sectionPosition(0) + 20, 12)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert (titles(table), table.order) == (["White-SVM", "PCA-SVM", "SLIDE-SVM", "Raw-SVM", "SdA", "SdA-3"], 0)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert (titles(table), table.order) == ([row.title for row in ROWS], None)


def test_that_a_click_or_enter_requests_the_runs_of_a_cell_unless_it_is_empty(table):
    (asked,) = record(table.runs_requested)
    for row, column in ((0, 0), (1, 0), (0, 1), (5, 0)):
        place = table.visualRect(table.model().index(row, column)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert asked == [(("run 3.0",), "raw-svm", 0)]
    table.setCurrentIndex(table.model().index(2, 0))
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert asked[1:] == [(("run 2.0",), "slide-svm", 0)]


def test_that_marks_differ_cells_are_described_in_words_and_the_table_is_copied_as_plain_numbers(table):
    assert len({standing.symbol for standing in SIGNIFICANCE_MARKS.values()}) == len(SIGNIFICANCE_MARKS)
    for theme in (LIGHT, DARK):
        assert len({mark_color(name, theme) for name in SIGNIFICANCE_MARKS}) == len(SIGNIFICANCE_MARKS)
    model = table.model()
    texts = [model.data(model.index(row, 0)) for row in range(5)]
    assert texts[:2] == ["3.00 ± 0.10, significantly more errors than SLIDE-SVM, paper 1.00, 1 split", "waiting"]
    assert "significantly fewer" in texts[4]
    assert model.data(model.index(0, 1), Qt.ItemDataRole.ToolTipRole) == "No result: not asked"
    lines = [line.split("\t") for line in table.text().splitlines()]
    more, mark = "significantly more errors than SLIDE-SVM", "significance"
    assert lines[0] == ["", "Rectangles (generated)", mark, "paper", "MNIST (no runs yet)", mark, "paper"]
    assert lines[1] == ["Raw-SVM", "3.00 ± 0.10", more, "1.00", "not asked", "", "1.40"]
    assert lines[6] == ["SdA-3 Vincent et al. 2010", "", "", "1.99", "not asked", "", "1.40"]


def test_that_new_numbers_keep_order_and_current_cell(table):
    table.set_order(0)
    table.setCurrentIndex(table.model().index(1, 1))
    table.set_table(HEADS, (ROWS[0], EvaluationRow("sda", "SdA", (cell(0.5, "better", 0.0), EMPTY)), *ROWS[2:]))
    assert titles(table)[:2] == ["SdA", "White-SVM"]
    assert (table.currentIndex().row(), table.currentIndex().column()) == (1, 1)


def test_that_a_heading_that_does_not_fit_ends_in_an_ellipsis_until_it_fits(table):
    long = ("Digits 8 × 8 enlarged (stand-in for MNIST)", "real")
    table.set_table((HEADS[0], long), ROWS)
    for width, is_cut in ((400, True), (1400, False)):
        table.resize(width, 400)
        settle()
        title, note = table.horizontalHeaderItem(1).text().split("\n")
        assert (title.endswith("…"), title == long[0], note) == (is_cut, not is_cut, long[1])
