"""Train the one-vs-one problems of a multi-width SVM at given widths and C, in this process or on a Dask cluster."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from slide_gui.blas import limit_threads
from slide_gui.core.linear_algebra import Array, Indices, take_rows, tiles
from slide_gui.core.svm import kernel
from slide_gui.core.svm.decomposition import ScratchBuffer, Solution, SolverOptions, SolverStep, least_memory, solve
from slide_gui.core.svm.kernel import ClassVectors, Embedding, Values, VectorRows
from slide_gui.core.svm.model import SvmModel, TrainedSvm, pairs_of
from slide_gui.core.svm.parameters import LOSSES, SelectedWidths, SvmParameters
from slide_gui.core.workers import TaskProgress, results_of, sent
from slide_gui.progress import NO_PROGRESS, Listener, MonotonicProgress, Progress

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

_SMALL = 1024  # largest number of rows for which training uses float64
_BLOCK_ROWS = 128
_LARGE = 1000.0  # norm of the coefficients above which float32 support vectors change the margins noticeably


class StepLog:
    """Results of the slow steps of SVM training, in order, from which cancelled training can resume.

    Training on the same rows with the same parameters always takes the same steps. If cancelled training is repeated
    with the same log, the results of the finished steps are read from the log. Only the remaining steps are computed.
    The trained model is bit-identical to that of uninterrupted training.

    Attributes
    ----------
    results : list
        Results of the finished steps.
    seconds : float
        Total time that the finished steps took, in seconds.
    """

    def __init__(self) -> None:
        self.results: list[Any] = []
        self._state: dict[Any, Any] = {}
        self._next = 0
        self.seconds = 0.0

    def rewind(self) -> float:
        """Go back to the beginning of the log. The next call of `step` then returns the result of the first step.

        Return the time that all logged steps took, in seconds.
        """
        self._next = 0
        return self.seconds

    def step(self, compute: Callable[[], T], state: dict[Any, Any] | None = None) -> T:
        """Return the result of the next step, either from the log or by calling `compute`.

        A computed result is added to the log.

        Parameters
        ----------
        compute : callable
            Returns the result of the step.
        state : dict, optional
            Values that the step changes and the following step uses, such as the values from which a solver starts. The
            log stores these values only for its last step, and restores them when it returns the result of this step.
            Steps that share a dictionary must therefore be consecutive.
        """
        number, state = self._next, {} if state is None else state
        if number == len(self.results):
            started = time.perf_counter()
            self.results.append(compute())
            self._state = dict(state)
            self.seconds += time.perf_counter() - started
        elif number == len(self.results) - 1:
            state.clear()
            state.update(self._state)
        self._next += 1
        result: T = self.results[number]
        return result


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Labelled rows on which an SVM is trained.

    Attributes
    ----------
    Z : ndarray or memmap of shape (n, d)
        Rows [h⁰, h¹, …], which are read in blocks.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1.
    sizes : tuple of int
        Number of columns of each layer.
    weights : ndarray of shape (n,) or None
        Positive weights of the rows.
    row_groups : ndarray of int, shape (n,), or None
        Group of each row. Splits into training and held-out rows keep all rows of a group together.
    log : StepLog
        Log of the finished steps of training, from which cancelled training resumes.
    """

    Z: NDArray[np.floating]
    codes: Indices
    sizes: tuple[int, ...]
    weights: Array | None = None
    row_groups: Indices | None = None
    log: StepLog = field(default_factory=StepLog)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.codes.max()) + 1

    def take(self, rows: Indices, progress: Progress = NO_PROGRESS) -> "TrainingSet":
        """Return a training set with copies of the given rows."""
        Z = take_rows(self.Z, rows, progress)
        weights, groups = rows_of(self.weights, rows), rows_of(self.row_groups, rows)
        return TrainingSet(Z, self.codes[rows], self.sizes, weights, groups, self.log)


def rows_of(values: Any, rows: NDArray[Any]) -> Any:
    """Return the elements of `values` for the given rows, or None if `values` is None."""
    return None if values is None else values[rows]


@dataclass(frozen=True)
class TrainingStep:
    """Progress report after the solver has optimised one working set. `pair` is the index of the pair of classes."""

    pair: int
    n_pairs: int
    solver: SolverStep


@dataclass(frozen=True, eq=False)
class PairProblems:
    """The two-class problems of all pairs of classes. Each problem can be solved independently of the others.

    Attributes
    ----------
    data : TrainingSet
    embedding : Embedding
        Map from rows to vectors, from which the kernel at the selected widths is computed.
    C : float
        Penalty for errors.
    parameters : SvmParameters
    start : TrainedSvm or None
        A similar SVM, from whose coefficients the solver starts.
    exact : bool
        True to compute the optimality gap of each solution in float64.
    """

    data: TrainingSet
    embedding: Embedding
    C: float
    parameters: SvmParameters
    start: TrainedSvm | None
    exact: bool

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two class codes of each two-class problem."""
        return pairs_of(self.data.n_classes)

    def solved(self, numbers: Sequence[int], progress: Progress = NO_PROGRESS) -> Iterator[tuple[Indices, Solution]]:
        """Solve the given problems in order. Kernel values are shared between problems if memory allows it.

        For each problem, yield the row indices of the support vectors, and the solution. The solution contains only the
        coefficients of the support vectors, and no residuals.

        Parameters
        ----------
        numbers : sequence of int
            Indices of the problems to solve, as in `pairs`.
        """
        p, pairs, codes = self.parameters, self.pairs, self.data.codes
        steady = MonotonicProgress(progress)
        options = SolverOptions(
            LOSSES[p.loss].squared, self.C, p.tol, p.max_iter, seed=p.seed, shuffled=True, exact=self.exact
        )
        sources, scratch = _Sources(self, len(numbers) > 1, steady.pulse), ScratchBuffer()
        for number, part in steady.each(numbers):
            part.report(0.0)
            pair = pairs[number]
            members = np.concatenate([sources.members[code] for code in pair])
            source, memory = sources.of(pair)
            solution = solve(
                source,
                np.where(codes[members] == pair[1], 1.0, -1.0),
                replace(options, memory=memory),
                weights=rows_of(self.data.weights, members),
                start=self._start(number, members),
                scratch=scratch,
                progress=_as_training_steps(part, number, len(pairs)),
            )
            support = np.flatnonzero(solution.beta)
            yield members[support], replace(solution, beta=solution.beta[support], residual=np.empty(0))

    def _start(self, number: int, members: Indices) -> Array | None:
        if self.start is None:
            return None
        near = np.zeros(len(self.data.codes))
        near[self.start.support] = self.start.coefficients[number]
        return near[members]


def _as_training_steps(progress: Progress, pair: int, n_pairs: int) -> Progress:
    """Return a `Progress` that forwards each `SolverStep` of a pair of classes as a `TrainingStep`."""

    def report(fraction: float, step: object) -> None:
        progress.report(fraction, TrainingStep(pair, n_pairs, step) if isinstance(step, SolverStep) else step)

    return Listener(report)


def _solved_on(client: "Client", problems: PairProblems, progress: Progress) -> list[tuple[Indices, Solution]]:
    """Solve the problems of all pairs of classes on a cluster, one task per pair.

    The rows are sent once for all tasks. Each task uses one BLAS thread, so workers should run one task at a time.
    """
    token = secrets.token_hex(8)
    there = sent(client, problems, f"slide-pairs-{token}")
    numbers = range(len(problems.pairs))
    tasks = [client.submit(_solved, there, number, key=f"slide-pair-{token}-{number}") for number in numbers]
    return results_of(client, tasks, progress)


def _solved(problems: PairProblems, number: int) -> tuple[Indices, Solution]:
    limit_threads(1)
    return next(problems.solved([number], TaskProgress()))


def train(
    data: TrainingSet,
    selected: SelectedWidths,
    parameters: SvmParameters,
    *,
    medians: Array,
    start: TrainedSvm | None = None,
    exact: bool = True,
    progress: Progress = NO_PROGRESS,
    client: "Client | None" = None,
) -> SvmModel:
    """Train a multi-width SVM at the selected widths and C.

    If `exact` is True, the optimality gap is computed in float64. `medians` are the median squared distances D_t of the
    layers. `start`, `progress` and `client` have the same meaning as in `fit_svm`.
    """
    n = len(data.codes)
    if start is not None and (start.n_classes != data.n_classes or start.support.max(initial=0) >= n):
        start = None
    steady = MonotonicProgress(progress)
    embedding = Embedding.of(data.Z, data.sizes, selected.widths, steady.pulse)
    problems = PairProblems(data, embedding, selected.C, parameters, start, exact)
    if client is None:
        solved = list(problems.solved(range(len(problems.pairs)), steady))
    else:
        solved = _solved_on(client, problems, steady)
    support = np.unique(np.concatenate([members for members, _ in solved]))
    coefficients = np.zeros((len(solved), len(support)))
    for row, (members, solution) in zip(coefficients, solved, strict=True):
        row[np.searchsorted(support, members)] = solution.beta
    vectors = embedding(data.Z, support, progress=steady.pulse)
    coarse = np.finfo(np.float32).eps * kernel.squared_norms(vectors).max(initial=0.0) > kernel.COARSE
    if coarse or n <= _SMALL or np.linalg.norm(coefficients, axis=1).max() > _LARGE:
        vectors = embedding(data.Z, support, np.float64, steady.pulse)
    trained = TrainedSvm(
        widths=embedding.widths,
        shares=tuple(kernel.shares_of(selected.widths, medians).tolist()),
        medians=tuple(medians.tolist()),
        C=float(selected.C),
        history=selected.history,
        grid=selected.grid,
        gap=max(solution.gap for _, solution in solved),
        converged=all(solution.converged for _, solution in solved),
        dtype=vectors.dtype.name,
        support=support,
        coefficients=coefficients,
        biases=np.array([solution.bias for _, solution in solved]),
        chosen=selected.chosen,
    )
    return SvmModel(trained, embedding, vectors, sum(solution.steps for _, solution in solved))


class _Sources:
    """Sources of kernel values for pairs of classes. If memory allows it, all pairs share vectors and kernel values."""

    def __init__(self, problems: PairProblems, several: bool, pulse: Progress) -> None:
        data, parameters = problems.data, problems.parameters
        n, random = len(data.codes), np.random.default_rng(parameters.seed)
        self.members = [random.permutation(np.flatnonzero(data.codes == code)) for code in range(data.n_classes)]
        self._columns = kernel.varying_columns(data.Z, pulse)
        self._Z, self._embedding, self._memory, self._pulse = data.Z, problems.embedding, parameters.memory, pulse
        # If weights differ greatly, float32 may be too inaccurate for the solver to converge.
        uneven = data.weights is not None and data.weights.min() < 1e-6 * data.weights.max()
        fine = n <= _SMALL or uneven or self._too_coarse(n)
        self._dtype: np.dtype[np.floating] = np.dtype(np.float64 if fine else np.float32)
        self._shared: list[ClassVectors] = []
        self._free = self._memory - self._bytes(n)
        shared_bytes = self._free // 3
        largest = sum(sorted(len(members) for members in self.members)[-2:])
        needed = max(least_memory(largest, self._dtype.itemsize), self._memory // 3)
        if len(self.members) > 2 and several and self._free - shared_bytes >= needed:
            self._free -= shared_bytes
            self._shared = [self._vectors(rows, shared_bytes * len(rows) // n) for rows in self.members]

    def of(self, pair: tuple[int, int]) -> tuple[VectorRows, int]:
        """Return the source of kernel values for a pair of classes, and the number of bytes that its solver may use."""
        if self._shared:
            return VectorRows([self._shared[code] for code in pair]), self._free
        n = sum(len(self.members[code]) for code in pair)
        free, need = self._memory - self._bytes(n), least_memory(n, self._dtype.itemsize)
        if free < need:
            raise MemoryError(
                f"training on {n} rows of {self._Z.shape[1]} columns needs at least "
                f"{(self._memory - free + need) / 1e9:.6g} GB in addition to its "
                f"input, more than the limit of {self._memory / 1e9:.6g} GB; raise the limit or use fewer rows"
            )
        return VectorRows([self._vectors(self.members[code]) for code in pair]), free

    def _vectors(self, rows: Indices, memory: int = 0) -> ClassVectors:
        return ClassVectors(
            self._embed(rows, self._dtype, self._pulse),
            memory,
            lambda points, progress: self._embed(rows[points], np.dtype(np.float64), progress),
        )

    def _bytes(self, n: int) -> int:
        """Return the memory, in bytes, of n centred and scaled rows from which constant columns are left out."""
        return self._dtype.itemsize * n * len(self._columns)

    def _too_coarse(self, n: int) -> bool:
        """Return True if float32 kernel values may be too inaccurate.

        An example is a set of rows that are far from the centre but close together.
        """
        squares = np.empty(n, np.float32)
        for rows in tiles(n, _BLOCK_ROWS, self._pulse):
            squares[rows] = kernel.squared_norms(self._embedding(self._Z[rows]))
        return kernel.kernel_rounding(squares) > kernel.COARSE

    def _embed(self, rows: Indices, dtype: np.dtype[np.floating], progress: Progress) -> Values:
        return self._embedding(self._Z, rows, dtype, progress, self._columns)
