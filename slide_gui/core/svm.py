"""The multi-width SVM: widths given, median or learned; trained one-vs-one; a frozen model that predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.criteria.evaluate import AUTO, LEARNED_BY
from slide_gui.core.distances import block_sizes, median_distances, shares_of, widths_from
from slide_gui.core.errors import check_flag, check_number, check_whole
from slide_gui.core.kernel import Embedding, Values, varying_columns
from slide_gui.core.kernel_classes import ClassRows, PairRows
from slide_gui.core.kernel_rows import Room
from slide_gui.core.pulse import Steady
from slide_gui.core.svm_decomposition import SolverOptions, SolverStep, least_memory, solve
from slide_gui.core.svm_model import SvmModel
from slide_gui.core.svm_multiclass import pairs_of
from slide_gui.core.widths import WidthsSample, WidthsStep, learn_on
from slide_gui.core.widths_guard import ChosenBy, guarded
from slide_gui.core.widths_objective import WidthOptions
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["LOSSES", "WIDTHS", "Loss", "SvmModel", "SvmParameters", "TrainingStep", "fit_svm", "train"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Loss(Choice):
    """What a point inside the margin costs: the distance to it, or that squared."""

    squared: bool


LOSSES = table_of(
    Loss("squared_hinge", "squared hinge", "L2-SVM, the one whose widths are learned", squared=True),
    Loss("hinge", "hinge", "C-SVC, the ordinary SVM, whose widths are learned with the squared hinge", squared=False),
)

WIDTHS = table_of(
    Choice("learn", "learned", "one width a layer by gradient descent on a criterion"),
    Choice("median", "median", "the median distance in each layer, all times one scale"),
)
"""How the widths are found where they are not given."""


_SMALL = 1024  # rows up to which all is in float64
_LARGE = 1000.0  # norm of the coefficients from which float32 kernel values would show in the margins


@dataclass(frozen=True)
class SvmParameters:
    """What a multi-width SVM is trained with; the estimator `MultiWidthSVC` describes each in full.

    Attributes
    ----------
    groups : int, tuple of int, or None
        Blocks of columns, one width each.
    widths : "learn", "median" or tuple of float
    criterion : {"auto", "radius-margin", "span", "hold-out", "press"}
    loss : {"squared_hinge", "hinge"}
    C : float or None
    tol : float
    max_iter : int or None
        Most pair steps a two-class problem.
    subset_size : int
        Most points the widths are learned on.
    starts : int
        Descents, from the best points of a grid.
    retune : bool
        Whether what was learned on a subset, or with another loss, is adjusted on held-out rows not learned on.
    memory : int
        Bytes the training may use above its input.
    seed : int
    near : (widths, C) or None
        Learn from here too (a neighbouring problem’s answer), beside the best point of the grid.
    """

    groups: int | tuple[int, ...] | None = None
    widths: str | tuple[float, ...] = "learn"
    criterion: str = AUTO
    loss: str = "squared_hinge"
    C: float | None = None
    tol: float = 1e-3
    max_iter: int | None = None
    subset_size: int = 2500
    starts: int = 2
    retune: bool = True
    memory: int = 2 << 30
    seed: int = 0
    near: tuple[tuple[float, ...], float] | None = None

    def checked(self) -> SvmParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            If one is out of its range; says which and what it may be.
        """
        check_choice("criterion", self.criterion, LEARNED_BY)
        check_choice("loss", self.loss, LOSSES)
        C, max_iter = self.C, self.max_iter
        if C is not None:
            C = check_number("C", C, positive=True, needed="a positive number, or None to choose it")
        if max_iter is not None:
            max_iter = check_whole("max_iter", max_iter, 1, otherwise=", or None for no limit")
        return replace(
            self,
            widths=_checked_widths(self.widths),
            C=C,
            tol=check_number("tol", self.tol, positive=True),
            max_iter=max_iter,
            subset_size=check_whole("subset_size", self.subset_size, 2),
            starts=check_whole("starts", self.starts, 1),
            retune=check_flag("retune", self.retune),
            memory=check_whole("memory", self.memory, 1),
            seed=check_whole("seed", self.seed, 0),
        )


def _checked_widths(widths: object) -> str | tuple[float, ...]:
    if isinstance(widths, str):
        return check_choice("widths", widths, WIDTHS).key
    refusal = f"widths is {widths!r}; it must be {', '.join(WIDTHS)} or one positive number a layer"
    if not isinstance(widths, (tuple, list)) or not widths:
        raise ValueError(refusal)
    try:
        return tuple(check_number("widths", width, positive=True) for width in widths)
    except ValueError:
        raise ValueError(refusal) from None


@dataclass(frozen=True)
class TrainingStep:
    """One outer step of the solver on one pair of classes (numbered from 0, of n_pairs)."""

    pair: int
    n_pairs: int
    solver: SolverStep


def fit_svm(
    Z: NDArray[np.floating],
    codes: Indices,
    parameters: SvmParameters,
    *,
    start: SvmModel | None = None,
    progress: Progress = NO_PROGRESS,
) -> SvmModel:
    """Choose widths and C as the parameters say, then train on all rows.

    Parameters
    ----------
    Z : ndarray or memmap of shape (n, d), float32 or float64
        Rows [h⁰, h¹, …]; read in blocks.
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1, each present, k ≥ 2.
    parameters : SvmParameters
    start : SvmModel, optional
        A model of the same rows in a neighbouring representation: its coefficients start the solver.
    progress : Progress
        Told `WidthsStep` while widths are learned, then `TrainingStep`.

    Raises
    ------
    ValueError
        For parameters out of range, widths that do not fit the blocks, or fewer than two classes.
    MemoryError
        If the stated memory is too small; says how much is needed.
    Cancelled
        By the progress.
    """
    parameters = parameters.checked()
    codes = np.asarray(codes)
    n_classes = int(codes.max()) + 1
    if n_classes < 2:
        raise ValueError("all rows are of one class; training needs at least two classes")
    sizes = block_sizes(Z.shape[1], parameters.groups)
    medians = median_distances(Z, sizes, seed=parameters.seed, progress=progress.part(0.0, 0.0))
    learning = 0.3 if parameters.widths == "learn" else 0.0
    widths, C, history, chosen = _choose(Z, codes, sizes, medians, parameters, progress.part(0.0, learning + 0.2))
    return train(
        Z,
        codes,
        sizes,
        widths,
        C,
        parameters,
        history=history,
        chosen=chosen,
        medians=medians,
        start=start,
        progress=progress.part(learning + 0.2, 1.0),
    )


def _choose(
    Z: NDArray[np.floating],
    codes: Indices,
    sizes: tuple[int, ...],
    medians: Array,
    parameters: SvmParameters,
    progress: Progress,
) -> tuple[Array, float, tuple[WidthsStep, ...], ChosenBy | None]:
    """Return widths, C, the history of learning, and what chose the widths if they were learned."""
    from slide_gui.core.svm_tuning import C_GRID, GLOBAL_SCALES, NEAR_CS, NEAR_SCALES, enough_fresh, tune

    given = parameters.C
    if not isinstance(parameters.widths, str):
        widths = np.asarray(parameters.widths, dtype=np.float64)
        if len(widths) != len(sizes):
            raise ValueError(
                f"widths is {parameters.widths!r}; it must hold {len(sizes)} positive numbers, one a block"
            )
        C = given if given is not None else tune(Z, codes, sizes, widths, (1.0,), C_GRID, parameters, progress)[1]
        return widths, C, (), None
    if parameters.widths == "median":
        widths = widths_from(medians, float(len(sizes)))
        if given is not None:
            return widths, given, (), None
        scale, C = tune(Z, codes, sizes, widths, GLOBAL_SCALES, C_GRID, parameters, progress)
        return widths * scale, C, (), None
    options = WidthOptions(
        parameters.criterion,
        given,
        parameters.subset_size,
        parameters.starts,
        seed=parameters.seed,
        memory=parameters.memory,
        near=parameters.near,
    )
    sample = WidthsSample.of(Z, codes, sizes, options, progress.part(0.0, 0.0))
    learned = learn_on(sample, options, progress=progress.part(0.0, 0.6))
    squared, memory, seed = LOSSES[parameters.loss].squared, parameters.memory, parameters.seed
    part = progress.part(0.6, 0.8)
    widths, C, chosen = guarded(sample, learned, squared=squared, C=given, memory=memory, seed=seed, progress=part)
    if parameters.retune and enough_fresh(len(sample.rows), len(codes)):
        del sample
        Cs = tuple(C * factor for factor in (NEAR_CS if given is None else (1.0,)))
        part = progress.part(0.8, 1.0)
        scale, C = tune(Z, codes, sizes, widths, NEAR_SCALES, Cs, parameters, part, learned_on=learned.subset)
        widths = widths * scale
    return widths, C, learned.history, chosen


class _Pair(Progress):
    """Turns a solver's step into a `TrainingStep` of its pair."""

    def __init__(self, whole: Progress, pair: int, n_pairs: int) -> None:
        self._whole, self._pair, self._n_pairs = whole, pair, n_pairs

    def report(self, fraction: float, payload: object = None) -> None:
        if isinstance(payload, SolverStep):
            payload = TrainingStep(self._pair, self._n_pairs, payload)
        self._whole.report((self._pair + fraction) / self._n_pairs, payload)


def train(
    Z: NDArray[np.floating],
    codes: Indices,
    sizes: tuple[int, ...],
    widths: Array,
    C: float,
    parameters: SvmParameters,
    *,
    history: tuple[WidthsStep, ...] = (),
    chosen: ChosenBy | None = None,
    medians: Array | None = None,
    start: SvmModel | None = None,
    progress: Progress = NO_PROGRESS,
) -> SvmModel:
    """Train at given widths and C; arguments as in `fit_svm`."""
    n_classes = int(codes.max()) + 1
    pairs = pairs_of(n_classes)
    if start is not None and (start.n_classes != n_classes or start.support.max(initial=0) >= len(codes)):
        start = None
    medians = median_distances(Z, sizes, seed=parameters.seed) if medians is None else medians
    steady = Steady(progress)
    embedding = Embedding.of(Z, sizes, widths, steady.pulse)
    options = SolverOptions(
        LOSSES[parameters.loss].squared, C, parameters.tol, parameters.max_iter, seed=parameters.seed, shuffled=True
    )
    sources = _Sources(Z, codes, embedding, parameters, steady.pulse)
    used, biases = [], np.empty(len(pairs))
    gap, steps, converged = -np.inf, 0, True
    room = Room()
    for number, pair in enumerate(pairs):
        part = _Pair(steady, number, len(pairs))
        part.report(0.0)
        members = np.concatenate([sources.members[own] for own in pair])
        y = np.where(codes[members] == pair[1], 1.0, -1.0)
        near = None
        if start is not None:
            near = np.zeros(len(codes))
            near[start.support] = start.coefficients[number]
            near = near[members]
        source, memory = sources.of(pair)
        found = solve(source, y, replace(options, memory=memory), start=near, room=room, progress=part)
        own = np.flatnonzero(found.beta)
        used.append((members[own], found.beta[own]))
        biases[number] = found.bias
        gap, steps, converged = max(gap, found.gap), steps + found.steps, converged and found.converged
    support = np.unique(np.concatenate([members for members, _ in used]))
    coefficients = np.zeros((len(pairs), len(support)))
    for row, (members, beta) in zip(coefficients, used, strict=True):
        row[np.searchsorted(support, members)] = beta
    shares = tuple(shares_of(widths, medians).tolist())
    largest = np.linalg.norm(coefficients, axis=1).max()
    vectors = embedding(Z, support, np.float64 if largest > _LARGE else np.float32, steady.pulse)
    return SvmModel(
        embedding, vectors, support, coefficients, biases, n_classes, shares, C, history, chosen, gap, steps, converged
    )


class _Sources:
    """Where the pairs of classes get their kernel values from: shared by all pairs if the memory allows it."""

    def __init__(
        self, Z: NDArray[np.floating], codes: Indices, embedding: Embedding, parameters: SvmParameters, pulse: Progress
    ) -> None:
        random = np.random.default_rng(parameters.seed)
        self.members = [random.permutation(np.flatnonzero(codes == code)) for code in range(int(codes.max()) + 1)]
        self._columns = varying_columns(Z, pulse)
        self._Z, self._embedding, self._memory, self._pulse = Z, embedding, parameters.memory, pulse
        self._dtype: np.dtype[np.floating] = np.dtype(np.float64 if len(codes) <= _SMALL else np.float32)
        self._shared: ClassRows | None = None
        self._free = self._memory - self._bytes(len(codes))
        kept = self._free // 3
        largest = sum(sorted(len(members) for members in self.members)[-2:])
        needed = max(least_memory(largest, self._dtype.itemsize), self._memory // 3)
        if len(self.members) > 2 and self._free - kept >= needed:
            self._free -= kept
            self._shared = ClassRows(self._embed, self.members, self._dtype, kept, pulse)

    def of(self, pair: tuple[int, int]) -> tuple[PairRows, int]:
        """Return the kernel of a pair of classes, and the bytes left for its solver."""
        n = sum(len(self.members[code]) for code in pair)
        room = self._free if self._shared is not None else self._memory - self._bytes(n)
        need = least_memory(n, self._dtype.itemsize)
        if room < need:
            raise MemoryError(
                f"training on {n} rows of {self._Z.shape[1]} columns needs at least "
                f"{(self._memory - room + need) / 1e6:.0f} MB above its input, more than the "
                f"{self._memory / 1e6:.0f} MB it may use; raise the memory or use fewer rows"
            )
        if self._shared is not None:
            return self._shared.pair(*pair), room
        own = [self.members[code] for code in pair]
        return ClassRows(self._embed, own, self._dtype, 0, self._pulse).pair(0, 1), room

    def _bytes(self, n: int) -> int:
        """Return the bytes of so many embedded rows."""
        return self._dtype.itemsize * n * len(self._columns)

    def _embed(self, rows: Indices, dtype: np.dtype[np.floating], progress: Progress) -> Values:
        return self._embedding(self._Z, rows, dtype, progress, self._columns)
