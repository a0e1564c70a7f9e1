"""The numbers of every view as a table."""

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.shell.table_window import TableWindow
from tests.gui.helpers import labelled, settle, show_page, train, wait

OPENED = labelled


def shown_table(window):
    """Open the table of the view, or look at it again, and return it."""
    window.actions_by_name["show_table"].trigger()
    settle(0.12)
    return window.findChildren(TableWindow)[0]


def numbers(table):
    model = table.view.model()
    cells = [
        [model.index(i, j).data(Qt.ItemDataRole.ToolTipRole) for j in range(model.columnCount())]
        for i in range(model.rowCount())
    ]
    return np.array(cells)


def head(table, section, across=True):
    side = Qt.Orientation.Horizontal if across else Qt.Orientation.Vertical
    return table.view.model().headerData(section, side)


def choose(table, words):
    number = next(i for i in range(table.choice.count()) if words in table.choice.itemText(i))
    table.choice.setCurrentIndex(number)
    table.choice.activated.emit(number)


def test_that_the_weights_of_a_pixel_are_a_table_by_layer_that_follows_the_pixel(window):
    stack, table = window.workspace.fitting.stack, shown_table(window)
    for feature in (window.weights_page.pixels.features()[0], 7):
        window.weights_page.pixels.point_at(feature)
        wait(lambda feature=feature: window.workspace.feature_name(feature) in table.choice.currentText())
        expected = np.array([layer.weights[feature] for layer in stack.layers]).T
        np.testing.assert_array_equal(numbers(table).astype(float), expected)
    assert [head(table, k) for k in range(2)] == ["layer 1", "layer 2"]
    assert [head(table, i, across=False) for i in (0, 8, 36)] == ["from 0, 0", "from 1, 2", "bias"]
    assert table.view.accessibleName() == f"Weights of {window.workspace.feature_name(7)}, by layer"
    choose(table, "image, layer 2")
    np.testing.assert_array_equal(numbers(table).astype(float), stack.layers[1].weights[7, :-1].reshape(6, 6))


def test_that_the_flow_and_the_explanation_are_tables(window):
    flow = window.weights_page.set_view("flow")
    table = shown_table(window)
    shown = numbers(table)
    np.testing.assert_array_equal(shown[0, 2:].astype(float), flow.flow.clean)
    np.testing.assert_array_equal(shown[3, 2:].astype(float), flow.flow.layers[0].output)
    assert head(table, 3, across=False) == "h1"
    before = shown[1]
    window.actions_by_name["corrupt_again"].trigger()
    wait(lambda: (numbers(table)[1] != before).any())
    window.weights_page.set_view("explain")
    wait(lambda: head(table, 0) == "formula")
    assert table.choice.currentText().startswith("Layer 1: weight of b = ")


def test_that_runs_curves_and_the_classifier_are_tables(window):
    train(window)
    result, table = window.session.runs.result, shown_table(window)
    np.testing.assert_array_equal(numbers(table).astype(int), result.confusion)
    assert (head(table, 1), head(table, 0, across=False)) == ("predicted as down", "across")
    choose(table, "Per cent of the kernel")
    np.testing.assert_allclose(numbers(table)[:, 0].astype(float), 100 * np.array(result.classifier.shares))
    choose(table, "Criterion")
    assert len(numbers(table)) == len(result.classifier.history)
    show_page(window, "curves")
    wait(lambda: head(table, 0) == "error %")
    assert head(table, 0, across=False) == "noise 0.3, depth 4"
    assert float(numbers(table)[0, 0]) == pytest.approx(100 * result.error, abs=1e-3)
    window.pages.show_view("curves", 1)
    wait(lambda: head(table, 0) == "noise 0.3")
    assert head(table, 0, across=False) == "depth 4"
    show_page(window, "runs")
    wait(lambda: "Data" in [head(table, i) for i in range(table.view.model().columnCount())])


def test_that_what_is_chosen_is_copied_with_its_names_and_every_digit(window):
    table = shown_table(window)
    model, choice = table.view.model(), table.view.selectionModel()
    for row, column in ((2, 0), (3, 1)):
        choice.select(model.index(row, column), QItemSelectionModel.SelectionFlag.Select)
    QTest.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QApplication.clipboard().text().split("\n")
    assert lines[0] == "from\tlayer 1\tlayer 2"
    name, *weights = lines[2].split("\t")
    assert name == "0, 3"
    feature = window.weights_page.pixels.features()[0]
    assert [float(w) for w in weights] == [
        layer.weights[feature, 3] for layer in window.workspace.fitting.stack.layers[:2]
    ]
    choice.clear()
    table.copy()
    assert len(QApplication.clipboard().text().split("\n")) == 38


def test_that_without_numbers_it_says_why(window):
    show_page(window, "classifier")
    table = shown_table(window)
    assert table.view.model().rowCount() == 0
    assert "Press Train" in table.view.accessibleDescription()


def test_that_numbers_are_read_short_and_copied_whole():
    table = NumberTable("t", ("k",), [("a",)], ("x", "y", "z"), [(1 / 3, None, float("nan"))])
    assert [table.shown(0, k) for k in range(3)] == ["0.3333", "", "–"]
    assert table.text() == "k\tx\ty\tz\na\t0.3333333333333333\t\t"
    again = NumberTable.of_text("t", table.text())
    assert again.text() == table.text()
    ragged = NumberTable.of_text("t", "k\tx\ty\na\t1\nb")
    assert ragged.text() == "k\tx\ty\na\t1\t\nb\t\t"
