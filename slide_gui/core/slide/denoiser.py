"""One linear denoiser (LIDE): its weights in closed form, and its weights fitted to m corrupted copies of the rows.

Rows of a data matrix are samples. Corruption keeps each feature with probability p = 1 − noise and sets it to 0
otherwise. The constant feature 1, whose weight is the bias, is never corrupted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import factor_square, factor_steps, inverse_factor, leading_digits, product, tiles
from slide_gui.core.slide.sharing import Windows
from slide_gui.core.validation import check_noise, check_ridge
from slide_gui.progress import NO_PROGRESS, Progress

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Default value added to every diagonal entry of E[Q] (see `expected_q`). E[Q] is not divided by n (Algorithm 1).
RIDGE = 1e-5

# Lowest noise level at which `approximate_weights` is accurate.
LEAST_NOISE = 0.01

_SINGULAR = (
    "E[Q] is singular to working precision because some features are linear combinations of others: "
    "use a larger ridge, a higher noise level, or dtype float64 if the rows were summed in float32"
)

_SHORT_SUM = 4096  # largest number of rows whose products are summed in float32

_FEW = 32  # number of rows of the weights W to correct first, in order to measure the rounding error
_ACCURATE = 1e-9  # largest relative correction of the first rows at which no further rows are corrected
_NEGLIGIBLE = 1e-10  # expected relative size of the next correction below which a row of W is no longer corrected
_MOST_CORRECTIONS = 8
_BLOCK = 256  # number of rows of W that are corrected at a time
_LARGE_RIDGE = 1e8  # largest ratio of the ridge to p² · mean Σ x² at which rounding errors of W_aa are negligible
_ROUNDING = 1e-4  # relative size up to which a negative error counts as rounding error; float32 gives up to 3e-5


def _singular(squares: Array) -> str:
    """Return the error message for a singular matrix E[Q]. `squares` is the sum Σ x² of each feature."""
    dead = np.flatnonzero(squares == 0.0)
    if not dead.size:
        return _SINGULAR
    some = f"feature {dead[0]} is 0 in every row (number of such features: {dead.size})"
    return f"E[Q] is singular because {some}: use a ridge above 0, such as {RIDGE:g}, or remove such features"


def survival(noise: float, n_features: int) -> Array:
    """Return q = [p, …, p, 1], the keep probabilities of d features and the bias (§3, Virtual Denoising)."""
    q = np.full(n_features + 1, 1.0 - noise)
    q[-1] = 1.0
    return q


def expected_q(scatter: Array, noise: float, ridge: float = RIDGE) -> Array:
    """Return E[Q] + ridge·I, where E[Q] is the expected scatter matrix of the corrupted rows (eq. 10 of the paper).

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        Scatter S = X̃ᵀX̃ of the uncorrupted rows with a constant 1 appended, not divided by n.
    noise : float
        Noise level 1 − p: the probability that a feature is set to 0.
    ridge : float
        Value added to the diagonal of E[Q].
    """
    p = 1.0 - noise
    expected = scatter * (p * p)
    expected[-1] = scatter[-1] * p
    expected[:, -1] = scatter[:, -1] * p
    np.fill_diagonal(expected, np.diag(scatter) * survival(noise, len(scatter) - 1) + ridge)
    return expected


def denoiser_weights(
    scatter: Array,
    noise: float,
    ridge: float = RIDGE,
    features: NDArray[np.intp] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Array:
    """Return the weights W = E[P] (E[Q] + ridge·I)⁻¹ in the limit of infinitely many corrupted copies (eq. 8).

    E[P] and E[Q] are the expected matrices of eq. 10.

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        Scatter matrix S = X̃ᵀX̃ of the uncorrupted rows with a constant 1 appended, float64.
    noise : float
        Noise level 1 − p: the probability that a feature is set to 0, in [0, 1).
    ridge : float
        Value added to the diagonal of E[Q].
    features : ndarray of shape (k,), optional
        Indices of the rows of W to return. By default all are returned.
    progress : Progress
        Raises `Cancelled` to stop a long computation.

    Returns
    -------
    ndarray of shape (d, d + 1) or (k, d + 1)
        Row a reconstructs feature a, and the last column is the bias. If a feature is 0 in every sample, its row and
        its column of W are 0. For noise levels of 1e-4 or more and ridges of 1e-5 or more, the numerical error of a row
        is at most 1e-8 of its norm, whatever d is. At lower noise levels, rounding errors in E[Q] can be larger if some
        features are linear combinations of other features.

    Raises
    ------
    ValueError
        If the noise level or the ridge is out of range, or if E[Q] is singular to working precision.
    """
    noise, ridge = check_noise(noise), check_ridge(ridge)
    d = len(scatter) - 1
    rows: NDArray[np.intp] = np.arange(d) if features is None else np.asarray(features, dtype=np.intp)
    q = expected_q(scatter, noise, ridge)
    progress.report(0.0)
    try:
        factor = inverse_factor(q, progress)
    except np.linalg.LinAlgError:
        raise ValueError(_singular(np.diag(scatter)[:-1])) from None
    inverse = factor_square(factor, np.empty_like(q), progress) if features is None else factor[:, rows].T @ factor
    weights = _from_inverse(inverse[: len(rows)], rows, np.diag(scatter)[rows], noise, ridge)
    _refine(weights, rows, scatter, noise, q, factor, progress)
    return weights


def _from_inverse(
    inverse: NDArray[Any], rows: NDArray[np.intp], diagonal: NDArray[np.floating], noise: float, ridge: float
) -> NDArray[Any]:
    """Overwrite the given rows of E[Q]⁻¹ with the corresponding rows of W = (I − diag(g) E[Q]⁻¹) / p.

    E[Q] includes the ridge. Let p be the keep probability, S the scatter matrix, and g = (p − p²) diag(S) + ridge. The
    formula then follows from E[P] = (E[Q] − diag(g))/p. W is therefore computed from the inverse of E[Q] without a
    further matrix product.
    """
    p = 1.0 - noise
    inverse *= -((p * noise * diagonal + ridge) / p)[:, None].astype(inverse.dtype)
    inverse[np.arange(len(rows)), rows] += 1.0 / p
    inverse[diagonal == 0] = 0.0
    return inverse


def approximate_weights(
    weights: Single, scatter: NDArray[np.floating], noise: float, ridge: float = RIDGE
) -> Iterator[None]:
    """Compute the weights W in float32, and write them to the array `weights` of shape (d, d + 1).

    Yield at each point where the caller may pause the computation. The weights approximate the result of
    `denoiser_weights`. E[Q] is scaled so that its diagonal is 1. At noise levels of `LEAST_NOISE` or more, the error of
    each row is then at most 1e-3 of its norm. The computation takes a third of the time that `denoiser_weights` takes.

    Raises
    ------
    numpy.linalg.LinAlgError
        If E[Q] is not positive definite in float32.
    """
    q = expected_q(scatter.astype(np.float32, copy=False), noise, ridge)
    if not np.diag(q).min() > 0.0:
        raise np.linalg.LinAlgError("a feature is 0 in every row, and the ridge is 0")
    scale = 1.0 / np.sqrt(np.diag(q))
    q *= scale[:, None]
    q *= scale
    factor = np.zeros_like(q)
    yield from factor_steps(q, factor)
    factor *= scale
    inverse = factor_square(factor, q)[:-1]
    yield
    weights[:] = _from_inverse(inverse, np.arange(len(weights)), np.diag(scatter)[:-1], noise, ridge)


def _refine(
    weights: Array, rows: NDArray[np.intp], scatter: Array, noise: float, q: Array, factor: Array, progress: Progress
) -> None:
    """Correct rows of the weights W in place until the rounding error of each row is about 1e-9 of its norm.

    The argument `q` is E[Q] with the ridge added to its diagonal, rounded to float64. The correction is (E[P] − W E[Q])
    MᵀM, where M is `factor` and MᵀM is the inverse of E[Q]. First, a few rows are corrected with residuals computed in
    float64, to measure the rounding error of W. This error is too large only at very low noise levels. In this case,
    residuals are computed almost exactly, and every row is corrected until further corrections are negligible.

    Raises
    ------
    ValueError
        If the corrections do not converge.
    """
    survives = survival(noise, len(scatter) - 1)

    def correct(block: NDArray[np.intp], residual: Array) -> float:
        """Correct the rows `block` of W. Return the largest norm of a correction, relative to the norm of its row."""
        change = product(product(residual, factor.T, progress), factor, progress)
        weights[block] += change
        length = np.maximum(np.linalg.norm(weights[block], axis=1), np.finfo(float).tiny)
        return float((np.linalg.norm(change, axis=1) / length).max(initial=0.0))

    lit = np.flatnonzero(np.diag(scatter)[rows])
    few = lit[np.linspace(0, len(lit) - 1, min(len(lit), _FEW)).astype(np.intp)]
    if correct(few, scatter[rows[few]] * survives - product(weights[few], q, progress)) <= _ACCURATE:
        return
    # The symmetric matrix E[Q] is split into leading + rest. The elements of `leading` have so few significant bits
    # that the product x_leading @ leading.T has no rounding error.
    leading, rest = np.empty_like(q), np.empty_like(q)
    for columns in tiles(len(q), _BLOCK, progress):
        leading[columns] = leading_digits(q[columns], len(q))
        np.subtract(q[columns], leading[columns], out=rest[columns])
    for start in range(0, len(lit), _BLOCK):
        block = lit[start : start + _BLOCK]
        right = scatter[rows[block]] * survives
        before = 0.01  # assumed largest relative error of the rows of W before the first correction
        for _ in range(_MOST_CORRECTIONS):
            x = weights[block]
            x_leading = leading_digits(x, len(q))
            small = product(x_leading, rest.T, progress) + product(x - x_leading, q, progress)
            size = correct(block, (right - product(x_leading, leading.T, progress)) - small)
            if size * size <= _NEGLIGIBLE * before:
                break
            before = size
        else:
            raise ValueError(_SINGULAR)


def reconstruction_error(
    scatter: Array, weights: Array, noise: float, ridge: float = RIDGE, features: NDArray[np.intp] | None = None
) -> float:
    """Return the expected squared reconstruction error per feature and sample, over all corruptions.

    The error is the mean of E‖x − W x̃‖² / d over the samples (eq. 5 for infinitely many corrupted copies). Here, x̃ is
    the corrupted sample with a constant 1 appended. W must be the result of `denoiser_weights` for the same scatter
    matrix, noise level and ridge. Row a of W is (e_a − g_a R_a) / p, where e_a is a unit vector, p the keep
    probability, S the scatter matrix, g = (p − p²) diag(S) + ridge and R = (E[Q] + ridge·I)⁻¹. Therefore the error of
    feature a, summed over the samples, is g_a W_aa / p − ridge ‖W_a‖². This formula avoids the subtraction of nearly
    equal numbers and takes only d² operations. If the ridge is much larger than the scatter, however, it would multiply
    rounding errors of W_aa by the ridge. In this case, the equivalent expression S_aa − W_a · E[P]_a − ridge ‖W_a‖² is
    computed instead.

    If `features` is given, `weights` must contain only the rows of these features. The result is then the mean error
    of these features.

    Raises
    ------
    ValueError
        If the error is clearly negative because the weights belong to another scatter matrix, noise level or ridge.
    """
    d, n, p = len(weights), float(scatter[-1, -1]), 1.0 - noise
    rows = slice(d) if features is None else features
    gain = noise * np.diag(scatter)[rows] + ridge / p
    squares = np.einsum("ij,ij->i", weights, weights)
    total = float(gain @ np.diag(weights[:, rows]) - ridge * squares.sum())
    trace = float(np.diag(scatter)[rows].sum())
    if ridge * d > _LARGE_RIDGE * p * p * trace:
        fitted = float(np.sum(weights * (scatter[rows] * survival(noise, len(scatter) - 1))))
        total = trace - fitted - ridge * float(squares.sum())
    # The limit is relative to the norms of the rows of W, because rounding errors are proportional to these norms. For
    # a feature that hardly varies, the bias and thus the norm are much larger than the diagonal entry of W.
    if total < -_ROUNDING * float(gain @ np.sqrt(squares)):
        raise ValueError(
            f"the reconstruction error is negative ({total / (d * n):.2g}): the weights were not fitted to this "
            f"scatter matrix with noise level {noise:g} and ridge {ridge:g}; fit them again"
        )
    return max(total / (d * n), 0.0)


def layer_weights(
    scatter: Array, noise: float, ridge: float, windows: Windows | None = None, progress: Progress = NO_PROGRESS
) -> tuple[Array, float]:
    """Return the weights W of a layer, of shape (d, d + 1), and the reconstruction error of the layer.

    If `windows` is given, all pixels share one kernel (see `slide_gui.core.slide.sharing`).

    Raises
    ------
    ValueError
        If the noise level or the ridge is out of range, or if E[Q] is singular to working precision.
    """
    features = None
    if windows is not None:
        scatter, features = windows.scatter(scatter), windows.centre
    weights = denoiser_weights(scatter, noise, ridge, features, progress)
    error = reconstruction_error(scatter, weights, noise, ridge, features)
    return weights if windows is None else windows.rows(weights), error


@dataclass
class CorruptedCopies:
    """The paper's denoiser, fitted to a finite number m of corrupted copies of the data (eq. 5 to 7).

    Each call of `add` creates more corrupted copies. As m grows, the weights W_m approach those of `denoiser_weights`
    at the rate m^−½. The corruption of copy number i depends only on the seed and on i. Therefore a call of `add` that
    was cancelled can be repeated with the same result.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The uncorrupted samples. Products of float32 rows are summed in float32 over at most 4096 rows, and these sums
        are added in float64. For all other data types, products are computed in float64.
    noise : float
        Noise level 1 − p: the probability that a feature is set to 0.
    ridge : float
        Value added to the diagonal of Q. As m grows, W_m approaches the result of `denoiser_weights` with this ridge.
    random_state : int
        Seed of the corruption.
    windows : Windows, optional
        Windows of a convolution. If given, one kernel for all pixels is fitted to the corrupted copies.
    """

    rows: NDArray[Any]
    noise: float
    ridge: float = RIDGE
    random_state: int = 0
    windows: Windows | None = None

    def __post_init__(self) -> None:
        self.noise, self.ridge = check_noise(self.noise), check_ridge(self.ridge)
        n, d = self.rows.shape
        self.copies = 0
        self._dtype = np.dtype(np.float32 if self.rows.dtype == np.float32 else np.float64)
        self._clean = np.column_stack([self.rows.astype(self._dtype, copy=False), np.ones(n, self._dtype)])
        self._corrupted = self._clean.copy()
        # Number of corrupted copies in which each value was kept. float32 can count up to 2²⁴ copies exactly.
        self._survived = np.zeros((n, d), np.float32)
        self._q = np.zeros((d + 1, d + 1))

    def add(self, copies: int = 1, progress: Progress = NO_PROGRESS) -> None:
        """Create `copies` more corrupted copies of the rows, and add their products to the sums Q and P (eq. 6)."""
        n, d = self.rows.shape
        for done in range(copies):
            random = np.random.default_rng([self.random_state, self.copies])
            survivors = random.random((n, d), dtype=np.float32) >= np.float32(self.noise)
            np.multiply(self._clean[:, :d], survivors, out=self._corrupted[:, :d])
            q = np.zeros_like(self._q)
            for start in range(0, n, _SHORT_SUM):
                block = self._corrupted[start : start + _SHORT_SUM]
                q += block.T @ block
                progress.report(done / copies)
            self._q += q
            self._survived += survivors
            self.copies += 1
        progress.report(1.0)

    def weights(self) -> Array:
        """Return the weights W_m = P (Q + ridge·I)⁻¹ of shape (d, d + 1) from all corrupted copies so far (eq. 7).

        Raises
        ------
        ValueError
            If `add` has not been called yet, or if Q is singular.
        """
        if self.copies == 0:
            raise ValueError("no corrupted copies have been created yet: call add() first")
        d = len(self._q) - 1
        clean = self._clean.astype(np.float64, copy=False)
        p = np.empty((d, d + 1))
        np.matmul(clean[:, :d].T, clean[:, :d] * (self._survived / self.copies), out=p[:, :d])
        p[:, d] = clean[:, :d].sum(axis=0)
        q = self._q / self.copies
        if self.windows is not None:
            q, p = self.windows.scatter(q), self.windows.scatter(np.vstack([p, q[-1]]))[self.windows.centre]
        try:
            weights = np.asarray(np.linalg.solve(q + self.ridge * np.eye(len(q)), p.T).T)
            return weights if self.windows is None else self.windows.rows(weights)
        except np.linalg.LinAlgError:
            raise ValueError(_singular(np.diag(self._q)[:-1])) from None
