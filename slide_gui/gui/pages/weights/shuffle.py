"""The experiment that fits the layers to shuffled pixels.

After its rows and columns are put back in their original order, the fitted weight matrix equals W. The matrix W is
fitted to the original pixels.
"""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QWidget

from slide_gui.experiments.inspection.closed_form import ShuffledFit, fit_shuffled, shuffling
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.experiment import Experiment
from slide_gui.gui.pages.weights.view import NO_LAYER, ViewContext
from slide_gui.gui.widgets.controls import with_keys
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Tile
from slide_gui.text import significant

_CHANNEL = "shuffle"


class ShuffleView(Experiment):
    """The experiment that puts the pixels of all images in the same random order and fits layers to these images.

    Each time the user presses the button, another order is used.

    Attributes
    ----------
    fit : ShuffledFit or None
        The last fit to shuffled pixels. None if there was no such fit, or if the layers for the original pixels have
        changed since then.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent, "Input and row of W: original, shuffled and restored")
        # Tooltips do not name features, because a position in a shuffled tile does not identify a feature.
        self.tiles.name_feature = None
        self._seed = -1
        self._order: NDArray[np.int64] | None = None
        self.fit: ShuffledFit | None = None
        tip = with_keys("Shuffle the features of all rows in the same random order and refit the layers", "Ctrl+J")
        self.button = self._add_action("Shuffle pixels", tip, self.start)
        self._workspace.dataset_changed.connect(self._forget)

    @Slot()
    def start(self) -> None:
        """Shuffle the pixels with a new permutation and fit layers to the shuffled pixels."""
        dataset, model = self._workspace.dataset, self._workspace.model()
        if dataset is None or model is None or not model.stack.layers:
            self.refresh()
            return
        self._seed += 1
        rows, stack = dataset.train, model.stack
        order = self._order = shuffling(dataset.n_features, self._seed)
        self.fit = None
        self._compute(
            "Fitting to shuffled features",
            lambda progress: fit_shuffled(rows, stack, order, progress=progress),
            _CHANNEL,
            on_result=self._fitted,
            failure="The layers could not be fitted to shuffled features",
        )
        self.refresh()

    def _fitted(self, fit: ShuffledFit) -> None:
        self.fit = fit
        self.refresh()

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self._workspace.queue.cancel(channel=_CHANNEL)
        self._order = self.fit = None

    def hideEvent(self, event: QHideEvent) -> None:
        """Cancel the fit to shuffled pixels when the view is hidden."""
        super().hideEvent(event)
        self._workspace.queue.cancel(channel=_CHANNEL)

    @Slot()
    def refresh(self) -> None:
        dataset, model, values = self._workspace.dataset, self._workspace.model(), self._shown.values
        self._list_layers()
        ready = model is not None and bool(model.stack.layers)
        self.button.setEnabled(ready)
        worded = self._workspace.worded
        self.button.setText(worded("Shuffle pixels"))
        if dataset is None or values is None:
            return
        if self._order is not None and len(self._order) != len(values):
            self._forget(dataset)  # Discard the permutation, which belongs to data with a different number of features.
        if self.fit is not None and (model is None or self.fit.stack.layers != model.stack.layers):
            self.fit = None  # Discard this fit, because the layers for the original pixels have changed.
        self.status.setText(worded(self._sentence(ready)))
        feature, shape = self._pixels.features()[0], self._source.shape
        image, row = self._image(feature), self._row(feature)
        images: list[Tile | None] = [image, None, None]
        weights: list[Tile | None] = [None, None, None]
        scale = None if row is None else self._scale(row.weights[:-1], feature)
        if row is not None and scale is not None:
            mark = "≈" * row.approximate
            weights[0] = Tile.of(row.weights[:-1], shape, scale, mark, feature, mark, row.stale)
        if self._order is not None:
            back = np.argsort(self._order)
            place = int(back[feature])
            images[1:] = Tile.of(values[self._order], shape, INK, "", place), image
            if self.fit is not None and scale is not None:
                shuffled = self.fit.shuffled.layers[self.layer - 1].weights[place][:-1]
                weights[1] = Tile.of(shuffled, shape, scale, "", place)
                weights[2] = Tile.of(shuffled[back], shape, scale, "", feature)
        name = self._workspace.feature_name(feature)
        rows = self._tile_row(worded("image"), "", images), self._tile_row(name, f"layer {self.layer}", weights)
        self.tiles.set_content(("original", "shuffled", "put back"), rows)

    def _original(self, spot: tuple[int, ...]) -> int:
        """Return the original image's pixel that is shown at `spot` = (tile row, tile column, position in the tile).

        Tiles in the second column show shuffled pixels. There, the position of a pixel is not its original position.
        """
        return int(self._order[spot[2]]) if spot[1] == 1 and self._order is not None else spot[2]

    def _image_pixel(self, spot: tuple[int, int, int]) -> int | None:
        return self._original(spot) if spot[0] == 0 else None

    def _feature_of(self, row: int) -> int | None:
        # Select no weight, because the same position belongs to different pixels in shuffled and in other tiles.
        return None

    @Slot(object)
    def _pin(self, spot: tuple[int, ...]) -> None:
        super()._pin((self._original(spot),))

    def _sentence(self, ready: bool) -> str:
        if self.fit is not None:
            worst, most = significant(max(self.fit.differences), 2), significant(max(self.fit.largest), 2)
            size = f"the largest weight or bias is {most}."
            if self.fit.stack.windows is not None:
                return f"Shared kernels use pixel positions: W, put back in order, differs by up to {worst}; {size}"
            return f"W, put back in order, differs from the original by at most {worst}; {size}"
        if self._workspace.queue.wants(_CHANNEL):
            return f"Fitting to shuffled pixels, seed {self._seed}…"
        if not self._workspace.state.parameters.depth:
            return NO_LAYER
        return "" if ready else "The layers are still being fitted."

    def numbers(self) -> str:
        if self.fit is None:
            return ""
        names = [(str(k),) for k in range(1, len(self.fit.differences) + 1)]
        cells = list(zip(self.fit.differences, self.fit.largest, strict=True))
        return table_text(("layer",), names, ("largest difference", "largest weight or bias"), cells)
