"""The multi-width radial basis function kernel (paper, §5): squared distances per layer, and kernel values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from slide_gui.core.linear_algebra import Array, Indices, take_rows, tiles
from slide_gui.core.validation import check_integer
from slide_gui.progress import NO_PROGRESS, Progress

_DISTANCE_ROWS = 128  # number of rows per tile; for 2 500 points with 784 float64 columns, a tile takes about 20 ms


def block_sizes(n_columns: int, groups: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the number of columns of each block; a block contains the columns of one layer.

    Parameters
    ----------
    n_columns : int
        Number of columns of the training rows.
    groups : int, sequence of int, or None
        Number of blocks of equal size, or the size of each block. None means that all columns are one block.

    Raises
    ------
    ValueError
        If the number of blocks does not divide the number of columns, if a size is not positive, or if the sizes do
        not add up to the number of columns.
    """
    if groups is None:
        return (n_columns,)
    if not isinstance(groups, Sequence):
        n_blocks = check_integer("groups", groups, 1)
        if n_columns % n_blocks:
            raise ValueError(
                f"groups is {n_blocks}, which does not divide the {n_columns} columns into blocks of equal size; "
                "give the sizes of the blocks, one per layer"
            )
        return (n_columns // n_blocks,) * n_blocks
    sizes = tuple(check_integer("a size in groups", size, 1) for size in groups)
    if sum(sizes) != n_columns:
        raise ValueError(f"groups is {sizes!r}; the sizes must add up to the {n_columns} columns")
    return sizes


def blocks_of(sizes: Sequence[int]) -> list[slice]:
    """Return the slices of consecutive blocks of the given sizes."""
    return [slice(int(end - size), int(end)) for end, size in zip(np.cumsum(sizes), sizes, strict=True)]


_FAR = 1e9  # ratio of squared norms to squared distances above which the distances have large rounding errors


def _squared_distances(rows: Array, progress: Progress, out: Array | None = None, centre: Array | None = None) -> Array:
    """Return the matrix of squared distances between all rows, in float64 and with a zero diagonal.

    To reduce rounding errors, `centre` is first subtracted from the rows. By default, `centre` is the mean of the rows.
    If outliers shift the mean so far that the distances between most rows would be inaccurate, `centre` is the median
    of each column.
    """
    centred = rows - (rows.mean(axis=0) if centre is None else centre)
    squares = np.einsum("ij,ij->i", centred, centred)
    distances = np.empty((len(rows), len(rows))) if out is None else out
    progress.report(0.0)
    for block in tiles(len(rows), _DISTANCE_ROWS, progress):
        rest = slice(block.start, None)
        tile = (centred[block] * -2.0) @ centred[rest].T
        tile += squares[block, None]
        tile += squares[rest]
        np.maximum(tile, 0.0, out=tile)
        distances[rest, block] = tile.T
        distances[block, rest] = tile
    np.fill_diagonal(distances, 0.0)
    if centre is None and np.median(squares) > _FAR * np.median(distances[::16]):
        return _squared_distances(rows, progress, out, np.median(rows, axis=0))
    return distances


def layer_distances(Z: NDArray[np.floating], sizes: Sequence[int], progress: Progress = NO_PROGRESS) -> Array:
    """Return the squared distances between all rows, separately for each block of columns.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    sizes : sequence of int, of length L
        Number of columns of each block.

    Returns
    -------
    ndarray of shape (L, n, n), float64
    """
    distances = np.empty((len(sizes), len(Z), len(Z)))
    for columns, out in zip(blocks_of(sizes), distances, strict=True):
        _squared_distances(np.asarray(Z[:, columns], dtype=np.float64), progress, out)
    return distances


# Two rows count as equal if their distance is at most this factor times the machine epsilon times the RMS norm of all
# rows. If outliers dominate the RMS norm, it is replaced by ten times the median norm.
_ROUNDING = 8


def median_distances(
    Z: NDArray[np.floating],
    sizes: Sequence[int],
    *,
    max_rows: int = 1000,
    seed: int = 0,
    progress: Progress = NO_PROGRESS,
) -> Array:
    """Return the median squared distance between two rows for each block of columns, using at most `max_rows` rows.

    If more than half of the pairs consist of equal rows, the median is 0, and the mean is returned instead. For
    a constant block the result is 0. Rows that differ only by the rounding of Z count as equal.
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
        square, norms = _squared_distances(block, progress), np.square(block).sum(axis=1)
        pairs = np.concatenate([row[first:] for first, row in enumerate(square, start=1)])
        pairs[pairs <= rounding * min(float(norms.mean()), 100.0 * float(np.median(norms)))] = 0.0
        medians[layer] = _median(pairs) or pairs.mean()
    return medians


def _median(values: NDArray[np.floating]) -> Array:
    """Return the median along the last axis. This function is up to ten times as fast as `np.median`."""
    middle = values.shape[-1] // 2
    ordered = np.partition(values, middle, axis=-1)
    upper = ordered[..., middle].astype(np.float64)
    return upper if values.shape[-1] % 2 else (upper + ordered[..., :middle].max(axis=-1)) / 2.0


def widths_from(medians: ArrayLike, scale: float = 1.0) -> Array:
    """Return widths σ_t = sqrt(scale · median D_t), given the median squared distance of each layer.

    A constant layer has no effect on the kernel; its width is set to 1.
    """
    squared = scale * np.asarray(medians, dtype=np.float64)
    return np.sqrt(np.where(squared > 0.0, squared, 1.0))


def shares_of(widths: ArrayLike, medians: ArrayLike) -> Array:
    """Return the fraction of the kernel's exponent that each layer contributes.

    The fraction of layer t is `medians[t]` / σ_t², divided by the sum of these values over all layers. `medians[t]` is
    the median of the squared distances between pairs of rows in layer t, and σ_t is the width of the layer.
    """
    parts = np.asarray(medians, dtype=np.float64) / np.square(np.asarray(widths, dtype=np.float64))
    total = parts.sum()
    return np.asarray(parts / total if total > 0.0 else np.full(len(parts), 1.0 / len(parts)))


Values = NDArray[np.floating]

_TILE_ROWS = 512
_TILE_FLOPS = 1.5e9  # number of float32 operations per tile; these operations take about 30 ms on one core
_CACHED_VALUES = 32_768  # number of values whose exponentials are computed at once; they fit in the processor cache
_AT_ONCE = 1000  # largest class, in points, whose kernel rows are all computed at once, because this is faster
_BLOCK_ROWS = 2048
_EMBEDDED_ROWS = 128
_CENTRE_ROWS = 1000
_CENTRE_COLUMNS = 512
COARSE = 1e-4  # largest acceptable rounding error of float32 kernel values; if it may be larger, float64 is used


@dataclass(frozen=True)
class Embedding:
    """The map from rows h = [h⁰, h¹, …] to vectors z, for which the multi-width kernel is exp(−‖z − z'‖²).

    First, `centre` is subtracted from h. The vector is then z = [h⁰/σ_0, h¹/σ_1, …].

    Attributes
    ----------
    sizes : tuple of int
        Number of columns of each block.
    widths : tuple of float
        Width σ_t of each block.
    centre : ndarray of shape (d,)
        Vector that is subtracted from each row first. The subtraction reduces rounding errors in float32 and does not
        change the kernel.
    """

    sizes: tuple[int, ...]
    widths: tuple[float, ...]
    centre: Array

    @classmethod
    def of(
        cls, Z: NDArray[np.floating], sizes: Sequence[int], widths: ArrayLike, progress: Progress = NO_PROGRESS
    ) -> "Embedding":
        """Return the embedding with these widths, centred on the median of each column.

        The mean is not used, because outliers would shift it. All other rows would then be far from 0, where float32 is
        less precise. The median is computed from at most 1 000 evenly spaced rows.
        """
        rows = np.unique(np.linspace(0, len(Z) - 1, min(len(Z), _CENTRE_ROWS)).astype(np.intp))
        sample = take_rows(Z, rows, progress)
        centre = np.empty(Z.shape[1])
        for columns in tiles(len(centre), _CENTRE_COLUMNS, progress):
            centre[columns] = _median(np.ascontiguousarray(sample[:, columns].T))
        return cls(tuple(sizes), tuple(float(w) for w in np.asarray(widths)), centre)

    def __call__(
        self,
        Z: NDArray[np.floating],
        rows: Indices | None = None,
        dtype: DTypeLike = np.float32,
        progress: Progress = NO_PROGRESS,
        columns: Indices | None = None,
    ) -> Values:
        """Return the vectors z of the given rows of Z. Their squared distances give the kernel.

        By default, all rows and all columns are returned. Z is read in blocks of rows.
        """
        per_column = np.repeat(1.0 / np.asarray(self.widths), self.sizes).astype(dtype)
        centre = self.centre.astype(np.result_type(Z.dtype, dtype))
        if columns is not None:
            per_column, centre = per_column[columns], centre[columns]
        embedded: Values = np.empty((len(Z if rows is None else rows), len(centre)), dtype=dtype)
        for some in tiles(len(embedded), _EMBEDDED_ROWS, progress):
            out, block = embedded[some], Z[some if rows is None else rows[some]]
            if columns is not None:
                block = np.take(block, columns, axis=1)  # `np.take` is seven times faster than fancy indexing
            np.subtract(block, centre, out=out, casting="same_kind")
            out *= per_column
        return embedded


_LARGEST = 1e15


def refuse_large(Z: NDArray[np.floating], progress: Progress = NO_PROGRESS) -> None:
    """Raise a ValueError if a value is so large that squared distances may overflow. The message gives its position."""
    for rows in tiles(len(Z), _BLOCK_ROWS, progress):
        block = Z[rows]
        if max(block.max(initial=0.0), -block.min(initial=0.0)) > _LARGEST:
            row, column = np.argwhere(np.abs(block) > _LARGEST)[0].tolist()
            raise ValueError(
                f"Z contains {block[row, column]:.3g} in row {rows.start + row}, column {column}; squared distances of "
                f"values above {_LARGEST:g} may overflow; scale the features, or leave this row out"
            )


def varying_columns(Z: NDArray[np.floating], progress: Progress = NO_PROGRESS) -> Indices:
    """Return the indices of the columns that are not constant and thus affect distances. Z is read in blocks."""
    constant = np.arange(Z.shape[1])
    for rows in tiles(len(Z), _BLOCK_ROWS, progress):
        constant = constant[(Z[rows, constant] == Z[0, constant]).all(axis=0)]
    return np.setdiff1d(np.arange(Z.shape[1]), constant)


def squared_norms(data: Values) -> Values:
    """Return the squared norms ‖z‖² of the rows z, of shape (n,)."""
    return np.asarray(np.einsum("ij,ij->i", data, data))


def kernel_rounding(squares: Values) -> float:
    """Return a bound on the rounding error of kernel values between different vectors, given their squared norms.

    For vectors a and b and the machine epsilon eps, the error of D = ‖a‖² + ‖b‖² − 2 a·b is at most e = eps·(‖a‖² +
    ‖b‖²). The error of exp(−D) is at most e · exp(−D), where D ≥ (‖a‖ − ‖b‖)². A vector whose norm is much larger than
    all other norms therefore causes no error: its kernel values with other vectors are 0. If products of vectors may
    overflow, the bound is 1.
    """
    kind, ordered = np.finfo(squares.dtype), np.sort(np.asarray(squares, np.float64))
    if not ordered[-1] < kind.max / 4:
        return 1.0
    gaps = np.diff(np.sqrt(ordered))
    largest = float(np.max(2.0 * ordered[1:] * np.exp(-np.square(gaps)), initial=0.0))
    return min(1.0, float(kind.eps) * max(1.0, largest))


def set_self_kernel(values: Values, points: Indices | None = None) -> None:
    """Set the kernel value of each vector with itself to 1, in place, because the computed value has rounding errors.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        Kernel values between m vectors (rows) and n vectors (columns).
    points : ndarray of int, shape (m,), optional
        For each row, the column of the same vector; by default 0 … m − 1.
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
    """Return exp(−D), or D if `exponential` is False, for the squared distances D between two sets of vectors.

    `these` and `other` are the two sets; each is a pair of an array of vectors and an array of their squared norms. If
    both are the same object, only half of the symmetric matrix is computed.
    """
    (a, a_squares), (b, b_squares) = these, other
    if out is None:
        out = np.empty((len(a), len(b)), dtype=a.dtype)
    finish = np.exp if exponential else np.negative
    height = min(_TILE_ROWS, max(len(a), 1))
    flops = _TILE_FLOPS * 4 / a.itemsize
    width = max(256, int(flops / (2.0 * height * max(a.shape[1], 1))))
    if these is other:
        # NumPy computes only one triangle of a product A Aᵀ, which halves the work. Square tiles on the diagonal are
        # such products.
        height = width = min(height, width)
    for top in range(0, len(a), height):
        for left in range(top if these is other else 0, len(b), width):
            tile = out[top : top + height, left : left + width]
            product = a[top : top + height] @ b[left : left + width].T
            few = max(1, _CACHED_VALUES // product.shape[1])
            for first in range(0, len(product), few):
                part = product[first : first + few]
                part += part
                part -= a_squares[top + first : top + first + len(part), None]
                part -= b_squares[left : left + width]
                np.minimum(part, 0.0, out=part)
                finish(part, out=tile[first : first + few])
            if these is other and left > top:
                out[left : left + width, top : top + height] = tile.T
            progress.report(0.0)
    return out


def vector_distances(data: Values, dtype: DTypeLike, progress: Progress = NO_PROGRESS) -> Values:
    """Return the squared distances between all vectors, of shape (n, n), with zeros on the diagonal."""
    rows = data, squared_norms(data)
    distances: Values = np.empty((len(data), len(data)), dtype)
    kernel_tiles(rows, rows, distances, progress, exponential=False)
    np.fill_diagonal(distances, 0.0)
    return distances


class ClassVectors:
    """The vectors of one class, and a cache of kernel values between them.

    Parameters
    ----------
    data : ndarray of shape (n, d), float32 or float64
        Vectors of the class, as an `Embedding` returns them.
    memory : int
        Number of bytes for cached kernel values.
    exact : callable, optional
        Function that takes indices and a `Progress`, and returns the vectors with these indices, computed in float64.
        By default, `data` is converted to float64 instead.

    Attributes
    ----------
    caches : bool
        True if the memory suffices to cache the kernel values between at least one vector and all vectors of the class.
    """

    def __init__(
        self, data: Values, memory: int = 0, exact: Callable[[Indices, Progress], Values] | None = None
    ) -> None:
        n = len(data)
        self.data, self.squares, self._exact = data, squared_norms(data), exact
        self._rows: Values = np.empty((min(n, memory // max(data.itemsize * n, 1)), n), data.dtype)
        self.caches = len(self._rows) > 0
        self._slot = np.full(n, -1)
        self._used = 0

    def exact_rows(self, points: Indices, progress: Progress) -> Values:
        """Return the vectors with the indices `points` in float64."""
        if self._exact is not None:
            return self._exact(points, progress)
        return take_rows(self.data, points, progress).astype(np.float64, copy=False)

    def some(self, points: Indices, progress: Progress) -> tuple[Values, Values]:
        """Return copies of the vectors with the indices `points`, and their squared norms."""
        return take_rows(self.data, points, progress), self.squares[points]

    def first(self, size: int) -> tuple[Values, Values]:
        """Return the first `size` vectors, and their squared norms."""
        return self.data[:size], self.squares[:size]

    def within(self, points: Indices, out: Values, progress: Progress) -> None:
        """Fill `out` with kernel values between `points` (rows) and the first `out.shape[1]` vectors (columns)."""
        everything, columns = self.first(len(self.data)), self.first(out.shape[1])
        new = points[self._slot[points] < 0][: len(self._rows) - self._used]
        if len(new) and len(self._rows) == len(self.data) <= _AT_ONCE:
            new, self._used = np.arange(len(self.data)), 0
        if len(new):
            slots = slice(self._used, self._used + len(new))
            some = everything if len(new) == len(self.data) else self.some(new, progress)
            kernel_tiles(some, everything, self._rows[slots], progress)
            self._slot[new] = np.arange(slots.start, slots.stop)
            self._used = slots.stop
        slots_of = self._slot[points]
        cached = np.flatnonzero(slots_of >= 0)
        for tile in tiles(len(cached), _TILE_ROWS, progress):
            out[cached[tile]] = self._rows[slots_of[cached[tile]], : out.shape[1]]
        rest = np.flatnonzero(slots_of < 0)
        if len(rest) == len(columns[0]):
            kernel_tiles(columns, columns, out, progress)
        elif len(rest):
            out[rest] = kernel_tiles(self.some(points[rest], progress), columns, None, progress)
        set_self_kernel(out, points)


class VectorRows:
    """A source of kernel values, which are computed on demand from the vectors of an `Embedding`.

    Parameters
    ----------
    classes : sequence of ClassVectors
        Vectors of each class. The points of the source are the vectors of the first class, then those of the second
        class, and so on. Several sources can share these objects, and thus their cached kernel values.
    sizes : sequence of int, optional
        Number of points to use from the start of each class; by default all points.
    """

    def __init__(self, classes: Sequence[ClassVectors], sizes: Sequence[int] | None = None) -> None:
        self._classes, self._sizes = classes, [len(c.data) for c in classes] if sizes is None else sizes
        self._ends: Indices = np.cumsum(self._sizes)
        self.dtype = classes[0].data.dtype

    @classmethod
    def of(cls, data: Values) -> "VectorRows":
        """Return a source of the kernel values between all vectors of one array."""
        return cls([ClassVectors(data)])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def refined_bytes(self) -> int:
        """Number of bytes that all vectors would take in float64."""
        return 8 * len(self) * int(self._classes[0].data.shape[1])

    @property
    def rounding(self) -> float:
        """Upper bound on the rounding error of a kernel value."""
        pairs = zip(self._classes, self._sizes, strict=True)
        return kernel_rounding(np.concatenate([each.squares[:size] for each, size in pairs]))

    def take(self, points: Indices) -> "VectorRows":
        """Return a source of the kernel values between the given points, which must be sorted.

        If these are the first points of each class, no vector is copied.
        """
        parts = self._split(points)
        if all(np.array_equal(part, np.arange(len(part))) for part in parts):
            return VectorRows(self._classes, [len(part) for part in parts])
        return VectorRows.of(self._gathered(points, NO_PROGRESS)[0])

    def exact_rows(self, points: Indices, progress: Progress = NO_PROGRESS) -> Values:
        """Return the vectors of the given points, computed in float64; `points` must be in ascending order."""
        parts = zip(self._classes, self._split(points), strict=True)
        pieces = [each.exact_rows(part, progress) for each, part in parts if len(part)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def kernel(
        self, rows: Indices, columns: Indices | None = None, out: Values | None = None, progress: Progress = NO_PROGRESS
    ) -> Values:
        """Return the kernel values between the points `rows` and the points `columns`, by default all points.

        The points must be in ascending order. If `rows` and `columns` are the same object, only half of the symmetric
        matrix is computed.
        """
        symmetric = columns is rows
        if columns is not None and not (symmetric and len(rows) == len(self)):
            left = self._gathered(rows, progress)
            values = kernel_tiles(left, left if symmetric else self._gathered(columns, progress), out, progress)
            if symmetric:
                set_self_kernel(values)
            return values
        if out is None:
            out = np.empty((len(rows), len(self)), self.dtype)
        others = list(zip(self._classes, self._sizes, blocks_of(self._sizes), strict=True))
        if not symmetric and not any(each.caches for each in self._classes):
            # Copying all vectors of `rows` to one array saves time: n classes need n matrix products instead of n².
            left = self._gathered(rows, progress)
            for other, size, width in others:
                kernel_tiles(left, other.first(size), out[:, width], progress)
            set_self_kernel(out, rows)
            return out
        parts = self._split(rows)
        heights = blocks_of([len(part) for part in parts])
        for i, (these, part, height) in enumerate(zip(self._classes, parts, heights, strict=True)):
            for j, (other, size, width) in enumerate(others):
                tile = out[height, width]
                if i == j:
                    these.within(part, tile, progress)
                elif symmetric and j < i:
                    tile[:] = out[width, height].T
                    progress.report(0.0)
                else:
                    kernel_tiles(these.some(part, progress), other.first(size), tile, progress)
        return out

    def _split(self, points: Indices) -> list[Indices]:
        """Return the indices of the given points within their class, separately for each class."""
        parts = np.split(points, np.searchsorted(points, self._ends[:-1]))
        return [part - start for part, start in zip(parts, self._ends - self._sizes, strict=True)]

    def _gathered(self, points: Indices, progress: Progress) -> tuple[Values, Values]:
        """Return copies of the vectors with the indices `points`, and their squared norms."""
        pieces = [each.some(part, progress) for each, part in zip(self._classes, self._split(points), strict=True)]
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([data for data, _ in pieces]), np.concatenate([squares for _, squares in pieces])


class DistanceRows:
    """A source of kernel values exp(−factor · D), where the matrix D is computed once for a whole grid search.

    Parameters
    ----------
    distances : ndarray of shape (m, m), float32 or float64
        Matrix D of squared distances.
    points : ndarray of int
        Indices of the points of this source among the rows of D.
    factor : float
        Factor 1/σ². The distances in D are already divided by the squared widths of the layers.

    Attributes
    ----------
    rounding : float
        Rounding error of a kernel value. It is 0, because the distances are regarded as exact.
    """

    rounding = 0.0

    def __init__(self, distances: Values, points: Indices, factor: float) -> None:
        self.distances, self.points, self.factor, self.dtype = distances, points, factor, distances.dtype

    def __len__(self) -> int:
        return len(self.points)

    def take(self, points: Indices) -> "DistanceRows":
        """Return a source of the kernel values between the given points, computed from the same matrix D."""
        return DistanceRows(self.distances, self.points[points], self.factor)

    def kernel(
        self, rows: Indices, columns: Indices | None = None, out: Values | None = None, progress: Progress = NO_PROGRESS
    ) -> Values:
        """Return the kernel values between the points `rows` and the points `columns`, by default all points."""
        rows, columns = self.points[rows], self.points if columns is None else self.points[columns]
        if out is None:
            out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        for some in tiles(len(rows), _TILE_ROWS, progress):
            tile = out[some]
            np.take(self.distances[rows[some]], columns, axis=1, out=tile, mode="clip")
            tile *= self.dtype.type(-self.factor)
            np.exp(tile, out=tile)
        return out


# A source of kernel values for the solver; all values have the same data type.
KernelRows = VectorRows | DistanceRows
