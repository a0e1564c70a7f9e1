"""Scaling of each feature to 0 … 1, by its range or its quantiles in the training set.

A scaling is an array of shape (2, d) or (k, d). Two rows are the offset and the divisor of each feature. Three or more
rows are the quantiles of each feature at k equally spaced probabilities from 0 to 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError

Scaling = NDArray[np.float64]

_MOST_QUANTILES = 1000  # as in scikit-learn's QuantileTransformer and in `SLIDE`


def ranges(rows: NDArray[Any]) -> Scaling:
    """Return the minimum and the range of each feature. A constant feature, or one without values, has the range 1."""
    low, high = (each.reduce(rows).astype(np.float64) for each in (np.fmin, np.fmax))
    with np.errstate(invalid="ignore"):  # infinite values raise an error later, in the conversion to float32
        return np.stack([np.nan_to_num(low), np.where(high > low, high - low, 1.0)])


def quantiles(rows: NDArray[Any], place: str) -> Scaling:
    """Return at most 1 000 quantiles of each feature, computed from at most 10 000 rows.

    Raises
    ------
    DataError
        If there are fewer than three rows.
    """
    from sklearn.preprocessing import QuantileTransformer

    if len(rows) < 3:
        raise DataError(f"has {len(rows)} training rows, too few for quantiles; add rows, or scale by the range", place)
    known = rows[:, finite := np.isfinite(rows).any(axis=0)]
    transformer = QuantileTransformer(n_quantiles=min(_MOST_QUANTILES, len(rows)), random_state=0)
    scaling = np.zeros((transformer.n_quantiles, rows.shape[1]))
    if finite.any():  # infinite values raise an error later, in the conversion to float32
        scaling[:, finite] = transformer.fit(np.where(np.isinf(known), np.nan, known)).quantiles_
    return scaling


def is_scaling(array: Scaling) -> bool:
    """Return True if an array of shape (k, d) has positive divisors if k is 2, or else sorted quantiles."""
    return bool((array[1] > 0).all() if len(array) == 2 else len(array) > 2 and (np.diff(array, axis=0) >= 0).all())


def scaled(values: NDArray[Any], scaling: Scaling) -> NDArray[Any]:
    """Return values of shape (n, d) on the scale 0 … 1. Missing cells stay NaN."""
    if len(scaling) == 2:
        return np.asarray((values - scaling[0]) / scaling[1])
    return np.asarray(_transformer(scaling).transform(values))


def unscaled(rows: NDArray[Any], scaling: Scaling) -> NDArray[Any]:
    """Return the original values of scaled rows of shape (n, d)."""
    if len(scaling) == 2:
        return np.asarray(rows * scaling[1] + scaling[0])
    return np.asarray(_transformer(scaling).inverse_transform(rows))


def _transformer(scaling: Scaling) -> Any:
    """Return scikit-learn's QuantileTransformer, fitted to the given quantiles."""
    from sklearn.preprocessing import QuantileTransformer

    transformer = QuantileTransformer(n_quantiles=len(scaling))
    transformer.quantiles_, transformer.references_ = scaling, np.linspace(0.0, 1.0, len(scaling))
    transformer.n_features_in_ = scaling.shape[1]
    return transformer
