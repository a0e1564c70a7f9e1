"""What a page offers for export: figures and tables, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slide_gui.figures.style import Style
from slide_gui.progress import Progress

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

__all__ = ["ANIMATION", "FIGURE", "TABLE", "TABLES", "ExportOption"]


FIGURE = ("pdf", "svg", "png", "csv", "bundle")
TABLE = ("csv",)
TABLES = ("pdf", "svg", "png", "csv", "tex", "md")
ANIMATION = ("gif",)


@dataclass(frozen=True, eq=False)
class ExportOption:
    """Something that can be exported.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
        For people, as in “Export the weight figure”.
    export : callable
        Makes it; runs in the lane, so that what it needs is taken along and not asked of the window.
    style : Style
        What the dialog begins with.
    kinds : tuple of str
        `FIGURE`, `TABLE`, `TABLES` or `ANIMATION`.
    about : str
        What the dialog says of it, in a sentence; empty for nothing.
    of_weights : bool
        Whether levels, colours and biases can be chosen.
    """

    name: str
    title: str
    export: Callable[[Progress], FigureExport]
    style: Style = field(default_factory=lambda: Style(width="double"))
    kinds: tuple[str, ...] = FIGURE
    of_weights: bool = False
    about: str = ""
