"""The panel of parameters that all pages share: data, noise, ridge, depth, threshold, squashing, and how tiles look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QVBoxLayout,
    QWidget,
)

from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.parameters import FIT_ON, LARGEST_NOISE, MOST_LAYERS
from slide_gui.core.slide.squashing import SQUASHINGS
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.experiments.splits import can_hold_out
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS, SHOWN
from slide_gui.gui.layouts import flush, nested
from slide_gui.gui.state.recent import RecentFiles, RecentOpening
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.widgets.controls import PlainLabel, UndoOfWindow, add_choices, name_box, spin_box
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.text import count, counted, plural, printable

__all__ = ["ParameterPanel"]

_WIDTH, _BAR = 240, 10  # and of its scroll bar, as the style sheet has it
_OPEN = "open"
_MOST_RECENT, _ENTRY_MARGINS, _WIDEST_MENU = 6, 24, 560
_ENABLED = Qt.ItemDataRole.UserRole - 1  # where an item of a box says whether it can be chosen
_RIDGES = (*(float(f"{digit}e{power}") for power in range(-8, 3) for digit in (1, 2, 5)), 1000.0)
_SHARE, _FOLDS, _NOTHING = "share", "folds", "nothing"


class _ParameterSlider(NumberSlider):
    """One number of the stack's parameters; a drag of it undoes in one step."""

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        label: str,
        *limits: float,
        tip: str,
        parent: QWidget,
        values: Sequence[float] = (),
    ) -> None:
        low, high, step, default = limits
        self._whole = step == 1 and not values
        super().__init__(label, low, high, step, default, 0 if self._whole else 2, tip, parent, values=values)
        self._workspace, self._name = workspace, name
        self.value_changed.connect(self._change)
        self.value_settled.connect(workspace.history.end_gesture)

    @Slot(float)
    def _change(self, value: float) -> None:
        self._workspace.set_parameters(gesture=self._name, **{self._name: round(value) if self._whole else value})


class _ChoiceBox(QComboBox):
    """One choice; `change` is called with it by its name."""

    def __init__(self, label: str, tip: str, name: str, change: Callable[..., None], parent: QWidget) -> None:
        super().__init__(parent)
        self._name, self._change_by_name = name, change
        self.setAccessibleName(label)
        self.setToolTip(tip)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.activated.connect(self._choose)

    @Slot(int)
    def _choose(self, index: int) -> None:
        self._change_by_name(**{self._name: self.itemData(index)})

    def set_choice(self, key: str) -> None:
        """Show a choice by its key."""
        self.setCurrentIndex(self.findData(key))


class _DataMenu(QComboBox):
    """Says when it is about to open, and names data that are none of its entries.

    Signals
    -------
    asked()
        A person opens it.
    """

    asked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = ""

    def showPopup(self) -> None:
        self.asked.emit()
        super().showPopup()

    def set_title(self, title: str) -> None:
        """Name what is open; of a long name the beginning and the end are shown."""
        self._title = title
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        box, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(box, option, field, self).width()
        self.setPlaceholderText(self.fontMetrics().elidedText(title, Qt.TextElideMode.ElideMiddle, room))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.set_title(self._title)


class SplitControls(QWidget):
    """Which rows take the place of a test part, for data that have none."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._shown = workspace, HeldOut()
        column = flush(QVBoxLayout(self), 4)
        tip = "The file has no test part: rows held out stand in its place, the classes in proportion"
        caption, self.kind = PlainLabel("Test part", self), QComboBox(self)
        self.kind.setAccessibleName("Test part")
        self.kind.setToolTip(tip)
        self.kind.addItem("a share held out", _SHARE)
        self.kind.addItem("folds, each once", _FOLDS)
        self.kind.addItem("nothing held out", _NOTHING)
        caption.setBuddy(self.kind)
        top = nested(column, QHBoxLayout())
        top.addWidget(caption, 1)
        self.seed = self._number("Seed of the split", "Which rows are drawn; each seed draws others", 0, 9999, top)
        self.seed.setPrefix("seed ")
        column.addWidget(self.kind)
        row = nested(column, QHBoxLayout(), spacing=4)
        self.share = self._number("Share held out", "How much of each class is held out, 5 to 90 %", 5, 90, row)
        self.share.setSuffix(" %")
        self.fold = self._number(
            "Fold that is tested on", "Which of them is the test part of what is shown", 1, 20, row
        )
        self.fold.setPrefix("fold ")
        self.folds = self._number("Folds", "Into how many folds the rows are dealt, 2 to 20", 2, 20, row)
        self.folds.setPrefix("of ")
        self.kind.activated.connect(self._change_kind)
        self.hide()

    def _number(self, name: str, tip: str, low: int, high: int, row: QHBoxLayout) -> QSpinBox:
        box = spin_box(name, low, high, self)
        box.setKeyboardTracking(False)
        box.setMinimumWidth(0)
        box.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        box.setToolTip(tip)
        box.valueChanged.connect(self._change)
        line = box.lineEdit()
        UndoOfWindow(line)
        row.addWidget(box, 1)
        return box

    def held_out(self) -> HeldOut:
        """Return the split as it is set."""
        kind = self.kind.currentData()
        if kind == _FOLDS:
            fold = min(self.fold.value(), self.folds.value()) - 1
            return HeldOut(0.0, self.seed.value(), self.folds.value(), fold).checked()
        share = self.share.value() / 100 if kind == _SHARE else 0.0
        return HeldOut(share, self.seed.value()).checked()

    def set_dataset(self, dataset: Dataset) -> None:
        """Show how data are divided; nothing where there is no choice."""
        self._shown = dataset.held_out or HeldOut(0.0)
        self.setVisible(can_hold_out(dataset))
        boxes = (self.share, self.folds, self.fold, self.seed)
        for box in boxes:
            box.blockSignals(True)
        if self._shown.folds:
            self.folds.setValue(self._shown.folds)
            self.fold.setMaximum(self._shown.folds)
            self.fold.setValue(self._shown.fold + 1)
        elif self._shown.share:
            self.share.setValue(round(100 * self._shown.share))
        if self._shown.folds or self._shown.share:
            self.seed.setValue(self._shown.seed)
        for box in boxes:
            box.blockSignals(False)
        kind = _FOLDS if self._shown.folds else _SHARE if self._shown.share else _NOTHING
        self.kind.setCurrentIndex(self.kind.findData(kind))
        self._show_kind()

    def _show_kind(self) -> None:
        kind = self.kind.currentData()
        self.share.setVisible(kind == _SHARE)
        for box in (self.folds, self.fold):
            box.setVisible(kind == _FOLDS)
        self.seed.setVisible(kind != _NOTHING)

    @Slot(int)
    def _change_kind(self, _index: int) -> None:
        if self.kind.currentData() == _FOLDS and not self._shown.folds:
            self.folds.blockSignals(True)
            self.folds.setValue(5)
            self.folds.blockSignals(False)
        self._show_kind()
        self._change(0)

    @Slot(int)
    def _change(self, _value: int) -> None:
        wanted = self.held_out()
        if wanted != self._shown:
            self._shown = wanted
            self._workspace.hold_out(wanted)


def _rows(dataset: Dataset) -> tuple[str, str]:
    """Return how many rows are trained on and judged, in two lines."""
    train, test, held_out = count(len(dataset.train)), count(len(dataset.test)), dataset.held_out
    if held_out is None:
        return f"{train} train", f"{test} test"
    total, said = count(len(dataset.train) + len(dataset.test)), f"{test} held out"
    if held_out.folds:
        fold, folds = held_out.fold + 1, held_out.folds
        said = f"{test} held out (fold {fold} of {folds})"
    return f"{train} of {total} rows to train", said


def _column(dataset: Dataset, column: int) -> str:
    name = dataset.opened.columns[column]
    return f"“{name}”" if dataset.opened.header else f"column {name}"


class ParameterPanel(QScrollArea):
    """Controls on the left, tied to the workspace.

    Signals
    -------
    dataset_chosen(object)
        Key of a catalogue entry.
    files_chosen(object)
        Paths that were opened before, to be opened together.
    open_requested()
        The person wants to open files of their own.
    download_requested(object)
        Key of a catalogue entry whose real files are wanted.
    reading_requested()
        The person wants to see how the files were read.
    """

    dataset_chosen = Signal(object)
    files_chosen = Signal(object)
    open_requested = Signal()
    download_requested = Signal(object)
    reading_requested = Signal()

    def __init__(
        self, workspace: Workspace, parent: QWidget | None = None, *, recent: RecentFiles | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace, self._recent = workspace, recent
        self.setAccessibleName("Parameters")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what has the keyboard inside is brought into sight
        self.setFixedWidth(_WIDTH)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        inside = QWidget(self)
        inside.setProperty("role", "panel")
        self.setProperty("role", "panel")
        self._parts: dict[str, QWidget] = {}
        inside.setFixedWidth(_WIDTH - _BAR)  # as wide on pages where it is scrolled as on others
        self._layout: QVBoxLayout = flush(QVBoxLayout(inside), 4, (12, 16, 6, 16))
        for name, build in (("data", self._build_data), ("stack", self._build_stack), ("tiles", self._build_tiles)):
            with self._part(name):
                build()
        self._layout.addStretch(1)
        self._note = PlainLabel("", inside)
        self._note.setProperty("role", "secondary")
        self._note.setWordWrap(True)
        self._note.setMinimumHeight(32)
        self._note.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._layout.addWidget(self._note)
        self.setWidget(inside)
        workspace.dataset_changed.connect(self._show_dataset)
        workspace.state_changed.connect(self._show_state)
        workspace.stack_changed.connect(self._show_fit)
        self._show_state(workspace.state, workspace.state)

    def show_parts(self, needed: frozenset[str]) -> None:
        """Show what has an effect on the page, and nothing else; the names are those of `Page.needs`."""
        for name, part in self._parts.items():
            part.setVisible(name in needed or (name == "tiles" and bool(needed & {"show", "levels", "colors"})))
        self._note.setVisible("stack" in needed)

    # Building --------------------------------------------------------------------------------------------------

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        """Put what is built meanwhile into a part of its own, which `show_parts` shows or hides."""
        part = self._parts[name] = QWidget(self)
        outer = self._layout
        outer.addWidget(part)
        self._layout = flush(QVBoxLayout(part), 4)
        yield
        self._layout = outer

    def _heading(self, text: str) -> None:
        label = PlainLabel(text, self)
        label.setProperty("role", "heading")
        self._layout.addWidget(label)
        self._layout.addSpacing(4)

    def _rule(self) -> None:
        rule = QFrame(self)
        rule.setProperty("role", "rule")
        self._layout.addSpacing(8)
        self._layout.addWidget(rule)
        self._layout.addSpacing(8)

    def _choice(self, label: str, tip: str, name: str, change: Callable[..., None]) -> _ChoiceBox:
        caption, box = PlainLabel(label, self), _ChoiceBox(label, tip, name, change, self)
        caption.setBuddy(box)
        self._layout.addWidget(caption)
        self._layout.addWidget(box)
        self._layout.addSpacing(8)
        return box

    def _build_data(self) -> None:
        self._heading("DATA")
        self._datasets = _DataMenu(self)
        name_box(self._datasets, "Data set")
        self._datasets.setToolTip("The benchmark data sets of the paper (§6), or files of your own")
        self._fill_menu()
        self._datasets.asked.connect(self._fill_menu)
        self._datasets.activated.connect(self._choose_dataset)
        self._layout.addWidget(self._datasets)
        row = nested(self._layout, QHBoxLayout())
        row.setSpacing(8)
        self._badge = PlainLabel("generated", self)
        self._badge.setProperty("role", "badge")
        self._counts = PlainLabel("loading…", self)
        self._counts.setProperty("role", "secondary")
        self._counts.setWordWrap(True)
        self._counts.setMinimumHeight(30)
        self._counts.setAlignment(Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._counts, 1)
        self._fetch = QPushButton("Get the real files…", self)
        self._fetch.setToolTip("Download the benchmark’s own files; asks before it does")
        self._fetch.clicked.connect(self._ask_for_files)
        self._fetch.hide()
        self._layout.addWidget(self._fetch)
        self._opened_as = QPushButton("How it was read…", self)
        self._opened_as.setToolTip("See how the files were read, and read them otherwise")
        self._opened_as.clicked.connect(self.reading_requested)
        self._opened_as.hide()
        self._layout.addWidget(self._opened_as)
        self.split = SplitControls(self._workspace, self)
        self._layout.addWidget(self.split)
        self._layout.addSpacing(8)

    def _build_stack(self) -> None:
        workspace = self._workspace
        self._heading("STACK")
        self.noise_slider = _ParameterSlider(
            *(workspace, "noise", "Noise 1 − p", 0.0, LARGEST_NOISE, 0.01, 0.3),
            tip=(
                f"Probability 1 − p that a pixel is blanked, 0 to {LARGEST_NOISE:g}. The weights are the closed "
                "form over all "
                "corruptions, W = E[P] E[Q]⁻¹ (eq. 8)."
            ),
            parent=self,
        )
        self.ridge_slider = _ParameterSlider(
            *(workspace, "ridge", "Ridge", _RIDGES[0], _RIDGES[-1], 1, RIDGE),
            tip=(
                "Added to the diagonal, W = E[P] (E[Q] + ridge · I)⁻¹, with S summed over all rows, 1e−8 to 1000; the "
                "paper’s Algorithm 1 adds 1e−5. More of it keeps the weights from pixels that are hardly ever lit "
                "small."
            ),
            parent=self,
            values=_RIDGES,
        )
        self.depth_slider = _ParameterSlider(
            *(workspace, "depth", "Depth l", 0, MOST_LAYERS, 1, 4),
            tip=f"Number of stacked denoisers, 0 to {MOST_LAYERS}: hᵏ = Wᵏ T(hᵏ⁻¹) (§4, Algorithm 2).",
            parent=self,
        )
        self.threshold_slider = _ParameterSlider(
            *(workspace, "threshold", "Threshold t", 0.0, 1.0, 0.01, 0.5),
            tip="T(a) = 1 if a > t, else 0, 0 to 1; the paper uses 0.5 (§6).",
            parent=self,
        )
        for slider in (self.noise_slider, self.ridge_slider, self.depth_slider, self.threshold_slider):
            self._layout.addWidget(slider)
            self._layout.addSpacing(8)
        tip = "The function T between two layers, hᵏ = Wᵏ T(hᵏ⁻¹) (§4); only the threshold uses t"
        self._squashing = self._choice("Squashing", tip, "squashing", workspace.set_parameters)
        add_choices(self._squashing, SQUASHINGS.values())
        tip = "Each layer is fitted on the real-valued output of the layer below (eq. 11, Algorithm 2) or on T of it"
        self._fit_on = self._choice("Fit on", tip, "fit_on", workspace.set_parameters)
        add_choices(self._fit_on, FIT_ON.values())

    def _build_tiles(self) -> None:
        self._rule()
        self._heading("TILES")
        select = self._workspace.select
        tip = (
            "Weights W, or contributions: each weight times the root mean square, over the training rows, of the pixel "
            "it is taken from. As needed: contributions where the largest weight of a layer is more than 10 times the "
            "largest from a typical pixel"
        )
        with self._part("show"):
            self._show = self._choice("Show", tip, "show", select)
        add_choices(self._show, SHOWN.values())
        tip = "Which tiles share the limits of the colour scale"
        with self._part("levels"):
            self._levels = self._choice("Levels", tip, "levels", select)
        add_choices(self._levels, LEVELS.values())
        tip = "Zero is the neutral colour; jet is the paper’s look"
        with self._part("colors"):
            self._colors = self._choice("Colours", tip, "colors", select)
        self._colors.addItem("diverging, as the theme", "auto")
        for key in (*DIVERGING, "jet"):
            self._colors.addItem(MAPS[key], key)

    # From the controls -----------------------------------------------------------------------------------------

    @Slot(int)
    def _choose_dataset(self, index: int) -> None:
        key = self._datasets.itemData(index)
        self._restore_dataset()
        if key == _OPEN:
            self.open_requested.emit()
        elif isinstance(key, RecentOpening):
            self.files_chosen.emit(list(key.paths))
        elif key is not None:
            self.dataset_chosen.emit(key)

    @Slot()
    def _ask_for_files(self) -> None:
        source = self._workspace.source
        if source is not None and source.key:
            self.download_requested.emit(source.key)

    # From the workspace ----------------------------------------------------------------------------------------

    @Slot(object)
    def _show_dataset(self, dataset: Dataset) -> None:
        self._badge.setText("generated" if dataset.generated else "real")
        what = (
            f"{dataset.image_shape[0]} × {dataset.image_shape[1]} pixels"
            if dataset.image_shape
            else counted(dataset.n_features, "feature")
        )
        if dataset.opened.scaled:
            what = f"{what}, scaled to 0–1"
        column = dataset.opened.label_column
        if column is not None and dataset.opened.columns:
            what = "\n".join([what, f"classes: {_column(dataset, column)}"])
        self._counts.setText("\n".join([*_rows(dataset), what]))
        source = self._workspace.source
        self._opened_as.setVisible(source is not None and bool(source.paths))
        self.split.set_dataset(dataset)
        lines = [
            *(f"{guess.what}: {guess.why}" for guess in dataset.checks),
            printable(dataset.source),
            f"Licence: {dataset.licence}",
            dataset.citation,
        ]
        tip = "\n".join(line for line in lines if line)
        self._badge.setToolTip(tip)
        source = self._workspace.source
        # A generator asked for by name at the start may stand beside real files that are there already.
        self._fetch.setVisible(dataset.generated and source is not None and bool(dataset.key) and not source.generated)
        self._counts.setToolTip(tip)
        self._restore_dataset()

    @Slot()
    def _fill_menu(self) -> None:
        """Offer the benchmark data sets, the files opened last, those that are gone greyed, and others."""
        self._datasets.clear()
        for entry in entries():
            self._datasets.addItem(entry.title, entry.key)
        self._datasets.insertSeparator(self._datasets.count())
        recent = () if self._recent is None else self._recent.openings[:_MOST_RECENT]
        for opening in recent:
            reason, row = opening.why_not, self._datasets.count()
            self._datasets.addItem(f"{opening.name} ({reason})" if reason else opening.name, opening)
            self._datasets.setItemData(row, str(opening.paths[0]), Qt.ItemDataRole.ToolTipRole)
            if reason:
                self._datasets.setItemData(row, 0, _ENABLED)
        if recent:
            self._datasets.insertSeparator(self._datasets.count())
        self._datasets.addItem("Open files…", _OPEN)
        shown = self._datasets.view()
        shown.setMinimumWidth(min(shown.sizeHintForColumn(0) + _ENTRY_MARGINS, _WIDEST_MENU))
        self._restore_dataset()

    def _restore_dataset(self) -> None:
        """Let the menu show what is open, also when it is none of the entries."""
        dataset = self._workspace.dataset
        if dataset is None:
            return
        keys = [entry.key for entry in entries()]
        self._datasets.setCurrentIndex(keys.index(dataset.key) if dataset.key else -1)
        self._datasets.set_title(dataset.title)

    @Slot(object, object)
    def _show_state(self, state: State, _old: State) -> None:
        parameters, selection = state.parameters, state.selection
        for slider, value in (
            (self.noise_slider, parameters.noise),
            (self.ridge_slider, parameters.ridge),
            (self.depth_slider, parameters.depth),
            (self.threshold_slider, parameters.threshold),
        ):
            slider.set_value(value)
        self.noise_slider.set_extra(f"p = {1 - parameters.noise:.2f}")
        self.depth_slider.set_extra(plural("layer", "layers", parameters.depth))
        self.threshold_slider.setEnabled(SQUASHINGS[parameters.squashing].uses_threshold)
        for box, key in (
            (self._squashing, parameters.squashing),
            (self._fit_on, parameters.fit_on),
            (self._show, selection.show),
            (self._levels, selection.levels),
            (self._colors, selection.colors),
        ):
            box.set_choice(key)

    @Slot()
    def _show_fit(self) -> None:
        workspace = self._workspace
        stack, depth = workspace.stack, workspace.state.parameters.depth
        if depth == 0:
            self._note.setText("Depth 0: the images as they are, no denoiser.")
        elif stack is None:
            self._note.setText("Fitting the first layers…")
        elif not workspace.layer_is_fresh(depth):
            fresh = sum(workspace.layer_is_fresh(k) for k in range(1, depth + 1))
            if fresh:
                behind = f"{fresh} of {depth} layers ready"
            else:
                behind = f"greyed tiles are still those of noise {stack.parameters.noise:.2f}"
            doing = "Fitting…" if workspace.lane.busy else "Stopped (F5 fits again):"
            self._note.setText(f"{doing} {behind}")
        else:
            errors = f"{stack.layers[0].error:.4f} → {stack.layers[depth - 1].error:.4f}"
            said, seconds = f"Fitted · reconstruction error {errors}", workspace.fit_seconds
            if seconds and len(stack.layers) == depth:
                said = f"Fitted in {seconds:.2f} s · reconstruction error {errors}"
            if workspace.fit_problem:
                said = f"{said}\n{workspace.fit_problem}"
            self._note.setText(said)
            self._note.setToolTip(
                "Expected squared error per pixel of the first and the last layer, each reconstructing its own "
                "input, over all corruptions (eq. 5 in the limit; eq. 11)"
            )
