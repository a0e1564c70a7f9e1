"""Two images of one class that become closer in kernel space from layer to layer (a figure the paper comments out).

In layer t the distance of two images is sqrt(2 − 2k) under the kernel k = exp(−D_t/σ_t²). D_t is their squared
distance in the layer, and σ_t² its median. It is divided by the mean distance of the two from images of other classes,
because the scale of distances differs between layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Stack
from slide_gui.core.svm.kernel import layer_distances
from slide_gui.data.dataset import Dataset
from slide_gui.data.errors import DataError
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.runs.splits import Classes, stratified_sample
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

_ROWS = 400
_FEW = 2  # lit pixels in common
_LIT = 0.5


@dataclass(frozen=True, eq=False)
class Closeness:
    """Distances within a class relative to distances between classes.

    Attributes
    ----------
    rows : tuple of (int, int)
        The pair in the figure, as rows of the test set.
    label : str
        Class of the pair.
    common : int
        Number of pixels lit in both.
    layers : ndarray of shape (2, depth + 1, d)
        hᵗ of both, the input first.
    pair : ndarray of shape (depth + 1,)
        Relative distance of the pair in each layer.
    few, all : ndarray of shape (3, depth + 1)
        Quantiles 10 %, 50 %, 90 % of the relative distance: over the pairs of one class with at most 2 lit pixels in
        common, and over all pairs of one class.
    n_few, n_all : int
        Numbers of these pairs.
    n_rows : int
        Number of test images used.
    """

    model: FittedModel
    rows: tuple[int, int]
    label: str
    common: int
    layers: NDArray[np.floating]
    pair: NDArray[np.float64]
    few: NDArray[np.float64]
    all: NDArray[np.float64]
    n_few: int
    n_all: int
    n_rows: int


def closeness(dataset: Dataset, model: FittedModel, *, seed: int = 0, progress: Progress = NO_PROGRESS) -> Closeness:
    """Compare distances within and between classes in each layer of a fitted stack.

    The figure shows a pair of one class with few lit pixels in common, among 400 test images: at most 2 if there are
    such pairs, otherwise the least number. Of these it is the pair whose relative distance falls most from the input to
    the last layer.

    Parameters
    ----------
    dataset : Dataset
        Data with labels for the test set.
    model : FittedModel
        Model fitted on these data.
    seed : int
        Seed of the stratified sample.

    Raises
    ------
    DataError
        If the test set has no labels, or no class has two images in the sample.
    """
    codes = Classes.of(dataset).test
    if len(codes) == 0:
        raise DataError("has no labels for its test rows; distances within a class need them", dataset.name)
    rows = np.sort(stratified_sample(codes, _ROWS, seed))
    codes = codes[rows]
    relative = _relative(model.stack, dataset.test[rows], codes, progress)
    first, second = np.triu_indices(len(rows), 1)
    same = codes[first] == codes[second]
    first, second = first[same], second[same]
    if len(first) == 0 or len(np.unique(codes)) < 2:
        raise DataError("needs two test images of one class and one of another; give more test rows", dataset.name)
    lit = (dataset.test[rows] > _LIT).astype(np.float32)
    common = (lit @ lit.T)[first, second]
    few = common <= max(_FEW, common.min())
    ratios = relative[:, first, second]
    fall = np.where(few, ratios[-1] / np.maximum(ratios[0], 1e-12), np.inf)
    shown = int(np.argmin(fall))
    pair = int(rows[first[shown]]), int(rows[second[shown]])
    names, label = dataset.label_names, Classes.of(dataset).labels[codes[first[shown]]]
    levels = (10.0, 50.0, 90.0)
    h = model.stack.representations(dataset.test[list(pair)])
    return Closeness(
        model,
        pair,
        names[label] if 0 <= label < len(names) else str(label),
        int(common[shown]),
        np.stack(h, axis=1),
        ratios[:, shown],
        np.percentile(ratios[:, few], levels, axis=1),
        np.percentile(ratios, levels, axis=1),
        int(few.sum()),
        len(first),
        len(rows),
    )


def _relative(
    stack: Stack, images: NDArray[np.float32], codes: NDArray[np.intp], progress: Progress
) -> NDArray[np.float64]:
    """Return the distance of each pair divided by its mean distance from other classes, (depth + 1, n, n)."""
    steady = MonotonicProgress(progress)
    Z = stack.transform(images, progress=steady.pulse)
    n_layers = len(stack.layers) + 1
    squared = layer_distances(Z, (stack.n_features,) * n_layers, steady.pulse)
    other = codes[:, None] != codes[None, :]
    relative = np.empty_like(squared)
    upper = np.triu_indices(len(codes), 1)
    for layer, D in enumerate(squared):
        width = float(np.median(D[upper])) or 1.0
        distance = np.sqrt(2.0 - 2.0 * np.exp(-D / width))
        away = (distance * other).sum(axis=1) / np.maximum(other.sum(axis=1), 1)
        relative[layer] = distance / np.maximum(0.5 * (away[:, None] + away[None, :]), 1e-12)
        steady.report((layer + 1) / n_layers)
    return relative
