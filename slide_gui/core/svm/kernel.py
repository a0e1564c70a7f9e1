"""The multi-width radial basis function kernel (paper, section "SVM Training"): distances in each layer, and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from slide_gui.core.linear_algebra import take_rows
from slide_gui.core.validation import check_whole
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "COARSE",
    "Embedding",
    "Gram",
    "KernelRows",
    "Values",
    "Vectors",
    "block_sizes",
    "kernel_rounding",
    "kernel_tiles",
    "layer_distances",
    "median_distances",
    "refuse_large",
    "set_self_kernel",
    "shares_of",
    "squared_norms",
    "varying_columns",
    "widths_from",
]


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
        block, rest = slice(top, top + _DISTANCE_ROWS), slice(top, None)
        tile = (rows[block] * -2.0) @ rows[rest].T
        tile += squares[block, None]
        tile += squares[rest]
        np.maximum(tile, 0.0, out=tile)
        distances[rest, block] = tile.T
        distances[block, rest] = tile
        progress.report(0.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def layer_distances(Z: NDArray[np.floating], sizes: Sequence[int], progress: Progress = NO_PROGRESS) -> Array:
    """Return the squared distances within each block.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    sizes : sequence of int, of length L

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


_ROUNDING = 8  # units in the last place: rows that differ by no more are equal


def median_distances(
    Z: NDArray[np.floating],
    sizes: Sequence[int],
    *,
    max_rows: int = 1000,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> Array:
    """Return the median squared distance between two different rows, one a block, from at most `max_rows` rows.

    The mean takes the place of a median of 0 (more than half of the pairs equal); a constant block has 0. Rows that
    differ by the rounding of Z only are equal.
    """
    rows = np.arange(len(Z))
    if len(Z) > max_rows:
        rows = np.sort(np.random.default_rng(seed).choice(len(Z), max_rows, replace=False))
    sample = np.asarray(Z[rows], dtype=np.float64)
    medians = np.zeros(len(sizes))
    if len(rows) < 2:
        return medians
    rounding = (_ROUNDING * float(np.finfo(Z.dtype).eps if Z.dtype.kind == "f" else 0.0)) ** 2
    for layer, columns in enumerate(blocks_of(sizes)):
        block = sample[:, columns]
        square = _squared_distances(block, progress)
        pairs = np.concatenate([row[first:] for first, row in enumerate(square, start=1)])
        pairs[pairs <= rounding * float(np.square(block).sum(axis=1).mean())] = 0.0
        medians[layer] = np.median(pairs) or pairs.mean()
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


Values = NDArray[np.floating]
Indices = NDArray[np.intp]

_TILE_ROWS = 512
_TILE_FLOPS = 1.5e9  # of float32 products: about 30 ms on one core
_CACHED_VALUES = 32_768  # of a tile, that stay in a core's cache from the product to the exponential
_BLOCK_ROWS = 2048
_EMBEDDED_ROWS = 512
_CENTRE_ROWS = 1000
_CENTRE_COLUMNS = 512
COARSE = 1e-4  # error of a kernel value from which float32 is too coarse to train or predict with


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
        Subtracted before the division, for the sake of float32; the kernel does not depend on it.
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
        """Return the embedding with these widths, centred on the median of each column.

        One row far away would move the mean, and with it all others away from 0, where float32 is fine. The median is
        that of at most 1 000 rows, evenly spaced.
        """
        rows = np.unique(np.linspace(0, len(Z) - 1, min(len(Z), _CENTRE_ROWS)).astype(np.intp))
        sample = take_rows(Z, rows, progress)
        centre = np.empty(Z.shape[1])
        for start in range(0, len(centre), _CENTRE_COLUMNS):
            columns = slice(start, start + _CENTRE_COLUMNS)
            centre[columns] = np.median(np.asarray(sample[:, columns], np.float64), axis=0)
            progress.report(0.0)
        return cls(tuple(sizes), tuple(float(w) for w in np.asarray(widths)), centre)

    def __call__(
        self,
        Z: NDArray[np.floating],
        rows: Indices | None = None,
        dtype: DTypeLike = np.float32,
        progress: Progress = NO_PROGRESS,
        columns: Indices | None = None,
    ) -> Values:
        """Return the embedded rows of Z, or some of them and of their columns, as (n, d), read in blocks."""
        per_column = np.repeat(1.0 / np.asarray(self.widths), self.sizes).astype(dtype)
        centre = self.centre.astype(np.result_type(Z.dtype, dtype))
        if columns is not None:
            per_column, centre = per_column[columns], centre[columns]
        wanted = np.arange(len(Z)) if rows is None else rows
        embedded: Values = np.empty((len(wanted), len(centre)), dtype=dtype)
        for start in range(0, len(wanted), _EMBEDDED_ROWS):
            out = embedded[start : start + _EMBEDDED_ROWS]
            block = Z[wanted[start : start + _EMBEDDED_ROWS]]
            if columns is not None:
                block = np.take(block, columns, axis=1)  # seven times faster than an index
            np.subtract(block, centre, out=out, casting="same_kind")
            out *= per_column
            progress.report(0.0)
        return embedded


_LARGEST = 1e15


def refuse_large(Z: NDArray[np.floating], progress: Progress = NO_PROGRESS) -> None:
    """Raise ValueError if a value is so large that squared distances may overflow; its place is named."""
    for start in range(0, len(Z), _BLOCK_ROWS):
        block = Z[start : start + _BLOCK_ROWS]
        if max(block.max(initial=0.0), -block.min(initial=0.0)) > _LARGEST:
            row, column = np.argwhere(np.abs(block) > _LARGEST)[0].tolist()
            raise ValueError(
                f"Z contains {block[row, column]:.3g} in row {start + row}, column {column}; squared distances of "
                f"values above {_LARGEST:g} may overflow: scale the features, or leave this row out"
            )
        progress.report(0.0)


def varying_columns(Z: NDArray[np.floating], progress: Progress = NO_PROGRESS) -> Indices:
    """Return the columns of Z, read in blocks, in which not all rows are equal: no others part its rows."""
    constant = np.arange(Z.shape[1])
    for start in range(0, len(Z), _BLOCK_ROWS):
        constant = constant[(Z[start : start + _BLOCK_ROWS, constant] == Z[0, constant]).all(axis=0)]
        progress.report(0.0)
    return np.setdiff1d(np.arange(Z.shape[1]), constant, assume_unique=True)


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
        """Return k(rows, columns), the rows in rising order; all columns by default."""
        ...

    def take(self, rows: Indices) -> KernelRows:
        """Return the source of these points alone."""
        ...

    @property
    def rounding(self) -> float:
        """Return a bound on the rounding error of a kernel value."""
        ...

    def exact_rows(self, points: Indices, progress: Progress = ...) -> Array:
        """Return the embedded rows of some points in float64."""
        ...

    @property
    def refined_bytes(self) -> int | None:
        """Return the bytes of all embedded rows in float64, or None if they are not available."""
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
        self.squares = squared_norms(data)

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
        left = take_rows(self.data, rows, progress), self.squares[rows]
        other = self.data, self.squares
        if columns is not None:
            other = left if columns is rows else (take_rows(self.data, columns, progress), self.squares[columns])
        values = kernel_tiles(left, other, out, progress)
        if columns is None or columns is rows:
            set_self_kernel(values, rows if columns is None else None)
        return values

    @property
    def rounding(self) -> float:
        """A bound on the rounding error of a kernel value."""
        return kernel_rounding(self.squares)

    def exact_rows(self, points: Indices, progress: Progress = NO_PROGRESS) -> Array:
        """Return some of these vectors in float64."""
        return take_rows(self.data, points, progress).astype(np.float64, copy=False)

    @property
    def refined_bytes(self) -> int:
        """Bytes of these vectors in float64."""
        return 8 * self.data.size

    def distances(self, progress: Progress = NO_PROGRESS, dtype: DTypeLike | None = None) -> Values:
        """Return the squared distances between all these vectors, (n, n); by default of the dtype of the vectors."""
        rows = self.data, self.squares
        distances: Values = np.empty((len(self), len(self)), self.dtype if dtype is None else dtype)
        kernel_tiles(rows, rows, distances, progress, exponential=False)
        np.fill_diagonal(distances, 0.0)
        return distances


def squared_norms(data: Values) -> Values:
    """Return ‖z‖² of each row, of shape (n,)."""
    return np.asarray(np.einsum("ij,ij->i", data, data))


def kernel_rounding(squares: Values) -> float:
    """Return a bound on the rounding error of the kernel values between different vectors of these squared norms.

    D = ‖a‖² + ‖b‖² − 2ab is right to eps (‖a‖² + ‖b‖²), and the error of exp(−D) is that times exp(−D) at most, where
    D ≥ (‖a‖ − ‖b‖)²: a vector far from all others has kernel values of 0, however long it is.
    """
    eps = float(np.finfo(squares.dtype).eps)
    ordered = np.sort(np.asarray(squares, np.float64))
    gaps = np.diff(np.sqrt(ordered))
    largest = float(np.max(2.0 * ordered[1:] * np.exp(-np.square(gaps)), initial=0.0))
    return min(1.0, eps * max(1.0, largest))


def set_self_kernel(values: Values, points: Indices | None = None) -> None:
    """Set the kernel of each vector with itself to 1; rounding may leave nothing of that of a long one.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        A row for each of some vectors, which are the columns `points`, by default the first m.
    """
    rows = np.arange(len(values))
    values[rows, rows if points is None else points] = 1.0


def kernel_tiles(
    these: tuple[Values, Values],
    other: tuple[Values, Values],
    out: Values | None = None,
    progress: Progress = NO_PROGRESS,
    exponential: bool = True,
) -> Values:
    """Fill exp(−D), or D itself, between two sets of vectors given with their squared norms.

    Of a set with itself, the same pair of arrays given twice, only one half is computed and mirrored.
    """
    (a, a_squares), (b, b_squares) = these, other
    if out is None:
        out = np.empty((len(a), len(b)), dtype=a.dtype)
    finish = np.exp if exponential else np.negative
    height = min(_TILE_ROWS, max(len(a), 1))
    flops = _TILE_FLOPS * 4 / a.itemsize
    width = max(256, int(flops / (2.0 * height * max(a.shape[1], 1))))
    for top in range(0, len(a), height):
        doubled = a[top : top + height] * a.dtype.type(2.0)
        for left in range(top if these is other else 0, len(b), width):
            tile = out[top : top + height, left : left + width]
            product = doubled @ b[left : left + width].T
            few = max(1, _CACHED_VALUES // product.shape[1])
            for first in range(0, len(product), few):
                part = product[first : first + few]
                part -= a_squares[top + first : top + first + len(part), None]
                part -= b_squares[left : left + width]
                np.minimum(part, 0.0, out=part)
                finish(part, out=tile[first : first + few])
            if these is other:
                out[left : left + width, top : top + height] = tile.T
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

    @property
    def rounding(self) -> float:
        """A bound on the error of the exponential; that of the distances is not known."""
        return float(np.finfo(self.dtype).eps)

    def exact_rows(self, points: Indices, progress: Progress = NO_PROGRESS) -> Array:
        """Refuse: there are no rows, but only distances."""
        raise NotImplementedError

    @property
    def refined_bytes(self) -> None:
        """There are no rows."""
        return None

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
