"""Export figures of runs with everything needed to reproduce them: error curves, confusion matrix, kernel widths."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.protocol import published
from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.sweeps.curves import error_curves
from slide_gui.experiments.sweeps.selection import PointResult
from slide_gui.experiments.sweeps.trial import BUDGET, Trial
from slide_gui.figures.curves import curves_csv, draw_curves, draw_heat_map
from slide_gui.figures.export import FigureExport, all_forms, export_of
from slide_gui.figures.run_figures import confusion_csv, draw_confusion, draw_widths, widths_csv
from slide_gui.figures.style import Style
from slide_gui.text import label_names

CURVES, HEAT_MAP = "curves", "heat-map"
_MARKED = ("SLIDE-SVM", "Raw-SVM")
_IMPORTS = """from slide_gui.experiments.files.provenance import FigureProvenance
from slide_gui.figures.run_exports import run_export"""
_BODY = """provenance = FigureProvenance.read(HERE / "{name}.json")
dataset = provenance.source.load()
export = run_export(provenance, dataset, provenance.answers(dataset))"""


def run_export(provenance: FigureProvenance, dataset: Dataset, results: Sequence[RunResult]) -> FigureExport:
    """Return the export of a figure of runs.

    Parameters
    ----------
    dataset : Dataset
        Data set on which the runs were computed.
    results : sequence of RunResult
        Results of the runs in `provenance.points`, in the same order.

    Raises
    ------
    ValueError
        If error curves would show runs with different methods, or if the kernel widths to show were not learned.
    """
    if provenance.figure not in RUN_FIGURES:
        return curves_bundle(provenance, dataset, list(map(PointResult.of, provenance.points, results)))
    return _bundled(RUN_FIGURES[provenance.figure].export(results[0], dataset.label_names), provenance)


def curves_bundle(provenance: FigureProvenance, dataset: Dataset, answers: Sequence[PointResult]) -> FigureExport:
    """Return the export of error curves, or of their heat map, including the files that reproduce the figure."""
    return _bundled(curves_export(dataset, answers, provenance.figure, provenance.n_missing), provenance)


def _bundled(export: FigureExport, provenance: FigureProvenance, first: str = "", **texts: str) -> FigureExport:
    """Add the script, command lines and text files of a bundle to the export of a figure.

    The command lines begin with `first`. The keywords `texts` are the suffixes and contents of further text files.
    """
    name = export.name

    def commands(style: Style) -> str:
        return first + all_forms(name, ["draw", f"{name}.json", "--width", style.width, "--dpi", style.dpi])

    extra = {f"{name}.{suffix}": text for suffix, text in {"json": provenance.text(), **texts}.items()}
    return replace(export, commands=commands, script=(_IMPORTS, _BODY.format(name=name)), extra=extra)


def curves_export(
    dataset: Dataset, answers: Sequence[PointResult], name: str = CURVES, n_missing: int = 0
) -> FigureExport:
    """Return the export of error curves, or of their heat map, without the additional files of a bundle.

    Curves of test errors also show published errors.
    """
    curves = error_curves(dataset, answers, n_missing)
    if name == HEAT_MAP:
        return export_of(name, curves, draw_heat_map, curves_csv)
    is_comparable = curves.evaluate == "test" and answers[0].point.spec.labels is None
    marks = [mark for mark in published(dataset.key, dataset.name) if mark.method in _MARKED and is_comparable]
    return export_of(CURVES, curves, partial(draw_curves, marks=marks), curves_csv)


def trial_export(trial: Trial, dataset: Dataset, source: DataSource) -> FigureExport:
    """Return the export of the validation error curves of a trial, with the result of the trial as a text file."""
    provenance = FigureProvenance(CURVES, source, tuple(answer.point for answer in trial.done), trial.n_missing)
    export = replace(curves_export(dataset, trial.done, n_missing=trial.n_missing), name="try")
    seed = ["--seed", str(source.seed)] if source.seed else []
    words = shlex.join([*(source.paths or [source.argument]), *source.words, *seed])
    budget = f" --budget {trial.budget:g}" if trial.budget != BUDGET else ""
    text = f"{dataset.title}: {trial.sentence}\n{trial.details}\n"
    return _bundled(export, provenance, f"slide-gui try {words}{budget} --out {export.name}\n", txt=text)


def confusion_export(result: RunResult, names: Sequence[str]) -> FigureExport:
    """Return the export of the confusion matrix of a run. `names` are the names of the classes."""
    names = label_names(result.labels, names)
    return export_of("confusion", result, partial(draw_confusion, names=names), partial(confusion_csv, names=names))


@dataclass(frozen=True)
class RunFigure:
    """A figure of one run, for the Classifier page, `slide-gui train` and `slide-gui draw`.

    Attributes
    ----------
    name : str
        Base name of the files of the figure.
    title : str
        Name of the figure with its article, as in “Export the confusion matrix”.
    export : callable
        Returns the export of the figure. The arguments are the result of a run and the names of the classes.
    width : str
        Default width of an export, a key of `WIDTHS`.
    applies : callable
        Returns True if the figure can be drawn for the given result of a run.
    """

    name: str
    title: str
    export: Callable[[RunResult, Sequence[str]], FigureExport]
    width: str = "double"
    applies: Callable[[RunResult], bool] = lambda _result: True


RUN_FIGURES = {
    figure.name: figure
    for figure in (
        RunFigure("confusion", "the confusion matrix", confusion_export, width="single"),
        RunFigure(
            "widths",
            "the kernel widths during learning",
            lambda result, _names: export_of("widths", result, draw_widths, widths_csv),
            applies=lambda result: bool(result.classifier and result.classifier.history),
        ),
    )
}


# Names of all figures of runs.
FIGURE_NAMES = (CURVES, HEAT_MAP, *RUN_FIGURES)
