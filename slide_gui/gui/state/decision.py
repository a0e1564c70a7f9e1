"""Predict the class of the current image, and find the fewest pixel changes that change the predicted class."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from slide_gui.core.slide.stack import Stack
from slide_gui.experiments.inspection.decision import Decider, Decision, Flip
from slide_gui.experiments.inspection.flow import Forward
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import restore
from slide_gui.gui.state.runs import RunController
from slide_gui.gui.state.workspace import Workspace
from slide_gui.progress import Progress

# Predictions with at most this number of multiplications (about 5 ms) are computed on the GUI thread. All others are
# computed in the job queue.
_AT_ONCE = 8_000_000
_REST_MILLISECONDS = 400
_CHANNEL = "decide"  # Job queue channel of all jobs of a `DecisionController`; a new job replaces the previous one.
Image = NDArray[Any]


class DecisionController(QObject):
    """Predicts the class of the current image with the SVM of the result that the window shows.

    `follow` starts the predictions. `rest` stops them while no view shows them.

    Attributes
    ----------
    result : RunResult or None
        Result whose SVM makes the predictions; None if the window shows no SVM trained on the open data.
    decision : Decision or None
        Prediction for the current image; None until it has been computed.
    flip : Flip or None
        The smallest set of pixel changes found that changes the predicted class; None until the search has finished.
    is_stopped : bool
        True if the last prediction or search failed or was stopped. A new image starts them again.

    Signals
    -------
    changed()
        One of the attributes listed above changed.
    """

    changed = Signal()

    def __init__(self, workspace: Workspace, runs: RunController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._runs = workspace, runs
        self._decider: Decider | None = None
        self._forward = Forward()
        self._image: Image | None = None
        self._following = False
        self.result: RunResult | None = None
        self.decision: Decision | None = None
        self.flip: Flip | None = None
        self.is_stopped = False
        self._rested = QTimer(self, singleShot=True, interval=_REST_MILLISECONDS)
        self._rested.timeout.connect(self._search_flip)
        runs.result_changed.connect(self._take_result)

    @property
    def decides_here(self) -> bool:
        """True if the SVM of `result` was trained on the open data set."""
        dataset = self._workspace.dataset
        return dataset is not None and self.result is not None and self.result.spec.fingerprint == dataset.fingerprint

    @property
    def labels(self) -> tuple[int, ...]:
        """Return the labels of the classes."""
        return () if self._decider is None else self._decider.labels

    def follow(self, image: Image) -> None:
        """Predict the class of `image` and emit `changed`.

        Until `rest` is called, the prediction is repeated whenever the classifier changes.
        """
        self._following = True
        # Update the classifier first, because the result may have changed while no view showed predictions.
        self._take_result()
        if self._image is None or not np.array_equal(image, self._image):
            self._image = image.copy()
            if self._decider is None and self.is_stopped:
                self._prepare()
            self._decide()
        self.changed.emit()

    def rest(self) -> None:
        """Stop the predictions until the next call of `follow`."""
        self._following = False
        # If the search for pixel changes is unfinished, discard the image, so that `follow` starts the search again.
        self._image = None if self.flip is None else self._image
        # If `_decider` is None, let a job that prepares it continue, because later predictions need `_decider`.
        if self._decider is not None:
            self._stop()

    def _stop(self) -> None:
        self._rested.stop()
        self._workspace.queue.cancel(channel=_CHANNEL)

    @Slot()
    def train_as_default(self) -> None:
        """Train an SVM with default parameters on SLIDE's features. Use the layer parameters that the panel shows."""
        from slide_gui.core.svm.parameters import SvmParameters

        spec = self._runs.spec_of(SvmParameters())
        if spec is not None:
            self._runs.train(spec)

    @Slot()
    def _take_result(self) -> None:
        """If the window shows a new result, prepare the SVM of this result for predictions."""
        if not self._following:
            return
        result = self._runs.result
        if result is not None and (result.classifier is None or not self._runs.shows_open_data):
            result = None
        if result is self.result:
            return
        self._stop()
        self.result, self._decider, self.decision, self.flip = result, None, None, None
        self._prepare()
        self.changed.emit()

    def _prepare(self) -> None:
        dataset, result = self._workspace.dataset, self.result
        if result is not None and dataset is not None:
            self._submit(
                "Preparing the classifier",
                lambda progress: Decider(restore(dataset, result, progress=progress), dataset),
                self._ready,
            )

    def _ready(self, decider: Decider) -> None:
        self._decider = decider
        self._decide()
        self.changed.emit()

    def _decide(self) -> None:
        decider, image = self._decider, self._image
        self.flip = None
        if decider is None or image is None or not self._following:
            return
        self._stop()
        stack = decider.representation
        if isinstance(stack, Stack) and decider.products + len(stack.layers) * image.size**2 <= _AT_ONCE:
            flow = self._forward.flow(stack, image)
            self.decision = decider.decide(np.concatenate([flow.clean, *(layer.output for layer in flow.layers)]))
            self._rested.start()
            return
        self.decision = None  # The previous prediction must not be shown while a new one is being computed.
        self._submit(
            "Classifying one input",
            lambda _progress: decider.decide(decider.representation.transform(image[None])[0]),
            self._decided,
        )

    def _decided(self, decision: Decision) -> None:
        self.decision = decision
        self._rested.start()
        self.changed.emit()

    @Slot()
    def _search_flip(self) -> None:
        decider, image = self._decider, self._image
        if decider is not None and image is not None and self._following:
            self._submit(
                "Finding the fewest changes to the image",
                lambda progress: decider.flip(image, progress),
                self._flipped,
            )

    def _flipped(self, flip: Flip) -> None:
        self.flip = flip
        self.changed.emit()

    def _submit(self, title: str, work: Callable[[Progress], Any], deliver: Callable[[Any], None]) -> None:
        def give_up(*_: object) -> None:
            self.is_stopped = True
            if deliver != self._flipped:
                self.decision = None  # Discard the last prediction, which may belong to an earlier image.
            self.changed.emit()

        self.is_stopped = False
        self._workspace.queue.submit(
            title,
            work,
            channel=_CHANNEL,
            on_result=deliver,
            on_failure=give_up,
            on_stop=give_up,
            failure="The prediction could not be completed",
            background=True,
            automatic=True,
        )
