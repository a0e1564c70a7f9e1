"""The parameter panel, which all pages share: open data, parameters of the stack, and display of the tiles."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QSizePolicy, QSpinBox, QVBoxLayout, QWidget

from slide_gui.core.choices import Choice
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.parameters import FIT_ON, LARGEST_NOISE, MOST_LAYERS, SHARING, SQUASHINGS
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.reading import QUANTILES
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.splits import can_hold_out
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS, SHOWN
from slide_gui.gui.state.files import RecentFiles, RecentOpening
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.widgets.controls import (
    ElidedBox,
    IntegerBox,
    PlainLabel,
    Receiver,
    UndoOfWindow,
    add_button,
    add_choices,
    label,
    name_box,
    named,
)
from slide_gui.gui.widgets.layouts import VerticalScroll, flush, nested, placed
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.text import count, counted, level, mean_square, plural, printable, significant

# Widths of the panel and of its scroll bar in pixels. The style sheet must set the scroll bar to the same width.
_WIDTH, _BAR = 240, 10
_OPEN = "open"
_MOST_RECENT = 6
_RIDGES = (*(float(f"{digit}e{power}") for power in range(-8, 3) for digit in (1, 2, 5)), 1000.0)
_SHARE, _FOLDS, _NOTHING = "share", "folds", "nothing"


# The parameters with sliders: for each, its label, its range (minimum, maximum, step and default) and its tooltip.
_SLIDERS = {
    "noise": (
        "Noise level",
        (0.0, LARGEST_NOISE, 0.01, 0.3),
        f"Probability 1 − p that a feature is set to 0, from 0 to {LARGEST_NOISE:g}. The weights are the closed-form "
        "solution over all corruptions, W = E[P] E[Q]⁻¹ (eq. 8).",
    ),
    "ridge": (
        "Ridge",
        (_RIDGES[0], _RIDGES[-1], 1, RIDGE),
        "Number from 1e−8 to 1000 that is added to the diagonal of E[Q], a sum over all rows: W = E[P] (E[Q] + "
        "ridge · I)⁻¹. Algorithm 1 uses 1e−5. A larger ridge reduces the weights of features that are almost always 0.",
    ),
    "depth": ("Depth", (0, MOST_LAYERS, 1, 4), "Number of stacked denoisers: hᵏ = Wᵏ T(hᵏ⁻¹) (§4, Algorithm 2)."),
    "threshold": ("Threshold t", (0.0, 1.0, 0.01, 0.5), "T(a) = 1 if a > t, otherwise 0. The paper uses t = 0.5 (§6)."),
    "window": ("Window", (3, 15, 2, 9), "Side length of the shared kernel: an odd number of pixels from 3 to 15"),
}
_COLOR_TEXTS = {"auto": "diverging, by theme"} | {key: MAPS[key] for key in (*DIVERGING, "jet")}
# The colour maps that the user can choose for the tiles.
COLORS = {key: Choice(key, text, "") for key, text in _COLOR_TEXTS.items()}
# The combo boxes for parameters of the stack and for the display of the tiles, each with its label, tooltip and
# choices.
_BOXES = {
    "squashing": (
        "Squashing",
        "Function T applied before each layer, hᵏ = Wᵏ T(hᵏ⁻¹) (§4); only the threshold function uses the threshold t",
        tuple(SQUASHINGS.values()),
    ),
    "fit_on": (
        "Fit on",
        "Fit each layer to the hidden representation hᵏ⁻¹ (eq. 11, Algorithm 2), or to its thresholded values T(hᵏ⁻¹)",
        tuple(FIT_ON.values()),
    ),
    "sharing": (
        "Weights",
        "One row of W for each pixel, as in the paper (eq. 8),\nor a kernel of size “Window” that all pixels share",
        tuple(SHARING.values()),
    ),
    "show": (
        "Show",
        "Weights W, or contributions: each weight times the root mean square of its input feature over the training "
        "rows. “Automatic” shows contributions if a few weights of a layer are much larger than all others",
        tuple(SHOWN.values()),
    ),
    "levels": ("Colour limits", "Choose which tiles share the same colour limits", tuple(LEVELS.values())),
    "colors": (
        "Colour map",
        "Diverging colour maps show zero in a neutral colour; jet is the colour map used in the paper",
        tuple(COLORS.values()),
    ),
}
_FIRST = ("noise", "depth")
_MORE = {name: text for name, (text, *_) in (*_SLIDERS.items(), *_BOXES.items()) if name not in _FIRST}


class _ParameterSlider(NumberSlider):
    """A slider for one parameter of the stack. Undo reverts an entire drag of the slider in one step."""

    def __init__(self, workspace: Workspace, name: str, parent: QWidget) -> None:
        label, limits, tip = _SLIDERS[name]
        super().__init__(label, limits, tip, parent, _RIDGES if name == "ridge" else ())
        self._workspace, self._name = workspace, name
        self.value_changed.connect(self._change)
        self.value_settled.connect(workspace.history.end_gesture)

    @Slot(float)
    def _change(self, value: float) -> None:
        number = round(value) if self._name in ("depth", "window") else value
        self._workspace.set_parameters(gesture=self._name, **{self._name: number})


class _ChoiceBox(ElidedBox):
    """A combo box for the setting called `name`. It calls ``change(name=choice)`` when the user selects a choice."""

    def __init__(self, name: str, change: Callable[..., None], parent: QWidget) -> None:
        self.label, tip, choices = _BOXES[name]
        super().__init__(parent, self.label, tip, least=8)
        self._name, self._change_by_name = name, change
        add_choices(self, choices)
        self.activated.connect(self._choose)

    @Slot(int)
    def _choose(self, index: int) -> None:
        self._change_by_name(**{self._name: self.itemData(index)})


class _DataMenu(ElidedBox):
    """A combo box for opening data sets. It also shows the title of open data that are not in its list.

    Signals
    -------
    about_to_open()
        The menu is about to open.
    """

    about_to_open = Signal()

    def showPopup(self) -> None:
        self.about_to_open.emit()
        super().showPopup()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Show the list when Up or Down is pressed. Qt's combo box would open the next data set immediately."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.showPopup()
        else:
            super().keyPressEvent(event)


class SplitControls(QWidget):
    """Controls with which the user holds out rows as a test set if the data have no test set."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._shown = workspace, HeldOut()
        column = flush(QVBoxLayout(self), 4)
        tip = "The file has no test set, so the same fraction of each class is held out as a test set"
        caption, self.kind = PlainLabel("Test set", self), named(QComboBox(self), "Test set", tip)
        for text, key in (("fraction held out", _SHARE), ("cross-validation", _FOLDS), ("none held out", _NOTHING)):
            self.kind.addItem(text, key)
        caption.setBuddy(self.kind)
        top = nested(column, QHBoxLayout())
        top.addWidget(caption, 1)
        tip = "Seed of the random choice of held-out rows"
        self.seed = self._number("Seed of the split", tip, 0, 9999, top, prefix="seed ")
        column.addWidget(self.kind)
        row = nested(column, QHBoxLayout(), spacing=4)
        tip = "Percentage of each class that is held out, 5 to 90"
        self.share = self._number("Percentage held out", tip, 5, 90, row, suffix=" %")
        self.fold = self._number("Test fold", "Fold that serves as the test set", 1, 20, row, prefix="fold ")
        self.folds = self._number("Folds", "Number of folds, 2 to 20", 2, 20, row, prefix="of ")
        self.kind.activated.connect(self._change)
        self.hide()

    def _number(self, name: str, tip: str, low: int, high: int, row: QHBoxLayout, **properties: str) -> QSpinBox:
        box = placed(row, IntegerBox(name, low, high, self, toolTip=tip, **properties), 1)
        box.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        box.valueChanged.connect(self._change)
        UndoOfWindow(box.lineEdit())
        return box

    def held_out(self) -> HeldOut:
        """Return the split that is set in the controls."""
        kind = self.kind.currentData()
        if kind == _FOLDS:
            fold = min(self.fold.value(), self.folds.value()) - 1
            return HeldOut(0.0, self.seed.value(), self.folds.value(), fold).checked()
        share, shown = self.share.value() / 100 if kind == _SHARE else 0.0, self._shown.share
        # The box shows the fraction as an integer percentage. The exact fraction is retained until the user changes it.
        return HeldOut(shown if share == round(shown, 2) else share, self.seed.value()).checked()

    def set_dataset(self, dataset: Dataset) -> None:
        """Show how the data are split; hide the controls if no rows can be held out, e.g. if there is a test set."""
        self._shown = dataset.held_out or HeldOut(0.0)
        self.setVisible(can_hold_out(dataset))
        with ExitStack() as blocked:
            for box in (self.share, self.folds, self.fold, self.seed):
                blocked.enter_context(QSignalBlocker(box))
            self.folds.setValue(self._shown.folds or 5)
            self.fold.setMaximum(self.folds.value())
            self.fold.setValue(self._shown.fold + 1)
            if self._shown.share:
                self.share.setValue(round(100 * self._shown.share))
            if self._shown.folds or self._shown.share:
                self.seed.setValue(self._shown.seed)
        kind = _FOLDS if self._shown.folds else _SHARE if self._shown.share else _NOTHING
        self.kind.setCurrentIndex(self.kind.findData(kind))
        self._show_kind()

    def _show_kind(self) -> None:
        kind = self.kind.currentData()
        self.share.setVisible(kind == _SHARE)
        for box in (self.folds, self.fold):
            box.setVisible(kind == _FOLDS)
        self.seed.setVisible(kind != _NOTHING)

    @Slot()
    def _change(self) -> None:
        self._show_kind()
        wanted = self.held_out()
        if wanted != self._shown:
            self._shown = wanted
            self._workspace.hold_out(wanted)


def _rows(dataset: Dataset) -> tuple[str, str]:
    """Return two lines of text: the number of training rows and the number of test rows."""
    train, test, held_out = count(len(dataset.train)), count(dataset.n_test), dataset.held_out
    if held_out is None:
        return f"{train} training rows", f"{test} test rows"
    total, held = count(len(dataset.train) + dataset.n_test), f"{test} held out"
    if held_out.folds:
        fold, folds = held_out.fold + 1, held_out.folds
        held = f"{test} held out (fold {fold} of {folds})"
    return f"{train} of {total} rows for training", held


class ParameterPanel(VerticalScroll):
    """The panel to the left of the pages, whose controls show and set the parameters of the workspace.

    Signals
    -------
    files_chosen(object)
        The user chose recent files; the argument is the list of paths to open together.
    download_requested(object)
        The user wants to download the original files of a benchmark data set; the argument is its key.
    reading_requested()
        The user wants to see how the files were read.
    """

    files_chosen = Signal(object)
    download_requested = Signal(object)
    reading_requested = Signal()

    def __init__(
        self, workspace: Workspace, actions: Mapping[str, QAction], recent: RecentFiles, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._workspace, self._actions, self._recent = workspace, actions, recent
        self.setAccessibleName("Parameters")
        self.setFixedWidth(_WIDTH)
        inside = QWidget(self)
        inside.setProperty("role", "panel")
        self.setProperty("role", "panel")
        # Call `setWidget` before `inside` has any children. It gives `inside` a new parent, and Qt would then apply the
        # style sheet to all children again.
        self.setWidget(inside)
        self._parts: dict[str, QWidget] = {}
        self._boxes: dict[str, _ChoiceBox] = {}
        self._needed: frozenset[str] = frozenset()
        # Always reserve space for the scroll bar, so that its appearance does not change the width of the contents.
        inside.setFixedWidth(_WIDTH - _BAR)
        self._layout: QVBoxLayout = flush(QVBoxLayout(inside), 4, (12, 16, 6, 16))
        with self._part("data"):
            self._build_data()
        with self._part("stack"):
            self.sliders = {name: self._add_slider(name) for name in _FIRST}
        self.more = self._add_button("More", "Show or hide the less frequently used parameters", "fold")
        self.more.setCheckable(True)
        self.more.toggled.connect(self._show_parts)
        with self._part("more"):
            self._build_more()
        self._layout.addStretch(1)
        self._note = placed(self._layout, label("", inside, wraps=True, height=32))
        workspace.dataset_changed.connect(self._show_dataset)
        workspace.not_opened.connect(self._show_split)
        workspace.state_changed.connect(self._show_state)
        workspace.fitting.changed.connect(self._show_fit)
        self._show_state(workspace.state, None)

    def show_parts(self, needed: frozenset[str]) -> None:
        """Show the sections of the panel named in `needed` (see `Page.needs`), and hide the other sections."""
        self._needed = needed
        self._show_parts()

    @Slot()
    def _show_parts(self) -> None:
        needed, dataset = set(self._needed), self._workspace.dataset
        has_more = "stack" in needed or (dataset is not None and can_hold_out(dataset))
        needed |= {"fit"} if "stack" in needed else set()
        needed |= {"tiles"} if needed & {"show", "levels", "colors"} else set()
        needed |= {"more"} if has_more and self.more.isChecked() else set()
        for name, part in self._parts.items():
            part.setVisible(name in needed)
        self.more.setVisible(has_more)
        self._note.setVisible("stack" in needed)
        self._name_more(self._workspace.state)

    def _name_more(self, state: State) -> None:
        """Show on the button “More” how many of the hidden parameters differ from their defaults."""
        settings, usual = state.settings, State().settings
        changed = [text for name, text in _MORE.items() if settings[name] != usual[name]]
        count_text = f" · {len(changed)} changed" if changed and not self.more.isChecked() else ""
        self.more.setText(f"{'▾' if self.more.isChecked() else '▸'} More{count_text}")
        self.more.setAccessibleDescription(f"Changed: {', '.join(changed)}" if changed else "")

    # Building --------------------------------------------------------------------------------------------------

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        """Create the section called `name` of the panel. Widgets that are built in the `with` block are added to it."""
        outer = self._layout
        part = self._parts[name] = placed(outer, QWidget(self))
        self._layout = flush(QVBoxLayout(part), 4)
        yield
        self._layout = outer

    def _heading(self, text: str) -> None:
        self._layout.addWidget(label(text, self, "heading"))
        self._layout.addSpacing(4)

    def _add_slider(self, name: str) -> _ParameterSlider:
        slider = placed(self._layout, _ParameterSlider(self._workspace, name, self))
        self._layout.addSpacing(8)
        return slider

    def _add_box(self, name: str, change: Callable[..., None]) -> _ChoiceBox:
        box = _ChoiceBox(name, change, self)
        placed(self._layout, PlainLabel(box.label, self)).setBuddy(box)
        self._layout.addWidget(box)
        self._layout.addSpacing(8)
        return box

    def _add_button(self, text: str, tip: str, kind: str = "", *, clicked: Receiver | None = None) -> QPushButton:
        button = add_button(self, self._layout, text, tip, kind, clicked=clicked)
        button.hide()
        return button

    def _build_data(self) -> None:
        self._heading("DATA")
        self._datasets = _DataMenu(self, tip="The benchmark data sets of the paper (§6), or your own files")
        self._fill_menu()
        self._datasets.about_to_open.connect(self._fill_menu)
        self._datasets.activated.connect(self._choose_dataset)
        self._layout.addWidget(self._datasets)
        name_box(self._datasets, "Data set")
        row = nested(self._layout, QHBoxLayout(), spacing=8)
        self._badge = placed(row, label("", self, "badge"), 0, Qt.AlignmentFlag.AlignTop)
        self._badge.hide()  # `_show_dataset` shows the badge when a data set has been opened.
        self._counts = placed(row, label("loading…", self, wraps=True, height=30), 1)
        tip = "Download the original files of this data set; you can check the source and licence first"
        self._fetch = self._add_button("Get the real files…", tip, clicked=self._ask_for_files)
        self._opened_as = self._add_button("How the files were read…", "Show or change how the files are read")
        self._opened_as.clicked.connect(self.reading_requested)
        self._layout.addSpacing(4)
        tip = "Compare SLIDE with an SVM on the raw features within the time limit in Settings"
        self._try = self._add_button("Try on my data", tip, "wash", clicked=self._actions["try"].trigger)
        self._layout.addSpacing(8)

    def _build_more(self) -> None:
        self._layout.addSpacing(4)
        with self._part("fit"):
            self.sliders |= {name: self._add_slider(name) for name in ("ridge", "threshold")}
            for name in ("squashing", "fit_on", "sharing"):
                self._boxes[name] = self._add_box(name, self._workspace.set_parameters)
            self.sliders["window"] = self._add_slider("window")
        self.split = placed(self._layout, SplitControls(self._workspace, self))
        with self._part("tiles"):
            self._layout.addSpacing(8)
            self._heading("TILES")
            for name in ("show", "levels", "colors"):
                with self._part(name):
                    self._boxes[name] = self._add_box(name, self._workspace.select)

    # User actions ------------------------------------------------------------------------------------------------

    @Slot(int)
    def _choose_dataset(self, index: int) -> None:
        key = self._datasets.itemData(index)
        self._restore_dataset()
        if key == _OPEN:
            self._actions["open"].trigger()
        elif isinstance(key, RecentOpening):
            self.files_chosen.emit(list(key.paths))
        elif key is not None:
            self._workspace.open(DataSource(key=key))

    @Slot()
    def _ask_for_files(self) -> None:
        source = self._workspace.source
        if source is not None and source.key:
            self.download_requested.emit(source.key)

    # Changes in the workspace ------------------------------------------------------------------------------------

    @Slot(object)
    def _show_dataset(self, dataset: Dataset) -> None:
        self._badge.setText("generated" if dataset.generated else "real")
        self._badge.show()
        what = counted(dataset.n_features, "feature")
        if dataset.image_shape:
            what = f"{dataset.image_shape[0]} × {dataset.image_shape[1]} pixels"
        if dataset.opened.scaled:
            what = f"{what}, scaled to {'quantiles' if dataset.opened.scaled == QUANTILES else '0–1'}"
        if dataset.n_missing:
            what = f"{what}\n{counted(dataset.n_missing, 'missing cell')} filled"
        column = dataset.opened.label_column
        if column is not None and dataset.opened.columns:
            name = dataset.opened.columns[column]
            what = f"{what}\nclasses: {f'“{name}”' if dataset.opened.header else f'column {name}'}"
        self._counts.setText("\n".join([*_rows(dataset), what]))
        source = self._workspace.source
        self._opened_as.setVisible(source is not None and bool(source.paths))
        self.split.set_dataset(dataset)
        self._try.setVisible(not dataset.why_no_classes)
        self._show_parts()
        box, is_image = self._boxes["sharing"], dataset.image_shape is not None
        box.setEnabled(is_image)
        box.setToolTip(_BOXES["sharing"][1] if is_image else "The features of these data are not pixels")
        origin = printable(dataset.source), f"Licence: {dataset.licence}", dataset.citation
        tip = "\n".join(filter(None, [*(f"{guess.what}: {guess.why}" for guess in dataset.checks), *origin]))
        self._badge.setToolTip(tip)
        # If `source.generated` is True, the user chose generated data. The real files are then not offered.
        self._fetch.setVisible(dataset.generated and source is not None and bool(dataset.key) and not source.generated)
        self._counts.setToolTip(tip)
        self._restore_dataset()

    @Slot()
    def _show_split(self) -> None:
        """Show how the open data are split."""
        if self._workspace.dataset is not None:
            self.split.set_dataset(self._workspace.dataset)

    @Slot()
    def _fill_menu(self) -> None:
        """List the benchmark data sets and recent files."""
        self._datasets.clear()
        for entry in entries():
            self._datasets.addItem(entry.title, entry.key)
        self._datasets.insertSeparator(self._datasets.count())
        recent = self._recent.openings[:_MOST_RECENT]
        for opening in recent:
            self._datasets.addItem(opening.name, opening)
            self._datasets.setItemData(self._datasets.count() - 1, str(opening.paths[0]), Qt.ItemDataRole.ToolTipRole)
        if recent:
            self._datasets.insertSeparator(self._datasets.count())
        self._datasets.addItem("Open files…", _OPEN)
        self._restore_dataset()

    def _restore_dataset(self) -> None:
        """Show the name of the open data in the combo box, or "opening…" if no data are open yet.

        Generated data that replace the files of a benchmark data set have the key of this data set, but another name.
        """
        dataset = self._workspace.dataset
        known = "" if dataset is None or not dataset.key else dataset.name
        self._datasets.setCurrentIndex(self._datasets.findText(known) if known else -1)
        self._datasets.setPlaceholderText("opening…" if dataset is None else dataset.name)

    @Slot(object, object)
    def _show_state(self, state: State, old: State | None) -> None:
        """Update the controls whose settings differ between `old` and `state`, or all controls if `old` is None."""
        before = {} if old is None else old.settings
        changed = {name: value for name, value in state.settings.items() if old is None or before[name] != value}
        for name in self.sliders.keys() & changed:
            self.sliders[name].set_value(changed[name])
        for name in self._boxes.keys() & changed:
            self._boxes[name].setCurrentIndex(self._boxes[name].findData(changed[name]))
        if "noise" in changed:
            self.sliders["noise"].set_extra(f"p = {level(1 - state.parameters.noise)}")
        if "depth" in changed:
            self.sliders["depth"].set_extra(plural("layer", "layers", state.parameters.depth))
        if "sharing" in changed:
            self.sliders["window"].setVisible(state.parameters.sharing != "none")
        if "squashing" in changed:
            self.sliders["threshold"].setEnabled(SQUASHINGS[state.parameters.squashing].uses_threshold)
        self._name_more(state)

    @Slot()
    def _show_fit(self) -> None:
        workspace = self._workspace
        stack, depth = workspace.fitting.stack, workspace.state.parameters.depth
        if depth == 0:
            self._note.setText("Depth 0: no denoiser is applied to the data.")
        elif stack is None or not workspace.fitting.is_fresh(depth):
            doing = "Fitting…" if workspace.queue.wants("fit") else "Stopped (F5 refits):"
            fresh = min(workspace.fitting.n_fresh, depth)
            self._note.setText(f"{doing} {fresh} of {depth} layers are fitted")
        else:
            ends = dict.fromkeys((stack.layers[0], stack.layers[depth - 1]))
            errors = " → ".join(mean_square(layer.error) for layer in ends)
            text, seconds = f"Fitted · reconstruction error {errors}", workspace.fitting.seconds
            if seconds and len(stack.layers) == depth:
                text = f"Fitted in {significant(seconds, 2)} s · reconstruction error {errors}"
            if workspace.fitting.problem:
                text = f"{text}\n{workspace.fitting.problem}"
            self._note.setText(text)
            self._note.setToolTip(
                "Expected squared reconstruction error per feature, in the first and in the last layer, over "
                "all corruptions (eq. 5 for infinitely many corrupted copies; eq. 11)"
            )
