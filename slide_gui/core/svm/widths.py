"""Learn one kernel width per layer, and C, by gradient descent on a criterion (paper, "Kernel Parameters")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import take_rows, take_submatrix
from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm.criteria import AUTO, CRITERIA, evaluate, resolved
from slide_gui.core.svm.kernel import layer_distances, median_distances, shares_of, widths_from
from slide_gui.core.svm.newton import NotConverged
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress, Stage

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_CACHED_ROWS = 64  # rows per tile: all arrays of a tile of 2 500 columns fit in the cache


@dataclass(frozen=True)
class WidthOptions:
    """Options for learning widths.

    Attributes
    ----------
    criterion : str
        Key of `LEARNED_BY`.
    C : float or None
        Fixed value of C, or None to learn it.
    subset_size : int
        Largest number of points in the stratified subset.
    starts : int
        Number of descents, each from one of the best points of a grid. At most one is used if `near` is not empty.
    max_iter : int
        Largest number of L-BFGS-B iterations per start.
    seed : int
        Seed of the subset and of the held-out points.
    memory : int
        Number of bytes for the matrices of distances and kernel values.
    near : tuple of (widths, C)
        Additional starts, at the solutions of neighbouring problems.
    """

    criterion: str = AUTO
    C: float | None = None
    subset_size: int = 2500
    starts: int = 2
    max_iter: int = 50
    seed: int = 0
    memory: int = 1 << 31
    near: tuple[tuple[tuple[float, ...], float], ...] = ()


class Objective:
    """Criterion J(θ) and its gradient on one set of points; θ = (log σ_t, …), with log C last unless C is given.

    Parameters
    ----------
    distances : ndarray of shape (L, n, n)
        Squared distances D_t in each layer.
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1.
    options : WidthOptions
    progress : Progress
        Can cancel the computation.
    weights : ndarray of shape (n,), optional
        Weights of the points.
    row_groups : ndarray of int, shape (n,), optional
        Group of each point. A criterion that holds points out holds out whole groups.
    """

    def __init__(
        self,
        distances: Array,
        codes: Indices,
        options: WidthOptions,
        progress: Progress,
        weights: Array | None = None,
        row_groups: Indices | None = None,
    ) -> None:
        self.distances, self.codes, self.options, self.weights = distances, codes, options, weights
        self.progress = progress
        self.criterion = resolved(options.criterion, int(codes.max()) + 1)
        self.held_out = np.zeros(len(codes), bool)
        if CRITERIA[self.criterion].holds_out:
            self.held_out = held_out_mask(codes, options.seed, None, row_groups)
            if not self.held_out.any():
                raise ValueError(
                    f"the criterion {self.criterion} cannot hold out whole groups, because some class would be lost; "
                    "choose another criterion"
                )
        self.starts: dict[tuple[int, int], Array] = {}
        self.n_support = 0

    def on(self, rows: Indices) -> Objective:
        """Return the objective on some of the rows; held-out rows stay held out."""
        distances = np.empty((len(self.distances), len(rows), len(rows)))
        for target, whole in zip(distances, self.distances, strict=True):
            target[:] = take_submatrix(whole, rows, self.progress)
        weights = None if self.weights is None else self.weights[rows]
        part = Objective(distances, self.codes[rows], self.options, self.progress, weights)
        part.held_out = self.held_out[rows]
        return part

    def split(self, theta: Array) -> tuple[Array, float]:
        """Return log σ_t and log C."""
        n_layers = len(self.distances)
        if self.options.C is not None:
            return theta, float(np.log(self.options.C))
        return theta[:n_layers], float(theta[n_layers])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return J(θ) and its gradient; J is infinite if an SVM did not converge."""
        log_widths, log_c = self.split(theta)
        rates = np.exp(-2.0 * log_widths)
        ridge, weights = float(np.exp(-log_c)), self.weights
        self.progress.report(0.0)
        kernel = self._kernel(rates)
        known = self.held_out, self.starts, self.progress
        try:
            evaluation = evaluate(self.criterion, kernel, self.codes, ridge, *known, weights=weights)
        except NotConverged:
            self.starts.clear()  # neighbouring kernels may not converge from these starts either
            return np.inf, np.zeros(len(theta))
        self.n_support = evaluation.n_support
        self.progress.report(0.0)
        gradient = evaluation.gradient
        by_ridge = float(np.trace(gradient) if weights is None else np.sum(np.diag(gradient) / weights))
        slope = np.empty(len(theta))
        slope[: len(rates)] = 2.0 * rates * self._contracted(gradient, kernel)
        if self.options.C is None:
            slope[len(rates)] = -ridge * by_ridge
        return evaluation.value, slope

    def _kernel(self, rates: Array) -> Array:
        """Return exp(−Σ_t rate_t D_t); only half of the symmetric matrix is computed."""
        kernel: Array = np.empty(self.distances.shape[1:])
        for top in range(0, len(kernel), _CACHED_ROWS):
            block, rest = slice(top, top + _CACHED_ROWS), slice(top, None)
            tile = self.distances[0, block, rest] * -rates[0]
            for rate, distances in zip(rates[1:], self.distances[1:], strict=True):
                tile -= rate * distances[block, rest]
            np.exp(tile, out=tile)
            kernel[rest, block] = tile.T
            kernel[block, rest] = tile
            self.progress.report(0.0)
        return kernel

    def _contracted(self, gradient: Array, kernel: Array) -> Array:
        """Return Σ_ij G_ij K_ij D_t,ij for each layer; K and D are symmetric, so half of the products suffice."""
        sums = np.zeros(len(self.distances))
        for top in range(0, len(kernel), _CACHED_ROWS):
            block, rest = slice(top, top + _CACHED_ROWS), slice(top, None)
            weighted = gradient[block, rest] + gradient[rest, block].T
            weighted *= kernel[block, rest]
            weighted[:, : weighted.shape[0]] *= 0.5  # the diagonal tile contains both halves
            for layer, distances in enumerate(self.distances):
                sums[layer] += np.einsum("ij,ij->", weighted, distances[block, rest])
            self.progress.report(0.0)
        return sums


_SCALES = (0.1, 0.3, 1.0, 3.0)  # σ_t² = scale · L · median D_t
_START_CS = (1.0, 10.0, 100.0)
_START_ROWS = 600
_PART_ROWS = 1000  # descents begin on this many rows if there are at least twice as many
_USUAL_STEPS = 6
_QUIET_STEPS = 3  # a descent ends after this many steps in a row with a relative change below 1e-4
_FIRST_STEP = 0.3  # length of the first step in log σ: the gradient alone may be a thousandth of a useful step
_PRIOR = 0.01
_REACH = 4.0
_TILE = 256


@dataclass(frozen=True)
class WidthsStep:
    """One iteration of learning the widths.

    Attributes
    ----------
    iteration : int
        Number of the iteration, counted over all starts.
    start : int
        Number of the start of this descent.
    criterion : float
        Criterion J without the prior.
    widths, shares : tuple of float
        Width σ_t of each layer, and the fraction of the kernel's exponent that the layer contributes.
    C : float
    n_support : int
        Number of support vectors on the subset, summed over all pairs of classes.
    prior : float
        Prior that is added to J in the objective.
    """

    iteration: int
    start: int
    criterion: float
    widths: tuple[float, ...]
    shares: tuple[float, ...]
    C: float
    n_support: int
    prior: float = 0.0

    @property
    def objective(self) -> float:
        """The minimised objective, J + prior; it never rises within a descent."""
        return self.criterion + self.prior


@dataclass(frozen=True)
class LearnedWidths:
    """Result of learning widths.

    Attributes
    ----------
    criterion : str
        Minimised criterion; "auto" is replaced by the criterion that it selected.
    best : WidthsStep
        Iteration with the smallest J + prior over all starts. Points of a line search do not count: their J may be
        lower at extreme widths, which the prior prevents.
    history : tuple of WidthsStep
        All iterations.
    subset : ndarray of int
        Rows that the widths were learned on.
    """

    criterion: str
    best: WidthsStep
    history: tuple[WidthsStep, ...]
    subset: Indices

    @property
    def widths(self) -> tuple[float, ...]:
        """Learned widths σ_t."""
        return self.best.widths

    @property
    def C(self) -> float:
        """Learned or given value of C."""
        return self.best.C


@dataclass
class _Descent:
    """One L-BFGS-B descent with its stopping rule and history.

    The descent begins at `begin`. The prior and the bounds are centred on `origin`. The descent ends after `patience`
    steps in a row that hardly change the objective.
    """

    objective: Objective
    medians: Array
    start: int
    origin: Array
    begin: Array
    progress: Progress
    history: list[WidthsStep]
    patience: int = _QUIET_STEPS
    seen: dict[bytes, tuple[float, Array, int]] = field(default_factory=dict)
    quiet_steps: int = 0
    last: float = np.inf

    def penalised(self, theta: Array) -> tuple[float, Array]:
        """Return J + prior and its gradient; if J is infinite, return a value above the one at the start."""
        value, slope, _ = self.evaluated(theta)
        if not np.isfinite(value):
            # The line search needs a finite value to interpolate; it never accepts one above the start's.
            return self.evaluated(self.begin)[0] + 1.0, np.zeros(len(theta))
        return value + self.prior(theta), slope + 2.0 * _PRIOR * (theta - self.origin) / len(theta)

    def evaluated(self, theta: Array) -> tuple[float, Array, int]:
        """Return J, its gradient and the number of support vectors, computed once per point."""
        key = theta.tobytes()
        if key not in self.seen:
            self.seen[key] = (*self.objective(theta), self.objective.n_support)
        return self.seen[key]

    def prior(self, theta: Array) -> float:
        return _PRIOR * float(np.mean((theta - self.origin) ** 2))

    def note(self, theta: Array) -> None:
        """Add a step to the history and report it."""
        value, _, n_support = self.evaluated(theta)
        log_widths, log_c = self.objective.split(theta)
        widths = np.exp(log_widths)
        step = WidthsStep(
            len(self.history),
            self.start,
            value,
            tuple(widths.tolist()),
            tuple(shares_of(widths, self.medians).tolist()),
            float(np.exp(log_c)),
            n_support,
            self.prior(theta),
        )
        self.history.append(step)
        iterations = sum(1 for past in self.history if past.start == self.start)
        # Most descents end long before `max_iter`, so the usual number of iterations counts as half of the progress.
        self.progress.report(iterations / (iterations + _USUAL_STEPS), step)

    def after_iteration(self, intermediate_result: Any) -> None:
        """Stop after `patience` iterations in a row with a relative change of the objective below 1e-4."""
        theta = np.asarray(intermediate_result.x)
        value, _ = self.penalised(theta)
        self.note(theta)
        still = abs(self.last - value) <= 1e-4 * max(abs(value), 1e-12)
        self.quiet_steps = self.quiet_steps + 1 if still else 0
        self.last = value
        if self.quiet_steps >= self.patience:
            raise StopIteration

    def run(self) -> None:
        """Run the descent, unless J is infinite at the start."""
        minimize = _minimize(self.progress)

        if not np.isfinite(self.evaluated(self.begin)[0]):
            return
        self.note(self.begin)
        slope = float(np.linalg.norm(self.penalised(self.begin)[1]))
        unit = max(_FIRST_STEP / max(slope, 1e-12), 1.0)  # the first step of L-BFGS-B is the gradient

        def scaled(theta: Array) -> tuple[float, Array]:
            value, slope = self.penalised(theta)
            return unit * value, unit * slope

        minimize(
            scaled,
            self.begin,
            jac=True,
            method="L-BFGS-B",
            bounds=[(value - _REACH, value + _REACH) for value in self.origin],
            callback=self.after_iteration,
            options={"maxiter": self.objective.options.max_iter, "gtol": 1e-5 * unit, "ftol": 0.0},
        )


def _minimize(progress: Progress) -> Callable[..., Any]:
    """Return SciPy's `minimize`; it is imported in pieces that report progress, since the import takes 0.25 s."""
    for name in ("scipy.linalg", "scipy.sparse", "scipy.sparse.linalg", "scipy.spatial", "scipy.optimize"):
        import_module(name)
        progress.report(0.0)
    from scipy.optimize import minimize

    return minimize  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class WidthsSample:
    """Rows that widths are learned on, and the distances between them.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Sorted indices of a stratified subset.
    codes : ndarray of int, shape (n,)
        Class codes of the rows.
    medians : ndarray of shape (L,)
        Median of D_t in each layer.
    distances : ndarray of shape (L, n, n)
        Squared distances D_t in each layer.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    row_groups : ndarray of int, shape (n,), or None
        Group of each row. No split separates rows of one group.
    """

    rows: Indices
    codes: Indices
    medians: Array
    distances: Array
    weights: Array | None = None
    row_groups: Indices | None = None

    @classmethod
    def of(
        cls,
        Z: NDArray[np.floating],
        codes: Indices,
        sizes: tuple[int, ...],
        options: WidthOptions,
        progress: Progress = NO_PROGRESS,
        weights: Array | None = None,
        row_groups: Indices | None = None,
    ) -> WidthsSample:
        """Draw the rows regardless of their weights; see `learn_widths` for arguments and errors."""
        rows = stratified_subset(codes, options.subset_size, options.seed)
        need = 8 * len(rows) ** 2 * max(len(sizes) + 6, len(sizes) + 0.64 * (len(sizes) + 6))
        if need > options.memory:
            raise MemoryError(
                f"learning {len(sizes)} widths on {len(rows)} points needs about {need / 1e6:.0f} MB, more than the "
                f"limit of {options.memory / 1e6:.0f} MB; raise the memory or learn on a smaller subset"
            )
        steady = MonotonicProgress(progress)
        steady.report(0.0, Stage(f"computing distances between {len(rows)} rows"))
        sample = take_rows(Z, rows, steady.pulse)
        medians = median_distances(sample, sizes, seed=options.seed, progress=steady.pulse)
        distances = layer_distances(sample, sizes, steady.pulse)
        return cls(rows, codes[rows], medians, distances, _rows_or_none(weights, rows), _rows_or_none(row_groups, rows))

    def on(self, some: Indices, progress: Progress = NO_PROGRESS) -> WidthsSample:
        """Return the sample of the rows at some positions, with unchanged medians."""
        distances = np.empty((len(self.distances), len(some), len(some)))
        for target, whole in zip(distances, self.distances, strict=True):
            target[:] = take_submatrix(whole, some, progress)
        weights, groups = _rows_or_none(self.weights, some), _rows_or_none(self.row_groups, some)
        return WidthsSample(self.rows[some], self.codes[some], self.medians, distances, weights, groups)

    def exponents(self, widths: Array, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return Σ_t D_t / σ_t², of shape (n, n)."""
        exponents = np.empty(self.distances.shape[1:], np.float32)
        for top in range(0, len(exponents), _TILE):
            tile = self.distances[:, top : top + _TILE]
            exponents[top : top + _TILE] = np.tensordot(widths**-2.0, tile, 1)
            progress.report(0.0)
        return exponents


def _rows_or_none(values: Any, rows: Indices) -> Any:
    return None if values is None else values[rows]


def learn_widths(
    Z: NDArray[np.floating],
    codes: Indices,
    sizes: tuple[int, ...],
    options: WidthOptions,
    *,
    progress: Progress = NO_PROGRESS,
) -> LearnedWidths:
    """Learn the widths σ_t, and C unless it is given, on a stratified subset of the rows.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Rows [h⁰, h¹, …].
    codes : ndarray of int, shape (n,)
        Class codes 0 … k − 1 of at least two classes.
    sizes : tuple of int
        Number of columns of each layer.
    options : WidthOptions
    progress : Progress
        Receives a `WidthsStep` at every iteration.

    Raises
    ------
    ValueError
        If the criterion is unknown, or if it has no finite value at any start.
    MemoryError
        If the matrices need more than `options.memory`. The message gives the required memory.
    """
    steady = MonotonicProgress(progress)
    return learn_on(WidthsSample.of(Z, codes, sizes, options, steady.part(0.0, 0.0)), options, progress=steady)


def learn_on(sample: WidthsSample, options: WidthOptions, *, progress: Progress = NO_PROGRESS) -> LearnedWidths:
    """Learn the widths σ_t, and C unless it is given, on the rows of a sample; see `learn_widths`."""
    steady = MonotonicProgress(progress)
    objective = Objective(sample.distances, sample.codes, options, steady.pulse, sample.weights, sample.row_groups)
    origins = _origins(objective, sample.medians, steady.part(0.0, 0.15))
    starts = [(number, origin, origin) for number, origin in enumerate(origins)]
    patience, begun = _QUIET_STEPS, 0.15
    if len(sample.codes) >= 2 * _PART_ROWS:
        patience, begun = 1, 0.4  # the descent on all rows starts close to its optimum
        part = MonotonicProgress(steady.part(0.15, 0.4))
        starts = _descended(_part(objective, _PART_ROWS), sample.medians, starts, part)
    rest = steady.part(begun, 1.0)
    history: list[WidthsStep] = []
    for done, (number, origin, begin) in enumerate(starts):
        share = rest.part(done / len(starts), (done + 1) / len(starts))
        objective.starts.clear()
        _Descent(objective, sample.medians, number, origin, begin, share, history, patience).run()
    if not history and options.near:
        return learn_on(sample, replace(options, near=()), progress=steady)
    if not history:
        raise ValueError(
            f"the {objective.criterion} criterion has no finite value at any start on these {len(sample.rows)} rows "
            "because the SVM did not converge; give C or the widths, or learn on fewer rows"
        )
    return LearnedWidths(objective.criterion, min(history, key=_objective), tuple(history), sample.rows)


def _objective(step: WidthsStep) -> float:
    return step.objective


def _part(objective: Objective, size: int) -> Objective:
    """Return the objective on a stratified subset of about `size` rows, or on all rows if there are fewer."""
    few = stratified_subset(objective.codes, size, objective.options.seed)
    return objective if len(few) == len(objective.codes) else objective.on(few)


def _descended(
    part: Objective, medians: Array, starts: list[tuple[int, Array, Array]], progress: MonotonicProgress
) -> list[tuple[int, Array, Array]]:
    """Descend from every start on a part of the rows, which is faster, and return the best start with its end point.

    If no start has a finite value on the part, all starts are returned unchanged.
    """
    ends = []
    for number, origin, begin in starts:
        stage = Stage(f"learning widths on {len(part.codes)} rows", number, len(starts))
        progress.report(number / len(starts), stage)
        history: list[WidthsStep] = []
        part.starts.clear()
        _Descent(part, medians, number, origin, begin, progress.pulse, history).run()
        if history:
            ends.append((min(history, key=_objective), number, origin))
    if not ends:
        return starts
    step, number, origin = min(ends, key=lambda end: end[0].objective)
    theta = np.log([*step.widths, step.C])[: len(origin)]
    return [(number, origin, theta)]


def _origins(objective: Objective, medians: Array, progress: Progress) -> list[Array]:
    """Return the solutions of neighbouring problems, then the best points of the grid scale × C.

    The grid is evaluated on a few hundred rows. If there are neighbouring solutions, at most one point of the grid is
    used. It is a safeguard, because following neighbouring solutions may lead to a poor local optimum.
    """
    options = objective.options
    near = [np.log([*widths, C])[: len(widths) + (options.C is None)] for widths, C in options.near]
    n_starts = min(1, options.starts) if near else max(1, options.starts)
    if n_starts == 0:
        return near
    small = _part(objective, _START_ROWS)
    points = [(scale, C) for scale in _SCALES for C in (_START_CS if options.C is None else (options.C,))]
    evaluated = []
    for number, (scale, C) in enumerate(points):
        progress.report(
            number / len(points), Stage(f"evaluating starts for {objective.criterion}", number, len(points))
        )
        log_widths = np.log(widths_from(medians, scale * len(medians)))
        theta = np.append(log_widths, np.log(C)) if options.C is None else log_widths
        small.starts.clear()
        value, _ = small(theta)
        evaluated.append((value, theta))
    evaluated = sorted((entry for entry in evaluated if np.isfinite(entry[0])), key=lambda entry: entry[0])
    return [*near, *(theta for _, theta in evaluated[:n_starts])]
