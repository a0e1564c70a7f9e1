"""The Runs page, on which the user can filter, compare, load, delete and export all stored runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from slide_gui.experiments.inspection.comparison import RunComparison, compare_errors
from slide_gui.experiments.inspection.rows import nearby_peak
from slide_gui.experiments.runs.result import RunResult, describe_widths
from slide_gui.experiments.runs.spec import METHODS, describe_choice
from slide_gui.experiments.store.stored_run import StoredRun
from slide_gui.experiments.sweeps.sweep import SweepState
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.export import FigureExport
from slide_gui.figures.tables import runs_csv
from slide_gui.gui.dialogs.export import TABLE, ExportOption
from slide_gui.gui.pages.page import Page, PageView, confusion_text, table_text
from slide_gui.gui.pages.runs.table import RunTable
from slide_gui.gui.state.library import RunLibrary
from slide_gui.gui.state.session import Session
from slide_gui.gui.theme import theme_changed, theme_of
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix, worst_mistake
from slide_gui.gui.widgets.controls import ElidedBox, LowScroll, label, with_keys
from slide_gui.gui.widgets.layouts import flush, nested, placed
from slide_gui.gui.widgets.tiles import TileRow, row_tile, short_size
from slide_gui.gui.widgets.weight_tiles import TileScroll, WeightTiles
from slide_gui.text import count, counted, dataset_title, label_names, p_value_text, percentage, pixel_name

_MOST_PIXELS = 8  # Largest number of pinned pixels for which rows of W are compared.


class RunsPage(Page):
    """The page with the table of stored runs and the comparison of two runs."""

    def __init__(self, session: Session, views: Sequence[PageView], parent: QWidget) -> None:
        super().__init__("Runs", "all runs are stored", views, parent)
        controller, self._workspace, self._library = session.runs, session.workspace, session.library
        self.run_table = RunTable(self)
        self.run_table.open_requested.connect(controller.open_run)
        self.run_table.delete_requested.connect(self._library.delete)
        self.run_table.compare_requested.connect(self._compare)
        self.run_table.tag_edited.connect(self._library.tag)
        self.run_table.filtered.connect(self.chosen)
        self.comparison = ComparisonView(self._library, self)
        self._wanted: tuple[str, ...] = ()
        self._has_compared = False
        self.add_stack(self.run_table, self.comparison)
        self._library.changed.connect(self.refresh)
        self._sweep, self._n_finished = controller.sweep, 0
        self._sweep.changed.connect(self._follow_sweep)

    @Slot()
    def _follow_sweep(self) -> None:
        """Update the table whenever a sweep has finished a run."""
        state: SweepState | None = self._sweep.latest
        finished = 0 if state is None else len(state.done) + len(state.final)
        if finished != self._n_finished and self.isVisible() and not self._library.reading:
            self._n_finished = finished
            self._library.refresh()

    def event(self, event: QEvent) -> bool:
        # Read the list again, because another window or a command may have changed the run store.
        if event.type() in (QEvent.Type.Show, QEvent.Type.WindowActivate) and not self._library.reading:
            self._library.refresh()
        return super().event(event)

    def _renew(self) -> None:
        """List all stored and shipped runs, and show their number."""
        self.run_table.set_rows(self._library.runs)
        subtitle, empty = self._words()
        self.subtitle.setText(subtitle)
        self.run_table.set_placeholder(empty)
        self._choose_wanted()
        self._show_example()

    def _words(self) -> tuple[str, str]:
        """Return the page's subtitle, such as the number of runs, and the message that an empty table shows."""
        library = self._library
        others = sum(not run.is_current for run in library.runs)
        if library.reading and not library.runs:
            return "reading…", "Loading the runs …"
        if not library.listed:
            return "the stored runs could not be read", "The stored runs could not be read."
        n, n_shipped = len(library.stored_runs), len(library.runs) - len(library.stored_runs)
        listed = f"{n} stored, {n_shipped} shipped with the program" if n_shipped else f"{n} stored"
        listed = f"{listed}; {others} (grey) with an older or newer results version" if others else listed
        return listed, "No runs yet. Train a classifier or start a sweep."

    def choices(self) -> dict[str, str]:
        # The comparison is not saved in the session, because its runs may be deleted before the session is restored.
        return {"view": "0", "filter": self.run_table.filter}

    def choose(self, choices: Mapping[str, str]) -> None:
        super().choose(choices)
        self.run_table.set_filter(choices.get("filter", self.run_table.filter))

    def show_item(self, item: Any) -> None:
        """Filter the table for the runs of a `RunSelection`, and select them as soon as they are listed."""
        self._show_view(0)
        self.run_table.set_filter(item.words)
        self._wanted = item.keys
        if set(item.keys) - {run.hash for run in self._library.runs}:
            self._library.refresh()
        self._choose_wanted()

    def _choose_wanted(self) -> None:
        if self._wanted and {run.hash for run in self._library.runs}.issuperset(self._wanted):
            self.run_table.select(self._wanted)
            self._wanted = ()

    # Export -----------------------------------------------------------------------------------------------------

    def needs(self) -> frozenset[str]:
        return frozenset({"data"})

    def export_options(self) -> tuple[ExportOption, ...]:
        place = {run.hash: run for run in self._library.runs}
        lines = [place[key] for key in self.run_table.shown() if key in place]
        if not lines:
            return ()
        table = FigureExport("runs", None, lambda path: runs_csv(path, lines))
        which = "selected" if self.run_table.selected() else "visible"
        about = f"The table contains the {which} runs ({count(len(lines))})."
        return (ExportOption("runs", "the table of runs", lambda _progress: table, kinds=TABLE, about=about),)

    def why_nothing_to_export(self) -> str:
        return "No runs are listed. Train a classifier, start a sweep, or clear the filter."

    def numbers(self) -> str:
        if self.stack.currentIndex():
            return self.comparison.numbers()
        return self.run_table.text() if self.run_table.shown() else ""

    # Comparison -------------------------------------------------------------------------------------------------

    @Slot(int)
    def _show_view(self, view: int) -> None:
        super()._show_view(view)
        self._show_example()

    def _show_example(self) -> None:
        """Compare two shipped runs as an example if the user has made no comparison and stored fewer than two runs."""
        dataset, depth = self._workspace.dataset, self._workspace.state.parameters.depth
        is_empty = self.stack.currentIndex() == 1 and not self._has_compared
        if is_empty and dataset is not None and len(self._library.stored_runs) < 2:
            shipped = [run for run in self._library.runs if run.is_shipped and run.fingerprint == dataset.fingerprint]
            runs = sorted((run for run in shipped if run.noise and run.depth == depth), key=lambda run: run.noise)
            if len(runs) > 1:
                self._compare((runs[0].hash, runs[-1].hash))

    @Slot(object)
    def _compare(self, keys: tuple[str, str]) -> None:
        self._has_compared, dataset = True, self._workspace.dataset
        pixels = self._workspace.state.selection.pins[:_MOST_PIXELS]
        middle = (0 if dataset is None else dataset.n_features // 2,)
        self.comparison.begin()
        self._show_view(1)
        self._library.compare(keys, pixels or middle, self.comparison.show_comparison)


_LEAST_HEIGHT = 400  # Smallest height in pixels at which the confusion matrices and their captions do not overlap.
_EMPTY = f"Select two runs in the table and press {with_keys('Compare', 'Ctrl+D')}."


class ComparisonView(QWidget):
    """The view that shows one `RunComparison`: the error rates, confusion matrices and weights of two runs."""

    def __init__(self, library: RunLibrary, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = library
        library.changed.connect(self.show_captions)
        self._shown: RunComparison | None = None
        layout = flush(QVBoxLayout(self), 12)
        self.answer = placed(layout, label(_EMPTY, self, "", wraps=True))
        self._pixels = ElidedBox(self, "Feature whose row of W is compared", least=12)
        self._pixels.activated.connect(self._show_weights)
        self.tiles = WeightTiles(self)
        self.tiles.set_placeholder("")
        self.tiles.name_feature = self._pixel_name
        self.matrices = (ConfusionMatrix(self), ConfusionMatrix(self))
        self._captions = (label("", self, wraps=True), label("", self, wraps=True))
        self._body = placed(layout, self._build_body(), 1)
        layout.addStretch(0)
        self._body.hide()
        theme_changed().connect(self._show_weights)

    def _build_body(self) -> QWidget:
        body = LowScroll(_LEAST_HEIGHT, self)
        row = flush(QHBoxLayout(body.inner), 20)
        left, right = nested(row, QVBoxLayout(), 3, spacing=8), nested(row, QVBoxLayout(), 2, spacing=8)
        self._right = right
        pixels = nested(left, QHBoxLayout(), spacing=8)
        self._weights_title = placed(pixels, label("", self))
        pixels.addWidget(self._pixels, 1)
        self.why_not = placed(left, label("", self, wraps=True, alignment=Qt.AlignmentFlag.AlignCenter), 1)
        self._scroll = placed(left, TileScroll(self.tiles, self), 1)
        self._bar = placed(left, ColorBar(self))
        for caption, matrix in zip(self._captions, self.matrices, strict=True):
            right.addWidget(caption)
            right.addWidget(matrix, 1)
        right.addStretch(0)
        return body

    def begin(self) -> None:
        """Hide the previous comparison while the new one is being computed."""
        self.answer.setText("Comparing…")
        self._body.hide()

    def show_comparison(self, shown: RunComparison | None) -> None:
        """Show a comparison of two runs.

        If the computation was stopped, `shown` is None, and the previous comparison is shown again.
        """
        self._shown = shown = shown or self._shown
        if shown is None:
            self.answer.setText(f"Stopped. {_EMPTY}")
            return
        depth, other = shown.first.spec.stack.depth, shown.second.spec.stack.depth
        layers = f" · A has {counted(depth, 'layer')}, B has {other}" if shown.rows and depth != other else ""
        self.answer.setText(_sentence(shown) + layers)
        worst = max((worst_mistake(result.confusion) for result in _complete(shown)), default=0.0)
        self.show_captions()
        for result, matrix in zip((shown.first, shown.second), self.matrices, strict=True):
            matrix.setVisible(isinstance(result, RunResult))
            if isinstance(result, RunResult):
                matrix.set_counts(result.confusion, label_names(result.labels, shown.label_names), worst=worst)
        # The stretch at the end fills the space of hidden matrices, so that captions stay close to their matrices.
        self._right.setStretch(self._right.count() - 1, 2 - len(_complete(shown)))
        self._list_pixels()
        self._show_weights()
        self._body.show()

    @Slot()
    def show_captions(self) -> None:
        """Describe each run above its confusion matrix, and mention if it was deleted after the comparison."""
        if (shown := self._shown) is not None:
            for name, result, caption in zip("AB", (shown.first, shown.second), self._captions, strict=True):
                mark = "deleted run · " if result.hash in self._library.gone else ""
                caption.setText(f"{name} · {mark}{_describe(result)}")

    def numbers(self) -> str:
        """Return the confusion matrices and the compared rows of W as text, or "" if no comparison is shown."""
        shown = self._shown
        if shown is None or self._body.isHidden():
            return ""
        results = _complete(shown)
        texts = [confusion_text(label_names(each.labels, shown.label_names), each.confusion) for each in results]
        rows = shown.rows
        if rows is None:
            return "\n\n".join(texts)
        quantity = "contributions to" if rows.contributions else "weights of"
        names = [[self._pixel_name(each)] for each in range(rows.first.shape[2] - 1)]
        for number, pixel in enumerate(rows.pixels):
            sides = (("A", rows.first[number]), ("B", rows.second[number]), ("A − B", rows.difference[number]))
            columns = {f"{side}, layer {k}": row for side, weights in sides for k, row in enumerate(weights, 1)}
            cells = zip(*columns.values(), strict=True)
            key = f"feature ({quantity} {self._pixel_name(pixel)})"
            texts.append(table_text([key], [*names, ["bias"]], tuple(columns), cells))
        return "\n\n".join(texts)

    def _pixel_name(self, pixel: int) -> str:
        assert self._shown is not None
        return pixel_name(pixel, self._shown.image_shape, self._shown.feature_names)

    def _list_pixels(self) -> None:
        rows = None if self._shown is None else self._shown.rows
        has_contributions = rows is not None and rows.contributions
        title = "Contributions to" if has_contributions else "Row of W for"
        self._weights_title.setText("" if rows is None else title)
        self._weights_title.setToolTip(_CONTRIBUTIONS if has_contributions else "")
        self._pixels.setVisible(rows is not None)
        self._pixels.clear()
        self._pixels.addItems([] if rows is None else list(map(self._pixel_name, rows.pixels)))

    @Slot()
    def _show_weights(self) -> None:
        shown = self._shown
        if shown is None or shown.rows is None:
            self.why_not.setText("" if shown is None else shown.why_not)
            self._show_tiles(False)
            return
        rows, number, shape = shown.rows, self._pixels.currentIndex(), shown.image_shape
        pixel = rows.pixels[number]
        depth, theme = max(rows.first.shape[1], rows.second.shape[1]), theme_of(self)
        sides = rows.first[number], rows.second[number], rows.difference[number]
        a, b, largest = (max((nearby_peak(row[:-1], pixel, shape) for row in side), default=0.0) for side in sides)
        # Two runs may have almost equal weights. The difference therefore has its own scale.
        scale, finer = (ColorScale.symmetric(theme.diverging, limit) for limit in (max(a, b), largest or max(a, b)))
        lines = []
        for title, note, color, weights, colors in (
            ("A", _short(shown.first), theme.pin(0), sides[0], scale),
            ("B", _short(shown.second), theme.pin(3), sides[1], scale),
            ("A − B", "difference", QColor(theme.accent), sides[2], finer),
        ):
            tiles = (row_tile(weights[k], shape, colors, pixel) if k < len(weights) else None for k in range(depth))
            lines.append(TileRow(title, note, color, False, tuple(tiles)))
        self.tiles.set_content(tuple(f"layer {k + 1}" for k in range(depth)), tuple(lines))
        self._bar.set_scale(scale, f"A − B: ±{short_size(finer.high)} · A, B:")
        self._show_tiles(True)

    def _show_tiles(self, shown: bool) -> None:
        """Show the weights as tiles with a colour bar or, if `shown` is False, the reason why there are none."""
        self.why_not.setVisible(not shown)
        for part in (self._scroll, self._bar):
            part.setVisible(shown)


_CONTRIBUTIONS = (
    "A contribution is a weight times the root mean square of its input feature. Without this factor, the "
    "large weights of a few features that are almost always 0 would hide all other weights"
)


def _complete(shown: RunComparison) -> list[RunResult]:
    """Return the full results of the compared runs. Runs shipped with only part of their results are left out."""
    return [result for result in (shown.first, shown.second) if isinstance(result, RunResult)]


def _short(result: RunResult | StoredRun) -> str:
    spec = result.spec
    is_median = METHODS[spec.method].learns and spec.svm.widths == "median"
    widths = "median widths" if is_median else describe_widths(result.chosen_by or "")
    split = "" if spec.training == "whole" else f"split {spec.split}"
    return ", ".join(filter(None, [describe_choice(spec), widths, split])) or "depth 0"


def _describe(result: RunResult | StoredRun) -> str:
    title = result.title if isinstance(result, StoredRun) else dataset_title(result.dataset, result.generated)
    name = METHODS[result.spec.method].text
    by = "" if result.is_current else f"results version {result.numerics}"
    rate = f"{result.spec.evaluate} error {result.rate}"
    return " · ".join(filter(None, [rate, title, f"{name}, {_short(result)}", by]))


def _sentence(shown: RunComparison) -> str:
    first, second = shown.first, shown.second
    difference = 100 * (first.error - second.error)
    sign = "+" if difference > 0 else "−" if difference < 0 else ""
    errors = f"Error of A {first.rate.value} %, of B {second.rate.value} %, A − B = {sign}{percentage(abs(difference))}"
    test = compare_errors(first, second)
    if test is None:
        rows = {(each.spec.fingerprint, each.spec.evaluate, each.spec.split) for each in (first, second)}
        why = (
            "some shipped runs contain no predictions"
            if len(rows) == 1
            else "the runs were evaluated on different rows"
        )
        return f"{errors} percentage points · no significance test: {why}"
    n, p = count(first.n_test), p_value_text(test.exact).replace(" ", " ")
    return f"{errors} percentage points on the same {n} rows · McNemar’s test: {p}"
