"""The paper’s figures and tables one by one, with their data, their runs, and a description of the original."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.data.dataset import Dataset
from slide_gui.data.files import folder_files
from slide_gui.experiments.evaluation.protocol import CellPlan, plan
from slide_gui.experiments.evaluation.run import Load, run_evaluation
from slide_gui.experiments.evaluation.table import time_rows
from slide_gui.experiments.files.model_file import FittedModel, fit_model
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.experiments.inspection.rows import default_pixels, weight_rows
from slide_gui.experiments.runs.spec import RunSpec, SweepSpec
from slide_gui.experiments.runs.splits import subset
from slide_gui.experiments.store.store import RunStore
from slide_gui.experiments.sweeps.curves import error_curves
from slide_gui.experiments.sweeps.sweep import run_sweep
from slide_gui.figures.curves import curves_csv, draw_curves
from slide_gui.figures.evaluation import TextTable, error_table, errors_export, time_table, times_export
from slide_gui.figures.export import FORMATS, FigureExport, export_of, save_export, weights_csv
from slide_gui.figures.flow import draw_flow, flow_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights
from slide_gui.progress import NO_PROGRESS, Listener, Progress
from slide_gui.text import duration

if TYPE_CHECKING:
    from slide_gui.experiments.sweeps.cluster import Cluster


@dataclass(frozen=True)
class ReproductionScale:
    """The extent of a reproduction.

    Attributes
    ----------
    cells : tuple of CellPlan
        Cells of the tables.
    noises, depths : tuple
        Noise levels and depths of the error curves.
    train_rows, test_rows : int or None
        Numbers of rows of the error curves. None means all.
    left_out : tuple of str
        Sentences on differences from the paper.
    formats : tuple of str
        Suffixes of the figures.
    """

    cells: tuple[CellPlan, ...]
    noises: tuple[float, ...]
    depths: tuple[int, ...]
    svm: SvmParameters
    method: str = "slide-svm"
    train_rows: int | None = None
    test_rows: int | None = None
    left_out: tuple[str, ...] = ()
    formats: tuple[str, ...] = FORMATS


def reproduction_scale(quick: bool, splits: int | None = None) -> ReproductionScale:
    """Return the extent of the whole evaluation, or of a small version."""
    if quick:
        return ReproductionScale(
            plan("quick", splits=splits),
            (0.1, 0.3, 0.5, 0.7, 0.9),
            (0, 1, 2, 3),
            SvmParameters(loss="hinge", C=10.0),
            "median",
            600,
            2000,
            (
                "This is the small version (--quick): it demonstrates the procedure, not the paper’s numbers.",
                "The tables: 600 training and 2 000 test rows of each data set, one split, few candidates or one, "
                "C = 10, median widths with one global width by cross-validation (not learned), autoencoders of one "
                "small layer and few epochs.",
                "The error curves: the same rows, five noises, up to three layers, widths and C as above.",
                "The figures of weights and flow are complete: they use all training rows.",
            ),
        )
    noises = tuple(round(0.1 * k, 12) for k in range(10))
    return ReproductionScale(
        plan("full", splits=splits),
        noises,
        (0, 1, 2, 3, 4),
        SvmParameters(),
        left_out=(
            "10 splits on Rectangles and 3 on Rectangles-Images and Convex, where the paper averages over 50 and 10; "
            "the grids and their reasons are in the program’s resources/protocol.toml.",
            "The error curves use one run at each point, trained on the whole training set, with squared hinge loss.",
        ),
    )


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
    tables : tuple of TextTable
        Tables for the page.
    seconds : float
        Duration of this reproduction. Stored runs take no time.
    """

    name: str
    files: tuple[str, ...]
    data: str
    how: str
    paper: str
    tables: tuple[TextTable, ...] = ()
    title: str = ""
    seconds: float = 0.0


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
        self._models: dict[str, FittedModel] = {}

    def dataset(self, key: str, progress: Progress) -> Dataset:
        """Return a data set, which is loaded at the first call. The progress stays at its start."""
        if key not in self._data:
            self._data[key] = self._load(key, progress.part(0.0, 0.0))
        return self._data[key]

    def model(self, key: str, progress: Progress) -> FittedModel:
        """Return the stack of a data set, which is fitted at the first call. The progress stays at its start."""
        if key not in self._models:
            dataset = self.dataset(key, progress)
            self._models[key] = fit_model(dataset, _WEIGHTS, progress=progress.part(0.0, 0.0))
        return self._models[key]

    def reproduced(
        self,
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
        style = Style(width=width, show="weights")
        files: list[str] = []
        for export in exports:
            names = [f"{export.name}{suffix}" for suffix in (*self.scale.formats, ".csv", *export.texts)]
            with folder_files(self.folder, names):
                for name in names:
                    save_export(self.folder / name, export, style)
            files += names
        datasets = [self._data[key] for key in keys]
        kinds = ("real", "generated")
        named = {kind: [each.name for each in datasets if kinds[each.generated] == kind] for kind in kinds}
        data = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in named.items() if names)
        return ReproducedItem(exports[0].name, tuple(files), data, how, paper, tables)


DATA = ("rectangles", "rectangles-images", "convex", "mnist")
"""The paper's data sets, in the order of its weight figure."""

_WEIGHTS = StackParameters(noise=0.3, depth=3)
_FIT = f"noise 1 − p = {_WEIGHTS.noise:g}, {_WEIGHTS.depth} layers"


def _weights(context: ReproductionContext, progress: Progress) -> ReproducedItem:
    weights = []
    for key in DATA:
        model = context.model(key, progress)
        mean = context.dataset(key, progress).train.mean(axis=0)
        weights.append(weight_rows(model, default_pixels(model.image_shape, mean)))
    return context.reproduced(
        [export_of("weights", weights, draw_weights, weights_csv)],
        DATA,
        how=f"Rows of W for four pixels of each data set, {_FIT}, fitted on the whole training set.",
        paper="Reconstruction weights of four example pixels at different layers: crosses on both Rectangles sets, "
        "round patches on Convex and MNIST, fuzzier with depth.",
    )


def _flow(context: ReproductionContext, progress: Progress) -> ReproducedItem:
    model = context.model("mnist", progress)
    result = flow_result(model, context.dataset("mnist", progress).train[0], "training image 1", 0)
    return context.reproduced(
        [export_of("flow", result, draw_flow, flow_csv)],
        ("mnist",),
        how=f"The first training image, corrupted once (seed 0) and transformed by the stack, {_FIT}.",
        paper="A schematic description of SLIDE: the input, T(h⁰), h¹, T(h¹), …; its corruption is virtual.",
    )


def _curves(context: ReproductionContext, progress: Progress) -> ReproducedItem:
    scale, key = context.scale, "rectangles"
    dataset = subset(context.dataset(key, progress), scale.train_rows, scale.test_rows)
    method, svm, warm = scale.method, scale.svm, scale.method == "slide-svm"
    sweep = SweepSpec(RunSpec(dataset.fingerprint, key, method, svm=svm), scale.noises, scale.depths, warm=warm)
    state = run_sweep(dataset, sweep, context.store, progress=progress, cluster=context.cluster)
    curves = error_curves(dataset, state.done)
    runs = sum({answer.point.spec.hash: answer.seconds for answer in state.done}.values())
    by = ", ".join(sorted({answer.chosen_by for answer in state.done if answer.chosen_by}))
    learned = f"widths learned at every point, by {by}" if warm else "one global width by cross-validation"
    return context.reproduced(
        [export_of("curves", curves, draw_curves, curves_csv)],
        (key,),
        how=f"{len(scale.noises)} noises × {len(scale.depths)} depths, {len(dataset.train)} training and "
        f"{len(dataset.test)} test rows, {learned}, {svm.loss.replace('_', ' ')} loss; bands are 95 % intervals. "
        f"{_total_duration(runs)}",
        paper="The error on Rectangles against the noise 1 − p at depths 0 to 4: deep stacks, l > 1, improve on one "
        "layer, up to l = 2. The values of its curves are not published.",
        width="one-and-a-half",
    )


def _tables(context: ReproductionContext, progress: Progress) -> ReproducedItem:
    cells = context.scale.cells
    state = run_evaluation(cells, context.dataset, context.store, progress=progress, cluster=context.cluster)
    times = time_rows(state)
    return context.reproduced(
        [errors_export(state), times_export(times)],
        [info.key for info in state.data],
        how="For each 80/20 split of the training set, the candidates of resources/protocol.toml are evaluated on the "
        f"20 %; the best is trained again and tested once. {_total_duration(state.run_seconds or 0.0)}",
        paper="Table 1, error rates of seven methods, and Table 2, running times of feature generation. Both are "
        "included in the tables next to our results.",
        tables=(error_table(state), time_table(times)),
    )


PARTS = (
    ("Reconstruction weights", 0.12, _weights),
    ("Schematic with a real image", 0.14, _flow),
    ("Error against noise and depth", 0.35, _curves),
    ("Tables 1 and 2", 1.0, _tables),
)
"""For each item: title, fraction of the whole at which it ends, and function of context and progress."""


def _total_duration(seconds: float) -> str:
    return f"Its runs took {duration(seconds)} in total when they were computed."


@dataclass(frozen=True)
class ReproductionState:
    """The state of a reproduction: the title of the current item, and the seconds left of its runs if known."""

    title: str
    seconds_left: float | None = None


def reproduce(
    folder: Path,
    scale: ReproductionScale,
    load: Load,
    store: RunStore,
    *,
    progress: Progress = NO_PROGRESS,
    seen: Callable[[Sequence[ReproducedItem]], None] = lambda items: None,
    cluster: Cluster | None = None,
) -> list[ReproducedItem]:
    """Reproduce every figure and table of the paper.

    Each run is stored before the next starts, so the same call resumes after an interruption.

    Parameters
    ----------
    folder : Path
        Folder for PDF, SVG, PNG and CSV of each item, and LaTeX and Markdown of the tables.
    load : callable
        Returns the data set of a key, given the key and a progress.
    progress : Progress
        Receives a `ReproductionState`.
    seen : callable
        Called with all completed items after each item.
    cluster : Cluster, optional
        Computes the runs in place of this process.

    Raises
    ------
    DataError
        If a data set is unsuitable.
    Cancelled
        By the progress.
    """
    context, items, start = ReproductionContext(folder, scale, load, store, cluster), [], 0.0
    for title, stop, make in PARTS:
        part = _titled(progress.part(start, stop), title)
        part.report(0.0, ReproductionState(title))
        began = time.perf_counter()
        item = make(context, part)
        items.append(replace(item, title=title, seconds=time.perf_counter() - began))
        seen(items)
        start = stop
    progress.report(1.0)
    return items


def _titled(progress: Progress, title: str) -> Progress:
    """Return a progress that turns the payloads of an item into states of the reproduction."""

    def receive(fraction: float, payload: object) -> None:
        state = None if payload is None else ReproductionState(title, getattr(payload, "seconds_left", None))
        progress.report(fraction, state)

    return Listener(receive)
