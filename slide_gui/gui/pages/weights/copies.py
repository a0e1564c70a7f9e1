"""The view of W_m, the solution for m corrupted copies, next to its limit W, with the falling error (eq. 5 to 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from slide_gui.core.slide.stack import Layer
from slide_gui.experiments.inspection.closed_form import MOST_COPIES, Copies, CopiesPoint, CopiesResult, CopiesStudy
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.figures.color_scale import ColorScale, signed
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.number_table import NumberTable
from slide_gui.gui.pages.weights.copies_plot import CopiesPlot, CopiesSeries
from slide_gui.gui.pages.weights.view import NO_LAYER, LayerChoice, View, ViewContext
from slide_gui.gui.state.jobs import sentence
from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets.controls import ElidedLabel
from slide_gui.gui.widgets.layouts import flush, nested
from slide_gui.gui.widgets.number_slider import NumberSlider
from slide_gui.gui.widgets.tiles import Tile, TileRow
from slide_gui.progress import Progress
from slide_gui.text import count, significant

if TYPE_CHECKING:
    from slide_gui.figures.export import FigureExport

_CHANNEL = "copies"
_LAST = MOST_COPIES.bit_length() - 1


class CopiesPart(View):
    """The computation of corrupted copies, which other jobs may interrupt.

    Once started, it restarts after each new fit. It stops while the view is hidden.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._layer: Layer | None = None  # layer of the copies
        self._study: CopiesStudy | None = None
        self._copies: Copies | None = None
        self._job: int | None = None
        self._stopped = self._failed = self._behind = self._asked = False
        self._choice = LayerChoice(self)
        self._choice.chosen.connect(self.refresh)
        self._status = ElidedLabel("", self)
        self._run = QPushButton("Stop", self)
        self._run.clicked.connect(self.toggle)
        self.plot = CopiesPlot(self)
        self.plot.copies_chosen.connect(self._choose)
        self.slider = NumberSlider(
            "Copies m = 2ᵏ, k",
            *(0, _LAST, 1, 5),
            decimals=0,
            tip=f"Number of corrupted copies of the solution Wₘ below, m = 1 to {MOST_COPIES} (eq. 5 to 7)",
            parent=self,
        )
        self.slider.value_changed.connect(self._show)
        self.tiles = self._add_tiles("Row of Wₘ, of its limit, and their difference")
        self._arrange()
        self._pixels.moved.connect(self._moved)
        self._pixels.crossed.connect(self._crossed)
        self._workspace.dataset_changed.connect(self._forget)

    def _arrange(self) -> None:
        self.slider.setMaximumWidth(420)
        layout = flush(QVBoxLayout(self))
        row = nested(layout, QHBoxLayout(), spacing=12)
        row.addWidget(self._choice)
        row.addWidget(self._status, 1)
        row.addWidget(self._run)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.slider)
        layout.addWidget(self.tiles)

    @property
    def copies(self) -> Copies | None:
        """Return the copies computed so far."""
        return self._copies

    @property
    def is_running(self) -> bool:
        """True if the copies are being computed or wait for other jobs."""
        return self._job is not None

    # Computation -----------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        state, stack = self._workspace.state, self._workspace.fitting.stack
        self._choice.set_depth(state.parameters.depth)
        self.tiles.set_transposed(state.selection.transposed)
        if self._job is not None and not self._workspace.queue.wants(self._job):  # "Cancel all jobs" cancelled it
            self._job, self._stopped, self._asked = None, True, False
        number = self._choice.layer
        fitted = state.parameters.depth > 0 and self._workspace.fitting.is_fresh(number)
        if fitted and stack is not None and self._layer is not stack.layers[number - 1]:
            self._begin(number)
        self._show()

    def _begin(self, number: int) -> None:
        """Start with the fitted layer; the old plot stays, in grey, until the first new point."""
        dataset, stack = self._workspace.dataset, self._workspace.fitting.stack
        assert dataset is not None
        assert stack is not None
        self._layer = stack.layers[number - 1]
        self._stopped = self._failed = False
        self._behind = True
        try:
            self._study = CopiesStudy(stack, dataset.train, number)
        except ValueError as error:
            self._refused(error)
            return
        if self._asked:
            self._submit()

    def _submit(self) -> None:
        assert self._study is not None
        self._job = self._workspace.queue.submit(
            "Corrupting copies",
            self._study.run,
            channel=_CHANNEL,
            on_payload=self._seen,
            on_result=self._done,
            on_failure=self._refused,
            on_stop=self.refresh,
            background=True,
        )

    @Slot()
    def toggle(self) -> None:
        """Start, pause or resume the computation."""
        if self._job is not None:
            self._stop()
        elif not self._is_complete() and self._study is not None:
            self._stopped, self._asked = False, True
            self._submit()
        self._show()

    def _stop(self) -> None:
        if self._job is not None:
            self._workspace.queue.cancel(self._job)
            self._job, self._stopped = None, True
        self._asked = False

    def _is_complete(self) -> bool:
        return self._copies is not None and not self._behind and not self._stopped

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    @Slot(object)
    def _seen(self, copies: Copies) -> None:
        self._copies, self._behind = copies, False
        self._show()

    @Slot(object)
    def _done(self, copies: Copies) -> None:
        self._job = None
        self._seen(copies)

    @Slot(object)
    def _refused(self, error: Exception) -> None:
        self._job, self._study, self._copies, self._failed = None, None, None, True
        self.plot.set_placeholder(f"The copies cannot be computed: {sentence(error)}")
        self._show()

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        model, source, copies = self._workspace.model(), self._workspace.source, self._copies
        done = () if copies is None else copies.finished().points
        if model is None or source is None or copies is None or not done or self._is_stale(copies):
            return ()
        wanted, feature = 2 ** round(self.slider.value()), self._pixels.features()[0]
        shown = max((p.copies for p in done if p.copies <= wanted), default=done[0].copies)
        result = CopiesResult(model, copies.finished(), feature, shown)

        def export(_progress: Progress) -> FigureExport:
            from slide_gui.figures.copies import copies_export

            return copies_export(result, source)

        return (ExportOption("copies", "the copies against their limit", export, style),)

    def tables(self) -> tuple[NumberTable, ...]:
        copies, names, cells = self._copies, [], []
        if copies is None or self._is_stale(copies):
            return ()
        a = self._pixels.features()[0]
        row = f"row of {self._workspace.feature_name(a)}"
        for name, feature in (("all rows", None), (row, a)):
            curve = copies.curve(feature)
            names += [(name, str(m)) for m, *_ in curve]
            cells += [errors for _, *errors in curve]
        heads = ("mean relative error", "least", "largest")
        return (NumberTable("Error of m copies relative to the limit", ("rows", "m"), names, heads, cells),)

    # Display ---------------------------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        copies, dataset = self._copies, self._workspace.dataset
        self._run.setVisible(self._study is not None and (self._job is not None or not self._is_complete()))
        begun = self._stopped and not self._behind
        self._run.setText("Stop" if self._job is not None else "Resume" if begun else "Start")
        self._run.setToolTip(
            "Stop and leave the points plotted (Esc)" if self._job is not None else "Corrupt more and more copies"
        )
        if dataset is None or copies is None or copies.limit.shape[0] != dataset.n_features:
            if not self._failed:
                start = f"Press Start to corrupt up to {count(MOST_COPIES)} copies while this view is open."
                self.plot.set_placeholder(start if self._workspace.state.parameters.depth else NO_LAYER)
            self.plot.set_series((), MOST_COPIES)
            self.tiles.set_content((), ())
            self._status.setText("")
            return
        self._status.setText(self._words(copies))
        theme, a, shape = theme_of(self), self._pixels.features()[0], dataset.image_shape
        series = [
            CopiesSeries(name, colour, tuple(copies.curve(feature)), copies.slope(feature), copies.reference(feature))
            for name, colour, feature in (
                ("all rows", theme.muted, None),
                (f"row {self._workspace.feature_name(a)}", theme.accent, a),
            )
        ]
        self.plot.set_series(tuple(series), MOST_COPIES, self._is_stale(copies))
        self._show_rows(copies, a, shape)
        self.numbers_changed.emit()

    def _is_stale(self, copies: Copies) -> bool:
        parameters = self._workspace.state.parameters
        fresh = self._workspace.fitting.is_fresh(self._choice.layer)
        return self._behind or not fresh or copies.layer != self._choice.layer or copies.noise != parameters.noise

    def _words(self, copies: Copies) -> str:
        n, total = count(copies.n_rows), count(copies.n_all)
        rows = f"a sample of {n} of {total} rows, for W too" if copies.n_rows < copies.n_all else f"{n} rows"
        return " · ".join((rows, f"mean of {copies.seeds} seeds", "dashed: c/√m"))

    def _point(self, copies: Copies) -> CopiesPoint | None:
        """Return the point at the slider, or else the last point before it."""
        wanted = 2 ** round(self.slider.value())
        return next((p for p in reversed(copies.points) if p.copies <= wanted), None)

    def _show_rows(self, copies: Copies, a: int, shape: tuple[int, int] | None) -> None:
        point = self._point(copies)
        wanted = 2 ** round(self.slider.value())
        m = f"m = {count(wanted)}"
        self.slider.set_extra(m if point is not None and point.copies == wanted else f"{m}, not computed yet")
        if point is None:
            self.tiles.set_content((), ())
            return
        self.plot.set_chosen(point.copies)
        limit, estimate = copies.limit[a], point.weights[a].astype(np.float64)
        scale = ColorScale.symmetric(self._source.color_map, nearby_peak(limit[:-1], a, shape))
        error = float(point.row_errors[0, a])
        tiles = (
            Tile.of(estimate[:-1], shape, scale, f"b {signed(float(estimate[-1]), 3)}", a),
            Tile.of(limit[:-1], shape, scale, f"b {signed(float(limit[-1]), 3)}", a),
            Tile.of((estimate - limit)[:-1], shape, scale, f"relative {significant(error, 3)}", a),
        )
        stale = (self._is_stale(copies),) * 3
        row = TileRow(self._workspace.feature_name(a), f"seed {0}", QColor(theme_of(self).accent), False, tiles, stale)
        heads = (
            f"Wₘ · m = {count(point.copies)}",
            "W · limit" if any(stale) else f"W · limit, ±{significant(scale.high, 2)}",
            "Wₘ − W · same limits",
        )
        self.tiles.set_content(heads, (row,))

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        """Drop the copies of other data."""
        self._workspace.queue.cancel(channel=_CHANNEL)
        self._layer = self._study = self._copies = self._job = None
        self._stopped = self._failed = self._asked = False

    # From the widgets ------------------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, copies: int) -> None:
        self.slider.set_value(copies.bit_length() - 1)
        self._show()

    @Slot()
    def _moved(self) -> None:
        if self.isVisible():
            self._show()

    @Slot()
    def _crossed(self) -> None:
        self.tiles.set_crosshair(self._pixels.source)
