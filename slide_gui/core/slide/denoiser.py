"""One linear denoiser (LIDE): the closed form over all corruptions, and its explicit finite-m counterpart.

Rows of a data matrix are samples. A feature survives the corruption with probability p = 1 − noise;
the constant feature that carries the bias always survives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import factor_square, inverse_factor, leading_digits, product
from slide_gui.core.validation import check_noise, check_ridge
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "RIDGE",
    "CorruptedCopies",
    "denoiser_weights",
    "expected_q",
    "reconstruction_error",
    "survival",
]

Array = NDArray[np.float64]

RIDGE = 1e-5
"""Added to the diagonal of E[Q], on the unnormalised scatter and the bias entry too (the paper's Algorithm 1)."""

_SINGULAR = (
    "E[Q] is singular to working precision, for some features are combinations of others: "
    "use a larger ridge, more noise, or dtype float64 if the rows were summed in float32"
)

_SHORT_SUM = 4096  # rows over which a float32 sum of products may run

_FEW = 32  # rows of W in which rounding is looked for
_RIGHT = 1e-9  # correction, relative to its row, at which no other is made
_NEGLIGIBLE = 1e-10  # the next correction to be expected, relative to its row, at which it is not made
_MOST_CORRECTIONS = 8
_BLOCK = 256  # rows corrected at a time
_ROUNDING = 1e-6  # what the scatter of float32 rows may be off by, relative; below it an error's sign says nothing


def _singular(squares: Array) -> str:
    """Return why E[Q] is singular, from Σ x² of each feature."""
    dead = np.flatnonzero(squares == 0.0)
    if not dead.size:
        return _SINGULAR
    some = f"features that are 0 in every row ({dead.size} of them, the first is feature {dead[0]})"
    return f"E[Q] is singular, as {some} need a ridge above 0: use the default of {RIDGE:g}, or leave them out"


def survival(noise: float, n_features: int) -> Array:
    """Return q = [p, …, p, 1], the survival probabilities of d features and the bias (§3, Virtual Denoising)."""
    q = np.full(n_features + 1, 1.0 - noise)
    q[-1] = 1.0
    return q


def expected_q(scatter: Array, noise: float, ridge: float = RIDGE) -> Array:
    """Return E[Q] + ridge·I of the paper's eq. 10.

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        S = X̃ᵀX̃ of the uncorrupted rows with a constant 1 appended, not divided by n.
    noise : float
        Probability 1 − p that a feature is blanked.
    ridge : float
        Added to the diagonal.
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
    """Return W = E[P] (E[Q] + ridge·I)⁻¹, the limit of infinitely many corrupted copies (eq. 8).

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        S = X̃ᵀX̃, float64.
    noise : float
        Probability 1 − p that a feature is blanked, in [0, 1).
    ridge : float
        Added to the diagonal of E[Q].
    features : ndarray of shape (k,), optional
        Return only these rows of W.
    progress : Progress
        The cancel point of a large solve.

    Returns
    -------
    ndarray of shape (d, d + 1) or (k, d + 1)
        Row a reconstructs feature a; the last column is the bias. The row and column of a feature
        that is zero in every sample are zero. Each row is right to 1e-8 of its length, for any number of features and
        any noise: as exact arithmetic would solve for the E[P] and E[Q] of the given scatter.

    Raises
    ------
    ValueError
        If the noise or the ridge is out of range, or E[Q] is singular to working precision.
    """
    noise, ridge = check_noise(noise), check_ridge(ridge)
    d, p = len(scatter) - 1, 1.0 - noise
    rows: NDArray[np.intp] = np.arange(d) if features is None else np.asarray(features, dtype=np.intp)
    q = expected_q(scatter, noise, ridge)
    progress.report(0.0)
    try:
        factor = inverse_factor(q, progress)
    except np.linalg.LinAlgError:
        raise ValueError(_singular(np.diag(scatter)[:-1])) from None
    # Rows of E[P] are those of E[Q] without its diagonal's extra, over p: hence W from the inverse alone,
    # W = (I − diag(g) E[Q]⁻¹) / p with g = (p − p²) diag(S) + ridge.
    inverse = factor_square(factor, np.empty_like(q), progress) if features is None else factor[:, rows].T @ factor
    weights = inverse[: len(rows)]
    diagonal = np.diag(scatter)[rows]
    weights *= -((p * noise * diagonal + ridge) / p)[:, None]
    weights[np.arange(len(rows)), rows] += 1.0 / p
    weights[diagonal == 0] = 0.0
    _refine(weights, rows, scatter, noise, q, factor, progress)
    return weights


def _refine(
    weights: Array, rows: NDArray[np.intp], scatter: Array, noise: float, q: Array, factor: Array, progress: Progress
) -> None:
    """Correct rows of W in place until each is right to 1e-9 of its length or so.

    A correction is (E[P] − W E[Q]) MᵀM with the inverse MᵀM of E[Q]. That of a few rows, their residual made of plain
    products, shows what rounding did to W. Where it is too much, as with hardly any noise, every row is corrected, with
    residuals as good as exact, until the next correction would be too small to matter.

    Raises
    ------
    ValueError
        If the corrections do not grow small.
    """
    survives = survival(noise, len(scatter) - 1)

    def correct(block: NDArray[np.intp], residual: Array) -> float:
        """Correct some rows, and return the largest correction, relative to its row."""
        change = product(product(residual, factor.T, progress), factor, progress)
        weights[block] += change
        length = np.maximum(np.linalg.norm(weights[block], axis=1), np.finfo(float).tiny)
        return float((np.linalg.norm(change, axis=1) / length).max(initial=0.0))

    lit = np.flatnonzero(np.diag(scatter)[rows])
    few = lit[np.linspace(0, len(lit) - 1, min(len(lit), _FEW)).astype(np.intp)]
    if correct(few, scatter[rows[few]] * survives - product(weights[few], q, progress)) <= _RIGHT:
        return
    leading, rest = np.empty_like(q), np.empty_like(q)  # of E[Q]'s columns, as rows
    for start in range(0, len(q), _BLOCK):
        columns = slice(start, start + _BLOCK)
        leading[columns] = leading_digits(q[columns], len(q))
        np.subtract(q[columns], leading[columns], out=rest[columns])
        progress.report(0.0)
    for start in range(0, len(lit), _BLOCK):
        block = lit[start : start + _BLOCK]
        right = scatter[rows[block]] * survives
        before = 0.01  # what the first solve is taken to have left, rather more than it did
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


def reconstruction_error(scatter: Array, weights: Array, noise: float, ridge: float = RIDGE) -> float:
    """Return the expected squared reconstruction error per feature and sample, over all corruptions.

    It is E‖x − W x̃‖² / d averaged over the samples (eq. 5 in the limit), for the W that `denoiser_weights` returns for
    the same scatter, noise and ridge. Its row a is (e_a − g_a E[Q]⁻¹_a) / p, with g as there, so that the error of
    feature a is g_a W_aa / p − ridge ‖W_a‖²: no large terms cancel, and d² operations suffice.

    Raises
    ------
    ValueError
        If the error comes out clearly negative: the weights are not those of this scatter, noise and ridge.
    """
    d, n, p = len(weights), float(scatter[-1, -1]), 1.0 - noise
    gain = noise * np.diag(scatter)[:-1] + ridge / p
    squares = np.einsum("ij,ij->i", weights, weights)
    total = float(gain @ np.diag(weights) - ridge * squares.sum())
    # What is off in a row, of the scatter or of W, is a share of the whole row, which its diagonal may be a small part
    # of: where features hardly vary, the bias reconstructs them.
    if total < -_ROUNDING * float(gain @ np.sqrt(squares)):
        raise ValueError(
            f"the reconstruction error comes out as {total / (d * n):.2g}, below 0: these are not the weights "
            f"of this scatter at noise {noise:g} and ridge {ridge:g}; fit them again"
        )
    return max(total / (d * n), 0.0)


@dataclass
class CorruptedCopies:
    """The paper's finite-m denoiser: m copies of the data, each really corrupted (eq. 5 to 7).

    `add` corrupts and accumulates more copies, so that one sees W_m approach the closed form as m grows,
    at the rate m^−½. The copies depend on the seed and their number alone: an `add` that was cancelled can be
    made again and gives the same.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The uncorrupted samples. Products of float32 rows are made in float32, over at most 4096 rows at a time,
        and summed in float64; all others are float64.
    noise : float
        Probability 1 − p that a feature is blanked.
    ridge : float
        Added to the diagonal of Q, so that the limit is exactly `denoiser_weights`.
    random_state : int
        Seed of the corruption.
    """

    rows: NDArray[Any]
    noise: float
    ridge: float = RIDGE
    random_state: int = 0

    def __post_init__(self) -> None:
        self.noise, self.ridge = check_noise(self.noise), check_ridge(self.ridge)
        n, d = self.rows.shape
        self.copies = 0
        self._dtype = np.dtype(np.float32 if self.rows.dtype == np.float32 else np.float64)
        self._clean = np.column_stack([self.rows.astype(self._dtype, copy=False), np.ones(n, self._dtype)])
        self._corrupted = self._clean.copy()
        self._survived = np.zeros((n, d), np.float32)  # in how many copies; exact up to 2²⁴
        self._q = np.zeros((d + 1, d + 1))

    def add(self, copies: int = 1, progress: Progress = NO_PROGRESS) -> None:
        """Corrupt `copies` more copies of the rows and add them to Q and P (eq. 6)."""
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
        """Return W_m = P (Q + ridge·I)⁻¹ of shape (d, d + 1) from the copies so far (eq. 7).

        Raises
        ------
        ValueError
            If no copy was added yet.
        """
        if self.copies == 0:
            raise ValueError("no corrupted copy yet: call add() first")
        d = len(self._q) - 1
        clean = self._clean.astype(np.float64, copy=False)
        p = np.empty((d, d + 1))
        np.matmul(clean[:, :d].T, clean[:, :d] * (self._survived / self.copies), out=p[:, :d])
        p[:, d] = clean[:, :d].sum(axis=0)
        try:
            return np.asarray(np.linalg.solve(self._q / self.copies + self.ridge * np.eye(d + 1), p.T).T)
        except np.linalg.LinAlgError:
            raise ValueError(_singular(np.diag(self._q)[:-1])) from None
