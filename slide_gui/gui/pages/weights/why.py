"""The view Why it works: three experiments, of which one is visible."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.pages.weights.view import View, ViewContext, ViewSpec
from slide_gui.gui.widgets.controls import ChoiceButtons
from slide_gui.gui.widgets.layouts import flush, nested


def _explained(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.explained import ExplainedWeight

    return ExplainedWeight(context, parent)


def _copies(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.copies import CopiesPart

    return CopiesPart(context, parent)


def _shuffle(context: ViewContext, parent: QWidget) -> View:
    from slide_gui.gui.pages.weights.shuffle import ShuffleView

    return ShuffleView(context, parent)


EXPLAIN, COPIES, SHUFFLE = "explain", "copies", "shuffle"
EXPERIMENTS = (
    ViewSpec(
        "Explain",
        "S, q, E[P], E[Q] and W of two pixels, with their numbers (§3)",
        name=EXPLAIN,
        title="Explain one weight",
        make=_explained,
        about="the numbers behind one weight",
    ),
    ViewSpec(
        "Copies",
        "W of m corrupted copies in comparison with its limit (eq. 5 to 8)",
        name=COPIES,
        title="Corrupted copies",
        make=_copies,
        about="m corrupted copies and their limit",
    ),
    ViewSpec(
        "Shuffle",
        "Compare W with the W of shuffled pixels: eq. 8 ignores the positions of pixels",
        name=SHUFFLE,
        title="Shuffled pixels",
        make=_shuffle,
        about="W does not depend on the positions of pixels",
        needs=frozenset({"show", "levels", "colors"}),
        covers_image=True,
    ),
)
"""The experiments in the order of their buttons."""


class WhyView(View):
    """Three experiments with buttons that select one; an experiment is built when it is first shown.

    Attributes
    ----------
    experiment : ViewSpec
        The visible experiment.

    Signals
    -------
    experiment_chosen(str)
        The user selected the experiment of this name.
    """

    experiment_chosen = Signal(str)

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._context = context
        self._parts: dict[str, View] = {}
        self._stack = QStackedWidget(self)
        self._buttons = ChoiceButtons(self)
        self._buttons.idClicked.connect(self._choose)
        column = flush(QVBoxLayout(self))
        self._row = row = nested(column, QHBoxLayout(), spacing=2)
        for number, spec in enumerate(EXPERIMENTS):
            button = self._buttons.add(number, spec.text, self)
            button.setToolTip(spec.tip)
            row.addWidget(button)
        row.addStretch(1)
        column.addWidget(self._stack, 1)
        self.show_experiment(EXPLAIN)

    def show_experiment(self, name: str) -> View:
        """Show the experiment of a name and return it."""
        number = [spec.name for spec in EXPERIMENTS].index(name)
        self.experiment = EXPERIMENTS[number]
        if name not in self._parts:
            part = self._parts[name] = self.experiment.make(self._context, self)
            part.numbers_changed.connect(self.numbers_changed)
            self._stack.addWidget(part)
        self._buttons.choose(number)
        self._stack.setCurrentWidget(self._parts[name])
        return self._part

    @property
    def _part(self) -> View:
        return self._parts[self.experiment.name]

    @Slot(int)
    def _choose(self, number: int) -> None:
        self.experiment_chosen.emit(EXPERIMENTS[number].name)

    @property
    def shows_rows(self) -> bool:  # type: ignore[override]
        """True if the visible experiment shows rows of W, whose tables the page provides."""
        return self._part.shows_rows

    @Slot()
    def refresh(self) -> None:
        self._part.refresh()

    def width_for(self, width: int, height: int) -> int:
        return self._part.width_for(width, height - self._row.sizeHint().height())

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        return self._part.export_options(style)

    def tables(self) -> tuple[NumberTable, ...]:
        return self._part.tables()
