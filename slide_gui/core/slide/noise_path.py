"""Compute the weights of one denoiser at any noise level without fitting the denoiser again.

Let Σ be the scatter matrix of the centred rows, and D the diagonal of the scatter matrix of the uncentred rows. Let s
be the sum of the n rows, and e_a a unit vector. After the bias b is eliminated, row a of the weights W at keep
probability p is

    W_a = (e_a − g_a y) / p,   b_a = g_a (y · s) / (n + ridge),   g_a = (p − p²) D_a + ridge,
    y = A(p)⁻¹ e_a,            A(p) = p² Σ + (p − p²) D + ridge·I.

Without the term ridge·I, one eigendecomposition of D^−½ Σ D^−½ would diagonalise A(p) for every p. The ridge is large
relative to D only for features that are almost always 0. A Schur complement eliminates these features. For all other
features, a short Neumann series corrects the result for the ridge.
"""

import numpy as np
from numpy.typing import NDArray

from slide_gui.blas import one_thread
from slide_gui.core.slide.denoiser import RIDGE, Array, denoiser_weights
from slide_gui.core.slide.sharing import Windows
from slide_gui.core.validation import check_noise, check_ridge

_X0 = 0.25  # largest value of p − p², reached at p = ½; only for p = ½ does the eigendecomposition use the entire ridge
_RARE = 1e5  # smallest ratio of an entry of D to the ridge at which the feature is not eliminated
_TOLERANCE = 1e-10  # relative tolerance of the Neumann series
_LARGEST_RATIO = 0.05  # largest ratio of successive terms of the Neumann series; above it, a direct solution is as fast


class NoisePath:
    """The weights of one denoiser as a function of the noise level (paper, §3, eq. 8 to 10).

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        Scatter S = X̃ᵀX̃ of the layer's input with a constant 1 appended to each row, not divided by n.
    ridge : float
        Value that the fit added to the diagonal of E[Q].
    windows : Windows, optional
        Windows of a convolution. If given, all pixels share one kernel.

    Attributes
    ----------
    n_features : int
        Number of features d.

    Raises
    ------
    ValueError
        If `scatter` is not a square matrix of finite numbers, or if the ridge is out of range.

    Examples
    --------
    `SLIDE.noise_path` returns the noise path of a fitted layer. This example computes one from the rows, and compares
    row 2 of its weights with a new fit:

    >>> import numpy as np
    >>> from slide_gui import SLIDE, NoisePath, Scatter
    >>> X = (np.random.default_rng(0).random((100, 6)) > 0.5).astype("float32")
    >>> path = NoisePath(Scatter.of(X).matrix)
    >>> refit = SLIDE(noise=0.8, depth=1).fit(X)
    >>> bool(np.allclose(path.rows([2], 0.8), refit.weights_[0][2]))
    True
    """

    def __init__(self, scatter: Array, ridge: float = RIDGE, windows: Windows | None = None) -> None:
        scatter = _checked(scatter)
        self.n_features, self._windows = len(scatter) - 1, windows
        if windows is not None:
            scatter = windows.scatter(scatter)
        self._scatter, self._ridge = scatter, check_ridge(ridge)
        diagonal = np.diag(scatter)[:-1]
        rare = diagonal < _RARE * max(self._ridge, np.finfo(float).tiny)
        self._common = np.flatnonzero(~rare)
        self._rare = np.flatnonzero(rare & (diagonal > 0))
        self._position = np.empty(len(diagonal), np.intp)  # index of each feature in `_common` or `_rare`
        self._position[self._common] = np.arange(self._common.size)
        self._position[self._rare] = np.arange(self._rare.size)

        sums = scatter[:-1, -1]
        sigma = scatter[:-1, :-1] - np.outer(sums, sums / (scatter[-1, -1] + self._ridge))
        self._scale = 1.0 / np.sqrt(diagonal[self._common] + self._ridge / _X0)
        within = sigma[np.ix_(self._common, self._common)] * np.outer(self._scale, self._scale)
        with one_thread():
            self._values, vectors = np.linalg.eigh((within + within.T) / 2)
        self._basis = self._scale[:, None] * vectors
        self._gram = self._basis.T @ self._basis
        self._across = self._basis.T @ sigma[np.ix_(self._common, self._rare)]
        self._sigma_rare = sigma[np.ix_(self._rare, self._rare)]
        self._smallest = float(diagonal[self._common].min()) if self._common.size else np.inf

    def weights(self, noise: float) -> Array:
        """Return the weights W at a noise level, of shape (d, d + 1), with the bias in the last column."""
        return self.rows(np.arange(self.n_features), noise)

    def rows(self, features: NDArray[np.intp], noise: float) -> Array:
        """Return the given rows of the weights W at a noise level.

        Up to rounding errors, these rows equal those of a new fit at this noise level with the same ridge.

        Parameters
        ----------
        features : array_like of int, shape (k,)
            Indices of the rows of W. Row a reconstructs feature a.
        noise : float
            Noise level 1 − p, in [0, 1).

        Returns
        -------
        ndarray of shape (k, d + 1)
            The rows of W, with the bias in the last column.

        Raises
        ------
        ValueError
            If the noise level is out of range, or if the features are not integers.
        IndexError
            If an index is below 0, or is not less than the number of features.
        """
        noise, indices = check_noise(noise), np.ravel(features)
        if indices.size and indices.dtype.kind not in "iu":
            raise ValueError(f"features is {features!r}; it must contain integers from 0 to {self.n_features - 1}")
        features = indices.astype(np.intp)
        if features.size and not (features.min() >= 0 and features.max() < self.n_features):
            raise IndexError(f"every index in features must be from 0 to {self.n_features - 1}")
        if self._windows is not None:
            return self._windows.rows(self._denoiser_rows(self._windows.centre, noise), features)
        return self._denoiser_rows(features, noise)

    def _denoiser_rows(self, features: NDArray[np.intp], noise: float) -> Array:
        p = 1.0 - noise
        x = p - p * p
        left_out = self._ridge * (1.0 - x / _X0)
        if x * self._smallest * _LARGEST_RATIO <= left_out:
            return denoiser_weights(self._scatter, noise, self._ridge, features)
        inverse_rows = self._inverse_rows(features, p, x, left_out)
        diagonal = np.diag(self._scatter)[features]
        gain = x * diagonal + self._ridge
        rows = np.empty((features.size, len(self._scatter)))
        np.multiply(inverse_rows, (-gain / p)[:, None], out=rows[:, :-1])
        rows[np.arange(features.size), features] += 1.0 / p
        rows[:, -1] = gain * (inverse_rows @ self._scatter[:-1, -1]) / (self._scatter[-1, -1] + self._ridge)
        rows[diagonal == 0] = 0.0
        return rows

    def _inverse_rows(self, features: NDArray[np.intp], p: float, x: float, left_out: float) -> Array:
        """Return k rows of A(p)⁻¹ (see the module docstring). If a feature is always 0, its column is set to 0."""
        k = features.size
        shrink = 1.0 / (p * p * self._values + x)
        schur = p * p * self._sigma_rare + np.diag(x * np.diag(self._scatter)[self._rare] + self._ridge)
        schur -= p**4 * (self._across.T * shrink) @ self._across

        def solve(projected: Array, rare: Array) -> tuple[Array, Array]:
            """Solve the linear system without the part of the ridge that the eigendecomposition leaves out.

            `projected` is the right-hand side of the common features, in the eigenbasis. `rare` is the right-hand side
            of the rare features, which are eliminated from the system.
            """
            inner = projected * shrink[:, None]
            if self._rare.size:
                rare = np.linalg.solve(schur, rare - p * p * (self._across.T @ inner))
                inner -= p * p * shrink[:, None] * (self._across @ rare)
            return inner, rare

        where = np.flatnonzero(np.isin(features, self._common))
        projected = np.zeros((self._common.size, k))
        projected[:, where] = self._basis[self._position[features[where]]].T
        rare = np.zeros((self._rare.size, k))
        where = np.flatnonzero(np.isin(features, self._rare))
        rare[self._position[features[where]], where] = 1.0

        inner, rare = solve(projected, rare)
        size, step = np.abs(inner).max(initial=0.0), inner.copy()
        while left_out > 0 and size > 0:
            step, step_rare = solve(-left_out * (self._gram @ step), np.zeros_like(rare))
            inner += step
            rare += step_rare
            if np.abs(step).max() <= _TOLERANCE * size:
                break
        result = np.zeros((k, len(self._scatter) - 1))
        result[:, self._common] = (self._basis @ inner).T
        result[:, self._rare] = rare.T
        return result


def _checked(scatter: object) -> Array:
    try:
        matrix = np.asarray(scatter, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        given = f"of shape {scatter.shape}" if hasattr(scatter, "shape") else f"a {type(scatter).__name__}"
        raise ValueError(f"the scatter is {given}; it must be a square matrix of d + 1 rows, such as Scatter.matrix")
    if not np.isfinite(matrix).all():
        raise ValueError("the scatter contains NaN or infinity; check the rows that it was computed from")
    return matrix
