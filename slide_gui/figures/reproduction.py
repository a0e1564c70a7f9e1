"""Every figure and table of the paper, made here: its data, its runs, its files, and what the paper shows beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slide_gui.core.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.benchmark import run_benchmark
from slide_gui.experiments.benchmark_state import BenchmarkState
from slide_gui.experiments.closeness import closeness
from slide_gui.experiments.curves import error_curves
from slide_gui.experiments.fit import FittedModel, fit_model
from slide_gui.experiments.flow import flow_result
from slide_gui.experiments.store import RunStore
from slide_gui.experiments.subset import subset
from slide_gui.experiments.sweep import Pause, run_sweep
from slide_gui.experiments.sweep_spec import SweepSpec
from slide_gui.experiments.timing import extrapolated_seconds, time_rows
from slide_gui.experiments.weights import default_pixels, weight_rows
from slide_gui.figures import benchmark_text as text
from slide_gui.figures.benchmark import draw_errors, draw_times
from slide_gui.figures.closeness import closeness_csv, draw_closeness
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.export import weights_csv
from slide_gui.figures.extent import Extent
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.samples import draw_samples, sample_images, samples_csv
from slide_gui.figures.sheet import Sheet, save_sheet
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["DATA", "Made", "ReproductionState", "reproduce"]

DATA = ("rectangles", "rectangles-images", "convex", "mnist")
"""The paper's data sets, in the order of its weight figure."""

Load = Callable[[str, Progress], Dataset]

_WEIGHTS = StackParameters(noise=0.3, depth=3)
_CLOSENESS = StackParameters(noise=0.5, depth=3)


@dataclass(frozen=True, eq=False)
class Made:
    """One figure or table.

    Attributes
    ----------
    name : str
        Of its files.
    title : str
    files : tuple of str
        Relative to the folder.
    data : str
        Which data, generated or real.
    how : str
        How it was made.
    paper : str
        What the paper shows.
    seconds : float
        That it took now; stored runs take none.
    tables : tuple of TextTable
        To be shown as such.
    """

    name: str
    title: str
    files: tuple[str, ...]
    data: str
    how: str
    paper: str
    seconds: float
    tables: tuple[text.TextTable, ...] = ()


@dataclass(frozen=True, eq=False)
class ReproductionState:
    """How far it is.

    Attributes
    ----------
    title : str
        What is being made.
    made : tuple of Made
    seconds_left : float or None
        Of the runs of the part that is being made.
    benchmark : BenchmarkState or None
    """

    title: str
    made: tuple[Made, ...] = ()
    seconds_left: float | None = None
    benchmark: BenchmarkState | None = None


def reproduce(
    folder: Path,
    extent: Extent,
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    pause: Pause | None = None,
    seen: Callable[[tuple[Made, ...]], None] = lambda made: None,
) -> tuple[Made, ...]:
    """Make every figure and table of the paper.

    Each run is kept in the store before the next begins, so that the same call goes on after it was broken off.

    Parameters
    ----------
    folder : Path
        Gets PDF, SVG, PNG and CSV of each, LaTeX and Markdown of the tables.
    extent : Extent
    load : callable
        From the key of a data set and a progress to the data set.
    store : RunStore
    progress : Progress
        Told a `ReproductionState`.
    pause : Pause, optional
    seen : callable
        Called with all that is made so far after each.

    Raises
    ------
    DataError
        If a data set cannot be used.
    Cancelled
        By the progress.
    """
    return _Reproduction(folder, extent, load, store, progress, pause, seen).run()


class _Reproduction:
    def __init__(
        self,
        folder: Path,
        extent: Extent,
        load: Load,
        store: RunStore,
        progress: Progress,
        pause: Pause | None,
        seen: Callable[[tuple[Made, ...]], None],
    ) -> None:
        self._folder, self._extent, self._store = folder, extent, store
        self._progress, self._pause, self._seen, self._load = progress, pause, seen, load
        self._state = ReproductionState("")
        self._data: dict[str, Dataset] = {}
        self._models: dict[tuple[str, StackParameters], FittedModel] = {}

    def run(self) -> tuple[Made, ...]:
        steps: tuple[tuple[str, float, Callable[[Progress], Made]], ...] = (
            ("Samples of the data sets", 0.06, self._samples),
            ("Reconstruction weights", 0.12, self._weights),
            ("Schematic with a real image", 0.14, self._flow),
            ("Closer in kernel space", 0.17, self._closeness),
            ("Error against noise and depth", 0.35, self._curves),
            ("Tables 1 and 2", 1.0, self._tables),
        )
        start = 0.0
        for title, stop, make in steps:
            self._state = replace(self._state, title=title, seconds_left=None)
            part = _Part(self, self._progress.part(start, stop))
            part.report(0.0, self._state)
            began = time.perf_counter()
            made = replace(make(part), title=title)
            made = replace(made, seconds=time.perf_counter() - began)
            self._state = replace(self._state, made=(*self._state.made, made))
            self._seen(self._state.made)
            start = stop
        self._progress.report(1.0, self._state)
        return self._state.made

    def told(self, payload: object) -> ReproductionState:
        """Take in what the current part reports."""
        left = getattr(payload, "seconds_left", None)
        if isinstance(payload, BenchmarkState):
            self._state = replace(self._state, benchmark=payload)
        if not isinstance(payload, ReproductionState):
            self._state = replace(self._state, seconds_left=left)
        return self._state

    def _dataset(self, key: str, progress: Progress) -> Dataset:
        if key not in self._data:
            self._data[key] = self._load(key, progress)
        return self._data[key]

    def _model(self, key: str, parameters: StackParameters, progress: Progress) -> FittedModel:
        if (key, parameters) not in self._models:
            self._models[key, parameters] = fit_model(self._dataset(key, progress), parameters, progress=progress)
        return self._models[key, parameters]

    def _save(self, sheet: Sheet, style: Style, *, tables: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
        """Write a sheet in all forms, and further texts; return the names of the files."""
        names = [f"{sheet.name}{suffix}" for suffix in (*self._extent.formats, ".csv")]
        for name in names:
            save_sheet(self._folder / name, sheet, style)
        for name, words in tables:
            text.save_text(self._folder / name, words)
        return (*names, *(name for name, _ in tables))

    def _samples(self, progress: Progress) -> Made:
        samples = [sample_images(self._dataset(key, progress.part(0.0, 0.0))) for key in DATA]
        sheet = Sheet(
            "samples",
            lambda figure, style: draw_samples(figure, samples, style),
            lambda path: samples_csv(path, samples),
        )
        return Made(
            "samples",
            "",
            self._save(sheet, Style(width="double")),
            self._said(DATA),
            "Ten training images of each data set, drawn with seed 0.",
            "The paper describes the four data sets in words; pictures of them stand in figures that it comments out.",
            0.0,
        )

    def _weights(self, progress: Progress) -> Made:
        weights = []
        for key in DATA:
            model = self._model(key, _WEIGHTS, progress.part(0.0, 0.0))
            mean = self._data[key].train.mean(axis=0)
            weights.append(weight_rows(model, default_pixels(model.image_shape, mean)))
        sheet = Sheet(
            "weights",
            lambda figure, style: draw_weights(figure, weights, style),
            lambda path: weights_csv(path, weights),
        )
        return Made(
            "weights",
            "",
            self._save(sheet, Style(width="double")),
            self._said(DATA),
            f"Rows of W for four pixels of each data set, {_words(_WEIGHTS)}, fitted on the whole training part.",
            "Reconstruction weights of four example pixels at different layers: crosses on both Rectangles sets, round "
            "patches on Convex and MNIST, fuzzier with depth.",
            0.0,
        )

    def _flow(self, progress: Progress) -> Made:
        model = self._model("mnist", _WEIGHTS, progress.part(0.0, 0.0))
        result = flow_result(model, self._data["mnist"].train[0], "training image 1", 0)
        sheet = Sheet(
            "flow", lambda figure, style: draw_flow(figure, result, style), lambda path: flow_csv(path, result)
        )
        return Made(
            "flow",
            "",
            self._save(sheet, Style(width="double")),
            self._said(("mnist",)),
            f"The first training image, corrupted once (seed 0) and sent through the stack, {_words(_WEIGHTS)}.",
            "A schematic description of SLIDE: the input, T(h⁰), h¹, T(h¹), …; its corruption is virtual.",
            0.0,
        )

    def _closeness(self, progress: Progress) -> Made:
        model = self._model("rectangles", _CLOSENESS, progress.part(0.0, 0.0))
        result = closeness(self._data["rectangles"], model, progress=progress)
        sheet = Sheet(
            "closeness",
            lambda figure, style: draw_closeness(figure, result, style),
            lambda path: closeness_csv(path, result),
        )
        return Made(
            "closeness",
            "",
            self._save(sheet, Style(width="double")),
            self._said(("rectangles",)),
            f"{result.n_rows} test images, {_words(_CLOSENESS)}; distance sqrt(2 − 2k) under k = exp(−D/σ²), σ² the "
            "median squared distance of the layer, over the mean distance to other classes. The pair is the one, of "
            "those with the fewest lit pixels in common, that comes closest; the bands show all pairs.",
            "A figure that is commented out: two images of one class, with only 2 pixels in common, get much closer in "
            "RBF kernel space after denoising.",
            0.0,
        )

    def _curves(self, progress: Progress) -> Made:
        e = self._extent
        dataset = subset(self._dataset("rectangles", progress.part(0.0, 0.0)), e.train_rows, e.test_rows)
        sweep = SweepSpec(
            dataset.fingerprint,
            "rectangles",
            e.noises,
            e.depths,
            method=e.method,
            svm=e.svm,
            warm=e.method == "slide-svm",
        )
        state = run_sweep(dataset, sweep, self._store, progress=progress, pause=self._pause)
        curves = error_curves(dataset, state.done)
        sheet = Sheet(
            "curves", lambda figure, style: draw_curves(figure, curves, style), lambda path: curves_csv(path, curves)
        )
        runs = sum({answer.point.spec.hash: answer.seconds for answer in state.done}.values())
        learned = "widths learned at every point" if e.method == "slide-svm" else "one global width by cross-validation"
        return Made(
            "curves",
            "",
            self._save(sheet, Style(width="one-and-a-half")),
            self._said(("rectangles",)),
            f"{len(e.noises)} noises × {len(e.depths)} depths, {len(dataset.train)} training and {len(dataset.test)} "
            f"test rows, {learned}, {e.svm.loss.replace('_', ' ')} loss; bands are 95 % intervals. {_took(runs)}",
            "The error on Rectangles against the noise 1 − p, depths 0 to 4: deep layers, l > 1, improve over one "
            "layer, up to l = 2. The values of its curves are not published.",
            0.0,
        )

    def _tables(self, progress: Progress) -> Made:
        state = run_benchmark(
            self._extent.cells, self._dataset, self._store, progress=progress.part(0.0, 0.95), pause=self._pause
        )
        pulse = progress.part(0.95, 0.95)
        cut = {cell.data: subset(self._data[cell.data], cell.train_rows, cell.test_rows) for cell in self._extent.cells}
        tutorial = {key: extrapolated_seconds(dataset, progress=pulse) for key, dataset in cut.items()}
        times = time_rows(state, tutorial)
        errors, seconds = text.error_table(state), text.time_table(times)
        written: list[str] = []
        for sheet, table in (
            (
                Sheet(
                    "errors", lambda f, style: draw_errors(f, state, style), lambda path: text.errors_csv(path, state)
                ),
                errors,
            ),
            (
                Sheet("times", lambda f, style: draw_times(f, times, style), lambda path: text.times_csv(path, times)),
                seconds,
            ),
        ):
            forms = ((f"{sheet.name}.md", text.markdown(table)), (f"{sheet.name}.tex", text.latex(table)))
            written += self._save(sheet, Style(width="double"), tables=forms)
        return Made(
            "errors",
            "",
            tuple(written),
            self._said(tuple(info.key for info in state.data)),
            "For each split of the training part, 80 / 20, the candidates of resources/protocol.toml are judged on the "
            f"20 %; the best is trained again and judged once on the test rows. {_took(state.run_seconds or 0.0)}",
            "Table 1, error rates of seven methods, and Table 2, running times of feature generation: beside ours in "
            "the tables.",
            0.0,
            (errors, seconds),
        )

    def _said(self, keys: Sequence[str]) -> str:
        """Return which data these are."""
        real = [self._data[key].name for key in keys if not self._data[key].generated]
        made = [self._data[key].name.removesuffix(" (generated)") for key in keys if self._data[key].generated]
        parts = [f"real: {', '.join(real)}"] * bool(real) + [f"generated: {', '.join(made)}"] * bool(made)
        return "; ".join(parts)


def _words(parameters: StackParameters) -> str:
    return f"noise 1 − p = {parameters.noise:g}, {parameters.depth} layers"


def _took(seconds: float) -> str:
    return f"Its runs took {text.seconds_text(seconds)} in all when they were made."


class _Part(Progress):
    """Turns what a part reports into a `ReproductionState`."""

    def __init__(self, whole: _Reproduction, own: Progress) -> None:
        self._whole, self._own = whole, own

    def report(self, fraction: float, payload: object = None) -> None:
        self._own.report(fraction, None if payload is None else self._whole.told(payload))
