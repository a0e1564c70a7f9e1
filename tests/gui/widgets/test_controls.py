"""One button of a group is checked, and the group reports clicks on its buttons."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.widgets.controls import ChoiceButtons
from tests.gui.helpers import press, record


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
