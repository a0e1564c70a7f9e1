"""Demonstrate two properties of the closed form for the weights W (eq. 8 of the paper).

First, the weights W_m, fitted to m corrupted copies of the data (eq. 5 to 7), converge to W. The error of W_m decreases
in proportion to m^−½. Second, the positions of the pixels do not affect the closed form. If W is fitted to images with
shuffled pixels, only the order of its rows and columns changes.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import WHOLE
from slide_gui.core.slide.denoiser import CorruptedCopies, layer_weights
from slide_gui.core.slide.stack import Stack, fit_stack
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.progress import NO_PROGRESS, Progress

MOST_COPIES = 1024
# Maximum number of rows from which weights are computed. If there are more rows, a fixed random sample is used.
MOST_ROWS = 1200

_ROUNDING = 1e-6
# Smallest number m of corrupted copies for which the errors of W_m are used to fit curves. With fewer copies, the
# errors are irregular, because a rarely lit pixel may be 0 in all copies.
_SETTLED = 8


@dataclass(frozen=True, eq=False)
class CopiesPoint:
    """The weights W_m fitted to m corrupted copies of the data, and their errors, for one value of m.

    Attributes
    ----------
    copies : int
        Number of corrupted copies, m.
    errors : ndarray of shape (s,)
        Relative error ‖W_m − W‖ / ‖W‖ (Frobenius norm, biases included) for each of the s seeds computed so far.
    row_errors : ndarray of shape (s, d)
        Relative error of each row of W_m, for each seed. NaN if all weights in the corresponding row of W are 0.
    weights : ndarray of shape (d, d + 1), float32
        The weights W_m for the first seed.
    """

    copies: int
    errors: NDArray[np.float64]
    row_errors: NDArray[np.float64]
    weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Copies:
    """The errors of the weights W_m, which converge to the weights W of the closed form as m increases.

    Attributes
    ----------
    noise : float
        Noise level of the corruption.
    layer : int
        Number of the layer, counted from 1.
    limit : ndarray of shape (d, d + 1)
        The limit W of the weights W_m, computed from the same rows of the data by the closed form (eq. 8).
    n_rows, n_all : int
        Number of rows from which W_m and W are computed, and total number of rows in the data.
    seeds : int
        Number of random seeds (0, 1, …) of the corruption over which errors are averaged.
    points : tuple of CopiesPoint
        Results that have been computed so far, for m = 1, 2, 4, …
    """

    noise: float
    layer: int
    limit: NDArray[np.float64]
    n_rows: int
    n_all: int
    seeds: int
    points: tuple[CopiesPoint, ...] = ()

    def finished(self) -> Self:
        """Return a copy of this object that contains only those values of m for which all seeds have been computed."""
        return replace(self, points=tuple(point for point in self.points if point.errors.size == self.seeds))

    def curve(self, feature: int | None = None) -> list[tuple[int, float, float, float]]:
        """Return a tuple for each m: the number m, and the geometric mean, minimum and maximum error over the seeds.

        The errors are those of the whole matrix W_m or, if `feature` is given, of the row of W_m that reconstructs this
        feature. Values of m are left out if an error is undefined, or so small that it may be a rounding error.
        """
        lines = []
        for point in self.points:
            errors = point.errors if feature is None else point.row_errors[:, feature]
            if errors.size and np.isfinite(errors).all() and (errors > _ROUNDING).all():
                mean = float(np.exp(np.log(errors).mean()))
                lines.append((point.copies, mean, float(errors.min()), float(errors.max())))
        return lines

    def slope(self, feature: int | None = None) -> float | None:
        """Return the exponent b of the power law error ∝ m^b, fitted to the mean errors for m ≥ 8 by least squares.

        Return None if mean errors are available for fewer than three values of m ≥ 8.
        """
        curve = [(m, mean) for m, mean, _, _ in self.curve(feature) if m >= _SETTLED]
        if len(curve) < 3:
            return None
        x, y = np.log([m for m, _ in curve]), np.log([mean for _, mean in curve])
        x = x - x.mean()
        return float(x @ y / (x @ x))

    def reference(self, feature: int | None = None) -> float | None:
        """Return the constant c of the curve c/√m that is fitted to the mean errors.

        The curve is fitted to the mean errors for m ≥ 8. With fewer corrupted copies, a rarely lit pixel may be 0 in
        all copies. If there are no errors for m ≥ 8 yet, the curve is fitted to all mean errors. Return None if there
        are none.
        """
        curve = self.curve(feature)
        curve = [each for each in curve if each[0] >= _SETTLED] or curve
        if not curve:
            return None
        return float(np.exp(np.mean([np.log(mean) + 0.5 * np.log(m) for m, mean, _, _ in curve])))


@dataclass(frozen=True, eq=False)
class CopiesResult:
    """The content of the figure on corrupted copies: the fitted model, the errors of W_m, and a row of W_m to display.

    Attributes
    ----------
    model : FittedModel
        The fitted model.
    copies : Copies
        The errors of W_m for several values of m.
    feature : int
        Index of the feature that the displayed row of weights reconstructs.
    shown : int
        The value of m for the displayed row of W_m. An element of `copies.points` has this value.
    """

    model: FittedModel
    copies: Copies
    feature: int
    shown: int

    @property
    def point(self) -> CopiesPoint:
        """The element of `copies.points` for the number `shown` of corrupted copies."""
        return next(point for point in self.copies.points if point.copies == self.shown)


class CopiesStudy:
    """Computes the weights W_m for m = 1, 2, 4, … corrupted copies of the data, and the errors of W_m.

    The method `run` returns the results as an object of the class `Copies`. If `run` is cancelled, its results so far
    are kept, and the next call of `run` continues from them.

    Parameters
    ----------
    stack : Stack
        Stack that provides the noise level, the ridge and the layers below `layer`.
    layer : int
        Layer whose weights W_m are computed, from 1 to the depth of the stack.
    seeds : int
        Number of random seeds of the corruption over which errors are averaged.
    most : int
        Largest number m of corrupted copies for which weights are computed.
    most_rows : int
        Maximum number of rows to use. If the data have more rows, a random sample is drawn with a fixed seed.

    Raises
    ------
    ValueError
        If the data have too many features.
    """

    def __init__(
        self,
        stack: Stack,
        rows: NDArray[Any],
        layer: int = 1,
        *,
        seeds: int = 3,
        most: int = MOST_COPIES,
        most_rows: int = MOST_ROWS,
    ) -> None:
        if stack.n_features > WHOLE:
            raise ValueError(f"cannot fit W to copies with {stack.n_features} features; use data with {WHOLE} or fewer")
        self._stack, self._rows, self._layer = stack, rows, layer
        self._seeds, self._most, self._most_rows = seeds, most, most_rows
        self._copies: list[CorruptedCopies] = []
        self._result: Copies | None = None

    def run(self, progress: Progress = NO_PROGRESS) -> Copies:
        """Return the results for all values of m. Report the available results to `progress` after each matrix W_m."""
        result = self._result or self._prepared(progress)
        counts = [2**k for k in range(self._most.bit_length())]
        for m in counts:
            for seed, copies in enumerate(self._copies):
                if copies.copies > m or any(p.copies == m and p.errors.size > seed for p in result.points):
                    continue
                done = sum(each.copies for each in self._copies) / (self._seeds * counts[-1])
                after = done + (m - copies.copies) / (self._seeds * counts[-1])
                copies.add(m - copies.copies, progress.part(done, after))
                self._result = result = _with_weights(result, m, copies.weights())
                progress.report(after, result)
        return result

    def _prepared(self, progress: Progress) -> Copies:
        """Select rows, compute their representation in the layer below `layer`, and compute W in closed form."""
        n, p = len(self._rows), self._stack.parameters
        chosen = np.arange(n)
        if n > self._most_rows:
            chosen = np.sort(np.random.default_rng(0).choice(n, self._most_rows, replace=False))
        below = replace(self._stack, layers=self._stack.layers[: self._layer - 1])
        values = below.representations(self._rows[chosen], progress=progress.part(0.0, 0.0))[-1]
        if p.fit_on == "thresholded":
            values = p.squash(values)
        values = np.ascontiguousarray(values, p.sums)
        clean = np.column_stack([values.astype(np.float64), np.ones(len(values))])
        windows = self._stack.windows
        limit, _ = layer_weights(clean.T @ clean, p.noise, p.ridge, windows, progress.part(0.0, 0.0))
        if not limit.any():
            raise ValueError(f"all inputs and weights of layer {self._layer} are 0; use other data or another layer")
        self._copies = [CorruptedCopies(values, p.noise, p.ridge, seed, windows) for seed in range(self._seeds)]
        self._result = Copies(p.noise, self._layer, limit, len(chosen), n, self._seeds)
        return self._result


def _with_weights(study: Copies, m: int, weights: NDArray[np.float64]) -> Copies:
    """Return a copy of `study` to which the errors of `weights`, the matrix W_m for the next seed, are added."""
    limit, points = study.limit, study.points
    away, size = np.linalg.norm(weights - limit, axis=1), np.linalg.norm(limit, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = away / size
    error = float(np.linalg.norm(away) / np.linalg.norm(size))
    if points and points[-1].copies == m:
        last = points[-1]
        errors, row_errors = np.append(last.errors, error), np.vstack([last.row_errors, rows])
        point = replace(last, errors=errors, row_errors=row_errors)
        points = points[:-1]
    else:
        point = CopiesPoint(m, np.array([error]), rows[None], weights.astype(np.float32))
    return replace(study, points=(*points, point))


@dataclass(frozen=True, eq=False)
class ShuffledFit:
    """A stack fitted to the original rows, and a stack fitted to the same rows with shuffled pixels.

    Attributes
    ----------
    stack : Stack
        Stack fitted to the original rows.
    shuffled : Stack
        Stack fitted to the rows with shuffled pixels.
    differences : tuple of float
        Largest absolute difference between the weights and biases of the two stacks, for each layer. For the
        comparison, the weights of `shuffled` are put back into the original order of the pixels.
    largest : tuple of float
        Largest absolute value among the weights and biases of `stack`, for each layer.
    """

    stack: Stack
    shuffled: Stack
    differences: tuple[float, ...]
    largest: tuple[float, ...]


def shuffling(n_features: int, seed: int) -> NDArray[np.int64]:
    """Return a random permutation of shape (d,). Element i is the index of the pixel that is moved to position i."""
    return np.random.default_rng(seed).permutation(n_features)


def unshuffled(weights: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights for shuffled pixels, with their rows and columns put back into the original order of the pixels.

    Parameters
    ----------
    weights : ndarray of shape (d, d + 1)
        Weights that were fitted to rows with shuffled pixels. The last column contains the biases.
    order : ndarray of shape (d,)
        Result of `shuffling`.
    """
    back = np.argsort(order)
    return weights[back][:, np.append(back, len(order))]


def fit_shuffled(
    rows: NDArray[Any], stack: Stack, order: NDArray[np.int64], *, progress: Progress = NO_PROGRESS
) -> ShuffledFit:
    """Fit a stack with the parameters of `stack` to rows with shuffled pixels, and compare the weights of both stacks.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows that `stack` was fitted to.
    order : ndarray of shape (d,)
        Result of `shuffling`.
    """
    shape = stack.image_shape
    shuffled = fit_stack(np.take(rows, order, axis=1), stack.parameters, image_shape=shape, progress=progress)
    pairs = list(zip(stack.layers, shuffled.layers, strict=True))
    return ShuffledFit(
        stack,
        shuffled,
        tuple(float(np.abs(unshuffled(there.weights, order) - here.weights).max()) for here, there in pairs),
        tuple(float(np.abs(here.weights).max()) for here, _ in pairs),
    )
