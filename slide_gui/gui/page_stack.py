"""The pages of the window in one table; each is made when it is first shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from slide_gui.gui.pages.page import Page
from slide_gui.gui.pages.weights import WeightsPage

if TYPE_CHECKING:
    from slide_gui.gui.main_window import MainWindow

__all__ = ["PAGES", "PageSpec", "PageStack"]


@dataclass(frozen=True)
class PageSpec:
    """A page.

    Attributes
    ----------
    name : str
        Its command is ``page_<name>``, its icon ``resources/icons/<name>.svg``.
    text : str
        In the navigation.
    make : callable
        Makes the page for a window; imports its module, so that the window need not.
    """

    name: str
    text: str
    make: Callable[[MainWindow], Page]


def _weights(window: MainWindow) -> Page:
    return WeightsPage(window.workspace, window)


def _curves(window: MainWindow) -> Page:
    from slide_gui.gui.pages.curves import CurvesPage

    return CurvesPage(window.workspace, window.desk, window)


def _classifier(window: MainWindow) -> Page:
    from slide_gui.gui.pages.classifier import ClassifierPage

    page = ClassifierPage(window.workspace, window.desk, window)
    page.image_opened.connect(window.show_test_image)
    return page


def _benchmark(window: MainWindow) -> Page:
    from slide_gui.gui.pages.benchmark import BenchmarkPage

    page = BenchmarkPage(window.workspace, window.benchmark, window)
    page.runs_requested.connect(window.show_runs)
    page.export_requested.connect(window.commands.do_export)
    return page


def _runs(window: MainWindow) -> Page:
    from slide_gui.gui.pages.runs import RunsPage

    page = RunsPage(window.workspace, window.desk, window)
    page.export_requested.connect(window.commands.do_export)
    return page


PAGES = (
    PageSpec("weights", "Weights", _weights),
    PageSpec("curves", "Curves", _curves),
    PageSpec("classifier", "Classifier", _classifier),
    PageSpec("benchmark", "Benchmark", _benchmark),
    PageSpec("runs", "Runs", _runs),
)


class PageStack(QStackedWidget):
    """Shows one page.

    Signals
    -------
    turned(object)
        Name of the page shown now.
    """

    turned = Signal(object)

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._specs = {spec.name: spec for spec in PAGES}
        self._made: dict[str, Page] = {}

    def page(self, name: str) -> Page:
        """Return a page, made now if it was not shown before."""
        if name not in self._made:
            self._made[name] = self._specs[name].make(self._window)
            self.addWidget(self._made[name])
        return self._made[name]

    def shown(self) -> Page:
        """Return the page shown now."""
        page = self.currentWidget()
        assert isinstance(page, Page)
        return page

    def turn_to(self, name: str) -> None:
        """Show a page."""
        self.setCurrentWidget(self.page(name))
        self.turned.emit(name)
