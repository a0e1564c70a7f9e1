"""The layers fitted to the open data with the current parameters."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Stack
from slide_gui.experiments.inspection.rows import Explorer, Fit, Preview
from slide_gui.gui.state.jobs import JobQueue
from slide_gui.progress import Listener, Progress

_SETTLE_SECONDS = 0.04  # A fit starts when the slider has not moved for this number of seconds.
_SLOW_SECONDS = 0.05  # If a fit takes longer, an interpolation between noise levels is prepared.
# The interpolation is prepared when no layers have been fitted for this number of milliseconds.
_REST_MILLISECONDS = 500


class Fitting(QObject):
    """The fitted stack, a preview of the stack that is being fitted, and the job that fits it.

    Attributes
    ----------
    explorer : Explorer or None
        Fits layers to the open data.
    watched : tuple of int
        Indices of the rows of W¹ (the weights of layer 1) of which previews are computed while the noise slider moves.
    parameters : StackParameters
        The current parameters; `stack` may have been fitted with earlier parameters.
    stack : Stack or None
        The stack fitted last.
    preview : Preview or None
        Weights for the current parameters, shown until all layers are fitted with these parameters.
    seconds : float
        Duration of the last fit.
    problem : str
        A warning if thresholding makes almost every feature constant over the rows; otherwise empty.

    Signals
    -------
    changed()
        The attribute `stack` or `preview` changed, or new parameters made `stack` outdated or up to date again.
    """

    changed = Signal()

    def __init__(self, queue: JobQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._queue = queue
        # Outdated layers are greyed after 40 ms. Greying them immediately would make them flicker, because a preview
        # usually replaces them earlier.
        self._outdated = QTimer(self, singleShot=True, interval=40)
        self._outdated.timeout.connect(self.changed)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rest.timeout.connect(self._prepare_interpolation)
        self.explorer: Explorer | None = None
        self.watched: tuple[int, ...] = ()
        self.parameters = StackParameters()
        self.stack: Stack | None = None
        self.preview: Preview | None = None
        self.seconds = 0.0
        self.problem = ""

    def use(self, explorer: Explorer, parameters: StackParameters, shown: Callable[[], object]) -> None:
        """Discard the current stack. From now on, fit stacks to the data set of `explorer`.

        The worker thread calls `shown` whenever it has reported a preview or fitted layers.
        """
        self.explorer, self.parameters, self._shown = explorer, parameters, shown
        self.stack = self.preview = None
        self.watched = ()

    def close(self) -> None:
        """Stop preparing interpolations, because the job queue is about to be closed."""
        self._rest.stop()

    @property
    def n_fresh(self) -> int:
        """Return how many layers are fitted with the current parameters, regardless of the depth."""
        stack = self.stack
        return len(stack.layers) if stack is not None and self.is_current(stack.parameters) else 0

    def is_current(self, parameters: StackParameters) -> bool:
        """Return True if `parameters` and the current parameters are equal or differ only in the depth."""
        wanted = self.parameters
        # Comparing dictionaries is ten times as fast as changing the depth with `dataclasses.replace`.
        return parameters is wanted or vars(parameters) | {"depth": wanted.depth} == vars(wanted)

    def is_fresh(self, layer: int) -> bool:
        """Return True if the layer with this number, counted from 1, is fitted with the current parameters."""
        return layer <= self.n_fresh

    def fit(self, *, settle: bool = False) -> None:
        """Fit layers with the current parameters if necessary. If `settle` is True, wait until the slider rests."""
        explorer, parameters, features = self.explorer, self.parameters, self.watched
        if explorer is None:
            return
        self._rest.stop()
        self._queue.cancel(channel="interpolation")
        if self.stack is not None and self.is_fresh(parameters.depth):
            self._queue.cancel(channel="fit")
            self.preview = None  # Discard the preview, which may have been computed for earlier parameters.
            self._rest.start()
            self.changed.emit()
            return
        stored = explorer.stored_fit(parameters)
        if stored is not None:
            self._queue.cancel(channel="fit")
            self._fitted(stored)
            return
        shown = parameters if self.stack is None else self.stack.parameters
        shared = ["fit_on", "sharing"]
        if parameters.fit_on == "thresholded":
            shared += ["squashing", "threshold"]
        if any(getattr(shown, name) != getattr(parameters, name) for name in shared):
            # Compute no preview if the inputs of the fit, or the sharing of weights between pixels, have changed. Views
            # would combine the preview with scatter matrices of the previous stack, to which it does not correspond.
            features = ()
        seconds = _SETTLE_SECONDS if settle else 0.0

        def work(progress: Progress) -> Fit:
            def report(fraction: float, payload: object) -> None:
                progress.report(fraction, payload)
                if payload is not None:
                    self._shown()

            # Another job may interrupt `prepare`. When this job then starts again, the layers are already fitted.
            if explorer.stored_fit(parameters) is None:
                explorer.update(parameters, features, settle=seconds, progress=Listener(report))
            fit = explorer.stored_fit(parameters)
            assert fit is not None
            progress.report(1.0, fit)
            explorer.prepare(parameters, progress)
            # The import of the module `trial` is slow. Here, it delays neither the display of the layers nor the first
            # run.
            import slide_gui.experiments.sweeps.trial  # noqa: F401

            return fit

        self._queue.submit(
            "Fitting the layers",
            work,
            channel="fit",
            on_payload=self._fitted,
            on_result=self._fitted,
            on_failure=self._failed,
            on_stop=self.changed.emit,
            failure="The layers could not be fitted",
            automatic=True,
        )
        if not settle:
            self.changed.emit()
        elif not self._outdated.isActive():
            self._outdated.start()

    @Slot()
    def _prepare_interpolation(self) -> None:
        if self.explorer is None or self.seconds <= _SLOW_SECONDS or self.explorer.interpolates(self.parameters):
            return  # Submit no unnecessary job, because it would interrupt a running sweep.
        work = partial(self.explorer.prepare_interpolation, self.parameters)
        failure = "The layers could not be interpolated"
        self._queue.submit("", work, channel="interpolation", failure=failure, automatic=True, background=True)

    def _failed(self, _error: Exception) -> None:
        self.preview = None
        self.changed.emit()

    def _fitted(self, payload: Preview | Stack | Fit) -> None:
        self._outdated.stop()
        before = self.preview
        if isinstance(payload, Preview):
            self.preview = replace(payload, layers=payload.layers or (() if before is None else before.layers))
        else:
            fit = payload if isinstance(payload, Fit) else Fit(payload, 0.0)
            if fit.stack is self.stack and fit.seconds == self.seconds and before is None:
                return  # Ignore the fit, because the job has already delivered it as an intermediate result.
            self.stack, self.seconds, self.problem = fit.stack, fit.seconds, fit.problem
            if self.is_fresh(self.parameters.depth):
                self._rest.start()
            # Until all layers are fitted, retain the preview, because views show it for the layers that are missing.
            if before is None or self.is_fresh(self.parameters.depth) or not self.is_current(before.parameters):
                self.preview = None
        self.changed.emit()
