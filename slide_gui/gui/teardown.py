"""The one way a window, or a lane without one, ends, in the program and in its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from slide_gui.gui.state.jobs import Lane

__all__ = ["tear_down"]


def tear_down(window: QWidget | Lane) -> None:
    """Close a window and destroy it and all it owns, from the top and now.

    Closing stops its lane and waits for the worker, so that nothing calls into the window while it goes. What is only
    posted would be deleted whenever events are next sent, and what Python collects in no order at all.

    Parameters
    ----------
    window : QWidget or Lane
        Without a parent; gone afterwards, also if it was before.
    """
    from shiboken6 import Shiboken

    if Shiboken.isValid(window):
        window.close()
        Shiboken.delete(window)
