"""A heat map of the errors at all noise levels and depths, with the error written in each cell."""

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, Signal, Slot
from PySide6.QtWidgets import QWidget

from slide_gui.gui.pages.curves.points import BEST, ErrorPoint, best_words, lines_of
from slide_gui.gui.theme import BLUE
from slide_gui.gui.widgets.color_table import ColorCell, ColorTable
from slide_gui.text import counted, level, percentage


class HeatMap(ColorTable):
    """A table of errors in per cent, with one row per depth and one column per noise level.

    Frames mark the cells whose noise level and depth were selected on validation rows. The headings of the current
    noise level and depth are highlighted.

    Signals
    -------
    point_clicked(object)
        The user clicked this ErrorPoint.
    """

    point_clicked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, "Heat map of the error at each noise level and depth")
        self._points: dict[tuple[int, int], ErrorPoint] = {}
        self.cell_clicked.connect(self._click)

    def set_points(self, points: Sequence[ErrorPoint], part: str = "test", mark: str = BEST) -> None:
        """Replace the points. There may be at most one point for each noise level and depth.

        `part` names the rows on which errors are counted ("test" or "validation"). It appears in the legend.
        `mark` describes the frames.
        """
        noises, depths = (sorted(set(each)) for each in zip(*map(_place, points), strict=True)) if points else ((), ())
        self._points = {(depths.index(p.depth), noises.index(_place(p)[0])): p for p in points}
        errors = [p.error for p in points if p.rate and p.state == "done"]
        low, high = min(errors, default=0.0), max(errors, default=1.0)
        digits, cells = 2 if high < 10.0 else 1, {}
        for place, point in self._points.items():
            text, tip = percentage(point.error, digits) if point.rate else "…", "\n".join(lines_of(point))
            if point.state == "done":
                cells[place] = ColorCell(text, tip, (point.error - low) / max(high - low, 1e-12))
            else:
                cells[place] = ColorCell(f"≈ {text}" if point.rate else text, tip)
        bounds = f" {' to '.join(dict.fromkeys(map(percentage, (low, high))))} %," if errors else ""
        legend = f"{part} error,{bounds} by depth and noise level 1 − p"
        words = [counted(len(points), "point"), *filter(None, [best_words(points, mark)])]
        self.set_outlined([place for place, point in self._points.items() if point.chosen])
        rows = [(f"depth {depth}", "") for depth in depths]
        columns = [(level(noise), f"noise level {noise:g}") for noise in noises]
        self.set_cells(rows, columns, cells, ("; ".join([legend, *words[1:]]), BLUE), "; ".join(words))

    def set_current(self, noise: float, depth: int) -> None:
        """Highlight the row and column headings of the point with this noise level and depth, if there is one."""
        self.clearSelection()
        for place, point in self._points.items():
            if _place(point) == (round(noise, 6), depth):
                self.selectionModel().select(self.model().index(*place), QItemSelectionModel.SelectionFlag.Select)

    @Slot(object)
    def _click(self, place: tuple[int, int]) -> None:
        if place in self._points:
            self.point_clicked.emit(self._points[place])


def _place(point: ErrorPoint) -> tuple[float, int]:
    """Return the rounded noise level and the depth of a point. Rounding puts 3 · 0.1 and 0.3 in the same column."""
    return round(point.noise, 6), point.depth
