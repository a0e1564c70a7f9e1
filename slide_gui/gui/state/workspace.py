"""What is open now: data set, parameters, fitted layers and selection, with signals when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.linear_algebra import float32_scatter_is_exact
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Stack
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.data.reading import ParseOptions
from slide_gui.experiments.inspection.explorer import Explorer, Fit, Preview
from slide_gui.experiments.model_file import FittedModel
from slide_gui.experiments.session import Selection
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.splits import divide
from slide_gui.gui.state.choices import FileChoices
from slide_gui.gui.state.history import History, Step
from slide_gui.gui.state.jobs import Lane, Problem
from slide_gui.progress import Progress
from slide_gui.text import counted, pixel_name

__all__ = ["MAX_PINS", "State", "Workspace", "panel_parameters"]

MAX_PINS = 16
_SETTLE_SECONDS = 0.04  # a slider that rests this long is taken to have arrived
_MOST_PREVIOUS, _MOST_BYTES = 2, 1 << 30  # data sets kept beside the one that is open, so that undo need not load them


@dataclass(frozen=True)
class State:
    """What is set of the data that are open."""

    parameters: StackParameters = field(default_factory=lambda: StackParameters(depth=4))
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, eq=False)
class _Opening:
    """Data that are ready to be shown.

    Attributes
    ----------
    confirmed : bool
        Whether a person has said how the files are to be read, now or earlier.
    state : State or None
        To show them in; None: as it is, with the usual pins and image.
    """

    source: DataSource
    dataset: Dataset
    explorer: Explorer
    confirmed: bool = False
    state: State | None = None

    @property
    def n_bytes(self) -> int:
        """What it takes in memory."""
        return self.dataset.train.nbytes + self.dataset.test.nbytes + self.explorer.n_bytes


@dataclass(frozen=True)
class _Place:
    """What brings data back that were open, as they were shown."""

    source: DataSource
    fingerprint: str
    confirmed: bool
    state: State


class Workspace(QObject):
    """The one owner of what is open; pages read it and ask it for changes.

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
        A person confirmed how the files that are open were read.
    """

    dataset_changed = Signal(object)
    state_changed = Signal(object, object)
    stack_changed = Signal()
    problem = Signal(object)
    confirmed_changed = Signal()

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.history = History(self)
        """What was changed here and on the pages."""
        self.choices: FileChoices | None = None
        """Where it is remembered how files were read; None: nowhere."""
        self.confirmed = True
        """Whether nothing was guessed of the files that are open, or a person has confirmed it."""
        self.fallback: DataSource | None = None
        """What is opened where nothing is open and what was asked for cannot be."""
        self.state = State()
        self.source: DataSource | None = None
        self.dataset: Dataset | None = None
        self.stack: Stack | None = None
        self.preview: Preview | None = None
        self.fit_seconds = 0.0
        self.fit_problem = ""
        """A warning that hardly any feature differs between rows after the threshold."""
        self._explorer: Explorer | None = None
        self._previous: tuple[_Opening, ...] = ()  # what was open before, the last one last
        self._watched: tuple[int, ...] = ()
        self._blas_checked = False
        self._opening = 0
        lane.problem.connect(self.problem)

    # Opening ---------------------------------------------------------------------------------------------------

    def open(self, source: DataSource, state: State | None = None) -> None:
        """Load a data set in the lane; what was open stays until the new one is complete.

        Files that nothing is said of are read as they were before. With them may come the state to show them in;
        without, the parameters stay and pins and image are the usual ones.
        """
        titles = {each.key: each.title for each in entries()}  # a session may name what no one knows
        name = titles.get(source.key, source.key) or f"{len(source.paths)} files"
        name = Path(source.paths[0]).name if len(source.paths) == 1 else name
        title, failure = f"Opening {name}", "The data could not be opened"
        self._load(source, title, failure, lambda _progress: None, state=state)

    def download(self, key: str) -> None:
        """Fetch the real files of a benchmark data set, then open them."""

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
        choices = self.choices if state is None else None  # a state comes with how its data are read

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
        """Whether data are being opened, or are about to be."""
        return self.lane.wants(self._opening)

    def _submit_opening(
        self,
        title: str,
        work: Callable[[Progress], _Opening],
        failure: str,
        deliver: Callable[[_Opening], None] | None = None,
    ) -> None:
        self.history.fail()
        self._opening = self.lane.submit(
            title,
            work,
            channel="open",
            on_result=deliver or self._opened,
            on_failure=self._not_opened,
            on_stop=self.fall_back,
            failure=failure,
        )

    @Slot(object)
    def _not_opened(self, _error: Exception) -> None:
        self.fall_back()

    def fall_back(self) -> None:
        """Open something where nothing is open."""
        self.history.fail()
        if self.dataset is None and self.fallback is not None:
            fallback, self.fallback = self.fallback, None
            self.open(fallback)

    def read_as(self, reading: ParseOptions) -> None:
        """Read the files that are open in another way, or confirm how they were read; it is remembered."""
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
        self._submit_opening("Opening the data again", work, "The data could not be read so")

    def hold_out(self, held_out: HeldOut) -> None:
        """Divide the data that are open in another way; it is remembered."""
        source, dataset, choices, confirmed = self.source, self.dataset, self.choices, self.confirmed
        if source is None or dataset is None:
            return
        wanted = replace(source, held_out=held_out)

        def work(_progress: Progress) -> _Opening:
            again = divide(dataset, held_out)
            if choices is not None:
                choices.remember(wanted)
            return _ready(wanted, again, confirmed=confirmed)

        self._submit_opening("Dividing the rows", work, "The rows could not be divided so")

    def _check_blas(self) -> None:
        """Refuse to fit anything on a NumPy whose float32 products are wrong; runs in the lane, once."""
        if not self._blas_checked and not float32_scatter_is_exact():
            raise RuntimeError(
                "this NumPy multiplies float32 matrices wrongly, so that every result would be wrong; "
                "install another NumPy and start again"
            )
        self._blas_checked = True

    def open_paths(self, paths: Sequence[Path]) -> None:
        """Open files or a folder as one data set."""
        self.open(DataSource(paths=tuple(str(path) for path in paths)))

    def model(self) -> FittedModel | None:
        """Return the fitted layers with their stamp, or None while they are not those of the parameters set."""
        dataset, stack, depth = self.dataset, self.stack, self.state.parameters.depth
        if dataset is None or stack is None or not all(self.layer_is_fresh(k) for k in range(1, depth + 1)):
            return None
        stack = replace(stack, parameters=self.state.parameters, layers=stack.layers[:depth])
        return FittedModel(
            stack, dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated, self.fit_seconds,
            feature_names=dataset.feature_names,
        )  # fmt: skip

    def has_feature(self, feature: int) -> bool:
        """Whether the data that are open have so many; a view may still show others for a moment."""
        return self.dataset is not None and 0 <= feature < self.dataset.n_features

    def feature_name(self, feature: int) -> str:
        """Return what a pixel or a feature of the data that are open is called; its number if it is none of them."""
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
        state = replace(state, selection=_fitting(selection, dataset))
        was = self._place()
        if was is not None:
            now = _Place(opened.source, dataset.fingerprint, confirmed, state)
            self.history.push(Step(_opening_text(opened, was.source), self._go_to, was, now))
        self._show(replace(opened, confirmed=confirmed, state=state))

    def _show(self, opened: _Opening) -> None:
        """Let data take the place of what is open, which is kept for a while."""
        assert opened.state is not None
        previous = [each for each in self._previous if each.dataset not in (self.dataset, opened.dataset)]
        if self.dataset is not None and self.source is not None and self._explorer is not None:
            previous.append(_Opening(self.source, self.dataset, self._explorer))
        while len(previous) > _MOST_PREVIOUS or sum(each.n_bytes for each in previous) > _MOST_BYTES:
            del previous[0]
        self._previous = tuple(previous)
        old, self.state = self.state, opened.state
        self.dataset, self.source, self._explorer = opened.dataset, opened.source, opened.explorer
        self.confirmed = opened.confirmed
        self.stack = self.preview = None
        self._watched = ()
        self.dataset_changed.emit(self.dataset)
        self.state_changed.emit(self.state, old)
        self._fit(settle=0.0)

    def _place(self) -> _Place | None:
        """Return where what is open now is found again."""
        if self.source is None or self.dataset is None:
            return None
        return _Place(self.source, self.dataset.fingerprint, self.confirmed, self.state)

    @Slot(object)
    def _go_to(self, place: _Place) -> None:
        """Show data that were open before: at once where they are kept, else when they are loaded."""
        self._remember(place)
        for each in self._previous:
            if (each.source, each.dataset.fingerprint) == (place.source, place.fingerprint):
                self._show(replace(each, confirmed=place.confirmed, state=place.state))
                return

        def work(progress: Progress) -> _Opening:
            dataset = place.source.load(progress=progress.part(0.0, 0.95))
            return _ready(place.source, dataset, confirmed=place.confirmed, state=place.state)

        failure = "The data could not be opened again"
        self._submit_opening("Opening the data again", work, failure, self._returned)
        self.history.wait()

    def _remember(self, place: _Place) -> None:
        """Where files are read or divided in the way of before again, remember that."""
        choices, source = self.choices, self.source
        if choices is None or source is None or source == place.source or source.paths != place.source.paths:
            return
        if place.confirmed:
            self.lane.submit(
                "Remembering how the files are read",
                lambda _progress: choices.remember(place.source),
                channel="remember",
                failure="How the files are read could not be remembered",
            )

    @Slot(object)
    def _returned(self, opened: _Opening) -> None:
        assert opened.state is not None
        state = replace(opened.state, selection=_fitting(opened.state.selection, opened.dataset))
        self.history.arrive(lambda: self._show(replace(opened, state=state)))

    # State and history -----------------------------------------------------------------------------------------

    def set_parameters(self, gesture: str = "", **changes: Any) -> None:
        """Change fit parameters; the layers follow. Changes of the same gesture undo together."""
        self._change(replace(self.state, parameters=replace(self.state.parameters, **changes)), gesture)

    def select(self, gesture: str = "", **changes: Any) -> None:
        """Change what is looked at."""
        self._change(replace(self.state, selection=replace(self.state.selection, **changes)), gesture)

    @Slot(object)
    def toggle_pin(self, feature: int) -> None:
        """Pin a feature, or release it if it is pinned; at most `MAX_PINS`."""
        pins = self.state.selection.pins
        if not self.has_feature(feature):
            return
        if feature in pins:
            self.select(pins=tuple(pin for pin in pins if pin != feature))
        elif len(pins) < MAX_PINS:
            self.select(pins=(*pins, feature))
        else:
            said = f"{MAX_PINS} pixels are pinned already; release one first."
            self.problem.emit(Problem("No more pins", said))

    def _change(self, state: State, gesture: str) -> None:
        if state != self.state:
            self.history.push(Step(_changed(state, self.state), self._replace, self.state, state, gesture))
            self._replace(state)

    @Slot(object)
    def _replace(self, state: State) -> None:
        if self.dataset is not None:  # a step may be of data that are not open any longer
            state = replace(state, selection=_fitting(state.selection, self.dataset))
        old, self.state = self.state, state
        self.state_changed.emit(state, old)
        if state.parameters != old.parameters:
            self._fit(settle=_SETTLE_SECONDS)

    @Slot()
    def cancel(self) -> None:
        """Stop what runs; what was shown stays, greyed where it is not what the parameters ask for."""
        self.lane.cancel()
        self.stack_changed.emit()
        self.fall_back()

    @Slot()
    def fit_again(self) -> None:
        """Fit with the parameters as they are, where that was cancelled or failed."""
        self._fit(settle=0.0)

    # Fitting ---------------------------------------------------------------------------------------------------

    def watch(self, features: tuple[int, ...]) -> None:
        """Say whose rows of the first layer are wanted while the noise moves."""
        self._watched = features

    def layer_is_fresh(self, layer: int) -> bool:
        """Whether layer 1 … depth of `stack` was made by the parameters that are set now."""
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
            self.preview = None  # it may be of parameters that were left again
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
                return  # the result is what was reported last
            self.preview, self.stack, self.fit_seconds, self.fit_problem = None, fit.stack, fit.seconds, fit.problem
        self.stack_changed.emit()

    @Slot(object)
    def _not_fitted(self, _error: Exception) -> None:
        self.stack_changed.emit()


def panel_parameters(parameters: StackParameters) -> dict[str, Any]:
    """Return what a person sets of a stack's parameters, by name."""
    return {name: getattr(parameters, name) for name in ("noise", "ridge", "depth", "threshold", "squashing", "fit_on")}


_CHANGES = {
    "noise": "change of noise",
    "ridge": "change of ridge",
    "depth": "change of depth",
    "threshold": "change of threshold",
    "squashing": "change of squashing function",
    "fit_on": "change of what the layers are fitted on",
    "pins": "change of pins",
    "sample": "change of image",
    "transposed": "change of rows and columns",
    "levels": "change of limits of the colours",
    "colors": "change of colors",
    "show": "change of what tiles show",
}
"""What a person changes of parameters and selection, as it follows "Undo"."""


def _opening_text(opened: _Opening, before: DataSource) -> str:
    """Return what was done when these data took the place of others, or of the same that were read otherwise."""
    source = opened.source
    if (source.key, source.paths) == (before.key, before.paths):
        if source.held_out != before.held_out:
            return "division of the rows"
        if source.reading != before.reading:
            return "reading of the files"
    return f"opening {opened.dataset.name}"


def _changed(state: State, old: State) -> str:
    """Return what differs between two states."""
    names = [
        each.name
        for now, before in ((state.parameters, old.parameters), (state.selection, old.selection))
        for each in fields(now)
        if getattr(now, each.name) != getattr(before, each.name)
    ]
    several = "change of parameters"
    return _CHANGES.get(names[0], several) if len(names) == 1 else several


def _ready(source: DataSource, dataset: Dataset, *, confirmed: bool, state: State | None = None) -> _Opening:
    """Return data that can be shown; for the lane.

    Raises
    ------
    DataError
        If no denoiser can be fitted to them.
    """
    if len(dataset.train) < 2:
        raise DataError("has 1 row to train on, and a denoiser needs two; give more rows", dataset.source)
    _ = dataset.fingerprint, dataset.checks  # hashed and compared here, off the GUI thread
    return _Opening(source, dataset, Explorer(dataset.train), confirmed, state)


def _whole(dataset: Dataset) -> str:
    """Return the fingerprint of all the rows, however they are divided."""
    return dataset.whole or dataset.fingerprint


def _first_pins(dataset: Dataset) -> tuple[int, ...]:
    from slide_gui.experiments.inspection.rows import default_pixels

    mean = dataset.train[:: max(1, len(dataset.train) // 2000)].mean(axis=0, dtype=np.float64)
    return default_pixels(dataset.image_shape, mean)


def _fitting(selection: Selection, dataset: Dataset) -> Selection:
    """Return the selection without what these data do not have."""
    pins = dict.fromkeys(pin for pin in selection.pins if 0 <= pin < dataset.n_features)
    sample, last = selection.sample, len(dataset.train) - 1
    sample = ~min(~sample, last) if sample < 0 else min(sample, last)
    return replace(selection, pins=tuple(pins)[:MAX_PINS], sample=sample)


def _first_sample(dataset: Dataset) -> int:
    return min(16, len(dataset.train) - 1)
