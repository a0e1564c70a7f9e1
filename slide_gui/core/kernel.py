"""The multi-width radial basis function kernel (paper, section "SVM Training").

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

__all__ = ["Embedding", "Gram", "KernelRows", "Values", "Vectors", "kernel_tiles", "squared_norms", "varying_columns"]

Array = NDArray[np.float64]
Values = NDArray[np.floating]
Indices = NDArray[np.intp]

_TILE_ROWS = 512
_TILE_FLOPS = 1.5e9  # of float32 products: about 30 ms on one core
_BLOCK_ROWS = 2048
_EMBEDDED_ROWS = 512


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

    def refined(self, progress: Progress = ...) -> KernelRows:
        """Return the source of the same kernel in float64."""
        ...

    @property
    def refined_bytes(self) -> int | None:
        """Return how much memory the refined source takes, or None if there is none."""
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
        own = taken(self.data, rows, progress), self.squares[rows]
        other = self.data, self.squares
        if columns is not None:
            other = own if columns is rows else (taken(self.data, columns, progress), self.squares[columns])
        return kernel_tiles(own, other, out, progress)

    def refined(self, progress: Progress = NO_PROGRESS) -> Vectors:
        """Return these vectors in float64."""
        return Vectors(self.data.astype(np.float64))

    @property
    def refined_bytes(self) -> int:
        """Bytes of these vectors in float64."""
        return 8 * self.data.size

    def against(self, others: Vectors, out: Values | None = None, progress: Progress = NO_PROGRESS) -> Values:
        """Return the kernel of all these vectors with all others, tile by tile."""
        return kernel_tiles((self.data, self.squares), (others.data, others.squares), out, progress)

    def distances(self, progress: Progress = NO_PROGRESS) -> Values:
        """Return the squared distances between all these vectors, (n, n)."""
        own = self.data, self.squares
        distances = kernel_tiles(own, own, None, progress, exponential=False)
        np.fill_diagonal(distances, 0.0)
        return distances


def squared_norms(data: Values) -> Values:
    """Return ‖z‖² of each row, of shape (n,)."""
    return np.asarray(np.einsum("ij,ij->i", data, data))


def kernel_tiles(
    own: tuple[Values, Values],
    other: tuple[Values, Values],
    out: Values | None = None,
    progress: Progress = NO_PROGRESS,
    exponential: bool = True,
) -> Values:
    """Fill exp(−D), or D itself, between two sets of vectors given with their squared norms.

    Of a set with itself, the same pair of arrays given twice, only one half is computed and mirrored.
    """
    (a, a_squares), (b, b_squares) = own, other
    if out is None:
        out = np.empty((len(a), len(b)), dtype=a.dtype)
    height = min(_TILE_ROWS, max(len(a), 1))
    flops = _TILE_FLOPS * 4 / a.itemsize
    width = max(256, int(flops / (2.0 * height * max(a.shape[1], 1))))
    for top in range(0, len(a), height):
        doubled = a[top : top + height] * a.dtype.type(2.0)
        for left in range(top if own is other else 0, len(b), width):
            tile = out[top : top + height, left : left + width]
            product = doubled @ b[left : left + width].T
            product -= a_squares[top : top + height, None]
            product -= b_squares[left : left + width]
            np.minimum(product, 0.0, out=product)
            (np.exp if exponential else np.negative)(product, out=tile)
            if own is other:
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

    def refined(self, progress: Progress = NO_PROGRESS) -> Gram:
        """Not to be had: there are no finer distances."""
        raise NotImplementedError

    @property
    def refined_bytes(self) -> None:
        """There are no finer distances."""
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
