"""Scatter matrices of the layers' inputs, streamed over blocks of rows.

Layer k + 1 is fitted on hᵏ = Wᵏ [T(hᵏ⁻¹); 1] (eq. 11), whose scatter follows without touching hᵏ:

    S_h = W̃ S_T W̃ᵀ,   S_T = [T, 1]ᵀ[T, 1],   W̃ = [W; 0 … 0 1].

A thresholded T holds only 0 and 1, so that S_T is exact in float32, and T packs to one bit a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import WHOLE, product, rows_per_block
from slide_gui.core.parameters import StackParameters
from slide_gui.core.squashing import SQUASHINGS, squash
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Activations", "Affine", "InputScatter", "input_scatter", "scatter_after"]

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


class Affine:
    """h = T Wᵀ + b in the dtype of the rows."""

    def __init__(self, weights: Array, dtype: np.dtype[Any]) -> None:
        self._matrix = weights[:, :-1].astype(dtype).T
        self._bias = weights[:, -1].astype(dtype)

    def apply(self, t: NDArray[np.floating], out: NDArray[np.floating] | None = None) -> NDArray[np.floating]:
        """Return h of shape (rows, d), written into `out` if given."""
        h: NDArray[np.floating] = np.matmul(t, self._matrix, out=out)
        h += self._bias
        return h


class _Accumulator:
    """Scatter of [A, 1] in float64 from blocks of rows; float32 sums never run over more than `_EXACT_ROWS` rows."""

    def __init__(self, d: int, parameters: StackParameters, binary: bool) -> None:
        dtype = np.dtype(parameters.dtype if binary else parameters.sums)
        self._inner, self._sums = np.zeros((d, d)), np.zeros(d)
        self._short, self._product = np.zeros((d, d), dtype), np.empty((d, d), dtype)
        self._pending, self._n, self._binary = 0, 0, binary

    def add(self, block: NDArray[np.floating]) -> None:
        if self._pending + len(block) > _EXACT_ROWS:
            self._settle()
        if not self._binary:
            self._sums += block.sum(axis=0, dtype=np.float64)
            if not np.isfinite(self._sums).all():
                _refuse_not_finite(block, self._n)
        block = block.astype(self._product.dtype, copy=False)
        with np.errstate(over="ignore"):  # looked for once, in `result`
            self._short += np.matmul(block.T, block, out=self._product)
        self._pending += len(block)
        self._n += len(block)

    def result(self) -> Array:
        self._settle()
        if not np.isfinite(self._inner).all():
            raise ValueError(_TOO_LARGE)
        d = len(self._sums)
        scatter = np.empty((d + 1, d + 1))
        scatter[:d, :d] = self._inner
        scatter[:d, d] = scatter[d, :d] = np.diag(self._inner) if self._binary else self._sums
        scatter[d, d] = self._n
        return scatter

    def _settle(self) -> None:
        self._inner += self._short
        self._short[:] = 0
        self._pending = 0


def _blocks(rows: Rows, parameters: StackParameters) -> Iterator[tuple[int, NDArray[np.floating]]]:
    dtype = np.dtype(parameters.dtype)
    size = min(parameters.batch_size, rows_per_block(rows.shape[1]))
    for start in range(0, len(rows), size):
        yield start, np.ascontiguousarray(rows[start : start + size], dtype=dtype)


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
    for start, block in _blocks(rows, parameters):
        values.add(block)
        if not squashing.linear:
            squashed.add(squashing.apply(block, parameters.threshold))
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

    The representations themselves are kept in `out`, [h⁰ | h¹ | …], where it is given.
    """

    def __init__(self, rows: Rows, parameters: StackParameters, out: NDArray[np.floating] | None = None) -> None:
        self._rows, self._parameters, self._out = rows, parameters, out
        self._steps: list[Affine] = []
        self._binary = SQUASHINGS[parameters.squashing].binary
        self._packs = out is None and self._binary and len(rows) * (rows.shape[1] // 8 + 1) <= _PACKED_LIMIT
        self._packed: NDArray[np.uint8] | None = None

    @property
    def passed(self) -> int:
        """Number of passes made."""
        return len(self._steps)

    def advance(self, weights: Array, progress: Progress) -> Array:
        """Apply one more layer to all rows and return the scatter of what comes out, squashed."""
        p, n, d = self._parameters, len(self._rows), self._rows.shape[1]
        self._steps.append(Affine(weights, np.dtype(p.dtype)))
        total = _Accumulator(d, p, self._binary)
        packed = np.empty((n, (d + 7) // 8), np.uint8) if self._packs else None
        column = len(self._steps) * d
        for start, block in self._previous():
            kept = None if self._out is None else self._out[start : start + len(block), column : column + d]
            t = squash(p.squashing, self._steps[-1].apply(block, out=kept), p.threshold)
            total.add(t)
            if packed is not None:
                packed[start : start + len(t)] = np.packbits(t.astype(bool), axis=1)
            progress.report((start + len(t)) / n)
        self._packed = packed
        scatter = total.result()
        progress.report(1.0)
        return scatter

    def _previous(self) -> Iterator[tuple[int, NDArray[np.floating]]]:
        p, d = self._parameters, self._rows.shape[1]
        if self._out is not None:
            column, size = (len(self._steps) - 1) * d, rows_per_block(d)
            for start in range(0, len(self._out), size):
                block = self._out[start : start + size]
                if column == 0:
                    block[:, :d] = self._rows[start : start + size]
                yield start, squash(p.squashing, block[:, column : column + d], p.threshold)
            return
        if self._packed is not None:
            size = rows_per_block(d)
            for start in range(0, len(self._packed), size):
                bits = np.unpackbits(self._packed[start : start + size], axis=1, count=d)
                yield start, bits.astype(p.dtype)
            return
        for start, block in _blocks(self._rows, p):
            t = squash(p.squashing, block, p.threshold)
            for step in self._steps[:-1]:
                t = squash(p.squashing, step.apply(t), p.threshold)
            yield start, t
