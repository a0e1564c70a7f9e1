"""Nothing in the closed form knows where a pixel stands: W of scrambled pixels, un-scrambled, is W (eq. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Stack, fit_stack
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["ScrambledFit", "fit_scrambled", "scrambling", "unscrambled"]


@dataclass(frozen=True, eq=False)
class ScrambledFit:
    """The same layers fitted to rows whose pixels stand elsewhere.

    Attributes
    ----------
    order : ndarray of shape (d,), int64
        Pixel j of the scrambled rows is pixel ``order[j]`` of the rows.
    stack : Stack
        Fitted to the rows as they are.
    scrambled : Stack
        Fitted to the scrambled rows.
    differences : tuple of float
        Of each layer, the largest absolute difference between its weights and the un-scrambled ones, biases included.
    largest : tuple of float
        Of each layer, the largest absolute weight or bias.
    """

    order: NDArray[np.int64]
    stack: Stack
    scrambled: Stack
    differences: tuple[float, ...]
    largest: tuple[float, ...]


def scrambling(n_features: int, seed: int) -> NDArray[np.int64]:
    """Return which pixel comes to stand at each place, shape (d,): a permutation, the same for the same seed."""
    return np.random.default_rng(seed).permutation(n_features)


def unscrambled(weights: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights of scrambled pixels with every row and column back in its place.

    Parameters
    ----------
    weights : ndarray of shape (d, d + 1)
        Bias last.
    order : ndarray of shape (d,)
        As `ScrambledFit.order`.
    """
    back = np.argsort(order)
    return weights[back][:, np.append(back, len(order))]


def fit_scrambled(
    rows: NDArray[Any], stack: Stack, order: NDArray[np.int64], *, progress: Progress = NO_PROGRESS
) -> ScrambledFit:
    """Fit to scrambled rows what was fitted to the rows, and measure how far apart the weights are.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        What `stack` was fitted to.
    order : ndarray of shape (d,)
        As `ScrambledFit.order`.

    Raises
    ------
    ValueError
        If `order` is no permutation of the features.
    """
    if not np.array_equal(np.sort(order), np.arange(rows.shape[1])):
        raise ValueError(f"order must hold each of 0 to {rows.shape[1] - 1} once")
    scrambled = fit_stack(np.take(rows, order, axis=1), stack.parameters, progress=progress)
    pairs = list(zip(stack.layers, scrambled.layers, strict=True))
    return ScrambledFit(
        order,
        stack,
        scrambled,
        tuple(float(np.abs(unscrambled(there.weights, order) - here.weights).max()) for here, there in pairs),
        tuple(float(np.abs(here.weights).max()) for here, _ in pairs),
    )
