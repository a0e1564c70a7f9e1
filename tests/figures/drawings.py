"""Small example contents for every figure, and functions that draw them."""

from collections.abc import Callable
from functools import cache

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.error_rate import ErrorRate, row_errors
from slide_gui.experiments.evaluation.protocol import published
from slide_gui.experiments.evaluation.table import Cell, DataInfo, EvaluationState, SplitAnswer, time_rows
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.inspection.closed_form import CopiesResult, CopiesStudy
from slide_gui.experiments.inspection.flow import FlowResult, flow_result
from slide_gui.experiments.inspection.rows import WeightRows
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.run import run
from slide_gui.experiments.sweeps.curves import CurvePoint, ErrorCurves
from slide_gui.figures.copies import draw_copies
from slide_gui.figures.curves import draw_curves, draw_heat_map
from slide_gui.figures.evaluation import draw_errors, draw_times
from slide_gui.figures.flow import draw_flow
from slide_gui.figures.run_figures import draw_confusion, draw_widths
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights
from tests.experiments.tiny import rectangles, spec

DATA = rectangles(60, 60, n_classes=3)
PARAMETERS = StackParameters(noise=0.3, depth=2)
CURVES = ErrorCurves(
    "Rectangles", False, "SLIDE-SVM", "test",
    tuple(
        CurvePoint(i / 10, d, ErrorRate.of_run(0.02 + 0.001 * i * d, 50_000), None, False)
        for d in range(5) for i in range(10)
    ),
)  # fmt: skip
MARKS = tuple(mark for mark in published("rectangles") if mark.method in ("SLIDE-SVM", "Raw-SVM"))[:2]


@cache
def result() -> RunResult:
    """Return a run on three classes with learned widths."""
    return run(DATA, spec(DATA, depth=2, criterion="press"))


def plain() -> Dataset:
    """Return rows whose features are not pixels."""
    rows = np.random.default_rng(0).random((80, 20)).astype(np.float32)
    return Dataset("plain", rows[:60], rows[60:])


def flow_of(dataset: Dataset, seed: int | None = 1) -> FlowResult:
    return flow_result(fit_model(dataset, PARAMETERS), dataset.train[0], "training image 1", seed)


def copies_of(dataset: Dataset) -> CopiesResult:
    model = fit_model(dataset, PARAMETERS)
    return CopiesResult(model, CopiesStudy(model.stack, dataset.train, 2, seeds=2, most=16).run(), 19, 8)


def weight_rows(
    name: str = "Rectangles",
    shape: tuple[int, int] | None = (6, 8),
    pixels: tuple[int, ...] = (9, 20, 37),
    depth: int = 2,
    generated: bool = True,
    size: float = 0.5,
    seed: int = 0,
) -> WeightRows:
    """Return random weights, without a fit."""
    random = np.random.default_rng(seed)
    d = 48 if shape is None else shape[0] * shape[1]
    rows = random.uniform(-size, size, (len(pixels), depth, d))
    biases = random.normal(size=(len(pixels), depth))
    parameters = StackParameters(noise=0.25, depth=depth)
    return WeightRows(name, "0" * 64, shape, generated, parameters, pixels, rows, biases, np.ones((depth, d)))


def answers(errors: tuple[float, ...], features: float) -> tuple[SplitAnswer, ...]:
    """Return the results of splits with 1000 test rows each."""
    wrong = [row_errors("", np.arange(1000), np.arange(round(error * 1000))) for error in errors]
    return tuple(
        SplitAnswer(k, "ab", "80 % of variance", error, 10_000, 1000, rows, 0.1, features, 3.0)
        for k, (error, rows) in enumerate(zip(errors, wrong, strict=True))
    )


ERRORS = {"raw-svm": (0.090, 0.091), "pca-svm": (0.020, 0.021), "white-svm": (0.052,)}


def state() -> EvaluationState:
    """Return an evaluation on one data set with some splits missing."""
    cells = [Cell("rectangles", "slide-svm", 2, answers((0.050, 0.052), 2.0))]
    cells += [Cell("rectangles", method, 2, answers(errors, 1.0)) for method, errors in ERRORS.items()]
    cells.append(Cell("rectangles", "sda-svm", 2, answers((0.0515,), 300.0)))
    cells.append(Cell("rectangles", "sda", 2))
    return EvaluationState((DataInfo("rectangles", "Rectangles", True, "ab" * 32, 1200, 1000),), tuple(cells))


LONG = weight_rows("a name that is far too long for the figure " * 2, shape=None, pixels=tuple(range(1, 8)))

DRAWINGS: dict[str, Callable[[Figure, Style], None]] = {
    "curves": lambda figure, style: draw_curves(figure, CURVES, style, MARKS),
    "heat map": lambda figure, style: draw_heat_map(figure, CURVES, style),
    "confusion": lambda figure, style: draw_confusion(figure, result(), style, ["wide", "tall", "neither of the two"]),
    "widths": lambda figure, style: draw_widths(figure, result(), style),
    "flow": lambda figure, style: draw_flow(figure, flow_of(DATA), style),
    "flow of features": lambda figure, style: draw_flow(figure, flow_of(plain()), style),
    "copies": lambda figure, style: draw_copies(figure, copies_of(DATA), style),
    "copies of features": lambda figure, style: draw_copies(figure, copies_of(plain()), style),
    "errors": lambda figure, style: draw_errors(figure, state(), style),
    "times": lambda figure, style: draw_times(figure, time_rows(state()), style),
    "weights": lambda figure, style: draw_weights(figure, [weight_rows(), LONG], style),
}


def drawn(draw: Callable[..., None], *content: object, style: Style | None = None) -> Figure:
    """Draw a figure of some content at ten dots per mm without rendering, so that all artists have their positions."""
    figure = Figure(dpi=254)
    FigureCanvasAgg(figure)
    draw(figure, *content, style or Style())
    figure.draw_without_rendering()
    return figure


def texts(figure: Figure) -> list[str]:
    """Return the texts of a figure, and those of its axes."""
    inside = [text for axes in figure.axes for text in (*axes.texts, *axes.get_yticklabels())]
    return [text.get_text() for text in (*figure.texts, *inside)]
