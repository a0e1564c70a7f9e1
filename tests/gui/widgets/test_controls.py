"""Buttons of which one is chosen: which is checked, and what is said."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.widgets.controls import ChoiceButtons
from tests.gui.helpers import record


@pytest.fixture
def row(shown):
    """Return a widget with buttons 1, 2 and 5, in the attribute `choice`."""
    widget = QWidget()
    layout = QHBoxLayout(widget)
    widget.choice = ChoiceButtons(widget)
    for number in (1, 2, 5):
        layout.addWidget(widget.choice.add(number, str(number), widget))
    return shown(widget, 300, 60)


def test_that_a_press_is_said_and_a_choice_by_the_program_is_not(row):
    (said,) = record(row.choice.idClicked)
    row.choice.choose(2)
    assert said == []
    QTest.mouseClick(row.choice.buttons()[2], Qt.MouseButton.LeftButton)
    QTest.keyClick(row.choice.buttons()[2], Qt.Key.Key_Left)  # the arrows walk along the buttons
    assert said[0] == 5
    assert row.choice.checkedId() == 2


def test_that_buttons_within_the_same_widget_are_another_choice(shown):
    """Tabs of a page, and the layers of a view on that page."""
    page = QWidget()
    outside, inside = QHBoxLayout(page), QWidget(page)
    tabs, layers = ChoiceButtons(page), ChoiceButtons(inside)
    for number in range(3):
        outside.addWidget(tabs.add(number, "tab", page))
    row = QHBoxLayout(inside)
    for number in range(2):
        row.addWidget(layers.add(number, "layer", inside))
    outside.addWidget(inside)
    shown(page, 400, 60)
    for tab, layer in ((1, 1), (2, 0), (0, 1)):
        tabs.choose(tab)
        layers.choose(layer)
        assert [button.isChecked() for button in tabs.buttons()] == [number == tab for number in range(3)]
        assert [button.isChecked() for button in layers.buttons()] == [number == layer for number in range(2)]
