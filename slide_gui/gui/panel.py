"""The panel of parameters that all pages share: data set, noise, depth, threshold, squashing, and how tiles look."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from slide_gui.core.slide.parameters import FIT_ON, LARGEST_NOISE, MOST_LAYERS
from slide_gui.core.slide.squashing import SQUASHINGS
from slide_gui.data.dataset import Dataset
from slide_gui.data.entries import entries
from slide_gui.figures.color_scale import DIVERGING, MAPS
from slide_gui.figures.style import LEVELS
from slide_gui.gui.choice_box import add_choices
from slide_gui.gui.layouts import nested
from slide_gui.gui.state.workspace import State, Workspace
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.text import count

__all__ = ["ParameterPanel"]

_WIDTH = 248
_OPEN = "open"


class ParameterPanel(QScrollArea):
    """Controls on the left, tied to the workspace.

    Signals
    -------
    dataset_chosen(object)
        Key of a catalogue entry.
    open_requested()
        The person wants to open files of their own.
    download_requested(object)
        Key of a catalogue entry whose real files are wanted.
    """

    dataset_chosen = Signal(object)
    open_requested = Signal()
    download_requested = Signal(object)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setFixedWidth(_WIDTH)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        inside = QWidget(self)
        inside.setProperty("role", "panel")
        self.setProperty("role", "panel")
        self._layout = QVBoxLayout(inside)
        self._layout.setContentsMargins(16, 16, 16, 16)
        self._layout.setSpacing(4)
        self._build_data()
        self._build_stack()
        self._build_tiles()
        self._layout.addStretch(1)
        self._note = QLabel(inside)
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

    # Building --------------------------------------------------------------------------------------------------

    def _heading(self, text: str) -> None:
        label = QLabel(text, self)
        label.setProperty("role", "heading")
        self._layout.addWidget(label)
        self._layout.addSpacing(4)

    def _rule(self) -> None:
        rule = QFrame(self)
        rule.setProperty("role", "rule")
        self._layout.addSpacing(8)
        self._layout.addWidget(rule)
        self._layout.addSpacing(8)

    def _choice(self, label: str, tip: str) -> QComboBox:
        caption = QLabel(label, self)
        box = QComboBox(self)
        box.setAccessibleName(label)
        box.setToolTip(tip)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(8)
        caption.setBuddy(box)
        self._layout.addWidget(caption)
        self._layout.addWidget(box)
        self._layout.addSpacing(8)
        return box

    def _build_data(self) -> None:
        self._heading("DATA")
        self._datasets = QComboBox(self)
        self._datasets.setAccessibleName("Data set")
        self._datasets.setToolTip("The benchmark data sets of the paper (§6), or files of your own")
        for entry in entries():
            self._datasets.addItem(entry.title, entry.key)
        self._datasets.insertSeparator(self._datasets.count())
        self._datasets.addItem("Open files…", _OPEN)
        self._datasets.activated.connect(self._choose_dataset)
        self._layout.addWidget(self._datasets)
        row = nested(self._layout, QHBoxLayout())
        row.setSpacing(8)
        self._badge = QLabel("generated", self)
        self._badge.setProperty("role", "badge")
        self._counts = QLabel("loading…", self)
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
        self._layout.addSpacing(8)

    def _build_stack(self) -> None:
        parameters = self._workspace.state.parameters
        self._heading("STACK")
        self._noise = NumberSlider(
            "Noise 1 − p",
            *(0.0, LARGEST_NOISE, 0.01, 0.3),
            tip=f"Probability 1 − p that a pixel is blanked, 0 to {LARGEST_NOISE:g}. The weights are the closed form "
            "over all corruptions, W = E[P] E[Q]⁻¹ (eq. 8).",
            parent=self,
        )
        self._depth = NumberSlider(
            "Depth l",
            *(0, MOST_LAYERS, 1, 4),
            decimals=0,
            tip=f"Number of stacked denoisers, 0 to {MOST_LAYERS}: hᵏ = Wᵏ T(hᵏ⁻¹) (§4, Algorithm 2).",
            parent=self,
        )
        self._threshold = NumberSlider(
            "Threshold t",
            *(0.0, 1.0, 0.01, 0.5),
            tip="T(a) = 1 if a > t, else 0, 0 to 1; the paper uses 0.5 (§6).",
            parent=self,
        )
        for name, slider in (("noise", self._noise), ("depth", self._depth), ("threshold", self._threshold)):
            slider.value_changed.connect(getattr(self, f"_{name}_moved"))
            slider.value_settled.connect(self._workspace.end_gesture)
            self._layout.addWidget(slider)
            self._layout.addSpacing(8)
        self._squashing = self._choice(
            "Squashing", "The function T between two layers, hᵏ = Wᵏ T(hᵏ⁻¹) (§4); only the threshold uses t"
        )
        add_choices(self._squashing, SQUASHINGS.values())
        self._squashing.activated.connect(self._squashing_chosen)
        self._fit_on = self._choice(
            "Fit on",
            "Each layer is fitted on the real-valued output of the layer below (eq. 11, Algorithm 2) or on T of it",
        )
        add_choices(self._fit_on, FIT_ON.values())
        self._fit_on.activated.connect(self._fit_on_chosen)
        self._depth.set_value(parameters.depth)

    def _build_tiles(self) -> None:
        self._rule()
        self._heading("TILES")
        self._levels = self._choice("Levels", "Which weights share the limits of the colour scale")
        add_choices(self._levels, LEVELS.values())
        self._levels.activated.connect(self._levels_chosen)
        self._colors = self._choice("Colours", "Zero is the neutral colour; jet is the paper’s look")
        self._colors.addItem("diverging, as the theme", "auto")
        for key in (*DIVERGING, "jet"):
            self._colors.addItem(MAPS[key], key)
        self._colors.activated.connect(self._colors_chosen)

    def noise_slider(self) -> NumberSlider:
        """Return the control of the noise."""
        return self._noise

    # From the controls -----------------------------------------------------------------------------------------

    @Slot(int)
    def _choose_dataset(self, index: int) -> None:
        key = self._datasets.itemData(index)
        self._restore_dataset()
        if key == _OPEN:
            self.open_requested.emit()
        elif key is not None:
            self.dataset_chosen.emit(key)

    @Slot()
    def _ask_for_files(self) -> None:
        source = self._workspace.source
        if source is not None and source.key:
            self.download_requested.emit(source.key)

    @Slot(float)
    def _noise_moved(self, value: float) -> None:
        self._workspace.set_parameters(gesture="noise", noise=round(value, 2))

    @Slot(float)
    def _depth_moved(self, value: float) -> None:
        self._workspace.set_parameters(gesture="depth", depth=round(value))

    @Slot(float)
    def _threshold_moved(self, value: float) -> None:
        self._workspace.set_parameters(gesture="threshold", threshold=round(value, 2))

    @Slot(int)
    def _squashing_chosen(self, index: int) -> None:
        self._workspace.set_parameters(squashing=self._squashing.itemData(index))

    @Slot(int)
    def _fit_on_chosen(self, index: int) -> None:
        self._workspace.set_parameters(fit_on=self._fit_on.itemData(index))

    @Slot(int)
    def _levels_chosen(self, index: int) -> None:
        self._workspace.select(levels=self._levels.itemData(index))

    @Slot(int)
    def _colors_chosen(self, index: int) -> None:
        self._workspace.select(colors=self._colors.itemData(index))

    # From the workspace ----------------------------------------------------------------------------------------

    @Slot(object)
    def _show_dataset(self, dataset: Dataset) -> None:
        self._badge.setText("generated" if dataset.generated else "real")
        what = "{} × {} pixels".format(*dataset.image_shape) if dataset.image_shape else "no images"
        self._counts.setText(f"{count(len(dataset.train))} train\n{count(len(dataset.test))} test\n{what}")
        lines = [dataset.source, f"Licence: {dataset.licence}", dataset.citation]
        tip = "\n".join(line for line in lines if line)
        self._badge.setToolTip(tip)
        source = self._workspace.source
        # A generator asked for by name at the start may stand beside real files that are there already.
        self._fetch.setVisible(dataset.generated and source is not None and bool(source.key) and not source.generated)
        self._counts.setToolTip(tip)
        self._restore_dataset()

    def _restore_dataset(self) -> None:
        """Let the menu show what is open, also when it is none of the entries."""
        dataset = self._workspace.dataset
        if dataset is None:
            return
        keys = [entry.key for entry in entries()]
        self._datasets.setCurrentIndex(keys.index(dataset.key) if dataset.key else -1)
        self._datasets.setPlaceholderText(dataset.title)

    @Slot(object, object)
    def _show_state(self, state: State, _old: State) -> None:
        parameters, selection = state.parameters, state.selection
        self._noise.set_value(parameters.noise)
        self._noise.set_extra(f"p = {1 - parameters.noise:.2f}")
        self._depth.set_value(parameters.depth)
        self._depth.set_extra("layer" if parameters.depth == 1 else "layers")
        self._threshold.set_value(parameters.threshold)
        self._threshold.setEnabled(SQUASHINGS[parameters.squashing].uses_threshold)
        self._squashing.setCurrentIndex(self._squashing.findData(parameters.squashing))
        self._fit_on.setCurrentIndex(self._fit_on.findData(parameters.fit_on))
        self._levels.setCurrentIndex(self._levels.findData(selection.levels))
        self._colors.setCurrentIndex(self._colors.findData(selection.colors))

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
            noise = f"{stack.parameters.noise:.2f}"
            behind = (
                f"greyed tiles are still those of noise {noise}" if not fresh else f"{fresh} of {depth} layers ready"
            )
            doing = "Fitting…" if workspace.lane.busy else "Stopped (F5 fits again):"
            self._note.setText(f"{doing} {behind}")
        else:
            errors = f"{stack.layers[0].error:.4f} → {stack.layers[depth - 1].error:.4f}"
            self._note.setText(f"Fitted in {workspace.fit_seconds:.2f} s · reconstruction error {errors}")
            self._note.setToolTip(
                "Expected squared error per pixel of the first and the last layer, each reconstructing its own input, "
                "over all corruptions (eq. 5 in the limit; eq. 11)"
            )
