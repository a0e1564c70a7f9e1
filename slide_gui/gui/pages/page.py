"""What a page is: a title with tabs and buttons, what it exports, and where it leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.gui.export.option import ExportOption
from slide_gui.gui.layouts import flush, nested
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.widgets.controls import ChoiceButtons, ElidedLabel, label

__all__ = ["Page", "PageView"]


@dataclass(frozen=True)
class PageView:
    """A view of a page.

    Attributes
    ----------
    text, tip : str
        Of its button; the text also stands in the palette.
    about : str
        What the view shows, beside the page's title; empty where the page says that itself.
    """

    text: str
    tip: str
    about: str = ""


class Page(QWidget):
    """A page of the window: its head, and below it what is added to `column`.

    Parameters
    ----------
    title, subtitle : str
        What it is, and what it shows now; `subtitle` holds the latter's label.
    views : sequence of PageView
        The first one is chosen; `tabs` holds their buttons.
    right : int
        Margin in pixels.

    Signals
    -------
    export_requested()
        What it shows is to be exported.
    page_requested(str, object)
        Name of another page, and what that is to show by its `show_item`.
    chosen()
        What `choices` returns changed, or may have.
    numbers_changed()
        What `tables` returns changed, or may have.
    """

    export_requested = Signal()
    page_requested = Signal(str, object)
    chosen = Signal()
    numbers_changed = Signal()

    def __init__(
        self,
        title: str,
        subtitle: str,
        views: Sequence[PageView] = (),
        *,
        right: int = 20,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.column = flush(QVBoxLayout(self), 8, (20, 12, right, 8))
        self.subtitle, self.tabs = ElidedLabel(subtitle, self), ChoiceButtons(self)
        self.tabs.idClicked.connect(self.chosen)
        self.head = nested(self.column, QHBoxLayout(), spacing=12)
        self.head.addStrut(28)  # as high with tabs as without
        self.head.addWidget(label(title, self, "title"))
        self.head.addWidget(self.subtitle, 1)
        row = nested(self.head, QHBoxLayout(), spacing=2)
        for number, view in enumerate(views):
            button = self.tabs.add(number, view.text, self)
            button.setToolTip(view.tip)
            row.addWidget(button)

    def needs(self) -> frozenset[str]:
        """Return which parts of the panel have an effect on what is shown now, of "data", "stack" and those of tiles.

        Those of tiles are "show", "levels" and "colors".
        """
        return frozenset({"data", "stack"})

    def choices(self) -> dict[str, str]:
        """Return what a person chose on this page, for a session; its view is one of them."""
        view = self.tabs.checkedId()
        return {} if view < 0 else {"view": str(view)}

    def choose(self, choices: Mapping[str, str]) -> None:
        """Choose again what `choices` returned, or some of it; what is unknown is passed over."""
        view = choices.get("view", "")
        button = self.tabs.button(int(view)) if view.isdecimal() and len(view) < 3 else None
        if button is not None and not button.isChecked():
            button.click()

    def show_item(self, item: object) -> None:
        """Show what another page asked for; which kind of thing, the page says."""

    def export_options(self) -> tuple[ExportOption, ...]:
        """Return what can be exported now, the likeliest first."""
        return ()

    def export_waits_for(self) -> str:
        """Return what has to be so first, e.g. "the layers are fitted"; empty where waiting brings nothing."""
        return ""

    def why_nothing_to_export(self) -> str:
        """Return one sentence that says why there is nothing to export."""
        return "This page has nothing to export yet."

    def tables(self) -> tuple[NumberTable, ...]:
        """Return the numbers shown, what is seen first at first; none if there are none."""
        return ()

    def table(self) -> str:
        """Return the numbers that are copied, tab-separated, with a line of titles; empty if there are none."""
        tables = self.tables()
        return tables[0].text() if tables else ""
