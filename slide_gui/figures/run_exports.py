"""The figures of runs with everything that is needed to make them again: curves, confusion matrix, widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui import __version__
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.choice import PointResult
from slide_gui.experiments.curves import ErrorCurves, error_curves
from slide_gui.experiments.evaluation.protocol import Published, data_key, published
from slide_gui.experiments.provenance import FigureProvenance
from slide_gui.experiments.result import RunResult
from slide_gui.figures.confusion import confusion_csv, draw_confusion
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.export import FigureExport, all_forms
from slide_gui.figures.style import Style
from slide_gui.figures.widths import draw_widths, widths_csv
from slide_gui.text import label_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["curve_marks", "run_export"]

_Parts = tuple[Callable[["Figure", Style], None], Callable[[Path], None]]  # draws; writes the table
_MARKED = ("SLIDE-SVM", "Raw-SVM")
_SCRIPT = '''"""Makes {name}.pdf, .svg, .png and .csv again; written by slide-gui {version}.

{name}.json beside this script holds the runs. Start it in the folder from which the data's paths start.
"""

from pathlib import Path

from slide_gui.experiments.provenance import FigureProvenance
from slide_gui.figures.run_exports import run_export
from slide_gui.figures.export import save_export
from slide_gui.figures.style import Style

STYLE = {style!r}

provenance = FigureProvenance.read(Path(__file__).with_name("{name}.json"))
dataset = provenance.source.load()
results = provenance.answers(dataset)
export = run_export(provenance, dataset, results)
for suffix in (".pdf", ".svg", ".png", ".csv"):
    save_export(Path("{name}" + suffix), export, STYLE)
'''


def run_export(provenance: FigureProvenance, dataset: Dataset, results: Sequence[RunResult]) -> FigureExport:
    """Return a figure of runs as what can be exported.

    Parameters
    ----------
    dataset : Dataset
        Those of the provenance.
    results : sequence of RunResult
        Of each point of the provenance.

    Raises
    ------
    ValueError
        If the runs do not make such a figure: curves of different methods, widths that were not learned.
    """
    make = {"curves": _curves, "confusion": _confusion, "widths": _widths}[provenance.figure]
    draw, table = make(provenance, dataset, results)
    name = provenance.figure
    return FigureExport(
        name,
        draw,
        table,
        lambda style: _commands(name, style),
        lambda style: _SCRIPT.format(name=name, version=__version__, style=style),
        {f"{name}.json": provenance.text()},
    )


def curve_marks(curves: ErrorCurves) -> list[Published]:
    """Return the published errors that stand beside the curves of a test part."""
    marks = [mark for mark in published(data_key(curves.dataset)) if mark.method in _MARKED]
    return marks if curves.evaluate == "test" else []


def _curves(provenance: FigureProvenance, dataset: Dataset, results: Sequence[RunResult]) -> _Parts:
    answers = [PointResult.of(point, result) for point, result in zip(provenance.points, results, strict=True)]
    curves = error_curves(dataset, answers)
    marks = curve_marks(curves)
    return lambda figure, style: draw_curves(figure, curves, style, marks), lambda path: curves_csv(path, curves)


def _confusion(_recipe: FigureProvenance, dataset: Dataset, results: Sequence[RunResult]) -> _Parts:
    result = results[0]
    names = label_names(result.labels, dataset.label_names)
    return (
        lambda figure, style: draw_confusion(figure, result, style, names),
        lambda path: confusion_csv(path, result, names),
    )


def _widths(_recipe: FigureProvenance, _dataset: Dataset, results: Sequence[RunResult]) -> _Parts:
    result = results[0]
    if result.classifier is None or not result.classifier.history:
        raise ValueError("there is nothing to draw: the widths of this run were not learned")
    return lambda figure, style: draw_widths(figure, result, style), lambda path: widths_csv(path, result)


def _commands(name: str, style: Style) -> str:
    return all_forms(name, ["draw", f"{name}.json", "--width", style.width, "--dpi", style.dpi])
