"""The layers fitted to the open data with the current parameters."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Stack
from slide_gui.experiments.inspection.rows import Explorer, Fit, Preview
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.progress import Progress

_SETTLE_SECONDS = 0.04  # a slider that has not moved for this long counts as released


class Fitting(QObject):
    """The fitted stack, a preview of its first layer, and the job that fits it.

    Attributes
    ----------
    explorer : Explorer or None
        Fits layers to the open data.
    parameters : StackParameters
        The current parameters; the stack may be of earlier ones.
    stack : Stack or None
        The stack fitted last.
    preview : Preview or None
        Rows of the first layer that are newer than `stack`.
    seconds : float
        Time that the fit took.
    problem : str
        A warning that hardly any feature differs between rows after the threshold.

    Signals
    -------
    changed()
        `stack`, `preview` or their staleness changed.
    """

    changed = Signal()

    def __init__(self, queue: JobQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._queue = queue
        self.explorer: Explorer | None = None
        self._watched: tuple[int, ...] = ()
        self.parameters = StackParameters()
        self.stack: Stack | None = None
        self.preview: Preview | None = None
        self.seconds = 0.0
        self.problem = ""

    def use(self, explorer: Explorer, parameters: StackParameters) -> None:
        """Drop the stack, to fit another data set from now on."""
        self.explorer, self.parameters = explorer, parameters
        self.stack = self.preview = None
        self._watched = ()

    def watch(self, features: tuple[int, ...]) -> None:
        """Set the rows of the first layer to preview while the noise slider moves."""
        self._watched = features

    @property
    def n_fresh(self) -> int:
        """Return the number of fitted layers if their parameters are the current ones, else 0."""
        stack = self.stack
        if stack is None:
            return 0
        ours, wanted = stack.parameters, self.parameters
        return len(stack.layers) if ours is wanted or replace(ours, depth=wanted.depth) == wanted else 0

    def is_fresh(self, layer: int) -> bool:
        """True if a layer, from 1, is fitted with the current parameters."""
        return layer <= self.n_fresh

    @Slot()
    def fit(self, *, settle: bool = False) -> None:
        """Fit with the current parameters, unless that is done; wait for a slider to `settle`."""
        explorer, parameters, features = self.explorer, self.parameters, self._watched
        if explorer is None:
            return
        if self.stack is not None and self.is_fresh(parameters.depth):
            self._queue.cancel(channel="fit")
            self.preview = None  # it may belong to earlier parameters
            self.changed.emit()
            return
        stored = explorer.stored_fit(parameters)
        if stored is not None:
            self._queue.cancel(channel="fit")
            self._fitted(stored)
            return
        seconds = _SETTLE_SECONDS if settle else 0.0

        def work(progress: Progress) -> Fit:
            explorer.update(parameters, features, settle=seconds, progress=progress)
            fit = explorer.stored_fit(parameters)
            assert fit is not None
            progress.report(1.0, fit)
            explorer.noise_path(parameters)  # so that the first preview is immediate
            return fit

        self._queue.submit(
            "Fitting the layers",
            work,
            channel="fit",
            on_payload=self._fitted,
            on_result=self._fitted,
            on_failure=lambda _error: self.changed.emit(),
            on_stop=self.changed.emit,
            failure="The layers could not be fitted",
            automatic=True,
        )
        self.changed.emit()

    @Slot(object)
    def _fitted(self, payload: Preview | Stack | Fit) -> None:
        if isinstance(payload, Preview):
            self.preview = payload
        else:
            fit = payload if isinstance(payload, Fit) else Fit(payload, 0.0)
            if fit.stack is self.stack and fit.seconds == self.seconds and self.preview is None:
                return  # the result equals the last report
            self.preview, self.stack, self.seconds, self.problem = None, fit.stack, fit.seconds, fit.problem
        self.changed.emit()
