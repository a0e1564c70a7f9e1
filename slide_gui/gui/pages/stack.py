"""The pages of the window in one table, and the stack that shows one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from slide_gui.gui.pages.page import Page
from slide_gui.gui.state.session import Session

__all__ = ["PAGES", "PageSpec", "PageStack"]


@dataclass(frozen=True)
class PageSpec:
    """A page; button, command and shortcut are made from it.

    Attributes
    ----------
    name : str
        Its command is ``page_<name>``, its icon ``resources/icons/<name>.svg``.
    text, title : str
        In the navigation, and in menu and palette.
    make : callable
        Makes the page from what it uses of a session; imports its module, so that the start need not.
    """

    name: str
    text: str
    title: str
    make: Callable[[Session, QWidget], Page]


def _weights(session: Session, parent: QWidget) -> Page:
    from slide_gui.gui.pages.weights.page import WeightsPage

    return WeightsPage(session.workspace, parent)


def _curves(session: Session, parent: QWidget) -> Page:
    from slide_gui.gui.pages.curves import CurvesPage

    return CurvesPage(session.workspace, session.runs, parent)


def _classifier(session: Session, parent: QWidget) -> Page:
    from slide_gui.gui.pages.classifier import ClassifierPage

    return ClassifierPage(session.workspace, session.runs, parent)


def _evaluation(session: Session, parent: QWidget) -> Page:
    from slide_gui.gui.pages.evaluation import EvaluationPage

    return EvaluationPage(session.evaluation, parent)


def _runs(session: Session, parent: QWidget) -> Page:
    from slide_gui.gui.pages.runs import RunsPage

    return RunsPage(session.workspace, session.runs, parent)


PAGES = (
    PageSpec("weights", "Weights", "Weights", _weights),
    PageSpec("curves", "Curves", "Error curves", _curves),
    PageSpec("classifier", "Classifier", "Classifier", _classifier),
    PageSpec("evaluation", "Benchmark", "Benchmark", _evaluation),
    PageSpec("runs", "Runs", "Runs", _runs),
)
"""In the order of the navigation and of the shortcuts Ctrl+1 …"""


class PageStack(QStackedWidget):
    """Shows one page; a page is made when it is first shown.

    Signals
    -------
    turned(object)
        Name of the page shown now.
    export_requested()
        The page shown asks to be exported.
    """

    turned = Signal(object)
    export_requested = Signal()

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._specs = {spec.name: spec for spec in PAGES}
        self._pages: dict[str, Page] = {}

    def page(self, name: str) -> Page:
        """Return a page, made now if it was not shown before."""
        if name not in self._pages:
            page = self._pages[name] = self._specs[name].make(self._session, self)
            page.export_requested.connect(self.export_requested)
            page.page_requested.connect(self.show_item)
            self.addWidget(page)
        return self._pages[name]

    def shown(self) -> Page:
        """Return the page shown now."""
        page = self.currentWidget()
        assert isinstance(page, Page)
        return page

    def turn_to(self, name: str) -> None:
        """Show a page."""
        self.setCurrentWidget(self.page(name))
        self.turned.emit(name)

    @Slot(str, object)
    def show_item(self, name: str, item: object) -> None:
        """Show something on a page, as `Page.show_item` there takes it."""
        self.turn_to(name)
        self.page(name).show_item(item)
