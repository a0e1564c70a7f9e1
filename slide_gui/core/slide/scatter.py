"""Scatter matrices of the layers' inputs, summed over blocks of rows.

Layer k + 1 is fitted on hᵏ = Wᵏ [T(hᵏ⁻¹); 1] (eq. 11). The scatter of hᵏ follows from S_T, the scatter of T(hᵏ⁻¹):

    S_h = W̃ S_T W̃ᵀ,   S_T = [T, 1]ᵀ[T, 1],   W̃ = [W; 0 … 0 1].

The threshold function gives only 0 and 1. Then S_T is exact in float32, and each value of T is stored as one bit. All
other sums have rounding errors. They are summed in the order of one fixed tree, so that the result is bit-identical
wherever its parts are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from slide_gui.core.linear_algebra import WHOLE, product, rows_per_block
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.squashing import squash, squashing_of
from slide_gui.progress import NO_PROGRESS, Progress

Array = NDArray[np.float64]
Rows = Any  # an array, a memmap or a CSR matrix of shape (n, d)

GROUP = 16
"""Number of terms in each sum of the fixed tree."""

_EXACT_ROWS = 4096  # largest number of rows in a float32 sum; sums of more rows are computed in float64
_PACKED_LIMIT = 256 << 20  # bytes of packed activations stored between passes; larger ones are recomputed
_SPARSE_PRODUCTS = 2_000_000  # products of stored values between two progress reports
_TOO_LARGE = "X contains values so large that the sum of their squares is infinite; scale the features to about 1"


@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter of rows; the scatter of two blocks together is the sum of their scatters.

    Attributes
    ----------
    inner : ndarray of shape (d, d), float64
        AᵀA for the matrix A of rows.
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
        cls,
        rows: Rows,
        parameters: StackParameters | None = None,
        *,
        start: int = 0,
        progress: Progress = NO_PROGRESS,
    ) -> Scatter:
        """Return the scatter of a block of rows, on which layer 1 is fitted.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Array, memmap or sparse matrix.
        parameters : StackParameters, optional
            Data type, noise level and batch size determine how rows are multiplied. Sums are always float64.
        start : int
            Number of rows before this block, added to the row number in an error.
        progress : Progress
            Receives the progress and can cancel the computation.

        Raises
        ------
        ValueError
            If the rows are not a 2-D array of numbers, if a value is NaN or infinite, or if a parameter is out of
            range. The message names the row.
        """
        return Part((parameters or StackParameters()).checked(), squashed=False).of(block_of(rows), start, progress)[0]

    @classmethod
    def squashed(
        cls,
        rows: Rows,
        parameters: StackParameters | None = None,
        weights: Sequence[Array] = (),
        *,
        progress: Progress = NO_PROGRESS,
    ) -> Scatter:
        """Return the scatter of the squashed representation T(hᵏ) of a block of rows.

        `scatter_after` computes the scatter of hᵏ⁺¹ from it.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Rows of finite values.
        parameters : StackParameters, optional
            Squashing function, threshold and data type are used.
        weights : sequence of ndarray of shape (d, d + 1)
            Weights W¹, …, Wᵏ, such as ``SLIDE.weights_``; empty for T(x).
        progress : Progress
            Receives the progress and can cancel the computation.

        Raises
        ------
        ValueError
            If the rows are not a 2-D array of numbers, if weights do not have the shape for the features, or if a
            parameter is out of range.
        """
        rows = block_of(rows)
        d = rows.shape[1]
        for number, each in enumerate(weights, start=1):
            if np.shape(each) != (d, d + 1):
                raise ValueError(
                    f"weights of layer {number} have shape {np.shape(each)}; for {d} features it must be {(d, d + 1)}"
                )
        return Part((parameters or StackParameters()).checked(), weights=tuple(weights)).of(rows, 0, progress)[-1]

    def __add__(self, other: Scatter) -> Scatter:
        if not isinstance(other, Scatter):
            return NotImplemented
        if len(other.sums) != len(self.sums):
            raise ValueError(f"a scatter of {len(self.sums)} features cannot be added to one of {len(other.sums)}")
        return Scatter(self.inner + other.inner, self.sums + other.sums, self.n + other.n)

    def __sizeof__(self) -> int:
        return self.inner.nbytes + self.sums.nbytes

    @property
    def matrix(self) -> Array:
        """The scatter S = X̃ᵀX̃ of rows with a constant 1 appended, of shape (d + 1, d + 1).

        Raises
        ------
        ValueError
            If values are so large that the sum of their squares is infinite.
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
    """Sum of scatters in a fixed tree: 16 are added one after the other, then 16 of these sums, and so on.

    Sums of 16 can be computed elsewhere and in any order; their total here is bit-identical. One sum per level of the
    tree is in memory.

    Parameters
    ----------
    d : int
        Number of features.
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._levels = [_Level.empty(d)]

    def add(self, scatter: Scatter) -> None:
        """Add the next scatter."""
        self.add_terms(scatter.inner, scatter.sums, scatter.n)

    def add_terms(self, inner: NDArray[np.floating], sums: NDArray[np.floating], n: float) -> None:
        """Add the next scatter, given by its attributes; the arrays are copied."""
        for number in count():
            if number == len(self._levels):
                self._levels.append(_Level.empty(self._d))
            level = self._levels[number]
            level.add(inner, sums, n)
            level.count += 1
            if level.count < GROUP:
                return
            self._levels[number] = _Level.empty(self._d)
            inner, sums, n = level.inner, level.sums, level.n

    def total(self) -> Scatter:
        """Return the total; nothing can be added afterwards."""
        first, *larger = self._levels
        for level in larger:
            level.add(first.inner, first.sums, first.n)
            first = level
        self._levels = []
        return Scatter(first.inner, first.sums, first.n)


@dataclass
class _Level:
    """The sum of one group so far, and the number of its terms."""

    inner: Array
    sums: Array
    n: float = 0
    count: int = 0

    @classmethod
    def empty(cls, d: int) -> _Level:
        return cls(np.zeros((d, d)), np.zeros(d))

    def add(self, inner: NDArray[np.floating], sums: NDArray[np.floating], n: float) -> None:
        self.inner += inner
        self.sums += sums
        self.n += n


@dataclass(frozen=True, eq=False)
class InputScatter:
    """Scatters of the rows that the first two layers need; they can be reused at most noise levels.

    Attributes
    ----------
    values, squashed : ndarray of shape (d + 1, d + 1)
        Scatter of [x, 1] and of [T(x), 1].
    threshold, squashing
        Threshold and name of the squashing function T.
    sums : {"float32", "float64"}
        Data type in which products of rows were summed.
    """

    values: Array
    squashed: Array
    threshold: float
    squashing: str
    sums: str

    def fits(self, parameters: StackParameters) -> bool:
        """Return True if a fit with `parameters` can use these scatters."""
        same = self.squashing == parameters.squashing and self.sums == parameters.sums
        uses_threshold = squashing_of(self.squashing).uses_threshold
        return same and (not uses_threshold or self.threshold == parameters.threshold)


class Entered:
    """A reused buffer for [T(h), 1] of blocks of rows; its product with W̃ᵀ is h of the next layer.

    Parameters
    ----------
    size : int
        Largest number of rows in a block.
    d : int
        Number of features.
    parameters : StackParameters
        Threshold, squashing function and data type are used.
    """

    def __init__(self, size: int, d: int, parameters: StackParameters) -> None:
        self._rows = np.ones((size, d + 1), parameters.dtype)
        self._parameters = parameters

    def of(self, h: NDArray[Any]) -> NDArray[np.floating]:
        """Return [T(h), 1] for a block h; this overwrites the previous result."""
        entered = self.filled(len(h))
        squash(self._parameters.squashing, h, self._parameters.threshold, out=entered[:, :-1])
        return entered

    def filled(self, count: int) -> NDArray[np.floating]:
        """Return the first `count` rows of the buffer, unchanged."""
        return self._rows[:count]


class _Products:
    """Scatter of consecutive pieces of rows, each short enough for float32 sums."""

    def __init__(self, d: int, parameters: StackParameters, binary: bool, start: int = 0) -> None:
        self._sum, self._binary, self._row = ScatterSum(d), binary, start
        self._product = np.empty((d, d), parameters.dtype if binary else parameters.sums)

    def add(self, piece: NDArray[np.floating], weights: Array | None = None) -> None:
        sums = None if self._binary else _finite_sums(piece, self._row)
        if weights is not None:
            self._add_weighted(piece, weights)
            return
        piece = piece.astype(self._product.dtype, copy=False)
        with np.errstate(over="ignore"):  # `Scatter.matrix` checks the total
            inner = np.matmul(piece.T, piece, out=self._product)
            self._sum.add_terms(inner, np.diag(inner) if sums is None else sums, len(piece))
        self._row += len(piece)

    def _add_weighted(self, piece: NDArray[np.floating], weights: Array) -> None:
        """Add Σ wᵢ xᵢ xᵢᵀ in float64; with integer weights it equals the scatter of repeated rows."""
        exact = piece.astype(np.float64)
        with np.errstate(over="ignore"):
            half = (exact * (0.5 * weights)[:, None]).T @ exact
            self._sum.add_terms(half + half.T, weights @ exact, float(weights.sum()))
        self._row += len(piece)

    def total(self) -> Scatter:
        return self._sum.total()


def _finite_sums(piece: NDArray[np.floating], start: int) -> Array:
    sums: Array = piece.sum(axis=0, dtype=np.float64)
    if not np.isfinite(sums).all():
        refuse_not_finite(piece, start)
        raise ValueError(_TOO_LARGE)
    return sums


def is_sparse(rows: Any) -> bool:
    """Return True if the rows are a SciPy sparse matrix or array; SciPy is not imported for the check."""
    return hasattr(rows, "tocsr")


def block_of(given: Any, name: str = "X") -> Any:
    """Return rows as an array or CSR matrix of numbers.

    Raises
    ------
    ValueError
        If the rows are not a 2-D array of numbers. The message contains `name`.
    """
    block = given.tocsr() if is_sparse(given) else np.asarray(given)
    if block.ndim != 2 or block.dtype.kind not in "fbiu":
        raise ValueError(f"{name} is a {block.ndim}-D array of {block.dtype}; it must be a 2-D array of numbers")
    return block


def without_duplicates(rows: Any) -> Any:
    """Return a CSR matrix with sorted columns and without duplicate entries: the given one, or a copy."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def dense_rows(rows: Rows, start: int, stop: int) -> NDArray[Any]:
    """Return some rows as a dense array."""
    block = rows[start:stop]
    return np.asarray(block.toarray() if is_sparse(block) else block)


def _block_rows(d: int) -> int:
    """Return the number of rows per product; products of a few thousand rows are a fifth faster per row."""
    return min(_EXACT_ROWS, 4 * rows_per_block(d))


@dataclass(frozen=True, eq=False)
class Part:
    """The scatters that one pass over the rows computes.

    Attributes
    ----------
    parameters : StackParameters
    squashed : bool
        True to compute the scatters of both x and T(x). They are the same if T is linear.
    weights : tuple of ndarray of shape (d, d + 1)
        Weights W¹, …, Wᵏ. If there are any, only the scatter of T(hᵏ) is computed.
    """

    parameters: StackParameters
    squashed: bool = True
    weights: tuple[Array, ...] = ()

    @property
    def count(self) -> int:
        """Number of scatters, one or two."""
        return 2 if self.squashed and not self.weights and not squashing_of(self.parameters.squashing).linear else 1

    def of(
        self, rows: Rows, start: int = 0, progress: Progress = NO_PROGRESS, sample_weight: Array | None = None
    ) -> tuple[Scatter, ...]:
        """Return the scatters of a block of rows.

        With sample weights the scatters of x and T(x) are Σ wᵢ xᵢ xᵢᵀ. `start` is the number of rows before this
        block.

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
            return (Activations(rows, self.parameters, 1, below=below).advance(last, progress),)
        squashed = self.count > 1
        if is_sparse(rows):
            return tuple(_sparse_scatters(rows, self.parameters, squashed, start, progress, sample_weight))
        return tuple(_scatters(rows, self.parameters, squashed, start, progress, sample_weight))


def _scatters(
    rows: Rows, parameters: StackParameters, squashed: bool, start: int, progress: Progress, weights: Array | None
) -> Iterator[Scatter]:
    """Yield the scatter of the rows and, with `squashed`, of the squashed rows, from one pass."""
    n, d = rows.shape
    values = _Products(d, parameters, False, start)
    size = min(parameters.batch_size, _block_rows(d))
    entered = Entered(min(size, n) if squashed else 0, d, parameters)
    others = _Products(d, parameters, squashing_of(parameters.squashing).binary) if squashed else None
    for top in range(0, n, size):
        # Align the rows: BLAS rounds differently for unaligned arrays, such as those received from a worker.
        block = in_dtype(np.asarray(rows[top : top + size]), parameters.dtype, start + top)
        piece = np.require(block, requirements=["C", "A"])
        some = None if weights is None else weights[top : top + size]
        values.add(piece, some)
        if others is not None:
            progress.report(top / n)
            others.add(entered.of(piece)[:, :-1], some)
        progress.report((top + len(piece)) / n)
    yield values.total()
    if others is not None:
        yield others.total()


def _sparse_scatters(
    rows: Rows, parameters: StackParameters, squashed: bool, start: int, progress: Progress, weights: Array | None
) -> Iterator[Scatter]:
    """Yield the same scatters for a CSR matrix without making it dense; values that are not stored become T(0)."""
    rows = without_duplicates(rows)
    with np.errstate(over="ignore"):
        values = rows.data.astype(parameters.dtype).astype(np.float64)
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        row, column = start + int(np.searchsorted(rows.indptr, place, side="right")) - 1, int(rows.indices[place])
        if np.isfinite(rows.data[place]):
            _refuse_large(row, column, rows.data[place], parameters.dtype)
        _refuse_value(row, column, values[place])
    share = 2 if squashed else 1
    yield _sparse_scatter(rows, values, weights, progress.part(0.0, 1.0 / share))
    if not squashed:
        return
    with_zero = np.append(values.astype(parameters.dtype), np.zeros(1, parameters.dtype))
    entered = squash(parameters.squashing, with_zero, parameters.threshold).astype(np.float64)
    constant = float(entered[-1])
    other = _sparse_scatter(rows, entered[:-1] - constant, weights, progress.part(0.5, 1.0))
    if constant:  # compute the scatter of U + c from the scatter of U
        np.add(other.inner, constant * (other.sums[:, None] + other.sums + other.n * constant), out=other.inner)
        np.add(other.sums, other.n * constant, out=other.sums)
    yield other


def _sparse_scatter(rows: Rows, values: Array, weights: Array | None, progress: Progress) -> Scatter:
    """Return the scatter of a CSR matrix whose stored values are replaced by `values`."""
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
    """Return the scatters of the rows and of the squashed rows, computed in one pass.

    Parameters
    ----------
    rows : array_like of shape (n, d)
        Array, memmap or CSR matrix, which is read in blocks.
    parameters : StackParameters
        Threshold, squashing function, data type, batch size and `sums` are used.

    Raises
    ------
    ValueError
        If a value is NaN or infinite. The message names the row.
    """
    scatters = [scatter.matrix for scatter in Part(parameters).of(rows, progress=progress)]
    return InputScatter(scatters[0], scatters[-1], parameters.threshold, parameters.squashing, parameters.sums)


def in_dtype(block: NDArray[Any], dtype: DTypeLike, start: int) -> NDArray[Any]:
    """Return rows converted to a data type; `start` is the number of the first row.

    Raises
    ------
    ValueError
        If a value is too large for the data type.
    """
    try:
        with np.errstate(over="raise"):
            return block.astype(dtype, copy=False)
    except FloatingPointError:
        most = np.finfo(np.dtype(dtype)).max
        row, column = np.argwhere(np.isfinite(block) & (np.abs(block) > most))[0].tolist()
        _refuse_large(start + row, column, block[row, column], np.dtype(dtype).name)


def _refuse_large(row: int, column: int, value: float, dtype: str) -> NoReturn:
    raise ValueError(
        f"X contains {value:.3g} in row {row}, feature {column}, which is too large for {dtype}; "
        "scale the features to about 1"
    )


def refuse_not_finite(block: NDArray[np.floating], start: int) -> None:
    """Raise ValueError with the place of the first value that is not finite; `start` is the number of the first row."""
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if bad.size:
        row = block[bad[0]]
        column = int(np.flatnonzero(~np.isfinite(row))[0])
        _refuse_value(start + int(bad[0]), column, row[column])


def _refuse_value(row: int, column: int, value: float) -> NoReturn:
    raise ValueError(f"X contains NaN or infinity: row {row}, feature {column} is {value}")


def scatter_after(weights: Array, squashed: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the scatter W̃ S_T W̃ᵀ of [W t, 1], given the scatter S_T of [t, 1]."""
    d = len(weights)
    progress.report(0.0)
    half = product(weights, squashed, progress)
    progress.report(0.0)
    inner = product(half, weights.T, progress)
    scatter = np.empty((d + 1, d + 1))
    for start in range(0, d, WHOLE):  # exactly symmetric, in pieces that can be cancelled
        rows = slice(start, min(start + WHOLE, d))
        np.add(inner[rows], inner[:, rows].T, out=scatter[rows, :d])
        scatter[rows, :d] *= 0.5
        progress.report(0.0)
    scatter[:d, d] = scatter[d, :d] = half[:, -1]
    scatter[d, d] = squashed[d, d]
    return scatter


class Activations:
    """Squashed representations T(h⁰), T(h¹), … of all rows, computed in blocks, with one pass per layer.

    Parameters
    ----------
    rows : array, memmap or CSR matrix of shape (n, d)
    parameters : StackParameters
    passes : int
        Number of passes that will be made.
    out : ndarray, optional
        Array that stores the representations [h⁰ | h¹ | …]. Without it, binary representations are stored as bits
        between passes, and others are computed again in each pass.
    below : sequence of ndarray of shape (d, d + 1)
        Weights of layers that are applied before the first pass.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows in the scatters.
    """

    def __init__(
        self,
        rows: Rows,
        parameters: StackParameters,
        passes: int,
        out: NDArray[np.floating] | None = None,
        below: Sequence[Array] = (),
        sample_weight: Array | None = None,
    ) -> None:
        self._rows, self._parameters, self._out, self._weights = rows, parameters, out, sample_weight
        self._passes = len(below) + passes
        self._steps: list[NDArray[np.floating]] = [self._step(weights) for weights in below]
        self._binary = squashing_of(parameters.squashing).binary
        n, d = rows.shape
        self._packs = out is None and self._binary and n * (d // 8 + 1) <= _PACKED_LIMIT
        self._packed: NDArray[np.uint8] | None = None
        self._size = min(rows_per_block(d), n)
        self._entered = Entered(self._size, d, parameters)
        self._h = np.empty((self._size if out is None else 0, d), parameters.dtype)

    @property
    def passed(self) -> int:
        """Number of layers applied so far."""
        return len(self._steps)

    def advance(self, weights: Array, progress: Progress) -> Scatter:
        """Apply one more layer to all rows and return the scatter of its squashed output."""
        p, (n, d) = self._parameters, self._rows.shape
        step = self._step(weights)
        total = _Products(d, p, self._binary)
        packs = self._packs and self.passed + 1 < self._passes
        packed = np.empty((n, (d + 7) // 8), np.uint8) if packs else None
        column = (len(self._steps) + 1) * d
        height = min(_block_rows(d), n)
        squashed = np.empty((height, d), p.dtype)
        for top in range(0, n, height):
            bottom = min(top + height, n)
            for start in range(top, bottom, self._size):
                stop = min(start + self._size, bottom)
                h = self._h[: stop - start] if self._out is None else self._out[start:stop, column : column + d]
                np.matmul(self._previous(start, stop), step, out=h)
                t = squash(p.squashing, h, p.threshold, out=squashed[start - top : stop - top])
                if packed is not None:
                    packed[start:stop] = np.packbits(t.astype(bool), axis=1)
                progress.report(start / n)
            total.add(squashed[: bottom - top], None if self._weights is None else self._weights[top:bottom])
            progress.report(bottom / n)
        self._steps.append(step)
        self._packed = packed
        progress.report(1.0)
        return total.total()

    def _step(self, weights: Array) -> NDArray[np.floating]:
        return weights.T.astype(self._parameters.dtype, order="C")

    def _previous(self, start: int, stop: int) -> NDArray[np.floating]:
        """Return [T(h), 1] of some rows, where h is the current representation."""
        p, d = self._parameters, self._rows.shape[1]
        if self._out is not None:
            column, block = len(self._steps) * d, self._out[start:stop]
            if column == 0:
                block[:, :d] = in_dtype(dense_rows(self._rows, start, stop), p.dtype, start)
            return self._entered.of(block[:, column : column + d])
        if self._packed is not None:
            entered = self._entered.filled(stop - start)
            np.copyto(entered[:, :d], np.unpackbits(self._packed[start:stop], axis=1, count=d))
            return entered
        entered = self._entered.of(dense_rows(self._rows, start, stop).astype(p.dtype, copy=False))
        for step in self._steps:
            entered = self._entered.of(np.matmul(entered, step, out=self._h[: stop - start]))
        return entered
