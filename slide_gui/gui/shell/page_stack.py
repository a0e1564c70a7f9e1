"""The specifications of the window's pages, and the widget that shows one page at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from slide_gui.gui.pages.page import Page, PageView, late
from slide_gui.gui.state.session import Session


@dataclass(frozen=True)
class PageSpec:
    """Description of a page, from which the page and its button, command and shortcut are built.

    Attributes
    ----------
    name : str
        Name of the page; ``page_<name>`` is the command that shows it, and ``resources/icons/<name>.svg`` is the icon
        of its navigation button.
    text, title : str
        `text` is the label of the navigation button. `title` is the name in menus and in the command palette; if it
        is empty, `text` is used there, too.
    make : callable
        Builds the page. It is called with a `Session`, `views` and the parent widget.
    views : tuple of PageView
        Views in the order of the tabs; empty for the Weights page, whose views are in
        `slide_gui.gui.pages.weights.page.VIEWS`.
    """

    name: str
    text: str
    make: Callable[[Session, tuple[PageView, ...], QWidget], Page]
    views: tuple[PageView, ...] = ()
    title: str = ""


# The pages, in the order of the navigation buttons and of the shortcuts Ctrl+1, Ctrl+2, …
PAGES = (
    PageSpec(
        "weights",
        "Weights",
        late("slide_gui.gui.pages.weights.page", "WeightsPage"),
    ),
    PageSpec(
        "curves",
        "Curves",
        late("slide_gui.gui.pages.curves.page", "CurvesPage"),
        (
            PageView("Curves", "Error with 95 % confidence intervals", "error against noise level, one line per depth"),
            PageView("Heat map", "Error in colour, by noise level and depth", "error at every noise level and depth"),
        ),
        "Error curves",
    ),
    PageSpec(
        "classifier",
        "Classifier",
        late("slide_gui.gui.pages.classifier.page", "ClassifierPage"),
    ),
    PageSpec(
        "evaluation",
        "Benchmark",
        late("slide_gui.gui.pages.benchmark.page", "EvaluationPage"),
        (
            PageView(
                "Error rates",
                "The paper’s Table 1: every method on every data set",
                "test error in % with 95 % confidence interval",
            ),
            PageView(
                "Running time",
                "The paper’s Table 2: time to generate features with SLIDE and with autoencoders",
                "time to generate the features",
            ),
        ),
    ),
    PageSpec(
        "runs",
        "Runs",
        late("slide_gui.gui.pages.runs.page", "RunsPage"),
        (PageView("Table", "Filter and sort all runs"), PageView("Comparison", "Compare two runs, A and B")),
    ),
)


class PageStack(QStackedWidget):
    """The pages of the window, of which one is visible at a time. Each page is built when it is first needed.

    Attributes
    ----------
    name : str
        Name of the visible page.

    Signals
    -------
    turned(object)
        A page has become visible; the argument is its name.
    changed()
        The user has switched to another page or to another view of the visible page.
    """

    changed = Signal()
    turned = Signal(object)

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        session.busy_changed.connect(self._import_plots)
        self._specs = {spec.name: spec for spec in PAGES}
        self._pages: dict[str, Page] = {}
        self._pending_choices: dict[str, dict[str, str]] = {}
        self._initial_choices: dict[str, dict[str, str]] = {}
        self.name = ""

    @Slot()
    def _import_plots(self) -> None:
        if not self._session.busy:
            # Import `axes` as soon as no job is running, so that the first plot is not delayed. Importing it in a
            # worker thread could crash PySide6. PySide6 creates classes at their first use, and must not create the
            # same class in two threads at the same time.
            import slide_gui.gui.plots.axes  # noqa: F401

    def choices(self) -> tuple[tuple[str, str, str], ...]:
        """Return the settings of all pages as tuples (name of the page, name of the setting, value)."""
        chosen = self._pending_choices | {name: page.choices() for name, page in self._pages.items()}
        return tuple((page, *entry) for page in self._specs if page in chosen for entry in chosen[page].items())

    def choose(self, shown: str, choices: Iterable[tuple[str, str, str]]) -> None:
        """Show the page named `shown`, and restore the settings of all pages from the tuples `choices`.

        The tuples have the form that the method `choices` returns. A page that has not been built yet gets its settings
        when it is built. Settings without a tuple are reset to their defaults.
        """
        self._pending_choices = {name: dict(first) for name, first in self._initial_choices.items()}
        for page, name, value in choices:
            self._pending_choices.setdefault(page, {})[name] = value
        for name in list(self._pages):
            self._choose(name)
        self.turn_to(shown if shown in self._specs else PAGES[0].name)

    def _choose(self, name: str) -> None:
        self._pages[name].choose(self._pending_choices.pop(name, {}))

    def page(self, name: str) -> Page:
        """Return the page `name`, which is built on first access."""
        if name not in self._pages:
            page = self._pages[name] = self._specs[name].make(self._session, self._specs[name].views, self)
            page.page_requested.connect(self.show_item)
            page.chosen.connect(self.changed)
            self._initial_choices[name] = page.choices()
            self.addWidget(page)
            self._choose(name)
        return self._pages[name]

    def show_view(self, name: str, number: int) -> None:
        """Show the view with the index `number` on the page `name`."""
        self.turn_to(name).tabs.button(number).click()

    def shown(self) -> Page:
        """Return the visible page."""
        return cast(Page, self.currentWidget())

    def turn_to(self, name: str) -> Page:
        """Show the page `name` and return it."""
        page = self.page(name)
        if name != self.name:
            self.setCurrentWidget(page)
            self.name = name
            self.turned.emit(name)
            self.changed.emit()
        return page

    @Slot(str, object)
    def show_item(self, name: str, item: object) -> None:
        """Show the page `name`, and pass `item`, such as an image or a run, to the page's method `show_item`."""
        self.turn_to(name).show_item(item)
