"""Buttons of which one is chosen: which is checked, what is said, and who owns them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.widgets.choice_buttons import ChoiceButtons


@pytest.fixture
def row(shown: Callable[..., QWidget]) -> QWidget:
    """Return a widget with buttons 1, 2 and 5, in the attribute `choice`."""
    widget = QWidget()
    layout = QHBoxLayout(widget)
    widget.choice = ChoiceButtons(widget)
    for number in (1, 2, 5):
        layout.addWidget(widget.choice.add(number, str(number), widget))
    return shown(widget, 300, 60)


def test_that_the_first_is_chosen_at_first_and_one_alone_at_any_time(row: QWidget) -> None:
    assert row.choice.number() == 1
    row.choice.choose(5)
    assert [button.isChecked() for button in row.choice.buttons()] == [False, False, True]


def test_that_a_press_is_said_and_a_choice_by_the_program_is_not(row: QWidget) -> None:
    said: list[int] = []
    row.choice.chosen.connect(said.append)
    row.choice.choose(2)
    assert said == []
    QTest.mouseClick(row.choice.buttons()[2], Qt.MouseButton.LeftButton)
    QTest.keyClick(row.choice.buttons()[2], Qt.Key.Key_Left)  # the arrows walk along the buttons
    assert said[0] == 5
    assert row.choice.number() == 2


def test_that_each_button_belongs_to_the_widget_it_is_in_and_to_nothing_else(row: QWidget) -> None:
    from shiboken6 import Shiboken

    for button in row.choice.buttons():
        assert button.parent() is row
        (parent,) = [line for line in Shiboken.dump(button).splitlines() if line.startswith("parent")]
        assert "QWidget" in parent
