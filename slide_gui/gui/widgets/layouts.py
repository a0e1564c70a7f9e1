"""Functions that build Qt layouts, and a scroll area.

The functions avoid Python wrappers of layout items, because PySide can confuse these wrappers (see `nested`).
"""

from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QLayout, QScrollArea, QWidget

Inner = TypeVar("Inner", bound=QLayout)
Placed = TypeVar("Placed", bound=QWidget)


def flush(layout: Inner, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Inner:
    """Set the spacing and the margins (0 by default) of a layout in pixels, and return the layout."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    return layout


def nested(outer: QBoxLayout | QGridLayout, inner: Inner, *place: int, spacing: int = -1) -> Inner:
    """Add an empty layout to another layout, and return the added layout.

    A layout item is not a QObject. PySide finds the Python wrapper of an item only by the item's memory address, and
    keeps the wrapper after the item is destroyed. A later object at the same address would get this wrong wrapper.
    PySide creates wrappers of layout items when it adds a layout that already contains items, so `inner` must be empty.

    Parameters
    ----------
    outer : QBoxLayout or QGridLayout
        Layout that belongs to a widget or is nested in another layout.
    inner : QLayout
        New layout without items.
    *place : int
        Further arguments of `outer.addLayout`: a stretch factor, or row and column.
    spacing : int
        Space in pixels between the items of `inner`; −1 selects the style's default.

    Raises
    ------
    ValueError
        If `inner` contains items.
    """
    if inner.count():
        raise ValueError("the layout already contains items; add the layout to its parent before you add items to it")
    add: Any = outer.addLayout  # `addLayout` takes different arguments in QBoxLayout and in QGridLayout.
    add(inner, *place)
    inner.setSpacing(spacing)
    return inner


def placed(layout: QLayout, widget: Placed, *place: Any) -> Placed:
    """Add a widget to a layout and return the widget.

    `place` contains further arguments of `addWidget`, such as a stretch factor.
    """
    add: Any = layout.addWidget  # `addWidget` takes different arguments in QBoxLayout and in QGridLayout.
    add(widget, *place)
    return widget


class VerticalScroll(QScrollArea):
    """A scroll area without a frame that scrolls only vertically."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, widgetResizable=True)
        # The scroll area need not take the focus, because it scrolls to a control inside it that gets the focus.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
