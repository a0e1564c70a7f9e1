"""One run: represent, choose widths, train, judge; a pure function of the data and the spec."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui import __version__
from slide_gui.core.kernel import Embedding, block_sizes, median_distances
from slide_gui.core.stack import InputScatter, Stack, StackParameters, fit_stack, input_scatter
from slide_gui.core.svm import SvmModel, SvmParameters, fit_svm, train
from slide_gui.core.svm_grid import GridPoint, median_width_search
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.judge import Judgement, judge
from slide_gui.experiments.result import Classifier, RunResult, Timings
from slide_gui.experiments.run_progress import Watch
from slide_gui.experiments.spec import RunSpec
from slide_gui.experiments.splits import Classes, split_rows, stratified_sample
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Reuse", "live_spec", "restore", "run"]

Indices = NDArray[np.intp]

_TRAIN_ROWS = 5_000  # rows on which the training error is counted
_GRID_ROWS = 10_000  # rows of a grid search


@dataclass
class Reuse:
    """What several runs on the same data share; nothing in it changes a result.

    Attributes
    ----------
    deepest : int
        A stack is fitted so deep at once, for runs of all depths.
    results : dict
        Hash → result of runs that others may start from.
    """

    deepest: int = 0
    results: dict[str, RunResult] = field(default_factory=dict)
    _scatter: tuple[object, InputScatter] | None = None
    _stack: tuple[object, Stack] | None = None

    def stack(self, dataset: Dataset, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> Stack:
        """Return the stack fitted on the training part, from the first layers of a deeper one where there is one."""
        if parameters.depth == 0:
            return Stack(parameters, (), dataset.n_features, len(dataset.train))
        key = dataset.fingerprint, replace(parameters, depth=0)
        if self._stack is None or self._stack[0] != key or len(self._stack[1].layers) < parameters.depth:
            scatter = self._input_scatter(dataset, parameters, progress.part(0.0, 0.2))
            whole = replace(parameters, depth=max(parameters.depth, self.deepest))
            self._stack = key, fit_stack(dataset.train, whole, scatter=scatter, progress=progress.part(0.2, 1.0))
        return replace(self._stack[1], parameters=parameters, layers=self._stack[1].layers[: parameters.depth])

    def _input_scatter(self, dataset: Dataset, parameters: StackParameters, progress: Progress) -> InputScatter:
        key = dataset.fingerprint, replace(parameters, depth=0, noise=0.0)
        if self._scatter is None or self._scatter[0] != key:
            self._scatter = key, input_scatter(dataset.train, parameters, progress=progress)
        return self._scatter[1]


def run(dataset: Dataset, spec: RunSpec, *, progress: Progress = NO_PROGRESS, reuse: Reuse | None = None) -> RunResult:
    """Do what a spec says.

    Parameters
    ----------
    dataset : Dataset
        The one of the spec's fingerprint, with labels. The stack is fitted on its whole training part: it takes
        no labels.
    spec : RunSpec
    progress : Progress
        Told a `RunProgress` whenever something new is to be seen.
    reuse : Reuse, optional
        Shared by runs on the same data; the result is the same to the bit without. A neighbour that it does
        not hold is run first.

    Raises
    ------
    DataError
        If the data are not those of the spec, or lack the labels or rows that it needs.
    ValueError
        If the spec is out of range, or the classifier cannot be trained on these rows.
    MemoryError
        If the classifier needs more than the spec allows it.
    """
    spec, reuse = spec.checked(), Reuse() if reuse is None else reuse
    classes = _classes(dataset, spec)
    neighbour = None
    if spec.neighbour is not None:
        neighbour = reuse.results.get(spec.neighbour.hash)
        if neighbour is None:
            neighbour = run(dataset, spec.neighbour, progress=progress.part(0.0, 0.5), reuse=reuse)
            reuse.results[spec.neighbour.hash] = neighbour
            progress = progress.part(0.5, 1.0)
    rows, validation = _rows(classes.train, spec)
    watch = Watch(spec.hash, progress)
    stack = reuse.stack(dataset, spec.stack, progress=watch.phase("fit", 0.0, 0.1))
    fitted = time.perf_counter()
    Z = stack.transform(_taken(dataset.train, rows), progress=watch.phase("learn", 0.1, 0.12))
    model, medians, grid = _train(Z, classes.train[rows], spec, neighbour, watch.phase("learn", 0.12, 0.6))
    trained = time.perf_counter()
    del Z

    def judged(part: NDArray[Any], codes: Indices, wanted: Indices, start: float, stop: float, kind: str) -> Judgement:
        return judge(stack, model, part, codes, wanted, progress=watch.phase(kind, start, stop))

    some = rows[np.sort(stratified_sample(classes.train[rows], _TRAIN_ROWS, spec.seed))]
    train_error = judged(dataset.train, classes.train, some, 0.6, 0.65, "train").error
    held_out = None
    if len(validation):
        held_out = judged(dataset.train, classes.train, validation, 0.65, 0.7, "validation")
    found = held_out
    if spec.evaluate == "test":
        order = stratified_sample(classes.test, spec.test_rows, spec.seed)
        found = judged(dataset.test, classes.test, order, 0.7, 1.0, "test")
    assert found is not None
    ended = time.perf_counter()
    learned = min(max(watch.learned, fitted), trained) if model.history or grid else fitted
    return RunResult(
        spec,
        dataset.name,
        dataset.generated,
        classes.labels,
        _classifier(model, medians, grid),
        len(rows),
        found.confusion(len(classes.labels)),
        found.rows,
        found.rows[found.wrong],
        found.predicted[found.wrong].astype(np.int64),
        found.decisions[found.wrong],
        train_error,
        None if held_out is None else held_out.error,
        Timings(fitted - watch.started, learned - fitted, trained - learned, ended - trained),
        _versions(),
    )


def live_spec(spec: RunSpec, near: RunResult | None = None) -> RunSpec:
    """Return a spec that is answered fast: the widths and C of a run of the same depth, or median widths and C = 10.

    `run` then trains once and reports the test error after each block of a growing stratified subsample.

    Parameters
    ----------
    spec : RunSpec
        The point wanted.
    near : RunResult, optional
        The stored run nearest to it; taken if it has as many layers.
    """
    widths: str | tuple[float, ...] = "median"
    C = 10.0
    if near is not None and near.spec.stack.depth == spec.stack.depth:
        widths, C = near.classifier.widths, near.classifier.C
    return replace(spec, svm=replace(spec.svm, widths=widths, C=C, near=None), neighbour=None).checked()


def restore(
    dataset: Dataset, result: RunResult, *, progress: Progress = NO_PROGRESS, reuse: Reuse | None = None
) -> tuple[Stack, SvmModel]:
    """Return the stack and the classifier of a result, the stack fitted again, the classifier not trained again.

    Raises
    ------
    DataError
        If the data are not those of the result.
    """
    spec, own = result.spec, result.classifier
    classes = _classes(dataset, spec)
    rows, _ = _rows(classes.train, spec)
    stack = (Reuse() if reuse is None else reuse).stack(dataset, spec.stack, progress=progress.part(0.0, 0.7))
    Z = stack.transform(_taken(dataset.train, rows), progress=progress.part(0.7, 1.0))
    embedding = Embedding.of(Z, block_sizes(Z.shape[1], spec.stack.depth + 1), own.widths)
    vectors = embedding(Z, own.support, own.dtype)
    return stack, _model(own, embedding, vectors, classes.n_train_classes)


def _classes(dataset: Dataset, spec: RunSpec) -> Classes:
    if dataset.fingerprint != spec.fingerprint:
        raise DataError(
            f"these are not the data of the run (SHA-256 {dataset.fingerprint[:12]}…, expected "
            f"{spec.fingerprint[:12]}…); open the data that it was made with",
            dataset.name,
        )
    classes = Classes.of(dataset)
    if spec.evaluate == "test" and len(classes.test) == 0:
        what = "no test rows" if len(dataset.test) == 0 else "no labels for its test rows"
        raise DataError(f"has {what}; judge on validation rows instead", dataset.name)
    return classes


def _rows(codes: Indices, spec: RunSpec) -> tuple[Indices, Indices]:
    """Return the rows to train on and the validation rows."""
    if spec.training == "whole":
        return np.arange(len(codes)), np.empty(0, np.intp)
    return split_rows(codes, spec.split, spec.seed)


def _taken(part: NDArray[np.float32], rows: Indices) -> NDArray[np.float32]:
    """Return some rows, without a copy if they are all."""
    return part if len(rows) == len(part) else part[rows]


def _train(
    Z: NDArray[np.floating], codes: Indices, spec: RunSpec, neighbour: RunResult | None, progress: Progress
) -> tuple[SvmModel, tuple[float, ...], tuple[GridPoint, ...]]:
    """Return the model, the medians and the grid if there was one."""
    sizes = block_sizes(Z.shape[1], spec.svm.groups)
    medians = median_distances(Z, sizes, seed=spec.seed, progress=progress.part(0.0, 0.0))
    plain = tuple(medians.tolist())
    if spec.method != "slide-svm":
        grid = _grid(Z, codes, spec.svm, progress.part(0.0, 0.7))
        widths, C = np.asarray(grid.widths), grid.C
        last = progress.part(0.7, 1.0)
        return train(Z, codes, sizes, widths, C, spec.svm, medians=medians, progress=last), plain, grid.points
    parameters, start = spec.svm, None
    if neighbour is not None:
        parameters, start = _from_neighbour(parameters, plain, neighbour.classifier, int(codes.max()) + 1)
    return fit_svm(Z, codes, parameters, start=start, progress=progress), plain, ()


def _from_neighbour(
    parameters: SvmParameters, medians: tuple[float, ...], near: Classifier, n_classes: int
) -> tuple[SvmParameters, SvmModel]:
    """Return parameters that start at the neighbour's shares and C, and its coefficients as a model to start from."""
    ratios = [m / n if m > 0.0 and n > 0.0 else 1.0 for m, n in zip(medians, near.medians, strict=True)]
    widths = tuple(float(w * ratio**0.5) for w, ratio in zip(near.widths, ratios, strict=True))
    nowhere = np.empty((0, 0))
    start = _model(near, Embedding((), (), nowhere[0:0].ravel()), nowhere, n_classes)
    return replace(parameters, near=(widths, near.C)), start


def _grid(Z: NDArray[np.floating], codes: Indices, svm: SvmParameters, progress: Progress) -> Any:
    most = min(_GRID_ROWS, int((svm.memory / 8) ** 0.5))
    rows = np.sort(stratified_sample(codes, most, svm.seed))
    return median_width_search(
        Z if len(rows) == len(Z) else Z[rows],
        codes[rows],
        svm.groups,
        **({} if svm.C is None else {"Cs": (svm.C,)}),  # type: ignore[arg-type]
        squared=svm.loss == "squared_hinge",
        memory=svm.memory,
        seed=svm.seed,
        progress=progress,
    )


def _classifier(model: SvmModel, medians: tuple[float, ...], grid: tuple[GridPoint, ...]) -> Classifier:
    return Classifier(
        model.widths,
        model.shares,
        medians,
        float(model.C),
        model.history,
        grid,
        float(model.gap),
        bool(model.converged),
        model.vectors.dtype.name,
        model.support.astype(np.int64),
        model.coefficients,
        model.biases,
    )


def _model(own: Classifier, embedding: Embedding, vectors: NDArray[np.floating], n_classes: int) -> SvmModel:
    return SvmModel(
        embedding,
        vectors,
        own.support.astype(np.intp),
        own.coefficients,
        own.biases,
        n_classes,
        own.shares,
        own.C,
        own.history,
        own.gap,
        0,
        own.converged,
    )


def _versions() -> tuple[tuple[str, str], ...]:
    found = {"slide-gui": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "scipy")}
    return tuple(found.items())
