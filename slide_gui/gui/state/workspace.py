"""The open data set, its parameters, fitted layers and selection, with signals for changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoStack

from slide_gui.core.linear_algebra import float32_scatter_is_exact
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Stack
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.files.session import Selection
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.explorer import Explorer, Fit, Preview
from slide_gui.experiments.runs.splits import divide
from slide_gui.gui.state.choices import FileChoices
from slide_gui.gui.state.jobs import Lane, Problem
from slide_gui.gui.state.undo import Change
from slide_gui.progress import Progress
from slide_gui.text import count, counted, pixel_name

MAX_PINS = 16
_MOST_STEPS = 200
_SETTLE_SECONDS = 0.04  # a slider that has not moved for this long counts as released


@dataclass(frozen=True)
class State:
    """The settings for the open data.

    Attributes
    ----------
    test_row : int or None
        The test image that is shown instead of the selected training image.
    drawing : ndarray of shape (rows, columns), or None
        The shown image with the strokes drawn on it.
    """

    parameters: StackParameters = field(default_factory=lambda: StackParameters(depth=4))
    selection: Selection = field(default_factory=Selection)
    test_row: int | None = None
    drawing: NDArray[np.float32] | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class _Opening:
    """A data set that is ready to be shown.

    Attributes
    ----------
    confirmed : bool
        True if the user has confirmed how the files are read.
    state : State or None
        State for it; None for the current parameters with default pins and image.
    """

    source: DataSource
    dataset: Dataset
    explorer: Explorer
    confirmed: bool = False
    state: State | None = None


class Workspace(QObject):
    """The owner of the open data set; pages read it and request changes.

    Signals
    -------
    dataset_changed(object)
        The new `Dataset`.
    state_changed(object, object)
        The new and the old `State`.
    stack_changed()
        `stack`, `preview` or their staleness changed.
    problem(object)
        A `Problem` to show.
    confirmed_changed()
        The user confirmed how the open files were read.
    """

    dataset_changed = Signal(object)
    state_changed = Signal(object, object)
    stack_changed = Signal()
    problem = Signal(object)
    confirmed_changed = Signal()

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.history = QUndoStack(self)
        """Finished changes of parameters, pins, image, strokes, deleted runs and tags; `undo` includes a gesture."""
        self.history.setUndoLimit(_MOST_STEPS)
        self._gesture = ""
        self._before_gesture = State()
        self.choices: FileChoices | None = None
        """Stored settings for reading files; None to store nothing."""
        self.confirmed = True
        """True if nothing was guessed about the open files, or the user has confirmed it."""
        self.fallback: DataSource | None = None
        """Data to open if no data are open and the requested ones cannot be opened."""
        self.state = State()
        self.source: DataSource | None = None
        self.dataset: Dataset | None = None
        self.stack: Stack | None = None
        self.preview: Preview | None = None
        self.fit_seconds = 0.0
        self.fit_problem = ""
        """A warning that hardly any feature differs between rows after the threshold."""
        self._explorer: Explorer | None = None
        self._watched: tuple[int, ...] = ()
        self._blas_checked = False
        self._opening = 0
        lane.problem.connect(self.problem)

    # Opening ---------------------------------------------------------------------------------------------------

    def open(self, source: DataSource, state: State | None = None) -> None:
        """Load a data set in the job queue; the open one stays until the new one is ready.

        Files without settings are read with those stored for them. A given state is restored with them.
        Without it the parameters stay, and pins and image are the defaults.
        """
        titles = {each.key: each.title for each in entries()}  # a session may contain an unknown key
        name = titles.get(source.key, source.key) or f"{len(source.paths)} files"
        name = Path(source.paths[0]).name if len(source.paths) == 1 else name
        title, failure = f"Opening {name}", "The data could not be opened"
        self._load(source, title, failure, lambda _progress: None, state=state)

    def download(self, key: str) -> None:
        """Download the real files of a benchmark data set, then open them."""

        def fetch(progress: Progress) -> None:
            from slide_gui.data.catalogue import download

            download(key, progress=progress)

        title, failure = f"Downloading {key}", "The files could not be downloaded"
        self._load(DataSource(key=key), title, failure, fetch, 0.7)

    def _load(
        self,
        source: DataSource,
        title: str,
        failure: str,
        prepare: Callable[[Progress], None],
        prepared: float = 0.0,
        state: State | None = None,
    ) -> None:
        choices = self.choices if state is None else None  # a session contains how its data are read

        def work(progress: Progress) -> _Opening:
            prepare(progress.part(0.0, prepared))
            self._check_blas()
            known = None if choices is None else choices.recall(source)
            opened = known or source
            dataset = opened.load(progress=progress.part(prepared, 0.95))
            return _ready(opened, dataset, confirmed=known is not None or state is not None, state=state)

        self._submit_opening(title, work, failure)

    @property
    def is_opening(self) -> bool:
        """True if data are being opened or are about to be."""
        return self.lane.wants(self._opening)

    def _submit_opening(
        self,
        title: str,
        work: Callable[[Progress], _Opening],
        failure: str,
    ) -> None:
        self._opening = self.lane.submit(
            title,
            work,
            channel="open",
            on_result=self._opened,
            on_failure=self._not_opened,
            on_stop=self.fall_back,
            failure=failure,
        )

    @Slot(object)
    def _not_opened(self, _error: Exception) -> None:
        self.fall_back()

    def fall_back(self) -> None:
        """Open the fallback if no data are open."""
        if self.dataset is None and self.fallback is not None:
            fallback, self.fallback = self.fallback, None
            self.open(fallback)

    def read_as(self, reading: ParseOptions) -> None:
        """Read the open files with other settings, or confirm the current ones, and store them."""
        source, dataset, choices = self.source, self.dataset, self.choices
        if source is None or dataset is None or not source.paths:
            return
        wanted = replace(source, reading=reading)

        def work(progress: Progress) -> _Opening:
            again = dataset if wanted == source else wanted.load(progress=progress.part(0.0, 0.95))
            if choices is not None:
                choices.remember(wanted)
            return _ready(wanted, again, confirmed=True)

        if wanted == source:
            self.confirmed = True
            self.confirmed_changed.emit()
        self._submit_opening("Opening the data again", work, "The data could not be read with these settings")

    def hold_out(self, held_out: HeldOut) -> None:
        """Split the open data set in another way and store it."""
        source, dataset, choices, confirmed = self.source, self.dataset, self.choices, self.confirmed
        if source is None or dataset is None:
            return
        wanted = replace(source, held_out=held_out)

        def work(_progress: Progress) -> _Opening:
            again = divide(dataset, held_out)
            if choices is not None:
                choices.remember(wanted)
            return _ready(wanted, again, confirmed=confirmed)

        self._submit_opening("Splitting the rows", work, "The rows could not be split like this")

    def _check_blas(self) -> None:
        """Refuse to fit with a NumPy whose float32 products are wrong; runs once, in the job queue."""
        if not self._blas_checked and not float32_scatter_is_exact():
            raise RuntimeError(
                "this NumPy multiplies float32 matrices wrongly, so every result would be wrong. "
                "Install another NumPy and start again"
            )
        self._blas_checked = True

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Open files or a folder as one data set."""
        self.open(DataSource(paths=tuple(str(path) for path in paths)))

    def model(self) -> FittedModel | None:
        """Return the fitted layers with their stamp, or None unless they match the parameters."""
        dataset, stack, depth = self.dataset, self.stack, self.state.parameters.depth
        if dataset is None or stack is None or not all(self.layer_is_fresh(k) for k in range(1, depth + 1)):
            return None
        stack = replace(stack, parameters=self.state.parameters, layers=stack.layers[:depth])
        return FittedModel(
            stack, dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated, self.fit_seconds,
            feature_names=dataset.feature_names,
        )  # fmt: skip

    def has_feature(self, feature: int) -> bool:
        """True if the open data set has this feature; a view can briefly show earlier data."""
        return self.dataset is not None and 0 <= feature < self.dataset.n_features

    def feature_name(self, feature: int) -> str:
        """Return the name of a pixel or feature, or its number if it does not exist."""
        dataset = self.dataset
        if dataset is None or not self.has_feature(feature):
            return str(feature)
        return pixel_name(feature, dataset.image_shape, dataset.feature_names)

    @Slot(object)
    def _opened(self, opened: _Opening) -> None:
        before, dataset = self.dataset, opened.dataset
        confirmed = opened.confirmed or all(check.sure for check in dataset.checks)
        if before is dataset and opened.state is None:
            self.source, self.confirmed = opened.source, confirmed
            return
        state = opened.state or self.state
        same_rows = before is not None and _whole(before) == _whole(dataset)
        selection = state.selection
        if not same_rows and opened.state is None:
            selection = replace(selection, pins=_first_pins(dataset), sample=_first_sample(dataset))
        state = replace(state, selection=_fitting(selection, dataset), test_row=None, drawing=None)
        self.state, old = state, self.state
        self.dataset, self.source, self._explorer = dataset, opened.source, opened.explorer
        self.confirmed = confirmed
        self.stack = self.preview = None
        self._watched = ()
        self._gesture = ""
        self.history.clear()
        self.dataset_changed.emit(self.dataset)
        self.state_changed.emit(self.state, old)
        self._fit(settle=0.0)

    # State and undo --------------------------------------------------------------------------------------------

    def set_parameters(self, gesture: str = "", **changes: Any) -> None:
        """Change fit parameters; the layers follow.

        Consecutive changes of the same gesture are one step of undo, which `end_gesture` completes.
        """
        self._change(replace(self.state, parameters=replace(self.state.parameters, **changes)), gesture)

    def select(self, gesture: str = "", **changes: Any) -> None:
        """Change the selection; another image replaces a test image and a drawing."""
        state = replace(self.state, selection=replace(self.state.selection, **changes))
        if "sample" in changes:
            state = replace(state, test_row=None, drawing=None)
        self._change(state, gesture)

    def show_test(self, row: int) -> None:
        """Show a test image instead of the selected training image."""
        text = f"showing test image {count(row + 1)}"
        self._change(replace(self.state, test_row=row, drawing=None), text=text)

    def draw(self, image: NDArray[np.float32] | None, text: str) -> None:
        """Set the drawing, or remove it; `text` names the change in the Edit menu."""
        self._change(replace(self.state, drawing=image), text=text)

    def push(self, text: str, apply: Callable[[Any], object], before: Any, after: Any) -> None:
        """Record a change that has been made, so that it can be undone."""
        self.end_gesture()
        self.history.push(Change(text, apply, before, after))

    @Slot()
    def end_gesture(self) -> None:
        """Complete the changes of a gesture as one step of undo."""
        if self._gesture:
            self._gesture, before = "", self._before_gesture
            if not _same(before, self.state):
                self.history.push(Change(_changed(self.state, before), self._replace, before, self.state))

    @property
    def undo_text(self) -> str:
        """The change that `undo` would revert; empty if there is none."""
        if self._gesture and not _same(self._before_gesture, self.state):
            return _changed(self.state, self._before_gesture)
        return self.history.undoText()

    @Slot()
    def undo(self) -> None:
        """Revert the last change."""
        self.end_gesture()
        self.history.undo()

    @Slot()
    def redo(self) -> None:
        """Make the change again that was undone last."""
        self.end_gesture()
        self.history.redo()

    @Slot(object)
    def toggle_pin(self, feature: int) -> None:
        """Pin a feature or release its pin; there are at most `MAX_PINS`."""
        pins = self.state.selection.pins
        if not self.has_feature(feature):
            return
        if feature in pins:
            self.select(pins=tuple(pin for pin in pins if pin != feature))
        elif len(pins) < MAX_PINS:
            self.select(pins=(*pins, feature))
        else:
            text = f"{MAX_PINS} pixels are pinned already. Release one first."
            self.problem.emit(Problem("No more pins are possible", text))

    def _change(self, state: State, gesture: str = "", text: str = "") -> None:
        before = self.state
        if _same(state, before):
            return
        if not gesture or gesture != self._gesture:
            self.end_gesture()
            self._gesture, self._before_gesture = gesture, before
        self._replace(state)
        if not gesture:
            self.history.push(Change(text or _changed(state, before), self._replace, before, self.state))

    @Slot(object)
    def _replace(self, state: State) -> None:
        if self.dataset is not None:
            state = replace(state, selection=_fitting(state.selection, self.dataset))
        old, self.state = self.state, state
        self.state_changed.emit(state, old)
        if state.parameters != old.parameters:
            self._fit(settle=_SETTLE_SECONDS)

    @Slot()
    def cancel(self) -> None:
        """Stop the fit; the previous layers stay, in grey if they do not match the parameters."""
        self.lane.cancel()
        self.stack_changed.emit()
        self.fall_back()

    @Slot()
    def fit_again(self) -> None:
        """Fit with the current parameters after a cancelled or failed fit."""
        self._fit(settle=0.0)

    # Fitting ---------------------------------------------------------------------------------------------------

    def watch(self, features: tuple[int, ...]) -> None:
        """Set the rows of the first layer to preview while the noise slider moves."""
        self._watched = features

    def layer_is_fresh(self, layer: int) -> bool:
        """True if a layer, 1 to the depth of `stack`, matches the parameters."""
        stack = self.stack
        if stack is None or len(stack.layers) < layer:
            return False
        ours, wanted = stack.parameters, self.state.parameters
        return ours is wanted or replace(ours, depth=wanted.depth) == wanted

    def _fit(self, settle: float) -> None:
        explorer, parameters, features = self._explorer, self.state.parameters, self._watched
        if explorer is None:
            return
        fresh = all(self.layer_is_fresh(k + 1) for k in range(parameters.depth))
        if fresh and self.stack is not None:
            self.lane.cancel(channel="fit")
            self.preview = None  # it may belong to earlier parameters
            self.stack_changed.emit()
            return
        stored = explorer.stored_fit(parameters)
        if stored is not None:
            self.lane.cancel(channel="fit")
            self._fitted(stored)
            return

        def work(progress: Progress) -> Fit:
            explorer.update(parameters, features, settle=settle, progress=progress)
            fit = explorer.stored_fit(parameters)
            assert fit is not None
            progress.report(1.0, fit)
            explorer.prepare(parameters)
            return fit

        self.lane.submit(
            f"Fitting {counted(parameters.depth, 'layer')}",
            work,
            channel="fit",
            on_payload=self._fitted,
            on_result=self._fitted,
            on_failure=self._not_fitted,
            on_stop=self.stack_changed.emit,
            failure="The layers could not be fitted",
        )
        self.stack_changed.emit()

    @Slot(object)
    def _fitted(self, payload: Preview | Stack | Fit) -> None:
        if isinstance(payload, Preview):
            self.preview = payload
        else:
            fit = payload if isinstance(payload, Fit) else Fit(payload, 0.0)
            if fit.stack is self.stack and fit.seconds == self.fit_seconds and self.preview is None:
                return  # the result equals the last report
            self.preview, self.stack, self.fit_seconds, self.fit_problem = None, fit.stack, fit.seconds, fit.problem
        self.stack_changed.emit()

    @Slot(object)
    def _not_fitted(self, _error: Exception) -> None:
        self.stack_changed.emit()


def panel_parameters(parameters: StackParameters) -> dict[str, Any]:
    """Return the parameters of a stack that the panel sets, by name."""
    return {name: getattr(parameters, name) for name in ("noise", "ridge", "depth", "threshold", "squashing", "fit_on")}


_CHANGES = {
    "noise": "change of noise",
    "ridge": "change of ridge",
    "depth": "change of depth",
    "threshold": "change of threshold",
    "squashing": "change of squashing function",
    "fit_on": "change of the layers’ input",
    "pins": "change of pins",
    "sample": "change of image",
    "transposed": "change of rows and columns",
    "levels": "change of colour limits",
    "colors": "change of colour map",
    "show": "change of weights or contributions",
}
"""Names of changes after "Undo"."""


def _same(state: State, other: State) -> bool:
    return state == other and state.drawing is other.drawing


def _changed(state: State, old: State) -> str:
    """Return the name of the change between two states."""
    names = [
        each.name
        for now, before in ((state.parameters, old.parameters), (state.selection, old.selection))
        for each in fields(now)
        if getattr(now, each.name) != getattr(before, each.name)
    ]
    several = "change of parameters"
    return _CHANGES.get(names[0], several) if len(names) == 1 else several


def _ready(source: DataSource, dataset: Dataset, *, confirmed: bool, state: State | None = None) -> _Opening:
    """Return data that are ready to be shown; runs in the job queue.

    Raises
    ------
    DataError
        If no denoiser can be fitted to them.
    """
    if len(dataset.train) < 2:
        raise DataError("has 1 training row, but a denoiser needs at least two; add rows", dataset.source)
    _ = dataset.fingerprint, dataset.checks  # cached here, because hashing would block the GUI thread
    return _Opening(source, dataset, Explorer(dataset.train), confirmed, state)


def _whole(dataset: Dataset) -> str:
    """Return the fingerprint of all rows, which does not depend on the split."""
    return dataset.whole or dataset.fingerprint


def _first_pins(dataset: Dataset) -> tuple[int, ...]:
    from slide_gui.experiments.inspection.rows import default_pixels

    mean = dataset.train[:: max(1, len(dataset.train) // 2000)].mean(axis=0, dtype=np.float64)
    return default_pixels(dataset.image_shape, mean)


def _fitting(selection: Selection, dataset: Dataset) -> Selection:
    """Return the selection without features and rows that these data lack."""
    pins = dict.fromkeys(pin for pin in selection.pins if 0 <= pin < dataset.n_features)
    sample, last = selection.sample, len(dataset.train) - 1
    sample = ~min(~sample, last) if sample < 0 else min(sample, last)
    return replace(selection, pins=tuple(pins)[:MAX_PINS], sample=sample)


def _first_sample(dataset: Dataset) -> int:
    return min(16, len(dataset.train) - 1)
