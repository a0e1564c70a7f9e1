"""Scatter matrices of the layers' inputs: sums over rows, streamed over blocks of them.

Layer k + 1 is fitted on hᵏ = Wᵏ [T(hᵏ⁻¹); 1] (eq. 11), whose scatter follows without touching hᵏ:

    S_h = W̃ S_T W̃ᵀ,   S_T = [T, 1]ᵀ[T, 1],   W̃ = [W; 0 … 0 1].

A thresholded T holds only 0 and 1, so that S_T is exact in float32, and T packs to one bit a value. Other sums round,
and are made by one fixed tree, so that they are the same to the bit whoever makes its parts.
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

__all__ = [
    "GROUP", "Activations", "Entered", "InputScatter", "Part", "Scatter", "ScatterSum", "block_of", "dense_rows",
    "in_dtype",
    "input_scatter", "is_sparse", "refuse_not_finite", "scatter_after", "without_duplicates",
]  # fmt: skip

Array = NDArray[np.float64]
Rows = Any  # an array, a memmap or a CSR matrix of shape (n, d)

GROUP = 16
"""How many scatters are added one after the other; so many of these sums make up the next larger one."""

_EXACT_ROWS = 4096  # float32 sums of squares of values in [0, 1] are kept this short before float64 takes over
_PACKED_LIMIT = 256 << 20  # bytes of packed activations kept between the passes; beyond it they are recomputed
_SPARSE_PRODUCTS = 2_000_000  # of pairs of stored values, between two reports of progress
_TOO_LARGE = "X contains values so large that their squares add up to infinity; scale the features to about 1"


@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter of rows, a sum over them: the scatter of two blocks together is that of the one plus the other's.

    Attributes
    ----------
    inner : ndarray of shape (d, d), float64
        AᵀA of the rows A.
    sums : ndarray of shape (d,), float64
        Of each feature.
    n : float
        Number of rows, or the sum of their weights.

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
        """Return the scatter of a block of rows, what layer 1 is fitted on.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            An array, memmap or sparse matrix.
        parameters : StackParameters, optional
            Its dtype, noise and batch size say how rows are multiplied; the sums are float64 always.
        start : int
            Number of the first row in the whole, which a refusal counts from.
        progress : Progress
            Listener and cancel point.

        Raises
        ------
        ValueError
            If the rows are not 2-D or hold no numbers, a value is NaN or infinite, with its row, or a parameter is out
            of range.
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
        """Return the scatter of T(hᵏ) of a block of rows, from which that of hᵏ⁺¹ follows (`scatter_after`).

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Finite.
        parameters : StackParameters, optional
            Its squashing, threshold and dtype are used.
        weights : sequence of ndarray of shape (d, d + 1)
            W¹, …, Wᵏ, such as ``SLIDE.weights_``; none for T(x).
        progress : Progress
            Listener and cancel point.

        Raises
        ------
        ValueError
            If the rows are not 2-D or hold no numbers, a matrix of weights is not of their width, or a parameter is out
            of range.
        """
        rows = block_of(rows)
        d = rows.shape[1]
        for number, each in enumerate(weights, start=1):
            if np.shape(each) != (d, d + 1):
                raise ValueError(
                    f"weights of layer {number} are {np.shape(each)}; of {d} features they are {(d, d + 1)}"
                )
        return Part((parameters or StackParameters()).checked(), weights=tuple(weights)).of(rows, 0, progress)[-1]

    def __add__(self, other: Scatter) -> Scatter:
        if not isinstance(other, Scatter):
            return NotImplemented
        if len(other.sums) != len(self.sums):
            raise ValueError(f"a scatter of {len(self.sums)} features and one of {len(other.sums)} do not add up")
        return Scatter(self.inner + other.inner, self.sums + other.sums, self.n + other.n)

    def __sizeof__(self) -> int:
        return self.inner.nbytes + self.sums.nbytes

    @property
    def matrix(self) -> Array:
        """S = X̃ᵀX̃ of shape (d + 1, d + 1), a constant 1 appended to each row.

        Raises
        ------
        ValueError
            If values are so large that their squares add up to infinity.
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
    """Sum of scatters by one fixed tree: 16 are added one after the other, then 16 such sums, and so on.

    Sums of 16 may thus be made anywhere and in any order: added up here, they give the same to the bit. In memory are
    as many sums as the tree has levels.

    Parameters
    ----------
    d : int
        Number of features.
    """

    def __init__(self, d: int) -> None:
        self._d = d
        self._levels = [_Level.empty(d)]

    def add(self, scatter: Scatter) -> None:
        """Add the next one."""
        self.add_terms(scatter.inner, scatter.sums, scatter.n)

    def add_terms(self, inner: NDArray[np.floating], sums: NDArray[np.floating], n: float) -> None:
        """Add the next one by its parts, which are copied."""
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
        """Return the sum, which ends it."""
        first, *larger = self._levels
        for level in larger:
            level.add(first.inner, first.sums, first.n)
            first = level
        self._levels = []
        return Scatter(first.inner, first.sums, first.n)


@dataclass
class _Level:
    """What has been added up of one group, and how many scatters that are."""

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
    """What the first two layers need of the rows, at most noises: it may be kept and reused.

    Attributes
    ----------
    values, squashed : ndarray of shape (d + 1, d + 1)
        Scatter of [x, 1] and of [T(x), 1].
    threshold, squashing
        The T of `squashed`.
    sums : {"float32", "float64"}
        The dtype that products of rows were summed in.
    """

    values: Array
    squashed: Array
    threshold: float
    squashing: str
    sums: str

    def fits(self, parameters: StackParameters) -> bool:
        """Whether these are the scatters that `parameters` ask for."""
        same = self.squashing == parameters.squashing and self.sums == parameters.sums
        uses_threshold = squashing_of(self.squashing).uses_threshold
        return same and (not uses_threshold or self.threshold == parameters.threshold)


class Entered:
    """[T(h), 1] of one block of rows after another, in the same memory: h of the next layer is its product with W̃ᵀ.

    Parameters
    ----------
    size : int
        Most rows of a block.
    parameters : StackParameters
        Its threshold, squashing and dtype are used.
    """

    def __init__(self, size: int, d: int, parameters: StackParameters) -> None:
        self._rows = np.ones((size, d + 1), parameters.dtype)
        self._parameters = parameters

    def of(self, h: NDArray[Any]) -> NDArray[np.floating]:
        """Return [T(h), 1] of so many rows of h; what was returned before is overwritten."""
        entered = self.filled(len(h))
        squash(self._parameters.squashing, h, self._parameters.threshold, out=entered[:, :-1])
        return entered

    def filled(self, count: int) -> NDArray[np.floating]:
        """Return the first rows as they are."""
        return self._rows[:count]


class _Products:
    """Scatter of pieces of rows, none longer than float32 sums may be."""

    def __init__(self, d: int, parameters: StackParameters, binary: bool, start: int = 0) -> None:
        self._sum, self._binary, self._row = ScatterSum(d), binary, start
        self._product = np.empty((d, d), parameters.dtype if binary else parameters.sums)

    def add(self, piece: NDArray[np.floating], weights: Array | None = None) -> None:
        sums = None if self._binary else _finite_sums(piece, self._row)
        if weights is not None:
            self._add_weighted(piece, weights)
            return
        piece = piece.astype(self._product.dtype, copy=False)
        with np.errstate(over="ignore"):  # looked for once, in `Scatter.matrix`
            inner = np.matmul(piece.T, piece, out=self._product)
            self._sum.add_terms(inner, np.diag(inner) if sums is None else sums, len(piece))
        self._row += len(piece)

    def _add_weighted(self, piece: NDArray[np.floating], weights: Array) -> None:
        """Add Σ wᵢ xᵢ xᵢᵀ in float64, as the scatter of so many copies of each row is where weights are whole."""
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
    """Whether rows are a matrix or array of SciPy's that stores what is not 0, which is not imported for this."""
    return hasattr(rows, "tocsr")


def block_of(given: Any, name: str = "X") -> Any:
    """Return rows as an array or CSR matrix of numbers.

    Raises
    ------
    ValueError
        If they are not 2-D, or hold no numbers; by their name.
    """
    block = given.tocsr() if is_sparse(given) else np.asarray(given)
    if block.ndim != 2 or block.dtype.kind not in "fbiu":
        raise ValueError(f"{name} is {block.ndim}-D {block.dtype}; it must hold rows of numbers, 2-D")
    return block


def without_duplicates(rows: Any) -> Any:
    """Return a CSR matrix that stores each value once, its columns in order: itself, or a copy."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def dense_rows(rows: Rows, start: int, stop: int) -> NDArray[Any]:
    """Return some rows as an array; of a CSR matrix they are written out."""
    block = rows[start:stop]
    return np.asarray(block.toarray() if is_sparse(block) else block)


def _block_rows(d: int) -> int:
    """Return how many rows a scatter is made of at once: a product of a few thousand is a fifth faster a row."""
    return min(_EXACT_ROWS, 4 * rows_per_block(d))


@dataclass(frozen=True, eq=False)
class Part:
    """What one pass over the rows sums, of any block of them.

    Attributes
    ----------
    parameters : StackParameters
    squashed : bool
        Whether the scatter of T(x) is wanted beside that of x; it is the same where T is linear.
    weights : tuple of ndarray of shape (d, d + 1)
        W¹, …, Wᵏ: not the scatter of x, but that of T(hᵏ) is wanted.
    """

    parameters: StackParameters
    squashed: bool = True
    weights: tuple[Array, ...] = ()

    @property
    def count(self) -> int:
        """How many scatters that are, one or two."""
        return 2 if self.squashed and not self.weights and not squashing_of(self.parameters.squashing).linear else 1

    def of(
        self, rows: Rows, start: int = 0, progress: Progress = NO_PROGRESS, sample_weight: Array | None = None
    ) -> tuple[Scatter, ...]:
        """Return the scatters of a block; `start` is the number of its first row in the whole.

        With weights of its rows they are Σ wᵢ xᵢ xᵢᵀ, of the first layers only.

        Raises
        ------
        ValueError
            If a value is NaN or infinite, with its row in the whole.
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
    """Yield the scatter of the rows and, if wanted, of the squashed rows, made in one pass."""
    n, d = rows.shape
    values = _Products(d, parameters, False, start)
    size = min(parameters.batch_size, _block_rows(d))
    entered = Entered(min(size, n) if squashed else 0, d, parameters)
    others = _Products(d, parameters, squashing_of(parameters.squashing).binary) if squashed else None
    for top in range(0, n, size):
        # Aligned, for of rows that came over a wire another product would be made, with other bits.
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
    """Yield the same of a CSR matrix, never written out: what is not stored is 0, and squashed T(0)."""
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
    if constant:  # the scatter of U + c from that of U
        np.add(other.inner, constant * (other.sums[:, None] + other.sums + other.n * constant), out=other.inner)
        np.add(other.sums, other.n * constant, out=other.sums)
    yield other


def _sparse_scatter(rows: Rows, values: Array, weights: Array | None, progress: Progress) -> Scatter:
    """Return the scatter of a CSR matrix with these values in place of its own."""
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
    """Return the scatter of the rows and of the squashed rows, in one pass.

    Parameters
    ----------
    rows : array_like of shape (n, d)
        An array, memmap or CSR matrix, read in blocks.
    parameters : StackParameters
        Its threshold, squashing, dtype, batch size and `sums` are used.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, with its row.
    """
    scatters = [scatter.matrix for scatter in Part(parameters).of(rows, progress=progress)]
    return InputScatter(scatters[0], scatters[-1], parameters.threshold, parameters.squashing, parameters.sums)


def in_dtype(block: NDArray[Any], dtype: DTypeLike, start: int) -> NDArray[Any]:
    """Return rows in another dtype; `start` is the number of the first.

    Raises
    ------
    ValueError
        If a value is too large for it.
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
        f"X contains {value:.3g} in row {row}, feature {column}, more than {dtype} can hold; "
        "scale the features to about 1"
    )


def refuse_not_finite(block: NDArray[np.floating], start: int) -> None:
    """Raise ValueError if a value of some rows is not finite, with its row, counted from that of the first."""
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if bad.size:
        row = block[bad[0]]
        column = int(np.flatnonzero(~np.isfinite(row))[0])
        _refuse_value(start + int(bad[0]), column, row[column])


def _refuse_value(row: int, column: int, value: float) -> NoReturn:
    raise ValueError(f"X contains NaN or infinity: row {row}, feature {column} is {value}")


def scatter_after(weights: Array, squashed: Array, progress: Progress = NO_PROGRESS) -> Array:
    """Return the scatter of [W t, 1] from that of t: W̃ S_T W̃ᵀ."""
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
    """Squashed representations T(h⁰), T(h¹), … of all rows, block by block, one pass a layer.

    The representations themselves are kept in `out`, [h⁰ | h¹ | …], where it is given; else the squashed ones are, as
    bits, from each of the given number of passes to the next. Weights of layers below say where to begin; of rows, in
    the scatters.
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
        """Number of passes made."""
        return len(self._steps)

    def advance(self, weights: Array, progress: Progress) -> Scatter:
        """Apply one more layer to all rows and return the scatter of what comes out, squashed."""
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
        """Return [T(h), 1] of some rows, h the representation reached so far."""
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
