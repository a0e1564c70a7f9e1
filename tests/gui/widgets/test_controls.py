"""Buttons of which one is chosen: which is checked, and what is said."""

from PySide6.QtWidgets import QHBoxLayout, QWidget

from slide_gui.gui.widgets.controls import ChoiceButtons


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
