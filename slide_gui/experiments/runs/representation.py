"""Representations for the classifier: SLIDE's layers, a projection, autoencoders or another transformer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.baselines import fit_transformer
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import InputScatter, input_scatter
from slide_gui.core.slide.stack import Stack, fit_stack
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.methods import METHODS
from slide_gui.experiments.runs.networks import Networks
from slide_gui.experiments.runs.spec import RunSpec
from slide_gui.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from slide_gui.experiments.runs.result import RunResult

Indices = NDArray[np.intp]


class Representation(Protocol):
    """A representation that a run fits to rows without labels."""

    def transform(self, rows: NDArray[Any], *, progress: Progress = ...) -> NDArray[np.floating]:
        """Return the columns for the classifier, (n, k)."""
        ...


@dataclass
class Reuse:
    """Data shared by runs on the same data set. It never changes a result.

    Attributes
    ----------
    deepest : int
        Depth to which a stack is fitted at once, for runs of all depths.
    results : dict
        Hash → result of runs that others may start from.
    networks : Networks
        Cache of trained autoencoders.
    """

    deepest: int = 0
    results: dict[str, RunResult] = field(default_factory=dict)
    networks: Networks = field(default_factory=Networks)
    _scatter: tuple[object, InputScatter] | None = None
    _stack: tuple[object, Stack] | None = None

    def stack(self, dataset: Dataset, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> Stack:
        """Return the stack fitted on the training set, from the first layers of a deeper one if it is cached."""
        if parameters.depth == 0:
            return Stack(parameters, (), dataset.n_features, len(dataset.train))
        key = dataset.fingerprint, replace(parameters, depth=0)
        if self._stack is None or self._stack[0] != key or len(self._stack[1].layers) < parameters.depth:
            scatter = self._input_scatter(dataset, parameters, progress.part(0.0, 0.2))
            whole = replace(parameters, depth=max(parameters.depth, self.deepest))
            self._stack = key, fit_stack(dataset.train, whole, scatter=scatter, progress=progress.part(0.2, 1.0))
        return replace(self._stack[1], parameters=parameters, layers=self._stack[1].layers[: parameters.depth])

    def holds(self, dataset: Dataset, parameters: StackParameters) -> bool:
        """Return True if `stack` would use earlier results, or fit more layers than requested."""
        scatter = dataset.fingerprint, replace(parameters, depth=0, noise=0.0), parameters.sums
        known = self._scatter is not None and self._scatter[0] == scatter
        return known or self.deepest > parameters.depth

    def _input_scatter(self, dataset: Dataset, parameters: StackParameters, progress: Progress) -> InputScatter:
        key = dataset.fingerprint, replace(parameters, depth=0, noise=0.0), parameters.sums
        if self._scatter is None or self._scatter[0] != key:
            self._scatter = key, input_scatter(dataset.train, parameters, progress=progress)
        return self._scatter[1]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted representation with its blocks of columns and the time of its fit.

    Attributes
    ----------
    groups : int or tuple of int
        Number of equal blocks of columns, or sizes of blocks. Each block has its own kernel width.
    seconds : float or None
        Time of the whole fit. None if parts come from other runs.
    """

    representation: Representation
    groups: int | tuple[int, ...]
    seconds: float | None


def represent(dataset: Dataset, spec: RunSpec, fit_rows: Indices, reuse: Reuse, progress: Progress) -> Fitted:
    """Fit the representation of a spec, without labels.

    Parameters
    ----------
    spec : RunSpec
        Spec in its normal form.
    fit_rows : ndarray of int
        Rows of the training set to fit on, as the spec requires.
    """
    started, method = time.perf_counter(), METHODS[spec.method]
    rows = dataset.train if spec.fit_rows == "training" else dataset.train[fit_rows]
    if spec.stacked:
        whole = True
        if spec.fit_rows == "training":
            whole = not reuse.holds(dataset, spec.stack)
            stack: Representation = reuse.stack(dataset, spec.stack, progress=progress)
        else:
            stack = fit_stack(rows, spec.stack, progress=progress)
        return Fitted(stack, spec.stack.depth + 1, time.perf_counter() - started if whole else None)
    if method.network:
        assert spec.sda is not None
        some = None if spec.fit_rows == "training" else fit_rows
        features = reuse.networks.pretrained(dataset, spec.sda, some, progress=progress)
        return Fitted(features, features.sda.sizes, features.seconds[-1] if features.seconds else 0.0)
    chosen = spec.transformer
    if method.projection is not None:
        assert spec.kept is not None
        chosen = method.projection.estimator(spec.kept)
    if chosen is None:
        raw = Stack(spec.stack, (), dataset.n_features, len(rows))
        return Fitted(raw, 1, time.perf_counter() - started)
    fitted = fit_transformer(rows, chosen, spec.seed, progress=progress)
    return Fitted(fitted, 1, time.perf_counter() - started)


def feature_seconds(dataset: Dataset, spec: RunSpec, *, progress: Progress = NO_PROGRESS) -> float:
    """Return the seconds of feature generation: fitting SLIDE and computing the features of the training set.

    Parameters
    ----------
    spec : RunSpec
        Spec of a run on SLIDE's features.
    """
    started = time.perf_counter()
    stack = fit_stack(dataset.train, spec.checked().stack, progress=progress)
    stack.transform(dataset.train, progress=progress)
    return time.perf_counter() - started
