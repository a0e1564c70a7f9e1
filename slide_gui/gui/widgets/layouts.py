"""Helpers that build layouts and scroll areas without PySide wrappers of layout items; `nested` explains why."""

from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QLayout, QScrollArea, QWidget

Inner = TypeVar("Inner", bound=QLayout)
Placed = TypeVar("Placed", bound=QWidget)


def flush(layout: Inner, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Inner:
    """Return the layout after setting its spacing and its margins (none by default) in pixels."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    return layout


def nested(outer: QBoxLayout | QGridLayout, inner: Inner, *place: int, spacing: int = -1) -> Inner:
    """Add a new, empty layout to another and return it.

    An item of a layout is not a QObject. PySide finds the Python wrapper of an item only by the item's address and
    keeps the wrapper after the item is destroyed. A later object at this address would get the wrong wrapper. PySide
    creates such wrappers when it adds a layout that already contains items.

    Parameters
    ----------
    outer : QBoxLayout or QGridLayout
        Layout of a widget, or of another layout.
    inner : QLayout
        New layout without items.
    *place : int
        Arguments of `outer.addLayout` after the layout: a stretch factor, or row and column.
    spacing : int
        Space in pixels between the items of `inner`; −1 for the default of the style.

    Raises
    ------
    ValueError
        If `inner` contains items.
    """
    if inner.count():
        raise ValueError("the layout already contains items; add the layout to its parent before you add items to it")
    add: Any = outer.addLayout  # The methods addLayout of QBoxLayout and QGridLayout take different arguments.
    add(inner, *place)
    inner.setSpacing(spacing)
    return inner


def placed(layout: QLayout, widget: Placed, *place: Any) -> Placed:
    """Add a new widget to a layout and return it. `place` holds further arguments of `addWidget`, such as a stretch."""
    add: Any = layout.addWidget  # The methods addWidget of QBoxLayout and QGridLayout take different arguments.
    add(widget, *place)
    return widget


def form(outer: QBoxLayout) -> QGridLayout:
    """Add a grid to a layout, and return the grid. Its three columns are for names, wide controls and hints."""
    grid = nested(outer, QGridLayout())
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(8)
    grid.setColumnStretch(1, 1)
    return grid


class VerticalScroll(QScrollArea):
    """A scroll area without a frame that scrolls only vertically."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, widgetResizable=True)
        # The scroll area never gets the focus. When a control inside gets the focus, the area scrolls to this control.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
