"""Scatter matrices of the inputs of the layers, summed over blocks of rows.

Layer k + 1 is fitted on hᵏ = Wᵏ [T(hᵏ⁻¹); 1] (eq. 11), where T is the squashing function. The scatter matrix S_h of hᵏ
is computed from S_T, the scatter matrix of T(hᵏ⁻¹). If [T, 1] is the matrix of the rows [T(hᵏ⁻¹), 1] and W = Wᵏ, then

    S_h = W̃ S_T W̃ᵀ,   S_T = [T, 1]ᵀ[T, 1],   W̃ = [W; 0 … 0 1].

If T is the threshold function, its values are 0 and 1. Then S_T is exact in float32, and each value is stored as one
bit. All other sums have rounding errors. `ScatterSum` therefore adds the scatter matrices of blocks in a fixed order,
so that the result is bit-identical no matter which process adds them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, product, tiles
from slide_gui.core.slide.activations import (
    Activations,
    Rows,
    SquashBuffer,
    block_of,
    in_dtype,
    is_sparse,
    refuse_not_finite,
    refuse_value,
    rows_per_product,
    without_duplicates,
)
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Progress

# Number of scatter matrices that `ScatterSum` sums as a group, and number of groups that form a larger group.
GROUP = 16

_STRIPS = 4  # number of blocks of rows into which a symmetric product is split
_SPARSE_PRODUCTS = 2_000_000  # number of multiplications of stored values between two progress reports
_TOO_LARGE = "X contains values so large that the sum of their squares is infinite; scale the features to values near 1"


@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter matrix of a block of rows. The sum of the matrices of two blocks is the matrix of all their rows.

    Attributes
    ----------
    inner : ndarray of shape (d, d), float64
        The product AᵀA of the matrix A of rows.
    sums : ndarray of shape (d,), float64
        Sum of each feature over the rows.
    n : float
        Number of rows, or sum of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import Scatter
    >>> X = (np.random.default_rng(0).random((100, 6)) > 0.5).astype("float32")
    >>> together = Scatter.of(X[:60]) + Scatter.of(X[60:])
    >>> together.matrix.shape, bool((together.matrix == Scatter.of(X).matrix).all())
    ((7, 7), True)
    """

    inner: Array
    sums: Array
    n: float

    @classmethod
    def of(
        cls, rows: Rows, parameters: StackParameters | None = None, *, start: int = 0, progress: Progress = NO_PROGRESS
    ) -> "Scatter":
        """Return the scatter matrix of a block of input rows. Layer 1 is fitted on the sum of such matrices.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Array, memmap or sparse matrix.
        parameters : StackParameters, optional
            Data type, noise level and batch size determine how rows are multiplied. The result is always float64.
        start : int
            Number of rows before this block. It is added to the row number in error messages.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the computation.

        Raises
        ------
        ValueError
            If the rows are not a 2-D array of numbers, if a value is NaN or infinite, or if a parameter is out of
            range. The message names the row.
        """
        once = ScatterPass((parameters or StackParameters()).checked(), squashed=False)
        return once.of(block_of(rows), start, progress)[0]

    @classmethod
    def squashed(
        cls,
        rows: Rows,
        parameters: StackParameters | None = None,
        weights: Sequence[Array] = (),
        *,
        progress: Progress = NO_PROGRESS,
    ) -> "Scatter":
        """Return the scatter matrix of the squashed representation T(hᵏ) of a block of rows.

        From this matrix, `scatter_after` computes the scatter matrix of hᵏ⁺¹.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Rows of finite values.
        parameters : StackParameters, optional
            Only the squashing function, the threshold and the data type are used.
        weights : sequence of ndarray of shape (d, d + 1)
            Weights W¹, …, Wᵏ of layers 1 to k, such as ``SLIDE.weights_``. Without weights, the result is the
            scatter matrix of T(x).
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the computation.

        Raises
        ------
        ValueError
            If the rows are not a 2-D array of numbers, if weights do not have the shape (d, d + 1), or if a parameter
            is out of range.
        """
        rows = block_of(rows)
        d = rows.shape[1]
        for number, each in enumerate(weights, start=1):
            if np.shape(each) != (d, d + 1):
                raise ValueError(
                    f"weights of layer {number} have shape {np.shape(each)}; for {d} features it must be {(d, d + 1)}"
                )
        once = ScatterPass((parameters or StackParameters()).checked(), weights=tuple(weights))
        return once.of(rows, 0, progress)[-1]

    def __add__(self, other: "Scatter") -> "Scatter":
        if not isinstance(other, Scatter):
            return NotImplemented
        if len(other.sums) != len(self.sums):
            raise ValueError(f"scatter matrices of {len(self.sums)} and {len(other.sums)} features cannot be added")
        return Scatter(self.inner + other.inner, self.sums + other.sums, self.n + other.n)

    def __sizeof__(self) -> int:
        return self.inner.nbytes + self.sums.nbytes

    @property
    def matrix(self) -> Array:
        """The scatter matrix S = X̃ᵀX̃ of shape (d + 1, d + 1), where X̃ has the rows with a constant 1 appended.

        Raises
        ------
        ValueError
            If the rows contain values so large that the sum of their squares is infinite.
        """
        if not np.isfinite(self.inner).all():
            raise ValueError(_TOO_LARGE)
        d = len(self.sums)
        scatter = np.empty((d + 1, d + 1))
        scatter[:d, :d] = self.inner
        scatter[:d, d] = scatter[d, :d] = self.sums
        scatter[d, d] = self.n
        return scatter


class ScatterSum:
    """Sum of scatter matrices in a fixed order: groups of 16 matrices are summed, then groups of 16 sums, and so on.

    Different processes can sum different groups, in any order; the total is still bit-identical. One partial sum is
    kept in memory for each size of group (16 matrices, 16 groups of 16 matrices, …).

    Parameters
    ----------
    d : int
        Number of features.
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._larger: ScatterSum | None = None
        self._begin_group()

    def _begin_group(self) -> None:
        self._inner, self._sums = np.zeros((self._d, self._d)), np.zeros(self._d)
        self._n, self._count = 0.0, 0

    def _include(self, scatter: Scatter) -> None:
        self._inner += scatter.inner
        self._sums += scatter.sums
        self._n += scatter.n

    def add(self, scatter: Scatter) -> None:
        """Add the next scatter matrix to the sum. The arrays of `scatter` are not changed."""
        self._include(scatter)
        self._count += 1
        if self._count == GROUP:
            self._larger = ScatterSum(self._d) if self._larger is None else self._larger
            self._larger.add(Scatter(self._inner, self._sums, self._n))
            self._begin_group()

    def total(self) -> Scatter:
        """Return the sum of all added scatter matrices. Do not call `add` afterwards."""
        rest = Scatter(self._inner, self._sums, self._n)
        if self._larger is None:
            return rest
        self._larger._include(rest)
        return self._larger.total()


@dataclass(frozen=True, eq=False)
class InputScatter:
    """Scatter matrices of the input rows, which the first two layers need. All fits to the same rows can share them.

    Attributes
    ----------
    values, squashed : ndarray of shape (d + 1, d + 1)
        Scatter matrices of [x, 1] and of [T(x), 1] over all rows x, where T is the squashing function.
    parameters : StackParameters
        Parameters with which the scatter matrices were computed.
    """

    values: Array
    squashed: Array
    parameters: StackParameters

    def fits(self, parameters: StackParameters) -> bool:
        """Return True if a fit with `parameters` to the same rows can use these scatter matrices."""
        fitted = self.parameters
        same = fitted.squashing == parameters.squashing and fitted.sums == parameters.sums
        return same and (not fitted.function.uses_threshold or fitted.threshold == parameters.threshold)


class ScatterAccumulator(ScatterSum):
    """Sum of the scatter matrices of consecutive blocks of rows. Within a block, float32 sums are accurate.

    Parameters
    ----------
    d : int
        Number of features.
    parameters : StackParameters
        Only `dtype` and `sums`, the data types of the rows and of their products, are used.
    binary : bool
        True if all values are 0 or 1, so that float32 sums of their products are exact.
    start : int
        Number of rows before the first block. It is added to the row number in error messages.
    """

    def __init__(self, d: int, parameters: StackParameters, binary: bool, start: int = 0) -> None:
        super().__init__(d)
        self._binary, self._row = binary, start
        self._product = np.empty((d, d), parameters.dtype if binary else parameters.sums)

    def add_rows(self, piece: NDArray[np.floating], weights: Array | None = None) -> None:
        """Add the next rows xᵢ.

        With weights wᵢ, the sum Σ wᵢ xᵢ xᵢᵀ is computed in float64, so that integer weights have the same effect as
        repeated rows.
        """
        sums = None if self._binary else piece.sum(axis=0, dtype=np.float64)
        if sums is not None and not np.isfinite(sums).all():
            refuse_not_finite(piece, self._row)
            raise ValueError(_TOO_LARGE)
        self._row += len(piece)
        with np.errstate(over="ignore"):  # the overflow of a sum is reported later, by `Scatter.matrix`
            if weights is not None:
                exact = piece.astype(np.float64)
                half = (exact * (0.5 * weights)[:, None]).T @ exact
                self.add(Scatter(half + half.T, weights @ exact, float(weights.sum())))
                return
            piece = piece.astype(self._product.dtype, copy=False)
            inner = np.matmul(piece.T, piece, out=self._product)
            if sums is None:  # sums of integers are exact, so their order is arbitrary
                self._include(Scatter(inner, np.diag(inner), len(piece)))
            else:
                self.add(Scatter(inner, sums, len(piece)))


def squashed_scatter(activations: Activations, weights: Array, progress: Progress) -> Scatter:
    """Apply one more layer to all rows, and return the scatter matrix of the squashed output of this layer."""
    total = ScatterAccumulator(len(weights), activations.parameters, activations.parameters.function.binary)
    for block, some in activations.advance(weights, progress):
        total.add_rows(block, some)
    return total.total()


@dataclass(frozen=True, eq=False)
class ScatterPass:
    """One pass over the rows, which computes one or two scatter matrices.

    Attributes
    ----------
    parameters : StackParameters
    squashed : bool
        True to compute the scatter matrices of both x and T(x), where T is the squashing function. If T is the
        identity, both are the same and only one is computed.
    weights : tuple of ndarray of shape (d, d + 1)
        Weights W¹, …, Wᵏ of layers 1 to k. If they are given, only the scatter matrix of T(hᵏ) is computed.
    """

    parameters: StackParameters
    squashed: bool = True
    weights: tuple[Array, ...] = ()

    @property
    def count(self) -> int:
        """Number of scatter matrices that the pass computes, one or two."""
        return 2 if self.squashed and not self.weights and not self.parameters.function.linear else 1

    def of(
        self, rows: Rows, start: int = 0, progress: Progress = NO_PROGRESS, sample_weight: Array | None = None
    ) -> tuple[Scatter, ...]:
        """Return the scatter matrices of a block of rows.

        With sample weights wᵢ, the scatter matrices are Σ wᵢ xᵢ xᵢᵀ and Σ wᵢ T(xᵢ) T(xᵢ)ᵀ. `start` is the number of
        rows before this block.

        Raises
        ------
        ValueError
            If a value is NaN or infinite. The message names the row.
        """
        n, d = rows.shape
        if not n:
            return tuple(ScatterSum(d).total() for _ in range(self.count))
        if self.weights:
            *below, last = self.weights
            return (squashed_scatter(Activations(rows, self.parameters, 1, below=below), last, progress),)
        return tuple((self._of_sparse if is_sparse(rows) else self._of_dense)(rows, start, progress, sample_weight))

    def _of_dense(self, rows: Rows, start: int, progress: Progress, weights: Array | None) -> Iterator[Scatter]:
        """Yield the scatter matrix of the rows and, if needed, that of the squashed rows, computed in one pass."""
        p, (n, d), squashes = self.parameters, rows.shape, self.count > 1
        values, squashed = ScatterAccumulator(d, p, False, start), None
        size = min(p.batch_size, rows_per_product(d))
        if squashes:
            squashed, buffer = ScatterAccumulator(d, p, p.function.binary), SquashBuffer(min(size, n), d, p)
        for top in range(0, n, size):
            # Align the rows. BLAS rounds differently for unaligned arrays, such as arrays received from a worker.
            block = in_dtype(np.asarray(rows[top : top + size]), p.dtype, start + top)
            piece = np.require(block, requirements=["C", "A"])
            some = None if weights is None else weights[top : top + size]
            values.add_rows(piece, some)
            if squashed is not None:
                progress.report(top / n)
                squashed.add_rows(buffer.of(piece)[:, :-1], some)
            progress.report((top + len(piece)) / n)
        yield values.total()
        if squashed is not None:
            yield squashed.total()

    def _of_sparse(self, rows: Rows, start: int, progress: Progress, weights: Array | None) -> Iterator[Scatter]:
        """Yield the scatter matrix of the rows, and if needed, that of T(rows), without making the CSR matrix dense.

        The squashing function T is also applied to the zeros, which are not stored.
        """
        p, rows = self.parameters, without_duplicates(rows)
        check_free(32 * rows.nnz, f"the scatter matrix of {rows.nnz} stored values", "pass the rows as a Blocks object")
        with np.errstate(over="ignore"):
            values = rows.data.astype(p.dtype).astype(np.float64)
        if not np.isfinite(values).all():
            place = int(np.flatnonzero(~np.isfinite(values))[0])
            row, column = start + int(np.searchsorted(rows.indptr, place, side="right")) - 1, int(rows.indices[place])
            refuse_value(row, column, rows.data[place], p.dtype)
        yield _sparse_scatter(rows, values, weights, progress.part(0.0, 1.0 / self.count))
        if self.count == 1:
            return
        squashed = p.squash(np.append(values.astype(p.dtype), np.zeros(1, p.dtype))).astype(np.float64)
        constant = float(squashed[-1])
        other = _sparse_scatter(rows, squashed[:-1] - constant, weights, progress.part(0.5, 1.0))
        if constant:  # `other` is the scatter matrix of T(x) − T(0); convert it to that of T(x)
            np.add(other.inner, constant * (other.sums[:, None] + other.sums + other.n * constant), out=other.inner)
            np.add(other.sums, other.n * constant, out=other.sums)
        yield other


def _sparse_scatter(rows: Rows, values: Array, weights: Array | None, progress: Progress) -> Scatter:
    """Return the scatter matrix of a CSR matrix whose stored values are replaced by `values`."""
    n, d = rows.shape
    inner = np.zeros((d, d))
    stored = rows.indptr.astype(np.int64)
    products = np.cumsum(np.diff(stored) ** 2)
    weighted = values if weights is None else values * np.repeat(weights, np.diff(stored))
    top = 0
    while top < n:
        done = products[top - 1] if top else 0
        bottom = max(top + 1, int(np.searchsorted(products, done + _SPARSE_PRODUCTS, side="right")))
        places = slice(stored[top], stored[bottom])
        ends, shape = rows.indptr[top : bottom + 1] - rows.indptr[top], (bottom - top, d)
        piece = type(rows)((values[places], rows.indices[places], ends), shape=shape)
        right = piece if weights is None else type(rows)((weighted[places], rows.indices[places], ends), shape=shape)
        terms = (piece.T @ right).tocoo()
        inner[terms.row, terms.col] += terms.data
        top = bottom
        progress.report(top / n)
    total: float = n
    if weights is not None:
        inner, total = (inner + inner.T) / 2.0, float(weights.sum())
    return Scatter(inner, np.bincount(rows.indices, weighted, minlength=d).astype(np.float64), total)


def input_scatter(rows: Rows, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> InputScatter:
    """Return the scatter matrices of the rows and of the squashed rows, computed in one pass.

    Parameters
    ----------
    rows : array_like of shape (n, d)
        Array, memmap or CSR matrix, which is read in blocks.
    parameters : StackParameters
        Threshold, squashing function, batch size, and the data types of rows and sums (`dtype`, `sums`) are used.

    Raises
    ------
    ValueError
        If a value is NaN or infinite. The message names the row.
    """
    scatters = [scatter.matrix for scatter in ScatterPass(parameters).of(rows, progress=progress)]
    return InputScatter(scatters[0], scatters[-1], parameters)


def scatter_after(
    weights: NDArray[np.floating], squashed: NDArray[np.floating], progress: Progress = NO_PROGRESS
) -> Array:
    """Return the scatter matrix W̃ S_T W̃ᵀ of a layer's output (see the module docstring).

    `weights` are the weights W of the layer. `squashed` is S_T, the scatter matrix of the layer's squashed input.
    """
    d = len(weights)
    half = product(weights, squashed, progress)
    scatter = np.empty((d + 1, d + 1), half.dtype)
    for rows in tiles(d, -(-d // _STRIPS), progress):  # the result is symmetric, so only half of it is computed
        scatter[rows, : rows.stop] = product(half[rows], weights[: rows.stop].T, progress)
        scatter[: rows.start, rows] = scatter[rows, : rows.start].T
        block = scatter[rows, rows]
        block[:] = (block + block.T) / 2  # remove the slight asymmetry that rounding causes
    scatter[:d, d] = scatter[d, :d] = half[:, -1]
    scatter[d, d] = squashed[d, d]
    return scatter
