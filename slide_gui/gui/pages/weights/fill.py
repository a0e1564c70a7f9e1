"""The experiment that hides pixels and estimates them with W and with the best linear map for these pixels."""

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from slide_gui.core.linear_algebra import Array, fill_row
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.experiment import Experiment
from slide_gui.gui.pages.weights.view import NO_LAYER, ViewContext
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Tile
from slide_gui.progress import Progress
from slide_gui.text import count, counted, significant

_MOST = 3000  # Largest number of features for which the best linear map is computed.


class FillView(Experiment):
    """The experiment that hides a random fraction 1 − p of the pixels (at least one) and estimates them in two ways.

    Attributes
    ----------
    pictures : ndarray or None
        Four images: the original; the original with NaN for the hidden pixels; and the original with the hidden pixels
        estimated with W or with the best linear map. None until they are computed for the open data.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent, "Input with hidden features, filled by W and by the best linear map")
        self.layers.hide()
        self.pictures: Array | None = None
        # The layer, the image and the hidden pixels of the last job that was submitted.
        self._wanted: object = None
        self._is_stale, self._dataset = False, self._workspace.dataset
        self.button = self._add_action("Hide other pixels", "Hide another random selection of features", self.draw)

    def draw(self) -> None:
        """Hide a new random selection of pixels and estimate these pixels."""
        self._settings.set(hidden=self._settings.values["hidden"] + 1)

    @Slot()
    def refresh(self) -> None:
        if self._workspace.dataset is not self._dataset:
            self._workspace.queue.cancel(channel="fill")
            self._dataset, self.pictures, self._wanted = self._workspace.dataset, None, None
        sentence, tiles = self._start(), []
        self.button.setEnabled(not sentence)
        self.button.setText(self._workspace.worded("Hide other pixels"))
        if not sentence and self._is_stale and not self._workspace.queue.wants("fill"):
            sentence = self._workspace.worded("Filling was stopped. Press “Hide other pixels” to start again.")
        elif sentence:
            self._wanted, self._is_stale = None, True
        if self.pictures is not None and self._workspace.state.parameters.depth:
            hidden = np.isnan(self.pictures[1])
            squares = (self.pictures[2:, hidden] - self.pictures[0, hidden]) ** 2
            first, second = (significant(float(error), 3) for error in np.sqrt(squares.mean(axis=1)))
            many = self._workspace.worded(counted(int(hidden.sum()), "pixel"))
            captions = many, f"error {first}", f"error {second}"
            shape, a, stale = self._source.shape, self._pixels.target, self._is_stale
            pairs = zip(self.pictures[1:], captions, strict=True)
            tiles = [Tile.of(values, shape, INK, caption, a, stale=stale) for values, caption in pairs]
            if not self._is_stale:
                sentence = f"RMS error on hidden pixels: {first} with W, {second} with the best linear map."
                sentence = self._workspace.worded(sentence)
        self.status.setText(sentence)
        self._set_tiles(("hidden", "filled by W", "filled by the best map") if tiles else (), tiles)

    def _start(self) -> str:
        """Start to estimate the hidden pixels if necessary. Return "", or the reason why they cannot be estimated."""
        parameters, fitting = self._workspace.state.parameters, self._workspace.fitting
        shown, layer = self._shown.values, fitting.stack.layers[0] if fitting.stack and fitting.is_fresh(1) else None
        if not parameters.depth or shown is None or layer is None or layer.scatter is None:
            return "Layer 1 is being fitted." if parameters.depth else NO_LAYER
        if len(shown) > _MOST:
            return f"This experiment is limited to {count(_MOST)} features. Open data with fewer features."
        weights, scatter = layer.weights, layer.scatter
        image = parameters.squash(shown) if parameters.fit_on == "thresholded" else shown
        known = np.setdiff1d(np.arange(len(image)), self._shown.missing)
        order = np.random.default_rng(self._settings.values["hidden"]).permutation(known)
        if not len(order):
            return "All cells of this row are missing. Show another row."
        rest = image.astype(np.float64)
        rest[order[: max(1, round(parameters.noise * len(order)))]] = np.nan

        def work(progress: Progress) -> Array:
            by_w = np.where(np.isnan(rest), weights @ np.append(np.nan_to_num(rest), 1.0), rest)
            by_mask = fill_row(rest, scatter, max(1e-9, len(rest) / (5 * scatter[-1, -1])), progress)
            return np.stack([image, rest, by_w, by_mask])

        wanted = layer, image.tobytes(), rest.tobytes()
        if wanted != self._wanted:
            self._wanted, self._is_stale = wanted, True
            failure = "The hidden features could not be filled"
            self._compute("Filling features", work, "fill", on_result=self._filled, failure=failure, automatic=True)
        return ""

    def _filled(self, pictures: Array) -> None:
        self.pictures, self._is_stale = pictures, False
        self._refresh_if_seen()

    def numbers(self) -> str:
        if self.pictures is None or self._is_stale:
            return ""
        hidden = np.flatnonzero(np.isnan(self.pictures[1]))
        names = [(self._workspace.feature_name(int(k)),) for k in hidden]
        cells = self.pictures[[0, 2, 3]][:, hidden].T.tolist()
        return table_text(
            (self._workspace.worded("pixel"),), names, ("image", "filled by W", "filled by the best map"), cells
        )
