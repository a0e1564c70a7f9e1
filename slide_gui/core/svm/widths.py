"""Learn one kernel width per layer, and C, by minimising a criterion with its gradient (paper, "Kernel Parameters")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, Indices, take_submatrix, tiles
from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm.criteria import CRITERIA, evaluate, resolved
from slide_gui.core.svm.kernel import layer_distances, median_distances, shares_of, widths_from
from slide_gui.core.svm.newton import NotConverged
from slide_gui.core.svm.parameters import ChosenBy, SelectedWidths, SvmParameters, WidthsStep
from slide_gui.core.svm.training import StepLog, TrainingSet, rows_of
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress, Stage
from slide_gui.text import count, counted

_CACHED_ROWS = 64  # rows per tile; for 2 500 columns, all arrays of a tile fit in the processor cache


@dataclass(frozen=True, eq=False)
class WidthsSample:
    """The rows on which widths are learned, and the squared distances between these rows.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Sorted indices of these rows in the training set. The rows are a stratified subset of the training set.
    codes : ndarray of int, shape (n,)
        Class codes of the rows.
    medians : ndarray of shape (L,)
        Median of the squared distances D_t in each layer.
    distances : ndarray of shape (L, n, n)
        Squared distances D_t in each layer.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    row_groups : ndarray of int, shape (n,), or None
        Group of each row. Splits into training and held-out rows keep all rows of a group together.
    log : StepLog
        Log of the finished steps of training, from which cancelled training resumes.
    """

    rows: Indices
    codes: Indices
    medians: Array
    distances: Array
    weights: Array | None = None
    row_groups: Indices | None = None
    log: StepLog = field(default_factory=StepLog)

    @classmethod
    def of(cls, data: TrainingSet, parameters: SvmParameters, progress: Progress = NO_PROGRESS) -> "WidthsSample":
        """Return a stratified random sample of at most `subset_size` rows, drawn regardless of their weights.

        Raises
        ------
        MemoryError
            If learning needs more memory than `parameters.memory`, or more memory than is free. The message gives the
            required memory.
        """
        rows, layers = stratified_subset(data.codes, parameters.subset_size, parameters.seed), len(data.sizes)
        need = int(8 * len(rows) ** 2 * max(layers + 6, layers + 0.64 * (layers + 6)))
        job = f"learning {counted(layers, 'width')} on {count(len(rows))} rows"
        if need > parameters.memory:
            raise MemoryError(
                f"{job} needs about {need / 1e9:.6g} GB, more than the limit of {parameters.memory / 1e9:.6g} GB; "
                "raise the limit or learn on a smaller subset"
            )
        check_free(need, job, "learn on a smaller subset")
        steady = MonotonicProgress(progress)
        steady.report(0.0, Stage(f"computing distances between {count(len(rows))} rows"))
        some = data.take(rows, steady.pulse)
        medians = median_distances(some.Z, data.sizes, seed=parameters.seed, progress=steady.pulse)
        distances = layer_distances(some.Z, data.sizes, steady.pulse)
        return cls(rows, some.codes, medians, distances, some.weights, some.row_groups, data.log)

    def on(self, some: Indices, progress: Progress = NO_PROGRESS) -> "WidthsSample":
        """Return a sample of only the rows with the indices `some`. The median distances are not recomputed."""
        distances = np.empty((len(self.distances), len(some), len(some)))
        for target, whole in zip(distances, self.distances, strict=True):
            target[:] = take_submatrix(whole, some, progress)
        weights, groups = rows_of(self.weights, some), rows_of(self.row_groups, some)
        return WidthsSample(self.rows[some], self.codes[some], self.medians, distances, weights, groups, self.log)

    def exponents(self, widths: Array, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return the negated exponents of the kernel at the given widths, Σ_t D_t / σ_t², of shape (n, n)."""
        exponents = np.empty(self.distances.shape[1:], np.float32)
        for tile in tiles(len(exponents), _TILE, progress):
            exponents[tile] = np.tensordot(widths**-2.0, self.distances[:, tile], 1)
        return exponents


class Objective:
    """The criterion J(θ) for one sample of rows, with its gradient.

    θ contains log σ_t of each layer, followed by log C unless C is given.

    Parameters
    ----------
    sample : WidthsSample
    parameters : SvmParameters
        Criterion, C and seed are used. If C is None, it is learned.
    progress : Progress
        Raises `Cancelled` to stop the computation.
    """

    def __init__(self, sample: WidthsSample, parameters: SvmParameters, progress: Progress) -> None:
        self.sample, self.parameters, self.progress = sample, parameters, progress
        self.criterion = resolved(parameters.criterion, int(sample.codes.max()) + 1)
        self.held_out = np.zeros(len(sample.codes), bool)
        if CRITERIA[self.criterion].holds_out:
            self.held_out = held_out_mask(sample.codes, parameters.seed, None, sample.row_groups)
            if not self.held_out.any():
                raise ValueError(
                    f"the criterion {self.criterion} cannot hold out whole groups, because a class would have no "
                    "training rows; choose another criterion"
                )
        self.starts: dict[tuple[int, int], Array] = {}
        self.n_support = 0

    def on_part(self, size: int) -> "Objective":
        """Return the objective for a stratified subset of about `size` rows. Held-out rows remain held out.

        If the subset contains all rows, or if one of its classes has only held-out rows, `self` is returned.
        """
        codes = self.sample.codes
        few = stratified_subset(codes, size, self.parameters.seed)
        training = few[~self.held_out[few]]
        if len(few) == len(codes) or len(np.unique(codes[training])) < len(np.unique(codes[~self.held_out])):
            return self
        part = Objective(replace(self.sample.on(few, self.progress), row_groups=None), self.parameters, self.progress)
        part.held_out = self.held_out[few]
        return part

    def split(self, theta: Array) -> tuple[Array, float]:
        """Split the parameter vector θ into log σ_t, one value per layer t, and log C.

        If C is given, θ does not contain log C, and the logarithm of the given C is returned.
        """
        if self.parameters.C is not None:
            return theta, float(np.log(self.parameters.C))
        return theta[:-1], float(theta[-1])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return J(θ) and its gradient; J is infinite if an SVM did not converge."""
        value, slope, self.n_support = self.sample.log.step(lambda: self._evaluated(theta), self.starts)
        return value, slope

    def _evaluated(self, theta: Array) -> tuple[float, Array, int]:
        log_widths, log_c = self.split(theta)
        rates = np.exp(-2.0 * log_widths)
        ridge, weights, codes = float(np.exp(-log_c)), self.sample.weights, self.sample.codes
        self.progress.report(0.0)
        kernel = self._kernel(rates)
        known = self.held_out, self.starts, self.progress
        try:
            evaluation = evaluate(self.criterion, kernel, codes, ridge, *known, weights=weights)
        except NotConverged:
            # Discard the start values, because the solver might also fail to converge from them for similar kernels.
            self.starts.clear()
            return np.inf, np.zeros(len(theta)), self.n_support
        self.progress.report(0.0)
        gradient = evaluation.gradient
        by_ridge = float(np.trace(gradient) if weights is None else np.sum(np.diag(gradient) / weights))
        slope = np.empty(len(theta))
        slope[: len(rates)] = 2.0 * rates * self._contracted(gradient, kernel)
        if self.parameters.C is None:
            slope[len(rates)] = -ridge * by_ridge
        return evaluation.value, slope, evaluation.n_support

    def _kernel(self, rates: Array) -> Array:
        """Return the kernel matrix exp(−Σ_t rate_t D_t) for rates 1/σ_t².

        The matrix is symmetric, so only half of it is computed.
        """
        first, *others = self.sample.distances
        kernel: Array = np.empty(first.shape)
        for block in tiles(len(kernel), _CACHED_ROWS, self.progress):
            rest = slice(block.start, None)
            tile = first[block, rest] * -rates[0]
            for rate, distances in zip(rates[1:], others, strict=True):
                tile -= rate * distances[block, rest]
            np.exp(tile, out=tile)
            kernel[rest, block] = tile.T
            kernel[block, rest] = tile
        return kernel

    def _contracted(self, gradient: Array, kernel: Array) -> Array:
        """Return Σ_ij G_ij K_ij D_t,ij for each layer t, where G is the gradient as in `Evaluation`.

        The kernel matrix K and the squared distances D_t are symmetric, so half of the products suffice.
        """
        sums = np.zeros(len(self.sample.distances))
        for block in tiles(len(kernel), _CACHED_ROWS, self.progress):
            rest = slice(block.start, None)
            weighted = gradient[block, rest] + gradient[rest, block].T
            weighted *= kernel[block, rest]
            # Halve the tile on the diagonal, because it contains each pair of points twice.
            weighted[:, : weighted.shape[0]] *= 0.5
            for layer, distances in enumerate(self.sample.distances):
                sums[layer] += np.einsum("ij,ij->", weighted, distances[block, rest])
        return sums


_SCALES = (0.1, 0.3, 1.0, 3.0)  # factors in σ_t² = factor · L · (median squared distance in layer t), for L layers
_START_CS = (1.0, 10.0, 100.0)
_START_ROWS = 600
_PART_ROWS = 600  # minimum number of rows in the subsets (1/2, 1/4, … of the rows) on which gradient descent begins
_MOST_ITERATIONS = 50  # largest number of iterations of a descent
_USUAL_STEPS = 6
_GAIN, _RELATIVE_GAIN = 5e-5, 3e-4  # a descent ends if the expected decrease is below both 5e-5 and 3e-4 × objective
# On a subset of the rows, iterations are fast. The limits of the expected decrease, below which a descent ends, are
# then multiplied by this factor, so that the descent ends closer to the minimum.
_FINER = 0.4
# Length of the first step in log σ. The gradient gives only the direction of this step, because its norm may be a
# thousandth of a useful length.
_FIRST_STEP = 0.3
_LONGEST_STEP = 0.5  # largest change of log σ_t or log C in one step; longer steps would often be shortened
_MOST_HALVINGS = 10  # largest number of times that a step is shortened
_PRIOR = 0.01
_REACH = 4.0
_TILE = 256


def best_step(history: Sequence[WidthsStep]) -> WidthsStep:
    """Return the iteration with the smallest objective, J + prior, among all descents.

    The history of a descent does not contain the widths and C that the line search rejected. Rejected widths may be
    extreme and have a smaller J. The prior prevents such solutions.
    """
    return min(history, key=lambda step: step.objective)


@dataclass
class _Descent:
    """A minimisation of the objective by a quasi-Newton method from one starting point, with its history.

    The prior and the bounds of θ are centred on `origin`. The descent ends if the last step hardly reduced the
    objective, and if the quadratic model predicts the same for the next step. The limits below which a reduction counts
    as small are multiplied by `fineness`.
    """

    objective: Objective
    start: int
    origin: Array
    progress: Progress
    history: list[WidthsStep]
    fineness: float = 1.0

    def evaluated(self, theta: Array) -> tuple[float, Array]:
        """Return the objective to minimise, J + prior, and its gradient."""
        value, slope = self.objective(theta)
        return value + self.prior(theta), slope + 2.0 * _PRIOR * (theta - self.origin) / len(theta)

    def prior(self, theta: Array) -> float:
        return _PRIOR * float(np.mean((theta - self.origin) ** 2))

    def note(self, theta: Array, value: float) -> None:
        """Add the widths and C in `theta` to the history of the descent, and report them as progress.

        `theta` must be the argument of the last call of `evaluated`, and `value` the objective that this call returned.
        """
        log_widths, log_c = self.objective.split(theta)
        widths, prior = np.exp(log_widths), self.prior(theta)
        step = WidthsStep(
            len(self.history),
            self.start,
            value - prior,
            tuple(widths.tolist()),
            tuple(shares_of(widths, self.objective.sample.medians).tolist()),
            float(np.exp(log_c)),
            self.objective.n_support,
            prior,
        )
        self.history.append(step)
        iterations = sum(1 for past in self.history if past.start == self.start)
        # Most descents end long before `_MOST_ITERATIONS`, so half the progress is reported after `_USUAL_STEPS`.
        self.progress.report(iterations / (iterations + _USUAL_STEPS), step)

    def run(self, theta: Array, curvature: Array | None) -> tuple[Array, Array | None]:
        """Descend from `theta`, unless J is infinite there. Return the last θ and the approximate Hessian.

        Parameters
        ----------
        theta : ndarray of shape (k,)
            Starting point.
        curvature : ndarray of shape (k, k), or None
            Approximate Hessian from a descent on a subset of the rows, or None if it is unknown.
        """
        value, slope = self.evaluated(theta)
        if not np.isfinite(value):
            return theta, curvature
        self.note(theta, value)
        gain = np.inf
        for _ in range(_MOST_ITERATIONS):
            model = curvature
            if model is None:
                model = np.eye(len(theta)) * max(float(np.linalg.norm(slope)), 1e-12) / _FIRST_STEP
            step = self._step(theta, slope, model)
            predicted = -0.5 * float(slope @ step)
            least = self.fineness * min(_GAIN, _RELATIVE_GAIN * abs(value))
            if predicted <= 0.0 or max(predicted, 0.1 * gain) < least:
                break
            lower = self._searched(theta, value, slope, step)
            if lower is None:
                break
            step, new, new_slope = lower
            change = new_slope - slope
            if curvature is None and step @ change > 0.0:
                model = np.eye(len(theta)) * float(change @ change) / float(step @ change)
            curvature = _updated(model, step, change)
            theta, gain, value, slope = theta + step, value - new, new, new_slope
            self.note(theta, value)
        return theta, curvature

    def _step(self, theta: Array, slope: Array, curvature: Array) -> Array:
        """Return the step to the minimum of the quadratic model, limited to the largest step length and the bounds."""
        low, high = self.origin - _REACH, self.origin + _REACH
        free = np.flatnonzero(((theta > low) | (slope < 0.0)) & ((theta < high) | (slope > 0.0)))
        step = np.zeros(len(theta))
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
        return np.clip(theta + step, low, high) - theta

    def _searched(self, theta: Array, value: float, slope: Array, step: Array) -> tuple[Array, float, Array] | None:
        """Shorten a step until it reduces the objective. Return the step, and the objective and gradient at its end.

        Return None if the objective is still not reduced after the largest number of shortenings.
        """
        for _ in range(_MOST_HALVINGS):
            new, new_slope = self.evaluated(theta + step)
            expected = float(slope @ step)
            if new <= value + 1e-4 * expected:
                return step, new, new_slope
            # Shorten the step to the minimum of a parabola. The parabola equals the objective at both ends of the step,
            # and has the slope of the objective at `theta`. The step is multiplied by a factor from 0.1 to 0.5; the
            # factor is 0.1 if the objective is infinite at the end of the step.
            step = step * float(np.clip(-0.5 * expected / (new - value - expected), 0.1, 0.5))
        return None


def _updated(curvature: Array, step: Array, change: Array) -> Array:
    """Return the approximate Hessian after a BFGS update, damped so that the matrix stays positive definite."""
    along = curvature @ step
    expected, actual = float(step @ along), float(step @ change)
    if actual < 0.2 * expected:
        share = 0.8 * expected / (expected - actual)
        change = share * change + (1.0 - share) * along
    return curvature + np.outer(change, change) / float(step @ change) - np.outer(along, along) / expected


def learn_widths(
    sample: WidthsSample,
    parameters: SvmParameters,
    near: Sequence[tuple[Iterable[float], float]] = (),
    *,
    progress: Progress = NO_PROGRESS,
) -> SelectedWidths:
    """Learn the widths σ_t, and C if it is not given, on the rows of a sample.

    Parameters
    ----------
    sample : WidthsSample
        Rows of at least two classes.
    parameters : SvmParameters
        Criterion, C, starts and seed are used.
    near : sequence of (widths, C)
        Solutions of similar problems, from which descents start. If there are any, at most one descent starts from the
        grid, at its best point.
    progress : Progress
        Receives a `WidthsStep` at every iteration.

    Raises
    ------
    ValueError
        If the criterion is unknown, or is not finite at any starting point.
    """
    steady = MonotonicProgress(progress)
    objective = Objective(sample, parameters, steady.pulse)
    # Fraction of the time that is spent on the grid of starting points. It decreases as the sample grows, because the
    # grid is always evaluated on few rows.
    searched = 1.0 / (1.0 + (len(sample.codes) / 450) ** 1.5) if parameters.starts else 0.0
    origins, rest = _origins(objective, near, steady.part(0.0, searched)), steady.part(searched, 1.0)
    starts: list[_Start] = [(number, origin, origin, None) for number, origin in enumerate(origins)]
    sizes = [len(sample.codes)]
    while sizes[0] >= 2 * _PART_ROWS:
        sizes.insert(0, sizes[0] // 2)
    *smaller, (_, rest) = rest.each(sizes)
    for size, share in smaller:
        starts = _descended(objective.on_part(size), starts, MonotonicProgress(share))
    history: list[WidthsStep] = []
    for (number, origin, begin, curvature), share in rest.each(starts):
        objective.starts.clear()
        _Descent(objective, number, origin, share, history).run(begin, curvature)
    if not history and near:
        return learn_widths(sample, parameters, progress=steady)
    if not history:
        remedy = "give C or the widths, or learn on fewer rows"
        if parameters.C is not None:
            remedy = "reduce C, choose the criterion press, or give the widths"
        raise ValueError(
            f"the {objective.criterion} criterion is not finite at any starting point on these {len(sample.rows)} rows "
            f"because the SVM did not converge; {remedy}"
        )
    best = best_step(history)
    C = best.C if parameters.C is None else parameters.C
    return SelectedWidths(np.array(best.widths), C, tuple(history), ChosenBy(objective.criterion))


# Start of a descent: its index, the centre of the prior and of the bounds, the initial θ, and a Hessian or None.
_Start = tuple[int, Array, Array, Array | None]


def _descended(part: Objective, starts: list[_Start], progress: MonotonicProgress) -> list[_Start]:
    """Descend from every starting point on a subset of the rows, which is faster, and return the best end point.

    The best end point is the only starting point of the descent on all rows. If the criterion is not finite at any
    starting point on the subset, all starting points are returned unchanged.
    """
    ends = []
    for done, (number, origin, begin, curvature) in enumerate(starts):
        stage = Stage(f"learning widths on {count(len(part.sample.codes))} rows", done, len(starts))
        progress.report(done / len(starts), stage)
        history: list[WidthsStep] = []
        part.starts.clear()
        end = _Descent(part, number, origin, progress.pulse, history, _FINER).run(begin, curvature)
        if history:
            ends.append((history[-1].objective, (number, origin, *end)))
    return [min(ends, key=lambda end: end[0])[1]] if ends else starts


def _origins(objective: Objective, near: Sequence[tuple[Iterable[float], float]], progress: Progress) -> list[Array]:
    """Return the starting points: first the solutions `near` of similar problems, then the best points of a grid.

    The grid contains all combinations of a scale of the median widths and a value of C. It is evaluated on a few
    hundred rows. If solutions of similar problems are given, at most one point of the grid is used. This point is a
    safeguard, because starting only from such solutions may lead to a poor local optimum.
    """
    given, medians = objective.parameters.C, objective.sample.medians
    size = len(medians) + (given is None)
    origins = [np.log([*widths, C])[:size] for widths, C in near]
    n_starts = min(1, objective.parameters.starts) if origins else max(1, objective.parameters.starts)
    if n_starts == 0:
        return origins
    small = objective.on_part(_START_ROWS)
    points = [(scale, C) for scale in _SCALES for C in (_START_CS if given is None else (given,))]
    evaluated = []
    for number, (scale, C) in enumerate(points):
        stage = Stage(f"evaluating starting points for {objective.criterion}", number, len(points))
        progress.report(number / len(points), stage)
        theta = np.append(np.log(widths_from(medians, scale * len(medians))), np.log(C))[:size]
        small.starts.clear()
        value, _ = small(theta)
        if np.isfinite(value):
            evaluated.append((value, theta))
    evaluated.sort(key=lambda entry: entry[0])
    return [*origins, *(theta for _, theta in evaluated[:n_starts])]
