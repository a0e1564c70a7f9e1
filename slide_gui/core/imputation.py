"""Fill the missing cells of each row with their conditional mean, given the known cells of the row."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from slide_gui.core.estimators import checked_rows, store_parameters
from slide_gui.core.linear_algebra import Array, Pattern, fill_scaled, missing_patterns, rows_per_block, tiles
from slide_gui.core.validation import check_integer, check_ridge
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress
from slide_gui.text import count

# Largest number of multiplications in one call of `fit` or `transform`. They take about ten minutes on two cores.
MOST_WORK = 5 * 10**12

_CALLS = 300_000  # number of multiplications that take as long as the constant overhead of one pattern of missing cells
_SMALLEST_RIDGE = 1e-9  # smallest allowed ridge, in units of the variance of a column


class LinearImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Fill missing cells (NaN) with their best linear reconstruction from the known cells of the row.

    Columns are centred and scaled. The missing cells M of a row are then filled from the known cells O by

    .. math:: \hat{x_M} = S_{MO} (S_{OO} + r I)^{-1} x_O.

    The mean and the covariance S are estimated by EM (expectation maximisation). Each EM pass fills the missing cells
    and updates the mean. It then computes S from the filled rows and from the conditional covariance of the missing
    cells, S_MM − S_MO (S_OO + r I)⁻¹ S_OM. Rows with missing cells in the same columns share one matrix inverse.

    A linear denoiser uses the same covariance, but it has one matrix W for all corruptions. The imputer uses a separate
    matrix for each set of missing cells.

    Parameters
    ----------
    max_iter : int, default=8
        Number of EM passes, at least 1.
    ridge : float or None, default=None
        The ridge r, in units of the variance of a column. Values below 1e-9 are replaced by 1e-9. None means d / (5 n)
        for n rows of d features.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (d,)
        Mean of each column, and standard deviation of the known cells of each column. A constant column has the
        scale 1. A column without known cells is filled with 0.
    covariance_ : ndarray of shape (d, d)
        The covariance S of the scaled columns.
    ridge_ : float
        The ridge r that was used.
    n_iter_ : int
        Number of EM passes, or 1 if no cell is missing.
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the features, if X was a data frame whose column names are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import LinearImputer
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, np.nan]])
    >>> LinearImputer(max_iter=100, ridge=1e-9).fit_transform(X).round(3)[3]
    array([4., 8.])
    """

    def __init__(self, max_iter: int = 8, ridge: float | None = None) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: object = None, *, progress: Progress = NO_PROGRESS) -> Self:
        """Estimate mean and covariance from rows with missing cells.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Missing cells are NaN.
        y : ignored
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the fit.

        Raises
        ------
        ValueError
            If a parameter is out of range, or if X contains text or infinity. The error is also raised if the rows have
            too many different patterns of missing cells, which would take longer than about ten minutes to fill.
        MemoryError
            If the fit needs more memory than is available.
        """
        max_iter = check_integer("max_iter", self.max_iter, 1)
        ridge = None if self.ridge is None else check_ridge(self.ridge)
        fitted = copy(self)  # the fit changes this copy, so that `self` keeps its earlier model if the fit fails
        rows, patterns = fitted._rows(X, max_iter, reset=True)
        n, d = rows.shape
        ridge = max(_SMALLEST_RIDGE, d / (5 * n) if ridge is None else ridge)
        n_iter = max_iter if patterns else 1
        with np.errstate(over="ignore"):
            mean, scale = _moments(rows)
        if not np.isfinite(scale).all():
            raise ValueError("X contains numbers whose sum overflows; divide each column by its largest absolute value")
        covariance, scale = np.diag(np.sign(scale)), np.where(scale > 0.0, scale, 1.0)
        Z, steady = (rows - mean) / scale, MonotonicProgress(progress)
        for _, step in steady.each(range(n_iter)):
            added = np.zeros((d, d))
            fill_scaled(Z, patterns, covariance, ridge, added, step)
            shift = Z.mean(axis=0)
            Z -= shift
            mean += scale * shift
            for some in tiles(n, rows_per_block(d), step, fraction=True):
                added += Z[some].T @ Z[some]
            covariance = added / n
        self.__dict__ = fitted.__dict__
        self.ridge_, self.n_iter_, self.mean_, self.scale_, self.covariance_ = ridge, n_iter, mean, scale, covariance
        return self

    def transform(self, X: Any, *, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return a copy of the rows in which the missing cells are filled. Known cells keep their values.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Missing cells are NaN.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the computation.

        Raises
        ------
        ValueError
            If X contains text or infinity, or if filling the cells would take longer than about ten minutes.
        MemoryError
            If the rows need more memory than is available.
        """
        check_is_fitted(self)
        rows, patterns = self._rows(X, 1, reset=False)
        Z = (rows - self.mean_) / self.scale_
        fill_scaled(Z, patterns, self.covariance_, self.ridge_, progress=progress)
        largest = np.finfo(rows.dtype).max
        filled = np.clip(self.mean_ + self.scale_ * Z, -largest, largest)
        return np.where(np.isnan(rows), filled, rows).astype(rows.dtype)

    def _rows(self, X: Any, n_passes: int, *, reset: bool) -> tuple[NDArray[np.floating], list[Pattern]]:
        """Return checked rows and their patterns of missing cells.

        Raise ValueError if filling the cells would take longer than about ten minutes.
        """
        rows = checked_rows(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        (n, d), patterns = rows.shape, missing_patterns(np.isnan(rows))
        check_free(24 * n * d, f"filling {count(n)} rows of {d} columns", "give fewer rows")
        sizes = ((len(each), len(missing)) for each, missing in patterns)
        if n_passes * sum(k**3 + m * k * (d + k) + _CALLS for m, k in sizes) > MOST_WORK:
            raise ValueError(
                f"the missing cells form {count(len(patterns))} different patterns in {d} columns, which take longer "
                "than ten minutes to fill; give fewer rows, or leave out columns with many missing cells"
            )
        return rows, patterns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _moments(rows: NDArray[np.floating]) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each column, ignoring missing values.

    The standard deviation of a constant column is 0.
    """
    known = np.maximum(np.sum(~np.isnan(rows), axis=0), 1)
    low, high = (each.reduce(rows).astype(np.float64) for each in (np.fmin, np.fmax))
    mean = np.where(high > low, np.nansum(rows, axis=0, dtype=np.float64) / known, np.nan_to_num(low))
    # Deviations are divided by powers of 2, which is exact, so that their squares neither underflow nor overflow.
    _, exponents = np.frexp(np.nan_to_num(np.maximum(high - mean, mean - low)))
    squares = np.ldexp(rows - mean, -exponents) ** 2
    return mean, np.ldexp(np.sqrt(np.nansum(squares, axis=0) / known), exponents)


def hidden_cell_errors(
    imputer: LinearImputer, X: Any, share: float = 0.1, seed: int = 0, *, progress: Progress = NO_PROGRESS
) -> tuple[NDArray[np.intp], Array, Array]:
    """Hide a fraction of the known cells of each column, and return the errors of the imputer on the hidden cells.

    A copy of the imputer is fitted to the cells that remain. The errors are slightly too large, because this copy is
    fitted to fewer known cells than X has.

    Parameters
    ----------
    imputer : LinearImputer
    X : ndarray of shape (n, d)
        Missing cells are NaN.
    share : float
        Fraction of the known cells of each column to hide, at least one cell.
    seed : int
        Seed of the random choice of the hidden cells.
    progress : Progress

    Returns
    -------
    counts : ndarray of int, shape (d,)
        Number of hidden cells of each column, or 0 if the column is constant or has fewer than three known cells.
    errors, mean_errors : ndarray of shape (d,)
        Root mean square error of the values that replace the hidden cells of each column. For `errors` they are the
        values of the imputer; for `mean_errors` they are the mean of the remaining cells of the column. The unit is the
        standard deviation of the known cells. The errors are NaN if no cell was hidden.
    """
    known, (_, scale) = ~np.isnan(X), _moments(X)
    counts = known.sum(axis=0)
    counts = np.where((counts > 2) & (scale > 0.0), np.maximum(np.rint(share * counts), 1), 0).astype(np.intp)
    keys = np.where(known, np.random.default_rng(seed).random(known.shape), np.inf)
    hidden = keys.argsort(axis=0).argsort(axis=0) < counts
    rest = np.where(hidden, np.nan, X)
    fitted = clone(imputer).fit(rest, progress=progress.part(0.0, 0.9))
    filled = fitted.transform(rest, progress=progress.part(0.9, 1.0)), _moments(rest)[0]
    n = np.where(counts, counts, np.nan)
    scale = np.where(scale > 0.0, scale, 1.0)
    errors, mean_errors = (np.sqrt(np.sum(((each - X) / scale) ** 2, axis=0, where=hidden) / n) for each in filled)
    return counts, errors, mean_errors
