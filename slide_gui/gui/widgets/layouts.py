"""Helpers that build layouts and scroll areas, without PySide wrappers of layout items that Qt deletes later."""

from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QLayout, QScrollArea, QWidget

Inner = TypeVar("Inner", bound=QLayout)


def flush(layout: Inner, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Inner:
    """Return a layout with this spacing and these margins (none by default) in pixels."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    return layout


def nested(outer: QBoxLayout | QGridLayout, inner: Inner, *place: int, spacing: int = -1) -> Inner:
    """Add a new, empty layout to another and return it.

    An item of a layout is not a QObject. PySide finds the Python wrapper of an item only by the address and keeps
    the wrapper after the item is destroyed; a later object at this address would get the wrong wrapper. PySide creates
    such wrappers if a layout that already contains items is added.

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
        raise ValueError("the layout already contains items; nest it before adding them")
    add: Any = outer.addLayout  # the two types of layouts take different arguments after the layout
    add(inner, *place)
    inner.setSpacing(spacing)
    return inner


def form(outer: QBoxLayout) -> QGridLayout:
    """Add and return a grid for lines of a name, a control and a hint; the controls get the free width."""
    grid = nested(outer, QGridLayout())
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(8)
    grid.setColumnStretch(1, 1)
    return grid


class VerticalScroll(QScrollArea):
    """A scroll area without a frame that scrolls only vertically."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the controls inside get the focus, and the area scrolls to them
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
