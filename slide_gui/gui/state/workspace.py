"""The workspace: the open data set with its parameters and selection, and signals that report their changes."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from slide_gui.core.linear_algebra import float32_scatter_is_exact
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset, HeldOut
from slide_gui.data.entries import entries
from slide_gui.data.errors import DataError
from slide_gui.data.reading import NO_COLUMN, Guess, ParseOptions, find_column, likely_labels
from slide_gui.experiments.files.session import Selection
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.rows import Explorer, default_pixels
from slide_gui.experiments.runs.splits import divide
from slide_gui.gui.state.files import FileChoices
from slide_gui.gui.state.fitting import Fitting
from slide_gui.gui.state.jobs import JobQueue, UserMessage
from slide_gui.gui.state.undo import UndoHistory
from slide_gui.progress import Progress
from slide_gui.text import count, of_table, pixel_name

if TYPE_CHECKING:
    from slide_gui.core.slide.stack import Stack
    from slide_gui.experiments.files.model_file import FittedModel

MAX_PINS = 16
# Maximum memory in bytes for the layers of data sets that were open before. Four layers on MNIST take 20 MB.
_MOST_BYTES = 128 << 20
_REST_MILLISECONDS = 100
_FIRST_SAMPLE = 16  # Index of the training image that is shown first.


@dataclass(frozen=True, eq=False)
class State:
    """The parameters of the layers, the selected pixels and display settings, and the image that is shown.

    Two states are equal if they have the same object as `drawing` and all their other attributes are equal.

    Attributes
    ----------
    test_row : int or None
        Row of the test image that is shown instead of the selected training image; None to show the training image.
    drawing : ndarray of shape (rows, columns), or None
        The shown image with the user's strokes; None if the user has not drawn on it.
    """

    parameters: StackParameters = field(default_factory=lambda: StackParameters(depth=4))
    selection: Selection = field(default_factory=Selection)
    test_row: int | None = None
    drawing: NDArray[np.float32] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Return all attributes of `parameters` and `selection` by name."""
        return vars(self.parameters) | vars(self.selection)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self.drawing is other.drawing
            and (self.parameters, self.selection, self.test_row) == (other.parameters, other.selection, other.test_row)
        )


@dataclass(frozen=True, eq=False)
class Opened:
    """A data set that is ready to be shown.

    Attributes
    ----------
    confirmed : bool
        True if the user has confirmed how the files are read.
    state : State or None
        State in which to show the data. If None, the current parameters are retained. The current pins and image are
        retained only if the previous data contain the same rows; otherwise, the defaults are used.
    """

    source: DataSource
    dataset: Dataset
    explorer: Explorer
    confirmed: bool = False
    state: State | None = None


class Workspace(QObject):
    """Holds the open data set with its parameters and selection, which the pages show and change.

    Attributes
    ----------
    fitting : Fitting
        The layers fitted to the open data.
    history : UndoHistory
        The history of changes that can be undone: parameters, pins, image, strokes, tags and deleted runs.
    choices : FileChoices or None
        Stored settings for reading files; if None, no settings are stored.
    confirmed : bool
        True if the open files were read without uncertain guesses, or if the user has confirmed the guesses.
    fallback : DataSource or None
        Data to open if no data are open and the requested data cannot be opened.
    feature_names : tuple of str
        Names of all pixels or features of the open data.
    earlier : tuple of FittedModel
        The layers fitted to data sets that were open before, without scatter matrices; the most recent data set is
        first.

    Signals
    -------
    dataset_changed(object)
        A data set has been opened; the argument is the `Dataset`.
    state_changed(object, object)
        The state changed; the arguments are the new and the old `State`.
    rested()
        The data, state, layers and undo history have not changed for 100 ms. Views connect less urgent updates to this
        signal.
    problem(object)
        A `UserMessage` to show.
    confirmed_changed()
        The user confirmed how the open files were read.
    not_opened()
        Opening or splitting data failed or was stopped by the user.
    """

    dataset_changed = Signal(object)
    state_changed = Signal(object, object)
    rested = Signal()
    problem = Signal(object)
    confirmed_changed = Signal()
    not_opened = Signal()

    def __init__(self, queue: JobQueue, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.queue = queue
        self.fitting = Fitting(queue, self)
        self.history = UndoHistory(self)
        self.choices: FileChoices | None = None
        self.confirmed = True
        self.fallback: DataSource | None = None
        self.state = State()
        self.source: DataSource | None = None
        self.dataset: Dataset | None = None
        self.feature_names: tuple[str, ...] = ()
        self.earlier: tuple[FittedModel, ...] = ()
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rest.timeout.connect(self.rested)
        for changed in (self.dataset_changed, self.state_changed, self.fitting.changed, self.history.indexChanged):
            changed.connect(self.rest)
        queue.problem.connect(self.problem)

    @Slot()
    def rest(self) -> None:
        """Emit the signal `rested` after 100 ms, unless this method is called again within this time."""
        self._rest.start()

    @property
    def is_at_rest(self) -> bool:
        """True if the signal `rested` has been emitted since the last change."""
        return not self._rest.isActive()

    # Opening ---------------------------------------------------------------------------------------------------

    def open(self, source: DataSource, state: State | None = None, *, download: bool = False) -> None:
        """Load a data set in the job queue. The previous data set remains open until the new one is ready.

        Parameters
        ----------
        source : DataSource
            Data to open. If it contains files without settings for reading them, the settings stored for these files
            are used.
        state : State, optional
            State in which to show the data, as in `Opened`.
        download : bool
            True to download the files of a benchmark data set first.
        """
        # Use the key as the name if a session contains the key of a data set that this version does not offer.
        titles = {each.key: each.title for each in entries()}
        name = titles.get(source.key, source.key) or f"{len(source.paths)} files"
        name = Path(source.paths[0]).name if len(source.paths) == 1 else name
        # With `state`, the data belong to a session, which contains the settings for reading its files.
        choices = self.choices if state is None else None

        def work(progress: Progress) -> Opened:
            if download:
                from slide_gui.data import catalogue

                catalogue.download(source.key, progress=progress.part(0.0, 0.7))
                progress = progress.part(0.7, 1.0)
            _check_blas()
            stored = None if choices is None else choices.recall(source)
            wanted, confirmed, first = stored or source, bool(stored or state), self.dataset is None and state is None
            try:
                dataset = wanted.load(progress=progress.part(0.0, 0.95))
            except DataError as error:
                if state is not None:
                    raise
                wanted, dataset, confirmed = *_without_labels(wanted, error, progress.part(0.0, 0.95)), False
            return _ready(wanted, dataset, confirmed=confirmed, state=state, first=first)

        if download:
            self._submit_opening(f"Downloading {source.key}", work, "The files could not be downloaded")
        else:
            self._submit_opening(f"Opening {name}", work, "The data could not be opened")

    @property
    def is_opening(self) -> bool:
        """True if a job that opens data is running or waiting."""
        return self.queue.wants("open")

    def _submit_opening(self, title: str, work: Callable[[Progress], Opened], failure: str) -> None:
        self.queue.submit(
            title,
            work,
            channel="open",
            on_result=self._opened,
            on_failure=self._not_opened,
            on_stop=self._not_opened,
            failure=failure,
        )

    def snapshot(self) -> Opened | None:
        """Return the open data with their source and state, or None if no data are open."""
        dataset, source, explorer = self.dataset, self.source, self.fitting.explorer
        if dataset is None or source is None or explorer is None:
            return None
        return Opened(source, dataset, explorer, self.confirmed, self.state)

    def restore(self, opened: Opened, state: State) -> None:
        """Show the data of a snapshot in the given state. If data are being opened at this time, stop opening them."""
        self.queue.cancel(channel="open")
        if opened.dataset is not self.dataset:
            self._opened(opened)
        self._replace(state)

    def _not_opened(self, _error: Exception | None = None) -> None:
        self.fall_back()
        self.not_opened.emit()

    def fall_back(self) -> None:
        """Open the data set `fallback` if no other data set is open."""
        if self.dataset is None and self.fallback is not None:
            fallback, self.fallback = self.fallback, None
            self.open(fallback)

    def read_as(self, reading: ParseOptions) -> None:
        """Read the open files with the settings `reading`; if these are already used, only confirm and store them."""
        source, dataset = self.source, self.dataset
        if source is None or dataset is None or not source.paths:
            return
        wanted = replace(source, reading=reading)
        if wanted == source:
            self.confirmed = True
            self.confirmed_changed.emit()

        def load(progress: Progress) -> Dataset:
            return dataset if wanted == source else wanted.load(progress=progress.part(0.0, 0.95))

        failure = "The data could not be read with these settings"
        self._open_again("Opening the data again", wanted, load, failure, confirmed=True)

    def hold_out(self, held_out: HeldOut) -> None:
        """Split the open data set as specified in `held_out`, and store this split."""
        source, dataset = self.source, self.dataset
        if source is None or dataset is None:
            return

        def load(progress: Progress) -> Dataset:
            return divide(dataset, held_out, progress=progress)

        wanted, failure = replace(source, held_out=held_out), "The rows could not be split in this way"
        self._open_again("Splitting the rows", wanted, load, failure, confirmed=self.confirmed)

    def _open_again(
        self, title: str, source: DataSource, load: Callable[[Progress], Dataset], failure: str, *, confirmed: bool
    ) -> None:
        """Load the open data again with the settings in `source`, using the job queue, and store these settings.

        Even if `confirmed` is True, the user must confirm changed settings for reading in two cases. Either the data
        cause a new warning, or their labels now look like a numeric quantity.
        """
        choices, before = self.choices, self.dataset
        shown = set(before.checks if before else ())
        is_other = self.source is None or source.reading != self.source.reading

        def work(progress: Progress) -> Opened:
            dataset = load(progress)
            if choices is not None:
                choices.remember(source)
            new = {guess for guess in dataset.checks if not guess.sure}.difference(shown, dataset.opened.guesses)
            asks = new or (dataset.opened.quantity and not (before and before.opened.quantity))
            return _ready(source, dataset, confirmed=confirmed and not (is_other and asks))

        self._submit_opening(title, work, failure)

    def model(self) -> "FittedModel | None":
        """Return the fitted layers as a model, or None if not all layers are fitted with the current parameters."""
        dataset, stack, parameters = self.dataset, self.fitting.stack, self.state.parameters
        if dataset is None or stack is None or self.fitting.n_fresh < parameters.depth:
            return None
        stack = replace(stack, parameters=parameters, layers=stack.layers[: parameters.depth])
        return self._fitted_model(dataset, stack)

    def _fitted_model(self, dataset: Dataset, stack: "Stack") -> "FittedModel":
        # `model_file` is imported only when needed, because it imports the SVM modules, which delays the start.
        from slide_gui.experiments.files.model_file import FittedModel

        return FittedModel.of(dataset, stack, self.fitting.seconds)

    def _keep_layers(self) -> None:
        """Add the layers of the open data to `earlier`. If these take more than `_MOST_BYTES`, discard the oldest."""
        dataset, stack = self.dataset, self.fitting.stack
        if dataset is None or stack is None or not stack.layers:
            return
        layers = tuple(replace(layer, scatter=None) for layer in stack.layers[: self.state.parameters.depth])
        model = self._fitted_model(dataset, replace(stack, layers=layers))
        models, left = [], _MOST_BYTES
        for each in (model, *(other for other in self.earlier if other.fingerprint != model.fingerprint)):
            left -= sum(layer.weights.nbytes for layer in each.stack.layers)
            models += [each] if left >= 0 else []
        self.earlier = tuple(models)

    def has_feature(self, feature: int) -> bool:
        """Return True if the open data set has this feature.

        Views that still show the previous data may request features that are missing in the open data.
        """
        return 0 <= feature < len(self.feature_names)

    def has_parameters(self, stored: StackParameters) -> bool:
        """Return True if the parameters in the panel equal the parameters `stored` of a stored run.

        Parameters without effect, such as the noise level at depth 0, are ignored, because stored runs contain their
        default values.
        """
        now, default = self.state.parameters, StackParameters()
        now = replace(now, window=default.window) if now.sharing == "none" else now
        return panel_parameters(now if now.depth else replace(default, noise=0.0, depth=0)) == panel_parameters(stored)

    def worded(self, text: str) -> str:
        """Return `text`, with “image” and “pixel” replaced by “row” and “feature” if the open data are a table.

        The text must not contain names from the data, because words in these names would be replaced as well.
        """
        return text if self.dataset is None or self.dataset.image_shape is not None else of_table(text)

    def feature_name(self, feature: int) -> str:
        """Return the name of a pixel or feature, or its index if the open data do not have this feature."""
        return self.feature_names[feature] if self.has_feature(feature) else str(feature)

    def _opened(self, opened: Opened) -> None:
        before, dataset = self.dataset, opened.dataset
        confirmed = opened.confirmed or all(check.sure for check in dataset.checks)
        if before is dataset and opened.state is None:
            self.source, self.confirmed = opened.source, confirmed
            return
        self._keep_layers()
        state = opened.state or self.state
        same_rows = before is not None and before.fingerprint_as(None) == dataset.fingerprint_as(None)
        selection = state.selection
        if not same_rows and opened.state is None:
            pins = default_pixels(dataset.image_shape, mean_row(dataset))
            selection = replace(selection, pins=pins, sample=_FIRST_SAMPLE)
        state = replace(state, selection=_fitting(selection, dataset), test_row=None, drawing=None)
        if dataset.image_shape is None:
            state = replace(state, parameters=replace(state.parameters, sharing="none"))
        self.state, old = state, self.state
        self.dataset, self.source, self.confirmed = dataset, opened.source, confirmed
        shape, names = dataset.image_shape, dataset.feature_names
        self.feature_names = tuple(pixel_name(feature, shape, names) for feature in range(dataset.n_features))
        self.fitting.use(opened.explorer, state.parameters, lambda: dataset.fingerprint)
        self.history.drop(self._replace)
        self.dataset_changed.emit(self.dataset)
        self.state_changed.emit(self.state, old)
        self.fitting.fit()

    # State --------------------------------------------------------------------------------------------------------

    def set_parameters(self, gesture: str = "", **changes: Any) -> None:
        """Change parameters of the layers, and fit the layers again.

        Consecutive changes with the same `gesture` are undone in one step, as in `UndoHistory.record`.
        """
        self._change(replace(self.state, parameters=replace(self.state.parameters, **changes)), gesture)

    @Slot(float)
    def drag_noise(self, noise: float) -> None:
        """Change the noise level while the user drags a control. Undo reverts the entire drag in one step."""
        self.set_parameters(gesture="noise", noise=noise)

    def select(self, gesture: str = "", **changes: Any) -> None:
        """Change the selection. A newly selected training image replaces a shown test image and removes all strokes."""
        state = replace(self.state, selection=replace(self.state.selection, **changes))
        if "sample" in changes:
            state = replace(state, test_row=None, drawing=None)
        self._change(state, gesture)

    def show_test(self, row: int) -> None:
        """Show a test image instead of the selected training image."""
        text = self.worded(f"showing test image {count(row + 1)}")
        self._change(replace(self.state, test_row=row, drawing=None), text=text)

    def draw(self, image: NDArray[np.float32] | None) -> None:
        """Show `image`, on which the user has drawn, instead of the image in the data. None removes all strokes."""
        self._change(replace(self.state, drawing=image), text="reset of the drawn image" if image is None else "stroke")

    @Slot(object)
    def toggle_pin(self, feature: int) -> None:
        """Pin a feature, or release it if it is already pinned; at most `MAX_PINS` features can be pinned."""
        pins = self.state.selection.pins
        if not self.has_feature(feature):
            return
        if feature in pins:
            self.select(pins=tuple(pin for pin in pins if pin != feature))
        elif len(pins) < MAX_PINS:
            self.select(pins=(*pins, feature))
        else:
            text = self.worded(f"{MAX_PINS} pixels are already pinned. Release one of them first.")
            self.problem.emit(UserMessage("No more pins are possible", text, kind="information"))

    def _change(self, state: State, gesture: str = "", text: str = "") -> None:
        before = self.state
        if self.dataset is not None and state.selection is not before.selection:
            state = replace(state, selection=_fitting(state.selection, self.dataset))
        if state != before:
            self.history.record(text or self.worded(_changed(state, before)), self._replace, before, state, gesture)
            self._replace(state)

    def _replace(self, state: State) -> None:
        old, self.state = self.state, state
        self.fitting.parameters = state.parameters
        self.state_changed.emit(state, old)
        if state.parameters != old.parameters:
            self.fitting.fit(settle=True)


def panel_parameters(parameters: StackParameters) -> dict[str, Any]:
    """Return the values of the stack parameters that the user can set in the panel, by name."""
    names = ("noise", "ridge", "depth", "threshold", "squashing", "fit_on", "sharing", "window")
    return {name: getattr(parameters, name) for name in names}


# Names that the Edit menu uses for changed settings, if they differ from the names in the code.
_CHANGES = {
    "squashing": "squashing function",
    "fit_on": "the layers’ input",
    "sharing": "shared weights",
    "sample": "image",
    "levels": "colour limits",
    "colors": "colour map",
    "show": "weights or contributions",
}


def _changed(state: State, old: State) -> str:
    """Return the name of the change from `old` to `state`, which the Edit menu shows after "Undo"."""
    before = old.settings
    names = [name for name, value in state.settings.items() if value != before[name]]
    return f"change of {_CHANGES.get(names[0], names[0]) if len(names) == 1 else 'parameters'}"


@cache
def _check_blas() -> None:
    """Raise an error if NumPy multiplies float32 matrices incorrectly. The check runs once, in the job queue."""
    if not float32_scatter_is_exact():
        raise RuntimeError(
            "this version of NumPy multiplies float32 matrices incorrectly, so every result would be wrong. "
            "Install another version of NumPy and start slide-gui again"
        )


def _ready(
    source: DataSource, dataset: Dataset, *, confirmed: bool, state: State | None = None, first: bool = False
) -> Opened:
    """Prepare a data set so that the GUI thread can show it without delay. This function is called in the job queue.

    Raises
    ------
    DataError
        If there are too few training rows for a denoiser.
    """
    if len(dataset.train) < 2:
        raise DataError("there is only 1 training row, but a denoiser needs at least two; add rows", dataset.source)
    # `checks` and `fingerprint` are computed and cached here, so that they do not block the GUI thread later. The
    # fingerprint of the first data set is computed only after layer 1 is fitted, so that the layer is shown earlier.
    _ = dataset.checks, first or dataset.fingerprint
    return Opened(source, dataset, Explorer(dataset.train, dataset.image_shape), confirmed, state)


def _without_labels(source: DataSource, error: DataError, progress: Progress) -> tuple[DataSource, Dataset]:
    """Open a table without labels, so that the user can choose the label column. If this fails, raise `error`.

    The rejected label column is left out, because it is not a feature.
    """
    with suppress(ValueError):
        label, reading = source.reading.label_column or NO_COLUMN, replace(source.reading, label_column=NO_COLUMN)
        dataset = replace(source, reading=reading).load(progress=progress)
        columns = dataset.opened.columns
        labels = {find_column(label, columns), *likely_labels(columns)}.difference(dataset.opened.left_out)
        if names := [columns[k] for k in labels if k is not None]:
            reading = replace(reading, left_out=(*reading.left_out, *names))
            dataset = replace(source, reading=reading).load(progress=progress)
        if columns:
            source = replace(source, reading=reading)
            reason = f"Opened without labels: {error}"
            guesses = Guess("no labels", reason), *dataset.opened.guesses
            return source, replace(dataset, opened=replace(dataset.opened, guesses=guesses, unlabelled=reason))
    raise error


# The maximum number of rows from which `mean_row` computes the mean.
MEAN_ROWS = 4000


def mean_row(dataset: Dataset) -> NDArray[np.float64]:
    """Return the mean of all training rows, or of `MEAN_ROWS` random rows if there are more; shape (d,)."""
    some = np.random.default_rng(0).permutation(len(dataset.train))[:MEAN_ROWS]
    return np.asarray(dataset.train[np.sort(some)].mean(axis=0, dtype=np.float64))


def _fitting(selection: Selection, dataset: Dataset) -> Selection:
    """Adapt a selection to a data set: remove pins on missing features, and select an image that exists."""
    pins = dict.fromkeys(pin for pin in selection.pins if 0 <= pin < dataset.n_features)
    sample, last = selection.sample, len(dataset.train) - 1
    sample = ~min(~sample, last) if sample < 0 else min(sample, last)
    return replace(selection, pins=tuple(pins)[:MAX_PINS], sample=sample)
