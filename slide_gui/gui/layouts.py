"""Layouts in one line each, and put into one another so that no wrapper of a layout's item outlives it."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtWidgets import QBoxLayout, QGridLayout, QLayout

__all__ = ["flush", "nested"]

Inner = TypeVar("Inner", bound=QLayout)


def flush(layout: Inner, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Inner:
    """Return a layout with this spacing and these margins, by default none, in pixels."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    return layout


def nested(outer: QBoxLayout | QGridLayout, inner: Inner, *place: int, spacing: int = -1) -> Inner:
    """Add a new layout to another while it is still empty, and return it to be filled.

    Of a layout that already holds something PySide wraps every item and keeps the wrappers. Items are no QObjects, so
    a wrapper is known by its address only and does not hear of the item's end; whatever comes to lie there later is
    taken for it.

    Parameters
    ----------
    outer : QBoxLayout or QGridLayout
        Already that of a widget, or nested itself.
    inner : QLayout
        New, without items.
    *place : int
        What `outer.addLayout` takes after the layout: a stretch, or row and column.
    spacing : int
        Between its items, in pixels; −1 for the style's.

    Raises
    ------
    ValueError
        If `inner` holds items.
    """
    if inner.count():
        raise ValueError("a layout is nested before it is filled")
    add: Any = outer.addLayout  # what follows the layout differs between the two
    add(inner, *place)
    inner.setSpacing(spacing)
    return inner
