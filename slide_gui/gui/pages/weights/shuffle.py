"""The layers fitted to shuffled pixels next to the layers fitted to the original pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.closed_form import ShuffledFit, fit_shuffled, shuffling
from slide_gui.experiments.inspection.rows import input_rms
from slide_gui.gui.pages.page import NumberTable
from slide_gui.gui.pages.weights.view import View, ViewContext
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import ElidedLabel, add_button, label
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Tile, TileRow, row_tile, short_size
from slide_gui.gui.widgets.weight_tiles import TileScroll, WeightTiles
from slide_gui.progress import Progress
from slide_gui.text import count, significant

_CHANNEL = "shuffle"
_LEGEND = (
    "“Shuffled” is fitted to the shuffled pixels, “put back” shows the same weights with each pixel back in its place, "
    "and “original” is fitted to the pixels in their places. The closed form sums over pairs of pixels and ignores "
    "their positions: shuffling the pixels only shuffles W (eq. 8)."
)


class ShuffleView(View):
    """Shuffles all pixels by a seeded permutation, another one each time, and fits the layers to them."""

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._seed = -1
        self._order: NDArray[np.int64] | None = None
        self.fit: ShuffledFit | None = None
        """The last fit to shuffled pixels; None while there is none of the layers shown."""
        self._job = -1
        self.tiles = WeightTiles(self)
        self.tiles.setAccessibleName("Weights of shuffled pixels and of pixels in their places: tiles")
        self.status = ElidedLabel("", self, "body")
        layout = flush(QVBoxLayout(self))
        row = nested(layout, QHBoxLayout(), spacing=4)
        tip = "Shuffle all pixels of the data at random and fit the layers to them (Ctrl+J)"
        self.button = add_button(self, row, "Shuffle pixels", tip, "primary")
        self.button.clicked.connect(self.start)
        row.addStretch(1)
        layout.addWidget(self.status)
        layout.addWidget(TileScroll(self.tiles, self), 1)
        layout.addWidget(label(_LEGEND, self, wraps=True))
        self._shown.changed.connect(self._refresh_if_seen)
        self._pixels.moved.connect(self._refresh_if_seen)
        self._workspace.dataset_changed.connect(self._forget)

    @Slot()
    def start(self) -> None:
        """Shuffle the pixels by the next permutation and fit the layers to them."""
        dataset, model = self._workspace.dataset, self._workspace.model()
        if dataset is None or model is None or not model.stack.layers:
            self.refresh()
            return
        self._seed += 1
        rows, stack = dataset.train, model.stack
        order = self._order = shuffling(dataset.n_features, self._seed)
        self.fit = None

        def work(progress: Progress) -> ShuffledFit:
            return fit_shuffled(rows, stack, order, progress=progress)

        self._job = self._workspace.queue.submit(
            "Fitting to shuffled pixels",
            work,
            channel=_CHANNEL,
            on_result=self._fitted,
            on_stop=self.refresh,
            failure="The layers could not be fitted to shuffled pixels",
        )
        self.refresh()

    @Slot(object)
    def _fitted(self, fit: ShuffledFit) -> None:
        self.fit = fit
        self.refresh()
        self.numbers_changed.emit()

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self._workspace.queue.cancel(channel=_CHANNEL)
        self._order = self.fit = None

    def hideEvent(self, event: QHideEvent) -> None:
        """Cancel the fit."""
        super().hideEvent(event)
        self._workspace.queue.cancel(channel=_CHANNEL)

    @Slot()
    def refresh(self) -> None:
        dataset, model, values = self._workspace.dataset, self._workspace.model(), self._shown.values
        ready = model is not None and bool(model.stack.layers)
        if dataset is not None and self._order is not None and len(self._order) != dataset.n_features:
            self._forget(dataset)  # the order is one of data that were open before
        self.button.setEnabled(ready)
        if dataset is None or values is None:
            return
        fit = self.fit
        if fit is not None and (model is None or fit.stack.layers != model.stack.layers):
            fit = self.fit = None  # the layers are others now
        order = np.arange(dataset.n_features) if self._order is None else self._order
        back = np.argsort(order)
        feature = self._pixels.features()[0]
        images = dataset.image_shape is not None
        self.button.setText("Shuffle pixels" if images else "Shuffle features")
        table, quantity = self._source.tiles((feature,)), self._source.quantity()
        sample, is_shuffled = Tile.of(values, dataset.image_shape, INK, "", feature), self._order is not None
        shuffled_sample = Tile.of(values[order], dataset.image_shape, INK, "", int(back[feature]))
        shuffled: list[Tile | None] = [shuffled_sample if is_shuffled else None]
        put_back: list[Tile | None] = [sample if is_shuffled else None]
        original: list[Tile | None] = [sample]
        for k, tile in enumerate(table.tiles[0], start=1):
            original.append(tile)
            if tile is None or fit is None:
                shuffled.append(None)
                put_back.append(None)
                continue
            row = self._shuffled_row(fit, k, int(back[feature]))
            shuffled.append(row_tile(row, dataset.image_shape, tile.scale, int(back[feature]), quantity, tile.stale))
            there = row_tile(row[np.append(back, -1)], dataset.image_shape, tile.scale, feature, quantity)
            caption = f"{there.caption.split(' · ')[0]} · Δ {short_size(fit.differences[k - 1])}"
            put_back.append(replace(there, caption=caption, stale=tile.stale))
        name, color = self._workspace.feature_name(feature), QColor(theme_of(self).accent)
        rows = tuple(
            TileRow(title, name, color, False, tuple(tiles))
            for title, tiles in (("shuffled", shuffled), ("put back", put_back), ("original", original))
        )
        heads = ("image" if images else "sample", *table.titles)
        self.tiles.set_transposed(self._workspace.state.selection.transposed)
        self.tiles.set_content(heads, rows)
        self.status.setText(self._sentence(fit, dataset, ready))

    def _shuffled_row(self, fit: ShuffledFit, k: int, place: int) -> NDArray[np.float64]:
        """Return the row of W of the pixel at a shuffled place, as tiles show it, its bias last."""
        layer = fit.shuffled.layers[k - 1]
        row: NDArray[np.float64] = layer.weights[place]
        if self._source.shows_contributions():
            rms = input_rms(layer)
            assert rms is not None
            row = np.append(row[:-1] * rms, row[-1])
        return row

    def _sentence(self, fit: ShuffledFit | None, dataset: Dataset, ready: bool) -> str:
        if fit is not None:
            worst, most = significant(max(fit.differences), 2), significant(max(fit.largest), 2)
            return f"seed {self._seed} · put back, W differs by at most {worst}; its largest weight is {most}"
        if self._workspace.queue.wants(self._job):
            features = "features" if dataset.image_shape is None else "pixels"
            return f"seed {self._seed} · fitting to {count(dataset.n_features)} shuffled {features}…"
        if ready:
            return "Shuffle the pixels and fit W again: with each pixel back in its place, W is the same."
        return "The layers are still being fitted."

    @property
    def shows_rows(self) -> bool:  # type: ignore[override]
        """True if there is no fit to shuffled pixels, so that the tables show rows of W."""
        return self.fit is None

    def tables(self) -> tuple[NumberTable, ...]:
        fit = self.fit
        if fit is None:
            return ()
        names = [(str(k),) for k in range(1, len(fit.differences) + 1)]
        cells = list(zip(fit.differences, fit.largest, strict=True))
        heads = ("largest difference", "largest weight")
        return (NumberTable("W of shuffled pixels, put back, against W", ("layer",), names, heads, cells),)
