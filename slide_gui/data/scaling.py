"""Scaling of each feature to 0 … 1, by its range or its quantiles in the training set.

A scaling is an array with one column per feature. An array with two rows contains the offsets and the divisors of the
features. An array with k > 2 rows contains their quantiles at k equally spaced probabilities from 0 to 1.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.progress import Progress
from slide_gui.quantiles import from_unit, quantiles_of, to_unit

Scaling = NDArray[np.float64]


def ranges(rows: NDArray[Any]) -> Scaling:
    """Return the minimum and the range of each feature. A constant feature, or one without values, has the range 1."""
    low, high = (each.reduce(rows).astype(np.float64) for each in (np.fmin, np.fmax))
    with np.errstate(invalid="ignore"):  # infinite values raise an error later, in the conversion to float32
        return np.stack([np.nan_to_num(low), np.where(high > low, high - low, 1.0)])


def quantiles(rows: NDArray[Any], place: str, progress: Progress) -> Scaling:
    """Return the quantiles of each feature (see `quantiles_of`). The quantiles of a feature without values are 0.

    Raises
    ------
    DataError
        If there are fewer than three rows.
    """
    if len(rows) < 3:
        raise DataError(f"has {len(rows)} training rows, too few for quantiles; add rows, or scale by the range", place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns about a feature without values
        return np.nan_to_num(quantiles_of(rows, progress))


def span(scaling: Scaling) -> NDArray[np.float64]:
    """Return the range of each feature in the training set, of shape (d,). A constant feature has the range 1."""
    size = scaling[1] if len(scaling) == 2 else scaling[-1] - scaling[0]
    return np.where(size > 0.0, size, 1.0)


def is_scaling(array: Scaling) -> bool:
    """Return True if an array is a valid scaling: its divisors are positive, or its quantiles are sorted."""
    return bool((array[1] > 0).all() if len(array) == 2 else len(array) > 2 and (np.diff(array, axis=0) >= 0).all())


def scaled(values: NDArray[Any], scaling: Scaling) -> NDArray[Any]:
    """Return values of shape (n, d) on the scale 0 … 1. Missing cells stay NaN."""
    if len(scaling) == 2:
        return np.asarray((values - scaling[0]) / scaling[1])
    return to_unit(values, scaling)


def unscaled(rows: NDArray[Any], scaling: Scaling) -> NDArray[Any]:
    """Return the original values of scaled rows of shape (n, d)."""
    if len(scaling) == 2:
        return np.asarray(rows * scaling[1] + scaling[0])
    return from_unit(rows, scaling)
