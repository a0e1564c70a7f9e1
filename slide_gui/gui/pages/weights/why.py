"""The view “Why it works”, which shows one of four experiments."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import late
from slide_gui.gui.pages.weights.view import View, ViewContext, ViewSpec
from slide_gui.gui.widgets.controls import label, named
from slide_gui.gui.widgets.layouts import flush, placed

EXPLAIN, COPIES, SHUFFLE, FILL = "explain", "copies", "shuffle", "fill"
# The experiments in the order of their tabs. The `tip` of each `ViewSpec` is shown above the experiment.
EXPERIMENTS = (
    ViewSpec(
        "Formula",
        "Point at a pixel a in the image, then at a pixel b in another tile. The table shows how to compute the weight "
        "of b in the reconstruction of a, an entry of W = E[P] E[Q]⁻¹.",
        name=EXPLAIN,
        title="Formula of one weight",
        make=late("slide_gui.gui.pages.weights.explained", "ExplainedWeight"),
        about="one weight, computed from the data",
    ),
    ViewSpec(
        "Copies",
        "The error of Wₘ, fitted to m corrupted copies, falls as 1/√m. The closed form gives the limit W at once.",
        name=COPIES,
        title="Corrupted copies",
        make=late("slide_gui.gui.pages.weights.copies", "CopiesView"),
        about="weights fitted to corrupted copies",
    ),
    ViewSpec(
        "Shuffle",
        "Press “Shuffle pixels”. Weights fitted to shuffled pixels, when put back in the original order, equal W, "
        "because the formula ignores the positions of pixels.",
        name=SHUFFLE,
        title="Shuffled pixels",
        make=late("slide_gui.gui.pages.weights.shuffle", "ShuffleView"),
        about="weights fitted to shuffled pixels",
    ),
    ViewSpec(
        "Fill",
        "Compare the filled images. W does not depend on the hidden pixels; the best map for them is usually better.",
        name=FILL,
        title="Hidden pixels filled",
        make=late("slide_gui.gui.pages.weights.fill", "FillView"),
        about="two ways to fill in hidden pixels",
    ),
)
_KERNELS = "Press “Shuffle pixels”. One kernel for all pixels uses the positions of pixels, so W changes."


class WhyView(View):
    """The view “Why it works”. Its tabs select one of four experiments, each of which is created when first shown.

    Attributes
    ----------
    experiment : ViewSpec
        The visible experiment.
    tabs : QTabBar
        The tabs that select the experiment.

    Signals
    -------
    experiment_chosen(str)
        The user selected the experiment with this name.
    """

    experiment_chosen = Signal(str)

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._context = context
        self._parts: dict[str, View] = {}
        column = flush(QVBoxLayout(self))
        self.tabs = placed(column, named(QTabBar(self, drawBase=False, expanding=False), "Experiments"))
        for number, spec in enumerate(EXPERIMENTS, 1):
            self.tabs.addTab(f"{number}  {spec.text}")
        self._sentence = placed(column, label("", self, "", wraps=True))
        self._stack = placed(column, QStackedWidget(self), 1)
        self.show_experiment(EXPLAIN)
        self.tabs.currentChanged.connect(self._choose)

    def show_experiment(self, name: str) -> View:
        """Show and return the experiment with this name."""
        number = [spec.name for spec in EXPERIMENTS].index(name)
        self.experiment = EXPERIMENTS[number]
        if name not in self._parts:
            part = self._parts[name] = self.experiment.make(self._context, self)
            self._stack.addWidget(part)
        part = self.part
        self.tabs.setCurrentIndex(number)
        self._stack.setCurrentWidget(part)
        return part

    @property
    def part(self) -> View:
        """Return the visible experiment."""
        return self._parts[self.experiment.name]

    @Slot(int)
    def _choose(self, number: int) -> None:
        if EXPERIMENTS[number] is not self.experiment:
            self.experiment_chosen.emit(EXPERIMENTS[number].name)

    @Slot()
    def refresh(self) -> None:
        for number, spec in enumerate(EXPERIMENTS):
            self.tabs.setTabToolTip(number, self._workspace.worded(spec.tip))
        shares = self.experiment.name == SHUFFLE and self._workspace.state.parameters.sharing != "none"
        self._sentence.setText(_KERNELS if shares else self._workspace.worded(self.experiment.tip))
        self.part.refresh()

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        return self.part.export_options(style)

    def numbers(self) -> str:
        return self.part.numbers()
