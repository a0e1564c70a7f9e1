"""The experiment that fits weights W_m to m corrupted copies of the data (eq. 5 to 7 of the paper).

For large m, W_m approaches the weights W of the closed form (eq. 8). The plot is drawn with pyqtgraph, which takes 2 ms
to add a point and 0.04 ms to follow a mouse move. Matplotlib would take 46 ms and 12 ms, respectively, and its import
would delay the opening of the view by 270 ms. It is therefore used only for the exported figure
(`slide_gui.figures.copies`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QMargins, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QHideEvent, QPainter
from PySide6.QtWidgets import QWidget

from slide_gui.core.slide.stack import Layer
from slide_gui.experiments.inspection.closed_form import MOST_COPIES, Copies, CopiesPoint, CopiesResult, CopiesStudy
from slide_gui.figures.copies import copies_export
from slide_gui.figures.style import Style
from slide_gui.gui.dialogs.export import ExportOption
from slide_gui.gui.pages.page import table_text
from slide_gui.gui.pages.weights.experiment import Experiment
from slide_gui.gui.pages.weights.view import NO_LAYER, ViewContext
from slide_gui.gui.plots.axes import Plot, decade_ticks, evenly_apart
from slide_gui.gui.state.jobs import sentence
from slide_gui.gui.theme import SECONDARY, Theme, figure_font
from slide_gui.gui.widgets.controls import with_keys
from slide_gui.gui.widgets.painted import MIDDLE, washed, write
from slide_gui.gui.widgets.tiles import Tile
from slide_gui.text import count, counted, fixed, significant

_CHANNEL = "copies"
_LAST = MOST_COPIES.bit_length() - 1
_LABELS = 112  # Width, in pixels, of the labels at the right ends of the lines.


class _Series(NamedTuple):
    """A line of the plot: the relative error of the matrix W_m, or of one of its rows, for each number of copies m."""

    name: str
    is_row: bool
    points: list[tuple[int, float, float, float]]
    slope: float | None
    reference: float

    def color(self, theme: Theme) -> str:
        return theme.accent if self.is_row else theme.muted


def _powers(low: float, high: float, _most: int) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis: all powers of two, or every second one if there are more than six."""
    first, last = math.ceil(max(low, 0.0)), math.floor(high)
    stride = 1 if last - first < 6 else 2
    return [(float(k), count(2**k)) for k in range(first, last + 1) if k % stride == 0]


class CopiesPlot(Plot):
    """A plot of the relative error of W_m against m, the number of corrupted copies to which W_m is fitted.

    The user selects a number of copies m with a click or the keys Left and Right. Each dot is the geometric mean of the
    errors obtained with several random seeds. Its whisker extends from the smallest to the largest error.

    Attributes
    ----------
    chosen : int or None
        The selected number of copies m, marked by a vertical line. None if no number is selected.

    Signals
    -------
    copies_chosen(int)
        The user selected this number of copies m with the mouse or the keyboard.
    """

    copies_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        titles = "Corrupted copies m", "Relative error ‖Wₘ − W‖ / ‖W‖"
        super().__init__(QMargins(60, 26, _LABELS, 44), titles, parent)
        self._ticks = [_powers, decade_ticks]
        self._copies: Copies | None = None
        self._series: list[_Series] = []
        self.chosen: int | None = None
        self._dots = self._scatter(3, size=9)
        self._chosen_line = pg.InfiniteLine(angle=90)
        self._box.addItem(self._chosen_line, ignoreBounds=True)
        self.setMinimumSize(320, 180)
        self.setAccessibleName("Plot of the relative error of Wₘ, fitted to m corrupted copies")

    # Contents

    def set_copies(self, copies: Copies | None, feature: int, name: str, stale: bool = False) -> None:
        """Plot two lines: the error of the matrix W_m, and the error of its row that reconstructs one feature.

        The axis of m always spans all values of m, including those whose errors are not computed yet.

        Parameters
        ----------
        name : str
            Name of the feature, shown in the label of its line.
        stale : bool
            True if the errors are drawn in grey, because they belong to an earlier fit or to another layer.
        """
        if copies is not self._copies or [series.name for series in self._series[1:]] != [f"row {name}"]:
            self._copies, self._series = copies, []
            for title, row in (("all rows", None), (f"row {name}", feature)):
                points, reference = (copies.curve(row), copies.reference(row)) if copies is not None else ([], None)
                if copies is not None and reference is not None:
                    self._series.append(_Series(title, row is not None, points, copies.slope(row), reference))
            values = [v for s in self._series for point in s.points for v in point[1:]]
            values += [s.reference / math.sqrt(MOST_COPIES) for s in self._series]
            low, high = (math.log10(0.9 * min(values)), math.log10(1.1 * max(values))) if values else (-2.0, 0.0)
            # The limits of the error axis are rounded to thirds of a decade, so that new errors rarely change them.
            self._set_full_range((-0.32, _LAST + 0.32), (math.floor(3 * low) / 3, math.ceil(3 * high) / 3))
            self._set_filled(bool(self._series))
        self.set_stale(stale)
        self._describe()

    def set_chosen(self, copies: int | None) -> None:
        """Mark this number of copies m in the plot, or remove the mark if `copies` is None."""
        if copies != self.chosen:
            self.chosen = copies
            self._describe()
            self._redraw()

    def copies(self) -> list[int]:
        """Return each number of copies m for which the plot shows an error, in ascending order."""
        return sorted({point[0] for series in self._series for point in series.points})

    def position(self, copies: int, error: float) -> QPointF:
        """Return the position in the widget, in pixels, of the point with this number of copies m and this error."""
        return self.at(math.log2(copies), math.log10(error))

    def lines_at(self, copies: int) -> list[str]:
        """Return lines of text for a tooltip: m, then the mean and the range of the errors for each plotted line."""
        lines = [f"m = {count(copies)}"]
        for series in self._series:
            lines += [
                f"{series.name} {significant(mean, 3)} ({significant(low, 3)} to {significant(high, 3)})"
                for m, mean, low, high in series.points
                if m == copies
            ]
        return lines

    def _describe(self) -> None:
        known = self.copies()
        shown = self.chosen if self.chosen in known else (known[-1] if known else None)
        self.setAccessibleDescription(self._placeholder if shown is None else "; ".join(self.lines_at(shown)))

    # Items

    def _draw(self, theme: Theme) -> None:
        self._chosen_line.setVisible(self.chosen is not None)
        self._chosen_line.setPen(self._pen(theme.accent))
        self._chosen_line.setPos(math.log2(self.chosen or 1))
        for number, series in enumerate(self._series):
            colour = series.color(theme)
            pen = self._pen(colour, 1.5)
            points = np.log10([point[1:] for point in series.points])
            copies = np.log2([float(point[0]) for point in series.points])
            self._curve((number, "line"), 1).setData(copies, points[:, 0], pen=pen)
            whiskers = self._curve((number, "whiskers"), 1)
            whiskers.setData(np.repeat(copies, 2), points[:, 1:].ravel(), pen=pen, connect="pairs")
            ends = np.array(self._full_range[0])
            dashed = self._pen(washed(colour, 0.7), 1.25, (4.0, 3.0))
            errors = math.log10(series.reference) - 0.5 * math.log10(2.0) * ends
            self._curve((number, "law"), 0).setData(ends, errors, pen=dashed)
        dots = [(math.log2(m), math.log10(mean), s.color(theme)) for s in self._series for m, mean, _, _ in s.points]
        self._dots.setData(
            x=[x for x, _, _ in dots],
            y=[y for _, y, _ in dots],
            pen=self._pen(theme.background, 1.5),
            brush=[self._brush(colour) for _, _, colour in dots],
        )

    # Labels

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        """Label each plotted line at its right end with its name and fitted slope."""
        box = self.box()
        wanted = [self.position(MOST_COPIES, s.reference / math.sqrt(MOST_COPIES)).y() for s in self._series]
        places = evenly_apart(wanted, 34, box.top() + 8, box.bottom() - 16)
        for series, place in zip(self._series, places, strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(series.color(theme)))
            painter.drawEllipse(QPointF(box.right() + 13, place), 3.5, 3.5)
            text = "dashed: c/√m" if series.slope is None else f"slope {fixed(series.slope, 2)}"
            line = QRectF(box.right() + 21, place - 8, _LABELS - 21, 16)
            font = figure_font(self, SECONDARY, strong=True)
            name = QFontMetricsF(font).elidedText(series.name, Qt.TextElideMode.ElideRight, line.width())
            write(painter, line, MIDDLE, name, theme.text, font)
            write(painter, line.translated(0, 15), MIDDLE, text, theme.muted, figure_font(self, SECONDARY))

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        known = [p[1] for s in self._series for p in s.points if p[0] == self._current]
        if self._current is None or not known:
            return None
        return self.position(self._current, known[0]), self.lines_at(self._current)

    # Methods that respond to the mouse and the keyboard

    def _at(self, place: QPointF) -> int | None:
        if not self.box().adjusted(-8, 0, 8, 8).contains(place):
            return None
        near = self.values(place)[0]
        left, right = self.shown()[0]
        shown = [m for m in self.copies() if left <= math.log2(m) <= right]
        return min(shown, key=lambda m: abs(math.log2(m) - near), default=None)

    def _click(self, target: int) -> None:
        self.copies_chosen.emit(target)

    def _go(self, target: int) -> None:
        self._reveal(*self._values_of(target))
        self.copies_chosen.emit(target)

    def _values_of(self, target: int) -> tuple[float, float]:
        errors = [math.log10(p[1]) for s in self._series for p in s.points if p[0] == target]
        return math.log2(target), sum(errors) / len(errors)

    def _stepped(self, step: tuple[int, int]) -> int | None:
        known = self.copies()
        if not step[1] or not known:
            return None
        here = known.index(self.chosen) if self.chosen in known else len(known) - 1
        return known[min(max(here + step[1], 0), len(known) - 1)]

    def _end(self, last: bool) -> int | None:
        known = self.copies()
        return known[-1 if last else 0] if known else None


class CopiesView(Experiment):
    """The experiment that fits weights W_m to an increasing number m of corrupted copies of the data.

    After the user has started the computation, it restarts whenever the layers are fitted again. Any other job may
    interrupt it, and it stops when the view is hidden.

    Attributes
    ----------
    copies : Copies or None
        The weights W_m computed so far, with their errors.
    """

    def __init__(self, context: ViewContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent, "Input, row of Wₘ, row of W, and difference between the two rows")
        self._data = self._workspace.dataset  # The data set whose images are corrupted to make the copies.
        self._fitted: Layer | None = None  # The fitted layer for which `_study` computes W_m.
        self._study: CopiesStudy | None = None  # The object that computes `copies`; None if nothing is left to compute.
        self.copies: Copies | None = None
        # The number of copies m that the user selected. W_m may not have been computed yet for the current layer.
        self._wanted = 32
        self._job: int | None = None
        self._outdated = False  # True if `copies` belongs to an earlier fit of the layers.
        self._restarts = False  # True if the computation restarts after each new fit of the layers.
        self._run = self._add_action("Start", with_keys("Fit Wₘ to corrupted copies", "Ctrl+Shift+M"), self.toggle)
        self.plot = CopiesPlot(self)
        self.plot.copies_chosen.connect(self._choose)
        self.column.insertWidget(1, self.plot, 1)
        self.setTabOrder(self.plot, self.tiles)
        self._workspace.dataset_changed.connect(self._forget)

    @property
    def _is_fitted(self) -> bool:
        return self._workspace.state.parameters.depth > 0 and self._workspace.fitting.is_fresh(self.layer)

    # Computation -----------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        # Check for new data here, because the page may call `refresh` before `dataset_changed` reaches this view.
        if self._data is not self._workspace.dataset:
            self._forget()
        stack = self._workspace.fitting.stack
        self._list_layers()
        # If the job is no longer in the queue, the user has stopped it. Do not restart it.
        if self._job is not None and not self._workspace.queue.wants(_CHANNEL):
            self._job, self._restarts = None, False
        if self._is_fitted and stack is not None and self._fitted is not stack.layers[self.layer - 1]:
            self._begin(self.layer)
        self._show()

    def _begin(self, number: int) -> None:
        """Prepare to compute W_m for a newly fitted layer. The plot shows the errors of the previous fit in grey."""
        dataset, stack = self._workspace.dataset, self._workspace.fitting.stack
        assert dataset is not None
        assert stack is not None
        self._fitted = stack.layers[number - 1]
        self.refusal, self._outdated = "", True
        try:
            if not stack.parameters.noise:
                raise ValueError("at noise level 0, every copy equals the data, and Wₘ equals W; raise the noise level")
            self._study = CopiesStudy(stack, dataset.train, number)
        except ValueError as error:
            self._refuse(error)
            return
        if self._restarts:
            self._submit()

    def _submit(self) -> None:
        assert self._study is not None
        self._job = self._workspace.queue.submit(
            "Fitting to corrupted copies",
            self._study.run,
            channel=_CHANNEL,
            on_payload=self._take_copies,
            on_result=self._finish,
            on_failure=self._refuse,
            on_stop=self.refresh,
            background=True,
            automatic=True,
        )

    @Slot()
    def toggle(self) -> None:
        """Start, stop or resume the computation."""
        if self._job is not None:
            self._stop()
        elif self._study is not None and self._is_fitted:
            self._restarts = True
            self._submit()
        self._show()

    def _stop(self) -> None:
        self._workspace.queue.cancel(channel=_CHANNEL)
        self._job, self._restarts = None, False

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    def _take_copies(self, copies: Copies) -> None:
        self.copies, self._outdated = copies, False
        self._show()

    def _finish(self, copies: Copies) -> None:
        self._job = self._study = None
        self._take_copies(copies)

    def _refuse(self, error: Exception) -> None:
        self._job = self._study = self.copies = None
        self.refusal = f"This experiment cannot run: {sentence(error)}"
        self._show()

    @Slot()
    def _forget(self) -> None:
        """Stop the computation, and discard its results, because another data set has been opened."""
        self._data = self._workspace.dataset
        self._fitted = self._study = self.copies = self._job = None
        self.refusal, self._restarts = "", False
        self._workspace.queue.cancel(channel=_CHANNEL)

    # Display ---------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        copies, running = self.copies, self._job is not None
        has_points = copies is not None and not self._outdated
        self._run.setText("Stop" if running else "Resume" if has_points and self._study is not None else "Start")
        self._run.setVisible(running or (self._study is not None and self._is_fitted))
        a = self._pixels.features()[0]
        if copies is None:
            start = f"Press Start to fit Wₘ to up to {count(MOST_COPIES)} corrupted copies while this view is open."
            self.plot.set_placeholder((self.refusal or start) if self._workspace.state.parameters.depth else NO_LAYER)
        stale = copies is not None and self._is_stale(copies)
        point = None if copies is None else self._point(copies)
        status = ""
        if copies is not None:
            n, total = count(copies.n_rows), count(copies.n_all)
            rows = f"Wₘ and W from a sample of {n} of {total} rows" if copies.n_rows < copies.n_all else f"{n} rows"
            status = f"{rows} · geometric mean over {counted(copies.seeds, 'seed')} · dashed lines: fits of c/√m"
        self.status.setText(status)
        self.plot.set_copies(copies, a, self._workspace.feature_name(a), stale)
        self.plot.set_chosen(None if point is None else point.copies)
        if copies is None or point is None:
            self._set_tiles((), ())
        else:
            self._show_rows(copies, point, a, stale)

    def _show_rows(self, copies: Copies, point: CopiesPoint, a: int, stale: bool) -> None:
        limit, estimate = copies.limit[a], point.weights[a].astype(np.float64)
        scale, error = self._scale(limit[:-1], a), significant(float(point.row_errors[0, a]), 3)
        heads = (f"Wₘ · m = {count(point.copies)}", "W · limit", "Wₘ − W · same scale")
        captions = ("", "" if stale else f"±{significant(scale.high, 2)}", f"error {error}")
        rows = zip((estimate, limit, estimate - limit), captions, strict=True)
        tiles = [Tile.of(values[:-1], self._source.shape, scale, caption, a, stale=stale) for values, caption in rows]
        self._set_tiles(heads, tiles)

    def _is_stale(self, copies: Copies) -> bool:
        return self._outdated or not self._is_fitted or copies.layer != self.layer

    def _point(self, copies: Copies) -> CopiesPoint | None:
        """Return W_m and its errors for the selected m or, until they are computed, for the largest m below it."""
        return next((p for p in reversed(copies.points) if p.copies <= self._wanted), None)

    @Slot(int)
    def _choose(self, copies: int) -> None:
        self._wanted = copies
        self._show()

    # Numbers ---------------------------------------------------------------------------------------------------

    def export_options(self, style: Style) -> tuple[ExportOption, ...]:
        model, source, copies = self._workspace.model(), self._workspace.source, self.copies
        if model is None or source is None or copies is None or self._is_stale(copies):
            return ()
        done = copies.finished()
        if not done.points:
            return ()
        shown = self._point(done) or done.points[0]
        result = CopiesResult(model, done, self._pixels.features()[0], shown.copies)
        title = "the errors of Wₘ against the number of copies m"
        return (ExportOption("copies", title, lambda _progress: copies_export(result, source), style),)

    def numbers(self) -> str:
        copies, names, cells = self.copies, [], []
        if copies is None or self._is_stale(copies):
            return ""
        a = self._pixels.features()[0]
        for name, feature in (("all rows", None), (f"row of {self._workspace.feature_name(a)}", a)):
            curve = copies.curve(feature)
            names += [(name, str(m)) for m, *_ in curve]
            cells += [errors for _, *errors in curve]
        heads = ("geometric mean of the relative error", "smallest", "largest")
        return table_text(("rows", "m"), names, heads, cells) if cells else ""
