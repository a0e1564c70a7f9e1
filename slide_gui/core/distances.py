"""Squared distances within each layer's block of columns, and the widths that they suggest.

The multi-width kernel is exp(−Σ_t ‖h_iᵗ − h_jᵗ‖² / σ_t²), with D_t = ‖h_iᵗ − h_jᵗ‖² over the block of columns of
layer t (paper, section "SVM Training").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.core.errors import check_whole
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["block_sizes", "blocks_of", "layer_distances", "median_distances", "shares_of", "widths_from"]

Array = NDArray[np.float64]

_DISTANCE_ROWS = 128  # of 2 500 points and 784 columns in float64: about 20 ms on one core


def block_sizes(n_columns: int, groups: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the number of columns of each block.

    Parameters
    ----------
    n_columns : int
        Columns of Z.
    groups : int, sequence of int, or None
        None: one block. A number: so many blocks of equal size. A sequence: the sizes themselves.

    Raises
    ------
    ValueError
        If the number does not divide the columns, or the sizes are not positive or do not add up to the columns.
    """
    if groups is None:
        return (n_columns,)
    if not isinstance(groups, Sequence):
        n_blocks = check_whole("groups", groups, 1)
        if n_columns % n_blocks:
            raise ValueError(
                f"groups is {n_blocks}, which does not divide the {n_columns} columns into blocks of equal size; "
                "give the sizes of the blocks, one a layer"
            )
        return (n_columns // n_blocks,) * n_blocks
    sizes = tuple(check_whole("a size in groups", size, 1) for size in groups)
    if sum(sizes) != n_columns:
        raise ValueError(f"groups is {sizes!r}; the sizes must add up to the {n_columns} columns")
    return sizes


def blocks_of(sizes: Sequence[int]) -> list[slice]:
    """Return the slice of columns of each block."""
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]


def _squared_distances(rows: Array, progress: Progress = NO_PROGRESS, out: Array | None = None) -> Array:
    """Squared distances between all rows, float64, with a zero diagonal."""
    rows = rows - rows.mean(axis=0)
    squares = np.einsum("ij,ij->i", rows, rows)
    distances = np.empty((len(rows), len(rows))) if out is None else out
    progress.report(0.0)
    for top in range(0, len(rows), _DISTANCE_ROWS):
        own, rest = slice(top, top + _DISTANCE_ROWS), slice(top, None)
        tile = (rows[own] * -2.0) @ rows[rest].T
        tile += squares[own, None]
        tile += squares[rest]
        np.maximum(tile, 0.0, out=tile)
        distances[rest, own] = tile.T
        distances[own, rest] = tile
        progress.report(0.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def layer_distances(Z: NDArray[np.floating], sizes: Sequence[int], progress: Progress = NO_PROGRESS) -> Array:
    """Return the squared distances within each block.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    sizes : sequence of int, of length L
    progress : Progress

    Returns
    -------
    ndarray of shape (L, n, n), float64
    """
    distances = np.empty((len(sizes), len(Z), len(Z)))
    for layer, columns in enumerate(blocks_of(sizes)):
        rows = np.asarray(Z[:, columns], dtype=np.float64)
        progress.report(0.0)
        _squared_distances(rows, progress, distances[layer])
    return distances


def median_distances(
    Z: NDArray[np.floating],
    sizes: Sequence[int],
    *,
    max_rows: int = 1000,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> Array:
    """Return the median squared distance between two different rows, one a block, from at most `max_rows` rows.

    The mean takes the place of a median of 0 (more than half of the pairs equal); a constant block has 0.
    """
    rows = np.arange(len(Z))
    if len(Z) > max_rows:
        rows = np.sort(np.random.default_rng(seed).choice(len(Z), max_rows, replace=False))
    pairs = np.triu_indices(len(rows), 1)
    sample = np.asarray(Z[rows], dtype=np.float64)
    medians = np.zeros(len(sizes))
    if len(rows) < 2:
        return medians
    for layer, columns in enumerate(blocks_of(sizes)):
        distances = _squared_distances(sample[:, columns], progress)[pairs]
        medians[layer] = np.median(distances) or distances.mean()
    return medians


def widths_from(medians: ArrayLike, scale: float = 1.0) -> Array:
    """Return σ_t = sqrt(scale · median D_t); a constant block, which has no say at any width, gets 1."""
    squared = scale * np.asarray(medians, dtype=np.float64)
    return np.sqrt(np.where(squared > 0.0, squared, 1.0))


def shares_of(widths: ArrayLike, medians: ArrayLike) -> Array:
    """Return each layer's share of the kernel's exponent, (median D_t / σ_t²) / Σ; they add up to 1."""
    parts = np.asarray(medians, dtype=np.float64) / np.square(np.asarray(widths, dtype=np.float64))
    total = parts.sum()
    return np.asarray(parts / total if total > 0.0 else np.full(len(parts), 1.0 / len(parts)))
