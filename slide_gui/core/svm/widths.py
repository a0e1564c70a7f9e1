"""Learning one kernel width a layer, and C with them, by descent on a criterion (paper, "Kernel Parameters")."""

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

__all__ = ["LearnedWidths", "WidthOptions", "WidthsSample", "WidthsStep", "learn_on", "learn_widths"]


Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_CACHED_ROWS = 64  # rows of 2 500 numbers: what is made of a tile stays in the cache


@dataclass(frozen=True)
class WidthOptions:
    """How widths are learned.

    Attributes
    ----------
    criterion : str
        A key of `LEARNED_BY`.
    C : float or None
        Kept at this value; None: learned.
    subset_size : int
        Learn on a stratified subset of at most so many points.
    starts : int
        How many of the best starting points of a grid to descend from; at most one if there are others `near`.
    max_iter : int
        Most iterations of L-BFGS-B a start.
    seed : int
        Of the subset and of the points held out.
    memory : int
        Bytes for the matrices of distances and kernel values.
    near : tuple of (widths, C)
        Start here too (at the solutions of neighbouring problems).
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
    """J(θ) and its gradient on one set of points; θ = (log σ_t, …) with log C last unless C is given.

    Parameters
    ----------
    distances : ndarray of shape (L, n, n)
        D_t of each layer.
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    progress : Progress
        The cancel point.
    weights : ndarray of shape (n,), optional
        Of the points.
    row_groups : ndarray of int, shape (n,), optional
        Whole groups are held out by a criterion that holds points out.
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
        """Return the objective on some of the rows, of which those stay held out that were."""
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
        """Return J(θ) and its gradient, of the length of θ; infinity where an SVM could not be solved."""
        log_widths, log_c = self.split(theta)
        rates = np.exp(-2.0 * log_widths)
        ridge, weights = float(np.exp(-log_c)), self.weights
        self.progress.report(0.0)
        kernel = self._kernel(rates)
        known = self.held_out, self.starts, self.progress
        try:
            evaluation = evaluate(self.criterion, kernel, self.codes, ridge, *known, weights=weights)
        except NotConverged:
            self.starts.clear()  # what lies near it may be as hard to solve from there
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
        """Return exp(−Σ_t rate_t D_t), of which half is computed."""
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
        """Return Σ_ij G_ij K_ij D_t,ij of each layer, K and D being symmetric: half of the products are made."""
        sums = np.zeros(len(self.distances))
        for top in range(0, len(kernel), _CACHED_ROWS):
            block, rest = slice(top, top + _CACHED_ROWS), slice(top, None)
            weighted = gradient[block, rest] + gradient[rest, block].T
            weighted *= kernel[block, rest]
            weighted[:, : weighted.shape[0]] *= 0.5  # the tile on the diagonal has both halves
            for layer, distances in enumerate(self.distances):
                sums[layer] += np.einsum("ij,ij->", weighted, distances[block, rest])
            self.progress.report(0.0)
        return sums


_SCALES = (0.1, 0.3, 1.0, 3.0)  # σ_t² = scale · L · median D_t
_START_CS = (1.0, 10.0, 100.0)
_START_ROWS = 600
_PART_ROWS = 1000  # on which descents begin, where there are twice as many
_USUAL_STEPS = 6
_QUIET_STEPS = 3  # in a row that change the objective by less than 1e-4 of it, after which a descent ends
_FIRST_STEP = 0.3  # of the logarithms, down the gradient: a gradient as it is may be a thousandth of a step
_PRIOR = 0.01
_REACH = 4.0
_TILE = 256


@dataclass(frozen=True)
class WidthsStep:
    """One iteration, as seen on the way.

    Attributes
    ----------
    iteration : int
        Counted over all starts.
    start : int
        Which starting point this descent began from.
    criterion : float
        J, the prior not included.
    prior : float
        What is added to J in what is minimised.
    widths, shares : tuple of float
        σ_t and each layer's share of the exponent, (median D_t / σ_t²) / Σ.
    n_support : int
        Support vectors on the subset (of all pairs of classes together).
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
        """What is minimised, J + prior: never rises within a start, and the least of all starts is kept."""
        return self.criterion + self.prior


@dataclass(frozen=True)
class LearnedWidths:
    """What was learned.

    Attributes
    ----------
    criterion : str
        What was minimised, "auto" resolved.
    best : WidthsStep
        The iteration with the least J + prior over all starts. What was only tried in a line search is not taken:
        without its prior it may have a lower J, at widths that the prior is there to keep away from.
    history : tuple of WidthsStep
        All iterations.
    subset : ndarray of int
        The rows learned on.
    """

    criterion: str
    best: WidthsStep
    history: tuple[WidthsStep, ...]
    subset: Indices

    @property
    def widths(self) -> tuple[float, ...]:
        """σ_t."""
        return self.best.widths

    @property
    def C(self) -> float:
        """As learned, or as it was given."""
        return self.best.C


@dataclass
class _Descent:
    """L-BFGS-B from one start, with its stopping rule and its history.

    The prior and the bounds are those of the start, `origin`; the first step is at `begin`. It ends after `patience`
    quiet steps in a row.
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
        """Return J + prior, and its gradient; a value above the start's where J is not to be had."""
        value, slope, _ = self.evaluated(theta)
        if not np.isfinite(value):
            # Finite, for the line search to interpolate and come back; above the start, so never accepted.
            return self.evaluated(self.begin)[0] + 1.0, np.zeros(len(theta))
        return value + self.prior(theta), slope + 2.0 * _PRIOR * (theta - self.origin) / len(theta)

    def evaluated(self, theta: Array) -> tuple[float, Array, int]:
        """Return J, its gradient and the number of support vectors, computed once a point."""
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
        # Most descents end long before `max_iter`: half of the share is done after as many iterations as are usual.
        self.progress.report(iterations / (iterations + _USUAL_STEPS), step)

    def after_iteration(self, intermediate_result: Any) -> None:
        """Stop after enough iterations in a row that change the objective by less than 1e-4 of it."""
        theta = np.asarray(intermediate_result.x)
        value, _ = self.penalised(theta)
        self.note(theta)
        still = abs(self.last - value) <= 1e-4 * max(abs(value), 1e-12)
        self.quiet_steps = self.quiet_steps + 1 if still else 0
        self.last = value
        if self.quiet_steps >= self.patience:
            raise StopIteration

    def run(self) -> None:
        """Descend, unless J is not to be had at the start."""
        minimize = _minimize(self.progress)

        if not np.isfinite(self.evaluated(self.begin)[0]):
            return
        self.note(self.begin)
        slope = float(np.linalg.norm(self.penalised(self.begin)[1]))
        unit = max(_FIRST_STEP / max(slope, 1e-12), 1.0)  # L-BFGS-B's first step is the gradient of what it minimises

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
    """Return SciPy's `minimize`, imported in pieces the first time: as a whole it would take a quarter of a second."""
    for name in ("scipy.linalg", "scipy.sparse", "scipy.sparse.linalg", "scipy.spatial", "scipy.optimize"):
        import_module(name)
        progress.report(0.0)
    from scipy.optimize import minimize

    return minimize  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class WidthsSample:
    """The rows that widths are learned on, and the distances between them.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        A stratified subset, sorted.
    codes : ndarray of int, shape (n,)
        Their classes.
    medians : ndarray of shape (L,)
        Median D_t.
    distances : ndarray of shape (L, n, n)
        D_t.
    weights : ndarray of shape (n,) or None
        Of the rows.
    row_groups : ndarray of int, shape (n,), or None
        The group of each row; no split separates rows of one group.
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
        """Draw the rows, whatever their weights; arguments and errors as of `learn_widths`."""
        rows = stratified_subset(codes, options.subset_size, options.seed)
        need = 8 * len(rows) ** 2 * max(len(sizes) + 6, len(sizes) + 0.64 * (len(sizes) + 6))
        if need > options.memory:
            raise MemoryError(
                f"learning {len(sizes)} widths on {len(rows)} points needs about {need / 1e6:.0f} MB, more than the "
                f"{options.memory / 1e6:.0f} MB it may use; raise the memory or learn on a smaller subset"
            )
        steady = MonotonicProgress(progress)
        steady.report(0.0, Stage(f"distances between {len(rows)} rows"))
        sample = take_rows(Z, rows, steady.pulse)
        medians = median_distances(sample, sizes, seed=options.seed, progress=steady.pulse)
        distances = layer_distances(sample, sizes, steady.pulse)
        return cls(rows, codes[rows], medians, distances, _rows_or_none(weights, rows), _rows_or_none(row_groups, rows))

    def on(self, some: Indices, progress: Progress = NO_PROGRESS) -> WidthsSample:
        """Return the sample of some of these rows, given by their positions; with the same medians."""
        distances = np.empty((len(self.distances), len(some), len(some)))
        for target, whole in zip(distances, self.distances, strict=True):
            target[:] = take_submatrix(whole, some, progress)
        weights, groups = _rows_or_none(self.weights, some), _rows_or_none(self.row_groups, some)
        return WidthsSample(self.rows[some], self.codes[some], self.medians, distances, weights, groups)

    def exponents(self, widths: Array, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return Σ_t D_t / σ_t², (n, n)."""
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
    """Learn σ_t, and C unless it is given, on a stratified subset of the rows.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Rows [h⁰, h¹, …].
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1, at least two.
    sizes : tuple of int
        Columns of each layer.
    progress : Progress
        Told a `WidthsStep` at every iteration.

    Raises
    ------
    ValueError
        If the criterion is unknown, or cannot be evaluated on these rows at any start.
    MemoryError
        If the matrices need more than the stated memory; says how much.
    """
    steady = MonotonicProgress(progress)
    return learn_on(WidthsSample.of(Z, codes, sizes, options, steady.part(0.0, 0.0)), options, progress=steady)


def learn_on(sample: WidthsSample, options: WidthOptions, *, progress: Progress = NO_PROGRESS) -> LearnedWidths:
    """Learn σ_t, and C unless it is given, on these rows; the rest as `learn_widths`."""
    steady = MonotonicProgress(progress)
    objective = Objective(sample.distances, sample.codes, options, steady.pulse, sample.weights, sample.row_groups)
    origins = _origins(objective, sample.medians, steady.part(0.0, 0.15))
    starts = [(number, origin, origin) for number, origin in enumerate(origins)]
    patience, begun = _QUIET_STEPS, 0.15
    if len(sample.codes) >= 2 * _PART_ROWS:
        patience, begun = 1, 0.4  # it begins near its end
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
            f"the {objective.criterion} criterion has no finite value at any start on these {len(sample.rows)} "
            "rows, for "
            "the SVM did not converge there; give C or the widths, or learn on fewer rows"
        )
    return LearnedWidths(objective.criterion, min(history, key=_objective), tuple(history), sample.rows)


def _objective(step: WidthsStep) -> float:
    return step.objective


def _part(objective: Objective, size: int) -> Objective:
    """Return the objective on at most so many of its rows, stratified; itself if it has no more."""
    few = stratified_subset(objective.codes, size, objective.options.seed)
    return objective if len(few) == len(objective.codes) else objective.on(few)


def _descended(
    part: Objective, medians: Array, starts: list[tuple[int, Array, Array]], progress: MonotonicProgress
) -> list[tuple[int, Array, Array]]:
    """Descend on a part of the rows, in a fraction of the time, and return the best start with the point it came to.

    All are returned as they were if the part has no finite value at any.
    """
    ends = []
    for number, origin, begin in starts:
        stage = Stage(f"descending on {len(part.codes)} rows", number, len(starts))
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
    """Return the best starting points of the grid scale × C, best first, evaluated on a few hundred points.

    The solutions of neighbouring problems come before them. One point of the grid stays if one is asked for: a valley
    that is followed along the neighbours may end in a poor one.
    """
    options = objective.options
    near = [np.log([*widths, C])[: len(widths) + (options.C is None)] for widths, C in options.near]
    n_starts = min(1, options.starts) if near else max(1, options.starts)
    if n_starts == 0:
        return near
    small = _part(objective, _START_ROWS)
    points = [(scale, C) for scale in _SCALES for C in (_START_CS if options.C is None else (options.C,))]
    judged = []
    for number, (scale, C) in enumerate(points):
        progress.report(number / len(points), Stage(f"starts of {objective.criterion}", number, len(points)))
        log_widths = np.log(widths_from(medians, scale * len(medians)))
        theta = np.append(log_widths, np.log(C)) if options.C is None else log_widths
        small.starts.clear()
        value, _ = small(theta)
        judged.append((value, theta))
    judged = sorted((entry for entry in judged if np.isfinite(entry[0])), key=lambda entry: entry[0])
    return [*near, *(theta for _, theta in judged[:n_starts])]
