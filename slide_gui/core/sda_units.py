"""Sigmoid units, masks and losses on blocks of rows, in place: what a training step is made of beside its products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import Progress

__all__ = ["Masks", "log_softmax", "multiply", "sigmoid", "sigmoid_cross_entropy"]

Values = NDArray[Any]

_TILE_FLOPS = 2e9  # some 30 ms on one core
_FACTORS = 64  # 2⁻⁶⁴, the smallest product of so many, is far above the smallest float32
_LEVELS = 1 << 16


def multiply(a: Values, b: Values, out: Values, progress: Progress) -> None:
    """Put a @ b into out, in pieces of rows where it is large, with a report after each."""
    step = max(1, int(_TILE_FLOPS / (2.0 * b.shape[0] * b.shape[1])))
    for start in range(0, len(a), step):
        np.matmul(a[start : start + step], b, out=out[start : start + step])
        progress.report(0.0)


def sigmoid(values: Values) -> None:
    """Put s(a) = 1/(1 + e^−a) = (1 + tanh(a/2))/2 in place of a; no a overflows."""
    np.multiply(values, 0.5, out=values)
    np.tanh(values, out=values)
    np.multiply(values, 0.5, out=values)
    np.add(values, 0.5, out=values)


def sigmoid_cross_entropy(values: Values, targets: Values, scratch: Values) -> float:
    """Put z = s(a) in place of a, and return −Σ x log z + (1 − x) log(1 − z) over all entries.

    It is Σ a ([a > 0] − x) − log max(z, 1 − z), whose terms are not negative. A logarithm serves the product of 64
    entries, each of which is at least ½.

    Parameters
    ----------
    values : ndarray of shape (m, d)
        a, overwritten.
    targets : ndarray of shape (m, d)
        x, from 0 to 1.
    scratch : ndarray of shape (m, d)
        Overwritten.
    """
    np.greater(values, 0.0, out=scratch)
    np.subtract(scratch, targets, out=scratch)
    loss = float(np.vdot(scratch, values))
    sigmoid(values)
    np.subtract(values, 0.5, out=scratch)
    np.abs(scratch, out=scratch)
    np.add(scratch, 0.5, out=scratch)
    for start in range(0, len(scratch), _FACTORS):
        loss -= float(np.log(np.multiply.reduce(scratch[start : start + _FACTORS], axis=0)).sum())
    return loss


def log_softmax(values: Values) -> None:
    """Put a_c − log Σ_c e^a_c in place of each row of a."""
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))


class Masks:
    """Masking noise: entries set to 0, each on its own, with a probability that is a multiple of 2⁻¹⁶.

    Parameters
    ----------
    noise : float
        1 − p, in [0, 1).
    random : numpy.random.Generator
    shape : (int, int)
        Of the largest block.
    """

    def __init__(self, noise: float, random: np.random.Generator, shape: tuple[int, int]) -> None:
        self._limit = min(round(noise * _LEVELS), _LEVELS - 1)
        self._bits = random.bit_generator
        self._kept = np.empty(shape, dtype=bool)

    def apply(self, rows: Values, out: Values) -> None:
        """Put the rows with fresh masks into out."""
        if self._limit == 0:
            np.copyto(out, rows)
            return
        # Four 16-bit numbers a draw: a third of the time of float32 numbers.
        drawn = self._bits.random_raw(-(-rows.size // 4)).view(np.uint16)[: rows.size].reshape(rows.shape)
        kept = self._kept[: len(rows)]
        np.greater_equal(drawn, self._limit, out=kept)
        np.multiply(rows, kept, out=out)
