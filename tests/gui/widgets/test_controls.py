"""Buttons of which one is chosen: which is checked, and what is said."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.widgets.controls import ChoiceButtons
from tests.gui.helpers import press, record


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


def test_that_tab_stops_only_at_the_checked_button_and_arrows_lead_to_the_others(shown):
    page = QWidget()
    row, tabs = QHBoxLayout(page), ChoiceButtons(page)
    for number in range(3):
        row.addWidget(tabs.add(number, "tab", page))
    shown(page, 400, 60)
    page.activateWindow()
    (clicked,) = record(tabs.idClicked)

    def stops():
        return [number for number in range(3) if tabs.button(number).focusPolicy() & Qt.FocusPolicy.TabFocus]

    assert stops() == [0]
    tabs.button(0).setFocus()
    press(tabs.button(0), Qt.Key.Key_Right)
    assert (stops(), clicked) == ([1], [1])
    assert tabs.button(1).hasFocus()
    QTest.mouseClick(tabs.button(2), Qt.MouseButton.LeftButton)
    assert stops() == [2]
    tabs.choose(0)
    assert stops() == [0]
