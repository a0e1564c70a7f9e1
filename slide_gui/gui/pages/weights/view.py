"""What a view of the Weights page is, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.pages.tile_source import TileSource
from slide_gui.gui.pages.weights.pointing import Pointing
from slide_gui.gui.pages.weights.shown_image import ShownImage
from slide_gui.gui.state.workspace import Workspace

__all__ = ["View", "ViewContext", "ViewSpec"]


@dataclass(frozen=True, eq=False)
class ViewContext:
    """What every view reads: the state of the window, the image and the pixel looked at, the rows of W as tiles."""

    workspace: Workspace
    shown: ShownImage
    pointing: Pointing
    tiles: TileSource


class View(QWidget):
    """A view; made when it is first shown."""

    @Slot()
    def refresh(self) -> None:
        """Show what the workspace holds now; called on every change of it while this is shown."""
        raise NotImplementedError

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        """Return what can be exported of this view now; `style` is as the page is set."""
        return ()

    def table(self) -> str | None:
        """Return the numbers shown, tab-separated, with a line of titles; None for the rows of W."""
        return None


@dataclass(frozen=True)
class ViewSpec:
    """An entry of the switch.

    Attributes
    ----------
    name : str
        As in `WeightsPage.set_view`.
    text, tip : str
        Of its button.
    title : str
        In menu and palette.
    make : callable
        Makes it; imports its module, so that the window need not.
    about : str
        What the view shows, beside the page's title; empty for what the page says itself.
    whole : bool
        Takes the place of the image at the left, too.
    """

    name: str
    text: str
    tip: str
    title: str
    make: Callable[[ViewContext, QWidget], View]
    about: str = ""
    whole: bool = False
