"""One linear denoiser (LIDE): the closed form over all corruptions, and its explicit finite-m counterpart.

Rows of a data matrix are samples. A feature survives the corruption with probability p = 1 − noise;
the constant feature that carries the bias always survives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import WHOLE, inverse_symmetric
from slide_gui.core.errors import check_noise, check_ridge
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

_SINGULAR = "E[Q] is singular: some features are exact combinations of others; use a ridge above 0"
_SHORT_SUM = 4096  # rows over which a float32 sum of products may run
_LITTLE_NOISE = 0.01  # p − p² below which the difference from the identity is lost in an inverse; solved directly


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
        Return only these rows of W: one factorisation and k right-hand sides.
    progress : Progress
        The cancel point of a large solve.

    Returns
    -------
    ndarray of shape (d, d + 1) or (k, d + 1)
        Row a reconstructs feature a; the last column is the bias. The row and column of a feature
        that is zero in every sample are zero.

    Raises
    ------
    ValueError
        If the noise or the ridge is out of range, or E[Q] is singular.
    """
    noise, ridge = check_noise(noise), check_ridge(ridge)
    expected = expected_q(scatter, noise, ridge)
    d, p = len(scatter) - 1, 1.0 - noise
    if d <= WHOLE and (features is not None or p * noise < _LITTLE_NOISE):
        targets: NDArray[Any] = np.arange(d) if features is None else features
        return _solve(expected, scatter[targets] * survival(noise, d))
    # Rows of E[P] are those of E[Q] without its diagonal's extra, over p: hence W from the inverse alone,
    # W = (I − diag(g) E[Q]⁻¹) / p with g = (p − p²) diag(S) + ridge.
    progress.report(0.0)
    try:
        weights = inverse_symmetric(expected, progress)[:-1]
    except np.linalg.LinAlgError:
        raise ValueError(_SINGULAR) from None
    weights *= -((p * noise * np.diag(scatter)[:-1] + ridge) / p)[:, None]
    weights[np.arange(d), np.arange(d)] += 1.0 / p
    dead = np.diag(scatter)[:-1] == 0
    weights[dead] = 0.0
    return weights if features is None else weights[features]


def _solve(q: Array, p: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(q, p.T).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(_SINGULAR) from None


def reconstruction_error(scatter: Array, weights: Array, noise: float, ridge: float = RIDGE) -> float:
    """Return the expected squared reconstruction error per feature and sample, over all corruptions.

    It is E‖x − W x̃‖² / d averaged over the samples (eq. 5 in the limit), for the W that
    `denoiser_weights` returns for the same scatter, noise and ridge. For that W, W E[Q] = E[P] − ridge·W,
    so no further matrix product is needed.
    """
    d, n = len(weights), float(scatter[-1, -1])
    with_p = (1.0 - noise) * np.einsum("ij,ij->", weights[:, :-1], scatter[:-1, :-1])
    with_p += np.vdot(weights[:, -1], scatter[:-1, -1])
    total = np.trace(scatter[:-1, :-1]) - with_p - ridge * np.einsum("ij,ij->", weights, weights)
    return max(float(total) / (d * n), 0.0)


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
            kept = random.random((n, d), dtype=np.float32) >= np.float32(self.noise)
            np.multiply(self._clean[:, :d], kept, out=self._corrupted[:, :d])
            q = np.zeros_like(self._q)
            for start in range(0, n, _SHORT_SUM):
                block = self._corrupted[start : start + _SHORT_SUM]
                q += block.T @ block
                progress.report(done / copies)
            self._q += q
            self._survived += kept
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
        return _solve(self._q / self.copies + self.ridge * np.eye(d + 1), p)
