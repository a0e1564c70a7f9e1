"""Train a multi-width SVM one-vs-one at given widths and C; the trained model is an immutable object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.svm.decomposition import Room, SolverOptions, SolverStep, least_memory, solve
from slide_gui.core.svm.kernel import (
    COARSE,
    Embedding,
    Values,
    kernel_rounding,
    kernel_tiles,
    median_distances,
    shares_of,
    squared_norms,
    varying_columns,
)
from slide_gui.core.svm.pairs import ClassRows, PairRows, class_scores, pairs_of
from slide_gui.core.svm.parameters import LOSSES, ChosenBy, SvmParameters
from slide_gui.core.svm.widths import WidthsStep
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BLOCK_VALUES = 8_000_000  # kernel values per block of predictions


@dataclass(frozen=True)
class SvmModel:
    """A trained multi-width SVM.

    Attributes
    ----------
    embedding : Embedding
        Map from rows to vectors z between which the kernel is exp(−‖z − z'‖²).
    vectors : ndarray of shape (n_support, d)
        The embedded support vectors, in float64 if float32 would change the margins visibly.
    support : ndarray of int, shape (n_support,)
        Indices of the support vectors in the training set.
    coefficients : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients y α.
    biases : ndarray of shape (n_pairs,)
        Bias of each pair of classes.
    n_classes : int
    shares : tuple of float
        Fraction of the kernel's exponent that each layer contributes.
    C : float
    history : tuple of WidthsStep
        Iterations of learning the widths; empty if they were not learned.
    chosen : ChosenBy or None
        How learned widths were selected; None if they were not learned.
    gap : float
        Largest violation of the optimality conditions over all pairs of classes.
    steps : int
        Total number of pair steps of the solver.
    converged : bool
        True if the solver converged for every pair of classes.
    """

    embedding: Embedding
    vectors: NDArray[np.floating]
    support: Indices
    coefficients: Array
    biases: Array
    n_classes: int
    shares: tuple[float, ...]
    C: float
    history: tuple[WidthsStep, ...]
    chosen: ChosenBy | None
    gap: float
    steps: int
    converged: bool

    @property
    def widths(self) -> tuple[float, ...]:
        """Kernel width σ_t of each layer."""
        return self.embedding.widths

    def margins(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return the margins of each pair of classes, of shape (n, n_pairs), positive for the second class."""
        steady = MonotonicProgress(progress)
        n, dtype = len(self.vectors), self.vectors.dtype
        used = np.flatnonzero(self.vectors.any(axis=0))  # all other columns are 0 and can be left out of the products
        vectors, squares = np.take(self.vectors, used, axis=1), squared_norms(self.vectors)
        by_pair = np.ascontiguousarray(self.coefficients.T, dtype=dtype)
        margins = np.empty((len(Z), len(self.biases)))
        step = int(np.clip(_BLOCK_VALUES // max(n, 1), 64, 4096))
        values = np.empty((min(step, len(Z)), n), dtype)
        for start in range(0, len(Z), step):
            rows = np.arange(start, min(start + step, len(Z)))
            embedded = self.embedding(Z, rows, dtype, steady.pulse)
            block = np.take(embedded, used, axis=1), squared_norms(embedded)
            margins[rows] = kernel_tiles(block, (vectors, squares), values[: len(rows)], steady.pulse) @ by_pair
            steady.report(rows[-1] / len(Z))
        return margins + self.biases

    def scores(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return (n,) margins for two classes, positive for class 1, or (n, n_classes) scores for more classes."""
        margins = self.margins(Z, progress=progress)
        return margins[:, 0] if self.n_classes == 2 else class_scores(margins, self.n_classes)

    def predict(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Indices:
        """Return the class code of each row, 0 … n_classes − 1."""
        scores = self.scores(Z, progress=progress)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)


_SMALL = 1024  # largest number of rows that is trained in float64
_BLOCK_ROWS = 512
_LARGE = 1000.0  # norm of the coefficients above which float32 kernel values change the margins visibly


@dataclass(frozen=True)
class TrainingStep:
    """One outer step of the solver on one pair of classes; pairs are numbered from 0."""

    pair: int
    n_pairs: int
    solver: SolverStep


class _Pair(Progress):
    """Progress that converts each `SolverStep` of a pair of classes to a `TrainingStep`."""

    def __init__(self, whole: Progress, pair: int, n_pairs: int) -> None:
        self._whole, self._pair, self._n_pairs = whole, pair, n_pairs

    def report(self, fraction: float, payload: object = None) -> None:
        if isinstance(payload, SolverStep):
            payload = TrainingStep(self._pair, self._n_pairs, payload)
        self._whole.report(fraction, payload)


@dataclass(frozen=True)
class PairSolution:
    """The SVM of one pair of classes.

    Attributes
    ----------
    members : ndarray of int
        Indices of the support vectors.
    beta : ndarray
        Signed dual coefficient y α of each support vector.
    bias : float
    gap : float
        Largest violation of the optimality conditions.
    steps : int
        Number of pair steps of the solver.
    converged : bool
    """

    members: Indices
    beta: Array
    bias: float
    gap: float
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class PairProblems:
    """The problems of all pairs of classes, each independent of the others.

    Attributes
    ----------
    Z : ndarray or memmap of shape (n, d)
    codes : ndarray of int, shape (n,)
    embedding : Embedding
        Embedding for the widths.
    C : float
    parameters : SvmParameters
    start : SvmModel or None
        Model from whose coefficients the solver starts.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    exact : bool
        True if the optimality gaps must be verified in float64.
    """

    Z: NDArray[np.floating]
    codes: Indices
    embedding: Embedding
    C: float
    parameters: SvmParameters
    start: SvmModel | None
    weights: Array | None = None
    exact: bool = True

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two class codes of each problem."""
        return pairs_of(int(self.codes.max()) + 1)

    def solved(self, numbers: Sequence[int], progress: Progress = NO_PROGRESS) -> Iterator[PairSolution]:
        """Yield the solutions of some problems in order; the problems share kernel values if the memory allows it.

        Parameters
        ----------
        numbers : sequence of int
            Indices in `pairs`.
        """
        p, pairs = self.parameters, self.pairs
        steady = MonotonicProgress(progress)
        options = SolverOptions(
            LOSSES[p.loss].squared, self.C, p.tol, p.max_iter, seed=p.seed, shuffled=True, exact=self.exact
        )
        sources, room = _Sources(self.Z, self.codes, self.embedding, p, len(numbers) > 1, steady.pulse), Room()
        for done, number in enumerate(numbers):
            pair = pairs[number]
            part = _Pair(steady.part(done / len(numbers), (done + 1) / len(numbers)), number, len(pairs))
            part.report(0.0)
            members = np.concatenate([sources.members[code] for code in pair])
            y = np.where(self.codes[members] == pair[1], 1.0, -1.0)
            source, memory = sources.of(pair)
            near = self._start(number, members)
            weights = None if self.weights is None else self.weights[members]
            options = replace(options, memory=memory)
            solution = solve(source, y, options, weights=weights, start=near, room=room, progress=part)
            nonzero = np.flatnonzero(solution.beta)
            yield PairSolution(
                members[nonzero],
                solution.beta[nonzero],
                solution.bias,
                solution.gap,
                solution.steps,
                solution.converged,
            )

    def _start(self, number: int, members: Indices) -> Array | None:
        if self.start is None:
            return None
        near = np.zeros(len(self.codes))
        near[self.start.support] = self.start.coefficients[number]
        return near[members]


Solve = Callable[[PairProblems, Progress], Iterable[PairSolution]]
"""Function that solves all problems in order."""


def one_after_the_other(problems: PairProblems, progress: Progress) -> Iterable[PairSolution]:
    """Solve all problems in this process."""
    return problems.solved(range(len(problems.pairs)), progress)


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
    weights: Array | None = None,
    start: SvmModel | None = None,
    exact: bool = True,
    progress: Progress = NO_PROGRESS,
    solve_pairs: Solve = one_after_the_other,
) -> SvmModel:
    """Train at given widths and C, with the arguments of `fit_svm`.

    The optimality gap of an `exact` model is verified in float64.
    """
    n_classes = int(codes.max()) + 1
    if start is not None and (start.n_classes != n_classes or start.support.max(initial=0) >= len(codes)):
        start = None
    medians = median_distances(Z, sizes, seed=parameters.seed) if medians is None else medians
    steady = MonotonicProgress(progress)
    embedding = Embedding.of(Z, sizes, widths, steady.pulse)
    solutions = list(solve_pairs(PairProblems(Z, codes, embedding, C, parameters, start, weights, exact), steady))
    support = np.unique(np.concatenate([solution.members for solution in solutions]))
    coefficients = np.zeros((len(solutions), len(support)))
    for row, solution in zip(coefficients, solutions, strict=True):
        row[np.searchsorted(support, solution.members)] = solution.beta
    shares = tuple(shares_of(widths, medians).tolist())
    vectors = embedding(Z, support, progress=steady.pulse)
    coarse = np.finfo(np.float32).eps * squared_norms(vectors).max(initial=0.0) > COARSE
    if coarse or len(codes) <= _SMALL or np.linalg.norm(coefficients, axis=1).max() > _LARGE:
        vectors = embedding(Z, support, np.float64, steady.pulse)
    return SvmModel(
        embedding,
        vectors,
        support,
        coefficients,
        np.array([solution.bias for solution in solutions]),
        n_classes,
        shares,
        C,
        history,
        chosen,
        max(solution.gap for solution in solutions),
        sum(solution.steps for solution in solutions),
        all(solution.converged for solution in solutions),
    )


class _Sources:
    """Kernel values for pairs of classes; all pairs share them if the memory allows it."""

    def __init__(
        self,
        Z: NDArray[np.floating],
        codes: Indices,
        embedding: Embedding,
        parameters: SvmParameters,
        several: bool,
        pulse: Progress,
    ) -> None:
        random = np.random.default_rng(parameters.seed)
        self.members = [random.permutation(np.flatnonzero(codes == code)) for code in range(int(codes.max()) + 1)]
        self._columns = varying_columns(Z, pulse)
        self._Z, self._embedding, self._memory, self._pulse = Z, embedding, parameters.memory, pulse
        fine = len(codes) <= _SMALL or self._too_coarse(len(codes))
        self._dtype: np.dtype[np.floating] = np.dtype(np.float64 if fine else np.float32)
        self._shared: ClassRows | None = None
        self._free = self._memory - self._bytes(len(codes))
        shared_bytes = self._free // 3
        largest = sum(sorted(len(members) for members in self.members)[-2:])
        needed = max(least_memory(largest, self._dtype.itemsize), self._memory // 3)
        if len(self.members) > 2 and several and self._free - shared_bytes >= needed:
            self._free -= shared_bytes
            self._shared = ClassRows(self._embed, self.members, self._dtype, shared_bytes, pulse)

    def of(self, pair: tuple[int, int]) -> tuple[PairRows, int]:
        """Return the kernel of a pair of classes, and the number of bytes that its solver may use."""
        n = sum(len(self.members[code]) for code in pair)
        room = self._free if self._shared is not None else self._memory - self._bytes(n)
        need = least_memory(n, self._dtype.itemsize)
        if room < need:
            raise MemoryError(
                f"training on {n} rows of {self._Z.shape[1]} columns needs at least "
                f"{(self._memory - room + need) / 1e6:.0f} MB in addition to its "
                f"input, more than the limit of {self._memory / 1e6:.0f} MB; raise the memory or use fewer rows"
            )
        if self._shared is not None:
            return self._shared.pair(*pair), room
        members = [self.members[code] for code in pair]
        return ClassRows(self._embed, members, self._dtype, 0, self._pulse).pair(0, 1), room

    def _bytes(self, n: int) -> int:
        """Return the size of n embedded rows in bytes."""
        return self._dtype.itemsize * n * len(self._columns)

    def _too_coarse(self, n: int) -> bool:
        """True if float32 is too coarse for the kernel: many rows are far from the centre and close to each other."""
        squares = np.empty(n, np.float32)
        for start in range(0, n, _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, n))
            squares[rows] = squared_norms(self._embed(rows, np.dtype(np.float32), self._pulse))
        return kernel_rounding(squares) > COARSE

    def _embed(self, rows: Indices, dtype: np.dtype[np.floating], progress: Progress) -> Values:
        return self._embedding(self._Z, rows, dtype, progress, self._columns)
