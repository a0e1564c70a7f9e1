"""Read rows in blocks, and compute their squashed representations T(h⁰), T(h¹), ….

T is the squashing function, h⁰ are the rows, and hᵏ is the output of layer k.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from slide_gui.core.linear_algebra import Array, rows_per_block
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.progress import Progress

Rows = Any  # an array, a memmap or a CSR matrix of shape (n, d)

EXACT_ROWS = 4096  # largest number of rows whose products are summed in float32; longer sums use float64
# Largest number of bytes of stored representations with values 0 and 1. Each pass computes larger ones again.
PACKED_LIMIT = 256 << 20


def is_sparse(rows: Any) -> bool:
    """Return True if the rows are a SciPy sparse matrix or array. The check does not import SciPy."""
    return hasattr(rows, "tocsr")


def block_of(given: Any, name: str = "X") -> Any:
    """Return rows as an array or CSR matrix of numbers.

    Raises
    ------
    ValueError
        If the rows are not a 2-D array of numbers, or have masked cells. The message refers to the rows as `name`.
    """
    if np.ma.is_masked(given):
        raise ValueError(f"{name} has masked cells; fill them in, or leave their rows out")
    block = given.tocsr() if is_sparse(given) else np.asarray(given)
    if block.ndim != 2 or block.dtype.kind not in "fbiu":
        raise ValueError(f"{name} is a {block.ndim}-D array of {block.dtype}; it must be a 2-D array of numbers")
    return block


def without_duplicates(rows: Any) -> Any:
    """Return `rows`, or a copy, as a CSR matrix with sorted column indices and without duplicate entries."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def dense_rows(rows: Rows, start: int, stop: int) -> NDArray[Any]:
    """Return the rows from `start` to `stop` as a dense array."""
    block = rows[start:stop]
    return np.asarray(block.toarray() if is_sparse(block) else block)


def rows_per_product(d: int) -> int:
    """Return the number of rows with d features to multiply at once for the highest speed.

    Multiplying this number of rows at once takes a fifth less time per row than multiplying `rows_per_block(d)` rows.
    """
    return min(EXACT_ROWS, 4 * rows_per_block(d))


def in_dtype(block: NDArray[Any], dtype: DTypeLike, start: int) -> NDArray[Any]:
    """Return rows converted to a data type. `start` is the index of the first row, for the error message.

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
        refuse_value(start + row, column, block[row, column], np.dtype(dtype).name)


def refuse_not_finite(block: NDArray[np.floating], start: int) -> None:
    """Raise ValueError if a value is NaN or infinite. `start` is the index of the first row, for the message."""
    if not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0].tolist()
        refuse_value(start + row, column, block[row, column])


def refuse_value(row: int, column: int, value: float, dtype: str = "") -> NoReturn:
    """Raise ValueError for a value that is NaN or infinite, or that is too large for the data type `dtype`."""
    if np.isfinite(value):
        raise ValueError(
            f"X contains {value:.3g} in row {row}, feature {column}, which is too large for {dtype}; "
            "scale the features to values near 1"
        )
    place = f"row {row}, feature {column} is {value}"
    raise ValueError(f"X contains NaN or infinity: {place}; replace the value, or leave the row out")


class SquashBuffer:
    """A reusable array for a block of rows [T(h), 1], where h is a representation and T is the squashing function.

    The product of this array with the transposed weights of the next layer is the output of that layer.

    Parameters
    ----------
    size : int
        Number of rows in the array, and thus the largest number of rows in a block.
    d : int
        Number of features.
    parameters : StackParameters
        Only the threshold, the squashing function and the data type are used.
    """

    def __init__(self, size: int, d: int, parameters: StackParameters) -> None:
        self._rows = np.ones((size, d + 1), parameters.dtype)
        self._parameters = parameters

    def of(self, h: NDArray[Any]) -> NDArray[np.floating]:
        """Return [T(h), 1] for a block of rows h; T is the squashing function. The next call overwrites this array."""
        squashed = self.filled(len(h))
        self._parameters.squash(h, out=squashed[:, :-1])
        return squashed

    def filled(self, count: int) -> NDArray[np.floating]:
        """Return a view of the first `count` rows of the array without changing their values."""
        return self._rows[:count]


class Activations:
    """Squashed representations T(h⁰), T(h¹), … of all rows. Each layer is applied in one pass over the blocks of rows.

    T is the squashing function, h⁰ are the rows, and hᵏ is the output of layer k.

    Parameters
    ----------
    rows : array, memmap or CSR matrix of shape (n, d)
    parameters : StackParameters
    passes : int
        Number of passes over the rows. Each call of `advance` is one pass.
    out : ndarray, optional
        Array to fill with the representations [h⁰ | h¹ | …]. Without this array, representations of 0 and 1 are stored
        as bits between two passes. All other representations are computed again in each pass.
    below : sequence of ndarray of shape (d, d + 1)
        Weights of the lowest layers, which are applied to the rows before the first call of `advance`.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows, which `advance` yields with each block.
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
        self._rows, self.parameters, self._out, self._weights = rows, parameters, out, sample_weight
        # Number of layers applied so far, and number of layers applied at the end of the last pass.
        self._done, self._passes = len(below), len(below) + passes
        self._steps: list[NDArray[np.floating]] = [self._step(weights) for weights in below]
        n, d = rows.shape
        self._packs = out is None and parameters.function.binary and n * (d // 8 + 1) <= PACKED_LIMIT
        self._packed: NDArray[np.uint8] | None = None
        self._size = min(rows_per_block(d), n)
        self._buffer = SquashBuffer(self._size, d, parameters)
        again = out is None and (bool(below) or not self._packs)  # True if a pass computes some representations again
        self._h = np.empty((self._size if again else 0, d), parameters.dtype)

    def advance(self, weights: Array, progress: Progress) -> Iterator[tuple[NDArray[np.floating], Array | None]]:
        """Apply one more layer to all rows. Yield its squashed output in blocks, each with its sample weights.

        All blocks use the same memory, so each block overwrites the previous one.
        """
        p, (n, d) = self.parameters, self._rows.shape
        step = self._step(weights)
        packs = self._packs and self._done + 1 < self._passes
        packed = np.empty((n, (d + 7) // 8), np.uint8) if packs else None
        column = (self._done + 1) * d
        # Blocks of half the usual size save memory. They are used only for values of 0 and 1, because the sums of their
        # products are exact for any number of rows per block.
        height = min(rows_per_product(d) // (2 if p.function.binary else 1), n)
        squashed = np.empty((height, d), p.dtype)
        for top in range(0, n, height):
            bottom = min(top + height, n)
            for start in range(top, bottom, self._size):
                stop = min(start + self._size, bottom)
                t = squashed[start - top : stop - top]
                h = t if self._out is None else self._out[start:stop, column : column + d]
                np.matmul(self._previous(start, stop), step, out=h)
                p.squash(h, out=t)
                if packed is not None:
                    packed[start:stop] = np.packbits(t.astype(bool), axis=1)
                progress.report(start / n)
            yield squashed[: bottom - top], None if self._weights is None else self._weights[top:bottom]
            progress.report(bottom / n)
        self._done += 1
        self._packed = packed
        if self._packs or self._out is not None:
            self._steps.clear()  # the next pass starts from the stored representations, without the lower layers
        else:
            self._steps.append(step)
        progress.report(1.0)

    def _step(self, weights: Array) -> NDArray[np.floating]:
        return weights.T.astype(self.parameters.dtype, order="C")

    def _previous(self, start: int, stop: int) -> NDArray[np.floating]:
        """Return [T(h), 1] of the rows from `start` to `stop`, where h is the output of the last applied layer."""
        p, d = self.parameters, self._rows.shape[1]
        if self._out is not None:
            column, block = self._done * d, self._out[start:stop]
            if column == 0:
                block[:, :d] = in_dtype(dense_rows(self._rows, start, stop), p.dtype, start)
            return self._buffer.of(block[:, column : column + d])
        if self._packed is not None:
            squashed = self._buffer.filled(stop - start)
            np.copyto(squashed[:, :d], np.unpackbits(self._packed[start:stop], axis=1, count=d))
            return squashed
        squashed = self._buffer.of(dense_rows(self._rows, start, stop).astype(p.dtype, copy=False))
        for step in self._steps:
            squashed = self._buffer.of(np.matmul(squashed, step, out=self._h[: stop - start]))
        return squashed
