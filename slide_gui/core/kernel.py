"""The multi-width radial basis function kernel and its distances (paper, section "SVM Training").

k(i, j) = exp(−Σ_t ‖h_iᵗ − h_jᵗ‖² / σ_t²): every layer t is a block of columns with a width of its own. It equals a
plain kernel exp(−‖z_i − z_j‖²) on z = [h⁰/σ_0, h¹/σ_1, …], which is how it is computed: matrix products on centred
rows, in tiles small enough to be cancelled between two of them; single precision for large problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from slide_gui.core.rows import taken
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "Embedding",
    "Gram",
    "KernelRows",
    "Vectors",
    "block_sizes",
    "blocks_of",
    "layer_distances",
    "median_distances",
    "shares_of",
    "widths_from",
]

Array = NDArray[np.float64]
Values = NDArray[np.floating]
Indices = NDArray[np.intp]

_TILE_ROWS = 512
_DISTANCE_ROWS = 128  # of 2 500 points and 784 columns in float64: about 20 ms on one core
_TILE_FLOPS = 1.5e9  # of float32 products: about 30 ms on one core
_BLOCK_ROWS = 2048
_EMBEDDED_ROWS = 512


def block_sizes(n_columns: int, groups: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the number of columns of each block.

    Parameters
    ----------
    n_columns : int
        Columns of Z.
    groups : int, sequence of int, or None
        None: one block. A number: so many blocks of equal size; where it does not divide the columns, the first
        blocks are one column larger, and there are never more blocks than columns. A sequence: the sizes themselves.

    Raises
    ------
    ValueError
        If the number is below 1, or the sizes are not positive or do not add up to the columns.
    """
    if groups is None:
        return (n_columns,)
    if isinstance(groups, (int, np.integer)):
        if groups < 1:
            raise ValueError(f"groups is {groups!r}; it must be at least 1")
        n_blocks = min(int(groups), n_columns)
        return tuple(n_columns // n_blocks + (k < n_columns % n_blocks) for k in range(n_blocks))
    sizes = tuple(int(size) for size in groups)
    if not sizes or min(sizes) < 1 or sum(sizes) != n_columns:
        raise ValueError(f"groups is {sizes!r}; the sizes must be positive and add up to the {n_columns} columns")
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
        tile = distances[top : top + _DISTANCE_ROWS]
        np.matmul(rows[top : top + _DISTANCE_ROWS] * -2.0, rows.T, out=tile)
        tile += squares[top : top + _DISTANCE_ROWS, None]
        tile += squares
        np.maximum(tile, 0.0, out=tile)
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


@dataclass(frozen=True)
class Embedding:
    """The map from rows h = [h⁰, h¹, …] to z = [h⁰/σ_0, …], centred, where the kernel is exp(−‖z − z'‖²).

    Attributes
    ----------
    sizes : tuple of int
        Columns of each block.
    widths : tuple of float
        σ_t of each block.
    centre : ndarray of shape (d,)
        Taken off before the division, for the sake of float32; the kernel does not depend on it.
    """

    sizes: tuple[int, ...]
    widths: tuple[float, ...]
    centre: Array

    @classmethod
    def of(
        cls,
        Z: NDArray[np.floating],
        sizes: Sequence[int],
        widths: ArrayLike,
        progress: Progress = NO_PROGRESS,
    ) -> Embedding:
        """Return the embedding with these widths, centred on the rows of Z (read in blocks)."""
        total = np.zeros(Z.shape[1])
        for start in range(0, len(Z), _BLOCK_ROWS):
            total += Z[start : start + _BLOCK_ROWS].sum(axis=0, dtype=np.float64)
            progress.report(0.0)
        return cls(tuple(sizes), tuple(float(w) for w in np.asarray(widths)), total / len(Z))

    def __call__(
        self,
        Z: NDArray[np.floating],
        rows: Indices | None = None,
        dtype: DTypeLike = np.float32,
        progress: Progress = NO_PROGRESS,
    ) -> Values:
        """Return the embedded rows of Z, or some of them, as (n, d), read in blocks."""
        per_column = np.repeat(1.0 / np.asarray(self.widths), self.sizes).astype(dtype)
        centre = self.centre.astype(np.result_type(Z.dtype, dtype))
        wanted = np.arange(len(Z)) if rows is None else rows
        embedded: Values = np.empty((len(wanted), Z.shape[1]), dtype=dtype)
        for start in range(0, len(wanted), _EMBEDDED_ROWS):
            out = embedded[start : start + _EMBEDDED_ROWS]
            np.subtract(Z[wanted[start : start + _EMBEDDED_ROWS]], centre, out=out, casting="same_kind")
            out *= per_column
            progress.report(0.0)
        return embedded


class KernelRows(Protocol):
    """Where a solver gets its kernel values from, all of one precision."""

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Return float32 or float64."""
        ...

    def __len__(self) -> int:
        """Return the number of points n."""
        ...

    def kernel(
        self, rows: Indices, columns: Indices | None = None, out: Values | None = None, progress: Progress = ...
    ) -> Values:
        """Return k(rows, columns); all columns by default."""
        ...

    def take(self, rows: Indices) -> KernelRows:
        """Return the source of these points alone."""
        ...


class Vectors:
    """Embedded rows, from which kernel values are computed when they are asked for.

    Parameters
    ----------
    data : ndarray of shape (n, d), float32 or float64
        As an `Embedding` returns them.
    """

    def __init__(self, data: Values) -> None:
        self.data = data
        self.squares = np.einsum("ij,ij->i", data, data)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of the vectors and of their kernel values."""
        return self.data.dtype

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Indices) -> Vectors:
        """Return the vectors of these rows alone (a copy)."""
        return Vectors(self.data[rows])

    def kernel(
        self,
        rows: Indices,
        columns: Indices | None = None,
        out: Values | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> Values:
        """Return the kernel of some rows with some columns (all by default), tile by tile."""
        own = taken(self.data, rows, progress), self.squares[rows]
        other = self.data, self.squares
        if columns is not None:
            other = own if columns is rows else (taken(self.data, columns, progress), self.squares[columns])
        return _tiles(own, other, out, progress)

    def against(self, others: Vectors, out: Values | None = None, progress: Progress = NO_PROGRESS) -> Values:
        """Return the kernel of all these vectors with all others, tile by tile."""
        return _tiles((self.data, self.squares), (others.data, others.squares), out, progress)

    def distances(self, progress: Progress = NO_PROGRESS) -> Values:
        """Return the squared distances between all these vectors, (n, n)."""
        own = self.data, self.squares
        distances = _tiles(own, own, None, progress, exponential=False)
        np.fill_diagonal(distances, 0.0)
        return distances


def _tiles(
    own: tuple[Values, Values],
    other: tuple[Values, Values],
    out: Values | None,
    progress: Progress,
    exponential: bool = True,
) -> Values:
    """Fill exp(−D), or D itself, between two sets of vectors given with their squared norms."""
    (a, a_squares), (b, b_squares) = own, other
    if out is None:
        out = np.empty((len(a), len(b)), dtype=a.dtype)
    height = min(_TILE_ROWS, max(len(a), 1))
    flops = _TILE_FLOPS * 4 / a.itemsize
    width = max(256, int(flops / (2.0 * height * max(a.shape[1], 1))))
    for top in range(0, len(a), height):
        doubled = a[top : top + height] * a.dtype.type(2.0)
        for left in range(0, len(b), width):
            tile = out[top : top + height, left : left + width]
            product = doubled @ b[left : left + width].T
            product -= a_squares[top : top + height, None]
            product -= b_squares[left : left + width]
            np.minimum(product, 0.0, out=product)
            (np.exp if exponential else np.negative)(product, out=tile)
            progress.report(0.0)
    return out


class Gram:
    """Kernel values exp(−factor · D) from a ready matrix of squared distances, shared by a whole grid.

    Parameters
    ----------
    distances : ndarray of shape (m, m), float32 or float64
    points : ndarray of int
        The rows of the matrix that are the points of this source.
    factor : float
        1/σ² of the one global width.
    """

    def __init__(self, distances: Values, points: Indices, factor: float) -> None:
        self.distances, self.points, self.factor = distances, points, factor

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The precision of the distances and of the kernel values."""
        return self.distances.dtype

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: Indices) -> Gram:
        """Return the source of these points alone (the distances are shared)."""
        return Gram(self.distances, self.points[rows], self.factor)

    def kernel(
        self,
        rows: Indices,
        columns: Indices | None = None,
        out: Values | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> Values:
        """Return the kernel of some rows with some columns (all by default)."""
        where = self.points if columns is None else self.points[columns]
        return self.between(self.points[rows], where, out, progress)

    def between(
        self, rows: Indices, columns: Indices, out: Values | None = None, progress: Progress = NO_PROGRESS
    ) -> Values:
        """Return the kernel between rows and columns of the whole matrix, whether they are this source's or not."""
        if out is None:
            out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        for top in range(0, len(rows), _TILE_ROWS):
            tile = out[top : top + _TILE_ROWS]
            np.take(self.distances[rows[top : top + _TILE_ROWS]], columns, axis=1, out=tile, mode="clip")
            tile *= self.dtype.type(-self.factor)
            np.exp(tile, out=tile)
            progress.report(0.0)
        return out
