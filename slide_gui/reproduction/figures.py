"""The paper’s figures and tables one by one, with their data, their runs, and a description of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.files import folder_files
from slide_gui.experiments.evaluation.run import Load, run_evaluation
from slide_gui.experiments.evaluation.table import extrapolated_seconds, time_rows
from slide_gui.experiments.files.model_file import FittedModel, fit_model
from slide_gui.experiments.inspection.closeness import closeness
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import default_pixels, weight_rows
from slide_gui.experiments.runs.spec import SweepSpec
from slide_gui.experiments.runs.splits import subset
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.curves import error_curves
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.figures.closeness import closeness_csv, draw_closeness
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.evaluation import TextTable, error_table, errors_export, time_table, times_export
from slide_gui.figures.export import FigureExport, export_of, save_export, weights_csv
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.samples import draw_samples, sample_images, samples_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights
from slide_gui.progress import Progress
from slide_gui.reproduction.plan import ReproductionScale
from slide_gui.text import duration

if TYPE_CHECKING:
    from slide_gui.experiments.sweeps.cluster import Cluster


@dataclass(frozen=True, eq=False)
class ReproducedItem:
    """One reproduced figure or table.

    Attributes
    ----------
    name : str
        Base name of its files.
    files : tuple of str
        Paths relative to the folder.
    data : str
        The data, generated or real.
    how : str
        Description of the method.
    paper : str
        Description of the original in the paper.
    seconds : float
        Duration of this reproduction. Stored runs take no time.
    tables : tuple of TextTable
        Tables for the page.
    """

    name: str
    title: str
    files: tuple[str, ...]
    data: str
    how: str
    paper: str
    seconds: float
    tables: tuple[TextTable, ...] = ()


class ReproductionContext:
    """Folder, data and workers of a reproduction.

    Parameters
    ----------
    folder : Path
        Folder for the files.
    load : callable
        Returns the data set of a key, given the key and a progress.
    cluster : Cluster or None
        Computes the runs in place of this process.
    """

    def __init__(
        self, folder: Path, scale: ReproductionScale, load: Load, store: RunStore, cluster: Cluster | None = None
    ) -> None:
        self.folder, self.scale, self.store, self.cluster = folder, scale, store, cluster
        self._load = load
        self._data: dict[str, Dataset] = {}
        self._models: dict[tuple[str, StackParameters], FittedModel] = {}

    def dataset(self, key: str, progress: Progress) -> Dataset:
        """Return a data set, which is loaded at the first call."""
        if key not in self._data:
            self._data[key] = self._load(key, progress)
        return self._data[key]

    def model(self, key: str, parameters: StackParameters, progress: Progress) -> FittedModel:
        """Return the stack of a data set, which is fitted at the first call."""
        if (key, parameters) not in self._models:
            self._models[key, parameters] = fit_model(self.dataset(key, progress), parameters, progress=progress)
        return self._models[key, parameters]

    def reproduced(
        self,
        title: str,
        exports: Sequence[FigureExport],
        keys: Sequence[str],
        *,
        how: str,
        paper: str,
        width: str = "double",
        tables: tuple[TextTable, ...] = (),
    ) -> ReproducedItem:
        """Write exports in all formats, and return them as one figure or table with the name of the first.

        Parameters
        ----------
        keys : sequence of str
            Keys of data sets loaded before.
        how, paper, tables
            As in `ReproducedItem`.
        width : str
            Width of the `Style`.
        """
        files = tuple(name for export in exports for name in self._save(export, Style(width=width, show="weights")))
        return ReproducedItem(exports[0].name, title, files, self._said(keys), how, paper, 0.0, tables)

    def _save(self, export: FigureExport, style: Style) -> list[str]:
        names = [f"{export.name}{suffix}" for suffix in (*self.scale.formats, ".csv", *export.texts)]
        with folder_files(self.folder, names):
            for name in names:
                save_export(self.folder / name, export, style)
        return names

    def _said(self, keys: Sequence[str]) -> str:
        """Return a description of the data sets."""
        datasets = [self._data[key] for key in keys]
        real = [dataset.name for dataset in datasets if not dataset.generated]
        generated = [dataset.name for dataset in datasets if dataset.generated]
        named = (("real", real), ("generated", generated))
        parts = [f"{kind}: {', '.join(names)}" for kind, names in named if names]
        return "; ".join(parts)


DATA = ("rectangles", "rectangles-images", "convex", "mnist")
"""The paper's data sets, in the order of its weight figure."""

_WEIGHTS = StackParameters(noise=0.3, depth=3)
_CLOSENESS = StackParameters(noise=0.5, depth=3)


def _samples(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    samples = [sample_images(context.dataset(key, progress.part(0.0, 0.0))) for key in DATA]
    return context.reproduced(
        title,
        [export_of("samples", samples, draw_samples, samples_csv)],
        DATA,
        how="Ten training images of each data set, drawn with seed 0.",
        paper="The paper describes the four data sets in words. Figures with examples are commented out in its source.",
    )


def _weights(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    weights = []
    for key in DATA:
        quiet = progress.part(0.0, 0.0)
        model = context.model(key, _WEIGHTS, quiet)
        mean = context.dataset(key, quiet).train.mean(axis=0)
        weights.append(weight_rows(model, default_pixels(model.image_shape, mean)))
    return context.reproduced(
        title,
        [export_of("weights", weights, draw_weights, weights_csv)],
        DATA,
        how=f"Rows of W for four pixels of each data set, {_words(_WEIGHTS)}, fitted on the whole training set.",
        paper="Reconstruction weights of four example pixels at different layers: crosses on both Rectangles sets, "
        "round patches on Convex and MNIST, fuzzier with depth.",
    )


def _flow(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    quiet = progress.part(0.0, 0.0)
    model = context.model("mnist", _WEIGHTS, quiet)
    result = flow_result(model, context.dataset("mnist", quiet).train[0], "training image 1", 0)
    return context.reproduced(
        title,
        [export_of("flow", result, draw_flow, flow_csv)],
        ("mnist",),
        how=f"The first training image, corrupted once (seed 0) and transformed by the stack, {_words(_WEIGHTS)}.",
        paper="A schematic description of SLIDE: the input, T(h⁰), h¹, T(h¹), …; its corruption is virtual.",
    )


def _closeness(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    quiet = progress.part(0.0, 0.0)
    model = context.model("rectangles", _CLOSENESS, quiet)
    result = closeness(context.dataset("rectangles", quiet), model, progress=progress)
    return context.reproduced(
        title,
        [export_of("closeness", result, draw_closeness, closeness_csv)],
        ("rectangles",),
        how=f"{result.n_rows} test images, {_words(_CLOSENESS)}; distance sqrt(2 − 2k) under k = exp(−D/σ²), σ² the "
        "median squared distance of the layer, over the mean distance to other classes. Among the pairs with the "
        "fewest lit pixels in common, the figure shows the one that becomes closest; the bands show all pairs.",
        paper="A figure that is commented out: two images of one class with only 2 pixels in common become much closer "
        "in RBF kernel space by denoising.",
    )


def _curves(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    e = context.scale
    dataset = subset(context.dataset("rectangles", progress.part(0.0, 0.0)), e.train_rows, e.test_rows)
    warm = e.method == "slide-svm"
    sweep = SweepSpec(dataset.fingerprint, "rectangles", e.noises, e.depths, method=e.method, svm=e.svm, warm=warm)
    state = run_sweep(dataset, sweep, context.store, progress=progress, cluster=context.cluster)
    curves = error_curves(dataset, state.done)
    runs = sum({answer.point.spec.hash: answer.seconds for answer in state.done}.values())
    by = ", ".join(sorted({answer.chosen_by for answer in state.done if answer.chosen_by}))
    learned = f"widths learned at every point, by {by}" if warm else "one global width by cross-validation"
    return context.reproduced(
        title,
        [export_of("curves", curves, draw_curves, curves_csv)],
        ("rectangles",),
        how=f"{len(e.noises)} noises × {len(e.depths)} depths, {len(dataset.train)} training and {len(dataset.test)} "
        f"test rows, {learned}, {e.svm.loss.replace('_', ' ')} loss; bands are 95 % intervals. {_took(runs)}",
        paper="The error on Rectangles against the noise 1 − p at depths 0 to 4: deep stacks, l > 1, improve on one "
        "layer, up to l = 2. The values of its curves are not published.",
        width="one-and-a-half",
    )


def _tables(title: str, context: ReproductionContext, progress: Progress) -> ReproducedItem:
    cells, pulse = context.scale.cells, progress.part(0.95, 0.95)
    part = progress.part(0.0, 0.95)
    state = run_evaluation(cells, context.dataset, context.store, progress=part, cluster=context.cluster)
    cut = {cell.data: subset(context.dataset(cell.data, pulse), cell.train_rows, cell.test_rows) for cell in cells}
    tutorial = {key: extrapolated_seconds(dataset, progress=pulse) for key, dataset in cut.items()}
    times = time_rows(state, tutorial)
    return context.reproduced(
        title,
        [errors_export(state), times_export(times)],
        [info.key for info in state.data],
        how="For each 80/20 split of the training set, the candidates of resources/protocol.toml are evaluated on the "
        f"20 %; the best is trained again and tested once. {_took(state.run_seconds or 0.0)}",
        paper="Table 1, error rates of seven methods, and Table 2, running times of feature generation. Both are "
        "included in the tables next to our results.",
        tables=(error_table(state), time_table(times)),
    )


PARTS = (
    ("Samples of the data sets", 0.06, _samples),
    ("Reconstruction weights", 0.12, _weights),
    ("Schematic with a real image", 0.14, _flow),
    ("Closer in kernel space", 0.17, _closeness),
    ("Error against noise and depth", 0.35, _curves),
    ("Tables 1 and 2", 1.0, _tables),
)
"""For each item: title, fraction of the whole at which it ends, and function of title, context and progress."""


def _words(parameters: StackParameters) -> str:
    return f"noise 1 − p = {parameters.noise:g}, {parameters.depth} layers"


def _took(seconds: float) -> str:
    return f"Its runs took {duration(seconds)} in total when they were computed."
