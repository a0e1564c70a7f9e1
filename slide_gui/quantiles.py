"""Quantiles of each feature of a training set, and their use as a scale from 0 to 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

_COLUMNS = 32  # number of columns whose quantiles are computed between two progress reports


def quantiles_of(rows: Any, progress: Progress = NO_PROGRESS) -> NDArray[np.float64]:
    """Return at most 1 000 quantiles of each feature, at equally spaced probabilities from 0 to 1.

    Parameters
    ----------
    rows : array or memmap of shape (n, d)
        Training rows, of which at most 10 000 are used. NaN is ignored. Each feature needs at least one finite value.

    Returns
    -------
    ndarray of shape (min(n, 1000), d)
    """
    from sklearn.preprocessing import QuantileTransformer
    from sklearn.utils import resample

    # QuantileTransformer would draw the same rows, but only after it has converted all rows to floats.
    rows = resample(rows, replace=False, n_samples=min(10_000, len(rows)), random_state=0)
    quantiles = np.empty((min(1000, len(rows)), rows.shape[1]))
    for start in range(0, rows.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        quantiles[:, columns] = QuantileTransformer(n_quantiles=len(quantiles)).fit(rows[:, columns]).quantiles_
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
