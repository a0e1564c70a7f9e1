"""Fit the representation of a run (SLIDE, a projection, autoencoders or another transformer), and train its SVM.

Autoencoders that several runs share are trained only once.
"""

import hashlib
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.baselines import Transformer
from slide_gui.core.sda.model import Sda, SdaHistory, SdaNetwork, SdaParameters
from slide_gui.core.sda.training import fine_tune, into_range, pretrain
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import InputScatter, input_scatter
from slide_gui.core.slide.stack import Stack, check_fit, entry_share, fit_stack
from slide_gui.core.svm.kernel import median_distances
from slide_gui.core.svm.model import SvmModel, TrainedSvm
from slide_gui.core.svm.selection import MOST_ROWS, adjusted, fit_svm, median_width_search
from slide_gui.core.svm.training import StepLog, TrainingSet, train
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.runs.result import RunResult
from slide_gui.experiments.runs.spec import METHODS, RunSpec
from slide_gui.experiments.runs.splits import RunData, stratified_sample
from slide_gui.progress import NO_PROGRESS, Listener, Progress, computing_time

Indices = NDArray[np.intp]

_MOST = 24  # Largest number of each kind of cached object: pre-trained networks, fine-tuned networks, training logs.


@dataclass(frozen=True, eq=False)
class SdaFeatures:
    """Pre-trained autoencoders as a representation. Input values are scaled to [0, 1] before they are encoded.

    Attributes
    ----------
    sda : Sda
        The stacked autoencoders.
    limits : (float, float)
        The input values that are scaled to 0 and to 1.
    seconds : tuple of float
        For each layer, the seconds from the start of pre-training to the end of this layer's training.
    """

    sda: Sda
    limits: tuple[float, float]
    seconds: tuple[float, ...]

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return the scaled input x and the layers h¹, …, hˡ side by side, in one array with a row for each input."""
        return self.sda.transform(into_range(rows, self.limits), progress=progress)

    def first(self, depth: int) -> Self:
        """Return the lowest `depth` autoencoders. Pre-training only `depth` autoencoders would give the same result."""
        return replace(self, sda=self.sda.first(depth), seconds=self.seconds[:depth])


@dataclass(frozen=True, eq=False)
class Tuned:
    """A fine-tuned network that predicts the classes of rows.

    Attributes
    ----------
    network : SdaNetwork
        The autoencoders with a softmax layer on top.
    limits : (float, float)
        The input values that are scaled to 0 and to 1.
    seconds : float
        Duration of fine-tuning, in seconds.
    """

    network: SdaNetwork
    limits: tuple[float, float]
    seconds: float

    def predict(self, rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        """Return the predicted class of each row, and the log-probabilities of all classes.

        For two classes, return only the difference of their log-probabilities: second class minus first class.
        """
        scores = self.network.scores(into_range(rows, self.limits), progress=progress).astype(np.float64)
        decisions = scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores
        return np.asarray(scores.argmax(axis=1), np.intp), decisions


@dataclass(frozen=True, eq=False)
class ColumnBlocks:
    """A representation that consists of SLIDE's layers and, optionally, a projection of the input.

    The layers include the input h⁰, unless `omits_input` is True. Each layer is one block of columns, and the
    projection is another block.
    """

    stack: Stack
    omits_input: bool
    projection: Transformer | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns of the layers and of the projection."""
        layers = (self.stack.n_features,) * (len(self.stack.layers) + 1 - self.omits_input)
        return layers if self.projection is None else (*layers, int(self.projection.estimator.n_components_))

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return the outputs of all layers and of the projection side by side, in an array of shape (n, Σ sizes)."""
        Z = self.stack.transform(rows, progress=progress.part(0.0, 0.5))
        Z = Z[:, self.stack.n_features :] if self.omits_input else Z
        if self.projection is None:
            return Z
        return np.concatenate([Z, self.projection.transform(rows, progress=progress.part(0.5, 1.0))], axis=1)


class Networks:
    """Cache of recently trained networks, shared by runs that need the same network."""

    def __init__(self) -> None:
        self._pretrained: list[tuple[tuple[str, str], SdaFeatures]] = []
        self._tuned: dict[str, Tuned] = {}

    def pretrained(
        self,
        dataset: Dataset,
        parameters: SdaParameters,
        rows: Indices | None = None,
        *,
        progress: Progress = NO_PROGRESS,
    ) -> SdaFeatures:
        """Return autoencoders that are pre-trained on the training set. If possible, they are taken from the cache.

        Parameters
        ----------
        parameters : SdaParameters
            Parameters as returned by `SdaParameters.checked`.
        rows : ndarray of int, optional
            Indices of the training rows to use. Default: all.
        """
        key = dataset.fingerprint, "" if rows is None else hashlib.sha256(rows.tobytes()).hexdigest()
        for of, known in self._pretrained:
            if of == key and _starts_with(known.sda.parameters, parameters):
                return known.first(len(parameters.n_units))
        network = pretrained(dataset.train if rows is None else dataset.train[rows], parameters, progress=progress)
        self._pretrained = [*self._pretrained[1 - _MOST :], (key, network)]
        return network

    def fine_tuned(self, features: SdaFeatures, data: RunData, progress: Progress) -> Tuned:
        """Fine-tune autoencoders on the training rows of a run, or return them from the cache.

        Fine-tuning can stop early only if the run has validation rows.
        """
        key = replace(data.spec, evaluate="test", test_rows=None).hash
        if key in self._tuned:
            return self._tuned[key]
        started, codes = computing_time(), data.classes.train

        def part(rows: Indices) -> tuple[NDArray[Any], Indices]:
            return into_range(data.take(rows), features.limits), codes[rows]

        X, y = part(data.rows)
        validation = part(data.validation) if len(data.validation) else None
        network = fine_tune(features.sda, X, y, int(codes.max()) + 1, validation, data.spec.sda, progress)
        self._tuned[key] = tuned = Tuned(network, features.limits, computing_time() - started)
        if len(self._tuned) > _MOST:
            del self._tuned[next(iter(self._tuned))]
        return tuned


def shared_networks(spec: RunSpec) -> str:
    """Return a key that is equal for runs whose autoencoders have the same first layer.

    The key is empty for a run without autoencoders.
    """
    if spec.sda is None:
        return ""
    rows = spec.training, spec.split, spec.seed, spec.fit_rows, spec.labels if spec.fit_rows == "labelled" else None
    lowest = replace(spec.sda.unsupervised, n_units=spec.sda.n_units[:1], noise=spec.sda.noises[0])
    return repr((spec.fingerprint, rows, lowest))


def pretrained(rows: NDArray[Any], parameters: SdaParameters, *, progress: Progress = NO_PROGRESS) -> SdaFeatures:
    """Pre-train autoencoders on the given rows, and record when the training of each layer ends."""
    low, high = float(rows.min()), float(rows.max())
    limits = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)
    started, ends_of_layers = computing_time(), dict[int, float]()

    def note(fraction: float, payload: object) -> None:
        if isinstance(payload, SdaHistory) and payload.epochs:
            ends_of_layers[payload.epochs[-1].layer] = computing_time() - started
        progress.report(fraction, payload)

    sda = pretrain(into_range(rows, limits), parameters.unsupervised, Listener(note))
    # If a layer is trained for 0 epochs, its training ends together with that of the layer before it.
    ends = accumulate((ends_of_layers.get(layer, 0.0) for layer in range(1, len(parameters.n_units) + 1)), max)
    return SdaFeatures(sda, limits, tuple(ends))


def _starts_with(deeper: SdaParameters, wanted: SdaParameters) -> bool:
    """Return True if the autoencoders described by `wanted` are the lowest layers of those described by `deeper`."""
    depth = len(wanted.n_units)
    if deeper.n_units[:depth] != wanted.n_units or deeper.noises[:depth] != wanted.noises:
        return False
    first, second = (replace(one.unsupervised, n_units=(), noise=0.0) for one in (deeper, wanted))
    return first == second


class Representation(Protocol):
    """A representation that a run fits to rows without using their labels."""

    def transform(self, rows: NDArray[Any], *, progress: Progress = ...) -> NDArray[np.floating]:
        """Return the features from which the classifier predicts the rows' classes, as an array of shape (n, k)."""
        ...


@dataclass
class Reuse:
    """Intermediate results that runs on the same data set share to save time. They never change the result of a run.

    Attributes
    ----------
    deepest : int
        Stacks are fitted to at least this depth. Runs with fewer layers use the first layers of such a stack.
    results : dict
        Maps the hash of a run to its result. Other runs start from the widths in these results, or average the decision
        values of their SVMs.
    networks : Networks
        Cache of trained autoencoders.
    logs : dict
        Maps the hash of a run to the completed steps of its training. If the run is cancelled and later requested
        again, its training continues after these steps.
    """

    deepest: int = 0
    results: dict[str, RunResult] = field(default_factory=dict)
    networks: Networks = field(default_factory=Networks)
    logs: dict[str, StepLog] = field(default_factory=dict)
    _scatter: tuple[object, InputScatter] | None = None
    _stack: tuple[object, Stack] | None = None

    def stack(self, dataset: Dataset, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> Stack:
        """Return a stack fitted on the training set. If possible, its layers are taken from the cached stack."""
        if parameters.depth == 0:
            return Stack(parameters, (), dataset.n_features, len(dataset.train))
        key = dataset.fingerprint, replace(parameters, depth=0)
        if self._stack is None or self._stack[0] != key or len(self._stack[1].layers) < parameters.depth:
            whole = replace(parameters, depth=max(parameters.depth, self.deepest))
            share = entry_share(whole)
            check_fit(len(dataset.train), dataset.n_features, whole)
            scatter = self._input_scatter(dataset, parameters, progress.part(0.0, share))
            part, shape = progress.part(share, 1.0), dataset.image_shape or ()
            self._stack = key, fit_stack(dataset.train, whole, scatter=scatter, image_shape=shape, progress=part)
        return replace(self._stack[1], parameters=parameters, layers=self._stack[1].layers[: parameters.depth])

    def log_of(self, spec_hash: str) -> StepLog:
        """Return the training log of an earlier, cancelled computation of the run, or a new log if there is none."""
        log = self.logs[spec_hash] = self.logs.pop(spec_hash, StepLog())
        if len(self.logs) > _MOST:
            del self.logs[next(iter(self.logs))]
        return log

    def changes_duration(self, dataset: Dataset, parameters: StackParameters) -> bool:
        """Return True if the method `stack` would take more or less time than a separate fit of the requested stack.

        The method takes less time if it reuses scatter matrices that another run computed. It takes more time if it
        fits more layers than requested.
        """
        known = self._scatter is not None and self._scatter[0] == _scatter_key(dataset, parameters)
        return known or self.deepest > parameters.depth

    def _input_scatter(self, dataset: Dataset, parameters: StackParameters, progress: Progress) -> InputScatter:
        key = _scatter_key(dataset, parameters)
        if self._scatter is None or self._scatter[0] != key:
            self._scatter = key, input_scatter(dataset.train, parameters, progress=progress)
        return self._scatter[1]


def _scatter_key(dataset: Dataset, parameters: StackParameters) -> object:
    return dataset.fingerprint, replace(parameters, depth=0, noise=0.0), parameters.sums


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted representation, with the sizes of its blocks of columns and the duration of the fit.

    Attributes
    ----------
    representation : Representation
        The fitted representation.
    groups : int or tuple of int
        Number of equally large blocks of columns, or size of each block. Each block has its own kernel width.
    seconds : float or None
        Duration of the fit in seconds. None if the duration of a separate fit is unknown, because this fit shared
        intermediate results with other runs.
    """

    representation: Representation
    groups: int | tuple[int, ...]
    seconds: float | None


def represent(data: RunData, reuse: Reuse, progress: Progress) -> Fitted:
    """Fit the representation of a run: its layers, projection or autoencoders. Labels are not used."""
    started, dataset, spec = computing_time(), data.dataset, data.spec
    method, all_rows = METHODS[spec.method], spec.fit_rows == "training"
    if spec.stacked:
        projecting = progress.part(0.8, 1.0)
        progress = progress if spec.kept is None else progress.part(0.0, 0.8)
        is_separate = not (all_rows and reuse.changes_duration(dataset, spec.stack))
        stack = stack_of(data, reuse, progress)
        representation: Stack | ColumnBlocks = stack
        groups: int | tuple[int, ...] = spec.stack.depth + 1
        if method.regroups:
            projection = None if spec.kept is None else _project(data, projecting)
            representation = ColumnBlocks(stack, method.omits_input, projection)
            groups = representation.sizes
        return Fitted(representation, groups, computing_time() - started if is_separate else None)
    if method.network:
        assert spec.sda is not None
        some = None if all_rows else data.fit_rows
        features = reuse.networks.pretrained(dataset, spec.sda, some, progress=progress)
        return Fitted(features, features.sda.sizes, features.seconds[-1] if features.seconds else 0.0)
    if method.projection is None and spec.transformer is None:
        return Fitted(Stack(spec.stack, (), dataset.n_features, len(data.fit_rows)), 1, computing_time() - started)
    return Fitted(_project(data, progress), 1, computing_time() - started)


def stack_of(data: RunData, reuse: Reuse, progress: Progress) -> Stack:
    """Return the fitted stack of a run. If it is fitted on the whole training set, it is cached in `reuse`."""
    if data.spec.fit_rows == "training":
        return reuse.stack(data.dataset, data.spec.stack, progress=progress)
    rows, shape = data.take(data.fit_rows), data.dataset.image_shape or ()
    return fit_stack(rows, data.spec.stack, image_shape=shape, progress=progress)


def _project(data: RunData, progress: Progress) -> Transformer:
    """Fit the projection or the scikit-learn transformer of a run, and return it."""
    spec, rows = data.spec, data.take(data.fit_rows)
    chosen, projection = spec.transformer, METHODS[spec.method].projection
    if projection is not None:
        assert spec.kept is not None
        chosen = projection.estimator(spec.kept)
    assert chosen is not None
    return Transformer(chosen.fit("transformer", spec.seed, np.asarray(rows, np.float64), progress=progress))


def feature_seconds(dataset: Dataset, spec: RunSpec, *, progress: Progress = NO_PROGRESS) -> float:
    """Measure how many seconds it takes to fit SLIDE and to compute the features of the training set.

    Parameters
    ----------
    spec : RunSpec
        Spec of a run whose features are SLIDE's layers.
    """
    started = computing_time()
    shape = dataset.image_shape or ()
    stack = fit_stack(dataset.train, spec.checked().stack, image_shape=shape, progress=progress)
    stack.transform(dataset.train, progress=progress)
    return computing_time() - started


def train_svm(data: TrainingSet, spec: RunSpec, neighbour: RunResult | None, progress: Progress) -> SvmModel:
    """Select kernel widths and the penalty C as the method of the run prescribes, and train an SVM with them.

    Parameters
    ----------
    data : TrainingSet
        Representation of the training rows, without row weights. Each block of columns has a separate kernel width.
    spec : RunSpec
        Spec of the run. The method of the run determines whether widths are learned. If they are not, C and one factor
        of the median widths are selected by cross-validation.
    neighbour : RunResult or None
        Result of the run whose widths, C and coefficients are the starting point. None if there is no such run.
    """
    svm = replace(spec.svm, groups=data.sizes)
    medians = median_distances(data.Z, data.sizes, seed=spec.seed, progress=progress.part(0.0, 0.0))
    method = METHODS[spec.method]
    if not method.learns or ((method.network or method.regroups) and spec.svm.widths == "median"):
        most = min(MOST_ROWS, int((svm.memory / 8) ** 0.5))
        rows = np.sort(stratified_sample(data.codes, most, svm.seed))
        first = progress.part(0.0, 0.95)
        grid = median_width_search(data if len(rows) == len(data.Z) else data.take(rows), svm, progress=first)
        if svm.retune_rows > MOST_ROWS and len(data.Z) > len(rows):
            grid = adjusted(data, grid, svm, first)
        return train(data, grid, svm, medians=medians, progress=progress.part(0.95, 1.0))
    start = None
    if neighbour is not None and neighbour.classifier is not None:
        start = neighbour.classifier
        svm = replace(svm, near=_starting_point(start, medians))
    groups, log = data.row_groups, data.log
    model = fit_svm(data.Z, data.codes, svm, row_groups=groups, start=start, progress=progress, log=log)
    return replace(model, trained=replace(model.trained, medians=tuple(medians.tolist())))


def _starting_point(neighbour: TrainedSvm, medians: NDArray[np.float64]) -> tuple[tuple[float, ...], float]:
    """Return the widths and C at which the training of a new SVM starts, given the SVM of an earlier run.

    `medians` contains the median squared distance between rows in each layer of the new run. Each earlier width is
    multiplied by the square root of the ratio of the new median to the earlier one. As a result, the typical
    contribution of a layer to the kernel's exponent stays the same.
    """
    ratios = [m / n if m > 0.0 and n > 0.0 else 1.0 for m, n in zip(medians.tolist(), neighbour.medians, strict=True)]
    return tuple(float(w * ratio**0.5) for w, ratio in zip(neighbour.widths, ratios, strict=True)), neighbour.C
