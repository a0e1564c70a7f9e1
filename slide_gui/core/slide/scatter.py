"""Scatter matrices of the layers' inputs, streamed over blocks of rows.

Layer k + 1 is fitted on hᵏ = Wᵏ [T(hᵏ⁻¹); 1] (eq. 11), whose scatter follows without touching hᵏ:

    S_h = W̃ S_T W̃ᵀ,   S_T = [T, 1]ᵀ[T, 1],   W̃ = [W; 0 … 0 1].

A thresholded T holds only 0 and 1, so that S_T is exact in float32, and T packs to one bit a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import WHOLE, product, rows_per_block
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.squashing import SQUASHINGS, squash
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Activations", "Entered", "InputScatter", "input_scatter", "scatter_after"]

Array = NDArray[np.float64]
Rows = NDArray[Any]

_EXACT_ROWS = 4096  # float32 sums of squares of values in [0, 1] are kept this short before float64 takes over
_PACKED_LIMIT = 256 << 20  # bytes of packed activations kept between the passes; beyond it they are recomputed
_TOO_LARGE = "X contains values so large that their squares add up to infinity; scale the features to about 1"


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
        uses_threshold = SQUASHINGS[self.squashing].uses_threshold
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


class _Accumulator:
    """Scatter of [A, 1] in float64 from blocks of rows, none longer than float32 sums may be."""

    def __init__(self, d: int, parameters: StackParameters, binary: bool) -> None:
        self._inner, self._sums = np.zeros((d, d)), np.zeros(d)
        self._product = np.empty((d, d), parameters.dtype if binary else parameters.sums)
        self._n, self._binary = 0, binary

    def add(self, block: NDArray[np.floating]) -> None:
        if not self._binary:
            self._sums += block.sum(axis=0, dtype=np.float64)
            if not np.isfinite(self._sums).all():
                _refuse_not_finite(block, self._n)
        block = block.astype(self._product.dtype, copy=False)
        with np.errstate(over="ignore"):  # looked for once, in `result`
            self._inner += np.matmul(block.T, block, out=self._product)
        self._n += len(block)

    def result(self) -> Array:
        if not np.isfinite(self._inner).all():
            raise ValueError(_TOO_LARGE)
        d = len(self._sums)
        scatter = np.empty((d + 1, d + 1))
        scatter[:d, :d] = self._inner
        scatter[:d, d] = scatter[d, :d] = np.diag(self._inner) if self._binary else self._sums
        scatter[d, d] = self._n
        return scatter


def _block_rows(d: int) -> int:
    """Return how many rows a scatter is made of at once: a product of a few thousand is a fifth faster a row."""
    return min(_EXACT_ROWS, 4 * rows_per_block(d))


def input_scatter(rows: Rows, parameters: StackParameters, *, progress: Progress = NO_PROGRESS) -> InputScatter:
    """Return the scatter of the rows and of the squashed rows, in one pass.

    Parameters
    ----------
    rows : array_like of shape (n, d)
        An array or memmap, read in blocks.
    parameters : StackParameters
        Its threshold, squashing, dtype, batch size and `sums` are used.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, with its row.
    """
    d = rows.shape[1]
    squashing = SQUASHINGS[parameters.squashing]
    values, squashed = _Accumulator(d, parameters, False), _Accumulator(d, parameters, squashing.binary)
    size = min(parameters.batch_size, _block_rows(d))
    entered = Entered(0 if squashing.linear else min(size, len(rows)), d, parameters)
    for start in range(0, len(rows), size):
        block = np.ascontiguousarray(rows[start : start + size], dtype=parameters.dtype)
        values.add(block)
        if not squashing.linear:
            progress.report(start / len(rows))
            squashed.add(entered.of(block)[:, :-1])
        progress.report((start + len(block)) / len(rows))
    scatter = values.result()
    other = scatter if squashing.linear else squashed.result()
    return InputScatter(scatter, other, parameters.threshold, parameters.squashing, parameters.sums)


def _refuse_not_finite(block: NDArray[np.floating], start: int) -> None:
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if bad.size:
        row = block[bad[0]]
        column = int(np.flatnonzero(~np.isfinite(row))[0])
        raise ValueError(f"X contains NaN or infinity: row {start + int(bad[0])}, feature {column} is {row[column]}")
    raise ValueError(_TOO_LARGE)


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
    bits, from each of the given number of passes to the next.
    """

    def __init__(
        self, rows: Rows, parameters: StackParameters, passes: int, out: NDArray[np.floating] | None = None
    ) -> None:
        self._rows, self._parameters, self._passes, self._out = rows, parameters, passes, out
        self._steps: list[NDArray[np.floating]] = []
        self._binary = SQUASHINGS[parameters.squashing].binary
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

    def advance(self, weights: Array, progress: Progress) -> Array:
        """Apply one more layer to all rows and return the scatter of what comes out, squashed."""
        p, n, d = self._parameters, len(self._rows), self._rows.shape[1]
        step = weights.T.astype(p.dtype, order="C")
        total = _Accumulator(d, p, self._binary)
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
            total.add(squashed[: bottom - top])
            progress.report(bottom / n)
        self._steps.append(step)
        self._packed = packed
        scatter = total.result()
        progress.report(1.0)
        return scatter

    def _previous(self, start: int, stop: int) -> NDArray[np.floating]:
        """Return [T(h), 1] of some rows, h the representation reached so far."""
        p, d = self._parameters, self._rows.shape[1]
        if self._out is not None:
            column, block = len(self._steps) * d, self._out[start:stop]
            if column == 0:
                block[:, :d] = self._rows[start:stop]
            return self._entered.of(block[:, column : column + d])
        if self._packed is not None:
            entered = self._entered.filled(stop - start)
            np.copyto(entered[:, :d], np.unpackbits(self._packed[start:stop], axis=1, count=d))
            return entered
        entered = self._entered.of(np.asarray(self._rows[start:stop], dtype=p.dtype))
        for step in self._steps:
            entered = self._entered.of(np.matmul(entered, step, out=self._h[: stop - start]))
        return entered
