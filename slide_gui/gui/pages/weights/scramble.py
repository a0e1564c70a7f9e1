"""All pixels scrambled, the layers fitted anew, and their weights put back: the same picture."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.experiments.inspection.permutation import ScrambledFit, fit_scrambled, scrambling
from slide_gui.experiments.inspection.rows import input_rms
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.layouts import flush, nested
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import ChoiceButtons, ElidedLabel, add_button, label
from slide_gui.gui.widgets.flight import FlyingImage, FlyingImages
from slide_gui.gui.widgets.pixels import INK, colour_table, ink_table
from slide_gui.progress import Progress
from slide_gui.text import count, significant

__all__ = ["ScramblePart"]

_CHANNEL = "scramble"
_OUT, _BACK = 1000, 1800  # milliseconds of the two flights
_SCRAMBLED, _IN_PLACE = 0, 1
_LEGEND = (
    "Above: fitted to the scrambled pixels, un-scrambled. Below: fitted to the pixels as they are. The closed form "
    "sums over pairs of pixels and knows nothing of where they stand: W of scrambled pixels is W, scrambled (eq. 8)."
)


class ScramblePart(View):
    """Scrambles all pixels by one seeded permutation, the next one each time."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._seed = -1
        self._order: NDArray[np.int64] | None = None
        self._fit: ScrambledFit | None = None
        self._job = -1
        self._returns = False  # home, once they are scrambled and fitted
        self.images = FlyingImages(self)
        self.images.landed.connect(self._landed)
        self.status = ElidedLabel("", self, "body")
        layout = flush(QVBoxLayout(self))
        row = nested(layout, QHBoxLayout(), spacing=4)
        tip = "Scramble all pixels of the data at random, fit the layers anew, and un-scramble W (Ctrl+J)"
        self.button = add_button(self, row, "Scramble all pixels", tip, "primary")
        self.button.clicked.connect(self.start)
        row.addSpacing(8)
        self._places = ChoiceButtons(self)
        for place, text in ((_SCRAMBLED, "scrambled"), (_IN_PLACE, "un-scrambled")):
            row.addWidget(self._places.add(place, text, self))
        self._places.choose(_IN_PLACE)
        self._places.idClicked.connect(self._place)
        row.addStretch(1)
        layout.addWidget(self.status)
        layout.addWidget(self.images, 1)
        layout.addWidget(label(_LEGEND, self, wraps=True))
        self._shown.changed.connect(self._refresh_if_seen)
        self._pixels.moved.connect(self._refresh_if_seen)
        self._workspace.dataset_changed.connect(self._forget)

    @property
    def fit(self) -> ScrambledFit | None:
        """What was measured last."""
        return self._fit

    @Slot()
    def start(self) -> None:
        """Scramble anew, and fit; pixels fly while that is done."""
        dataset, model = self._workspace.dataset, self._workspace.model()
        if dataset is None or model is None or not model.stack.layers:
            self.refresh()
            return
        self._seed += 1
        rows, stack = dataset.train, model.stack
        order = self._order = scrambling(dataset.n_features, self._seed)
        self._fit = None
        self.images.fly(0.0, 0)

        def work(progress: Progress) -> ScrambledFit:
            return fit_scrambled(rows, stack, order, progress=progress)

        self._job = self._workspace.lane.submit(
            "Fitting to scrambled pixels",
            work,
            channel=_CHANNEL,
            on_result=self._fitted,
            on_stop=self.refresh,
            failure="The layers could not be fitted to scrambled pixels",
        )
        self.refresh()
        self._go(_SCRAMBLED, returns=True)

    @Slot(object)
    def _fitted(self, fit: ScrambledFit) -> None:
        self._fit = fit
        self.refresh()
        self.numbers_changed.emit()
        if not self.images.is_flying:
            self._landed()

    @Slot()
    def _landed(self) -> None:
        """Once scrambled and fitted, fly home."""
        if self._fit is not None and self._returns:
            self._go(_IN_PLACE)

    def _go(self, place: int, *, returns: bool = False) -> None:
        self._returns = returns
        self._places.choose(place)
        self.images.fly(1.0 - place, _BACK if place else _OUT)

    @Slot(int)
    def _place(self, place: int) -> None:
        self._go(place)

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self._workspace.lane.cancel(channel=_CHANNEL)
        self._order = self._fit = None

    def hideEvent(self, event: QHideEvent) -> None:
        """What is not seen is not computed."""
        super().hideEvent(event)
        self._workspace.lane.cancel(channel=_CHANNEL)

    # What is shown

    @Slot()
    def refresh(self) -> None:
        dataset, model, values = self._workspace.dataset, self._workspace.model(), self._shown.values
        ready = model is not None and bool(model.stack.layers)
        if dataset is not None and self._order is not None and len(self._order) != dataset.n_features:
            self._forget(dataset)  # the order is one of data that were open before
        self.button.setEnabled(ready)
        for each in self._places.buttons():
            each.setEnabled(self._order is not None)
        if dataset is None or values is None:
            return
        fit = self._fit
        if fit is not None and (model is None or fit.stack.layers != model.stack.layers):
            fit = self._fit = None  # the layers are others now
        d = dataset.n_features
        order = np.arange(d) if self._order is None else self._order
        feature = self._pixels.features()[0]
        place = int(np.argsort(order)[feature])  # where it stands among the scrambled
        self.button.setText("Scramble all pixels" if self._shown_as_images() else "Scramble all features")
        ink = ink_table(theme_of(self).is_dark)[INK.indices(values.astype(np.float32))]
        images = [FlyingImage("image" if self._shown_as_images() else "sample", "", ink[order], ink)]
        self._source.begin((feature,))
        for k in range(1, self._workspace.state.parameters.depth + 1):
            tile = self._source.tile(feature, k)
            if tile is None or self._source.is_stale(feature, k):
                images.append(FlyingImage(f"layer {k}", "", None, None))
                continue
            below = colour_table(tile.scale)[tile.scale.indices(tile.values.reshape(-1))]
            above = None if fit is None else self._scrambled_row(fit, k, place, tile.scale)
            differs = "" if fit is None else f"differs by {significant(fit.differences[k - 1], 2)}"
            images.append(FlyingImage(f"layer {k}", differs, above, below))
        name = self._workspace.feature_name(feature)
        side = math.ceil(math.sqrt(d))
        grid = dataset.image_shape or (math.ceil(d / side), side)
        labels = f"{name}\n{'scrambled, fitted, put back'}", f"{name}\n{'as it is'}"
        self.images.set_images(tuple(images), labels, order, grid)
        self.status.setText(self._said(fit, d, ready))

    def _scrambled_row(self, fit: ScrambledFit, k: int, place: int, scale: ColorScale) -> NDArray[np.uint32]:
        layer = fit.scrambled.layers[k - 1]
        row = layer.weights[place, :-1]
        if self._source.shows_contributions():
            rms = input_rms(layer)
            assert rms is not None
            row = row * rms
        return colour_table(scale)[scale.indices(row.astype(np.float32))]

    def _said(self, fit: ScrambledFit | None, d: int, ready: bool) -> str:
        if fit is not None:
            worst, most = significant(max(fit.differences), 2), significant(max(fit.largest), 2)
            said = f"un-scrambled W differs by at most {worst}, W is up to {most}"
            return f"{f'seed {self._seed}'} · {said}"
        if self._workspace.lane.wants(self._job):
            said = (
                f"fitting to {count(d)} scrambled pixels…"
                if self._shown_as_images()
                else f"fitting to {count(d)} scrambled features…"
            )
            return f"{f'seed {self._seed}'} · {said}"
        if ready:
            return "All places are exchanged at random, and W is fitted to that: un-scrambled it is the same picture."
        return "The layers are still being fitted."

    def _shown_as_images(self) -> bool:
        dataset = self._workspace.dataset
        return dataset is not None and dataset.image_shape is not None

    @property
    def shows_rows(self) -> bool:  # type: ignore[override]
        """Whether nothing is scrambled yet, so that rows of W are all there is."""
        return self._fit is None

    def tables(self) -> tuple[NumberTable, ...]:
        fit = self._fit
        if fit is None:
            return ()
        names = [(str(k),) for k in range(1, len(fit.differences) + 1)]
        cells = list(zip(fit.differences, fit.largest, strict=True))
        heads = ("largest difference", "largest weight")
        return (NumberTable("Un-scrambled W against W", ("layer",), names, heads, cells),)
