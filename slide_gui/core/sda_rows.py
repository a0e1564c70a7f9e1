"""The rows that autoencoders learn from: checked, in one array, and dealt in mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from slide_gui.progress import Progress

__all__ = ["generator", "into_range", "mini_batches", "range_of", "unit_rows"]

Values = NDArray[Any]

_BLOCK = 4096


def unit_rows(rows: Values, dtype: DTypeLike, progress: Progress) -> Values:
    """Return the rows in one array of the dtype: themselves where they are, else a copy.

    Raises
    ------
    ValueError
        If there is no row or no feature, or a value is not a number from 0 to 1.
    """
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 1:
        raise ValueError(f"X has shape {rows.shape}; at least 1 sample and 1 feature are needed to train on")
    same = rows.dtype == dtype
    result: Values = rows if same else np.empty(rows.shape, dtype)
    for start in range(0, len(rows), _BLOCK):
        block = np.asarray(rows[start : start + _BLOCK])
        if not (block.min() >= 0.0 and block.max() <= 1.0):
            row, column = np.argwhere(~((block >= 0.0) & (block <= 1.0)))[0]
            raise ValueError(
                f"X has the value {block[row, column]} in row {start + row}, feature {column}; cross-entropy needs "
                "values from 0 to 1: bring the features into that range first"
            )
        if not same:
            result[start : start + _BLOCK] = block
        progress.report(0.0)
    return result


def range_of(rows: Values) -> tuple[float, float]:
    """Return the smallest and the largest value, or (0, 1) where all values are within."""
    low, high = float(rows.min()), float(rows.max())
    return (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)


def into_range(rows: Values, limits: tuple[float, float]) -> Values:
    """Return the rows shifted and scaled so that the limits become 0 and 1; equal limits both become 0."""
    if limits == (0.0, 1.0):
        return rows
    low, high = (rows.dtype.type(limit) for limit in limits)  # rounded as the rows are, so that none comes above 1
    return np.asarray((rows - low) / ((high - low) or rows.dtype.type(1.0)))


def generator(seed: int, stream: int) -> np.random.Generator:
    """Return the random numbers of one part of training: stream 0 is fine-tuning, k pre-training of layer k."""
    return np.random.default_rng((seed, stream))


def mini_batches(n: int, batch_size: int, random: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the indices 0 … n − 1 in a fresh random order, `batch_size` at a time; the last may be fewer."""
    order = random.permutation(n)
    for start in range(0, n, batch_size):
        yield order[start : start + batch_size]
