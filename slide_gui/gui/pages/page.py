"""The base class of all pages, and functions that format tables of numbers as tab-separated text."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.widgets.controls import ChoiceButtons, ElidedLabel, label
from slide_gui.gui.widgets.layouts import flush, nested, placed

Cells = Iterable[Sequence[object] | NDArray[Any]]


def table_text(keys: Sequence[str], names: Iterable[Sequence[str]], heads: Sequence[str], cells: Cells) -> str:
    """Return a table with column titles as tab-separated text. Numbers have full precision.

    Parameters
    ----------
    keys : sequence of str
        Titles of the columns that identify a row, such as ("noise", "depth").
    names : iterable of sequences of str
        Strings that identify each row, one for each of the `keys`.
    heads : sequence of str
        Titles of the columns after the keys.
    cells : iterable of rows
        Values of the other cells in each row: numbers, strings, or None for an empty cell.
    """
    lines = [(*name, *map(_exact, row)) for name, row in zip(names, cells, strict=True)]
    return "\n".join("\t".join(line) for line in [(*keys, *heads), *lines])


def confusion_text(names: Sequence[str], counts: NDArray[Any]) -> str:
    """Return a confusion matrix, with true classes in rows, as tab-separated text."""
    return table_text(["class"], [[name] for name in names], [f"predicted as {name}" for name in names], counts)


def _exact(value: object) -> str:
    """Return the value of a cell as text. Numbers have full precision; None, nan and infinity become ""."""
    if isinstance(value, float | np.floating):
        return repr(float(value)) if math.isfinite(value) else ""
    return "" if value is None else str(value)


@dataclass(frozen=True)
class PageView:
    """The name, tooltip and description of one view of a page.

    Attributes
    ----------
    text, tip : str
        Text and tooltip of the button that selects the view. The text is also listed in the command palette.
    about : str
        Description that is shown after the page's title; empty if the page sets the description itself.
    """

    text: str
    tip: str
    about: str = ""


def late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a class and returns a new object of this class.

    The import is delayed until the function is called, so the program starts faster.
    """
    return lambda *arguments: getattr(import_module(module), name)(*arguments)


class Page(QWidget):
    """A page of the window with a `heading` and the layout `column` below it.

    Parameters
    ----------
    title, subtitle : str
        Name of the page, and the description that the label `subtitle` shows.
    views : sequence of PageView
        Views, each with a button in `tabs`. The first view is shown initially.
    right : int
        Right margin in pixels.

    Signals
    -------
    page_requested(str, object)
        The page with this name should be opened, and its method `show_item` called with the object.
    chosen()
        The result of `choices` may have changed.
    """

    page_requested = Signal(str, object)
    chosen = Signal()

    def __init__(self, title: str, subtitle: str, views: Sequence[PageView], parent: QWidget, right: int = 20) -> None:
        super().__init__(parent)
        self._page_views = views
        self.column = flush(QVBoxLayout(self), 8, (20, 12, right, 8))
        self.subtitle, self.tabs = ElidedLabel(subtitle, self), ChoiceButtons(self)
        self.tabs.idClicked.connect(self.chosen)
        self.heading = placed(self.column, QWidget(self))
        self.head = flush(QHBoxLayout(self.heading), 12)
        self.head.addStrut(28)  # Give headings with and without tabs the same height.
        self.head.addWidget(label(title, self, "title"))
        self.head.addWidget(self.subtitle, 1)
        row = nested(self.head, QHBoxLayout(), spacing=2)
        for number, view in enumerate(views):
            button = self.tabs.add(number, view.text, self)
            button.setToolTip(view.tip)
            row.addWidget(button)

    def add_stack(self, *widgets: QWidget) -> None:
        """Add one widget per view below the controls of the page. The tabs select the visible widget."""
        self.stack = placed(self.column, QStackedWidget(self), 1)
        for widget in widgets:
            self.stack.addWidget(widget)
        self.tabs.idClicked.connect(self._show_view)

    @Slot(int)
    def _show_view(self, view: int) -> None:
        self.tabs.button(view).setChecked(True)
        self.stack.setCurrentIndex(view)
        if self._page_views[view].about:
            self.subtitle.setText(self._page_views[view].about)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Update the contents of the page if the page is visible."""
        if self.isVisible():
            self._renew()

    def _renew(self) -> None:
        """Update the contents of the page. This method is called only while the page is visible."""

    def needs(self) -> frozenset[str]:
        """Return the names of the panel's sections that affect the current view.

        Possible names are "data" and "stack", and for views with tiles "show", "levels" and "colors".
        """
        return frozenset({"data", "stack"})

    def choices(self) -> dict[str, str]:
        """Return the selected view and the settings of this page, to be stored in the session."""
        view = self.tabs.checkedId()
        return {} if view < 0 else {"view": str(view)}

    def choose(self, choices: Mapping[str, str]) -> None:
        """Restore the view and the settings that `choices` returned. Unknown keys are ignored."""
        view = choices.get("view", "")
        button = self.tabs.button(int(view)) if view.isdecimal() and len(view) < 3 else None
        if button is not None and not button.isChecked():
            button.click()

    def show_item(self, item: Any) -> None:
        """Show an object selected on another page, such as an image or a run, if this page can show such objects."""

    def export_options(self) -> tuple[ExportOption, ...]:
        """Return the possible exports, starting with the one that users are most likely to want."""
        return ()

    def why_nothing_to_export(self) -> str:
        """Return a sentence that explains why there is nothing to export."""
        return "This page has nothing to export yet."

    def numbers(self) -> str:
        """Return the numbers shown on this page as tab-separated text with column titles, or "" if there are none."""
        return ""
