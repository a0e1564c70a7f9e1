"""Quantiles of each feature of a training set, and their use as a scale from 0 to 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

_COLUMNS = 32  # number of columns whose quantiles are computed between two progress reports


def quantiles_of(rows: Any, progress: Progress = NO_PROGRESS) -> NDArray[np.float64]:
    """Return at most 1 000 quantiles of each feature, at equally spaced probabilities from 0 to 1.

    They equal those of scikit-learn's QuantileTransformer, which would first convert all rows to floats.

    Parameters
    ----------
    rows : array or memmap of shape (n, d)
        Training rows, of which at most 10 000 are used. NaN and infinite values are ignored.

    Returns
    -------
    ndarray of shape (min(n, 1000), d)
        The quantiles, which are NaN for a feature without finite values.
    """
    from sklearn.utils import resample

    rows = resample(rows, replace=False, n_samples=min(10_000, len(rows)), random_state=0)
    quantiles = np.empty((min(1000, len(rows)), rows.shape[1]))
    percentages = 100.0 * np.linspace(0.0, 1.0, len(quantiles))
    for start in range(0, rows.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        values = np.array(rows[:, columns], np.float64)
        values[~np.isfinite(values)] = np.nan
        quantiles[:, columns] = np.maximum.accumulate(np.nanpercentile(values, percentages, axis=0))
        progress.report(min(start + _COLUMNS, rows.shape[1]) / rows.shape[1])
    return quantiles


def to_unit(rows: Any, quantiles: NDArray[np.float64]) -> NDArray[np.floating]:
    """Replace each value of rows of shape (n, d) by its quantile, from 0 to 1. NaN stays NaN."""
    return np.asarray(_transformer(quantiles).transform(rows))


def from_unit(rows: Any, quantiles: NDArray[np.float64]) -> NDArray[np.floating]:
    """Replace each quantile in rows of shape (n, d) by the value to which it belongs. This inverts `to_unit`."""
    return np.asarray(_transformer(quantiles).inverse_transform(rows))


def _transformer(quantiles: NDArray[np.float64]) -> Any:
    """Return scikit-learn's QuantileTransformer, fitted to the given quantiles."""
    from sklearn.preprocessing import QuantileTransformer

    transformer = QuantileTransformer(n_quantiles=len(quantiles))
    transformer.quantiles_, transformer.references_ = quantiles, np.linspace(0.0, 1.0, len(quantiles))
    transformer.n_features_in_ = quantiles.shape[1]
    return transformer
