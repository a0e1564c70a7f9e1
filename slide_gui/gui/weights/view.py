"""What a view of the Weights page is, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from slide_gui.gui.tiles import TileSource
from slide_gui.gui.weights.pointing import Pointing
from slide_gui.gui.workspace import Workspace

__all__ = ["View", "ViewContext", "ViewSpec"]


@dataclass(frozen=True, eq=False)
class ViewContext:
    """What every view reads: the state of the window, the pixel pointed at, and the rows of W as tiles."""

    workspace: Workspace
    pointing: Pointing
    tiles: TileSource


class View(QWidget):
    """A view, or a panel beside the views; made when it is first shown."""

    def refresh(self) -> None:
        """Show what the workspace holds now; called on every change of it while this is shown."""
        raise NotImplementedError


@dataclass(frozen=True)
class ViewSpec:
    """An entry of the switch.

    Attributes
    ----------
    name : str
        As in `WeightsPage.set_view` or `WeightsPage.set_panel`.
    text, tip : str
        Of its button.
    make : callable
        Makes it; imports its module, so that the window need not.
    """

    name: str
    text: str
    tip: str
    make: Callable[[ViewContext, QWidget], View]
