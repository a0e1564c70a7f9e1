"""Helpers that build layouts and scroll areas; nested layouts leave no PySide wrappers of deleted items behind."""

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

    An item of a layout is not a QObject, so PySide knows its wrapper by the address alone and keeps it after
    the item is destroyed. A later object at the same address would get that wrapper. PySide creates wrappers if a
    layout that already contains items is added.

    Parameters
    ----------
    outer : QBoxLayout or QGridLayout
        Layout of a widget, or of another layout.
    inner : QLayout
        New layout without items.
    *place : int
        Arguments of `outer.addLayout` after the layout: a stretch, or row and column.
    spacing : int
        Space between its items in pixels; −1 for the default of the style.

    Raises
    ------
    ValueError
        If `inner` contains items.
    """
    if inner.count():
        raise ValueError("the layout already contains items; nest it before adding them")
    add: Any = outer.addLayout  # the arguments after the layout differ between the two types
    add(inner, *place)
    inner.setSpacing(spacing)
    return inner


def form(outer: QBoxLayout) -> QGridLayout:
    """Add a grid whose lines have a name, a control and a hint; the control gets the free width."""
    grid = nested(outer, QGridLayout())
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(8)
    grid.setColumnStretch(1, 1)
    return grid


class VerticalScroll(QScrollArea):
    """A scroll area without a frame, as wide as its widget."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the scroll area follows the focus of its controls
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
