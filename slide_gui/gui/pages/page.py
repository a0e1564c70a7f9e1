"""What every page gives to the window: figures to export, and a table to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from slide_gui.gui.export.option import Offer

if TYPE_CHECKING:
    pass

__all__ = ["Page"]


class Page(QWidget):
    """A page of the window."""

    def offers(self) -> tuple[Offer, ...]:
        """Return what can be exported now, the likeliest first."""
        return ()

    def why_no_offer(self) -> str:
        """Return one sentence that says why there is nothing to export."""
        return "This page has nothing to export yet."

    def table(self) -> str:
        """Return the numbers shown, tab-separated, with a line of titles; empty if there are none."""
        return ""
