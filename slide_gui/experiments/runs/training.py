"""Train the SVM of a run, with learned widths or widths selected from a grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.svm.kernel import Embedding, block_sizes, median_distances
from slide_gui.core.svm.model import SvmModel
from slide_gui.core.svm.parameters import LOSSES, SvmParameters
from slide_gui.core.svm.selection import GridPoint, fit_svm, median_width_search
from slide_gui.core.svm.training import TrainingSet, train
from slide_gui.experiments.runs.methods import METHODS
from slide_gui.experiments.runs.result import Classifier, RunResult
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.experiments.runs.splits import stratified_sample
from slide_gui.progress import Progress

Indices = NDArray[np.intp]

_GRID_ROWS = 10_000  # largest number of rows of a grid search


def train_svm(
    Z: NDArray[np.floating],
    codes: Indices,
    groups: int | tuple[int, ...],
    spec: RunSpec,
    neighbour: RunResult | None,
    progress: Progress,
    *,
    row_groups: Indices | None = None,
) -> tuple[SvmModel, Classifier]:
    """Select widths and C as the method requires, and train.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Representation of the training rows.
    groups : int or tuple of int
        Blocks of the columns of Z, with one width each.
    spec : RunSpec
        Its method determines whether widths are learned, or one global width and C are selected by cross-validation.
    neighbour : RunResult or None
        Run to start from.
    row_groups : ndarray of int, shape (n,), or None
        The group of each row; no split for selecting widths and C separates rows of one group.
    """
    svm = replace(spec.svm, groups=groups)
    sizes = block_sizes(Z.shape[1], groups)
    medians = median_distances(Z, sizes, seed=spec.seed, progress=progress.part(0.0, 0.0))
    plain = tuple(medians.tolist())
    method = METHODS[spec.method]
    if not method.learns or (method.network and spec.svm.widths == "median"):
        grid = _grid(Z, codes, svm, row_groups, progress.part(0.0, 0.7))
        data, widths, last = TrainingSet(Z, codes, sizes), np.asarray(grid.widths), progress.part(0.7, 1.0)
        model = train(data, widths, grid.C, svm, medians=medians, progress=last)
        return model, _classifier(model, plain, grid.points)
    start = None
    if neighbour is not None and neighbour.classifier is not None:
        svm, start = _from_neighbour(svm, plain, neighbour.classifier, int(codes.max()) + 1)
    model = fit_svm(Z, codes, svm, row_groups=row_groups, start=start, progress=progress)
    return model, _classifier(model, plain, ())


def _from_neighbour(
    parameters: SvmParameters, medians: tuple[float, ...], near: Classifier, n_classes: int
) -> tuple[SvmParameters, SvmModel]:
    """Return parameters that start at the neighbour's shares and C, and its coefficients as a model to start from."""
    ratios = [m / n if m > 0.0 and n > 0.0 else 1.0 for m, n in zip(medians, near.medians, strict=True)]
    widths = tuple(float(w * ratio**0.5) for w, ratio in zip(near.widths, ratios, strict=True))
    nowhere = np.empty((0, 0))
    start = model_of(near, Embedding((), (), nowhere[0:0].ravel()), nowhere, n_classes)
    return replace(parameters, near=(widths, near.C)), start


def grid_rows(svm: SvmParameters) -> int:
    """Return the largest number of rows of a grid search."""
    return min(_GRID_ROWS, int((svm.memory / 8) ** 0.5))


def _grid(
    Z: NDArray[np.floating], codes: Indices, svm: SvmParameters, row_groups: Indices | None, progress: Progress
) -> Any:
    rows = np.sort(stratified_sample(codes, grid_rows(svm), svm.seed))
    return median_width_search(
        Z if len(rows) == len(Z) else Z[rows],
        codes[rows],
        svm.groups,
        **({} if svm.C is None else {"Cs": (svm.C,)}),  # type: ignore[arg-type]
        squared=LOSSES[svm.loss].squared,
        memory=svm.memory,
        seed=svm.seed,
        row_groups=None if row_groups is None else row_groups[rows],
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
        model.chosen,
    )


def model_of(classifier: Classifier, embedding: Embedding, vectors: NDArray[np.floating], n_classes: int) -> SvmModel:
    """Return the SVM of a stored classifier, with its support vectors embedded again."""
    return SvmModel(
        embedding=embedding,
        vectors=vectors,
        support=classifier.support.astype(np.intp),
        coefficients=classifier.coefficients,
        biases=classifier.biases,
        n_classes=n_classes,
        shares=classifier.shares,
        C=classifier.C,
        gap=classifier.gap,
        steps=0,
        converged=classifier.converged,
        history=classifier.history,
        chosen=classifier.chosen,
    )
