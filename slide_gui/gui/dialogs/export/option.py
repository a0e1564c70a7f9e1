"""Figures and tables that a page offers for export; they are drawn on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slide_gui.figures.style import Style
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

FIGURE = ("pdf", "svg", "png", "csv", "bundle")
TABLE = ("csv",)
TABLES = ("pdf", "svg", "png", "csv", "tex", "md")
ANIMATION = ("gif",)


@dataclass(frozen=True, eq=False)
class ExportOption:
    """A figure, table or animation that can be exported.

    Attributes
    ----------
    name : str
        Base name of its files.
    title : str
        Title in sentences, as in “Export the weight figure”.
    export : callable
        Draws it in the job queue; it must hold all it needs, because it cannot ask the window.
    style : Style
        Initial style of the dialog.
    kinds : tuple of str
        `FIGURE`, `TABLE`, `TABLES` or `ANIMATION`.
    about : str
        Sentence about it in the dialog, or "".
    of_weights : bool
        True if colour limits, colour map and biases can be chosen.
    """

    name: str
    title: str
    export: Callable[[Progress], FigureExport]
    style: Style = field(default_factory=lambda: Style(width="double"))
    kinds: tuple[str, ...] = FIGURE
    of_weights: bool = False
    about: str = ""
